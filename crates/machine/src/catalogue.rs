//! The machines that come with weft, and finding a machine by name or path.

use crate::description::Machine;
use crate::read::Faults;
use crate::suggest::nearest;

/// Why there is no machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    #[error("{path}: cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
    #[error(transparent)]
    File(#[from] Faults),
    #[error("unknown machine \"{name}\"{} the catalogue has {names}", suggestion(nearest.as_deref()))]
    Unknown {
        name: String,
        nearest: Option<String>,
        /// All names, with commas.
        names: String,
    },
}

/// The files of `machines/`, by name, in the order of their years: `build.rs` lists the folder.
const BUILT_IN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

/// Machines by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    machines: Vec<Machine>,
}

impl Catalogue {
    /// The machines that weft comes with.
    ///
    /// # Panics
    /// Never: a test reads them all.
    pub fn built_in() -> Catalogue {
        let read = |(name, text): &(&str, &str)| {
            Machine::parse(text, &format!("machines/{name}.toml")).unwrap_or_else(|fault| panic!("{fault}"))
        };
        Catalogue { machines: BUILT_IN.iter().map(read).collect() }
    }

    /// The names of all machines.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.machines.iter().map(|machine| machine.name.as_str())
    }

    /// All machines.
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    /// The machine called `name`, or described by the file `name` where that is a path (it has a separator or ends in
    /// `.toml`).
    pub fn find(&self, name: &str) -> Result<Machine, MachineError> {
        if is_path(name) {
            return Machine::read(name);
        }
        let machine = self.machines.iter().find(|machine| machine.name == name);
        machine.cloned().ok_or_else(|| unknown(name, &self.names().collect::<Vec<_>>()))
    }
}

/// The names of the machines that weft comes with.
///
/// # Examples
/// ```
/// let names = weft_machine::catalogue();
/// // In the order of their years: the iPSC/1 came before its successors.
/// let place = |name| names.iter().position(|&known| known == name).unwrap();
/// assert!(place("ipsc1") < place("ipsc2") && place("ipsc2") < place("ipsc860"));
/// ```
pub fn catalogue() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

/// The machine of weft's own catalogue called `name`, or described by the file `name` where that is a path (it has a
/// separator or ends in `.toml`).
///
/// # Examples
/// ```
/// use weft_machine::find;
///
/// let machine = find("ipsc860").unwrap();
/// assert_eq!((machine.nodes(), machine.topology.kind()), (128, "hypercube"));
/// let error = find("ipsc806").unwrap_err().to_string();
/// assert!(error.starts_with("unknown machine \"ipsc806\"; did you mean ipsc860? the catalogue has "));
/// assert!(find("ipsc961").unwrap_err().to_string().contains("did you mean ipsc860?"));
/// ```
pub fn find(name: &str) -> Result<Machine, MachineError> {
    if is_path(name) {
        return Machine::read(name);
    }
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => Ok(Machine::parse(text, &format!("machines/{name}.toml"))?),
        None => Err(unknown(name, &catalogue())),
    }
}

fn is_path(name: &str) -> bool {
    name.ends_with(".toml") || name.contains(std::path::is_separator)
}

fn unknown(name: &str, names: &[&str]) -> MachineError {
    let nearest = nearest(name, names.iter().copied()).map(str::to_owned);
    MachineError::Unknown { name: weft_base::quoting::shown(name), nearest, names: names.join(", ") }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(|| ";".to_owned(), |name| format!("; did you mean {name}?"))
}
