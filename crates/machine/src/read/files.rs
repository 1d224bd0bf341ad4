//! The tables `[files]` and `[host_files]`.

use super::Diagnostic;
use super::table::Table;
use crate::description::{ConcurrentFiles, HostFiles};
use crate::sources::Sources;

const FILES_KEYS: [&str; 11] = [
    "source",
    "attached",
    "disks_per_io_node",
    "block_bytes",
    "disk_startup",
    "disk_byte_time",
    "cache_bytes",
    "read_ahead_bytes",
    "client_overhead",
    "server_overhead",
    "allocation_time",
];
const HOST_FILES_KEYS: [&str; 3] = ["source", "request_time", "byte_time"];

/// The concurrent file system of a machine of `nodes` nodes; of any number where `None`.
pub(super) fn files(root: &Table, nodes: Option<usize>) -> Result<Option<ConcurrentFiles>, Diagnostic> {
    let Some(table) = root.table("files", Some(&FILES_KEYS))? else {
        return Ok(None);
    };
    let mut sources = Sources::new();
    let attached = table.sourced_counts("attached", &mut sources);
    if table.is_sound() {
        check_attached(&table, &attached, nodes.unwrap_or(usize::MAX))?;
    }
    let disks = table.required_count("disks_per_io_node", 1, "", &mut sources);
    let block_bytes = table.required_count("block_bytes", 1, "B", &mut sources);
    let files = ConcurrentFiles {
        attached,
        disks_per_io_node: u32::try_from(disks).unwrap_or(u32::MAX),
        block_bytes,
        disk_startup: table.cost("disk_startup", "s", &mut sources),
        disk_byte_time: table.cost("disk_byte_time", "s/B", &mut sources),
        cache_bytes: table.required_count("cache_bytes", block_bytes, "B", &mut sources),
        read_ahead_bytes: table.required_count("read_ahead_bytes", 0, "B", &mut sources),
        client_overhead: table.cost("client_overhead", "s", &mut sources),
        server_overhead: table.cost("server_overhead", "s", &mut sources),
        allocation_time: table.cost_or_zero("allocation_time", "s", &mut sources),
        sources,
    };
    if table.is_sound() && files.read_ahead_bytes > files.cache_bytes {
        let message = format!(
            "expected at most {}, the bytes of the cache they are read into, found {}",
            files.cache_bytes, files.read_ahead_bytes
        );
        return Err(table.fault("read_ahead_bytes", message));
    }
    Ok(Some(files))
}

fn check_attached(table: &Table, attached: &[usize], nodes: usize) -> Result<(), Diagnostic> {
    if attached.is_empty() {
        return Err(table.fault("attached", "expected the compute node of at least one I/O node, found none"));
    }
    match attached.iter().find(|&&node| node >= nodes) {
        Some(node) => {
            let message = format!("expected compute nodes 0 to {}, found {node}", nodes - 1);
            Err(table.fault("attached", message))
        }
        None => Ok(()),
    }
}

/// The files of the host.
pub(super) fn host_files(root: &Table) -> Result<Option<HostFiles>, Diagnostic> {
    let Some(table) = root.table("host_files", Some(&HOST_FILES_KEYS))? else {
        return Ok(None);
    };
    if !root.has("host") {
        let message = "expected a table [host] too: its link is the way to the host's files";
        return Err(root.key_fault("host_files", message));
    }
    let mut sources = Sources::new();
    Ok(Some(HostFiles {
        request_time: table.cost("request_time", "s", &mut sources),
        byte_time: table.cost("byte_time", "s/B", &mut sources),
        sources,
    }))
}
