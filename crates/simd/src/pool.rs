//! Threads that stay: started at the first call that has work for them, asleep between calls.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Thread};
use std::time::{Duration, Instant};

use super::affinity::{Handle, Processors, processor};
use super::cache::processors;

/// How long a thread looks for what it waits for before it sleeps: a caller for the parts of others, which end at about the
/// same time as its own, and the others for the next call. A processor that sleeps takes 20 microseconds and more to wake,
/// which is longer than half of a call over an array in the caches (decision threads-that-stay).
const LINGERING: Duration = Duration::from_micros(100);

/// Looks between two of the clock, and at whether another thread wants the processor.
const LOOKS: usize = 32;

/// Waits for so long until something is there; whether it is. Now and then `meanwhile` is called.
fn lingered(is_there: impl Fn() -> bool, meanwhile: impl Fn()) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..LOOKS {
            if is_there() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() >= LINGERING {
            return false;
        }
        std::thread::yield_now();
        meanwhile();
    }
}

/// The shares of one call.
struct Job {
    /// What does a share. Valid as long as one is unfinished.
    work: *const (dyn Fn(usize) + Sync),
    shares: usize,
    /// The next share that nobody has begun.
    next: AtomicUsize,
    unfinished: AtomicUsize,
    done: Mutex<bool>,
    all_done: Condvar,
}

// SAFETY: `work` may be called from any thread, and is only while it is valid (see `Job::share`).
unsafe impl Send for Job {}
// SAFETY: what `work` points to is Sync, and everything else is atomic or behind a lock.
unsafe impl Sync for Job {}

impl Job {
    /// Does the next share, if there is one.
    fn share(&self) -> bool {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number >= self.shares {
            return false;
        }
        self.one(number);
        true
    }

