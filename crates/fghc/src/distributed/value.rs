//! Values into packets and out of them.
//!
//! A value is copied as far as it is there, up to a limit; what is beyond becomes a reference, as does every variable.
//! Both directions go through values by a loop: a list may be long and a structure deep.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::message::{Malformed, Reader, Write, word_of};
use super::tables::{Export, Exports, Imports, WEIGHT, divide};
use crate::engine::{Engine, Loaded};
use crate::heap::word::{ATOM, INT, LIST, OBJECT, REF, UNBOUND, dereference};
use crate::heap::{Kind, Word};
use crate::ir::AtomId;

/// What a value begins with.
mod tag {
    pub const INTEGER: u8 = 0;
    /// By its number, the same on every PE.
    pub const ATOM: u8 = 1;
    /// By its name: made while the program ran.
    pub const NEW_ATOM: u8 = 2;
    pub const LIST: u8 = 3;
    pub const STRUCTURE: u8 = 4;
    pub const VECTOR: u8 = 5;
    pub const STRING: u8 = 6;
    pub const FLOAT: u8 = 7;
    pub const PREDICATE: u8 = 8;
    pub const REFERENCE: u8 = 9;
}

/// How much of a value is copied into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyLimits {
    /// How deep: 1 copies the outermost list cells or structure only, and refers to what is in them. A list counts as
    /// one level however long it is.
    pub levels: usize,
    /// How many parts in one value.
    pub parts: usize,
}

impl Default for CopyLimits {
    fn default() -> Self {
        CopyLimits { levels: usize::MAX, parts: 2000 }
    }
}

/// Values exported since the last collection, by their words: their index in the table of exports.
#[derive(Default)]
pub(super) struct Exported(FxHashMap<u64, usize>);

impl Exported {
    /// Words mean something else after a collection.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.0.capacity() * 2 * size_of::<(u64, usize)>()
    }

    /// An entry is gone: the table stays as small as what others refer to.
    pub fn forget(&mut self, index: usize, gone: &Export) {
        if let Entry::Occupied(entry) = self.0.entry(gone.key)
            && *entry.get() == index
        {
            entry.remove();
        }
    }
}

/// What values are written and read with.
pub(super) struct Exchange<'a> {
    pub engine: &'a mut Engine,
    pub loaded: &'a Loaded,
    pub exports: &'a mut Exports,
    pub imports: &'a mut Imports,
    pub me: usize,
    pub pes: usize,
    pub limits: CopyLimits,
    /// Cells exported since the last collection: their index in the table of exports.
    pub exported: &'a mut Exported,
    /// Empty but for its memory: values still to be written.
    pub unwritten: &'a mut Vec<(Word, usize)>,
    /// Empty but for its memory: places of values still to be read.
    pub unread: &'a mut Places,
    /// Counts what is written and read.
    pub parts: &'a mut Parts,
    /// The goal with a pragma that is being thrown, if one is.
    pub site: Option<u32>,
}

/// Places in the heap.
#[derive(Default)]
pub(super) struct Places(Vec<*mut Word>);

// SAFETY: the list is empty but while a value is read, which happens on the one thread that has the engine.
unsafe impl Send for Places {}

/// Parts of the values in messages: what is composed, decomposed and translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Constants, cells and references written.
    pub words_out: u64,
    /// References written.
    pub references_out: u64,
    /// Constants, cells and references read.
    pub words_in: u64,
    /// References read.
    pub references_in: u64,
}

/// An integer as it travels: in a word, of which so many bytes count. `None` for a larger one and for any other value.
#[inline(always)]
pub(super) fn small_integer(value: Word) -> Option<(u64, usize)> {
    // SAFETY: values outside the engine (in messages to be, and those that are held) are of its heap: a collection
    // moves what is held.
    let value = unsafe { dereference(value) };
    if value.is_integer() { word_of(tag::INTEGER, value.value()) } else { None }
}

