//! The catalogue, and what it says when a machine is not there.

use std::fs;

use weft_machine::{Catalogue, Machine, catalogue, find};

#[test]
fn every_machine_is_found_by_its_name_and_round_trips() {
    let built_in = Catalogue::built_in();
    assert_eq!(built_in.names().collect::<Vec<_>>(), catalogue());
    for name in catalogue() {
        let machine = find(name).unwrap();
        assert_eq!(machine.name, name);
        assert_eq!(built_in.find(name).unwrap(), machine);
        assert_eq!(Machine::parse(&machine.to_toml(), "again").unwrap(), machine);
    }
}

#[test]
fn the_folder_of_machines_is_the_catalogue() {
    let files = fs::read_dir("machines").unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    files.sort();
    // Each file is called as its machine, so that no two machines have one name.
    let names: Vec<String> = files.iter().map(|path| Machine::read(path).unwrap().name).collect();
    let stems: Vec<&str> = files.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, stems);
    let mut known = catalogue();
    known.sort_unstable();
    assert_eq!(names, known);
    let path = find("machines/ipsc2.toml").unwrap();
    assert_eq!(path, find("ipsc2").unwrap());
}

#[test]
fn an_unknown_machine_gets_the_nearest_name_and_all_names() {
    let names = "multi-psi-v1, ipsc1, ipsc2, multi-psi-v2, ncube3200, cm2-8k, cm200, ipsc860, ncube6400, iwarp64, \
                 torus8x8-flit, frontera, tpu-v4, hgx-h100, palomar, rail-h100";
    let message = |name| find(name).unwrap_err().to_string();
    assert_eq!(
        message("ipsc86"),
        format!("unknown machine \"ipsc86\"; did you mean ipsc860? the catalogue has {names}")
    );
    assert_eq!(
        message("ncube-6400"),
        format!("unknown machine \"ncube-6400\"; did you mean ncube6400? the catalogue has {names}")
    );
    assert_eq!(
        message("IPSC860"),
        format!("unknown machine \"IPSC860\"; did you mean ipsc860? the catalogue has {names}")
    );
    assert_eq!(message("paragon-xps"), format!("unknown machine \"paragon-xps\"; the catalogue has {names}"));
}

#[test]
fn a_missing_file_is_named() {
    let message = find("no/such.toml").unwrap_err().to_string();
    assert!(message.starts_with("no/such.toml: cannot be read: "), "{message}");
}

#[test]
fn every_figure_has_a_value_a_unit_and_a_source_as_json() {
    for name in catalogue() {
        let json = find(name).unwrap().to_json();
        let tables = json.as_object().unwrap();
        for (table, value) in tables.iter().filter(|(_, value)| value.is_object() || value.is_array()) {
            let entries = match value.as_array() {
                Some(tables) => tables.iter().collect(),
                None => vec![value],
            };
            for (key, figure) in entries.into_iter().flat_map(|table| table.as_object().unwrap()) {
                let path = format!("{name}: {table}.{key}: {figure}");
                assert!(!figure["value"].is_null(), "{path}");
                assert!(figure.get("unit").is_some(), "{path}");
                assert!(!figure["source"].as_str().unwrap().is_empty(), "{path}");
            }
        }
    }
    let json = find("ipsc860").unwrap().to_json();
    assert_eq!(json["protocols"][0]["hop_time"]["value"], 11e-6);
    assert_eq!(json["protocols"][0]["hop_time"]["unit"], "s");
    assert_eq!(json["topology"]["nodes"]["value"], 128);
    assert_eq!(json["facts"]["clock_rate"]["unit"], "Hz");
    assert_eq!(json["operations"]["float64_multiply"]["source"], "Dunigan 1991, table 3");
}
