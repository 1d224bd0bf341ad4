//! Why a node benchmark reports nothing.

/// A node benchmark that cannot be run, or whose result is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NodeError {
    /// A name that is no benchmark.
    #[error("there is no node benchmark '{name}'; the benchmarks are {known}")]
    UnknownBenchmark { name: String, known: String },
    /// A variant that the benchmark does not have on this machine.
    #[error("{benchmark} has no row '{variant}' here; its rows are {known}")]
    UnknownVariant { benchmark: &'static str, variant: String, known: String },
    /// A length that means nothing to the benchmark.
    #[error("{benchmark}: a length of {length} cannot be measured; expected {expected}")]
    BadLength { benchmark: &'static str, length: u64, expected: String },
    /// A thread count, a time or a share outside its range.
    #[error("{what} is {value}; expected {expected}")]
    BadRequest { what: &'static str, value: String, expected: &'static str },
    /// The arrays do not fit into the memory that is free.
    #[error("{benchmark} needs {needed} bytes of memory and {available} are available; ask for a smaller length")]
    NotEnoughMemory { benchmark: &'static str, needed: u64, available: u64 },
    /// The computation gave another result than its reference, so that its time means nothing.
    #[error("{benchmark} {variant}: wrong result, nothing is reported: {what}")]
    WrongResult { benchmark: &'static str, variant: String, what: String },
    /// The system does not tell what the benchmark asks for.
    #[error("{benchmark}: {why}")]
    Unavailable { benchmark: &'static str, why: String },
}
