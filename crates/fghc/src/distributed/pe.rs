//! One processing element: an engine, its tables, and what messages do to them.
//!
//! A [`Pe`] does nothing by itself: whoever drives it hands it packets ([`Pe::receive`]), lets it work ([`Pe::step`]) and
//! takes packets for others ([`Pe::take_packets`]). It knows neither threads nor time, so that tests can deliver packets
//! in any order and the same code runs in every backend.

mod again;
mod answers;
mod ending;
mod incoming;
mod outgoing;
mod unread;

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::message::{KINDS, Kind, Malformed, Write};
use super::outbox::Outbox;
use super::quiescence::{Action, Quiescence};
use super::report::{Counts, End, Interrupted, SiteCounts, State};
use super::tables::{Exports, Fosters, Imports, NodeName};
use super::value::{CellPointers, CopyLimits, Exported, Parts};
use crate::engine::{Engine, Loaded, NodeChange, Options, Outgoing, ROOT, Stop};
use crate::heap::Word;
use again::{Coming, Leaving};
use answers::Answers;
use unread::Unread;

/// The PE that the program starts on, and that ends the run.
const FIRST: usize = 0;

/// What a PE is after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It has goals that can go on.
    Busy,
    /// It has none, and waits for packets.
    Resting,
    /// The run is over.
    Ended,
}

/// What messages of [`Kind::Control`] say.
mod control {
    pub const TOKEN: u8 = 0;
    pub const STOP: u8 = 1;
    pub const WHAT_IS_LEFT: u8 = 2;
    pub const LEFT: u8 = 3;
    pub const END: u8 = 4;
    pub const COUNTS: u8 = 5;
}

/// Why the state of all PEs is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gathering {
    /// Nothing moves any more.
    Suspended,
    /// Ctrl-C.
    Interrupted,
}

/// Bytes of packets after which they are sent, though the step is not over.
const FULL: usize = 4096;
/// Reductions for which a packet waits for another message.
const COMPANY: u64 = 300;
/// How many goals that could go on each PE shows of an interrupted run.
const SHOWN_GOALS: usize = 5;

/// One processing element.
pub struct Pe {
    engine: Engine,
    loaded: Loaded,
    me: usize,
    pes: usize,
    limits: CopyLimits,
    exports: Exports,
    imports: Imports,
    fosters: Fosters,
    exported: Exported,
    /// Imports that have become values which are remembered, the oldest first; some are no more.
    remembered: VecDeque<u64>,
    /// Whether thrown goals wait as they came while there are others.
    puts_off: bool,
    unread: Unread,
    collections: u64,
    /// Nodes elsewhere that were stopped: goals of theirs that still come are sent back.
    stopped: FxHashSet<NodeName>,
    suspended: FxHashSet<NodeName>,
    /// Messages for others.
    outbox: Outbox,
    outgoing: Vec<Outgoing>,
    outgoing_values: Vec<Word>,
    bound: Vec<u64>,
    unreachable: Vec<u64>,
    /// Values still to be written, and arguments that have been read: kept for their memory.
    unwritten: Vec<(Word, usize)>,
    unread_parts: CellPointers,
    arguments: Vec<Word>,
    /// The goal thrown last, and the one that came last, while others may begin as they did.
    leaving: Option<Leaving>,
    coming: Option<Coming>,
    /// Packets that the search for quiescence does not count.
    control: Vec<(usize, Vec<u8>)>,
    quiescence: Quiescence,
    sent: [u64; KINDS],
    received: [u64; KINDS],
    parts: Parts,
    /// By goal with a pragma.
    sites: Vec<SiteCounts>,
    /// The goal with a pragma that is being thrown, if one is.
    throwing: Option<u32>,
    /// Only on PE 0: why the state of all PEs is being gathered.
    gathering: Option<Gathering>,
    /// Only on PE 0: the states, as they come in.
    states: Vec<Option<State>>,
    /// Only on PE 0: what others counted.
    counts: Vec<Option<Counts>>,
    end: Option<End>,
    end_announced: bool,
    /// Only on PE 0: what the answers still lack.
    answers: Answers,
}

