//! Gather, scatter and allgather with parts of differing lengths.

use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::allgather::ring_of_blocks;
use super::scope::{Engine, Scope};

/// Gives `root` the parts of all ranks in rank order, of `bytes[r]` bytes from rank r; the others get `None`. All ranks
/// know all lengths. `into` is space for the result, of which only the root needs any; `None` allocates it.
///
/// By the linear algorithm: p - 1 messages, received as they come.
///
/// # Errors
/// As for [`gather`](super::gather()), and [`crate::Failure::MismatchedArguments`] where this rank's part is not as long
/// as `bytes` says.
pub async fn gatherv<C: Communicator>(
    comm: &C,
    root: usize,
    part: &Payload,
    bytes: &[usize],
    into: Option<Payload>,
    choice: Choice,
) -> Result<Option<Payload>, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Gatherv);
    scope.check_root(root)?;
    check_part(&scope, part.len(), bytes)?;
    let is_root = scope.rank == root;
    let total = if is_root { bytes.iter().sum() } else { 0 };
    let mut whole = scope.space(into.filter(|_| is_root), part, total)?;
    match scope.engine(choice, mean(bytes))? {
        Engine::Native(native) => native.gatherv_into(root, part, bytes, &mut whole)?,
        Engine::Own(Algorithm::Linear) if is_root => collect(&scope, part, bytes, &mut whole).await?,
        Engine::Own(Algorithm::Linear) => drop(scope.send(root, part.clone()).await?),
        Engine::Own(other) => scope.impossible(other),
    }
    Ok(is_root.then_some(whole))
}

/// Gives every rank r its part of `bytes[r]` bytes of `whole`, which only `root` has. All ranks know all lengths. `into`
/// is space for the part.
///
/// By the linear algorithm: p - 1 messages, all started at once.
///
/// # Errors
/// As for [`scatter`](super::scatter()), and [`crate::Failure::MismatchedArguments`] where `whole` or `into` are not as
/// long as `bytes` says.
pub async fn scatterv<C: Communicator>(
    comm: &C,
    root: usize,
    whole: Option<&Payload>,
    bytes: &[usize],
    mut into: Payload,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Scatterv);
    scope.check_root(root)?;
    check_part(&scope, into.len(), bytes)?;
    let whole = whole.filter(|_| scope.rank == root);
    let held = whole.map_or(0, Payload::len);
    if scope.rank == root && held != bytes.iter().sum::<usize>() {
        return Err(scope.mismatch(format!("parts of {} bytes in all of {held}", bytes.iter().sum::<usize>())));
    }
    match (scope.engine(choice, mean(bytes))?, whole) {
        (Engine::Native(native), _) => native.scatterv_into(root, whole, bytes, &mut into)?,
        (Engine::Own(Algorithm::Linear), Some(whole)) => distribute(&scope, whole, bytes, &mut into).await?,
        (Engine::Own(Algorithm::Linear), None) => into = scope.receive(root, into).await?,
        (Engine::Own(other), _) => scope.impossible(other),
    }
    Ok(into)
}

/// Gives every rank the parts of all ranks in rank order, of `bytes[r]` bytes from rank r. All ranks know all lengths.
/// `into` is space for the result; `None` allocates it.
///
/// By the ring: p - 1 steps, p (p - 1) messages.
///
/// # Errors
/// As for [`allgather`](super::allgather()), and [`crate::Failure::MismatchedArguments`] where this rank's part is not as
/// long as `bytes` says.
pub async fn allgatherv<C: Communicator>(
    comm: &C,
    part: &Payload,
    bytes: &[usize],
    into: Option<Payload>,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Allgatherv);
    check_part(&scope, part.len(), bytes)?;
    let starts = starts(bytes);
    let mut whole = scope.space(into, part, starts[scope.size])?;
    match scope.engine(choice, mean(bytes))? {
        Engine::Native(native) => native.allgatherv_into(part, bytes, &mut whole)?,
        Engine::Own(Algorithm::Ring) => {
            whole.put(starts[scope.rank], part);
            ring_of_blocks(&scope, scope.rank, &mut whole, |index| starts[index]).await?;
        }
        Engine::Own(other) => scope.impossible(other),
    }
    Ok(whole)
}

/// Where each part starts; the last entry is where they end.
fn starts(bytes: &[usize]) -> Vec<usize> {
    let ends = bytes.iter().scan(0, |end, bytes| {
        *end += bytes;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

fn mean(bytes: &[usize]) -> usize {
    bytes.iter().sum::<usize>() / bytes.len()
}

fn check_part<C: Communicator>(scope: &Scope<'_, C>, part: usize, bytes: &[usize]) -> Result<(), CommError> {
    if bytes.len() != scope.size {
        return Err(scope.mismatch(format!("lengths of {} parts for {} ranks", bytes.len(), scope.size)));
    }
    if part != bytes[scope.rank] {
        return Err(scope.mismatch(format!("a part of {part} bytes where {} are expected", bytes[scope.rank])));
    }
    Ok(())
}

async fn collect<C: Communicator>(
    scope: &Scope<'_, C>,
    part: &Payload,
    bytes: &[usize],
    whole: &mut Payload,
) -> Result<(), CommError> {
    let starts = starts(bytes);
    whole.put(starts[scope.rank], part);
    let others = (0..scope.size).filter(|&rank| rank != scope.rank);
    let posted: Vec<_> = others.map(|rank| (rank, scope.post(rank, part.same_sort(bytes[rank])))).collect();
    for (rank, posted) in posted {
        whole.put(starts[rank], &scope.take(posted).await?);
    }
    Ok(())
}

async fn distribute<C: Communicator>(
    scope: &Scope<'_, C>,
    whole: &Payload,
    bytes: &[usize],
    into: &mut Payload,
) -> Result<(), CommError> {
    let starts = starts(bytes);
    let cut = |rank: usize| whole.part(starts[rank], starts[rank + 1]);
    into.put(0, &cut(scope.rank));
    let others = (0..scope.size).filter(|&rank| rank != scope.rank);
    let sent: Vec<_> = others.map(|rank| scope.isend(rank, cut(rank))).collect();
    for sent in sent {
        sent.await?;
    }
    Ok(())
}
