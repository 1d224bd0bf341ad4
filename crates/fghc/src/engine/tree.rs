//! The AND-tree: nodes are metacalls, `call(Goal, Result, Control)`, and their goals are the leaves (paper, section 3.3).
//!
//! A node ends when it has no goals and no nodes below, with `success`; when one of its goals fails, with `failure`; when
//! its control stream says so, with `stop`. The failure of a node is a result, not a failure of the node above. How many
//! goals a node has need not be counted with every reduction: ready ones are in its queues, and those that wait are
//! counted when they suspend and wake.

use super::queue::Queue;
use super::report::{Problem, ProblemKind};
use super::{Engine, NodeChange, Outgoing};
use crate::engine::instruction::{MetacallGoal, Operand, Role};
use crate::heap::word::{LIST, OBJECT, dereference};
use crate::heap::{Kind, Word};
use crate::ir::{AtomId, PredicateId, atoms};

/// The root of the tree.
pub const ROOT: u32 = 0;

/// Bytes that a new node takes with its queue, twice because tables grow by doubling.
const BYTES_OF_A_NODE: usize = 2 * (size_of::<Node>() + size_of::<Queue>());

/// What becomes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    Running,
    Suspended,
    Done,
}

/// A node of the AND-tree.
pub struct Node {
    pub parent: u32,
    pub children: Vec<u32>,
    pub state: NodeState,
    /// Unified with `success`, `failure` or `stop`.
    pub result: Word,
    /// Rest of the control stream.
    pub control: Word,
    pub queues: Vec<u32>,
    /// Its goals that are suspended.
    pub waiting: i64,
    /// Something elsewhere that still belongs to it, counted by whoever distributes the program.
    pub elsewhere: u64,
    /// For a node that stands for one elsewhere: how that is called there.
    pub foreign: Option<u64>,
    /// Its number means something elsewhere, so no other node gets it.
    pub is_known_elsewhere: bool,
    /// It has ended, and its number is free for another.
    pub is_free: bool,
}

impl Node {
    pub fn root() -> Node {
        Node {
            parent: ROOT,
            children: Vec::new(),
            state: NodeState::Running,
            result: Word::NIL,
            control: Word::NIL,
            queues: vec![0],
            waiting: 0,
            elsewhere: 0,
            foreign: None,
            is_known_elsewhere: false,
            is_free: false,
        }
    }
}

impl Engine {
    /// Whether goals of a node may run: neither it nor any node above is suspended or done.
    pub(crate) fn runs(&self, node: u32) -> bool {
        let mut node = node;
        loop {
            let entry = &self.nodes[node as usize];
            if entry.state != NodeState::Running {
                return false;
            }
            if node == ROOT {
                return true;
            }
            node = entry.parent;
        }
    }

    fn new_node(&mut self, parent: u32, result: Word, control: Word, foreign: Option<u64>) -> u32 {
        let new = Node { parent, result, control, foreign, queues: Vec::new(), ..Node::root() };
        let node = match self.free_nodes.pop() {
            Some(node) => {
                self.nodes[node as usize] = new;
                node
            }
            None => {
                self.nodes.push(new);
                self.charge(BYTES_OF_A_NODE);
                self.nodes.len() as u32 - 1
            }
        };
        self.nodes[parent as usize].children.push(node);
        node
    }

    /// A node for goals that belong to a node elsewhere (a foster parent). When it has no goals left, or fails, there is
    /// an [`Outgoing::NodeEnded`] with the name given here.
    pub fn foster(&mut self, foreign: u64) -> u32 {
        self.new_node(ROOT, Word::NIL, Word::NIL, Some(foreign))
    }

    /// Something elsewhere belongs to a node: it does not end before [`Engine::returned`] has taken as much back.
    pub fn add_elsewhere(&mut self, node: u32, count: u64) {
        let entry = &mut self.nodes[node as usize];
        entry.elsewhere += count;
        // What stands for a node elsewhere is called by that node's name there, too.
        entry.is_known_elsewhere |= entry.foreign.is_none();
    }

