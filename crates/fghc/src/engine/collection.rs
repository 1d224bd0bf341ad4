//! Collections: what the roots are, and goals that nothing can wake any more.

use std::collections::VecDeque;

use super::array::Cells;
use super::cycles::has_cells;
use super::report::{Problem, ProblemKind, Waiting};
use super::tree::NodeState;
use super::unify::cells;
use super::{Engine, MAX_SHOWN, Outgoing};
use crate::heap::collect::Collection;
use crate::heap::goal::{ARGUMENTS, HOOKED_GOAL, LINK, goal_arity, goal_predicate, goal_queue, goal_state, state};
use crate::heap::word::dereference;
use crate::heap::{Exhausted, Kind, Space, Word};

/// Parts of a goal's arguments, and of lists of what waits, that are looked at for what it waits for.
const MAX_SEARCHED: usize = 10_000;

/// A search for the variables that a goal waits for.
struct Search {
    goal: *mut Word,
    variables: Vec<String>,
    /// Parts that may still be looked at.
    left: usize,
}

impl Engine {
    /// Collects garbage. The first `live` registers are roots; `wanted` words must be free afterwards beside the
    /// reserve. False, with a problem noted, when the limit of the heap is too low for that.
    pub(crate) fn collect(&mut self, live: usize, wanted: usize) -> bool {
        self.take_thrown();
        let space = match self.heap.new_space() {
            Ok(space) => space,
            Err(exhausted) => return self.exhausted(exhausted),
        };
        self.copy(live, &space);
        self.reclaim_nodes();
        // SAFETY: the collection has set `free` to the first free word of `space`.
        let kept = unsafe { self.registers.free.offset_from(space.start()) } as usize;
        self.collections += 1;
        self.words_kept += kept as u64;
        let others = self.others().iter().map(|(_, bytes)| bytes).sum();
        let result = self.heap.replace(space, kept, wanted, others);
        if let Ok(Some(larger)) = result {
            // One more move, into a larger space.
            self.copy(live, &larger);
            self.heap.adopt(larger);
        } else if let Err(exhausted) = result {
            self.registers.limit = self.heap.limit(kept, wanted);
            return self.exhausted(exhausted);
        }
        self.registers.limit = self.heap.limit(kept, wanted);
        true
    }

    fn exhausted(&mut self, exhausted: Exhausted) -> bool {
        let kind = match exhausted {
            Exhausted::Limit { needed, limit } => {
                // What is next to nothing explains nothing.
                let others = self.others().into_iter().filter(|(_, bytes)| *bytes > limit / 100).collect();
                ProblemKind::HeapExhausted { needed, others, limit }
            }
            Exhausted::System { needed, available } => {
                ProblemKind::NoMemory { needed, available, limit: self.heap.limit_bytes() }
            }
        };
        self.problem = Some(Box::new(Problem::new(kind)));
        false
    }

