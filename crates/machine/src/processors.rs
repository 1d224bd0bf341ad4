//! Computers of many processors, each of which is a node of the topology.

use crate::data_parallel::figures;
use crate::read::Diagnostic;
use crate::read::table::Table;
use crate::sheet::table::{Table as SheetTable, Value};
use crate::sources::Sources;
use crate::topology::{MAX_NODES, Topology};

figures! {
    /// What the processors of a computer are grouped by, where every node of the topology is a processor: consecutive
    /// numbers are those of a core, then of a cache, a NUMA node, a socket and a computer.
    Processors = "processors" {
        counts {
            /// Hardware threads of a core.
            threads: "",
            /// Cores that share a cache of the third level.
            cores: "",
            /// Such caches of a NUMA node.
            caches: "",
            /// NUMA nodes of a socket.
            numa_nodes: "",
            /// Sockets of a computer.
            sockets: "",
        }
        costs {}
    }
}

/// The computer that a processor is in, and its number and those of the parts that it belongs to within that computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    pub computer: u32,
    pub processor: u32,
    pub core: u32,
    pub cache: u32,
    pub numa_node: u32,
    pub socket: u32,
}

impl Processors {
    /// Processors of a computer; `None` where no topology has so many.
    fn of_computer(&self) -> Option<usize> {
        let counts = [self.threads, self.cores, self.caches, self.numa_nodes, self.sockets];
        let product = counts.into_iter().try_fold(1, u64::checked_mul)?;
        usize::try_from(product).ok().filter(|&count| count <= MAX_NODES)
    }

    /// Cores of a computer.
    pub fn cores_of_computer(&self) -> u32 {
        (self.of_computer().unwrap_or(1) / self.threads as usize) as u32
    }

    /// Where a node of the topology is.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::{Processors, Sources};
    ///
    /// let of = Processors { threads: 2, cores: 4, caches: 1, numa_nodes: 1, sockets: 2, sources: Sources::new() };
    /// let location = of.location(16 + 13);
    /// assert_eq!((location.computer, location.processor, location.core, location.socket), (1, 13, 6, 1));
    /// ```
    pub fn location(&self, node: usize) -> Location {
        let count = self.of_computer().unwrap_or(1);
        let processor = (node % count) as u32;
        let mut number = processor;
        let mut part = |count: u64| {
            number /= count as u32;
            number
        };
        Location {
            computer: (node / count) as u32,
            processor,
            core: part(self.threads),
            cache: part(self.cores),
            numa_node: part(self.caches),
            socket: part(self.numa_nodes),
        }
    }

    /// The table of a machine file whose topology is known, if it has one.
    pub(crate) fn read_for(root: &Table, topology: Option<&Topology>) -> Result<Option<Processors>, Diagnostic> {
        let before = root.fault_count();
        let processors = Processors::read(root)?;
        let (Some(grouped), Some(topology)) = (&processors, topology) else { return Ok(processors) };
        let nodes = topology.nodes();
        let is_divided = grouped.of_computer().is_some_and(|count| nodes.is_multiple_of(count));
        if root.fault_count() == before && !is_divided {
            let product = "threads x cores x caches x numa_nodes x sockets";
            let message =
                format!("expected {product} to divide the {nodes} nodes of the topology, which are processors");
            return Err(root.fault("processors", message));
        }
        Ok(processors)
    }
}
