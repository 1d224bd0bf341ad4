//! Clauses and declarations into modules and predicates.

use rustc_hash::FxHashSet;

use super::{Checker, GOAL_SOURCE, Module, RawClause, lint, pairs};
use crate::diagnostics::Diagnostic;
use crate::ir::{Origin, PredicateId, Separator, Source, Span, quote_atom};
use crate::library::LibraryModule;
use crate::syntax::{Kind, Tree, parse_clauses, parse_term};

/// Largest file in bytes: its terms take up to two hundred times as much memory.
const MAX_SOURCE: usize = 16 << 20;

/// The module of clauses that stand before any declaration.
const DEFAULT_MODULE: &str = "main";

/// Where the reader of a file is.
struct Reader<'a> {
    checker: &'a mut Checker,
    library: bool,
    /// The module that clauses go into, once there is one.
    module: Option<String>,
    /// `end.` has been read: what follows belongs to no module.
    ended: Option<Span>,
    /// The predicate of the clause before, and a separator since.
    last: Option<PredicateId>,
    separator: Option<(Separator, Span)>,
}

impl Checker {
    pub(super) fn collect_user_modules(&mut self) {
        for index in 0..self.sources.len() {
            let text = self.sources[index].text.clone();
            if text.len() > MAX_SOURCE {
                let span = Span { source: index as u32, start: 0, end: 0 };
                let message = format!("the file has {} bytes; at most {MAX_SOURCE} can be read", text.len());
                self.report(Diagnostic::error("size", span, message).help("divide it into modules in several files"));
                continue;
            }
            self.collect_text(&text, index as u32, false);
            if text.trim_start_matches(crate::syntax::BYTE_ORDER_MARK).trim().is_empty() {
                let span = Span { source: index as u32, start: 0, end: 0 };
                self.report(Diagnostic::error("syntax", span, "the file is empty"));
            }
        }
    }

    pub(super) fn collect_library_module(&mut self, module: &LibraryModule) {
        let index = self.sources.len() as u32;
        self.sources.push(Source { name: format!("library {}", module.name), text: module.text.to_string() });
        self.collect_text(module.text, index, true);
    }

    fn collect_text(&mut self, text: &str, source: u32, library: bool) {
        let mut diagnostics = Vec::new();
        let clauses = parse_clauses(text, source, &mut |diagnostic| diagnostics.push(diagnostic));
        diagnostics.into_iter().for_each(|diagnostic| self.report(diagnostic));
        let mut reader = Reader { checker: self, library, module: None, ended: None, last: None, separator: None };
        clauses.into_iter().for_each(|clause| reader.read(clause));
        reader.end_of_file();
    }

    /// The goal of a run as a predicate whose arguments are its variables.
    pub(super) fn collect_goal(&mut self, goal: &str) -> Option<PredicateId> {
        let source = self.sources.len() as u32;
        self.sources.push(Source { name: GOAL_SOURCE.to_string(), text: goal.to_string() });
        let mut diagnostics = Vec::new();
        let tree = parse_term(goal, source, &mut |diagnostic| diagnostics.push(diagnostic));
        diagnostics.into_iter().for_each(|diagnostic| self.report(diagnostic));
        let tree = tree?;
        let span = tree.span;
        let Some(module) = self.modules.iter().find(|module| !module.library).map(|module| module.name.clone()) else {
            // The program is empty, which has been said.
            return None;
        };
        let mut names: Vec<(&str, Span)> = Vec::new();
        let mut known = FxHashSet::default();
        tree.for_each_variable(&mut |name, span| {
            if known.insert(name) {
                names.push((name, span));
            }
        });
        let arguments: Vec<Tree> =
            names.iter().map(|&(name, span)| Tree::new(Kind::Variable(name.to_string()), span)).collect();
        let id = self.draft(&module, "$goal", arguments.len(), span, Origin::Goal);
        self.drafts[id.0 as usize].called = true;
        let raw = RawClause { span, separator: None, arguments, guard: None, body: Some(tree.clone()) };
        self.drafts[id.0 as usize].raw.push(raw);
        Some(id)
    }
}

