//! Memory for phantoms: bytes of no meaning that MPI reads and writes so that times are real.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

const PAGE: usize = 4096;

/// Page-aligned bytes that only the MPI library reads and writes; weft never makes a reference to them. So several
/// receives of phantoms may have their bytes written over each other.
#[derive(Debug)]
pub struct Area {
    start: NonNull<u8>,
    layout: Layout,
}

impl Area {
    fn new(len: usize) -> Area {
        let layout =
            Layout::from_size_align(len.max(1).next_multiple_of(PAGE), PAGE).expect("a size that memory can have");
        // SAFETY: the size is not zero.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        // Writing makes every page real: pages never written would all be one page of zeros, which stays in cache.
        // SAFETY: the area was just allocated with this size.
        unsafe { start.as_ptr().write_bytes(0, layout.size()) };
        Area { start, layout }
    }

    pub fn pointer(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// An area that grows on demand. Requests under way keep the area they began with.
#[derive(Debug)]
pub struct Scratch(RefCell<Rc<Area>>);

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch(RefCell::new(Rc::new(Area::new(PAGE))))
    }
}

impl Scratch {
    /// The start of at least `len` bytes, good until the next call.
    #[inline]
    pub fn pointer(&self, len: usize) -> *mut u8 {
        let area = self.0.borrow();
        if len <= area.layout.size() {
            return area.pointer();
        }
        drop(area);
        self.grow(len)
    }

    #[cold]
    fn grow(&self, len: usize) -> *mut u8 {
        let mut area = self.0.borrow_mut();
        *area = Rc::new(Area::new(len.max(2 * area.layout.size())));
        area.pointer()
    }

    /// An area of at least `len` bytes, to keep as long as a request needs it.
    pub fn area(&self, len: usize) -> Rc<Area> {
        self.pointer(len);
        self.0.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_in_use_outlives_growth() {
        let scratch = Scratch::default();
        let small = scratch.area(10);
        assert_eq!(scratch.pointer(20), small.pointer());
        let large = scratch.pointer(1 << 20);
        assert_ne!(large, small.pointer());
        assert_eq!(large as usize % PAGE, 0);
        assert_eq!(scratch.pointer(5), large);
        assert_eq!(Rc::strong_count(&small), 1);
    }
}
