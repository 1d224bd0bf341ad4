//! From source texts to the normal form, with everything that is wrong on the way.
//!
//! In steps: clauses are read and sorted into modules and predicates ([`collect`]); argument pairs are expanded ([`pairs`]);
//! each clause is brought into normal form ([`clause`], [`guard`], [`body`], [`arithmetic`]), which may add predicates;
//! then whole predicates are looked at ([`lint`]).

mod arithmetic;
mod body;
mod clause;
mod collect;
mod guard;
mod lint;
mod pairs;

use std::cell::Cell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostics::{Diagnostic, Diagnostics, nearest};
use crate::ir::{AtomId, AtomTable, Clause, Group, Origin, Predicate, PredicateId, Program, Separator, Source, Span};
use crate::library;
use crate::syntax::Tree;

/// For so many unknown names what may have been meant is looked for.
const MAX_SUGGESTIONS: usize = 100;

/// What the checker says of a program.
#[derive(Debug)]
pub struct Checked {
    /// The program in normal form, unless there are errors.
    pub program: Option<Program>,
    /// Errors and warnings, in the order of their places.
    pub diagnostics: Diagnostics,
    /// The texts that the diagnostics point into.
    pub sources: Vec<Source>,
}

impl Checked {
    /// The findings as text with excerpts, with colours or without.
    pub fn render(&self, color: bool) -> String {
        self.diagnostics.render(&self.sources, color)
    }
}

/// The name that the text of a goal has in diagnostics.
pub const GOAL_SOURCE: &str = "--goal";

/// Checks the modules in `sources` and, if given, the goal that a run shall start with.
///
/// The goal is one or more goals joined by commas, as in a body; names without a module are looked up in the first module.
///
/// # Examples
/// ```
/// use weft_fghc::check::check;
/// use weft_fghc::ir::Source;
///
/// let module = |text: &str| vec![Source { name: "sum.fghc".to_owned(), text: text.to_owned() }];
/// let checked = check(module(":- module sum.\nsum(X, Y, Z) :- Z := X + Y.\n"), Some("sum(1, 2, Z)"));
/// assert!(checked.program.is_some(), "{}", checked.render(false));
/// // An error says where, and has no program.
/// let checked = check(module(":- module sum.\nsum(X, Y, Z) :- Z := X +.\n"), None);
/// assert!(checked.program.is_none() && checked.render(false).contains("sum.fghc:2"));
/// ```
pub fn check(sources: Vec<Source>, goal: Option<&str>) -> Checked {
    let mut checker = Checker::new(sources);
    checker.collect_user_modules();
    let start = goal.and_then(|goal| checker.collect_goal(goal));
    checker.check_publics();
    checker.normalise();
    checker.finish(start)
}

/// A predicate on its way.
struct Draft {
    module: String,
    name: String,
    arity: usize,
    origin: Origin,
    public: bool,
    span: Span,
    raw: Vec<RawClause>,
    clauses: Vec<Clause>,
    /// Another predicate, or a public declaration, needs it.
    called: bool,
}

/// A clause after expansion of argument pairs.
#[derive(Clone)]
struct RawClause {
    span: Span,
    separator: Option<(Separator, Span)>,
    arguments: Vec<Tree>,
    guard: Option<Tree>,
    body: Option<Tree>,
}

/// A module on its way.
struct Module {
    name: String,
    span: Span,
    library: bool,
    /// What `:- public` lists; `None` without such a declaration, when everything is public.
    public: Option<Vec<(String, usize, Span)>>,
}

struct Checker {
    atoms: AtomTable,
    sources: Vec<Source>,
    diagnostics: Diagnostics,
    modules: Vec<Module>,
    drafts: Vec<Draft>,
    names: FxHashMap<(String, String, usize), PredicateId>,
    /// How many predicates expansion has added to each.
    expansions: FxHashMap<PredicateId, usize>,
    /// For how many names what may have been meant is still looked for.
    suggestions: Cell<usize>,
}

impl Checker {
    fn new(sources: Vec<Source>) -> Self {
        Checker {
            atoms: AtomTable::default(),
            sources,
            diagnostics: Diagnostics::default(),
            modules: Vec::new(),
            drafts: Vec::new(),
            names: FxHashMap::default(),
            expansions: FxHashMap::default(),
            suggestions: Cell::new(MAX_SUGGESTIONS),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn find(&self, module: &str, name: &str, arity: usize) -> Option<PredicateId> {
        // Three owned strings for a look-up are nothing beside reading the text.
        self.names.get(&(module.to_string(), name.to_string(), arity)).copied()
    }

    fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|module| module.name == name)
    }

    /// The draft of a predicate, made if it is not there yet.
    fn draft(&mut self, module: &str, name: &str, arity: usize, span: Span, origin: Origin) -> PredicateId {
        if let Some(id) = self.find(module, name, arity) {
            return id;
        }
        let id = PredicateId(self.drafts.len() as u32);
        self.names.insert((module.to_string(), name.to_string(), arity), id);
        self.drafts.push(Draft {
            module: module.to_string(),
            name: name.to_string(),
            arity,
            origin,
            public: true,
            span,
            raw: Vec::new(),
            clauses: Vec::new(),
            called: false,
        });
        id
    }

