//! Files in virtual time behave as section 5 of Dunigan 1991 says, whose figures 10 and 11 are curves without numbers.

use weft_launch::{SimulateOptions, simulate};
use weft_machine::{Machine, find};
use weft_suite::{PayloadSort, Request, Row};

fn machine(name: &str) -> Machine {
    find(name).unwrap()
}

fn rows(machine: &Machine, request: &Request) -> Vec<Row> {
    simulate(machine, request, &SimulateOptions::default()).unwrap_or_else(|error| panic!("{error}")).rows
}

fn request(benchmark: &str, ranks: usize, bytes: &[u64]) -> Request {
    Request { benchmark: benchmark.to_owned(), ranks: Some(ranks), bytes: bytes.to_vec(), ..Request::default() }
}

/// Bytes per second of all ranks.
fn rate(request: &Request) -> f64 {
    rows(&machine("ipsc860"), request)[0].rate.unwrap()
}

/// The rates of 1, 2, 4, … ranks, with this many I/O nodes.
fn by_ranks(benchmark: &str, io_nodes: u32, ranks: &[usize], block: u64) -> Vec<f64> {
    let of = |&ranks: &usize| {
        let file_bytes = Some(512 << 10);
        rate(&Request { io_nodes: Some(io_nodes), file_bytes, ..request(benchmark, ranks, &[block]) })
    };
    ranks.iter().map(of).collect()
}

fn falls(rates: &[f64]) -> bool {
    rates.windows(2).all(|pair| pair[1] < pair[0])
}

#[test]
fn a_single_node_reads_an_order_of_magnitude_faster_than_from_the_host() {
    for block in [4096, 65536] {
        let ratio = rate(&request("file-read", 1, &[block])) / rate(&request("file-host", 1, &[block]));
        assert!((5.0..50.0).contains(&ratio), "{block} bytes: {ratio}");
    }
}

#[test]
fn each_node_reads_slower_when_several_read() {
    for block in [4096, 65536] {
        let rates = by_ranks("file-read", 4, &[1, 2, 4, 8], block);
        let each: Vec<f64> = rates.iter().zip([1.0, 2.0, 4.0, 8.0]).map(|(rate, ranks)| rate / ranks).collect();
        assert!(falls(&each), "{block} bytes: {each:?}");
    }
}

#[test]
fn all_together_read_slower_when_they_are_more_than_the_io_nodes() {
    // With two I/O nodes and blocks as long as what a disk reads ahead the disks are busy in either case.
    for (io_nodes, block) in [(1, 4096), (1, 65536), (2, 4096), (4, 4096), (4, 65536)] {
        let rates = by_ranks("file-read", io_nodes, &[io_nodes as usize, 2 * io_nodes as usize], block);
        assert!(falls(&rates), "{io_nodes} I/O nodes, {block} bytes: {rates:?}");
    }
}

#[test]
fn more_io_nodes_serve_more_nodes() {
    for benchmark in ["file-read", "file-write"] {
        let rates: Vec<f64> = [1, 2, 4, 8].map(|io_nodes| by_ranks(benchmark, io_nodes, &[4], 16384)[0]).to_vec();
        assert!(rates.is_sorted(), "{benchmark}: {rates:?}");
    }
}

#[test]
fn one_node_reads_a_long_file_no_slower_from_more_io_nodes() {
    // A short one shows that every disk has to find its part of it once.
    for block in [1024, 4096, 16384, 65536] {
        let of = |io_nodes| {
            let (io_nodes, file_bytes) = (Some(io_nodes), Some(16 << 20));
            rate(&Request { io_nodes, file_bytes, ..request("file-read", 1, &[block]) })
        };
        let rates = [1, 2, 4, 8].map(of);
        assert!(rates.windows(2).all(|pair| pair[1] > 0.98 * pair[0]), "{block} bytes: {rates:?}");
    }
}

