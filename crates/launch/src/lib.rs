//! The one place that joins programs to backends: requests of the suite run in virtual time, on threads or on MPI.

mod collective;
mod error;
mod exchange;
#[cfg(feature = "fghc")]
mod fghc;
#[cfg(feature = "fghc")]
mod fghc_costs;
#[cfg(feature = "fghc")]
mod fghc_options;
#[cfg(feature = "fghc")]
mod fghc_result;
mod mpi;
mod open_loop;
mod simulate;
mod threads;

pub use collective::{
    Compiled, Considered, collective_threads, compile_collective, compile_collective_of_graph, simulate_collective,
};
pub use error::LaunchError;
pub use exchange::{
    ExchangeRequest, ExchangeResult, SolveRequest, exchange_mpi_rank, exchange_threads, simulate_exchange,
    solve_mpi_rank, solve_simulated, solve_threads,
};
#[cfg(feature = "fghc")]
pub use fghc::{
    FghcRan, FghcRequest, SimulatedFghc, enlarged, load_fghc, run_fghc_mpi, run_fghc_threads, simulate_fghc,
};
#[cfg(feature = "fghc")]
pub use fghc_costs::{CostOptions, OPERATIONS_OF_A_REDUCTION, PeCosts, REDUCTIONS_OF_STEPS, Steps, pe_costs};
#[cfg(feature = "fghc")]
pub use fghc_options::{FghcBackend, FghcOptions, FghcOutput};
#[cfg(feature = "fghc")]
pub use fghc_result::{FghcPe, FghcResult, FghcSite, FghcWaiting};
pub use mpi::run_mpi_rank;
pub use open_loop::message_latency;
pub use simulate::{SimulateOptions, Simulated, simulate};
pub use threads::run_threads;
pub use weft_sim::Trace;
