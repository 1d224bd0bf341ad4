//! Jacobi's iteration on a square with the problem and the answer in files, in the spirit of SLALOM (Dunigan 1991,
//! section 6), whose time includes reading the problem and writing the answer.
//!
//! The problem is Laplace's equation on `n` x `n` inner points and their boundary. It is chosen so that the iterate after
//! any number of sweeps is known: with `x = i/(n+1)`, `y = j/(n+1)`, the start is `x^2 - y^2 + sin(pi x) sin(pi y)`, whose
//! first part the five-point mean leaves as it is and whose second it multiplies by `cos(pi/(n+1))`. So every point of the
//! answer is checked, whether or not the iteration has converged.
//!
//! Rows are in blocks, as even as can be; rank `r` exchanges its first and last row with the ranks before and after it.
//! A file has the `n + 2` rows from the first boundary to the last, each of `n + 2` numbers, in the machine's byte order.

use std::f64::consts::PI;
use std::ops::Range;

use weft_base::Operation;
use weft_comm::collective::{Choice, Element, Operator, allreduce, barrier};
use weft_comm::files::{Access, Files};
use weft_comm::{Buffer, CommError, Communicator, Payload, Reduction, Source, Tag, TagSelector, Work};

use super::real::{Precision, Real};
use super::timing::{Run, rate_of, timed_runs};
use super::{PRECISIONS, check_extents};
use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::files::Scratch;
use crate::request::Request;
use crate::row::Row;
use crate::session::Session;
use crate::usage::{UsageError, refuse_if};

/// Points along an edge of a grid: from more file than computation to the reverse.
const GRIDS: &[u64] = &[64, 128, 256, 512];

/// The iteration as a benchmark.
pub struct Jacobi;

impl Benchmark for Jacobi {
    const NAME: &'static str = "jacobi";
    const SUMMARY: &'static str =
        "reads an n x n grid from a file, relaxes it 100 times, writes it: time, and rate by 4 operations a point";
    const GROUP: Group = Group::Program;
    const TAKES: &'static [Takes] = &[
        takes("extent").of("grid").default(GRIDS),
        takes("precision").choices(PRECISIONS),
        takes("file_system").choices(&["posix", "mpi-io", "concurrent", "host"]),
        takes("io_nodes"),
    ];
    const EXAMPLE: &'static str = "weft measure jacobi --on ipsc860 --extent 64:512 --file-system concurrent";
    const MIN_RANKS: usize = 1;
    const DEFAULT_RANKS: usize = 16;

    fn check(request: &Request) -> Result<(), UsageError> {
        check_extents(request)
    }

    fn check_ranks(request: &Request, ranks: usize) -> Result<(), UsageError> {
        let fewest = if request.extent.is_empty() { GRIDS.iter().min() } else { request.extent.iter().min() };
        let n = fewest.copied().unwrap_or(0);
        refuse_if(n < ranks as u64, || {
            format!("jacobi with an extent of {n} on {ranks} ranks: every rank needs a row; use {ranks} or more")
        })
    }

    fn operations(request: &Request) -> Vec<Operation> {
        match request.precision.unwrap_or_default() {
            Precision::Single => operations::<f32>().to_vec(),
            Precision::Double => operations::<f64>().to_vec(),
        }
    }

    async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<Jacobi> {
        Ok(Ok(Some(Jacobi)))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        jacobi(session, point.size.unwrap_or(0)).await
    }
}

/// Sweeps of a run of the benchmark.
pub const SWEEPS: u32 = 100;
/// Sweeps after which the largest change of a point is looked at.
pub const SWEEPS_BETWEEN_CHECKS: u32 = 10;
/// Additions and multiplications of one point in one sweep.
const ADDITIONS: u64 = 3;
const MULTIPLICATIONS: u64 = 1;

const UPWARD: Tag = Tag::User(21);
const DOWNWARD: Tag = Tag::User(22);

/// What a sweep charges in virtual time: three additions and a multiplication a point.
pub fn operations<T: Real>() -> [Operation; 2] {
    [T::ADD, T::MULTIPLY]
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// After this many sweeps at most,
    pub sweeps: u32,
    /// or, looking every [`SWEEPS_BETWEEN_CHECKS`] sweeps, once no point changes by more than this. Phantoms have no
    /// changes: they make all sweeps.
    pub tolerance: f64,
}

