//! Every benchmark on threads, plainly and dressed up as a hypercube with a host.

use weft_comm::{CommError, Communicator, Payload, Program, Received, RunError, Source, TagSelector};
use weft_suite::{BufferSort, Description, Group, PayloadSort, Request, Row, Suite, UsageError, catalogue, find};
use weft_threads::{Options, run};

/// A communicator whose ranks are said to be the nodes of a hypercube, the last one its host if it has one.
#[derive(Clone)]
struct Cube<C> {
    inner: C,
    has_host: bool,
    is_virtual: bool,
}

impl<C: Communicator> Communicator for Cube<C> {
    type Send = C::Send;
    type Receive = C::Receive;

    weft_comm::forward_to_inner!(
        rank,
        size,
        wtime,
        isend,
        irecv,
        probe,
        iprobe,
        compute,
        world_rank,
        enter_collective,
        leave_collective,
        native
    );

    fn virtual_time(&self) -> bool {
        self.is_virtual
    }
    async fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Self>, CommError> {
        let part = self.inner.split(color, key).await?;
        Ok(part.map(|inner| Cube { inner, has_host: false, is_virtual: self.is_virtual }))
    }
    fn hops_to(&self, rank: usize) -> Option<usize> {
        Some((self.rank() ^ rank).count_ones() as usize)
    }
    fn host(&self) -> Option<usize> {
        self.has_host.then(|| self.size() - 1)
    }
}

#[derive(Clone)]
struct OnCube {
    suite: Suite,
    has_host: bool,
    is_virtual: bool,
}

impl Program for OnCube {
    type Output = Result<Vec<Row>, UsageError>;
    async fn run<C: Communicator>(self, comm: C) -> Result<Self::Output, CommError> {
        self.suite.run(Cube { inner: comm, has_host: self.has_host, is_virtual: self.is_virtual }).await
    }
}

/// Everything but what has tests of its own, and what has a row for each pair.
fn message_benchmarks() -> impl Iterator<Item = &'static Description> {
    catalogue()
        .into_iter()
        .filter(|benchmark| !matches!(benchmark.group, Group::Program | Group::Files | Group::Exchange))
        .filter(|benchmark| !matches!(benchmark.group, Group::OneSided | Group::Overlap | Group::Datatype))
        .filter(|benchmark| benchmark.name != "pairs" && !benchmark.calls_from_threads())
}

fn of_group(group: Group) -> impl Iterator<Item = &'static Description> {
    catalogue().into_iter().filter(move |benchmark| benchmark.group == group)
}

/// Few iterations, for machines that have better things to do.
fn request(benchmark: &str) -> Request {
    Request { benchmark: benchmark.to_owned(), iterations: Some(3), warmup: Some(1), ..Request::default() }
}

/// One row a length of any benchmark.
fn one_variant(benchmark: &Description, ranks: usize) -> Request {
    let mut request = Request { bytes: lengths(benchmark), ..request(benchmark.name) };
    if benchmark.takes("neighbours").is_some() {
        request.neighbours = vec![ranks as u32 - 1];
    }
    if benchmark.takes("background_bytes").is_some() {
        request.background_bytes = vec![5000];
    }
    request
}

