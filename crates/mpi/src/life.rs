//! The processes around this one: whether they live, whether they are stopped, and how they ended.
//!
//! What is known comes from Linux (`/proc`, `pidfd_open`); elsewhere nothing is known of anybody, and nobody is missed.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

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

    /// The number of its first thread with a name.
    fn thread(self, name: &str) -> Option<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid)).ok()?;
        let named = |task: &std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("comm")).is_ok_and(|text| text.trim_end() == name)
        };
        tasks.flatten().find(named)?.file_name().to_str()?.parse().ok()
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
    let mut ranks: Vec<_> =
        launcher.children().into_iter().filter_map(|process| Some((process.rank()?, process))).collect();
    ranks.sort_by_key(|(rank, _)| *rank);
    ranks
}

/// A process whose end is waited for, and can be explained afterwards.
pub struct Watched {
    pub process: Process,
    descriptor: Option<OwnedFd>,
    /// A pipe that it keeps open for as long as it lives. Linux closes the files of a process that dies before anybody
    /// else hears of its end: so the launcher, who then kills the others, is not first.
    pipe: Option<File>,
    /// Where the process puts the pipe, which it may not have done yet.
    path: PathBuf,
    /// The end of the thread in it that watches: the threads of a process that is killed end before it gives its memory
    /// back, and only then its files are closed.
    thread: Option<OwnedFd>,
}

/// The name of the thread that watches.
pub const GUARD: &str = "weft-guard";

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
        let path = pipe.to_owned();
        let mut watched = Watched { process, descriptor: open_end(process), pipe: None, path, thread: None };
        watched.is_complete();
        watched
    }

    /// Whether the pipe and the thread are there; what was not there is looked for again.
    fn is_complete(&mut self) -> bool {
        if self.pipe.is_none() {
            self.pipe = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&self.path).ok();
        }
        // The thread is started after the pipe was made.
        if self.thread.is_none() && self.pipe.is_some() && threads_are_heard() {
            self.thread = self.process.thread(GUARD).and_then(open_end_of_thread);
        }
        self.pipe.is_some() && (self.thread.is_some() || !threads_are_heard())
    }

    /// Sleeps for at most so long, less if the process ends.
    pub fn wait(&mut self, milliseconds: c_int) {
        let mut left = milliseconds;
        while left > STEP_TO_PIPE && !self.is_complete() {
            if self.poll(STEP_TO_PIPE) {
                return;
            }
            left -= STEP_TO_PIPE;
        }
        self.poll(left);
    }

    /// Whether the process ends in so long.
    fn poll(&self, milliseconds: c_int) -> bool {
        let mut polled = [raw(&self.descriptor), raw(&self.pipe), raw(&self.thread)].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: the entries live through the call; those with negative descriptors are passed over.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, milliseconds) > 0 }
    }

    /// What the process does; one that has begun to end is gone.
    pub fn state(&self) -> State {
        let mut polled = [(raw(&self.pipe), 0), (raw(&self.thread), libc::POLLIN)].map(|(fd, events)| libc::pollfd {
            fd,
            events,
            revents: 0,
        });
        // SAFETY: the entries live through the call; those with negative descriptors are passed over.
        let is_ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, 0) } > 0;
        let ended = is_ready && (polled[0].revents & libc::POLLHUP != 0 || polled[1].revents & libc::POLLIN != 0);
        if ended { State::Gone } else { self.process.state() }
    }

    /// How the process ended, where the system tells others than its parent: while it ends, and, with Linux 6.15 and
    /// later, afterwards.
    pub fn how(&self) -> Option<String> {
        match stat(self.process.pid).filter(|stat| stat.start == self.process.start) {
            Some(stat) if stat.status != 0 || stat.state == b'Z' => Some(describe(stat.status)),
            _ => self.exit_info(),
        }
    }

    #[cfg(target_os = "linux")]
    fn exit_info(&self) -> Option<String> {
        let mut info = PidfdInfo { mask: PIDFD_INFO_EXIT, ..PidfdInfo::default() };
        let descriptor = self.descriptor.as_ref()?.as_raw_fd();
        // SAFETY: the system writes no more than the size that the request carries.
        let code = unsafe { libc::ioctl(descriptor, PIDFD_GET_INFO as _, &raw mut info) };
        (code == 0 && info.mask & PIDFD_INFO_EXIT != 0).then(|| describe(info.exit_code))
    }

    #[cfg(not(target_os = "linux"))]
    fn exit_info(&self) -> Option<String> {
        None
    }
}

/// For `poll`, which passes over negative ones.
fn raw(descriptor: &Option<impl AsRawFd>) -> c_int {
    descriptor.as_ref().map_or(-1, |descriptor| descriptor.as_raw_fd())
}

/// A descriptor that can be read once a thread has ended (Linux 6.9).
#[cfg(target_os = "linux")]
fn open_end_of_thread(thread: u32) -> Option<OwnedFd> {
    // SAFETY: takes two numbers.
    let code = unsafe { libc::syscall(libc::SYS_pidfd_open, thread as libc::pid_t, PIDFD_THREAD) };
    // SAFETY: the descriptor was just opened and is nobody else's.
    (code >= 0).then(|| unsafe { OwnedFd::from_raw_fd(code as c_int) })
}

#[cfg(not(target_os = "linux"))]
fn open_end_of_thread(_: u32) -> Option<OwnedFd> {
    None
}

/// Of linux/pidfd.h.
#[cfg(target_os = "linux")]
const PIDFD_THREAD: c_int = libc::O_EXCL;

