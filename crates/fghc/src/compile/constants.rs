//! Constants of a program: each is kept once.

use rustc_hash::FxHashMap;

use crate::engine::instruction::Boxed;
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
        let same = |other: &Boxed| match (other, &value) {
            // Bits, so that 0.0 and -0.0 stay apart.
            (Boxed::Float(left), Boxed::Float(right)) => left.to_bits() == right.to_bits(),
            (left, right) => left == right,
        };
        if let Some(index) = self.boxes.iter().position(same) {
            return index as u32;
        }
        self.boxes.push(value);
        self.boxes.len() as u32 - 1
    }
}
