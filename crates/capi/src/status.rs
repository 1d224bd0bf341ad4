//! Codes, and what was wrong.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A call that did not do what it should.
pub enum Failure {
    /// What cannot be meant.
    Usage(String),
    /// What failed.
    Run(String),
}

impl Failure {
    pub fn usage(error: impl ToString) -> Failure {
        Failure::Usage(error.to_string())
    }

    pub fn run(error: impl ToString) -> Failure {
        Failure::Run(error.to_string())
    }
}

pub type Outcome<T = ()> = Result<T, Failure>;

const OK: c_int = 0;
const RUN: c_int = 1;
const USAGE: c_int = 2;
const DEFECT: c_int = 3;

thread_local! {
    /// What was wrong in this thread's last failed call; the caller may read it until the next one.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

fn tell(message: String, code: c_int) -> c_int {
    let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
    MESSAGE.with_borrow_mut(|message| *message = text);
    code
}

/// The code of a call.
pub fn code(call: impl FnOnce() -> Outcome) -> c_int {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => OK,
        Ok(Err(Failure::Usage(message))) => tell(message, USAGE),
        Ok(Err(Failure::Run(message))) => tell(message, RUN),
        Err(_) => tell("a defect of weft; standard error says where".to_owned(), DEFECT),
    }
}

/// What was wrong in the last call of this thread that failed.
#[unsafe(no_mangle)]
pub extern "C" fn weft_message() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// The version: three numbers as one, a byte each for the last two.
#[unsafe(no_mangle)]
pub extern "C" fn weft_version() -> c_int {
    let mut numbers = env!("CARGO_PKG_VERSION").split('.').map(|number| number.parse::<c_int>().unwrap_or(0));
    (0..3).fold(0, |version, _| version << 8 | numbers.next().unwrap_or(0))
}

/// Where a result goes, and what is read of a caller's pointer.
pub fn required<T>(pointer: *const T, what: &str) -> Outcome {
    if pointer.is_null() { Err(Failure::Usage(format!("{what} is NULL"))) } else { Ok(()) }
}

/// The most axes of an array, as numpy has it. More are a mistake, whose list is not read.
pub const MAX_AXES: usize = 64;

/// A number for each axis, which a caller's pointer begins.
///
/// # Safety
/// It begins as many, if there may be as many, which live and are not written while they are used.
pub unsafe fn of_axes<'a, T>(pointer: *const T, axes: usize, what: &str) -> Outcome<&'a [T]> {
    if axes > MAX_AXES {
        return Err(Failure::Usage(format!("an array has at most {MAX_AXES} axes, not {axes}")));
    }
    // SAFETY: the pointer begins as many (this function's condition).
    unsafe { list(pointer, axes, what) }
}

/// The elements that a caller's pointer begins.
///
/// # Safety
/// It begins as many, if memory holds as many, which live and are not written while they are used.
pub unsafe fn list<'a, T>(pointer: *const T, count: usize, what: &str) -> Outcome<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    required(pointer, what)?;
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::Usage(format!("{what}: no memory holds {count} of them")));
    }
    // SAFETY: `pointer` is not null and begins `count` elements (this function's condition).
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// An object that was made here.
///
/// # Safety
/// It is NULL, or was made by this library and not given back.
pub unsafe fn object<'a, T>(pointer: *const T, what: &str) -> Outcome<&'a T> {
    required(pointer, what)?;
    // SAFETY: it is a live object of this library (this function's condition).
    Ok(unsafe { &*pointer })
}

/// As [`object`], to be changed.
///
/// # Safety
/// As [`object`], and nobody else uses it meanwhile.
pub unsafe fn object_mut<'a, T>(pointer: *mut T, what: &str) -> Outcome<&'a mut T> {
    required(pointer, what)?;
    // SAFETY: it is a live object of this library that nobody else uses (this function's condition).
    Ok(unsafe { &mut *pointer })
}

/// Writes an object's pointer to where the caller wants it: NULL first, so that a failed call leaves nothing to give back.
///
/// # Safety
/// `result` may be written.
pub unsafe fn make<T>(result: *mut *mut T, make: impl FnOnce() -> Outcome<T>) -> c_int {
    code(|| {
        required(result, "the pointer to write to")?;
        // SAFETY: `result` may be written (this function's condition).
        unsafe { result.write(std::ptr::null_mut()) };
        let object = Box::into_raw(Box::new(make()?));
        // SAFETY: `result` may be written (this function's condition).
        unsafe { result.write(object) };
        Ok(())
    })
}

/// Gives an object back.
///
/// # Safety
/// It is NULL, or was made by [`make`] and not given back.
pub unsafe fn free<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: it was made by `Box::into_raw` in `make` and is given back once (this function's condition).
        let object = unsafe { Box::from_raw(object) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(object)));
    }
}
