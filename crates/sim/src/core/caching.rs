//! What receives posted at one time cost more where a cache does not hold all of their buffers.

use weft_base::Picos;
use weft_machine::Cache;

/// The receives of every rank, as its cache sees them.
#[derive(Debug)]
pub(super) struct Caching {
    cache: Cache,
    ranks: Vec<Posted>,
}

/// Bytes of the receives that a rank has posted.
#[derive(Clone, Copy, Debug, Default)]
struct Posted {
    /// Of those not taken yet.
    now: u64,
    /// The most since there were none.
    most: u64,
    /// The most of the time before that: a program that posts as many again finds what those left in the cache.
    before: u64,
}

impl Caching {
    /// With no receive posted on any of so many ranks.
    pub fn new(cache: &Cache, ranks: usize) -> Caching {
        Caching { cache: cache.clone(), ranks: vec![Posted::default(); ranks] }
    }

    /// A rank posts a receive of at most `capacity` bytes.
    pub fn post(&mut self, rank: u32, capacity: u64) {
        let posted = &mut self.ranks[rank as usize];
        posted.now += known(capacity);
        posted.most = posted.most.max(posted.now);
    }

    /// A rank takes a message of `bytes` bytes into a receive of `capacity`: the processor time of what is not in the
    /// cache.
    pub fn take(&mut self, rank: u32, capacity: u64, bytes: u64) -> Picos {
        let posted = self.ranks[rank as usize];
        self.withdraw(rank, capacity);
        Picos::from_seconds(self.cache.byte_time(posted.most.max(posted.before)) * bytes as f64)
    }

    /// A receive of `capacity` bytes is no longer posted.
    pub fn withdraw(&mut self, rank: u32, capacity: u64) {
        let posted = &mut self.ranks[rank as usize];
        posted.now -= known(capacity);
        if posted.now == 0 {
            *posted = Posted { now: 0, most: 0, before: posted.most };
        }
    }
}

/// Bytes of a buffer; none of that of a message which was matched before its buffer was known.
fn known(capacity: u64) -> u64 {
    if capacity == u64::MAX { 0 } else { capacity }
}
