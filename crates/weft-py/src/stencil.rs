//! Stencils on arrays that speak the buffer protocol.

use std::sync::Arc;

use pyo3::buffer::{Element as BufferElement, PyBuffer};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use weft_kernels::Stop;
use weft_kernels::stencil::{
    Array, Boundary, Coefficient, Element, Face, Layout, Options, Plan, Point, Region, Source, Stencil, StencilError,
    Target,
};

use crate::errors::UsageError;
use crate::guard::{Pinned, check_memory, checked_threads, detached};

fn usage(error: StencilError) -> PyErr {
    UsageError::new_err(error.to_string())
}

/// A stencil prepared for arrays of one shape and type.
#[pyclass(frozen, module = "weft._core")]
pub struct StencilPlan {
    plan: AnyPlan,
}

enum AnyPlan {
    Single(Arc<Plan<f32>>),
    Double(Arc<Plan<f64>>),
}

/// Arrays below this many bytes are computed without letting other Python threads in: that alone costs 50 ns.
const SMALL: usize = 64 << 10;

/// What a call needs, taken from two arrays once.
struct Bound<T: Element + BufferElement> {
    plan: Arc<Plan<T>>,
    source: PyBuffer<T>,
    target: PyBuffer<T>,
    source_layout: Layout,
    target_layout: Layout,
    count: usize,
    /// Both arrays, whose memory stays where it is: numpy lets them be resized in spite of their buffers.
    _pinned: Pinned,
}

impl<T: Element + BufferElement> Bound<T> {
    fn new(plan: &Arc<Plan<T>>, x: &Object<'_>, out: &Object<'_>) -> PyResult<Self> {
        let (source, target) = (buffer::<T>(x, "x")?, buffer::<T>(out, "out")?);
        if target.readonly() {
            return Err(UsageError::new_err("out cannot be written: it is read-only"));
        }
        let (source_layout, count) = layout(plan, plan.extents(), &source, "x")?;
        let (target_layout, target_count) = layout(plan, plan.extents(), &target, "out")?;
        check_counts(count, target_count)?;
        if overlap(&source, &target) {
            return Err(UsageError::new_err("x and out share memory: results would overwrite what is still needed"));
        }
        let pinned = Pinned::new([x, out]);
        Ok(Bound { plan: plan.clone(), source, target, source_layout, target_layout, count, _pinned: pinned })
    }

    fn run(&self, py: Python<'_>) -> PyResult<()> {
        let (source, target) = (self.source.buf_ptr() as usize, self.target.buf_ptr() as usize);
        let apply = |stop: Stop<'_>| {
            let source = Source { base: source as *const T, layout: &self.source_layout };
            let target = Target { base: target as *mut T, layout: &self.target_layout };
            // SAFETY: `new` has checked shapes, strides and that they do not overlap; the buffers are held, and pinned.
            unsafe { self.plan.apply_until(&source, &target, self.count, stop) };
        };
        let bytes = self.plan.bytes(self.count).saturating_mul(self.plan.options().steps);
        if bytes < SMALL {
            apply(Stop::NEVER);
            return Ok(());
        }
        detached(py, bytes, apply)
    }
}

/// Computes the sites of a region of `x` into `out`, which has the extents of the region.
fn apply_region<T: Element + BufferElement>(
    plan: &Plan<T>,
    x: &Object<'_>,
    out: &Object<'_>,
    region: Region,
) -> PyResult<()> {
    let (source, target) = (buffer::<T>(x, "x")?, buffer::<T>(out, "out")?);
    if target.readonly() {
        return Err(UsageError::new_err("out cannot be written: it is read-only"));
    }
    let extents: Vec<usize> = region.ranges.iter().map(|&(from, to)| to.saturating_sub(from)).collect();
    if extents.len() != plan.extents().len() {
        return Err(UsageError::new_err(format!("a region of {} axes in {:?} sites", extents.len(), plan.extents())));
    }
    let (source_layout, count) = layout(plan, plan.extents(), &source, "x")?;
    let (target_layout, target_count) = layout(plan, &extents, &target, "out")?;
    check_counts(count, target_count)?;
    if overlap(&source, &target) {
        return Err(UsageError::new_err("x and out share memory: results would overwrite what is still needed"));
    }
    let components = plan.options().components;
    let strides = target_layout.strides.iter().copied().chain([components as isize]);
    let start: isize = region.ranges.iter().zip(strides).map(|(&(from, _), stride)| from as isize * stride).sum();
    let source = Source { base: source.buf_ptr() as *const T, layout: &source_layout };
    let base = (target.buf_ptr() as *mut T).wrapping_offset(-start);
    let target = Target { base, layout: &target_layout };
    // SAFETY: `x` has the plan's extents; `out` has those of the region, whose first site it begins with, and no other site
    // is written; they do not overlap, and both buffers are held.
    unsafe { plan.apply_region(&source, &target, count, &region) }.map_err(usage)
}

