//! What the system says about memory and caches. On systems other than Linux it says nothing, and the callers do
//! without.

use std::fs;
use std::path::Path;

use super::error::NodeError;

/// Memory of the machine, of the control group and of the process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Memory {
    /// Bytes of physical memory, or the least limit of the process's control groups if that is less.
    pub total: u64,
    /// Bytes that can be had without swapping, under every limit.
    pub available: u64,
    /// Which limit decides.
    pub decided_by: String,
}

/// A bound on the memory that can be had.
struct Bound {
    total: u64,
    available: u64,
    name: String,
}

/// Asks the system: `MemAvailable` of /proc/meminfo, the limits and usage of the control groups of the process (version
/// 1 and 2, every level up to the root), and the limit of its address space.
pub(crate) fn memory() -> Option<Memory> {
    let machine = of_meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let total = machine.total;
    let mut bounds = of_control_groups(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default(), total);
    bounds.extend(of_address_space(
        &fs::read_to_string("/proc/self/limits").unwrap_or_default(),
        &fs::read_to_string("/proc/self/status").unwrap_or_default(),
    ));
    bounds.push(machine);
    let total = bounds.iter().map(|bound| bound.total).min()?;
    let least = bounds.into_iter().min_by_key(|bound| bound.available)?;
    Some(Memory { total, available: least.available, decided_by: least.name })
}

/// Bytes of memory that this process can still have; `None` where the system does not say.
pub fn available_memory() -> Option<u64> {
    memory().map(|memory| memory.available)
}

/// Refuses what would take more than half of the memory available; where the system does not say, allows it.
pub(crate) fn check_memory(benchmark: &'static str, needed: u64) -> Result<(), NodeError> {
    match memory() {
        Some(memory) if needed > memory.available / 2 => {
            Err(NodeError::NotEnoughMemory { benchmark, needed, available: memory.available })
        }
        _ => Ok(()),
    }
}

/// The number of a line like `MemTotal:  24684096 kB`, in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn of_meminfo(text: &str) -> Option<Bound> {
    let total = field(text, "MemTotal")?;
    Some(Bound { total, available: field(text, "MemAvailable")?, name: "MemAvailable of /proc/meminfo".to_owned() })
}

/// Limits of every group from the process's own to the root; a limit at or above the machine's memory is none.
fn of_control_groups(groups: &str, machine: u64) -> Vec<Bound> {
    let mut bounds = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (root, limit, usage) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        for ancestor in Path::new(path.trim_start_matches('/')).ancestors() {
            let folder = Path::new(root).join(ancestor);
            bounds.extend(of_control_group(&folder, limit, usage, machine));
        }
    }
    bounds
}

fn of_control_group(folder: &Path, limit: &str, usage: &str, machine: u64) -> Option<Bound> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let total = number(limit).filter(|&limit| limit < machine)?;
    // Cached files count as usage but are given up when memory is needed.
    let cached = fs::read_to_string(folder.join("memory.stat")).ok().and_then(|text| inactive_file(&text)).unwrap_or(0);
    let used = number(usage)?.saturating_sub(cached);
    Some(Bound { total, available: total.saturating_sub(used), name: format!("{limit} of the control group") })
}

fn inactive_file(stat: &str) -> Option<u64> {
    let line =
        stat.lines().find(|line| line.starts_with("total_inactive_file ") || line.starts_with("inactive_file "))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn of_address_space(limits: &str, status: &str) -> Option<Bound> {
    let line = limits.lines().find(|line| line.starts_with("Max address space"))?;
    let total: u64 = line.trim_start_matches("Max address space").split_whitespace().next()?.parse().ok()?;
    let available = total.saturating_sub(field(status, "VmSize")?);
    Some(Bound { total, available, name: "the limit of the address space".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read_in_bytes() {
        let bound = of_meminfo("MemTotal:       24684096 kB\nMemFree: 1 kB\nMemAvailable:   1000 kB\n").unwrap();
        assert_eq!((bound.total, bound.available), (24684096 * 1024, 1_024_000));
        assert!(of_meminfo("nonsense").is_none());
        assert!(of_meminfo("MemTotal: many kB\n").is_none());
    }

    #[test]
    fn control_group_limits_of_both_versions_are_found() {
        let folder = std::env::temp_dir().join(format!("weft-cgroup-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("memory.max"), "1000000\n").unwrap();
        fs::write(folder.join("memory.current"), "400000\n").unwrap();
        fs::write(folder.join("memory.stat"), "anon 5\ninactive_file 100000\n").unwrap();
        let bound = of_control_group(&folder, "memory.max", "memory.current", 1 << 40).unwrap();
        assert_eq!((bound.total, bound.available), (1_000_000, 700_000));
        assert!(of_control_group(&folder, "memory.max", "memory.current", 1_000_000).is_none());
        fs::write(folder.join("memory.max"), "max\n").unwrap();
        assert!(of_control_group(&folder, "memory.max", "memory.current", 1 << 40).is_none());
        fs::remove_dir_all(folder).unwrap();
        assert!(of_control_groups("no:such\nline", 1 << 40).is_empty());
    }

    #[test]
    fn the_address_space_is_bounded_where_it_is() {
        let limits = "Limit  Soft Limit\nMax address space         1000000              unlimited            bytes\n";
        let bound = of_address_space(limits, "VmSize:\t 100 kB\n").unwrap();
        assert_eq!(bound.available, 1_000_000 - 102_400);
        assert!(of_address_space("Max address space         unlimited  unlimited bytes", "VmSize: 1 kB").is_none());
    }
}
