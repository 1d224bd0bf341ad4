//! The copying collector (Cheney): what is reachable moves into a new space, breadth first, and the old one is free.
//!
//! References point into the middle of objects, so a cell may be reached before the object it is part of. It then moves
//! alone, and the object, when it follows, refers to it. References to bound cells are replaced by what they lead to.
//!
//! Suspended goals are reached only through the variables they wait for. One that is not reached can never be woken:
//! the collector finds it, keeps it once more so that it can be shown, and says so.

use super::goal::{
    self, ARGUMENTS, HOOK_WORDS, HOOKED_GOAL, LINK, WATCH_WORDS, goal_arity, goal_state, goal_words, state,
};
use super::space::Space;
use super::word::ARRAY_WORDS;
use super::word::{FORWARD, HEADER, Kind, LIST, OBJECT, REF, TAG_MASK, UNBOUND, Word};

/// Words of an object or record with this header.
///
/// # Safety
/// `header` points to a header.
pub unsafe fn words_of(header: Word) -> usize {
    match Kind::of(header) {
        Kind::Structure => 1 + header.arity(),
        Kind::Vector | Kind::Elements => 1 + header.payload() as usize,
        Kind::Array => ARRAY_WORDS,
        Kind::String => 1 + (header.payload() as usize).div_ceil(8),
        Kind::Float => 2,
        Kind::Goal => goal_words(header),
        Kind::Hook => HOOK_WORDS,
        Kind::Watch | Kind::External => WATCH_WORDS,
        Kind::Predicate => 1,
    }
}

/// One collection: from the spaces that roots point into, to `to`.
pub struct Collection {
    start: *mut Word,
    top: *mut Word,
    scan: *mut Word,
    end: *mut Word,
}

impl Collection {
    /// # Safety
    /// `to` has room for everything reachable.
    pub unsafe fn new(to: &Space) -> Collection {
        Collection { start: to.start(), top: to.start(), scan: to.start(), end: to.end() }
    }

    /// First free word of the new space.
    pub fn top(&self) -> *mut Word {
        self.top
    }

    fn allocate(&mut self, words: usize) -> *mut Word {
        let address = self.top;
        // SAFETY: the new space is as large as what the old ones hold, and nothing is copied twice.
        unsafe {
            self.top = address.add(words);
        }
        debug_assert!(self.top <= self.end);
        address
    }

    /// The new word for a value.
    ///
    /// # Safety
    /// `word` is a value of the old space.
    #[inline]
    pub unsafe fn value(&mut self, mut word: Word) -> Word {
        // SAFETY: the tag of a value of the old space (this function's condition) says what its pointer leads to: a
        // cell, the two of a list, or a header; what has moved from there has left its new address under FORWARD or
        // HEADER, and `allocate` gives memory of the new space.
        unsafe {
            loop {
                match word.tag() {
                    REF => {
                        let cell = word.pointer();
                        // A cell that moved alone, seen from what it was part of.
                        if cell >= self.start && cell < self.end {
                            return word;
                        }
                        let content = *cell;
                        match content.tag() {
                            UNBOUND => {
                                let new = self.allocate(1);
                                *new = content;
                                *cell = Word(new as u64 | FORWARD);
                                return Word::reference(new);
                            }
                            FORWARD | HEADER => return Word::reference(content.pointer()),
                            _ => word = content,
                        }
                    }
                    LIST => return self.list(word.pointer()),
                    OBJECT => return Word::object(self.record(word.pointer())),
                    _ => return word,
                }
            }
        }
    }

