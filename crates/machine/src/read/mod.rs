//! Reading machine files.
//!
//! A machine file is read by hand from the parsed table instead of through derived deserialisers, because every figure
//! may carry a source of its own, because an unknown key must be named before a missing one (it is usually the same
//! key, misspelt), and because each fault has to name file, key and line.

mod connections;
mod diagnostic;
mod fghc;
mod files;
pub(crate) mod table;

pub use diagnostic::Diagnostic;

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::DeTable;
use weft_base::Operation;
use weft_base::quoting::shown;

use crate::catalogue::MachineError;
use crate::data_parallel::{Primitives, Shifts};
use crate::description::{Completion, Figure, HostLink, Machine, MemoryCopy, Node, Packets, Protocol, Switching};
use crate::sources::{Sources, UNSTATED};
use crate::suggest::did_you_mean;
use crate::topology::{Embedding, Topology};
use table::{File, Table};

const FILE_KEYS: [&str; 19] = [
    "name",
    "title",
    "year",
    "description",
    "topology",
    "switching",
    "protocols",
    "packets",
    "node",
    "self_message",
    "host",
    "files",
    "host_files",
    "shifts",
    "connections",
    "fghc",
    "primitives",
    "operations",
    "facts",
];
const PROTOCOL_KEYS: [&str; 9] = [
    "source",
    "up_to",
    "send_overhead",
    "receive_overhead",
    "send_byte_time",
    "receive_byte_time",
    "hop_time",
    "byte_time",
    "completion",
];
const NODE_KEYS: [&str; 6] =
    ["source", "memory_channels", "forward_overhead", "forward_byte_time", "memory_bytes", "memory_available"];
const COPY_KEYS: [&str; 3] = ["source", "startup", "byte_time"];

impl Machine {
    /// The machine that the file at `path` describes.
    pub fn read(path: impl AsRef<Path>) -> Result<Machine, MachineError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| MachineError::Unreadable {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        Ok(Machine::parse(&text, &path.display().to_string())?)
    }

    /// The machine that `text` describes; `path` is what messages call it.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::Machine;
    ///
    /// let text = "name = \"tiny\"\ntitle = \"A tiny machine\"\n[topology]\nkind = \"hypercub\"\nsource = \"made up\"\n";
    /// let fault = Machine::parse(text, "tiny.toml").unwrap_err().to_string();
    /// assert!(fault.starts_with("tiny.toml:4") && fault.contains("hypercube"), "{fault}");
    /// ```
    pub fn parse(text: &str, path: &str) -> Result<Machine, Diagnostic> {
        let file = File { path, text };
        let parsed = DeTable::parse(text).map_err(|error| {
            let message = format!("expected TOML: {}", shown(&error.message().replace('\n', ", ")));
            file.fault("syntax", error.span().unwrap_or(0..0), message)
        })?;
        let root = Table::new(file, String::new(), parsed.get_ref(), 0..0, Some(&FILE_KEYS))?;
        let (topology, embedding, topology_source) = topology(&root)?;
        let (switching, switching_source) = switching(&root)?;
        let nodes = topology.nodes();
        let shifts = Shifts::read(&root)?;
        let primitives = primitives(&root)?;
        let is_data_parallel = shifts.is_some() || primitives.is_some();
        let passes_messages = !is_data_parallel || root.has("protocols") || root.has("self_message");
        Ok(Machine {
            name: short_name(&root)?,
            title: root.text("title")?,
            year: year(&root)?,
            description: if root.has("description") { Some(root.text("description")?) } else { None },
            topology,
            embedding,
            switching,
            sources: Sources::from([
                ("topology".to_owned(), topology_source),
                ("switching".to_owned(), switching_source),
            ]),
            protocols: if passes_messages { protocols(&root)? } else { Vec::new() },
            packets: packets(&root)?,
            node: node(&root)?,
            self_message: if passes_messages { self_message(&root)? } else { no_self_message() },
            host: host(&root)?,
            files: files::files(&root, nodes)?,
            host_files: files::host_files(&root)?,
            shifts,
            connections: connections::connections(&root)?,
            fghc: fghc::fghc(&root)?,
            primitives,
            operations: operations(&root)?,
            facts: facts(&root)?,
        })
    }
}

fn short_name(root: &Table) -> Result<String, Diagnostic> {
    let name = root.text("name")?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.chars().all(allowed) && !name.ends_with(".toml") {
        Ok(name)
    } else {
        Err(root.fault(
            "name",
            format!("expected letters, digits, '-', '_' and '.', not ending in .toml, found \"{}\"", shown(&name)),
        ))
    }
}

fn year(root: &Table) -> Result<Option<u32>, Diagnostic> {
    if !root.has("year") {
        return Ok(None);
    }
    let year = root.plain_count("year", 1)?;
    u32::try_from(year).map(Some).map_err(|_| root.fault("year", format!("expected a year, found {year}")))
}

