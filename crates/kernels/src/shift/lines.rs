//! All shifts of small dense arrays as a list of lines.
//!
//! Where an array has a few hundred elements, deciding what to copy takes longer than copying. Here it is decided once:
//! each 64 bytes of each output is one full load, two masked loads, or (at edges and in tails) a few. Without registers
//! of 64 bytes the list holds the pieces themselves.

use std::ops::Range;

use weft_simd::{CACHE_LINE as LINE, Level, level};

use super::description::{Piece, SlabShift, pieces};
use super::pieces::copy_piece;

/// The most bytes of all outputs together for which a list of lines is worth its own memory.
pub const LARGEST: usize = 64 << 10;

/// Shifts worked out line by line.
#[derive(Clone, Debug)]
pub struct Lines {
    code: Code,
    outputs: usize,
}

#[derive(Clone, Debug)]
enum Code {
    Masked(Masked),
    Copies(Vec<PieceCopy>),
}

#[derive(Clone, Debug, Default)]
struct Masked {
    groups: Vec<Group>,
    copies: Vec<FullCopy>,
    pairs: Vec<Pair>,
    mixed: Vec<Mixed>,
    parts: Vec<Part>,
}

/// The lines of one shift. Copies and pairs read its source only; offsets are from where source and output start.
#[derive(Clone, Debug)]
struct Group {
    source: usize,
    target: usize,
    copies: Range<usize>,
    pairs: Range<usize>,
    mixed: Range<usize>,
}

/// A line from one address.
#[derive(Clone, Copy, Debug)]
struct FullCopy {
    source: u32,
    target: u32,
}

/// A line from two addresses: the bytes of `mask` from the first, the others from the second.
#[derive(Clone, Copy, Debug)]
struct Pair {
    mask: u64,
    target: u32,
    first: i32,
    second: i32,
}

/// A line, or what is left of the last one, from any number of parts.
#[derive(Clone, Debug)]
struct Mixed {
    kept: u64,
    target: u32,
    parts: Range<u32>,
}

/// The bytes of `mask` of a line; `offset` is where in the input the line would start if it all came from there.
#[derive(Clone, Copy, Debug)]
struct Part {
    mask: u64,
    input: u32,
    offset: i32,
}

#[derive(Clone, Copy, Debug)]
struct PieceCopy {
    input: u32,
    target: u32,
    source_offset: u32,
    target_offset: u32,
    length: u32,
}

impl Lines {
    /// Works out shifts of arrays of `length` bytes; None where that is more than [`LARGEST`] or the machine's masks
    /// cannot say it.
    pub fn new(shifts: &[SlabShift], length: usize) -> Option<Self> {
        Self::at_level(shifts, length, level())
    }

    fn at_level(shifts: &[SlabShift], length: usize, level: Level) -> Option<Self> {
        if length.checked_mul(shifts.len())? > LARGEST {
            return None;
        }
        let all: Vec<Vec<Piece>> = shifts.iter().map(|shift| pieces(shift, length)).collect();
        if all.iter().flatten().any(|piece| i32::try_from(piece.offset + piece.length + LINE).is_err()) {
            return None;
        }
        let code = match level {
            Level::Avx512 => Code::Masked(Masked::new(shifts, &all)),
            _ => Code::Copies(copies(shifts, &all)),
        };
        Some(Self { code, outputs: shifts.len() })
    }

    /// Moves that a run consists of: loads of a line or of a part of one.
    pub fn moves(&self) -> usize {
        match &self.code {
            Code::Masked(masked) => masked.copies.len() + 2 * masked.pairs.len() + masked.parts.len(),
            Code::Copies(copies) => copies.len(),
        }
    }

    /// How many outputs are written.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Does the shifts.
    ///
    /// # Safety
    ///
    /// Inputs and outputs are those that the shifts name, readable and writable for as far as they say, and no output
    /// overlaps an input or another output.
    #[inline]
    pub unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) {
        match &self.code {
            // SAFETY: masked code is made only where the processor has it, and inputs and outputs are those that the
            // shifts name (this function's condition).
            #[cfg(target_arch = "x86_64")]
            Code::Masked(masked) => unsafe { masked.run(inputs, outputs) },
            #[cfg(not(target_arch = "x86_64"))]
            Code::Masked(_) => unreachable!("made only where there are 64-byte registers"),
            Code::Copies(copies) => {
                for copy in copies {
                    // SAFETY: inputs and outputs are readable and writable for as far as the shifts say, and apart
                    // (this function's conditions); `Lines::new` has made copies within both.
                    unsafe {
                        copy_piece(
                            inputs[copy.input as usize].add(copy.source_offset as usize),
                            outputs[copy.target as usize].add(copy.target_offset as usize),
                            copy.length as usize,
                        );
                    }
                }
            }
        }
    }
}

fn copies(shifts: &[SlabShift], all: &[Vec<Piece>]) -> Vec<PieceCopy> {
    let mut copies = Vec::new();
    for (shift, pieces) in shifts.iter().zip(all) {
        let mut position = 0;
        for piece in pieces {
            copies.push(PieceCopy {
                input: piece.input as u32,
                target: shift.target as u32,
                source_offset: piece.offset as u32,
                target_offset: position as u32,
                length: piece.length as u32,
            });
            position += piece.length;
        }
    }
    copies
}

