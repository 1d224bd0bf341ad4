//! The primitives of data-parallel programs on numpy arrays: checks of what they are given, and calls.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Mutex;

use numpy::npyffi::{
    NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, PyArray_Check, PyArrayObject,
    objects::{_PyArray_GET_ITEM_DATA, _PyDataType_GET_ITEM_DATA, PyArrayObject_fields},
};
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use weft_kernels::primitives::{
    self, Along, Axis, Collisions, Combination, ElementType, OnError, Order, Pointwise, PrimitiveError, Scalar, Scan,
    View,
};
use weft_kernels::{Execution, Stop};

use crate::errors::UsageError;
use crate::guard::{Pinned, checked_threads, detached};

/// Calls that touch more bytes than this let other threads of Python run meanwhile; that alone costs 50 ns.
const DETACHED: usize = 128 << 10;

fn usage(error: PrimitiveError) -> PyErr {
    match error {
        PrimitiveError::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => UsageError::new_err(error.to_string()),
    }
}

/// A numpy array that these functions can work on.
struct Array<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    fields: &'a PyArrayObject_fields,
    kind: ElementType,
}

impl<'a, 'py> Array<'a, 'py> {
    /// `name` is what messages call it.
    fn new(object: &'a Bound<'py, PyAny>, name: &str) -> PyResult<Self> {
        // SAFETY: the object is alive and this thread is attached.
        if unsafe { PyArray_Check(object.py(), object.as_ptr()) } == 0 {
            let kind = object.get_type().name()?;
            return Err(UsageError::new_err(format!("{name} is a {kind}: expected a numpy array")));
        }
        // SAFETY: it is an array, and alive; nothing changes its fields while this thread is attached.
        let fields = unsafe { &*_PyArray_GET_ITEM_DATA(object.as_ptr().cast::<PyArrayObject>()) };
        let kind = element_type(object.py(), fields, name)?;
        let wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
        if fields.flags & wanted != wanted {
            return Err(UsageError::new_err(format!(
                "{name} is not dense in C order: take numpy.ascontiguousarray({name}) first"
            )));
        }
        Ok(Self { object, fields, kind })
    }

    fn output(object: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        Self::writable(object, "out")
    }

    fn writable(object: &'a Bound<'py, PyAny>, name: &str) -> PyResult<Self> {
        let array = Self::new(object, name)?;
        if array.fields.flags & NPY_ARRAY_WRITEABLE == 0 {
            return Err(UsageError::new_err(format!("{name} is read-only")));
        }
        Ok(array)
    }

    fn shape(&self) -> &'a [usize] {
        let rank = self.fields.nd as usize;
        if rank == 0 {
            return &[];
        }
        // SAFETY: an array has so many extents, none of them negative.
        unsafe { std::slice::from_raw_parts(self.fields.dimensions.cast(), rank) }
    }

    fn view(&self) -> View {
        View { kind: self.kind, pointer: self.fields.data.cast(), length: self.shape().iter().product() }
    }
}

/// The type of an array's elements, in the byte order of this machine.
#[inline]
fn element_type(py: Python<'_>, fields: &PyArrayObject_fields, name: &str) -> PyResult<ElementType> {
    // SAFETY: an array has a dtype, which is alive as long as it.
    let (code, order) = unsafe {
        let descr = &*_PyDataType_GET_ITEM_DATA(fields.descr);
        (descr.kind as u8, descr.byteorder as u8)
    };
    // SAFETY: an array's dtype is an object that is alive as long as the array, of which this takes a reference of its
    // own.
    let descr = || unsafe { Bound::from_borrowed_ptr(py, fields.descr.cast()).cast_into_unchecked::<PyArrayDescr>() };
    let foreign = if cfg!(target_endian = "little") { b'>' } else { b'<' };
    let kind = match (code, descr().itemsize()) {
        _ if order == foreign => None,
        (b'b', 1) => Some(ElementType::Bool),
        (b'i', 1) => Some(ElementType::Int8),
        (b'i', 2) => Some(ElementType::Int16),
        (b'i', 4) => Some(ElementType::Int32),
        (b'i', 8) => Some(ElementType::Int64),
        (b'u', 1) => Some(ElementType::Uint8),
        (b'u', 2) => Some(ElementType::Uint16),
        (b'u', 4) => Some(ElementType::Uint32),
        (b'u', 8) => Some(ElementType::Uint64),
        (b'f', 4) => Some(ElementType::Float32),
        (b'f', 8) => Some(ElementType::Float64),
        _ => None,
    };
    kind.ok_or_else(|| {
        let known: Vec<&str> = ElementType::ALL.iter().map(|kind| kind.name()).collect();
        UsageError::new_err(format!("{name} has dtype {}, expected one of {}", descr(), known.join(", ")))
    })
}

