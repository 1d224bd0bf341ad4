//! An exchange that is prepared once and done again and again, on any world.

use std::ops::Range;

use weft_comm::{
    Begins, Buffer, CommError, Communicator, Ends, ExchangeMethod, Numbered, Payload, Persistent, Source, Tag,
    TagSelector,
};

use super::plan::{Execution, Part};

/// The first of the tags of phases; phases far apart may share one, because every phase ends before the next.
const FIRST_TAG: u32 = 0xc000;
const TAGS: u32 = 0x1000;
/// A world's own sets of messages may each take something of which there is little (MPI's windows and contexts):
/// schedules of more phases have a send and a receive for each message instead.
const MAX_SETS: usize = 256;

/// An exchange of all ranks of a communicator.
///
/// Where the world knows connections (or has a model of messages) it carries the plan out. Elsewhere every phase is a
/// set of persistent requests, one message for all that goes from one rank to another in it; the phases come one after
/// the other, and a rank goes over to the next when it is through with its own part of this one, because messages need
/// no phase to be left by all. Message passing sends every connection of a phase as a message of its own, all at once.
pub struct Prepared<C: Communicator> {
    comm: C,
    execution: Execution,
    phantom: bool,
    strategy: Strategy<C>,
}

enum Strategy<C: Communicator> {
    Backend,
    Messages,
    Phases(Vec<Set<C>>),
}

/// The messages of a phase.
struct Set<C: Communicator> {
    messages: Persistent<C>,
    /// Of every end, what its messages are made of.
    contents: Vec<Contents>,
}

#[derive(Default)]
struct Contents {
    sent: Vec<(Part, Range<usize>)>,
    received: Vec<(Part, Range<usize>)>,
}

impl Contents {
    /// Puts a part at the end of a message.
    fn append(message: &mut Vec<(Part, Range<usize>)>, part: Part, bytes: usize) {
        let start = message.last().map_or(0, |(_, range)| range.end);
        message.push((part, start..start + bytes));
    }

    fn bytes(message: &[(Part, Range<usize>)]) -> usize {
        message.last().map_or(0, |(_, range)| range.end)
    }
}

impl<C: Communicator> Prepared<C> {
    /// Prepares an exchange. Collective. With `phantom`, only lengths travel.
    ///
    /// # Errors
    /// [`weft_comm::Failure::Program`] for a plan of another number of ranks; what the world says.
    pub fn new(comm: &C, execution: &Execution, phantom: bool) -> Result<Prepared<C>, CommError> {
        let plan = &execution.plan;
        let carried = comm.exchanges().is_some_and(|exchanges| exchanges.carries(plan.method()));
        if !carried && plan.ranks() != comm.size() {
            let message = format!("an exchange of {} ranks on a communicator of {}", plan.ranks(), comm.size());
            return Err(CommError::program(comm.world_rank(), message));
        }
        let strategy = match plan.method() {
            _ if carried => Strategy::Backend,
            ExchangeMethod::Messages => Strategy::Messages,
            ExchangeMethod::Connections => Strategy::Phases(Self::sets(comm, execution, phantom)?),
        };
        Ok(Prepared { comm: comm.clone(), execution: execution.clone(), phantom, strategy })
    }

    fn sets(comm: &C, execution: &Execution, phantom: bool) -> Result<Vec<Set<C>>, CommError> {
        let rank = comm.rank() as u32;
        // Stages that do not wait for what is on its way have one message together.
        let set_of: Vec<usize> = execution
            .plan
            .phases()
            .iter()
            .scan(0, |sets, phase| {
                *sets += usize::from(*sets == 0 || phase.begins != Begins::Sent);
                Some(*sets - 1)
            })
            .collect();
        let phases = set_of.last().map_or(0, |last| last + 1);
        let mut own = execution.plan.of_rank(comm.rank()).peekable();
        let mut sets = Vec::with_capacity(phases);
        for number in 0..phases {
            let (mut peers, mut contents): (Vec<usize>, Vec<Contents>) = (Vec::new(), Vec::new());
            while let Some(Numbered { index, transfer, .. }) = own.next_if(|next| set_of[next.phase] == number) {
                let part = execution.parts[index];
                let peer = if transfer.from == rank { transfer.to } else { transfer.from } as usize;
                let end = peers.iter().position(|&known| known == peer).unwrap_or_else(|| {
                    peers.push(peer);
                    contents.push(Contents::default());
                    peers.len() - 1
                });
                let of_end = &mut contents[end];
                let message = if transfer.from == rank { &mut of_end.sent } else { &mut of_end.received };
                Contents::append(message, part, transfer.bytes as usize);
            }
            let ends = |(&peer, contents): (&usize, &Contents)| Ends {
                peer,
                send_bytes: Contents::bytes(&contents.sent),
                receive_bytes: Contents::bytes(&contents.received),
            };
            let ends: Vec<Ends> = peers.iter().zip(&contents).map(ends).collect();
            let tag = Tag::User(FIRST_TAG + number as u32 % TAGS);
            let messages = if phases <= MAX_SETS {
                Persistent::new(comm, tag, &ends, phantom)?
            } else {
                Persistent::of_requests(comm, tag, &ends, phantom)
            };
            sets.push(Set { messages, contents });
        }
        Ok(sets)
    }

