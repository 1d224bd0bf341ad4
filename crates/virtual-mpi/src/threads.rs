//! Several threads of a rank's process that call MPI: one of them is within MPI at a time, and one that has to wait
//! there lets the others in.
//!
//! To the simulator they are one rank with one clock. It cannot tell that a thread will call again which does something
//! else now, so a rank that waits beside other threads wants to be woken where nothing can happen any more in the run,
//! and then gives the others real time.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a call waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    /// Numbers of requests at the hub, of which one has to be complete.
    pub requests: Vec<u32>,
    /// It may also go on whatever happens in the run, or when another thread has called.
    pub anything: bool,
}

impl Awaited {
    fn is_any_of(&self, complete: &[u32]) -> bool {
        self.requests.iter().any(|id| complete.contains(id))
    }
}

/// What has ended a wait of the process for the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Woken {
    /// These requests are complete.
    Complete(Vec<u32>),
    /// Something has happened by which any call may go on.
    Changed,
    /// Another thread wants to call.
    Disturbed,
    /// Nothing can happen any more in the run, as far as the simulator knows.
    Quiet,
}

thread_local! {
    static WAITS_FOR_OTHERS: Cell<bool> = const { Cell::new(false) };
}

/// The call that this thread is in waits for what another thread of the rank does, of which the hub knows nothing.
pub fn wait_for_others() {
    WAITS_FOR_OTHERS.set(true);
}

/// Whether [`wait_for_others`] was called since this was asked last.
pub fn waits_for_others() -> bool {
    WAITS_FOR_OTHERS.take()
}

/// How long other threads are given at first, and at most, before the run is asked again whether it is still quiet.
const FIRST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// Threads that have done nothing for so long while the run was quiet are not waited for any more: ranks that wait for
/// each other are then a deadlock.
const PATIENCE: Duration = Duration::from_secs(10);

/// Threads that have used such a part of the time have done something.
const BUSY_PART: u32 = 4;

/// Who is in MPI, and who wants to be.
#[derive(Debug, Default)]
struct State {
    /// The thread that is within MPI, and how many calls within each other it is in.
    owner: Option<usize>,
    depth: u32,
    /// Threads that want to be next, in the order in which they came. There are some only while one is within.
    queue: VecDeque<Waiting>,
    /// Threads that wait in a call for what others do.
    parked: Vec<(Waiting, Awaited)>,
    /// The owner waits for the run, and is to be disturbed by others.
    waits_for_run: bool,
    /// Nothing could happen in the run when it was asked last, and nothing has changed since.
    quiet: Option<Quiet>,
}

/// A thread that waits, and what wakes it.
#[derive(Debug)]
struct Waiting {
    thread: usize,
    woken: Arc<Condvar>,
}

impl State {
    /// Calls that wait for such have come to the end of it: each looks again once it is within.
    fn end_waits(&mut self, is_over: impl Fn(&Awaited) -> bool) {
        self.quiet = None;
        let over = self.parked.extract_if(.., |(_, awaited)| is_over(awaited));
        self.queue.extend(over.map(|(waiting, _)| waiting));
    }

    /// Nobody is within: the next that wants to be is, or else a thread that waits in a call goes on to wait for the run.
    /// Thread `own` calls this, and need not be woken.
    fn pass_on(&mut self, own: usize) {
        self.owner = None;
        if let Some(next) = self.queue.pop_front() {
            self.owner = Some(next.thread);
            if next.thread != own {
                next.woken.notify_one();
            }
        } else if !self.is_parked(own)
            && let Some((first, _)) = self.parked.first()
        {
            first.woken.notify_one();
        }
    }

    fn is_parked(&self, thread: usize) -> bool {
        self.parked.iter().any(|(waiting, _)| waiting.thread == thread)
    }

    /// What all calls wait for that wait.
    fn awaited(&self) -> Awaited {
        let requests = self.parked.iter().flat_map(|(_, awaited)| awaited.requests.iter().copied()).collect();
        Awaited { requests, anything: self.parked.iter().any(|(_, awaited)| awaited.anything) }
    }
}

/// The threads of a rank.
#[derive(Debug)]
pub struct Threads {
    /// The thread that has initialized MPI.
    main: AtomicUsize,
    /// Calls may come from all threads: the rank has a process for itself.
    all: bool,
    /// Calls of several threads may come at the same time.
    beside: AtomicBool,
    state: Mutex<State>,
}

/// A thread is within MPI as long as it has this.
#[derive(Debug)]
pub struct Within<'a>(Option<&'a Threads>);

impl Drop for Within<'_> {
    #[unsafe(link_section = "weft_message")]
    fn drop(&mut self) {
        if let Some(threads) = self.0 {
            threads.leave();
        }
    }
}

impl Threads {
    pub fn new(all: bool) -> Threads {
        let main = AtomicUsize::new(thread_address());
        Threads { main, all, beside: AtomicBool::new(false), state: Mutex::default() }
    }

    /// This thread has initialized MPI.
    pub fn set_main(&self) {
        self.main.store(thread_address(), Ordering::Relaxed);
    }

