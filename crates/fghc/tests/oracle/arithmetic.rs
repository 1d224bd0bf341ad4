//! Arithmetic: integers in 128 bits, of which 61 must be enough.

use weft_fghc::ir::{BinaryOperation, Comparison, MAX_INTEGER, MIN_INTEGER, Number, UnaryOperation};

use super::value::Value;

/// What an operation gives.
pub enum Calculated {
    Value(Value),
    /// An operand is unbound.
    Open,
    /// A wrong type, a division by zero: false in guards, an error in bodies.
    Wrong,
    /// Not within 61 bits: an error everywhere.
    Overflow,
    /// A float that is no number, of which identity and equality are different things: not compared.
    NotANumber,
}

fn integer(value: i128) -> Calculated {
    match i64::try_from(value) {
        Ok(value) if (MIN_INTEGER..=MAX_INTEGER).contains(&value) => Calculated::Value(Value::Integer(value)),
        _ => Calculated::Overflow,
    }
}

fn float(value: f64) -> Calculated {
    if value.is_nan() { Calculated::NotANumber } else { Calculated::Value(Value::Float(value)) }
}

pub fn unary(number: Number, operation: UnaryOperation, operand: &Value) -> Calculated {
    use UnaryOperation::*;
    match (operation, number, operand) {
        (_, _, Value::Variable(_)) => Calculated::Open,
        (FloatToInteger, _, Value::Float(value)) => {
            let whole = value.trunc();
            if whole.abs() > 2f64.powi(61) { Calculated::Overflow } else { integer(whole as i128) }
        }
        (FloatToInteger, ..) => Calculated::Wrong,
        (IntegerToFloat, _, Value::Integer(value)) => float(*value as f64),
        (IntegerToFloat, ..) => Calculated::Wrong,
        (Negate, Number::Integer, Value::Integer(value)) => integer(-i128::from(*value)),
        (Complement, Number::Integer, Value::Integer(value)) => integer(-i128::from(*value) - 1),
        (_, Number::Float, Value::Float(value)) => float(match operation {
            Negate => -value,
            Sine => value.sin(),
            Cosine => value.cos(),
            Tangent => value.tan(),
            ArcSine => value.asin(),
            ArcCosine => value.acos(),
            ArcTangent => value.atan(),
            HyperbolicSine => value.sinh(),
            HyperbolicCosine => value.cosh(),
            HyperbolicTangent => value.tanh(),
            Exponential => value.exp(),
            Logarithm => value.ln(),
            SquareRoot => value.sqrt(),
            Ceiling => value.ceil(),
            Floor => value.floor(),
            Complement | FloatToInteger | IntegerToFloat => return Calculated::Wrong,
        }),
        _ => Calculated::Wrong,
    }
}

pub fn binary(number: Number, operation: BinaryOperation, left: &Value, right: &Value) -> Calculated {
    use BinaryOperation::*;
    match (number, left, right) {
        (_, Value::Variable(_), _) | (_, _, Value::Variable(_)) => Calculated::Open,
        (Number::Integer, Value::Integer(left), Value::Integer(right)) => {
            let (left, right) = (i128::from(*left), i128::from(*right));
            match operation {
                Add => integer(left + right),
                Subtract => integer(left - right),
                Multiply => integer(left * right),
                Divide | Modulo if right == 0 => Calculated::Wrong,
                Divide => integer(left / right),
                Modulo => integer(left % right),
                And => integer(left & right),
                Or => integer(left | right),
                ExclusiveOr => integer(left ^ right),
                ShiftLeft | ShiftRight if right < 0 => Calculated::Wrong,
                ShiftLeft if left == 0 => integer(0),
                ShiftLeft if right > 62 => Calculated::Overflow,
                ShiftLeft => integer(left << right),
                ShiftRight => integer(left >> right.min(127)),
                Power => Calculated::Wrong,
            }
        }
        (Number::Float, Value::Float(left), Value::Float(right)) => float(match operation {
            Add => left + right,
            Subtract => left - right,
            Multiply => left * right,
            Divide => left / right,
            Power => left.powf(*right),
            _ => return Calculated::Wrong,
        }),
        _ => Calculated::Wrong,
    }
}

fn ordered<T: PartialOrd>(comparison: Comparison, left: T, right: T) -> bool {
    match comparison {
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
        Comparison::Greater => left > right,
        Comparison::GreaterOrEqual => left >= right,
        Comparison::Equal => left == right,
        Comparison::NotEqual => left != right,
    }
}

/// Whether a comparison of two bound values holds; never for values that are no such numbers.
pub fn compare(number: Number, comparison: Comparison, left: &Value, right: &Value) -> bool {
    match (number, left, right) {
        (Number::Integer, Value::Integer(left), Value::Integer(right)) => ordered(comparison, left, right),
        (Number::Float, Value::Float(left), Value::Float(right)) => ordered(comparison, left, right),
        _ => false,
    }
}
