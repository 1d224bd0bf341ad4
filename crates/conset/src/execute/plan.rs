//! From schedules and connection sets to plans of exchanges.

use std::sync::Arc;

use rand::seq::SliceRandom;
use rustc_hash::FxHashMap;
use weft_comm::{Begins, ElementCost, ExchangeMethod, ExchangePlan, PlannedPhase, PlannedTransfer, Sharing};
use weft_machine::{Topology, Vertex};

use crate::pattern::ConnectionSet;
use crate::resources::Resources;
use crate::schedule::{Phase, Piece, Schedule, Transfer};
use crate::sealed::Sealed;

/// Words of one connection that one transfer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its index in the connection set.
    pub connection: u32,
    /// The first word of the connection that is in it.
    pub first_word: u64,
    pub words: u64,
}

/// A plan, and what its transfers carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    pub plan: Arc<ExchangePlan>,
    /// Of every transfer, in the order of [`ExchangePlan::transfers`].
    pub parts: Arc<[Part]>,
    /// Bytes of a word.
    pub word_bytes: u64,
}

/// A schedule that cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionError {
    #[error(
        "phase {phase}, connection {connection}: its route goes from {from} to {to}, which no link of the topology joins"
    )]
    NoLink { phase: usize, connection: u32, from: u32, to: u32 },
    #[error("phase {phase}, connection {connection} goes from node {node} to itself")]
    SelfConnection { phase: usize, connection: u32, node: u32 },
    #[error("phase {phase}, connection {connection} names node {node}; there are {nodes}")]
    NoNode { phase: usize, connection: u32, node: u32, nodes: usize },
    #[error("phase {phase}, connection {connection}: the route {route:?} does not lead from node {from} to node {to}")]
    WrongEnds { phase: usize, connection: u32, route: Vec<u32>, from: u32, to: u32 },
    #[error(
        "the schedule was changed after it was made: its digest is {written}, its contents have {computed}; \
         compile it again, or check it with the verifier"
    )]
    Edited { written: String, computed: String },
    #[error("phase {phase} has orbits that its topology has not: {reason}")]
    Orbits { phase: usize, reason: String },
}

impl Execution {
    /// The transfers of a schedule in the order of their start; those that are interrupted become several.
    ///
    /// # Errors
    /// For a schedule that was edited, and for routes that the topology does not have.
    pub fn of_schedule(schedule: &Schedule, elements: Option<ElementCost>) -> Result<Execution, ExecutionError> {
        Self::of_digest(schedule, &schedule.computed_digest(), elements)
    }

    /// As [`Execution::of_schedule`], of a schedule whose digest need not be computed again each time.
    ///
    /// # Errors
    /// As [`Execution::of_schedule`].
    pub fn of_sealed(schedule: &Sealed, elements: Option<ElementCost>) -> Result<Execution, ExecutionError> {
        Self::of_digest(schedule, schedule.digest_of_contents(), elements)
    }

    fn of_digest(
        schedule: &Schedule,
        computed: &str,
        elements: Option<ElementCost>,
    ) -> Result<Execution, ExecutionError> {
        if computed != schedule.digest {
            let (written, computed) = (schedule.digest.clone(), computed.to_owned());
            return Err(ExecutionError::Edited { written, computed });
        }
        let topology = &schedule.resources.topology;
        let links = Links::of(topology);
        let transfers = schedule.phases.iter().map(Phase::transfers).sum();
        let mut next_word: FxHashMap<u32, u64> = FxHashMap::with_capacity_and_hasher(transfers, Default::default());
        let (mut phases, mut parts) = (Vec::with_capacity(schedule.phases.len()), Vec::with_capacity(transfers));
        for (number, phase) in schedule.phases.iter().enumerate() {
            if let Some(reason) = phase.orbit_fault(topology) {
                return Err(ExecutionError::Orbits { phase: number, reason });
            }
            let written = (!phase.orbits.is_empty()).then(|| phase.written_out(topology));
            let phase = written.as_ref().unwrap_or(phase);
            for (stage, pieces) in stages(phase, !schedule.orders.is_empty()).into_iter().enumerate() {
                let mut transfers = Vec::with_capacity(pieces.len());
                for &(transfer, piece) in &pieces {
                    links.check_ends(number, transfer)?;
                    let first_word = next_word.entry(transfer.connection).or_default();
                    parts.push(Part { connection: transfer.connection, first_word: *first_word, words: piece.words });
                    *first_word += piece.words;
                    transfers.push(PlannedTransfer {
                        from: transfer.source,
                        to: transfer.destination,
                        bytes: piece.words * schedule.resources.word_bytes,
                        route: links.along(number, transfer)?,
                    });
                }
                phases.push(PlannedPhase {
                    transfers,
                    sharing: sharing(&pieces, &schedule.resources),
                    begins: match stage {
                        0 => Begins::Switched,
                        _ if schedule.orders.is_empty() => Begins::Sent,
                        _ => Begins::Arrived,
                    },
                });
            }
        }
        let plan = ExchangePlan::new(topology.nodes(), ExchangeMethod::Connections, phases, elements);
        Ok(Execution { plan: Arc::new(plan), parts: parts.into(), word_bytes: schedule.resources.word_bytes })
    }

