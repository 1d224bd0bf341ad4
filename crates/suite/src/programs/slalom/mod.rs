//! SLALOM: the light within a box, all of a program from the file of the problem to that of the answer.
//!
//! J. Gustafson, D. Rover, S. Elbert, M. Carter, "The design of a scalable, fixed-time computer benchmark", J. Parallel
//! and Distributed Computing 12 (1991) 388-401; Dunigan 1991, section 6, has its rates on 64 nodes. The box is read from
//! a text (Reader), its faces are divided into `n` patches (Region), every pair of which has a form factor (SetUp); the
//! radiosities of three colours are the answers of three systems of `n` equations that differ in their diagonals and
//! right-hand sides (Solver), and are written as a text (Storer). Machines are compared by the `n` of one minute or by
//! operations a second, which are counted by a rule that does not depend on what a program does.
//!
//! With `x` for the radiosities the equations are `A_i / rho_i x_i - sum_j A_i F_ij x_j = A_i e_i / rho_i`: symmetric and
//! positive definite. They are laid out by columns (`columns.rs`), of one triangle, so that the factorisation is that of
//! `cholesky`, or whole on a grid of ranks (`grid.rs`).

mod columns;
pub mod coupling;
mod equations;
pub mod geometry;
mod grid;

use weft_base::Operation;
use weft_comm::collective::{Choice, Element, Operator, allreduce, broadcast};
use weft_comm::files::{Access, Files};
use weft_comm::{Buffer, CommError, Communicator, Payload, Reduction};

use self::columns::Columns;
use self::equations::Equations;
use self::geometry::{COLOURS, FACES, Geometry};
use self::grid::Grid;
use super::cholesky::{broadcast_choice, charge, name_of};
use super::real::{Precision, Real};
use super::timing::{Run, rate_of, repeat, timed_runs};
use super::{MAX_EXTENT, check_extents};
use crate::benchmark::{Benchmark, Point, Prepared};
use crate::collectives::algorithm;
use crate::description::{Group, Takes, takes};
use crate::files::Scratch;
use crate::request::Request;
use crate::row::Row;
use crate::session::Session;
use crate::usage::{UsageError, refuse_if};

/// Numbers of patches where nobody says: from mostly form factors to mostly elimination.
const PATCHES: &[u64] = &[64, 128, 256, 512];
/// The largest sum of residuals over the largest coefficient and radiosity (the benchmark's own limit, of three colours).
const MAX_RESIDUAL: f64 = 3.0 * 0.5e-8;
/// Bytes of the text of a box.
const GEOMETRY_BYTES: usize = 1024;
/// Operations of a form factor by the assessment of the benchmark, between parallel and between orthogonal patches.
const PER_FORM_FACTOR: (u64, u64) = (840, 430);
const SUM: Reduction = Reduction { element: Element::Float64, operator: Operator::Sum };

/// How the matrices lie on the ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One triangle, by columns.
    #[default]
    Columns,
    /// Whole, by rows and columns.
    Grid,
}

impl Layout {
    const NAMES: &'static [&'static str] = &["columns", "grid"];

    fn name(self) -> &'static str {
        Layout::NAMES[self as usize]
    }

    /// The one that a request names; others are refused before.
    fn of(request: &Request) -> Layout {
        if request.layout.as_deref() == Some(Layout::Grid.name()) { Layout::Grid } else { Layout::Columns }
    }
}

/// The program as a benchmark.
pub struct Slalom(Choice);

impl Benchmark for Slalom {
    const NAME: &'static str = "slalom";
    const SUMMARY: &'static str =
        "radiosities of n patches in a box, from file to file: time, and rate by the benchmark's count of operations";
    const GROUP: Group = Group::Program;
    const TAKES: &'static [Takes] = &[
        takes("extent").of("patches").default(PATCHES),
        takes("within"),
        takes("layout").choices(Layout::NAMES),
        takes("file_system").choices(&["posix", "mpi-io", "concurrent", "host"]),
        takes("io_nodes"),
        algorithm!(Broadcast),
    ];
    const EXAMPLE: &'static str = "weft measure slalom --on ipsc860 --ranks 64 --within 60";
    const MIN_RANKS: usize = 1;
    const DEFAULT_RANKS: usize = 16;

    fn check(request: &Request) -> Result<(), UsageError> {
        check_extents(request)?;
        if let Some(n) = request.extent.iter().find(|&&n| n < FACES as u64) {
            return refuse_if(true, || format!("slalom with {n} patches: each of the {FACES} faces needs one or more"));
        }
        let limit = request.within.unwrap_or(1.0);
        refuse_if(!(limit > 0.0 && limit.is_finite()), || format!("slalom within {limit} seconds: ask for more"))?;
        refuse_if(request.within.is_some() && !request.extent.is_empty(), || {
            "slalom within a time finds the number of patches itself: leave out either the extent or the time"
                .to_owned()
        })
    }

    fn operations(_: &Request) -> Vec<Operation> {
        vec![f64::AXPY, f64::ADD, f64::MULTIPLY]
    }

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<Slalom> {
        Ok(session.request.choice().map(|choice| Some(Slalom(choice))))
    }

    fn points<C: Communicator>(&self, session: &Session<'_, C>) -> Vec<Point> {
        match session.request.within {
            Some(_) => vec![Point { variant: 0, size: None }],
            None => session.sizes().into_iter().map(|n| Point { variant: 0, size: Some(n) }).collect(),
        }
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        let scratch = Scratch::agree(session).await?;
        let measured = measured(session, &scratch, self.0, point.size).await;
        // Whatever has happened, the files go.
        if session.comm.rank() == 0 {
            for what in ["geom", "answer"] {
                let removed = scratch.files.unlink(&scratch.path(what)).await;
                if measured.is_ok() {
                    removed?;
                }
            }
        }
        measured
    }
}

