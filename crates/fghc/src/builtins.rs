//! The catalogue of built-in operations: names, arities, how each argument is used, and a line of documentation.
//!
//! Names and meanings follow the manuals of the KL1 systems KLIC and PDSS; where they differ, the line says which is meant.
//! `=`, `:=`, the comparisons of numbers, `call/3` and pragmas are part of the language, not of the catalogue.

/// How an operation uses an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `+`: waits until it is bound.
    Input,
    /// `#`: waits until it is bound as far as the operation looks; an atomic value needs nothing more.
    Deep,
    /// `-`: unified with a result.
    Output,
    /// `?`: passed on as it is.
    Any,
}

impl Mode {
    /// The sign used in documentation: `+`, `#`, `-` or `?`.
    pub fn sign(self) -> char {
        match self {
            Mode::Input => '+',
            Mode::Deep => '#',
            Mode::Output => '-',
            Mode::Any => '?',
        }
    }

    const fn from_sign(sign: u8) -> Mode {
        match sign {
            b'+' => Mode::Input,
            b'#' => Mode::Deep,
            b'-' => Mode::Output,
            b'?' => Mode::Any,
            _ => panic!("a mode is one of + # - ?"),
        }
    }
}

const fn modes<const N: usize>(signs: &[u8; N]) -> [Mode; N] {
    let mut modes = [Mode::Any; N];
    let mut index = 0;
    while index < N {
        modes[index] = Mode::from_sign(signs[index]);
        index += 1;
    }
    modes
}

macro_rules! catalogue {
    (
        $(#[$meta:meta])* $kind:ident;
        $($variant:ident = $name:literal $signs:literal $documentation:literal,)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind {
            $(#[doc = concat!("`", $name, "`: ", $documentation)] $variant,)*
        }

        impl $kind {
            /// Every operation, in the order of the catalogue.
            pub const ALL: &'static [$kind] = &[$($kind::$variant,)*];

            /// The name it is called by.
            pub const fn name(self) -> &'static str {
                match self { $($kind::$variant => $name,)* }
            }

            /// How each argument is used, from first to last.
            pub const fn modes(self) -> &'static [Mode] {
                match self { $($kind::$variant => {
                    const MODES: &[Mode] = &modes($signs);
                    MODES
                })* }
            }

            /// The number of arguments.
            pub const fn arity(self) -> usize {
                self.modes().len()
            }

            /// What it does, in one line.
            pub const fn documentation(self) -> &'static str {
                match self { $($kind::$variant => $documentation,)* }
            }

            /// The operation of this name and arity.
            pub fn find(name: &str, arity: usize) -> Option<$kind> {
                $kind::ALL.iter().copied().find(|operation| operation.name() == name && operation.arity() == arity)
            }
        }
    };
}

catalogue! {
    /// Operations of guards. A wrong type or an index out of range makes them fail.
    GuardBuiltin;
    Wait = "wait" b"+" "waits until the argument is bound",
    Atom = "atom" b"+" "is an atom",
    Integer = "integer" b"+" "is an integer",
    Float = "float" b"+" "is a float",
    Atomic = "atomic" b"+" "is an atom, an integer or a float",
    List = "list" b"+" "is a list cell; the empty list is an atom",
    Structure = "structure" b"+" "is a structure with a name; a list cell is none",
    IsVector = "vector" b"+" "is a vector",
    Vector = "vector" b"+-" "is a vector, of so many elements",
    IsString = "string" b"+" "is a string",
    String = "string" b"+--" "is a string, of so many elements of so many bits (always 8)",
    Predicate = "predicate" b"+" "is a predicate",
    Arity = "arity" b"+-" "the number of arguments of a predicate",
    Different = "\\=" b"##" "cannot be made equal by any further binding",
    Less = "@<" b"##" "comes before in the standard order",
    LessOrEqual = "@=<" b"##" "comes before in the standard order, or is equal",
    Greater = "@>" b"##" "comes after in the standard order",
    GreaterOrEqual = "@>=" b"##" "comes after in the standard order, or is equal",
    Compare = "compare" b"##-" "-1, 0 or 1 by the standard order: integer, float, atom, string, list, structure, vector, predicate",
    Hash = "hash" b"#-" "an integer from 0 that is equal for equal values",
    VectorElement = "vector_element" b"++-" "the element of a vector at an index from 0",
    StringElement = "string_element" b"++-" "the byte of a string at an index from 0",
    Element = "element" b"++-" "the element of a vector or string at an index from 0",
    Size = "size" b"+-" "the number of elements of a vector or string",
    Functor = "functor" b"+--" "name and number of arguments; of anything but a structure or list cell: itself and 0",
    Argument = "arg" b"++-" "the argument of a structure at a position from 1",
    StringLess = "string_less_than" b"++" "comes before by its bytes",
    StringNotLess = "string_not_less_than" b"++" "does not come before by its bytes",
    CurrentPriority = "current_priority" b"-" "the priority of the goal",
    CurrentNode = "current_node" b"--" "the PE of the goal, from 0, and the number of PEs",
    Fail = "fail" b"" "never holds",
}

