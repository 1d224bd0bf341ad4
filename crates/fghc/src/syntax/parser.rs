//! From tokens to terms, by operator precedence.

use super::operators::{ARGUMENT, MAXIMUM, infix, prefix};
use super::token::{
    BYTE_ORDER_MARK, Placed, Quoted, Symbol, Token, based_integer, escape, shortened, tokens, too_large,
};
use super::tree::{Kind, Tree};
use crate::diagnostics::Diagnostic;
use crate::ir::{MAX_INTEGER, MIN_INTEGER, Span};

/// How deep terms may be nested: the parser and all that walks over terms follow them by recursion.
const DEEPEST: usize = 200;
/// How many operators one level may join, for the same reason.
const LONGEST: usize = 1000;
/// How high the tree of a term may be.
const HIGHEST: u32 = 1300;

/// Everything in a file that ends with a full stop, in order; what cannot be read is reported and left out.
pub fn parse_clauses(text: &str, source: u32, report: &mut dyn FnMut(Diagnostic)) -> Vec<Tree> {
    let tokens = tokens(text, source, report);
    let mut parser = Parser { text, tokens: &tokens, at: 0, depth: 0 };
    let mut clauses = Vec::new();
    while !parser.is(&Token::EndOfText) {
        let start = parser.at;
        match parser.clause() {
            Ok(clause) => clauses.push(clause),
            Err(diagnostic) => {
                report(*diagnostic);
                parser.skip_clause(start);
            }
        }
    }
    clauses
}

