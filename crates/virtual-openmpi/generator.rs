//! Writes the functions of another interface of MPI from the table of `virtual-mpi`: each translates its arguments, calls
//! the function of the same name there, and translates what comes back. The build scripts of the crates with such
//! interfaces include this file; the functions that translate are those of each crate's `translation` module.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::{env, fs, path::Path};

const TABLE: &str = "../virtual-mpi/src/functions.txt";

/// What interfaces differ in, besides how they translate.
pub struct Interface {
    /// The name by which programs ask for the library.
    pub soname: &'static str,
    /// Files with functions whose translation is not that of their parameters one by one.
    pub by_hand: &'static [&'static str],
    /// There are functions of wide counts.
    pub large_counts: bool,
    /// Handles and the numbers that stand for them in Fortran are the same.
    pub handles_are_numbers: bool,
}

impl Interface {
    /// The functions that its files have.
    fn special(&self) -> BTreeSet<String> {
        let texts = self.by_hand.iter().map(|file| fs::read_to_string(file).expect("the functions by hand"));
        let text = texts.collect::<Vec<_>>().join("\n");
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("pub unsafe extern \"C\" fn MPI_"));
        names.filter_map(|line| line.split('(').next()).map(str::to_owned).collect()
    }

    /// Writes `functions.rs` and `exports.rs` to the folder for what is generated.
    pub fn write(&self) {
        for path in [TABLE].iter().chain(self.by_hand) {
            println!("cargo::rerun-if-changed={path}");
        }
        let special = self.special();
        let table = fs::read_to_string(TABLE).expect("the table of functions");
        let (mut out, mut exports) = (String::new(), String::new());
        for row in table.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
            for function in Function::parse(row, self.handles_are_numbers) {
                // Functions on attributes have other names in these interfaces.
                if function.name.contains("_FN") || (function.name.ends_with("_c") && !self.large_counts) {
                    continue;
                }
                if special.contains(&function.name) {
                    function.export(&mut exports, "by_hand");
                } else {
                    function.write(&mut out);
                    function.export(&mut exports, "functions");
                }
            }
        }
        write_generated("functions.rs", &out);
        write_generated("exports.rs", &exports);
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{}", self.soname);
    }
}

/// Writes a file to the folder for what is generated.
pub fn write_generated(name: &str, text: &str) {
    let folder = env::var("OUT_DIR").expect("cargo names a folder");
    fs::write(Path::new(&folder).join(name), text).expect("a writable folder");
}

struct Function {
    name: String,
    parameters: Vec<(String, String)>,
    result: String,
    large: bool,
    handles_are_numbers: bool,
}

impl Function {
    /// The function of a row, and its twin of wide counts, if it has one.
    fn parse(row: &str, handles_are_numbers: bool) -> Vec<Function> {
        let (name, rest) = row.split_once('(').expect("a function with parameters");
        let (list, rest) = rest.rsplit_once(')').expect("a closed list of parameters");
        let parameters = list.split(", ").filter(|part| !part.is_empty()).map(|part| {
            let (name, kind) = part.split_once(": ").expect("a parameter with a type");
            (name.to_owned(), kind.to_owned())
        });
        let result = rest.split_once("-> ").map_or("c_int", |(_, kind)| kind.split(' ').next().unwrap_or("c_int"));
        let parameters: Vec<_> = parameters.collect();
        let function = |suffix: &str, large| Function {
            name: format!("{name}{suffix}"),
            parameters: parameters.clone(),
            result: result.to_owned(),
            large,
            handles_are_numbers,
        };
        let mut functions = vec![function("", name.ends_with("_c"))];
        if row.ends_with(" large") {
            functions.push(function("_c", true));
        }
        functions
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
        if self.handles_are_numbers && self.is_conversion() && self.parameters.len() == 1 {
            let (parameter, kind) = &self.parameters[0];
            let value = if is_handle(kind) {
                format!("{parameter}.addr() as c_int")
            } else {
                format!("std::ptr::with_exposed_provenance_mut({parameter} as u32 as usize)")
            };
            writeln!(out, "    {value}\n}}").unwrap();
            return;
        }
        let types = self.parameters.iter().map(|(_, kind)| inner(kind, self.large)).collect::<Vec<_>>().join(", ");
        if !self.handles_are_numbers && name.ends_with("2f") && self.is_conversion() && self.result == "c_int" {
            let (parameter, kind) = &self.parameters[0];
            if is_predefined(kind) {
                writeln!(out, "    fortran_number({parameter}, Kind::{kind})\n}}").unwrap();
                return;
            }
        }
        if !self.handles_are_numbers && name.ends_with("f2c") && self.is_conversion() && is_predefined(&self.result) {
            let (parameter, kind) = (&self.parameters[0].0, &self.result);
            writeln!(out, "    fortran_handle({parameter}, Kind::{kind})\n}}").unwrap();
            return;
        }
        writeln!(out, "    static FUNCTION: Function = Function::new(c\"MPI_{name}\");").unwrap();
        writeln!(out, "    // SAFETY: the function has these parameters; the program keeps to what MPI asks for.")
            .unwrap();
        writeln!(out, "    unsafe {{").unwrap();
        let inner_result = if is_handle(&self.result) { inner(&self.result, false) } else { self.result.clone() };
        writeln!(out, "        let function: unsafe extern \"C\" fn({types}) -> {inner_result} = FUNCTION.get();")
            .unwrap();
        let (mut passed, mut after) = (Vec::new(), String::new());
        for (parameter, kind) in &self.parameters {
            let (before, argument, then) = self.translate(parameter, kind);
            out.push_str(&before);
            passed.push(argument);
            after.push_str(&then);
        }
        writeln!(out, "        let returned = function({});\n{after}", passed.join(", ")).unwrap();
        let value = match self.result.as_str() {
            kind if is_handle(kind) => format!("{}_out(returned)", kind.to_lowercase()),
            "c_int" if self.is_conversion() => "returned".to_owned(),
            "c_int" => "code_out(returned)".to_owned(),
            _ => "returned".to_owned(),
        };
        writeln!(out, "        {value}\n    }}\n}}").unwrap();
    }

