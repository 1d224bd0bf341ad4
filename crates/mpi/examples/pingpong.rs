//! Ping-pong through weft's communicator: the other side of `benches/native_overhead/pingpong.c`, with the same arguments
//! and the same output.
//!
//! `mpiexec -n 2 pingpong ITERATIONS WARM_UP BYTES...`

use std::process::ExitCode;

use weft_comm::{Buffer, CommError, Communicator, Payload, Program, RunError, Tag};
use weft_mpi::Options;

#[derive(Clone)]
struct PingPong {
    iterations: usize,
    warm_up: usize,
    sizes: Vec<usize>,
}

/// Median and lower decile of the one-way times in seconds.
struct Row {
    bytes: usize,
    median: f64,
    p10: f64,
}

const TAG: Tag = Tag::User(1);

/// One size; the seconds of each iteration on rank 0.
async fn measure<C: Communicator>(
    comm: &C,
    bytes: usize,
    warm_up: usize,
    seconds: &mut [f64],
) -> Result<(), CommError> {
    let mut out = Payload::Data(Buffer::page_aligned(bytes));
    let mut into = Payload::Data(Buffer::page_aligned(bytes));
    let peer = 1 - comm.rank();
    for iteration in 0..warm_up + seconds.len() {
        if comm.rank() == 0 {
            let start = comm.wtime();
            comm.send_from(peer, TAG, &mut out).await?;
            comm.recv_into(peer.into(), TAG.into(), &mut into).await?;
            let end = comm.wtime();
            if let Some(timed) = iteration.checked_sub(warm_up) {
                seconds[timed] = (end - start) / 2.0;
            }
        } else {
            comm.recv_into(peer.into(), TAG.into(), &mut into).await?;
            comm.send_from(peer, TAG, &mut out).await?;
        }
    }
    Ok(())
}

impl Program for PingPong {
    type Output = Vec<Row>;

    async fn run<C: Communicator>(self, comm: C) -> Result<Vec<Row>, CommError> {
        if comm.size() != 2 {
            let message = format!("pingpong runs on 2 ranks, not on {}", comm.size());
            return Err(CommError::Program { rank: comm.rank(), message });
        }
        let mut seconds = vec![0.0; self.iterations];
        let mut rows = Vec::new();
        for bytes in self.sizes {
            comm.native().map_or(Ok(()), |native| native.barrier())?;
            measure(&comm, bytes, self.warm_up, &mut seconds).await?;
            seconds.sort_by(f64::total_cmp);
            rows.push(Row { bytes, median: seconds[self.iterations / 2], p10: seconds[self.iterations / 10] });
        }
        Ok(if comm.rank() == 0 { rows } else { Vec::new() })
    }
}

fn arguments() -> Option<PingPong> {
    let numbers: Option<Vec<usize>> = std::env::args().skip(1).map(|text| text.parse().ok()).collect();
    match numbers?.as_slice() {
        [iterations, warm_up, sizes @ ..] if *iterations > 0 && !sizes.is_empty() => {
            Some(PingPong { iterations: *iterations, warm_up: *warm_up, sizes: sizes.to_vec() })
        }
        _ => None,
    }
}

fn play(program: &PingPong) -> Result<(), RunError> {
    let rows = weft_mpi::run(program, Options::of_environment(None)?)?;
    let rows: Vec<String> = rows
        .iter()
        .map(|Row { bytes, median, p10 }| {
            format!("{{\"bytes\": {bytes}, \"median\": {median:.4e}, \"p10\": {p10:.4e}}}")
        })
        .collect();
    if !rows.is_empty() {
        println!("{{\"program\": \"weft\", \"sizes\": [{}]}}", rows.join(", "));
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(program) = arguments() else {
        eprintln!("usage: mpiexec -n 2 pingpong ITERATIONS WARM_UP BYTES...");
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
