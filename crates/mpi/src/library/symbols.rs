//! Names of a loaded MPI library.

use std::ffi::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Object, RTLD_GLOBAL, RTLD_NOW};

use super::locate::LoadError;

/// A loaded library, to look names up in.
///
/// It stays loaded until the process ends: MPI libraries keep threads and exit handlers of their own.
pub struct Symbols {
    object: std::mem::ManuallyDrop<Object>,
    path: PathBuf,
}

impl Symbols {
    /// Loads the library. Its symbols are made global because the plug-ins of Open MPI look for them there.
    pub fn open(path: &Path) -> Result<Symbols, LoadError> {
        // SAFETY: loading runs the initialisers of the library; it was chosen by the user or found as the MPI library.
        let object = unsafe { Object::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }
            .map_err(|error| LoadError::Open { path: path.to_owned(), reason: reason(&error) })?;
        Ok(Symbols { object: std::mem::ManuallyDrop::new(object), path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The address of a function or a variable.
    pub fn address(&self, name: &str) -> Option<usize> {
        // SAFETY: the symbol is only taken as an address.
        unsafe { self.object.get::<*mut c_void>(name) }.ok().map(|symbol| symbol.as_raw_ptr() as usize)
    }

    /// What the library says about itself; allowed before `MPI_Init`.
    pub fn library_version(&self) -> Result<String, LoadError> {
        let name = "MPI_Get_library_version";
        let address = self.address(name).ok_or_else(|| LoadError::missing(&self.path, "MPI", name))?;
        // SAFETY: MPI 3.0, section 8.1.1, declares the function so.
        let function: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int = unsafe { std::mem::transmute(address) };
        // SAFETY: `text_of` gives a buffer of VERSION_SIZE bytes, as many as the standard asks for, and a live integer.
        Ok(text_of::<VERSION_SIZE>(|buffer, len| unsafe { function(buffer, len) }).unwrap_or_default())
    }
}

/// The loader's own words, without libloading's around them.
fn reason(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    source.unwrap_or_else(|| error.to_string())
}

/// `MPI_MAX_LIBRARY_VERSION_STRING` of MPICH and the standard ABI; Open MPI's is smaller.
const VERSION_SIZE: usize = 8192;

/// Text that `fill` writes into a buffer of `SIZE` bytes, or `None` when it fails.
pub(super) fn text_of<const SIZE: usize>(fill: impl FnOnce(*mut c_char, *mut c_int) -> c_int) -> Option<String> {
    let mut buffer = vec![0u8; SIZE];
    let mut len: c_int = 0;
    let code = fill(buffer.as_mut_ptr().cast(), &mut len);
    let len = usize::try_from(len).unwrap_or(0).min(SIZE);
    (code == 0).then(|| String::from_utf8_lossy(&buffer[..len]).trim_end_matches('\0').trim().to_owned())
}
