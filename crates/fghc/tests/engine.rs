//! What the engine must do right: suspension, commitment, builtins, metacalls, limits and reports.

mod common;

use common::{load, run, run_loaded, run_with, under_every_option};
use weft_fghc::engine::{Engine, Options, Rounds, Stop};

const LISTS: &str = "
module lists.
:- public main/2, from/2, add/3, both/3, either/2, pick/2, quit/1.
main(N, S) :- true | from(N, L), reverse(L, [], R), sum(R, 0, S).
from(0, L) :- true | L = [].
from(N, L) :- N > 0, N1 := N - 1 | L = [N|T], from(N1, T).
reverse([], A, R) :- true | R = A.
reverse([X|L], A, R) :- true | reverse(L, [X|A], R).
sum([], A, S) :- true | S = A.
sum([X|L], A, S) :- A1 := A + X | sum(L, A1, S).
add(X, Y, Z) :- true | Z := X + Y.
both(X, Y, Z) :- X = a, Y = b | Z = yes.
either(X, Z) :- true | mix([1,2,3], X, Z).
mix([], Y, Z) :- true | Z = Y.
mix(X, [], Z) :- true | Z = X.
mix([A|X], Y, Z) :- true | Z = [A|Z1], mix(X, Y, Z1).
mix(X, [A|Y], Z) :- true | Z = [A|Z1], mix(X, Y, Z1).
pick(X, Y) :- X = 1 | Y = one.
pick(X, Y) :- X = 2 | Y = two.
otherwise.
pick(_, Y) :- true | Y = many.
quit(N) :- true | exit(N).
";

#[test]
fn answers_do_not_depend_on_order_or_collections() {
    let text = under_every_option(LISTS, "main(300, S)", |done| {
        format!("{} {}", done.answer("S"), done.counters().reductions)
    });
    assert_eq!(text, format!("45150 {}", 1 + 3 * 301));
}

/// Two rows of goals that end in writing: one after the other, or a step of each alternately.
#[test]
fn goals_run_depth_first_or_take_turns() {
    let program = "
module m.
:- public main/0.
main :- true | row(a, 2), row(b, 1), show(c).
row(X, 0) :- true | show(X).
row(X, N) :- N > 0, N1 := N - 1 | show(N), row(X, N1).
show(X) :- true | write(X).
";
    let loaded = load(program, "main", false);
    let written = |rounds| {
        let done = run_loaded(&loaded, Options { rounds, ..Options::default() });
        (done.output.replace('\n', ""), done.counters().arguments)
    };
    assert_eq!(written(Rounds::default()), ("21a1bc".into(), 0));
    // The first row's first step comes first, then the second's, then c: each puts what it makes behind all others.
    // Arguments: 2 of each of five goals of rows, 1 of each of six that write.
    let rounds = Rounds { breadth_first: true, counts_arguments: true };
    assert_eq!(written(rounds), ("c211ba".into(), 16));
}

#[test]
fn goals_beside_a_metacall_run_however_few_reductions_are_asked_for_at_once() {
    let program = "
module m.
:- public meta/1.
meta(V) :- call(inf(L, 1), R, C), tl(L, C), V = R.
inf(L, N) :- L = [N|_], loop(N).
loop(N) :- M := N + 1 | loop(M).
tl([_|_], C) :- C = [stop].
";
    for breadth_first in [false, true] {
        for reductions in 1..4 {
            let options = Options { rounds: Rounds { breadth_first, counts_arguments: false }, ..Options::default() };
            let mut engine = Engine::new(&load(program, "meta(V)", false), options).unwrap();
            assert!(engine.start());
            let ends = (0..1000).any(|_| matches!(engine.run(reductions), Stop::Idle) && engine.finished());
            assert!(ends, "breadth first: {breadth_first}, {reductions} at once");
            assert_eq!(engine.answers(), [("V".to_string(), "stop".to_string())]);
        }
    }
}

#[test]
fn a_pipeline_of_filters_gives_the_same_in_every_order() {
    let primes = include_str!("../../../programs/fghc/primes.fghc");
    let text = under_every_option(primes, "count(100, N)", |done| done.answer("N"));
    assert_eq!(text, "25");
}

#[test]
fn a_body_calculation_waits_for_its_operands() {
    let text = under_every_option(LISTS, "add(X, Y, Z), Y = 2, X = 40", |done| done.answer("Z"));
    assert_eq!(text, "42");
}

