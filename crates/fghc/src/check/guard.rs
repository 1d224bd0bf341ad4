//! Guards: which goals are tests, and what they test.

use super::arithmetic::computed;
use super::clause::{ClauseBuilder, Pending};
use crate::builtins::{BodyBuiltin, GuardBuiltin, Mode};
use crate::diagnostics::{Diagnostic, nearest};
use crate::ir::{BodyGoal, Comparison, Goal, GuardGoal, Number, Span, Term, Test};
use crate::syntax::{Kind, Tree, print_term};

impl ClauseBuilder<'_> {
    /// Adds the tests of a guard.
    pub fn guard_goals(&mut self, guard: &Tree) {
        for goal in guard.operands(",") {
            self.guard_goal(goal);
        }
    }

    fn guard_goal(&mut self, tree: &Tree) {
        let span = tree.span;
        match &tree.kind {
            Kind::Atom(name) => self.guard_builtin(name, &[], tree),
            Kind::Structure(name, _, arguments) => match (name.as_str(), arguments.as_slice()) {
                (";", [_, _]) => self.any(tree),
                ("=", [left, right]) => self.passive_unification(left, right, span),
                (":=", [target, expression]) => self.assignment(target, expression, Number::Integer, span),
                ("$:=", [target, expression]) => self.assignment(target, expression, Number::Float, span),
                (":", [module, goal]) => self.qualified_test(module, goal, tree),
                (_, [left, right]) if tested(name).is_some() => {
                    let Some((number, comparison)) = tested(name) else { return };
                    let sides = (self.expression(left, number), self.expression(right, number));
                    if let (Some(left), Some(right)) = sides {
                        self.must_be_known(&left, span);
                        self.must_be_known(&right, span);
                        self.guard.push(GuardGoal { test: Test::Compare(number, comparison, left, right), span });
                    }
                }
                _ => match computed(name, arguments, tree) {
                    Some((target, expression, number)) => self.assignment(target, &expression, number, span),
                    None => self.guard_builtin(name, arguments, tree),
                },
            },
            _ => {
                let message = format!("{} is no goal", print_term(tree));
                self.report(Diagnostic::error("guard", span, message).help("a guard is a row of tests"));
            }
        }
    }

    fn flush_into_guard(&mut self) {
        for Pending { target, number, expression, span } in std::mem::take(&mut self.pending) {
            self.must_be_known(&expression, span);
            self.known[target.0 as usize] = true;
            self.guard.push(GuardGoal { test: Test::Assign(target, number, expression), span });
        }
    }

    fn passive_unification(&mut self, left: &Tree, right: &Tree, span: Span) {
        let (mut first, mut second) = (self.term(left), self.term(right));
        self.flush_into_guard();
        let unknown = |builder: &Self, term: &Term| matches!(term, Term::Variable(variable) if !builder.known[variable.0 as usize]);
        // On the left what has a value already, so that the right is a pattern for it.
        let right_is_first = matches!(second, Term::Variable(_)) && !matches!(first, Term::Variable(_));
        if right_is_first || (unknown(self, &first) && matches!(second, Term::Variable(_)) && !unknown(self, &second)) {
            std::mem::swap(&mut first, &mut second);
        }
        if let (Term::Variable(variable), true) = (&first, unknown(self, &first)) {
            let mut within = false;
            second.for_each_variable(&mut |found| within |= found == *variable);
            if within {
                return self.no_value(*variable, span);
            }
        }
        self.know(&first);
        self.know(&second);
        self.guard.push(GuardGoal { test: Test::Unify(first, second), span });
    }

    fn assignment(&mut self, target: &Tree, expression: &Tree, number: Number, span: Span) {
        let Some(expression) = self.expression(expression, number) else {
            // Its value is not there, but no second error shall come of it.
            let target = self.term(target);
            return self.know(&target);
        };
        self.must_be_known(&expression, span);
        let target = self.term(target);
        self.flush_into_guard();
        match target {
            Term::Variable(variable) if !self.known[variable.0 as usize] => {
                self.known[variable.0 as usize] = true;
                self.guard.push(GuardGoal { test: Test::Assign(variable, number, expression), span });
            }
            target => {
                let value = self.fresh("Value", span);
                self.known[value.0 as usize] = true;
                self.guard.push(GuardGoal { test: Test::Assign(value, number, expression), span });
                self.know(&target);
                self.guard.push(GuardGoal { test: Test::Unify(target, Term::Variable(value)), span });
            }
        }
    }

    /// A disjunction: what is made in one alternative is known only there.
    fn any(&mut self, tree: &Tree) {
        let known = self.known.clone();
        let outer = std::mem::take(&mut self.guard);
        let mut alternatives = Vec::new();
        let mut bound = Vec::new();
        for alternative in tree.operands(";") {
            self.known.fill(false);
            self.known[..known.len()].copy_from_slice(&known);
            self.guard_goals(alternative);
            alternatives.push(std::mem::take(&mut self.guard).into_boxed_slice());
            bound.extend(
                (0..self.known.len()).filter(|&index| self.known[index] && !known.get(index).unwrap_or(&false)),
            );
        }
        self.guard = outer;
        for index in bound {
            self.known[index] = false;
            let variable = self.variables[index].clone();
            let inside = count(tree, &variable.name);
            if self.totals.get(&*variable.name).is_some_and(|&total| total > inside) {
                self.report(
                    Diagnostic::error(
                        "no-value",
                        variable.span,
                        format!("{} gets a value in one alternative only, but is used outside", variable.name),
                    )
                    .help("write one clause for each alternative"),
                );
            }
        }
        self.guard.push(GuardGoal { test: Test::Any(alternatives.into()), span: tree.span });
    }

    /// `builtin:test(…)`, and KLIC's guard methods `generic:method(Inputs, …):Output:…`.
    fn qualified_test(&mut self, module: &Tree, goal: &Tree, tree: &Tree) {
        let mut parts = goal.operands(":").into_iter();
        let method = parts.next().unwrap_or(goal);
        let outputs: Vec<Tree> = parts.cloned().collect();
        let (name, mut arguments) = match &method.kind {
            Kind::Atom(name) => (name.clone(), Vec::new()),
            Kind::Structure(name, _, arguments) => (name.clone(), arguments.clone()),
            _ => (String::new(), Vec::new()),
        };
        arguments.extend(outputs);
        match module.as_atom() {
            Some("builtin") => self.guard_builtin(&name, &arguments, tree),
            Some("generic") => {
                let name = match (name.as_str(), arguments.len()) {
                    ("less_than", 2) => "string_less_than",
                    ("not_less_than", 2) => "string_not_less_than",
                    _ => name.as_str(),
                };
                self.guard_builtin(name, &arguments, tree);
            }
            _ => self.no_test(&print_term(module), tree),
        }
    }

    fn guard_builtin(&mut self, name: &str, arguments: &[Tree], tree: &Tree) {
        let span = tree.span;
        match (name, arguments.len()) {
            ("true" | "otherwise", 0) => return,
            ("false", 0) => return self.test(GuardBuiltin::Fail, &[], span),
            ("write" | "print", 1) => return self.guard_write(name, arguments, span),
            // KLIC's, for debugging.
            ("display_console", 1) => return self.guard_write("write", arguments, span),
            _ => {}
        }
        match GuardBuiltin::find(name, arguments.len()) {
            Some(builtin) => self.test(builtin, arguments, span),
            None => self.no_test(name, tree),
        }
    }

    fn test(&mut self, builtin: GuardBuiltin, trees: &[Tree], span: Span) {
        let mut arguments = self.terms(trees);
        self.flush_into_guard();
        let mut after = Vec::new();
        for (mode, argument) in builtin.modes().iter().zip(&mut arguments) {
            match mode {
                Mode::Input | Mode::Deep => {
                    let mut unknown = None;
                    argument.for_each_variable(&mut |variable| {
                        if !self.known[variable.0 as usize] {
                            unknown.get_or_insert(variable);
                        }
                    });
                    if let Some(variable) = unknown {
                        self.no_value(variable, span);
                    }
                }
                Mode::Output => match argument {
                    Term::Variable(variable) if !self.known[variable.0 as usize] => {
                        self.known[variable.0 as usize] = true;
                    }
                    _ => {
                        // What shall be the result is compared with it.
                        let result = self.fresh("Result", span);
                        self.known[result.0 as usize] = true;
                        let expected = std::mem::replace(argument, Term::Variable(result));
                        after.push((Term::Variable(result), expected));
                    }
                },
                Mode::Any => {}
            }
        }
        self.guard.push(GuardGoal { test: Test::Builtin(builtin, arguments), span });
        for (result, expected) in after {
            self.know(&expected);
            self.guard.push(GuardGoal { test: Test::Unify(result, expected), span });
        }
    }

    /// A guard that writes, as in the paper's programs, does so when it commits.
    fn guard_write(&mut self, name: &str, arguments: &[Tree], span: Span) {
        let Some(builtin) = BodyBuiltin::find(name, arguments.len()) else { return };
        let arguments = self.terms(arguments);
        self.flush_into_guard();
        self.body.push(BodyGoal { goal: Goal::Builtin(builtin, arguments), span });
    }

    fn no_test(&mut self, name: &str, tree: &Tree) {
        let arity = match &tree.kind {
            Kind::Structure(_, _, arguments) => arguments.len(),
            _ => 0,
        };
        let help = if matches!(name, "==" | "is" | "\\==") {
            match name {
                "is" => "a value is computed with X := Expression".to_string(),
                "==" => "numbers are compared with =:=, other values with =".to_string(),
                _ => "numbers are compared with =\\=, other values with \\=".to_string(),
            }
        } else if self.checker.find(&self.module, name, arity).is_some() {
            format!("guards are flat: call {name}/{arity} in the body, and let another predicate look at its result")
        } else if BodyBuiltin::find(name, arity).is_some() {
            format!("{name}/{arity} belongs behind the |, into the body")
        } else {
            let names = GuardBuiltin::ALL.iter().map(|builtin| builtin.name());
            match nearest(name, names.chain(["write", "true", "otherwise", ":="])) {
                Some(found) => format!("did you mean {found}?"),
                None => "tests are comparisons, =, :=, and the built-in tests of types and elements".to_string(),
            }
        };
        self.report(Diagnostic::error("guard", tree.span, format!("{name}/{arity} is no test of a guard")).help(help));
    }
}

/// How often a name occurs in a term.
fn count(tree: &Tree, name: &str) -> usize {
    let mut count = 0;
    tree.for_each_variable(&mut |found, _| count += usize::from(found == name));
    count
}

/// A comparison by its sign, or by the name that the KL1 systems give to one of integers.
fn tested(name: &str) -> Option<(Number, Comparison)> {
    let comparison = match name {
        "less_than" => Comparison::Less,
        "not_less_than" => Comparison::GreaterOrEqual,
        "greater_than" => Comparison::Greater,
        "not_greater_than" => Comparison::LessOrEqual,
        "equal" => Comparison::Equal,
        "not_equal" => Comparison::NotEqual,
        _ => return comparison(name),
    };
    Some((Number::Integer, comparison))
}

/// A comparison of numbers by its sign.
pub(super) fn comparison(name: &str) -> Option<(Number, Comparison)> {
    let (number, sign) = match name.strip_prefix('$') {
        Some(sign) => (Number::Float, sign),
        None => (Number::Integer, name),
    };
    let comparison = match sign {
        "<" => Comparison::Less,
        "=<" | "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        "=:=" => Comparison::Equal,
        "=\\=" => Comparison::NotEqual,
        _ => return None,
    };
    Some((number, comparison))
}
