//! Whose is which byte in an all-to-all: every rank has a block for each other rank.
//!
//! The buffers that ranks have in the beginning count as one, rank after rank: the block of rank `s` for rank `d` has a range
//! of its own, by which messages name what they carry. What a rank has in the end is the blocks for it, by who sent them.

use crate::schedule::{Schedule, shards};

/// The blocks of all ranks.
#[derive(Clone, Debug)]
pub struct Blocks {
    ranks: usize,
    /// Bytes of every rank's buffer.
    bytes: u64,
    /// Of each rank the start of its blocks in its own buffer, by destination, and their end.
    starts: Vec<Vec<u64>>,
    /// Of each rank the start of what it receives in the buffer that it has in the end, by source, and its end.
    received: Vec<Vec<u64>>,
}

impl Blocks {
    /// Those of an all-to-all's schedule.
    pub fn of_schedule(schedule: &Schedule) -> Blocks {
        let Schedule { bytes, element_bytes, fabric, blocks, .. } = schedule;
        match blocks {
            Some(lengths) => Blocks::of(*bytes, lengths),
            None => Blocks::even(*bytes, *element_bytes, fabric.ranks.len()),
        }
    }

    /// Blocks that are as long as each other: as [`shards`] of every rank's buffer of `bytes`.
    fn even(bytes: u64, element_bytes: u64, ranks: usize) -> Blocks {
        let lengths: Vec<u64> = shards(bytes, element_bytes, ranks).into_iter().map(|shard| shard.1).collect();
        Blocks::of(bytes, &vec![lengths; ranks])
    }

    /// Blocks of these lengths, by source and destination, in buffers of `bytes`.
    fn of(bytes: u64, lengths: &[Vec<u64>]) -> Blocks {
        let ranks = lengths.len();
        let column = |to: usize| starts(lengths.iter().map(|row| row[to]));
        let received = (0..ranks).map(column).collect();
        Blocks { ranks, bytes, starts: lengths.iter().map(|row| starts(row.iter().copied())).collect(), received }
    }

    /// Bytes of every rank's buffer.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where a byte of all ranks' buffers is in that of its rank.
    pub fn in_own(&self, byte: u64) -> u64 {
        byte % self.bytes
    }

    /// The first byte of a block among all ranks' buffers, and its bytes.
    ///
    /// A block without bytes is nowhere, and its first byte is another block's.
    pub fn block(&self, from: usize, to: usize) -> (u64, u64) {
        let row = &self.starts[from];
        (from as u64 * self.bytes + row[to], row[to + 1] - row[to])
    }

    /// Source and destination of the block that a byte of all ranks' buffers is in.
    pub fn ends(&self, byte: u64) -> (usize, usize) {
        let (from, offset) = ((byte / self.bytes) as usize, byte % self.bytes);
        (from, self.starts[from].partition_point(|&start| start <= offset) - 1)
    }

    /// Bytes of what a rank has in the end.
    pub fn received_bytes(&self, rank: usize) -> u64 {
        self.received[rank][self.ranks]
    }

    /// Where a byte of all ranks' buffers is in the end, in the buffer that its destination has then.
    pub fn received_at(&self, byte: u64) -> u64 {
        let (from, to) = self.ends(byte);
        self.received[to][from] + (byte - self.block(from, to).0)
    }
}

/// Where parts of these lengths start one after another, and where the last one ends.
fn starts(lengths: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut end = 0;
    let after = lengths.map(|length| {
        end += length;
        end
    });
    std::iter::once(0).chain(after.collect::<Vec<u64>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_of_one_block() {
        // Ten elements for three ranks: blocks of 4, 3 and 3.
        let blocks = Blocks::even(20, 2, 3);
        assert_eq!([0, 1, 2].map(|to| blocks.block(1, to)), [(20, 8), (28, 6), (34, 6)]);
        for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
            let (start, bytes) = blocks.block(from, to);
            (start..start + bytes).for_each(|byte| assert_eq!(blocks.ends(byte), (from, to)));
            assert_eq!(blocks.received_at(start + 1), from as u64 * bytes + 1);
        }
        assert_eq!([0, 1, 2].map(|rank| blocks.received_bytes(rank)), [24, 18, 18]);
    }

    #[test]
    fn empty_blocks_are_nobodys() {
        let blocks = Blocks::of(4, &[vec![0, 4, 0], vec![0, 0, 0], vec![2, 0, 2]]);
        assert_eq!(
            [0, 3, 8, 9, 10, 11].map(|byte| blocks.ends(byte)),
            [(0, 1), (0, 1), (2, 0), (2, 0), (2, 2), (2, 2)]
        );
        assert_eq!(blocks.received_bytes(1), 4);
        assert_eq!(blocks.received_at(10), 0);
    }
}
