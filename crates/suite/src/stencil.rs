//! One step of a stencil on a distributed array: time by ranks and shape of the block.
//!
//! Every rank has a block of the same shape; the array is circular along every axis, the ranks are divided over the axes as
//! for [`halo`](crate::halo), and the stencil is the nearest neighbours and the site itself, in double precision. `stencil`
//! computes the sites that need no ghosts while faces travel and the others afterwards; `stencil-in-turn` exchanges first
//! and computes then.
//!
//! In virtual time a site costs the longer of its arithmetic (a sum of `p` products: `2 p - 1` operations of
//! `float64_sum_of_products`) and its memory (8 bytes read and 8 written, which is what `copy_byte` is the time of); copies
//! into messages and out of them cost `copy_byte` too. On a machine whose file has none, memory costs nothing.

use weft_base::Operation;
use weft_comm::{Buffer, CommError, Communicator, Work};
use weft_kernels::stencil::{Boundary, Coefficient, Options as PlanOptions, Plan, Point as Neighbour, Region, Stencil};
use weft_polyshift::exchange::{Exchange, Options, Pattern, RankPlan, Storage};
use weft_polyshift::geometry::Geometry;
use weft_polyshift::stencil::{Block, Computation, Memory, Stepper, halo};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::halo::{BLOCK_SHAPES, ELEMENT, check_shapes, geometry, shape_text};
use crate::request::Request;
use crate::row::Row;
use crate::session::{Session, Step, Traced};
use crate::usage::UsageError;
use crate::window::windowed;

/// A step that computes while faces travel.
pub struct StencilStep(Vec<Vec<u64>>);

impl Benchmark for StencilStep {
    const NAME: &'static str = "stencil";
    const SUMMARY: &'static str =
        "one step of nearest neighbours on a distributed array, faces travelling while the interior is computed";
    const GROUP: Group = Group::Exchange;
    const TAKES: &'static [Takes] = &[takes("shape").of("block").shapes(BLOCK_SHAPES)];
    const EXAMPLE: &'static str = "weft measure stencil --shape 32x32x32 --ranks 1:64 --on iwarp64";
    const MIN_RANKS: usize = 1;

    fn check(request: &Request) -> Result<(), UsageError> {
        check_shapes(&request.shape, MAX_STENCIL_AXES, "stencil")
    }

    fn operations(_: &Request) -> Vec<Operation> {
        vec![ARITHMETIC]
    }

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<StencilStep> {
        Ok(Ok(Some(StencilStep(session.benchmark.shapes(session.request)))))
    }

    fn variants(&self) -> usize {
        self.0.len()
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        stencil(session, &self.0[point.variant], true).await
    }
}

/// A step that computes after the exchange.
pub struct StencilWithoutOverlap(Vec<Vec<u64>>);

impl Benchmark for StencilWithoutOverlap {
    const NAME: &'static str = "stencil-in-turn";
    const SUMMARY: &'static str =
        "as stencil, but the exchange first and the computation afterwards: what overlapping them gains";
    const GROUP: Group = Group::Exchange;
    const TAKES: &'static [Takes] = &[takes("shape").of("block").shapes(BLOCK_SHAPES)];
    const EXAMPLE: &'static str = "weft measure stencil,stencil-in-turn --shape 32x32x32 --ranks 1:64 --on ipsc860";
    const MIN_RANKS: usize = 1;

    fn check(request: &Request) -> Result<(), UsageError> {
        check_shapes(&request.shape, MAX_STENCIL_AXES, "stencil")
    }

    fn operations(_: &Request) -> Vec<Operation> {
        vec![ARITHMETIC]
    }

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<StencilWithoutOverlap> {
        Ok(Ok(Some(StencilWithoutOverlap(session.benchmark.shapes(session.request)))))
    }

    fn variants(&self) -> usize {
        self.0.len()
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        stencil(session, &self.0[point.variant], false).await
    }
}

/// The most axes of a stencil.
const MAX_STENCIL_AXES: usize = weft_kernels::stencil::MAX_AXES;

/// The operation that arithmetic is charged by.
const ARITHMETIC: Operation = Operation::Float64SumOfProducts;

/// The reach of the stencil along each axis.
const REACH: (usize, usize) = (1, 1);

/// The weight of the site itself; its neighbours share the rest.
const CENTRE: f64 = 0.5;

/// Points of the stencil of so many axes.
fn points(axes: usize) -> u64 {
    2 * axes as u64 + 1
}

/// Operations of a site.
pub(crate) fn operations(axes: usize) -> u64 {
    2 * points(axes) - 1
}

/// What one rank does in a step, as counts: what a model of the time of a step is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StencilWork {
    /// Bytes of each message that it sends.
    pub messages: Vec<u64>,
    /// Bytes that it copies into messages, and out of them or within its block.
    pub copied: [u64; 2],
    /// Sites that need no ghosts, and the others.
    pub interior: u64,
    pub rim: u64,
    /// Operations of a site.
    pub operations: u64,
}

