//! The compiled code of a program as text, for people: a line for each instruction, operands by the names and in the order
//! of the [table of instructions](crate::engine::instruction).

use std::fmt::Write as _;

use crate::engine::Loaded;
use crate::engine::instruction::{
    Boxed, Calculation, CallSite, Code, Field, Guard, Instruction, Label, MetacallGoal, NOWHERE, Operand,
    PlacementKind, PriorityKind, Register, Role, Start, Table, Type,
};
use crate::heap::Word;
use crate::heap::word::Kind;
use crate::ir::{Number, PredicateId, Program, Span, quote_atom, quote_string};

/// The width of mnemonics, so that operands stand below each other.
const MNEMONIC: usize = 20;
/// Where the line of the source stands behind an instruction.
const SOURCE: usize = 76;

/// The instructions of every predicate that [`crate::explain::is_shown`].
///
/// Labels are numbers of instructions from the first one of the predicate, `-` where no answer leads there; registers are
/// `r0`, `r1`, …, those that are given a new variable `_r0`. The line of the source is told where it changes.
pub fn disassemble(loaded: &Loaded, library: bool) -> String {
    let (program, code) = (&*loaded.program, &*loaded.code);
    let mut text = String::new();
    for (id, _) in program.iter().filter(|(_, predicate)| crate::explain::is_shown(program, predicate, library)) {
        Disassembly { program, code, first: code.predicates[id.0 as usize].entry }.predicate(&mut text, id);
    }
    text
}

struct Disassembly<'a> {
    program: &'a Program,
    code: &'a Code,
    /// The first instruction of the predicate.
    first: Label,
}