#[test]
fn a_goal_waits_for_every_variable_that_keeps_a_clause_open() {
    // Each order of the two bindings wakes it.
    for goal in ["mixed(X, Y, Z), bind(X)", "mixed(X, Y, Z), bind(Y)"] {
        let program = "
module m.
:- public mixed/3, bind/1.
bind(X) :- true | X = [1].
mixed([A|_], _, Z) :- true | Z = A.
mixed(_, [A|_], Z) :- true | Z = A.
";
        let done = run(program, goal).done();
        assert_eq!(done.answer("Z"), "1");
        assert_eq!((done.counters().suspensions, done.counters().resumptions), (1, 1));
    }
}

#[test]
fn merge_takes_what_is_there() {
    let text = under_every_option(LISTS, "either([7], Z), L = Z", |done| done.answer("Z").len().to_string());
    assert_eq!(text, "[1,2,3,7]".len().to_string());
}

#[test]
fn otherwise_waits_while_a_clause_before_is_undecided() {
    let done = run(LISTS, "pick(X, Y)");
    assert!(matches!(done.stop, Stop::Idle));
    assert!(!done.engine.finished());
    let waiting = done.engine.waiting();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].variables.len(), 1);
    assert_eq!(run(LISTS, "pick(5, Y)").done().answer("Y"), "many");
    assert_eq!(run(LISTS, "pick(X, Y), X = 2").done().answer("Y"), "two");
}

#[test]
fn goals_that_nothing_can_wake_are_reported() {
    let program = "
module deadlock.
:- public main/0, spin/1.
main :- true | a(X, Y), b(Y, X).
a(1, Y) :- true | Y = 1.
b(1, X) :- true | X = 1.
spin(N) :- true | a(_, _), down(N).
down(0) :- true | true.
down(N) :- N > 0, N1 := N - 1 | down(N1).
";
    let done = run(program, "main");
    let mut waiting: Vec<String> = done.engine.waiting().iter().map(ToString::to_string).collect();
    waiting.sort();
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    assert!(waiting[0].starts_with("a(_") && waiting[0].contains(" waits for _"), "{waiting:?}");
    assert!(waiting[1].starts_with("b(_"), "{waiting:?}");
    // The collector finds one while others still run.
    let done = run_with(program, "spin(1000)", Options { collect_every: Some(10), ..Options::default() });
    assert_eq!(done.engine.lost().len(), 1);
    assert!(done.engine.lost()[0].goal.starts_with("a(_"), "{:?}", done.engine.lost());
}

#[test]
fn a_failed_reduction_tells_goal_and_clauses() {
    let done = run(LISTS, "both(a, c, Z)");
    let message = done.problem();
    for part in ["no clause of lists:both/3", "both(a, c, _", "test.fghc:12", "both(X, Y, Z) :- X = a, Y = b | ..."] {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
    let done = run(LISTS, "X = f(1,Y), X = f(2,Z)");
    assert!(done.problem().contains("cannot be made equal"), "{}", done.problem());
}

#[test]
fn wrong_arithmetic_tells_what_and_where() {
    let done = run(LISTS, "add(a, 1, Z)");
    assert!(
        done.problem().contains("test.fghc:11:") && done.problem().contains("+ needs an integer, not a"),
        "{}",
        done.problem()
    );
    let done = run(LISTS, "add(1152921504606846975, 1, Z)");
    assert!(done.problem().contains("integer overflow: 1152921504606846975 + 1"), "{}", done.problem());
    let program = "
module m.
:- public f/2, g/3.
f(X, Y) :- Y1 := X * X | Y = Y1.
g(X, Z, Y) :- true | Y := X / Z.
";
    assert!(run(program, "f(1152921504606846975, Y)").problem().contains("integer overflow"));
    assert!(run(program, "g(1, 0, Y)").problem().contains("/ by zero"));
    assert!(run(program, "f(a, Y)").problem().contains("no clause of m:f/2"));
}

#[test]
fn an_exhausted_heap_is_reported() {
    let options = Options { heap: 1 << 20, ..Options::default() };
    let done = run_with(LISTS, "main(10000000, S)", options);
    assert!(done.problem().contains("the heap is exhausted"), "{}", done.problem());
    // The same program in a heap that is large enough for what it holds.
    let options = Options { heap: 64 << 20, ..Options::default() };
    assert_eq!(run_with(LISTS, "main(200000, S)", options).done().answer("S"), "20000100000");
}

#[test]
fn a_stream_of_a_million_elements_needs_no_more_than_a_little_heap() {
    let program = include_str!("../../../benches/fghc/programs/demand.fghc");
    let options = Options { heap: 64 << 10, ..Options::default() };
    let done = run_with(program, "main(1000000, S)", options).done();
    assert_eq!(done.answer("S"), "499999500000");
    assert_eq!(done.counters().reductions, 3_000_003);
}

/// Also where many words are in use, which the end of a slice looks through and may see it then.
#[test]
fn an_interrupt_within_a_slice_stops_a_loop_that_keeps_much() {
    let program = "
module m.
:- public main/0.
main :- true | from(30000, L), loop(0, L).
from(0, L) :- true | L = [].
from(N, L) :- N > 0, N1 := N - 1 | L = [N|T], from(N1, T).
loop(N, L) :- N1 := N + 1 | loop(N1, L).
";
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let options = Options::default();
        let interrupt = options.interrupt.clone();
        let mut engine = weft_fghc::engine::Engine::new(&load(program, "main", false), options).unwrap();
        engine.start();
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(300));
            interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let _ = sender.send(matches!(engine.run(u64::MAX), Stop::Interrupted));
    });
    assert_eq!(receiver.recv_timeout(std::time::Duration::from_secs(20)), Ok(true));
}

