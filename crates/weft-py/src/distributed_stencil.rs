//! Stencils of distributed arrays. Conversions only.

use std::ops::Range;
use std::sync::Arc;

use pyo3::buffer::Element as BufferElement;
use pyo3::prelude::*;
use weft_comm::block_on;
use weft_kernels::stencil::{Array, Coefficient, Element, Options, Plan, Point, Region, Stencil};
use weft_mpi::MpiComm;
use weft_polyshift::exchange::{Exchange, Pattern, RankPlan, Storage};
use weft_polyshift::stencil::{Block, Computation, Lying, Memory, Stepper, deep, ghosts, halo};

use crate::blocks::PyBlocks;
use crate::distributed::{PyRanks, PyStorage, enter, failed, failure_of, stuck, without_python};
use crate::errors::{UsageError, usage};
use crate::guard::{Signals, check_memory, checked_threads};
use crate::memory::{PyMemory, span, stored};
use crate::stencil::{boundary, check_rows};

/// PyO3's reference to an object of Python.
type Object<'py> = pyo3::Bound<'py, PyAny>;
/// A point: its offset, and a number or a rank's own coefficients.
type PyPoint<'py> = (Vec<isize>, PyCoefficient<'py>);

#[derive(FromPyObject)]
pub enum PyCoefficient<'py> {
    Number(f64),
    /// The memory in which coefficients begin, their strides in elements, and whether each element of a site has its own,
    /// which lie together.
    Array(Bound<'py, PyMemory>, Vec<isize>, bool),
}

impl Clone for PyCoefficient<'_> {
    fn clone(&self) -> Self {
        match self {
            PyCoefficient::Number(value) => PyCoefficient::Number(*value),
            PyCoefficient::Array(memory, strides, per_element) => {
                PyCoefficient::Array(memory.clone(), strides.clone(), *per_element)
            }
        }
    }
}

/// Ghosts before and after a rank's block along the axes of a stencil's grid, which begin with `first`, for a stencil (or
/// several steps of one) that reaches so far.
/// Raises UsageError.
#[pyfunction]
pub fn stencil_ghosts(
    blocks: &PyBlocks,
    rank: usize,
    first: usize,
    reach: Vec<(usize, usize)>,
    circular: Vec<bool>,
) -> PyResult<Vec<[usize; 2]>> {
    check_axes(&blocks.0, first, &reach, &circular)?;
    Ok(ghosts(&blocks.0, rank, first, &reach, &circular))
}

/// Steps between two exchanges, at most: ghosts are as many times as wide.
const MAX_STEPS: usize = 1024;

/// Sites that a stencil may reach along an axis: sums of a few of them are numbers still.
const MAX_REACH: usize = 1 << 40;

/// Raises UsageError where a stencil's axes are not among those of the geometry.
fn check_axes(
    geometry: &weft_polyshift::geometry::Geometry,
    first: usize,
    reach: &[(usize, usize)],
    circular: &[bool],
) -> PyResult<()> {
    let (axes, there) = (reach.len(), geometry.dimensions());
    if axes == 0 || circular.len() != axes || first.checked_add(axes).is_none_or(|end| end > there) {
        return Err(UsageError::new_err(format!(
            "a stencil of {axes} axes from axis {first} on, of which {} are circular or not, does not fit a geometry of \
             {there} axes",
            circular.len()
        )));
    }
    if reach.iter().any(|&(low, high)| low.max(high) > MAX_REACH) {
        return Err(UsageError::new_err(format!("a stencil reaches at most {MAX_REACH} sites along an axis")));
    }
    Ok(())
}

