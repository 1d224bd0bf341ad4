//! `weft._core`: what Python sees of the Rust floors. Conversions only, no algorithms.
//!
//! Requests, rows and descriptions cross as JSON; `python/weft/_core.pyi` documents every name.

mod errors;
mod launch;
mod machine;
mod mpi;
mod node;

use pyo3::prelude::*;

/// The native half of weft.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use crate::errors::{MachineError, RunError, UsageError, WeftError};
    #[pymodule_export]
    use crate::launch::{benchmarks, check_request, run_threads, simulate};
    #[pymodule_export]
    use crate::machine::{PyMachine, catalogue};
    #[pymodule_export]
    use crate::mpi::{MpiDiagnosis, mpi_version, run_mpi_rank};
    #[pymodule_export]
    use crate::node::{node_benchmarks, node_work, run_node};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