    /// See [`Engine::add_elsewhere`].
    pub fn returned(&mut self, node: u32, count: u64) {
        let entry = &mut self.nodes[node as usize];
        entry.elsewhere = entry.elsewhere.saturating_sub(count);
        if entry.elsewhere == 0 {
            self.park();
            self.check_ended(node);
        }
    }

    /// The state of a node.
    pub fn node_state(&self, node: u32) -> NodeState {
        self.nodes[node as usize].state
    }

    /// Whether there is, or was, a node of this number.
    pub fn has_node(&self, node: u32) -> bool {
        (node as usize) < self.nodes.len()
    }

    pub(super) fn parent_of(&self, node: u32) -> u32 {
        self.nodes[node as usize].parent
    }

    pub(crate) fn metacall_site(&mut self, metacall: u32) {
        let code = self.shared_code();
        let site = &code.metacalls[metacall as usize];
        // SAFETY: the engine has a register for each that the compiler has numbered (`Code::registers`), and each holds
        // a value of this heap from the start.
        unsafe {
            let x = self.registers.x;
            let result = *x.add(site.result as usize);
            let control = *x.add(site.control as usize);
            match &site.goal {
                MetacallGoal::Call(call) => {
                    let arguments: Vec<Word> = call.arguments.iter().map(|operand| self.operand(operand)).collect();
                    self.metacall(call.predicate, &arguments, result, control);
                }
                MetacallGoal::Dynamic { term, module } => {
                    let arguments = [*x.add(*term as usize), Word::atom(*module), result, control];
                    self.push_goal(self.code.role(Role::Metacall), &arguments);
                }
            }
        }
    }

    /// A value for a goal's argument.
    pub(crate) fn operand(&self, operand: &Operand) -> Word {
        match *operand {
            // SAFETY: the engine has a register for each that the compiler has numbered (`Code::registers`), and each
            // holds a value of this heap from the start.
            Operand::Register(register) => unsafe { *self.registers.x.add(register as usize) },
            Operand::Constant(word) => word,
            Operand::Variable(_) => unreachable!("arguments of goals are no variables in place"),
        }
    }

    /// Runs a goal under a new node below the present one.
    fn metacall(&mut self, predicate: u32, arguments: &[Word], result: Word, control: Word) {
        let parent = self.queues[self.current as usize].node;
        let priority = self.queues[self.current as usize].priority;
        let node = self.new_node(parent, result, control, None);
        self.start_goal(predicate, arguments, node, priority);
        self.control(node);
    }

    /// `call(Goal, Result, Control)` whose goal is a term: unbound goals wait, goals that do not exist fail under their
    /// node. Arguments: term, module, result, control. False when it must wait.
    pub(crate) fn metacall_term(&mut self, arguments: &[Word]) -> bool {
        // SAFETY: the goal's arguments and the values of its node are of this heap, and nothing is collected meanwhile.
        unsafe {
            let mut module = AtomId(dereference(arguments[1]).atom_number());
            let mut term = dereference(arguments[0]);
            if term.is_variable() {
                self.registers.note(term);
                return false;
            }
            let colon = Word::structure(atoms::COLON.0, 2);
            if term.tag() == OBJECT && *term.pointer() == colon {
                let name = dereference(Word::reference(term.pointer().add(1)));
                let inner = dereference(Word::reference(term.pointer().add(2)));
                for part in [name, inner] {
                    if part.is_variable() {
                        self.registers.note(part);
                    }
                }
                if self.registers.noted_count > 0 {
                    return false;
                }
                if name.is_atom() {
                    module = AtomId(name.atom_number());
                    term = inner;
                }
            }
            let mut goal_arguments = Vec::new();
            let name = if term.is_atom() {
                Some(AtomId(term.atom_number()))
            } else if term.tag() == OBJECT && Kind::of(*term.pointer()) == Kind::Structure {
                let header = *term.pointer();
                for index in 1..=header.arity() {
                    goal_arguments.push(dereference(Word::reference(term.pointer().add(index))));
                }
                Some(AtomId(header.name()))
            } else {
                None
            };
            let procedure = name.and_then(|name| self.program.find(module, name, goal_arguments.len()));
            match procedure {
                Some(PredicateId(predicate)) => self.metacall(predicate, &goal_arguments, arguments[2], arguments[3]),
                None => {
                    let parent = self.queues[self.current as usize].node;
                    let node = self.new_node(parent, arguments[2], arguments[3], None);
                    let text = self.text(term, true);
                    let module = self.atoms().name(module).to_string();
                    let kind = ProblemKind::UnknownGoal { goal: text, module };
                    self.note_failure(Problem::new(kind));
                    self.end_node(node, atoms::FAILURE);
                }
            }
            true
        }
    }

