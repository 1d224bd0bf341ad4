//! Allgather.

use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::{Algorithm, Choice};
use super::blocks::{Fold, Role, doublings};
use super::scope::{Engine, Scope};

/// Gives every rank the parts of all ranks, in rank order. All parts have one length. `into` is space for
/// the result; `None` allocates it.
///
/// | algorithm | time on p ranks, n bytes in all, startup a, byte time b | messages in all |
/// |---|---|---|
/// | bruck | ceil(log2 p) a + (p - 1)/p n b | p ceil(log2 p) |
/// | recursive-doubling | log2 p a + (p - 1)/p n b; 2 rounds and n b more where p is no power of two | p log2 p |
/// | ring | (p - 1) a + (p - 1)/p n b | p (p - 1) |
///
/// Bruck: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all communications
/// in multiport message-passing systems", IEEE Transactions on Parallel and Distributed Systems 8 (1997) 1143-1156,
/// section 4. The others: Thakur, Rabenseifner, Gropp 2005, section 4.1.
///
/// # Errors
/// [`crate::Failure::MismatchedArguments`] where lengths differ.
pub async fn allgather<C: Communicator>(
    comm: &C,
    part: &Payload,
    into: Option<Payload>,
    choice: Choice,
) -> Result<Payload, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Allgather);
    let mut into = scope.space(into, part, scope.size * part.len())?;
    match scope.engine(choice, part.len())? {
        Engine::Native(native) => native.allgather_into(part, &mut into).map(|()| into),
        Engine::Own(Algorithm::Bruck) => bruck(&scope, part, into).await,
        Engine::Own(Algorithm::RecursiveDoubling) => recursive_doubling(&scope, part, into).await,
        Engine::Own(Algorithm::Ring) => ring(&scope, part, into).await,
        Engine::Own(other) => scope.impossible(other),
    }
}

/// After the round at distance d every rank has the parts of the d + d ranks from itself on.
pub(super) async fn bruck<C: Communicator>(
    scope: &Scope<'_, C>,
    part: &Payload,
    mut whole: Payload,
) -> Result<Payload, CommError> {
    let (size, block) = (scope.size, part.len());
    let mut rotated = part.same_sort(size * block);
    rotated.put(0, part);
    for distance in doublings(size) {
        let bytes = distance.min(size - distance) * block;
        let out = rotated.part(0, bytes);
        let received =
            scope.exchange(scope.before(distance), out, scope.after(distance), part.same_sort(bytes)).await?;
        rotated.put(distance * block, &received);
    }
    let own = (size - scope.rank) % size * block;
    whole.put(0, &rotated.part(own, size * block));
    whole.put(size * block - own, &rotated.part(0, own));
    Ok(whole)
}

async fn recursive_doubling<C: Communicator>(
    scope: &Scope<'_, C>,
    part: &Payload,
    mut whole: Payload,
) -> Result<Payload, CommError> {
    let (size, block) = (scope.size, part.len());
    let fold = Fold::of(size);
    whole.put(scope.rank * block, part);
    let (participant, partner) = match fold.role(scope.rank) {
        Role::TakesPart { participant, partner } => (participant, partner),
        Role::StoodFor { by } => {
            scope.send(by, part.clone()).await?;
            return scope.receive(by, whole).await;
        }
    };
    if let Some(partner) = partner {
        let received = scope.receive(partner, part.same_sort(block)).await?;
        whole.put(partner * block, &received);
    }
    for distance in doublings(fold.participants) {
        let start = |first: usize| fold.first_rank(first) * block;
        let mine = participant & !(distance - 1);
        let theirs = mine ^ distance;
        let peer = fold.first_rank(participant ^ distance);
        let out = whole.part(start(mine), start(mine + distance));
        let into = part.same_sort(start(theirs + distance) - start(theirs));
        let received = scope.exchange(peer, out, peer, into).await?;
        whole.put(start(theirs), &received);
    }
    match partner {
        Some(partner) => scope.send(partner, whole).await,
        None => Ok(whole),
    }
}

async fn ring<C: Communicator>(scope: &Scope<'_, C>, part: &Payload, mut whole: Payload) -> Result<Payload, CommError> {
    let block = part.len();
    whole.put(scope.rank * block, part);
    ring_of_blocks(scope, scope.rank, &mut whole, |index| index * block).await?;
    Ok(whole)
}

/// Every rank has block `own` of `whole` (its position on the ring); afterwards all have all. `start(i)` is where block
/// `i` starts and block `i - 1` ends.
pub(super) async fn ring_of_blocks<C: Communicator>(
    scope: &Scope<'_, C>,
    own: usize,
    whole: &mut Payload,
    start: impl Fn(usize) -> usize,
) -> Result<(), CommError> {
    let size = scope.size;
    for step in 1..size {
        let (out, into) = ((own + size + 1 - step) % size, (own + size - step) % size);
        let sent = whole.part(start(out), start(out + 1));
        let space = whole.same_sort(start(into + 1) - start(into));
        let received = scope.exchange(scope.after(1), sent, scope.before(1), space).await?;
        whole.put(start(into), &received);
    }
    Ok(())
}
