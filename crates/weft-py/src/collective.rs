//! Networks, and collectives compiled for them.

use std::sync::Arc;

use pyo3::prelude::*;
use weft_base::Interrupt;
use weft_collectives::{Collective, Fabric, Method, Request, Schedule, unpredicted, verify};
use weft_launch::Compiled;

use crate::errors::{launch_error, usage};
use crate::interruptible::{interruptible, with_progress};
use crate::machine::PyMachine;

/// A network of ranks, switches and links.
#[pyclass(name = "Fabric", module = "weft._core", frozen)]
pub struct PyFabric {
    fabric: Arc<Fabric>,
    unpredicted: Option<&'static str>,
}

#[pymethods]
impl PyFabric {
    /// The network of a described machine. Raises UsageError.
    #[staticmethod]
    fn of_machine(machine: &PyMachine) -> PyResult<PyFabric> {
        let fabric = Fabric::of_machine(&machine.0).map_err(usage)?;
        Ok(PyFabric { fabric: Arc::new(fabric), unpredicted: unpredicted(&machine.0) })
    }

    /// The network whose JSON `text` is; `path` is what messages call it. Raises UsageError.
    #[staticmethod]
    fn parse(text: &str, path: &str) -> PyResult<PyFabric> {
        let fabric = Fabric::from_json(text, path).map_err(usage)?;
        Ok(PyFabric { fabric: Arc::new(fabric), unpredicted: Some("which routes messages take") })
    }

    /// The same network with these nodes only, as ranks in this order. Raises UsageError.
    fn with_group(&self, nodes: Vec<usize>) -> PyResult<PyFabric> {
        let fabric = self.fabric.with_group(&nodes).map_err(usage)?;
        Ok(PyFabric { fabric: Arc::new(fabric), unpredicted: self.unpredicted })
    }

    /// The same network, all of whose switches copy, add, do both or neither. Raises UsageError.
    fn with_switches(&self, multicast: bool, reduction: bool) -> PyResult<PyFabric> {
        let fabric = (*self.fabric).clone().with_switches(multicast, reduction).map_err(usage)?;
        Ok(PyFabric { fabric: Arc::new(fabric), unpredicted: self.unpredicted })
    }

    /// What people call it.
    #[getter]
    fn name(&self) -> &str {
        &self.fabric.name
    }

    /// How many ranks it has.
    #[getter]
    fn ranks(&self) -> usize {
        self.fabric.ranks.len()
    }

    /// What predictions do not know of the messages that cross it, in words; None where they know the routes and what meets on
    /// them.
    #[getter]
    fn unpredicted(&self) -> Option<&'static str> {
        self.unpredicted
    }

    fn __repr__(&self) -> String {
        let Fabric { name, ranks, vertices, links, .. } = &*self.fabric;
        format!("<weft network {name}: {} ranks, {} vertices, {} links>", ranks.len(), vertices.len(), links.len())
    }
}

/// A compiled collective: trees, rounds of messages, or the paths of blocks.
#[pyclass(name = "CollectiveSchedule", module = "weft._core", frozen)]
pub struct PyCollectiveSchedule(Arc<Schedule>);

