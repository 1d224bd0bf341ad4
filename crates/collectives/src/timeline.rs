//! When the messages of a schedule arrive, one by one: what a rank waits for, when its processor sends and receives, and how
//! messages meet on the links of their paths.
//!
//! The formulas of [`crate::predict`] add what is busiest; here a message that finds a link busy waits for it, and whoever
//! needs the message waits too. On a described machine it costs what its protocol says for its length, holds links as the
//! machine's switching does, and waits for the memories of both ends; on a graph links pass bytes on as they come.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;
use weft_base::{Interrupt, Operation as NodeOperation, Picos};
use weft_comm::Tag;
use weft_machine::{Completion, Machine, Switching};

use crate::error::CollectiveError;
use crate::execute::{MAX_IN_FLIGHT, Plan, Role, Round, exchanged, in_order, roles, rounds};
use crate::fabric::Fabric;
use crate::merge::merge;
use crate::predict;
use crate::schedule::{Operation, Schedule, Stage, Transfer};

/// Messages of a schedule, at most: each takes about a microsecond and a hundred bytes.
const MAX_MESSAGES: u64 = 1 << 18;

/// Seconds until all ranks are through. `None` for trees that are moved, for more messages than are looked at one by one, and
/// where ranks wait for each other.
pub fn seconds(fabric: &Fabric, schedule: &Schedule) -> Option<f64> {
    if schedule.messages() > MAX_MESSAGES || schedule.stages.iter().any(|stage| stage.translated.is_some()) {
        return None;
    }
    let ranks = schedule.fabric.ranks.len();
    let machine = fabric.routes.as_ref().map(|routes| routes.machine());
    let programs = vec![Vec::new(); ranks];
    let mut draft = Draft { schedule, machine, messages: Vec::new(), programs };
    for stage in &schedule.stages {
        if stage.merged { draft.merged(stage)? } else { draft.trees(stage)? }
    }
    draft.exchange()?;
    let Draft { messages, programs, .. } = draft;
    Run::of(Network::of(fabric, machine), messages, programs).seconds()
}

/// Messages that are looked at one by one to choose among schedules for each nominal second of effort, at most.
const MESSAGES_PER_EFFORT: f64 = (1 << 20) as f64;

/// What the formulas predict to take so many times as long as the soonest so far is not looked at message by message.
const MAX_SLOWER: f64 = 2.5;

/// The schedules with their seconds, the soonest first: message by message for as many as the nominal seconds of `effort`
/// allow, else by the formulas. When `interrupt` is requested, formulas alone decide on what is left.
pub fn ranked(fabric: &Fabric, schedules: Vec<Schedule>, effort: f64, interrupt: &Interrupt) -> Vec<(f64, Schedule)> {
    let (mut left, mut least) = ((effort * MESSAGES_PER_EFFORT) as u64, f64::INFINITY);
    let predicted = |schedule: Schedule| {
        let (by_formula, messages) = (schedule.seconds(), schedule.messages());
        if messages > left || by_formula > least * MAX_SLOWER || interrupt.is_requested() {
            return (by_formula, schedule);
        }
        left -= messages;
        let predicted = seconds(fabric, &schedule).unwrap_or(by_formula);
        least = least.min(predicted);
        (predicted, schedule)
    };
    let mut ranked: Vec<(f64, Schedule)> = schedules.into_iter().map(predicted).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    for schedule in ranked.iter_mut().take(CHUNKED) {
        chunked(fabric, schedule, &mut left, interrupt);
    }
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    ranked
}

/// So many schedules may be sent in other numbers of chunks than the formulas say.
const CHUNKED: usize = 3;

/// Halves or doubles the chunks of each stage of trees as long as its messages are sooner there, as far as `left` messages
/// allow.
fn chunked(fabric: &Fabric, known: &mut (f64, Schedule), left: &mut u64, interrupt: &Interrupt) {
    for (stage, is_more) in (0..known.1.stages.len()).flat_map(|stage| [(stage, false), (stage, true)]) {
        while !known.1.stages[stage].merged && !interrupt.is_requested() {
            let mut other = known.1.clone();
            let stage = &mut other.stages[stage];
            let longest = stage.trees.iter().map(|tree| tree.bytes / known.1.element_bytes).max().unwrap_or(1);
            let chunks = if is_more { stage.chunks * 2 } else { stage.chunks / 2 };
            if chunks == 0 || chunks > longest {
                break;
            }
            stage.chunks = chunks;
            let Some(by_formula) = predict::seconds(fabric, stage) else { break };
            stage.seconds = by_formula;
            if other.messages() > *left {
                break;
            }
            *left -= other.messages();
            match seconds(fabric, &other) {
                Some(sooner) if sooner < known.0 => *known = (sooner, other),
                _ => break,
            }
        }
    }
}

