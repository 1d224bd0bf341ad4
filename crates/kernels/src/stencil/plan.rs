//! A stencil prepared for arrays of one shape.

use std::sync::{Arc, Mutex};

use weft_simd::{Level, level};

use crate::Stop;

use super::columns::{Columns, ColumnsKernel};
use super::description::{Array, Boundary, Coefficient, Stencil};
use super::direct::{DirectKernel, Reach};
use super::element::Element;
use super::error::StencilError;
use super::sweep::{Ahead, Bundle, Ends, Job, View, Work};
use super::{MAX_AXES, scratch, steps, sweep, tiles};

/// Axes other than the last; unused ones have one index.
pub(super) const OUTER: usize = MAX_AXES - 1;

/// What may be chosen when a plan is made; the default is what is best for most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Elements of a site, contiguous in memory after the last axis: 2 for a complex number, 6 for a (3, 2) spinor.
    pub components: usize,
    /// Threads that share the work of a call.
    pub threads: usize,
    /// Time steps of a call: the stencil is applied to its own result.
    pub steps: usize,
    /// Vector instructions to use; those of [`weft_simd::level`] where None.
    pub instructions: Option<Level>,
    /// Source and result together at which results are written past the caches (bytes).
    pub streaming_from: usize,
    /// Bytes of planes that a sweep keeps in cache for reuse: a core's share of a last-level cache.
    pub cache: usize,
    /// Bytes of planes that several steps in a sweep keep: most of a second-level cache of 1 MiB.
    pub step_cache: usize,
    /// Time steps that a sweep through memory takes at most; 1 is no temporal blocking; None leaves it to the plan.
    pub steps_at_once: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            components: 1,
            threads: 1,
            steps: 1,
            instructions: None,
            streaming_from: 16 << 20,
            cache: 8 << 20,
            step_cache: 768 << 10,
            steps_at_once: None,
        }
    }
}

/// Where an array lies: elements from one index to the next for every axis but the last, whose sites are contiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// For each axis but the last.
    pub strides: Vec<isize>,
    /// From one right-hand side to the next.
    pub between: isize,
}

/// An array to read.
#[derive(Clone, Debug)]
pub struct Source<'a, T> {
    /// Site (0, 0, …) of the first right-hand side.
    pub base: *const T,
    /// Where the others are.
    pub layout: &'a Layout,
}

/// An array to write.
#[derive(Clone, Debug)]
pub struct Target<'a, T> {
    /// Site (0, 0, …) of the first right-hand side.
    pub base: *mut T,
    /// Where the others are.
    pub layout: &'a Layout,
}

/// How rows are computed.
pub(super) enum Kernel<T> {
    Columns { columns: Columns<T>, run: ColumnsKernel<T> },
    Direct { terms: Vec<Term<T>>, reach: Reach, run: DirectKernel<T> },
}

/// One point of a stencil, as the direct kernel takes it.
pub(super) struct Term<T> {
    pub(super) group: usize,
    pub(super) offset: isize,
    pub(super) factor: Factor<T>,
}

pub(super) enum Factor<T> {
    Constant(T),
    /// One value for a row.
    Row(Array<T>),
    /// A value for each element of a row.
    Varying(Array<T>),
}

/// A stencil prepared for arrays of one shape. It can be used from several threads at once.
pub struct Plan<T: Element> {
    pub(super) axes: usize,
    pub(super) extents: Vec<usize>,
    pub(super) options: Options,
    pub(super) instructions: Level,
    /// Extents of all axes but the last.
    pub(super) outer: [usize; OUTER],
    /// Elements of a row.
    pub(super) row: usize,
    /// How far the stencil reaches below and above along each axis, in sites.
    pub(super) reach: Vec<(usize, usize)>,
    /// Distinct offsets in all axes but the last, in the order of the kernel.
    pub(super) groups: Vec<[isize; OUTER]>,
    pub(super) kernel: Kernel<T>,
    pub(super) boundaries: Vec<Boundary<T>>,
    /// A row of the boundary value for axes that have one, with as much before and after it as the stencil reaches.
    pub(super) boundary_rows: Vec<Vec<T>>,
    pub(super) tile: tiles::Tile,
    pub(super) depth: steps::Depth,
    /// Groups whose rows come from memory or from far in the caches, and are asked for ahead.
    pub(super) leading: Vec<usize>,
    /// How far ahead.
    pub(super) ahead: Ahead,
    /// Planes that a sweep from memory computes together; None where one after another is better.
    pub(super) bundle: Option<Bundle>,
    offsets: Vec<Vec<isize>>,
    works: Mutex<Vec<Work<T>>>,
    /// An array for results between sweeps, kept for the next call.
    temporary: Mutex<Vec<T>>,
}