    fn one(&self, number: usize) {
        // SAFETY: a share that was begun by nobody else is unfinished, so that `work` is valid (the condition of `work`).
        unsafe { (*self.work)(number) };
        if self.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
            *locked(&self.done) = true;
            self.all_done.notify_one();
        }
    }

    /// Waits until the last share is finished.
    fn wait(&self) {
        if lingered(|| self.unfinished.load(Ordering::Acquire) == 0, || ()) {
            return;
        }
        let mut done = locked(&self.done);
        while !*done {
            done = self.all_done.wait(done).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A thread of the pool, which ends with the process.
struct Worker {
    thread: Thread,
    handle: Handle,
    is_asleep: AtomicBool,
    /// The processor that it ran on when it last looked for a job.
    runs_on: AtomicUsize,
    /// Where it could run before it was kept off a caller's processor.
    processors: Mutex<Option<Processors>>,
}

impl Worker {
    /// Has it run on another processor than this one, until it runs.
    fn keep_off(&self, processor: Option<usize>) {
        let mut before = locked(&self.processors);
        if before.is_none() {
            *before = processor.and_then(|processor| self.handle.keep_off(processor));
        }
    }

    /// It looks for a job: where it runs is noted, and may be anywhere again.
    fn look(&self) {
        self.run_anywhere();
        let processor = processor().unwrap_or(usize::MAX);
        // Others read it: it is not written for nothing.
        if self.runs_on.load(Ordering::Relaxed) != processor {
            self.runs_on.store(processor, Ordering::Relaxed);
        }
    }

    /// Has it run on another processor than this one, where it looks for a job there. A caller that slept until the last part
    /// of its job was done is woken by whoever did it, and often on the same processor: both would take turns there for as
    /// long as calls follow one another.
    fn leave(&self, processor: Option<usize>) {
        let is_there = processor == Some(self.runs_on.load(Ordering::Relaxed));
        if is_there && !self.is_asleep.load(Ordering::Relaxed) {
            self.keep_off(processor);
        }
    }

    /// Wakes it.
    fn wake(&self) {
        self.is_asleep.store(false, Ordering::Release);
        self.thread.unpark();
    }

    /// Waits until it is woken. It runs somewhere else than the caller then, and may go where the system wants it.
    fn sleep(&self) {
        while self.is_asleep.load(Ordering::Acquire) {
            std::thread::park();
        }
        self.run_anywhere();
    }

    fn run_anywhere(&self) {
        if let Some(processors) = locked(&self.processors).take() {
            self.handle.set_processors(&processors);
        }
    }
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<Job>>,
    workers: Vec<Arc<Worker>>,
    /// Those of them that sleep.
    sleeping: Vec<Arc<Worker>>,
}

/// The threads of a process.
struct Pool {
    process: u32,
    state: Mutex<State>,
    /// Jobs so far: who looks for the next one need not take the lock.
    submitted: AtomicUsize,
}

static POOL: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());

/// Nothing that panics runs under these locks.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// That of this process. One that a fork has copied has no threads, and what was locked then stays so: the child
    /// begins with another.
    fn current() -> &'static Pool {
        let process = std::process::id();
        loop {
            let known = POOL.load(Ordering::Acquire);
            // SAFETY: it is null or a pool that is never freed.
            if let Some(pool) = unsafe { known.as_ref() }.filter(|pool| pool.process == process) {
                return pool;
            }
            let new =
                Box::into_raw(Box::new(Pool { process, state: Mutex::default(), submitted: AtomicUsize::new(0) }));
            if POOL.compare_exchange(known, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }

    fn submit(&'static self, job: &Arc<Job>) {
        let others = (job.shares - 1).min(processors());
        let mut state = locked(&self.state);
        while state.workers.len() < others {
            let Some(worker) = self.start() else { break };
            state.workers.push(worker);
        }
        let own = processor();
        for worker in &state.workers {
            worker.leave(own);
        }
        state.jobs.push_back(job.clone());
        self.submitted.fetch_add(1, Ordering::Release);
        let awake = state.sleeping.len().saturating_sub(others);
        let woken = state.sleeping.split_off(awake);
        drop(state);
        for worker in woken {
            worker.keep_off(own);
            worker.wake();
        }
    }

    /// Starts a worker; None where the system gives no thread.
    fn start(&'static self) -> Option<Arc<Worker>> {
        let (known, itself) = std::sync::mpsc::channel::<Arc<Worker>>();
        let work = move || {
            leave_signals();
            let Ok(worker) = itself.recv() else { return };
            loop {
                let job = self.next_job(&worker);
                while job.share() {}
                self.forget(&job);
                worker.run_anywhere();
            }
        };
        let thread = Builder::new().name("weft-kernels".to_owned()).spawn(work).ok()?;
        let worker = Arc::new(Worker {
            thread: thread.thread().clone(),
            handle: Handle::of(&thread),
            is_asleep: AtomicBool::new(false),
            runs_on: AtomicUsize::new(usize::MAX),
            processors: Mutex::default(),
        });
        worker.keep_off(processor());
        known.send(worker.clone()).ok()?;
        Some(worker)
    }

    fn next_job(&self, worker: &Arc<Worker>) -> Arc<Job> {
        let mut state = locked(&self.state);
        loop {
            if let Some(job) = state.jobs.front() {
                return job.clone();
            }
            let known = self.submitted.load(Ordering::Acquire);
            drop(state);
            worker.look();
            let is_more = lingered(|| self.submitted.load(Ordering::Acquire) != known, || worker.look());
            state = locked(&self.state);
            if !is_more && state.jobs.is_empty() {
                worker.is_asleep.store(true, Ordering::Relaxed);
                state.sleeping.push(worker.clone());
                drop(state);
                worker.sleep();
                state = locked(&self.state);
            }
        }
    }

    /// Takes a job whose shares have all begun from the queue.
    fn forget(&self, job: &Arc<Job>) {
        locked(&self.state).jobs.retain(|queued| !Arc::ptr_eq(queued, job));
    }
}

/// Signals are for the threads of whoever loaded weft.
fn leave_signals() {
    #[cfg(target_os = "linux")]
    // SAFETY: both calls write the set that they are handed, and the mask is this thread's.
    unsafe {
        let mut all = std::mem::MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// Calls `work` with every number below `shares`, 2 or more: 0 on this thread, the others on whichever is free first.
/// `work` must not panic.
pub(super) fn share(shares: usize, work: &(dyn Fn(usize) + Sync)) {
    // SAFETY: only the lifetime changes; this function returns when no share is unfinished.
    let work = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work) };
    let job = Arc::new(Job {
        work,
        shares,
        next: AtomicUsize::new(1),
        unfinished: AtomicUsize::new(shares),
        done: Mutex::new(false),
        all_done: Condvar::new(),
    });
    let pool = Pool::current();
    pool.submit(&job);
    job.one(0);
    while job.share() {}
    pool.forget(&job);
    job.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that looks for a job leaves the processor of a caller, and no other; it may run anywhere once it looks again.
    #[test]
    fn a_worker_leaves_the_processor_of_a_caller() {
        let Some(here) = processor() else { return };
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || ended.recv());
        let worker = Worker {
            thread: thread.thread().clone(),
            handle: Handle::of(&thread),
            is_asleep: AtomicBool::new(true),
            runs_on: AtomicUsize::new(here),
            processors: Mutex::default(),
        };
        let is_kept_off = || locked(&worker.processors).is_some();
        worker.leave(Some(here));
        assert!(!is_kept_off(), "one that sleeps is kept off when it is woken");
        worker.is_asleep.store(false, Ordering::Relaxed);
        worker.leave(None);
        worker.leave(Some(here + 1));
        assert!(!is_kept_off());
        // Where there is another processor.
        let before = worker.handle.keep_off(here);
        before.iter().for_each(|before| worker.handle.set_processors(before));
        worker.leave(Some(here));
        assert_eq!(is_kept_off(), before.is_some());
        worker.look();
        assert!(!is_kept_off());
        assert!(before.is_none() || worker.handle.keep_off(here).is_some(), "it may run there again");
        drop(end);
        assert!(thread.join().unwrap().is_err());
    }
}
