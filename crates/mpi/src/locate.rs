//! Where in the user's program a rank is, asked from another thread while it may be blocked in MPI.
//!
//! Python's `faulthandler` writes a thread's frames from within a signal handler, without the interpreter's lock: so
//! calls need not note their callers, and cost nothing.

use std::ffi::c_int;

/// Says where in the caller's program this rank is now, from another thread; `None` where that is not known.
pub type Locate = Box<dyn Fn() -> Option<String> + Send>;

/// The longest wait for the first and for further words of the handler, in milliseconds.
const PATIENCE: [c_int; 2] = [500, 20];
/// Characters of the program's line that are shown.
const MAX_LINE: usize = 80;

/// Asks a thread of Python where it is.
pub struct Locator {
    thread: libc::pthread_t,
    /// What has the thread write its frames.
    signal: c_int,
    /// Where they can be read, without blocking.
    descriptor: c_int,
    /// Frames of files in this folder are weft's own.
    folder: String,
}

impl Locator {
    /// For the calling thread: `signal` has it write its frames to `descriptor`, which does not block.
    pub fn of_this_thread(folder: &str, signal: c_int, descriptor: c_int) -> Locator {
        // SAFETY: has no arguments.
        let thread = unsafe { libc::pthread_self() };
        Locator { thread, signal, descriptor, folder: folder.to_owned() }
    }

    pub fn boxed(self) -> Locate {
        Box::new(move || self.ask())
    }

    fn ask(&self) -> Option<String> {
        self.read(0);
        // SAFETY: the thread runs Python, and lives as long as the MPI of this process, whose watchdog asks.
        if unsafe { libc::pthread_kill(self.thread, self.signal) } != 0 {
            return None;
        }
        let mut text = Vec::new();
        loop {
            let more = self.read(PATIENCE[usize::from(!text.is_empty())]);
            if more.is_empty() {
                break;
            }
            text.extend(more);
        }
        caller(&String::from_utf8_lossy(&text), &self.folder).map(|(file, line)| shown(&file, line))
    }

    /// What can be read, after at most so many milliseconds.
    fn read(&self, patience: c_int) -> Vec<u8> {
        let mut polled = libc::pollfd { fd: self.descriptor, events: libc::POLLIN, revents: 0 };
        let mut bytes = vec![0; 1 << 16];
        // SAFETY: one entry and a buffer, which live through the calls.
        let count = unsafe {
            if libc::poll(&mut polled, 1, patience) <= 0 {
                return Vec::new();
            }
            libc::read(self.descriptor, bytes.as_mut_ptr().cast(), bytes.len())
        };
        bytes.truncate(usize::try_from(count).unwrap_or(0));
        bytes
    }
}

/// The innermost frame that is of a file, and of none in the folder, in what `faulthandler` writes:
/// `  File "program.py", line 12 in main`.
fn caller(text: &str, folder: &str) -> Option<(String, usize)> {
    text.lines().find_map(|line| {
        let (file, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        (!file.starts_with(folder) && !file.starts_with('<')).then_some((file.to_owned(), rest[..digits].parse().ok()?))
    })
}

/// File, line, and what stands there.
fn shown(file: &str, line: usize) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    match text.lines().nth(line.saturating_sub(1)).map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => format!("{file}:{line}: {}", text.chars().take(MAX_LINE).collect::<String>()),
        None => format!("{file}:{line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_is_the_first_frame_outside_of_weft() {
        let text = "Stack (most recent call first):\n  File \"/w/weft/distributed/array.py\", line 9 in gather\n  \
                    File \"<string>\", line 1 in f\n  File \"a, b.py\", line 12 in main\n  File \"c.py\", line 3 in <module>\n";
        assert_eq!(caller(text, "/w/weft/"), Some(("a, b.py".to_owned(), 12)));
        assert_eq!(caller("Stack (most recent call first):\n", "/w/weft/"), None);
        assert_eq!(caller("  File \"x.py\", line \n", "/w/"), None);
    }

    #[test]
    fn a_file_that_is_not_there_has_no_text() {
        assert_eq!(shown("/nowhere/at/all.py", 3), "/nowhere/at/all.py:3");
    }
}
