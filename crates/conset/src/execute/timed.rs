//! The benchmark of an exchange: how long it takes, and whether every word comes where it belongs.

use rustc_hash::FxHashMap;
use weft_comm::collective::{Choice, Element, Operator, allreduce, barrier};
use weft_comm::{CommError, Communicator, Payload, Program, Reduction};

use super::exchange::Prepared;
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
        let mut prepared = Prepared::new(&comm, &self.execution, self.phantom)?;
        let of = |part: &Part| self.content(part);
        // Phantoms are neither gathered nor scattered.
        let sends = self.execution.sends(comm.rank()).filter(|_| !self.phantom);
        let outgoing: FxHashMap<(u32, u64), Vec<u8>> = sends.map(of).collect();
        let receives = self.execution.receives(comm.rank()).filter(|_| !self.phantom);
        let mut incoming: FxHashMap<(u32, u64), Vec<u8>> =
            receives.map(|part| (key(part), vec![0; self.bytes(part)])).collect();
        let mut seconds = Vec::with_capacity(self.iterations);
        for iteration in 0..self.warmup + self.iterations {
            if !comm.virtual_time() || iteration > 0 {
                barrier(&comm, Choice::Auto).await?;
            }
            let start = comm.wtime();
            let gather = |part: &Part, bytes: &mut [u8]| bytes.copy_from_slice(&outgoing[&key(part)]);
            let scatter = |part: &Part, bytes: &[u8]| {
                if let Some(buffer) = incoming.get_mut(&key(part)) {
                    buffer.copy_from_slice(bytes);
                }
            };
            prepared.exchange(gather, scatter).await?;
            let own = comm.wtime() - start;
            // All ranks begin at virtual time 0; where they also leave together, each knows what all took.
            let is_known = comm.virtual_time() && iteration == 0 && prepared.ends_together();
            let slowest = if is_known { own } else { largest(&comm, own).await? };
            if iteration >= self.warmup {
                seconds.push(slowest);
            }
        }
        if !self.phantom {
            self.check(&comm, &incoming)?;
        }
        Ok(Timing { seconds })
    }
}

async fn largest<C: Communicator>(comm: &C, value: f64) -> Result<f64, CommError> {
    let all = allreduce(comm, Payload::of(&[value]), MAXIMUM, Choice::Auto).await?;
    Ok(all.values::<f64>().expect("a reduction of data is data")[0])
}

/// What is known of a part everywhere: its connection and its first word.
fn key(part: &Part) -> (u32, u64) {
    (part.connection, part.first_word)
}

impl Timed {
    fn bytes(&self, part: &Part) -> usize {
        (part.words * self.execution.word_bytes) as usize
    }

    /// What a part consists of.
    fn content(&self, part: &Part) -> ((u32, u64), Vec<u8>) {
        let first = part.first_word * self.execution.word_bytes;
        let bytes = (0..self.bytes(part) as u64).map(|offset| content(part.connection, first + offset));
        (key(part), bytes.collect())
    }

    fn check<C: Communicator>(&self, comm: &C, incoming: &FxHashMap<(u32, u64), Vec<u8>>) -> Result<(), CommError> {
        for part in self.execution.receives(comm.rank()) {
            let (key, wanted) = self.content(part);
            if incoming[&key] != wanted {
                let message = format!("connection {}: what was received is not what was sent", part.connection);
                return Err(CommError::program(comm.world_rank(), message));
            }
        }
        Ok(())
    }
}

/// A byte that depends on the connection and on its offset.
fn content(connection: u32, offset: u64) -> u8 {
    let mixed = (u64::from(connection) << 32 ^ offset).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}