#[pymethods]
impl PyCollectiveSchedule {
    /// The schedule whose JSON `text` is; `path` is what messages call it. Nothing but the form is checked. Raises
    /// UsageError.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, path: &str) -> PyResult<PyCollectiveSchedule> {
        let (text, path) = (text.to_owned(), path.to_owned());
        let schedule = interruptible(py, move |_| Schedule::from_json(&text, &path))?.map_err(usage)?;
        Ok(PyCollectiveSchedule(Arc::new(schedule)))
    }

    /// The schedule as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let schedule = self.0.clone();
        interruptible(py, move |_| schedule.to_json())
    }

    /// Checks every rule and the certificate with code of its own. Raises UsageError with the first rule that is broken.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        let schedule = self.0.clone();
        interruptible(py, move |_| verify(&schedule))?.map_err(usage)
    }

    /// What ranks do together: `allgather`, say.
    #[getter]
    fn collective(&self) -> &str {
        self.0.collective.name()
    }

    /// Name of the machine or graph.
    #[getter]
    fn machine(&self) -> &str {
        &self.0.fabric.name
    }

    /// Number of ranks.
    #[getter]
    fn ranks(&self) -> usize {
        self.0.fabric.ranks.len()
    }

    /// Bytes of the whole buffer.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Bytes of an element.
    #[getter]
    fn element_bytes(&self) -> u64 {
        self.0.element_bytes
    }

    /// The root of a broadcast or reduction.
    #[getter]
    fn root(&self) -> Option<usize> {
        self.0.root
    }

    /// Predicted seconds.
    #[getter]
    fn predicted_seconds(&self) -> f64 {
        self.0.seconds()
    }

    /// Seconds below which no schedule of the same stages is; of an exchange, none that sends elements and their sums each on
    /// its own.
    #[getter]
    fn bound_seconds(&self) -> f64 {
        self.0.bound_seconds()
    }

    /// Throughput in parts of the certified optimum.
    #[getter]
    fn efficiency(&self) -> f64 {
        self.0.efficiency()
    }

    /// Trees of all stages, also those that are written as movements of others.
    #[getter]
    fn trees(&self) -> u64 {
        self.0.trees()
    }

    /// Whether it is of trees, and all that goes from one rank to another is one message, in every stage.
    #[getter]
    fn merged(&self) -> bool {
        self.0.exchange.is_none() && self.0.stages.iter().all(|stage| stage.merged)
    }

    /// What people call the way in which it is done: `trees`, `merged trees`, `packed paths`, or an algorithm such as
    /// `recursive halving`.
    #[getter]
    fn form(&self) -> &str {
        self.0.form()
    }

    /// Whether switches copy or add in its trees.
    #[getter]
    fn has_switches(&self) -> bool {
        self.0.has_switches()
    }

    /// How many messages its execution sends.
    #[getter]
    fn messages(&self) -> u64 {
        self.0.messages()
    }

    /// How many rounds an exchange has; 0 for trees.
    #[getter]
    fn rounds(&self) -> usize {
        self.0.exchange.as_ref().map_or(0, |exchange| exchange.rounds.len())
    }

    /// The vertices on the smaller side of the cut that limits an exchange, or in it if there are others; also of trees that
    /// reduce and copy at the same time. None for other trees.
    #[getter]
    fn exchange_cut(&self) -> Vec<&str> {
        let Some(bound) = self.lone_bound() else { return Vec::new() };
        match bound.others.is_empty() {
            true => smaller_side(&self.0.fabric, &bound.cut),
            false => bound.cut.iter().map(|&vertex| self.0.fabric.vertices[vertex].as_str()).collect(),
        }
    }

    /// How many sets beside that cut the bound has: between all of them elements are brought together, and spread again; 0
    /// where the cut alone is the bound.
    #[getter]
    fn exchange_others(&self) -> usize {
        self.lone_bound().map_or(0, |bound| bound.others.len())
    }

    /// Of an all-to-all with blocks of unlike length, their bytes by source and destination; otherwise None.
    #[getter]
    fn blocks(&self) -> Option<Vec<Vec<u64>>> {
        self.0.blocks.clone()
    }

    /// The links whose prices certify the bound of an all-to-all: names of both ends, and the part of the bound that each
    /// earns, the largest first. None of other collectives.
    #[getter]
    fn priced_links(&self) -> Vec<(&str, &str, f64)> {
        let Fabric { links, vertices, .. } = &self.0.fabric;
        let of_stage = self.0.stages.first().map(|stage| &stage.bound);
        let Some(bound) = self.0.exchange.as_ref().map(|exchange| &exchange.bound).or(of_stage) else {
            return Vec::new();
        };
        let earns = |&(link, price): &(u32, u64)| {
            let link = links[link as usize];
            (vertices[link.from].as_str(), vertices[link.to].as_str(), price as f64 * link.bandwidth)
        };
        let mut priced: Vec<_> = bound.prices.iter().map(earns).collect();
        let all: f64 = priced.iter().map(|link| link.2).sum();
        priced.iter_mut().for_each(|link| link.2 /= all);
        priced.sort_by(|a, b| b.2.total_cmp(&a.2));
        priced
    }

    /// Of each stage: what it does, pieces of a tree's bytes, rate and its bound in bytes a second of each root (of the buffer
    /// where it reduces and copies at the same time), and the vertices on the smaller side of the cut that certifies it (none
    /// there, which `exchange_cut` has).
    #[getter]
    fn stages(&self) -> Vec<(&'static str, u64, f64, f64, Vec<&str>)> {
        let names = |cut: &[usize]| smaller_side(&self.0.fabric, cut);
        let stages = self.0.stages.iter();
        stages
            .map(|stage| {
                let (operation, most) = match stage.operation {
                    weft_collectives::Operation::Copy => ("copy", stage.bound.rate),
                    weft_collectives::Operation::Reduce => ("reduce", stage.bound.rate),
                    weft_collectives::Operation::ReduceBroadcast => {
                        ("reduce-broadcast", self.0.bytes as f64 / stage.bound.seconds)
                    }
                };
                let is_both = stage.operation == weft_collectives::Operation::ReduceBroadcast;
                let cut = if is_both { Vec::new() } else { names(&stage.bound.cut) };
                (operation, stage.chunks, stage.rate, most, cut)
            })
            .collect()
    }

    /// Executes it in virtual time on the machine that it was compiled for: seconds. Raises UsageError, RunError.
    #[pyo3(signature = (machine, phantom = true))]
    fn simulate(&self, py: Python<'_>, machine: &PyMachine, phantom: bool) -> PyResult<f64> {
        let (schedule, machine) = (self.0.clone(), machine.0.clone());
        interruptible(py, move |interrupt| weft_launch::simulate_collective(&machine, &schedule, phantom, interrupt))?
            .map_err(launch_error)
    }

    /// Executes it with threads as ranks and compares every buffer: seconds of each time. Raises UsageError, RunError.
    #[pyo3(signature = (iterations = 1))]
    fn run_threads(&self, py: Python<'_>, iterations: usize) -> PyResult<Vec<f64>> {
        py.detach(|| weft_launch::collective_threads(&self.0, iterations)).map_err(launch_error)
    }

    fn __repr__(&self) -> String {
        let (name, machine, ranks) = (self.0.collective.name(), &self.0.fabric.name, self.0.fabric.ranks.len());
        format!("<weft {name} on {machine}: {ranks} ranks, {} trees, {:.6} s>", self.trees(), self.0.seconds())
    }
}