    /// Reads the control stream of a node as far as it is there.
    pub(crate) fn control(&mut self, node: u32) {
        // SAFETY: the goal's arguments and the values of its node are of this heap, and nothing is collected meanwhile.
        unsafe {
            loop {
                if self.nodes[node as usize].state == NodeState::Done {
                    return;
                }
                let stream = dereference(self.nodes[node as usize].control);
                self.nodes[node as usize].control = stream;
                if stream.is_variable() {
                    self.watch(stream, u64::from(node));
                    return;
                }
                if stream.tag() != LIST {
                    return;
                }
                let message = dereference(Word::reference(stream.pointer()));
                if message.is_variable() {
                    self.watch(message, u64::from(node));
                    return;
                }
                self.nodes[node as usize].control = dereference(Word::reference(stream.pointer().add(1)));
                if message == Word::atom(atoms::SUSPEND.0) {
                    self.change_node(node, NodeChange::Suspend);
                } else if message == Word::atom(atoms::RESUME.0) {
                    self.change_node(node, NodeChange::Resume);
                } else if message == Word::atom(atoms::STOP.0) {
                    self.change_node(node, NodeChange::Stop);
                } else {
                    let kind = ProblemKind::Control { message: self.text(message, true) };
                    self.note_failure(Problem::new(kind));
                }
            }
        }
    }

    /// Suspends, resumes or stops a node with all that is below it.
    pub fn change_node(&mut self, node: u32, change: NodeChange) {
        if self.nodes[node as usize].state == NodeState::Done {
            return;
        }
        match change {
            NodeChange::Suspend => {
                self.nodes[node as usize].state = NodeState::Suspended;
                if !self.runs(self.queues[self.current as usize].node) {
                    self.preempt();
                }
            }
            NodeChange::Resume => {
                self.nodes[node as usize].state = NodeState::Running;
                self.list_below(node);
            }
            NodeChange::Stop => {
                self.end_node(node, atoms::STOP);
                return;
            }
        }
        self.tell_elsewhere(node, change);
    }

    /// Tells of a change of a node wherever goals of it, or of nodes below it, are. By a loop: the tree may be deep.
    fn tell_elsewhere(&mut self, node: u32, change: NodeChange) {
        // Goals that were thrown are elsewhere, too.
        self.take_thrown();
        let mut below = vec![node];
        while let Some(node) = below.pop() {
            if self.nodes[node as usize].elsewhere > 0 {
                self.tell(Outgoing::NodeChanged { node, change });
            }
            below.extend(self.nodes[node as usize].children.iter().rev());
        }
    }

    fn list_below(&mut self, node: u32) {
        let mut below = vec![node];
        while let Some(node) = below.pop() {
            for index in 0..self.nodes[node as usize].queues.len() {
                let queue = self.nodes[node as usize].queues[index];
                if queue != self.current {
                    self.list(queue);
                }
            }
            below.extend(self.nodes[node as usize].children.iter().rev());
        }
    }

    /// Ends a node if nothing is left of it, and those above for which it was the last.
    pub(crate) fn check_ended(&mut self, node: u32) {
        self.take_thrown();
        let mut node = node;
        loop {
            let current = self.queues[self.current as usize].node;
            if current == node {
                self.nodes[node as usize].waiting = self.registers.waiting;
            }
            let entry = &self.nodes[node as usize];
            if entry.state == NodeState::Done
                || entry.waiting > 0
                || !entry.children.is_empty()
                || entry.elsewhere > 0
                || (current == node && !self.registers.ready.is_null())
                || entry.queues.iter().any(|queue| !self.queues[*queue as usize].head.is_null())
            {
                return;
            }
            let parent = entry.parent;
            self.end_node(node, atoms::SUCCESS);
            if node == ROOT {
                return;
            }
            node = parent;
        }
    }

