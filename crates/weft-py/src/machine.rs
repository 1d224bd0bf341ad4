//! Machine descriptions.

use pyo3::prelude::*;
use weft_base::quoting;
use weft_machine::Machine;

use crate::errors::{MachineError, usage};

/// A machine description (seam 1).
#[pyclass(name = "Machine", module = "weft._core", frozen)]
pub struct PyMachine(pub Machine);

#[pymethods]
impl PyMachine {
    /// Reads the text of a machine file; `path` is what messages call it. Raises MachineError.
    #[staticmethod]
    fn parse(text: &str, path: &str) -> PyResult<PyMachine> {
        let machine = Machine::parse(text, path).map_err(|error| machine_error(&error))?;
        Ok(PyMachine(machine))
    }

    /// A machine of the catalogue by name, or a machine file by path. Raises MachineError.
    #[staticmethod]
    fn find(name_or_path: &str) -> PyResult<PyMachine> {
        let machine = weft_machine::find(name_or_path).map_err(|error| machine_error(&error))?;
        Ok(PyMachine(machine))
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

    fn __repr__(&self) -> String {
        format!("<weft machine {}: {}, {} nodes>", self.0.name, self.0.title, self.0.nodes())
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
