//! Which runs of elements a datatype is made of: a list, repeated at regular distances.
//!
//! A vector of a thousand million blocks is one run and one level of repetition, not a list of as many runs.

use serde::{Deserialize, Serialize};

use super::{MAX_RUNS, Run};
use crate::abi::Aint;

/// Repetitions at equal distances in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Level {
    count: usize,
    stride: Aint,
}

/// Runs in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pieces {
    runs: Vec<Run>,
    /// From the outermost on; what the last repeats are the runs.
    levels: Vec<Level>,
}

/// So many runs are listed before they are kept as repetitions.
const MAX_LISTED: usize = 64;

impl Pieces {
    /// One run.
    pub fn of(run: Run) -> Pieces {
        Pieces { runs: vec![run], levels: Vec::new() }
    }

    /// Adds a run; one that continues the last becomes a part of it.
    pub fn push(&mut self, run: Run) {
        debug_assert!(self.levels.is_empty(), "runs are added to a list only");
        if let Some(last) = self.runs.last_mut()
            && last.basic == run.basic
            && last.end() == run.offset
        {
            last.count += run.count;
            return;
        }
        self.runs.push(run);
    }

    /// Adds those of `other` at a distance, as far as a list of them is not too long.
    pub fn extend(&mut self, other: &Pieces, shift: Aint) {
        let _ = other.try_each(shift, &mut |offset, run| {
            self.push(Run { offset, ..*run });
            if self.is_too_long() { Err(()) } else { Ok(()) }
        });
    }

    /// The same as a list alone.
    pub fn listed(self) -> Pieces {
        if self.levels.is_empty() {
            return self;
        }
        let mut all = Pieces::default();
        all.extend(&self, 0);
        all
    }

    /// Whether the list is longer than a datatype may have it.
    pub fn is_too_long(&self) -> bool {
        self.runs.len() > MAX_RUNS
    }

