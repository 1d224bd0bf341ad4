//! The geometry manager: which rank has which elements of an array.
//!
//! Arrays of one geometry are divided alike: every axis into consecutive blocks over some of the ranks, the ranks
//! divided over the axes so that the surface of a block is least (George, Brickner, Johnsson 1994, section 2.1, the
//! canonical layout). Everything is computed from a few numbers, so a geometry of a hundred thousand ranks is as small as
//! one of two.

mod axis;
mod grid;

pub use axis::{Axis, Order, Piece};

use grid::{Cut, best};

/// The blocks of an array over ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    axes: Vec<Axis>,
}

/// What may be asked of a geometry besides shape and ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// What an element that crosses a cut of each axis costs; empty: 1 each. A high weight makes an axis longer within a
    /// rank at the expense of others.
    pub weights: Vec<f64>,
    /// Axes that are not divided at all.
    pub serial: Vec<usize>,
    /// The order of each axis; empty, or `None` for one: NEWS where the axis has a power of two of ranks, else SEND.
    pub order: Vec<Option<Order>>,
    /// The ranks of each axis, where they shall not be chosen.
    pub grid: Option<Vec<usize>>,
}

/// A geometry that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GeometryError {
    #[error("a geometry needs at least one axis; the shape is ()")]
    NoAxes,
    #[error("axis {axis} has no elements: the shape is {}", shape_text(shape))]
    EmptyAxis { axis: usize, shape: Vec<usize> },
    #[error("the shape {} has more elements than can be counted", shape_text(shape))]
    TooLarge { shape: Vec<usize> },
    #[error("a geometry needs 1 rank or more, not 0")]
    NoRanks,
    #[error("there is no axis {axis}: the shape {} has axes 0 to {}", shape_text(shape), shape.len() - 1)]
    NoSuchAxis { axis: usize, shape: Vec<usize> },
    #[error("{what} has {actual} entries, but the shape {} has {} axes", shape_text(shape), shape.len())]
    Length { what: &'static str, actual: usize, shape: Vec<usize> },
    #[error("weight {weight} of axis {axis}: a weight is a positive number")]
    Weight { axis: usize, weight: f64 },
    #[error(
        "every axis of the shape {} is serial, so there is nothing to divide over {ranks} ranks; leave one axis out of \
         serial",
        shape_text(shape)
    )]
    AllSerial { shape: Vec<usize>, ranks: usize },
    #[error("the grid {} has {} ranks, but there are {ranks}", shape_text(grid), grid.iter().product::<usize>())]
    Grid { grid: Vec<usize>, ranks: usize },
    #[error("the grid {} divides axis {axis}, which is serial", shape_text(grid))]
    GridOfSerial { grid: Vec<usize>, axis: usize },
    #[error(
        "NEWS order of axis {axis} over {ranks} ranks: the Gray code needs a power of two; use SEND order, or leave the \
         order out"
    )]
    News { axis: usize, ranks: usize },
}

/// A shape as people write it: `(4, 6)`.
pub fn shape_text(shape: &[usize]) -> String {
    let words: Vec<String> = shape.iter().map(usize::to_string).collect();
    if let [one] = &words[..] { format!("({one},)") } else { format!("({})", words.join(", ")) }
}

