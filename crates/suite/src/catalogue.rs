//! The benchmarks of messages that weft has. Each is one file; a new one is a line here.

use crate::collectives::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Broadcast, Exscan, Gather, Gatherv, Reduce,
    ReduceScatter, Scan, Scatter, Scatterv,
};
use crate::contention::Contention;
use crate::description::Description;
use crate::echo::{Echo, EchoHost, EchoSelf};
use crate::fan::{FanIn, FanOut};
use crate::files::{FileHost, FileRead, FileWrite};
use crate::halo::Halo;
use crate::one_sided::{Accumulate, CompareAndSwap, FetchAndOp, Get, GetAccumulate, GetBandwidth, Put, PutBandwidth};
use crate::overheads::{ReceiveOverhead, SendOverhead};
use crate::overlap;
use crate::pairs::Pairs;
use crate::parameters::TABLE;
use crate::programs::cholesky::Cholesky;
use crate::programs::jacobi::Jacobi;
use crate::programs::slalom::Slalom;
use crate::registry;
use crate::registry::Registry;
use crate::ring::Ring;
use crate::routing::{RoutingCompute, RoutingEcho};
use crate::stencil::{StencilStep, StencilWithoutOverlap};
use crate::threaded_echo::EchoThreads;
use crate::throughput::{Bandwidth, Bidirectional, Bisection, MultiEcho, MultiPair, PingPing};
use crate::typed::{EchoIndexed, EchoVector};
use crate::usage::UsageError;

registry! {
    /// What weft has.
    pub struct BuiltIn;
    parameters: TABLE;
    benchmarks:
        Echo, EchoSelf, EchoHost, EchoThreads, PingPing, MultiEcho, Ring,
        Bandwidth, Bidirectional, MultiPair, Bisection, Pairs, SendOverhead, ReceiveOverhead,
        EchoVector, EchoIndexed,
        Halo, StencilStep, StencilWithoutOverlap,
        RoutingEcho, RoutingCompute, Contention, FanIn, FanOut,
        FileHost, FileRead, FileWrite,
        Barrier, Broadcast, Reduce, Allreduce, Gather, Scatter, Allgather, Alltoall, Alltoallv, Scan,
        Exscan, ReduceScatter, Gatherv, Scatterv, Allgatherv,
        overlap::IBarrier, overlap::IBroadcast, overlap::IReduce, overlap::IAllreduce,
        overlap::IGather, overlap::IScatter, overlap::IAllgather, overlap::IAlltoall,
        overlap::IAlltoallv, overlap::IScan, overlap::IExscan, overlap::IReduceScatter,
        overlap::IGatherv, overlap::IScatterv, overlap::IAllgatherv,
        overlap::PersistentBarrier, overlap::PersistentBroadcast, overlap::PersistentReduce, overlap::PersistentAllreduce,
        overlap::PersistentGather, overlap::PersistentScatter, overlap::PersistentAllgather, overlap::PersistentAlltoall,
        overlap::PersistentAlltoallv, overlap::PersistentScan, overlap::PersistentExscan, overlap::PersistentReduceScatter,
        overlap::PersistentGatherv, overlap::PersistentScatterv, overlap::PersistentAllgatherv,
        Put, Get, PutBandwidth, GetBandwidth, Accumulate, GetAccumulate, FetchAndOp, CompareAndSwap,
        Cholesky, Jacobi, Slalom,
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
