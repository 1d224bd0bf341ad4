//! Random programs: most commit without a choice, end, and give values of many kinds; some wait for ever, some fail.
//!
//! Predicates have parameters of known kinds, so that most goals do something. Every predicate has one for fuel: a call of
//! an earlier predicate has less of it, a call of a later one as much, a call of the same predicate less or the rest of a
//! list; so every program ends. Bodies permute, duplicate and drop what they have, and stand in any order.

mod terms;

use std::fmt::Write as _;

/// A generator of random numbers (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    pub separator: Option<&'static str>,
    pub head: Vec<String>,
    pub guard: Vec<String>,
    pub body: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    pub name: String,
    pub clauses: Vec<Clause>,
}

/// A program; its last predicate is what a run starts with.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub predicates: Vec<Predicate>,
}

impl Program {
    /// The name of the predicate that a run starts with.
    pub fn start(&self) -> &str {
        &self.predicates.last().expect("a program has a predicate to start with").name
    }

    /// The clauses as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for predicate in &self.predicates {
            for clause in &predicate.clauses {
                if let Some(separator) = clause.separator {
                    let _ = writeln!(text, "{separator}.");
                }
                let list = |goals: &[String]| if goals.is_empty() { "true".to_string() } else { goals.join(", ") };
                let head = match clause.head.as_slice() {
                    [] => predicate.name.clone(),
                    arguments => format!("{}({})", predicate.name, arguments.join(", ")),
                };
                let _ = writeln!(text, "{head} :- {} | {}.", list(&clause.guard), list(&clause.body));
            }
        }
        text
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    /// Of integers.
    List,
    Tree,
    /// Of three integers.
    Vector,
    Float,
    Any,
}

const KINDS: [Kind; 10] = [
    Kind::Integer,
    Kind::Integer,
    Kind::Integer,
    Kind::List,
    Kind::List,
    Kind::Tree,
    Kind::Any,
    Kind::Any,
    Kind::Vector,
    Kind::Float,
];

struct Signature {
    name: String,
    /// Kind and whether it is a result.
    parameters: Vec<(Kind, bool)>,
    /// Which parameter is the fuel.
    fuel: usize,
}

/// What a clause has when its body is made.
#[derive(Default)]
struct Scope {
    variables: Vec<(String, Kind)>,
    /// Variables made so far.
    count: usize,
    fuel: Option<String>,
    less_fuel: Option<String>,
    /// A parameter, and a variable with the rest of the list in it.
    rest: Option<(usize, String)>,
    goals: Vec<String>,
}

impl Scope {
    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("V{}", self.count)
    }

    fn of(&self, kind: Kind) -> Vec<&String> {
        let fits = |own: Kind| own == kind || kind == Kind::Any;
        self.variables.iter().filter(|(_, own)| fits(*own)).map(|(name, _)| name).collect()
    }
}

struct Maker<'r> {
    random: &'r mut Random,
    signatures: Vec<Signature>,
    pes: usize,
}

/// A program for so many PEs; `tag` keeps its names apart from those of others. Programs of one seed with different
/// numbers of the goal have the same predicates but for that which they start with.
pub fn program(seed: u64, goal: u64, tag: &str, pes: usize) -> Program {
    let mut random = Random::new(seed);
    let count = 1 + random.below(4);
    let mut signatures = Vec::new();
    for index in 0..count {
        let inputs = match random.below(20) {
            0 => 8 + random.below(6),
            1..=3 => 0,
            _ => 1 + random.below(5),
        };
        let outputs = if random.chance(80) { 1 } else { 2 };
        let mut parameters = vec![(Kind::Integer, false)];
        parameters.extend((0..inputs).map(|_| (*random.pick(&KINDS), false)));
        parameters.extend((0..outputs).map(|_| (*random.pick(&KINDS), true)));
        // The fuel is marked while all are put into some order.
        let mut marked: Vec<(usize, (Kind, bool))> = parameters.into_iter().enumerate().collect();
        random.shuffle(&mut marked);
        let fuel = marked.iter().position(|(index, _)| *index == 0).expect("the fuel is among them");
        let parameters = marked.into_iter().map(|(_, parameter)| parameter).collect();
        signatures.push(Signature { name: format!("p{tag}x{index}"), parameters, fuel });
    }
    let mut maker = Maker { random: &mut random, signatures, pes };
    let mut predicates: Vec<Predicate> = (0..count).map(|index| maker.predicate(index)).collect();
    let mut random = Random::new(seed ^ (goal + 1).wrapping_mul(0xA24B_AED4_963E_E407));
    maker.random = &mut random;
    predicates.push(maker.query(&format!("q{tag}y{goal}")));
    Program { predicates }
}

