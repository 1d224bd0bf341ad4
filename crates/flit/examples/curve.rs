//! Points of curves for `python -m benches router`: standard input has a JSON object a line, each a router with its load;
//! standard output has latency, accepted traffic, links crossed and processor seconds of each.

use std::io::{self, BufRead};

use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::json;
use weft_base::Interrupt;
use weft_flit::{Algorithm, Options, Pattern, Plan, Simulation, Traffic, measure};
use weft_machine::Topology;

#[derive(Deserialize)]
struct Router {
    vcs: usize,
    buffer: usize,
    tail_credit: bool,
    credit_cycles: u32,
    load: f64,
    seed: u64,
    cycles: u64,
}

/// Processor time of this process, s.
fn busy() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let torus = Topology::Torus { extents: vec![8, 8] };
    for line in io::stdin().lock().lines() {
        let router: Router = serde_json::from_str(&line?)?;
        let options = Options {
            channels: router.vcs,
            buffer: router.buffer,
            tail_credit: router.tail_credit,
            credit_delay: router.credit_cycles - 1,
            algorithm: Algorithm::Deterministic,
            packet: 8,
            load: router.load,
            seed: router.seed,
        };
        let mut network = Simulation::new(&torus, Traffic::new(Pattern::Uniform, &torus)?, options)?;
        let begun = busy();
        let plan = Plan { warmup: router.cycles / 10, cycles: router.cycles };
        let point = measure(&mut network, plan, &Interrupt::NEVER).expect("nobody interrupts it");
        let seconds = busy() - begun;
        println!(
            "{}",
            json!({
                "latency": point.latency, "half_width": point.half_width, "accepted": point.accepted,
                "link_hops": point.link_hops, "seconds": seconds,
            })
        );
    }
    Ok(())
}
