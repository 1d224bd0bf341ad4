//! Schedules (seam 4): what a communication compiler produces and what worlds execute.

use serde::{Deserialize, Serialize};
use weft_comm::ExchangeMethod;

use crate::pattern::Order;
use crate::resources::Resources;

/// Phases one after the other, each a set of connections with their routes and times, and what it is compared with.
///
/// Vertices of routes are nodes by their number; switch s of a topology with n nodes is n + s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The name of the machine.
    pub machine: String,
    /// The name of the connection set.
    pub pattern: String,
    /// Which compiler made it, with its settings.
    pub compiler: String,
    pub resources: Resources,
    /// The number of connections.
    pub connections: u64,
    /// Ordering constraints that the schedule keeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<Order>,
    pub phases: Vec<Phase>,
    pub lower_bounds: Vec<LowerBound>,
    /// The sum over the phases and leaving the last one, s: what execution in virtual time takes.
    pub predicted_seconds: f64,
    /// What a message for every connection takes on the machine, s, where that was simulated: phases that take longer
    /// are the worse choice, whatever their bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seconds: Option<f64>,
    /// Whether it is carried out by a message for every connection, in place of the phases.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_messages: bool,
    /// Messages are sent in a random order of this seed; without one in that of the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seed: Option<u64>,
    /// Of everything above: a file that was changed after it was written does not have it any more.
    pub digest: String,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A transfer from each of some nodes of a torus, all over the same steps and at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orbit {
    /// The steps of every route, in order: `a + 1` is one upwards along axis a, `-(a + 1)` one downwards.
    pub steps: Vec<i32>,
    /// Words of each transfer.
    pub words: u64,
    /// s.
    pub start: f64,
    /// s.
    pub duration: f64,
    /// The nodes that the transfers start at.
    pub sources: Vec<u32>,
    /// Of each, its connection in the set.
    pub connections: Vec<u32>,
}

/// The connections that are open at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    pub connections: Vec<Transfer>,
    /// More of them, which are translations of each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orbits: Vec<Orbit>,
    /// Most connections on one direction of one link.
    pub largest_link_load: u32,
    /// Switching to the phase and its transfers until the last word has arrived, s.
    pub predicted_seconds: f64,
}

/// A connection in a phase, and when its words are transferred.
///
/// Times count from the start of the phase's transfers, after synchronisation and switching. The words flow at a constant
/// rate from `start` for `duration`, or piece by piece where there are `pieces`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Its index in the connection set.
    pub connection: u32,
    pub source: u32,
    pub destination: u32,
    /// Words transferred in this phase: all of the connection's, unless it is split over several phases.
    pub words: u64,
    /// Every vertex on the path, source and destination included.
    pub route: Vec<u32>,
    /// s.
    pub start: f64,
    /// s, from the start of the first word to the end of the last.
    pub duration: f64,
    /// Where the transfer is interrupted, or is in a later stage of its phase, its parts by ascending start; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<Piece>,
}

/// Part of a transfer without interruption, at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// s.
    pub start: f64,
    /// s.
    pub duration: f64,
    pub words: u64,
}

impl Transfer {
    /// Its pieces, one if it is not interrupted.
    pub fn parts(&self) -> impl Iterator<Item = Piece> + '_ {
        let whole = Piece { start: self.start, duration: self.duration, words: self.words };
        let single = self.pieces.is_empty().then_some(whole);
        single.into_iter().chain(self.pieces.iter().copied())
    }

    /// Links crossed.
    pub fn hops(&self) -> usize {
        self.route.len().saturating_sub(1)
    }

    /// When its last word has arrived, s.
    pub fn arrival(&self, resources: &Resources) -> f64 {
        self.start + self.duration + resources.latency_seconds(self.hops())
    }
}

/// What no schedule of this set on these resources can be below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LowerBound {
    /// `channel capacity`, `endpoint degree`…
    pub name: String,
    pub value: f64,
    /// `phases` or `s`.
    pub unit: String,
    /// What proves it; the verifier computes the value again from it.
    pub certificate: Certificate,
}

/// A proof of a lower bound.
///
/// All but the last three are one argument. Give each node (or link) a weight that is not negative; a connection takes at
/// least the weight of the lightest path between its ends, a phase (or second) offers at most the weight of all there is,
/// and the quotient of the two sums is a lower bound of the phases (or seconds).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Certificate {
    /// Weights of nodes, for logical channels. One for every node, or 1 for all when empty.
    NodeChannels { weights: Vec<u32> },
    /// Weights of links, for channels of links. Links not named have none; with no link named all have 1.
    LinkChannels { links: Vec<WeightedLink> },
    /// The connections that start or end at a node, for its channels or ports.
    Degree { node: u32 },
    /// The words that a node sends and receives, for its access.
    Access { node: u32 },
    /// Weights of links, for their bandwidth. Links not named have none; with no link named all have 1.
    LinkBandwidth { links: Vec<WeightedLink> },
    /// The words that must leave a set of vertices, for the bandwidth of the links out of it.
    Cut { inside: Vec<u32> },
    /// The longest chain of orders: its transfers come one after the other.
    Chain { connections: Vec<u32> },
    /// Every hop of a shortest route is worth `hop` seconds and every connection `connection` seconds; no phase gets more
    /// for its time.
    PhasesAndLoad { hop: f64, connection: f64 },
    /// A link or a sender on which a whole number of connections is open transfers, in the time of t whole transfers, no
    /// more than t of them and no more than are open. The channels of all nodes allow so many to be open in a phase;
    /// whatever the number of phases, and however transfers are divided among them, this much time is needed, and no less
    /// than the bound of transfers named here.
    OpenAtOnce { transfers: Option<String> },
    /// The best bound of phases times what a phase costs, and of each phase the longest connection that it must have, since
    /// the channels of fewer phases do not suffice for all that are as long: with all of its words where it is whole, else
    /// with one.
    Longest { phases: String, whole: bool },
    /// The best bound of phases times what a phase costs, and the best bound of the time of transfers, are paid both.
    Sum { phases: String, transfers: Option<String> },
}

