//! Large terms without variables as constants: images that are looked at where they are, or copied into a heap.

use std::sync::Arc;

use crate::heap::Word;

/// A value of an image that is being made.
pub enum ImageValue {
    /// A word that is no pointer.
    Word(u64),
    /// An index into the image, and the tag of what is there.
    Pointer(usize, u64),
}

/// A large term without variables, as it lies in memory: a value where it is, which must never get into a heap, and the
/// image of a copy in one.
#[derive(Clone, Debug)]
pub struct Literal(Arc<Image>);

#[derive(Debug)]
struct Image {
    words: Box<[Word]>,
    /// Which of them point into the image.
    pointers: Box<[u32]>,
    root: Word,
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Literal {
    /// A term of these words, in which pointers are distances in bytes from the first, with their tags.
    pub fn new(words: Vec<u64>, pointers: Vec<u32>, root: ImageValue) -> Literal {
        let mut words: Box<[Word]> = words.into_iter().map(Word).collect();
        let start = words.as_ptr() as u64;
        for &index in &pointers {
            words[index as usize].0 += start;
        }
        let root = match root {
            ImageValue::Word(word) => Word(word),
            ImageValue::Pointer(index, tag) => Word((start + index as u64 * 8) | tag),
        };
        Literal(Arc::new(Image { words, pointers: pointers.into(), root }))
    }

    /// How many words a copy takes.
    pub fn words(&self) -> usize {
        self.0.words.len()
    }

    /// The value where it is, to be looked at only.
    pub fn value(&self) -> Word {
        self.0.root
    }

    /// A copy of it.
    ///
    /// # Safety
    /// At `target` there are as many words as it takes.
    pub unsafe fn copy(&self, target: *mut Word) -> Word {
        let Image { words, pointers, root } = &*self.0;
        let distance = (target as u64).wrapping_sub(words.as_ptr() as u64);
        // SAFETY: at `target` there are as many words as the image has (this function's condition), whose own memory is
        // elsewhere; `pointers` are indices into it.
        unsafe {
            std::ptr::copy_nonoverlapping(words.as_ptr(), target, words.len());
            for &index in pointers {
                let word = target.add(index as usize);
                *word = Word((*word).0.wrapping_add(distance));
            }
        }
        Word(root.0.wrapping_add(distance))
    }
}
