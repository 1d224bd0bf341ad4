//! Starting the ranks, and how a run ends.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, ScopedJoinHandle, available_parallelism, scope};
use std::time::Duration;

use core_affinity::CoreId;
use weft_comm::{Call, Program, RunError, block_on};

use crate::backend::Backend;
use crate::comm::ThreadComm;

/// How the threads exchange messages. The defaults suit everything but experiments.
///
/// # Examples
/// ```
/// use weft_comm::{CommError, Communicator, Payload, Program, Tag};
/// use weft_threads::{Options, run};
///
/// /// Both ranks send before they receive, which no receive waits for.
/// #[derive(Clone)]
/// struct SendsMeet;
/// impl Program for SendsMeet {
///     type Output = ();
///     async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
///         let (mut out, mut into) = (Payload::Phantom(1000), Payload::Phantom(1000));
///         let other = 1 - comm.rank();
///         comm.send_from(other, Tag::User(0), &mut out).await?;
///         comm.recv_into(weft_comm::Source::Rank(other), Tag::User(0).into(), &mut into).await.map(drop)
///     }
/// }
/// // Short messages are kept for their receiver; where none is kept, the two wait for each other.
/// assert!(run(2, &SendsMeet, &Options::default()).is_ok());
/// let error = run(2, &SendsMeet, &Options { eager_bytes: 0, ..Options::default() }).unwrap_err();
/// assert!(matches!(error, weft_comm::RunError::Deadlock { .. }), "{error}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Messages up to this many bytes that no receive waits for are copied and kept, so that their sender goes on;
    /// longer ones wait for their receive. Default: 16 KiB.
    pub eager_bytes: usize,
    /// How long a waiting rank looks for its message before it sleeps, in seconds. Default (`None`): 50 microseconds,
    /// about what waking up costs; 0 where there are more ranks than processors.
    pub spin_seconds: Option<f64>,
    /// Whether each rank stays on a processor of its own where there are enough of them, as MPI launchers can do: a
    /// system that packs threads otherwise may put two ranks that wait for each other on one. Default: yes.
    pub bind: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { eager_bytes: 16 * 1024, spin_seconds: None, bind: true }
    }
}

impl Options {
    const SPIN: Duration = Duration::from_micros(50);

    fn patience(&self, ranks: usize) -> Duration {
        match self.spin_seconds {
            Some(seconds) => Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO),
            None if available_parallelism().is_ok_and(|processors| processors.get() >= ranks) => Options::SPIN,
            None => Duration::ZERO,
        }
    }
}

/// Runs `program` on `ranks` threads and returns what each rank returned, in rank order.
///
/// # Errors
/// [`RunError::Deadlock`] or [`RunError::MismatchedCollective`] when no rank can go on; [`RunError::Panicked`] and
/// [`RunError::Failed`] for the first rank that panicked or returned an error, or where a message of a collective was
/// left over at the end; [`RunError::Setup`] for no ranks at all or when the system gives no more threads.
///
/// # Examples
/// ```
/// use weft_comm::{CommError, Communicator, Payload, Program, Source, Tag};
/// use weft_threads::{Options, run};
///
/// /// Each rank sends its square to the next one of a ring.
/// #[derive(Clone)]
/// struct Ring;
/// impl Program for Ring {
///     type Output = u64;
///     async fn run<C: Communicator>(self, comm: C) -> Result<u64, CommError> {
///         let (rank, size, tag) = (comm.rank(), comm.size(), Tag::User(0));
///         let incoming = comm.irecv(Source::Rank((rank + size - 1) % size), tag.into(), Payload::of(&[0_u64]));
///         comm.send((rank + 1) % size, tag, Payload::of(&[(rank * rank) as u64])).await?;
///         Ok(incoming.await?.payload.values::<u64>().unwrap()[0])
///     }
/// }
/// assert_eq!(run(4, &Ring, &Options::default()).unwrap(), [9, 0, 1, 4]);
/// ```
pub fn run<P: Program>(ranks: usize, program: &P, options: &Options) -> Result<Vec<P::Output>, RunError> {
    if ranks == 0 {
        return Err(RunError::Setup("a run needs 1 rank or more, not 0".to_owned()));
    }
    let processors = if options.bind { processors_for(ranks) } else { Vec::new() };
    let backend = Arc::new(Backend::new(ranks, options.eager_bytes, options.patience(ranks)));
    let outputs = scope(|scope| {
        let mut threads: Vec<ScopedJoinHandle<'_, Option<P::Output>>> = Vec::with_capacity(ranks);
        for rank in 0..ranks {
            let (shared, processor) = (Arc::clone(&backend), processors.get(rank).copied());
            let body = move || {
                processor.map(core_affinity::set_for_current);
                run_rank(shared, rank, program.clone())
            };
            match Builder::new().name(format!("rank {rank}")).spawn_scoped(scope, body) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    backend.end(RunError::Setup(format!("no thread for rank {rank} of {ranks}: {error}")));
                    break;
                }
            }
        }
        threads.into_iter().map(|thread| thread.join().ok().flatten()).collect::<Option<Vec<P::Output>>>()
    });
    match (backend.reason(), outputs) {
        (Some(reason), _) => Err(reason),
        (None, Some(outputs)) => backend.leftover().map_or(Ok(outputs), |error| Err(RunError::Failed(error))),
        (None, None) => Err(RunError::Setup("a rank ended without an answer".to_owned())),
    }
}

/// A processor for each rank, of those this process may use; none where there are too few.
fn processors_for(ranks: usize) -> Vec<CoreId> {
    let processors = core_affinity::get_core_ids().unwrap_or_default();
    if processors.len() >= ranks { processors } else { Vec::new() }
}

/// One rank from start to end; `None` where the run has ended for it.
fn run_rank<P: Program>(backend: Arc<Backend>, rank: usize, program: P) -> Option<P::Output> {
    let comm = ThreadComm::of_backend(Arc::clone(&backend), rank);
    let result = catch_unwind(AssertUnwindSafe(|| block_on(program.run(comm.clone()))));
    match result {
        Ok(Some(Ok(output))) => {
            backend.finished(rank);
            Some(output)
        }
        Ok(Some(Err(error))) => {
            backend.end(RunError::Failed(error));
            None
        }
        Ok(None) => {
            backend.stuck(comm.blocked(Call::Unknown));
            None
        }
        Err(panic) => {
            backend.end(RunError::Panicked { rank, message: message_of(panic.as_ref()) });
            None
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "(no message)".to_owned())
}
