//! Numbers: integers of 61 bits whose overflow is an error, and floats.

use crate::heap::Word;
use crate::heap::word::INT;
use crate::ir::{BinaryOperation, Comparison, UnaryOperation};

/// Why integers give no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The result needs more than 61 bits.
    Overflow,
    /// By zero, or by a negative number of bits.
    Division,
}

/// An operation of two integers, both known to be such.
#[inline(always)]
pub fn integers(operation: BinaryOperation, left: Word, right: Word) -> Result<Word, Wrong> {
    match operation {
        // Tagged as they are: 8a + t + 8b + t - t. The sum overflows 64 bits exactly when it leaves 61.
        BinaryOperation::Add => {
            (left.0 as i64).checked_add((right.0 - INT) as i64).map(|sum| Word(sum as u64)).ok_or(Wrong::Overflow)
        }
        BinaryOperation::Subtract => {
            (left.0 as i64).checked_sub((right.0 - INT) as i64).map(|sum| Word(sum as u64)).ok_or(Wrong::Overflow)
        }
        BinaryOperation::Multiply => ((left.0 - INT) as i64)
            .checked_mul(right.value())
            .map(|product| Word(product as u64 | INT))
            .ok_or(Wrong::Overflow),
        _ => others(operation, left.value(), right.value()),
    }
}

fn others(operation: BinaryOperation, left: i64, right: i64) -> Result<Word, Wrong> {
    let value = match operation {
        BinaryOperation::Divide => left.checked_div(right).ok_or(Wrong::Division)?,
        BinaryOperation::Modulo => left.checked_rem(right).ok_or(Wrong::Division)?,
        BinaryOperation::And => left & right,
        BinaryOperation::Or => left | right,
        BinaryOperation::ExclusiveOr => left ^ right,
        BinaryOperation::ShiftLeft => {
            if right < 0 {
                return Err(Wrong::Division);
            }
            if left == 0 {
                0
            } else if right > 60 || (left << right) >> right != left {
                return Err(Wrong::Overflow);
            } else {
                left << right
            }
        }
        BinaryOperation::ShiftRight => {
            if right < 0 {
                return Err(Wrong::Division);
            }
            left >> right.min(63)
        }
        // The front end gives powers to floats only.
        BinaryOperation::Power | BinaryOperation::Add | BinaryOperation::Subtract | BinaryOperation::Multiply => {
            return Err(Wrong::Division);
        }
    };
    Word::integer(value).ok_or(Wrong::Overflow)
}

/// An operation of one integer.
pub fn integer(operation: UnaryOperation, value: i64) -> Result<Word, Wrong> {
    let value = match operation {
        UnaryOperation::Negate => -value,
        UnaryOperation::Complement => !value,
        _ => return Err(Wrong::Division),
    };
    Word::integer(value).ok_or(Wrong::Overflow)
}

/// An operation of two floats; `None` where there is none of that name.
pub fn floats(operation: BinaryOperation, left: f64, right: f64) -> Option<f64> {
    Some(match operation {
        BinaryOperation::Add => left + right,
        BinaryOperation::Subtract => left - right,
        BinaryOperation::Multiply => left * right,
        BinaryOperation::Divide => left / right,
        BinaryOperation::Power => left.powf(right),
        _ => return None,
    })
}

/// An operation of one float that gives a float.
pub fn float(operation: UnaryOperation, value: f64) -> Option<f64> {
    Some(match operation {
        UnaryOperation::Negate => -value,
        UnaryOperation::Sine => value.sin(),
        UnaryOperation::Cosine => value.cos(),
        UnaryOperation::Tangent => value.tan(),
        UnaryOperation::ArcSine => value.asin(),
        UnaryOperation::ArcCosine => value.acos(),
        UnaryOperation::ArcTangent => value.atan(),
        UnaryOperation::HyperbolicSine => value.sinh(),
        UnaryOperation::HyperbolicCosine => value.cosh(),
        UnaryOperation::HyperbolicTangent => value.tanh(),
        UnaryOperation::Exponential => value.exp(),
        UnaryOperation::Logarithm => value.ln(),
        UnaryOperation::SquareRoot => value.sqrt(),
        UnaryOperation::Ceiling => value.ceil(),
        UnaryOperation::Floor => value.floor(),
        UnaryOperation::Complement | UnaryOperation::FloatToInteger | UnaryOperation::IntegerToFloat => return None,
    })
}

/// A comparison of two numbers of one sort.
#[inline(always)]
pub fn compare<T: PartialOrd>(comparison: Comparison, left: T, right: T) -> bool {
    match comparison {
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
        Comparison::Greater => left > right,
        Comparison::GreaterOrEqual => left >= right,
        Comparison::Equal => left == right,
        Comparison::NotEqual => left != right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::word::{INT_MAX, INT_MIN};
    use proptest::prelude::*;

    fn operand() -> impl Strategy<Value = i64> {
        prop_oneof![INT_MIN..=INT_MAX, -20i64..20, Just(INT_MAX), Just(INT_MIN)]
    }

    proptest! {
        /// Every operation gives what 128 bits give, or says that 61 are too few.
        #[test]
        fn integers_are_exact_or_overflow(left in operand(), right in operand()) {
            use BinaryOperation::*;
            let (a, b) = (i128::from(left), i128::from(right));
            for operation in [Add, Subtract, Multiply, Divide, Modulo, And, Or, ExclusiveOr, ShiftLeft, ShiftRight] {
                let exact = match operation {
                    Add => Ok(a + b),
                    Subtract => Ok(a - b),
                    Multiply => Ok(a * b),
                    Divide => if b == 0 { Err(Wrong::Division) } else { Ok(a / b) },
                    Modulo => if b == 0 { Err(Wrong::Division) } else { Ok(a % b) },
                    And => Ok(a & b),
                    Or => Ok(a | b),
                    ExclusiveOr => Ok(a ^ b),
                    ShiftLeft => if b < 0 { Err(Wrong::Division) } else if a == 0 { Ok(0) }
                        else if b > 60 { Err(Wrong::Overflow) } else { Ok(a << b) },
                    ShiftRight => if b < 0 { Err(Wrong::Division) } else { Ok(a >> b.min(100)) },
                    Power => unreachable!(),
                };
                let expected = exact.and_then(|value| {
                    i64::try_from(value).ok().and_then(Word::integer).ok_or(Wrong::Overflow)
                });
                prop_assert_eq!(integers(operation, Word::small(left), Word::small(right)), expected, "{:?}", operation);
            }
        }
    }
}
