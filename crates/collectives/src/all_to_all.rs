//! All-to-alls: from every rank a block to every other one.
//!
//! For long blocks paths share the links so that the fullest one is as empty as can be (crates/collectives/src/congestion.rs),
//! and prices of links certify how near that is to what anybody can do. For short ones messages are combined: blocks go
//! digit by digit of the distance between source and destination (Bruck and others 1997), or axis by axis, and all that goes
//! from one rank to another then is one message. Where messages hold what others wait for, as circuits do and memories that
//! take one at a time, blocks go in rounds in which every rank sends one and gets one.

use rustc_hash::FxHashSet;
use weft_base::{Interrupt, memory};

use crate::blocks::Blocks;
use crate::bound::Edge;
use crate::cheapest::{FromRank, Router};
use crate::congestion::{self, Anywhere, Flow, Network, Source};
use crate::distribution::reachable;
use crate::error::CollectiveError;
use crate::fabric::Fabric;
use crate::predict;
use crate::request::{Method, Request};
use crate::routes::Routes;
use crate::schedule::{Bound, Exchange, Message, Operation, Round, Schedule, Stage, Transfer, Tree};
use crate::symmetric::{self, MAX_TRANSFERS};

/// Bytes that a path of a block takes while a schedule is made.
const BYTES_A_PATH: u64 = 600;

/// Of machines with so many ranks also paths through one rank between are looked at; of larger ones each route alone.
const MAX_RELAYED: usize = 160;

/// More ranks than this do not exchange blocks in rounds, which are followed block by block.
const MAX_PAIRWISE: usize = 256;

/// Numberings along axes along which blocks are combined, at most.
const MAX_AXES: usize = 6;

/// One message for every block.
const DIRECT: &str = "direct messages";

/// What [`crate::compile::alternatives`] gives for an all-to-all.
///
/// # Errors
/// For ranks that do not all reach each other, and for more of them than a schedule can list the pairs of.
pub fn alternatives(
    fabric: &Fabric,
    request: &Request,
    empty: &Schedule,
    effort: f64,
    interrupt: &Interrupt,
) -> Result<Vec<Schedule>, CollectiveError> {
    let ranks = fabric.ranks.len();
    let too_large = |what: String| CollectiveError::new(format!("{}: {what}", fabric.name));
    if ranks.saturating_mul(ranks) > MAX_TRANSFERS {
        return Err(too_large(format!(
            "an all-to-all of {ranks} ranks has more than {MAX_TRANSFERS} blocks; compile for a group of its nodes, or the \
             pattern all-to-all, which is divided into phases"
        )));
    }
    let what = format!("an all-to-all of {ranks} ranks");
    memory::require((ranks * ranks) as u64 * BYTES_A_PATH, what, "compile for a smaller group")
        .map_err(|error| CollectiveError::new(error.to_string()))?;
    reachable(fabric, &(0..ranks).collect::<Vec<usize>>())?;
    let blocks = Blocks::of_schedule(empty);
    let maker = Maker { fabric, request, blocks, rank_of: fabric.rank_of() };
    let sources = maker.sources();
    let flow = congestion::least(fabric, &mut Anywhere::of(fabric), &sources, effort, interrupt)
        .ok_or_else(|| too_large("ranks do not all reach each other".to_owned()))?;
    let bound = bound(fabric, request, &flow);
    let quickest = maker.quickest();
    let mut stages = Vec::new();
    if request.method != Method::Latency {
        let packed = match &fabric.routes {
            None => Some(flow),
            Some(routes) => {
                let mut network = ByRoutes::of(fabric, routes, ranks <= MAX_RELAYED);
                network.as_mut().and_then(|network| congestion::least(fabric, network, &sources, effort, interrupt))
            }
        };
        stages.extend(packed.and_then(|flow| maker.packed(&flow, &bound)));
    }
    if request.method != Method::Throughput || stages.is_empty() {
        stages.extend(maker.direct(&quickest, &bound));
    }
    if request.method != Method::Throughput && effort > 0.0 {
        stages.extend(maker.combined(&quickest, &bound, interrupt));
    }
    let exchanges = match request.method {
        Method::Throughput => Vec::new(),
        _ => maker.pairwise(&quickest, &bound),
    };
    let mut known = FxHashSet::default();
    stages.retain(|stage| known.insert((stage.merged, stage.chunks, stage.seconds.to_bits())));
    let in_stages = stages.into_iter().map(|stage| Schedule { stages: vec![stage], ..empty.clone() });
    let in_rounds = exchanges.into_iter().map(|exchange| Schedule { exchange: Some(exchange), ..empty.clone() });
    let mut schedules: Vec<Schedule> = in_stages.chain(in_rounds).collect();
    schedules.sort_by(|a, b| a.seconds().total_cmp(&b.seconds()));
    if schedules.is_empty() {
        return Err(too_large("the routes of its messages do not lead from every rank to every other one".to_owned()));
    }
    Ok(schedules)
}

