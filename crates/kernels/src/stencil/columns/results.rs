//! Where vectors of results go.

use super::super::lanes::{Lanes, Store, misplaced};
use super::super::scalar::Scalar;
use super::super::span::Row;

/// Results of a row, from its first to its last.
///
/// # Safety of all methods
/// The processor has the instructions of `V`, and the output has what is put there.
pub(in crate::stencil) trait Results<V: Lanes> {
    /// The vector at element `at`, which follows the one before.
    unsafe fn put(&mut self, at: usize, value: V);
    /// The first `count` lanes at element `at`, fewer than all, which end the row.
    unsafe fn put_last(&mut self, at: usize, value: V, count: usize);
    /// The row's first vector, after its last result: only where the results [wait](Self::waiting) for it.
    unsafe fn put_first(&mut self, at: usize, value: V);
    /// For a row whose first vector comes last: the first one that is put is the one behind it.
    fn waiting(self) -> Self;
}

/// Vectors are stored where they are, as the row says.
pub(super) struct RowResults<V: Lanes> {
    out: *mut V::Scalar,
    store: Store,
}

impl<V: Lanes> RowResults<V> {
    #[inline(always)]
    pub(super) fn of(row: &Row<'_, V::Scalar>) -> RowResults<V> {
        RowResults { out: row.out, store: row.store }
    }
}

impl<V: Lanes> Results<V> for RowResults<V> {
    #[inline(always)]
    unsafe fn put(&mut self, at: usize, value: V) {
        // SAFETY: the output has the vector (this function's condition), and the row's store fits its address.
        unsafe { value.put(self.out.add(at), self.store) };
    }

    #[inline(always)]
    unsafe fn put_last(&mut self, at: usize, value: V, count: usize) {
        if count > 0 {
            // SAFETY: the output has so many elements (this function's condition).
            unsafe { value.store_first(count, self.out.add(at)) };
        }
    }

    #[inline(always)]
    unsafe fn put_first(&mut self, at: usize, value: V) {
        // SAFETY: the output has the vector (this function's condition).
        unsafe { self.put(at, value) };
    }

    #[inline(always)]
    fn waiting(self) -> RowResults<V> {
        self
    }
}

/// Vectors are put together anew, so that each non-temporal store fills a line of its own; what shares a line with other rows
/// goes through the caches.
pub(super) struct Realigned<V: Lanes> {
    out: *mut V::Scalar,
    /// Elements from the start of a vector of results to the next line, from one to all.
    to_line: usize,
    /// The last vector, of which the elements from `to_line` on are not yet stored.
    last: V,
    is_first: bool,
    /// The vector behind the row's first, which comes last: the line that both are part of waits.
    second: Option<V>,
    waits: bool,
}

impl<V: Lanes> Realigned<V> {
    /// For a row of results whose element `first` is its first.
    #[inline(always)]
    pub(super) unsafe fn of(out: *mut V::Scalar, first: usize) -> Realigned<V> {
        let to_line = V::LANES - misplaced::<V>(out.wrapping_add(first));
        // SAFETY: registers only.
        let last = unsafe { V::splat(V::Scalar::ZERO) };
        Realigned { out, to_line, last, is_first: true, second: None, waits: false }
    }
}

impl<V: Lanes> Results<V> for Realigned<V> {
    #[inline(always)]
    unsafe fn put(&mut self, at: usize, value: V) {
        // SAFETY: the output has the vector and those before it in the row (this function's condition); a line that is
        // stored ends `to_line` elements into the vector.
        unsafe {
            let out = self.out.add(at);
            if !self.is_first {
                self.last.join(value, self.to_line).stream(out.add(self.to_line).sub(V::LANES));
            } else if self.to_line == V::LANES {
                value.stream(out);
            } else if self.waits {
                self.second = Some(value);
            } else {
                value.store_first(self.to_line, out);
            }
        }
        self.last = value;
        self.is_first = false;
    }

    #[inline(always)]
    unsafe fn put_last(&mut self, at: usize, value: V, count: usize) {
        // SAFETY: the output has so many elements from `at`, and the vector before where there was one (this function's
        // condition).
        unsafe {
            let out = self.out.add(at);
            if self.is_first {
                if count > 0 {
                    value.store_first(count, out);
                }
                return;
            }
            let held = V::LANES - self.to_line;
            let (joined, start) = (self.last.join(value, self.to_line), out.sub(held));
            if held + count < V::LANES {
                if held + count > 0 {
                    joined.store_first(held + count, start);
                }
                return;
            }
            joined.stream(start);
            if held + count > V::LANES {
                value.join(value, self.to_line).store_first(held + count - V::LANES, start.add(V::LANES));
            }
        }
    }

    #[inline(always)]
    unsafe fn put_first(&mut self, at: usize, value: V) {
        // SAFETY: the output has the vector and, where it begins within a line, the rest of the line behind it (this
        // function's condition: it was followed by another vector).
        unsafe {
            let out = self.out.add(at);
            match self.second {
                Some(second) => {
                    value.store_first(self.to_line, out);
                    value.join(second, self.to_line).stream(out.add(self.to_line));
                }
                None => value.stream(out),
            }
        }
    }

    #[inline(always)]
    fn waiting(self) -> Realigned<V> {
        Realigned { waits: true, ..self }
    }
}
