//! Values as text, and terms of the program as values.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::Engine;
use super::array::{Cells, elements};
use super::cycles::{Cycles, has_cells};
use super::instruction::{Boxed, Role};
use super::report::{Problem, ProblemKind};
use super::unify::{float_value, string_bytes};
use crate::heap::word::{ATOM, INT, LIST, REF, dereference};
use crate::heap::{Kind, Word};
use crate::ir::{AtomId, PredicateId, quote_atom, quote_string, write_float};

/// Text of a value in messages ends after so many characters.
const MESSAGE_LENGTH: usize = 2000;
/// Parts of a value that a message looks at for cycles.
const MESSAGE_STEPS: usize = 50_000;
/// Text after which a value is looked at for cycles: most are shorter.
const PLAIN_LENGTH: usize = 1 << 16;

enum Piece {
    Value(Word),
    Text(&'static str),
    /// What follows the elements of a list so far.
    Rest(Word),
    /// Arguments or elements from this one on.
    Row(Cells, usize),
}

/// How writing ended.
#[derive(PartialEq, Eq)]
enum Written {
    Whole,
    /// The text is as long as it may be.
    Full,
    /// `go_on` said so.
    Stopped,
}

/// Text on its way.
struct Writer<'e, 'g> {
    engine: &'e Engine,
    text: String,
    quoted: bool,
    most: usize,
    /// Parts that the value comes back to: their numbers, once they have been written.
    labels: FxHashMap<u64, Option<usize>>,
    /// Those with a number, in the order of it.
    labelled: Vec<Word>,
    go_on: &'g mut dyn FnMut(usize) -> bool,
}

impl Engine {
    /// A value as text, as far as a reader would follow. `quoted`: atoms and strings so that they could be read again. A cyclic
    /// value is written as by Prolog systems, `@(Value, Equations)`: X = f(X) is `@(_S1,[_S1=f(_S1)])`.
    pub fn text(&self, value: Word, quoted: bool) -> String {
        let mut go_on = |_| true;
        let (mut text, written) = self.write_text(value, quoted, MESSAGE_LENGTH, MESSAGE_STEPS, &mut go_on);
        if written != Written::Whole {
            text.push_str(" ...");
        }
        text
    }

    /// A value as text of any length, cyclic ones as by [`Engine::text`]; `None` with [`Engine::problem`] set where the text
    /// needs more memory than there may be, or on Ctrl-C.
    pub(crate) fn whole_text(&mut self, value: Word, quoted: bool) -> Option<String> {
        let limit = self.heap.limit_bytes();
        let mut problem = None;
        let this = &*self;
        let mut go_on = |bytes: usize| {
            if this.interrupted() {
                problem = Some(ProblemKind::Interrupted);
            } else if bytes > limit {
                problem = Some(ProblemKind::MemoryExhausted { what: "the text of a value", needed: bytes, limit });
            }
            problem.is_none()
        };
        let (text, _) = this.write_text(value, quoted, usize::MAX, usize::MAX, &mut go_on);
        match problem {
            None => {
                self.spend(text.len());
                Some(text)
            }
            Some(kind) => {
                self.problem = Some(Box::new(Problem::new(kind)));
                None
            }
        }
    }

