//! What a message carries: bytes, or only their number.

use std::fmt;

use aligned_vec::{AVec, RuntimeAlign};
use bytemuck::Pod;

/// Owned bytes at a known alignment.
///
/// The bytes stay at one address while the buffer moves, so a request may hold a buffer while a library reads or
/// writes it.
#[derive(Clone)]
pub struct Buffer(AVec<u8, RuntimeAlign>);

impl Buffer {
    const CACHE_LINE: usize = weft_simd::CACHE_LINE;
    const PAGE: usize = 4096;

    /// `len` zero bytes, aligned to a cache line.
    pub fn zeroed(len: usize) -> Buffer {
        Buffer::zeroed_at(Buffer::CACHE_LINE, len)
    }

    /// `len` zero bytes, aligned to a page: what the measurement protocol asks for.
    pub fn page_aligned(len: usize) -> Buffer {
        Buffer::zeroed_at(Buffer::PAGE, len)
    }

    fn zeroed_at(alignment: usize, len: usize) -> Buffer {
        let mut bytes = AVec::with_capacity(alignment, len);
        bytes.resize(len, 0);
        Buffer(bytes)
    }

    /// A copy of `values`.
    pub fn of<T: Pod>(values: &[T]) -> Buffer {
        Buffer(AVec::from_slice(Buffer::CACHE_LINE, bytemuck::cast_slice(values)))
    }

    /// The bytes as values of type `T`.
    ///
    /// # Panics
    /// When the length is not a multiple of the size of `T`.
    pub fn values<T: Pod>(&self) -> &[T] {
        bytemuck::cast_slice(&self.0)
    }

    /// The bytes as values of type `T`, to be changed.
    ///
    /// # Panics
    /// When the length is not a multiple of the size of `T`.
    pub fn values_mut<T: Pod>(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.0)
    }

    /// Puts a copy of `bytes` in place of what is there, in the same memory where that is large enough.
    pub fn refill(&mut self, bytes: &[u8]) {
        self.0.clear();
        self.0.extend_from_slice(bytes);
    }

    /// How many bytes there is memory for.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Shortens the buffer to `len` bytes; does nothing when it is not longer.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Buffer {}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len() {
            0..=16 => write!(f, "Buffer({:?})", &self[..]),
            len => write!(f, "Buffer({:?}… {len} bytes)", &self[..16]),
        }
    }
}

/// The content of a message.
///
/// With [`Payload::Data`] a program computes its real answer on every backend. With [`Payload::Phantom`] only sizes
/// travel: a simulated run then needs no memory for data (on real backends phantoms move bytes of no meaning, so that
/// times are real).
///
/// # Examples
/// ```
/// use weft_comm::Payload;
///
/// let data = Payload::of(&[1.0_f64, 2.5]);
/// assert_eq!((data.len(), data.values::<f64>()), (16, Some(&[1.0, 2.5][..])));
/// // A phantom has a length and no content, and costs no memory however long it is.
/// let phantom = Payload::Phantom(1 << 40);
/// assert_eq!((phantom.len(), phantom.values::<f64>()), (1 << 40, None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Real bytes.
    Data(Buffer),
    /// This many bytes, none of them kept.
    Phantom(usize),
}

impl Payload {
    /// Nothing: what a barrier sends.
    pub const EMPTY: Payload = Payload::Phantom(0);

    /// A copy of `values` as data.
    pub fn of<T: Pod>(values: &[T]) -> Payload {
        Payload::Data(Buffer::of(values))
    }

    /// What is here, to be lent to a call that gives it back; nothing is left.
    #[inline]
    pub fn take(&mut self) -> Payload {
        std::mem::replace(self, Payload::EMPTY)
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        match self {
            Payload::Data(buffer) => buffer.len(),
            Payload::Phantom(len) => *len,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes as values of type `T`, or `None` for a phantom.
    ///
    /// # Panics
    /// When the length is not a multiple of the size of `T`.
    pub fn values<T: Pod>(&self) -> Option<&[T]> {
        match self {
            Payload::Data(buffer) => Some(buffer.values()),
            Payload::Phantom(_) => None,
        }
    }

    /// A payload of the same sort as this one (data or phantom) with `len` bytes of no meaning yet: to receive into.
    pub fn same_sort(&self, len: usize) -> Payload {
        match self {
            Payload::Data(_) => Payload::Data(Buffer::zeroed(len)),
            Payload::Phantom(_) => Payload::Phantom(len),
        }
    }

    /// A copy of the bytes `start..end`.
    ///
    /// # Panics
    /// When the range does not lie within the payload.
    ///
    /// # Examples
    /// ```
    /// use weft_comm::Payload;
    ///
    /// let mut whole = Payload::of(b"abcdef");
    /// assert_eq!(whole.part(1, 3).values::<u8>(), Some(&b"bc"[..]));
    /// whole.put(4, &Payload::of(b"XY"));
    /// assert_eq!(whole.values::<u8>(), Some(&b"abcdXY"[..]));
    /// ```
    pub fn part(&self, start: usize, end: usize) -> Payload {
        assert!(start <= end && end <= self.len(), "part {start}..{end} of a payload of {} bytes", self.len());
        match self {
            Payload::Data(buffer) => Payload::of(&buffer[start..end]),
            Payload::Phantom(_) => Payload::Phantom(end - start),
        }
    }

    /// Writes `part` over the bytes from `start` on. A phantom on either side leaves the bytes as they are.
    ///
    /// # Panics
    /// When `part` does not fit.
    pub fn put(&mut self, start: usize, part: &Payload) {
        let end = start + part.len();
        assert!(end <= self.len(), "{} bytes at {start} in a payload of {} bytes", part.len(), self.len());
        if let (Payload::Data(whole), Payload::Data(part)) = (self, part) {
            whole[start..end].copy_from_slice(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_typed() {
        let buffer = Buffer::page_aligned(8192);
        assert_eq!(buffer.as_ptr() as usize % 4096, 0);
        assert_eq!(Buffer::of(&[1.0f64, 2.0]).values::<f64>(), &[1.0, 2.0]);
        assert_eq!(Buffer::zeroed(0).len(), 0);
        let mut buffer = Buffer::of(&[1.0f64, 2.0]);
        let address = buffer.as_ptr();
        for bytes in [&[][..], &[7; 16], &[1, 2, 3]] {
            buffer.refill(bytes);
            assert_eq!((&buffer[..], buffer.as_ptr()), (bytes, address));
        }
        buffer.refill(&[5; 1000]);
        assert_eq!((&buffer[..], buffer.as_ptr() as usize % 64), (&[5; 1000][..], 0));
    }

    #[test]
    fn parts_are_cut_and_put_back() {
        let mut whole = Payload::of(&[1u8, 2, 3, 4]);
        assert_eq!(whole.part(1, 3), Payload::of(&[2u8, 3]));
        whole.put(2, &Payload::of(&[9u8]));
        assert_eq!(whole, Payload::of(&[1u8, 2, 9, 4]));
        assert_eq!(Payload::Phantom(8).part(2, 5), Payload::Phantom(3));
    }

    #[test]
    #[should_panic(expected = "part 2..9 of a payload of 4 bytes")]
    fn a_part_outside_is_refused() {
        Payload::Phantom(4).part(2, 9);
    }
}
