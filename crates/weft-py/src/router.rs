//! The combining router of data-parallel machines.

use pyo3::prelude::*;
use weft_network::combining::CombiningRouter;

use crate::errors::UsageError;
use crate::machine::PyMachine;

/// Cycles, steps and overflow of the router when every processor sends to its destination; -1 sends nothing. Raises
/// UsageError.
#[pyfunction]
pub fn route_combining(py: Python<'_>, machine: &PyMachine, destinations: Vec<i64>) -> PyResult<(u64, u64, u64)> {
    let machine = &machine.0;
    let costs = machine.primitives.as_ref().ok_or_else(|| {
        UsageError::new_err(format!("{} has no combining router: its file has no table [primitives]", machine.name))
    })?;
    let router = CombiningRouter {
        dimension: (costs.processors / costs.processors_per_chip).ilog2(),
        processors_per_chip: costs.processors_per_chip as usize,
        injects: costs.router_injects as usize,
        delivers: costs.router_delivers as usize,
        buffers: costs.router_buffers as usize,
    };
    let processors = router.processors();
    if destinations.len() != processors || destinations.iter().any(|&to| to >= processors as i64) {
        let message = format!("{} has processors 0 to {}: a destination for each, or -1", machine.name, processors - 1);
        return Err(UsageError::new_err(message));
    }
    let to: Vec<Option<usize>> = destinations.iter().map(|&to| usize::try_from(to).ok()).collect();
    let passage = py.detach(|| router.route(&to));
    Ok((passage.cycles, passage.steps, passage.overflow))
}