/// Measures `n` patches, or as many as the time allows; rank 0 gets the row.
async fn measured<C: Communicator>(
    session: &Session<'_, C>,
    scratch: &Scratch<'_>,
    choice: Choice,
    n: Option<u64>,
) -> Result<Option<Row>, CommError> {
    let comm = &session.comm;
    let choice = broadcast_choice(comm, choice);
    let layout = Layout::of(session.request);
    let (problem, answer) = (scratch.path("geom"), scratch.path("answer"));
    if comm.rank() == 0 {
        write(scratch.files, &problem, description(session.is_phantom())).await?;
    }
    let files = scratch.files;
    let is_phantom = session.is_phantom();
    let mut program = Slaloms { files, problem, answer, choice, layout, is_phantom, n: 0, solved: None };
    let (n, times) = match (n, session.request.within) {
        (None, Some(limit)) => most_patches(session, &mut program, limit).await?,
        (n, _) => {
            program.n = n.unwrap_or(PATCHES[0]) as usize;
            let times = timed_runs(session, &mut program).await?;
            program.verify(session).await?;
            (program.n, times)
        }
    };
    if comm.rank() != 0 {
        return Ok(None);
    }
    let region = Geometry::standard().patches(n).map_err(|message| session.error(message))?;
    let rate = rate_of(region.work().total(), &times);
    Ok(Some(Row {
        extent: Some(n as u64),
        precision: Some(Precision::Double),
        algorithm: Some(name_of(choice).to_owned()),
        layout: Some(layout.name().to_owned()),
        file_system: Some(scratch.system.name().to_owned()),
        file_kind: Some(scratch.kind()),
        rate,
        rate_unit: rate.is_some().then(|| "flop/s".to_owned()),
        ..session.row(times, comm.size(), None)
    }))
}

/// The radiosities of a box of `n` patches, by patch and colour, on all ranks. Collective; parts of the matrices are
/// broadcast by `choice`.
///
/// # Errors
/// [`weft_comm::Failure::Program`] where a face gets no patch.
pub async fn radiosities<C: Communicator>(
    comm: &C,
    geometry: &Geometry,
    n: usize,
    layout: Layout,
    choice: Choice,
) -> Result<Vec<[f64; COLOURS]>, CommError> {
    System::of(comm, geometry.clone(), n, layout, false).await?.solve(comm, choice).await
}

/// The equations in one of the layouts.
enum System<C> {
    Columns(Columns),
    Grid(Grid<C>),
}

impl<C: Communicator> System<C> {
    async fn of(
        comm: &C,
        geometry: Geometry,
        n: usize,
        layout: Layout,
        is_phantom: bool,
    ) -> Result<System<C>, CommError> {
        Ok(match layout {
            Layout::Columns => System::Columns(Columns::of(comm, geometry, n, is_phantom).await?),
            Layout::Grid => System::Grid(Grid::of(comm, geometry, n, is_phantom).await?),
        })
    }

    fn equations(&self) -> &Equations {
        match self {
            System::Columns(columns) => &columns.equations,
            System::Grid(grid) => &grid.equations,
        }
    }

    async fn solve(&self, comm: &C, choice: Choice) -> Result<Vec<[f64; COLOURS]>, CommError> {
        match self {
            System::Columns(columns) => columns.solve(comm, choice).await,
            System::Grid(grid) => grid.solve(choice).await,
        }
    }

    /// How far radiosities are from solving the equations. Collective; `None` for phantoms.
    async fn residual(&self, comm: &C, radiosities: &[[f64; COLOURS]]) -> Result<Option<f64>, CommError> {
        let received = match self {
            System::Columns(columns) => columns.received(radiosities),
            System::Grid(grid) => grid.received(radiosities),
        };
        let Some(received) = received else { return Ok(None) };
        let received = allreduce(comm, Payload::of(&received), SUM, Choice::Auto).await?;
        let received = received.values::<f64>().expect("a reduction of data is data");
        Ok(Some(self.equations().residual(radiosities, received)))
    }
}

/// Half of the operations are charged as additions and half as multiplications, whatever they are: machine files have
/// no times of logarithms, and the assessment counts one as eight of these.
async fn charge_couplings<C: Communicator>(comm: &C, count: u64) {
    charge(comm, f64::ADD, count / 2).await;
    charge(comm, f64::MULTIPLY, count - count / 2).await;
}

