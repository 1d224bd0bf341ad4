//! One clause into normal form: its variables, its terms, its head.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Checker, RawClause, lint};
use crate::diagnostics::Diagnostic;
use crate::ir::{
    BodyGoal, Clause, Expression, Goal, GuardGoal, Number, PredicateId, Span, Term, Test, Variable, VariableId, atoms,
};
use crate::syntax::{Kind, Tree};

/// An expression within a term, `~E`, and the variable that stands for its value.
pub(super) struct Pending {
    pub target: VariableId,
    pub number: Number,
    pub expression: Expression,
    pub span: Span,
}

/// A clause on its way.
pub(super) struct ClauseBuilder<'a> {
    pub checker: &'a mut Checker,
    pub predicate: PredicateId,
    pub module: String,
    pub variables: Vec<Variable>,
    numbers: FxHashMap<String, VariableId>,
    /// The next number for a name that no source gives, by what the name begins with.
    fresh: FxHashMap<String, usize>,
    /// By variable: it has a value, or the caller's variable, from the head or an earlier guard goal.
    pub known: Vec<bool>,
    /// How often each name occurs in the whole clause.
    pub totals: FxHashMap<String, usize>,
    pub pending: Vec<Pending>,
    pub guard: Vec<GuardGoal>,
    pub body: Vec<BodyGoal>,
}

/// The normal form of a clause; what is wrong in it is reported and left out.
pub(super) fn normalise(checker: &mut Checker, predicate: PredicateId, raw: &RawClause) -> Clause {
    let mut totals = FxHashMap::default();
    let parts = raw.arguments.iter().chain(&raw.guard).chain(&raw.body);
    parts.for_each(|part| part.for_each_variable(&mut |name, _| *totals.entry(name.to_string()).or_insert(0) += 1));
    let module = checker.drafts[predicate.0 as usize].module.clone();
    let mut builder = ClauseBuilder {
        checker,
        predicate,
        module,
        variables: Vec::new(),
        numbers: FxHashMap::default(),
        fresh: FxHashMap::default(),
        known: Vec::new(),
        totals,
        pending: Vec::new(),
        guard: Vec::new(),
        body: Vec::new(),
    };
    let head = builder.head(&raw.arguments);
    if let Some(guard) = &raw.guard {
        builder.guard_goals(guard);
    }
    if let Some(body) = &raw.body {
        builder.body_goals(body);
    }
    let ClauseBuilder { variables, guard, body, .. } = builder;
    let clause = Clause { span: raw.span, variables, head, guard, body };
    for finding in lint::values(&clause) {
        checker.report(finding);
    }
    clause
}

