//! Memory of ranks, as requests of other ranks reach it.
//!
//! All access to another rank's memory goes through [`Memory`]: ranks of one process share an address space; into the
//! memory of a rank with a process of its own the system carries bytes.

use std::ffi::{c_int, c_void};
use std::io;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use weft_comm::Buffer;

use crate::abi::Aint;
use crate::datatype::{Datatype, Pieces};
use crate::fault::{Answer, Fault, class};
use crate::operation::Operation;

/// The memory of one rank.
pub trait Memory {
    /// The bytes from an address on.
    ///
    /// # Errors
    /// Where the system finds no memory there.
    ///
    /// # Safety
    /// The rank has memory there.
    unsafe fn read(&self, address: usize, data: &mut [u8]) -> io::Result<()>;

    /// Writes bytes from an address on.
    ///
    /// # Errors
    /// Where the system finds no memory there that may be written.
    ///
    /// # Safety
    /// The rank has memory there, which nobody but its program and these requests uses.
    unsafe fn write(&self, address: usize, data: &[u8]) -> io::Result<()>;
}

/// Memory of this process.
#[derive(Clone, Copy, Debug)]
pub struct SameProcess;

impl Memory for SameProcess {
    unsafe fn read(&self, address: usize, data: &mut [u8]) -> io::Result<()> {
        let from = std::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: the rank has memory there, which is what the function asks for.
        unsafe { std::ptr::copy(from, data.as_mut_ptr(), data.len()) };
        Ok(())
    }

    unsafe fn write(&self, address: usize, data: &[u8]) -> io::Result<()> {
        let to = std::ptr::with_exposed_provenance_mut::<u8>(address);
        // SAFETY: as of `read`.
        unsafe { std::ptr::copy(data.as_ptr(), to, data.len()) };
        Ok(())
    }
}

/// Memory of a process that this one has started, by its number.
#[derive(Clone, Copy, Debug)]
pub struct OtherProcess(pub libc::pid_t);

/// Moves bytes between processes, by one of the system's two calls for that.
fn carry(
    here: *mut c_void,
    address: usize,
    len: usize,
    act: impl Fn(libc::iovec, libc::iovec) -> isize,
) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        let own = libc::iovec { iov_base: here.wrapping_byte_add(done), iov_len: len - done };
        let there = std::ptr::with_exposed_provenance_mut::<c_void>(address + done);
        match act(own, libc::iovec { iov_base: there, iov_len: len - done }) {
            moved @ 1.. => done += moved as usize,
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => return Err(io::Error::last_os_error()),
        }
    }
    Ok(())
}

impl Memory for OtherProcess {
    unsafe fn read(&self, address: usize, data: &mut [u8]) -> io::Result<()> {
        carry(data.as_mut_ptr().cast(), address, data.len(), |own, there| {
            // SAFETY: `own` lies in `data`; the system looks at the addresses of the other process itself.
            unsafe { libc::process_vm_readv(self.0, &raw const own, 1, &raw const there, 1, 0) }
        })
    }

    unsafe fn write(&self, address: usize, data: &[u8]) -> io::Result<()> {
        carry(data.as_ptr().cast_mut().cast(), address, data.len(), |own, there| {
            // SAFETY: as of `read`; what lies at `own` is only read.
            unsafe { libc::process_vm_writev(self.0, &raw const own, 1, &raw const there, 1, 0) }
        })
    }
}

/// Elements in the memory of a rank.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Described", from = "Described")]
pub struct Elements {
    pub address: usize,
    pub count: usize,
    pub datatype: Rc<Datatype>,
    /// What operations combine: the standard's datatype that all elements are, where there is one such.
    pub unit: Rc<Datatype>,
}

/// Elements as they are told to another process.
#[derive(Serialize, Deserialize)]
struct Described {
    address: usize,
    count: usize,
    datatype: DescribedType,
    /// Missing where it is the datatype itself.
    unit: Option<DescribedType>,
}

#[derive(Serialize, Deserialize)]
struct DescribedType {
    pieces: Pieces,
    bounds: (Aint, Aint),
    predefined: Option<c_int>,
}

