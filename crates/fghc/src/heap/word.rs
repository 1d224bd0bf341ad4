//! One machine word of the heap: a value, a cell or a header, told apart by its three low bits.
//!
//! Values are what goals pass around: integers, atoms, references, lists and structures. A *cell* is a place in the
//! heap that holds a value or is unbound; a reference points to one. Headers open every object except a list, whose
//! two cells need none.

use std::fmt;

/// A tagged word of 64 bits. Pointers are addresses of words, so their three low bits are free for the tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Word(pub u64);

/// Bits of the tag.
pub const TAG_MASK: u64 = 7;
/// Integer of 61 bits: no tag to take away before a calculation.
pub const INT: u64 = 0;
/// List: points to two cells, head and tail.
pub const LIST: u64 = 1;
/// Any other object: points to its header.
pub const OBJECT: u64 = 2;
/// Reference to a cell.
pub const REF: u64 = 3;
/// Atom: its number in the atom table.
pub const ATOM: u64 = 4;
/// Content of an unbound cell: zero, or the address of the first of the records that wait for it.
pub const UNBOUND: u64 = 5;
/// Header of an object; during a collection also: the list that began here has moved.
pub const HEADER: u64 = 6;
/// During a collection: this cell, or the object that began here, has moved.
pub const FORWARD: u64 = 7;

/// Words of a [`Kind::Array`].
pub const ARRAY_WORDS: usize = 4;

/// Largest integer: 61 bits, signed.
pub const INT_MAX: i64 = (1 << 60) - 1;
/// Smallest integer.
pub const INT_MIN: i64 = -(1 << 60);

/// What an object is, in bits 3 to 7 of its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Structure: arity in bits 8 to 31, name (an atom's number) above; its arguments are cells.
    Structure = 0,
    /// Vector: number of elements from bit 8 on; its elements are cells.
    Vector = 1,
    /// String: length in bytes from bit 8 on; its bytes are packed into words.
    String = 2,
    /// Floating point number: one word of its bits.
    Float = 3,
    /// Goal record, see [`super::goal`].
    Goal = 4,
    /// One of several variables that a goal waits for: link, goal.
    Hook = 5,
    /// Something outside the heap waits for this variable: its number from bit 8 on; link.
    Watch = 6,
    /// The value of this variable is elsewhere: its number from bit 8 on; link.
    External = 7,
    /// A predicate as a value: its number from bit 8 on.
    Predicate = 8,
    /// A version of a large vector whose elements are changed one after the other: number of elements from bit 8 on; three
    /// cells, see [`crate::engine::array`].
    Array = 9,
    /// The elements of the newest version: their number from bit 8 on; cells.
    Elements = 10,
}

impl Kind {
    #[inline(always)]
    pub fn of(header: Word) -> Kind {
        debug_assert_eq!(header.tag(), HEADER);
        match (header.0 >> 3) & 31 {
            0 => Kind::Structure,
            1 => Kind::Vector,
            2 => Kind::String,
            3 => Kind::Float,
            4 => Kind::Goal,
            5 => Kind::Hook,
            6 => Kind::Watch,
            7 => Kind::External,
            8 => Kind::Predicate,
            9 => Kind::Array,
            _ => Kind::Elements,
        }
    }
}

impl Word {
    /// An unbound cell that nothing waits for.
    pub const FREE: Word = Word(UNBOUND);
    /// The empty list: atom 0 of every atom table.
    pub const NIL: Word = Word(ATOM);

    #[inline(always)]
    pub fn tag(self) -> u64 {
        self.0 & TAG_MASK
    }

    /// The address in a tagged pointer.
    #[inline(always)]
    pub fn pointer(self) -> *mut Word {
        (self.0 & !TAG_MASK) as *mut Word
    }

    #[inline(always)]
    pub fn reference(cell: *mut Word) -> Word {
        Word(cell as u64 | REF)
    }

    #[inline(always)]
    pub fn list(cells: *mut Word) -> Word {
        Word(cells as u64 | LIST)
    }

    #[inline(always)]
    pub fn object(header: *mut Word) -> Word {
        Word(header as u64 | OBJECT)
    }

    /// Content of an unbound cell with the records that wait for it.
    #[inline(always)]
    pub fn waiting(record: *mut Word) -> Word {
        Word(record as u64 | UNBOUND)
    }

    #[inline(always)]
    pub fn atom(number: u32) -> Word {
        Word(u64::from(number) << 3 | ATOM)
    }

    #[inline(always)]
    pub fn atom_number(self) -> u32 {
        (self.0 >> 3) as u32
    }

    /// An integer that is known to fit into 61 bits.
    #[inline(always)]
    pub const fn small(value: i64) -> Word {
        Word((value << 3) as u64 | INT)
    }

    /// An integer; `None` when it needs more than 61 bits.
    #[inline(always)]
    pub fn integer(value: i64) -> Option<Word> {
        (INT_MIN..=INT_MAX).contains(&value).then(|| Word::small(value))
    }

    #[inline(always)]
    pub fn value(self) -> i64 {
        (self.0 as i64) >> 3
    }

    #[inline(always)]
    pub fn header(kind: Kind, rest: u64) -> Word {
        Word(rest << 8 | (kind as u64) << 3 | HEADER)
    }

    /// Header of a structure.
    pub fn structure(name: u32, arity: usize) -> Word {
        Word::header(Kind::Structure, u64::from(name) << 24 | arity as u64)
    }

    /// What a header says beyond its kind: bits 8 and up.
    #[inline(always)]
    pub fn payload(self) -> u64 {
        self.0 >> 8
    }

    /// Arity in the header of a structure.
    pub fn arity(self) -> usize {
        (self.payload() & 0xff_ffff) as usize
    }

    /// Name in the header of a structure.
    pub fn name(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub fn is_integer(self) -> bool {
        self.tag() == INT
    }

    pub fn is_atom(self) -> bool {
        self.tag() == ATOM
    }

    /// Whether this is, after following references, an unbound variable (a reference to its cell).
    pub fn is_variable(self) -> bool {
        self.tag() == REF
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tag() {
            INT => write!(f, "{}", self.value()),
            ATOM => write!(f, "atom {}", self.atom_number()),
            tag => write!(f, "{tag}:{:#x}", self.0 & !TAG_MASK),
        }
    }
}

/// Follows references: the value at their end, or a reference to an unbound cell.
///
/// # Safety
/// `word` is a value of a live heap.
#[inline(always)]
pub unsafe fn dereference(mut word: Word) -> Word {
    while word.tag() == REF {
        // SAFETY: a word with the tag REF in a live heap (this function's condition) is the address of a cell of that
        // heap, which is written when it is allocated.
        let content = unsafe { *word.pointer() };
        if content.tag() == UNBOUND {
            break;
        }
        word = content;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_come_back(value in INT_MIN..=INT_MAX) {
            let word = Word::integer(value).expect("fits");
            prop_assert!(word.is_integer());
            prop_assert_eq!(word.value(), value);
        }

        #[test]
        fn headers_come_back(name in any::<u32>(), arity in 0usize..0x100_0000) {
            let header = Word::structure(name, arity);
            prop_assert_eq!((Kind::of(header), header.name(), header.arity()), (Kind::Structure, name, arity));
        }
    }

    #[test]
    fn the_range_of_integers_ends_at_61_bits() {
        assert_eq!(Word::integer(INT_MAX + 1), None);
        assert_eq!(Word::integer(INT_MIN - 1), None);
    }
}
