//! Broadcast and reduce by rounds of messages: of an allreduce what its root needs, and backwards what it spreads.
//!
//! Halving and then gathering what was divided is a reduce by Rabenseifner (2004), scattering and then gathering at all ranks
//! a broadcast by van de Geijn (Thakur, Rabenseifner and Gropp 2005, section 4.4): both take less of the links than whole
//! buffers along a tree, and fewer messages than a pipeline.

use crate::form::{Draft, Form, Sent};
use crate::schedule::{Collective, Operation};

/// The form of an allreduce as one of this collective from or to a root, among so many ranks.
pub fn of_root(form: Form, collective: Collective, root: usize, ranks: usize) -> Form {
    let of_part = |rounds: Vec<Draft>| {
        let pieces = Pieces::of(&rounds);
        let needed = needed(rounds, &pieces, root, ranks);
        if collective == Collective::Reduce { needed } else { spread(needed, &pieces, root, ranks) }
    };
    Form { parts: form.parts.into_iter().map(of_part).collect(), ..form }
}

/// The ranges between all bytes at which messages begin or end.
struct Pieces(Vec<u64>);

impl Pieces {
    fn of(rounds: &[Draft]) -> Pieces {
        let messages = rounds.iter().flat_map(|(_, messages)| messages);
        let mut cuts: Vec<u64> = messages.flat_map(|sent| [sent.2, sent.2 + sent.3]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        Pieces(cuts)
    }

    /// Those of a message, by their numbers.
    fn within(&self, sent: &Sent) -> std::ops::Range<usize> {
        let at = |byte: u64| self.0.partition_point(|&cut| cut < byte);
        at(sent.2)..at(sent.2 + sent.3)
    }

    /// The message with those of its pieces alone that are kept, next ones together.
    fn kept(&self, sent: &Sent, is_kept: impl Fn(usize) -> bool) -> Vec<Sent> {
        let mut parts: Vec<Sent> = Vec::new();
        for piece in self.within(sent).filter(|&piece| is_kept(piece)) {
            let (start, bytes) = (self.0[piece], self.0[piece + 1] - self.0[piece]);
            match parts.last_mut().filter(|last| last.2 + last.3 == start) {
                Some(last) => last.3 += bytes,
                None => parts.push((sent.0, sent.1, start, bytes)),
            }
        }
        parts
    }
}

/// The messages by which the root gets its sums.
fn needed(rounds: Vec<Draft>, pieces: &Pieces, root: usize, ranks: usize) -> Vec<Draft> {
    let mut needs = vec![vec![false; pieces.0.len()]; ranks];
    needs[root].fill(true);
    let mut kept: Vec<Draft> = Vec::with_capacity(rounds.len());
    for (operation, messages) in rounds.into_iter().rev() {
        let parts: Vec<Sent> =
            messages.iter().flat_map(|sent| pieces.kept(sent, |piece| needs[sent.1][piece])).collect();
        // A copy is all that its receiver needs; a sum needs what was there before too.
        for sent in parts.iter().filter(|_| operation == Operation::Copy) {
            pieces.within(sent).for_each(|piece| needs[sent.1][piece] = false);
        }
        for sent in &parts {
            pieces.within(sent).for_each(|piece| needs[sent.0][piece] = true);
        }
        kept.push((operation, parts));
    }
    kept.reverse();
    kept
}

/// What sums come to the root by, backwards: copies from it. Who has passed something on to others needs it no more.
fn spread(rounds: Vec<Draft>, pieces: &Pieces, root: usize, ranks: usize) -> Vec<Draft> {
    let mut has = vec![vec![false; pieces.0.len()]; ranks];
    has[root].fill(true);
    let copied = |(_, messages): (Operation, Vec<Sent>)| {
        let mut copies = Vec::with_capacity(messages.len());
        for (to, from, start, bytes) in messages {
            let parts = pieces.kept(&(from, to, start, bytes), |piece| !has[to][piece]);
            for sent in &parts {
                pieces.within(sent).for_each(|piece| has[to][piece] = true);
            }
            copies.extend(parts);
        }
        (Operation::Copy, copies)
    };
    rounds.into_iter().rev().map(copied).collect()
}
