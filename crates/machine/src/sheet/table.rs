//! Tables of entries, each with its unit and source.

use crate::sources::Sources;

/// One value of a machine file.
pub(crate) enum Value {
    Number(f64),
    Count(u64),
    Counts(Vec<usize>),
    Word(&'static str),
    Flag(bool),
}

/// One key of a table.
pub(crate) struct Entry {
    pub key: String,
    pub value: Value,
    /// Empty for words, flags and lists.
    pub unit: String,
    pub source: String,
}

/// One table of a machine file.
pub(crate) struct Table {
    pub name: &'static str,
    /// Whether it is one of several of this name.
    pub repeated: bool,
    pub entries: Vec<Entry>,
}

impl Table {
    pub(crate) fn new(name: &'static str) -> Table {
        Table { name, repeated: false, entries: Vec::new() }
    }

    pub(crate) fn entry(mut self, key: &str, value: Value, unit: &str, sources: &Sources) -> Table {
        let source = sources.get(key).cloned().unwrap_or_default();
        self.entries.push(Entry { key: key.into(), value, unit: unit.into(), source });
        self
    }

    pub(crate) fn number(self, key: &str, value: f64, unit: &str, sources: &Sources) -> Table {
        self.entry(key, Value::Number(value), unit, sources)
    }

    pub(crate) fn count(self, key: &str, value: Option<u64>, unit: &str, sources: &Sources) -> Table {
        match value {
            Some(value) => self.entry(key, Value::Count(value), unit, sources),
            None => self,
        }
    }
}
