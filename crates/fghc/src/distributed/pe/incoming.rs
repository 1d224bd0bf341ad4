//! What comes in: messages to the engine.

use super::again::{Beginning, Coming};
use super::{Pe, change_of};
use crate::distributed::message::{Kind, Malformed, Reader, Write};
use crate::distributed::report::End;
use crate::distributed::tables::{Foster, NodeName};
use crate::distributed::value::{self, max_words};
use crate::engine::{NodeChange, NodeState, ROOT};
use crate::heap::Word;
use crate::heap::word::dereference;

impl Pe {
    /// Applies a packet from another PE.
    ///
    /// # Errors
    /// For bytes that no PE of the same program writes.
    pub fn receive(&mut self, packet: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(packet);
        if packet.first() != Some(&(Kind::Control as u8)) {
            self.quiescence.received();
        }
        if self.end.is_none() && !self.engine.reserve_words(max_words(packet.len())) {
            // The engine has noted the problem, and its next step says so.
            return Ok(());
        }
        let later = self.puts_off && self.engine.has_default_goals_only();
        self.coming = None;
        while !reader.is_empty() {
            self.thrown_again(&mut reader)?;
            self.coming = None;
            if reader.is_empty() {
                break;
            }
            let kind = Kind::of(reader.byte()?)?;
            self.received[kind as usize] += 1;
            match kind {
                Kind::ThrowGoal if later => self.put_off(&mut reader)?,
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
                Kind::Status => {
                    self.start_all_unread();
                    self.status(&mut reader)?;
                }
                Kind::Control => self.controlled(&mut reader)?,
            }
        }
        self.drain();
        Ok(())
    }

    /// The number of a node of this PE.
    pub(super) fn own_node(&self, reader: &mut Reader<'_>) -> Result<u32, Malformed> {
        let node = reader.small()?;
        if self.engine.has_node(node) { Ok(node) } else { Err(Malformed("an unknown node")) }
    }

    /// Another PE.
    pub(super) fn pe(&self, reader: &mut Reader<'_>) -> Result<usize, Malformed> {
        let pe = reader.index()?;
        if pe < self.pes && pe != self.me { Ok(pe) } else { Err(Malformed("an unknown PE")) }
    }

    /// The name of a node of any PE.
    pub(super) fn node_name(&self, reader: &mut Reader<'_>) -> Result<NodeName, Malformed> {
        let name = (reader.index()?, reader.small()?);
        if name.0 >= self.pes || name.0 == self.me && !self.engine.has_node(name.1) {
            return Err(Malformed("an unknown node"));
        }
        Ok(name)
    }

    #[inline(always)]
    pub(super) fn read_in(&mut self, reader: &mut Reader<'_>) -> Result<Word, Malformed> {
        if let Some(value) = value::read_integer(reader) {
            self.parts.words_in += 1;
            return value;
        }
        self.exchange().read(reader)
    }

    pub(super) fn thrown(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let message = reader.rest();
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
        let beginning = &message[..message.len() - reader.left()];
        let mut arguments = std::mem::take(&mut self.arguments);
        arguments.clear();
        for _ in 0..count {
            arguments.push(self.read_in(reader)?);
        }
        let node = self.start_thrown(name, weight, predicate, priority, &arguments);
        self.arguments = arguments;
        if let Some(node) = node {
            self.remember(beginning, name, node, (weight, predicate, count, priority));
        }
        Ok(())
    }

    /// Goals that come next may begin as this one did, of a node elsewhere that `node` stands for.
    fn remember(
        &mut self,
        beginning: &[u8],
        name: NodeName,
        node: u32,
        (weight, predicate, arity, priority): (u64, u32, usize, i32),
    ) {
        let Some(foster) = self.fosters.find(name) else { return };
        let mut whole = [0; 64];
        whole[0] = Kind::ThrowGoal as u8;
        let Some(rest) = whole.get_mut(1..=beginning.len()) else { return };
        rest.copy_from_slice(beginning);
        let Some(beginning) = Beginning::of(&whole[..=beginning.len()]) else { return };
        let queue = self.engine.queue_of(node, priority);
        self.coming = Some(Coming { beginning, foster, weight, predicate, arity, queue });
    }