catalogue! {
    /// Operations of bodies. A wrong type or an index out of range is an error.
    BodyBuiltin;
    Write = "write" b"#" "writes a value and a newline on standard output, once it has no variables left; atoms without quotes",
    Print = "print" b"#" "as write, but so that it could be read again: atoms quoted where they must be",
    NewVector = "new_vector" b"-#" "a vector of so many zeros, or of the elements of a list",
    VectorElement = "vector_element" b"++-" "the element of a vector at an index from 0",
    SetVectorElement = "set_vector_element" b"++?-" "the vector with another element at an index",
    ExchangeVectorElement = "set_vector_element" b"++-?-" "the old element, and the vector with another in its place",
    VectorSize = "vector" b"+-" "the number of elements of a vector",
    NewString = "new_string" b"-#+" "a string of so many zero bytes, or of the bytes of a list; element size 8",
    StringElement = "string_element" b"++-" "the byte of a string at an index from 0",
    SetStringElement = "set_string_element" b"+++-" "the string with another byte at an index",
    StringSize = "string" b"+--" "the number of elements of a string, and 8",
    SearchCharacter = "search_character" b"++++-" "the index of a byte in a string from one index to before another, or -1",
    Element = "element" b"++-" "the element of a vector or string at an index from 0",
    SetElement = "set_element" b"++?-" "the vector or string with another element at an index",
    ExchangeElement = "set_element" b"++-?-" "the old element, and the vector or string with another in its place",
    Size = "size" b"+-" "the number of elements of a vector or string",
    Split = "split" b"++--" "the vector or string before an index, and from it on",
    Join = "join" b"++-" "two vectors or two strings, one after the other",
    Functor = "functor" b"+--" "name and number of arguments; of anything but a structure or list cell: itself and 0",
    Argument = "arg" b"++-" "the argument of a structure at a position from 1",
    NewFunctor = "new_functor" b"-++" "a structure of that name and number of arguments, each 0",
    SetArgument = "setarg" b"++?-" "the structure with another argument at a position",
    ExchangeArgument = "setarg" b"++-?-" "the old argument, and the structure with another in its place",
    ListToStructure = "=.." b"-#" "a structure from a list of its name and arguments",
    Compare = "compare" b"##-" "-1, 0 or 1 by the standard order, as in guards",
    Hash = "hash" b"#-" "an integer from 0 that is equal for equal values",
    CurrentPriority = "current_priority" b"-" "the priority of the goal",
    CurrentNode = "current_node" b"--" "the PE of the goal, from 0, and the number of PEs",
    Unbound = "unbound" b"?-" "{X} when bound now, else {PE, Address, X}; for debugging only",
    Apply = "apply" b"++" "calls a predicate with the elements of a vector as arguments",
    MakeAtom = "make_atom" b"+-" "the atom with the name in a string",
    AtomString = "get_atom_string" b"+-" "the name of an atom as a string",
    Arguments = "argv" b"-" "the program's arguments as a list of strings",
    Exit = "exit" b"+" "ends the program at once with an exit code",
    Collect = "gc" b"--" "collects garbage on this PE: words in use before and after",
    Open = "$open" b"++-" "a handle for a path, opened to read, write or append, or -1; standard handles are 0, 1, 2",
    Put = "$put" b"++-" "writes a string or a byte to a handle, then 0",
    PutTerm = "$put_term" b"+#+-" "writes a value to a handle, quoted or not (1, 0), then 0",
    Get = "$get" b"+-" "the next byte from a handle, or -1 at the end",
    Unget = "$unget" b"++-" "gives a byte back to a handle, then 0",
    Read = "$read" b"++-" "a string of at most so many bytes from a handle, empty at the end",
    AtEnd = "$at_end" b"+-" "1 at the end of what a handle reads, else 0",
    Flush = "$flush" b"+-" "flushes a handle, then 0",
    Close = "$close" b"+-" "closes a handle, then 0",
}

impl BodyBuiltin {
    /// Whether only weft's own library may call it: the order of such operations is kept by their results.
    pub fn is_internal(self) -> bool {
        self.name().starts_with('$')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_its_name() {
        for &operation in GuardBuiltin::ALL {
            assert_eq!(GuardBuiltin::find(operation.name(), operation.arity()), Some(operation));
        }
        for &operation in BodyBuiltin::ALL {
            assert_eq!(BodyBuiltin::find(operation.name(), operation.arity()), Some(operation));
        }
    }
}
