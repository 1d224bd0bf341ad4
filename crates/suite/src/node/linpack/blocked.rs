//! Gaussian elimination with partial pivoting, recursive over halves of the columns (Toledo 1997, Gustavson 1997):
//! nearly all of the work is matrix products, which are packed and done in registers ([`Product`]).

#[cfg(target_arch = "x86_64")]
use weft_simd::{Level, level};

use super::{Matrix, iamax};
use crate::node::simd::vectorised;

/// Columns below which factoring is not divided further, and rows below which a triangle is not.
const BASE: usize = 8;

/// Rows and depth of the packed block of the left factor (in the second cache), and columns of the right (in the
/// third).
const ROWS: usize = 144;
const DEPTH: usize = 240;
const COLUMNS: usize = 1024;

/// Factors and solves in place.
pub(super) fn solve(matrix: &mut Matrix, x: &mut [f64]) -> bool {
    let n = matrix.order;
    let mut pivots = vec![0; n];
    let mut product = Product::new();
    let whole = View { first: matrix.elements.as_mut_ptr(), rows: n, columns: n, stride: n };
    // SAFETY: the view is the whole of the matrix, which is borrowed exclusively, and nothing else uses it meanwhile.
    if !unsafe { factor(whole, &mut pivots, &mut product) } {
        return false;
    }
    for (row, &pivot) in pivots.iter().enumerate() {
        x.swap(row, pivot);
    }
    substitute(matrix, x);
    true
}

vectorised! {
    /// Solves with both factors.
    fn substitute(matrix: &Matrix, x: &mut [f64]) {
        let n = matrix.order;
        for (k, column) in matrix.elements.chunks_exact(n).enumerate() {
            let factor = x[k];
            x[k + 1..].iter_mut().zip(&column[k + 1..]).for_each(|(x, element)| *x -= factor * element);
        }
        for (k, column) in matrix.elements.chunks_exact(n).enumerate().rev() {
            x[k] /= column[k];
            let factor = x[k];
            x[..k].iter_mut().zip(&column[..k]).for_each(|(x, element)| *x -= factor * element);
        }
    }
}

/// A rectangle of a matrix that is stored by columns.
#[derive(Clone, Copy)]
struct View {
    first: *mut f64,
    rows: usize,
    columns: usize,
    /// Elements from one column to the next.
    stride: usize,
}

impl View {
    fn part(self, row: usize, column: usize, rows: usize, columns: usize) -> View {
        debug_assert!(row + rows <= self.rows && column + columns <= self.columns);
        // Wrapping: the first element of an empty part may lie outside the matrix.
        View { first: self.first.wrapping_add(row + column * self.stride), rows, columns, stride: self.stride }
    }

    /// # Safety
    /// The column is a part of the matrix that nothing else borrows.
    unsafe fn column<'a>(self, column: usize) -> &'a mut [f64] {
        // SAFETY: the column is a part of the matrix that nothing else borrows (this function's condition); its `rows`
        // elements are together.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(column * self.stride), self.rows) }
    }

    /// # Safety
    /// As [`View::column`], for all columns. Pivots are rows of this view.
    unsafe fn swap_rows(self, pivots: &[usize]) {
        for column in 0..self.columns {
            // SAFETY: nothing else borrows a column of the view (this function's condition), and one is borrowed at a
            // time here.
            let column = unsafe { self.column(column) };
            for (row, &pivot) in pivots.iter().enumerate() {
                column.swap(row, pivot);
            }
        }
    }
}

/// Factors a view of at least as many rows as columns; `false` when it is singular.
///
/// # Safety
/// The view is a part of a matrix that nothing else uses.
unsafe fn factor(a: View, pivots: &mut [usize], product: &mut Product) -> bool {
    if a.columns <= BASE {
        // SAFETY: nothing else uses the view's part of the matrix (this function's condition, and all that
        // `factor_columns` asks).
        return unsafe { factor_columns(a, pivots) };
    }
    let left = a.columns / 2;
    let (right, below) = (a.columns - left, a.rows - left);
    // SAFETY: the four quarters do not overlap, and each call gets the view of one of them to change.
    unsafe {
        let left_columns = a.part(0, 0, a.rows, left);
        let right_columns = a.part(0, left, a.rows, right);
        if !factor(left_columns, &mut pivots[..left], product) {
            return false;
        }
        right_columns.swap_rows(&pivots[..left]);
        let (upper, lower) = (a.part(0, left, left, right), a.part(left, left, below, right));
        solve_triangle(a.part(0, 0, left, left), upper, product);
        product.subtract(lower, a.part(left, 0, below, left), upper);
        if !factor(lower, &mut pivots[left..a.columns], product) {
            return false;
        }
        a.part(left, 0, below, left).swap_rows(&pivots[left..a.columns]);
    }
    pivots[left..a.columns].iter_mut().for_each(|pivot| *pivot += left);
    true
}