    /// Where an unbound variable, a list or an object of the old space is now; `None` if nothing has reached it, or a variable
    /// was bound.
    ///
    /// # Safety
    /// `value` refers to a cell of the old space, or to the first word of a list or object there, and everything reachable
    /// has been moved.
    pub unsafe fn moved(&self, value: Word) -> Option<Word> {
        // SAFETY: the value leads to a word of the old space (this function's condition), which is freed only after the
        // collection.
        let content = unsafe { *value.pointer() };
        match (value.tag(), content.tag()) {
            // Its first cell may have moved alone.
            (LIST, HEADER) => Some(Word::list(content.pointer())),
            (OBJECT, FORWARD) => Some(Word::object(content.pointer())),
            (REF, FORWARD | HEADER) => Some(Word::reference(content.pointer())),
            _ => None,
        }
    }

    unsafe fn list(&mut self, old: *mut Word) -> Word {
        // SAFETY: `old` is the first of the two cells of a list of the old space (this function's condition), and `new`
        // the first of two words that were allocated here.
        unsafe {
            let head = *old;
            if head.tag() == HEADER {
                return Word::list(head.pointer());
            }
            let tail = *old.add(1);
            let new = self.allocate(2);
            *new = moved_alone(head);
            *new.add(1) = moved_alone(tail);
            *old = Word(new as u64 | HEADER);
            *old.add(1) = Word(new.add(1) as u64 | FORWARD);
            Word::list(new)
        }
    }

    /// The new place of an object or record.
    ///
    /// # Safety
    /// `old` is the header of one in the old space.
    pub unsafe fn record(&mut self, old: *mut Word) -> *mut Word {
        // SAFETY: `old` is a header of the old space (this function's condition), which says how many words follow it;
        // as many are allocated at `new`, and what is written into the old object lies within it.
        unsafe {
            let header = *old;
            if header.tag() == FORWARD {
                return header.pointer();
            }
            let kind = Kind::of(header);
            match kind {
                Kind::Structure | Kind::Vector | Kind::Array | Kind::Elements => {
                    let words = words_of(header);
                    let new = self.allocate(words);
                    *new = header;
                    for index in 1..words {
                        let cell = old.add(index);
                        *new.add(index) = moved_alone(*cell);
                        *cell = Word(new.add(index) as u64 | FORWARD);
                    }
                    *old = Word(new as u64 | FORWARD);
                    new
                }
                Kind::Goal => {
                    let (header, words) = match goal_state(header) {
                        // What woke is a ready goal like others; the word that linked it to suspended ones goes.
                        state::WOKEN => (goal::with_state(header, state::READY), ARGUMENTS + goal_arity(header)),
                        _ => (header, goal_words(header)),
                    };
                    let new = self.allocate(words);
                    std::ptr::copy_nonoverlapping(old, new, words);
                    *new = header;
                    *old = Word(new as u64 | FORWARD);
                    new
                }
                _ => {
                    let words = words_of(header);
                    let new = self.allocate(words);
                    std::ptr::copy_nonoverlapping(old, new, words);
                    *old = Word(new as u64 | FORWARD);
                    new
                }
            }
        }
    }

    unsafe fn link(&mut self, address: *mut Word) {
        // SAFETY: `address` is the link of a record in the new space (this function's condition), which holds null or
        // the address of a record of the old one.
        unsafe {
            let old = (*address).pointer();
            if !old.is_null() {
                *address = Word(self.record(old) as u64);
            }
        }
    }

    /// Moves what everything moved so far refers to.
    ///
    /// # Safety
    /// Everything moved came from a consistent heap.
    pub unsafe fn finish(&mut self) {
        // SAFETY: words from `scan` to `top` have been moved here from a consistent heap (this function's condition),
        // each a value, a cell's content or a header; after a header `inside` goes on behind what is no value.
        unsafe {
            while self.scan < self.top {
                let address = self.scan;
                let word = *address;
                match word.tag() {
                    REF | LIST | OBJECT => {
                        *address = self.value(word);
                        self.scan = address.add(1);
                    }
                    UNBOUND => {
                        if !word.pointer().is_null() {
                            *address = Word::waiting(self.record(word.pointer()));
                        }
                        self.scan = address.add(1);
                    }
                    HEADER => self.scan = self.inside(address, word),
                    _ => self.scan = address.add(1),
                }
            }
        }
    }

