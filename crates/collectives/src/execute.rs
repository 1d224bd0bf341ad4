//! A schedule carried out on any backend, with data that is compared with what the collective should give.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use weft_base::Operation as NodeOperation;
use weft_comm::collective::{Choice, Element, Operator, allreduce, barrier};
use weft_comm::{Buffer, CommError, Communicator, Payload, Program, Reduction, Source, Tag, TagSelector, Work};

use crate::blocks::Blocks;
use crate::error::CollectiveError;
use crate::fabric::Fabric;
use crate::local::{Local, received_start};
use crate::merge::merge;
use crate::predict::arrivals;
use crate::schedule::{Collective, Exchange, Message, Operation, Schedule, Stage, Transfer, shards};
use crate::stand_in::between_ranks;
use crate::translation::Translations;

/// Pieces that a rank sends another before the first of them has left, at most: what is under way while the receiver is asked
/// whether it is ready for the next ones.
pub(crate) const MAX_IN_FLIGHT: usize = 4;

/// The part of one rank in one tree.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    pub operation: Operation,
    /// The transfers that the data has come through until it is here, on the longest path.
    depth: usize,
    start: u64,
    bytes: u64,
    chunks: u64,
    /// Ranks and tags that are received from, all before anything is sent.
    pub receives: Vec<(usize, Tag)>,
    /// Ranks and tags that are sent to.
    pub sends: Vec<(usize, Tag)>,
}

impl Role {
    /// The bytes of a chunk of its range, in the buffer.
    pub fn piece(&self, chunk: u64, element_bytes: u64) -> std::ops::Range<usize> {
        let elements = self.bytes / element_bytes;
        let at = |chunk: u64| self.start + elements * chunk / self.chunks * element_bytes;
        at(chunk) as usize..at(chunk + 1) as usize
    }
}

/// The pieces of a rank's parts in trees in the order in which a pipeline brings them: which part, and which chunk of it.
pub(crate) fn in_order(roles: &[Role], element_bytes: u64) -> Vec<(usize, u64)> {
    let mut steps: Vec<(usize, u64)> = (0..roles.len())
        .flat_map(|role| (0..roles[role].chunks).map(move |chunk| (role, chunk)))
        .filter(|&(role, chunk)| !roles[role].piece(chunk, element_bytes).is_empty())
        .collect();
    steps.sort_by_key(|&(role, chunk)| roles[role].depth as u64 + chunk);
    steps
}

/// What a rank does in a stage.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// Its part in each tree, piece by piece.
    Pipelined(Vec<Role>),
    /// Its messages, round by round.
    Rounds(Vec<Round>),
    /// Its part in each tree of rank 0 and in all movements of it, piece by piece.
    Moved(Arc<Moved>),
}

/// What all ranks do in a stage whose trees are those of rank 0, moved.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    moves: Translations,
    /// Of every rank its part in the trees that are written.
    roles: Vec<Vec<Role>>,
    /// Start and bytes of what each root has.
    shards: Vec<(u64, u64)>,
}

impl Moved {
    /// The part of a rank in the trees of all roots: that of whoever is moved to it, for each movement.
    fn roles_of(&self, rank: usize) -> Vec<Role> {
        let mut roles = Vec::new();
        for (written, of_rank) in self.roles.iter().enumerate() {
            let by = self.moves.between(written, rank);
            let moved = |&(peer, tag): &(usize, Tag)| (self.moves.rank(peer, by), tag);
            let (first, length) = self.shards[by];
            roles.extend(of_rank.iter().map(|role| {
                let (start, end) = (role.start.min(length), (role.start + role.bytes).min(length));
                Role {
                    start: first + start,
                    bytes: end - start,
                    receives: role.receives.iter().map(moved).collect(),
                    sends: role.sends.iter().map(moved).collect(),
                    ..*role
                }
            }));
        }
        roles
    }
}

/// The other rank, the tag, and start and bytes of the ranges that it carries.
type Carried = (usize, Tag, Vec<(u64, u64)>);

/// The messages of one rank in a round: those that it receives are waited for after it has sent.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub operation: Operation,
    pub sends: Vec<Carried>,
    pub receives: Vec<Carried>,
}

