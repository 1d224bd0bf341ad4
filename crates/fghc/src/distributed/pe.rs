//! One processing element: an engine, its tables, and what messages do to them.
//!
//! A [`Pe`] does nothing by itself: whoever drives it hands it packets ([`Pe::receive`]), lets it work ([`Pe::step`]) and
//! takes packets for others ([`Pe::take_packets`]). It knows neither threads nor time, so that tests can deliver packets
//! in any order and the same code runs in every world.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::message::{KINDS, Kind, Malformed, Reader, Write};
use super::quiescence::{Quiescence, Token, Turn};
use super::report::{Counts, End, Interrupted, SiteCounts, State, WaitingGoal};
use super::tables::{Exports, Foster, Fosters, Imports, NodeName, WEIGHT, divide};
use super::value::{CopyLimits, Exchange, Parts, room_for};
use crate::engine::{Engine, Loaded, NodeChange, Options, Outgoing, ROOT, Stop};
use crate::heap::Word;
use crate::heap::word::dereference;

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
    exported: FxHashMap<u64, usize>,
    collections: u64,
    /// Nodes elsewhere that were stopped: goals of theirs that still come are sent back.
    stopped: FxHashSet<NodeName>,
    suspended: FxHashSet<NodeName>,
    /// Whose goal an unification from outside is done for.
    acting: Option<NodeName>,
    outbox: BTreeMap<usize, Vec<u8>>,
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
    told: bool,
}

