//! What an engine has for other processing elements.

use std::ops::Range;

#[cfg(doc)]
use super::Engine;
use crate::heap::Word;

/// Set in the payload of an external record once its value has been asked for.
pub const ASKED: u64 = 1 << 48;

/// Something for another processing element. Values in it are roots of the collector until it is taken.
#[derive(Debug, Clone)]
pub enum Outgoing {
    /// Goals with `@node` or `alloc` for another PE, one after the other.
    Throw(Throw),
    /// A goal waits for this external variable: its value is needed (asked once).
    Read { external: u64 },
    /// An active unification for this node met the external variable. `value` may be a variable. One is lent from the node,
    /// see [`Engine::add_elsewhere`]: take that back once the unification is counted otherwise.
    Unify { external: u64, value: Word, node: u32 },
    /// A node of the AND-tree that was made with [`Engine::foster`] has no goals left, or has failed.
    NodeEnded { foreign: u64, failed: bool },
    /// A node was suspended, resumed or stopped, and those of its goals that were thrown must be told.
    NodeChanged { node: u32, change: NodeChange },
}

/// Goals with a pragma that were thrown one after the other by one goal of the program to one PE.
#[derive(Debug, Clone)]
pub struct Throw {
    /// The PE, from 0.
    pub node: usize,
    pub predicate: u32,
    /// How many. For each, one is lent from its node, see [`Engine::add_elsewhere`]: take that back once it is counted otherwise.
    pub goals: usize,
    /// The arguments of all, in the values that come with what is [`Outgoing`].
    pub arguments: Range<usize>,
    pub priority: i32,
    /// Their node.
    pub parent: u32,
    /// An index into the code's goals with a pragma.
    pub site: u32,
}

/// What [`Engine::take_bound`], [`Engine::take_outgoing`] and [`Engine::take_unreachable`] would give something of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
    pub bound: bool,
    pub outgoing: bool,
    pub unreachable: bool,
}

impl News {
    /// Whether there is any.
    pub fn any(self) -> bool {
        self.bound || self.outgoing || self.unreachable
    }
}

/// What happens to a node from above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeChange {
    Suspend,
    Resume,
    Stop,
}
