//! Networks of routers with virtual channels, flit by flit.

use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;
use weft_flit::{Algorithm, Options, Pattern, Plan, Simulation, Traffic, measure};
use weft_launch::message_latency;

use crate::errors::UsageError;
use crate::interruptible::interruptible;
use crate::machine::PyMachine;

/// One load on one network.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    load: f64,
    vcs: usize,
    buffer: usize,
    packet: u32,
    tail_credit: bool,
    credit_cycles: u32,
    traffic: String,
    routing: String,
    cycles: u64,
    level: String,
    seed: u64,
}

/// Latency and accepted traffic of a network of routers at one load; JSON. Raises UsageError.
#[pyfunction]
pub fn flit_latency(py: Python<'_>, machine: &PyMachine, request_json: &str) -> PyResult<String> {
    let wrong = |text: String| UsageError::new_err(text);
    let request: Request = serde_json::from_str(request_json).map_err(|error| wrong(error.to_string()))?;
    let topology = machine.0.topology.clone();
    let pattern = by_name("traffic", &request.traffic, Pattern::ALL.map(|pattern| (pattern.name(), pattern)))?;
    let algorithm =
        by_name("routing", &request.routing, Algorithm::ALL.map(|algorithm| (algorithm.name(), algorithm)))?;
    let traffic = Traffic::new(pattern, &topology).map_err(wrong)?;
    let options = Options {
        channels: request.vcs,
        buffer: request.buffer,
        tail_credit: request.tail_credit,
        credit_delay: request.credit_cycles.saturating_sub(1),
        algorithm,
        packet: request.packet,
        load: request.load,
        seed: request.seed,
    };
    let mut network = Simulation::new(&topology, traffic.clone(), options).map_err(|error| wrong(error.to_string()))?;
    let plan = Plan { warmup: request.cycles / 10, cycles: request.cycles };
    let of_messages = by_name("level", &request.level, [("flit", false), ("message", true)])?;
    if of_messages && algorithm != Algorithm::Deterministic {
        return Err(wrong(format!(
            "{} routing is of routers flit by flit: the model of messages knows deterministic routes only",
            algorithm.name()
        )));
    }
    let machine = machine.0.clone();
    let measured = interruptible(py, move |interrupt| {
        if of_messages {
            message_latency(&machine, &traffic, options, plan, interrupt)
        } else {
            measure(&mut network, plan, interrupt)
        }
    })?
    .expect("who interrupts it has raised");
    Ok(json!({
        "latency_cycles": measured.latency,
        "latency_half_width": measured.half_width,
        "packets": measured.packets,
        "accepted": measured.accepted,
        "offered": measured.offered,
        "saturated": measured.saturated,
        "link_hops": measured.link_hops,
    })
    .to_string())
}

/// What has a name among those that there are.
fn by_name<T: Copy, const N: usize>(what: &str, name: &str, known: [(&str, T); N]) -> PyResult<T> {
    let value = known.iter().find(|(known, _)| *known == name).map(|&(_, value)| value);
    value.ok_or_else(|| {
        let names = known.map(|(known, _)| known).join(", ");
        UsageError::new_err(format!("there is no {what} '{name}'; there are {names}"))
    })
}
