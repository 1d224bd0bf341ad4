//! Packets of an open loop as messages: what the models of messages say of the traffic of a network of routers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::RngExt;
use weft_base::{Interrupt, Picos, generator};
use weft_flit::{Batches, HOP_CYCLES, Measured, NODE_CYCLES, Options, Plan, Traffic};
use weft_machine::Machine;
use weft_network::{LinkCost, Network};

/// A cycle in virtual time: any number will do.
const CYCLE: u64 = 1000;
/// Packets between two looks for an interrupt.
const AT_ONCE: usize = 1 << 12;

/// Packets of nodes that each make one in a cycle with the same probability, passed by the machine's model of messages: a
/// hop takes the five cycles of a router and its link, a packet a cycle a flit on every link. Buffers and virtual channels
/// of `options` do not matter to it. `None` when interrupted.
///
/// # Examples
/// ```
/// use weft_base::Interrupt;
/// use weft_flit::{Algorithm, Options, Pattern, Plan, Traffic};
/// use weft_launch::message_latency;
/// use weft_machine::find;
///
/// let machine = find("torus8x8-flit").unwrap();
/// let traffic = Traffic::new(Pattern::Neighbour, &machine.topology).unwrap();
/// let options = Options {
///     channels: 2, buffer: 8, tail_credit: false, credit_delay: 1, algorithm: Algorithm::Deterministic, packet: 8,
///     load: 0.001, seed: 1,
/// };
/// let plan = Plan { warmup: 0, cycles: 100_000 };
/// let measured = message_latency(&machine, &traffic, options, plan, &Interrupt::NEVER).unwrap();
/// // As flit by flit: two hops of 5 cycles, 7 through the last router, and 7 for the flits behind the head.
/// assert!((24.0..24.5).contains(&measured.latency), "{measured:?}");
/// ```
pub fn message_latency(
    machine: &Machine,
    traffic: &Traffic,
    options: Options,
    plan: Plan,
    interrupt: &Interrupt,
) -> Option<Measured> {
    let nodes = machine.topology.nodes();
    let mut network = Network::new(machine);
    let mut random = generator(options.seed, 0);
    let length = u64::from(options.packet);
    let cost = LinkCost { hop: Picos(HOP_CYCLES * CYCLE), transmission: Picos(length * CYCLE), bytes: length };
    let log_never = (-options.load / f64::from(options.packet)).ln_1p();
    let interval = move |random: &mut _| 1 + ((1.0 - RngExt::random::<f64>(random)).ln() / log_never) as u64;
    // Where nodes are joined to switches, a route has their two links too, which no router comes before: they are in
    // NODE_CYCLES.
    let of_nodes = if machine.topology.is_direct() { 0 } else { 2 };
    let mut batches = Batches::new(plan);
    let (mut next, mut link_hops, mut arrived) = (BinaryHeap::new(), 0, 0_u64);
    (0..nodes).for_each(|node| next.push(Reverse((interval(&mut random) - 1, node))));
    for count in 0.. {
        let Some(Reverse((created, from))) = next.pop() else { break };
        if created >= batches.window().end {
            break;
        }
        next.push(Reverse((created.saturating_add(interval(&mut random)), from)));
        let to = traffic.destination(from, &mut random);
        let end = if from == to {
            created + length
        } else {
            link_hops += length * (machine.topology.hops(from, to) as u64 - of_nodes);
            network.pass(Picos(created * CYCLE), from, to, cost).arrived.0 / CYCLE - of_nodes * HOP_CYCLES
        };
        // Less a cycle: the last flit arrives when its cycle begins.
        batches.add(created, end - created + NODE_CYCLES - 1);
        arrived += u64::from(batches.window().contains(&end));
        if count % AT_ONCE == 0 && interrupt.is_requested() {
            return None;
        }
    }
    let cycles = batches.window().end;
    let share = f64::from(options.packet) / nodes as f64 / (cycles - batches.window().start) as f64;
    Some(batches.measured(arrived as f64 * share, options.packet, nodes, false, (link_hops, cycles)))
}
