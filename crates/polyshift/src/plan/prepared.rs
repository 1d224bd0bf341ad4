//! Plans joined to arrays.

use std::sync::{Arc, Mutex, PoisonError};

use weft_kernels::Execution;
use weft_kernels::shift::boxes::{Axis, BoxCopy};

use super::Plan;
use super::layout::Strided;
use super::program::Program;

/// Memory that elements are copied to; words, so that elements are aligned as usual.
#[derive(Debug)]
struct Memory(Vec<u64>);

impl Memory {
    fn new(bytes: usize) -> Self {
        Self(vec![0; bytes.div_ceil(8)])
    }

    fn pointer(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut().cast()
    }
}

/// A copy of an input that an output overlaps.
#[derive(Debug)]
pub(super) struct FirstCopy {
    from: *const u8,
    copy: BoxCopy,
    memory: Memory,
}

impl FirstCopy {
    pub(super) fn new(array: Strided<'_>, shape: &[usize], dense: &[isize], item: usize) -> Self {
        let axes: Vec<Axis> = shape
            .iter()
            .zip(array.strides.iter().zip(dense))
            .map(|(&extent, (&source, &target))| Axis { extent, source, target })
            .collect();
        let memory = Memory::new(shape.iter().product::<usize>() * item);
        Self { from: array.pointer, copy: BoxCopy::new(item, &axes), memory }
    }

    pub(super) fn pointer(&self) -> *const u8 {
        self.memory.pointer()
    }
}

/// A plan joined to arrays: runs any number of times, without allocating anything.
#[derive(Debug)]
pub struct Prepared {
    program: Arc<Program>,
    inputs: Vec<*const u8>,
    outputs: Vec<*mut u8>,
    /// Copied before, at each run.
    copies: Vec<FirstCopy>,
    /// Where `program.packed` goes.
    packed: Vec<Memory>,
    /// Held during runs that use own memory, which has room for one at a time.
    running: Mutex<()>,
}

// SAFETY: the pointers are used by `run` only, whose conditions hold on any thread; own memory goes along.
unsafe impl Send for Prepared {}
// SAFETY: `run` takes the lock before it writes to own memory, and under its conditions nothing else uses the arrays,
// from whichever threads it is called.
unsafe impl Sync for Prepared {}

impl Prepared {
    pub(super) fn new(
        plan: &Plan,
        program: Arc<Program>,
        sources: &[*const u8],
        boundaries: &[*const u8],
        outputs: Vec<*mut u8>,
        copies: Vec<FirstCopy>,
    ) -> Self {
        let packed: Vec<Memory> = program.packed.iter().map(|packed| Memory::new(packed.bytes)).collect();
        let constants = plan.constants.iter().map(|constant| constant.as_ptr());
        let mut inputs = Vec::with_capacity(sources.len() + boundaries.len() + plan.constants.len() + packed.len());
        inputs.extend_from_slice(sources);
        inputs.extend_from_slice(boundaries);
        inputs.extend(constants);
        inputs.extend(packed.iter().map(|memory| memory.pointer().cast_const()));
        Self { program, inputs, outputs, copies, packed, running: Mutex::new(()) }
    }

    /// Bytes that a run reads and writes, without copies that overlaps ask for.
    pub fn touched(&self) -> usize {
        self.program.touched
    }

    /// How many inputs are copied first because an output overlaps them.
    pub fn copied_first(&self) -> usize {
        self.copies.len()
    }

    /// Does the shifts, with as many threads as are said, until it is told to stop: outputs hold anything then.
    ///
    /// # Safety
    ///
    /// The arrays and the plan that this was prepared from are still there, the arrays as large as they were; no output
    /// overlaps another. Where somebody else writes the arrays meanwhile, outputs hold any bytes.
    #[inline]
    pub unsafe fn run<'a>(&self, execution: impl Into<Execution<'a>>) {
        let execution = execution.into();
        // SAFETY: the arrays that the pointers and the program's layout were taken from are there, as large as they
        // were, and outputs overlap no other output (this function's conditions) and no input: inputs that they overlap
        // were replaced by copies.
        unsafe {
            if self.copies.is_empty() && self.packed.is_empty() {
                self.program.run(&self.inputs, &self.outputs, execution);
            } else {
                self.run_with_copies(execution);
            }
        }
    }

    /// # Safety
    ///
    /// As [`run`](Prepared::run).
    unsafe fn run_with_copies(&self, execution: Execution<'_>) {
        let _alone = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the arrays are there, as large as they were (this function's condition); `FirstCopy::new`
        // and `Prepared::new` have made own memory as large as what is copied there, and the lock keeps other runs from
        // it.
        unsafe {
            for first in &self.copies {
                first.copy.run(first.from, first.memory.pointer());
            }
            for (packed, memory) in self.program.packed.iter().zip(&self.packed) {
                packed.copy.run(self.inputs[packed.input], memory.pointer());
            }
            self.program.run(&self.inputs, &self.outputs, execution);
        }
    }
}
