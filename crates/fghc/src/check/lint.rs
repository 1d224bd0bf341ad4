//! What is allowed but hardly meant.

use std::hash::Hasher as _;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Checker;
use crate::builtins::Mode;
use crate::diagnostics::Diagnostic;
use crate::ir::{
    Clause, Expression, Goal, GuardGoal, MetaGoal, Origin, Placement, Pragma, Priority, Span, Term, Test, VariableId,
    quote_atom,
};
use crate::syntax::{Kind, Tree};

/// Variables that a finding names beside the first.
const MAX_NAMED: usize = 9;

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
    let mut pairs = FxHashSet::default();
    pair_names(head, &mut pairs);
    if let Some(body) = body {
        pair_names(body, &mut pairs);
    }
    let mut singletons = order
        .iter()
        .filter(|name| counts[**name].0 == 1 && !name.starts_with('_') && !pairs.contains(**name))
        .map(|name| (*name, counts[*name].1));
    let mut findings = Vec::new();
    if let Some((first, span)) = singletons.next() {
        let mut rest: Vec<(&str, Span)> = singletons.collect();
        let more = rest.len().saturating_sub(MAX_NAMED);
        rest.truncate(MAX_NAMED);
        let names: Vec<&str> = std::iter::once(first).chain(rest.iter().map(|(name, _)| *name)).collect();
        let message = match names.as_slice() {
            names if more > 0 => {
                format!("{} and {more} more variables occur only once in this clause", names.join(", "))
            }
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
fn pair_names<'a>(tree: &'a Tree, names: &mut FxHashSet<&'a str>) {
    let Kind::Structure(name, _, arguments) = &tree.kind else { return };
    match (name.as_str(), arguments.as_slice()) {
        ("," | ";", _) => tree.operands(name).into_iter().for_each(|goal| pair_names(goal, names)),
        ("->", [_, body]) => pair_names(body, names),
        ("@", [goal, _]) | ("@@", [_, goal]) | (":", [_, goal]) | ("+", [goal, _]) => pair_names(goal, names),
        ("-", [goal, pair]) | ("=>", [goal, pair]) | ("<=" | "+=" | "-=" | "*=" | "/=" | "<==", [pair, goal]) => {
            if let Kind::Variable(name) = &pair.kind {
                names.insert(name.as_str());
            }
            if name == "-" {
                pair_names(goal, names);
            }
        }
        _ => {}
    }
}

/// Variables that are waited for in the body although nothing can ever give them a value.
pub(super) fn values(clause: &Clause) -> Vec<Diagnostic> {
    let mut uses = Uses { bound: vec![false; clause.variables.len()], waited: vec![None; clause.variables.len()] };
    clause.head.iter().for_each(|pattern| uses.give(pattern));
    clause.guard.iter().for_each(|goal| uses.guard(goal));
    for goal in &clause.body {
        uses.goal(&goal.goal, goal.span);
    }
    let waits = uses.waited.iter().enumerate().filter(|&(index, _)| !uses.bound[index]);
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
    bound: Vec<bool>,
    /// A goal waits for it.
    waited: Vec<Option<Span>>,
}

impl Uses {
    fn give(&mut self, term: &Term) {
        term.for_each_variable(&mut |variable| self.bound[variable.0 as usize] = true);
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
            Test::Assign(variable, ..) => self.bound[variable.0 as usize] = true,
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
        if let Some(Placement::Node(number) | Placement::Alloc(number)) = &pragma.placement {
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
        let mut general = General::default();
        for (index, clause) in draft.clauses.iter().enumerate() {
            let covering = general.covering(&draft.clauses, &clause.head);
            if clause.guard.is_empty() {
                general.add(index, &clause.head);
            }
            if let Some(earlier) = covering.map(|index| &draft.clauses[index]) {
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

/// Clauses by a key of their heads.
type ClausesByKey = FxHashMap<u64, Vec<usize>>;

/// Heads of clauses without guards, found by what a head that they cover must have in common with them.
#[derive(Default)]
struct General {
    /// By the sorts of their arguments: clauses by their keys.
    by_sorts: Vec<(Vec<Sort>, ClausesByKey)>,
}

/// What an argument of a head asks of one that it covers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Nothing.
    Variable,
    /// To be the same.
    Ground,
    /// To have the same name and as many arguments.
    Compound,
}

/// Kinds of heads of one predicate that are told apart; what has others is not looked at.
const MAX_SORTS: usize = 32;
/// Clauses with one key that are looked at.
const MAX_ALIKE: usize = 32;

impl General {
    fn add(&mut self, index: usize, head: &[Term]) {
        let sorts: Vec<Sort> = head.iter().map(sort).collect();
        let key = key(&sorts, head).expect("a head fits itself");
        if !self.by_sorts.iter().any(|(known, _)| *known == sorts) {
            if self.by_sorts.len() == MAX_SORTS {
                return;
            }
            self.by_sorts.push((sorts.clone(), FxHashMap::default()));
        }
        let Some((_, clauses)) = self.by_sorts.iter_mut().find(|(known, _)| *known == sorts) else { return };
        let alike = clauses.entry(key).or_default();
        if alike.len() < MAX_ALIKE {
            alike.push(index);
        }
    }

    /// The first clause whose head covers this one.
    fn covering(&self, clauses: &[Clause], head: &[Term]) -> Option<usize> {
        let alike = self.by_sorts.iter().filter_map(|(sorts, clauses)| clauses.get(&key(sorts, head)?)).flatten();
        alike.copied().filter(|&index| all_cover(&clauses[index].head, head)).min()
    }
}

fn sort(term: &Term) -> Sort {
    if matches!(term, Term::Variable(_)) {
        return Sort::Variable;
    }
    let mut is_ground = true;
    term.for_each_variable(&mut |_| is_ground = false);
    if is_ground { Sort::Ground } else { Sort::Compound }
}

/// What a head has in common with one that has arguments of these sorts and covers it; `None` where nothing of these sorts
/// covers it.
fn key(sorts: &[Sort], head: &[Term]) -> Option<u64> {
    let mut hasher = rustc_hash::FxHasher::default();
    for (sort, term) in sorts.iter().zip(head) {
        match sort {
            Sort::Variable => {}
            Sort::Ground => hash(term, true, &mut hasher)?,
            Sort::Compound => hash(term, false, &mut hasher)?,
        }
    }
    Some(hasher.finish())
}

/// `whole`: the whole term, which must have no variables; otherwise its name and size, or that it is a list.
fn hash(term: &Term, whole: bool, hasher: &mut rustc_hash::FxHasher) -> Option<()> {
    match term {
        Term::Variable(_) => return None,
        Term::Integer(value) => hasher.write_i64(*value),
        Term::Float(value) => hasher.write_u64((value + 0.0).to_bits()),
        Term::Atom(atom) => hasher.write_u32(atom.0),
        Term::String(bytes) => hasher.write(bytes),
        Term::Predicate(predicate) => hasher.write_u32(predicate.0),
        Term::List(elements, rest) => {
            hasher.write_u8(1);
            if whole {
                elements.iter().try_for_each(|element| hash(element, true, hasher))?;
                hash(rest, true, hasher)?;
            }
        }
        Term::Structure(_, arguments) | Term::Vector(arguments) => {
            if let Term::Structure(name, _) = term {
                hasher.write_u32(name.0);
            }
            hasher.write_usize(arguments.len());
            if whole {
                arguments.iter().try_for_each(|argument| hash(argument, true, hasher))?;
            }
        }
    }
    Some(())
}

fn all_cover(general: &[Term], special: &[Term]) -> bool {
    general.len() == special.len() && general.iter().zip(special).all(|(general, special)| covers(general, special))
}

/// Whether every value that matches `special` matches `general`; both are linear.
fn covers(general: &Term, special: &Term) -> bool {
    match (general, special) {
        (Term::Variable(_), _) => true,
        (Term::List(elements, rest), Term::List(others, other_rest)) => {
            let common = elements.len().min(others.len());
            all_cover(&elements[..common], &others[..common])
                && match (elements.len() > common, others.len() > common) {
                    (false, false) => covers(rest, other_rest),
                    // What is left of the longer one is a list that goes on.
                    (false, true) => covers_list(rest, &others[common..], other_rest),
                    (true, _) => false,
                }
        }
        (Term::Structure(name, arguments), Term::Structure(other_name, others)) => {
            name == other_name && all_cover(arguments, others)
        }
        (Term::Vector(elements), Term::Vector(others)) => all_cover(elements, others),
        (general, special) => general == special && !matches!(special, Term::Variable(_)),
    }
}

/// Whether a term covers a list of these elements, at least one, and this rest.
fn covers_list(general: &Term, elements: &[Term], rest: &Term) -> bool {
    match general {
        Term::Variable(_) => true,
        Term::List(..) => covers(general, &Term::List(elements.into(), Box::new(rest.clone()))),
        _ => false,
    }
}

/// Whether two terms differ whatever their variables become.
fn clash(left: &Term, right: &Term) -> bool {
    let any = |left: &[Term], right: &[Term]| {
        left.len() != right.len() || left.iter().zip(right).any(|(left, right)| clash(left, right))
    };
    match (left, right) {
        (Term::Variable(_), _) | (_, Term::Variable(_)) => false,
        (Term::List(elements, rest), Term::List(others, other_rest)) => {
            let common = elements.len().min(others.len());
            any(&elements[..common], &others[..common])
                || match (elements.len() > common, others.len() > common) {
                    (false, false) => clash(rest, other_rest),
                    (true, _) => !may_be_list(other_rest),
                    (_, true) => !may_be_list(rest),
                }
        }
        (Term::Structure(name, arguments), Term::Structure(other_name, others)) => {
            name != other_name || any(arguments, others)
        }
        (Term::Vector(elements), Term::Vector(others)) => any(elements, others),
        (left, right) => left != right,
    }
}

/// Whether a rest of a list may go on; a nested one is not looked into.
fn may_be_list(rest: &Term) -> bool {
    matches!(rest, Term::Variable(_) | Term::List(..))
}