impl<T: Element> Plan<T> {
    /// Prepares a stencil for arrays of these extents (sites along each axis). Raises [`StencilError::Plan`].
    pub fn new(
        stencil: &Stencil<T>,
        extents: &[usize],
        boundaries: Vec<Boundary<T>>,
        options: Options,
    ) -> Result<Plan<T>, StencilError> {
        let axes = stencil.axes();
        check(stencil, extents, &boundaries, &options)?;
        let mut outer = [1; OUTER];
        outer[..axes - 1].copy_from_slice(&extents[..axes - 1]);
        let row = extents[axes - 1] * options.components;
        let instructions = options.instructions.unwrap_or_else(level);
        let reach = stencil.reach();
        let mut groups: Vec<[isize; OUTER]> = Vec::new();
        for point in stencil.points() {
            let offset = outer_offset(&point.offset);
            if !groups.contains(&offset) {
                groups.push(offset);
            }
        }
        // In the order of memory, in whatever order the points are given.
        let mut sorted = groups.clone();
        sorted.sort_unstable();
        let kernel = match column_coefficients(stencil, &sorted, options.components) {
            Some(coefficients) => {
                groups = sorted;
                let offsets: Vec<&[isize]> = groups.iter().map(|group| &group[..axes - 1]).collect();
                let columns = Columns::new(&coefficients, &offsets);
                groups = columns.order().iter().map(|&group| groups[group]).collect();
                let run = T::columns_kernel(instructions, columns.is_symmetric());
                Kernel::Columns { columns, run }
            }
            None => Kernel::Direct {
                terms: direct_terms(stencil, &groups, extents, options.components),
                reach: Reach {
                    low: reach[axes - 1].0 * options.components,
                    high: reach[axes - 1].1 * options.components,
                },
                run: T::direct_kernel(instructions),
            },
        };
        let margin = (reach[axes - 1].0 + reach[axes - 1].1) * options.components;
        let boundary_rows = boundaries
            .iter()
            .map(|boundary| match boundary {
                Boundary::Value(value) => vec![*value; row + margin],
                _ => Vec::new(),
            })
            .collect();
        let mut plan = Plan {
            axes,
            extents: extents.to_vec(),
            options,
            instructions,
            outer,
            row,
            reach,
            groups,
            kernel,
            boundaries,
            boundary_rows,
            tile: tiles::Tile { second: outer[1], third: outer[2], columns: row },
            depth: steps::Depth { steps: 1, second: outer[1] },
            offsets: stencil.points().iter().map(|point| point.offset.clone()).collect(),
            leading: Vec::new(),
            ahead: Ahead::within(row * size_of::<T>()),
            bundle: None,
            works: Mutex::new(Vec::new()),
            temporary: Mutex::new(Vec::new()),
        };
        plan.tile = tiles::choose(&plan);
        plan.depth = steps::choose(&plan);
        let is_cut = plan.tile != tiles::Tile { second: outer[1], third: outer[2], columns: row };
        plan.leading = sweep::leading(&plan.groups, is_cut || plan.asks_each_plane());
        // In three axes planes are read in long runs as they are, and nothing is gained.
        if !is_cut && axes == MAX_AXES && plan.is_star_of_far_planes() {
            let reach = plan.reach[1].0 + plan.reach[1].1;
            plan.bundle = Bundle::choose(outer[2], row * size_of::<T>(), reach, options.step_cache);
        }
        Ok(plan)
    }

    /// Sites along each axis.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// What was chosen when it was made.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How far the stencil reaches below and above along each axis, in sites.
    pub fn reach(&self) -> &[(usize, usize)] {
        &self.reach
    }

    /// Steps that are taken in one sweep through memory.
    pub fn steps_in_a_sweep(&self) -> usize {
        self.depth.steps
    }

    /// The layout of a C-contiguous array, or of several after one another.
    pub fn contiguous(&self) -> Layout {
        let mut strides = vec![0; self.axes - 1];
        let mut step = self.row as isize;
        for axis in (0..self.axes - 1).rev() {
            strides[axis] = step;
            step *= self.extents[axis] as isize;
        }
        Layout { strides, between: step }
    }

