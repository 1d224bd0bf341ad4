//! Column-oriented Cholesky factorisation (Dunigan 1991, figure 12).
//!
//! The fan-out algorithm of G. A. Geist and M. T. Heath, "Matrix factorization on a hypercube multiprocessor",
//! Hypercube Multiprocessors 1986 (SIAM), 161-180: the columns of the lower triangle are wrapped over the ranks, column
//! `j` on rank `j mod p`. A column is divided by the square root of its pivot once all columns before it have modified it
//! (`cdiv`), is broadcast, and modifies every later column of every rank (`cmod`). The owner of the next column brings
//! that column up to date first and sends it before it goes on, so that the others need not wait for the rest of its work.

use rand::RngExt;
use weft_base::Operation;
use weft_comm::collective::{Algorithm, Choice, Element, Operator, allreduce, broadcast};
use weft_comm::{Buffer, CommError, Communicator, Payload, Reduction, Work};

use super::real::{Precision, Real};
use super::timing::{Run, rate_of, timed_runs};
use super::{PRECISIONS, check_extents};
use crate::benchmark::{Benchmark, Point, Prepared};
use crate::collectives::algorithm;
use crate::description::{Group, Takes, takes};
use crate::request::Request;
use crate::row::Row;
use crate::session::Session;
use crate::usage::UsageError;

/// Orders of the matrices of figure 12 of Dunigan 1991.
const MATRICES: &[u64] = &[50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];

/// The factorisation as a benchmark.
pub struct Cholesky(Choice);

impl Benchmark for Cholesky {
    const NAME: &'static str = "cholesky";
    const SUMMARY: &'static str =
        "factorisation of an n x n matrix by columns (fan-out): time, and rate by n^3/3 operations";
    const GROUP: Group = Group::Program;
    const TAKES: &'static [Takes] = &[
        takes("extent").of("matrix").default(MATRICES),
        takes("precision").choices(PRECISIONS),
        algorithm!(Broadcast),
    ];
    const EXAMPLE: &'static str = "weft measure cholesky --on ipsc860 --ranks 16 --extent 50:800";
    const MIN_RANKS: usize = 1;
    const DEFAULT_RANKS: usize = 16;

    fn check(request: &Request) -> Result<(), UsageError> {
        check_extents(request)
    }

    fn operations(request: &Request) -> Vec<Operation> {
        match request.precision.unwrap_or_default() {
            Precision::Single => operations::<f32>().to_vec(),
            Precision::Double => operations::<f64>().to_vec(),
        }
    }

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<Cholesky> {
        Ok(session.request.choice().map(|choice| Some(Cholesky(choice))))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        cholesky(session, self.0, point.size.unwrap_or(0)).await
    }
}

/// What a factorisation charges in virtual time.
///
/// A modification `a - l m` loads two elements of columns from memory and stores one, for two operations: the inner loop
/// of LINPACK. Where a machine's file has no time of it, that of a sum of products in registers is charged, as table 3 of
/// Dunigan 1991 has it, which is a lower bound. A division by the pivot is a multiplication by its reciprocal; the reciprocal and the square root, of which
/// there are `n` against `n^3/3` operations, are charged as one multiplication each, because machine files give no time
/// for them.
pub fn operations<T: Real>() -> [Operation; 2] {
    [T::AXPY, T::MULTIPLY]
}

/// The operations of a factorisation by convention, `n^3/3`: what megaflops are counted by.
pub fn conventional_operations(n: usize) -> f64 {
    (n as f64).powi(3) / 3.0
}

/// The columns of one rank: of the lower triangle of a symmetric matrix before [`factorise`], of its factor after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrapped<T> {
    n: usize,
    rank: usize,
    size: usize,
    /// Column `rank + i * size` from the diagonal down; `None` where messages are phantoms.
    columns: Option<Vec<Vec<T>>>,
}

impl<T: Real> Wrapped<T> {
    /// The columns of `rank` of `size` of the matrix whose element in row `i`, column `j <= i` is `element(i, j)`.
    pub fn of(n: usize, rank: usize, size: usize, mut element: impl FnMut(usize, usize) -> f64) -> Wrapped<T> {
        let column = |j| (j..n).map(|i| T::of(element(i, j))).collect();
        Wrapped { n, rank, size, columns: Some((rank..n).step_by(size).map(column).collect()) }
    }

    /// A matrix that has no numbers, for virtual time.
    pub fn phantom(n: usize, rank: usize, size: usize) -> Wrapped<T> {
        Wrapped { n, rank, size, columns: None }
    }

    /// A random symmetric positive definite matrix, the same for one seed on any number of ranks: elements between -1
    /// and 1, `n` added on the diagonal, so that each diagonal element outweighs its row.
    pub fn random(n: usize, rank: usize, size: usize, seed: u64) -> Wrapped<T> {
        let column = |j: usize| {
            let mut generator = weft_base::generator(seed, j as u64);
            let element = |i| generator.random_range(-1.0..1.0) + if i == j { n as f64 } else { 0.0 };
            (j..n).map(element).map(T::of).collect()
        };
        Wrapped { n, rank, size, columns: Some((rank..n).step_by(size).map(column).collect()) }
    }

