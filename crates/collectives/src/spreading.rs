//! Trees over given paths that put as little as may be on the fullest link.
//!
//! Where a machine chooses the routes, trees cannot be packed link by link: two messages that leave a rank by different links
//! may meet on a third. A rank gets another rank above it in one of the trees as long as that makes full links less full.

use crate::symmetric::Paths;

/// What the load of a link by its capacity is raised to: links that are fuller than others count for more.
const FULL: i32 = 8;

/// Pairs of ranks of all trees that are looked at, at most: a second or two.
const MAX_PAIRS: usize = 1 << 21;

/// How often all ranks of all trees are gone through, at most.
const MAX_SWEEPS: usize = 24;

/// What a link of a path costs beside its load: of what is as full the shorter is taken.
const HOP: f64 = 1e-9;

/// Trees while they are spread.
pub struct Spreading<'a> {
    paths: &'a Paths,
    /// What a link adds for each path over it, before it is raised.
    share: Vec<f64>,
    load: Vec<u32>,
    roots: Vec<usize>,
    /// Of each tree who is above each rank, the root above itself.
    above: Vec<Vec<usize>>,
}

impl<'a> Spreading<'a> {
    /// One tree for each of `roots`, which may be named several times. `None` where a rank does not reach another, or there
    /// is too much to be looked at.
    pub fn of(paths: &'a Paths, capacities: &[i64], roots: Vec<usize>) -> Option<Spreading<'a>> {
        let ranks = paths.ranks();
        let is_joined = (0..ranks).all(|rank| paths.from(rank).len() + 1 == ranks);
        if !is_joined || roots.len() * ranks * ranks > MAX_PAIRS {
            return None;
        }
        let largest = capacities.iter().copied().max()? as f64;
        let share = capacities.iter().map(|&capacity| largest / capacity as f64).collect();
        let above = roots.iter().map(|&root| nearest(paths, root)).collect();
        let load = vec![0; capacities.len()];
        let mut spreading = Spreading { paths, share, load, roots, above };
        for tree in 0..spreading.roots.len() {
            let root = spreading.roots[tree];
            for rank in (0..ranks).filter(|&rank| rank != root) {
                spreading.add(spreading.above[tree][rank], rank, 1);
            }
        }
        spreading.spread();
        Some(spreading)
    }

    /// Of each tree who is above each rank.
    pub fn trees(self) -> Vec<Vec<usize>> {
        self.above
    }

    fn add(&mut self, from: usize, to: usize, by: i32) {
        let paths = self.paths;
        for &link in paths.get(from, to).expect("all ranks are joined") {
            let load = &mut self.load[link as usize];
            *load = load.checked_add_signed(by).expect("what was added is taken away");
        }
    }

    /// What one more path between two ranks adds.
    fn cost(&self, from: usize, to: usize) -> f64 {
        let added = |&link: &u32| {
            let (share, load) = (self.share[link as usize], f64::from(self.load[link as usize]));
            ((load + 1.0) * share).powi(FULL) - (load * share).powi(FULL) + HOP
        };
        self.paths.get(from, to).expect("all ranks are joined").iter().map(added).sum()
    }

    fn spread(&mut self) {
        for _ in 0..MAX_SWEEPS {
            let mut has_changed = false;
            for tree in 0..self.roots.len() {
                for rank in 0..self.paths.ranks() {
                    has_changed |= rank != self.roots[tree] && self.moved(tree, rank);
                }
            }
            if !has_changed {
                break;
            }
        }
    }

    /// Gives a rank of a tree the rank above it that makes links least full, if that is another one.
    fn moved(&mut self, tree: usize, rank: usize) -> bool {
        let known = self.above[tree][rank];
        self.add(known, rank, -1);
        let is_below = self.below(tree, rank);
        let others = (0..self.paths.ranks()).filter(|&other| !is_below[other]);
        let costs = others.map(|other| (self.cost(other, rank), other));
        let (cost, best) = costs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("the rank above is not below");
        let chosen = if cost < self.cost(known, rank) * (1.0 - 1e-9) { best } else { known };
        self.add(chosen, rank, 1);
        self.above[tree][rank] = chosen;
        chosen != known
    }

    /// Whether each rank gets its data through this one, which does itself.
    fn below(&self, tree: usize, rank: usize) -> Vec<bool> {
        let (above, root) = (&self.above[tree], self.roots[tree]);
        let mut is_below: Vec<Option<bool>> = vec![None; above.len()];
        (is_below[root], is_below[rank]) = (Some(false), Some(true));
        let mut walk = Vec::new();
        for start in 0..above.len() {
            let mut at = start;
            while is_below[at].is_none() {
                walk.push(at);
                at = above[at];
            }
            let answer = is_below[at];
            walk.drain(..).for_each(|passed| is_below[passed] = answer);
        }
        is_below.into_iter().map(|known| known == Some(true)).collect()
    }
}

/// The tree of shortest paths from one rank to the next (Prim 1957).
fn nearest(paths: &Paths, root: usize) -> Vec<usize> {
    let ranks = paths.ranks();
    let mut above = vec![root; ranks];
    let hops = |from: usize, to: usize| paths.get(from, to).map_or(usize::MAX, <[u32]>::len);
    let mut least: Vec<usize> = (0..ranks).map(|rank| hops(root, rank)).collect();
    let mut waiting: Vec<usize> = (0..ranks).filter(|&rank| rank != root).collect();
    while let Some((position, &rank)) = waiting.iter().enumerate().min_by_key(|&(_, &rank)| least[rank]) {
        waiting.swap_remove(position);
        for &other in &waiting {
            if hops(rank, other) < least[other] {
                (least[other], above[other]) = (hops(rank, other), rank);
            }
        }
    }
    above
}
