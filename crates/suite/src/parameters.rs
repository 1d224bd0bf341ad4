//! What a benchmark can be asked for: one row a parameter.
//!
//! A row is all that there is to say of a parameter. The fields of a [`Request`] are declared by the rows, requests are
//! checked by them, and `weft._core.parameters` hands them to Python, where command line, keywords and columns of the
//! samples come from them. The name of a row is the field, the keyword, the option (with hyphens) and the column.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::programs::Precision;

/// What messages carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PayloadSort {
    /// Bytes; echo checks that they come back as they went.
    Data,
    /// Only lengths: simulated runs need no memory for data; real ones move bytes of no meaning.
    Phantom,
}

/// Where messages lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BufferSort {
    /// The host's memory.
    Host,
    /// Memory of a device.
    Device,
}

/// The names of [`BufferSort`].
pub(crate) const BUFFERS: &[&str] = &["host", "device"];

/// What the values of a parameter are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Whole numbers, of which a range `1:6` holds every one.
    Counts,
    /// Whole numbers, of which a range `8:8192` holds the first one doubled again and again; they may have a K, M or G.
    Doublings,
    /// One whole number.
    Count,
    /// One number above zero.
    Real,
    /// Numbers above zero.
    Reals,
    /// Shapes of blocks: lists of extents.
    Shapes,
    /// Two ranks.
    Pair,
    /// A name.
    Name,
    /// Names.
    Names,
    /// Whether or not.
    Flag,
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    /// One sentence, without the unit and the default.
    pub help: &'static str,
    /// `B` where it is a size in bytes, `s` where it is a time; none for what is counted or named.
    pub unit: Option<&'static str>,
    /// The least number that means anything.
    pub least: u64,
    /// The greatest number that is taken.
    pub greatest: Option<u64>,
    /// What is said of a number below the least, where that is not plain; `{benchmark}` stands for its name.
    #[serde(skip)]
    pub below: Option<&'static str>,
    /// What applies where nothing is said, in words, unless each benchmark has a default of its own.
    pub default: Option<&'static str>,
    /// What the column of the samples holds, if there is a column of this name.
    pub column: Option<&'static str>,
}

impl Parameter {
    /// A parameter of a kind of values, with its sentence of help.
    pub const fn new(name: &'static str, kind: Kind, help: &'static str) -> Parameter {
        Parameter { name, kind, help, unit: None, least: 0, greatest: None, below: None, default: None, column: None }
    }

    pub const fn unit(self, unit: &'static str) -> Parameter {
        Parameter { unit: Some(unit), ..self }
    }

    pub const fn least(self, least: u64) -> Parameter {
        Parameter { least, ..self }
    }

    pub const fn greatest(self, greatest: u64) -> Parameter {
        Parameter { greatest: Some(greatest), ..self }
    }

    pub const fn below(self, text: &'static str) -> Parameter {
        Parameter { below: Some(text), ..self }
    }

    pub const fn default(self, text: &'static str) -> Parameter {
        Parameter { default: Some(text), ..self }
    }

    pub const fn column(self, meaning: &'static str) -> Parameter {
        Parameter { column: Some(meaning), ..self }
    }

    /// The name as a sentence has it: `file system`.
    pub fn words(&self) -> String {
        self.name.replace('_', " ")
    }
}

/// Declares the rows, and the fields of a [`Request`] for those that programs of the suite read. The others are read by
/// what measures or prices without messages.
macro_rules! parameters {
    (
        fields { $( $name:ident: $type:ty = $default:expr, $kind:ident $help:literal $(, $set:ident($text:expr))*; )* }
        others { $( $other:ident: $sort:ident $said:literal $(, $put:ident($words:expr))*; )* }
    ) => {
        /// Every parameter of every benchmark, in the order of lists.
        pub static TABLE: &[Parameter] = &[
            $( Parameter::new(stringify!($name), Kind::$kind, $help)$(.$set($text))*, )*
            $( Parameter::new(stringify!($other), Kind::$sort, $said)$(.$put($words))*, )*
        ];

        /// One benchmark and its parameters, for one launch.
        ///
        /// Every field may be left out of the JSON object; a field that no row of the [`TABLE`] declares is an error.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Request {
            /// A name or an alias of the [`catalogue`](crate::catalogue). Default: `echo`.
            pub benchmark: String,
            /// Of the order of the points and of random lengths. Default: 1.
            pub seed: u64,
            /// Whether rows carry the time of every iteration. Default: no.
            pub keep_samples: bool,
            $( #[doc = $help] pub $name: $type, )*
            /// Values of parameters that a [`Registry`](crate::Registry) adds to the table.
            #[serde(flatten)]
            pub more: BTreeMap<String, Value>,
        }

        impl Default for Request {
            fn default() -> Request {
                Request {
                    benchmark: "echo".to_owned(),
                    seed: 1,
                    keep_samples: false,
                    $( $name: $default, )*
                    more: BTreeMap::new(),
                }
            }
        }
    };
}