fn check_counts(count: usize, target_count: usize) -> PyResult<()> {
    if count == target_count {
        return Ok(());
    }
    Err(UsageError::new_err(format!("x has {count} right-hand sides, out has {target_count}: they must agree")))
}

/// PyO3's reference to an object of Python.
type Object<'py> = pyo3::Bound<'py, PyAny>;

fn buffer<T: BufferElement>(array: &Object<'_>, name: &str) -> PyResult<PyBuffer<T>> {
    PyBuffer::get(array).map_err(|error| {
        let py = array.py();
        let reason =
            if error.is_instance_of::<PyBufferError>(py) { error.value(py).to_string() } else { error.to_string() };
        UsageError::new_err(format!("{name} is no array of the plan's type: {reason}"))
    })
}

/// Strides in elements of an array of these extents, with or without an axis of right-hand sides before.
fn layout<T: Element + BufferElement>(
    plan: &Plan<T>,
    extents: &[usize],
    buffer: &PyBuffer<T>,
    name: &str,
) -> PyResult<(Layout, usize)> {
    let size = size_of::<T>() as isize;
    let (shape, strides) = (buffer.shape(), buffer.strides());
    let (outer, last) = extents.split_at(extents.len() - 1);
    let row = last[0] * plan.options().components;
    let refuse = |what: &str| {
        let components = match plan.options().components {
            1 => String::new(),
            count => format!(" of {count} elements"),
        };
        Err(UsageError::new_err(format!(
            "{name} of shape {shape:?} {what}: the plan is for {extents:?} sites{components}, with or without an axis of \
             right-hand sides before"
        )))
    };
    // The trailing axes that make up a row, so many that their product is a row's elements.
    for sides in 0..=1 {
        let first = sides + outer.len();
        if shape.len() <= first || shape[sides..first] != *outer || shape[first..].iter().product::<usize>() != row {
            continue;
        }
        let mut step = size;
        for axis in (first..shape.len()).rev() {
            if shape[axis] > 1 && strides[axis] != step {
                return refuse("is not contiguous along the last axis");
            }
            step *= shape[axis] as isize;
        }
        if strides[..first].iter().any(|stride| stride % size != 0) {
            return refuse("has strides that are no whole elements");
        }
        let elements: Vec<isize> = strides[..first].iter().map(|stride| stride / size).collect();
        let (count, between) = if sides == 1 { (shape[0], elements[0]) } else { (1, 0) };
        return Ok((Layout { strides: elements[sides..].to_vec(), between }, count));
    }
    refuse("does not fit")
}

/// Whether the memory between the first and the last element of two arrays overlaps.
fn overlap<T: BufferElement>(first: &PyBuffer<T>, second: &PyBuffer<T>) -> bool {
    let range = |buffer: &PyBuffer<T>| {
        let start = buffer.buf_ptr() as isize;
        if buffer.item_count() == 0 {
            return (start, start);
        }
        let reaches =
            buffer.shape().iter().zip(buffer.strides()).map(|(&extent, &stride)| (extent as isize - 1) * stride);
        let (low, high) = reaches.fold((0, 0), |(low, high), reach| (low + reach.min(0), high + reach.max(0)));
        (start + low, start + high + size_of::<T>() as isize)
    };
    let ((first_low, first_high), (second_low, second_high)) = (range(first), range(second));
    first_low < second_high && second_low < first_high
}

