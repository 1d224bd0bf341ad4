//! The benchmarks of messages that weft has. Each is one file; a new one is a line here.

use crate::collectives::{
    Allgather, Allreduce, Alltoall, Alltoallv, Barrier, Broadcast, Gather, Reduce, Scan, Scatter,
};
use crate::contention::Contention;
use crate::description::Description;
use crate::echo::{Echo, EchoHost, EchoSelf};
use crate::fan::{FanIn, FanOut};
use crate::files::{FileHost, FileRead, FileWrite};
use crate::halo::Halo;
use crate::pairs::Pairs;
use crate::parameters::TABLE;
use crate::programs::cholesky::Cholesky;
use crate::programs::jacobi::Jacobi;
use crate::registry;
use crate::registry::Registry;
use crate::ring::Ring;
use crate::routing::{RoutingCompute, RoutingEcho};
use crate::stencil::{StencilStep, StencilWithoutOverlap};
use crate::throughput::{Bandwidth, Bisection};
use crate::usage::UsageError;

registry! {
    /// What weft has.
    pub struct BuiltIn;
    parameters: TABLE;
    benchmarks:
        Echo, EchoSelf, EchoHost, Ring,
        Bandwidth, Bisection, Pairs,
        Halo, StencilStep, StencilWithoutOverlap,
        RoutingEcho, RoutingCompute, Contention, FanIn, FanOut,
        FileHost, FileRead, FileWrite,
        Barrier, Broadcast, Reduce, Allreduce, Gather, Scatter, Allgather, Alltoall, Alltoallv, Scan,
        Cholesky, Jacobi,
}

/// Every benchmark, in the order in which lists show them.
pub fn catalogue() -> Vec<&'static Description> {
    BuiltIn::benchmarks()
}

/// The benchmark of this name or alias.
///
/// # Errors
/// [`UsageError`] that suggests the nearest name.
pub fn find(name: &str) -> Result<&'static Description, UsageError> {
    BuiltIn::find(name)
}
