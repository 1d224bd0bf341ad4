//! The seam for references across processing elements.
//!
//! An engine knows nothing of other engines. A variable whose value is elsewhere is an ordinary unbound cell with an
//! *external* record in its list; the record holds a number that whoever distributes the program gave it. Unbound is
//! what the fast paths look for, so a program without such variables pays nothing.
//!
//! The engine puts what others must know into a queue, [`Outgoing`], which is emptied between slices with
//! [`Engine::take_outgoing`]. What comes in is applied with [`Engine::answer`], [`Engine::unify_for`] and
//! [`Engine::start_goal`]. Values that must survive a collection are held as [`Root`]s.

use rustc_hash::FxHashSet;

use super::Engine;
use super::outgoing::{News, Outgoing};
use super::unify::cells;
use crate::heap::goal::{LINK, WATCH_WORDS};
use crate::heap::word::{LIST, OBJECT, dereference};
use crate::heap::{Kind, Word};

/// A variable whose value is elsewhere, or the value that it has become.
#[derive(Debug, Clone, Copy)]
pub(super) struct External {
    pub value: Word,
    /// Its value is on its way: it is kept even where only goals that wait for it refer to it.
    pub asked: bool,
}

/// External variables by their numbers, which are those of a table elsewhere: small, and used again.
#[derive(Default)]
pub(super) struct Externals(Vec<Option<External>>);

impl Externals {
    fn insert(&mut self, number: u64, external: External) {
        let number = number as usize;
        if number >= self.0.len() {
            self.0.resize(number + 1, None);
        }
        self.0[number] = Some(external);
    }

