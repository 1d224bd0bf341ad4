//! How a program in FGHC is run, as whoever asks for it says: one form for one processing element and for many.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use weft_fghc::distributed::{Run, RunOptions};
use weft_fghc::engine::{DEFAULT_HEAP, Loaded, Options};

use crate::error::LaunchError;

/// The smallest heap that a program can have, in bytes.
pub const MIN_HEAP: u64 = 64 << 10;

/// Options of a run; what is not said has its default, and what is not known is an error.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FghcOptions {
    /// Largest number of bytes in use of each PE: its heap, twice that while it is collected, and what the program makes
    /// beside it. Default: 1 GiB.
    pub heap: Option<u64>,
    /// Goals are taken in a random order.
    pub seed: Option<u64>,
    /// A collection every so many reductions at the latest.
    pub collect_every: Option<u64>,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Reductions are counted by predicate; on one PE here only.
    pub counts: bool,
    /// The program is interpreted, not translated to native code.
    pub interpret: bool,
    /// Reductions between two looks for messages. Default: 1 in virtual time, 10,000 otherwise.
    pub slice: Option<u64>,
    /// A file for the timeline of the run.
    pub trace: Option<PathBuf>,
    /// Seconds of a reduction on a described machine.
    pub reduction_time: Option<f64>,
    /// Seconds of a step of the communication software on a described machine.
    pub step_time: Option<f64>,
    /// More PEs than the described machine has nodes: a larger machine of the same parts is simulated.
    pub enlarge: bool,
}

/// Where a program runs, for what its options may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FghcBackend {
    /// One PE in this process.
    Alone,
    /// PEs that are threads of this process.
    Threads,
    /// PEs of a described machine in virtual time.
    Simulated,
    /// Ranks of an MPI job.
    Ranks,
}

impl FghcOptions {
    /// Refuses values that cannot be meant, and options that have no meaning where the program is to run.
    ///
    /// # Errors
    /// [`LaunchError::Usage`].
    pub fn check(&self, backend: FghcBackend) -> Result<(), LaunchError> {
        let usage = |message: String| Err(LaunchError::Usage(message));
        if let Some(heap) = self.heap.filter(|&heap| heap < MIN_HEAP) {
            return usage(format!("a heap of {heap} bytes is too small: give at least 64K"));
        }
        if self.collect_every == Some(0) {
            return usage("a collection every 0 reductions: give at least 1".to_owned());
        }
        if self.slice == Some(0) {
            return usage("a look for messages every 0 reductions: give at least 1".to_owned());
        }
        if self.counts && backend != FghcBackend::Alone {
            return usage("reductions by predicate are counted on one PE here only".to_owned());
        }
        if self.trace.is_some() && matches!(backend, FghcBackend::Alone | FghcBackend::Ranks) {
            return usage("a timeline needs PEs that are threads of one process, or a described machine".to_owned());
        }
        for (name, value) in [("reduction", self.reduction_time), ("step", self.step_time)] {
            let Some(value) = value else { continue };
            if backend != FghcBackend::Simulated {
                return usage(format!("a {name} of {value} s: only described machines are charged"));
            }
            if !(value > 0.0 && value.is_finite()) {
                return usage(format!("a {name} of {value} s: give more than 0 seconds"));
            }
        }
        if self.enlarge && backend != FghcBackend::Simulated {
            return usage("enlarge: only a described machine can be made larger".to_owned());
        }
        Ok(())
    }

