//! The state of every directed link.

use weft_base::Picos;

use crate::table::Table;

/// A stretch of time in which a link is held.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    from: u64,
    until: u64,
}

/// The last two stretches in which a link is held. The one before the last is in the past when the last one is.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Held {
    before: Interval,
    last: Interval,
}

/// When each link is held, and on request what it has carried.
///
/// Messages are presented in the order in which they enter the network, not in that in which they reach each link. So a
/// link remembers the last two stretches of its future, and a message that reaches it before one of them takes the gap if
/// it is short enough; without that, a link that was promised for a later moment would be lost until then. (With four
/// stretches the delays of `tests/hop_by_hop.rs` are hardly nearer, and the simulator is a fifth slower.)
#[derive(Clone, Debug)]
pub struct Links {
    held: Table<Held>,
    traffic: Option<Table<Traffic>>,
}

/// What a link has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub messages: u64,
    pub bytes: u64,
    /// How long the link was held, waiting included where the switching technique holds blocked links.
    pub held: Picos,
}

impl Links {
    /// `count` idle links.
    pub fn new(count: usize) -> Links {
        Links { held: Table::new(count), traffic: None }
    }

    /// Records from now on what every link carries.
    pub fn record_traffic(&mut self) {
        self.traffic = Some(Table::new(self.held.len()));
    }

    /// What every link has carried, if it was recorded.
    pub fn traffic(&self) -> Option<&Table<Traffic>> {
        self.traffic.as_ref()
    }

    /// When `link` is free for good, as far as is known.
    #[inline]
    pub fn free(&self, link: usize) -> Picos {
        Picos(self.held[link].last.until)
    }

    /// Takes `link` for `duration` as soon as possible after `reached`, in a gap if one is long enough, and says when.
    ///
    /// Nothing before `now` will be asked for any more.
    ///
    /// # Examples
    /// ```
    /// use weft_base::Picos;
    /// use weft_network::Links;
    ///
    /// let mut links = Links::new(1);
    /// assert_eq!(links.take(0, Picos(100), Picos(10), Picos(0), 1), Picos(100));
    /// // A short message passes in the gap before that, a long one has to wait until it is through.
    /// assert_eq!(links.take(0, Picos(20), Picos(10), Picos(0), 1), Picos(20));
    /// assert_eq!(links.take(0, Picos(40), Picos(80), Picos(0), 1), Picos(110));
    /// ```
    #[inline(always)]
    pub fn take(&mut self, link: usize, reached: Picos, duration: Picos, now: Picos, bytes: u64) -> Picos {
        let from = self.held[link].fit(reached.0, duration.0, now.0);
        self.record(link, Picos(from), Picos(from) + duration, bytes);
        Picos(from)
    }

    /// Holds `link`, which is free for good at `from`, until `until`.
    #[inline]
    pub fn hold(&mut self, link: usize, from: Picos, until: Picos, bytes: u64) {
        self.held[link].last = Interval { from: from.0, until: until.0 };
        self.record(link, from, until, bytes);
    }

    #[inline]
    fn record(&mut self, link: usize, from: Picos, until: Picos, bytes: u64) {
        if let Some(traffic) = &mut self.traffic {
            let traffic = &mut traffic[link];
            traffic.messages += 1;
            traffic.bytes += bytes;
            traffic.held += until - from;
        }
    }
}

impl Held {
    /// Finds the first gap after `reached` that is long enough, and takes it. A stretch that is forgotten and not past
    /// joins its neighbour: the gap between them is lost.
    #[inline(always)]
    fn fit(&mut self, reached: u64, duration: u64, now: u64) -> u64 {
        let Held { before, last } = *self;
        if reached.saturating_add(duration) <= last.from {
            return self.fit_before_the_last(reached, duration, now);
        }
        let from = reached.max(last.until);
        let is_past = before.until <= now;
        self.before = Interval { from: if is_past { last.from } else { before.from }, until: last.until };
        self.last = Interval { from, until: from.saturating_add(duration) };
        from
    }

    #[inline]
    fn fit_before_the_last(&mut self, reached: u64, duration: u64, now: u64) -> u64 {
        let Held { before, last } = *self;
        let is_past = before.until <= now;
        if reached.saturating_add(duration) <= before.from {
            self.before.from = reached;
            return reached;
        }
        let from = reached.max(before.until);
        let until = from.saturating_add(duration);
        if until <= last.from {
            self.before = Interval { from: if is_past { from } else { before.from }, until };
            return from;
        }
        let from = from.max(last.until);
        self.before = Interval { from: if is_past { last.from } else { before.from }, until: last.until };
        self.last = Interval { from, until: from.saturating_add(duration) };
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take(links: &mut Links, reached: u64, duration: u64, now: u64) -> u64 {
        links.take(0, Picos(reached), Picos(duration), Picos(now), 1).0
    }

    #[test]
    fn a_message_takes_a_gap_that_is_long_enough() {
        let mut links = Links::new(1);
        assert_eq!(take(&mut links, 100, 20, 0), 100);
        assert_eq!(take(&mut links, 10, 20, 0), 10, "before the first");
        assert_eq!(take(&mut links, 15, 50, 0), 30, "between the two");
        assert_eq!(take(&mut links, 75, 30, 0), 120, "too long for the gap");
        assert_eq!(links.free(0), Picos(150));
        assert_eq!(take(&mut links, 75, 20, 0), 150, "the gap is forgotten");
        assert_eq!(take(&mut links, 500, 20, 200), 500, "all that was is past");
    }

    proptest! {
        /// No two messages hold a link at once, and none starts before it has reached it.
        #[test]
        fn a_link_carries_one_message_at_a_time(messages in proptest::collection::vec((0u64..50, 0u64..300, 1u64..40), 1..200)) {
            let mut links = Links::new(1);
            let mut now = 0;
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for (step, ahead, duration) in messages {
                now += step;
                let from = take(&mut links, now + ahead, duration, now);
                prop_assert!(from >= now + ahead);
                for &(other, until) in &taken {
                    prop_assert!(from + duration <= other || until <= from, "{from}+{duration} against {other}..{until}");
                }
                taken.push((from, from + duration));
            }
        }
    }
}
