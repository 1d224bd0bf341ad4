//! Active unification, and the goals that it wakes.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value};

use super::function::Function;
use super::names::{WORD, field};
use crate::engine::instruction::Register;
use crate::heap::goal::{LINK, MAX_QUEUES, goal_header, state};
use crate::heap::word::{REF, UNBOUND};

impl Function<'_> {
    /// Active unification; `bound`: `right` is known to be no variable.
    pub(super) fn unify(&mut self, left: Value, right: Value, bound: bool) {
        let right = if bound {
            right
        } else {
            let blocks = [self.b.create_block(), self.b.create_block(), self.b.create_block()];
            self.followed(right, blocks)
        };
        let (check, follow, slow) = (self.b.create_block(), self.b.create_block(), self.cold());
        let (bind, next, done) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let parameter = self.b.append_block_param(check, WORD);
        self.b.ins().jump(check, &[BlockArg::Value(left)]);
        self.b.switch_to_block(check);
        let reference = self.has_tag(parameter, REF);
        self.b.ins().brif(reference, follow, &[], slow, &[]);
        self.b.switch_to_block(follow);
        let content = self.load(parameter, -(REF as i32));
        let free = self.b.ins().icmp_imm_s(IntCC::Equal, content, UNBOUND as i64);
        self.b.ins().brif(free, bind, &[], next, &[]);
        self.b.switch_to_block(next);
        let (open, awaited) = (self.has_tag(content, UNBOUND), self.b.create_block());
        self.b.ins().brif(open, awaited, &[], check, &[BlockArg::Value(content)]);
        for (block, waits) in [(bind, false), (awaited, true)] {
            self.b.switch_to_block(block);
            if waits {
                if !bound {
                    let (go, reference) = (self.b.create_block(), self.has_tag(right, REF));
                    let (variable, swapped) = (self.b.create_block(), self.b.create_block());
                    self.b.ins().brif(reference, variable, &[], go, &[]);
                    // Where nothing waits for the other variable, that becomes this one, and what waits here stays.
                    self.b.switch_to_block(variable);
                    let content = self.load(right, -(REF as i32));
                    let free = self.b.ins().icmp_imm_s(IntCC::Equal, content, UNBOUND as i64);
                    self.b.ins().brif(free, swapped, &[], slow, &[]);
                    self.b.switch_to_block(swapped);
                    self.store(parameter, right, -(REF as i32));
                    self.b.ins().jump(done, &[]);
                    self.b.switch_to_block(go);
                }
                self.wake(content, slow);
            } else if !bound {
                // It may be the very same variable.
                let (go, same) = (self.b.create_block(), self.b.ins().icmp(IntCC::Equal, parameter, right));
                self.b.ins().brif(same, done, &[], go, &[]);
                self.b.switch_to_block(go);
            }
            self.store(right, parameter, -(REF as i32));
            self.b.ins().jump(done, &[]);
        }
        self.b.switch_to_block(slow);
        self.save();
        let result = self.call("unify", &[parameter, right]);
        self.leave_unless_going_on(result);
        self.restore();
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Follows references from a value to one that is none, or to an unbound variable, in these new blocks; goes on in
    /// the last.
    pub(super) fn followed(&mut self, value: Value, [check, look, done]: [Block; 3]) -> Value {
        let parameter = self.b.append_block_param(check, WORD);
        self.b.ins().jump(check, &[BlockArg::Value(value)]);
        self.b.switch_to_block(check);
        let reference = self.has_tag(parameter, REF);
        self.b.ins().brif(reference, look, &[], done, &[]);
        self.b.switch_to_block(look);
        let content = self.load(parameter, -(REF as i32));
        let free = self.has_tag(content, UNBOUND);
        self.b.ins().brif(free, done, &[], check, &[BlockArg::Value(content)]);
        self.b.switch_to_block(done);
        parameter
    }

    /// What a stream does all the time: one goal of the present queue waits for the variable, and wakes. Anything else
    /// is for `slow`, before anything has been done. `content` is that of the variable's cell.
    fn wake(&mut self, content: Value, slow: Block) {
        let goal = self.b.ins().iadd_imm_s(content, -(UNBOUND as i64));
        let header = self.load(goal, 0);
        let queue = self.load_field(field!(queue_bits));
        let (same, last) = (self.b.create_block(), self.b.create_block());
        // All of the header but predicate and arity.
        let waiting = goal_header(0, 0, state::SUSPENDED, 0).0;
        let all = goal_header(0, 0, 3, MAX_QUEUES as u32 - 1).0 | 0xff;
        let masked = self.b.ins().band_imm_s(header, all as i64);
        let wanted = self.b.ins().bor_imm_s(queue, waiting as i64);
        let is_that = self.b.ins().icmp(IntCC::Equal, masked, wanted);
        self.b.ins().brif(is_that, same, &[], slow, &[]);
        self.b.switch_to_block(same);
        let link = self.load(goal, LINK as i32 * 8);
        self.b.ins().brif(link, slow, &[], last, &[]);
        self.b.switch_to_block(last);
        let woken = goal_header(0, 0, state::WOKEN, 0).0 - waiting;
        let header = self.b.ins().iadd_imm_s(header, woken as i64);
        self.store(header, goal, 0);
        self.add_in_memory(field!(waiting), -1);
        self.count(field!(resumptions));
        let ready = self.load_field(field!(ready));
        self.store(ready, goal, LINK as i32 * 8);
        self.store_field(goal, field!(ready));
    }

    /// Counts something that is only counted.
    pub(super) fn count(&mut self, field: i32) {
        if self.names.counts {
            self.add_in_memory(field, 1);
        }
    }

    pub(super) fn add_in_memory(&mut self, field: i32, value: i64) {
        let before = self.load_field(field);
        let after = self.b.ins().iadd_imm_s(before, value);
        self.store_field(after, field);
    }

    /// Active unification of a register with a value that is no variable.
    pub(super) fn bind(&mut self, register: Register, value: Value) {
        let variable = self.get(register);
        if self.is_new(register) {
            self.store(value, variable, -(REF as i32));
        } else {
            self.unify(variable, value, true);
        }
    }
}
