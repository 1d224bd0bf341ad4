//! The seam between programs and backends: an SPMD program is an `async fn` over a [`Communicator`].
//!
//! A program never names the backend it runs on; a backend (virtual time, MPI, threads) never names a program. What
//! both speak of is here: [`Payload`]s, [`Tag`]s, requests, the [`matching`] of messages, the [`collective`]s written
//! over point-to-point messages, and the errors.

pub mod collective;
mod communicator;
mod elements;
mod error;
mod exchange;
mod executor;
pub mod files;
mod forward;
pub mod matching;
mod message;
mod payload;
mod persistent;
pub mod prepared;
mod tag;

pub use collective::Reduction;
pub use communicator::{Communicator, NativeCollectives, Program};
pub use elements::ElementKinds;
pub use error::{Blocked, Call, CommError, Failure, RunError};
pub use exchange::{
    ElementCost, ExchangeMethod, ExchangePlan, Exchanged, Exchanges, Numbered, PlannedPhase, PlannedTransfer, Sharing,
};
pub use executor::block_on;
pub use message::{Received, Source, Status, Work};
pub use payload::{Buffer, Payload};
pub use persistent::{Ends, Persistent, PersistentMessages};
pub use prepared::{Operations, PreparedOperation};
pub use tag::{CollectiveKind, Tag, TagSelector};
pub use weft_base::Begins;