/// A message: what it is, and once that is known when it has left its sender's memory and is whole in its receiver's.
#[derive(Clone, Copy)]
struct Sent<'a> {
    from: usize,
    to: usize,
    links: &'a [u32],
    bytes: u64,
    left: Option<Picos>,
    arrived: Option<Picos>,
}

/// What a rank does next, with messages by their numbers.
#[derive(Clone, Copy)]
enum Step {
    /// Its processor sends a message.
    Send(u32),
    /// It waits for a message, and its processor receives it.
    Receive(u32),
    /// It waits until a message has left its memory.
    Left(u32),
    /// It adds what it has received.
    Add(Picos),
}

/// The messages of a schedule, and what each rank does with them, as its execution does.
struct Draft<'a> {
    schedule: &'a Schedule,
    machine: Option<&'a Machine>,
    messages: Vec<Sent<'a>>,
    programs: Vec<Vec<Step>>,
}

impl<'a> Draft<'a> {
    fn push(&mut self, (from, to): (usize, usize), links: &'a [u32], bytes: u64) {
        self.messages.push(Sent { from, to, links, bytes, left: None, arrived: None });
    }

    fn receive(&mut self, rank: usize, message: usize, operation: Operation) {
        self.programs[rank].push(Step::Receive(message as u32));
        let element_bytes = self.schedule.element_bytes;
        let add = if element_bytes == 8 { NodeOperation::Float64Add } else { NodeOperation::Float32Add };
        let time = self.machine.and_then(|machine| machine.charged_time(add)).unwrap_or(0.0);
        if operation != Operation::Copy && time > 0.0 {
            let count = self.messages[message].bytes / element_bytes;
            self.programs[rank].push(Step::Add(Picos::from_seconds(time * count as f64)));
        }
    }

    fn trees(&mut self, stage: &'a Stage) -> Option<()> {
        let transfers: Vec<&Transfer> = stage.trees.iter().flat_map(|tree| &tree.transfers).collect();
        let all = roles(stage, self.programs.len(), &mut numbered(transfers.iter().map(|of| (of.0, of.1)))).ok()?;
        let (first, chunks) = (self.messages.len(), stage.chunks as usize);
        for tree in &stage.trees {
            let elements = tree.bytes / self.schedule.element_bytes;
            let at = |chunk: u64| elements * chunk / stage.chunks;
            for Transfer(from, to, links) in &tree.transfers {
                for chunk in 0..stage.chunks {
                    let bytes = (at(chunk + 1) - at(chunk)) * self.schedule.element_bytes;
                    self.push((*from, *to), links, bytes);
                }
            }
        }
        let number = |tag: &Tag, chunk: u64| first + user(tag) * chunks + chunk as usize;
        for (rank, roles) in all.iter().enumerate() {
            self.pipelined(rank, roles, &number);
        }
        Some(())
    }

    fn pipelined(&mut self, rank: usize, roles: &[Role], number: &dyn Fn(&Tag, u64) -> usize) {
        let mut in_flight: FxHashMap<usize, VecDeque<usize>> = FxHashMap::default();
        for (role, chunk) in in_order(roles, self.schedule.element_bytes) {
            let role = &roles[role];
            role.receives.iter().for_each(|(_, tag)| self.receive(rank, number(tag, chunk), role.operation));
            for (to, tag) in &role.sends {
                let before = in_flight.entry(*to).or_default();
                if before.len() == MAX_IN_FLIGHT
                    && let Some(message) = before.pop_front()
                {
                    self.programs[rank].push(Step::Left(message as u32));
                }
                before.push_back(number(tag, chunk));
                self.programs[rank].push(Step::Send(number(tag, chunk) as u32));
            }
        }
        let last = in_flight.into_values().flatten();
        self.programs[rank].extend(last.map(|message| Step::Left(message as u32)));
    }

