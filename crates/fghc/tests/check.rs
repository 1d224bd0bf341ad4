//! The checker: what it says of wrong programs, and the normal form of right ones.

use weft_fghc::check::{Checked, check};
use weft_fghc::diagnostics::Severity;
use weft_fghc::explain::{dispatch_argument, explain, pragma_sites};
use weft_fghc::ir::{Origin, Placement, Program, Source};

fn checked(text: &str) -> Checked {
    check(vec![Source { name: "test.fghc".into(), text: text.into() }], None)
}

fn program(text: &str) -> Program {
    let checked = checked(text);
    assert!(checked.diagnostics.is_empty(), "{text}\n{}", checked.render(false));
    checked.program.expect("no errors")
}

/// The normal form, without comments.
fn normal(text: &str) -> String {
    let explained = explain(&program(text), false);
    explained
        .lines()
        .filter(|line| !line.starts_with('%') && !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect()
}

const PROGRAMS: &[(&str, &str)] = &[
    ("buffer", include_str!("../../../programs/fghc/buffer.fghc")),
    ("deadlock", include_str!("../../../programs/fghc/deadlock.fghc")),
    ("demand", include_str!("../../../programs/fghc/demand.fghc")),
    ("merge", include_str!("../../../programs/fghc/merge.fghc")),
    ("metacalls", include_str!("../../../programs/fghc/metacalls.fghc")),
    ("primes", include_str!("../../../programs/fghc/primes.fghc")),
    ("queens", include_str!("../../../programs/fghc/queens.fghc")),
    ("quicksort", include_str!("../../../programs/fghc/quicksort.fghc")),
    ("reverse", include_str!("../../../programs/fghc/reverse.fghc")),
    ("several", include_str!("../../../programs/fghc/several.fghc")),
    ("stream", include_str!("../../../programs/fghc/stream.fghc")),
];

#[test]
fn our_programs_and_the_library_have_no_findings() {
    for (name, text) in PROGRAMS {
        let checked = checked(text);
        assert!(checked.diagnostics.is_empty(), "{name}\n{}", checked.render(false));
    }
    program("main :- unix:argc(N), write(N), klicio:klicio([stdin(S)]), write(S), merge({[1], [2]}, O), write(O).");
}

#[test]
fn the_papers_programs_have_no_errors() {
    for (text, warnings, goal) in [
        (include_str!("../../../programs/fghc/program1.fghc"), 5, "t([1,2,3,4,5,6,7,8],6,2)"),
        (include_str!("../../../programs/fghc/program2.fghc"), 5, "go8(6,2)"),
    ] {
        let checked = check(vec![Source { name: "paper.fghc".into(), text: text.into() }], Some(goal));
        assert_eq!(checked.diagnostics.errors(), 0, "{}", checked.render(false));
        assert_eq!(checked.diagnostics.warnings(), warnings);
        let program = checked.program.expect("no errors");
        assert_eq!(pragma_sites(&program).len(), 1);
        let start = program.predicate(program.start.expect("a goal was given"));
        assert_eq!((start.origin, start.arity), (Origin::Goal, 0));
    }
}

/// Text, kind, part of the message, part of the help.
const WRONG: &[(&str, &str, &str, &str)] = &[
    ("p :- q(1).\nqq(1).", "unknown-predicate", "no predicate q/1 in module main", "did you mean qq?"),
    (
        "p :- q(1).\nq(1, 2).",
        "unknown-predicate",
        "no predicate q/1",
        "there is q/2: 1 is the number of arguments here",
    ),
    (":- module a.\np :- q.\n:- module b.\nq.", "unknown-predicate", "no predicate q/0", "write b:q(…)"),
    ("p :- wirte(1).", "unknown-predicate", "no predicate wirte/1", "did you mean write?"),
    ("p :- mian:q.", "unknown-module", "there is no module mian", "did you mean main?"),
    (
        ":- module a.\n:- public p/0.\np.\nq :- p.\n:- module b.\nr :- a:q.",
        "private",
        "q/0 of module a is not public",
        ":- public q/0.",
    ),
    (":- module a.\n:- public p/0, pp/1.\np.", "unknown-predicate", "pp/1 is declared public", ""),
    ("p(X) :- q(X) | true.\nq(_).", "guard", "q/1 is no test of a guard", "guards are flat"),
    ("p(X) :- intger(X) | true.", "guard", "intger/1 is no test", "did you mean integer?"),
    ("p(X) :- X == 1 | true.", "guard", "==/2 is no test", "=:="),
    ("p(X) :- Y is X | q(Y).\nq(_).", "guard", "is/2 is no test", "X := Expression"),
    ("p(X) :- merge(X, Y) | q(Y).\nq(_).", "guard", "merge/2 is no test", ""),
    ("p(X) :- new_vector(X, 3) | true.", "guard", "new_vector/2 is no test", "into the body"),
    ("p(X) :- Y > 1 | q(X, Y).\nq(_, _).", "no-value", "Y has no value here", "left to right"),
    (
        "p(X) :- (X = 1, Y = 2 ; X = 2) | q(Y).\nq(_).",
        "no-value",
        "Y gets a value in one alternative only",
        "one clause for each",
    ),
    ("p(X) :- X := Y + 1.", "no-value", "nothing gives Y a value", "must know Y"),
    ("p :- q@node(N).\nq.", "no-value", "nothing gives N a value", ""),
    ("p(X) :- X := a + 1.", "arithmetic", "a is no number", ""),
    ("p(X) :- X := 1.5 + 1.", "arithmetic", "a float in an expression of integers", "$:="),
    ("p(X) :- X $:= 1.5 + 1.", "arithmetic", "the integer 1 in an expression of floats", "1.0"),
    ("p(X) :- X := sqrt(4).", "arithmetic", "sqrt/1 is no operation of integers", "$:="),
    ("p(X) :- X $:= 1.0 mod 2.0.", "arithmetic", "mod/2 is no operation of floats", "integers"),
    ("p(X) :- X := foo(4).", "arithmetic", "foo/1 is no operation of integers", "xor"),
    ("p(X) :- X $:= sqr(4.0).", "arithmetic", "sqr/1 is no operation of floats", "did you mean sqrt?"),
    ("p(X, Y) :- X := Y / 0.", "arithmetic", "division by zero", ""),
    ("p(X, Y) :- X := Y << -1.", "arithmetic", "negative distance", "other way"),
    ("p(X) :- X > 1.", "body", "X > 1 is a test, and this is a body", "before the |"),
    ("p(X) :- integer(X).", "body", "integer/1 is a test", "before the |"),
    ("p(X) :- X.", "body", "the variable X is no goal", "apply"),
    ("p :- 3.", "body", "3 is no goal", ""),
    ("p :- (true -> q ; r).\nq.\nr.", "body", "Guard -> Body", ""),
    ("p(X) :- q@nodes(X).\nq.", "pragma", "nodes(X) is no pragma", "Goal@node(N)"),
    ("p :- q@node(-1).\nq.", "pragma", "numbered from 0", ""),
    ("p :- alloc(1)@@q@node(1).\nq.", "pragma", "a second PE", ""),
    ("p :- X = 16#\"G\", q(X).\nq(_).", "constant", "a digit that base 16 lacks", ""),
    ("p :- X = predicate#q, r(X).\nr(_).", "constant", "predicate#(module:name/arity)", "main:append/3"),
    ("otherwise.\np.", "separator", "otherwise stands between clauses", ""),
    ("p(1).\notherwise.\nq.", "separator", "otherwise stands between clauses", ""),
    ("p(1).\nalternatively.\n", "separator", "alternatively stands between clauses", ""),
    (":- module a.\np.\nend.\nq.", "declaration", "behind the end of the module", ":- module Name"),
    (":- module a.\np.\n:- module a.\nq.", "duplicate-module", "module a is defined twice", ""),
    (":- inline:\"int x;\".\np.", "declaration", "C code", ""),
    (":- public p.\np.", "declaration", "Name/Arity", ""),
    (":- foo.\np.", "declaration", "no such declaration", ":- module"),
    ("X :- p.\np.", "head", "no head", ""),
    ("p, q :- r.\nr.", "head", "a clause cannot define ,", "full stop"),
    ("p --> q.", "syntax", "", ""),
    ("", "syntax", "the file is empty", ""),
    ("p(X)-S :- 3-S, q(X).\nq(_).", "pair", "arguments can only be added", ""),
    ("p :- call(q, R, C), r(R, C).\nr(_, _).", "unknown-predicate", "no predicate q/0", ""),
    ("p :- q, !.\nq.", "body", "! is no goal", "no cut"),
    ("p(X) :- keyboard:read(X).", "unknown-module", "no module keyboard", "weft's own are merge, unix, io, klicio"),
    ("p(X) :- add(X, a, Y) | q(Y).\nq(_).", "arithmetic", "a is no number", ""),
    ("p(X) :- less_than(X, Y) | true.", "no-value", "Y has no value here", ""),
    ("p :- '$open'(a, b, c).", "unknown-predicate", "no predicate $open/3", ""),
];

#[test]
fn errors() {
    for (text, code, message, help) in WRONG {
        let checked = checked(text);
        assert!(checked.program.is_none(), "{text}");
        let errors: Vec<_> =
            checked.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
        let [error] = errors.as_slice() else { panic!("{text}: one error\n{}", checked.render(false)) };
        assert_eq!(error.code, *code, "{text}: {}", error.message);
        assert!(error.message.contains(message), "{text}: {}", error.message);
        assert!(error.help.as_deref().unwrap_or("").contains(help), "{text}: {:?}", error.help);
    }
}

#[test]
fn brackets_around_a_product_or_a_remainder_say_which_is_meant() {
    for text in ["p(X, Y) :- Y := (3 * X) mod 5.", "p(X, Y) :- Y := 3 * (X mod 5).", "p(X, Y) :- Y := 3 + X mod 5."] {
        program(text);
    }
}

/// The KL1 systems have comparisons and operations as goals, too.
#[test]
fn named_operations_are_those_of_signs() {
    let signs = "p(X, Y) :- X < 3, A := X + 1, B := \\A, A =\\= 7 | Y := B << 2.";
    let names = "p(X, Y) :- less_than(X, 3), add(X, 1, A), complement(A, B), not_equal(A, 7) | shift_left(B, 2, Y).";
    assert_eq!(normal(names), normal(signs));
    assert_eq!(normal("p(X) :- display_console(X) | true."), normal("p(X) :- write(X) | true."));
    let floats = "p(X, Y) :- floating_point_multiply(X, X, Y).";
    assert_eq!(normal(floats), normal("p(X, Y) :- Y $:= X * X."));
    // A program's own predicate of the name is called.
    assert!(normal("p(X, Y) :- add(X, 1, Y).\nadd(X, _, Y) :- Y = X.").contains("add(X, 1, Y)"));
}

#[test]
fn warnings() {
    for (text, code, message) in [
        ("p(X, Y, Z) :- q(Y).\nq(_).", "singleton", "X and Z occur only once"),
        ("p(_).\np(1).", "unreachable", "never needed"),
        ("p([A|B]) :- q(A, B).\notherwise.\np([1, 2]).\nq(_, _).", "unreachable", "never needed"),
        ("p :- f(a) = f(b).", "never", "never be made equal"),
        ("p(X, Y) :- Y := 3 * X mod 5.", "precedence", "(3 * X) mod 5 here, and 3 * (X mod 5) in KLIC"),
        (":- module a.\n:- public p/0.\np.\nq.", "unused", "nothing calls q/0"),
        (":- module a.\n:- public p/0.\np.\nq :- q.", "unused", "nothing calls q/0"),
        ("p(1).\nq.\np(2).", "discontiguous", "do not stand together"),
        (":- with_macro pinos.\np.", "unknown-macros", "does not exist"),
    ] {
        let checked = checked(text);
        assert!(checked.program.is_some(), "{}", checked.render(false));
        let diagnostics: Vec<_> = checked.diagnostics.iter().collect();
        let [warning] = diagnostics.as_slice() else { panic!("{text}: one warning\n{}", checked.render(false)) };
        assert_eq!(warning.code, code);
        assert!(warning.message.contains(message), "{}", warning.message);
    }
}

#[test]
fn an_excerpt_shows_the_location() {
    let checked = checked("main :- X = 1,\n  wirte(X).\n");
    let text = checked.render(false);
    for part in ["test.fghc:2:3", "wirte(X)", "did you mean write?", "unknown-predicate"] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let findings = checked.diagnostics.findings(&checked.sources);
    assert_eq!((findings[0].line, findings[0].column, findings[0].file), (2, 3, "test.fghc"));
}

#[test]
fn sources_of_one_name_have_excerpts_of_their_own() {
    let source = |text: &str| Source { name: "same.fghc".into(), text: text.into() };
    let first = source("q.\n");
    let text = check(vec![first, source("% longer than the first\nmain :- wirte(1).\n")], None).render(false);
    for part in ["same.fghc:2:9", "wirte(1)"] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn names_of_sources_are_shown_in_one_short_line() {
    // The second has a line too long for an excerpt.
    let programs = ["main :- wirte(1).\n".to_owned(), format!("main :- wirte(1), X = {}.\n", "a".repeat(2000))];
    for program in programs {
        let name = "a name\nof many lines\n".repeat(1000);
        let text = check(vec![Source { name, text: program }], None).render(false);
        assert!(text.contains("a name of many lines a name"), "{text}");
        assert!(text.len() < 2000, "{} bytes:\n{text}", text.len());
    }
}

#[test]
fn heads_are_linear_and_writing_guards_write_at_commitment() {
    assert_eq!(normal("p(X, f(X)) :- write(X) | true."), "p(X, f(_X1)) :- X = _X1 |\n    write(X).\n");
    assert_eq!(normal("p(X, ~(X+1))."), "p(X, _Value1) :- _Value2 := X + 1, _Value1 = _Value2 | true.\n");
}

#[test]
fn macros() {
    assert_eq!(
        normal("p(A, B) :- q(~(A*2), [B|~(B-1)], #\"a\", 16#\"ff\"), A = ~(B+1).\nq(_, _, _, _)."),
        "p(A, B) :- true |\n    _Value1 := A * 2,\n    _Value2 := B - 1,\n    q(_Value1, [B|_Value2], 97, 255),\n    \
         A := B + 1.\nq(_, _, _, _) :- true | true.\n"
    );
    assert_eq!(
        normal("p(A) :- vector_element(A, ~(1+1), 3) | true."),
        "p(A) :- _Value1 := 1 + 1, vector_element(A, _Value1, _Result1), _Result1 = 3 | true.\n"
    );
    assert_eq!(
        normal("p(A) :- A + 1 =< 3, B $:= float(A), 3 := A | q(B).\nq(_)."),
        "p(A) :- A + 1 =< 3, B $:= float(A), _Value1 := 3, A = _Value1 |\n    q(B).\nq(_) :- true | true.\n"
            .replace("_Value1 := 3, A = _Value1", "_Value1 := A, 3 = _Value1")
    );
}

#[test]
fn argument_pairs_as_in_the_manual() {
    // KLIC's manual, 2.9.1.
    let callees = "q(_,_,_).\ns(_,_,_).\nr(_,_).\nt(_,_,_).\n";
    let with_pairs = normal(&format!("p(X,Y,Z)-Pair :- q(X)-Pair, s(Z)-Pair, r(Pair,Y), t(Z)-Pair.\n{callees}"));
    let without = normal(&format!(
        "p(X,Y,Z,Pair,Pair_1) :- q(X,Pair,Pair_2), s(Z,Pair_2,Pair_3), r(Pair_3,Y), \
        t(Z,Pair_3,Pair_1).\n{callees}"
    ));
    assert_eq!(with_pairs, without);
    assert_eq!(normal("p(X)-Y :- q(X).\nq(_)."), normal("p(X,Y,Y_1) :- Y=Y_1, q(X).\nq(_)."));
    assert_eq!(
        normal("p-X+Y :- q-X+35, r(Y), s+Y-X.\nq(_,_,_).\nr(_).\ns(_,_,_)."),
        normal("p(X,X_1,Y) :- q(X,X_2,35), r(Y), s(Y,X_2,X_1).\nq(_,_,_).\nr(_).\ns(_,_,_).")
    );
    // 2.9.2 and 2.9.3.
    assert_eq!(
        normal("sum(List,Sum) :- sum(List)+0+Sum.\nsum([])-_Acc.\nsum([H|T])-Acc :- Acc += H, sum(T)-Acc."),
        normal(
            "sum(List,Sum) :- sum(List,0,Sum).\nsum([],_Acc,_Acc_1) :- _Acc = _Acc_1.\n\
                sum([H|T],Acc,Acc_1) :- Acc_2 := Acc + H, sum(T,Acc_2,Acc_1)."
        )
    );
    assert_eq!(
        normal("inv([])-_Inv.\ninv([H|T])-Inv :- MH := -H, Inv <= MH, inv(T)-Inv."),
        normal(
            "inv([],_Inv,_Inv_1) :- _Inv = _Inv_1.\n\
                inv([H|T],Inv,Inv_1) :- MH := -H, Inv = [MH|Inv_2], inv(T,Inv_2,Inv_1)."
        )
    );
    assert_eq!(
        normal("p-S :- q(S), S <== 3, 4 => S.\nq(_)."),
        normal("p(S,S_1) :- q(S), S_2 = 3, S_1 = [4|S_2].\nq(_).")
    );
}

#[test]
fn a_conditional_hands_on_what_it_shares_and_steps_pairs_alike() {
    let text = normal("p(X)-S :- ( X > 1, Y := X -> S <= Y ; otherwise ; true -> q(X) ), r-S.\nq(_).\nr(_,_).");
    assert!(text.contains("'p/3$1'(X, S, S_3)"), "{text}");
    assert!(text.contains("'p/3$1'(X, S, S_3) :- X > 1, Y := X |\n    S = [Y|S_3]."), "{text}");
    assert!(text.contains("otherwise.\n'p/3$1'(X, S, S_3) :- true |\n    S_3 = S,\n    q(X)."), "{text}");
    assert!(text.contains("r(S_3, S_1)"), "{text}");
}

#[test]
fn only_calls_carry_pragmas() {
    let program = program("p(X, N) :- write(X)@node(N), alloc(N)@@q(X)@priority(3), X = 1@lower_priority.\nq(_).");
    let sites = pragma_sites(&program);
    assert_eq!(sites.len(), 3);
    assert_eq!(program.iter().filter(|(_, predicate)| matches!(predicate.origin, Origin::Expanded(_))).count(), 2);
}

#[test]
fn groups() {
    let program =
        program("p(1).\np(2).\notherwise.\np(3).\nalternatively.\np(4).\nq(1).\nq(X) :- otherwise | r(X).\nr(_).");
    let ranges = program.predicate(weft_fghc::ir::PredicateId(0)).groups.iter().map(|group| group.clauses.clone());
    assert_eq!(ranges.collect::<Vec<_>>(), [0..2, 2..3, 3..4]);
    assert_eq!(program.predicate(weft_fghc::ir::PredicateId(1)).groups.len(), 2);
}

#[test]
fn the_argument_that_tells_most_clauses_apart() {
    let program = program("p(X, [A|B], 1) :- q(X, A, B).\np(X, [], Y) :- q(X, Y, Y).\nq(X, Y, Z) :- p(X, Y, Z).");
    assert_eq!(dispatch_argument(program.predicate(weft_fghc::ir::PredicateId(0))), Some(1));
    assert_eq!(dispatch_argument(program.predicate(weft_fghc::ir::PredicateId(1))), None);
}

#[test]
fn a_goal_has_its_variables_as_arguments_and_its_errors_their_own_place() {
    let source = || vec![Source { name: "test.fghc".into(), text: "p(_, _).".into() }];
    let program = check(source(), Some("p(X, [Y|X]), Z = 1")).program.expect("no errors");
    let start = program.predicate(program.start.expect("a goal was given"));
    let names: Vec<&str> = start.clauses[0].variables.iter().map(|variable| &*variable.name).collect();
    assert_eq!((start.arity, names), (3, vec!["X", "Y", "Z"]));
    let wrong = check(source(), Some("p(1), q(")).render(false);
    assert!(wrong.contains("--goal:1:8"), "{wrong}");
    let wrong = check(source(), Some("pp(1, 2)")).render(false);
    assert!(wrong.contains("--goal:1:1") && wrong.contains("did you mean p?"), "{wrong}");
}

#[test]
fn alloc_numbers_the_pes_as_the_papers_programs_and_from_1() {
    // Program 1 on n PEs names 7-n to 6 and starts on 6.
    for pes in 1..=64 {
        let mut nodes: Vec<usize> =
            (7 - pes as i64..=6).map(|number| Placement::alloc_node(number, pes).expect("known")).collect();
        assert_eq!(nodes.last(), Some(&0));
        nodes.sort_unstable();
        assert_eq!(nodes, (0..pes).collect::<Vec<_>>());
        let mut nodes: Vec<usize> =
            (1..=pes as i64).map(|number| Placement::alloc_node(number, pes).expect("known")).collect();
        nodes.sort_unstable();
        assert_eq!(nodes, (0..pes).collect::<Vec<_>>());
        assert_eq!(Placement::alloc_node(pes.max(6) as i64 + 1, pes), None);
        assert_eq!(Placement::alloc_node(6 - pes.max(6) as i64, pes), None);
    }
}
