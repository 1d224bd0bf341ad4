//! Values as text, and terms of the program as values.

use super::Engine;
use super::array::{Cells, elements};
use super::instruction::{Boxed, Role};
use super::unify::{float_value, string_bytes};
use crate::heap::word::{ATOM, INT, LIST, REF, dereference};
use crate::heap::{Kind, Word};
use crate::ir::{AtomId, PredicateId, quote_atom, quote_string, write_float};

/// Text of a value in messages ends after so many characters.
const MESSAGE_LENGTH: usize = 2000;

impl Engine {
    /// A value as text. `quoted`: atoms and strings so that they could be read again.
    pub fn text(&self, value: Word, quoted: bool) -> String {
        let mut text = String::new();
        self.append_text(&mut text, value, quoted, MESSAGE_LENGTH);
        text
    }

    /// A value as text of any length.
    pub fn whole_text(&self, value: Word, quoted: bool) -> String {
        let mut text = String::new();
        self.append_text(&mut text, value, quoted, usize::MAX);
        text
    }

    /// A goal as text.
    pub(crate) fn goal_text(&self, predicate: u32, arguments: &[Word]) -> String {
        let name = match self.code.predicates[predicate as usize].role {
            Role::Program => {
                let entry = self.program.predicate(PredicateId(predicate));
                quote_atom(self.program.atoms.name(entry.name))
            }
            Role::Builtin(builtin) => quote_atom(builtin.name()),
            Role::Unary(_, operation) => quote_atom(operation.name()),
            Role::Binary(_, operation) => quote_atom(operation.name()),
            Role::Start => "goal with a pragma".to_string(),
            Role::Metacall => "call".to_string(),
        };
        if arguments.is_empty() {
            return name;
        }
        let arguments: Vec<String> = arguments.iter().map(|argument| self.text(*argument, true)).collect();
        format!("{name}({})", arguments.join(", "))
    }

    /// A name for an unbound variable: its place in the heap.
    pub(crate) fn variable_name(&self, variable: Word) -> String {
        let place = variable.pointer() as usize;
        let start = self.heap.start() as usize;
        format!("_{}", place.wrapping_sub(start) / 8)
    }

    fn append_text(&self, text: &mut String, value: Word, quoted: bool, most: usize) {
        enum Piece {
            Value(Word),
            Text(&'static str),
            /// What follows the elements of a list so far.
            Rest(Word),
        }
        let atom = |number: u32| {
            let atoms = self.atoms();
            let name = atoms.name(AtomId(number));
            if quoted { quote_atom(name) } else { name.to_string() }
        };
        let mut pieces = vec![Piece::Value(value)];
        // SAFETY: a value of this heap.
        unsafe {
            while let Some(piece) = pieces.pop() {
                if text.len() > most {
                    text.push_str(" ...");
                    return;
                }
                let value = match piece {
                    Piece::Text(piece) => {
                        text.push_str(piece);
                        continue;
                    }
                    Piece::Rest(rest) => {
                        let rest = dereference(rest);
                        if rest.tag() == LIST {
                            text.push(',');
                            pieces.push(Piece::Rest(Word::reference(rest.pointer().add(1))));
                            pieces.push(Piece::Value(Word::reference(rest.pointer())));
                        } else if rest == Word::NIL {
                            text.push(']');
                        } else {
                            text.push('|');
                            pieces.push(Piece::Text("]"));
                            pieces.push(Piece::Value(rest));
                        }
                        continue;
                    }
                    Piece::Value(value) => dereference(value),
                };
                match value.tag() {
                    REF => text.push_str(&self.variable_name(value)),
                    INT => text.push_str(&value.value().to_string()),
                    ATOM => text.push_str(&atom(value.atom_number())),
                    LIST => {
                        text.push('[');
                        pieces.push(Piece::Rest(Word::reference(value.pointer().add(1))));
                        pieces.push(Piece::Value(Word::reference(value.pointer())));
                    }
                    _ => {
                        let header = value.pointer();
                        match Kind::of(*header) {
                            Kind::Float => text.push_str(&write_float(float_value(header))),
                            Kind::String => {
                                let bytes = string_bytes(header);
                                if quoted {
                                    text.push_str(&quote_string(bytes));
                                } else {
                                    text.push_str(&String::from_utf8_lossy(bytes));
                                }
                            }
                            Kind::Predicate => {
                                let id = PredicateId((*header).payload() as u32);
                                text.push_str("predicate#(");
                                text.push_str(&self.program.indicator(id));
                                text.push(')');
                            }
                            kind => {
                                let vector = kind != Kind::Structure;
                                let cells = if vector {
                                    elements(header)
                                } else {
                                    Cells::new(header.add(1), (*header).arity())
                                };
                                if vector {
                                    text.push('{');
                                } else {
                                    text.push_str(&atom((*header).name()));
                                    text.push('(');
                                }
                                pieces.push(Piece::Text(if vector { "}" } else { ")" }));
                                for index in (0..cells.len()).rev() {
                                    pieces.push(Piece::Value(cells.get(index)));
                                    if index > 0 {
                                        pieces.push(Piece::Text(","));
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Builds a constant of more than one word.
    pub(crate) fn load_boxed(&mut self, constant: u32) -> Word {
        let code = self.shared_code();
        match &code.boxes[constant as usize] {
            Boxed::Float(value) => self.new_float(*value),
            Boxed::String(bytes) => self.new_string(bytes),
            Boxed::Predicate(predicate) => {
                let object = self.allocate(1);
                // SAFETY: just allocated.
                unsafe { *object = Word::header(Kind::Predicate, u64::from(*predicate)) };
                Word::object(object)
            }
        }
    }

    /// Whether a bound value equals a constant of more than one word.
    ///
    /// # Safety
    /// `value` is a bound value of this heap.
    pub(crate) unsafe fn equals_boxed(&self, value: Word, constant: u32) -> bool {
        if value.tag() != crate::heap::word::OBJECT {
            return false;
        }
        let header = value.pointer();
        // SAFETY: the value is a bound object of this heap (this function's condition and the check above), so that its
        // pointer is that of a header, whose kind says what follows.
        unsafe {
            match (&self.code.boxes[constant as usize], Kind::of(*header)) {
                (Boxed::Float(wanted), Kind::Float) => *wanted == float_value(header),
                (Boxed::String(wanted), Kind::String) => **wanted == *string_bytes(header),
                (Boxed::Predicate(wanted), Kind::Predicate) => u64::from(*wanted) == (*header).payload(),
                _ => false,
            }
        }
    }

    /// A float. There must be room for two words.
    pub fn new_float(&mut self, value: f64) -> Word {
        let object = self.allocate(2);
        // SAFETY: just allocated.
        unsafe {
            *object = Word::header(Kind::Float, 0);
            *object.add(1) = Word(value.to_bits());
        }
        Word::object(object)
    }

    /// A string. There must be room for it.
    pub fn new_string(&mut self, bytes: &[u8]) -> Word {
        let words = bytes.len().div_ceil(8);
        let object = self.allocate(1 + words);
        // SAFETY: just allocated; the last word is cleared first, for it may be filled in part.
        unsafe {
            *object = Word::header(Kind::String, bytes.len() as u64);
            if words > 0 {
                *object.add(words) = Word(0);
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), object.add(1).cast(), bytes.len());
        }
        Word::object(object)
    }
}
