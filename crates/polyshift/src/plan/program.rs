//! Programs: what the kernels are told, for one layout of the arrays.
//!
//! Where source and output of a shift are dense with their axes in one order, it becomes a rotation of slabs in that
//! order ([`weft_kernels::shift::slabs`], for small arrays [`weft_kernels::shift::lines`]). Every other shift becomes
//! copies of boxes: what stays, and what comes in.

use weft_kernels::shift::boxes::{Axis, BoxCopy};
use weft_kernels::shift::lines::Lines;
use weft_kernels::shift::slabs::{self, Stores};
use weft_kernels::shift::{Buffers, SlabEdge, SlabShift};
use weft_kernels::{Execution, Stop};
use weft_simd::{MAX_THREADS, on_threads};

use super::layout::{dense_order, dense_strides, is_dense_in, without};
use super::{Edge, Plan, Shift};

/// Bytes of a constant in memory, about: long enough that writing many of them goes line by line.
const CONSTANT: usize = 4096;

/// Bytes that each thread of a call must move at least: to wake one that waits and to wait for it takes some microseconds.
/// Shifts of 4 MiB, read and written, take a quarter of the time on two processors with caches of their own (2 MiB each),
/// those of 8 to 64 MiB half of it; the primitives share their calls from as many on.
const BYTES_PER_THREAD: usize = 2 << 20;

/// An element again and again.
pub(super) fn constant(element: &[u8]) -> Vec<u8> {
    element.repeat((CONSTANT / element.len().max(1)).max(1))
}

/// Inputs are numbered through: sources, boundary arrays, constants, packed boundary arrays.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// Shifts of dense arrays; done by `lines` where there are any.
    pub slabs: Vec<SlabShift>,
    pub lines: Option<Lines>,
    pub boxes: Vec<BoxMove>,
    /// Boundary arrays that are made dense first.
    pub packed: Vec<Packed>,
    pub stores: Stores,
    /// Bytes of one source or output.
    pub length: usize,
    /// Bytes that a call reads and writes.
    pub touched: usize,
}

/// A copy of a box from an input to an output.
#[derive(Debug)]
pub(crate) struct BoxMove {
    pub input: usize,
    pub input_offset: isize,
    pub output: usize,
    pub output_offset: isize,
    pub copy: BoxCopy,
}

/// A boundary array that is made dense.
#[derive(Debug)]
pub(crate) struct Packed {
    pub input: usize,
    pub bytes: usize,
    pub copy: BoxCopy,
}

/// Strides of the arrays of a plan.
struct Layout<'a> {
    sources: Vec<&'a [isize]>,
    boundaries: Vec<&'a [isize]>,
    outputs: Vec<&'a [isize]>,
}

impl<'a> Layout<'a> {
    fn new(plan: &Plan, strides: &'a [isize]) -> Self {
        let rank = plan.shape.len();
        let (sources, rest) = strides.split_at(rank * plan.sources);
        let (boundaries, outputs) = rest.split_at(rest.len() - rank * plan.shifts.len());
        let all = |strides: &'a [isize], count: usize, rank: usize| -> Vec<&'a [isize]> {
            (0..count).map(|number| &strides[number * rank..(number + 1) * rank]).collect()
        };
        Self {
            sources: all(sources, plan.sources, rank),
            boundaries: all(boundaries, plan.boundaries.len(), rank.saturating_sub(1)),
            outputs: all(outputs, plan.shifts.len(), rank),
        }
    }
}

