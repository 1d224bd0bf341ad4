//! The normal form as text: `weft fghc explain` shows it, and messages name terms with it.

use std::fmt::{self, Display, Formatter, Write as _};

use super::{
    BinaryOperation, BodyGoal, Call, Clause, Comparison, Expression, Goal, GuardGoal, MetaGoal, Number, Placement,
    Pragma, Priority, Program, Term, Test, UnaryOperation,
};

/// An atom as source text: quoted where it must be.
pub fn quote_atom(name: &str) -> String {
    if is_plain_atom(name) { name.to_string() } else { quote(name.as_bytes(), '\'') }
}

/// A string as source text.
pub fn quote_string(bytes: &[u8]) -> String {
    quote(bytes, '"')
}

fn is_plain_atom(name: &str) -> bool {
    let mut characters = name.chars();
    match characters.next() {
        None => false,
        Some(first) if first.is_ascii_lowercase() => {
            characters.all(|character| character == '_' || character.is_ascii_alphanumeric())
        }
        // A lone full stop ends a clause, and `/*` begins a comment.
        Some(_) if name.chars().all(is_symbol_character) => name != "." && !name.starts_with("/*"),
        Some(_) => matches!(name, "[]" | "!" | ";"),
    }
}

/// Characters of which atoms like `:=` are made.
pub(crate) fn is_symbol_character(character: char) -> bool {
    matches!(
        character,
        '~' | '+' | '-' | '*' | '/' | '\\' | '^' | '<' | '>' | '=' | '`' | ':' | '.' | '?' | '@' | '#' | '$' | '&'
    )
}

fn quote(bytes: &[u8], mark: char) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push(mark);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\r' => text.push_str("\\r"),
                '\\' => text.push_str("\\\\"),
                _ if character == mark => text.extend(['\\', mark]),
                // Three octal digits: a digit that follows cannot be taken for a fourth.
                _ if (character as u32) < 0x20 || character as u32 == 0x7f => {
                    write!(text, "\\{:03o}", character as u32).expect("a string takes all text");
                }
                _ => text.push(character),
            }
        }
        for byte in chunk.invalid() {
            write!(text, "\\{byte:03o}").expect("a string takes all text");
        }
    }
    text.push(mark);
    text
}

/// A float as source text: always with a point, and read back as the same number.
pub fn write_float(value: f64) -> String {
    if !value.is_finite() {
        return format!("{value}");
    }
    let text = format!("{value:?}");
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}

/// Shows parts of a clause with the names of its program.
#[derive(Clone, Copy)]
pub struct ClausePrinter<'a> {
    program: &'a Program,
    clause: &'a Clause,
}

impl<'a> ClausePrinter<'a> {
    /// A printer for parts of `clause`, a clause of `program`.
    pub fn new(program: &'a Program, clause: &'a Clause) -> Self {
        ClausePrinter { program, clause }
    }

    /// The whole clause, of a predicate called `name`, over several lines.
    pub fn clause(self, name: &'a str) -> impl Display + 'a {
        Show(move |f: &mut Formatter<'_>| {
            f.write_str(&quote_atom(name))?;
            self.arguments(f, &self.clause.head)?;
            f.write_str(" :- ")?;
            if self.clause.guard.is_empty() {
                f.write_str("true")?;
            }
            for (index, goal) in self.clause.guard.iter().enumerate() {
                f.write_str(if index == 0 { "" } else { ", " })?;
                self.guard_goal(f, goal)?;
            }
            f.write_str(" |")?;
            if self.clause.body.is_empty() {
                f.write_str(" true")?;
            }
            for (index, goal) in self.clause.body.iter().enumerate() {
                f.write_str(if index == 0 { "\n    " } else { ",\n    " })?;
                self.body_goal(f, goal)?;
            }
            f.write_str(".")
        })
    }

