//! What the compilers make: always verified, at the bound where it is known to be reached, the same for the same seed.

mod common;

use std::cell::{Cell, RefCell};

use common::{compiled, iwarp, pattern, resources, weft};
use proptest::prelude::*;
use weft_conset::compile::{Plan, Search};
use weft_conset::{CompileError, Compiler, Connection, ConnectionSet, Options, Order, compile, compile_from, verify};

fn phases(name: &str, extents: &[usize], channels: u32) -> (usize, f64) {
    let resources = iwarp(extents, channels);
    let set = pattern(name, &resources, 1);
    let schedule = compiled(&set, &resources, &weft(0.2)).unwrap();
    verify(&schedule, Some(&set)).unwrap();
    (schedule.phases.len(), schedule.best_bound("phases").unwrap().value)
}

#[test]
fn the_papers_patterns_take_as_many_phases_as_their_bounds() {
    for (name, channels, expected) in
        [("torus", 12, 1), ("hypercube", 12, 2), ("hypercube", 16, 1), ("all-to-all", 12, 27), ("all-to-all", 16, 20)]
    {
        assert_eq!(phases(name, &[8, 8], channels), (expected, expected as f64), "{name} with {channels} channels");
    }
}

#[test]
fn all_to_all_reaches_the_bound_on_larger_tori_too() {
    assert_eq!(phases("all-to-all", &[16, 16], 12), (192, 192.0));
    assert_eq!(phases("all-to-all", &[4, 4, 4], 12).1, phases("all-to-all", &[4, 4, 4], 12).0 as f64);
}

#[test]
fn long_all_to_all_keeps_every_link_busy_all_the_time() {
    let resources = iwarp(&[8, 8], 12);
    let set = pattern("all-to-all", &resources, 16384);
    let schedule = compiled(&set, &resources, &weft(0.0)).unwrap();
    verify(&schedule, Some(&set)).unwrap();
    assert_eq!((schedule.phases.len(), schedule.link_load_sum()), (32, 64));
}

/// As on an accelerator pod, where nothing but links and accesses is short.
#[test]
fn without_limits_of_channels_a_symmetric_pattern_is_one_phase_at_the_bound() {
    for extents in [[4, 4, 4], [3, 4, 5]] {
        let mut resources = iwarp(&extents, 1);
        resources.node_channels = None;
        let set = pattern("all-to-all", &resources, 100);
        let schedule = compiled(&set, &resources, &weft(0.0)).unwrap();
        verify(&schedule, Some(&set)).unwrap();
        assert_eq!(schedule.phases.len(), 1);
        let bound = schedule.best_bound("s").unwrap().value;
        assert!(schedule.predicted_seconds <= bound * (1.0 + 1e-9), "{} {bound}", schedule.predicted_seconds);
    }
}

/// The figures of docs/connection-sets.md: what no schedule of the paper's all-to-all can be below.
#[test]
fn phases_and_transfers_of_all_to_all_are_bound_together() {
    let resources = iwarp(&[8, 8], 12);
    let clock = resources.access_seconds / 2.0;
    for (words, least, ours) in [(32, 19_280.0, 19_312.0), (256, 49_664.0, 49_664.0)] {
        let set = pattern("all-to-all", &resources, words);
        let schedule = compiled(&set, &resources, &weft(0.3)).unwrap();
        verify(&schedule, Some(&set)).unwrap();
        let bound = schedule.best_bound("s").unwrap();
        assert_eq!(bound.name, "open at once");
        assert!((bound.value / clock - least).abs() < 0.5, "{words} words: {}", bound.value / clock);
        assert!((schedule.predicted_seconds / clock - ours).abs() < 0.5, "{}", schedule.predicted_seconds / clock);
    }
}

