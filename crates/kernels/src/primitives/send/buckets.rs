//! Sends by buckets of neighbouring destinations: a pass sorts messages into buckets, another delivers them bucket by
//! bucket, when the destinations of a bucket are in a cache.
//!
//! A message in a bucket is a value and a destination within the bucket. As many as fit two cache lines are a *packet*,
//! which is put together in a cache and stored by non-temporal stores after it is full. Packets of a bucket are in
//! *chunks* that are taken one after another as they are needed, so that nobody counts messages first. Each thread
//! sorts a run of the senders into chunks of its own, and a bucket is delivered from first to last run: so each
//! destination gets its messages in the order of their senders.

use std::alloc::{Layout, alloc, dealloc};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_simd::on_threads;

use crate::Stop;

use super::super::View;
use super::super::combination::Combine;
use super::super::element::Element;
use super::super::indices::{Block, Index, SharedIndices};
use super::super::lines::{self, Ahead, Hint, LINE};
use super::super::parallel::part;
use super::super::view::Selection;
use super::collisions::count_marks;

/// Fewer senders than this are served one after another: their destinations are in a cache that cores share, if not in
/// a nearer one, and to sort them takes two to six times as long.
const MANY: usize = if cfg!(test) { 100 } else { 2 << 20 };

/// Destinations of so many bytes are in a cache anyway.
const NEAR: usize = if cfg!(test) { 1 << 10 } else { 128 << 10 };

/// As many destinations in a bucket as 16 bits can tell apart, at most.
const WIDEST: u32 = 16;

/// Buckets are no narrower than this: destinations next to each other in time would be the same one too often.
const NARROWEST: u32 = 8;

/// About so many buckets: a packet for each is in the second-level cache while messages are sorted, and twice the
/// destinations of one while they are delivered.
const BUCKETS: usize = 2048;

/// Without a workspace for all, senders are served in batches of so many times as many as there are destinations: few
/// pages are taken where destinations are few, and where there are many, those are not fetched again too often.
const TO_EACH: usize = 4;

/// Batches are not smaller than this: threads are started for each.
const BATCH: usize = if cfg!(test) { 300 } else { 2 << 20 };

/// Nor larger: 32 bits count them.
const LARGEST: usize = u32::MAX as usize;

/// Bytes of a packet. Whether it is full is foreseen by no processor: the fewer packets, the fewer wrong guesses.
const PACKET: usize = 2 * LINE;

/// Packets of a chunk, at most: a page, within which processors fetch ahead by themselves.
const CHUNK: usize = (4 << 10) / PACKET;

/// A chunk has at most this share of the packets that a bucket has on average, so that little memory is wasted.
const SHARE: usize = 4;

/// While a packet is delivered the one so many further is fetched: longer than memory takes to answer.
const FETCHED: usize = 16;

/// Senders so many bytes ahead are fetched while messages are sorted.
const SENDERS_AHEAD: usize = 2 << 10;

/// Whether buckets are worth their passes.
pub(super) fn pay(senders: usize, destination_bytes: usize) -> bool {
    senders >= MANY && destination_bytes > NEAR
}

/// Who sends, and where to; destinations count from `low`, and there are so many.
pub(super) struct Senders<'a, T, I> {
    pub x: &'a [T],
    pub index: SharedIndices<'a, I>,
    pub selection: Selection<'a>,
    pub low: usize,
    pub destinations: usize,
    pub stop: Stop<'a>,
}

/// Messages: values from its start on, and after all of those destinations within the bucket.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Packet([u8; PACKET]);

const _: () = assert!(align_of::<Packet>() == PACKET);

/// Messages of a packet, of values of so many bytes.
const fn capacity_for(size: usize) -> usize {
    PACKET / (size + size_of::<u16>())
}

const fn capacity<T>() -> usize {
    capacity_for(size_of::<T>())
}

impl Packet {
    const EMPTY: Self = Self([0; PACKET]);

    #[inline(always)]
    unsafe fn put<T: Element>(&mut self, slot: usize, value: T, destination: u16) {
        let start = self.0.as_mut_ptr();
        // SAFETY: the slot is below `capacity`.
        unsafe {
            start.cast::<T>().add(slot).write(value);
            start.add(capacity::<T>() * size_of::<T>()).cast::<u16>().add(slot).write_unaligned(destination);
        }
    }

    #[inline(always)]
    unsafe fn value<T: Element>(&self, slot: usize) -> T {
        // SAFETY: the slot is below `capacity`.
        unsafe { self.0.as_ptr().cast::<T>().add(slot).read() }
    }

