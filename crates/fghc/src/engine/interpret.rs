//! The interpreter: takes one instruction after the other.

use super::arithmetic::{self, compare};
use super::instruction::{Instruction, NOWHERE, Operand, Type};
use super::{Engine, Exit};
use crate::heap::goal::{ARGUMENTS, LINK, goal_arity, goal_header, goal_predicate, state};
use crate::heap::word::{INT, LIST, OBJECT, REF, TAG_MASK, UNBOUND, dereference};
use crate::heap::{Kind, Word};

/// What guards and bodies do beside their own instructions answers so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    True,
    False,
    /// Variables have been noted.
    Unbound,
    /// The engine has a problem to report.
    Problem,
}

#[inline(always)]
fn both_integers(left: Word, right: Word) -> bool {
    ((left.0 ^ INT) | (right.0 ^ INT)) & TAG_MASK == 0
}

/// The content of a cell as a value: a reference to the cell where it is unbound.
#[inline(always)]
unsafe fn cell_value(cell: *mut Word) -> Word {
    // SAFETY: the cell is one of a live heap (this function's condition), and cells are written when they are
    // allocated.
    let content = unsafe { *cell };
    if content.tag() == UNBOUND { Word::reference(cell) } else { content }
}

impl Engine {
    /// Runs goals of the present queue until it is empty, the budget is spent or something must be reported.
    pub(crate) fn interpret(&mut self) -> Exit {
        self.interpret_from::<false>(PROCEED.as_ptr())
    }

    /// Runs the goal in registers 0 and up, whose reduction has been counted; what it goes on with becomes the next goal of
    /// the queue. [`Exit::Empty`] when that is done.
    #[cfg(feature = "native")]
    pub(crate) fn interpret_goal(&mut self, predicate: u32) -> Exit {
        let code = self.shared_code();
        let entry = code.predicates[predicate as usize].entry;
        self.interpret_from::<true>(&code.instructions[entry as usize])
    }

