//! Sends by buckets of neighbouring destinations: a pass sorts messages into buckets, another delivers them bucket by
//! bucket, when the destinations of a bucket are in a cache.
//!
//! A message in a bucket is a value and a destination within the bucket. As many as fit a cache line are a *packet*, which
//! is put together in a cache and stored past the caches when it is full. Each thread sorts a stretch of the senders into
//! packets of its own, and a bucket is delivered from first to last stretch: so each destination gets its messages in the
//! order of their senders.

use std::alloc::{Layout, alloc, dealloc};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::combination::Combine;
use super::super::element::Element;
use super::super::indices::Index;
use super::super::lines::{self, Ahead, Hint, LINE};
use super::super::parallel::{on_threads, part};
use super::super::view::Selection;

/// Fewer senders than this are served one after another.
const MANY: usize = if cfg!(test) { 100 } else { 1 << 18 };

/// Destinations of so many bytes are in a cache anyway.
const NEAR: usize = if cfg!(test) { 1 << 10 } else { 128 << 10 };

/// As many destinations in a bucket as 16 bits can tell apart, at most.
const WIDEST: u32 = 16;

/// Buckets are no narrower than this: destinations next to each other in time would be the same one too often.
const NARROWEST: u32 = 8;

/// About so many buckets: a line for each is in the second-level cache.
const BUCKETS: usize = 1024;

/// Senders are served in batches of so many times as many as there are destinations: the packets of a batch are in a cache
/// where destinations are few, and where there are many, those are not fetched again too often.
const TO_EACH: usize = 4;

/// Batches are not smaller than this: threads are started for each.
const BATCH: usize = if cfg!(test) { 300 } else { 2 << 20 };

/// Nor larger: 32 bits count them.
const LARGEST: usize = u32::MAX as usize;

/// Tables that messages are counted in.
const TABLES: usize = 4;

/// Whether buckets are worth their passes.
pub(super) fn pay(senders: usize, destination_bytes: usize) -> bool {
    senders >= MANY && destination_bytes > NEAR
}

/// Who sends, and where to; destinations count from `low`.
pub(super) struct Senders<'a, T, I> {
    pub x: &'a [T],
    pub index: &'a [I],
    pub selection: Selection<'a>,
    pub low: usize,
}

/// A cache line of messages: values from its start on, destinations within the bucket from its end on, downwards, and how
/// many there are at [`FILLED`].
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Packet([u8; LINE]);

/// Where a packet that is being filled keeps how many messages it has; a full one needs no such number.
const fn filled_at<T>() -> usize {
    room::<T>() * (size_of::<T>() + 2)
}

/// Messages of a packet, with a byte left for their number.
const fn room<T>() -> usize {
    (LINE - 1) / (size_of::<T>() + 2)
}

impl Packet {
    #[inline(always)]
    unsafe fn put<T: Element>(&mut self, place: usize, value: T, destination: u16) {
        let start = self.0.as_mut_ptr();
        // SAFETY: the place is below `room`.
        unsafe {
            start.cast::<T>().add(place).write(value);
            start.add(room::<T>() * size_of::<T>()).cast::<u16>().add(place).write_unaligned(destination);
        }
    }

    #[inline(always)]
    unsafe fn get<T: Element>(&self, place: usize) -> (T, usize) {
        let start = self.0.as_ptr();
        // SAFETY: the place is below `room`.
        unsafe {
            let value = start.cast::<T>().add(place).read();
            let destination = start.add(room::<T>() * size_of::<T>()).cast::<u16>().add(place).read_unaligned();
            (value, destination.into())
        }
    }
}