#[test]
fn who_may_wait_is_divided_among_the_stages_of_a_phase() {
    let resources = iwarp(&[4, 4], 12);
    let joins = |(source, destination, words)| Connection { source, destination, words };
    // The second waits for the first; the third, elsewhere, for nobody.
    let connections = [(0, 1, 100), (1, 2, 100), (8, 9, 150)].map(joins).to_vec();
    let orders = vec![Order { before: 0, after: 1 }];
    let set = ConnectionSet::new("chain and one", 16, connections).unwrap().with_orders(orders).unwrap();
    let schedule = compiled(&set, &resources, &weft(0.0)).unwrap();
    verify(&schedule, Some(&set)).unwrap();
    assert_eq!(schedule.phases.len(), 1);
    let transfer = schedule.phases[0].connections.iter().find(|transfer| transfer.connection == 2).unwrap();
    assert_eq!(transfer.pieces.iter().map(|piece| piece.words).sum::<u64>(), 150);
    assert_eq!(transfer.pieces.len(), 2);
    let bound = schedule.best_bound("s").unwrap().value;
    let chain = resources.switch_seconds() + 200.0 * resources.word_seconds();
    assert!((schedule.predicted_seconds - chain).abs() < 1e-12 && (bound - chain).abs() < 1e-12, "{bound}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Orders are kept, every word is transferred, and no stage is longer than if nobody waited.
    #[test]
    fn ordered_sets_are_kept_to(
        pairs in proptest::collection::vec((0u32..16, 1u32..16, 1u64..300), 2..24),
        chosen in proptest::collection::vec((0usize..24, 0usize..24), 0..16),
    ) {
        let resources = iwarp(&[4, 4], 12);
        let joins = |&(source, step, words): &(u32, u32, u64)| {
            Connection { source, destination: (source + step) % 16, words }
        };
        let connections: Vec<Connection> = pairs.iter().map(joins).collect();
        let count = connections.len();
        let ordered = chosen.iter().map(|&(a, b)| (a % count, b % count)).filter(|(a, b)| a < b);
        let orders = ordered.map(|(a, b)| Order { before: a as u32, after: b as u32 }).collect();
        let set = ConnectionSet::new("ordered", 16, connections).unwrap().with_orders(orders).unwrap();
        for compiler in Compiler::ALL {
            let schedule = compiled(&set, &resources, &Options { compiler, ..weft(0.0) }).unwrap();
            verify(&schedule, Some(&set)).unwrap();
        }
    }
}

#[test]
fn other_patterns_take_the_bound_or_one_more() {
    for name in ["transpose", "shift:5", "butterfly", "bit-reversal", "stencil27", "random:6"] {
        let (count, bound) = phases(name, &[8, 8], 12);
        assert!(count as f64 <= bound + 1.0, "{name}: {count} phases, bound {bound}");
    }
}

/// A phase takes as long as its longest connection: one that has none of the longest is shorter.
#[test]
fn long_connections_are_together_without_any_effort() {
    let resources = iwarp(&[32, 32], 12);
    let set = pattern("hypercube", &resources, 1);
    let schedule = compiled(&set, &resources, &weft(0.0)).unwrap();
    verify(&schedule, Some(&set)).unwrap();
    let longest =
        schedule.phases.iter().map(|phase| phase.connections.iter().map(|c| c.route.len() - 1).max().unwrap());
    let longest: Vec<usize> = longest.collect();
    assert!(longest.iter().min().unwrap() * 2 < *longest.iter().max().unwrap(), "{longest:?}");
    assert!(longest.iter().sum::<usize>() * 4 < 3 * longest.len() * longest.iter().max().unwrap(), "{longest:?}");
}

#[test]
fn a_switch_of_circuits_takes_as_many_phases_as_the_largest_degree() {
    let resources = resources("palomar");
    let set = pattern("random:9", &resources, 100);
    let schedule = compiled(&set, &resources, &weft(0.0)).unwrap();
    verify(&schedule, Some(&set)).unwrap();
    assert_eq!(schedule.phases.len(), 9);
    let two = weft_conset::Resources { ports: Some(2), ..resources };
    let schedule = compiled(&set, &two, &weft(0.0)).unwrap();
    verify(&schedule, Some(&set)).unwrap();
    assert_eq!(schedule.phases.len(), 5);
}

#[test]
fn a_fat_tree_is_routed_without_congestion() {
    let resources = resources("rail-h100");
    let set = pattern("shift:37", &resources, 100);
    let schedule = compiled(&set, &resources, &weft(0.0)).unwrap();
    verify(&schedule, Some(&set)).unwrap();
    assert_eq!(schedule.phases.len(), 1);
}

#[test]
fn the_papers_compiler_makes_schedules_that_hold() {
    let resources = iwarp(&[8, 8], 12);
    for name in ["torus", "hypercube", "random:5"] {
        let set = pattern(name, &resources, 32);
        let options = Options { compiler: Compiler::Apr, ..weft(1.0) };
        let schedule = compiled(&set, &resources, &options).unwrap();
        verify(&schedule, Some(&set)).unwrap();
        assert!(schedule.compiler.starts_with("apr"));
    }
}

#[test]
fn effort_never_makes_a_schedule_worse() {
    let resources = iwarp(&[8, 8], 12);
    for (name, words) in [("random:6", 500), ("hypercube", 500), ("all-to-all", 32)] {
        let set = pattern(name, &resources, words);
        let quick = compiled(&set, &resources, &weft(0.0)).unwrap();
        let long = compiled(&set, &resources, &weft(0.3)).unwrap();
        assert!(long.predicted_seconds <= quick.predicted_seconds * (1.0 + 1e-9), "{name}");
    }
}

#[test]
fn no_effort_is_worse_than_the_papers_compiler() {
    let resources = iwarp(&[8, 8], 12);
    for degree in 2..12 {
        for words in [10, 3000] {
            let set = pattern(&format!("random:{degree}"), &resources, words);
            let seconds = |compiler| {
                let options = Options { compiler, ..weft(0.0) };
                compiled(&set, &resources, &options).unwrap().predicted_seconds
            };
            let (ours, theirs) = (seconds(Compiler::Weft), seconds(Compiler::Apr));
            assert!(ours <= theirs * (1.0 + 1e-9), "degree {degree}, {words} words: {ours} against {theirs}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_schedule() {
    let resources = iwarp(&[8, 8], 12);
    for (name, effort) in [("random:6", 0.1), ("all-to-all", 0.1)] {
        let set = pattern(name, &resources, 64);
        let options = Options { seed: 7, ..weft(effort) };
        assert_eq!(compiled(&set, &resources, &options), compiled(&set, &resources, &options));
    }
}

#[test]
fn an_interruption_keeps_the_best_so_far() {
    let resources = iwarp(&[8, 8], 12);
    let set = pattern("random:6", &resources, 500);
    let has_plan = Cell::new(false);
    let schedule = compile(&set, &resources, "test", &weft(1e9), &|| has_plan.get(), &|progress| {
        has_plan.set(progress.best.is_some());
    });
    verify(&schedule.unwrap(), Some(&set)).unwrap();
    let nothing =
        compile(&set, &resources, "test", &Options { compiler: Compiler::Apr, ..weft(1.0) }, &|| true, &|_| ());
    assert_eq!(nothing.unwrap_err().to_string(), "interrupted before there was a schedule");
}

#[test]
fn what_cannot_be_compiled_is_refused_with_the_reason() {
    let resources = iwarp(&[8, 8], 12);
    let limited = |name: &str, phases| {
        let options = Options { phases: Some(phases), ..weft(0.0) };
        compiled(&pattern(name, &resources, 1), &resources, &options).unwrap_err().to_string()
    };
    assert_eq!(
        limited("random:7", 1),
        "infeasible in 1 phase: node 0 has 14 connections that start or end there, its 12 channels in 1 phase are 12; \
         at least 4 phases are needed"
    );
    assert_eq!(limited("hypercube", 1), "infeasible in 1 phases: the bound \"channel capacity\" says at least 2");
    let small = iwarp(&[4, 4], 12);
    let error = compiled(&pattern("torus", &resources, 1), &small, &weft(0.0)).unwrap_err();
    assert_eq!(error, CompileError::TooManyNodes { last: 63, nodes: 16 });
    let none = compiled(&pattern("torus", &resources, 1), &iwarp(&[8, 8], 0), &weft(0.0)).unwrap_err();
    assert_eq!(none.to_string(), "channels of a node must be at least 1: with none nothing could be open");
}

#[test]
fn orders_are_kept() {
    let resources = iwarp(&[4, 4], 12);
    let connections: Vec<Connection> =
        (0..12).map(|i| Connection { source: i, destination: i + 1, words: 10 + u64::from(i) }).collect();
    let orders = (1..12).map(|i| Order { before: i - 1, after: i }).collect();
    let set = ConnectionSet::new("chain", 16, connections).unwrap().with_orders(orders).unwrap();
    for compiler in Compiler::ALL {
        let schedule = compiled(&set, &resources, &Options { compiler, ..weft(0.1) }).unwrap();
        verify(&schedule, Some(&set)).unwrap();
        let chain = schedule.lower_bounds.iter().find(|bound| bound.name == "chain of orders").unwrap();
        assert!((chain.value - 186.0 * 100e-9).abs() < 1e-12, "{}", chain.value);
    }
}

/// Words of two phases that all come too late in the other one.
#[test]
fn a_search_with_nothing_to_move_ends() {
    let mut resources = resources("rail-h100");
    resources.topology = weft_machine::Topology::FatTree { children: vec![6, 3], parents: vec![1, 3] };
    let joins = |(source, destination, words)| Connection { source, destination, words };
    let connections = [(16, 7, 2), (0, 12, 1), (5, 17, 2), (6, 12, 3), (10, 7, 1)].map(joins).to_vec();
    let set = ConnectionSet::new("few", 18, connections).unwrap();
    let schedule = compiled(&set, &resources, &weft(1.0)).unwrap();
    verify(&schedule, Some(&set)).unwrap();
}

#[test]
fn an_empty_set_has_no_phases() {
    let resources = iwarp(&[4, 4], 12);
    let set = ConnectionSet::new("nothing", 16, Vec::new()).unwrap();
    let schedule = compiled(&set, &resources, &weft(0.0)).unwrap();
    verify(&schedule, Some(&set)).unwrap();
    assert_eq!((schedule.phases.len(), schedule.predicted_seconds), (0, 0.0));
}

/// Sets between at most 12 nodes with words that differ.
fn sets() -> impl Strategy<Value = ConnectionSet> {
    let connection = (0u32..12, 1u32..12, 1u64..300);
    prop::collection::vec(connection, 0..60).prop_map(|list| {
        let connections =
            list.into_iter().map(|(source, by, words)| Connection { source, destination: (source + by) % 12, words });
        ConnectionSet::new("any", 12, connections.collect()).unwrap()
    })
}

fn topologies() -> impl Strategy<Value = weft_machine::Topology> {
    use weft_machine::Topology;
    prop_oneof![
        Just(Topology::Torus { extents: vec![3, 4] }),
        Just(Topology::Torus { extents: vec![2, 6] }),
        Just(Topology::Mesh { extents: vec![4, 3] }),
        Just(Topology::Torus { extents: vec![3, 2, 2] }),
        Just(Topology::Hypercube { dimension: 4 }),
        Just(Topology::FatTree { children: vec![4, 3], parents: vec![1, 2] }),
        Just(Topology::Crossbar { nodes: 12 }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_compiled_is_accepted_by_the_verifier(
        set in sets(),
        topology in topologies(),
        limits in (prop::option::of(2u32..8), prop::option::of(1u32..3), prop::option::of(1u32..3)),
        baseline in any::<bool>(),
        shared in any::<bool>(),
        seed in 0u64..4,
    ) {
        let mut resources = iwarp(&[4, 4], 12);
        resources.topology = topology;
        (resources.node_channels, resources.link_channels, resources.ports) = limits;
        if shared {
            resources.access = weft_machine::Access::Shared;
        }
        let compiler = if baseline { Compiler::Apr } else { Compiler::Weft };
        let options = Options { compiler, seed, ..weft(0.005) };
        let schedule = compiled(&set, &resources, &options).unwrap();
        if let Err(fault) = verify(&schedule, Some(&set)) {
            prop_assert!(false, "{fault}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// With the time of hops, where transfers that have far to go may go first, and with orders.
    #[test]
    fn no_effort_is_worse_than_the_papers_compiler_on_any_network(
        set in sets(),
        topology in topologies(),
        limits in (prop::option::of(2u32..8), prop::option::of(1u32..3), prop::option::of(1u32..3)),
        ordered in prop::collection::vec((0usize..60, 1usize..60), 0..5),
        seed in 0u64..4,
    ) {
        let mut resources = resources("iwarp64");
        resources.topology = topology;
        (resources.node_channels, resources.link_channels, resources.ports) = limits;
        let orders = ordered.into_iter().map(|(before, by)| Order { before: before as u32, after: (before + by) as u32 });
        let count = set.connections.len() as u32;
        let set = set.with_orders(orders.filter(|order| order.after < count).collect()).unwrap();
        let seconds = |compiler| {
            let schedule = compiled(&set, &resources, &Options { compiler, seed, ..weft(0.0) }).unwrap();
            verify(&schedule, Some(&set)).unwrap();
            schedule.predicted_seconds
        };
        let (ours, theirs) = (seconds(Compiler::Weft), seconds(Compiler::Apr));
        prop_assert!(ours <= theirs * (1.0 + 1e-9), "{ours} against {theirs}");
    }
}

/// What more phases would take is known before anything is routed in them.
#[test]
fn the_papers_compiler_is_not_asked_for_phases_that_cannot_be_better() {
    let machine = resources("iwarp64");
    let resources = weft_conset::Resources { topology: iwarp(&[32, 32], 12).topology, ..machine };
    let set = pattern("random:6", &resources, 1);
    let tried = RefCell::new(Vec::new());
    let schedule = compile(&set, &resources, "test", &weft(0.0), &|| false, &|progress| {
        tried.borrow_mut().extend(progress.doing.strip_prefix("APR with ").map(str::to_owned));
    });
    assert_eq!((schedule.unwrap().phases.len(), tried.into_inner()), (9, vec!["9 phases".to_owned()]));
}

#[test]
fn a_search_goes_on_from_a_plan_and_tells_only_better_ones() {
    let resources = iwarp(&[4, 4], 12);
    let set = pattern("random:6", &resources, 200);
    let plans = RefCell::new(Vec::new());
    let search = |kept: Option<Plan>, effort: f64| {
        plans.borrow_mut().clear();
        let improved = |plan: &Plan| plans.borrow_mut().push(plan.clone());
        let search = Search { kept, interrupted: &|| false, progress: &|_| (), improved: &improved };
        compile_from(&set, &resources, "test", &weft(effort), search)
    };
    let long = search(None, 1.0).unwrap();
    let best = plans.borrow().last().cloned().unwrap();
    assert_eq!(best.len(), long.phases.len());
    let resumed = search(Some(best.clone()), 0.0).unwrap();
    verify(&resumed, Some(&set)).unwrap();
    assert!(resumed.predicted_seconds <= long.predicted_seconds);
    assert!(plans.borrow().is_empty(), "a search without effort finds nothing better");

    let mut short = best.clone();
    let lost = short[0].pop().unwrap();
    let error = search(Some(short), 0.0).unwrap_err();
    let expected = format!(
        "the plan that was kept is none of this connection set on this machine: connection {} has 0 words",
        lost.connection
    );
    assert_eq!(error.to_string(), expected);
    let mut astray = best;
    let far = astray.iter_mut().flatten().find(|placed| placed.route.len() > 2).unwrap();
    far.route.remove(1);
    let error = search(Some(astray), 0.0).unwrap_err();
    assert!(error.to_string().contains("goes over a link that is not there"), "{error}");
}

/// Connections of very different lengths, as partitioned graphs have: whole ones do not fill phases evenly.
#[test]
fn words_are_divided_so_that_every_phase_is_filled() {
    let resources = iwarp(&[4, 4], 8);
    let mut state = 7u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut connections = Vec::new();
    for source in 0..16u32 {
        for step in [1, 3, 4, 5, 7, 9] {
            let words = 1 + draw(30) * draw(30);
            connections.push(Connection { source, destination: (source + step) % 16, words });
        }
    }
    let set = ConnectionSet::new("lengths", 16, connections).unwrap();
    let seconds = |split| {
        let schedule = compiled(&set, &resources, &Options { split, ..weft(0.2) }).unwrap();
        verify(&schedule, Some(&set)).unwrap();
        (schedule.predicted_seconds, schedule.best_bound("s").unwrap().value)
    };
    let (whole, _) = seconds(false);
    let (divided, bound) = seconds(true);
    assert!(divided <= 1.02 * bound && divided < whole, "{divided} of {bound}, {whole} without");
}
