//! Bodies: goals, pragmas, metacalls, conditionals.

use super::RawClause;
use super::arithmetic::computed;
use super::clause::ClauseBuilder;
use super::guard::comparison;
use crate::builtins::{BodyBuiltin, GuardBuiltin};
use crate::diagnostics::Diagnostic;
use crate::ir::{
    BodyGoal, Call, Expression, Goal, MetaGoal, Metacall, Number, Placement, Pragma, PredicateId, Priority, Separator,
    Span, Term, UnaryOperation,
};
use crate::syntax::{Kind, Tree, print_term};

/// Modules of KLIC whose predicates are built in here.
const BUILTIN_MODULES: &[&str] = &["builtin", "functor_table", "atom_table", "variable", "system_control"];

/// A clause of a predicate that expansion makes.
struct Branch {
    separator: Option<(Separator, Span)>,
    guard: Option<Tree>,
    body: Tree,
}

impl Branch {
    /// Without a guard.
    fn of(body: &Tree) -> Self {
        Branch { separator: None, guard: None, body: body.clone() }
    }
}

impl ClauseBuilder<'_> {
    /// Adds the goals of a body.
    pub fn body_goals(&mut self, body: &Tree) {
        for goal in body.operands(",") {
            self.body_goal(goal);
        }
    }

    fn push(&mut self, goal: Goal, span: Span) {
        self.flush_into_body();
        self.body.push(BodyGoal { goal, span });
    }

    fn body_goal(&mut self, tree: &Tree) {
        let span = tree.span;
        match &tree.kind {
            Kind::Atom(name) if name == "true" => {}
            Kind::Atom(name) => self.named_goal(name, &[], tree),
            Kind::Structure(name, _, arguments) => match (name.as_str(), arguments.as_slice()) {
                ("=", [left, right]) => self.unification(left, right, span),
                (":=", [target, expression]) => self.assign(target, expression, Number::Integer, span),
                ("$:=", [target, expression]) => self.assign(target, expression, Number::Float, span),
                (";" | "->", [_, _]) => self.conditional(tree),
                ("@", [_, _]) | ("@@", [_, _]) => self.with_pragma(tree),
                (":", [module, goal]) => self.qualified(module, goal, tree),
                ("call", [goal, result, control]) => self.metacall(goal, result, control, span),
                (_, [_, _]) if comparison(name).is_some() => self.report(
                    Diagnostic::error("body", span, format!("{} is a test, and this is a body", print_term(tree)))
                        .help("tests stand before the |: Head :- Test | Body."),
                ),
                _ => self.named_goal(name, arguments, tree),
            },
            Kind::Variable(name) => self.report(
                Diagnostic::error("body", span, format!("the variable {name} is no goal"))
                    .help("a predicate as a value is called with apply(Predicate, {Arguments}), a goal as a value with call/3"),
            ),
            _ => self.report(Diagnostic::error("body", span, format!("{} is no goal", print_term(tree)))),
        }
    }

    fn unification(&mut self, left: &Tree, right: &Tree, span: Span) {
        // `X = ~E` computes straight into X.
        for (expression, target) in [(right, left), (left, right)] {
            for (sign, number) in [("~", Number::Integer), ("$~", Number::Float)] {
                if let Some([expression]) = expression.as_structure::<1>(sign) {
                    return self.assign(target, expression, number, span);
                }
            }
        }
        let (left, right) = (self.term(left), self.term(right));
        self.push(Goal::Unify(left, right), span);
    }

    fn assign(&mut self, target: &Tree, expression: &Tree, number: Number, span: Span) {
        let expression = self.expression(expression, number);
        let target = self.term(target);
        match expression {
            Some(Expression::Integer(value)) => self.push(Goal::Unify(target, Term::Integer(value)), span),
            Some(Expression::Float(value)) => self.push(Goal::Unify(target, Term::Float(value)), span),
            Some(expression) => self.push(Goal::Assign(target, number, expression), span),
            None => {}
        }
    }

    fn named_goal(&mut self, name: &str, arguments: &[Tree], tree: &Tree) {
        let span = tree.span;
        let arity = arguments.len();
        if let Some(id) = self.checker.find(&self.module, name, arity) {
            return self.call(id, arguments, span);
        }
        match (name, arguments) {
            // Forms of the PIMOS systems that also give the object back.
            ("vector_element", [vector, index, element, same]) => {
                self.unification(vector, same, span);
                return self.builtin(BodyBuiltin::VectorElement, &[vector, index, element], span);
            }
            ("vector", [vector, size, same]) => {
                self.unification(vector, same, span);
                return self.builtin(BodyBuiltin::VectorSize, &[vector, size], span);
            }
            ("string_element", [string, index, element, same]) => {
                self.unification(string, same, span);
                return self.builtin(BodyBuiltin::StringElement, &[string, index, element], span);
            }
            ("string", [string, size, width, same]) => {
                self.unification(string, same, span);
                return self.builtin(BodyBuiltin::StringSize, &[string, size, width], span);
            }
            ("merge", [input, output]) => return self.library_call("merge", "merge", &[input, output], span),
            _ => {}
        }
        if let Some((target, expression, number)) = computed(name, arguments, tree) {
            return self.assign(target, &expression, number, span);
        }
        match BodyBuiltin::find(name, arity) {
            Some(builtin) if !is_method(builtin) && (!builtin.is_internal() || self.in_library()) => {
                self.builtin(builtin, &arguments.iter().collect::<Vec<_>>(), span);
            }
            _ if GuardBuiltin::find(name, arity).is_some() || matches!(name, "otherwise" | "alternatively") => {
                self.report(
                    Diagnostic::error("body", span, format!("{name}/{arity} is a test, and this is a body"))
                        .help("tests stand before the |: Head :- Test | Body."),
                );
            }
            _ if name == "!" => self.report(
                Diagnostic::error("body", span, "! is no goal")
                    .help("Flat GHC has no cut: the guard, before |, commits"),
            ),
            _ => {
                let module = self.module.clone();
                self.resolve(&module, name, arity, span);
            }
        }
    }

    fn in_library(&self) -> bool {
        self.checker.module(&self.module).is_some_and(|module| module.library)
    }

    fn library_call(&mut self, module: &str, name: &str, arguments: &[&Tree], span: Span) {
        let arguments: Vec<Tree> = arguments.iter().map(|&argument| argument.clone()).collect();
        self.checker.need_library(module);
        if let Some(id) = self.resolve(module, name, arguments.len(), span) {
            self.call(id, &arguments, span);
        }
    }

    fn call(&mut self, id: PredicateId, arguments: &[Tree], span: Span) {
        let own = self.predicate;
        self.checker.drafts[id.0 as usize].called |= id != own;
        let arguments = self.terms(arguments);
        self.push(Goal::Call(Call { predicate: id, arguments }, Pragma::default()), span);
    }

    fn builtin(&mut self, builtin: BodyBuiltin, arguments: &[&Tree], span: Span) {
        let arguments = arguments.iter().map(|argument| self.term(argument)).collect();
        self.push(Goal::Builtin(builtin, arguments), span);
    }

    /// `module:goal`.
    fn qualified(&mut self, module: &Tree, goal: &Tree, tree: &Tree) {
        let (name, arguments) = match &goal.kind {
            Kind::Atom(name) => (name.as_str(), &[][..]),
            Kind::Structure(name, _, arguments) => (name.as_str(), arguments.as_slice()),
            _ => ("", &[][..]),
        };
        let Some(module_name) = module.as_atom().filter(|_| !name.is_empty()) else {
            return self.report(
                Diagnostic::error("body", tree.span, format!("{} is no goal", print_term(tree)))
                    .help("a goal of another module is written module:name(Arguments)"),
            );
        };
        if module_name == "generic" {
            return self.method(name, arguments, tree);
        }
        self.checker.need_library(module_name);
        if self.checker.module(module_name).is_none() && BUILTIN_MODULES.contains(&module_name) {
            match BodyBuiltin::find(name, arguments.len()) {
                Some(builtin) if !builtin.is_internal() => {
                    return self.builtin(builtin, &arguments.iter().collect::<Vec<_>>(), tree.span);
                }
                _ => {
                    let message = format!("{module_name} has no {name}/{}", arguments.len());
                    return self.report(Diagnostic::error("unknown-predicate", tree.span, message));
                }
            }
        }
        let module_name = module_name.to_string();
        if let Some(id) = self.resolve(&module_name, name, arguments.len(), tree.span) {
            self.call(id, arguments, tree.span);
        }
    }

    /// KLIC's body methods, `generic:method(Object, …)`.
    fn method(&mut self, name: &str, arguments: &[Tree], tree: &Tree) {
        let span = tree.span;
        let all: Vec<&Tree> = arguments.iter().collect();
        match (name, arguments) {
            ("new", [class, rest @ ..]) => {
                let rest: Vec<&Tree> = rest.iter().collect();
                match (class.as_atom(), rest.as_slice()) {
                    (Some("vector"), [_, _]) => return self.builtin(BodyBuiltin::NewVector, &rest, span),
                    (Some("string"), [_, _, _]) => return self.builtin(BodyBuiltin::NewString, &rest, span),
                    (Some("merge"), [_, _]) => return self.library_call("merge", "merge", &rest, span),
                    (Some("float"), [float, integer]) => {
                        if let Some(integer) = self.expression(integer, Number::Integer) {
                            let target = self.term(float);
                            let value =
                                Expression::Unary(Number::Float, UnaryOperation::IntegerToFloat, Box::new(integer));
                            self.push(Goal::Assign(target, Number::Float, value), span);
                        }
                        return;
                    }
                    _ => {}
                }
                self.report(
                    Diagnostic::error("unknown-predicate", span, "objects of this class cannot be made")
                        .help("known are generic:new(vector, …), (string, …), (merge, …) and (float, …)"),
                );
            }
            ("apply", [_, _]) => self.builtin(BodyBuiltin::Apply, &all, span),
            ("call", [predicate, rest @ ..]) => {
                let predicate = self.term(predicate);
                let rest = self.terms(rest);
                self.push(Goal::Builtin(BodyBuiltin::Apply, [predicate, Term::Vector(rest)].into()), span);
            }
            _ => match BodyBuiltin::find(name, arguments.len()).filter(|builtin| !builtin.is_internal()) {
                Some(builtin) => self.builtin(builtin, &all, span),
                None => {
                    let message = format!("there is no method {name} with {} arguments", arguments.len());
                    self.report(Diagnostic::error("unknown-predicate", span, message).help(
                        "known are new, element, set_element, size, split, join, string, search_character, apply and call",
                    ));
                }
            },
        }
    }

    // ---- pragmas -------------------------------------------------------------------------------------------------

    fn with_pragma(&mut self, tree: &Tree) {
        let mut goal = tree;
        let mut pragma = Pragma::default();
        let mut sound = true;
        loop {
            let (inner, written) = if let Some([inner, written]) = goal.as_structure::<2>("@") {
                (inner, written)
            } else if let Some([written, inner]) = goal.as_structure::<2>("@@") {
                (inner, written)
            } else {
                break;
            };
            sound &= self.pragma(written, &mut pragma);
            goal = inner;
        }
        if !sound {
            // The goal itself is still looked at.
            return self.body_goal(goal);
        }
        let before = self.body.len();
        self.body_goal(goal);
        // Goals that expressions in the arguments made stand before the goal itself.
        let added = self.body.len() > before;
        match self.body.last_mut().filter(|_| added) {
            Some(BodyGoal { goal: Goal::Call(_, of_call), span }) => {
                *of_call = pragma;
                *span = tree.span;
            }
            _ => self.pragma_of_another_goal(goal, pragma, before, tree.span),
        }
    }

    /// Only calls carry pragmas: what else has one becomes a predicate of its own.
    fn pragma_of_another_goal(&mut self, goal: &Tree, pragma: Pragma, before: usize, span: Span) {
        if self.body.len() == before {
            // `true`, or a goal with an error.
            return;
        }
        self.body.truncate(before);
        let call = self.expanded(vec![Branch::of(goal)], &variables(goal), span);
        self.push(Goal::Call(call, pragma), span);
    }

    fn pragma(&mut self, written: &Tree, pragma: &mut Pragma) -> bool {
        let (name, arguments) = match &written.kind {
            Kind::Atom(name) => (name.as_str(), &[][..]),
            Kind::Structure(name, _, arguments) => (name.as_str(), arguments.as_slice()),
            _ => ("", &[][..]),
        };
        let known = "pragmas are Goal@node(N), Goal@priority(P), Goal@lower_priority(D) and alloc(P)@@Goal";
        let amount = match arguments {
            [] if name == "lower_priority" => Some(Expression::Integer(1)),
            [amount] if matches!(name, "node" | "alloc" | "priority" | "lower_priority") => {
                self.expression(amount, Number::Integer)
            }
            _ => {
                let message = format!("{} is no pragma", print_term(written));
                self.report(Diagnostic::error("pragma", written.span, message).help(known));
                None
            }
        };
        let Some(amount) = amount else { return false };
        let is_placement = matches!(name, "node" | "alloc");
        if is_placement && pragma.placement.is_some() || !is_placement && pragma.priority.is_some() {
            let what = if is_placement { "PE" } else { "priority" };
            self.report(
                Diagnostic::error("pragma", written.span, format!("a second {what} for the same goal")).help(known),
            );
            return false;
        }
        if name != "alloc" && matches!(amount, Expression::Integer(value) if value < 0) {
            let what = if name == "node" { "PEs are numbered from 0" } else { "a priority is not negative" };
            self.report(Diagnostic::error("pragma", written.span, what));
            return false;
        }
        match name {
            "node" => pragma.placement = Some(Placement::Node(amount)),
            "alloc" => pragma.placement = Some(Placement::Alloc(amount)),
            "priority" => pragma.priority = Some(Priority::Absolute(amount)),
            _ => pragma.priority = Some(Priority::Lower(amount)),
        }
        true
    }

    // ---- goals that become predicates ------------------------------------------------------------------------------

    /// A call of a new predicate with these clauses, whose arguments are the given variables.
    fn expanded(&mut self, clauses: Vec<Branch>, interface: &[(String, Span)], span: Span) -> Call {
        let id = self.checker.expanded(self.predicate, span, interface.len());
        let arguments: Vec<Tree> =
            interface.iter().map(|(name, span)| Tree::new(Kind::Variable(name.clone()), *span)).collect();
        let raw = clauses.into_iter().map(|Branch { separator, guard, body }| RawClause {
            span,
            separator,
            arguments: arguments.clone(),
            guard,
            body: Some(body),
        });
        let raw = raw.collect();
        let draft = &mut self.checker.drafts[id.0 as usize];
        draft.raw = raw;
        draft.called = true;
        Call { predicate: id, arguments: self.terms(&arguments) }
    }

    /// `( Guard -> Body ; Guard -> Body ; otherwise ; Guard -> Body )`.
    fn conditional(&mut self, tree: &Tree) {
        let mut clauses = Vec::new();
        let mut separator = None;
        for branch in tree.operands(";") {
            match (branch.as_atom(), branch.as_structure::<2>("->")) {
                (Some("otherwise"), _) => separator = Some((Separator::Otherwise, branch.span)),
                (Some("alternatively"), _) => separator = Some((Separator::Alternatively, branch.span)),
                (_, Some([guard, body])) => {
                    clauses.push(Branch {
                        separator: separator.take(),
                        guard: Some(guard.clone()),
                        body: body.clone(),
                    });
                }
                _ => self.report(
                    Diagnostic::error("body", branch.span, "a branch of a conditional is written Guard -> Body")
                        .help("( X > 0 -> p(X) ; otherwise ; true -> q(X) )"),
                ),
            }
        }
        if let Some((_, span)) = separator {
            self.report(Diagnostic::error("separator", span, "no branch follows"));
        }
        if clauses.is_empty() {
            return;
        }
        let inside = variables(tree);
        let shared: Vec<(String, Span)> = inside
            .into_iter()
            .filter(|(name, _)| {
                let mut count = 0;
                tree.for_each_variable(&mut |variable, _| count += usize::from(variable == name));
                self.totals.get(name).is_some_and(|&total| total > count)
            })
            .collect();
        let call = self.expanded(clauses, &shared, tree.span);
        self.push(Goal::Call(call, Pragma::default()), tree.span);
    }

    fn metacall(&mut self, goal: &Tree, result: &Tree, control: &Tree, span: Span) {
        let goal = self.meta_goal(goal);
        let (result, control) = (self.term(result), self.term(control));
        if let Some(goal) = goal {
            self.push(Goal::Metacall(Box::new(Metacall { goal, result, control })), span);
        }
    }

    fn meta_goal(&mut self, goal: &Tree) -> Option<MetaGoal> {
        let module = self.module.clone();
        let dynamic = match (&goal.kind, goal.as_structure::<2>(":")) {
            (Kind::Variable(_), _) => Some((module.clone(), goal)),
            (_, Some([module, name])) => match (module.as_atom(), &name.kind) {
                (Some(module), Kind::Variable(_)) => Some((module.to_string(), name)),
                _ => None,
            },
            _ => None,
        };
        if let Some((module, variable)) = dynamic {
            let term = self.term(variable);
            let module = self.checker.atoms.intern(&module);
            return Some(MetaGoal::Dynamic { term, module });
        }
        let (name, arguments) = match &goal.kind {
            Kind::Atom(name) => (name.as_str(), &[][..]),
            Kind::Structure(name, _, arguments) => (name.as_str(), arguments.as_slice()),
            _ => {
                let message = format!("{} is no goal", print_term(goal));
                self.report(Diagnostic::error("body", goal.span, message));
                return None;
            }
        };
        if let Some(id) = self.checker.find(&module, name, arguments.len()) {
            let own = self.predicate;
            self.checker.drafts[id.0 as usize].called |= id != own;
            return Some(MetaGoal::Call(Call { predicate: id, arguments: self.terms(arguments) }));
        }
        let interface = variables(goal);
        Some(MetaGoal::Call(self.expanded(vec![Branch::of(goal)], &interface, goal.span)))
    }
}

/// Methods have names that programs want for themselves: without `generic:` they mean nothing.
fn is_method(builtin: BodyBuiltin) -> bool {
    matches!(
        builtin,
        BodyBuiltin::Element
            | BodyBuiltin::SetElement
            | BodyBuiltin::ExchangeElement
            | BodyBuiltin::Size
            | BodyBuiltin::Split
            | BodyBuiltin::Join
    )
}

/// The variables of a term in the order of their first occurrence.
fn variables(tree: &Tree) -> Vec<(String, Span)> {
    let mut occurrences: Vec<(String, Span)> = Vec::new();
    tree.for_each_variable(&mut |name, span| {
        if !occurrences.iter().any(|(known, _)| known == name) {
            occurrences.push((name.to_string(), span));
        }
    });
    occurrences
}
