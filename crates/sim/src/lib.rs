//! The world of virtual time: a program runs as on a described machine, and the clock is the machine's.
//!
//! # How time passes
//! Every rank has a clock of its own and runs ahead of the others until it must wait: sending costs it processor time,
//! receiving too, and neither needs an event. What others can notice is an event: a message that enters the network, a
//! packet that reaches the next node, a rank that looks whether a message has arrived. Events are taken in order of
//! time, so links and processors serve first who comes first.
//!
//! A receive that names its source is matched as soon as the message enters the network, because nothing that happens
//! later can change what it gets; only wildcard receives, and what is posted behind them, wait for the moment of
//! arrival. That saves most programs half of their events.
//!
//! # Repeatability
//! Time is an integer, events of one time are ordered by insertion, and nothing depends on addresses or hashing: two
//! runs give the same trace, bit for bit.

mod communicator;
mod core;
mod costs;
mod exchange;
mod options;
mod placement;
mod prefetch;
mod queue;
mod request;
mod run;
mod trace;

pub use communicator::SimComm;
pub use options::Options;
pub use placement::{Placement, PlacementError};
pub use run::{Outcome, run};
pub use trace::{Trace, TraceEvent, TraceKind};