/// The bound by prices.
fn bound(fabric: &Fabric, request: &Request, flow: &Flow) -> Bound {
    let priced = flow.prices.iter().zip(0u32..).filter(|(price, _)| **price > 0.0);
    let prices = priced.map(|(price, link)| (link, *price as u64)).collect();
    debug_assert_eq!(flow.prices.len(), fabric.links.len());
    Bound { prices, rate: request.bytes as f64 / flow.bound, seconds: flow.bound, ..Bound::default() }
}

struct Maker<'a> {
    fabric: &'a Fabric,
    request: &'a Request,
    blocks: Blocks,
    rank_of: Vec<Option<usize>>,
}

impl Maker<'_> {
    fn ranks(&self) -> usize {
        self.fabric.ranks.len()
    }

    fn sources(&self) -> Vec<Source> {
        let source = |from: usize| {
            let others = (0..self.ranks()).filter(|&to| self.has_block(from, to));
            let sends = others.map(|to| (self.fabric.ranks[to], self.blocks.block(from, to).1 as f64));
            Source { vertex: self.fabric.ranks[from], sends: sends.collect() }
        };
        (0..self.ranks()).map(source).collect()
    }

    /// The paths on which a block is soonest there.
    fn quickest(&self) -> Vec<FromRank> {
        let block = self.request.bytes as f64 / self.ranks() as f64;
        let seconds: Vec<f64> = self.fabric.links.iter().map(|link| link.latency + block / link.bandwidth).collect();
        Router::of(self.fabric).all_paths(&seconds, true)
    }

    fn has_block(&self, from: usize, to: usize) -> bool {
        from != to && self.blocks.block(from, to).1 > 0
    }

    /// Pairs with a block, in an order in which no two ranks send to the same one at the same time, if all keep step.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<'_> {
        let ranks = self.ranks();
        let all = (1..ranks).flat_map(move |distance| (0..ranks).map(move |from| (from, (from + distance) % ranks)));
        all.filter(|&(from, to)| self.has_block(from, to))
    }

    /// The blocks on paths that share the links, with as much on each as they say.
    fn packed(&self, flow: &Flow, bound: &Bound) -> Option<Stage> {
        let element = self.request.element_bytes;
        // Of the block for each rank which one it is among those that have bytes.
        let index = |from: usize, to: usize| (0..to).filter(|&other| self.has_block(from, other)).count();
        let mut trees = Vec::new();
        for (from, to) in self.pairs() {
            let (start, bytes) = self.blocks.block(from, to);
            let mut paths: Vec<&congestion::Path> = flow.paths[from][index(from, to)].iter().collect();
            paths.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
            let all: f64 = paths.iter().map(|path| path.bytes).sum();
            let (mut sum, mut at) = (0.0, 0);
            for path in paths {
                sum += path.bytes;
                let end = (((bytes / element) as f64 * sum / all).round() as u64 * element).min(bytes);
                trees.extend(self.chain(from, start + at, end - at, self.transfers(from, &path.links)));
                at = end;
            }
        }
        let is_direct = trees.len() == self.pairs().count() && trees.iter().all(|tree| tree.transfers.len() == 1);
        self.stage(if is_direct { DIRECT } else { "packed paths" }, trees, false, bound)
    }

    /// One message for every block, on its quickest path.
    fn direct(&self, quickest: &[FromRank], bound: &Bound) -> Option<Stage> {
        let chain = |(from, to): (usize, usize)| {
            let (start, bytes) = self.blocks.block(from, to);
            let links = &quickest[from][to].as_ref()?.1;
            Some(self.chain(from, start, bytes, self.transfers(from, links)))
        };
        let trees: Vec<Option<Tree>> = self.pairs().map(chain).collect::<Option<_>>()?;
        self.stage(DIRECT, trees.into_iter().flatten().collect(), false, bound)
    }

    /// Rounds in which every rank sends a block and gets one: to ranks of one distance, and where ranks are a power of two also
    /// to those whose numbers differ in the same digits. None of more ranks than are followed block by block, and where a
    /// block would stop on its path.
    fn pairwise(&self, quickest: &[FromRank], bound: &Bound) -> Vec<Exchange> {
        let ranks = self.ranks();
        if ranks > MAX_PAIRWISE {
            return Vec::new();
        }
        let by_distance = |from: usize, step: usize| (from + step) % ranks;
        let mut exchanges = Vec::from_iter(self.in_rounds("pairwise", &by_distance, quickest, bound));
        if ranks.is_power_of_two() {
            let by_digits = |from: usize, step: usize| from ^ step;
            exchanges.extend(self.in_rounds("pairwise, by digits", &by_digits, quickest, bound));
        }
        exchanges
    }

    fn in_rounds(
        &self,
        form: &str,
        partner: &dyn Fn(usize, usize) -> usize,
        quickest: &[FromRank],
        bound: &Bound,
    ) -> Option<Exchange> {
        let (mut routes, mut rounds) = (Vec::new(), Vec::new());
        for step in 1..self.ranks() {
            let mut messages = Vec::new();
            for (from, paths) in quickest.iter().enumerate() {
                let to = partner(from, step);
                if !self.has_block(from, to) {
                    continue;
                }
                let (start, bytes) = self.blocks.block(from, to);
                let [transfer] = &self.transfers(from, &paths[to].as_ref()?.1)[..] else { return None };
                messages.push(Message(routes.len() as u32, start, bytes));
                routes.push(transfer.clone());
            }
            if !messages.is_empty() {
                rounds.push(Round { operation: Operation::Copy, messages });
            }
        }
        let mut exchange = Exchange { form: form.to_owned(), routes, rounds, bound: bound.clone(), seconds: 0.0 };
        exchange.seconds = predict::exchange_seconds(self.fabric, &exchange);
        Some(exchange)
    }

    /// Messages combined digit by digit, and axis by axis.
    fn combined(&self, quickest: &[FromRank], bound: &Bound, interrupt: &Interrupt) -> Vec<Stage> {
        let ranks = self.ranks();
        let mut stages = Vec::new();
        for radix in [2, 3, 4, 8, 16].into_iter().filter(|&radix| radix < ranks) {
            if interrupt.is_requested() {
                return stages;
            }
            let hops = |from: usize, to: usize| by_digits((to + ranks - from) % ranks, from, radix, ranks);
            stages.extend(self.stops(&format!("Bruck, radix {radix}"), &hops, quickest, bound));
        }
        for extents in self.axes() {
            if interrupt.is_requested() {
                return stages;
            }
            let name = extents.iter().map(ToString::to_string).collect::<Vec<String>>().join("x");
            let hops = |from: usize, to: usize| by_axes(from, to, &extents);
            stages.extend(self.stops(&format!("axis by axis, {name}"), &hops, quickest, bound));
        }
        stages
    }

    /// Numberings of ranks along two axes or more.
    fn axes(&self) -> Vec<Vec<usize>> {
        let edges: Vec<Edge> = self.fabric.links.iter().map(|link| (link.from, link.to, 1)).collect();
        let paths = symmetric::Paths::of(self.fabric, &edges);
        let (mut axes, _) = paths.axes(&edges);
        axes.retain(|extents| extents.len() > 1);
        axes.truncate(MAX_AXES);
        axes
    }

    /// Blocks that are combined at every rank where `hops` has them stop on their way.
    fn stops(
        &self,
        name: &str,
        hops: &dyn Fn(usize, usize) -> Vec<usize>,
        quickest: &[FromRank],
        bound: &Bound,
    ) -> Option<Stage> {
        let mut trees = Vec::new();
        for (from, to) in self.pairs() {
            let (start, bytes) = self.blocks.block(from, to);
            let (mut at, mut transfers) = (from, Vec::new());
            for next in hops(from, to) {
                transfers.extend(self.transfers(at, &quickest[at][next].as_ref()?.1));
                at = next;
            }
            trees.extend(self.chain(from, start, bytes, without_loops(from, transfers)));
        }
        self.stage(name, trees, true, bound)
    }

    /// A path as transfers: from rank to rank, or where routers pass messages on as far as a message goes by itself.
    fn transfers(&self, from: usize, links: &[u32]) -> Vec<Transfer> {
        let stops = stops(self.fabric, &self.rank_of, links);
        let (mut at, mut begun, mut transfers) = (from, 0, Vec::new());
        for (end, rank) in stops {
            transfers.push(Transfer(at, rank, links[begun..end].to_vec()));
            (at, begun) = (rank, end);
        }
        transfers
    }

    fn chain(&self, root: usize, start: u64, bytes: u64, transfers: Vec<Transfer>) -> Option<Tree> {
        (bytes > 0).then_some(Tree { root, weight: bytes as i64, start, bytes, transfers, reductions: None })
    }

    fn stage(&self, form: &str, trees: Vec<Tree>, merged: bool, bound: &Bound) -> Option<Stage> {
        let mut stage = Stage {
            operation: Operation::Copy,
            parts: self.request.bytes as i64,
            chunks: 1,
            merged,
            translated: None,
            form: Some(form.to_owned()),
            trees,
            bound: bound.clone(),
            rate: 0.0,
            seconds: 0.0,
        };
        stage.rate = predict::rate(self.fabric, &stage);
        if !merged && stage.trees.iter().any(|tree| tree.transfers.len() > 1) {
            stage.chunks = predict::best_chunks(self.fabric, &stage, self.request.element_bytes);
        }
        stage.seconds = predict::seconds(self.fabric, &stage)?;
        Some(stage)
    }
}