impl Program {
    pub(super) fn new(plan: &Plan, strides: &[isize]) -> Self {
        let touched = touched(plan);
        let mut program = Self { length: plan.bytes, touched, stores: Stores::for_bytes(touched), ..Self::default() };
        if plan.bytes == 0 {
            return program;
        }
        let layout = Layout::new(plan, strides);
        let order = plan
            .shifts
            .iter()
            .zip(&layout.outputs)
            .filter(|(shift, output)| {
                let order = dense_order(&plan.shape, output, plan.item);
                order.is_some_and(|order| is_dense_in(&order, &plan.shape, layout.sources[shift.source], plan.item))
            })
            .find_map(|(_, output)| dense_order(&plan.shape, output, plan.item));
        let mut constants = plan.sources + plan.boundaries.len()..;
        for (number, shift) in plan.shifts.iter().enumerate() {
            let constant = if matches!(shift.edge, Edge::Constant(_)) { constants.next() } else { None };
            let dense_in = order.as_ref().filter(|order| {
                [layout.outputs[number], layout.sources[shift.source]]
                    .iter()
                    .all(|strides| is_dense_in(order, &plan.shape, strides, plan.item))
            });
            match dense_in {
                Some(order) => program.add_slabs(plan, &layout, order, number, constant),
                None => program.add_boxes(plan, &layout, number, constant),
            }
        }
        if program.packed.is_empty() && program.boxes.is_empty() {
            program.lines = Lines::new(&program.slabs, plan.bytes);
        }
        program
    }

    fn add_slabs(&mut self, plan: &Plan, layout: &Layout<'_>, order: &[usize], number: usize, constant: Option<usize>) {
        let shift = &plan.shifts[number];
        let inner: usize =
            order.iter().rev().take_while(|&&axis| axis != shift.axis).map(|&axis| plan.shape[axis]).product::<usize>()
                * plan.item;
        let edge = match (&shift.edge, constant) {
            (Edge::Array(boundary), _) => {
                SlabEdge::Rows { input: self.dense_boundary(plan, layout, order, *boundary), bytes: inner }
            }
            (Edge::Constant(_), Some(input)) => {
                let bytes = CONSTANT.max(plan.item) / plan.item.max(1) * plan.item;
                SlabEdge::Fill { input, bytes, item: plan.item }
            }
            _ => SlabEdge::Circular,
        };
        self.slabs.push(SlabShift {
            source: shift.source,
            target: number,
            slab: plan.shape[shift.axis] * inner,
            distance: shift.by.unsigned_abs() as usize * inner,
            upwards: shift.by < 0,
            edge,
        });
    }

    /// The input that has the boundary array without gaps, its axes in `order`.
    fn dense_boundary(&mut self, plan: &Plan, layout: &Layout<'_>, order: &[usize], boundary: usize) -> usize {
        let shifted = plan.boundaries[boundary];
        let face = without(&plan.shape, shifted);
        let face_order: Vec<usize> =
            order.iter().filter(|&&axis| axis != shifted).map(|&axis| axis - usize::from(axis > shifted)).collect();
        let strides = layout.boundaries[boundary];
        let input = plan.sources + boundary;
        if is_dense_in(&face_order, &face, strides, plan.item) {
            return input;
        }
        let ordered: Vec<usize> = face_order.iter().map(|&axis| face[axis]).collect();
        let axes: Vec<Axis> = face_order
            .iter()
            .zip(dense_strides(&ordered, plan.item))
            .map(|(&axis, target)| Axis { extent: face[axis], source: strides[axis], target })
            .collect();
        let bytes = face.iter().product::<usize>() * plan.item;
        self.packed.push(Packed { input, bytes, copy: BoxCopy::new(plan.item, &axes) });
        plan.sources + plan.boundaries.len() + plan.constants.len() + self.packed.len() - 1
    }

