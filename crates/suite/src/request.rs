//! What shall be measured in one launch, as JSON says it.

use serde::{Deserialize, Serialize};
use weft_comm::collective::Choice;

use crate::catalogue::{Benchmark, Group, find};
use crate::contention::Pattern;
use crate::halo;
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

/// One benchmark and its parameters, for one launch.
///
/// Every field may be left out of the JSON object; a field that does not exist is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// A name of the [`catalogue`](crate::catalogue). Default: `echo`.
    pub benchmark: String,
    /// How many ranks take part: ranks 0 to `ranks - 1` of the launch, which must have as many; the others wait.
    /// Default: all (a host's rank does not count).
    pub ranks: Option<usize>,
    /// Lengths in bytes; empty: the benchmark's own.
    pub bytes: Vec<u64>,
    /// Distances in links between the two partners; empty: rank 1 is the partner, wherever it is.
    pub hops: Vec<u32>,
    /// Shapes of the block of one rank (halo, stencil), as lists of extents; empty: the benchmark's own.
    pub shapes: Vec<Vec<u64>>,
    /// Orders of matrices or grids (programs); empty: the benchmark's own.
    pub n: Vec<u64>,
    /// What programs compute in. Default: single, as in figure 12 of Dunigan 1991.
    pub precision: Option<Precision>,
    /// How files are reached: `posix`, `mpi-io`, `concurrent` or `host`. Default: the first that the world has.
    pub file_system: Option<String>,
    /// Length of the file of one rank in bytes, made a multiple of the block (file benchmarks). Default: 1 MiB in virtual
    /// time, else 16 MiB for the files of all ranks.
    pub file_bytes: Option<u64>,
    /// Whether a file gets its room before it is written (`file-write`). Default: no.
    pub preallocate: bool,
    /// I/O nodes of a described machine, at even distances. Default: as its file says.
    pub io_nodes: Option<u32>,
    /// `auto`, `native` or an algorithm of the collective (of the broadcast in `cholesky`). Default: `auto`.
    pub algorithm: Option<String>,
    /// Timed iterations per point. Default: chosen by a pilot so that a point takes `seconds_per_point`; in virtual
    /// time [`Request::VIRTUAL_ITERATIONS`].
    pub iterations: Option<u32>,
    /// Iterations before the timed ones. Default: a tenth of the timed ones, at least
    /// [`Request::MIN_WARMUP`]; 1 in virtual time.
    pub warmup: Option<u32>,
    /// Of the order of the points and of random lengths. Default: 1.
    pub seed: u64,
    /// Default: data; in virtual time phantoms.
    pub payload: Option<PayloadSort>,
    /// Messages in flight (bandwidth), or of each neighbour before an acknowledgement (fan-in, fan-out). Default: the
    /// benchmark's own.
    pub window: Option<usize>,
    /// Numbers of neighbours (fan-in, fan-out). Default: the benchmark's own, as far as there are ranks.
    pub neighbours: Vec<u32>,
    /// The pattern of background traffic (contention): `none`, `stream` (rank 0 to rank 7, or the first free rank to
    /// the last), `shift`, `shift:DISTANCE`, `random` (by the seed), `all-to-all`, or pairs of ranks such as `0-7,2-6`.
    /// The ranks of the probe take no part in it. Default: [`Request::BACKGROUND`].
    pub background: Option<String>,
    /// Lengths of the messages in the background, in bytes (contention). Default: the benchmark's own.
    pub background_bytes: Vec<u64>,
    /// From which rank to which the probe sends (contention). Default: [`Request::PROBE`].
    pub probe: Option<[usize; 2]>,
    /// Time to spend on the timed iterations of one point, in seconds. Default: 0.05.
    pub seconds_per_point: f64,
    /// Whether rows carry the time of every iteration. Default: no.
    pub keep_samples: bool,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            benchmark: "echo".to_owned(),
            ranks: None,
            bytes: Vec::new(),
            hops: Vec::new(),
            shapes: Vec::new(),
            n: Vec::new(),
            precision: None,
            file_system: None,
            file_bytes: None,
            preallocate: false,
            io_nodes: None,
            algorithm: None,
            iterations: None,
            warmup: None,
            seed: 1,
            payload: None,
            window: None,
            neighbours: Vec::new(),
            background: None,
            background_bytes: Vec::new(),
            probe: None,
            seconds_per_point: 0.05,
            keep_samples: false,
        }
    }
}

