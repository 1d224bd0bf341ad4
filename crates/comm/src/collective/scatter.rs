//! Scatter.

use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::blocks::doublings;
use super::gather::rotate;
use super::scope::{Engine, Scope};

/// Gives every rank its part of the root's `whole`, which has one part of `into.len()` bytes for each rank in rank
/// order; the other ranks pass `None`.
///
/// | algorithm | time on p ranks, n bytes in all, startup a, byte time b | messages in all |
/// |---|---|---|
/// | binomial | ceil(log2 p) a + (p - 1)/p n b | p - 1 |
/// | linear | (p - 1) (a + n/p b) | p - 1 |
///
/// Chan, Heimlich, Purkayastha, van de Geijn 2007, section 4 (see [`gather`](super::gather())).
///
/// # Errors
/// [`crate::Failure::NoSuchRank`] for a root that is none, [`crate::Failure::MismatchedArguments`] where lengths differ
/// or the root has no whole.
pub async fn scatter<C: Communicator>(
    comm: &C,
    root: usize,
    whole: Option<&Payload>,
    into: Payload,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Scatter);
    scope.check_root(root)?;
    let whole = whole.filter(|_| scope.rank == root);
    check_whole(&scope, root, whole, into.len())?;
    match scope.engine(choice, into.len())? {
        Engine::Native(native) => {
            let mut into = into;
            native.scatter_into(root, whole, &mut into).map(|()| into)
        }
        Engine::Own(Algorithm::Binomial) => binomial(&scope, root, whole, into).await,
        Engine::Own(Algorithm::Linear) => linear(&scope, root, whole, into).await,
        Engine::Own(other) => scope.impossible(other),
    }
}

fn check_whole<C: Communicator>(
    scope: &Scope<'_, C>,
    root: usize,
    whole: Option<&Payload>,
    block: usize,
) -> Result<(), CommError> {
    match whole {
        None if scope.rank == root => Err(scope.mismatch("the root has nothing to scatter".to_owned())),
        Some(whole) if whole.len() != scope.size * block => Err(scope.mismatch(format!(
            "the root has {} bytes to scatter, which are not {} parts of {block}",
            whole.len(),
            scope.size
        ))),
        _ => Ok(()),
    }
}

async fn binomial<C: Communicator>(
    scope: &Scope<'_, C>,
    root: usize,
    whole: Option<&Payload>,
    into: Payload,
) -> Result<Payload, CommError> {
    let (relative, size, block) = (scope.relative(root), scope.size, into.len());
    let absolute = |relative: usize| (relative + root) % size;
    let reach = if relative == 0 { size } else { 1 << relative.trailing_zeros() };
    let count = reach.min(size - relative);
    let held = match whole {
        Some(whole) => {
            let mut rotated = whole.same_sort(whole.len());
            rotate(whole, (size - root) % size * block, &mut rotated);
            rotated
        }
        None => {
            let space = into.same_sort(count * block);
            scope.receive(absolute(relative - reach), space).await?
        }
    };
    for distance in doublings(reach).rev() {
        if relative + distance < size {
            let end = (2 * distance).min(count);
            scope.send(absolute(relative + distance), held.part(distance * block, end * block)).await?;
        }
    }
    let mut own = into;
    own.put(0, &held.part(0, block));
    Ok(own)
}

async fn linear<C: Communicator>(
    scope: &Scope<'_, C>,
    root: usize,
    whole: Option<&Payload>,
    mut into: Payload,
) -> Result<Payload, CommError> {
    let Some(whole) = whole else { return scope.receive(root, into).await };
    let block = into.len();
    let part = |rank: usize| whole.part(rank * block, (rank + 1) * block);
    let others = (0..scope.size).filter(|&rank| rank != root);
    let sent: Vec<_> = others.map(|rank| scope.isend(rank, part(rank))).collect();
    for sent in sent {
        sent.await?;
    }
    into.put(0, &part(root));
    Ok(into)
}
