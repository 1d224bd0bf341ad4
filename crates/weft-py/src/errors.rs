//! The exceptions of `weft._core`; `str()` of each is the whole message.

use pyo3::exceptions::PyException;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyTuple};
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

/// What a panic of the Rust core is in Python.
const DEFECT: &std::ffi::CStr = c"
class DefectError(RuntimeError):
    \"\"\"A defect of weft: its Rust core has met something that it takes for impossible. The call was given up.\"\"\"

    __slots__ = ()  # the layout of instances stays that of BaseException

    def __str__(self):
        return f'{super().__str__()}: this is a defect of weft, please report it with what was called'

DefectError.__module__ = 'weft._core'
";

/// Makes every panic a `DefectError`, which is a RuntimeError, and adds that to the module.
///
/// PyO3 catches the panics of everything that is exported and raises a `PanicException`, which derives from BaseException so
/// that `except Exception` lets it pass. That class belongs to this module alone, so giving it another base is the one
/// place at which this can be put right for all that is exported now and later.
pub fn install_defects(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let defects = PyModule::from_code(py, DEFECT, c"weft/_core/defects.py", c"weft._core.defects")?;
    let defect = defects.getattr("DefectError")?;
    py.get_type::<PanicException>().setattr("__bases__", PyTuple::new(py, [&defect])?)?;
    module.add("DefectError", defect)
}
