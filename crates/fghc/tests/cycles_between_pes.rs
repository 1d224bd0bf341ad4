//! Values that lead back to themselves, made on one PE and read or unified on another: the same as on one PE, and an end.

#[path = "common/pes.rs"]
mod pes;

use pes::{Ran, Way, run};
use weft_fghc::check::check;
use weft_fghc::distributed::{CopyLimits, End, Kind};
use weft_fghc::engine::Loaded;
use weft_fghc::ir::Source;

const PROGRAM: &str = "
list(R, P) :- made_list(R)@node(P).
made_list(R) :- X = [a, b, c|X], R = X.
behind(R, P) :- made_behind(R)@node(P).
made_behind(R) :- X = [a, b, c|X], R = [x, y|X].
vector(R, P) :- made_vector(R)@node(P).
made_vector(R) :- X = {X, 1, [X]}, R = X.
structure(R, P) :- made_structure(R)@node(P).
made_structure(R) :- X = g(Y, 1, Y), Y = [Z], Z = h(Y, X), R = X.
thrown(R, P) :- X = [a, b, c|X], same_list(X, R)@node(P).
same_list(X, R) :- Y = [a, b, c, a, b, c|Y], X = Y, R = yes.
guard(R, P) :- made_list(X)@node(P), Y = [a, b, c|Y], Z = [a, b, d|Z], look(X, Y, Z, R).
look(X, X, Z, R) :- X \\= Z | R = yes.
around(R, P) :- X = [a|Y], link(Y, X)@node(P), R = X.
link(Y, X) :- Y = [b|X].
between(R, P) :- first(X, Y)@node(1), second(X, Y)@node(P), R = X.
first(X, Y) :- X = [a|Y].
second(X, Y) :- Y = [b|X].
walked(R, P) :- between(X, P), Y = [a, b|Y], Z = [b|Y], look(X, Y, Z, R).
long(R, P, N) :- round(N, X, X)@node(P), R = X.
round(0, X, Y) :- X = Y.
round(N, X, Y) :- N > 0, M := N - 1 | X = [N|Z], round(M, Z, Y).
equal_long(R, P, N, M) :- round(N, X, X)@node(P), round(M, Y, Y), X = Y, R = yes.
ones(R, P, N, M) :- one(N, X, X)@node(P), one(M, Y, Y), X = Y, R = yes.
one(0, X, Y) :- X = Y.
one(N, X, Y) :- N > 0, M := N - 1 | X = [1|Z], one(M, Z, Y).
differ(R, P) :- made_list(X)@node(P), Y = [a, b, d|Y], X = Y, R = no.
shared(R, P) :- tree(60, R)@node(P).
tree(0, X) :- X = leaf.
tree(N, X) :- N > 0, M := N - 1 | X = t(Y, Y), tree(M, Y).
read_tree(R, P) :- tree(60, X)@node(P), tree(60, Y), look(X, Y, no, R).
";

fn load(goal: &str) -> Loaded {
    let checked = check(vec![Source { name: "test.fghc".into(), text: PROGRAM.into() }], Some(goal));
    let rendered = checked.render(false);
    Loaded::new(checked.program.unwrap_or_else(|| panic!("{rendered}")), false).expect("it compiles")
}

/// Limits of copies: those of every day, and some under which hardly anything is copied.
fn limits() -> impl Iterator<Item = CopyLimits> {
    let levels = [1, 2, 3].into_iter().map(|levels| CopyLimits { levels, ..CopyLimits::default() });
    let parts = [2, 3, 7, 20, 150].into_iter().map(|parts| CopyLimits { parts, ..CopyLimits::default() });
    std::iter::once(CopyLimits::default()).chain(levels).chain(parts)
}

fn answer(ran: &Ran, way: &Way) -> String {
    assert_eq!(ran.end, End::Finished, "{way:?}");
    ran.answers[0].1.clone()
}

/// Under every limit of copies, with and without collections, in some random orders.
fn in_every_way(goal: &str, mut check: impl FnMut(&str, &Way)) {
    let loaded = load(goal);
    for copy in limits() {
        for (seed, collect_every) in [(1, None), (2, None), (3, Some(1)), (4, Some(3)), (5, Some(10))] {
            let way = Way { seed, copy, collect_every, random_goals: seed % 2 == 0, ..Way::plain(3) };
            check(&answer(&run(&loaded, way), &way), &way);
        }
    }
}