impl DescribedType {
    fn of(datatype: &Datatype) -> DescribedType {
        let bounds = (datatype.lb, datatype.ub());
        DescribedType { pieces: datatype.pieces.clone(), bounds, predefined: datatype.predefined }
    }

    fn datatype(self) -> Rc<Datatype> {
        Rc::new(Datatype::of_elements(self.pieces, self.bounds, self.predefined))
    }
}

impl From<Elements> for Described {
    fn from(Elements { address, count, datatype, unit }: Elements) -> Described {
        let other = (!Rc::ptr_eq(&datatype, &unit)).then(|| DescribedType::of(&unit));
        Described { address, count, datatype: DescribedType::of(&datatype), unit: other }
    }
}

impl From<Described> for Elements {
    fn from(described: Described) -> Elements {
        let datatype = described.datatype.datatype();
        let unit = described.unit.map_or_else(|| datatype.clone(), DescribedType::datatype);
        Elements { address: described.address, count: described.count, datatype, unit }
    }
}

impl Elements {
    pub fn bytes(&self) -> usize {
        self.count * self.datatype.size
    }

    /// Their bytes, one after another.
    ///
    /// # Errors
    /// Where the system finds no memory there.
    ///
    /// # Safety
    /// The rank has so many elements at the address.
    pub unsafe fn load(&self, memory: &dyn Memory) -> Result<Buffer, Fault> {
        let mut data = Buffer::zeroed(self.bytes());
        let (mut next, mut failed) = (0, None);
        self.datatype.each_run(self.count, |offset, run| {
            let part = &mut data[next..next + run.bytes()];
            // SAFETY: the run is a part of the elements.
            let read = unsafe { memory.read(self.address.wrapping_add_signed(offset), part) };
            failed = failed.take().or(read.err());
            next += run.bytes();
        });
        failed.map_or(Ok(data), |error| Err(unreachable(&error)))
    }

    /// Writes their bytes; they may end early.
    ///
    /// # Errors
    /// As of [`Elements::load`].
    ///
    /// # Safety
    /// As of [`Elements::load`].
    pub unsafe fn store(&self, memory: &dyn Memory, data: &[u8]) -> Answer {
        let (mut next, mut failed) = (0, None);
        self.datatype.each_run(self.count, |offset, run| {
            let end = (next + run.bytes()).min(data.len());
            // SAFETY: the run is a part of the elements.
            let written = unsafe { memory.write(self.address.wrapping_add_signed(offset), &data[next..end]) };
            failed = failed.take().or(written.err());
            next = end;
        });
        failed.map_or(Ok(()), |error| Err(unreachable(&error)))
    }

    /// Combines them with others by one of the standard's operations: `here = there ∘ here`.
    ///
    /// # Errors
    /// As of [`Elements::load`].
    ///
    /// # Safety
    /// As of [`Elements::load`].
    pub unsafe fn combine(&self, memory: &dyn Memory, data: &[u8], operation: &Operation) -> Answer {
        let unit = &self.unit;
        // SAFETY: the rank has the elements, which is what the function asks for.
        let mut packed = unsafe { self.load(memory)? };
        let count = packed.len().checked_div(unit.size).unwrap_or(0);
        let spread = |data: &[u8]| {
            let mut spread = vec![0_u8; unit.ub().max(0) as usize * count];
            // SAFETY: the memory spans so many elements, which begin at their own beginning.
            unsafe { unit.unpack(data, spread.as_mut_ptr().cast::<c_void>(), count) };
            spread
        };
        let (input, mut inout) = (spread(data), spread(&packed));
        // SAFETY: both hold so many elements as they lie in memory, and `packed` their bytes.
        unsafe {
            operation.combine(input.as_ptr().cast(), inout.as_mut_ptr().cast(), count, unit, 0);
            unit.pack(inout.as_ptr().cast(), count, &mut packed);
            self.store(memory, &packed)
        }
    }
}

#[cold]
fn unreachable(error: &io::Error) -> Fault {
    Fault::new(class::ERR_RMA_RANGE, format!("the memory of the target cannot be accessed: {error}"))
}
