//! Every benchmark on every backend that needs no launcher, from the one list.

use weft_launch::{LaunchError, SimulateOptions, run_threads, simulate};
use weft_suite::{Description, Group, PayloadSort, Request, Row, catalogue, find};

type Backend = (&'static str, fn(&Request) -> Result<Vec<Row>, LaunchError>);

/// The backends, by name.
const BACKENDS: [Backend; 3] = [
    ("ipsc860", |request| on("ipsc860", request)),
    ("tpu-v4", |request| on("tpu-v4", request)),
    ("threads", run_threads),
];

fn on(machine: &str, request: &Request) -> Result<Vec<Row>, LaunchError> {
    let machine = weft_machine::find(machine).expect("a machine of the catalogue");
    simulate(&machine, request, &SimulateOptions::default()).map(|simulated| simulated.rows)
}

fn requests() -> Vec<Request> {
    let mut requests = Vec::new();
    for benchmark in catalogue() {
        for payload in [PayloadSort::Data, PayloadSort::Phantom] {
            for ranks in [2, 3, 8].into_iter().filter(|&ranks| ranks >= benchmark.min_ranks) {
                let (takes_bytes, takes_n) = (benchmark.takes("bytes").is_some(), benchmark.takes("extent").is_some());
                // One load and one number of neighbours, so that there is one row a length.
                let (fans, is_loaded) =
                    (benchmark.takes("neighbours").is_some(), benchmark.takes("background_bytes").is_some());
                requests.push(Request {
                    benchmark: benchmark.name.to_owned(),
                    ranks: Some(ranks),
                    bytes: if takes_bytes { vec![8, 24, 4096] } else { Vec::new() },
                    extent: if takes_n { vec![8, 21] } else { Vec::new() },
                    file_bytes: (benchmark.group == Group::Files).then_some(8192),
                    iterations: Some(2),
                    warmup: Some(1),
                    payload: Some(payload),
                    shape: if benchmark.takes("shape").is_none() { Vec::new() } else { vec![vec![6, 5, 4]] },
                    neighbours: if fans { vec![6.min(ranks as u32 - 1)] } else { Vec::new() },
                    background_bytes: if is_loaded { vec![512] } else { Vec::new() },
                    ..Request::default()
                });
            }
        }
    }
    requests
}

/// What a backend says to a request that it cannot meet.
fn refusal(backend: &str, request: &Request, benchmark: &Description) -> Option<&'static str> {
    let is_phantom = request.payload == Some(PayloadSort::Phantom);
    match (backend, benchmark.group) {
        _ if benchmark.calls_from_threads() => Some(" needs threads that call MPI at one time, which "),
        (_, Group::OneSided) => Some(" needs one-sided communication, which "),
        (_, Group::Overlap) if benchmark.name.ends_with("-persistent") => Some(" needs persistent collectives, which "),
        ("threads", Group::Overlap) => Some(" needs nonblocking collectives, which "),
        ("tpu-v4", Group::Program) => Some("the machine's file gives no time of float"),
        ("tpu-v4", _) if benchmark.name.starts_with("stencil") => Some("gives no time of float64_sum_of_products"),
        ("tpu-v4", Group::Files) => Some("; this machine has none, as its file has neither [files] nor [host_files]"),
        ("threads", Group::Program) if is_phantom => Some("with phantoms computes nothing"),
        ("threads", Group::Files) if benchmark.choices("file_system") == ["host"] => Some("; this backend has posix"),
        ("tpu-v4" | "threads", _) if benchmark.host => Some("host"),
        _ => None,
    }
}

#[test]
fn every_benchmark_runs_on_every_world() {
    for (backend, run) in BACKENDS {
        for request in requests() {
            let benchmark = find(&request.benchmark).unwrap();
            let rows = match (run(&request), refusal(backend, &request, benchmark)) {
                (Ok(rows), None) => rows,
                (Err(LaunchError::Usage(message)), Some(expected)) => {
                    assert!(message.contains(expected), "{backend}, {request:?}: {message}");
                    continue;
                }
                (outcome, expected) => panic!("{backend}, {request:?}: {outcome:?}, not {expected:?}"),
            };
            let points = request.bytes.len().max(request.extent.len()).max(1);
            let ranks = request.ranks.unwrap_or(1);
            let of_point = if benchmark.name == "pairs" { ranks * (ranks - 1) } else { 1 };
            assert_eq!(rows.len(), points * of_point, "{backend}, {request:?}");
            assert!(rows.iter().all(|row| row.seconds > 0.0 && row.seconds.is_finite()), "{backend}: {rows:?}");
            assert!(rows.iter().zip(&request.extent).all(|(row, &n)| row.extent == Some(n)), "{backend}: {rows:?}");
        }
    }
}

#[test]
fn virtual_time_repeats_exactly() {
    for request in requests() {
        let again = |request: &Request| on("ipsc860", request).map(|rows| format!("{rows:?}"));
        assert_eq!(again(&request).ok(), again(&request).ok(), "{request:?}");
    }
}
