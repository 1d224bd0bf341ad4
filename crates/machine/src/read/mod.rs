//! Reading machine files.
//!
//! A machine file is read by hand from the parsed table instead of through derived deserialisers, because every figure
//! may carry a source of its own, because an unknown key must be named before a missing one (it is usually the same
//! key, misspelt), and because each fault has to name file, key and line.

mod connections;
mod diagnostic;
mod fghc;
mod files;
mod ranges;
pub(crate) mod table;

pub use diagnostic::{Diagnostic, Faults};

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use toml::de::DeTable;
use weft_base::Operation;
use weft_base::quoting::shown;

use crate::catalogue::MachineError;
use crate::data_parallel::{Parallel, Primitives, Shifts};
use crate::degradation::Degradation;
use crate::description::{
    Alternative, Cache, Completion, Estimand, Figure, HostLink, Machine, MemoryCopy, Node, Packets, Protocol,
    ShortMessages, Switching,
};
use crate::processors::Processors;
use crate::routers::Routers;
use crate::sources::{Sources, UNSTATED};
use crate::suggest::did_you_mean;
use crate::topology::{Embedding, Topology};
use table::{File, Table};

const FILE_KEYS: [&str; 25] = [
    "name",
    "title",
    "year",
    "description",
    "estimand",
    "topology",
    "switching",
    "protocols",
    "packets",
    "cache",
    "node",
    "self_message",
    "host",
    "files",
    "host_files",
    "shifts",
    "connections",
    "fghc",
    "primitives",
    "parallel",
    "routers",
    "processors",
    "operations",
    "facts",
    "alternative",
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
const ALTERNATIVE_KEYS: [&str; 5] = ["source", "estimand", "protocols", "self_message", "host"];
const NODE_KEYS: [&str; 6] =
    ["source", "memory_channels", "forward_overhead", "forward_byte_time", "memory_bytes", "memory_available"];
const COPY_KEYS: [&str; 5] = ["source", "startup", "byte_time", "short_up_to", "short_startup"];

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
    /// # Errors
    /// Every fault of the file, in the order of its lines.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::Machine;
    ///
    /// let text = "name = \"tiny\"\ntitle = \"A tiny machine\"\n[topology]\nkind = \"hypercub\"\nsource = \"made up\"\n";
    /// let faults = Machine::parse(text, "tiny.toml").unwrap_err();
    /// let kind = faults.all().iter().find(|fault| fault.key == "topology.kind").unwrap();
    /// assert!(kind.line == 4 && kind.message.contains("hypercube"), "{kind}");
    /// assert!(faults.to_string().contains("expected a table [switching]"), "{faults}");
    /// ```
    pub fn parse(text: &str, path: &str) -> Result<Machine, Faults> {
        let faults = RefCell::new(Vec::new());
        let file = File { path, text, faults: &faults };
        let machine = DeTable::parse(text)
            .map_err(|error| {
                let reason = shown(&error.message().replace('\n', ", "));
                let message = format!("expected TOML: {reason}; {}", what_toml_is(text));
                file.note(file.fault("syntax", error.span().unwrap_or(0..0), message));
            })
            .ok()
            .and_then(|parsed| read(&Table::new(file, String::new(), parsed.get_ref(), 0..0, Some(&FILE_KEYS))));
        match (machine, Faults::of(faults.take())) {
            (Some(machine), None) => Ok(machine),
            (_, Some(faults)) => Err(faults),
            (None, None) => unreachable!("a part that is not there has a fault"),
        }
    }
}

/// What to write instead of `text`, which is no TOML: the parser's own words name what it expected where it stopped.
fn what_toml_is(text: &str) -> &'static str {
    if text.trim_start().starts_with('{') {
        "this looks like JSON, and a machine is described in TOML: [topology], and under it kind = \"torus\""
    } else {
        "a line is [table], or key = value, and a value a number without a unit (1.5e-6), a text in quotes or a list"
    }
}

