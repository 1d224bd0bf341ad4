//! Where figures come from.

use std::collections::BTreeMap;

/// Where each figure of a table comes from, by key: paper and table, a data sheet, or "fitted from FILE on DATE".
pub type Sources = BTreeMap<String, String>;

/// The source of a figure that a machine file leaves out and that is therefore zero.
pub const UNSTATED: &str = "not given: 0";