    /// A predicate made by expansion, with a name that no source can give.
    fn expanded(&mut self, parent: PredicateId, span: Span, arity: usize) -> PredicateId {
        let draft = &self.drafts[parent.0 as usize];
        let root = match draft.origin {
            Origin::Expanded(root) => root,
            _ => parent,
        };
        let root_draft = &self.drafts[root.0 as usize];
        let (module, base) = (root_draft.module.clone(), format!("{}/{}", root_draft.name, root_draft.arity));
        let expansions = self.expansions.entry(root).or_insert(0);
        *expansions += 1;
        let number = *expansions;
        self.draft(&module, &format!("{base}${number}"), arity, span, Origin::Expanded(root))
    }

    /// `:- public` names predicates that exist; what is not public is not called from elsewhere.
    fn check_publics(&mut self) {
        for index in 0..self.modules.len() {
            self.check_publics_of(index);
        }
    }

    fn check_publics_of(&mut self, index: usize) {
        let name = self.modules[index].name.clone();
        if let Some(public) = self.modules[index].public.clone() {
            let listed: FxHashSet<(&str, usize)> =
                public.iter().map(|(name, arity, _)| (name.as_str(), *arity)).collect();
            for draft in self.drafts.iter_mut().filter(|draft| draft.module == name && draft.origin != Origin::Goal) {
                let is_listed = listed.contains(&(draft.name.as_str(), draft.arity));
                draft.public = is_listed;
                draft.called |= is_listed;
            }
            for (predicate, arity, span) in public {
                if self.find(&name, &predicate, arity).is_none() {
                    let message = format!("{predicate}/{arity} is declared public, but {name} does not define it");
                    let mut diagnostic = Diagnostic::error("unknown-predicate", span, message);
                    diagnostic.help = self.suggestion(&name, &predicate, arity);
                    self.report(diagnostic);
                }
            }
        }
    }

    /// What may have been meant by a predicate that does not exist.
    fn suggestion(&self, module: &str, name: &str, arity: usize) -> Option<String> {
        // Every name is compared with all others.
        self.suggestions.set(self.suggestions.get().checked_sub(1)?);
        let here = || {
            self.drafts
                .iter()
                .filter(|draft| draft.module == module && !matches!(draft.origin, Origin::Expanded(_) | Origin::Goal))
        };
        let same_name: Vec<String> =
            here().filter(|draft| draft.name == name).map(|draft| format!("{name}/{}", draft.arity)).collect();
        if !same_name.is_empty() {
            return Some(format!("there is {}: {arity} is the number of arguments here", same_name.join(", ")));
        }
        let elsewhere = self.drafts.iter().find(|draft| {
            draft.module != module
                && draft.name == name
                && draft.arity == arity
                && draft.public
                && !matches!(draft.origin, Origin::Goal)
        });
        if let Some(draft) = elsewhere {
            return Some(format!("module {} has it: write {}:{name}(…)", draft.module, draft.module));
        }
        let same_arity = nearest(name, here().filter(|draft| draft.arity == arity).map(|draft| draft.name.as_str()));
        let any_arity = || nearest(name, here().map(|draft| draft.name.as_str()));
        let builtins = || {
            let bodies = crate::builtins::BodyBuiltin::ALL.iter().filter(|builtin| builtin.arity() == arity);
            nearest(name, bodies.map(|builtin| builtin.name()))
        };
        same_arity.or_else(builtins).or_else(any_arity).map(|candidate| format!("did you mean {candidate}?"))
    }

    fn normalise(&mut self) {
        // Expansion adds drafts while this runs.
        let mut index = 0;
        while index < self.drafts.len() {
            let id = PredicateId(index as u32);
            for raw in self.drafts[index].raw.clone() {
                let clause = clause::normalise(self, id, &raw);
                self.drafts[index].clauses.push(clause);
            }
            index += 1;
        }
        lint::predicates(self);
    }

    fn finish(mut self, start: Option<PredicateId>) -> Checked {
        self.diagnostics.sort();
        if self.diagnostics.errors() > 0 {
            return Checked { program: None, diagnostics: self.diagnostics, sources: self.sources };
        }
        let modules: Vec<AtomId> = self
            .modules
            .iter()
            .filter(|module| !module.library)
            .map(|module| self.atoms.intern(&module.name))
            .collect();
        let drafts = std::mem::take(&mut self.drafts);
        let predicates = drafts.into_iter().map(|draft| self.predicate(draft)).collect();
        let mut program = Program::new(self.atoms, predicates, modules, self.sources.clone());
        program.start = start;
        Checked { program: Some(program), diagnostics: self.diagnostics, sources: self.sources }
    }

    fn predicate(&mut self, draft: Draft) -> Predicate {
        Predicate {
            module: self.atoms.intern(&draft.module),
            name: self.atoms.intern(&draft.name),
            arity: draft.arity,
            public: draft.public,
            origin: draft.origin,
            span: draft.span,
            groups: groups(&draft.raw),
            clauses: draft.clauses,
        }
    }

    /// Reads a module of the library when it is first named; a module of the user's hides one of the same name.
    fn need_library(&mut self, name: &str) {
        let module = library::MODULES.iter().find(|module| module.name == name);
        if let Some(module) = module.filter(|_| self.module(name).is_none()) {
            self.collect_library_module(module);
            self.check_publics_of(self.modules.len() - 1);
        }
    }
}

/// The stretches of clauses between separators.
fn groups(raw: &[RawClause]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, clause) in raw.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if clause.separator.is_none() => group.clauses.end = index + 1,
            _ => {
                let separator = clause.separator.map(|(separator, _)| separator).filter(|_| index > 0);
                groups.push(Group { separator, clauses: index..index + 1 });
            }
        }
    }
    groups
}
