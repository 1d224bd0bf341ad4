//! The program of a launch: who takes part, which points in which order, which rows.

use rand::seq::SliceRandom;
use weft_comm::collective::Choice;
use weft_comm::{CollectiveKind, CommError, Communicator, Program};

use crate::catalogue::{Benchmark, Group};
use crate::collectives::{collective, kind_of};
use crate::contention::{Contention, contention};
use crate::echo::{Partner, echo, echo_self, partners};
use crate::fan::{self, fan};
use crate::files::{self, MOST_REAL_BYTES, file_system, transfer};
use crate::halo::halo;
use crate::programs::cholesky::cholesky;
use crate::programs::jacobi::jacobi;
use crate::request::{PayloadSort, Request, UsageError, refuse_if, too_few};
use crate::ring::{Neighbours, neighbours, ring};
use crate::routing::{routing_compute, routing_echo};
use crate::row::Row;
use crate::session::Session;
use crate::stencil::stencil;
use crate::throughput::{bandwidth, bisection};

/// The benchmark program of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    pub request: Request,
}

impl Program for Suite {
    /// Rank 0 has the rows, in the order of the request (by distance, load or neighbours, then by length), or says why
    /// the request cannot be met; the other ranks have no rows.
    type Output = Result<Vec<Row>, UsageError>;

    async fn run<C: Communicator>(self, comm: C) -> Result<Result<Vec<Row>, UsageError>, CommError> {
        let request = &self.request;
        let checked = request.validate().and_then(|benchmark| {
            check_launch(request, benchmark, &comm)?;
            Ok((benchmark, request.choice()?))
        });
        let (benchmark, choice) = match checked {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(error)),
        };
        match participants(request, benchmark, comm).await? {
            Some(comm) => measure(&Session { comm, request, benchmark }, choice).await,
            None => Ok(Ok(Vec::new())),
        }
    }
}

/// Ranks that are not the host.
fn nodes<C: Communicator>(comm: &C) -> usize {
    comm.size() - usize::from(comm.host().is_some())
}

fn check_launch<C: Communicator>(request: &Request, benchmark: &Benchmark, comm: &C) -> Result<(), UsageError> {
    let (name, available) = (benchmark.name, nodes(comm));
    let wanted = request.ranks.unwrap_or(available);
    refuse_if(wanted > available, || format!("{name} on {wanted} ranks: this launch has {available}"))?;
    too_few(benchmark, wanted)?;
    refuse_if(benchmark.parameters.host && comm.host().is_none(), || {
        format!("{name} needs a rank on the machine's host, and this launch has none")
    })?;
    let parameters = &benchmark.parameters;
    if !parameters.background_bytes.is_empty() {
        Contention::of(request, parameters.background_bytes, wanted)?;
    }
    if !parameters.neighbours.is_empty() {
        fan::neighbours(request, parameters.neighbours, wanted)?;
    }
    let is_phantom = request.payload == Some(PayloadSort::Phantom);
    refuse_if(benchmark.group == Group::Program && is_phantom && !comm.virtual_time(), || {
        format!("{name} with phantoms computes nothing; that has a meaning in virtual time only")
    })?;
    if !benchmark.parameters.file_systems.is_empty() {
        file_system(request, benchmark, comm)?;
    }
    refuse_if(request.io_nodes.is_some() && !comm.virtual_time(), || {
        format!("{name} with io_nodes: only the I/O nodes of a described machine can be chosen")
    })?;
    refuse_if(!comm.virtual_time() && request.files_too_large(wanted), || {
        format!("{name} with files of more than {} GiB in all: ask for fewer file_bytes", MOST_REAL_BYTES >> 30)
    })?;
    let fewest = request.orders(benchmark).into_iter().min();
    refuse_if(benchmark.name == "jacobi" && fewest.is_some_and(|n| (n as usize) < wanted), || {
        let n = fewest.unwrap_or(0);
        format!("jacobi with n = {n} on {wanted} ranks: every rank needs a row; use n of {wanted} or more")
    })?;
    let wants_native = request.choice()? == Choice::Native;
    refuse_if(wants_native && comm.native().is_none(), || {
        format!("{name} by 'native': this world has no library with collectives of its own; choose another algorithm")
    })
}

/// The communicator of the ranks that take part; `None` on the others.
async fn participants<C: Communicator>(
    request: &Request,
    benchmark: &Benchmark,
    comm: C,
) -> Result<Option<C>, CommError> {
    let wanted = request.ranks.unwrap_or_else(|| nodes(&comm));
    if benchmark.parameters.host || wanted == comm.size() {
        return Ok(Some(comm));
    }
    let color = (comm.rank() < wanted).then_some(0);
    comm.split(color, 0).await
}

/// What the points of a benchmark need to know.
enum Plan {
    Echo(Vec<Partner>),
    EchoSelf,
    Ring(Neighbours),
    Bandwidth { window: usize },
    Bisection,
    Halo(Vec<Vec<u64>>),
    Stencil { shapes: Vec<Vec<u64>>, is_overlapped: bool },
    RoutingEcho,
    RoutingCompute,
    Contention(Contention),
    Fan { direction: fan::Direction, neighbours: Vec<u32>, window: usize },
    Collective(CollectiveKind, Choice),
    Cholesky(Choice),
    Jacobi,
    File(files::Direction),
}

