//! Packing and unpacking (MPI 4.1, sections 5.2 and 5.3).

use std::ffi::{c_char, c_void};

use crate::abi::{Aint, Comm, CountOut, Datatype as Handle};
use crate::datatype::Datatype;
use crate::fault::{Answer, Fault, class, require};
use crate::rank::Rank;

use super::datatypes::count_of;
use super::{at, put, text};

pub fn pack(
    rank: &Rank,
    inbuf: *const c_void,
    incount: Aint,
    datatype: Handle,
    outbuf: *mut c_void,
    outsize: Aint,
    position: CountOut,
    _comm: Comm,
) -> Answer {
    let next = pack_at(rank, inbuf, incount, datatype, outbuf, outsize, position.get(), false)?;
    position.set(next);
    Ok(())
}

fn pack_at(
    rank: &Rank,
    inbuf: *const c_void,
    incount: Aint,
    datatype: Handle,
    outbuf: *mut c_void,
    outsize: Aint,
    position: Aint,
    external: bool,
) -> Result<Aint, Fault> {
    let (datatype, count) = (rank.datatype(datatype)?, count_of(incount)?);
    let bytes = count * size_as(&datatype, external);
    let fits = position >= 0 && position + bytes as Aint <= outsize;
    require(fits, class::ERR_TRUNCATE, || format!("{bytes} bytes at {position} of {outsize}"))?;
    let mut data = vec![0; count * datatype.size];
    // SAFETY: the program hands in so many elements, and memory for them from the position on.
    unsafe {
        datatype.pack(inbuf, count, &mut data);
        if external {
            data = datatype.to_external(&data, count);
        }
        std::ptr::copy_nonoverlapping(data.as_ptr(), outbuf.cast::<u8>().offset(position), bytes);
    }
    Ok(position + bytes as Aint)
}

pub fn unpack(
    rank: &Rank,
    inbuf: *const c_void,
    insize: Aint,
    position: CountOut,
    outbuf: *mut c_void,
    outcount: Aint,
    datatype: Handle,
    _comm: Comm,
) -> Answer {
    let next = unpack_at(rank, inbuf, insize, position.get(), outbuf, outcount, datatype, false)?;
    position.set(next);
    Ok(())
}

fn unpack_at(
    rank: &Rank,
    inbuf: *const c_void,
    insize: Aint,
    position: Aint,
    outbuf: *mut c_void,
    outcount: Aint,
    datatype: Handle,
    external: bool,
) -> Result<Aint, Fault> {
    let (datatype, count) = (rank.datatype(datatype)?, count_of(outcount)?);
    let bytes = count * size_as(&datatype, external);
    let fits = position >= 0 && position + bytes as Aint <= insize;
    require(fits, class::ERR_TRUNCATE, || format!("{bytes} bytes at {position} of {insize}"))?;
    let mut data = vec![0; bytes];
    // SAFETY: the program hands in so many bytes from the position on, and memory for so many elements.
    unsafe {
        std::ptr::copy_nonoverlapping(inbuf.cast::<u8>().offset(position), data.as_mut_ptr(), bytes);
        if external {
            data = datatype.from_external(&data, count);
        }
        datatype.unpack(&data, outbuf, count);
    }
    Ok(position + bytes as Aint)
}

/// Bytes of one when it is packed.
fn size_as(datatype: &Datatype, external: bool) -> usize {
    if external { datatype.external_size() } else { datatype.size }
}

pub fn pack_size(rank: &Rank, incount: Aint, datatype: Handle, _comm: Comm, size: CountOut) -> Answer {
    size.set((count_of(incount)? * rank.datatype(datatype)?.size) as Aint);
    Ok(())
}

/// The only representation that the standard names for packing.
fn check_representation(datarep: *const c_char) -> Answer {
    let name = text(datarep);
    require(name == b"external32", class::ERR_UNSUPPORTED_DATAREP, || String::from_utf8_lossy(&name).into_owned())
}

pub fn pack_external(
    rank: &Rank,
    datarep: *const c_char,
    inbuf: *const c_void,
    incount: Aint,
    datatype: Handle,
    outbuf: *mut c_void,
    outsize: Aint,
    position: *mut Aint,
) -> Answer {
    check_representation(datarep)?;
    put(position, pack_at(rank, inbuf, incount, datatype, outbuf, outsize, at(position, 0), true)?);
    Ok(())
}

pub fn unpack_external(
    rank: &Rank,
    datarep: *const c_char,
    inbuf: *const c_void,
    insize: Aint,
    position: *mut Aint,
    outbuf: *mut c_void,
    outcount: Aint,
    datatype: Handle,
) -> Answer {
    check_representation(datarep)?;
    put(position, unpack_at(rank, inbuf, insize, at(position, 0), outbuf, outcount, datatype, true)?);
    Ok(())
}

pub fn pack_external_size(
    rank: &Rank,
    datarep: *const c_char,
    incount: Aint,
    datatype: Handle,
    size: *mut Aint,
) -> Answer {
    check_representation(datarep)?;
    put(size, (count_of(incount)? * rank.datatype(datatype)?.external_size()) as Aint);
    Ok(())
}
