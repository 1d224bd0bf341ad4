//! The benchmark programs: one source each, for every backend.
//!
//! A [`Request`] names one benchmark of the [`catalogue`] and its parameters for one launch, [`Suite`] is the program
//! that meets it on any [`Communicator`], a [`Row`] is what the launch found out about one point. A benchmark is one
//! file with one implementation of [`Benchmark`] and a line in the catalogue; a parameter is one row of
//! [`parameters::TABLE`].
//!
//! # The protocol inside a launch
//! Points (lengths, distances, loads) come in an order shuffled by the seed. Buffers are page-aligned and made before
//! the clock starts. A pilot decides how many iterations the time to be spent allows, and every chunk of them looks again
//! (`budget`); in virtual time three are made, for they repeat. Warm-up iterations are not counted; then every iteration gets a time stamp. Benchmarks that messages
//! pace are timed on one rank (`stopwatch`), those of all ranks in windows of a synchronised clock (`window`). What a
//! disturbance costs (routing, contention) is measured without and with it, one after the other in one launch. A row has
//! the median and the lower decile; no iteration is thrown away.

mod benchmark;
mod between_barriers;
mod budget;
mod catalogue;
mod checks;
mod clock;
mod collectives;
mod contention;
mod description;
mod echo;
mod fan;
mod files;
mod halo;
mod in_flight;
pub mod node;
mod one_sided;
mod operation;
mod overheads;
mod overlap;
mod pairs;
pub mod parameters;
mod placement;
mod program;
pub mod programs;
mod registry;
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
mod threaded_echo;
mod throughput;
mod typed;
mod usage;
mod window;

pub use benchmark::{Benchmark, Point, Prepared, measure_points};
pub use catalogue::{BuiltIn, catalogue, find};
pub use description::{COMMON, Description, Group, Nodes, Takes, takes};
pub use halo::halo_messages;
pub use parameters::{BufferSort, PayloadSort};
pub use program::{Suite, measure};
pub use registry::Registry;
pub use request::Request;
pub use row::Row;
pub use session::Session;
pub use stencil::{StencilWork, stencil_work};
pub use usage::UsageError;
pub use weft_comm::{CommError, Communicator};