    /// Runs from an instruction on, with `ONE` to the end of one reduction.
    fn interpret_from<const ONE: bool>(&mut self, begin: *const Instruction) -> Exit {
        let code = self.shared_code();
        let code_base = code.instructions.as_ptr();
        let x = self.registers.x;
        let mut free = self.registers.free;
        let mut budget = self.registers.budget;
        let mut at: *const Instruction;

        // SAFETY: the compiler makes code that stays within registers and tables, ends every block, and allocates no
        // more between two looks at the limit than the reserve; values in registers are values of this heap.
        unsafe {
            macro_rules! x {
                ($register:expr) => {
                    *x.add($register as usize)
                };
            }
            macro_rules! constant {
                ($index:expr) => {
                    *code.constants.get_unchecked($index as usize)
                };
            }
            macro_rules! next {
                () => {{
                    at = at.add(1);
                    continue;
                }};
            }
            macro_rules! goto {
                ($label:expr) => {{
                    debug_assert!($label != NOWHERE);
                    at = code_base.add($label as usize);
                    continue;
                }};
            }
            macro_rules! save {
                () => {{
                    self.registers.free = free;
                    self.registers.budget = budget;
                    self.registers.at = at.offset_from(code_base) as u64;
                }};
            }
            macro_rules! restore {
                () => {{
                    self.registers.tighten();
                    free = self.registers.free;
                    budget = self.registers.budget;
                }};
            }
            /// Does what the engine has a function for, and ends where that meets a problem.
            macro_rules! aside {
                ($done:expr) => {{
                    save!();
                    if !$done {
                        return Exit::Problem;
                    }
                    restore!();
                }};
            }
            // A variable in a register that a test met: note it, go on where the test says.
            macro_rules! unbound {
                ($value:expr, $label:expr) => {{
                    self.registers.note($value);
                    goto!($label)
                }};
            }
            macro_rules! allocate {
                ($words:expr) => {{
                    let place = free;
                    free = free.add($words);
                    place
                }};
            }
            macro_rules! new_variable {
                () => {{
                    let cell = allocate!(1);
                    *cell = Word::FREE;
                    Word::reference(cell)
                }};
            }
            // Enters a predicate whose arguments are in registers.
            macro_rules! enter {
                ($predicate:expr, $entry:expr) => {{
                    if ONE {
                        save!();
                        self.put_first($predicate);
                        return Exit::Empty;
                    }
                    budget -= 1;
                    if budget < 0 {
                        save!();
                        match self.pause($predicate) {
                            Some(exit) => return exit,
                            None => restore!(),
                        }
                    }
                    at = code_base.add($entry as usize);
                    continue;
                }};
            }
            macro_rules! proceed {
                () => {{
                    let goal = self.registers.ready;
                    if ONE || goal.is_null() {
                        self.registers.free = free;
                        self.registers.budget = budget;
                        return Exit::Empty;
                    }
                    self.registers.ready = (*goal.add(LINK)).pointer();
                    let header = *goal;
                    let arity = goal_arity(header);
                    let mut from = goal.add(ARGUMENTS);
                    let mut to = x;
                    let end = from.add(arity);
                    while from < end {
                        *to = *from;
                        from = from.add(1);
                        to = to.add(1);
                    }
                    let predicate = goal_predicate(header);
                    let entry = code.predicates.get_unchecked(predicate as usize).entry;
                    enter!(predicate, entry)
                }};
            }
            macro_rules! unify {
                ($left:expr, $right:expr) => {{
                    let mut left: Word = $left;
                    let right: Word = $right;
                    let mut done = false;
                    while left.tag() == REF {
                        let cell = left.pointer();
                        let content = *cell;
                        if content.0 == UNBOUND {
                            // Unbound, and nothing waits: bound to any value but a variable in place.
                            if right.tag() != REF {
                                *cell = right;
                                done = true;
                            }
                            break;
                        }
                        if content.tag() == UNBOUND {
                            break;
                        }
                        left = content;
                    }
                    if !done {
                        save!();
                        if !self.unify(left, right) {
                            return self.unification_failed(left, right);
                        }
                        restore!();
                    }
                }};
            }

            macro_rules! answer {
                ($answer:expr, $unbound:expr, $other:expr) => {{
                    let answer = $answer;
                    restore!();
                    match answer {
                        Answer::True => next!(),
                        Answer::False => goto!($other),
                        Answer::Unbound => goto!($unbound),
                        Answer::Problem => return Exit::Problem,
                    }
                }};
            }
            macro_rules! push {
                ($site:expr) => {{
                    let site = $site;
                    let goal = allocate!(ARGUMENTS + site.arguments.len());
                    *goal = goal_header(site.predicate, site.arguments.len(), state::READY, 0);
                    *goal.add(LINK) = Word(self.registers.ready as u64);
                    let mut to = goal.add(ARGUMENTS);
                    for operand in site.arguments.iter() {
                        *to = match *operand {
                            Operand::Register(register) => x!(register),
                            Operand::Constant(word) => word,
                            Operand::Variable(_) => std::hint::unreachable_unchecked(),
                        };
                        to = to.add(1);
                    }
                    self.registers.ready = goal;
                }};
            }

            at = begin;
            loop {
                match *at {
                    Instruction::List { register, unbound, other } => {
                        let value = dereference(x!(register));
                        x!(register) = value;
                        if value.tag() == LIST {
                            next!()
                        } else if value.tag() == REF {
                            unbound!(value, unbound)
                        } else {
                            goto!(other)
                        }
                    }
                    Instruction::ListParts { register, head, tail, unbound, other } => {
                        let value = dereference(x!(register));
                        if value.tag() == LIST {
                            let cells = value.pointer();
                            let first = cell_value(cells);
                            let rest = cell_value(cells.add(1));
                            x!(register) = value;
                            x!(head) = first;
                            x!(tail) = rest;
                            next!()
                        }
                        x!(register) = value;
                        if value.tag() == REF { unbound!(value, unbound) } else { goto!(other) }
                    }
                    Instruction::Constant { register, constant, unbound, other } => {
                        let value = dereference(x!(register));
                        x!(register) = value;
                        if value == constant!(constant) {
                            next!()
                        } else if value.tag() == REF {
                            unbound!(value, unbound)
                        } else {
                            goto!(other)
                        }
                    }
                    Instruction::Header { register, header, unbound, other } => {
                        let value = dereference(x!(register));
                        x!(register) = value;
                        if value.tag() == OBJECT && *value.pointer() == constant!(header) {
                            next!()
                        } else if value.tag() == REF {
                            unbound!(value, unbound)
                        } else {
                            goto!(other)
                        }
                    }
                    Instruction::Boxed { register, constant, unbound, other } => {
                        let value = dereference(x!(register));
                        x!(register) = value;
                        if value.tag() == REF {
                            unbound!(value, unbound)
                        } else if self.equals_boxed(value, constant) {
                            next!()
                        } else {
                            goto!(other)
                        }
                    }
                    Instruction::Type { kind, register, unbound, other } => {
                        let value = dereference(x!(register));
                        x!(register) = value;
                        if value.tag() == REF {
                            unbound!(value, unbound)
                        } else if has_type(value, kind) {
                            next!()
                        } else {
                            goto!(other)
                        }
                    }
                    Instruction::Switch { register, table } => {
                        let value = dereference(x!(register));
                        x!(register) = value;
                        let table = code.tables.get_unchecked(table as usize);
                        match value.tag() {
                            REF => unbound!(value, table.unbound),
                            LIST => goto!(table.list),
                            OBJECT => goto!(*table.headers.get(&*value.pointer()).unwrap_or(&table.other)),
                            _ => goto!(*table.constants.get(&value).unwrap_or(&table.other)),
                        }
                    }
                    Instruction::Cell { target, source, index } => {
                        x!(target) = cell_value(x!(source).pointer().add(index as usize));
                        next!()
                    }
                    Instruction::Compare { comparison, left, right, unbound, other } => {
                        let (mut a, mut b) = (x!(left), x!(right));
                        if !both_integers(a, b) {
                            a = dereference(a);
                            b = dereference(b);
                            if !both_integers(a, b) {
                                self.note_both(a, b);
                                goto!(unbound)
                            }
                            x!(left) = a;
                            x!(right) = b;
                        }
                        if compare(comparison, a.0 as i64, b.0 as i64) {
                            next!()
                        }
                        goto!(other)
                    }
                    Instruction::CompareConstant { comparison, left, right, unbound, other } => {
                        let mut a = x!(left);
                        if a.tag() != INT {
                            a = dereference(a);
                            if a.tag() != INT {
                                self.note_both(a, a);
                                goto!(unbound)
                            }
                            x!(left) = a;
                        }
                        if compare(comparison, a.0 as i64, Word::small(i64::from(right)).0 as i64) {
                            next!()
                        }
                        goto!(other)
                    }
                    Instruction::Calculate { operation, target, left, right, unbound, other } => {
                        let (mut a, mut b) = (x!(left), x!(right));
                        if !both_integers(a, b) {
                            a = dereference(a);
                            b = dereference(b);
                            if !both_integers(a, b) {
                                self.note_both(a, b);
                                goto!(unbound)
                            }
                            x!(left) = a;
                            x!(right) = b;
                        }
                        match arithmetic::integers(operation, a, b) {
                            Ok(value) => {
                                x!(target) = value;
                                next!()
                            }
                            Err(arithmetic::Wrong::Division) => goto!(other),
                            Err(arithmetic::Wrong::Overflow) => {
                                save!();
                                return self.overflow(operation, a, b);
                            }
                        }
                    }
                    Instruction::CalculateConstant { operation, target, left, right, unbound, other } => {
                        let mut a = x!(left);
                        if a.tag() != INT {
                            a = dereference(a);
                            if a.tag() != INT {
                                self.note_both(a, a);
                                goto!(unbound)
                            }
                            x!(left) = a;
                        }
                        match arithmetic::integers(operation, a, Word::small(i64::from(right))) {
                            Ok(value) => {
                                x!(target) = value;
                                next!()
                            }
                            Err(arithmetic::Wrong::Division) => goto!(other),
                            Err(arithmetic::Wrong::Overflow) => {
                                save!();
                                return self.overflow(operation, a, Word::small(i64::from(right)));
                            }
                        }
                    }
                    Instruction::Guard { guard, unbound, other } => {
                        save!();
                        answer!(self.guard(guard), unbound, other)
                    }
                    Instruction::Same { left, right, unbound, other } => {
                        save!();
                        answer!(self.same(x!(left), x!(right)), unbound, other)
                    }
                    Instruction::Jump { to } => goto!(to),
                    Instruction::Forget => {
                        self.registers.noted_count = 0;
                        next!()
                    }
                    Instruction::Suspend { predicate } => {
                        // Not committed: no reduction.
                        budget += 1;
                        save!();
                        if !self.suspend(predicate) {
                            return self.reduction_failed(predicate);
                        }
                        restore!();
                        proceed!()
                    }
                    Instruction::Otherwise { predicate, to } => {
                        if self.registers.noted_count == 0 {
                            goto!(to)
                        }
                        budget += 1;
                        save!();
                        self.suspend(predicate);
                        restore!();
                        proceed!()
                    }
                    Instruction::Count { predicate } => {
                        self.registers.commit(predicate);
                        next!()
                    }
                    Instruction::Move { target, source } => {
                        x!(target) = x!(source);
                        next!()
                    }
                    Instruction::Load { target, constant } => {
                        x!(target) = constant!(constant);
                        next!()
                    }
                    Instruction::LoadBoxed { target, constant } => {
                        save!();
                        x!(target) = self.load_boxed(constant);
                        restore!();
                        next!()
                    }
                    Instruction::Variable { target } => {
                        x!(target) = new_variable!();
                        next!()
                    }
                    Instruction::Cons { target, head, tail } => {
                        let cells = allocate!(2);
                        *cells = x!(head);
                        *cells.add(1) = x!(tail);
                        x!(target) = Word::list(cells);
                        next!()
                    }
                    Instruction::ConsVariable { target, head, tail } => {
                        let cells = allocate!(2);
                        *cells = x!(head);
                        *cells.add(1) = Word::FREE;
                        x!(tail) = Word::reference(cells.add(1));
                        x!(target) = Word::list(cells);
                        next!()
                    }
                    Instruction::Build { target, build } => {
                        let build = code.builds.get_unchecked(build as usize);
                        let object = allocate!(1 + build.cells.len());
                        *object = build.header;
                        let mut cell = object;
                        for operand in build.cells.iter() {
                            cell = cell.add(1);
                            *cell = match *operand {
                                Operand::Register(register) => x!(register),
                                Operand::Constant(word) => word,
                                Operand::Variable(register) => {
                                    x!(register) = Word::reference(cell);
                                    Word::FREE
                                }
                            };
                        }
                        x!(target) = Word::object(object);
                        next!()
                    }
                    Instruction::Unify { left, right } => {
                        unify!(x!(left), x!(right));
                        next!()
                    }
                    Instruction::UnifyConsVariable { left, head, tail } => {
                        let variable = x!(left);
                        let cells = allocate!(2);
                        *cells = x!(head);
                        *cells.add(1) = Word::FREE;
                        x!(tail) = Word::reference(cells.add(1));
                        unify!(variable, Word::list(cells));
                        next!()
                    }
                    Instruction::UnifyConstant { left, constant } => {
                        unify!(x!(left), constant!(constant));
                        next!()
                    }
                    Instruction::BodyCalculate { operation, target, left, right } => {
                        let a = dereference(x!(left));
                        let b = dereference(x!(right));
                        if both_integers(a, b)
                            && let Ok(value) = arithmetic::integers(operation, a, b)
                        {
                            x!(target) = value;
                            next!()
                        }
                        save!();
                        match self.body_integers(operation, a, b) {
                            Some(value) => x!(target) = value,
                            None => return Exit::Problem,
                        }
                        restore!();
                        next!()
                    }
                    Instruction::BodyNumber { calculation } => {
                        aside!(self.body_number(calculation));
                        next!()
                    }
                    Instruction::Builtin { call } => {
                        aside!(self.builtin_in_place(call));
                        next!()
                    }
                    Instruction::Push { call } => {
                        push!(code.calls.get_unchecked(call as usize));
                        next!()
                    }
                    Instruction::Start { start } => {
                        aside!(self.start_site(start));
                        next!()
                    }
                    Instruction::Metacall { metacall } => {
                        save!();
                        self.metacall_site(metacall);
                        restore!();
                        next!()
                    }
                    Instruction::Execute { predicate, entry } => enter!(predicate, entry),
                    Instruction::Proceed => proceed!(),
                    Instruction::BuiltinEntry { predicate } => {
                        // Builtins are no reductions.
                        budget += 1;
                        aside!(self.builtin_goal(predicate));
                        proceed!()
                    }
                    Instruction::Ensure { words, predicate } => {
                        aside!(self.ensure(predicate, words as usize));
                        next!()
                    }
                }
            }
        }
    }

