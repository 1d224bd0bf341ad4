//! What the compiler makes: trees for every piece of every rank's data, and the cut that nobody can beat.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::error::CollectiveError;
use crate::fabric::Fabric;

/// What ranks do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Collective {
    /// Every rank has a shard; all get all shards.
    Allgather,
    /// Every rank has a whole buffer; each gets its shard of their sum.
    ReduceScatter,
    /// Every rank has a whole buffer; all get their sum.
    Allreduce,
    /// One rank has a buffer; all get it.
    Broadcast,
    /// Every rank has a whole buffer; one gets their sum.
    Reduce,
    /// Every rank has a buffer with a block for each rank; all get the blocks for them.
    AllToAll,
}

impl Collective {
    pub const ALL: [Collective; 6] = [
        Collective::Allgather,
        Collective::ReduceScatter,
        Collective::Allreduce,
        Collective::Broadcast,
        Collective::Reduce,
        Collective::AllToAll,
    ];

    /// The word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Allgather => "allgather",
            Collective::ReduceScatter => "reduce-scatter",
            Collective::Allreduce => "allreduce",
            Collective::Broadcast => "broadcast",
            Collective::Reduce => "reduce",
            Collective::AllToAll => "all-to-all",
        }
    }

    /// Whether one rank is the source of everything, or its destination.
    pub fn has_root(self) -> bool {
        matches!(self, Collective::Broadcast | Collective::Reduce)
    }

    /// What its stages do, in order.
    pub fn operations(self) -> &'static [Operation] {
        match self {
            Collective::Allgather | Collective::Broadcast | Collective::AllToAll => &[Operation::Copy],
            Collective::ReduceScatter | Collective::Reduce => &[Operation::Reduce],
            Collective::Allreduce => &[Operation::Reduce, Operation::Copy],
        }
    }
}

/// What a rank does with what it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// It keeps a copy and passes it on.
    Copy,
    /// It adds its own and passes the sum on.
    Reduce,
    /// Both at the same time, piece by piece: sums go to the root of a tree while others come back from it.
    ReduceBroadcast,
}

/// A transfer between two ranks, over links. In trees, switches that copy or add ([`Fabric::in_network`]) send and receive
/// too, and are numbered after the ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transfer(
    /// The member that sends.
    pub usize,
    /// The member that receives.
    pub usize,
    /// The links, in order.
    pub Vec<u32>,
);

/// The way of a range of bytes from its root to all ranks, or from all ranks to its root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// The rank that has the range before copying, or after reducing; any member where both are done at the same time. Of an
    /// all-to-all the sender of a block, and the transfers lead from rank to rank until the block is where it belongs.
    pub root: usize,
    /// The share of the root's data, in parts of the stage's `parts`; of the buffer where both are done at the same time. Of
    /// an all-to-all the bytes of the range, and `parts` are those of a rank's buffer.
    pub weight: i64,
    /// The first byte, counted in the whole buffer; of an all-to-all in the buffers of all ranks, one after another.
    pub start: u64,
    /// How many bytes.
    pub bytes: u64,
    /// In an order in which they can happen; the first half reduces and the second half copies where both are done and
    /// nothing else is said.
    pub transfers: Vec<Transfer>,
    /// Where both are done, how many transfers reduce, if that is not half of them: other switches take part on the way
    /// back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reductions: Option<usize>,
}

impl Tree {
    /// The transfers that reduce, and those that copy, in a stage of this operation.
    pub fn halves(&self, operation: Operation) -> (&[Transfer], &[Transfer]) {
        self.transfers.split_at(match operation {
            Operation::Copy => 0,
            Operation::Reduce => self.transfers.len(),
            Operation::ReduceBroadcast => self.reductions.unwrap_or(self.transfers.len() / 2),
        })
    }
}

/// A lower bound: the data of the roots in the cut crosses its links, out of it in copying and into it in reducing. Of an
/// all-to-all, by prices of links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// The vertices of the cut; none of an all-to-all.
    pub cut: Vec<usize>,
    /// Of an allreduce that is not in two stages, disjoint sets of vertices that together with the cut have all ranks, each at least one:
    /// every element leaves such sets, and enters them, twice as often as there are others beside the first
    /// (crates/collectives/src/partition.rs says why). None where the buffer crosses the cut alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Vec<usize>>,
    /// Of an all-to-all what a byte pays on a link; nothing on links that are not listed. All bytes pay no less than on
    /// cheapest paths, and links earn no more than their prices times their bandwidths every second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<(u32, u64)>,
    /// The most that each root can distribute or collect, bytes a second; of a cut with others what they all can send, or
    /// receive if that is less.
    pub rate: f64,
    /// No schedule takes less for the bytes of this one, s.
    pub seconds: f64,
}