/// The parameters of each kind of topology.
const TOPOLOGIES: [(&str, &[&str]); 6] = [
    ("hypercube", &["dimension"]),
    ("torus", &["extents"]),
    ("mesh", &["extents"]),
    ("fat-tree", &["children", "parents"]),
    ("dragonfly", &["groups", "routers_per_group", "nodes_per_router", "global_links_per_router"]),
    ("crossbar", &[]),
];

fn topology(root: &Table) -> Result<(Topology, Embedding, String), Diagnostic> {
    let kinds = TOPOLOGIES.map(|(kind, parameters)| (kind, (kind, parameters)));
    let any: Vec<&str> = ["source", "kind", "embedding", "nodes"]
        .into_iter()
        .chain(TOPOLOGIES.iter().flat_map(|(_, parameters)| parameters.iter().copied()))
        .collect();
    let (kind, parameters) = root.required_table("topology", &any)?.required_word("kind", &kinds)?;
    // Again, now that it is known which keys belong to this kind.
    let keys: Vec<&str> = ["source", "kind", "embedding", "nodes"].iter().chain(parameters).copied().collect();
    let table = root.required_table("topology", &keys)?;
    let count = |key: &str| table.plain_count(key, 0).map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let topology = match kind {
        "hypercube" => Topology::Hypercube { dimension: u32::try_from(count("dimension")?).unwrap_or(u32::MAX) },
        "torus" => Topology::Torus { extents: table.counts("extents")? },
        "mesh" => Topology::Mesh { extents: table.counts("extents")? },
        "fat-tree" => Topology::FatTree { children: table.counts("children")?, parents: table.counts("parents")? },
        "dragonfly" => Topology::Dragonfly {
            groups: count("groups")?,
            routers_per_group: count("routers_per_group")?,
            nodes_per_router: count("nodes_per_router")?,
            global_links_per_router: count("global_links_per_router")?,
        },
        _ => Topology::Crossbar { nodes: count("nodes")? },
    };
    topology.validate().map_err(|error| table.fault(error.key, format!("expected {}", error.expected)))?;
    if table.has("nodes") && count("nodes")? != topology.nodes() {
        let message = format!("expected {}, the nodes of this {kind}, found {}", topology.nodes(), count("nodes")?);
        return Err(table.fault("nodes", message));
    }
    let embeddings = [Embedding::Identity, Embedding::Gray].map(|embedding| (embedding.name(), embedding));
    let embedding = table.word("embedding", &embeddings)?.unwrap_or_default();
    Ok((topology, embedding, table.table_source()?))
}

fn switching(root: &Table) -> Result<(Switching, String), Diagnostic> {
    let table = root.required_table("switching", &["source", "technique"])?;
    let techniques = Switching::ALL.map(|technique| (technique.name(), technique));
    Ok((table.required_word("technique", &techniques)?, table.table_source()?))
}

fn protocols(root: &Table) -> Result<Vec<Protocol>, Diagnostic> {
    let tables = root.tables("protocols", &PROTOCOL_KEYS)?;
    let protocols = tables.iter().map(protocol).collect::<Result<Vec<_>, _>>()?;
    let last = tables.len() - 1;
    for (index, table) in tables.iter().enumerate() {
        match protocols[index].up_to {
            Some(_) if index == last => {
                let message = "expected no limit for the last protocol: it is used for all longer messages";
                return Err(table.key_fault("up_to", message));
            }
            None if index < last => {
                let message = "expected a whole number of bytes; only the last protocol has no limit";
                return Err(table.fault("up_to", message));
            }
            Some(limit) if index > 0 && protocols[index - 1].up_to >= Some(limit) => {
                let before = protocols[index - 1].up_to.unwrap_or(0);
                let message = format!("expected more than {before}, the limit of the protocol before, found {limit}");
                return Err(table.fault("up_to", message));
            }
            _ => {}
        }
    }
    Ok(protocols)
}

fn protocol(table: &Table) -> Result<Protocol, Diagnostic> {
    let mut sources = Sources::new();
    let completions = Completion::ALL.map(|completion| (completion.name(), completion));
    Ok(Protocol {
        up_to: table.count("up_to", 0, "B", &mut sources)?,
        send_overhead: table.cost("send_overhead", "s", &mut sources)?,
        receive_overhead: table.cost("receive_overhead", "s", &mut sources)?,
        send_byte_time: table.cost_or_zero("send_byte_time", "s/B", &mut sources)?,
        receive_byte_time: table.cost_or_zero("receive_byte_time", "s/B", &mut sources)?,
        hop_time: table.cost("hop_time", "s", &mut sources)?,
        byte_time: table.cost("byte_time", "s/B", &mut sources)?,
        completion: table.sourced_word("completion", &completions, &mut sources)?,
        sources,
    })
}

