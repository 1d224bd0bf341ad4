//! Arithmetic of integers.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value};

use super::function::Function;
use super::helpers;
use super::names::WORD;
use crate::engine::Exit;
use crate::engine::instruction::{Label, Register};
use crate::heap::Word;
use crate::heap::word::{INT, REF, TAG_MASK};
use crate::ir::BinaryOperation;

impl Function<'_> {
    /// Result of two integers, and blocks that are gone to (cold) on an overflow and where there is no result.
    pub(super) fn calculate(
        &mut self,
        operation: BinaryOperation,
        left: Value,
        right: Value,
        overflow: Block,
        none: Block,
    ) -> Value {
        let done = self.b.create_block();
        let result = match operation {
            BinaryOperation::Add | BinaryOperation::Subtract | BinaryOperation::Multiply => {
                let (value, wrong) = match operation {
                    BinaryOperation::Multiply => {
                        let right = self.b.ins().sshr_imm_s(right, 3);
                        let (value, wrong) = self.b.ins().smul_overflow(left, right);
                        (value, wrong)
                    }
                    BinaryOperation::Add => self.b.ins().sadd_overflow(left, right),
                    _ => self.b.ins().ssub_overflow(left, right),
                };
                self.b.ins().brif(wrong, overflow, &[], done, &[]);
                value
            }
            _ => {
                let value = self.b.append_block_param(done, WORD);
                let slow = self.b.create_block();
                if matches!(operation, BinaryOperation::Divide | BinaryOperation::Modulo) {
                    // Neither 0 nor -1: the processor's division gives the result.
                    let divisor = self.b.ins().sshr_imm_s(right, 3);
                    let dividend = self.b.ins().sshr_imm_s(left, 3);
                    let shifted = self.b.ins().iadd_imm_s(divisor, 1);
                    let plain = self.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, shifted, 1);
                    let fast = self.b.create_block();
                    self.b.set_cold_block(slow);
                    self.b.ins().brif(plain, fast, &[], slow, &[]);
                    self.b.switch_to_block(fast);
                    let whole = match operation {
                        BinaryOperation::Divide => self.b.ins().sdiv(dividend, divisor),
                        _ => self.b.ins().srem(dividend, divisor),
                    };
                    let tagged = self.b.ins().ishl_imm_s(whole, 3);
                    self.b.ins().jump(done, &[BlockArg::Value(tagged)]);
                } else {
                    self.b.ins().jump(slow, &[]);
                }
                self.b.switch_to_block(slow);
                let at = self.constant(u64::from(self.at));
                let result = self.call("integers", &[at, left, right]);
                let whole = self.has_tag(result, INT);
                let wrong = self.cold();
                self.b.ins().brif(whole, done, &[BlockArg::Value(result)], wrong, &[]);
                self.b.switch_to_block(wrong);
                let too_large = self.b.ins().icmp_imm_s(IntCC::Equal, result, helpers::OVERFLOW);
                self.b.ins().brif(too_large, overflow, &[], none, &[]);
                value
            }
        };
        self.b.switch_to_block(done);
        result
    }

    pub(super) fn guard_calculate(
        &mut self,
        operation: BinaryOperation,
        target: Register,
        left: Register,
        right: Result<Register, i16>,
        (unbound, other): (Label, Label),
    ) {
        let operands: Vec<Register> = std::iter::once(left).chain(right.ok()).collect();
        self.integers(&operands, unbound);
        let a = self.get(left);
        let b = match right {
            Ok(register) => self.get(register),
            Err(value) => self.constant(Word::small(i64::from(value)).0),
        };
        let (overflow, other) = (self.cold(), self.label(other));
        let value = self.calculate(operation, a, b, overflow, other);
        let done = self.b.create_block();
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(overflow);
        self.spill(operands.iter().copied());
        self.spill(self.arguments());
        self.save();
        let at = self.constant(u64::from(self.at));
        let result = self.call("overflow", &[at]);
        self.exit(result);
        self.b.switch_to_block(done);
        self.set(target, value);
    }

    pub(super) fn body_calculate(
        &mut self,
        operation: BinaryOperation,
        target: Register,
        left: Register,
        right: Register,
    ) {
        let (a, b) = (self.get(left), self.get(right));
        let (whole, slow, done) = (self.b.create_block(), self.cold(), self.b.create_block());
        let result = self.b.append_block_param(done, WORD);
        let wrong = self.b.ins().bor(a, b);
        let wrong = self.b.ins().band_imm_s(wrong, TAG_MASK as i64);
        self.b.ins().brif(wrong, slow, &[], whole, &[]);
        self.b.switch_to_block(whole);
        let value = self.calculate(operation, a, b, slow, slow);
        self.b.ins().jump(done, &[BlockArg::Value(value)]);
        self.b.switch_to_block(slow);
        self.save();
        let at = self.constant(u64::from(self.at));
        let value = self.call("body_integers", &[at, a, b]);
        let (right, problem) = (self.b.create_block(), self.cold());
        let nothing = self.b.ins().icmp_imm_s(IntCC::Equal, value, REF as i64);
        self.b.ins().brif(nothing, problem, &[], right, &[]);
        self.b.switch_to_block(problem);
        let exit = self.b.ins().iconst(WORD, helpers::number(Exit::Problem));
        self.exit(exit);
        self.b.switch_to_block(right);
        self.restore();
        self.b.ins().jump(done, &[BlockArg::Value(value)]);
        self.b.switch_to_block(done);
        self.set(target, result);
    }
}
