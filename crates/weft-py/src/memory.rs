//! Memory of numpy arrays that calls are given again and again: whose it is, how far it goes, that it stays.

use std::ops::Range;

use numpy::npyffi::{NPY_ARRAY_WRITEABLE, PyArray_Check, PyArrayObject, objects::_PyArray_GET_ITEM_DATA};
use pyo3::prelude::*;
use weft_polyshift::exchange::Storage;

use crate::errors::UsageError;
use crate::guard::Pinned;

/// The memory of an array, from its first element on.
#[pyclass(name = "Memory", module = "weft._core", frozen)]
pub struct PyMemory {
    start: *mut u8,
    /// Bytes that there are, counted from `start`.
    bytes: Range<isize>,
    is_writable: bool,
    _array: Py<PyAny>,
    _pinned: Pinned,
}

// SAFETY: it is an address and how far memory goes there; those who use it hold the object, which keeps that memory.
unsafe impl Send for PyMemory {}
// SAFETY: nothing of it changes.
unsafe impl Sync for PyMemory {}

#[pymethods]
impl PyMemory {
    /// Of a numpy array; of a view also what its base has around it. Raises UsageError.
    #[new]
    fn new(array: &Bound<'_, PyAny>) -> PyResult<PyMemory> {
        let (start, own, is_writable) = reached(array)?;
        let mut bytes = own;
        let mut base = array.getattr("base")?;
        // SAFETY: the object is alive and this thread is attached.
        while unsafe { PyArray_Check(base.py(), base.as_ptr()) } != 0 {
            let (there, reach, _) = reached(&base)?;
            let shift = there as isize - start as isize;
            bytes = bytes.start.min(reach.start + shift)..bytes.end.max(reach.end + shift);
            base = base.getattr("base")?;
        }
        Ok(PyMemory { start, bytes, is_writable, _array: array.clone().unbind(), _pinned: Pinned::new([array]) })
    }
}

/// Where an array's first element is, the bytes from there on that its elements take, and whether they may be written.
fn reached(array: &Bound<'_, PyAny>) -> PyResult<(*mut u8, Range<isize>, bool)> {
    // SAFETY: the object is alive and this thread is attached.
    if unsafe { PyArray_Check(array.py(), array.as_ptr()) } == 0 {
        let kind = array.get_type().name()?;
        return Err(UsageError::new_err(format!("memory is of numpy arrays, not of a {kind}")));
    }
    // SAFETY: it is an array, and alive; nothing changes its fields while this thread is attached.
    let fields = unsafe { &*_PyArray_GET_ITEM_DATA(array.as_ptr().cast::<PyArrayObject>()) };
    let axes = fields.nd as usize;
    let (extents, strides): (&[isize], &[isize]) = match axes {
        0 => (&[], &[]),
        // SAFETY: an array has an extent and a stride for each axis; without axes the fields may be null.
        _ => unsafe {
            (std::slice::from_raw_parts(fields.dimensions, axes), std::slice::from_raw_parts(fields.strides, axes))
        },
    };
    let item: isize = array.getattr("itemsize")?.extract()?;
    let start = fields.data.cast::<u8>();
    let is_writable = fields.flags & NPY_ARRAY_WRITEABLE != 0;
    if extents.contains(&0) {
        return Ok((start, 0..0, is_writable));
    }
    let reaches = extents.iter().zip(strides).map(|(&extent, &stride)| (extent - 1) * stride);
    let (low, high) = reaches.fold((0, 0), |(low, high), reach| (low + reach.min(0), high + reach.max(0)));
    Ok((start, low..high + item, is_writable))
}

impl PyMemory {
    /// Where these bytes, counted from the first element, may be read. Raises UsageError.
    pub fn readable(&self, needed: &Range<isize>, what: &str) -> PyResult<*mut u8> {
        if !needed.is_empty() && (needed.start < self.bytes.start || needed.end > self.bytes.end) {
            return Err(UsageError::new_err(format!(
                "{what} has the bytes {} to {} of its memory, but {} to {} are needed",
                self.bytes.start, self.bytes.end, needed.start, needed.end
            )));
        }
        Ok(self.start)
    }

    /// Where these bytes may be written. Raises UsageError.
    pub fn writable(&self, needed: &Range<isize>, what: &str) -> PyResult<*mut u8> {
        if !self.is_writable {
            return Err(UsageError::new_err(format!("{what} is read-only")));
        }
        self.readable(needed, what)
    }

    /// How many bytes there are from the first element on.
    pub fn after(&self) -> usize {
        self.bytes.end.max(0) as usize
    }
}

/// The bytes that indices from `-before` up to `extent + after` reach along axes of these strides, whose first element is at
/// `origin`. None where that is no range of addresses.
pub fn span(
    origin: isize,
    axes: impl Iterator<Item = (usize, [usize; 2], isize)>,
    element: usize,
) -> Option<Range<isize>> {
    let (mut low, mut high) = (origin as i128, origin as i128);
    for (extent, [before, after], stride) in axes {
        if extent == 0 {
            return Some(0..0);
        }
        let stride = stride as i128;
        let (first, last) = (-(before as i128) * stride, (extent as i128 - 1 + after as i128) * stride);
        low = low.checked_add(first.min(last))?;
        high = high.checked_add(first.max(last))?;
    }
    Some(isize::try_from(low).ok()?..isize::try_from(high.checked_add(element as i128)?).ok()?)
}

/// The bytes of an array that lies so, of a full block of these extents and its ghosts. Raises UsageError.
pub fn stored(storage: &Storage, block: &[usize]) -> PyResult<Range<isize>> {
    let axes = block.len();
    if storage.strides.len() != axes || storage.ghosts.len() != axes {
        return Err(UsageError::new_err(format!(
            "an array is described with {} strides and ghosts of {} axes, but the geometry has {axes}",
            storage.strides.len(),
            storage.ghosts.len()
        )));
    }
    let elements = block.iter().zip(&storage.ghosts).try_fold(storage.element, |product, (&extent, ghosts)| {
        product.checked_mul(extent.checked_add(ghosts[0])?.checked_add(ghosts[1])?.max(1))
    });
    if storage.element == 0 || elements.is_none_or(|bytes| bytes > isize::MAX as usize / 2) {
        return Err(UsageError::new_err(format!(
            "an array of blocks of {block:?} elements of {} bytes with ghosts {:?} cannot be",
            storage.element, storage.ghosts
        )));
    }
    let all = block.iter().zip(&storage.ghosts).zip(&storage.strides);
    span(storage.origin, all.map(|((&extent, &ghosts), &stride)| (extent, ghosts, stride)), storage.element)
        .ok_or_else(|| UsageError::new_err("the strides and ghosts of an array reach beyond all memory"))
}