#[test]
fn an_interrupt_stops_a_loop_that_can_then_go_on() {
    let program = "
module m.
:- public loop/1.
loop(N) :- N1 := N + 1 | loop(N1).
";
    let loaded = load(program, "loop(0)", false);
    let options = Options::default();
    let interrupt = options.interrupt.clone();
    let mut engine = weft_fghc::engine::Engine::new(&loaded, options).unwrap();
    engine.start();
    assert!(matches!(engine.run(1000), Stop::Budget));
    interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(engine.run(u64::MAX), Stop::Interrupted));
    assert!(engine.ready_goals(5)[0].starts_with("loop("));
    interrupt.store(false, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(engine.run(1000), Stop::Budget));
    // The goal that a run starts with is no reduction.
    assert_eq!(engine.counters().reductions, 1999);
}

#[test]
fn the_program_can_end_itself() {
    assert!(matches!(run(LISTS, "quit(7)").stop, Stop::Exit(7)));
}

const META: &str = "
module meta.
:- public main/1, loop/1, fails/1, nested/2, controlled/2, dynamic/3, name/2.
loop(N) :- N1 := N + 1 | loop(N1).
fails(1) :- true | true.
main(R) :- true | call(fails(2), R, _).
nested(R, S) :- true | call(outer(S), R, C), stop_after(2000, C).
outer(S) :- true | call(loop(0), S, _), loop(0).
stop_after(0, C) :- true | C = [stop].
stop_after(N, C) :- N > 0, N1 := N - 1 | stop_after(N1, C).
controlled(R, X) :- true | call(bind(X), R, [suspend|C]), later(1000, C).
later(0, C) :- true | C = [resume].
later(N, C) :- N > 0, N1 := N - 1 | later(N1, C).
bind(X) :- true | X = bound.
dynamic(G, R, X) :- true | call(G, R, []), name(R, X).
name(success, X) :- true | X = good.
name(failure, X) :- true | X = bad.
name(stop, X) :- true | X = stopped.
";

#[test]
fn a_failure_under_a_metacall_is_a_result() {
    let text =
        under_every_option(META, "main(R)", |done| format!("{} {}", done.answer("R"), done.engine.failures().len()));
    assert_eq!(text, "failure 1");
    assert!(run(META, "main(R)").done().engine.failures()[0].to_string().contains("fails(2)"));
}

#[test]
fn nested_metacalls_are_stopped_in_mid_run() {
    // The inner one ends with the outer one, without a result of its own.
    let text = under_every_option(META, "nested(R, S)", |done| {
        assert!(done.engine.finished());
        format!("{} {}", done.answer("R"), done.answer("S").starts_with('_'))
    });
    assert_eq!(text, "stop true");
}

#[test]
fn a_suspended_metacall_goes_on_when_it_is_resumed() {
    let text =
        under_every_option(META, "controlled(R, X)", |done| format!("{} {}", done.answer("R"), done.answer("X")));
    assert_eq!(text, "success bound");
}