    fn declared(&self) -> String {
        let declared = self.parameters.iter().map(|(name, kind)| format!("{name}: {}", outer(kind, self.large)));
        declared.collect::<Vec<_>>().join(", ")
    }

    /// The two names of a function, whose translation is in `module`. Neither calls the other: a tool that puts itself
    /// before `MPI_Send` calls `PMPI_Send`, which must not come back to it.
    fn export(&self, out: &mut String, module: &str) {
        let (name, declared, result) = (&self.name, self.declared(), outer_result(&self.result));
        let names = self.parameters.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(", ");
        let persistent = self.parameters.iter().any(|(name, _)| name == "info") && self.name.ends_with("_init");
        // Open MPI 4 has persistent collectives under names of its own.
        let prefixes: &[_] = if persistent && !self.handles_are_numbers && !self.name.starts_with('P') {
            &["MPI_", "PMPI_", "MPIX_", "PMPIX_"]
        } else {
            &["MPI_", "PMPI_"]
        };
        for prefix in prefixes {
            writeln!(
                out,
                "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {prefix}{name}({declared}) -> {result} {{\n    \
                 // SAFETY: the caller keeps to what the function of MPI asks for.\n    \
                 unsafe {{ {module}::MPI_{name}({names}) }}\n}}"
            )
            .unwrap();
        }
    }

    /// Whether a handle becomes a number of Fortran, or such a number a handle.
    fn is_conversion(&self) -> bool {
        let ends = ["_c2f", "_toint", "_f2c", "_fromint"];
        ends.iter().any(|end| self.name.ends_with(end)) && !self.name.starts_with("Status")
    }

