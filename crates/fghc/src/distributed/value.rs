//! Values into packets and out of them.
//!
//! A value is copied as far as it is there, up to a limit; what is beyond becomes a reference, as does every variable.
//! Both directions go through values by a loop: a list may be long and a structure deep.

mod reading;
mod shape;

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::message::{Malformed, Reader, Write, word_of};
use super::tables::{Export, Exports, Imports, WEIGHT, divide};
use crate::engine::{Cycles, Engine, Loaded, has_cells};
use crate::heap::word::{ATOM, INT, LIST, OBJECT, REF, dereference};
use crate::heap::{Kind, Word};
use crate::ir::AtomId;
use shape::{Met, Revisit, Shape};

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
    /// To an unbound variable of the PE that writes it.
    pub const REFERENCE: u8 = 9;
    /// To a bound value, or to something of a third PE: what it becomes may lead back to the same reference.
    pub const REFERENCE_TO_REMEMBER: u8 = 10;
    /// Before a list, structure or vector that its own parts come back to; these count from 0.
    pub const MARK: u8 = 11;
    /// What was marked with this number.
    pub const MARKED: u8 = 12;
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

/// Values exported, by their words: their index in the table of exports. Of variables those since the last collection.
#[derive(Default)]
pub(super) struct Exported {
    indices: FxHashMap<u64, usize>,
    /// Whether bound values that were exported before the last collection are among them.
    has_values: bool,
    /// How many entries of the table were bound when they were made.
    values: usize,
}

impl Exported {
    /// Words mean something else after a collection.
    pub fn clear(&mut self) {
        self.indices.clear();
        self.has_values = false;
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.indices.capacity() * 2 * size_of::<(u64, usize)>()
    }

    /// An entry is gone: the table stays as small as what others refer to.
    pub fn forget(&mut self, index: usize, gone: &Export) {
        self.values -= usize::from(gone.is_value);
        if let Entry::Occupied(entry) = self.indices.entry(gone.key)
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
    pub unread: &'a mut CellPointers,
    /// Counts what is written and read.
    pub parts: &'a mut Parts,
    /// The goal with a pragma that is being thrown, if one is.
    pub site: Option<u32>,
}

/// Places in the heap.
#[derive(Default)]
pub(super) struct CellPointers(Vec<*mut Word>);

// SAFETY: the list is empty but while a value is read, which happens on the one thread that has the engine.
unsafe impl Send for CellPointers {}

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
    for_each_reference(reader, |_, _, _| ())
}

/// Passes over a value and its references: PE, index and weight.
fn for_each_reference(reader: &mut Reader<'_>, mut visit: impl FnMut(usize, usize, u64)) -> Result<(), Malformed> {
    let mut left = 1usize;
    while left > 0 {
        left -= 1;
        match reader.byte()? {
            tag::INTEGER | tag::ATOM | tag::PREDICATE | tag::MARKED => drop(reader.number()?),
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
            tag::REFERENCE | tag::REFERENCE_TO_REMEMBER => visit(reader.index()?, reader.index()?, reader.number()?),
            // What is marked follows.
            tag::MARK => left += 1,
            _ => return Err(Malformed("an unknown kind of value")),
        }
    }
    Ok(())
}

