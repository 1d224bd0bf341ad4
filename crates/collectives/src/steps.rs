//! The order in which ranks meet: groups step by step, of which every rank has met all others in the end, directly or
//! through others.
//!
//! A step divides the ranks into groups. Before the last step a rank speaks for itself only; before the one before, for its
//! group in the last, and so on: a *class* of ranks. Recursive halving, Swing (De Sensi and others, NSDI 2024), the
//! algorithms along the axes of tori and those of two levels are all of this kind and differ in their groups.

use rustc_hash::FxHashMap;

/// How the members of a group exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Each with each other at once.
    Direct,
    /// Each with the next in the order of the group, as many rounds as there are others.
    Ring,
    /// Each with the next and with the one before, half way round either way: half as many rounds, over links both ways.
    Bidirectional,
}

/// The groups of a step, each in the order of its members.
#[derive(Clone, Debug)]
pub struct Step {
    pub groups: Vec<Vec<usize>>,
    pub within: Within,
}

/// Groups of ranks that differ in one digit of their number, for the mixed radix of `factors`; the first digit is the one
/// whose ranks are next to each other.
pub fn digits(factors: &[usize], within: Within) -> Vec<Step> {
    let ranks: usize = factors.iter().product();
    let mut stride = 1;
    let mut step = |&factor: &usize| {
        let own = stride;
        stride *= factor;
        let firsts = (0..ranks).filter(|rank| rank / own % factor == 0);
        Step { groups: firsts.map(|first| (0..factor).map(|digit| first + digit * own).collect()).collect(), within }
    };
    factors.iter().map(&mut step).collect()
}

/// The pairs of Swing on a torus whose axes have powers of two as extents: in step s of an axis a rank meets the one at the
/// distance of 1 - 2 + 4 - ... of s + 1 terms, upwards from even coordinates and downwards from odd ones. Steps take the axes
/// in turn from `first` on; `is_mirrored` swaps upwards and downwards.
pub fn swing(extents: &[usize], first: usize, is_mirrored: bool) -> Option<Vec<Step>> {
    if !extents.iter().all(|extent| extent.is_power_of_two()) {
        return None;
    }
    let ranks: usize = extents.iter().product();
    let axes: Vec<usize> = (0..extents.len()).map(|axis| (first + axis) % extents.len()).collect();
    let most = extents.iter().map(|extent| extent.ilog2()).max()?;
    let mut steps = Vec::new();
    for round in 0..most {
        for &axis in axes.iter().filter(|&&axis| round < extents[axis].ilog2()) {
            let extent = extents[axis] as i64;
            let stride: usize = extents[axis + 1..].iter().product();
            let distance = (1 - (-2i64).pow(round + 1)) / 3;
            let peer = |rank: usize| {
                let coordinate = (rank / stride) as i64 % extent;
                let upwards = (coordinate % 2 == 0) != is_mirrored;
                let other = (coordinate + if upwards { distance } else { -distance }).rem_euclid(extent);
                (rank as i64 + (other - coordinate) * stride as i64) as usize
            };
            let pairs = (0..ranks).filter(|&rank| rank < peer(rank)).map(|rank| vec![rank, peer(rank)]);
            steps.push(Step { groups: pairs.collect(), within: Within::Direct });
        }
    }
    Some(steps)
}

/// The rings of a torus along its axes, from `first` on; upwards or downwards.
pub fn rings(extents: &[usize], first: usize, is_mirrored: bool) -> Vec<Step> {
    along_axes(extents, first, is_mirrored, Within::Ring)
}

/// The rings of a torus along its axes, from `first` on; upwards and downwards.
pub fn bidirectional_rings(extents: &[usize], first: usize) -> Vec<Step> {
    along_axes(extents, first, false, Within::Bidirectional)
}

fn along_axes(extents: &[usize], first: usize, is_mirrored: bool, within: Within) -> Vec<Step> {
    let ranks: usize = extents.iter().product();
    let axis = |step: usize| (first + step) % extents.len();
    let of_axis = |axis: usize| {
        let (extent, stride) = (extents[axis], extents[axis + 1..].iter().product::<usize>());
        let firsts = (0..ranks).filter(|rank| rank / stride % extent == 0);
        let ring = |first: usize| {
            let mut members: Vec<usize> = (0..extent).map(|offset| first + offset * stride).collect();
            if is_mirrored {
                members.reverse();
            }
            members
        };
        Step { groups: firsts.map(ring).collect(), within }
    };
    (0..extents.len()).map(axis).filter(|&axis| extents[axis] > 1).map(of_axis).collect()
}

