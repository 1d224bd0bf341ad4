//! Barrier.

use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::blocks::doublings;
use super::scope::{Engine, Scope};

/// Returns when every rank has called it.
///
/// | algorithm | rounds one after another | messages in all |
/// |---|---|---|
/// | dissemination | ceil(log2 p) | p ceil(log2 p) |
/// | binomial | 2 ceil(log2 p) | 2 (p - 1) |
///
/// Dissemination: D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", International Journal
/// of Parallel Programming 17 (1988) 1-17; p need not be a power of two. Binomial: up a tree to rank 0 and down again.
pub async fn barrier<C: Communicator>(comm: &C, choice: Choice) -> Result<(), CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Barrier);
    match scope.engine(choice, 0)? {
        Engine::Native(native) => native.barrier(),
        Engine::Own(Algorithm::Dissemination) => dissemination(&scope).await,
        Engine::Own(Algorithm::Binomial) => binomial(&scope).await,
        Engine::Own(other) => scope.impossible(other),
    }
}

async fn dissemination<C: Communicator>(scope: &Scope<'_, C>) -> Result<(), CommError> {
    for distance in doublings(scope.size) {
        scope.exchange(scope.after(distance), Payload::EMPTY, scope.before(distance), Payload::EMPTY).await?;
    }
    Ok(())
}

async fn binomial<C: Communicator>(scope: &Scope<'_, C>) -> Result<(), CommError> {
    let rank = scope.rank;
    let mut children = Vec::new();
    let mut parent = None;
    for distance in doublings(scope.size) {
        if rank & distance != 0 {
            parent = Some(rank - distance);
            break;
        }
        if rank + distance < scope.size {
            scope.receive(rank + distance, Payload::EMPTY).await?;
            children.push(rank + distance);
        }
    }
    if let Some(parent) = parent {
        scope.send(parent, Payload::EMPTY).await?;
        scope.receive(parent, Payload::EMPTY).await?;
    }
    for child in children.into_iter().rev() {
        scope.send(child, Payload::EMPTY).await?;
    }
    Ok(())
}
