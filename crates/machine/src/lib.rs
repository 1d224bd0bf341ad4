//! Machine descriptions (seam 1): topology, embedding, costs, each figure with its source; read from `machines/*.toml`.
//!
//! A machine of 1987 and one measured an hour ago are the same kind of thing: a [`Topology`] and a few physical costs
//! that `fit` writes and that the simulator, the estimator and the compiler read. Three decisions follow from that.
//!
//! **Costs are those of the machine, not of a benchmark.** A message's time is put together from processor overheads at
//! both ends, a header's time over each link and a byte's time ([`Machine`] has the formula), so that the same numbers
//! predict an echo over any distance and drive a simulation with contention. Nothing is tabulated by message length;
//! where a machine changes its way of sending, it has another [`Protocol`].
//!
//! **Every figure carries its source.** A description without sources cannot be judged, so a figure without one is an
//! error. The sources lie beside the numbers in maps by key instead of wrapping each number: whoever computes with a
//! machine sees plain `f64`s, and only what shows or writes a machine (the sheet of entries) joins the two.
//!
//! **A topology is a few numbers.** Routes, distances and orders are computed from them, checked against plain graph
//! search on every kind; links are numbered densely so that a simulator's state is an array, and along lines so that a
//! route reads it in order. [`Router`] trades a table of the size of the machine (never its square) for the divisions.
//!
//! A wrong file is answered with its [`Faults`], each a [`Diagnostic`] whose first line says file, line, key and what was expected.

mod catalogue;
mod cost;
mod data_parallel;
mod degradation;
mod description;
mod estimand;
mod processors;
mod read;
mod routers;
mod sheet;
mod sources;
mod suggest;
pub mod topology;

pub use catalogue::{Catalogue, MachineError, catalogue, find};
pub use data_parallel::{Parallel, Primitives, Shifts};
pub use degradation::{Degradation, DegradationError, vertex_name};
pub use description::{
    Access, Alternative, Cache, Completion, ConcurrentFiles, Connections, Estimand, FghcCosts, Figure, GoalOrder,
    HostFiles, HostLink, Machine, MemoryCopy, Node, Packets, Protocol, ShortMessages, Switching, line_time,
};
pub use estimand::EstimandError;
pub use processors::{Location, Processors};
pub use read::{Diagnostic, Faults};
pub use routers::Routers;
pub use sources::{Sources, UNSTATED};
pub use topology::{Embedding, Router, Topology, Vertex};
