//! References across PEs: what this PE has exported, what it has imported, and goals that belong to nodes elsewhere.
//!
//! A reference is a PE and an index into its export table: a global identifier that a local collection does not change.
//! Exports are counted by weight: the sum of the weights of all references to an entry, on PEs and in packets, is the
//! entry's weight. Whoever passes a reference on divides its weight and asks nobody; whoever needs it no more gives the
//! weight back. The same scheme counts what is left of a node of the AND-tree elsewhere.

use rustc_hash::FxHashMap;

use crate::engine::Root;
use crate::heap::Word;

/// The weight of a new reference, or of a goal that is thrown from its node's own PE.
pub const WEIGHT: u64 = 1 << 32;

/// A reference that is passed on with half the weight; `None` where there is nothing left to divide.
pub fn divide(weight: &mut u64) -> Option<u64> {
    let half = *weight / 2;
    *weight -= half;
    (half > 0).then_some(half)
}

/// What others know of this PE.
#[derive(Default)]
pub struct Exports {
    entries: Vec<Option<Export>>,
    free: Vec<usize>,
}

/// A value or variable that others may refer to.
pub struct Export {
    /// Keeps it.
    pub root: Root,
    /// All weight that is out.
    pub weight: u64,
    /// Who waits for its value: PE and number of the import there.
    pub waiters: Waiters,
    /// What [`super::value::Exported`] finds it by, while no collection has moved its value.
    pub key: u64,
    /// Whether it was bound when it was exported.
    pub is_value: bool,
    /// Whether the engine tells when it is bound.
    pub watched: bool,
    /// The goal with a pragma that first took it elsewhere, if one did.
    pub site: Option<u32>,
}

/// PEs that wait for a value, in the order in which they asked; mostly one, which needs no memory of its own.
#[derive(Default)]
pub struct Waiters {
    first: Option<(usize, u64)>,
    rest: Vec<(usize, u64)>,
}

impl Waiters {
    pub fn push(&mut self, waiter: (usize, u64)) {
        match self.first {
            None => self.first = Some(waiter),
            Some(_) => self.rest.push(waiter),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// All of them; none is left.
    pub fn take(&mut self) -> impl Iterator<Item = (usize, u64)> + use<> {
        self.first.take().into_iter().chain(std::mem::take(&mut self.rest))
    }
}

impl Exports {
    /// A new entry with the weight of one reference.
    pub fn add(&mut self, root: Root, value: Word, site: Option<u32>) -> usize {
        let (key, is_value) = (value.0, !value.is_variable());
        let waiters = Waiters::default();
        let entry = Some(Export { root, weight: WEIGHT, waiters, key, is_value, watched: false, site });
        match self.free.pop() {
            Some(index) => {
                self.entries[index] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        }
    }

    pub fn get(&mut self, index: usize) -> Option<&mut Export> {
        self.entries.get_mut(index)?.as_mut()
    }

    /// Takes weight back. Returns an entry that nobody refers to any more: it is gone.
    pub fn take_back(&mut self, index: usize, weight: u64) -> Option<Export> {
        let entry = self.get(index)?;
        entry.weight = entry.weight.saturating_sub(weight);
        if entry.weight > 0 || !entry.waiters.is_empty() {
            return None;
        }
        self.free.push(index);
        self.entries[index].take()
    }

    /// Entries with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Export)> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| entry.as_ref().map(|entry| (index, entry)))
    }

    /// As [`Exports::iter`].
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Export)> {
        self.entries.iter_mut().enumerate().filter_map(|(index, entry)| Some((index, entry.as_mut()?)))
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Option<Export>>() + self.free.capacity() * size_of::<usize>()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

/// What this PE knows of others. The number of an import is that of the engine's external variable.
#[derive(Default)]
pub struct Imports {
    entries: Vec<Option<Import>>,
    free: Vec<u64>,
    known: FxHashMap<(usize, usize), u64>,
}

/// A variable whose value is elsewhere.
#[derive(Clone, Copy)]
pub struct Import {
    pub pe: usize,
    pub index: usize,
    /// Zero once given back, when only the answer to a read is still to come.
    pub weight: u64,
    /// Its value has been asked for.
    pub asked: bool,
    /// What it becomes may lead back to the same reference.
    pub remember: bool,
    /// It has become a value, which is remembered.
    pub remembered: bool,
}

impl Imports {
    /// The number of a reference that is known already.
    pub fn find(&self, pe: usize, index: usize) -> Option<u64> {
        self.known.get(&(pe, index)).copied()
    }

    pub fn add(&mut self, pe: usize, index: usize, weight: u64) -> u64 {
        let entry = Some(Import { pe, index, weight, asked: false, remember: false, remembered: false });
        let number = match self.free.pop() {
            Some(number) => {
                self.entries[number as usize] = entry;
                number
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u64 - 1
            }
        };
        self.known.insert((pe, index), number);
        number
    }

    pub fn get(&mut self, number: u64) -> Option<&mut Import> {
        self.entries.get_mut(usize::try_from(number).ok()?)?.as_mut()
    }

    /// The reference is needed no more: its weight goes back. Its number stays taken while an answer is to come.
    pub fn give_back(&mut self, number: u64) -> Option<Import> {
        let entry = self.entries.get_mut(usize::try_from(number).ok()?)?;
        let import = (*entry)?;
        if import.weight > 0 {
            self.known.remove(&(import.pe, import.index));
        }
        if import.asked {
            if let Some(import) = entry {
                (import.weight, import.remembered) = (0, false);
            }
        } else {
            *entry = None;
            self.free.push(number);
        }
        Some(import)
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Option<Import>>()
            + self.free.capacity() * size_of::<u64>()
            + self.known.capacity() * 2 * size_of::<(usize, usize, u64)>()
    }

    /// Imports with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Import)> {
        self.entries.iter().enumerate().filter_map(|(number, entry)| entry.map(|entry| (number as u64, entry)))
    }
}

/// A node of the AND-tree by the PE that has it and its number there.
pub type NodeName = (usize, u32);

/// Foster parents: nodes here that stand for nodes elsewhere.
#[derive(Default)]
pub struct Fosters {
    entries: Vec<Option<Foster>>,
    free: Vec<u64>,
    by_name: FxHashMap<NodeName, u64>,
    by_node: FxHashMap<u32, u64>,
}

/// A node here for the goals of a node elsewhere that run here.
#[derive(Clone, Copy)]
pub struct Foster {
    /// Whose goals they are.
    pub name: NodeName,
    /// The engine's node.
    pub node: u32,
    /// What of the node's weight is here.
    pub weight: u64,
}

impl Fosters {
    pub fn find(&self, name: NodeName) -> Option<u64> {
        self.by_name.get(&name).copied()
    }

    /// A number for a foster parent that is about to be made.
    pub fn reserve(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() as u64 - 1
        })
    }

