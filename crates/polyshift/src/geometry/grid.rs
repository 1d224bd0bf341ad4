//! How many ranks each axis gets.

/// What is known of an axis before the ranks are divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    pub extent: usize,
    /// What an element that crosses a cut of the axis costs: a high weight makes the local axis longer.
    pub weight: f64,
}

/// How good a grid is; smaller is better, the first entry that differs decides.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Merit {
    /// Ranks without elements.
    pub idle: usize,
    /// The sum over the axes that are cut of weight times the elements of a face of a full block.
    pub surface: f64,
    /// The largest term of that sum: what travels longest where all axes are exchanged at once (equation 1 of the paper).
    pub face: f64,
    /// Elements of a full block.
    pub volume: usize,
}

/// The merit of a grid of ranks.
pub fn merit(cuts: &[Cut], grid: &[usize]) -> Merit {
    let blocks: Vec<usize> = cuts.iter().zip(grid).map(|(cut, &ranks)| cut.extent.div_ceil(ranks).max(1)).collect();
    let volume = blocks.iter().product::<usize>();
    let cut = cuts.iter().zip(grid).zip(&blocks).filter(|&((_, &ranks), _)| ranks > 1);
    let faces = cut.map(|((cut, _), &block)| cut.weight * (volume / block) as f64);
    let (surface, face) = faces.fold((0.0, 0.0), |(sum, largest), face| (sum + face, f64::max(largest, face)));
    let filled: usize = cuts.iter().zip(&blocks).map(|(cut, &block)| cut.extent.div_ceil(block)).product();
    Merit { idle: grid.iter().product::<usize>() - filled, surface, face, volume }
}

/// The grid of `ranks` ranks with the fewest idle ranks and, among those, the least surface (then the
/// smallest largest face, the least volume, the most ranks on the first axes, whose faces lie in one piece in memory). `None` where there is no axis to cut.
///
/// Every factorisation is looked at, those that differ only in the order of equal axes once (George, Brickner, Johnsson
/// 1994, section 2.1, has the aim and not the method).
pub fn best(cuts: &[Cut], ranks: usize) -> Option<Vec<usize>> {
    let mut search = Search { cuts, grid: vec![1; cuts.len()], best: None };
    search.assign(0, ranks);
    search.best.map(|(_, grid)| grid)
}

struct Search<'a> {
    cuts: &'a [Cut],
    grid: Vec<usize>,
    best: Option<(Merit, Vec<usize>)>,
}

impl Search<'_> {
    fn assign(&mut self, axis: usize, ranks: usize) {
        if axis == self.cuts.len() {
            if ranks == 1 {
                self.judge();
            }
            return;
        }
        if axis + 1 == self.cuts.len() {
            self.try_factor(axis, ranks, ranks);
            return;
        }
        for factor in divisors(ranks).into_iter().rev() {
            self.try_factor(axis, factor, ranks);
        }
    }

    fn try_factor(&mut self, axis: usize, factor: usize, ranks: usize) {
        // Equal axes are interchangeable: the earlier gets at least as many ranks.
        let twin = (0..axis).rev().find(|&other| self.cuts[other] == self.cuts[axis]);
        if twin.is_some_and(|twin| self.grid[twin] < factor) {
            return;
        }
        self.grid[axis] = factor;
        self.assign(axis + 1, ranks / factor);
        self.grid[axis] = 1;
    }

    fn judge(&mut self) {
        let merit = merit(self.cuts, &self.grid);
        if self.best.as_ref().is_none_or(|(best, _)| merit < *best) {
            self.best = Some((merit, self.grid.clone()));
        }
    }
}

fn divisors(number: usize) -> Vec<usize> {
    let mut small: Vec<usize> = (1..).take_while(|d| d * d <= number).filter(|d| number.is_multiple_of(*d)).collect();
    let large: Vec<usize> = small.iter().rev().map(|d| number / d).filter(|d| d * d > number).collect();
    small.extend(large);
    small
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cuts(extents: &[usize]) -> Vec<Cut> {
        extents.iter().map(|&extent| Cut { extent, weight: 1.0 }).collect()
    }

    #[test]
    fn the_papers_example_is_square() {
        // Section 2.1: 'a 32 x 32 array mapped onto a four-dimensional binary cube would result in subarrays on each node
        // of size 8 x 8'.
        assert_eq!(best(&cuts(&[32, 32]), 16), Some(vec![4, 4]));
    }

    #[test]
    fn long_axes_and_first_axes_are_cut_first() {
        assert_eq!(best(&cuts(&[128, 128, 256]), 2), Some(vec![1, 1, 2]));
        assert_eq!(best(&cuts(&[64, 64, 64]), 2), Some(vec![2, 1, 1]));
        assert_eq!(best(&cuts(&[16; 4]), 4), Some(vec![2, 2, 1, 1]));
        assert_eq!(best(&cuts(&[1000, 10]), 6), Some(vec![6, 1]));
    }

    #[test]
    fn a_heavy_axis_is_left_longer() {
        let heavy = [Cut { extent: 64, weight: 8.0 }, Cut { extent: 64, weight: 1.0 }];
        assert_eq!(best(&heavy, 16), Some(vec![1, 16]));
    }

    #[test]
    fn many_axes_take_no_time() {
        let grid = best(&cuts(&[2; 30]), 1024).unwrap();
        assert_eq!(grid.iter().product::<usize>(), 1024);
        assert_eq!(&grid[..10], &[2; 10]);
    }

    /// Every grid, without any thought.
    fn all(axes: usize, ranks: usize) -> Vec<Vec<usize>> {
        if axes == 1 {
            return vec![vec![ranks]];
        }
        let firsts = (1..=ranks).filter(|first| ranks.is_multiple_of(*first));
        firsts
            .flat_map(|first| all(axes - 1, ranks / first).into_iter().map(move |rest| [vec![first], rest].concat()))
            .collect()
    }

    proptest! {
        #[test]
        fn no_grid_is_better(
            extents in proptest::collection::vec((1usize..50, 1u8..4), 1..4), ranks in 1usize..25,
        ) {
            let cuts: Vec<Cut> =
                extents.iter().map(|&(extent, weight)| Cut { extent, weight: f64::from(weight) }).collect();
            let best_merit = merit(&cuts, &best(&cuts, ranks).unwrap());
            for grid in all(cuts.len(), ranks) {
                let other = merit(&cuts, &grid);
                prop_assert!(best_merit <= other, "{best_merit:?}, but {grid:?} has {other:?}");
            }
        }

        #[test]
        fn divisors_are_all_and_in_order(number in 1usize..2000) {
            let expected: Vec<usize> = (1..=number).filter(|d| number.is_multiple_of(*d)).collect();
            prop_assert_eq!(divisors(number), expected);
        }
    }
}