impl Pe {
    /// PE `options.node` of `options.nodes`. `None` when there is no memory for it.
    pub fn new(loaded: &Loaded, options: Options, limits: CopyLimits) -> Option<Pe> {
        let (me, pes) = (options.node, options.nodes);
        let mut engine = Engine::new(loaded, options)?;
        if me != FIRST {
            // Its root has no goals of its own; it ends with the run.
            engine.lent(ROOT, 1);
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
            exported: FxHashMap::default(),
            collections: 0,
            stopped: FxHashSet::default(),
            suspended: FxHashSet::default(),
            acting: None,
            outbox: BTreeMap::new(),
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
            told: false,
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

    // ---- work ---------------------------------------------------------------------------------------------------

    /// Reduces goals, at most about `reductions`, and prepares what others must know.
    pub fn step(&mut self, reductions: u64) -> Activity {
        if self.end.is_some() {
            return Activity::Ended;
        }
        if self.told || self.gathering.is_some() {
            return Activity::Resting;
        }
        // The engine comes back with every goal that it throws: packets wait for company while more is coming.
        let last = self.reductions() + reductions;
        let mut left = reductions;
        let stop = loop {
            let before: usize = self.outbox.values().map(Vec::len).sum();
            let stop = self.engine.run(if before == 0 { left } else { left.min(COMPANY) });
            self.drain();
            left = last.saturating_sub(self.reductions());
            let after: usize = self.outbox.values().map(Vec::len).sum();
            let nothing_came = before > 0 && before == after;
            if !matches!(stop, Stop::Budget) || left == 0 || after > FULL || nothing_came {
                break stop;
            }
        };
        match stop {
            Stop::Budget => Activity::Busy,
            Stop::Idle if self.me == FIRST && self.engine.finished() => {
                self.finish(End::Finished);
                Activity::Ended
            }
            Stop::Idle => Activity::Resting,
            Stop::Problem(problem) => self.ends(End::Problem { pe: self.me, message: problem.to_string() }),
            Stop::Interrupted => self.ends(End::Interrupted(Interrupted::default())),
            Stop::Exit(code) => self.ends(End::Exit(code)),
        }
    }

    /// Whether it is this PE's turn in the search for quiescence, once it rests.
    pub fn searches(&self) -> bool {
        self.quiescence.is_next(self.me, self.pes)
    }

    /// Called when this PE rests and no packet is there for it: takes part in the search for quiescence.
    pub fn rest(&mut self) {
        match self.quiescence.turn(self.me, self.pes) {
            Turn::Wait => {}
            Turn::Pass(to, token) => {
                let mut packet = Vec::new();
                self.sent[Kind::Control as usize] += 1;
                packet.byte(Kind::Control as u8);
                packet.byte(control::TOKEN);
                packet.signed(token.count);
                packet.byte(u8::from(token.black));
                self.control.push((to, packet));
            }
            Turn::Rest => self.gather(Gathering::Suspended),
        }
    }

    /// Packets for others: to which PE, and the bytes.
    pub fn take_packets(&mut self) -> Vec<(usize, Vec<u8>)> {
        let mut packets: Vec<(usize, Vec<u8>)> = std::mem::take(&mut self.outbox).into_iter().collect();
        packets.iter().for_each(|_| self.quiescence.sent());
        packets.append(&mut self.control);
        packets
    }

    /// The program's output is complete.
    pub fn flush(&mut self) {
        self.engine.flush();
    }

    // ---- what others must know ------------------------------------------------------------------------------------

    fn message(&mut self, to: usize, kind: Kind) -> &mut Vec<u8> {
        self.sent[kind as usize] += 1;
        let packet = self.outbox.entry(to).or_default();
        packet.byte(kind as u8);
        packet
    }

    fn write_value(&mut self, packet: &mut Vec<u8>, value: Word) {
        self.exchange().write(packet, value);
    }

    fn exchange(&mut self) -> ExchangeGuard<'_> {
        let collections = self.engine.counters().collections;
        if collections != self.collections {
            self.collections = collections;
            self.exported.clear();
        }
        let exported = std::mem::take(&mut self.exported);
        ExchangeGuard {
            back: &mut self.exported,
            exchange: Exchange {
                engine: &mut self.engine,
                loaded: &self.loaded,
                exports: &mut self.exports,
                imports: &mut self.imports,
                me: self.me,
                pes: self.pes,
                limits: self.limits,
                exported,
                parts: &mut self.parts,
                site: self.throwing,
            },
        }
    }

    /// Turns what the engine has for others into messages.
    fn drain(&mut self) {
        loop {
            let bound = self.engine.take_bound();
            let outgoing = self.engine.take_outgoing();
            let unreachable = self.engine.take_unreachable();
            if bound.is_empty() && outgoing.is_empty() && unreachable.is_empty() {
                return;
            }
            for export in bound {
                self.answer_waiters(export as usize);
            }
            for outgoing in outgoing {
                self.outgoing(outgoing);
            }
            // After unifications, which give a reference back with the value.
            for number in unreachable {
                self.give_back(number);
            }
        }
    }

    fn outgoing(&mut self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Throw { node, predicate, arguments, priority, parent, site } => {
                let before = self.parts;
                self.throwing = Some(site);
                self.throw(node, predicate, &arguments, priority, parent);
                self.throwing = None;
                let after = self.parts;
                if let Some(counts) = self.sites.get_mut(site as usize) {
                    counts.throws += 1;
                    counts.words += after.words_out - before.words_out;
                    counts.references += after.references_out - before.references_out;
                }
            }
            Outgoing::Read { external } => {
                let me = self.me;
                let Some(import) = self.imports.get(external) else { return };
                import.asked = true;
                let (pe, index) = (import.pe, import.index);
                let packet = self.message(pe, Kind::ReadValue);
                packet.number(index as u64);
                packet.number(me as u64);
                packet.number(external);
            }
            Outgoing::Unify { external, value, node } => self.unify_elsewhere(external, value, node),
            Outgoing::NodeEnded { foreign, failed } => self.foster_ended(foreign, failed),
            Outgoing::NodeChanged { node, change } => {
                let me = self.me;
                for pe in (0..self.pes).filter(|pe| *pe != me) {
                    let packet = self.message(pe, Kind::Status);
                    packet.number(me as u64);
                    packet.number(u64::from(node));
                    packet.byte(change_number(change));
                }
            }
        }
    }

