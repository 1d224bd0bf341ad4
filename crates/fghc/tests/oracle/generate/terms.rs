//! Terms, tests and goals of random programs.

use super::{Kind, Maker, Scope};

impl Maker<'_> {
    /// A term of a kind, mostly of what there is.
    pub(super) fn term(&mut self, scope: &mut Scope, kind: Kind, depth: usize) -> String {
        if self.random.chance(2) && depth < 3 {
            // A variable that nothing binds: whoever looks at it waits for ever.
            return if self.random.chance(50) { "_".to_string() } else { scope.fresh() };
        }
        let known: Vec<String> = scope.of(kind).into_iter().cloned().collect();
        if !known.is_empty() && self.random.chance(if depth == 0 { 90 } else { 65 }) {
            return self.random.pick(&known).clone();
        }
        let deeper = depth.saturating_sub(1);
        match kind {
            Kind::Integer => self.integer(),
            Kind::Float => self.random.pick(&["0.5", "1.5", "2.5", "-3.25", "1.0e10"]).to_string(),
            Kind::List => match self.random.below(if depth == 0 { 2 } else { 5 }) {
                0 => "[]".to_string(),
                1 => format!("[{}]", self.term(scope, Kind::Integer, 0)),
                2 => format!("[{}|{}]", self.term(scope, Kind::Integer, 0), self.term(scope, Kind::List, deeper)),
                3 => format!("[{},{}]", self.term(scope, Kind::Integer, 0), self.term(scope, Kind::Integer, 0)),
                _ => {
                    let elements: Vec<String> =
                        (0..3 + self.random.below(3)).map(|_| self.term(scope, Kind::Integer, 0)).collect();
                    format!("[{}]", elements.join(","))
                }
            },
            Kind::Tree => match self.random.below(if depth == 0 { 1 } else { 4 }) {
                0 => "leaf".to_string(),
                1 => format!("n({},{})", self.term(scope, Kind::Integer, 0), self.term(scope, Kind::Tree, deeper)),
                2 => format!("b({},{})", self.term(scope, Kind::Tree, deeper), self.term(scope, Kind::Tree, deeper)),
                _ => format!("l({})", self.term(scope, Kind::List, deeper)),
            },
            Kind::Vector => {
                let elements: Vec<String> = (0..3).map(|_| self.term(scope, Kind::Integer, 0)).collect();
                format!("{{{}}}", elements.join(","))
            }
            Kind::Any => match self.random.below(if depth == 0 { 7 } else { 11 }) {
                0 => "a".to_string(),
                1 => "b".to_string(),
                2 => "7".to_string(),
                3 => "2.5".to_string(),
                4 => "\"str\"".to_string(),
                5 => "[]".to_string(),
                6 => "f".to_string(),
                7 => format!("f({})", self.term(scope, Kind::Any, deeper)),
                8 => format!("g({},{})", self.term(scope, Kind::Any, deeper), self.term(scope, Kind::Any, deeper)),
                9 => format!("[{}|{}]", self.term(scope, Kind::Any, deeper), self.term(scope, Kind::Any, deeper)),
                _ => format!("{{{},{}}}", self.term(scope, Kind::Any, deeper), self.term(scope, Kind::Any, deeper)),
            },
        }
    }

    fn integer(&mut self) -> String {
        match self.random.below(60) {
            0 => "1152921504606846975".to_string(),
            1 => "-1152921504606846976".to_string(),
            2 => "40000".to_string(),
            3 => "-32769".to_string(),
            4..=8 => format!("-{}", 1 + self.random.below(4)),
            _ => self.random.below(10).to_string(),
        }
    }

    /// An expression of integers.
    fn expression(&mut self, scope: &mut Scope, depth: usize) -> String {
        if depth == 0 || self.random.chance(30) {
            let term = self.term(scope, Kind::Integer, 0);
            // A variable that nothing binds would only wait; there are enough of those.
            return if term.starts_with(['_', '-']) { "3".to_string() } else { term };
        }
        let left = self.expression(scope, depth - 1);
        match self.random.below(12) {
            0 => format!("({left} mod {})", 2 + self.random.below(4)),
            1 => format!("({left} / {})", 1 + self.random.below(4)),
            2 => format!("(- {left})"),
            3 => format!("(\\ {left})"),
            4 => format!("({left} << {})", self.random.below(4)),
            5 => format!("({left} >> {})", self.random.below(70)),
            6 => format!("({left} / {})", self.expression(scope, 0)),
            other => {
                let sign = ["+", "-", "*", "/\\", "\\/", "xor"][(other + self.random.below(4)) % 6];
                format!("({left} {sign} {})", self.expression(scope, depth - 1))
            }
        }
    }

    fn comparison(&mut self) -> &'static str {
        ["<", "=<", ">", ">=", "=:=", "=\\="][self.random.below(6)]
    }

    fn known(&mut self, scope: &Scope, kind: Kind) -> Option<String> {
        let known = scope.of(kind);
        if known.is_empty() { None } else { Some((*self.random.pick(&known)).clone()) }
    }

    /// A test of what there is; some make something.
    pub(super) fn test(&mut self, scope: &mut Scope) -> String {
        let integer = self.known(scope, Kind::Integer);
        let any = self.known(scope, Kind::Any);
        let (Some(integer), Some(any)) = (integer.or_else(|| any.clone()), any.clone()) else {
            return "true".to_string();
        };
        let other = self.known(scope, Kind::Any).unwrap_or(any.clone());
        match self.random.below(17) {
            0 | 1 => format!("{integer} {} {}", self.comparison(), self.random.below(8)),
            2 => {
                let right = self.known(scope, Kind::Integer).unwrap_or_else(|| "1".to_string());
                format!("{integer} {} {right}", self.comparison())
            }
            3 => format!("{integer} * 2 + 1 {} {}", self.comparison(), self.random.below(12)),
            4 => {
                let variable = scope.fresh();
                scope.variables.push((variable.clone(), Kind::Integer));
                let sign = self.random.pick(&["+", "-", "*", "mod", "/", "/\\", "xor"]).to_string();
                format!("{variable} := {integer} {sign} {}", 1 + self.random.below(5))
            }
            5 => format!("wait({any})"),
            6 => format!(
                "{}({any})",
                self.random.pick(&["integer", "atom", "list", "atomic", "structure", "vector", "float"])
            ),
            7 => format!("{any} \\= {other}"),
            8 => format!("{any} @{} {other}", self.random.pick(&["<", "=<", ">", ">="])),
            9 => {
                let variable = scope.fresh();
                scope.variables.push((variable.clone(), Kind::Integer));
                format!("compare({any}, {other}, {variable})")
            }
            10 => format!("{any} = {other}"),
            11 => {
                let variable = scope.fresh();
                scope.variables.push((variable.clone(), Kind::Any));
                format!("{variable} = h({any},{other})")
            }
            12 => {
                let (name, count) = (scope.fresh(), scope.fresh());
                scope.variables.push((name.clone(), Kind::Any));
                scope.variables.push((count.clone(), Kind::Integer));
                format!("functor({any}, {name}, {count})")
            }
            13 => {
                let variable = scope.fresh();
                scope.variables.push((variable.clone(), Kind::Any));
                format!("arg(1, {any}, {variable})")
            }
            14 => format!("({integer} {} {} ; {any} = a)", self.comparison(), self.random.below(6)),
            15 => match self.known(scope, Kind::Vector) {
                Some(vector) => {
                    let variable = scope.fresh();
                    scope.variables.push((variable.clone(), Kind::Integer));
                    format!("vector_element({vector}, {}, {variable})", self.random.below(3))
                }
                None => format!("{integer} = {}", self.random.below(5)),
            },
            _ => match self.known(scope, Kind::Float) {
                Some(float) => {
                    let variable = scope.fresh();
                    scope.variables.push((variable.clone(), Kind::Float));
                    format!("{variable} $:= {float} * 2.0 + sqrt(0.25)")
                }
                None => format!("{any} = g(_,_)"),
            },
        }
    }

    /// Goals that give a variable a value of a kind.
    pub(super) fn produce(&mut self, scope: &mut Scope, index: usize, name: &str, kind: Kind, depth: usize) {
        let calls = if scope.less_fuel.is_some() || scope.rest.is_some() { 75 } else { 55 };
        if depth > 0 && self.random.chance(calls) && self.call_for(scope, index, name, kind) {
            return;
        }
        match (kind, self.random.below(10)) {
            (Kind::Integer, 0..=3) => {
                let expression = self.expression(scope, 2);
                scope.goals.push(format!("{name} := {expression}"));
            }
            (Kind::Integer, 4) => {
                let vector = self.term(scope, Kind::Vector, 1);
                let at = self.random.below(3);
                scope.goals.push(format!("vector_element({vector}, {at}, {name})"));
            }
            (Kind::Integer, 5) => {
                let (left, right) = (self.term(scope, Kind::Any, 1), self.term(scope, Kind::Any, 1));
                scope.goals.push(format!("compare({left}, {right}, {name})"));
            }
            (Kind::Float, 0..=3) => {
                let (float, integer) = (self.term(scope, Kind::Float, 0), self.expression(scope, 1));
                if float.starts_with(['_', '-']) {
                    scope.goals.push(format!("{name} $:= float({integer}) * 0.5"));
                } else {
                    scope.goals.push(format!("{name} $:= {float} + float({integer})"));
                }
            }
            (Kind::List, 0..=2) if depth > 0 => {
                let (rest, element) = (scope.fresh(), self.term(scope, Kind::Integer, 0));
                scope.goals.push(format!("{name} = [{element}|{rest}]"));
                self.produce(scope, index, &rest, Kind::List, depth - 1);
                scope.variables.push((rest, Kind::List));
            }
            (Kind::Tree, 0..=2) if depth > 0 => {
                let (part, other) = (scope.fresh(), self.term(scope, Kind::Tree, 1));
                scope.goals.push(format!("{name} = b({part},{other})"));
                self.produce(scope, index, &part, Kind::Tree, depth - 1);
                scope.variables.push((part, Kind::Tree));
            }
            (Kind::Vector, 0..=2) => {
                let (vector, element) = (self.term(scope, Kind::Vector, 1), self.term(scope, Kind::Integer, 0));
                let at = self.random.below(3);
                scope.goals.push(format!("set_vector_element({vector}, {at}, {element}, {name})"));
            }
            (Kind::Vector, 3) => {
                let elements: Vec<String> = (0..3).map(|_| self.term(scope, Kind::Integer, 0)).collect();
                scope.goals.push(format!("new_vector({name}, [{}])", elements.join(",")));
            }
            (Kind::Any, 0..=4) => self.produce_any(scope, name),
            (_, 8) if depth > 0 => {
                let alias = scope.fresh();
                scope.goals.push(format!("{name} = {alias}"));
                self.produce(scope, index, &alias, kind, depth - 1);
                scope.variables.push((alias, kind));
            }
            (_, 9) if depth > 0 && !scope.variables.is_empty() => {
                let test = {
                    // What the test makes is not known outside.
                    let outside = scope.variables.clone();
                    let test = self.test(scope);
                    scope.variables = outside;
                    test
                };
                let (one, other) = (self.term(scope, kind, 2), self.term(scope, kind, 2));
                scope.goals.push(format!("( {test} -> {name} = {one} ; otherwise ; true -> {name} = {other} )"));
            }
            _ => {
                let term = self.term(scope, kind, 3);
                scope.goals.push(format!("{name} = {term}"));
            }
        }
    }

    /// Builtins that give values of several kinds.
    fn produce_any(&mut self, scope: &mut Scope, name: &str) {
        let goal = match self.random.below(12) {
            0 => format!("functor({}, {name}, _)", self.term(scope, Kind::Any, 2)),
            1 => format!("functor({}, _, {name})", self.term(scope, Kind::Tree, 2)),
            2 => format!(
                "setarg(1, f({}, b), {}, {name})",
                self.term(scope, Kind::Any, 1),
                self.term(scope, Kind::Any, 1)
            ),
            3 => format!("arg(2, g(a, {}), {name})", self.term(scope, Kind::Any, 1)),
            4 => format!("{name} =.. [f, {}, {}]", self.term(scope, Kind::Any, 1), self.term(scope, Kind::Any, 1)),
            5 => format!("new_string({name}, [104, 105, 106], 8)"),
            6 => {
                let text = scope.fresh();
                scope.goals.push(format!("get_atom_string(foo, {text})"));
                format!("generic:join({text}, \"ab\", {name})")
            }
            7 => format!("generic:split({}, 1, {name}, _)", self.term(scope, Kind::Vector, 1)),
            8 => format!("make_atom(\"made\", {name})"),
            9 => format!("new_functor({name}, k, 2)"),
            10 => format!(
                "generic:set_element({}, 2, {}, _, {name})",
                self.term(scope, Kind::Vector, 1),
                self.term(scope, Kind::Any, 1)
            ),
            _ => format!("search_character(\"hello\", 0, 5, #\"l\", {name})"),
        };
        scope.goals.push(goal);
    }

    /// A call that gives a variable a value of a kind; false where no predicate may be called for it.
    fn call_for(&mut self, scope: &mut Scope, index: usize, name: &str, kind: Kind) -> bool {
        let gives = |parameters: &[(Kind, bool)]| parameters.contains(&(kind, true)) || kind == Kind::Any;
        let (all, less) = (scope.fuel.is_some(), scope.less_fuel.is_some());
        let rest = scope.rest.is_some();
        let candidates: Vec<usize> = (0..self.signatures.len())
            .filter(|other| gives(&self.signatures[*other].parameters))
            .filter(|other| *other > index || less || (*other == index && all && rest))
            .collect();
        if candidates.is_empty() {
            return false;
        }
        let own = candidates.contains(&index) && self.random.chance(50);
        let called = if own { index } else { *self.random.pick(&candidates) };
        let parameters = self.signatures[called].parameters.clone();
        let wanted: Vec<usize> = (0..parameters.len())
            .filter(|at| parameters[*at].1 && (kind == Kind::Any || parameters[*at].0 == kind))
            .collect();
        let wanted = *self.random.pick(&wanted);
        // By the rest of a list, or with less fuel.
        let by_rest = called == index && rest && all && (!less || self.random.chance(70));
        let (mut arguments, mut results) = (Vec::new(), Vec::new());
        for (position, (kind, is_result)) in parameters.iter().enumerate() {
            arguments.push(if position == wanted {
                name.to_string()
            } else if *is_result {
                let result = scope.fresh();
                results.push((result.clone(), *kind));
                result
            } else if position == self.signatures[called].fuel {
                match (&scope.fuel, &scope.less_fuel) {
                    (Some(fuel), _) if by_rest => fuel.clone(),
                    (Some(fuel), _) if called > index && self.random.chance(50) => fuel.clone(),
                    (_, Some(less)) => less.clone(),
                    _ => "0".to_string(),
                }
            } else if let (true, Some((at, rest))) = (by_rest, &scope.rest)
                && *at == position
            {
                rest.clone()
            } else {
                let depth = if self.random.chance(20) { 2 } else { 0 };
                self.term(scope, *kind, depth)
            });
        }
        let predicate = self.signatures[called].name.clone();
        let goal = match self.random.below(40) {
            0 => {
                let result = scope.fresh();
                results.push((result.clone(), Kind::Any));
                format!("call({predicate}({}), {result}, _)", arguments.join(", "))
            }
            1 => format!("apply(predicate#({predicate}/{}), {{{}}})", arguments.len(), arguments.join(", ")),
            2 => {
                let (goal, result) = (scope.fresh(), scope.fresh());
                results.push((result.clone(), Kind::Any));
                scope.goals.push(format!("{goal} = {predicate}({})", arguments.join(", ")));
                format!("call({goal}, {result}, [])")
            }
            _ => {
                let fuel = scope.less_fuel.clone().or_else(|| scope.fuel.clone());
                self.placed(format!("{predicate}({})", arguments.join(", ")), fuel)
            }
        };
        scope.goals.push(goal);
        scope.variables.extend(results);
        true
    }

    /// A goal with a pragma, or without.
    pub(super) fn placed(&mut self, goal: String, fuel: Option<String>) -> String {
        if self.pes > 1 && self.random.chance(45) {
            return match fuel {
                Some(fuel) if self.random.chance(50) => {
                    format!("{goal}@node((({fuel} mod {0}) + {0}) mod {0})", self.pes)
                }
                _ => format!("{goal}@node({})", self.random.below(self.pes)),
            };
        }
        match self.random.below(40) {
            0 => format!("{goal}@priority({})", self.random.below(4)),
            1 => format!("{goal}@lower_priority"),
            2 => format!("{goal}@node(0)"),
            _ => goal,
        }
    }
}
