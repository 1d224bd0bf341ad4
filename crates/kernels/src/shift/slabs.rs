//! All shifts of dense arrays in one pass over the source.
//!
//! In an array that is dense, shifting along an axis turns (circular) or pushes (end-off) every slab of
//! `extent * inner` bytes by `distance * inner` bytes, where `inner` is what lies under one index of the axis. Two
//! cases: slabs that fit into a block are written one after another, so that each destination is one run without gaps;
//! longer ones follow the source where it is in memory, so that each of its bytes is read from there once whatever the
//! number of shifts, and the destination where all is in caches and the source near, so that only full lines are stored.

use weft_simd::{Level, MAX_THREADS, last_level_cache, level, on_threads};

use crate::Stop;

use super::description::{Buffers, SlabEdge, SlabShift};
use super::short::{PieceByPiece, ShortSlabs};
use super::writer::{LookAhead, Plain, Writer};
#[cfg(target_arch = "x86_64")]
use super::{
    periods::Period,
    writer::{Lines256, Lines512},
};

/// Bytes of the source that are read into the first-level cache before everything made of them is written, where
/// stores are non-temporal.
const STREAMING_BLOCK: usize = 16 << 10;

/// The same where they do not. From 1 to 16 KiB a copy of 512 KiB into eight outputs takes the same time, two thirds of
/// that of eight whole copies: the source's block stays in the first-level cache.
const CACHED_BLOCK: usize = 8 << 10;

/// The most bytes that a call may touch and still be written through the caches, whatever the processor declares: the
/// last cache of a virtual machine has other users too.
const MAX_CACHED: usize = 32 << 20;

/// How destinations are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stores {
    /// Through the caches: they will be read again soon, and fit.
    #[default]
    Cached,
    /// By non-temporal stores: no line is read before it is written.
    Streaming,
}

impl Stores {
    /// For a call that reads and writes so many bytes altogether: non-temporal stores from three quarters of the last
    /// cache on, where both kinds took the same time when measured (decision non-temporal-stores).
    pub fn for_bytes(touched: usize) -> Self {
        if touched > (last_level_cache() / 4 * 3).min(MAX_CACHED) { Stores::Streaming } else { Stores::Cached }
    }

    /// The most bytes of a source that are worked on together.
    pub const fn block(self) -> usize {
        match self {
            Stores::Cached => CACHED_BLOCK,
            Stores::Streaming => STREAMING_BLOCK,
        }
    }
}

/// Bytes of the source that are worked on together: whole slabs of all shifts whose slabs are not longer than `most`.
fn block_of(shifts: &[SlabShift], most: usize) -> usize {
    let largest = shifts.iter().map(|shift| shift.slab).filter(|&slab| slab <= most).max().unwrap_or(1).max(1);
    most / largest * largest
}

/// Does all shifts, with up to `threads` threads, unless `stop` is asked for meanwhile: outputs hold anything then.
///
/// # Safety
///
/// Inputs are readable and outputs writable for as far as `shifts` say (sources and outputs: `buffers.length` bytes), no
/// output overlaps an input or another output, and slabs of the shifts divide each other and the length.
pub unsafe fn run(shifts: &[SlabShift], buffers: Buffers<'_>, stores: Stores, threads: usize, stop: Stop<'_>) {
    let threads = threads.clamp(1, MAX_THREADS);
    // A share of a thread may be less than a block.
    let most = stores.block().min(buffers.length.div_ceil(threads).max(1));
    let block = block_of(shifts, most);
    let blocks = buffers.length.div_ceil(block);
    let threads = threads.min(blocks.max(1));
    let part = |number: usize| (blocks * number / threads * block).min(buffers.length);
    if threads == 1 {
        // SAFETY: inputs and outputs are as far readable and writable as the shifts say (this function's condition), of
        // which this is all.
        return unsafe { run_range(shifts, buffers, stores, most, 0, buffers.length, stop) };
    }
    on_threads(threads, |number| {
        // All of `buffers` goes to the thread, not its fields.
        let buffers = { buffers };
        // SAFETY: inputs and outputs are as far readable and writable as the shifts say (this function's condition);
        // each byte of an output belongs to one range.
        unsafe { run_range(shifts, buffers, stores, most, part(number), part(number + 1), stop) }
    });
}

