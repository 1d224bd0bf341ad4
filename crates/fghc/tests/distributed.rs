//! Programs on many PEs: packets delivered in random order, random schedules, any number of PEs, any frequency of
//! collections: the same answers and the same counts.

#[path = "common/pes.rs"]
mod pes;

use std::sync::Arc;

use pes::{PeSchedule, Ran, run};
use proptest::prelude::*;
use weft_fghc::check::check;
use weft_fghc::distributed::{CopyLimits, Costs, Counts, End, KINDS, Kind, Outcome, Pe, Run, RunOptions, Stuck};
use weft_fghc::engine::{Loaded, Options};
use weft_fghc::ir::Source;

fn load(text: &str, goal: &str) -> Loaded {
    let checked = check(vec![Source { name: "test.fghc".into(), text: text.into() }], Some(goal));
    let rendered = checked.render(false);
    Loaded::new(checked.program.unwrap_or_else(|| panic!("{rendered}")), false).expect("it compiles")
}

const PROGRAM_1: &str = include_str!("../../../programs/fghc/program1.fghc");
const SEVERAL: &str = include_str!("../../../programs/fghc/several.fghc");
const DEADLOCK: &str = include_str!("../../../programs/fghc/deadlock.fghc");
const METACALLS: &str = include_str!("../../../programs/fghc/metacalls.fghc");
const BUFFER: &str = include_str!("../../../programs/fghc/buffer.fghc");
const QUEENS: &str = include_str!("../../../programs/fghc/queens.fghc");

/// Throws of Program 1 by depth, from 1, with any number of PEs from 2 to 6.
const THROWS: [u64; 8] = [8, 64, 316, 1016, 2392, 4096, 5196, 5508];

fn program_1_throws_and_reduces(depth: usize, pes: usize) {
    let loaded = load(PROGRAM_1, &format!("t([1,2,3,4,5,6,7,8],{pes},{depth})"));
    let ran = run(&loaded, PeSchedule { slice: 2000, ..PeSchedule::plain(pes) });
    assert_eq!(ran.end, End::Finished, "depth {depth}, {pes} PEs");
    assert_eq!(ran.reductions(), 38_879, "depth {depth}, {pes} PEs");
    assert_eq!(ran.sent(Kind::ThrowGoal), THROWS[depth - 1], "depth {depth}, {pes} PEs");
    assert_eq!(ran.lines.len(), 92, "depth {depth}, {pes} PEs");
}

#[test]
fn program_1_throws_and_reduces_as_often_as_it_must() {
    for depth in 1..=4 {
        for pes in 2..=6 {
            program_1_throws_and_reduces(depth, pes);
        }
    }
}

#[test]
fn program_1_throws_and_reduces_as_often_at_depths_5_and_6() {
    for depth in 5..=6 {
        for pes in 2..=6 {
            program_1_throws_and_reduces(depth, pes);
        }
    }
}

#[test]
fn program_1_throws_and_reduces_as_often_at_depths_7_and_8() {
    for depth in 7..=8 {
        for pes in 2..=6 {
            program_1_throws_and_reduces(depth, pes);
        }
    }
}

#[test]
fn goals_of_higher_priority_run_first_wherever_they_come_from() {
    // PE 1 has a goal without end; only one that is more urgent can still run there, and ends the run.
    let program = "main :- loop@node(1), send(50).\nloop :- loop.\nurgent(Code) :- builtin:exit(Code).\n\
        send(0) :- urgent(7)@node(1)@priority(1).\nsend(N) :- N > 0, M := N - 1 | send(M).";
    for seed in 1..10 {
        let ran = run(&load(program, "main"), PeSchedule { seed, ..PeSchedule::plain(3) });
        assert_eq!(ran.end, End::Exit(7));
    }
}

#[test]
fn an_exit_elsewhere_comes_before_the_end_of_the_goals_that_made_it() {
    // The exit leaves its PE with no goal, and PE 0 waits for nothing else: whatever comes first is the end.
    let program = "leave :- builtin:exit(7)@node(1).\ninside :- call(leave, _, _).";
    for goal in ["leave", "inside"] {
        for pes in [2, 3] {
            for seed in 1..100 {
                let ran = run(&load(program, goal), PeSchedule { seed, ..PeSchedule::plain(pes) });
                assert_eq!(ran.end, End::Exit(7), "{goal} on {pes} PEs, seed {seed}");
            }
        }
    }
}

