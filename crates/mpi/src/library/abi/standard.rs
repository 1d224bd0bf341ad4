//! The standard ABI: MPI 5.0, chapter 20 and appendix A.1.1 (the values of `mpi.h` there).

use std::ffi::c_int;

use super::{Abi, AbiKind, BytesLayout, Datatypes, FileConstants, Operators, StatusLayout};
use crate::library::symbols::Symbols;

pub const ABI: Abi = Abi {
    kind: AbiKind::Standard,
    comm_world: 0x101,
    comm_null: 0x100,
    request_null: 0x180,
    errors_return: 0x143,
    datatypes: Datatypes { byte: 0x247, uint8: 0x241, float: 0x210, double: 0x214, int32: 0x250, int64: 0x258 },
    operators: Operators {
        sum: 0x21,
        product: 0x24,
        maximum: 0x23,
        minimum: 0x22,
        bit_and: 0x28,
        bit_or: 0x29,
        bit_xor: 0x2a,
    },
    files: FileConstants { comm_self: 0x102, info_null: 0x130, create: 2, read_only: 16, read_write: 32 },
    any_source: -1,
    any_tag: -2,
    undefined: -32766,
    tag_upper_bound: 501,
    err_truncate: 15,
    thread_funneled: 1024,
    thread_multiple: 4096,
    lock_shared: 302,
    comm_type_shared: 221,
    in_place: 1,
    status_ignore: 0,
    status: StatusLayout { source: 0, tag: 1, bytes: BytesLayout::Opaque, size: 32 },
};

/// The major version of the standard ABI that the library was built with, where it knows the question.
pub fn version(symbols: &Symbols) -> Option<c_int> {
    type AbiGetVersion = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    let address = symbols.address("MPI_Abi_get_version")?;
    // SAFETY: MPI 5.0, section 20.3.2, declares the function so, and allows it before MPI_Init.
    let function: AbiGetVersion = unsafe { std::mem::transmute(address) };
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: both pointers are to live integers.
    let code = unsafe { function(&mut major, &mut minor) };
    (code == 0).then_some(major)
}
