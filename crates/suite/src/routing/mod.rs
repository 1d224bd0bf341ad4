//! Routing overhead: what passing messages on costs the nodes on the way, and what their computing costs the messages
//! (Dunigan 1991, section 4.2).
//!
//! Rank 0 and rank 1 exchange echoes; all further ranks compute. In virtual time the launch places rank 1 two hops from
//! rank 0 and ranks 2 and 3 on the nodes that route the messages there and back. On a real machine nothing is known of
//! routes: the further ranks are those that share the machine with the echo.
//!
//! A machine whose processors route loses a fixed time for every packet, so the share lost falls with the length; where
//! messages are cut into packets it rises again as soon as there is a second one, and is that of a whole packet at every
//! multiple of its length.

mod compute;
mod echo;
mod receive;
mod runs;

pub use compute::RoutingCompute;
pub use echo::RoutingEcho;

use std::ops::Range;

use weft_comm::Communicator;

/// Powers of two from 8 bytes to 8 KiB: the range of figures 6 to 9 of Dunigan 1991.
pub(crate) const TRAFFIC: &[u64] = &[8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

/// The rank that times the echo,
const ASKING: usize = 0;
/// and the one that sends it back.
const ECHOING: usize = 1;

/// The ranks that compute.
fn computing<C: Communicator>(comm: &C) -> Range<usize> {
    2..comm.size()
}
