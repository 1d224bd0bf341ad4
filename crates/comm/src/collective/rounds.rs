//! Collectives as rounds: who sends to whom follows from ranks alone, so that a backend can carry out a call for all
//! ranks together.

use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::algorithm::Algorithm;
use super::blocks::{Fold, Role, doublings};
use super::choose::choose;
use super::element::Reduction;

/// What one rank does in one round: it sends, then receives, then combines what it has received with its own vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The rank that it sends to.
    pub to: Option<usize>,
    /// The rank that it receives from, which sends in its round of the same number.
    pub from: Option<usize>,
    /// Whether what came is combined with its own vector.
    pub combines: bool,
}

/// The rounds of one call. All messages of a call have the same length.
///
/// # Examples
/// ```
/// use weft_comm::CollectiveKind;
/// use weft_comm::collective::Rounds;
///
/// let rounds = Rounds::of(CollectiveKind::Allreduce, 8, 64).unwrap();
/// assert_eq!(rounds.count(), 3);
/// // In the second round partners are two ranks apart.
/// assert_eq!((rounds.round(5, 1).to, rounds.round(5, 1).from), (Some(7), Some(7)));
/// // A long vector is not sent whole.
/// assert!(Rounds::of(CollectiveKind::Allreduce, 8, 1 << 20).is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    size: usize,
    pattern: Pattern,
}

#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// A barrier by dissemination.
    Dissemination,
    /// An allreduce by recursive doubling.
    Doubling(Fold),
}

impl Rounds {
    /// Of what is chosen for a collective among `size` ranks ([`choose`]), if it is a barrier by dissemination or an
    /// allreduce by recursive doubling.
    pub fn of(kind: CollectiveKind, size: usize, bytes: usize) -> Option<Rounds> {
        let pattern = match (kind, choose(kind, size, bytes)) {
            (CollectiveKind::Barrier, Algorithm::Dissemination) => Pattern::Dissemination,
            (CollectiveKind::Allreduce, Algorithm::RecursiveDoubling) => Pattern::Doubling(Fold::of(size)),
            _ => return None,
        };
        Some(Rounds { size, pattern })
    }

    /// Ranks that take part.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many rounds there are.
    pub fn count(&self) -> usize {
        match self.pattern {
            Pattern::Dissemination => doublings(self.size).count(),
            Pattern::Doubling(fold) => doublings(fold.participants).count() + if self.is_folded(fold) { 2 } else { 0 },
        }
    }

    /// Whether the first round folds ranks in, and the last one gives them the result.
    fn is_folded(&self, fold: Fold) -> bool {
        fold.participants < self.size
    }

    /// What `rank` does in round `index`, from 0.
    #[inline]
    pub fn round(&self, rank: usize, index: usize) -> Round {
        match self.pattern {
            Pattern::Dissemination => {
                let (distance, size) = (1 << index, self.size);
                let (to, from) = ((rank + distance) % size, (rank + size - distance) % size);
                Round { to: Some(to), from: Some(from), combines: false }
            }
            Pattern::Doubling(fold) if self.is_folded(fold) => self.folded_round(fold, rank, index),
            Pattern::Doubling(_) => exchange(rank ^ (1 << index)),
        }
    }

    fn folded_round(&self, fold: Fold, rank: usize, index: usize) -> Round {
        let last = self.count() - 1;
        match (fold.role(rank), index) {
            (Role::StoodFor { by }, 0) => Round { to: Some(by), ..Round::default() },
            (Role::StoodFor { by }, index) if index == last => Round { from: Some(by), ..Round::default() },
            (Role::StoodFor { .. }, _) => Round::default(),
            (Role::TakesPart { partner, .. }, 0) => Round { from: partner, combines: partner.is_some(), to: None },
            (Role::TakesPart { partner, .. }, index) if index == last => Round { to: partner, ..Round::default() },
            (Role::TakesPart { participant, .. }, index) => exchange(fold.first_rank(participant ^ (1 << (index - 1)))),
        }
    }

    /// What an allreduce comes to, of the vectors of all ranks in their order: combined in the order of the rounds.
    ///
    /// # Panics
    /// When there are fewer vectors than ranks, or their lengths differ.
    pub fn combine(&self, mut vectors: Vec<Payload>, reduction: Reduction) -> Payload {
        let fold = Fold::of(self.size);
        let mut into = |left: usize, right: usize| {
            let (lower, upper) = vectors.split_at_mut(right);
            reduction.combine(&mut lower[left], &upper[0]);
        };
        for rank in 0..self.size {
            if let Role::StoodFor { by } = fold.role(rank) {
                into(by, rank);
            }
        }
        for distance in doublings(fold.participants) {
            for participant in (0..fold.participants).step_by(2 * distance) {
                into(fold.first_rank(participant), fold.first_rank(participant + distance));
            }
        }
        vectors.swap_remove(0)
    }
}

fn exchange(peer: usize) -> Round {
    Round { to: Some(peer), from: Some(peer), combines: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_that_is_sent_is_received_in_the_same_round() {
        for kind in [CollectiveKind::Barrier, CollectiveKind::Allreduce] {
            for size in 1..40 {
                let rounds = Rounds::of(kind, size, 8).unwrap();
                for index in 0..rounds.count() {
                    for rank in 0..size {
                        if let Some(to) = rounds.round(rank, index).to {
                            assert_eq!(rounds.round(to, index).from, Some(rank), "{kind} {size} {index}");
                        }
                    }
                    let count =
                        |part: fn(Round) -> bool| (0..size).filter(|&rank| part(rounds.round(rank, index))).count();
                    assert_eq!(count(|round| round.to.is_some()), count(|round| round.from.is_some()));
                }
            }
        }
    }

    #[test]
    fn combining_takes_every_vector_once() {
        for size in 1..20 {
            let rounds = Rounds::of(CollectiveKind::Allreduce, size, 8).unwrap();
            let vectors = (0..size).map(|rank| Payload::of(&[f64::from(1 << rank)])).collect();
            let sum = rounds.combine(vectors, Reduction::SUM_FLOAT64);
            assert_eq!(sum.values::<f64>().unwrap(), [f64::from((1 << size) - 1)]);
        }
    }
}
