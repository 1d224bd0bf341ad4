//! Memory of ranks, as requests of other ranks reach it.
//!
//! All access to another rank's memory goes through [`Memory`]: ranks of one process share an address space; ranks with
//! a process each can supply theirs here.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use weft_comm::Buffer;

use crate::datatype::Datatype;
use crate::operation::Operation;

/// The memory of one rank.
pub trait Memory {
    /// The bytes from an address on.
    ///
    /// # Safety
    /// The rank has memory there.
    unsafe fn read(&self, address: usize, data: &mut [u8]);

    /// Writes bytes from an address on.
    ///
    /// # Safety
    /// The rank has memory there, which nobody but its program and these requests uses.
    unsafe fn write(&self, address: usize, data: &[u8]);
}

/// Memory of this process.
#[derive(Clone, Copy, Debug)]
pub struct SameProcess;

impl Memory for SameProcess {
    unsafe fn read(&self, address: usize, data: &mut [u8]) {
        let from = std::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: the rank has memory there, which is what the function asks for.
        unsafe { std::ptr::copy(from, data.as_mut_ptr(), data.len()) };
    }

    unsafe fn write(&self, address: usize, data: &[u8]) {
        let to = std::ptr::with_exposed_provenance_mut::<u8>(address);
        // SAFETY: as of `read`.
        unsafe { std::ptr::copy(data.as_ptr(), to, data.len()) };
    }
}

/// Elements in the memory of a rank.
#[derive(Clone)]
pub struct Elements {
    pub memory: Rc<dyn Memory>,
    pub address: usize,
    pub count: usize,
    pub datatype: Rc<Datatype>,
}

impl Elements {
    pub fn bytes(&self) -> usize {
        self.count * self.datatype.size
    }

    /// Their bytes, one after another.
    ///
    /// # Safety
    /// The rank has so many elements at the address.
    pub unsafe fn load(&self) -> Buffer {
        let mut data = Buffer::zeroed(self.bytes());
        let mut next = 0;
        self.datatype.each_run(self.count, |offset, run| {
            let part = &mut data[next..next + run.bytes()];
            // SAFETY: the run is a part of the elements.
            unsafe { self.memory.read(self.address.wrapping_add_signed(offset), part) };
            next += run.bytes();
        });
        data
    }

    /// Writes their bytes; they may end early.
    ///
    /// # Safety
    /// As of [`Elements::load`].
    pub unsafe fn store(&self, data: &[u8]) {
        let mut next = 0;
        self.datatype.each_run(self.count, |offset, run| {
            let end = (next + run.bytes()).min(data.len());
            // SAFETY: the run is a part of the elements.
            unsafe { self.memory.write(self.address.wrapping_add_signed(offset), &data[next..end]) };
            next = end;
        });
    }

    /// Combines them with others: `here = there ∘ here`.
    ///
    /// # Safety
    /// As of [`Elements::load`].
    pub unsafe fn combine(&self, data: &[u8], operation: &Operation, handle: c_int) {
        let spread = |data: &[u8]| {
            let span = self.datatype.true_extent() + (self.count.max(1) as isize - 1) * self.datatype.extent;
            let mut spread = vec![0_u8; span.max(0) as usize];
            let origin = spread.as_mut_ptr().wrapping_offset(-self.datatype.true_lb());
            // SAFETY: the memory spans so many elements from their first byte on.
            unsafe { self.datatype.unpack(data, origin.cast::<c_void>(), self.count) };
            spread
        };
        // SAFETY: the rank has the elements, which is what the function asks for.
        let (input, mut inout) = unsafe { (spread(data), spread(&self.load())) };
        let shift = -self.datatype.true_lb();
        let (from, to) = (input.as_ptr().wrapping_offset(shift), inout.as_mut_ptr().wrapping_offset(shift));
        let mut packed = vec![0; self.bytes()];
        // SAFETY: both hold so many elements as they lie in memory.
        unsafe {
            operation.combine(from.cast(), to.cast(), self.count, &self.datatype, handle);
            self.datatype.pack(to.cast(), self.count, &mut packed);
            self.store(&packed);
        }
    }
}