/// The value of row `i`, column `j` of the problem after `sweeps` sweeps.
pub fn iterate(n: usize, i: usize, j: usize, sweeps: u32) -> f64 {
    let of = |index: usize| index as f64 / (n + 1) as f64;
    let (x, y) = (of(i), of(j));
    let is_inner = (1..=n).contains(&i) && (1..=n).contains(&j);
    let wave = if is_inner { (PI * x).sin() * (PI * y).sin() } else { 0.0 };
    x * x - y * y + wave * (PI / (n + 1) as f64).cos().powi(sweeps as i32)
}

/// The rows of one rank, with one row more on either side.
pub struct Block<T> {
    n: usize,
    rank: usize,
    size: usize,
    cells: Option<(Vec<T>, Vec<T>)>,
}

impl<T: Real> Block<T> {
    fn width(&self) -> usize {
        self.n + 2
    }

    /// The inner rows of the rank, counted with the boundary's first row as row 0. Every rank has one if there are no
    /// more ranks than rows.
    pub fn rows(n: usize, rank: usize, size: usize) -> Range<usize> {
        1 + rank * n / size..1 + (rank + 1) * n / size
    }

    /// The rows of `rank` that are in no other rank's part of a file: its inner rows, and the boundary's on the
    /// outside.
    fn rows_in_file(n: usize, rank: usize, size: usize) -> Range<usize> {
        let rows = Self::rows(n, rank, size);
        rows.start - usize::from(rank == 0)..rows.end + usize::from(rank + 1 == size)
    }

    fn bytes(&self, rows: usize) -> usize {
        rows * self.width() * size_of::<T>()
    }

    /// A buffer for `rows` rows.
    fn buffer(&self, rows: usize) -> Payload {
        match &self.cells {
            Some(_) => Payload::Data(Buffer::page_aligned(self.bytes(rows))),
            None => Payload::Phantom(self.bytes(rows)),
        }
    }

    /// The rank's part of the problem in the file at `path`.
    ///
    /// # Errors
    /// [`weft_comm::Failure::File`], also where the file is shorter than the problem.
    pub async fn read<C: Communicator>(
        comm: &C,
        files: &dyn Files,
        path: &str,
        n: usize,
        is_phantom: bool,
    ) -> Result<Block<T>, CommError> {
        let (rank, size) = (comm.rank(), comm.size());
        let mut block = Block { n, rank, size, cells: (!is_phantom).then(|| (Vec::new(), Vec::new())) };
        let rows = Self::rows(n, rank, size);
        let file = files.open(path, Access::Read).await?;
        let offset = block.bytes(rows.start - 1) as u64;
        let read = files.read_at(file, offset, block.buffer(rows.len() + 2)).await;
        files.close(file).await?;
        block.cells = read?.values::<T>().map(|values| (values.to_vec(), values.to_vec()));
        Ok(block)
    }

    /// Writes the rank's rows where they belong in the file at `path`, and waits until they are on the device.
    ///
    /// # Errors
    /// [`weft_comm::Failure::File`].
    pub async fn write(&self, files: &dyn Files, path: &str) -> Result<(), CommError> {
        let own = Self::rows_in_file(self.n, self.rank, self.size);
        let first = Self::rows(self.n, self.rank, self.size).start - 1;
        let payload = match &self.cells {
            Some((cells, _)) => {
                let width = self.width();
                Payload::of(&cells[(own.start - first) * width..(own.end - first) * width])
            }
            None => Payload::Phantom(self.bytes(own.len())),
        };
        let file = files.open(path, Access::ReadWrite).await?;
        let written = match files.write_at(file, self.bytes(own.start) as u64, payload).await {
            Ok(_) => files.sync(file).await,
            Err(error) => Err(error),
        };
        files.close(file).await?;
        written
    }

