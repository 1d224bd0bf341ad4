//! Tokens.

use logos::{Lexer, Logos};

use crate::diagnostics::Diagnostic;
use crate::ir::{MAX_INTEGER, Span};

/// A token of the language. Numbers keep their text: their value may not fit.
#[derive(Logos, Clone, Debug, PartialEq)]
#[logos(skip r"[ \t\r\n\x0c]+")]
#[logos(skip(r"%[^\n]*", allow_greedy = true))]
pub(super) enum Token {
    #[regex(r"[\p{Lu}\p{Lt}_][\p{XID_Continue}]*")]
    Variable,
    #[regex(r"[\p{Ll}\p{Lo}\p{Lm}][\p{XID_Continue}]*")]
    Name,
    #[regex(r"[0-9]+")]
    Integer,
    #[regex(r"[1-9][0-9]*'[0-9A-Za-z]+")]
    BasedInteger,
    #[regex(r"0'([^\\\n']|''|\\[^\n])", priority = 20)]
    Character,
    #[regex(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?")]
    Float,
    #[token("'", quoted)]
    QuotedName(Quoted),
    #[token("\"", quoted)]
    String(Quoted),
    // Not what begins with the signs of a comment.
    #[regex(r"/|([~+\-*\\^<>=`:.?@#$&]|/[~+\-/\\^<>=`:.?@#$&])[~+\-*/\\^<>=`:.?@#$&]*", symbol)]
    Symbol(Symbol),
    /// Whether it is closed.
    #[token("/*", block_comment)]
    Comment(bool),
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token("[")]
    OpenList,
    #[token("]")]
    CloseList,
    #[token("{")]
    OpenVector,
    #[token("}")]
    CloseVector,
    #[token(",")]
    Comma,
    #[token("|")]
    Bar,
    #[token(";")]
    Semicolon,
    #[token("!")]
    Cut,
    /// Not cut by the lexer: what ends every text.
    EndOfText,
}

/// What a quoted token holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Quoted {
    Closed(Vec<u8>),
    /// The quote is missing at the end of the line.
    Open,
    /// An escape that is none, at this place within the token.
    BadEscape(usize),
}

/// Characters of operators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Symbol {
    Name,
    /// A full stop that ends a clause.
    End,
}

fn symbol(lexer: &mut Lexer<'_, Token>) -> Symbol {
    let followed_by_space = lexer.remainder().chars().next().is_none_or(|next| next.is_whitespace() || next == '%');
    if lexer.slice() == "." && followed_by_space { Symbol::End } else { Symbol::Name }
}

fn block_comment(lexer: &mut Lexer<'_, Token>) -> bool {
    match lexer.remainder().find("*/") {
        Some(end) => {
            lexer.bump(end + 2);
            true
        }
        None => {
            lexer.bump(lexer.remainder().len());
            false
        }
    }
}

/// Reads up to the closing quote, which is the character that the token began with.
fn quoted(lexer: &mut Lexer<'_, Token>) -> Quoted {
    let mark = lexer.slice().chars().next().expect("the quote itself");
    let text = lexer.remainder();
    let mut bytes = Vec::new();
    let mut bad_escape = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\n' => {
                lexer.bump(at);
                return Quoted::Open;
            }
            '\\' => match escape(&text[at + 1..]) {
                Some((length, byte)) => {
                    bytes.extend(byte);
                    while characters.next_if(|&(next, _)| next < at + 1 + length).is_some() {}
                }
                None => {
                    bad_escape.get_or_insert(at + 1);
                    characters.next_if(|&(_, next)| next != '\n');
                }
            },
            _ if character == mark => {
                // Doubled, it stands for itself.
                if characters.next_if(|&(_, next)| next == mark).is_some() {
                    bytes.push(mark as u8);
                    continue;
                }
                lexer.bump(at + 1);
                return bad_escape.map_or(Quoted::Closed(bytes), Quoted::BadEscape);
            }
            _ => bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    lexer.bump(text.len());
    Quoted::Open
}

