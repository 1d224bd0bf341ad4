//! Collectives as free functions over any communicator.
//!
//! Every rank of the communicator calls the same function with the same root, lengths and [`Choice`]. Each has one to
//! three algorithms ([`algorithms`]); [`choose`] says which one is taken by number of ranks and length, and a
//! [`Choice`] overrides it. Any number of ranks and any length will do, 0 bytes included; payloads are data or
//! phantoms, the same on all ranks. Results are written into the space a caller passes, if any, so that a loop need not
//! allocate it. A file here is one collective; its documentation counts the messages and their time and says where the
//! algorithm is from.

mod algorithm;
mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod blocks;
mod broadcast;
mod choose;
mod differing;
mod element;
mod exscan;
mod gather;
mod halving;
mod reduce;
mod reduce_scatter;
mod rounds;
mod scan;
mod scatter;
mod scope;
mod split;

pub use algorithm::{Algorithm, Choice, UnknownAlgorithm, algorithms};
pub use allgather::allgather;
pub use allreduce::allreduce;
pub use alltoall::{alltoall, alltoallv};
pub use barrier::barrier;
pub use blocks::{Fold, doublings};
pub use broadcast::broadcast;
pub use choose::{CHAIN_SEGMENT, choose};
pub use differing::{allgatherv, gatherv, scatterv};
pub use element::{Element, Operator, Reduction};
pub use exscan::exscan;
pub use gather::gather;
pub use reduce::reduce;
pub use reduce_scatter::reduce_scatter;
pub use rounds::{Round, Rounds};
pub use scan::scan;
pub use scatter::scatter;
pub use split::{Division, divide};
