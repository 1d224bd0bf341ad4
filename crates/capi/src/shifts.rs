//! Shifts of arrays in one process.

use std::ffi::{c_int, c_void};

use weft_polyshift::exchange::{Boundary, Shift as RankShift};
use weft_polyshift::plan::{Edge, Plan, Shift};

use crate::status::{Failure, Outcome, code, free, list, make, object, of_axes, required};

/// `weft_shift` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CShift {
    by: i64,
    axis: usize,
    boundary: c_int,
    source: usize,
    value: *const c_void,
}

pub const CIRCULAR: c_int = 0;
pub const VALUE: c_int = 1;
pub const ARRAY: c_int = 2;

/// Shifts of arrays of one shape, and the boundary arrays that they read.
pub struct Shifts {
    plan: Plan,
    boundaries: Vec<*const u8>,
    threads: Option<usize>,
}

impl CShift {
    /// The bytes of an element, from where the caller has it.
    ///
    /// # Safety
    /// `value` begins that many bytes.
    unsafe fn bytes(&self, number: usize, count: usize) -> Outcome<Vec<u8>> {
        required(self.value, &format!("the boundary of shift {number}"))?;
        // SAFETY: `value` is not null and begins as many bytes (this function's condition).
        Ok(unsafe { std::slice::from_raw_parts(self.value.cast::<u8>(), count) }.to_vec())
    }

    fn no_such_boundary(&self, number: usize) -> Failure {
        Failure::Usage(format!(
            "shift {number} has boundary {}: expected WEFT_CIRCULAR, WEFT_VALUE or WEFT_ARRAY",
            self.boundary
        ))
    }

    /// As a shift of distributed arrays: `shape` is that of the whole array.
    ///
    /// # Safety
    /// `value` begins an element, or an array of the shape without the axis, as the boundary says.
    pub unsafe fn of_ranks(
        &self,
        number: usize,
        sources: usize,
        shape: &[usize],
        element: usize,
    ) -> Outcome<RankShift> {
        let boundary = match self.boundary {
            CIRCULAR => Boundary::Circular,
            // SAFETY: `value` begins an element (this function's condition).
            VALUE => Boundary::Value(unsafe { self.bytes(number, element)? }),
            ARRAY => {
                let extent = shape.get(self.axis).copied().unwrap_or(1).max(1);
                let bytes = shape.iter().product::<usize>() / extent * element;
                // SAFETY: `value` begins an array of the shape without the axis (this function's condition).
                Boundary::Array(unsafe { self.bytes(number, bytes)? })
            }
            _ => return Err(self.no_such_boundary(number)),
        };
        Ok(RankShift { source: self.source, result: sources + number, axis: self.axis, by: self.by, boundary })
    }

    pub fn source(&self) -> usize {
        self.source
    }

    /// Its boundary array, if it has one.
    pub fn array(&self) -> Option<*const u8> {
        (self.boundary == ARRAY).then_some(self.value.cast())
    }
}

/// # Safety
/// The lists have as many elements as are said, and the values of shifts begin an element or a boundary array.
unsafe fn planned(shape: &[usize], element: usize, shifts: &[CShift], threads: c_int) -> Outcome<Shifts> {
    let mut boundaries = Vec::new();
    let mut all = Vec::with_capacity(shifts.len());
    for (number, shift) in shifts.iter().enumerate() {
        let edge = match shift.boundary {
            CIRCULAR => Edge::Circular,
            // SAFETY: the value of a shift begins an element (this function's condition).
            VALUE => Edge::Constant(unsafe { shift.bytes(number, element)? }),
            ARRAY => {
                required(shift.value, &format!("the boundary of shift {number}"))?;
                boundaries.push(shift.value.cast());
                Edge::Array(boundaries.len() - 1)
            }
            _ => return Err(shift.no_such_boundary(number)),
        };
        all.push(Shift { axis: shift.axis, by: shift.by, edge, source: shift.source });
    }
    if element == 0 {
        return Err(Failure::usage("an element has 0 bytes"));
    }
    let threads = match threads {
        0 => None,
        1.. => Some(threads as usize),
        _ => return Err(Failure::Usage(format!("threads is {threads}: expected a number, or 0 to have it chosen"))),
    };
    Ok(Shifts { plan: Plan::new(shape, element, &all).map_err(Failure::usage)?, boundaries, threads })
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_shifts_plan(
    plan: *mut *mut Shifts,
    axes: usize,
    shape: *const usize,
    element: usize,
    count: usize,
    shifts: *const CShift,
    threads: c_int,
) -> c_int {
    // SAFETY: `plan` may be written, the lists begin `axes` and `count` elements, and the values of shifts an element or a
    // boundary array each (this function's conditions).
    unsafe { make(plan, || planned(of_axes(shape, axes, "shape")?, element, list(shifts, count, "shifts")?, threads)) }
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_shifts_execute(
    plan: *const Shifts,
    sources: *const *const c_void,
    results: *const *mut c_void,
) -> c_int {
    code(|| {
        // SAFETY: the plan is one of this library, and the lists have as many arrays as it is of (this function's
        // conditions).
        let (shifts, sources, results) = unsafe {
            let shifts = object(plan, "plan")?;
            let sources = list(sources, shifts.plan.sources(), "sources")?;
            (shifts, sources, list(results, shifts.plan.outputs(), "results")?)
        };
        let plan = &shifts.plan;
        if plan.bytes() == 0 {
            return Ok(());
        }
        let read: Vec<*const u8> = sources.iter().map(|source| source.cast()).collect();
        let written: Vec<*mut u8> = results.iter().map(|result| result.cast()).collect();
        for (number, pointer) in read.iter().enumerate() {
            required(*pointer, &format!("source {number}"))?;
        }
        for (number, pointer) in written.iter().enumerate() {
            required(*pointer, &format!("result {number}"))?;
        }
        check_apart(plan, &read, &shifts.boundaries, &written)?;
        let prepared = plan.prepare_dense(&read, &shifts.boundaries, &written);
        // SAFETY: the arrays are as large as the plan says (this function's condition), and were found not to overlap.
        unsafe { prepared.run(shifts.threads) };
        Ok(())
    })
}

/// Refuses results that overlap anything.
fn check_apart(plan: &Plan, sources: &[*const u8], boundaries: &[*const u8], results: &[*mut u8]) -> Outcome {
    let range = |pointer: *const u8, bytes: usize| (pointer as usize, pointer as usize + bytes);
    let meet = |one: (usize, usize), other: (usize, usize)| one.0 < other.1 && other.0 < one.1;
    for (number, &result) in results.iter().enumerate() {
        let written = range(result, plan.bytes());
        let refuse = |what: String| {
            Err(Failure::Usage(format!("result {number} overlaps {what}: give each shift memory of its own")))
        };
        if let Some(other) = results[..number].iter().position(|&other| meet(written, range(other, plan.bytes()))) {
            return refuse(format!("result {other}"));
        }
        if let Some(source) = sources.iter().position(|&source| meet(written, range(source, plan.bytes()))) {
            return refuse(format!("source {source}"));
        }
        for (boundary, &array) in boundaries.iter().enumerate() {
            let bytes = plan.face(boundary).iter().product::<usize>() * plan.item();
            if meet(written, range(array, bytes)) {
                return refuse(format!("boundary array {boundary}"));
            }
        }
    }
    Ok(())
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_shifts_free(plan: *mut Shifts) {
    // SAFETY: it was made by `weft_shifts_plan` (this function's condition).
    unsafe { free(plan) }
}
