//! What the kernels ask of the processor: its last cache and its vector registers.

use std::fs;
use std::num::NonZeroUsize;
use std::sync::OnceLock;

/// Where the size of the last cache cannot be found out.
const USUAL_CACHE: usize = 32 << 20;

/// Bytes of the largest cache that this process can see, as the operating system reports it.
///
/// On a virtual machine this is what the host declares, which may be shared with others.
pub fn last_level_cache() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| largest_reported("/sys/devices/system/cpu/cpu0/cache").unwrap_or(USUAL_CACHE))
}

fn largest_reported(folder: &str) -> Option<usize> {
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

/// The widest vector instructions that the kernels have code for and this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// None that is used: any architecture.
    Portable,
    /// 32-byte registers of x86-64.
    Avx2,
    /// 64-byte registers of x86-64 with masks for single bytes.
    Avx512,
}

impl Extension {
    /// As data sheets write it.
    pub fn name(self) -> &'static str {
        match self {
            Extension::Portable => "portable",
            Extension::Avx2 => "AVX2",
            Extension::Avx512 => "AVX-512",
        }
    }
}

/// What this processor has, found out once.
pub fn vector_extension() -> Extension {
    static FOUND: OnceLock<Extension> = OnceLock::new();
    *FOUND.get_or_init(detect)
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Extension {
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
        Extension::Avx512
    } else if is_x86_feature_detected!("avx2") {
        Extension::Avx2
    } else {
        Extension::Portable
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Extension {
    Extension::Portable
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
        assert!(last_level_cache() > 0);
    }
}