    /// Applies the stencil to a contiguous array, as many steps as the plan has. Raises [`StencilError::Call`].
    pub fn apply_slices(&self, source: &[T], target: &mut [T]) -> Result<(), StencilError> {
        let elements = self.elements();
        for (name, length) in [("source", source.len()), ("target", target.len())] {
            if elements == 0 && length == 0 {
                continue;
            }
            if elements == 0 || length == 0 || length % elements != 0 || length != source.len() {
                return Err(StencilError::Call(format!(
                    "the {name} has {length} elements; arrays of {:?} sites with {} components have {elements}, and source \
                     and target must be as many arrays",
                    self.extents, self.options.components
                )));
            }
        }
        let count = source.len().checked_div(elements).unwrap_or(0);
        let layout = self.contiguous();
        let (source, target) = (source.as_ptr(), target.as_mut_ptr());
        // SAFETY: both are whole arrays of the plan's shape, and a mutable slice overlaps no other.
        unsafe {
            self.apply(&Source { base: source, layout: &layout }, &Target { base: target, layout: &layout }, count)
        }
        Ok(())
    }

    /// Applies the stencil to `count` right-hand sides, as many steps as the plan has.
    ///
    /// # Safety
    /// `source` and `target` are valid for every site of every right-hand side, and do not overlap. Strides have one entry
    /// for each axis but the last. Borrowed coefficients are not written meanwhile.
    pub unsafe fn apply(&self, source: &Source<'_, T>, target: &Target<'_, T>, count: usize) {
        // SAFETY: source and target are valid and do not overlap, and strides are those of the plan's axes (this
        // function's conditions), which is all that `apply_until` asks.
        unsafe { self.apply_until(source, target, count, Stop::NEVER) };
    }

    /// As [`apply`](Self::apply), unless `stop` is asked for meanwhile: between the planes of axis 0 of every sweep, when
    /// `target` holds anything afterwards. Whether it was done to its end.
    ///
    /// # Safety
    /// As for [`apply`](Self::apply).
    pub unsafe fn apply_until(
        &self,
        source: &Source<'_, T>,
        target: &Target<'_, T>,
        count: usize,
        stop: Stop<'_>,
    ) -> bool {
        if count > 0 && self.elements() > 0 {
            // SAFETY: source and target are valid for every site of every right-hand side, and do not overlap (this
            // function's conditions).
            unsafe { steps::run(self, source, target, count, stop) }
        }
        !stop.is_asked()
    }

    /// Elements of one array.
    pub(super) fn elements(&self) -> usize {
        self.outer.iter().product::<usize>() * self.row
    }

    /// Whether results of this many right-hand sides are written past the caches.
    pub(super) fn streams(&self, count: usize) -> bool {
        2 * self.elements() * count * size_of::<T>() >= self.options.streaming_from
    }

    /// One step from one view to another, whole or in part, on this thread.
    ///
    /// # Safety
    /// The job's views are valid for what its ranges and the stencil's reach make it read and write.
    pub(super) unsafe fn step(&self, job: &Job<T>, work: &mut Work<T>, stop: Stop<'_>) {
        for tile in tiles::cut(self, job) {
            // SAFETY: the job's views are valid for its ranges and the stencil's reach (this function's condition), and
            // tiles are parts of its ranges.
            unsafe { self.sweep(&tile, work, stop) }
        }
    }

    /// A view of a whole array.
    pub(super) fn view(&self, base: *mut T, layout: &Layout) -> View<T> {
        let mut strides = [0; OUTER];
        strides[..self.axes - 1].copy_from_slice(&layout.strides);
        View { base, strides, between: layout.between, ring: None, origin: 0, ends: Ends::default() }
    }

    /// Buffers of one thread, given back with [`Plan::give_back`].
    pub(super) fn work(&self) -> Work<T> {
        let kept = self.works.lock().map(|mut works| works.pop()).unwrap_or_default();
        kept.unwrap_or_else(|| Work::new(self))
    }

    pub(super) fn give_back(&self, work: Work<T>) {
        if let Ok(mut works) = self.works.lock() {
            works.push(work);
        }
    }

    /// An array for results between sweeps, and room to align it.
    pub(super) fn take_temporary(&self, count: usize) -> Vec<T> {
        let needed = self.elements() * count + steps::alignment::<T>();
        let kept = self.temporary.lock().map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default();
        if kept.len() >= needed { kept } else { scratch::array(needed) }
    }

    pub(super) fn keep_temporary(&self, held: Vec<T>) {
        if let Ok(mut kept) = self.temporary.lock() {
            *kept = held;
        }
    }