/// For every step and rank the positions of the class of the rank after it, as first and last plus one: classes are divided
/// by the groups of their step, so that each is one range. `None` where the groups of a step do not divide evenly.
pub fn classes(steps: &[Step], ranks: usize) -> Option<Vec<Vec<(usize, usize)>>> {
    // From the last step, after which every class is one rank, to the first: a class joins those of a group.
    let mut class: Vec<usize> = (0..ranks).collect();
    let mut joined: Vec<Vec<Vec<usize>>> = Vec::new();
    let mut of_rank: Vec<Vec<usize>> = Vec::new();
    for step in steps.iter().rev() {
        let mut known: FxHashMap<Vec<usize>, usize> = FxHashMap::default();
        let mut owner: FxHashMap<usize, usize> = FxHashMap::default();
        let mut next = vec![usize::MAX; ranks];
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for group in &step.groups {
            let mut inner: Vec<usize> = group.iter().map(|&rank| class[rank]).collect();
            inner.sort_unstable();
            let number = *known.entry(inner.clone()).or_insert(parts.len());
            if number == parts.len() {
                if inner.windows(2).any(|pair| pair[0] == pair[1]) {
                    return None;
                }
                // A class may be in one joined class only.
                if inner.iter().any(|&class| owner.insert(class, number).is_some()) {
                    return None;
                }
                parts.push(inner);
            }
            group.iter().for_each(|&rank| next[rank] = number);
        }
        if next.contains(&usize::MAX) {
            return None;
        }
        of_rank.push(std::mem::replace(&mut class, next));
        joined.push(parts);
    }
    if joined.last().is_none_or(|parts| parts.len() != 1) {
        return None;
    }
    // And back: the positions of the whole are divided among the classes of every step.
    let mut range = vec![(0, ranks)];
    let mut positions = Vec::with_capacity(steps.len());
    for (parts, of_rank) in joined.iter().zip(&of_rank).rev() {
        let inner = parts.iter().flatten().max().map_or(0, |last| last + 1);
        let mut divided = vec![(0, 0); inner];
        for (number, parts) in parts.iter().enumerate() {
            let (first, last) = range[number];
            let each = (last - first) / parts.len();
            for (index, &part) in parts.iter().enumerate() {
                divided[part] = (first + index * each, first + (index + 1) * each);
            }
        }
        positions.push(of_rank.iter().map(|&class| divided[class]).collect());
        range = divided;
    }
    Some(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every rank is at a position of its own after the last step, within its range of every step before.
    fn expect_nested(steps: &[Step], ranks: usize) {
        let positions = classes(steps, ranks).expect("classes");
        let mut last: Vec<(usize, usize)> = positions.last().unwrap().clone();
        for pair in positions.windows(2) {
            let nested = pair[0].iter().zip(&pair[1]).all(|(outer, inner)| outer.0 <= inner.0 && inner.1 <= outer.1);
            assert!(nested, "{positions:?}");
        }
        last.sort_unstable();
        assert_eq!(last, (0..ranks).map(|rank| (rank, rank + 1)).collect::<Vec<_>>());
    }

    #[test]
    fn classes_divide_the_positions_step_by_step() {
        expect_nested(&digits(&[2, 2, 2], Within::Direct), 8);
        expect_nested(&digits(&[3, 2, 5], Within::Direct), 30);
        for first in 0..2 {
            for is_mirrored in [false, true] {
                expect_nested(&swing(&[8, 4], first, is_mirrored).unwrap(), 32);
                expect_nested(&swing(&[4, 16], first, is_mirrored).unwrap(), 64);
                expect_nested(&rings(&[3, 4, 5], first, is_mirrored), 60);
            }
        }
    }

    #[test]
    fn swing_meets_the_ranks_of_its_definition() {
        let steps = swing(&[8], 0, false).unwrap();
        let peer = |step: usize, rank: usize| {
            let pair = steps[step].groups.iter().find(|pair| pair.contains(&rank)).unwrap();
            pair[usize::from(pair[0] == rank)]
        };
        assert_eq!([peer(0, 0), peer(1, 0), peer(2, 0)], [1, 7, 3]);
        assert_eq!([peer(0, 5), peer(1, 5), peer(2, 5)], [4, 6, 2]);
        assert!(swing(&[6], 0, false).is_none());
    }

    #[test]
    fn groups_that_leave_ranks_apart_are_no_steps() {
        let twice = [digits(&[2, 2], Within::Direct).remove(0), digits(&[2, 2], Within::Direct).remove(0)];
        assert!(classes(&twice, 4).is_none());
    }
}
