//! The tables of files: what is read, what is refused, and what the catalogue has.

use weft_machine::{Machine, find};

const FILES: &str = r#"
[files]
attached = [0, 4]
disks_per_io_node = 1
block_bytes = 4096
disk_startup = 20e-3
disk_byte_time = 1e-6
cache_bytes = 65536
read_ahead_bytes = 16384
client_overhead = 1e-3
server_overhead = 1e-3
allocation_time = { value = 10e-3, source = "a guess" }
source = "made up"
"#;

const HOST_FILES: &str = r#"
[host_files]
request_time = 1e-3
byte_time = 1e-6
source = "made up"
"#;

fn machine(tables: &str) -> Result<Machine, String> {
    let mut machine = find("ncube3200").unwrap();
    machine.files = None;
    machine.host_files = None;
    let text = format!("{}{tables}", machine.to_toml());
    Machine::parse(&text, "m.toml").map_err(|fault| fault.to_string().lines().next().unwrap().to_owned())
}

#[test]
fn files_are_read_with_their_sources() {
    let machine = machine(&format!("{FILES}{HOST_FILES}")).unwrap();
    let files = machine.files.as_ref().unwrap();
    assert_eq!((files.attached.as_slice(), files.disks(), files.block_bytes), (&[0, 4][..], 2, 4096));
    assert_eq!((files.disk_startup, files.allocation_time), (20e-3, 10e-3));
    assert_eq!((files.sources["attached"].as_str(), files.sources["allocation_time"].as_str()), ("made up", "a guess"));
    assert_eq!(machine.host_files.as_ref().unwrap().byte_time, 1e-6);
    let json = machine.to_json();
    assert_eq!(json["files"]["disk_startup"]["unit"], "s");
    assert_eq!(json["files"]["attached"]["value"], serde_json::json!([0, 4]));
}

#[test]
fn each_fault_says_what_was_expected() {
    let cases = [
        ("attached = [0, 4]", "attached = []", "files.attached: expected the compute node of at least one I/O node"),
        ("attached = [0, 4]", "attached = [0, 64]", "files.attached: expected compute nodes 0 to 63, found 64"),
        ("attached = [0, 4]", "attached = 4", "files.attached: expected a list of whole numbers, as [4, 4], found 4"),
        ("attached = [0, 4]\n", "", "files.attached: expected a list of whole numbers, as [4, 4]; the key is missing"),
        (
            "disks_per_io_node = 1",
            "disks_per_io_node = 0",
            "files.disks_per_io_node: expected a whole number of at least 1",
        ),
        (
            "disks_per_io_node = 1\n",
            "",
            "files.disks_per_io_node: expected a whole number of at least 1; the key is missing",
        ),
        ("block_bytes", "blok_bytes", "files.blok_bytes: expected one of the keys source, attached,"),
        (
            "cache_bytes = 65536",
            "cache_bytes = 4095",
            "files.cache_bytes: expected a whole number of bytes of at least 4096",
        ),
        (
            "read_ahead_bytes = 16384",
            "read_ahead_bytes = 65537",
            "files.read_ahead_bytes: expected at most 65536, the bytes of the cache they are read into, found 65537",
        ),
        (
            "disk_startup = 20e-3",
            "disk_startup = -1",
            "files.disk_startup: expected a number of at least 0, in s, found -1",
        ),
        ("source = \"made up\"\n", "", "files.attached: expected a source"),
    ];
    for (from, to, expected) in cases {
        assert!(FILES.contains(from), "{from}");
        let fault = machine(&FILES.replacen(from, to, 1)).unwrap_err();
        assert!(fault.contains(expected), "{fault}");
    }
}

#[test]
fn files_of_a_host_need_a_host() {
    let mut without = find("ncube3200").unwrap();
    (without.host, without.files, without.host_files) = (None, None, None);
    let fault = Machine::parse(&format!("{}{HOST_FILES}", without.to_toml()), "m.toml").unwrap_err().to_string();
    assert!(fault.contains("host_files: expected a table [host] too"), "{fault}");
}

#[test]
fn io_nodes_are_spread_evenly() {
    let files = machine(FILES).unwrap().files.unwrap();
    assert_eq!(files.with_io_nodes(4, 64).attached, [0, 16, 32, 48]);
    assert_eq!(files.with_io_nodes(3, 8).attached, [0, 2, 5]);
}

#[test]
fn the_machines_of_section_5_have_their_files() {
    let ipsc860 = find("ipsc860").unwrap();
    assert_eq!(ipsc860.files.as_ref().map(|files| files.block_bytes), Some(4096));
    assert!(ipsc860.host_files.is_some());
    let ncube6400 = find("ncube6400").unwrap();
    assert!(ncube6400.files.is_none() && ncube6400.host_files.is_some());
}
