//! One clock for all ranks.

use weft_comm::{CommError, Communicator, Payload, Source, TagSelector};

use crate::session::CLOCK;

/// Exchanges without a shorter one before them that end the comparison of two clocks,
const PATIENCE: usize = 32;
/// or exchanges in all.
const MAX_EXCHANGES: usize = 500;

/// A rank asks for the time,
const MORE: u8 = 1;
/// or has heard it often enough.
const ENOUGH: u8 = 0;

/// What to add to this rank's `wtime` to get that of rank 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    offset: f64,
}

impl Clock {
    /// Compares the clocks of all ranks; collective.
    ///
    /// In virtual time there is one clock. Elsewhere each rank compares its clock with that of its parent in a binomial
    /// tree, after the parent has done so, by ping-pong: the reply carries the parent's time, taken to be that of the
    /// middle of the exchange with the least delay (F. Cristian, "Probabilistic clock synchronization", Distributed
    /// Computing 3 (1989) 146-158; the tree: S. Hunold, A. Carpen-Amarie, "Hierarchical clock synchronization in MPI",
    /// IEEE CLUSTER 2018). The error is at most half the least delay a level; a difference within that is taken as
    /// none, for ranks on one node mostly share a clock. Drift is not modelled: clocks are compared anew before every
    /// point, within which 1 microsecond a second is less than a message's startup.
    pub async fn synchronise<C: Communicator>(comm: &C) -> Result<Clock, CommError> {
        let (rank, size) = (comm.rank(), comm.size());
        if comm.virtual_time() {
            return Ok(Clock { offset: 0.0 });
        }
        let mut reach = 1;
        while reach < size && rank & reach == 0 {
            reach *= 2;
        }
        let clock = if rank == 0 { Clock { offset: 0.0 } } else { Clock::ask(comm, rank - reach).await? };
        while reach > 1 {
            reach /= 2;
            if rank + reach < size {
                clock.answer(comm, rank + reach).await?;
            }
        }
        Ok(clock)
    }

    /// The time of rank 0, as this rank knows it.
    #[inline]
    pub fn now<C: Communicator>(self, comm: &C) -> f64 {
        self.common(comm.wtime())
    }

    /// A moment of this rank's `wtime` in the time of rank 0.
    #[inline]
    pub fn common(self, here: f64) -> f64 {
        here + self.offset
    }

    /// A moment of rank 0's time in this rank's `wtime`.
    #[inline]
    pub fn here(self, common: f64) -> f64 {
        common - self.offset
    }

    async fn ask<C: Communicator>(comm: &C, parent: usize) -> Result<Clock, CommError> {
        let mut reply = Payload::of(&[0.0f64; 2]);
        let (mut least_delay, mut difference, mut of_parent) = (f64::INFINITY, 0.0, 0.0);
        let (mut exchanges, mut since_least) = (0, 0);
        while since_least < PATIENCE && exchanges < MAX_EXCHANGES {
            let asked = comm.wtime();
            comm.send(parent, CLOCK, Payload::of(&[MORE])).await?;
            reply = comm.recv(Source::Rank(parent), TagSelector::Only(CLOCK), reply).await?.payload;
            let heard = comm.wtime();
            exchanges += 1;
            since_least += 1;
            if heard - asked < least_delay {
                if let Some(&[time, offset]) = reply.values::<f64>() {
                    (difference, of_parent) = (time - 0.5 * (asked + heard), offset);
                }
                least_delay = heard - asked;
                since_least = 0;
            }
        }
        comm.send(parent, CLOCK, Payload::of(&[ENOUGH])).await?;
        let is_none = difference.abs() <= 0.5 * least_delay;
        Ok(Clock { offset: of_parent + if is_none { 0.0 } else { difference } })
    }

    async fn answer<C: Communicator>(self, comm: &C, child: usize) -> Result<(), CommError> {
        let mut question = Payload::of(&[ENOUGH]);
        loop {
            question = comm.recv(Source::Rank(child), TagSelector::Only(CLOCK), question).await?.payload;
            if question.values::<u8>() != Some(&[MORE]) {
                return Ok(());
            }
            comm.send(child, CLOCK, Payload::of(&[comm.wtime(), self.offset])).await?;
        }
    }
}
