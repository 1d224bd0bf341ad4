//! The parser on whatever text: it never panics, and what it prints it reads back.

use proptest::collection::vec;
use proptest::prelude::*;
use weft_fghc::check::check;
use weft_fghc::ir::{Source, Span};
use weft_fghc::syntax::{Kind, Tree, parse_clauses, parse_term, print_term};

const PROGRAMS: &[&str] = &[
    include_str!("../../../programs/fghc/program1.fghc"),
    include_str!("../../../programs/fghc/program2.fghc"),
    include_str!("../../../programs/fghc/metacalls.fghc"),
    include_str!("../../../programs/fghc/buffer.fghc"),
    include_str!("../../../programs/fghc/several.fghc"),
];

fn read(text: &str) -> Tree {
    let mut messages = Vec::new();
    let tree = parse_term(text, 0, &mut |diagnostic| messages.push(diagnostic.message));
    tree.unwrap_or_else(|| panic!("{text:?}: {messages:?}"))
}

fn shown(text: &str) -> String {
    print_term(&read(text))
}

#[test]
fn operators_bind_as_in_kl1() {
    let structure = |text: &str| canonical(&read(text));
    assert_eq!(structure("P1 := ((PE + N - 6) mod N) + 7 - N"), ":=(P1,-(+(mod(-(+(PE,N),6),N),7),N))");
    assert_eq!(structure("alloc(P)@@p(X)"), "@@(alloc(P),p(X))");
    assert_eq!(structure("m:p(X)-S@node(N)@priority(2)"), "@(@(-(:(m,p(X)),S),node(N)),priority(2))");
    assert_eq!(structure("h :- g ; g2 | b, c"), ":-(h,|(;(g,g2),,(b,c)))");
    assert_eq!(structure("X-1"), "-(X,1)");
    assert_eq!(structure("[X,-1|T]"), "[X,-1|T]");
    assert_eq!(structure("- 1"), "-(1)");
    assert_eq!(structure("~(X+1)"), "~(+(X,1))");
    assert_eq!(structure("C - #\"a\" + 10"), "+(-(C,#(\"a\")),10)");
    assert_eq!(structure("predicate#(m:p/2)"), "#(predicate,/(:(m,p),2))");
    assert_eq!(structure("{a, {}, []}"), "{a,{},[]}");
    assert_eq!(structure("[a|[b,c|[]]]"), "[a,b,c]");
    assert_eq!(structure("'.'(a, '.'(b, T))"), "[a,b|T]");
    assert_eq!(structure("(a , b) , c"), ",(,(a,b),c)");
}