/// The byte (none for an escaped newline) that an escape after `\` stands for, and the length of its text.
pub(super) fn escape(text: &str) -> Option<(usize, Option<u8>)> {
    let first = text.chars().next()?;
    let simple = |byte| Some((1, Some(byte)));
    match first {
        'a' => simple(7),
        'b' => simple(8),
        't' => simple(b'\t'),
        'n' => simple(b'\n'),
        'v' => simple(11),
        'f' => simple(12),
        'r' => simple(b'\r'),
        '\'' | '"' | '?' | '\\' | '`' => simple(first as u8),
        '\n' => Some((1, None)),
        '0'..='7' => {
            let digits = text.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            let value = u16::from_str_radix(&text[..digits], 8).ok()?;
            Some((digits, Some(u8::try_from(value).ok()?)))
        }
        'x' => {
            let digits = text[1..].bytes().take_while(u8::is_ascii_hexdigit).count();
            let value = u8::from_str_radix(&text[1..1 + digits], 16).ok()?;
            Some((1 + digits, Some(value)))
        }
        _ => None,
    }
}

/// A token and its place.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub token: Token,
    pub span: Span,
}

/// What some editors put at the beginning of a text.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The beginning of a piece of the source, for a message.
pub(crate) fn shortened(text: &str) -> std::borrow::Cow<'_, str> {
    const LENGTH: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]).into(),
        None if line.len() < text.len() => format!("{line}…").into(),
        None => line.into(),
    }
}

/// The tokens of a text, ended by [`Token::EndOfText`]; what is no token is reported and left out.
pub(super) fn tokens(text: &str, source: u32, report: &mut dyn FnMut(Diagnostic)) -> Vec<Placed> {
    let mut tokens = Vec::new();
    let mut lexer = Token::lexer(text);
    // A byte order mark says only that this is UTF-8.
    lexer.bump(if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 });
    let span_of = |range: std::ops::Range<usize>| Span { source, start: range.start as u32, end: range.end as u32 };
    while let Some(token) = lexer.next() {
        let span = span_of(lexer.span());
        match token {
            Ok(Token::Comment(true)) => {}
            Ok(Token::Comment(false)) => {
                let opening = span_of(lexer.span().start..lexer.span().start + 2);
                report(Diagnostic::error("syntax", opening, "this comment is never closed").help("close it with */"));
            }
            Ok(Token::QuotedName(Quoted::Open) | Token::String(Quoted::Open)) => {
                let mark = lexer.slice().chars().next().unwrap_or('"');
                report(
                    Diagnostic::error(
                        "syntax",
                        span,
                        format!("this quoted text is not closed on its line with {mark}"),
                    )
                    .help("a newline within it is written \\n; a backslash at the end of a line joins lines"),
                );
            }
            Ok(Token::QuotedName(Quoted::BadEscape(at)) | Token::String(Quoted::BadEscape(at))) => {
                let start = lexer.span().start + at;
                report(
                    Diagnostic::error(
                        "syntax",
                        span_of(start..start + 1),
                        "an escape that does not exist, or a byte over 255",
                    )
                    .help("known are \\a \\b \\t \\n \\v \\f \\r \\' \\\" \\? \\\\ \\ooo (octal) and \\xhh"),
                );
            }
            Ok(token) => tokens.push(Placed { token, span }),
            Err(()) => report(
                Diagnostic::error("syntax", span, format!("{:?} means nothing here", shortened(lexer.slice())))
                    .help("quote it if it belongs to a name or a string"),
            ),
        }
    }
    let end = text.len() as u32;
    tokens.push(Placed { token: Token::EndOfText, span: Span { source, start: end, end } });
    tokens
}

/// The value of an integer in a base from 1 to 36; in base 1, the number of ones.
///
/// `Err` holds what is wrong.
pub(crate) fn based_integer(base: &str, digits: &str) -> Result<i64, String> {
    let base: u32 = base.parse().unwrap_or(0);
    match base {
        1 if digits.bytes().all(|digit| matches!(digit, b'0' | b'1')) => {
            Ok(digits.bytes().filter(|&digit| digit == b'1').count() as i64)
        }
        1 => Err("the digits of base 1 are 0 and 1".to_string()),
        2..=36 => match i64::from_str_radix(digits, base) {
            Ok(value) if value <= MAX_INTEGER => Ok(value),
            Ok(_) => Err(too_large()),
            Err(error) if matches!(error.kind(), std::num::IntErrorKind::PosOverflow) => Err(too_large()),
            Err(_) => Err(format!("{digits:?} has a digit that base {base} lacks")),
        },
        _ => Err("a base is 1 to 36".to_string()),
    }
}

/// What is said of an integer that does not fit.
pub(super) fn too_large() -> String {
    format!("integers have 61 bits: at most {MAX_INTEGER}")
}
