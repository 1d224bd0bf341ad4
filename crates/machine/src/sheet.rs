//! A machine as tables of entries, each with its unit and source: what is written as TOML and as JSON.

pub(crate) mod table;

use serde_json::{Value as Json, json};

use crate::data_parallel::{Parallel, Primitives, Shifts};
use crate::description::{
    Alternative, ConcurrentFiles, Connections, Estimand, FghcCosts, HostLink, Machine, MemoryCopy, Protocol,
    ShortMessages,
};
use crate::processors::Processors;
use crate::routers::Routers;
use crate::sources::{Sources, UNSTATED};
use crate::topology::Topology;
use table::{Entry, Table, Value};

impl Machine {
    /// Every table of the machine but its names, in the order of a machine file.
    pub(crate) fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.topology_table(), self.switching_table()];
        tables.extend(self.protocols.iter().map(|protocol| protocol.sheet("protocols")));
        tables.extend(self.packets.as_ref().map(|packets| {
            Table::new("packets")
                .count("bytes", Some(packets.bytes), "B", &packets.sources)
                .count("minimum", Some(packets.minimum), "B", &packets.sources)
                .entry("acknowledged", Value::Flag(packets.acknowledged), "", &packets.sources)
        }));
        tables.extend(self.cache.as_ref().map(|cache| {
            Table::new("cache")
                .count("bytes", Some(cache.bytes), "B", &cache.sources)
                .count("all_missed_bytes", Some(cache.all_missed_bytes), "B", &cache.sources)
                .number("miss_byte_time", cache.miss_byte_time, "s/B", &cache.sources)
        }));
        let node = &self.node;
        tables.push(
            Table::new("node")
                .count("memory_channels", node.memory_channels.map(u64::from), "", &node.sources)
                .number("forward_overhead", node.forward_overhead, "s", &node.sources)
                .number("forward_byte_time", node.forward_byte_time, "s/B", &node.sources)
                .count("memory_bytes", node.memory_bytes, "B", &node.sources)
                .count("memory_available", node.memory_available, "B", &node.sources),
        );
        tables.push(self.self_message.sheet("self_message"));
        tables.extend(self.host.as_ref().map(|host| host.sheet("host")));
        tables.extend(self.files.as_ref().map(files_table));
        tables.extend(self.host_files.as_ref().map(|files| {
            Table::new("host_files").number("request_time", files.request_time, "s", &files.sources).number(
                "byte_time",
                files.byte_time,
                "s/B",
                &files.sources,
            )
        }));
        tables.extend(self.shifts.as_ref().map(Shifts::sheet));
        tables.extend(self.connections.as_ref().map(connections_table));
        tables.extend(self.fghc.as_ref().map(fghc_table));
        tables.extend(self.primitives.as_ref().map(Primitives::sheet));
        tables.extend(self.parallel.as_ref().map(Parallel::sheet));
        tables.extend(self.routers.as_ref().map(Routers::sheet));
        tables.extend(self.processors.as_ref().map(Processors::sheet));
        tables.push(Table {
            entries: self.operations.iter().map(|(operation, figure)| figure.entry(operation.name())).collect(),
            ..Table::new("operations")
        });
        tables.push(Table {
            entries: self.facts.iter().map(|(name, figure)| figure.entry(name)).collect(),
            ..Table::new("facts")
        });
        tables
    }

    fn topology_table(&self) -> Table {
        let count = |count: &usize| Value::Count(*count as u64);
        let parameters = match &self.topology {
            Topology::Hypercube { dimension } => vec![("dimension", Value::Count((*dimension).into()))],
            Topology::Torus { extents } | Topology::Mesh { extents } => {
                vec![("extents", Value::Counts(extents.clone()))]
            }
            Topology::FatTree { children, parents } => {
                vec![("children", Value::Counts(children.clone())), ("parents", Value::Counts(parents.clone()))]
            }
            Topology::Dragonfly { groups, routers_per_group, nodes_per_router, global_links_per_router } => vec![
                ("groups", count(groups)),
                ("routers_per_group", count(routers_per_group)),
                ("nodes_per_router", count(nodes_per_router)),
                ("global_links_per_router", count(global_links_per_router)),
            ],
            Topology::Crossbar { nodes } => vec![("nodes", count(nodes))],
        };
        let source = self.sources.get("topology").cloned().unwrap_or_default();
        let words = [("kind", Value::Word(self.topology.kind())), ("embedding", Value::Word(self.embedding.name()))];
        let entries = words.into_iter().chain(parameters);
        Table {
            entries: entries
                .map(|(key, value)| Entry { key: key.into(), value, unit: String::new(), source: source.clone() })
                .collect(),
            ..Table::new("topology")
        }
    }

    fn switching_table(&self) -> Table {
        let source = self.sources.get("switching").cloned().unwrap_or_default();
        let value = Value::Word(self.switching.name());
        let entry = Entry { key: "technique".into(), value, unit: String::new(), source };
        let flags = [("multicast", self.multicast), ("reduction", self.reduction)].into_iter();
        let entries = flags.filter_map(|(key, value)| {
            let source = self.sources.get(key)?.clone();
            Some(Entry { key: key.into(), value: Value::Flag(value), unit: String::new(), source })
        });
        Table { entries: std::iter::once(entry).chain(entries).collect(), ..Table::new("switching") }
    }

    /// The machine as nested JSON: tables as in a machine file, each figure an object with `value`, `unit` and
    /// `source`.
    ///
    /// `topology` also has the numbers that follow from it: `nodes`, `links`, `switches`, `diameter`.
    pub fn to_json(&self) -> Json {
        let mut machine = serde_json::Map::new();
        machine.insert("name".into(), json!(self.name));
        machine.insert("title".into(), json!(self.title));
        machine.insert("year".into(), json!(self.year));
        machine.insert("description".into(), json!(self.description));
        machine.insert("estimand".into(), json!(self.estimand.map(Estimand::name)));
        let alternative = self.alternative.iter().flat_map(|other| other.sheets());
        for table in self.tables().into_iter().chain(alternative) {
            let mut object: serde_json::Map<String, Json> =
                table.entries.iter().map(|entry| (entry.key.clone(), entry.to_json())).collect();
            if table.name == "topology" {
                for (key, value) in self.derived() {
                    object.insert(
                        key.into(),
                        json!({"value": value, "unit": null, "source": "follows from the topology"}),
                    );
                }
            }
            let (within, name) = match table.name.split_once('.') {
                Some((outer, name)) => {
                    let outer = machine.entry(outer).or_insert_with(|| json!({}));
                    (outer.as_object_mut().expect("a table of tables is an object"), name)
                }
                None => (&mut machine, table.name),
            };
            if table.repeated {
                let list = within.entry(name).or_insert_with(|| json!([]));
                list.as_array_mut().expect("a repeated table is a list").push(object.into());
            } else {
                within.insert(name.into(), object.into());
            }
        }
        if let Some(other) = &self.alternative {
            machine["alternative"]["estimand"] = json!(other.estimand.name());
        }
        machine.into()
    }

    fn derived(&self) -> [(&'static str, usize); 4] {
        let topology = &self.topology;
        [
            ("nodes", topology.nodes()),
            ("links", topology.links()),
            ("switches", topology.switches()),
            ("diameter", topology.diameter()),
        ]
    }

    /// The machine as a machine file; [`Machine::parse`] reads it back as the same machine.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::{Machine, find};
    ///
    /// let machine = find("ncube6400").unwrap();
    /// assert_eq!(Machine::parse(&machine.to_toml(), "copy.toml"), Ok(machine));
    /// ```
    pub fn to_toml(&self) -> String {
        let mut text = format!("name = {}\ntitle = {}\n", quoted(&self.name), quoted(&self.title));
        if let Some(year) = self.year {
            text += &format!("year = {year}\n");
        }
        if let Some(description) = &self.description {
            text += &format!("description = {}\n", quoted(description));
        }
        if let Some(estimand) = self.estimand {
            text += &format!("estimand = {}\n", quoted(estimand.name()));
        }
        text += &toml_of(&self.tables());
        if let Some(other) = &self.alternative {
            text += &format!("\n[alternative]\nestimand = {}\n", quoted(other.estimand.name()));
            text += &toml_of(&other.sheets());
        }
        text
    }
}

