//! Queues of goals, and which runs next.
//!
//! A queue holds the ready goals of one node of the AND-tree at one priority, last in, first out. The queue of highest
//! priority runs; queues of one priority take turns by slices, so that a goal that never ends does not keep a metacall
//! beside it from being stopped.

use rand_xoshiro::rand_core::Rng;

use super::queue::Queue;
use super::report::{Problem, ProblemKind};
use super::tree::{self, NodeState};
use super::{DEFAULT_PRIORITY, Engine, Exit, Stop};
use crate::heap::Word;
use crate::heap::goal::{ARGUMENTS, LINK, MAX_QUEUES, QUEUE_SHIFT, goal_header, state};

/// Reductions after which queues of one priority take turns, and an interrupt is looked for.
const SLICE: i64 = 100_000;

/// Reductions for which something for others waits for company, and how much of it is enough.
const COMPANY: usize = 300;

/// Random orders choose among so many goals, so that a long queue does not make a test slow.
const RANDOM_AMONG: u64 = 32;

/// Why the engine comes back with a problem: an interrupt is none.
fn stopped(problem: Box<Problem>) -> Stop {
    if problem.kind == ProblemKind::Interrupted { Stop::Interrupted } else { Stop::Problem(problem) }
}

impl Engine {
    /// Reduces goals, at most about `reductions` of them.
    pub fn run(&mut self, reductions: u64) -> Stop {
        let mut left = i64::try_from(reductions).unwrap_or(i64::MAX);
        self.attend();
        loop {
            if let Some(problem) = self.problem.take() {
                return stopped(problem);
            }
            if let Some(code) = self.exit {
                return Stop::Exit(code);
            }
            if self.interrupted() {
                return Stop::Interrupted;
            }
            if self.nodes[tree::ROOT as usize].state == NodeState::Done {
                return Stop::Idle;
            }
            if left <= 0 {
                // A queue that is chosen runs: whoever asks for one reduction at a time would else see every second one.
                return if self.has_goals() { Stop::Budget } else { Stop::Idle };
            }
            if !self.choose() {
                return Stop::Idle;
            }
            let exit = self.slice(left.min(SLICE), &mut left);
            if let Some(code) = self.exit {
                // Before others can hear that the goals have ended: PE 0 would take that for the end of the run.
                return Stop::Exit(code);
            }
            match exit {
                Exit::Slice => {}
                Exit::Empty => {
                    let node = self.queues[self.current as usize].node;
                    self.check_ended(node);
                }
                Exit::Problem => {
                    if let Some(problem) = self.problem.take()
                        && let Some(problem) = self.fail_node(*problem)
                    {
                        return stopped(Box::new(problem));
                    }
                }
            }
            self.attend();
            if !self.outgoing.is_empty() || !self.bound.is_empty() {
                return Stop::Budget;
            }
        }
    }

    fn slice(&mut self, most: i64, left: &mut i64) -> Exit {
        let mut most = most;
        if std::mem::take(&mut self.collects_soon) && !self.collect(0, 0) {
            return Exit::Problem;
        }
        if let Some(every) = self.collect_every {
            most = most.min(i64::try_from(every).unwrap_or(i64::MAX).max(1));
            if !self.collect(0, 0) {
                return Exit::Problem;
            }
        }
        if self.generator.is_some() {
            self.choose_randomly();
            most = 1;
        }
        let round = self.rounds.are_single().then(|| {
            most = 1;
            self.begin_round()
        });
        self.slice = most;
        self.registers.grant(most, 0);
        // Native code takes up goals where it suits it; a round is of the goal that it began with.
        let backend = if round.is_some() { None } else { self.backend.as_ref() };
        let exit = match backend.map(std::sync::Arc::as_ptr) {
            // SAFETY: `self.backend` keeps the code for as long as the engine lives, and nothing replaces it while it
            // runs.
            Some(backend) => unsafe { &*backend }.run(self),
            None => self.interpret(),
        };
        self.take_thrown();
        let done = self.slice - self.registers.left();
        self.reductions += done;
        if let Some(round) = round {
            self.end_round(&round, done);
        }
        // A slice without a reduction, of builtins or suspensions, is progress too; a budget always ends.
        *left -= done.max(1);
        self.slice = 0;
        (self.registers.budget, self.registers.rest) = (0, 0);
        exit
    }

    /// Ends the slice with the next goal.
    pub(super) fn preempt(&mut self) {
        self.slice -= self.registers.left();
        (self.registers.budget, self.registers.rest) = (0, 0);
    }

    /// There is something for others: ends the slice soon, so that more can go with it.
    pub(super) fn hurry(&mut self) {
        let left = self.registers.left();
        if self.outgoing_goals >= COMPANY {
            self.preempt();
        } else if left > COMPANY as i64 {
            self.slice -= left - COMPANY as i64;
            self.registers.grant(COMPANY as i64, 0);
        }
    }

