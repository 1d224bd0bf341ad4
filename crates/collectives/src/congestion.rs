//! Paths for many pairs of vertices that leave the fullest link as empty as can be, and prices of links that prove it: a
//! multicommodity flow of least congestion.
//!
//! Links have prices that grow exponentially with what they carry (Shahrokhi and Matula 1990). Every pair moves what it
//! sends from dear paths to cheap ones by steps of Newton's method (Bertsekas and Gafni 1982), and the sharper the prices
//! tell full links from others, the nearer this comes to the least congestion. By the duality of linear programmes nobody is
//! faster than what all bytes would pay on cheapest paths, divided by what all links earn in a second.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_base::Interrupt;

use crate::fabric::Fabric;

/// What a vertex sends to others: the vertex, and bytes to each.
pub struct Source {
    pub vertex: usize,
    pub sends: Vec<(usize, f64)>,
}

/// A path by its links, and how many bytes take it.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub links: Box<[u32]>,
    pub bytes: f64,
}

/// Paths for every pair, by source and in the order of what it sends.
#[derive(Clone, Debug)]
pub struct Flow {
    pub paths: Vec<Vec<Vec<Path>>>,
    /// The highest lower bound that prices gave, s.
    pub bound: f64,
    /// Those prices of a byte on each link, whole numbers.
    pub prices: Vec<f64>,
}

/// Where the paths may be that bytes take.
pub trait Network {
    /// Cheapest paths from a vertex by the prices of links; what `Cheapest` says of other vertices is then of this one.
    fn find(&mut self, from: usize, prices: &[f64]);
    /// What the cheapest path to a vertex costs; infinite where there is none.
    fn cost(&self, to: usize) -> f64;
    /// Its links, in order.
    fn links(&self, to: usize) -> Box<[u32]>;
}

/// All paths of a network's graph, whoever is on their way.
pub struct Anywhere<'a> {
    fabric: &'a Fabric,
    out: Vec<Vec<(u32, usize)>>,
    from: usize,
    /// Of every vertex the cost, and the link by which it is reached.
    reached: Vec<(f64, u32)>,
}

impl<'a> Anywhere<'a> {
    pub fn of(fabric: &'a Fabric) -> Anywhere<'a> {
        let reached = vec![(f64::INFINITY, u32::MAX); fabric.vertices.len()];
        Anywhere { fabric, out: fabric.links_out(), from: 0, reached }
    }
}

impl Network for Anywhere<'_> {
    /// By the algorithm of Dijkstra (1959).
    fn find(&mut self, from: usize, prices: &[f64]) {
        self.from = from;
        self.reached.fill((f64::INFINITY, u32::MAX));
        self.reached[from].0 = 0.0;
        // Numbers that are not negative are in the order of their bits.
        let mut waiting = BinaryHeap::from([Reverse((0u64, from))]);
        while let Some(Reverse((bits, vertex))) = waiting.pop() {
            let cost = f64::from_bits(bits);
            if cost > self.reached[vertex].0 {
                continue;
            }
            for &(link, to) in &self.out[vertex] {
                let further = cost + prices[link as usize];
                if further < self.reached[to].0 {
                    self.reached[to] = (further, link);
                    waiting.push(Reverse((further.to_bits(), to)));
                }
            }
        }
    }

    fn cost(&self, to: usize) -> f64 {
        self.reached[to].0
    }

    fn links(&self, to: usize) -> Box<[u32]> {
        let (mut links, mut at) = (Vec::new(), to);
        while at != self.from {
            let by = self.reached[at].1;
            links.push(by);
            at = self.fabric.links[by as usize].from;
        }
        links.reverse();
        links.into()
    }
}

/// How much one sweep over all pairs may cost for each nominal second of effort: about a nanosecond a unit.
const UNITS_PER_EFFORT: f64 = 1e9;

/// Sweeps, at most and at least.
const MAX_SWEEPS: usize = 600;
const MIN_SWEEPS: usize = 6;

/// Sweeps between two looks at the bound.
const SWEEPS_A_LOOK: usize = 3;

/// Nearer to the bound than this part of it is near enough.
const NEAR: f64 = 5e-4;

/// How sharply prices tell full links from others in the beginning, and in the end.
const MIN_SHARPNESS: f64 = 8.0;
const MAX_SHARPNESS: f64 = 65536.0;

/// A path by which less than this part of a pair's bytes go is left out in the end: each is messages of its own.
const MIN_SHARE: f64 = 0.02;

