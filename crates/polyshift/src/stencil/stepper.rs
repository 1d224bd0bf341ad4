//! One step of a stencil on one rank: faces on their way, interior, rim.

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
    /// The imaginary parts of complex coefficients: a plan for them, and room for what it gives.
    imaginary: Option<(Plan<T>, Vec<T>)>,
}

impl<T: Element> Computation<T> {
    /// By a plan for the block's extents, and another for the imaginary parts of coefficients, whose elements are pairs.
    pub fn new(real: Plan<T>, imaginary: Option<Plan<T>>) -> Computation<T> {
        let room = |plan: Plan<T>| {
            let elements = plan.extents().iter().product::<usize>() * plan.options().components;
            (plan, vec![T::ZERO; elements])
        };
        Computation { real, imaginary: imaginary.map(room) }
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
            // SAFETY: the caller's.
            unsafe { self.real.apply_region(&x, &y, from.count, region)? };
            let Some((plan, room)) = &mut self.imaginary else { continue };
            let layout = plan.contiguous();
            for side in 0..from.count as isize {
                let x = Source { base: x.base.wrapping_offset(side * from.layout.between), layout: &from.layout };
                let part = Target { base: room.as_mut_ptr(), layout: &layout };
                // SAFETY: as above; the room has the plan's extents.
                unsafe {
                    plan.apply_region(&x, &part, 1, region)?;
                    let base = y.base.wrapping_offset(side * into.layout.between);
                    add_imaginary(room, &layout.strides, base, &into.layout.strides, plan.options().components, region);
                }
            }
        }
        Ok(())
    }
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
        // SAFETY: the caller's: a row of the region.
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

impl<C: Communicator, T: Element> Stepper<C, T> {
    /// One step, from an array to another: packs and sends the faces, computes what needs none, takes in what has come,
    /// computes the rest. The ghosts of the source are filled.
    ///
    /// # Errors
    /// Those of the world.
    ///
    /// # Safety
    /// `source` begins memory as `from`, and the exchange's storage, say; `target` as `into` says; they do not overlap.
    pub async unsafe fn step(
        &mut self,
        source: *mut u8,
        from: &Memory,
        target: *mut u8,
        into: &Memory,
    ) -> Result<(), CommError> {
        if let Some(exchange) = &mut self.exchange {
            // SAFETY: the caller's.
            unsafe { exchange.begin(&[source])? };
        }
        // SAFETY: the caller's; what is needed of the source is there.
        unsafe { self.interior(source, from, target, into) };
        if let Some(exchange) = &mut self.exchange {
            // SAFETY: the caller's.
            let outcome = unsafe { exchange.end().await };
            if outcome.is_err() {
                exchange.abandon();
            }
            outcome?;
        }
        // SAFETY: as above.
        unsafe { self.rim(source, from, target, into) };
        Ok(())
    }

    /// Computes the sites that need no ghosts.
    ///
    /// # Safety
    /// As for [`step`](Stepper::step).
    pub unsafe fn interior(&mut self, source: *mut u8, from: &Memory, target: *mut u8, into: &Memory) {
        let Some(computation) = &mut self.computation else { return };
        let region = &self.block.interior;
        // SAFETY: the caller's.
        let outcome = unsafe { computation.region((source.cast(), from), (target.cast(), into), region) };
        outcome.expect("the interior is a region of the block");
    }

    /// Computes the others, when the ghosts are there.
    ///
    /// # Safety
    /// As for [`step`](Stepper::step).
    pub unsafe fn rim(&mut self, source: *mut u8, from: &Memory, target: *mut u8, into: &Memory) {
        let Some(computation) = &mut self.computation else { return };
        for region in &self.block.rim {
            // SAFETY: the caller's.
            let outcome = unsafe { computation.region((source.cast(), from), (target.cast(), into), region) };
            outcome.expect("the rim is regions of the block");
        }
    }
}