fn optional<'a, 'py>(object: &'a Option<Bound<'py, PyAny>>, name: &str) -> PyResult<Option<Array<'a, 'py>>> {
    object.as_ref().map(|object| Array::new(object, name)).transpose()
}

fn same_shape(one: &Array<'_, '_>, name: &str, out: &Array<'_, '_>, other: &str) -> PyResult<()> {
    if one.shape() == out.shape() {
        return Ok(());
    }
    let (actual, wanted) = (tuple(one.shape()), tuple(out.shape()));
    Err(UsageError::new_err(format!("{name} has shape {actual}, {other} has shape {wanted}: they must agree")))
}

fn selected(selection: &Option<Array<'_, '_>>, out: &Array<'_, '_>, other: &str) -> PyResult<Option<View>> {
    let Some(selection) = selection else { return Ok(None) };
    same_shape(selection, "selection", out, other)?;
    Ok(Some(selection.view()))
}

/// Extents as Python writes them.
fn tuple(extents: &[usize]) -> String {
    let list: Vec<String> = extents.iter().map(usize::to_string).collect();
    format!("({}{})", list.join(", "), if list.len() == 1 { "," } else { "" })
}

/// Runs it on arrays; where it takes long, other threads of Python may run meanwhile, and signals may end it. Others may
/// write the arrays then, but not give back their memory.
#[inline]
fn call<R: Send>(
    py: Python<'_>,
    bytes: usize,
    arrays: &[Option<&Array<'_, '_>>],
    work: impl FnOnce(Stop<'_>) -> Result<R, PrimitiveError> + Send,
) -> PyResult<R> {
    if bytes <= DETACHED {
        return work(Stop::NEVER).map_err(usage);
    }
    let _pinned = Pinned::new(arrays.iter().flatten().map(|array| array.object));
    detached(py, bytes, work)?.map_err(usage)
}

/// Applies an operation of the Python array API to the elements of one or two arrays: whether all were in its domain.
#[pyfunction]
#[pyo3(signature = (operation, operands, out, selection = None, threads = None))]
pub fn array_elementwise(
    py: Python<'_>,
    operation: &str,
    operands: Vec<Bound<'_, PyAny>>,
    out: &Bound<'_, PyAny>,
    selection: Option<Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<bool> {
    let threads = checked_threads(threads)?;
    let operation = Pointwise::parse(operation).map_err(usage)?;
    let target = Array::output(out)?;
    let mut views = [target.view(); 2];
    if operands.len() != operation.operands() {
        let (wanted, count) = (operation.operands(), operands.len());
        let name = operation.name();
        return Err(UsageError::new_err(format!("{name} has {wanted} operands, {count} were given")));
    }
    let mut operand_arrays = [None, None];
    let names = ["operand 0", "operand 1"];
    for (((view, object), name), slot) in views.iter_mut().zip(&operands).zip(names).zip(&mut operand_arrays) {
        let operand = Array::new(object, name)?;
        *view = operand.view();
        if view.length != 1 {
            same_shape(&operand, name, &target, "out")?;
        }
        *slot = Some(operand);
    }
    let mask = optional(&selection, "selection")?;
    let selection = selected(&mask, &target, "out")?;
    let (out, views) = (target.view(), &views[..operands.len()]);
    let arrays = [Some(&target), mask.as_ref(), operand_arrays[0].as_ref(), operand_arrays[1].as_ref()];
    // SAFETY: the arrays are dense and aligned, the output is writable, and `call` keeps their memory. The kernels allow
    // for others who write it meanwhile.
    call(py, out.bytes(), &arrays, |stop| unsafe {
        primitives::elementwise(operation, views, out, selection.as_ref(), Execution { threads, stop })
    })
}

/// The element of one operand where a condition holds, else that of the other.
#[pyfunction]
#[pyo3(signature = (condition, x, y, out, threads = None))]
pub fn array_choose(
    py: Python<'_>,
    condition: &Bound<'_, PyAny>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    threads: Option<usize>,
) -> PyResult<()> {
    let threads = checked_threads(threads)?;
    let target = Array::output(out)?;
    let mask = Array::new(condition, "condition")?;
    same_shape(&mask, "condition", &target, "out")?;
    let (yes, no) = (Array::new(x, "x")?, Array::new(y, "y")?);
    for (operand, name) in [(&yes, "x"), (&no, "y")] {
        if operand.view().length != 1 {
            same_shape(operand, name, &target, "out")?;
        }
    }
    let (out, condition, x, y) = (target.view(), mask.view(), yes.view(), no.view());
    let arrays = [Some(&target), Some(&mask), Some(&yes), Some(&no)];
    // SAFETY: the arrays are dense and aligned, the output is writable, and `call` keeps their memory. The kernels allow
    // for others who write it meanwhile.
    call(py, out.bytes(), &arrays, |stop| unsafe {
        primitives::choose(condition, x, y, out, Execution { threads, stop })
    })
}

/// Combines the selected elements of an array into one number.
#[pyfunction]
#[pyo3(signature = (x, combination, selection = None, threads = None))]
pub fn array_reduce(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    combination: &str,
    selection: Option<Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Option<Py<PyAny>>> {
    let threads = checked_threads(threads)?;
    let combination = Combination::parse(combination, &[]).map_err(usage)?;
    let source = Array::new(x, "x")?;
    let mask = optional(&selection, "selection")?;
    let selection = selected(&mask, &source, "x")?;
    let x = source.view();
    // SAFETY: the arrays are dense and aligned, and `call` keeps their memory.
    let result = call(py, x.bytes(), &[Some(&source), mask.as_ref()], |stop| unsafe {
        primitives::reduce(x, combination, selection.as_ref(), Execution { threads, stop })
    })?;
    result
        .map(|scalar| match scalar {
            Scalar::Bool(value) => value.into_py_any(py),
            Scalar::Int(value) => value.into_py_any(py),
            Scalar::Uint(value) => value.into_py_any(py),
            Scalar::Float(value) => value.into_py_any(py),
        })
        .transpose()
}

/// What the lines along an axis come to, at all of their elements; of how many nothing is selected.
#[pyfunction]
#[pyo3(signature = (x, out, combination, axis, selection = None, threads = None))]
pub fn array_reduce_axis(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    combination: &str,
    axis: usize,
    selection: Option<Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<usize> {
    let threads = checked_threads(threads)?;
    let combination = Combination::parse(combination, &[]).map_err(usage)?;
    let (source, target) = (Array::new(x, "x")?, Array::output(out)?);
    same_shape(&source, "x", &target, "out")?;
    let mask = optional(&selection, "selection")?;
    let selection = selected(&mask, &target, "out")?;
    let axis = Axis::of(target.shape(), axis).map_err(usage)?;
    let (x, out) = (source.view(), target.view());
    // SAFETY: the arrays are dense and aligned, the output is writable, and `call` keeps their memory.
    call(py, out.bytes(), &[Some(&source), Some(&target), mask.as_ref()], |stop| unsafe {
        primitives::reduce_axis(x, out, combination, axis, selection.as_ref(), Execution { threads, stop })
    })
}

/// Combinations of the elements up to each along an axis.
#[pyfunction]
#[pyo3(signature = (x, out, combination, axis = 0, segments = None, selection = None, exclusive = false,
    downward = false, threads = None))]
#[allow(clippy::too_many_arguments)] // keyword arguments of Python
pub fn array_scan(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    combination: &str,
    axis: usize,
    segments: Option<Bound<'_, PyAny>>,
    selection: Option<Bound<'_, PyAny>>,
    exclusive: bool,
    downward: bool,
    threads: Option<usize>,
) -> PyResult<()> {
    let threads = checked_threads(threads)?;
    let what = Scan::parse(combination).map_err(usage)?;
    let (source, target) = (Array::new(x, "x")?, Array::output(out)?);
    same_shape(&source, "x", &target, "out")?;
    let (segments, mask) = (optional(&segments, "segments")?, optional(&selection, "selection")?);
    let flags = match &segments {
        None => None,
        Some(segments) => {
            same_shape(segments, "segments", &target, "out")?;
            Some(segments.view())
        }
    };
    let selection = selected(&mask, &target, "out")?;
    let axis = Axis::of(target.shape(), axis).map_err(usage)?;
    let (x, out, order) = (source.view(), target.view(), Order { downward, exclusive });
    let arrays = [Some(&source), Some(&target), segments.as_ref(), mask.as_ref()];
    // SAFETY: the arrays are dense and aligned, the output is writable, and `call` keeps their memory.
    call(py, out.bytes(), &arrays, |stop| unsafe {
        primitives::scan(x, out, what, axis, flags.as_ref(), selection.as_ref(), order, Execution { threads, stop })
    })
}

/// The elements at one index of an axis, at every index of it.
#[pyfunction]
#[pyo3(signature = (x, out, axis, index, selection = None, threads = None))]
pub fn array_spread(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    axis: usize,
    index: usize,
    selection: Option<Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<()> {
    let threads = checked_threads(threads)?;
    let (source, target) = (Array::new(x, "x")?, Array::output(out)?);
    same_shape(&source, "x", &target, "out")?;
    let mask = optional(&selection, "selection")?;
    let selection = selected(&mask, &target, "out")?;
    let axis = Axis::of(target.shape(), axis).map_err(usage)?;
    let (x, out) = (source.view(), target.view());
    // SAFETY: the arrays are dense and aligned, the output is writable, and `call` keeps their memory.
    call(py, out.bytes(), &[Some(&source), Some(&target), mask.as_ref()], |stop| unsafe {
        primitives::spread(x, out, axis, index, selection.as_ref(), Execution { threads, stop })
    })
}

/// Where each element comes among the selected; how often they were gone through for it.
#[pyfunction]
#[pyo3(signature = (x, out, descending = false, selection = None))]
pub fn array_rank(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    descending: bool,
    selection: Option<Bound<'_, PyAny>>,
) -> PyResult<u32> {
    let (source, target) = (Array::new(x, "x")?, Array::output(out)?);
    same_shape(&source, "x", &target, "out")?;
    let mask = optional(&selection, "selection")?;
    let selection = selected(&mask, &target, "out")?;
    let (x, out) = (source.view(), target.view());
    // SAFETY: the arrays are dense and aligned, the output is writable, and `call` keeps their memory.
    call(py, x.bytes(), &[Some(&source), Some(&target), mask.as_ref()], |stop| unsafe {
        primitives::rank(x, out, descending, selection.as_ref(), Execution { threads: None, stop })
    })
}

/// The numbers of elements by their coordinates along axes with these strides, plus a number.
#[pyfunction]
#[pyo3(signature = (coordinates, strides, first, out, threads = None))]
pub fn array_addresses(
    py: Python<'_>,
    coordinates: Vec<Bound<'_, PyAny>>,
    strides: Vec<i64>,
    first: i64,
    out: &Bound<'_, PyAny>,
    threads: Option<usize>,
) -> PyResult<()> {
    let threads = checked_threads(threads)?;
    let target = Array::output(out)?;
    let sources: Vec<Array> = coordinates.iter().map(|one| Array::new(one, "coordinates")).collect::<PyResult<_>>()?;
    if sources.len() != strides.len() {
        let (arrays, count) = (sources.len(), strides.len());
        return Err(UsageError::new_err(format!("{arrays} arrays of coordinates have {count} strides")));
    }
    for source in &sources {
        same_shape(source, "coordinates", &target, "out")?;
    }
    let along = |(source, &stride): (&Array, &i64)| Along { coordinates: source.view(), stride };
    let axes: Vec<Along> = sources.iter().zip(&strides).map(along).collect();
    let out = target.view();
    let arrays: Vec<Option<&Array>> = sources.iter().chain([&target]).map(Some).collect();
    // SAFETY: the arrays are dense and aligned, the output is writable, and `call` keeps their memory.
    call(py, out.bytes(), &arrays, |stop| unsafe {
        primitives::addresses(&axes, first, out, Execution { threads, stop })
    })
}

fn on_error(clobber: bool) -> OnError {
    if clobber { OnError::Clobber } else { OnError::Keep }
}

/// Each element from where its index says; with `clobber` the output may hold anything after an error.
#[pyfunction]
#[pyo3(signature = (x, index, out, selection = None, threads = None, clobber = false))]
pub fn array_gather(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    index: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    selection: Option<Bound<'_, PyAny>>,
    threads: Option<usize>,
    clobber: bool,
) -> PyResult<()> {
    let threads = checked_threads(threads)?;
    let on_error = on_error(clobber);
    let (source, index, target) = (Array::new(x, "x")?, Array::new(index, "index")?, Array::output(out)?);
    same_shape(&index, "index", &target, "out")?;
    let mask = optional(&selection, "selection")?;
    let selection = selected(&mask, &target, "out")?;
    let (x, indices, out) = (source.view(), index.view(), target.view());
    let arrays = [Some(&source), Some(&index), Some(&target), mask.as_ref()];
    // SAFETY: the arrays are dense and aligned, the output is writable, and `call` keeps their memory. Indices are bounded
    // where they are used, whoever writes them meanwhile.
    call(py, indices.bytes(), &arrays, |stop| unsafe {
        primitives::gather(x, indices, out, selection.as_ref(), on_error, Execution { threads, stop })
    })
}

/// How a grid is divided over ranks.
#[pyclass(module = "weft._core", frozen)]
pub struct Division(primitives::Division);

#[pymethods]
impl Division {
    #[new]
    fn new(
        shape: Vec<usize>,
        block: Vec<usize>,
        cells: Vec<usize>,
        ranks: Vec<usize>,
        extents: Vec<usize>,
    ) -> PyResult<Self> {
        primitives::Division::new(&shape, &block, &cells, ranks, extents).map(Division).map_err(usage)
    }
}

/// Addresses by the ranks that have them.
#[pyfunction]
#[pyo3(signature = (index, division, offsets, elements, selection = None))]
pub fn array_partition(
    py: Python<'_>,
    index: &Bound<'_, PyAny>,
    division: &Division,
    offsets: &Bound<'_, PyAny>,
    elements: &Bound<'_, PyAny>,
    selection: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<usize>> {
    let index = Array::new(index, "index")?;
    let (offsets, elements) = (Array::writable(offsets, "offsets")?, Array::writable(elements, "elements")?);
    let mask = optional(&selection, "selection")?;
    let selection = selected(&mask, &index, "index")?;
    let (indices, out) = (index.view(), [offsets.view(), elements.view()]);
    let arrays = [Some(&index), Some(&offsets), Some(&elements), mask.as_ref()];
    // SAFETY: the arrays are dense and aligned, the outputs are writable, and `call` keeps their memory. Indices are bounded
    // where they are used, whoever writes them meanwhile.
    call(py, indices.bytes(), &arrays, |stop| unsafe {
        primitives::partition(indices, selection.as_ref(), &division.0, out, Execution { threads: None, stop })
    })
}

/// Each element to where its index says, or one element to all of those; with `clobber` the output may hold anything after
/// an index that is out of range.
#[pyfunction]
#[pyo3(signature = (x, index, out, combine = None, selection = None, threads = None, workspace = None, clobber = false))]
#[expect(clippy::too_many_arguments, reason = "those of the Python function")]
pub fn array_send(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    index: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    combine: Option<&str>,
    selection: Option<Bound<'_, PyAny>>,
    threads: Option<usize>,
    workspace: Option<Bound<'_, SendWorkspace>>,
    clobber: bool,
) -> PyResult<()> {
    let threads = checked_threads(threads)?;
    let on_error = on_error(clobber);
    let collisions = Collisions::parse(combine).map_err(usage)?;
    let (source, index, target) = (Array::new(x, "x")?, Array::new(index, "index")?, Array::output(out)?);
    let mask = optional(&selection, "selection")?;
    let selection = if source.view().length == 1 {
        selected(&mask, &index, "index")?
    } else {
        same_shape(&index, "index", &source, "x")?;
        selected(&mask, &source, "x")?
    };
    // A workspace that another thread sorts in is not waited for: this send has one of its own then.
    let mut held = workspace.as_ref().and_then(|workspace| workspace.get().memory.try_lock().ok());
    let workspace = held.as_mut().map(|memory| memory.view());
    let (x, indices, out) = (source.view(), index.view(), target.view());
    let arrays = [Some(&source), Some(&index), Some(&target), mask.as_ref()];
    // SAFETY: the arrays are dense and aligned, the output is writable, and `call` keeps their memory; the workspace is
    // locked. Indices are bounded where they are used, whoever writes them meanwhile.
    call(py, indices.bytes(), &arrays, |stop| unsafe {
        let execution = Execution { threads, stop };
        primitives::send(x, indices, out, collisions, selection.as_ref(), workspace.as_ref(), on_error, execution)
    })
}

/// Memory that sends sort their messages in, which nobody else can see: what is read from it is trusted.
struct Workspace {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is memory of its own, and used through a lock.
unsafe impl Send for Workspace {}

impl Workspace {
    /// None where there is no such memory.
    fn new(bytes: usize) -> Option<Self> {
        /// Huge pages are asked for from this size on, and begin at multiples of it.
        const HUGE_PAGE: usize = 2 << 20;
        const LINES: usize = 2 * weft_simd::CACHE_LINE;
        let layout = Layout::from_size_align(bytes.max(1), if bytes < HUGE_PAGE { LINES } else { HUGE_PAGE }).ok()?;
        // Not zeroed, which would touch every page before the system is asked for huge ones, as an aligned layout is
        // zeroed by hand. Sends read nothing that they have not written.
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        weft_simd::advise_huge_pages(start.as_ptr(), bytes);
        Some(Self { start, layout })
    }

    fn view(&mut self) -> View {
        View { kind: ElementType::Uint8, pointer: self.start.as_ptr(), length: self.layout.size() }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, in `new`.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Where large sends sort their messages, kept from one to the next.
#[pyclass(frozen, module = "weft._core")]
pub struct SendWorkspace {
    memory: Mutex<Workspace>,
    bytes: usize,
}

#[pymethods]
impl SendWorkspace {
    /// A workspace of so many bytes. Raises MemoryError.
    #[new]
    fn new(bytes: usize) -> PyResult<Self> {
        let refused = || PyMemoryError::new_err(format!("there is no memory for a workspace of {bytes} bytes"));
        let memory = Workspace::new(bytes).ok_or_else(refused)?;
        Ok(Self { memory: Mutex::new(memory), bytes })
    }

    /// Its bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.bytes
    }
}

/// Bytes of a workspace that a send sorts its messages in.
#[pyfunction]
#[pyo3(signature = (x, out, threads = None))]
pub fn array_send_workspace_bytes(
    x: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    threads: Option<usize>,
) -> PyResult<usize> {
    let threads = checked_threads(threads)?;
    let (x, out) = (Array::new(x, "x")?.view(), Array::new(out, "out")?.view());
    Ok(primitives::send_workspace_bytes(x.kind, x.length, out.length, threads))
}
