//! Where the elements of arrays are.

/// An array that is read: its first element (all indices zero), and bytes from one index to the next along each axis.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    pub pointer: *const u8,
    pub strides: &'a [isize],
}

/// An array that is written.
#[derive(Clone, Copy, Debug)]
pub struct StridedMut<'a> {
    pub pointer: *mut u8,
    pub strides: &'a [isize],
}

/// Strides of an array in C order without gaps.
pub(super) fn dense_strides(shape: &[usize], item: usize) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let mut bytes = item as isize;
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = bytes;
        bytes *= extent.max(1) as isize;
    }
    strides
}

/// The values but the one at `index`.
pub(super) fn without<T: Clone>(values: &[T], index: usize) -> Vec<T> {
    [&values[..index], &values[index + 1..]].concat()
}

/// The addresses from the first byte to behind the last one; empty where there is no element.
pub(super) fn range(pointer: *const u8, strides: &[isize], shape: &[usize], item: usize) -> (isize, isize) {
    let first = pointer as isize;
    if shape.contains(&0) {
        return (first, first);
    }
    let reach = |sign: isize| -> isize {
        strides
            .iter()
            .zip(shape)
            .map(|(&stride, &extent)| stride * (extent as isize - 1))
            .filter(|r| r * sign > 0)
            .sum()
    };
    (first + reach(-1), first + reach(1) + item as isize)
}

/// Whether two ranges have an address in common.
pub(super) fn meet(one: (isize, isize), other: (isize, isize)) -> bool {
    one.0 < other.1 && other.0 < one.1 && one.0 < one.1 && other.0 < other.1
}

/// Whether two arrays of one shape may have an address in common: the ranges of their addresses do.
pub fn ranges_meet(one: (*const u8, &[isize]), other: (*const u8, &[isize]), shape: &[usize], item: usize) -> bool {
    meet(range(one.0, one.1, shape, item), range(other.0, other.1, shape, item))
}

/// Whether each element has bytes of its own: along every axis steps are as long as all that faster axes span. An array
/// may interleave its axes and have that too; such are not told from others.
pub fn elements_apart(strides: &[isize], shape: &[usize], item: usize) -> bool {
    let mut axes: Vec<(usize, usize)> = strides
        .iter()
        .map(|stride| stride.unsigned_abs())
        .zip(shape.iter().copied())
        .filter(|axis| axis.1 > 1)
        .collect();
    axes.sort_unstable();
    let mut span = item;
    shape.contains(&0)
        || axes.into_iter().all(|(stride, extent)| {
            let apart = stride >= span;
            span += stride * (extent - 1);
            apart
        })
}

/// The axes from the slowest to the fastest, if the array has no gaps, steps back or repeats; axes of extent 1 first.
pub(super) fn dense_order(shape: &[usize], strides: &[isize], item: usize) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    order.sort_by_key(|&axis| (shape[axis] > 1, std::cmp::Reverse(if shape[axis] > 1 { strides[axis] } else { 0 })));
    let mut bytes = item as isize;
    for &axis in order.iter().rev().filter(|&&axis| shape[axis] > 1) {
        if strides[axis] != bytes {
            return None;
        }
        bytes *= shape[axis] as isize;
    }
    Some(order)
}

/// Whether an array has no gaps and its axes lie in this order.
pub(super) fn is_dense_in(order: &[usize], shape: &[usize], strides: &[isize], item: usize) -> bool {
    let mut bytes = item as isize;
    for &axis in order.iter().rev().filter(|&&axis| shape[axis] > 1) {
        if strides[axis] != bytes {
            return false;
        }
        bytes *= shape[axis] as isize;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_of_axes() {
        assert_eq!(dense_order(&[2, 3, 4], &[96, 32, 8], 8), Some(vec![0, 1, 2]));
        assert_eq!(dense_order(&[2, 3, 4], &[8, 16, 48], 8), Some(vec![2, 1, 0]));
        assert_eq!(dense_order(&[2, 1, 4], &[32, 7, 8], 8), Some(vec![1, 0, 2]));
        assert_eq!(dense_order(&[2, 3], &[32, 8], 8), None);
        assert_eq!(dense_order(&[2, 3], &[24, -8], 8), None);
        assert_eq!(dense_order(&[2, 3], &[0, 8], 8), None);
    }

    #[test]
    fn elements_that_share_bytes() {
        assert!(elements_apart(&[24, 8], &[2, 3], 8));
        assert!(elements_apart(&[-8, 16], &[2, 3], 8));
        assert!(elements_apart(&[0, 8], &[1, 3], 8));
        assert!(!elements_apart(&[0, 8], &[2, 3], 8));
        assert!(!elements_apart(&[16, 8], &[2, 3], 8));
        assert!(!elements_apart(&[4], &[2], 8));
        assert!(elements_apart(&[0, 8], &[2, 0], 8));
    }

    #[test]
    fn ranges_of_addresses() {
        let at = 1000 as *const u8;
        assert_eq!(range(at, &[24, -8], &[2, 3], 8), (984, 1032));
        assert_eq!(range(at, &[], &[], 8), (1000, 1008));
        assert!(!meet(range(at, &[8], &[0], 8), (0, 5000)));
        assert!(meet((0, 8), (7, 9)));
        assert!(!meet((0, 8), (8, 9)));
    }
}