impl ClauseBuilder<'_> {
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.checker.report(diagnostic);
    }

    /// The variable of a name, new where it occurs first.
    pub fn variable(&mut self, name: &str, span: Span) -> VariableId {
        if name == "_" {
            return self.new_variable("_".into(), span);
        }
        if let Some(&variable) = self.numbers.get(name) {
            return variable;
        }
        let variable = self.new_variable(name.into(), span);
        self.numbers.insert(name.to_string(), variable);
        variable
    }

    /// A variable that no source names, called after what it is for.
    pub fn fresh(&mut self, stem: &str, span: Span) -> VariableId {
        let mut number = self.fresh.get(stem).copied().unwrap_or(1);
        loop {
            let name = format!("_{stem}{number}");
            number += 1;
            if !self.totals.contains_key(&name) && !self.numbers.contains_key(&name) {
                self.fresh.insert(stem.to_string(), number);
                return self.variable(&name, span);
            }
        }
    }

    fn new_variable(&mut self, name: Box<str>, span: Span) -> VariableId {
        let variable = VariableId(self.variables.len() as u32);
        self.variables.push(Variable { name, span });
        self.known.push(false);
        variable
    }

    pub fn know(&mut self, term: &Term) {
        term.for_each_variable(&mut |variable| self.known[variable.0 as usize] = true);
    }

    /// The head's patterns. A second occurrence of a variable becomes another variable and a unification.
    fn head(&mut self, arguments: &[Tree]) -> Vec<Term> {
        let mut equal = Vec::new();
        let mut patterns: Vec<Term> = Vec::with_capacity(arguments.len());
        let mut seen = FxHashSet::default();
        for argument in arguments {
            let mut pattern = self.term(argument);
            self.linearise(&mut pattern, &mut seen, &mut equal, argument.span);
            patterns.push(pattern);
        }
        patterns.iter().for_each(|pattern| self.know(pattern));
        for (first, second, span) in equal {
            let test = Test::Unify(Term::Variable(first), Term::Variable(second));
            self.guard.push(GuardGoal { test, span });
        }
        // An expression in the head is a condition on what stands there.
        for Pending { target, number, expression, span } in std::mem::take(&mut self.pending) {
            self.must_be_known(&expression, span);
            let value = self.fresh("Value", span);
            self.known[value.0 as usize] = true;
            self.guard.push(GuardGoal { test: Test::Assign(value, number, expression), span });
            let test = Test::Unify(Term::Variable(target), Term::Variable(value));
            self.guard.push(GuardGoal { test, span });
        }
        patterns
    }

    fn linearise(
        &mut self,
        pattern: &mut Term,
        seen: &mut FxHashSet<VariableId>,
        equal: &mut Vec<(VariableId, VariableId, Span)>,
        span: Span,
    ) {
        match pattern {
            Term::Variable(variable) => {
                if !seen.insert(*variable) {
                    let name = self.variables[variable.0 as usize].name.trim_start_matches('_').to_string();
                    let second = self.fresh(&name, span);
                    equal.push((*variable, second, span));
                    *variable = second;
                    seen.insert(second);
                }
            }
            Term::List(elements, rest) => {
                elements.iter_mut().for_each(|element| self.linearise(element, seen, equal, span));
                self.linearise(rest, seen, equal, span);
            }
            Term::Structure(_, arguments) | Term::Vector(arguments) => {
                arguments.iter_mut().for_each(|argument| self.linearise(argument, seen, equal, span));
            }
            Term::Integer(_) | Term::Float(_) | Term::Atom(_) | Term::String(_) | Term::Predicate(_) => {}
        }
    }

    pub fn terms(&mut self, trees: &[Tree]) -> Box<[Term]> {
        trees.iter().map(|tree| self.term(tree)).collect()
    }

    /// A term; expressions within it go to [`ClauseBuilder::pending`].
    pub fn term(&mut self, tree: &Tree) -> Term {
        match &tree.kind {
            Kind::Variable(name) => Term::Variable(self.variable(name, tree.span)),
            Kind::Integer(value) => Term::Integer(*value),
            Kind::Float(value) => Term::Float(*value),
            Kind::Atom(name) => Term::Atom(self.checker.atoms.intern(name)),
            Kind::String(bytes) => Term::String(bytes.as_slice().into()),
            Kind::List(elements, rest) => {
                let elements = self.terms(elements);
                let rest = rest.as_ref().map_or(Term::Atom(atoms::NIL), |rest| self.term(rest));
                Term::List(elements, Box::new(rest))
            }
            Kind::Vector(elements) => Term::Vector(self.terms(elements)),
            Kind::Structure(name, _, arguments) => match (name.as_str(), arguments.as_slice()) {
                ("~", [expression]) => self.value(expression, Number::Integer, tree.span),
                ("$~", [expression]) => self.value(expression, Number::Float, tree.span),
                ("`" | "``", [quoted]) => self.term(quoted),
                ("#", [string]) => self.character(string, tree.span),
                ("#", [kind, value]) => self.constant(kind, value, tree),
                _ => {
                    let arguments = self.terms(arguments);
                    Term::Structure(self.checker.atoms.intern(name), arguments)
                }
            },
        }
    }

    fn value(&mut self, expression: &Tree, number: Number, span: Span) -> Term {
        match self.expression(expression, number) {
            Some(Expression::Integer(value)) => Term::Integer(value),
            Some(Expression::Float(value)) => Term::Float(value),
            Some(Expression::Variable(variable)) => Term::Variable(variable),
            Some(expression) => {
                let target = self.fresh("Value", span);
                self.pending.push(Pending { target, number, expression, span });
                Term::Variable(target)
            }
            None => Term::Variable(self.fresh("Value", span)),
        }
    }

    /// `#"a"`: the code of a character.
    fn character(&mut self, string: &Tree, span: Span) -> Term {
        if let Kind::String(bytes) = &string.kind {
            let mut characters = String::from_utf8_lossy(bytes).chars().map(u32::from).collect::<Vec<_>>();
            if let (Some(code), true) = (characters.pop(), characters.is_empty()) {
                return Term::Integer(i64::from(code));
            }
        }
        self.report(
            Diagnostic::error("constant", span, "# stands before a string of one character").help("for example #\"a\""),
        );
        Term::Integer(0)
    }

    /// `16#"FF"`, `predicate#(…)` and other constants by kind.
    fn constant(&mut self, kind: &Tree, value: &Tree, whole: &Tree) -> Term {
        match (&kind.kind, &value.kind) {
            (Kind::Integer(base), Kind::String(digits)) => {
                let digits = String::from_utf8_lossy(digits);
                return match based_integer(*base, &digits) {
                    Ok(value) => Term::Integer(value),
                    Err(message) => {
                        self.report(Diagnostic::error("constant", whole.span, message));
                        Term::Integer(0)
                    }
                };
            }
            (Kind::Atom(kind), _) if kind == "predicate" => return self.predicate_constant(value, whole.span),
            (Kind::Atom(kind), Kind::String(bytes)) if kind == "string" => {
                return Term::String(bytes.as_slice().into());
            }
            (Kind::Atom(kind), Kind::String(_)) if kind == "c" => return self.character(value, whole.span),
            (Kind::Atom(kind), Kind::Atom(key)) if kind == "key" && key == "lf" => return Term::Integer(10),
            (Kind::Atom(kind), Kind::Atom(key)) if kind == "key" && key == "cr" => return Term::Integer(13),
            _ => {}
        }
        self.report(Diagnostic::error("constant", whole.span, "no such constant").help(
            "known are #\"a\", c#\"a\", 16#\"FF\", string#\"abc\", key#lf, key#cr and predicate#(module:name/arity)",
        ));
        Term::Integer(0)
    }

    fn predicate_constant(&mut self, value: &Tree, span: Span) -> Term {
        let named = value.as_structure::<2>("/").and_then(|[name, arity]| {
            let Kind::Integer(arity) = arity.kind else { return None };
            let arity = usize::try_from(arity).ok()?;
            match name.as_structure::<2>(":") {
                Some([module, name]) => Some((module.as_atom()?.to_string(), name.as_atom()?.to_string(), arity)),
                None => Some((self.module.clone(), name.as_atom()?.to_string(), arity)),
            }
        });
        let Some((module, name, arity)) = named else {
            self.report(
                Diagnostic::error("constant", span, "a predicate is written predicate#(module:name/arity)")
                    .help("for example predicate#(main:append/3)"),
            );
            return Term::Integer(0);
        };
        self.checker.need_library(&module);
        match self.resolve(&module, &name, arity, span) {
            Some(id) => Term::Predicate(id),
            None => Term::Integer(0),
        }
    }

    /// The predicate of a call, reported where it does not exist or may not be called.
    pub fn resolve(&mut self, module: &str, name: &str, arity: usize, span: Span) -> Option<PredicateId> {
        let Some(id) = self.checker.find(module, name, arity) else {
            self.unknown(module, name, arity, span);
            return None;
        };
        let own = self.predicate;
        let root = match self.checker.drafts[own.0 as usize].origin {
            crate::ir::Origin::Expanded(root) => root,
            _ => own,
        };
        let draft = &mut self.checker.drafts[id.0 as usize];
        draft.called |= id != root;
        if module != self.module && !draft.public {
            let declared = draft.span;
            self.report(
                Diagnostic::error("private", span, format!("{name}/{arity} of module {module} is not public"))
                    .related(declared, "defined here")
                    .help(format!("add it to the module's declaration: :- public {name}/{arity}.")),
            );
            return None;
        }
        Some(id)
    }

    fn unknown(&mut self, module: &str, name: &str, arity: usize, span: Span) {
        let diagnostic = if self.checker.module(module).is_none() {
            let names = self.checker.modules.iter().map(|module| module.name.as_str());
            let library = crate::library::MODULES.iter().map(|module| module.name);
            let help = match crate::diagnostics::nearest(module, names.chain(library.clone())) {
                Some(candidate) => format!("did you mean {candidate}?"),
                None => {
                    format!("name the file that has it, too; weft's own are {}", library.collect::<Vec<_>>().join(", "))
                }
            };
            Diagnostic::error("unknown-module", span, format!("there is no module {module}")).help(help)
        } else {
            let message = format!("there is no predicate {name}/{arity} in module {module}");
            let mut diagnostic = Diagnostic::error("unknown-predicate", span, message);
            diagnostic.help = self.checker.suggestion(module, name, arity);
            diagnostic
        };
        self.report(diagnostic);
    }

    /// Hands expressions within the terms of a body goal over as goals of their own.
    pub fn flush_into_body(&mut self) {
        for Pending { target, number, expression, span } in std::mem::take(&mut self.pending) {
            self.body.push(BodyGoal { goal: Goal::Assign(Term::Variable(target), number, expression), span });
        }
    }
}

fn based_integer(base: i64, digits: &str) -> Result<i64, String> {
    crate::syntax::based_integer(&base.to_string(), digits)
}
