//! Section 4 of Dunigan 1991 in virtual time: what its text says of routing, contention and fans, the benchmarks show
//! on the machines of the catalogue.

use weft_launch::{SimulateOptions, simulate};
use weft_machine::{Machine, find};
use weft_suite::{Request, Row};

const TEXT: &str = include_str!("../../../python/weft/papers/reference/dunigan-1991/text-figures.csv");

const ALL: [&str; 5] = ["ipsc1", "ncube3200", "ipsc2", "ipsc860", "ncube6400"];
/// 8 bytes to 8 KiB, and lengths that end in the middle of a packet.
const LENGTHS: [u64; 13] = [8, 16, 32, 64, 128, 256, 512, 1024, 1040, 1536, 2048, 4096, 8192];

/// What the text says of a machine, in its unit.
fn text(quantity: &str, machine: &str) -> f64 {
    let of = |line: &str| -> Option<f64> {
        let mut fields = line.split(',');
        (fields.next()? == quantity && fields.next()? == machine).then(|| fields.next())??.parse().ok()
    };
    TEXT.lines().find_map(of).unwrap_or_else(|| panic!("no {quantity} of {machine}"))
}

/// The machines of which the text says something.
fn machines_with(quantity: &str) -> Vec<&'static str> {
    let says = |machine: &&str| TEXT.lines().any(|line| line.starts_with(&format!("{quantity},{machine},")));
    let measured: Vec<&str> = ALL.into_iter().filter(says).collect();
    assert!(!measured.is_empty(), "{quantity} is not in the text's figures");
    measured
}

fn machine(name: &str) -> Machine {
    find(name).unwrap_or_else(|error| panic!("{error}"))
}

fn rows(name: &str, request: Request) -> Vec<Row> {
    simulate(&machine(name), &request, &SimulateOptions::default()).unwrap_or_else(|error| panic!("{error}")).rows
}

fn request(benchmark: &str, bytes: &[u64]) -> Request {
    Request { benchmark: benchmark.to_owned(), bytes: bytes.to_vec(), ..Request::default() }
}

fn one_row(name: &str, request: Request) -> Row {
    let mut rows = rows(name, request);
    assert_eq!(rows.len(), 1);
    rows.swap_remove(0)
}

#[track_caller]
fn assert_near(measured: f64, published: f64, tolerance: f64, what: &str) {
    assert!((measured - published).abs() <= tolerance, "{what}: {measured}, published {published}");
}

#[test]
fn every_hop_costs_what_the_text_says() {
    let hop = |name: &str, bytes: u64| {
        let rows = rows(name, Request { hops: vec![1, 2, 3, 4, 5, 6], ..request("echo", &[bytes]) });
        let steps: Vec<f64> = rows.windows(2).map(|pair| (pair[1].seconds - pair[0].seconds) * 1e6).collect();
        assert_eq!(steps.len(), 5);
        steps
    };
    for (quantity, name, bytes) in [
        ("hop_time", "ncube6400", 8),
        ("hop_time", "ncube6400", 8192),
        ("hop_time_short", "ipsc860", 64),
        ("hop_time_long", "ipsc860", 1024),
    ] {
        for step in hop(name, bytes) {
            assert_near(step, text(quantity, name), 0.01, quantity);
        }
    }
}

#[test]
fn long_messages_reach_their_share_of_the_peak() {
    for name in machines_with("share_of_peak_8192") {
        let row = one_row(name, Request { hops: vec![1], ..request("echo", &[8192]) });
        let rate = row.rate.unwrap() / 1e3;
        let published = text("data_rate_8192", name);
        assert_near(rate / published, 1.0, 0.03, name);
        // Both Intel machines have the channels whose maximum section 4.4 gives; those of the Ncubes are in table 1.
        let peak = match name {
            "ipsc2" | "ipsc860" => text("fan_in_bound", "ipsc860"),
            _ => machine(name).facts["nominal_data_rate"].value / 8e3,
        };
        assert_near(rate / peak, text("share_of_peak_8192", name), 0.03, name);
    }
}

#[test]
fn short_messages_start_up_as_fast_as_the_text_says() {
    let rows = rows("ipsc860", Request { hops: vec![1], ..request("echo", &[8, 64]) });
    let slope = (rows[1].seconds - rows[0].seconds) / 56.0;
    assert_near(
        (rows[0].seconds - 8.0 * slope) * 1e6,
        text("startup_short", "ipsc860"),
        4.0,
        "startup of short messages",
    );
}