fn first_of<P>(ranks: usize, program: &P) -> Result<Vec<Row>, UsageError>
where
    P: Program<Output = Result<Vec<Row>, UsageError>>,
{
    let mut outputs = run(ranks, program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    for output in &outputs[1..] {
        assert!(output.as_ref().is_err() || output.as_ref().is_ok_and(Vec::is_empty), "only rank 0 has rows");
    }
    outputs.swap_remove(0)
}

fn rows(ranks: usize, request: Request) -> Vec<Row> {
    first_of(ranks, &Suite { request }).unwrap()
}

fn refusal(ranks: usize, request: Request) -> String {
    first_of(ranks, &Suite { request }).unwrap_err().to_string()
}

fn on_cube(ranks: usize, request: Request) -> Result<Vec<Row>, UsageError> {
    first_of(ranks, &OnCube { suite: Suite { request }, has_host: false, is_virtual: false })
}

fn lengths(benchmark: &Description) -> Vec<u64> {
    if benchmark.takes("bytes").is_some() { vec![8, 24, 40_000] } else { Vec::new() }
}

fn check_rows(benchmark: &Description, ranks: usize, rows: &[Row]) {
    let bytes: Vec<Option<u64>> = rows.iter().map(|row| row.bytes).collect();
    let expected: Vec<Option<u64>> = match lengths(benchmark) {
        lengths if lengths.is_empty() => vec![None],
        lengths => lengths.into_iter().map(Some).collect(),
    };
    assert_eq!(bytes, expected, "{}", benchmark.name);
    for row in rows {
        assert_eq!((row.benchmark.as_str(), row.ranks, row.iterations), (benchmark.name, ranks, 3), "{row:?}");
        assert!(row.seconds > 0.0 && row.seconds < 10.0, "{row:?}");
        assert!(row.seconds_p10 <= row.seconds, "{row:?}");
        assert!((0.0..=1.0).contains(&row.share_above_3x));
        assert_eq!(row.algorithm.is_some(), benchmark.takes("algorithm").is_some());
    }
}

#[test]
fn every_benchmark_runs_at_2_to_5_ranks_with_data_and_phantoms() {
    for benchmark in message_benchmarks().filter(|benchmark| !benchmark.host) {
        for ranks in benchmark.min_ranks.max(2)..=5 {
            for payload in [PayloadSort::Data, PayloadSort::Phantom] {
                let rows = rows(ranks, Request { payload: Some(payload), ..one_variant(benchmark, ranks) });
                check_rows(benchmark, ranks, &rows);
            }
        }
    }
}

#[test]
fn what_a_backend_does_not_have_is_refused_by_name() {
    let threaded = catalogue().into_iter().filter(|benchmark| benchmark.calls_from_threads());
    for benchmark in of_group(Group::OneSided).chain(of_group(Group::Overlap)).chain(threaded) {
        let what = match benchmark.group {
            _ if benchmark.calls_from_threads() => "threads that call MPI at one time",
            Group::OneSided => "one-sided communication",
            _ if benchmark.name.ends_with("-persistent") => "persistent collectives",
            _ => "nonblocking collectives",
        };
        let expected =
            format!("{} needs {what}, which this backend does not have; measure it by MPI, --on here", benchmark.name);
        assert_eq!(refusal(2, request(benchmark.name)), expected);
    }
    for name in ["echo", "ping-ping", "bandwidth", "bidirectional", "multi-pair"] {
        let on_device = Request { buffers: Some(BufferSort::Device), ..request(name) };
        let needs = "needs messages in the memory of a device, which this backend does not have";
        assert_eq!(refusal(2, on_device), format!("{name} {needs}; measure it by MPI, --on here"));
    }
    let on_host = Request { buffers: Some(BufferSort::Host), ..one_variant(find("echo").unwrap(), 2) };
    assert!(rows(2, on_host).iter().all(|row| row.buffers.is_none()), "the host's memory is where messages lie anyway");
}

#[test]
fn a_future_is_a_nonblocking_collective_where_time_is_virtual() {
    for benchmark in of_group(Group::Overlap).filter(|benchmark| !benchmark.name.ends_with("-persistent")) {
        let request = Request { payload: Some(PayloadSort::Data), ..one_variant(benchmark, 3) };
        let rows = first_of(3, &OnCube { suite: Suite { request }, has_host: false, is_virtual: true }).unwrap();
        assert_eq!(rows.len(), lengths(benchmark).len().max(1), "{}", benchmark.name);
        for row in rows {
            assert!(row.overlap.is_some_and(|overlap| (0.0..=1.0).contains(&overlap)), "{row:?}");
            assert!(row.quiet_seconds.is_some_and(|alone| alone > 0.0) && row.algorithm.is_some(), "{row:?}");
        }
    }
}

#[test]
fn blocks_are_packed_where_there_are_no_datatypes() {
    for benchmark in of_group(Group::Datatype) {
        for payload in [PayloadSort::Data, PayloadSort::Phantom] {
            let rows = rows(3, Request { payload: Some(payload), ..one_variant(benchmark, 3) });
            assert_eq!(rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), [Some(8), Some(24), Some(40_000)]);
            assert!(rows.iter().all(|row| row.algorithm.as_deref() == Some("packed") && row.seconds > 0.0), "{rows:?}");
        }
    }
}

