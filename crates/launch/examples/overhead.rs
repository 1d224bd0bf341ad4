//! Benchmarks of the suite and the same loops in plain C, in turn within one launch: `benches/native_overhead`.
//!
//! `mpiexec -n 2 overhead LIBRARY FIRST ITERATIONS ROUNDS BENCHMARK:BYTES...`
//!
//! LIBRARY is `benches/native_overhead/loops.c`, compiled as a shared library. weft's side is what `weft measure` runs:
//! a request of the suite with so many iterations, whose times of single iterations are kept. Launches differ by a
//! factor of two and more, with where the system puts the ranks; two loops in one launch differ by what they are. The C
//! loop runs a second time, with a communicator and buffers of its own: what it differs by from itself is the noise of
//! the comparison. FIRST (`c` or `weft`) begins each round. A benchmark without lengths is written with 0 bytes.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::process::ExitCode;

use libloading::{Library, Symbol};
use rand::RngExt;
use serde_json::json;
use weft_launch::run_mpi_rank;
use weft_mpi::{Backend, Options};
use weft_suite::{Request, find};

type Failure = Box<dyn std::error::Error>;

/// Name, bytes, messages in flight, lengths of parts that differ by sender and receiver; null for an unknown name.
type Open = unsafe extern "C" fn(*const c_char, c_int, c_int, *const c_int) -> *mut c_void;
/// Iterations, iterations before them, and where the seconds go.
type Run = unsafe extern "C" fn(*mut c_void, c_int, c_int, *mut f64);
type Close = unsafe extern "C" fn(*mut c_void);

/// The messages in flight of a benchmark that takes a window.
const WINDOW: u32 = 64;

/// Bytes of what a benchmark works on that takes no lengths.
const WORD: u64 = 8;

struct Arguments {
    library: String,
    c_first: bool,
    /// In each round, of each side.
    iterations: u32,
    rounds: usize,
    points: Vec<(String, u64)>,
}

impl Arguments {
    fn read() -> Option<Arguments> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let [library, first, iterations, rounds, points @ ..] = words.as_slice() else { return None };
        let point = |text: &String| {
            let (name, bytes) = text.split_once(':')?;
            Some((name.to_owned(), bytes.parse().ok()?))
        };
        Some(Arguments {
            library: library.clone(),
            c_first: match first.as_str() {
                "c" => true,
                "weft" => false,
                _ => return None,
            },
            iterations: iterations.parse().ok().filter(|&count| count > 0)?,
            rounds: rounds.parse().ok().filter(|&count| count > 0)?,
            points: points.iter().map(point).collect::<Option<_>>()?,
        })
    }

    fn warm_up(&self) -> u32 {
        (self.iterations / 10).max(4)
    }
}

/// The functions of loops.c.
struct Loops<'a> {
    open: Symbol<'a, Open>,
    run: Symbol<'a, Run>,
    close: Symbol<'a, Close>,
}

impl<'a> Loops<'a> {
    fn of(library: &'a Library) -> Result<Loops<'a>, libloading::Error> {
        // SAFETY: the signatures are those of loops.c.
        unsafe {
            let (open, run, close) =
                (library.get(b"plain_open\0")?, library.get(b"plain_run\0")?, library.get(b"plain_close\0")?);
            Ok(Loops { open, run, close })
        }
    }
}

/// A benchmark of loops.c, with its communicator and buffers.
struct Plain<'a> {
    loops: &'a Loops<'a>,
    prepared: *mut c_void,
}

impl<'a> Plain<'a> {
    /// `None` where loops.c does not have it. MPI is initialised; all ranks call it.
    fn open(loops: &'a Loops<'a>, name: &CStr, length: c_int, window: c_int, parts: &[c_int]) -> Option<Plain<'a>> {
        // SAFETY: there is a length for each pair of ranks, and MPI is initialised.
        let prepared = unsafe { (loops.open)(name.as_ptr(), length, window, parts.as_ptr()) };
        (!prepared.is_null()).then_some(Plain { loops, prepared })
    }

    /// The seconds of the iterations of a round on rank 0; others have something else.
    fn run(&self, arguments: &Arguments) -> Vec<f64> {
        let mut seconds = vec![0.0; arguments.iterations as usize];
        let (iterations, warm_up) = (arguments.iterations as c_int, arguments.warm_up() as c_int);
        // SAFETY: the benchmark is open, and there is room for so many seconds.
        unsafe { (self.loops.run)(self.prepared, iterations, warm_up, seconds.as_mut_ptr()) };
        seconds
    }
}

