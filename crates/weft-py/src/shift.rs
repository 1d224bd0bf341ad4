//! Shift plans on numpy arrays: checks of arrays, and calls without them for arrays that were checked before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use numpy::npyffi::{
    NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, NPY_ORDER, PY_ARRAY_API, PyArray_CheckExact, PyArrayObject,
    objects::{_PyArray_GET_ITEM_DATA, PyArrayObject_fields},
};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde_json::json;
use weft_polyshift::plan::{Edge, Plan, Prepared, Shift, Strided, StridedMut, elements_apart, ranges_meet};

use weft_kernels::{Execution, Stop};

use crate::errors::UsageError;
use crate::guard::{Pinned, checked_threads, detached};

/// Calls that move more bytes than this let other threads of Python run meanwhile.
const DETACHED: usize = 1 << 20;

/// Bytes of an output from which its memory is kept for the next call: fresh pages take longer than the shift does.
const KEPT_FROM: usize = 1 << 20;

/// Arrays of each output that are kept: one is often in use yet while the next is made.
const KEPT: usize = 2;

/// Work that finding out whether two outputs share an element may take (`numpy.shares_memory`).
const SHARING_WORK: usize = 100_000;

/// What a plan is made of, until it is released.
struct Inner {
    plan: Plan,
    dtype: Py<PyArrayDescr>,
    boundaries: Vec<Py<PyAny>>,
    threads: Option<usize>,
    /// Boundary arrays are of another library, which does all shifts.
    elsewhere: bool,
    /// Memory of large outputs, of which some are in use no more.
    kept: Mutex<Vec<Py<PyAny>>>,
}

/// Shifts planned for arrays of one shape and dtype.
#[pyclass(frozen, subclass, module = "weft._core")]
pub struct ShiftPlan {
    inner: Mutex<Option<Arc<Inner>>>,
    released: Arc<AtomicBool>,
}

/// A plan bound to its arrays: called without arguments, it shifts them again and returns the outputs.
#[pyclass(frozen, module = "weft._core")]
pub struct BoundShifts {
    prepared: Prepared,
    released: Arc<AtomicBool>,
    threads: Option<usize>,
    outputs: Py<PyTuple>,
    sources: Py<PyTuple>,
    /// The constants and boundary arrays that `prepared` reads.
    _inner: Arc<Inner>,
    /// The memory of all arrays, which `prepared` has the addresses of, stays where it is.
    _pinned: Pinned,
}

fn released() -> PyErr {
    UsageError::new_err("this plan has been released: make another with weft.arrays.polyshift")
}

#[pymethods]
impl ShiftPlan {
    /// `shifts` holds for each shift: axis, distance, edge (None: circular, bytes: a constant element, an array), source.
    #[new]
    #[pyo3(signature = (shape, dtype, shifts, threads = None, elsewhere = false))]
    fn new(
        shape: Vec<usize>,
        dtype: Bound<'_, PyArrayDescr>,
        shifts: Vec<(usize, i64, Option<Bound<'_, PyAny>>, usize)>,
        threads: Option<usize>,
        elsewhere: bool,
    ) -> PyResult<Self> {
        let threads = checked_threads(threads)?;
        let mut boundaries = Vec::new();
        let mut all = Vec::with_capacity(shifts.len());
        for (axis, by, edge, source) in shifts {
            let edge = match edge {
                None => Edge::Circular,
                Some(edge) => match edge.cast::<PyBytes>() {
                    Ok(element) => Edge::Constant(element.as_bytes().to_vec()),
                    Err(_) => {
                        boundaries.push(edge);
                        Edge::Array(boundaries.len() - 1)
                    }
                },
            };
            all.push(Shift { axis, by, edge, source });
        }
        let plan = Plan::new(&shape, dtype.itemsize(), &all).map_err(|error| UsageError::new_err(error.to_string()))?;
        for (number, boundary) in boundaries.iter().enumerate() {
            let face = plan.face(number);
            Array::checked(boundary, &face, &dtype, || format!("boundary array {number}"))?;
        }
        let boundaries = boundaries.into_iter().map(Bound::unbind).collect();
        let inner = Inner { plan, dtype: dtype.unbind(), boundaries, threads, elsewhere, kept: Mutex::default() };
        Ok(Self { inner: Mutex::new(Some(Arc::new(inner))), released: Arc::default() })
    }

    /// Shifts `sources`; into `out`, or into new arrays. Returns a tuple with an array for each shift.
    #[pyo3(signature = (*sources, out = None))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        sources: &Bound<'py, PyTuple>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let inner = slf.get().inner()?;
        if inner.elsewhere || sources.iter_borrowed().any(|source| !is_numpy(&source)) {
            return slf.call_method1("_elsewhere", (sources, out));
        }
        let (prepared, outputs) = inner.join(py, sources, out)?;
        // A call that stays attached lets nobody in who could move the arrays.
        let _pinned = (prepared.touched() > DETACHED).then(|| inner.pinned(py, sources, &outputs));
        run(py, &prepared, inner.threads)?;
        Ok(outputs.into_any())
    }

