//! Machine descriptions.

use pyo3::prelude::*;
use weft_base::quoting;
use weft_machine::{Estimand, Machine, Vertex};

use crate::errors::{MachineError, usage};

/// The module of Python that shows machines, which is imported when one is shown.
const SHOWING: &str = "weft.catalogue.showing";

/// What a pickle keeps: a function, and its arguments, the machine's file and the faults that were put in.
type Reduced = (Py<PyAny>, (String, Vec<String>));

/// A machine description (seam 1), and what was said of its faults.
#[pyclass(name = "Machine", module = "weft._core", frozen)]
pub struct PyMachine(pub Machine, Vec<String>);

#[pymethods]
impl PyMachine {
    /// Reads the text of a machine file; `path` is what messages call it. Raises MachineError.
    #[staticmethod]
    fn parse(text: &str, path: &str) -> PyResult<PyMachine> {
        let machine = Machine::parse(text, path).map_err(|error| machine_error(&error))?;
        Ok(PyMachine(machine, Vec::new()))
    }

    /// A machine of the catalogue by name, or a machine file by path. Raises MachineError.
    #[staticmethod]
    fn find(name_or_path: &str) -> PyResult<PyMachine> {
        let machine = weft_machine::find(name_or_path).map_err(|error| machine_error(&error))?;
        Ok(PyMachine(machine, Vec::new()))
    }

    /// Short name, as on the command line.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Full name.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// How many nodes it has.
    #[getter]
    fn nodes(&self) -> usize {
        self.0.nodes()
    }

    /// The same machine with hardware that is worse than described, in runs in virtual time. Raises UsageError.
    fn with_faults(&self, faults: Vec<String>) -> PyResult<PyMachine> {
        let mut machine = self.0.clone();
        for fault in &faults {
            let added = machine.degradation.add(fault, &machine.topology);
            added.map_err(|error| usage(quoting::message(&error.to_string())))?;
        }
        Ok(PyMachine(machine, [self.1.as_slice(), &faults].concat()))
    }

    /// The same machine with the costs of messages that are estimates of `undisturbed` or of `typical` times, where its
    /// file has both. Raises UsageError.
    fn with_estimand(&self, estimand: &str) -> PyResult<PyMachine> {
        let known = Estimand::ALL.into_iter().find(|one| one.name() == estimand);
        let words = Estimand::ALL.map(Estimand::name).join(" or ");
        let wrong = || usage(format!("an estimand is {words}, found '{}'", quoting::shown(estimand)));
        let machine = self.0.with_estimand(known.ok_or_else(wrong)?);
        Ok(PyMachine(machine.map_err(|error| usage(quoting::message(&error.to_string())))?, self.1.clone()))
    }

    /// Which times the costs of its messages are estimates of; None if its file does not say.
    #[getter]
    fn estimand(&self) -> Option<&'static str> {
        self.0.estimand.map(Estimand::name)
    }

    /// Those that `with_estimand` takes, its own first; empty where its file says of none.
    #[getter]
    fn estimands(&self) -> Vec<&'static str> {
        self.0.estimands().into_iter().map(Estimand::name).collect()
    }

    /// The links of the route from one node to another, in order.
    fn route(&self, from_node: usize, to_node: usize) -> PyResult<Vec<usize>> {
        let nodes = self.0.nodes();
        if from_node >= nodes || to_node >= nodes {
            return Err(usage(format!(
                "a route from node {from_node} to {to_node}: {} has {nodes} nodes",
                self.0.name
            )));
        }
        let mut links = Vec::new();
        self.0.topology.route(from_node, to_node, |link| links.push(link));
        Ok(links)
    }

    /// Where a link starts and ends: each a node as `3` or a switch as `s3`.
    fn link_ends(&self, link: usize) -> PyResult<(String, String)> {
        if link >= self.0.topology.links() {
            return Err(usage(format!("link {link}: {} has {} links", self.0.name, self.0.topology.links())));
        }
        let text = |vertex| match vertex {
            Vertex::Node(node) => node.to_string(),
            Vertex::Switch(switch) => format!("s{switch}"),
        };
        let (from, to) = self.0.topology.link_ends(link);
        Ok((text(from), text(to)))
    }

    /// Seconds of a message of `bytes` bytes over `hops` links of the idle machine; 0 hops: to itself.
    fn message_time(&self, bytes: u64, hops: usize) -> PyResult<f64> {
        self.refuse_silent()?;
        Ok(self.0.message_time(bytes, hops))
    }

    /// Seconds of a message of `bytes` bytes from a node to itself.
    fn self_time(&self, bytes: u64) -> PyResult<f64> {
        self.refuse_silent()?;
        Ok(self.0.self_time(bytes))
    }

    /// Seconds of a message of `bytes` bytes between node 0 and the host; None if the machine has no host.
    fn host_time(&self, bytes: u64) -> Option<f64> {
        self.0.host_time(bytes)
    }

    /// As a machine file.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }

    /// As JSON.
    fn to_json(&self) -> String {
        self.0.to_json().to_string()
    }

    /// Faults that were added to what its file describes.
    #[getter]
    fn faults(&self) -> Vec<String> {
        self.1.clone()
    }

    /// Draws the time of a message against its length, on axes of matplotlib.
    #[pyo3(signature = (ax = None))]
    fn plot<'py>(slf: &Bound<'py, Self>, ax: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(SHOWING)?.call_method1("plot_machine", (slf, ax))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import(SHOWING)?.call_method1("machine_html", (slf,))
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<Reduced> {
        let restored = slf.py().import(SHOWING)?.getattr("restored_machine")?;
        Ok((restored.unbind(), (slf.get().0.to_toml(), slf.get().1.clone())))
    }

    fn __repr__(&self) -> String {
        let faults = if self.1.is_empty() { String::new() } else { format!(", {}", self.1.join(", ")) };
        format!("<weft machine {}: {}, {} nodes{faults}>", self.0.name, self.0.title, self.0.nodes())
    }
}

impl PyMachine {
    /// A data-parallel machine has no time of a message.
    fn refuse_silent(&self) -> PyResult<()> {
        if self.0.passes_messages() {
            return Ok(());
        }
        let message = "is a data-parallel machine: its nodes pass no messages between programs";
        Err(usage(format!("{} {message}", self.0.name)))
    }
}

fn machine_error(error: &impl ToString) -> PyErr {
    MachineError::new_err(quoting::message(&error.to_string()))
}

/// Names of the catalogue's machines.
#[pyfunction]
pub fn catalogue() -> Vec<&'static str> {
    weft_machine::catalogue()
}
