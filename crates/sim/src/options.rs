//! How a run is done.

use weft_base::Interrupt;

/// What a run records besides its answer, and what ends it early.
///
/// # Examples
/// ```
/// # use weft_comm::{CommError, Communicator, Payload, Program, Source, Tag};
/// # #[derive(Clone)]
/// # struct OneMessage;
/// # impl Program for OneMessage {
/// #     type Output = ();
/// #     async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
/// #         if comm.rank() == 0 {
/// #             comm.send(1, Tag::User(0), Payload::Phantom(64)).await?;
/// #         } else {
/// #             comm.recv(Source::Rank(0), Tag::User(0).into(), Payload::Phantom(64)).await?;
/// #         }
/// #         Ok(())
/// #     }
/// # }
/// use weft_sim::{Options, Placement, TraceKind, run};
///
/// let machine = weft_machine::find("ipsc860").unwrap();
/// let options = Options { trace: true, ..Options::default() };
/// let trace = run(&machine, &Placement::identity(2), &OneMessage, &options).unwrap().trace.unwrap();
/// let sent = trace.events.iter().find(|event| event.kind == TraceKind::Message { to: 1, bytes: 64 }).unwrap();
/// assert!(sent.rank == 0 && sent.start < sent.end);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Every send, receive, wait, computation and message.
    pub trace: bool,
    /// What every link carries.
    pub traffic: bool,
    /// Whether somebody wants the run to end.
    pub interrupt: Interrupt,
}
