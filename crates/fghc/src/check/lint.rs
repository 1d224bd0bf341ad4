//! What is allowed but hardly meant.

use rustc_hash::FxHashMap;

use super::Checker;
use crate::builtins::Mode;
use crate::diagnostics::Diagnostic;
use crate::ir::{
    Clause, Expression, Goal, GuardGoal, MetaGoal, Origin, Place, Pragma, Priority, Span, Term, Test, VariableId,
    quote_atom,
};
use crate::syntax::{Kind, Tree};

/// Variables that occur once, as written: one finding for each clause.
pub(super) fn variables(head: &Tree, guard: Option<&Tree>, body: Option<&Tree>) -> Vec<Diagnostic> {
    let mut counts: FxHashMap<&str, (usize, Span)> = FxHashMap::default();
    let mut order = Vec::new();
    for part in [Some(head), guard, body].into_iter().flatten() {
        part.for_each_variable(&mut |name, span| {
            let entry = counts.entry(name).or_insert_with(|| {
                order.push(name);
                (0, span)
            });
            entry.0 += 1;
        });
    }
    let mut pairs = Vec::new();
    pair_names(head, &mut pairs);
    if let Some(body) = body {
        pair_names(body, &mut pairs);
    }
    let mut singletons = order
        .iter()
        .filter(|name| counts[**name].0 == 1 && !name.starts_with('_') && !pairs.contains(name))
        .map(|name| (*name, counts[*name].1));
    let mut findings = Vec::new();
    if let Some((first, span)) = singletons.next() {
        let rest: Vec<(&str, Span)> = singletons.collect();
        let names: Vec<&str> = std::iter::once(first).chain(rest.iter().map(|(name, _)| *name)).collect();
        let message = match names.as_slice() {
            [one] => format!("{one} occurs only once in this clause"),
            [most @ .., last] => format!("{} and {last} occur only once in this clause", most.join(", ")),
            [] => String::new(),
        };
        let mut finding = Diagnostic::warning("singleton", span, message)
            .help(format!("if it is not misspelt, write _ or _{first}: a value that nobody looks at"));
        for (name, span) in rest {
            finding = finding.related(span, format!("and {name}"));
        }
        findings.push(finding);
    }
    findings
}

/// Names that stand for argument pairs.
fn pair_names<'a>(tree: &'a Tree, found: &mut Vec<&'a str>) {
    let Kind::Structure(name, _, arguments) = &tree.kind else { return };
    match (name.as_str(), arguments.as_slice()) {
        ("," | ";", _) => tree.operands(name).into_iter().for_each(|goal| pair_names(goal, found)),
        ("->", [_, body]) => pair_names(body, found),
        ("@", [goal, _]) | ("@@", [_, goal]) | (":", [_, goal]) | ("+", [goal, _]) => pair_names(goal, found),
        ("-", [goal, pair]) | ("=>", [goal, pair]) | ("<=" | "+=" | "-=" | "*=" | "/=" | "<==", [pair, goal]) => {
            if let Kind::Variable(name) = &pair.kind {
                found.push(name);
            }
            if name == "-" {
                pair_names(goal, found);
            }
        }
        _ => {}
    }
}

/// Variables that are waited for in the body although nothing can ever give them a value.
pub(super) fn values(clause: &Clause) -> Vec<Diagnostic> {
    let mut uses = Uses { given: vec![false; clause.variables.len()], waited: vec![None; clause.variables.len()] };
    clause.head.iter().for_each(|pattern| uses.give(pattern));
    clause.guard.iter().for_each(|goal| uses.guard(goal));
    for goal in &clause.body {
        uses.goal(&goal.goal, goal.span);
    }
    let waits = uses.waited.iter().enumerate().filter(|&(index, _)| !uses.given[index]);
    waits
        .filter_map(|(index, span)| span.map(|span| (&clause.variables[index].name, span)))
        .map(|(name, span)| {
            Diagnostic::error("no-value", span, format!("nothing gives {name} a value: this goal waits for ever"))
                .help(format!("another goal of the clause, or the head, must know {name}"))
        })
        .collect()
}

struct Uses {
    /// It is in the head, or handed to something that may bind it.
    given: Vec<bool>,
    /// A goal waits for it.
    waited: Vec<Option<Span>>,
}

impl Uses {
    fn give(&mut self, term: &Term) {
        term.for_each_variable(&mut |variable| self.given[variable.0 as usize] = true);
    }

    fn wait_for(&mut self, variable: VariableId, span: Span) {
        self.waited[variable.0 as usize].get_or_insert(span);
    }

    fn expression(&mut self, expression: &Expression, span: Span) {
        expression.for_each_variable(&mut |variable| self.wait_for(variable, span));
    }

    /// What a guard waits for has been looked at while it was built.
    fn guard(&mut self, goal: &GuardGoal) {
        match &goal.test {
            Test::Unify(left, right) => {
                self.give(left);
                self.give(right);
            }
            Test::Assign(variable, ..) => self.given[variable.0 as usize] = true,
            Test::Builtin(_, arguments) => arguments.iter().for_each(|argument| self.give(argument)),
            Test::Any(alternatives) => alternatives.iter().flatten().for_each(|goal| self.guard(goal)),
            Test::Compare(..) => {}
        }
    }

