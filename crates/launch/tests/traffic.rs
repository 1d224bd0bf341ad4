//! The benchmarks of traffic on every backend of this crate: they run, and rows say what they should.

use weft_launch::{LaunchError, SimulateOptions, run_threads, simulate};
use weft_machine::{catalogue, find};
use weft_suite::{Group, Request, Row};

fn request(benchmark: &str) -> Request {
    Request { benchmark: benchmark.to_owned(), ..Request::default() }
}

fn of_group() -> impl Iterator<Item = &'static weft_suite::Description> {
    weft_suite::catalogue().into_iter().filter(|benchmark| benchmark.group == Group::Traffic)
}

fn check(row: &Row, name: &str) {
    assert_eq!(row.benchmark, name);
    assert!(row.seconds > 0.0 && row.seconds_p10 > 0.0 && row.iterations > 0, "{row:?}");
    let is_fan = name.starts_with("fan-");
    assert_eq!((row.neighbours.is_some(), row.quiet_seconds.is_some()), (is_fan, !is_fan), "{row:?}");
    assert_eq!(row.slowdown.is_some(), !is_fan, "{row:?}");
    assert_eq!(row.background.is_some() && row.probe.is_some(), name == "contention", "{row:?}");
    assert_eq!(row.rate.is_some(), name != "routing-compute", "{row:?}");
}

fn usage(machine: &str, request: &Request) -> String {
    match simulate(&find(machine).unwrap(), request, &SimulateOptions::default()) {
        Err(LaunchError::Usage(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_benchmark_runs_on_every_machine() {
    assert_eq!(of_group().count(), 5);
    let machines = catalogue().into_iter().map(|name| find(name).unwrap());
    for machine in machines.filter(|machine| machine.passes_messages() && machine.nodes() >= 8) {
        for benchmark in of_group() {
            let request = Request { bytes: vec![64, 3000], ..request(benchmark.name) };
            let outcome = simulate(&machine, &request, &SimulateOptions::default());
            if benchmark.name.starts_with("routing") && !machine.topology.is_direct() {
                let text = outcome.unwrap_err().to_string();
                assert!(text.contains("messages pass through switches"), "{text}");
                continue;
            }
            let simulated = outcome.unwrap_or_else(|error| panic!("{} on {}: {error}", benchmark.name, machine.name));
            let again = simulate(&machine, &request, &SimulateOptions::default()).unwrap();
            assert_eq!(simulated.rows, again.rows, "two runs of one seed are the same");
            for row in &simulated.rows {
                check(row, benchmark.name);
                // Disturbed is not faster, but for how messages happen to meet.
                assert!(row.slowdown.is_none_or(|share| (-0.01..1.0).contains(&share)), "{}: {row:?}", machine.name);
            }
        }
    }
}

#[test]
fn every_benchmark_runs_on_threads() {
    for benchmark in of_group() {
        let request = Request {
            ranks: Some(4),
            bytes: vec![64, 3000],
            iterations: Some(3),
            warmup: Some(1),
            ..request(benchmark.name)
        };
        let rows = run_threads(&request).unwrap_or_else(|error| panic!("{}: {error}", benchmark.name));
        assert!(rows.len() >= 2);
        for row in &rows {
            check(row, benchmark.name);
            assert_eq!(row.ranks, 4);
        }
    }
}

#[test]
fn what_a_machine_cannot_do_is_explained() {
    let routing = usage("frontera", &request("routing-echo"));
    assert_eq!(
        routing,
        "routing-echo: on frontera, a fat-tree, messages pass through switches, so no node routes those of others"
    );
    let many = usage("ipsc2", &Request { neighbours: vec![2, 7], ..request("fan-in") });
    assert_eq!(many, "fan-in with 7 neighbours: on ipsc2, a hypercube, node 0 has 6");
    let few = usage("ipsc2", &Request { neighbours: vec![6], ranks: Some(4), ..request("fan-out") });
    assert_eq!(few, "fan-out with 6 neighbours needs 7 ranks, not 4");
    let probe = usage("ipsc2", &Request { probe: Some([1, 9]), ..request("contention") });
    assert_eq!(probe, "probe 1-9: 8 ranks are numbered 0 to 7");
    let ranks = usage("ipsc2", &Request { ranks: Some(65), ..request("routing-compute") });
    assert_eq!(ranks, "65 ranks do not fit on ipsc2: it has 64 nodes");
}

#[test]
fn ranks_decide_how_many_neighbours_there_are() {
    let counts = |ranks| {
        let request = Request { ranks, bytes: vec![100], ..request("fan-in") };
        let rows = simulate(&find("ipsc2").unwrap(), &request, &SimulateOptions::default()).unwrap().rows;
        rows.iter().map(|row| (row.neighbours.unwrap(), row.hops)).collect::<Vec<_>>()
    };
    let linked = |counts: &[u32]| counts.iter().map(|&count| (count, Some(1))).collect::<Vec<_>>();
    assert_eq!(counts(None), linked(&[1, 2, 4, 6]));
    assert_eq!(counts(Some(3)), linked(&[1, 2]));
    assert_eq!(counts(Some(64)), linked(&[1, 2, 4, 6]));
}

#[test]
fn a_data_parallel_machine_passes_no_messages() {
    let machine = find("cm200").unwrap();
    let outcome = simulate(&machine, &request("contention"), &SimulateOptions::default());
    let message = outcome.unwrap_err().to_string();
    assert!(
        message.starts_with("contention on cm200: it is a data-parallel machine, whose nodes pass no"),
        "{message}"
    );
}