/// Appends an integer or an atom of the program to a packet; false for any other value.
#[inline(always)]
pub(super) fn write_atomic(loaded: &Loaded, packet: &mut Vec<u8>, value: Word) -> bool {
    // SAFETY: values outside the engine (in messages to be, and those that are held) are of its heap: a collection
    // moves what is held.
    let value = unsafe { dereference(value) };
    match value.tag() {
        INT => {
            packet.byte_and_signed(tag::INTEGER, value.value());
            true
        }
        ATOM if (value.atom_number() as usize) < loaded.program.atoms.len() => {
            packet.byte(tag::ATOM);
            packet.number(u64::from(value.atom_number()));
            true
        }
        _ => false,
    }
}

/// Reads an integer; `None`, and nothing read, where another value comes.
#[inline(always)]
pub(super) fn read_integer(reader: &mut Reader<'_>) -> Option<Result<Word, Malformed>> {
    let number = reader.signed_after(tag::INTEGER)?;
    Some(number.and_then(|number| Word::integer(number).ok_or(Malformed("an integer is too large"))))
}

/// Passes over a value.
pub(super) fn skip(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    let mut left = 1usize;
    while left > 0 {
        left -= 1;
        match reader.byte()? {
            tag::INTEGER | tag::ATOM | tag::PREDICATE => drop(reader.number()?),
            tag::NEW_ATOM | tag::STRING => drop(reader.bytes()?),
            tag::LIST => left += 2,
            tag::STRUCTURE => {
                match reader.byte()? {
                    tag::ATOM => drop(reader.number()?),
                    tag::NEW_ATOM => drop(reader.bytes()?),
                    _ => return Err(Malformed("a structure without a name")),
                }
                left = left.saturating_add(reader.index()?);
            }
            tag::VECTOR => left = left.saturating_add(reader.index()?),
            tag::FLOAT => (0..8).try_for_each(|_| reader.byte().map(drop))?,
            tag::REFERENCE => (0..3).try_for_each(|_| reader.number().map(drop))?,
            _ => return Err(Malformed("an unknown kind of value")),
        }
    }
    Ok(())
}

