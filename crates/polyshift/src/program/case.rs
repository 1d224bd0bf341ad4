//! Exchanges made up from a seed, and what each must give.

use rand::seq::IndexedRandom;
use rand::{Rng, RngExt};

use crate::exchange::{Boundary, Corners, Edge, Halo, Pattern, Shift, Storage};
use crate::geometry::{Geometry, Layout, Order};

/// One exchange of some arrays of one geometry.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub geometry: Geometry,
    /// Bytes of an element of each array.
    pub elements: Vec<usize>,
    /// Ghosts around each array that there is memory for.
    pub ghosts: Vec<Vec<[usize; 2]>>,
    pub pattern: Pattern,
}

impl Case {
    /// The case of a seed, for so many ranks; the same everywhere.
    pub fn random(seed: u64, ranks: usize) -> Case {
        let mut random = weft_base::generator(seed, ranks as u64);
        let random = &mut random;
        let dimensions = random.random_range(1..=4usize);
        let longest = [40, 14, 9, 6][dimensions - 1];
        let shape: Vec<usize> = (0..dimensions).map(|_| random.random_range(1..=longest)).collect();
        let mut serial: Vec<usize> = (0..dimensions).filter(|_| random.random_bool(0.2)).collect();
        if serial.len() == dimensions {
            serial.pop();
        }
        let order = (0..dimensions).map(|_| random.random_bool(0.3).then_some(Order::Send)).collect();
        let layout = Layout { serial, order, ..Layout::default() };
        let geometry = Geometry::new(&shape, ranks, &layout).expect("a geometry of a shape with elements");
        if random.random_bool(0.5) { Case::shifts(random, geometry) } else { Case::halos(random, geometry) }
    }

    fn shifts(random: &mut impl Rng, geometry: Geometry) -> Case {
        let shape = geometry.shape();
        let sources = random.random_range(1..=2usize);
        let count = random.random_range(1..=5usize);
        let mut elements: Vec<usize> = (0..sources).map(|_| element(random)).collect();
        let shifts: Vec<Shift> = (0..count)
            .map(|index| {
                let source = random.random_range(0..sources);
                elements.push(elements[source]);
                let axis = random.random_range(0..shape.len());
                let reach = if random.random_bool(0.6) { 2 } else { 2 * shape[axis] as i64 + 1 };
                let by = random.random_range(-reach..=reach);
                let lines = shape.iter().product::<usize>() / shape[axis];
                let boundary = match random.random_range(0..4u8) {
                    0 => Boundary::Value(bytes(random, elements[source])),
                    1 => Boundary::Array(bytes(random, lines * elements[source])),
                    _ => Boundary::Circular,
                };
                Shift { source, result: sources + index, axis, by, boundary }
            })
            .collect();
        let ghosts = (0..elements.len()).map(|_| ghosts(random, &shape)).collect();
        Case { geometry, elements, ghosts, pattern: Pattern::Shifts(shifts) }
    }

    fn halos(random: &mut impl Rng, geometry: Geometry) -> Case {
        let shape = geometry.shape();
        let arrays = random.random_range(1..=3usize);
        let elements: Vec<usize> = (0..arrays).map(|_| element(random)).collect();
        let all: Vec<Vec<[usize; 2]>> = (0..arrays).map(|_| ghosts(random, &shape)).collect();
        let corners = *[Corners::None, Corners::AtOnce, Corners::Staged].choose(random).expect("three");
        let halos = (0..arrays)
            .map(|array| Halo {
                array,
                widths: all[array].iter().map(|there| there.map(|there| random.random_range(0..=there))).collect(),
                edges: shape
                    .iter()
                    .map(|extent| {
                        let lines = shape.iter().product::<usize>() / extent;
                        let first = edge(random, elements[array], lines);
                        let second = if random.random() { first.clone() } else { edge(random, elements[array], lines) };
                        [first, second]
                    })
                    .collect(),
                corners,
            })
            .collect();
        Case { geometry, elements, ghosts: all, pattern: Pattern::Halos(halos) }
    }

    /// How the arrays lie in memory.
    pub fn storages(&self) -> Vec<Storage> {
        let block = self.geometry.block();
        let arrays = self.elements.iter().zip(&self.ghosts);
        arrays.map(|(&element, ghosts)| Storage::contiguous(element, &block, ghosts)).collect()
    }

    /// What an array holds at an element before the exchange.
    pub fn before(&self, array: usize, element: &[usize]) -> Vec<u8> {
        let shape = self.geometry.shape();
        let number = element.iter().zip(&shape).fold(array, |number, (at, extent)| number * extent + at) as u64;
        let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        (0..self.elements[array]).map(|byte| mixed[byte % 8] ^ byte as u8).collect()
    }

    /// What a ghost, or padding, holds before the exchange: on each rank something else.
    pub fn untouched(&self, array: usize, rank: usize) -> Vec<u8> {
        vec![0xa0 ^ (rank as u8) ^ ((array as u8) << 5); self.elements[array]]
    }

