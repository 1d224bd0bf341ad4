//! Input as messages show it: never longer than a line, never able to move a terminal's cursor.

use std::fmt::Write;

/// The most characters of a piece of input that a message shows.
pub const MAX_SHOWN: usize = 80;

/// The most characters of a line of a message; what is longer was made of input that nobody shortened.
pub const MAX_LINE: usize = 1000;

/// Characters that a terminal, or the order of what is displayed, reacts to.
pub fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn push(shown: &mut String, character: char) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        _ if is_control(character) && u32::from(character) < 0x100 => {
            // Writing to a String does not fail.
            let _ = write!(shown, "\\x{:02x}", character as u32);
        }
        _ if is_control(character) => {
            let _ = write!(shown, "\\u{:04x}", character as u32);
        }
        _ => shown.push(character),
    }
}

/// A piece of input as a message shows it: control characters escaped, at most [`MAX_SHOWN`] characters of it, an ellipsis
/// where there are more.
///
/// # Examples
/// ```
/// use weft_base::quoting::{MAX_SHOWN, shown};
///
/// // An escape sequence would clear the terminal.
/// assert_eq!(shown("a\u{1b}[2Jb"), "a\\x1b[2Jb");
/// assert_eq!(shown(&"x".repeat(1_000_000)).chars().count(), MAX_SHOWN + 1);
/// ```
pub fn shown(text: &str) -> String {
    shortened(text, MAX_SHOWN)
}

/// As [`shown`], with at most `most` characters of the input.
pub fn shortened(text: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(most) {
        push(&mut shown, character);
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Whether a text is fit to be shown as it is: it has no control characters but line ends and tabs.
pub fn is_plain(text: &str) -> bool {
    text.chars().all(|character| matches!(character, '\n' | '\r' | '\t') || !is_control(character))
}

/// A line of input with what a terminal reacts to replaced, character by character, so that columns in it stay the
/// same.
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|character| if character != '\t' && is_control(character) { '\u{fffd}' } else { character })
        .collect()
}

/// A whole message made fit to be printed: its own line ends stay, other control characters are escaped, and lines are cut
/// after [`MAX_LINE`] characters. What other libraries say of an input may contain any amount of it.
pub fn message(text: &str) -> String {
    let mut lines = String::new();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            lines.push('\n');
        }
        lines.push_str(&shortened(line, MAX_LINE));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_input_is_shown_as_it_is() {
        assert_eq!(shown("torus 8×8"), "torus 8×8");
        assert_eq!(shown(""), "");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(shown("a\u{1b}[2Jb\0\n\t\r\u{9b}"), "a\\x1b[2Jb\\x00\\n\\t\\r\\x9b");
        assert_eq!(shown("\u{202e}\u{2028}"), "\\u202e\\u2028");
        assert_eq!(visible("a\u{1b}\tb"), "a\u{fffd}\tb");
    }

    #[test]
    fn long_input_is_cut_at_a_character() {
        for length in [MAX_SHOWN - 1, MAX_SHOWN, MAX_SHOWN + 1, 28_000_000] {
            let text = shown(&"é".repeat(length));
            let cut = length > MAX_SHOWN;
            assert_eq!(text.chars().count(), length.min(MAX_SHOWN) + usize::from(cut), "{length}");
            assert_eq!(text.ends_with('…'), cut);
        }
    }

    #[test]
    fn messages_keep_their_lines_and_nothing_else_that_moves() {
        assert_eq!(message("one\ntwo\u{7}"), "one\ntwo\\x07");
        let long = message(&format!("{}\nend", "x".repeat(100_000)));
        assert_eq!(long.lines().map(|line| line.chars().count()).collect::<Vec<_>>(), [MAX_LINE + 1, 3]);
    }
}