/// Paths with little congestion for what all sources send. `None` where a pair has no path.
pub fn least(
    fabric: &Fabric,
    network: &mut dyn Network,
    sources: &[Source],
    effort: f64,
    interrupt: &Interrupt,
) -> Option<Flow> {
    let mut search = Search::begun(fabric, network, sources)?;
    let pairs: usize = sources.iter().map(|source| source.sends.len()).sum();
    let sweep_units = pairs * 60 + sources.len() * fabric.links.len() * 20;
    let sweeps = (effort * UNITS_PER_EFFORT / sweep_units as f64) as usize;
    let mut sharpness = MIN_SHARPNESS;
    let mut best = search.kept();
    let mut last_gap = f64::INFINITY;
    for sweep in 1..=sweeps.clamp(MIN_SWEEPS, MAX_SWEEPS) {
        search.sweep(sharpness, true);
        if sweep % SWEEPS_A_LOOK != 0 {
            continue;
        }
        search.look(sharpness);
        if search.seconds() < best.0 {
            best = search.kept();
        }
        let gap = best.0 / search.bound - 1.0;
        if gap < NEAR || interrupt.is_requested() {
            break;
        }
        if gap > last_gap * 0.9 {
            sharpness = (sharpness * 2.0).min(MAX_SHARPNESS);
        }
        last_gap = gap;
    }
    search.restore(best);
    search.trim(sharpness);
    Some(search.flow())
}

struct Search<'a> {
    fabric: &'a Fabric,
    network: &'a mut dyn Network,
    sources: &'a [Source],
    paths: Vec<Vec<Vec<Path>>>,
    /// Seconds that each link is busy.
    busy: Vec<f64>,
    /// What a byte pays on each link.
    prices: Vec<f64>,
    /// A link is on the cheapest path of the pair in hand, or on the other one, where it has this number.
    marks: Vec<u64>,
    mark: u64,
    bound: f64,
    bound_prices: Vec<f64>,
}

/// Prices that prove a bound are whole numbers up to this.
const MAX_PRICE: f64 = (1u64 << 32) as f64;

