//! Writes the standard's binary interface: its functions, and the values of its predefined handles.

#[path = "../virtual-openmpi/generator.rs"]
mod generator;

use std::fmt::Write;
use std::fs;

use generator::{Interface, write_generated};

const HANDLES: &str = "src/handles.txt";

/// Predefined handles: name, value, the handle that they stand for, kind.
fn write_handles() {
    let text = fs::read_to_string(HANDLES).expect("the table of handles");
    let mut out = String::from("pub const KNOWN: &[Known] = &[\n");
    for row in text.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let fields: Vec<_> = row.split_whitespace().collect();
        let [_, value, handle, kind] = fields[..] else { panic!("a row of four fields: {row}") };
        let is_apart = ["Message", "File"].contains(&kind);
        writeln!(out, "    Known {{ value: {value}, handle: {handle}_u32 as c_int, is_apart: {is_apart} }},").unwrap();
    }
    out.push_str("];\n");
    write_generated("handles.rs", &out);
}

fn main() {
    println!("cargo::rerun-if-changed={HANDLES}");
    println!("cargo::rerun-if-changed=../virtual-openmpi/generator.rs");
    write_handles();
    let by_hand = &["src/special.rs", "../virtual-openmpi/src/creation.rs"];
    Interface { soname: "libmpi_abi.so.1", by_hand, large_counts: true, handles_are_numbers: true }.write();
}
