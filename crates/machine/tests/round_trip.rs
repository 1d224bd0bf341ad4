//! Any machine is written and read back as the same machine; any text is answered with a machine or a position.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use weft_base::Operation;
use weft_base::quoting::is_plain;
use weft_machine::{
    Access, Alternative, Cache, Completion, ConcurrentFiles, Connections, Embedding, Estimand, FghcCosts, Figure,
    GoalOrder, HostFiles, HostLink, Machine, MemoryCopy, Node, Packets, Processors, Protocol, Routers, Shifts, Sources,
    Switching, Topology, UNSTATED, catalogue, find,
};

/// Any text that may stand in a machine file.
fn plain() -> impl Strategy<Value = String> {
    any::<String>().prop_filter("control characters are refused", |text| is_plain(text))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,8}[a-z]".prop_map(String::from),
        plain().prop_filter("a source says something", |text| !text.trim().is_empty() && text != UNSTATED),
    ]
}

fn cost() -> impl Strategy<Value = f64> {
    // What any key may have, a time of an element included.
    prop_oneof![Just(0.0), 1e-12..1e-3, Just(1e-3)]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![1u64..10_000, 1..=i64::MAX as u64]
}

/// A source for each of `keys`; two in three alike, as in a file.
fn sources(keys: &'static [&'static str]) -> impl Strategy<Value = Sources> {
    (text(), prop::collection::vec(prop::option::weighted(0.3, text()), keys.len())).prop_map(move |(shared, own)| {
        keys.iter().zip(own).map(|(key, own)| ((*key).to_owned(), own.unwrap_or_else(|| shared.clone()))).collect()
    })
}

fn topology() -> impl Strategy<Value = Topology> {
    prop_oneof![
        (0u32..=24).prop_map(|dimension| Topology::Hypercube { dimension }),
        prop::collection::vec(1usize..20, 1..4).prop_map(|extents| Topology::Torus { extents }),
        prop::collection::vec(1usize..20, 1..4).prop_map(|extents| Topology::Mesh { extents }),
        prop::collection::vec((1usize..9, 1usize..5), 1..4).prop_map(|levels| {
            let (children, parents) = levels.into_iter().unzip();
            Topology::FatTree { children, parents }
        }),
        (1usize..9, 8usize..16, 1usize..9, 1usize..5).prop_map(
            |(groups, routers_per_group, nodes_per_router, global_links_per_router)| Topology::Dragonfly {
                groups,
                routers_per_group,
                nodes_per_router,
                global_links_per_router,
            }
        ),
        (1usize..1000).prop_map(|nodes| Topology::Crossbar { nodes }),
    ]
}

fn protocol() -> impl Strategy<Value = Protocol> {
    let keys = &[
        "send_overhead",
        "receive_overhead",
        "send_byte_time",
        "receive_byte_time",
        "hop_time",
        "byte_time",
        "completion",
    ];
    (prop::array::uniform6(cost()), prop::sample::select(&Completion::ALL[..]), sources(keys), any::<bool>()).prop_map(
        |(costs, completion, mut sources, copies)| {
            if !copies {
                sources.insert("send_byte_time".into(), UNSTATED.into());
            }
            Protocol {
                up_to: None,
                send_overhead: costs[0],
                receive_overhead: costs[1],
                send_byte_time: if copies { costs[2] } else { 0.0 },
                receive_byte_time: costs[3],
                hop_time: costs[4],
                byte_time: costs[5],
                completion,
                sources,
            }
        },
    )
}

fn protocols() -> impl Strategy<Value = Vec<Protocol>> {
    let limits = prop::collection::btree_set(count(), 0..4);
    (limits, prop::collection::vec(protocol(), 4), text()).prop_map(|(limits, mut protocols, source)| {
        protocols.truncate(limits.len() + 1);
        for (protocol, limit) in protocols.iter_mut().zip(limits) {
            protocol.up_to = Some(limit);
            protocol.sources.insert("up_to".into(), source.clone());
        }
        protocols
    })
}

