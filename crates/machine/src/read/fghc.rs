//! The table `[fghc]`.

use super::Diagnostic;
use super::table::Table;
use crate::description::{FghcCosts, GoalOrder};
use crate::sources::Sources;

const KEYS: [&str; 10] = [
    "source",
    "reduction_time",
    "argument_time",
    "goal_order",
    "message_time",
    "word_time",
    "reference_time",
    "tree_time",
    "copy_levels",
    "copy_parts",
];

/// What the execution system of FGHC costs on this machine.
pub(super) fn fghc(root: &Table) -> Result<Option<FghcCosts>, Diagnostic> {
    let Some(table) = root.table("fghc", Some(&KEYS))? else {
        return Ok(None);
    };
    let mut sources = Sources::new();
    let orders = GoalOrder::ALL.map(|order| (order.name(), order));
    Ok(Some(FghcCosts {
        reduction_time: table.cost("reduction_time", "s", &mut sources),
        argument_time: if table.has("argument_time") { table.cost("argument_time", "s", &mut sources) } else { 0.0 },
        goal_order: table.has("goal_order").then(|| table.sourced_word("goal_order", &orders, &mut sources)),
        message_time: table.cost("message_time", "s", &mut sources),
        word_time: table.cost("word_time", "s", &mut sources),
        reference_time: table.cost("reference_time", "s", &mut sources),
        tree_time: table.cost("tree_time", "s", &mut sources),
        copy_levels: table.count("copy_levels", 1, "", &mut sources),
        copy_parts: table.count("copy_parts", 1, "", &mut sources),
        sources,
    }))
}
