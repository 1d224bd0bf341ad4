//! Collections: what the roots are, and goals that nothing can wake any more.

use super::array::{self, Cells};
use super::report::{Problem, ProblemKind, Waiting};
use super::tree::NodeState;
use super::{Engine, Outgoing};
use crate::heap::collect::Collection;
use crate::heap::goal::{ARGUMENTS, HOOKED_GOAL, LINK, goal_arity, goal_predicate, goal_queue, goal_state, state};
use crate::heap::word::{LIST, OBJECT, dereference};
use crate::heap::{Exhausted, Kind, Space, Word};

impl Engine {
    /// Collects garbage. The first `live` registers are roots; `wanted` words must be free afterwards beside the
    /// reserve. False, with a problem noted, when the limit of the heap is too low for that.
    pub(crate) fn collect(&mut self, live: usize, wanted: usize) -> bool {
        self.take_thrown();
        let Some(space) = self.heap.new_space() else {
            let needed = self.heap.limit_bytes();
            return self.exhausted(Exhausted { needed, limit: needed });
        };
        self.copy(live, &space);
        // SAFETY: the collection has set `free` to the first free word of `space`.
        let kept = unsafe { self.registers.free.offset_from(space.start()) } as usize;
        self.collections += 1;
        self.words_kept += kept as u64;
        let result = self.heap.replace(space, kept, wanted);
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
        self.problem = Some(Box::new(Problem::new(ProblemKind::HeapExhausted {
            needed: exhausted.needed,
            limit: exhausted.limit,
        })));
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
                external.variable = collection.value(external.variable);
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
                let moved = collection.moved(external.variable);
                match moved {
                    Some(variable) => external.variable = variable,
                    None => unreachable.push(number),
                }
                moved.is_some()
            });
            unreachable.sort_unstable();
            for goal in lost {
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
    pub fn make_room(&mut self, words: usize) -> bool {
        if self.registers.free.wrapping_add(words) <= self.registers.limit {
            return true;
        }
        self.collect(0, words)
    }

    /// Collects garbage now, between two calls of [`Engine::run`]. False when the heap is exhausted.
    pub fn collect_now(&mut self) -> bool {
        self.collect(0, 0)
    }

    /// Goals that a collection found nothing can wake.
    pub fn lost(&self) -> &[Waiting] {
        &self.lost
    }

    /// Every goal that waits, and for what; those of [`Engine::lost`] come last.
    pub fn waiting(&self) -> Vec<Waiting> {
        let mut all = self.lost.clone();
        all.reverse();
        // SAFETY: the list of suspended goals is linked by the word behind their arguments and ends with null; all are
        // records of this heap.
        unsafe {
            let mut goal = self.registers.suspended;
            while !goal.is_null() {
                let header = *goal;
                let node = self.queues[goal_queue(header) as usize].node;
                if goal_state(header) == state::SUSPENDED && self.nodes[node as usize].state != NodeState::Done {
                    all.push(self.waiting_goal(goal));
                }
                goal = (*goal.add(ARGUMENTS + goal_arity(header))).pointer();
            }
        }
        all.reverse();
        all
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

    /// How many goals wait.
    pub fn waiting_count(&self) -> usize {
        let mut count = self.lost.len();
        // SAFETY: the list of suspended goals is linked by the word behind their arguments and ends with null; all are
        // records of this heap.
        unsafe {
            let mut goal = self.registers.suspended;
            while !goal.is_null() {
                let header = *goal;
                let node = self.queues[goal_queue(header) as usize].node;
                let runs = self.nodes[node as usize].state != NodeState::Done;
                count += usize::from(goal_state(header) == state::SUSPENDED && runs);
                goal = (*goal.add(ARGUMENTS + goal_arity(header))).pointer();
            }
        }
        count
    }

    unsafe fn waiting_goal(&self, goal: *mut Word) -> Waiting {
        // SAFETY: `goal` is a goal record of this heap (this function's condition), which has as many arguments as its
        // header says.
        unsafe {
            let header = *goal;
            let predicate = goal_predicate(header);
            let arguments: Vec<Word> = (0..goal_arity(header)).map(|index| *goal.add(ARGUMENTS + index)).collect();
            let mut variables = Vec::new();
            for argument in &arguments {
                self.waited_for(*argument, goal, &mut variables, 64);
            }
            Waiting { goal: self.goal_text(predicate, &arguments), variables }
        }
    }

    /// Names of the variables in a value that a goal waits for.
    unsafe fn waited_for(&self, value: Word, goal: *mut Word, found: &mut Vec<String>, depth: usize) {
        // SAFETY: the value is one of this heap (this function's condition), and records hang on unbound cells only, in
        // lists that end with null.
        unsafe {
            let mut value = dereference(value);
            let mut elements = 0;
            // Along a list by a loop; as far as a reader would follow.
            while value.tag() == LIST && depth > 0 && elements < 10_000 {
                self.waited_for(Word::reference(value.pointer()), goal, found, depth - 1);
                value = dereference(Word::reference(value.pointer().add(1)));
                elements += 1;
            }
            if value.is_variable() {
                let mut record = (*value.pointer()).pointer();
                while !record.is_null() {
                    let hooked = Kind::of(*record) == Kind::Hook && (*record.add(HOOKED_GOAL)).pointer() == goal;
                    if record == goal || hooked {
                        let name = self.variable_name(value);
                        if !found.contains(&name) {
                            found.push(name);
                        }
                        return;
                    }
                    record = (*record.add(LINK)).pointer();
                }
            } else if value.tag() == OBJECT && depth > 0 {
                let header = *value.pointer();
                let cells = match Kind::of(header) {
                    Kind::Structure => Cells::new(value.pointer().add(1), header.arity()),
                    Kind::Vector | Kind::Array => array::elements(value.pointer()),
                    _ => return,
                };
                for index in 0..cells.len().min(10_000) {
                    self.waited_for(cells.get(index), goal, found, depth - 1);
                }
            }
        }
    }

    /// Words of the heap in use.
    pub fn words_in_use(&self) -> usize {
        // SAFETY: `free` lies within the space that is in use, whose start this is.
        unsafe { self.registers.free.offset_from(self.heap.start()) as usize }
    }
}