/// Tables as a machine file has them, without what a machine file left out.
fn toml_of(tables: &[Table]) -> String {
    let mut text = String::new();
    for table in tables {
        let stated: Vec<&Entry> = table.entries.iter().filter(|entry| entry.source != UNSTATED).collect();
        if stated.is_empty() {
            continue;
        }
        text += &if table.repeated { format!("\n[[{}]]\n", table.name) } else { format!("\n[{}]\n", table.name) };
        let source = common_source(&stated);
        text += &format!("source = {}\n", quoted(source));
        for entry in stated {
            text += &entry.to_toml(table.name, source);
        }
    }
    text
}

impl Protocol {
    fn sheet(&self, name: &'static str) -> Table {
        let sources = &self.sources;
        let table = Table::new(name)
            .count("up_to", self.up_to, "B", sources)
            .number("send_overhead", self.send_overhead, "s", sources)
            .number("receive_overhead", self.receive_overhead, "s", sources)
            .number("send_byte_time", self.send_byte_time, "s/B", sources)
            .number("receive_byte_time", self.receive_byte_time, "s/B", sources)
            .number("hop_time", self.hop_time, "s", sources)
            .number("byte_time", self.byte_time, "s/B", sources)
            .entry("completion", Value::Word(self.completion.name()), "", sources);
        Table { repeated: true, ..table }
    }
}

