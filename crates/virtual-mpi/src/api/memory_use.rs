//! Calls that use the memory of requests that are pending.

use crate::joint::plain;
use crate::rank::Rank;
use crate::remark::Subject;
use crate::used::Used;

/// Compares the memory of a call with that of pending requests.
#[inline]
pub(crate) fn check_used(rank: &Rank, used: Option<Used>) {
    if let Some(used) = used
        && !rank.used.is_empty()
        && let Some(pending) = rank.used.disturbed(&used)
    {
        say_disturbed(rank, used, pending);
    }
}

/// Says that a call uses memory of another that is not complete.
#[cold]
pub(crate) fn say_disturbed(rank: &Rank, used: Used, pending: Used) {
    let does = if used.writes { "writes" } else { "reads" };
    let did = if pending.writes { "receives into" } else { "sends" };
    let (call, other) = (plain(used.call), plain(pending.call));
    let remark = format!("{call} of rank {} {does} what a pending {other} {did}", rank.number());
    rank.remark(Subject::Buffers, &remark);
}