impl Reader<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.checker.report(diagnostic);
    }

    fn read(&mut self, tree: Tree) {
        if let Some([declaration]) = tree.as_structure::<1>(":-") {
            return self.declaration(declaration);
        }
        // The style of the Multi-PSI/V1: without `:-`.
        if tree.as_structure::<1>("module").is_some() {
            return self.declaration(&tree);
        }
        match tree.as_atom() {
            Some("end") => {
                self.separator_is_last();
                self.ended = Some(tree.span);
                self.module = None;
                self.last = None;
            }
            Some("otherwise") => self.separator(Separator::Otherwise, tree.span),
            Some("alternatively") => self.separator(Separator::Alternatively, tree.span),
            _ => self.clause(tree),
        }
    }

    fn declaration(&mut self, tree: &Tree) {
        if let Some([name]) = tree.as_structure::<1>("module") {
            return self.module_declaration(name, tree.span);
        }
        if let Some([list]) = tree.as_structure::<1>("public") {
            return self.public_declaration(list, tree.span);
        }
        if let Some([name]) = tree.as_structure::<1>("with_macro") {
            if name.as_atom() != Some("pimos") {
                self.report(
                    Diagnostic::warning("unknown-macros", name.span, "this macro library does not exist")
                        .help("pimos is known; its macros are always on"),
                );
            }
            return;
        }
        let known = "known are :- module Name, :- public Name/Arity, … and :- with_macro pimos";
        let named = match &tree.kind {
            Kind::Structure(name, ..) | Kind::Atom(name) => name.as_str(),
            _ => "",
        };
        let (message, help) = match named {
            "inline" | ":" => ("C code cannot be inserted: programs are not compiled by way of C", "write it in FGHC"),
            "op" => ("operators cannot be declared", "write the term with its name in front: name(Left, Right)"),
            _ => ("no such declaration", known),
        };
        self.report(Diagnostic::error("declaration", tree.span, message).help(help));
    }

    fn module_declaration(&mut self, name: &Tree, span: Span) {
        self.separator_is_last();
        self.last = None;
        self.ended = None;
        let Some(name_text) = name.as_atom().filter(|name| *name != "[]") else {
            return self.report(
                Diagnostic::error("declaration", name.span, "a module has an atom for a name")
                    .help("names begin with a small letter"),
            );
        };
        let name_text = name_text.to_string();
        if let Some(module) = self.checker.module(&name_text) {
            let first = module.span;
            self.report(
                Diagnostic::error("duplicate-module", span, format!("module {name_text} is defined twice"))
                    .related(first, "first here"),
            );
        } else {
            let library = self.library;
            self.checker.modules.push(Module { name: name_text.clone(), span, library, public: None });
        }
        self.module = Some(name_text);
    }

    fn public_declaration(&mut self, list: &Tree, span: Span) {
        let module = self.current_module(span);
        let mut named = Vec::new();
        for item in list.operands(",") {
            match item.as_structure::<2>("/").map(|[name, arity]| (&name.kind, &arity.kind)) {
                Some((Kind::Atom(name), Kind::Integer(arity))) if *arity >= 0 => {
                    named.push((name.clone(), *arity as usize, item.span));
                }
                _ => self.report(
                    Diagnostic::error("declaration", item.span, "a public predicate is written Name/Arity")
                        .help("for example :- public append/3, reverse/2."),
                ),
            }
        }
        let current = self.checker.modules.iter_mut().find(|candidate| candidate.name == module);
        current.expect("the current module exists").public.get_or_insert_default().extend(named);
    }

    /// The module that is being read, made where the file has named none.
    fn current_module(&mut self, span: Span) -> String {
        if let Some(module) = &self.module {
            return module.clone();
        }
        if let Some(end) = self.ended {
            self.report(
                Diagnostic::error("declaration", span, "this stands behind the end of the module")
                    .related(end, "the module ends here")
                    .help("begin another with :- module Name."),
            );
        }
        if self.checker.module(DEFAULT_MODULE).is_none() {
            let library = self.library;
            self.checker.modules.push(Module { name: DEFAULT_MODULE.to_string(), span, library, public: None });
        }
        self.module = Some(DEFAULT_MODULE.to_string());
        DEFAULT_MODULE.to_string()
    }

    fn separator(&mut self, separator: Separator, span: Span) {
        if self.last.is_none() || self.separator.is_some() {
            let name = separator_name(separator);
            return self.report(
                Diagnostic::error("separator", span, format!("{name} stands between clauses of one predicate"))
                    .label("there is no clause directly before"),
            );
        }
        self.separator = Some((separator, span));
    }

    fn separator_is_last(&mut self) {
        if let Some((separator, span)) = self.separator.take() {
            let name = separator_name(separator);
            self.report(
                Diagnostic::error("separator", span, format!("{name} stands between clauses of one predicate"))
                    .label("no clause follows"),
            );
        }
    }

    fn end_of_file(&mut self) {
        self.separator_is_last();
    }

    fn clause(&mut self, tree: Tree) {
        let span = tree.span;
        let (head, rest) = match tree.as_structure::<2>(":-") {
            Some([head, rest]) => (head, Some(rest)),
            None => (&tree, None),
        };
        let (guard, body) = match rest.and_then(|rest| rest.as_structure::<2>("|")) {
            Some([guard, body]) => (Some(guard), Some(body)),
            None => (None, rest),
        };
        if !self.library {
            for finding in lint::variables(head, guard, body) {
                self.report(finding);
            }
        }
        let expanded = match pairs::expand(head, guard, body) {
            Ok(expanded) => expanded,
            Err(diagnostic) => {
                self.separator = None;
                return self.report(*diagnostic);
            }
        };
        let Some((name, arguments)) = self.head(expanded.head) else {
            self.separator = None;
            self.last = None;
            return;
        };
        let module = self.current_module(span);
        let separator = self.guard_otherwise(expanded.guard.as_ref());
        let origin = if self.library { Origin::Library } else { Origin::User };
        let arity = arguments.len();
        let known = self.checker.find(&module, &name, arity);
        let id = self.checker.draft(&module, &name, arity, head.span, origin);
        if known.is_some() && self.last != Some(id) {
            let first = self.checker.drafts[id.0 as usize].span;
            self.report(
                Diagnostic::warning(
                    "discontiguous",
                    head.span,
                    format!("the clauses of {}/{arity} do not stand together", quote_atom(&name)),
                )
                .label("another predicate's clauses come between")
                .related(first, "its first clause"),
            );
        }
        if self.last != Some(id) {
            self.separator_is_last();
        }
        let separator = self.separator.take().or(separator);
        let raw = RawClause { span, separator, arguments, guard: expanded.guard, body: expanded.body };
        self.checker.drafts[id.0 as usize].raw.push(raw);
        self.last = Some(id);
    }

    /// `otherwise` as a goal of the guard, as in GHC, stands for the same before the clause.
    fn guard_otherwise(&self, guard: Option<&Tree>) -> Option<(Separator, Span)> {
        let goal = guard?.operands(",").into_iter().find(|goal| goal.as_atom() == Some("otherwise"))?;
        Some((Separator::Otherwise, goal.span))
    }

    fn head(&mut self, head: Tree) -> Option<(String, Vec<Tree>)> {
        let span = head.span;
        let wrong = |message: String, help: &str| Diagnostic::error("head", span, message).help(help);
        match head.kind {
            Kind::Atom(name) if name != "[]" => Some((name, Vec::new())),
            Kind::Structure(name, _, arguments) if !is_control(&name, arguments.len()) => Some((name, arguments)),
            Kind::Structure(name, ..) => {
                let help = match name.as_str() {
                    "-->" => "grammar rules are not part of the language",
                    "|" => "a guard stands behind :-, as in Head :- Guard | Body.",
                    "," | ";" => "a clause has one head; perhaps a full stop ends the clause before too early",
                    _ => "a head is a name with arguments",
                };
                self.report(wrong(format!("a clause cannot define {name}"), help));
                None
            }
            _ => {
                self.report(wrong("this is no head of a clause".into(), "a head is a name with arguments"));
                None
            }
        }
    }
}

/// What belongs to the language itself and is no name for a predicate.
fn is_control(name: &str, arity: usize) -> bool {
    matches!(
        (name, arity),
        (",", 2) | (";", 2) | ("->", 2) | ("|", 2) | (":-", _) | ("=", 2) | (":=", 2) | ("$:=", 2) | (":", 2)
    ) || matches!((name, arity), ("@", 2) | ("@@", 2) | ("-->", 2) | ("call", 3))
}

fn separator_name(separator: Separator) -> &'static str {
    match separator {
        Separator::Otherwise => "otherwise",
        Separator::Alternatively => "alternatively",
    }
}
