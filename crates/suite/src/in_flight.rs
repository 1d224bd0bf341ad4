//! Messages in flight at one time: what one step of a benchmark of throughput starts and waits for.

use weft_comm::prepared::{Operation, Window};
use weft_comm::{CommError, Communicator, Payload, PreparedOperation, Source, TagSelector};

use crate::session::{ACKNOWLEDGE, Session, Step, TIMED};

/// Bytes at both ends of a message that are looked at.
const EDGE: usize = 64;

/// Whether the receiver of messages that go one way answers a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Sent,
    /// Whoever uses the window sees to it.
    LeftOut,
}

/// A window of messages of this rank, with its buffers: prepared by the backend where it can, else a send and a receive
/// each.
pub(crate) struct InFlight<C: Communicator> {
    window: Window,
    prepared: Option<Box<dyn PreparedOperation>>,
    out: Vec<Payload>,
    into: Vec<Payload>,
    sends: Vec<C::Send>,
    receives: Vec<C::Receive>,
}

impl<C: Communicator> InFlight<C> {
    /// `count` messages of `bytes` to one rank and from one rank, as far as there are such.
    pub fn new(
        session: &Session<'_, C>,
        [to, from]: [Option<usize>; 2],
        bytes: usize,
        count: usize,
        answer: Answer,
    ) -> Result<InFlight<C>, CommError> {
        let phantom = session.is_phantom();
        let answer = (answer == Answer::Sent).then_some(ACKNOWLEDGE);
        let window = Window { to, from, bytes, count, tag: TIMED, answer, phantom, memory: session.memory() };
        let operations = session.comm.operations();
        let prepared = operations.map(|operations| operations.prepare(&Operation::Window(window))).transpose()?;
        let messages = |peer: Option<usize>| match (&prepared, peer) {
            (None, Some(_)) => (0..count).map(|_| session.buffer(bytes)).collect(),
            _ => Vec::new(),
        };
        let (out, into) = (messages(to), messages(from));
        let (sends, receives) = (Vec::with_capacity(out.len()), Vec::with_capacity(into.len()));
        Ok(InFlight { window, prepared, out, into, sends, receives })
    }

    /// One step of messages with a pattern; all ranks of a pair call it together.
    pub async fn check(&mut self, session: &Session<'_, C>) -> Result<(), CommError> {
        if self.window.phantom {
            return Ok(());
        }
        self.messages(true).into_iter().enumerate().for_each(|(number, message)| fill(message, number));
        if let Some(prepared) = &mut self.prepared {
            prepared.write_through()?;
        }
        self.step(&session.comm).await?;
        if let Some(prepared) = &mut self.prepared {
            prepared.read_through()?;
        }
        let wrong = self.messages(false).into_iter().enumerate().find_map(|(number, message)| wrong(message, number));
        wrong.map_or(Ok(()), |what| Err(session.error(format!("{}: {what}", session.benchmark.name))))
    }

    /// The messages that go out, or those that come in.
    fn messages(&mut self, outgoing: bool) -> Vec<&mut [u8]> {
        let Window { bytes, count, .. } = self.window;
        if let Some(prepared) = &mut self.prepared {
            let memory = if outgoing { prepared.input() } else { prepared.output() };
            return memory.chunks_mut((memory.len() / count).max(1)).map(|message| &mut message[..bytes]).collect();
        }
        let messages = if outgoing { &mut self.out } else { &mut self.into };
        messages
            .iter_mut()
            .filter_map(|message| match message {
                Payload::Data(buffer) => Some(&mut buffer[..]),
                Payload::Phantom(_) => None,
            })
            .collect()
    }

    /// Starts all messages of a step.
    #[inline]
    pub fn start(&mut self, comm: &C) -> Result<(), CommError> {
        match &mut self.prepared {
            Some(prepared) => prepared.start(),
            None => {
                self.start_one_by_one(comm);
                Ok(())
            }
        }
    }

    /// Waits for all messages that were started.
    #[inline]
    pub async fn finish(&mut self, comm: &C) -> Result<(), CommError> {
        match &mut self.prepared {
            Some(prepared) => prepared.finish(),
            None => self.finish_one_by_one(comm).await,
        }
    }

    fn start_one_by_one(&mut self, comm: &C) {
        if let Some(from) = self.window.from {
            for message in self.into.drain(..) {
                self.receives.push(comm.irecv(Source::Rank(from), TagSelector::Only(TIMED), message));
            }
        }
        if let Some(to) = self.window.to {
            for message in self.out.drain(..) {
                self.sends.push(comm.isend(to, TIMED, message));
            }
        }
    }

    async fn finish_one_by_one(&mut self, comm: &C) -> Result<(), CommError> {
        for request in self.receives.drain(..) {
            self.into.push(request.await?.payload);
        }
        for request in self.sends.drain(..) {
            self.out.push(request.await?);
        }
        if self.window.answer.is_none() {
            return Ok(());
        }
        let (answer_from, answer_to) = self.window.answers();
        if let Some(from) = answer_from {
            comm.recv(Source::Rank(from), TagSelector::Only(ACKNOWLEDGE), Payload::EMPTY).await?;
        }
        if let Some(to) = answer_to {
            comm.send(to, ACKNOWLEDGE, Payload::EMPTY).await?;
        }
        Ok(())
    }
}

impl<C: Communicator> Step<C> for InFlight<C> {
    #[inline]
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        match &mut self.prepared {
            Some(prepared) => prepared.run(),
            None => {
                self.start_one_by_one(comm);
                self.finish_one_by_one(comm).await
            }
        }
    }

    fn prepared(&mut self) -> Option<&mut dyn PreparedOperation> {
        Some(&mut **self.prepared.as_mut()?)
    }
}

/// A byte of a message, by its number and the byte's position.
fn pattern(number: usize, index: usize) -> u8 {
    ((number + index) % 251) as u8 + 1
}

fn edges(bytes: usize) -> impl Iterator<Item = usize> {
    (0..bytes.min(EDGE)).chain(bytes.saturating_sub(EDGE).max(EDGE)..bytes)
}

fn fill(message: &mut [u8], number: usize) {
    edges(message.len()).for_each(|index| message[index] = pattern(number, index));
}

/// What is wrong with a message, if anything is.
fn wrong(message: &[u8], number: usize) -> Option<String> {
    let index = edges(message.len()).find(|&index| message[index] != pattern(number, index))?;
    let (came, sent) = (message[index], pattern(number, index));
    Some(format!("message {number} of {} bytes: byte {index} came as {came:#04x}, {sent:#04x} was sent", message.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_at_an_edge_is_named() {
        for bytes in [1, 63, 64, 65, 128, 129, 5000] {
            let mut message = vec![0; bytes];
            fill(&mut message, 3);
            assert_eq!(wrong(&message, 3), None);
            let last = bytes - 1;
            message[last] ^= 0xff;
            let text = wrong(&message, 3).expect("the last byte is looked at");
            assert!(text.starts_with(&format!("message 3 of {bytes} bytes: byte {last} came as ")), "{text}");
        }
    }
}
