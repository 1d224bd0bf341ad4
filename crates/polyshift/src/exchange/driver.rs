//! One rank's plan with its messages: ready to run, any number of times.

use weft_base::Operation;
use weft_comm::collective::{Choice, allgather};
use weft_comm::{CommError, Communicator, Ends, Payload, Persistent, Tag, Work};

use super::compile::RankPlan;

/// The tags of exchanges: apart from those that programs of the suite use, a few sets of them one after the other, so
/// that exchanges active at one time do not meet.
const FIRST_TAG: u32 = 0x4000;
const TAGS: u32 = 1024;

/// An exchange that is set up.
///
/// `begin` packs and sends, `end` does what stays on the rank and then takes in what has come; a program computes
/// between the two. Neither allocates. Sources may not change, and results may not be read, until `end` has returned.
pub struct Exchange<C: Communicator> {
    plan: RankPlan,
    messages: Vec<Persistent<C>>,
    /// Of the arrays, the message at hand, and the constants.
    bases: Vec<*mut u8>,
    active: bool,
    phantom: bool,
    rank: usize,
}

/// What an exchange goes by, where a program wants to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether only lengths travel: there is no data.
    pub phantom: bool,
    /// Whether each message is sent and received by itself even where the backend has a better way.
    pub plain: bool,
    /// Distinguishes exchanges that are active at one time; the same on all ranks.
    pub number: u32,
}

impl<C: Communicator> Exchange<C> {
    /// Sets up the messages of a plan. Collective.
    ///
    /// # Errors
    /// Those of the backend.
    pub fn new(comm: &C, plan: RankPlan, options: Options) -> Result<Exchange<C>, CommError> {
        let tag = Tag::User(FIRST_TAG + options.number % TAGS);
        let messages = plan.stages.iter().map(|stage| {
            if options.plain {
                Ok(Persistent::of_requests(comm, tag, &stage.ends, options.phantom))
            } else {
                Persistent::new(comm, tag, &stage.ends, options.phantom)
            }
        });
        let messages = messages.collect::<Result<_, _>>()?;
        let bases = vec![std::ptr::null_mut(); plan.arrays + 2];
        Ok(Exchange { plan, messages, bases, active: false, phantom: options.phantom, rank: comm.rank() })
    }

    /// The plan.
    pub fn plan(&self) -> &RankPlan {
        &self.plan
    }

    /// What the messages go by.
    pub fn describe(&self) -> String {
        self.messages.first().map_or_else(|| "no messages".to_owned(), Persistent::describe)
    }

    /// Takes over what the pattern's boundary arrays hold now, in their order ([`RankPlan::boundaries`]).
    ///
    /// # Safety
    /// Each begins as many elements, one after the other, as the pattern's array had.
    pub unsafe fn read_boundaries(&mut self, arrays: impl IntoIterator<Item = *const u8>) {
        for (number, whole) in arrays.into_iter().enumerate().take(self.plan.boundaries.len()) {
            // SAFETY: each array begins as many elements as the pattern's had (this function's condition), and `take`
            // leaves out numbers that the plan does not have.
            unsafe { self.plan.read_boundary(number, whole) };
        }
    }

    /// Whether it has begun and not ended.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Starts an exchange of the arrays whose memory begins at `arrays`; with phantoms they are not looked at.
    ///
    /// # Errors
    /// Those of the backend.
    ///
    /// # Panics
    /// When it is active, or is given another number of arrays than the plan has.
    ///
    /// # Safety
    /// Every array must have memory as its `Storage` in the plan says, which stays until [`end`](Exchange::end) has
    /// returned; no two may overlap.
    pub unsafe fn begin(&mut self, arrays: &[*mut u8]) -> Result<(), CommError> {
        assert!(!self.active, "the exchange is under way");
        assert!(self.phantom || arrays.len() == self.plan.arrays, "another number of arrays than the plan has");
        if !self.phantom {
            self.bases[..arrays.len()].copy_from_slice(arrays);
            self.bases[arrays.len() + 1] = self.plan.constants.as_mut_ptr();
        }
        self.active = true;
        // SAFETY: the bases of the arrays have the memory that the plan's storages say, or are not looked at (this
        // function's condition), and that of the constants is the plan's own.
        unsafe { self.send(0) }
    }

    /// Completes it.
    ///
    /// # Errors
    /// Those of the backend.
    ///
    /// # Panics
    /// When it has not begun.
    ///
    /// # Safety
    /// As for [`begin`](Exchange::begin).
    pub async unsafe fn end(&mut self) -> Result<(), CommError> {
        assert!(self.active, "the exchange has not begun");
        for stage in 0..self.plan.stages.len() {
            // SAFETY: the memory of the arrays that `begin` was given is still there (this function's condition); local
            // copies name arrays and constants, whose bases `begin` has set, and no message.
            unsafe {
                if stage > 0 {
                    self.send(stage)?;
                }
                if !self.phantom {
                    self.plan.stages[stage].local.run(&self.bases);
                }
                self.receive(stage).await?;
            }
        }
        self.active = false;
        Ok(())
    }

    /// Gives up an exchange that is active, after a failure.
    pub fn abandon(&mut self) {
        self.active = false;
    }

