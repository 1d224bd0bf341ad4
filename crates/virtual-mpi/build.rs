//! Writes the C functions of MPI from one table: what is implemented in `src/api` is called, the rest says that it is
//! not supported.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::{env, fs, path::Path};

/// One row of `src/functions.txt`.
struct Function {
    name: String,
    parameters: Vec<(String, String)>,
    result: String,
    /// There is a second function, with `_c` to its name, whose counts are wide.
    large: bool,
}

/// Names of parameters that are addresses of one value each, which a call of any function tells.
const NEEDED: [&str; 34] = [
    "newcomm",
    "newintercomm",
    "newintracomm",
    "intercomm",
    "comm_cart",
    "comm_graph",
    "comm_dist_graph",
    "newtype",
    "newgroup",
    "group",
    "request",
    "flag",
    "rank",
    "size",
    "extent",
    "lb",
    "true_lb",
    "true_extent",
    "info",
    "info_used",
    "newinfo",
    "errhandler",
    "win",
    "fh",
    "op",
    "datatype",
    "message",
    "indx",
    "outcount",
    "result",
    "keyval",
    "comm_keyval",
    "type_keyval",
    "win_keyval",
];

impl Function {
    fn parse(row: &str) -> Function {
        let (name, rest) = row.split_once('(').expect("a function with parameters");
        let (list, rest) = rest.rsplit_once(')').expect("a closed list of parameters");
        let parameters = list.split(", ").filter(|part| !part.is_empty()).map(|part| {
            let (name, kind) = part.split_once(": ").expect("a parameter with a type");
            (name.to_owned(), kind.to_owned())
        });
        let result = rest.split_once("-> ").map_or("c_int", |(_, kind)| kind.split(' ').next().unwrap_or("c_int"));
        Function {
            name: name.to_owned(),
            parameters: parameters.collect(),
            result: result.to_owned(),
            large: rest.ends_with(" large"),
        }
    }

    /// Whether a handle becomes a number of Fortran, or a number a handle: they are the same here.
    fn is_conversion(&self) -> bool {
        let ends = ["_c2f", "_f2c", "_fromint", "_toint"];
        self.parameters.len() == 1 && ends.iter().any(|end| self.name.ends_with(end))
    }

    /// Parameters that are addresses of what the call tells: none may be missing.
    fn addresses(&self) -> impl Iterator<Item = &str> {
        let outputs = self.parameters.iter().filter(|(name, kind)| {
            (kind.starts_with("*mut ") || kind == "CountOut") && NEEDED.contains(&name.as_str())
        });
        let is_tool = self.name.starts_with("T_");
        outputs.map(|(name, _)| name.as_str()).filter(move |_| !is_tool)
    }

    /// The function of `src/api` behind it: the same name in small letters, but for one that a helper has there.
    fn function(&self) -> String {
        if self.name == "Put" { "put_data".to_owned() } else { self.name.to_lowercase() }
    }

    /// The object whose error handler is called.
    fn object(&self) -> String {
        if ["File_open", "File_close", "File_delete"].contains(&self.name.as_str()) {
            return "Object::File(FILE_NULL)".to_owned();
        }
        if self.name.starts_with("T_") {
            return "Object::Tool".to_owned();
        }
        for (name, kind) in &self.parameters {
            if ["Comm", "Win", "File", "Session"].contains(&kind.as_str()) {
                return format!("Object::{kind}({name})");
            }
        }
        let ends = ["_free", "_disconnect", "_finalize"].iter().any(|end| self.name.ends_with(end));
        for (name, kind) in self.parameters.iter().filter(|_| ends) {
            if let Some(kind) = kind.strip_prefix("*mut ").filter(|kind| ["Comm", "Win", "Session"].contains(kind)) {
                return format!("Object::{kind}(api::handle_at({name}))");
            }
        }
        "Object::None".to_owned()
    }

    /// How a collective is carried out that `src/api` has a plan of, the name of that, and how many of the last
    /// parameters are none of its: at once, beside other calls, or whenever the program starts it.
    fn collective(&self, plans: &BTreeSet<String>) -> Option<(&'static str, String, usize)> {
        let name = self.name.to_lowercase();
        let beside = name.strip_prefix('i').map(str::to_owned);
        let persistent = name.strip_suffix("_init").map(str::to_owned);
        let forms = [(Some(name.clone()), "now", 0), (beside, "later", 1), (persistent, "again", 2)];
        forms.into_iter().find_map(|(plan, act, left_out)| {
            plan.filter(|plan| plans.contains(plan)).map(|plan| (act, plan, left_out))
        })
    }