#[test]
fn every_rank_sends_to_every_other() {
    for (ranks, payload) in [(2, PayloadSort::Data), (5, PayloadSort::Data), (6, PayloadSort::Phantom)] {
        let rows = rows(ranks, Request { bytes: vec![8, 40_000], payload: Some(payload), ..request("pairs") });
        let measured: Vec<_> = rows.iter().map(|row| (row.bytes, row.sender, row.receiver)).collect();
        let numbers = 0..ranks as u32;
        let pairs = || numbers.clone().flat_map(|from| numbers.clone().map(move |to| (from, to)));
        let of_length =
            |bytes| pairs().filter(|(from, to)| from != to).map(move |(from, to)| (Some(bytes), Some(from), Some(to)));
        assert_eq!(measured, of_length(8).chain(of_length(40_000)).collect::<Vec<_>>());
        assert!(rows.iter().all(|row| row.seconds > 0.0 && row.iterations == 3 && row.ranks == ranks), "{rows:?}");
    }
}

#[test]
fn ghosts_are_exchanged_by_shape() {
    for ranks in 1..=5 {
        for payload in [PayloadSort::Data, PayloadSort::Phantom] {
            let shapes = vec![vec![5, 4, 3], vec![7], vec![3, 3, 3, 3]];
            let rows = rows(ranks, Request { shape: shapes, payload: Some(payload), ..request("halo") });
            let shapes: Vec<&str> = rows.iter().filter_map(|row| row.shape.as_deref()).collect();
            assert_eq!(shapes, ["5x4x3", "7", "3x3x3x3"]);
            assert!(rows.iter().all(|row| row.ranks == ranks && row.iterations == 3 && row.seconds > 0.0), "{rows:?}");
            let messages = weft_suite::halo_messages(&[5, 4, 3], ranks).unwrap();
            assert_eq!(rows[0].bytes, Some(messages.iter().sum()));
            assert_eq!(messages.is_empty(), ranks == 1);
        }
    }
    // Two ranks: both faces of the first axis, 12 elements each, go to the same neighbour in one message.
    assert_eq!(weft_suite::halo_messages(&[5, 4, 3], 2).unwrap(), [2 * 12 * 8]);
}

#[test]
fn every_algorithm_can_be_asked_for_by_name() {
    for benchmark in message_benchmarks() {
        for &algorithm in benchmark.choices("algorithm").iter().filter(|name| !["auto", "native"].contains(name)) {
            let bytes = lengths(benchmark);
            let rows = rows(3, Request { algorithm: Some(algorithm.to_owned()), bytes, ..request(benchmark.name) });
            assert!(rows.iter().all(|row| row.algorithm.as_deref() == Some(algorithm)), "{}", benchmark.name);
        }
    }
}

#[test]
fn the_host_echoes() {
    let request = Request { bytes: vec![8, 24, 40_000], ..request("echo-host") };
    let rows = first_of(4, &OnCube { suite: Suite { request }, has_host: true, is_virtual: false }).unwrap();
    check_rows(weft_suite::find("echo-host").unwrap(), 3, &rows);
    // Where there is a host, it takes no part in anything else.
    let request = Request { iterations: Some(2), ..self::request("barrier") };
    let rows = first_of(4, &OnCube { suite: Suite { request }, has_host: true, is_virtual: false }).unwrap();
    assert_eq!(rows[0].ranks, 3);
}

