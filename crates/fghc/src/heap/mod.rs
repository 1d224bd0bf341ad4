//! The heap of one processing element: tagged words of 64 bits, allocated in a row, collected by copying.
//!
//! [`word`] says what a word is, [`goal`] what the records of goals look like, [`collect`] how a collection works.
//! An engine owns one [`Heap`]; where its free part begins and ends is kept with the engine's registers, because that
//! is read with every reduction.

pub mod collect;
pub mod goal;
pub mod space;
pub mod word;

pub use space::Space;
pub use word::{Kind, Word};

/// Words beyond the limit that a reduction may use before the next look at it.
pub const RESERVE: usize = 2048;

/// Words of the first space: small enough to stay in a cache close to the processor.
const FIRST_WORDS: usize = 32 * 1024;

/// A collection that keeps more than this share of the space makes the next one larger.
const GROW_ABOVE: usize = 4;

/// As far as so many words, a space is as many times larger as is said when the heap is made.
const ROOMY_WORDS: usize = 128 * 1024;

/// Two spaces of one size, of which one is in use, and how large they may become.
pub struct Heap {
    used: Space,
    spare: Option<Space>,
    limit_words: usize,
    growth: usize,
    available: fn() -> Option<usize>,
}

/// Before a space of so many bytes is taken, the system is asked whether it has them.
const LARGE_BYTES: usize = 32 << 20;

/// The heap cannot hold what it must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exhausted {
    /// Its limit is too low.
    Limit {
        /// Bytes that are reachable or asked for.
        needed: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The system has too little memory.
    System {
        /// Bytes of the space that is needed.
        needed: usize,
        /// Bytes that the system has, where that is known.
        available: Option<usize>,
    },
}

impl Heap {
    /// A heap that holds at most `limit` bytes in use (twice that while it is collected). At least 64 KiB. While it is small, a
    /// space is `growth` times larger than what a collection kept, so that few collections copy what is kept again and again.
    /// `available`: how many bytes the system still has, where that is known.
    pub fn new(limit: usize, growth: usize, available: fn() -> Option<usize>) -> Option<Heap> {
        let limit_words = (limit / 8).max(8 * 1024);
        let used = Space::new(FIRST_WORDS.min(limit_words) + RESERVE)?;
        Some(Heap { used, spare: None, limit_words, growth, available })
    }

    pub fn start(&self) -> *mut Word {
        self.used.start()
    }

    pub fn end(&self) -> *mut Word {
        self.used.end()
    }

    /// Where a reduction must not begin any more without a collection, when `live` words are in use and `wanted` more will
    /// be: the end of the space, or, where it was once needed and is not now, earlier. What is allocated between two
    /// collections then stays in the cache of the processor.
    pub fn limit(&self, live: usize, wanted: usize) -> *mut Word {
        let size = self.used.words() - RESERVE;
        let comfortable = self.comfortable(live + wanted).max(FIRST_WORDS);
        // SAFETY: `size` words are in the space, which every `new` and `replace` makes larger than the reserve.
        unsafe { self.used.start().add(comfortable.min(size)) }
    }

    /// Words of a space for so many that are needed.
    fn comfortable(&self, needed: usize) -> usize {
        let roomy = needed.saturating_mul(self.growth).min(ROOMY_WORDS);
        needed.saturating_mul(GROW_ABOVE).max(roomy)
    }

    /// Largest number of bytes in use.
    pub fn limit_bytes(&self) -> usize {
        self.limit_words * 8
    }

    /// A space for what is in use now. Hand the result to [`Heap::replace`].
    pub fn new_space(&mut self) -> Result<Space, Exhausted> {
        match self.spare.take() {
            Some(space) if space.words() == self.used.words() => Ok(space),
            _ => Space::new(self.used.words())
                .ok_or(Exhausted::System { needed: self.used.words() * 8, available: None }),
        }
    }

    /// After a collection into `space`, of which `live` words are used: goes on there, or, where that is much of it or
    /// `wanted` more words do not fit, says how large a space the contents should be moved to. `others`: bytes beside the heap
    /// that count against its limit.
    pub fn replace(
        &mut self,
        space: Space,
        live: usize,
        wanted: usize,
        others: usize,
    ) -> Result<Option<Space>, Exhausted> {
        let old = std::mem::replace(&mut self.used, space);
        self.spare = Some(old);
        let size = self.used.words() - RESERVE;
        let needed = live.saturating_add(wanted);
        let others = others.div_ceil(8);
        if needed.saturating_add(others) > self.limit_words {
            let needed = needed.saturating_add(others).saturating_mul(8);
            return Err(Exhausted::Limit { needed, limit: self.limit_words * 8 });
        }
        let limit = self.limit_words - others;
        let comfortable = self.comfortable(needed);
        if size >= comfortable || size >= limit && size >= needed {
            return Ok(None);
        }
        let target = comfortable.next_power_of_two().max(size * 2).min(limit).max(needed);
        self.larger(target, size, needed)
    }

    /// A space of `target` words beside the reserve; none where the system has no more and those that there are do.
    fn larger(&mut self, target: usize, size: usize, needed: usize) -> Result<Option<Space>, Exhausted> {
        self.spare = None;
        let bytes = (target + RESERVE) * 8;
        let available = if bytes >= LARGE_BYTES { (self.available)() } else { None };
        let fits = available.is_none_or(|available| bytes <= available);
        match if fits { Space::new(target + RESERVE) } else { None } {
            Some(space) => Ok(Some(space)),
            None if needed <= size => Ok(None),
            None => Err(Exhausted::System { needed: bytes, available }),
        }
    }

    /// Goes on in `space` after the contents were moved there.
    pub fn adopt(&mut self, space: Space) {
        self.used = space;
        self.spare = None;
    }
}