    fn throw(&mut self, to: usize, predicate: u32, arguments: &[Word], priority: i32, parent: u32) {
        let lent = self.fosters.of_node(parent).and_then(|foster| Some((foster.name, divide(&mut foster.weight)?)));
        let (name, weight) = lent.unwrap_or_else(|| {
            // Its own node, or a foster parent without weight to divide, which then counts this part itself.
            self.engine.lent(parent, WEIGHT);
            ((self.me, parent), WEIGHT)
        });
        // What the engine lent until the goal was counted.
        self.engine.returned(parent, 1);
        let mut packet = std::mem::take(self.message(to, Kind::ThrowGoal));
        packet.number(name.0 as u64);
        packet.number(u64::from(name.1));
        packet.number(weight);
        packet.number(u64::from(predicate));
        packet.signed(i64::from(priority));
        packet.number(arguments.len() as u64);
        for &argument in arguments {
            self.write_value(&mut packet, argument);
        }
        self.outbox.insert(to, packet);
    }

    fn unify_elsewhere(&mut self, external: u64, value: Word, node: u32) {
        let name = self.acting.unwrap_or_else(|| self.name_of(node));
        self.engine.forget_external(external);
        let Some(import) = self.imports.give_back(external) else { return };
        let mut packet = std::mem::take(self.message(import.pe, Kind::Unify));
        packet.number(import.index as u64);
        packet.number(import.weight);
        packet.number(name.0 as u64);
        packet.number(u64::from(name.1));
        self.write_value(&mut packet, value);
        self.outbox.insert(import.pe, packet);
    }

    fn name_of(&mut self, node: u32) -> NodeName {
        self.fosters.of_node(node).map_or((self.me, node), |foster| foster.name)
    }

    fn foster_ended(&mut self, number: u64, failed: bool) {
        let Some(foster) = self.fosters.remove(number) else { return };
        let (pe, node) = foster.name;
        if !failed {
            let packet = self.message(pe, Kind::Terminated);
            packet.number(u64::from(node));
            packet.number(foster.weight);
            return;
        }
        let text = self.engine.failures().last().map_or_else(String::new, ToString::to_string);
        let me = self.me as u64;
        let packet = self.message(pe, Kind::Failed);
        packet.number(u64::from(node));
        packet.number(foster.weight);
        packet.number(me);
        Write::bytes(packet, text.as_bytes());
    }

    fn give_back(&mut self, number: u64) {
        self.engine.forget_external(number);
        let Some(import) = self.imports.give_back(number) else { return };
        self.release(import.pe, import.index, import.weight);
    }

    fn release(&mut self, pe: usize, index: usize, weight: u64) {
        if weight > 0 {
            let packet = self.message(pe, Kind::Release);
            packet.number(index as u64);
            packet.number(weight);
        }
    }

    /// An exported variable that others wait for is bound, perhaps.
    fn answer_waiters(&mut self, index: usize) {
        let Some(entry) = self.exports.get(index) else { return };
        let value = self.engine.held(entry.root);
        // SAFETY: a value of the engine's heap.
        if unsafe { dereference(value) }.is_variable() {
            return;
        }
        entry.watched = false;
        for (pe, number) in std::mem::take(&mut entry.waiters) {
            self.return_value(pe, number, value);
        }
        if let Some(root) = self.exports.take_back(index, 0) {
            self.engine.release(root);
        }
    }

    fn return_value(&mut self, pe: usize, number: u64, value: Word) {
        let mut packet = std::mem::take(self.message(pe, Kind::ReturnValue));
        packet.number(number);
        self.write_value(&mut packet, value);
        self.outbox.insert(pe, packet);
    }

    // ---- what comes in --------------------------------------------------------------------------------------------

    /// Applies a packet from another PE.
    ///
    /// # Errors
    /// For bytes that no PE of the same program writes.
    pub fn receive(&mut self, packet: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(packet);
        if packet.first() != Some(&(Kind::Control as u8)) {
            self.quiescence.received();
        }
        if self.end.is_none() && !self.engine.make_room(room_for(packet.len())) {
            // The engine has noted the problem, and its next step says so.
            return Ok(());
        }
        while !reader.is_empty() {
            let kind = Kind::of(reader.byte()?)?;
            self.received[kind as usize] += 1;
            match kind {
                Kind::ThrowGoal => self.thrown(&mut reader)?,
                Kind::ReadValue => self.read_value(&mut reader)?,
                Kind::ReturnValue => self.returned_value(&mut reader)?,
                Kind::Unify => self.unify(&mut reader)?,
                Kind::Release => {
                    let (index, weight) = (reader.index()?, reader.number()?);
                    self.take_back(index, weight);
                }
                Kind::Terminated => {
                    let (node, weight) = (self.own_node(&mut reader)?, reader.number()?);
                    self.engine.returned(node, weight);
                }
                Kind::Failed => self.failed(&mut reader)?,
                Kind::Status => self.status(&mut reader)?,
                Kind::Control => self.controlled(&mut reader)?,
            }
        }
        self.drain();
        Ok(())
    }

