//! Costs of data-parallel machines.

use pyo3::prelude::*;
use serde_json::{Value, json};
use weft_polyshift::connection_machine::{
    Array, Axis, Fallback, Order, Shift, Times, Work, cshifts, cshifts_work, pshift,
};

use crate::errors::UsageError;
use crate::machine::PyMachine;

/// What shifts of an array cost on a data-parallel machine, planned and one by one; JSON. Raises UsageError.
#[pyfunction]
#[pyo3(signature = (machine, subgrid, element_bytes, shifts, send_axes = vec![], padded_axes = vec![]))]
pub fn shift_times(
    machine: &PyMachine,
    subgrid: Vec<u64>,
    element_bytes: u64,
    shifts: Vec<(usize, i64)>,
    send_axes: Vec<usize>,
    padded_axes: Vec<usize>,
) -> PyResult<String> {
    let machine = &machine.0;
    let costs = machine.shifts.as_ref().ok_or_else(|| {
        UsageError::new_err(format!("{} has no costs of shifts: its machine file has no table [shifts]", machine.name))
    })?;
    let axis = |(index, extent): (usize, u64)| Axis {
        extent,
        order: if send_axes.contains(&index) { Order::Send } else { Order::News },
        is_padded: padded_axes.contains(&index),
    };
    let array = Array { axes: subgrid.into_iter().enumerate().map(axis).collect(), element_bytes };
    let shifts: Vec<Shift> = shifts.into_iter().map(|(axis, distance)| Shift { axis, distance }).collect();
    let wrong = |error: weft_polyshift::connection_machine::ShiftError| UsageError::new_err(error.to_string());
    let planned = pshift(costs, &array, &shifts).map_err(wrong)?;
    let single = cshifts(costs, &array, &shifts).map_err(wrong)?;
    let work = cshifts_work(costs, &array, &shifts).map_err(wrong)?;
    let fallbacks: Vec<Option<&str>> =
        planned.fallbacks.iter().map(|fallback| fallback.map(Fallback::reason)).collect();
    Ok(json!({
        "pshift": times(planned.times, planned.work),
        "cshift": times(single, work),
        "fallbacks": fallbacks,
    })
    .to_string())
}

fn times(times: Times, work: Work) -> Value {
    json!({
        "cm_s": times.cm,
        "front_end_s": times.front_end,
        "elapsed_s": times.elapsed(),
        "exchanges": work.exchanges,
        "transposed": work.transposed,
        "moved": work.moved,
        "stalls": work.stalls,
    })
}