#[test]
fn echo_goes_to_the_lowest_rank_at_each_distance() {
    let request = Request { hops: vec![3, 1], bytes: vec![16, 8], keep_samples: true, ..request("echo") };
    let rows = on_cube(8, request).unwrap();
    let points: Vec<_> = rows.iter().map(|row| (row.hops, row.bytes)).collect();
    assert_eq!(points, [(Some(3), Some(16)), (Some(3), Some(8)), (Some(1), Some(16)), (Some(1), Some(8))]);
    assert!(rows.iter().all(|row| row.samples.as_ref().is_some_and(|samples| samples.len() == 3)));
}

#[test]
fn the_ring_of_a_cube_runs() {
    assert_eq!(on_cube(8, Request { bytes: vec![8], ..request("ring") }).unwrap().len(), 1);
}

#[test]
fn where_time_is_virtual_few_iterations_do() {
    for benchmark in message_benchmarks().filter(|benchmark| !benchmark.host) {
        let request = Request { iterations: None, warmup: None, ..one_variant(benchmark, 4) };
        let rows = first_of(4, &OnCube { suite: Suite { request }, has_host: false, is_virtual: true }).unwrap();
        check_rows(benchmark, 4, &rows);
    }
}

#[test]
fn what_disturbs_is_measured_against_quiet() {
    for name in ["routing-echo", "routing-compute", "contention"] {
        let benchmark = weft_suite::find(name).unwrap();
        for row in rows(5, one_variant(benchmark, 5)) {
            let (quiet, slowdown) = (row.quiet_seconds.unwrap(), row.slowdown.unwrap());
            assert!(quiet > 0.0 && (slowdown - (1.0 - quiet / row.seconds)).abs() < 1e-12, "{row:?}");
        }
    }
}

#[test]
fn every_pattern_of_background_runs_beside_every_probe() {
    for background in ["stream", "shift", "shift:2", "random", "all-to-all", "0-4,4-0,2-0"] {
        let request = Request {
            background: Some(background.to_owned()),
            background_bytes: vec![64, 70_000],
            bytes: vec![8, 50_000],
            ..request("contention")
        };
        let rows = rows(5, request);
        let points: Vec<_> = rows.iter().map(|row| (row.background_bytes, row.bytes)).collect();
        assert_eq!(points, [(64, 8), (64, 50_000), (70_000, 8), (70_000, 50_000)].map(|(l, b)| (Some(l), Some(b))));
        assert!(rows.iter().all(|row| row.background.as_deref() == Some(background)), "{rows:?}");
        assert!(rows.iter().all(|row| row.probe.as_deref() == Some("1-3") && row.rate.is_some()), "{rows:?}");
    }
    for probe in [[0, 1], [4, 0], [2, 4]] {
        let request = Request { probe: Some(probe), bytes: vec![8], ..request("contention") };
        assert_eq!(rows(5, request).len(), 4, "one row for every load of the catalogue");
    }
}

#[test]
fn fans_have_as_many_neighbours_as_there_are_ranks() {
    for name in ["fan-in", "fan-out"] {
        let counts = |ranks: usize, neighbours: Vec<u32>| {
            let rows = rows(ranks, Request { bytes: vec![100], neighbours, ..request(name) });
            rows.iter().map(|row| row.neighbours.unwrap()).collect::<Vec<u32>>()
        };
        assert_eq!(counts(2, vec![]), [1]);
        assert_eq!(counts(5, vec![]), [1, 2, 4]);
        assert_eq!(counts(5, vec![3, 1]), [3, 1]);
    }
}

#[test]
fn rows_of_before_are_still_read() {
    let text = r#"{"benchmark": "echo", "ranks": 2, "seconds": 1e-6, "seconds_p10": 1e-6, "iterations": 9,
        "share_above_3x": 0.0}"#;
    let row: Row = serde_json::from_str(text).unwrap();
    assert_eq!((row.neighbours, row.background, row.slowdown), (None, None, None));
}

