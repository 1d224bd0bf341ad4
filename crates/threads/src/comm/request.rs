//! The requests of sends and receives: futures that, when polled, wait until they are complete.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use weft_comm::{Call, CommError, Payload, Received};

use crate::comm::ThreadComm;
use crate::mailbox::{Parcel, Slot};

/// The request of an `isend`.
pub struct Send(pub(crate) SendState);

pub(crate) enum SendState {
    /// Complete; `None` once the result is given away.
    Done(Option<Result<Payload, CommError>>),
    /// A long message that its receiver has not taken.
    Waiting { comm: ThreadComm, parcel: Arc<Parcel>, call: Call },
}

impl Future for Send {
    type Output = Result<Payload, CommError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            SendState::Done(result) => Poll::Ready(result.take().expect("a request is awaited once")),
            SendState::Waiting { comm, parcel, call } => {
                let result = comm.wait(*call, |_| parcel.give_back());
                self.0 = SendState::Done(None);
                Poll::Ready(result)
            }
        }
    }
}

/// The request of an `irecv`.
pub struct Receive(pub(crate) ReceiveState);

pub(crate) enum ReceiveState {
    /// Complete; `None` once the result is given away.
    Done(Option<Result<Received, CommError>>),
    /// In the mailbox.
    Posted { comm: ThreadComm, slot: usize, call: Call },
}

impl Future for Receive {
    type Output = Result<Received, CommError>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            ReceiveState::Done(result) => Poll::Ready(result.take().expect("a request is awaited once")),
            ReceiveState::Posted { comm, slot, call } => {
                let slot = *slot;
                let result = comm.wait(*call, |contents| {
                    let done = matches!(contents.slots[slot], Slot::Done(_));
                    done.then(|| contents.slots.remove(slot))
                });
                match result {
                    Ok(Slot::Done(result)) => {
                        self.0 = ReceiveState::Done(None);
                        Poll::Ready(result)
                    }
                    Ok(_) => unreachable!("only a slot that is done is removed"),
                    Err(aborted) => Poll::Ready(Err(aborted)),
                }
            }
        }
    }
}

impl Drop for Receive {
    /// A receive that is not complete goes on: its message is taken and thrown away.
    fn drop(&mut self) {
        let ReceiveState::Posted { comm, slot, .. } = &self.0 else { return };
        let mut contents = comm.contents();
        match &mut contents.slots[*slot] {
            Slot::Done(_) => {
                contents.slots.remove(*slot);
            }
            state @ Slot::Filling => *state = Slot::Dropped,
            // A posted slot is found by its message, which fills it for nobody.
            Slot::Posted { .. } | Slot::Dropped => {}
        }
    }
}
