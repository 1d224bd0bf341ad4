//! The standard's own datatypes.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use super::{Basic, Class, Datatype};
use crate::abi::Aint;

pub(super) const fn basic(class: Class, size: u8) -> Basic {
    Basic { class, size, external: size }
}

/// A C `long` has 4 bytes in `external32` and a wide character 2, whatever they have in memory (MPI 4.1, table 14.2).
const LONG: Basic = Basic { external: 4, ..basic(Class::Signed, 8) };

fn simple_basic(handle: c_int, class: Class, size: u8) -> Basic {
    match handle {
        0x4c00_0807 | 0x4c00_0808 => Basic { class, ..LONG },
        0x4c00_040e => Basic { external: 2, ..basic(class, size) },
        _ => basic(class, size),
    }
}

/// The standard's own datatypes, by handle (`mpi.h` of MPICH).
pub fn predefined() -> BTreeMap<c_int, Rc<Datatype>> {
    use Class::*;
    let simple = [
        (0x4c00_0101, "MPI_CHAR", Character, 1),
        (0x4c00_0118, "MPI_SIGNED_CHAR", Signed, 1),
        (0x4c00_0102, "MPI_UNSIGNED_CHAR", Unsigned, 1),
        (0x4c00_010d, "MPI_BYTE", Byte, 1),
        (0x4c00_040e, "MPI_WCHAR", Character, 4),
        (0x4c00_0203, "MPI_SHORT", Signed, 2),
        (0x4c00_0204, "MPI_UNSIGNED_SHORT", Unsigned, 2),
        (0x4c00_0405, "MPI_INT", Signed, 4),
        (0x4c00_0406, "MPI_UNSIGNED", Unsigned, 4),
        (0x4c00_0807, "MPI_LONG", Signed, 8),
        (0x4c00_0808, "MPI_UNSIGNED_LONG", Unsigned, 8),
        (0x4c00_0809, "MPI_LONG_LONG_INT", Signed, 8),
        (0x4c00_0819, "MPI_UNSIGNED_LONG_LONG", Unsigned, 8),
        (0x4c00_040a, "MPI_FLOAT", Float, 4),
        (0x4c00_080b, "MPI_DOUBLE", Float, 8),
        (0x4c00_100c, "MPI_LONG_DOUBLE", LongDouble, 16),
        (0x4c00_010f, "MPI_PACKED", Byte, 1),
        (0x4c00_011a, "MPI_CHARACTER", Character, 1),
        (0x4c00_041b, "MPI_INTEGER", Signed, 4),
        (0x4c00_041c, "MPI_REAL", Float, 4),
        (0x4c00_041d, "MPI_LOGICAL", Logical, 4),
        (0x4c00_0147, "MPI_LOGICAL1", Logical, 1),
        (0x4c00_0248, "MPI_LOGICAL2", Logical, 2),
        (0x4c00_0449, "MPI_LOGICAL4", Logical, 4),
        (0x4c00_084a, "MPI_LOGICAL8", Logical, 8),
        (0x4c00_104b, "MPI_LOGICAL16", Logical, 16),
        (0x4c00_081e, "MPI_COMPLEX", Complex, 8),
        (0x4c00_081f, "MPI_DOUBLE_PRECISION", Float, 8),
        (0x4c00_1022, "MPI_DOUBLE_COMPLEX", Complex, 16),
        (0x4c00_0226, "MPI_REAL2", Byte, 2),
        (0x4c00_0246, "MPIX_C_FLOAT16", Byte, 2),
        (0x4c00_0427, "MPI_REAL4", Float, 4),
        (0x4c00_0829, "MPI_REAL8", Float, 8),
        (0x4c00_102b, "MPI_REAL16", Byte, 16),
        (0x4c00_042e, "MPI_COMPLEX4", Byte, 4),
        (0x4c00_0828, "MPI_COMPLEX8", Complex, 8),
        (0x4c00_102a, "MPI_COMPLEX16", Complex, 16),
        (0x4c00_202c, "MPI_COMPLEX32", Byte, 32),
        (0x4c00_012d, "MPI_INTEGER1", Signed, 1),
        (0x4c00_022f, "MPI_INTEGER2", Signed, 2),
        (0x4c00_0430, "MPI_INTEGER4", Signed, 4),
        (0x4c00_0831, "MPI_INTEGER8", Signed, 8),
        (0x4c00_1032, "MPI_INTEGER16", Signed, 16),
        (0x4c00_0133, "MPI_CXX_BOOL", Logical, 1),
        (0x4c00_0834, "MPI_CXX_FLOAT_COMPLEX", Complex, 8),
        (0x4c00_1035, "MPI_CXX_DOUBLE_COMPLEX", Complex, 16),
        (0x4c00_2036, "MPI_CXX_LONG_DOUBLE_COMPLEX", LongDoubleComplex, 32),
        (0x4c00_0137, "MPI_INT8_T", Signed, 1),
        (0x4c00_0238, "MPI_INT16_T", Signed, 2),
        (0x4c00_0439, "MPI_INT32_T", Signed, 4),
        (0x4c00_083a, "MPI_INT64_T", Signed, 8),
        (0x4c00_013b, "MPI_UINT8_T", Unsigned, 1),
        (0x4c00_023c, "MPI_UINT16_T", Unsigned, 2),
        (0x4c00_043d, "MPI_UINT32_T", Unsigned, 4),
        (0x4c00_083e, "MPI_UINT64_T", Unsigned, 8),
        (0x4c00_013f, "MPI_C_BOOL", Logical, 1),
        (0x4c00_0840, "MPI_C_COMPLEX", Complex, 8),
        (0x4c00_1041, "MPI_C_DOUBLE_COMPLEX", Complex, 16),
        (0x4c00_2042, "MPI_C_LONG_DOUBLE_COMPLEX", LongDoubleComplex, 32),
        (0x4c00_0843, "MPI_AINT", Signed, 8),
        (0x4c00_0844, "MPI_OFFSET", Signed, 8),
        (0x4c00_0845, "MPI_COUNT", Signed, 8),
    ];
    let int = basic(Signed, 4);
    let pairs = [
        (FLOAT_INT, "MPI_FLOAT_INT", basic(Float, 4), int, 4, 8),
        (DOUBLE_INT, "MPI_DOUBLE_INT", basic(Float, 8), int, 8, 16),
        (LONG_INT, "MPI_LONG_INT", LONG, int, 8, 16),
        (SHORT_INT, "MPI_SHORT_INT", basic(Signed, 2), int, 4, 8),
        (LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", basic(LongDouble, 16), int, 16, 32),
        (TWO_INT, "MPI_2INT", int, int, 4, 8),
        (0x4c00_0820, "MPI_2INTEGER", int, int, 4, 8),
        (0x4c00_0821, "MPI_2REAL", basic(Float, 4), basic(Float, 4), 4, 8),
        (0x4c00_1023, "MPI_2DOUBLE_PRECISION", basic(Float, 8), basic(Float, 8), 8, 16),
    ];
    let bounds = [(LOWER_BOUND, "MPI_LB"), (UPPER_BOUND, "MPI_UB")];
    let bounds = bounds.map(|(handle, name)| (handle, Rc::new(Datatype::named(handle, name, &[], 0))));
    let simple = simple.into_iter().map(|(handle, name, class, size)| {
        let size: u8 = size;
        (handle, Rc::new(Datatype::named(handle, name, &[(0, simple_basic(handle, class, size))], Aint::from(size))))
    });
    let pairs = pairs.into_iter().map(|(handle, name, value, index, offset, extent)| {
        (handle, Rc::new(Datatype::named(handle, name, &[(0, value), (offset, index)], extent)))
    });
    simple.chain(pairs).chain(bounds).collect()
}

/// Pairs of a value and an index.
pub const FLOAT_INT: c_int = 0x8c00_0000_u32 as c_int;
pub const DOUBLE_INT: c_int = 0x8c00_0001_u32 as c_int;
pub const LONG_INT: c_int = 0x8c00_0002_u32 as c_int;
pub const SHORT_INT: c_int = 0x8c00_0003_u32 as c_int;
pub const LONG_DOUBLE_INT: c_int = 0x8c00_0004_u32 as c_int;
pub const TWO_INT: c_int = 0x4c00_0816;
/// Handles below this one are those of pairs.
pub const PREDEFINED_PAIRS: usize = 5;

/// Marks of the bounds of a structure, which MPI 3 removed and programs still have (MPI 2.2, section 4.1.6).
pub(super) const LOWER_BOUND: c_int = 0x4c00_0010;
pub(super) const UPPER_BOUND: c_int = 0x4c00_0011;
