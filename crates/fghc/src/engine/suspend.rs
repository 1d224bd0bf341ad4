//! Goals that wait, and what wakes them.

use super::outgoing::{ASKED, Outgoing};
use super::{Engine, NodeState, ROOT};
use crate::heap::goal::{
    ARGUMENTS, HOOK_WORDS, HOOKED_GOAL, LINK, WATCH_WORDS, goal_header, goal_queue, goal_state, state, with_state,
};
use crate::heap::word::{UNBOUND, dereference};
use crate::heap::{Kind, Word};

impl Engine {
    /// Makes the goal in registers 0 and up wait for every variable that was noted. False when none was.
    pub(crate) fn suspend(&mut self, predicate: u32) -> bool {
        let arity = usize::from(self.code.predicates[predicate as usize].arity);
        // SAFETY: registers hold the arguments, and the reserve has room for the record and a hook for each variable.
        unsafe {
            let count = match self.registers.noted_count {
                0 => return false,
                1 => 1,
                _ => self.distinct_noted(),
            };
            self.pass_round();
            let queue = self.current;
            let goal = self.allocate(ARGUMENTS + arity + 1);
            *goal = goal_header(predicate, arity, state::SUSPENDED, queue);
            *goal.add(LINK) = Word(0);
            // A call of memcpy costs more than these few words; the compiler makes none of volatile writes.
            for index in 0..arity {
                goal.add(ARGUMENTS + index).write_volatile(*self.registers.x.add(index));
            }
            *goal.add(ARGUMENTS + arity) = Word(self.registers.suspended as u64);
            self.registers.suspended = goal;
            self.registers.waiting += 1;
            self.registers.suspensions += 1;
            if count == 1 {
                let cell = self.registers.noted[0].pointer();
                let others = (*cell).pointer();
                *goal.add(LINK) = Word(others as u64);
                *cell = Word::waiting(goal);
                if !others.is_null() {
                    self.ask(cell);
                }
            } else {
                for index in 0..count {
                    let cell = self.registers.noted[index].pointer();
                    let hook = self.allocate(HOOK_WORDS);
                    *hook = Word::header(Kind::Hook, 0);
                    *hook.add(LINK) = Word((*cell).pointer() as u64);
                    *hook.add(HOOKED_GOAL) = Word(goal as u64);
                    *cell = Word::waiting(hook);
                    self.ask(cell);
                }
            }
            self.registers.noted_count = 0;
            true
        }
    }

    /// Leaves each noted variable once, and only those still unbound; returns how many.
    unsafe fn distinct_noted(&mut self) -> usize {
        let count = self.registers.noted_count as usize;
        let mut kept = 0;
        for index in 0..count {
            // SAFETY: what was noted are values of this heap, which nothing has collected since the guards ran.
            let variable = unsafe { dereference(self.registers.noted[index]) };
            if !self.registers.noted[..kept].contains(&variable) {
                self.registers.noted[kept] = variable;
                kept += 1;
            }
        }
        self.registers.noted_count = kept as u64;
        kept
    }

    /// Where the variable's value is elsewhere and was not asked for yet, asks for it. A record has just been put in front of
    /// those that wait for it.
    unsafe fn ask(&mut self, cell: *mut Word) {
        // SAFETY: the cell is unbound (this function's condition): its content is the record just put there, the first of
        // a list of records of this heap, which ends with null.
        unsafe {
            // The external record is the last of a list, and whatever was put directly before it has asked.
            self.ask_by((*(*cell).pointer().add(LINK)).pointer());
        }
    }

    /// Where the variable's value is elsewhere and was not asked for yet, asks for it, whatever waits for it.
    ///
    /// # Safety
    /// The cell is an unbound one of this heap.
    pub(super) unsafe fn ask_unless_asked(&mut self, cell: *mut Word) {
        // SAFETY: the cell is unbound (this function's condition): its content is null or the first of a list of records
        // of this heap, which ends with null.
        unsafe {
            let mut record = (*cell).pointer();
            while !record.is_null() && Kind::of(*record) != Kind::External {
                record = (*record.add(LINK)).pointer();
            }
            self.ask_by(record);
        }
    }

