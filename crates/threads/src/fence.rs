//! Writing first and looking after, on two sides of which one is in a hurry.
//!
//! A rank that posts a message looks whether its receiver sleeps; a rank that is about to sleep says so and looks for messages.
//! One of them must see what the other wrote, so both need a fence between. Where the system can do it for both
//! (`membarrier` of Linux), the rank that goes to sleep pays, and the one that sends does not wait for its caches.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::sync::fence;

/// How both sides fence.
#[derive(Clone, Copy, Debug)]
pub struct Fences {
    /// Whether the side that is not in a hurry fences for both.
    for_both: bool,
}

impl Fences {
    pub fn new() -> Fences {
        Fences { for_both: membarrier::register() && membarrier::run() }
    }

    /// Where nobody fences for the other.
    #[cfg(test)]
    pub fn own() -> Fences {
        Fences { for_both: false }
    }

    /// Where somebody would have to fence for the other, and nobody does: the model checker knows no `membarrier`.
    #[cfg(all(loom, test))]
    pub fn on_one_side() -> Fences {
        Fences { for_both: true }
    }

    /// Of the side in a hurry: between what it wrote and what it looks at.
    #[inline]
    pub fn light(self) {
        if self.for_both { compiler_fence(Ordering::SeqCst) } else { fence(Ordering::SeqCst) }
    }

    /// Of the other side.
    pub fn heavy(self) {
        fence(Ordering::SeqCst);
        if self.for_both {
            // It cannot fail once it has not: the command is known and registered.
            membarrier::run();
        }
    }
}

#[cfg(target_os = "linux")]
mod membarrier {
    /// Of `linux/membarrier.h`.
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    fn call(command: libc::c_int) -> bool {
        // SAFETY: the call takes numbers only and changes no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub fn register() -> bool {
        call(REGISTER_PRIVATE_EXPEDITED)
    }

    /// Every other thread of this process that runs has a full fence at some moment of this call.
    pub fn run() -> bool {
        call(PRIVATE_EXPEDITED)
    }
}

#[cfg(not(target_os = "linux"))]
mod membarrier {
    pub fn register() -> bool {
        false
    }

    pub fn run() -> bool {
        false
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;

    /// Two threads write and then look, round after round: never may both miss what the other wrote.
    fn one_of_two_sees(fences: Fences) {
        const ROUNDS: usize = 3_000;
        let flags: Vec<[AtomicU32; 2]> = (0..ROUNDS).map(|_| Default::default()).collect();
        let seen: Vec<[AtomicU32; 2]> = (0..ROUNDS).map(|_| Default::default()).collect();
        let barrier = Barrier::new(2);
        let side = |me: usize| {
            barrier.wait();
            for round in 0..ROUNDS {
                flags[round][me].store(1, Ordering::Relaxed);
                if me == 0 {
                    fences.light()
                } else {
                    fences.heavy()
                }
                seen[round][me].store(flags[round][1 - me].load(Ordering::Relaxed), Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| side(0));
            side(1);
        });
        assert!(seen.iter().all(|both| both.iter().any(|one| one.load(Ordering::Relaxed) == 1)));
    }

    #[test]
    fn one_of_two_sides_sees_the_other() {
        one_of_two_sees(Fences::new());
        one_of_two_sees(Fences::own());
    }
}
