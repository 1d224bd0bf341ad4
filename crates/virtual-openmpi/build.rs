//! Writes Open MPI's interface: its functions, and the objects whose addresses are handles there.

mod generator;

use std::fmt::Write;
use std::fs;

use generator::{Interface, write_generated};

const HANDLES: &str = "src/handles.txt";

/// Objects of Open MPI whose addresses are handles: name, bytes, the handle that they stand for, its kind, its
/// number in Fortran.
fn write_objects() {
    let text = fs::read_to_string(HANDLES).expect("the table of handles");
    let (mut out, mut table) = (String::new(), String::new());
    for row in text.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let fields: Vec<_> = row.split_whitespace().collect();
        let [name, bytes, handle, kind, fortran] = fields[..] else { panic!("a row of five fields: {row}") };
        let words = bytes.parse::<usize>().expect("a number of bytes") / 4;
        writeln!(out, "#[unsafe(no_mangle)]\npub static mut {name}: [u32; {words}] = object({handle});").unwrap();
        let numbers = format!("handle: {handle}_u32 as c_int, kind: Kind::{kind}, fortran: {fortran}");
        writeln!(table, "    Known {{ name: c\"{name}\", {numbers} }},").unwrap();
    }
    writeln!(out, "pub const KNOWN: &[Known] = &[\n{table}];").unwrap();
    write_generated("objects.rs", &out);
}

/// Functions of Fortran: each is exported under the names that compilers give it, of both interfaces, and under the one
/// by which the module `mpi_f08` calls it.
const FORTRAN: &[&str] = &["src/fortran.rs", "src/fortran_attributes.rs"];

fn write_fortran() {
    let mut out = String::new();
    for file in FORTRAN {
        println!("cargo::rerun-if-changed={file}");
        let text = fs::read_to_string(file).expect("functions of Fortran");
        for function in text.split("\npub unsafe extern \"C\" fn ").skip(1) {
            let (name, rest) = function.split_once('(').expect("a function with parameters");
            let (list, rest) = rest.split_once(')').expect("a closed list of parameters");
            // Functions that the library itself calls are told handles, and have a result; others are made by a macro.
            if !rest.starts_with(" {") {
                continue;
            }
            export_fortran(&mut out, name, list);
        }
    }
    for kind in ["", "comm_", "type_", "win_"] {
        let value = if kind.is_empty() { "Fint" } else { "Aint" };
        let head = "object: *mut Fint, keyval: *mut Fint";
        let copy = format!(
            "{head}, extra: *mut {value}, from: *mut {value}, into: *mut {value}, flag: *mut Fint, ierr: *mut Fint"
        );
        export_fortran(&mut out, &format!("{kind}dup_fn"), &copy);
        export_fortran(&mut out, &format!("{kind}null_copy_fn"), &copy);
        let delete = format!("{head}, value: *mut {value}, extra: *mut {value}, ierr: *mut Fint");
        export_fortran(&mut out, &format!("{kind}null_delete_fn"), &delete);
    }
    write_generated("fortran.rs", &out);
}

fn export_fortran(out: &mut String, function: &str, list: &str) {
    let list = list.split_whitespace().collect::<Vec<_>>().join(" ");
    let list = list.trim_end_matches(',');
    let names: Vec<_> = list.split(", ").filter_map(|part| part.split(':').next()).collect();
    let upper = function.to_uppercase();
    let mut exported = vec![format!("ompi_{function}_f")];
    for prefix in ["mpi", "pmpi"] {
        exported.extend(["", "_", "__"].map(|end| format!("{prefix}_{function}{end}")));
        exported.push(format!("{}_{upper}", prefix.to_uppercase()));
    }
    for name in exported {
        writeln!(
            out,
            "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {name}({list}) {{\n    \
             // SAFETY: the caller keeps to what the function of MPI asks for.\n    \
             unsafe {{ by_fortran::{function}({}) }}\n}}",
            names.join(", ")
        )
        .unwrap();
    }
}

fn main() {
    println!("cargo::rerun-if-changed={HANDLES}");
    println!("cargo::rerun-if-changed=generator.rs");
    write_objects();
    write_fortran();
    let by_hand = &["src/special.rs", "src/creation.rs"];
    Interface { soname: "libmpi.so.40", by_hand, large_counts: false, handles_are_numbers: false }.write();
}