    /// Asks for the value of an external record, if it is one that was not asked for.
    ///
    /// # Safety
    /// The record is null or one of this heap.
    unsafe fn ask_by(&mut self, record: *mut Word) {
        // SAFETY: the record is null or one of this heap (this function's condition).
        unsafe {
            if !record.is_null() && Kind::of(*record) == Kind::External && (*record).payload() & ASKED == 0 {
                let number = (*record).payload();
                *record = Word::header(Kind::External, number | ASKED);
                if let Some(external) = self.externals.get_mut(number) {
                    external.asked = true;
                }
                self.tell(Outgoing::Read { external: number });
            }
        }
    }

    /// Binds an unbound cell to a value and wakes what waits for it.
    ///
    /// # Safety
    /// `cell` is an unbound cell, `value` a value that is no unbound variable.
    pub(crate) unsafe fn bind(&mut self, cell: *mut Word, value: Word) {
        // SAFETY: the cell is unbound (this function's condition), so that its content is null or the address of a
        // record of this heap, every one of which has a header and a link.
        unsafe {
            let waiting = (*cell).pointer();
            *cell = value;
            if waiting.is_null() {
                return;
            }
            let header = *waiting;
            if Kind::of(header) == Kind::Goal && (*waiting.add(LINK)).0 == 0 {
                self.wake_goal(waiting);
            } else {
                self.wake(waiting, Some(value), true);
            }
        }
    }

    /// As [`Engine::bind`], for a value that came from where the variable lives: nobody needs to be told.
    ///
    /// # Safety
    /// As for [`Engine::bind`].
    pub(crate) unsafe fn bind_answer(&mut self, cell: *mut Word, value: Word) {
        // SAFETY: the cell is unbound (this function's condition), so that its content is null or the address of the
        // first record of a list, which is what `wake` asks for.
        unsafe {
            let waiting = (*cell).pointer();
            *cell = value;
            if !waiting.is_null() {
                self.wake(waiting, Some(value), false);
            }
        }
    }

    /// Makes two unbound variables one.
    pub(crate) unsafe fn bind_variables(&mut self, left: *mut Word, right: *mut Word) {
        // SAFETY: both cells are unbound (this function's condition): their contents are null or lists of records of
        // this heap; a record's link is read before the record is put into the other list.
        unsafe {
            // One for which nothing waits becomes the other, so that nothing is moved. One that lives elsewhere is told of
            // the other; what waits stays with the one that remains.
            let alone = (*right).pointer().is_null();
            let (from, to) =
                if alone || self.is_external(left) && !self.is_external(right) { (right, left) } else { (left, right) };
            let moved = (*from).pointer();
            *from = Word::reference(to);
            if moved.is_null() {
                return;
            }
            let target = Word::reference(to);
            let mut record = moved;
            while !record.is_null() {
                let next = (*record.add(LINK)).pointer();
                match Kind::of(*record) {
                    // Something that compares both may go on now.
                    Kind::Hook => self.wake_hook(record),
                    Kind::External => {
                        self.unify_elsewhere((*record).payload() & !ASKED, target);
                    }
                    _ => {
                        *record.add(LINK) = Word((*to).pointer() as u64);
                        *to = Word::waiting(record);
                        self.ask(to);
                    }
                }
                record = next;
            }
        }
    }

    /// Has the owner of an external variable unify it with a value. The node of whoever unifies does not end before the
    /// owner has: a failure there must find it, and nobody may call the run finished while a value is under way.
    fn unify_elsewhere(&mut self, external: u64, value: Word) {
        let mut node = self.unifying_for.unwrap_or(self.queues[self.current as usize].node);
        while node != ROOT && self.node_state(node) == NodeState::Done {
            node = self.parent_of(node);
        }
        self.add_elsewhere(node, 1);
        self.tell(Outgoing::Unify { external, value, node });
    }

