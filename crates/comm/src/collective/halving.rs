//! Reduce-scatter by recursive halving: the first half of Rabenseifner's algorithms.

use crate::collective::Reduction;
use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;

use super::blocks::{Blocks, Fold, Role, doublings};
use super::scope::Scope;

/// The ranks as a reduction folded to a power of two sees them: counted from `root`, which always takes part.
#[derive(Clone, Copy)]
pub(super) struct Halving {
    fold: Fold,
    root: usize,
    size: usize,
    /// One block for each participant.
    pub blocks: Blocks,
}

impl Halving {
    pub fn of(size: usize, root: usize, bytes: usize, reduction: Reduction) -> Halving {
        let fold = Fold::of(size);
        Halving { fold, root, size, blocks: Blocks::of(bytes, reduction.element.size(), fold.participants) }
    }

    pub fn participants(&self) -> usize {
        self.fold.participants
    }

    pub fn role<C: Communicator>(&self, scope: &Scope<'_, C>) -> Role {
        match self.fold.role(scope.relative(self.root)) {
            Role::TakesPart { participant, partner } => {
                Role::TakesPart { participant, partner: partner.map(|partner| self.absolute(partner)) }
            }
            Role::StoodFor { by } => Role::StoodFor { by: self.absolute(by) },
        }
    }

    /// The rank of the communicator that is participant `participant`.
    pub fn rank_of(&self, participant: usize) -> usize {
        self.absolute(self.fold.first_rank(participant))
    }

    fn absolute(&self, relative: usize) -> usize {
        (relative + self.root) % self.size
    }

    /// The payload's blocks `from..to`.
    pub fn cut(&self, payload: &Payload, from: usize, to: usize) -> Payload {
        payload.part(self.blocks.start(from), self.blocks.start(to))
    }

    /// Space for the blocks `from..to`.
    pub fn space(&self, payload: &Payload, from: usize, to: usize) -> Payload {
        payload.same_sort(self.blocks.span(from, to))
    }
}

/// Folds the vectors of the ranks that are stood for into those of the ranks that take part.
///
/// Returns this rank's participant number, or `None` if it is stood for.
pub(super) async fn fold_in<C: Communicator>(
    scope: &Scope<'_, C>,
    role: Role,
    payload: &mut Payload,
    reduction: Reduction,
) -> Result<Option<usize>, CommError> {
    match role {
        Role::StoodFor { by } => {
            scope.send(by, payload.clone()).await?;
            Ok(None)
        }
        Role::TakesPart { participant, partner } => {
            if let Some(partner) = partner {
                let received = scope.receive(partner, payload.same_sort(payload.len())).await?;
                scope.combine(payload, &received, reduction).await;
            }
            Ok(Some(participant))
        }
    }
}

/// Leaves block `p` of the reduced vector on participant `p`; the rest of `payload` has partial results.
pub(super) async fn reduce_scatter<C: Communicator>(
    scope: &Scope<'_, C>,
    halving: &Halving,
    participant: usize,
    payload: &mut Payload,
    reduction: Reduction,
) -> Result<(), CommError> {
    for distance in doublings(halving.participants()).rev() {
        let kept = participant & !(distance - 1);
        let sent = kept ^ distance;
        let peer = halving.rank_of(participant ^ distance);
        let out = halving.cut(payload, sent, sent + distance);
        let into = halving.space(payload, kept, kept + distance);
        let received = scope.exchange(peer, out, peer, into).await?;
        let mut own = halving.cut(payload, kept, kept + distance);
        scope.combine(&mut own, &received, reduction).await;
        payload.put(halving.blocks.start(kept), &own);
    }
    Ok(())
}