    /// The destinations from one on, as many as a D has sixteen bits for.
    #[inline(always)]
    unsafe fn destinations<T: Element, D: Copy>(&self, slot: usize) -> D {
        let start = self.0.as_ptr().wrapping_add(capacity::<T>() * size_of::<T>());
        // SAFETY: so many slots from this one on are below `capacity`.
        unsafe { start.cast::<u16>().add(slot).cast::<D>().read_unaligned() }
    }
}

/// How messages are sorted.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Bits of a destination within its bucket.
    width: u32,
    buckets: usize,
    threads: usize,
    /// Senders of a batch.
    batch: usize,
    /// Packets of a chunk, a power of two.
    chunk: usize,
    /// Packets that each thread has room for.
    packets: usize,
}

impl Plan {
    /// None where more packets are needed than there can be.
    fn new(senders: usize, size: usize, destinations: usize, threads: usize, batch: usize) -> Option<Self> {
        let width = destinations.div_ceil(BUCKETS).next_power_of_two().ilog2().clamp(NARROWEST, WIDEST);
        let buckets = ((destinations - 1) >> width) + 1;
        let batch = senders.min(batch).min(LARGEST);
        let run = batch.div_ceil(threads);
        let usual = run / buckets / capacity_for(size) / SHARE;
        let chunk = 1 << usual.clamp(2, CHUNK).ilog2();
        // A bucket begins with a chunk, and gets another one when all packets of that are full.
        let chunks = run / (capacity_for(size) * chunk) + buckets;
        let packets = chunks.checked_mul(chunk).filter(|&packets| packets <= u32::MAX as usize)?;
        Some(Self { width, buckets, threads, batch, chunk, packets })
    }

    fn bytes(&self) -> Option<usize> {
        self.packets.checked_mul(self.threads)?.checked_mul(PACKET)
    }
}

/// Bytes that are enough to sort the messages of so many senders, of elements of so many bytes; 0 where none are needed.
pub(super) fn wanted(senders: usize, size: usize, destinations: usize, threads: usize) -> usize {
    if !pay(senders, destinations.saturating_mul(size)) {
        return 0;
    }
    let plan = Plan::new(senders, size, destinations, threads, senders);
    plan.and_then(|plan| plan.bytes()).map_or(0, |bytes| bytes + PACKET)
}

/// What became of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Delivered,
    /// Nothing was: there is no memory for the buckets, or not for all of them at once where two may not be sent to one.
    NotSorted,
    /// Nothing was: two are sent to one.
    Collided,
}

/// When it is found out whether two messages are sent to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Never: they are combined.
    Never,
    /// Before the first one is delivered.
    Before,
    /// As those of a bucket are delivered, when its packets are in a near cache.
    Meanwhile,
}

/// Delivers all messages to `out`, which has a destination for each; where no two are sent to one if that is to be refused.
/// They are sorted in `workspace` where that is enough.
pub(super) fn deliver<T: Element, I: Index, C: Combine<T>>(
    senders: &Senders<'_, T, I>,
    out: &mut [T],
    workspace: Option<&View>,
    threads: usize,
    refusal: Refusal,
) -> Outcome {
    let count = senders.x.len();
    let plan = |batch: usize| {
        let plan = Plan::new(count, size_of::<T>(), out.len(), threads, batch)?;
        Some((plan, plan.bytes()?))
    };
    let all = || plan(count).and_then(|(plan, bytes)| Some((plan, Memory::within_workspace(bytes, workspace?)?)));
    let some = || {
        let (plan, bytes) = plan(BATCH.max(out.len().saturating_mul(TO_EACH)))?;
        Some((plan, Memory::new(bytes)?))
    };
    let Some((plan, memory)) = all().or_else(some) else { return Outcome::NotSorted };
    if refusal != Refusal::Never && plan.batch < count {
        return Outcome::NotSorted;
    }
    let mut start = 0;
    while start < count && !senders.stop.is_requested() {
        let left = count - start;
        // The last two are alike.
        let end = start + if left <= plan.batch || left >= 2 * plan.batch { left.min(plan.batch) } else { left / 2 };
        if !deliver_batch::<T, I, C>(senders, start..end, out, plan, &memory, refusal) {
            return Outcome::Collided;
        }
        start = end;
    }
    Outcome::Delivered
}

