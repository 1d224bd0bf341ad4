//! Ranks as threads of one process: the backend of tests and of programs that need no cluster.
//!
//! A rank is a thread with a mailbox. A send fills the receiver's buffer directly where the receive is posted; where it
//! is not, a short message is copied and kept, and a long one waits for its receive (as MPI's eager and rendezvous
//! protocols do), so that no message is copied twice unless it is short. What is given away goes by a ring without a
//! lock, a ring from one rank to another, where there are few ranks. Waiting ranks spin a little and then sleep.
//!
//! A run that cannot go on ends: when every rank that has not finished sleeps and no message is on its way to one, the
//! run is a deadlock and says which rank waits in which call. A rank that fails or panics ends the run for all others
//! at their next call. No time-outs are involved.
//!
//! # Examples
//! ```
//! use weft_comm::collective::{Choice, Element, Operator, scan};
//! use weft_comm::{CommError, Communicator, Payload, Program, Reduction};
//! use weft_threads::{Options, run};
//!
//! /// The product of the numbers up to this rank's.
//! #[derive(Clone)]
//! struct Factorials;
//! impl Program for Factorials {
//!     type Output = i64;
//!     async fn run<C: Communicator>(self, comm: C) -> Result<i64, CommError> {
//!         let product = Reduction { element: Element::Int64, operator: Operator::Product };
//!         let own = Payload::of(&[comm.rank() as i64 + 1]);
//!         Ok(scan(&comm, own, product, Choice::Auto).await?.values::<i64>().unwrap()[0])
//!     }
//! }
//! assert_eq!(run(5, &Factorials, &Options::default()).unwrap(), [1, 2, 6, 24, 120]);
//! ```

mod backend;
mod comm;
mod fence;
mod fill;
mod mailbox;
#[cfg(all(loom, test))]
mod models;
mod run;
mod spsc;
mod sync;
mod watch;

pub use comm::ThreadComm;
pub use comm::{Receive, Send};
pub use run::{Options, run};