impl Masked {
    fn new(shifts: &[SlabShift], all: &[Vec<Piece>]) -> Self {
        let mut masked = Self::default();
        for (shift, pieces) in shifts.iter().zip(all) {
            let starts = (masked.copies.len(), masked.pairs.len(), masked.mixed.len());
            for (number, parts) in lines_of(pieces).into_iter().enumerate() {
                masked.add_line(shift.source, number * LINE, &parts);
            }
            masked.groups.push(Group {
                source: shift.source,
                target: shift.target,
                copies: starts.0..masked.copies.len(),
                pairs: starts.1..masked.pairs.len(),
                mixed: starts.2..masked.mixed.len(),
            });
        }
        masked
    }

    fn add_line(&mut self, source: usize, target: usize, parts: &[Part]) {
        let kept = parts.iter().fold(0, |bytes, part| bytes | part.mask);
        let target = target as u32;
        let of_source = parts.iter().all(|part| part.input as usize == source);
        match parts {
            [only] if kept == u64::MAX && of_source => {
                self.copies.push(FullCopy { source: only.offset as u32, target });
            }
            [first, second] if kept == u64::MAX && of_source => {
                self.pairs.push(Pair { mask: first.mask, target, first: first.offset, second: second.offset });
            }
            _ => {
                let start = self.parts.len() as u32;
                self.parts.extend_from_slice(parts);
                self.mixed.push(Mixed { kept, target, parts: start..self.parts.len() as u32 });
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) {
        use std::arch::x86_64::*;

        for group in &self.groups {
            let (source, target) = (inputs[group.source], outputs[group.target]);
            for copy in &self.copies[group.copies.clone()] {
                // SAFETY: full lines of source and output.
                unsafe {
                    let line = _mm512_loadu_si512(source.add(copy.source as usize).cast());
                    _mm512_storeu_si512(target.add(copy.target as usize).cast(), line);
                }
            }
            for pair in &self.pairs[group.pairs.clone()] {
                // SAFETY: a full line of the output; masked bytes of the source.
                unsafe {
                    let first = source.wrapping_offset(pair.first as isize).cast();
                    let second = source.wrapping_offset(pair.second as isize).cast();
                    let line = _mm512_maskz_loadu_epi8(pair.mask, first);
                    let line = _mm512_mask_loadu_epi8(line, !pair.mask, second);
                    _mm512_storeu_si512(target.add(pair.target as usize).cast(), line);
                }
            }
            for mixed in &self.mixed[group.mixed.clone()] {
                // SAFETY: masked bytes of inputs and of the output.
                unsafe {
                    let mut line = _mm512_setzero_si512();
                    for part in &self.parts[mixed.parts.start as usize..mixed.parts.end as usize] {
                        let from = inputs[part.input as usize].wrapping_offset(part.offset as isize).cast();
                        line = _mm512_mask_loadu_epi8(line, part.mask, from);
                    }
                    let to = target.add(mixed.target as usize);
                    if mixed.kept == u64::MAX {
                        _mm512_storeu_si512(to.cast(), line);
                    } else {
                        _mm512_mask_storeu_epi8(to.cast(), mixed.kept, line);
                    }
                }
            }
        }
    }
}

/// The parts of each line of an output.
fn lines_of(pieces: &[Piece]) -> Vec<Vec<Part>> {
    let mut lines: Vec<Vec<Part>> = Vec::new();
    let mut position = 0;
    for piece in pieces {
        let mut done = 0;
        while done < piece.length {
            let within = position % LINE;
            let taken = (piece.length - done).min(LINE - within);
            if within == 0 {
                lines.push(Vec::new());
            }
            let part = Part {
                mask: (u64::MAX >> (LINE - taken)) << within,
                input: piece.input as u32,
                offset: (piece.offset + done) as i32 - within as i32,
            };
            if let Some(line) = lines.last_mut() {
                // Before and behind what came in at an edge, bytes come from the same distance: they are one part.
                match line.iter_mut().find(|other| (other.input, other.offset) == (part.input, part.offset)) {
                    Some(other) => other.mask |= part.mask,
                    None => line.push(part),
                }
            }
            done += taken;
            position += taken;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::description::SlabEdge;
    use super::super::description::tests::by_pieces;
    use super::*;

    #[test]
    fn both_codes_agree_with_the_pieces() {
        let inputs: Vec<Vec<u8>> = vec![(0..=239).collect(), vec![250, 251, 252], (100..110).collect()];
        let edges =
            [SlabEdge::Circular, SlabEdge::Fill { input: 1, bytes: 3, item: 3 }, SlabEdge::Rows { input: 2, bytes: 1 }];
        for (slab, edge) in
            [(240, 0), (120, 1), (24, 2), (240, 1), (80, 0), (24, 0), (48, 1)].map(|(s, e)| (s, &edges[e]))
        {
            for distance in (0..=slab).step_by(3) {
                for upwards in [false, true] {
                    let shift = SlabShift { source: 0, target: 0, slab, distance, upwards, edge: edge.clone() };
                    let expected = by_pieces(&shift, &inputs, 240);
                    assert_eq!(expected.len(), 240);
                    for level in Level::available() {
                        let lines = Lines::at_level(std::slice::from_ref(&shift), 240, level).unwrap();
                        let mut output = vec![0; 240];
                        let from: Vec<_> = inputs.iter().map(|input| input.as_ptr()).collect();
                        // SAFETY: the shift stays within inputs and output.
                        unsafe { lines.run(&from, &[output.as_mut_ptr()]) };
                        assert_eq!(output, expected, "{shift:?} {level:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn too_much_is_refused() {
        let shift = SlabShift { source: 0, target: 0, slab: 64, distance: 8, upwards: false, edge: SlabEdge::Circular };
        assert!(Lines::new(&[shift.clone(), shift.clone()], LARGEST / 2).is_some());
        assert!(Lines::new(&[shift.clone(), shift], LARGEST / 2 + 64).is_none());
    }
}
