//! Argument pairs: `p(X)-S` passes the present and the next value of `S`, two arguments written as one.
//!
//! The rules are those of KLIC's manual, section 2.9: a pair's present value is what the goal before gave; the head's second
//! argument is what the last goal gave; elsewhere in a goal the name means the present value. `S <= M`, `M => S`,
//! `S += E` (also `-=`, `*=`, `/=`) and `S <== X` are goals that step a pair.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostics::Diagnostic;
use crate::ir::Span;
use crate::syntax::{Kind, Tree};

/// A clause without pairs.
pub(super) struct Expanded {
    pub head: Tree,
    pub guard: Option<Tree>,
    pub body: Option<Tree>,
}

type Expansion<T> = Result<T, Box<Diagnostic>>;

/// What stands behind a head or goal, from left to right.
enum Extra<'a> {
    Pair(&'a str, Span),
    Argument(&'a Tree),
}

/// Replaces the pairs of a clause.
pub(super) fn expand(head: &Tree, guard: Option<&Tree>, body: Option<&Tree>) -> Expansion<Expanded> {
    let mut taken = FxHashSet::default();
    for part in [Some(head), guard, body].into_iter().flatten() {
        part.for_each_variable(&mut |name, _| {
            taken.insert(name.to_string());
        });
    }
    let mut pairs = Pairs { taken, next: FxHashMap::default(), present: FxHashMap::default() };
    let (base, extras) = peel(head);
    let mut finals = Vec::new();
    let mut added = Vec::new();
    for extra in extras {
        match extra {
            Extra::Pair(name, span) => {
                let last = pairs.fresh(name);
                added.extend([variable(name, span), variable(&last, span)]);
                finals.push((name, last, span));
            }
            Extra::Argument(argument) => added.push(argument.clone()),
        }
    }
    let head = with_arguments(base, added)?;
    let mut goals = match body {
        Some(body) => pairs.goals(body)?,
        None => Vec::new(),
    };
    for (name, last, span) in finals {
        pairs.settle(&mut goals, name, &last, span);
    }
    Ok(Expanded { head, guard: guard.cloned(), body: conjunction(goals) })
}

struct Pairs {
    taken: FxHashSet<String>,
    /// The next number of a name.
    next: FxHashMap<String, usize>,
    /// The variable that holds the present value of a name; a name that was never stepped holds its own.
    present: FxHashMap<String, String>,
}

impl Pairs {
    fn fresh(&mut self, name: &str) -> String {
        let number = self.next.entry(name.to_string()).or_insert(1);
        loop {
            let candidate = format!("{name}_{number}");
            *number += 1;
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }

    fn present(&self, name: &str) -> String {
        self.present.get(name).cloned().unwrap_or_else(|| name.to_string())
    }

    /// The present and the next variable of a pair, which from now on is the present one.
    fn step(&mut self, name: &str) -> (String, String) {
        let old = self.present(name);
        let new = self.fresh(name);
        self.present.insert(name.to_string(), new.clone());
        (old, new)
    }

    /// Makes `last` the value of a pair after all goals.
    fn settle(&mut self, goals: &mut Vec<Tree>, name: &str, last: &str, span: Span) {
        let present = self.present(name);
        if present == name || !self.present.contains_key(name) {
            let equation = vec![variable(&present, span), variable(last, span)];
            goals.insert(0, Tree::new(Kind::Structure("=".into(), span, equation), span));
            return;
        }
        for goal in goals {
            *goal = rename(goal, &|found| (found == present).then(|| last.to_string()));
        }
        self.present.insert(name.to_string(), last.to_string());
    }

    /// The goals of a conjunction.
    fn goals(&mut self, body: &Tree) -> Expansion<Vec<Tree>> {
        body.operands(",").into_iter().map(|goal| self.goal(goal)).collect()
    }

    fn goal(&mut self, goal: &Tree) -> Expansion<Tree> {
        let rebuilt = |name: &str, operator: Span, arguments| {
            Tree::new(Kind::Structure(name.to_string(), operator, arguments), goal.span)
        };
        let Kind::Structure(name, operator, arguments) = &goal.kind else { return Ok(self.replace(goal)) };
        match (name.as_str(), arguments.as_slice()) {
            (";" | "->", [_, _]) => self.conditional(goal),
            ("@", [inner, pragma]) => {
                let pragma = self.replace(pragma);
                Ok(rebuilt("@", *operator, vec![self.goal(inner)?, pragma]))
            }
            ("@@", [pragma, inner]) => {
                let pragma = self.replace(pragma);
                Ok(rebuilt("@@", *operator, vec![pragma, self.goal(inner)?]))
            }
            ("<=", [pair, message]) => {
                let message = self.replace(message);
                let (old, new) = self.pair(pair, name)?;
                let list = Kind::List(vec![message], Some(Box::new(variable(&new, pair.span))));
                Ok(rebuilt("=", *operator, vec![variable(&old, pair.span), Tree::new(list, goal.span)]))
            }
            ("=>", [message, pair]) => {
                let message = self.replace(message);
                let (old, new) = self.pair(pair, "=>")?;
                let list = Kind::List(vec![message], Some(Box::new(variable(&old, pair.span))));
                Ok(rebuilt("=", *operator, vec![variable(&new, pair.span), Tree::new(list, goal.span)]))
            }
            ("+=" | "-=" | "*=" | "/=", [pair, amount]) => {
                let amount = self.replace(amount);
                let (old, new) = self.pair(pair, name)?;
                let operands = vec![variable(&old, pair.span), amount];
                let sum = Tree::new(Kind::Structure(name[..1].to_string(), *operator, operands), goal.span);
                Ok(rebuilt(":=", *operator, vec![variable(&new, pair.span), sum]))
            }
            ("<==", [pair, value]) => {
                let value = self.replace(value);
                let (_, new) = self.pair(pair, name)?;
                Ok(rebuilt("=", *operator, vec![variable(&new, pair.span), value]))
            }
            ("-" | "+", [_, _]) => {
                let (base, extras) = peel(goal);
                let base = self.replace(base);
                let mut added = Vec::new();
                for extra in extras {
                    match extra {
                        Extra::Pair(name, span) => {
                            let (old, new) = self.step(name);
                            added.extend([variable(&old, span), variable(&new, span)]);
                        }
                        Extra::Argument(argument) => added.push(self.replace(argument)),
                    }
                }
                with_arguments(&base, added)
            }
            (":", [module, inner]) => Ok(rebuilt(":", *operator, vec![module.clone(), self.goal(inner)?])),
            _ => Ok(self.replace(goal)),
        }
    }

    fn pair(&mut self, pair: &Tree, operator: &str) -> Expansion<(String, String)> {
        match &pair.kind {
            Kind::Variable(name) if name != "_" => Ok(self.step(name)),
            _ => Err(no_pair(pair.span, operator)),
        }
    }

    /// Every branch goes on from the present values; where one steps a pair, all must end with the same variable.
    fn conditional(&mut self, goal: &Tree) -> Expansion<Tree> {
        let before = self.present.clone();
        let mut branches = Vec::new();
        for branch in goal.operands(";") {
            self.present.clone_from(&before);
            let Some([condition, body]) = branch.as_structure::<2>("->") else {
                branches.push((branch, self.replace(branch), Vec::new(), before.clone()));
                continue;
            };
            let condition = self.replace(condition);
            let goals = self.goals(body)?;
            branches.push((branch, condition, goals, self.present.clone()));
        }
        let mut stepped: Vec<String> = branches
            .iter()
            .flat_map(|(_, _, _, after)| after.iter())
            .filter(|(name, value)| before.get(*name) != Some(value))
            .map(|(name, _)| name.clone())
            .collect();
        stepped.sort();
        stepped.dedup();
        let lasts: Vec<(String, String)> = stepped.into_iter().map(|name| (name.clone(), self.fresh(&name))).collect();
        let mut expanded = Vec::new();
        for (branch, condition, mut goals, after) in branches {
            let Some([_, body]) = branch.as_structure::<2>("->") else {
                expanded.push(condition);
                continue;
            };
            for (name, last) in &lasts {
                self.present.clone_from(&after);
                let unchanged = before.get(name) == after.get(name);
                if unchanged {
                    let present = self.present(name);
                    let equation = vec![variable(last, body.span), variable(&present, body.span)];
                    goals.insert(0, Tree::new(Kind::Structure("=".into(), body.span, equation), body.span));
                } else {
                    self.settle(&mut goals, name, last, body.span);
                }
            }
            let goals = conjunction(goals).unwrap_or_else(|| Tree::new(Kind::Atom("true".into()), body.span));
            let kind = Kind::Structure("->".into(), branch.span, vec![condition, goals]);
            expanded.push(Tree::new(kind, branch.span));
        }
        self.present = before;
        self.present.extend(lasts);
        Ok(joined(expanded, ";").expect("a conditional has a branch"))
    }

    /// A term with the present values of its pairs.
    fn replace(&self, tree: &Tree) -> Tree {
        if self.present.is_empty() {
            return tree.clone();
        }
        rename(tree, &|name| self.present.get(name).cloned())
    }
}

fn variable(name: &str, span: Span) -> Tree {
    Tree::new(Kind::Variable(name.to_string()), span)
}

fn rename(tree: &Tree, new_name: &impl Fn(&str) -> Option<String>) -> Tree {
    let all = |trees: &[Tree]| trees.iter().map(|tree| rename(tree, new_name)).collect();
    let kind = match &tree.kind {
        Kind::Variable(name) => Kind::Variable(new_name(name).unwrap_or_else(|| name.clone())),
        Kind::List(elements, rest) => {
            Kind::List(all(elements), rest.as_ref().map(|rest| Box::new(rename(rest, new_name))))
        }
        Kind::Structure(name, span, arguments) => Kind::Structure(name.clone(), *span, all(arguments)),
        Kind::Vector(elements) => Kind::Vector(all(elements)),
        other => other.clone(),
    };
    Tree::new(kind, tree.span)
}

/// A head or goal without what stands behind it, and that.
fn peel(tree: &Tree) -> (&Tree, Vec<Extra<'_>>) {
    let mut extras = Vec::new();
    let mut base = tree;
    loop {
        if let Some([inner, pair]) = base.as_structure::<2>("-") {
            match &pair.kind {
                Kind::Variable(name) if name != "_" => extras.push(Extra::Pair(name, pair.span)),
                // As in the manual's `inv(List)+Inv-[]`: what is no name is one argument.
                _ => extras.push(Extra::Argument(pair)),
            }
            base = inner;
        } else if let Some([inner, argument]) = base.as_structure::<2>("+") {
            extras.push(Extra::Argument(argument));
            base = inner;
        } else {
            extras.reverse();
            return (base, extras);
        }
    }
}

fn no_pair(span: Span, operator: &str) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error("pair", span, format!("{operator} needs the name of an argument pair, a variable, here"))
            .help("a single argument is added with +: goal+Argument"),
    )
}