#[test]
fn the_goal_of_a_metacall_may_be_known_late() {
    assert_eq!(run(META, "dynamic(G, R, X), G = name(stop, Y)").done().answer("X"), "good");
    let done = run(META, "dynamic(nothing(1), R, X)").done();
    assert_eq!(done.answer("X"), "bad");
    assert!(done.engine.failures()[0].to_string().contains("no predicate for the goal nothing(1)"));
}

const BUILTINS: &str = r#"
module b.
:- public vectors/3, strings/2, terms/3, floats/2, order/2, types/2, apply_it/1, priorities/1, inc/2.
vectors(A, B, C) :- true |
    new_vector(V, 3), set_vector_element(V, 1, x, W), vector_element(W, 1, A), vector_element(V, 1, B), vector(W, C).
strings(A, B) :- true |
    new_string(S, [104,105], 8), set_string_element(S, 0, 72, A), string_element(A, 1, B).
terms(A, B, C) :- true | functor(f(x,y), A, B), setarg(2, f(x,y), z, C).
floats(X, Y) :- Z $:= X * 2.0 | Y $:= sqrt(Z).
order(X, Y) :- compare(f(1,[2,3]), f(1,[2,4]), X0) | X = X0, compare("b", "a", Y).
types(X, Y) :- atom(X) | Y = atom.
types(X, Y) :- integer(X) | Y = integer.
types(X, Y) :- float(X) | Y = float.
types(X, Y) :- list(X) | Y = list.
types(X, Y) :- vector(X) | Y = vector.
types(X, Y) :- string(X) | Y = string.
types(X, Y) :- structure(X) | Y = structure.
apply_it(Y) :- true | P = predicate#(b:inc/2), apply(P, {41, Y}).
inc(X, Y) :- true | Y := X + 1.
priorities(L) :- true | note(a, X)@priority(1), note(b, X)@priority(3), note(c, X)@priority(2), write(start), L = X.
note(X, _) :- true | write(X).
"#;

