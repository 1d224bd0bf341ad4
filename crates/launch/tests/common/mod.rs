//! Launches of rank programs under a real mpiexec.
//!
//! The library is that of `WEFT_MPI_LIBRARY` (or what the loader finds), the launcher that of `WEFT_MPIEXEC` (or the
//! `mpiexec` of the PATH). Where there is none, the tests say so and pass; one that is named must be there.

#![allow(dead_code)] // Each test uses its part.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use weft_mpi::library::Library;
use weft_suite::{Request, Row};

/// What rank 0 says to one request.
pub type Outcome = Result<Vec<Row>, String>;

pub fn mpiexec() -> Option<PathBuf> {
    let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Err(error) = Library::load(None) {
        assert!(named("WEFT_MPI_LIBRARY").is_none(), "{error}");
        println!("skipped: {error}");
        return None;
    }
    let mpiexec = named("WEFT_MPIEXEC").unwrap_or_else(|| PathBuf::from("mpiexec"));
    match Command::new(&mpiexec).arg("--version").output() {
        Ok(_) => Some(mpiexec),
        Err(error) => {
            assert!(named("WEFT_MPIEXEC").is_none(), "cannot start WEFT_MPIEXEC={}: {error}", mpiexec.display());
            println!("skipped: cannot start {}: {error}; set WEFT_MPIEXEC", mpiexec.display());
            None
        }
    }
}

/// A rank program, which cargo builds with the tests.
pub fn rank_program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.parent().and_then(Path::parent).expect("target/PROFILE/deps");
    let program = profile.join("examples").join(name);
    assert!(program.exists(), "{} is missing: cargo build -p weft-launch --examples", program.display());
    program
}

/// All requests in one launch of so many ranks, with this directory for temporary files.
pub fn launch(mpiexec: &Path, ranks: usize, requests: &[Request], directory: Option<&str>) -> Output {
    // One launch at a time: ranks that wait for messages keep their processors busy.
    static LAUNCH: Mutex<()> = Mutex::new(());
    let _alone = LAUNCH.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = Command::new(mpiexec);
    command.args(["-n", &ranks.to_string()]);
    if let Some(directory) = directory {
        // For the ranks alone: a launcher makes the directory.
        command.arg("env").arg(format!("TMPDIR={directory}"));
    }
    command
        .arg(rank_program("measure_rank"))
        .arg(serde_json::to_string(requests).expect("requests are plain data"))
        .env("WEFT_BLOCKED_LIMIT", "60")
        // Open MPI refuses to run as root or with more ranks than processors unless it is told.
        .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
        .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
        .output()
        .expect("the launcher starts")
}

/// What all requests come to in one launch of so many ranks, which ends well.
pub fn on_mpi(mpiexec: &Path, ranks: usize, requests: &[Request]) -> Vec<Outcome> {
    let output = launch(mpiexec, ranks, requests, None);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{ranks} ranks: {}\n{stderr}", output.status);
    let stdout = String::from_utf8(output.stdout).expect("JSON");
    let outcomes: Vec<Outcome> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    assert_eq!(outcomes.len(), requests.len(), "{ranks} ranks: {stdout}\n{stderr}");
    outcomes
}