/// A collective that is executed and timed.
#[derive(Clone, Debug)]
pub struct Timed {
    schedule: Arc<Schedule>,
    /// Of each rank, by stage.
    plans: Arc<Vec<Vec<Plan>>>,
    /// Of an all-to-all its blocks, and how many bytes each rank keeps.
    blocks: Option<Arc<(Blocks, Vec<u64>)>>,
    reduction: Reduction,
    /// Whether only lengths are sent; otherwise what every rank has at the end is checked.
    pub phantom: bool,
    /// Timed executions.
    pub iterations: usize,
}

impl Timed {
    /// Prepares a schedule, which has been verified.
    ///
    /// # Errors
    /// For elements that are no numbers (of 1, 4 or 8 bytes), and for more trees between two ranks than tags.
    pub fn new(schedule: Arc<Schedule>, phantom: bool, iterations: usize) -> Result<Timed, CollectiveError> {
        let element = match schedule.element_bytes {
            1 => Element::Byte,
            4 => Element::Float32,
            8 => Element::Float64,
            other => {
                return Err(CollectiveError::new(format!(
                    "elements of {other} bytes are no numbers that an execution adds; it takes 1, 4 or 8"
                )));
            }
        };
        let mut plans = plans(&schedule)?;
        let blocks = (schedule.collective == Collective::AllToAll).then(|| {
            let blocks = Blocks::of_schedule(&schedule);
            let kept = plans.iter_mut().enumerate().map(|(rank, plans)| keep_locally(&blocks, rank, plans)).collect();
            Arc::new((blocks, kept))
        });
        let plans = Arc::new(plans);
        let reduction = Reduction { element, operator: Operator::Sum };
        Ok(Timed { schedule, plans, blocks, reduction, phantom, iterations })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.plans.len()
    }

    fn charged(&self) -> NodeOperation {
        match self.reduction.element {
            Element::Float64 => NodeOperation::Float64Add,
            Element::Float32 => NodeOperation::Float32Add,
            _ => NodeOperation::Int16Add,
        }
    }

    async fn execute<C: Communicator>(&self, comm: &C, buffer: &mut Payload) -> Result<(), CommError> {
        for plan in &self.plans[comm.rank()] {
            match plan {
                Plan::Pipelined(roles) => self.pipelined(comm, roles, buffer).await?,
                Plan::Rounds(rounds) => self.rounds(comm, rounds, buffer).await?,
                Plan::Moved(moved) => self.pipelined(comm, &moved.roles_of(comm.rank()), buffer).await?,
            }
        }
        Ok(())
    }

    async fn rounds<C: Communicator>(&self, comm: &C, rounds: &[Round], buffer: &mut Payload) -> Result<(), CommError> {
        let length = |ranges: &[(u64, u64)]| ranges.iter().map(|range| range.1 as usize).sum();
        let all = rounds.iter().flat_map(|round| &round.receives);
        let receives: Vec<C::Receive> = all
            .map(|(from, tag, ranges)| {
                comm.irecv(Source::Rank(*from), TagSelector::Only(*tag), self.payload(length(ranges)))
            })
            .collect();
        let mut receives = receives.into_iter();
        for round in rounds {
            let mut sends = Vec::with_capacity(round.sends.len());
            for (to, tag, ranges) in &round.sends {
                let mut message = self.payload(length(ranges));
                let mut at = 0;
                for &(start, bytes) in ranges {
                    message.put(at, &buffer.part(start as usize, (start + bytes) as usize));
                    at += bytes as usize;
                }
                sends.push(comm.isend(*to, *tag, message));
            }
            for ((_, _, ranges), receive) in round.receives.iter().zip(receives.by_ref()) {
                let message = receive.await?.payload;
                let mut at = 0;
                for &(start, bytes) in ranges {
                    let part = message.part(at, at + bytes as usize);
                    self.accept(comm, round.operation, start as usize, &part, buffer).await;
                    at += bytes as usize;
                }
            }
            // Who sends on before the links have what was sent holds others up that are not as far.
            for send in sends {
                send.await?;
            }
        }
        Ok(())
    }

