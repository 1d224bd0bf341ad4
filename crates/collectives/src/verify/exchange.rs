//! Whether the rounds of an exchange give every rank what the collective says.
//!
//! The buffer is cut wherever a message begins or ends. For each piece the ranks whose summands every rank holds are
//! followed round by round: a message carries what its sender held before the round, a reduction joins what has nothing in
//! common, and in the end every rank holds what it should.

use std::collections::BTreeSet;

use crate::error::CollectiveError;
use crate::schedule::{Bound, Collective, Exchange, Message, Operation, Schedule, Transfer, shards};
use crate::verify::{Paths, blocks, near};

/// Checks the rules, the bound and the prediction.
pub(super) fn check(schedule: &Schedule, exchange: &Exchange) -> Result<(), CollectiveError> {
    let ranks = schedule.fabric.ranks.len();
    let wrong = |what: String| Err(CollectiveError::new(format!("exchange: {what}")));
    let paths = Paths::of(&schedule.fabric);
    for (number, Transfer(from, to, links)) in exchange.routes.iter().enumerate() {
        if from == to {
            return wrong(format!("route {number} leads from rank {from} to itself"));
        }
        if let Err(what) = paths.check(*from, *to, links) {
            return wrong(format!("route {number}: {what}"));
        }
    }
    for (number, round) in exchange.rounds.iter().enumerate() {
        if round.operation == Operation::ReduceBroadcast {
            return wrong(format!("round {number}: a round reduces or copies, it does not do both"));
        }
        for Message(route, start, bytes) in &round.messages {
            let element = schedule.element_bytes;
            let is_whole = start.is_multiple_of(element) && bytes.is_multiple_of(element);
            let is_inside = start.checked_add(*bytes).is_some_and(|end| end <= all_bytes(schedule));
            if *route as usize >= exchange.routes.len() || !is_whole || !is_inside || *bytes == 0 {
                return wrong(format!(
                    "round {number}: {bytes} bytes from {start} over route {route}: no such route, or no whole elements \
                     of the buffer"
                ));
            }
        }
    }
    if schedule.collective == Collective::AllToAll {
        blocks::check_exchange(schedule, exchange)
            .map_err(|error| CollectiveError::new(format!("exchange: {error}")))?;
    } else {
        Pieces { schedule, exchange, ranks, words: ranks.div_ceil(64) }.check()?;
        check_bound(schedule, &exchange.bound).map_err(|error| CollectiveError::new(format!("exchange: {error}")))?;
    }
    let seconds = seconds(schedule, exchange);
    if !near(exchange.seconds, seconds) {
        return wrong(format!("its time is {:.9e} s, its messages take {seconds:.9e} s", exchange.seconds));
    }
    Ok(())
}

/// The bytes that messages name: of the whole buffer, or of an all-to-all of all ranks' buffers.
fn all_bytes(schedule: &Schedule) -> u64 {
    let buffers = if schedule.collective == Collective::AllToAll { schedule.fabric.ranks.len() as u64 } else { 1 };
    schedule.bytes.saturating_mul(buffers)
}

struct Pieces<'a> {
    schedule: &'a Schedule,
    exchange: &'a Exchange,
    ranks: usize,
    /// Of a set of ranks.
    words: usize,
}

