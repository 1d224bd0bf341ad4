//! The queue of future events: a monotone radix heap.
//!
//! Virtual time never goes back, so an event is never earlier than the one taken last; a radix heap then needs only
//! appends to buckets and, now and then, one pass over the lowest bucket (Ahuja, Mehlhorn, Orlin, Tarjan 1990).
//! Events of the same time come out in the order they went in: equal times always share a bucket, and a bucket keeps
//! its order.

use weft_base::Picos;

/// Buckets by the highest bit in which a time differs from that of the event taken last, and one for no difference.
const BUCKETS: usize = 65;

/// A queue of events ordered by time, then by insertion.
#[derive(Debug)]
pub struct EventQueue<E> {
    buckets: [Vec<(u64, E)>; BUCKETS],
    /// Bit `i` is set when bucket `i + 1` is not empty.
    occupied: u64,
    /// The next event of bucket 0; those before it have been taken.
    next: usize,
    last: u64,
}

impl<E: Copy> EventQueue<E> {
    /// An empty queue at time zero.
    pub fn new() -> EventQueue<E> {
        EventQueue { buckets: std::array::from_fn(|_| Vec::new()), occupied: 0, next: 0, last: 0 }
    }

    /// The time of the event taken last: nothing earlier may be added.
    pub fn now(&self) -> Picos {
        Picos(self.last)
    }

    /// How many events are in it.
    pub fn len(&self) -> usize {
        self.buckets.iter().map(Vec::len).sum::<usize>() - self.next
    }

    /// Adds an event.
    ///
    /// # Panics
    /// In debug builds, when `time` lies before [`EventQueue::now`].
    #[inline]
    pub fn push(&mut self, time: Picos, event: E) {
        debug_assert!(time.0 >= self.last, "an event at {} ps, but it is {} ps already", time.0, self.last);
        self.insert(time.0, event);
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Picos, E)> {
        if self.next == self.buckets[0].len() {
            self.buckets[0].clear();
            self.next = 0;
            if self.occupied == 0 {
                return None;
            }
            let bucket = self.occupied.trailing_zeros() as usize + 1;
            self.occupied &= self.occupied - 1;
            if let [(time, event)] = self.buckets[bucket][..] {
                self.buckets[bucket].clear();
                self.last = time;
                return Some((Picos(time), event));
            }
            self.refill_from(bucket);
        }
        let (time, event) = self.buckets[0][self.next];
        self.next += 1;
        Some((Picos(time), event))
    }

    /// The event that will be taken after `others` more, if those are of this moment.
    #[inline]
    pub fn of_this_moment(&self, others: usize) -> Option<E> {
        self.buckets[0].get(self.next + others).map(|&(_, event)| event)
    }

    /// An event that will be taken soon, after those of this moment: a guess.
    #[inline]
    pub fn of_a_later_moment(&self) -> Option<E> {
        if self.occupied == 0 {
            return None;
        }
        self.buckets[self.occupied.trailing_zeros() as usize + 1].first().map(|&(_, event)| event)
    }

    #[inline]
    fn insert(&mut self, time: u64, event: E) {
        let differing = time ^ self.last;
        let bucket = (u64::BITS - differing.leading_zeros()) as usize;
        self.buckets[bucket].push((time, event));
        if bucket > 0 {
            self.occupied |= 1 << (bucket - 1);
        }
    }

    /// Brings the earliest events of a bucket into bucket 0, and the others nearer to it.
    fn refill_from(&mut self, bucket: usize) {
        let mut events = std::mem::take(&mut self.buckets[bucket]);
        self.last = events.iter().map(|&(time, _)| time).min().expect("an occupied bucket has events");
        for &(time, event) in &events {
            self.insert(time, event);
        }
        events.clear();
        self.buckets[bucket] = events;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    proptest! {
        /// Against a binary heap over (time, order of insertion), with pushes between pops.
        #[test]
        fn comes_out_in_order_of_time_then_insertion(steps in proptest::collection::vec((0u64..5000, 0usize..3), 1..300)) {
            let mut queue = EventQueue::new();
            let mut oracle = BinaryHeap::new();
            for (order, &(delay, pops)) in steps.iter().enumerate() {
                let time = queue.now().0 + if delay < 1000 { delay % 3 } else { delay };
                queue.push(Picos(time), order);
                oracle.push(Reverse((time, order)));
                for _ in 0..pops {
                    prop_assert_eq!(queue.pop().map(|(time, order)| (time.0, order)), oracle.pop().map(|Reverse(pair)| pair));
                }
            }
            while let Some(Reverse((time, order))) = oracle.pop() {
                prop_assert_eq!(queue.pop(), Some((Picos(time), order)));
            }
            prop_assert!(queue.pop().is_none());
        }
    }
}
