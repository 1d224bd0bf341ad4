//! Infos: keys and values in the order in which they were set.

use std::cell::RefCell;

/// Keys and values.
pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// An info object.
#[derive(Clone, Debug, Default)]
pub struct Info {
    pub pairs: RefCell<Pairs>,
}

/// Hints of the standard for communicators (MPI 4.1, sections 7.4.4 and 6.13).
pub const OF_COMMUNICATORS: &[&str] = &[
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
    "mpi_hw_resource_type",
    "mpi_memory_alloc_kinds",
    "mpi_pset_name",
];

/// Hints of the standard for windows (MPI 4.1, section 12.2).
pub const OF_WINDOWS: &[&str] = &[
    "no_locks",
    "accumulate_ordering",
    "accumulate_ops",
    "mpi_accumulate_granularity",
    "same_size",
    "same_disp_unit",
    "alloc_shared_noncontig",
    "mpi_memory_alloc_kinds",
    "mpi_minimum_memory_alignment",
];

impl Info {
    /// What an object keeps of hints: others are ignored, and are not among those that it tells of itself.
    pub fn hints(&self, known: &[&str]) -> Info {
        let is_known = |key: &[u8]| known.iter().any(|hint| hint.as_bytes() == key);
        let kept = self.pairs.borrow().iter().filter(|(key, _)| is_known(key)).cloned().collect();
        Info { pairs: RefCell::new(kept) }
    }

    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let pairs = self.pairs.borrow();
        pairs.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
    }

    pub fn set(&self, key: &[u8], value: &[u8]) {
        let mut pairs = self.pairs.borrow_mut();
        match pairs.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value.to_vec(),
            None => pairs.push((key.to_vec(), value.to_vec())),
        }
    }

    /// Removes a key; false where there is none.
    pub fn delete(&self, key: &[u8]) -> bool {
        let mut pairs = self.pairs.borrow_mut();
        let before = pairs.len();
        pairs.retain(|(known, _)| known != key);
        pairs.len() < before
    }
}