/// A request that cannot be met, in words for the person who made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl Request {
    /// Timed iterations per point where time is virtual: the first is in a state of its own, the others repeat.
    pub const VIRTUAL_ITERATIONS: u32 = 3;
    /// The fewest iterations before the timed ones where time is real.
    pub const MIN_WARMUP: u32 = 4;
    /// The largest order: its matrix still fits a large memory.
    pub const MAX_N: u64 = 65_536;
    /// The most timed iterations per point: their time stamps are kept.
    pub const MAX_ITERATIONS: u32 = 1_000_000;
    /// The background of contention where nobody says.
    pub const BACKGROUND: &str = "stream";
    /// The probe of contention where nobody says (Dunigan 1991, section 4.3).
    pub const PROBE: [usize; 2] = [1, 3];

    /// Reads a request and checks all that can be checked before a launch.
    ///
    /// # Errors
    /// [`UsageError`] for malformed JSON, unknown fields and everything [`validate`](Request::validate) refuses.
    pub fn from_json(text: &str) -> Result<Request, UsageError> {
        let request: Request =
            serde_json::from_str(text).map_err(|error| UsageError(format!("the request is malformed: {error}")))?;
        request.validate()?;
        Ok(request)
    }

    /// Checks all that can be checked without knowing the machine, and finds the benchmark.
    ///
    /// # Errors
    /// [`UsageError`] that says which field is wrong and what would be right.
    pub fn validate(&self) -> Result<&'static Benchmark, UsageError> {
        let benchmark = find(&self.benchmark)?;
        self.check_ranks(benchmark)?;
        self.check_bytes(benchmark)?;
        self.check_hops(benchmark)?;
        self.check_algorithm(benchmark)?;
        self.check_window(benchmark)?;
        self.check_neighbours(benchmark)?;
        self.check_background(benchmark)?;
        self.check_program_and_files(benchmark)?;
        self.check_shapes(benchmark)?;
        self.check_iterations()?;
        Ok(benchmark)
    }

    /// The lengths to measure, as given or the benchmark's own; empty where it takes none.
    pub fn lengths(&self, benchmark: &Benchmark) -> Vec<u64> {
        match benchmark.parameters.bytes {
            Some(lengths) if self.bytes.is_empty() => lengths.default.to_vec(),
            _ => self.bytes.clone(),
        }
    }

    /// The orders to measure, as given or the benchmark's own; empty where it takes none.
    pub fn orders(&self, benchmark: &Benchmark) -> Vec<u64> {
        match benchmark.parameters.n {
            Some(orders) if self.n.is_empty() => orders.to_vec(),
            _ => self.n.clone(),
        }
    }

    /// The shapes of blocks to measure, as given or the benchmark's own; empty where it takes none.
    pub fn blocks(&self, benchmark: &Benchmark) -> Vec<Vec<u64>> {
        if self.shapes.is_empty() {
            return benchmark.parameters.shapes.iter().map(|shape| shape.to_vec()).collect();
        }
        self.shapes.clone()
    }

    /// The algorithm asked for.
    ///
    /// # Errors
    /// [`UsageError`] for a name that is none.
    pub fn choice(&self) -> Result<Choice, UsageError> {
        let name = self.algorithm.as_deref().unwrap_or("auto");
        name.parse().map_err(|error: weft_comm::collective::UnknownAlgorithm| UsageError(error.to_string()))
    }

    fn check_ranks(&self, benchmark: &Benchmark) -> Result<(), UsageError> {
        match self.ranks {
            Some(ranks) => too_few(benchmark, ranks),
            None => Ok(()),
        }
    }

    fn check_bytes(&self, benchmark: &Benchmark) -> Result<(), UsageError> {
        let name = benchmark.name;
        let Some(lengths) = benchmark.parameters.bytes else {
            return refuse_if(!self.bytes.is_empty(), || match benchmark.parameters.n {
                Some(_) => format!("{name} takes no bytes; its n decides how long messages are"),
                None => format!("{name} sends no data, so it takes no bytes"),
            });
        };
        for &bytes in &self.bytes {
            refuse_if(bytes == 0 && !lengths.zero, || {
                format!("{name} with a {} of zero bytes means nothing; ask for 1 byte or more", lengths.of)
            })?;
            let multiple = lengths.multiple_of;
            refuse_if(bytes % multiple != 0, || {
                format!("{name} combines elements of {multiple} bytes; {bytes} bytes is not a multiple of {multiple}")
            })?;
        }
        Ok(())
    }

    fn check_hops(&self, benchmark: &Benchmark) -> Result<(), UsageError> {
        let name = benchmark.name;
        refuse_if(!benchmark.parameters.hops && !self.hops.is_empty(), || format!("{name} takes no hops; echo does"))?;
        refuse_if(self.hops.contains(&0), || {
            format!("{name} over 0 hops: a distance is 1 hop or more; for a rank's messages to itself use echo-self")
        })
    }

    fn check_algorithm(&self, benchmark: &Benchmark) -> Result<(), UsageError> {
        let name = benchmark.name;
        let Some(wanted) = self.algorithm.as_deref() else { return Ok(()) };
        let known = benchmark.parameters.algorithms;
        refuse_if(known.is_empty(), || {
            format!("{name} has no algorithms to choose from, but '{wanted}' was asked for")
        })?;
        refuse_if(!["auto", "native"].contains(&wanted) && !known.contains(&wanted), || {
            format!("{name} has no algorithm '{wanted}'; it has auto, native, {}", known.join(", "))
        })
    }

    fn check_window(&self, benchmark: &Benchmark) -> Result<(), UsageError> {
        let name = benchmark.name;
        let takes_window = benchmark.parameters.window.is_some();
        refuse_if(!takes_window && self.window.is_some(), || format!("{name} takes no window; bandwidth does"))?;
        refuse_if(self.window == Some(0), || format!("{name} with a window of 0 sends nothing; ask for 1 or more"))
    }

    fn check_neighbours(&self, benchmark: &Benchmark) -> Result<(), UsageError> {
        let name = benchmark.name;
        refuse_if(benchmark.parameters.neighbours.is_empty() && !self.neighbours.is_empty(), || {
            format!("{name} takes no neighbours; fan-in and fan-out do")
        })?;
        refuse_if(self.neighbours.contains(&0), || format!("{name} with 0 neighbours moves nothing; ask for 1 or more"))
    }

    fn check_background(&self, benchmark: &Benchmark) -> Result<(), UsageError> {
        let name = benchmark.name;
        if benchmark.parameters.background_bytes.is_empty() {
            let given = [
                ("background", self.background.is_some()),
                ("background_bytes", !self.background_bytes.is_empty()),
                ("probe", self.probe.is_some()),
            ];
            let given = given.into_iter().find(|&(_, is_given)| is_given);
            return given
                .map_or(Ok(()), |(field, _)| Err(UsageError(format!("{name} takes no {field}; contention does"))));
        }
        let pattern = self.background.as_deref().map_or(Ok(Pattern::Stream), str::parse)?;
        refuse_if(self.background_bytes.contains(&0), || {
            "background messages of zero bytes are no load; ask for 1 byte or more, or for background 'none'".to_owned()
        })?;
        refuse_if(pattern == Pattern::None && !self.background_bytes.is_empty(), || {
            "background 'none' has no messages, so it takes no background_bytes".to_owned()
        })?;
        refuse_if(self.probe.is_some_and(|[from, to]| from == to), || {
            "the probe needs two different ranks; for a rank's messages to itself use echo-self".to_owned()
        })
    }

    fn check_program_and_files(&self, benchmark: &Benchmark) -> Result<(), UsageError> {
        let (name, parameters, max) = (benchmark.name, benchmark.parameters, Request::MAX_N);
        refuse_if(parameters.n.is_none() && !self.n.is_empty(), || format!("{name} takes no n; cholesky does"))?;
        refuse_if(!parameters.precision && self.precision.is_some(), || {
            format!("{name} takes no precision; cholesky does")
        })?;
        let systems = parameters.file_systems;
        if let Some(wanted) = self.file_system.as_deref() {
            refuse_if(systems.is_empty(), || format!("{name} uses no files, but '{wanted}' was asked for"))?;
            refuse_if(!systems.contains(&wanted), || {
                format!("{name} has no file system '{wanted}'; it takes {}", systems.join(", "))
            })?;
        }
        let is_file = benchmark.group == Group::Files;
        refuse_if(self.file_bytes.is_some() && !is_file, || format!("{name} takes no file_bytes; file-read does"))?;
        refuse_if(self.file_bytes == Some(0), || "file_bytes must be 1 or more".to_owned())?;
        refuse_if(self.preallocate && name != "file-write", || {
            format!("{name} does not preallocate; file-write does")
        })?;
        refuse_if(self.io_nodes.is_some() && !systems.contains(&"concurrent"), || {
            format!("{name} uses no I/O nodes; file-read does")
        })?;
        refuse_if(self.io_nodes == Some(0), || "io_nodes must be 1 or more".to_owned())?;
        match self.n.iter().find(|n| !(1..=max).contains(n)) {
            Some(n) => Err(UsageError(format!("{name} with n = {n}: n must be between 1 and {max}"))),
            None => Ok(()),
        }
    }

    fn check_shapes(&self, benchmark: &Benchmark) -> Result<(), UsageError> {
        refuse_if(benchmark.parameters.shapes.is_empty() && !self.shapes.is_empty(), || {
            format!("{} takes no shapes; halo and stencil do", benchmark.name)
        })?;
        halo::check_shapes(self)
    }

    fn check_iterations(&self) -> Result<(), UsageError> {
        let max = Request::MAX_ITERATIONS;
        refuse_if(self.iterations == Some(0), || "iterations must be 1 or more".to_owned())?;
        refuse_if(self.iterations.is_some_and(|iterations| iterations > max), || {
            format!("iterations must be at most {max}: their time stamps are kept")
        })?;
        refuse_if(!(self.seconds_per_point.is_finite() && self.seconds_per_point > 0.0), || {
            format!("seconds_per_point must be a positive number, not {}", self.seconds_per_point)
        })
    }
}

/// Refuses `ranks` ranks if the benchmark needs more.
pub(crate) fn too_few(benchmark: &Benchmark, ranks: usize) -> Result<(), UsageError> {
    let (name, least) = (benchmark.name, benchmark.parameters.min_ranks);
    refuse_if(ranks < least, || {
        let ranks = if ranks == 1 { "1 rank".to_owned() } else { format!("{ranks} ranks") };
        let why = match name {
            "routing-echo" => ": two exchange echoes, the others compute",
            "contention" => ": two probe, the others load the network",
            _ => "",
        };
        format!("{name} needs at least {least} rank{}, not {ranks}{why}", if least == 1 { "" } else { "s" })
    })
}

pub(crate) fn refuse_if(wrong: bool, text: impl FnOnce() -> String) -> Result<(), UsageError> {
    if wrong { Err(UsageError(text())) } else { Ok(()) }
}