    /// All receives are started first; then pieces are passed on in the order in which a pipeline brings them. Who sent all of
    /// them to one rank at once would hold up what others send over the same links.
    async fn pipelined<C: Communicator>(
        &self,
        comm: &C,
        roles: &[Role],
        buffer: &mut Payload,
    ) -> Result<(), CommError> {
        let element_bytes = self.schedule.element_bytes;
        let steps = in_order(roles, element_bytes);
        let mut receives = Vec::with_capacity(steps.len());
        for &(role, chunk) in &steps {
            let bytes = roles[role].piece(chunk, element_bytes).len();
            for &(from, tag) in &roles[role].receives {
                receives.push(comm.irecv(Source::Rank(from), TagSelector::Only(tag), self.payload(bytes)));
            }
        }
        let mut receives = receives.into_iter();
        let mut sends: FxHashMap<usize, VecDeque<C::Send>> = FxHashMap::default();
        for &(role, chunk) in &steps {
            let role = &roles[role];
            let piece = role.piece(chunk, element_bytes);
            for receive in receives.by_ref().take(role.receives.len()) {
                let received = receive.await?.payload;
                self.accept(comm, role.operation, piece.start, &received, buffer).await;
            }
            for &(to, tag) in &role.sends {
                let in_flight = sends.entry(to).or_default();
                if in_flight.len() == MAX_IN_FLIGHT
                    && let Some(send) = in_flight.pop_front()
                {
                    send.await?;
                }
                in_flight.push_back(comm.isend(to, tag, buffer.part(piece.start, piece.end)));
            }
        }
        for send in sends.into_values().flatten() {
            send.await?;
        }
        Ok(())
    }

    async fn accept<C: Communicator>(
        &self,
        comm: &C,
        operation: Operation,
        start: usize,
        received: &Payload,
        buffer: &mut Payload,
    ) {
        if operation == Operation::Copy {
            buffer.put(start, received);
            return;
        }
        let mut sum = buffer.part(start, start + received.len());
        self.reduction.combine(&mut sum, received);
        buffer.put(start, &sum);
        let count = received.len() as u64 / self.schedule.element_bytes;
        comm.compute(Work::Operations { operation: self.charged(), count }).await;
    }

    fn payload(&self, bytes: usize) -> Payload {
        if self.phantom { Payload::Phantom(bytes) } else { Payload::Data(Buffer::zeroed(bytes)) }
    }

    /// What a rank has before: its shard, its summands, what the root broadcasts, or its blocks.
    fn input(&self, rank: usize) -> Payload {
        let bytes = self.schedule.bytes;
        let kept = self.blocks.as_ref().map_or(bytes, |blocks| blocks.1[rank]);
        if self.phantom {
            return Payload::Phantom(kept as usize);
        }
        if let Some(blocks) = &self.blocks {
            let mut buffer = self.payload(kept as usize);
            let own = self.filled(|_| true, |index| number(rank, index));
            let (start, length) = blocks.0.block(rank, rank);
            if length > 0 {
                let received = received_start(&blocks.0) + blocks.0.received_at(start);
                let first = blocks.0.in_own(start) as usize;
                buffer.put(received as usize, &own.part(first, first + length as usize));
            }
            buffer.put(0, &own);
            return buffer;
        }
        let own = match self.schedule.collective {
            Collective::Allgather => shards(bytes, self.schedule.element_bytes, self.ranks())[rank],
            Collective::Broadcast => (0, if self.schedule.root == Some(rank) { bytes } else { 0 }),
            _ => (0, bytes),
        };
        self.filled(|byte| own.0 <= byte && byte < own.0 + own.1, |index| number(rank, index))
    }

    /// A buffer of the numbers that `value` gives for each element whose first byte `is_there`, and of zeros.
    fn filled(&self, is_there: impl Fn(u64) -> bool, value: impl Fn(u64) -> u64) -> Payload {
        let size = self.schedule.element_bytes;
        let of = |index: u64| if is_there(index * size) { value(index) } else { 0 };
        let indices = 0..self.schedule.bytes / size;
        match self.reduction.element {
            Element::Float32 => Payload::of(&indices.map(|index| of(index) as f32).collect::<Vec<_>>()),
            Element::Float64 => Payload::of(&indices.map(|index| of(index) as f64).collect::<Vec<_>>()),
            _ => Payload::of(&indices.map(|index| of(index) as u8).collect::<Vec<_>>()),
        }
    }

