//! Which file is the MPI library.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The environment variable that names a site's own MPI library.
pub const LIBRARY_VARIABLE: &str = "WEFT_MPI_LIBRARY";

/// Names to ask the system's loader for when nothing else is known, best first: the standard ABI, MPICH's, Open MPI's.
const LOADER_NAMES: [&str; 4] = ["libmpi_abi.so.1", "libmpi.so.12", "libmpi.so.40", "libmpi.so"];

/// Stems of files that are MPI libraries (not their Fortran or C++ companions).
const STEMS: [&str; 6] = ["libmpi", "libmpi_abi", "libmpich", "libmpi_cray", "libmpi_gnu", "libmpi_intel"];

/// Why there is no MPI library to use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The loader refuses the file.
    #[error("cannot load the MPI library {}: {reason}{}", path.display(), hint(path))]
    Open { path: PathBuf, reason: String },
    /// The file was loaded but lacks something.
    #[error("{} is not an {family} library that weft can use: it has no {symbol}. \
             Set {LIBRARY_VARIABLE} to the libmpi of MPICH, Open MPI or another MPI", path.display())]
    Missing { path: PathBuf, family: &'static str, symbol: &'static str },
    /// An MPI library whose binary interface weft does not know.
    #[error("the MPI library {} describes itself as '{version}'; weft knows the MPI-5 standard ABI, MPICH's and Open \
             MPI's. Set {LIBRARY_VARIABLE} to one of those, e.g. the libmpi_abi.so of this MPI", path.display())]
    UnknownAbi { path: PathBuf, version: String },
    /// Two MPI libraries in one process abort.
    #[error("{LIBRARY_VARIABLE} is {}, but this process has already loaded {} (is mpi4py imported?); two MPI libraries \
             cannot live in one process: unset {LIBRARY_VARIABLE} or set it to the loaded one", wanted.display(), mapped.display())]
    Two { wanted: PathBuf, mapped: PathBuf },
    /// Nothing was found at all.
    #[error("no MPI library found{tried}: pip install 'weft[mpi]', or set {LIBRARY_VARIABLE} to the path of libmpi.so")]
    None { tried: String },
}

impl LoadError {
    pub fn missing(path: &Path, family: &'static str, symbol: &'static str) -> LoadError {
        LoadError::Missing { path: path.to_owned(), family, symbol }
    }
}

fn hint(path: &Path) -> String {
    match std::env::var_os(LIBRARY_VARIABLE) {
        Some(value) if Path::new(&value) == path => format!(" (the path is from {LIBRARY_VARIABLE})"),
        _ => String::new(),
    }
}

/// What is known about where the library may be.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// The value of [`LIBRARY_VARIABLE`].
    pub variable: Option<PathBuf>,
    /// An MPI library that this process has mapped already.
    pub mapped: Option<PathBuf>,
    /// The caller's default; where it is a name without a folder, the first to ask the system's loader for.
    pub default: Option<PathBuf>,
}

impl Hints {
    /// The hints of this process.
    pub fn of_process(default: Option<PathBuf>) -> Hints {
        let variable = std::env::var_os(LIBRARY_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        Hints { variable, mapped: mapped_library(&maps), default }
    }

    /// The files to try, in order. More than one only where the loader's names are all that is left.
    pub fn candidates(&self) -> Result<Vec<PathBuf>, LoadError> {
        if let Some(wanted) = &self.variable {
            let file = follow_linker_script(wanted);
            return match &self.mapped {
                Some(mapped) if !same_file(&file, mapped) => {
                    Err(LoadError::Two { wanted: wanted.clone(), mapped: mapped.clone() })
                }
                _ => Ok(vec![file]),
            };
        }
        if let Some(mapped) = &self.mapped {
            return Ok(vec![mapped.clone()]);
        }
        let names = LOADER_NAMES.iter().map(PathBuf::from);
        match &self.default {
            Some(name) if name.file_name() == Some(name.as_os_str()) => {
                Ok([name.clone()].into_iter().chain(names.filter(|other| other != name)).collect())
            }
            Some(file) => Ok(vec![follow_linker_script(file)]),
            None => Ok(names.collect()),
        }
    }
}

/// The error when none of the loader's names could be loaded.
pub fn none_of(failures: &[LoadError]) -> LoadError {
    let mut tried = String::new();
    for failure in failures {
        if let LoadError::Open { path, .. } = failure {
            let separator = if tried.is_empty() { " (tried " } else { ", " };
            let _ = write!(tried, "{separator}{}", path.display());
        }
    }
    if !tried.is_empty() {
        tried.push(')');
    }
    LoadError::None { tried }
}

/// Whether a file name is that of an MPI library.
fn is_mpi_library(name: &str) -> bool {
    name.split_once(".so")
        .is_some_and(|(stem, version)| STEMS.contains(&stem) && version.chars().all(|c| c == '.' || c.is_ascii_digit()))
}

/// The MPI library among the mapped files of a process, from the text of `/proc/self/maps`.
fn mapped_library(maps: &str) -> Option<PathBuf> {
    maps.lines()
        .filter_map(|line| line.find('/').map(|start| Path::new(&line[start..])))
        .find(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_mpi_library))
        .map(Path::to_path_buf)
}