/// A directed link by its ends, and its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightedLink {
    pub from: u32,
    pub to: u32,
    pub weight: u32,
}

/// Why a text is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct NoSchedule {
    pub file: String,
    pub reason: String,
}

impl LowerBound {
    /// Whether it bounds the time of the transfers alone, without that of switching phases.
    pub fn is_of_transfers(&self) -> bool {
        let both = matches!(
            self.certificate,
            Certificate::PhasesAndLoad { .. }
                | Certificate::OpenAtOnce { .. }
                | Certificate::Longest { .. }
                | Certificate::Sum { .. }
        );
        self.unit == "s" && !both
    }
}

impl Schedule {
    /// The schedule as JSON, one connection a line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a schedule is plain data")
    }

    /// The schedule with every transfer written out, as those want it who look at transfers one by one.
    ///
    /// # Panics
    /// For orbits that there cannot be, which [`crate::verify`] refuses.
    pub fn written_out(&self) -> Schedule {
        let phases = self.phases.iter().map(|phase| phase.written_out(&self.resources.topology)).collect();
        Schedule { phases, ..self.without_phases() }.sealed()
    }

    fn without_phases(&self) -> Schedule {
        Schedule {
            machine: self.machine.clone(),
            pattern: self.pattern.clone(),
            compiler: self.compiler.clone(),
            resources: self.resources.clone(),
            connections: self.connections,
            orders: self.orders.clone(),
            phases: Vec::new(),
            lower_bounds: self.lower_bounds.clone(),
            predicted_seconds: self.predicted_seconds,
            message_seconds: self.message_seconds,
            by_messages: self.by_messages,
            message_seed: self.message_seed,
            digest: self.digest.clone(),
        }
    }

    /// The schedule that `text` is the JSON of; `file` is what messages call it. Nothing is checked but the form:
    /// [`crate::verify`] checks the rest.
    pub fn from_json(text: &str, file: &str) -> Result<Schedule, NoSchedule> {
        serde_json::from_str(text).map_err(|error| {
            let reason = if error.is_eof() {
                format!("the file ends in the middle of a schedule ({error})")
            } else {
                format!("expected a schedule as weft writes it: {error}")
            };
            NoSchedule { file: file.to_owned(), reason }
        })
    }

    /// The digest of everything but `digest`.
    pub fn computed_digest(&self) -> String {
        self.computed_digest_until(&|| false).expect("nobody interrupts it")
    }

    /// As [`Schedule::computed_digest`]; `None` where `stop` says so before all is read.
    pub fn computed_digest_until(&self, stop: &dyn Fn() -> bool) -> Option<String> {
        let digest = Digest { hash: 0xcbf2_9ce4_8422_2325, stop };
        let mut buffered = std::io::BufWriter::with_capacity(1 << 16, digest);
        let body = (
            (&self.machine, &self.pattern, &self.compiler, &self.resources, self.connections),
            (&self.orders, &self.phases, &self.lower_bounds, self.predicted_seconds),
        );
        // A schedule is plain data: nothing but `stop` ends it early.
        serde_json::to_writer(&mut buffered, &body).ok()?;
        if let Some(seconds) = self.message_seconds {
            serde_json::to_writer(&mut buffered, &seconds).ok()?;
        }
        // Files that were written before these were there keep their digest.
        if self.by_messages || self.message_seed.is_some() {
            serde_json::to_writer(&mut buffered, &(self.by_messages, self.message_seed)).ok()?;
        }
        let digest = buffered.into_inner().ok()?;
        Some(format!("{:016x}", digest.hash))
    }

    /// The schedule with its digest.
    pub fn sealed(self) -> Schedule {
        self.sealed_until(&|| false).expect("nobody interrupts it")
    }

    /// As [`Schedule::sealed`]; `None` where `stop` says so before there is a digest.
    pub fn sealed_until(mut self, stop: &dyn Fn() -> bool) -> Option<Schedule> {
        self.digest = self.computed_digest_until(stop)?;
        Some(self)
    }

    /// The faster of phases and messages, where it is known.
    pub fn faster(&self) -> Option<ExchangeMethod> {
        let messages = self.message_seconds?;
        let phases = messages >= self.predicted_seconds;
        Some(if phases { ExchangeMethod::Connections } else { ExchangeMethod::Messages })
    }

    /// The sum over the phases of their largest link loads.
    pub fn link_load_sum(&self) -> u64 {
        self.phases.iter().map(|phase| u64::from(phase.largest_link_load)).sum()
    }

    /// The most of a lower bound's values with this unit: `phases` or `s`.
    pub fn best_bound(&self, unit: &str) -> Option<&LowerBound> {
        let of_unit = self.lower_bounds.iter().filter(|bound| bound.unit == unit);
        of_unit.max_by(|a, b| a.value.total_cmp(&b.value))
    }
}

/// FNV-1a with 64 bits: the same on every machine, enough against accidents and edits by hand.
///
/// It is fed by a buffer, and asks `stop` once for each.
struct Digest<'a> {
    hash: u64,
    stop: &'a dyn Fn() -> bool,
}

impl std::io::Write for Digest<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if (self.stop)() {
            return Err(std::io::Error::other("interrupted"));
        }
        for &byte in bytes {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
