//! Stencils of distributed arrays. Conversions only.

use std::sync::Arc;

use pyo3::buffer::Element as BufferElement;
use pyo3::prelude::*;
use weft_comm::block_on;
use weft_kernels::stencil::{Array, Coefficient, Element, Options, Plan, Point, Region, Stencil};
use weft_mpi::MpiComm;
use weft_polyshift::exchange::{Exchange, Pattern, RankPlan, Storage};
use weft_polyshift::stencil::{Block, Computation, Lying, Memory, Stepper, deep, ghosts, halo};

use crate::distributed::{PyBlocks, PyRanks, PyStorage, enter, failed, stuck, told, usage, without_python};
use crate::errors::UsageError;
use crate::stencil::boundary;

/// PyO3's reference to an object of Python.
type Object<'py> = pyo3::Bound<'py, PyAny>;
/// A point: its offset, and a number or where a rank's own coefficients begin, their strides in elements, and whether each
/// element of a site has its own, which lie together.
type PyPoint = (Vec<isize>, PyCoefficient);

#[derive(Clone, FromPyObject)]
pub enum PyCoefficient {
    Number(f64),
    Array(usize, Vec<isize>, bool),
}

/// Ghosts before and after a rank's block along the axes of a stencil's grid, which begin with `first`, for a stencil (or
/// several steps of one) that reaches so far.
#[pyfunction]
pub fn stencil_ghosts(
    blocks: &PyBlocks,
    rank: usize,
    first: usize,
    reach: Vec<(usize, usize)>,
    circular: Vec<bool>,
) -> Vec<[usize; 2]> {
    ghosts(&blocks.0, rank, first, &reach, &circular)
}

struct Typed<T: Element> {
    stepper: Stepper<MpiComm, T>,
    memories: Vec<Memory>,
}

enum AnyTyped {
    Single(Typed<f32>),
    Double(Typed<f64>),
}

/// One rank's stencil, set up for arrays that lie in one way; results may lie in others.
#[pyclass(module = "weft._core", unsendable)]
pub struct DistributedStencil {
    typed: AnyTyped,
    blocks: Py<PyBlocks>,
    rank: usize,
    first: usize,
    summary: String,
    /// The ranks, and the digest of a call of this stencil.
    call: Option<(MpiComm, u64)>,
}

/// What a plan is made from, apart from its points.
struct Parts {
    extents: Vec<usize>,
    before: Vec<[usize; 2]>,
    options: Options,
    steps_per_exchange: usize,
}

fn points<T: Element>(given: Vec<PyPoint>, parts: &Parts) -> PyResult<Stencil<T>> {
    // SAFETY: weft.distributed keeps the arrays, which have a value for every site of the rank's own.
    let array = |address: usize, strides: &[isize]| unsafe {
        // Sites are counted from the first ghost, coefficients from the first element that is none.
        let back: isize =
            strides.iter().zip(&parts.before).map(|(stride, &[before, _])| before as isize * stride).sum();
        Array::borrowed((address as *const T).wrapping_offset(-back), strides, Arc::new(()))
    };
    let points = given.into_iter().map(|(offset, coefficient)| Point {
        offset,
        coefficient: match coefficient {
            PyCoefficient::Number(value) => Coefficient::Constant(T::from_f64(value)),
            PyCoefficient::Array(address, strides, true) => Coefficient::Elements(array(address, &strides)),
            PyCoefficient::Array(address, strides, false) => Coefficient::Array(array(address, &strides)),
        },
    });
    Stencil::new(parts.extents.len(), points.collect()).map_err(usage)
}

