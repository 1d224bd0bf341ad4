//! What others must know: from the engine's words into messages.

use super::again::{Beginning, Leaving};
use super::{Pe, change_number};
use crate::distributed::message::{Kind, Write};
use crate::distributed::tables::{Import, NodeName, WEIGHT, divide};
use crate::distributed::value::{self, Exchange, Parts};
use crate::engine::{Outgoing, Throw, has_cells};
use crate::heap::Word;
use crate::heap::word::dereference;

/// How many references are remembered once they have become values: their owners keep those so long.
const REMEMBERED: usize = 64;

impl Pe {
    /// Begins a message: the packet that it is in.
    pub(super) fn message(&mut self, to: usize, kind: Kind) -> &mut Vec<u8> {
        let slot = self.message_slot(to, kind);
        self.outbox.packet(slot)
    }

    /// Begins a message with values, for which the packet is taken out of its place and put back.
    pub(super) fn message_slot(&mut self, to: usize, kind: Kind) -> usize {
        self.sent[kind as usize] += 1;
        let slot = self.outbox.slot(to);
        self.outbox.packet(slot).byte(kind as u8);
        slot
    }

    pub(super) fn write_value(&mut self, packet: &mut Vec<u8>, value: Word) {
        if value::write_atomic(&self.loaded, packet, value) {
            self.parts.words_out += 1;
        } else {
            self.exchange().write(packet, value);
        }
    }