#[test]
fn builtins_do_what_the_catalogue_says() {
    let look = |names: &'static [&'static str]| {
        move |done: &common::Outcome| names.iter().map(|name| done.answer(name)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(under_every_option(BUILTINS, "vectors(A, B, C)", look(&["A", "B", "C"])), "x 0 3");
    assert_eq!(under_every_option(BUILTINS, "strings(A, B)", look(&["A", "B"])), "\"Hi\" 105");
    assert_eq!(under_every_option(BUILTINS, "terms(A, B, C)", look(&["A", "B", "C"])), "f 2 f(x,z)");
    assert_eq!(under_every_option(BUILTINS, "floats(8.0, Y)", look(&["Y"])), "4.0");
    assert_eq!(under_every_option(BUILTINS, "order(X, Y)", look(&["X", "Y"])), "-1 1");
    assert_eq!(under_every_option(BUILTINS, "apply_it(Y)", look(&["Y"])), "42");
    for (value, kind) in [
        ("a", "atom"),
        ("1", "integer"),
        ("1.5", "float"),
        ("[1]", "list"),
        ("{1}", "vector"),
        ("\"s\"", "string"),
        ("f(1)", "structure"),
    ] {
        assert_eq!(run(BUILTINS, &format!("types({value}, Y)")).done().answer("Y"), kind);
    }
}

#[test]
fn builtins_say_what_is_wrong() {
    for (goal, part) in [
        ("vector_element({1,2}, 2, X)", "index 2 is out of range for {1,2}"),
        ("vector_element(a, 2, X)", "vector_element needs a vector, not a"),
        ("new_vector(X, a)", "a list or a size"),
        ("apply(f, {1})", "apply needs a predicate, not f"),
        ("make_atom(1, X)", "make_atom needs a string, not 1"),
    ] {
        let message = run(BUILTINS, goal).problem();
        assert!(message.contains(part), "{goal}: {message}");
    }
}

const TABLE: &str = r#"
module table.
:- public main/5, many/2.
main(N, Sums, X, Same, Text) :- true |
    new_vector(V0, N), fill(0, N, 1, V0, V1), fill(0, N, 2, V1, V2), set_vector_element(V0, 5, x, Branch),
    set_vector_element(V1, 7, Unbound, V3), vector_element(Branch, 5, X), new_vector(W0, N), fill(0, N, 1, W0, W1),
    sums(V2, V1, V0, N, Sums), same(V1, W1, Same), vector_element(V3, 7, Seven), Text = f(Seven, Unbound), Unbound = seven.
fill(I, N, _, V, W) :- I >= N | W = V.
fill(I, N, K, V, W) :- I < N, X := I * K, J := I + 1 | set_vector_element(V, I, X, V1), fill(J, N, K, V1, W).
sums(A, B, C, N, S) :- true | S = [X, Y, Z], sum(0, N, A, 0, X), sum(0, N, B, 0, Y), sum(0, N, C, 0, Z).
sum(I, N, _, S, R) :- I >= N | R = S.
sum(I, N, V, S, R) :- I < N, vector_element(V, I, E), J := I + 1, T := S + E | sum(J, N, V, T, R).
same(X, X, R) :- true | R = yes.
otherwise.
same(_, _, R) :- true | R = no.
many(N, S) :- true | new_vector(V, 1000), count(N, V, W), sum(0, 1000, W, 0, S).
count(0, V, W) :- true | W = V.
count(N, V, W) :- N > 0, vector(V, Size), I := N mod Size, vector_element(V, I, E), F := E + 1, M := N - 1 |
    set_vector_element(V, I, F, V1), count(M, V1, W).
"#;

#[test]
fn every_version_of_a_vector_keeps_its_elements() {
    let look = |done: &common::Outcome| ["Sums", "X", "Same", "Text"].map(|name| done.answer(name)).join(" ");
    // Copied, and changed in place.
    assert_eq!(under_every_option(TABLE, "main(30, Sums, X, Same, Text)", look), "[870,435,0] x yes f(seven,seven)");
    assert_eq!(
        under_every_option(TABLE, "main(300, Sums, X, Same, Text)", look),
        "[89700,44850,0] x yes f(seven,seven)"
    );
}

#[test]
fn a_large_vector_is_changed_in_place() {
    let options = Options { heap: 1 << 20, ..Options::default() };
    let done = run_with(TABLE, "many(100000, S)", options).done();
    assert_eq!(done.answer("S"), "100000");
    // A copy of a thousand words for each change would have filled the heap 800 times.
    assert!(done.counters().collections < 100, "{:?}", done.counters());
}

#[test]
fn goals_of_higher_priority_run_first() {
    assert_eq!(run(BUILTINS, "priorities(L)").output, "start\nb\nc\na\n");
}

#[test]
fn a_pragma_must_name_a_processing_element_that_exists() {
    assert!(run(BUILTINS, "inc(1, X)@node(0)").done().answer("X") == "2");
    let message = run(BUILTINS, "inc(1, X)@node(3)").problem();
    assert!(message.contains("inc(1, _") && message.contains("there are 1, 0 to 0"), "{message}");
    let message = run(BUILTINS, "alloc(9)@@inc(1, X)").problem();
    assert!(message.contains("alloc(9)"), "{message}");
}

#[test]
fn two_runs_of_one_seed_are_the_same() {
    let loaded = load(LISTS, "main(200, S)", false);
    let go = || {
        let options = Options { seed: Some(11), collect_every: Some(40), ..Options::default() };
        run_loaded(&loaded, options).done().counters()
    };
    assert_eq!(go(), go());
}

/// A goal with more arguments than there are registers in use: where its arguments go round in a circle, the value that
/// waits must not lie where one of them has been put.
#[test]
fn arguments_of_a_wider_goal_are_kept() {
    let program = "
module m.
:- public run/3, round/4, twice/5, wide/2.
run(A, B, R) :- f(B, A, 1, R).
f(X, Y, _, R) :- R = p(X, Y).
round(A, B, C, R) :- g(B, C, A, x, y, R).
g(X, Y, Z, V, W, R) :- R = q(X, Y, Z, V, W).
twice(A, B, C, D, R) :- h(B, A, D, C, A, R, B, 7).
h(P, Q, S, T, U, R, V, W) :- R = r(P, Q, S, T, U, V, W).
wide(A, B) :- i(B, A, 1, 2, 3, 4, 5, 6, 7, 8).
i(B, A, C, D, E, F, G, H, I, J) :- A = 9, B = s(C, D, E, F, G, H, I, J).
";
    let look = |done: &common::Outcome| ["P", "Q", "R", "S"].map(|name| done.answer(name)).join(" ");
    assert_eq!(
        under_every_option(program, "run(1, 2, P), round(1, 2, 3, Q), twice(1, 2, 3, 4, R), wide(_, S)", look),
        "p(2,1) q(2,3,1,x,y) r(2,1,4,3,1,2,7) s(1,2,3,4,5,6,7,8)"
    );
}
