//! The table `[connections]`.

use super::Diagnostic;
use super::table::Table;
use crate::description::{Access, Connections};
use crate::sources::Sources;

const KEYS: [&str; 10] = [
    "source",
    "word_bytes",
    "node_channels",
    "link_channels",
    "ports",
    "access",
    "access_byte_time",
    "link_byte_time",
    "synchronisation_time",
    "phase_time",
];

/// What connections take of nodes and links.
pub(super) fn connections(root: &Table) -> Result<Option<Connections>, Diagnostic> {
    let Some(table) = root.table("connections", Some(&KEYS))? else {
        return Ok(None);
    };
    let mut sources = Sources::new();
    let mut limit = |key: &str| {
        let count = table.count(key, 1, "", &mut sources);
        count.map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    };
    let (node_channels, link_channels, ports) = (limit("node_channels"), limit("link_channels"), limit("ports"));
    let accesses = Access::ALL.map(|access| (access.name(), access));
    Ok(Some(Connections {
        word_bytes: table.required_count("word_bytes", 1, "B", &mut sources),
        node_channels,
        link_channels,
        ports,
        access: table.sourced_word("access", &accesses, &mut sources),
        access_byte_time: table.cost("access_byte_time", "s/B", &mut sources),
        link_byte_time: table.cost("link_byte_time", "s/B", &mut sources),
        synchronisation_time: table.cost("synchronisation_time", "s", &mut sources),
        phase_time: table.cost("phase_time", "s", &mut sources),
        sources,
    }))
}
