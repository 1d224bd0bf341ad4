//! Steps of a stencil on one rank: faces on their way, interior, rim.

use weft_comm::{CommError, Communicator};
use weft_kernels::stencil::{Element, Layout, Plan, Region, Source, StencilError, Target};

use super::block::Block;
use crate::exchange::{Exchange, Storage};
use crate::geometry::Geometry;

/// Where a stencil finds the sites of an array in the memory of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    layout: Layout,
    /// Elements from the start of the memory to site (0, 0, …) of [`Block`], for each group of right-hand sides.
    groups: Vec<isize>,
    /// Right-hand sides of a group, evenly apart.
    count: usize,
}

impl Memory {
    /// Of the array that `storage` describes on `rank`: its axes are right-hand sides, then the `block`'s, then those of a
    /// site, whose elements must be together; `size` is the bytes of a real number. `None` where it cannot be read so.
    pub fn new(
        geometry: &Geometry,
        rank: usize,
        storage: &Storage,
        first: usize,
        block: &Block,
        size: usize,
    ) -> Option<Memory> {
        let axes = block.extents.len();
        let shape = geometry.local_shape(rank);
        let mut together = storage.element as isize;
        for axis in (first + axes..shape.len()).rev() {
            if storage.strides[axis] != together || geometry.axes()[axis].ranks() > 1 {
                return None;
            }
            together *= shape[axis] as isize;
        }
        if storage.strides[first + axes - 1] != together {
            return None;
        }
        let elements = |bytes: isize| (bytes % size as isize == 0).then_some(bytes / size as isize);
        let mut start = elements(storage.origin)?;
        for (axis, &[before, _]) in block.ghosts.iter().enumerate() {
            start -= before as isize * elements(storage.strides[first + axis])?;
        }
        let strides =
            (0..axes - 1).map(|axis| elements(storage.strides[first + axis])).collect::<Option<Vec<isize>>>()?;
        let between = if first > 0 { elements(storage.strides[first - 1])? } else { 0 };
        let mut groups = vec![start];
        for (&extent, &stride) in shape.iter().zip(&storage.strides).take(first.saturating_sub(1)) {
            let step = elements(stride)?;
            groups =
                groups.iter().flat_map(|&from| (0..extent).map(move |index| from + index as isize * step)).collect();
        }
        let count = if first > 0 { shape[first - 1] } else { 1 };
        Some(Memory { layout: Layout { strides, between }, groups, count })
    }
}

/// How the sites of a block are computed.
pub struct Computation<T: Element> {
    real: Plan<T>,
    /// The imaginary parts of complex coefficients: a plan for them, and a buffer for what it gives.
    imaginary: Option<(Plan<T>, Vec<T>)>,
    /// All steps between two exchanges in one sweep through memory, where that pays.
    several: Option<Plan<T>>,
}

impl<T: Element> Computation<T> {
    /// By a plan for the block's extents, and another for the imaginary parts of coefficients, whose elements are pairs.
    pub fn new(real: Plan<T>, imaginary: Option<Plan<T>>) -> Computation<T> {
        let buffer = |plan: Plan<T>| {
            let elements = plan.extents().iter().product::<usize>() * plan.options().components;
            (plan, vec![T::ZERO; elements])
        };
        Computation { real, imaginary: imaginary.map(buffer), several: None }
    }

    /// The same with a plan for the steps between two exchanges, which is used where it takes them in one sweep.
    #[must_use]
    pub fn with_several(self, several: Plan<T>) -> Computation<T> {
        let steps = several.options().steps;
        let is_one_sweep = steps > 1 && several.steps_in_a_sweep() == steps && self.imaginary.is_none();
        Computation { several: is_one_sweep.then_some(several), ..self }
    }

    /// Steps that are taken in one sweep through memory.
    pub fn steps_in_a_sweep(&self) -> usize {
        self.several.as_ref().map_or(1, |plan| plan.options().steps)
    }