/// The machine of a whole file, every part of which is read whatever is wrong with the others; `None` after a fault of
/// which nothing can stand for the part.
fn read(root: &Table) -> Option<Machine> {
    let topology = root.keep(topology(root)).flatten();
    let switching = root.keep(switching(root, topology.as_ref().map(|(topology, ..)| topology))).flatten();
    let nodes = topology.as_ref().map(|(topology, ..)| topology.nodes());
    let shifts = root.keep(Shifts::read(root));
    let primitives = root.keep(primitives(root));
    let parallel = root.keep(Parallel::read_checked(root));
    let routers = root.keep(routers(root, switching.as_ref().map(|switching| switching.technique)));
    let processors = root.keep(Processors::read_for(root, topology.as_ref().map(|(topology, ..)| topology)));
    let is_data_parallel = ["shifts", "primitives", "parallel"].iter().any(|table| root.has(table));
    let passes_messages = !is_data_parallel || root.has("protocols") || root.has("self_message");
    let protocols = match (passes_messages, root.has("protocols") || is_data_parallel) {
        (false, _) => Some(Vec::new()),
        (true, true) => root.keep(protocols(root)),
        (true, false) => {
            let expected = "at least one table [[protocols]], or [parallel] where only parallel variables are priced";
            root.note_missing("protocols", expected);
            Some(Vec::new())
        }
    };
    let self_message = if passes_messages { root.keep(self_message(root)).flatten() } else { Some(no_self_message()) };
    let (name, title) = (short_name(root), root.text("title"));
    let year = root.keep(year(root));
    let description = root.has("description").then(|| root.text("description"));
    let estimand = root.keep(root.word("estimand", &estimands()));
    let alternative = root.keep(alternative(root, estimand.flatten()));
    let (packets, cache) = (root.keep(packets(root)), root.keep(cache(root)));
    let (node, host) = (root.keep(node(root)), root.keep(host(root)));
    let (files, host_files) = (root.keep(files::files(root, nodes)), root.keep(files::host_files(root)));
    let (connections, fghc) = (root.keep(connections::connections(root)), root.keep(fghc::fghc(root)));
    let (operations, facts) = (root.keep(operations(root)), root.keep(facts(root)));
    let ((topology, embedding, topology_source), switching) = (topology?, switching?);
    let mut sources = switching.sources;
    sources.insert("topology".to_owned(), topology_source);
    Some(Machine {
        name,
        title,
        year: year?,
        description,
        estimand: estimand?,
        alternative: alternative?,
        topology,
        embedding,
        switching: switching.technique,
        multicast: switching.multicast,
        reduction: switching.reduction,
        sources,
        protocols: protocols?,
        packets: packets?,
        cache: cache?,
        node: node?,
        self_message: self_message?,
        host: host?,
        files: files?,
        host_files: host_files?,
        shifts: shifts?,
        connections: connections?,
        fghc: fghc?,
        primitives: primitives?,
        parallel: parallel?,
        routers: routers?,
        processors: processors?,
        operations: operations?,
        facts: facts?,
        degradation: Degradation::default(),
    })
}

fn short_name(root: &Table) -> String {
    let name = root.text("name");
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.chars().all(allowed) || name.ends_with(".toml") {
        let expected = "expected letters, digits, '-', '_' and '.', not ending in .toml, found";
        root.note(root.fault("name", format!("{expected} \"{}\"", shown(&name))));
    }
    name
}

