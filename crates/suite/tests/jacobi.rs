//! `jacobi` on threads: the answer, the stop by tolerance, the files it leaves (none) and the files it cannot use.

use weft_comm::files::{Access, FileSystem, Files};
use weft_comm::{CommError, Communicator, Failure, Payload, Program};
use weft_suite::programs::Precision;
use weft_suite::programs::jacobi::{Block, Until, iterate};
use weft_suite::{Request, Row, Suite, UsageError};
use weft_threads::{Options, run};

/// Reads the problem at `path`, relaxes it and returns the sweeps made and what the check says.
#[derive(Clone)]
struct Relaxes {
    path: String,
    n: usize,
    until: Until,
}

impl Program for Relaxes {
    type Output = (u32, Result<(), String>);
    async fn run<C: Communicator>(self, comm: C) -> Result<Self::Output, CommError> {
        let files = comm.files(FileSystem::Posix).expect("threads have files");
        let mut block = Block::<f64>::read(&comm, files, &self.path, self.n, false).await?;
        let sweeps = block.relax(&comm, self.until).await?;
        block.write(files, &format!("{}.out", self.path)).await?;
        Ok((sweeps, block.check(sweeps)))
    }
}

/// A file of its own for each test.
struct Problem(String);

impl Problem {
    fn of(name: &str, n: usize, cut: usize) -> Problem {
        let path = std::env::temp_dir().join(format!("weft-test-jacobi-{}-{name}", std::process::id()));
        let values = (0..n + 2).flat_map(|i| (0..n + 2).map(move |j| iterate(n, i, j, 0)));
        let mut bytes: Vec<u8> = values.flat_map(f64::to_ne_bytes).collect();
        bytes.truncate(bytes.len() - cut);
        std::fs::write(&path, bytes).unwrap();
        Problem(path.display().to_string())
    }
}

impl Drop for Problem {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_file(format!("{}.out", self.0));
    }
}

#[test]
fn every_iterate_is_the_one_known_and_is_in_the_file() {
    for (n, ranks, sweeps) in [(1, 1, 3), (7, 3, 0), (12, 5, 25), (9, 9, 40)] {
        let problem = Problem::of(&format!("known-{n}"), n, 0);
        let program = Relaxes { path: problem.0.clone(), n, until: Until { sweeps, tolerance: -1.0 } };
        for output in run(ranks, &program, &Options::default()).unwrap() {
            assert_eq!(output, (sweeps, Ok(())));
        }
        let bytes = std::fs::read(format!("{}.out", problem.0)).unwrap();
        assert_eq!(bytes.len(), (n + 2) * (n + 2) * 8);
        for (index, value) in bytes.chunks_exact(8).enumerate() {
            let (i, j) = (index / (n + 2), index % (n + 2));
            let value = f64::from_ne_bytes(value.try_into().unwrap());
            assert!((value - iterate(n, i, j, sweeps)).abs() < 1e-13, "row {i}, column {j}");
        }
    }
}

#[test]
fn a_tolerance_ends_it_at_the_same_sweep_on_all_ranks() {
    let problem = Problem::of("tolerance", 10, 0);
    let program = Relaxes { path: problem.0.clone(), n: 10, until: Until { sweeps: 10_000, tolerance: 1e-6 } };
    let outputs = run(3, &program, &Options::default()).unwrap();
    let sweeps = outputs[0].0;
    assert!(outputs.iter().all(|output| *output == (sweeps, Ok(()))), "{outputs:?}");
    // The change of a sweep is (1 - c) c^k of the wave: the first multiple of ten below the tolerance.
    let c = (std::f64::consts::PI / 11.0).cos();
    let peak = (std::f64::consts::PI * 5.0 / 11.0).sin().powi(2);
    let expected = (1..).map(|tens| 10 * tens).find(|&k| peak * (1.0 - c) * c.powi(k - 1) <= 1e-6).unwrap();
    assert_eq!(sweeps, expected as u32);
}

