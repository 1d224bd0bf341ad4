//! Names and their numbers.

use rustc_hash::FxHashMap;

/// A number for a name; equal names have equal numbers within one [`AtomTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AtomId(pub u32);

/// Names and their numbers. Every rank that loads the same program numbers its atoms alike.
#[derive(Clone, Debug)]
pub struct AtomTable {
    names: Vec<Box<str>>,
    numbers: FxHashMap<Box<str>, AtomId>,
    /// Bytes of the names.
    text: usize,
}

macro_rules! well_known_atoms {
    ($($constant:ident = $name:literal),* $(,)?) => {
        /// Atoms with the same number in every program.
        pub mod atoms {
            use super::AtomId;
            well_known_atoms!(@number 0u32; $($constant = $name),*);
            pub(super) const NAMES: &[&str] = &[$($name),*];
        }
    };
    (@number $number:expr; $constant:ident = $name:literal $(, $($rest:tt)*)?) => {
        #[doc = concat!("The atom `", $name, "`.")]
        pub const $constant: AtomId = AtomId($number);
        $(well_known_atoms!(@number $number + 1; $($rest)*);)?
    };
}

well_known_atoms! {
    NIL = "[]", DOT = ".", TRUE = "true", SUCCESS = "success", FAILURE = "failure", STOP = "stop",
    SUSPEND = "suspend", RESUME = "resume", NORMAL = "normal", ABNORMAL = "abnormal",
    END_OF_FILE = "end_of_file", MINUS = "-", PLUS = "+", COMMA = ",", COLON = ":", SLASH = "/",
    MAIN = "main", READ = "read", WRITE = "write", APPEND = "append", VECTOR = "vector", STRING = "string",
}

impl Default for AtomTable {
    fn default() -> Self {
        let mut table = AtomTable { names: Vec::new(), numbers: FxHashMap::default(), text: 0 };
        for name in atoms::NAMES {
            table.intern(name);
        }
        table
    }
}

impl AtomTable {
    /// The number of `name`, a new one if it has none yet.
    pub fn intern(&mut self, name: &str) -> AtomId {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = AtomId(u32::try_from(self.names.len()).expect("fewer than 2^32 atoms"));
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        self.text += name.len();
        number
    }

    /// About how many bytes of memory the table takes.
    pub fn bytes(&self) -> usize {
        // Each name is there twice; tables and allocations have their own share.
        2 * self.text + 96 * self.names.len()
    }

    /// The number of `name`, if it has one.
    pub fn find(&self, name: &str) -> Option<AtomId> {
        self.numbers.get(name).copied()
    }

    /// The name of an atom of this table.
    pub fn name(&self, atom: AtomId) -> &str {
        &self.names[atom.0 as usize]
    }

    /// How many atoms there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none; never, for the well-known atoms are always there.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
