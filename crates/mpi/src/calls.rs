//! The calls that the ranks of a communicator make together, and whether they are the same.
//!
//! A program over ranks makes the same calls on each of them: reductions, shifts, exchanges planned before. MPI does not
//! notice when it does not: a sum meets a maximum and both return, or a rank waits for ever. Here every rank numbers its
//! calls and keeps a digest of each; the digests so far make up its *chain*, which is equal on ranks that have made the
//! same calls. It is compared
//!
//! - where ranks meet before a call ([`Calls::meet`]): everyone hears from everyone, and a difference is one on all;
//! - in every message that is sent again and again (`persistent`), beside the number or the bytes that travel anyway;
//! - where a rank waits for longer than [`Calls::PATIENCE`], in virtual time until no rank can go on: it tells the others
//!   its call, and hears theirs.
//!
//! Who finds a difference tells everybody, hears what all have called, and gives the error that shows the calls side by
//! side; so does everybody who hears of it. A rank that is in no call (it computes, or waits in another library) cannot
//! hear, and is named so.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;
use std::time::{Duration, Instant};

use weft_comm::{CommError, Failure};

use crate::context::Context;
use crate::library::{Handle, Status as RawStatus};

mod statement;

use statement::{Statement, difference};

/// The tags of what ranks tell each other, beyond those of exchanges, on the communicator of programs.
const HEADER: c_int = 0x7ff0;
const RECORD: c_int = 0x7ff1;
const ALARM: c_int = 0x7ff2;
const DISAGREEMENT: c_int = 0x7ff3;

/// Calls that a rank can look back to.
const HISTORY: u64 = 1024;

/// The chain of a call in which ranks have found that they disagree.
const UNKNOWN: u64 = 0;

/// A rank, and the message that came from it.
type FromPeer = (usize, Box<[u8]>);

/// The calls of one rank on one communicator.
pub struct Calls {
    context: Rc<Context>,
    comm: Handle,
    rank: usize,
    size: usize,
    count: Cell<u64>,
    chain: Cell<u64>,
    /// Digest and chain of the last calls, by number.
    history: RefCell<Box<[[u64; 2]]>>,
    /// The last call of which the others were told that this rank waits in it.
    announced: Cell<u64>,
    /// Call and chain of ranks that are further on.
    ahead: RefCell<Vec<Option<[u64; 2]>>>,
    is_broken: Cell<bool>,
    mismatch: RefCell<Option<String>>,
    describe: Box<Describe>,
}

/// What calls are, in words, by their digests; the last is the one at hand.
pub type Describe = dyn Fn(&[u64]) -> Vec<String>;

/// How long a rank has waited in a call.
#[derive(Default)]
pub struct Waiting {
    since: Option<Instant>,
    looks: u32,
}

/// How long a rank that has found a difference waits for what the others say.
struct Patience<'a> {
    context: &'a Context,
    start: Instant,
    /// How often, in virtual time, nothing could happen any more and nobody had said anything.
    vain: u32,
}

impl Patience<'_> {
    fn new(context: &Context) -> Patience<'_> {
        Patience { context, start: Instant::now(), vain: 0 }
    }

    fn lasts(&self) -> bool {
        match &self.context.library.virtual_time {
            Some(_) => self.vain < Calls::QUIET_LOOKS,
            None => self.start.elapsed() < Calls::HEARING,
        }
    }

    fn renew(&mut self) {
        self.vain = 0;
    }

    /// Lets others go on: in virtual time until none of them can.
    fn pass(&mut self) {
        match &self.context.library.virtual_time {
            Some(_) => {
                self.vain += 1;
                // Where the wait itself fails there is nobody left to hear of.
                if self.context.await_request(None).is_err() {
                    self.vain = Calls::QUIET_LOOKS;
                }
            }
            None => std::thread::yield_now(),
        }
    }
}