    /// Computes regions, in several steps if `is_deep`.
    ///
    /// # Safety
    /// As [`Plan::apply_region`] asks, of memory that begins at `source` and at `target`.
    unsafe fn regions<'a>(
        &mut self,
        from: (*const T, &Memory),
        into: (*mut T, &Memory),
        regions: impl IntoIterator<Item = &'a Region>,
        is_deep: bool,
    ) {
        for region in regions.into_iter().filter(|region| region.sites() > 0) {
            let outcome = match &self.several {
                // SAFETY: memory begins at both pointers as the two `Memory` say, for all sites that the region's steps
                // read and write (this function's condition).
                Some(plan) if is_deep => unsafe { apply(plan, from, into, region) },
                // SAFETY: memory begins at both pointers as the two `Memory` say, for all sites that the region's one
                // step reads and writes (this function's condition).
                _ => unsafe { self.region(from, into, region) },
            };
            outcome.expect("interior and rim are regions of the block");
        }
    }

    /// The plan of the (real) coefficients.
    pub fn plan(&self) -> &Plan<T> {
        &self.real
    }

    /// # Safety
    /// As [`Plan::apply_region`] asks, of memory that begins at `source` and at `target`.
    unsafe fn region(
        &mut self,
        (source, from): (*const T, &Memory),
        (target, into): (*mut T, &Memory),
        region: &Region,
    ) -> Result<(), StencilError> {
        if region.sites() == 0 {
            return Ok(());
        }
        for (&read, &write) in from.groups.iter().zip(&into.groups) {
            let x = Source { base: source.wrapping_offset(read), layout: &from.layout };
            let y = Target { base: target.wrapping_offset(write), layout: &into.layout };
            // SAFETY: `read` and `write` are where a group of right-hand sides begins, whose sites may be read and
            // written as the layouts say (this function's condition).
            unsafe { self.real.apply_region(&x, &y, from.count, region)? };
            let Some((plan, buffer)) = &mut self.imaginary else { continue };
            let layout = plan.contiguous();
            for side in 0..from.count as isize {
                let x = Source { base: x.base.wrapping_offset(side * from.layout.between), layout: &from.layout };
                let part = Target { base: buffer.as_mut_ptr(), layout: &layout };
                // SAFETY: `side` is below the number of right-hand sides of the group, each of which has the sites that
                // the layouts say (this function's condition); the memory of the imaginary parts has the plan's extents
                // and components, contiguous.
                unsafe {
                    plan.apply_region(&x, &part, 1, region)?;
                    let base = y.base.wrapping_offset(side * into.layout.between);
                    add_imaginary(
                        buffer,
                        &layout.strides,
                        base,
                        &into.layout.strides,
                        plan.options().components,
                        region,
                    );
                }
            }
        }
        Ok(())
    }
}

/// # Safety
/// As [`Plan::apply_region`] asks, of memory that begins at `source` and at `target`.
unsafe fn apply<T: Element>(
    plan: &Plan<T>,
    (source, from): (*const T, &Memory),
    (target, into): (*mut T, &Memory),
    region: &Region,
) -> Result<(), StencilError> {
    for (&read, &write) in from.groups.iter().zip(&into.groups) {
        let x = Source { base: source.wrapping_offset(read), layout: &from.layout };
        let y = Target { base: target.wrapping_offset(write), layout: &into.layout };
        // SAFETY: `read` and `write` are where a group of right-hand sides begins, whose sites may be read and written
        // as the layouts say (this function's condition).
        unsafe { plan.apply_region(&x, &y, from.count, region)? };
    }
    Ok(())
}

