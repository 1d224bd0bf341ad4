//! The channels between a node's memory and the network.

use weft_base::Picos;

use crate::table::Table;

/// How many messages may enter or leave the memory of each node at once.
///
/// Section 4.4 of Dunigan 1991: on the iPSC/860 'only one channel can be active with the node memory buffers at any
/// given time', on the Ncube 6400 all of them.
///
/// # Examples
/// ```
/// use weft_base::Picos;
/// use weft_network::MemoryChannels;
///
/// let mut channels = MemoryChannels::new(8, Some(2)).unwrap();
/// channels.hold(3, Picos(50));
/// assert_eq!(channels.free(3), Picos::ZERO);
/// // Both channels of node 3 are in use now.
/// channels.hold(3, Picos(70));
/// assert_eq!((channels.free(3), channels.free(4)), (Picos(50), Picos::ZERO));
/// ```
#[derive(Clone, Debug)]
pub struct MemoryChannels {
    each: usize,
    /// Of each node, when the channels are free that were used so far: there are never more of them than messages.
    free: Table<Vec<Picos>>,
}

impl MemoryChannels {
    /// `each` channels at every one of `nodes` nodes; `None` when there is one for every link and nothing to wait for.
    pub fn new(nodes: usize, each: Option<u32>) -> Option<MemoryChannels> {
        let each = each? as usize;
        Some(MemoryChannels { each, free: Table::new(nodes) })
    }

    /// When the channel that is free first at `node` is free.
    pub fn free(&self, node: usize) -> Picos {
        let used = &self.free[node];
        let has_unused = used.len() < self.each;
        if has_unused {
            Picos::ZERO
        } else {
            used.iter().copied().min().expect("a node has at least one memory channel")
        }
    }

    /// Keeps the channel that is free first at `node` busy until `until`.
    pub fn hold(&mut self, node: usize, until: Picos) {
        let used = &mut self.free[node];
        if used.len() < self.each {
            used.push(until);
        } else {
            *used.iter_mut().min().expect("a node has at least one memory channel") = until;
        }
    }
}
