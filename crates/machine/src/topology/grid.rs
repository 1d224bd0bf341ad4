//! Torus and mesh of any number of axes, dimension order, first axis first.
//!
//! Links are numbered so that a route is a handful of runs of consecutive numbers: axis after axis, on each axis first
//! all links towards higher coordinates and then all towards lower, in both line after line of nodes, in each line by
//! coordinate. Walking a line therefore reads neighbouring entries of whatever a simulator keeps for each link.

use super::Vertex;

/// The extents of a torus (`wraps`) or mesh; node numbers count the last axis fastest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid<'a> {
    pub extents: &'a [usize],
    pub wraps: bool,
}

/// One axis of a grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub extent: usize,
    /// Distance of the numbers of two nodes that are neighbours on this axis.
    pub stride: usize,
    /// Links of one line in one direction.
    pub line_links: usize,
    /// The first link towards higher coordinates.
    pub up: usize,
    /// The first link towards lower coordinates.
    pub down: usize,
}

impl Axis {
    /// The end of the axis's link numbers.
    fn end(&self) -> usize {
        2 * self.down - self.up
    }

    fn coordinate(&self, node: usize) -> usize {
        node / self.stride % self.extent
    }

    /// The number of the line of this axis that `node` lies on.
    pub fn line(&self, node: usize) -> usize {
        node / (self.stride * self.extent) * self.stride + node % self.stride
    }

    /// The node with `coordinate` on `line`.
    fn node(&self, line: usize, coordinate: usize) -> usize {
        (line / self.stride * self.extent + coordinate) * self.stride + line % self.stride
    }
}

impl<'a> Grid<'a> {
    pub fn nodes(&self) -> usize {
        self.extents.iter().product()
    }

    pub fn links(&self) -> usize {
        self.axes().map(|axis| 2 * (axis.down - axis.up)).sum()
    }

    /// The axes, first (slowest) first.
    pub fn axes(self) -> impl Iterator<Item = Axis> + 'a {
        let nodes = self.nodes();
        let (mut stride, mut up) = (nodes, 0);
        self.extents.iter().map(move |&extent| {
            stride /= extent;
            let line_links = if self.wraps && extent > 1 { extent } else { extent - 1 };
            let one_direction = nodes / extent * line_links;
            let axis = Axis { extent, stride, line_links, up, down: up + one_direction };
            up += 2 * one_direction;
            axis
        })
    }

    #[inline]
    pub fn route(&self, from: usize, to: usize, mut visit: impl FnMut(usize)) {
        let mut at = from;
        for axis in self.axes() {
            let (x, y) = (axis.coordinate(from), axis.coordinate(to));
            if x != y {
                let first = axis.line(at) * axis.line_links;
                walk(self.wraps, axis.extent, x, y, axis.up + first, axis.down + first, &mut visit);
                at = at - x * axis.stride + y * axis.stride;
            }
        }
    }

    pub fn hops(&self, from: usize, to: usize) -> usize {
        self.axes().map(|axis| distance(self.wraps, axis.extent, axis.coordinate(from), axis.coordinate(to))).sum()
    }

    pub fn diameter(&self) -> usize {
        self.extents.iter().map(|&extent| if self.wraps { extent / 2 } else { extent - 1 }).sum()
    }

    /// The next link and node on the route.
    pub fn next_hop(&self, at: usize, to: usize) -> (usize, usize) {
        let axis = self.axes().find(|axis| axis.coordinate(at) != axis.coordinate(to)).expect("the nodes differ");
        let first = axis.line(at) * axis.line_links;
        let (x, y) = (axis.coordinate(at), axis.coordinate(to));
        let (link, x_next) = step(self.wraps, axis.extent, x, y, axis.up + first, axis.down + first);
        (link, at - x * axis.stride + x_next * axis.stride)
    }

    pub fn link_ends(&self, link: usize) -> (Vertex, Vertex) {
        let axis = self.axes().find(|axis| link < axis.end()).expect("a link of the grid");
        let up = link < axis.down;
        let index = link - if up { axis.up } else { axis.down };
        let (line, position) = (index / axis.line_links, index % axis.line_links);
        let (x, y) = match (up, self.wraps) {
            (true, _) => (position, (position + 1) % axis.extent),
            (false, true) => (position, (position + axis.extent - 1) % axis.extent),
            (false, false) => (position + 1, position),
        };
        (Vertex::Node(axis.node(line, x)), Vertex::Node(axis.node(line, y)))
    }

    /// The nodes one link away, by ascending axis, the higher coordinate first.
    pub fn neighbours(&self, node: usize) -> Vec<usize> {
        let mut neighbours = Vec::with_capacity(2 * self.extents.len());
        for axis in self.axes() {
            let (x, last) = (axis.coordinate(node), axis.extent - 1);
            let higher = if x < last { Some(x + 1) } else { (self.wraps && last > 0).then_some(0) };
            let lower = if x > 0 { Some(x - 1) } else { (self.wraps && last > 0).then_some(last) };
            for y in higher.into_iter().chain(lower.filter(|_| lower != higher)) {
                neighbours.push(node - x * axis.stride + y * axis.stride);
            }
        }
        neighbours
    }

    /// A node `hops` links away: as far as possible along the last axis, then the one before.
    pub fn at_distance(&self, from: usize, hops: usize) -> Option<usize> {
        let axes: Vec<Axis> = self.axes().collect();
        let (mut at, mut left) = (from, hops);
        for axis in axes.iter().rev() {
            let x = axis.coordinate(at);
            let (upwards, downwards) = if self.wraps { (axis.extent / 2, 0) } else { (axis.extent - 1 - x, x) };
            let step = left.min(upwards.max(downwards));
            let y = if step <= upwards { (x + step) % axis.extent } else { x - step };
            at = at - x * axis.stride + y * axis.stride;
            left -= step;
        }
        (left == 0).then_some(at)
    }

    /// An order of the nodes in which consecutive nodes are neighbours, the last and the first too where that is
    /// possible: on every torus, and on a mesh of an even number of nodes with two axes longer than one node.
    ///
    /// Column 0 of one axis is kept for the way back; its other columns are filled by a snake over the nodes of all
    /// other axes.
    pub fn ring_order(&self) -> Vec<usize> {
        let axes: Vec<Axis> = self.axes().filter(|axis| axis.extent > 1).collect();
        let nodes = self.nodes();
        let columns = axes.iter().position(|axis| self.wraps || (nodes / axis.extent).is_multiple_of(2));
        let Some(columns) = columns else { return snake(&axes) };
        let mut others = axes.clone();
        let columns = others.remove(columns);
        let rows = snake(&others);
        let mut order = Vec::with_capacity(nodes);
        for (number, row) in rows.iter().enumerate() {
            let forward = 1..columns.extent;
            if number % 2 == 0 {
                order.extend(forward.map(|x| row + x * columns.stride));
            } else {
                order.extend(forward.rev().map(|x| row + x * columns.stride));
            }
        }
        order.extend(rows.iter().rev());
        order.rotate_right(1);
        order
    }
}

