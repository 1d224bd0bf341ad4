//! Addresses of a grid that is divided into blocks, sorted by the ranks that have them.
//!
//! A get or a send over ranks begins with it: what goes to a rank lies together then, in the order of the elements.

use super::indices::{BLOCK, Block, Checked, Index, Indexing, Moves, with_indices};
use super::{ElementType, PrimitiveError, View, finished};
use crate::Execution;

/// How a grid is divided over ranks, axis by axis into blocks of equal extents but the last ones.
#[derive(Clone, Debug)]
pub struct Division {
    axes: Vec<Axis>,
    /// The rank of each cell of the grid of ranks, in C order.
    ranks: Vec<usize>,
    /// Extents of each rank's block, one rank after another.
    extents: Vec<usize>,
    count: usize,
    /// Elements of the grid.
    size: usize,
}

/// An axis of a divided grid.
#[derive(Clone, Copy, Debug)]
struct Axis {
    extent: Divisor,
    block: Divisor,
    /// Ranks along it.
    cells: usize,
}

/// A number by which many are divided.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    by: usize,
    /// Its logarithm, where it is a power of two.
    shift: Option<u32>,
}

impl Divisor {
    fn new(by: usize) -> Self {
        let by = by.max(1);
        Self { by, shift: by.is_power_of_two().then(|| by.trailing_zeros()) }
    }

    /// Quotient and remainder.
    #[inline(always)]
    fn divide(self, number: usize) -> (usize, usize) {
        match (self.shift, u32::try_from(number), u32::try_from(self.by)) {
            (Some(shift), ..) => (number >> shift, number & (self.by - 1)),
            // Division of short numbers takes a part of the time.
            (None, Ok(number), Ok(by)) => ((number / by) as usize, (number % by) as usize),
            _ => (number / self.by, number % self.by),
        }
    }
}

impl Division {
    /// Of a grid of these extents into blocks of these, of which `cells` along each axis have the ranks in `ranks`, in C
    /// order; `extents` are those of each rank's block, one rank after another.
    ///
    /// # Errors
    ///
    /// Lists of lengths that do not fit each other, and ranks that `extents` do not have.
    pub fn new(
        shape: &[usize],
        block: &[usize],
        cells: &[usize],
        ranks: Vec<usize>,
        extents: Vec<usize>,
    ) -> Result<Self, PrimitiveError> {
        let count = extents.len().checked_div(shape.len()).unwrap_or(0);
        let covers = shape.iter().zip(block).zip(cells).all(|((&shape, &block), &cells)| block * cells >= shape);
        let fits = [block.len(), cells.len()] == [shape.len(); 2]
            && extents.len() == count * shape.len()
            && covers
            && ranks.len() == cells.iter().product::<usize>()
            && ranks.iter().all(|&rank| rank < count);
        if !fits {
            return Err(PrimitiveError::Meaningless("blocks, cells, ranks and extents do not divide the grid"));
        }
        let axis =
            |((&extent, &block), &cells)| Axis { extent: Divisor::new(extent), block: Divisor::new(block), cells };
        let axes = shape.iter().zip(block).zip(cells).map(axis).collect();
        Ok(Self { axes, ranks, extents, count, size: shape.iter().product() })
    }

    /// The rank that has an address, and its offset in that rank's block.
    #[inline(always)]
    fn locate(&self, address: usize) -> (usize, usize) {
        if let [axis] = self.axes[..] {
            let (cell, offset) = axis.block.divide(address);
            return (self.ranks[cell], offset);
        }
        self.locate_in_axes(address)
    }

    fn locate_in_axes(&self, address: usize) -> (usize, usize) {
        let (mut rest, mut cell, mut stride) = (address, 0, 1);
        for axis in self.axes.iter().rev() {
            let (others, coordinate) = axis.extent.divide(rest);
            cell += axis.block.divide(coordinate).0 * stride;
            (rest, stride) = (others, stride * axis.cells);
        }
        let rank = self.ranks[cell];
        let extents = &self.extents[rank * self.axes.len()..];
        let (mut rest, mut offset, mut stride) = (address, 0, 1);
        for (axis, extent) in self.axes.iter().zip(extents).rev() {
            let (others, coordinate) = axis.extent.divide(rest);
            offset += axis.block.divide(coordinate).1 * stride;
            (rest, stride) = (others, stride * extent);
        }
        (rank, offset)
    }
}