/// Whether this system tells of the end of threads.
fn threads_are_heard() -> bool {
    static HEARD: LazyLock<bool> = LazyLock::new(|| open_end_of_thread(std::process::id()).is_some());
    *HEARD
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

/// The shortest time slice that a thread can ask for, in nanoseconds (Linux, `kernel/sched/syscalls.c`).
const SHORTEST_SLICE: u64 = 100_000;

/// Asks that this thread runs before others that are woken with it on the same processor: those with the shortest slices
/// come first (Linux 6.12). Elsewhere it runs when it runs.
#[cfg(target_os = "linux")]
pub fn run_first() {
    const SIZE: usize = size_of::<libc::sched_attr>();
    // SAFETY: numbers, which may be zero.
    let mut policy: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: of this thread (0); the system writes no more than the given size.
    if unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut policy, SIZE, 0) } != 0 {
        return;
    }
    policy.sched_runtime = SHORTEST_SLICE;
    // SAFETY: of this thread (0); the system reads the size that is written there.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const policy, 0) };
}

#[cfg(not(target_os = "linux"))]
pub fn run_first() {}

/// The time between two looks for a pipe, in milliseconds.
const STEP_TO_PIPE: c_int = 10;

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

/// The standard error of another process, to write into.
pub struct ErrorStream {
    file: File,
    /// Whether what is written here may be overwritten by what the process itself writes next.
    overwritten: bool,
}

impl ErrorStream {
    /// `None` where the system does not let it be opened.
    pub fn of(process: Process) -> Option<ErrorStream> {
        let path = format!("/proc/{}/fd/2", process.pid);
        let flags = libc::O_NOCTTY | libc::O_NONBLOCK;
        let file = OpenOptions::new().append(true).custom_flags(flags).open(path).ok()?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Some(ErrorStream { file, overwritten: false });
        }
        // Where a file is opened twice, each has an offset of its own: what is appended here would be overwritten by
        // what the process itself writes next, unless both share the offset.
        match shared_descriptor(process, libc::STDERR_FILENO) {
            Some(shared) => Some(ErrorStream { file: shared, overwritten: false }),
            None => Some(ErrorStream { file, overwritten: true }),
        }
    }

    /// Writes a text; whether it has arrived and stays.
    pub fn write(&self, text: &str) -> bool {
        (&self.file).write_all(text.as_bytes()).is_ok() && !self.overwritten
    }
}

/// The same open file as that of another process, offset and all (Linux 5.6, for those who may trace the process).
#[cfg(target_os = "linux")]
fn shared_descriptor(process: Process, descriptor: c_int) -> Option<File> {
    let other = open_end(process)?;
    // SAFETY: takes three numbers, of which the first is a live descriptor of a process.
    let code = unsafe { libc::syscall(libc::SYS_pidfd_getfd, other.as_raw_fd(), descriptor, 0) };
    // SAFETY: the descriptor was just made and is nobody else's.
    (code >= 0).then(|| unsafe { File::from_raw_fd(code as c_int) })
}

#[cfg(not(target_os = "linux"))]
fn shared_descriptor(_: Process, _: c_int) -> Option<File> {
    None
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
        let mut watched = Watched::new(process, Path::new("/nowhere/at/all"));
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
    fn a_pipe_that_comes_late_is_found() {
        let path = std::env::temp_dir().join(format!("weft-pipe-{}", std::process::id()));
        let mut watched = Watched::new(Process::of(std::process::id()).expect("this process"), &path);
        watched.wait(2 * STEP_TO_PIPE);
        assert!(watched.pipe.is_none());
        let script = "mkfifo \"$0\"; exec 3<> \"$0\"; read line";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&path).stdin(std::process::Stdio::piped());
        let mut child = command.spawn().expect("sh starts");
        while watched.pipe.is_none() {
            watched.wait(2 * STEP_TO_PIPE);
        }
        drop(child.stdin.take());
        child.wait().expect("it ends");
        watched.wait(60_000);
        std::fs::remove_file(&path).expect("it is this test's");
        assert_eq!(watched.state(), State::Gone);
    }

    #[test]
    fn the_end_of_a_thread_is_heard() {
        if !threads_are_heard() {
            return;
        }
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("weft-test".into()).spawn(move || receive.recv());
        let process = Process::of(std::process::id()).expect("this process");
        let mut watched = Watched::new(process, Path::new("/nowhere/at/all"));
        // It names itself once it runs.
        while watched.thread.is_none() {
            watched.thread = process.thread("weft-test").and_then(open_end_of_thread);
        }
        assert_eq!(watched.state(), State::Lives);
        drop(send);
        assert!(watched.poll(60_000));
        assert_eq!(watched.state(), State::Gone);
        assert!(thread.expect("a thread").join().expect("it ends").is_err());
    }

    #[test]
    fn what_is_written_into_the_errors_of_another_process_is_not_overwritten_by_it() {
        let path = std::env::temp_dir().join(format!("weft-errors-{}", std::process::id()));
        let script = "echo first >&2; echo; read line; echo last >&2";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(File::create(&path).expect("a file"))
            .spawn()
            .expect("sh starts");
        child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("it has written its first line");
        let errors = ErrorStream::of(Process::of(child.id()).expect("it is there")).expect("it is ours");
        let stays = errors.write("between\n");
        child.stdin.take().expect("a pipe").write_all(b"\n").expect("it reads");
        child.wait().expect("it ends");
        let text = std::fs::read_to_string(&path).expect("a file");
        std::fs::remove_file(&path).expect("it is this test's");
        // Systems that let nobody trace others say so instead: the text is then written in another way too.
        assert!(!stays || text == "first\nbetween\nlast\n", "{text}");
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
