//! Hints to the processor about memory that will be read soon.
//!
//! The state of a few thousand ranks is larger than the nearest caches, and an event touches its message, two ranks and
//! a receive in no order that hardware could guess. The simulator knows them some hundred instructions ahead.

/// Prefetches the cache lines of `value`.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_bytes(std::ptr::from_ref(value).addr(), size_of::<T>());
}

/// Prefetches the cache lines of `bytes` bytes from `address`; nothing where the architecture has no stable instruction
/// for it.
#[inline(always)]
pub fn prefetch_bytes(address: usize, bytes: usize) {
    for line in (0..bytes).step_by(weft_simd::CACHE_LINE) {
        weft_simd::prefetch(std::ptr::without_provenance::<u8>(address.wrapping_add(line)));
    }
}
