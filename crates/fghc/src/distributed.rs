//! Execution on many processing elements: references across heaps, goals sent elsewhere, and the end of it all.
//!
//! ```text
//! pe          one processing element: an engine, its tables, and what messages do to them; knows no backend
//! message     kinds of messages, and the bytes they travel as       value    values into packets and out of them
//! tables      exports, imports and foster parents, by weight        report   how a run ended, what was counted
//! quiescence  the search for a run in which nothing moves     record   the timeline
//! run         the program over a Communicator: one PE for each rank
//! ```
//!
//! The scheme is that of the Multi-PSI (paper, sections 2 and 3.4): a goal with a pragma is thrown with its arguments;
//! what cannot be copied is passed as a reference; a guard that needs the value of a reference reads it once; a body that
//! unifies with a reference sends the value to its owner. References and what is left of nodes of the AND-tree elsewhere
//! are counted by weight, so that neither needs a message when it is passed on.

mod message;
mod outbox;
mod pe;
mod quiescence;
mod record;
mod report;
mod run;
mod tables;
mod value;

pub use message::{KINDS, Kind, Malformed};
pub use pe::{Activity, Pe};
pub use record::{Event, EventKind, Recorder};
pub use report::{Counts, End, Interrupted, SiteCounts, Stuck, StuckGoal};
pub use run::{Costs, Outcome, Output, Run, RunOptions};
pub use value::CopyLimits;
