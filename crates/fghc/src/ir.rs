//! The checked, normalised program as data: what the front end hands to an engine.
//!
//! The normal form takes every decision that can be taken without running:
//!
//! - Macros are expanded. Arithmetic stands as [`Expression`] trees; an integer and a float operation are different
//!   operations (`:=` and `$:=`), so that neither is chosen at run time.
//! - A head is linear: no variable occurs twice in it. A second occurrence has become a passive unification in the guard.
//! - Only calls of predicates carry pragmas, and only calls of predicates stand under a metacall: any other goal with a
//!   pragma, a conjunction and a conditional have become a predicate of their own ([`Origin::Expanded`]).
//! - `true` is gone, and a guard goal that writes has moved to the front of the body: it happens at commitment.
//! - Names are resolved: a call holds a [`PredicateId`], an operation a [`GuardBuiltin`] or [`BodyBuiltin`].
//!
//! What an engine must keep:
//!
//! - **Suspension.** A goal that no clause of a group can take, while some clause cannot be decided, waits for *all* the
//!   unbound variables that the undecided clauses met. See [`Group`] for `otherwise` and `alternatively`.
//! - **Guards** are tested in the order written and never bind what was not made in the clause. A wrong type of an operand,
//!   an index out of range and a division by zero make a guard goal fail, the same in a body are errors. An integer result
//!   outside [`MIN_INTEGER`]`..=`[`MAX_INTEGER`] is an error in both.
//! - **Reductions.** One for each commitment to a clause of a predicate; guard goals, builtins, `=` and `:=` count nothing.

mod atom;
mod print;

pub use crate::builtins::{BodyBuiltin, GuardBuiltin};
pub use atom::{AtomId, AtomTable, atoms};
pub use print::{ClausePrinter, quote_atom, quote_string, write_float};

use rustc_hash::FxHashMap;

/// The smallest integer of the language: integers have 61 bits, so that a value and its tag share a 64-bit word.
pub const MIN_INTEGER: i64 = -(1 << 60);
/// The largest integer of the language.
pub const MAX_INTEGER: i64 = (1 << 60) - 1;

