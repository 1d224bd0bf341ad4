//! Planned exchanges as a program in virtual time sees them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use weft_comm::{CommError, Communicator, ExchangeMethod, ExchangePlan, Exchanged, Exchanges, Payload};

use crate::communicator::SimComm;

impl Exchanges for SimComm {
    fn carries(&self, method: ExchangeMethod) -> bool {
        self.is_whole_run() && self.core().borrow().carries(method)
    }

    fn exchange<'a>(&'a self, plan: &'a Arc<ExchangePlan>, outgoing: Vec<Payload>) -> Exchanged<'a> {
        Box::pin(async move {
            let rank = self.world_rank();
            let joined = self.core().borrow_mut().join_exchange(rank as u32, plan, outgoing);
            joined.map_err(|message| CommError::program(rank, format!("planned exchange: {message}")))?;
            Ok(Joined { comm: self }.await)
        })
    }
}

/// Waits until all ranks have taken part.
struct Joined<'a> {
    comm: &'a SimComm,
}

impl Future for Joined<'_> {
    type Output = Vec<Payload>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Vec<Payload>> {
        let taken = self.comm.core().borrow_mut().take_exchanged(self.comm.world_rank() as u32);
        taken.map_or(Poll::Pending, Poll::Ready)
    }
}