parameters! {
    fields {
        ranks: Option<usize> = None, Doublings
            "How many ranks take part; one launch for each number",
            least(1), default("the benchmark's own; simulated up to 64"), column("ranks that took part");
        hops: Vec<u32> = Vec::new(), Counts
            "Distances between the two partners, in links",
            least(1), greatest(u32::MAX as u64), default("rank 1 is the partner, wherever it is"), column("links a message crossed"),
            below("{benchmark} over 0 hops: a distance is 1 hop or more; for a rank's messages to itself use echo-self");
        bytes: Vec<u64> = Vec::new(), Doublings
            "Lengths: of messages, vectors, blocks of files, arrays or working sets",
            unit("B"), column("bytes of a message");
        shape: Vec<Vec<u64>> = Vec::new(), Shapes
            "Shapes of the block of one rank: its extents, as 128x128x128",
            least(1), column("shape of an array, as 8x8");
        extent: Vec<u64> = Vec::new(), Doublings
            "Elements along an axis: of a vector, of a matrix or grid along each of its axes",
            least(1), column("elements along an axis");
        window: Option<usize> = None, Count
            "Messages in flight, or of each neighbour before an acknowledgement",
            least(1), column("messages in flight, where it was another number than the benchmark's own"), below("{benchmark} with a window of 0 sends nothing; ask for 1 or more");
        neighbours: Vec<u32> = Vec::new(), Counts
            "How many neighbours exchange messages with rank 0 at once, as far as there are ranks",
            least(1), greatest(u32::MAX as u64), column("ranks that exchange with rank 0 at once"),
            below("{benchmark} with 0 neighbours moves nothing; ask for 1 or more");
        threads: Vec<u32> = Vec::new(), Doublings
            "Threads of one process",
            least(1), greatest(u32::MAX as u64), default("1 and all"), column("threads of a process"),
            below("{benchmark} by 0 threads does nothing; ask for 1 or more");
        background: Option<String> = None, Name
            "Pattern of background traffic: none, stream (rank 0 to 7), shift, shift:2, random, all-to-all, or pairs of \
             ranks as 0-7,2-6",
            default("stream"), column("pattern of background traffic");
        background_bytes: Vec<u64> = Vec::new(), Doublings
            "Lengths of the messages in the background: the load",
            unit("B"), least(1), column("bytes of a background message"),
            below("background messages of zero bytes are no load; ask for 1 byte or more, or for background 'none'");
        probe: Option<[usize; 2]> = None, Pair
            "From which rank to which the probe sends",
            default("1-3"), column("ranks between which the probe sends, as 1-3");
        algorithm: Option<String> = None, Name
            "Algorithm of a collective: auto, native (the MPI library's own), or a name",
            default("auto"), column("algorithm of a collective");
        timing: Option<String> = None, Name
            "How a collective is timed: window (from the moment at which all ranks start to the end of the last) or \
             barrier (the mean over ranks of their own times after a barrier, as the OSU micro-benchmarks have it)",
            default("window"), column("how a collective was timed, where it is not by windows");
        synchronization: Option<String> = None, Name
            "How one-sided accesses are completed: flush, lock, fence or pscw (post, start, complete, wait)",
            default("flush"), column("how one-sided accesses were completed");
        precision: Option<Precision> = None, Name
            "What is computed in: single or double",
            column("what a program computes in");
        layout: Option<String> = None, Name
            "How a program's matrix lies on the ranks: columns (one triangle, columns wrapped) or grid (whole, rows and \
             columns wrapped)",
            default("columns"), column("how the matrix of a program lay on the ranks");
        within: Option<f64> = None, Real
            "Time that a run may take: the most that it gets done within is looked for (60 by the rule of SLALOM)",
            unit("s");
        file_system: Option<String> = None, Name
            "How files are reached: posix, mpi-io, concurrent or host",
            default("the first that there is"), column("how files were reached");
        file_bytes: Option<u64> = None, Count
            "Length of the file of one rank, made a multiple of the block",
            unit("B"), least(1), default("1M in virtual time, else 16M for all ranks"),
            column("bytes of the file of one rank");
        preallocate: bool = false, Flag
            "Give files their space before they are written",
            column("whether a file had its space before it was written");
        io_nodes: Option<u32> = None, Count
            "I/O nodes of a described machine, at even distances",
            least(1), greatest(u32::MAX as u64), default("as its file says"), column("I/O nodes of a described machine");
        buffers: Option<BufferSort> = None, Name
            "Where messages lie: host, or device, memory of a CUDA device that a CUDA-aware MPI library is given the \
             addresses of",
            default("host"), column("where messages lay, where it was not in the host's memory");
        payload: Option<PayloadSort> = None, Name
            "What messages carry: data, or phantom for lengths alone",
            default("data; in virtual time phantom");
        iterations: Option<u32> = None, Count
            "Timed iterations of a point in a launch",
            least(1), greatest(1_000_000), default("by time; 3 in virtual time"),
            column("timed iterations of the launch");
        warmup: Option<u32> = None, Count
            "Iterations before the timed ones",
            greatest(1_000_000), default("a tenth of the timed ones, at least 4; 1 in virtual time");
        seconds_per_point: f64 = 0.05, Real
            "Time for the timed iterations of a point in a launch",
            unit("s"), default("0.05; 0.25 on one node");
    }
    others {
        variant: Names
            "Only these rows of a benchmark of one node, as float64_multiply",
            default("all"), column("row of a benchmark of the node suite, as float64_multiply");
        axes: Counts
            "Axes of the array",
            least(1), greatest(31), default("1:4"), column("axes of an array");
        distance: Count
            "Elements that the array is shifted by",
            default("1"), column("elements that an array is shifted by");
        vp_ratio: Doublings
            "Virtual processors a processor",
            least(1), default("1"), column("virtual processors a processor");
        pattern: Name
            "What is exchanged: a named pattern or a file, as for weft compile",
            column("pattern of connections that are exchanged");
        words: Doublings
            "Words on every connection of the pattern",
            least(1), default("those of the pattern"), column("words on every connection of an exchange");
        compiler: Name
            "Compiler of the schedule: weft, or apr for that of the paper",
            default("weft"), column("compiler of a schedule");
        load: Reals
            "Flits that every node of a network of routers makes in a cycle",
            default("0.01,0.05,0.1,0.15,0.2"),
            column("of a network of routers, flits that a node makes in a cycle; else the load average at the launch");
        vcs: Count
            "Virtual channels of every port of a router",
            least(1), greatest(64), default("as the machine file says"), column("virtual channels of a router's port");
        buffer: Count
            "Flits of the buffer of a virtual channel",
            least(1), greatest(128), default("as the machine file says"),
            column("flits of the buffer of a virtual channel");
        packet: Count
            "Flits of a packet",
            least(1), greatest(65536), default("as the machine file says"), column("flits of a packet");
        tail_credit: Flag
            "Give an output channel to the next packet only when the credit of the last one's tail is back",
            column("whether a channel is used again only when its tail's credit is back");
        credit_cycles: Count
            "Cycles until a freed buffer may be used: one over the link, and those a router takes to process the credit",
            least(1), greatest(17), default("as the machine file says"),
            column("cycles of a credit over the link and in the router");
        traffic: Name
            "Where packets go: uniform, hot-spot (a tenth of all to node 0), transpose, bit-complement, bit-reverse, \
             shuffle, tornado or neighbour",
            default("uniform"), column("where packets go");
        routing: Name
            "How packets find their way: deterministic (dimension order, e-cube, up and down), adaptive (any shortest way) \
             or random (up a tree by random parents)",
            default("deterministic"), column("how packets find their way");
        level: Name
            "What runs: flit, the routers themselves, or message, the model that programs in virtual time use",
            default("flit"), column("level at which packets were simulated");
        cycles: Count
            "Cycles whose packets are measured, after a tenth as many of warm-up",
            least(1000), greatest(1000000000), default("200000"), column("cycles whose packets were measured");
    }
}

