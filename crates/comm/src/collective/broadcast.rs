//! Broadcast.

use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::allgather::ring_of_blocks;
use super::blocks::{Blocks, doublings};
use super::choose::CHAIN_SEGMENT;
use super::scope::{Engine, Scope};

/// Gives every rank the payload of `root`. All pass payloads of one length; those of the other ranks are overwritten.
///
/// | algorithm | time on p ranks, n bytes, startup a, byte time b | messages in all |
/// |---|---|---|
/// | binomial | ceil(log2 p) (a + n b) | p - 1 |
/// | scatter-allgather | (ceil(log2 p) + p - 1) a + 2 (p - 1)/p n b | p - 1 + p (p - 1) |
/// | chain, s segments | (p - 2 + s) (a + n/s b) | s (p - 1) |
///
/// The scatter-allgather broadcast: M. Barnett, L. Shuler, S. Gupta, D. Payne, R. van de Geijn, J. Watts, "Building a
/// high-performance collective communication library", Supercomputing 1994; its cost: Thakur, Rabenseifner, Gropp 2005,
/// section 4.2. The chain has segments of [`CHAIN_SEGMENT`] bytes.
///
/// # Errors
/// [`crate::Failure::NoSuchRank`] for a root that is none, [`crate::Failure::MismatchedArguments`] where lengths
/// differ.
pub async fn broadcast<C: Communicator>(
    comm: &C,
    root: usize,
    mut payload: Payload,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Broadcast);
    scope.check_root(root)?;
    match scope.engine(choice, payload.len())? {
        Engine::Native(native) => native.broadcast(root, &mut payload).map(|()| payload),
        Engine::Own(Algorithm::Binomial) => binomial(&scope, root, payload).await,
        Engine::Own(Algorithm::ScatterAllgather) => scatter_allgather(&scope, root, payload).await,
        Engine::Own(Algorithm::Chain) => chain(&scope, root, payload).await,
        Engine::Own(other) => scope.impossible(other),
    }
}

/// The root sends to the ranks half, a quarter, … of all ranks away; who has the message does the same in its part.
async fn binomial<C: Communicator>(
    scope: &Scope<'_, C>,
    root: usize,
    mut payload: Payload,
) -> Result<Payload, CommError> {
    let relative = scope.relative(root);
    let absolute = |relative: usize| (relative + root) % scope.size;
    let reach = if relative == 0 { scope.size } else { lowest_bit(relative) };
    if relative != 0 {
        payload = scope.receive(absolute(relative - reach), payload).await?;
    }
    for distance in doublings(reach).rev() {
        if relative + distance < scope.size {
            payload = scope.send(absolute(relative + distance), payload).await?;
        }
    }
    Ok(payload)
}

fn lowest_bit(n: usize) -> usize {
    1 << n.trailing_zeros()
}

/// Block `r` of the message, counted from the root, goes down the tree to rank `r`; then all blocks go around.
async fn scatter_allgather<C: Communicator>(
    scope: &Scope<'_, C>,
    root: usize,
    mut payload: Payload,
) -> Result<Payload, CommError> {
    let (relative, size) = (scope.relative(root), scope.size);
    let absolute = |relative: usize| (relative + root) % size;
    let blocks = Blocks::of(payload.len(), 1, size);
    let reach = if relative == 0 { size } else { lowest_bit(relative) };
    if relative != 0 {
        let end = (relative + reach).min(size);
        let into = payload.same_sort(blocks.span(relative, end));
        let part = scope.receive(absolute(relative - reach), into).await?;
        payload.put(blocks.start(relative), &part);
    }
    for distance in doublings(reach).rev() {
        let (first, end) = (relative + distance, (relative + 2 * distance).min(size));
        if first < size {
            scope.send(absolute(first), payload.part(blocks.start(first), blocks.start(end))).await?;
        }
    }
    ring_of_blocks(scope, relative, &mut payload, |index| blocks.start(index)).await?;
    Ok(payload)
}

/// From rank to rank in segments; the next segment is on its way in while one goes out.
async fn chain<C: Communicator>(scope: &Scope<'_, C>, root: usize, mut payload: Payload) -> Result<Payload, CommError> {
    let relative = scope.relative(root);
    let (is_first, is_last) = (relative == 0, relative + 1 == scope.size);
    let bytes = payload.len();
    let segments = bytes.div_ceil(CHAIN_SEGMENT).max(1);
    let bounds = |segment: usize| (segment * CHAIN_SEGMENT, ((segment + 1) * CHAIN_SEGMENT).min(bytes));
    let post = |payload: &Payload, segment: usize| {
        let (start, end) = bounds(segment);
        scope.post(scope.before(1), payload.same_sort(end - start))
    };
    let mut incoming = (!is_first).then(|| post(&payload, 0));
    let mut outgoing = None;
    for segment in 0..segments {
        let (start, end) = bounds(segment);
        if let Some(posted) = incoming.take() {
            incoming = (segment + 1 < segments).then(|| post(&payload, segment + 1));
            payload.put(start, &scope.take(posted).await?);
        }
        let previous =
            if is_last { None } else { outgoing.replace(scope.isend(scope.after(1), payload.part(start, end))) };
        if let Some(previous) = previous {
            previous.await?;
        }
    }
    if let Some(sent) = outgoing {
        sent.await?;
    }
    Ok(payload)
}