/// Delivers all messages to `out`, which has a destination for each. False where there is no memory for the buckets;
/// nothing is delivered then.
pub(super) fn deliver<T: Element, I: Index, C: Combine<T>>(
    senders: &Senders<'_, T, I>,
    out: &mut [T],
    threads: usize,
) -> bool {
    let count = senders.x.len();
    let width = out.len().div_ceil(BUCKETS).next_power_of_two().ilog2().clamp(NARROWEST, WIDEST);
    let buckets = ((out.len() - 1) >> width) + 1;
    let batch = count.min(BATCH.max(out.len().saturating_mul(TO_EACH))).min(LARGEST);
    // The last packet of a bucket and stretch need not be full.
    let Some(memory) = Memory::new(batch.div_ceil(room::<T>()) + buckets * threads) else { return false };
    let mut start = 0;
    while start < count {
        let left = count - start;
        // The last two are alike.
        let end = start + if left <= batch || left >= 2 * batch { left.min(batch) } else { left / 2 };
        deliver_batch::<T, I, C>(senders, start..end, out, Sorting { width, buckets, threads, memory: &memory });
        start = end;
    }
    true
}

/// How a batch is sorted.
#[derive(Clone, Copy)]
struct Sorting<'a> {
    width: u32,
    buckets: usize,
    threads: usize,
    memory: &'a Memory,
}

fn deliver_batch<T: Element, I: Index, C: Combine<T>>(
    senders: &Senders<'_, T, I>,
    batch: Range<usize>,
    out: &mut [T],
    sorting: Sorting<'_>,
) {
    let Sorting { width, buckets, threads, memory } = sorting;
    let stretch = |number: usize| {
        let own = part(batch.len(), 1, number, threads);
        batch.start + own.start..batch.start + own.end
    };
    let counts = on_threads(threads, |number| {
        // Tables by turns, so that a count does not wait for the one before it.
        let mut tables = vec![[0_u32; TABLES]; buckets];
        for element in stretch(number) {
            if senders.selection.holds(element) {
                let bucket = (senders.index[element].place() - senders.low) >> width;
                // SAFETY: all selected destinations are in `out`.
                unsafe { tables.get_unchecked_mut(bucket)[element % TABLES] += 1 };
            }
        }
        let counts: Vec<usize> = tables.iter().map(|counts| counts.iter().map(|&count| count as usize).sum()).collect();
        counts
    });
    // First packet of each bucket and stretch.
    let mut starts: Vec<Vec<usize>> = vec![Vec::with_capacity(buckets); threads];
    let mut packets = 0;
    for bucket in 0..buckets {
        for (starts, counts) in starts.iter_mut().zip(&counts) {
            starts.push(packets);
            packets += counts[bucket].div_ceil(room::<T>());
        }
    }
    on_threads(threads, |number| {
        // SAFETY: the packets of a stretch are written by one thread only, as many as were counted.
        unsafe { sort::<T, I>(senders, stretch(number), width, &starts[number], memory) };
    });
    let next = AtomicUsize::new(0);
    let out = Shared(out.as_mut_ptr());
    on_threads(threads, |_| {
        let out = &out;
        let destinations = |bucket: usize| out.0.wrapping_add(bucket << width);
        let mut bucket = next.fetch_add(1, Ordering::Relaxed);
        while bucket < buckets {
            let following = next.fetch_add(1, Ordering::Relaxed);
            let messages: usize = counts.iter().map(|counts| counts[bucket]).sum();
            let mut ahead = if following < buckets {
                let lines = ((size_of::<T>() << width) / LINE).min(messages);
                // So many bytes of the next bucket for each packet of this one.
                let pace = lines * LINE * room::<T>() / messages.max(1);
                Ahead::new(&[(destinations(following).cast_const().cast(), pace)], Hint::Second)
            } else {
                Ahead::NOTHING
            };
            for (starts, counts) in starts.iter().zip(&counts) {
                // SAFETY: so many messages were sorted there, and their destinations are in the bucket, which is no other
                // thread's.
                unsafe {
                    let packets = memory.packet(starts[bucket]);
                    deliver_packets::<T, C>(packets, counts[bucket], destinations(bucket), &mut ahead);
                }
            }
            bucket = following;
        }
    });
}

