//! The benchmark of an exchange: how long it takes, and whether every word comes where it belongs.

use weft_comm::collective::{Choice, Element, Operator, allreduce, barrier};
use weft_comm::{Buffer, CommError, Communicator, Payload, Program, Reduction};

use super::exchange::exchange;
use super::plan::{Execution, Part};

const MAXIMUM: Reduction = Reduction { element: Element::Float64, operator: Operator::Maximum };

/// Times an exchange, again and again.
#[derive(Clone, Debug)]
pub struct Timed {
    pub execution: Execution,
    /// Timed exchanges; in virtual time one is enough.
    pub iterations: usize,
    /// Exchanges before them.
    pub warmup: usize,
    /// Whether payloads are phantoms. Data is checked after the last exchange.
    pub phantom: bool,
}

/// What a rank found.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Seconds of every timed exchange, from when all ranks were ready until the last was through.
    pub seconds: Vec<f64>,
}

impl Program for Timed {
    type Output = Timing;

    async fn run<C: Communicator>(self, comm: C) -> Result<Timing, CommError> {
        let mut seconds = Vec::with_capacity(self.iterations);
        for iteration in 0..self.warmup + self.iterations {
            let outgoing = self.outgoing(comm.rank());
            if !comm.virtual_time() || iteration > 0 {
                barrier(&comm, Choice::Auto).await?;
            }
            let start = comm.wtime();
            let incoming = exchange(&comm, &self.execution, outgoing).await?;
            let own = comm.wtime() - start;
            let slowest = allreduce(&comm, Payload::of(&[own]), MAXIMUM, Choice::Auto).await?;
            if iteration >= self.warmup {
                seconds.push(slowest.values::<f64>().expect("a reduction of data is data")[0]);
            }
            if iteration + 1 == self.warmup + self.iterations {
                self.check(&comm, &incoming)?;
            }
        }
        Ok(Timing { seconds })
    }
}

impl Timed {
    fn outgoing(&self, rank: usize) -> Vec<Payload> {
        self.execution.sends(rank).map(|part| self.payload(part)).collect()
    }

    fn payload(&self, part: &Part) -> Payload {
        let bytes = (part.words * self.execution.word_bytes) as usize;
        if self.phantom {
            return Payload::Phantom(bytes);
        }
        let mut buffer = Buffer::zeroed(bytes);
        let first = part.first_word * self.execution.word_bytes;
        for (place, byte) in buffer.iter_mut().enumerate() {
            *byte = content(part.connection, first + place as u64);
        }
        Payload::Data(buffer)
    }

    fn check<C: Communicator>(&self, comm: &C, incoming: &[Payload]) -> Result<(), CommError> {
        for (part, payload) in self.execution.receives(comm.rank()).zip(incoming) {
            if *payload != self.payload(part) {
                let message = format!("connection {}: what was received is not what was sent", part.connection);
                return Err(CommError::Program { rank: comm.world_rank(), message });
            }
        }
        Ok(())
    }
}

/// A byte that depends on the connection and on its place.
fn content(connection: u32, place: u64) -> u8 {
    let mixed = (u64::from(connection) << 32 ^ place).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}