    /// Checks the arrays once; what is returned can be called again and again.
    #[pyo3(signature = (*sources, out = None))]
    fn bind<'py>(
        &self,
        py: Python<'py>,
        sources: &Bound<'py, PyTuple>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<BoundShifts> {
        let inner = self.inner()?;
        if inner.elsewhere {
            return Err(UsageError::new_err("only plans whose boundary arrays are numpy's can be bound"));
        }
        let (prepared, outputs) = inner.join(py, sources, out)?;
        let pinned = inner.pinned(py, sources, &outputs);
        Ok(BoundShifts {
            prepared,
            _pinned: pinned,
            released: Arc::clone(&self.released),
            threads: inner.threads,
            outputs: outputs.unbind(),
            sources: sources.clone().unbind(),
            _inner: inner,
        })
    }

    /// What calls with C-ordered arrays do, as JSON.
    fn summary(&self) -> PyResult<String> {
        let inner = self.inner()?;
        let summary = inner.plan.summary();
        let shifts: Vec<_> = summary
            .shifts
            .iter()
            .map(|shift| json!({"by": shift.by, "slab": shift.slab, "slabs": shift.slabs, "incoming": shift.incoming}))
            .collect();
        let threads = inner.threads.unwrap_or(summary.threads);
        let text = json!({
            "strategy": summary.strategy, "moves": summary.moves, "vectors": summary.vectors,
            "streaming": summary.streaming, "threads": threads, "read": summary.read, "written": summary.written, "shifts": shifts,
        });
        Ok(text.to_string())
    }

    /// Gives back what the plan holds; further calls raise UsageError. Doing it twice is no error.
    fn release(&self) {
        self.released.store(true, Ordering::Relaxed);
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Whether it has been released.
    #[getter]
    fn released(&self) -> bool {
        self.released.load(Ordering::Relaxed)
    }
}

impl ShiftPlan {
    fn inner(&self) -> PyResult<Arc<Inner>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or_else(released)
    }
}

#[pymethods]
impl BoundShifts {
    fn __call__(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        if self.released.load(Ordering::Relaxed) {
            return Err(released());
        }
        run(py, &self.prepared, self.threads)?;
        Ok(self.outputs.clone_ref(py))
    }

    /// The arrays that are shifted.
    #[getter]
    fn sources(&self, py: Python<'_>) -> Py<PyTuple> {
        self.sources.clone_ref(py)
    }

    /// The arrays that come out.
    #[getter]
    fn out(&self, py: Python<'_>) -> Py<PyTuple> {
        self.outputs.clone_ref(py)
    }

    /// How many arrays are copied at each call because an output overlaps them.
    #[getter]
    fn copied_first(&self) -> usize {
        self.prepared.copied_first()
    }
}

