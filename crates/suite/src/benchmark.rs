//! What a benchmark is: its names, the parameters that it takes, where its ranks are placed, its points, and how one
//! point is measured.

use rand::seq::SliceRandom;
use weft_base::Operation;
use weft_comm::prepared::Feature;
use weft_comm::{CommError, Communicator};
use weft_machine::Machine;

use crate::description::{Description, Group, Nodes, Takes};
use crate::placement::by_distance;
use crate::request::Request;
use crate::row::Row;
use crate::session::Session;
use crate::usage::UsageError;

/// One row's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Which of the benchmark's variants: its partners, loads, shapes or numbers of neighbours.
    pub variant: usize,
    /// Bytes, or the extent where the benchmark takes extents.
    pub size: Option<u64>,
}

impl Point {
    /// The size of a benchmark of messages; 0 where it has none.
    pub fn bytes(&self) -> usize {
        self.size.unwrap_or(0) as usize
    }
}

/// A benchmark ready to be measured; `None` on ranks that learn from rank 0 that it cannot be.
pub type Prepared<B> = Result<Result<Option<B>, UsageError>, CommError>;

/// A benchmark of messages. One file has one, or the few that are one program.
///
/// A value of the type is what all points of a launch have in common: partners, patterns, the choice of an algorithm.
#[allow(async_fn_in_trait)] // Programs are generic over the communicator, which decides about Send.
pub trait Benchmark: Sized {
    /// As people ask for it.
    const NAME: &'static str;
    /// One line.
    const SUMMARY: &'static str;
    const GROUP: Group;
    /// What others call it, in lower case with hyphens.
    const ALIASES: &'static [&'static str] = &[];
    /// Benchmarks of others that weft does not have, to which this one is nearest.
    const NEAREST_OF: &'static [&'static str] = &[];
    /// What it takes besides the [`COMMON`] ones.
    const TAKES: &'static [Takes];
    /// A command that shows what it is for.
    const EXAMPLE: &'static str;
    /// The fewest ranks it works with.
    const MIN_RANKS: usize = 2;
    /// Why it needs so many, for messages.
    const WHY_RANKS: &'static str = "";
    /// A sensible number of ranks where nobody says.
    const DEFAULT_RANKS: usize = 2;
    /// Whether it needs a rank on the machine's host, besides its own.
    const HOST: bool = false;
    /// What it needs of a backend beyond messages and collectives, if anything.
    const NEEDS: Option<Feature> = None;

    /// Refuses what no machine can do, beyond what the table of parameters refuses.
    ///
    /// # Errors
    /// [`UsageError`] that says what is wrong and what would be right.
    fn check(_request: &Request) -> Result<(), UsageError> {
        Ok(())
    }

    /// Refuses what cannot be done by so many ranks.
    ///
    /// # Errors
    /// As [`check`](Benchmark::check).
    fn check_ranks(_request: &Request, _ranks: usize) -> Result<(), UsageError> {
        Ok(())
    }

    /// The nodes of its ranks on a described machine, so that it means what it says. It may fill what the request leaves
    /// to the machine.
    ///
    /// # Errors
    /// [`UsageError`] for what the machine does not have.
    fn placement(machine: &Machine, request: &mut Request, ranks: usize) -> Result<Nodes, UsageError> {
        by_distance(machine, request, ranks)
    }

    /// The operations that it charges in virtual time: a machine that gives no times of them cannot run it there.
    fn operations(_request: &Request) -> Vec<Operation> {
        Vec::new()
    }

    /// What all points have in common. Collective.
    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<Self>;

    /// How many variants each size is measured in.
    fn variants(&self) -> usize {
        1
    }

    /// Every point, in the order of the rows: by variant, then by size.
    fn points<C: Communicator>(&self, session: &Session<'_, C>) -> Vec<Point> {
        let sizes: Vec<Option<u64>> = session.sizes().into_iter().map(Some).collect();
        let sizes = if sizes.is_empty() { vec![None] } else { sizes };
        let of_variant = |variant| sizes.iter().map(move |&size| Point { variant, size });
        (0..self.variants()).flat_map(of_variant).collect()
    }

    /// Measures one point on all ranks that take part; one of them has the row.
    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError>;

    /// As [`measure`](Benchmark::measure), where a point has a row for each of many pairs.
    async fn measure_all<C: Communicator>(
        &self,
        session: &Session<'_, C>,
        point: Point,
    ) -> Result<Vec<Row>, CommError> {
        Ok(self.measure(session, point).await?.into_iter().collect())
    }
}

impl Description {
    /// Of a benchmark.
    pub const fn new<B: Benchmark>() -> Description {
        Description {
            name: B::NAME,
            summary: B::SUMMARY,
            group: B::GROUP,
            aliases: B::ALIASES,
            nearest_of: B::NEAREST_OF,
            example: B::EXAMPLE,
            min_ranks: B::MIN_RANKS,
            default_ranks: B::DEFAULT_RANKS,
            host: B::HOST,
            needs: B::NEEDS,
            why_ranks: B::WHY_RANKS,
            own: B::TAKES,
            check: B::check,
            check_ranks: B::check_ranks,
            placement: B::placement,
            operations: B::operations,
        }
    }
}

/// The rows of one benchmark: its points in an order shuffled by the seed.
///
/// # Errors
/// As [`measure`].
pub async fn measure_points<B: Benchmark, C: Communicator>(
    session: &Session<'_, C>,
) -> Result<Result<Vec<Row>, UsageError>, CommError> {
    let benchmark = match B::prepare(session).await? {
        Ok(Some(benchmark)) => benchmark,
        Ok(None) => return Ok(Ok(Vec::new())),
        Err(error) => return Ok(Err(error)),
    };
    let points = benchmark.points(session);
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.shuffle(&mut weft_base::generator(session.request.seed, 0));
    let mut rows = Vec::with_capacity(points.len());
    for index in order {
        rows.extend(benchmark.measure_all(session, points[index]).await?.into_iter().map(|row| (index, row)));
    }
    rows.sort_by_key(|&(index, _)| index);
    Ok(Ok(rows.into_iter().map(|(_, row)| row).collect()))
}