/// The first elements of a list written as equations: `@(_S1,[_S1=[a,b|_S1]])`, or with something before the cycle.
fn elements(text: &str, count: usize) -> Vec<String> {
    let text = text.strip_prefix("@(").and_then(|text| text.strip_suffix("])")).unwrap_or_else(|| panic!("{text}"));
    let (first, equation) = text.split_once(",[_S1=").unwrap_or_else(|| panic!("{text}"));
    let listed = |part: &str| -> Vec<String> {
        let part =
            part.strip_prefix('[').and_then(|part| part.strip_suffix("|_S1]")).unwrap_or_else(|| panic!("{part}"));
        part.split(',').map(str::to_owned).collect()
    };
    let mut all = if first == "_S1" { Vec::new() } else { listed(first) };
    let round = listed(equation);
    all.extend(round.iter().cycle().take(count).cloned());
    all.truncate(count);
    all
}

#[test]
fn a_cyclic_answer_from_another_pe_is_written_as_on_one() {
    let wanted = [
        ("list", "@(_S1,[_S1=[a,b,c|_S1]])"),
        ("behind", "@([x,y|_S1],[_S1=[a,b,c|_S1]])"),
        ("vector", "@(_S1,[_S1={_S1,1,[_S1]}])"),
        ("structure", "@(_S1,[_S1=g(_S2,1,_S2),_S2=[h(_S2,_S1)]])"),
    ];
    for (name, wanted) in wanted {
        for (pes, node) in [(1, 0), (2, 1), (3, 2)] {
            let goal = format!("{name}(R, {node})");
            let loaded = load(&goal);
            for seed in 1..6 {
                let way = Way { seed, ..Way::plain(pes) };
                let ran = run(&loaded, way);
                assert_eq!(answer(&ran, &way), wanted, "{goal}: {way:?}");
                // The whole value is in the message that has it, once.
                let values = ran.sent(Kind::ReturnValue) + ran.sent(Kind::Unify);
                assert!(values <= 1, "{goal}: {values} values");
            }
        }
    }
}

#[test]
fn cyclic_answers_end_whatever_is_copied_and_collected() {
    for (goal, before, round) in [
        ("list(R, 1)", vec![], vec!["a", "b", "c"]),
        ("behind(R, 1)", vec!["x", "y"], vec!["a", "b", "c"]),
        ("around(R, 2)", vec![], vec!["a", "b"]),
        ("between(R, 2)", vec![], vec!["a", "b"]),
    ] {
        let wanted: Vec<&str> = before.iter().chain(round.iter().cycle()).take(3000).copied().collect();
        in_every_way(goal, |text, way| assert_eq!(elements(text, 3000), wanted, "{goal}: {way:?}"));
    }
    for goal in ["vector(R, 1)", "structure(R, 2)"] {
        in_every_way(goal, |text, way| assert!(text.starts_with("@("), "{goal}: {way:?}: {text}"));
    }
}

#[test]
fn cycles_longer_than_a_message_end_too() {
    for length in [300, 1009, 4999, 20_011] {
        let loaded = load(&format!("long(R, 1, {length})"));
        for (collect_every, parts) in [(None, 2000), (Some(100), 2000), (None, 100), (Some(1), 330)] {
            let way = Way { collect_every, copy: CopyLimits { parts, ..CopyLimits::default() }, ..Way::plain(2) };
            let text = answer(&run(&loaded, way), &way);
            // Too long to be shown whole; nothing begins so that has no cycle.
            assert!(text.starts_with("@(") && text.contains("_S1=["), "{length}: {way:?}: {text}");
        }
    }
}

#[test]
fn cyclic_values_of_two_pes_are_compared_and_unified() {
    for goal in ["thrown(R, 1)", "guard(R, 1)", "walked(R, 2)", "ones(R, 1, 2, 3)", "ones(R, 1, 64, 65)"] {
        in_every_way(goal, |text, way| assert_eq!(text, "yes", "{goal}: {way:?}"));
    }
    for goal in ["equal_long(R, 1, 5000, 5000)", "ones(R, 1, 5000, 3)", "ones(R, 1, 3, 7000)", "ones(R, 1, 1200, 1100)"]
    {
        for seed in 1..4 {
            let way = Way { seed, slice: 2000, ..Way::plain(2) };
            assert_eq!(answer(&run(&load(goal), way), &way), "yes", "{goal}: {way:?}");
        }
    }
    let ran = run(&load("differ(R, 1)"), Way::plain(2));
    let End::Problem { message, .. } = ran.end else { panic!("{:?}", ran.end) };
    assert!(message.contains("cannot be made equal"), "{message}");
}

#[test]
fn what_is_shared_over_and_over_is_read_once() {
    let way = Way::plain(2);
    assert_eq!(answer(&run(&load("read_tree(R, 1)"), way), &way), "yes");
}