/// Adds i times `part`, pairs of real and imaginary parts, to the sites of a region.
///
/// # Safety
/// `target` is valid for the region.
unsafe fn add_imaginary<T: Element>(
    part: &[T],
    part_strides: &[isize],
    target: *mut T,
    strides: &[isize],
    components: usize,
    region: &Region,
) {
    let Some((columns, outer)) = region.ranges.split_last() else { return };
    let minus = T::from_f64(-1.0);
    let mut index: Vec<usize> = outer.iter().map(|range| range.0).collect();
    loop {
        let offset = |strides: &[isize]| -> isize {
            index.iter().zip(strides).map(|(&at, stride)| at as isize * stride).sum::<isize>()
                + (columns.0 * components) as isize
        };
        let length = (columns.1 - columns.0) * components;
        let from = offset(part_strides) as usize;
        // SAFETY: the target is valid for the region (this function's condition), and `index` with the region's columns
        // is a row of it, whose elements are together.
        let row = unsafe { std::slice::from_raw_parts_mut(target.offset(offset(strides)), length) };
        for (into, part) in row.chunks_exact_mut(2).zip(part[from..from + length].chunks_exact(2)) {
            into[0] = into[0] + part[1] * minus;
            into[1] = into[1] + part[0];
        }
        let Some(axis) = (0..index.len()).rev().find(|&axis| index[axis] + 1 < outer[axis].1) else { return };
        index[axis] += 1;
        for later in axis + 1..index.len() {
            index[later] = outer[later].0;
        }
    }
}

/// One rank's stencil: its exchange, its block, and how sites are computed.
pub struct Stepper<C: Communicator, T: Element> {
    /// None where no faces travel.
    pub exchange: Option<Exchange<C>>,
    pub block: Block,
    /// None where the rank has no sites.
    pub computation: Option<Computation<T>>,
}

/// An array in the memory of a rank, and how it lies there.
#[derive(Clone, Copy)]
pub struct Lying<'a> {
    pub start: *mut u8,
    pub memory: &'a Memory,
}

impl<C: Communicator, T: Element> Stepper<C, T> {
    /// Steps that an exchange serves at most.
    pub fn steps_per_exchange(&self) -> usize {
        self.block.supersteps.len()
    }

    /// So many steps, from an array to another: for each exchange packs and sends the faces, computes what needs none, takes
    /// in what has come, computes the rest. The ghosts of the source are filled. Results before the last go to the arrays
    /// `between` in turn, the last but one to the second; they lie as the source does.
    ///
    /// # Errors
    /// Those of the backend.
    ///
    /// # Safety
    /// `source` begins memory as it and the exchange's storage say, and `target` too; so do those `between` where there are
    /// two steps or more (the second) or three (both). They do not overlap, but that the target may be the first between.
    pub async unsafe fn steps(
        &mut self,
        source: Lying<'_>,
        between: [*mut u8; 2],
        target: Lying<'_>,
        steps: usize,
    ) -> Result<(), CommError> {
        // SAFETY: source, target and the arrays between begin memory as they are said to lie, and do not overlap (this
        // function's conditions, and all that `steps_while` asks).
        unsafe { self.steps_while(source, between, target, steps, &mut || true).await }
    }

    /// As [`steps`](Self::steps), given up before an exchange where `goes_on` says no: arrays then hold anything.
    ///
    /// # Errors
    /// Those of the backend.
    ///
    /// # Safety
    /// As for [`steps`](Self::steps).
    pub async unsafe fn steps_while(
        &mut self,
        source: Lying<'_>,
        between: [*mut u8; 2],
        target: Lying<'_>,
        steps: usize,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), CommError> {
        let longest = self.steps_per_exchange();
        let supersteps = steps / longest;
        let rest = steps % longest;
        let moves = supersteps * self.results(longest) + self.results(rest);
        let after = |number: usize| {
            if number == moves { target } else { Lying { start: between[(moves - number) % 2], ..source } }
        };
        let (mut from, mut done) = (source, 0);
        for count in std::iter::repeat_n(longest, supersteps).chain((rest > 0).then_some(rest)) {
            if !goes_on() {
                return Ok(());
            }
            let results = self.results(count);
            // SAFETY: `from` is the source or an array between, and the results are arrays between or the target, all
            // of which begin memory as they are said to lie (this function's condition); no result is the array that
            // the step reads, as those between alternate.
            unsafe { self.superstep(from, (1..=results).map(|number| after(done + number)), count).await? };
            done += results;
            from = after(done);
        }
        Ok(())
    }

