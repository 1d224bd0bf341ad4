//! Which processors threads of this process may run on, to the other threads: where one is woken for a part of a call, it
//! has to be another one than the caller's.
//!
//! Systems do not see to that by themselves. Linux on a virtual machine under KVM takes processors that sleep for ones that
//! the host has taken away (`vcpu_is_preempted`), passes them over when it wakes a thread, and puts it behind the caller;
//! by the time that it runs, the caller has done its part too. Calls one after another then take as long as on one thread,
//! for as long as they go on.

#[cfg(target_os = "linux")]
pub(super) use linux::{Handle, Processors, processor};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{Handle, Processors, processor};

#[cfg(target_os = "linux")]
mod linux {
    use std::os::unix::thread::JoinHandleExt;
    use std::thread::JoinHandle;

    /// The processors that a thread may run on.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Processors(libc::cpu_set_t);

    /// The processor that the calling thread runs on, which may be another one a moment later.
    pub(in super::super) fn processor() -> Option<usize> {
        // SAFETY: the call takes nothing, and returns a number or -1.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    /// A thread of this process that does not end while there is a handle of it.
    #[derive(Clone, Copy, Debug)]
    pub(in super::super) struct Handle(libc::pthread_t);

    impl Handle {
        pub(in super::super) fn of<T>(thread: &JoinHandle<T>) -> Self {
            Self(thread.as_pthread_t())
        }

        /// Where it may run; None where the system does not say, as with more processors than a set has bits.
        pub(in super::super) fn processors(self) -> Option<Processors> {
            // SAFETY: a set of processors is bits, all of which may be 0; the call writes no more than its size, and the
            // thread has not ended (the condition of a handle).
            unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                let code = libc::pthread_getaffinity_np(self.0, size_of::<libc::cpu_set_t>(), &raw mut set);
                (code == 0).then_some(Processors(set))
            }
        }

        /// Has it run there only. It need not succeed: where threads run makes no difference to what they do.
        pub(in super::super) fn set_processors(self, Processors(set): &Processors) {
            // SAFETY: the set is initialised and read only, and the thread has not ended (the condition of a handle).
            unsafe { libc::pthread_setaffinity_np(self.0, size_of::<libc::cpu_set_t>(), set) };
        }

        /// Has it run on others than this one, where it may; where it could run before that, or None where nothing changed.
        pub(in super::super) fn keep_off(self, processor: usize) -> Option<Processors> {
            let before = self.processors()?;
            let others = before.without(processor)?;
            self.set_processors(&others);
            Some(before)
        }
    }

    impl Processors {
        /// The others, where this one is among them, and not the only one.
        fn without(self, processor: usize) -> Option<Self> {
            let Self(mut set) = self;
            // SAFETY: these functions change and read bits of the set, which is initialised, and check the number.
            let differs = processor < libc::CPU_SETSIZE as usize
                && unsafe {
                    let there = libc::CPU_ISSET(processor, &set);
                    libc::CPU_CLR(processor, &mut set);
                    there && libc::CPU_COUNT(&set) > 0
                };
            differs.then_some(Self(set))
        }
    }

    #[cfg(test)]
    mod tests {
        use std::thread;

        use super::*;

        fn count(Processors(set): Processors) -> i32 {
            // SAFETY: the set is initialised.
            unsafe { libc::CPU_COUNT(&set) }
        }

        /// A thread that is woken runs anywhere but where it must not, and anywhere again afterwards.
        #[test]
        fn threads_are_kept_off_a_processor() {
            let here = processor().expect("Linux says where a thread runs");
            let (wake, woken) = std::sync::mpsc::channel();
            let thread = thread::spawn(move || {
                woken.recv().expect("the other end is there");
                processor()
            });
            let handle = Handle::of(&thread);
            let all = handle.processors().expect("a set is large enough for this computer");
            let before = handle.keep_off(here);
            assert_eq!(before.is_some(), all.without(here).is_some());
            if let Some(before) = before {
                assert_eq!(count(before), count(all));
                assert_eq!(count(handle.processors().unwrap()), count(all) - 1);
                assert!(handle.keep_off(here).is_none());
            }
            wake.send(()).unwrap();
            let ran_on = thread.join().unwrap();
            assert!(before.is_none() || ran_on != Some(here));
        }

        #[test]
        fn the_only_processor_is_left() {
            // SAFETY: a set of processors is bits, all of which may be 0.
            let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            assert!(Processors(set).without(3).is_none());
            // SAFETY: the set is initialised, and large enough for the number.
            unsafe { libc::CPU_SET(3, &mut set) };
            assert!(Processors(set).without(3).is_none());
            assert!(Processors(set).without(2).is_none());
            assert!(Processors(set).without(usize::MAX).is_none());
            // SAFETY: the set is initialised, and large enough for the number.
            unsafe { libc::CPU_SET(2, &mut set) };
            assert_eq!(Processors(set).without(3).map(count), Some(1));
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::thread::JoinHandle;

    /// The processors that a thread may run on, of which nothing is known.
    #[derive(Clone, Copy)]
    pub(in super::super) enum Processors {}

    pub(in super::super) fn processor() -> Option<usize> {
        None
    }

    /// A thread, of which nothing need be known.
    #[derive(Clone, Copy, Debug)]
    pub(in super::super) struct Handle;

    impl Handle {
        pub(in super::super) fn of<T>(_: &JoinHandle<T>) -> Self {
            Self
        }

        pub(in super::super) fn set_processors(self, _: &Processors) {}

        pub(in super::super) fn keep_off(self, _: usize) -> Option<Processors> {
            None
        }
    }
}
