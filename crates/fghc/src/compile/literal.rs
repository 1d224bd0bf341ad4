//! Large terms without variables: as they would lie in the heap, made once when the program is compiled.
//!
//! Instructions for every element of a list of a hundred thousand would need as many registers. A body copies the image into
//! the heap; a head compares with it where it is.

use crate::engine::literal::{ImageValue, Literal};
use crate::heap::Word;
use crate::heap::word::{Kind, LIST, OBJECT};
use crate::ir::Term;

use super::constants::Constants;

/// Terms with more parts than this are literals; smaller ones are made by instructions, which is quicker.
const LARGE: usize = 64;

/// Whether a term has no variables and many parts.
pub fn is_literal(term: &Term) -> bool {
    let mut parts = 0;
    is_ground(term, &mut parts) && parts > LARGE
}

fn is_ground(term: &Term, parts: &mut usize) -> bool {
    *parts += 1;
    match term {
        Term::Variable(_) => false,
        Term::Integer(_) | Term::Atom(_) | Term::Float(_) | Term::String(_) | Term::Predicate(_) => true,
        Term::List(elements, rest) => {
            elements.iter().all(|element| is_ground(element, parts)) && is_ground(rest, parts)
        }
        Term::Structure(_, arguments) | Term::Vector(arguments) => {
            arguments.iter().all(|argument| is_ground(argument, parts))
        }
    }
}

/// The image of a term without variables.
pub fn literal(term: &Term) -> Literal {
    let mut image = Image::default();
    let root = image.value(term);
    Literal::new(image.words, image.pointers, root)
}

/// Words whose pointers are distances from the beginning.
#[derive(Default)]
struct Image {
    words: Vec<u64>,
    /// Which of them are pointers.
    pointers: Vec<u32>,
}

impl Image {
    fn allocate(&mut self, words: usize) -> usize {
        let start = self.words.len();
        self.words.resize(start + words, 0);
        start
    }

    fn put(&mut self, start: usize, value: ImageValue) {
        self.words[start] = match value {
            ImageValue::Word(word) => word,
            ImageValue::Pointer(there, tag) => {
                self.pointers.push(start as u32);
                (there as u64 * 8) | tag
            }
        };
    }

    fn value(&mut self, term: &Term) -> ImageValue {
        match term {
            Term::Variable(_) => unreachable!("literals have no variables"),
            Term::Integer(_) | Term::Atom(_) => {
                ImageValue::Word(Constants::word(term).expect("an integer or atom is one word").0)
            }
            Term::Float(value) => self.object(&[Word::header(Kind::Float, 0).0, value.to_bits()]),
            Term::Predicate(predicate) => self.object(&[Word::header(Kind::Predicate, u64::from(predicate.0)).0]),
            Term::String(bytes) => {
                let mut words = vec![Word::header(Kind::String, bytes.len() as u64).0];
                words.extend(bytes.chunks(8).map(|chunk| {
                    let mut word = [0; 8];
                    word[..chunk.len()].copy_from_slice(chunk);
                    u64::from_ne_bytes(word)
                }));
                self.object(&words)
            }
            Term::List(elements, rest) => {
                let start = self.allocate(2 * elements.len());
                for (index, element) in elements.iter().enumerate() {
                    let value = self.value(element);
                    self.put(start + 2 * index, value);
                    let next = if index + 1 < elements.len() {
                        ImageValue::Pointer(start + 2 * index + 2, LIST)
                    } else {
                        self.value(rest)
                    };
                    self.put(start + 2 * index + 1, next);
                }
                ImageValue::Pointer(start, LIST)
            }
            Term::Structure(name, arguments) => self.row(Word::structure(name.0, arguments.len()), arguments),
            Term::Vector(elements) => self.row(Word::header(Kind::Vector, elements.len() as u64), elements),
        }
    }

    fn object(&mut self, words: &[u64]) -> ImageValue {
        let start = self.words.len();
        self.words.extend_from_slice(words);
        ImageValue::Pointer(start, OBJECT)
    }

    fn row(&mut self, header: Word, terms: &[Term]) -> ImageValue {
        let start = self.allocate(1 + terms.len());
        self.words[start] = header.0;
        for (index, term) in terms.iter().enumerate() {
            let value = self.value(term);
            self.put(start + 1 + index, value);
        }
        ImageValue::Pointer(start, OBJECT)
    }
}
