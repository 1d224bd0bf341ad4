//! Collectives that the simulator carries out for all ranks together, as a program in virtual time sees them.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use weft_comm::collective::{Reduction, Rounds};
use weft_comm::{CollectiveKind, CommError, Communicator, Payload};

use crate::communicator::SimComm;
use crate::core::rounds::{JointCall, JointKey};

/// What a rank brings to a collective.
#[derive(Clone, Debug)]
pub struct Part {
    pub kind: CollectiveKind,
    /// Its vector, empty where there is none, and how vectors are combined.
    pub vector: Payload,
    pub reduction: Option<Reduction>,
    /// The program has other things under way, which go on whenever it is polled: it is polled in every round.
    pub is_polled: bool,
}

impl SimComm {
    /// The rounds of a collective with messages of `bytes` bytes, if this run carries them out for all ranks together:
    /// all ranks of the communicator get the same answer.
    pub fn rounds(&self, kind: CollectiveKind, bytes: usize) -> Option<Rounds> {
        let rounds = Rounds::of(kind, self.size(), bytes)?;
        self.core().borrow_mut().carries_rounds(bytes as u64).then_some(rounds)
    }

    /// Takes part in a collective of [`SimComm::rounds`]; all ranks must do so. The rank waits for nothing else
    /// meanwhile. Times are those of [`weft_comm::collective`].
    ///
    /// # Errors
    /// Where ranks disagree about kind or length; where the reduction is not defined for the vector.
    pub async fn join_rounds(&self, rounds: Rounds, part: Part) -> Result<Rc<Payload>, CommError> {
        let _inside = Inside { comm: self };
        let sequence = self.enter_collective(part.kind);
        let bytes = part.vector.len();
        if let Some(what) = part.reduction.and_then(|reduction| reduction.fault(bytes)) {
            return Err(
                weft_comm::Failure::MismatchedArguments { rank: self.world_rank(), kind: part.kind, what }.into()
            );
        }
        let Part { kind, vector, reduction, is_polled } = part;
        let call = JointCall { kind, context: self.context, sequence, rounds, bytes: bytes as u64, reduction };
        let seat = self.rank();
        let member = |rank| self.member(rank).unwrap_or(0);
        let key = self.core().borrow_mut().join_rounds(seat, call, member, vector, is_polled)?;
        Joined { comm: self, key }.await
    }
}

/// Leaves the collective, whatever happens.
struct Inside<'a> {
    comm: &'a SimComm,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.comm.leave_collective();
    }
}

/// Waits until the rank is through.
struct Joined<'a> {
    comm: &'a SimComm,
    key: JointKey,
}

impl Future for Joined<'_> {
    type Output = Result<Rc<Payload>, CommError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let taken = self.comm.core().borrow_mut().take_result(self.key, self.comm.rank());
        taken.map_or(Poll::Pending, Poll::Ready)
    }
}