    /// Compares what `rank` has with what the collective gives by its definition.
    fn check(&self, rank: usize, output: &Payload) -> Result<(), CommError> {
        if let Some(blocks) = &self.blocks {
            return self.check_blocks(rank, output, &blocks.0);
        }
        let (bytes, size, ranks) = (self.schedule.bytes, self.schedule.element_bytes, self.ranks());
        let all = shards(bytes, size, ranks);
        let owner = |index: u64| all.partition_point(|shard| shard.0 + shard.1 <= index * size);
        let sum = |index: u64| (0..ranks).map(|rank| number(rank, index)).sum();
        let everything = 0..bytes;
        let (expected, range) = match self.schedule.collective {
            Collective::Allgather => (self.filled(|_| true, |index| number(owner(index), index)), everything),
            Collective::Allreduce => (self.filled(|_| true, sum), everything),
            Collective::ReduceScatter => {
                let (start, length) = all[rank];
                let range = start..start + length;
                (self.filled(|byte| range.contains(&byte), sum), range)
            }
            Collective::Broadcast => {
                let root = self.schedule.root.unwrap_or(0);
                (self.filled(|_| true, |index| number(root, index)), everything)
            }
            Collective::Reduce if self.schedule.root == Some(rank) => (self.filled(|_| true, sum), everything),
            Collective::Reduce | Collective::AllToAll => return Ok(()),
        };
        let part = |payload: &Payload| payload.part(range.start as usize, range.end as usize);
        if part(output) == part(&expected) { Ok(()) } else { Err(self.is_wrong(rank)) }
    }

    /// Compares the blocks that a rank has in the end with those that all ranks had for it.
    fn check_blocks(&self, rank: usize, output: &Payload, blocks: &Blocks) -> Result<(), CommError> {
        let all = (0..self.ranks()).map(|from| (from, blocks.block(from, rank)));
        for (from, (start, bytes)) in all.filter(|(_, block)| block.1 > 0) {
            let first = blocks.in_own(start) as usize;
            let sent = self.filled(|_| true, |index| number(from, index)).part(first, first + bytes as usize);
            let at = (received_start(blocks) + blocks.received_at(start)) as usize;
            if output.part(at, at + bytes as usize) != sent {
                return Err(self.is_wrong(rank));
            }
        }
        Ok(())
    }

    fn is_wrong(&self, rank: usize) -> CommError {
        let what = format!("{}: rank {rank} has not what it should have", self.schedule.collective.name());
        CommError::program(rank, what)
    }
}

/// A small number that depends on rank and element: sums of them are exact in every element type, or wrap round.
fn number(rank: usize, index: u64) -> u64 {
    (rank as u64 * 31 + index * 7 + 1) % 251
}

impl Program for Timed {
    /// Seconds of every timed execution, from when all ranks were ready until the last was through.
    type Output = Vec<f64>;

    async fn run<C: Communicator>(self, comm: C) -> Result<Vec<f64>, CommError> {
        if comm.size() != self.ranks() {
            let what = format!("a collective of {} ranks on a communicator of {}", self.ranks(), comm.size());
            return Err(CommError::program(comm.world_rank(), what));
        }
        let maximum = Reduction { element: Element::Float64, operator: Operator::Maximum };
        let mut seconds = Vec::with_capacity(self.iterations);
        for iteration in 0..self.iterations {
            let mut buffer = self.input(comm.rank());
            if !comm.virtual_time() || iteration > 0 {
                barrier(&comm, Choice::Auto).await?;
            }
            let start = comm.wtime();
            self.execute(&comm, &mut buffer).await?;
            let own = Payload::of(&[comm.wtime() - start]);
            let slowest = allreduce(&comm, own, maximum, Choice::Auto).await?;
            seconds.push(slowest.values::<f64>().expect("a reduction of data is data")[0]);
            if !self.phantom {
                self.check(comm.rank(), &buffer)?;
            }
        }
        Ok(seconds)
    }
}

/// Has a rank's part in an all-to-all refer to what it keeps, and says how many bytes that is.
fn keep_locally(blocks: &Blocks, rank: usize, plans: &mut [Plan]) -> u64 {
    let mut local = Local::of(blocks, rank);
    for plan in plans {
        match plan {
            Plan::Pipelined(roles) => {
                roles.iter_mut().for_each(|role| role.start = local.position(role.start, role.bytes));
            }
            Plan::Rounds(rounds) => {
                let carried = rounds.iter_mut().flat_map(|round| round.sends.iter_mut().chain(&mut round.receives));
                let ranges = carried.flat_map(|(_, _, ranges)| ranges);
                ranges.for_each(|range| range.0 = local.position(range.0, range.1));
            }
            Plan::Moved(_) => unreachable!("paths of blocks are not moved"),
        }
    }
    local.bytes()
}

