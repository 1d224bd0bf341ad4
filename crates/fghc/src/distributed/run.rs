//! The distributed program over a [`Communicator`]: one processing element for each rank.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use weft_comm::{Buffer, CommError, Communicator, Payload, Program, Source, Tag, Work};

use super::message::{KINDS, Kind};
use super::pe::{Activity, Pe};
use super::record::{Event, EventKind, Recorder};
use super::report::{Counts, End, Interrupted};
use super::value::{CopyLimits, Parts};
use crate::engine::{DEFAULT_HEAP, Loaded, Options, Rounds};

/// Where the standard output of the program goes, by PE.
pub type Output = Arc<dyn Fn(usize) -> Box<dyn Write + Send> + Send + Sync>;

/// What work costs in virtual time, in seconds of the PE's processor.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// One reduction.
    pub reduction: f64,
    /// An argument of a goal that is reduced.
    pub argument: f64,
    /// Sending a message, by the number of its kind.
    pub send: [f64; KINDS],
    /// Receiving a message, by the number of its kind.
    pub receive: [f64; KINDS],
    /// Composing or decomposing a byte.
    pub byte: f64,
    /// Composing or decomposing a constant, cell or reference of a value.
    pub word: f64,
    /// Translating a reference in a value.
    pub reference: f64,
}

/// How a run is done.
#[derive(Clone)]
pub struct RunOptions {
    /// Largest number of bytes in use of each PE: see [`Options::heap`].
    pub heap: usize,
    /// See [`Options::available`].
    pub available: fn() -> Option<usize>,
    /// Goals are taken in random order, for tests.
    pub seed: Option<u64>,
    /// A collection every so many reductions at the latest, for tests.
    pub collect_every: Option<u64>,
    /// Reductions between two looks for messages.
    pub slice: u64,
    /// In which order goals run.
    pub rounds: Rounds,
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
    /// Where the timeline is kept, if one is wanted.
    pub recorder: Option<Arc<Recorder>>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            heap: DEFAULT_HEAP,
            available: || None,
            seed: None,
            collect_every: None,
            slice: 10_000,
            rounds: Rounds::default(),
            copy: CopyLimits::default(),
            arguments: Vec::new(),
            output: Arc::new(|_| Box::new(std::io::stdout())),
            interrupt: Arc::new(AtomicBool::new(false)),
            costs: None,
            recorder: None,
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

/// Collections cost nothing in virtual time; they find references that are needed no more, which others are told of. So they
/// come often, whatever suits the caches of the machine that simulates.
const GROWTH_IN_VIRTUAL_TIME: usize = 4;

/// A PE whose goals wait for those on others keeps a few times what one alone does, which every collection copies.
const GROWTH_AMONG_OTHERS: usize = 32;

/// How many packets' memory is kept for others.
const BUFFERS: usize = 16;

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
            available: self.options.available,
            growth: match comm.size() {
                _ if comm.virtual_time() => GROWTH_IN_VIRTUAL_TIME,
                1 => Options::default().growth,
                _ => GROWTH_AMONG_OTHERS,
            },
            seed: self.options.seed,
            collect_every: self.options.collect_every,
            rounds: self.options.rounds,
            arguments: self.options.arguments.clone(),
            output: (self.options.output)(comm.rank()),
            interrupt: self.options.interrupt.clone(),
        };
        let Some(mut pe) = Pe::new(&self.loaded, options, self.options.copy) else {
            return Ok(Err(format!("there is no memory for the heap of PE {}", comm.rank())));
        };
        pe.put_off_goals(!comm.virtual_time());
        let start = comm.wtime();
        let (sent, received) = ([0; KINDS], [0; KINDS]);
        let options = self.options;
        let (parts, arguments) = (Parts::default(), 0);
        let waits_for_quiet = comm.virtual_time() && comm.rank() == 0 && comm.size() > 1;
        let mut driver = Driver {
            comm,
            pe,
            options,
            start,
            ended: None,
            waits_for_quiet,
            idle: 0.0,
            communication: 0.0,
            sent,
            received,
            parts,
            arguments,
            packets: Vec::new(),
            buffers: Vec::new(),
        };
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
    /// When the run was over, before the others were told.
    ended: Option<f64>,
    /// The search for quiescence begins only once nothing can happen any more: where the backend knows, nobody is
    /// disturbed.
    waits_for_quiet: bool,
    idle: f64,
    communication: f64,
    /// Messages that have been charged.
    sent: [u64; KINDS],
    received: [u64; KINDS],
    parts: Parts,
    /// Arguments of reduced goals that have been charged.
    arguments: u64,
    /// Packets to be sent, while they are.
    packets: Vec<(usize, Vec<u8>)>,
    /// Memory of packets that came.
    buffers: Vec<Buffer>,
}