/// # Safety
/// As [`factor`].
unsafe fn factor_columns(a: View, pivots: &mut [usize]) -> bool {
    for k in 0..a.columns {
        // SAFETY: nothing else uses the view (this function's condition), columns are disjoint, and only column k is
        // held while others are changed.
        let column = unsafe { a.column(k) };
        let pivot = k + iamax(&column[k..]);
        pivots[k] = pivot;
        if column[pivot] == 0.0 {
            return false;
        }
        column.swap(k, pivot);
        let scale = 1.0 / column[k];
        column[k + 1..].iter_mut().for_each(|multiplier| *multiplier *= scale);
        for other in (0..a.columns).filter(|&other| other != k) {
            // SAFETY: `other` is not k, so that this column and the one held are disjoint; it is let go of before the
            // next is taken.
            let other_column = unsafe { a.column(other) };
            other_column.swap(k, pivot);
            if other > k {
                let factor = other_column[k];
                let rest = other_column[k + 1..].iter_mut().zip(&column[k + 1..]);
                rest.for_each(|(element, multiplier)| *element -= factor * multiplier);
            }
        }
    }
    true
}

/// Replaces `b` by the solution of `L x = b`, with `L` the lower triangle of `l` and ones on its diagonal.
///
/// # Safety
/// The views are disjoint parts of a matrix that nothing else uses.
unsafe fn solve_triangle(l: View, b: View, product: &mut Product) {
    if l.rows > BASE {
        let upper = l.rows / 2;
        let lower = l.rows - upper;
        let (b_upper, b_lower) = (b.part(0, 0, upper, b.columns), b.part(upper, 0, lower, b.columns));
        // SAFETY: parts of disjoint views are disjoint, as are the upper and the lower half of `b`; nothing else uses
        // them.
        unsafe {
            solve_triangle(l.part(0, 0, upper, upper), b_upper, product);
            product.subtract(b_lower, l.part(upper, 0, lower, upper), b_upper);
            solve_triangle(l.part(upper, upper, lower, lower), b_lower, product);
        }
        return;
    }
    // Filled up with zeros to a fixed size, which the compiler unrolls.
    let mut multipliers = [[0.0; BASE]; BASE];
    for (k, multipliers) in multipliers.iter_mut().take(l.rows).enumerate() {
        // SAFETY: nothing else uses the triangle (this function's condition), and the column is let go of before the
        // next is taken.
        let column = unsafe { l.column(k) };
        multipliers[k + 1..l.rows].copy_from_slice(&column[k + 1..]);
    }
    for column in 0..b.columns {
        // SAFETY: nothing else uses `b`, which is disjoint from `l` (this function's conditions), and one column is
        // held at a time.
        let target = unsafe { b.column(column) };
        let mut x = [0.0; BASE];
        x[..l.rows].copy_from_slice(target);
        for k in 0..BASE {
            let factor = x[k];
            for row in 0..BASE {
                x[row] -= factor * multipliers[k][row];
            }
        }
        target.copy_from_slice(&x[..l.rows]);
    }
}

/// The matrix product, with its packed blocks.
struct Product {
    left: Vec<f64>,
    right: Vec<f64>,
    kernel: Kernel,
}

/// Subtracts from a tile the product of a packed strip of `tile_rows` rows and one of `tile_columns` columns: depth, strips,
/// tile and the elements from one of its columns to the next.
type Tile = unsafe fn(usize, *const f64, *const f64, *mut f64, usize);

#[derive(Clone, Copy)]
struct Kernel {
    tile_rows: usize,
    tile_columns: usize,
    tile: Tile,
}

const MAX_TILE: usize = 24 * 8;

impl Product {
    fn new() -> Product {
        let kernel = kernel();
        let strips = |tile: usize, extent: usize| vec![0.0; extent.next_multiple_of(tile) * DEPTH];
        Product { left: strips(kernel.tile_rows, ROWS), right: strips(kernel.tile_columns, COLUMNS), kernel }
    }

    /// `c -= a b`.
    ///
    /// # Safety
    /// The views are parts of a matrix that nothing else uses, and `c` overlaps neither `a` nor `b`.
    unsafe fn subtract(&mut self, c: View, a: View, b: View) {
        debug_assert!(c.rows == a.rows && c.columns == b.columns && a.columns == b.rows);
        for column in (0..c.columns).step_by(COLUMNS) {
            let columns = COLUMNS.min(c.columns - column);
            for at in (0..a.columns).step_by(DEPTH) {
                let depth = DEPTH.min(a.columns - at);
                // SAFETY: the part lies within `b`, as `at + depth` and `column + columns` do not exceed its extents,
                // and nothing else uses `b`.
                unsafe { self.pack_right(b.part(at, column, depth, columns)) };
                for row in (0..c.rows).step_by(ROWS) {
                    let rows = ROWS.min(c.rows - row);
                    // SAFETY: the parts lie within `a` and `c`, which nothing else uses and which do not overlap;
                    // `rows`, `depth` and `columns` do not exceed what the packed blocks can hold, and the right block
                    // was packed with this depth.
                    unsafe {
                        self.pack_left(a.part(row, at, rows, depth));
                        self.subtract_block(c.part(row, column, rows, columns), depth);
                    }
                }
            }
        }
    }

