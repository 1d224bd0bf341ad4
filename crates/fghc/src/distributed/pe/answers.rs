//! The answers of a run, on PE 0: what of them is elsewhere is asked for before the run ends.
//!
//! Values are passed as far as the limits on copies say, and the rest when some goal looks at it. No goal looks at the
//! answers, so PE 0 does: when all goals have ended, and when nothing moves any more. What is unbound elsewhere is never
//! answered; then it is again the search for quiescence that ends the run.

use rustc_hash::FxHashSet;

use super::{FIRST, Pe};
use crate::engine::Root;
use crate::heap::Word;

/// What of the answers has not been looked through.
#[derive(Default)]
pub(super) struct Answers {
    begun: bool,
    /// Values, and variables that were asked for.
    unread: Vec<Root>,
}

impl Answers {
    /// Whether all that still happens is that they are asked for.
    pub fn are_gathered(&self) -> bool {
        self.begun
    }
}

impl Pe {
    /// Asks for what the answers have elsewhere, as far as that is known by now; whether anything is still outstanding.
    pub(super) fn answers_are_missing(&mut self) -> bool {
        self.ask_for_answers();
        !self.answers.unread.is_empty()
    }

    /// Asks for what the answers have elsewhere; whether there was something that had not been asked for.
    pub(super) fn ask_for_answers(&mut self) -> bool {
        if self.me != FIRST || self.pes == 1 {
            return false;
        }
        let mut values: Vec<Word> = if std::mem::replace(&mut self.answers.begun, true) {
            std::mem::take(&mut self.answers.unread).into_iter().map(|root| self.engine.release(root)).collect()
        } else {
            self.engine.answer_values()
        };
        let (mut seen, mut asked) = (FxHashSet::default(), false);
        let mut missing = Vec::new();
        for value in values.drain(..) {
            self.engine.externals_within(value, &mut seen, &mut missing);
        }
        for variable in missing {
            asked |= self.engine.ask_for(variable);
            self.answers.unread.push(self.engine.hold(variable));
        }
        self.drain();
        asked
    }
}
