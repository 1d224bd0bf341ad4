//! Memory that the hub and the ranks' processes share: what all are told, and for each rank a slot in which the two
//! take turns.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Bytes at the start that all ranks read: JSON, its length before it.
pub const HEADER_BYTES: usize = 1 << 16;

/// Bytes of commands, and of answers, of one rank that are handed over at once.
pub const AREA_BYTES: usize = 1 << 18;

/// Bytes of a slot: a page, commands, answers. A message of some hundred bytes touches nothing but that page, which has
/// the words, short answers, and where commands begin: after each switch of processes, what a page's first access costs
/// to translate its address is paid again.
const SLOT_BYTES: usize = PAGE_BYTES + 2 * AREA_BYTES;
const PAGE_BYTES: usize = 4096;
const WORDS_BYTES: usize = 64;
const COMMANDS_START: usize = PAGE_BYTES / 2;
const ANSWERS_START: usize = PAGE_BYTES + AREA_BYTES;

/// Answers of so many bytes are short.
pub const SHORT_BYTES: usize = COMMANDS_START - WORDS_BYTES;

/// Whose turn it is.
const HUB: u32 = 0;
const RANK: u32 = 1;
/// The rank's, and the hub sleeps until it is its own.
const RANK_AWAITED: u32 = 2;
/// The rank's, and the hub shall look what has become of its children.
const RANK_WATCHED: u32 = 3;

/// The words of a slot.
#[repr(C)]
struct Control {
    side: AtomicU32,
    commands: AtomicU32,
    answers: AtomicU32,
    /// The number of the process that has come for the rank; 0 before.
    process: AtomicU32,
    /// 1 if a thread of the rank wants to call while another waits for the hub.
    disturbed: AtomicU32,
    /// 1 while the others go on beside the rank: its clock may move.
    absent: AtomicU32,
    /// Bytes of whole commands that the rank has written and not handed over, and to where the hub has carried them out.
    queued: AtomicU32,
    carried: AtomicU32,
}

/// Memory of a file, mapped into this process until it ends.
#[derive(Debug)]
struct Mapping {
    address: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn new(file: &File, offset: usize, bytes: usize) -> io::Result<Mapping> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses touches no other memory.
        let address = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), offset as libc::off_t)
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(address.cast()).map(|address| Mapping { address, bytes }).ok_or_else(io::Error::last_os_error)
    }

    /// The bytes from `start` on.
    #[expect(clippy::mut_from_ref, reason = "the memory is that of the side whose turn it is")]
    fn bytes(&self, start: usize, len: usize) -> &mut [u8] {
        assert!(start + len <= self.bytes, "bytes outside of the mapping");
        // SAFETY: they are within the mapping, and only the side whose turn it is touches them.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr().add(start), len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and nothing borrows from it any more.
        unsafe { libc::munmap(self.address.as_ptr().cast(), self.bytes) };
    }
}

/// A file in memory for so many ranks; it goes when the last process that has it does.
pub fn create(ranks: usize, header: &[u8]) -> io::Result<File> {
    if header.len() + 4 > HEADER_BYTES {
        return Err(io::Error::other("the description of the run is too long"));
    }
    // SAFETY: the name ends with zero, and the descriptor is new.
    let file = unsafe {
        let descriptor = libc::memfd_create(c"weft-run".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor)
    };
    file.set_len((HEADER_BYTES + ranks * SLOT_BYTES) as u64)?;
    let mapping = Mapping::new(&file, 0, HEADER_BYTES)?;
    mapping.bytes(0, 4).copy_from_slice(&(header.len() as u32).to_ne_bytes());
    mapping.bytes(4, header.len()).copy_from_slice(header);
    Ok(file)
}

/// What all ranks are told.
pub fn read_header(file: &File) -> io::Result<Vec<u8>> {
    let mapping = Mapping::new(file, 0, HEADER_BYTES)?;
    let len = u32::from_ne_bytes(mapping.bytes(0, 4).try_into().unwrap_or_default()) as usize;
    Ok(mapping.bytes(4, len.min(HEADER_BYTES - 4)).to_vec())
}

/// One rank's slot.
#[derive(Debug)]
pub struct Slot {
    mapping: Mapping,
}

impl Slot {
    pub fn open(file: &File, rank: usize) -> io::Result<Slot> {
        Ok(Slot { mapping: Mapping::new(file, HEADER_BYTES + rank * SLOT_BYTES, SLOT_BYTES)? })
    }

    fn control(&self) -> &Control {
        // SAFETY: the mapping begins on a page, is longer than the words, and all of them are atomic.
        unsafe { self.mapping.address.cast().as_ref() }
    }

    /// Commands of the rank.
    pub fn commands(&self) -> &mut [u8] {
        self.mapping.bytes(COMMANDS_START, AREA_BYTES)
    }

    /// Where the hub writes short answers.
    pub fn short_answers(&self) -> &mut [u8] {
        self.mapping.bytes(WORDS_BYTES, SHORT_BYTES)
    }

