//! Execution of schedules: in the model of a machine's connections, and as a program of any world.
//!
//! An [`Execution`] says which words of which connection every transfer of a plan carries. It is made of a [`Schedule`]
//! ([`Execution::of_schedule`]), or of a connection set whose transfers are messages ([`Execution::of_messages`]). The
//! programs [`Timed`] and [`ConjugateGradients`] run it: worlds that know connections carry the plan out themselves,
//! others get it as messages, phase by phase.
//!
//! [`Schedule`]: crate::Schedule

mod conjugate_gradients;
mod exchange;

mod plan;
mod timed;

pub use conjugate_gradients::{ConjugateGradients, Partitioned, Precision, Problem, ProblemError, Solution, Subdomain};
pub use exchange::exchange;
pub use plan::{Execution, ExecutionError, Part};
pub use timed::{Timed, Timing};
