//! Copies of short runs of bytes without a call.

use std::ptr::{self, read_unaligned, write_unaligned};

/// Copies `length` bytes between regions that do not overlap; up to 128 bytes by pairs of moves that may overlap each
/// other, because a call of `memcpy` takes as long as they do.
///
/// # Safety
///
/// `source` is readable and `target` writable for `length` bytes, and the two do not overlap.
#[inline(always)]
pub unsafe fn copy_piece(source: *const u8, target: *mut u8, length: usize) {
    // SAFETY: `source` is readable and `target` writable for `length` bytes (this function's condition), within which
    // every access of an arm lies, as the arm has bounded the length.
    unsafe {
        match length {
            0 => {}
            1 => *target = *source,
            2..=3 => ends::<u16>(source, target, length),
            4..=7 => ends::<u32>(source, target, length),
            8..=15 => ends::<u64>(source, target, length),
            16..=32 => ends::<[u64; 2]>(source, target, length),
            33..=64 => ends::<[u64; 4]>(source, target, length),
            65..=128 => ends::<[u64; 8]>(source, target, length),
            _ => ptr::copy_nonoverlapping(source, target, length),
        }
    }
}

/// The first and the last `T` of a run that is at least one and at most two `T` long.
#[inline(always)]
unsafe fn ends<T: Copy>(source: *const u8, target: *mut u8, length: usize) {
    let last = length - size_of::<T>();
    // SAFETY: `length` is at least the size of T, by the match above.
    unsafe {
        let (first_value, last_value) =
            (read_unaligned(source.cast::<T>()), read_unaligned(source.add(last).cast::<T>()));
        write_unaligned(target.cast(), first_value);
        write_unaligned(target.add(last).cast(), last_value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_length() {
        let source: Vec<u8> = (1..=200).collect();
        for length in 0..=150 {
            let mut target = vec![0_u8; 152];
            // SAFETY: both are longer than the length plus the offset.
            unsafe { copy_piece(source.as_ptr().add(7), target.as_mut_ptr().add(1), length) };
            assert_eq!(target[0], 0);
            assert_eq!(target[1..=length], source[7..7 + length]);
            assert!(target[length + 1..].iter().all(|&byte| byte == 0));
        }
    }
}