/// The same transfers without those that lead away from a rank and back to it.
fn without_loops(from: usize, transfers: Vec<Transfer>) -> Vec<Transfer> {
    let mut kept: Vec<Transfer> = Vec::with_capacity(transfers.len());
    for transfer in transfers {
        let to = transfer.1;
        match kept.iter().position(|known| known.1 == to) {
            Some(index) => kept.truncate(index + 1),
            None if to == from => kept.clear(),
            None => kept.push(transfer),
        }
    }
    kept
}

/// Where messages on a path end: after how many of its links, and the rank there. Through ranks a message goes by itself only
/// where routers pass it on, and on a machine only along its route.
fn stops(fabric: &Fabric, rank_of: &[Option<usize>], links: &[u32]) -> Vec<(usize, usize)> {
    let rank_after = |end: usize| rank_of[fabric.links[links[end - 1] as usize].to].map(|rank| (end, rank));
    let ranks: Vec<(usize, usize)> = (1..=links.len()).filter_map(rank_after).collect();
    if !fabric.forwards {
        return ranks;
    }
    let Some(routes) = &fabric.routes else { return ranks.last().copied().into_iter().collect() };
    let (mut stops, mut begun) = (Vec::new(), 0);
    while begun < links.len() {
        let start = fabric.links[links[begun] as usize].from;
        let ahead = ranks.iter().filter(|(end, _)| *end > begun);
        let is_route = |stop: &&(usize, usize)| {
            routes.path(start, fabric.ranks[stop.1]).is_some_and(|route| route == links[begun..stop.0])
        };
        let farthest = ahead.clone().rev().find(is_route).or(ahead.clone().next()).copied();
        let Some(stop) = farthest else { break };
        begun = stop.0;
        stops.push(stop);
    }
    stops
}

