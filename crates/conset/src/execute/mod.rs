//! Execution of schedules: in the model of a machine's connections, and as a program of any world.
//!
//! An [`Execution`] says which words of which connection every transfer of a plan carries. It is made of a [`Schedule`]
//! ([`Execution::of_schedule`]), or of a connection set whose transfers are messages ([`Execution::of_messages`]). The
//! programs [`Timed`] and [`ConjugateGradients`] prepare it once ([`Prepared`]) and run it: worlds that know connections
//! carry the plan out themselves, for others every phase is a set of persistent requests.
//!
//! [`Schedule`]: crate::Schedule

mod conjugate_gradients;
mod exchange;
mod plan;
mod timed;

pub use conjugate_gradients::{ConjugateGradients, Partitioned, Precision, Problem, ProblemError, Solution, Subdomain};
pub use exchange::Prepared;
pub use plan::{Execution, ExecutionError, Part};
pub use timed::{Timed, Timing};
