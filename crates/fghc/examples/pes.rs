//! Runs a program on processing elements that are threads, or ranks of an MPI job, and prints the outcome as JSON: for
//! benchmarks.
//!
//! `cargo run --release -p weft-fghc --example pes -- FILE GOAL PES [SLICE]`, or under `mpiexec` with `mpi` for PES

use std::sync::Arc;

use weft_fghc::check::check;
use weft_fghc::distributed::{Outcome, Run, RunOptions};
use weft_fghc::engine::Loaded;
use weft_fghc::ir::Source;

fn show(outcome: Option<Outcome>) -> Result<(), String> {
    if let Some(outcome) = outcome {
        println!("{}", serde_json::to_string(&outcome).map_err(|error| error.to_string())?);
    }
    Ok(())
}

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, goal, pes, rest @ ..] = words.as_slice() else { return Err("give a file, a goal and PEs".into()) };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let checked = check(vec![Source { name: file.clone(), text }], Some(goal));
    let Some(program) = checked.program.clone() else { return Err(checked.render(false)) };
    let loaded = Loaded::new(program, false).map_err(|error| error.to_string())?.translate();
    let mut options = RunOptions { output: Arc::new(|_| Box::new(std::io::sink())), ..RunOptions::default() };
    if let Some(slice) = rest.first() {
        options.slice = slice.parse().map_err(|_| "a slice is a number of reductions".to_string())?;
    }
    let program = Run { loaded, options };
    if pes == "mpi" {
        let options = weft_mpi::Options::of_environment(None).map_err(|error| error.to_string())?;
        return show(weft_mpi::run(&program, options).map_err(|error| error.to_string())??);
    }
    let pes = pes.parse().map_err(|_| "PES is a number, or mpi".to_string())?;
    let outputs =
        weft_threads::run(pes, &program, &weft_threads::Options::default()).map_err(|error| error.to_string())?;
    outputs.into_iter().try_for_each(|output| show(output?))
}