    /// Whether the call comes from the thread that has initialized MPI.
    #[inline]
    pub fn is_main(&self) -> bool {
        self.main.load(Ordering::Relaxed) == thread_address()
    }

    /// Whether this thread may call.
    #[inline]
    pub fn may_call(&self) -> bool {
        self.all || self.is_main()
    }

    /// Whether calls of several threads at the same time can be served.
    pub fn can_be_beside(&self) -> bool {
        self.all
    }

    /// From now on calls of several threads may come at the same time.
    pub fn allow_beside(&self) {
        self.beside.store(self.all, Ordering::Relaxed);
    }

    /// Whether another thread may call while this one waits in a call.
    pub fn are_several(&self) -> bool {
        self.beside.load(Ordering::Relaxed) && threads_of_process() > 1
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins, once no other thread is in one. `disturb` ends the wait of one that waits for the run.
    #[inline]
    #[unsafe(link_section = "weft_message")]
    pub fn enter(&self, disturb: impl FnOnce()) -> Within<'_> {
        if !self.all {
            return Within(None);
        }
        let (me, mut state) = (thread_address(), self.lock());
        if state.owner == Some(me) {
            state.depth += 1;
            return Within(Some(self));
        }
        if state.waits_for_run {
            disturb();
        }
        self.take(state, me, 1);
        Within(Some(self))
    }

    /// This thread becomes the one within MPI when those before it have been.
    #[unsafe(link_section = "weft_message")]
    fn take(&self, mut state: MutexGuard<'_, State>, me: usize, depth: u32) {
        if state.owner.is_none() {
            state.owner = Some(me);
        } else {
            let woken = Arc::new(Condvar::new());
            state.queue.push_back(Waiting { thread: me, woken: woken.clone() });
            state = wait_to_own(state, me, &woken);
        }
        state.depth = depth;
    }

    #[unsafe(link_section = "weft_message")]
    fn leave(&self) {
        let mut state = self.lock();
        state.depth -= 1;
        if state.depth == 0 {
            state.end_waits(|awaited| awaited.anything);
            state.pass_on(thread_address());
        }
    }

    /// Runs a function of the program: it may wait for another thread, and that to be within MPI.
    pub fn let_others<T>(&self, function: impl FnOnce() -> T) -> T {
        if !self.beside.load(Ordering::Relaxed) {
            return function();
        }
        let (me, mut state) = (thread_address(), self.lock());
        if state.owner != Some(me) {
            drop(state);
            return function();
        }
        let depth = std::mem::take(&mut state.depth);
        state.pass_on(me);
        drop(state);
        let result = function();
        self.take(self.lock(), me, depth);
        result
    }

    /// A call waits until something has happened that may let it go on. `wait` waits for the run, for what all calls
    /// wait for that do so, and if it is told so until nothing can happen there any more.
    pub fn park(&self, awaited: Awaited, wait: impl Fn(Awaited, bool) -> Woken) {
        let (me, mut state, woken) = (thread_address(), self.lock(), Arc::new(Condvar::new()));
        let depth = std::mem::take(&mut state.depth);
        state.parked.push((Waiting { thread: me, woken: woken.clone() }, awaited));
        state.pass_on(me);
        while state.is_parked(me) {
            if state.owner.is_some() {
                state = woken.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if let Some(rest) = state.quiet.as_ref().map(Quiet::rest).filter(|rest| !rest.is_zero()) {
                state = woken.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            (state.owner, state.waits_for_run) = (Some(me), true);
            let (all, is_long) = (state.awaited(), state.quiet.as_ref().is_some_and(Quiet::is_long));
            drop(state);
            let end = wait(all, !is_long);
            state = self.lock();
            state.waits_for_run = false;
            match end {
                Woken::Complete(requests) => state.end_waits(|awaited| awaited.is_any_of(&requests)),
                Woken::Changed => state.end_waits(|_| true),
                Woken::Disturbed => state.quiet = None,
                Woken::Quiet => state.quiet = Some(Quiet::after(state.quiet.take())),
            }
            state.pass_on(me);
        }
        wait_to_own(state, me, &woken).depth = depth;
    }
}

/// Waits until thread `me`, which is in the queue or was the first there, is within MPI.
fn wait_to_own<'a>(mut state: MutexGuard<'a, State>, me: usize, woken: &Condvar) -> MutexGuard<'a, State> {
    while state.owner != Some(me) {
        state = woken.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state
}

static CURRENT: AtomicPtr<Threads> = AtomicPtr::new(std::ptr::null_mut());

/// From now on functions of the program are called for the rank with these threads.
pub fn set_current(threads: Option<&'static Threads>) {
    CURRENT.store(threads.map_or(std::ptr::null_mut(), |own| std::ptr::from_ref(own).cast_mut()), Ordering::Relaxed);
}

/// Runs a function that the program has handed in: it may wait for what another thread of the program does in MPI.
pub fn outside<T>(function: impl FnOnce() -> T) -> T {
    // SAFETY: what is set belongs to a rank, which lives until the process that hosts it ends, and all of it is shared.
    match unsafe { CURRENT.load(Ordering::Relaxed).as_ref() } {
        Some(threads) => threads.let_others(function),
        None => function(),
    }
}

/// A time in which nothing can happen in the run, and the threads of this process have real time to do something.
#[derive(Debug)]
struct Quiet {
    /// Since when, and the processor time that all threads had used by then.
    since: Instant,
    used: Duration,
    /// The run is not asked again before.
    until: Instant,
    pause: Duration,
}

impl Quiet {
    /// The run was asked again.
    fn after(before: Option<Quiet>) -> Quiet {
        let now = Instant::now();
        match before.filter(|quiet| !quiet.is_over(now)) {
            Some(quiet) => {
                let pause = (2 * quiet.pause).min(LONGEST_PAUSE);
                Quiet { until: now + pause, pause, ..quiet }
            }
            None => Quiet { since: now, used: processor_time(), until: now + FIRST_PAUSE, pause: FIRST_PAUSE },
        }
    }

