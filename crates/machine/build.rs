//! Embeds every file of `machines/` into the crate, so that a file that is added to the folder is in the catalogue.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let folder =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is")).join("machines");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut machines: Vec<(u32, String, PathBuf)> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: cannot be listed: {error}", folder.display()))
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| (year(&path), stem(&path), path))
        .collect();
    machines.sort();
    let entries: String =
        machines.iter().map(|(_, name, path)| format!("    ({name:?}, include_str!({path:?})),\n")).collect();
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write")).join("built_in.rs");
    fs::write(&output, format!("&[\n{entries}]\n"))
        .unwrap_or_else(|error| panic!("{}: cannot be written: {error}", output.display()));
}

fn stem(path: &Path) -> String {
    path.file_stem().and_then(|stem| stem.to_str()).expect("names of machine files are UTF-8").to_owned()
}

/// The catalogue is listed by year, so every file of it has the line `year = …` before its first table.
fn year(path: &Path) -> u32 {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: cannot be read: {error}", path.display()));
    let value = text
        .lines()
        .take_while(|line| !line.starts_with('['))
        .find_map(|line| line.strip_prefix("year = "))
        .unwrap_or_else(|| panic!("{}: a machine of the catalogue needs a line `year = …` at its top", path.display()));
    value.trim().parse().unwrap_or_else(|error| panic!("{}: year = {value}: {error}", path.display()))
}