/// Offsets of all nodes that `axes` span, consecutive ones neighbours (the reflected Gray code in mixed radix).
fn snake(axes: &[Axis]) -> Vec<usize> {
    let mut order = vec![0];
    for axis in axes.iter().rev() {
        let inner = order;
        order = Vec::with_capacity(inner.len() * axis.extent);
        for x in 0..axis.extent {
            let offset = x * axis.stride;
            if x % 2 == 0 {
                order.extend(inner.iter().map(|node| node + offset));
            } else {
                order.extend(inner.iter().rev().map(|node| node + offset));
            }
        }
    }
    order
}

/// Links from coordinate `x` to `y` of one line.
fn distance(wraps: bool, extent: usize, x: usize, y: usize) -> usize {
    let direct = x.abs_diff(y);
    if wraps { direct.min(extent - direct) } else { direct }
}

/// Whether the way from `x` to `y` goes towards higher coordinates; on a torus the shorter way round, both being equal
/// up.
#[inline]
fn goes_up(wraps: bool, extent: usize, x: usize, y: usize) -> bool {
    if wraps {
        let forward = if y >= x { y - x } else { y + extent - x };
        2 * forward <= extent
    } else {
        y > x
    }
}

/// The first link from `x` towards `y`, and the coordinate it leads to.
#[inline]
pub(super) fn step(wraps: bool, extent: usize, x: usize, y: usize, up: usize, down: usize) -> (usize, usize) {
    match (goes_up(wraps, extent, x, y), wraps) {
        (true, _) => (up + x, if x + 1 == extent { 0 } else { x + 1 }),
        (false, true) => (down + x, if x == 0 { extent - 1 } else { x - 1 }),
        (false, false) => (down + x - 1, x - 1),
    }
}

/// Visits the links from coordinate `x` to `y` of the line whose links start at `up` and `down`.
///
/// At most two runs of consecutive numbers, the second after the way round; one loop, so that `visit` is inlined once.
#[inline(always)]
pub(super) fn walk(
    wraps: bool,
    extent: usize,
    x: usize,
    y: usize,
    up: usize,
    down: usize,
    visit: &mut impl FnMut(usize),
) {
    let goes_up = goes_up(wraps, extent, x, y);
    let runs = match (goes_up, wraps) {
        (true, _) if x <= y => [(up + x, y - x), (up, 0)],
        (true, _) => [(up + x, extent - x), (up, y)],
        (false, true) if y <= x => [(down + x, x - y), (down, 0)],
        (false, true) => [(down + x, x + 1), (down + extent - 1, extent - 1 - y)],
        (false, false) => [((down + x).wrapping_sub(1), x - y), (down, 0)],
    };
    let step = if goes_up { 1 } else { usize::MAX };
    for (first, count) in runs {
        let mut link = first;
        for _ in 0..count {
            visit(link);
            link = link.wrapping_add(step);
        }
    }
}
