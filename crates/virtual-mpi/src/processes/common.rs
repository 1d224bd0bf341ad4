//! Memory that ranks of one node share though each is a process: the same addresses in all of them.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

/// Where such memory lies: far from where the system puts programs, their heaps, libraries and stacks.
const FIRST_ADDRESS: usize = 0x1000_0000_0000;

/// Distance between the memory of two windows, and how many there may be at once.
const STEP: usize = 1 << 36;
const WINDOWS: usize = 1 << 9;

/// Memory of one window, as this process sees it.
#[derive(Debug)]
pub struct Common {
    address: *mut c_void,
    bytes: usize,
    /// Kept open by the rank that has made it, until the others have it too.
    file: File,
}

impl Common {
    /// New memory, all zero, for the window whose communicator has this context.
    pub fn create(context: u32, bytes: usize) -> io::Result<Common> {
        // SAFETY: the name ends with zero, and the descriptor is new.
        let file = unsafe {
            let descriptor = libc::memfd_create(c"weft-window".as_ptr(), libc::MFD_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(descriptor)
        };
        file.set_len(bytes as u64)?;
        Common::map(file, context, bytes)
    }

    /// The memory that another process has made, by what [`Common::announced`] says there.
    pub fn open((process, descriptor): (u32, u32), context: u32, bytes: usize) -> io::Result<Common> {
        let file = File::options().read(true).write(true).open(format!("/proc/{process}/fd/{descriptor}"))?;
        Common::map(file, context, bytes)
    }

    fn map(file: File, context: u32, bytes: usize) -> io::Result<Common> {
        let wanted = std::ptr::without_provenance_mut(FIRST_ADDRESS + context as usize % WINDOWS * STEP);
        let flags = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;
        if bytes > STEP {
            return Err(io::Error::other(format!("{bytes} bytes, and a window of shared memory has at most {STEP}")));
        }
        // SAFETY: a new mapping that replaces none touches no other memory.
        let address =
            unsafe { libc::mmap(wanted, bytes.max(1), libc::PROT_READ | libc::PROT_WRITE, flags, file.as_raw_fd(), 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let common = Common { address, bytes: bytes.max(1), file };
        if address != wanted {
            return Err(io::Error::other("the system has no memory at an address that all ranks share"));
        }
        Ok(common)
    }

    /// How others find it: this process, and its descriptor.
    pub fn announced(&self) -> (u32, u32) {
        (std::process::id(), self.file.as_raw_fd() as u32)
    }

    pub fn address(&self) -> usize {
        self.address.expose_provenance()
    }
}

impl Drop for Common {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and the window that it was for is freed.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}
