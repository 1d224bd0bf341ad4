//! The factor of `cholesky` against a sequential one, and its rows and refusals, on threads.

use proptest::prelude::*;
use weft_comm::collective::{Algorithm, Choice};
use weft_comm::{CommError, Communicator, Program, RunError};
use weft_suite::programs::cholesky::{Wrapped, factorise, residual};
use weft_suite::programs::{Precision, Real};
use weft_suite::{PayloadSort, Request, Row, Suite, UsageError};
use weft_threads::{Options, run};

/// One factorisation; each rank returns its columns and the residual.
#[derive(Clone)]
struct Factorises {
    n: usize,
    precision: Precision,
    choice: Choice,
    /// What is added to the diagonal besides.
    shift: f64,
}

impl Factorises {
    async fn with<C: Communicator, T: Real>(self, comm: C) -> Result<Output, CommError> {
        let shift = self.shift;
        let element = |i, j| element(self.n, i, j) + if i == j { shift } else { 0.0 };
        let matrix = Wrapped::<T>::of(self.n, comm.rank(), comm.size(), element);
        let mut factor = matrix.clone();
        factorise(&comm, &mut factor, self.choice).await?;
        let residual = residual(&comm, &matrix, &factor, 7).await?;
        let as_f64 = |(j, column): (usize, &[T])| (j, column.iter().map(|element| element.to_f64()).collect());
        Ok((factor.columns().map(as_f64).collect(), residual))
    }
}

type Output = (Vec<(usize, Vec<f64>)>, Option<f64>);

impl Program for Factorises {
    type Output = Output;
    async fn run<C: Communicator>(self, comm: C) -> Result<Output, CommError> {
        match self.precision {
            Precision::Single => self.with::<C, f32>(comm).await,
            Precision::Double => self.with::<C, f64>(comm).await,
        }
    }
}

/// A positive definite matrix that is not diagonally dominant: one over the distance, as a covariance.
fn element(n: usize, i: usize, j: usize) -> f64 {
    (-(i.abs_diff(j) as f64) / n as f64).exp() + if i == j { 0.5 } else { 0.0 }
}

/// The textbook's factor, row by row, in double precision.
fn sequential(n: usize) -> Vec<Vec<f64>> {
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            let rest = element(n, i, j) - dot;
            l[i][j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
        }
    }
    l
}

