//! Arithmetic expressions.

use super::clause::ClauseBuilder;
use crate::diagnostics::{Diagnostic, nearest};
use crate::ir::{BinaryOperation, Expression, Number, Span, Term, UnaryOperation};
use crate::syntax::{Kind, Tree, print_term};

/// Operations of integers that the KL1 systems also have as goals, `add(X, Y, Z)` for `Z := X + Y`: name, sign, operands.
const INTEGER_GOALS: &[(&str, &str, usize)] = &[
    ("add", "+", 2),
    ("subtract", "-", 2),
    ("multiply", "*", 2),
    ("divide", "/", 2),
    ("modulo", "mod", 2),
    ("and", "/\\", 2),
    ("or", "\\/", 2),
    ("exclusive_or", "xor", 2),
    ("shift_left", "<<", 2),
    ("shift_right", ">>", 2),
    ("complement", "\\", 1),
    ("plus", "+", 1),
    ("minus", "-", 1),
    ("floating_point_to_integer", "int", 1),
];
/// The same of floats.
const FLOAT_GOALS: &[(&str, &str, usize)] = &[
    ("floating_point_add", "+", 2),
    ("floating_point_subtract", "-", 2),
    ("floating_point_multiply", "*", 2),
    ("floating_point_divide", "/", 2),
    ("integer_to_floating_point", "float", 1),
];

/// The expression that a goal of this name computes, as a term, and the argument that gets its value.
pub(super) fn computed<'a>(name: &str, arguments: &'a [Tree], tree: &Tree) -> Option<(&'a Tree, Tree, Number)> {
    let (target, operands) = arguments.split_last()?;
    [(INTEGER_GOALS, Number::Integer), (FLOAT_GOALS, Number::Float)].into_iter().find_map(|(goals, number)| {
        let (_, sign, _) = goals.iter().find(|(known, _, arity)| *known == name && *arity == operands.len())?;
        let expression = Kind::Structure((*sign).to_string(), tree.span, operands.to_vec());
        Some((target, Tree::new(expression, tree.span), number))
    })
}

/// Names of operations, for suggestions.
const NAMES: &[&str] = &[
    "mod", "xor", "int", "float", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log",
    "sqrt", "ceil", "floor", "pow",
];