impl Exchange<'_> {
    /// Appends a value to a packet.
    pub fn write(&mut self, packet: &mut Vec<u8>, value: Word) {
        let mut left = self.limits.parts;
        let mut rest = std::mem::take(self.unwritten);
        rest.push((value, 0));
        while let Some((value, level)) = rest.pop() {
            self.parts.words_out += 1;
            // SAFETY: a value of the engine's heap, which is not collected meanwhile.
            unsafe {
                let value = dereference(value);
                let copied = level < self.limits.levels && left > 0;
                left = left.saturating_sub(1);
                match value.tag() {
                    INT => {
                        packet.byte_and_signed(tag::INTEGER, value.value());
                    }
                    ATOM => self.write_atom(packet, value.atom_number()),
                    REF => self.write_variable(packet, value),
                    LIST if copied => {
                        packet.byte(tag::LIST);
                        let cells = value.pointer();
                        rest.push((Word::reference(cells.add(1)), level));
                        rest.push((Word::reference(cells), level + 1));
                    }
                    LIST => self.write_export(packet, value),
                    _ => self.write_object(packet, value, level, copied, &mut rest),
                }
            }
        }
        *self.unwritten = rest;
    }

    fn write_atom(&mut self, packet: &mut Vec<u8>, number: u32) {
        if (number as usize) < self.loaded.program.atoms.len() {
            packet.byte(tag::ATOM);
            packet.number(u64::from(number));
            return;
        }
        let atoms = self.loaded.atoms.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        packet.byte(tag::NEW_ATOM);
        Write::bytes(packet, atoms.name(AtomId(number)).as_bytes());
    }

    /// # Safety
    /// `value` is an object of the engine's heap.
    unsafe fn write_object(
        &mut self,
        packet: &mut Vec<u8>,
        value: Word,
        level: usize,
        copied: bool,
        rest: &mut Vec<(Word, usize)>,
    ) {
        // SAFETY: `value` is an object of the engine's heap (this function's condition): its pointer is that of a
        // header, which says how many words follow, and nothing is collected while a packet is written.
        unsafe {
            debug_assert_eq!(value.tag(), OBJECT);
            let place = value.pointer();
            let header = *place;
            let elements = match Kind::of(header) {
                Kind::Float => {
                    packet.byte(tag::FLOAT);
                    return packet.extend_from_slice(&(*place.add(1)).0.to_le_bytes());
                }
                Kind::Predicate => {
                    packet.byte(tag::PREDICATE);
                    return packet.number(header.payload());
                }
                Kind::String => {
                    packet.byte(tag::STRING);
                    return Write::bytes(packet, crate::engine::unify::string_bytes(place));
                }
                _ if !copied => return self.write_export(packet, value),
                Kind::Structure => {
                    packet.byte(tag::STRUCTURE);
                    self.write_atom(packet, header.name());
                    header.arity()
                }
                _ => {
                    packet.byte(tag::VECTOR);
                    let cells = crate::engine::array::elements(place);
                    packet.number(cells.len() as u64);
                    rest.extend((0..cells.len()).rev().map(|index| (cells.get(index), level + 1)));
                    return;
                }
            };
            packet.number(elements as u64);
            rest.extend((1..=elements).rev().map(|index| (Word::reference(place.add(index)), level + 1)));
        }
    }

    fn write_reference(&mut self, packet: &mut Vec<u8>, pe: usize, index: usize, weight: u64) {
        self.parts.references_out += 1;
        packet.byte(tag::REFERENCE);
        packet.number(pe as u64);
        packet.number(index as u64);
        packet.number(weight);
    }

    fn write_variable(&mut self, packet: &mut Vec<u8>, variable: Word) {
        if let Some(number) = self.engine.external_number(variable)
            && let Some(import) = self.imports.get(number)
            && let Some(weight) = divide(&mut import.weight)
        {
            let (pe, index) = (import.pe, import.index);
            return self.write_reference(packet, pe, index, weight);
        }
        // One that lives elsewhere but has no weight left to divide is passed on as one of this PE's own.
        self.write_export(packet, variable);
    }

    /// A reference to a value or variable of this PE.
    fn write_export(&mut self, packet: &mut Vec<u8>, value: Word) {
        let index = match self.exported.0.entry(value.0) {
            Entry::Occupied(mut known) => {
                let index = *known.get();
                match self.exports.get(index) {
                    // One that was exported since the last collection has the weight of one more reference.
                    // SAFETY: values outside the engine (in messages to be, and those that are held) are of its heap: a
                    // collection moves what is held.
                    Some(entry) if unsafe { dereference(self.engine.held(entry.root)) } == value => {
                        entry.weight += WEIGHT;
                        index
                    }
                    // The entry has become another value's since.
                    _ => {
                        let index = self.exports.add(self.engine.hold(value), value.0, self.site);
                        known.insert(index);
                        index
                    }
                }
            }
            Entry::Vacant(new) => *new.insert(self.exports.add(self.engine.hold(value), value.0, self.site)),
        };
        self.write_reference(packet, self.me, index, WEIGHT);
    }

    /// Reads a value into the heap, which has room: see [`room_for`].
    pub fn read(&mut self, reader: &mut Reader<'_>) -> Result<Word, Malformed> {
        let mut value = Word::NIL;
        let mut rest = std::mem::take(&mut self.unread.0);
        rest.push(&raw mut value);
        while let Some(place) = rest.pop() {
            self.parts.words_in += 1;
            let read = self.read_part(reader, &mut rest);
            // SAFETY: a place in the heap that was allocated below, or the variable above.
            unsafe {
                match read {
                    Ok(word) => *place = word,
                    Err(error) => {
                        // What was allocated must hold values when the heap is next collected.
                        *place = Word::NIL;
                        rest.into_iter().for_each(|place| *place = Word::NIL);
                        return Err(error);
                    }
                }
            }
        }
        self.unread.0 = rest;
        Ok(value)
    }

    fn read_part(&mut self, reader: &mut Reader<'_>, rest: &mut Vec<*mut Word>) -> Result<Word, Malformed> {
        Ok(match reader.byte()? {
            tag::INTEGER => Word::integer(reader.signed()?).ok_or(Malformed("an integer is too large"))?,
            tag::ATOM => {
                let number = reader.small()?;
                if number as usize >= self.loaded.program.atoms.len() {
                    return Err(Malformed("an unknown atom"));
                }
                Word::atom(number)
            }
            tag::NEW_ATOM => self.new_atom(&reader.text()?),
            // SAFETY: there is room for what a packet of this length can hold.
            tag::LIST => unsafe {
                let cells = allocate(self.engine, 2);
                rest.push(cells.add(1));
                rest.push(cells);
                Word::list(cells)
            },
            tag::STRUCTURE => {
                let name = match reader.byte()? {
                    tag::ATOM => reader.small()?,
                    tag::NEW_ATOM => self.new_atom(&reader.text()?).atom_number(),
                    _ => return Err(Malformed("a structure without a name")),
                };
                let arity = self.elements(reader, rest.len())?;
                if arity == 0 {
                    return Err(Malformed("a structure without arguments"));
                }
                self.object(Word::structure(name, arity), arity, rest)
            }
            tag::VECTOR => {
                let elements = self.elements(reader, rest.len())?;
                self.object(Word::header(Kind::Vector, elements as u64), elements, rest)
            }
            tag::STRING => self.string(reader.bytes()?),
            tag::FLOAT => {
                let mut bytes = [0; 8];
                for byte in &mut bytes {
                    *byte = reader.byte()?;
                }
                // SAFETY: `read` is called with room for what a packet of this length can hold, of which a float of
                // nine bytes takes two words.
                unsafe {
                    let place = allocate(self.engine, 2);
                    *place = Word::header(Kind::Float, 0);
                    *place.add(1) = Word(u64::from_le_bytes(bytes));
                    Word::object(place)
                }
            }
            tag::PREDICATE => {
                let number = reader.number()?;
                if number >= self.loaded.program.predicates.len() as u64 {
                    return Err(Malformed("an unknown predicate"));
                }
                // SAFETY: `read` is called with room for what a packet of this length can hold, of which a predicate of
                // two bytes takes one word.
                unsafe {
                    let place = allocate(self.engine, 1);
                    *place = Word::header(Kind::Predicate, number);
                    Word::object(place)
                }
            }
            tag::REFERENCE => {
                let (pe, index, weight) = (reader.index()?, reader.index()?, reader.number()?);
                return self.reference(pe, index, weight);
            }
            _ => return Err(Malformed("an unknown kind of value")),
        })
    }

    /// The number of elements of an object: each takes at least a byte, and so does each of the `open` cells that were begun
    /// before, so that a packet never fills more words than [`room_for`] says, whatever it holds.
    fn elements(&self, reader: &mut Reader<'_>, open: usize) -> Result<usize, Malformed> {
        let elements = reader.index()?;
        if elements.saturating_add(open) > reader.left() {
            return Err(Malformed("an object with more elements than bytes"));
        }
        Ok(elements)
    }

    fn new_atom(&self, name: &str) -> Word {
        let mut atoms = self.loaded.atoms.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        Word::atom(atoms.intern(name).0)
    }

    fn object(&mut self, header: Word, elements: usize, rest: &mut Vec<*mut Word>) -> Word {
        // SAFETY: there is room for what a packet of this length can hold.
        unsafe {
            let place = allocate(self.engine, 1 + elements);
            *place = header;
            rest.extend((1..=elements).rev().map(|index| place.add(index)));
            Word::object(place)
        }
    }

    fn string(&mut self, bytes: &[u8]) -> Word {
        let words = bytes.len().div_ceil(8);
        // SAFETY: there is room; the last word is zero beyond the string's end.
        unsafe {
            let place = allocate(self.engine, 1 + words);
            *place = Word::header(Kind::String, bytes.len() as u64);
            if words > 0 {
                *place.add(words) = Word(0);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.add(1).cast(), bytes.len());
            }
            Word::object(place)
        }
    }

    fn reference(&mut self, pe: usize, index: usize, weight: u64) -> Result<Word, Malformed> {
        self.parts.references_in += 1;
        if pe == self.me {
            let entry = self.exports.get(index).ok_or(Malformed("a reference to nothing"))?;
            let value = self.engine.held(entry.root);
            if let Some(gone) = self.exports.take_back(index, weight) {
                self.exported.forget(index, &gone);
                self.engine.release(gone.root);
            }
            return Ok(value);
        }
        if pe >= self.pes {
            return Err(Malformed("a reference to an unknown PE"));
        }
        if let Some(number) = self.imports.find(pe, index)
            && let Some(variable) = self.engine.external_variable(number)
            && let Some(import) = self.imports.get(number)
        {
            import.weight += weight;
            return Ok(variable);
        }
        let number = self.imports.add(pe, index, weight);
        Ok(self.engine.external(number))
    }
}