async fn measure<C: Communicator>(
    session: &Session<'_, C>,
    choice: Choice,
) -> Result<Result<Vec<Row>, UsageError>, CommError> {
    let plan = match plan(session, choice).await? {
        Ok(Some(plan)) => plan,
        Ok(None) => return Ok(Ok(Vec::new())),
        Err(error) => return Ok(Err(error)),
    };
    let points = points(session, &plan);
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.shuffle(&mut weft_base::generator(session.request.seed, 0));
    let mut rows = Vec::with_capacity(points.len());
    for index in order {
        if let Some(row) = measure_point(session, &plan, points[index]).await? {
            rows.push((index, row));
        }
    }
    rows.sort_by_key(|&(index, _)| index);
    Ok(Ok(rows.into_iter().map(|(_, row)| row).collect()))
}

/// How the benchmark is done; `None` on ranks that learn from rank 0 that it cannot be.
async fn plan<C: Communicator>(
    session: &Session<'_, C>,
    choice: Choice,
) -> Result<Result<Option<Plan>, UsageError>, CommError> {
    let (name, size, parameters) = (session.benchmark.name, session.comm.size(), &session.benchmark.parameters);
    let window = || session.request.window.or(parameters.window).unwrap_or(1);
    Ok(Ok(Some(match name {
        "echo" => match partners(session).await? {
            Ok(Some(partners)) => Plan::Echo(partners),
            Ok(None) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error)),
        },
        "echo-host" => {
            let host = session.comm.host().ok_or_else(|| session.error("the host is gone".to_owned()))?;
            Plan::Echo(vec![Partner { rank: host, hops: session.comm.hops_to(host).map(|hops| hops as u32) }])
        }
        "echo-self" => Plan::EchoSelf,
        "ring" => Plan::Ring(neighbours(&session.comm).await?),
        "bandwidth" => Plan::Bandwidth { window: window() },
        "bisection" => Plan::Bisection,
        "halo" => Plan::Halo(session.request.blocks(session.benchmark)),
        "stencil" | "stencil-in-turn" => {
            Plan::Stencil { shapes: session.request.blocks(session.benchmark), is_overlapped: name == "stencil" }
        }
        "routing-echo" => Plan::RoutingEcho,
        "routing-compute" => Plan::RoutingCompute,
        "contention" => match Contention::of(session.request, parameters.background_bytes, size) {
            Ok(contention) => Plan::Contention(contention),
            Err(error) => return Ok(Err(error)),
        },
        "fan-in" | "fan-out" => match fan::neighbours(session.request, parameters.neighbours, size) {
            Ok(neighbours) => {
                let direction = if name == "fan-in" { fan::Direction::In } else { fan::Direction::Out };
                Plan::Fan { direction, neighbours, window: window() }
            }
            Err(error) => return Ok(Err(error)),
        },
        "cholesky" => Plan::Cholesky(choice),
        "jacobi" => Plan::Jacobi,
        "file-host" | "file-read" => Plan::File(files::Direction::Read),
        "file-write" => Plan::File(files::Direction::Write),
        _ => match kind_of(name) {
            Some(kind) => Plan::Collective(kind, choice),
            None => return Err(session.error(format!("the catalogue has '{name}', but no program does it"))),
        },
    })))
}

/// One row's parameters.
#[derive(Clone, Copy)]
struct Point {
    /// Which of the plan's partners, loads, shapes or numbers of neighbours.
    variant: usize,
    /// Bytes, or the order where the benchmark takes orders.
    length: Option<u64>,
}

/// Every point, in the order of the rows.
fn points<C: Communicator>(session: &Session<'_, C>, plan: &Plan) -> Vec<Point> {
    let variants = match plan {
        Plan::Echo(partners) => partners.len(),
        Plan::Contention(contention) => contention.loads(),
        Plan::Fan { neighbours, .. } => neighbours.len(),
        Plan::Halo(shapes) | Plan::Stencil { shapes, .. } => shapes.len(),
        _ => 1,
    };
    let (request, benchmark) = (session.request, session.benchmark);
    let lengths = if benchmark.parameters.n.is_some() { request.orders(benchmark) } else { request.lengths(benchmark) };
    let lengths: Vec<Option<u64>> =
        if lengths.is_empty() { vec![None] } else { lengths.into_iter().map(Some).collect() };
    let of_variant = |variant| lengths.iter().map(move |&length| Point { variant, length });
    (0..variants).flat_map(of_variant).collect()
}

async fn measure_point<C: Communicator>(
    session: &Session<'_, C>,
    plan: &Plan,
    point: Point,
) -> Result<Option<Row>, CommError> {
    let bytes = point.length.unwrap_or(0) as usize;
    match plan {
        Plan::Echo(partners) => {
            let ranks = session.request.ranks.unwrap_or_else(|| nodes(&session.comm));
            echo(session, partners[point.variant], bytes, ranks).await
        }
        Plan::EchoSelf => echo_self(session, bytes).await,
        Plan::Ring(neighbours) => ring(session, *neighbours, bytes).await,
        Plan::Bandwidth { window } => bandwidth(session, *window, bytes).await,
        Plan::Bisection => bisection(session, bytes).await,
        Plan::Halo(shapes) => halo(session, &shapes[point.variant]).await,
        Plan::Stencil { shapes, is_overlapped } => stencil(session, &shapes[point.variant], *is_overlapped).await,
        Plan::RoutingEcho => routing_echo(session, bytes).await,
        Plan::RoutingCompute => routing_compute(session, bytes).await,
        Plan::Contention(plan) => contention(session, plan, point.variant, bytes).await,
        Plan::Fan { direction, neighbours, window } => {
            fan(session, *direction, neighbours[point.variant], *window, bytes).await
        }
        Plan::Collective(kind, choice) => collective(session, *kind, *choice, point.length).await,
        Plan::Cholesky(choice) => cholesky(session, *choice, point.length.unwrap_or(0)).await,
        Plan::File(direction) => transfer(session, *direction, bytes as u64).await,
        Plan::Jacobi => jacobi(session, point.length.unwrap_or(0)).await,
    }
}