/// A pointer that threads share, each using elements of its own.
struct Shared<T>(*mut T);
// SAFETY: as said there.
unsafe impl<T: Send> Sync for Shared<T> {}

/// Room for packets.
struct Memory {
    packets: *mut Packet,
    layout: Layout,
    /// It is larger than the caches: packets go past them.
    streaming: bool,
}

// SAFETY: threads use packets of their own.
unsafe impl Sync for Memory {}

/// Pages of this size are asked for where there are such.
const LARGE_PAGE: usize = 2 << 20;

impl Memory {
    fn new(packets: usize) -> Option<Self> {
        let bytes = packets.max(1).checked_mul(LINE)?;
        let layout = Layout::from_size_align(bytes, if bytes < LARGE_PAGE { LINE } else { LARGE_PAGE }).ok()?;
        // SAFETY: the layout is not empty.
        let packets: *mut Packet = unsafe { alloc(layout) }.cast();
        if packets.is_null() {
            return None;
        }
        lines::ask_for_large_pages(packets.cast(), bytes);
        Some(Self { packets, layout, streaming: lines::passes_caches(2 * bytes) })
    }

    unsafe fn packet(&self, number: usize) -> *mut Packet {
        // SAFETY: the caller's: there are so many.
        unsafe { self.packets.add(number) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated so.
        unsafe { dealloc(self.packets.cast(), self.layout) };
    }
}

/// Sorts the messages of a stretch of senders into packets, those of each bucket from its start on.
unsafe fn sort<T: Element, I: Index>(
    senders: &Senders<'_, T, I>,
    stretch: Range<usize>,
    width: u32,
    starts: &[usize],
    memory: &Memory,
) {
    let streaming = memory.streaming;
    let mut open = vec![Packet([0; LINE]); starts.len()];
    let mut next: Vec<*mut Packet> = starts.iter().map(|&start| memory.packets.wrapping_add(start)).collect();
    let within = (1_usize << width) - 1;
    for element in stretch {
        if !senders.selection.holds(element) {
            continue;
        }
        // SAFETY: elements are in range; so are buckets, as all selected destinations are; and as many packets are
        // written as were counted.
        unsafe {
            let destination = senders.index.get_unchecked(element).place() - senders.low;
            let bucket = destination >> width;
            let packet = open.get_unchecked_mut(bucket);
            let place = packet.0[filled_at::<T>()] as usize;
            packet.put::<T>(place, *senders.x.get_unchecked(element), (destination & within) as u16);
            if place + 1 == room::<T>() {
                let target = next.get_unchecked_mut(bucket);
                if streaming {
                    lines::store_line((&raw const *packet).cast(), (*target).cast());
                } else {
                    target.write(*packet);
                }
                *target = target.add(1);
                packet.0[filled_at::<T>()] = 0;
            } else {
                packet.0[filled_at::<T>()] = place as u8 + 1;
            }
        }
    }
    for (packet, target) in open.iter().zip(next) {
        if packet.0[filled_at::<T>()] > 0 {
            // SAFETY: a packet that is not full was counted too.
            unsafe { target.write(*packet) };
        }
    }
    lines::fence();
}

/// Delivers `count` messages to the destinations of a bucket.
unsafe fn deliver_packets<T: Element, C: Combine<T>>(
    packets: *const Packet,
    count: usize,
    out: *mut T,
    ahead: &mut Ahead,
) {
    // SAFETY: the caller's.
    unsafe {
        let to = |(value, destination): (T, usize)| {
            let to = out.add(destination);
            to.write(C::combine(to.read(), value));
        };
        let full = count / room::<T>();
        for number in 0..full {
            let packet = &*packets.add(number);
            ahead.advance();
            for place in 0..room::<T>() {
                to(packet.get::<T>(place));
            }
        }
        for place in 0..count % room::<T>() {
            to((*packets.add(full)).get::<T>(place));
        }
    }
}
