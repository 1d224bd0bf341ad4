//! Allreduce.

use crate::collective::Reduction;
use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::allgather::ring_of_blocks;
use super::blocks::{Blocks, Role, doublings};
use super::halving::{Halving, fold_in, reduce_scatter};
use super::scope::{Engine, Scope};

/// Gives every rank the combination of all ranks' vectors, element by element.
///
/// | algorithm | time on p ranks, n bytes, startup a, byte time b, c to combine a byte | messages in all |
/// |---|---|---|
/// | recursive-doubling, p a power of two | log2 p (a + n b + n c) | p log2 p |
/// | rabenseifner, p a power of two | 2 log2 p a + 2 (p - 1)/p n b + (p - 1)/p n c | 2 p log2 p |
/// | ring | 2 (p - 1) a + 2 (p - 1)/p n b + (p - 1)/p n c | 2 p (p - 1) |
///
/// Thakur, Rabenseifner, Gropp 2005, section 4.5; the ring: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce
/// algorithms for clusters of workstations", Journal of Parallel and Distributed Computing 69 (2009) 117-124. Where p
/// is no power of two the first two have every second of the first ranks give its vector to the rank before it and get
/// the result from there: two more messages of n bytes each, one before and one after.
///
/// # Order
/// Recursive doubling and Rabenseifner: neighbours that were folded first, then partners at distance 1, 2, 4, …
/// (Rabenseifner: …, 4, 2, 1). The ring combines block i in rank order from rank i + 1 around to rank i. The order is a
/// function of rank, size and algorithm alone, and all ranks get the same bits, since every operator is commutative.
///
/// # Errors
/// [`crate::Failure::MismatchedArguments`] where lengths differ, are no multiple of the element's or the operator is
/// not defined for the element.
pub async fn allreduce<C: Communicator>(
    comm: &C,
    mut payload: Payload,
    reduction: Reduction,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Allreduce);
    scope.check_reduction(reduction, payload.len())?;
    match scope.engine(choice, payload.len())? {
        Engine::Native(native) => native.allreduce(&mut payload, reduction).map(|()| payload),
        Engine::Own(Algorithm::RecursiveDoubling) => folded(&scope, payload, reduction, Exchange::Whole).await,
        Engine::Own(Algorithm::Rabenseifner) => folded(&scope, payload, reduction, Exchange::Halves).await,
        Engine::Own(Algorithm::Ring) => ring(&scope, payload, reduction).await,
        Engine::Own(other) => scope.impossible(other),
    }
}

/// What participants exchange.
#[derive(Clone, Copy)]
enum Exchange {
    /// The whole vector at every distance.
    Whole,
    /// Halves of halves, then the results back.
    Halves,
}

async fn folded<C: Communicator>(
    scope: &Scope<'_, C>,
    mut payload: Payload,
    reduction: Reduction,
    exchange: Exchange,
) -> Result<Payload, CommError> {
    let halving = Halving::of(scope.size, 0, payload.len(), reduction);
    let role = halving.role(scope);
    if let Some(participant) = fold_in(scope, role, &mut payload, reduction).await? {
        match exchange {
            Exchange::Whole => payload = recursive_doubling(scope, &halving, participant, payload, reduction).await?,
            Exchange::Halves => {
                reduce_scatter(scope, &halving, participant, &mut payload, reduction).await?;
                gather_blocks(scope, &halving, participant, &mut payload).await?;
            }
        }
    }
    match role {
        Role::StoodFor { by } => scope.receive(by, payload).await,
        Role::TakesPart { partner: Some(partner), .. } => scope.send(partner, payload).await,
        Role::TakesPart { partner: None, .. } => Ok(payload),
    }
}

async fn recursive_doubling<C: Communicator>(
    scope: &Scope<'_, C>,
    halving: &Halving,
    participant: usize,
    mut payload: Payload,
    reduction: Reduction,
) -> Result<Payload, CommError> {
    for distance in doublings(halving.participants()) {
        let peer = halving.rank_of(participant ^ distance);
        let posted = scope.post(peer, payload.same_sort(payload.len()));
        let sent = scope.isend(peer, payload);
        let received = scope.take(posted).await?;
        payload = sent.await?;
        scope.combine(&mut payload, &received, reduction).await;
    }
    Ok(payload)
}

/// The allgather that undoes a reduce-scatter by recursive halving.
async fn gather_blocks<C: Communicator>(
    scope: &Scope<'_, C>,
    halving: &Halving,
    participant: usize,
    payload: &mut Payload,
) -> Result<(), CommError> {
    for distance in doublings(halving.participants()) {
        let mine = participant & !(distance - 1);
        let theirs = mine ^ distance;
        let peer = halving.rank_of(participant ^ distance);
        let out = halving.cut(payload, mine, mine + distance);
        let into = halving.space(payload, theirs, theirs + distance);
        let received = scope.exchange(peer, out, peer, into).await?;
        payload.put(halving.blocks.start(theirs), &received);
    }
    Ok(())
}

/// Blocks travel around the ring and are combined on their way; block `i` is complete on rank `i`.
async fn ring<C: Communicator>(
    scope: &Scope<'_, C>,
    mut payload: Payload,
    reduction: Reduction,
) -> Result<Payload, CommError> {
    let (rank, size) = (scope.rank, scope.size);
    let blocks = Blocks::of(payload.len(), reduction.element.size(), size);
    let cut = |payload: &Payload, index: usize| payload.part(blocks.start(index), blocks.start(index + 1));
    let mut travelling = cut(&payload, (rank + size - 1) % size);
    for step in 2..=size {
        let index = (rank + size - step) % size;
        let mut own = cut(&payload, index);
        let into = own.same_sort(own.len());
        travelling = scope.exchange(scope.after(1), travelling, scope.before(1), into).await?;
        scope.combine(&mut own, &travelling, reduction).await;
        travelling = own;
    }
    payload.put(blocks.start(rank), &travelling);
    ring_of_blocks(scope, rank, &mut payload, |index| blocks.start(index)).await?;
    Ok(payload)
}
