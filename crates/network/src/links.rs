//! The state of every directed link.

use rustc_hash::FxHashMap;
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
/// it is short enough; without that, a link that was promised for a later moment would be lost until then. Where more
/// stretches are promised, as by an all-to-all whose messages enter all at once, the gaps between them are kept beside: an
/// all-to-all on an 8x8 torus took three times as long without them. That is rare, and two stretches beside each other are
/// read at once.
#[derive(Clone, Debug)]
pub struct Links {
    held: Table<Held>,
    gaps: Gaps,
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
        Links { held: Table::new(count), gaps: Gaps::default(), traffic: None }
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
        let from = self.held[link].fit(reached.0, duration.0, now.0, &mut self.gaps.of(link));
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

/// Free stretches within those that links are held in as far as [`Held`] knows, of each link in order of time.
#[derive(Clone, Debug, Default)]
struct Gaps(FxHashMap<usize, Vec<Interval>>);

impl Gaps {
    fn of(&mut self, link: usize) -> GapsOf<'_> {
        GapsOf { gaps: self, link }
    }
}

/// Of one link.
struct GapsOf<'a> {
    gaps: &'a mut Gaps,
    link: usize,
}

/// Gaps of a link that are kept at most; of more the shortest is lost.
const MAX_GAPS: usize = 256;

impl GapsOf<'_> {
    /// Keeps the gap between two stretches, if there is one that is not past.
    #[inline(always)]
    fn keep(&mut self, from: u64, until: u64, now: u64) {
        if until > from && until > now {
            self.add(Interval { from, until }, now);
        }
    }

    fn add(&mut self, gap: Interval, now: u64) {
        let gaps = self.gaps.0.entry(self.link).or_default();
        gaps.drain(..gaps.partition_point(|gap| gap.until <= now));
        gaps.insert(gaps.partition_point(|other| other.from < gap.from), gap);
        if gaps.len() > MAX_GAPS {
            let length = |gap: &Interval| gap.until - gap.from;
            let shortest = (0..gaps.len()).min_by_key(|&index| length(&gaps[index])).expect("there are gaps");
            gaps.remove(shortest);
        }
    }

    /// Takes the first gap after `reached` that is long enough.
    #[inline]
    fn take(&mut self, reached: u64, duration: u64, now: u64) -> Option<u64> {
        if self.gaps.0.is_empty() { None } else { self.search(reached, duration, now) }
    }

    fn search(&mut self, reached: u64, duration: u64, now: u64) -> Option<u64> {
        let gaps = self.gaps.0.get_mut(&self.link)?;
        gaps.drain(..gaps.partition_point(|gap| gap.until <= now));
        let fits = |gap: &Interval| reached.max(gap.from).saturating_add(duration) <= gap.until;
        let Some(index) = gaps.iter().position(fits) else {
            if gaps.is_empty() {
                self.gaps.0.remove(&self.link);
            }
            return None;
        };
        let Interval { from: begin, until: end } = gaps.remove(index);
        let from = reached.max(begin);
        self.keep(from + duration, end, now);
        self.keep(begin, from, now);
        Some(from)
    }
}

impl Held {
    /// Finds the first gap after `reached` that is long enough, and takes it. A stretch that is forgotten and not past
    /// joins its neighbour, and the gap between them is kept in `gaps`.
    #[inline(always)]
    fn fit(&mut self, reached: u64, duration: u64, now: u64, gaps: &mut GapsOf) -> u64 {
        let last = self.last;
        if reached.saturating_add(duration) <= last.from {
            return self.fit_before_the_last(reached, duration, now, gaps);
        }
        let from = reached.max(last.until);
        self.append(from, duration, now, gaps);
        from
    }

    /// Holds the link from after the last stretch on.
    #[inline(always)]
    fn append(&mut self, from: u64, duration: u64, now: u64, gaps: &mut GapsOf) {
        let Held { before, last } = *self;
        let is_past = before.until <= now;
        if !is_past {
            gaps.keep(before.until, last.from, now);
        }
        self.before = Interval { from: if is_past { last.from } else { before.from }, until: last.until };
        self.last = Interval { from, until: from.saturating_add(duration) };
    }

    #[inline]
    fn fit_before_the_last(&mut self, reached: u64, duration: u64, now: u64, gaps: &mut GapsOf) -> u64 {
        let Held { before, last } = *self;
        let is_past = before.until <= now;
        if reached.saturating_add(duration) <= before.from {
            gaps.keep(reached + duration, before.from, now);
            self.before.from = reached;
            return reached;
        }
        if let Some(from) = gaps.take(reached, duration, now) {
            return from;
        }
        let from = reached.max(before.until);
        let until = from.saturating_add(duration);
        if until <= last.from {
            if !is_past {
                gaps.keep(before.until, from, now);
            }
            self.before = Interval { from: if is_past { from } else { before.from }, until };
            return from;
        }
        let from = from.max(last.until);
        self.append(from, duration, now, gaps);
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
        assert_eq!(take(&mut links, 75, 20, 0), 80, "the gap is kept when later stretches are promised");
        assert_eq!(take(&mut links, 0, 10, 0), 0, "so is what is before all of them");
        assert_eq!(take(&mut links, 75, 20, 0), 150);
        assert_eq!(take(&mut links, 500, 20, 200), 500, "all that was is past");
    }

    proptest! {
        /// Every message takes the first stretch that is free for long enough, as in a list of all that are taken.
        #[test]
        fn no_gap_is_lost(messages in proptest::collection::vec((0u64..20, 0u64..300, 1u64..40), 1..150)) {
            let mut links = Links::new(1);
            let mut now = 0;
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for (step, ahead, duration) in messages {
                now += step;
                let reached = now + ahead;
                let is_free = |from: u64| taken.iter().all(|&(other, until)| from + duration <= other || until <= from);
                let expected = (reached..).find(|&from| is_free(from)).expect("some time");
                prop_assert_eq!(take(&mut links, reached, duration, now), expected);
                taken.push((expected, expected + duration));
            }
        }

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