    /// Scans the part of an object that differs from a row of values; returns where the scan goes on.
    unsafe fn inside(&mut self, address: *mut Word, header: Word) -> *mut Word {
        // SAFETY: `address` is the header of an object or record that was moved as a whole (this function's condition),
        // so that all words that the header speaks of are there; hooks and links hold null or addresses of the old
        // space, whose objects say by FORWARD where they have gone.
        unsafe {
            match Kind::of(header) {
                Kind::Structure | Kind::Vector | Kind::Array | Kind::Elements | Kind::Predicate => address.add(1),
                Kind::String | Kind::Float => address.add(words_of(header)),
                Kind::Goal => {
                    self.link(address.add(LINK));
                    for index in ARGUMENTS..ARGUMENTS + goal_arity(header) {
                        *address.add(index) = self.value(*address.add(index));
                    }
                    address.add(goal_words(header))
                }
                Kind::Hook => {
                    self.link(address.add(LINK));
                    let goal = (*address.add(HOOKED_GOAL)).pointer();
                    let mut kept = std::ptr::null_mut();
                    if !goal.is_null() {
                        let header = *goal;
                        // A goal that another variable woke needs this hook no more, and must not be kept by it.
                        if header.tag() == FORWARD {
                            kept = header.pointer();
                        } else if goal_state(header) == state::SUSPENDED {
                            kept = self.record(goal);
                        }
                    }
                    *address.add(HOOKED_GOAL) = Word(kept as u64);
                    address.add(HOOK_WORDS)
                }
                Kind::Watch | Kind::External => {
                    self.link(address.add(LINK));
                    address.add(WATCH_WORDS)
                }
            }
        }
    }

    /// Goes through the list of all suspended goals of the old space; those that belong to nothing any more (`belongs` of
    /// their header) go. Returns the new list and the goals (in the new
    /// space) that nothing refers to any more; they have been moved, and [`Collection::finish`] must follow.
    ///
    /// # Safety
    /// `first` heads the list of suspended goals, and everything reachable has been moved.
    pub unsafe fn suspended(
        &mut self,
        first: *mut Word,
        belongs: impl Fn(Word) -> bool,
    ) -> (*mut Word, Vec<*mut Word>) {
        // SAFETY: `first` heads the list of suspended goals, linked by the word behind their arguments (this function's
        // condition); a goal that has moved left its new address in its header only, so that the old link can still be
        // read, and the arity to find it by is that of either copy.
        unsafe {
            let mut kept = std::ptr::null_mut();
            let mut lost = Vec::new();
            let mut old = first;
            while !old.is_null() {
                let header = *old;
                let next;
                if header.tag() == FORWARD {
                    let new = header.pointer();
                    // The arity is the same in both spaces, and the old arguments are untouched.
                    let link = ARGUMENTS + goal_arity(*new);
                    next = (*old.add(link)).pointer();
                    if goal_state(*new) == state::SUSPENDED {
                        *new.add(link) = Word(kept as u64);
                        kept = new;
                    }
                } else {
                    next = (*old.add(ARGUMENTS + goal_arity(header))).pointer();
                    if goal_state(header) == state::SUSPENDED && belongs(header) {
                        lost.push(old);
                    }
                }
                old = next;
            }
            for goal in &mut lost {
                let new = self.record(*goal);
                *new = goal::with_state(*new, state::LOST);
                *new.add(ARGUMENTS + goal_arity(*new)) = Word(kept as u64);
                kept = new;
                *goal = new;
            }
            (kept, lost)
        }
    }
}

/// What a cell holds in an object that moves after one of its cells did.
#[inline(always)]
fn moved_alone(content: Word) -> Word {
    if content.0 & TAG_MASK == FORWARD { Word::reference(content.pointer()) } else { content }
}
