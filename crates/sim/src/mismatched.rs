//! Messages that were received as other elements than they were sent as.

use weft_comm::{ElementKinds, Tag};

/// A message whose elements do not match those of its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MismatchedElements {
    /// Ranks of the run.
    pub from: usize,
    pub to: usize,
    pub tag: Tag,
    pub sent: ElementKinds,
    pub received: ElementKinds,
}

/// At most so many are kept; the rest are counted.
const KEPT: usize = 32;

/// Those of a run.
#[derive(Clone, Debug, Default)]
pub struct Mismatches {
    pub count: usize,
    pub first: Vec<MismatchedElements>,
}

impl Mismatches {
    pub(crate) fn note(&mut self, message: MismatchedElements) {
        self.count += 1;
        if self.first.len() < KEPT && !self.first.contains(&message) {
            self.first.push(message);
        }
    }
}