struct Typed<T: Element> {
    stepper: Stepper<MpiComm, T>,
    memories: Vec<Memory>,
    /// The bytes that arrays of each layout have.
    reached: Vec<Range<isize>>,
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

fn stencil_of<T: Element>(points: Vec<PyPoint<'_>>, parts: &Parts) -> PyResult<Stencil<T>> {
    let points = points.into_iter().map(|(offset, coefficient)| {
        let coefficient = match coefficient {
            PyCoefficient::Number(value) => Coefficient::Constant(T::from_f64(value)),
            PyCoefficient::Array(memory, strides, true) => {
                Coefficient::Elements(own_array(&memory, &strides, parts, parts.options.components)?)
            }
            PyCoefficient::Array(memory, strides, false) => Coefficient::Array(own_array(&memory, &strides, parts, 1)?),
        };
        Ok(Point { offset, coefficient })
    });
    Stencil::new(parts.extents.len(), points.collect::<PyResult<_>>()?).map_err(usage)
}

/// A rank's own coefficients, where their memory has `together` values, which lie together, for every site that is
/// computed.
fn own_array<T: Element>(
    memory: &Bound<'_, PyMemory>,
    strides: &[isize],
    parts: &Parts,
    together: usize,
) -> PyResult<Array<T>> {
    if strides.len() != parts.extents.len() {
        let (actual, wanted) = (strides.len(), parts.extents.len());
        return Err(UsageError::new_err(format!("coefficients have {actual} strides, expected {wanted}")));
    }
    let size = size_of::<T>();
    let last = strides.len() - 1;
    // What does not lie along the row is copied for the ghosts too, and several steps compute them.
    let is_along =
        together == parts.options.components && (strides[last] == together as isize || parts.extents[last] <= 1);
    let with_ghosts = parts.steps_per_exchange > 1 || !(strides[last] == 0 || is_along);
    let axes = parts.extents.iter().zip(&parts.before).zip(strides).map(|((&extent, &[before, after]), &stride)| {
        let around = if with_ghosts { [before, after] } else { [0, 0] };
        Some((extent.checked_sub(before)?.checked_sub(after)?, around, stride.checked_mul(size as isize)?))
    });
    let needed =
        axes.collect::<Option<Vec<_>>>().and_then(|axes| span(0, axes.into_iter(), size.saturating_mul(together)));
    let needed = needed.ok_or_else(|| UsageError::new_err("the strides of coefficients reach beyond all memory"))?;
    let start = memory.get().readable(&needed, "an array of coefficients")?;
    if !start.cast::<T>().is_aligned() {
        return Err(UsageError::new_err("an array of coefficients does not begin at a whole element"));
    }
    // Sites are counted from the first ghost, coefficients from the first element that is none.
    let back: isize =
        strides.iter().zip(&parts.before).map(|(&stride, &[before, _])| (before as isize).wrapping_mul(stride)).sum();
    let values = start.cast::<T>().cast_const().wrapping_offset(back.wrapping_neg());
    let owner = Arc::new(memory.clone().unbind());
    // SAFETY: the memory has a value for every site that is computed, as was just checked, and is held.
    Ok(unsafe { Array::borrowed(values, strides, owner) })
}

fn plan<T: Element + BufferElement>(
    points: Vec<PyPoint<'_>>,
    boundaries: &[Object<'_>],
    parts: &Parts,
) -> PyResult<Plan<T>> {
    let boundaries: Vec<_> = boundaries.iter().map(boundary).collect::<PyResult<_>>()?;
    let stencil = stencil_of(points, parts)?;
    check_rows(stencil.points(), &parts.extents, &boundaries, parts.options.components)?;
    Plan::new(&stencil, &parts.extents, boundaries, parts.options).map_err(usage)
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
        real: Vec<PyPoint<'_>>,
        imaginary: Vec<PyPoint<'_>>,
        boundaries: &[Object<'_>],
        parts: &Parts,
    ) -> PyResult<Computation<T>> {
        if !imaginary.is_empty() {
            let factors = parts.extents.iter().copied().chain([parts.options.components, size_of::<T>()]);
            check_memory(factors, "the imaginary parts of a block")?;
        }
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
        source: *mut u8,
        between: [*mut u8; 2],
        target: (*mut u8, usize),
        steps: usize,
        call: &Option<(MpiComm, u64)>,
    ) -> PyResult<()> {
        let lying = |start: *mut u8, memory: usize| Lying { start, memory: &self.memories[memory] };
        let mut signals = Signals::new();
        let target = lying(target.0, target.1);
        let mut goes_on = || signals.goes_on();
        // SAFETY: `DistributedStencil::run` has checked that all have the memory that was described, and holds it.
        match block_on(unsafe { self.stepper.steps_while(lying(source, 0), between, target, steps, &mut goes_on) }) {
            Some(outcome) => outcome.map_err(|error| failure_of(call, error))?,
            None => return Err(stuck()),
        }
        signals.raised()
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
        real: Vec<PyPoint<'_>>,
        imaginary: Vec<PyPoint<'_>>,
        boundaries: Vec<Object<'_>>,
        reach: Vec<(usize, usize)>,
        circular: Vec<bool>,
        components: usize,
        threads: usize,
        steps_per_exchange: usize,
        number: u32,
        digest: u64,
    ) -> PyResult<DistributedStencil> {
        checked_threads(Some(threads))?;
        check_axes(&blocks.get().0, first, &reach, &circular)?;
        let axes = reach.len();
        if real.iter().chain(&imaginary).any(|(offset, _)| offset.len() != axes) || boundaries.len() != axes {
            return Err(UsageError::new_err(format!("offsets and boundaries must have {axes} axes, as the reach has")));
        }
        if components == 0 || !(1..=MAX_STEPS).contains(&steps_per_exchange) {
            return Err(UsageError::new_err(format!(
                "components must be at least 1 and steps_per_exchange 1 to {MAX_STEPS}, not {components} and \
                 {steps_per_exchange}"
            )));
        }
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
            AnyTyped::Single(Typed {
                stepper: Stepper { exchange, block, computation },
                memories: Vec::new(),
                reached: Vec::new(),
            })
        } else {
            let computation =
                if is_empty { None } else { Some(Typed::<f64>::computation(real, imaginary, &boundaries, &parts)?) };
            AnyTyped::Double(Typed {
                stepper: Stepper { exchange, block, computation },
                memories: Vec::new(),
                reached: Vec::new(),
            })
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

    /// Applies it `steps` times, from the array in the memory `source` to the one in `target`, which lies as layout
    /// `layout` says; with several steps by way of two arrays that lie as the source does. Raises UsageError, RunError.
    fn run(
        &mut self,
        py: Python<'_>,
        source: &PyMemory,
        between: (Option<Bound<'_, PyMemory>>, Option<Bound<'_, PyMemory>>),
        target: &PyMemory,
        layout: usize,
        steps: usize,
    ) -> PyResult<()> {
        let reached = match &self.typed {
            AnyTyped::Single(typed) => &typed.reached,
            AnyTyped::Double(typed) => &typed.reached,
        };
        let Some(wanted) = reached.get(layout) else {
            return Err(UsageError::new_err(format!("there is no layout {layout}: there are {}", reached.len())));
        };
        let source = source.writable(&reached[0], "the source")?;
        let target = target.writable(wanted, "the result")?;
        let between_at = |memory: &Option<Bound<'_, PyMemory>>, from: usize| match memory {
            Some(memory) => memory.get().writable(&reached[0], "an array between"),
            None if steps < from => Ok(std::ptr::null_mut()),
            None => Err(UsageError::new_err(format!("{steps} steps need another array between"))),
        };
        let between = [between_at(&between.0, 3)?, between_at(&between.1, 2)?];
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
            AnyTyped::Single(typed) => {
                of(typed.stepper.computation.as_ref().map(|computation| computation.plan().explain()))
            }
            AnyTyped::Double(typed) => {
                of(typed.stepper.computation.as_ref().map(|computation| computation.plan().explain()))
            }
        }
    }
}

/// What a rank computes after an exchange, in words.
fn computed(block: &Block) -> String {
    let rim: usize = block.rim.iter().map(Region::sites).sum();
    let steps = block.supersteps.len();
    let Some(superstep) = block.supersteps.last().filter(|_| steps > 1) else {
        let then = if rim > 0 { format!(" while faces travel, then {rim}") } else { String::new() };
        return format!("computes {} sites{then}", block.interior.sites());
    };
    let own = block.interior.sites() + rim;
    format!(
        "computes {steps} steps between exchanges, {} sites while faces travel; {} sites in all, {} of them for ghosts",
        superstep.interior.sites(),
        superstep.sites(),
        superstep.sites() - steps * own
    )
}

impl DistributedStencil {
    fn add(&mut self, storage: Storage) -> PyResult<usize> {
        let blocks = self.blocks.get();
        let refused = || UsageError::new_err("the elements of a site do not lie together in this array");
        let reached = stored(&storage, &blocks.0.block())?;
        let (memories, all, block, size) = match &mut self.typed {
            AnyTyped::Single(typed) => {
                (&mut typed.memories, &mut typed.reached, &typed.stepper.block, size_of::<f32>())
            }
            AnyTyped::Double(typed) => {
                (&mut typed.memories, &mut typed.reached, &typed.stepper.block, size_of::<f64>())
            }
        };
        let dimensions = blocks.0.dimensions();
        if self.first + block.extents.len() > dimensions {
            return Err(UsageError::new_err(format!("the stencil's axes are not among the geometry's {dimensions}")));
        }
        let fits_ghosts = |axis: usize| {
            let (there, needed) = (storage.ghosts[self.first + axis], block.ghosts[axis]);
            there[0] >= needed[0] && there[1] >= needed[1]
        };
        if memories.is_empty() && !(0..block.extents.len()).all(fits_ghosts) {
            return Err(UsageError::new_err("the array has fewer ghosts than the stencil reaches"));
        }
        let memory = Memory::new(&blocks.0, self.rank, &storage, self.first, block, size).ok_or_else(refused)?;
        memories.push(memory);
        all.push(reached);
        Ok(memories.len() - 1)
    }
}