    /// A term.
    pub fn term(self, term: &'a Term) -> impl Display + 'a {
        Show(move |f: &mut Formatter<'_>| self.write_term(f, term))
    }

    /// An arithmetic expression.
    pub fn expression(self, expression: &'a Expression) -> impl Display + 'a {
        Show(move |f: &mut Formatter<'_>| self.write_expression(f, expression))
    }

    /// A goal of the guard.
    pub fn guard(self, goal: &'a GuardGoal) -> impl Display + 'a {
        Show(move |f: &mut Formatter<'_>| self.guard_goal(f, goal))
    }

    /// A goal of the body.
    pub fn goal(self, goal: &'a BodyGoal) -> impl Display + 'a {
        Show(move |f: &mut Formatter<'_>| self.body_goal(f, goal))
    }

    fn arguments(self, f: &mut Formatter<'_>, arguments: &[Term]) -> fmt::Result {
        if arguments.is_empty() {
            return Ok(());
        }
        f.write_char('(')?;
        self.terms(f, arguments)?;
        f.write_char(')')
    }

    fn terms(self, f: &mut Formatter<'_>, terms: &[Term]) -> fmt::Result {
        for (index, term) in terms.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            self.write_term(f, term)?;
        }
        Ok(())
    }

    fn write_term(self, f: &mut Formatter<'_>, term: &Term) -> fmt::Result {
        match term {
            Term::Variable(variable) => f.write_str(&self.clause.variables[variable.0 as usize].name),
            Term::Integer(value) => write!(f, "{value}"),
            Term::Float(value) => f.write_str(&write_float(*value)),
            Term::Atom(atom) => f.write_str(&quote_atom(self.program.atoms.name(*atom))),
            Term::String(bytes) => f.write_str(&quote_string(bytes)),
            Term::List(elements, rest) => self.list(f, elements, rest),
            Term::Structure(name, arguments) => {
                f.write_str(&quote_atom(self.program.atoms.name(*name)))?;
                self.arguments(f, arguments)
            }
            Term::Vector(elements) => {
                f.write_char('{')?;
                self.terms(f, elements)?;
                f.write_char('}')
            }
            Term::Predicate(predicate) => write!(f, "predicate#({})", self.program.indicator(*predicate)),
        }
    }

    fn list(self, f: &mut Formatter<'_>, elements: &[Term], rest: &Term) -> fmt::Result {
        f.write_char('[')?;
        self.terms(f, elements)?;
        if *rest != Term::Atom(super::atoms::NIL) {
            f.write_char('|')?;
            self.write_term(f, rest)?;
        }
        f.write_char(']')
    }

    fn write_expression(self, f: &mut Formatter<'_>, expression: &Expression) -> fmt::Result {
        match expression {
            Expression::Variable(variable) => f.write_str(&self.clause.variables[variable.0 as usize].name),
            Expression::Integer(value) => write!(f, "{value}"),
            Expression::Float(value) => f.write_str(&write_float(*value)),
            Expression::Unary(_, operation, operand) => {
                write!(f, "{}(", operation.name())?;
                self.write_expression(f, operand)?;
                f.write_char(')')
            }
            Expression::Binary(_, BinaryOperation::Power, operands) => {
                f.write_str("pow(")?;
                self.write_expression(f, &operands.0)?;
                f.write_str(", ")?;
                self.write_expression(f, &operands.1)?;
                f.write_char(')')
            }
            Expression::Binary(_, operation, operands) => {
                self.operand(f, &operands.0)?;
                write!(f, " {} ", operation.name())?;
                self.operand(f, &operands.1)
            }
        }
    }

    fn operand(self, f: &mut Formatter<'_>, operand: &Expression) -> fmt::Result {
        if !matches!(operand, Expression::Binary(..)) {
            return self.write_expression(f, operand);
        }
        f.write_char('(')?;
        self.write_expression(f, operand)?;
        f.write_char(')')
    }

    fn guard_goal(self, f: &mut Formatter<'_>, goal: &GuardGoal) -> fmt::Result {
        match &goal.test {
            Test::Unify(left, right) => self.infix(f, left, "=", right),
            Test::Compare(number, comparison, left, right) => {
                self.write_expression(f, left)?;
                write!(f, " {}{} ", number.prefix(), comparison.name())?;
                self.write_expression(f, right)
            }
            Test::Assign(variable, number, expression) => {
                write!(f, "{} {}:= ", self.clause.variables[variable.0 as usize].name, number.prefix())?;
                self.write_expression(f, expression)
            }
            Test::Builtin(builtin, arguments) => self.operation(f, builtin.name(), arguments),
            Test::Any(alternatives) => {
                f.write_char('(')?;
                for (index, goals) in alternatives.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { " ; " })?;
                    for (index, goal) in goals.iter().enumerate() {
                        f.write_str(if index == 0 { "" } else { ", " })?;
                        self.guard_goal(f, goal)?;
                    }
                    if goals.is_empty() {
                        f.write_str("true")?;
                    }
                }
                f.write_char(')')
            }
        }
    }

    fn operation(self, f: &mut Formatter<'_>, name: &str, arguments: &[Term]) -> fmt::Result {
        match arguments {
            [left, right] if name.chars().all(is_symbol_character) => self.infix(f, left, name, right),
            _ => {
                f.write_str(&quote_atom(name))?;
                self.arguments(f, arguments)
            }
        }
    }

    fn infix(self, f: &mut Formatter<'_>, left: &Term, name: &str, right: &Term) -> fmt::Result {
        self.write_term(f, left)?;
        write!(f, " {name} ")?;
        self.write_term(f, right)
    }

    fn body_goal(self, f: &mut Formatter<'_>, goal: &BodyGoal) -> fmt::Result {
        match &goal.goal {
            Goal::Unify(left, right) => self.infix(f, left, "=", right),
            Goal::Assign(target, number, expression) => {
                self.write_term(f, target)?;
                write!(f, " {}:= ", number.prefix())?;
                self.write_expression(f, expression)
            }
            Goal::Call(call, pragma) => self.call_with_pragma(f, call, pragma),
            Goal::Builtin(builtin, arguments) => self.operation(f, builtin.name(), arguments),
            Goal::Metacall(metacall) => {
                f.write_str("call(")?;
                match &metacall.goal {
                    MetaGoal::Call(call) => self.call(f, call)?,
                    MetaGoal::Dynamic { term, .. } => self.write_term(f, term)?,
                }
                f.write_str(", ")?;
                self.write_term(f, &metacall.result)?;
                f.write_str(", ")?;
                self.write_term(f, &metacall.control)?;
                f.write_char(')')
            }
        }
    }

    fn call(self, f: &mut Formatter<'_>, call: &Call) -> fmt::Result {
        let predicate = self.program.predicate(call.predicate);
        if self.program.modules.first() != Some(&predicate.module) {
            write!(f, "{}:", quote_atom(self.program.atoms.name(predicate.module)))?;
        }
        f.write_str(&quote_atom(self.program.atoms.name(predicate.name)))?;
        self.arguments(f, &call.arguments)
    }

    fn call_with_pragma(self, f: &mut Formatter<'_>, call: &Call, pragma: &Pragma) -> fmt::Result {
        if let Some(Placement::Alloc(number)) = &pragma.placement {
            f.write_str("alloc(")?;
            self.write_expression(f, number)?;
            f.write_str(")@@")?;
        }
        self.call(f, call)?;
        if let Some(Placement::Node(number)) = &pragma.placement {
            f.write_str("@node(")?;
            self.write_expression(f, number)?;
            f.write_char(')')?;
        }
        match &pragma.priority {
            None => Ok(()),
            Some(Priority::Absolute(priority)) => {
                f.write_str("@priority(")?;
                self.write_expression(f, priority)?;
                f.write_char(')')
            }
            Some(Priority::Lower(difference)) => {
                f.write_str("@lower_priority(")?;
                self.write_expression(f, difference)?;
                f.write_char(')')
            }
        }
    }
}

struct Show<F>(F);

impl<F: Fn(&mut Formatter<'_>) -> fmt::Result> Display for Show<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

impl Number {
    /// What stands before `:=` and comparisons of this kind.
    pub fn prefix(self) -> &'static str {
        match self {
            Number::Integer => "",
            Number::Float => "$",
        }
    }
}

impl Comparison {
    /// As written for integers.
    pub fn name(self) -> &'static str {
        match self {
            Comparison::Less => "<",
            Comparison::LessOrEqual => "=<",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Equal => "=:=",
            Comparison::NotEqual => "=\\=",
        }
    }
}

impl UnaryOperation {
    /// As written before its operand in brackets.
    pub fn name(self) -> &'static str {
        match self {
            UnaryOperation::Negate => "-",
            UnaryOperation::Complement => "\\",
            UnaryOperation::FloatToInteger => "int",
            UnaryOperation::IntegerToFloat => "float",
            UnaryOperation::Sine => "sin",
            UnaryOperation::Cosine => "cos",
            UnaryOperation::Tangent => "tan",
            UnaryOperation::ArcSine => "asin",
            UnaryOperation::ArcCosine => "acos",
            UnaryOperation::ArcTangent => "atan",
            UnaryOperation::HyperbolicSine => "sinh",
            UnaryOperation::HyperbolicCosine => "cosh",
            UnaryOperation::HyperbolicTangent => "tanh",
            UnaryOperation::Exponential => "exp",
            UnaryOperation::Logarithm => "log",
            UnaryOperation::SquareRoot => "sqrt",
            UnaryOperation::Ceiling => "ceil",
            UnaryOperation::Floor => "floor",
        }
    }
}

impl BinaryOperation {
    /// As written between its operands; [`BinaryOperation::Power`] is written `pow(X, Y)`.
    pub fn name(self) -> &'static str {
        match self {
            BinaryOperation::Add => "+",
            BinaryOperation::Subtract => "-",
            BinaryOperation::Multiply => "*",
            BinaryOperation::Divide => "/",
            BinaryOperation::Modulo => "mod",
            BinaryOperation::And => "/\\",
            BinaryOperation::Or => "\\/",
            BinaryOperation::ExclusiveOr => "xor",
            BinaryOperation::ShiftLeft => "<<",
            BinaryOperation::ShiftRight => ">>",
            BinaryOperation::Power => "pow",
        }
    }
}
