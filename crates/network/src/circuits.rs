//! Circuits of a switch that stay until a port is wanted for another.

use weft_base::Picos;
use weft_machine::{Machine, Switching};

use crate::table::Table;

/// The circuits of a switch whose ports are set up for them, with mirrors for instance. A node keeps as many as it has
/// ports, those that were used last.
#[derive(Clone, Debug)]
pub(crate) struct Circuits {
    /// Of setting one up.
    pub setup: Picos,
    ports: usize,
    /// Of every link the circuits that it belongs to, the last used first: source and destination.
    kept: Table<Vec<(u32, u32)>>,
}

impl Circuits {
    /// Those of a machine that switches circuits between ports: setting one up takes what a phase of connections takes.
    pub fn of(machine: &Machine) -> Option<Circuits> {
        let connections = machine.connections.as_ref().filter(|_| machine.switching == Switching::Circuit)?;
        let ports = connections.ports? as usize;
        let of_io_nodes = 2 * machine.files.as_ref().map_or(0, |files| files.attached.len());
        let setup = Picos::from_seconds(connections.phase_time);
        Some(Circuits { setup, ports, kept: Table::new(machine.topology.links() + of_io_nodes) })
    }

    /// Uses the circuit between two nodes over these links, and says how long it takes to be there.
    pub fn use_over(&mut self, links: impl Iterator<Item = usize>, from: usize, to: usize) -> Picos {
        let circuit = (from as u32, to as u32);
        let mut is_there = true;
        for link in links {
            let kept = &mut self.kept[link];
            match kept.iter().position(|other| *other == circuit) {
                Some(index) => kept[..=index].rotate_right(1),
                None => {
                    is_there = false;
                    kept.insert(0, circuit);
                    kept.truncate(self.ports);
                }
            }
        }
        if is_there { Picos::ZERO } else { self.setup }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkCost, Network};

    /// When messages of 1 ns over links of no latency are there, each sent when the one before is.
    fn arrivals(ports: u32, pairs: &[(usize, usize)]) -> Vec<u64> {
        let mut machine = weft_machine::find("palomar").unwrap();
        machine.connections.as_mut().unwrap().ports = Some(ports);
        machine.connections.as_mut().unwrap().phase_time = 1e-6;
        let mut network = Network::new(&machine);
        let cost = LinkCost { hop: Picos(0), transmission: Picos(1000), bytes: 1 };
        let mut now = Picos::ZERO;
        let arrival = |&(from, to): &(usize, usize)| {
            now = network.pass(now, from, to, cost).arrived;
            now.0 / 1000
        };
        pairs.iter().map(arrival).collect()
    }

    #[test]
    fn a_circuit_is_set_up_once_and_stays_until_its_port_is_wanted() {
        assert_eq!(arrivals(1, &[(0, 1), (0, 1), (2, 3), (0, 1)]), [1001, 1002, 2003, 2004]);
        // Node 0 has turned to node 2, or node 1 to node 2, since.
        assert_eq!(arrivals(1, &[(0, 1), (0, 2), (0, 1)]), [1001, 2002, 3003]);
        assert_eq!(arrivals(1, &[(0, 1), (2, 1), (0, 1)]), [1001, 2002, 3003]);
        assert_eq!(
            arrivals(2, &[(0, 1), (0, 2), (0, 1), (0, 3), (0, 1), (0, 2)]),
            [1001, 2002, 2003, 3004, 3005, 4006]
        );
    }

    #[test]
    fn machines_that_reserve_circuits_with_the_header_set_none_up() {
        assert!(Circuits::of(&weft_machine::find("ipsc860").unwrap()).is_none());
        assert!(Circuits::of(&weft_machine::find("rail-h100").unwrap()).is_none());
    }
}
