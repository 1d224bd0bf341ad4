//! What is wrong with a program: where, in which words, and what to do about it.

use std::fmt;
use std::ops::Range;

use ariadne::{Color, Config, IndexType, Label, Report, ReportKind};
use serde::Serialize;

use crate::ir::{Source, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The program runs, but perhaps not as meant.
    Warning,
    /// The program cannot run.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A short name of the kind of finding, the same in every version: `syntax`, `unknown-predicate`, …
    pub code: &'static str,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What is said beside the place; empty for nothing.
    pub label: String,
    /// Other places that matter, and why.
    pub related: Vec<(Span, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    /// A warning at a place.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// With words beside the place.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With another place.
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }
}

/// A finding with its place in lines and columns, for programs that read it.
#[derive(Clone, Debug, Serialize)]
pub struct Finding<'a> {
    /// How bad it is.
    pub severity: Severity,
    /// The kind of finding.
    pub code: &'static str,
    /// What is wrong.
    pub message: &'a str,
    /// The file as the user named it.
    pub file: &'a str,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What to do.
    pub help: Option<&'a str>,
}

/// The findings of a run of the checker, in the order of their places.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Puts the findings into the order of their places, errors before warnings at the same place.
    pub fn sort(&mut self) {
        self.list.sort_by_key(|finding| {
            (finding.span.source, finding.span.start, std::cmp::Reverse(finding.severity), finding.span.end)
        });
        self.list.dedup();
    }

    /// All findings.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many are errors.
    pub fn errors(&self) -> usize {
        self.list.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    /// How many are warnings.
    pub fn warnings(&self) -> usize {
        self.len() - self.errors()
    }

    /// With lines and columns instead of bytes.
    pub fn findings<'a>(&'a self, sources: &'a [Source]) -> Vec<Finding<'a>> {
        let lines: Vec<_> = sources.iter().map(Source::lines).collect();
        let finding = |diagnostic: &'a Diagnostic| {
            let source = &sources[diagnostic.span.source as usize];
            let (line, column) = lines[diagnostic.span.source as usize].line_and_column(source, diagnostic.span.start);
            Finding {
                severity: diagnostic.severity,
                code: diagnostic.code,
                message: &diagnostic.message,
                file: &source.name,
                line,
                column,
                help: diagnostic.help.as_deref(),
            }
        };
        self.list.iter().map(finding).collect()
    }

    /// For people: every finding with an excerpt of the source, the place marked, and what to do.
    pub fn render(&self, sources: &[Source], color: bool) -> String {
        let mut cache = ariadne::FnCache::new(|shown: &Shown| {
            let source = sources.get(shown.number as usize);
            source.map(|source| displayed(&source.text)).ok_or_else(|| format!("no source {shown}"))
        });
        let mut text = Vec::new();
        for diagnostic in self.list.iter().take(MAX_RENDERED) {
            if !has_excerpts(diagnostic, sources) {
                text.extend(without_excerpt(diagnostic, sources).as_bytes());
                continue;
            }
            let report = report(diagnostic, sources, color);
            // Writing into memory cannot fail, and every place is in a known source.
            report.write(&mut cache, &mut text).expect("a report is written into memory");
        }
        let mut lines: String =
            String::from_utf8_lossy(&text).lines().map(|line| format!("{}\n", cut(line.trim_end(), color))).collect();
        if self.list.len() > MAX_RENDERED {
            lines.push_str(&format!("and {} more findings\n", self.list.len() - MAX_RENDERED));
        }
        lines
    }
}

/// The most findings that are shown with their excerpts: a file that is no program at all has one in every line.
const MAX_RENDERED: usize = 100;

/// The most characters of a line that are shown.
const MAX_LINE: usize = 400;

/// The most bytes that a line may have for an excerpt to be made of it.
const MAX_EXCERPT: usize = 1000;

/// The most characters of a source's name that are shown.
const MAX_NAME: usize = 200;