/// A stretch of one source file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file, an index into [`Program::sources`].
    pub source: u32,
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From the start of `self` to the end of `other`, which is in the same file.
    pub fn to(self, other: Span) -> Span {
        Span { source: self.source, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A source file.
#[derive(Clone, Debug)]
pub struct Source {
    /// As the user named it.
    pub name: String,
    /// Its whole text.
    pub text: String,
}

impl Source {
    /// Line and column, from 1, of a byte; the column counts characters.
    pub fn line_and_column(&self, byte: u32) -> (usize, usize) {
        let mut byte = (byte as usize).min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &self.text[..byte];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.bytes().filter(|&byte| byte == b'\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// Where the lines of a text begin, for whoever asks for many places.
pub struct Lines(Vec<usize>);

impl Source {
    /// Where its lines begin.
    pub fn lines(&self) -> Lines {
        let newlines = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines(std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect())
    }
}

impl Lines {
    /// As [`Source::line_and_column`] of the source that these are the lines of.
    pub fn line_and_column(&self, source: &Source, byte: u32) -> (usize, usize) {
        let mut byte = (byte as usize).min(source.text.len());
        while !source.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let line = self.0.partition_point(|&start| start <= byte);
        (line, source.text[self.0[line - 1]..byte].chars().count() + 1)
    }
}

/// A variable of a clause, an index into [`Clause::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableId(pub u32);

/// What is known of a variable beside its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// As written; variables that macro expansion made have names that start with `_`.
    pub name: Box<str>,
    /// Where it first occurs, or the macro that made it.
    pub span: Span,
}

/// A value, or a pattern for one, as it stands in a clause.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A variable of the clause.
    Variable(VariableId),
    /// An integer between [`MIN_INTEGER`] and [`MAX_INTEGER`].
    Integer(i64),
    /// A 64-bit floating-point number.
    Float(f64),
    /// An atom, the empty list [`atoms::NIL`] included.
    Atom(AtomId),
    /// A string of bytes.
    String(Box<[u8]>),
    /// At least one element, and what follows the last: `[A, B|T]`; what follows is no list cell itself.
    List(Box<[Term]>, Box<Term>),
    /// A name with at least one argument; never `'.'/2`, which is [`Term::List`].
    Structure(AtomId, Box<[Term]>),
    /// Elements from index 0.
    Vector(Box<[Term]>),
    /// A predicate as a value: `predicate#(module:name/arity)`.
    Predicate(PredicateId),
}

impl Term {
    /// Calls `visit` for every variable occurrence, from left to right.
    pub fn for_each_variable(&self, visit: &mut impl FnMut(VariableId)) {
        match self {
            Term::Variable(variable) => visit(*variable),
            Term::List(elements, rest) => {
                elements.iter().for_each(|element| element.for_each_variable(visit));
                rest.for_each_variable(visit);
            }
            Term::Structure(_, arguments) | Term::Vector(arguments) => {
                arguments.iter().for_each(|argument| argument.for_each_variable(visit));
            }
            Term::Integer(_) | Term::Float(_) | Term::Atom(_) | Term::String(_) | Term::Predicate(_) => {}
        }
    }
}

/// Whether an operation is of integers or of floats; operands of the other kind are type errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// 61-bit integers.
    Integer,
    /// 64-bit floating-point numbers.
    Float,
}

/// Operations with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOperation {
    /// `- X`, both kinds.
    Negate,
    /// `\ X`, integers: all bits inverted.
    Complement,
    /// `int(X)`: the operand is a float, the result an integer, cut towards zero.
    FloatToInteger,
    /// `float(X)`: the operand is an integer, the result a float.
    IntegerToFloat,
    /// `sin(X)`; this and those below are of floats.
    Sine,
    /// `cos(X)`.
    Cosine,
    /// `tan(X)`.
    Tangent,
    /// `asin(X)`.
    ArcSine,
    /// `acos(X)`.
    ArcCosine,
    /// `atan(X)`.
    ArcTangent,
    /// `sinh(X)`.
    HyperbolicSine,
    /// `cosh(X)`.
    HyperbolicCosine,
    /// `tanh(X)`.
    HyperbolicTangent,
    /// `exp(X)`.
    Exponential,
    /// `log(X)`, to base e.
    Logarithm,
    /// `sqrt(X)`.
    SquareRoot,
    /// `ceil(X)`.
    Ceiling,
    /// `floor(X)`.
    Floor,
}

/// Operations with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOperation {
    /// `X + Y`, both kinds.
    Add,
    /// `X - Y`, both kinds.
    Subtract,
    /// `X * Y`, both kinds.
    Multiply,
    /// `X / Y`: integers are cut towards zero.
    Divide,
    /// `X mod Y`, integers: what remains of the division cut towards zero, so it has the sign of `X`.
    Modulo,
    /// `X /\ Y`, integers.
    And,
    /// `X \/ Y`, integers.
    Or,
    /// `X xor Y`, integers.
    ExclusiveOr,
    /// `X << Y`, integers; 0 <= Y, what leaves the 61 bits is an overflow.
    ShiftLeft,
    /// `X >> Y`, integers; 0 <= Y, the sign is kept.
    ShiftRight,
    /// `pow(X, Y)`, floats.
    Power,
}

/// An arithmetic expression; operands are variables and numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// Waits until the variable is bound.
    Variable(VariableId),
    /// An integer constant.
    Integer(i64),
    /// A float constant.
    Float(f64),
    /// One operand.
    Unary(Number, UnaryOperation, Box<Expression>),
    /// Two operands.
    Binary(Number, BinaryOperation, Box<(Expression, Expression)>),
}

