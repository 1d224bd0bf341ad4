//! Scan.

use crate::collective::Reduction;
use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::blocks::doublings;
use super::scope::{Engine, Scope};

/// Gives every rank the combination of the vectors of ranks 0 to its own (an inclusive scan).
///
/// | algorithm | time on p ranks, n bytes, startup a, byte time b, c to combine a byte | messages in all |
/// |---|---|---|
/// | recursive-doubling | ceil(log2 p) (a + n b + n c) | p ceil(log2 p) - 2^ceil(log2 p) + 1 |
/// | linear | (p - 1) (a + n b + n c) | p - 1 |
///
/// Recursive doubling: W. D. Hillis, G. L. Steele, "Data parallel algorithms", Communications of the ACM 29 (1986)
/// 1170-1183.
///
/// # Order
/// Linear: ((v0 ∘ v1) ∘ v2) ∘ … . Recursive doubling: the combination of the ranks up to this one in runs of 1, 2, 4, …
/// ranks, the nearest first. Both are functions of the rank alone.
///
/// # Errors
/// [`crate::Failure::MismatchedArguments`] where lengths differ, are no multiple of the element's or the operator is
/// not defined for the element.
pub async fn scan<C: Communicator>(
    comm: &C,
    mut payload: Payload,
    reduction: Reduction,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Scan);
    scope.check_reduction(reduction, payload.len())?;
    match scope.engine(choice, payload.len())? {
        Engine::Native(native) => native.scan(&mut payload, reduction).map(|()| payload),
        Engine::Own(Algorithm::RecursiveDoubling) => recursive_doubling(&scope, payload, reduction).await,
        Engine::Own(Algorithm::Linear) => linear(&scope, payload, reduction).await,
        Engine::Own(other) => scope.impossible(other),
    }
}

async fn recursive_doubling<C: Communicator>(
    scope: &Scope<'_, C>,
    mut payload: Payload,
    reduction: Reduction,
) -> Result<Payload, CommError> {
    let (rank, size) = (scope.rank, scope.size);
    for distance in doublings(size) {
        let posted = (rank >= distance).then(|| scope.post(rank - distance, payload.same_sort(payload.len())));
        let sent = (rank + distance < size).then(|| scope.isend(rank + distance, payload.clone()));
        if let Some(posted) = posted {
            let mut before = scope.take(posted).await?;
            scope.combine(&mut before, &payload, reduction).await;
            payload = before;
        }
        if let Some(sent) = sent {
            sent.await?;
        }
    }
    Ok(payload)
}

async fn linear<C: Communicator>(
    scope: &Scope<'_, C>,
    mut payload: Payload,
    reduction: Reduction,
) -> Result<Payload, CommError> {
    if scope.rank > 0 {
        let mut before = scope.receive(scope.rank - 1, payload.same_sort(payload.len())).await?;
        scope.combine(&mut before, &payload, reduction).await;
        payload = before;
    }
    if scope.rank + 1 < scope.size {
        payload = scope.send(scope.rank + 1, payload).await?;
    }
    Ok(payload)
}