    /// Where it writes others.
    pub fn long_answers(&self) -> &mut [u8] {
        self.mapping.bytes(ANSWERS_START, AREA_BYTES)
    }

    /// The answers that the hub has handed over.
    pub fn answers(&self) -> &[u8] {
        let len = (self.control().answers.load(Ordering::Relaxed) as usize).min(AREA_BYTES);
        let area = if len <= SHORT_BYTES { self.short_answers() } else { self.long_answers() };
        &area[..len]
    }

    pub fn commands_len(&self) -> usize {
        (self.control().commands.load(Ordering::Relaxed) as usize).min(AREA_BYTES)
    }

    /// The rank has written `len` bytes of commands, of which none needs an answer.
    pub fn set_queued(&self, len: usize) {
        self.control().queued.store(len as u32, Ordering::Release);
    }

    /// Commands that the rank has written, and which the hub has neither been handed nor carried out.
    ///
    /// The rank writes nothing before their end until it is its turn again after the hub's.
    pub fn queued(&self) -> Range<usize> {
        let start = self.carried();
        let end = (self.control().queued.load(Ordering::Acquire) as usize).min(AREA_BYTES);
        start..end.max(start)
    }

    /// To where the hub has carried out commands that were not handed over.
    pub fn carried(&self) -> usize {
        self.control().carried.load(Ordering::Relaxed) as usize
    }

    pub fn set_carried(&self, end: usize) {
        self.control().carried.store(end as u32, Ordering::Relaxed);
    }

    /// The number of the rank's process, once it has come.
    pub fn process(&self) -> Option<u32> {
        Some(self.control().process.load(Ordering::Acquire)).filter(|&process| process != 0)
    }

    /// Whether it is the hub's side.
    pub fn is_at_hub(&self) -> bool {
        self.control().side.load(Ordering::Acquire) == HUB
    }