#[test]
fn fewer_ranks_than_the_launch_has() {
    let rows = rows(5, Request { ranks: Some(3), bytes: vec![64], ..request("allreduce") });
    assert_eq!((rows.len(), rows[0].ranks), (1, 3));
}

#[test]
fn the_time_to_be_spent_decides_the_iterations() {
    for name in ["echo", "ring", "barrier"] {
        let bytes = if name == "barrier" { Vec::new() } else { vec![8] };
        let request = Request { benchmark: name.to_owned(), bytes, seconds_per_point: 0.01, ..Request::default() };
        let rows = rows(2, request);
        assert!(rows[0].iterations >= 10, "{rows:?}");
    }
}

#[test]
fn defaults_measure_every_length_of_the_catalogue() {
    let rows = rows(2, Request { iterations: Some(1), warmup: Some(0), ..Request::default() });
    let bytes: Vec<u64> = rows.iter().filter_map(|row| row.bytes).collect();
    assert_eq!(bytes, (3..=20).map(|log| 1 << log).collect::<Vec<u64>>());
}

#[test]
fn impossible_requests_are_explained() {
    let bytes = |bytes: u64, name: &str| Request { bytes: vec![bytes], ..request(name) };
    let cases = [
        (request("ecko"), "there is no benchmark 'ecko'; did you mean 'echo'?"),
        (request("xyz"), "there is no benchmark 'xyz'; there are echo, echo-self,"),
        (bytes(0, "bandwidth"), "bandwidth with a message of zero bytes means nothing; ask for 1 byte or more"),
        (bytes(12, "allreduce"), "allreduce combines elements of 8 bytes; 12 bytes is not a multiple of 8"),
        (bytes(8, "barrier"), "barrier sends no data, so it takes no bytes"),
        (Request { hops: vec![1], ..request("ring") }, "ring takes no hops; echo does"),
        (Request { hops: vec![0], ..request("echo") }, "for a rank's messages to itself use echo-self"),
        (
            Request { window: Some(4), ..request("echo") },
            "echo takes no window; bandwidth, bidirectional, multi-pair and 6 others do",
        ),
        (Request { window: Some(0), ..request("bandwidth") }, "bandwidth with a window of 0 sends nothing"),
        (
            Request { algorithm: Some("ring".into()), ..request("barrier") },
            "barrier has no algorithm 'ring'; it has auto,",
        ),
        (
            Request { algorithm: Some("ring".into()), ..request("echo") },
            "echo takes no algorithm; barrier, broadcast, reduce and 14 others do",
        ),
        (
            Request { algorithm: Some("native".into()), ..request("scan") },
            "scan by 'native': this backend has no library",
        ),
        (Request { iterations: Some(0), ..request("echo") }, "iterations must be 1 or more"),
        (Request { seconds_per_point: -1.0, ..request("echo") }, "seconds_per_point must be a positive number, not -1"),
        (Request { ranks: Some(1), ..request("barrier") }, "barrier needs at least 2 ranks, not 1 rank"),
        (Request { ranks: Some(9), ..request("barrier") }, "barrier on 9 ranks: this launch has 2"),
        (
            request("routing-echo"),
            "routing-echo needs at least 3 ranks, not 2 ranks: two exchange echoes, the others compute",
        ),
        (
            request("contention"),
            "contention needs at least 4 ranks, not 2 ranks: two probe, the others load the network",
        ),
        (Request { probe: Some([1, 1]), ..request("contention") }, "the probe needs two different ranks"),
        (Request { background: Some("streem".into()), ..request("contention") }, "background 'streem' is no pattern"),
        (Request { background_bytes: vec![0], ..request("contention") }, "of zero bytes are no load"),
        (
            Request { background: Some("none".into()), background_bytes: vec![8], ..request("contention") },
            "background 'none' has no messages, so it takes no background_bytes",
        ),
        (Request { background_bytes: vec![8], ..request("echo") }, "echo takes no background_bytes; contention does"),
        (Request { probe: Some([0, 1]), ..request("fan-in") }, "fan-in takes no probe; contention does"),
        (Request { neighbours: vec![1], ..request("ring") }, "ring takes no neighbours; fan-in and fan-out do"),
        (Request { neighbours: vec![0], ..request("fan-in") }, "fan-in with 0 neighbours moves nothing"),
        (Request { neighbours: vec![2], ..request("fan-out") }, "fan-out with 2 neighbours needs 3 ranks, not 2"),
        (request("echo-host"), "echo-host needs a rank on the machine's host, and this launch has none"),
    ];
    for (request, message) in cases {
        let refused = refusal(2, request);
        assert!(refused.contains(message), "{refused}");
    }
    let probe = |from: usize, to: usize| Request { probe: Some([from, to]), ..request("contention") };
    assert_eq!(refusal(5, probe(1, 5)), "probe 1-5: 5 ranks are numbered 0 to 4");
    let pairs = Request { background: Some("0-4,2-3".into()), ..request("contention") };
    assert!(refusal(5, pairs).starts_with("background 2-3: rank 3 probes (1-3)"));
    assert_eq!(refusal(1, request("echo")), "echo needs at least 2 ranks, not 1 rank");
}

