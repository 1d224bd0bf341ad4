//! What an engine sees in a program: normal form, dispatch, suspension, pragma sites.

use std::fmt::Write as _;

use crate::builtins::Mode;
use crate::ir::{
    Clause, ClausePrinter, Goal, Origin, Predicate, PredicateId, Program, Separator, Term, Test, VariableId,
};

/// The argument, from 0, whose value divides the clauses best: the one on which most clauses have a pattern, the first such.
///
/// `None` where no clause of the first group looks at an argument's kind, or there is one clause only.
pub fn dispatch_argument(predicate: &Predicate) -> Option<usize> {
    let group = &predicate.clauses[predicate.groups.first()?.clauses.clone()];
    if group.len() < 2 {
        return None;
    }
    let patterns = |argument: usize| group.iter().filter(|clause| is_pattern(&clause.head[argument])).count();
    (0..predicate.arity)
        .map(|argument| (patterns(argument), argument))
        .filter(|&(count, _)| count > 0)
        .min_by_key(|&(count, argument)| (std::cmp::Reverse(count), argument))
        .map(|(_, argument)| argument)
}

fn is_pattern(term: &Term) -> bool {
    !matches!(term, Term::Variable(_))
}

/// A place where a clause waits when a value is not there yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// The clause, an index into [`Predicate::clauses`].
    pub clause: usize,
    /// The argument of the predicate, from 0, or `None` for a value that is found on the way.
    pub argument: Option<usize>,
    /// For what, in words.
    pub reason: String,
}

/// Where goals of a predicate may suspend, clause by clause.
pub fn waits(program: &Program, predicate: &Predicate) -> Vec<Wait> {
    let mut waits = Vec::new();
    for (index, clause) in predicate.clauses.iter().enumerate() {
        let printer = ClausePrinter::new(program, clause);
        for (argument, pattern) in clause.head.iter().enumerate().filter(|(_, pattern)| is_pattern(pattern)) {
            let reason = format!("matched with {}", printer.term(pattern));
            waits.push(Wait { clause: index, argument: Some(argument), reason });
        }
        for goal in &clause.guard {
            let mut variables = Vec::new();
            tested(&goal.test, &mut |variable| {
                if !variables.contains(&variable) {
                    variables.push(variable);
                }
            });
            for variable in variables {
                let argument = clause.head.iter().position(|pattern| *pattern == Term::Variable(variable));
                let within = clause.head.iter().any(|pattern| occurs(pattern, variable));
                if argument.is_some() || within {
                    let name = &clause.variables[variable.0 as usize].name;
                    let reason = format!("{name} needed by {}", printer.guard(goal));
                    waits.push(Wait { clause: index, argument, reason });
                }
            }
        }
    }
    waits
}

fn occurs(term: &Term, wanted: VariableId) -> bool {
    let mut occurs = false;
    term.for_each_variable(&mut |variable| occurs |= variable == wanted);
    occurs
}

/// The variables whose values a test looks at.
fn tested(test: &Test, visit: &mut dyn FnMut(VariableId)) {
    let mut visit = visit;
    match test {
        Test::Unify(left, right) => {
            left.for_each_variable(&mut visit);
            right.for_each_variable(&mut visit);
        }
        Test::Compare(_, _, left, right) => {
            left.for_each_variable(&mut visit);
            right.for_each_variable(&mut visit);
        }
        Test::Assign(_, _, value) => value.for_each_variable(&mut visit),
        Test::Builtin(builtin, arguments) => {
            for (mode, argument) in builtin.modes().iter().zip(arguments) {
                if matches!(mode, Mode::Input | Mode::Deep) {
                    argument.for_each_variable(&mut visit);
                }
            }
        }
        Test::Any(alternatives) => alternatives.iter().flatten().for_each(|goal| tested(&goal.test, visit)),
    }
}

/// A call with a pragma.
#[derive(Clone, Debug, PartialEq)]
pub struct PragmaSite {
    /// The predicate in whose body it stands.
    pub predicate: PredicateId,
    /// The clause, an index into [`Predicate::clauses`].
    pub clause: usize,
    /// The goal, an index into [`Clause::body`].
    pub goal: usize,
}