/// Delivers some messages; false where two are sent to one and that is refused, with none delivered if it is found out before.
fn deliver_batch<T: Element, I: Index, C: Combine<T>>(
    senders: &Senders<'_, T, I>,
    batch: Range<usize>,
    out: &mut [T],
    plan: Plan,
    memory: &Memory,
    refusal: Refusal,
) -> bool {
    let sorted = on_threads(plan.threads, |number| {
        let own = part(batch.len(), 1, number, plan.threads);
        let run = batch.start + own.start..batch.start + own.end;
        // SAFETY: the packets of a run are written by one thread only, and there is room for as many.
        unsafe {
            sort::<T, I>(senders, run, plan, memory.packets.wrapping_add(number * plan.packets), memory.streaming)
        }
    });
    if refusal == Refusal::Before && !are_distinct::<T>(&sorted, plan, senders.stop) {
        return false;
    }
    let next = AtomicUsize::new(0);
    let out = Shared(out.as_mut_ptr());
    let delivered = on_threads(plan.threads, |_| {
        let out = &out;
        let mut marks = if refusal == Refusal::Meanwhile { Marks::new(plan) } else { Marks::NONE };
        let destinations = |bucket: usize| out.0.wrapping_add(bucket << plan.width);
        let mut bucket = next.fetch_add(1, Ordering::Relaxed);
        while bucket < plan.buckets && !senders.stop.is_requested() {
            let following = next.fetch_add(1, Ordering::Relaxed);
            let messages: usize = sorted.iter().map(|run| run.counts[bucket]).sum();
            let mut ahead = if following < plan.buckets {
                let lines = ((size_of::<T>() << plan.width) / LINE).min(messages);
                // So many bytes of the next bucket for each packet of this one.
                let pace = lines * LINE * capacity::<T>() / messages.max(1);
                Ahead::new(&[(destinations(following).cast_const().cast(), pace)], Hint::Second)
            } else {
                Ahead::NOTHING
            };
            for (number, run) in sorted.iter().enumerate() {
                let then = match sorted.get(number + 1) {
                    Some(run) => run.first(bucket),
                    None if following < plan.buckets => sorted[0].first(following),
                    None => std::ptr::null(),
                };
                // SAFETY: so many messages were sorted there, and their destinations are in the bucket, which is no other
                // thread's.
                unsafe { run.deliver::<T, C>(bucket, destinations(bucket), then, &mut ahead) };
            }
            if refusal == Refusal::Meanwhile && !marks.are_distinct::<T>(&sorted, bucket) {
                // Nobody need deliver the others.
                next.store(plan.buckets, Ordering::Relaxed);
                return false;
            }
            bucket = following;
        }
        true
    });
    delivered.into_iter().all(|distinct| distinct)
}

/// Whether no two messages are sent to one destination: as many bytes are marked then, bucket by bucket, as there are
/// messages. The marks of a bucket are in a near cache, and of a packet only the destinations are read.
fn are_distinct<T: Element>(sorted: &[Sorted], plan: Plan, stop: Stop<'_>) -> bool {
    let next = AtomicUsize::new(0);
    let parts = on_threads(plan.threads, |_| {
        let mut marks = Marks::new(plan);
        loop {
            let bucket = next.fetch_add(1, Ordering::Relaxed);
            if bucket >= plan.buckets || stop.is_requested() {
                return true;
            }
            if !marks.are_distinct::<T>(sorted, bucket) {
                // Nobody need look at the others.
                next.store(plan.buckets, Ordering::Relaxed);
                return false;
            }
        }
    });
    parts.into_iter().all(|distinct| distinct)
}

/// A byte for each destination of a bucket.
struct Marks(Vec<u8>);

impl Marks {
    const NONE: Self = Self(Vec::new());

    fn new(plan: Plan) -> Self {
        Self(vec![0; 1 << plan.width])
    }

    /// Whether no two messages of a bucket are sent to one destination.
    fn are_distinct<T: Element>(&mut self, sorted: &[Sorted], bucket: usize) -> bool {
        self.0.fill(0);
        let mut sent = 0;
        for run in sorted {
            run.mark::<T>(bucket, &mut self.0);
            sent += run.counts[bucket];
        }
        count_marks(&self.0) == sent
    }
}

/// A pointer that threads share, each using elements of its own.
struct Shared<T>(*mut T);
// SAFETY: as said there.
unsafe impl<T: Send> Sync for Shared<T> {}

/// Memory for packets.
struct Memory {
    packets: *mut Packet,
    /// Where it is not somebody else's.
    own: Option<Layout>,
    /// It is larger than the caches: packets go past them.
    streaming: bool,
}

// SAFETY: threads use packets of their own.
unsafe impl Sync for Memory {}