#[test]
fn constants() {
    for (text, value) in [("0'a", 97), ("0''' ", 39), ("0'\\n", 10), ("16'FF", 255), ("2'1010", 10), ("1'10110", 3)] {
        assert!(matches!(read(text).kind, Kind::Integer(diagnostics) if diagnostics == value), "{text}");
    }
    assert!(matches!(read("-1152921504606846976").kind, Kind::Integer(value) if value == -(1 << 60)));
    assert!(matches!(read("6.02e23").kind, Kind::Float(value) if value == 6.02e23));
    assert!(matches!(&read(r#""a\tb\101\x42\"\
c""#).kind, Kind::String(bytes) if bytes == b"a\tbAB\"c"));
    assert!(matches!(&read("'it''s'").kind, Kind::Atom(name) if name == "it's"));
}

#[test]
fn messages_of_the_parser() {
    for (text, message, help) in [
        ("p :- q(.", "the clause ends where a term must come", ""),
        ("p(X :- q.", "found :- where a comma or ) must come", ""),
        ("p :- q (X).", "found ( where an operator, a comma or a full stop must come", "without a space"),
        ("p :- X(1).", "found ( where an operator, a comma or a full stop must come", "small letter"),
        ("p :- q, !, r X.", "found X where", ""),
        ("p :- q\nr :- s.", "a full stop is missing after this clause", "full stop"),
        ("p :- q", "a full stop is missing after this clause", ""),
        ("p(\"abc).\nq.", "is not closed on its line with \"", "\\n"),
        ("p /* x", "this comment is never closed", "*/"),
        ("p(1152921504606846976).", "integers have 61 bits", ""),
        ("p(\"\\q\").", "an escape that does not exist", "known are"),
        ("p(40'1).", "a base is 1 to 36", ""),
        ("p(2'12).", "a digit that base 2 lacks", ""),
        ("p().", "p has brackets without arguments", "leave the brackets out"),
        ("p(ª\u{0}).", "means nothing here", "quote it"),
    ] {
        let mut diagnostics = Vec::new();
        parse_clauses(text, 0, &mut |diagnostic| diagnostics.push(diagnostic));
        let first = diagnostics.first().unwrap_or_else(|| panic!("{text:?} has no error"));
        assert!(first.message.contains(message), "{text:?}: {}", first.message);
        assert!(first.help.as_deref().unwrap_or("").contains(help), "{text:?}: {:?}", first.help);
    }
}

#[test]
fn every_wrong_clause_is_reported_once_and_the_right_ones_are_read() {
    let text = "p(X :- q.\nr(1).\ns :- t(.\nu(2)\nv(3).\nw([1,2).\nx.\n";
    let mut errors = 0;
    let clauses = parse_clauses(text, 0, &mut |_| errors += 1);
    assert_eq!(errors, 4);
    let heads: Vec<String> = clauses.iter().map(print_term).collect();
    assert_eq!(heads, ["r(1)", "v(3)", "x"]);
}

#[test]
fn what_is_nested_too_deep_is_an_error() {
    for text in [
        "(".repeat(100_000),
        "f(".repeat(100_000),
        "-".repeat(1000) + &" -".repeat(50_000),
        format!("X := 1{}", " + 1".repeat(50_000)),
        format!("p :- q{}", ", q".repeat(50_000)),
        format!("p :- {}", "((((((((a + a".repeat(10)) + &" + a".repeat(5000),
        "[".repeat(100_000),
        "[a|".repeat(100_000),
    ] {
        let mut errors = 0;
        parse_clauses(&text, 0, &mut |_| errors += 1);
        assert!(errors > 0, "{}", &text[..20]);
    }
    // A long list is flat.
    let mut errors = 0;
    let text = format!("p([1{}]).", ", 1".repeat(100_000));
    assert_eq!(parse_clauses(&text, 0, &mut |_| errors += 1).len(), 1);
    assert_eq!(errors, 0);
}

/// Without operators, so that the grouping is visible.
fn canonical(tree: &Tree) -> String {
    let all = |trees: &[Tree]| trees.iter().map(canonical).collect::<Vec<_>>().join(",");
    match &tree.kind {
        Kind::Structure(name, _, arguments) => format!("{name}({})", all(arguments)),
        Kind::List(elements, None) => format!("[{}]", all(elements)),
        Kind::List(elements, Some(rest)) => format!("[{}|{}]", all(elements), canonical(rest)),
        Kind::Vector(elements) => format!("{{{}}}", all(elements)),
        Kind::Variable(name) | Kind::Atom(name) => name.clone(),
        _ => print_term(tree),
    }
}

fn tree(kind: Kind) -> Tree {
    Tree::new(kind, Span { source: 0, start: 0, end: 0 })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-zA-Z0-9_]{0,5}",
        prop::sample::select(vec![
            "+",
            "-",
            "*",
            ":-",
            "|",
            ",",
            ";",
            "->",
            "mod",
            "module",
            "~",
            "#",
            "@",
            "@@",
            ":",
            "=",
            "[]",
            "!",
            ".",
            "=..",
            "/*",
            "&",
            "otherwise",
            "is",
            "`",
            "xor",
            "\\",
        ])
        .prop_map(str::to_string),
        "[^\\x00-\\x08]{1,4}",
    ]
}

fn term() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        "[A-Z_][a-zA-Z0-9_]{0,5}".prop_map(Kind::Variable),
        (-(1i64 << 60)..(1 << 60)).prop_map(Kind::Integer),
        (-9i64..9).prop_map(Kind::Integer),
        any::<f64>().prop_filter("a program cannot write it", |value| value.is_finite()).prop_map(Kind::Float),
        name().prop_map(Kind::Atom),
        vec(any::<u8>(), 0..6).prop_map(Kind::String),
    ]
    .prop_map(tree);
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            (name(), vec(inner.clone(), 1..4))
                .prop_filter("two arguments make it a list", |(name, arguments)| name != "." || arguments.len() != 2)
                .prop_map(|(name, arguments)| {
                    tree(Kind::Structure(name, Span { source: 0, start: 0, end: 0 }, arguments))
                }),
            (vec(inner.clone(), 1..4), prop::option::of("[A-Z]")).prop_map(|(elements, rest)| {
                tree(Kind::List(elements, rest.map(|rest| Box::new(tree(Kind::Variable(rest))))))
            }),
            vec(inner, 0..4).prop_map(|elements| tree(Kind::Vector(elements))),
        ]
    })
}

fn checks_without_panic(text: String) {
    let checked = check(vec![Source { name: "any.fghc".into(), text: text.clone() }], None);
    checked.render(false);
    checked.diagnostics.findings(&checked.sources);
    assert_eq!(checked.program.is_some(), checked.diagnostics.errors() == 0);
    let goal = check(vec![Source { name: "any.fghc".into(), text: "main.".into() }], Some(&text));
    goal.render(true);
}

#[test]
fn a_printed_program_is_read_back() {
    for program in PROGRAMS {
        let clauses = parse_clauses(program, 0, &mut |diagnostic| panic!("{diagnostic:?}"));
        let text: String = clauses.iter().map(|clause| print_term(clause) + " .\n").collect();
        let again = parse_clauses(&text, 0, &mut |diagnostic| panic!("{diagnostic:?}"));
        assert_eq!(again.len(), clauses.len());
        for (clause, again) in clauses.iter().zip(&again) {
            assert!(clause.same(again), "{}", print_term(clause));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_printed_term_is_read_back(term in term()) {
        let text = print_term(&term);
        let again = read(&text);
        prop_assert!(again.same(&term), "{text:?} is {}, not {}", canonical(&again), canonical(&term));
        prop_assert_eq!(shown(&text), text);
    }

    #[test]
    fn any_text_is_checked_without_panic(text in "\\PC{0,80}|[-a-zA-Z0-9_ .,:|(){}\\[\\]@#~'\"%/*\\\\\n=<>+;!$&]{0,120}") {
        checks_without_panic(text);
    }

    #[test]
    fn a_mutated_program_is_checked_without_panic(
        program in prop::sample::select(PROGRAMS.to_vec()),
        edits in vec((any::<prop::sample::Index>(), 0usize..12, "[-A-Za-z0-9_.,:|(){}\\[\\]@#~'\"%=<>+; \n]{0,3}"), 1..6),
    ) {
        let mut text: Vec<char> = program.chars().collect();
        for (at, remove, insert) in edits {
            let at = at.index(text.len().max(1));
            let end = (at + remove).min(text.len());
            text.splice(at.min(end)..end, insert.chars());
        }
        checks_without_panic(text.into_iter().collect());
    }
}