fn year(root: &Table) -> Result<Option<u32>, Diagnostic> {
    if !root.has("year") {
        return Ok(None);
    }
    let before = root.fault_count();
    let year = root.plain_count("year", 1);
    match ranges::beyond_years(year) {
        Some(message) if root.fault_count() == before => Err(root.fault("year", message)),
        _ => Ok(u32::try_from(year).ok()),
    }
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

fn topology(root: &Table) -> Result<Option<(Topology, Embedding, String)>, Diagnostic> {
    const COMMON: [&str; 4] = ["source", "kind", "embedding", "nodes"];
    let kinds = TOPOLOGIES.map(|(kind, parameters)| (kind, (kind, parameters)));
    // Which keys there can be is known with the kind.
    let kind = root.table("topology", None)?.and_then(|table| table.word("kind", &kinds).ok().flatten());
    let parameters: Vec<&str> = match kind {
        Some((_, parameters)) => parameters.to_vec(),
        None => TOPOLOGIES.iter().flat_map(|(_, parameters)| parameters.iter().copied()).collect(),
    };
    let keys: Vec<&str> = COMMON.into_iter().chain(parameters).collect();
    let Some(table) = root.required_table("topology", Some(&keys))? else { return Ok(None) };
    let Some((kind, _)) = table.required_word("kind", &kinds) else { return Ok(None) };
    let topology = extents(kind, &table);
    let embeddings = [Embedding::Identity, Embedding::Gray].map(|embedding| (embedding.name(), embedding));
    let embedding = table.keep(table.word("embedding", &embeddings)).flatten().unwrap_or_default();
    let source = table.table_source();
    let stated = table.has("nodes").then(|| count(&table, "nodes"));
    if !table.is_sound() {
        return Ok(None);
    }
    topology.validate().map_err(|error| table.fault(error.key, format!("expected {}", error.expected)))?;
    match stated.filter(|&nodes| nodes != topology.nodes()) {
        Some(nodes) => {
            let message = format!("expected {}, the nodes of this {kind}, found {nodes}", topology.nodes());
            Err(table.fault("nodes", message))
        }
        None => Ok(Some((topology, embedding, source))),
    }
}

fn count(table: &Table, key: &str) -> usize {
    usize::try_from(table.plain_count(key, 0)).unwrap_or(usize::MAX)
}

/// The topology of this kind with the parameters of its table, not yet checked.
fn extents(kind: &str, table: &Table) -> Topology {
    match kind {
        "hypercube" => Topology::Hypercube { dimension: u32::try_from(count(table, "dimension")).unwrap_or(u32::MAX) },
        "torus" => Topology::Torus { extents: table.counts("extents") },
        "mesh" => Topology::Mesh { extents: table.counts("extents") },
        "fat-tree" => Topology::FatTree { children: table.counts("children"), parents: table.counts("parents") },
        "dragonfly" => Topology::Dragonfly {
            groups: count(table, "groups"),
            routers_per_group: count(table, "routers_per_group"),
            nodes_per_router: count(table, "nodes_per_router"),
            global_links_per_router: count(table, "global_links_per_router"),
        },
        _ => Topology::Crossbar { nodes: count(table, "nodes") },
    }
}

/// The table of switching: the technique, what switches do beside passing messages on, and the sources of all.
struct SwitchingTable {
    technique: Switching,
    multicast: bool,
    reduction: bool,
    sources: Sources,
}

fn switching(root: &Table, topology: Option<&Topology>) -> Result<Option<SwitchingTable>, Diagnostic> {
    let keys = ["source", "technique", "multicast", "reduction"];
    let Some(table) = root.required_table("switching", Some(&keys))? else { return Ok(None) };
    let techniques = Switching::ALL.map(|technique| (technique.name(), technique));
    let mut sources = Sources::new();
    let technique = table.required_word("technique", &techniques);
    sources.insert("switching".to_owned(), table.table_source());
    let mut flag = |key: &str| {
        let is_set = table.has(key) && table.flag(key, &mut sources);
        if let Some(topology) = topology.filter(|topology| is_set && topology.is_direct()) {
            let message = format!("a {} has no switches between its nodes, leave it out", topology.kind());
            table.note(table.fault(key, message));
        }
        is_set
    };
    let (multicast, reduction) = (flag("multicast"), flag("reduction"));
    Ok(technique.map(|technique| SwitchingTable { technique, multicast, reduction, sources }))
}

fn protocols(root: &Table) -> Result<Vec<Protocol>, Diagnostic> {
    let tables = root.tables("protocols", &PROTOCOL_KEYS)?;
    let protocols: Vec<Protocol> = tables.iter().map(protocol).collect();
    if !tables.iter().all(Table::is_sound) {
        return Ok(protocols);
    }
    let last = tables.len().saturating_sub(1);
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

fn protocol(table: &Table) -> Protocol {
    let mut sources = Sources::new();
    let completions = Completion::ALL.map(|completion| (completion.name(), completion));
    Protocol {
        up_to: table.count("up_to", 0, "B", &mut sources),
        send_overhead: table.cost("send_overhead", "s", &mut sources),
        receive_overhead: table.cost("receive_overhead", "s", &mut sources),
        send_byte_time: table.cost_or_zero("send_byte_time", "s/B", &mut sources),
        receive_byte_time: table.cost_or_zero("receive_byte_time", "s/B", &mut sources),
        hop_time: table.cost("hop_time", "s", &mut sources),
        byte_time: table.cost("byte_time", "s/B", &mut sources),
        completion: table.sourced_word("completion", &completions, &mut sources),
        sources,
    }
}

fn packets(root: &Table) -> Result<Option<Packets>, Diagnostic> {
    let Some(table) = root.table("packets", Some(&["source", "bytes", "minimum", "acknowledged"]))? else {
        return Ok(None);
    };
    let mut sources = Sources::new();
    let packets = Packets {
        bytes: table.required_count("bytes", 1, "B", &mut sources),
        minimum: table.required_count("minimum", 0, "B", &mut sources),
        acknowledged: table.flag("acknowledged", &mut sources),
        sources,
    };
    if table.is_sound() && packets.minimum > packets.bytes {
        let message =
            format!("expected at most {}, the bytes of a full packet, found {}", packets.bytes, packets.minimum);
        return Err(table.fault("minimum", message));
    }
    Ok(Some(packets))
}

fn cache(root: &Table) -> Result<Option<Cache>, Diagnostic> {
    let Some(table) = root.table("cache", Some(&["source", "bytes", "all_missed_bytes", "miss_byte_time"]))? else {
        return Ok(None);
    };
    let mut sources = Sources::new();
    let cache = Cache {
        bytes: table.required_count("bytes", 1, "B", &mut sources),
        all_missed_bytes: table.required_count("all_missed_bytes", 1, "B", &mut sources),
        miss_byte_time: table.cost("miss_byte_time", "s/B", &mut sources),
        sources,
    };
    if table.is_sound() && cache.all_missed_bytes < cache.bytes {
        let message =
            format!("expected at least {}, the bytes of the cache, found {}", cache.bytes, cache.all_missed_bytes);
        return Err(table.fault("all_missed_bytes", message));
    }
    Ok(Some(cache))
}

fn node(root: &Table) -> Result<Node, Diagnostic> {
    let Some(table) = root.table("node", Some(&NODE_KEYS))? else {
        let nothing = ["forward_overhead", "forward_byte_time"];
        let sources = nothing.map(|key| (key.to_owned(), UNSTATED.to_owned())).into();
        return Ok(Node { sources, ..Node::default() });
    };
    let mut sources = Sources::new();
    let channels = table.count("memory_channels", 1, "", &mut sources);
    let node = Node {
        memory_channels: channels.map(|channels| u32::try_from(channels).unwrap_or(u32::MAX)),
        forward_overhead: table.cost_or_zero("forward_overhead", "s", &mut sources),
        forward_byte_time: table.cost_or_zero("forward_byte_time", "s/B", &mut sources),
        memory_bytes: table.count("memory_bytes", 1, "B", &mut sources),
        memory_available: table.count("memory_available", 0, "B", &mut sources),
        sources,
    };
    if let (Some(all), Some(available)) = (node.memory_bytes, node.memory_available)
        && table.is_sound()
        && available > all
    {
        let message = format!("expected at most {all}, the memory of a node, found {available}");
        return Err(table.fault("memory_available", message));
    }
    Ok(node)
}

fn self_message(root: &Table) -> Result<Option<MemoryCopy>, Diagnostic> {
    let Some(table) = root.required_table("self_message", Some(&COPY_KEYS))? else { return Ok(None) };
    let mut sources = Sources::new();
    Ok(Some(MemoryCopy {
        startup: table.cost("startup", "s", &mut sources),
        byte_time: table.cost("byte_time", "s/B", &mut sources),
        short: short_messages(&table, &mut sources)?,
        sources,
    }))
}

/// Short messages of a node to itself or to the host, if they have a startup of their own.
fn short_messages(table: &Table, sources: &mut Sources) -> Result<Option<ShortMessages>, Diagnostic> {
    match (table.has("short_up_to"), table.has("short_startup")) {
        (false, false) => Ok(None),
        (true, false) => Err(table.missing("short_startup", "a time, of messages of up to short_up_to bytes")),
        (false, true) => Err(table.missing("short_up_to", "a number of bytes, of the longest with short_startup")),
        (true, true) => Ok(Some(ShortMessages {
            up_to: table.required_count("short_up_to", 0, "B", sources),
            startup: table.cost("short_startup", "s", sources),
        })),
    }
}

fn estimands() -> [(&'static str, Estimand); 2] {
    Estimand::ALL.map(|estimand| (estimand.name(), estimand))
}

/// The costs of messages as estimates of other times than `own`, which those of the file itself are.
fn alternative(root: &Table, own: Option<Estimand>) -> Result<Option<Box<Alternative>>, Diagnostic> {
    let Some(table) = root.table("alternative", Some(&ALTERNATIVE_KEYS))? else { return Ok(None) };
    if !root.has("estimand") {
        return Err(root
            .missing("estimand", "\"undisturbed\" or \"typical\", since [alternative] has estimates of other times"));
    }
    let estimand = table.required_word("estimand", &estimands());
    let protocols = table.keep(protocols(&table));
    let self_message = table.keep(self_message(&table)).flatten();
    let host = table.keep(host(&table));
    if let (Some(estimand), true) = (estimand, estimand == own) {
        let message = format!("expected other times than those of the file itself, which are {estimand} too");
        return Err(table.fault("estimand", message));
    }
    if table.has("host") && !root.has("host") {
        return Err(table.key_fault("host", "expected a table [host] of the file itself too"));
    }
    let (Some(estimand), Some(protocols), Some(self_message), Some(host)) = (estimand, protocols, self_message, host)
    else {
        return Ok(None);
    };
    Ok(Some(Box::new(Alternative { estimand, protocols, self_message, host })))
}

/// The table that a machine with switching by flits has.
fn routers(root: &Table, switching: Option<Switching>) -> Result<Option<Routers>, Diagnostic> {
    if switching == Some(Switching::Flit) && !root.has("routers") {
        return Err(root.missing("routers", "a table [routers], of the routers that flits go through"));
    }
    Routers::read(root)
}

fn primitives(root: &Table) -> Result<Option<Primitives>, Diagnostic> {
    let before = root.fault_count();
    let primitives = Primitives::read(root)?;
    if let Some(costs) = &primitives
        && root.fault_count() == before
    {
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
    MemoryCopy { startup: 0.0, byte_time: 0.0, short: None, sources }
}

fn host(root: &Table) -> Result<Option<HostLink>, Diagnostic> {
    let Some(table) = root.table("host", Some(&COPY_KEYS))? else {
        return Ok(None);
    };
    let mut sources = Sources::new();
    Ok(Some(HostLink {
        startup: table.cost("startup", "s", &mut sources),
        byte_time: table.cost("byte_time", "s/B", &mut sources),
        short: short_messages(&table, &mut sources)?,
        sources,
    }))
}

fn operations(root: &Table) -> Result<BTreeMap<Operation, Figure>, Diagnostic> {
    let Some(table) = root.table("operations", None)? else {
        return Ok(BTreeMap::new());
    };
    let keys = table.keys().into_iter().filter(|key| *key != "source");
    Ok(keys.filter_map(|key| table.keep(operation(&table, key))).collect())
}

fn operation(table: &Table, key: &str) -> Result<(Operation, Figure), Diagnostic> {
    let names = Operation::ALL.map(Operation::name);
    let operation: Operation = key.parse().map_err(|_| {
        table.key_fault(key, format!("expected one of the operations {}{}", names.join(", "), did_you_mean(key, names)))
    })?;
    let mut sources = Sources::new();
    let value = table.cost(key, "s", &mut sources);
    let source = sources.remove(key).unwrap_or_default();
    Ok((operation, Figure { value, unit: "s".to_owned(), source }))
}

fn facts(root: &Table) -> Result<BTreeMap<String, Figure>, Diagnostic> {
    let Some(table) = root.table("facts", None)? else {
        return Ok(BTreeMap::new());
    };
    let keys = table.keys().into_iter().filter(|key| *key != "source");
    let fact = |key: &str| {
        let (value, unit, source) = table.keep(table.fact(key))?;
        Some((key.to_owned(), Figure { value, unit, source }))
    };
    Ok(keys.filter_map(fact).collect())
}
