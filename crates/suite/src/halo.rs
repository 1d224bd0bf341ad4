//! The exchange of ghosts between the blocks of a distributed array: time by ranks and shape of the block.
//!
//! Every rank has a block of the same shape with one ghost around it; the array is circular along every axis. The ranks
//! are divided over the axes so that the surface of a block is least, and one exchange fills the ghosts across all faces:
//! one message to each neighbour, and copies where a rank is its own neighbour. In virtual time copies, into messages
//! too, are charged by the machine's time of `copy_byte`, and cost nothing where its file has none.

use weft_comm::{Buffer, CommError, Communicator};
use weft_polyshift::exchange::{Corners, Edge, Exchange, Halo as Ghosts, Options, Pattern, RankPlan, Storage};
use weft_polyshift::geometry::{Geometry, Layout};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::request::Request;
use crate::row::Row;
use crate::session::{Session, Step, Traced, rate};
use crate::usage::{UsageError, refuse_if};
use crate::window::windowed;

/// Cubes of three axes and one of four: from what startup decides to what bytes decide.
pub(crate) const BLOCK_SHAPES: &[&[u64]] =
    &[&[4, 4, 4], &[8, 8, 8], &[16, 16, 16], &[32, 32, 32], &[64, 64, 64], &[128, 128, 128], &[16, 16, 16, 16]];

/// The exchange of ghosts, by shapes of the block of one rank.
pub struct Halo(Vec<Vec<u64>>);

impl Benchmark for Halo {
    const NAME: &'static str = "halo";
    const SUMMARY: &'static str =
        "ghosts across all faces between the blocks of a distributed array: time of one exchange by shape";
    const GROUP: Group = Group::Exchange;
    const ALIASES: &'static [&'static str] = &["halo-exchange"];
    const NEAREST_OF: &'static [&'static str] = &[
        "osu-neighbor-allgather",
        "osu-neighbor-allgatherv",
        "osu-neighbor-alltoall",
        "osu-neighbor-alltoallv",
        "osu-neighbor-alltoallw",
        "osu-ineighbor-allgather",
        "osu-ineighbor-allgatherv",
        "osu-ineighbor-alltoall",
        "osu-ineighbor-alltoallv",
        "osu-ineighbor-alltoallw",
        "imb-stencil2d",
        "imb-stencil3d",
    ];
    const TAKES: &'static [Takes] = &[takes("shape").of("block").shapes(BLOCK_SHAPES)];
    const EXAMPLE: &'static str = "weft measure halo --shape 8x8x8:128x128x128 --ranks 2:64 --on ipsc860";
    const MIN_RANKS: usize = 1;

    fn check(request: &Request) -> Result<(), UsageError> {
        check_shapes(&request.shape, MAX_AXES, "block")
    }

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<Halo> {
        Ok(Ok(Some(Halo(session.benchmark.shapes(session.request)))))
    }

    fn variants(&self) -> usize {
        self.0.len()
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        halo(session, &self.0[point.variant]).await
    }
}

/// Ghosts on each side.
const WIDTH: usize = 1;
/// Bytes of an element: numbers of double precision.
pub(crate) const ELEMENT: usize = size_of::<f64>();
/// The most bytes of a block, where there is data.
const MAX_BYTES: u64 = 1 << 32;
/// The most axes of a block.
const MAX_AXES: usize = 8;

/// A shape as rows have it and people write it: `128x128x128`.
pub(crate) fn shape_text(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<String>>().join("x")
}

