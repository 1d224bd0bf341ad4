//! The instructions of the engine: one set for the interpreter and for native code.
//!
//! A predicate begins with its arguments in registers 0 and up. Until a clause commits, instructions only test and load;
//! each test names where to go on when its answer is no (`other`) and when it cannot be given yet (`unbound`, after
//! noting the variables). What follows commitment builds, unifies and starts goals, and ends in [`Instruction::Execute`]
//! or [`Instruction::Proceed`]. The instructions are rows of one table, [`table`]; [`set`] has what is generated from it.

mod set;
mod table;

use crate::builtins::{BodyBuiltin, GuardBuiltin};
use crate::heap::Word;
use crate::ir::{BinaryOperation, Comparison, Number, Span, UnaryOperation};
use rustc_hash::FxHashMap;

use super::literal::Literal;
pub use set::{Building, Control, Field, Goals, Instruction, Machine, Sizes, Tests, dispatch, role};

/// A register of the engine.
pub type Register = u16;
/// The place of an instruction.
pub type Label = u32;
/// Where no answer leads: what is tested is known.
pub const NOWHERE: Label = u32::MAX;

/// Types that guards ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Type {
    Any,
    Integer,
    Atom,
    Float,
    Atomic,
    List,
    Structure,
    Vector,
    String,
    Predicate,
}

/// What is put into a place of something that is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A constant.
    Constant(Word),
    /// A new variable in that place, which the register then refers to.
    Variable(Register),
}

/// Where a switch leads.
#[derive(Clone, Debug)]
pub struct Table {
    pub unbound: Label,
    pub other: Label,
    pub list: Label,
    /// By constant.
    pub constants: FxHashMap<Word, Label>,
    /// By header.
    pub headers: FxHashMap<Word, Label>,
}

impl Table {
    /// Every label of the table.
    pub fn labels(&self) -> impl Iterator<Item = Label> {
        let of_values = self.constants.values().chain(self.headers.values());
        [self.unbound, self.other, self.list].into_iter().chain(of_values.copied())
    }

    /// Every label, to change it.
    pub fn labels_mut(&mut self) -> impl Iterator<Item = &mut Label> {
        let of_values = self.constants.values_mut().chain(self.headers.values_mut());
        [&mut self.unbound, &mut self.other, &mut self.list].into_iter().chain(of_values)
    }
}

/// A constant of more than one word.
#[derive(Clone, Debug, PartialEq)]
pub enum Boxed {
    Float(f64),
    String(Box<[u8]>),
    Predicate(u32),
    /// A large term without variables.
    Literal(Literal),
}

/// A guard goal that is no instruction of its own. Operands are registers, targets too.
#[derive(Clone, Debug)]
pub enum Guard {
    Compare(Number, Comparison, Register, Register),
    Unary(Number, UnaryOperation, Register, Register),
    Binary(Number, BinaryOperation, Register, Register, Register),
    Builtin(GuardBuiltin, Box<[Register]>, Box<[Register]>),
}

/// An object that is built.
#[derive(Clone, Debug)]
pub struct Build {
    pub header: Word,
    pub cells: Box<[Operand]>,
}

/// A goal.
#[derive(Clone, Debug)]
pub struct CallSite {
    pub predicate: u32,
    pub arguments: Box<[Operand]>,
}

/// A calculation in a body.
#[derive(Clone, Debug)]
pub enum Calculation {
    Unary(Number, UnaryOperation, Register, Register),
    Binary(Number, BinaryOperation, Register, Register, Register),
}

/// Where a goal is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementKind {
    Node,
    Alloc,
}

/// How a priority is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityKind {
    Absolute,
    Lower,
}

/// A goal with a pragma; what the pragma says is in registers.
#[derive(Clone, Debug)]
pub struct Start {
    pub call: CallSite,
    pub placement: Option<(PlacementKind, Register)>,
    pub priority: Option<(PriorityKind, Register)>,
    /// The goal in the program.
    pub span: Option<Span>,
}

/// A metacall.
#[derive(Clone, Debug)]
pub struct MetacallSite {
    /// A goal known when compiled, or a term and the module in which its name is looked up.
    pub goal: MetacallGoal,
    pub result: Register,
    pub control: Register,
}

#[derive(Clone, Debug)]
pub enum MetacallGoal {
    Call(CallSite),
    Dynamic { term: Register, module: u32 },
}

/// What a predicate of the code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One of the program.
    Program,
    /// A body builtin as a goal.
    Builtin(BodyBuiltin),
    /// An integer or float operation as a goal: operand, result.
    Unary(Number, UnaryOperation),
    /// An integer or float operation as a goal: operands, result.
    Binary(Number, BinaryOperation),
    /// Starts a goal with a pragma that waited: predicate, vector of arguments, place (kind, number), priority (kind, number).
    Start,
    /// Starts a metacall whose goal waited: term, module, result, control.
    Metacall,
}

/// What the engine must know of a predicate.
#[derive(Clone, Debug)]
pub struct PredicateCode {
    pub entry: Label,
    /// Behind its last instruction.
    pub end: Label,
    pub arity: u8,
    pub role: Role,
}

/// Vectors with fewer elements are copied where one changes: that is as quick. So are those of a size that some clause of
/// the program looks into: see [`Code::min_array`].
pub const MIN_ARRAY: usize = 256;

/// A compiled program: shared by all engines that run it.
#[derive(Debug, Default)]
pub struct Code {
    pub instructions: Vec<Instruction>,
    /// For each instruction the clause goal it came from.
    pub spans: Vec<Option<Span>>,
    pub constants: Vec<Word>,
    pub boxes: Vec<Boxed>,
    pub tables: Vec<Table>,
    pub guards: Vec<Guard>,
    pub builds: Vec<Build>,
    pub calls: Vec<CallSite>,
    pub calculations: Vec<Calculation>,
    pub starts: Vec<Start>,
    pub metacalls: Vec<MetacallSite>,
    /// The program's predicates by their numbers, then those of the engine.
    pub predicates: Vec<PredicateCode>,
    /// Words that a reduction takes at most, where no [`Instruction::Ensure`] asks for more: its own, or, where the
    /// goal suspends, those of its record.
    pub words: usize,
    /// Vectors of at least so many elements may be arrays: no pattern of a clause is that large.
    pub min_array: usize,
    /// Registers that any clause uses.
    pub registers: usize,
    /// Predicates that are builtins, by what they are.
    pub roles: FxHashMap<RoleKey, u32>,
}

/// A [`Role`] as a key.
pub type RoleKey = (u8, u16, u8);

impl Role {
    /// A key that tells roles of builtins apart.
    pub fn key(self) -> RoleKey {
        match self {
            Role::Program => (0, 0, 0),
            Role::Builtin(builtin) => (1, builtin as u16, 0),
            Role::Unary(number, operation) => (2, operation as u16, number as u8),
            Role::Binary(number, operation) => (3, operation as u16, number as u8),
            Role::Start => (4, 0, 0),
            Role::Metacall => (5, 0, 0),
        }
    }
}

impl Code {
    /// The predicate that is this builtin.
    pub fn role(&self, role: Role) -> u32 {
        self.roles[&role.key()]
    }
}
