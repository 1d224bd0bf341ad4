//! The channels between a node's memory and the network.

use weft_base::Picos;

/// How many messages may enter or leave the memory of each node at once.
///
/// Section 4.4 of Dunigan 1991: on the iPSC/860 'only one channel can be active with the node memory buffers at any
/// given time', on the Ncube 6400 all of them.
#[derive(Clone, Debug)]
pub struct MemoryChannels {
    each: usize,
    free: Vec<Picos>,
}

impl MemoryChannels {
    /// `each` channels at every one of `nodes` nodes; `None` when there is one for every link and nothing to wait for.
    pub fn new(nodes: usize, each: Option<u32>) -> Option<MemoryChannels> {
        let each = each? as usize;
        Some(MemoryChannels { each, free: vec![Picos::ZERO; nodes * each] })
    }

    /// When the channel that is free first at `node` is free.
    pub fn free(&self, node: usize) -> Picos {
        self.free[self.first(node)]
    }

    /// Keeps the channel that is free first at `node` busy until `until`.
    pub fn hold(&mut self, node: usize, until: Picos) {
        let channel = self.first(node);
        self.free[channel] = until;
    }

    fn first(&self, node: usize) -> usize {
        let channels = node * self.each..(node + 1) * self.each;
        channels.min_by_key(|&channel| self.free[channel]).expect("a node has at least one memory channel")
    }
}