/// What every rank does, by stage. Messages of one tree between two ranks have a tag of their own.
fn plans(schedule: &Schedule) -> Result<Vec<Vec<Plan>>, CollectiveError> {
    let ranks = schedule.fabric.ranks.len();
    let mut plans = vec![Vec::new(); ranks];
    let mut tags = FxHashMap::default();
    for stage in &schedule.stages {
        let of_stage = match &stage.translated {
            Some(extents) => vec![Plan::Moved(Arc::new(moved(schedule, stage, extents, &mut tags)?)); ranks],
            None if stage.merged => rounds(&schedule.fabric, stage, &mut |from, to| next_tag(&mut tags, from, to))?,
            None => {
                let roles = roles(stage, ranks, &mut |from, to| next_tag(&mut tags, from, to))?;
                roles.into_iter().map(Plan::Pipelined).collect()
            }
        };
        plans.iter_mut().zip(of_stage).for_each(|(plans, plan)| plans.push(plan));
    }
    if let Some(exchange) = &schedule.exchange {
        let of_exchange = exchanged(exchange, ranks, &mut |from, to| next_tag(&mut tags, from, to))?;
        plans.iter_mut().zip(of_exchange).for_each(|(plans, plan)| plans.push(plan));
    }
    Ok(plans)
}

/// The next tag of messages between two ranks.
type NextTag<'a> = &'a mut dyn FnMut(usize, usize) -> Result<Tag, CollectiveError>;

/// How many tags each two ranks have used.
type Tags = FxHashMap<(usize, usize), u32>;

fn next_tag(tags: &mut Tags, from: usize, to: usize) -> Result<Tag, CollectiveError> {
    let tag = tags.entry((from, to)).or_insert(0u32);
    if *tag > Tag::MAX_USER {
        return Err(CollectiveError::new("more trees between two ranks than there are tags"));
    }
    *tag += 1;
    Ok(Tag::User(*tag - 1))
}

/// Every movement of a transfer is between other ranks than its others. Transfers have different tags where one is between
/// ranks that another is moved to, whose distance is the same.
fn moved(schedule: &Schedule, stage: &Stage, extents: &[usize], tags: &mut Tags) -> Result<Moved, CollectiveError> {
    let Some(moves) = Translations::of(&schedule.fabric, extents) else {
        return Err(CollectiveError::new(
            "its trees are moved on a network that does not look the same from every rank",
        ));
    };
    let ranks = schedule.fabric.ranks.len();
    let roles = roles(stage, ranks, &mut |from, to| next_tag(tags, ranks, moves.between(from, to)))?;
    Ok(Moved { moves, roles, shards: shards(schedule.bytes, schedule.element_bytes, ranks) })
}

/// The parts of all ranks in the trees that are written, whose transfers have their tags in order.
pub(crate) fn roles(stage: &Stage, ranks: usize, next_tag: NextTag) -> Result<Vec<Vec<Role>>, CollectiveError> {
    let mut roles = vec![Vec::new(); ranks];
    let (mut of_tree, mut members): (Vec<Option<Role>>, Vec<usize>) = (vec![None; ranks], Vec::new());
    for tree in &stage.trees {
        // What is copied after it was reduced has come through the transfers to the root.
        let mut first_depth = 0;
        for (operation, transfers) in between_ranks(tree, stage.operation, ranks) {
            let mut empty = |rank: usize| {
                members.push(rank);
                Role { depth: first_depth, ..empty_role(operation, stage, tree) }
            };
            for (from, to) in transfers {
                let tag = next_tag(from, to)?;
                let sender = of_tree[from].get_or_insert_with(|| empty(from));
                sender.sends.push((to, tag));
                let depth = sender.depth + 1;
                let receiver = of_tree[to].get_or_insert_with(|| empty(to));
                receiver.depth = receiver.depth.max(depth);
                receiver.receives.push((from, tag));
            }
            first_depth = 0;
            for rank in members.drain(..) {
                let role = of_tree[rank].take().expect("a member has a part");
                first_depth = first_depth.max(role.depth);
                roles[rank].push(role);
            }
        }
    }
    Ok(roles)
}

