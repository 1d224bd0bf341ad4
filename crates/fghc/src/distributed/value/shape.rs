//! Values that lead back to themselves, while they are written: noticed first, then marked.

use rustc_hash::FxHashMap;

use crate::engine::has_cells;
use crate::heap::Word;

/// What a value is written as.
pub(super) enum Shape {
    /// A tree, until a part comes twice.
    Tree(Revisit),
    /// A tree but for parts that are marked: their numbers, once they have been written.
    Graph(FxHashMap<u64, Option<u64>>, u64),
}

/// How a part of a value is met.
#[derive(PartialEq, Eq)]
pub(super) enum Met {
    First,
    ToMark,
    Marked(u64),
    /// The value is no tree.
    Twice,
}

/// Notices that parts come again and again, as those of a cyclic value do, by one of them that is remembered: which, moves
/// on at ever longer intervals (R. P. Brent, An improved Monte Carlo factorization algorithm, BIT 20 (1980), section 2).
#[derive(Default)]
pub(super) struct Revisit {
    remembered: u64,
    met: usize,
    next: usize,
}

impl Revisit {
    fn is_met_again(&mut self, value: Word) -> bool {
        if value.0 == self.remembered {
            return true;
        }
        self.met += 1;
        if self.met > self.next {
            self.remembered = value.0;
            self.next = 2 * self.met;
        }
        false
    }
}

impl Shape {
    /// A list or object comes, of which the parts are written only where it is `copied`.
    pub fn meet(&mut self, value: Word, copied: bool) -> Met {
        match self {
            Shape::Tree(revisit) => {
                let is_again = copied && has_cells(value) && revisit.is_met_again(value);
                if is_again { Met::Twice } else { Met::First }
            }
            Shape::Graph(parts, marks) => match parts.get_mut(&value.0) {
                Some(Some(number)) => Met::Marked(*number),
                Some(number) if copied => {
                    *number = Some(*marks);
                    *marks += 1;
                    Met::ToMark
                }
                _ => Met::First,
            },
        }
    }
}
