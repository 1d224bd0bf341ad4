//! The benchmark programs: one source each, for every world.
//!
//! A [`Request`] names one benchmark of the [`catalogue`] and its parameters for one launch, [`Suite`] is the program
//! that meets it on any [`Communicator`](weft_comm::Communicator), a [`Row`] is what the launch found out about one
//! point.
//!
//! # The protocol inside a launch
//! Points (lengths, distances, loads) come in an order shuffled by the seed. Buffers are page-aligned and made before
//! the clock starts. A pilot decides how many iterations the time to be spent allows, and every chunk of them looks again
//! (`budget`); in virtual time three are made, for they repeat. Warm-up iterations are not counted; then every iteration gets a time stamp. Benchmarks that messages
//! pace are timed on one rank (`stopwatch`), those of all ranks in windows of a synchronised clock (`window`). What a
//! disturbance costs (routing, contention) is measured without and with it, one after the other in one launch. A row has
//! the median and the lower decile; no iteration is thrown away.

mod budget;
mod catalogue;
mod clock;
mod collectives;
mod contention;
mod echo;
mod fan;
mod files;
mod halo;
pub mod node;
mod program;
pub mod programs;
mod request;
mod ring;
mod routing;
mod row;
mod session;
mod signals;
mod spin;
mod statistics;
mod stencil;
mod stopwatch;
mod stream;
mod throughput;
mod window;

pub use catalogue::{Benchmark, Group, Lengths, Parameters, catalogue, find};
pub use halo::halo_messages;
pub use program::Suite;
pub use request::{PayloadSort, Request, UsageError};
pub use row::Row;
pub use stencil::{StencilWork, stencil_work};