/// Every call with a pragma, in the order of the program.
pub fn pragma_sites(program: &Program) -> Vec<PragmaSite> {
    let mut sites = Vec::new();
    for (id, predicate) in program.iter() {
        for (index, clause) in predicate.clauses.iter().enumerate() {
            for (goal, called) in clause.body.iter().enumerate() {
                if matches!(&called.goal, Goal::Call(_, pragma) if !pragma.is_empty()) {
                    sites.push(PragmaSite { predicate: id, clause: index, goal });
                }
            }
        }
    }
    sites
}

/// The program as an engine sees it, for people. The library is left out unless `library` is set.
pub fn explain(program: &Program, library: bool) -> String {
    let mut text = String::new();
    for (id, predicate) in program.iter().filter(|(_, predicate)| is_shown(program, predicate, library)) {
        explain_predicate(&mut text, program, id, predicate);
    }
    let sites = pragma_sites(program);
    let _ = writeln!(text, "% {} pragma site{}", sites.len(), if sites.len() == 1 { "" } else { "s" });
    for site in sites {
        let predicate = program.predicate(site.predicate);
        let clause = &predicate.clauses[site.clause];
        let goal = &clause.body[site.goal];
        let (file, line) = location(program, goal.span);
        let printer = ClausePrinter::new(program, clause);
        let _ = writeln!(text, "%   {file}:{line} in {}: {}", program.indicator(site.predicate), printer.goal(goal));
    }
    text
}

/// Whether a predicate is shown to people: those of the program, and of the library where that is asked for.
pub fn is_shown(program: &Program, predicate: &Predicate, library: bool) -> bool {
    match predicate.origin {
        Origin::Goal => false,
        Origin::Library => library,
        Origin::Expanded(root) => library || program.predicate(root).origin == Origin::User,
        Origin::User => true,
    }
}

fn location(program: &Program, span: crate::ir::Span) -> (&str, usize) {
    let source = &program.sources[span.source as usize];
    (&source.name, source.line_and_column(span.start).0)
}

fn explain_predicate(text: &mut String, program: &Program, id: PredicateId, predicate: &Predicate) {
    // Writing into a string does not fail.
    let (file, line) = location(program, predicate.span);
    let origin = match predicate.origin {
        Origin::Expanded(root) => format!(", made by expansion of {}", program.indicator(root)),
        _ if predicate.public => ", public".to_string(),
        _ => String::new(),
    };
    let count = predicate.clauses.len();
    let plural = if count == 1 { "" } else { "s" };
    let _ = writeln!(text, "% {} ({file}:{line}{origin}), {count} clause{plural}", program.indicator(id));
    match dispatch_argument(predicate) {
        Some(argument) => {
            let _ = writeln!(text, "% dispatches on argument {}", argument + 1);
        }
        None if count > 1 => {
            let _ = writeln!(text, "% no argument tells the clauses apart: they are tried in order");
        }
        None => {}
    }
    let waits = waits(program, predicate);
    if waits.is_empty() {
        let _ = writeln!(text, "% never suspends");
    }
    for wait in waits {
        let clause = wait.clause + 1;
        let _ = match wait.argument {
            Some(argument) => {
                writeln!(text, "% may suspend on argument {} (clause {clause}): {}", argument + 1, wait.reason)
            }
            None => writeln!(text, "% may suspend within an argument (clause {clause}): {}", wait.reason),
        };
    }
    let name = program.atoms.name(predicate.name);
    for group in &predicate.groups {
        match group.separator {
            Some(Separator::Otherwise) => text.push_str("otherwise.\n"),
            Some(Separator::Alternatively) => text.push_str("alternatively.\n"),
            None => {}
        }
        for clause in &predicate.clauses[group.clauses.clone()] {
            print_clause(text, program, name, clause);
        }
    }
    text.push('\n');
}

fn print_clause(text: &mut String, program: &Program, name: &str, clause: &Clause) {
    let _ = writeln!(text, "{}", ClausePrinter::new(program, clause).clause(name));
}