    /// Each column of this rank with its number, from the diagonal down; nothing for a phantom.
    pub fn columns(&self) -> impl Iterator<Item = (usize, &[T])> {
        let (rank, size) = (self.rank, self.size);
        let columns = self.columns.iter().flatten().enumerate();
        columns.map(move |(index, column)| (rank + index * size, column.as_slice()))
    }

    pub(super) fn owns(&self, j: usize) -> bool {
        j < self.n && j % self.size == self.rank
    }

    /// The first column of this rank that is `j` or later.
    fn own_from(&self, j: usize) -> usize {
        j + (self.rank + self.size - j % self.size) % self.size
    }

    /// Takes the multiple of column `k` that is due off the columns `first..end` of this rank; the operations it took.
    fn modify(&mut self, k: usize, by: &Payload, first: usize, end: usize) -> u64 {
        let (n, size) = (self.n, self.size);
        let own = (self.own_from(first)..end).step_by(size);
        if let (Some(columns), Some(by)) = (&mut self.columns, by.values::<T>()) {
            for j in own.clone() {
                let multiplier = by[j - k];
                let column = columns[j / size].iter_mut().zip(&by[j - k..]);
                column.for_each(|(element, &other)| *element = *element - multiplier * other);
            }
        }
        own.map(|j| 2 * (n - j) as u64).sum()
    }

    /// Divides column `k` by the square root of its pivot; the operations it took.
    fn divide(&mut self, k: usize) -> Result<u64, String> {
        if let Some(columns) = &mut self.columns {
            let column = &mut columns[k / self.size];
            let pivot = column[0];
            // A pivot that is no number is not positive either.
            if pivot.partial_cmp(&T::of(0.0)) != Some(std::cmp::Ordering::Greater) {
                return Err(format!(
                    "the matrix is not positive definite: the pivot of column {k} is {}",
                    pivot.to_f64()
                ));
            }
            let root = pivot.square_root();
            let reciprocal = T::of(1.0) / root;
            column[0] = root;
            column[1..].iter_mut().for_each(|element| *element = *element * reciprocal);
        }
        Ok((self.n - k) as u64 + 1)
    }

    /// Column `k` as a message, or a buffer for it.
    fn message(&self, k: usize) -> Payload {
        let bytes = (self.n - k) * size_of::<T>();
        match &self.columns {
            None => Payload::Phantom(bytes),
            Some(columns) if self.owns(k) => Payload::of(&columns[k / self.size]),
            Some(_) => Payload::Data(Buffer::zeroed(bytes)),
        }
    }
}

/// Replaces a symmetric positive definite matrix by its factor `L`, lower triangular, `A = L L^T`. Collective; columns
/// are broadcast by `choice`.
///
/// # Errors
/// [`weft_comm::Failure::Program`] where a pivot is not positive.
pub async fn factorise<C: Communicator, T: Real>(
    comm: &C,
    matrix: &mut Wrapped<T>,
    choice: Choice,
) -> Result<(), CommError> {
    let n = matrix.n;
    if n == 0 {
        return Ok(());
    }
    if matrix.owns(0) {
        divide(comm, matrix, 0).await?;
    }
    let mut column = broadcast(comm, 0, matrix.message(0), choice).await?;
    for next in 1..n {
        let k = next - 1;
        let root = next % matrix.size;
        if matrix.owns(next) {
            let count = matrix.modify(k, &column, next, next + 1);
            charge(comm, T::AXPY, count).await;
            divide(comm, matrix, next).await?;
            let sent = broadcast(comm, root, matrix.message(next), choice).await?;
            let count = matrix.modify(k, &column, next + 1, n);
            charge(comm, T::AXPY, count).await;
            column = sent;
        } else {
            let count = matrix.modify(k, &column, next, n);
            charge(comm, T::AXPY, count).await;
            column = broadcast(comm, root, matrix.message(next), choice).await?;
        }
    }
    Ok(())
}

async fn divide<C: Communicator, T: Real>(comm: &C, matrix: &mut Wrapped<T>, k: usize) -> Result<(), CommError> {
    let count = matrix.divide(k).map_err(|message| CommError::program(comm.world_rank(), message))?;
    charge(comm, T::MULTIPLY, count).await;
    Ok(())
}

pub(super) async fn charge<C: Communicator>(comm: &C, operation: Operation, count: u64) {
    if count > 0 {
        comm.compute(Work::Operations { operation, count }).await;
    }
}