    /// Called where a reduction would begin beyond what is granted: there may be no memory for it, or the slice may be
    /// over.
    pub(crate) fn pause(&mut self, predicate: u32) -> Option<Exit> {
        let left = self.registers.left();
        if left >= 0 && self.registers.free <= self.registers.limit {
            self.registers.grant(left, 0);
            return None;
        }
        self.pause_longer(predicate)
    }

    #[cold]
    fn pause_longer(&mut self, predicate: u32) -> Option<Exit> {
        let arity = usize::from(self.code.predicates[predicate as usize].arity);
        if self.registers.free > self.registers.limit && !self.collect(arity, 0) {
            self.registers.budget += 1;
            return Some(Exit::Problem);
        }
        let left = self.registers.left();
        if left >= 0 {
            self.spend(self.words_in_use());
            self.registers.grant(self.registers.left(), 0);
            return None;
        }
        // The slice is over: to end it once more, where Ctrl-C has come, would grant the reduction that is one too many.
        (self.registers.budget, self.registers.rest) = (0, left + 1);
        self.put_first(predicate);
        Some(Exit::Slice)
    }

    /// Makes the goal in registers 0 and up the next of the present queue.
    pub(crate) fn put_first(&mut self, predicate: u32) {
        let arity = usize::from(self.code.predicates[predicate as usize].arity);
        // SAFETY: the arguments are in the first registers, and the reserve beyond the limit has the words of a goal
        // record.
        unsafe {
            let goal = self.allocate(ARGUMENTS + arity);
            *goal = goal_header(predicate, arity, state::READY, 0);
            *goal.add(LINK) = Word(self.registers.ready as u64);
            std::ptr::copy_nonoverlapping(self.registers.x, goal.add(ARGUMENTS), arity);
            self.registers.ready = goal;
        }
    }

    /// Puts a goal on top of a queue; at its end where goals run breadth first, unless what runs will be followed by it.
    #[inline]
    pub(super) unsafe fn enqueue(&mut self, queue: u32, goal: *mut Word) {
        // SAFETY: `goal` is a goal record of this heap that is in no queue (this function's condition), so that its
        // link is free for this one.
        unsafe {
            let is_current = queue == self.current;
            let head = if is_current { self.registers.ready } else { self.queues[queue as usize].head };
            if self.rounds.breadth_first && !(is_current && self.in_round) && !head.is_null() {
                self.append(queue, goal, goal);
            } else {
                *goal.add(LINK) = Word(head as u64);
                if is_current {
                    self.registers.ready = goal;
                } else {
                    self.queues[queue as usize].head = goal;
                }
                if self.rounds.breadth_first && head.is_null() {
                    self.queues[queue as usize].late = (std::ptr::null_mut(), 0);
                }
            }
            if is_current {
                return;
            }
            let entry = &self.queues[queue as usize];
            let priority = entry.priority;
            if !entry.listed {
                self.list(queue);
            }
            if priority > self.queues[self.current as usize].priority {
                self.preempt();
            }
        }
    }

    /// Puts a queue among the runnable ones if it has goals and its node runs.
    pub(super) fn list(&mut self, queue: u32) {
        let entry = &self.queues[queue as usize];
        if entry.listed || entry.head.is_null() || !self.runs(entry.node) {
            return;
        }
        self.runnable.push(entry.priority, queue);
        self.queues[queue as usize].listed = true;
    }

    /// Makes the queue that should run next the present one; false when none has goals.
    fn choose(&mut self) -> bool {
        // Mostly it goes on with the only one that there is.
        if self.runnable.is_empty()
            && !self.registers.ready.is_null()
            && self.runs(self.queues[self.current as usize].node)
        {
            return true;
        }
        self.park();
        loop {
            let Some(queue) = self.runnable.pop() else { return false };
            self.queues[queue as usize].listed = false;
            // The root's own queue is the present one, its goals are in the registers.
            let candidate = &self.queues[queue as usize];
            let head = if queue == self.current { self.registers.ready } else { candidate.head };
            if head.is_null() || !self.runs(candidate.node) {
                continue;
            }
            if queue != self.current {
                self.leave_queue();
                self.enter_queue(queue);
            }
            return true;
        }
    }

    /// Puts the present queue back among the others.
    pub(super) fn park(&mut self) {
        self.leave_queue();
        self.list(self.current);
        // The root's own queue is always there to be the present one.
        self.enter_queue(0);
    }

    fn leave_queue(&mut self) {
        self.take_thrown();
        let current = self.current as usize;
        self.queues[current].head = self.registers.ready;
        let node = self.queues[current].node as usize;
        self.nodes[node].waiting = self.registers.waiting;
    }

    fn enter_queue(&mut self, queue: u32) {
        self.current = queue;
        let entry = &mut self.queues[queue as usize];
        self.registers.ready = std::mem::replace(&mut entry.head, std::ptr::null_mut());
        self.registers.queue_bits = u64::from(queue) << QUEUE_SHIFT;
        self.registers.waiting = self.nodes[entry.node as usize].waiting;
    }

