//! The rank program of the conformance tests: `measure_rank REQUESTS` under an mpiexec, with requests as a JSON list.
//! Rank 0 prints one line a request: its rows, or why it was refused.

use std::process::ExitCode;

use serde_json::json;
use weft_launch::{LaunchError, run_mpi_rank};
use weft_mpi::{Backend, Options};
use weft_suite::Request;

fn play(requests: &str) -> Result<(), Box<dyn std::error::Error>> {
    let requests: Vec<Request> = serde_json::from_str(requests)?;
    let backend = Backend::start(Options::of_environment(None)?)?;
    for request in requests {
        let outcome = match run_mpi_rank(&backend, &request) {
            Ok(None) => continue,
            Ok(Some(rows)) => json!({ "Ok": rows }),
            Err(LaunchError::Usage(message)) => json!({ "Err": message }),
            Err(error) => return Err(error.into()),
        };
        if backend.rank() == 0 {
            println!("{outcome}");
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match play(&std::env::args().nth(1).unwrap_or_default()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("measure_rank: {error}");
            ExitCode::FAILURE
        }
    }
}