impl PyCollectiveSchedule {
    /// The bound of a schedule that is not in stages of reducing or copying alone.
    fn lone_bound(&self) -> Option<&weft_collectives::Bound> {
        let both = self.0.stages.iter().find(|stage| stage.operation == weft_collectives::Operation::ReduceBroadcast);
        self.0.exchange.as_ref().map(|exchange| &exchange.bound).or(both.map(|stage| &stage.bound))
    }
}

/// The names of the vertices on the smaller side of a cut.
fn smaller_side<'a>(fabric: &'a Fabric, cut: &[usize]) -> Vec<&'a str> {
    let vertices = &fabric.vertices;
    let is_smaller = cut.len() <= vertices.len() / 2;
    let shown = (0..vertices.len()).filter(|vertex| cut.binary_search(vertex).is_ok() == is_smaller);
    shown.map(|vertex| vertices[vertex].as_str()).collect()
}

/// The names of the collectives that are compiled.
#[pyfunction]
pub fn collectives() -> Vec<&'static str> {
    Collective::ALL.map(Collective::name).to_vec()
}

/// A form, its predicted seconds, and its seconds in virtual time where that was looked at.
type Considered = (String, f64, Option<f64>);

/// Compiles a collective of `bytes` bytes for a network. `method` is `auto` for what is fastest, `throughput`, or `latency`.
/// With the `machine` that the network is of, what is predicted to be fast is executed in virtual time, and the fastest is
/// taken; otherwise predictions decide. `effort` is nominal seconds of search. Beside the schedule: its predicted seconds, what
/// was considered, and whether Ctrl-C ended the search. `blocks` are the bytes of each block of an all-to-all, by source and
/// destination, where they are of unlike length. Raises UsageError, RunError.
#[pyfunction]
#[pyo3(signature = (
    fabric, collective, bytes, element_bytes = 4, root = 0, method = "auto", machine = None, effort = 1.0, blocks = None
))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub fn compile_collective(
    py: Python<'_>,
    fabric: &PyFabric,
    collective: &str,
    bytes: u64,
    element_bytes: u64,
    root: usize,
    method: &str,
    machine: Option<&PyMachine>,
    effort: f64,
    blocks: Option<Vec<Vec<u64>>>,
) -> PyResult<(PyCollectiveSchedule, f64, Vec<Considered>, bool)> {
    if !(effort.is_finite() && effort >= 0.0) {
        return Err(usage(format!("expected an effort of at least 0 seconds, found {effort}")));
    }
    let collective = *Collective::ALL.iter().find(|known| known.name() == collective).ok_or_else(|| {
        usage(format!("no collective is called {collective}; there are {}", collectives().join(", ")))
    })?;
    let method = *Method::ALL.iter().find(|known| known.name() == method).ok_or_else(|| {
        usage(format!("no method is called {method}; there are {}", Method::ALL.map(Method::name).join(", ")))
    })?;
    let network = fabric.fabric.clone();
    let request = Request { collective, bytes, element_bytes, root, method, blocks };
    let machine = machine.map(|machine| machine.0.clone());
    let compile = move |interrupt: &Interrupt, _: &dyn Fn(())| match machine {
        Some(machine) => weft_launch::compile_collective(&machine, &network, &request, effort, interrupt),
        None => weft_launch::compile_collective_of_graph(&network, &request, effort, interrupt),
    };
    let (compiled, raised) = with_progress(py, compile, |()| Ok(()))?;
    let stopped = raised.is_some();
    let Compiled { schedule, predicted, considered } = match (compiled, raised) {
        (Ok(compiled), _) => compiled,
        // Nothing was there to be kept.
        (Err(_), Some(raised)) => return Err(raised),
        (Err(error), None) => return Err(launch_error(error)),
    };
    let considered = considered.into_iter().map(|other| (other.form, other.predicted, other.simulated)).collect();
    Ok((PyCollectiveSchedule(Arc::new(schedule)), predicted, considered, stopped))
}