impl Pe {
    /// PE `options.node` of `options.nodes`. `None` when there is no memory for it.
    pub fn new(loaded: &Loaded, options: Options, limits: CopyLimits) -> Option<Pe> {
        let (me, pes) = (options.node, options.nodes);
        let mut engine = Engine::new(loaded, options)?;
        if me != FIRST {
            // Its root has no goals of its own; it ends with the run.
            engine.add_elsewhere(ROOT, 1);
        }
        Some(Pe {
            engine,
            loaded: loaded.clone(),
            me,
            pes,
            limits,
            exports: Exports::default(),
            imports: Imports::default(),
            fosters: Fosters::default(),
            exported: Exported::default(),
            remembered: VecDeque::new(),
            puts_off: false,
            unread: Unread::default(),
            collections: 0,
            stopped: FxHashSet::default(),
            suspended: FxHashSet::default(),
            outbox: Outbox::default(),
            outgoing: Vec::new(),
            outgoing_values: Vec::new(),
            bound: Vec::new(),
            unreachable: Vec::new(),
            unwritten: Vec::new(),
            unread_parts: CellPointers::default(),
            arguments: Vec::new(),
            leaving: None,
            coming: None,
            control: Vec::new(),
            quiescence: Quiescence::default(),
            sent: [0; KINDS],
            received: [0; KINDS],
            parts: Parts::default(),
            sites: vec![SiteCounts::default(); loaded.code.starts.len()],
            throwing: None,
            gathering: None,
            states: Vec::new(),
            counts: Vec::new(),
            end: None,
            end_announced: false,
            answers: Answers::default(),
        })
    }

    /// Starts the program's goal, on PE 0 only. False where the program has none.
    pub fn start(&mut self) -> bool {
        self.me == FIRST && self.engine.start()
    }

    /// How the run ended, once it has.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// The values of the start goal's variables, on PE 0.
    pub fn answers(&self) -> Vec<(String, String)> {
        self.engine.answers()
    }

    /// What this PE counted.
    pub fn counted(&self) -> Counts {
        let counters = self.engine.counters();
        Counts {
            pe: self.me,
            reductions: counters.reductions,
            suspensions: counters.suspensions,
            resumptions: counters.resumptions,
            collections: counters.collections,
            work: 0.0,
            idle: 0.0,
            sent: self.sent,
            received: self.received,
            communication: 0.0,
            sites: self.sites.clone(),
        }
    }

    /// Messages sent and received so far, by the number of their kind, and the parts of the values in them.
    pub(super) fn traffic(&self) -> (&[u64; KINDS], &[u64; KINDS], Parts) {
        (&self.sent, &self.received, self.parts)
    }

    /// How many references others have to this PE.
    pub fn exported(&self) -> usize {
        self.exports.len()
    }

    /// Reductions so far.
    pub fn reductions(&self) -> u64 {
        self.engine.counters().reductions
    }

    /// Arguments of the goals that were reduced, where they are counted.
    pub fn reduced_arguments(&self) -> u64 {
        self.engine.counters().arguments
    }

