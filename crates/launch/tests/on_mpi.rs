//! Every benchmark of the catalogue under a real mpiexec: the rows that it gives on threads, the refusals too.

mod common;

use common::{Outcome, mpiexec, on_mpi};
use weft_launch::{LaunchError, run_threads};
use weft_suite::{Description, Group, PayloadSort, Request, Row, catalogue, find};

fn on_threads(request: &Request) -> Outcome {
    run_threads(request).map_err(|error| match error {
        LaunchError::Usage(message) => message,
        LaunchError::Run(error) => panic!("threads, {request:?}: {error}"),
    })
}

/// What a row is of: all but times and rates, what the system keeps of files, and distances, which a backend may not
/// know. `algorithm` counts where the request names one: by default each backend takes what is best there.
fn subject(request: &Request, row: &Row) -> Row {
    let algorithm = row.algorithm.clone().filter(|_| request.algorithm.is_some());
    Row {
        algorithm,
        hops: None,
        seconds: 0.0,
        seconds_p10: 0.0,
        share_above_3x: 0.0,
        share_late: row.share_late.map(|_| 0.0),
        rate: row.rate.map(|_| 0.0),
        quiet_seconds: row.quiet_seconds.map(|_| 0.0),
        slowdown: row.slowdown.map(|_| 0.0),
        cache: row.cache.as_ref().map(|_| String::new()),
        sender_node: None,
        receiver_node: None,
        sender_binding: None,
        receiver_binding: None,
        ..row.clone()
    }
}

fn subjects(request: &Request, outcome: &Outcome) -> Outcome {
    outcome.as_ref().map(|rows| rows.iter().map(|row| subject(request, row)).collect()).map_err(Clone::clone)
}

/// Whether threads refuse the benchmark, for want of what it needs.
fn is_of_mpi_alone(request: &Request) -> bool {
    let benchmark = find(&request.benchmark).expect("of the catalogue");
    matches!(benchmark.group, Group::OneSided | Group::Overlap) || benchmark.calls_from_threads()
}

fn check_against_threads(ranks: usize, requests: &[Request]) -> Vec<Outcome> {
    let Some(mpiexec) = mpiexec() else { return Vec::new() };
    let outcomes = on_mpi(&mpiexec, ranks, requests);
    for (request, outcome) in requests.iter().zip(&outcomes) {
        if is_of_mpi_alone(request) {
            continue;
        }
        assert_eq!(subjects(request, outcome), subjects(request, &on_threads(request)), "{ranks} ranks, {request:?}");
        for row in outcome.iter().flatten() {
            assert!(row.seconds > 0.0 && row.seconds.is_finite(), "{ranks} ranks: {row:?}");
            assert!(row.seconds_p10 <= row.seconds, "{ranks} ranks: {row:?}");
        }
    }
    outcomes
}

fn request(benchmark: &Description, ranks: usize, payload: PayloadSort) -> Request {
    let takes_bytes = benchmark.takes("bytes").is_some();
    Request {
        benchmark: benchmark.name.to_owned(),
        ranks: Some(ranks),
        bytes: if takes_bytes { vec![8] } else { Vec::new() },
        extent: if benchmark.takes("extent").is_some() { vec![21] } else { Vec::new() },
        file_bytes: (benchmark.group == Group::Files).then_some(8192),
        iterations: Some(2),
        warmup: Some(1),
        payload: Some(payload),
        shape: if benchmark.takes("shape").is_none() { Vec::new() } else { vec![vec![6, 5, 4]] },
        window: benchmark.takes("window").map(|_| 4),
        background_bytes: benchmark.default("background_bytes").iter().copied().take(1).collect(),
        ..Request::default()
    }
}

fn every_benchmark(ranks: usize) -> Vec<Request> {
    let sorts = [PayloadSort::Data, PayloadSort::Phantom];
    let with_files_of_nodes = catalogue().into_iter().filter(|benchmark| benchmark.choices("file_system") != ["host"]);
    with_files_of_nodes.flat_map(|benchmark| sorts.map(|sort| request(benchmark, ranks, sort))).collect()
}

#[test]
fn every_benchmark_gives_the_rows_of_threads() {
    for ranks in [2, 3] {
        let requests = every_benchmark(ranks);
        let outcomes = check_against_threads(ranks, &requests);
        for (request, outcome) in requests.iter().zip(outcomes) {
            let benchmark = find(&request.benchmark).expect("of the catalogue");
            let needed = benchmark;
            let has_phantoms = request.payload == Some(PayloadSort::Phantom);
            match outcome {
                Ok(rows) => assert!(!rows.is_empty(), "{request:?}"),
                Err(text) if benchmark.calls_from_threads() => {
                    assert!(text.contains("MPI was started here without MPI_THREAD_MULTIPLE"), "{text}");
                }
                Err(text) if needed.host => assert!(text.contains("host"), "{text}"),
                Err(text) if benchmark.group == Group::Program && has_phantoms => {
                    assert!(text.contains("with phantoms computes nothing"), "{text}");
                }
                Err(text) => {
                    let expected = format!("{} needs at least {} ranks", request.benchmark, needed.min_ranks);
                    assert!(ranks < needed.min_ranks && text.starts_with(&expected), "{request:?}: {text}");
                }
            }
        }
    }
}

