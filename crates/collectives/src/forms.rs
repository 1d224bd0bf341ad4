//! Allreduce by rounds of messages: recursive doubling and halving, Swing, rings along one axis or several, direct exchanges
//! on one level or two, trees of whole buffers, and forms that divide the buffer in some steps and swap shares in the rest.
//! Reduce-scatter and allgather are the first and the second half of those that divide in every step; a reduce is what its
//! root needs of them, and a broadcast that backwards.
//!
//! Sources: Thakur, Rabenseifner and Gropp 2005, section 4.5 (doubling, halving, ranks folded to a power of two); De Sensi
//! and others, Swing, NSDI 2024; Sack and Gropp 2012 (all axes of a torus at once, each with a part of the data).

use rustc_hash::FxHashMap;
use weft_base::Interrupt;
use weft_comm::collective::Fold;

use crate::bound_of_exchange;
use crate::fabric::Fabric;
use crate::form::{Draft, Form, Sent};
use crate::orders;
use crate::predict::exchange_seconds;
use crate::quickest;
use crate::rooted_forms::of_root;
use crate::schedule::{Bound, Collective, Exchange, Message, Operation, Round, Transfer, shards};
use crate::steps::{Step, Within, bidirectional_rings, classes, digits, rings, swing};
use crate::symmetric::Paths;

/// Messages of a form, at most: a ring of 700 ranks.
const MAX_MESSAGES: usize = 1 << 20;

/// More ranks than this do not exchange with each other all at once.
const MAX_DIRECT: usize = 64;

/// A range of the buffer: first element and elements, with the bytes of an element.
#[derive(Clone, Copy)]
struct Part {
    first: u64,
    count: u64,
    element: u64,
}

impl Part {
    /// Of all elements the part `index` of `parts`.
    fn of(bytes: u64, element: u64, index: usize, parts: usize) -> Part {
        let at = |index: usize| position(bytes / element, index, parts);
        Part { first: at(index), count: at(index + 1) - at(index), element }
    }

    /// First byte and bytes between two of `of` positions.
    fn between(self, range: (usize, usize), of: usize) -> (u64, u64) {
        let at = |index: usize| position(self.count, index, of);
        ((self.first + at(range.0)) * self.element, (at(range.1) - at(range.0)) * self.element)
    }
}

/// Elements for each share from which on all shares but the last ones are equal: the last ones lack a thousandth at most.
const MIN_EQUAL: u64 = 1024;

/// The first element of the share `index` of `shares` of `count` elements. Messages of one length keep step; where some are
/// an element longer, those that are not are sent first, and ranks that meet the same links fall apart.
fn position(count: u64, index: usize, shares: usize) -> u64 {
    let (index, shares) = (index as u64, shares as u64);
    if count >= shares * MIN_EQUAL {
        return (count.div_ceil(shares) * index).min(count);
    }
    (u128::from(count) * u128::from(index) / u128::from(shares)) as u64
}