#[test]
fn two_pes_that_wait_for_each_other() {
    for pes in [2, 5] {
        for seed in 1..20 {
            let loaded = load(DEADLOCK, "main");
            let ran = run(&loaded, PeSchedule { seed, ..PeSchedule::plain(pes) });
            let End::Suspended(Stuck { goals, .. }) = ran.end else { panic!("{:?}", ran.end) };
            let texts: Vec<String> = goals.iter().map(ToString::to_string).collect();
            assert_eq!(texts.len(), 2, "{texts:?}");
            assert!(texts[0].starts_with("PE 0: left(") && texts[0].contains("waits for _"), "{texts:?}");
            assert!(texts[1].starts_with("PE 1: right(") && texts[1].contains("of PE 0"), "{texts:?}");
        }
    }
}

#[test]
fn nested_metacalls_are_stopped_wherever_their_goals_are() {
    for pes in [1, 2, 3] {
        for seed in 1..10 {
            let loaded = load(METACALLS, &format!("run({}, Result), failing(Failed)", pes - 1));
            let ran = run(&loaded, PeSchedule { seed, ..PeSchedule::plain(pes) });
            assert_eq!(ran.end, End::Finished);
            let expected = [("Result".to_string(), "stop".to_string()), ("Failed".to_string(), "failure".to_string())];
            assert_eq!(ran.answers, expected);
        }
    }
}

#[test]
fn a_failure_elsewhere_is_a_result_of_its_metacall_and_a_problem_of_the_root() {
    let program = "main(R) :- call(far, R, _).\nfar :- only(2)@node(1), write(never)@node(3).\nonly(1).\nbare :- only(2)@node(1).";
    for seed in 1..10 {
        let ran = run(&load(program, "main(R)"), PeSchedule { seed, ..PeSchedule::plain(4) });
        assert_eq!(ran.end, End::Finished);
        assert_eq!(ran.answers, [("R".to_string(), "failure".to_string())]);
        let ran = run(&load(program, "bare"), PeSchedule { seed, ..PeSchedule::plain(4) });
        let End::Problem { pe, message } = ran.end else { panic!("{:?}", ran.end) };
        assert_eq!(pe, 1);
        assert!(message.contains("no clause of main:only/1 can take the goal"), "{message}");
    }
}

#[test]
fn a_unification_that_fails_elsewhere() {
    let program = "main(R) :- X = 1, call(q(X), R, _).\nq(X) :- p(X)@node(1).\np(X) :- X = 2.\n\
                   late(R) :- call(r(X), R, _), s(X)@node(2).\nr(X) :- p(X)@node(1).\ns(X) :- X = 2.";
    for seed in 1..10 {
        let ran = run(&load(program, "main(R)"), PeSchedule { seed, ..PeSchedule::plain(3) });
        assert_eq!(ran.answers, [("R".to_string(), "failure".to_string())]);
        let ran = run(&load(program, "late(R)"), PeSchedule { seed, ..PeSchedule::plain(3) });
        assert_eq!((ran.end, ran.answers), (End::Finished, vec![("R".to_string(), "success".to_string())]));
    }
}

/// The variable is PE 1's, so that what PE 2 and 3 bind it to can still be under way when all their goals have ended.
#[test]
fn the_run_does_not_end_before_a_unification_under_way() {
    let program = "main :- make@node(1).\nmake :- one(X)@node(2), two(X)@node(3).\none(X) :- X = 1.\ntwo(X) :- X = 2.\n\
                   nested(R) :- call(main, R, _).\n\
                   bound(R) :- list(R)@node(1).\nlist(R) :- R = [X,Y], one(X)@node(2), alias(X, Y)@node(3).\nalias(X, Y) :- X = Y.";
    for seed in 1..60 {
        let ran = run(&load(program, "main"), PeSchedule { seed, ..PeSchedule::plain(4) });
        let End::Problem { message, .. } = ran.end else { panic!("seed {seed}: {:?}", ran.end) };
        assert!(message.contains("cannot be made equal"), "{message}");
        let ran = run(&load(program, "nested(R)"), PeSchedule { seed, ..PeSchedule::plain(4) });
        assert_eq!(ran.answers, [("R".to_string(), "failure".to_string())], "seed {seed}");
        let ran = run(&load(program, "bound(R)"), PeSchedule { seed, ..PeSchedule::plain(4) });
        assert_eq!(ran.answers, [("R".to_string(), "[1,1]".to_string())], "seed {seed}");
    }
}

