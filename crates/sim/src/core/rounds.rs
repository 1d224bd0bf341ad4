//! Collectives that are carried out for all ranks together: the same messages at the same times as if every rank sent
//! and received its own, without requests, matching and programs that are polled in every round.
//!
//! A rank that takes part goes through its rounds as far as messages have come; each message enters the network as an
//! event of its own, and lets its receiver go on. The vectors are combined once, when the first rank is through.

use std::rc::Rc;

use weft_comm::collective::{Reduction, Rounds};
use weft_comm::{CommError, Failure, Payload, Source, TagSelector};

use super::*;

/// The key of a collective under way.
pub(crate) type JointKey = u32;

/// What a rank says of the call that it takes part in.
#[derive(Clone, Debug)]
pub(crate) struct JointCall {
    pub kind: CollectiveKind,
    /// Of the communicator, and which collective of it this is.
    pub context: u32,
    pub sequence: u32,
    pub rounds: Rounds,
    /// Length of a message.
    pub bytes: u64,
    pub reduction: Option<Reduction>,
}

/// One rank of a collective.
#[derive(Clone, Copy, Debug)]
struct Seat {
    /// Its number in the run.
    rank: u32,
    round: u32,
    state: SeatState,
    /// Its program is polled in every round, since it has other things under way.
    is_polled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeatState {
    Absent,
    /// It has not sent in this round yet.
    Sending,
    /// It has, and waits for the round's message.
    Receiving,
    Done,
}

/// A collective under way.
#[derive(Debug)]
struct Joint {
    call: JointCall,
    /// Rounds of the call.
    count: usize,
    cost: MessageCost,
    /// Processor time of combining two vectors.
    combining: Picos,
    seats: Vec<Seat>,
    /// When the message of each seat's round arrives, if it has entered the network.
    arrivals: Vec<MaybeTime>,
    vectors: Vec<Payload>,
    result: Option<Rc<Payload>>,
    /// Seats that have taken their result.
    left: usize,
    failure: Option<CommError>,
}

/// A message that has not entered the network.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    joint: JointKey,
    to: u32,
    round: u32,
}

/// All collectives that are carried out so.
#[derive(Debug, Default)]
pub(crate) struct Joints {
    joints: Slab<Joint>,
    /// By context and number of the collective.
    open: FxHashMap<(u32, u32), JointKey>,
    /// What each rank has sent, in the order in which it enters.
    outgoing: Vec<VecDeque<Outgoing>>,
}

impl Core {
    /// Whether collectives with messages of `bytes` bytes may be carried out so: no message is anything but crossing
    /// the network, none is recorded.
    pub fn carries_rounds(&mut self, bytes: u64) -> bool {
        self.is_plain && self.trace.is_none() && self.costs.message(bytes).completion == Completion::Buffered
    }

    /// A rank takes part, as rank `seat` of a communicator of which `member` gives the numbers in the run.
    ///
    /// # Errors
    /// Where it disagrees with those that are there; these fail too.
    pub fn join_rounds(
        &mut self,
        seat: usize,
        call: JointCall,
        member: impl Fn(usize) -> u32,
        vector: Payload,
        is_polled: bool,
    ) -> Result<JointKey, CommError> {
        let call_id = (call.context, call.sequence);
        let key = match self.joints.open.get(&call_id) {
            Some(&key) => key,
            None => self.open_joint(call.clone(), member),
        };
        let joint = &mut self.joints.joints[key as usize];
        if let Some(failure) = joint.disagreement(&call, seat) {
            self.fail_joint(key, failure.clone());
            return Err(failure);
        }
        joint.vectors[seat] = vector;
        joint.seats[seat].state = SeatState::Sending;
        joint.seats[seat].is_polled = is_polled;
        self.go_through_rounds(key, seat);
        Ok(key)
    }

