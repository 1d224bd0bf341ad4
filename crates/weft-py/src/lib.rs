//! `weft._core`: what Python sees of the Rust floors. Conversions only, no algorithms.
//!
//! Requests, rows and descriptions cross as JSON; `python/weft/_core.pyi` documents every name.

mod blocks;
mod collective;
mod connection_machine;
mod conset;
mod distributed;
mod distributed_stencil;
mod errors;
mod exchange;
#[cfg(feature = "fghc")]
mod fghc;
#[cfg(feature = "fghc")]
mod fghc_run;
mod flit;
mod guard;
mod interruptible;
mod launch;
mod leaving;
mod limits;
mod machine;
mod memory;
mod mpi;
mod node;
mod primitives;
mod processor;
mod router;
mod shift;
mod stencil;
mod xla;

use pyo3::prelude::*;

/// The Rust core of weft.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use crate::blocks::PyBlocks;
    #[pymodule_export]
    use crate::collective::{PyCollectiveSchedule, PyFabric, collectives, compile_collective};
    #[pymodule_export]
    use crate::connection_machine::shift_times;
    #[pymodule_export]
    use crate::conset::{PyConnectionSet, PySchedule, compile_connections, patterns};
    #[pymodule_export]
    use crate::distributed::{PyExchange, PyRanks};
    #[pymodule_export]
    use crate::distributed_stencil::{DistributedStencil, stencil_ghosts};
    #[pymodule_export]
    use crate::errors::{MachineError, RunError, UsageError, WeftError};
    #[pymodule_export]
    use crate::exchange::{
        PyExchangeRequest, exchange_mpi_rank, exchange_threads, simulate_exchange, solve_mpi_rank, solve_simulated,
        solve_threads,
    };
    #[cfg(feature = "fghc")]
    #[pymodule_export]
    use crate::fghc::{fghc_check, fghc_explain};
    #[cfg(feature = "fghc")]
    #[pymodule_export]
    use crate::fghc_run::{fghc_run, fghc_run_mpi, fghc_run_threads, fghc_simulate, fghc_sites};
    #[pymodule_export]
    use crate::flit::flit_latency;
    #[pymodule_export]
    use crate::launch::{
        benchmarks, check_request, halo_messages, parameters, run_threads, simulate, simulate_pairs, stencil_work,
    };
    #[pymodule_export]
    use crate::leaving::{end_when_interrupted_twice, temporary_begins, temporary_ends};
    #[pymodule_export]
    use crate::limits::{available_memory, message, require_memory, shown};
    #[pymodule_export]
    use crate::machine::{PyMachine, catalogue};
    #[pymodule_export]
    use crate::memory::PyMemory;
    #[pymodule_export]
    use crate::mpi::{MpiDiagnosis, claim_end, guard_process, locate_calls, mpi_version, rank_left, run_mpi_rank};
    #[pymodule_export]
    use crate::node::{node_benchmarks, node_work, run_node};
    #[pymodule_export]
    use crate::primitives::{
        Division, SendWorkspace, array_addresses, array_choose, array_elementwise, array_gather, array_partition,
        array_rank, array_reduce, array_reduce_axis, array_scan, array_send, array_send_workspace_bytes, array_spread,
    };
    #[pymodule_export]
    use crate::shift::{BoundShifts, ShiftPlan};

    #[pymodule_export]
    use crate::processor::simd;
    #[pymodule_export]
    use crate::router::route_combining;
    #[pymodule_export]
    use crate::stencil::{BoundStencil, StencilPlan};
    #[pymodule_export]
    use crate::xla::xla_kernel_launcher;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::errors::install_defects(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