/// A source as reports name it: the names that callers give need not differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shown {
    number: u32,
    name: String,
}

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// The name of a source in one short line, as a caller may have given anything for it.
fn shown_name(name: &str) -> String {
    let mut shown: String = name.chars().take(MAX_NAME).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.chars().nth(MAX_NAME).is_some() {
        shown.push('…');
    }
    shown
}

/// A source with what a terminal reacts to replaced byte by byte, so that places in it stay the same.
fn displayed(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' | '\r' | '\t' => character,
            '\u{061c}' => '\u{bf}',
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => '\u{fffd}',
            _ if !character.is_control() => character,
            _ if character.len_utf8() == 1 => '?',
            _ => '\u{bf}',
        })
        .collect()
}

/// The beginning of a line that is longer than a line should be; colors end with it.
fn cut(line: &str, color: bool) -> String {
    match line.char_indices().nth(MAX_LINE) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…{}", &line[..end], if color { "\u{1b}[0m" } else { "" }),
    }
}

/// Whether the lines of a finding can be shown: not those that are very long, or would do something to a terminal.
fn has_excerpts(diagnostic: &Diagnostic, sources: &[Source]) -> bool {
    let spans = std::iter::once(&diagnostic.span).chain(diagnostic.related.iter().map(|(span, _)| span));
    spans.into_iter().all(|span| {
        let (_, location) = location(*span, sources);
        let text = &sources[span.source as usize].text;
        let start = text[..location.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[location.end..].find('\n').map_or(text.len(), |newline| location.end + newline);
        let lines = &text[start..end];
        lines.lines().all(|line| line.len() <= MAX_EXCERPT)
            && !lines.chars().any(|character| character.is_control() && !matches!(character, '\n' | '\t' | '\r'))
    })
}

/// A finding with its place in words only.
fn without_excerpt(diagnostic: &Diagnostic, sources: &[Source]) -> String {
    let severity = if diagnostic.severity == Severity::Error { "Error" } else { "Warning" };
    let source = &sources[diagnostic.span.source as usize];
    let (line, column) = source.line_and_column(diagnostic.span.start);
    let message: String = diagnostic.message.chars().filter(|character| !character.is_control()).collect();
    let name = shown_name(&source.name);
    let mut text = format!("[{}] {severity}: {name}:{line}:{column}: {message}\n", diagnostic.code);
    if let Some(help) = &diagnostic.help {
        text.push_str(&format!("  Help: {help}\n"));
    }
    text
}

type Location = (Shown, Range<usize>);

fn location(span: Span, sources: &[Source]) -> Location {
    let source = &sources[span.source as usize];
    // A place at the end of a file is shown on its last character.
    let end = source.text.trim_end().len();
    let mut start = (span.start as usize).min(end.saturating_sub(1));
    while !source.text.is_char_boundary(start) {
        start -= 1;
    }
    let shown = Shown { number: span.source, name: shown_name(&source.name) };
    (shown, start..(span.end as usize).min(source.text.len()).max(start))
}

fn report(diagnostic: &Diagnostic, sources: &[Source], color: bool) -> Report<'static, Location> {
    let (kind, paint) = match diagnostic.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
    };
    let at = location(diagnostic.span, sources);
    let mut main = Label::new(at.clone()).with_color(paint).with_order(-1);
    if !diagnostic.label.is_empty() {
        main = main.with_message(&diagnostic.label);
    }
    let config = Config::default().with_index_type(IndexType::Byte).with_color(color).with_compact(false);
    let mut report = Report::build(kind, at)
        .with_config(config)
        .with_code(diagnostic.code)
        .with_message(&diagnostic.message)
        .with_label(main);
    for (span, words) in &diagnostic.related {
        report = report.with_label(Label::new(location(*span, sources)).with_color(Color::Cyan).with_message(words));
    }
    if let Some(help) = &diagnostic.help {
        report = report.with_help(help);
    }
    report.finish()
}

/// The candidate that looks most like `name`, if one looks like it at all.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|&(distance, candidate)| distance * 3 <= name.chars().count().max(candidate.chars().count()).max(3))
        .min_by_key(|&(distance, candidate)| (distance, candidate))
        .map(|(_, candidate)| candidate)
}
