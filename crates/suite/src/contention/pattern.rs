//! Which ranks load the network: patterns of background traffic.

use std::fmt;
use std::str::FromStr;

use rand::seq::SliceRandom;

use crate::usage::{UsageError, refuse_if};

/// From which rank to which.
pub(crate) type Pair = (usize, usize);

/// A pattern of background traffic. All but pairs leave out the two ranks of the probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// No traffic.
    None,
    /// Rank 0 to rank 7 (Dunigan 1991, section 4.3); where one of them is missing or probes, the first free rank to the
    /// last.
    Stream,
    /// Every rank to the one so many ranks after it, round the end.
    Shift(usize),
    /// Every rank to another one, and each receives from one: a random permutation without fixed points.
    Random,
    /// Every rank to all others.
    AllToAll,
    /// As listed.
    Pairs(Vec<Pair>),
}

impl Pattern {
    /// What the ends of the paper's stream are.
    const STREAM: Pair = (0, 7);

    /// The pairs of the pattern on `size` ranks.
    ///
    /// # Errors
    /// [`UsageError`] for ranks that do not exist or are those of the probe, and where no two ranks are free.
    pub fn pairs(&self, size: usize, probe: Pair, seed: u64) -> Result<Vec<Pair>, UsageError> {
        let free: Vec<usize> = (0..size).filter(|&rank| rank != probe.0 && rank != probe.1).collect();
        if let Pattern::Pairs(pairs) = self {
            check_pairs(pairs, size, probe)?;
            return Ok(pairs.clone());
        }
        let needs = if *self == Pattern::None { 0 } else { 2 };
        refuse_if(free.len() < needs, || {
            format!(
                "background '{self}' needs at least 2 ranks besides the two of the probe, {}-{}; of {size} ranks {} {} \
                 left",
                probe.0,
                probe.1,
                free.len(),
                if free.len() == 1 { "is" } else { "are" }
            )
        })?;
        Ok(match *self {
            Pattern::None | Pattern::Pairs(_) => Vec::new(),
            Pattern::Stream => vec![stream(&free)],
            Pattern::Shift(distance) => {
                let count = free.len();
                refuse_if(distance % count == 0, || {
                    format!("background '{self}': a shift by {distance} among {count} ranks sends each to itself")
                })?;
                (0..count).map(|index| (free[index], free[(index + distance) % count])).collect()
            }
            Pattern::Random => cycle(free, seed),
            Pattern::AllToAll => {
                let of_rank = |&from: &usize| free.iter().map(move |&to| (from, to)).filter(|(from, to)| from != to);
                free.iter().flat_map(of_rank).collect()
            }
        })
    }
}

fn stream(free: &[usize]) -> Pair {
    let (from, to) = Pattern::STREAM;
    if free.contains(&from) && free.contains(&to) { (from, to) } else { (free[0], free[free.len() - 1]) }
}

/// Every rank to the next of a random order, the last to the first.
fn cycle(mut ranks: Vec<usize>, seed: u64) -> Vec<Pair> {
    ranks.shuffle(&mut weft_base::generator(seed, 1));
    let next = ranks.iter().cycle().skip(1);
    ranks.iter().copied().zip(next.copied()).collect()
}

