//! Operations of bodies: a wrong type or an index out of range is an error.

use super::super::Engine;
use super::super::array::elements;
use super::super::unify::string_bytes;
use super::{Done, is_object};
use crate::builtins::BodyBuiltin;
use crate::heap::collect::words_of;
use crate::heap::word::{LIST, OBJECT, dereference};
use crate::heap::{Kind, Word};

mod streams;
mod structures;

/// Largest number of elements of a vector, arguments of a structure and bytes of a string.
const MAX_SIZE: i64 = (1 << 24) - 1;

impl Engine {
    /// Does a builtin whose inputs are bound; `values` are dereferenced.
    pub(super) fn body_builtin(&mut self, builtin: BodyBuiltin, values: &[Word]) -> Done {
        use BodyBuiltin::*;
        match builtin {
            Write | Print => {
                if !self.ground(values[0]) {
                    return self.undecided_yet();
                }
                let Some(mut text) = self.whole_text(values[0], builtin == Print) else { return Done::Problem };
                text.push('\n');
                let written = self.files.put(1, text.as_bytes());
                self.written(builtin, written)
            }
            NewVector => self.new_vector(values),
            NewString => self.new_string_goal(values),
            VectorElement | StringElement | Element => {
                if !self.is_kind(builtin, values[0]) {
                    return self.wrong(builtin, self.kind_name(builtin), values[0]);
                }
                match self.element(values[0], values[1]) {
                    Some(element) => self.give(values[2], element),
                    None => self.out_of_range(builtin, values[1], values[0]),
                }
            }
            VectorSize | Size => {
                if !self.is_kind(builtin, values[0]) {
                    return self.wrong(builtin, self.kind_name(builtin), values[0]);
                }
                self.give(values[1], Word::small(size(values[0])))
            }
            StringSize => {
                if !is_object(values[0], Kind::String) {
                    return self.wrong(builtin, "a string", values[0]);
                }
                self.give_all(&[(values[1], Word::small(size(values[0]))), (values[2], Word::small(8))])
            }
            SetVectorElement | SetElement | SetStringElement => {
                self.replace(builtin, values[0], values[1], values[2], None, values[3])
            }
            ExchangeVectorElement | ExchangeElement => {
                self.replace(builtin, values[0], values[1], values[3], Some(values[2]), values[4])
            }
            SetArgument | ExchangeArgument => {
                let (index, structure) =
                    if values[0].is_integer() { (values[0], values[1]) } else { (values[1], values[0]) };
                if builtin == SetArgument {
                    self.set_argument(builtin, structure, index, values[2], None, values[3])
                } else {
                    self.set_argument(builtin, structure, index, values[3], Some(values[2]), values[4])
                }
            }
            SearchCharacter => self.search_character(values),
            Split => self.split(values),
            Join => self.join(values),
            Functor => {
                let (name, arity) = self.functor(values[0]);
                self.give_all(&[(values[1], name), (values[2], Word::small(arity as i64))])
            }
            Argument => match self.argument(values[0], values[1]) {
                Some(argument) => self.give(values[2], argument),
                None => {
                    let (index, value) =
                        if values[0].is_integer() { (values[0], values[1]) } else { (values[1], values[0]) };
                    self.out_of_range(builtin, index, value)
                }
            },
            NewFunctor => self.new_functor(values),
            ListToStructure => self.list_to_structure(values),
            Compare => match self.order(values[0], values[1]) {
                None => self.undecided_yet(),
                Some(order) => self.give(values[2], Word::small(order as i64)),
            },
            Hash => match self.hash(values[0]) {
                None => self.undecided_yet(),
                Some(hash) => self.give(values[1], Word::small(hash)),
            },
            CurrentPriority => {
                let priority = self.queues[self.current as usize].priority;
                self.give(values[0], Word::small(i64::from(priority)))
            }
            CurrentNode => {
                let results = [(values[0], Word::small(self.node as i64)), (values[1], Word::small(self.pes as i64))];
                self.give_all(&results)
            }
            Unbound => self.unbound(values),
            Apply => self.apply(values),
            MakeAtom | AtomString => self.atom_and_string(builtin, values),
            Arguments => self.program_arguments(values),
            Exit => {
                if !values[0].is_integer() {
                    return self.wrong(builtin, "an integer", values[0]);
                }
                self.exit = Some(values[0].value());
                self.preempt();
                Done::Yes
            }
            Collect => unreachable!("done as a goal"),
            Open | Put | PutTerm | Get | Unget | Read | AtEnd | Flush | Close => self.stream(builtin, values),
        }
    }

    /// Something had no answer: because of variables that were noted, or of a problem.
    fn undecided_yet(&self) -> Done {
        if self.has_problem() { Done::Problem } else { Done::Wait }
    }