    /// Strips of `tile_rows` rows, column after column, filled up with zeros.
    ///
    /// # Safety
    /// The view is a part of a matrix that nothing else uses.
    unsafe fn pack_left(&mut self, a: View) {
        let rows = self.kernel.tile_rows;
        for (strip, first) in self.left.chunks_exact_mut(rows * a.columns).zip((0..a.rows).step_by(rows)) {
            let present = rows.min(a.rows - first);
            for (column, packed) in strip.chunks_exact_mut(rows).enumerate() {
                // SAFETY: `a` is a part of a matrix that nothing else uses (this function's condition); it is read here
                // only, one column at a time.
                let source = unsafe { a.column(column) };
                packed[..present].copy_from_slice(&source[first..first + present]);
                packed[present..].fill(0.0);
            }
        }
    }

    /// Strips of `tile_columns` columns, row after row, filled up with zeros.
    ///
    /// # Safety
    /// The view is a part of a matrix that nothing else uses.
    unsafe fn pack_right(&mut self, b: View) {
        let columns = self.kernel.tile_columns;
        for (strip, first) in self.right.chunks_exact_mut(columns * b.rows).zip((0..b.columns).step_by(columns)) {
            let present = columns.min(b.columns - first);
            if present < columns {
                strip.fill(0.0);
            }
            for column in 0..present {
                // SAFETY: `b` is a part of a matrix that nothing else uses (this function's condition); it is read here
                // only, one column at a time.
                let source = unsafe { b.column(first + column) };
                strip[column..]
                    .iter_mut()
                    .step_by(columns)
                    .zip(source)
                    .for_each(|(packed, element)| *packed = *element);
            }
        }
    }

    /// Whole tiles in place; those at the edges beside the matrix, as their strips are filled up.
    ///
    /// # Safety
    /// The view is a part of a matrix that nothing else uses, and the blocks were packed for its extents with this depth.
    unsafe fn subtract_block(&self, c: View, depth: usize) {
        let Kernel { tile_rows, tile_columns, tile } = self.kernel;
        for (right, column) in self.right.chunks_exact(tile_columns * depth).zip((0..c.columns).step_by(tile_columns)) {
            for (left, row) in self.left.chunks_exact(tile_rows * depth).zip((0..c.rows).step_by(tile_rows)) {
                let (rows, columns) = (tile_rows.min(c.rows - row), tile_columns.min(c.columns - column));
                let part = c.part(row, column, rows, columns);
                let (left, right) = (left.as_ptr(), right.as_ptr());
                if rows == tile_rows && columns == tile_columns {
                    // SAFETY: `chunks_exact` gives strips of `depth` times the extents of a tile, the part is a whole
                    // tile of `c`, which nothing else uses, and `kernel` has chosen a tile for this processor.
                    unsafe { tile(depth, left, right, part.first, part.stride) };
                    continue;
                }
                let mut beside = [0.0; MAX_TILE];
                // SAFETY: `chunks_exact` gives strips of `depth` times the extents of a tile, `beside` has the elements
                // of the largest tile, columns `tile_rows` apart, and `kernel` has chosen a tile for this processor.
                unsafe { tile(depth, left, right, beside.as_mut_ptr(), tile_rows) };
                for (at, differences) in beside.chunks_exact(tile_rows).take(columns).enumerate() {
                    // SAFETY: the column is one of a part of `c`, which nothing else uses (this function's condition),
                    // and one is held at a time.
                    let target = unsafe { part.column(at) };
                    target.iter_mut().zip(differences).for_each(|(element, difference)| *element += difference);
                }
            }
        }
    }
}

fn kernel() -> Kernel {
    #[cfg(target_arch = "x86_64")]
    match level() {
        Level::Avx512 => {
            return Kernel { tile_rows: 24, tile_columns: 8, tile: x86::tile_24x8 };
        }
        Level::Avx2 => {
            return Kernel { tile_rows: 8, tile_columns: 6, tile: x86::tile_8x6 };
        }
        Level::Portable => {}
    }
    Kernel { tile_rows: 4, tile_columns: 4, tile: tile_4x4 }
}