    fn heap(&self) -> usize {
        self.heap.map_or(DEFAULT_HEAP, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX / 16))
    }

    /// The engine's options for one PE.
    pub(crate) fn engine(&self, interrupt: Arc<AtomicBool>, kept: Option<&FghcOutput>) -> Options {
        Options {
            heap: self.heap(),
            available: available_memory,
            seed: self.seed,
            collect_every: self.collect_every,
            arguments: self.arguments.clone(),
            output: match kept {
                Some(kept) => Box::new(kept.clone()),
                None => Box::new(std::io::stdout()),
            },
            interrupt,
            ..Options::default()
        }
    }

    /// The run of a program on PEs of its own.
    pub fn run(&self, loaded: Loaded, interrupt: Arc<AtomicBool>, kept: Option<&FghcOutput>) -> Run {
        let mut options = RunOptions {
            heap: self.heap(),
            available: available_memory,
            seed: self.seed,
            collect_every: self.collect_every,
            arguments: self.arguments.clone(),
            interrupt,
            ..RunOptions::default()
        };
        if let Some(slice) = self.slice {
            options.slice = slice;
        }
        if self.trace.is_some() {
            options.recorder = Some(Arc::default());
        }
        if let Some(kept) = kept.cloned() {
            options.output = Arc::new(move |_| Box::new(kept.clone()));
        }
        Run { loaded, options }
    }

    /// A buffer for what the program writes, as large as its heap may be.
    pub fn output(&self) -> FghcOutput {
        FghcOutput { bytes: Arc::default(), limit: self.heap(), lost: Arc::default() }
    }
}

fn available_memory() -> Option<usize> {
    weft_suite::node::available_memory().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// What a program writes, kept in memory; clones keep it together.
#[derive(Clone, Debug)]
pub struct FghcOutput {
    bytes: Arc<Mutex<Vec<u8>>>,
    limit: usize,
    lost: Arc<AtomicUsize>,
}

impl FghcOutput {
    /// What was written so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Why not all of it is there, if it is not.
    pub fn problem(&self) -> Option<String> {
        match self.lost.load(Ordering::Relaxed) {
            0 => None,
            lost => Some(self.message(lost)),
        }
    }

    fn message(&self, lost: usize) -> String {
        format!(
            "the program writes more than the {} bytes of its heap's limit, and {lost} bytes more were to be kept; raise \
             the limit, or run it without capture",
            self.limit
        )
    }
}

impl Write for FghcOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut kept = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() + bytes.len() > self.limit || kept.try_reserve(bytes.len()).is_err() {
            let lost = self.lost.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len();
            return Err(std::io::Error::other(self.message(lost)));
        }
        kept.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FghcOptions, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn options_that_are_unknown_or_of_another_type_are_refused() {
        for (text, wanted) in [
            (r#"{"heap": "64M"}"#, "invalid type: string \"64M\", expected u64"),
            (r#"{"sed": 3}"#, "unknown field `sed`, expected one of `heap`, `seed`"),
            (r#"{"interpret": "yes"}"#, "invalid type: string \"yes\", expected a boolean"),
            (r#"{"collect_every": -4}"#, "invalid value: integer `-4`, expected u64"),
            (r#"{"arguments": [1]}"#, "expected a string"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
        assert_eq!(read(r#"{"heap": null, "seed": 3}"#), Ok(FghcOptions { seed: Some(3), ..FghcOptions::default() }));
    }

    #[test]
    fn values_that_cannot_be_meant_are_refused() {
        for (text, backend, wanted) in [
            (r#"{"heap": 1000}"#, FghcBackend::Alone, "a heap of 1000 bytes is too small: give at least 64K"),
            (r#"{"collect_every": 0}"#, FghcBackend::Threads, "give at least 1"),
            (r#"{"slice": 0}"#, FghcBackend::Threads, "give at least 1"),
            (r#"{"counts": true}"#, FghcBackend::Threads, "one PE here only"),
            (r#"{"trace": "t.json"}"#, FghcBackend::Ranks, "a timeline needs"),
            (r#"{"step_time": 1e-6}"#, FghcBackend::Threads, "only described machines are charged"),
            (r#"{"reduction_time": -1.0}"#, FghcBackend::Simulated, "give more than 0 seconds"),
            (r#"{"enlarge": true}"#, FghcBackend::Alone, "only a described machine"),
        ] {
            let error = read(text).unwrap().check(backend).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn output_beyond_the_limit_is_an_error_and_is_said() {
        let options = FghcOptions { heap: Some(MIN_HEAP), ..FghcOptions::default() };
        let mut output = options.output();
        output.write_all(&vec![b'a'; MIN_HEAP as usize]).unwrap();
        assert_eq!(output.problem(), None);
        let error = output.write_all(b"bc").unwrap_err().to_string();
        assert!(error.contains("more than the 65536 bytes"), "{error}");
        assert!(output.problem().unwrap().contains("2 bytes more"), "{error}");
    }
}
