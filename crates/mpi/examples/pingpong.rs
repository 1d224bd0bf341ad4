//! Ping-pong through weft's communicator and in plain C, in turn within one launch: `benches/native_overhead`.
//!
//! `mpiexec -n 2 pingpong LIBRARY FIRST ITERATIONS ROUNDS BYTES...`
//!
//! LIBRARY is `benches/native_overhead/pingpong.c`, compiled as a shared library. Launches differ by a factor of two and
//! more, with where the system puts the ranks; two loops in one launch, on the same buffers, differ by what they are.
//! FIRST (`c` or `weft`) begins each round.

use std::ffi::{c_char, c_int};
use std::process::ExitCode;

use libloading::Library;
use weft_comm::{Buffer, CommError, Communicator, Payload, Program, RunError, Tag};
use weft_mpi::Options;

/// Rank, bytes, iterations, iterations before them, the two buffers, and where the one-way times go.
type PlainC = unsafe extern "C" fn(c_int, c_int, c_int, c_int, *mut c_char, *mut c_char, *mut f64);

#[derive(Clone)]
struct PingPong {
    library: String,
    c_first: bool,
    /// In each round, of each side.
    iterations: usize,
    rounds: usize,
    sizes: Vec<usize>,
}

/// Median and lower decile of the one-way times of both sides in seconds.
struct Row {
    bytes: usize,
    c: [f64; 2],
    weft: [f64; 2],
}

const TAG: Tag = Tag::User(1);

/// The loop of `pingpong.c`, over a communicator.
async fn through_weft<C: Communicator>(
    comm: &C,
    warm_up: usize,
    [out, into]: &mut [Payload; 2],
    seconds: &mut [f64],
) -> Result<(), CommError> {
    let peer = 1 - comm.rank();
    for iteration in 0..warm_up + seconds.len() {
        if comm.rank() == 0 {
            let start = comm.wtime();
            comm.send_from(peer, TAG, out).await?;
            comm.recv_into(peer.into(), TAG.into(), into).await?;
            let end = comm.wtime();
            if let Some(timed) = iteration.checked_sub(warm_up) {
                seconds[timed] = (end - start) / 2.0;
            }
        } else {
            comm.recv_into(peer.into(), TAG.into(), into).await?;
            comm.send_from(peer, TAG, out).await?;
        }
    }
    Ok(())
}

fn in_plain_c(plain_c: PlainC, rank: usize, warm_up: usize, buffers: &mut [Payload; 2], seconds: &mut [f64]) {
    let [Payload::Data(out), Payload::Data(into)] = buffers else { unreachable!("the buffers are data") };
    let (bytes, iterations) = (out.len() as c_int, seconds.len() as c_int);
    // SAFETY: the buffers have `bytes` bytes, `seconds` has room for `iterations` times, and MPI is initialised.
    unsafe {
        let (out, into) = (out.as_mut_ptr().cast(), into.as_mut_ptr().cast());
        plain_c(rank as c_int, bytes, iterations, warm_up as c_int, out, into, seconds.as_mut_ptr());
    }
}

fn median_and_decile(seconds: &mut [f64]) -> [f64; 2] {
    seconds.sort_by(f64::total_cmp);
    [seconds[seconds.len() / 2], seconds[seconds.len() / 10]]
}

impl Program for PingPong {
    type Output = Vec<Row>;

    async fn run<C: Communicator>(self, comm: C) -> Result<Vec<Row>, CommError> {
        let failed = |message: String| CommError::program(comm.rank(), message);
        if comm.size() != 2 {
            return Err(failed(format!("pingpong runs on 2 ranks, not on {}", comm.size())));
        }
        // SAFETY: LIBRARY is the benchmark's pingpong.c, as the usage says; it has no initialisers, so that loading it
        // runs nothing.
        let library = unsafe { Library::new(&self.library) }.map_err(|error| failed(error.to_string()))?;
        // SAFETY: `PlainC` is the signature with which pingpong.c defines `plain_c`, and the library is open while it
        // is called.
        let plain_c: PlainC = *unsafe { library.get(b"plain_c\0") }.map_err(|error| failed(error.to_string()))?;
        let mut rows = Vec::new();
        for bytes in self.sizes {
            let mut buffers = [(); 2].map(|()| Payload::Data(Buffer::page_aligned(bytes)));
            let mut seconds = [(); 2].map(|()| vec![0.0; self.iterations * self.rounds]);
            let warm_up = (self.iterations / 10).max(10);
            comm.native().map_or(Ok(()), |native| native.barrier())?;
            let [c, weft] = &mut seconds;
            let rounds = c.chunks_mut(self.iterations).zip(weft.chunks_mut(self.iterations));
            for (c, weft) in rounds {
                if self.c_first {
                    in_plain_c(plain_c, comm.rank(), warm_up, &mut buffers, c);
                }
                through_weft(&comm, warm_up, &mut buffers, weft).await?;
                if !self.c_first {
                    in_plain_c(plain_c, comm.rank(), warm_up, &mut buffers, c);
                }
            }
            let [c, weft] = seconds.each_mut().map(|seconds| median_and_decile(seconds));
            rows.push(Row { bytes, c, weft });
        }
        Ok(if comm.rank() == 0 { rows } else { Vec::new() })
    }
}

fn arguments() -> Option<PingPong> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [library, first, numbers @ ..] = words.as_slice() else { return None };
    let numbers: Option<Vec<usize>> = numbers.iter().map(|text| text.parse().ok()).collect();
    match (first.as_str(), numbers?.as_slice()) {
        ("c" | "weft", [iterations, rounds, sizes @ ..]) if *iterations > 0 && *rounds > 0 => Some(PingPong {
            library: library.clone(),
            c_first: first == "c",
            iterations: *iterations,
            rounds: *rounds,
            sizes: sizes.to_vec(),
        }),
        _ => None,
    }
}

fn play(program: &PingPong) -> Result<(), RunError> {
    let rows = weft_mpi::run(program, Options::of_environment(None)?)?;
    let side = |[median, p10]: [f64; 2]| format!("{{\"median\": {median:.4e}, \"p10\": {p10:.4e}}}");
    let rows: Vec<String> = rows
        .iter()
        .map(|row| format!("{{\"bytes\": {}, \"c\": {}, \"weft\": {}}}", row.bytes, side(row.c), side(row.weft)))
        .collect();
    if !rows.is_empty() {
        println!("[{}]", rows.join(", "));
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(program) = arguments() else {
        eprintln!("usage: mpiexec -n 2 pingpong LIBRARY c|weft ITERATIONS ROUNDS BYTES...");
        return ExitCode::from(2);
    };
    match play(&program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pingpong: {error}");
            ExitCode::FAILURE
        }
    }
}
