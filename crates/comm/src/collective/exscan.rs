//! Exclusive scan.

use crate::collective::Reduction;
use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::blocks::doublings;
use super::scope::{Engine, Scope};

/// Gives every rank the combination of the vectors of the ranks before it; rank 0 keeps its own, for which MPI promises
/// nothing.
///
/// | algorithm | time on p ranks, n bytes, startup a, byte time b, c to combine a byte | messages in all |
/// |---|---|---|
/// | recursive-doubling | ceil(log2 p) (a + n b + 2 n c) | p ceil(log2 p) - 2^ceil(log2 p) + 1 |
/// | linear | (p - 1) (a + n b + n c) | p - 1 |
///
/// Recursive doubling as in [`scan`](super::scan()), with two results: that of the ranks before, and that with this rank's
/// own vector, which is sent on.
///
/// # Errors
/// As for [`scan`](super::scan()).
pub async fn exscan<C: Communicator>(
    comm: &C,
    mut payload: Payload,
    reduction: Reduction,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Exscan);
    scope.check_reduction(reduction, payload.len())?;
    match scope.engine(choice, payload.len())? {
        Engine::Native(native) => native.exscan(&mut payload, reduction).map(|()| payload),
        Engine::Own(Algorithm::RecursiveDoubling) => recursive_doubling(&scope, payload, reduction).await,
        Engine::Own(Algorithm::Linear) => linear(&scope, payload, reduction).await,
        Engine::Own(other) => scope.impossible(other),
    }
}

async fn recursive_doubling<C: Communicator>(
    scope: &Scope<'_, C>,
    payload: Payload,
    reduction: Reduction,
) -> Result<Payload, CommError> {
    let (rank, size) = (scope.rank, scope.size);
    let mut inclusive = payload.clone();
    let mut before: Option<Payload> = None;
    for distance in doublings(size) {
        let posted = (rank >= distance).then(|| scope.post(rank - distance, payload.same_sort(payload.len())));
        let sent = (rank + distance < size).then(|| scope.isend(rank + distance, inclusive.clone()));
        if let Some(posted) = posted {
            let received = scope.take(posted).await?;
            before = Some(after(scope, received.clone(), before, reduction).await);
            inclusive = after(scope, received, Some(inclusive), reduction).await;
        }
        if let Some(sent) = sent {
            sent.await?;
        }
    }
    Ok(before.unwrap_or(payload))
}

/// What came from ranks before, combined with what is known of those between.
async fn after<C: Communicator>(
    scope: &Scope<'_, C>,
    mut received: Payload,
    known: Option<Payload>,
    reduction: Reduction,
) -> Payload {
    if let Some(known) = known {
        scope.combine(&mut received, &known, reduction).await;
    }
    received
}

async fn linear<C: Communicator>(
    scope: &Scope<'_, C>,
    payload: Payload,
    reduction: Reduction,
) -> Result<Payload, CommError> {
    let (rank, last) = (scope.rank, scope.size - 1);
    if rank == 0 {
        return if last > 0 { scope.send(1, payload).await } else { Ok(payload) };
    }
    let before = scope.receive(rank - 1, payload.same_sort(payload.len())).await?;
    if rank < last {
        let mut on = before.clone();
        scope.combine(&mut on, &payload, reduction).await;
        scope.send(rank + 1, on).await?;
    }
    Ok(before)
}
