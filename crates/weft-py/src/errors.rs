//! The exceptions of `weft._core`; `str()` of each is the whole message.

use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception};
use weft_base::quoting;
use weft_launch::LaunchError;

create_exception!(weft._core, WeftError, PyException, "Base of weft's errors; str() is the whole message.");
create_exception!(
    weft._core,
    UsageError,
    WeftError,
    "A request that cannot be meant: wrong name, range or combination."
);
create_exception!(
    weft._core,
    MachineError,
    UsageError,
    "A machine description that cannot be read: file, line, key, what was expected."
);
create_exception!(weft._core, RunError, WeftError, "A run that failed: deadlock, a missing library, a killed rank.");

/// A request that cannot be meant, for the reason given; input in it is shortened and cannot move a terminal's cursor.
pub fn usage(reason: impl ToString) -> PyErr {
    UsageError::new_err(quoting::message(&reason.to_string()))
}

/// A launch's error as the exception for it.
pub fn launch_error(error: LaunchError) -> PyErr {
    match error {
        LaunchError::Usage(message) => usage(message),
        LaunchError::Run(error) => RunError::new_err(quoting::message(&error.to_string())),
    }
}