fn check_pairs(pairs: &[Pair], size: usize, probe: Pair) -> Result<(), UsageError> {
    for &(from, to) in pairs {
        refuse_if(from >= size || to >= size, || {
            format!("background {from}-{to}: {size} ranks are numbered 0 to {}", size - 1)
        })?;
        let both = [from, to].into_iter().find(|&rank| rank == probe.0 || rank == probe.1);
        if let Some(rank) = both {
            return Err(UsageError(format!(
                "background {from}-{to}: rank {rank} probes ({}-{}), and would measure its own other messages; choose \
                 other ranks",
                probe.0, probe.1
            )));
        }
    }
    Ok(())
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::None => f.write_str("none"),
            Pattern::Stream => f.write_str("stream"),
            Pattern::Shift(1) => f.write_str("shift"),
            Pattern::Shift(distance) => write!(f, "shift:{distance}"),
            Pattern::Random => f.write_str("random"),
            Pattern::AllToAll => f.write_str("all-to-all"),
            Pattern::Pairs(pairs) => {
                for (index, (from, to)) in pairs.iter().enumerate() {
                    write!(f, "{}{from}-{to}", if index > 0 { "," } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for Pattern {
    type Err = UsageError;

    /// Reads `none`, `stream`, `shift`, `shift:DISTANCE`, `random`, `all-to-all` or pairs of ranks such as `0-7,2-6`.
    fn from_str(text: &str) -> Result<Pattern, UsageError> {
        let text = text.trim();
        match text {
            "none" => return Ok(Pattern::None),
            "stream" => return Ok(Pattern::Stream),
            "shift" => return Ok(Pattern::Shift(1)),
            "random" => return Ok(Pattern::Random),
            "all-to-all" => return Ok(Pattern::AllToAll),
            _ => {}
        }
        if let Some(distance) = text.strip_prefix("shift:") {
            return match distance.trim().parse() {
                Ok(distance) if distance > 0 => Ok(Pattern::Shift(distance)),
                _ => Err(UsageError(format!("background '{text}': a shift is by a number of ranks, such as shift:2"))),
            };
        }
        let pairs = text.split(',').map(|pair| read_pair(pair, text)).collect::<Result<Vec<Pair>, UsageError>>()?;
        for (index, pair) in pairs.iter().enumerate() {
            refuse_if(pairs[..index].contains(pair), || {
                format!("background '{text}': {}-{} is there twice", pair.0, pair.1)
            })?;
        }
        Ok(Pattern::Pairs(pairs))
    }
}

fn read_pair(pair: &str, text: &str) -> Result<Pair, UsageError> {
    let ends = pair.split_once('-').and_then(|(from, to)| Some((from.trim().parse().ok()?, to.trim().parse().ok()?)));
    let (from, to) = ends.ok_or_else(|| {
        UsageError(format!(
            "background '{text}' is no pattern; there are none, stream, shift, shift:DISTANCE, random, all-to-all, \
             and pairs of ranks such as 0-7,2-6"
        ))
    })?;
    refuse_if(from == to, || format!("background '{text}': {from}-{to} is a rank with itself; use echo-self"))?;
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str, size: usize) -> Vec<Pair> {
        text.parse::<Pattern>().unwrap().pairs(size, (1, 3), 1).unwrap()
    }

    #[test]
    fn patterns_leave_the_probe_alone() {
        assert_eq!(pairs("none", 2), []);
        assert_eq!(pairs("stream", 64), [(0, 7)]);
        assert_eq!(pairs("stream", 8), [(0, 7)]);
        assert_eq!(pairs("stream", 6), [(0, 5)]);
        assert_eq!(pairs("stream", 4), [(0, 2)]);
        assert_eq!(pairs("shift", 5), [(0, 2), (2, 4), (4, 0)]);
        assert_eq!(pairs("shift:2", 5), [(0, 4), (2, 0), (4, 2)]);
        assert_eq!(pairs("all-to-all", 5), [(0, 2), (0, 4), (2, 0), (2, 4), (4, 0), (4, 2)]);
        assert_eq!(pairs("0-7, 6-2", 8), [(0, 7), (6, 2)]);
        assert_eq!(pairs("random", 16), pairs("random", 16));
        assert_eq!(Pattern::Stream.pairs(8, (0, 3), 1).unwrap(), [(1, 7)]);
    }

    #[test]
    fn what_is_no_pattern_is_explained() {
        let error = |text: &str| text.parse::<Pattern>().unwrap_err().to_string();
        assert!(error("streams").starts_with("background 'streams' is no pattern; there are none, stream, shift,"));
        assert!(error("shift:0").contains("a shift is by a number of ranks, such as shift:2"));
        assert!(error("2-2").contains("2-2 is a rank with itself"));
        assert!(error("0-2,4-5,0-2").contains("0-2 is there twice"));
        let error = |text: &str, size| text.parse::<Pattern>().unwrap().pairs(size, (1, 3), 1).unwrap_err().to_string();
        assert_eq!(error("0-8", 8), "background 0-8: 8 ranks are numbered 0 to 7");
        assert!(error("0-3", 8).starts_with("background 0-3: rank 3 probes (1-3)"));
        let alone = Pattern::Random.pairs(3, (0, 1), 1).unwrap_err().to_string();
        assert!(alone.ends_with("besides the two of the probe, 0-1; of 3 ranks 1 is left"), "{alone}");
        assert!(error("shift:2", 4).contains("a shift by 2 among 2 ranks sends each to itself"));
    }

    proptest! {
        #[test]
        fn reading_any_text_gives_a_pattern_or_an_error(text in "[ 0-9a-z:,-]{0,20}") {
            if let Ok(pattern) = text.parse::<Pattern>() {
                prop_assert_eq!(pattern.to_string().parse::<Pattern>().unwrap(), pattern);
            }
        }

        /// Where a pattern exists, its ranks exist, do not probe, and no pair is there twice.
        #[test]
        fn pairs_are_of_free_ranks(
            text in proptest::sample::select(vec!["none", "stream", "shift", "shift:3", "random", "all-to-all"]),
            size in 2usize..20, ends in (0usize..20, 0usize..20), seed: u64,
        ) {
            let probe = (ends.0 % size, ends.1 % size);
            prop_assume!(probe.0 != probe.1);
            let Ok(pairs) = text.parse::<Pattern>().unwrap().pairs(size, probe, seed) else { return Ok(()) };
            for (index, &(from, to)) in pairs.iter().enumerate() {
                prop_assert!(from < size && to < size && from != to);
                prop_assert!(![probe.0, probe.1].contains(&from) && ![probe.0, probe.1].contains(&to));
                prop_assert!(!pairs[..index].contains(&(from, to)));
            }
        }
    }
}
