//! Large vectors whose elements are changed one after the other, as in a program that keeps a table in a vector and
//! always goes on with the newest: each change is done in place, in constant time.
//!
//! ```text
//! newest version  header(Array, n) · elements · [] · []
//! older version   header(Array, n) · index · element there · next newer version
//! elements        header(Elements, n) · cells
//! ```
//! The newest version has the elements; an older one says in what it differs from the next newer one (shallow binding of
//! versions: Baker, "Shallow binding makes functional arrays fast", 1991; KLIC's vectors are of this kind). Reading an older
//! version goes through all that are newer. Which version is newest is known only to this file.

use crate::heap::word::{ARRAY_WORDS, OBJECT, dereference};
use crate::heap::{Kind, Word};

use super::Engine;

/// Index of the elements of the newest version, or of the index at which an older one differs.
const ELEMENTS: usize = 1;
const OLD_ELEMENT: usize = 2;
const NEWER: usize = 3;

/// Cells in a row: where they lie, or copies of those of an older version.
pub(crate) struct Cells {
    first: *mut Word,
    count: usize,
    copy: Option<Vec<Word>>,
}

impl Cells {
    pub fn new(first: *mut Word, count: usize) -> Cells {
        Cells { first, count, copy: None }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// The content of a cell as a value.
    ///
    /// # Safety
    /// The heap is as it was when these were made, and the index is below [`Cells::len`].
    pub unsafe fn get(&self, index: usize) -> Word {
        match &self.copy {
            // SAFETY: a value of the heap.
            Some(copy) => unsafe { dereference(copy[index]) },
            // SAFETY: the index is below the number of cells and the heap is as it was when these were made (this
            // function's conditions), so that the cell is one of the row.
            None => unsafe { dereference(Word::reference(self.first.add(index))) },
        }
    }
}

/// The elements of a vector, whatever its kind.
///
/// # Safety
/// `header` opens a vector or array of a live heap.
pub(crate) unsafe fn elements(header: *mut Word) -> Cells {
    // SAFETY: `header` opens a vector or an array of a live heap (this function's condition): elements follow it, or it
    // leads over newer versions, each with the index of a difference, to the one that has them, and all versions have
    // one number of elements.
    unsafe {
        let count = (*header).payload() as usize;
        if Kind::of(*header) == Kind::Vector {
            return Cells::new(header.add(1), count);
        }
        let mut differences = Vec::new();
        let mut version = header;
        while let Some(newer) = newer(version) {
            differences.push(version);
            version = newer;
        }
        let first = (*version.add(ELEMENTS)).pointer().add(1);
        if differences.is_empty() {
            return Cells::new(first, count);
        }
        let mut copy: Vec<Word> = (0..count).map(|index| *first.add(index)).collect();
        for version in differences.into_iter().rev() {
            copy[(*version.add(ELEMENTS)).value() as usize] = *version.add(OLD_ELEMENT);
        }
        Cells { first, count, copy: Some(copy) }
    }
}

/// One element of an array, and how many versions were looked through for it.
///
/// # Safety
/// `header` opens an array of a live heap with more than `index` elements.
pub(crate) unsafe fn element(header: *mut Word, index: usize) -> (Word, usize) {
    // SAFETY: `header` opens an array of a live heap with more than `index` elements (this function's condition), from
    // which newer versions lead to the one that has the elements.
    unsafe {
        let mut version = header;
        let mut versions = 1;
        while let Some(newer) = newer(version) {
            if (*version.add(ELEMENTS)).value() as usize == index {
                return (dereference(*version.add(OLD_ELEMENT)), versions);
            }
            version = newer;
            versions += 1;
        }
        (dereference(*(*version.add(ELEMENTS)).pointer().add(1 + index)), versions)
    }
}

/// The next newer version; `None` for the newest.
unsafe fn newer(version: *mut Word) -> Option<*mut Word> {
    // SAFETY: `version` opens an array of a live heap (this function's condition), which has three cells, and one with
    // an index in the first has a newer version in the third.
    unsafe { (*version.add(ELEMENTS)).is_integer().then(|| (*version.add(NEWER)).pointer()) }
}

impl Engine {
    /// Words that [`Engine::replace_element`] needs.
    ///
    /// # Safety
    /// `header` opens a vector or array of this heap.
    pub(crate) unsafe fn words_to_replace(&self, header: *mut Word) -> usize {
        // SAFETY: `header` opens a vector or array of this heap (this function's condition).
        unsafe {
            let whole = 1 + (*header).payload() as usize;
            match Kind::of(*header) {
                Kind::Array if newer(header).is_none() => ARRAY_WORDS,
                Kind::Vector if whole <= self.code.min_array => whole,
                _ => ARRAY_WORDS + whole,
            }
        }
    }

    /// A vector with another element; there is room.
    ///
    /// # Safety
    /// `header` opens a vector or array of this heap with more than `index` elements.
    pub(crate) unsafe fn replace_element(&mut self, header: *mut Word, index: usize, element: Word) -> Word {
        // SAFETY: `header` opens a vector or array of this heap with more than `index` elements, and there is room for
        // `words_to_replace` (this function's conditions), which counts what each branch allocates; a place with that
        // index lies among the elements.
        unsafe {
            let count = (*header).payload();
            if (count as usize) < self.code.min_array {
                let new = self.copied(header, Kind::Vector);
                *new.add(1 + index) = element;
                return Word::object(new);
            }
            let is_newest = Kind::of(*header) == Kind::Array && newer(header).is_none();
            let cells = if is_newest { (*header.add(ELEMENTS)).pointer() } else { self.copied(header, Kind::Elements) };
            let version = self.allocate(ARRAY_WORDS);
            *version = Word::header(Kind::Array, count);
            *version.add(ELEMENTS) = Word::object(cells);
            *version.add(OLD_ELEMENT) = Word::NIL;
            *version.add(NEWER) = Word::NIL;
            let cell = cells.add(1 + index);
            if is_newest {
                *header.add(ELEMENTS) = Word::small(index as i64);
                *header.add(OLD_ELEMENT) = *cell;
                *header.add(NEWER) = Word::object(version);
            }
            // Values, never variables in place: nothing else may refer to these cells.
            *cell = dereference(element);
            debug_assert_eq!(Word::object(version).tag(), OBJECT);
            Word::object(version)
        }
    }

    /// A copy of the elements under a header of this kind.
    unsafe fn copied(&mut self, header: *mut Word, kind: Kind) -> *mut Word {
        // SAFETY: `header` opens a vector or array of this heap, and there is room for a copy of its elements under a
        // header (this function's conditions).
        unsafe {
            let from = elements(header);
            let new = self.allocate(1 + from.len());
            *new = Word::header(kind, from.len() as u64);
            for index in 0..from.len() {
                *new.add(1 + index) = from.get(index);
            }
            new
        }
    }
}