/// The ranks where a block stops that goes one digit of its distance after another, the lowest first.
fn by_digits(distance: usize, from: usize, radix: usize, ranks: usize) -> Vec<usize> {
    let (mut at, mut left, mut unit, mut stops) = (from, distance, 1, Vec::new());
    while left > 0 {
        let step = left % radix * unit;
        if step > 0 {
            at = (at + step) % ranks;
            stops.push(at);
        }
        left /= radix;
        unit *= radix;
    }
    stops
}

/// The ranks where a block stops that goes along one axis after another, the last axis first; ranks are numbered along axes of
/// these extents, the last one fastest.
fn by_axes(from: usize, to: usize, extents: &[usize]) -> Vec<usize> {
    let (mut at, mut unit, mut stops) = (from, 1, Vec::new());
    for extent in extents.iter().rev() {
        let coordinate = |rank: usize| rank / unit % extent;
        if coordinate(at) != coordinate(to) {
            at = at + coordinate(to) * unit - coordinate(at) * unit;
            stops.push(at);
        }
        unit *= extent;
    }
    stops
}

/// The routes of a machine, and where that is wanted two of them one after another.
struct ByRoutes<'a> {
    ranks: &'a [usize],
    rank_of: Vec<Option<usize>>,
    routes: Vec<Vec<Vec<u32>>>,
    is_relayed: bool,
    from: usize,
    /// Of every rank the cost, and the rank between if there is one.
    reached: Vec<(f64, Option<usize>)>,
}