    pub(crate) fn note_both(&mut self, left: Word, right: Word) {
        if left.is_variable() {
            self.registers.note(left);
        }
        if right.is_variable() && right != left {
            self.registers.note(right);
        }
    }
}

/// Where the interpreter begins: with the next goal.
static PROCEED: [Instruction; 1] = [Instruction::Proceed];

/// Whether a bound value is of a type.
///
/// # Safety
/// `value` is a bound value of a live heap.
pub(crate) unsafe fn has_type(value: Word, kind: Type) -> bool {
    // SAFETY: the value is a bound one of a live heap (this function's condition), and the pointer of an object is that
    // of a header.
    let object = |wanted: Kind| value.tag() == OBJECT && unsafe { Kind::of(*value.pointer()) } == wanted;
    match kind {
        Type::Any => true,
        Type::Integer => value.is_integer(),
        Type::Atom => value.is_atom(),
        Type::Float => object(Kind::Float),
        Type::Atomic => value.is_integer() || value.is_atom() || object(Kind::Float),
        Type::List => value.tag() == LIST,
        Type::Structure => object(Kind::Structure),
        Type::Vector => object(Kind::Vector) || object(Kind::Array),
        Type::String => object(Kind::String),
        Type::Predicate => object(Kind::Predicate),
    }
}
