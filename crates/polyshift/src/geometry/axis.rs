//! One axis of a geometry: its elements in consecutive blocks over some ranks.

use std::ops::Range;

use weft_machine::topology::gray;

/// Which rank has which block of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Blocks i and i + 1 on ranks whose numbers differ in one bit: the binary-reflected Gray code (George, Brickner,
    /// Johnsson 1994, section 2.1). For a power of two of ranks.
    #[default]
    News,
    /// Block i on the i-th rank.
    Send,
}

impl Order {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Order::News => "news",
            Order::Send => "send",
        }
    }
}

/// One axis: `extent` elements, `ceil(extent / ranks)` consecutive ones on each of the first ranks; the last rank with
/// any may have fewer, and ranks after it have none (George, Brickner, Johnsson 1994, section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    extent: usize,
    ranks: usize,
    order: Order,
}

/// Elements of an axis that lie in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where the piece begins, counted from the start of the range that was asked for.
    pub at: usize,
    pub length: usize,
    /// The block that has it,
    pub coordinate: usize,
    /// and where it begins there.
    pub local: usize,
}

impl Axis {
    pub(crate) fn new(extent: usize, ranks: usize, order: Order) -> Axis {
        Axis { extent, ranks, order }
    }

    /// How many elements it has.
    pub fn extent(&self) -> usize {
        self.extent
    }

    /// How many ranks it is divided over.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Which rank has which block.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The length of a full block: what every rank has memory for.
    pub fn block(&self) -> usize {
        self.extent.div_ceil(self.ranks)
    }

    /// The elements of block `coordinate`.
    pub fn range(&self, coordinate: usize) -> Range<usize> {
        let block = self.block();
        (coordinate * block).min(self.extent)..((coordinate + 1) * block).min(self.extent)
    }

    /// How many elements block `coordinate` has.
    pub fn length(&self, coordinate: usize) -> usize {
        self.range(coordinate).len()
    }

    /// The block of an element and its index there.
    pub fn owner(&self, element: usize) -> (usize, usize) {
        let block = self.block();
        (element / block, element % block)
    }

    /// How many blocks have elements.
    pub fn filled(&self) -> usize {
        self.extent.div_ceil(self.block().max(1))
    }

    /// The position of block `coordinate` among the ranks of the axis.
    pub fn code(&self, coordinate: usize) -> usize {
        match self.order {
            Order::News => gray::encode(coordinate),
            Order::Send => coordinate,
        }
    }

    /// The block at a position among the ranks of the axis: the inverse of [`code`](Axis::code).
    pub fn coordinate(&self, code: usize) -> usize {
        match self.order {
            Order::News => gray::decode(code),
            Order::Send => code,
        }
    }

    /// Who has the elements `from..from + length`, which may lie outside of the axis: around it where `circular`, and
    /// nowhere otherwise. In ascending order.
    pub fn pieces(&self, from: i64, length: usize, circular: bool) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let extent = self.extent as i64;
        let mut at = 0i64;
        let end = length as i64;
        while at < end && extent > 0 {
            let element = from + at;
            let inside = if circular { element.rem_euclid(extent) } else { element };
            if inside < 0 {
                at = (at - inside).min(end);
                continue;
            }
            if inside >= extent {
                break;
            }
            let (coordinate, local) = self.owner(inside as usize);
            let rest = self.length(coordinate) - local;
            let taken = (rest as i64).min(end - at);
            pieces.push(Piece { at: at as usize, length: taken as usize, coordinate, local });
            at += taken;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn axes() -> impl Strategy<Value = Axis> {
        (1usize..40, 1usize..10).prop_map(|(extent, ranks)| Axis::new(extent, ranks, Order::Send))
    }

    proptest! {
        #[test]
        fn blocks_are_consecutive_full_but_for_one_and_cover_the_axis(axis in axes()) {
            let lengths: Vec<usize> = (0..axis.ranks()).map(|coordinate| axis.length(coordinate)).collect();
            let full = axis.extent() / axis.block();
            prop_assert!(lengths[..full].iter().all(|&length| length == axis.block()));
            prop_assert_eq!(lengths.iter().sum::<usize>(), axis.extent());
            prop_assert_eq!(lengths.iter().filter(|&&length| length > 0).count(), axis.filled());
            for element in 0..axis.extent() {
                let (coordinate, local) = axis.owner(element);
                prop_assert_eq!(axis.range(coordinate).start + local, element);
                prop_assert!(local < axis.length(coordinate));
            }
        }

        #[test]
        fn pieces_name_the_owner_of_every_element(
            axis in axes(), from in -100i64..100, length in 0usize..120, circular: bool,
        ) {
            let mut owners: Vec<Option<(usize, usize)>> = vec![None; length];
            for piece in axis.pieces(from, length, circular) {
                for step in 0..piece.length {
                    let owner = &mut owners[piece.at + step];
                    prop_assert!(owner.is_none());
                    *owner = Some((piece.coordinate, piece.local + step));
                }
            }
            for (at, owner) in owners.into_iter().enumerate() {
                let element = from + at as i64;
                let extent = axis.extent() as i64;
                let expected = if circular {
                    Some(axis.owner(element.rem_euclid(extent) as usize))
                } else {
                    (0..extent).contains(&element).then(|| axis.owner(element as usize))
                };
                prop_assert_eq!(owner, expected);
            }
        }
    }
}
