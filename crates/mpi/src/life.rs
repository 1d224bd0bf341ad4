//! The processes around this one: whether they live, whether they are stopped, and how they ended.
//!
//! What is known comes from Linux (`/proc`, `pidfd_open`); elsewhere nothing is known of anybody, and nobody is missed.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The variables in which launchers tell a rank its number.
const RANK_VARIABLES: [&str; 5] =
    ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "SLURM_PROCID"];

/// More processes than this are between no rank and its launcher: wrappers such as a shell or a profiler.
const MAX_WRAPPERS: usize = 16;

/// A process. Numbers are given again; with the time of its start (ticks since boot) it is the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub start: u64,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Lives,
    /// By a signal (SIGSTOP, SIGTSTP); a process that a debugger holds lives.
    Stopped,
    Gone,
}

struct Stat {
    state: u8,
    parent: u32,
    start: u64,
    /// How it ends, from the moment at which it begins to.
    status: c_int,
}

/// proc(5): the name, in parentheses, may hold anything; after it come the state (field 3), the parent (4), the
/// start (22) and how it ends (52).
fn stat(pid: u32) -> Option<Stat> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let fields: Vec<&str> = std::str::from_utf8(&text[end + 1..]).ok()?.split_ascii_whitespace().collect();
    let state = *fields.first()?.as_bytes().first()?;
    let status = fields.get(49).and_then(|field| field.parse().ok()).unwrap_or(0);
    Some(Stat { state, parent: fields.get(1)?.parse().ok()?, start: fields.get(19)?.parse().ok()?, status })
}

impl Process {
    /// The process that has this number now.
    pub fn of(pid: u32) -> Option<Process> {
        stat(pid).filter(|stat| !matches!(stat.state, b'Z' | b'X')).map(|stat| Process { pid, start: stat.start })
    }

    pub fn parent(self) -> Option<Process> {
        Process::of(stat(self.pid)?.parent)
    }

    pub fn state(self) -> State {
        match stat(self.pid) {
            Some(stat) if stat.start == self.start => match stat.state {
                b'Z' | b'X' => State::Gone,
                b'T' => State::Stopped,
                _ => State::Lives,
            },
            _ => State::Gone,
        }
    }

    /// The name of what it runs, at most 15 bytes.
    pub fn name(self) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/comm", self.pid)).unwrap_or_default();
        text.trim_end().to_owned()
    }

    /// The number of a rank that the process was started as; `None` for other processes and those of other users.
    fn rank(self) -> Option<usize> {
        let text = std::fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        let entries: Vec<&str> =
            text.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok()).collect();
        let of =
            |name: &str| entries.iter().find_map(|entry| entry.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
        RANK_VARIABLES.iter().find_map(|name| of(name))
    }

    /// The processes that it has started and that are there now.
    fn children(self) -> Vec<Process> {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{}/task", self.pid)) else { return Vec::new() };
        let lists = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let numbers: Vec<u32> = lists.flat_map(|list| numbers(&list)).collect();
        numbers.into_iter().filter_map(Process::of).collect()
    }
}

fn numbers(text: &str) -> Vec<u32> {
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The process of the launcher on this computer that started this rank: the nearest ancestor that is no rank itself.
pub fn launcher() -> Option<Process> {
    let mut process = Process::of(std::process::id())?;
    process.rank()?;
    for _ in 0..MAX_WRAPPERS {
        process = process.parent().filter(|parent| parent.pid > 1)?;
        if process.rank().is_none() {
            return Some(process);
        }
    }
    None
}

/// The ranks that a launcher's process has here now, in their order; a wrapper stands for the rank that it started.
pub fn ranks_under(launcher: Process) -> Vec<(usize, Process)> {
    let mut found: Vec<_> =
        launcher.children().into_iter().filter_map(|process| Some((process.rank()?, process))).collect();
    found.sort_by_key(|(rank, _)| *rank);
    found
}

/// A process whose end is waited for, and can be explained afterwards.
pub struct Watched {
    pub process: Process,
    descriptor: Option<OwnedFd>,
    /// A pipe that it keeps open for as long as it lives. Linux closes the files of a process that dies before anybody
    /// else hears of its end: so the launcher, who then kills the others, is not first.
    pipe: Option<File>,
}

/// `struct pidfd_info` of linux/pidfd.h, version 0.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    numbers: [u32; 11],
    exit_code: i32,
}

const PIDFD_INFO_EXIT: u64 = 1 << 3;
/// `_IOWR(0xFF, 11, struct pidfd_info)`.
const PIDFD_GET_INFO: u64 = 3 << 30 | (size_of::<PidfdInfo>() as u64) << 16 | 0xff << 8 | 11;

impl Watched {
    /// `pipe` is where the process has put one, see [`sign_of_life`].
    pub fn new(process: Process, pipe: &Path) -> Watched {
        let pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(pipe).ok();
        Watched { process, descriptor: open_end(process), pipe }
    }

    /// Sleeps for at most so long, less if the process ends.
    pub fn wait(&self, milliseconds: c_int) {
        let pipe = self.pipe.as_ref().map(|pipe| pipe.as_raw_fd());
        let descriptors = [self.descriptor.as_ref().map(|descriptor| descriptor.as_raw_fd()), pipe];
        let mut polled = descriptors.map(|fd| libc::pollfd { fd: fd.unwrap_or(-1), events: libc::POLLIN, revents: 0 });
        // SAFETY: two entries, which live through the call; those with negative descriptors are passed over.
        unsafe { libc::poll(polled.as_mut_ptr(), 2, milliseconds) };
    }