/// The work of each of so many ranks in one step on blocks of this shape.
///
/// # Errors
/// [`UsageError`] for a shape that cannot be.
pub fn stencil_work(shape: &[u64], ranks: usize) -> Result<StencilWork, UsageError> {
    check_shapes(&[shape.to_vec()], MAX_STENCIL_AXES, "stencil")?;
    let extents: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
    let geometry = geometry(&extents, ranks).map_err(UsageError)?;
    let block = block(&geometry, 0);
    let plan = plan(&geometry, 0, &storage(&geometry)).map_err(UsageError)?;
    let (messages, copied) = plan.map_or((Vec::new(), [0, 0]), |plan| {
        let ends = plan.stages.iter().flat_map(|stage| &stage.ends);
        (ends.map(|end| end.send_bytes as u64).filter(|&bytes| bytes > 0).collect(), plan.copied_bytes())
    });
    let rim = block.rim.iter().map(|region| region.sites() as u64).sum();
    let interior = block.interior.sites() as u64;
    Ok(StencilWork { messages, copied, interior, rim, operations: operations(shape.len()) })
}

fn circular(geometry: &Geometry) -> (Vec<(usize, usize)>, Vec<bool>) {
    (vec![REACH; geometry.dimensions()], vec![true; geometry.dimensions()])
}

fn block(geometry: &Geometry, rank: usize) -> Block {
    let (reach, circular) = circular(geometry);
    Block::new(geometry, rank, 0, &reach, &circular, 1)
}

/// Memory with ghosts on the sides that have neighbours.
fn storage(geometry: &Geometry) -> Storage {
    let ghosts: Vec<[usize; 2]> =
        geometry.axes().iter().map(|axis| if axis.ranks() > 1 { [REACH.0, REACH.1] } else { [0, 0] }).collect();
    Storage::contiguous(ELEMENT, &geometry.block(), &ghosts)
}

/// What a rank does to fill its ghosts; none where it has none.
fn plan(geometry: &Geometry, rank: usize, storage: &Storage) -> Result<Option<RankPlan>, String> {
    let (reach, circular) = circular(geometry);
    let Some(halo) = halo(geometry, 0, 0, &reach, &circular, |_, _| false) else { return Ok(None) };
    let pattern = Pattern::Halos(vec![halo]);
    let plan = RankPlan::new(geometry, rank, std::slice::from_ref(storage), &pattern);
    plan.map(Some).map_err(|error| error.to_string())
}

/// The nearest neighbours and the site itself.
fn computation(block: &Block) -> Result<Computation<f64>, String> {
    let axes = block.extents.len();
    let neighbour = (1.0 - CENTRE) / (2 * axes) as f64;
    let mut points = vec![Neighbour { offset: vec![0; axes], coefficient: Coefficient::Constant(CENTRE) }];
    for axis in 0..axes {
        for by in [-1, 1] {
            let offset = (0..axes).map(|other| if other == axis { by } else { 0 }).collect();
            points.push(Neighbour { offset, coefficient: Coefficient::Constant(neighbour) });
        }
    }
    let text = |error: weft_kernels::stencil::StencilError| error.to_string();
    let stencil = Stencil::new(axes, points).map_err(text)?;
    let boundaries = vec![Boundary::Circular; axes];
    let plan = Plan::new(&stencil, &block.extents, boundaries, PlanOptions::default()).map_err(text)?;
    Ok(Computation::new(plan, None))
}

/// Steps on all ranks of the session; rank 0 gets the row.
async fn stencil<C: Communicator>(
    session: &Session<'_, C>,
    shape: &[u64],
    is_overlapped: bool,
) -> Result<Option<Row>, CommError> {
    let comm = &session.comm;
    let failed = |text: String| session.error(text);
    let extents: Vec<usize> = shape.iter().map(|&extent| extent as usize).collect();
    let geometry = geometry(&extents, comm.size()).map_err(failed)?;
    let (block, storage) = (block(&geometry, comm.rank()), storage(&geometry));
    let is_phantom = session.is_phantom();
    let plan = plan(&geometry, comm.rank(), &storage).map_err(failed)?;
    let sent = plan.as_ref().map_or(0, RankPlan::sent_bytes) as u64;
    let options = Options { phantom: is_phantom, ..Options::default() };
    let exchange = plan.map(|plan| Exchange::new(comm, plan, options)).transpose()?;
    let computation = if is_phantom { None } else { Some(computation(&block).map_err(failed)?) };
    let memory = Memory::new(&geometry, comm.rank(), &storage, 0, &block, ELEMENT)
        .ok_or_else(|| session.error("a block's elements do not lie together".to_owned()))?;
    let bytes = if is_phantom { 0 } else { storage.bytes(&geometry.block()) };
    let arrays = [Buffer::page_aligned(bytes), Buffer::page_aligned(bytes)];
    let mut steps = Steps {
        stepper: Stepper { exchange, block, computation },
        memory,
        arrays,
        operations: operations(shape.len()),
        is_overlapped,
    };
    if session.traced_step(&mut steps).await? {
        steps.check(session, &geometry, &storage)?;
    }
    let windowed = windowed(session, &mut steps).await?;
    let sites: u64 = shape.iter().product();
    Ok(windowed.map(|windowed| {
        let row = session.row(windowed.times, comm.size(), Some(sent));
        let work = (sites * operations(shape.len()) * comm.size() as u64) as f64;
        Row {
            shape: Some(shape_text(shape)),
            share_late: Some(windowed.share_late),
            rate: (row.seconds > 0.0).then(|| work / row.seconds),
            rate_unit: Some("flop/s".to_owned()),
            ..row
        }
    }))
}