    fn open_joint(&mut self, call: JointCall, member: impl Fn(usize) -> u32) -> JointKey {
        let (size, count) = (call.rounds.size(), call.rounds.count());
        let elements = call.reduction.map_or(0, |reduction| call.bytes / reduction.element.size() as u64);
        let combining = match call.reduction.map(Reduction::cost) {
            Some((operation, each)) if elements > 0 => self.operations(0, operation, elements * each),
            _ => Picos::ZERO,
        };
        let seat = |rank| Seat { rank, round: 0, state: SeatState::Absent, is_polled: false };
        let joint = Joint {
            cost: self.costs.message(call.bytes),
            combining,
            seats: (0..size).map(|index| seat(member(index))).collect(),
            arrivals: vec![MaybeTime::NONE; size * count],
            vectors: vec![Payload::EMPTY; size],
            result: None,
            left: 0,
            failure: None,
            count,
            call,
        };
        let call_id = (joint.call.context, joint.call.sequence);
        let key = self.joints.joints.insert(joint) as JointKey;
        self.joints.open.insert(call_id, key);
        if self.joints.outgoing.is_empty() {
            self.joints.outgoing.resize_with(self.ranks.len(), VecDeque::new);
        }
        key
    }

    /// A rank goes on as far as messages have come; whether it is through.
    fn go_through_rounds(&mut self, key: JointKey, seat: usize) -> bool {
        let Core { joints, ranks, queue, .. } = self;
        let joint = &mut joints.joints[key as usize];
        let state = &mut joint.seats[seat];
        let clock = &mut ranks[state.rank as usize].clock;
        while (state.round as usize) < joint.count {
            let index = state.round as usize;
            let round = joint.call.rounds.round(seat, index);
            if let (Some(to), SeatState::Sending) = (round.to, state.state) {
                *clock += joint.cost.send;
                let message = Outgoing { joint: key, to: to as u32, round: state.round };
                joints.outgoing[state.rank as usize].push_back(message);
                queue.push(*clock, Event::Round(state.rank));
            }
            state.state = SeatState::Receiving;
            if round.from.is_some() {
                let Some(arrived) = joint.arrivals[seat * joint.count + index].get() else { return false };
                *clock = (*clock).max(arrived) + joint.cost.receive;
            }
            if round.combines {
                *clock += joint.combining;
            }
            state.round += 1;
            state.state = SeatState::Sending;
        }
        state.state = SeatState::Done;
        true
    }

    /// The first message that `rank` has sent enters the network.
    pub(super) fn enter_round(&mut self, now: Picos, rank: u32) {
        self.entered += 1;
        let Outgoing { joint: key, to, round } =
            self.joints.outgoing[rank as usize].pop_front().expect("a message for every event");
        let joint = &mut self.joints.joints[key as usize];
        let receiver = &joint.seats[to as usize];
        let ends = (self.placement.node(rank as usize), self.placement.node(receiver.rank as usize));
        let passage = self.network.pass(now, ends.0, ends.1, joint.cost.link);
        joint.arrivals[to as usize * joint.count + round as usize] = passage.arrived.into();
        let (waits, receiver) = (receiver.state == SeatState::Receiving && receiver.round == round, *receiver);
        if waits && (receiver.is_polled || self.go_through_rounds(key, to as usize)) {
            self.make_ready(receiver.rank);
        }
    }

    /// What the collective came to for a rank, once it is through.
    ///
    /// # Errors
    /// Where ranks have disagreed.
    pub fn take_result(&mut self, key: JointKey, seat: usize) -> Option<Result<Rc<Payload>, CommError>> {
        let joint = &mut self.joints.joints[key as usize];
        if let Some(failure) = &joint.failure {
            return Some(Err(failure.clone()));
        }
        let is_done = match joint.seats[seat] {
            Seat { state: SeatState::Done, .. } => true,
            Seat { state: SeatState::Receiving, is_polled: true, .. } => self.go_through_rounds(key, seat),
            _ => false,
        };
        is_done.then(|| Ok(self.leave_joint(key)))
    }