    /// The real time until the run is asked again.
    fn rest(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Whether the time begins anew: the threads have done something.
    fn is_over(&self, now: Instant) -> bool {
        now - self.since >= PATIENCE && self.is_busy()
    }

    fn is_busy(&self) -> bool {
        processor_time().saturating_sub(self.used) * BUSY_PART > self.since.elapsed()
    }

    /// Whether the threads have done nothing for so long that they are not waited for any more.
    fn is_long(&self) -> bool {
        self.since.elapsed() >= PATIENCE && !self.is_busy()
    }
}

/// Processor time of all threads of this process.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time where it is told.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// How many threads this process has: each is a folder (proc(5)), which the number of links of the folder around them
/// tells at once where the system counts them so.
pub fn threads_of_process() -> usize {
    let folder = "/proc/self/task";
    match fs::metadata(folder).map_or(0, |folder| folder.nlink()) {
        0..=2 => fs::read_dir(folder).map_or(usize::MAX, Iterator::count),
        links => links as usize - 2,
    }
}

/// An address that each thread has for itself.
#[inline]
fn thread_address() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| (&raw const *here).addr())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    fn several() -> Threads {
        let threads = Threads::new(true);
        threads.allow_beside();
        threads
    }

    #[test]
    fn one_thread_at_a_time_is_within_also_where_calls_lie_within_each_other() {
        let (threads, inside, calls) = (several(), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _call = threads.enter(|| ());
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        drop(threads.enter(|| ()));
                        assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                        calls.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(calls.into_inner(), 2000);
    }

    #[test]
    fn who_waits_for_the_run_is_disturbed_by_a_call_and_looks_again_after_it() {
        let (threads, disturbed, done) = (several(), AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _call = threads.enter(|| ());
                while !done.load(Ordering::SeqCst) {
                    threads.park(Awaited { anything: true, ..Awaited::default() }, |_, _| {
                        while !disturbed.load(Ordering::SeqCst) {
                            std::thread::yield_now();
                        }
                        Woken::Disturbed
                    });
                }
            });
            scope.spawn(|| {
                let _call = threads.enter(|| disturbed.store(true, Ordering::SeqCst));
                disturbed.store(true, Ordering::SeqCst);
                done.store(true, Ordering::SeqCst);
            });
        });
    }

    #[test]
    fn however_many_wait_the_run_is_asked_again_only_after_a_pause() {
        let (threads, asked, done) = (several(), AtomicU32::new(0), AtomicBool::new(false));
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let _call = threads.enter(|| ());
                    while !done.load(Ordering::SeqCst) {
                        threads.park(Awaited { anything: true, ..Awaited::default() }, |_, _| {
                            asked.fetch_add(1, Ordering::SeqCst);
                            Woken::Quiet
                        });
                    }
                });
            }
            scope.spawn(|| {
                while asked.load(Ordering::SeqCst) < 20 {
                    std::thread::yield_now();
                }
                let _call = threads.enter(|| ());
                done.store(true, Ordering::SeqCst);
            });
        });
        // Calls that begin or end meanwhile are changes, after which the run may be asked at once.
        let pauses = asked.into_inner() - 4;
        assert!(start.elapsed() >= pauses * FIRST_PAUSE);
    }

    #[test]
    fn a_function_of_the_program_may_wait_for_another_thread_that_calls() {
        let (threads, called) = (several(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let _call = threads.enter(|| ());
            threads.let_others(|| {
                scope.spawn(|| {
                    let _call = threads.enter(|| ());
                    called.store(true, Ordering::SeqCst);
                });
                while !called.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
            });
        });
        assert!(called.into_inner());
    }

    #[test]
    fn only_ranks_with_a_process_each_may_call_from_any_thread() {
        let shared = Threads::new(false);
        shared.allow_beside();
        assert!(shared.may_call() && !shared.are_several() && !shared.can_be_beside());
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(!shared.may_call() && several().may_call()));
        });
    }
}
