//! Where a value comes back to itself, for a text of it that ends.

use rustc_hash::FxHashMap;

use super::Engine;
use super::array::Cells;
use super::unify::cells;
use crate::heap::word::{LIST, OBJECT, dereference};
use crate::heap::{Kind, Word};

/// What a search for cycles found.
pub(crate) enum Cycles {
    /// The value is a finite tree.
    None,
    /// It comes back to these of its parts.
    Back(Vec<Word>),
    /// The search was ended before it knew.
    Unknown,
}

/// Whether a value has cells that may lead back to it.
pub(crate) fn has_cells(value: Word) -> bool {
    match value.tag() {
        LIST => true,
        // SAFETY: a value of a live heap.
        OBJECT => unsafe { matches!(Kind::of(*value.pointer()), Kind::Structure | Kind::Vector | Kind::Array) },
        _ => false,
    }
}

impl Engine {
    /// Looks for the parts that a value comes back to. `go_on` is asked from time to time, with the bytes that the search
    /// takes; at most about `steps` parts are looked at.
    pub(crate) fn cycles(&self, value: Word, steps: usize, go_on: &mut dyn FnMut(usize) -> bool) -> Cycles {
        // A walk that ends without a memory of what it met has gone through a finite tree, and mostly it does.
        let without_memory = steps.min((1 << 16) + self.words_in_use());
        match finite(value, without_memory, go_on) {
            Some(true) => Cycles::None,
            Some(false) => search(value, steps, go_on),
            None => Cycles::Unknown,
        }
    }
}

/// Whether a walk through a value ends within so many steps; `None` when it was told to end.
fn finite(value: Word, steps: usize, go_on: &mut dyn FnMut(usize) -> bool) -> Option<bool> {
    let mut rest: Vec<(Cells, usize)> = Vec::new();
    let mut next = Some(value);
    let mut count = 0usize;
    // SAFETY: a value of a heap that nothing changes meanwhile.
    unsafe {
        loop {
            if let Some(value) = next.take() {
                let value = dereference(value);
                if has_cells(value) {
                    rest.push((cells(value), 0));
                }
            }
            let Some((row, index)) = rest.last_mut() else { return Some(true) };
            if *index >= row.len() {
                rest.pop();
                continue;
            }
            next = Some(row.get(*index));
            *index += 1;
            if *index == row.len() {
                // Along a list the stack does not grow.
                rest.pop();
            }
            count += 1;
            if count >= steps {
                return Some(false);
            }
            if count.is_multiple_of(4096) && !go_on(rest.capacity() * std::mem::size_of::<(Cells, usize)>()) {
                return None;
            }
        }
    }
}

/// Depth first: what is met again while its own parts are looked at leads back to itself.
fn search(value: Word, steps: usize, go_on: &mut dyn FnMut(usize) -> bool) -> Cycles {
    // Whether a part is still being looked at.
    let mut open: FxHashMap<u64, bool> = FxHashMap::default();
    let mut path: Vec<(u64, Cells, usize)> = Vec::new();
    let mut back = Vec::new();
    let mut next = Some(value);
    let mut count = 0usize;
    // SAFETY: a value of a heap that nothing changes meanwhile.
    unsafe {
        loop {
            if let Some(value) = next.take() {
                let value = dereference(value);
                if has_cells(value) {
                    match open.get(&value.0) {
                        None => {
                            open.insert(value.0, true);
                            path.push((value.0, cells(value), 0));
                        }
                        Some(true) if !back.contains(&value) => back.push(value),
                        Some(_) => {}
                    }
                }
            }
            let Some((part, row, index)) = path.last_mut() else { break };
            if *index >= row.len() {
                open.insert(*part, false);
                path.pop();
                continue;
            }
            next = Some(row.get(*index));
            *index += 1;
            count += 1;
            let bytes = open.len() * 32 + path.capacity() * std::mem::size_of::<(u64, Cells, usize)>();
            if count >= steps || count.is_multiple_of(4096) && !go_on(bytes) {
                return Cycles::Unknown;
            }
        }
    }
    if back.is_empty() { Cycles::None } else { Cycles::Back(back) }
}