/// A head or goal with further arguments.
fn with_arguments(base: &Tree, added: Vec<Tree>) -> Expansion<Tree> {
    if added.is_empty() {
        return Ok(base.clone());
    }
    let kind = match &base.kind {
        Kind::Atom(name) => Kind::Structure(name.clone(), base.span, added),
        Kind::Structure(name, span, arguments) if name == ":" && arguments.len() == 2 => {
            let inner = with_arguments(&arguments[1], added)?;
            Kind::Structure(name.clone(), *span, vec![arguments[0].clone(), inner])
        }
        Kind::Structure(name, span, arguments) => {
            Kind::Structure(name.clone(), *span, arguments.iter().cloned().chain(added).collect())
        }
        _ => {
            return Err(Box::new(
                Diagnostic::error("pair", base.span, "arguments can only be added to a name or a name with arguments")
                    .help("arithmetic is written X := A - B"),
            ));
        }
    };
    Ok(Tree::new(kind, base.span))
}

fn conjunction(goals: Vec<Tree>) -> Option<Tree> {
    joined(goals, ",")
}

fn joined(trees: Vec<Tree>, operator: &str) -> Option<Tree> {
    let mut trees = trees.into_iter().rev();
    let last = trees.next()?;
    Some(trees.fold(last, |right, left| {
        let span = left.span.to(right.span);
        Tree::new(Kind::Structure(operator.to_string(), span, vec![left, right]), span)
    }))
}