    pub fn put(&mut self, number: u64, foster: Foster) {
        self.by_name.insert(foster.name, number);
        self.by_node.insert(foster.node, number);
        self.entries[number as usize] = Some(foster);
    }

    pub fn get(&mut self, number: u64) -> Option<&mut Foster> {
        self.entries.get_mut(usize::try_from(number).ok()?)?.as_mut()
    }

    /// The foster parent that is this node of the engine.
    pub fn of_node(&mut self, node: u32) -> Option<&mut Foster> {
        let number = *self.by_node.get(&node)?;
        self.get(number)
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        // Entries, and both tables that find them.
        self.entries.capacity() * (size_of::<Option<Foster>>() + 64)
    }

    pub fn remove(&mut self, number: u64) -> Option<Foster> {
        let foster = self.entries.get_mut(usize::try_from(number).ok()?)?.take()?;
        self.by_name.remove(&foster.name);
        self.by_node.remove(&foster.node);
        self.free.push(number);
        Some(foster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn weight_is_divided_without_loss(first in 1u64..1 << 40, times in 0usize..60) {
            let mut weights = vec![first];
            for _ in 0..times {
                let parts: Vec<u64> = weights.iter_mut().take(2).filter_map(divide).collect();
                prop_assert!(parts.iter().all(|&part| part > 0) && weights.iter().all(|&weight| weight > 0));
                weights.extend(parts);
                weights.rotate_left(1);
                prop_assert_eq!(weights.iter().sum::<u64>(), first);
            }
        }
    }

    #[test]
    fn a_number_is_not_used_again_before_its_answer_has_come() {
        let mut imports = Imports::default();
        let number = imports.add(1, 7, 4);
        imports.get(number).expect("just added").asked = true;
        assert_eq!(imports.give_back(number).map(|import| import.weight), Some(4));
        assert_eq!(imports.find(1, 7), None);
        let other = imports.add(1, 7, 4);
        assert_ne!(number, other);
        imports.get(number).expect("waits for its answer").asked = false;
        assert_eq!(imports.give_back(number).map(|import| import.weight), Some(0));
        assert_eq!(imports.find(1, 7), Some(other));
        assert_eq!(imports.add(2, 2, 1), number);
    }
}