    fn merged(&mut self, stage: &'a Stage) -> Option<()> {
        let (merged, in_rounds) = merge(stage)?;
        let messages = || in_rounds.iter().flatten().map(|&number| &merged[number]);
        let first = self.messages.len();
        let plans =
            rounds(&self.schedule.fabric, stage, &mut numbered(messages().map(|message| (message.from, message.to))));
        messages().for_each(|message| self.push((message.from, message.to), message.links, message.bytes()));
        self.rounds(first, plans.ok()?)
    }

    fn exchange(&mut self) -> Option<()> {
        let Some(exchange) = &self.schedule.exchange else { return Some(()) };
        let messages = || exchange.rounds.iter().flat_map(|round| &round.messages);
        let route = |message: &crate::schedule::Message| &exchange.routes[message.0 as usize];
        let ends = messages().map(|message| (route(message).0, route(message).1));
        let plans = exchanged(exchange, self.programs.len(), &mut numbered(ends));
        let first = self.messages.len();
        messages().for_each(|message| self.push((route(message).0, route(message).1), &route(message).2, message.2));
        self.rounds(first, plans.ok()?)
    }

    fn rounds(&mut self, first: usize, plans: Vec<Plan>) -> Option<()> {
        for (rank, plan) in plans.into_iter().enumerate() {
            let Plan::Rounds(rounds) = plan else { return None };
            for Round { operation, sends, receives } in rounds {
                let sent = || sends.iter().map(|(_, tag, _)| (first + user(tag)) as u32);
                self.programs[rank].extend(sent().map(Step::Send));
                receives.iter().for_each(|(_, tag, _)| self.receive(rank, first + user(tag), operation));
                self.programs[rank].extend(sent().map(Step::Left));
            }
        }
        Some(())
    }
}

/// Tags that number messages between these ranks; an error where others are wanted.
fn numbered(
    mut ends: impl Iterator<Item = (usize, usize)>,
) -> impl FnMut(usize, usize) -> Result<Tag, CollectiveError> {
    let mut number = 0;
    move |from, to| {
        number += 1;
        let is_next = ends.next() == Some((from, to));
        is_next.then_some(Tag::User(number - 1)).ok_or_else(|| CollectiveError::new("messages are in another order"))
    }
}

fn user(tag: &Tag) -> usize {
    match tag {
        Tag::User(number) => *number as usize,
        _ => unreachable!("messages are numbered by tags of users"),
    }
}

/// What a message of some length costs apart from its links.
struct Costs {
    send: Picos,
    receive: Picos,
    completion: Completion,
}

/// Links and memories, with what holds them.
struct Network<'a> {
    fabric: &'a Fabric,
    machine: Option<&'a Machine>,
    switching: Switching,
    /// Of each link when it is held and until when, in order; what is past is forgotten.
    held: Vec<Vec<(Picos, Picos)>>,
    /// Of each vertex when the channels of its memory are free; none where there is one for every link.
    memories: Vec<Vec<Picos>>,
}