impl Geometry {
    /// Divides an array of `shape` over `ranks` ranks.
    ///
    /// # Errors
    /// [`GeometryError`]: which axis or entry is wrong, and what would be right.
    ///
    /// # Examples
    /// ```
    /// use weft_polyshift::geometry::{Geometry, Layout};
    ///
    /// // Four ranks as two by two: the blocks that have the shortest edges.
    /// let square = Geometry::new(&[8, 8], 4, &Layout::default()).unwrap();
    /// assert_eq!((square.grid(), square.block()), (vec![2, 2], vec![4, 4]));
    /// // An axis that crosses cuts at a hundred times the cost stays whole.
    /// let weights = vec![1.0, 100.0];
    /// let rows = Geometry::new(&[8, 8], 4, &Layout { weights, ..Layout::default() }).unwrap();
    /// assert_eq!(rows.grid(), [4, 1]);
    /// ```
    pub fn new(shape: &[usize], ranks: usize, layout: &Layout) -> Result<Geometry, GeometryError> {
        check(shape, ranks, layout)?;
        let grid = match &layout.grid {
            Some(grid) => checked_grid(grid, ranks, layout)?,
            None => chosen(shape, ranks, layout)?,
        };
        let axes = (0..shape.len()).map(|axis| {
            let order = match layout.order.get(axis).copied().flatten() {
                Some(Order::News) if !grid[axis].is_power_of_two() => {
                    return Err(GeometryError::News { axis, ranks: grid[axis] });
                }
                Some(order) => order,
                None if grid[axis].is_power_of_two() => Order::News,
                None => Order::Send,
            };
            Ok(Axis::new(shape[axis], grid[axis], order))
        });
        Ok(Geometry { axes: axes.collect::<Result<_, _>>()? })
    }

    /// The number of axes.
    pub fn dimensions(&self) -> usize {
        self.axes.len()
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The elements of each axis.
    pub fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(Axis::extent).collect()
    }

    /// The ranks of each axis.
    pub fn grid(&self) -> Vec<usize> {
        self.axes.iter().map(Axis::ranks).collect()
    }

    /// The shape of a full block: what every rank has memory for.
    pub fn block(&self) -> Vec<usize> {
        self.axes.iter().map(Axis::block).collect()
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.axes.iter().map(Axis::ranks).product()
    }

    /// The rank of the block at `coordinates`; the last axis counts fastest.
    pub fn rank_of(&self, coordinates: &[usize]) -> usize {
        let digits = self.axes.iter().zip(coordinates);
        digits.fold(0, |rank, (axis, &coordinate)| rank * axis.ranks() + axis.code(coordinate))
    }

