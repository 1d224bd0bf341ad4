//! Arrays that belong to somebody else.

use super::element::{Bool8, Element};
use super::{ElementType, PrimitiveError};

/// A dense array in C order; where it is only read, `pointer` is not written through.
///
/// The functions that take views are unsafe: the memory must be readable, that of outputs writable, and elements aligned,
/// until they return. Others may write it meanwhile, as another thread of Python can write an array: results are then of
/// any values, but what is read from memory is never trusted twice. Where an element decides about an address it is read
/// once, by a volatile read or assembly, and bounded then, whatever was found out about the array before.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub kind: ElementType,
    pub pointer: *mut u8,
    pub length: usize,
}

// SAFETY: a view is an address; those who use it answer for what is there.
unsafe impl Send for View {}
// SAFETY: a view is an address, which threads may share; the functions that take views say what must be there.
unsafe impl Sync for View {}

impl View {
    /// Bytes of all elements.
    pub fn bytes(&self) -> usize {
        self.length * self.kind.size()
    }

    fn ends(&self) -> (usize, usize) {
        (self.pointer as usize, self.pointer as usize + self.bytes())
    }

    /// Whether the two have a byte in common.
    pub fn overlaps(&self, other: &View) -> bool {
        let ((start, end), (other_start, other_end)) = (self.ends(), other.ends());
        start < other_end && other_start < end
    }

    /// Whether the two are the same elements.
    pub(super) fn is_same(&self, other: &View) -> bool {
        self.pointer == other.pointer && self.kind.size() == other.kind.size() && self.length == other.length
    }

    pub(super) fn check_length(&self, array: &'static str, wanted: usize) -> Result<(), PrimitiveError> {
        if self.length == wanted {
            return Ok(());
        }
        Err(PrimitiveError::Length { array, actual: self.length, wanted })
    }

    pub(super) fn check_type(&self, array: &'static str, wanted: ElementType) -> Result<(), PrimitiveError> {
        if self.kind == wanted {
            return Ok(());
        }
        Err(PrimitiveError::Type { array, actual: self.kind, wanted: wanted.name().to_owned() })
    }

    pub(super) fn check_apart(
        &self,
        one: &'static str,
        view: &View,
        other: &'static str,
    ) -> Result<(), PrimitiveError> {
        if self.overlaps(view) { Err(PrimitiveError::Overlap { one, other }) } else { Ok(()) }
    }

    /// # Safety
    ///
    /// Elements are of type T, readable, and not written meanwhile.
    pub(super) unsafe fn slice<'a, T: Element>(&self) -> &'a [T] {
        debug_assert_eq!(self.kind, T::TYPE);
        // SAFETY: elements are of type `T` and readable (this function's condition), so that they are as large as a
        // `T`.
        unsafe { self.elements() }
    }

    /// As elements of another type of the same size.
    ///
    /// # Safety
    ///
    /// Any bits of an element are a T; elements are readable, and not written meanwhile.
    pub(super) unsafe fn elements<'a, T: Element>(&self) -> &'a [T] {
        debug_assert_eq!(self.kind.size(), size_of::<T>());
        if self.length == 0 {
            return &[];
        }
        // SAFETY: `length` elements are readable and aligned, and any bits of one are a `T` of the same size (this
        // function's condition).
        unsafe { std::slice::from_raw_parts(self.pointer.cast_const().cast(), self.length) }
    }

    /// As elements of another type of the same size, to be written.
    ///
    /// # Safety
    ///
    /// Any bits of an element are a T; elements are writable, and used by nobody else meanwhile.
    pub(super) unsafe fn elements_mut<'a, T: Element>(&self) -> &'a mut [T] {
        debug_assert_eq!(self.kind.size(), size_of::<T>());
        if self.length == 0 {
            return &mut [];
        }
        // SAFETY: `length` elements are writable and aligned, any bits of one are a `T` of the same size, and nobody
        // else uses them (this function's condition).
        unsafe { std::slice::from_raw_parts_mut(self.pointer.cast(), self.length) }
    }
}

/// The selected elements: all of them, or those with a true value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection<'a>(pub Option<&'a [Bool8]>);

impl<'a> Selection<'a> {
    /// Checks what was given for an array of so many elements, of which `out` is the result.
    ///
    /// # Safety
    ///
    /// The elements are readable and not written meanwhile.
    pub(super) unsafe fn checked(
        view: Option<&View>,
        length: usize,
        out: Option<&View>,
    ) -> Result<Self, PrimitiveError> {
        let Some(view) = view else { return Ok(Self(None)) };
        view.check_type("selection", ElementType::Bool)?;
        view.check_length("selection", length)?;
        if let Some(out) = out {
            out.check_apart("selection", view, "out")?;
        }
        // SAFETY: the elements are readable (this function's condition) and of bool, which was checked; any bits are a
        // `Bool8`.
        Ok(Self(Some(unsafe { view.slice() })))
    }

    #[inline(always)]
    pub(super) fn holds(self, index: usize) -> bool {
        self.0.is_none_or(|mask| mask[index].holds())
    }

    /// That of the elements `from..to`.
    #[inline(always)]
    pub(super) fn part(self, from: usize, to: usize) -> Selection<'a> {
        Selection(self.0.map(|mask| &mask[from..to]))
    }
}