impl<'a> Network<'a> {
    fn of(fabric: &'a Fabric, machine: Option<&'a Machine>) -> Network<'a> {
        let channels = machine.and_then(|machine| machine.node.memory_channels);
        let memories =
            channels.map_or(Vec::new(), |channels| vec![vec![Picos::ZERO; channels as usize]; fabric.vertices.len()]);
        let switching = machine.map_or(Switching::CutThrough, |machine| machine.switching);
        Network { fabric, machine, switching, held: vec![Vec::new(); fabric.links.len()], memories }
    }

    fn costs(&self, bytes: u64) -> Costs {
        let Some(machine) = self.machine else {
            let own = Picos::from_seconds(self.fabric.message_seconds / 2.0);
            return Costs { send: own, receive: own, completion: Completion::Injected };
        };
        let protocol = machine.protocol(bytes);
        let time = |overhead: f64, byte_time: f64| Picos::from_seconds(overhead + byte_time * bytes as f64);
        Costs {
            send: time(protocol.send_overhead, protocol.send_byte_time),
            receive: time(protocol.receive_overhead, protocol.receive_byte_time),
            completion: protocol.completion,
        }
    }

    /// Of a message on a link: until its first byte is at the other end, and all of its bytes.
    fn crossing(&self, link: u32, bytes: u64) -> (Picos, Picos) {
        let (latency, seconds) = match self.machine {
            Some(machine) => {
                let protocol = machine.protocol(bytes);
                (protocol.hop_time, protocol.byte_time * bytes as f64)
            }
            None => {
                let link = &self.fabric.links[link as usize];
                (link.latency, bytes as f64 / link.bandwidth)
            }
        };
        // Short pieces of long data take no less than all of it does.
        let transmission = Picos::from_seconds(seconds);
        let rounded_up = if transmission.seconds() < seconds { transmission + Picos(1) } else { transmission };
        (Picos::from_seconds(latency), if self.machine.is_some() { transmission } else { rounded_up })
    }

    /// Until a request has come and its answer is back, which are too short to hold links.
    fn asking(&self, links: &[u32], bytes: u64) -> Picos {
        let there = links.iter().fold(Picos::ZERO, |sum, &link| sum + self.crossing(link, bytes).0);
        there + there
    }

    /// When the memory at an end of a path is free for one more message.
    fn memory(&mut self, vertex: usize) -> Option<&mut Picos> {
        self.memories.get_mut(vertex)?.iter_mut().min()
    }

    /// When a message that is ready has left, and when it is there.
    fn pass(&mut self, ready: Picos, links: &[u32], bytes: u64) -> (Picos, Picos) {
        let ends = links.first().zip(links.last());
        let ends =
            ends.map(|(first, last)| (self.fabric.links[*first as usize].from, self.fabric.links[*last as usize].to));
        let Some((start, end)) = ends else { return (ready, ready) };
        let begin = self.memory(start).map_or(ready, |free| ready.max(*free));
        let passage = match self.switching {
            Switching::CutThrough | Switching::StoreAndForward => self.cut_through((ready, begin), links, bytes, end),
            Switching::Circuit => self.hold_all(begin, links, bytes, end, false),
            Switching::Wormhole | Switching::Flit => self.hold_all(begin, links, bytes, end, true),
        };
        for (vertex, until) in [(start, passage.0), (end, passage.1)] {
            if let Some(free) = self.memory(vertex) {
                *free = until;
            }
        }
        passage
    }

    /// Every link is held for the bytes from when the first one is there, as soon as it is free for so long.
    fn cut_through(&mut self, (ready, begin): (Picos, Picos), links: &[u32], bytes: u64, end: usize) -> (Picos, Picos) {
        let (mut first, mut last, mut left, mut slowest) = (begin, begin, None, Picos::ZERO);
        for &link in links {
            let (latency, transmission) = self.crossing(link, bytes);
            let taken = take(&mut self.held[link as usize], first, transmission, ready);
            left.get_or_insert(taken + transmission);
            first = taken + latency;
            last = last.max(taken + transmission) + latency;
            slowest = slowest.max(transmission);
        }
        let arrived = self.memory(end).map_or(last, |free| last.max(*free + slowest));
        (left.unwrap_or(arrived), arrived)
    }

    /// All links are held until the message is there, or until its last byte has passed where it is `released` behind it.
    fn hold_all(&mut self, begin: Picos, links: &[u32], bytes: u64, end: usize, released: bool) -> (Picos, Picos) {
        let (mut first, mut slowest) = (begin, Picos::ZERO);
        for &link in links {
            let free = self.held[link as usize].last().map_or(Picos::ZERO, |held| held.1);
            let (latency, transmission) = self.crossing(link, bytes);
            first = first.max(free) + latency;
            slowest = slowest.max(transmission);
        }
        first = self.memory(end).map_or(first, |free| first.max(*free));
        let arrived = first + slowest;
        let mut until = arrived;
        for &link in links.iter().rev() {
            let held = &mut self.held[link as usize];
            held.clear();
            held.push((begin, until));
            if released {
                until = until.saturating_sub(self.crossing(link, bytes).0);
            }
        }
        let left = links.first().and_then(|&link| self.held[link as usize].last()).map_or(arrived, |held| held.1);
        (left, arrived)
    }
}