    fn copy(&mut self, live: usize, space: &Space) {
        // SAFETY: the new space is at least as large as the old one, and these are all places that hold values.
        unsafe {
            let mut collection = Collection::new(space);
            for index in 0..live {
                let register = self.registers.x.add(index);
                *register = collection.value(*register);
            }
            let head = |head: &mut *mut Word, collection: &mut Collection| {
                if !head.is_null() {
                    *head = collection.record(*head);
                }
            };
            head(&mut self.registers.ready, &mut collection);
            head(&mut self.second, &mut collection);
            for queue in &mut self.queues {
                head(&mut queue.head, &mut collection);
            }
            for node in &mut self.nodes {
                if node.state != NodeState::Done {
                    node.result = collection.value(node.result);
                    node.control = collection.value(node.control);
                } else {
                    node.result = Word::NIL;
                    node.control = Word::NIL;
                }
            }
            for root in &mut self.roots {
                *root = collection.value(*root);
            }
            for external in self.externals.iter_mut().filter(|external| external.asked) {
                external.value = collection.value(external.value);
            }
            for value in &mut self.outgoing_values {
                *value = collection.value(*value);
            }
            for outgoing in &mut self.outgoing {
                match outgoing {
                    Outgoing::Unify { value, .. } => *value = collection.value(*value),
                    Outgoing::Throw(_)
                    | Outgoing::Read { .. }
                    | Outgoing::NodeEnded { .. }
                    | Outgoing::NodeChanged { .. } => {}
                }
            }
            collection.finish();
            let queues = &self.queues;
            let nodes = &self.nodes;
            let belongs =
                |header: Word| nodes[queues[goal_queue(header) as usize].node as usize].state != NodeState::Done;
            let (suspended, lost) = collection.suspended(self.registers.suspended, belongs);
            collection.finish();
            self.registers.suspended = suspended;
            self.registers.free = collection.top();
            let unreachable = &mut self.unreachable;
            self.externals.retain(|number, external| {
                if external.asked {
                    return true;
                }
                let moved = collection.moved(external.value);
                match moved {
                    Some(value) => external.value = value,
                    None => unreachable.push(number),
                }
                moved.is_some()
            });
            unreachable.sort_unstable();
            self.lost_count += lost.len() as u64;
            let more = MAX_SHOWN.saturating_sub(self.lost.len());
            for goal in lost.into_iter().take(more) {
                let waiting = self.waiting_goal(goal);
                self.lost.push(waiting);
            }
        }
    }

    /// Makes sure of memory for a reduction that takes more words than [`Code::words`](super::instruction::Code::words).
    pub(crate) fn ensure(&mut self, predicate: u32, words: usize) -> bool {
        if self.registers.free.wrapping_add(words) > self.registers.limit {
            let arity = usize::from(self.code.predicates[predicate as usize].arity);
            if !self.collect(arity, words) {
                return false;
            }
        }
        let left = self.registers.left();
        self.registers.grant(left, words);
        true
    }

    /// Asks for room before goals and values are made from outside; false when there is none.
    pub fn reserve_words(&mut self, words: usize) -> bool {
        if self.registers.free.wrapping_add(words) <= self.registers.limit {
            return true;
        }
        self.collect(0, words)
    }

    /// Goals that a collection found nothing can wake: the first [`MAX_SHOWN`].
    pub fn lost(&self) -> &[Waiting] {
        &self.lost
    }

    /// How many goals collections found nothing can wake.
    pub fn lost_count(&self) -> u64 {
        self.lost_count
    }

    /// Goals that wait, and for what, the oldest first, [`MAX_SHOWN`] at the most; those of [`Engine::lost`] come last.
    pub fn waiting(&self) -> Vec<Waiting> {
        // The list begins with the youngest.
        let mut oldest = VecDeque::new();
        self.for_each_waiting(|goal| {
            if oldest.len() == MAX_SHOWN {
                oldest.pop_front();
            }
            oldest.push_back(goal);
        });
        // SAFETY: the goals were found in the list of suspended goals, all of which are records of this heap.
        let mut all: Vec<Waiting> = oldest.into_iter().rev().map(|goal| unsafe { self.waiting_goal(goal) }).collect();
        all.extend(self.lost.iter().take(MAX_SHOWN - all.len()).cloned());
        all
    }

    /// The name of a value that is an unbound variable.
    pub fn name_of_variable(&self, value: Word) -> Option<String> {
        // SAFETY: values that callers have are of this heap, which no collection has moved since.
        let value = unsafe { dereference(value) };
        value.is_variable().then(|| self.variable_name(value))
    }

    /// How many goals wait, those that nothing can wake with them.
    pub fn waiting_count(&self) -> u64 {
        let mut count = self.lost_count;
        self.for_each_waiting(|_| count += 1);
        count
    }