/// One term, with or without a full stop after it.
pub fn parse_term(text: &str, source: u32, report: &mut dyn FnMut(Diagnostic)) -> Option<Tree> {
    let mut failed = false;
    let tokens = tokens(text, source, &mut |diagnostic| {
        failed = true;
        report(diagnostic);
    });
    let mut parser = Parser { text, tokens: &tokens, at: 0, depth: 0 };
    let term = parser.term(MAXIMUM).and_then(|term| {
        if parser.is(&Token::Symbol(Symbol::End)) {
            parser.at += 1;
        }
        if parser.is(&Token::EndOfText) { Ok(term) } else { Err(parser.unexpected("the end of the term")) }
    });
    match term {
        Ok(term) if !failed => Some(term),
        Ok(_) => None,
        Err(diagnostic) => {
            report(*diagnostic);
            None
        }
    }
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Placed],
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Placed {
        // The last token is the end of the text, and nothing goes past it.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_second(&self) -> &'a Placed {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> &'a Placed {
        let placed = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        placed
    }

    fn is(&self, token: &Token) -> bool {
        self.peek().token == *token
    }

    fn slice(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn clause(&mut self) -> Parsed<Tree> {
        let clause = self.term(MAXIMUM)?;
        if self.is(&Token::Symbol(Symbol::End)) {
            self.advance();
            return Ok(clause);
        }
        let next = self.peek();
        let new_line = self.starts_line(next.span) && self.at > 0;
        let previous = self.tokens[self.at.saturating_sub(1)].span;
        if new_line || next.token == Token::EndOfText {
            let end = Span { start: previous.end.saturating_sub(1), ..previous };
            return Err(Box::new(
                Diagnostic::error("syntax", end, "a full stop is missing after this clause")
                    .label("the clause ends here, it seems")
                    .help("end every clause with a full stop and a space or newline"),
            ));
        }
        Err(self.unexpected("an operator, a comma or a full stop"))
    }

    /// Goes on behind the full stop that ends the wrong clause, or at the next clause where the full stop was forgotten.
    fn skip_clause(&mut self, start: usize) {
        if self.at > start && self.starts_line(self.peek().span) && self.begins_clause() {
            return;
        }
        while !self.is(&Token::EndOfText) {
            if self.advance().token == Token::Symbol(Symbol::End) {
                return;
            }
        }
    }

    fn starts_line(&self, span: Span) -> bool {
        let before = self.text[..span.start as usize].chars().next_back();
        before.is_none_or(|before| before == '\n' || before == BYTE_ORDER_MARK)
    }

    fn begins_clause(&self) -> bool {
        matches!(self.peek().token, Token::Name | Token::QuotedName(_)) || self.slice(self.peek().span) == ":-"
    }

    fn unexpected(&self, expected: &str) -> Box<Diagnostic> {
        let placed = self.peek();
        let diagnostic = match placed.token {
            Token::EndOfText => {
                Diagnostic::error("syntax", placed.span, format!("the text ends where {expected} must come"))
            }
            Token::Symbol(Symbol::End) => {
                Diagnostic::error("syntax", placed.span, format!("the clause ends where {expected} must come"))
            }
            _ => {
                let text = shortened(self.slice(placed.span));
                Diagnostic::error("syntax", placed.span, format!("found {text} where {expected} must come"))
            }
        };
        let before = self.at.checked_sub(1).map(|index| &self.tokens[index]);
        Box::new(match (&placed.token, before) {
            (Token::Open, Some(before))
                if matches!(before.token, Token::Name) && before.span.end < placed.span.start =>
            {
                diagnostic.help("arguments follow their name without a space")
            }
            (Token::Open, Some(before)) if before.token == Token::Variable => {
                diagnostic.help("a variable takes no arguments; names of predicates begin with a small letter")
            }
            (Token::Cut, _) => diagnostic.help("Flat GHC has no cut: the guard, before |, commits"),
            _ => diagnostic,
        })
    }

    fn expect(&mut self, token: &Token, words: &str, opened: Span) -> Parsed<Span> {
        if self.is(token) {
            return Ok(self.advance().span);
        }
        Err(Box::new(self.unexpected(&format!("a comma or {words}")).related(opened, "opened here")))
    }

    /// A term of at most this priority.
    fn term(&mut self, maximum: u16) -> Parsed<Tree> {
        if self.depth >= DEEPEST {
            let message = format!("terms are nested more than {DEEPEST} deep");
            return Err(Box::new(
                Diagnostic::error("syntax", self.peek().span, message).help("give inner terms names with ="),
            ));
        }
        self.depth += 1;
        let term = self.operand(maximum).and_then(|(left, priority)| self.operators(left, priority, maximum));
        self.depth -= 1;
        term
    }

    /// The name of an operator or atom that stands here without arguments.
    fn name_here(&self) -> Option<&'a str> {
        let placed = self.peek();
        match placed.token {
            Token::Name | Token::Symbol(Symbol::Name) | Token::Bar | Token::Comma | Token::Semicolon | Token::Cut => {
                Some(self.slice(placed.span))
            }
            _ => None,
        }
    }

    /// Takes operators and their right operands as long as priorities allow.
    fn operators(&mut self, left: Tree, priority: u16, maximum: u16) -> Parsed<Tree> {
        let mut left = left;
        let mut priority = priority;
        let mut joined = 0;
        while let Some(name) = self.name_here() {
            let Some(operator) = infix(name) else { break };
            if operator.priority > maximum || priority > operator.left {
                break;
            }
            let span = self.advance().span;
            joined += 1;
            if joined > LONGEST {
                return Err(Box::new(
                    Diagnostic::error("syntax", span, format!("more than {LONGEST} operators in a row"))
                        .help("divide this into several predicates"),
                ));
            }
            if operator.right == operator.priority {
                left = self.right_chain(left, name, span, operator.right)?;
            } else {
                let right = self.term(operator.right)?;
                left = join(name, span, left, right)?;
            }
            priority = operator.priority;
        }
        Ok(left)
    }

    /// `a, b, c` grouped to the right, but read in a loop: a body may have many goals.
    fn right_chain(&mut self, first: Tree, name: &str, first_operator: Span, priority: u16) -> Parsed<Tree> {
        let mut operands = vec![first];
        let mut operators = vec![first_operator];
        loop {
            operands.push(self.term(priority - 1)?);
            if self.name_here() != Some(name) {
                break;
            }
            operators.push(self.advance().span);
            if operators.len() > LONGEST {
                let span = *operators.last().expect("at least the first");
                return Err(Box::new(
                    Diagnostic::error("syntax", span, format!("more than {LONGEST} terms joined by {name}"))
                        .help("divide this into several predicates"),
                ));
            }
        }
        let mut right = operands.pop().expect("at least two operands");
        // An operand of the same priority but another operator, `a ; b -> c`, groups to the right as well.
        right = self.operators(right, priority - 1, priority)?;
        while let (Some(left), Some(operator)) = (operands.pop(), operators.pop()) {
            right = join(name, operator, left, right)?;
        }
        Ok(right)
    }

    /// A term without binary operators on its top level, and its priority.
    fn operand(&mut self, maximum: u16) -> Parsed<(Tree, u16)> {
        let placed = self.peek();
        let span = placed.span;
        let tree = match &placed.token {
            Token::Variable => {
                self.advance();
                Tree::new(Kind::Variable(self.slice(span).to_string()), span)
            }
            Token::Integer | Token::BasedInteger | Token::Character | Token::Float => self.number(false)?,
            Token::String(Quoted::Closed(bytes)) => {
                self.advance();
                Tree::new(Kind::String(bytes.clone()), span)
            }
            Token::QuotedName(Quoted::Closed(bytes)) => {
                self.advance();
                // Bytes given by escapes need not be UTF-8.
                let name = String::from_utf8_lossy(bytes).into_owned();
                if name.is_empty() {
                    return Err(Box::new(
                        Diagnostic::error("syntax", span, "a name has at least one character")
                            .help("an empty string is written \"\""),
                    ));
                }
                self.named(name, span)?
            }
            Token::Open => {
                self.advance();
                let mut inner = self.term(MAXIMUM)?;
                inner.span = span.to(self.expect(&Token::Close, ")", span)?);
                inner
            }
            Token::OpenList => self.list()?,
            Token::OpenVector => {
                self.advance();
                let mut elements = Vec::new();
                if !self.is(&Token::CloseVector) {
                    self.arguments(&mut elements)?;
                }
                let end = self.expect(&Token::CloseVector, "}", span)?;
                Tree::new(Kind::Vector(elements), span.to(end))
            }
            Token::Name | Token::Symbol(Symbol::Name) | Token::Cut | Token::Semicolon => {
                return self.name_or_prefix(maximum);
            }
            _ => return Err(self.unexpected("a term")),
        };
        Ok((tree, 0))
    }

    /// A name, a name with arguments, a sign with its number, or a prefix operator with its operand.
    fn name_or_prefix(&mut self, maximum: u16) -> Parsed<(Tree, u16)> {
        let span = self.advance().span;
        let name = self.slice(span);
        let next = self.peek();
        if next.token == Token::Open && next.span.start == span.end {
            return Ok((self.named(name.to_string(), span)?, 0));
        }
        let number = matches!(next.token, Token::Integer | Token::BasedInteger | Token::Character | Token::Float);
        if name == "-" && number && next.span.start == span.end {
            let mut tree = self.number(true)?;
            tree.span = span.to(tree.span);
            return Ok((tree, 0));
        }
        if let Some(operator) = prefix(name).filter(|_| self.begins_operand()) {
            // As an argument, where the operator is too loose, it binds what is there, as in Prolog.
            let priority = operator.priority.min(maximum);
            let operand = self.term(operator.operand.min(priority))?;
            let whole = span.to(operand.span);
            return Ok((Tree::new(Kind::Structure(name.to_string(), span, vec![operand]), whole), priority));
        }
        if matches!(name, ";" | "!") || infix(name).is_none() || self.ends_operand() {
            return Ok((Tree::new(Kind::Atom(name.to_string()), span), 0));
        }
        self.at -= 1;
        Err(self.unexpected("a term"))
    }

    /// Whether what stands here can begin an operand.
    fn begins_operand(&self) -> bool {
        let placed = self.peek();
        match placed.token {
            Token::Symbol(Symbol::End)
            | Token::EndOfText
            | Token::Close
            | Token::CloseList
            | Token::CloseVector
            | Token::Comma
            | Token::Bar
            | Token::Semicolon => false,
            Token::Name | Token::Symbol(Symbol::Name) => {
                let name = self.slice(placed.span);
                let second = self.peek_second();
                let has_arguments = second.token == Token::Open && second.span.start == placed.span.end;
                infix(name).is_none() || prefix(name).is_some() || has_arguments
            }
            _ => true,
        }
    }

    /// Whether an atom may end here: an operator as an operand, `[+, -]`.
    fn ends_operand(&self) -> bool {
        !self.begins_operand()
    }

    /// The atom or structure of a name that has been read.
    fn named(&mut self, name: String, span: Span) -> Parsed<Tree> {
        let open = self.peek();
        if open.token != Token::Open || open.span.start != span.end {
            return Ok(Tree::new(Kind::Atom(name), span));
        }
        let opened = self.advance().span;
        if self.is(&Token::Close) {
            return Err(Box::new(
                Diagnostic::error(
                    "syntax",
                    opened.to(self.peek().span),
                    format!("{name} has brackets without arguments"),
                )
                .help("leave the brackets out"),
            ));
        }
        let mut arguments = Vec::new();
        self.arguments(&mut arguments)?;
        let end = self.expect(&Token::Close, ")", opened)?;
        let kind = match (name.as_str(), arguments.len()) {
            (".", 2) => {
                let rest = arguments.pop().expect("two arguments");
                list(arguments, rest)
            }
            _ => Kind::Structure(name, span, arguments),
        };
        Ok(Tree::new(kind, span.to(end)))
    }

    fn arguments(&mut self, arguments: &mut Vec<Tree>) -> Parsed<()> {
        loop {
            arguments.push(self.term(ARGUMENT)?);
            if !self.is(&Token::Comma) {
                return Ok(());
            }
            self.advance();
        }
    }

    fn list(&mut self) -> Parsed<Tree> {
        let opened = self.advance().span;
        if self.is(&Token::CloseList) {
            let span = opened.to(self.advance().span);
            return self.named("[]".to_string(), span);
        }
        let mut elements = Vec::new();
        self.arguments(&mut elements)?;
        let rest = if self.is(&Token::Bar) {
            self.advance();
            Some(self.term(ARGUMENT)?)
        } else {
            None
        };
        let end = self.expect(&Token::CloseList, if rest.is_some() { "]" } else { "| or ]" }, opened)?;
        let kind = match rest {
            Some(rest) => list(elements, rest),
            None => Kind::List(elements, None),
        };
        Ok(Tree::new(kind, opened.to(end)))
    }

    fn number(&mut self, negative: bool) -> Parsed<Tree> {
        let placed = self.advance();
        let text = self.slice(placed.span);
        let wrong = |message: String| Box::new(Diagnostic::error("number", placed.span, message));
        let value = match placed.token {
            Token::Float => {
                let value: f64 = text.parse().map_err(|_| wrong("no float".to_string()))?;
                if !value.is_finite() {
                    return Err(wrong("this float is larger than any 64-bit float".to_string()));
                }
                return Ok(Tree::new(Kind::Float(if negative { -value } else { value }), placed.span));
            }
            Token::Character => character(&text[2..]).map_err(wrong)?,
            Token::BasedInteger => {
                let (base, digits) = text.split_once('\'').expect("a based integer has a quote");
                based_integer(base, digits).map_err(wrong)?
            }
            _ => match text.parse::<i64>() {
                Ok(value) if value <= MAX_INTEGER => value,
                // The one integer whose negation does not fit.
                Ok(value) if negative && -value == MIN_INTEGER => value,
                _ => return Err(wrong(too_large())),
            },
        };
        Ok(Tree::new(Kind::Integer(if negative { -value } else { value }), placed.span))
    }
}

