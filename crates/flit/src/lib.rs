//! Wormhole routers with virtual channels and credits, simulated cycle by cycle and flit by flit.
//!
//! A router is input-queued: every input port has virtual channels with a buffer each. The head of a packet passes four
//! stages of a cycle each (routing, allocation of a virtual channel at the output, allocation of the switch, traversal of
//! the switch), the flits behind it the last two, and a link takes a cycle more. Both allocators are iSLIP with one
//! iteration (McKeown, The iSLIP scheduling algorithm for input-queued switches, 1999); there is no speed-up of the switch
//! and no speculation. A flit is sent only against a credit for the buffer at the other end. The stages and their order
//! are those of Dally and Towles, Principles and Practices of Interconnection Networks (2004), chapter 16.
//!
//! [`Simulation`] is the network, [`measure`] a point of its curve of latency against load. The models of messages in
//! `weft-network` stand beside this one: they need no cycle, and know no buffers.

mod allocation;
mod graph;
mod measure;
mod router;
mod routing;
mod simulation;
mod sources;
mod traffic;

pub use graph::{Graph, GraphError};
pub use measure::{BATCHES, Batches, Measured, Plan, measure};
pub use routing::Algorithm;
pub use simulation::{Delivery, HOP_CYCLES, NODE_CYCLES, Options, Simulation};
pub use traffic::{Pattern, Traffic};