    fn fails(&mut self, message: String) -> Done {
        self.raise_operation(message);
        Done::Problem
    }

    fn wrong(&mut self, builtin: BodyBuiltin, wanted: &str, value: Word) -> Done {
        let message = format!("{} needs {wanted}, not {}", builtin.name(), self.text(value, true));
        self.fails(message)
    }

    fn out_of_range(&mut self, builtin: BodyBuiltin, index: Word, value: Word) -> Done {
        if !index.is_integer() {
            return self.wrong(builtin, "an integer as index", index);
        }
        let message = format!(
            "{}: index {} is out of range for {}",
            builtin.name(),
            self.text(index, true),
            self.text(value, true)
        );
        self.fails(message)
    }

    fn kind_name(&self, builtin: BodyBuiltin) -> &'static str {
        use BodyBuiltin::*;
        match builtin {
            VectorElement | SetVectorElement | ExchangeVectorElement | VectorSize => "a vector",
            StringElement | SetStringElement => "a string",
            _ => "a vector or string",
        }
    }

    fn is_kind(&self, builtin: BodyBuiltin, value: Word) -> bool {
        let name = self.kind_name(builtin);
        (name != "a string" && is_object(value, Kind::Vector)) || (name != "a vector" && is_object(value, Kind::String))
    }

    fn size_wanted(&mut self, builtin: BodyBuiltin, value: Word) -> Result<usize, Done> {
        if !value.is_integer() {
            return Err(self.wrong(builtin, "an integer", value));
        }
        if !(0..=MAX_SIZE).contains(&value.value()) {
            let message = format!("{}: {} is no size between 0 and {MAX_SIZE}", builtin.name(), self.text(value, true));
            return Err(self.fails(message));
        }
        Ok(value.value() as usize)
    }

    /// The elements of a list; an error where it is none or too long, `Wait` where its end is unbound. There is room for as
    /// many words as it has elements, and one more.
    fn list_elements(&mut self, builtin: BodyBuiltin, list: Word) -> Result<Vec<Word>, Done> {
        let length = self.list_length(builtin, list)?;
        if !self.has_space(length + 1) {
            return Err(Done::NeedsWords(length + 1));
        }
        let mut elements = Vec::with_capacity(length);
        let mut rest = list;
        // SAFETY: a list of this heap of that length.
        unsafe {
            for _ in 0..length {
                rest = dereference(rest);
                elements.push(dereference(Word::reference(rest.pointer())));
                rest = Word::reference(rest.pointer().add(1));
            }
        }
        Ok(elements)
    }

    fn list_length(&mut self, builtin: BodyBuiltin, list: Word) -> Result<usize, Done> {
        let mut length = 0;
        let mut rest = list;
        // SAFETY: a value of this heap.
        unsafe {
            loop {
                rest = dereference(rest);
                if rest.is_variable() {
                    self.registers.note(rest);
                    return Err(Done::Wait);
                }
                if rest == Word::NIL {
                    self.spend(length);
                    return Ok(length);
                }
                if rest.tag() != LIST {
                    return Err(self.wrong(builtin, "a list or a size", list));
                }
                length += 1;
                // A cyclic list is longer, too.
                if length > MAX_SIZE as usize {
                    let message = format!("{}: the list has more than {MAX_SIZE} elements, or no end", builtin.name());
                    return Err(self.fails(message));
                }
                rest = Word::reference(rest.pointer().add(1));
            }
        }
    }

    /// An object of these cells; there is room.
    fn object(&mut self, header: Word, cells: impl Iterator<Item = Word>) -> Word {
        let object = self.allocate(1);
        // SAFETY: every builtin that makes an object asks `has_space` for it first and comes back when there is, so that
        // the words lie within the space; each cell is written as it is allocated.
        unsafe {
            *object = header;
            for cell in cells {
                *self.allocate(1) = cell;
            }
        }
        Word::object(object)
    }

    fn new_vector(&mut self, values: &[Word]) -> Done {
        if values[1].is_integer() {
            let size = match self.size_wanted(BodyBuiltin::NewVector, values[1]) {
                Ok(size) => size,
                Err(done) => return done,
            };
            if !self.has_space(size + 1) {
                return Done::NeedsWords(size + 1);
            }
            let zeros = std::iter::repeat_n(Word::small(0), size);
            let vector = self.object(Word::header(Kind::Vector, size as u64), zeros);
            return self.give(values[0], vector);
        }
        let elements = match self.list_elements(BodyBuiltin::NewVector, values[1]) {
            Ok(elements) => elements,
            Err(done) => return done,
        };
        if !self.has_space(elements.len() + 1) {
            return Done::NeedsWords(elements.len() + 1);
        }
        let vector = self.object(Word::header(Kind::Vector, elements.len() as u64), elements.into_iter());
        self.give(values[0], vector)
    }

    fn new_string_goal(&mut self, values: &[Word]) -> Done {
        let builtin = BodyBuiltin::NewString;
        if values[2] != Word::small(8) {
            return self.wrong(builtin, "8 as the size of an element", values[2]);
        }
        let bytes = if values[1].is_integer() {
            match self.size_wanted(builtin, values[1]) {
                Ok(size) => vec![0; size],
                Err(done) => return done,
            }
        } else {
            let elements = match self.list_elements(builtin, values[1]) {
                Ok(elements) => elements,
                Err(done) => return done,
            };
            let mut bytes = Vec::with_capacity(elements.len());
            for element in elements {
                if element.is_variable() {
                    self.registers.note(element);
                    return Done::Wait;
                }
                match byte(element) {
                    Some(byte) => bytes.push(byte),
                    None => return self.wrong(builtin, "bytes, 0 to 255", element),
                }
            }
            bytes
        };
        self.give_string(values[0], &bytes)
    }

    fn give_string(&mut self, target: Word, bytes: &[u8]) -> Done {
        let words = 2 + bytes.len() / 8;
        if !self.has_space(words) {
            return Done::NeedsWords(words);
        }
        let string = self.new_string(bytes);
        self.give(target, string)
    }

    /// A vector or string with another element.
    fn replace(
        &mut self,
        builtin: BodyBuiltin,
        value: Word,
        index: Word,
        element: Word,
        old: Option<Word>,
        target: Word,
    ) -> Done {
        if !self.is_kind(builtin, value) {
            return self.wrong(builtin, self.kind_name(builtin), value);
        }
        let Some(present) = self.element(value, index) else { return self.out_of_range(builtin, index, value) };
        // SAFETY: a vector or string of this heap.
        unsafe {
            let header = value.pointer();
            let is_string = Kind::of(*header) == Kind::String;
            let words = if is_string { words_of(*header) } else { self.words_to_replace(header) };
            if !self.has_space(words) {
                return Done::NeedsWords(words);
            }
            let at = index.value() as usize;
            let new = if !is_string {
                self.replace_element(header, at, element)
            } else {
                let element = dereference(element);
                if element.is_variable() {
                    self.registers.note(element);
                    return Done::Wait;
                }
                let Some(byte) = byte(element) else { return self.wrong(builtin, "a byte, 0 to 255", element) };
                let mut bytes = string_bytes(header).to_vec();
                bytes[at] = byte;
                self.new_string(&bytes)
            };
            if let Some(old) = old
                && let Done::Problem = self.give(old, present)
            {
                return Done::Problem;
            }
            self.give(target, new)
        }
    }

    fn set_argument(
        &mut self,
        builtin: BodyBuiltin,
        value: Word,
        index: Word,
        element: Word,
        old: Option<Word>,
        target: Word,
    ) -> Done {
        let Some(present) = self.argument(index, value) else { return self.out_of_range(builtin, index, value) };
        let (_, arity) = self.functor(value);
        if !self.has_space(arity + 1) {
            return Done::NeedsWords(arity + 1);
        }
        let at = index.value() as usize - 1;
        // SAFETY: a list cell or structure of this heap.
        let new = unsafe {
            let first = if value.tag() == LIST { value.pointer() } else { value.pointer().add(1) };
            let cell =
                |index: usize| if index == at { element } else { dereference(Word::reference(first.add(index))) };
            if value.tag() == LIST {
                let cells = self.allocate(2);
                *cells = cell(0);
                *cells.add(1) = cell(1);
                Word::list(cells)
            } else {
                self.object(*value.pointer(), (0..arity).map(cell))
            }
        };
        if let Some(old) = old
            && let Done::Problem = self.give(old, present)
        {
            return Done::Problem;
        }
        self.give(target, new)
    }

    fn search_character(&mut self, values: &[Word]) -> Done {
        let builtin = BodyBuiltin::SearchCharacter;
        if !is_object(values[0], Kind::String) {
            return self.wrong(builtin, "a string", values[0]);
        }
        for value in &values[1..4] {
            if !value.is_integer() {
                return self.wrong(builtin, "integers", *value);
            }
        }
        // SAFETY: a string of this heap.
        let bytes = unsafe { string_bytes(values[0].pointer()) };
        let (from, to) = (usize::try_from(values[1].value()), usize::try_from(values[2].value()));
        let (Ok(from), Ok(to)) = (from, to) else { return self.out_of_range(builtin, values[1], values[0]) };
        if to > bytes.len() || from > to {
            return self.out_of_range(builtin, values[2], values[0]);
        }
        let position = bytes[from..to].iter().position(|byte| i64::from(*byte) == values[3].value());
        self.give(values[4], Word::small(position.map_or(-1, |at| (from + at) as i64)))
    }

    fn split(&mut self, values: &[Word]) -> Done {
        let builtin = BodyBuiltin::Split;
        if !self.is_kind(builtin, values[0]) {
            return self.wrong(builtin, "a vector or string", values[0]);
        }
        let whole = size(values[0]) as usize;
        let at = match usize::try_from(values[1].value()) {
            Ok(at) if values[1].is_integer() && at <= whole => at,
            _ => return self.out_of_range(builtin, values[1], values[0]),
        };
        if !self.has_space(whole + 4) {
            return Done::NeedsWords(whole + 4);
        }
        // SAFETY: a vector or string of this heap; there is room for both parts.
        let parts = unsafe {
            let header = values[0].pointer();
            if Kind::of(*header) == Kind::String {
                let bytes = string_bytes(header);
                [self.new_string(&bytes[..at]), self.new_string(&bytes[at..])]
            } else {
                let cells = elements(header);
                let cell = |index: usize| cells.get(index);
                [
                    self.object(Word::header(Kind::Vector, at as u64), (0..at).map(cell)),
                    self.object(Word::header(Kind::Vector, (whole - at) as u64), (at..whole).map(cell)),
                ]
            }
        };
        self.give_all(&[(values[2], parts[0]), (values[3], parts[1])])
    }

    fn join(&mut self, values: &[Word]) -> Done {
        let builtin = BodyBuiltin::Join;
        let both = |kind| is_object(values[0], kind) && is_object(values[1], kind);
        if !both(Kind::Vector) && !both(Kind::String) {
            return self.wrong(builtin, "two vectors or two strings", values[1]);
        }
        let sizes = (size(values[0]) as usize, size(values[1]) as usize);
        let whole = sizes.0 + sizes.1;
        if !self.has_space(whole + 2) {
            return Done::NeedsWords(whole + 2);
        }
        // SAFETY: vectors or strings of this heap; there is room.
        let joined = unsafe {
            let (left, right) = (values[0].pointer(), values[1].pointer());
            if both(Kind::String) {
                let bytes = [string_bytes(left), string_bytes(right)].concat();
                self.new_string(&bytes)
            } else {
                let (left, right) = (elements(left), elements(right));
                let cells = (0..sizes.0).map(|index| left.get(index)).chain((0..sizes.1).map(|index| right.get(index)));
                self.object(Word::header(Kind::Vector, whole as u64), cells)
            }
        };
        self.give(values[2], joined)
    }

    fn atom_and_string(&mut self, builtin: BodyBuiltin, values: &[Word]) -> Done {
        if builtin == BodyBuiltin::AtomString {
            if !values[0].is_atom() {
                return self.wrong(builtin, "an atom", values[0]);
            }
            let name = self.atoms().name(crate::ir::AtomId(values[0].atom_number())).to_string();
            return self.give_string(values[1], name.as_bytes());
        }
        if !is_object(values[0], Kind::String) {
            return self.wrong(builtin, "a string", values[0]);
        }
        // SAFETY: a string of this heap.
        let name = unsafe { String::from_utf8_lossy(string_bytes(values[0].pointer())).into_owned() };
        let (atom, bytes) = {
            let mut names = self.names.write().unwrap_or_else(std::sync::PoisonError::into_inner);
            let before = names.bytes();
            (names.intern(&name), names.bytes() - before)
        };
        self.charge(bytes);
        self.give(values[1], Word::atom(atom.0))
    }

    fn program_arguments(&mut self, values: &[Word]) -> Done {
        let arguments = self.arguments.clone();
        let words = arguments.iter().map(|argument| 4 + argument.len() / 8).sum();
        if !self.has_space(words) {
            return Done::NeedsWords(words);
        }
        let mut list = Word::NIL;
        for argument in arguments.iter().rev() {
            let string = self.new_string(argument.as_bytes());
            let cells = self.allocate(2);
            // SAFETY: `has_space` was asked for these words too before the first was allocated.
            unsafe {
                *cells = string;
                *cells.add(1) = list;
            }
            list = Word::list(cells);
        }
        self.give(values[0], list)
    }
}

/// Elements of a vector, bytes of a string.
fn size(value: Word) -> i64 {
    debug_assert_eq!(value.tag(), OBJECT);
    // SAFETY: a vector or string of a live heap.
    unsafe { (*value.pointer()).payload() as i64 }
}

fn byte(value: Word) -> Option<u8> {
    if value.is_integer() { u8::try_from(value.value()).ok() } else { None }
}