/// A coefficient: a number, or an array that broadcasts to the plan's extents (0 strides where it does).
fn coefficient<T: Element + BufferElement>(
    value: &Object<'_>,
    extents: &[usize],
    components: usize,
) -> PyResult<Coefficient<T>> {
    if let Ok(value) = value.extract::<f64>() {
        return Ok(Coefficient::Constant(T::from_f64(value)));
    }
    let buffer: PyBuffer<T> = buffer(value, "a coefficient")?;
    let size = size_of::<T>() as isize;
    // One more axis: a value for each element of a site, which lie together.
    let axes = extents.len();
    if buffer.shape().len() == axes + 1 && buffer.shape()[..axes] == *extents && buffer.shape()[axes] == components {
        let strides: Vec<isize> = buffer.strides()[..axes].iter().map(|stride| stride / size).collect();
        let lies = buffer.strides()[axes] == size && strides[axes - 1] == components as isize;
        if lies && buffer.strides().iter().all(|stride| stride % size == 0) {
            let values = buffer.buf_ptr() as *const T;
            let owner = Arc::new((buffer, Pinned::new([value])));
            // SAFETY: the buffer has the extents and a value for each element of a site, and is kept and pinned.
            return Ok(Coefficient::Elements(unsafe { Array::borrowed(values, &strides, owner) }));
        }
    }
    if buffer.shape() != extents || buffer.strides().iter().any(|stride| stride % size != 0) {
        return Err(UsageError::new_err(format!(
            "a coefficient of shape {:?} does not fit an array of {extents:?}",
            buffer.shape()
        )));
    }
    let strides: Vec<isize> = buffer.strides().iter().map(|stride| stride / size).collect();
    let values = buffer.buf_ptr() as *const T;
    let owner = Arc::new((buffer, Pinned::new([value])));
    // SAFETY: the buffer has the extents, and is kept and pinned.
    Ok(Coefficient::Array(unsafe { Array::borrowed(values, &strides, owner) }))
}

/// What lies beyond an axis; an array is read at each call, and kept.
pub(crate) fn boundary<T: Element + BufferElement>(value: &Object<'_>) -> PyResult<Boundary<T>> {
    if value.is_none() {
        return Ok(Boundary::Circular);
    }
    if let Ok(value) = value.extract::<f64>() {
        return Ok(Boundary::Value(T::from_f64(value)));
    }
    let buffer = buffer::<T>(value, "a boundary")?;
    if !buffer.is_c_contiguous() {
        return Err(UsageError::new_err("a boundary is an array whose elements lie together"));
    }
    let (values, length) = (buffer.buf_ptr() as *const T, buffer.item_count());
    let owner = Arc::new((buffer, Pinned::new([value])));
    // SAFETY: the buffer has so many elements, and is kept and pinned.
    Ok(Boundary::Array(unsafe { Face::borrowed(values, length, owner) }))
}

/// A plan has a row of each boundary value, as long as a row of the array and what points reach beyond it.
pub(crate) fn check_rows<T: Element>(
    points: &[Point<T>],
    extents: &[usize],
    boundaries: &[Boundary<T>],
    components: usize,
) -> PyResult<()> {
    if !boundaries.iter().any(|boundary| matches!(boundary, Boundary::Value(_))) {
        return Ok(());
    }
    let reached = points.iter().filter_map(|point| point.offset.last()).map(|offset| offset.unsigned_abs()).max();
    let sites = extents.last().copied().unwrap_or(0).saturating_add(reached.unwrap_or(0).saturating_mul(2));
    check_memory([sites, components, size_of::<T>(), boundaries.len()], "rows of boundary values")
}

