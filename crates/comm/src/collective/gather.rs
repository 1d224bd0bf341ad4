//! Gather.

use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::blocks::doublings;
use super::scope::{Engine, Scope};

/// Gives `root` the parts of all ranks in rank order; the others get `None`. All parts have one length. `into` is space
/// for the result, of which only the root needs any; `None` allocates it.
///
/// | algorithm | time on p ranks, n bytes in all, startup a, byte time b | messages in all |
/// |---|---|---|
/// | binomial | ceil(log2 p) a + (p - 1)/p n b | p - 1 |
/// | linear | (p - 1) (a + n/p b) | p - 1 |
///
/// E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and experience",
/// Concurrency and Computation 19 (2007) 1749-1783, section 4.
///
/// # Errors
/// [`crate::Failure::NoSuchRank`] for a root that is none, [`crate::Failure::MismatchedArguments`] where lengths
/// differ.
pub async fn gather<C: Communicator>(
    comm: &C,
    root: usize,
    part: &Payload,
    into: Option<Payload>,
    choice: Choice,
) -> Result<Option<Payload>, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Gather);
    scope.check_root(root)?;
    let is_root = scope.rank == root;
    let bytes = if is_root { scope.size * part.len() } else { 0 };
    let mut into = scope.space(into.filter(|_| is_root), part, bytes)?;
    match scope.engine(choice, part.len())? {
        Engine::Native(native) => native.gather_into(root, part, &mut into)?,
        Engine::Own(Algorithm::Binomial) => binomial(&scope, root, part, &mut into).await?,
        Engine::Own(Algorithm::Linear) => linear(&scope, root, part, &mut into).await?,
        Engine::Own(other) => scope.impossible(other),
    }
    Ok(is_root.then_some(into))
}

async fn binomial<C: Communicator>(
    scope: &Scope<'_, C>,
    root: usize,
    part: &Payload,
    whole: &mut Payload,
) -> Result<(), CommError> {
    let (relative, size, block) = (scope.relative(root), scope.size, part.len());
    let absolute = |relative: usize| (relative + root) % size;
    let reach = if relative == 0 { size } else { 1 << relative.trailing_zeros() };
    let count = reach.min(size - relative);
    let mut held = part.same_sort(count * block);
    held.put(0, part);
    for distance in doublings(reach) {
        if relative + distance < size {
            let blocks = distance.min(size - relative - distance);
            let received = scope.receive(absolute(relative + distance), part.same_sort(blocks * block)).await?;
            held.put(distance * block, &received);
        }
    }
    if relative != 0 {
        scope.send(absolute(relative - reach), held).await?;
    } else {
        rotate(&held, root * block, whole);
    }
    Ok(())
}

/// Writes the payload, moved `by` bytes towards its end and around, into `rotated`.
pub(super) fn rotate(payload: &Payload, by: usize, rotated: &mut Payload) {
    let bytes = payload.len();
    rotated.put(by, &payload.part(0, bytes - by));
    rotated.put(0, &payload.part(bytes - by, bytes));
}

async fn linear<C: Communicator>(
    scope: &Scope<'_, C>,
    root: usize,
    part: &Payload,
    whole: &mut Payload,
) -> Result<(), CommError> {
    if scope.rank != root {
        scope.send(root, part.clone()).await?;
        return Ok(());
    }
    let block = part.len();
    whole.put(root * block, part);
    let others = (0..scope.size).filter(|&rank| rank != root);
    let posted: Vec<_> = others.map(|rank| (rank, scope.post(rank, part.same_sort(block)))).collect();
    for (rank, posted) in posted {
        whole.put(rank * block, &scope.take(posted).await?);
    }
    Ok(())
}