impl Exchange<'_> {
    /// Appends a value to a packet. One that comes back to itself is written as it is, not as the tree that it stands for.
    pub fn write(&mut self, packet: &mut Vec<u8>, value: Word) {
        let (begin, before) = (packet.len(), *self.parts);
        if self.write_as(packet, value, &mut Shape::Tree(Revisit::default())) {
            return;
        }
        // A part came twice: it is shared, or the value is cyclic.
        self.take_references_back(&packet[begin..]);
        packet.truncate(begin);
        *self.parts = before;
        let parts = match self.engine.cycles(value, self.limits.parts.saturating_mul(2), &mut |_| true) {
            Cycles::Back(parts) => parts.into_iter().map(|part| (part.0, None)).collect(),
            Cycles::None | Cycles::Unknown => FxHashMap::default(),
        };
        self.write_as(packet, value, &mut Shape::Graph(parts, 0));
    }

    /// Appends a value to a packet. False, with a part of it written, where a part of a supposed tree came twice.
    fn write_as(&mut self, packet: &mut Vec<u8>, value: Word, shape: &mut Shape) -> bool {
        let mut left = self.limits.parts;
        let mut rest = std::mem::take(self.unwritten);
        rest.push((value, 0));
        let mut is_written = true;
        while let Some((value, level)) = rest.pop() {
            self.parts.words_out += 1;
            // SAFETY: a value of the engine's heap, which is not collected meanwhile.
            unsafe {
                let value = dereference(value);
                let is_first = left == self.limits.parts;
                let copied = level < self.limits.levels && left > 0 && (is_first || !self.is_exported(value));
                left = left.saturating_sub(1);
                match value.tag() {
                    INT => packet.byte_and_signed(tag::INTEGER, value.value()),
                    ATOM => self.write_atom(packet, value.atom_number()),
                    REF => self.write_variable(packet, value),
                    _ => match shape.meet(value, copied) {
                        Met::Twice => {
                            is_written = false;
                            break;
                        }
                        Met::Marked(number) => {
                            packet.byte(tag::MARKED);
                            packet.number(number);
                        }
                        met => {
                            if met == Met::ToMark {
                                packet.byte(tag::MARK);
                            }
                            self.write_cells(packet, value, level, copied, &mut rest);
                        }
                    },
                }
            }
        }
        rest.clear();
        *self.unwritten = rest;
        is_written
    }

    /// What was written is not sent: its references have their weight back.
    fn take_references_back(&mut self, written: &[u8]) {
        let (me, mut own) = (self.me, Vec::new());
        let imports = &mut *self.imports;
        let read = for_each_reference(&mut Reader::new(written), |pe, index, weight| {
            if pe == me {
                own.push((index, weight));
            } else if let Some(import) = imports.find(pe, index).and_then(|number| imports.get(number)) {
                import.weight += weight;
            }
        });
        // What was written ends in the middle of the value.
        debug_assert!(read.is_err());
        for (index, weight) in own {
            self.take_back(index, weight);
        }
    }

    fn take_back(&mut self, index: usize, weight: u64) {
        if let Some(gone) = self.exports.take_back(index, weight) {
            self.exported.forget(index, &gone);
            self.engine.release(gone.root);
        }
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

    /// Appends the beginning of a list or object; what follows goes to `rest`.
    ///
    /// # Safety
    /// `value` is a list or object of the engine's heap.
    unsafe fn write_cells(
        &mut self,
        packet: &mut Vec<u8>,
        value: Word,
        level: usize,
        copied: bool,
        rest: &mut Vec<(Word, usize)>,
    ) {
        // SAFETY: a list has two cells, and what is no list is an object (this function's condition).
        unsafe {
            match value.tag() {
                LIST if copied => {
                    packet.byte(tag::LIST);
                    let cells = value.pointer();
                    rest.push((Word::reference(cells.add(1)), level));
                    rest.push((Word::reference(cells), level + 1));
                }
                LIST => self.write_export(packet, value),
                _ => self.write_object(packet, value, level, copied, rest),
            }
        }
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
            let object = value.pointer();
            let header = *object;
            let elements = match Kind::of(header) {
                Kind::Float => {
                    packet.byte(tag::FLOAT);
                    return packet.extend_from_slice(&(*object.add(1)).0.to_le_bytes());
                }
                Kind::Predicate => {
                    packet.byte(tag::PREDICATE);
                    return packet.number(header.payload());
                }
                Kind::String => {
                    packet.byte(tag::STRING);
                    return Write::bytes(packet, crate::engine::unify::string_bytes(object));
                }
                _ if !copied => return self.write_export(packet, value),
                Kind::Structure => {
                    packet.byte(tag::STRUCTURE);
                    self.write_atom(packet, header.name());
                    header.arity()
                }
                _ => {
                    packet.byte(tag::VECTOR);
                    let cells = crate::engine::array::elements(object);
                    packet.number(cells.len() as u64);
                    rest.extend((0..cells.len()).rev().map(|index| (cells.get(index), level + 1)));
                    return;
                }
            };
            packet.number(elements as u64);
            rest.extend((1..=elements).rev().map(|index| (Word::reference(object.add(index)), level + 1)));
        }
    }

    fn write_reference(&mut self, packet: &mut Vec<u8>, tag: u8, pe: usize, index: usize, weight: u64) {
        self.parts.references_out += 1;
        packet.byte(tag);
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
            return self.write_reference(packet, tag::REFERENCE_TO_REMEMBER, pe, index, weight);
        }
        // One that lives elsewhere but has no weight left to divide is passed on as one of this PE's own.
        self.write_export(packet, variable);
    }

    /// A reference to a value or variable of this PE.
    fn write_export(&mut self, packet: &mut Vec<u8>, value: Word) {
        let tag = if value.is_variable() {
            tag::REFERENCE
        } else {
            self.find_values_again();
            tag::REFERENCE_TO_REMEMBER
        };
        let index = match self.export_of(value) {
            // One that is exported has the weight of one more reference.
            Some((index, entry)) => {
                entry.weight += WEIGHT;
                index
            }
            None => {
                let index = self.exports.add(self.engine.hold(value), value, self.site);
                self.exported.values += usize::from(!value.is_variable());
                self.exported.indices.insert(value.0, index);
                index
            }
        };
        self.write_reference(packet, tag, self.me, index, WEIGHT);
    }

    /// The entry of a value that is exported, as far as that is known.
    fn export_of(&mut self, value: Word) -> Option<(usize, &mut Export)> {
        let index = *self.exported.indices.get(&value.0)?;
        let entry = self.exports.get(index)?;
        // The entry may have become another value's since.
        // SAFETY: values that are held are of the engine's heap: a collection moves what is held.
        let is_same = unsafe { dereference(self.engine.held(entry.root)) } == value;
        is_same.then_some((index, entry))
    }

    /// Whether others refer to a part of a value already, which then is not copied to them once more: however often a cycle
    /// is cut by the limits on copies, it is cut at the same places.
    fn is_exported(&mut self, value: Word) -> bool {
        if self.exported.values == 0 || !has_cells(value) {
            return false;
        }
        self.find_values_again();
        self.export_of(value).is_some()
    }

    /// Bound values keep their index as long as anyone refers to them, whatever is collected: others find out by it that a
    /// value comes back to itself.
    fn find_values_again(&mut self) {
        if std::mem::replace(&mut self.exported.has_values, true) {
            return;
        }
        for (index, entry) in self.exports.iter_mut() {
            // SAFETY: values that are held are of the engine's heap: a collection moves what is held.
            let value = unsafe { dereference(self.engine.held(entry.root)) };
            if !value.is_variable() {
                entry.key = value.0;
                self.exported.indices.insert(value.0, index);
            }
        }
    }
}

/// Words of the heap that a packet of this length can fill.
pub(super) fn max_words(bytes: usize) -> usize {
    // Two bytes can be a list cell of two words whose parts are one byte each; a reference of four bytes takes three.
    64 + 4 * bytes
}