#[inline]
fn run(py: Python<'_>, prepared: &Prepared, threads: Option<usize>) -> PyResult<()> {
    if prepared.touched() <= DETACHED {
        // SAFETY: the arrays were checked when this was prepared; whoever calls this holds them and the plan. Their memory
        // is pinned, or nobody can move it before this returns.
        unsafe { prepared.run(threads) };
        return Ok(());
    }
    // SAFETY: the arrays were checked when this was prepared, whoever calls this holds them and the plan, and their
    // memory is pinned. Where others write the arrays meanwhile the results are of any bytes.
    detached(py, prepared.touched(), |stop: Stop<'_>| unsafe { prepared.run(Execution { threads, stop }) })
}

impl Inner {
    /// Checks the arrays and joins the plan to them. Returns the outputs too.
    fn join<'py>(
        &self,
        py: Python<'py>,
        sources: &Bound<'py, PyTuple>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Prepared, Bound<'py, PyTuple>)> {
        let plan = &self.plan;
        let (shape, dtype) = (plan.shape(), self.dtype.bind(py));
        if sources.len() != plan.sources() {
            let wanted = plan.sources();
            let count = sources.len();
            return Err(UsageError::new_err(format!("the plan shifts {wanted} arrays, {count} were given")));
        }
        let mut arrays = Vec::with_capacity(plan.sources() + self.boundaries.len() + plan.outputs());
        for (number, source) in sources.iter_borrowed().enumerate() {
            arrays.push(Array::checked(&source, shape, dtype, || format!("source {number}"))?);
        }
        for (number, boundary) in self.boundaries.iter().enumerate() {
            // Again at each call: numpy lets a program give an array another shape in place.
            let face = plan.face(number);
            arrays.push(Array::checked(boundary.bind(py), &face, dtype, || format!("boundary array {number}"))?);
        }
        let outputs = match &out {
            Some(out) => self.outputs_of(py, out)?,
            None => self.new_outputs(py, &arrays[0])?,
        };
        for (number, output) in outputs.iter_borrowed().enumerate() {
            let name = || if plan.outputs() == 1 { "out".to_owned() } else { format!("out[{number}]") };
            let array = Array::checked(&output, shape, dtype, name)?;
            if out.is_some() {
                array.check_writable(shape, plan.item(), name)?;
            }
            arrays.push(array);
        }
        let (inputs, written) = arrays.split_at(plan.sources() + self.boundaries.len());
        if out.is_some() {
            check_apart(py, &outputs, written, plan)?;
        }
        Ok((self.prepare(inputs, written), outputs))
    }

    /// Keeps the memory of all arrays of a call where it is.
    fn pinned(&self, py: Python<'_>, sources: &Bound<'_, PyTuple>, outputs: &Bound<'_, PyTuple>) -> Pinned {
        let boundaries = self.boundaries.iter().map(|boundary| boundary.bind(py).clone());
        let arrays: Vec<_> = sources.iter().chain(outputs.iter()).chain(boundaries).collect();
        Pinned::new(&arrays)
    }

    fn prepare(&self, inputs: &[Array], written: &[Array]) -> Prepared {
        let plan = &self.plan;
        let bytes = plan.bytes();
        let dense = inputs.iter().chain(written).all(Array::is_dense)
            && !written
                .iter()
                .any(|output| inputs.iter().any(|input| output.address().abs_diff(input.address()) < bytes));
        let (sources, boundaries) = inputs.split_at(plan.sources());
        if dense {
            let pointers =
                |arrays: &[Array]| -> Vec<*const u8> { arrays.iter().map(|a| a.data().cast_const()).collect() };
            let outputs: Vec<*mut u8> = written.iter().map(Array::data).collect();
            return plan.prepare_dense(&pointers(sources), &pointers(boundaries), &outputs);
        }
        let outputs: Vec<StridedMut<'_>> =
            written.iter().map(|array| StridedMut { pointer: array.data(), strides: array.strides() }).collect();
        plan.prepare(&strided(sources), &strided(boundaries), &outputs)
    }

    /// The arrays of `out`: any sequence of them, or the array itself where there is one shift.
    fn outputs_of<'py>(&self, py: Python<'py>, out: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let wanted = self.plan.outputs();
        if wanted == 1 && out.is_instance_of::<PyUntypedArray>() {
            return PyTuple::new(py, [out]);
        }
        let arrays: Vec<Bound<'py, PyAny>> = out
            .try_iter()
            .and_then(Iterator::collect)
            .map_err(|_| UsageError::new_err(format!("out: expected {wanted} numpy arrays, one for each shift")))?;
        if arrays.len() != wanted {
            let count = arrays.len();
            return Err(UsageError::new_err(format!("out has {count} arrays for {wanted} shifts")));
        }
        PyTuple::new(py, arrays)
    }

    /// Memory of one output, as an array of bytes: that of an earlier one which nobody has any more, or fresh.
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Arrays of earlier calls refer to their memory; without one this is the only reference.
        // SAFETY: the object is alive, as it is kept, and this thread is attached.
        let is_unused = |memory: &&Py<PyAny>| unsafe { pyo3::ffi::Py_REFCNT(memory.as_ptr()) } == 1;
        let unused = kept().iter().find(is_unused).map(|memory| memory.clone_ref(py));
        if let Some(memory) = unused {
            return Ok(memory.into_bound(py));
        }
        let memory = py.import("numpy")?.call_method1("empty", (self.plan.bytes(), "u1"))?;
        let mut held = kept();
        let oldest = (held.len() >= KEPT * self.plan.outputs()).then(|| held.remove(0));
        held.push(memory.clone().unbind());
        drop(held);
        drop(oldest);
        Ok(memory)
    }

    /// New arrays, in the order of axes of the first source.
    fn new_outputs<'py>(&self, py: Python<'py>, like: &Array) -> PyResult<Bound<'py, PyTuple>> {
        let mut arrays = Vec::with_capacity(self.plan.outputs());
        if like.is_dense() && self.plan.bytes() >= KEPT_FROM {
            let shape = PyTuple::new(py, self.plan.shape())?;
            for _ in 0..self.plan.outputs() {
                let elements = self.memory(py)?.call_method1("view", (self.dtype.bind(py),))?;
                arrays.push(elements.call_method1("reshape", (&shape,))?);
            }
            return PyTuple::new(py, arrays);
        }
        for _ in 0..self.plan.outputs() {
            let dtype = self.dtype.bind(py).clone().into_dtype_ptr();
            // SAFETY: `like` is an array; the reference to the dtype is given away, the one to the array is ours.
            let array = unsafe {
                let array = PY_ARRAY_API.PyArray_NewLikeArray(py, like.pointer, NPY_ORDER::NPY_KEEPORDER, dtype, 0);
                Bound::from_owned_ptr_or_err(py, array)?
            };
            arrays.push(array);
        }
        PyTuple::new(py, arrays)
    }
}

