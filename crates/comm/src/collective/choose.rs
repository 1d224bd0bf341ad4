//! The choice of an algorithm by number of ranks and message length.

use crate::tag::CollectiveKind;

use super::algorithm::Algorithm;

/// Broadcasts of fewer bytes go along a binomial tree (Thakur, Rabenseifner, Gropp 2005, section 4.2).
const LONG_BROADCAST: usize = 12 * 1024;
/// Broadcasts among fewer ranks go along a binomial tree (the same).
const MANY_RANKS: usize = 8;
/// Reductions of fewer bytes keep the vector whole (sections 4.4 and 4.5).
const LONG_REDUCTION: usize = 2 * 1024;
/// Blocks from here on go directly between root and rank: in a tree they would be copied once a level.
const LONG_BLOCK: usize = 8 * 1024;
/// Allgathers of fewer bytes in all use Bruck's algorithm where ranks are no power of two (section 4.1).
const MEDIUM_ALLGATHER: usize = 80 * 1024;
/// Allgathers of fewer bytes in all use recursive doubling where ranks are a power of two (section 4.1).
const LONG_ALLGATHER: usize = 512 * 1024;
/// Blocks up to here are gathered into fewer messages in an all-to-all (section 4.3).
const SHORT_ALLTOALL: usize = 256;
/// Blocks from here on go one partner at a time in an all-to-all (section 4.3).
const LONG_ALLTOALL: usize = 32 * 1024;
/// Blocks of a ring allreduce or reduce-scatter must be this long to be worth its many steps.
const LONG_RING_BLOCK: usize = 8 * 1024;

/// Bytes of one segment of the chain: its startup is then small against its transfer on today's networks, and a
/// segment stays in the first-level cache.
pub const CHAIN_SEGMENT: usize = 8 * 1024;

/// The algorithm for a collective among `size` ranks.
///
/// `bytes` is the length of the message or vector (broadcast, reductions, scan), of the block of one rank (gather,
/// scatter, allgather, alltoall, reduce-scatter) or of the mean block (v-variants); a barrier ignores it. Every rank must come to the
/// same answer, so all pass the same `bytes`.
///
/// The switching points are those of R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
/// operations in MPICH", International Journal of High Performance Computing Applications 19 (2005) 49-66, where it
/// has one. Ours are: the chain, taken when it has eight times as many segments as ranks, so that filling it costs at
/// most an eighth; the ring allreduce, for long vectors on ranks that are no power of two, where halving would begin by
/// moving whole vectors; direct gather and scatter of long blocks.
///
/// # Examples
/// ```
/// use weft_comm::CollectiveKind;
/// use weft_comm::collective::{Algorithm, choose};
///
/// // A short broadcast goes down a binomial tree, a very long one through a chain of segments.
/// assert_eq!(choose(CollectiveKind::Broadcast, 64, 8), Algorithm::Binomial);
/// assert_eq!(choose(CollectiveKind::Broadcast, 64, 1 << 30), Algorithm::Chain);
/// assert_eq!(choose(CollectiveKind::Barrier, 64, 0), Algorithm::Dissemination);
/// ```
pub fn choose(kind: CollectiveKind, size: usize, bytes: usize) -> Algorithm {
    match kind {
        CollectiveKind::Barrier => Algorithm::Dissemination,
        CollectiveKind::Broadcast => broadcast(size, bytes),
        CollectiveKind::Reduce if bytes < LONG_REDUCTION => Algorithm::Binomial,
        CollectiveKind::Reduce => Algorithm::Rabenseifner,
        CollectiveKind::Allreduce => allreduce(size, bytes),
        CollectiveKind::Gather | CollectiveKind::Scatter if bytes < LONG_BLOCK => Algorithm::Binomial,
        CollectiveKind::Gather | CollectiveKind::Scatter => Algorithm::Linear,
        CollectiveKind::Allgather => allgather(size, bytes),
        CollectiveKind::Alltoall if bytes <= SHORT_ALLTOALL && size >= MANY_RANKS => Algorithm::Bruck,
        CollectiveKind::Alltoall | CollectiveKind::Alltoallv if bytes < LONG_ALLTOALL => Algorithm::Spread,
        CollectiveKind::Alltoall | CollectiveKind::Alltoallv => Algorithm::Pairwise,
        CollectiveKind::Scan | CollectiveKind::Exscan if size <= 2 => Algorithm::Linear,
        CollectiveKind::Scan | CollectiveKind::Exscan => Algorithm::RecursiveDoubling,
        CollectiveKind::ReduceScatter if bytes >= LONG_RING_BLOCK => Algorithm::Ring,
        CollectiveKind::ReduceScatter => Algorithm::Pairwise,
        CollectiveKind::Gatherv | CollectiveKind::Scatterv => Algorithm::Linear,
        CollectiveKind::Allgatherv => Algorithm::Ring,
        CollectiveKind::Split => Algorithm::Bruck,
    }
}

fn broadcast(size: usize, bytes: usize) -> Algorithm {
    if bytes / CHAIN_SEGMENT >= 8 * size && size > 2 {
        Algorithm::Chain
    } else if bytes < LONG_BROADCAST || size < MANY_RANKS {
        Algorithm::Binomial
    } else {
        Algorithm::ScatterAllgather
    }
}

fn allreduce(size: usize, bytes: usize) -> Algorithm {
    if bytes < LONG_REDUCTION {
        Algorithm::RecursiveDoubling
    } else if !size.is_power_of_two() && bytes / size >= LONG_RING_BLOCK {
        Algorithm::Ring
    } else {
        Algorithm::Rabenseifner
    }
}

fn allgather(size: usize, block: usize) -> Algorithm {
    let total = size.saturating_mul(block);
    if size.is_power_of_two() && total < LONG_ALLGATHER {
        Algorithm::RecursiveDoubling
    } else if total < MEDIUM_ALLGATHER {
        Algorithm::Bruck
    } else {
        Algorithm::Ring
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::algorithms;

    #[test]
    fn the_choice_is_always_an_algorithm_of_the_collective() {
        for kind in CollectiveKind::ALL {
            for size in 1..40 {
                for bytes in [0, 1, 256, 257, 2048, 1 << 13, 1 << 15, 1 << 20, 1 << 26] {
                    let algorithm = choose(kind, size, bytes);
                    assert!(algorithms(kind).contains(&algorithm), "{kind} by {algorithm}");
                }
            }
        }
    }

    #[test]
    fn every_algorithm_is_chosen_somewhere() {
        let kinds = CollectiveKind::ALL.into_iter().filter(|&kind| kind != CollectiveKind::Barrier);
        for kind in kinds {
            let chosen: Vec<Algorithm> =
                (1..20).flat_map(|size| (0..28).map(move |log| choose(kind, size, 1 << log))).collect();
            for algorithm in algorithms(kind) {
                assert!(chosen.contains(algorithm), "{kind} never by {algorithm}");
            }
        }
    }
}
