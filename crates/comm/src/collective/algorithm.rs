//! Which algorithm a collective uses: the names, the choice by default, and the means to override it.

use std::fmt;
use std::str::FromStr;

use crate::tag::CollectiveKind;

/// An algorithm of a collective; [`algorithms`] lists those of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// Rounds at distance 1, 2, 4, …, every rank in every round.
    Dissemination,
    /// Along a binomial tree from or to the root.
    Binomial,
    /// Broadcast as a scatter and an allgather around a ring.
    ScatterAllgather,
    /// Broadcast in segments along a chain of all ranks.
    Chain,
    /// Exchange at distance 1, 2, 4, …, in powers of two.
    RecursiveDoubling,
    /// Reduce-scatter by recursive halving, then a gather or an allgather.
    Rabenseifner,
    /// Around the ring of all ranks, neighbour to neighbour.
    Ring,
    /// Directly between the root and each rank, or from rank to rank in a chain (scan).
    Linear,
    /// Rounds at distance 1, 2, 4, …, with blocks gathered into one message.
    Bruck,
    /// One partner at a time, every pair in its own round.
    Pairwise,
    /// Everything posted at once.
    Spread,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 11] = [
        Algorithm::Dissemination,
        Algorithm::Binomial,
        Algorithm::ScatterAllgather,
        Algorithm::Chain,
        Algorithm::RecursiveDoubling,
        Algorithm::Rabenseifner,
        Algorithm::Ring,
        Algorithm::Linear,
        Algorithm::Bruck,
        Algorithm::Pairwise,
        Algorithm::Spread,
    ];

    /// The name used in requests, samples and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Dissemination => "dissemination",
            Algorithm::Binomial => "binomial",
            Algorithm::ScatterAllgather => "scatter-allgather",
            Algorithm::Chain => "chain",
            Algorithm::RecursiveDoubling => "recursive-doubling",
            Algorithm::Rabenseifner => "rabenseifner",
            Algorithm::Ring => "ring",
            Algorithm::Linear => "linear",
            Algorithm::Bruck => "bruck",
            Algorithm::Pairwise => "pairwise",
            Algorithm::Spread => "spread",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The algorithms of a collective; the first is the one for short messages.
pub const fn algorithms(kind: CollectiveKind) -> &'static [Algorithm] {
    use Algorithm::*;
    match kind {
        CollectiveKind::Barrier => &[Dissemination, Binomial],
        CollectiveKind::Broadcast => &[Binomial, ScatterAllgather, Chain],
        CollectiveKind::Reduce => &[Binomial, Rabenseifner],
        CollectiveKind::Allreduce => &[RecursiveDoubling, Rabenseifner, Ring],
        CollectiveKind::Gather | CollectiveKind::Scatter => &[Binomial, Linear],
        CollectiveKind::Allgather => &[Bruck, RecursiveDoubling, Ring],
        CollectiveKind::Alltoall => &[Bruck, Spread, Pairwise],
        CollectiveKind::Alltoallv => &[Spread, Pairwise],
        CollectiveKind::Scan | CollectiveKind::Exscan => &[RecursiveDoubling, Linear],
        CollectiveKind::ReduceScatter => &[Pairwise, Ring],
        CollectiveKind::Gatherv | CollectiveKind::Scatterv => &[Linear],
        CollectiveKind::Allgatherv => &[Ring],
        CollectiveKind::Split => &[Bruck],
    }
}

/// Which algorithm a call of a collective shall use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The library's own collective where the backend has one, and what [`choose`](super::choose) says elsewhere.
    #[default]
    Auto,
    /// The library's own collective; an error where the backend has none.
    Native,
    /// This one.
    Fixed(Algorithm),
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Auto => f.write_str("auto"),
            Choice::Native => f.write_str("native"),
            Choice::Fixed(algorithm) => algorithm.fmt(f),
        }
    }
}

/// A name that is neither `auto`, `native` nor an [`Algorithm`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no algorithm '{0}'; there are auto, native, {names}",
    names = Algorithm::ALL.map(Algorithm::name).join(", ")
)]
pub struct UnknownAlgorithm(pub String);

impl FromStr for Choice {
    type Err = UnknownAlgorithm;
    fn from_str(name: &str) -> Result<Choice, UnknownAlgorithm> {
        match name {
            "auto" => Ok(Choice::Auto),
            "native" => Ok(Choice::Native),
            _ => Algorithm::ALL
                .into_iter()
                .find(|algorithm| algorithm.name() == name)
                .map(Choice::Fixed)
                .ok_or_else(|| UnknownAlgorithm(name.to_owned())),
        }
    }
}
