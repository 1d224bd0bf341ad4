//! The distributed program over a [`Communicator`]: one processing element for each rank.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use weft_comm::{CommError, Communicator, Payload, Program, Source, Tag, Work};

use super::message::{KINDS, Kind};
use super::pe::{Activity, Pe};
use super::report::{Counts, End, Interrupted};
use super::value::CopyLimits;
use crate::engine::{DEFAULT_HEAP, Loaded, Options};

/// Where the standard output of the program goes, by PE.
pub type Output = Arc<dyn Fn(usize) -> Box<dyn Write + Send> + Send + Sync>;

/// What work costs in virtual time, in seconds of the PE's processor.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// One reduction.
    pub reduction: f64,
    /// Sending a message, by the number of its kind.
    pub send: [f64; KINDS],
    /// Receiving a message, by the number of its kind.
    pub receive: [f64; KINDS],
    /// Composing or decomposing a byte.
    pub byte: f64,
}

/// How a run is done.
#[derive(Clone)]
pub struct RunOptions {
    /// Largest number of bytes of each PE's heap in use.
    pub heap: usize,
    /// Goals are taken in random order, for tests.
    pub seed: Option<u64>,
    /// A collection every so many reductions at the latest, for tests.
    pub collect_every: Option<u64>,
    /// Reductions between two looks for messages.
    pub slice: u64,
    /// How much of a value is copied into a message.
    pub copy: CopyLimits,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Standard output of the program.
    pub output: Output,
    /// Set from elsewhere: the run ends as soon as it can.
    pub interrupt: Arc<AtomicBool>,
    /// Charged in virtual time; nothing where time is real.
    pub costs: Option<Costs>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            heap: DEFAULT_HEAP,
            seed: None,
            collect_every: None,
            slice: 10_000,
            copy: CopyLimits::default(),
            arguments: Vec::new(),
            output: Arc::new(|_| Box::new(std::io::stdout())),
            interrupt: Arc::new(AtomicBool::new(false)),
            costs: None,
        }
    }
}

/// What a run gave, on PE 0.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// The variables of the start goal and their values.
    pub answers: Vec<(String, String)>,
    /// Seconds from the start of the goal to its end.
    pub elapsed: f64,
    /// What every PE counted, by PE.
    pub pes: Vec<Counts>,
}

/// The program: its code and how it is run.
#[derive(Clone)]
pub struct Run {
    /// The program in FGHC.
    pub loaded: Loaded,
    /// How it is run.
    pub options: RunOptions,
}

/// Seconds for which a PE rests before it takes its turn in the search for quiescence.
const PATIENCE: f64 = 200e-6;

/// Packets of messages, and at the end the counts.
const PACKET: Tag = Tag::User(1);
const COUNTS: Tag = Tag::User(2);

impl Program for Run {
    /// On rank 0 the outcome, elsewhere nothing.
    type Output = Result<Option<Outcome>, String>;

    async fn run<C: Communicator>(self, comm: C) -> Result<Self::Output, CommError> {
        let options = Options {
            node: comm.rank(),
            nodes: comm.size(),
            heap: self.options.heap,
            seed: self.options.seed,
            collect_every: self.options.collect_every,
            arguments: self.options.arguments.clone(),
            output: (self.options.output)(comm.rank()),
            interrupt: self.options.interrupt.clone(),
        };
        let Some(pe) = Pe::new(&self.loaded, options, self.options.copy) else {
            return Ok(Err(format!("there is no memory for the heap of PE {}", comm.rank())));
        };
        let start = comm.wtime();
        let mut driver =
            Driver { comm, pe, options: self.options, start, idle: 0.0, sent: [0; KINDS], received: [0; KINDS] };
        driver.pe.start();
        match driver.work().await? {
            Ok(()) => Ok(Ok(driver.outcome().await?)),
            Err(malformed) => Ok(Err(malformed.to_string())),
        }
    }
}

struct Driver<C> {
    comm: C,
    pe: Pe,
    options: RunOptions,
    start: f64,
    idle: f64,
    /// Messages that have been charged.
    sent: [u64; KINDS],
    received: [u64; KINDS],
}

