//! Collectives compiled for any network, each with a certificate that nobody can beat its throughput.
//!
//! A [`Fabric`] is a graph of accelerators and switches. [`compile`] finds the cut that limits a collective, takes the
//! switches out by edge splitting, packs spanning trees that use the cut's links fully, and gives every tree a range of
//! bytes; [`verify`] proves the [`Schedule`] again without any of that code.

mod all_to_all;
mod arborescence;
mod blocks;
pub mod bound;
mod bound_of_exchange;
mod cheapest;
mod circulation;
mod compile;
mod congestion;
mod distribution;
mod error;
mod exact;
pub mod execute;
mod fabric;
pub mod flow;
mod form;
mod forms;
mod greedy;
mod in_network;
mod local;
mod logical;
mod merge;
mod needed;
mod orders;
mod packing;
mod partition;
pub mod predict;
mod problem;
mod quickest;
mod reduce_broadcast;
mod request;
mod rooted;
mod rooted_forms;
mod routes;
mod schedule;
mod shallow;
mod simplex;
mod spreading;
mod stand_in;
mod steps;
mod switches;
mod symmetric;
pub mod timeline;
mod translation;
mod verify;

pub use compile::{DEFAULT_EFFORT, alternatives, compile};
pub use error::CollectiveError;
pub use fabric::{Fabric, InNetwork, Link};
pub use request::{Method, Request};
pub use routes::{Routes, unpredicted};
pub use schedule::{
    Bound, Collective, Exchange, KIND, Message, Operation, Round, Schedule, Stage, Transfer, Tree, shards,
};
pub use verify::verify;