/// The exchanges that a collective of `bytes` may be done by on this network, the fastest by the model first. When
/// `interrupt` is requested, those that were looked at until then, one at least.
pub fn exchanges(
    fabric: &Fabric,
    collective: Collective,
    root: usize,
    bytes: u64,
    element: u64,
    most: usize,
    interrupt: &Interrupt,
) -> Vec<Exchange> {
    let capacities = vec![1; fabric.links.len()];
    let edges: Vec<_> =
        fabric.links.iter().zip(capacities).map(|(link, capacity)| (link.from, link.to, capacity)).collect();
    let paths = Paths::of(fabric, &edges);
    let bound = bound_of_exchange::bound(fabric, collective, root, bytes, element);
    let shards = shards(bytes, element, fabric.ranks.len());
    let (units, unit) = match collective {
        Collective::Allreduce | Collective::Broadcast | Collective::Reduce => (bytes, element),
        _ => (POSITION_UNITS * shards.len() as u64, 1),
    };
    let ranks = &fabric.ranks;
    let quickest = quickest::paths(fabric, &edges, bytes / ranks.len() as u64);
    let over = |paths, forms: Vec<Form>| forms.into_iter().map(move |form| (paths, form));
    let mut forms: Vec<(&Paths, Form)> = over(&paths, forms(&paths, &edges, units, unit)).collect();
    forms.extend(over(&paths, in_other_orders(&paths, ranks, units, unit)));
    if let Some(quickest) = &quickest {
        forms.extend(over(quickest, in_line(ranks.len(), units, unit)));
        forms.extend(over(quickest, in_other_orders(quickest, ranks, units, unit)));
    }
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (paths, form) in forms {
        if !exchanges.is_empty() && interrupt.is_requested() {
            break;
        }
        let form = match collective {
            Collective::Allreduce => Some(form),
            Collective::Broadcast | Collective::Reduce => Some(of_root(form, collective, root, ranks.len())),
            _ => half(form, collective, &shards, element),
        };
        let Some(mut exchange) = form.and_then(|form| routed(form, paths, &bound)) else { continue };
        exchange.seconds = exchange_seconds(fabric, &exchange);
        let position = exchanges.partition_point(|known| known.seconds <= exchange.seconds);
        let is_known = exchanges.iter().any(|known| known.rounds == exchange.rounds && known.routes == exchange.routes);
        if position < most && !is_known {
            exchanges.insert(position, exchange);
            exchanges.truncate(most);
        }
    }
    exchanges
}

/// Units of a position in a buffer that stands for one whose shards belong to ranks: every number of parts up to twice ten
/// axes divides it.
const POSITION_UNITS: u64 = 5040;

/// The half of a form that leaves every rank with its own shard, or begins with it, for the buffer that has these shards.
///
/// The form is one of a buffer of [`POSITION_UNITS`] for each position. Whose position is whose is what the form has come
/// to between its halves. `None` where it then has not one position for each rank, and where shards that one message has are
/// not next to each other in the buffer.
fn half(form: Form, collective: Collective, shards: &[(u64, u64)], element: u64) -> Option<Form> {
    let (ranks, count) = (shards.len(), form.parts.len());
    let each = POSITION_UNITS / count as u64;
    if each * count as u64 != POSITION_UNITS {
        return None;
    }
    let operation = if collective == Collective::Allgather { Operation::Copy } else { Operation::Reduce };
    let of_part = |(index, rounds): (usize, Vec<Draft>)| {
        let first = index as u64 * ranks as u64 * each;
        let positions = |&(_, _, start, units): &Sent| {
            let is_whole = start >= first && (start - first).is_multiple_of(each) && units.is_multiple_of(each);
            is_whole.then(|| ((start - first) / each) as usize..((start - first + units) / each) as usize)
        };
        let owners = owners(&rounds, ranks, &positions)?;
        let placed = |sent: &Sent| {
            let positions = positions(sent)?;
            let (low, high) = (owners[positions.start], owners[positions.end - 1]);
            let (start, bytes) = if positions.len() == 1 {
                let of_shard = |index: usize| shards[low].0 + position(shards[low].1 / element, index, count) * element;
                (of_shard(index), of_shard(index + 1) - of_shard(index))
            } else {
                let is_together = owners[positions].windows(2).all(|pair| pair[0] + 1 == pair[1]);
                (count == 1 && is_together).then(|| (shards[low].0, shards[high].0 + shards[high].1 - shards[low].0))?
            };
            Some((sent.0, sent.1, start, bytes))
        };
        let rounds = rounds.iter().filter(|round| round.0 == operation);
        rounds.map(|(_, messages)| Some((operation, messages.iter().map(placed).collect::<Option<_>>()?))).collect()
    };
    let parts = form.parts.into_iter().enumerate().map(of_part).collect::<Option<_>>()?;
    // What halves going one way doubles going the other.
    let name = if operation == Operation::Copy { form.name.replace("halving", "doubling") } else { form.name };
    Some(Form { name, variant: form.variant, parts })
}

