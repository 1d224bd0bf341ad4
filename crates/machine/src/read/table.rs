//! A TOML table that is read key by key, each fault with its line.
//!
//! A wrong value does not end the reading: its fault is noted, and something that stands for it is returned, so that a
//! file is told all of its faults at once. What is returned then is for nobody: a file with faults describes no machine.

use std::cell::RefCell;
use std::ops::Range;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};
use weft_base::quoting::{is_plain, shown};

use super::Diagnostic;
use super::ranges::{beyond, beyond_memory};
use crate::sources::{Sources, UNSTATED};
use crate::suggest::did_you_mean;

/// The file being read.
#[derive(Clone, Copy)]
pub(crate) struct File<'a> {
    pub path: &'a str,
    pub text: &'a str,
    /// The faults so far.
    pub faults: &'a RefCell<Vec<Diagnostic>>,
}

impl File<'_> {
    /// Notes a fault, once.
    pub fn note(self, fault: Diagnostic) {
        let mut faults = self.faults.borrow_mut();
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }

    pub fn fault(self, key: impl Into<String>, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.path, self.text, key.into(), span, message.into())
    }
}

/// One table of the file; every key in it is one of `keys`.
pub(crate) struct Table<'a> {
    file: File<'a>,
    table: &'a DeTable<'a>,
    /// The tables it is in and its own name; empty for the file itself.
    path: String,
    /// Its header.
    span: Range<usize>,
    /// The source its figures inherit.
    source: Option<String>,
    /// Whether it has keys that it cannot have: one that is missing is then most likely one of those, misspelt.
    has_unknown: bool,
    /// The faults of the file before this table was read.
    faults_before: usize,
}

/// A value under a key, with its position in the file.
struct Entry<'a> {
    value: &'a DeValue<'a>,
    span: Range<usize>,
}

/// A number, word or flag and where it comes from.
struct Sourced<'a> {
    entry: Entry<'a>,
    source: String,
    unit: Option<String>,
}

/// What a list of counts is.
const COUNTS: &str = "a list of whole numbers, as [4, 4]";

