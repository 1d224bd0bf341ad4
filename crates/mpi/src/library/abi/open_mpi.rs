//! Open MPI's native ABI: predefined handles are the addresses of global variables, the status is
//! `{int source, tag, error, cancelled; size_t bytes}`. The numbers are those of its `mpi.h`, the same from 1.x to 5.x.

use super::{Abi, AbiKind, BytesLayout, Datatypes, FileConstants, Operators, StatusLayout};
use crate::library::Handle;
use crate::library::locate::LoadError;
use crate::library::symbols::Symbols;

pub const STATUS: StatusLayout = StatusLayout { source: 0, tag: 1, bytes: BytesLayout::Whole { at: 4 }, size: 24 };

/// The constants; the handles are looked up.
pub fn abi(symbols: &Symbols) -> Result<Abi, LoadError> {
    let handle = |name: &'static str| -> Result<Handle, LoadError> {
        symbols.address(name).ok_or_else(|| LoadError::missing(symbols.path(), "Open MPI", name))
    };
    Ok(Abi {
        kind: AbiKind::OpenMpi,
        comm_world: handle("ompi_mpi_comm_world")?,
        comm_null: handle("ompi_mpi_comm_null")?,
        request_null: handle("ompi_request_null")?,
        errors_return: handle("ompi_mpi_errors_return")?,
        datatypes: Datatypes {
            byte: handle("ompi_mpi_byte")?,
            uint8: handle("ompi_mpi_uint8_t")?,
            float: handle("ompi_mpi_float")?,
            double: handle("ompi_mpi_double")?,
            int32: handle("ompi_mpi_int32_t")?,
            int64: handle("ompi_mpi_int64_t")?,
        },
        operators: Operators {
            sum: handle("ompi_mpi_op_sum")?,
            product: handle("ompi_mpi_op_prod")?,
            maximum: handle("ompi_mpi_op_max")?,
            minimum: handle("ompi_mpi_op_min")?,
            bit_and: handle("ompi_mpi_op_band")?,
            bit_or: handle("ompi_mpi_op_bor")?,
            bit_xor: handle("ompi_mpi_op_bxor")?,
        },
        files: FileConstants {
            comm_self: handle("ompi_mpi_comm_self")?,
            info_null: handle("ompi_mpi_info_null")?,
            create: 1,
            read_only: 2,
            read_write: 8,
        },
        any_source: -1,
        any_tag: -1,
        undefined: -32766,
        tag_upper_bound: 0,
        err_truncate: 15,
        thread_funneled: 1,
        thread_multiple: 3,
        lock_shared: 2,
        comm_type_shared: 0,
        in_place: 1,
        status_ignore: 0,
        status: STATUS,
    })
}