impl<'a> Search<'a> {
    /// Everything on the path whose links take least for a byte.
    fn begun(fabric: &'a Fabric, network: &'a mut dyn Network, sources: &'a [Source]) -> Option<Search<'a>> {
        let links = fabric.links.len();
        let prices: Vec<f64> = fabric.links.iter().map(|link| 1.0 / link.bandwidth).collect();
        let mut search = Search {
            fabric,
            network,
            sources,
            paths: Vec::with_capacity(sources.len()),
            busy: vec![0.0; links],
            prices,
            marks: vec![0; links],
            mark: 0,
            bound: 0.0,
            bound_prices: vec![0.0; links],
        };
        for source in sources {
            search.network.find(source.vertex, &search.prices);
            let path = |&(to, bytes): &(usize, f64)| {
                let is_reached = search.network.cost(to).is_finite();
                is_reached.then(|| vec![Path { links: search.network.links(to), bytes }])
            };
            search.paths.push(source.sends.iter().map(path).collect::<Option<_>>()?);
        }
        search.count();
        search.look(0.0);
        Some(search)
    }

    /// Counts anew how busy links are.
    fn count(&mut self) {
        self.busy.fill(0.0);
        for path in self.paths.iter().flatten().flatten() {
            path.links.iter().for_each(|&link| {
                self.busy[link as usize] += path.bytes / self.fabric.links[link as usize].bandwidth;
            });
        }
    }

    fn seconds(&self) -> f64 {
        self.busy.iter().copied().fold(0.0, f64::max)
    }

    fn price(&self, link: usize, sharpness: f64, seconds: f64) -> f64 {
        ((self.busy[link] / seconds - 1.0) * sharpness).exp() / self.fabric.links[link].bandwidth
    }

    /// Every pair once: with a cheaper path if there is one, and its bytes where they pay less.
    fn sweep(&mut self, sharpness: f64, is_open: bool) {
        self.count();
        let seconds = self.seconds();
        (0..self.prices.len()).for_each(|link| self.prices[link] = self.price(link, sharpness, seconds));
        for (number, source) in self.sources.iter().enumerate() {
            if is_open {
                self.network.find(source.vertex, &self.prices);
            }
            for (index, &(to, _)) in source.sends.iter().enumerate() {
                let mut paths = std::mem::take(&mut self.paths[number][index]);
                if is_open {
                    let cheapest = paths.iter().map(|path| self.cost(path)).fold(f64::INFINITY, f64::min);
                    if self.network.cost(to) < cheapest * (1.0 - 1e-4) {
                        let links = self.network.links(to);
                        if paths.iter().all(|path| path.links != links) {
                            paths.push(Path { links, bytes: 0.0 });
                        }
                    }
                }
                self.even_out(&mut paths, sharpness, seconds);
                self.paths[number][index] = paths;
            }
        }
    }

    fn cost(&self, path: &Path) -> f64 {
        path.links.iter().map(|&link| self.prices[link as usize]).sum()
    }

    /// Moves bytes from dear paths to the cheapest one.
    fn even_out(&mut self, paths: &mut Vec<Path>, sharpness: f64, seconds: f64) {
        if paths.len() < 2 {
            return;
        }
        let costs: Vec<f64> = paths.iter().map(|path| self.cost(path)).collect();
        let cheapest = (0..paths.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).expect("there are paths");
        for dear in (0..paths.len()).filter(|&index| index != cheapest) {
            if paths[dear].bytes > 0.0 {
                let moved = self.moved(&paths[dear], &paths[cheapest], sharpness, seconds);
                if moved > 0.0 {
                    paths[dear].bytes -= moved;
                    paths[cheapest].bytes += moved;
                }
            }
        }
        let least = 1e-12 * paths.iter().map(|path| path.bytes).sum::<f64>();
        let mut index = 0;
        paths.retain(|path| {
            index += 1;
            path.bytes > least || index - 1 == cheapest
        });
    }

    /// Bytes that go from a dear path to a cheap one, which are moved on the links: a step of Newton's method, no longer than
    /// what the price of a link grows by a factor of e.
    fn moved(&mut self, dear: &Path, cheap: &Path, sharpness: f64, seconds: f64) -> f64 {
        self.mark += 2;
        let (on_cheap, on_both) = (self.mark, self.mark + 1);
        cheap.links.iter().for_each(|&link| self.marks[link as usize] = on_cheap);
        let (mut difference, mut slope, mut most) = (0.0, 0.0, dear.bytes);
        let each = sharpness / seconds;
        for &link in &dear.links {
            let link = link as usize;
            if self.marks[link] == on_cheap {
                self.marks[link] = on_both;
            } else {
                difference += self.prices[link];
                slope += self.prices[link] * each / self.fabric.links[link].bandwidth;
            }
        }
        for &link in &cheap.links {
            let link = link as usize;
            if self.marks[link] == on_cheap {
                difference -= self.prices[link];
                let growth = each / self.fabric.links[link].bandwidth;
                slope += self.prices[link] * growth;
                most = most.min(1.0 / growth);
            }
        }
        if difference <= 0.0 || slope <= 0.0 {
            return 0.0;
        }
        let moved = (difference / slope).min(most);
        // What is left of next to nothing is next to nothing.
        let moved = if dear.bytes - moved < 1e-9 * dear.bytes { dear.bytes } else { moved };
        for (path, sign, is_other) in [(dear, -1.0, on_both), (cheap, 1.0, on_both)] {
            for &link in &path.links {
                let link = link as usize;
                if self.marks[link] != is_other {
                    self.busy[link] += sign * moved / self.fabric.links[link].bandwidth;
                    self.prices[link] = self.price(link, sharpness, seconds);
                }
            }
        }
        moved
    }

    /// The bound by prices as links are now, if it is the highest so far.
    fn look(&mut self, sharpness: f64) {
        self.count();
        let seconds = self.seconds();
        let mut prices: Vec<f64> = (0..self.prices.len()).map(|link| self.price(link, sharpness, seconds)).collect();
        let highest = prices.iter().copied().fold(0.0, f64::max);
        prices.iter_mut().for_each(|price| *price = (*price / highest * MAX_PRICE).round());
        let bound = bound(self.fabric, self.network, self.sources, &prices);
        if bound > self.bound {
            (self.bound, self.bound_prices) = (bound, prices);
        }
    }

    fn kept(&self) -> (f64, Vec<Vec<Vec<Path>>>) {
        (self.seconds(), self.paths.clone())
    }

    fn restore(&mut self, kept: (f64, Vec<Vec<Vec<Path>>>)) {
        self.paths = kept.1;
        self.count();
    }

    /// Leaves out paths of few bytes, as far as that costs next to nothing.
    fn trim(&mut self, sharpness: f64) {
        let before = self.kept();
        for _ in 0..3 {
            let mut is_changed = false;
            for paths in self.paths.iter_mut().flatten().filter(|paths| paths.len() > 1) {
                let all: f64 = paths.iter().map(|path| path.bytes).sum();
                let largest = paths.iter().map(|path| path.bytes).fold(0.0, f64::max);
                paths.retain(|path| path.bytes >= (MIN_SHARE * all).min(largest));
                let left: f64 = paths.iter().map(|path| path.bytes).sum();
                is_changed |= left < all;
                paths.iter_mut().for_each(|path| path.bytes *= all / left);
            }
            if !is_changed {
                break;
            }
            (0..SWEEPS_A_LOOK).for_each(|_| self.sweep(sharpness, false));
        }
        self.count();
        if self.seconds() > before.0 * (1.0 + 2.0 * NEAR) {
            self.restore(before);
        }
    }

    fn flow(self) -> Flow {
        Flow { paths: self.paths, bound: self.bound, prices: self.bound_prices }
    }
}

/// What all bytes pay on cheapest paths, in parts of what all links earn in a second: nobody takes less time.
pub fn bound(fabric: &Fabric, network: &mut dyn Network, sources: &[Source], prices: &[f64]) -> f64 {
    let paid = |source: &Source| -> f64 {
        network.find(source.vertex, prices);
        source.sends.iter().map(|&(to, bytes)| bytes * network.cost(to)).sum()
    };
    let paid: f64 = sources.iter().map(paid).sum();
    let earned: f64 = fabric.links.iter().zip(prices).map(|(link, price)| link.bandwidth * price).sum();
    paid / earned
}