    fn goal(&mut self, goal: &Goal, span: Span) {
        match goal {
            Goal::Unify(left, right) => {
                self.give(left);
                self.give(right);
            }
            Goal::Assign(target, _, expression) => {
                self.expression(expression, span);
                self.give(target);
            }
            Goal::Call(call, pragma) => {
                call.arguments.iter().for_each(|argument| self.give(argument));
                self.pragma(pragma, span);
            }
            Goal::Builtin(builtin, arguments) => {
                for (mode, argument) in builtin.modes().iter().zip(arguments) {
                    match (mode, argument) {
                        (Mode::Input | Mode::Deep, Term::Variable(variable)) => self.wait_for(*variable, span),
                        _ => self.give(argument),
                    }
                }
            }
            Goal::Metacall(metacall) => {
                match &metacall.goal {
                    MetaGoal::Call(call) => call.arguments.iter().for_each(|argument| self.give(argument)),
                    MetaGoal::Dynamic { term: Term::Variable(variable), .. } => self.wait_for(*variable, span),
                    MetaGoal::Dynamic { term, .. } => self.give(term),
                }
                self.give(&metacall.result);
                self.give(&metacall.control);
            }
        }
    }

    fn pragma(&mut self, pragma: &Pragma, span: Span) {
        if let Some(Place::Node(number) | Place::Alloc(number)) = &pragma.place {
            self.expression(number, span);
        }
        if let Some(Priority::Absolute(amount) | Priority::Lower(amount)) = &pragma.priority {
            self.expression(amount, span);
        }
    }
}

/// Clauses that are never needed, equations that never hold, predicates that nothing calls.
pub(super) fn predicates(checker: &mut Checker) {
    let mut findings = Vec::new();
    for draft in checker.drafts.iter().filter(|draft| draft.origin == Origin::User) {
        for (index, clause) in draft.clauses.iter().enumerate() {
            let covering = draft.clauses[..index]
                .iter()
                .find(|earlier| earlier.guard.is_empty() && all_cover(&earlier.head, &clause.head));
            if let Some(earlier) = covering {
                findings.push(
                    Diagnostic::warning("unreachable", clause.span, "this clause is never needed")
                        .related(earlier.span, "this one takes every goal that it could take")
                        .help("put the special case first and the general one behind otherwise."),
                );
            }
            for goal in &clause.body {
                if let Goal::Unify(left, right) = &goal.goal
                    && clash(left, right)
                {
                    findings.push(Diagnostic::warning(
                        "never",
                        goal.span,
                        "these can never be made equal: the goal always fails",
                    ));
                }
            }
        }
        let is_main = draft.name == "main" && draft.arity == 0;
        let listed = checker.module(&draft.module).is_some_and(|module| module.public.is_some());
        if listed && !draft.called && !is_main {
            let message = format!("nothing calls {}/{}", quote_atom(&draft.name), draft.arity);
            findings.push(
                Diagnostic::warning("unused", draft.span, message)
                    .help("delete it, or list it in the module's :- public declaration"),
            );
        }
    }
    findings.into_iter().for_each(|finding| checker.report(finding));
}

fn all_cover(general: &[Term], special: &[Term]) -> bool {
    general.len() == special.len() && general.iter().zip(special).all(|(general, special)| covers(general, special))
}

/// Whether every value that matches `special` matches `general`; both are linear.
fn covers(general: &Term, special: &Term) -> bool {
    match (general, special) {
        (Term::Variable(_), _) => true,
        (Term::List(..), Term::List(..)) => {
            let ((head, rest), (other_head, other_rest)) = (cell(general), cell(special));
            covers(&head, &other_head) && covers(&rest, &other_rest)
        }
        (Term::Structure(name, arguments), Term::Structure(other_name, others)) => {
            name == other_name && all_cover(arguments, others)
        }
        (Term::Vector(elements), Term::Vector(others)) => all_cover(elements, others),
        (general, special) => general == special && !matches!(special, Term::Variable(_)),
    }
}

/// First element and rest of a list.
fn cell(list: &Term) -> (Term, Term) {
    match list {
        Term::List(elements, rest) => match elements.split_first() {
            Some((first, [])) => (first.clone(), (**rest).clone()),
            Some((first, more)) => (first.clone(), Term::List(more.into(), rest.clone())),
            None => (list.clone(), list.clone()),
        },
        other => (other.clone(), other.clone()),
    }
}

/// Whether two terms differ whatever their variables become.
fn clash(left: &Term, right: &Term) -> bool {
    let any = |left: &[Term], right: &[Term]| {
        left.len() != right.len() || left.iter().zip(right).any(|(left, right)| clash(left, right))
    };
    match (left, right) {
        (Term::Variable(_), _) | (_, Term::Variable(_)) => false,
        (Term::List(..), Term::List(..)) => {
            let ((head, rest), (other_head, other_rest)) = (cell(left), cell(right));
            clash(&head, &other_head) || clash(&rest, &other_rest)
        }
        (Term::Structure(name, arguments), Term::Structure(other_name, others)) => {
            name != other_name || any(arguments, others)
        }
        (Term::Vector(elements), Term::Vector(others)) => any(elements, others),
        (left, right) => left != right,
    }
}