/// Copying or reducing, everything at once; or both, which is a whole allreduce.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    pub operation: Operation,
    /// The sum of the weights of each root's trees, or of all where both are done at the same time.
    pub parts: i64,
    /// How many pieces the range of a tree is sent in, one after another.
    pub chunks: u64,
    /// Whether all that goes from one rank to another is one message, which is sent when the sender has all of it.
    #[serde(default)]
    pub merged: bool,
    /// Where only the trees of rank 0 are written: the extents of axes along which ranks are numbered, the last axis
    /// fastest. Every rank has the same trees, moved along the axes and round their ends by its coordinates.
    ///
    /// Links start and end at ranks then, and moving takes every link to one as fast; of several between the same ranks
    /// that are alike, in the order of their numbers. The bytes of a rank are divided among its trees at the same offsets
    /// as those of rank 0, which has no fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translated: Option<Vec<usize>>,
    /// What people call the way in which an all-to-all is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    pub trees: Vec<Tree>,
    pub bound: Bound,
    /// What the trees let each root distribute or collect if nothing but bandwidth limits, bytes a second; of the whole
    /// buffer where both are done at the same time.
    pub rate: f64,
    /// Predicted by the model of [`crate::predict`], s.
    pub seconds: f64,
}

/// A message of a round: the route by its number, the first byte, counted in the whole buffer, and how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message(
    /// The number of its route.
    pub u32,
    /// The first byte.
    pub u64,
    /// How many bytes.
    pub u64,
);

/// Messages that do not wait for each other: each carries what its sender had before the round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    pub operation: Operation,
    pub messages: Vec<Message>,
}

/// Rounds of messages in place of trees: recursive doubling, rings and the like, in which ranks swap what they have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// What people call the algorithm.
    pub form: String,
    /// The paths that messages take.
    pub routes: Vec<Transfer>,
    pub rounds: Vec<Round>,
    /// What crosses this cut, or leaves and enters its sets, does so whatever the form.
    pub bound: Bound,
    /// Predicted by the model of [`crate::predict`], s.
    pub seconds: f64,
}

/// A compiled collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Says what kind of file it is: [`KIND`].
    pub kind: String,
    pub collective: Collective,
    /// Of the whole buffer: what all ranks have at the end, or had in the beginning; of an all-to-all each of them.
    pub bytes: u64,
    /// No element of so many bytes is divided.
    pub element_bytes: u64,
    /// Of a broadcast or reduction.
    pub root: Option<usize>,
    /// Of an all-to-all with blocks of unlike length, their bytes by source and destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<Vec<u64>>>,
    pub fabric: Fabric,
    /// Of trees; none where there is an exchange.
    pub stages: Vec<Stage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

/// The `kind` of a schedule's file.
pub const KIND: &str = "weft collective 1";

impl Schedule {
    /// The schedule that a file has; nothing but its form is checked. `path` is what messages call it.
    ///
    /// # Errors
    /// For text that is no compiled collective.
    pub fn from_json(text: &str, path: &str) -> Result<Schedule, CollectiveError> {
        let schedule: Schedule = serde_json::from_str(text)
            .map_err(|error| CollectiveError::new(format!("{path}: not a compiled collective: {error}")))?;
        if schedule.kind != KIND {
            return Err(CollectiveError::new(format!("{path}: its kind is '{}', expected '{KIND}'", schedule.kind)));
        }
        Ok(schedule)
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a schedule is plain data")
    }

    /// Seconds that the model predicts for all stages, one after another.
    pub fn seconds(&self) -> f64 {
        match &self.exchange {
            Some(exchange) => exchange.seconds,
            None => self.stages.iter().map(|stage| stage.seconds).sum(),
        }
    }

    /// Seconds below which no schedule of these stages is, one after another; of an exchange, no schedule that sends
    /// elements, and sums of them, each on its own.
    pub fn bound_seconds(&self) -> f64 {
        match &self.exchange {
            Some(exchange) => exchange.bound.seconds,
            None => self.stages.iter().map(|stage| stage.bound.seconds).sum(),
        }
    }

