//! Small machines for the tests of virtual time.

use std::collections::BTreeMap;

use weft_machine::{Completion, Embedding, HostLink, Machine, MemoryCopy, Node, Protocol, Switching, Topology};

/// A machine with round figures: 10 us for sending and receiving each, 1 us a hop, 0.1 us a byte on a link.
pub fn machine(topology: Topology, switching: Switching) -> Machine {
    let sources = Default::default;
    Machine {
        name: "test".to_owned(),
        title: "test machine".to_owned(),
        year: None,
        description: None,
        topology,
        embedding: Embedding::Identity,
        switching,
        multicast: false,
        reduction: false,
        sources: sources(),
        estimand: None,
        alternative: None,
        protocols: vec![Protocol {
            up_to: None,
            send_overhead: 10e-6,
            receive_overhead: 10e-6,
            send_byte_time: 0.0,
            receive_byte_time: 0.0,
            hop_time: 1e-6,
            byte_time: 0.1e-6,
            completion: Completion::Buffered,
            sources: sources(),
        }],
        packets: None,
        cache: None,
        node: Node { memory_channels: None, forward_overhead: 0.0, forward_byte_time: 0.0, ..Node::default() },
        self_message: MemoryCopy { startup: 5e-6, byte_time: 0.01e-6, short: None, sources: sources() },
        host: Some(HostLink { startup: 100e-6, byte_time: 1e-6, short: None, sources: sources() }),
        files: None,
        connections: None,
        fghc: None,
        host_files: None,
        shifts: None,
        primitives: None,
        parallel: None,
        routers: None,
        processors: None,
        operations: BTreeMap::new(),
        facts: BTreeMap::new(),
        degradation: Default::default(),
    }
}
