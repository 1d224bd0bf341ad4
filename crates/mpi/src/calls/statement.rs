//! What a rank says of its calls, and where those of several ranks differ.

use std::fmt::Write as _;

/// The last calls of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// How many calls it has made.
    pub count: u64,
    /// The number of the first that it tells of.
    pub first: u64,
    pub digests: Vec<u64>,
    /// What they are, in words.
    pub texts: Vec<String>,
}

impl Statement {
    /// Calls that a rank tells of.
    pub const CALLS: u64 = 64;
    /// Bytes of a call's words that others are told.
    const MAX_TEXT: usize = 1000;

    pub fn written(&self) -> Box<[u8]> {
        let mut bytes = Vec::new();
        for word in [self.count, self.first, self.digests.len() as u64].iter().chain(&self.digests) {
            bytes.extend(word.to_le_bytes());
        }
        for text in &self.texts {
            let end =
                (0..=text.len().min(Statement::MAX_TEXT)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
            bytes.extend(text[..end].replace('\n', " ").as_bytes());
            bytes.push(b'\n');
        }
        bytes.into()
    }

    /// `None` for bytes that are not what `written` gives.
    pub fn read(bytes: &[u8]) -> Option<Statement> {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |at: usize| words.get(at).map(|word| u64::from_le_bytes(*word));
        let length = usize::try_from(word(2)?).ok()?;
        let digests = (3..3usize.checked_add(length)?).map(word).collect::<Option<Vec<u64>>>()?;
        let texts = String::from_utf8_lossy(bytes.get(8 * (3 + length)..)?).lines().map(str::to_owned).collect();
        Some(Statement { count: word(0)?, first: word(1)?, digests, texts })
    }

    fn digest(&self, call: u64) -> Option<u64> {
        self.digests.get(call.checked_sub(self.first)? as usize).copied()
    }

    fn text(&self, call: u64) -> &str {
        let at = call.checked_sub(self.first).and_then(|at| self.texts.get(at as usize));
        at.map_or("a call that is not known any more", String::as_str)
    }
}

/// The calls of the ranks side by side, of the first number of which two ranks made different ones. Ranks without a
/// statement have not answered.
pub fn difference(statements: &[Option<Statement>]) -> String {
    let known = || statements.iter().flatten();
    let first = known().map(|one| one.first).max().unwrap_or(1);
    let last = known().map(|one| one.count).max().unwrap_or(0);
    let differs = |&call: &u64| {
        let mut digests = known().filter_map(|one| one.digest(call));
        let one = digests.next();
        digests.any(|other| Some(other) != one)
    };
    let call = (first..=last).find(differs);
    let mut text = match call {
        Some(call) => format!("the ranks disagree: call {call} of these ranks is"),
        None => format!("the ranks disagree since before call {first} of these ranks; they are in"),
    };
    for (rank, statement) in statements.iter().enumerate() {
        let said = match (statement, call) {
            (None, _) => "no answer: it is in no call of weft that waits".to_owned(),
            (Some(one), Some(call)) if one.count == call => one.text(call).to_owned(),
            (Some(one), Some(call)) if one.count > call => {
                format!("{}; by now it is in call {}: {}", one.text(call), one.count, one.text(one.count))
            }
            (Some(one), _) => format!("call {}: {}", one.count, one.text(one.count)),
        };
        let _ = write!(text, "\n  rank {rank}: {said}");
    }
    text.push_str("\nall ranks must make the same calls in the same order");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn statement(first: u64, calls: &[(u64, &str)]) -> Statement {
        Statement {
            count: first + calls.len() as u64 - 1,
            first,
            digests: calls.iter().map(|(digest, _)| *digest).collect(),
            texts: calls.iter().map(|(_, text)| (*text).to_owned()).collect(),
        }
    }

    proptest! {
        #[test]
        fn a_statement_is_read_as_it_was_written(
            count in any::<u64>(), first in any::<u64>(), calls in prop::collection::vec((any::<u64>(), "[a-zé ]{0,40}"), 0..9)
        ) {
            let (digests, texts) = calls.into_iter().unzip();
            let statement = Statement { count, first, digests, texts };
            prop_assert_eq!(Statement::read(&statement.written()), Some(statement));
        }

        #[test]
        fn any_bytes_may_come(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Statement::read(&bytes);
        }
    }

    #[test]
    fn the_first_call_that_differs_is_shown_side_by_side() {
        let zero = statement(1, &[(7, "spread"), (8, "reduce max at a.py:3"), (9, "scan")]);
        let one = statement(1, &[(7, "spread"), (6, "reduce add at a.py:5")]);
        let behind = statement(1, &[(7, "spread at a.py:2")]);
        assert_eq!(
            difference(&[Some(zero), Some(one), Some(behind), None]),
            "the ranks disagree: call 2 of these ranks is\n  \
             rank 0: reduce max at a.py:3; by now it is in call 3: scan\n  \
             rank 1: reduce add at a.py:5\n  rank 2: call 1: spread at a.py:2\n  \
             rank 3: no answer: it is in no call of weft that waits\n\
             all ranks must make the same calls in the same order"
        );
    }

    #[test]
    fn a_difference_of_long_ago_is_said_to_be_one() {
        let text = difference(&[Some(statement(5, &[(1, "get")])), Some(statement(5, &[(1, "get")]))]);
        assert!(text.starts_with("the ranks disagree since before call 5"), "{text}");
        assert!(text.contains("\n  rank 1: call 5: get"), "{text}");
    }
}