fn strided(arrays: &[Array]) -> Vec<Strided<'_>> {
    arrays.iter().map(|array| Strided { pointer: array.data(), strides: array.strides() }).collect()
}

/// Outputs that share elements would get results that depend on the order of work.
fn check_apart(py: Python<'_>, outputs: &Bound<'_, PyTuple>, written: &[Array], plan: &Plan) -> PyResult<()> {
    let both_dense = |one: &Array, other: &Array| one.is_dense() && other.is_dense();
    for (number, one) in written.iter().enumerate() {
        for (before, other) in written[..number].iter().enumerate() {
            let (first, second) = (one.extent(), other.extent());
            if !ranges_meet(first, second, plan.shape(), plan.item()) {
                continue;
            }
            let shared = both_dense(one, other) || {
                let options = PyDict::new(py);
                options.set_item("max_work", SHARING_WORK)?;
                let pair = (outputs.get_item(number)?, outputs.get_item(before)?);
                // Too hard to tell counts as shared.
                let answer = py.import("numpy")?.call_method("shares_memory", pair, Some(&options));
                answer.map_or(Ok(true), |answer| answer.is_truthy())?
            };
            if shared {
                return Err(UsageError::new_err(format!(
                    "out[{before}] and out[{number}] share memory: each shift needs an output of its own"
                )));
            }
        }
    }
    Ok(())
}

