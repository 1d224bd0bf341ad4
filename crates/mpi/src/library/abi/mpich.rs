//! MPICH's native ABI: the values of its `mpi.h`, unchanged since the MPICH ABI initiative (MPICH 3.1, 2014).

use super::{Abi, AbiKind, BytesLayout, Datatypes, FileConstants, Operators, StatusLayout};

pub const ABI: Abi = Abi {
    kind: AbiKind::Mpich,
    comm_world: 0x4400_0000,
    comm_null: 0x0400_0000,
    request_null: 0x2c00_0000,
    errors_return: 0x5400_0001,
    datatypes: Datatypes {
        byte: 0x4c00_010d,
        uint8: 0x4c00_013b,
        float: 0x4c00_040a,
        double: 0x4c00_080b,
        int32: 0x4c00_0439,
        int64: 0x4c00_083a,
    },
    operators: Operators {
        sum: 0x5800_0003,
        product: 0x5800_0004,
        maximum: 0x5800_0001,
        minimum: 0x5800_0002,
        bit_and: 0x5800_0006,
        bit_or: 0x5800_0008,
        bit_xor: 0x5800_000a,
    },
    files: FileConstants { comm_self: 0x4400_0001, info_null: 0x1c00_0000, create: 1, read_only: 2, read_write: 8 },
    any_source: -2,
    any_tag: -1,
    undefined: -32766,
    tag_upper_bound: 0x6440_0001,
    err_truncate: 14,
    thread_funneled: 1,
    thread_multiple: 3,
    lock_shared: 235,
    comm_type_shared: 1,
    in_place: usize::MAX,
    status_ignore: 1,
    status: StatusLayout { source: 2, tag: 3, bytes: BytesLayout::Halves { low: 0, high: 1 }, size: 20 },
};

/// Whether a library that describes itself so has this ABI.
pub fn is_mpich(version: &str) -> bool {
    ["MPICH", "MVAPICH", "Intel(R) MPI"].iter().any(|name| version.contains(name))
}
