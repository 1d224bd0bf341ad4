//! The set of instructions, generated from [the table](super::table): the type, what is known of each, and how it
//! reaches the method that is about it.

use super::table::instructions;
use super::{Boxed, Calculation, Code, Guard, MetacallGoal, Operand, Register};
use crate::heap::goal::MAX_ARITY;

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident: $type:ty;)*) => {
        /// The roles of operands: each is the type of those that have it.
        pub mod role {
            $($(#[$doc])* pub type $role = $type;)*
        }

        /// An operand of an instruction, by its role.
        pub enum Field<'a> {
            $($(#[$doc])* $role(&'a mut role::$role),)*
        }
    };
}

roles! {
    /// A register that is read.
    Read: crate::engine::instruction::Register;
    /// A register that is written.
    Write: crate::engine::instruction::Register;
    /// An instruction of the same predicate.
    Label: crate::engine::instruction::Label;
    /// The first instruction of another predicate.
    Entry: crate::engine::instruction::Label;
    /// The predicate that the instruction belongs to.
    Predicate: u32;
    /// A predicate whose arguments are in registers 0 and up.
    Goal: u32;
    /// An index into [`Code::constants`](super::super::Code::constants).
    Constant: u32;
    /// An index into [`Code::boxes`](super::super::Code::boxes).
    Boxed: u32;
    /// An index into [`Code::tables`](super::super::Code::tables).
    Table: u32;
    /// An index into [`Code::guards`](super::super::Code::guards).
    Guard: u32;
    /// An index into [`Code::builds`](super::super::Code::builds).
    Build: u32;
    /// An index into [`Code::calls`](super::super::Code::calls).
    Call: u32;
    /// An index into [`Code::calculations`](super::super::Code::calculations).
    Calculation: u32;
    /// An index into [`Code::starts`](super::super::Code::starts).
    Start: u32;
    /// An index into [`Code::metacalls`](super::super::Code::metacalls).
    Metacall: u32;
    /// An integer.
    Integer: i16;
    /// The index of a cell.
    Index: u16;
    /// A number of words.
    Words: u32;
    /// A type.
    Type: crate::engine::instruction::Type;
    /// A comparison.
    Comparison: crate::ir::Comparison;
    /// An operation.
    Operation: crate::ir::BinaryOperation;
}

/// What an instruction may have beside its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// The next instruction never follows it.
    EndsBlock,
    /// It may bind variables that existed before.
    BindsVariables,
}

/// Words of what operands refer to.
pub struct Sizes<'a> {
    pub code: &'a Code,
    /// The constants of more than one word, which the code need not have yet.
    pub boxes: &'a [Boxed],
}

impl Sizes<'_> {
    fn boxed(&self, constant: role::Boxed) -> usize {
        match &self.boxes[constant as usize] {
            Boxed::String(bytes) => 1 + bytes.len().div_ceil(8),
            Boxed::Float(_) | Boxed::Predicate(_) => 2,
            Boxed::Literal(literal) => literal.words(),
        }
    }

    fn cells(&self, build: role::Build) -> usize {
        self.code.builds[build as usize].cells.len()
    }

    fn arguments(&self, call: role::Call) -> usize {
        self.code.calls[call as usize].arguments.len()
    }

    fn started(&self, start: role::Start) -> usize {
        self.code.starts[start as usize].call.arguments.len()
    }
}

/// A goal that waits for what could not be done at once has at most so many words.
const WAITING: usize = 16;

fn evaluate(sizes: &Sizes<'_>, words: impl FnOnce(&Sizes<'_>) -> usize) -> usize {
    words(sizes)
}