impl<C: Communicator> Driver<C> {
    /// Runs this PE until the run ends.
    async fn work(&mut self) -> Result<Result<(), super::Malformed>, CommError> {
        loop {
            let mut bytes = 0;
            let mut came = false;
            while let Some(status) = self.comm.iprobe(Source::Any, PACKET.into()).await? {
                let packet = self.receive(status.source, status.bytes, PACKET).await?;
                bytes += packet.len();
                came = true;
                if let Err(malformed) = self.pe.receive(&packet) {
                    return Ok(Err(malformed));
                }
            }
            let before = self.pe.reductions();
            let activity = self.pe.step(self.options.slice);
            let resting = activity == Activity::Resting;
            let packets = self.pe.take_packets();
            bytes += packets.iter().map(|(_, packet)| packet.len()).sum::<usize>();
            self.charge(self.pe.reductions() - before, bytes).await;
            let quiet = resting && !came && packets.is_empty();
            self.send(packets);
            if activity == Activity::Ended {
                return Ok(Ok(()));
            }
            if quiet && !self.something_comes().await? {
                self.pe.rest();
                let packets = self.pe.take_packets();
                self.send(packets);
                self.wait().await?;
            }
        }
    }

    /// Waits a little before the search for quiescence goes on: a PE that waits for an answer rests only for a moment, and
    /// each moment would cost a message. In virtual time that message costs nobody's processor, and nothing is awaited.
    async fn something_comes(&mut self) -> Result<bool, CommError> {
        if self.comm.virtual_time() || self.comm.size() == 1 || !self.pe.searches() {
            return Ok(false);
        }
        let before = self.comm.wtime();
        let mut comes = false;
        while !comes && self.comm.wtime() - before < PATIENCE {
            comes = self.comm.iprobe(Source::Any, PACKET.into()).await?.is_some();
            std::thread::yield_now();
        }
        self.idle += self.comm.wtime() - before;
        Ok(comes)
    }

    async fn wait(&mut self) -> Result<(), CommError> {
        if self.pe.end().is_some() {
            return Ok(());
        }
        self.pe.flush();
        let before = self.comm.wtime();
        self.comm.probe(Source::Any, PACKET.into()).await?;
        self.idle += self.comm.wtime() - before;
        Ok(())
    }

    async fn receive(&self, from: usize, bytes: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        let into = Payload::Data(weft_comm::Buffer::zeroed(bytes));
        let received = self.comm.recv(Source::Rank(from), tag.into(), into).await?;
        Ok(received.payload.values::<u8>().unwrap_or_default().to_vec())
    }

    fn send(&self, packets: Vec<(usize, Vec<u8>)>) {
        for (to, packet) in packets {
            // A request that is dropped goes on.
            drop(self.comm.isend(to, PACKET, Payload::of(&packet)));
        }
    }

    /// In virtual time, the processor's time for what was just done.
    async fn charge(&mut self, reductions: u64, bytes: usize) {
        let Some(costs) = &self.options.costs else { return };
        let counted = self.pe.counted();
        let mut seconds = reductions as f64 * costs.reduction + bytes as f64 * costs.byte;
        for kind in Kind::ALL.map(|kind| kind as usize) {
            seconds += (counted.sent[kind] - self.sent[kind]) as f64 * costs.send[kind];
            seconds += (counted.received[kind] - self.received[kind]) as f64 * costs.receive[kind];
        }
        (self.sent, self.received) = (counted.sent, counted.received);
        if seconds > 0.0 {
            self.comm.compute(Work::Seconds(seconds)).await;
        }
    }

    /// Gathers what was counted on rank 0.
    async fn outcome(mut self) -> Result<Option<Outcome>, CommError> {
        self.pe.flush();
        let elapsed = self.comm.wtime() - self.start;
        let counts = Counts { work: elapsed - self.idle, idle: self.idle, ..self.pe.counted() };
        if self.comm.rank() != 0 {
            let packet = self.pe.counts_packet(&counts);
            self.comm.send(0, COUNTS, Payload::of(&packet)).await?;
            return Ok(None);
        }
        let mut pes = vec![counts];
        for rank in 1..self.comm.size() {
            let status = self.comm.probe(Source::Rank(rank), COUNTS.into()).await?;
            let packet = self.receive(rank, status.bytes, COUNTS).await?;
            // Written by this very function on another rank.
            let _ = self.pe.receive(&packet);
        }
        pes.extend(self.pe.others_counts().cloned());
        pes.sort_by_key(|counts| counts.pe);
        let end = self.pe.end().cloned().unwrap_or(End::Interrupted(Interrupted::default()));
        Ok(Some(Outcome { end, answers: self.pe.answers(), elapsed, pes }))
    }
}
