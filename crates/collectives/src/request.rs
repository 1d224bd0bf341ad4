//! What is compiled, and what it should be good at.

use crate::schedule::Collective;

/// What a schedule should be good at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Whatever is predicted to take least for the length.
    Auto,
    /// Bandwidth: trees at the certified optimum, whatever their latency.
    Throughput,
    /// Latency: few messages, each with all that goes from one rank to another.
    Latency,
}

impl Method {
    pub const ALL: [Method; 3] = [Method::Auto, Method::Throughput, Method::Latency];

    /// The word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Throughput => "throughput",
            Method::Latency => "latency",
        }
    }
}

/// What is compiled.
#[derive(Clone, Debug)]
pub struct Request {
    pub collective: Collective,
    /// Of the whole buffer.
    pub bytes: u64,
    /// No element is divided.
    pub element_bytes: u64,
    /// Of a broadcast or reduction.
    pub root: usize,
    pub method: Method,
    /// Of an all-to-all with blocks of unlike length, their bytes by source and destination; a rank has no more than the whole
    /// buffer. Otherwise blocks are as long as each other, but for an element.
    pub blocks: Option<Vec<Vec<u64>>>,
}