impl<'a> ByRoutes<'a> {
    /// `None` where a route is not whole.
    fn of(fabric: &'a Fabric, routes: &Routes, is_relayed: bool) -> Option<ByRoutes<'a>> {
        let ranks = &fabric.ranks;
        let route = |from: usize, to: usize| if from == to { Some(Vec::new()) } else { routes.path(from, to) };
        let from = |&from: &usize| ranks.iter().map(|&to| route(from, to)).collect::<Option<Vec<Vec<u32>>>>();
        let routes = ranks.iter().map(from).collect::<Option<_>>()?;
        let rank_of = fabric.rank_of();
        Some(ByRoutes { ranks, rank_of, routes, is_relayed, from: 0, reached: vec![(0.0, None); ranks.len()] })
    }

    fn rank(&self, vertex: usize) -> usize {
        self.rank_of[vertex].expect("blocks are between ranks")
    }
}

impl Network for ByRoutes<'_> {
    fn find(&mut self, from: usize, prices: &[f64]) {
        self.from = self.rank(from);
        let cost =
            |from: usize, to: usize| -> f64 { self.routes[from][to].iter().map(|&link| prices[link as usize]).sum() };
        let first: Vec<f64> = (0..self.ranks.len()).map(|to| cost(self.from, to)).collect();
        let mut reached: Vec<(f64, Option<usize>)> = first.iter().map(|&cost| (cost, None)).collect();
        if self.is_relayed {
            for between in (0..self.ranks.len()).filter(|&rank| rank != self.from) {
                for to in (0..self.ranks.len()).filter(|&rank| rank != self.from && rank != between) {
                    // What is not cheaper until then is not cheaper in the end.
                    if first[between] < reached[to].0 {
                        let both = first[between] + cost(between, to);
                        if both < reached[to].0 {
                            reached[to] = (both, Some(between));
                        }
                    }
                }
            }
        }
        self.reached = reached;
    }

    fn cost(&self, to: usize) -> f64 {
        self.reached[self.rank(to)].0
    }

    fn links(&self, to: usize) -> Box<[u32]> {
        let to = self.rank(to);
        let route = |from: usize, to: usize| self.routes[from][to].iter().copied();
        match self.reached[to].1 {
            None => route(self.from, to).collect(),
            Some(between) => route(self.from, between).chain(route(between, to)).collect(),
        }
    }
}