/// The rounds of merged messages, which have their tags level by level. A rank sends in the order in which it can by the model,
/// and before that receives only what it needs for it.
pub(crate) fn rounds(fabric: &Fabric, stage: &Stage, next_tag: NextTag) -> Result<Vec<Plan>, CollectiveError> {
    let Some((messages, levels)) = merge(stage) else {
        return Err(CollectiveError::new("merged messages wait for each other"));
    };
    let arrivals = arrivals(fabric, &messages, &levels);
    let ready = |message: &usize| messages[*message].waits.iter().map(|&before| arrivals[before]).fold(0.0, f64::max);
    let mut tags = vec![Tag::User(0); messages.len()];
    let ranks = fabric.ranks.len();
    let (mut sent, mut received) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks]);
    for &number in levels.iter().flatten() {
        tags[number] = next_tag(messages[number].from, messages[number].to)?;
        sent[messages[number].from].push(number);
        received[messages[number].to].push(number);
    }
    // When all that waits for a message has arrived.
    let mut ends = arrivals.clone();
    for &number in levels.iter().rev().flatten() {
        messages[number].waits.iter().for_each(|&before| ends[before] = ends[before].max(ends[number]));
    }
    let plan = |(mut sent, mut received): (Vec<usize>, Vec<usize>)| {
        // Of what can be sent at the same time, that which others wait for longest, and which is longest on its way, is first.
        sent.sort_by(|a, b| {
            let later = |of: &[f64]| of[*b].total_cmp(&of[*a]);
            ready(a).total_cmp(&ready(b)).then_with(|| later(&ends)).then_with(|| later(&arrivals))
        });
        received.sort_by(|&a, &b| arrivals[a].total_cmp(&arrivals[b]));
        let carried = |number: usize, rank: usize| (rank, tags[number], messages[number].ranges.clone());
        let mut rounds = vec![Round { operation: stage.operation, sends: Vec::new(), receives: Vec::new() }];
        for number in sent {
            let (needed, later) =
                received.into_iter().partition(|before| messages[number].waits.binary_search(before).is_ok());
            received = later;
            let receives: Vec<Carried> =
                Vec::into_iter(needed).map(|before| carried(before, messages[before].from)).collect();
            let last = rounds.last_mut().expect("there is a round");
            let sends = vec![carried(number, messages[number].to)];
            if receives.is_empty() {
                last.sends.extend(sends);
            } else {
                last.receives = receives;
                rounds.push(Round { operation: stage.operation, sends, receives: Vec::new() });
            }
        }
        let last = rounds.last_mut().expect("there is a round");
        last.receives = received.into_iter().map(|number| carried(number, messages[number].from)).collect();
        Plan::Rounds(rounds)
    };
    Ok(sent.into_iter().zip(received).map(plan).collect())
}

/// The rounds of every rank in which it sends or receives; messages have their tags in order.
pub(crate) fn exchanged(exchange: &Exchange, ranks: usize, next_tag: NextTag) -> Result<Vec<Plan>, CollectiveError> {
    let mut plans: Vec<Vec<Round>> = vec![Vec::new(); ranks];
    let mut last = vec![usize::MAX; ranks];
    for (number, round) in exchange.rounds.iter().enumerate() {
        let mut of_rank = |rank: usize, add: &dyn Fn(&mut Round)| {
            if std::mem::replace(&mut last[rank], number) != number {
                let (sends, receives) = (Vec::new(), Vec::new());
                plans[rank].push(Round { operation: round.operation, sends, receives });
            }
            add(plans[rank].last_mut().expect("a round was begun"));
        };
        for &Message(route, start, bytes) in &round.messages {
            let Transfer(from, to, _) = exchange.routes[route as usize];
            let tag = next_tag(from, to)?;
            of_rank(from, &|round| round.sends.push((to, tag, vec![(start, bytes)])));
            of_rank(to, &|round| round.receives.push((from, tag, vec![(start, bytes)])));
        }
    }
    Ok(plans.into_iter().map(Plan::Rounds).collect())
}

fn empty_role(operation: Operation, stage: &Stage, tree: &crate::schedule::Tree) -> Role {
    Role {
        operation,
        depth: 0,
        start: tree.start,
        bytes: tree.bytes,
        chunks: stage.chunks,
        receives: Vec::new(),
        sends: Vec::new(),
    }
}
