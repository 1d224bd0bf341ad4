//! Ranks with a process each: the library in a rank's process asks the hub, in whose process the simulator runs.
//!
//! A rank runs until it needs an answer; what needs none is queued until then. One rank runs at a time, and the hub
//! carries its commands out in the order that the simulator gives, so that two runs are equal to the bit.

mod absence;
mod children;
pub(crate) mod client;
pub(crate) mod codec;
pub(crate) mod common;
mod hub;
pub(crate) mod rank;
mod serve;
mod shared;