    /// Whether a point lies off along both axes.
    pub(super) fn has_diagonal(&self, axis: usize, other: usize) -> bool {
        self.offsets.iter().any(|offset| offset[axis] != 0 && offset[other] != 0)
    }

    /// Whether any coefficient varies along a row.
    pub(super) fn has_varying(&self) -> bool {
        match &self.kernel {
            Kernel::Columns { .. } => false,
            Kernel::Direct { terms, .. } => terms.iter().any(|term| matches!(term.factor, Factor::Varying(_))),
        }
    }

    /// Whether rows that follow one another are computed by twos.
    fn computes_pairs(&self) -> bool {
        self.instructions == Level::Avx512
            && matches!(&self.kernel, Kernel::Columns { columns, .. } if columns.is_threes())
    }

    /// Whether rows are asked for ahead in each plane, though only one of them comes from memory: those of a star come from
    /// the last-level cache where planes outgrow the one before, and all of them must be asked for or none.
    fn asks_each_plane(&self) -> bool {
        self.computes_pairs() || self.is_star_of_far_planes()
    }

    /// Whether it is a star that has a kernel of its own, and planes that do not stay in the second-level cache until they
    /// have served all rows that need them.
    fn is_star_of_far_planes(&self) -> bool {
        let planes = self.reach[0].0 + self.reach[0].1 + 1;
        let held = planes * self.outer[1] * self.outer[2] * self.row * size_of::<T>();
        let is_star = matches!(&self.kernel, Kernel::Columns { columns, .. } if columns.is_star());
        let has_kernel = self.instructions == Level::Avx512;
        has_kernel && is_star && held > self.options.step_cache
    }

    /// Loads, products and sums of a vector of results.
    pub(super) fn operations(&self) -> usize {
        match &self.kernel {
            Kernel::Columns { columns, .. } => self.groups.len() + columns.operations(),
            Kernel::Direct { terms, .. } => 2 * terms.len(),
        }
    }

    /// Bytes that one step must move at least: the source and every coefficient array once, the result once.
    pub fn bytes(&self, count: usize) -> usize {
        let arrays = match &self.kernel {
            Kernel::Columns { .. } => 0,
            Kernel::Direct { terms, .. } => {
                terms.iter().filter(|term| matches!(term.factor, Factor::Varying(_))).count()
            }
        };
        (2 * count + arrays) * self.elements() * size_of::<T>()
    }

    /// What will be done, in words.
    pub fn explain(&self) -> String {
        let kernel = match &self.kernel {
            Kernel::Columns { columns, .. } => format!(
                "sums by columns: {} rows in {} classes of equal coefficients{}{}",
                self.groups.len(),
                columns.classes(),
                if columns.is_symmetric() { ", both outer columns from one sum" } else { "" },
                if self.computes_pairs() { ", two rows of results at once" } else { "" }
            ),
            Kernel::Direct { terms, .. } => {
                let varying = terms.iter().filter(|term| matches!(term.factor, Factor::Varying(_))).count();
                format!(
                    "term by term: {} rows, {} constant terms, {varying} with coefficients along the row",
                    self.groups.len(),
                    terms.len() - varying
                )
            }
        };
        let stores = if self.streams(1) { "past the caches" } else { "through the caches" };
        let mut text = format!(
            "{} points over {:?} sites of {} {} byte elements\nkernel: {kernel}; {:?} instructions\nresults are written {stores}\n",
            self.offsets.len(),
            self.extents,
            self.options.components,
            size_of::<T>(),
            self.instructions
        );
        text.push_str(&tiles::explain(self));
        if let Some(Bundle { planes, .. }) = self.bundle.filter(|_| self.streams(1)) {
            text.push_str(&format!("planes of axis 0: {planes} together, one index of axis 1 of each in turn\n"));
        }
        text.push_str(&steps::explain(self));
        text.push_str(&format!("moves at least {} bytes a step\n", self.bytes(1)));
        text
    }
}