impl Disassembly<'_> {
    fn predicate(&self, text: &mut String, id: PredicateId) {
        // Writing into a string does not fail.
        let of = &self.code.predicates[id.0 as usize];
        let _ = writeln!(text, "{}:", self.program.indicator(id));
        let mut before = None;
        for label in of.entry..of.end {
            let mut line = format!("{:>6}  {}", label - of.entry, self.instruction(label));
            let source = self.code.spans[label as usize].map(|span| self.source(span));
            if source.is_some() && source != before {
                let _ = write!(line, "{:1$}", "", SOURCE.saturating_sub(line.chars().count()));
                let _ = write!(line, "  % {}", source.as_deref().unwrap_or_default());
                before = source;
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text.push('\n');
    }

    fn source(&self, span: Span) -> String {
        let source = &self.program.sources[span.source as usize];
        format!("{}:{}", source.name, source.line_and_column(span.start).0)
    }

    fn instruction(&self, label: Label) -> String {
        let mut instruction: Instruction = self.code.instructions[label as usize];
        let mut line = format!("{:MNEMONIC$}", instruction.mnemonic());
        let mut separator = "";
        instruction.for_each_field(&mut |name, field| {
            if let Some(operand) = self.field(&field) {
                let _ = write!(line, "{separator}{name}={operand}");
                separator = " ";
            }
        });
        line
    }

    /// `None` for what goes without saying.
    fn field(&self, field: &Field<'_>) -> Option<String> {
        Some(match field {
            Field::Read(register) | Field::Write(register) => format!("r{register}"),
            Field::Label(label) => self.label(**label),
            Field::Goal(predicate) => self.called(**predicate),
            Field::Constant(index) => self.constant(self.code.constants[**index as usize]),
            Field::Boxed(index) => self.boxed(&self.code.boxes[**index as usize]),
            Field::Table(index) => self.table(&self.code.tables[**index as usize]),
            Field::Guard(index) => self.guard(&self.code.guards[**index as usize]),
            Field::Build(index) => {
                let build = &self.code.builds[**index as usize];
                format!("{}({})", self.constant(build.header), self.operands(&build.cells))
            }
            Field::Call(index) => self.call(&self.code.calls[**index as usize]),
            Field::Calculation(index) => calculation(&self.code.calculations[**index as usize]),
            Field::Start(index) => self.start(&self.code.starts[**index as usize]),
            Field::Metacall(index) => {
                let site = &self.code.metacalls[**index as usize];
                let goal = match &site.goal {
                    MetacallGoal::Call(call) => self.call(call),
                    MetacallGoal::Dynamic { term, .. } => format!("r{term}"),
                };
                format!("call({goal}, r{}, r{})", site.result, site.control)
            }
            Field::Integer(value) => value.to_string(),
            Field::Index(index) => index.to_string(),
            Field::Words(words) => words.to_string(),
            Field::Type(kind) => type_name(**kind).to_owned(),
            Field::Comparison(comparison) => comparison.name().to_owned(),
            Field::Operation(operation) => operation.name().to_owned(),
            // The predicate that the line stands in, and where the code of a called one begins.
            Field::Predicate(_) | Field::Entry(_) => return None,
        })
    }

    fn label(&self, label: Label) -> String {
        if label == NOWHERE { "-".to_owned() } else { (label - self.first).to_string() }
    }

    /// A predicate of the program or of the engine.
    fn called(&self, predicate: u32) -> String {
        let of = &self.code.predicates[predicate as usize];
        match of.role {
            Role::Program => self.program.indicator(PredicateId(predicate)),
            Role::Builtin(builtin) => format!("{}/{}", quote_atom(builtin.name()), of.arity),
            Role::Unary(number, operation) => format!("{}{}/{}", number.prefix(), operation.name(), of.arity),
            Role::Binary(number, operation) => format!("{}{}/{}", number.prefix(), operation.name(), of.arity),
            Role::Start => "start".to_owned(),
            Role::Metacall => "call".to_owned(),
        }
    }

    fn atom(&self, number: u32) -> String {
        quote_atom(self.program.atoms.name(crate::ir::AtomId(number)))
    }

    fn constant(&self, word: Word) -> String {
        if word.is_integer() {
            return word.value().to_string();
        }
        if word.is_atom() {
            return self.atom(word.atom_number());
        }
        if word.tag() != crate::heap::word::HEADER {
            return "a large term".to_owned();
        }
        match Kind::of(word) {
            Kind::Structure => format!("{}/{}", self.atom(word.name()), word.arity()),
            Kind::Vector => format!("vector/{}", word.payload()),
            kind => format!("{kind:?}").to_lowercase(),
        }
    }

    fn boxed(&self, value: &Boxed) -> String {
        match value {
            Boxed::Float(value) => format!("{value:?}"),
            Boxed::String(bytes) => quote_string(bytes),
            Boxed::Predicate(predicate) => self.called(*predicate),
            Boxed::Literal(literal) => format!("a term of {} words", literal.words()),
        }
    }

    /// In the order of the labels: a table has none of its own.
    fn table(&self, table: &Table) -> String {
        let values = table.constants.iter().chain(&table.headers);
        let mut rows: Vec<(Label, String)> = values.map(|(word, label)| (*label, self.constant(*word))).collect();
        rows.sort();
        let rows = rows.into_iter().map(|(label, value)| (value, label));
        let kinds = [("list", table.list), ("other", table.other), ("unbound", table.unbound)];
        let rows = rows.chain(kinds.map(|(kind, label)| (format!("({kind})"), label)));
        let rows: Vec<String> = rows.map(|(value, label)| format!("{value}: {}", self.label(label))).collect();
        format!("{{{}}}", rows.join(", "))
    }

    fn guard(&self, guard: &Guard) -> String {
        match guard {
            Guard::Compare(number, comparison, left, right) => {
                format!("(r{left} {}{} r{right})", number.prefix(), comparison.name())
            }
            Guard::Unary(number, operation, target, operand) => unary(*number, operation.name(), *target, *operand),
            Guard::Binary(number, operation, target, left, right) => {
                binary(*number, operation.name(), *target, *left, *right)
            }
            Guard::Builtin(builtin, inputs, outputs) => {
                let arguments: Vec<String> =
                    inputs.iter().chain(outputs).map(|register| format!("r{register}")).collect();
                format!("{}({})", quote_atom(builtin.name()), arguments.join(", "))
            }
        }
    }

    fn operands(&self, operands: &[Operand]) -> String {
        let texts: Vec<String> = operands
            .iter()
            .map(|operand| match operand {
                Operand::Register(register) => format!("r{register}"),
                Operand::Constant(word) => self.constant(*word),
                Operand::Variable(register) => format!("_r{register}"),
            })
            .collect();
        texts.join(", ")
    }

    fn call(&self, call: &CallSite) -> String {
        format!("{}({})", self.called(call.predicate), self.operands(&call.arguments))
    }

    /// With its pragma as programs have it.
    fn start(&self, start: &Start) -> String {
        let mut text = match start.placement {
            Some((PlacementKind::Node, register)) => format!("node(r{register})@@"),
            Some((PlacementKind::Alloc, register)) => format!("alloc(r{register})@@"),
            None => String::new(),
        };
        text.push_str(&self.call(&start.call));
        let _ = match start.priority {
            Some((PriorityKind::Absolute, register)) => write!(text, "@priority(r{register})"),
            Some((PriorityKind::Lower, register)) => write!(text, "@lower_priority(r{register})"),
            None => Ok(()),
        };
        text
    }
}

fn calculation(calculation: &Calculation) -> String {
    match *calculation {
        Calculation::Unary(number, operation, target, operand) => unary(number, operation.name(), target, operand),
        Calculation::Binary(number, operation, target, left, right) => {
            binary(number, operation.name(), target, left, right)
        }
    }
}

fn unary(number: Number, name: &str, target: Register, operand: Register) -> String {
    format!("(r{target} {}:= {name}(r{operand}))", number.prefix())
}

fn binary(number: Number, name: &str, target: Register, left: Register, right: Register) -> String {
    format!("(r{target} {}:= r{left} {name} r{right})", number.prefix())
}

fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Any => "any",
        Type::Integer => "integer",
        Type::Atom => "atom",
        Type::Float => "float",
        Type::Atomic => "atomic",
        Type::List => "list",
        Type::Structure => "structure",
        Type::Vector => "vector",
        Type::String => "string",
        Type::Predicate => "predicate",
    }
}