/// Pages of this size are asked for where there are such.
const LARGE_PAGE: usize = 2 << 20;

impl Memory {
    /// That which is given, where it is enough.
    fn within_workspace(bytes: usize, within_workspace: &View) -> Option<Self> {
        let before = within_workspace.pointer.align_offset(PACKET);
        let enough = before.checked_add(bytes).is_some_and(|end| end <= within_workspace.bytes());
        let packets = within_workspace.pointer.wrapping_add(before).cast();
        enough.then(|| Self { packets, own: None, streaming: lines::passes_caches(2 * bytes) })
    }

    /// Fresh memory, which the system has to supply page by page.
    fn new(bytes: usize) -> Option<Self> {
        let layout =
            Layout::from_size_align(bytes.max(1), if bytes < LARGE_PAGE { PACKET } else { LARGE_PAGE }).ok()?;
        // SAFETY: the layout is not empty.
        let packets: *mut Packet = unsafe { alloc(layout) }.cast();
        if packets.is_null() {
            return None;
        }
        weft_simd::advise_huge_pages(packets.cast(), bytes);
        Some(Self { packets, own: Some(layout), streaming: lines::passes_caches(2 * bytes) })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(layout) = self.own {
            // SAFETY: it was allocated so.
            unsafe { dealloc(self.packets.cast(), layout) };
        }
    }
}

/// The messages of a run of senders.
struct Sorted {
    packets: *const Packet,
    /// Packets of a chunk.
    chunk: usize,
    /// The first packet of each bucket.
    firsts: Vec<u32>,
    /// The first packet of the chunk after each chunk.
    following: Vec<u32>,
    /// Messages of each bucket.
    counts: Vec<usize>,
}

// SAFETY: packets are only read once they are sorted.
unsafe impl Send for Sorted {}
// SAFETY: packets are only read once they are sorted, by whichever threads.
unsafe impl Sync for Sorted {}

/// Fetches what comes `SENDERS_AHEAD` bytes after the `LINE` values from an address on.
#[inline(always)]
fn fetch_ahead<T>(values: *const T) {
    let ahead = values.cast::<u8>().wrapping_add(SENDERS_AHEAD);
    for line in 0..size_of::<T>() {
        weft_simd::prefetch(ahead.wrapping_add(line * LINE));
    }
}

/// Sorts the messages of a run of senders into the packets from `packets` on.
#[inline(never)]
unsafe fn sort<T: Element, I: Index>(
    senders: &Senders<'_, T, I>,
    run: Range<usize>,
    plan: Plan,
    packets: *mut Packet,
    streaming: bool,
) -> Sorted {
    let Plan { width, buckets, chunk, .. } = plan;
    let mut open = vec![Packet::EMPTY; buckets];
    // Messages in the open packets. Not in those themselves: what was just written there would be waited for.
    let mut filled = vec![0_u8; buckets];
    let firsts: Vec<u32> = (0..buckets).map(|bucket| (bucket * chunk) as u32).collect();
    let mut next = firsts.clone();
    let mut taken = buckets * chunk;
    let mut following = vec![0; plan.packets / chunk];
    let mut counts = vec![0_usize; buckets];
    let within = (1_usize << width) - 1;
    let mut put = |element: usize, destination: usize| {
        // SAFETY: elements are in range, and so are buckets, as the destination is; there are as many packets as messages
        // can fill.
        unsafe {
            let bucket = destination >> width;
            let packet = open.get_unchecked_mut(bucket);
            let filled = filled.get_unchecked_mut(bucket);
            let mut slot = usize::from(*filled);
            // Full ones are stored when the next message comes: what was written last is in the cache by then.
            if slot == capacity::<T>() {
                let number = next.get_unchecked_mut(bucket);
                let target = packets.add(*number as usize);
                if streaming {
                    for line in 0..PACKET / LINE {
                        let start = line * LINE;
                        lines::store_line((&raw const *packet).cast::<u8>().add(start), target.cast::<u8>().add(start));
                    }
                } else {
                    target.write(*packet);
                }
                *number += 1;
                if (*number as usize).is_multiple_of(chunk) {
                    *counts.get_unchecked_mut(bucket) += chunk * capacity::<T>();
                    *following.get_unchecked_mut(*number as usize / chunk - 1) = taken as u32;
                    *number = taken as u32;
                    taken += chunk;
                }
                slot = 0;
            }
            packet.put::<T>(slot, *senders.x.get_unchecked(element), (destination & within) as u16);
            *filled = slot as u8 + 1;
        }
    };
    let mut block = Block::new();
    for start in run.clone().step_by(LINE) {
        if senders.stop.is_requested() {
            break;
        }
        let end = run.end.min(start + LINE);
        fetch_ahead(senders.index.address(start));
        fetch_ahead(senders.x.as_ptr().wrapping_add(start));
        let Senders { index, low, destinations, .. } = *senders;
        match senders.selection.part(start, end).0 {
            None => index.for_each_below::<1>(start..end, low, destinations, &mut put),
            mask => {
                let copied = index.copy_selected(start..end, mask, [low, destinations - 1], &mut block);
                copied.for_each(|element, destination| put(start + element, destination));
            }
        }
    }
    for bucket in 0..buckets {
        let number = next[bucket] as usize;
        counts[bucket] += number % chunk * capacity::<T>() + usize::from(filled[bucket]);
        // SAFETY: there is a packet for those that are not full.
        unsafe { packets.add(number).write(open[bucket]) };
    }
    lines::fence();
    Sorted { packets, chunk, firsts, following, counts }
}