impl MemoryCopy {
    fn sheet(&self, name: &'static str) -> Table {
        copy_table(name, self.startup, self.byte_time, self.short, &self.sources)
    }
}

impl HostLink {
    fn sheet(&self, name: &'static str) -> Table {
        copy_table(name, self.startup, self.byte_time, self.short, &self.sources)
    }
}

fn copy_table(
    name: &'static str,
    startup: f64,
    byte_time: f64,
    short: Option<ShortMessages>,
    sources: &Sources,
) -> Table {
    let table =
        Table::new(name).number("startup", startup, "s", sources).number("byte_time", byte_time, "s/B", sources);
    let Some(ShortMessages { up_to, startup }) = short else { return table };
    table.count("short_up_to", Some(up_to), "B", sources).number("short_startup", startup, "s", sources)
}

impl Alternative {
    fn sheets(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = self.protocols.iter().map(|one| one.sheet("alternative.protocols")).collect();
        tables.push(self.self_message.sheet("alternative.self_message"));
        tables.extend(self.host.as_ref().map(|host| host.sheet("alternative.host")));
        tables
    }
}

fn files_table(files: &ConcurrentFiles) -> Table {
    let sources = &files.sources;
    Table::new("files")
        .entry("attached", Value::Counts(files.attached.clone()), "", sources)
        .count("disks_per_io_node", Some(files.disks_per_io_node.into()), "", sources)
        .count("block_bytes", Some(files.block_bytes), "B", sources)
        .number("disk_startup", files.disk_startup, "s", sources)
        .number("disk_byte_time", files.disk_byte_time, "s/B", sources)
        .count("cache_bytes", Some(files.cache_bytes), "B", sources)
        .count("read_ahead_bytes", Some(files.read_ahead_bytes), "B", sources)
        .number("client_overhead", files.client_overhead, "s", sources)
        .number("server_overhead", files.server_overhead, "s", sources)
        .number("allocation_time", files.allocation_time, "s", sources)
}