fn check(n: usize, ranks: usize, precision: Precision, choice: Choice) {
    let program = Factorises { n, precision, choice, shift: 0.0 };
    let outputs = run(ranks, &program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let expected = sequential(n);
    let epsilon = if precision == Precision::Single { f32::EPSILON as f64 } else { f64::EPSILON };
    let mut seen = vec![false; n];
    for (rank, (columns, residual)) in outputs.iter().enumerate() {
        assert!(n == 0 || residual.is_some_and(|residual| residual < 10.0), "{residual:?}");
        for (j, column) in columns {
            assert_eq!((j % ranks, column.len()), (rank, n - j), "columns are wrapped");
            assert!(!std::mem::replace(&mut seen[*j], true));
            for (i, element) in (*j..).zip(column) {
                let difference = (element - expected[i][*j]).abs();
                assert!(difference <= 40.0 * n as f64 * epsilon, "n {n}, {ranks} ranks: L[{i}][{j}] = {element}");
            }
        }
    }
    assert!(seen.into_iter().all(|seen| seen));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_on_any_ranks_gives_the_sequential_factor(
        n in 0usize..40, ranks in 1usize..7, double in any::<bool>(),
        algorithm in prop::sample::select(&[Algorithm::Binomial, Algorithm::ScatterAllgather, Algorithm::Chain][..]),
    ) {
        let precision = if double { Precision::Double } else { Precision::Single };
        check(n, ranks, precision, Choice::Fixed(algorithm));
    }
}

#[test]
fn a_matrix_that_is_not_positive_definite_is_refused() {
    let program = Factorises { n: 9, precision: Precision::Double, choice: Choice::Auto, shift: -1.6 };
    let error = run(3, &program, &Options::default()).unwrap_err();
    assert!(matches!(error, RunError::Failed(_)), "{error}");
    assert!(error.to_string().contains("not positive definite: the pivot of column 0 is -0.1"), "{error}");
}

#[test]
fn a_wrong_factor_has_a_large_residual() {
    #[derive(Clone)]
    struct Wrong;
    impl Program for Wrong {
        type Output = Option<f64>;
        async fn run<C: Communicator>(self, comm: C) -> Result<Option<f64>, CommError> {
            let matrix = Wrapped::<f32>::random(30, comm.rank(), comm.size(), 1);
            let mut factor = matrix.clone();
            factorise(&comm, &mut factor, Choice::Auto).await?;
            // One element is off by a thousandth.
            let columns: Vec<(usize, Vec<f32>)> = factor.columns().map(|(j, column)| (j, column.to_vec())).collect();
            let column = |j: usize| columns.iter().find(|(number, _)| *number == j).map(|(_, column)| column);
            let off = Wrapped::<f32>::of(30, comm.rank(), comm.size(), |i, j| {
                let element = column(j).map_or(0.0, |column| f64::from(column[i - j]));
                if (i, j) == (17, 17) { element * 1.001 } else { element }
            });
            residual(&comm, &matrix, &off, 3).await
        }
    }
    let outputs = run(4, &Wrong, &Options::default()).unwrap();
    assert!(outputs.iter().all(|residual| residual.is_some_and(|residual| residual > 10.0)), "{outputs:?}");
}

fn rows(ranks: usize, request: Request) -> Result<Vec<Row>, UsageError> {
    let mut outputs = run(ranks, &Suite { request }, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    outputs.swap_remove(0)
}

fn request() -> Request {
    Request { benchmark: "cholesky".to_owned(), iterations: Some(2), warmup: Some(0), ..Request::default() }
}

#[test]
fn rows_carry_order_precision_and_rate() {
    for precision in [None, Some(Precision::Double)] {
        let rows = rows(3, Request { extent: vec![40, 7], precision, ..request() }).unwrap();
        assert_eq!(rows.iter().map(|row| row.extent).collect::<Vec<_>>(), [Some(40), Some(7)]);
        for row in rows {
            assert_eq!((row.ranks, row.iterations, row.bytes), (3, 2, None));
            assert_eq!(row.precision, Some(precision.unwrap_or(Precision::Single)));
            assert_eq!((row.rate_unit.as_deref(), row.algorithm.as_deref()), (Some("flop/s"), Some("binomial")));
            let operations = (row.extent.unwrap() as f64).powi(3) / 3.0;
            assert!((row.rate.unwrap() * row.seconds / operations - 1.0).abs() < 1e-9, "{row:?}");
        }
    }
}

#[test]
fn the_time_to_be_spent_decides_the_runs() {
    let request = Request { extent: vec![10], iterations: None, seconds_per_point: 0.02, ..request() };
    assert!(rows(2, request).unwrap()[0].iterations >= 3);
}

#[test]
fn impossible_requests_are_explained() {
    let cases = [
        (Request { extent: vec![0], ..request() }, "cholesky with an extent of 0: it must be between 1 and 65536"),
        (Request { bytes: vec![8], ..request() }, "cholesky takes no bytes; its extent decides"),
        (
            Request { benchmark: "echo".to_owned(), extent: vec![8], ..request() },
            "echo takes no extent; cholesky and jacobi and slalom do",
        ),
        (
            Request { benchmark: "ring".to_owned(), precision: Some(Precision::Double), ..request() },
            "ring takes no precision; cholesky and jacobi do",
        ),
        (
            Request { payload: Some(PayloadSort::Phantom), ..request() },
            "cholesky with phantoms computes nothing; that has a meaning in virtual time only",
        ),
        (Request { algorithm: Some("bruck".to_owned()), ..request() }, "cholesky has no algorithm 'bruck'"),
    ];
    for (request, message) in cases {
        let refused = rows(2, request).unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
    }
    assert!(Request::from_json(r#"{"benchmark": "cholesky", "extent": [5], "precision": "double"}"#).is_ok());
}