    /// Iterates; the number of sweeps made. Collective.
    pub async fn relax<C: Communicator>(&mut self, comm: &C, until: Until) -> Result<u32, CommError> {
        let maximum = Reduction { element: Element::Float64, operator: Operator::Maximum };
        for sweep in 1..=until.sweeps {
            self.exchange(comm).await?;
            let is_checked = sweep % SWEEPS_BETWEEN_CHECKS == 0;
            let change = self.sweep(is_checked);
            self.charge(comm, is_checked).await;
            if is_checked {
                let change = if self.cells.is_some() { Payload::of(&[change]) } else { Payload::Phantom(8) };
                let largest = allreduce(comm, change, maximum, Choice::Auto).await?;
                if largest.values::<f64>().is_some_and(|largest| largest[0] <= until.tolerance) {
                    return Ok(sweep);
                }
            }
        }
        Ok(until.sweeps)
    }

    /// The neighbours' rows next to this rank's.
    async fn exchange<C: Communicator>(&mut self, comm: &C) -> Result<(), CommError> {
        let (rank, size, rows) = (self.rank, self.size, Self::rows(self.n, self.rank, self.size).len());
        // Row 0 here is the last of the rank before, row `rows + 1` the first of the rank after.
        let sides = [
            (rank.checked_sub(1), 1, 0, UPWARD, DOWNWARD),
            ((rank + 1 < size).then_some(rank + 1), rows, rows + 1, DOWNWARD, UPWARD),
        ];
        let mut in_flight = Vec::with_capacity(2);
        for (peer, own, other, out, into) in sides {
            let Some(peer) = peer else { continue };
            let incoming = comm.irecv(Source::Rank(peer), TagSelector::Only(into), self.buffer(1));
            let outgoing = comm.isend(peer, out, self.row(own));
            in_flight.push((other, incoming, outgoing));
        }
        let width = self.width();
        for (other, incoming, outgoing) in in_flight {
            let received = incoming.await?.payload;
            outgoing.await?;
            if let (Some((cells, _)), Some(values)) = (&mut self.cells, received.values::<T>()) {
                cells[other * width..(other + 1) * width].copy_from_slice(values);
            }
        }
        Ok(())
    }

    fn row(&self, row: usize) -> Payload {
        match &self.cells {
            Some((cells, _)) => Payload::of(&cells[row * self.width()..(row + 1) * self.width()]),
            None => Payload::Phantom(self.bytes(1)),
        }
    }

    /// One sweep; the largest change, if asked for.
    fn sweep(&mut self, is_checked: bool) -> f64 {
        let (n, width, rows) = (self.n, self.width(), Self::rows(self.n, self.rank, self.size).len());
        let Some((cells, next)) = &mut self.cells else { return 0.0 };
        let quarter = T::of(0.25);
        let mut change: f64 = 0.0;
        for row in 1..=rows {
            let line = |row: usize| &cells[row * width..(row + 1) * width];
            let (above, here, below) = (line(row - 1), line(row), line(row + 1));
            let out = &mut next[row * width..(row + 1) * width];
            for j in 1..=n {
                out[j] = ((above[j] + below[j]) + (here[j - 1] + here[j + 1])) * quarter;
            }
            if is_checked {
                let changes = (1..=n).map(|j| (out[j] - here[j]).to_f64().abs());
                change = changes.fold(change, f64::max);
            }
        }
        std::mem::swap(cells, next);
        change
    }

    async fn charge<C: Communicator>(&self, comm: &C, is_checked: bool) {
        let points = (Self::rows(self.n, self.rank, self.size).len() * self.n) as u64;
        let additions = points * (ADDITIONS + u64::from(is_checked));
        comm.compute(Work::Operations { operation: T::ADD, count: additions }).await;
        comm.compute(Work::Operations { operation: T::MULTIPLY, count: points * MULTIPLICATIONS }).await;
    }

    /// The rank's part of the problem, as it is before the first sweep.
    fn start(n: usize, rank: usize, size: usize, is_phantom: bool) -> Block<T> {
        let rows = Self::rows(n, rank, size);
        let cells = (rows.start - 1..rows.end + 1).flat_map(|i| (0..n + 2).map(move |j| T::of(iterate(n, i, j, 0))));
        let cells: Option<Vec<T>> = (!is_phantom).then(|| cells.collect());
        Block { n, rank, size, cells: cells.map(|cells| (cells.clone(), cells)) }
    }