fn packets(root: &Table) -> Result<Option<Packets>, Diagnostic> {
    let Some(table) = root.table("packets", Some(&["source", "bytes", "minimum", "acknowledged"]))? else {
        return Ok(None);
    };
    let mut sources = Sources::new();
    let packets = Packets {
        bytes: table.required_count("bytes", 1, &mut sources)?,
        minimum: table.required_count("minimum", 0, &mut sources)?,
        acknowledged: table.flag("acknowledged", &mut sources)?,
        sources,
    };
    if packets.minimum > packets.bytes {
        let message =
            format!("expected at most {}, the bytes of a full packet, found {}", packets.bytes, packets.minimum);
        return Err(table.fault("minimum", message));
    }
    Ok(Some(packets))
}

fn node(root: &Table) -> Result<Node, Diagnostic> {
    let Some(table) = root.table("node", Some(&NODE_KEYS))? else {
        let nothing = ["forward_overhead", "forward_byte_time"];
        let sources = nothing.map(|key| (key.to_owned(), UNSTATED.to_owned())).into();
        return Ok(Node { sources, ..Node::default() });
    };
    let mut sources = Sources::new();
    let channels = table.count("memory_channels", 1, "", &mut sources)?;
    let node = Node {
        memory_channels: channels.map(|channels| u32::try_from(channels).unwrap_or(u32::MAX)),
        forward_overhead: table.cost_or_zero("forward_overhead", "s", &mut sources)?,
        forward_byte_time: table.cost_or_zero("forward_byte_time", "s/B", &mut sources)?,
        memory_bytes: table.count("memory_bytes", 1, "B", &mut sources)?,
        memory_available: table.count("memory_available", 0, "B", &mut sources)?,
        sources,
    };
    if let (Some(all), Some(available)) = (node.memory_bytes, node.memory_available)
        && available > all
    {
        let message = format!("expected at most {all}, the memory of a node, found {available}");
        return Err(table.fault("memory_available", message));
    }
    Ok(node)
}

fn self_message(root: &Table) -> Result<MemoryCopy, Diagnostic> {
    let table = root.required_table("self_message", &COPY_KEYS)?;
    let mut sources = Sources::new();
    Ok(MemoryCopy {
        startup: table.cost("startup", "s", &mut sources)?,
        byte_time: table.cost("byte_time", "s/B", &mut sources)?,
        sources,
    })
}

fn primitives(root: &Table) -> Result<Option<Primitives>, Diagnostic> {
    let primitives = Primitives::read(root)?;
    if let Some(costs) = &primitives {
        let chips = costs.processors / costs.processors_per_chip;
        if chips * costs.processors_per_chip != costs.processors
            || !chips.is_power_of_two()
            || costs.processors > 1 << 20
        {
            let message = format!(
                "expected {} times a power of two, the chips of a hypercube, up to 1048576; found {}",
                costs.processors_per_chip, costs.processors
            );
            return Err(root.key_fault("primitives", message));
        }
    }
    Ok(primitives)
}

/// On a machine without messages.
fn no_self_message() -> MemoryCopy {
    let sources = ["startup", "byte_time"].map(|key| (key.to_owned(), UNSTATED.to_owned())).into();
    MemoryCopy { startup: 0.0, byte_time: 0.0, sources }
}

fn host(root: &Table) -> Result<Option<HostLink>, Diagnostic> {
    let Some(table) = root.table("host", Some(&COPY_KEYS))? else {
        return Ok(None);
    };
    let mut sources = Sources::new();
    Ok(Some(HostLink {
        startup: table.cost("startup", "s", &mut sources)?,
        byte_time: table.cost("byte_time", "s/B", &mut sources)?,
        sources,
    }))
}

fn operations(root: &Table) -> Result<BTreeMap<Operation, Figure>, Diagnostic> {
    let Some(table) = root.table("operations", None)? else {
        return Ok(BTreeMap::new());
    };
    let mut operations = BTreeMap::new();
    for key in table.keys().into_iter().filter(|key| *key != "source") {
        let names = Operation::ALL.map(Operation::name);
        let operation: Operation = key.parse().map_err(|_| {
            table.key_fault(
                key,
                format!("expected one of the operations {}{}", names.join(", "), did_you_mean(key, names)),
            )
        })?;
        let mut sources = Sources::new();
        let value = table.cost(key, "s", &mut sources)?;
        let source = sources.remove(key).unwrap_or_default();
        operations.insert(operation, Figure { value, unit: "s".to_owned(), source });
    }
    Ok(operations)
}

fn facts(root: &Table) -> Result<BTreeMap<String, Figure>, Diagnostic> {
    let Some(table) = root.table("facts", None)? else {
        return Ok(BTreeMap::new());
    };
    let keys = table.keys().into_iter().filter(|key| *key != "source");
    keys.map(|key| {
        let (value, unit, source) = table.fact(key)?;
        Ok((key.to_owned(), Figure { value, unit, source }))
    })
    .collect()
}