    /// A goal of the present queue's node failed. The problem comes back where that is the root.
    pub(crate) fn fail_node(&mut self, problem: Problem) -> Option<Problem> {
        let node = self.queues[self.current as usize].node;
        if node == ROOT || problem.is_fatal() {
            return Some(problem);
        }
        self.note_failure(problem);
        let parent = self.nodes[node as usize].parent;
        self.end_node(node, atoms::FAILURE);
        self.park();
        self.check_ended(parent);
        None
    }

    /// Ends a node: what is left of it goes, its result is told. Where the caller expected another result, the node of the
    /// caller fails, and so on.
    pub(crate) fn end_node(&mut self, node: u32, result: AtomId) {
        let mut next = Some((node, result));
        while let Some((node, result)) = next {
            next = self.end_one(node, result);
        }
    }

    /// Ends a node; which node that has fail, if it has one.
    fn end_one(&mut self, node: u32, result: AtomId) -> Option<(u32, AtomId)> {
        self.discard(node);
        if node == ROOT {
            return None;
        }
        let parent = self.nodes[node as usize].parent;
        let children = &mut self.nodes[parent as usize].children;
        if let Some(index) = children.iter().position(|child| *child == node) {
            children.swap_remove(index);
        }
        if let Some(foreign) = self.nodes[node as usize].foreign {
            self.tell(Outgoing::NodeEnded { foreign, failed: result == atoms::FAILURE });
            self.preempt();
            return None;
        }
        let variable = std::mem::replace(&mut self.nodes[node as usize].result, Word::NIL);
        if !self.unify_for(parent, variable, Word::atom(result.0)) {
            if self.has_problem() {
                return None;
            }
            // The caller expected another result: a failed unification among the caller's goals.
            let kind = ProblemKind::Unification {
                left: self.text(variable, true),
                right: self.atoms().name(result).to_string(),
                location: None,
            };
            let problem = Problem::new(kind);
            if parent == ROOT {
                self.problem = Some(Box::new(problem));
                self.preempt();
            } else {
                self.note_failure(problem);
                return Some((parent, atoms::FAILURE));
            }
        }
        None
    }

    /// Takes all goals from a node and from those below it.
    fn discard(&mut self, node: u32) {
        self.take_thrown();
        let mut below = vec![node];
        while let Some(node) = below.pop() {
            if self.nodes[node as usize].elsewhere > 0 {
                self.tell(Outgoing::NodeChanged { node, change: NodeChange::Stop });
            }
            let (queues, children) = {
                let entry = &mut self.nodes[node as usize];
                entry.state = NodeState::Done;
                entry.control = Word::NIL;
                entry.waiting = 0;
                (std::mem::take(&mut entry.queues), std::mem::take(&mut entry.children))
            };
            for queue in queues {
                self.queues[queue as usize].head = std::ptr::null_mut();
                if queue == self.current {
                    self.registers.ready = std::ptr::null_mut();
                    self.registers.waiting = 0;
                    self.preempt();
                }
            }
            below.extend(children.into_iter().rev());
        }
    }

    /// Looks after everything that was watched and is bound now.
    pub(crate) fn attend(&mut self) {
        while let Some(number) = self.fired.pop() {
            if number & super::WATCH_OUTSIDE != 0 {
                self.bound.push(number & !super::WATCH_OUTSIDE);
            } else if self.nodes[number as usize].state != NodeState::Done {
                let parent = self.nodes[number as usize].parent;
                self.control(number as u32);
                self.check_ended(parent);
            }
        }
    }

    /// Puts a goal on top of the present queue.
    pub(crate) fn push_goal(&mut self, predicate: u32, arguments: &[Word]) {
        let entry = &self.queues[self.current as usize];
        let (node, priority) = (entry.node, entry.priority);
        self.start_goal(predicate, arguments, node, priority);
    }
}