/// A message under way and the memory it uses.
struct Under {
    request: Handle,
    words: Box<[u8]>,
}

impl Calls {
    /// How long a rank waits in a call before it tells the others where it is.
    pub const PATIENCE: Duration = Duration::from_millis(100);
    /// How long it waits, after a difference and only then, for what the others say: on a loaded machine a rank may not have
    /// the processor for seconds.
    const HEARING: Duration = Duration::from_secs(10);
    /// Looks at a request before others may have the processor.
    const SPIN: u32 = 16;
    /// Looks at a message between two looks at the clock.
    const LOOKS: u32 = 64;
    /// How often, in virtual time, a rank that waits looks for what others say once nothing can happen any more: the first
    /// time all tell their calls, the second time they hear them, the third time what came of that.
    const QUIET_LOOKS: u32 = 3;

    pub(crate) fn new(context: &Rc<Context>, comm: Handle, rank: usize, size: usize, describe: Box<Describe>) -> Calls {
        Calls {
            context: context.clone(),
            comm,
            rank,
            size,
            count: Cell::new(0),
            chain: Cell::new(0),
            history: RefCell::new(vec![[0; 2]; HISTORY as usize].into()),
            announced: Cell::new(0),
            ahead: RefCell::new(vec![None; size]),
            is_broken: Cell::new(false),
            mismatch: RefCell::default(),
            describe,
        }
    }

    /// Begins a call of this digest.
    ///
    /// # Errors
    /// After ranks were found in different calls that cannot be brought together again.
    #[inline]
    pub fn enter(&self, digest: u64) -> Result<(), CommError> {
        if self.is_broken.get() {
            return Err(self.failure());
        }
        let count = self.count.get() + 1;
        let chain = mixed(self.chain.get() ^ digest);
        self.count.set(count);
        self.chain.set(chain);
        self.history.borrow_mut()[(count % HISTORY) as usize] = [digest, chain];
        Ok(())
    }

    /// The digest of all calls so far.
    #[inline]
    pub fn chain(&self) -> u64 {
        self.chain.get()
    }

    /// What is wrong, since ranks were found in different calls; the text that every rank gives.
    pub fn mismatch(&self) -> Option<String> {
        self.mismatch.borrow().clone()
    }

    /// Whether a simulator stands in for the network.
    pub fn is_in_virtual_time(&self) -> bool {
        self.context.library.virtual_time.is_some()
    }

    /// Whether ranks are in different calls for good.
    pub fn is_broken(&self) -> bool {
        self.is_broken.get()
    }

    /// Begins a call in which every rank hears from every other: gives each its word, and returns theirs.
    ///
    /// # Errors
    /// On every rank when they are in different calls. Where all of them have met so, they can go on afterwards.
    pub fn meet(&self, digest: u64, words: &[u64]) -> Result<Vec<u64>, CommError> {
        self.enter(digest)?;
        let mut theirs = words.to_vec();
        let (count, chain) = (self.count.get(), self.chain.get());
        let headers = self.exchanged(HEADER, |peer| bytes_of(&[count, chain, words[peer]]), |_| 24)?;
        let (mut agree, mut meet) = (true, true);
        for (peer, header) in headers {
            let header = words_of(&header);
            meet &= header[0] == count;
            agree &= header[1] == chain;
            theirs[peer] = header[2];
        }
        if !meet {
            return Err(self.alarm());
        }
        if !agree {
            return Err(self.disagree(0));
        }
        Ok(theirs)
    }

