//! Writes the functions of Open MPI's interface from the table of `virtual-mpi`: each translates its arguments, calls
//! the function of the same name there, and translates what comes back.

use std::fmt::Write;
use std::{env, fs, path::Path};

const TABLE: &str = "../virtual-mpi/src/functions.txt";
const HANDLES: &str = "src/handles.txt";

/// Files with functions whose translation is not that of their parameters one by one.
const BY_HAND: [&str; 2] = ["src/special.rs", "src/exchanges.rs"];

/// The functions that those files have.
fn special() -> Vec<String> {
    let text = BY_HAND.map(|file| fs::read_to_string(file).expect("the functions by hand")).join("\n");
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("pub unsafe extern \"C\" fn MPI_"));
    names.filter_map(|line| line.split('(').next()).map(str::to_owned).collect()
}

struct Function {
    name: String,
    parameters: Vec<(String, String)>,
    result: String,
}

impl Function {
    fn parse(row: &str) -> Function {
        let (name, rest) = row.split_once('(').expect("a function with parameters");
        let (list, rest) = rest.rsplit_once(')').expect("a closed list of parameters");
        let parameters = list.split(", ").filter(|part| !part.is_empty()).map(|part| {
            let (name, kind) = part.split_once(": ").expect("a parameter with a type");
            (name.to_owned(), kind.to_owned())
        });
        let result = rest.split_once("-> ").map_or("c_int", |(_, kind)| kind.split(' ').next().unwrap_or("c_int"));
        Function { name: name.to_owned(), parameters: parameters.collect(), result: result.to_owned() }
    }

    /// Whether what a pointer to a handle points to is a handle before the call.
    fn reads(&self, parameter: &str, kind: &str) -> bool {
        let ends = ["_free", "_finalize", "_close", "_commit", "_disconnect"];
        let completes = ["Wait", "Test", "Cancel", "Start", "Mrecv", "Imrecv"];
        ends.iter().any(|end| self.name.ends_with(end))
            || (completes.contains(&self.name.as_str()) && !(self.name == "Imrecv" && kind == "Request"))
            || parameter == "f08_status"
    }

    /// The parameter that says how many requests, statuses or datatypes there are.
    fn count(&self) -> Option<&str> {
        let names = ["count", "incount", "max_datatypes"];
        self.parameters.iter().map(|(name, _)| name.as_str()).find(|name| names.contains(name))
    }

    fn write(&self, out: &mut String) {
        let name = &self.name;
        let (declared, result) = (self.declared(), outer_result(&self.result));
        writeln!(out, "pub unsafe extern \"C\" fn MPI_{name}({declared}) -> {result} {{").unwrap();
        let types = self.parameters.iter().map(|(_, kind)| inner(kind)).collect::<Vec<_>>().join(", ");
        writeln!(out, "    static FUNCTION: Function = Function::new(c\"MPI_{name}\");").unwrap();
        writeln!(out, "    // SAFETY: the function has these parameters; the program keeps to what MPI asks for.")
            .unwrap();
        writeln!(out, "    unsafe {{").unwrap();
        let inner_result = if is_handle(&self.result) { inner(&self.result) } else { self.result.clone() };
        writeln!(out, "        let function: unsafe extern \"C\" fn({types}) -> {inner_result} = FUNCTION.get();")
            .unwrap();
        let (mut passed, mut after) = (Vec::new(), String::new());
        for (parameter, kind) in &self.parameters {
            let (before, argument, then) = self.translate(parameter, kind);
            out.push_str(&before);
            passed.push(argument);
            after.push_str(&then);
        }
        writeln!(out, "        let result = function({});\n{after}", passed.join(", ")).unwrap();
        let value = match self.result.as_str() {
            kind if is_handle(kind) => format!("{}_out(result)", kind.to_lowercase()),
            "c_int" if self.is_conversion() => "result".to_owned(),
            "c_int" => "code_out(result)".to_owned(),
            _ => "result".to_owned(),
        };
        writeln!(out, "        {value}\n    }}\n}}").unwrap();
    }

    fn declared(&self) -> String {
        let declared = self.parameters.iter().map(|(name, kind)| format!("{name}: {}", outer(kind)));
        declared.collect::<Vec<_>>().join(", ")
    }

