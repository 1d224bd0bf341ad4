//! Connection sets, schedules, the compiler.

use std::sync::Arc;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use weft_base::Interrupt;
use weft_conset::compile::{Plan, Search};
use weft_conset::{
    Compiler, Connection, ConnectionSet, NAMED, Options, Order, Progress, Resources, Schedule, Sealed, compile_from,
    named, verify_until,
};

use crate::errors::{RunError, usage};
use crate::interruptible::{interruptible, with_progress};
use crate::machine::PyMachine;

/// The module of Python that shows connection sets and schedules, which is imported when one is shown.
const SHOWING: &str = "weft.conset.showing";

/// A set of connections between nodes.
#[pyclass(name = "ConnectionSet", module = "weft._core", frozen)]
pub struct PyConnectionSet(pub Arc<ConnectionSet>);

impl From<ConnectionSet> for PyConnectionSet {
    fn from(set: ConnectionSet) -> PyConnectionSet {
        PyConnectionSet(Arc::new(set))
    }
}

#[pymethods]
impl PyConnectionSet {
    #[new]
    #[pyo3(signature = (nodes, connections, name = "connections", orders = Vec::new()))]
    fn new(
        nodes: u32,
        connections: Vec<(u32, u32, u64)>,
        name: &str,
        orders: Vec<(u32, u32)>,
    ) -> PyResult<PyConnectionSet> {
        let connection = |(source, destination, words)| Connection { source, destination, words };
        let connections = connections.into_iter().map(connection).collect();
        let orders = orders.into_iter().map(|(before, after)| Order { before, after }).collect();
        let set =
            ConnectionSet::new(name, nodes, connections).and_then(|set| set.with_orders(orders)).map_err(usage)?;
        Ok(set.into())
    }

    /// A named pattern between the nodes of a machine, `words` words on every connection. Raises UsageError.
    #[staticmethod]
    #[pyo3(signature = (name, machine, words = 1, seed = 0))]
    fn named(py: Python<'_>, name: &str, machine: &PyMachine, words: u64, seed: u64) -> PyResult<PyConnectionSet> {
        let (name, topology) = (name.to_owned(), machine.0.topology.clone());
        let set = interruptible(py, move |_| named(&name, &topology, words, seed))?;
        set.map(PyConnectionSet::from).map_err(usage)
    }

    /// The set that `to_json` wrote. Raises UsageError.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<PyConnectionSet> {
        let set: ConnectionSet = serde_json::from_str(text).map_err(usage)?;
        set.check().map_err(usage)?;
        Ok(set.into())
    }

    /// The set as JSON: name, nodes, connections, orders.
    fn to_json(&self) -> String {
        serde_json::to_string(&*self.0).expect("a set is plain data")
    }

    /// What people call it.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// How many nodes there are.
    #[getter]
    fn nodes(&self) -> u32 {
        self.0.nodes
    }

    /// Source, destination and words of each connection.
    #[getter]
    fn connections(&self) -> Vec<(u32, u32, u64)> {
        self.0.connections.iter().map(|c| (c.source, c.destination, c.words)).collect()
    }

    /// Pairs of connections, by index, of which the first must be finished before the second starts.
    #[getter]
    fn orders(&self) -> Vec<(u32, u32)> {
        self.0.orders.iter().map(|order| (order.before, order.after)).collect()
    }

    /// The same with `words` words on every connection. Raises UsageError.
    fn with_words(&self, words: u64) -> PyResult<PyConnectionSet> {
        ConnectionSet::clone(&self.0).with_words(words).map(PyConnectionSet::from).map_err(usage)
    }

    /// The set with its parts placed on the machine's nodes so that words cross few links, and the node of each part.
    #[pyo3(signature = (machine, seed = 0))]
    fn placed(&self, py: Python<'_>, machine: &PyMachine, seed: u64) -> PyResult<(PyConnectionSet, Vec<u32>)> {
        let (set, topology) = (self.0.clone(), machine.0.topology.clone());
        let (nodes, set) = interruptible(py, move |interrupt| {
            let asked = || interrupt.is_requested();
            let control = weft_conset::compile::Control::new(60.0, seed, &asked, &|_| ());
            weft_conset::compile::assign_nodes(&set, &topology, &control)
        })?;
        Ok((set.into(), nodes))
    }

    fn __len__(&self) -> usize {
        self.0.connections.len()
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(SHOWING)?.call_method1("connections_html", (slf,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.py().import(SHOWING)?.getattr("restored_connections")?, (slf.get().to_json(),)))
    }

    fn __repr__(&self) -> String {
        format!(
            "<weft connection set {}: {} connections between {} nodes>",
            self.0.name,
            self.0.connections.len(),
            self.0.nodes
        )
    }
}

