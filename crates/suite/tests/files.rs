//! The file benchmarks on threads: rows, what they leave behind (nothing), what is refused.

use weft_suite::{PayloadSort, Request, Row, Suite, UsageError};
use weft_threads::{Options, run};

fn rows(ranks: usize, request: Request) -> Result<Vec<Row>, UsageError> {
    let mut outputs = run(ranks, &Suite { request }, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    outputs.swap_remove(0)
}

fn request(benchmark: &str) -> Request {
    Request {
        benchmark: benchmark.to_owned(),
        bytes: vec![5, 1000, 65536],
        file_bytes: Some(100_000),
        iterations: Some(2),
        warmup: Some(0),
        ..Request::default()
    }
}

#[test]
fn rows_carry_the_rate_of_all_ranks_and_what_is_known_of_the_cache() {
    for benchmark in ["file-read", "file-write"] {
        for ranks in [1, 3] {
            for payload in [PayloadSort::Data, PayloadSort::Phantom] {
                let rows = rows(ranks, Request { payload: Some(payload), ..request(benchmark) }).unwrap();
                assert_eq!(rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), [Some(5), Some(1000), Some(65536)]);
                for row in rows {
                    assert_eq!((row.ranks, row.iterations, row.io_nodes), (ranks, 2, None));
                    assert_eq!(row.file_bytes, row.bytes.map(|block| 100_000 / block * block));
                    let all = (row.file_bytes.unwrap() * ranks as u64) as f64;
                    assert!((row.rate.unwrap() * row.seconds / all - 1.0).abs() < 1e-9, "{row:?}");
                    assert_eq!(row.file_system.as_deref(), Some("posix"));
                    assert!(row.file_kind.is_some_and(|kind| !kind.is_empty() && kind != "unknown"));
                    let known = ["dropped", "kept", "unknown"];
                    assert_eq!(
                        row.cache.is_some_and(|cache| known.contains(&cache.as_str())),
                        benchmark == "file-read"
                    );
                    assert_eq!(row.preallocate, (benchmark == "file-write").then_some(false));
                }
            }
        }
    }
}

#[test]
fn a_file_can_have_its_room_beforehand() {
    let rows = rows(2, Request { preallocate: true, ..request("file-write") }).unwrap();
    assert!(rows.iter().all(|row| row.preallocate == Some(true)));
}

#[test]
fn impossible_requests_are_explained() {
    let of = request;
    let cases = [
        (of("file-host"), "file-host needs files by host; this backend has posix"),
        (Request { bytes: vec![0], ..of("file-read") }, "file-read with a block of zero bytes means nothing"),
        (Request { file_bytes: Some(0), ..of("file-read") }, "file_bytes must be 1 or more"),
        (Request { file_bytes: Some(1 << 40), ..of("file-read") }, "file-read with files of more than 16 GiB in all"),
        (Request { preallocate: true, ..of("file-read") }, "file-read takes no preallocate; file-write does"),
        (Request { io_nodes: Some(2), ..of("file-read") }, "only the I/O nodes of a described machine can be chosen"),
        (Request { io_nodes: Some(0), ..of("file-read") }, "io_nodes must be 1 or more"),
        (
            Request { io_nodes: Some(2), ..Request::default() },
            "echo takes no io_nodes; file-read and file-write and jacobi and slalom do",
        ),
        (
            Request { file_bytes: Some(2), ..Request::default() },
            "echo takes no file_bytes; file-host and file-read and file-write do",
        ),
        (
            Request { file_system: Some("concurrent".to_owned()), ..of("file-write") },
            "file-write needs files by concurrent; this backend has posix",
        ),
    ];
    for (request, message) in cases {
        let refused = rows(2, request).unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
    }
}

/// The directory is an environment variable of the whole process, so what depends on it runs in a process of its own.
fn with_directory(directory: &str, test: &str) -> (bool, String) {
    let this = std::env::current_exe().unwrap();
    let output = std::process::Command::new(this)
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("TMPDIR", directory)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

#[test]
#[ignore = "run by the tests below in a process of its own"]
fn run_in_the_directory_of_the_environment() {
    rows(2, request("file-write")).unwrap();
    rows(2, request("file-read")).unwrap();
    rows(2, Request { bytes: vec![], file_bytes: None, extent: vec![8], ..request("jacobi") }).unwrap();
}

const IN_DIRECTORY: &str = "run_in_the_directory_of_the_environment";

#[test]
fn nothing_is_left_behind() {
    let directory = std::env::temp_dir().join(format!("weft-test-empty-{}", std::process::id()));
    std::fs::create_dir(&directory).unwrap();
    let (success, text) = with_directory(&directory.display().to_string(), IN_DIRECTORY);
    let left = std::fs::read_dir(&directory).unwrap().count();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(success, "{text}");
    assert_eq!(left, 0);
}

#[test]
fn a_directory_that_is_not_there_is_named_with_what_to_do() {
    let (success, text) = with_directory("/nowhere/at/all", IN_DIRECTORY);
    assert!(!success);
    assert!(text.contains("cannot open the file /nowhere/at/all/weft-"), "{text}");
    assert!(text.contains("No such file or directory (os error 2); set TMPDIR to a directory that is there"), "{text}");
}

/// `/dev/full` gives the error of a device without room to whoever writes to it.
#[test]
fn a_full_device_is_named_with_what_to_do() {
    use weft_comm::files::{Access, Files, PosixFiles};
    use weft_comm::{Payload, block_on};
    let files = PosixFiles::new(3);
    let file = block_on(files.open("/dev/full", Access::ReadWrite)).unwrap().unwrap();
    let error = block_on(files.write_at(file, 0, Payload::of(&[1u8; 10]))).unwrap().unwrap_err().to_string();
    assert!(error.starts_with("rank 3: cannot write the file /dev/full: No space left on device"), "{error}");
    assert!(error.ends_with("ask for fewer bytes or set TMPDIR to a directory with more room"), "{error}");
}

#[test]
fn a_file_that_may_not_be_written_is_named_with_what_to_do() {
    use weft_comm::block_on;
    use weft_comm::files::{Access, Files, PosixFiles};
    // Nobody, not even the superuser, makes files among the processes.
    let files = PosixFiles::new(0);
    let error = block_on(files.open("/proc/weft-test", Access::ReadWrite)).unwrap().unwrap_err().to_string();
    assert!(error.starts_with("rank 0: cannot open the file /proc/weft-test: "), "{error}");
}