/// Subclasses may mean something by their elements that bytes do not say: they go another way.
fn is_numpy(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object is alive and this thread is attached.
    unsafe { PyArray_CheckExact(object.py(), object.as_ptr()) != 0 }
}

/// A numpy array that is alive as long as what it was taken from.
struct Array {
    pointer: *mut PyArrayObject,
}

impl Array {
    /// `object` is a numpy array.
    fn of(object: &Bound<'_, PyAny>) -> Self {
        Self { pointer: object.as_ptr().cast() }
    }

    /// An array of this shape and dtype; `name` is what messages call it.
    fn checked(
        object: &Bound<'_, PyAny>,
        shape: &[usize],
        dtype: &Bound<'_, PyArrayDescr>,
        name: impl Fn() -> String,
    ) -> PyResult<Self> {
        if !object.is_instance_of::<PyUntypedArray>() {
            let kind = object.get_type().name()?;
            return Err(UsageError::new_err(format!("{} is a {kind}: expected a numpy array", name())));
        }
        let array = Self::of(object);
        let actual = array.shape();
        if actual.len() != shape.len() || actual.iter().zip(shape).any(|(&actual, &wanted)| actual as usize != wanted) {
            let (actual, wanted) = (tuple(actual), tuple(shape));
            return Err(UsageError::new_err(format!("{} has shape {actual}, expected {wanted}", name())));
        }
        let descr = array.fields().descr;
        // SAFETY: an array's dtype is alive as long as the array.
        let own_dtype =
            unsafe { Bound::from_borrowed_ptr(object.py(), descr.cast()).cast_into_unchecked::<PyArrayDescr>() };
        if !own_dtype.is_equiv_to(dtype) {
            return Err(UsageError::new_err(format!(
                "{} has dtype {own_dtype}, expected {dtype}: convert it with .astype, or plan for {own_dtype}",
                name()
            )));
        }
        Ok(array)
    }

    fn check_writable(&self, shape: &[usize], item: usize, name: impl Fn() -> String) -> PyResult<()> {
        if self.fields().flags & NPY_ARRAY_WRITEABLE == 0 {
            return Err(UsageError::new_err(format!("{} is read-only", name())));
        }
        if !self.is_dense() && !elements_apart(self.strides(), shape, item) {
            let name = name();
            return Err(UsageError::new_err(format!("elements of {name} share memory, as of a broadcast array")));
        }
        Ok(())
    }

    fn fields(&self) -> &PyArrayObject_fields {
        // SAFETY: the array is alive, and nothing changes its fields while this thread is attached.
        unsafe { &*_PyArray_GET_ITEM_DATA(self.pointer) }
    }

    fn data(&self) -> *mut u8 {
        self.fields().data.cast()
    }

    fn extent(&self) -> (*const u8, &[isize]) {
        (self.data(), self.strides())
    }

    fn address(&self) -> usize {
        self.data() as usize
    }

    fn shape(&self) -> &[isize] {
        self.along_axes(self.fields().dimensions)
    }

    fn strides(&self) -> &[isize] {
        self.along_axes(self.fields().strides)
    }

    fn along_axes(&self, values: *const isize) -> &[isize] {
        let rank = self.fields().nd as usize;
        // SAFETY: both fields have a value for each axis; without axes they may be null.
        if rank == 0 { &[] } else { unsafe { std::slice::from_raw_parts(values, rank) } }
    }

    /// C order without gaps.
    fn is_dense(&self) -> bool {
        self.fields().flags & NPY_ARRAY_C_CONTIGUOUS != 0
    }
}

/// Extents as Python writes them.
fn tuple<T: ToString>(extents: &[T]) -> String {
    let list: Vec<String> = extents.iter().map(T::to_string).collect();
    format!("({}{})", list.join(", "), if list.len() == 1 { "," } else { "" })
}