/// The description of the standard box as a file has it.
fn description(is_phantom: bool) -> Payload {
    let text = format!("{:<GEOMETRY_BYTES$}", Geometry::standard().to_text());
    if is_phantom { Payload::Phantom(GEOMETRY_BYTES) } else { Payload::of(text.as_bytes()) }
}

async fn write(files: &dyn Files, path: &str, what: Payload) -> Result<(), CommError> {
    let file = files.open(path, Access::ReadWrite).await?;
    let written = match files.write_at(file, 0, what).await {
        Ok(_) => files.sync(file).await,
        Err(error) => Err(error),
    };
    files.close(file).await?;
    written
}

/// The rule of the benchmark: the most patches whose run takes no longer than `limit` seconds, and the time of that run.
/// Collective. From the first two runs on either side the number is looked for between them, until it is known to half a
/// percent: in steps that follow the cube of the number, which elimination takes.
async fn most_patches<C: Communicator>(
    session: &Session<'_, C>,
    program: &mut Slaloms<'_, C>,
    limit: f64,
) -> Result<(usize, Vec<f64>), CommError> {
    let mut best: Option<(usize, f64)> = None;
    let (mut n, mut above) = (PATCHES[0] as usize, MAX_EXTENT as usize + 1);
    loop {
        program.n = n;
        let seconds = repeat(&session.comm, program, 1).await?[0];
        program.verify(session).await?;
        if seconds <= limit {
            best = Some((n, seconds));
        } else {
            above = n;
        }
        let below = best.map_or(FACES - 1, |(n, _)| n);
        if above - below <= 1 + below / 200 {
            break;
        }
        let guess = (n as f64 * (limit / seconds).cbrt().clamp(0.25, 4.0)) as usize;
        // Between two ends a guess beside one of them would not make the interval much smaller.
        let margin = if above <= MAX_EXTENT as usize { (above - below).div_ceil(16) } else { 1 };
        n = guess.clamp(below + margin, above - margin);
    }
    let (n, seconds) = best.ok_or_else(|| {
        session.error(format!("slalom within {limit} seconds: not even {FACES} patches can be done in that time"))
    })?;
    Ok((n, vec![seconds]))
}

/// One run after the other, of `n` patches.
struct Slaloms<'a, C> {
    files: &'a dyn Files,
    problem: String,
    answer: String,
    choice: Choice,
    layout: Layout,
    is_phantom: bool,
    n: usize,
    solved: Option<(System<C>, Vec<[f64; COLOURS]>)>,
}

impl<C: Communicator> Run<C> for Slaloms<'_, C> {
    async fn prepare(&mut self, _: &C) -> Result<(), CommError> {
        self.solved = None;
        Ok(())
    }

    async fn run(&mut self, comm: &C) -> Result<(), CommError> {
        let geometry = self.read(comm).await?;
        let system = System::of(comm, geometry, self.n, self.layout, self.is_phantom).await?;
        let radiosities = system.solve(comm, self.choice).await?;
        if comm.rank() == 0 {
            let equations = system.equations();
            charge(comm, f64::ADD, equations.region.work().storer as u64).await;
            write(self.files, &self.answer, equations.answer(&radiosities)).await?;
        }
        self.solved = Some((system, radiosities));
        Ok(())
    }
}

impl<C: Communicator> Slaloms<'_, C> {
    /// The Reader: rank 0 reads the file and tells the others.
    async fn read(&self, comm: &C) -> Result<Geometry, CommError> {
        let mut text = if self.is_phantom {
            Payload::Phantom(GEOMETRY_BYTES)
        } else {
            Payload::Data(Buffer::zeroed(GEOMETRY_BYTES))
        };
        if comm.rank() == 0 {
            let file = self.files.open(&self.problem, Access::Read).await?;
            let read = self.files.read_at(file, 0, text).await;
            self.files.close(file).await?;
            text = read?;
        }
        let text = broadcast(comm, 0, text, self.choice).await?;
        let Some(bytes) = text.values::<u8>() else { return Ok(Geometry::standard()) };
        let parsed = Geometry::from_text(&String::from_utf8_lossy(bytes));
        parsed.map_err(|message| CommError::program(comm.world_rank(), format!("{}: {message}", self.problem)))
    }

    /// Refuses a wrong answer. Collective.
    async fn verify(&self, session: &Session<'_, C>) -> Result<(), CommError> {
        let Some((system, radiosities)) = &self.solved else { return Ok(()) };
        match system.residual(&session.comm, radiosities).await? {
            // What is no number is not small either.
            Some(residual) if residual.partial_cmp(&MAX_RESIDUAL) != Some(std::cmp::Ordering::Less) => {
                Err(session.error(format!(
                    "slalom, n = {}: the answer is wrong: its residual is {residual:.3e}, below {MAX_RESIDUAL:.1e} is right",
                    self.n
                )))
            }
            _ => Ok(()),
        }
    }
}