    pub(in crate::distributed) fn exchange(&mut self) -> Exchange<'_> {
        let collections = self.engine.counters().collections;
        if collections != self.collections {
            self.collections = collections;
            self.exported.clear();
        }
        Exchange {
            engine: &mut self.engine,
            loaded: &self.loaded,
            exports: &mut self.exports,
            imports: &mut self.imports,
            me: self.me,
            pes: self.pes,
            limits: self.limits,
            exported: &mut self.exported,
            unwritten: &mut self.unwritten,
            unread: &mut self.unread_parts,
            parts: &mut self.parts,
            site: self.throwing,
        }
    }

    /// Turns what the engine has for others into messages.
    pub(super) fn drain(&mut self) {
        loop {
            let news = self.engine.news();
            if !news.any() {
                return;
            }
            // All is taken before anything is told, and only what there is: mostly one of the three.
            if news.bound {
                self.engine.take_bound(&mut self.bound);
            }
            if news.outgoing {
                self.engine.take_outgoing(&mut self.outgoing, &mut self.outgoing_values);
            }
            if news.unreachable {
                self.engine.take_unreachable(&mut self.unreachable);
            }
            if news.bound {
                let mut bound = std::mem::take(&mut self.bound);
                bound.drain(..).for_each(|export| self.answer_waiters(export as usize));
                self.bound = bound;
            }
            if news.outgoing {
                self.tell_all();
            }
            // After unifications, which give a reference back with the value.
            if news.unreachable {
                let mut unreachable = std::mem::take(&mut self.unreachable);
                unreachable.drain(..).for_each(|number| self.give_back(number));
                self.unreachable = unreachable;
            }
        }
    }

    fn tell_all(&mut self) {
        let (mut outgoing, values) = (std::mem::take(&mut self.outgoing), std::mem::take(&mut self.outgoing_values));
        for outgoing in outgoing.drain(..) {
            match outgoing {
                Outgoing::Throw(throw) => self.throw_all(&throw, &values[throw.arguments.clone()]),
                other => {
                    self.leaving = None;
                    self.outgoing(other);
                }
            }
        }
        self.leaving = None;
        (self.outgoing, self.outgoing_values) = (outgoing, values);
    }

    /// Tells others anything but that goals were thrown.
    fn outgoing(&mut self, outgoing: Outgoing) {
        match outgoing {
            Outgoing::Throw(_) => unreachable!("goals are told by `throw_all`"),
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

    /// Tells others of goals with these arguments.
    fn throw_all(&mut self, throw: &Throw, values: &[Word]) {
        let before = self.parts;
        self.throwing = Some(throw.site);
        let arity = values.len() / throw.goals.max(1);
        let (mut left, mut values) = (throw.goals, values);
        while left > 0 {
            if self.leaving.as_ref().is_some_and(|leaving| leaving.is_like(throw, arity)) {
                self.throw_again(left, values);
                break;
            }
            let (arguments, others) = values.split_at(arity);
            self.leaving = None;
            self.throw(throw.node, throw.predicate, arguments, throw.priority, throw.parent);
            (left, values) = (left - 1, others);
        }
        self.throwing = None;
        self.count_throws(throw, before);
    }

    /// Counts goals with what was written since.
    fn count_throws(&mut self, throw: &Throw, before: Parts) {
        if let Some(counts) = self.sites.get_mut(throw.site as usize) {
            counts.throws += throw.goals as u64;
            counts.words += self.parts.words_out - before.words_out;
            counts.references += self.parts.references_out - before.references_out;
        }
    }

    pub(super) fn throw(&mut self, to: usize, predicate: u32, arguments: &[Word], priority: i32, parent: u32) {
        let (name, weight) = self.weight_of(parent);
        let is_own = name == (self.me, parent);
        let slot = self.message_slot(to, Kind::ThrowGoal);
        let mut packet = std::mem::take(self.outbox.packet(slot));
        let begin = packet.len() - 1;
        packet.number(name.0 as u64);
        packet.number(u64::from(name.1));
        packet.number(weight);
        packet.number(u64::from(predicate));
        packet.signed(i64::from(priority));
        packet.number(arguments.len() as u64);
        if is_own && let Some(beginning) = Beginning::of(&packet[begin..]) {
            self.leaving = Some(Leaving { to, parent, predicate, priority, arity: arguments.len(), slot, beginning });
        }
        for &argument in arguments {
            self.write_value(&mut packet, argument);
        }
        *self.outbox.packet(slot) = packet;
    }

    /// Weight of a node for a goal or a unification that leaves, in place of the one that the engine lent for it: the name
    /// that the node is known by, and the weight.
    fn weight_of(&mut self, node: u32) -> (NodeName, u64) {
        let divided = self.fosters.of_node(node).and_then(|foster| Some((foster.name, divide(&mut foster.weight)?)));
        let named = divided.unwrap_or_else(|| {
            // Its own node, or a foster parent without weight to divide, which then counts this part itself.
            self.engine.add_elsewhere(node, WEIGHT);
            ((self.me, node), WEIGHT)
        });
        self.engine.returned(node, 1);
        named
    }

    fn unify_elsewhere(&mut self, external: u64, value: Word, node: u32) {
        let Some(import) = self.bound_here(external, value) else { return self.engine.returned(node, 1) };
        let (name, weight) = self.weight_of(node);
        let slot = self.message_slot(import.pe, Kind::Unify);
        let mut packet = std::mem::take(self.outbox.packet(slot));
        packet.number(import.index as u64);
        packet.number(import.weight);
        packet.number(name.0 as u64);
        packet.number(u64::from(name.1));
        packet.number(weight);
        self.write_value(&mut packet, value);
        *self.outbox.packet(slot) = packet;
    }

    pub(super) fn foster_ended(&mut self, number: u64, failed: bool) {
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

    pub(super) fn give_back(&mut self, number: u64) {
        self.engine.forget_external(number);
        let Some(import) = self.imports.give_back(number) else { return };
        self.release(import.pe, import.index, import.weight);
    }

    /// An import has been bound here. It is told of with the weight that it has in what is returned.
    fn bound_here(&mut self, number: u64, value: Word) -> Option<Import> {
        let import = self.imports.get(number).filter(|import| import.remember && !import.remembered);
        if let Some(import) = import
            && let Some(weight) = divide(&mut import.weight)
        {
            let bound = Import { weight, ..*import };
            if self.remember_import(number, value) {
                return Some(bound);
            }
            if let Some(import) = self.imports.get(number) {
                import.weight += weight;
            }
        }
        self.engine.forget_external(number);
        self.imports.give_back(number)
    }

    /// An import has become a value, to which it is to lead as long as that is needed here: a value that leads back to itself
    /// over other PEs then does so here. False for values without parts.
    pub(super) fn remember_import(&mut self, number: u64, value: Word) -> bool {
        // SAFETY: what is handed in is of the engine's heap, which has not been collected since.
        if !has_cells(unsafe { dereference(value) }) {
            return false;
        }
        let Some(import) = self.imports.get(number) else { return false };
        import.remembered = true;
        self.engine.remember_external(number, value);
        self.remembered.push_back(number);
        if self.remembered.len() > REMEMBERED
            && !self.answers.are_gathered()
            && let Some(oldest) = self.remembered.pop_front()
            && self.imports.get(oldest).is_some_and(|import| import.remembered)
        {
            self.give_back(oldest);
        }
        true
    }

    pub(super) fn release(&mut self, pe: usize, index: usize, weight: u64) {
        if weight > 0 {
            let packet = self.message(pe, Kind::Release);
            packet.number(index as u64);
            packet.number(weight);
        }
    }

    /// An exported variable that others wait for is bound, perhaps.
    pub(super) fn answer_waiters(&mut self, index: usize) {
        let Some(entry) = self.exports.get(index) else { return };
        let value = self.engine.held(entry.root);
        // SAFETY: values outside the engine (in messages to be, and those that are held) are of its heap: a collection
        // moves what is held.
        if unsafe { dereference(value) }.is_variable() {
            return;
        }
        entry.watched = false;
        for (pe, number) in entry.waiters.take() {
            self.return_value(pe, number, value);
        }
        self.take_back(index, 0);
    }

    pub(super) fn return_value(&mut self, pe: usize, number: u64, value: Word) {
        let slot = self.message_slot(pe, Kind::ReturnValue);
        let mut packet = std::mem::take(self.outbox.packet(slot));
        packet.number(number);
        self.write_value(&mut packet, value);
        *self.outbox.packet(slot) = packet;
    }
}