impl Pieces<'_> {
    /// Goes from piece to piece with the messages that have it, in the order of their rounds.
    fn check(&self) -> Result<(), CollectiveError> {
        let rounds = self.exchange.rounds.iter().enumerate();
        let messages: Vec<(usize, &Message)> =
            rounds.flat_map(|(number, round)| round.messages.iter().map(move |message| (number, message))).collect();
        let mut begin: Vec<usize> = (0..messages.len()).collect();
        begin.sort_by_key(|&index| messages[index].1.1);
        let mut end = begin.clone();
        end.sort_by_key(|&index| messages[index].1.1 + messages[index].1.2);
        let size = self.schedule.element_bytes;
        let owned = shards(self.schedule.bytes, size, self.ranks);
        let cuts: BTreeSet<u64> = messages
            .iter()
            .flat_map(|(_, message)| [message.1, message.1 + message.2])
            .chain(owned.iter().map(|shard| shard.0))
            .chain([0])
            .filter(|&cut| cut < self.schedule.bytes)
            .collect();
        let (mut begin, mut end) = (begin.into_iter().peekable(), end.into_iter().peekable());
        let mut now: BTreeSet<usize> = BTreeSet::new();
        for cut in cuts {
            while let Some(index) = end.next_if(|&index| messages[index].1.1 + messages[index].1.2 <= cut) {
                now.remove(&index);
            }
            while let Some(index) = begin.next_if(|&index| messages[index].1.1 <= cut) {
                now.insert(index);
            }
            let owner = owned.partition_point(|shard| shard.0 + shard.1 <= cut);
            self.follow(now.iter().map(|&index| messages[index]), owner)
                .map_err(|what| CollectiveError::new(format!("exchange: byte {cut}: {what}")))?;
        }
        Ok(())
    }

    /// Follows one piece, which is of `owner`'s shard, through the messages that have it.
    fn follow<'a>(&self, messages: impl Iterator<Item = (usize, &'a Message)>, owner: usize) -> Result<(), String> {
        let words = self.words;
        let mut held = vec![0u64; self.ranks * words];
        (0..self.ranks).filter(|&rank| self.has(rank, owner)).for_each(|rank| {
            held[rank * words + rank / 64] |= 1 << (rank % 64);
        });
        let mut of_round: Vec<(usize, usize, Vec<u64>)> = Vec::new();
        let mut messages = messages.peekable();
        while let Some(&(number, _)) = messages.peek() {
            of_round.clear();
            while let Some((_, message)) = messages.next_if(|next| next.0 == number) {
                let Transfer(from, to, _) = self.exchange.routes[message.0 as usize];
                of_round.push((from, to, held[from * words..(from + 1) * words].to_vec()));
            }
            let operation = self.exchange.rounds[number].operation;
            let mut received = vec![false; self.ranks];
            for (from, to, content) in &of_round {
                let into = &mut held[to * words..(to + 1) * words];
                if content.iter().all(|&word| word == 0) {
                    return Err(format!("round {number}: rank {from} sends what it does not have"));
                }
                match operation {
                    // What a buffer has where nothing came yet is no summand.
                    Operation::Reduce | Operation::ReduceBroadcast if into.iter().all(|&word| word == 0) => {
                        return Err(format!("round {number}: rank {to} would add to what it does not have"));
                    }
                    Operation::Reduce | Operation::ReduceBroadcast => {
                        if into.iter().zip(content).any(|(own, other)| own & other != 0) {
                            return Err(format!(
                                "round {number}: rank {to} would add a summand from rank {from} twice"
                            ));
                        }
                        into.iter_mut().zip(content).for_each(|(own, other)| *own |= other);
                    }
                    Operation::Copy => {
                        if std::mem::replace(&mut received[*to], true) {
                            return Err(format!("round {number}: rank {to} gets two copies at once"));
                        }
                        into.copy_from_slice(content);
                    }
                }
            }
        }
        let everybody: Vec<u64> = (0..words).map(|word| mask(self.ranks - word * 64)).collect();
        let expected = |rank: usize| -> Option<Vec<u64>> {
            let only =
                |rank: usize| (0..words).map(|word| if rank / 64 == word { 1 << (rank % 64) } else { 0 }).collect();
            match self.schedule.collective {
                Collective::Allgather => Some(only(owner)),
                Collective::Broadcast => Some(only(self.schedule.root.unwrap_or(0))),
                Collective::Allreduce => Some(everybody.clone()),
                Collective::ReduceScatter => (rank == owner).then(|| everybody.clone()),
                Collective::Reduce => (self.schedule.root == Some(rank)).then(|| everybody.clone()),
                Collective::AllToAll => None,
            }
        };
        match (0..self.ranks)
            .find(|&rank| expected(rank).is_some_and(|expected| held[rank * words..(rank + 1) * words] != expected[..]))
        {
            Some(rank) => Err(format!("rank {rank} has not what it should have in the end")),
            None => Ok(()),
        }
    }

    /// Whether a rank has something in a piece of `owner`'s before the exchange.
    fn has(&self, rank: usize, owner: usize) -> bool {
        match self.schedule.collective {
            Collective::Allgather => rank == owner,
            Collective::Broadcast => self.schedule.root == Some(rank),
            _ => true,
        }
    }
}