fn shifts() -> impl Strategy<Value = Shifts> {
    let keys = &[
        "slice_bytes",
        "slices_per_exchange",
        "shifts_per_axis",
        "row_slices",
        "short_row_slices",
        "plan_startup",
        "call_startup",
        "exchange_time",
        "transposer_time",
        "move_time",
        "page_stall",
        "wait_share",
        "plan_front_end",
        "call_front_end",
    ];
    (prop::array::uniform5(count()), prop::array::uniform9(cost()), sources(keys)).prop_map(
        |(counts, costs, sources)| Shifts {
            slice_bytes: counts[0],
            slices_per_exchange: counts[1],
            shifts_per_axis: counts[2],
            row_slices: counts[3],
            short_row_slices: counts[4],
            plan_startup: costs[0],
            call_startup: costs[1],
            exchange_time: costs[2],
            transposer_time: costs[3],
            move_time: costs[4],
            page_stall: costs[5],
            plan_front_end: costs[6],
            call_front_end: costs[7],
            wait_share: costs[8],
            sources,
        },
    )
}

fn packets() -> impl Strategy<Value = Packets> {
    (count(), any::<f64>(), any::<bool>(), sources(&["bytes", "minimum", "acknowledged"])).prop_map(
        |(bytes, share, acknowledged, sources)| Packets {
            bytes,
            minimum: bytes / (2 + share.to_bits() % 100),
            acknowledged,
            sources,
        },
    )
}

fn cache() -> impl Strategy<Value = Cache> {
    (count(), 1u64..9, cost(), sources(&["bytes", "all_missed_bytes", "miss_byte_time"])).prop_map(
        |(bytes, times, miss_byte_time, sources)| Cache {
            bytes,
            all_missed_bytes: bytes.saturating_mul(times).min(i64::MAX as u64),
            miss_byte_time,
            sources,
        },
    )
}

fn node() -> impl Strategy<Value = Node> {
    let keys = &["memory_channels", "forward_overhead", "forward_byte_time", "memory_bytes", "memory_available"];
    (prop::option::of(1u32..9), cost(), cost(), prop::option::of(256u64..1 << 50), sources(keys)).prop_map(
        |(memory_channels, forward_overhead, forward_byte_time, memory_bytes, mut sources)| {
            if memory_channels.is_none() {
                sources.remove("memory_channels");
            }
            if memory_bytes.is_none() {
                sources.remove("memory_bytes");
                sources.remove("memory_available");
            }
            let memory_available = memory_bytes.map(|bytes| bytes / 2);
            Node { memory_channels, forward_overhead, forward_byte_time, memory_bytes, memory_available, sources }
        },
    )
}