impl Maker<'_> {
    fn query(&mut self, name: &str) -> Predicate {
        let mut scope = Scope::default();
        let mut late = Vec::new();
        let mut results = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let called = if self.random.chance(60) { 0 } else { self.random.below(self.signatures.len()) };
            let parameters = self.signatures[called].parameters.clone();
            let mut arguments = Vec::new();
            for (position, (kind, is_result)) in parameters.into_iter().enumerate() {
                if is_result {
                    let variable = scope.fresh();
                    results.push(variable.clone());
                    arguments.push(variable);
                    continue;
                }
                let term = if position == self.signatures[called].fuel {
                    (1 + self.random.below(6)).to_string()
                } else {
                    self.term(&mut scope, kind, 3)
                };
                if self.random.chance(35) {
                    let variable = scope.fresh();
                    late.push(format!("{variable} = {term}"));
                    if position != self.signatures[called].fuel {
                        scope.variables.push((variable.clone(), kind));
                    }
                    arguments.push(variable);
                } else {
                    arguments.push(term);
                }
            }
            let call = format!("{}({})", self.signatures[called].name, arguments.join(", "));
            let call = self.placed(call, None);
            scope.goals.push(call);
        }
        scope.goals.append(&mut late);
        if self.random.chance(50) {
            self.random.shuffle(&mut scope.goals);
        }
        let clause = Clause { separator: None, head: results, guard: Vec::new(), body: scope.goals };
        Predicate { name: name.to_string(), clauses: vec![clause] }
    }

    fn predicate(&mut self, index: usize) -> Predicate {
        let parameters = self.signatures[index].parameters.clone();
        let inputs: Vec<usize> = (0..parameters.len()).filter(|position| !parameters[*position].1).collect();
        let fuel = self.signatures[index].fuel;
        let mut clauses = Vec::new();
        if self.random.chance(12) {
            for _ in 0..1 + self.random.below(3) {
                let cases = inputs
                    .iter()
                    .filter(|_| self.random.chance(45))
                    .copied()
                    .collect::<Vec<_>>()
                    .into_iter()
                    .map(|position| {
                        let cases = self.cases(parameters[position].0, position == fuel);
                        (position, self.random.pick(&cases).clone())
                    })
                    .collect::<Vec<_>>();
                clauses.push(self.clause(index, &cases));
            }
        } else {
            let position = if self.random.chance(30) { fuel } else { *self.random.pick(&inputs) };
            for case in self.cases(parameters[position].0, position == fuel) {
                let mut cases = vec![(position, case)];
                // A second parameter that is looked into, for which some goals have nothing to offer.
                if self.random.chance(15) {
                    let other = *self.random.pick(&inputs);
                    if other != position {
                        let more = self.cases(parameters[other].0, other == fuel);
                        cases.push((other, self.random.pick(&more).clone()));
                    }
                }
                clauses.push(self.clause(index, &cases));
            }
            if self.random.chance(30) {
                self.random.shuffle(&mut clauses);
            }
        }
        if self.random.chance(80) {
            let separator = if self.random.chance(96) { "otherwise" } else { "alternatively" };
            clauses.push(self.last(index, separator));
        }
        Predicate { name: self.signatures[index].name.clone(), clauses }
    }

    /// A clause without a guard, for what no other takes.
    fn last(&mut self, index: usize, separator: &'static str) -> Clause {
        let parameters = self.signatures[index].parameters.clone();
        let mut scope = Scope::default();
        let head = self.head(&mut scope, &parameters, &[]);
        for (position, (kind, is_result)) in parameters.iter().enumerate() {
            if *is_result {
                self.produce(&mut scope, index, &head[position], *kind, 1);
            }
        }
        Clause { separator: Some(separator), head, guard: Vec::new(), body: scope.goals }
    }

    /// Patterns and tests that exclude each other, for a parameter of this kind: pattern, tests, and what the pattern names.
    /// `P` stands for the parameter itself.
    fn cases(&mut self, kind: Kind, fuel: bool) -> Vec<Case> {
        let case = |pattern: &str, tests: &[&str], names: &[(&str, Kind)]| Case {
            pattern: pattern.to_string(),
            tests: tests.iter().map(ToString::to_string).collect(),
            names: names.iter().map(|(name, kind)| (name.to_string(), *kind)).collect(),
        };
        if fuel {
            return match self.random.below(3) {
                0 => vec![case("0", &[], &[]), case("P", &["P > 0"], &[])],
                1 => vec![case("P", &["P > 0"], &[]), case("P", &["P =< 0"], &[])],
                _ => vec![case("P", &["P > 1"], &[]), case("P", &["P =:= 1"], &[]), case("P", &["P < 1"], &[])],
            };
        }
        match (kind, self.random.below(4)) {
            (Kind::Integer, 0) => {
                let count = 2 + self.random.below(4);
                let mut literals = ["0", "1", "2", "3", "5", "8", "-1", "1152921504606846975"];
                self.random.shuffle(&mut literals);
                literals[..count].iter().map(|literal| case(literal, &[], &[])).collect()
            }
            (Kind::Integer, 1) => vec![case("P", &["P mod 2 =:= 0"], &[]), case("P", &["P mod 2 =\\= 0"], &[])],
            (Kind::Integer, 2) => {
                let cut = self.random.below(6);
                let (low, high) = (format!("P < {cut}"), format!("P >= {cut}"));
                vec![case("P", &[&low], &[]), case("P", &[&high], &[])]
            }
            (Kind::Integer, _) => {
                let (one, other) = (self.random.below(4), 4 + self.random.below(5));
                let tests =
                    [format!("P < {one}"), format!("P >= {one}"), format!("P =< {other}"), format!("P > {other}")];
                vec![
                    case("P", &[&tests[0]], &[]),
                    case("P", &[&tests[1], &tests[2]], &[]),
                    case("P", &[&tests[3]], &[]),
                ]
            }
            (Kind::List, 0) => vec![
                case("[]", &[], &[]),
                case("[H]", &[], &[("H", Kind::Integer)]),
                case("[H,K|T]", &[], &[("H", Kind::Integer), ("K", Kind::Integer), ("T", Kind::List)]),
            ],
            (Kind::List, 1) => vec![
                case("[]", &[], &[]),
                case("[0|T]", &[], &[("T", Kind::List)]),
                case("[H|T]", &["H =\\= 0"], &[("H", Kind::Integer), ("T", Kind::List)]),
            ],
            (Kind::List, _) => {
                vec![case("[]", &[], &[]), case("[H|T]", &[], &[("H", Kind::Integer), ("T", Kind::List)])]
            }
            (Kind::Tree, 0) => vec![case("leaf", &[], &[]), case("P", &["structure(P)"], &[])],
            (Kind::Tree, _) => vec![
                case("leaf", &[], &[]),
                case("n(I,T)", &[], &[("I", Kind::Integer), ("T", Kind::Tree)]),
                case("b(L,R)", &[], &[("L", Kind::Tree), ("R", Kind::Tree)]),
                case("l(X)", &[], &[("X", Kind::List)]),
            ],
            (Kind::Vector, 0) => vec![
                case("P", &["vector_element(P, 1, E)", "E > 2"], &[("E", Kind::Integer)]),
                case("P", &["vector_element(P, 1, E)", "E =< 2"], &[("E", Kind::Integer)]),
            ],
            (Kind::Vector, 1) => vec![case("{1,Y,Z}", &[], &[("Y", Kind::Integer), ("Z", Kind::Integer)])],
            (Kind::Vector, _) => {
                vec![case("{X,Y,Z}", &[], &[("X", Kind::Integer), ("Y", Kind::Integer), ("Z", Kind::Integer)])]
            }
            (Kind::Float, 0) => vec![case("2.5", &[], &[]), case("P", &["P $=\\= 2.5"], &[])],
            (Kind::Float, _) => vec![case("P", &["P $< 1.5"], &[]), case("P", &["P $>= 1.5"], &[])],
            (Kind::Any, 0) => vec![
                case("P", &["integer(P)"], &[("P", Kind::Integer)]),
                case("P", &["atom(P)"], &[]),
                case("P", &["list(P)"], &[]),
                case("P", &["structure(P)"], &[]),
                case("P", &["vector(P)"], &[]),
                case("P", &["float(P)"], &[("P", Kind::Float)]),
                case("P", &["string(P)"], &[]),
            ],
            (Kind::Any, 1) => vec![case("P", &["atomic(P)"], &[]), case("P", &["list(P)"], &[])],
            (Kind::Any, 2) => vec![
                case("a", &[], &[]),
                case("7", &[], &[]),
                case("f(X)", &[], &[("X", Kind::Any)]),
                case("[X|Y]", &[], &[("X", Kind::Any), ("Y", Kind::Any)]),
                case("{X,Y}", &[], &[("X", Kind::Any), ("Y", Kind::Any)]),
            ],
            (Kind::Any, _) => vec![
                case("\"str\"", &[], &[]),
                case("2.5", &[], &[]),
                case("b", &[], &[]),
                case("P", &["functor(P, f, A)"], &[("A", Kind::Integer)]),
            ],
        }
    }

    fn head(&mut self, scope: &mut Scope, parameters: &[(Kind, bool)], cases: &[(usize, Case)]) -> Vec<String> {
        let mut head = Vec::new();
        for (position, (kind, is_result)) in parameters.iter().enumerate() {
            let case = cases.iter().find(|(at, _)| *at == position).map(|(_, case)| case);
            let mut name = format!("A{position}");
            match case {
                Some(case) if case.pattern != "P" => {
                    head.push(case.renamed(position).pattern);
                    continue;
                }
                None if !is_result && self.random.chance(5) => {
                    head.push("_".to_string());
                    continue;
                }
                None if !is_result && *kind == Kind::Integer && self.random.chance(2) => {
                    // The same variable twice: a test.
                    if let Some(other) = scope.of(Kind::Integer).first() {
                        name = other.to_string();
                    }
                }
                _ => {}
            }
            head.push(name.clone());
            if !is_result {
                scope.variables.push((name, *kind));
            }
        }
        for (position, case) in cases {
            let names = case.renamed(*position).names;
            scope.variables.extend(names);
        }
        head
    }

    fn clause(&mut self, index: usize, cases: &[(usize, Case)]) -> Clause {
        let parameters = self.signatures[index].parameters.clone();
        let fuel = self.signatures[index].fuel;
        let mut scope = Scope::default();
        let head = self.head(&mut scope, &parameters, cases);
        let mut guard: Vec<String> = Vec::new();
        for (position, case) in cases {
            let case = case.renamed(*position);
            guard.extend(case.tests);
            if let Some((name, _)) = case.names.iter().find(|(name, kind)| name.starts_with('T') && *kind == Kind::List)
            {
                scope.rest = Some((*position, name.clone()));
            }
        }
        let fuel_name = format!("A{fuel}");
        if head[fuel] == fuel_name {
            scope.fuel = Some(fuel_name.clone());
            let positive =
                guard.iter().any(|test| test == &format!("{fuel_name} > 0") || test == &format!("{fuel_name} > 1"));
            if positive || self.random.chance(60) {
                if !positive {
                    guard.push(format!("{fuel_name} > 0"));
                }
                let less = format!("L{index}");
                if self.random.chance(60) {
                    guard.push(format!("{less} := {fuel_name} - 1"));
                    scope.variables.push((less.clone(), Kind::Integer));
                } else {
                    scope.goals.push(format!("{less} := {fuel_name} - 1"));
                }
                scope.less_fuel = Some(less);
            }
        }
        while self.random.chance(25) {
            let test = self.test(&mut scope);
            guard.push(test);
        }
        for (position, (kind, is_result)) in parameters.iter().enumerate() {
            if *is_result {
                let name = head[position].clone();
                let depth = if scope.less_fuel.is_some() { 3 } else { 2 };
                self.produce(&mut scope, index, &name, *kind, depth);
            }
        }
        if self.random.chance(4) && !scope.variables.is_empty() {
            let written = self.term(&mut scope, Kind::Any, 1);
            scope.goals.push(format!("write({written})"));
        }
        if self.random.chance(60) {
            self.random.shuffle(&mut scope.goals);
        }
        Clause { separator: None, head, guard, body: scope.goals }
    }
}

/// One of several cases that a parameter is told by.
#[derive(Clone)]
struct Case {
    pattern: String,
    tests: Vec<String>,
    names: Vec<(String, Kind)>,
}

impl Case {
    /// With variables of its own for a position; `P` becomes the parameter's.
    fn renamed(&self, position: usize) -> Case {
        let rename = |text: &str| {
            let mut renamed = String::new();
            let mut quoted = false;
            let mut before = ' ';
            for character in text.chars() {
                quoted ^= character == '"';
                let alone = !before.is_alphanumeric();
                if character == 'P' && alone && !quoted {
                    let _ = write!(renamed, "A{position}");
                } else if character.is_ascii_uppercase() && alone && !quoted {
                    let _ = write!(renamed, "{character}{position}c");
                } else {
                    renamed.push(character);
                }
                before = character;
            }
            renamed
        };
        Case {
            pattern: if self.pattern == "P" { "P".to_string() } else { rename(&self.pattern) },
            tests: self.tests.iter().map(|test| rename(test)).collect(),
            names: self.names.iter().map(|(name, kind)| (rename(name), *kind)).collect(),
        }
    }
}