    /// The same `count` times, `stride` bytes apart, from `offset` on.
    pub fn repeated(&self, count: usize, stride: Aint, offset: Aint) -> Pieces {
        let shifted = |run: &Run| Run { offset: run.offset + offset, ..*run };
        if self.len().saturating_mul(count) > MAX_LISTED {
            let runs: Vec<Run> = self.runs.iter().map(shifted).collect();
            if let ([run], []) = (&runs[..], &self.levels[..])
                && stride == run.bytes() as Aint
            {
                return Pieces::of(Run { count: run.count * count, ..*run });
            }
            let levels = [&[Level { count, stride }], &self.levels[..]].concat();
            return Pieces { runs, levels };
        }
        let mut all = Pieces::default();
        if !self.is_empty() {
            (0..count as Aint).for_each(|index| all.extend(self, offset + index * stride));
        }
        all
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.levels.iter().fold(self.runs.len(), |all, level| all.saturating_mul(level.count))
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The run, where there is but one.
    pub fn only(&self) -> Option<&Run> {
        match (&self.runs[..], &self.levels[..]) {
            ([run], []) => Some(run),
            _ => None,
        }
    }

    /// The run of a number.
    pub fn at(&self, index: usize) -> Run {
        let (mut rest, mut shift) = (index / self.runs.len(), 0);
        for level in self.levels.iter().rev() {
            shift += (rest % level.count) as Aint * level.stride;
            rest /= level.count;
        }
        let run = self.runs[index % self.runs.len()];
        Run { offset: run.offset + shift, ..run }
    }

    /// Bytes before each run of the list that is repeated.
    pub fn bytes_before(&self) -> Vec<usize> {
        self.runs.iter().scan(0, |sum, run| Some(std::mem::replace(sum, *sum + run.bytes()))).collect()
    }

    /// The number of the run that has the byte `data` of them all, and which byte of the run that is; `before` are the
    /// bytes before each run of the list.
    pub fn locate(&self, data: usize, before: &[usize]) -> (usize, usize) {
        let bytes = before.last().map_or(0, |last| last + self.runs[self.runs.len() - 1].bytes());
        let (repetition, rest) = (data / bytes, data % bytes);
        let index = before.partition_point(|&before| before <= rest) - 1;
        (repetition * self.runs.len() + index, rest - before[index])
    }

    /// Runs that follow each other: for all pairs of which one is another one moved, one.
    pub fn neighbors(&self) -> impl Iterator<Item = (Run, Run)> {
        let listed = self.runs.windows(2).map(|pair| (pair[0], pair[1]));
        let mut inner = self.runs.len();
        let between = self.levels.iter().rev().filter_map(move |level| {
            let last = inner - 1;
            inner *= level.count;
            (level.count > 1).then(|| (self.at(last), self.at(last + 1)))
        });
        listed.chain(between)
    }

    /// All runs, with the offsets at which they are after a shift.
    pub fn each(&self, shift: Aint, act: &mut impl FnMut(Aint, &Run)) {
        let Ok(()) = self.try_each(shift, &mut |offset, run| {
            act(offset, run);
            Ok::<(), std::convert::Infallible>(())
        });
    }

    fn try_each<E>(&self, shift: Aint, act: &mut impl FnMut(Aint, &Run) -> Result<(), E>) -> Result<(), E> {
        each(&self.levels, &self.runs, shift, act)
    }

    /// The runs whose repetitions are all others: their elements are those of all.
    pub fn list(&self) -> &[Run] {
        &self.runs
    }

    fn repetitions(&self) -> usize {
        self.levels.iter().map(|level| level.count).product()
    }

    fn bytes_of_list(&self) -> usize {
        self.runs.iter().map(Run::bytes).sum()
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.repetitions() * self.bytes_of_list()
    }

    /// Elements of all.
    pub fn elements(&self) -> usize {
        self.sum(|run| run.count)
    }

    /// A sum over all runs, of what does not depend on their offsets.
    pub fn sum(&self, of: impl Fn(&Run) -> usize) -> usize {
        self.repetitions() * self.runs.iter().map(of).sum::<usize>()
    }

    /// From the first byte that is used to behind the last; nothing where there are no bytes.
    pub fn bounds(&self) -> Option<(Aint, Aint)> {
        let mut low = self.runs.iter().map(|run| run.offset).min()?;
        let mut high = self.runs.iter().map(Run::end).max()?;
        for level in &self.levels {
            let last = (level.count as Aint - 1) * level.stride;
            low += last.min(0);
            high += last.max(0);
        }
        Some((low, high))
    }
}

fn each<E>(
    levels: &[Level],
    runs: &[Run],
    shift: Aint,
    act: &mut impl FnMut(Aint, &Run) -> Result<(), E>,
) -> Result<(), E> {
    match levels {
        [] => runs.iter().try_for_each(|run| act(run.offset + shift, run)),
        [level, inner @ ..] => {
            (0..level.count as Aint).try_for_each(|index| each(inner, runs, shift + index * level.stride, act))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Class;
    use super::super::predefined::basic;
    use super::*;
    use proptest::prelude::*;

    fn runs() -> impl Strategy<Value = Vec<Run>> {
        let run = (-50..50_isize, 1..4_usize);
        let run = run.prop_map(|(offset, count)| Run { offset, count, basic: basic(Class::Signed, 4) });
        proptest::collection::vec(run, 1..4)
    }

    proptest! {
        /// Offsets of all bytes in their order, one by one.
        #[test]
        fn repetitions_are_those_of_a_list(
            runs in runs(), levels in proptest::collection::vec((1..20_usize, -60..60_isize, -9..9_isize), 0..3)
        ) {
            let bytes_of = |run: &Run| run.offset..run.end();
            let mut expected: Vec<Aint> = runs.iter().flat_map(bytes_of).collect();
            let mut pieces = Pieces::default();
            runs.iter().for_each(|&run| pieces.push(run));
            for (count, stride, offset) in levels {
                expected = (0..count as Aint)
                    .flat_map(|index| expected.iter().map(move |byte| byte + index * stride + offset).collect::<Vec<_>>())
                    .collect();
                pieces = pieces.repeated(count, stride, offset);
            }
            let mut all = Vec::new();
            pieces.each(0, &mut |offset, run| all.push(Run { offset, ..*run }));
            prop_assert_eq!(all.iter().flat_map(bytes_of).collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(&(0..pieces.len()).map(|index| pieces.at(index)).collect::<Vec<_>>(), &all);
            prop_assert_eq!((pieces.bytes(), pieces.elements()), (expected.len(), expected.len() / 4));
            let bounds = (*expected.iter().min().unwrap(), *expected.iter().max().unwrap() + 1);
            prop_assert_eq!(pieces.bounds(), Some(bounds));
            let before = pieces.bytes_before();
            for (data, &byte) in expected.iter().enumerate() {
                let (index, within) = pieces.locate(data, &before);
                prop_assert_eq!(pieces.at(index).offset + within as Aint, byte);
            }
            let ascends = |pair: (Run, Run)| pair.0.offset <= pair.1.offset;
            let all_ascend = all.windows(2).all(|pair| ascends((pair[0], pair[1])));
            prop_assert_eq!(pieces.neighbors().all(ascends), all_ascend);
            let overlaps = all.windows(2).any(|pair| pair[0].end() > pair[1].offset);
            prop_assert_eq!(pieces.neighbors().any(|(one, next)| one.end() > next.offset), overlaps);
        }
    }
}
