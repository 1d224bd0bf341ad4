//! Reduce.

use crate::collective::Reduction;
use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::blocks::doublings;
use super::halving::{Halving, fold_in, reduce_scatter};
use super::scope::{Engine, Scope};

/// Gives `root` the combination of all ranks' vectors, element by element; the others get their payload back for reuse,
/// with contents of no meaning.
///
/// | algorithm | time on p ranks, n bytes, startup a, byte time b, c to combine a byte | messages in all |
/// |---|---|---|
/// | binomial | ceil(log2 p) (a + n b + n c) | p - 1 |
/// | rabenseifner, p a power of two | 2 log2 p a + 2 (p - 1)/p n b + (p - 1)/p n c | p log2 p + p - 1 |
///
/// Rabenseifner: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004, LNCS 3036, 1-9; where p
/// is no power of two, every second of the first ranks first gives its vector to the rank before it (one message of n
/// bytes more).
///
/// # Order
/// Ranks are counted from the root. Binomial: a rank combines its own vector with those of the ranks 1, 2, 4, … after
/// it, in this order, each of which stands for its part of the tree. Rabenseifner: neighbours that were folded first,
/// then partners at distance p/2, p/4, …, 1. The order is a function of rank, root, size and algorithm alone, so the
/// same call gives the same bits.
///
/// # Errors
/// [`crate::Failure::NoSuchRank`] for a root that is none; [`crate::Failure::MismatchedArguments`] where lengths
/// differ, are no multiple of the element's or the operator is not defined for the element.
pub async fn reduce<C: Communicator>(
    comm: &C,
    root: usize,
    mut payload: Payload,
    reduction: Reduction,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Reduce);
    scope.check_root(root)?;
    scope.check_reduction(reduction, payload.len())?;
    match scope.engine(choice, payload.len())? {
        Engine::Native(native) => native.reduce(root, &mut payload, reduction).map(|()| payload),
        Engine::Own(Algorithm::Binomial) => binomial(&scope, root, payload, reduction).await,
        Engine::Own(Algorithm::Rabenseifner) => rabenseifner(&scope, root, payload, reduction).await,
        Engine::Own(other) => scope.impossible(other),
    }
}

async fn binomial<C: Communicator>(
    scope: &Scope<'_, C>,
    root: usize,
    mut payload: Payload,
    reduction: Reduction,
) -> Result<Payload, CommError> {
    let (relative, size) = (scope.relative(root), scope.size);
    let absolute = |relative: usize| (relative + root) % size;
    let mut received = None;
    for distance in doublings(size) {
        if relative & distance != 0 {
            return scope.send(absolute(relative - distance), payload).await;
        }
        if relative + distance < size {
            let into = received.take().unwrap_or_else(|| payload.same_sort(payload.len()));
            let part = scope.receive(absolute(relative + distance), into).await?;
            scope.combine(&mut payload, &part, reduction).await;
            received = Some(part);
        }
    }
    Ok(payload)
}

async fn rabenseifner<C: Communicator>(
    scope: &Scope<'_, C>,
    root: usize,
    mut payload: Payload,
    reduction: Reduction,
) -> Result<Payload, CommError> {
    let halving = Halving::of(scope.size, root, payload.len(), reduction);
    let role = halving.role(scope);
    let Some(participant) = fold_in(scope, role, &mut payload, reduction).await? else { return Ok(payload) };
    reduce_scatter(scope, &halving, participant, &mut payload, reduction).await?;
    for distance in doublings(halving.participants()) {
        if participant & distance != 0 {
            let peer = halving.rank_of(participant - distance);
            scope.send(peer, halving.cut(&payload, participant, participant + distance)).await?;
            return Ok(payload);
        }
        let first = participant + distance;
        let into = halving.space(&payload, first, first + distance);
        let part = scope.receive(halving.rank_of(first), into).await?;
        payload.put(halving.blocks.start(first), &part);
    }
    Ok(payload)
}