/// Files of a machine of at least one node.
fn files() -> impl Strategy<Value = ConcurrentFiles> {
    let keys = &[
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
    let counts = (1usize..5, 1u32..4, count(), count(), 1u64..9);
    (counts, prop::array::uniform5(cost()), sources(keys), any::<bool>()).prop_map(
        |((io_nodes, disks_per_io_node, block_bytes, more, part), costs, mut sources, allocates)| {
            let cache_bytes = block_bytes.saturating_add(more).min(i64::MAX as u64);
            if !allocates {
                sources.insert("allocation_time".into(), UNSTATED.into());
            }
            ConcurrentFiles {
                attached: vec![0; io_nodes],
                disks_per_io_node,
                block_bytes,
                disk_startup: costs[0],
                disk_byte_time: costs[1],
                cache_bytes,
                read_ahead_bytes: cache_bytes / part,
                client_overhead: costs[2],
                server_overhead: costs[3],
                allocation_time: if allocates { costs[4] } else { 0.0 },
                sources,
            }
        },
    )
}

fn connections() -> impl Strategy<Value = Connections> {
    let keys = &[
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
    let limits = prop::collection::vec(prop::option::of(1u32..100), 3);
    let access = prop::sample::select(&Access::ALL[..]);
    (1u64..64, limits, access, prop::collection::vec(cost(), 4), sources(keys)).prop_map(
        |(word_bytes, limits, access, costs, mut sources)| {
            for (key, limit) in ["node_channels", "link_channels", "ports"].into_iter().zip(&limits) {
                if limit.is_none() {
                    sources.remove(key);
                }
            }
            Connections {
                word_bytes,
                node_channels: limits[0],
                link_channels: limits[1],
                ports: limits[2],
                access,
                access_byte_time: costs[0],
                link_byte_time: costs[1],
                synchronisation_time: costs[2],
                phase_time: costs[3],
                sources,
            }
        },
    )
}

fn fghc() -> impl Strategy<Value = FghcCosts> {
    let keys = &[
        "reduction_time",
        "message_time",
        "word_time",
        "reference_time",
        "tree_time",
        "copy_levels",
        "copy_parts",
        "argument_time",
        "goal_order",
    ];
    let order = prop::option::of(prop::sample::select(GoalOrder::ALL.to_vec()));
    let argument = prop_oneof![Just(0.0), 1e-6..1.0];
    let copies = prop::collection::vec(prop::option::of(1u64..9), 2);
    (prop::array::uniform5(cost()), copies, order, argument, sources(keys)).prop_map(
        |(costs, copies, goal_order, argument_time, mut sources)| {
            if goal_order.is_none() {
                sources.remove("goal_order");
            }
            if argument_time == 0.0 {
                sources.remove("argument_time");
            }
            for (key, limit) in ["copy_levels", "copy_parts"].into_iter().zip(&copies) {
                if limit.is_none() {
                    sources.remove(key);
                }
            }
            let [reduction_time, message_time, word_time, reference_time, tree_time] = costs;
            let (copy_levels, copy_parts) = (copies[0], copies[1]);
            FghcCosts {
                reduction_time,
                argument_time,
                goal_order,
                message_time,
                word_time,
                reference_time,
                tree_time,
                copy_levels,
                copy_parts,
                sources,
            }
        },
    )
}

/// Those of a machine with switching by flits.
fn routers() -> Routers {
    let keys = ["virtual_channels", "buffer_flits", "packet_flits", "credit_cycles", "flit_bytes", "cycle_time"];
    Routers {
        virtual_channels: 2,
        buffer_flits: 4,
        packet_flits: 8,
        credit_cycles: 2,
        flit_bytes: 16,
        cycle_time: 1e-9,
        sources: keys.map(|key| (key.to_owned(), format!("the {key} of a test"))).into(),
    }
}

/// Those of a machine whose nodes are processors, two to a computer.
fn processors() -> Processors {
    let keys = ["threads", "cores", "caches", "numa_nodes", "sockets"];
    let sources = keys.map(|key| (key.to_owned(), format!("the {key} of a test"))).into();
    Processors { threads: 1, cores: 2, caches: 1, numa_nodes: 1, sockets: 1, sources }
}

fn figure(unit: impl Strategy<Value = String>) -> impl Strategy<Value = Figure> {
    (cost(), unit, text()).prop_map(|(value, unit, source)| Figure { value, unit, source })
}

fn machine() -> impl Strategy<Value = Machine> {
    let copies = || (cost(), cost(), sources(&["startup", "byte_time"]));
    let names = ("[a-z][a-z0-9-]{0,10}", text(), prop::option::of(1940u32..=2100), prop::option::of(text()));
    let embedding = prop::sample::select(&[Embedding::Identity, Embedding::Gray][..]);
    let switching = prop::sample::select(&Switching::ALL[..]);
    let network = (topology(), embedding, switching, sources(&["topology", "switching"]), any::<[bool; 2]>());
    // On the heap: trees of values of all tables at once are too large for the stack of a test.
    let messages = (
        protocols().boxed(),
        prop::option::of(packets()).boxed(),
        node().boxed(),
        copies(),
        prop::option::of(copies()),
        prop::option::of(files()).boxed(),
        prop::option::of((cost(), cost(), sources(&["request_time", "byte_time"]))).boxed(),
        prop::option::of(connections()).boxed(),
        prop::option::of(fghc()).boxed(),
        prop::option::of(cache()).boxed(),
    );
    let other = (0usize..3, protocols().boxed(), copies(), prop::option::of(copies()));
    let operations = prop::sample::select(&Operation::ALL[..]);
    let operations = prop::collection::btree_map(operations, figure(Just("s".to_owned())), 0..5);
    let name = "[a-z_]{1,8}".prop_filter("not a key of its own", |name| name != "source");
    let facts = prop::collection::btree_map(prop_oneof![name, plain()], figure(text()), 0..5);
    let parts = (names, network, messages, prop::option::of(shifts()).boxed(), any::<bool>(), operations, facts, other);
    parts.prop_map(|(names, mut network, mut messages, shifts, is_silent, operations, mut facts, other)| {
        facts.remove("source");
        if shifts.is_some() && is_silent {
            messages.0.clear();
            let nothing = ["startup", "byte_time"].map(|key| (key.to_owned(), UNSTATED.to_owned()));
            messages.3 = (0.0, 0.0, Sources::from(nothing));
        }
        let (startup, byte_time, sources) = messages.3;
        let [multicast, reduction] = network.4.map(|flag| flag && !network.0.is_direct());
        for (key, _) in [("multicast", multicast), ("reduction", reduction)].into_iter().filter(|flag| flag.1) {
            network.3.insert(key.to_owned(), format!("the {key} of a test"));
        }
        let grouped = network.0.nodes().is_multiple_of(2);
        let has_host = messages.4.as_ref().map(|_| ());
        Machine {
            name: names.0,
            title: names.1,
            year: names.2,
            description: names.3,
            estimand: [None, Some(Estimand::Undisturbed), Some(Estimand::Typical)][other.0],
            alternative: (other.0 == 2)
                .then(|| Box::new(alternative(Estimand::Undisturbed, other.1, other.2, has_host.and(other.3)))),
            topology: network.0,
            embedding: network.1,
            switching: network.2,
            multicast,
            reduction,
            sources: network.3,
            protocols: messages.0,
            packets: messages.1,
            cache: messages.9,
            node: messages.2,
            self_message: MemoryCopy { startup, byte_time, short: None, sources },
            host: messages.4.map(|(startup, byte_time, sources)| HostLink { startup, byte_time, short: None, sources }),
            files: messages.5,
            host_files: has_host.and(messages.6).map(|(request_time, byte_time, sources)| HostFiles {
                request_time,
                byte_time,
                sources,
            }),
            shifts,
            connections: messages.7,
            fghc: messages.8,
            primitives: None,
            parallel: None,
            routers: (network.2 == Switching::Flit).then(routers),
            processors: grouped.then(processors),
            operations: BTreeMap::from_iter(operations),
            facts,
            degradation: Default::default(),
        }
    })
}

type Copying = (f64, f64, Sources);

fn alternative(estimand: Estimand, protocols: Vec<Protocol>, own: Copying, host: Option<Copying>) -> Alternative {
    let (startup, byte_time, sources) = own;
    Alternative {
        estimand,
        protocols,
        self_message: MemoryCopy { startup, byte_time, short: None, sources },
        host: host.map(|(startup, byte_time, sources)| HostLink { startup, byte_time, short: None, sources }),
    }
}

/// A catalogue file with a few bytes or lines changed.
fn mutated() -> impl Strategy<Value = String> {
    let file = prop::sample::select(catalogue()).prop_map(|name| find(name).unwrap().to_toml());
    let change = (any::<prop::sample::Index>(), 0usize..40, prop_oneof![".{0,3}", "[-0-9e.{}\\[\\]\"=]{0,3}"]);
    (file, prop::collection::vec(change, 1..4), prop::option::weighted(0.3, any::<prop::sample::Index>())).prop_map(
        |(file, changes, moved)| {
            let mut chars: Vec<char> = file.chars().collect();
            for (index, removed, inserted) in changes {
                let start = index.index(chars.len() + 1);
                let end = (start + removed).min(chars.len());
                chars.splice(start..end, inserted.chars());
            }
            let text: String = chars.into_iter().collect();
            let mut lines: Vec<&str> = text.lines().collect();
            if let (Some(line), false) = (moved, lines.is_empty()) {
                let line = lines.remove(line.index(lines.len()));
                lines.insert(0, line);
            }
            lines.join("\n")
        },
    )
}

/// A machine, or faults that lie in the text.
fn check(text: &str) -> Result<(), TestCaseError> {
    match Machine::parse(text, "file.toml") {
        Ok(machine) => prop_assert_eq!(Machine::parse(&machine.to_toml(), "again"), Ok(machine)),
        Err(faults) => {
            let lines = text.matches('\n').count() + 1;
            prop_assert!(!faults.all().is_empty());
            for fault in faults.all() {
                prop_assert!((1..=lines).contains(&fault.line), "line {} of {lines}: {fault}", fault.line);
                let first = fault.to_string().lines().next().unwrap().to_owned();
                prop_assert!(
                    first.starts_with(&format!("file.toml:{}: ", fault.line)) && first.contains("expected "),
                    "{first}"
                );
            }
        }
    }
    Ok(())
}

/// Failing cases are kept for the next run.
fn config() -> ProptestConfig {
    let kept = FileFailurePersistence::Direct("tests/round_trip.proptest-regressions");
    ProptestConfig { failure_persistence: Some(Box::new(kept)), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_machine_is_read_back_as_it_was_written(machine in machine()) {
        let text = machine.to_toml();
        match Machine::parse(&text, "again") {
            Ok(again) => prop_assert_eq!(again, machine, "{}", text),
            Err(fault) => prop_assert!(false, "{fault}\n{text}"),
        }
    }

    #[test]
    fn a_changed_file_is_read_or_answered_with_a_place(text in mutated()) {
        check(&text)?;
    }

    #[test]
    fn any_text_is_answered_with_a_place(text in any::<String>()) {
        check(&text)?;
    }
}