impl<C: Communicator> Driver<C> {
    /// Runs this PE until the run ends.
    async fn work(&mut self) -> Result<Result<(), super::Malformed>, CommError> {
        let is_virtual = self.comm.virtual_time();
        let mut rests = false;
        loop {
            if rests && !is_virtual {
                // Nothing has changed until a packet comes.
                self.something_comes().await?;
            }
            let mut bytes = 0;
            let mut came = false;
            let begin = self.clock();
            while let Some(received) = self.comm.receive_arrived(Source::Any, PACKET.into()).await? {
                self.record(EventKind::Received { from: received.status.source });
                bytes += received.status.bytes;
                came = true;
                let rested = !self.pe.has_goals();
                if let Err(malformed) = self.pe.receive(received.payload.values().unwrap_or_default()) {
                    return Ok(Err(malformed));
                }
                self.keep_buffer(received.payload);
                if rested && self.pe.has_goals() && !is_virtual {
                    // What comes next can wait until this is done.
                    break;
                }
            }
            let received = self.clock();
            let before = self.pe.reductions();
            let activity = self.pe.step(self.options.slice);
            rests = activity == Activity::Resting;
            self.pe.take_packets_into(&mut self.packets);
            bytes += self.packets.iter().map(|(_, packet)| packet.len()).sum::<usize>();
            let reductions = self.pe.reductions() - before;
            let counts = self.charge(reductions, bytes).await;
            let quiet = rests && !came && self.packets.is_empty();
            let charged = self.clock();
            if activity == Activity::Ended {
                self.ended = Some(self.comm.wtime());
            }
            self.send();
            // Telling the others that the run is over is no part of it.
            let end = self.ended.unwrap_or_else(|| self.clock());
            if is_virtual {
                // Time goes on only where messages pass and where work is charged.
                self.communication += (received - begin) + (end - charged);
            }
            if !quiet && self.options.recorder.is_some() {
                let (sent, received) = counts;
                let kind = EventKind::Work { reductions, sent, received };
                self.record_interval(begin, end, kind);
            }
            if activity == Activity::Ended {
                return Ok(Ok(()));
            }
            if quiet && is_virtual {
                self.rest().await?;
            }
        }
    }

    /// The time where somebody looks at the times of every step: to ask for it costs as much as some reductions.
    fn clock(&self) -> f64 {
        if self.comm.virtual_time() || self.options.recorder.is_some() { self.comm.wtime() } else { 0.0 }
    }

    /// Waits for a packet.
    ///
    /// Whose turn it is in the search for quiescence waits only a little before it goes on: a PE that waits for an answer
    /// rests only for a moment, and each moment would cost a message. In virtual time that message costs nobody's processor,
    /// and nothing is awaited.
    async fn something_comes(&mut self) -> Result<(), CommError> {
        if !self.pe.searches() {
            return self.wait().await;
        }
        if self.comm.size() > 1 {
            let before = self.comm.wtime();
            let comes = self.comm.probe_for(Source::Any, PACKET.into(), PATIENCE).await?.is_some();
            let after = self.comm.wtime();
            self.idle += after - before;
            self.record_interval(before, after, EventKind::Idle);
            if comes {
                return Ok(());
            }
        }
        self.rest().await
    }

    /// Takes part in the search for quiescence, and waits for a packet.
    async fn rest(&mut self) -> Result<(), CommError> {
        if !self.waits_for_quiet {
            self.pe.rest();
            self.pe.take_packets_into(&mut self.packets);
            self.send();
        }
        self.wait().await
    }

