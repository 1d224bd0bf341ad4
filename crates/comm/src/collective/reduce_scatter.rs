//! Reduce-scatter.

use crate::collective::Reduction;
use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::scope::{Engine, Scope};

/// Combines the vectors of all ranks, which have `size` equal blocks, and gives rank r block r. `into` is space for the
/// result; `None` allocates it.
///
/// | algorithm | time on p ranks, blocks of n bytes, startup a, byte time b, c to combine a byte | messages in all |
/// |---|---|---|
/// | pairwise | (p - 1) (a + n b + n c) | p (p - 1) |
/// | ring | (p - 1) (a + n b + n c), neighbour to neighbour | p (p - 1) |
///
/// Pairwise exchange: Thakur, Rabenseifner, Gropp 2005, section 4.4: in step s rank r sends its part of block r + s to
/// that rank. The ring is the first half of that of [`allreduce`](super::allreduce()).
///
/// # Order
/// Pairwise: this rank's vector, then those of the ranks before it around the ring, the nearest first. Ring: from rank
/// r + 1 around to rank r.
///
/// # Errors
/// [`crate::Failure::MismatchedArguments`] where lengths differ, are no `size` blocks of whole elements, or the operator
/// is not defined for the element.
pub async fn reduce_scatter<C: Communicator>(
    comm: &C,
    whole: &Payload,
    into: Option<Payload>,
    reduction: Reduction,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::ReduceScatter);
    if !whole.len().is_multiple_of(scope.size) {
        return Err(scope.mismatch(format!("{} bytes are not {} equal blocks", whole.len(), scope.size)));
    }
    let block = whole.len() / scope.size;
    scope.check_reduction(reduction, block)?;
    let mut result = scope.space(into, whole, block)?;
    match scope.engine(choice, block)? {
        Engine::Native(native) => native.reduce_scatter_into(whole, &mut result, reduction)?,
        Engine::Own(Algorithm::Pairwise) => pairwise(&scope, whole, &mut result, reduction).await?,
        Engine::Own(Algorithm::Ring) => ring(&scope, whole, &mut result, reduction).await?,
        Engine::Own(other) => scope.impossible(other),
    }
    Ok(result)
}

fn cut(whole: &Payload, block: usize, index: usize) -> Payload {
    whole.part(index * block, (index + 1) * block)
}

async fn pairwise<C: Communicator>(
    scope: &Scope<'_, C>,
    whole: &Payload,
    result: &mut Payload,
    reduction: Reduction,
) -> Result<(), CommError> {
    let block = result.len();
    result.put(0, &cut(whole, block, scope.rank));
    for distance in 1..scope.size {
        let (to, from) = (scope.after(distance), scope.before(distance));
        let received = scope.exchange(to, cut(whole, block, to), from, whole.same_sort(block)).await?;
        scope.combine(result, &received, reduction).await;
    }
    Ok(())
}

/// Blocks travel around the ring and are combined on their way; block `i` is complete on rank `i`.
async fn ring<C: Communicator>(
    scope: &Scope<'_, C>,
    whole: &Payload,
    result: &mut Payload,
    reduction: Reduction,
) -> Result<(), CommError> {
    let (rank, size, block) = (scope.rank, scope.size, result.len());
    let mut travelling = cut(whole, block, (rank + size - 1) % size);
    for step in 2..=size {
        let received = scope.exchange(scope.after(1), travelling, scope.before(1), whole.same_sort(block)).await?;
        travelling = cut(whole, block, (rank + size - step) % size);
        scope.combine(&mut travelling, &received, reduction).await;
    }
    result.put(0, &travelling);
    Ok(())
}