#[test]
fn suspended_elsewhere_and_resumed() {
    let program = "main(N, T) :- call(count(N, 0, T)@node(1), _, [suspend|C]), wait(C).\nwait(C) :- C = [resume].\n\
                   count(0, K, T) :- T = K.\ncount(N, K, T) :- N > 0, M := N - 1, L := K + 1 | count(M, L, T).";
    for seed in 1..20 {
        let ran = run(&load(program, "main(50, T)"), PeSchedule { seed, slice: 3, ..PeSchedule::plain(3) });
        assert_eq!(ran.end, End::Finished);
        assert_eq!(ran.answers, [("T".to_string(), "50".to_string())]);
    }
}

#[test]
fn references_go_round_and_all_weight_comes_home() {
    // A variable is passed from PE to PE, bound at the far end, and read everywhere; lists with holes, strings, vectors.
    let program = "main(R) :- walk(0, X, L)@node(1), X = {f(Y), \"text\", 2.5, [a|Z]}, Z = [Y], Y = 7, sum(L, 0, R).\n\
        walk(8, _, L) :- L = [].\n\
        walk(N, X, L) :- N < 8, M := N + 1, P := (N * 3 + 1) mod 5 | look(X, V), L = [V|T], walk(M, X, T)@node(P).\n\
        look({f(Y), S, F, [a, Z]}, V) :- string(S, N, _), F $> 2.0, Q := Y + Z + N | V = Q.\n\
        sum([], K, R) :- R = K.\nsum([V|T], K, R) :- M := K + V | sum(T, M, R).";
    for levels in [1, 2, usize::MAX] {
        for seed in 1..10 {
            let copy = CopyLimits { levels, parts: 1000 };
            let ran = run(&load(program, "main(R)"), PeSchedule { seed, copy, ..PeSchedule::plain(5) });
            assert_eq!((ran.end, ran.answers), (End::Finished, vec![("R".to_string(), "144".to_string())]));
        }
    }
}

#[test]
fn what_is_read_is_released() {
    // 3,000 elements by demand across two PEs: the tables stay small.
    let loaded = load(BUFFER, "run(3000, 4, 1, Sum)");
    let schedule = PeSchedule { collect_every: Some(500), slice: 50, ..PeSchedule::plain(2) };
    let ran = run(&loaded, schedule);
    assert_eq!(ran.answers, [("Sum".to_string(), "4501500".to_string())]);
    assert!(ran.exported < 100, "{} references are left", ran.exported);
}

/// Nobody looks at answers but whoever started the run: what limits on copies have left elsewhere is read at its end.
#[test]
fn answers_are_read_to_their_end() {
    let program = "main(R, S) :- make(R, S)@node(1).\n\
        make(R, S) :- R = f([1,2,3|T], g(h(k))), T = [4], S = {X, _}, far(X)@node(2).\n\
        far(X) :- X = [a|Z], Z = [b].\n\
        stuck(R, S) :- make(R, S)@node(1), wants(_)@node(2).\nwants(1).";
    for levels in [1, 2, usize::MAX] {
        for seed in 1..8 {
            let schedule = PeSchedule { seed, copy: CopyLimits { levels, parts: 2 }, ..PeSchedule::plain(3) };
            for (goal, finishes) in [("main(R, S)", true), ("stuck(R, S)", false)] {
                let ran = run(&load(program, goal), schedule);
                assert_eq!(ran.end == End::Finished, finishes, "{:?}", ran.end);
                assert_eq!(ran.answers[0].1, "f([1,2,3,4],g(h(k)))", "{goal} {schedule:?}");
                assert!(ran.answers[1].1.starts_with("{[a,b],_"), "{goal} {schedule:?}: {}", ran.answers[1].1);
            }
        }
    }
}