impl Request {
    /// What is asked for, by parameter; what is left out is not in it.
    pub(crate) fn non_defaults(&self) -> BTreeMap<String, Value> {
        let object = |request: &Request| match serde_json::to_value(request) {
            Ok(Value::Object(fields)) => fields,
            _ => unreachable!("a request is plain data"),
        };
        let (fields, defaults) = (object(self), object(&Request::default()));
        let is_set = |(name, value): &(String, Value)| defaults.get(name) != Some(value);
        let control = ["benchmark", "seed", "keep_samples"];
        fields.into_iter().filter(is_set).filter(|(name, _)| !control.contains(&name.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_name_and_says_what_it_is() {
        for (index, parameter) in TABLE.iter().enumerate() {
            let name = parameter.name;
            assert!(TABLE[..index].iter().all(|other| other.name != name), "{name} has two rows");
            assert!(!parameter.help.is_empty() && !parameter.help.ends_with('.'), "{name}: {}", parameter.help);
        }
    }

    #[test]
    fn what_is_left_out_is_not_given() {
        assert!(Request::default().non_defaults().is_empty());
        let request = Request { bytes: vec![8], preallocate: true, seed: 7, ..Request::default() };
        assert_eq!(request.non_defaults().keys().collect::<Vec<_>>(), ["bytes", "preallocate"]);
    }
}