    /// The number of a node of this PE.
    fn own_node(&self, reader: &mut Reader<'_>) -> Result<u32, Malformed> {
        let node = reader.small()?;
        if self.engine.has_node(node) { Ok(node) } else { Err(Malformed("an unknown node")) }
    }

    /// Another PE.
    fn pe(&self, reader: &mut Reader<'_>) -> Result<usize, Malformed> {
        let pe = reader.index()?;
        if pe < self.pes && pe != self.me { Ok(pe) } else { Err(Malformed("an unknown PE")) }
    }

    /// The name of a node of any PE.
    fn node_name(&self, reader: &mut Reader<'_>) -> Result<NodeName, Malformed> {
        let name = (reader.index()?, reader.small()?);
        if name.0 >= self.pes || name.0 == self.me && !self.engine.has_node(name.1) {
            return Err(Malformed("an unknown node"));
        }
        Ok(name)
    }

    fn read_in(&mut self, reader: &mut Reader<'_>) -> Result<Word, Malformed> {
        self.exchange().read(reader)
    }

    fn thrown(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let name = self.node_name(reader)?;
        let weight = reader.number()?;
        let predicate = reader.small()?;
        let priority = i32::try_from(reader.signed()?).map_err(|_| Malformed("a priority is too large"))?;
        let count = reader.index()?;
        let arity = self.loaded.program.predicates.get(predicate as usize).map(|predicate| predicate.arity);
        // Predicates that the compiler adds have no entry in the program; their goals are not thrown.
        if arity != Some(count) {
            return Err(Malformed("a goal of an unknown predicate"));
        }
        let mut arguments = Vec::with_capacity(count);
        for _ in 0..count {
            arguments.push(self.read_in(reader)?);
        }
        if self.stopped.contains(&name) {
            let packet = self.message(name.0, Kind::Terminated);
            packet.number(u64::from(name.1));
            packet.number(weight);
            return Ok(());
        }
        let node = if name.0 == self.me {
            // Back where the node is: its weight is given back at once.
            self.engine.start_goal(predicate, &arguments, name.1, priority);
            self.engine.returned(name.1, weight);
            return Ok(());
        } else {
            self.foster(name, weight)
        };
        self.engine.start_goal(predicate, &arguments, node, priority);
        Ok(())
    }

    /// The node here for goals of a node elsewhere, with more weight.
    fn foster(&mut self, name: NodeName, weight: u64) -> u32 {
        if let Some(foster) = self.fosters.find(name).and_then(|number| self.fosters.get(number)) {
            foster.weight += weight;
            return foster.node;
        }
        let number = self.fosters.reserve();
        let node = self.engine.foster(number);
        self.fosters.put(number, Foster { name, node, weight });
        if self.suspended.contains(&name) {
            self.engine.change_node(node, NodeChange::Suspend);
        }
        node
    }

    fn read_value(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let index = reader.index()?;
        let waiter = (self.pe(reader)?, reader.number()?);
        let entry = self.exports.get(index).ok_or(Malformed("the value of a reference to nothing is wanted"))?;
        if let Some(counts) = entry.site.and_then(|site| self.sites.get_mut(site as usize)) {
            counts.reads += 1;
        }
        let value = self.engine.held(entry.root);
        // SAFETY: a value of the engine's heap.
        if !unsafe { dereference(value) }.is_variable() {
            self.return_value(waiter.0, waiter.1, value);
            return Ok(());
        }
        entry.waiters.push(waiter);
        if !std::mem::replace(&mut entry.watched, true) {
            self.engine.watch_variable(value, index as u64);
        }
        Ok(())
    }

