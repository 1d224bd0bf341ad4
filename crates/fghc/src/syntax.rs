//! Text into terms and terms into text: tokens, operators, the parser, the printer.
//!
//! The syntax is that of KL1 (KLIC's and PDSS's manuals): Prolog's terms and operators, with vectors in braces, strings as
//! values, and `|` as an operator of its own. Tokens are cut by a `logos` lexer. The parser is written by hand: the grammar
//! is an operator-precedence grammar whose rules are a table, in which an atom is an operator or an operand by what stands
//! beside it; a parser generator or combinators would say the same in more words, and would not know at which full stop
//! to go on after an error.

mod operators;
mod parser;
mod print;
mod token;
mod tree;

pub use parser::{parse_clauses, parse_term};
pub use print::print_term;
pub(crate) use token::{BYTE_ORDER_MARK, based_integer};
pub use tree::{Kind, Tree};