#[test]
fn longer_blocks_are_read_and_written_faster() {
    for (name, benchmark) in
        [("ipsc860", "file-read"), ("ipsc860", "file-write"), ("ipsc860", "file-host"), ("ncube6400", "file-host")]
    {
        let rows = rows(&machine(name), &request(benchmark, 1, &[1024, 4096, 16384, 65536]));
        let rates: Vec<f64> = rows.iter().map(|row| row.rate.unwrap()).collect();
        // Once the disks are always busy longer blocks do not matter any more.
        assert!(rates.windows(2).all(|pair| pair[1] > 0.99 * pair[0]), "{name}, {benchmark}: {rates:?}");
        assert!(rates[3] > 2.0 * rates[0], "{name}, {benchmark}: {rates:?}");
    }
}

#[test]
fn writing_is_faster_where_the_room_is_there_already() {
    for ranks in [1, 2, 4, 8] {
        for block in [4096, 65536] {
            let plain = request("file-write", ranks, &[block]);
            let allocated = Request { preallocate: true, ..plain.clone() };
            assert!(rate(&allocated) > rate(&plain), "{ranks} ranks, {block} bytes");
        }
    }
}

#[test]
fn rows_say_what_was_read_and_from_where() {
    let row = &rows(&machine("ipsc860"), &request("file-read", 2, &[5000]))[0];
    assert_eq!(
        (row.file_system.as_deref(), row.file_kind.as_deref()),
        (Some("concurrent"), Some("4 I/O nodes, 4 disks"))
    );
    assert_eq!((row.io_nodes, row.cache.as_deref(), row.preallocate), (Some(4), Some("dropped"), None));
    assert_eq!((row.bytes, row.file_bytes), (Some(5000), Some((1 << 20) / 5000 * 5000)));
    assert!((row.rate.unwrap() * row.seconds / (2 * row.file_bytes.unwrap()) as f64 - 1.0).abs() < 1e-9);
    let row = &rows(&machine("ncube6400"), &request("file-host", 1, &[5000]))[0];
    assert_eq!((row.file_system.as_deref(), row.io_nodes), (Some("host"), None));
}

#[test]
fn data_take_the_time_of_phantoms_and_come_back_as_they_were_written() {
    for benchmark in ["file-read", "file-write", "jacobi"] {
        let bytes: &[u64] = if benchmark == "jacobi" { &[] } else { &[3000] };
        let n = if benchmark == "jacobi" { vec![33] } else { Vec::new() };
        let request = Request { extent: n, ..request(benchmark, 3, bytes) };
        let phantom = rows(&machine("ipsc860"), &request);
        let data = rows(&machine("ipsc860"), &Request { payload: Some(PayloadSort::Data), ..request });
        assert_eq!(phantom, data);
    }
}

#[test]
fn jacobi_runs_from_the_hosts_files_too_and_slower() {
    let machine = machine("ipsc860");
    let request = Request { extent: vec![64], payload: Some(PayloadSort::Data), ..request("jacobi", 8, &[]) };
    let concurrent = rows(&machine, &request)[0].seconds;
    let host = rows(&machine, &Request { file_system: Some("host".to_owned()), ..request })[0].seconds;
    assert!(host > concurrent, "{host} and {concurrent}");
}

#[test]
fn machines_without_such_files_say_so() {
    let refused = |name: &str, request: &Request| {
        simulate(&machine(name), request, &SimulateOptions::default()).unwrap_err().to_string()
    };
    let read = request("file-read", 2, &[]);
    assert_eq!(
        refused("ncube6400", &read),
        "file-read needs files by posix or mpi-io or concurrent; this backend has host"
    );
    assert_eq!(
        refused("frontera", &request("file-host", 1, &[])),
        "file-host needs files by host; this machine has none, as its file has neither [files] nor [host_files]"
    );
    let more = Request { io_nodes: Some(2), ..read.clone() };
    assert_eq!(refused("ncube6400", &more), "2 I/O nodes: ncube6400 has none; its file has no table [files]");
    let most = Request { io_nodes: Some(500), ..read };
    assert_eq!(refused("ipsc860", &most), "500 I/O nodes: ipsc860 has 128 compute nodes to attach them to");
}