fn schedule() -> impl Strategy<Value = PeSchedule> {
    let copy = (prop_oneof![Just(1usize), Just(2), Just(usize::MAX)], 1usize..50)
        .prop_map(|(levels, parts)| CopyLimits { levels, parts });
    let orders = (any::<bool>(), any::<bool>());
    (1usize..7, any::<u64>(), orders, prop::option::of(1u64..200), copy, 1u64..300).prop_map(
        |(pes, seed, (random_goals, breadth_first), collect_every, copy, slice)| PeSchedule {
            pes,
            seed,
            random_goals,
            breadth_first,
            collect_every,
            copy,
            slice,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_gives_the_same(schedule in schedule(), depth in 0usize..4) {
        let expect = |program: &str, goal: &str, answers: &[(&str, &str)]| {
            let ran = run(&load(program, goal), schedule);
            prop_assert_eq!(&ran.end, &End::Finished, "{} {:?}", goal, schedule);
            let answers: Vec<(String, String)> = answers.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
            prop_assert_eq!(ran.answers, answers, "{} {:?}", goal, schedule);
            Ok(())
        };
        expect(QUEENS, &format!("queens(5, {depth}, S)"), &[("S", "10")])?;
        expect(BUFFER, &format!("run(40, 3, {}, Sum)", schedule.pes - 1), &[("Sum", "820")])?;
        let which = format!("second({})", schedule.pes * 10);
        expect(SEVERAL, &format!("distributed({}, Which)", schedule.pes), &[("Which", &which)])?;
        let small = load(PROGRAM_1, &format!("t([1,2,3,4,5],{},{})", schedule.pes, depth + 1));
        let ran = run(&small, schedule);
        prop_assert_eq!((ran.end, ran.lines.len()), (End::Finished, 10));
    }
}

proptest! {
    #[test]
    fn bytes_that_no_pe_wrote_are_refused_or_harmless(packet in prop::collection::vec(prop_oneof![0u8..12, any::<u8>()], 0..40)) {
        let loaded = load(BUFFER, "run(40, 3, 1, Sum)");
        let mut pe = Pe::new(&loaded, Options { nodes: 3, ..Options::default() }, CopyLimits::default()).expect("memory");
        pe.put_off_goals(packet.len() % 2 == 0);
        pe.start();
        pe.step(10);
        let _ = pe.receive(&packet);
        pe.step(1000);
    }
}

fn threads(pes: usize, program: &str, goal: &str) -> Outcome {
    let options = RunOptions { output: Arc::new(|_| Box::new(std::io::sink())), ..RunOptions::default() };
    let program = Run { loaded: load(program, goal).translate(), options };
    let outputs = weft_threads::run(pes, &program, &weft_threads::Options::default()).expect("it runs");
    let mut outputs = outputs.into_iter();
    let outcome = outputs.next().expect("a rank 0").expect("packets can be read").expect("rank 0 has the outcome");
    assert!(outputs.all(|output| matches!(output, Ok(None))));
    outcome
}

#[test]
fn on_threads() {
    for pes in [1, 2, 4] {
        let outcome = threads(pes, PROGRAM_1, &format!("t([1,2,3,4,5,6,7,8],{pes},2)"));
        assert_eq!(outcome.end, End::Finished);
        assert_eq!(outcome.pes.len(), pes);
        assert_eq!(outcome.pes.iter().map(|counts| counts.reductions).sum::<u64>(), 38_879);
        let throws: u64 = outcome.pes.iter().map(|counts| counts.sent[Kind::ThrowGoal as usize]).sum();
        assert_eq!(throws, if pes == 1 { 0 } else { 64 });
        for kind in 0..KINDS - 1 {
            let sent: u64 = outcome.pes.iter().map(|counts| counts.sent[kind]).sum();
            let received: u64 = outcome.pes.iter().map(|counts| counts.received[kind]).sum();
            assert!(received <= sent);
        }
    }
    let outcome = threads(3, DEADLOCK, "main");
    assert!(matches!(&outcome.end, End::Suspended(stuck) if stuck.goals.len() == 2), "{:?}", outcome.end);
    let outcome = threads(2, METACALLS, "run(1, Result)");
    assert_eq!(outcome.answers, [("Result".to_string(), "stop".to_string())]);
    let outcome = threads(2, "p :- builtin:exit(3)@node(1).", "p");
    assert_eq!(outcome.end, End::Exit(3));
}

#[test]
fn an_endless_run_is_interrupted_and_shows_what_is_left() {
    let interrupt = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let options = RunOptions { interrupt: interrupt.clone(), ..RunOptions::default() };
    let program = Run { loaded: load("p(X) :- l(0)@node(1), l(1), q(X).\nl(N) :- l(N).\nq(1).", "p(X)"), options };
    let stop = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let outputs = weft_threads::run(3, &program, &weft_threads::Options::default()).expect("it runs");
    stop.join().expect("it stops");
    let outcome = outputs.into_iter().next().expect("rank 0").expect("packets").expect("an outcome");
    let End::Interrupted(left) = outcome.end else { panic!("{:?}", outcome.end) };
    assert!(left.ready.iter().any(|goal| goal.contains("PE 1: ") && goal.contains("l(0)")), "{:?}", left.ready);
}

/// In virtual time: a reduction and every message cost something.
fn simulated(pes: usize, slice: u64, goal: &str) -> (Outcome, f64) {
    let costs = Costs {
        reduction: 1e-6,
        argument: 0.0,
        send: [5e-6; KINDS],
        receive: [5e-6; KINDS],
        byte: 0.0,
        word: 0.0,
        reference: 0.0,
    };
    let options = RunOptions {
        output: Arc::new(|_| Box::new(std::io::sink())),
        costs: Some(costs),
        slice,
        ..RunOptions::default()
    };
    let program = Run { loaded: load(PROGRAM_1, goal), options };
    let machine = weft_machine::find("ipsc860").expect("a machine of the catalogue");
    let placement = weft_sim::Placement::identity(pes);
    let ran = weft_sim::run(&machine, &placement, &program, &weft_sim::Options::default()).expect("it runs");
    let outcome = ran.outputs.into_iter().next().expect("rank 0").expect("packets").expect("an outcome");
    (outcome, ran.makespan)
}

#[test]
fn in_virtual_time_every_run_is_the_same() {
    for pes in [1, 6, 64] {
        let goal = format!("t([1,2,3,4,5,6,7,8],{pes},2)");
        let (first, makespan) = simulated(pes, 5, &goal);
        assert_eq!(first.end, End::Finished);
        assert_eq!(first.pes.iter().map(|counts| counts.reductions).sum::<u64>(), 38_879);
        let (second, again) = simulated(pes, 5, &goal);
        assert_eq!((first.elapsed, first.pes, makespan), (second.elapsed, second.pes, again));
        // The reductions of one PE take as long as they cost.
        if pes == 1 {
            assert!((first.elapsed - 38_879e-6).abs() < 1e-6, "{}", first.elapsed);
        }
    }
}

/// What native code throws by itself is what the interpreter throws: as many goals, from the same places, with the same
/// arguments; stopped and failing metacalls among them, and slices and collections in between.
#[test]
fn native_code_throws_what_the_interpreter_throws() {
    let program = "main(N, S) :- spread(N, S).\n\
        spread(0, S) :- S = [].\n\
        spread(N, S) :- N > 0, M := N - 1, P := N mod 3, Q := N mod 2 |\n\
            work(N, [N,a|f(N)], Y)@node(P), nothing@node(Q), idle(x, N)@node(1)@priority(1), S = [Y|T], spread(M, T).\n\
        work(N, [A,B|C], Y) :- Y = g(N, A, B, C).\nnothing.\nidle(_, _).\n\
        stopped(N, R) :- call(spread(N, _), R, [stop]).\n\
        failing(N, R) :- call(lost(N), R, _).\nlost(N) :- spread(N, S), only(S)@node(2).\nonly(b).\nonly([]).";
    for goal in ["main(100, S)", "main(700, S)", "stopped(300, R)", "failing(50, R)"] {
        let loaded = load(program, goal);
        let native = loaded.clone().translate();
        for seed in 1..6 {
            for (collect_every, slice) in [(None, 100), (Some(40), 1000), (None, 10_000)] {
                let schedule = PeSchedule { seed, collect_every, slice, ..PeSchedule::plain(3) };
                let [interpreted, natively] = [&loaded, &native].map(|loaded| run(loaded, schedule));
                assert_eq!(natively.end, interpreted.end, "{goal} {schedule:?}");
                assert_eq!(natively.answers, interpreted.answers, "{goal} {schedule:?}");
                if goal.starts_with("main") {
                    assert_eq!(natively.reductions(), interpreted.reductions(), "{goal} {schedule:?}");
                    for (one, other) in natively.counts.iter().zip(&interpreted.counts) {
                        let throws = |counts: &Counts| counts.sent[Kind::ThrowGoal as usize];
                        let sites =
                            |counts: &Counts| -> Vec<u64> { counts.sites.iter().map(|site| site.throws).collect() };
                        assert_eq!((throws(one), sites(one)), (throws(other), sites(other)), "{goal} {schedule:?}");
                    }
                }
            }
        }
    }
}

/// Values that lead back to themselves, made on one PE and read or unified on another: the same as on one PE, and an end.
const CYCLES: &str = "
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

/// Limits of copies: those of every day, and some under which hardly anything is copied.
fn limits() -> impl Iterator<Item = CopyLimits> {
    let levels = [1, 2, 3].into_iter().map(|levels| CopyLimits { levels, ..CopyLimits::default() });
    let parts = [2, 3, 7, 20, 150].into_iter().map(|parts| CopyLimits { parts, ..CopyLimits::default() });
    std::iter::once(CopyLimits::default()).chain(levels).chain(parts)
}

fn answer(ran: &Ran, schedule: &PeSchedule) -> String {
    assert_eq!(ran.end, End::Finished, "{schedule:?}");
    ran.answers[0].1.clone()
}

/// Under every limit of copies, with and without collections, in some random orders.
fn under_all_limits(goal: &str, mut check: impl FnMut(&str, &PeSchedule)) {
    let loaded = load(CYCLES, goal);
    for copy in limits() {
        for (seed, collect_every) in [(1, None), (2, None), (3, Some(1)), (4, Some(3)), (5, Some(10))] {
            let schedule =
                PeSchedule { seed, copy, collect_every, random_goals: seed % 2 == 0, ..PeSchedule::plain(3) };
            check(&answer(&run(&loaded, schedule), &schedule), &schedule);
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
            let loaded = load(CYCLES, &goal);
            for seed in 1..6 {
                let schedule = PeSchedule { seed, ..PeSchedule::plain(pes) };
                let ran = run(&loaded, schedule);
                assert_eq!(answer(&ran, &schedule), wanted, "{goal}: {schedule:?}");
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
        under_all_limits(goal, |text, schedule| assert_eq!(elements(text, 3000), wanted, "{goal}: {schedule:?}"));
    }
    for goal in ["vector(R, 1)", "structure(R, 2)"] {
        under_all_limits(goal, |text, schedule| assert!(text.starts_with("@("), "{goal}: {schedule:?}: {text}"));
    }
}

#[test]
fn cycles_longer_than_a_message_end_too() {
    for length in [300, 1009, 4999, 20_011] {
        let loaded = load(CYCLES, &format!("long(R, 1, {length})"));
        for (collect_every, parts) in [(None, 2000), (Some(100), 2000), (None, 100), (Some(1), 330)] {
            let schedule = PeSchedule {
                collect_every,
                copy: CopyLimits { parts, ..CopyLimits::default() },
                ..PeSchedule::plain(2)
            };
            let text = answer(&run(&loaded, schedule), &schedule);
            // Too long to be shown whole; nothing begins so that has no cycle.
            assert!(text.starts_with("@(") && text.contains("_S1=["), "{length}: {schedule:?}: {text}");
        }
    }
}

#[test]
fn cyclic_values_of_two_pes_are_compared_and_unified() {
    for goal in ["thrown(R, 1)", "guard(R, 1)", "walked(R, 2)", "ones(R, 1, 2, 3)", "ones(R, 1, 64, 65)"] {
        under_all_limits(goal, |text, schedule| assert_eq!(text, "yes", "{goal}: {schedule:?}"));
    }
    for goal in ["equal_long(R, 1, 5000, 5000)", "ones(R, 1, 5000, 3)", "ones(R, 1, 3, 7000)", "ones(R, 1, 1200, 1100)"]
    {
        for seed in 1..4 {
            let schedule = PeSchedule { seed, slice: 2000, ..PeSchedule::plain(2) };
            assert_eq!(answer(&run(&load(CYCLES, goal), schedule), &schedule), "yes", "{goal}: {schedule:?}");
        }
    }
    let ran = run(&load(CYCLES, "differ(R, 1)"), PeSchedule::plain(2));
    let End::Problem { message, .. } = ran.end else { panic!("{:?}", ran.end) };
    assert!(message.contains("cannot be made equal"), "{message}");
}

#[test]
fn what_is_shared_over_and_over_is_read_once() {
    let schedule = PeSchedule::plain(2);
    assert_eq!(answer(&run(&load(CYCLES, "read_tree(R, 1)"), schedule), &schedule), "yes");
}