    /// One more rank has its result; the last one ends the collective.
    fn leave_joint(&mut self, key: JointKey) -> Rc<Payload> {
        let joint = &mut self.joints.joints[key as usize];
        let result = joint.result.get_or_insert_with(|| {
            let vectors = std::mem::take(&mut joint.vectors);
            let combined = joint.call.reduction.map(|reduction| joint.call.rounds.combine(vectors, reduction));
            Rc::new(combined.unwrap_or(Payload::EMPTY))
        });
        let result = result.clone();
        joint.left += 1;
        if joint.left == joint.seats.len() {
            let joint = self.joints.joints.remove(key as usize);
            self.joints.open.remove(&(joint.call.context, joint.call.sequence));
        }
        result
    }

    /// Ranks that wait in a collective get this failure.
    fn fail_joint(&mut self, key: JointKey, failure: CommError) {
        let joint = &mut self.joints.joints[key as usize];
        joint.failure = Some(failure);
        let is_waiting = |seat: &&Seat| seat.state == SeatState::Receiving;
        let waiting: Vec<u32> = joint.seats.iter().filter(is_waiting).map(|seat| seat.rank).collect();
        waiting.into_iter().for_each(|rank| self.make_ready(rank));
    }

    /// Nothing can happen any more: where a rank that waits in a collective has got a message of another call in its
    /// place, the collective fails; whether one did.
    pub fn fail_mismatched_rounds(&mut self) -> bool {
        let mismatch = self.joints.joints.iter().find_map(|(key, joint)| {
            let failure = joint.seats.iter().find_map(|seat| self.mismatch(joint, seat))?;
            Some((key as JointKey, failure))
        });
        let Some((key, failure)) = mismatch else { return false };
        self.fail_joint(key, failure);
        true
    }

    fn mismatch(&self, joint: &Joint, seat: &Seat) -> Option<CommError> {
        if joint.failure.is_some() || seat.state != SeatState::Receiving {
            return None;
        }
        let JointCall { kind, context, sequence, bytes, .. } = joint.call;
        let pattern = Pattern::new(context, Source::Any, Tag::Collective { kind, sequence }.into());
        let unexpected = self.ranks[seat.rank as usize].queues.unexpected();
        let (envelope, message) = unexpected.into_iter().find(|(envelope, _)| pattern.accepts(envelope))?;
        let (rank, other) = (seat.rank as usize, envelope.source());
        Some(match envelope.tag() {
            Tag::Collective { kind: there, .. } if there != kind => {
                Failure::MismatchedCollective { rank, here: kind, other, there, sequence }.into()
            }
            _ => {
                let sent = self.messages[*message as usize].bytes;
                let what = format!("rank {other} of the communicator sent {sent} bytes where {bytes} are expected");
                Failure::MismatchedArguments { rank, kind, what }.into()
            }
        })
    }

    /// The receive that each rank in such a collective waits for.
    pub(super) fn awaited_rounds(&self) -> impl Iterator<Item = (u32, Call)> {
        self.joints.joints.iter().flat_map(|(_, joint)| {
            let JointCall { kind, sequence, rounds, .. } = joint.call;
            joint.seats.iter().enumerate().filter_map(move |(index, seat)| {
                let from = rounds.round(index, (seat.round as usize).min(joint.count.saturating_sub(1))).from?;
                let tag = TagSelector::Only(Tag::Collective { kind, sequence });
                (seat.state == SeatState::Receiving)
                    .then_some((seat.rank, Call::Receive { from: Source::Rank(from), tag }))
            })
        })
    }
}

impl Joint {
    /// Why `seat` cannot take part with this call, if it cannot.
    fn disagreement(&self, call: &JointCall, seat: usize) -> Option<CommError> {
        let other = self.seats.iter().position(|seat| seat.state != SeatState::Absent)?;
        let rank = self.seats[seat].rank as usize;
        let (here, there, sequence) = (call.kind, self.call.kind, call.sequence);
        if here != there {
            return Some(Failure::MismatchedCollective { rank, here, other, there, sequence }.into());
        }
        (call.bytes != self.call.bytes).then(|| {
            let what = format!(
                "rank {other} of the communicator sent {} bytes where this rank, its rank {seat}, expects {}",
                self.call.bytes, call.bytes
            );
            Failure::MismatchedArguments { rank, kind: here, what }.into()
        })
    }
}