/// Takes a link for some time as soon after `reached` as it is free for so long, and says when. What ends before `now` is
/// forgotten: nobody comes that early any more.
fn take(held: &mut Vec<(Picos, Picos)>, reached: Picos, duration: Picos, now: Picos) -> Picos {
    let past = held.partition_point(|held| held.1 <= now);
    held.drain(..past);
    let mut at = held.partition_point(|held| held.1 <= reached);
    let mut from = reached;
    while let Some(next) = held.get(at).filter(|next| from + duration > next.0) {
        from = from.max(next.1);
        at += 1;
    }
    held.insert(at, (from, from + duration));
    from
}

/// Ranks that go through their programs, and messages that are on their way.
struct Run<'a> {
    network: Network<'a>,
    messages: Vec<Sent<'a>>,
    programs: Vec<Vec<Step>>,
    /// Of each rank how far it has got in time and in its program, and the message that it waits for.
    clocks: Vec<Picos>,
    next: Vec<usize>,
    waits: Vec<Option<u32>>,
    entering: Entering,
}

/// Messages that enter the network: when, of those at one time in the order in which that became known, and whether what
/// their protocol asks for before has been answered.
#[derive(Default)]
struct Entering {
    queue: BinaryHeap<Reverse<(Picos, u64, u32, bool)>>,
    pushed: u64,
}

impl Entering {
    fn push(&mut self, time: Picos, number: u32, is_answered: bool) {
        self.pushed += 1;
        self.queue.push(Reverse((time, self.pushed, number, is_answered)));
    }
}