    fn returned_value(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let number = reader.number()?;
        let value = self.read_in(reader)?;
        let Some(import) = self.imports.get(number) else { return Err(Malformed("an answer to no question")) };
        import.asked = false;
        // Where it was bound here meanwhile, its owner has been told already.
        let is_wanted = import.weight > 0;
        if let Some(variable) = self.engine.external_variable(number).filter(|_| is_wanted) {
            self.engine.answer(variable, value);
        }
        self.give_back(number);
        Ok(())
    }

    fn unify(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let (index, weight) = (reader.index()?, reader.number()?);
        let name = self.node_name(reader)?;
        let value = self.read_in(reader)?;
        let entry = self.exports.get(index).ok_or(Malformed("a value for a reference to nothing"))?;
        if let Some(counts) = entry.site.and_then(|site| self.sites.get_mut(site as usize)) {
            counts.unifications += 1;
        }
        let known = self.engine.held(entry.root);
        let equal = self.engine.unify_values(known, value);
        if !equal {
            let text =
                format!("{} = {} cannot be made equal", self.engine.text(known, true), self.engine.text(value, true));
            self.fail(name, 0, self.me, &text);
        }
        // What the unification has to tell others is told for the goal that began it.
        self.acting = Some(name);
        self.drain();
        self.acting = None;
        self.take_back(index, weight);
        Ok(())
    }

    fn take_back(&mut self, index: usize, weight: u64) {
        if let Some(root) = self.exports.take_back(index, weight) {
            self.engine.release(root);
        }
    }

    fn failed(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let (node, weight, pe) = (self.own_node(reader)?, reader.number()?, reader.index()?);
        let text = reader.text()?;
        self.fail((self.me, node), weight, pe, &text);
        Ok(())
    }

    /// A goal of a node failed on some PE.
    fn fail(&mut self, name: NodeName, weight: u64, pe: usize, text: &str) {
        if name.0 != self.me {
            let packet = self.message(name.0, Kind::Failed);
            packet.number(u64::from(name.1));
            packet.number(weight);
            packet.number(pe as u64);
            return Write::bytes(packet, text.as_bytes());
        }
        if name.1 == ROOT {
            self.ends(End::Problem { pe, message: text.to_string() });
            return;
        }
        self.engine.fail_from_outside(name.1);
        self.engine.returned(name.1, weight);
    }

    fn status(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let name = self.node_name(reader)?;
        let change = change_of(reader.byte()?)?;
        match change {
            NodeChange::Stop => {
                self.stopped.insert(name);
            }
            NodeChange::Suspend => {
                self.suspended.insert(name);
            }
            NodeChange::Resume => {
                self.suspended.remove(&name);
            }
        }
        if let Some(foster) = self.fosters.find(name).and_then(|number| self.fosters.get(number)) {
            let node = foster.node;
            self.engine.change_node(node, change);
        }
        Ok(())
    }

    // ---- the run as a whole ---------------------------------------------------------------------------------------

    fn control_packet(&mut self, to: usize, what: u8) -> Vec<u8> {
        debug_assert_ne!(to, self.me);
        self.sent[Kind::Control as usize] += 1;
        vec![Kind::Control as u8, what]
    }

    fn tell_all_others(&mut self, what: u8, rest: &[u8]) {
        for pe in (0..self.pes).filter(|pe| *pe != self.me).collect::<Vec<_>>() {
            let mut packet = self.control_packet(pe, what);
            packet.extend_from_slice(rest);
            self.control.push((pe, packet));
        }
    }

    /// This PE ends the run; PE 0 tells the others.
    fn ends(&mut self, end: End) -> Activity {
        if self.me == FIRST {
            if matches!(end, End::Interrupted(_)) {
                self.gather(Gathering::Interrupted);
            } else {
                self.finish(end);
            }
            return if self.end.is_some() { Activity::Ended } else { Activity::Resting };
        }
        if !std::mem::replace(&mut self.told, true) {
            let mut packet = self.control_packet(FIRST, control::STOP);
            end.write(&mut packet);
            self.control.push((FIRST, packet));
        }
        Activity::Resting
    }

    /// On PE 0: the run is over.
    fn finish(&mut self, end: End) {
        if self.end.is_some() {
            return;
        }
        let mut packet = Vec::new();
        end.write(&mut packet);
        self.end = Some(end);
        self.tell_all_others(control::END, &packet);
    }