/// Sorts the selected addresses by the ranks that have them, those of a rank in the order of their elements: their offsets
/// in the blocks of these ranks into `offsets`, and the numbers of the elements that had them into `elements`, as many of
/// each as are selected. Returns how many addresses each rank has.
///
/// # Errors
///
/// A selected address that the grid does not have (nothing is written then), outputs of other types than int64 or
/// another length than `index`, and arrays that overlap.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn partition<'a>(
    index: View,
    selection: Option<&View>,
    division: &Division,
    [offsets, elements]: [View; 2],
    execution: impl Into<Execution<'a>>,
) -> Result<Vec<usize>, PrimitiveError> {
    for (name, out) in [("offsets", &offsets), ("elements", &elements)] {
        out.check_type(name, ElementType::Int64)?;
        out.check_length(name, index.length)?;
    }
    offsets.check_apart("offsets", &elements, "elements")?;
    index.check_apart("index", &elements, "elements")?;
    // SAFETY: the memory of all views is what `View` says (this function's condition).
    let moves = unsafe { Moves::checked(offsets, index, elements, index.length, selection, execution.into())? };
    index.check_apart("index", &offsets, "offsets")?;
    with_indices(&index, Work { moves, division })
}

struct Work<'a> {
    /// With the offsets as the array that is read, and the elements as the output.
    moves: Moves<'a>,
    division: &'a Division,
}

