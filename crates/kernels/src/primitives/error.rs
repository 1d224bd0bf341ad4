//! What can be wrong with a call of a primitive.

use thiserror::Error;

use super::ElementType;

/// A call that cannot be meant.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PrimitiveError {
    /// An operation that elements of this type do not have.
    #[error("{operation} is not defined for {kind}: {instead}")]
    Undefined { operation: &'static str, kind: ElementType, instead: &'static str },
    /// A name that is no operation.
    #[error("no operation '{name}': expected one of {known}")]
    Unknown { name: String, known: String },
    /// An array of another type than needed.
    #[error("{array} has dtype {actual}, expected {wanted}")]
    Type { array: &'static str, actual: ElementType, wanted: String },
    /// An array of another number of elements than needed.
    #[error("{array} has {actual} elements, expected {wanted}")]
    Length { array: &'static str, actual: usize, wanted: usize },
    /// An axis or an index along it that the shape does not have.
    #[error("{what} {value} is out of range: expected 0 to {last}")]
    Range { what: &'static str, value: usize, last: isize },
    /// An index into no element.
    #[error("index {index} at element {element} is out of range: the {array} has {extent} elements")]
    Index { index: i64, element: usize, array: &'static str, extent: usize },
    /// Two messages for one element.
    #[error(
        "elements {first} and {second} are both sent to element {destination}: choose how to combine them (add, max, min, \
         logand, logior, logxor, and, or, overwrite)"
    )]
    Collision { first: usize, second: usize, destination: usize },
    /// Arrays that must be apart.
    #[error("{one} and {other} share memory: results would overwrite what is still needed")]
    Overlap { one: &'static str, other: &'static str },
    /// Less memory than a call needs beside its arrays.
    #[error("no memory for {bytes} bytes more")]
    Memory { bytes: usize },
    /// The call was given up because whoever made it asked for that; outputs hold anything.
    #[error("the call was interrupted: its output holds anything now")]
    Interrupted,
    /// Arguments that contradict each other.
    #[error("{0}")]
    Meaningless(&'static str),
}