impl Drop for Plain<'_> {
    fn drop(&mut self) {
        // SAFETY: the benchmark is open, and is not used again; all ranks come here in the same order.
        unsafe { (self.loops.close)(self.prepared) };
    }
}

/// The lengths of parts where they differ, as the suite draws them: `parts[from * size + to]`.
fn parts(request: &Request, size: usize, bytes: u64) -> Vec<c_int> {
    let length =
        |pair: usize| weft_base::generator(request.seed, pair as u64).random_range(0..=2 * bytes as usize) as c_int;
    (0..size * size).map(length).collect()
}

/// Both sides of one benchmark at one length and the control, in rounds; what `summary` says of each, on rank 0.
fn compare(
    arguments: &Arguments,
    library: &Library,
    backend: &Backend,
    (name, bytes): &(String, u64),
) -> Result<serde_json::Value, Failure> {
    let benchmark = find(name)?;
    let has_window = benchmark.takes("window").is_some();
    let mut request = Request { benchmark: name.clone(), keep_samples: true, ..Request::default() };
    (request.iterations, request.warmup) = (Some(arguments.iterations), Some(arguments.warm_up()));
    request.window = has_window.then_some(WINDOW as usize);
    if benchmark.takes("bytes").is_some() {
        request.bytes = vec![*bytes];
    }
    let lengths = parts(&request, backend.size(), *bytes);
    let window = if has_window { WINDOW as c_int } else { 1 };
    let length = (*bytes).max(WORD) as c_int;
    let c_name = CString::new(name.as_str())?;
    let loops = Loops::of(library)?;
    let open =
        || Plain::open(&loops, &c_name, length, window, &lengths).ok_or_else(|| format!("loops.c has no {name}"));
    let (plain, again) = (open()?, open()?);
    let (mut c, mut control, mut weft) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        if arguments.c_first {
            c.extend(plain.run(arguments));
        } else {
            control.extend(again.run(arguments));
        }
        // A nonblocking collective is compared by itself, without the computation beside it.
        let rows = run_mpi_rank(backend, &request)?.unwrap_or_default();
        weft.extend(rows.into_iter().flat_map(|row| match row.quiet_seconds {
            Some(alone) => vec![alone],
            None => row.samples.unwrap_or_default(),
        }));
        if arguments.c_first {
            control.extend(again.run(arguments));
        } else {
            c.extend(plain.run(arguments));
        }
    }
    let (c, control, weft) = (summary(c), summary(control), summary(weft));
    Ok(json!({ "benchmark": name, "bytes": bytes, "c": c, "control": control, "weft": weft }))
}

/// The interquartile mean and the lower decile of a side's seconds; nothing of a rank that has none.
///
/// Not the median: a clock has a grain, of which an access of a few dozen nanoseconds is four or five.
fn summary(mut seconds: Vec<f64>) -> Option<serde_json::Value> {
    seconds.sort_by(f64::total_cmp);
    let lowest_tenth = seconds.get(seconds.len() / 10)?;
    let middle = &seconds[seconds.len() / 4..seconds.len() - seconds.len() / 4];
    let mean = middle.iter().sum::<f64>() / middle.len() as f64;
    Some(json!({ "interquartile_mean": mean, "p10": lowest_tenth }))
}

fn play(arguments: &Arguments) -> Result<(), Failure> {
    let backend = Backend::start(Options::of_environment(None)?)?;
    // SAFETY: LIBRARY is the benchmark's loops.c, as the usage says; it has no initialisers, so that loading it runs
    // nothing.
    let library = unsafe { Library::new(&arguments.library) }?;
    let rows: Result<Vec<_>, Failure> =
        arguments.points.iter().map(|point| compare(arguments, &library, &backend, point)).collect();
    let rows = rows?;
    if backend.rank() == 0 {
        println!("{}", serde_json::to_string(&rows)?);
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::read() else {
        eprintln!("usage: mpiexec -n 2 overhead LIBRARY c|weft ITERATIONS ROUNDS BENCHMARK:BYTES...");
        return ExitCode::from(2);
    };
    match play(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("overhead: {error}");
            ExitCode::FAILURE
        }
    }
}
