//! Messages of blocks that do not lie side by side, as the library's datatypes describe them.

use std::ffi::c_int;

use weft_comm::prepared::{Feature, Typed};
use weft_comm::{Buffer, CommError, PreparedOperation, Source, TagSelector};

use super::{Failed, abandon, ignored, missing, ok};
use crate::activity::Mark;
use crate::comm::{MpiComm, Route};
use crate::library::{DatatypeFunctions, Handle};

/// Bytes of an element.
const ELEMENT: usize = 8;

pub(super) struct PreparedTyped {
    comm: MpiComm,
    leads: bool,
    datatype: Handle,
    out: Buffer,
    into: Buffer,
    send: Route,
    receive: Route,
    mark: Mark,
}

impl PreparedTyped {
    pub(super) fn new(comm: &MpiComm, typed: &Typed) -> Result<PreparedTyped, CommError> {
        let context = comm.context();
        let functions = context.library.datatypes.as_ref().ok_or_else(|| missing(comm, Feature::Datatypes))?;
        let end = typed.blocks.iter().map(|(first, elements)| first + elements).max().unwrap_or(0);
        if end > typed.extent {
            let what = format!("blocks of {end} elements of an array of {}", typed.extent);
            return Err(CommError::program(context.rank, what));
        }
        let blocks = typed.blocks.iter().map(|&(first, elements)| {
            Ok((context.count("MPI_Type_indexed", first)?, context.count("MPI_Type_indexed", elements)?))
        });
        let blocks = blocks.collect::<Result<Vec<_>, CommError>>()?;
        let created = datatype(functions, &blocks, context.abi().datatypes.double);
        let datatype = created.map_err(|(call, code)| context.failure(call, code))?;
        Ok(PreparedTyped {
            leads: typed.leads,
            datatype,
            out: Buffer::page_aligned(ELEMENT * typed.extent),
            into: Buffer::page_aligned(ELEMENT * typed.extent),
            send: comm.send_route(typed.peer, typed.tag)?,
            receive: comm.receive_route(Source::Rank(typed.peer), TagSelector::Only(typed.tag))?,
            mark: Mark::receive(Source::Rank(typed.peer), TagSelector::Only(typed.tag)),
            comm: comm.clone(),
        })
    }

    #[inline]
    fn send(&self) -> Result<(), Failed> {
        let functions = self.comm.context().functions();
        let Route { comm, source: peer, tag } = self.send;
        // SAFETY: the blocks of the datatype lie within the buffer.
        ok("MPI_Send", unsafe { (functions.send)(self.out.as_ptr(), 1, self.datatype, peer, tag, comm) })
    }

    #[inline]
    fn receive(&mut self) -> Result<(), Failed> {
        let context = self.comm.context();
        let Route { comm, source: peer, tag } = self.receive;
        let status = ignored(context.abi());
        // SAFETY: the blocks of the datatype lie within the buffer.
        let code =
            unsafe { (context.functions().recv)(self.into.as_mut_ptr(), 1, self.datatype, peer, tag, comm, status) };
        ok("MPI_Recv", code)
    }

    #[inline]
    fn once(&mut self) -> Result<(), Failed> {
        if self.leads {
            self.send()?;
            self.receive()
        } else {
            self.receive()?;
            self.send()
        }
    }
}

/// A datatype of blocks (first element, elements): a vector where they are alike and at equal distances.
fn datatype(functions: &DatatypeFunctions, blocks: &[(c_int, c_int)], element: Handle) -> Result<Handle, Failed> {
    let mut datatype: Handle = 0;
    let (firsts, lengths): (Vec<c_int>, Vec<c_int>) = blocks.iter().copied().unzip();
    let count = blocks.len() as c_int;
    // SAFETY: the lists have `count` numbers; the handle is live.
    unsafe {
        match stride(&firsts, &lengths) {
            Some((stride, length)) => {
                ok("MPI_Type_vector", (functions.vector)(count, length, stride, element, &mut datatype))?;
            }
            None => {
                let (lengths, firsts) = (lengths.as_ptr(), firsts.as_ptr());
                ok("MPI_Type_indexed", (functions.indexed)(count, lengths, firsts, element, &mut datatype))?;
            }
        }
        ok("MPI_Type_commit", (functions.commit)(&mut datatype))?;
    }
    Ok(datatype)
}

/// The distance of blocks from the first on, and their length, where these are the same for all.
fn stride(firsts: &[c_int], lengths: &[c_int]) -> Option<(c_int, c_int)> {
    let length = *lengths.first()?;
    let stride = firsts.get(1).map_or(length, |second| second - firsts[0]);
    let is_regular = firsts[0] == 0
        && lengths.iter().all(|&other| other == length)
        && firsts.windows(2).all(|pair| pair[1] - pair[0] == stride);
    is_regular.then_some((stride, length))
}

impl PreparedOperation for PreparedTyped {
    between_readings_of_the_clock!();

    #[inline]
    fn run(&mut self) -> Result<(), CommError> {
        self.comm.context().activity.enter(self.mark);
        let done = self.once();
        self.comm.context().activity.leave();
        done.map_err(|(call, code)| {
            abandon([&mut self.out, &mut self.into]);
            self.comm.context().failure(call, code)
        })
    }

    fn input(&mut self) -> &mut [u8] {
        &mut self.out
    }

    fn output(&mut self) -> &mut [u8] {
        &mut self.into
    }
}

impl Drop for PreparedTyped {
    fn drop(&mut self) {
        let context = self.comm.context();
        let Some(functions) = &context.library.datatypes else { return };
        if !std::thread::panicking() && !context.finalized.get() {
            // SAFETY: the datatype is live; the library keeps what messages under way need.
            unsafe { (functions.free)(&mut self.datatype) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_at_equal_distances_are_a_vector() {
        assert_eq!(stride(&[0, 2, 4], &[1, 1, 1]), Some((2, 1)));
        assert_eq!(stride(&[0], &[3]), Some((3, 3)));
        assert_eq!(stride(&[0, 2, 5], &[1, 1, 1]), None, "other distances");
        assert_eq!(stride(&[0, 2, 4], &[1, 2, 1]), None, "other lengths");
        assert_eq!(stride(&[1, 3], &[1, 1]), None, "a vector begins at its start");
        assert_eq!(stride(&[], &[]), None);
    }
}
