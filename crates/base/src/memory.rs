//! How much memory this process may still take, and refusing what would take more.
//!
//! What a description asks for (nodes of a machine, entries of a matrix, rows of a table) is estimated before it is taken:
//! an allocation that fails ends the process, and one that a container does not allow has it killed.

use std::fmt;
use std::path::{Path, PathBuf};

/// What can still be taken, and what sets the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Available {
    /// In bytes.
    pub bytes: u64,
    /// For people: `the limit of the control group`.
    pub limit: &'static str,
}

/// Something needs more memory than there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} takes about {} of memory, and {} can be had ({}); {advice}", Bytes(*.needed), Bytes(.available.bytes), .available.limit)]
pub struct MemoryError {
    /// What needs it.
    pub what: String,
    /// About how many bytes.
    pub needed: u64,
    pub available: Available,
    /// What to do about it.
    pub advice: String,
}

/// A number of bytes for people, in powers of 1024.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < units.len() {
            value /= 1024.0;
            unit += 1;
        }
        let digits = usize::from(unit > 0 && value < 100.0);
        write!(f, "{value:.digits$} {}", units[unit])
    }
}

/// Refuses what takes `needed` bytes where so much cannot be had.
///
/// Of small needs only the limits of this process are looked into, if there are any: to read what the system has left takes
/// longer than to take 16 MiB does.
///
/// # Errors
/// [`MemoryError`] with both figures, `what` needs it, and `advice`.
///
/// # Examples
/// ```
/// use weft_base::memory::require;
///
/// assert!(require(1024, "a small table", "ask for less").is_ok());
/// let error = require(3 << 60, "a machine of 2^50 nodes", "describe fewer").unwrap_err().to_string();
/// assert!(error.starts_with("a machine of 2^50 nodes takes about 3.0 EiB of memory"));
/// assert!(error.ends_with("; describe fewer"));
/// ```
pub fn require(needed: u64, what: impl fmt::Display, advice: impl fmt::Display) -> Result<(), MemoryError> {
    const UNLIMITED: u64 = 16 << 20;
    let available = if needed > UNLIMITED {
        available()
    } else {
        [address_space(), data()].into_iter().flatten().min_by_key(|limit| limit.bytes)
    };
    match available {
        Some(available) if available.bytes < needed => {
            Err(MemoryError { what: what.to_string(), needed, available, advice: advice.to_string() })
        }
        _ => Ok(()),
    }
}

/// What this process may still take: the least of what the system has, what its control group and its resource limits
/// allow; `None` where nothing can be found out.
pub fn available() -> Option<Available> {
    [physical(), control_group(), address_space(), data()].into_iter().flatten().min_by_key(|limit| limit.bytes)
}

/// Memory of the machine that nothing uses, or that the system can take back at once.
fn physical() -> Option<Available> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some(Available { bytes: kibibytes(&text, "MemAvailable:")?, limit: "what the system has left" })
}

/// The address space that RLIMIT_AS (`ulimit -v`) leaves.
fn address_space() -> Option<Available> {
    of_resource(rustix::process::Resource::As, "VmSize:", "the limit of the address space, ulimit -v")
}

/// The data that RLIMIT_DATA (`ulimit -d`) leaves.
fn data() -> Option<Available> {
    of_resource(rustix::process::Resource::Data, "VmData:", "the limit of the data segment, ulimit -d")
}

fn of_resource(resource: rustix::process::Resource, used: &str, limit: &'static str) -> Option<Available> {
    let most = rustix::process::getrlimit(resource).current?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = most.saturating_sub(kibibytes(&status, used).unwrap_or(0));
    Some(Available { bytes, limit })
}

/// The bytes of a line such as `MemAvailable:   123 kB`.
fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What the control group of this process, and each that contains it, leaves.
fn control_group() -> Option<Available> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let bytes = groups.lines().filter_map(of_line).min()?;
    Some(Available { bytes, limit: "the limit of the control group" })
}

/// The names of the files of one version of control groups.
struct Version {
    root: &'static str,
    limit: &'static str,
    used: &'static str,
    /// Of `memory.stat`: pages of files that the system takes back before it refuses anything.
    reclaimable: &'static str,
}

const FIRST: Version = Version {
    root: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
};
const SECOND: Version =
    Version { root: "/sys/fs/cgroup", limit: "memory.max", used: "memory.current", reclaimable: "inactive_file" };

/// What the group of one line of `/proc/self/cgroup` (`0::/path`, or `4:memory:/path`) leaves.
fn of_line(line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let version = match (number, controllers) {
        ("0", "") => &SECOND,
        (_, names) if names.split(',').any(|name| name == "memory") => &FIRST,
        _ => return None,
    };
    // Within a container the path may be one that is not there: then the root is the container's own group.
    let folder = PathBuf::from(format!("{}/{}", version.root, path.trim_matches('/')));
    folder
        .ancestors()
        .take_while(|folder| folder.starts_with(version.root))
        .filter_map(|folder| left(folder, version))
        .min()
}

fn left(folder: &Path, version: &Version) -> Option<u64> {
    let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = number(version.limit)?;
    let statistics = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let of_files = statistics.lines().find_map(|line| {
        let (name, count) = line.split_once(' ')?;
        (name == version.reclaimable).then(|| count.parse::<u64>().ok())?
    });
    Some(limit.saturating_sub(number(version.used)?.saturating_sub(of_files.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_had_is_known_here_and_small_needs_are_met() {
        let limit = available().expect("this system says what memory it has");
        assert!(limit.bytes > 1 << 20, "{limit:?}");
        assert_eq!(require(1 << 20, "a test", "buy more"), Ok(()));
    }

    #[test]
    fn a_need_beyond_everything_is_refused_with_both_figures() {
        let error = require(3 << 60, "a machine of 2^50 nodes", "describe fewer").unwrap_err().to_string();
        assert!(error.starts_with("a machine of 2^50 nodes takes about 3.0 EiB of memory, and "), "{error}");
        assert!(error.contains(" can be had (") && error.ends_with("; describe fewer"), "{error}");
    }

    #[test]
    fn sizes_are_for_people() {
        let shown = [0, 1023, 1024, 1 << 20, 100 << 20, (3 << 30) + (1 << 29), u64::MAX].map(|n| Bytes(n).to_string());
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.0 MiB", "100 MiB", "3.5 GiB", "16.0 EiB"]);
    }

    #[test]
    fn lines_of_the_system_are_read() {
        assert_eq!(kibibytes("MemTotal: 9 kB\nMemAvailable:   12 kB\n", "MemAvailable:"), Some(12 << 10));
        assert_eq!(kibibytes("MemTotal: 9 kB\n", "MemAvailable:"), None);
        assert_eq!(of_line("3:cpu:/x"), None);
        assert_eq!(of_line("nonsense"), None);
    }
}