fn connections_table(connections: &Connections) -> Table {
    let sources = &connections.sources;
    Table::new("connections")
        .count("word_bytes", Some(connections.word_bytes), "B", sources)
        .count("node_channels", connections.node_channels.map(u64::from), "", sources)
        .count("link_channels", connections.link_channels.map(u64::from), "", sources)
        .count("ports", connections.ports.map(u64::from), "", sources)
        .entry("access", Value::Word(connections.access.name()), "", sources)
        .number("access_byte_time", connections.access_byte_time, "s/B", sources)
        .number("link_byte_time", connections.link_byte_time, "s/B", sources)
        .number("synchronisation_time", connections.synchronisation_time, "s", sources)
        .number("phase_time", connections.phase_time, "s", sources)
}

fn fghc_table(costs: &FghcCosts) -> Table {
    let sources = &costs.sources;
    let mut table = Table::new("fghc").number("reduction_time", costs.reduction_time, "s", sources);
    // A cost of nothing is left out, as it was: it has no source.
    if costs.argument_time > 0.0 {
        table = table.number("argument_time", costs.argument_time, "s", sources);
    }
    if let Some(order) = costs.goal_order {
        table = table.entry("goal_order", Value::Word(order.name()), "", sources);
    }
    table
        .number("message_time", costs.message_time, "s", sources)
        .number("word_time", costs.word_time, "s", sources)
        .number("reference_time", costs.reference_time, "s", sources)
        .number("tree_time", costs.tree_time, "s", sources)
        .count("copy_levels", costs.copy_levels, "", sources)
        .count("copy_parts", costs.copy_parts, "", sources)
}

impl crate::description::Figure {
    fn entry(&self, key: &str) -> Entry {
        Entry {
            key: key.into(),
            value: Value::Number(self.value),
            unit: self.unit.clone(),
            source: self.source.clone(),
        }
    }
}

impl Entry {
    fn to_json(&self) -> Json {
        let value = match &self.value {
            Value::Number(number) => json!(number),
            Value::Count(count) => json!(count),
            Value::Counts(counts) => json!(counts),
            Value::Word(word) => json!(word),
            Value::Flag(flag) => json!(flag),
        };
        let unit = (!self.unit.is_empty()).then_some(&self.unit);
        json!({"value": value, "unit": unit, "source": self.source})
    }

    /// The line of the entry, with a source of its own where it differs from the table's.
    fn to_toml(&self, table: &str, table_source: &str) -> String {
        let value = match &self.value {
            Value::Number(number) => format!("{number:?}"),
            Value::Count(count) => count.to_string(),
            Value::Counts(counts) => format!("{counts:?}"),
            Value::Word(word) => quoted(word),
            Value::Flag(flag) => flag.to_string(),
        };
        let mut more = String::new();
        if table == "facts" {
            more += &format!(", unit = {}", quoted(&self.unit));
        }
        if self.source != table_source {
            more += &format!(", source = {}", quoted(&self.source));
        }
        let key =
            if self.key.bytes().all(is_bare) && !self.key.is_empty() { self.key.clone() } else { quoted(&self.key) };
        if more.is_empty() { format!("{key} = {value}\n") } else { format!("{key} = {{ value = {value}{more} }}\n") }
    }
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The most frequent source, the first of several.
fn common_source<'a>(entries: &[&'a Entry]) -> &'a str {
    let count = |source: &str| entries.iter().filter(|entry| entry.source == source).count();
    let most = entries.iter().map(|entry| count(&entry.source)).max().unwrap_or(0);
    entries.iter().map(|entry| entry.source.as_str()).find(|source| count(source) == most).unwrap_or("")
}

/// `text` as a TOML basic string: a JSON string, but that TOML has the delete character escaped too.
fn quoted(text: &str) -> String {
    Json::from(text).to_string().replace('\u{7f}', "\\u007F")
}
