//! A router that combines: every processor of a data-parallel machine sends at once, and messages for one destination
//! become one where they meet.
//!
//! The machine is a hypercube of chips with several processors each. All chips work in step, in cycles: a chip takes a few
//! messages of its processors into its buffers; then the dimensions of the hypercube are served, the highest first,
//! and over each wire the oldest message that must cross it goes; then the chip delivers. What a cycle costs in time is
//! the caller's: counts are what comes out.

/// How a router is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CombiningRouter {
    /// Chips are a hypercube of this dimension.
    pub dimension: u32,
    pub processors_per_chip: usize,
    /// Messages that a chip takes from its processors in a cycle.
    pub injects: usize,
    /// Messages that a chip delivers in a cycle.
    pub delivers: usize,
    /// Buffers of a chip; more messages wait in memory.
    pub buffers: usize,
}

/// What a router did until all was delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Cycles of all chips.
    pub cycles: u64,
    /// Rounds of a dimension in which a message crossed a wire.
    pub steps: u64,
    /// Messages beyond its buffers in the fullest chip, summed over cycles.
    pub overflow: u64,
}

impl CombiningRouter {
    /// The number of processors.
    pub fn processors(&self) -> usize {
        self.processors_per_chip << self.dimension
    }

    /// Sends a message from every processor to `destinations[processor]`, if it has one.
    ///
    /// # Panics
    /// If there are not as many entries as processors, a destination is not a processor, or a chip injects or delivers
    /// nothing.
    ///
    /// # Examples
    /// ```
    /// use weft_network::combining::CombiningRouter;
    ///
    /// let router = CombiningRouter { dimension: 4, processors_per_chip: 4, injects: 2, delivers: 1, buffers: 7 };
    /// // All 64 processors send to one, and each chip has two cycles of messages: those that meet become one.
    /// let passage = router.route(&[Some(63); 64]);
    /// assert_eq!((passage.cycles, passage.steps), (2, 8));
    /// ```
    pub fn route(&self, destinations: &[Option<usize>]) -> Passage {
        assert_eq!(destinations.len(), self.processors(), "an entry for each processor");
        assert!(destinations.iter().flatten().all(|&to| to < self.processors()), "destinations are processors");
        assert!(self.injects > 0 && self.delivers > 0, "chips inject and deliver");
        let chips = 1usize << self.dimension;
        let waiting = |chip: usize| {
            let own = &destinations[chip * self.processors_per_chip..][..self.processors_per_chip];
            own.iter().flatten().copied().rev().collect()
        };
        let mut waiting: Vec<Vec<usize>> = (0..chips).map(waiting).collect();
        let mut held: Vec<Vec<usize>> = vec![Vec::new(); chips];
        let mut passage = Passage::default();
        while waiting.iter().chain(&held).any(|messages| !messages.is_empty()) {
            for (chip, messages) in waiting.iter_mut().enumerate() {
                let left = messages.len().saturating_sub(self.injects);
                for message in messages.drain(left..).rev() {
                    take(&mut held[chip], message);
                }
            }
            let fullest = held.iter().map(Vec::len).max().unwrap_or(0);
            passage.overflow += fullest.saturating_sub(self.buffers) as u64;
            passage.steps +=
                (0..self.dimension).rev().filter(|&dimension| self.cross(&mut held, dimension)).count() as u64;
            for (chip, messages) in held.iter_mut().enumerate() {
                let mut delivered = 0;
                messages.retain(|&to| {
                    let is_here = delivered < self.delivers && to / self.processors_per_chip == chip;
                    delivered += usize::from(is_here);
                    !is_here
                });
            }
            passage.cycles += 1;
        }
        passage
    }

    /// The round of one dimension; whether anything crossed.
    fn cross(&self, held: &mut [Vec<usize>], dimension: u32) -> bool {
        let bit = 1usize << dimension;
        let mut crossing = Vec::new();
        for (chip, messages) in held.iter_mut().enumerate() {
            let must = |to: &usize| ((to / self.processors_per_chip) ^ chip) & bit != 0;
            if let Some(oldest) = messages.iter().position(must) {
                crossing.push((chip ^ bit, messages.remove(oldest)));
            }
        }
        for (chip, message) in &crossing {
            take(&mut held[*chip], *message);
        }
        !crossing.is_empty()
    }
}

/// A message comes into a chip, and is one with another for its destination.
fn take(held: &mut Vec<usize>, to: usize) {
    if !held.contains(&to) {
        held.push(to);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROUTER: CombiningRouter =
        CombiningRouter { dimension: 4, processors_per_chip: 4, injects: 2, delivers: 1, buffers: 7 };

    #[test]
    fn one_message_takes_a_cycle_and_a_step_for_each_dimension() {
        for (to, steps) in [(1, 0), (4, 1), (63, 4)] {
            let mut destinations = vec![None; 64];
            destinations[0] = Some(to);
            assert_eq!(ROUTER.route(&destinations), Passage { cycles: 1, steps, overflow: 0 });
        }
    }

    #[test]
    fn messages_for_one_processor_combine_on_the_way() {
        // Each chip's four messages are two at a time, so that two waves arrive, each of them as one.
        let passage = ROUTER.route(&[Some(63); 64]);
        assert_eq!((passage.cycles, passage.steps), (2, 8));
    }

    #[test]
    fn close_destinations_are_slower_than_scattered_ones() {
        let clustered: Vec<_> = (0..64).map(|from| Some(from / 4)).collect();
        let scattered: Vec<_> = (0..64).map(|from| Some(from / 4 * 4)).collect();
        assert!(ROUTER.route(&clustered).cycles > 2 * ROUTER.route(&scattered).cycles);
    }

    proptest! {
        #[test]
        fn counts_are_bounded(destinations in prop::collection::vec(prop::option::of(0usize..64), 64)) {
            let passage = ROUTER.route(&destinations);
            let sent = destinations.iter().flatten().count() as u64;
            let chip = |chip: usize| destinations[4 * chip..][..4].iter().flatten().count().div_ceil(2);
            prop_assert!(passage.cycles >= (0..16).map(chip).max().unwrap() as u64);
            // A message that is held up is held up by another that goes on.
            prop_assert!(passage.cycles <= 5 * sent);
            prop_assert!(passage.steps <= 4 * passage.cycles);
            prop_assert_eq!(passage, ROUTER.route(&destinations));
        }
    }
}
