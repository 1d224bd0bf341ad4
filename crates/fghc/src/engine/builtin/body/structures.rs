//! Builtins of bodies that make structures and take them apart, and goals made of values.

use super::super::super::Engine;
use super::super::super::array::elements;
use super::super::{Done, is_object};
use super::size;
use crate::builtins::BodyBuiltin;
use crate::heap::goal::MAX_ARITY;
use crate::heap::{Kind, Word};
use crate::ir::atoms;

impl Engine {
    pub(super) fn new_functor(&mut self, values: &[Word]) -> Done {
        let builtin = BodyBuiltin::NewFunctor;
        let arity = match self.size_wanted(builtin, values[2]) {
            Ok(arity) => arity,
            Err(done) => return done,
        };
        if arity == 0 {
            return self.give(values[0], values[1]);
        }
        if !values[1].is_atom() {
            return self.wrong(builtin, "an atom as name", values[1]);
        }
        let zeros = vec![Word::small(0); arity];
        self.give_structure(values[0], values[1].atom_number(), &zeros)
    }

    pub(super) fn give_structure(&mut self, target: Word, name: u32, arguments: &[Word]) -> Done {
        let words = arguments.len() + 1;
        if !self.has_space(words) {
            return Done::NeedsWords(words);
        }
        let value = match arguments {
            [] => Word::atom(name),
            [head, tail] if name == atoms::DOT.0 => {
                let cells = self.allocate(2);
                // SAFETY: `has_space` was asked for these words too before the first was allocated.
                unsafe {
                    *cells = *head;
                    *cells.add(1) = *tail;
                }
                Word::list(cells)
            }
            arguments => self.object(Word::structure(name, arguments.len()), arguments.iter().copied()),
        };
        self.give(target, value)
    }

    pub(super) fn list_to_structure(&mut self, values: &[Word]) -> Done {
        let builtin = BodyBuiltin::ListToStructure;
        let elements = match self.list_elements(builtin, values[1]) {
            Ok(elements) => elements,
            Err(done) => return done,
        };
        let Some((name, arguments)) = elements.split_first() else {
            return self.wrong(builtin, "a list of a name and arguments", values[1]);
        };
        if name.is_variable() {
            self.registers.note(*name);
            return Done::Wait;
        }
        if arguments.is_empty() {
            return self.give(values[0], *name);
        }
        if !name.is_atom() {
            return self.wrong(builtin, "an atom as name", *name);
        }
        self.give_structure(values[0], name.atom_number(), arguments)
    }

    pub(super) fn unbound(&mut self, values: &[Word]) -> Done {
        if !self.has_space(4) {
            return Done::NeedsWords(4);
        }
        let value = values[0];
        let cells = if value.is_variable() {
            // SAFETY: an unbound variable's cell lies in the space that is in use, whose start the other is.
            let address = unsafe { value.pointer().offset_from(self.heap.start()) } as i64;
            vec![Word::small(self.node as i64), Word::small(address), value]
        } else {
            vec![value]
        };
        let vector = self.object(Word::header(Kind::Vector, cells.len() as u64), cells.into_iter());
        self.give(values[1], vector)
    }

    pub(super) fn apply(&mut self, values: &[Word]) -> Done {
        let builtin = BodyBuiltin::Apply;
        if !is_object(values[0], Kind::Predicate) {
            return self.wrong(builtin, "a predicate", values[0]);
        }
        if !is_object(values[1], Kind::Vector) {
            return self.wrong(builtin, "a vector of arguments", values[1]);
        }
        // SAFETY: a predicate and a vector of this heap.
        unsafe {
            let predicate = (*values[0].pointer()).payload() as u32;
            let count = size(values[1]) as usize;
            let arity = usize::from(self.code.predicates[predicate as usize].arity);
            if count != arity || count > MAX_ARITY {
                let message =
                    format!("apply: {} has {arity} arguments, the vector {count}", self.text(values[0], true));
                return self.fails(message);
            }
            let cells = elements(values[1].pointer());
            let arguments: Vec<Word> = (0..count).map(|index| cells.get(index)).collect();
            self.push_goal(predicate, &arguments);
        }
        Done::Yes
    }
}
