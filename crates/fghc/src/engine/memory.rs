//! What a program makes beside the heap, which counts towards the heap's limit: nodes of the AND-tree, atoms, tables of
//! references, what waits to be read. It is counted with every collection, and a collection comes soon where it grows.

use super::outgoing::Outgoing;
use super::queue::Queue;
use super::report::{Problem, ProblemKind};
use super::tree::{Node, NodeState};
use super::{Engine, ROOT};
use crate::heap::Word;
use crate::heap::goal::{ARGUMENTS, goal_arity, goal_queue};

/// Bytes of a node's lists of children and queues, as a rule.
const LISTS_OF_A_NODE: usize = 32;
/// What has grown by this part of the limit is looked at.
const PART: usize = 16;

impl Engine {
    /// Bytes of what the program made beside the heap, by what it is.
    pub(crate) fn others(&self) -> [(&'static str, usize); 4] {
        let nodes =
            self.nodes.capacity() * (size_of::<Node>() + LISTS_OF_A_NODE) + self.queues.capacity() * size_of::<Queue>();
        let atoms = self.atoms().bytes().saturating_sub(self.program.atoms.bytes());
        let references = self.externals.bytes()
            + self.roots.capacity() * size_of::<Word>()
            + self.outgoing.capacity() * size_of::<Outgoing>()
            + self.outgoing_values.capacity() * size_of::<Word>();
        [
            ("metacalls and priorities", nodes),
            ("atoms made by the program", atoms),
            ("input that was given back", self.files.bytes()),
            ("references to and messages from other PEs", references + self.outside),
        ]
    }

    /// Something beside the heap has grown by so many bytes.
    pub(crate) fn charge(&mut self, bytes: usize) {
        self.grown += bytes;
        if self.grown >= (self.heap.limit_bytes() / PART).max(1) {
            self.grown = 0;
            self.collects_soon = true;
            self.preempt();
        }
    }

    /// How many bytes are held for this engine by whoever distributes the program.
    pub fn hold_outside(&mut self, bytes: usize) {
        if bytes > self.outside {
            self.charge(bytes - self.outside);
        }
        self.outside = bytes;
    }

    /// Ended nodes, and queues that nothing is in and nothing can come back to, for new ones. Called after a collection.
    pub(super) fn reclaim_nodes(&mut self) {
        // Goals and news on their way may name a node.
        if self.nodes.len() + self.queues.len() == 2 || !self.outgoing.is_empty() || !self.fired.is_empty() {
            return;
        }
        let mut used = vec![false; self.queues.len()];
        // SAFETY: links of suspended goals.
        unsafe {
            let mut goal = self.registers.suspended;
            while !goal.is_null() {
                used[goal_queue(*goal) as usize] = true;
                goal = (*goal.add(ARGUMENTS + goal_arity(*goal))).pointer();
            }
        }
        let mut keeps = vec![false; self.nodes.len()];
        for (number, used) in used.into_iter().enumerate().skip(1) {
            let queue = &self.queues[number];
            let node = queue.node as usize;
            let is_done = self.nodes[node].state == NodeState::Done;
            let stays = used || queue.listed || !queue.head.is_null() || number == self.current as usize;
            // Others may have the number of a queue of a node that runs.
            if queue.is_free || stays || !is_done && self.pes > 1 {
                keeps[node] |= !queue.is_free;
                continue;
            }
            self.nodes[node].queues.retain(|&queue| queue as usize != number);
            self.queues[number].is_free = true;
            self.free_queues.push(number as u32);
        }
        for (number, keeps) in keeps.into_iter().enumerate().skip(ROOT as usize + 1) {
            let node = &mut self.nodes[number];
            if node.state == NodeState::Done && !keeps && !node.is_known_elsewhere && !node.is_free {
                node.is_free = true;
                self.free_nodes.push(number as u32);
            }
        }
    }

    /// More at once than the engine has numbers for.
    pub(super) fn too_many(&mut self, message: String) {
        if !self.has_problem() {
            self.problem = Some(Box::new(Problem::new(ProblemKind::TooMany { message })));
        }
        self.preempt();
    }
}