/// The rank that has each position when copying begins; `None` where they are not as many ranks as there are.
fn owners(
    rounds: &[Draft],
    ranks: usize,
    positions: &impl Fn(&Sent) -> Option<std::ops::Range<usize>>,
) -> Option<Vec<usize>> {
    let mut owners: Vec<Option<(usize, usize)>> = vec![None; ranks];
    for (number, (_, messages)) in rounds.iter().enumerate().filter(|(_, round)| round.0 == Operation::Copy) {
        for sent in messages {
            for owner in owners.get_mut(positions(sent)?)? {
                match *owner {
                    // Who sends it first has it; two that do have both.
                    Some((known, first)) if first == number && known != sent.0 => return None,
                    Some(_) => {}
                    None => *owner = Some((sent.0, number)),
                }
            }
        }
    }
    let owners: Vec<usize> = owners.into_iter().map(|owner| owner.map(|known| known.0)).collect::<Option<_>>()?;
    let mut sorted = owners.clone();
    sorted.sort_unstable();
    (sorted.into_iter().eq(0..ranks)).then_some(owners)
}

/// Forms for ranks in line, in other orders than their own: by position, and from each to one that is near. What ranks
/// next to each other send each other then crosses few links, whoever has numbered the ranks.
fn in_other_orders(paths: &Paths, ranks: &[usize], bytes: u64, element: u64) -> Vec<Form> {
    if ranks.len() > orders::MAX_RANKS {
        return Vec::new();
    }
    let [own, others @ ..] = &orders::orders(paths, ranks)[..] else { return Vec::new() };
    let others = others.iter().filter(|(_, order)| *order != own.1);
    let reordered = |(name, order): &(&str, Vec<usize>)| {
        let mut forms = in_line(ranks.len(), bytes, element);
        for form in &mut forms {
            form.name = format!("{}, {name}", form.name);
            let messages = form.parts.iter_mut().flatten().flat_map(|round| &mut round.1);
            messages.for_each(|sent| (sent.0, sent.1) = (order[sent.0], order[sent.1]));
        }
        forms
    };
    others.flat_map(reordered).collect()
}

/// Forms that know nothing of a network but how many ranks it has: their numbers are positions in line.
fn in_line(ranks: usize, bytes: u64, element: u64) -> Vec<Form> {
    let whole = Part::of(bytes, element, 0, 1);
    let power = 1usize << ranks.ilog2();
    let mut forms = Vec::new();
    let mut add = |name: &str, variant: &str, parts: Vec<Option<Vec<Draft>>>| {
        if let Some(parts) = parts.into_iter().collect() {
            forms.push(Form { name: name.to_owned(), variant: variant.to_owned(), parts });
        }
    };
    let twos = vec![2; power.ilog2() as usize];
    let near_first = digits(&twos, Within::Direct);
    let far_first: Vec<Step> = near_first.iter().rev().cloned().collect();
    let swapped = partly_divided(&near_first, 0, power, whole);
    add("recursive doubling", "", vec![swapped.map(|rounds| folded(rounds, ranks, whole))]);
    if ranks <= MAX_DIRECT {
        add("direct", "", vec![divided(&digits(&[ranks], Within::Direct), ranks, whole)]);
    }
    add("tree", "", vec![Some(tree(ranks, whole))]);
    for (steps, variant) in [(&near_first, "nearest first"), (&far_first, "nearest last")] {
        for dividing in 1..=steps.len() {
            let rounds = partly_divided(steps, dividing, power, whole);
            let parts = vec![rounds.map(|rounds| folded(rounds, ranks, whole))];
            add(&partly("recursive halving", dividing, steps.len()), variant, parts);
        }
    }
    if 2 * ranks * (ranks - 1) <= MAX_MESSAGES {
        let order: Vec<usize> = (0..ranks).collect();
        add("ring", "", vec![ring(&order, whole)]);
        let bidirectional = Step { groups: vec![order.clone()], within: Within::Bidirectional };
        add("bidirectional ring", "", vec![divided(&[bidirectional], ranks, whole)]);
        let backwards: Vec<usize> = order.iter().rev().copied().collect();
        let parts = [(order, 0), (backwards, 1)].map(|(order, index)| ring(&order, Part::of(bytes, element, index, 2)));
        add("ring both ways", "", parts.to_vec());
    }
    distinguished(forms)
}