    /// Starts a goal. The node here that it belongs to, where that stands for one elsewhere.
    pub(super) fn start_thrown(
        &mut self,
        name: NodeName,
        weight: u64,
        predicate: u32,
        priority: i32,
        arguments: &[Word],
    ) -> Option<u32> {
        if self.stopped.contains(&name) {
            let packet = self.message(name.0, Kind::Terminated);
            packet.number(u64::from(name.1));
            packet.number(weight);
            return None;
        }
        if name.0 == self.me {
            // Back where the node is: its weight is given back at once.
            self.engine.start_goal(predicate, arguments, name.1, priority);
            self.engine.returned(name.1, weight);
            return None;
        }
        let node = self.foster(name, weight);
        self.engine.start_goal(predicate, arguments, node, priority);
        Some(node)
    }

    /// The node here for goals of a node elsewhere, with more weight.
    pub(super) fn foster(&mut self, name: NodeName, weight: u64) -> u32 {
        if let Some(foster) = self.fosters.find(name).and_then(|number| self.fosters.get(number)) {
            let node = foster.node;
            if self.engine.node_state(node) != NodeState::Done {
                foster.weight += weight;
                return node;
            }
            // It has ended by a message of the same packet: that is told first, and another takes its place.
            self.drain();
        }
        let number = self.fosters.reserve();
        let node = self.engine.foster(number);
        self.fosters.put(number, Foster { name, node, weight });
        if self.suspended.contains(&name) {
            self.engine.change_node(node, NodeChange::Suspend);
        }
        node
    }

    pub(super) fn read_value(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let index = reader.index()?;
        let waiter = (self.pe(reader)?, reader.number()?);
        let entry = self.exports.get(index).ok_or(Malformed("the value of a reference to nothing is wanted"))?;
        if let Some(counts) = entry.site.and_then(|site| self.sites.get_mut(site as usize)) {
            counts.reads += 1;
        }
        let value = self.engine.held(entry.root);
        // SAFETY: values outside the engine (in messages to be, and those that are held) are of its heap: a collection
        // moves what is held.
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

    pub(super) fn returned_value(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let number = reader.number()?;
        let value = self.read_in(reader)?;
        let Some(import) = self.imports.get(number) else { return Err(Malformed("an answer to no question")) };
        import.asked = false;
        // Where it was bound here meanwhile, its owner has been told already.
        if import.remembered {
            return Ok(());
        }
        let (is_wanted, remember) = (import.weight > 0, import.remember || self.answers.are_gathered());
        if let Some(variable) = self.engine.external_value(number).filter(|_| is_wanted) {
            self.engine.answer(variable, value);
            if remember && self.remember_import(number, value) {
                return Ok(());
            }
        }
        self.give_back(number);
        Ok(())
    }

    pub(super) fn unify(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let (index, weight) = (reader.index()?, reader.number()?);
        let name = self.node_name(reader)?;
        let weight_of_node = reader.number()?;
        let value = self.read_in(reader)?;
        let entry = self.exports.get(index).ok_or(Malformed("a value for a reference to nothing"))?;
        if let Some(counts) = entry.site.and_then(|site| self.sites.get_mut(site as usize)) {
            counts.unifications += 1;
        }
        let known = self.engine.held(entry.root);
        let (node, returned) =
            if name.0 == self.me { (name.1, weight_of_node) } else { (self.foster(name, weight_of_node), 0) };
        self.engine.add_elsewhere(node, 1);
        let equal = self.engine.unify_for(node, known, value);
        if !equal {
            let text =
                format!("{} = {} cannot be made equal", self.engine.text(known, true), self.engine.text(value, true));
            self.fail(name, 0, self.me, &text);
        }
        // What the unification has to tell others is told, and counted, before its weight goes back.
        self.drain();
        self.engine.returned(node, returned + 1);
        self.take_back(index, weight);
        Ok(())
    }

    pub(super) fn take_back(&mut self, index: usize, weight: u64) {
        if let Some(gone) = self.exports.take_back(index, weight) {
            self.exported.forget(index, &gone);
            self.engine.release(gone.root);
        }
    }

    pub(super) fn failed(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        let (node, weight, pe) = (self.own_node(reader)?, reader.number()?, reader.index()?);
        let text = reader.text()?;
        self.fail((self.me, node), weight, pe, &text);
        Ok(())
    }

    /// A goal of a node failed on some PE.
    pub(super) fn fail(&mut self, name: NodeName, weight: u64, pe: usize, text: &str) {
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

    pub(super) fn status(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
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
}
