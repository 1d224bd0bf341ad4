//! Addresses of a grid that is divided into blocks, sorted by the ranks that have them.

use super::element::Element;
use super::indices::{Block, BLOCK, Checked, Index, Indexing, Moves, with_indices};
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
        let axis = |((&extent, &block), &cells)| Axis {
            extent: Divisor::new(extent),
            block: Divisor::new(block),
            cells,
        };
        let axes = shape.iter().zip(block).zip(cells).map(axis).collect();
        Ok(Self { axes, ranks, extents, count })
    }

    /// Elements of the grid.
    fn size(&self) -> usize {
        self.axes.iter().map(|axis| axis.extent.by).product()
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
        let checked = unsafe { Checked::<I>::new(&moves, division.size(), "grid", false)? };
        let Some(index) = checked else { return Ok(none()) };
        let mut counts = none();
        let mut located: Vec<(u32, u32, usize)> = Vec::with_capacity(moves.index.length);
        for start in (0..moves.index.length).step_by(BLOCK).take_while(|_| !moves.stop.is_requested()) {
            let end = moves.index.length.min(start + BLOCK);
            let mut block = Block::new();
            index.block(start..end, moves.selection, &mut block).for_each(|element, address| {
                let (rank, offset) = division.locate(address);
                counts[rank] += 1;
                located.push((rank as u32, element as u32 + (start % PORTION) as u32, offset));
            });
            let _ = end;
        }
        finished(moves.stop)?;
        Ok(counts)
    }
}
