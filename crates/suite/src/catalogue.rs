//! What there is to measure: one line and the parameters of every benchmark.

use serde::Serialize;
use weft_comm::CollectiveKind;
use weft_comm::collective::algorithms;

use crate::request::UsageError;

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
    /// Whole programs.
    Program,
    /// Reading and writing files.
    Files,
}

/// The lengths a benchmark takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lengths {
    /// Used where a request names none, in bytes.
    pub default: &'static [u64],
    /// What the length is of, e.g. "message".
    pub of: &'static str,
    /// Whether a length of zero bytes means something.
    pub zero: bool,
    /// Lengths must be multiples of this many bytes (8 for reductions, which combine 8-byte elements).
    pub multiple_of: u64,
}

/// Which fields of a request apply to a benchmark, and what they are where the request leaves them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// The fewest ranks it works with.
    pub min_ranks: usize,
    /// A sensible number of ranks where nobody says.
    pub default_ranks: usize,
    /// Its lengths, if it takes any.
    pub bytes: Option<Lengths>,
    /// Whether it takes distances in hops.
    pub hops: bool,
    /// The names of its algorithms (besides `auto` and `native`), empty if it takes none.
    pub algorithms: &'static [&'static str],
    /// Messages in flight where a request does not say, if it takes a window.
    pub window: Option<usize>,
    /// Numbers of neighbours where a request does not say (as far as there are ranks), empty if it takes none.
    pub neighbours: &'static [u32],
    /// Lengths of background messages where a request does not say, in bytes; empty if it has no background.
    pub background_bytes: &'static [u64],
    /// Whether it needs a rank on the machine's host, besides its own.
    pub host: bool,
    /// Shapes of the block of one rank where a request names none, empty if it takes none.
    pub shapes: &'static [&'static [u64]],
    /// Its orders (of a matrix, of a grid) where a request names none, if it takes any.
    pub n: Option<&'static [u64]>,
    /// Whether it can be had in single and in double precision.
    pub precision: bool,
    /// The names of the file systems it can use, empty if it uses none.
    pub file_systems: &'static [&'static str],
}

/// One benchmark, as lists and help texts show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Benchmark {
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    pub group: Group,
    pub parameters: Parameters,
}

/// Powers of two from 8 bytes to 1 MiB.
const MESSAGES: &[u64] =
    &[8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072, 262_144, 524_288, 1_048_576];

/// Powers of four from 8 bytes to 128 KiB: collectives hold up to `ranks` times as much.
const BLOCKS: &[u64] = &[8, 32, 128, 512, 2048, 8192, 32768, 131_072];

/// Orders of the matrices of figure 12 of Dunigan 1991.
const MATRICES: &[u64] = &[50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];

/// Points along an edge of a grid: from more file than computation to the reverse.
const GRIDS: &[u64] = &[64, 128, 256, 512];
/// Powers of two from 8 bytes to 8 KiB: the range of figures 6 to 9 of Dunigan 1991.
const TRAFFIC: &[u64] = &[8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

/// Cubes of three axes and one of four: from what startup decides to what bytes decide.
const BLOCK_SHAPES: &[&[u64]] =
    &[&[4, 4, 4], &[8, 8, 8], &[16, 16, 16], &[32, 32, 32], &[64, 64, 64], &[128, 128, 128], &[16, 16, 16, 16]];

const NOTHING: Parameters = Parameters {
    min_ranks: 2,
    default_ranks: 2,
    bytes: None,
    hops: false,
    algorithms: &[],
    window: None,
    neighbours: &[],
    background_bytes: &[],
    host: false,
    shapes: &[],
    n: None,
    precision: false,
    file_systems: &[],
};

const fn traffic(zero: bool) -> Option<Lengths> {
    Some(Lengths { default: TRAFFIC, of: "message", zero, multiple_of: 1 })
}

/// Figure 9: '1, 2, 4, and 6 nearest neighbors'.
const FAN: Parameters =
    Parameters { default_ranks: 7, bytes: traffic(false), window: Some(64), neighbours: &[1, 2, 4, 6], ..NOTHING };

const fn messages(zero: bool) -> Option<Lengths> {
    Some(Lengths { default: MESSAGES, of: "message", zero, multiple_of: 1 })
}

const fn blocks(of: &'static str, multiple_of: u64) -> Option<Lengths> {
    Some(Lengths { default: BLOCKS, of, zero: false, multiple_of })
}

const fn collective(
    name: &'static str,
    summary: &'static str,
    bytes: Option<Lengths>,
    algorithms: &'static [&'static str],
) -> Benchmark {
    let parameters = Parameters { bytes, algorithms, ..NOTHING };
    Benchmark { name, summary, group: Group::Collective, parameters }
}