    /// Whether all ranks leave the exchange at the same time: the world switches its phases for all of them.
    pub fn ends_together(&self) -> bool {
        matches!(self.strategy, Strategy::Backend) && self.execution.plan.method() == ExchangeMethod::Connections
    }

    /// What carries the exchange: the world, messages, or what the sets of phases go by.
    pub fn describe(&self) -> String {
        match &self.strategy {
            Strategy::Backend => "connections of the machine".to_owned(),
            Strategy::Messages => "a send and a receive each".to_owned(),
            Strategy::Phases(sets) => {
                let used = sets.iter().find(|set| !set.contents.is_empty());
                used.map_or_else(|| "no messages".to_owned(), |set| set.messages.describe())
            }
        }
    }

    /// Takes part in the exchange. `gather` fills the bytes of each part that this rank sends, `scatter` is given those
    /// of each part that it receives, in the order of the plan within each message; neither is called for phantoms.
    /// Collective.
    ///
    /// # Errors
    /// What the world says.
    pub async fn exchange(
        &mut self,
        mut gather: impl FnMut(&Part, &mut [u8]),
        mut scatter: impl FnMut(&Part, &[u8]),
    ) -> Result<(), CommError> {
        let Strategy::Phases(sets) = &mut self.strategy else {
            return self.with_payloads(gather, scatter).await;
        };
        for Set { messages, contents } in sets {
            messages.start()?;
            for (end, contents) in contents.iter().enumerate() {
                if let Some(buffer) = messages.send_buffer(end) {
                    contents.sent.iter().for_each(|(part, range)| gather(part, &mut buffer[range.clone()]));
                }
                messages.send(end)?;
            }
            for (end, contents) in contents.iter().enumerate() {
                messages.wait(end).await?;
                if let Some(buffer) = messages.receive_buffer(end) {
                    contents.received.iter().for_each(|(part, range)| scatter(part, &buffer[range.clone()]));
                }
            }
            messages.finish().await?;
        }
        Ok(())
    }

    /// The same where the world carries the plan out, and by messages.
    async fn with_payloads(
        &self,
        mut gather: impl FnMut(&Part, &mut [u8]),
        mut scatter: impl FnMut(&Part, &[u8]),
    ) -> Result<(), CommError> {
        let rank = self.comm.rank();
        let outgoing = self.execution.sends(rank).map(|part| {
            let mut payload = self.buffer(part);
            if let Payload::Data(buffer) = &mut payload {
                gather(part, buffer);
            }
            payload
        });
        let outgoing: Vec<Payload> = outgoing.collect();
        let incoming = match self.comm.exchanges().filter(|_| matches!(self.strategy, Strategy::Backend)) {
            Some(exchanges) => exchanges.exchange(&self.execution.plan, outgoing).await?,
            None => self.by_messages(outgoing).await?,
        };
        for (part, payload) in self.execution.receives(rank).zip(&incoming) {
            if let Payload::Data(buffer) = payload {
                scatter(part, buffer);
            }
        }
        Ok(())
    }

    /// A message for every transfer, those of a phase under way at once.
    async fn by_messages(&self, outgoing: Vec<Payload>) -> Result<Vec<Payload>, CommError> {
        let (comm, plan) = (&self.comm, &self.execution.plan);
        let tag = Tag::User(FIRST_TAG);
        let receives: Vec<C::Receive> = self
            .execution
            .plan
            .receives(comm.rank())
            .map(|Numbered { index, transfer, .. }| {
                let buffer = self.buffer(&self.execution.parts[index]);
                comm.irecv(Source::Rank(transfer.from as usize), TagSelector::Only(tag), buffer)
            })
            .collect();
        let mut outgoing = plan.sends(comm.rank()).zip(outgoing).peekable();
        let mut receives = plan.receives(comm.rank()).zip(receives).peekable();
        let (mut incoming, mut sends) = (Vec::new(), Vec::new());
        for phase in 0..plan.phases().len() {
            while let Some((sent, payload)) = outgoing.next_if(|(sent, _)| sent.phase == phase) {
                sends.push(comm.isend(sent.transfer.to as usize, tag, payload));
            }
            while let Some((_, receive)) = receives.next_if(|(received, _)| received.phase == phase) {
                incoming.push(receive.await?.payload);
            }
        }
        for send in sends {
            send.await?;
        }
        Ok(incoming)
    }

    /// Room for a part.
    fn buffer(&self, part: &Part) -> Payload {
        let bytes = (part.words * self.execution.word_bytes) as usize;
        if self.phantom { Payload::Phantom(bytes) } else { Payload::Data(Buffer::zeroed(bytes)) }
    }
}