    /// Comes for the rank; false where another process has.
    pub fn claim(&self, process: u32) -> bool {
        self.control().process.compare_exchange(0, process, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// A thread of the rank wants to call while another waits for the hub.
    pub fn disturb(&self) {
        self.control().disturbed.store(1, Ordering::Release);
    }

    /// Whether a thread has said that it wants to call.
    pub fn is_disturbed(&self) -> bool {
        self.control().disturbed.load(Ordering::Relaxed) != 0
    }

    /// As [`Slot::is_disturbed`]; it is told once.
    pub fn take_disturbed(&self) -> bool {
        self.is_disturbed() && self.control().disturbed.swap(0, Ordering::Acquire) != 0
    }

    /// Whether the others go on beside the rank.
    pub fn set_absent(&self, absent: bool) {
        self.control().absent.store(u32::from(absent), Ordering::Release);
    }

    pub fn is_absent(&self) -> bool {
        self.control().absent.load(Ordering::Acquire) != 0
    }

    /// At the start it is the rank's side.
    pub fn begin(&self) {
        self.control().side.store(RANK, Ordering::Release);
    }

    /// The rank hands over `len` bytes of commands, those that were queued among them.
    pub fn give_to_hub(&self, len: usize) {
        let control = self.control();
        control.queued.store(0, Ordering::Relaxed);
        control.commands.store(len as u32, Ordering::Relaxed);
        if control.side.swap(HUB, Ordering::AcqRel) != RANK {
            wake(&control.side);
        }
    }

    /// The hub hands over `len` bytes of answers, which it has written where those of this length are.
    pub fn give_to_rank(&self, len: usize) {
        let control = self.control();
        control.answers.store(len as u32, Ordering::Relaxed);
        control.side.store(RANK, Ordering::Release);
        wake(&control.side);
    }

    /// Waits for the rank's turn; `look` is called whenever that takes long.
    pub fn await_rank(&self, mut look: impl FnMut()) {
        let side = &self.control().side;
        while side.load(Ordering::Acquire) == HUB {
            if !wait(side, HUB, LONG) {
                look();
            }
        }
    }

    /// Waits for the hub's turn; `look` is called at first, when a signal came and, as late, after each interval, and ends
    /// the wait with what it gives.
    pub fn await_hub<T>(
        &self,
        watched: &Watched,
        interval: Duration,
        mut look: impl FnMut(bool) -> Option<T>,
    ) -> Option<T> {
        let side = &self.control().side;
        if side.load(Ordering::Acquire) == HUB {
            return None;
        }
        watched.set(side);
        let mut is_late = false;
        let result = loop {
            // Looked at before each sleep: a child that ended before the word was watched has disturbed nobody.
            if let Some(result) = look(is_late) {
                break Some(result);
            }
            let before = side.compare_exchange(RANK, RANK_AWAITED, Ordering::AcqRel, Ordering::Acquire);
            match before {
                Err(HUB) => break None,
                Err(RANK_WATCHED) => {
                    let _ = side.compare_exchange(RANK_WATCHED, RANK, Ordering::AcqRel, Ordering::Acquire);
                }
                _ => is_late = !wait(side, RANK_AWAITED, interval),
            }
            if side.load(Ordering::Acquire) == HUB {
                break None;
            }
        };
        watched.clear();
        result
    }
}

/// Wakes who sleeps on the word.
fn wake(word: &AtomicU32) {
    // SAFETY: the word is mapped; the call only wakes those who wait for it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// After so long a rank looks whether its hub is still there.
const LONG: Duration = Duration::from_secs(1);

/// Sleeps while the word has this value, but no longer than the limit; false if that is over.
fn wait(word: &AtomicU32, value: u32, limit: Duration) -> bool {
    let limit =
        libc::timespec { tv_sec: limit.as_secs() as libc::time_t, tv_nsec: libc::c_long::from(limit.subsec_nanos()) };
    // SAFETY: word and limit are there during the call.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const limit) };
    result == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
}

/// The turn that the hub waits for, where handlers of signals find it.
#[derive(Debug)]
pub struct Watched(std::sync::atomic::AtomicPtr<u32>);

impl Watched {
    pub const fn new() -> Watched {
        Watched(std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()))
    }

    fn set(&self, word: &AtomicU32) {
        self.0.store(word.as_ptr(), Ordering::SeqCst);
    }

    fn clear(&self) {
        self.0.store(std::ptr::null_mut(), Ordering::SeqCst);
    }

    /// Ends the wait, as far as to look around; may be called by handlers of signals.
    pub fn disturb(&self) {
        let word = self.0.load(Ordering::SeqCst);
        if !word.is_null() {
            // SAFETY: the word is mapped while it is set here.
            let side = unsafe { AtomicU32::from_ptr(word) };
            for state in [RANK, RANK_AWAITED] {
                let _ = side.compare_exchange(state, RANK_WATCHED, Ordering::SeqCst, Ordering::SeqCst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_and_the_hub_take_turns_and_read_what_the_other_has_written() {
        let memory = create(2, b"to all ranks").unwrap();
        assert_eq!(read_header(&memory).unwrap(), b"to all ranks");
        let of_rank = memory.try_clone().unwrap();
        let hub = Slot::open(&memory, 1).unwrap();
        hub.begin();
        let rank = std::thread::spawn(move || {
            let slot = Slot::open(&of_rank, 1).unwrap();
            assert!(slot.claim(7) && !slot.claim(8), "a rank is one process");
            for round in 0..1000_u32 {
                slot.commands()[..4].copy_from_slice(&round.to_ne_bytes());
                slot.give_to_hub(4);
                slot.await_rank(|| ());
                assert_eq!(slot.answers(), (round + 1).to_ne_bytes());
            }
        });
        let watched = Watched::new();
        for round in 0..1000_u32 {
            assert_eq!(hub.await_hub(&watched, LONG, |_| None::<()>), None);
            assert_eq!(hub.commands()[..hub.commands_len()], round.to_ne_bytes());
            hub.short_answers()[..4].copy_from_slice(&(round + 1).to_ne_bytes());
            hub.give_to_rank(4);
        }
        rank.join().unwrap();
        assert_eq!(hub.process(), Some(7));
    }

    #[test]
    fn answers_of_every_length_are_read_where_they_were_written() {
        let memory = create(2, b"").unwrap();
        let slot = Slot::open(&memory, 0).unwrap();
        slot.commands().fill(1);
        slot.short_answers().fill(2);
        slot.long_answers().fill(3);
        for (len, byte) in [(0, 2), (1, 2), (SHORT_BYTES, 2), (SHORT_BYTES + 1, 3), (AREA_BYTES, 3)] {
            slot.give_to_rank(len);
            assert_eq!(slot.answers(), vec![byte; len], "{len}");
        }
        assert_eq!((slot.process(), slot.commands_len()), (None, 0), "words are not written over");
        assert!(slot.commands().iter().all(|&byte| byte == 1));
        let next = Slot::open(&memory, 1).unwrap();
        assert_eq!((next.process(), next.commands()[0]), (None, 0), "the next slot is not written over");
    }

    #[test]
    fn commands_that_are_queued_are_carried_out_once() {
        let memory = create(1, b"").unwrap();
        let (rank, hub) = (Slot::open(&memory, 0).unwrap(), Slot::open(&memory, 0).unwrap());
        hub.begin();
        assert_eq!(hub.queued(), 0..0);
        rank.set_queued(8);
        assert_eq!(hub.queued(), 0..8);
        hub.set_carried(8);
        assert!(hub.queued().is_empty());
        rank.set_queued(12);
        assert_eq!(hub.queued(), 8..12);
        rank.give_to_hub(20);
        assert_eq!((hub.carried(), hub.commands_len()), (8, 20));
        assert!(hub.queued().is_empty(), "they are handed over");
        hub.set_carried(0);
        hub.give_to_rank(0);
        assert!(hub.queued().is_empty());
    }

    #[test]
    fn a_wait_for_a_rank_that_has_gone_is_ended_by_who_looks() {
        let memory = create(1, b"").unwrap();
        let slot = Slot::open(&memory, 0).unwrap();
        slot.begin();
        assert_eq!(slot.await_hub(&Watched::new(), LONG, |_| Some("gone")), Some("gone"));
    }
}