    /// Arrays that so many steps after one exchange write: one for each, or one for all in one sweep.
    fn results(&self, steps: usize) -> usize {
        if self.is_one_sweep(steps) { 1 } else { steps }
    }

    fn is_one_sweep(&self, steps: usize) -> bool {
        steps > 1 && self.computation.as_ref().is_some_and(|computation| computation.steps_in_a_sweep() == steps)
    }

    /// The steps that follow one exchange, the result of each in the next of `results`.
    ///
    /// # Safety
    /// `source` begins memory as it and the exchange's storage say, and each result as it says; no result overlaps the array
    /// that its step reads.
    async unsafe fn superstep<'a>(
        &mut self,
        source: Lying<'_>,
        mut results: impl Iterator<Item = Lying<'a>>,
        steps: usize,
    ) -> Result<(), CommError> {
        if let Some(exchange) = &mut self.exchange {
            // SAFETY: the source begins memory as the exchange's storage says, which stays until this has returned
            // (this function's condition).
            unsafe { exchange.begin(&[source.start])? };
        }
        let superstep = &self.block.supersteps[steps - 1];
        let is_deep = self.is_one_sweep(steps);
        let (interior, rim) = if is_deep {
            (&superstep.deep_interior, &superstep.deep_rim)
        } else {
            (&superstep.interior, &superstep.rim)
        };
        let Some(first) = results.next() else { return Ok(()) };
        let from = (source.start.cast_const().cast(), source.memory);
        let into = (first.start.cast(), first.memory);
        if let Some(computation) = &mut self.computation {
            // SAFETY: source and first result begin memory as they are said to lie (this function's condition), and the
            // interior is the region that reads no ghosts, which have not come yet.
            unsafe { computation.regions(from, into, [interior], is_deep) };
        }
        if let Some(exchange) = &mut self.exchange {
            // SAFETY: the source that `begin` was given stays until this has returned (this function's condition).
            let outcome = unsafe { exchange.end().await };
            if outcome.is_err() {
                exchange.abandon();
            }
            outcome?;
        }
        let Some(computation) = &mut self.computation else { return Ok(()) };
        // SAFETY: source and first result begin memory as they are said to lie (this function's condition), and the
        // exchange has filled the ghosts that the rim reads.
        unsafe { computation.regions(from, into, rim, is_deep) };
        if is_deep {
            return Ok(());
        }
        let mut last = first;
        for (region, next) in superstep.later.iter().zip(results) {
            let from = (last.start.cast_const().cast(), last.memory);
            // SAFETY: the step before has computed what this one needs.
            unsafe { computation.regions(from, (next.start.cast(), next.memory), [region], false) };
            last = next;
        }
        Ok(())
    }

    /// Computes the sites that need no ghosts.
    ///
    /// # Safety
    /// Of an array whose ghosts are filled or not, and another that does not overlap it, both as they are said to lie.
    pub unsafe fn interior(&mut self, source: *mut u8, from: &Memory, target: *mut u8, into: &Memory) {
        let Some(computation) = &mut self.computation else { return };
        let region = &self.block.interior;
        // SAFETY: both arrays lie as they are said to and do not overlap (this function's condition), and the interior
        // reads sites within the source only.
        unsafe { computation.regions((source.cast(), from), (target.cast(), into), [region], false) };
    }

    /// Computes the others, when the ghosts are there.
    ///
    /// # Safety
    /// As for [`interior`](Stepper::interior), whose ghosts are filled.
    pub unsafe fn rim(&mut self, source: *mut u8, from: &Memory, target: *mut u8, into: &Memory) {
        let Some(computation) = &mut self.computation else { return };
        let rim = &self.block.rim;
        // SAFETY: both arrays lie as they are said to and do not overlap, and the ghosts that the rim reads are filled
        // (this function's condition).
        unsafe { computation.regions((source.cast(), from), (target.cast(), into), rim, false) };
    }
}
