//! The backend of real message passing: MPI, loaded at run time.
//!
//! A process that a launcher (mpiexec, srun) has started as one rank of a run calls [`run`], or starts a [`Backend`]
//! and runs several programs in it. weft is built without MPI: [`library`] finds the library, learns which of three
//! binary interfaces it has, and binds the functions that are needed.
//!
//! | file | subject |
//! |---|---|
//! | `library/` | which file is the MPI library; its functions; its constants, one file per binary interface |
//! | `launcher` | what the launcher told this process |
//! | `backend` | MPI's life in a process; runs of programs; what happens when one fails |
//! | `comm`, `request`, `native`, `tags`, `scratch` | the [`Communicator`](weft_comm::Communicator) |
//! | `persistent`, `node` | messages sent again and again: MPI's persistent requests, or memory that ranks of a node share |
//! | `prepared` | operations that are carried out again and again, with nothing left to look up |
//! | `calls` | whether ranks make the same calls in the same order |
//! | `activity`, `watchdog` | what this rank is doing, and the thread that notices when that takes long |
//! | `life`, `guard` | processes of the system; the thread that ends a rank whose launcher, watcher or partner is gone |
//! | `locate` | where in a Python program a blocked rank is |
//! | `board` | reports of ranks that nobody watches, in files that the ranks of a computer read |
//! | `diagnosis/` | reports of ranks as lines, and the judgement over those of all ranks |
//!
//! # A run that cannot go on
//! MPI does not notice deadlocks. A process that starts ranks sets [`WATCHED_VARIABLE`], reads their standard error line
//! by line into a [`Diagnosis`], and asks it for a verdict; when there is one it ends the launcher and shows it. A rank
//! that fails, panics or cannot start says so by the same way and ends the run with code 1. A rank that dies without a
//! word (killed by a signal) is told by the launcher, in words that [`Diagnosis`] knows; [`Diagnosis::ended`] gives the
//! error. Ranks that nobody watches judge themselves: those of one computer read each other's reports and see each other's
//! processes end, and each ends the run after [`Watch::LIMIT`] in one call.
//!
//! Not noticed: a program that looks for messages with `iprobe` for ever is running, not blocked. Ranks that meet in
//! different collectives of the MPI library itself may also get wrong data without an error, as with MPI everywhere;
//! weft's own collectives notice.
//!
//! Truncation: MPICH does not tell the size of a message that came by rendezvous, so the error then gives only the room
//! there was. Open MPI (5.0.11) writes such a message beyond the end of the buffer before it reports it: the process may
//! die of that instead, as a C program does.

mod abort;
mod activity;
mod backend;
mod board;
mod calls;
mod clock;
mod comm;
mod context;
mod diagnosis;
mod guard;
mod launcher;
mod layout;
pub mod library;
mod life;
mod locate;
mod native;
mod open_files;
mod panics;
mod prepared;
mod scratch;
mod tags;
mod watchdog;

pub use backend::{Backend, LIMIT_VARIABLE, LibraryInfo, Options, Watch, run};
pub use calls::{Calls, Describe};
pub use comm::MpiComm;
pub use comm::SHARED_VARIABLE;
pub use comm::{ReceiveRequest, SendRequest};
pub use diagnosis::{Collective, Diagnosis, Event, MARKER, PATIENCE, Report, SLOWEST_RATE, diagnose};
pub use guard::WATCHED_VARIABLE;
pub use guard::guard_process;
pub use library::CUDA_AWARE_VARIABLE;