/// The lowest `count` bits, at most 64.
fn mask(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// What crosses any cut between ranks: of an allreduce as many bytes as the buffer has, for the sum outside depends on what is
/// inside; of an allgather the shards of ranks inside; of a reduce-scatter the summands of shards of ranks outside. Where an
/// allreduce has other sets beside the cut, its elements go from set to set.
pub(super) fn check_bound(schedule: &Schedule, bound: &Bound) -> Result<(), CollectiveError> {
    let fabric = &schedule.fabric;
    let wrong = |what: String| Err(CollectiveError::new(format!("bound: {what}")));
    if !bound.others.is_empty() {
        return check_sets(schedule, bound).or_else(wrong);
    }
    let mut inside = vec![false; fabric.vertices.len()];
    for &vertex in &bound.cut {
        match inside.get_mut(vertex) {
            Some(inside) => *inside = true,
            None => return wrong(format!("there is no vertex {vertex}")),
        }
    }
    let members = fabric.ranks.iter().filter(|&&vertex| inside[vertex]).count();
    if members == 0 || members == fabric.ranks.len() {
        return wrong("its cut has all ranks or none, so nothing has to leave it".into());
    }
    // A buffer leaves its root, or comes to it.
    let has_root = schedule.root.map(|root| inside[fabric.ranks[root]]);
    if has_root.is_some_and(|has_root| has_root != (schedule.collective == Collective::Broadcast)) {
        return wrong(format!("the buffer of a {} need not leave its cut", schedule.collective.name()));
    }
    let crossing = fabric.links.iter().filter(|link| inside[link.from] && !inside[link.to]);
    let rate: f64 = crossing.map(|link| link.bandwidth).sum();
    let owned = shards(schedule.bytes, schedule.element_bytes, fabric.ranks.len());
    let of_side = |side: bool| -> u64 {
        fabric.ranks.iter().zip(&owned).filter(|(vertex, _)| inside[**vertex] == side).map(|(_, shard)| shard.1).sum()
    };
    let bytes = match schedule.collective {
        Collective::Allgather => of_side(true),
        Collective::ReduceScatter => of_side(false),
        _ => schedule.bytes,
    };
    let seconds = bytes as f64 / rate;
    if !near(bound.rate, rate) || !near(bound.seconds, seconds) {
        return wrong(format!(
            "{:.9e} B/s and {:.9e} s, but its cut gives {rate:.9e} and {seconds:.9e}",
            bound.rate, bound.seconds
        ));
    }
    Ok(())
}

/// The bound of an allreduce by disjoint sets that together have all ranks. The first set that can tell the sum of an
/// element has heard of all others, each of which has sent something, and each of the others has to receive something more:
/// 2 transfers of the element for every set but one. All of them leave a set, and enter one.
fn check_sets(schedule: &Schedule, bound: &Bound) -> Result<(), String> {
    let fabric = &schedule.fabric;
    if schedule.collective != Collective::Allreduce {
        return Err(format!("sets beside the cut bound an allreduce, found {}", schedule.collective.name()));
    }
    let mut set_of: Vec<Option<usize>> = vec![None; fabric.vertices.len()];
    for (set, vertices) in std::iter::once(&bound.cut).chain(&bound.others).enumerate() {
        for &vertex in vertices {
            match set_of.get_mut(vertex) {
                Some(known @ None) => *known = Some(set),
                Some(Some(_)) => return Err(format!("vertex {vertex} is in two sets, or twice in one")),
                None => return Err(format!("there is no vertex {vertex}")),
            }
        }
    }
    let sets = 1 + bound.others.len();
    let mut has_rank = vec![false; sets];
    for (rank, &vertex) in fabric.ranks.iter().enumerate() {
        match set_of[vertex] {
            Some(set) => has_rank[set] = true,
            None => return Err(format!("rank {rank} is in none of its sets")),
        }
    }
    if let Some(switch) = fabric.in_network.iter().find(|switch| set_of[switch.vertex].is_none()) {
        let name = &fabric.vertices[switch.vertex];
        return Err(format!("'{name}' copies or adds and is in none of its sets"));
    }
    if has_rank.contains(&false) {
        return Err("one of its sets has no rank, so nothing has to leave it".into());
    }
    let between = || fabric.links.iter().filter(|link| set_of[link.from] != set_of[link.to]);
    let out: f64 = between().filter(|link| set_of[link.from].is_some()).map(|link| link.bandwidth).sum();
    let into: f64 = between().filter(|link| set_of[link.to].is_some()).map(|link| link.bandwidth).sum();
    let rate = out.min(into);
    let seconds = 2.0 * (sets - 1) as f64 * schedule.bytes as f64 / rate;
    if !near(bound.rate, rate) || !near(bound.seconds, seconds) {
        return Err(format!(
            "{:.9e} B/s and {:.9e} s, but its {sets} sets give {rate:.9e} and {seconds:.9e}",
            bound.rate, bound.seconds
        ));
    }
    Ok(())
}

/// The prediction again: every rank waits for what it gets and what it sends before it goes on, and every link needs its
/// time for all rounds together.
fn seconds(schedule: &Schedule, exchange: &Exchange) -> f64 {
    let fabric = &schedule.fabric;
    let overhead = fabric.message_seconds / 2.0;
    let mut times = vec![0.0f64; fabric.ranks.len()];
    let mut whole = std::collections::BTreeMap::<u32, f64>::new();
    for round in &exchange.rounds {
        let mut load = std::collections::BTreeMap::<u32, f64>::new();
        for Message(route, _, bytes) in &round.messages {
            for link in &exchange.routes[*route as usize].2 {
                let seconds = *bytes as f64 / fabric.links[*link as usize].bandwidth;
                *load.entry(*link).or_default() += seconds;
                *whole.entry(*link).or_default() += seconds;
            }
        }
        let mut sent = vec![0u32; fabric.ranks.len()];
        let mut received = sent.clone();
        let mut after = times.clone();
        for Message(route, _, bytes) in &round.messages {
            let Transfer(from, to, links) = &exchange.routes[*route as usize];
            let (mut latency, mut fullest, mut own) = (0.0f64, 0.0f64, 0.0f64);
            for link in links {
                let speed = &fabric.links[*link as usize];
                latency += speed.latency;
                fullest = fullest.max(load[link]);
                own = own.max(*bytes as f64 / speed.bandwidth);
            }
            let behind = (f64::from(sent[*from]) * overhead).max(fullest - own);
            sent[*from] += 1;
            received[*to] += 1;
            let gone = times[*from] + behind + overhead + own;
            after[*from] = after[*from].max(gone);
            after[*to] = after[*to].max(gone + latency + overhead);
        }
        for (rank, after) in after.iter_mut().enumerate() {
            *after = after.max(times[rank] + f64::from(sent[rank] + received[rank]) * overhead);
        }
        times = after;
    }
    times.into_iter().chain(whole.into_values()).fold(0.0, f64::max)
}
