//! What the ranks of a run share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use weft_comm::{Blocked, CollectiveKind, CommError, Failure, RunError, Tag};

use crate::fence::Fences;
use crate::fill::Own;
use crate::mailbox::{Contents, Mailbox, Message};
use crate::watch::Watch;

/// One run.
pub struct Backend {
    pub mailboxes: Vec<Mailbox>,
    /// Messages up to this many bytes are kept where no receive is posted; longer ones wait.
    pub eager_bytes: usize,
    start: Instant,
    patience: Duration,
    watch: Watch,
    ended: AtomicBool,
    end: Mutex<Option<RunError>>,
    /// The numbers of the communicators made by `split`: by parent, the parent's collective, and group.
    contexts: Mutex<FxHashMap<(u32, u32, usize), u32>>,
}

impl Backend {
    pub fn new(ranks: usize, eager_bytes: usize, patience: Duration) -> Backend {
        let fences = Fences::new();
        Backend {
            mailboxes: (0..ranks).map(|_| Mailbox::new(ranks, fences)).collect(),
            eager_bytes,
            start: Instant::now(),
            patience,
            watch: Watch::of(ranks),
            ended: AtomicBool::new(false),
            end: Mutex::new(None),
            contexts: Mutex::new(FxHashMap::default()),
        }
    }

    /// Seconds since the start of the run.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// The number of the communicator of `group` made by collective `sequence` of communicator `parent`.
    pub fn context(&self, parent: u32, sequence: u32, group: usize) -> u32 {
        let mut contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        let next = contexts.len() as u32 + 1;
        *contexts.entry((parent, sequence, group)).or_insert(next)
    }

    /// Ends the run; the first reason given is the one that counts.
    pub fn end(&self, reason: RunError) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if end.is_none() {
            *end = Some(reason);
        }
        drop(end);
        self.ended.store(true, Ordering::SeqCst);
        for mailbox in &self.mailboxes {
            mailbox.ring();
        }
    }

    /// Why the run ended before its ranks did, if so.
    pub fn reason(&self) -> Option<RunError> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The rank's program has returned.
    pub fn finished(&self, rank: usize) {
        if let Some(reason) = self.watch.finished(rank, |rank, seen| self.mailboxes[rank].has_changed(seen)) {
            self.end(reason);
        }
    }

    /// The rank waits for something that nothing can wake.
    pub fn stuck(&self, blocked: Blocked) {
        if let Some(reason) = self.watch.asleep(blocked, None, |rank, seen| self.mailboxes[rank].has_changed(seen)) {
            self.end(reason);
        }
    }

    /// Waits until `look` finds what the rank waits for in its mailbox.
    pub fn wait<T>(
        &self,
        blocked: Blocked,
        own: &Own,
        mut look: impl FnMut(&mut Contents) -> Option<T>,
    ) -> Result<T, CommError> {
        let rank = blocked.rank;
        let mailbox = &self.mailboxes[rank];
        loop {
            let seen = mailbox.rings();
            if let Some(value) = look(&mut mailbox.open(rank, own)) {
                return Ok(value);
            }
            self.check_going_on(rank)?;
            if !mailbox.spin(seen, self.patience) {
                self.sleep(blocked, seen);
            }
        }
    }

    fn sleep(&self, blocked: Blocked, seen: u64) {
        if let Some(reason) =
            self.watch.asleep(blocked, Some(seen), |rank, seen| self.mailboxes[rank].has_changed(seen))
        {
            self.end(reason);
        }
        self.mailboxes[blocked.rank].sleep(seen);
        self.watch.awake(blocked.rank);
    }

    /// An error once the run has ended for another rank's sake.
    pub fn check_going_on(&self, rank: usize) -> Result<(), CommError> {
        if !self.ended.load(Ordering::SeqCst) {
            return Ok(());
        }
        let why = self.reason().map_or_else(|| "the backend ended".to_owned(), |reason| reason.to_string());
        Err(Failure::Aborted { rank, why }.into())
    }

    /// A message of a collective that no rank has received, once all have finished: the ranks disagreed about it.
    pub fn leftover(&self) -> Option<CommError> {
        let own = Own::default();
        self.mailboxes.iter().enumerate().find_map(|(rank, mailbox)| {
            let contents = mailbox.open(rank, &own);
            let mut messages = contents.queues.unexpected();
            messages.find_map(|(envelope, message)| match envelope.tag() {
                Tag::Collective { kind, sequence } => Some(never_received(rank, kind, sequence, message)),
                Tag::User(_) => None,
            })
        })
    }
}

fn never_received(rank: usize, kind: CollectiveKind, sequence: u32, message: &Message) -> CommError {
    let sender = match message {
        Message::Kept { world_rank, .. } | Message::Waiting { world_rank, .. } => world_rank,
    };
    let bytes = message.bytes();
    Failure::MismatchedArguments {
        rank,
        kind,
        what: format!(
            "the {bytes} bytes that rank {sender} sent in its collective #{sequence} were never received: \
             the ranks disagree about an argument (the root, say) or this rank did not call it"
        ),
    }
    .into()
}
