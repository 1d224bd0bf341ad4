//! A thin run-time binding to an MPI library: found, loaded and understood without `mpi.h`.

mod abi;
mod functions;
mod locate;
mod symbols;

use std::path::{Path, PathBuf};

pub use abi::{Abi, AbiKind, Status};
pub use functions::{
    DatatypeFunctions, FileFunctions, Functions, NonblockingFunctions, OneSidedFunctions, PersistentFunctions,
    SharedFunctions, VirtualFunctions,
};
pub use locate::{LIBRARY_VARIABLE, LoadError};
use symbols::Symbols;

/// The environment variable that says whether the MPI library takes addresses of CUDA devices: 1 or 0.
pub const CUDA_AWARE_VARIABLE: &str = "WEFT_CUDA_AWARE";

const QUERY_CUDA: &str = "MPIX_Query_cuda_support";

type QueryCuda = unsafe extern "C" fn() -> std::ffi::c_int;

/// A handle of MPI (communicator, datatype, request…), whatever the library's own type for it is.
pub type Handle = usize;

/// A loaded MPI library.
pub struct Library {
    pub functions: Functions,
    /// Memory shared by the ranks of a node, if the library has it (MPI 3).
    pub shared: Option<SharedFunctions>,
    /// Its files, if it was built with them.
    pub files: Option<FileFunctions>,
    /// Its nonblocking collectives and one-sided communication (MPI 3), persistent collectives (MPI 4), and datatypes.
    pub nonblocking: Option<NonblockingFunctions>,
    pub persistent: Option<PersistentFunctions>,
    pub one_sided: Option<OneSidedFunctions>,
    pub datatypes: Option<DatatypeFunctions>,
    /// Whether it takes addresses of CUDA devices, if it says (`MPIX_Query_cuda_support` of Open MPI and MPICH).
    query_cuda: Option<QueryCuda>,
    /// What only a library of MPI in virtual time has (crates/virtual-mpi).
    pub virtual_time: Option<VirtualFunctions>,
    pub abi: Abi,
    path: PathBuf,
    version: String,
}

impl Library {
    /// Finds and loads the MPI library: the one that `WEFT_MPI_LIBRARY` names, else one that this process has mapped
    /// already (mpi4py's), else `default`, else what the system's loader finds.
    ///
    /// # Errors
    /// [`LoadError`]; each names the file and what was expected of it.
    pub fn load(default: Option<&Path>) -> Result<Library, LoadError> {
        let candidates = locate::Hints::of_process(default.map(Path::to_path_buf)).candidates()?;
        let mut failures = Vec::new();
        for path in &candidates {
            match Library::open(path) {
                Ok(library) => return Ok(library),
                Err(failure) => failures.push(failure),
            }
        }
        Err(if failures.len() == 1 { failures.remove(0) } else { locate::none_of(&failures) })
    }

    /// Loads this file.
    ///
    /// # Errors
    /// As [`Library::load`].
    pub fn open(path: &Path) -> Result<Library, LoadError> {
        let symbols = Symbols::open(path)?;
        let functions = Functions::load(&symbols)?;
        let abi = Abi::detect(&symbols)?;
        let version = symbols.library_version()?;
        Ok(Library {
            functions,
            shared: SharedFunctions::load(&symbols).ok(),
            files: FileFunctions::load(&symbols).ok(),
            nonblocking: NonblockingFunctions::load(&symbols).ok(),
            persistent: PersistentFunctions::load(&symbols).ok(),
            one_sided: OneSidedFunctions::load(&symbols).ok(),
            datatypes: DatatypeFunctions::load(&symbols).ok(),
            // SAFETY: Open MPI (mpi-ext.h) and MPICH (mpi_proto.h) declare the function so.
            query_cuda: symbols
                .address(QUERY_CUDA)
                .map(|address| unsafe { std::mem::transmute::<usize, QueryCuda>(address) }),
            virtual_time: VirtualFunctions::load(&symbols).ok(),
            abi,
            path: path.to_owned(),
            version,
        })
    }

    /// The file it was loaded from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether messages may lie in the memory of a CUDA device: as [`CUDA_AWARE_VARIABLE`] says, else as the library does;
    /// `None` where it does not. MPI is initialised.
    pub fn is_cuda_aware(&self) -> Option<bool> {
        match std::env::var(CUDA_AWARE_VARIABLE).as_deref() {
            Ok("1") => Some(true),
            Ok("0") => Some(false),
            // SAFETY: the function takes nothing and may be called while MPI is initialised.
            _ => self.query_cuda.map(|query| unsafe { query() } != 0),
        }
    }

    /// What the library calls itself, in one line.
    pub fn version(&self) -> &str {
        abi::first_line(&self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Library::open(Path::new("/nowhere/libmpi.so")).err().unwrap().to_string();
        assert!(error.starts_with("cannot load the MPI library /nowhere/libmpi.so: "), "{error}");
    }

    #[test]
    fn a_library_that_is_not_mpi_is_named_with_what_it_lacks() {
        let error = Library::open(Path::new("libm.so.6")).err().unwrap().to_string();
        assert!(error.starts_with("libm.so.6 is not an MPI library that weft can use: it has no MPI_"), "{error}");
        assert!(error.contains(LIBRARY_VARIABLE), "{error}");
    }

    #[test]
    fn a_file_that_is_no_library_is_named() {
        let path = std::env::temp_dir().join(format!("weft-not-a-library-{}.so", std::process::id()));
        std::fs::write(&path, "hello").unwrap();
        let error = Library::open(&path).err().unwrap().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.starts_with(&format!("cannot load the MPI library {}: ", path.display())), "{error}");
    }
}