#[test]
fn busy_routing_nodes_do_not_slow_an_echo_down() {
    for name in machines_with("routing_echo_slowdown") {
        let rows = rows(name, request("routing-echo", &LENGTHS));
        assert_eq!(rows.len(), LENGTHS.len());
        for row in rows {
            assert_eq!((row.hops, row.ranks), (Some(2), 4), "{name}: {row:?}");
            assert_near(row.slowdown.unwrap(), text("routing_echo_slowdown", name), 1e-9, name);
        }
    }
}

fn slowdowns(name: &str, lengths: &[u64]) -> Vec<f64> {
    let rows = rows(name, request("routing-compute", lengths));
    assert!(rows.iter().all(|row| row.hops == Some(2)), "{rows:?}");
    rows.iter().map(|row| row.slowdown.unwrap()).collect()
}

#[test]
fn routing_takes_about_a_third_of_the_processor_where_processors_route() {
    for name in machines_with("routing_compute_slowdown_short") {
        let shares = slowdowns(name, &LENGTHS[..8]);
        assert_near(shares[0], text("routing_compute_slowdown_short", name), 0.05, name);
        assert!(
            shares.is_sorted_by(|shorter, longer| shorter >= longer),
            "{name}: longer messages interrupt less: {shares:?}"
        );
        assert!(shares[7] < 0.5 * shares[0], "{name}: {shares:?}");
    }
    for name in machines_with("routing_compute_slowdown") {
        for share in slowdowns(name, &LENGTHS) {
            assert_near(share, text("routing_compute_slowdown", name), 1e-9, name);
        }
    }
}

#[test]
fn packets_interrupt_more_often_again() {
    let packet = text("routing_packet_bytes", "ipsc1") as u64;
    let [whole, and_a_bit, and_a_half] = slowdowns("ipsc1", &[packet, packet + 16, packet + packet / 2])[..] else {
        panic!("three lengths")
    };
    assert!(and_a_bit > whole + 0.03 && and_a_half > whole + 0.01, "{whole} {and_a_bit} {and_a_half}");
    // The other machine whose processors route has no packets.
    let [shorter, longer] = slowdowns("ncube3200", &[packet, packet + 16])[..] else { panic!("two lengths") };
    assert!(longer <= shorter, "{shorter} {longer}");
}

#[test]
fn only_the_nodes_on_the_way_lose_speed() {
    // With every node in the run, the row has the slowest of them: still a node that routes.
    let row = one_row("ncube3200", Request { ranks: Some(64), ..request("routing-compute", &[8]) });
    assert_near(row.slowdown.unwrap(), 0.30, 0.05, "64 ranks");
    // With two ranks the one that receives computes, and receiving is charged when the program receives.
    let row = one_row("ncube3200", Request { ranks: Some(2), ..request("routing-compute", &[8]) });
    assert_near(row.slowdown.unwrap(), 0.0, 1e-9, "2 ranks");
}

#[test]
fn load_takes_from_the_probe_all_the_more_the_longer_its_messages() {
    let loads = [8, 128, 1024, 8192];
    for name in ["ipsc860", "ncube6400"] {
        let lengths = [8, 64, 256, 1024, 8192];
        let rows = rows(name, Request { background_bytes: loads.to_vec(), ..request("contention", &lengths) });
        let points: Vec<_> = rows.iter().map(|row| (row.background_bytes.unwrap(), row.bytes.unwrap())).collect();
        assert_eq!(points, loads.iter().flat_map(|&load| lengths.map(|bytes| (load, bytes))).collect::<Vec<_>>());
        for bytes in lengths {
            let of_length: Vec<&Row> = rows.iter().filter(|row| row.bytes == Some(bytes)).collect();
            let rates: Vec<f64> = of_length.iter().map(|row| row.rate.unwrap()).collect();
            let never_more = |light: &f64, heavy: &f64| *heavy <= light * (1.0 + 1e-9);
            assert!(rates.is_sorted_by(never_more), "{name}, {bytes} bytes: {rates:?}");
            // Short messages of the background fit between those of the probe; long ones do not.
            assert!(rates[1..].is_sorted_by(|light, heavy| light > heavy), "{name}, {bytes} bytes: {rates:?}");
            let quiet = of_length[0].quiet_seconds.unwrap();
            let same = |row: &&Row| (row.quiet_seconds.unwrap() / quiet - 1.0).abs() < 1e-9;
            assert!(of_length.iter().all(same), "{name}: without load there is one rate: {of_length:?}");
            assert!(rates[0] <= bytes as f64 / quiet * (1.0 + 1e-9), "{name}, {bytes} bytes: {rates:?}");
            assert!(of_length[3].slowdown.unwrap() > 0.45, "{name}: two long streams share a link: {of_length:?}");
        }
    }
}