    async fn wait(&mut self) -> Result<(), CommError> {
        if self.pe.end().is_some() {
            return Ok(());
        }
        self.pe.flush();
        let before = self.comm.wtime();
        if self.waits_for_quiet {
            self.waits_for_quiet = self.comm.probe_until_quiet(Source::Any, PACKET.into()).await?.is_some();
        } else {
            self.comm.probe(Source::Any, PACKET.into()).await?;
        }
        let after = self.comm.wtime();
        self.idle += after - before;
        self.record_interval(before, after, EventKind::Idle);
        Ok(())
    }

    async fn receive(&self, from: usize, bytes: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        let into = Payload::Data(Buffer::zeroed(bytes));
        let received = self.comm.recv(Source::Rank(from), tag.into(), into).await?;
        Ok(received.payload.values::<u8>().unwrap_or_default().to_vec())
    }

    /// Sends the packets that have been taken.
    fn send(&mut self) {
        let mut packets = std::mem::take(&mut self.packets);
        for (to, packet) in packets.drain(..) {
            if self.options.recorder.is_some() {
                self.record(EventKind::Sent { to, first: Kind::first_of(&packet), bytes: packet.len() });
            }
            let mut buffer = self.buffers.pop().unwrap_or_else(|| Buffer::zeroed(0));
            buffer.refill(&packet);
            self.comm.post(to, PACKET, Payload::Data(buffer));
            self.pe.keep_packet(packet);
        }
        self.packets = packets;
    }

    /// Memory of a packet that came, for one that leaves.
    fn keep_buffer(&mut self, payload: Payload) {
        if let Payload::Data(buffer) = payload
            && self.buffers.len() < BUFFERS
        {
            self.buffers.push(buffer);
        }
    }

    /// In virtual time, the processor's time for what was just done. How many messages were sent and received since the
    /// last time, where somebody wants to know.
    async fn charge(&mut self, reductions: u64, bytes: usize) -> (u64, u64) {
        if self.options.costs.is_none() && self.options.recorder.is_none() {
            return (0, 0);
        }
        let (sent, received, parts) = self.pe.traffic();
        let (sent, received) = (*sent, *received);
        let mut seconds = 0.0;
        let (mut left, mut came) = (0, 0);
        for kind in 0..KINDS {
            let (out, into) = (sent[kind] - self.sent[kind], received[kind] - self.received[kind]);
            (left, came) = (left + out, came + into);
            if let Some(costs) = &self.options.costs {
                seconds += out as f64 * costs.send[kind] + into as f64 * costs.receive[kind];
            }
        }
        let words = (parts.words_out - self.parts.words_out) + (parts.words_in - self.parts.words_in);
        let references =
            (parts.references_out - self.parts.references_out) + (parts.references_in - self.parts.references_in);
        (self.sent, self.received, self.parts) = (sent, received, parts);
        let Some(costs) = &self.options.costs else { return (left, came) };
        seconds += bytes as f64 * costs.byte + words as f64 * costs.word + references as f64 * costs.reference;
        let arguments = self.pe.reduced_arguments();
        let work = reductions as f64 * costs.reduction + (arguments - self.arguments) as f64 * costs.argument;
        self.arguments = arguments;
        self.communication += seconds;
        if seconds + work > 0.0 {
            self.comm.compute(Work::Seconds(seconds + work)).await;
        }
        (left, came)
    }

    fn record(&self, kind: EventKind) {
        let now = if self.options.recorder.is_some() { self.comm.wtime() } else { 0.0 };
        self.record_interval(now, now, kind);
    }

    fn record_interval(&self, start: f64, end: f64, kind: EventKind) {
        if let Some(recorder) = &self.options.recorder {
            let pe = self.comm.rank();
            recorder.add(Event { pe, start: start - self.start, end: end - self.start, kind });
        }
    }

    /// Gathers what was counted on rank 0.
    async fn outcome(mut self) -> Result<Option<Outcome>, CommError> {
        self.pe.flush();
        let elapsed = self.ended.unwrap_or_else(|| self.comm.wtime()) - self.start;
        let (idle, communication) = (self.idle, self.communication);
        let counts = Counts { work: elapsed - idle, idle, communication, ..self.pe.counted() };
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
