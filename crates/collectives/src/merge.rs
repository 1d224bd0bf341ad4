//! All that goes from one rank to another in one message, sent when the sender has all of it: few messages, for data that
//! is so short that their number counts.

use rustc_hash::FxHashMap;

use crate::schedule::Stage;

/// A message of several trees' ranges.
#[derive(Clone, Debug)]
pub struct Merged<'a> {
    pub from: usize,
    pub to: usize,
    pub links: &'a [u32],
    /// Start and bytes of each range, in the order of the trees.
    pub ranges: Vec<(u64, u64)>,
    /// Messages, by index, that must have come before it is sent.
    pub waits: Vec<usize>,
}

impl Merged<'_> {
    /// The bytes of all ranges.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.1).sum()
    }
}

/// The messages of a stage, and for each round the indices of those that can be sent once the rounds before have come.
/// `None` where two wait for each other, or two transfers between the same ranks take different paths.
pub fn merge(stage: &Stage) -> Option<(Vec<Merged<'_>>, Vec<Vec<usize>>)> {
    let mut index: FxHashMap<(usize, usize), usize> = FxHashMap::default();
    let mut messages: Vec<Merged> = Vec::new();
    for tree in stage.trees.iter().filter(|tree| tree.bytes > 0) {
        let mut came: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for transfer in &tree.transfers {
            let number = *index.entry((transfer.0, transfer.1)).or_insert_with(|| {
                let (links, ranges) = (transfer.2.as_slice(), Vec::new());
                messages.push(Merged { from: transfer.0, to: transfer.1, links, ranges, waits: Vec::new() });
                messages.len() - 1
            });
            let message = &mut messages[number];
            if message.links != transfer.2.as_slice() {
                return None;
            }
            message.ranges.push((tree.start, tree.bytes));
            message.waits.extend(came.get(&transfer.0).into_iter().flatten());
            came.entry(transfer.1).or_default().push(number);
        }
    }
    for message in &mut messages {
        message.waits.sort_unstable();
        message.waits.dedup();
    }
    let rounds = rounds(&messages)?;
    Some((messages, rounds))
}

fn rounds(messages: &[Merged]) -> Option<Vec<Vec<usize>>> {
    let mut missing: Vec<usize> = messages.iter().map(|message| message.waits.len()).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); messages.len()];
    for (number, message) in messages.iter().enumerate() {
        message.waits.iter().for_each(|&before| after[before].push(number));
    }
    let mut now: Vec<usize> = (0..messages.len()).filter(|&number| missing[number] == 0).collect();
    let (mut rounds, mut sent) = (Vec::new(), 0);
    while !now.is_empty() {
        now.sort_unstable_by_key(|&number| (messages[number].from, messages[number].to));
        sent += now.len();
        let mut next = Vec::new();
        for &later in now.iter().flat_map(|&number| &after[number]) {
            missing[later] -= 1;
            if missing[later] == 0 {
                next.push(later);
            }
        }
        rounds.push(std::mem::replace(&mut now, next));
    }
    (sent == messages.len()).then_some(rounds)
}