/// All forms for the ranks of a network in their own order.
fn forms(paths: &Paths, edges: &[crate::bound::Edge], bytes: u64, element: u64) -> Vec<Form> {
    let ranks = paths.ranks();
    let whole = Part::of(bytes, element, 0, 1);
    let mut forms = in_line(ranks, bytes, element);
    let mut add = |name: &str, variant: &str, parts: Vec<Option<Vec<Draft>>>| {
        if let Some(parts) = parts.into_iter().collect() {
            forms.push(Form { name: name.to_owned(), variant: variant.to_owned(), parts });
        }
    };
    let (extents, is_torus) = paths.axes(edges);
    for extents in &extents {
        let of = shape(extents);
        for (name, factors) in two_level(extents) {
            let near_first = digits(&factors, Within::Direct);
            let far_first: Vec<Step> = near_first.iter().rev().cloned().collect();
            for (steps, variant) in [(near_first, "nearest first"), (far_first, "nearest last")] {
                for dividing in 1..=steps.len() {
                    let name = format!("{}, {variant}", partly(&name, dividing, steps.len()));
                    add(&name, &of, vec![partly_divided(&steps, dividing, ranks, whole)]);
                }
            }
        }
    }
    for extents in extents.iter().filter(|_| is_torus) {
        let (count, of) = (2 * extents.len(), shape(extents));
        let part = |index: usize| (Part::of(bytes, element, index, count), index / 2, index % 2 == 1);
        let swung = |index: usize, dividing: usize| {
            let (part, first, is_mirrored) = part(index);
            partly_divided(&swing(extents, first, is_mirrored)?, dividing, ranks, part)
        };
        let ringed = |index: usize| {
            let (part, first, is_mirrored) = part(index);
            divided(&rings(extents, first, is_mirrored), ranks, part)
        };
        let length = swing(extents, 0, false).map_or(0, |steps| steps.len());
        for dividing in 1..=length {
            let name = partly(&format!("swing, {count} parts"), dividing, length);
            add(&name, &of, (0..count).map(|index| swung(index, dividing)).collect());
        }
        add(&format!("rings of axes, {count} parts"), &of, (0..count).map(ringed).collect());
        add("rings of axes", &of, vec![divided(&rings(extents, 0, false), ranks, whole)]);
        let bidirectional = |index: usize| {
            let part = Part::of(bytes, element, index, extents.len());
            divided(&bidirectional_rings(extents, index), ranks, part)
        };
        let name = format!("bidirectional rings of axes, {} parts", extents.len());
        if extents.len() > 1 {
            add(&name, &of, (0..extents.len()).map(bidirectional).collect());
        }
        let parts = vec![divided(&bidirectional_rings(extents, 0), ranks, whole)];
        add("bidirectional rings of axes", &of, parts);
        for first in 0..extents.len() {
            let Some(steps) = swing(extents, first, false) else { continue };
            let variant = format!("{of} from axis {first}");
            for dividing in 1..=length {
                let parts = vec![partly_divided(&steps, dividing, ranks, whole)];
                add(&partly("swing", dividing, length), &variant, parts);
            }
            add("swing of whole buffers", &variant, vec![partly_divided(&steps, 0, ranks, whole)]);
        }
    }
    if 2 * ranks * (ranks - 1) <= MAX_MESSAGES {
        for extents in extents.iter().filter(|extents| is_torus && extents.len() > 1) {
            let parts = vec![ring(&snake(extents), whole)];
            add("ring from neighbour to neighbour", &shape(extents), parts);
        }
    }
    distinguished(forms)
}

/// Forms of which no two have one name: those that had say which variant they are.
fn distinguished(mut forms: Vec<Form>) -> Vec<Form> {
    let names: Vec<String> = forms.iter().map(|form| form.name.clone()).collect();
    for form in &mut forms {
        if names.iter().filter(|name| **name == form.name).count() > 1 {
            form.name = format!("{}, {}", form.name, form.variant);
        }
    }
    forms
}

/// The name of a form that divides in its first steps and swaps shares in the others.
fn partly(name: &str, dividing: usize, steps: usize) -> String {
    match steps - dividing {
        0 => name.to_owned(),
        swapping => format!("{name}, doubling in {swapping} of {steps} steps"),
    }
}

