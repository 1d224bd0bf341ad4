//! Distributed arrays, and shifts and stencils of them: geometry, plans, exchanges of faces.
//!
//! Programs over a `Communicator`; they never name a backend.

pub mod connection_machine;
pub mod exchange;
pub mod geometry;
pub mod plan;
pub mod program;
pub mod stencil;