    /// The queue of a node at a priority.
    pub(super) fn queue(&mut self, node: u32, priority: i32) -> u32 {
        let known = self.nodes[node as usize].queues.iter().copied();
        if let Some(queue) = known.into_iter().find(|&queue| self.queues[queue as usize].priority == priority) {
            return queue;
        }
        let queue = match self.free_queues.pop() {
            Some(queue) => {
                self.queues[queue as usize] = Queue::new(node, priority);
                queue
            }
            None if self.queues.len() as u64 >= MAX_QUEUES => {
                self.too_many(format!(
                    "more than {MAX_QUEUES} metacalls and priorities at once: let the program wait for some before it \
                     begins others"
                ));
                // Nothing runs any more.
                return 0;
            }
            None => {
                self.queues.push(Queue::new(node, priority));
                self.charge(size_of::<Queue>());
                self.queues.len() as u32 - 1
            }
        };
        self.nodes[node as usize].queues.push(queue);
        queue
    }

    /// Whether [`Engine::run`] would find nothing to do, and nothing to report.
    pub fn rests(&self) -> bool {
        !self.has_goals()
            && self.fired.is_empty()
            && self.problem.is_none()
            && self.exit.is_none()
            && !self.interrupted()
    }

    /// Whether there are goals that can go on.
    pub(crate) fn has_goals(&self) -> bool {
        !self.registers.ready.is_null() || !self.runnable.is_empty()
    }

    /// Whether there are goals that can go on, and none of another priority than the default.
    pub(crate) fn has_default_goals_only(&self) -> bool {
        let present = !self.registers.ready.is_null();
        let mut priorities = self.runnable.priorities().chain(
            // The present queue is in the registers.
            present.then(|| self.queues[self.current as usize].priority),
        );
        let Some(first) = priorities.next() else { return false };
        first == DEFAULT_PRIORITY && priorities.all(|priority| priority == DEFAULT_PRIORITY)
    }

    /// Starts a goal under a node at a priority.
    pub fn start_goal(&mut self, predicate: u32, arguments: &[Word], node: u32, priority: i32) {
        let queue = self.queue(node, priority);
        self.start_goal_in(queue, predicate, arguments);
    }

    /// The queue of a node at a priority, for [`Engine::start_goal_in`].
    pub fn queue_of(&mut self, node: u32, priority: i32) -> u32 {
        self.queue(node, priority)
    }

    /// As [`Engine::start_goal_in`], where each argument is an integer or an atom and comes at once; false, and nothing done,
    /// where one does not.
    #[inline(always)]
    pub fn start_goal_from(
        &mut self,
        queue: u32,
        predicate: u32,
        arity: usize,
        mut argument: impl FnMut() -> Option<Word>,
    ) -> bool {
        let goal = self.registers.free;
        // SAFETY: there are at most 255 arguments, for which the reserve has room or `reserve_words` was asked; what is
        // written before the goal is allocated lies in free memory, which nothing else allocates meanwhile.
        unsafe {
            for index in 0..arity {
                let Some(argument) = argument() else { return false };
                *goal.add(ARGUMENTS + index) = argument;
            }
            *goal = goal_header(predicate, arity, state::READY, 0);
            self.allocate(ARGUMENTS + arity);
            self.enqueue(queue, goal);
        }
        true
    }

    /// Starts a goal in a queue of a node that has not ended.
    pub fn start_goal_in(&mut self, queue: u32, predicate: u32, arguments: &[Word]) {
        // SAFETY: at most 255 arguments: the reserve has room for some goals between slices, and whoever starts more
        // asks `reserve_words`.
        unsafe {
            let goal = self.allocate(ARGUMENTS + arguments.len());
            *goal = goal_header(predicate, arguments.len(), state::READY, 0);
            for (index, argument) in arguments.iter().enumerate() {
                *goal.add(ARGUMENTS + index) = *argument;
            }
            self.enqueue(queue, goal);
        }
    }

    /// For tests: a random one of the first goals of the present queue goes to its top.
    fn choose_randomly(&mut self) {
        let Some(generator) = &mut self.generator else { return };
        // SAFETY: the goals of a queue are records of this heap, linked by their second word, and the last link is
        // null.
        unsafe {
            let first = self.registers.ready;
            let mut count = 0;
            let mut goal = first;
            while !goal.is_null() && count < RANDOM_AMONG {
                count += 1;
                goal = (*goal.add(LINK)).pointer();
            }
            let chosen = generator.next_u64() % count.max(1);
            if chosen == 0 {
                return;
            }
            let mut before = first;
            for _ in 1..chosen {
                before = (*before.add(LINK)).pointer();
            }
            let goal = (*before.add(LINK)).pointer();
            *before.add(LINK) = *goal.add(LINK);
            *goal.add(LINK) = Word(first as u64);
            self.registers.ready = goal;
            // It may be the late one, which runs now and is none of the queue any more.
            self.queues[self.current as usize].late = (std::ptr::null_mut(), 0);
        }
    }
}