    unsafe fn is_external(&self, cell: *mut Word) -> bool {
        if self.pes == 1 {
            return false;
        }
        // SAFETY: the cell is unbound (this function's condition): its content is null or the first of a list of
        // records of this heap, which ends with null.
        unsafe {
            let mut record = (*cell).pointer();
            while !record.is_null() {
                if Kind::of(*record) == Kind::External {
                    return true;
                }
                record = (*record.add(LINK)).pointer();
            }
            false
        }
    }

    /// Wakes everything in a list of records. `tell`: whether the owner of an external variable hears the value.
    unsafe fn wake(&mut self, first: *mut Word, value: Option<Word>, tell: bool) {
        // SAFETY: `first` is null or a record of this heap (this function's condition), and so is every link, which is
        // read before the record is woken and its link becomes another list's.
        unsafe {
            let mut record = first;
            while !record.is_null() {
                let next = (*record.add(LINK)).pointer();
                let header = *record;
                match Kind::of(header) {
                    Kind::Goal => self.wake_goal(record),
                    Kind::Hook => self.wake_hook(record),
                    Kind::Watch => {
                        self.fired.push(header.payload());
                        if header.payload() & super::WATCH_OUTSIDE == 0 {
                            self.preempt();
                        } else {
                            self.hurry();
                        }
                    }
                    _ => {
                        if let (true, Some(value)) = (tell, value) {
                            self.unify_elsewhere(header.payload() & !ASKED, value);
                        }
                    }
                }
                record = next;
            }
        }
    }

    unsafe fn wake_hook(&mut self, hook: *mut Word) {
        // SAFETY: `hook` is a hook of this heap (this function's condition), whose goal is null or a record of this
        // heap.
        unsafe {
            let goal = (*hook.add(HOOKED_GOAL)).pointer();
            if !goal.is_null() {
                self.wake_goal(goal);
            }
        }
    }

    unsafe fn wake_goal(&mut self, goal: *mut Word) {
        // SAFETY: `goal` is a goal record of this heap (this function's condition); one that is suspended is in no
        // queue, so that its link is free for one.
        unsafe {
            let header = *goal;
            if goal_state(header) != state::SUSPENDED {
                return;
            }
            *goal = with_state(header, state::WOKEN);
            let queue = goal_queue(header);
            if queue == self.current {
                self.registers.waiting -= 1;
                self.registers.resumptions += 1;
                self.enqueue(queue, goal);
                return;
            }
            let node = self.queues[queue as usize].node;
            if self.nodes[node as usize].state == NodeState::Done {
                return;
            }
            if node == self.queues[self.current as usize].node {
                self.registers.waiting -= 1;
            } else {
                self.nodes[node as usize].waiting -= 1;
            }
            self.registers.resumptions += 1;
            self.enqueue(queue, goal);
        }
    }

    /// Has [`Engine::fired`] told of `number` when the variable is bound.
    ///
    /// # Safety
    /// `variable` is an unbound variable of this heap.
    pub(crate) unsafe fn watch(&mut self, variable: Word, number: u64) {
        // SAFETY: the variable is unbound and of this heap (this function's condition), and what starts a watch has
        // made room for its record.
        unsafe {
            let cell = variable.pointer();
            let record = self.allocate(WATCH_WORDS);
            *record = Word::header(Kind::Watch, number);
            *record.add(LINK) = Word((*cell).pointer() as u64);
            *cell = Word::waiting(record);
            self.ask(cell);
        }
    }

    /// Words in a row from the heap; whoever asks knows that there is room.
    pub(crate) fn allocate(&mut self, words: usize) -> *mut Word {
        let start = self.registers.free;
        // SAFETY: what allocates has looked at the limit or made room before, or takes no more than the reserve until
        // the next look, so that the words lie within the space (asserted below in tests).
        self.registers.free = unsafe { start.add(words) };
        debug_assert!(self.registers.free <= self.heap.end());
        start
    }

    /// A new unbound variable.
    pub(crate) fn new_variable(&mut self) -> Word {
        let cell = self.allocate(1);
        // SAFETY: just allocated.
        unsafe { *cell = Word(UNBOUND) };
        Word::reference(cell)
    }
}