/// About how many bytes a transfer takes that is written out, in memory and as text.
const WRITTEN_BYTES: u64 = 600;

/// Seconds that exceed a bound by less than this part are the bound: sums are rounded.
const OPTIMAL: f64 = 1e-9;

/// Phases of connections with routes and times (seam 4).
#[pyclass(name = "Schedule", module = "weft._core", frozen)]
pub struct PySchedule(pub Arc<Sealed>);

#[pymethods]
impl PySchedule {
    /// The schedule whose JSON `text` is; `path` is what messages call it. Nothing but the form is checked. Raises
    /// UsageError.
    #[staticmethod]
    fn parse(text: &str, path: &str) -> PyResult<PySchedule> {
        Schedule::from_json(text, path).map(|schedule| PySchedule(Arc::new(schedule.into()))).map_err(usage)
    }

    /// The schedule as JSON; `written_out` with every transfer of its own, where those of large symmetric sets are kept as
    /// orbits of translations. Raises UsageError where there is no memory for it.
    #[pyo3(signature = (written_out = false))]
    fn to_json(&self, py: Python<'_>, written_out: bool) -> PyResult<String> {
        let schedule = self.0.clone();
        if !written_out || schedule.phases.iter().all(|phase| phase.orbits.is_empty()) {
            return interruptible(py, move |_| schedule.to_json());
        }
        let transfers: usize = schedule.phases.iter().map(weft_conset::Phase::transfers).sum();
        let what = format!("{transfers} transfers written out");
        weft_base::memory::require(transfers as u64 * WRITTEN_BYTES, what, "look at a smaller pattern")
            .map_err(usage)?;
        interruptible(py, move |_| schedule.written_out().to_json())
    }

    /// Checks every rule and every lower bound with code of its own, against the connection set too where it is given.
    /// Raises UsageError with the first rule that is broken.
    #[pyo3(signature = (connections = None))]
    fn verify(&self, py: Python<'_>, connections: Option<&PyConnectionSet>) -> PyResult<()> {
        let (schedule, set) = (self.0.clone(), connections.map(|set| set.0.clone()));
        let verify = move |interrupt: &Interrupt| verify_until(&schedule, set.as_deref(), interrupt).map(drop);
        interruptible(py, verify)?.map_err(usage)
    }

    /// Name of the machine.
    #[getter]
    fn machine(&self) -> &str {
        &self.0.machine
    }

    /// Name of the connection set.
    #[getter]
    fn pattern(&self) -> &str {
        &self.0.pattern
    }

    /// Number of phases.
    #[getter]
    fn phases(&self) -> usize {
        self.0.phases.len()
    }

    /// Seconds of all phases together, from when all nodes are ready until all know that all are through.
    #[getter]
    fn predicted_seconds(&self) -> f64 {
        self.0.predicted_seconds
    }

    /// Seconds that a message for every connection takes on the machine; None where nobody has simulated it.
    #[getter]
    fn message_seconds(&self) -> Option<f64> {
        self.0.message_seconds
    }

