//! The memory of messages: the host's, or a device's, with a copy of it on the host.

use std::rc::Rc;

use weft_comm::prepared::{Device, Feature, Memory};
use weft_comm::{Buffer, CommError};

use super::missing;
use crate::comm::MpiComm;

/// So many bytes that messages are sent from, or received into.
pub(super) struct MessageMemory {
    /// The bytes themselves, or what was written to a device and read from it.
    host: Buffer,
    device: Option<OnDevice>,
}

struct OnDevice {
    address: usize,
    device: Rc<dyn Device>,
}

impl MessageMemory {
    pub(super) fn new(comm: &MpiComm, bytes: usize, memory: Memory) -> Result<MessageMemory, CommError> {
        let host = Buffer::page_aligned(bytes);
        if memory == Memory::Host || bytes == 0 {
            return Ok(MessageMemory { host, device: None });
        }
        let context = comm.context();
        let device = context.device.borrow().clone().ok_or_else(|| missing(comm, Feature::Device))?;
        let address = device.allocate(bytes).map_err(|what| CommError::program(context.rank, what))?;
        Ok(MessageMemory { host, device: Some(OnDevice { address, device }) })
    }

    /// What the library is given.
    #[inline]
    pub(super) fn start(&self) -> *const u8 {
        match &self.device {
            None => self.host.as_ptr(),
            Some(on) => std::ptr::with_exposed_provenance(on.address),
        }
    }

    /// What the library is given to write to.
    #[inline]
    pub(super) fn start_mut(&mut self) -> *mut u8 {
        match &self.device {
            None => self.host.as_mut_ptr(),
            Some(on) => std::ptr::with_exposed_provenance_mut(on.address),
        }
    }

    pub(super) fn host(&mut self) -> &mut [u8] {
        &mut self.host
    }

    /// Copies the host's bytes to the device, if they are for one.
    pub(super) fn write(&mut self, comm: &MpiComm) -> Result<(), CommError> {
        let Some(on) = &self.device else { return Ok(()) };
        on.device.write(on.address, &self.host).map_err(|what| CommError::program(comm.context().rank, what))
    }

    /// Copies the device's bytes to the host, if they are on one.
    pub(super) fn read(&mut self, comm: &MpiComm) -> Result<(), CommError> {
        let Some(on) = &self.device else { return Ok(()) };
        on.device.read(on.address, &mut self.host).map_err(|what| CommError::program(comm.context().rank, what))
    }

    /// Never gives it back: the library may still use it after a failure.
    pub(super) fn abandon(&mut self) {
        std::mem::forget(std::mem::replace(&mut self.host, Buffer::zeroed(0)));
        std::mem::forget(self.device.take());
    }
}

impl Drop for OnDevice {
    fn drop(&mut self) {
        self.device.free(self.address);
    }
}
