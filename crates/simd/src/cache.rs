//! The caches and processors that this process sees.

use std::fs;
use std::num::NonZeroUsize;
use std::sync::OnceLock;

/// Bytes of a cache line.
pub const CACHE_LINE: usize = 64;

/// Where the size of the last cache cannot be found out.
const USUAL_CACHE: usize = 32 << 20;

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

fn largest_in(folder: &str) -> Option<usize> {
    fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| parse_size(fs::read_to_string(entry.ok()?.path().join("size")).ok()?.trim()))
        .max()
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

/// Processors that this process may use, found out once: asking the operating system reads files.
pub fn processors() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
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
        assert_eq!(largest_in("no such folder"), None);
    }
}
