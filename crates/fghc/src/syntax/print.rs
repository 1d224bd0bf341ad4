//! Terms as text that is read back as the same term.

use super::operators::{ARGUMENT, MAXIMUM, infix, prefix};
use super::tree::{Kind, Tree};
use crate::ir::{quote_atom, quote_string, write_float};

/// The text of a term: operators between their operands, brackets only where priorities ask for them.
pub fn print_term(tree: &Tree) -> String {
    let mut text = String::new();
    print(&mut text, tree, MAXIMUM);
    text
}

/// Appends a term that stands where at most this priority may stand.
fn print(text: &mut String, tree: &Tree, maximum: u16) {
    match &tree.kind {
        Kind::Variable(name) => text.push_str(name),
        Kind::Integer(value) => text.push_str(&value.to_string()),
        Kind::Float(value) => text.push_str(&write_float(*value)),
        Kind::Atom(name) => print_atom(text, name),
        Kind::String(bytes) => text.push_str(&quote_string(bytes)),
        Kind::List(elements, rest) => {
            text.push('[');
            print_arguments(text, elements);
            if let Some(rest) = rest {
                text.push('|');
                print(text, rest, ARGUMENT);
            }
            text.push(']');
        }
        Kind::Vector(elements) => {
            text.push('{');
            print_arguments(text, elements);
            text.push('}');
        }
        Kind::Structure(name, _, arguments) => match arguments.as_slice() {
            [left, right] if infix(name).is_some() => print_infix(text, name, left, right, maximum),
            [operand] if prefix(name).is_some() => print_prefix(text, name, operand, maximum),
            _ => {
                text.push_str(&quote_atom(name));
                text.push('(');
                print_arguments(text, arguments);
                text.push(')');
            }
        },
    }
}

/// An operator that stands for itself is bracketed: it would take what follows for its operand.
fn print_atom(text: &mut String, name: &str) {
    let quoted = quote_atom(name);
    if infix(name).is_some() || prefix(name).is_some() {
        text.push('(');
        text.push_str(&quoted);
        text.push(')');
    } else {
        text.push_str(&quoted);
    }
}

fn print_arguments(text: &mut String, arguments: &[Tree]) {
    for (index, argument) in arguments.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        print(text, argument, ARGUMENT);
    }
}

fn print_infix(text: &mut String, name: &str, left: &Tree, right: &Tree, maximum: u16) {
    let Some(operator) = infix(name) else { return };
    let bracketed = operator.priority > maximum;
    if bracketed {
        text.push('(');
    }
    print(text, left, operator.left);
    if name == "," {
        text.push_str(", ");
    } else {
        // With spaces: a symbol beside it would become part of it.
        text.push_str(&format!(" {name} "));
    }
    print(text, right, operator.right);
    if bracketed {
        text.push(')');
    }
}

fn print_prefix(text: &mut String, name: &str, operand: &Tree, maximum: u16) {
    let Some(operator) = prefix(name) else { return };
    let bracketed = operator.priority > maximum;
    if bracketed {
        text.push('(');
    }
    text.push_str(name);
    text.push(' ');
    print(text, operand, operator.operand);
    if bracketed {
        text.push(')');
    }
}
