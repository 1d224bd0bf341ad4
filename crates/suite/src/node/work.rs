//! The same quantities in virtual time: what a benchmark's row costs in operations that machine descriptions price.
//!
//! Only rows whose work is nothing but priced operations have a meaning there: the Caltech rows are the prices
//! themselves, a dot product is a sum of products, a block copy is bytes copied. A sieve or LINPACK is more than its
//! operations (the iPSC/860 of table 3 sums products at 18 megaflops and solves equations at 6), so for these there is
//! no work and a caller must say that a described machine has no such row.

use weft_base::Operation;
use weft_comm::Work;

/// The work of one unit of a row, or `None` where operation times do not determine it.
///
/// - `arithmetic`, any row: one operation.
/// - `dot_product`, `float32` or `float64`, of `size` elements: `2 size` operations of a sum of products, as table
///   7 of Dunigan 1991 takes its megaflops "from compound expression results".
/// - `stream`, `copy`, of `size` bytes in an array: as many copied bytes.
pub fn work(benchmark: &str, variant: &str, size: Option<u64>) -> Option<Work> {
    let operations = |operation, count| Some(Work::Operations { operation, count });
    match (benchmark, variant) {
        ("arithmetic", name) => operations(name.parse().ok()?, 1),
        ("dot_product", "float32") => operations(Operation::Float32SumOfProducts, 2 * size?),
        ("dot_product", "float64") => operations(Operation::Float64SumOfProducts, 2 * size?),
        ("stream", "copy") => operations(Operation::CopyByte, size?),
        _ => None,
    }
}

/// Megaflops of a machine whose average operation within a sum of three products takes so many seconds: the figure of
/// table 7 of Dunigan 1991 ("calculated from compound expression results of the Caltech suite").
pub fn megaflops(seconds_of_sum_of_products: f64) -> f64 {
    1e-6 / seconds_of_sum_of_products
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::catalogue;

    #[test]
    fn every_arithmetic_row_is_one_operation_of_its_name() {
        let arithmetic = catalogue().iter().find(|benchmark| benchmark.name == "arithmetic").unwrap();
        for row in arithmetic.rows {
            let Some(Work::Operations { operation, count: 1 }) = work("arithmetic", row, None) else { panic!("{row}") };
            assert_eq!(operation.name(), *row);
        }
    }

    #[test]
    fn a_dot_product_is_twice_its_length() {
        let expected = Work::Operations { operation: Operation::Float64SumOfProducts, count: 200 };
        assert_eq!(work("dot_product", "float64", Some(100)), Some(expected));
        assert_eq!(work("dot_product", "float64", None), None);
        assert_eq!(work("linpack", "n100", None), None);
    }

    #[test]
    fn megaflops_are_those_of_table_7_from_table_3() {
        // nCUBE 3200, iPSC/2 and iPSC/1: 7.8, 3.8 and 24.1 microseconds; 0.14 in table 7 is the 7.8 rounded up.
        assert!((megaflops(24.1e-6) - 0.04).abs() < 0.005);
        assert!((megaflops(3.8e-6) - 0.29).abs() < 0.03);
        assert!((megaflops(7.8e-6) - 0.13).abs() < 0.005);
    }
}
