//! The five hypercubes in virtual time against the data rates that Dunigan 1991 prints (appendix A).

use std::collections::{BTreeMap, BTreeSet};

use weft_launch::{SimulateOptions, simulate};
use weft_machine::Machine;
use weft_suite::Request;

/// One published cell: machine, hops, bytes, one-way seconds.
struct Cell {
    machine: String,
    hops: u32,
    bytes: u64,
    seconds: f64,
}

fn published() -> Vec<Cell> {
    let text = include_str!("../../../python/weft/papers/reference/dunigan-1991/data-rates.csv");
    let cells = text.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let [machine, "node", hops, bytes, rate] = fields[..] else { return None };
        let (bytes, rate): (u64, f64) = (bytes.parse().unwrap(), rate.parse().unwrap());
        let seconds = bytes as f64 / (rate * 1000.0);
        Some(Cell { machine: machine.to_owned(), hops: hops.parse().unwrap(), bytes, seconds })
    });
    cells.collect()
}

fn echo(machine: &Machine, bytes: Vec<u64>, hops: Vec<u32>) -> BTreeMap<(u32, u64), f64> {
    let request = Request { benchmark: "echo".to_owned(), bytes, hops, ..Request::default() };
    let rows = simulate(machine, &request, &SimulateOptions::default()).unwrap().rows;
    rows.iter().map(|row| ((row.hops.unwrap(), row.bytes.unwrap()), row.seconds)).collect()
}

#[test]
fn simulated_rates_are_the_published_ones() {
    let mut errors = Vec::new();
    for name in ["ipsc1", "ipsc2", "ipsc860", "ncube3200", "ncube6400"] {
        let machine = weft_machine::find(name).unwrap();
        let cells: Vec<Cell> = published().into_iter().filter(|cell| cell.machine == name).collect();
        assert!(cells.len() >= 16, "{name} has {} published cells", cells.len());
        let distances: BTreeSet<u32> = cells.iter().map(|cell| cell.hops).collect();
        let lengths = cells.iter().map(|cell| cell.bytes).collect();
        let simulated = echo(&machine, lengths, distances.into_iter().collect());
        let of_machine = cells.iter().map(|cell| (simulated[&(cell.hops, cell.bytes)] / cell.seconds - 1.0).abs());
        errors.extend(of_machine);
    }
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    assert!(median <= 0.03, "the median error is {median:.4}");
    assert!(worst <= 0.10, "the worst error is {worst:.4}");
}

/// An idle machine in virtual time takes what the closed formula of its description says, at every distance.
#[test]
fn an_idle_machine_takes_the_time_of_its_formula() {
    let machines = weft_machine::catalogue().into_iter().map(|name| weft_machine::find(name).unwrap());
    for machine in machines.filter(|machine| machine.passes_messages()) {
        let distances: Vec<u32> = (1..=machine.topology.diameter() as u32)
            .filter(|&hops| machine.topology.at_distance(0, hops as usize).is_some())
            .collect();
        let bytes = vec![0, 1, 100, 101, 1024, 1025, 5000, 65536];
        for ((hops, bytes), seconds) in echo(&machine, bytes, distances) {
            let expected = machine.message_time(bytes, hops as usize);
            // Time in the simulator is whole picoseconds.
            assert!(
                (seconds - expected).abs() < 1e-6 * expected + 1e-12,
                "{}, {bytes} bytes over {hops} hops: simulated {seconds:e}, formula {expected:e}",
                machine.name
            );
        }
    }
}

#[test]
fn a_distance_beyond_the_machine_is_refused() {
    let machine = weft_machine::find("ncube6400").unwrap();
    let request = Request { hops: vec![7], ..Request::default() };
    let error = simulate(&machine, &request, &SimulateOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "7 hops: on ncube6400, with 64 nodes, no node is more than 6 hops from node 0");
    let request = Request { hops: vec![1], ..Request::default() };
    let error = simulate(&weft_machine::find("frontera").unwrap(), &request, &SimulateOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "1 hop: on frontera, a fat-tree, no node is that far from node 0; there are nodes at 2, 4 hops"
    );
    let request = Request { benchmark: "barrier".to_owned(), ranks: Some(65), ..Request::default() };
    let error = simulate(&machine, &request, &SimulateOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "65 ranks do not fit on ncube6400: it has 64 nodes");
}
