//! What a message costs on links.

use weft_base::Picos;

/// What a message costs on the links it crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkCost {
    /// Of the header, to cross a link and the node or switch behind it.
    pub hop: Picos,
    /// Of the whole message on one link.
    pub transmission: Picos,
    /// Its length.
    pub bytes: u64,
}
