//! Division of a communicator by colors.

use std::cell::{Cell, OnceCell};
use std::ffi::c_int;
use std::rc::Rc;

use weft_comm::{CollectiveKind, CommError, NativeCollectives, Payload};

use super::{MpiComm, Shared};
use crate::activity::Mark;
use crate::library::Handle;

impl MpiComm {
    /// The colors and keys of all ranks, in the order of ranks.
    fn exchange_colors(&self, color: Option<u32>, key: i64) -> Result<Vec<[i64; 2]>, CommError> {
        let mine = Payload::of(&[color.map_or(-1, i64::from), key]);
        let all = self.allgather(&mine)?;
        Ok(all.values::<i64>().unwrap_or_default().as_chunks::<2>().0.to_vec())
    }

    /// The communicator of the ranks of this one's color; `None` without a color. Collective.
    pub(super) fn split_now(&self, color: Option<u32>, key: i64) -> Result<Option<MpiComm>, CommError> {
        let all = self.exchange_colors(color, key)?;
        let members = members(&all, self.0.rank);
        let abi = self.context().abi();
        // Colors and keys of weft have more bits than MPI's: the first rank of the color and the place within it say
        // the same.
        let (mpi_color, mpi_key) = match (all.iter().position(|[c, _]| *c == all[self.0.rank][0]), color) {
            (Some(first), Some(_)) => {
                (first as c_int, members.iter().position(|rank| *rank == self.0.rank).unwrap_or(0) as c_int)
            }
            _ => (abi.undefined, 0),
        };
        let user = self.divide(self.0.user, mpi_color, mpi_key)?;
        let collective = self.divide(self.0.collective, mpi_color, mpi_key)?;
        if color.is_none() {
            return Ok(None);
        }
        let world_ranks: Box<[u32]> = members.iter().map(|rank| self.world_rank_of(*rank) as u32).collect();
        Ok(Some(MpiComm(Rc::new(Shared {
            context: self.context().clone(),
            user,
            collective,
            rank: mpi_key as usize,
            size: members.len(),
            world_ranks: Some(world_ranks),
            sequence: Cell::new(0),
            node: OnceCell::new(),
            calls: OnceCell::new(),
        }))))
    }

    fn divide(&self, comm: Handle, color: c_int, key: c_int) -> Result<Handle, CommError> {
        let context = self.context();
        let mut divided: Handle = 0;
        context.activity.enter(Mark::native(CollectiveKind::Split, 0));
        // SAFETY: the communicator is live; the output handle starts as zero.
        let code = unsafe { (context.functions().comm_split)(comm, color, key, &mut divided) };
        context.activity.leave();
        context.check("MPI_Comm_split", code)?;
        Ok(divided)
    }
}

/// The ranks of the color of `rank`, in the order of their keys and then of their ranks.
fn members(all: &[[i64; 2]], rank: usize) -> Vec<usize> {
    let mut members: Vec<usize> = (0..all.len()).filter(|other| all[*other][0] == all[rank][0]).collect();
    members.sort_by_key(|other| all[*other][1]);
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn members_are_those_of_the_color_in_order_of_key_and_rank(
            all in proptest::collection::vec((-1i64..3, -2i64..3).prop_map(|(color, key)| [color, key]), 1..20),
        ) {
            for rank in 0..all.len() {
                let members = members(&all, rank);
                prop_assert!(members.contains(&rank));
                prop_assert!(members.iter().all(|other| all[*other][0] == all[rank][0]));
                prop_assert!(members.is_sorted_by_key(|other| (all[*other][1], *other)));
                prop_assert_eq!(members.len(), all.iter().filter(|pair| pair[0] == all[rank][0]).count());
            }
        }
    }
}