unsafe fn run_range(
    shifts: &[SlabShift],
    buffers: Buffers<'_>,
    stores: Stores,
    most: usize,
    from: usize,
    to: usize,
    stop: Stop<'_>,
) {
    // SAFETY: inputs and outputs are as `run` asks, and the level says that the processor has what the variant of an
    // arm is compiled for.
    unsafe {
        match (level(), stores) {
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, Stores::Streaming) => run_streaming512(shifts, buffers, most, from, to, stop),
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, Stores::Cached) => run_cached512(shifts, buffers, most, from, to, stop),
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, Stores::Streaming) => run_streaming256(shifts, buffers, most, from, to, stop),
            _ => blocks::<Plain, PieceByPiece>(shifts, buffers, most, from, to, stop),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn run_streaming512(
    shifts: &[SlabShift],
    buffers: Buffers<'_>,
    most: usize,
    from: usize,
    to: usize,
    stop: Stop<'_>,
) {
    // SAFETY: inputs and outputs are as `run` asks, and this is compiled for the instructions that writer and periods
    // use.
    unsafe { blocks::<Lines512<true>, Period<true>>(shifts, buffers, most, from, to, stop) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn run_cached512(
    shifts: &[SlabShift],
    buffers: Buffers<'_>,
    most: usize,
    from: usize,
    to: usize,
    stop: Stop<'_>,
) {
    // SAFETY: inputs and outputs are as `run` asks, and this is compiled for the instructions that writer and periods
    // use without streaming.
    unsafe { blocks::<Lines512<false>, Period<false>>(shifts, buffers, most, from, to, stop) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn run_streaming256(
    shifts: &[SlabShift],
    buffers: Buffers<'_>,
    most: usize,
    from: usize,
    to: usize,
    stop: Stop<'_>,
) {
    // SAFETY: inputs and outputs are as `run` asks, and this is compiled for the instructions that the writer uses.
    unsafe { blocks::<Lines256, PieceByPiece>(shifts, buffers, most, from, to, stop) }
}

/// The bytes `from..to` of the sources, block by block; `from` is a multiple of the block.
#[inline(always)]
unsafe fn blocks<'a, W: Writer, S: ShortSlabs<'a>>(
    shifts: &'a [SlabShift],
    buffers: Buffers<'_>,
    most: usize,
    from: usize,
    to: usize,
    stop: Stop<'_>,
) {
    let block = block_of(shifts, most);
    // SAFETY: inputs and outputs are as `run` asks, and `from..to`, of which each `start..end` is a block, lies within
    // them; the processor has the instructions of writer and short slabs.
    unsafe {
        let mut writers: Vec<(Option<S>, W)> = shifts
            .iter()
            .map(|shift| (S::new(shift, buffers, from, to), W::at(buffers.outputs[shift.target])))
            .collect();
        let shares = shares(shifts);
        let mut start = from;
        while start < to && !stop.is_requested() {
            let end = to.min(start + block);
            for ((shift, writer), &(part, parts)) in shifts.iter().zip(&mut writers).zip(&shares) {
                let next = buffers.inputs[shift.source].wrapping_add(end + block * part / parts);
                let ahead = LookAhead::new(next, parts);
                match writer {
                    (Some(short), _) => short.look_ahead(ahead),
                    (None, writer) => writer.look_ahead(ahead),
                }
                match writer {
                    (Some(short), _) => short.advance(buffers, end),
                    (None, writer) if shift.slab <= most => whole_slabs(shift, writer, buffers, start, end),
                    (None, writer) if W::IN_ORDER && is_near(shift, most) => {
                        in_order(shift, writer, buffers, start, end);
                    }
                    (None, writer) => parts_of_slabs(shift, writer, buffers, start, end),
                }
            }
            start = end;
        }
        if stop.is_requested() {
            W::fence();
            return;
        }
        for (short, writer) in &mut writers {
            match short {
                Some(short) => short.finish(buffers, to),
                None => writer.flush(),
            }
        }
        W::fence();
    }
}

/// Whether what the bytes of a block of the destination come from is hardly further away than a block: else the source's
/// bytes would be read once more for this shift, from as far as they have gone meanwhile.
fn is_near(shift: &SlabShift, block: usize) -> bool {
    shift.distance.min(shift.slab - shift.distance) <= block
}

/// For each shift, which of those of its source it is and how many there are: each looks ahead at its part of a block.
fn shares(shifts: &[SlabShift]) -> Vec<(usize, usize)> {
    let of = |source: usize, shifts: &[SlabShift]| shifts.iter().filter(|shift| shift.source == source).count();
    shifts.iter().enumerate().map(|(n, shift)| (of(shift.source, &shifts[..n]), of(shift.source, shifts))).collect()
}

/// The slabs in `start..end`, each in the order of its destination.
#[inline(always)]
unsafe fn whole_slabs<W: Writer>(shift: &SlabShift, writer: &mut W, buffers: Buffers<'_>, start: usize, end: usize) {
    let SlabShift { slab, distance, .. } = *shift;
    let kept = slab - distance;
    // SAFETY: inputs and outputs are as `run` asks, whole slabs of which lie in `start..end`, and every offset is at
    // most a slab.
    unsafe {
        writer.seek(buffers.outputs[shift.target].add(start));
        let mut source = buffers.inputs[shift.source].add(start);
        for number in start / slab..end / slab {
            if shift.upwards {
                match shift.edge {
                    SlabEdge::Circular => writer.push(source.add(kept), distance),
                    _ => push_edge(shift, writer, buffers, number),
                }
                writer.push(source, kept);
            } else {
                writer.push(source.add(distance), kept);
                match shift.edge {
                    SlabEdge::Circular => writer.push(source, distance),
                    _ => push_edge(shift, writer, buffers, number),
                }
            }
            source = source.add(slab);
        }
    }
}

/// What the bytes `start..end` of the source become, slab by slab in the order of the source.
#[inline(always)]
unsafe fn parts_of_slabs<W: Writer>(shift: &SlabShift, writer: &mut W, buffers: Buffers<'_>, start: usize, end: usize) {
    let SlabShift { slab, distance, upwards, .. } = *shift;
    let kept = slab - distance;
    // Source bytes below `split` go up by what is left of the slab above them, the others down.
    let (split, up, down) = if upwards { (kept, distance, kept) } else { (distance, kept, distance) };
    let circular = shift.edge == SlabEdge::Circular;
    let (low_used, high_used) = (circular || upwards, circular || !upwards);
    let mut position = start;
    while position < end {
        let (number, from) = (position / slab, position % slab);
        let to = slab.min(from + end - position);
        let base = number * slab;
        // SAFETY: inputs and outputs are as `run` asks, the slab that begins at `base` lies within them, and every
        // offset and length stays within the slab.
        unsafe {
            let (source, target) = (buffers.inputs[shift.source].add(base), buffers.outputs[shift.target].add(base));
            if from == 0 && upwards && !circular {
                writer.seek(target);
                push_edge(shift, writer, buffers, number);
            }
            if from < split && low_used {
                writer.seek(target.add(from + up));
                writer.push(source.add(from), to.min(split) - from);
            }
            if to > split && high_used {
                let first = from.max(split);
                writer.seek(target.add(first - down));
                writer.push(source.add(first), to - first);
            }
            if to == slab && !upwards && !circular {
                writer.seek(target.add(kept));
                push_edge(shift, writer, buffers, number);
            }
        }
        position = base + to;
    }
}

/// The bytes `start..end` of the destination, wherever they come from.
#[inline(always)]
unsafe fn in_order<W: Writer>(shift: &SlabShift, writer: &mut W, buffers: Buffers<'_>, start: usize, end: usize) {
    let SlabShift { slab, distance, upwards, .. } = *shift;
    let kept = slab - distance;
    // In a slab of the destination, what comes in is at `edge`, the rest at `rest`; in the source, at `moved`.
    let (edge, rest, moved) = if upwards { (0, distance, 0) } else { (kept, 0, distance) };
    let mut position = start;
    // SAFETY: inputs and outputs are as `run` asks, `start..end` lies within the output, and every byte of the source
    // is one of the slab that has the same number.
    unsafe {
        writer.seek(buffers.outputs[shift.target].add(start));
        while position < end {
            let (number, from) = (position / slab, position % slab);
            let comes_in = (edge..edge + distance).contains(&from);
            let part = if comes_in { edge + distance } else { rest + kept };
            let length = part.min(from + end - position) - from;
            let source = buffers.inputs[shift.source].wrapping_add(number * slab);
            match &shift.edge {
                _ if !comes_in => writer.push(source.add(from - rest + moved), length),
                // At the end of the source that nothing else comes from.
                SlabEdge::Circular => writer.push(source.add(from - edge + if upwards { kept } else { 0 }), length),
                SlabEdge::Fill { input, bytes, .. } => {
                    push_repeated(writer, buffers.inputs[*input], *bytes, from - edge, length);
                }
                SlabEdge::Rows { input, bytes } => {
                    let row = buffers.inputs[*input].wrapping_add(number * bytes);
                    push_repeated(writer, row, *bytes, from - edge, length);
                }
            }
            position += length;
        }
    }
}

/// `length` bytes from byte `skipped` of `bytes` that are repeated.
#[inline(always)]
unsafe fn push_repeated<W: Writer>(writer: &mut W, from: *const u8, bytes: usize, skipped: usize, length: usize) {
    let mut done = 0;
    while done < length {
        let offset = (skipped + done) % bytes;
        let taken = (length - done).min(bytes - offset);
        // SAFETY: `bytes` are readable from `from` on, as the shift's edge says of its input, and `offset + taken` does
        // not exceed them; the writer has as many bytes before it.
        unsafe { writer.push(from.add(offset), taken) };
        done += taken;
    }
}

/// What comes in from outside at the edge of a slab.
#[inline(always)]
unsafe fn push_edge<W: Writer>(shift: &SlabShift, writer: &mut W, buffers: Buffers<'_>, number: usize) {
    let (from, bytes) = match shift.edge {
        SlabEdge::Circular => return,
        SlabEdge::Fill { input, bytes, .. } => (buffers.inputs[input], bytes),
        SlabEdge::Rows { input, bytes } => (buffers.inputs[input].wrapping_add(number * bytes), bytes),
    };
    // SAFETY: the edge's input has `bytes` bytes there, as the shift says, and the slab has `distance` bytes at its
    // edge.
    unsafe { push_repeated(writer, from, bytes, 0, shift.distance) };
}

#[cfg(test)]
mod tests {
    use super::super::description::tests::by_pieces;
    use super::*;
    use proptest::prelude::*;

    const BLOCK: usize = STREAMING_BLOCK;
    const INPUTS: usize = 4;

    /// Inputs of bytes that differ; the third repeats an element, the fourth is long enough for a row a slab.
    fn inputs(length: usize, item: usize) -> Vec<Vec<u8>> {
        let byte = |input: usize, i: usize| if input == 2 { i % item * 37 + 5 } else { i * 31 + i / 251 + input * 97 };
        (0..INPUTS).map(|input| (0..length).map(|i| byte(input, i) as u8).collect()).collect()
    }

    fn check(shifts: &[SlabShift], length: usize, offset: usize, stores: Stores, threads: usize, portable: bool) {
        let item = shifts.iter().find_map(|shift| match shift.edge {
            SlabEdge::Fill { item, .. } => Some(item),
            _ => None,
        });
        let inputs = inputs(length.max(64), item.unwrap_or(1));
        let mut outputs: Vec<Vec<u8>> = shifts.iter().map(|_| vec![0xEE; length + 128]).collect();
        let from: Vec<*const u8> = inputs.iter().map(|input| input.as_ptr()).collect();
        let to: Vec<*mut u8> = outputs.iter_mut().map(|output| output[offset..].as_mut_ptr()).collect();
        let buffers = Buffers { inputs: &from, outputs: &to, length };
        // SAFETY: inputs and outputs are as long as the shifts reach.
        unsafe {
            if portable {
                blocks::<Plain, PieceByPiece>(shifts, buffers, STREAMING_BLOCK, 0, length, Stop::NEVER)
            } else {
                run(shifts, buffers, stores, threads, Stop::NEVER)
            }
        }
        for (shift, output) in shifts.iter().zip(&outputs) {
            let expected = by_pieces(shift, &inputs, length);
            assert!(output[offset..offset + length] == expected, "{shift:?}, {stores:?}, {threads} threads");
            let around = output[..offset].iter().chain(&output[offset + length..]);
            assert!(around.into_iter().all(|&byte| byte == 0xEE), "{shift:?} wrote outside");
        }
    }

    fn shift(slab: usize, item: usize, distance: usize, upwards: bool, kind: usize, target: usize) -> SlabShift {
        let edge = match kind {
            0 => SlabEdge::Circular,
            1 => SlabEdge::Fill { input: 2, bytes: item * (64 / item).max(1), item },
            // One row a slab; a distance is a number of rows.
            _ => SlabEdge::Rows { input: 3, bytes: item },
        };
        SlabShift { source: target % 2, target, slab, distance: distance % (slab / item + 1) * item, upwards, edge }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn every_way_agrees_with_the_pieces(
            item in prop::sample::select(vec![1_usize, 2, 4, 8, 12, 16]),
            extents in (1_usize..30, 1_usize..40, 1_usize..40),
            kinds in prop::array::uniform3((0_usize..3, 0_usize..50_000, any::<bool>())),
            offset in 0_usize..70,
            streaming in any::<bool>(),
            threads in 1_usize..4,
            portable in any::<bool>(),
        ) {
            let slabs = [item * extents.2, item * extents.2 * extents.1, item * extents.2 * extents.1 * extents.0];
            let shifts: Vec<_> = slabs
                .iter()
                .zip(kinds)
                .enumerate()
                .map(|(target, (&slab, (kind, distance, upwards)))| shift(slab, item, distance, upwards, kind, target))
                .collect();
            let stores = if streaming { Stores::Streaming } else { Stores::Cached };
            check(&shifts, slabs[2], offset, stores, threads, portable);
        }
    }

    #[test]
    fn slabs_longer_than_a_block() {
        let length = 5 * BLOCK + 240;
        for kind in 0..3 {
            for upwards in [false, true] {
                for distance in [0, 1, 3, BLOCK / 8 + 1, 3 * BLOCK / 8, length / 8 - 1, length / 8] {
                    let shifts = [
                        shift(length, 8, distance, upwards, kind, 0),
                        shift(length / 5, 8, distance, upwards, kind, 1),
                        shift(length / (5 * 2), 8, distance, upwards, kind, 2),
                    ];
                    for (stores, threads) in [(Stores::Streaming, 1), (Stores::Cached, 1), (Stores::Streaming, 3)] {
                        check(&shifts, length, 16, stores, threads, false);
                    }
                    check(&shifts, length, 16, Stores::Cached, 1, true);
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn registers_of_32_bytes() {
        if Level::of_processor() < Level::Avx2 {
            eprintln!("skipped: this processor has no AVX2");
            return;
        }
        let length = 3 * BLOCK + 48;
        let inputs = inputs(length, 8);
        let shifts =
            [shift(length, 8, 1, false, 0, 0), shift(length / 3, 8, 2, true, 1, 1), shift(48, 8, 5, true, 0, 2)];
        let shifts = shifts.map(|shift| SlabShift {
            slab: if length.is_multiple_of(shift.slab) { shift.slab } else { length },
            ..shift
        });
        let mut outputs = vec![vec![0_u8; length + 16]; 3];
        let from: Vec<*const u8> = inputs.iter().map(|input| input.as_ptr()).collect();
        let to: Vec<*mut u8> = outputs.iter_mut().map(|output| output[5..].as_mut_ptr()).collect();
        // SAFETY: inputs and outputs are as long as the shifts reach, in vectors of their own, and AVX2 was found a
        // moment ago.
        unsafe {
            run_streaming256(&shifts, Buffers { inputs: &from, outputs: &to, length }, BLOCK, 0, length, Stop::NEVER)
        };
        for (shift, output) in shifts.iter().zip(&outputs) {
            assert!(output[5..5 + length] == by_pieces(shift, &inputs, length), "{shift:?}");
        }
    }
}