fn plan<T: Element + BufferElement>(
    given: Vec<PyPoint>,
    boundaries: &[Object<'_>],
    parts: &Parts,
) -> PyResult<Plan<T>> {
    let boundaries = boundaries.iter().map(boundary).collect::<PyResult<_>>()?;
    Plan::new(&points(given, parts)?, &parts.extents, boundaries, parts.options).map_err(usage)
}

/// The same for the steps between two exchanges.
fn several(parts: &Parts) -> Parts {
    let steps = parts.steps_per_exchange;
    Parts {
        extents: parts.extents.clone(),
        before: parts.before.clone(),
        options: Options { steps, ..parts.options },
        steps_per_exchange: steps,
    }
}

impl<T: Element + BufferElement> Typed<T> {
    fn computation(
        real: Vec<PyPoint>,
        imaginary: Vec<PyPoint>,
        boundaries: &[Object<'_>],
        parts: &Parts,
    ) -> PyResult<Computation<T>> {
        let part = if imaginary.is_empty() { None } else { Some(plan(imaginary, boundaries, parts)?) };
        let steps = parts.steps_per_exchange;
        let together = if steps > 1 { Some(plan(real.clone(), boundaries, &several(parts))?) } else { None };
        let computation = Computation::new(plan(real, boundaries, parts)?, part);
        Ok(match together {
            Some(plan) => computation.with_several(plan),
            None => computation,
        })
    }

    /// Steps from `source` by way of the two arrays between, which lie as it does, to `target`.
    fn run(
        &mut self,
        source: usize,
        between: [usize; 2],
        target: (usize, usize),
        steps: usize,
        call: &Option<(MpiComm, u64)>,
    ) -> PyResult<()> {
        let lying = |address: usize, memory: usize| Lying { start: address as *mut u8, memory: &self.memories[memory] };
        let between = between.map(|address| address as *mut u8);
        // SAFETY: weft.distributed keeps the arrays, whose memory was described, through the call.
        match block_on(unsafe { self.stepper.steps(lying(source, 0), between, lying(target.0, target.1), steps) }) {
            Some(outcome) => outcome.map_err(|error| told(call, error)),
            None => Err(stuck()),
        }
    }
}

#[pymethods]
impl DistributedStencil {
    /// Sets a stencil up. Collective. Raises UsageError, RunError.
    #[new]
    #[pyo3(signature = (ranks, blocks, storage, first, single, real, imaginary, boundaries, reach, circular, components, threads, steps_per_exchange, number, digest))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of Python
    fn new(
        py: Python<'_>,
        ranks: &PyRanks,
        blocks: Py<PyBlocks>,
        storage: PyStorage,
        first: usize,
        single: bool,
        real: Vec<PyPoint>,
        imaginary: Vec<PyPoint>,
        boundaries: Vec<Object<'_>>,
        reach: Vec<(usize, usize)>,
        circular: Vec<bool>,
        components: usize,
        threads: usize,
        steps_per_exchange: usize,
        number: u32,
        digest: u64,
    ) -> PyResult<DistributedStencil> {
        let rank = ranks.communicator().map_or(0, weft_comm::Communicator::rank);
        let storage = Storage::from(storage);
        let held = blocks.clone_ref(py);
        let geometry = &held.get().0;
        let diagonal =
            |axis: usize, other: usize| real.iter().any(|(offset, _)| offset[axis] != 0 && offset[other] != 0);
        // What several steps reach is off along both axes when each of two steps is along one.
        let diagonal = |axis: usize, other: usize| steps_per_exchange > 1 || diagonal(axis, other);
        let wanted = halo(geometry, 0, first, &deep(&reach, steps_per_exchange), &circular, diagonal);
        let block = Block::new(geometry, rank, first, &reach, &circular, steps_per_exchange);
        let mut summary = computed(&block);
        // Every rank sets its messages up, also those without sites: doing so is for all.
        let exchange = match (wanted, ranks.communicator()) {
            (Some(halo), Some(comm)) => {
                let pattern = Pattern::Halos(vec![halo]);
                let plan = RankPlan::new(geometry, rank, std::slice::from_ref(&storage), &pattern).map_err(usage)?;
                let (messages, bytes) = (plan.messages(), plan.sent_bytes());
                let options = weft_polyshift::exchange::Options { number, ..Default::default() };
                let exchange = Exchange::new(comm, plan, options).map_err(failed)?;
                let plural = if messages == 1 { "" } else { "s" };
                summary = format!(
                    "sends {messages} message{plural} with {bytes} bytes in all, by {}\n{summary}",
                    exchange.describe()
                );
                Some(exchange)
            }
            _ => None,
        };
        let parts = Parts {
            extents: block.extents.clone(),
            before: block.ghosts.clone(),
            options: Options { components, threads, ..Options::default() },
            steps_per_exchange,
        };
        let is_empty = geometry.is_idle(rank);
        let typed = if single {
            let computation =
                if is_empty { None } else { Some(Typed::<f32>::computation(real, imaginary, &boundaries, &parts)?) };
            AnyTyped::Single(Typed { stepper: Stepper { exchange, block, computation }, memories: Vec::new() })
        } else {
            let computation =
                if is_empty { None } else { Some(Typed::<f64>::computation(real, imaginary, &boundaries, &parts)?) };
            AnyTyped::Double(Typed { stepper: Stepper { exchange, block, computation }, memories: Vec::new() })
        };
        let call = ranks.communicator().map(|comm| (comm.clone(), digest));
        let mut stencil = DistributedStencil { typed, blocks, rank, first, summary, call };
        stencil.add(storage)?;
        Ok(stencil)
    }

    /// Another way in which results may lie; its number for `run`. Raises UsageError.
    fn layout(&mut self, storage: PyStorage) -> PyResult<usize> {
        self.add(Storage::from(storage))
    }

    /// Applies it `steps` times, from the array whose memory begins at `source` to the one at `target`, which lies as layout
    /// `layout` says; with several steps by way of two arrays that lie as the source does. Raises RunError.
    fn run(
        &mut self,
        py: Python<'_>,
        source: usize,
        between: [usize; 2],
        target: usize,
        layout: usize,
        steps: usize,
    ) -> PyResult<()> {
        if let Some((comm, digest)) = &self.call {
            enter(comm, digest.wrapping_add(steps as u64))?;
        }
        let call = &self.call;
        match &mut self.typed {
            AnyTyped::Single(typed) => without_python(py, || typed.run(source, between, (target, layout), steps, call)),
            AnyTyped::Double(typed) => without_python(py, || typed.run(source, between, (target, layout), steps, call)),
        }
    }

    /// What a step sends, and what it computes when.
    #[getter]
    fn summary(&self) -> String {
        self.summary.clone()
    }

    /// How the sites are computed, in words.
    fn explain(&self) -> String {
        let of = |plan: Option<String>| plan.unwrap_or_else(|| "this rank has no sites\n".to_owned());
        match &self.typed {
            AnyTyped::Single(typed) => of(typed.stepper.computation.as_ref().map(|found| found.plan().explain())),
            AnyTyped::Double(typed) => of(typed.stepper.computation.as_ref().map(|found| found.plan().explain())),
        }
    }
}

/// What a rank computes after an exchange, in words.
fn computed(block: &Block) -> String {
    let rim: usize = block.rim.iter().map(Region::sites).sum();
    let steps = block.turns.len();
    let Some(turn) = block.turns.last().filter(|_| steps > 1) else {
        let then = if rim > 0 { format!(" while faces travel, then {rim}") } else { String::new() };
        return format!("computes {} sites{then}", block.interior.sites());
    };
    let own = block.interior.sites() + rim;
    format!(
        "computes {steps} steps between exchanges, {} sites while faces travel; {} sites in all, {} of them for ghosts",
        turn.interior.sites(),
        turn.sites(),
        turn.sites() - steps * own
    )
}

impl DistributedStencil {
    fn add(&mut self, storage: Storage) -> PyResult<usize> {
        let blocks = self.blocks.get();
        let refused = || UsageError::new_err("the elements of a site do not lie together in this array");
        let (memories, block, size) = match &mut self.typed {
            AnyTyped::Single(typed) => (&mut typed.memories, &typed.stepper.block, size_of::<f32>()),
            AnyTyped::Double(typed) => (&mut typed.memories, &typed.stepper.block, size_of::<f64>()),
        };
        let memory = Memory::new(&blocks.0, self.rank, &storage, self.first, block, size).ok_or_else(refused)?;
        memories.push(memory);
        Ok(memories.len() - 1)
    }
}