    fn add_boxes(&mut self, plan: &Plan, layout: &Layout<'_>, number: usize, constant: Option<usize>) {
        let shift = &plan.shifts[number];
        let (source, output) = (layout.sources[shift.source], layout.outputs[number]);
        let (extent, distance) = (plan.shape[shift.axis], shift.by.unsigned_abs() as usize);
        let moved = distance as isize;
        let kept = (extent - distance) as isize;
        let along = |strides: &[isize], count: isize| strides[shift.axis] * count;
        let (kept_from, kept_to, incoming_to) =
            if shift.by < 0 { (0, along(output, moved), 0) } else { (along(source, moved), 0, along(output, kept)) };
        self.add_box(plan, shift, number, kept as usize, (shift.source, kept_from, source), (kept_to, output));
        let zeros = vec![0; plan.shape.len()];
        let (input, strides) = match (&shift.edge, constant) {
            (Edge::Array(boundary), _) => {
                let mut strides = layout.boundaries[*boundary].to_vec();
                strides.insert(shift.axis, 0);
                (plan.sources + boundary, strides)
            }
            (Edge::Constant(_), Some(input)) => (input, zeros),
            _ => (shift.source, source.to_vec()),
        };
        self.add_box(plan, shift, number, distance, (input, 0, &strides), (incoming_to, output));
    }

    fn add_box(
        &mut self,
        plan: &Plan,
        shift: &Shift,
        output: usize,
        extent: usize,
        (input, input_offset, from): (usize, isize, &[isize]),
        (output_offset, to): (isize, &[isize]),
    ) {
        let axes: Vec<Axis> = (0..plan.shape.len())
            .map(|axis| Axis {
                extent: if axis == shift.axis { extent } else { plan.shape[axis] },
                source: from[axis],
                target: to[axis],
            })
            .collect();
        let copy = BoxCopy::new(plan.item, &axes);
        if copy.runs() > 0 {
            self.boxes.push(BoxMove { input, input_offset, output, output_offset, copy });
        }
    }

    /// Threads for a call where the caller does not say.
    pub(super) fn usual_threads(&self) -> usize {
        let wanted = self.touched / BYTES_PER_THREAD;
        if wanted < 2 { 1 } else { wanted.min(weft_simd::processors()) }
    }

    /// Does the shifts.
    ///
    /// # Safety
    ///
    /// Inputs (see [`Program`]) and outputs are those of the layout, and no output overlaps an input or another output.
    #[inline]
    pub(super) unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8], execution: Execution<'_>) {
        // SAFETY: inputs and outputs are those of the layout that lines, slabs and boxes were made for, and no output
        // overlaps an input or another output (this function's conditions).
        unsafe {
            if let Some(lines) = &self.lines {
                return lines.run(inputs, outputs);
            }
            let Execution { threads, stop } = execution;
            let threads = threads.unwrap_or_else(|| self.usual_threads());
            if !self.slabs.is_empty() {
                slabs::run(&self.slabs, Buffers { inputs, outputs, length: self.length }, self.stores, threads, stop);
            }
            self.run_boxes(inputs, outputs, threads, stop);
        }
    }

    /// # Safety
    ///
    /// As [`run`](Program::run).
    unsafe fn run_boxes(&self, inputs: &[*const u8], outputs: &[*mut u8], threads: usize, stop: Stop<'_>) {
        let threads = threads.clamp(1, self.boxes.len().clamp(1, MAX_THREADS));
        let buffers = Buffers { inputs, outputs, length: self.length };
        on_threads(threads, |first| {
            // All of `buffers` goes to the thread, not its fields.
            let buffers = { buffers };
            for part in self.boxes.iter().skip(first).step_by(threads).take_while(|_| !stop.is_requested()) {
                // SAFETY: `add_boxes` has made the box within the arrays of the layout that inputs and outputs are of (this
                // function's condition), and boxes of one output apart, so that threads write different elements.
                unsafe {
                    part.copy.run(
                        buffers.inputs[part.input].wrapping_offset(part.input_offset),
                        buffers.outputs[part.output].wrapping_offset(part.output_offset),
                    );
                }
            }
        });
    }
}

/// Bytes that a call reads and writes: each source once, each output once, and what comes in from boundary arrays.
fn touched(plan: &Plan) -> usize {
    let faces = (0..plan.boundaries.len()).map(|boundary| plan.face(boundary).iter().product::<usize>() * plan.item);
    plan.bytes.saturating_mul(plan.sources + plan.shifts.len()).saturating_add(faces.sum::<usize>())
}