fn build<T: Element + BufferElement>(
    extents: &[usize],
    points: Vec<(Vec<isize>, Object<'_>)>,
    boundaries: Vec<Object<'_>>,
    options: Options,
) -> PyResult<Arc<Plan<T>>> {
    let points: Vec<Point<T>> = points
        .into_iter()
        .map(|(offset, value)| Ok(Point { offset, coefficient: coefficient(&value, extents, options.components)? }))
        .collect::<PyResult<_>>()?;
    let boundaries: Vec<Boundary<T>> = boundaries.iter().map(boundary).collect::<PyResult<_>>()?;
    check_rows(&points, extents, &boundaries, options.components)?;
    let stencil = Stencil::new(extents.len(), points).map_err(usage)?;
    Ok(Arc::new(Plan::new(&stencil, extents, boundaries, options).map_err(usage)?))
}

#[pymethods]
impl StencilPlan {
    /// Prepares a stencil. `points`: offset and coefficient (a number, or an array of the plan's type broadcast to
    /// `extents`); `boundaries`: None (circular), a number or an array for each axis. Raises UsageError.
    #[new]
    #[pyo3(signature = (extents, single, points, boundaries, components = 1, steps = 1, threads = 1, steps_at_once = None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of Python
    fn new(
        extents: Vec<usize>,
        single: bool,
        points: Vec<(Vec<isize>, Object<'_>)>,
        boundaries: Vec<Object<'_>>,
        components: usize,
        steps: usize,
        threads: usize,
        steps_at_once: Option<usize>,
    ) -> PyResult<Self> {
        checked_threads(Some(threads))?;
        let options = Options { components, threads, steps, steps_at_once, ..Options::default() };
        let plan = if single {
            AnyPlan::Single(build(&extents, points, boundaries, options)?)
        } else {
            AnyPlan::Double(build(&extents, points, boundaries, options)?)
        };
        Ok(StencilPlan { plan })
    }

    /// Computes `out` from `x`. Raises UsageError when they do not fit or share memory. Where a signal ends a long call,
    /// `out` holds anything.
    fn apply(&self, py: Python<'_>, x: &Object<'_>, out: &Object<'_>) -> PyResult<()> {
        match &self.plan {
            AnyPlan::Single(plan) => Bound::new(plan, x, out)?.run(py),
            AnyPlan::Double(plan) => Bound::new(plan, x, out)?.run(py),
        }
    }

    /// Computes the sites `region` (first and one past the last along each axis) of arrays like `x` into `out`, which has
    /// its extents. What the stencil reaches within `x` is read there, else the boundary comes in. Raises UsageError.
    fn apply_region(&self, x: &Object<'_>, out: &Object<'_>, region: Vec<(usize, usize)>) -> PyResult<()> {
        let region = Region { ranges: region };
        match &self.plan {
            AnyPlan::Single(plan) => apply_region(plan, x, out, region),
            AnyPlan::Double(plan) => apply_region(plan, x, out, region),
        }
    }

    /// A call with these arrays, checked once. Raises UsageError.
    fn bind(&self, x: &Object<'_>, out: &Object<'_>) -> PyResult<BoundStencil> {
        Ok(BoundStencil {
            call: match &self.plan {
                AnyPlan::Single(plan) => AnyBound::Single(Bound::new(plan, x, out)?),
                AnyPlan::Double(plan) => AnyBound::Double(Bound::new(plan, x, out)?),
            },
        })
    }

    /// What will be done, in words.
    fn explain(&self) -> String {
        match &self.plan {
            AnyPlan::Single(plan) => plan.explain(),
            AnyPlan::Double(plan) => plan.explain(),
        }
    }

    /// Bytes that one step must move at least.
    fn bytes(&self) -> usize {
        match &self.plan {
            AnyPlan::Single(plan) => plan.bytes(1),
            AnyPlan::Double(plan) => plan.bytes(1),
        }
    }
}

enum AnyBound {
    Single(Bound<f32>),
    Double(Bound<f64>),
}

/// A plan with its arrays: calling it computes the result.
#[pyclass(frozen, module = "weft._core")]
pub struct BoundStencil {
    call: AnyBound,
}

#[pymethods]
impl BoundStencil {
    /// Computes the result. Where a signal ends a long call, `out` holds anything.
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        match &self.call {
            AnyBound::Single(bound) => bound.run(py),
            AnyBound::Double(bound) => bound.run(py),
        }
    }
}