    /// The two names of a function, whose translation is in `module`. Neither calls the other: a tool that puts itself
    /// before `MPI_Send` calls `PMPI_Send`, which must not come back to it.
    fn export(&self, out: &mut String, module: &str) {
        let (name, declared, result) = (&self.name, self.declared(), outer_result(&self.result));
        let names = self.parameters.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(", ");
        for prefix in ["", "P"] {
            writeln!(
                out,
                "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {prefix}MPI_{name}({declared}) -> {result} {{\n    \
                 // SAFETY: the caller keeps to what the function of MPI asks for.\n    \
                 unsafe {{ {module}::MPI_{name}({names}) }}\n}}"
            )
            .unwrap();
        }
    }

    /// Whether a handle becomes a number of Fortran.
    fn is_conversion(&self) -> bool {
        self.name.ends_with("_c2f") || self.name.ends_with("_toint") || self.name.contains("COPY_FN")
    }

    /// What is done before the call, what is passed, and what is done afterwards.
    fn translate(&self, name: &str, kind: &str) -> (String, String, String) {
        let nothing = String::new;
        let line = |text: String| format!("        {text}\n");
        let (pointer, base) = match kind.split_once(' ') {
            Some((pointer, base)) => (pointer, base),
            None => ("", kind),
        };
        let snake = base.to_lowercase();
        match (pointer, base) {
            ("", base) if is_handle(base) => (nothing(), format!("{snake}_in({name})"), nothing()),
            (_, base) if is_handle(base) && self.is_array(name) => {
                let count = self.count().unwrap_or("0");
                let reads = self.name != "Type_get_contents";
                let before =
                    line(format!("let mut of_{name} = handles_in({name}.cast(), {count}, {reads}, {snake}_in);"));
                let after = line(format!("handles_out({name}.cast_mut().cast(), &of_{name}, {snake}_out);"));
                let writes = pointer == "*mut";
                (
                    before,
                    format!("of_{name}.as_mut_ptr()"),
                    if writes { after.replace(".cast_mut()", "") } else { nothing() },
                )
            }
            ("*mut", base) if is_handle(base) => {
                let first = if self.reads(name, base) {
                    format!("{snake}_in(*{name})")
                } else {
                    "Default::default()".to_owned()
                };
                let before = line(format!("let mut of_{name}: {} = {first};", inner(base)));
                let after = line(format!("*{name} = {snake}_out(of_{name});"));
                (before, format!("&raw mut of_{name}"), after)
            }
            ("*mut", "Status") if name.starts_with("array_of") => {
                let count = self.count().unwrap_or("0");
                let before = line(format!("let mut of_{name} = statuses_in({name}, {count});"));
                let after = line(format!("statuses_out({name}, &of_{name});"));
                (before, format!("of_{name}.address()"), after)
            }
            (_, "Status") => {
                let before = line(format!("let mut of_{name} = statuses_in({name}.cast_mut(), 1);"));
                let after = line(format!("statuses_out({name}, &of_{name});"));
                let writes = pointer == "*mut";
                (
                    before.replace(if writes { ".cast_mut()" } else { "\0" }, ""),
                    format!("of_{name}.address()"),
                    if writes { after } else { nothing() },
                )
            }
            (_, "c_void") if ["sendbuf", "recvbuf"].contains(&name) => {
                (nothing(), format!("buffer_in({name})"), nothing())
            }
            ("", "c_int") => (nothing(), self.number(name), nothing()),
            ("*mut", "c_int") if ["rank_source", "rank_dest"].contains(&name) => {
                (nothing(), name.to_owned(), line(format!("*{name} = rank_out(*{name});")))
            }
            ("*mut", "c_int") if self.name == "Topo_test" && name == "status" => {
                (nothing(), name.to_owned(), line(format!("*{name} = topology_out(*{name});")))
            }
            ("*mut", "c_int") if self.name == "Type_get_envelope" && name == "combiner" => {
                (nothing(), name.to_owned(), line(format!("*{name} = combiner_out(*{name});")))
            }
            ("*mut", "c_int") if name == "errorclass" && self.name == "Error_class" => {
                (nothing(), name.to_owned(), line(format!("*{name} = code_out(*{name});")))
            }
            ("*const", "c_int") if ["array_of_distribs"].contains(&name) => {
                let before = line(format!("let of_{name} = numbers_in({name}, ndims, distribution_in);"));
                (before, format!("of_{name}.as_ptr()"), nothing())
            }
            ("*const", "c_int") if ["array_of_dargs"].contains(&name) => {
                let before = line(format!("let of_{name} = numbers_in({name}, ndims, distribution_argument_in);"));
                (before, format!("of_{name}.as_ptr()"), nothing())
            }
            _ => (nothing(), name.to_owned(), nothing()),
        }
    }