    /// On PE 0: the run ends once all PEs have said what is left on them.
    fn gather(&mut self, why: Gathering) {
        if self.end.is_some() || self.gathering.is_some() {
            return;
        }
        self.gathering = Some(why);
        self.states = vec![None; self.pes];
        self.states[FIRST] = Some(self.state());
        self.tell_all_others(control::WHAT_IS_LEFT, &[]);
        self.all_have_said();
    }

    fn all_have_said(&mut self) {
        let said: Option<Vec<State>> = self.states.iter().cloned().collect();
        let Some(states) = said else { return };
        match self.gathering {
            Some(Gathering::Suspended) => self.finish(End::Suspended(State::waiting(&states))),
            Some(Gathering::Interrupted) => {
                let waiting = State::waiting(&states);
                self.finish(End::Interrupted(Interrupted { ready: State::ready(&states), waiting }));
            }
            None => {}
        }
    }

    fn state(&mut self) -> State {
        let mut all = self.engine.waiting();
        for lost in self.engine.lost() {
            if !all.contains(lost) {
                all.push(lost.clone());
            }
        }
        let goals = all.into_iter().map(|goal| WaitingGoal { goal: goal.goal, variables: goal.variables }).collect();
        let imports: Vec<(u64, usize, usize)> =
            self.imports.iter().map(|(number, import)| (number, import.pe, import.index)).collect();
        let imports = imports
            .into_iter()
            .filter_map(|(number, pe, index)| {
                Some((self.engine.text(self.engine.external_variable(number)?, true), pe, index))
            })
            .collect();
        let exports = self
            .exports
            .iter()
            .map(|(index, entry)| (index, self.engine.text(self.engine.held(entry.root), true)))
            .collect();
        State { pe: self.me, goals, ready: self.engine.ready_goals(SHOWN_GOALS), imports, exports }
    }

    fn controlled(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        match reader.byte()? {
            control::TOKEN => {
                let token = Token { count: reader.signed()?, black: reader.byte()? != 0 };
                self.quiescence.take(token);
            }
            control::STOP => {
                let end = End::read(reader)?;
                if self.me != FIRST {
                    return Err(Malformed("only PE 0 ends the run"));
                }
                self.ends(end);
            }
            control::WHAT_IS_LEFT if self.me != FIRST => {
                let state = self.state();
                let mut packet = self.control_packet(FIRST, control::LEFT);
                state.write(&mut packet);
                self.control.push((FIRST, packet));
            }
            control::LEFT if self.gathering.is_some() => {
                let state = State::read(reader)?;
                let pe = state.pe;
                *self.states.get_mut(pe).ok_or(Malformed("a report of an unknown PE"))? = Some(state);
                self.all_have_said();
            }
            control::END => self.end = Some(End::read(reader)?),
            control::COUNTS => {
                let counts = Counts::read(reader)?;
                self.counts.push(Some(counts));
            }
            _ => return Err(Malformed("an unknown message of control")),
        }
        Ok(())
    }

    /// A packet for PE 0 with what this PE counted, at the end of the run.
    pub fn counts_packet(&self, counts: &Counts) -> Vec<u8> {
        let mut packet = vec![Kind::Control as u8, control::COUNTS];
        counts.write(&mut packet);
        packet
    }

    /// On PE 0, at the end of the run: the counts that have come in.
    pub fn others_counts(&self) -> impl Iterator<Item = &Counts> {
        self.counts.iter().flatten()
    }
}

/// Gives the table of exported cells back when the exchange is over.
struct ExchangeGuard<'a> {
    back: &'a mut FxHashMap<u64, usize>,
    exchange: Exchange<'a>,
}

impl<'a> std::ops::Deref for ExchangeGuard<'a> {
    type Target = Exchange<'a>;
    fn deref(&self) -> &Exchange<'a> {
        &self.exchange
    }
}

impl std::ops::DerefMut for ExchangeGuard<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.exchange
    }
}

impl Drop for ExchangeGuard<'_> {
    fn drop(&mut self) {
        *self.back = std::mem::take(&mut self.exchange.exported);
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