#[test]
fn files_that_cannot_be_used_are_explained() {
    let short = Problem::of("short", 6, 1);
    let until = Until { sweeps: 1, tolerance: -1.0 };
    let program = Relaxes { path: short.0.clone(), n: 6, until };
    let error = run(1, &program, &Options::default()).unwrap_err().to_string();
    let expected = format!("rank 0: cannot read the file {}: the file ends before the bytes asked for", short.0);
    assert!(error.starts_with(&expected), "{error}");
    let program = Relaxes { path: "/nowhere/problem".to_owned(), n: 6, until };
    let error = run(1, &program, &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("rank 0: cannot open the file /nowhere/problem: No such file or directory"), "{error}");
    assert!(error.ends_with("set TMPDIR to a directory that is there"), "{error}");
}

fn rows(ranks: usize, request: Request) -> Result<Vec<Row>, UsageError> {
    let mut outputs = run(ranks, &Suite { request }, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    outputs.swap_remove(0)
}

fn request() -> Request {
    Request { benchmark: "jacobi".to_owned(), extent: vec![9, 20], iterations: Some(2), ..Request::default() }
}

#[test]
fn rows_name_the_file_system() {
    for precision in [Precision::Single, Precision::Double] {
        for row in rows(3, Request { precision: Some(precision), ..request() }).unwrap() {
            assert_eq!((row.file_system.as_deref(), row.precision), (Some("posix"), Some(precision)));
            assert!(row.file_kind.is_some_and(|kind| !kind.is_empty()));
            let operations = 100.0 * 4.0 * (row.extent.unwrap() as f64).powi(2);
            assert!((row.rate.unwrap() * row.seconds / operations - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn impossible_requests_are_explained() {
    let cases = [
        (request(), "jacobi with an extent of 9 on 10 ranks: every rank needs a row; use 10 or more"),
        (
            Request { file_system: Some("mpi-io".to_owned()), extent: vec![30], ..request() },
            "jacobi needs files by mpi-io; this backend has posix",
        ),
        (
            Request { file_system: Some("ftp".to_owned()), ..request() },
            "jacobi has no file system 'ftp'; it has posix,",
        ),
        (
            Request { benchmark: "cholesky".to_owned(), file_system: Some("posix".to_owned()), ..request() },
            "cholesky takes no file_system; file-host and file-read and file-write and jacobi and slalom do",
        ),
    ];
    for (request, message) in cases {
        let refused = rows(10, request).unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
    }
}

/// The calls that `jacobi` does not make, and what a closed file is answered with.
#[derive(Clone)]
struct Calls(String);

impl Program for Calls {
    type Output = ();
    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        let files: &dyn Files = comm.files(FileSystem::Posix).expect("threads have files");
        let file = files.open(&self.0, Access::ReadWrite).await?;
        files.preallocate(file, 10_000).await?;
        assert_eq!(files.length(file).await?, 10_000);
        files.write_at(file, 9_999, Payload::of(b"xyz")).await?;
        files.write_at(file, 20_000, Payload::Phantom(5_000)).await?;
        files.sync(file).await?;
        assert_eq!(files.length(file).await?, 25_000);
        assert_eq!(files.read_at(file, 10_000, Payload::of(&[0u8; 3])).await?, Payload::of(b"yz\0"));
        files.drop_cached(file).await?;
        files.close(file).await?;
        let error = files.read_at(file, 0, Payload::Phantom(1)).await.unwrap_err().to_string();
        assert!(error.ends_with("the file is not open"), "{error}");
        files.unlink(&self.0).await?;
        let error = files.open(&self.0, Access::Read).await.unwrap_err();
        assert!(matches!(error.failure(), Failure::File { .. }), "{error}");
        Ok(())
    }
}

#[test]
fn files_are_made_read_written_and_removed() {
    let path = std::env::temp_dir().join(format!("weft-test-calls-{}", std::process::id()));
    run(1, &Calls(path.display().to_string()), &Options::default()).unwrap();
}