/// Whether two paths lead to one file. Names without a directory are left to the loader and equal only themselves.
fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// Where `path` is a linker script (`INPUT(libmpi.so.12)`: what wheels install in place of a symbolic link), the file
/// it names; otherwise `path` itself.
fn follow_linker_script(path: &Path) -> PathBuf {
    let target = std::fs::metadata(path)
        .ok()
        .filter(|metadata| metadata.is_file() && metadata.len() <= MAX_SCRIPT)
        .and_then(|_| std::fs::read_to_string(path).ok())
        .and_then(|text| script_target(&text));
    match (target, path.parent()) {
        (Some(target), Some(directory)) => directory.join(target),
        _ => path.to_owned(),
    }
}

/// No library is as short as this, in bytes.
const MAX_SCRIPT: u64 = 4096;

/// The first file that a linker script names.
fn script_target(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("INPUT").or_else(|| text.split_once("GROUP"))?;
    let (names, _) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    names.split([' ', ',', '\n', '\t']).find(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hints(variable: Option<&str>, mapped: Option<&str>, default: Option<&str>) -> Hints {
        let path = |text: Option<&str>| text.map(PathBuf::from);
        Hints { variable: path(variable), mapped: path(mapped), default: path(default) }
    }

    #[test]
    fn the_variable_comes_before_the_default_and_the_mapped_one_before_it_too() {
        let only = |hints: Hints| hints.candidates().unwrap().remove(0).display().to_string();
        assert_eq!(only(hints(Some("/a"), None, Some("/c"))), "/a");
        assert_eq!(only(hints(None, Some("/b"), Some("/c"))), "/b");
        assert_eq!(only(hints(None, None, Some("/c"))), "/c");
        assert_eq!(only(hints(None, None, None)), LOADER_NAMES[0]);
        assert_eq!(hints(None, None, Some("/c")).candidates().unwrap().len(), 1);
        assert_eq!(only(hints(Some("/b"), Some("/b"), None)), "/b");
    }

    #[test]
    fn a_name_for_the_loader_is_followed_by_the_other_names() {
        let names = |default| hints(None, None, default).candidates().unwrap();
        assert_eq!(names(Some("libmpi_mine.so"))[0], Path::new("libmpi_mine.so"));
        assert_eq!(names(Some("libmpi_mine.so"))[1..], LOADER_NAMES.map(PathBuf::from));
        assert_eq!(names(Some(LOADER_NAMES[1])).len(), LOADER_NAMES.len());
        assert_eq!(names(Some(LOADER_NAMES[1]))[..2], [LOADER_NAMES[1], LOADER_NAMES[0]].map(PathBuf::from));
    }

    #[test]
    fn two_libraries_are_refused() {
        let error = hints(Some("/a/libmpi.so"), Some("/b/libmpi.so.40"), None).candidates().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("/a/libmpi.so") && text.contains("/b/libmpi.so.40") && text.contains("unset"), "{text}");
    }

    #[test]
    fn mpi_libraries_are_found_in_the_map_of_a_process() {
        let maps = "7f00-7f10 r-xp 00000000 08:01 12 /usr/lib/libc.so.6\n\
                    7f10-7f20 r-xp 00000000 08:01 13   /opt/a b/libmpi_mpifh.so.40\n\
                    7f20-7f30 rw-p 00000000 00:00 0 \n\
                    7f30-7f40 r-xp 00000000 08:01 14   /opt/a b/libmpi.so.40.30.1\n";
        assert_eq!(mapped_library(maps), Some(PathBuf::from("/opt/a b/libmpi.so.40.30.1")));
        assert_eq!(mapped_library(""), None);
        assert!(
            !is_mpi_library("libmpicxx.so.12")
                && !is_mpi_library("libmpi.so.debug")
                && is_mpi_library("libmpi_abi.so.1")
        );
    }

    #[test]
    fn linker_scripts_are_followed() {
        assert_eq!(script_target("INPUT(libmpi.so.12)\n").as_deref(), Some("libmpi.so.12"));
        assert_eq!(script_target("/* GNU ld */ GROUP ( libmpi.so.40 -lm )").as_deref(), Some("libmpi.so.40"));
        assert_eq!(script_target("\u{7f}ELF"), None);
        let directory = std::env::temp_dir().join(format!("weft-locate-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let script = directory.join("libmpi.so");
        std::fs::write(&script, "INPUT(libmpi.so.12)").unwrap();
        assert_eq!(follow_linker_script(&script), directory.join("libmpi.so.12"));
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_search_that_fails_says_what_was_tried() {
        let open = |name: &str| LoadError::Open { path: name.into(), reason: "no such file".into() };
        let text = none_of(&[open("libmpi.so.12"), open("libmpi.so")]).to_string();
        assert!(
            text.starts_with("no MPI library found (tried libmpi.so.12, libmpi.so): pip install 'weft[mpi]'"),
            "{text}"
        );
    }

    proptest! {
        #[test]
        fn any_text_may_be_a_map_or_a_script(text in ".*") {
            mapped_library(&text);
            script_target(&text);
        }
    }
}