    /// The error of ranks that have met, on all of them, in calls that are not the same; `asked` is the digest of what
    /// this rank asks for beyond its call.
    pub fn disagree(&self, asked: u64) -> CommError {
        let mut own = self.statement();
        if let Some(digest) = own.digests.last_mut() {
            *digest ^= asked;
        }
        let own = own.written();
        let length = own.len() as u64;
        let lengths = self.exchanged(DISAGREEMENT, |_| bytes_of(&[length]), |_| 8);
        let all = lengths.and_then(|lengths| {
            let length = |peer| lengths.iter().find(|(from, _)| *from == peer).map_or(0, |(_, word)| words_of(word)[0]);
            self.exchanged(DISAGREEMENT, |_| own.clone(), |peer| length(peer) as usize)
        });
        let Ok(all) = all else { return self.failure() };
        let mut statements: Vec<Option<Statement>> = vec![None; self.size];
        statements[self.rank] = Statement::read(&own);
        for (peer, text) in all {
            statements[peer] = Statement::read(&text);
        }
        *self.mismatch.borrow_mut() = Some(difference(&statements));
        // All have heard the same: from here on their calls are the same again.
        let count = self.count.get();
        self.chain.set(mixed(count));
        // What somebody has told of this call before is of no use any more.
        self.history.borrow_mut()[(count % HISTORY) as usize] = [0, UNKNOWN];
        self.failure()
    }

    /// Looks, now and then, for what the others say while this rank waits; to be called at each look at a message.
    ///
    /// # Errors
    /// When ranks are in different calls.
    #[inline]
    pub fn look(&self, waiting: &mut Waiting) -> Result<(), CommError> {
        waiting.looks = waiting.looks.wrapping_add(1);
        if waiting.looks.is_multiple_of(Calls::LOOKS) { self.look_now(waiting) } else { Ok(()) }
    }

