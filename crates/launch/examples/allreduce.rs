//! weft's side of the benchmark `collectives`: an allreduce by compiled trees, and by the algorithms of MPI libraries, on a
//! described machine in virtual time. `allreduce MACHINE EXTENTS BYTES` (extents as `4x4x4`, or `-` for the machine's own)
//! prints one line of JSON.

use std::sync::Arc;
use std::time::Instant;

use weft_base::Interrupt;
use weft_collectives::execute::Timed;
use weft_collectives::{Collective, Fabric, Method, Request, verify};
use weft_comm::collective::{Algorithm, Choice, Element, Operator, allreduce};
use weft_comm::{CommError, Communicator, Payload, Program, Reduction};
use weft_machine::{Machine, Topology};

/// An allreduce of weft-comm.
#[derive(Clone)]
struct Baseline {
    bytes: usize,
    algorithm: Algorithm,
}

impl Program for Baseline {
    type Output = f64;

    async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
        let sum = Reduction { element: Element::Float32, operator: Operator::Sum };
        allreduce(&comm, Payload::Phantom(self.bytes), sum, Choice::Fixed(self.algorithm)).await?;
        Ok(comm.wtime())
    }
}

fn simulated<P: Program<Output = f64>>(machine: &Machine, program: &P) -> f64 {
    let placement = weft_sim::Placement::identity(machine.nodes());
    let outcome = weft_sim::run(machine, &placement, program, &weft_sim::Options::default()).expect("it runs");
    outcome.outputs.into_iter().fold(0.0, f64::max)
}

/// A compiled collective, timed once.
#[derive(Clone)]
struct Compiled(Timed);

impl Program for Compiled {
    type Output = f64;

    async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
        Ok(self.0.run(comm).await?[0])
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, extents, bytes] = &words[..] else { panic!("expected MACHINE EXTENTS BYTES") };
    let mut machine = weft_machine::find(name).expect("a machine");
    if extents != "-" {
        let extents = extents.split('x').map(|extent| extent.parse().expect("a number")).collect();
        machine.topology = Topology::Torus { extents };
    }
    let bytes: u64 = bytes.parse().expect("a number");
    let fabric = Fabric::of_machine(&machine).expect("a network");
    let start = Instant::now();
    let method = Method::Auto;
    let request = Request { collective: Collective::Allreduce, bytes, element_bytes: 4, root: 0, method };
    let (schedule, considered) =
        weft_launch::compile_collective(&machine, &fabric, &request, &Interrupt::NEVER).expect("a schedule");
    let compiling = start.elapsed().as_secs_f64();
    verify(&schedule).expect("a schedule that is right");
    let (predicted, bound, efficiency) = (schedule.seconds(), schedule.bound_seconds(), schedule.efficiency());
    let chunks = schedule.stages.first().map_or(1, |stage| stage.chunks);
    let (form, messages) = (schedule.form().to_owned(), schedule.messages());
    let considered: Vec<_> = considered.iter().map(|other| (&other.form, other.predicted, other.simulated)).collect();
    let compiled = simulated(&machine, &Compiled(Timed::new(Arc::new(schedule), true, 1).expect("a program")));
    let baseline = |algorithm| simulated(&machine, &Baseline { bytes: bytes as usize, algorithm });
    let line = serde_json::json!({
        "ranks": machine.nodes(), "compiling": compiling, "predicted": predicted, "bound": bound, "efficiency": efficiency,
        "form": form, "messages": messages, "considered": considered, "chunks": chunks, "weft": compiled, "ring": baseline(Algorithm::Ring),
        "recursive-doubling": baseline(Algorithm::RecursiveDoubling), "rabenseifner": baseline(Algorithm::Rabenseifner),
    });
    println!("{line}");
}