macro_rules! define {
    ($(
        $(#[$about:meta])*
        trait $Section:ident {$(
            $(#[$doc:meta])*
            $method:ident: $Name:ident $({ $($field:ident: $role:ident),* $(,)? })? [$($property:ident),*]
                $(, words: $words:expr)? $(, helper: $helper:expr)?;
        )*}
    )*) => {
        /// One step. Sixteen bytes.
        #[derive(Clone, Copy, Debug)]
        pub enum Instruction {$($(
            $(#[$doc])*
            $Name $({ $($field: role::$role),* })?,
        )*)*}

        impl Instruction {
            /// Its name in a disassembly.
            pub fn mnemonic(&self) -> &'static str {
                let name = match self {
                    $($(Instruction::$Name { .. } => stringify!($method),)*)*
                };
                name.trim_start_matches("r#")
            }

            /// Calls `visit` with every operand and its name.
            pub fn for_each_field(&mut self, visit: &mut dyn FnMut(&'static str, Field<'_>)) {
                match self {$($(
                    Instruction::$Name $({ $($field),* })? => {
                        $($(visit(stringify!($field), Field::$role($field));)*)?
                    }
                )*)*}
            }

            fn properties(&self) -> &'static [Property] {
                match self {
                    $($(Instruction::$Name { .. } => &[$(Property::$property),*],)*)*
                }
            }

            /// Words that it may allocate by itself.
            #[allow(unused_variables)]
            pub fn words(&self, sizes: &Sizes<'_>) -> usize {
                match *self {
                    $($(Instruction::$Name $({ $($field),* })? => 0 $(+ evaluate(sizes, $words))?,)*)*
                }
            }

            /// Words that the engine may allocate for it.
            #[allow(unused_variables)]
            pub fn helper_words(&self, sizes: &Sizes<'_>) -> usize {
                match *self {
                    $($(Instruction::$Name $({ $($field),* })? => 0 $(+ evaluate(sizes, $helper))?,)*)*
                }
            }
        }

        $(
            $(#[$about])*
            pub trait $Section: Machine {$(
                $(#[$doc])*
                fn $method(&mut self $($(, $field: role::$role)*)?) -> Self::Step;
            )*}
        )*

        /// Calls the method of a machine that is about an instruction.
        #[inline(always)]
        pub fn dispatch<M: $($Section +)*>(machine: &mut M, instruction: &Instruction) -> M::Step {
            match *instruction {
                $($(Instruction::$Name $({ $($field),* })? => machine.$method($($($field),*)?),)*)*
            }
        }
    };
}

/// Something with a method for every instruction: those of the traits of the table.
pub trait Machine {
    /// What such a method answers.
    type Step;
}

instructions!(define);

impl Instruction {
    /// Whether the next instruction never follows this one.
    pub fn ends_block(&self) -> bool {
        self.properties().contains(&Property::EndsBlock)
    }

    /// Whether it may bind variables that existed before.
    pub fn binds_variables(&self) -> bool {
        self.properties().contains(&Property::BindsVariables)
    }

    /// Calls `change` with every label of the instruction itself.
    pub fn for_each_label(&mut self, mut change: impl FnMut(&mut super::Label)) {
        self.for_each_field(&mut |_, field| {
            if let Field::Label(label) = field {
                change(label);
            }
        });
    }

    /// Whether it can lead elsewhere than to the next instruction of its predicate.
    pub fn is_test(&self) -> bool {
        let (mut copy, mut is_test) = (*self, false);
        copy.for_each_field(&mut |_, field| is_test |= matches!(field, Field::Label(_) | Field::Table(_)));
        is_test
    }

    /// Every label, those in tables too.
    pub fn labels(&self, code: &Code) -> Vec<super::Label> {
        let (mut copy, mut labels) = (*self, Vec::new());
        copy.for_each_field(&mut |_, field| match field {
            Field::Label(label) => labels.push(*label),
            Field::Table(table) => labels.extend(code.tables[*table as usize].labels()),
            _ => {}
        });
        labels
    }

    /// Calls `change` with every register that the instruction itself, and nothing that it refers to, says is written.
    pub fn for_each_target(&mut self, mut change: impl FnMut(&mut Register)) {
        self.for_each_field(&mut |_, field| {
            if let Field::Write(register) = field {
                change(register);
            }
        });
    }

    /// Calls `visit` with every register that is read.
    pub fn reads(&self, code: &Code, visit: &mut impl FnMut(Register)) {
        let mut copy = *self;
        copy.for_each_field(&mut |_, field| match field {
            Field::Read(register) => visit(*register),
            Field::Build(build) => read_operands(&code.builds[*build as usize].cells, visit),
            Field::Call(call) => read_operands(&code.calls[*call as usize].arguments, visit),
            Field::Calculation(calculation) => code.calculations[*calculation as usize].reads(visit),
            Field::Guard(guard) => code.guards[*guard as usize].reads(visit),
            Field::Start(start) => {
                let start = &code.starts[*start as usize];
                read_operands(&start.call.arguments, visit);
                start.placement.iter().for_each(|(_, register)| visit(*register));
                start.priority.iter().for_each(|(_, register)| visit(*register));
            }
            Field::Metacall(metacall) => {
                let site = &code.metacalls[*metacall as usize];
                match &site.goal {
                    MetacallGoal::Call(call) => read_operands(&call.arguments, visit),
                    MetacallGoal::Dynamic { term, .. } => visit(*term),
                }
                visit(site.result);
                visit(site.control);
            }
            Field::Goal(predicate) => {
                (0..Register::from(code.predicates[*predicate as usize].arity)).for_each(&mut *visit);
            }
            _ => {}
        });
    }

    /// Calls `visit` with every register that is written.
    pub fn writes(&self, code: &Code, visit: &mut impl FnMut(Register)) {
        let mut copy = *self;
        copy.for_each_field(&mut |_, field| match field {
            Field::Write(register) => visit(*register),
            Field::Build(build) => {
                for operand in &code.builds[*build as usize].cells {
                    if let Operand::Variable(register) = operand {
                        visit(*register);
                    }
                }
            }
            Field::Calculation(calculation) => visit(code.calculations[*calculation as usize].target()),
            Field::Guard(guard) => code.guards[*guard as usize].writes(visit),
            _ => {}
        });
    }
}

fn read_operands(operands: &[Operand], visit: &mut impl FnMut(Register)) {
    for operand in operands {
        if let Operand::Register(register) = operand {
            visit(*register);
        }
    }
}

impl Calculation {
    fn reads(&self, visit: &mut impl FnMut(Register)) {
        match *self {
            Calculation::Unary(_, _, _, operand) => visit(operand),
            Calculation::Binary(_, _, _, left, right) => {
                visit(left);
                visit(right);
            }
        }
    }

    fn target(&self) -> Register {
        match *self {
            Calculation::Unary(_, _, target, _) | Calculation::Binary(_, _, target, _, _) => target,
        }
    }
}

impl Guard {
    fn reads(&self, visit: &mut impl FnMut(Register)) {
        match self {
            Guard::Compare(_, _, left, right) | Guard::Binary(_, _, _, left, right) => {
                visit(*left);
                visit(*right);
            }
            Guard::Unary(_, _, _, operand) => visit(*operand),
            Guard::Builtin(_, inputs, _) => inputs.iter().for_each(|input| visit(*input)),
        }
    }

    fn writes(&self, visit: &mut impl FnMut(Register)) {
        match self {
            Guard::Unary(_, _, target, _) | Guard::Binary(_, _, target, _, _) => visit(*target),
            Guard::Builtin(_, _, targets) => targets.iter().for_each(|target| visit(*target)),
            Guard::Compare(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_instruction_is_sixteen_bytes() {
        assert_eq!(std::mem::size_of::<super::Instruction>(), 16);
    }
}