/// How far `factor` is from being the factor of `matrix`: `|A x - L L^T x| / (n eps |A| |x|)` for a random `x`, in the
/// maximum norm, with the eps of `T`; of the order of 1 or less for a right one. Collective; `None` for phantoms.
pub async fn residual<C: Communicator, T: Real>(
    comm: &C,
    matrix: &Wrapped<T>,
    factor: &Wrapped<T>,
    seed: u64,
) -> Result<Option<f64>, CommError> {
    let n = matrix.n;
    if matrix.columns.is_none() || n == 0 {
        return Ok(None);
    }
    let mut generator = weft_base::generator(seed, u64::MAX);
    let x: Vec<f64> = (0..n).map(|_| generator.random_range(-1.0..1.0)).collect();
    // One vector for both products and the sums of the rows' magnitudes: one reduction.
    let mut sums = vec![0.0; 3 * n];
    for (j, column) in matrix.columns() {
        for (i, element) in (j..).zip(column.iter().map(|element| element.to_f64())) {
            sums[i] += element * x[j];
            sums[2 * n + i] += element.abs();
            if i > j {
                sums[j] += element * x[i];
                sums[2 * n + j] += element.abs();
            }
        }
    }
    for (j, column) in factor.columns() {
        let of_transpose: f64 = (j..).zip(column).map(|(i, element)| element.to_f64() * x[i]).sum();
        (j..).zip(column).for_each(|(i, element)| sums[n + i] += element.to_f64() * of_transpose);
    }
    let sum = Reduction { element: Element::Float64, operator: Operator::Sum };
    let sums = allreduce(comm, Payload::of(&sums), sum, Choice::Auto).await?;
    let sums = sums.values::<f64>().expect("a reduction of data is data");
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |most: f64, value| most.max(value.abs()));
    // A maximum would pass over what is no number.
    if sums.iter().any(|sum| !sum.is_finite()) {
        return Ok(Some(f64::INFINITY));
    }
    let difference = largest(&mut (0..n).map(|i| sums[i] - sums[n + i]));
    let norm = largest(&mut sums[2 * n..].iter().copied());
    Ok(Some(difference / (n as f64 * T::EPSILON * norm * largest(&mut x.iter().copied()))))
}

/// A residual above this is an error: what LINPACK takes as the limit of a right solution.
const MAX_RESIDUAL: f64 = 10.0;

/// Factorises a random matrix of order `n`; rank 0 gets the row.
async fn cholesky<C: Communicator>(session: &Session<'_, C>, choice: Choice, n: u64) -> Result<Option<Row>, CommError> {
    let choice = broadcast_choice(&session.comm, choice);
    let times = match session.request.precision.unwrap_or_default() {
        Precision::Single => factorisations::<C, f32>(session, choice, n as usize).await?,
        Precision::Double => factorisations::<C, f64>(session, choice, n as usize).await?,
    };
    if session.comm.rank() != 0 {
        return Ok(None);
    }
    let rate = rate_of(conventional_operations(n as usize), &times);
    Ok(Some(Row {
        extent: Some(n),
        precision: Some(session.request.precision.unwrap_or_default()),
        algorithm: Some(name_of(choice).to_owned()),
        rate,
        rate_unit: rate.is_some().then(|| "flop/s".to_owned()),
        ..session.row(times, session.comm.size(), None)
    }))
}

/// Unless something else is asked for columns go down a binomial tree, the minimum spanning tree of a hypercube, as in
/// 1986; an MPI library broadcasts as it likes.
pub(super) fn broadcast_choice<C: Communicator>(comm: &C, choice: Choice) -> Choice {
    match choice {
        Choice::Auto if comm.native().is_some() => Choice::Native,
        Choice::Auto => Choice::Fixed(Algorithm::Binomial),
        choice => choice,
    }
}

pub(super) fn name_of(choice: Choice) -> &'static str {
    match choice {
        Choice::Fixed(algorithm) => algorithm.name(),
        Choice::Native => "native",
        Choice::Auto => "auto",
    }
}

async fn factorisations<C: Communicator, T: Real>(
    session: &Session<'_, C>,
    choice: Choice,
    n: usize,
) -> Result<Vec<f64>, CommError> {
    let (comm, seed) = (&session.comm, session.request.seed);
    let (rank, size) = (comm.rank(), comm.size());
    let matrix =
        if session.is_phantom() { Wrapped::<T>::phantom(n, rank, size) } else { Wrapped::random(n, rank, size, seed) };
    let mut program = Factorisation { factor: matrix.clone(), matrix, choice };
    let times = timed_runs(session, &mut program).await?;
    match residual(comm, &program.matrix, &program.factor, seed).await? {
        Some(residual) if residual > MAX_RESIDUAL => Err(session.error(format!(
            "cholesky, n = {n}: the factor is wrong: its residual is {residual:.3e}, at most {MAX_RESIDUAL} is right"
        ))),
        _ => Ok(times),
    }
}

struct Factorisation<T> {
    matrix: Wrapped<T>,
    factor: Wrapped<T>,
    choice: Choice,
}

impl<C: Communicator, T: Real> Run<C> for Factorisation<T> {
    async fn prepare(&mut self, _: &C) -> Result<(), CommError> {
        self.factor.clone_from(&self.matrix);
        Ok(())
    }

    async fn run(&mut self, comm: &C) -> Result<(), CommError> {
        factorise(comm, &mut self.factor, self.choice).await
    }
}