#[test]
fn collectives_give_the_rows_of_threads_natively_and_by_messages() {
    let mut requests = Vec::new();
    for benchmark in catalogue().into_iter().filter(|benchmark| benchmark.group == Group::Collective) {
        requests.push(request(benchmark, 4, PayloadSort::Data));
        let algorithm = benchmark.choices("algorithm").get(2).map(|name| (*name).to_owned());
        requests.push(Request { algorithm, ..request(benchmark, 4, PayloadSort::Phantom) });
    }
    for (request, outcome) in requests.iter().zip(check_against_threads(4, &requests)) {
        let rows = outcome.unwrap_or_else(|text| panic!("{request:?}: {text}"));
        let expected = request.algorithm.as_deref().unwrap_or("native");
        assert!(rows.iter().all(|row| row.algorithm.as_deref() == Some(expected)), "{rows:?}");
    }
}

#[test]
fn accesses_are_completed_as_they_are_asked_to_be() {
    let Some(mpiexec) = mpiexec() else { return };
    let one_sided = || catalogue().into_iter().filter(|benchmark| benchmark.group == Group::OneSided);
    let mut requests = Vec::new();
    for synchronization in ["flush", "lock", "fence", "pscw"] {
        for (benchmark, ranks) in one_sided().zip([2, 3].into_iter().cycle()) {
            let of = |bytes: u64| if benchmark.takes("bytes").is_some() { vec![bytes, 4096] } else { Vec::new() };
            let synchronization = Some(synchronization.to_owned());
            let request = request(benchmark, ranks, PayloadSort::Data);
            requests.push(Request { synchronization, bytes: of(24), ..request });
        }
    }
    for (request, outcome) in requests.iter().zip(on_mpi(&mpiexec, 3, &requests)) {
        let rows = outcome.unwrap_or_else(|text| panic!("{request:?}: {text}"));
        assert_eq!(rows.len(), request.bytes.len().max(1), "{request:?}");
        assert!(rows.iter().all(|row| row.synchronization == request.synchronization), "{rows:?}");
    }
    let wrong = Request { synchronization: Some("fench".to_owned()), ..requests[0].clone() };
    let expected = "put has no synchronization 'fench'; it has flush, lock, fence, pscw";
    assert_eq!(on_mpi(&mpiexec, 3, &[wrong]), [Err(expected.to_owned())]);
}

#[test]
fn overlap_is_a_share() {
    let Some(mpiexec) = mpiexec() else { return };
    let overlapping = catalogue().into_iter().filter(|benchmark| benchmark.group == Group::Overlap);
    let requests: Vec<Request> = overlapping.map(|benchmark| request(benchmark, 3, PayloadSort::Data)).collect();
    for (request, outcome) in requests.iter().zip(on_mpi(&mpiexec, 3, &requests)) {
        let rows = outcome.unwrap_or_else(|text| panic!("{request:?}: {text}"));
        let is_persistent = request.benchmark.ends_with("-persistent");
        for row in rows {
            assert_eq!(row.algorithm.as_deref(), Some("native"), "{row:?}");
            assert_eq!(row.overlap.is_none(), is_persistent, "{row:?}");
            assert!(row.overlap.is_none_or(|share| (0.0..=1.0).contains(&share)), "{row:?}");
        }
    }
}

#[test]
fn files_of_a_host_are_refused() {
    let Some(mpiexec) = mpiexec() else { return };
    let request = request(find("file-host").expect("of the catalogue"), 2, PayloadSort::Data);
    let text = on_mpi(&mpiexec, 2, &[request]).remove(0).expect_err("there is no host");
    assert!(text.starts_with("file-host needs files by host; this backend has posix"), "{text}");
}

/// Rank 0 to rank 7 past the probe of 1 to 3, as in the paper; with 4 ranks the stream is from rank 0 to rank 2.
#[test]
fn contention_has_its_background() {
    let contention = find("contention").expect("of the catalogue");
    for ranks in [4, 8] {
        let requests = [Request { bytes: vec![8], ..request(contention, ranks, PayloadSort::Phantom) }];
        for outcome in check_against_threads(ranks, &requests) {
            let rows = outcome.unwrap_or_else(|text| panic!("{ranks} ranks: {text}"));
            assert_eq!(rows.len(), 1);
            assert!(rows[0].quiet_seconds.is_some_and(|seconds| seconds > 0.0), "{rows:?}");
        }
    }
}