/// Checks shapes of blocks for something that has at most so many axes.
pub(crate) fn check_shapes(shapes: &[Vec<u64>], axes: usize, what: &str) -> Result<(), UsageError> {
    for shape in shapes {
        let text = shape_text(shape);
        refuse_if(shape.is_empty() || shape.len() > MAX_AXES, || {
            format!("a block has 1 to {MAX_AXES} axes, as 128x128x128; '{text}' has {}", shape.len())
        })?;
        refuse_if(shape.len() > axes, || {
            format!("a {what} has 1 to {axes} axes; a block of '{text}' has {}", shape.len())
        })?;
        refuse_if(shape.contains(&0), || format!("a block of {text} has no elements; every extent is 1 or more"))?;
        let bytes = shape.iter().try_fold(ELEMENT as u64, |bytes, extent| bytes.checked_mul(extent + 2 * WIDTH as u64));
        refuse_if(bytes.is_none_or(|bytes| bytes > MAX_BYTES), || {
            format!("a block of {text} has more than {} GiB; ask for a smaller one", MAX_BYTES >> 30)
        })?;
    }
    Ok(())
}

/// The geometry of so many blocks of one shape. The ranks are divided as for an array that is as many times as long along
/// every axis.
pub(crate) fn geometry(block: &[usize], ranks: usize) -> Result<Geometry, String> {
    let text = |error: weft_polyshift::geometry::GeometryError| error.to_string();
    let long: Vec<usize> = block.iter().map(|extent| extent.saturating_mul(ranks)).collect();
    // Shapes that are too long to count have one axis divided.
    let grid = Geometry::new(&long, ranks, &Layout::default()).map(|geometry| geometry.grid());
    let grid = grid.unwrap_or_else(|_| std::iter::once(ranks).chain(block.iter().skip(1).map(|_| 1)).collect());
    let shape: Vec<usize> = block.iter().zip(&grid).map(|(extent, ranks)| extent * ranks).collect();
    Geometry::new(&shape, ranks, &Layout { grid: Some(grid), ..Layout::default() }).map_err(text)
}

/// The bytes of the messages that each of so many ranks sends in one exchange of blocks of this shape; none where a rank
/// has no neighbour but itself.
///
/// # Errors
/// [`UsageError`] for a shape that cannot be.
pub fn halo_messages(shape: &[u64], ranks: usize) -> Result<Vec<u64>, UsageError> {
    check_shapes(&[shape.to_vec()], MAX_AXES, "block")?;
    let block: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
    let geometry = geometry(&block, ranks).map_err(UsageError)?;
    let plan = plan(&geometry, 0, &storage(&block)).map_err(UsageError)?;
    let ends = plan.stages.iter().flat_map(|stage| &stage.ends);
    Ok(ends.map(|end| end.send_bytes as u64).filter(|&bytes| bytes > 0).collect())
}

fn storage(block: &[usize]) -> Storage {
    Storage::contiguous(ELEMENT, block, &vec![[WIDTH, WIDTH]; block.len()])
}

fn plan(geometry: &Geometry, rank: usize, storage: &Storage) -> Result<RankPlan, String> {
    let axes = geometry.dimensions();
    let halo = Ghosts {
        array: 0,
        widths: vec![[WIDTH, WIDTH]; axes],
        edges: vec![[Edge::Circular, Edge::Circular]; axes],
        corners: Corners::None,
    };
    let pattern = Pattern::Halos(vec![halo]);
    RankPlan::new(geometry, rank, std::slice::from_ref(storage), &pattern).map_err(|error| error.to_string())
}