    fn for_each_waiting(&self, mut visit: impl FnMut(*mut Word)) {
        // SAFETY: the list of suspended goals is linked by the word behind their arguments and ends with null; all are
        // records of this heap.
        unsafe {
            let mut goal = self.registers.suspended;
            while !goal.is_null() {
                let header = *goal;
                let node = self.queues[goal_queue(header) as usize].node;
                if goal_state(header) == state::SUSPENDED && self.nodes[node as usize].state != NodeState::Done {
                    visit(goal);
                }
                goal = (*goal.add(ARGUMENTS + goal_arity(header))).pointer();
            }
        }
    }

    /// The next goals of the queues, at most so many: what an interrupted program was about to do.
    pub fn ready_goals(&self, most: usize) -> Vec<String> {
        let mut all = Vec::new();
        let heads = std::iter::once(self.registers.ready).chain(self.queues.iter().map(|queue| queue.head));
        for head in heads {
            let mut goal = head;
            // SAFETY: the goals of a queue are records of this heap, linked by their second word, and the last link is
            // null.
            unsafe {
                while !goal.is_null() && all.len() < most {
                    let arguments: Vec<Word> =
                        (0..goal_arity(*goal)).map(|index| *goal.add(ARGUMENTS + index)).collect();
                    all.push(self.goal_text(goal_predicate(*goal), &arguments));
                    goal = (*goal.add(LINK)).pointer();
                }
            }
        }
        all
    }

    unsafe fn waiting_goal(&self, goal: *mut Word) -> Waiting {
        // SAFETY: `goal` is a goal record of this heap (this function's condition), which has as many arguments as its
        // header says.
        unsafe {
            let header = *goal;
            let predicate = goal_predicate(header);
            let arguments: Vec<Word> = (0..goal_arity(header)).map(|index| *goal.add(ARGUMENTS + index)).collect();
            let mut search = Search { goal, variables: Vec::new(), left: MAX_SEARCHED };
            for argument in &arguments {
                self.waited_for(*argument, &mut search);
            }
            Waiting { goal: self.goal_text(predicate, &arguments), variables: search.variables }
        }
    }

    /// Names of the variables in a value that a goal waits for, as far as a reader would follow.
    unsafe fn waited_for(&self, value: Word, search: &mut Search) {
        let mut rows: Vec<(Cells, usize)> = Vec::new();
        let mut next = Some(value);
        // SAFETY: the value is one of this heap (this function's condition), and cells of values lead to values.
        unsafe {
            loop {
                if let Some(value) = next.take() {
                    let value = dereference(value);
                    if value.is_variable() {
                        self.note_waited_for(value, search);
                    } else if has_cells(value) {
                        rows.push((cells(value), 0));
                    }
                }
                let Some((row, index)) = rows.last_mut() else { return };
                if *index >= row.len() || search.left == 0 {
                    rows.pop();
                    continue;
                }
                search.left -= 1;
                next = Some(row.get(*index));
                *index += 1;
            }
        }
    }

    /// Notes an unbound variable if the goal is among the first that wait for it.
    unsafe fn note_waited_for(&self, variable: Word, search: &mut Search) {
        // SAFETY: the value is an unbound variable of this heap (this function's condition): records hang on its cell in
        // a list that ends with null.
        unsafe {
            let mut record = (*variable.pointer()).pointer();
            while !record.is_null() && search.left > 0 {
                search.left -= 1;
                let hooked = Kind::of(*record) == Kind::Hook && (*record.add(HOOKED_GOAL)).pointer() == search.goal;
                if record == search.goal || hooked {
                    let name = self.variable_name(variable);
                    if !search.variables.contains(&name) {
                        search.variables.push(name);
                    }
                    return;
                }
                record = (*record.add(LINK)).pointer();
            }
        }
    }

    /// Words of the heap in use.
    pub fn words_in_use(&self) -> usize {
        // SAFETY: `free` lies within the space that is in use, whose start this is.
        unsafe { self.registers.free.offset_from(self.heap.start()) as usize }
    }
}