    /// A message for every connection. Nodes send theirs in the order of the set, or in a random one by a seed: where all
    /// send to all, not all then send to the same nodes at once (section 5.1.3 of Feldmann, Stricker and Warfel 1993). A
    /// connection that comes after others by the orders of the set is in a later phase than those: a stage of a butterfly
    /// sends what the stage before has brought.
    pub fn of_messages(
        set: &ConnectionSet,
        word_bytes: u64,
        elements: Option<ElementCost>,
        random: Option<u64>,
    ) -> Execution {
        let mut order: Vec<u32> = (0..set.connections.len() as u32).collect();
        if let Some(seed) = random {
            order.shuffle(&mut weft_base::generator(seed, 0));
        }
        let ranks = set.ranks().expect("the orders of a set have no cycle");
        order.sort_by_key(|&index| ranks[index as usize]);
        let of = |&index: &u32| {
            let connection = set.connections[index as usize];
            let planned = PlannedTransfer {
                from: connection.source,
                to: connection.destination,
                bytes: connection.words * word_bytes,
                route: Vec::new(),
            };
            (planned, Part { connection: index, first_word: 0, words: connection.words })
        };
        let in_phase = |phase: &[u32]| PlannedPhase {
            transfers: phase.iter().map(|index| of(index).0).collect(),
            sharing: Sharing::InOrder,
            begins: Begins::Switched,
        };
        let phases = order.chunk_by(|&a, &b| ranks[a as usize] == ranks[b as usize]).map(in_phase).collect();
        let parts: Vec<Part> = order.iter().map(|index| of(index).1).collect();
        let plan = ExchangePlan::new(set.nodes as usize, ExchangeMethod::Messages, phases, elements);
        Execution { plan: Arc::new(plan), parts: parts.into(), word_bytes }
    }

    /// The same with words of another length.
    pub fn with_word_bytes(self, word_bytes: u64) -> Execution {
        let mut phases = self.plan.phases().to_vec();
        let transfers = phases.iter_mut().flat_map(|phase| &mut phase.transfers);
        for (transfer, part) in transfers.zip(&*self.parts) {
            transfer.bytes = part.words * word_bytes;
        }
        let plan = ExchangePlan::new(self.plan.ranks(), self.plan.method(), phases, self.plan.elements());
        Execution { plan: Arc::new(plan), parts: self.parts, word_bytes }
    }

    /// The parts that `rank` sends, in the order of the plan.
    pub fn sends(&self, rank: usize) -> impl Iterator<Item = &Part> {
        self.plan.sends(rank).map(|sent| &self.parts[sent.index])
    }

    /// The parts that `rank` receives, in the order of the plan.
    pub fn receives(&self, rank: usize) -> impl Iterator<Item = &Part> {
        self.plan.receives(rank).map(|received| &self.parts[received.index])
    }
}

/// An uninterrupted part of a transfer.
type Timed<'a> = (&'a Transfer, Piece);

/// Parts of times that differ by less are the same: starts and durations are rounded.
const ROUNDING: f64 = 1e-6;

/// The uninterrupted transfers of a phase by their starts. Where orders bind connections, those that wait for others come
/// in a stage of their own, when nothing is under way; where there are none, and transfers have pieces, all that start
/// together are a stage.
fn stages(phase: &Phase, ordered: bool) -> Vec<Vec<Timed<'_>>> {
    let mut pieces: Vec<Timed> =
        phase.connections.iter().flat_map(|transfer| transfer.parts().map(move |piece| (transfer, piece))).collect();
    pieces.sort_by(|(_, a), (_, b)| a.start.total_cmp(&b.start));
    if !ordered && phase.connections.iter().all(|transfer| transfer.pieces.is_empty()) {
        return vec![pieces];
    }
    if !ordered {
        let together = |a: &Timed, b: &Timed| b.1.start <= a.1.start + ROUNDING * a.1.duration;
        return pieces.chunk_by(together).map(<[Timed]>::to_vec).collect();
    }
    let (mut stages, mut until) = (vec![Vec::new()], 0.0f64);
    for (transfer, piece) in pieces {
        if piece.start >= until * (1.0 - ROUNDING) && stages.last().is_some_and(|stage| !stage.is_empty()) {
            stages.push(Vec::new());
        }
        until = until.max(piece.start + piece.duration);
        stages.last_mut().expect("there is a stage from the beginning").push((transfer, piece));
    }
    stages
}

