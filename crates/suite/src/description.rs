//! A benchmark as lists, help texts and checks see it.

use serde::Serialize;
use weft_base::Operation;
use weft_comm::prepared::Feature;
use weft_machine::Machine;

use crate::parameters::Parameter;
use crate::request::Request;
use crate::usage::UsageError;

/// What a benchmark is about; sections of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// One message at a time between two ranks or around a ring.
    PointToPoint,
    /// Many messages at a time.
    Throughput,
    /// Messages against computation and against each other.
    Traffic,
    /// Distributed arrays: what travels between their blocks.
    Exchange,
    /// All ranks in one operation.
    Collective,
    /// Operations of all ranks that are started and waited for, or made once and started again.
    Overlap,
    /// The memory of other ranks.
    OneSided,
    /// Messages whose elements do not lie side by side.
    Datatype,
    /// Whole programs.
    Program,
    /// Reading and writing files.
    Files,
}

/// A parameter that a benchmark takes, by its name in the [`TABLE`](crate::parameters::TABLE), and what it is to the
/// benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Takes {
    pub name: &'static str,
    /// What it is of, e.g. "message".
    pub of: Option<&'static str>,
    /// Numbers where a request names none.
    pub default: &'static [u64],
    /// Shapes where a request names none.
    pub shapes: &'static [&'static [u64]],
    /// The names that it can be; empty where any is looked at by the benchmark itself.
    pub choices: &'static [&'static str],
    /// The least number that means anything to the benchmark.
    pub least: u64,
    /// Numbers must be multiples of this one (8 for reductions, which combine 8-byte elements).
    pub multiple_of: u64,
}

impl Takes {
    pub const fn of(self, what: &'static str) -> Takes {
        Takes { of: Some(what), ..self }
    }

    pub const fn default(self, default: &'static [u64]) -> Takes {
        Takes { default, ..self }
    }

    pub const fn shapes(self, shapes: &'static [&'static [u64]]) -> Takes {
        Takes { shapes, ..self }
    }

    pub const fn choices(self, choices: &'static [&'static str]) -> Takes {
        Takes { choices, ..self }
    }

    pub const fn least(self, least: u64) -> Takes {
        Takes { least, ..self }
    }

    pub const fn multiple_of(self, multiple_of: u64) -> Takes {
        Takes { multiple_of, ..self }
    }
}

/// That a benchmark takes the parameter of this name.
pub const fn takes(name: &'static str) -> Takes {
    Takes { name, of: None, default: &[], shapes: &[], choices: &[], least: 0, multiple_of: 1 }
}

/// What every benchmark of messages takes.
pub static COMMON: &[Takes] =
    &[takes("ranks"), takes("iterations"), takes("warmup"), takes("payload"), takes("seconds_per_point")];

/// The nodes of the ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// Rank r on node r, for so many ranks.
    ByNumber(usize),
    /// The node of each rank.
    Listed(Vec<usize>),
}

/// A benchmark as lists, help texts and checks see it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Description {
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    pub group: Group,
    pub aliases: &'static [&'static str],
    pub nearest_of: &'static [&'static str],
    pub example: &'static str,
    pub min_ranks: usize,
    pub default_ranks: usize,
    /// Whether it needs a rank on the machine's host, besides its own.
    pub host: bool,
    #[serde(skip)]
    pub(crate) needs: Option<Feature>,
    #[serde(skip)]
    pub(crate) why_ranks: &'static str,
    #[serde(rename = "takes")]
    pub own: &'static [Takes],
    #[serde(skip)]
    pub(crate) check: fn(&Request) -> Result<(), UsageError>,
    #[serde(skip)]
    pub(crate) check_ranks: fn(&Request, usize) -> Result<(), UsageError>,
    #[serde(skip)]
    pub(crate) placement: Placement,
    #[serde(skip)]
    pub(crate) operations: fn(&Request) -> Vec<Operation>,
}

type Placement = fn(&Machine, &mut Request, usize) -> Result<Nodes, UsageError>;

impl Description {
    /// What it takes of the parameter of this name, if it takes it.
    pub fn takes(&self, name: &str) -> Option<&'static Takes> {
        self.own.iter().chain(COMMON).find(|takes| takes.name == name)
    }

    /// Whether several threads of a rank call the backend at one time, for which it has to be started.
    pub fn calls_from_threads(&self) -> bool {
        self.needs == Some(Feature::Threads)
    }

    /// The numbers of a parameter where a request names none.
    pub fn default(&self, name: &str) -> &'static [u64] {
        self.takes(name).map_or(&[], |takes| takes.default)
    }

    /// The names that a parameter can be.
    pub fn choices(&self, name: &str) -> &'static [&'static str] {
        self.takes(name).map_or(&[], |takes| takes.choices)
    }

    /// The least number that a parameter can be.
    pub(crate) fn least(&self, parameter: &Parameter) -> u64 {
        self.takes(parameter.name).map_or(0, |takes| takes.least).max(parameter.least)
    }

    /// The lengths in bytes to measure, as given or the benchmark's own; empty where it takes none.
    pub fn lengths(&self, request: &Request) -> Vec<u64> {
        if request.bytes.is_empty() { self.default("bytes").to_vec() } else { request.bytes.clone() }
    }

    /// The extents to measure, as given or the benchmark's own; empty where it takes none.
    pub fn extents(&self, request: &Request) -> Vec<u64> {
        if request.extent.is_empty() { self.default("extent").to_vec() } else { request.extent.clone() }
    }

    /// The shapes of blocks to measure, as given or the benchmark's own; empty where it takes none.
    pub fn shapes(&self, request: &Request) -> Vec<Vec<u64>> {
        let own = self.takes("shape").map_or(&[][..], |takes| takes.shapes);
        if request.shape.is_empty() { own.iter().map(|shape| shape.to_vec()).collect() } else { request.shape.clone() }
    }

    /// See [`Benchmark::placement`](crate::Benchmark::placement).
    ///
    /// # Errors
    /// As there.
    pub fn placement(&self, machine: &Machine, request: &mut Request, ranks: usize) -> Result<Nodes, UsageError> {
        (self.placement)(machine, request, ranks)
    }

    /// See [`Benchmark::operations`](crate::Benchmark::operations).
    pub fn operations(&self, request: &Request) -> Vec<Operation> {
        (self.operations)(request)
    }
}