    fn write(&self, out: &mut String, plans: &BTreeSet<String>, is_implemented: bool, large: bool) {
        let symbol = format!("MPI_{}{}", self.name, if large { "_c" } else { "" });
        let declared = self.parameters.iter().map(|(name, kind)| format!("{name}: {}", c_type(kind, large)));
        let declared = declared.collect::<Vec<_>>().join(", ");
        let result = &self.result;
        writeln!(out, "pub unsafe extern \"C\" fn {symbol}({declared}) -> {result} {{").unwrap();
        let passed = self.parameters.iter().map(|(name, kind)| argument(name, kind, large));
        let passed = passed.collect::<Vec<_>>().join(", ");
        let function = self.function();
        let addresses = self.addresses().map(|name| format!("(\"{name}\", {name}.is_null())"));
        let addresses = addresses.collect::<Vec<_>>().join(", ");
        if !addresses.is_empty() && is_implemented {
            writeln!(
                out,
                "    if let Some(code) = shell::missing(\"{symbol}\", &[{addresses}]) {{\n        return code;\n    }}"
            )
            .unwrap();
        }
        if self.is_conversion() {
            writeln!(out, "    {} as {result}", self.parameters[0].0).unwrap();
        } else if let Some((act, plan, left_out)) = self.collective(plans) {
            let (taken, request) = self.parameters.split_at(self.parameters.len() - left_out);
            let taken = taken.iter().map(|(name, kind)| argument(name, kind, large)).collect::<Vec<_>>().join(", ");
            let request = if request.is_empty() { "" } else { ", request" };
            writeln!(out, "    shell::call(\"{symbol}\", Object::Comm(comm), |own| {{").unwrap();
            writeln!(out, "        api::{act}(own, comm, api::{plan}_plan(own, {taken})?{request})\n    }})").unwrap();
        } else if !is_implemented {
            let unused = self.parameters.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(", ");
            writeln!(out, "    let _ = ({unused});\n    shell::unsupported(\"{symbol}\", {})", self.object()).unwrap();
        } else if result == "c_int" {
            let comma = if passed.is_empty() { "" } else { ", " };
            let call = format!("api::{function}(own{comma}{passed})");
            writeln!(out, "    shell::call(\"{symbol}\", {}, |own| {call})", self.object()).unwrap();
        } else {
            writeln!(out, "    api::{function}({passed})").unwrap();
        }
        writeln!(out, "}}").unwrap();
    }

    /// The two names of a function. Neither calls the other: a tool that puts itself before `MPI_Send` calls `PMPI_Send`,
    /// which must not come back to it.
    fn export(&self, out: &mut String, large: bool) {
        let symbol = format!("MPI_{}{}", self.name, if large { "_c" } else { "" });
        let declared = self.parameters.iter().map(|(name, kind)| format!("{name}: {}", c_type(kind, large)));
        let declared = declared.collect::<Vec<_>>().join(", ");
        let names = self.parameters.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(", ");
        for prefix in ["", "P"] {
            writeln!(
                out,
                "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {prefix}{symbol}({declared}) -> {} {{\n    \
                 // SAFETY: the caller keeps to what the function of MPI asks for.\n    \
                 unsafe {{ shells::{symbol}({names}) }}\n}}",
                self.result
            )
            .unwrap();
        }
    }
}

fn c_type(kind: &str, large: bool) -> String {
    match (kind, large) {
        ("Count", false) => "c_int".to_owned(),
        ("Count", true) => "Aint".to_owned(),
        ("Counts", false) => "*const c_int".to_owned(),
        ("Counts", true) => "*const Aint".to_owned(),
        ("CountOut", false) => "*mut c_int".to_owned(),
        ("CountOut", true) => "*mut Aint".to_owned(),
        ("Callback", _) => "*const c_void".to_owned(),
        (other, _) => other.to_owned(),
    }
}

fn argument(name: &str, kind: &str, large: bool) -> String {
    match kind {
        "Count" => format!("{name} as Aint"),
        "Counts" => format!("Counts::{}({name})", if large { "large" } else { "small" }),
        "CountOut" => format!("CountOut::{}({name})", if large { "large" } else { "small" }),
        "Callback" => format!("Callback {{ function: {name}, large: {large} }}"),
        _ => name.to_owned(),
    }
}

fn main() {
    println!("cargo::rerun-if-changed=src/functions.txt");
    println!("cargo::rerun-if-changed=src/api");
    let (mut implemented, mut plans) = (BTreeSet::new(), BTreeSet::new());
    for file in fs::read_dir("src/api").expect("the folder of the functions") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("a readable file");
        for line in text.lines().filter_map(|line| line.strip_prefix("pub fn ")) {
            implemented.insert(line.split('(').next().unwrap_or_default().to_owned());
        }
        for line in text.lines().filter_map(|line| line.strip_prefix("pub(crate) fn ")) {
            plans.extend(line.split('(').next().and_then(|name| name.strip_suffix("_plan")).map(str::to_owned));
        }
    }
    let table = fs::read_to_string("src/functions.txt").expect("the table of functions");
    let (mut out, mut exports) = (String::new(), String::new());
    let mut supported = String::from("pub const FUNCTIONS: &[(&str, bool)] = &[\n");
    for row in table.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let function = Function::parse(row);
        let is_implemented = function.is_conversion()
            || function.collective(&plans).is_some()
            || implemented.contains(&function.function());
        for large in [false, true].into_iter().filter(|large| !large || function.large) {
            function.write(&mut out, &plans, is_implemented, large);
            function.export(&mut exports, large);
        }
        writeln!(supported, "    (\"MPI_{}\", {is_implemented}),", function.name).unwrap();
    }
    supported.push_str("];\n");
    let folder = env::var("OUT_DIR").expect("cargo names a folder");
    fs::write(Path::new(&folder).join("shells.rs"), out).expect("a writable folder");
    fs::write(Path::new(&folder).join("exports.rs"), exports).expect("a writable folder");
    fs::write(Path::new(&folder).join("supported.rs"), supported).expect("a writable folder");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmpi.so.12");
}