impl Expression {
    /// Calls `visit` for every variable occurrence, from left to right.
    pub fn for_each_variable(&self, visit: &mut impl FnMut(VariableId)) {
        match self {
            Expression::Variable(variable) => visit(*variable),
            Expression::Integer(_) | Expression::Float(_) => {}
            Expression::Unary(_, _, operand) => operand.for_each_variable(visit),
            Expression::Binary(_, _, operands) => {
                operands.0.for_each_variable(visit);
                operands.1.for_each_variable(visit);
            }
        }
    }
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<` and `$<`.
    Less,
    /// `=<` and `$=<`.
    LessOrEqual,
    /// `>` and `$>`.
    Greater,
    /// `>=` and `$>=`.
    GreaterOrEqual,
    /// `=:=` and `$=:=`.
    Equal,
    /// `=\=` and `$=\=`.
    NotEqual,
}

/// A goal of a guard, tested before commitment.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardGoal {
    /// What is tested.
    pub test: Test,
    /// Where it stands.
    pub span: Span,
}

/// What a guard goal tests.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Passive unification: binds only variables that have no value from head or earlier guard goals; waits where a
    /// variable of the caller would have to be bound.
    Unify(Term, Term),
    /// Both sides are evaluated, then compared.
    Compare(Number, Comparison, Expression, Expression),
    /// `X := E` where `X` occurs here first: gives it the value.
    Assign(VariableId, Number, Expression),
    /// An operation of the catalogue, with its inputs and outputs in the order of [`GuardBuiltin::modes`].
    Builtin(GuardBuiltin, Box<[Term]>),
    /// True when all goals of one of the alternatives are; undecided when none is true and one is undecided.
    Any(Box<[Box<[GuardGoal]>]>),
}

/// A goal of a body, started at commitment in any order.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyGoal {
    /// What is done.
    pub goal: Goal,
    /// Where it stands, its pragma included.
    pub span: Span,
}

/// What a body goal does.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// Active unification.
    Unify(Term, Term),
    /// Waits for every operand, then unifies the target with the value.
    Assign(Term, Number, Expression),
    /// A call of a predicate, here or elsewhere.
    Call(Call, Pragma),
    /// An operation of the catalogue: waits for its inputs, then unifies its outputs.
    Builtin(BodyBuiltin, Box<[Term]>),
    /// `call(Goal, Result, Control)`.
    Metacall(Box<Metacall>),
}

/// A predicate with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which predicate.
    pub predicate: PredicateId,
    /// As many as its arity.
    pub arguments: Box<[Term]>,
}

/// `call(Goal, Result, Control)`: runs the goal under a node of the AND-tree of its own (paper, section 3.3).
#[derive(Clone, Debug, PartialEq)]
pub struct Metacall {
    /// The goal.
    pub goal: MetaGoal,
    /// Unified with `success`, `failure` or `stop`.
    pub result: Term,
    /// A stream of `suspend`, `resume`, `stop`.
    pub control: Term,
}

/// The goal of a metacall.
#[derive(Clone, Debug, PartialEq)]
pub enum MetaGoal {
    /// Known here.
    Call(Call),
    /// Known when the term is: `name(Arguments)` of the module, or `module:name(Arguments)`.
    Dynamic {
        /// The goal as a value.
        term: Term,
        /// Where a name without module is looked up.
        module: AtomId,
    },
}

/// Where and how urgently a call runs; without either, where and as urgently as its parent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pragma {
    /// The PE; the call waits until the expression has a value.
    pub placement: Option<Placement>,
    /// The priority; the call waits until the expression has a value.
    pub priority: Option<Priority>,
}

impl Pragma {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.placement.is_none() && self.priority.is_none()
    }
}

/// A processing element.
#[derive(Clone, Debug, PartialEq)]
pub enum Placement {
    /// `Goal@node(N)`: PEs from 0.
    Node(Expression),
    /// `alloc(P)@@Goal`: the numbers of the Multi-PSI/V1, see [`Placement::alloc_node`].
    Alloc(Expression),
}

impl Placement {
    /// The PE from 0 that `alloc(number)` means among `pes`, or `None` if there is no such PE.
    ///
    /// The paper's programs start on PE 6 and name n PEs by 7-n to 6 (appendix, `queen_n/8`); its example `translate`
    /// names them from 1 (section 3.2). Both are ranges of n numbers, so both are taken, modulo n, with PE 6 the one
    /// where a program starts.
    pub fn alloc_node(number: i64, pes: usize) -> Option<usize> {
        let n = i64::try_from(pes).ok().filter(|&n| n > 0)?;
        let known = 1.min(7 - n)..=6.max(n);
        known.contains(&number).then(|| usize::try_from((number - 6).rem_euclid(n)).expect("not negative"))
    }
}

/// An urgency: goals of larger priority run first on their PE.
#[derive(Clone, Debug, PartialEq)]
pub enum Priority {
    /// `Goal@priority(P)`.
    Absolute(Expression),
    /// `Goal@lower_priority(D)`, and `Goal@lower_priority` for 1: so much less than the parent.
    Lower(Expression),
}

/// `Head :- Guard | Body.`
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The whole clause.
    pub span: Span,
    /// Its variables, numbered by first occurrence.
    pub variables: Vec<Variable>,
    /// A pattern for each argument; linear.
    pub head: Vec<Term>,
    /// Tested from first to last.
    pub guard: Vec<GuardGoal>,
    /// Started at commitment.
    pub body: Vec<BodyGoal>,
}

/// What separates a group of clauses from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Separator {
    /// `otherwise`: the group is tried when every clause before it has failed; while one is undecided, the goal waits.
    Otherwise,
    /// `alternatively`: the group is tried when no clause before it can commit now, decided or not.
    Alternatively,
}

/// Clauses that are tried as one: any of those that can commit may be taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// `None` for the first group.
    pub separator: Option<Separator>,
    /// Indices into [`Predicate::clauses`], never empty.
    pub clauses: std::ops::Range<usize>,
}

/// A predicate, an index into [`Program::predicates`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PredicateId(pub u32);

/// Where a predicate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The user's program.
    User,
    /// Made by expansion of a clause of the named predicate.
    Expanded(PredicateId),
    /// weft's library of this language (streams, merge).
    Library,
    /// The goal that a run starts with, see [`Program::start`]; its commitment is no reduction.
    Goal,
}

/// All clauses of one name and arity in one module.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// The module.
    pub module: AtomId,
    /// The name.
    pub name: AtomId,
    /// The number of arguments.
    pub arity: usize,
    /// Whether other modules may call it.
    pub public: bool,
    /// Where it comes from.
    pub origin: Origin,
    /// The head of its first clause.
    pub span: Span,
    /// In the order written.
    pub clauses: Vec<Clause>,
    /// A partition of the clauses.
    pub groups: Vec<Group>,
}

/// A whole program: the user's modules and those of the library that they use.
#[derive(Clone, Debug)]
pub struct Program {
    /// All names.
    pub atoms: AtomTable,
    /// Every predicate, of all modules.
    pub predicates: Vec<Predicate>,
    /// The user's modules in the order of the source; the first is where a goal without a module is looked up.
    pub modules: Vec<AtomId>,
    /// The texts that spans point into.
    pub sources: Vec<Source>,
    /// What a run starts with: a predicate of [`Origin::Goal`] with one clause, whose arguments are the variables that the
    /// goal names, in the order of [`Clause::variables`]; their values are the run's result.
    pub start: Option<PredicateId>,
    names: FxHashMap<(AtomId, AtomId, usize), PredicateId>,
}

impl Program {
    /// Puts a program together; where two predicates of one name, arity and module are given, the first is found by name.
    pub fn new(atoms: AtomTable, predicates: Vec<Predicate>, modules: Vec<AtomId>, sources: Vec<Source>) -> Self {
        let mut names = FxHashMap::default();
        for (index, predicate) in predicates.iter().enumerate() {
            let id = PredicateId(u32::try_from(index).expect("fewer than 2^32 predicates"));
            names.entry((predicate.module, predicate.name, predicate.arity)).or_insert(id);
        }
        Program { atoms, predicates, modules, sources, start: None, names }
    }

    /// A predicate of this program.
    pub fn predicate(&self, id: PredicateId) -> &Predicate {
        &self.predicates[id.0 as usize]
    }

    /// The predicate `module:name/arity`.
    pub fn find(&self, module: AtomId, name: AtomId, arity: usize) -> Option<PredicateId> {
        self.names.get(&(module, name, arity)).copied()
    }

    /// The predicates with their identifiers.
    pub fn iter(&self) -> impl Iterator<Item = (PredicateId, &Predicate)> {
        self.predicates.iter().enumerate().map(|(index, predicate)| (PredicateId(index as u32), predicate))
    }

    /// `module:name/arity`, for messages.
    pub fn indicator(&self, id: PredicateId) -> String {
        let predicate = self.predicate(id);
        let (module, name) = (self.atoms.name(predicate.module), self.atoms.name(predicate.name));
        format!("{}:{}/{}", quote_atom(module), quote_atom(name), predicate.arity)
    }
}