/// The tile of processors whose vectors weft does not know.
///
/// # Safety
/// The strips have `4 * depth` elements; the target is a tile of four columns, `stride` apart, of four elements.
unsafe fn tile_4x4(depth: usize, left: *const f64, right: *const f64, target: *mut f64, stride: usize) {
    let mut sums = [[0.0; 4]; 4];
    for at in 0..depth {
        for (column, sums) in sums.iter_mut().enumerate() {
            for (row, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the strips have `4 * depth` elements (this function's condition); `at` is below `depth`, row
                // and column are below 4.
                *sum += unsafe { *left.add(4 * at + row) * *right.add(4 * at + column) };
            }
        }
    }
    for (column, sums) in sums.iter().enumerate() {
        for (row, sum) in sums.iter().enumerate() {
            // SAFETY: the target is a tile of four columns, `stride` apart, of four elements (this function's
            // condition).
            unsafe { *target.add(column * stride + row) -= *sum };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    macro_rules! tile {
        ($name:ident, $feature:literal, $lanes:literal, $vectors:literal, $columns:literal,
         $zero:ident, $set:ident, $load:ident, $fma:ident, $subtract:ident, $store:ident) => {
            /// # Safety
            /// The processor has the feature; the strips are `depth` times the tile's extents long; the target is a tile.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn $name(
                depth: usize,
                mut left: *const f64,
                mut right: *const f64,
                target: *mut f64,
                stride: usize,
            ) {
                let mut sums = [[$zero(); $vectors]; $columns];
                for _ in 0..depth {
                    // SAFETY: the strips have `depth` times the tile's extents (this function's condition); each of the
                    // `depth` rounds reads one tile's extents and goes on by as much.
                    unsafe {
                        let rows: [_; $vectors] = std::array::from_fn(|vector| $load(left.add($lanes * vector)));
                        for (column, sums) in sums.iter_mut().enumerate() {
                            let factor = $set(*right.add(column));
                            for (sum, row) in sums.iter_mut().zip(rows) {
                                *sum = $fma(row, factor, *sum);
                            }
                        }
                        left = left.add($lanes * $vectors);
                        right = right.add($columns);
                    }
                }
                for (column, sums) in sums.iter().enumerate() {
                    for (vector, sum) in sums.iter().enumerate() {
                        // SAFETY: the target is a tile (this function's condition), which has this vector of this
                        // column; loads and stores need no alignment.
                        unsafe {
                            let address = target.add(column * stride + $lanes * vector);
                            $store(address, $subtract($load(address), *sum));
                        }
                    }
                }
            }
        };
    }

    tile!(
        tile_24x8,
        "avx512f",
        8,
        3,
        8,
        _mm512_setzero_pd,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_fmadd_pd,
        _mm512_sub_pd,
        _mm512_storeu_pd
    );
    tile!(
        tile_8x6,
        "avx2,fma",
        4,
        2,
        6,
        _mm256_setzero_pd,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_fmadd_pd,
        _mm256_sub_pd,
        _mm256_storeu_pd
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels() -> Vec<Kernel> {
        vec![kernel(), Kernel { tile_rows: 4, tile_columns: 4, tile: tile_4x4 }]
    }

    #[test]
    fn the_product_is_that_of_the_definition() {
        for kernel in kernels() {
            for (rows, depth, columns) in [(1, 1, 1), (5, 3, 9), (24, 8, 8), (150, 250, 30), (25, 17, 1030)] {
                let value = |at: usize| ((at * 7 + 3) % 11) as f64 - 5.0;
                let mut a: Vec<f64> = (0..rows * depth).map(value).collect();
                let mut b: Vec<f64> = (0..depth * columns).map(value).collect();
                let mut c: Vec<f64> = (0..rows * columns).map(value).collect();
                let mut expected = c.clone();
                for column in 0..columns {
                    for row in 0..rows {
                        let products = (0..depth).map(|at| a[row + at * rows] * b[at + column * depth]);
                        expected[row + column * rows] -= products.sum::<f64>();
                    }
                }
                let view =
                    |first: &mut [f64], rows, columns| View { first: first.as_mut_ptr(), rows, columns, stride: rows };
                let strips = |tile: usize, extent: usize| vec![0.0; extent.next_multiple_of(tile) * DEPTH];
                let (left, right) = (strips(kernel.tile_rows, ROWS), strips(kernel.tile_columns, COLUMNS));
                let mut product = Product { left, right, kernel };
                // SAFETY: the views are of three vectors that are borrowed exclusively and have as many elements as the
                // extents say.
                unsafe {
                    product.subtract(
                        view(&mut c, rows, columns),
                        view(&mut a, rows, depth),
                        view(&mut b, depth, columns),
                    );
                }
                assert_eq!(c, expected, "{rows} x {depth} x {columns}");
            }
        }
    }
}