    /// What is wrong with the rows this rank has after `sweeps` sweeps, if anything is.
    pub fn check(&self, sweeps: u32) -> Result<(), String> {
        let Some((cells, _)) = &self.cells else { return Ok(()) };
        // A mean does not enlarge what four rounded numbers are off by; each sweep adds its own rounding.
        let allowed = 8.0 * f64::from(sweeps + 1) * T::EPSILON;
        let first = Self::rows(self.n, self.rank, self.size).start - 1;
        let lines = (first..).zip(cells.chunks_exact(self.width()));
        let own = Self::rows_in_file(self.n, self.rank, self.size);
        for (i, line) in lines.filter(|(i, _)| own.contains(i)) {
            for (j, value) in line.iter().map(|value| value.to_f64()).enumerate() {
                let expected = iterate(self.n, i, j, sweeps);
                if (value - expected).abs() > allowed || value.is_nan() {
                    return Err(format!(
                        "row {i}, column {j} of the answer after {sweeps} sweeps is {value}, not {expected}"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Reads, relaxes and writes a grid of `n` x `n` points; rank 0 gets the row.
async fn jacobi<C: Communicator>(session: &Session<'_, C>, n: u64) -> Result<Option<Row>, CommError> {
    let scratch = Scratch::agree(session).await?;
    let times = match session.request.precision.unwrap_or_default() {
        Precision::Single => relaxations::<C, f32>(session, &scratch, n as usize).await,
        Precision::Double => relaxations::<C, f64>(session, &scratch, n as usize).await,
    };
    // Whatever has happened, the files go.
    if session.comm.rank() == 0 {
        for what in ["problem", "answer"] {
            let removed = scratch.files.unlink(&scratch.path(what)).await;
            if times.is_ok() {
                removed?;
            }
        }
    }
    let times = times?;
    if session.comm.rank() != 0 {
        return Ok(None);
    }
    let operations = f64::from(SWEEPS) * (n * n * (ADDITIONS + MULTIPLICATIONS)) as f64;
    let rate = rate_of(operations, &times);
    Ok(Some(Row {
        extent: Some(n),
        precision: Some(session.request.precision.unwrap_or_default()),
        file_system: Some(scratch.system.name().to_owned()),
        file_kind: Some(scratch.kind()),
        rate,
        rate_unit: rate.is_some().then(|| "flop/s".to_owned()),
        ..session.row(times, session.comm.size(), None)
    }))
}

async fn relaxations<C: Communicator, T: Real>(
    session: &Session<'_, C>,
    scratch: &Scratch<'_>,
    n: usize,
) -> Result<Vec<f64>, CommError> {
    let comm = &session.comm;
    let (rank, size) = (comm.rank(), comm.size());
    let (problem, answer) = (scratch.path("problem"), scratch.path("answer"));
    Block::<T>::start(n, rank, size, session.is_phantom()).write(scratch.files, &problem).await?;
    let mut program = Relaxation::<T> {
        files: scratch.files,
        problem,
        answer,
        n,
        is_phantom: session.is_phantom(),
        real: std::marker::PhantomData,
    };
    let times = timed_runs(session, &mut program).await?;
    barrier(comm, Choice::Auto).await?;
    let written = Block::<T>::read(comm, scratch.files, &program.answer, n, program.is_phantom).await?;
    written.check(SWEEPS).map_err(|what| session.error(format!("jacobi, n = {n}: {what}")))?;
    barrier(comm, Choice::Auto).await?;
    Ok(times)
}

struct Relaxation<'a, T> {
    files: &'a dyn Files,
    problem: String,
    answer: String,
    n: usize,
    is_phantom: bool,
    real: std::marker::PhantomData<T>,
}

impl<C: Communicator, T: Real> Run<C> for Relaxation<'_, T> {
    /// The problem is not changed by a run.
    async fn prepare(&mut self, _: &C) -> Result<(), CommError> {
        Ok(())
    }

    async fn run(&mut self, comm: &C) -> Result<(), CommError> {
        let mut block = Block::<T>::read(comm, self.files, &self.problem, self.n, self.is_phantom).await?;
        block.relax(comm, Until { sweeps: SWEEPS, tolerance: -1.0 }).await?;
        block.write(self.files, &self.answer).await
    }
}
