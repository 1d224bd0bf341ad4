//! Routers with virtual channels, as machines have them whose messages cross the network flit by flit.

use crate::data_parallel::figures;
use crate::read::Diagnostic;
use crate::read::table::Table;
use crate::sheet::table::{Table as SheetTable, Value};
use crate::sources::Sources;

figures! {
    /// Input-queued routers of virtual channels with credits. Routing, allocation of a virtual channel, allocation of the
    /// switch, traversal of the switch and a link take a cycle each.
    Routers = "routers" {
        counts {
            /// Virtual channels of every port.
            virtual_channels: "",
            /// Flits of the buffer of a virtual channel.
            buffer_flits: "",
            /// Flits of a packet.
            packet_flits: "",
            /// Cycles of a credit, from when a buffer is free until the router before it may use it again: one over the
            /// link, and those in which the credit is processed.
            credit_cycles: "",
            /// Bytes of a flit.
            flit_bytes: "B",
        }
        costs {
            /// A cycle, s.
            cycle_time: "s" as positive,
        }
    }
}
