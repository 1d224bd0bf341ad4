//! From the checked program to instructions: [`clause`] makes tests of heads and guards, [`decision`] one tree of them for
//! a predicate, [`body`] what follows commitment, [`moves`] as few moves as possible.

mod clause;
mod constants;
mod decision;
pub(crate) mod literal;
mod moves;

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::builtins::BodyBuiltin;
use crate::engine::instruction::{Code, Instruction, Label, MIN_ARRAY, NOWHERE, PredicateCode, Role, Sizes};
use crate::heap::RESERVE;
use crate::heap::goal::{MAX_ARITY, MAX_PREDICATES, RECORD_WORDS};
use crate::ir::{BinaryOperation, Number, Program, UnaryOperation};

/// A program that is right but too large for the engine.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum CompileError {
    #[error("{predicate} has {arity} arguments; goals have at most {MAX_ARITY}: put some into a structure or vector")]
    TooManyArguments { predicate: String, arity: usize },
    #[error("the program has {0} predicates; at most {MAX_PREDICATES} are possible")]
    TooManyPredicates(usize),
    #[error("a pattern of {predicate} has {cells} cells, some of them variables; at most 60,000 are possible")]
    TooManyCells { predicate: String, cells: usize },
    #[error(
        "a clause of {predicate} has alternatives for {clauses} clauses; at most 4096 are possible: divide its guard"
    )]
    TooManyAlternatives { predicate: String, clauses: usize },
    #[error("{predicate} needs {registers} registers; at most 65,000 are possible: divide its clauses")]
    TooManyRegisters { predicate: String, registers: usize },
}

const UNARY: &[UnaryOperation] = &[
    UnaryOperation::Negate,
    UnaryOperation::Complement,
    UnaryOperation::FloatToInteger,
    UnaryOperation::IntegerToFloat,
    UnaryOperation::Sine,
    UnaryOperation::Cosine,
    UnaryOperation::Tangent,
    UnaryOperation::ArcSine,
    UnaryOperation::ArcCosine,
    UnaryOperation::ArcTangent,
    UnaryOperation::HyperbolicSine,
    UnaryOperation::HyperbolicCosine,
    UnaryOperation::HyperbolicTangent,
    UnaryOperation::Exponential,
    UnaryOperation::Logarithm,
    UnaryOperation::SquareRoot,
    UnaryOperation::Ceiling,
    UnaryOperation::Floor,
];

const BINARY: &[BinaryOperation] = &[
    BinaryOperation::Add,
    BinaryOperation::Subtract,
    BinaryOperation::Multiply,
    BinaryOperation::Divide,
    BinaryOperation::Modulo,
    BinaryOperation::And,
    BinaryOperation::Or,
    BinaryOperation::ExclusiveOr,
    BinaryOperation::ShiftLeft,
    BinaryOperation::ShiftRight,
    BinaryOperation::Power,
];

/// Where the compiler begins to do with less, so that large predicates do not take much longer than they are larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Pairs of a constructor and a clause that asks nothing of the value, in one table.
    pub pairs: usize,
    /// Clauses and facts in all states of a predicate, beside some for each of its tests.
    pub work: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { pairs: 1 << 14, work: 1 << 18 }
    }
}

/// Compiles a program. With `counting`, commitments are also counted by predicate.
pub fn compile(program: &Program, counting: bool, limits: Limits) -> Result<Code, CompileError> {
    if program.predicates.len() + 200 > MAX_PREDICATES {
        return Err(CompileError::TooManyPredicates(program.predicates.len()));
    }
    let mut code = Code { words: 8, ..Code::default() };
    let mut constants = constants::Constants::default();
    for (id, predicate) in program.iter() {
        let Ok(arity) = u8::try_from(predicate.arity) else {
            return Err(CompileError::TooManyArguments { predicate: program.indicator(id), arity: predicate.arity });
        };
        code.predicates.push(PredicateCode { entry: 0, end: 0, arity, role: Role::Program });
    }
    engine_predicates(&mut code);
    for (id, predicate) in program.iter() {
        let mut preparation = clause::Preparation {
            values: clause::Values::default(),
            constants: &mut constants,
            too_many_cells: None,
            too_many_alternatives: None,
        };
        for argument in 0..predicate.arity {
            preparation.values.number(clause::Value::Argument(argument as u16));
        }
        let mut prepared = Vec::new();
        for (group, clauses) in predicate.groups.iter().enumerate() {
            for index in clauses.clauses.clone() {
                prepared.extend(preparation.clause(index, group, &predicate.clauses[index]));
            }
        }
        if let Some(cells) = preparation.too_many_cells {
            return Err(CompileError::TooManyCells { predicate: program.indicator(id), cells });
        }
        if let Some(clauses) = preparation.too_many_alternatives {
            return Err(CompileError::TooManyAlternatives { predicate: program.indicator(id), clauses });
        }
        let values = preparation.values;
        let counted = counting && predicate.origin != crate::ir::Origin::Goal;
        let mut tree =
            decision::Tree::new(predicate, id.0, &prepared, &values, &mut constants, &mut code, counted, limits);
        tree.make();
        let (blocks, registers) = (std::mem::take(&mut tree.blocks), tree.registers);
        if registers > 65_000 {
            return Err(CompileError::TooManyRegisters { predicate: program.indicator(id), registers });
        }
        code.registers = code.registers.max(registers + 1);
        link(&mut code, &constants, id.0, blocks);
    }
    code.registers = code.registers.max(MAX_ARITY + 2);
    code.min_array = MIN_ARRAY.max(constants.largest_vector + 1);
    code.constants = constants.words;
    code.boxes = constants.boxes;
    for index in 0..code.instructions.len() {
        if let Instruction::Execute { predicate, entry } = &mut code.instructions[index] {
            *entry = code.predicates[*predicate as usize].entry;
        }
    }
    Ok(code)
}

