//! Schedules that nobody changes any more.

use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize, Serializer};

use crate::schedule::Schedule;

/// A schedule that is only read from now on, so that its digest is computed at most once, however often it is executed.
#[derive(Debug, Deserialize)]
#[serde(from = "Schedule")]
pub struct Sealed {
    schedule: Schedule,
    computed: OnceLock<String>,
}

impl Sealed {
    /// A schedule that has just been given its digest ([`Schedule::sealed`]), as those of the compilers have.
    pub fn of_compiled(schedule: Schedule) -> Sealed {
        debug_assert_eq!(schedule.computed_digest(), schedule.digest);
        let computed = OnceLock::from(schedule.digest.clone());
        Sealed { schedule, computed }
    }

    /// The digest that the contents have, whatever is written beside them.
    pub fn digest_of_contents(&self) -> &str {
        self.computed.get_or_init(|| self.schedule.computed_digest())
    }
}

/// Of a schedule that came from outside: its digest is computed when it is wanted first.
impl From<Schedule> for Sealed {
    fn from(schedule: Schedule) -> Sealed {
        Sealed { schedule, computed: OnceLock::new() }
    }
}

impl Serialize for Sealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.schedule.serialize(serializer)
    }
}

impl Deref for Sealed {
    type Target = Schedule;

    fn deref(&self) -> &Schedule {
        &self.schedule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_that_was_edited_does_not_have_the_digest_that_it_names() {
        let machine = weft_machine::find("iwarp64").unwrap();
        let set = crate::named("transpose", &machine.topology, 4, 0).unwrap();
        let resources = crate::Resources::of(&machine).unwrap();
        let options = crate::Options { effort: 0.0, ..Default::default() };
        let schedule = crate::compile(&set, &resources, "iwarp64", &options, &|| false, &|_| ()).unwrap();
        assert_eq!(Sealed::of_compiled(schedule.clone()).digest_of_contents(), schedule.digest);
        let edited = Schedule { predicted_seconds: 0.0, ..schedule.clone() };
        let read: Sealed = serde_json::from_str(&edited.to_json()).unwrap();
        assert_ne!(read.digest_of_contents(), schedule.digest);
        assert_eq!(serde_json::to_string(&read).unwrap(), edited.to_json());
    }
}