    /// What `array` must hold at `coordinates` of `rank` after the exchange, the index counted from the first element
    /// that is no ghost; `None` where it may hold anything.
    pub fn after(&self, array: usize, rank: usize, coordinates: &[i64]) -> Option<Vec<u8>> {
        let lengths = self.geometry.local_shape(rank);
        let inside = |axis: usize| (0..lengths[axis] as i64).contains(&coordinates[axis]);
        let is_element = (0..coordinates.len()).all(inside);
        let start = self.geometry.start(rank);
        let element: Vec<i64> = start.iter().zip(coordinates).map(|(&start, at)| start as i64 + at).collect();
        match &self.pattern {
            Pattern::Shifts(shifts) => {
                if !is_element {
                    return Some(self.untouched(array, rank));
                }
                let index: Vec<usize> = element.iter().map(|&at| at as usize).collect();
                let shift = shifts.iter().find(|shift| shift.result == array);
                Some(shift.map_or_else(|| self.before(array, &index), |shift| self.shifted(shift, &index)))
            }
            Pattern::Halos(halos) => {
                let halo = &halos[array];
                if is_element {
                    let index: Vec<usize> = element.iter().map(|&at| at as usize).collect();
                    return Some(self.before(array, &index));
                }
                let outside: Vec<usize> = (0..coordinates.len()).filter(|&axis| !inside(axis)).collect();
                let is_filled = !lengths.contains(&0)
                    && outside.iter().all(|&axis| {
                        let [before, after] = halo.widths[axis];
                        let length = lengths[axis] as i64;
                        (-(before as i64)..length + after as i64).contains(&coordinates[axis])
                    })
                    && (outside.len() == 1 || halo.corners != Corners::None);
                if !is_filled {
                    return Some(self.untouched(array, rank));
                }
                Some(self.ghost(halo, rank, &element))
            }
        }
    }

    fn shifted(&self, shift: &Shift, index: &[usize]) -> Vec<u8> {
        let shape = self.geometry.shape();
        let extent = shape[shift.axis] as i64;
        let from = index[shift.axis] as i64 + shift.by;
        let mut source = index.to_vec();
        let size = self.elements[shift.result];
        match &shift.boundary {
            Boundary::Circular => source[shift.axis] = from.rem_euclid(extent) as usize,
            _ if (0..extent).contains(&from) => source[shift.axis] = from as usize,
            Boundary::Value(value) => return value.clone(),
            Boundary::Array(values) => {
                let lines = (0..shape.len()).filter(|&axis| axis != shift.axis);
                let line = lines.fold(0, |line, axis| line * shape[axis] + index[axis]);
                return values[line * size..(line + 1) * size].to_vec();
            }
        }
        self.before(shift.source, &source)
    }

    fn ghost(&self, halo: &Halo, rank: usize, element: &[i64]) -> Vec<u8> {
        let shape = self.geometry.shape();
        let resolved: Vec<Resolved<'_>> =
            (0..shape.len()).map(|axis| find(&halo.edges[axis], element[axis], shape[axis] as i64)).collect();
        let edges: Vec<(usize, &Edge)> =
            resolved.iter().enumerate().filter_map(|(axis, resolved)| Some((axis, resolved.edge?))).collect();
        match edges.last() {
            _ if edges.iter().any(|(_, edge)| **edge == Edge::Keep) => self.untouched(halo.array, rank),
            Some((_, Edge::Value(value))) => value.clone(),
            Some((last, Edge::Array(values))) => {
                let lines = (0..shape.len()).filter(|axis| axis != last);
                let line = lines.fold(0, |line, axis| line * shape[axis] + resolved[axis].at);
                let size = self.elements[halo.array];
                values[line * size..(line + 1) * size].to_vec()
            }
            Some(_) => unreachable!("the array goes on there"),
            None => self.before(halo.array, &resolved.iter().map(|resolved| resolved.at).collect::<Vec<usize>>()),
        }
    }
}

/// Where an index of an axis is resolved: an element of it, or the nearest one and the edge that it lies beyond.
struct Resolved<'a> {
    at: usize,
    edge: Option<&'a Edge>,
}

/// Walks to an index step by step, turning at mirrors.
fn find<'a>(ends: &'a [Edge; 2], index: i64, extent: i64) -> Resolved<'a> {
    let (steps, start, direction) =
        if index < 0 { (-index, 0, -1) } else { ((index - extent + 1).max(0), index.min(extent - 1), 1) };
    let end = &ends[usize::from(index >= extent)];
    if steps > 0 && !matches!(end, Edge::Circular | Edge::Reflect | Edge::Symmetric) {
        return Resolved { at: start as usize, edge: Some(end) };
    }
    let (mut at, mut direction) = (start, direction);
    for _ in 0..steps {
        let next = at + direction;
        at = match end {
            _ if (0..extent).contains(&next) => next,
            Edge::Circular => next.rem_euclid(extent),
            _ => {
                direction = -direction;
                // A mirror between elements shows the same one again, one on the element that before it.
                if *end == Edge::Symmetric || extent == 1 { at } else { at + direction }
            }
        };
    }
    Resolved { at: at as usize, edge: None }
}

/// What lies beyond an end, in an array with so many lines along the axis.
fn edge(random: &mut impl Rng, element: usize, lines: usize) -> Edge {
    match random.random_range(0..7u8) {
        0 => Edge::Value(bytes(random, element)),
        1 => Edge::Keep,
        2 => Edge::Array(bytes(random, lines * element)),
        3 => Edge::Reflect,
        4 => Edge::Symmetric,
        _ => Edge::Circular,
    }
}

fn element(random: &mut impl Rng) -> usize {
    *[1, 2, 3, 4, 8, 8, 16, 48].choose(random).expect("sizes")
}

fn bytes(random: &mut impl Rng, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.random()).collect()
}

/// Ghosts around the axes of a shape: mostly a few, at times more than a block has.
fn ghosts(random: &mut impl Rng, shape: &[usize]) -> Vec<[usize; 2]> {
    let most = |extent: usize| if extent > 8 { 3 } else { 2 };
    shape.iter().map(|&extent| [0, 1].map(|_| random.random_range(0..=most(extent)))).collect()
}
