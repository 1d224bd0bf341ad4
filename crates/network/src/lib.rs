//! Contention for links and memory channels in virtual time: one model per switching technique, none with a clock.
//!
//! A model is told when a message is ready and answers when it has left and when it has arrived; what happens in
//! between is bookkeeping of when each link is free again. Time belongs to the caller, who must present messages in
//! the order in which they are ready: first come, first served is what makes one pass over a route enough.
//!
//! What that order leaves out: a message that entered the network first keeps its claim on a link that it reaches later
//! than another. With cut-through switching the other may still pass before it when it is through by then ([`Links`]);
//! with circuit and wormhole switching it waits. `tests/hop_by_hop.rs` holds the model against one that moves every
//! header hop by hop.

mod arrival;
mod channels;
mod circuits;
pub mod combining;
mod connections;
mod cost;
mod degraded;
mod fair;
mod links;
mod passage;
mod pools;
mod shares;
mod table;
mod wires;

pub use arrival::{Arrivals, Flow};
pub use channels::MemoryChannels;
pub use connections::{
    Arbitration, ConnectionCost, ConnectionPhase, ConnectionTransfer, ExchangeTimes, LogicalChannels, PhaseTimes, Span,
};
pub use cost::LinkCost;
pub use links::{Links, Traffic};
pub use passage::{Network, Passage};
pub use pools::{MessageTimes, PooledCost, PooledMessage, pass_messages, pass_messages_until};
pub use table::Table;
pub use weft_base::Begins;