/// Lengths of the blocks that files are read and written by.
const FILE_BLOCKS: &[u64] = &[1024, 4096, 16384, 65536, 262_144];

const fn file(
    name: &'static str,
    summary: &'static str,
    default_ranks: usize,
    file_systems: &'static [&'static str],
) -> Benchmark {
    let bytes = Some(Lengths { default: FILE_BLOCKS, of: "block", zero: false, multiple_of: 1 });
    let parameters = Parameters { min_ranks: 1, default_ranks, bytes, file_systems, ..NOTHING };
    Benchmark { name, summary, group: Group::Files, parameters }
}

/// The names of the algorithms of a collective, as a constant.
macro_rules! names_of {
    ($kind:ident) => {{
        const ALGORITHMS: &[weft_comm::collective::Algorithm] = algorithms(CollectiveKind::$kind);
        const NAMES: [&str; ALGORITHMS.len()] = {
            let mut names = [""; ALGORITHMS.len()];
            let mut index = 0;
            while index < names.len() {
                names[index] = ALGORITHMS[index].name();
                index += 1;
            }
            names
        };
        &NAMES
    }};
}

static CATALOGUE: &[Benchmark] = &[
    Benchmark {
        name: "echo",
        summary: "one message to a partner and back: one-way time by length and hops",
        group: Group::PointToPoint,
        parameters: Parameters { bytes: messages(true), hops: true, ..NOTHING },
    },
    Benchmark {
        name: "echo-self",
        summary: "one message of a rank to itself: the software's share of a message",
        group: Group::PointToPoint,
        parameters: Parameters { min_ranks: 1, default_ranks: 1, bytes: messages(true), ..NOTHING },
    },
    Benchmark {
        name: "echo-host",
        summary: "one message from rank 0 to the host and back: one-way time by length",
        group: Group::PointToPoint,
        parameters: Parameters { min_ranks: 1, default_ranks: 1, bytes: messages(true), host: true, ..NOTHING },
    },
    Benchmark {
        name: "ring",
        summary: "every rank sends to the next of a ring (Gray code where the machine embeds it): time of one step",
        group: Group::PointToPoint,
        parameters: Parameters { bytes: messages(true), ..NOTHING },
    },
    Benchmark {
        name: "bandwidth",
        summary: "a window of messages in flight one way, then an acknowledgement: time of one message",
        group: Group::Throughput,
        parameters: Parameters { bytes: messages(false), window: Some(64), ..NOTHING },
    },
    Benchmark {
        name: "bisection",
        summary: "the ranks of one half exchange with those of the other, all at once: time of one exchange",
        group: Group::Throughput,
        parameters: Parameters { bytes: messages(false), ..NOTHING },
    },
    Benchmark {
        name: "halo",
        summary: "ghosts across all faces between the blocks of a distributed array: time of one exchange by shape",
        group: Group::Exchange,
        parameters: Parameters { min_ranks: 1, shapes: BLOCK_SHAPES, ..NOTHING },
    },
    Benchmark {
        name: "stencil",
        summary: "one step of nearest neighbours on a distributed array, faces travelling while the interior is computed",
        group: Group::Exchange,
        parameters: Parameters { min_ranks: 1, shapes: BLOCK_SHAPES, ..NOTHING },
    },
    Benchmark {
        name: "stencil-in-turn",
        summary: "as stencil, but the exchange first and the computation afterwards: what overlapping them gains",
        group: Group::Exchange,
        parameters: Parameters { min_ranks: 1, shapes: BLOCK_SHAPES, ..NOTHING },
    },
    Benchmark {
        name: "routing-echo",
        summary: "two-hop echo while the ranks on its way compute, against idle ones: one-way time and what it loses",
        group: Group::Traffic,
        parameters: Parameters { min_ranks: 3, default_ranks: 4, bytes: traffic(true), ..NOTHING },
    },
    Benchmark {
        name: "routing-compute",
        summary: "a spin loop on the ranks between while a two-hop echo passes (2 ranks: on the one that receives): \
                  its time and what it loses",
        group: Group::Traffic,
        parameters: Parameters { default_ranks: 4, bytes: traffic(true), ..NOTHING },
    },
    Benchmark {
        name: "contention",
        summary: "a probe's rate by the load of background traffic: time of one message and what it loses",
        group: Group::Traffic,
        parameters: Parameters {
            min_ranks: 4,
            default_ranks: 8,
            bytes: traffic(false),
            background_bytes: &[8, 128, 1024, 8192],
            ..NOTHING
        },
    },
    Benchmark {
        name: "fan-in",
        summary: "1, 2, 4 and 6 neighbours send to one rank at once: time of one message there and the rate of all",
        group: Group::Traffic,
        parameters: FAN,
    },
    Benchmark {
        name: "fan-out",
        summary: "one rank sends to 1, 2, 4 and 6 neighbours at once: time of one message there and the rate of all",
        group: Group::Traffic,
        parameters: FAN,
    },
    file(
        "file-host",
        "a node reads a file of the machine's host by blocks: time of the file, and bytes per second",
        1,
        &["host"],
    ),
    file(
        "file-read",
        "every rank reads a file of its own by blocks: time of all files, and bytes per second",
        4,
        &["posix", "mpi-io", "concurrent"],
    ),
    file(
        "file-write",
        "every rank writes a file of its own by blocks, to the device: time of all files, and bytes per second",
        4,
        &["posix", "mpi-io", "concurrent"],
    ),
    collective("barrier", "no rank goes on before all have come", None, names_of!(Barrier)),
    collective("broadcast", "one rank's message to all", blocks("message", 1), names_of!(Broadcast)),
    collective("reduce", "the sum of all ranks' vectors on one rank", blocks("vector", 8), names_of!(Reduce)),
    collective("allreduce", "the sum of all ranks' vectors on all ranks", blocks("vector", 8), names_of!(Allreduce)),
    collective("gather", "a block of every rank to one rank", blocks("block of one rank", 1), names_of!(Gather)),
    collective("scatter", "a block for every rank from one rank", blocks("block of one rank", 1), names_of!(Scatter)),
    collective("allgather", "a block of every rank to all ranks", blocks("block of one rank", 1), names_of!(Allgather)),
    collective(
        "alltoall",
        "a block of every rank for every rank",
        blocks("block for one rank", 1),
        names_of!(Alltoall),
    ),
    collective(
        "alltoallv",
        "as alltoall, with blocks of 0 to 2 times the length (the same at every run of a seed)",
        blocks("block for one rank, on average", 1),
        names_of!(Alltoallv),
    ),
    collective("scan", "the sums of the vectors of ranks 0 to r on every rank r", blocks("vector", 8), names_of!(Scan)),
    Benchmark {
        name: "cholesky",
        summary: "factorisation of an n x n matrix by columns (fan-out): time, and rate by n^3/3 operations",
        group: Group::Program,
        parameters: Parameters {
            min_ranks: 1,
            default_ranks: 16,
            algorithms: names_of!(Broadcast),
            n: Some(MATRICES),
            precision: true,
            ..NOTHING
        },
    },
    Benchmark {
        name: "jacobi",
        summary: "reads an n x n grid from a file, relaxes it 100 times, writes it: time, and rate by 4 operations a point",
        group: Group::Program,
        parameters: Parameters {
            min_ranks: 1,
            default_ranks: 16,
            n: Some(GRIDS),
            precision: true,
            file_systems: &["posix", "mpi-io", "concurrent", "host"],
            ..NOTHING
        },
    },
];

/// Every benchmark, in the order in which lists show them.
pub fn catalogue() -> &'static [Benchmark] {
    CATALOGUE
}

/// The benchmark of this name.
///
/// # Errors
/// [`UsageError`] that suggests the nearest name.
pub fn find(name: &str) -> Result<&'static Benchmark, UsageError> {
    catalogue().iter().find(|benchmark| benchmark.name == name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> UsageError {
    let nearest = catalogue()
        .iter()
        .map(|benchmark| (strsim::jaro_winkler(name, benchmark.name), benchmark.name))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((similarity, nearest)) if similarity > 0.7 => {
            UsageError(format!("there is no benchmark '{name}'; did you mean '{nearest}'?"))
        }
        _ => {
            let names: Vec<&str> = catalogue().iter().map(|benchmark| benchmark.name).collect();
            UsageError(format!("there is no benchmark '{name}'; there are {}", names.join(", ")))
        }
    }
}
