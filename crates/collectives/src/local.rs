//! Where a rank of an all-to-all keeps blocks: its own buffer first, then what it has in the end, then what it passes on.

use rustc_hash::FxHashMap;

use crate::blocks::Blocks;

/// The memory of one rank.
#[derive(Clone, Debug)]
pub struct Local<'a> {
    blocks: &'a Blocks,
    rank: usize,
    /// Of a range that is passed on, by its first byte, where it is kept.
    passed_on: FxHashMap<u64, u64>,
    end: u64,
}

impl Local<'_> {
    pub fn of(blocks: &Blocks, rank: usize) -> Local<'_> {
        let end = received_start(blocks) + blocks.received_bytes(rank);
        Local { blocks, rank, passed_on: FxHashMap::default(), end }
    }

    /// Where the rank keeps a range, which is a part of one block: the same place whenever it is asked for.
    pub fn position(&mut self, start: u64, bytes: u64) -> u64 {
        let (from, to) = self.blocks.ends(start);
        if from == self.rank {
            return self.blocks.in_own(start);
        }
        if to == self.rank {
            return received_start(self.blocks) + self.blocks.received_at(start);
        }
        *self.passed_on.entry(start).or_insert_with(|| {
            self.end += bytes;
            self.end - bytes
        })
    }

    /// Bytes of all that it keeps.
    pub fn bytes(&self) -> u64 {
        self.end
    }
}

/// Where every rank has what it has in the end.
pub fn received_start(blocks: &Blocks) -> u64 {
    blocks.bytes()
}