    fn is_array(&self, name: &str) -> bool {
        name.starts_with("array_of")
    }

    /// Numbers that mean something: ranks, kinds of splits, orders, keys, codes.
    fn number(&self, name: &str) -> String {
        match name {
            "source" | "dest" | "target_rank" | "root" => format!("rank_in({name})"),
            "split_type" => format!("split_type_in({name})"),
            "order" => format!("order_in({name})"),
            "errorcode" | "errorclass" if self.name != "Abort" => format!("code_in({name})"),
            "keyval" | "comm_keyval" | "win_keyval" => format!("keyval_in({name})"),
            "assert" => format!("assertion_in({name})"),
            "lock_type" => format!("lock_in({name})"),
            _ => name.to_owned(),
        }
    }
}

fn is_handle(kind: &str) -> bool {
    ["Comm", "Group", "Datatype", "Op", "Request", "Message", "Info", "Errhandler", "Win", "Session", "File"]
        .contains(&kind)
}

/// A type of Open MPI's interface.
fn outer(kind: &str) -> String {
    let (pointer, base) =
        kind.rsplit_once(' ').map_or((String::new(), kind), |(pointer, base)| (format!("{pointer} "), base));
    let base = match base {
        "Count" => "c_int",
        "Counts" => "*const c_int",
        "CountOut" => "*mut c_int",
        "Callback" => "*const c_void",
        base if is_handle(base) => "Handle",
        base => base,
    };
    format!("{pointer}{base}")
}

/// A type of the library's interface.
fn inner(kind: &str) -> String {
    let (pointer, base) =
        kind.rsplit_once(' ').map_or((String::new(), kind), |(pointer, base)| (format!("{pointer} "), base));
    let base = match base {
        "File" => "usize",
        "Status" => "Inner",
        base if is_handle(base) => "c_int",
        base => return outer(&format!("{pointer}{base}")),
    };
    // Handles are read and written in a copy.
    let pointer = if pointer.is_empty() { "" } else { "*mut " };
    format!("{pointer}{base}")
}

fn outer_result(kind: &str) -> String {
    if is_handle(kind) { "Handle".to_owned() } else { kind.to_owned() }
}

/// Objects of Open MPI whose addresses are handles: name, bytes, the handle that they stand for, its kind.
fn write_objects(out: &mut String) {
    let text = fs::read_to_string(HANDLES).expect("the table of handles");
    let mut table = String::new();
    for row in text.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let fields: Vec<_> = row.split_whitespace().collect();
        let [name, bytes, handle, kind] = fields[..] else { panic!("a row of four fields: {row}") };
        let words = bytes.parse::<usize>().expect("a number of bytes") / 4;
        writeln!(out, "#[unsafe(no_mangle)]\npub static mut {name}: [u32; {words}] = object({handle});").unwrap();
        writeln!(table, "    Known {{ name: c\"{name}\", handle: {handle}_u32 as c_int, kind: Kind::{kind} }},")
            .unwrap();
    }
    writeln!(out, "pub const KNOWN: &[Known] = &[\n{table}];").unwrap();
}

fn main() {
    for path in [TABLE, HANDLES].iter().chain(&BY_HAND) {
        println!("cargo::rerun-if-changed={path}");
    }
    let special = special();
    let table = fs::read_to_string(TABLE).expect("the table of functions");
    let (mut out, mut exports) = (String::new(), String::new());
    for row in table.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let function = Function::parse(row);
        // Functions on attributes have other names in this interface, and it has none of wide counts.
        if function.name.contains("_FN") || function.name.ends_with("_c") {
            continue;
        }
        if special.contains(&function.name) {
            function.export(&mut exports, "by_hand");
        } else {
            function.write(&mut out);
            function.export(&mut exports, "functions");
        }
    }
    let mut objects = String::new();
    write_objects(&mut objects);
    let folder = env::var("OUT_DIR").expect("cargo names a folder");
    fs::write(Path::new(&folder).join("functions.rs"), out).expect("a writable folder");
    fs::write(Path::new(&folder).join("exports.rs"), exports).expect("a writable folder");
    fs::write(Path::new(&folder).join("objects.rs"), objects).expect("a writable folder");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi.so.40");
}
