//! The backend of virtual time: a program runs as on a described machine, and the clock is the machine's.
//!
//! # How time passes
//! Every rank has a clock of its own and runs ahead of the others until it must wait: sending costs it processor time,
//! receiving too, and neither needs an event. What others can notice is an event: a message that enters the network, a
//! packet that reaches the next node, a rank that looks whether a message has arrived. Events are taken in order of
//! time, so links and processors serve first who comes first.
//!
//! A receive that names its source is matched as soon as the message enters the network, because nothing that happens
//! later can change what it gets; only wildcard receives, and what is posted behind them, wait for the moment of
//! arrival. That saves most programs half of their events.
//!
//! # Repeatability
//! Time is an integer, events of one time are ordered by insertion, and nothing depends on addresses or hashing: two
//! runs give the same trace, bit for bit.
//!
//! # Examples
//! ```
//! use weft_comm::collective::{Choice, allreduce};
//! use weft_comm::{CommError, Communicator, Payload, Program, Reduction};
//! use weft_sim::{Options, Placement, run};
//!
//! /// The sum of all ranks' numbers.
//! #[derive(Clone)]
//! struct Sum;
//! impl Program for Sum {
//!     type Output = f64;
//!     async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
//!         let own = Payload::of(&[comm.rank() as f64]);
//!         let sum = allreduce(&comm, own, Reduction::SUM_FLOAT64, Choice::Auto).await?;
//!         Ok(sum.values::<f64>().unwrap()[0])
//!     }
//! }
//! let machine = weft_machine::find("ipsc860").unwrap();
//! let outcome = run(&machine, &Placement::identity(8), &Sum, &Options::default()).unwrap();
//! // Recursive doubling: in each of three rounds every rank sends one message.
//! assert_eq!((outcome.outputs[5], outcome.messages), (28.0, 24));
//! ```

mod communicator;
mod core;
mod costs;
mod exchange;
mod hosted;
mod mismatched;
mod options;
mod placement;
mod prefetch;
mod queue;
mod request;
mod rounds;
mod run;
mod trace;
mod unreceived;

pub use communicator::{SimComm, SimReceive, SimSend};
pub use core::remote::{RemoteKey, Reply, Serve, SimRemote};
pub use mismatched::{MismatchedElements, Mismatches};
pub use options::Options;
pub use placement::{Placement, PlacementError};
pub use rounds::Part;
pub use run::{Outcome, Outside, run, run_beside, run_with};
pub use trace::{Trace, TraceEvent, TraceKind};
pub use unreceived::Unreceived;