/// Predicates that are builtins: each is one instruction.
fn engine_predicates(code: &mut Code) {
    let mut roles = vec![(Role::Start, 7), (Role::Metacall, 4)];
    roles.extend(BodyBuiltin::ALL.iter().map(|builtin| (Role::Builtin(*builtin), builtin.arity())));
    for number in [Number::Integer, Number::Float] {
        roles.extend(UNARY.iter().map(|operation| (Role::Unary(number, *operation), 2)));
        roles.extend(BINARY.iter().map(|operation| (Role::Binary(number, *operation), 3)));
    }
    for (role, arity) in roles {
        let predicate = code.predicates.len() as u32;
        let entry = code.instructions.len() as Label;
        code.predicates.push(PredicateCode { entry, end: entry + 1, arity: arity as u8, role });
        code.instructions.push(Instruction::BuiltinEntry { predicate });
        code.spans.push(None);
        code.roles.insert(role.key(), predicate);
    }
}

/// Puts the blocks of a predicate into the code, one after the other, and gives labels their places.
fn link(code: &mut Code, constants: &constants::Constants, predicate: u32, blocks: Vec<decision::Block>) {
    // Of the blocks that end a clause only one is run.
    let (mut before, mut clause, mut others, mut others_of_clause) = (0, 0, 0, 0);
    let sizes = Sizes { code, boxes: &constants.boxes };
    for block in &blocks {
        let own: usize = block.code.iter().map(|instruction| instruction.words(&sizes)).sum();
        let own_others: usize = block.code.iter().map(|instruction| instruction.helper_words(&sizes)).sum();
        match block.code.last() {
            Some(Instruction::Execute { .. } | Instruction::Proceed) => {
                clause = own.max(clause);
                others_of_clause = own_others.max(others_of_clause);
            }
            _ => {
                before += own;
                others += own_others;
            }
        }
    }
    let words = before + clause;
    let others = others + others_of_clause;
    let record = usize::from(code.predicates[predicate as usize].arity) + RECORD_WORDS;
    let mut at = code.instructions.len();
    code.predicates[predicate as usize].entry = at as Label;
    if words > MAX_WORDS || words + others > RESERVE / 2 {
        code.instructions.push(Instruction::Ensure { words: (words + others) as u32, predicate });
        code.spans.push(None);
        at += 1;
    } else {
        code.words = code.words.max(words);
    }
    if record <= MAX_WORDS {
        code.words = code.words.max(record);
    }
    let mut addresses: FxHashMap<Label, Label> = FxHashMap::default();
    addresses.insert(NOWHERE, NOWHERE);
    for (number, block) in blocks.iter().enumerate() {
        addresses.insert(number as Label, at as Label);
        at += block.code.len();
    }
    for block in blocks {
        for mut instruction in block.code {
            if let Instruction::Switch { table, .. } = instruction {
                code.tables[table as usize].labels_mut().for_each(|label| *label = addresses[label]);
            }
            instruction.for_each_label(|label| *label = addresses[label]);
            code.instructions.push(instruction);
        }
        code.spans.extend(block.spans);
    }
    code.predicates[predicate as usize].end = code.instructions.len() as Label;
}

/// Most words that a reduction may take without asking: the more, the more often is asked.
const MAX_WORDS: usize = 32;
