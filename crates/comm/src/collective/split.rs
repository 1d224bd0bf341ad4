//! The agreement that every backend's `split` starts with.

use bytemuck::{Pod, Zeroable};

use crate::communicator::Communicator;
use crate::error::CommError;
use crate::payload::Payload;
use crate::tag::CollectiveKind;

use super::allgather::bruck;
use super::scope::Scope;

/// What the ranks of a communicator agreed on when they were divided; the same on all ranks of one color.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// The ranks of the new communicator, as ranks of the old one, in their new order.
    pub members: Vec<usize>,
    /// This rank's index in `members`: its rank in the new communicator.
    pub rank: usize,
    /// The index of the color among all colors in use, in rising order.
    pub group: usize,
    /// How many colors are in use.
    pub groups: usize,
    /// Which collective of the old communicator the division was; with the old communicator and `group` it names the
    /// new one.
    pub sequence: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Wish {
    has_color: u32,
    color: u32,
    key: i64,
}

/// Finds out, by an allgather of (color, key), which ranks form a communicator with this one: those of one color, in
/// the order of `key` and then of rank. `None` for a rank without a color.
///
/// # Errors
/// Those of an allgather.
pub async fn divide<C: Communicator>(comm: &C, color: Option<u32>, key: i64) -> Result<Option<Division>, CommError> {
    let scope = Scope::enter(comm, CollectiveKind::Split);
    let wish = Wish { has_color: u32::from(color.is_some()), color: color.unwrap_or(0), key };
    let part = Payload::of(&[wish]);
    let all = bruck(&scope, &part, part.same_sort(scope.size * part.len())).await?;
    let wishes: &[Wish] = all.values().expect("data was sent");
    let Some(color) = color else { return Ok(None) };
    let mut colors: Vec<u32> = wishes.iter().filter(|wish| wish.has_color == 1).map(|wish| wish.color).collect();
    colors.sort_unstable();
    colors.dedup();
    let has_this_color = |rank: &usize| wishes[*rank].has_color == 1 && wishes[*rank].color == color;
    let mut members: Vec<usize> = (0..scope.size).filter(has_this_color).collect();
    members.sort_by_key(|&rank| (wishes[rank].key, rank));
    Ok(Some(Division {
        rank: members.iter().position(|&rank| rank == scope.rank).expect("a rank has its own color"),
        group: colors.binary_search(&color).expect("a rank has its own color"),
        groups: colors.len(),
        sequence: scope.sequence,
        members,
    }))
}
