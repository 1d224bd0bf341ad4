//! Values out of packets.

use super::{Exchange, tag};
use crate::distributed::message::{Malformed, Reader};
use crate::engine::Engine;
use crate::heap::word::UNBOUND;
use crate::heap::{Kind, Word};

impl Exchange<'_> {
    /// Reads a value into the heap, which has room: see [`max_words`].
    pub fn read(&mut self, reader: &mut Reader<'_>) -> Result<Word, Malformed> {
        let mut value = Word::NIL;
        let mut marked = Vec::new();
        let mut rest = std::mem::take(&mut self.unread.0);
        rest.push(&raw mut value);
        while let Some(cell) = rest.pop() {
            self.parts.words_in += 1;
            let read = self.read_part(reader, &mut rest, &mut marked);
            // SAFETY: a cell in the heap that was allocated below, or the variable above.
            unsafe {
                match read {
                    Ok(word) => *cell = word,
                    Err(error) => {
                        // What was allocated must hold values when the heap is next collected.
                        *cell = Word::NIL;
                        rest.into_iter().for_each(|cell| *cell = Word::NIL);
                        return Err(error);
                    }
                }
            }
        }
        self.unread.0 = rest;
        Ok(value)
    }

    /// Reads the beginning of a value, and notes where its parts go; `marked` are those that later ones may be.
    fn read_part(
        &mut self,
        reader: &mut Reader<'_>,
        rest: &mut Vec<*mut Word>,
        marked: &mut Vec<Word>,
    ) -> Result<Word, Malformed> {
        Ok(match reader.byte()? {
            tag::MARK => {
                let Some(&(tag::LIST | tag::STRUCTURE | tag::VECTOR)) = reader.rest().first() else {
                    return Err(Malformed("a mark before what has no parts"));
                };
                let value = self.read_part(reader, rest, marked)?;
                marked.push(value);
                value
            }
            tag::MARKED => *marked.get(reader.index()?).ok_or(Malformed("a part that was not marked"))?,
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
                    let cell = allocate(self.engine, 2);
                    *cell = Word::header(Kind::Float, 0);
                    *cell.add(1) = Word(u64::from_le_bytes(bytes));
                    Word::object(cell)
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
                    let cell = allocate(self.engine, 1);
                    *cell = Word::header(Kind::Predicate, number);
                    Word::object(cell)
                }
            }
            kind @ (tag::REFERENCE | tag::REFERENCE_TO_REMEMBER) => {
                let (pe, index, weight) = (reader.index()?, reader.index()?, reader.number()?);
                return self.reference(pe, index, weight, kind == tag::REFERENCE_TO_REMEMBER);
            }
            _ => return Err(Malformed("an unknown kind of value")),
        })
    }

    /// The number of elements of an object: each takes at least a byte, and so does each of the `open` cells that were begun
    /// before, so that a packet never fills more words than [`max_words`] says, whatever it holds.
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
            let cell = allocate(self.engine, 1 + elements);
            *cell = header;
            rest.extend((1..=elements).rev().map(|index| cell.add(index)));
            Word::object(cell)
        }
    }

    fn string(&mut self, bytes: &[u8]) -> Word {
        let words = bytes.len().div_ceil(8);
        // SAFETY: there is room; the last word is zero beyond the string's end.
        unsafe {
            let cell = allocate(self.engine, 1 + words);
            *cell = Word::header(Kind::String, bytes.len() as u64);
            if words > 0 {
                *cell.add(words) = Word(0);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), cell.add(1).cast(), bytes.len());
            }
            Word::object(cell)
        }
    }

    fn reference(&mut self, pe: usize, index: usize, weight: u64, remember: bool) -> Result<Word, Malformed> {
        self.parts.references_in += 1;
        if pe == self.me {
            let entry = self.exports.get(index).ok_or(Malformed("a reference to nothing"))?;
            let value = self.engine.held(entry.root);
            self.take_back(index, weight);
            return Ok(value);
        }
        if pe >= self.pes {
            return Err(Malformed("a reference to an unknown PE"));
        }
        if let Some(number) = self.imports.find(pe, index)
            && let Some(value) = self.engine.external_value(number)
            && let Some(import) = self.imports.get(number)
        {
            import.weight += weight;
            import.remember |= remember;
            return Ok(value);
        }
        let number = self.imports.add(pe, index, weight);
        if let Some(import) = self.imports.get(number) {
            import.remember = remember;
        }
        Ok(self.engine.external(number))
    }
}

/// # Safety
/// There is room for these words.
unsafe fn allocate(engine: &mut Engine, words: usize) -> *mut Word {
    let cell = engine.registers.free;
    // SAFETY: there is room for these words (this function's condition), so that they lie within the space behind what
    // was allocated before.
    unsafe {
        engine.registers.free = cell.add(words);
        // Whatever happens before they are filled, they hold no values of another time.
        for index in 0..words {
            *cell.add(index) = Word(UNBOUND);
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::pe::Pe;
    use crate::distributed::value::{CopyLimits, max_words};
    use crate::engine::{Loaded, Options};
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
        let capacity = max_words(bytes.len());
        let mut exchange = pe.exchange();
        assert!(exchange.engine.reserve_words(capacity));
        let before = exchange.engine.words_in_use();
        let is_value = exchange.read(&mut Reader::new(bytes)).is_ok();
        (exchange.engine.words_in_use() - before, capacity, is_value)
    }

    #[test]
    fn vectors_within_vectors_claim_no_byte_twice() {
        // Each says that it has a hundred elements, which is fewer than the bytes behind it.
        let bytes = [tag::VECTOR, 100].repeat(150);
        let (filled, capacity, is_value) = filled(&bytes);
        assert!(filled <= capacity, "{filled} words in room for {capacity}");
        assert!(!is_value);
    }

    proptest! {
        #[test]
        fn a_packet_of_any_bytes_fills_no_more_than_its_length_allows(bytes in prop::collection::vec(0u8..120, 0..400)) {
            let (filled, capacity, _) = filled(&bytes);
            prop_assert!(filled <= capacity, "{} words in room for {}", filled, capacity);
        }

        #[test]
        fn a_packet_of_tags_fills_no_more_than_its_length_allows(
            tags in prop::collection::vec((0u8..14, 0u8..127), 0..200),
        ) {
            let bytes: Vec<u8> = tags.into_iter().flat_map(|(tag, number)| [tag, number]).collect();
            let (filled, capacity, _) = filled(&bytes);
            prop_assert!(filled <= capacity, "{} words in room for {}", filled, capacity);
        }
    }
}
