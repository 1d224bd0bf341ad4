//! What is wrong with a machine file, and where.

use std::fmt;
use std::ops::Range;

use weft_base::quoting::visible;

/// A fault of a machine file.
///
/// Printed, its first line is `FILE:LINE: KEY: expected …` and says everything; the lines after show the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The path as it was given.
    pub file: String,
    /// The key with the tables it is in, as `protocols[1].hop_time`; `syntax` where the file is no TOML.
    pub key: String,
    /// Counted from 1.
    pub line: usize,
    /// Characters from 1.
    pub column: usize,
    /// What was expected, what was found, and the nearest right word if there is one.
    pub message: String,
    /// The text of the line, and how many of its characters from `column` on are meant.
    excerpt: String,
    /// Characters of the excerpt before those.
    indent: u8,
    width: u8,
}

impl Diagnostic {
    /// A fault of the bytes `span` of `text`.
    pub(super) fn new(file: &str, text: &str, key: String, span: Range<usize>, message: String) -> Diagnostic {
        let start = floor_boundary(text, span.start);
        let end = floor_boundary(text, span.end.max(start));
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let (excerpt, indent) = excerpt(text[line_start..line_end].trim_end_matches('\r'), start - line_start);
        let width = text[start..end.min(line_end).max(start)].trim_end().chars().count();
        let shown = excerpt.chars().count().saturating_sub(usize::from(indent));
        Diagnostic {
            file: file.to_owned(),
            key,
            line: before.matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            message,
            excerpt,
            indent,
            width: small(width.min(shown).max(1)),
        }
    }
}

/// Characters of a line that are shown, and of those how many before the position.
const MAX_EXCERPT: usize = 120;
const MAX_BEFORE: usize = 60;

/// A number of characters of an excerpt, of which there are at most [`MAX_EXCERPT`] and two ellipses.
fn small(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

/// The line, or what surrounds byte `at` of a long one, and how many characters of that come before it.
fn excerpt(line: &str, at: usize) -> (String, u8) {
    let before = line[..at].chars().count();
    let skipped = before.saturating_sub(MAX_BEFORE);
    let mut rest = line.chars().skip(skipped);
    let mut shown: String = if skipped > 0 { "…".to_owned() } else { String::new() };
    shown.extend(rest.by_ref().take(MAX_EXCERPT));
    if rest.next().is_some() {
        shown.push('…');
    }
    (visible(&shown), small(before - skipped + usize::from(skipped > 0)))
}

/// The last character boundary at or before `index`.
fn floor_boundary(text: &str, index: usize) -> usize {
    let index = index.min(text.len());
    (0..=index).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: {}: {}", self.file, self.line, self.key, self.message)?;
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let indent: String =
            self.excerpt.chars().take(usize::from(self.indent)).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.excerpt)?;
        write!(f, "{margin} | {indent}{}", "^".repeat(usize::from(self.width)))
    }
}

impl std::error::Error for Diagnostic {}

/// All faults of a machine file, at least one, in the order of its lines.
///
/// Printed, they follow each other with an empty line between; of many the first [`MAX_SHOWN`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(Vec<Diagnostic>);

/// Faults that are printed: a file of another kind may have one a line.
pub const MAX_SHOWN: usize = 20;

impl Faults {
    /// Those of `faults`, if there are any.
    pub(super) fn of(mut faults: Vec<Diagnostic>) -> Option<Faults> {
        faults.sort_by_key(|fault| (fault.line, fault.column));
        (!faults.is_empty()).then_some(Faults(faults))
    }

    /// Each fault, in the order of the lines.
    pub fn all(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().take(MAX_SHOWN).enumerate() {
            let before = if index == 0 { "" } else { "\n\n" };
            write!(f, "{before}{fault}")?;
        }
        match self.0.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n\n{more} more faults are not shown"),
        }
    }
}

impl std::error::Error for Faults {}