    /// What is faster: `phases` or `messages`; None where it is not known.
    #[getter]
    fn faster(&self) -> Option<&'static str> {
        self.0.faster().map(|method| match method {
            weft_comm::ExchangeMethod::Connections => "phases",
            weft_comm::ExchangeMethod::Messages => "messages",
        })
    }

    /// What the schedule has as little of as a lower bound proves to be least: `phases`, `seconds`, both or neither.
    /// Seconds are the least of schedules of phases; messages may take less.
    #[getter]
    fn optimal(&self) -> Vec<&'static str> {
        let reached = |unit: &str, reached: f64| {
            self.0.best_bound(unit).is_some_and(|bound| reached <= bound.value * (1.0 + OPTIMAL))
        };
        let phases = reached("phases", self.0.phases.len() as f64).then_some("phases");
        let seconds = reached("s", self.0.predicted_seconds).then_some("seconds");
        phases.into_iter().chain(seconds).collect()
    }

    /// How it is carried out: by `phases` or by `messages`.
    #[getter]
    fn method(&self) -> &'static str {
        if self.0.by_messages { "messages" } else { "phases" }
    }

    /// The same schedule beside what messages take, in seconds, in a random order where there is a `seed`; carried out by
    /// `phases`, by `messages`, or by what is faster (`auto`). Raises UsageError.
    #[pyo3(signature = (seconds, seed = None, method = "phases"))]
    fn beside_messages(&self, seconds: f64, seed: Option<u64>, method: &str) -> PyResult<PySchedule> {
        if !(seconds.is_finite() && seconds >= 0.0) {
            return Err(usage(format!("expected the seconds of messages, found {seconds}")));
        }
        let mut schedule = Schedule { message_seconds: Some(seconds), message_seed: seed, ..Schedule::clone(&self.0) };
        schedule.by_messages = match method {
            "phases" => false,
            "messages" => true,
            "auto" => schedule.faster() == Some(weft_comm::ExchangeMethod::Messages),
            other => return Err(usage(format!("no method is called {other}; there are auto, phases, messages"))),
        };
        Ok(PySchedule(Arc::new(Sealed::of_compiled(schedule.sealed()))))
    }

    /// The sum over the phases of the most connections on one link.
    #[getter]
    fn link_load_sum(&self) -> u64 {
        self.0.link_load_sum()
    }

    /// Lower bounds: name, value, unit (`phases` or `s`).
    #[getter]
    fn lower_bounds(&self) -> Vec<(String, f64, String)> {
        self.0.lower_bounds.iter().map(|bound| (bound.name.clone(), bound.value, bound.unit.clone())).collect()
    }

    fn __len__(&self) -> usize {
        self.0.phases.len()
    }

    /// Draws the connections of each phase over its time, on axes of matplotlib.
    #[pyo3(signature = (ax = None))]
    fn plot<'py>(slf: &Bound<'py, Self>, ax: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(SHOWING)?.call_method1("plot_schedule", (slf, ax))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(SHOWING)?.call_method1("schedule_html", (slf,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let text = slf.get().to_json(slf.py(), false)?;
        Ok((slf.py().import(SHOWING)?.getattr("restored_schedule")?, (text,)))
    }

    fn __repr__(&self) -> String {
        let (pattern, machine, phases) = (&self.0.pattern, &self.0.machine, self.0.phases.len());
        format!("<weft schedule of {pattern} on {machine}: {phases} phases, {:.6} s>", self.0.predicted_seconds)
    }
}

/// The named patterns as a JSON list: `name`, `summary`.
#[pyfunction]
pub fn patterns() -> String {
    let list: Vec<_> =
        NAMED.iter().map(|named| serde_json::json!({"name": named.name, "summary": named.summary})).collect();
    serde_json::Value::from(list).to_string()
}

/// What a compilation says while it runs.
enum Said {
    Progress(Progress),
    Better(String),
}

/// Vertices of all routes of a plan that is kept: one that is larger takes longer to write than to find again.
const MAX_KEPT: usize = 1 << 22;

/// Compiles a connection set for a machine; the schedule, and whether Ctrl-C ended the search. Raises UsageError, RunError.
///
/// `channels`, `link_channels` and `ports` replace those of the machine file; `access_time` (s a word) and `access`
/// (`separate` or `shared`) as well. `progress` is called with what is done, the share of the effort spent, and phases and
/// seconds of the best so far; an Exception of its own does not end the work.
/// `improved` is called with every plan that is better than all before it, in JSON, unless that is very long; what it raises
/// ends the work. Such a plan is what `kept` goes on from: the schedule is no worse.
#[pyfunction]
#[pyo3(signature = (connections, machine, channels = None, link_channels = None, ports = None, access = None,
    access_time = None, compiler = "weft", effort = 1.0, seed = 0, phases = None, split = true, progress = None,
    kept = None, improved = None))]
