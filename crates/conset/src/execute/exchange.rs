//! One exchange of a plan, on any world.

use weft_comm::{CommError, Communicator, Payload, PlannedTransfer, Source, Tag, TagSelector};

use super::plan::Execution;

/// The first of the tags of phases; phases far apart may share one, because every phase ends before the next.
const FIRST_TAG: u32 = 0xc000;
const TAGS: u32 = 0x1000;

/// Takes part in an exchange: `outgoing` has the payloads of this rank's sends, the result those of its receives, both in
/// the order of [`Execution::sends`] and [`Execution::receives`]. Collective.
///
/// Where the world knows connections (or has a model of messages) it carries the plan out. Elsewhere transfers are
/// messages. With connections the phases come one after the other: a rank goes over to the next phase when it is through
/// with its own part of this one, because messages need no phase to be left by all. Messages are all under way at once.
///
/// # Errors
/// What the world says; [`CommError::Program`] for payloads that do not fit the plan.
pub async fn exchange<C: Communicator>(
    comm: &C,
    execution: &Execution,
    outgoing: Vec<Payload>,
) -> Result<Vec<Payload>, CommError> {
    let plan = &execution.plan;
    if let Some(world) = comm.exchanges().filter(|world| world.carries(plan.method)) {
        return world.exchange(plan, outgoing).await;
    }
    let misfit = |message: String| CommError::Program { rank: comm.world_rank(), message };
    if plan.ranks != comm.size() {
        return Err(misfit(format!("an exchange of {} ranks on a communicator of {}", plan.ranks, comm.size())));
    }
    let mut outgoing = outgoing.into_iter();
    let mut incoming = Vec::new();
    for (number, phase) in plan.phases.iter().enumerate() {
        let tag = Tag::User(FIRST_TAG + number as u32 % TAGS);
        let receives: Vec<C::Receive> = phase
            .transfers
            .iter()
            .filter(|transfer| transfer.to as usize == comm.rank())
            .map(|transfer| {
                let into = room(&outgoing, transfer);
                comm.irecv(Source::Rank(transfer.from as usize), TagSelector::Only(tag), into)
            })
            .collect();
        let mut sends: Vec<C::Send> = Vec::new();
        for transfer in phase.transfers.iter().filter(|transfer| transfer.from as usize == comm.rank()) {
            let payload = outgoing.next().filter(|payload| payload.len() as u64 == transfer.bytes);
            let payload = payload.ok_or_else(|| {
                misfit(format!("the payload to rank {} must have {} bytes", transfer.to, transfer.bytes))
            })?;
            sends.push(comm.isend(transfer.to as usize, tag, payload));
        }
        for receive in receives {
            incoming.push(receive.await?.payload);
        }
        for send in sends {
            send.await?;
        }
    }
    Ok(incoming)
}

/// Room for a transfer: a phantom where phantoms are sent.
fn room(outgoing: &std::vec::IntoIter<Payload>, transfer: &PlannedTransfer) -> Payload {
    match outgoing.as_slice().first() {
        Some(Payload::Phantom(_)) => Payload::Phantom(transfer.bytes as usize),
        _ => Payload::Data(weft_comm::Buffer::zeroed(transfer.bytes as usize)),
    }
}
