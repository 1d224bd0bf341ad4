//! Connection sets: a communication compiler that turns connections into phases, routes and times, the verifier of
//! what it makes, and the programs that run a schedule.
//!
//! The model is that of Feldmann, Stricker and Warfel 1993 ("ConSet"): an application's communication is a
//! [`ConnectionSet`]; a machine can hold only part of it open at once, because every connection takes [`Resources`] of
//! nodes and links; so it is divided into phases, each of which opens a set of connections over fixed routes. The
//! result is a [`Schedule`] (seam 4), which worlds execute.
//!
//! What a compiler says is never taken on trust: [`verify`](verify::verify) reads nothing but the schedule and checks every rule and
//! every lower bound with code of its own.

pub mod bounds;
pub mod compile;
pub mod execute;
pub mod named;
pub mod network;
pub mod orbits;
pub mod pattern;
pub mod resources;
pub mod schedule;
pub mod sealed;
pub mod verify;

pub use compile::{CompileError, Compiler, Options, Progress, compile, compile_from};
pub use named::{NAMED, named};
pub use pattern::{Connection, ConnectionSet, Order, PatternError};
pub use resources::Resources;
pub use schedule::{Certificate, LowerBound, Orbit, Phase, Piece, Schedule, Transfer};
pub use sealed::Sealed;
pub use verify::{Fault, Verified, verify, verify_until};