impl ClauseBuilder<'_> {
    /// An expression of one kind of number; `None` where it is none, which has been reported.
    pub fn expression(&mut self, tree: &Tree, number: Number) -> Option<Expression> {
        match (&tree.kind, number) {
            (Kind::Variable(name), _) => Some(Expression::Variable(self.variable(name, tree.span))),
            (Kind::Integer(value), Number::Integer) => Some(Expression::Integer(*value)),
            (Kind::Float(value), Number::Float) => Some(Expression::Float(*value)),
            (Kind::Integer(value), Number::Float) => self.wrong(
                tree.span,
                format!("the integer {value} in an expression of floats"),
                format!("write {value}.0; an integer of the program is converted by float(X)"),
            ),
            (Kind::Float(_), Number::Integer) => self.wrong(
                tree.span,
                "a float in an expression of integers".into(),
                "floats are computed and compared with $:= $< $=< $> $>= $=:= $=\\=; int(X) converts one".into(),
            ),
            (Kind::Structure(name, _, arguments), _) => self.operation(tree, name, arguments, number),
            _ => self.wrong(
                tree.span,
                format!("{} is no number", print_term(tree)),
                "operands are numbers and variables".into(),
            ),
        }
    }

    fn wrong(&mut self, span: Span, message: String, help: String) -> Option<Expression> {
        self.report(Diagnostic::error("arithmetic", span, message).help(help));
        None
    }

    fn operation(&mut self, tree: &Tree, name: &str, arguments: &[Tree], number: Number) -> Option<Expression> {
        match arguments {
            [operand] => match name {
                "~" | "$~" | "`" | "+" => self.expression(operand, number),
                "#" => match self.term(tree) {
                    Term::Integer(value) if number == Number::Integer => Some(Expression::Integer(value)),
                    _ => None,
                },
                _ => self.unary(tree, name, operand, number),
            },
            [left, right] if name == "#" => match self.term(tree) {
                Term::Integer(value) if number == Number::Integer => Some(Expression::Integer(value)),
                _ => self.wrong(
                    left.span.to(right.span),
                    "this constant is no number of this kind".into(),
                    "operands are numbers and variables".into(),
                ),
            },
            [left, right] => self.binary(tree, name, left, right, number),
            _ => self.no_operation(tree.span, name, arguments.len(), number),
        }
    }

    fn unary(&mut self, tree: &Tree, name: &str, operand: &Tree, number: Number) -> Option<Expression> {
        let Some((operation, of)) = unary_operation(name, number) else {
            return self.no_operation(tree.span, name, 1, number);
        };
        let operand = self.expression(operand, of)?;
        match (operation, operand) {
            (UnaryOperation::Negate, Expression::Integer(value)) => Some(Expression::Integer(-value)),
            (UnaryOperation::Negate, Expression::Float(value)) => Some(Expression::Float(-value)),
            (_, operand) => Some(Expression::Unary(number, operation, Box::new(operand))),
        }
    }

    fn binary(&mut self, tree: &Tree, name: &str, left: &Tree, right: &Tree, number: Number) -> Option<Expression> {
        let Some(operation) = binary_operation(name, number) else {
            return self.no_operation(tree.span, name, 2, number);
        };
        if name == "mod" {
            self.warn_of_modulo(tree, left);
        }
        // Both sides, so that errors in both are found.
        let (first, second) = (self.expression(left, number), self.expression(right, number));
        let (first, second) = (first?, second?);
        let divides = matches!(operation, BinaryOperation::Divide | BinaryOperation::Modulo);
        if divides && second == Expression::Integer(0) {
            return self.wrong(right.span, "a division by zero".into(), "it can never have a value".into());
        }
        let shifts = matches!(operation, BinaryOperation::ShiftLeft | BinaryOperation::ShiftRight);
        if shifts && matches!(second, Expression::Integer(distance) if distance < 0) {
            return self.wrong(right.span, "a shift by a negative distance".into(), "shift the other way".into());
        }
        Some(Expression::Binary(number, operation, Box::new((first, second))))
    }

    /// Here `mod` binds as `*` does, as in ISO Prolog; in the KL1 systems it binds more tightly.
    fn warn_of_modulo(&mut self, tree: &Tree, left: &Tree) {
        let Kind::Structure(sign, _, operands) = &left.kind else { return };
        let [first, last] = operands.as_slice() else { return };
        let is_bracketed = left.span != first.span.to(last.span);
        if is_bracketed || !matches!(sign.as_str(), "*" | "/" | "<<" | ">>") {
            return;
        }
        let [first, last] = [first, last].map(print_term);
        let right = tree.as_structure::<2>("mod").map(|[_, right]| print_term(right)).unwrap_or_default();
        self.report(
            Diagnostic::warning(
                "precedence",
                tree.span,
                format!(
                    "this is ({first} {sign} {last}) mod {right} here, and {first} {sign} ({last} mod {right}) in KLIC"
                ),
            )
            .help("brackets say which is meant"),
        );
    }

    fn no_operation(&mut self, span: Span, name: &str, arity: usize, number: Number) -> Option<Expression> {
        let other = match number {
            Number::Integer => Number::Float,
            Number::Float => Number::Integer,
        };
        let exists_for_other = match arity {
            1 => unary_operation(name, other).is_some(),
            2 => binary_operation(name, other).is_some(),
            _ => false,
        };
        let (kind, help) = match (number, exists_for_other) {
            (Number::Integer, true) => ("integers", "it is one of floats: $:= and $~ compute those".to_string()),
            (Number::Float, true) => ("floats", "it is one of integers: := and ~ compute those".to_string()),
            (Number::Integer, false) => ("integers", suggestion(name)),
            (Number::Float, false) => ("floats", suggestion(name)),
        };
        self.wrong(span, format!("{name}/{arity} is no operation of {kind}"), help)
    }

    /// Reports the variables of a guard's expression that nothing before it gives a value.
    pub fn must_be_known(&mut self, expression: &Expression, span: Span) {
        let mut unknown = Vec::new();
        expression.for_each_variable(&mut |variable| {
            if !self.known[variable.0 as usize] && !unknown.contains(&variable) {
                unknown.push(variable);
            }
        });
        for variable in unknown {
            self.no_value(variable, span);
        }
    }

    /// Reports a variable of a guard goal that nothing before it gives a value; says so once.
    pub fn no_value(&mut self, variable: crate::ir::VariableId, span: Span) {
        let name = self.variables[variable.0 as usize].name.clone();
        self.known[variable.0 as usize] = true;
        self.report(
            Diagnostic::error("no-value", span, format!("{name} has no value here: the guard would wait for ever"))
                .label(format!("{name} is neither in the head nor made by an earlier goal of the guard"))
                .help("guard goals are tested from left to right"),
        );
    }
}