    /// The coordinates of a rank's block: the inverse of [`rank_of`](Geometry::rank_of).
    pub fn coordinates_of(&self, rank: usize) -> Vec<usize> {
        let mut rest = rank;
        let mut coordinates: Vec<usize> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let code = rest % axis.ranks();
                rest /= axis.ranks();
                axis.coordinate(code)
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// The shape of what a rank has: as a full block, or less at the end of an axis.
    pub fn local_shape(&self, rank: usize) -> Vec<usize> {
        let coordinates = self.coordinates_of(rank);
        self.axes.iter().zip(coordinates).map(|(axis, coordinate)| axis.length(coordinate)).collect()
    }

    /// The first element of a rank's block.
    pub fn start(&self, rank: usize) -> Vec<usize> {
        let coordinates = self.coordinates_of(rank);
        self.axes.iter().zip(coordinates).map(|(axis, coordinate)| axis.range(coordinate).start).collect()
    }

    /// Whether a rank has no elements.
    pub fn is_idle(&self, rank: usize) -> bool {
        self.local_shape(rank).contains(&0)
    }

    /// The rank that has an element, and the element's index in its block; `None` outside of the array.
    ///
    /// # Examples
    /// ```
    /// use weft_polyshift::geometry::{Geometry, Layout};
    ///
    /// // Ten elements over four ranks: blocks of three, the last one has a single element.
    /// let geometry = Geometry::new(&[10], 4, &Layout::default()).unwrap();
    /// let (rank, local) = geometry.owner(&[9]).unwrap();
    /// assert_eq!((geometry.local_shape(rank), local.clone()), (vec![1], vec![0]));
    /// assert_eq!(geometry.element(rank, &local), Some(vec![9]));
    /// assert_eq!(geometry.owner(&[10]), None);
    /// ```
    pub fn owner(&self, element: &[usize]) -> Option<(usize, Vec<usize>)> {
        let is_inside = element.len() == self.axes.len()
            && self.axes.iter().zip(element).all(|(axis, &element)| element < axis.extent());
        if !is_inside {
            return None;
        }
        let (coordinates, local): (Vec<usize>, Vec<usize>) =
            self.axes.iter().zip(element).map(|(axis, &element)| axis.owner(element)).unzip();
        Some((self.rank_of(&coordinates), local))
    }

    /// The element at an index of a rank's block: the inverse of [`owner`](Geometry::owner). `None` where the place is
    /// padding (the garbage mask is set there) or outside of the block.
    pub fn element(&self, rank: usize, local: &[usize]) -> Option<Vec<usize>> {
        let shape = self.local_shape(rank);
        if local.len() != shape.len() || local.iter().zip(&shape).any(|(index, length)| index >= length) {
            return None;
        }
        Some(self.start(rank).iter().zip(local).map(|(start, index)| start + index).collect())
    }

    /// The rank whose elements along `axis` come just before (`step` -1) or after (+1) those of `rank`, around the array
    /// where `circular`. `None` at an end of the array and for a rank without elements.
    ///
    /// # Panics
    /// When there is no such axis.
    pub fn neighbour(&self, rank: usize, axis: usize, step: i64, circular: bool) -> Option<usize> {
        if self.is_idle(rank) || step == 0 {
            return None;
        }
        let mut coordinates = self.coordinates_of(rank);
        let filled = self.axes[axis].filled() as i64;
        let next = coordinates[axis] as i64 + step.signum();
        if !circular && !(0..filled).contains(&next) {
            return None;
        }
        coordinates[axis] = next.rem_euclid(filled) as usize;
        Some(self.rank_of(&coordinates))
    }
}

fn check(shape: &[usize], ranks: usize, layout: &Layout) -> Result<(), GeometryError> {
    let whole = || shape.to_vec();
    if shape.is_empty() {
        return Err(GeometryError::NoAxes);
    }
    if ranks == 0 {
        return Err(GeometryError::NoRanks);
    }
    if let Some(axis) = shape.iter().position(|&extent| extent == 0) {
        return Err(GeometryError::EmptyAxis { axis, shape: whole() });
    }
    // Blocks are rounded up, and elements are at most 16 bytes: far below what an address holds.
    let padded = shape.iter().try_fold(1usize, |product, extent| product.checked_mul(extent.saturating_add(1)));
    if padded.is_none_or(|elements| elements > isize::MAX as usize / 64) {
        return Err(GeometryError::TooLarge { shape: whole() });
    }
    let lengths = [
        ("weights", layout.weights.len()),
        ("order", layout.order.len()),
        ("the grid", layout.grid.as_ref().map_or(0, |grid| grid.len().max(1))),
    ];
    if let Some(&(what, actual)) = lengths.iter().find(|&&(_, actual)| actual != 0 && actual != shape.len()) {
        return Err(GeometryError::Length { what, actual, shape: whole() });
    }
    if let Some(&axis) = layout.serial.iter().find(|&&axis| axis >= shape.len()) {
        return Err(GeometryError::NoSuchAxis { axis, shape: whole() });
    }
    let bad = layout.weights.iter().position(|weight| !(weight.is_finite() && *weight > 0.0));
    bad.map_or(Ok(()), |axis| Err(GeometryError::Weight { axis, weight: layout.weights[axis] }))
}

fn checked_grid(grid: &[usize], ranks: usize, layout: &Layout) -> Result<Vec<usize>, GeometryError> {
    let product = grid.iter().try_fold(1usize, |product, &ranks| product.checked_mul(ranks));
    if product != Some(ranks) {
        return Err(GeometryError::Grid { grid: grid.to_vec(), ranks });
    }
    match layout.serial.iter().find(|&&axis| grid[axis] > 1) {
        Some(&axis) => Err(GeometryError::GridOfSerial { grid: grid.to_vec(), axis }),
        None => Ok(grid.to_vec()),
    }
}

fn chosen(shape: &[usize], ranks: usize, layout: &Layout) -> Result<Vec<usize>, GeometryError> {
    let divided: Vec<usize> = (0..shape.len()).filter(|axis| !layout.serial.contains(axis)).collect();
    let weight = |axis: usize| layout.weights.get(axis).copied().unwrap_or(1.0);
    let cuts: Vec<Cut> = divided.iter().map(|&axis| Cut { extent: shape[axis], weight: weight(axis) }).collect();
    let mut grid = vec![1; shape.len()];
    if ranks > 1 {
        let best = best(&cuts, ranks).ok_or_else(|| GeometryError::AllSerial { shape: shape.to_vec(), ranks })?;
        divided.iter().zip(best).for_each(|(&axis, ranks)| grid[axis] = ranks);
    }
    Ok(grid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(shape: &[usize], ranks: usize) -> Geometry {
        Geometry::new(shape, ranks, &Layout::default()).unwrap()
    }

    fn refused(shape: &[usize], ranks: usize, layout: &Layout) -> String {
        Geometry::new(shape, ranks, layout).unwrap_err().to_string()
    }

    fn geometries() -> impl Strategy<Value = Geometry> {
        let axis = (1usize..9, any::<bool>(), proptest::option::of(Just(Order::Send)), 1u8..4);
        (proptest::collection::vec(axis, 1..5), 1usize..17).prop_map(|(axes, ranks)| {
            let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
            let mut serial: Vec<usize> = (0..axes.len()).filter(|&axis| axes[axis].1).collect();
            if serial.len() == axes.len() {
                serial.pop();
            }
            let order = axes.iter().map(|axis| axis.2).collect();
            let weights = axes.iter().map(|axis| f64::from(axis.3)).collect();
            Geometry::new(&shape, ranks, &Layout { weights, serial, order, grid: None }).unwrap()
        })
    }

    fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for &extent in shape {
            all = all.into_iter().flat_map(|index| (0..extent).map(move |i| [&index[..], &[i]].concat())).collect();
        }
        all
    }

    proptest! {
        #[test]
        fn ranks_and_coordinates_are_inverse(geometry in geometries()) {
            for rank in 0..geometry.ranks() {
                let coordinates = geometry.coordinates_of(rank);
                prop_assert!(coordinates.iter().zip(geometry.grid()).all(|(c, ranks)| *c < ranks));
                prop_assert_eq!(geometry.rank_of(&coordinates), rank);
            }
        }

        #[test]
        fn every_element_has_one_owner_and_every_place_one_element(geometry in geometries()) {
            let mut count = 0;
            for rank in 0..geometry.ranks() {
                for local in indices(&geometry.block()) {
                    let Some(element) = geometry.element(rank, &local) else { continue };
                    count += 1;
                    prop_assert_eq!(geometry.owner(&element), Some((rank, local)));
                }
            }
            prop_assert_eq!(count, geometry.shape().iter().product::<usize>());
            prop_assert_eq!(geometry.owner(&geometry.shape()), None);
        }

        #[test]
        fn neighbours_are_the_owners_next_door(geometry in geometries(), circular: bool) {
            let shape = geometry.shape();
            for rank in (0..geometry.ranks()).filter(|&rank| !geometry.is_idle(rank)) {
                for (axis, &extent) in shape.iter().enumerate() {
                    for step in [-1i64, 1] {
                        let mut element = geometry.start(rank);
                        let edge = if step < 0 { 0 } else { geometry.local_shape(rank)[axis] as i64 - 1 };
                        let next = element[axis] as i64 + edge + step;
                        let inside = (0..extent as i64).contains(&next);
                        element[axis] = next.rem_euclid(extent as i64) as usize;
                        let expected = (inside || circular).then(|| geometry.owner(&element).unwrap().0);
                        prop_assert_eq!(geometry.neighbour(rank, axis, step, circular), expected);
                    }
                }
            }
        }

        #[test]
        fn news_neighbours_differ_in_one_bit(bits in proptest::collection::vec(0u32..4, 1..4)) {
            let shape: Vec<usize> = bits.iter().map(|bits| 2 << bits).collect();
            let grid: Vec<usize> = bits.iter().map(|bits| 1 << bits).collect();
            let ranks = grid.iter().product();
            let geometry = Geometry::new(&shape, ranks, &Layout { grid: Some(grid.clone()), ..Layout::default() }).unwrap();
            for rank in 0..ranks {
                for axis in (0..shape.len()).filter(|&axis| grid[axis] > 1) {
                    let next = geometry.neighbour(rank, axis, 1, true).unwrap();
                    prop_assert_eq!((next ^ rank).count_ones(), 1);
                }
            }
        }
    }

    #[test]
    fn orders_are_news_for_powers_of_two_and_send_else() {
        let geometry = plain(&[8, 9], 12);
        assert_eq!(geometry.grid(), [4, 3]);
        assert_eq!(geometry.axes()[0].order(), Order::News);
        assert_eq!(geometry.axes()[1].order(), Order::Send);
        // Blocks 0, 1, 2, 3 of an axis are on ranks 0, 1, 3, 2.
        let line = plain(&[8], 4);
        assert_eq!((0..4).map(|block| line.rank_of(&[block])).collect::<Vec<_>>(), [0, 1, 3, 2]);
    }

    #[test]
    fn what_does_not_divide_is_padded() {
        let geometry = plain(&[5], 4);
        assert_eq!(geometry.block(), [2]);
        let shapes: Vec<_> = (0..4).map(|block| geometry.local_shape(geometry.rank_of(&[block]))).collect();
        assert_eq!(shapes, [[2], [2], [1], [0]]);
        let idle = geometry.rank_of(&[3]);
        assert!(geometry.is_idle(idle) && geometry.neighbour(idle, 0, 1, true).is_none());
    }

    #[test]
    fn mistakes_are_named() {
        let with = |change: fn(&mut Layout)| {
            let mut layout = Layout::default();
            change(&mut layout);
            layout
        };
        assert_eq!(refused(&[], 2, &Layout::default()), "a geometry needs at least one axis; the shape is ()");
        assert_eq!(refused(&[4, 0], 2, &Layout::default()), "axis 1 has no elements: the shape is (4, 0)");
        assert_eq!(refused(&[4], 0, &Layout::default()), "a geometry needs 1 rank or more, not 0");
        let text = refused(&[usize::MAX, 4], 2, &Layout::default());
        assert!(text.ends_with("has more elements than can be counted"), "{text}");
        let text = refused(&[4, 4], 2, &with(|layout| layout.serial = vec![2]));
        assert_eq!(text, "there is no axis 2: the shape (4, 4) has axes 0 to 1");
        let text = refused(&[4, 4], 2, &with(|layout| layout.serial = vec![0, 1]));
        assert!(text.contains("every axis of the shape (4, 4) is serial"), "{text}");
        let text = refused(&[4, 4], 2, &with(|layout| layout.weights = vec![1.0]));
        assert_eq!(text, "weights has 1 entries, but the shape (4, 4) has 2 axes");
        let text = refused(&[4, 4], 2, &with(|layout| layout.weights = vec![1.0, -1.0]));
        assert_eq!(text, "weight -1 of axis 1: a weight is a positive number");
        let text = refused(&[4, 4], 2, &with(|layout| layout.grid = Some(vec![2, 2])));
        assert_eq!(text, "the grid (2, 2) has 4 ranks, but there are 2");
        let text = refused(&[9, 4], 3, &with(|layout| layout.order = vec![Some(Order::News), None]));
        assert!(text.starts_with("NEWS order of axis 0 over 3 ranks: the Gray code needs a power of two"), "{text}");
    }
}