    fn write_text(
        &self,
        value: Word,
        quoted: bool,
        most: usize,
        steps: usize,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> (String, Written) {
        let mut writer = Writer {
            engine: self,
            text: String::new(),
            quoted,
            most: most.min(PLAIN_LENGTH),
            labels: FxHashMap::default(),
            labelled: Vec::new(),
            go_on,
        };
        let written = writer.value(value, true);
        if written != Written::Full {
            return (writer.text, written);
        }
        let cycles = self.cycles(value, steps, writer.go_on);
        if let Cycles::Back(parts) = cycles {
            writer.text.clear();
            writer.most = most;
            writer.labels = parts.into_iter().map(|part| (part.0, None)).collect();
            let written = writer.equations(value);
            return (writer.text, written);
        }
        if most <= PLAIN_LENGTH {
            return (writer.text, written);
        }
        writer.text.clear();
        writer.most = most;
        let written = writer.value(value, true);
        (writer.text, written)
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
        let address = variable.pointer() as usize;
        let start = self.heap.start() as usize;
        format!("_{}", address.wrapping_sub(start) / 8)
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
            Boxed::Literal(literal) => {
                let address = self.allocate(literal.words());
                self.spend(literal.words());
                // SAFETY: just allocated.
                unsafe { literal.copy(address) }
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

impl Writer<'_, '_> {
    /// A value that comes back to some of its parts: what it is made of, and the equations of those parts.
    fn equations(&mut self, value: Word) -> Written {
        self.text.push_str("@(");
        let mut written = self.value(value, false);
        self.text.push_str(",[");
        let mut next = 0;
        while written == Written::Whole
            && let Some(&part) = self.labelled.get(next)
        {
            if next > 0 {
                self.text.push(',');
            }
            next += 1;
            let _ = write!(self.text, "_S{next}=");
            written = self.value(part, true);
        }
        if written == Written::Whole {
            self.text.push_str("])");
        }
        written
    }

    /// Writes the name of a part that the value comes back to; false for any other.
    fn label(&mut self, value: Word) -> bool {
        if self.labels.is_empty() || !has_cells(value) {
            return false;
        }
        let Some(number) = self.labels.get_mut(&value.0) else { return false };
        let number = *number.get_or_insert_with(|| {
            self.labelled.push(value);
            self.labelled.len()
        });
        let _ = write!(self.text, "_S{number}");
        true
    }

    /// Writes a value. `opens`: the value itself, not the name that it may have.
    fn value(&mut self, value: Word, opens: bool) -> Written {
        // SAFETY: a value of the engine's heap.
        let value = unsafe { dereference(value) };
        if !opens && self.label(value) {
            return Written::Whole;
        }
        let mut pieces = Vec::new();
        self.open(value, &mut pieces);
        let mut count = 0usize;
        while let Some(piece) = pieces.pop() {
            if self.text.len() > self.most {
                return Written::Full;
            }
            count += 1;
            if count.is_multiple_of(4096) {
                let bytes = self.text.capacity() + pieces.capacity() * std::mem::size_of::<Piece>();
                if !(self.go_on)(bytes) {
                    return Written::Stopped;
                }
            }
            // SAFETY: values of the engine's heap.
            unsafe {
                match piece {
                    Piece::Text(piece) => self.text.push_str(piece),
                    Piece::Rest(rest) => self.rest(dereference(rest), &mut pieces),
                    Piece::Row(cells, index) => {
                        if index > 0 {
                            self.text.push(',');
                        }
                        let element = cells.get(index);
                        if index + 1 < cells.len() {
                            pieces.push(Piece::Row(cells, index + 1));
                        }
                        pieces.push(Piece::Value(element));
                    }
                    Piece::Value(value) => {
                        let value = dereference(value);
                        if !self.label(value) {
                            self.open(value, &mut pieces);
                        }
                    }
                }
            }
        }
        Written::Whole
    }

    /// # Safety
    /// `rest` is a value of the engine's heap.
    unsafe fn rest(&mut self, rest: Word, pieces: &mut Vec<Piece>) {
        let is_part = self.labels.contains_key(&rest.0);
        if rest.tag() == LIST && !is_part {
            self.text.push(',');
            // SAFETY: the cells of a list.
            pieces.push(Piece::Rest(Word::reference(unsafe { rest.pointer().add(1) })));
            pieces.push(Piece::Value(Word::reference(rest.pointer())));
        } else if rest == Word::NIL {
            self.text.push(']');
        } else {
            self.text.push('|');
            pieces.push(Piece::Text("]"));
            pieces.push(Piece::Value(rest));
        }
    }

    /// The beginning of a value; what follows goes to `pieces`.
    fn open(&mut self, value: Word, pieces: &mut Vec<Piece>) {
        match value.tag() {
            REF => self.text.push_str(&self.engine.variable_name(value)),
            INT => {
                let _ = write!(self.text, "{}", value.value());
            }
            ATOM => self.atom(value.atom_number()),
            LIST => {
                self.text.push('[');
                // SAFETY: the cells of a list.
                pieces.push(Piece::Rest(Word::reference(unsafe { value.pointer().add(1) })));
                pieces.push(Piece::Value(Word::reference(value.pointer())));
            }
            // SAFETY: an object of the engine's heap.
            _ => unsafe { self.object(value.pointer(), pieces) },
        }
    }

    fn atom(&mut self, number: u32) {
        let atoms = self.engine.atoms();
        let name = clipped(atoms.name(AtomId(number)), self.most);
        if self.quoted {
            self.text.push_str(&quote_atom(name));
        } else {
            self.text.push_str(name);
        }
    }

    /// # Safety
    /// `header` opens an object of the engine's heap.
    unsafe fn object(&mut self, header: *mut Word, pieces: &mut Vec<Piece>) {
        // SAFETY: `header` opens an object of this heap (this function's condition), and cells of objects lead to values.
        unsafe {
            match Kind::of(*header) {
                Kind::Float => self.text.push_str(&write_float(float_value(header))),
                Kind::String => {
                    let bytes = string_bytes(header);
                    let bytes = &bytes[..bytes.len().min(self.most.saturating_add(1))];
                    if self.quoted {
                        self.text.push_str(&quote_string(bytes));
                    } else {
                        self.text.push_str(&String::from_utf8_lossy(bytes));
                    }
                }
                Kind::Predicate => {
                    let id = PredicateId((*header).payload() as u32);
                    self.text.push_str("predicate#(");
                    self.text.push_str(&self.engine.program.indicator(id));
                    self.text.push(')');
                }
                kind => {
                    let is_vector = kind != Kind::Structure;
                    let cells = if is_vector {
                        self.text.push('{');
                        elements(header)
                    } else {
                        self.atom((*header).name());
                        self.text.push('(');
                        Cells::new(header.add(1), (*header).arity())
                    };
                    pieces.push(Piece::Text(if is_vector { "}" } else { ")" }));
                    if cells.len() > 0 {
                        pieces.push(Piece::Row(cells, 0));
                    }
                }
            }
        }
    }
}

/// The beginning of a name, one character more than `most` bytes at the most.
fn clipped(name: &str, most: usize) -> &str {
    if name.len() <= most {
        return name;
    }
    let end = (0..=most).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    &name[..name[end..].chars().next().map_or(end, |next| end + next.len_utf8())]
}
