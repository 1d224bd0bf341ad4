//! The vector instructions that code may use.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use thiserror::Error;

/// The environment variable that forces a level.
pub const VARIABLE: &str = "WEFT_SIMD";

/// The vector instructions that code is compiled for. A processor has a level when it has all features of it and of the
/// levels below.
///
/// # Examples
/// ```
/// use weft_simd::Level;
///
/// assert_eq!("avx512".parse(), Ok(Level::Avx512));
/// assert!(Level::Portable < Level::Avx2 && Level::Avx2 < Level::Avx512);
/// assert_eq!(Level::Avx2.features(), ["avx2", "fma"]);
/// // Every processor has the portable level, and the list ends with its widest.
/// assert_eq!(Level::available().first(), Some(&Level::Portable));
/// assert_eq!(Level::available().last(), Some(&Level::of_processor()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// What every processor of the architecture has: SSE2 on x86-64, NEON on aarch64.
    Portable = 1,
    /// Registers of 32 bytes of x86-64, with fused multiply-add.
    Avx2 = 2,
    /// Registers of 64 bytes of x86-64, with masks for single bytes.
    Avx512 = 3,
}

impl Level {
    /// Every level, the narrowest first.
    pub const ALL: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

    /// As data sheets write it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "AVX2",
            Level::Avx512 => "AVX-512",
        }
    }

    /// What [`VARIABLE`] calls it.
    pub fn word(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// Bytes of a vector register.
    pub fn register_bytes(self) -> usize {
        match self {
            Level::Portable => 16,
            Level::Avx2 => 32,
            Level::Avx512 => 64,
        }
    }

    /// The processor features that code of this level may be compiled for.
    pub fn features(self) -> &'static [&'static str] {
        match self {
            Level::Portable => &[],
            Level::Avx2 => &["avx2", "fma"],
            Level::Avx512 => &["avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"],
        }
    }

    /// The widest level of this processor, whatever is forced.
    pub fn of_processor() -> Level {
        static DETECTED: OnceLock<Level> = OnceLock::new();
        *DETECTED.get_or_init(detect)
    }

    /// The levels of this processor, the narrowest first.
    pub fn available() -> Vec<Level> {
        Level::ALL.into_iter().filter(|&level| level <= Level::of_processor()).collect()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = LevelError;

    fn from_str(word: &str) -> Result<Level, LevelError> {
        Level::ALL
            .into_iter()
            .find(|level| level.word() == word)
            .ok_or_else(|| LevelError::Unknown { word: shortened(word) })
    }
}

/// Enough of a word to recognise it by, without what a terminal would obey.
fn shortened(word: &str) -> String {
    const SHOWN: usize = 40;
    let shown: String = word.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if word.chars().count() > SHOWN { format!("{shown}…") } else { shown }
}

/// Why a level cannot be forced.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LevelError {
    /// A word that is no level.
    #[error("{VARIABLE}={word} is no level of vector instructions: set it to portable, avx2 or avx512, or unset it")]
    Unknown { word: String },
    /// Instructions that this processor does not have.
    #[error(
        "{VARIABLE}={} asks for instructions that this processor does not have, whose widest level is {}: set it to {} or \
         unset it", wanted.word(), widest.word(), list(*widest)
    )]
    Missing { wanted: Level, widest: Level },
}

fn list(widest: Level) -> String {
    let words: Vec<&str> = Level::ALL.into_iter().filter(|&level| level <= widest).map(Level::word).collect();
    words.join(" or ")
}

/// The level that a value of [`VARIABLE`] chooses on a processor whose widest is `widest`; none or an empty one chooses
/// that.
fn choice(forced: Option<&str>, widest: Level) -> Result<Level, LevelError> {
    match forced {
        None | Some("") => Ok(widest),
        Some(word) => match word.parse::<Level>()? {
            wanted if wanted > widest => Err(LevelError::Missing { wanted, widest }),
            wanted => Ok(wanted),
        },
    }
}

fn forced() -> Option<String> {
    std::env::var_os(VARIABLE).map(|value| value.to_string_lossy().into_owned())
}

/// The level that code runs at in this process, decided once.
///
/// # Errors
///
/// A value of [`VARIABLE`] that is no level or one that the processor does not have.
pub fn chosen() -> Result<Level, LevelError> {
    static CHOSEN: OnceLock<Result<Level, LevelError>> = OnceLock::new();
    CHOSEN.get_or_init(|| choice(forced().as_deref(), Level::of_processor())).clone()
}

/// Whether the environment forces a level.
pub fn is_forced() -> bool {
    forced().is_some_and(|word| !word.is_empty())
}

/// 0 until [`level`] is asked for the first time.
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The level that code runs at in this process; costs a load. Where [`VARIABLE`] is wrong this is the portable one: what
/// takes calls of users asks [`chosen`] first, which says what is wrong.
#[inline(always)]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Portable,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => first_level(),
    }
}

#[cold]
fn first_level() -> Level {
    let level = chosen().unwrap_or(Level::Portable);
    LEVEL.store(level as u8, Ordering::Relaxed);
    level
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    // The features of each level, as `Level::features` has them: the macro takes literals only.
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        (false, _) => Level::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Portable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_choose_levels_that_the_processor_has() {
        for widest in Level::ALL {
            assert_eq!(choice(None, widest), Ok(widest));
            assert_eq!(choice(Some(""), widest), Ok(widest));
            for wanted in Level::ALL {
                let expected = if wanted <= widest { Ok(wanted) } else { Err(LevelError::Missing { wanted, widest }) };
                assert_eq!(choice(Some(wanted.word()), widest), expected);
            }
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        let missing = choice(Some("avx512"), Level::Avx2).unwrap_err().to_string();
        assert_eq!(
            missing,
            "WEFT_SIMD=avx512 asks for instructions that this processor does not have, whose widest level is avx2: set it \
             to portable or avx2 or unset it"
        );
        let unknown = choice(Some("AVX2"), Level::Avx2).unwrap_err().to_string();
        assert_eq!(
            unknown,
            "WEFT_SIMD=AVX2 is no level of vector instructions: set it to portable, avx2 or avx512, or unset it"
        );
        let long = choice(Some(&"x\u{1b}".repeat(1000)), Level::Avx2).unwrap_err().to_string();
        assert!(long.len() < 400 && !long.contains('\u{1b}'), "{long}");
    }

    #[test]
    fn the_level_is_one_that_the_processor_has() {
        assert!(level() <= Level::of_processor());
        assert_eq!(Level::available().last(), Some(&Level::of_processor()));
        for pair in Level::ALL.windows(2) {
            assert!(pair[0].features().iter().all(|feature| pair[1].features().contains(feature)));
        }
    }
}
