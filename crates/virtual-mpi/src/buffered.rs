//! Messages of buffered sends that are still in the memory that the program has attached (MPI 4.1, section 3.6): to a
//! communicator, to a session, or for all that have none of their own.

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

/// What was attached in one call, and its messages in the order of their sends.
#[derive(Default)]
pub struct Buffered {
    /// The address and the length of the memory, while there is some.
    attached: Cell<Option<(usize, usize)>>,
    messages: RefCell<Vec<Message>>,
    next: Cell<u64>,
    /// When there are so many, those that have left are forgotten.
    look_at: Cell<usize>,
}

impl Buffered {
    /// Attaches memory; false where some is attached already.
    pub fn attach(&self, address: usize, bytes: usize) -> bool {
        let is_free = !self.is_attached();
        if is_free {
            self.attached.set(Some((address, bytes)));
        }
        is_free
    }

    /// The address and the length of the memory, which is attached no more.
    pub fn detach(&self) -> Option<(usize, usize)> {
        self.attached.take()
    }

    pub fn is_attached(&self) -> bool {
        self.attached.get().is_some()
    }

    /// The length of the memory, in bytes.
    pub fn space(&self) -> usize {
        self.attached.get().map_or(0, |(_, bytes)| bytes)
    }

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