impl<'a> Run<'a> {
    fn of(network: Network<'a>, messages: Vec<Sent<'a>>, programs: Vec<Vec<Step>>) -> Run<'a> {
        let ranks = programs.len();
        let (clocks, next, waits) = (vec![Picos::ZERO; ranks], vec![0; ranks], vec![None; ranks]);
        Run { network, messages, programs, clocks, next, waits, entering: Entering::default() }
    }

    fn seconds(mut self) -> Option<f64> {
        (0..self.programs.len()).for_each(|rank| self.go_on(rank));
        while let Some(Reverse((now, _, number, is_answered))) = self.entering.queue.pop() {
            let Sent { from, to, links, bytes, .. } = self.messages[number as usize];
            if !is_answered && self.network.costs(bytes).completion == Completion::Rendezvous {
                let answered = now + self.network.asking(links, bytes);
                self.entering.push(answered, number, true);
                continue;
            }
            let (left, arrived) = self.network.pass(now, links, bytes);
            let message = &mut self.messages[number as usize];
            (message.left, message.arrived) = (message.left.or(Some(left)), Some(arrived));
            for rank in [from, to] {
                if self.waits[rank] == Some(number) {
                    self.go_on(rank);
                }
            }
        }
        let is_through = self.programs.iter().zip(&self.next).all(|(program, &next)| next == program.len());
        is_through.then(|| self.clocks.iter().max().map_or(0.0, |last| last.seconds()))
    }

    /// The rank goes on until it waits for a message of which it is not known when it comes or leaves.
    fn go_on(&mut self, rank: usize) {
        self.waits[rank] = None;
        while let Some(&step) = self.programs[rank].get(self.next[rank]) {
            let clock = self.clocks[rank];
            let after = match step {
                Step::Add(time) => Some(clock + time),
                Step::Left(number) => self.messages[number as usize].left.map(|left| clock.max(left)),
                Step::Receive(number) => {
                    let message = &self.messages[number as usize];
                    message.arrived.map(|arrived| clock.max(arrived) + self.network.costs(message.bytes).receive)
                }
                Step::Send(number) => {
                    let message = &mut self.messages[number as usize];
                    let costs = self.network.costs(message.bytes);
                    let entering = clock + costs.send;
                    if costs.completion == Completion::Buffered {
                        message.left = Some(entering);
                    }
                    self.entering.push(entering, number, false);
                    Some(entering)
                }
            };
            let Some(after) = after else {
                let (Step::Left(number) | Step::Receive(number)) = step else { return };
                self.waits[rank] = Some(number);
                return;
            };
            self.clocks[rank] = after;
            self.next[rank] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weft_machine::Topology;
    use weft_sim::{Options, Placement};

    use super::*;
    use crate::compile::alternatives;
    use crate::execute::Timed;
    use crate::request::{Method, Request};
    use crate::schedule::Collective;

    #[test]
    fn messages_arrive_when_virtual_time_says() {
        let torus = Topology::Torus { extents: vec![4, 4] };
        let mesh = Topology::Mesh { extents: vec![6, 8] };
        let cube = Topology::Hypercube { dimension: 5 };
        // Messages are passed on as they come, hold links behind them, hold whole paths and wait for memories, and ask first.
        let machines = [
            ("tpu-v4", Some(torus)),
            ("tpu-v4", Some(mesh)),
            ("iwarp64", None),
            ("ipsc860", Some(cube)),
            ("rail-h100", None),
        ];
        let (mut compared, mut farthest) = (0, 1.0f64);
        for (name, topology) in machines {
            let mut machine = weft_machine::find(name).unwrap();
            machine.topology = topology.unwrap_or(machine.topology);
            let nodes: Vec<usize> = (0..11).map(|index| index * 31 % machine.nodes()).collect();
            let fabric = Fabric::of_machine(&machine).unwrap().with_group(&nodes).unwrap();
            for (collective, bytes) in Collective::ALL.into_iter().flat_map(|of| [(of, 1 << 10), (of, 1 << 18)]) {
                let request =
                    Request { collective, bytes, element_bytes: 4, root: 3, method: Method::Auto, blocks: None };
                for schedule in alternatives(&fabric, &request, 1.0, &Interrupt::NEVER).unwrap() {
                    let Some(predicted) = seconds(&fabric, &schedule) else { continue };
                    let what = format!("{name}, {collective:?} of {bytes}: {}", schedule.form());
                    let program = Timed::new(Arc::new(schedule), true, 1).unwrap();
                    let outcome = weft_sim::run(&machine, &Placement::listed(&nodes), &program, &Options::default());
                    let ratio = predicted / outcome.unwrap().outputs[0][0];
                    assert!((0.75..1.33).contains(&ratio), "{what}: predicted and simulated are {ratio} apart");
                    (compared, farthest) = (compared + 1, farthest.max(ratio).max(1.0 / ratio));
                }
            }
        }
        assert!(compared > 1000 && farthest < 1.3, "{compared} were compared, the farthest {farthest}");
    }

    /// Two ranks at a switch by links of unlike speed, and the whole buffer from one to the other.
    #[test]
    fn a_message_takes_its_latencies_and_the_pace_of_its_slowest_link() {
        let text = r#"{"nodes": 2, "switches": 1, "message_seconds": 2e-6, "links": [
            {"from": "node 0", "to": "switch 0", "bandwidth": 4e9, "latency": 3e-6, "duplex": true},
            {"from": "switch 0", "to": "node 1", "bandwidth": 1e9, "latency": 5e-6, "duplex": true}]}"#;
        let fabric = Fabric::from_json(text, "unlike.json").unwrap();
        let method = Method::Latency;
        let request =
            Request { collective: Collective::Broadcast, bytes: 4000, element_bytes: 4, root: 0, method, blocks: None };
        let all = alternatives(&fabric, &request, 1.0, &Interrupt::NEVER).unwrap();
        let whole = all.iter().find(|schedule| schedule.stages.iter().all(|stage| stage.merged)).unwrap();
        // An overhead, both latencies, the slower link's four microseconds, an overhead.
        assert!((seconds(&fabric, whole).unwrap() - 14e-6).abs() < 1e-11);
    }

    #[test]
    fn a_link_is_taken_as_soon_as_it_is_free_for_long_enough() {
        let mut held = Vec::new();
        let mut at = |reached, duration| take(&mut held, Picos(reached), Picos(duration), Picos(0)).0;
        let taken = [(100, 20), (10, 20), (15, 50), (75, 30), (75, 20), (0, 10)]
            .map(|(reached, duration)| at(reached, duration));
        assert_eq!(taken, [100, 10, 30, 120, 80, 0]);
        assert_eq!(take(&mut held, Picos(500), Picos(1), Picos(400)), Picos(500));
        assert_eq!(held.len(), 1);
    }
}
