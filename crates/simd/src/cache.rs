//! The caches and processors that this process sees.

use std::fs;
use std::num::NonZeroUsize;
use std::sync::OnceLock;

/// Bytes of a cache line.
pub const CACHE_LINE: usize = 64;

/// Where the size of the last cache cannot be found out.
const USUAL_CACHE: usize = 32 << 20;

/// Where the size of the second one cannot.
const USUAL_SECOND_LEVEL: usize = 1 << 20;

/// Bytes of the largest cache of the first processor, as the operating system reports it; None where it says nothing.
///
/// On a virtual machine this is what the host declares, which may be shared with others.
pub fn largest_reported_cache() -> Option<usize> {
    static SIZE: OnceLock<Option<usize>> = OnceLock::new();
    *SIZE.get_or_init(|| largest_in("/sys/devices/system/cpu/cpu0/cache"))
}

/// [`largest_reported_cache`], or a usual size where that says nothing.
pub fn last_level_cache() -> usize {
    largest_reported_cache().unwrap_or(USUAL_CACHE)
}

/// Bytes of the second-level cache of the first processor, as the operating system reports it, or a usual size where that
/// says nothing.
pub fn second_level_cache() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| {
        let second = sizes_in("/sys/devices/system/cpu/cpu0/cache").find(|&(level, _)| level == 2);
        second.map_or(USUAL_SECOND_LEVEL, |(_, size)| size)
    })
}

fn largest_in(folder: &str) -> Option<usize> {
    sizes_in(folder).map(|(_, size)| size).max()
}

/// The level and the size of each cache.
fn sizes_in(folder: &str) -> impl Iterator<Item = (usize, usize)> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| {
        let cache = entry.ok()?.path();
        let read = |name: &str| fs::read_to_string(cache.join(name)).ok();
        Some((read("level")?.trim().parse().ok()?, parse_size(read("size")?.trim())?))
    })
}

/// Sizes as the kernel writes them: `32K`, `32768K`, `16M`.
fn parse_size(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

/// Processors for the calls of this process, found out once: those that it may use, shared evenly among the ranks of an
/// MPI job on this computer where those are not bound to some each.
pub fn processors() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let available = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        if is_bound() { available } else { share(available, local_ranks()) }
    })
}

/// Ranks of this process's MPI job on this computer, as the launcher says; None where it says nothing, or there is no job.
pub fn local_ranks() -> Option<usize> {
    ["MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"]
        .iter()
        .find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
}

fn share(available: usize, ranks: Option<usize>) -> usize {
    (available / ranks.unwrap_or(1).max(1)).max(1)
}

/// Whether this process may use some of the computer's processors only.
#[cfg(target_os = "linux")]
fn is_bound() -> bool {
    // SAFETY: a set of processors is bits, all of which may be 0; the call writes no more than its size.
    let (set, code) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let code = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        (set, code)
    };
    // SAFETY: the set is initialised, and the other call takes a number.
    let (own, online) = unsafe { (libc::CPU_COUNT(&set), libc::sysconf(libc::_SC_NPROCESSORS_ONLN)) };
    // A set too small for the computer's processors is no answer.
    code == 0 && i64::from(own) < online
}

/// Whether this process may use some of the computer's processors only.
#[cfg(not(target_os = "linux"))]
fn is_bound() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches() {
        assert_eq!(parse_size("32K"), Some(32 << 10));
        assert_eq!(parse_size("16M"), Some(16 << 20));
        assert_eq!(parse_size("512"), Some(512));
        assert_eq!(parse_size("many"), None);
        assert_eq!(parse_size(""), None);
        assert_eq!(parse_size("99999999999999999999K"), None);
        assert!(last_level_cache() > 0);
        assert!((1 << 10..=last_level_cache()).contains(&second_level_cache()));
        assert_eq!(largest_in("no such folder"), None);
    }
    #[test]
    fn processors_are_shared_among_ranks() {
        for (available, ranks, expected) in
            [(8, None, 8), (8, Some(1), 8), (8, Some(3), 2), (2, Some(4), 1), (1, Some(0), 1)]
        {
            assert_eq!(share(available, ranks), expected);
        }
    }
}
