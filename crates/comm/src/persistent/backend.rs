//! What a backend implements to have persistent messages of its own.

use crate::error::CommError;

/// The two messages between this rank and another in every round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The other rank, not this one.
    pub peer: usize,
    /// Bytes that go there; 0: no message.
    pub send_bytes: usize,
    /// Bytes that come from there; 0: no message.
    pub receive_bytes: usize,
}

/// A set of messages as a backend has it. A round is: `start`; then in any order, for each end, its send buffer filled
/// and `send`, and `wait` and its receive buffer read; then `finish`. All calls may block.
///
/// Implementations are for [`Persistent`](super::Persistent), which keeps to that order; ends are counted from 0.
pub trait PersistentMessages {
    /// What the messages go by, for [`Persistent::describe`](super::Persistent::describe): as `MPI persistent requests`.
    fn describe(&self) -> String;
    /// Begins a round: messages may come, and send buffers may be filled.
    fn start(&mut self) -> Result<(), CommError>;
    /// Where the next message to this end is put together. Its bytes are those of no particular round.
    fn send_buffer(&mut self, end: usize) -> &mut [u8];
    /// Sends what the buffer has.
    fn send(&mut self, end: usize) -> Result<(), CommError>;
    /// Waits for the message of this end.
    fn wait(&mut self, end: usize) -> Result<(), CommError>;
    /// The message that has been waited for.
    fn receive_buffer(&self, end: usize) -> &[u8];
    /// Ends a round: all messages have been sent, and those that came are done with.
    fn finish(&mut self) -> Result<(), CommError>;
}