impl Indexing for Work<'_> {
    type Output = Vec<usize>;

    fn run<I: Index>(self) -> Result<Vec<usize>, PrimitiveError> {
        let Self { moves, division } = self;
        let none = || vec![0; division.count];
        // SAFETY: the index's memory is what `View` says (a condition of `partition`, which made this), and `with_indices`
        // has chosen its type.
        let checked = unsafe { Checked::<I>::new(&moves, division.size, "grid", false)? };
        let Some(index) = checked else { return Ok(none()) };
        let each = |work: &mut dyn FnMut(usize, usize, usize)| {
            for start in (0..moves.index.length).step_by(BLOCK).take_while(|_| !moves.stop.is_requested()) {
                let (end, mut block) = (moves.index.length.min(start + BLOCK), Block::new());
                index.block(start..end, moves.selection, &mut block).for_each(|element, address| {
                    let (rank, offset) = division.locate(address);
                    work(rank, offset, start + element);
                });
            }
        };
        let mut counts = none();
        each(&mut |rank, _, _| counts[rank] += 1);
        let mut next: Vec<usize> =
            counts.iter().scan(0, |end, count| Some(std::mem::replace(end, *end + count))).collect();
        // SAFETY: both arrays are int64 and their memory is what `View` says (a condition of `partition`), apart from each
        // other and from the indices, which was checked.
        let (offsets, elements) = unsafe { (moves.x.elements_mut::<i64>(), moves.out.elements_mut::<i64>()) };
        each(&mut |rank, offset, element| {
            let at = next[rank];
            // Where another thread has written the indices meanwhile there may be more than were counted.
            if let (Some(to), Some(from)) = (offsets.get_mut(at), elements.get_mut(at)) {
                (*to, *from) = (offset as i64, element as i64);
                next[rank] = at + 1;
            }
        });
        finished(moves.stop)?;
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn view<T>(kind: ElementType, values: &mut [T]) -> View {
        View { kind, pointer: values.as_mut_ptr().cast(), length: values.len() }
    }

    /// Blocks of an axis: the extent of each, all alike but the last ones.
    fn lengths(extent: usize, cells: usize) -> Vec<usize> {
        let block = extent.div_ceil(cells);
        (0..cells).map(|cell| extent.saturating_sub(cell * block).min(block)).collect()
    }

    proptest! {
        #[test]
        fn addresses_go_to_the_ranks_that_have_them(
            shape in [1usize..9, 1usize..9], cells in [1usize..4, 1usize..4], asked in 0usize..3000, masked: bool,
            seed in 0u64..1000, reversed: bool,
        ) {
            let size = shape[0] * shape[1];
            let along: Vec<Vec<usize>> = shape.iter().zip(cells).map(|(&extent, cells)| lengths(extent, cells)).collect();
            let count = cells[0] * cells[1];
            let rank_of = |cell: usize| if reversed { count - 1 - cell } else { cell };
            let mut extents = vec![0; 2 * count];
            // Where each address is: by going through all blocks.
            let mut there = vec![(0, 0); size];
            let (mut row, block) = (0, [shape[0].div_ceil(cells[0]), shape[1].div_ceil(cells[1])]);
            for (i, &height) in along[0].iter().enumerate() {
                let mut column = 0;
                for (j, &width) in along[1].iter().enumerate() {
                    let rank = rank_of(i * cells[1] + j);
                    (extents[2 * rank], extents[2 * rank + 1]) = (height, width);
                    for at in 0..height * width {
                        there[(row + at / width) * shape[1] + column + at % width] = (rank, at);
                    }
                    column += width;
                }
                row += height;
            }
            let division =
                Division::new(&shape, &block, &cells, (0..count).map(rank_of).collect(), extents).unwrap();
            let mut index: Vec<i64> = (0..asked as u64).map(|n| ((n * 7919 + seed) * 104_729 % size as u64) as i64).collect();
            let mut mask: Vec<u8> = (0..asked).map(|n| u8::from(n * 31 % 7 < 4)).collect();
            let mut expected: Vec<(usize, i64, i64)> = (0..asked)
                .filter(|&n| !masked || mask[n] == 1)
                .map(|n| (there[index[n] as usize].0, there[index[n] as usize].1 as i64, n as i64))
                .collect();
            expected.sort_by_key(|&(rank, ..)| rank);
            let (mut offsets, mut elements) = (vec![-1i64; asked], vec![-1i64; asked]);
            let selection = masked.then(|| view(ElementType::Bool, &mut mask));
            let out = [view(ElementType::Int64, &mut offsets), view(ElementType::Int64, &mut elements)];
            // SAFETY: the arrays live, and have as many elements as their views say.
            let counts = unsafe {
                partition(view(ElementType::Int64, &mut index), selection.as_ref(), &division, out, Some(1)).unwrap()
            };
            let came: Vec<(i64, i64)> = offsets.iter().copied().zip(elements.iter().copied()).collect();
            prop_assert_eq!(&came[..expected.len()], &expected.iter().map(|&(_, at, n)| (at, n)).collect::<Vec<_>>()[..]);
            for (rank, &number) in counts.iter().enumerate() {
                prop_assert_eq!(number, expected.iter().filter(|&&(own, ..)| own == rank).count());
            }
        }
    }

    #[test]
    fn an_address_of_nobody_and_blocks_that_do_not_cover_are_refused() {
        let division = Division::new(&[6], &[3], &[2], vec![0, 1], vec![3, 3]).unwrap();
        let (mut index, mut offsets, mut elements) = ([0i64, 6], [-1i64; 2], [-1i64; 2]);
        let out = [view(ElementType::Int64, &mut offsets), view(ElementType::Int64, &mut elements)];
        // SAFETY: the arrays live, and have as many elements as their views say.
        let refused = unsafe { partition(view(ElementType::Int64, &mut index), None, &division, out, Some(1)) };
        let message = refused.unwrap_err().to_string();
        assert_eq!(message, "index 6 at element 1 is out of range: the grid has 6 elements");
        assert_eq!(offsets, [-1, -1]);
        assert!(Division::new(&[7], &[3], &[2], vec![0, 1], vec![3, 3]).is_err());
        assert!(Division::new(&[6], &[3], &[2], vec![0, 2], vec![3, 3]).is_err());
    }
}
