//! What a plan will do and what it costs, as numbers.

use weft_kernels::shift::slabs::Stores;
use weft_simd::level;

use super::program::Program;
use super::{Edge, Plan};

/// What a call with C-ordered arrays does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How it is done: `lines`, `one pass`, or `nothing` where there are no elements.
    pub strategy: &'static str,
    /// Loads of a line or a part of one, where it is done by lines.
    pub moves: usize,
    /// The widest vector instructions that are used.
    pub vectors: &'static str,
    /// Whether outputs are written by non-temporal stores.
    pub streaming: bool,
    /// Threads where the caller does not say.
    pub threads: usize,
    /// Bytes read, each source once.
    pub read: usize,
    /// Bytes written, each output once.
    pub written: usize,
    pub shifts: Vec<ShiftSummary>,
}

/// What one shift does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShiftSummary {
    /// The distance within the extent that is the same as the one asked for.
    pub by: i64,
    /// Bytes of a slab that is turned, and how many of them there are.
    pub slab: usize,
    pub slabs: usize,
    /// Bytes that come in at the edges: from the other end, a constant or a boundary array.
    pub incoming: usize,
}

impl Summary {
    pub(super) fn new(plan: &Plan, program: &Program) -> Self {
        let shifts = plan
            .shifts
            .iter()
            .map(|shift| {
                let inner = plan.shape[shift.axis + 1..].iter().product::<usize>() * plan.item;
                let slab = plan.shape[shift.axis] * inner;
                let slabs = plan.bytes.checked_div(slab).unwrap_or(0);
                let incoming = slabs * shift.by.unsigned_abs() as usize * inner;
                // A circular shift up is held as the shift down that is the same.
                let extent = plan.shape[shift.axis] as i64;
                let by =
                    if shift.edge == Edge::Circular && 2 * shift.by > extent { shift.by - extent } else { shift.by };
                let incoming = match shift.edge {
                    Edge::Circular => incoming.min(plan.bytes - incoming),
                    _ => incoming,
                };
                ShiftSummary { by, slab, slabs, incoming }
            })
            .collect();
        Self {
            strategy: match &program.lines {
                _ if plan.bytes == 0 => "nothing",
                Some(_) => "lines",
                None => "one pass",
            },
            moves: program.lines.as_ref().map_or(0, |lines| lines.moves()),
            vectors: level().name(),
            streaming: program.lines.is_none() && program.stores == Stores::Streaming,
            threads: if program.lines.is_some() { 1 } else { program.usual_threads() },
            read: plan.bytes * plan.sources,
            written: plan.bytes * plan.shifts.len(),
            shifts,
        }
    }
}
