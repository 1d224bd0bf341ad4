//! The five hypercubes of the catalogue against the data rates that Dunigan published.

use std::collections::BTreeMap;

use weft_machine::{Machine, find};

const DATA_RATES: &str = include_str!("../../../python/weft/papers/reference/dunigan-1991/data-rates.csv");

/// One row of appendix A: the time is that of one way, in seconds.
struct Row {
    machine: String,
    path: String,
    hops: usize,
    bytes: u64,
    seconds: f64,
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let bytes: u64 = fields[3].parse().unwrap();
        let rate: f64 = fields[4].parse().unwrap();
        Row {
            machine: fields[0].into(),
            path: fields[1].into(),
            hops: fields[2].parse().unwrap_or(0),
            bytes,
            seconds: bytes as f64 / (rate * 1e3),
        }
    };
    let mut lines = DATA_RATES.lines();
    assert_eq!(lines.next(), Some("machine,path,hops,bytes,rate_kB_per_s"));
    lines.map(row).collect()
}

fn median(errors: &mut [f64]) -> f64 {
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

fn machines() -> BTreeMap<&'static str, Machine> {
    ["ipsc1", "ipsc2", "ipsc860", "ncube3200", "ncube6400"].map(|name| (name, find(name).unwrap())).into()
}

/// Relative errors of `time` over the rows that are wanted, by machine.
fn errors(wanted: impl Fn(&Row) -> bool, time: impl Fn(&Machine, &Row) -> f64) -> BTreeMap<String, Vec<f64>> {
    let machines = machines();
    let mut errors: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in rows().iter().filter(|row| wanted(row)) {
        let predicted = time(&machines[row.machine.as_str()], row);
        errors.entry(row.machine.clone()).or_default().push((predicted / row.seconds - 1.0).abs());
    }
    errors
}

#[test]
fn one_and_two_hops_are_within_three_percent_in_the_median_and_ten_at_worst() {
    let by_machine =
        errors(|row| row.path == "node" && row.hops <= 2, |machine, row| machine.message_time(row.bytes, row.hops));
    assert_eq!(by_machine.len(), 5);
    let mut all: Vec<f64> = by_machine.values().flatten().copied().collect();
    assert_eq!(all.len(), 2 * (4 * 11 + 8));
    for (machine, mut errors) in by_machine {
        let median = median(&mut errors);
        let worst = errors.last().unwrap();
        println!("{machine}: median {:.2}%, worst {:.2}%", 100.0 * median, 100.0 * worst);
        assert!(median <= 0.03 && *worst <= 0.10, "{machine}: median {median}, worst {worst}");
    }
    assert!(median(&mut all) <= 0.015);
}

/// Their rates were not known when the machine files were written.
#[test]
fn three_to_six_hops_are_as_near_as_the_prediction_was() {
    let by_machine =
        errors(|row| row.path == "node" && row.hops > 2, |machine, row| machine.message_time(row.bytes, row.hops));
    let mut all: Vec<f64> = by_machine.into_values().flatten().collect();
    assert_eq!(all.len(), 4 * (4 * 11 + 8));
    assert!(median(&mut all) <= 0.009);
    assert!(*all.last().unwrap() <= 0.068);
}

#[test]
fn messages_to_itself_and_to_the_host_are_as_near_as_the_sources_say() {
    let limits = [
        ("ipsc1", 0.14, 0.04),
        ("ipsc2", 0.28, 0.36),
        ("ipsc860", 0.12, 0.53),
        ("ncube3200", 0.14, 0.013),
        ("ncube6400", 0.012, 0.27),
    ];
    let own = errors(|row| row.path == "self", |machine, row| machine.self_time(row.bytes));
    let host = errors(|row| row.path == "host", |machine, row| machine.host_time(row.bytes).unwrap());
    for (machine, own_limit, host_limit) in limits {
        let worst = |errors: &BTreeMap<String, Vec<f64>>| errors[machine].iter().copied().fold(0.0, f64::max);
        assert!(worst(&own) <= own_limit, "{machine} to itself: {}", worst(&own));
        assert!(worst(&host) <= host_limit, "{machine} to the host: {}", worst(&host));
    }
}

#[test]
fn the_summary_table_is_met() {
    // Table 7: rates of 8192 bytes in kB/s and times of 8 bytes in microseconds, one hop.
    let published = [
        ("ipsc860", 2605.0, 80.0),
        ("ipsc1", 504.0, 1120.0),
        ("ipsc2", 2247.0, 390.0),
        ("ncube6400", 1558.0, 161.0),
        ("ncube3200", 381.0, 401.0),
    ];
    let machines = machines();
    for (name, rate, short) in published {
        let ours = 8.192 / machines[name].message_time(8192, 1);
        assert!((ours / rate - 1.0).abs() <= 0.04, "{name}: {ours} kB/s, published {rate}");
        let ours = 1e6 * machines[name].message_time(8, 1);
        assert!((ours / short - 1.0).abs() <= 0.10, "{name}: {ours} us, published {short}");
    }
}

#[test]
fn forwarding_costs_a_computing_node_about_thirty_percent() {
    // Section 4.2: a node on the way passes one packet on in each round trip of a two-hop echo.
    for name in ["ipsc1", "ncube3200"] {
        let machine = find(name).unwrap();
        let loss = |bytes| machine.node.forward_overhead / (2.0 * machine.message_time(bytes, 2));
        assert!((loss(8) - 0.30).abs() <= 0.03, "{name}: {}", loss(8));
        assert!(loss(1024) < 0.20, "{name}: {}", loss(1024));
    }
    for name in ["ipsc2", "ipsc860", "ncube6400"] {
        assert_eq!(find(name).unwrap().node.forward_overhead, 0.0);
    }
}

#[test]
fn packets_add_up() {
    let machine = find("ipsc1").unwrap();
    let one = machine.message_time(1024, 3);
    assert_eq!(machine.message_time(4096, 3), 4.0 * one);
    assert_eq!(machine.message_time(1025, 3), one + machine.message_time(1, 3));
    assert_eq!(machine.message_time(0, 3), machine.message_time(32, 3));

    // Not acknowledged, packets follow each other over the links: the last of three arrives two packets after the
    // first.
    let mut piped = machine.clone();
    piped.packets.as_mut().unwrap().acknowledged = false;
    let protocol = &piped.protocols[0];
    let link = protocol.hop_time + protocol.byte_time * 1024.0;
    let ends = 2.0 * (protocol.send_overhead + protocol.send_byte_time * 3072.0);
    assert!((piped.message_time(3072, 3) - (ends + 5.0 * link)).abs() < 1e-12);
    assert_eq!(piped.message_time(1000, 2), machine.message_time(1000, 2));
}
