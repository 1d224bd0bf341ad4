//! What is packed into trees.

use weft_base::Interrupt;

use crate::bound::{Cut, Edge};

/// Trees at every root are packed, which reach all ranks.
pub struct Problem<'a> {
    pub vertices: usize,
    pub edges: &'a [Edge],
    pub ranks: &'a [usize],
    pub roots: &'a [usize],
    /// What limits the network with its switches.
    pub cut: &'a Cut,
    pub interrupt: &'a Interrupt,
}
