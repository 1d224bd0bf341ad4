//! What a run says of its program besides results: calls that the standard forbids and that came to an end all the same.

use std::cell::{Cell, RefCell};

use serde::{Deserialize, Serialize};

/// What a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject {
    /// A message that was received as other elements than it was sent as.
    Datatypes,
    /// A collective call in which ranks do not agree.
    Collectives,
    /// Memory of a request that is pending, which another call uses.
    Buffers,
    /// Accesses of one part of a window of which neither is complete before the other.
    Windows,
    /// Ranks that others went on beside though they did not call.
    Absences,
}

/// At most so many remarks on a subject are kept; the rest are counted.
const KEPT: usize = 32;

/// Remarks on one subject.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listed {
    count: usize,
    first: Vec<String>,
}

impl Listed {
    pub fn add(&mut self, remark: String) {
        self.count += 1;
        if self.first.len() < KEPT && !self.first.contains(&remark) {
            self.first.push(remark);
        }
    }

    /// Adds more of which only some are known.
    pub fn extend(&mut self, count: usize, first: impl IntoIterator<Item = String>) {
        self.count += count;
        self.first.extend(first);
    }
}

/// All remarks of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Remarks {
    pub datatypes: Listed,
    pub collectives: Listed,
    pub buffers: Listed,
    pub windows: Listed,
    pub absences: Listed,
}

impl Remarks {
    pub fn of(&mut self, subject: Subject) -> &mut Listed {
        match subject {
            Subject::Datatypes => &mut self.datatypes,
            Subject::Collectives => &mut self.collectives,
            Subject::Buffers => &mut self.buffers,
            Subject::Windows => &mut self.windows,
            Subject::Absences => &mut self.absences,
        }
    }
}

/// Where remarks of a run are collected.
#[derive(Debug, Default)]
pub struct Notes {
    remarks: RefCell<Remarks>,
    /// Whether a rank has asked for an exclusive lock of a window so far.
    pub locks_exclude: Cell<bool>,
}

impl Notes {
    pub fn add(&self, subject: Subject, remark: String) {
        self.remarks.borrow_mut().of(subject).add(remark);
    }

    pub fn remarks(&self) -> Remarks {
        self.remarks.borrow().clone()
    }
}