/// Words of the heap that a packet of this length can fill.
pub(super) fn room_for(bytes: usize) -> usize {
    // Two bytes can be a list cell of two words whose parts are one byte each; a reference of four bytes takes three.
    64 + 4 * bytes
}

/// # Safety
/// There is room for these words.
unsafe fn allocate(engine: &mut Engine, words: usize) -> *mut Word {
    let place = engine.registers.free;
    // SAFETY: there is room for these words (this function's condition), so that they lie within the space behind what
    // was allocated before.
    unsafe {
        engine.registers.free = place.add(words);
        // Whatever happens before they are filled, they hold no values of another time.
        for index in 0..words {
            *place.add(index) = Word(UNBOUND);
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::super::pe::Pe;
    use super::*;
    use crate::engine::Options;
    use crate::ir::Source;
    use proptest::prelude::*;

    fn pe() -> Pe {
        let source = Source { name: "test.fghc".to_owned(), text: "go.\n".to_owned() };
        let program = crate::check::check(vec![source], Some("go")).program.expect("a program");
        let loaded = Loaded::new(program, false).expect("it compiles");
        Pe::new(&loaded, Options::default(), CopyLimits::default()).expect("there is memory")
    }

    /// Reads a value from these bytes and returns the words that it fills, those that room was made for, and whether it is one.
    fn filled(bytes: &[u8]) -> (usize, usize, bool) {
        let mut pe = pe();
        let room = room_for(bytes.len());
        let mut exchange = pe.exchange();
        assert!(exchange.engine.make_room(room));
        let before = exchange.engine.words_in_use();
        let is_value = exchange.read(&mut Reader::new(bytes)).is_ok();
        (exchange.engine.words_in_use() - before, room, is_value)
    }

    #[test]
    fn vectors_within_vectors_claim_no_byte_twice() {
        // Each says that it has a hundred elements, which is fewer than the bytes behind it.
        let bytes = [tag::VECTOR, 100].repeat(150);
        let (filled, room, is_value) = filled(&bytes);
        assert!(filled <= room, "{filled} words in room for {room}");
        assert!(!is_value);
    }

    proptest! {
        #[test]
        fn a_packet_of_any_bytes_fills_no_more_than_its_length_allows(bytes in prop::collection::vec(0u8..120, 0..400)) {
            let (filled, room, _) = filled(&bytes);
            prop_assert!(filled <= room, "{} words in room for {}", filled, room);
        }

        #[test]
        fn a_packet_of_tags_fills_no_more_than_its_length_allows(
            tags in prop::collection::vec((0u8..10, 0u8..127), 0..200),
        ) {
            let bytes: Vec<u8> = tags.into_iter().flat_map(|(tag, number)| [tag, number]).collect();
            let (filled, room, _) = filled(&bytes);
            prop_assert!(filled <= room, "{} words in room for {}", filled, room);
        }
    }
}
