//! Views: which bytes of a file an access is about (MPI 4.1, section 14.3).

use std::rc::Rc;

use crate::abi;
use crate::datatype::Datatype;
use crate::fault::{Answer, Fault, class, require};
use crate::processes::codec::Range;
use crate::rank::Rank;

/// How data lie in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    Native,
    /// As in memory: all nodes of a machine are alike.
    Internal,
    /// The highest byte first (MPI 4.1, section 14.5.2).
    External32,
}

impl Representation {
    const ALL: [(Representation, &'static str); 3] = [
        (Representation::Native, "native"),
        (Representation::Internal, "internal"),
        (Representation::External32, "external32"),
    ];

    pub fn of(name: &[u8]) -> Option<Representation> {
        Representation::ALL.iter().find(|(_, known)| known.as_bytes() == name).map(|known| known.0)
    }

    pub fn name(self) -> &'static str {
        Representation::ALL.iter().find(|(known, _)| *known == self).map_or("", |known| known.1)
    }
}

/// The part of a file that a process sees: a file type, repeated from a displacement on.
#[derive(Clone, Debug)]
pub struct View {
    pub displacement: u64,
    pub etype: Rc<Datatype>,
    pub filetype: Rc<Datatype>,
    pub representation: Representation,
    /// Of the file type, as [`Pieces::bytes_before`](crate::datatype::Pieces::bytes_before) has them.
    before: Vec<usize>,
}

impl View {
    /// The whole file as bytes, which is what a file is opened with.
    pub fn of_bytes(rank: &Rank) -> View {
        let byte = rank.shared.predefined[&abi::BYTE].clone();
        View {
            displacement: 0,
            etype: byte.clone(),
            filetype: byte,
            representation: Representation::Native,
            before: vec![0],
        }
    }

    pub fn new(
        displacement: u64,
        etype: Rc<Datatype>,
        filetype: Rc<Datatype>,
        representation: Representation,
    ) -> Result<View, Fault> {
        check_types(&etype, &filetype)?;
        let before = filetype.pieces.bytes_before();
        Ok(View { displacement, etype, filetype, representation, before })
    }

    /// Whether elements of the file type lie over each other.
    pub fn overlaps(&self) -> bool {
        self.filetype.pieces.neighbors().any(|(one, next)| one.end() > next.offset)
    }

    /// Where the byte `data` of the view lies in the file.
    pub fn offset_of(&self, data: u64) -> u64 {
        if self.filetype.size == 0 {
            return self.displacement;
        }
        let (tile, index, within) = self.locate(data);
        self.origin(tile).wrapping_add_signed((self.filetype.pieces.at(index).offset + within as isize) as i64)
    }

    /// The repetition of the file type that the byte `data` is in, the run there, and the byte of that run.
    fn locate(&self, data: u64) -> (u64, usize, u64) {
        let size = self.filetype.size as u64;
        let (tile, rest) = (data / size, data % size);
        let (index, within) = self.filetype.pieces.locate(rest as usize, &self.before);
        (tile, index, within as u64)
    }

    /// Where a repetition of the file type begins.
    fn origin(&self, tile: u64) -> u64 {
        self.displacement + tile * self.filetype.extent as u64
    }