/// How nodes share their time among their transfers: they alternate where all flow from the same start and end, or arrive,
/// at the same time, and where some node sends, or receives, on several connections at the same time.
fn sharing(pieces: &[Timed], resources: &Resources) -> Sharing {
    // The most that times differ by.
    let spread = |of: &dyn Fn(&Timed) -> f64| {
        let range = pieces.iter().map(of).fold((f64::INFINITY, 0.0f64), |(low, high), at| (low.min(at), high.max(at)));
        range.1 - range.0
    };
    let end = |(_, piece): &Timed| piece.start + piece.duration;
    let starts = spread(&|(_, piece)| piece.start);
    let (ends, arrivals) = (spread(&end), spread(&|timed| end(timed) + resources.latency_seconds(timed.0.hops())));
    let rounding = ROUNDING * pieces.first().map_or(0.0, end);
    if starts <= rounding && ends.min(arrivals) <= rounding {
        return if arrivals < ends { Sharing::ArrivingTogether } else { Sharing::ThroughTogether };
    }
    if overlaps_at_an_end(pieces) { Sharing::ThroughTogether } else { Sharing::InOrder }
}

fn overlaps_at_an_end(pieces: &[Timed]) -> bool {
    let mut busy_until: FxHashMap<(bool, u32), f64> = FxHashMap::default();
    pieces.iter().any(|(transfer, piece)| {
        let ends = [(true, transfer.source), (false, transfer.destination)];
        ends.into_iter().any(|end| {
            let until = busy_until.entry(end).or_insert(0.0);
            let overlaps = piece.start < *until - ROUNDING * piece.duration;
            *until = until.max(piece.start + piece.duration);
            overlaps
        })
    })
}

/// The links of a topology by their ends, nodes first, then switches.
struct Links {
    nodes: usize,
    /// The links of vertex v are `first[v]..first[v + 1]`,
    first: Vec<u32>,
    /// each with the vertex that it leads to, by which they are sorted.
    leading: Vec<(u32, u32)>,
}

impl Links {
    fn of(topology: &Topology) -> Links {
        let nodes = topology.nodes();
        let number = |vertex| match vertex {
            Vertex::Node(node) => node as u32,
            Vertex::Switch(switch) => (nodes + switch) as u32,
        };
        let ends = |link| {
            let (from, to) = topology.link_ends(link);
            (number(from), number(to), link as u32)
        };
        let mut links: Vec<(u32, u32, u32)> = (0..topology.links()).map(ends).collect();
        links.sort_unstable();
        let vertices = links.last().map_or(0, |&(from, ..)| from as usize + 1);
        let mut first = vec![0; vertices + 1];
        links.iter().for_each(|&(from, ..)| first[from as usize + 1] += 1);
        for vertex in 0..vertices {
            first[vertex + 1] += first[vertex];
        }
        Links { nodes, first, leading: links.into_iter().map(|(_, to, link)| (to, link)).collect() }
    }

    /// The first of the links from one vertex to another.
    fn link(&self, from: u32, to: u32) -> Option<u32> {
        let [first, end] = *self.first.get(from as usize..from as usize + 2)? else { return None };
        let of_vertex = &self.leading[first as usize..end as usize];
        let at = of_vertex.partition_point(|&(other, _)| other < to);
        of_vertex.get(at).filter(|&&(other, _)| other == to).map(|&(_, link)| link)
    }

    fn check_ends(&self, phase: usize, transfer: &Transfer) -> Result<(), ExecutionError> {
        let Transfer { connection, source, destination, .. } = *transfer;
        if let Some(&node) = [source, destination].iter().find(|&&node| node as usize >= self.nodes) {
            return Err(ExecutionError::NoNode { phase, connection, node, nodes: self.nodes });
        }
        if source == destination {
            return Err(ExecutionError::SelfConnection { phase, connection, node: source });
        }
        if transfer.route.first() != Some(&source) || transfer.route.last() != Some(&destination) {
            let (route, from, to) = (transfer.route.clone(), source, destination);
            return Err(ExecutionError::WrongEnds { phase, connection, route, from, to });
        }
        Ok(())
    }

    fn along(&self, phase: usize, transfer: &Transfer) -> Result<Vec<u32>, ExecutionError> {
        let connection = transfer.connection;
        let link = |ends: &[u32]| {
            let (from, to) = (ends[0], ends[1]);
            self.link(from, to).ok_or(ExecutionError::NoLink { phase, connection, from, to })
        };
        let mut links = Vec::with_capacity(transfer.hops());
        for ends in transfer.route.windows(2) {
            links.push(link(ends)?);
        }
        Ok(links)
    }
}