#[test]
fn traffic_elsewhere_does_not_touch_the_probe() {
    for name in ["ipsc860", "ncube6400"] {
        for background in ["6-4", "4-5,6-2", "none"] {
            let request = Request { background: Some(background.into()), ..request("contention", &[8, 1024]) };
            for row in rows(name, request) {
                assert_near(row.slowdown.unwrap(), 0.0, 1e-9, &format!("{name}, {background}"));
                assert_eq!(row.background_bytes.is_none(), background == "none");
            }
        }
    }
}

#[test]
fn any_pattern_may_load_the_network() {
    let slowdown = |background: &str| {
        let request = Request {
            ranks: Some(16),
            background: Some(background.into()),
            background_bytes: vec![8192],
            ..request("contention", &[1024])
        };
        one_row("ncube6400", request).slowdown.unwrap()
    };
    let (one, two, all) = (slowdown("stream"), slowdown("0-7,0-15"), slowdown("all-to-all"));
    assert!(one > 0.5 && two > one, "two streams over the probe's link load it more than one: {one} {two}");
    assert!(all > 0.2, "{all}");
    // Rank r to r + 3 of the others: e-cube routes that leave the link from 1 to 3 alone.
    assert_near(slowdown("shift:3"), 0.0, 1e-9, "shift:3");
    assert!((-1e-9..1.0).contains(&slowdown("random")));
}

/// Rates in kB/s by the number of neighbours.
fn fan(benchmark: &str, name: &str, bytes: u64) -> Vec<(u32, f64)> {
    let rows = rows(name, request(benchmark, &[bytes]));
    rows.iter().map(|row| (row.neighbours.unwrap(), row.rate.unwrap() / 1e3)).collect()
}

#[test]
fn one_memory_channel_bounds_the_fan_in() {
    let bound = text("fan_in_bound", "ipsc860");
    for bytes in LENGTHS {
        let rates = fan("fan-in", "ipsc860", bytes);
        assert_eq!(rates.iter().map(|rate| rate.0).collect::<Vec<_>>(), [1, 2, 4, 6]);
        assert!(rates.iter().all(|&(_, rate)| rate <= bound), "{bytes} bytes: {rates:?}");
        assert!(rates.iter().all(|&(_, rate)| rate >= 0.999 * rates[0].1), "{bytes} bytes: {rates:?}");
        // Short of the bound by no more than the hop, long messages gain little from further neighbours.
        if bytes >= 1024 {
            assert!(rates.iter().all(|&(_, rate)| rate <= 1.1 * rates[0].1), "{bytes} bytes: {rates:?}");
        }
    }
    assert!(fan("fan-in", "ipsc860", 8192).iter().all(|&(_, rate)| rate > 0.9 * bound));
}

#[test]
fn channels_that_work_at_once_add_up() {
    for bytes in [1024, 2048, 4096, 8192] {
        let rates: Vec<f64> = fan("fan-in", "ncube6400", bytes).into_iter().map(|(_, rate)| rate).collect();
        assert!(rates.is_sorted_by(|fewer, more| *more > 1.1 * fewer), "{bytes} bytes: {rates:?}");
        assert!(rates[3] > 4.0 * rates[0], "{bytes} bytes: {rates:?}");
    }
    // Short messages are bound by what the receiver's processor spends on each.
    let rates = fan("fan-in", "ncube6400", 8);
    let receiver = machine("ncube6400").protocols[0].receive_overhead;
    assert!(rates.iter().all(|&(_, rate)| rate < 8.0 / receiver / 1e3) && rates[3].1 > 0.95 * 8.0 / receiver / 1e3);
}

#[test]
fn fan_out_has_the_same_bounds() {
    assert!(fan("fan-out", "ipsc860", 8192).iter().all(|&(_, rate)| rate <= text("fan_in_bound", "ipsc860")));
    let rates = fan("fan-out", "ncube6400", 8192);
    assert!(rates[3].1 > 4.0 * rates[0].1, "{rates:?}");
}
