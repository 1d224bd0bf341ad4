//! A message there and back in the memory of a device.

use std::ffi::c_int;

use weft_comm::prepared::{DeviceEcho, Memory};
use weft_comm::{CommError, PreparedOperation, Source, TagSelector};

use super::memory::MessageMemory;
use super::{Failed, ignored, ok};
use crate::activity::Mark;
use crate::comm::{MpiComm, Route};

pub(super) struct PreparedDeviceEcho {
    comm: MpiComm,
    leads: bool,
    bytes: c_int,
    out: MessageMemory,
    into: MessageMemory,
    send: Route,
    receive: Route,
    mark: Mark,
}

impl PreparedDeviceEcho {
    pub(super) fn new(comm: &MpiComm, echo: &DeviceEcho) -> Result<PreparedDeviceEcho, CommError> {
        let DeviceEcho { peer, leads, tag, bytes } = *echo;
        let from = Source::Rank(peer);
        Ok(PreparedDeviceEcho {
            leads,
            bytes: comm.context().count("MPI_Send", bytes)?,
            out: MessageMemory::new(comm, bytes, Memory::Device)?,
            into: MessageMemory::new(comm, bytes, Memory::Device)?,
            send: comm.send_route(peer, tag)?,
            receive: comm.receive_route(from, TagSelector::Only(tag))?,
            mark: Mark::receive(from, TagSelector::Only(tag)),
            comm: comm.clone(),
        })
    }

    #[inline]
    fn send(&self, memory: *const u8) -> Result<(), Failed> {
        let context = self.comm.context();
        let Route { comm, source: peer, tag } = self.send;
        let byte = context.abi().datatypes.byte;
        // SAFETY: the memory has so many bytes, of the host or of a device whose addresses the library takes.
        ok("MPI_Send", unsafe { (context.functions().send)(memory, self.bytes, byte, peer, tag, comm) })
    }

    #[inline]
    fn receive(&mut self) -> Result<(), Failed> {
        let context = self.comm.context();
        let Route { comm, source: peer, tag } = self.receive;
        let (byte, status) = (context.abi().datatypes.byte, ignored(context.abi()));
        // SAFETY: `into` has so many bytes, of the host or of a device whose addresses the library takes.
        let code =
            unsafe { (context.functions().recv)(self.into.start_mut(), self.bytes, byte, peer, tag, comm, status) };
        ok("MPI_Recv", code)
    }

    #[inline]
    fn once(&mut self) -> Result<(), Failed> {
        if self.leads {
            self.send(self.out.start())?;
            self.receive()
        } else {
            self.receive()?;
            self.send(self.into.start())
        }
    }
}

impl PreparedOperation for PreparedDeviceEcho {
    between_readings_of_the_clock!();

    #[inline]
    fn run(&mut self) -> Result<(), CommError> {
        self.comm.context().activity.enter(self.mark);
        let done = self.once();
        self.comm.context().activity.leave();
        done.map_err(|(call, code)| {
            self.out.abandon();
            self.into.abandon();
            self.comm.context().failure(call, code)
        })
    }

    fn write_through(&mut self) -> Result<(), CommError> {
        self.out.write(&self.comm)
    }

    fn read_through(&mut self) -> Result<(), CommError> {
        self.into.read(&self.comm)
    }

    fn input(&mut self) -> &mut [u8] {
        self.out.host()
    }

    fn output(&mut self) -> &mut [u8] {
        self.into.host()
    }
}