    /// What the process does; one that has begun to end is gone.
    pub fn state(&self) -> State {
        let mut polled =
            libc::pollfd { fd: self.pipe.as_ref().map_or(-1, |pipe| pipe.as_raw_fd()), events: 0, revents: 0 };
        // SAFETY: one entry, which lives through the call.
        let closed = unsafe { libc::poll(&mut polled, 1, 0) } > 0 && polled.revents & libc::POLLHUP != 0;
        if closed { State::Gone } else { self.process.state() }
    }

    /// How the process ended, where the system tells others than its parent: while it ends, and, with Linux 6.15 and
    /// later, afterwards.
    pub fn how(&self) -> Option<String> {
        match stat(self.process.pid).filter(|stat| stat.start == self.process.start) {
            Some(stat) if stat.status != 0 || stat.state == b'Z' => Some(describe(stat.status)),
            _ => self.told(),
        }
    }

    #[cfg(target_os = "linux")]
    fn told(&self) -> Option<String> {
        let mut info = PidfdInfo { mask: PIDFD_INFO_EXIT, ..PidfdInfo::default() };
        let descriptor = self.descriptor.as_ref()?.as_raw_fd();
        // SAFETY: the system writes no more than the size that the request carries.
        let code = unsafe { libc::ioctl(descriptor, PIDFD_GET_INFO as _, &raw mut info) };
        (code == 0 && info.mask & PIDFD_INFO_EXIT != 0).then(|| describe(info.exit_code))
    }

    #[cfg(not(target_os = "linux"))]
    fn told(&self) -> Option<String> {
        None
    }
}

#[cfg(target_os = "linux")]
fn open_end(process: Process) -> Option<OwnedFd> {
    // SAFETY: takes two numbers.
    let code = unsafe { libc::syscall(libc::SYS_pidfd_open, process.pid as libc::pid_t, 0) };
    // SAFETY: the descriptor was just opened and is nobody else's.
    (code >= 0).then(|| unsafe { OwnedFd::from_raw_fd(code as c_int) })
}

#[cfg(not(target_os = "linux"))]
fn open_end(_: Process) -> Option<OwnedFd> {
    None
}

/// Numbers of files that are closed late come first when a process dies: more than a launcher's files have.
const HIGH: c_int = 200;

/// Makes a pipe that this process keeps open for as long as it lives. Without it its end is heard of later.
pub fn sign_of_life(pipe: &Path) {
    let Ok(path) = std::ffi::CString::new(pipe.as_os_str().as_bytes()) else { return };
    // SAFETY: the path is a C string; the descriptors are this function's own, of which one is kept open on purpose.
    unsafe {
        if libc::mkfifo(path.as_ptr(), 0o600) != 0 {
            return;
        }
        let descriptor = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if descriptor >= 0 {
            libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, HIGH);
            libc::close(descriptor);
        }
    }
}

/// The standard error of another process, as what this one says there, where the system lets it.
pub fn error_stream(of: Process) -> Option<File> {
    let path = format!("/proc/{}/fd/2", of.pid);
    OpenOptions::new().append(true).custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK).open(path).ok()
}

/// What a wait status says: `was killed by signal 9 (Killed)`, `ended with exit code 3`.
pub fn describe(status: c_int) -> String {
    if !libc::WIFSIGNALED(status) {
        return format!("ended with exit code {}", libc::WEXITSTATUS(status));
    }
    let signal = libc::WTERMSIG(status);
    // SAFETY: gives a string of the library's own, which lives until the next call of this thread at least.
    let name = unsafe { libc::strsignal(signal) };
    // SAFETY: where the name is not null, it is a string of the library's own that ends with a null byte and lives until
    // the next call of this thread.
    let name = (!name.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy().into_owned());
    name.map_or_else(
        || format!("was killed by signal {signal}"),
        |name| format!("was killed by signal {signal} ({name})"),
    )
}

/// Which namespace the numbers of processes are of: those of another one mean nothing here.
pub fn namespace() -> String {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

/// The frozen text of a small file, from an offset.
pub fn tail(path: &Path, from: u64) -> Option<String> {
    use std::io::Seek as _;
    let mut file = std::fs::File::open(path).ok()?;
    file.seek(std::io::SeekFrom::Start(from)).ok()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_lives_stops_and_is_gone() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let process = Process::of(child.id()).expect("it is there");
        let watched = Watched::new(process, Path::new("/nowhere/at/all"));
        assert_eq!(process.state(), State::Lives);
        assert_eq!(process.parent().map(|parent| parent.pid), Some(std::process::id()));
        assert!(Process::of(std::process::id()).is_some_and(|own| own.children().contains(&process)));
        // SAFETY: signals to a process that this test has started.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGSTOP) };
        while process.state() != State::Stopped {
            std::thread::yield_now();
        }
        child.kill().expect("it is ours");
        watched.wait(60_000);
        assert_eq!(watched.how().as_deref(), Some("was killed by signal 9 (Killed)"));
        child.wait().expect("it ends");
        assert_eq!(process.state(), State::Gone);
        assert!(watched.how().is_none_or(|how| how == "was killed by signal 9 (Killed)"));
    }

    #[test]
    fn a_number_that_was_given_again_is_another_process() {
        let own = Process::of(std::process::id()).expect("this process");
        assert_eq!(Process { start: own.start + 1, ..own }.state(), State::Gone);
    }

    #[test]
    fn an_end_is_described() {
        assert_eq!(describe(3 << 8), "ended with exit code 3");
        assert_eq!(describe(9), "was killed by signal 9 (Killed)");
        assert_eq!(size_of::<PidfdInfo>(), 64);
    }
}
