//! Programs and files on real MPI: the right answers, by both ways to files, and what is said of a wrong directory.

mod common;

use common::{launch, mpiexec, on_mpi};
use weft_suite::programs::Precision;
use weft_suite::{Request, Row};

/// The rows of one request, if there is a launcher.
fn rows(ranks: usize, request: Request) -> Option<Vec<Row>> {
    let outcome = on_mpi(&mpiexec()?, ranks, std::slice::from_ref(&request)).remove(0);
    Some(outcome.unwrap_or_else(|text| panic!("{request:?} on {ranks} ranks: {text}")))
}

fn request(benchmark: &str) -> Request {
    Request { benchmark: benchmark.to_owned(), iterations: Some(2), warmup: Some(0), ..Request::default() }
}

#[test]
fn cholesky_gives_the_right_factor() {
    for (ranks, precision) in [(1, Precision::Single), (2, Precision::Double), (3, Precision::Single)] {
        let asked = Request { extent: vec![7, 50], precision: Some(precision), ..request("cholesky") };
        let Some(rows) = rows(ranks, asked) else { return };
        assert_eq!(
            rows.iter().map(|row| (row.ranks, row.extent)).collect::<Vec<_>>(),
            [(ranks, Some(7)), (ranks, Some(50))]
        );
        assert!(rows.iter().all(|row| row.algorithm.as_deref() == Some("native") && row.rate.is_some()));
    }
    let by_name = Request { extent: vec![20], algorithm: Some("binomial".to_owned()), ..request("cholesky") };
    assert_eq!(rows(3, by_name).unwrap()[0].algorithm.as_deref(), Some("binomial"));
}

#[test]
fn jacobi_and_the_file_benchmarks_run_by_both_ways_to_files() {
    for system in ["posix", "mpi-io"] {
        let file_system = Some(system.to_owned());
        let jacobi = Request { extent: vec![9, 30], file_system: file_system.clone(), ..request("jacobi") };
        let Some(rows_of_jacobi) = rows(3, jacobi) else { return };
        assert!(rows_of_jacobi.iter().all(|row| row.file_system.as_deref() == Some(system)));
        for benchmark in ["file-read", "file-write"] {
            let (bytes, file_bytes) = (vec![1000, 65536], Some(200_000));
            let asked = Request { bytes, file_bytes, file_system: file_system.clone(), ..request(benchmark) };
            for row in rows(2, asked).unwrap() {
                assert_eq!((row.file_system.as_deref(), row.ranks), (Some(system), 2));
                assert!(row.rate.is_some() && row.file_kind.is_some());
            }
        }
    }
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    for system in ["posix", "mpi-io"] {
        let Some(mpiexec) = mpiexec() else { return };
        let asked = Request { file_system: Some(system.to_owned()), ..request("file-write") };
        let output = launch(&mpiexec, 1, &[asked], Some("/nowhere/at/all"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{stderr}");
        let expected = "cannot open the file /nowhere/at/all/weft-";
        assert!(stderr.contains(expected) && stderr.contains("; set TMPDIR to a directory that is there"), "{stderr}");
    }
}
