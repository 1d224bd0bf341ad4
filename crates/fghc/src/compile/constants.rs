//! Constants of a program: each is kept once.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::engine::instruction::Boxed;
use crate::engine::literal::Literal;
use crate::heap::Word;
use crate::ir::Term;

/// Constants of one and of more than one word.
#[derive(Default)]
pub struct Constants {
    /// Most elements of a vector that is a pattern of some clause.
    pub largest_vector: usize,
    pub words: Vec<Word>,
    numbers: FxHashMap<Word, u32>,
    pub boxes: Vec<Boxed>,
    box_numbers: FxHashMap<Key, u32>,
}

/// What tells constants of more than one word apart.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Float(u64),
    String(Box<[u8]>),
    Predicate(u32),
}

impl Constants {
    /// The word of an integer or atom; `None` for any other term.
    pub fn word(term: &Term) -> Option<Word> {
        match term {
            Term::Integer(value) => Word::integer(*value),
            Term::Atom(atom) => Some(Word::atom(atom.0)),
            _ => None,
        }
    }

    pub fn index(&mut self, word: Word) -> u32 {
        *self.numbers.entry(word).or_insert_with(|| {
            self.words.push(word);
            self.words.len() as u32 - 1
        })
    }

    pub fn boxed(&mut self, value: Boxed) -> u32 {
        let key = match &value {
            // Bits, so that 0.0 and -0.0 stay apart.
            Boxed::Float(value) => Some(Key::Float(value.to_bits())),
            Boxed::String(bytes) => Some(Key::String(bytes.clone())),
            Boxed::Predicate(predicate) => Some(Key::Predicate(*predicate)),
            // To compare large terms would take longer than to keep them twice.
            Boxed::Literal(_) => None,
        };
        let number = self.boxes.len() as u32;
        if let Some(key) = key {
            match self.box_numbers.entry(key) {
                Entry::Occupied(known) => return *known.get(),
                Entry::Vacant(new) => new.insert(number),
            };
        }
        self.boxes.push(value);
        number
    }

    /// A large term without variables as a constant of one word: a value to compare with, and nothing else.
    pub fn compared(&mut self, literal: Literal) -> Word {
        let value = literal.value();
        self.boxes.push(Boxed::Literal(literal));
        value
    }
}