    #[cold]
    fn look_now(&self, waiting: &mut Waiting) -> Result<(), CommError> {
        let now = Instant::now();
        let waited = now - *waiting.since.get_or_insert(now);
        self.look_after(waited)?;
        if waited > 10 * Calls::PATIENCE {
            // Whoever is awaited is long about it, and may want this processor.
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// Looks for what the others say, where this rank has waited so long in its call.
    ///
    /// # Errors
    /// When ranks are in different calls.
    pub fn look_after(&self, waited: Duration) -> Result<(), CommError> {
        if waited < Calls::PATIENCE {
            return Ok(());
        }
        if self.announced.get() != self.count.get() {
            self.announced.set(self.count.get());
            self.tell()?;
        }
        self.hear()
    }

    /// The error of a rank that has found its call unlike that of another by what came in it.
    pub fn refuse(&self) -> CommError {
        let count = self.count.get();
        // Another digest on every rank, whatever the calls have in common.
        self.history.borrow_mut()[(count % HISTORY) as usize][1] = UNKNOWN;
        self.alarm_in(self.rank as u64 + 1)
    }

    /// What a wait for something else gives when ranks are found in different calls: by a message of another chain.
    #[cold]
    pub fn alarm(&self) -> CommError {
        self.alarm_in(0)
    }

    /// As [`Calls::alarm`]; `own` tells this rank's call from those of others with the same digest.
    fn alarm_in(&self, own: u64) -> CommError {
        if self.is_broken.get() {
            return self.failure();
        }
        self.is_broken.set(true);
        let mut statement = self.statement();
        if let Some(digest) = statement.digests.last_mut() {
            *digest ^= own;
        }
        let own = statement.written();
        let mut statements: Vec<Option<Statement>> = vec![None; self.size];
        statements[self.rank] = Statement::read(&own);
        let mut sent: Vec<Under> =
            self.others().filter_map(|peer| self.begin_send(peer, ALARM, own.clone()).ok()).collect();
        let mut patience = Patience::new(&self.context);
        while patience.lasts() && (statements.iter().any(Option::is_none) || !sent.is_empty()) {
            sent.retain_mut(|under| !self.is_complete(&mut under.request).unwrap_or(true));
            match self.probed(ALARM) {
                Some((peer, length)) => {
                    if let Ok(text) = self.received(peer, ALARM, length) {
                        statements[peer] = Statement::read(&text);
                    }
                    patience.renew();
                }
                None => patience.pass(),
            }
        }
        // What nobody has taken is read by the library until the end.
        std::mem::forget(sent);
        *self.mismatch.borrow_mut() = Some(difference(&statements));
        self.failure()
    }

    fn failure(&self) -> CommError {
        let message = self.mismatch().unwrap_or_else(|| "the ranks make different calls".to_owned());
        Failure::Program { rank: self.rank, message }.into()
    }

    fn statement(&self) -> Statement {
        let count = self.count.get();
        let first = (count + 1).saturating_sub(Statement::CALLS).max(1);
        let history = self.history.borrow();
        let digests: Vec<u64> = (first..=count).map(|call| history[(call % HISTORY) as usize][0]).collect();
        drop(history);
        let texts = (self.describe)(&digests);
        Statement { count, first, digests, texts }
    }

    fn tell(&self) -> Result<(), CommError> {
        let record = bytes_of(&[self.count.get(), self.chain.get()]);
        for peer in self.others() {
            // So short a message leaves its memory at once, or soon.
            let mut under = self.begin_send(peer, RECORD, record.clone())?;
            if !self.is_complete(&mut under.request)? {
                std::mem::forget(under);
            }
        }
        Ok(())
    }

    fn hear(&self) -> Result<(), CommError> {
        if self.probed(ALARM).is_some() {
            return Err(self.alarm());
        }
        while let Some((peer, length)) = self.probed(RECORD) {
            let words = words_of(&self.received(peer, RECORD, length)?);
            self.ahead.borrow_mut()[peer] = Some([words[0], words[1]]);
            self.compare(peer)?;
        }
        (0..self.size).try_for_each(|peer| self.compare(peer))
    }

    /// Compares what a rank has told with this rank's own call of that number, once it has come to it.
    fn compare(&self, peer: usize) -> Result<(), CommError> {
        let own = self.count.get();
        let Some([count, chain]) = self.ahead.borrow()[peer].filter(|[count, _]| *count <= own) else { return Ok(()) };
        self.ahead.borrow_mut()[peer] = None;
        let is_known = own - count < HISTORY && count > 0;
        let known = self.history.borrow()[(count % HISTORY) as usize][1];
        if is_known && known != UNKNOWN && known != chain { Err(self.alarm()) } else { Ok(()) }
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let rank = self.rank;
        (0..self.size).filter(move |peer| *peer != rank)
    }

    /// Messages to all others, and theirs, of lengths that are known.
    fn exchanged(
        &self,
        tag: c_int,
        message: impl Fn(usize) -> Box<[u8]>,
        length: impl Fn(usize) -> usize,
    ) -> Result<Vec<FromPeer>, CommError> {
        let mut receives = Vec::with_capacity(self.size);
        let mut sends = Vec::with_capacity(self.size);
        for peer in self.others() {
            receives.push((peer, self.begin_receive(peer, tag, length(peer))?));
        }
        for peer in self.others() {
            sends.push(self.begin_send(peer, tag, message(peer))?);
        }
        let mut waiting = Waiting::default();
        let mut all = receives.iter_mut().map(|(_, under)| under).chain(&mut sends);
        let outcome = all.try_for_each(|under| self.completed(&mut under.request, &mut waiting));
        if let Err(error) = outcome {
            // They may be written to for as long as the library lives.
            std::mem::forget((receives, sends));
            return Err(error);
        }
        Ok(receives.into_iter().map(|(peer, under)| (peer, under.words)).collect())
    }

    /// Waits for a request, and for what others say meanwhile.
    ///
    /// # Errors
    /// When ranks are in different calls, and those of the library.
    pub(crate) fn completed(&self, request: &mut Handle, waiting: &mut Waiting) -> Result<(), CommError> {
        if self.context.library.virtual_time.is_some() {
            self.completed_until_quiet(request)?;
            return self.wait(request);
        }
        while !self.is_complete(request)? {
            self.look(waiting)?;
            if waiting.looks.is_multiple_of(Calls::SPIN) {
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// Waits for a request in virtual time, which knows when no rank can go on: only then is there anything to compare. What
    /// is not complete after all has been heard never will be, as far as weft knows.
    ///
    /// # Errors
    /// When ranks are in different calls, and those of the library.
    pub fn completed_until_quiet(&self, request: &Handle) -> Result<(), CommError> {
        for _ in 0..Calls::QUIET_LOOKS {
            if self.context.await_request(Some(request))? {
                break;
            }
            self.look_after(Calls::PATIENCE)?;
        }
        Ok(())
    }

    fn wait(&self, request: &mut Handle) -> Result<(), CommError> {
        let mut status = RawStatus::default();
        // SAFETY: the request is live, or the library's null request, which is complete.
        let code = unsafe { (self.context.functions().wait)(request, &mut status) };
        self.context.check("MPI_Wait", code)
    }

    fn begin_send(&self, peer: usize, tag: c_int, words: Box<[u8]>) -> Result<Under, CommError> {
        let context = &self.context;
        let count = context.count("MPI_Isend", words.len())?;
        let mut request: Handle = 0;
        // SAFETY: the memory is kept with the request.
        let code = unsafe {
            let byte = context.abi().datatypes.byte;
            (context.functions().isend)(words.as_ptr(), count, byte, peer as c_int, tag, self.comm, &mut request)
        };
        context.check("MPI_Isend", code)?;
        Ok(Under { request, words })
    }

    fn begin_receive(&self, peer: usize, tag: c_int, length: usize) -> Result<Under, CommError> {
        let context = &self.context;
        let mut words = vec![0u8; length].into_boxed_slice();
        let count = context.count("MPI_Irecv", length)?;
        let mut request: Handle = 0;
        // SAFETY: the memory is kept with the request.
        let code = unsafe {
            let byte = context.abi().datatypes.byte;
            (context.functions().irecv)(words.as_mut_ptr(), count, byte, peer as c_int, tag, self.comm, &mut request)
        };
        context.check("MPI_Irecv", code)?;
        Ok(Under { request, words })
    }

    fn is_complete(&self, request: &mut Handle) -> Result<bool, CommError> {
        let (mut flag, mut status) = (0, RawStatus::default());
        // SAFETY: the request is live, or the library's null request, which is complete.
        let code = unsafe { (self.context.functions().test)(request, &mut flag, &mut status) };
        self.context.check("MPI_Test", code)?;
        Ok(flag != 0)
    }

    /// Who has sent a message of this tag that nobody has taken, and its length.
    fn probed(&self, tag: c_int) -> Option<(usize, usize)> {
        let context = &self.context;
        let (mut flag, mut status, mut count): (c_int, RawStatus, c_int) = (0, RawStatus::default(), 0);
        // SAFETY: the communicator is live; the pointers are to live values.
        let code =
            unsafe { (context.functions().iprobe)(context.abi().any_source, tag, self.comm, &mut flag, &mut status) };
        if code != 0 || flag == 0 {
            return None;
        }
        // SAFETY: the status was filled by the library.
        unsafe { (context.functions().get_count)(&status, context.abi().datatypes.byte, &mut count) };
        Some((status.source(&context.abi().status) as usize, usize::try_from(count).unwrap_or(0)))
    }

    /// A message that has been seen.
    fn received(&self, peer: usize, tag: c_int, length: usize) -> Result<Box<[u8]>, CommError> {
        let mut under = self.begin_receive(peer, tag, length)?;
        self.wait(&mut under.request)?;
        Ok(under.words)
    }
}

/// A number of which every bit depends on every bit of the one given (the finaliser of splitmix64: Steele, Lea and Flood
/// 2014, OOPSLA, figure 14).
#[inline]
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn bytes_of(words: &[u64]) -> Box<[u8]> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}
