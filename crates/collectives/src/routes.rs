//! The routes that a machine's messages take: of all paths between two nodes the one that its routers choose.

use std::sync::Arc;

use weft_machine::{Machine, Switching};

/// The number that a link has which a network has not.
const LEFT_OUT: u32 = u32::MAX;

/// The routes of a described machine, over the links of a network of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Routes {
    machine: Arc<Machine>,
    /// The number in the network of every link of the topology.
    number: Arc<[u32]>,
    /// Whether every link of the network leads the other way round.
    is_reversed: bool,
}

/// What predictions for a machine do not know of its messages, in words; `None` where they know their routes and what meets on
/// them.
///
/// # Examples
/// ```
/// use weft_collectives::unpredicted;
///
/// assert_eq!(unpredicted(&weft_machine::find("tpu-v4").unwrap()), None);
/// assert!(unpredicted(&weft_machine::find("ipsc860").unwrap()).unwrap().contains("memory"));
/// ```
pub fn unpredicted(machine: &Machine) -> Option<&'static str> {
    if !machine.degradation.is_none() {
        Some("which routes messages take past faults, nor what these cost")
    } else if machine.switching == Switching::StoreAndForward {
        Some("that messages are stored on their way, link by link")
    } else if machine.node.memory_channels.is_some() {
        Some("that messages wait for the memory of their nodes")
    } else {
        None
    }
}

impl Routes {
    /// Those of a network that has the links `kept` of the topology, in that order. `None` where messages are stored on their
    /// way or avoid dead links: what they cross then is not a route that is known beforehand.
    pub fn of_machine(machine: &Machine, kept: &[usize]) -> Option<Routes> {
        if machine.switching == Switching::StoreAndForward || !machine.degradation.is_none() {
            return None;
        }
        let mut number = vec![LEFT_OUT; machine.topology.links()];
        kept.iter().enumerate().for_each(|(new, &link)| number[link] = new as u32);
        Some(Routes { machine: Arc::new(machine.clone()), number: number.into(), is_reversed: false })
    }

    /// The machine whose routes they are.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The same routes where only some links are left, which keep their order.
    pub fn kept(&self, is_kept: impl Fn(u32) -> bool) -> Routes {
        let mut order: Vec<usize> = (0..self.number.len()).filter(|&link| self.number[link] != LEFT_OUT).collect();
        order.sort_unstable_by_key(|&link| self.number[link]);
        let mut number = vec![LEFT_OUT; self.number.len()];
        let left = order.into_iter().filter(|&link| is_kept(self.number[link]));
        left.enumerate().for_each(|(new, link)| number[link] = new as u32);
        Routes { number: number.into(), ..self.clone() }
    }

    /// The same routes on the network whose links all lead the other way round: there the way from one node to another is what
    /// messages take from the other to the one, backwards.
    pub fn reversed(&self) -> Routes {
        Routes { is_reversed: !self.is_reversed, ..self.clone() }
    }

    /// The links of the route from one node to another, by their numbers in the network. `None` where it has not all of them.
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<u32>> {
        let (mut links, mut is_whole) = (Vec::new(), true);
        let (start, end) = if self.is_reversed { (to, from) } else { (from, to) };
        self.machine.topology.route(start, end, |link| {
            is_whole &= self.number[link] != LEFT_OUT;
            links.push(self.number[link]);
        });
        if self.is_reversed {
            links.reverse();
        }
        is_whole.then_some(links)
    }
}