/// Refuses what does not fit together.
fn check<T: Element>(
    stencil: &Stencil<T>,
    extents: &[usize],
    boundaries: &[Boundary<T>],
    options: &Options,
) -> Result<(), StencilError> {
    let refuse = |message: String| Err(StencilError::Plan(message));
    let axes = stencil.axes();
    if extents.len() != axes {
        return refuse(format!(
            "a stencil of {axes} axes cannot be applied to an array of {}: {extents:?}",
            extents.len()
        ));
    }
    if boundaries.len() != axes {
        return refuse(format!(
            "a stencil of {axes} axes needs {axes} boundaries, one for each, not {}",
            boundaries.len()
        ));
    }
    if options.components == 0 || options.threads == 0 || options.steps == 0 || options.steps_at_once == Some(0) {
        return refuse("components, threads and steps must be at least 1".to_string());
    }
    let sites = extents.iter().try_fold(options.components, |product, &extent| product.checked_mul(extent));
    if sites.and_then(|sites| sites.checked_mul(size_of::<T>())).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return refuse(format!("an array of {extents:?} sites does not fit into memory"));
    }
    for (axis, boundary) in boundaries.iter().enumerate() {
        if let Boundary::Array(values) = boundary {
            let others = extents.iter().enumerate().filter(|&(other, _)| other != axis);
            let expected = others.map(|(_, &extent)| extent).product::<usize>() * options.components;
            if values.len() != expected {
                return refuse(format!(
                    "the boundary array of axis {axis} has {} elements; without that axis an array of {extents:?} sites has \
                     {expected}",
                    values.len()
                ));
            }
        }
    }
    match options.instructions {
        Some(wanted) if !Level::available().contains(&wanted) => {
            refuse(format!("this processor has no {wanted:?} instructions"))
        }
        _ => Ok(()),
    }
}

fn outer_offset(offset: &[isize]) -> [isize; OUTER] {
    let mut outer = [0; OUTER];
    outer[..offset.len() - 1].copy_from_slice(&offset[..offset.len() - 1]);
    outer
}

/// The coefficients of columns -1, 0, 1 for each group, where all are constant and no point is further away.
fn column_coefficients<T: Element>(
    stencil: &Stencil<T>,
    groups: &[[isize; OUTER]],
    components: usize,
) -> Option<Vec<[Option<T>; 3]>> {
    let mut rows = vec![[None; 3]; groups.len()];
    for point in stencil.points() {
        let Coefficient::Constant(value) = &point.coefficient else { return None };
        let column = *point.offset.last()?;
        if column.abs() > 1 || (column != 0 && components > 1) {
            return None;
        }
        let outer = outer_offset(&point.offset);
        let group = groups.iter().position(|&known| known == outer)?;
        rows[group][(column + 1) as usize] = Some(*value);
    }
    Some(rows)
}

fn direct_terms<T: Element>(
    stencil: &Stencil<T>,
    groups: &[[isize; OUTER]],
    extents: &[usize],
    components: usize,
) -> Vec<Term<T>> {
    stencil
        .points()
        .iter()
        .map(|point| {
            let outer = outer_offset(&point.offset);
            let column = point.offset.last().copied().unwrap_or(0);
            Term {
                group: groups.iter().position(|&known| known == outer).unwrap_or(0),
                offset: column * components as isize,
                factor: match &point.coefficient {
                    Coefficient::Constant(value) => Factor::Constant(*value),
                    Coefficient::Array(array) => along_rows(array, extents, components),
                    Coefficient::Elements(array) => Factor::Varying(array.clone()),
                },
            }
        })
        .collect()
}

/// Coefficients as rows of elements: as they are where they are contiguous along the last axis, else a copy.
fn along_rows<T: Element>(array: &Array<T>, extents: &[usize], components: usize) -> Factor<T> {
    let last = extents.len() - 1;
    let strides = array.strides();
    if strides[last] == 0 {
        return Factor::Row(array.clone());
    }
    if (strides[last] == 1 || extents[last] <= 1) && components == 1 {
        return Factor::Varying(array.clone());
    }
    let held: Vec<usize> =
        (0..=last).map(|axis| if axis < last && strides[axis] == 0 { 1 } else { extents[axis] }).collect();
    let sites: usize = held.iter().product();
    let mut values = Vec::with_capacity(sites * components);
    for site in 0..sites {
        let (mut rest, mut place) = (site, 0);
        for axis in (0..=last).rev() {
            place += (rest % held[axis]) as isize * strides[axis];
            rest /= held[axis];
        }
        // SAFETY: an index within the extents.
        let value = unsafe { *array.as_ptr().offset(place) };
        values.extend(std::iter::repeat_n(value, components));
    }
    let mut copied = vec![0; last + 1];
    let mut step = components as isize;
    for axis in (0..=last).rev() {
        copied[axis] = if held[axis] == 1 && axis < last { 0 } else { step };
        step *= held[axis] as isize;
    }
    let owner: Arc<Vec<T>> = Arc::new(values);
    // SAFETY: the copy has a row for every index that its strides reach.
    Factor::Varying(unsafe { Array::borrowed(owner.as_ptr(), &copied, owner.clone()) })
}