    /// Whether the name, without that of the twin of wide counts, is one of these.
    fn is_any(&self, names: &[&str]) -> bool {
        names.contains(&self.name.strip_suffix("_c").unwrap_or(&self.name))
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
            ("*const", "Datatype") if ["sendtypes", "recvtypes"].contains(&name) => {
                let (sends, neighbors) = (name == "sendtypes", self.name.to_lowercase().contains("neighbor"));
                let buffer = if sends { "sendbuf" } else { "recvbuf" };
                let before =
                    line(format!("let mut of_{name} = peer_types({buffer}, {name}, comm, {neighbors}, {sends});"));
                (before, format!("of_{name}.as_mut_ptr()"), nothing())
            }
            (_, base) if is_handle(base) && self.is_array(name) => {
                let count = self.count().unwrap_or("0");
                let reads = self.name != "Type_get_contents";
                let before = line(format!(
                    "let mut of_{name} = handles_in({name}.cast(), {count} as c_int, {reads}, {snake}_in);"
                ));
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
                let before = line(format!("let mut of_{name}: {} = {first};", inner(base, false)));
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
            (_, "c_int") if ["weights", "sourceweights", "destweights"].contains(&name) => {
                let changed = if pointer == "*const" { ".cast_mut()" } else { "" };
                (nothing(), format!("weights_in({name}{changed})"), nothing())
            }
            ("", "c_int") => (nothing(), self.number(name), nothing()),
            ("", "Aint") if name == "disp" && self.is_any(&["File_set_view"]) => {
                (nothing(), format!("displacement_in({name})"), nothing())
            }
            ("*mut", "c_void")
                if name == "buffer"
                    && self.is_any(&["Buffer_attach", "Comm_attach_buffer", "Session_attach_buffer"]) =>
            {
                (nothing(), format!("attached_in({name})"), nothing())
            }
            ("*mut", "c_void") if name == "buffer_addr" => {
                (nothing(), name.to_owned(), line(format!("attached_out({name});")))
            }
            ("*mut", "c_int") if self.number_out(name).is_some() => {
                let translate = self.number_out(name).unwrap_or_default();
                (nothing(), name.to_owned(), line(format!("if returned == 0 {{ *{name} = {translate}(*{name}); }}")))
            }
            ("*const", "c_int") if name == "ranks1" => {
                let before = line(format!("let of_{name} = numbers_in({name}, n, rank_in);"));
                (before, format!("of_{name}.as_ptr()"), nothing())
            }
            ("*mut", "c_int") if name == "ranks2" => {
                (nothing(), name.to_owned(), line(format!("numbers_out({name}, n, rank_out);")))
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

    /// What translates a number that the function tells, if it means something.
    fn number_out(&self, name: &str) -> Option<&'static str> {
        let translate = match name {
            "rank_source" | "rank_dest" => "rank_out",
            "status" if self.is_any(&["Topo_test"]) => "topology_out",
            "combiner" => "combiner_out",
            "errorclass" if self.is_any(&["Error_class"]) => "code_out",
            "result" if self.name.ends_with("_compare") => "comparison_out",
            "provided" => "thread_level_out",
            "amode" => "file_mode_out",
            "source" if self.is_any(&["Status_get_source"]) => "rank_out",
            "tag" if self.is_any(&["Status_get_tag"]) => "tag_out",
            "error" if self.is_any(&["Status_get_error"]) => "code_out",
            "keyval" | "comm_keyval" | "type_keyval" | "win_keyval" if self.name.contains("free") => "keyval_out",
            _ => return None,
        };
        Some(translate)
    }

    /// Numbers that mean something: ranks, tags, kinds of splits, orders, keys, codes.
    fn number(&self, name: &str) -> String {
        match name {
            "tag" | "sendtag" | "recvtag" => format!("tag_in({name})"),
            "whence" => format!("whence_in({name})"),
            "amode" => format!("file_mode_in({name})"),
            "required" => format!("thread_level_in({name})"),
            "typeclass" => format!("type_class_in({name})"),
            "error" if self.is_any(&["Status_set_error"]) => format!("code_in({name})"),
            "source" | "dest" | "target_rank" | "root" => format!("rank_in({name})"),
            "rank" if self.name.starts_with("Win_") => format!("rank_in({name})"),
            "split_type" => format!("split_type_in({name})"),
            "order" => format!("order_in({name})"),
            "errorcode" | "errorclass" if self.name != "Abort" => format!("code_in({name})"),
            "keyval" | "comm_keyval" | "type_keyval" | "win_keyval" => format!("keyval_in({name})"),
            "assert" => format!("assertion_in({name})"),
            "lock_type" => format!("lock_in({name})"),
            _ => name.to_owned(),
        }
    }
}

/// Handles of which some are predefined, whose numbers in Fortran are Open MPI's own.
fn is_predefined(kind: &str) -> bool {
    is_handle(kind) && kind != "Session"
}

fn is_handle(kind: &str) -> bool {
    ["Comm", "Group", "Datatype", "Op", "Request", "Message", "Info", "Errhandler", "Win", "Session", "File"]
        .contains(&kind)
}

/// A type of the interface.
fn outer(kind: &str, large: bool) -> String {
    let (pointer, base) =
        kind.rsplit_once(' ').map_or((String::new(), kind), |(pointer, base)| (format!("{pointer} "), base));
    let base = match base {
        "Count" if large => "Aint",
        "Counts" if large => "*const Aint",
        "CountOut" if large => "*mut Aint",
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
fn inner(kind: &str, large: bool) -> String {
    let (pointer, base) =
        kind.rsplit_once(' ').map_or((String::new(), kind), |(pointer, base)| (format!("{pointer} "), base));
    let base = match base {
        "File" => "usize",
        "Status" => "Inner",
        base if is_handle(base) => "c_int",
        base => return outer(&format!("{pointer}{base}"), large),
    };
    // Handles are read and written in a copy.
    let pointer = if pointer.is_empty() { "" } else { "*mut " };
    format!("{pointer}{base}")
}

fn outer_result(kind: &str) -> String {
    if is_handle(kind) { "Handle".to_owned() } else { kind.to_owned() }
}