    /// The ranges of the file that `bytes` bytes of data from `data` on lie in; neighbours are one.
    pub fn ranges(&self, data: u64, bytes: usize) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        if bytes == 0 || self.filetype.size == 0 {
            return ranges;
        }
        if self.filetype.is_dense() {
            return vec![Range { offset: self.displacement + data, bytes }];
        }
        let (mut tile, mut index, mut within) = self.locate(data);
        let mut left = bytes;
        while left > 0 {
            let run = self.filetype.pieces.at(index);
            let bytes = left.min(run.bytes() - within as usize);
            let offset = self.origin(tile).wrapping_add_signed((run.offset + within as isize) as i64);
            match ranges.last_mut() {
                Some(last) if last.end() == offset => last.bytes += bytes,
                _ => ranges.push(Range { offset, bytes }),
            }
            (left, within, index) = (left - bytes, 0, index + 1);
            if index == self.filetype.pieces.len() {
                (tile, index) = (tile + 1, 0);
            }
        }
        ranges
    }

    /// Elements of the view that begin in the first `length` bytes of the file.
    pub fn elements_before(&self, length: u64) -> u64 {
        if length <= self.displacement || self.filetype.size == 0 {
            return 0;
        }
        let (extent, size) = (self.filetype.extent.max(1) as u64, self.filetype.size as u64);
        let (mut low, mut high) = (0, ((length - self.displacement) / extent + 1) * size);
        while low < high {
            let middle = low.midpoint(high);
            if self.offset_of(middle) < length {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.div_ceil(self.etype.size as u64)
    }
}

/// Fails where the standard does not allow the datatypes in a view.
fn check_types(etype: &Datatype, filetype: &Datatype) -> Answer {
    for datatype in [etype, filetype] {
        require(datatype.committed.get(), class::ERR_TYPE, || "a datatype of a view is not committed".to_owned())?;
    }
    require(etype.size > 0, class::ERR_TYPE, || "the elementary datatype of a view has no data".to_owned())?;
    if filetype.size == 0 {
        // A process that sees nothing of the file.
        return Ok(());
    }
    let whole = filetype.size.is_multiple_of(etype.size);
    require(whole, class::ERR_TYPE, || {
        format!("the file type has {} bytes, which are no whole elements of {} bytes", filetype.size, etype.size)
    })?;
    let ascends = filetype.pieces.neighbors().all(|(one, next)| one.offset <= next.offset);
    let ascends = ascends && filetype.pieces.at(0).offset >= 0 && filetype.extent > 0;
    // MPICH and Open MPI say so of these, both by ROMIO.
    require(ascends, class::ERR_IO, || {
        "displacements of a file type must not be negative, and must not decrease".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Block, Contents, predefined};
    use proptest::prelude::*;

    /// Blocks of ints with gaps between them, and a gap behind.
    fn filetype(blocks: &[(usize, usize)], behind: usize) -> (Rc<Datatype>, Vec<u64>, u64) {
        let int = predefined()[&0x4c00_0405].clone();
        let (mut next, mut parts, mut bytes) = (0_u64, Vec::new(), Vec::new());
        for &(gap, count) in blocks {
            next += 4 * gap as u64;
            parts.push((next as isize, count));
            bytes.extend(next..next + 4 * count as u64);
            next += 4 * count as u64;
        }
        let blocks = parts.iter().map(|&(displacement, count)| Block { displacement, count, datatype: &int });
        let plain = Datatype::of_blocks(blocks, Contents::default());
        let extent = next + 4 * behind as u64;
        let resized = Datatype::resized(&plain, 0, extent as isize, Contents::default());
        resized.committed.set(true);
        (Rc::new(resized), bytes, extent)
    }

    proptest! {
        /// The standard's definition, byte by byte: data are the bytes of the repeated type map, in order.
        #[test]
        fn ranges_are_the_bytes_of_the_repeated_type_map(
            blocks in proptest::collection::vec((0..3_usize, 1..4_usize), 1..4),
            behind in 0..3_usize,
            displacement in 0..20_u64,
            first in 0..30_u64,
            count in 0..30_usize,
        ) {
            let (filetype, bytes, extent) = filetype(&blocks, behind);
            let int = predefined()[&0x4c00_0405].clone();
            let view = View::new(displacement, int, filetype, Representation::Native).unwrap();
            let offset = |data: u64| {
                let size = bytes.len() as u64;
                displacement + data / size * extent + bytes[(data % size) as usize]
            };
            let (start, len) = (4 * first, 4 * count);
            let expected: Vec<u64> = (start..start + len as u64).map(offset).collect();
            let ranges = view.ranges(start, len);
            let listed: Vec<u64> = ranges.iter().flat_map(|range| range.offset..range.end()).collect();
            prop_assert_eq!(listed, expected);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end() < pair[1].offset));
            prop_assert_eq!(view.offset_of(start), offset(start));
            for length in [0, displacement, displacement + 1, displacement + first * 3, offset(start), offset(start) + 1] {
                let within = (0..1000).take_while(|&data| offset(data) < length).count() as u64;
                prop_assert_eq!(view.elements_before(length), within.div_ceil(4));
            }
        }
    }
}
