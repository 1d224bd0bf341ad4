//! Node operations whose times a machine description may give.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An operation of a node's processor, counted by programs and priced by machines.
///
/// The first ten are the rows of table 3 of Dunigan 1991 (the two `*SumOfProducts` are the average time of one operation
/// within `a*b + c*d + e*f`).
///
/// # Examples
/// ```
/// use weft_base::Operation;
///
/// assert_eq!("float64_multiply".parse(), Ok(Operation::Float64Multiply));
/// let error = "int64_add".parse::<Operation>().unwrap_err().to_string();
/// assert!(error.starts_with("there is no operation 'int64_add'; the operations are int16_add, "));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Int16Add,
    Int32Add,
    Int16Multiply,
    Int32Multiply,
    Float32Add,
    Float64Add,
    Float32Multiply,
    Float64Multiply,
    Float32SumOfProducts,
    Float64SumOfProducts,
    /// One of the two operations of an element of `y = y + a x`, whose vectors are in memory and in no cache: the inner
    /// loop of LINPACK (`saxpy`), of elimination and of factorisation by columns.
    Float32Axpy,
    /// As `Float32Axpy`, in double precision (`daxpy`).
    Float64Axpy,
    /// One byte copied from memory to memory by the processor.
    CopyByte,
    /// One iteration of an empty counting loop.
    LoopIteration,
}

impl Operation {
    /// Every operation, in the order of table 3 of Dunigan 1991 and then weft's own.
    pub const ALL: [Operation; 14] = [
        Operation::Int16Add,
        Operation::Int32Add,
        Operation::Int16Multiply,
        Operation::Int32Multiply,
        Operation::Float32Add,
        Operation::Float64Add,
        Operation::Float32Multiply,
        Operation::Float64Multiply,
        Operation::Float32SumOfProducts,
        Operation::Float64SumOfProducts,
        Operation::Float32Axpy,
        Operation::Float64Axpy,
        Operation::CopyByte,
        Operation::LoopIteration,
    ];

    /// The name used in machine files and samples, e.g. `float64_multiply`.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Int16Add => "int16_add",
            Operation::Int32Add => "int32_add",
            Operation::Int16Multiply => "int16_multiply",
            Operation::Int32Multiply => "int32_multiply",
            Operation::Float32Add => "float32_add",
            Operation::Float64Add => "float64_add",
            Operation::Float32Multiply => "float32_multiply",
            Operation::Float64Multiply => "float64_multiply",
            Operation::Float32SumOfProducts => "float32_sum_of_products",
            Operation::Float64SumOfProducts => "float64_sum_of_products",
            Operation::Float32Axpy => "float32_axpy",
            Operation::Float64Axpy => "float64_axpy",
            Operation::CopyByte => "copy_byte",
            Operation::LoopIteration => "loop_turn",
        }
    }

    /// What a program is charged instead on a machine that has no time of this operation: for one on vectors in memory
    /// the same between registers, which takes no longer.
    pub fn substitute(self) -> Option<Operation> {
        match self {
            Operation::Float32Axpy => Some(Operation::Float32SumOfProducts),
            Operation::Float64Axpy => Some(Operation::Float64SumOfProducts),
            _ => None,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no [`Operation`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no operation '{0}'; the operations are {names}", names = Operation::ALL.map(Operation::name).join(", "))]
pub struct UnknownOperation(pub String);

impl FromStr for Operation {
    type Err = UnknownOperation;
    fn from_str(name: &str) -> Result<Operation, UnknownOperation> {
        Operation::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
            .ok_or_else(|| UnknownOperation(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for operation in Operation::ALL {
            assert_eq!(operation.name().parse(), Ok(operation));
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "int64_add".parse::<Operation>().unwrap_err();
        assert!(error.to_string().starts_with("there is no operation 'int64_add'; the operations are int16_add,"));
    }
}