    /// Reduces goals, at most about `reductions`, and prepares what others must know.
    pub fn step(&mut self, reductions: u64) -> Activity {
        if self.end.is_some() {
            return Activity::Ended;
        }
        if self.end_announced || self.gathering.is_some() {
            return Activity::Resting;
        }
        // The engine comes back with every goal that it throws: packets wait for company while more is coming.
        let last = self.reductions() + reductions;
        self.engine.hold_outside(self.bytes());
        self.attend_to_unread();
        let mut left = reductions;
        let stop = loop {
            let before: usize = self.outbox.bytes();
            let mut stop = self.engine.run(if before == 0 { left } else { left.min(COMPANY) });
            self.drain();
            if matches!(stop, Stop::Budget) && self.engine.rests() {
                // It came back only to tell others something.
                stop = Stop::Idle;
            }
            left = last.saturating_sub(self.reductions());
            let after: usize = self.outbox.bytes();
            if matches!(stop, Stop::Idle) && left > 0 && self.start_unread() {
                continue;
            }
            let nothing_came = before > 0 && before == after;
            if !matches!(stop, Stop::Budget) || left == 0 || after > FULL || nothing_came {
                break stop;
            }
        };
        match stop {
            Stop::Budget => Activity::Busy,
            Stop::Idle if self.me == FIRST && self.engine.finished() => {
                if self.answers_are_missing() {
                    return Activity::Resting;
                }
                self.finish(End::Finished);
                Activity::Ended
            }
            Stop::Idle if !self.unread.is_empty() => Activity::Busy,
            Stop::Idle => Activity::Resting,
            Stop::Problem(problem) => self.ends(End::Problem { pe: self.me, message: problem.to_string() }),
            Stop::Interrupted => self.ends(End::Interrupted(Interrupted::default())),
            Stop::Exit(code) => self.ends(End::Exit(code)),
        }
    }

    /// Bytes of what this PE holds beside its engine.
    fn bytes(&self) -> usize {
        self.exports.bytes() + self.imports.bytes() + self.fosters.bytes() + self.exported.bytes() + self.unread.bytes()
    }

    /// Whether it is this PE's turn in the search for quiescence, once it rests. One that has told PE 0 how the run ends
    /// takes no part: a search that came to its end first would say that it has finished.
    pub fn searches(&self) -> bool {
        !self.end_announced && self.quiescence.is_next(self.me, self.pes)
    }

    /// Called when this PE rests and no packet is there for it: takes part in the search for quiescence.
    pub fn rest(&mut self) {
        if !self.searches() {
            return;
        }
        match self.quiescence.act(self.me, self.pes) {
            Action::Wait => {}
            Action::Pass(to, token) => {
                let mut packet = Vec::new();
                self.sent[Kind::Control as usize] += 1;
                packet.byte(Kind::Control as u8);
                packet.byte(control::TOKEN);
                packet.signed(token.count);
                packet.byte(u8::from(token.black));
                self.control.push((to, packet));
            }
            // What the answers lack is on its way now: nothing else moves, and the search begins again.
            Action::Rest if self.ask_for_answers() => self.quiescence.begin_again(),
            Action::Rest if self.engine.finished() => self.finish(End::Finished),
            Action::Rest => self.gather(Gathering::Suspended),
        }
    }

    /// Packets for others: to which PE, and the bytes.
    pub fn take_packets(&mut self) -> Vec<(usize, Vec<u8>)> {
        let mut packets = Vec::new();
        self.take_packets_into(&mut packets);
        packets
    }

    /// As [`Pe::take_packets`], behind what is in `packets`.
    pub fn take_packets_into(&mut self, packets: &mut Vec<(usize, Vec<u8>)>) {
        let before = packets.len();
        self.outbox.take_into(packets);
        packets[before..].iter().for_each(|_| self.quiescence.sent());
        packets.append(&mut self.control);
    }

    /// Takes the memory of a packet that has been sent, for another.
    pub fn keep_packet(&mut self, packet: Vec<u8>) {
        self.outbox.keep(packet);
    }

    /// The program's output is complete.
    pub fn flush(&mut self) {
        self.engine.flush();
    }
}

fn change_number(change: NodeChange) -> u8 {
    match change {
        NodeChange::Suspend => 0,
        NodeChange::Resume => 1,
        NodeChange::Stop => 2,
    }
}

fn change_of(number: u8) -> Result<NodeChange, Malformed> {
    match number {
        0 => Ok(NodeChange::Suspend),
        1 => Ok(NodeChange::Resume),
        2 => Ok(NodeChange::Stop),
        _ => Err(Malformed("an unknown change of a node")),
    }
}
