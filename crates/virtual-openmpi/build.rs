//! Writes Open MPI's interface: its functions, and the objects whose addresses are handles there.

mod generator;

use std::fmt::Write;
use std::fs;

use generator::{Interface, write_generated};

const HANDLES: &str = "src/handles.txt";

/// Objects of Open MPI whose addresses are handles: name, bytes, the handle that they stand for, its kind.
fn write_objects() {
    let text = fs::read_to_string(HANDLES).expect("the table of handles");
    let (mut out, mut table) = (String::new(), String::new());
    for row in text.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let fields: Vec<_> = row.split_whitespace().collect();
        let [name, bytes, handle, kind] = fields[..] else { panic!("a row of four fields: {row}") };
        let words = bytes.parse::<usize>().expect("a number of bytes") / 4;
        writeln!(out, "#[unsafe(no_mangle)]\npub static mut {name}: [u32; {words}] = object({handle});").unwrap();
        writeln!(table, "    Known {{ name: c\"{name}\", handle: {handle}_u32 as c_int, kind: Kind::{kind} }},")
            .unwrap();
    }
    writeln!(out, "pub const KNOWN: &[Known] = &[\n{table}];").unwrap();
    write_generated("objects.rs", &out);
}

fn main() {
    println!("cargo::rerun-if-changed={HANDLES}");
    println!("cargo::rerun-if-changed=generator.rs");
    write_objects();
    let by_hand = &["src/special.rs", "src/creation.rs"];
    Interface { soname: "libmpi.so.40", by_hand, large_counts: false, handles_are_numbers: false }.write();
}