/// Extents as people write them: `8x32`.
fn shape(extents: &[usize]) -> String {
    extents.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

/// What `extents` of systems and of what is in each allow: direct exchanges on each level, and halving among systems.
fn two_level(extents: &[usize]) -> Vec<(String, Vec<usize>)> {
    let direct: Vec<usize> = extents.iter().rev().copied().filter(|&extent| extent > 1).collect();
    let mut levels = Vec::new();
    if direct.len() > 1 && direct.iter().all(|&extent| extent <= MAX_DIRECT) {
        levels.push((format!("direct on {} levels", direct.len()), direct.clone()));
    }
    let primes = |extent: usize| {
        let (mut rest, mut primes, mut factor) = (extent, Vec::new(), 2);
        while rest > 1 {
            while rest.is_multiple_of(factor) {
                primes.push(factor);
                rest /= factor;
            }
            factor += 1;
        }
        primes
    };
    let first = direct[0];
    let inner = std::iter::once(first).chain(direct[1..].iter().flat_map(|&extent| primes(extent)));
    if direct.len() > 1 && first <= MAX_DIRECT && first > 2 {
        levels.push(("direct inside, halving outside".into(), inner.collect()));
    }
    levels.push(("halving by prime factors".into(), direct.iter().flat_map(|&extent| primes(extent)).collect()));
    levels.retain(|(_, factors)| factors.iter().all(|&factor| factor <= MAX_DIRECT));
    levels
}

/// From neighbour to neighbour along all axes, there and back.
fn snake(extents: &[usize]) -> Vec<usize> {
    let mut order = vec![0];
    for &extent in extents {
        let longer = order.iter().enumerate().flat_map(|(position, &first)| {
            let along = move |step: usize| if position % 2 == 0 { step } else { extent - 1 - step };
            (0..extent).map(move |step| first * extent + along(step))
        });
        order = longer.collect();
    }
    order
}

/// Reduce-scatter by the steps, and allgather by them backwards.
fn divided(steps: &[Step], ranks: usize, part: Part) -> Option<Vec<Draft>> {
    partly_divided(steps, steps.len(), ranks, part)
}

/// Reduce-scatter by the first `dividing` steps; in the others, which are of pairs, the shares are swapped whole; allgather
/// by the first backwards. Fewer rounds than dividing in every step, fewer bytes than swapping in every step.
fn partly_divided(steps: &[Step], dividing: usize, ranks: usize, part: Part) -> Option<Vec<Draft>> {
    let (outer, swapping) = steps.split_at(dividing);
    if swapping.iter().flat_map(|step| &step.groups).any(|group| group.len() != 2) {
        return None;
    }
    let positions = classes(steps, ranks)?;
    let mut rounds = Vec::new();
    let all = || outer.iter().zip(&positions);
    all().for_each(|(step, positions)| rounds.extend(shared(step, positions, Operation::Reduce, ranks, part)));
    let share =
        |rank: usize| part.between(dividing.checked_sub(1).map_or((0, ranks), |last| positions[last][rank]), ranks);
    for step in swapping {
        let sent = |from: usize, to: usize| {
            let (start, bytes) = share(from);
            (from, to, start, bytes)
        };
        let both = |pair: &Vec<usize>| [sent(pair[0], pair[1]), sent(pair[1], pair[0])];
        rounds.push((Operation::Reduce, step.groups.iter().flat_map(both).collect()));
    }
    all().rev().for_each(|(step, positions)| rounds.extend(shared(step, positions, Operation::Copy, ranks, part)));
    Some(rounds)
}

/// The rounds of a step in which the members of a group reduce each other's shares, or copy their own to each other.
/// `positions` has the share of every rank.
fn shared(step: &Step, positions: &[(usize, usize)], operation: Operation, ranks: usize, part: Part) -> Vec<Draft> {
    let size = step.groups.first().map_or(1, Vec::len);
    let shifted = |group: &[usize], index: usize, by: usize| group[(index + by) % size];
    let members = || step.groups.iter().flat_map(move |group| (0..size).map(move |index| (group, index)));
    let sent = |group: &[usize], index: usize, to: usize, whose: usize| {
        let (start, bytes) = part.between(positions[whose], ranks);
        (group[index], to, start, bytes)
    };
    match step.within {
        Within::Direct => {
            let messages = (1..size).flat_map(|by| members().map(move |(group, index)| (group, index, by)));
            let message = |(group, index, by): (&Vec<usize>, usize, usize)| {
                let to = shifted(group, index, by);
                sent(group, index, to, if operation == Operation::Reduce { to } else { group[index] })
            };
            vec![(operation, messages.map(message).collect())]
        }
        Within::Ring => {
            // A block is complete where it belongs in the end, or begins there.
            let begin = usize::from(operation == Operation::Reduce);
            let round = |round: usize| {
                let message = |(group, index): (&Vec<usize>, usize)| {
                    let whose = shifted(group, index, 2 * size - begin - round);
                    sent(group, index, shifted(group, index, 1), whose)
                };
                (operation, members().map(message).collect())
            };
            (0..size - 1).map(round).collect()
        }
        Within::Bidirectional => {
            // Shares go up to half way round upwards, and the others downwards; sums come back the way that copies go.
            let (upwards, is_copy) = (size / 2, operation == Operation::Copy);
            let round = |distance: usize| {
                let towards = |is_up: bool| {
                    members().map(move |(group, index)| {
                        let behind = if is_copy { distance - 1 } else { distance };
                        let whose = shifted(group, index, if is_up { size - behind } else { behind });
                        sent(group, index, shifted(group, index, if is_up == is_copy { 1 } else { size - 1 }), whose)
                    })
                };
                let downwards = if distance < size - upwards { Some(towards(false)) } else { None };
                (operation, towards(true).chain(downwards.into_iter().flatten()).collect())
            };
            let distances = 1..=upwards;
            if is_copy { distances.map(round).collect() } else { distances.rev().map(round).collect() }
        }
    }
}

fn ring(order: &[usize], part: Part) -> Option<Vec<Draft>> {
    let step = Step { groups: vec![order.to_vec()], within: Within::Ring };
    divided(&[step], order.len(), part)
}

/// Rounds of a power of two of participants among any number of ranks: the first ones work in pairs, one of which takes part
/// for both.
fn folded(rounds: Vec<Draft>, ranks: usize, part: Part) -> Vec<Draft> {
    let fold = Fold::of(ranks);
    if fold.participants == ranks {
        return rounds;
    }
    let (start, bytes) = part.between((0, 1), 1);
    let rank_of = |participant: usize| fold.first_rank(participant);
    let inside = rounds.into_iter().map(|(operation, messages)| {
        let messages = messages.into_iter().map(|(from, to, start, bytes)| (rank_of(from), rank_of(to), start, bytes));
        (operation, messages.collect())
    });
    let before = (Operation::Reduce, fold.pairs().map(|(first, second)| (second, first, start, bytes)).collect());
    let after = (Operation::Copy, fold.pairs().map(|(first, second)| (first, second, start, bytes)).collect());
    std::iter::once(before).chain(inside).chain([after]).collect()
}

/// Whole buffers to rank 0 along a binomial tree, and back.
fn tree(ranks: usize, part: Part) -> Vec<Draft> {
    let (start, bytes) = part.between((0, 1), 1);
    let distances = (0..usize::BITS).map(|bit| 1usize << bit).take_while(|&distance| distance < ranks);
    let round = |distance: usize| {
        let senders = (distance..ranks).step_by(2 * distance);
        (Operation::Reduce, senders.map(|from| (from, from - distance, start, bytes)).collect())
    };
    let up: Vec<Draft> = distances.map(round).collect();
    let back = up.iter().rev().map(|(_, messages)| {
        let turned = messages.iter().map(|&(from, to, start, bytes)| (to, from, start, bytes));
        (Operation::Copy, turned.collect())
    });
    let down: Vec<Draft> = back.collect();
    up.into_iter().chain(down).collect()
}

/// A form with paths, all parts at once. `None` where two ranks have no path or there are too many messages.
fn routed(form: Form, paths: &Paths, bound: &Bound) -> Option<Exchange> {
    let messages: usize = form.parts.iter().flatten().map(|(_, messages)| messages.len()).sum();
    if messages > MAX_MESSAGES {
        return None;
    }
    let mut routes: Vec<Transfer> = Vec::new();
    let mut known: FxHashMap<(usize, usize), u32> = FxHashMap::default();
    let mut rounds: Vec<Round> = Vec::new();
    for part in form.parts {
        for (number, (operation, messages)) in part.into_iter().enumerate() {
            if number == rounds.len() {
                rounds.push(Round { operation, messages: Vec::new() });
            }
            if rounds[number].operation != operation {
                return None;
            }
            for (from, to, start, bytes) in messages.into_iter().filter(|message| message.3 > 0) {
                let route = match known.get(&(from, to)) {
                    Some(&route) => route,
                    None => {
                        routes.push(Transfer(from, to, paths.get(from, to)?.to_vec()));
                        known.insert((from, to), routes.len() as u32 - 1);
                        routes.len() as u32 - 1
                    }
                };
                rounds[number].messages.push(Message(route, start, bytes));
            }
        }
    }
    rounds.retain(|round| !round.messages.is_empty());
    Some(Exchange { form: form.name, routes, rounds, bound: bound.clone(), seconds: 0.0 })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::execute::Timed;
    use crate::schedule::{KIND, Schedule};
    use crate::verify::verify;

    fn fabric(topology: &weft_machine::Topology, forwards: bool) -> Fabric {
        let nodes = topology.nodes();
        let vertex = |end| match end {
            weft_machine::Vertex::Node(node) => node,
            weft_machine::Vertex::Switch(switch) => nodes + switch,
        };
        let links = (0..topology.links()).map(|link| topology.link_ends(link));
        let link = |(from, to)| crate::Link { from: vertex(from), to: vertex(to), bandwidth: 25e9, latency: 1e-6 };
        Fabric {
            name: "a network".into(),
            vertices: (0..nodes + topology.switches()).map(|vertex| format!("v{vertex}")).collect(),
            ranks: (0..nodes).collect(),
            links: links.map(link).filter(|link| link.from != link.to).collect(),
            message_seconds: 1e-6,
            forwards,
            in_network: Vec::new(),
            routes: None,
        }
    }

    /// Of collectives that have one.
    const ROOT: usize = 1;

    /// The names of all forms of a collective on networks of many kinds, each verified and executed with numbers.
    fn tried(collective: Collective) -> BTreeSet<String> {
        use weft_machine::Topology::{Crossbar, FatTree, Hypercube, Torus};
        let fabrics = [
            (Torus { extents: vec![4, 4] }, true),
            (Torus { extents: vec![2, 8] }, true),
            (Torus { extents: vec![3, 4] }, true),
            (Torus { extents: vec![5] }, false),
            (Hypercube { dimension: 3 }, true),
            (Crossbar { nodes: 2 }, false),
            (Crossbar { nodes: 6 }, false),
            (Crossbar { nodes: 7 }, false),
            (FatTree { children: vec![4, 3], parents: vec![1, 2] }, false),
        ];
        let mut names = BTreeSet::new();
        for (topology, forwards) in fabrics {
            let fabric = fabric(&topology, forwards);
            // Blocks of unequal length, and buffers of fewer elements than blocks.
            for bytes in [4 * 1009, 4 * 13] {
                let mut forms = BTreeSet::new();
                for exchange in exchanges(&fabric, collective, ROOT, bytes, 4, usize::MAX, &Interrupt::NEVER) {
                    let form = exchange.form.clone();
                    let schedule = Schedule {
                        kind: KIND.to_owned(),
                        collective,
                        bytes,
                        element_bytes: 4,
                        root: collective.has_root().then_some(ROOT),
                        blocks: None,
                        fabric: fabric.clone(),
                        stages: Vec::new(),
                        exchange: Some(exchange),
                    };
                    verify(&schedule).unwrap_or_else(|error| panic!("{topology:?}, {collective:?}, {form}: {error}"));
                    assert!(
                        schedule.efficiency() <= 1.0 + 1e-9,
                        "{topology:?}, {collective:?}, {form} beats its bound"
                    );
                    let program = Timed::new(Arc::new(schedule), false, 1).unwrap();
                    weft_threads::run(program.ranks(), &program, &weft_threads::Options::default())
                        .unwrap_or_else(|error| panic!("{topology:?}, {collective:?}, {form}: {error}"));
                    assert!(forms.insert(form.clone()), "{topology:?} has two forms {form}");
                }
                names.append(&mut forms);
            }
        }
        names
    }

    #[test]
    fn every_form_gives_the_sum_by_the_verifier_and_by_the_numbers() {
        let names = tried(Collective::Allreduce);
        let expected = [
            "direct",
            "direct inside, halving outside, nearest first",
            "direct on 2 levels, nearest last",
            "halving by prime factors, nearest first",
            "recursive doubling",
            "recursive halving, doubling in 1 of 3 steps, nearest first",
            "recursive halving, nearest first",
            "recursive halving, nearest last",
            "ring",
            "ring both ways",
            "ring from neighbour to neighbour",
            "rings of axes, 4 parts",
            "bidirectional rings of axes",
            "bidirectional rings of axes, 2 parts",
            "bidirectional ring",
            "swing, 4x4 from axis 0",
            "swing of whole buffers, 4x4 from axis 1",
            "swing, 4 parts",
            "tree",
        ];
        expected.iter().for_each(|name| assert!(names.contains(*name), "{name} is not among {names:?}"));
    }

    #[test]
    fn both_ways_together_bound_an_allreduce_and_are_reached_on_a_torus() {
        let torus = fabric(&weft_machine::Topology::Torus { extents: vec![4, 4] }, true);
        let bytes = 4 << 20;
        let forms = exchanges(&torus, Collective::Allreduce, 0, bytes, 4, usize::MAX, &Interrupt::NEVER);
        // Sixteen ranks with four links each: an element leaves ranks thirty times.
        let least = 30.0 * bytes as f64 / (64.0 * 25e9);
        assert!(forms.iter().all(|form| (form.bound.seconds - least).abs() < 1e-12 && form.bound.others.len() == 15));
        let busy = forms.iter().map(|form| form.transmission(&torus)).fold(f64::INFINITY, f64::min);
        assert!(busy >= least * (1.0 - 1e-9) && busy <= least * 1.001, "{busy} of {least}");
    }

    #[test]
    fn halves_of_forms_leave_every_rank_its_shard_by_the_verifier_and_by_the_numbers() {
        let names = &tried(Collective::Allgather) | &tried(Collective::ReduceScatter);
        let expected = [
            "direct",
            "direct on 2 levels, nearest last",
            "recursive doubling, nearest last",
            "recursive halving, nearest last",
            "doubling by prime factors, nearest last",
            "ring",
            "ring both ways",
            "ring from neighbour to neighbour",
            "bidirectional ring",
            "rings of axes",
            "bidirectional rings of axes",
        ];
        expected.iter().for_each(|name| assert!(names.contains(*name), "{name} is not among {names:?}"));
    }

    #[test]
    fn one_rank_sends_and_gets_everything_by_the_verifier_and_by_the_numbers() {
        let names = &tried(Collective::Broadcast) & &tried(Collective::Reduce);
        let expected =
            ["direct", "recursive halving, nearest last", "recursive doubling", "ring", "tree", "swing, 4 parts"];
        expected.iter().for_each(|name| assert!(names.contains(*name), "{name} is not among {names:?}"));
    }

    #[test]
    fn a_snake_goes_from_neighbour_to_neighbour() {
        let order = snake(&[3, 2, 2]);
        assert_eq!(order, [0, 1, 3, 2, 6, 7, 5, 4, 8, 9, 11, 10]);
    }

    #[test]
    fn folded_ranks_take_part_through_their_neighbours() {
        let part = Part::of(40, 4, 0, 1);
        let rounds = folded(partly_divided(&digits(&[2], Within::Direct), 0, 2, part).unwrap(), 3, part);
        let pairs: Vec<Vec<(usize, usize)>> =
            rounds.iter().map(|(_, messages)| messages.iter().map(|sent| (sent.0, sent.1)).collect()).collect();
        assert_eq!(pairs, [vec![(1, 0)], vec![(0, 2), (2, 0)], vec![(0, 1)]]);
    }
}
