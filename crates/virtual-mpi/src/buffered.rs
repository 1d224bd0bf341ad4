//! Messages of buffered sends that are still in the memory that the program has attached (MPI 4.1, section 3.6).

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::abi;
use crate::link::Send;

/// So many messages are kept before the first look for some that have left.
const KEPT: usize = 64;

struct Message {
    number: u64,
    bytes: usize,
    send: Send,
}

/// The messages, in the order of their sends.
#[derive(Default)]
pub struct Buffered {
    messages: RefCell<Vec<Message>>,
    next: Cell<u64>,
    /// When there are so many, those that have left are forgotten.
    look_at: Cell<usize>,
}

impl Buffered {
    pub fn add(&self, bytes: usize, send: Send) {
        let number = self.count();
        self.next.set(number + 1);
        self.messages.borrow_mut().push(Message { number, bytes, send });
    }

    /// How many messages were buffered so far.
    pub fn count(&self) -> u64 {
        self.next.get()
    }

    /// Bytes that are occupied by messages which are not known to have left.
    pub fn occupied(&self) -> usize {
        self.messages.borrow().iter().map(|message| message.bytes + abi::BSEND_OVERHEAD).sum()
    }

    /// Whether there are so many messages that those which have left should be looked for.
    pub fn are_many(&self) -> bool {
        self.messages.borrow().len() >= self.look_at.get().max(KEPT)
    }

    /// Forgets messages before the one with this number that have left; ready when all of those have.
    pub fn poll_left(&self, number: u64, context: &mut Context<'_>) -> Poll<()> {
        let mut messages = self.messages.borrow_mut();
        messages
            .retain_mut(|message| message.number >= number || Pin::new(&mut message.send).poll(context).is_pending());
        self.look_at.set(2 * messages.len());
        if messages.iter().all(|message| message.number >= number) { Poll::Ready(()) } else { Poll::Pending }
    }
}