/// One exchange on all ranks of the session; rank 0 gets the row.
async fn halo<C: Communicator>(session: &Session<'_, C>, shape: &[u64]) -> Result<Option<Row>, CommError> {
    let comm = &session.comm;
    let block: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
    let geometry = geometry(&block, comm.size()).map_err(|text| session.error(text))?;
    let axes = block.len();
    let storage = storage(&block);
    let plan = plan(&geometry, comm.rank(), &storage).map_err(|text| session.error(text))?;
    let sent = plan.sent_bytes() as u64;
    let faces: u64 = (0..axes).map(|axis| 2 * WIDTH as u64 * shape.iter().product::<u64>() / shape[axis]).sum();
    let options = Options { phantom: session.is_phantom(), ..Options::default() };
    let memory = if options.phantom { 0 } else { storage.bytes(&block) };
    let mut exchanges =
        Exchanges { exchange: Exchange::new(comm, plan, options)?, memory: Buffer::page_aligned(memory) };
    if session.traced_step(&mut exchanges).await? {
        exchanges.check(session, &geometry, &storage)?;
    }
    let windowed = windowed(session, &mut exchanges).await?;
    Ok(windowed.map(|windowed| {
        let row = session.row(windowed.times, comm.size(), Some(sent));
        Row {
            shape: Some(shape_text(shape)),
            share_late: Some(windowed.share_late),
            rate: rate(faces * ELEMENT as u64, row.seconds),
            ..row
        }
    }))
}

struct Exchanges<C: Communicator> {
    exchange: Exchange<C>,
    memory: Buffer,
}

impl<C: Communicator> Step<C> for Exchanges<C> {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let memory = self.memory.as_mut_ptr();
        // SAFETY: the memory is that of the storage the plan was made for, and stays; phantoms look at none.
        unsafe {
            self.exchange.charge_packing(comm).await;
            self.exchange.begin(&[memory])?;
            self.exchange.end().await?;
            self.exchange.charge_unpacking(comm).await;
            Ok(())
        }
    }
}

impl<C: Communicator> Traced<C> for Exchanges<C> {
    fn memory(&mut self) -> &mut Buffer {
        &mut self.memory
    }
}

impl<C: Communicator> Exchanges<C> {
    /// After an exchange of blocks that held their rank's number, ghosts must hold those of the neighbours.
    fn check(&self, session: &Session<'_, C>, geometry: &Geometry, storage: &Storage) -> Result<(), CommError> {
        let comm = &session.comm;
        for (axis, &extent) in geometry.block().iter().enumerate() {
            for (step, coordinate) in [(-1i64, -1i64), (1, extent as i64)] {
                let mut ghost = vec![0i64; storage.strides.len()];
                ghost[axis] = coordinate;
                let actual = self.memory.values::<f64>()[storage.offset(&ghost) as usize / ELEMENT];
                let expected = geometry.neighbour(comm.rank(), axis, step, true).unwrap_or(comm.rank()) as f64;
                if actual != expected {
                    return Err(session.error(format!(
                        "halo: the ghost at {ghost:?} is of rank {actual}, but the neighbour there is rank {expected}"
                    )));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_divided_over_all_axes() {
        assert_eq!(geometry(&[8, 8, 8], 8).unwrap().grid(), [2, 2, 2]);
        assert_eq!(geometry(&[8, 8, 8], 8).unwrap().block(), [8, 8, 8]);
        assert_eq!(geometry(&[128, 128, 128], 2).unwrap().grid(), [2, 1, 1]);
        assert_eq!(geometry(&[16; 4], 1024).unwrap().ranks(), 1024);
        assert_eq!(geometry(&[1 << 20, 1 << 20], 1 << 12).unwrap().ranks(), 1 << 12);
    }

    #[test]
    fn shapes_that_are_none_are_refused() {
        let refused = |shape: &[u64]| {
            let request = Request { benchmark: "halo".to_owned(), shape: vec![shape.to_vec()], ..Request::default() };
            request.validate().unwrap_err().to_string()
        };
        assert_eq!(refused(&[]), "a block has 1 to 8 axes, as 128x128x128; '' has 0");
        assert_eq!(refused(&[4, 0]), "a block of 4x0 has no elements; every extent is 1 or more");
        assert_eq!(refused(&[65536, 65536]), "a block of 65536x65536 has more than 4 GiB; ask for a smaller one");
        let request = Request { shape: vec![vec![4]], ..Request::default() };
        assert_eq!(
            request.validate().unwrap_err().to_string(),
            "echo takes no shape; halo and stencil and stencil-in-turn do"
        );
    }
}