impl Sorted {
    fn first(&self, bucket: usize) -> *const Packet {
        self.packets.wrapping_add(self.firsts[bucket] as usize)
    }

    /// Marks the destinations of a bucket's messages.
    fn mark<T: Element>(&self, bucket: usize, marks: &mut [u8]) {
        let mut left = self.counts[bucket];
        let mut first = self.firsts[bucket] as usize;
        while left > 0 {
            for number in first..first + self.chunk {
                let ahead = self.packets.wrapping_add(number + FETCHED).cast::<u8>();
                weft_simd::prefetch(ahead.wrapping_add(PACKET - LINE));
                let count = left.min(capacity::<T>());
                // SAFETY: so many messages were sorted into this packet.
                let packet = unsafe { &*self.packets.add(number) };
                for slot in 0..count {
                    // SAFETY: the slot is of a message, and its destination is one of the bucket's, which there is a mark
                    // for: whoever has sorted it has taken no more bits.
                    unsafe { *marks.get_unchecked_mut(usize::from(packet.destinations::<T, u16>(slot))) = 1 };
                }
                left -= count;
                if left == 0 {
                    return;
                }
            }
            first = self.following[first / self.chunk] as usize;
        }
    }

    /// Delivers the messages of a bucket, whose destinations begin at `out`; packets at `then` are read next.
    unsafe fn deliver<T: Element, C: Combine<T>>(
        &self,
        bucket: usize,
        out: *mut T,
        then: *const Packet,
        ahead: &mut Ahead,
    ) {
        let to = |value: T, destination: u16| {
            let to = out.wrapping_add(destination.into());
            // SAFETY: destinations are in the bucket.
            unsafe { to.write(C::combine(to.read(), value)) };
        };
        let mut left = self.counts[bucket];
        let mut first = self.firsts[bucket] as usize;
        let apart = FETCHED.min(self.chunk);
        while left > 0 {
            let following = self.following[first / self.chunk] as usize;
            let is_last = left <= self.chunk * capacity::<T>();
            let own = self.packets.wrapping_add(first);
            let after = if is_last { then } else { self.packets.wrapping_add(following) };
            for number in 0..self.chunk {
                let coming = number + apart;
                let coming = if coming < self.chunk {
                    own.wrapping_add(coming)
                } else {
                    after.wrapping_add(coming - self.chunk)
                };
                for line in 0..PACKET / LINE {
                    weft_simd::prefetch(coming.cast::<u8>().wrapping_add(line * LINE));
                }
                ahead.advance();
                // SAFETY: so many messages were sorted.
                unsafe {
                    let packet = &*own.add(number);
                    if left < capacity::<T>() {
                        for slot in 0..left {
                            to(packet.value(slot), packet.destinations::<T, u16>(slot));
                        }
                        return;
                    }
                    // Four destinations are read before the first is written to, which might be anywhere for all that
                    // a compiler knows.
                    for slot in (0..capacity::<T>() / 4 * 4).step_by(4) {
                        let four: [u16; 4] = packet.destinations::<T, _>(slot);
                        for (number, destination) in four.into_iter().enumerate() {
                            to(packet.value(slot + number), destination);
                        }
                    }
                    for slot in capacity::<T>() / 4 * 4..capacity::<T>() {
                        to(packet.value(slot), packet.destinations::<T, u16>(slot));
                    }
                }
                left -= capacity::<T>();
                if left == 0 {
                    return;
                }
            }
            first = following;
        }
    }
}