    fn get(&self, number: u64) -> Option<&External> {
        self.0.get(number as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut External> {
        self.0.get_mut(number as usize)?.as_mut()
    }

    fn remove(&mut self, number: u64) {
        if let Some(entry) = self.0.get_mut(number as usize) {
            *entry = None;
        }
    }

    pub fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Option<External>>()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut External> {
        self.0.iter_mut().flatten()
    }

    /// Leaves those of which this is true.
    pub fn retain(&mut self, mut keep: impl FnMut(u64, &mut External) -> bool) {
        for (number, entry) in self.0.iter_mut().enumerate() {
            if entry.as_mut().is_some_and(|external| !keep(number as u64, external)) {
                *entry = None;
            }
        }
    }
}

/// A value that the collector keeps, and moves, for someone outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Root(pub(super) usize);

impl Engine {
    /// What others must know, since this was last asked, and arguments of goals in it. Both come in place of what is
    /// handed in, which is emptied. Hold their values as roots before the engine goes on.
    pub fn take_outgoing(&mut self, outgoing: &mut Vec<Outgoing>, values: &mut Vec<Word>) {
        outgoing.clear();
        values.clear();
        self.outgoing_goals = 0;
        std::mem::swap(outgoing, &mut self.outgoing);
        std::mem::swap(values, &mut self.outgoing_values);
    }

    /// A new variable whose value is elsewhere, under a number below 2^48: an index into a table that grows as far as the
    /// largest.
    pub fn external(&mut self, number: u64) -> Word {
        let variable = self.new_variable();
        let record = self.allocate(WATCH_WORDS);
        // SAFETY: both were just allocated.
        unsafe {
            *record = Word::header(Kind::External, number);
            *record.add(LINK) = Word(0);
            *variable.pointer() = Word::waiting(record);
        }
        self.externals.insert(number, External { value: variable, asked: false });
        variable
    }

    /// The external variable of a number, or what it has become where that is remembered; `None` once nothing here refers to
    /// it any more.
    pub fn external_value(&self, number: u64) -> Option<Word> {
        self.externals.get(number).map(|external| external.value)
    }

    /// An external variable has become a list or object of this heap: its number stands for that as long as anything else
    /// refers to it.
    pub fn remember_external(&mut self, number: u64, value: Word) {
        // SAFETY: a value of this heap.
        let value = unsafe { dereference(value) };
        self.externals.insert(number, External { value, asked: false });
    }

    /// Nobody will ask for an external variable again: its number means nothing any more.
    pub fn forget_external(&mut self, number: u64) {
        self.externals.remove(number);
    }

    /// Numbers of external variables that collections have found nothing refers to any more, since this was last asked;
    /// in place of what is handed in.
    pub fn take_unreachable(&mut self, unreachable: &mut Vec<u64>) {
        unreachable.clear();
        std::mem::swap(unreachable, &mut self.unreachable);
    }

    /// A goal of this node failed elsewhere. Not for the root, whose failure ends the run.
    pub fn fail_from_outside(&mut self, node: u32) {
        if node == super::ROOT || self.node_state(node) == super::NodeState::Done {
            return;
        }
        let parent = self.parent_of(node);
        self.park();
        self.end_node(node, crate::ir::atoms::FAILURE);
        self.check_ended(parent);
    }

    /// The number of an unbound variable's external record, if it has one.
    pub fn external_number(&self, value: Word) -> Option<u64> {
        // SAFETY: a value of this heap.
        unsafe {
            let value = dereference(value);
            if !value.is_variable() {
                return None;
            }
            let mut record = (*value.pointer()).pointer();
            while !record.is_null() {
                if Kind::of(*record) == Kind::External {
                    return Some((*record).payload() & !super::outgoing::ASKED);
                }
                record = (*record.add(LINK)).pointer();
            }
            None
        }
    }

    /// The values of the start goal's variables.
    pub fn answer_values(&self) -> Vec<Word> {
        self.answers.iter().map(|(_, root)| self.held(*root)).collect()
    }

    /// Adds the external variables within a value to `externals`, but for what is in `seen`: cells that were looked at since the
    /// last collection.
    pub fn externals_within(&self, value: Word, seen: &mut FxHashSet<u64>, externals: &mut Vec<Word>) {
        let mut values = vec![value];
        while let Some(value) = values.pop() {
            // SAFETY: what callers hold, and cells of it, are values of this heap.
            let value = unsafe { dereference(value) };
            if value.is_variable() {
                if self.external_number(value).is_some() && seen.insert(value.0) {
                    externals.push(value);
                }
            } else if matches!(value.tag(), LIST | OBJECT) && seen.insert(value.0) {
                // SAFETY: a bound value of this heap, in which nothing changes meanwhile.
                unsafe {
                    let cells = cells(value);
                    values.extend((0..cells.len()).rev().map(|index| cells.get(index)));
                }
            }
        }
    }

    /// Asks for the value of an external variable; false where it was asked for already.
    pub fn ask_for(&mut self, variable: Word) -> bool {
        // SAFETY: a value of this heap.
        let variable = unsafe { dereference(variable) };
        let before = self.outgoing.len();
        if variable.is_variable() {
            // SAFETY: the value is unbound, so that it is the address of its cell.
            unsafe { self.ask_unless_asked(variable.pointer()) };
        }
        self.outgoing.len() > before
    }

    /// Binds an external variable to the value that its owner sent; what waits for it wakes.
    pub fn answer(&mut self, variable: Word, value: Word) {
        // SAFETY: both are values of this heap.
        unsafe {
            let variable = dereference(variable);
            let value = dereference(value);
            if variable == value {
                return;
            }
            if variable.is_variable() && !value.is_variable() {
                self.bind_answer(variable.pointer(), value);
            } else {
                self.unify(variable, value);
            }
        }
    }

    /// Active unification for a node; false when the values differ.
    pub fn unify_for(&mut self, node: u32, left: Word, right: Word) -> bool {
        let outer = self.unifying_for.replace(node);
        let equal = self.unify(left, right);
        self.unifying_for = outer;
        equal
    }

    /// Keeps a value.
    pub fn hold(&mut self, value: Word) -> Root {
        match self.free_roots.pop() {
            Some(index) => {
                self.roots[index] = value;
                Root(index)
            }
            None => {
                self.roots.push(value);
                Root(self.roots.len() - 1)
            }
        }
    }

    /// A kept value, where it is now.
    pub fn held(&self, root: Root) -> Word {
        self.roots[root.0]
    }

    /// Keeps a value no longer, and returns it.
    pub fn release(&mut self, root: Root) -> Word {
        self.free_roots.push(root.0);
        std::mem::replace(&mut self.roots[root.0], Word::NIL)
    }

    /// Has a number come up in [`Engine::take_bound`] when a variable is bound. Numbers below 2^48.
    pub fn watch_variable(&mut self, variable: Word, number: u64) {
        // SAFETY: a value of this heap.
        unsafe {
            let variable = dereference(variable);
            if variable.is_variable() {
                self.watch(variable, number | super::WATCH_OUTSIDE);
            } else {
                self.bound.push(number);
            }
        }
    }

    /// Numbers of watched variables that were bound since this was last asked, as far as [`Engine::news`] knows; in place of
    /// what is handed in.
    pub fn take_bound(&mut self, bound: &mut Vec<u64>) {
        bound.clear();
        std::mem::swap(bound, &mut self.bound);
    }

    /// What there is to take; what must be looked after to know is looked after.
    #[inline]
    pub fn news(&mut self) -> News {
        if !self.fired.is_empty() {
            self.attend();
        }
        News {
            bound: !self.bound.is_empty(),
            outgoing: !self.outgoing.is_empty(),
            unreachable: !self.unreachable.is_empty(),
        }
    }
}