    /// Seconds by bandwidth alone.
    pub fn transmission(&self) -> f64 {
        if let Some(exchange) = &self.exchange {
            return exchange.transmission(&self.fabric);
        }
        let shares = |stage: &Stage| match stage.operation {
            Operation::ReduceBroadcast => 1.0,
            _ if self.collective.has_root() || self.collective == Collective::AllToAll => 1.0,
            _ => 1.0 / self.fabric.ranks.len() as f64,
        };
        self.stages.iter().map(|stage| self.bytes as f64 * shares(stage) / stage.rate).sum()
    }

    /// The throughput by bandwidth alone in parts of the certified bound, at most 1.
    pub fn efficiency(&self) -> f64 {
        if let Some(exchange) = &self.exchange {
            return exchange.bound.seconds / exchange.transmission(&self.fabric);
        }
        if let [stage] = &self.stages[..]
            && stage.operation == Operation::ReduceBroadcast
        {
            return stage.bound.seconds * stage.rate / self.bytes as f64;
        }
        let time = |rate: fn(&Stage) -> f64| self.stages.iter().map(|stage| 1.0 / rate(stage)).sum::<f64>();
        time(|stage| stage.bound.rate) / time(|stage| stage.rate)
    }

    /// How many messages its execution sends.
    pub fn messages(&self) -> u64 {
        let of_stage = |stage: &Stage| {
            let transfers = || stage.trees.iter().filter(|tree| tree.bytes > 0).flat_map(|tree| &tree.transfers);
            if stage.merged {
                transfers().map(|transfer| (transfer.0, transfer.1)).collect::<FxHashSet<_>>().len() as u64
            } else {
                transfers().count() as u64 * stage.chunks * self.movements(stage)
            }
        };
        let exchanged = self.exchange.iter().flat_map(|exchange| &exchange.rounds);
        let exchanged: usize = exchanged.map(|round| round.messages.len()).sum();
        self.stages.iter().map(of_stage).sum::<u64>() + exchanged as u64
    }

    /// How many trees all stages have, written out or not.
    pub fn trees(&self) -> u64 {
        self.stages.iter().map(|stage| stage.trees.len() as u64 * self.movements(stage)).sum()
    }

    /// For how many ranks each tree of a stage stands.
    fn movements(&self, stage: &Stage) -> u64 {
        if stage.translated.is_some() { self.fabric.ranks.len() as u64 } else { 1 }
    }

    /// Whether switches copy or add in its trees.
    pub fn has_switches(&self) -> bool {
        let ranks = self.fabric.ranks.len();
        let mut transfers = self.stages.iter().flat_map(|stage| &stage.trees).flat_map(|tree| &tree.transfers);
        transfers.any(|transfer| transfer.0 >= ranks || transfer.1 >= ranks)
    }

    /// What people call the way in which it is done.
    pub fn form(&self) -> &str {
        match &self.exchange {
            Some(exchange) => &exchange.form,
            None if let [Stage { form: Some(form), .. }] = &self.stages[..] => form,
            None if self.has_switches() => "in-network trees",
            None if self.stages.iter().all(|stage| stage.merged) => "merged trees",
            None if self.stages.iter().all(|stage| stage.operation == Operation::ReduceBroadcast) => {
                "reduce-broadcast trees"
            }
            None => "trees",
        }
    }
}

impl Exchange {
    /// Seconds that the fullest link of every round is busy, summed.
    pub fn transmission(&self, fabric: &Fabric) -> f64 {
        let mut carried = vec![0.0f64; fabric.links.len()];
        let mut of_round = |round: &Round| {
            let links =
                || round.messages.iter().flat_map(|message| self.links_of(message).map(|link| (link, message.2)));
            links().for_each(|(link, bytes)| carried[link] += bytes as f64);
            let busy = links().map(|(link, _)| carried[link] / fabric.links[link].bandwidth).fold(0.0, f64::max);
            links().for_each(|(link, _)| carried[link] = 0.0);
            busy
        };
        self.rounds.iter().map(&mut of_round).sum()
    }

    /// The links that a message crosses, in order.
    pub fn links_of(&self, message: &Message) -> impl Iterator<Item = usize> + use<'_> {
        self.routes[message.0 as usize].2.iter().map(|&link| link as usize)
    }
}

/// The bytes of each root: whole elements, of which the first roots have one more where they do not divide evenly.
pub fn shards(bytes: u64, element_bytes: u64, roots: usize) -> Vec<(u64, u64)> {
    let elements = bytes / element_bytes;
    let (each, more) = (elements / roots as u64, elements % roots as u64);
    let start = |index: u64| (index * each + index.min(more)) * element_bytes;
    (0..roots as u64).map(|index| (start(index), start(index + 1) - start(index))).collect()
}
