//! Infos: keys and values in the order in which they were set.

use std::cell::RefCell;

/// Keys and values.
pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// An info object.
#[derive(Clone, Debug, Default)]
pub struct Info {
    pub pairs: RefCell<Pairs>,
}

impl Info {
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
