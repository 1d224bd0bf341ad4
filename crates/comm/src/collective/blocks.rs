//! The arithmetic of collectives: powers of two, ranks folded to them, vectors cut into blocks.

/// The largest power of two that is at most `n`.
pub(super) fn floor_power_of_two(n: usize) -> usize {
    1 << n.ilog2()
}

/// 1, 2, 4, … below `limit`.
pub fn doublings(limit: usize) -> impl DoubleEndedIterator<Item = usize> {
    let rounds = if limit <= 1 { 0 } else { (limit - 1).ilog2() + 1 };
    (0..rounds).map(|round| 1 << round)
}

/// Ranks folded to a power of two: the first `2 * extra` ranks work in pairs, of which the even one takes part for
/// both; all others take part for themselves (Thakur, Rabenseifner, Gropp 2005, section 4.5).
#[derive(Clone, Copy, Debug)]
pub struct Fold {
    /// Participants, a power of two.
    pub participants: usize,
    extra: usize,
}

/// What one rank does in a [`Fold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Takes part as `participant`, also for rank `partner` if there is one.
    TakesPart { participant: usize, partner: Option<usize> },
    /// Is stood for by rank `by`.
    StoodFor { by: usize },
}

impl Fold {
    /// Of so many ranks, at least 1.
    pub fn of(size: usize) -> Fold {
        let participants = floor_power_of_two(size);
        Fold { participants, extra: size - participants }
    }

    pub(super) fn role(self, rank: usize) -> Role {
        let participant = self.participant(rank);
        let by = self.first_rank(participant);
        if by != rank {
            return Role::StoodFor { by };
        }
        Role::TakesPart { participant, partner: (participant < self.extra).then_some(rank + 1) }
    }

    /// The participant that a rank is or is stood for by.
    pub fn participant(self, rank: usize) -> usize {
        if rank >= 2 * self.extra { rank - self.extra } else { rank / 2 }
    }

    /// The pairs of ranks that work as one: who takes part, and who is stood for.
    pub fn pairs(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.extra).map(|pair| (2 * pair, 2 * pair + 1))
    }

    /// The rank that is participant `participant`; the participant one past the last gives the number of ranks, so
    /// that participant `p` stands for the ranks `first_rank(p)..first_rank(p + 1)`.
    pub fn first_rank(self, participant: usize) -> usize {
        if participant < self.extra { 2 * participant } else { participant + self.extra }
    }
}

/// A vector cut into consecutive blocks of whole elements, the first ones longer by an element where it does not go
/// evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    element: usize,
    each: usize,
    longer: usize,
}

impl Blocks {
    pub fn of(bytes: usize, element: usize, count: usize) -> Blocks {
        let elements = bytes / element;
        Blocks { element, each: elements / count, longer: elements % count }
    }

    /// The byte at which block `index` starts (and block `index - 1` ends).
    pub fn start(self, index: usize) -> usize {
        self.element * (index * self.each + index.min(self.longer))
    }

    /// The length of the blocks `from..to` in bytes.
    pub fn span(self, from: usize, to: usize) -> usize {
        self.start(to) - self.start(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doublings_end_below_the_limit() {
        assert_eq!(doublings(1).count(), 0);
        assert_eq!(doublings(2).collect::<Vec<_>>(), [1]);
        assert_eq!(doublings(5).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(doublings(8).collect::<Vec<_>>(), [1, 2, 4]);
    }

    #[test]
    fn a_fold_covers_every_rank_once() {
        for size in 1..40 {
            let fold = Fold::of(size);
            assert_eq!(fold.first_rank(fold.participants), size);
            assert_eq!(fold.pairs().count(), size - fold.participants);
            for rank in 0..size {
                match fold.role(rank) {
                    Role::TakesPart { participant, partner } => {
                        assert_eq!(fold.first_rank(participant), rank);
                        let end = partner.unwrap_or(rank) + 1;
                        assert_eq!(fold.first_rank(participant + 1), end);
                    }
                    Role::StoodFor { by } => {
                        let partner = Some(rank);
                        assert_eq!(fold.role(by), Role::TakesPart { participant: fold.participant(rank), partner });
                        assert!(fold.pairs().any(|pair| pair == (by, rank)));
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_cover_the_vector() {
        let blocks = Blocks::of(7 * 8, 8, 3);
        assert_eq!((0..=3).map(|index| blocks.start(index)).collect::<Vec<_>>(), [0, 24, 40, 56]);
        assert_eq!(Blocks::of(8, 8, 3).span(1, 3), 0);
    }
}