struct Steps<C: Communicator> {
    stepper: Stepper<C, f64>,
    memory: Memory,
    /// What is read, and what is written.
    arrays: [Buffer; 2],
    operations: u64,
    is_overlapped: bool,
}

impl<C: Communicator> Step<C> for Steps<C> {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let (source, target) = (self.arrays[0].as_mut_ptr(), self.arrays[1].as_mut_ptr());
        let memory = &self.memory;
        // SAFETY: both arrays have the memory that the storage says, and stay; phantoms look at none.
        unsafe {
            if let Some(exchange) = &mut self.stepper.exchange {
                exchange.charge_packing(comm).await;
                exchange.begin(&[source])?;
            }
            if self.is_overlapped {
                self.stepper.interior(source, memory, target, memory);
                charge(comm, std::slice::from_ref(&self.stepper.block.interior), self.operations).await;
            }
            if let Some(exchange) = &mut self.stepper.exchange {
                exchange.end().await?;
                exchange.charge_unpacking(comm).await;
            }
            if !self.is_overlapped {
                self.stepper.interior(source, memory, target, memory);
                charge(comm, std::slice::from_ref(&self.stepper.block.interior), self.operations).await;
            }
            self.stepper.rim(source, memory, target, memory);
            charge(comm, &self.stepper.block.rim, self.operations).await;
        }
        self.arrays.swap(0, 1);
        Ok(())
    }
}

/// Charges, in virtual time, the sites of some regions.
async fn charge<C: Communicator>(comm: &C, regions: &[Region], operations: u64) {
    let sites: u64 = regions.iter().map(|region| region.sites() as u64).sum();
    let arithmetic = (ARITHMETIC, sites * operations);
    let memory = (Operation::CopyByte, sites * ELEMENT as u64);
    comm.compute(Work::Overlapped([arithmetic, memory])).await;
}

impl<C: Communicator> Traced<C> for Steps<C> {
    fn memory(&mut self) -> &mut Buffer {
        &mut self.arrays[0]
    }
}

impl<C: Communicator> Steps<C> {
    /// After a step from blocks that held their rank's number, looks at the first and the last site.
    fn check(&self, session: &Session<'_, C>, geometry: &Geometry, storage: &Storage) -> Result<(), CommError> {
        let (own, axes) = (session.comm.rank(), geometry.dimensions());
        for is_last in [false, true] {
            let coordinates: Vec<i64> =
                geometry.block().iter().map(|&extent| if is_last { extent as i64 - 1 } else { 0 }).collect();
            let neighbours = (0..axes).flat_map(|axis| {
                let extent = geometry.block()[axis] as i64;
                let at = coordinates[axis];
                [-1i64, 1].map(|by| {
                    let is_inside = (0..extent).contains(&(at + by));
                    if is_inside { own } else { geometry.neighbour(own, axis, by, true).unwrap_or(own) }
                })
            });
            let share = (1.0 - CENTRE) / (2 * axes) as f64;
            let expected = CENTRE * own as f64 + neighbours.map(|rank| share * rank as f64).sum::<f64>();
            // The step has swapped the arrays: the first now holds the result.
            let actual = self.arrays[0].values::<f64>()[storage.offset(&coordinates) as usize / ELEMENT];
            if (actual - expected).abs() > 1e-9 * (1.0 + expected.abs()) {
                return Err(session.error(format!("stencil: site {coordinates:?} is {actual}, expected {expected}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_what_a_block_has() {
        let work = stencil_work(&[16, 16, 16], 8).unwrap();
        assert_eq!(work.messages, [2 * 16 * 16 * 8; 3]);
        assert_eq!((work.interior, work.rim), (14 * 14 * 14, 16 * 16 * 16 - 14 * 14 * 14));
        assert_eq!(work.operations, 13);
        assert_eq!(work.copied, [3 * 2 * 16 * 16 * 8; 2]);
        let alone = stencil_work(&[16, 16], 1).unwrap();
        assert_eq!((alone.messages.len(), alone.interior, alone.rim, alone.copied), (0, 256, 0, [0, 0]));
    }
}
