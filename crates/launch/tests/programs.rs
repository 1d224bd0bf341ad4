//! Programs in virtual time: the right answer with data, the same time with phantoms, and times that follow from the
//! machine.

use weft_launch::{SimulateOptions, simulate};
use weft_machine::{Machine, find};
use weft_suite::programs::Precision;
use weft_suite::{PayloadSort, Request, Row};

fn machine(name: &str) -> Machine {
    find(name).unwrap()
}

fn cholesky(n: &[u64]) -> Request {
    Request { benchmark: "cholesky".to_owned(), extent: n.to_vec(), ..Request::default() }
}

fn rows(machine: &Machine, request: &Request) -> Vec<Row> {
    simulate(machine, request, &SimulateOptions::default()).unwrap_or_else(|error| panic!("{error}")).rows
}

#[test]
fn cholesky_with_data_is_checked_and_takes_the_time_of_phantoms() {
    for name in ["ipsc860", "ncube6400", "ncube3200"] {
        for precision in [Precision::Single, Precision::Double] {
            let request = Request { ranks: Some(5), precision: Some(precision), ..cholesky(&[37]) };
            let phantom = rows(&machine(name), &request);
            let data = rows(&machine(name), &Request { payload: Some(PayloadSort::Data), ..request });
            assert_eq!(phantom, data, "{name}");
        }
    }
}

#[test]
fn on_one_rank_cholesky_takes_its_operations() {
    let machine = machine("ipsc860");
    let n = 60u64;
    let row = &rows(&machine, &Request { ranks: Some(1), ..cholesky(&[n]) })[0];
    // Two operations for every element on or below the diagonal of every later column, for each column; one for every
    // element of a column and one more for each division.
    let modifications: u64 = (0..n).map(|k| (k + 1..n).map(|j| 2 * (n - j)).sum::<u64>()).sum();
    let divisions: u64 = (0..n).map(|k| n - k + 1).sum();
    let expected = modifications as f64 * 0.18e-6 + divisions as f64 * 0.1e-6;
    assert!((row.seconds - expected).abs() < 1e-9, "{} is not {expected}", row.seconds);
    // The convention counts the leading term of what is charged.
    let charged = (modifications + divisions) as f64;
    assert!((charged / (n as f64).powi(3) * 3.0 - 1.0).abs() < 5.0 / n as f64);
}

#[test]
fn sixteen_ranks_are_the_default_and_larger_matrices_are_done_at_a_higher_rate() {
    for name in ["ipsc1", "ipsc2", "ipsc860", "ncube3200", "ncube6400"] {
        let machine = machine(name);
        let rows = rows(&machine, &cholesky(&[50, 150, 300]));
        assert!(rows.iter().all(|row| row.ranks == 16 && row.iterations == 1));
        let rates: Vec<f64> = rows.iter().map(|row| row.rate.unwrap()).collect();
        assert!(rates.is_sorted(), "{name}: {rates:?}");
        // No faster than sixteen nodes that do nothing but sums of products.
        let peak = 16.0 / machine.operation_time("float32_sum_of_products".parse().unwrap()).unwrap();
        assert!(rates[2] < 1.05 * peak, "{name}: {rates:?} against {peak}");
    }
}

#[test]
fn a_machine_with_fewer_nodes_runs_programs_on_all_of_them() {
    let machine = machine("hgx-h100");
    let row = &rows(&machine, &cholesky(&[20]))[0];
    assert!(machine.nodes() < 16 && row.ranks == machine.nodes(), "{} ranks", row.ranks);
}

#[test]
fn a_machine_without_operation_times_says_which() {
    let request = cholesky(&[10]);
    let error = simulate(&machine("frontera"), &request, &SimulateOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("cholesky on frontera: the machine's file gives no time of float32_"), "{error}");
}