    /// # Safety
    /// The bases of the arrays have the memory that the plan's storages say, or there are phantoms.
    unsafe fn send(&mut self, stage: usize) -> Result<(), CommError> {
        let (Some(messages), message) = (self.messages.get_mut(stage), self.plan.message_base()) else { return Ok(()) };
        messages.start()?;
        for (end, pack) in self.plan.stages[stage].pack.iter().enumerate() {
            if let Some(buffer) = messages.send_buffer(end) {
                let Ends { peer, send_bytes, .. } = self.plan.stages[stage].ends[end];
                if buffer.len() != send_bytes {
                    return Err(unfinished(self.rank, peer));
                }
                self.bases[message] = buffer.as_mut_ptr();
                // SAFETY: the message has the bytes that `pack` writes (checked a moment ago), and the arrays have the
                // memory that their storages say (this function's condition).
                unsafe { pack.run(&self.bases) };
            }
            messages.send(end)?;
        }
        Ok(())
    }

    /// # Safety
    /// As [`send`](Exchange::send).
    async unsafe fn receive(&mut self, stage: usize) -> Result<(), CommError> {
        let message = self.plan.message_base();
        for (end, unpack) in self.plan.stages[stage].unpack.iter().enumerate() {
            self.messages[stage].wait(end).await?;
            if let Some(buffer) = self.messages[stage].receive_buffer(end) {
                let Ends { peer, receive_bytes, .. } = self.plan.stages[stage].ends[end];
                if buffer.len() != receive_bytes {
                    return Err(other_length(self.rank, peer, buffer.len(), receive_bytes));
                }
                self.bases[message] = buffer.as_ptr().cast_mut();
                // SAFETY: the message has the bytes that `unpack` reads (checked a moment ago) and is not written to;
                // the arrays have the memory that their storages say (this function's condition).
                unsafe { unpack.run(&self.bases) };
            }
        }
        self.messages[stage].finish().await
    }

    /// Charges, in virtual time, the bytes that the rank copies into messages. On real backends it copies them, and
    /// nothing is added.
    pub async fn charge_packing(&self, comm: &C) {
        let count = self.plan.copied_bytes()[0];
        comm.compute(Work::Operations { operation: Operation::CopyByte, count }).await;
    }

    /// Charges, in virtual time, the bytes that it copies out of messages and in place.
    pub async fn charge_unpacking(&self, comm: &C) {
        let count = self.plan.copied_bytes()[1];
        comm.compute(Work::Operations { operation: Operation::CopyByte, count }).await;
    }
}

/// The memory of a message went with a send that has not ended, because the round failed in which it was sent.
#[cold]
fn unfinished(rank: usize, peer: usize) -> CommError {
    let what =
        format!("the message to rank {peer} is still on its way since this exchange failed; set the exchange up again");
    CommError::program(rank, what)
}

/// A message that is not of the length that the plan says would be read beyond its end, or leave elements as they were.
#[cold]
pub(super) fn other_length(rank: usize, peer: usize, actual: usize, expected: usize) -> CommError {
    let what = format!(
        "rank {peer} sent {actual} bytes where {expected} are exchanged; all ranks must give arrays of one shape and type"
    );
    CommError::program(rank, what)
}

/// Lets all ranks know whether each of them could do its part: the first error, on every rank. Collective.
///
/// `agreement` is what must be the same on all ranks: a digest of the arguments of a call.
///
/// # Errors
/// [`CommError`] when the ranks cannot talk; the inner error is what is wrong, and on which rank.
pub async fn agree<C: Communicator>(
    comm: &C,
    part: Result<u64, String>,
    what: &str,
) -> Result<Result<(), String>, CommError> {
    /// Bytes of an error that the other ranks are told.
    const MAX_TEXT: usize = 1000;
    let mut own = vec![0u8; 16 + MAX_TEXT];
    match &part {
        Ok(digest) => own[8..16].copy_from_slice(&digest.to_le_bytes()),
        Err(text) => {
            let end = (0..=text.len().min(MAX_TEXT)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
            own[..8].copy_from_slice(&(1 + end as u64).to_le_bytes());
            own[16..16 + end].copy_from_slice(&text.as_bytes()[..end]);
        }
    }
    let all = allgather(comm, &Payload::of(&own), None, Choice::Auto).await?;
    if let Err(text) = part {
        return Ok(Err(text));
    }
    let Some(all) = all.values::<u8>() else { return Ok(Ok(())) };
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    for (rank, entry) in all.chunks_exact(16 + MAX_TEXT).enumerate() {
        let length = number(&entry[..8]) as usize;
        if length > 0 {
            let text = String::from_utf8_lossy(&entry[16..16 + length - 1]);
            return Ok(Err(format!("rank {rank}: {text}")));
        }
    }
    let digest = |rank: usize| number(&all[rank * (16 + MAX_TEXT) + 8..rank * (16 + MAX_TEXT) + 16]);
    let other = (1..comm.size()).find(|&rank| digest(rank) != digest(0));
    Ok(other.map_or(Ok(()), |rank| {
        Err(format!(
            "the ranks disagree: rank {rank} was given another {what} than rank 0; all ranks must ask for the same"
        ))
    }))
}