fn suggestion(name: &str) -> String {
    match nearest(name, NAMES.iter().copied()) {
        Some(found) => format!("did you mean {found}?"),
        None => {
            "integers have + - * / mod /\\ \\/ xor << >> \\ int; floats + - * / pow sqrt exp log sin … float".into()
        }
    }
}

/// An operation and the kind of its operand.
fn unary_operation(name: &str, number: Number) -> Option<(UnaryOperation, Number)> {
    use Number::{Float, Integer};
    Some(match (name, number) {
        ("-", _) => (UnaryOperation::Negate, number),
        ("\\", Integer) => (UnaryOperation::Complement, Integer),
        ("int", Integer) => (UnaryOperation::FloatToInteger, Float),
        ("float", Float) => (UnaryOperation::IntegerToFloat, Integer),
        ("sin", Float) => (UnaryOperation::Sine, Float),
        ("cos", Float) => (UnaryOperation::Cosine, Float),
        ("tan", Float) => (UnaryOperation::Tangent, Float),
        ("asin", Float) => (UnaryOperation::ArcSine, Float),
        ("acos", Float) => (UnaryOperation::ArcCosine, Float),
        ("atan", Float) => (UnaryOperation::ArcTangent, Float),
        ("sinh", Float) => (UnaryOperation::HyperbolicSine, Float),
        ("cosh", Float) => (UnaryOperation::HyperbolicCosine, Float),
        ("tanh", Float) => (UnaryOperation::HyperbolicTangent, Float),
        ("exp", Float) => (UnaryOperation::Exponential, Float),
        ("log", Float) => (UnaryOperation::Logarithm, Float),
        ("sqrt", Float) => (UnaryOperation::SquareRoot, Float),
        ("ceil", Float) => (UnaryOperation::Ceiling, Float),
        ("floor", Float) => (UnaryOperation::Floor, Float),
        _ => return None,
    })
}

fn binary_operation(name: &str, number: Number) -> Option<BinaryOperation> {
    use Number::{Float, Integer};
    Some(match (name, number) {
        ("+", _) => BinaryOperation::Add,
        ("-", _) => BinaryOperation::Subtract,
        ("*", _) => BinaryOperation::Multiply,
        ("/", _) => BinaryOperation::Divide,
        ("mod", Integer) => BinaryOperation::Modulo,
        ("/\\", Integer) => BinaryOperation::And,
        ("\\/", Integer) => BinaryOperation::Or,
        ("xor", Integer) => BinaryOperation::ExclusiveOr,
        ("<<", Integer) => BinaryOperation::ShiftLeft,
        (">>", Integer) => BinaryOperation::ShiftRight,
        ("pow", Float) => BinaryOperation::Power,
        _ => return None,
    })
}