#[expect(clippy::too_many_arguments, reason = "the settings of a compilation, by name")]
pub fn compile_connections(
    py: Python<'_>,
    connections: &PyConnectionSet,
    machine: &PyMachine,
    channels: Option<u32>,
    link_channels: Option<u32>,
    ports: Option<u32>,
    access: Option<&str>,
    access_time: Option<f64>,
    compiler: &str,
    effort: f64,
    seed: u64,
    phases: Option<u32>,
    split: bool,
    progress: Option<Py<PyAny>>,
    kept: Option<&str>,
    improved: Option<Py<PyAny>>,
) -> PyResult<(PySchedule, bool)> {
    let mut resources = Resources::of(&machine.0).map_err(usage)?;
    resources.node_channels = channels.or(resources.node_channels);
    resources.link_channels = link_channels.or(resources.link_channels);
    resources.ports = ports.or(resources.ports);
    if let Some(word) = access {
        resources.access = *weft_machine::Access::ALL
            .iter()
            .find(|access| access.name() == word)
            .ok_or_else(|| usage(format!("no access is called {word}; there are separate and shared")))?;
    }
    if let Some(seconds) = access_time {
        if !(seconds.is_finite() && seconds > 0.0) {
            return Err(usage(format!("expected an access time above 0, found {seconds}")));
        }
        resources.access_seconds = seconds;
    }
    let compiler = *Compiler::ALL
        .iter()
        .find(|known| known.name() == compiler)
        .ok_or_else(|| usage(format!("no compiler is called {compiler}; there are weft and apr")))?;
    if !(effort.is_finite() && effort >= 0.0) {
        return Err(usage(format!("expected an effort of at least 0 seconds, found {effort}")));
    }
    let options = Options { compiler, effort, seed, phases, split };
    let name = machine.0.name.clone();
    let set = connections.0.clone();
    let kept: Option<Plan> = kept.map(serde_json::from_str).transpose().map_err(usage)?;
    let is_kept = improved.is_some();
    let compile = move |interrupt: &Interrupt, tell: &dyn Fn(Said)| {
        let interrupted = || interrupt.is_requested();
        let progress = |progress: &Progress| tell(Said::Progress(progress.clone()));
        let keep = |plan: &Plan| {
            if is_kept && plan.iter().flatten().map(|placed| placed.route.len()).sum::<usize>() <= MAX_KEPT {
                tell(Said::Better(serde_json::to_string(plan).expect("a plan is plain data")));
            }
        };
        let search = Search { kept, interrupted: &interrupted, progress: &progress, improved: &keep };
        compile_from(&set, &resources, &name, &options, search)
    };
    let show = |said: Said| match (said, &progress, &improved) {
        (Said::Progress(said), Some(progress), _) => {
            let (phases, seconds) = said.best.map_or((None, None), |(phases, seconds)| (Some(phases), Some(seconds)));
            let shown = progress.call1(py, (&said.doing, said.spent, phases, seconds)).map(drop);
            // What shows progress must not end the work; Ctrl-C while it does so must.
            shown.or_else(|error| if error.is_instance_of::<PyException>(py) { Ok(()) } else { Err(error) })
        }
        (Said::Better(plan), _, Some(improved)) => improved.call1(py, (plan,)).map(drop),
        _ => Ok(()),
    };
    let (schedule, raised) = with_progress(py, compile, show)?;
    let stopped = raised.is_some();
    let schedule = schedule.map_err(|error| match error {
        weft_conset::CompileError::Interrupted => RunError::new_err(error.to_string()),
        other => usage(other),
    })?;
    Ok((PySchedule(Arc::new(Sealed::of_compiled(schedule))), stopped))
}
