//! Terms as written, with their places; macros are still in them.

use crate::ir::Span;

/// A term of the source.
#[derive(Clone, Debug)]
pub struct Tree {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
    height: u32,
}

/// What a term of the source is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A variable; `_` is one too.
    Variable(String),
    /// An integer, within the language's range.
    Integer(i64),
    /// A float.
    Float(f64),
    /// An atom, unquoted.
    Atom(String),
    /// The bytes of a string.
    String(Vec<u8>),
    /// At least one element, and what follows the last where that is not the empty list.
    List(Vec<Tree>, Option<Box<Tree>>),
    /// A name with at least one argument; operators with their operands too. The span is that of the name.
    Structure(String, Span, Vec<Tree>),
    /// The elements of a vector.
    Vector(Vec<Tree>),
}

impl Tree {
    /// A tree at a place.
    pub fn new(kind: Kind, span: Span) -> Self {
        let highest = |trees: &[Tree]| trees.iter().map(|tree| tree.height + 1).max().unwrap_or(0);
        let height = match &kind {
            Kind::List(elements, rest) => highest(elements).max(rest.as_ref().map_or(0, |rest| rest.height + 1)),
            Kind::Structure(_, _, arguments) | Kind::Vector(arguments) => highest(arguments),
            _ => 0,
        };
        Tree { kind, span, height }
    }

    /// How many terms lie on the longest way down.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The name of an atom.
    pub fn as_atom(&self) -> Option<&str> {
        match &self.kind {
            Kind::Atom(name) => Some(name),
            _ => None,
        }
    }

    /// The arguments of a structure of this name and arity.
    pub fn as_structure<const N: usize>(&self, name: &str) -> Option<&[Tree; N]> {
        match &self.kind {
            Kind::Structure(operands, _, arguments) if operands == name => arguments.as_slice().try_into().ok(),
            _ => None,
        }
    }

    /// Calls `visit` for every variable occurrence but `_`, from left to right.
    pub fn for_each_variable<'a>(&'a self, visit: &mut impl FnMut(&'a str, Span)) {
        match &self.kind {
            Kind::Variable(name) if name == "_" => {}
            Kind::Variable(name) => visit(name, self.span),
            Kind::Integer(_) | Kind::Float(_) | Kind::Atom(_) | Kind::String(_) => {}
            Kind::List(elements, rest) => {
                elements.iter().for_each(|element| element.for_each_variable(visit));
                if let Some(rest) = rest {
                    rest.for_each_variable(visit);
                }
            }
            Kind::Structure(_, _, arguments) | Kind::Vector(arguments) => {
                arguments.iter().for_each(|argument| argument.for_each_variable(visit));
            }
        }
    }

    /// The terms that the operator `name` joins, itself if there is none: `a, b, c` are three.
    pub fn operands<'a>(&'a self, name: &str) -> Vec<&'a Tree> {
        let mut operands = Vec::new();
        let mut rest = vec![self];
        while let Some(tree) = rest.pop() {
            match tree.as_structure::<2>(name) {
                Some([left, right]) => rest.extend([right, left]),
                None => operands.push(tree),
            }
        }
        operands
    }

    /// Whether both are the same text but for spaces, brackets and the way of writing numbers and names.
    pub fn same(&self, other: &Tree) -> bool {
        let all = |left: &[Tree], right: &[Tree]| {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.same(right))
        };
        match (&self.kind, &other.kind) {
            (Kind::Variable(left), Kind::Variable(right)) | (Kind::Atom(left), Kind::Atom(right)) => left == right,
            (Kind::Integer(left), Kind::Integer(right)) => left == right,
            (Kind::Float(left), Kind::Float(right)) => left.to_bits() == right.to_bits(),
            (Kind::String(left), Kind::String(right)) => left == right,
            (Kind::List(left, left_rest), Kind::List(right, right_rest)) => {
                all(left, right)
                    && match (left_rest, right_rest) {
                        (None, None) => true,
                        (Some(left), Some(right)) => left.same(right),
                        _ => false,
                    }
            }
            (Kind::Structure(left_name, _, left), Kind::Structure(right_name, _, right)) => {
                left_name == right_name && all(left, right)
            }
            (Kind::Vector(left), Kind::Vector(right)) => all(left, right),
            _ => false,
        }
    }
}