fn join(name: &str, operator: Span, left: Tree, right: Tree) -> Parsed<Tree> {
    let span = left.span.to(right.span);
    let tree = Tree::new(Kind::Structure(name.to_string(), operator, vec![left, right]), span);
    if tree.height() > HIGHEST {
        let message = "this term is nested too deep";
        return Err(Box::new(Diagnostic::error("syntax", operator, message).help("give inner terms names with =")));
    }
    Ok(tree)
}

/// A list whose rest may itself be written as a list.
fn list(mut elements: Vec<Tree>, rest: Tree) -> Kind {
    match rest.kind {
        Kind::Atom(name) if name == "[]" => Kind::List(elements, None),
        Kind::List(more, rest) => {
            elements.extend(more);
            Kind::List(elements, rest)
        }
        _ => Kind::List(elements, Some(Box::new(rest))),
    }
}

/// The code of a character as it stands after `0'`.
fn character(text: &str) -> Result<i64, String> {
    match text.strip_prefix('\\') {
        Some(escaped) => match escape(escaped) {
            Some((_, Some(byte))) => Ok(i64::from(byte)),
            _ => Err("an escape that does not exist".to_string()),
        },
        None => Ok(text.chars().next().map_or(0, |character| i64::from(u32::from(character)))),
    }
}
