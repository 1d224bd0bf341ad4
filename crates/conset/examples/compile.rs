//! How long the compiler takes and what it finds: the workloads of `benches/conset`, one line of JSON each.
//!
//!     cargo run --release -p weft-conset --example compile -- PATTERN EXTENTS CHANNELS WORDS COMPILER EFFORT SEED
//!
//! PATTERN is the name of one, or a file `.txt` of lines `source destination words` (WORDS is not looked at then).
//! EXTENTS are those of a torus of iWarp cells, as 8x8; CHANNELS are `-` where nothing limits what is open. The time is
//! that of the compilation with its bounds, without the verification, which follows; a schedule that is refused ends the
//! program. `candidate_seconds` are those of it in which the compiler of 1993 is tried as a candidate.

use std::cell::Cell;
use std::time::Instant;

use weft_conset::{Compiler, Connection, ConnectionSet, Options, Resources, compile, named, verify};
use weft_machine::Topology;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pattern, extents, channels, words, compiler, effort, seed] = arguments.as_slice() else {
        eprintln!("usage: compile PATTERN EXTENTS CHANNELS WORDS weft|apr EFFORT SEED");
        std::process::exit(2);
    };
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{text} is no number"));
    let machine = weft_machine::find("iwarp64").expect("the catalogue has the iWarp");
    let mut resources = Resources::of(&machine).expect("the iWarp has connections");
    resources.topology = Topology::Torus { extents: extents.split('x').map(|e| number(e) as usize).collect() };
    resources.node_channels = (channels != "-").then(|| number(channels) as u32);
    let compiler = if compiler == "apr" { Compiler::Apr } else { Compiler::Weft };
    let effort = effort.parse().expect("EFFORT is a number");
    let options = Options { compiler, effort, seed: number(seed), ..Options::default() };
    let set = if pattern.ends_with(".txt") {
        of_file(pattern, resources.topology.nodes() as u32)
    } else {
        named(pattern, &resources.topology, number(words), number(seed)).unwrap_or_else(|error| panic!("{error}"))
    };
    let start = Instant::now();
    // When the compiler of 1993 began as a candidate, and when it had ended.
    let (began, ended) = (Cell::new(None), Cell::new(None));
    let schedule = compile(&set, &resources, "iwarp64", &options, &|| false, &|p| {
        match p.doing.as_str() {
            doing if doing.starts_with("APR") => began.set(began.get().or(Some(start.elapsed()))),
            "the compiler of 1993" => ended.set(Some(start.elapsed())),
            _ => (),
        }
        if std::env::var_os("PROGRESS").is_some() {
            eprintln!("{:.3} {} {:.2} {:?}", start.elapsed().as_secs_f64(), p.doing, p.spent, p.best)
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let schedule = schedule.unwrap_or_else(|error| panic!("{error}"));
    let start = Instant::now();
    let verified = verify(&schedule, Some(&set)).unwrap_or_else(|fault| panic!("refused: {fault}"));
    let verifying = start.elapsed().as_secs_f64();
    let candidate = match (began.get(), ended.get()) {
        (Some(began), Some(ended)) => (ended - began).as_secs_f64(),
        _ => 0.0,
    };
    let bound = |unit| schedule.best_bound(unit).map_or(0.0, |bound| bound.value);
    let clock = 50e-9;
    println!(
        "{{\"connections\": {}, \"phases\": {}, \"bound\": {}, \"link_loads\": {}, \"clocks\": {:.0}, \"bound_clocks\": {:.0}, \
         \"seconds\": {seconds:.6}, \"candidate_seconds\": {candidate:.6}, \"verifying_seconds\": {verifying:.6}, \
         \"peak_bytes\": {}}}",
        verified.connections,
        verified.phases,
        bound("phases"),
        schedule.link_load_sum(),
        schedule.predicted_seconds / clock,
        bound("s") / clock,
        peak_bytes().unwrap_or(0),
    );
}

/// The most memory that this process has had so far, where the system says so.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// The connections of a file, one a line: source, destination, words.
fn of_file(path: &str, nodes: u32) -> ConnectionSet {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let connection = |line: &str| {
        let fields: Vec<u64> = line.split_whitespace().map(|field| field.parse().expect("a number")).collect();
        let [source, destination, words] = fields[..] else { panic!("{path}: expected three numbers, found '{line}'") };
        Connection { source: source as u32, destination: destination as u32, words }
    };
    ConnectionSet::new(path, nodes, text.lines().map(connection).collect()).unwrap_or_else(|error| panic!("{error}"))
}
