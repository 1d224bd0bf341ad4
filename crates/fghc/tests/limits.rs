//! Values without an end, memory beside the heap, interrupts in the middle of something, and large programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use weft_fghc::check::check;
use weft_fghc::engine::{Engine, Limits, Loaded, MAX_SHOWN, Options, Stop};
use weft_fghc::ir::Source;

mod common;
use common::{load, run, run_loaded, run_with, under_every_option};

const CYCLES: &str = "
:- module m.
:- public f/1, list/1, inner/1, vector/1, equal/1, differ/1, same/1, order/1, hash/1, written/1, long/2.
f(X) :- X = f(X).
list(X) :- X = [a, b|X].
inner(X) :- X = g(Y, 1, Y), Y = [Z], Z = h(Y, X).
vector(X) :- X = {X, 1}.
equal(R) :- X = f(X), Y = f(f(Y)), X = Y, ok(X, R).
ok(f(_), R) :- R = yes.
differ(R) :- X = f(X, 1), Y = f(Y, 2), X = Y, R = no.
same(R) :- X = f(X, 0), Y = f(f(Y, 0), 0), Z = f(f(Z, 1), 0), test(X, Y, Z, R).
test(X, X, Z, R) :- X \\= Z | R = yes.
order(R) :- X = [1|X], Y = [1, 1|Y], Z = [1, 1, 2|Z], compare(X, Y, A), compare(X, Z, B), compare(Z, X, C), R = [A, B, C].
hash(R) :- X = [1|X], Y = [1, 1|Y], hash(X, A), hash(Y, B), look(A, B, R).
look(A, A, R) :- R = yes.
written(R) :- X = f(X, \"a\"), print(X), R = done.
long(N, R) :- make(N, X, X), make(N, Y, Y), X = Y, R = done.
make(0, L, T) :- L = T.
make(N, L, T) :- N > 0, M := N - 1 | L = [N|R], make(M, R, T).
";

#[test]
fn cyclic_values_are_written_with_equations() {
    for (goal, wanted) in
        [("f(X)", "@(_S1,[_S1=f(_S1)])"), ("list(X)", "@(_S1,[_S1=[a,b|_S1]])"), ("vector(X)", "@(_S1,[_S1={_S1,1}])")]
    {
        assert_eq!(under_every_option(CYCLES, goal, |done| done.answer("X")), wanted);
    }
    let inner = under_every_option(CYCLES, "inner(X)", |done| done.answer("X"));
    assert_eq!(inner, "@(_S1,[_S1=g(_S2,1,_S2),_S2=[h(_S2,_S1)]])");
    assert_eq!(run(CYCLES, "written(R)").done().output, "@(_S1,[_S1=f(_S1,\"a\")])\n");
}

#[test]
fn cyclic_values_are_rational_trees() {
    assert_eq!(under_every_option(CYCLES, "equal(R)", |done| done.answer("R")), "yes");
    assert_eq!(under_every_option(CYCLES, "same(R)", |done| done.answer("R")), "yes");
    assert_eq!(under_every_option(CYCLES, "order(R)", |done| done.answer("R")), "[0,-1,1]");
    assert_eq!(under_every_option(CYCLES, "hash(R)", |done| done.answer("R")), "yes");
    let differ = run(CYCLES, "differ(R)").problem();
    assert!(differ.contains("@(_S1,[_S1=f(_S1,1)]) = @(_S1,[_S1=f(_S1,2)]) cannot be made equal"), "{differ}");
    // Cycles of lengths without a common part: nothing but what is remembered ends the walk.
    for (one, other) in [(1, 1), (2, 3), (64, 65), (1000, 1)] {
        let goal = format!("long({one}, R)");
        assert_eq!(run(CYCLES, &goal).done().answer("R"), "done");
        let program = format!(
            "{CYCLES}\nboth(R) :- ones({one}, X, X), ones({other}, Y, Y), X = Y, R = done.\n\
             ones(0, L, T) :- L = T.\nones(N, L, T) :- N > 0, M := N - 1 | L = [1|R], ones(M, R, T).\n"
        );
        let program = program.replace("long/2.", "long/2, both/1.");
        assert_eq!(run(&program, "both(R)").done().answer("R"), "done", "{one} and {other}");
    }
}

#[test]
fn shared_parts_are_gone_through_once() {
    // Both have 2^60 leaves and 60 parts.
    let program = "
:- module m.
:- public main/1, show/1.
main(R) :- make(60, X), make(60, Y), X = Y, compare(X, Y, R).
show(R) :- make(60, X), print(X), R = done.
make(0, X) :- X = leaf.
make(N, X) :- N > 0, M := N - 1 | X = t(Y, Y), make(M, Y).
";
    assert_eq!(run(program, "main(R)").done().answer("R"), "0");
    let options = || Options { heap: 4 << 20, ..Options::default() };
    let problem = run_with(program, "show(R)", options()).problem();
    assert!(problem.contains("the text of a value needs") && problem.contains("the limit is 4194304"), "{problem}");
}

#[test]
fn a_list_without_an_end_has_no_length() {
    let program = ":- module m.\n:- public main/1.\nmain(V) :- X = [1|X], new_vector(V, X).\n";
    let problem = run(program, "main(V)").problem();
    assert!(problem.contains("new_vector: the list has more than 16777215 elements, or no end"), "{problem}");
}

#[test]
fn goals_that_nothing_can_wake_are_counted_and_the_first_are_kept() {
    let program = "
:- module m.
:- public main/1.
main(0).
main(N) :- N > 0, M := N - 1 | wait(_, N), main(M).
wait(1, _).
";
    let loaded = load(program, "main(50000)", false);
    for loaded in [loaded.clone(), loaded.translate()] {
        let done = run_loaded(&loaded, Options { heap: 256 << 10, ..Options::default() });
        assert!(matches!(done.stop, Stop::Idle) && !done.engine.finished(), "{:?}", done.stop);
        assert_eq!(done.engine.waiting_count(), 50_000);
        assert!(done.engine.lost_count() > 10_000);
        assert_eq!(done.engine.lost().len(), MAX_SHOWN);
        assert_eq!(done.engine.waiting().len(), MAX_SHOWN);
    }
}

const TREES: &str = "
:- module m.
:- public many/1, deep/1, wide/1, stopped/2.
many(0).
many(N) :- N > 0, M := N - 1 | call(nothing, R, _), next(R, M).
next(success, M) :- many(M).
nothing.
deep(N) :- M := N + 1 | call(deep(M), _, _).
wide(N) :- M := N + 1 | call(wait(_), _, _), wide(M).
wait(1).
stopped(N, R) :- call(nest(N, T), R, C), end(T, C).
nest(0, T) :- T = [end].
nest(N, T) :- N > 0, M := N - 1 | call(nest(M, T), _, _), wait(_).
end([end], C) :- C = [stop].
";

#[test]
fn ended_metacalls_leave_their_numbers_to_others() {
    let loaded = load(TREES, "many(300000)", false);
    for loaded in [loaded.clone(), loaded.translate()] {
        let done = run_loaded(&loaded, Options { heap: 1 << 20, ..Options::default() }).done();
        assert!(done.counters().reductions > 300_000);
    }
}

#[test]
fn metacalls_count_against_the_limit_of_the_heap() {
    for goal in ["deep(0)", "wide(0)"] {
        let problem = run_with(TREES, goal, Options { heap: 2 << 20, ..Options::default() }).problem();
        assert!(problem.contains("the heap is exhausted"), "{problem}");
        assert!(problem.contains("of them for metacalls and priorities"), "{problem}");
        assert!(problem.contains("the limit is 2097152"), "{problem}");
        assert!(problem.contains("raise it with --heap"), "{problem}");
    }
}

#[test]
fn a_deep_tree_of_metacalls_can_be_stopped() {
    assert_eq!(run(TREES, "stopped(5000, R)").done().answer("R"), "stop");
}

#[test]
fn atoms_that_a_program_makes_count_against_the_limit_of_the_heap() {
    let program = "
:- module m.
:- public atoms/1.
atoms(N) :- M := N + 1, A := N mod 250, B := N / 250 mod 250, C := N / 62500 mod 250 |
    new_string(S, 100, 8), set_string_element(S, 0, A, S1), set_string_element(S1, 1, B, S2),
    set_string_element(S2, 2, C, T), make_atom(T, X), go_on(X, M).
go_on(X, M) :- atom(X) | atoms(M).
";
    let problem = run_with(program, "atoms(0)", Options { heap: 2 << 20, ..Options::default() }).problem();
    assert!(problem.contains("of them for atoms made by the program"), "{problem}");
}

#[test]
fn an_interrupt_ends_what_is_no_reduction() {
    let program = "
:- module m.
:- public show/1, equal/1.
make(0, X, Y) :- X = leaf, Y = leaf.
make(N, X, Y) :- N > 0, M := N - 1 | X = [A|A], Y = [A|B], make(M, A, B).
tree(0, X) :- X = leaf.
tree(N, X) :- N > 0, M := N - 1 | X = t(Y, Y), tree(M, Y).
show(R) :- tree(60, X), print(X), R = done.
equal(R) :- list(3000000, X), list(3000000, Y), compare(X, Y, R).
list(0, X) :- X = [].
list(N, X) :- N > 0, M := N - 1 | X = [N|Y], list(M, Y).
";
    for goal in ["show(R)", "equal(R)"] {
        let loaded = load(program, goal, false).translate();
        let interrupt = Arc::new(AtomicBool::new(false));
        let options = Options { interrupt: interrupt.clone(), output: Box::new(std::io::sink()), ..Options::default() };
        let mut engine = Engine::new(&loaded, options).unwrap();
        engine.start();
        // Until the long operation is all that is left: it is the last reduction but few.
        let stop = engine.run(if goal == "equal(R)" { 6_000_003 } else { 62 });
        assert!(matches!(stop, Stop::Budget | Stop::Idle), "{stop:?}");
        interrupt.store(true, Ordering::Relaxed);
        assert!(matches!(engine.run(u64::MAX), Stop::Interrupted));
    }
}

fn compiled(text: String) -> Loaded {
    let checked = check(vec![Source { name: "large.fghc".into(), text }], Some("true"));
    assert_eq!(checked.diagnostics.errors(), 0, "{}", checked.render(false));
    Loaded::new(checked.program.unwrap(), false).unwrap()
}

#[test]
fn code_grows_as_programs_do() {
    type Make = fn(usize) -> String;
    let kinds: [(&str, Make); 5] = [
        ("facts", |n| (0..n).map(|i| format!("p({i}, X) :- X = {}.\n", 2 * i)).collect()),
        ("strings", |n| (0..n).map(|i| format!("p(\"s{i}\", X) :- X = v{i}.\n")).collect()),
        ("guards", |n| (0..n).map(|i| format!("p(Y, X) :- Y =:= {i} | X = {i}.\n")).collect()),
        ("two arguments", |n| {
            (0..n / 2).map(|i| format!("p({i}, _, X) :- X = {i}.\np(_, {i}, X) :- X = {i}.\n")).collect()
        }),
        ("goals", |n| {
            let body: Vec<String> = (0..n / 32).map(|i| format!("q({i})")).collect();
            format!("q(_).\np :- {}.\n", body.join(", "))
        }),
    ];
    for (kind, make) in kinds {
        let counts = [3_000, 6_000].map(|n| compiled(format!(":- module m.\n{}", make(n))).code.instructions.len());
        assert!(counts[1] <= counts[0] * 21 / 10, "{kind}: {counts:?}");
    }
}

#[test]
fn a_literal_list_of_a_hundred_thousand_elements_is_a_value() {
    let elements: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
    let list = elements.join(",");
    let program = format!(
        "\u{feff}:- module m.\n:- public main/1, same/1, mixed/2.\n\
         main(S) :- sum([{list}], 0, S).\n\
         same(R) :- L = [{list}], test(L, R).\n\
         mixed(X, S) :- sum([{list},X,X|[]], 0, S).\n\
         test([{list}], R) :- R = yes.\n\
         sum([], S, R) :- R = S.\nsum([X|L], S, R) :- T := S + X | sum(L, T, R).\n"
    );
    for native in [false, true] {
        let run = |goal: &str, name: &str| {
            let loaded = load(&program, goal, false);
            let loaded = if native { loaded.translate() } else { loaded };
            run_loaded(&loaded, Options::default()).done().answer(name)
        };
        assert_eq!(run("main(S)", "S"), "4999950000");
        assert_eq!(run("same(R)", "R"), "yes");
        assert_eq!(run("mixed(1, S)", "S"), "4999950002");
    }
}

#[test]
fn what_is_too_large_is_an_error() {
    let error = |text: String| {
        let checked = check(vec![Source { name: "large.fghc".into(), text }], None);
        match checked.program {
            Some(ref program) => Loaded::new(program.clone(), false).err().map(|error| error.to_string()),
            None => Some(checked.render(false)),
        }
        .unwrap_or_default()
    };
    let names: Vec<String> = (0..70_000).map(|i| format!("A{i}")).collect();
    let text = format!(":- module m.\np(f({0})) :- q(g({0})).\nq(_).\n", names.join(","));
    assert!(error(text).contains("a pattern of m:p/1 has 70000 cells"));
    let guard = vec!["(X = 1 ; X = 2)"; 20].join(", ");
    let text = format!(":- module m.\np(X) :- {guard} | true.\n");
    let message = error(text);
    assert!(message.contains("alternatives for"), "{message}");
    let text = format!(":- module m.\np(X) :- X = {}a{}.\n", "f(".repeat(100_000), ")".repeat(100_000));
    assert!(error(text).contains("nested more than 200 deep"));
}

#[derive(Clone, Debug)]
enum Pattern {
    Any,
    Integer(u8),
    Structure(u8),
}

impl Pattern {
    fn text(&self) -> String {
        match self {
            Pattern::Any => "_".into(),
            Pattern::Integer(value) => value.to_string(),
            Pattern::Structure(value) => format!("f({value})"),
        }
    }

    fn takes(&self, value: &Pattern) -> bool {
        match (self, value) {
            (Pattern::Any, _) => true,
            (Pattern::Integer(a), Pattern::Integer(b)) | (Pattern::Structure(a), Pattern::Structure(b)) => a == b,
            _ => false,
        }
    }
}

fn value() -> impl Strategy<Value = Pattern> {
    prop_oneof![(0u8..7).prop_map(Pattern::Integer), (0u8..3).prop_map(Pattern::Structure)]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![1 => Just(Pattern::Any), 2 => value()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Against the meaning of clauses: one that takes the goal, of the first group that has any.
    #[test]
    fn clauses_are_chosen_alike_however_they_are_compiled(
        clauses in prop::collection::vec((pattern(), pattern(), prop::bool::weighted(0.04)), 1..80),
        goals in prop::collection::vec((value(), value()), 12),
    ) {
        let mut text = ":- module m.\n:- public p/3.\n".to_string();
        let mut groups: Vec<Vec<usize>> = vec![Vec::new()];
        for (number, (first, second, separates)) in clauses.iter().enumerate() {
            if *separates && number > 0 {
                text.push_str("otherwise.\n");
                groups.push(Vec::new());
            }
            groups.last_mut().expect("at least one").push(number);
            text.push_str(&format!("p({}, {}, X) :- X = {number}.\n", first.text(), second.text()));
        }
        for (a, b) in &goals {
            let goal = format!("p({}, {}, X)", a.text(), b.text());
            let takes = |number: &&usize| clauses[**number].0.takes(a) && clauses[**number].1.takes(b);
            let wanted: Vec<usize> = groups
                .iter()
                .map(|group| group.iter().filter(takes).copied().collect::<Vec<_>>())
                .find(|matching| !matching.is_empty())
                .unwrap_or_default();
            for limits in [
                Limits::default(),
                Limits { pairs: 0, ..Limits::default() },
                Limits { work: 0, ..Limits::default() },
                Limits { pairs: 0, work: 0 },
            ] {
                let checked = check(vec![Source { name: "t".into(), text: text.clone() }], Some(&goal));
                let loaded = Loaded::limited(checked.program.expect("no errors"), false, limits).expect("small");
                let done = run_loaded(&loaded, Options::default());
                if wanted.is_empty() {
                    prop_assert!(matches!(done.stop, Stop::Problem(_)), "{goal}, {limits:?}: {:?}\n{text}", done.stop);
                } else {
                    let answer: usize = done.answer("X").parse().expect("a number");
                    prop_assert!(wanted.contains(&answer), "{goal}, {limits:?}: {answer} of {wanted:?}\n{text}");
                }
            }
        }
    }
}

#[test]
fn a_predicate_too_large_to_translate_is_interpreted_among_others() {
    let mut text = ":- module m.\n:- public main/2.\nmain(N, S) :- sum(N, 0, S).\nsum(0, S, R) :- R = S.\n\
                    sum(N, S, R) :- N > 0, M := N - 1 | p(N, X), add(X, S, T), sum(M, T, R).\n\
                    add(X, S, T) :- integer(X) | T := S + X.\n"
        .to_string();
    for i in 1..=5000 {
        text.push_str(&format!("p({i}, X) :- q({i}, X).\n"));
    }
    text.push_str("q(N, X) :- X := 3 * N.\n");
    let look = |done: &common::Outcome| done.answer("S");
    assert_eq!(under_every_option(&text, "main(200, S)", look), (3 * 200 * 201 / 2).to_string());
}

/// Of counts by predicate native code leaves one out, which follows from the others: also where that is interpreted.
#[test]
fn a_loop_too_large_to_translate_is_counted_once() {
    let mut text =
        ":- module m.\n:- public main/2.\nmain(N, S) :- loop(0, N, S).\nloop(I, 0, S) :- S = I.\n".to_string();
    for i in 0..1500 {
        text.push_str(&format!("loop({i}, N, S) :- N > 0, M := N - 1 | loop({}, M, S).\n", (i + 1) % 1500));
    }
    let checked = check(vec![Source { name: "m.fghc".into(), text }], Some("main(40, S)"));
    let interpreted = Loaded::new(checked.program.expect("no errors"), true).expect("it compiles");
    let native = interpreted.clone().translate();
    let counts = [interpreted, native].map(|loaded| run_loaded(&loaded, Options::default()).engine.counts());
    assert_eq!(counts[0], counts[1]);
    assert_eq!(counts[0].iter().find(|(name, _)| name == "m:loop/3").map(|(_, count)| *count), Some(41));
}
