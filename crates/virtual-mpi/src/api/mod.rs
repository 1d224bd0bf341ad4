//! What the functions of MPI do, by chapters of the standard. A function here has the name of MPI's in small letters
//! and its parameters; `build.rs` writes the C function that calls it.

mod attributes;
mod buffers;
mod collectives;
mod communicators;
mod datatypes;
mod environment;
mod epochs;
mod errors;
mod file_access;
mod files;
mod groups;
mod infos;
mod memory_use;
mod neighbors;
mod one_sided;
mod operations;
mod packing;
mod partitioned;
mod point_to_point;
mod probes;
mod reductions;
mod requests;
mod sessions;
mod tools;
mod topologies;
mod windows;

pub use attributes::*;
pub use buffers::*;
pub(crate) use collectives::*;
pub use communicators::*;
pub use datatypes::*;
pub use environment::*;
pub use epochs::*;
pub use errors::*;
pub use file_access::*;
pub use files::*;
pub use groups::*;
pub use infos::*;
pub(crate) use memory_use::*;
pub(crate) use neighbors::*;
pub use one_sided::*;
pub use operations::*;
pub use packing::*;
pub use partitioned::*;
pub use point_to_point::*;
pub use probes::*;
pub(crate) use reductions::*;
pub use requests::*;
pub use sessions::*;
pub use tools::*;
pub use topologies::*;
pub use windows::*;

use std::ffi::{CStr, c_char, c_int};

use crate::abi::CountOut;
use crate::fault::{Answer, class, require};

/// Writes a result where the program wants it.
fn put<T>(address: *mut T, value: T) {
    // SAFETY: the program hands in the address of a variable of this type.
    unsafe { address.write_unaligned(value) }
}

/// An element of an array of the program.
fn at<T: Copy>(array: *const T, index: usize) -> T {
    // SAFETY: the program hands in an array of at least so many elements.
    unsafe { *array.add(index) }
}

/// The handle of an object that a call frees; an address that is missing is one of none.
pub(crate) fn handle_at(address: *const c_int) -> c_int {
    if address.is_null() { 0 } else { at(address, 0) }
}

/// Writes an element of an array of the program.
fn put_at<T>(array: *mut T, index: usize, value: T) {
    // SAFETY: the program hands in an array of at least so many elements.
    unsafe { array.add(index).write(value) }
}

/// An array of the program.
fn list<T: Copy>(array: *const T, len: usize) -> Vec<T> {
    (0..len).map(|index| at(array, index)).collect()
}

/// A string of the program.
fn text(address: *const c_char) -> Vec<u8> {
    // SAFETY: the program hands in a string that ends with zero.
    unsafe { CStr::from_ptr(address) }.to_bytes().to_vec()
}

/// Writes a string of at most `limit` bytes, with its final zero, into the program's array.
fn put_text(address: *mut c_char, text: &[u8], limit: usize) -> usize {
    let len = text.len().min(limit - 1);
    for (index, &byte) in text[..len].iter().chain(&[0]).enumerate() {
        put_at(address, index, byte as c_char);
    }
    len
}

/// A number that must not be negative.
fn positive(value: c_int, what: &str) -> Result<usize, crate::fault::Fault> {
    require(value >= 0, class::ERR_ARG, || format!("{what} is {value}"))?;
    Ok(value as usize)
}

/// Where a handle may be written only if the program wants it.
fn is_named(address: *const c_char) -> Answer {
    require(!address.is_null(), class::ERR_ARG, || "a string is missing".to_owned())
}