impl<'a> Table<'a> {
    /// A table whose keys must be among `keys`; `None` allows any. Notes every other key.
    pub fn new(
        file: File<'a>,
        path: String,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        keys: Option<&[&str]>,
    ) -> Table<'a> {
        let faults_before = file.faults.borrow().len();
        let mut this = Table { file, table, path, span, source: None, has_unknown: false, faults_before };
        if let Some(keys) = keys {
            this.has_unknown = this.note_other_keys(keys);
        }
        if this.find("source").is_some() && !this.path.is_empty() {
            this.source = Some(this.text("source"));
        }
        this
    }

    /// Notes the unknown keys; whether there are any.
    fn note_other_keys(&self, keys: &[&str]) -> bool {
        // Tables that take different keys for different kinds list a key once for each of them.
        let mut listed: Vec<&str> = Vec::new();
        for key in keys {
            if !listed.contains(key) {
                listed.push(key);
            }
        }
        let unknown = self.table.keys().filter(|key| !keys.contains(&key.get_ref().as_ref()));
        let faults = unknown.map(|key| {
            let name = key.get_ref().as_ref();
            let suggestion = did_you_mean(name, listed.iter().copied());
            let message = format!("expected one of the keys {}{suggestion}", listed.join(", "));
            self.file.fault(self.key_path(name), key.span(), message)
        });
        faults.map(|fault| self.file.note(fault)).count() > 0
    }

    /// Whether nothing wrong was read in it so far, so that its values can be compared with each other.
    pub fn is_sound(&self) -> bool {
        self.fault_count() == self.faults_before
    }

    /// The faults of the whole file so far.
    pub fn fault_count(&self) -> usize {
        self.file.faults.borrow().len()
    }

    /// What was read; where that is a fault, it is noted.
    pub fn keep<T>(&self, read: Result<T, Diagnostic>) -> Option<T> {
        read.map_err(|fault| self.note(fault)).ok()
    }

    /// Notes a fault.
    pub fn note(&self, fault: Diagnostic) {
        self.file.note(fault);
    }

    /// Notes that a required key is missing, unless an unknown one is likely to be meant for it.
    pub fn note_missing(&self, key: &str, expected: &str) {
        if !self.has_unknown {
            self.note(self.missing(key, expected));
        }
    }

    /// The full name of `key` in messages.
    pub fn key_path(&self, key: &str) -> String {
        if self.path.is_empty() { shown(key) } else { format!("{}.{}", self.path, shown(key)) }
    }

    fn find(&self, key: &str) -> Option<Entry<'a>> {
        self.table.get(key).map(|spanned| Entry { value: spanned.get_ref(), span: spanned.span() })
    }

    /// Whether `key` is in the table.
    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Every key, in the order of the file.
    pub fn keys(&self) -> Vec<&'a str> {
        let mut keys: Vec<&Spanned<_>> = self.table.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        keys.into_iter().map(|key| key.get_ref().as_ref()).collect()
    }

    /// A fault of the value of `key`, or of the key itself where that is at fault.
    pub fn fault(&self, key: &str, message: impl Into<String>) -> Diagnostic {
        let span = self.find(key).map_or(self.span.clone(), |entry| entry.span);
        self.file.fault(self.key_path(key), span, message)
    }

    pub fn key_fault(&self, key: &str, message: impl Into<String>) -> Diagnostic {
        let span = self.table.get_key_value(key).map_or(self.span.clone(), |(key, _)| key.span());
        self.file.fault(self.key_path(key), span, message)
    }

    pub fn missing(&self, key: &str, expected: &str) -> Diagnostic {
        let table = if self.path.is_empty() { "the file".to_owned() } else { format!("[{}]", self.path) };
        self.fault(key, format!("expected {expected}; the key is missing from {table}"))
    }

    fn wrong(&self, key: &str, entry: &Entry, expected: &str) -> Diagnostic {
        self.file.fault(
            self.key_path(key),
            entry.span.clone(),
            format!("expected {expected}, found {}", name(entry.value)),
        )
    }

    /// The text of a required key.
    pub fn text(&self, key: &str) -> String {
        let expected = "a text in quotes";
        let Some(entry) = self.find(key) else {
            self.note_missing(key, expected);
            return String::new();
        };
        let fault = match entry.value {
            DeValue::String(text) if text.trim().is_empty() => {
                self.file.fault(self.key_path(key), entry.span, "expected a text in quotes, found an empty one")
            }
            DeValue::String(text) if !is_plain(text) => self.file.fault(
                self.key_path(key),
                entry.span,
                format!("expected a text without control characters, found \"{}\"", shown(text)),
            ),
            DeValue::String(text) => return text.clone().into_owned(),
            _ => self.wrong(key, &entry, expected),
        };
        self.note(fault);
        String::new()
    }

    /// A whole number of at least `least`, without a source.
    pub fn plain_count(&self, key: &str, least: u64) -> u64 {
        let expected = format!("a whole number of at least {least}");
        let Some(entry) = self.find(key) else {
            self.note_missing(key, &expected);
            return least;
        };
        whole(entry.value).filter(|count| *count >= least).unwrap_or_else(|| {
            self.note(self.wrong(key, &entry, &expected));
            least
        })
    }

    /// A list of whole numbers, without a source.
    pub fn counts(&self, key: &str) -> Vec<usize> {
        let Some(entry) = self.find(key) else {
            self.note_missing(key, COUNTS);
            return Vec::new();
        };
        self.keep(self.counts_of(key, &entry)).unwrap_or_default()
    }

    fn counts_of(&self, key: &str, entry: &Entry) -> Result<Vec<usize>, Diagnostic> {
        let DeValue::Array(items) = entry.value else {
            return Err(self.wrong(key, entry, COUNTS));
        };
        let number = |item: &Spanned<DeValue>| whole(item.get_ref()).and_then(|count| usize::try_from(count).ok());
        items
            .iter()
            .map(|item| {
                number(item).ok_or_else(|| {
                    let message = format!("expected {COUNTS}, found {} in it", name(item.get_ref()));
                    self.file.fault(self.key_path(key), item.span(), message)
                })
            })
            .collect()
    }

    /// As [`Table::counts`], noting its source.
    pub fn sourced_counts(&self, key: &str, sources: &mut Sources) -> Vec<usize> {
        let Some(sourced) = self.required(key, COUNTS) else { return Vec::new() };
        sources.insert(key.to_owned(), sourced.source);
        self.keep(self.counts_of(key, &sourced.entry)).unwrap_or_default()
    }

    /// The value of a required key and its source; what is missing or wrong of them is noted.
    fn required(&self, key: &str, expected: &str) -> Option<Sourced<'a>> {
        let sourced = self.keep(self.sourced(key))?;
        if sourced.is_none() {
            self.note_missing(key, expected);
        }
        sourced
    }

    /// One of `words`, without a source; `None` where the key is missing.
    pub fn word<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> Result<Option<T>, Diagnostic> {
        self.find(key).map(|entry| self.word_of(key, &entry, words)).transpose()
    }

    /// As [`Table::word`] for a required key; `None` where that is missing or wrong, which is noted.
    pub fn required_word<T: Copy>(&self, key: &str, words: &[(&'static str, T)]) -> Option<T> {
        let word = self.keep(self.word(key, words))?;
        if word.is_none() {
            self.note_missing(key, &one_of(words));
        }
        word
    }

    fn word_of<T: Copy>(&self, key: &str, entry: &Entry, words: &[(&'static str, T)]) -> Result<T, Diagnostic> {
        let DeValue::String(word) = entry.value else {
            return Err(self.wrong(key, entry, &one_of(words)));
        };
        let known = words.iter().find(|(known, _)| known == word).map(|(_, value)| *value);
        known.ok_or_else(|| {
            let near = did_you_mean(word, words.iter().map(|(known, _)| *known));
            let message = format!("expected {}, found \"{}\"{near}", one_of(words), shown(word));
            self.file.fault(self.key_path(key), entry.span.clone(), message)
        })
    }

    /// The value of `key` and its source: its own, or the table's.
    fn sourced(&self, key: &str) -> Result<Option<Sourced<'a>>, Diagnostic> {
        let Some(entry) = self.find(key) else { return Ok(None) };
        let path = self.key_path(key);
        let (entry, own, unit) = match entry.value {
            DeValue::Table(table) => {
                let keys = ["value", "unit", "source"];
                let inner = Table::new(self.file, path.clone(), table, entry.span.clone(), Some(&keys));
                let unit = inner.has("unit").then(|| inner.text("unit"));
                let value = inner.find("value").ok_or_else(|| inner.missing("value", "the value of the figure"))?;
                (value, inner.source, unit)
            }
            _ => (entry, None, None),
        };
        match own.or_else(|| self.source.clone()) {
            Some(source) => Ok(Some(Sourced { entry, source, unit })),
            None => {
                let message =
                    format!("expected a source: a key source in [{}], or {{ value = …, source = \"…\" }}", self.path);
                Err(self.file.fault(path, entry.span, message))
            }
        }
    }

    /// A source for the whole table, where it must have one.
    pub fn table_source(&self) -> String {
        self.source.clone().unwrap_or_else(|| {
            self.note_missing("source", "where the table comes from, as a text in quotes");
            String::new()
        })
    }

    /// A finite number of at least zero in `unit` that a machine can take, noting its source under the key.
    pub fn cost(&self, key: &str, unit: &str, sources: &mut Sources) -> f64 {
        if !self.has(key) {
            self.note_missing(key, &format!("a number of at least 0{}", in_unit(unit)));
        }
        self.cost_or_zero(key, unit, sources)
    }

    /// As [`Table::cost`], above zero: the cost of what takes time on every machine, by which others may be divided.
    pub fn positive_cost(&self, key: &str, unit: &str, sources: &mut Sources) -> f64 {
        let before = self.fault_count();
        let cost = self.cost(key, unit, sources);
        if cost == 0.0 && self.has(key) && self.fault_count() == before {
            self.note(self.value_fault(key, format!("expected a number above 0{}, found 0", in_unit(unit))));
        }
        cost
    }

    /// A fault of the number of `key`.
    pub fn value_fault(&self, key: &str, message: impl Into<String>) -> Diagnostic {
        let span = self.keep(self.sourced(key)).flatten().map_or(self.span.clone(), |sourced| sourced.entry.span);
        self.file.fault(self.key_path(key), span, message)
    }

    /// As [`Table::cost`], zero where the key is missing.
    pub fn cost_or_zero(&self, key: &str, unit: &str, sources: &mut Sources) -> f64 {
        let cost = self.keep(self.optional_cost(key, unit, sources)).flatten();
        if cost.is_none() {
            sources.insert(key.to_owned(), UNSTATED.to_owned());
        }
        cost.unwrap_or(0.0)
    }

    fn optional_cost(&self, key: &str, unit: &str, sources: &mut Sources) -> Result<Option<f64>, Diagnostic> {
        let Some(sourced) = self.sourced(key)? else {
            return Ok(None);
        };
        self.refuse_other_unit(key, &sourced, unit)?;
        let expected = format!("a number of at least 0{}", in_unit(unit));
        let value = number(sourced.entry.value).filter(|value| *value >= 0.0 && value.is_finite());
        let value = value.ok_or_else(|| self.wrong(key, &sourced.entry, &expected))?;
        if let Some(message) = beyond(value, &name(sourced.entry.value), &self.path, key, unit) {
            return Err(self.file.fault(self.key_path(key), sourced.entry.span, message));
        }
        sources.insert(key.to_owned(), sourced.source);
        Ok(Some(value))
    }

    /// Any finite number with a unit and a source.
    pub fn fact(&self, key: &str) -> Result<(f64, String, String), Diagnostic> {
        let expected = "a number with a unit, as { value = 40e6, unit = \"Hz\" }";
        let sourced = self.sourced(key)?.ok_or_else(|| self.missing(key, expected))?;
        let value = number(sourced.entry.value).filter(|value| value.is_finite());
        match (value, sourced.unit) {
            (Some(value), Some(unit)) => Ok((value, unit, sourced.source)),
            _ => Err(self.wrong(key, &sourced.entry, expected)),
        }
    }

    /// A whole number of at least `least` in `unit`, noting its source; `None` where the key is missing.
    pub fn count(&self, key: &str, least: u64, unit: &str, sources: &mut Sources) -> Option<u64> {
        let sourced = self.keep(self.sourced(key)).flatten()?;
        self.keep(self.refuse_other_unit(key, &sourced, unit))?;
        let count = whole(sourced.entry.value).filter(|count| *count >= least);
        if count.is_none() {
            let expected = format!("a whole number{} of at least {least}", if unit == "B" { " of bytes" } else { "" });
            self.note(self.wrong(key, &sourced.entry, &expected));
        } else if let Some(message) = count.and_then(|count| beyond_memory(count, key)) {
            self.note(self.file.fault(self.key_path(key), sourced.entry.span, message));
        }
        sources.insert(key.to_owned(), sourced.source);
        count
    }

    /// As [`Table::count`] for a required key, in bytes where `unit` is `B`.
    pub fn required_count(&self, key: &str, least: u64, unit: &str, sources: &mut Sources) -> u64 {
        if !self.has(key) {
            let bytes = if unit == "B" { " of bytes" } else { "" };
            self.note_missing(key, &format!("a whole number{bytes} of at least {least}"));
        }
        // Whoever divides by what stands for a wrong count does not divide by zero.
        self.count(key, least, unit, sources).unwrap_or(least.max(1))
    }

    /// `true` or `false`, noting its source.
    pub fn flag(&self, key: &str, sources: &mut Sources) -> bool {
        let expected = "true or false";
        let Some(sourced) = self.required(key, expected) else { return false };
        sources.insert(key.to_owned(), sourced.source);
        let DeValue::Boolean(flag) = sourced.entry.value else {
            self.note(self.wrong(key, &sourced.entry, expected));
            return false;
        };
        *flag
    }

    /// One of `words`, noting its source; the first of them stands for a wrong one.
    pub fn sourced_word<T: Copy>(&self, key: &str, words: &[(&'static str, T)], sources: &mut Sources) -> T {
        let Some(sourced) = self.required(key, &one_of(words)) else { return words[0].1 };
        sources.insert(key.to_owned(), sourced.source);
        self.keep(self.word_of(key, &sourced.entry, words)).unwrap_or(words[0].1)
    }

    /// Times are in seconds and lengths in bytes whatever a file says; one that says otherwise is refused.
    fn refuse_other_unit(&self, key: &str, sourced: &Sourced, unit: &str) -> Result<(), Diagnostic> {
        match &sourced.unit {
            Some(entry) if entry != unit => {
                let unit = if unit.is_empty() { "none" } else { unit };
                let message = format!("expected the unit {unit}, found \"{}\"", shown(entry));
                Err(self.file.fault(self.key_path(key), sourced.entry.span.clone(), message))
            }
            _ => Ok(()),
        }
    }

    /// The table `name` in this one, `None` where it is missing.
    pub fn table(&self, name: &str, keys: Option<&[&str]>) -> Result<Option<Table<'a>>, Diagnostic> {
        let Some(entry) = self.find(name) else { return Ok(None) };
        match entry.value {
            DeValue::Table(table) => Ok(Some(Table::new(self.file, self.key_path(name), table, entry.span, keys))),
            _ => Err(self.wrong(name, &entry, &format!("a table [{name}]"))),
        }
    }

    /// As [`Table::table`] for a required table; `None` where that is missing, which is noted.
    pub fn required_table(&self, name: &str, keys: Option<&[&str]>) -> Result<Option<Table<'a>>, Diagnostic> {
        let table = self.table(name, keys)?;
        if table.is_none() {
            self.note_missing(name, &format!("a table [{name}]"));
        }
        Ok(table)
    }

    /// The tables `[[name]]`, at least one; empty where they are missing, which is noted.
    pub fn tables(&self, name: &str, keys: &[&str]) -> Result<Vec<Table<'a>>, Diagnostic> {
        let expected = format!("at least one table [[{name}]]");
        let Some(entry) = self.find(name) else {
            self.note_missing(name, &expected);
            return Ok(Vec::new());
        };
        let items = match entry.value {
            DeValue::Array(items) if items.iter().next().is_some() => items,
            _ => return Err(self.wrong(name, &entry, &expected)),
        };
        let path = |index| format!("{}[{index}]", self.key_path(name));
        let read = |(index, item): (usize, &'a Spanned<DeValue<'a>>)| match item.get_ref() {
            DeValue::Table(table) => Ok(Table::new(self.file, path(index), table, item.span(), Some(keys))),
            other => {
                let message = format!("expected a table [[{name}]], found {}", self::name(other));
                Err(self.file.fault(path(index), item.span(), message))
            }
        };
        items.iter().enumerate().map(read).collect()
    }
}

fn one_of<T>(words: &[(&'static str, T)]) -> String {
    let quoted: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    match quoted.as_slice() {
        [only] => only.clone(),
        _ => format!("one of {}", quoted.join(", ")),
    }
}

/// The end of what is expected of a number: shares and the like have no unit.
fn in_unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(", in {unit}") }
}

fn number(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::Float(number) => number.as_str().parse().ok(),
        DeValue::Integer(number) => {
            i128::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number as f64)
        }
        _ => None,
    }
}

fn whole(value: &DeValue) -> Option<u64> {
    match value {
        DeValue::Integer(number) => {
            u64::from_str_radix(number.as_str(), number.radix()).ok().filter(|count| *count <= i64::MAX as u64)
        }
        _ => None,
    }
}

/// A value as a message names it: numbers, short texts and flags themselves, others by their kind.
fn name(value: &DeValue) -> String {
    match value {
        DeValue::Integer(number) => shown(&number.to_string()),
        DeValue::Float(number) => shown(number.as_str()),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::String(text) if text.chars().count() <= 40 => format!("the text {:?}", text.as_ref()),
        DeValue::String(_) => "a text".to_owned(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