#[test]
fn distances_a_machine_does_not_have_are_explained() {
    let far = on_cube(8, Request { hops: vec![1, 7], ..request("echo") }).unwrap_err();
    assert_eq!(far.to_string(), "7 hops: the farthest rank is 3 hops away");
    let near = refusal(3, Request { hops: vec![1], ..request("echo") });
    assert_eq!(near, "1 hop: the farthest rank is 0 hops away");
}

#[test]
fn requests_are_read_from_json() {
    let request = Request::from_json(r#"{"benchmark": "scan", "bytes": [8, 16], "payload": "phantom"}"#).unwrap();
    assert_eq!(
        (request.bytes.as_slice(), request.payload, request.seed),
        (&[8, 16][..], Some(PayloadSort::Phantom), 1)
    );
    assert_eq!(Request::from_json("{}").unwrap(), Request::default());
    let error = Request::from_json(r#"{"byte": [8]}"#).unwrap_err().to_string();
    assert!(error.starts_with("the request is malformed: unknown field `byte`"), "{error}");
    assert!(Request::from_json(r#"{"benchmark": "barier"}"#).unwrap_err().to_string().contains("'barrier'"));
}

/// A backend that corrupts messages: echo must notice.
#[derive(Clone)]
struct Corrupted(&'static str);

impl Program for Corrupted {
    type Output = Result<Vec<Row>, UsageError>;
    async fn run<C: Communicator>(self, comm: C) -> Result<Self::Output, CommError> {
        if comm.rank() == 0 {
            return Suite { request: Request { bytes: vec![100], ..request(self.0) } }.run(comm).await;
        }
        let into = Payload::of(&[0u8; 100]);
        let Received { mut payload, status } = comm.recv(Source::Rank(0), TagSelector::AnyUser, into).await?;
        payload.put(17, &Payload::of(&[0u8]));
        comm.send(0, status.tag, payload).await?;
        Ok(Ok(Vec::new()))
    }
}

#[test]
fn an_echo_that_comes_back_changed_is_an_error() {
    let error = run(2, &Corrupted("echo"), &Options::default()).unwrap_err();
    let expected = "rank 0: echo of 100 bytes: byte 17 came back as 0x00, 0x12 was sent";
    assert!(matches!(&error, RunError::Failed(_)) && error.to_string() == expected, "{error}");
}

#[test]
fn a_message_of_a_window_that_comes_changed_is_an_error() {
    let error = run(2, &Corrupted("ping-ping"), &Options::default()).unwrap_err();
    let expected = "rank 0: ping-ping: message 0 of 100 bytes: byte 17 came as 0x00, 0x12 was sent";
    assert!(matches!(&error, RunError::Failed(_)) && error.to_string() == expected, "{error}");
}
