//! The exceptions of `weft._core`; `str()` of each is the whole message.

use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception};
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

/// A launch's error as the exception for it.
pub fn launch_error(error: LaunchError) -> PyErr {
    match error {
        LaunchError::Usage(message) => UsageError::new_err(message),
        LaunchError::Run(error) => RunError::new_err(error.to_string()),
    }
}
