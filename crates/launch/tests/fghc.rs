//! Programs in FGHC on described machines: what the Multi-PSI was measured to do, and what any machine is charged.

use std::sync::Arc;

use weft_fghc::check::check;
use weft_fghc::distributed::{End, EventKind, Kind, Outcome, Recorder, Run, RunOptions};
use weft_fghc::engine::Loaded;
use weft_fghc::ir::Source;
use weft_launch::{CostOptions, OPERATIONS_OF_A_REDUCTION, REDUCTIONS_OF_STEPS, enlarged, pe_costs, simulate_fghc};
use weft_machine::{Machine, find};

const PROGRAM_1: &str = include_str!("../../../programs/fghc/program1.fghc");
/// The exchange of the paper's figure 3.
const EXCHANGE: &str = ":- module exchange.\n:- public main/0.\nmain :- leaf(1)@node(1).\nleaf(_).\n";

fn run(machine: &Machine, text: &str, goal: &str, recorder: Option<Arc<Recorder>>) -> Run {
    let checked = check(vec![Source { name: "test.fghc".into(), text: text.into() }], Some(goal));
    let rendered = checked.render(false);
    let loaded = Loaded::new(checked.program.unwrap_or_else(|| panic!("{rendered}")), false).expect("it compiles");
    let charged = pe_costs(machine, CostOptions::default()).expect("its file says what things cost");
    let options = RunOptions {
        output: Arc::new(|_| Box::new(std::io::sink())),
        costs: Some(charged.costs),
        copy: charged.copy,
        rounds: charged.rounds,
        slice: 1,
        recorder,
        ..RunOptions::default()
    };
    Run { loaded, options }
}

fn simulated(machine: &Machine, text: &str, goal: &str, pes: usize) -> Outcome {
    let outcome = simulate_fghc(machine, &run(machine, text, goal, None), pes).expect("it runs").outcome;
    assert_eq!(outcome.end, End::Finished);
    outcome
}

fn queens(machine: &Machine, pes: usize, depth: usize) -> Outcome {
    simulated(machine, PROGRAM_1, &format!("t([1,2,3,4,5,6,7,8],{pes},{depth})"), pes)
}

/// Table 1's total was measured; table 2 foretells a 64th of it: 0.0225 + 0.014 + 0.22 + 0.358 ms.
#[test]
fn a_goal_sent_to_a_neighbour_takes_what_the_paper_measured() {
    for (name, milliseconds) in [("multi-psi-v1", 38.32), ("multi-psi-v2", 0.614_3)] {
        let machine = find(name).unwrap();
        let outcome = simulated(&machine, EXCHANGE, "main", 2);
        let reductions: u64 = outcome.pes.iter().map(|pe| pe.reductions).sum();
        assert_eq!(reductions, 2, "main and the leaf");
        let of_main = machine.fghc.as_ref().unwrap().reduction_time;
        let measured = (outcome.elapsed - of_main) * 1e3;
        assert!((measured / milliseconds - 1.0).abs() < 0.002, "{name}: {measured} ms");
    }
}

#[test]
fn depth_2_is_the_best_on_six_pes_of_the_v1_and_falls_off_on_both_sides() {
    let machine = find("multi-psi-v1").unwrap();
    let throws = [8, 64, 316, 1016, 2392];
    let mut elapsed = Vec::new();
    for (depth, throws) in (1..).zip(throws) {
        let outcome = queens(&machine, 6, depth);
        assert_eq!(outcome.pes.iter().map(|pe| pe.reductions).sum::<u64>(), 38_879, "depth {depth}");
        let thrown: u64 = outcome.pes.iter().map(|pe| pe.sent[Kind::ThrowGoal as usize]).sum();
        assert_eq!(thrown, throws, "depth {depth}");
        let by_site: u64 = outcome.pes.iter().flat_map(|pe| &pe.sites).map(|site| site.throws).sum();
        assert_eq!(by_site, throws, "depth {depth}");
        elapsed.push(outcome.elapsed);
    }
    assert!(elapsed[1] < elapsed[0], "{elapsed:?}");
    assert!(elapsed[1..].is_sorted(), "{elapsed:?}");
}

#[test]
fn two_runs_are_the_same_to_the_last_event() {
    let machine = find("multi-psi-v1").unwrap();
    let kept = [Arc::new(Recorder::default()), Arc::new(Recorder::default())];
    let goal = "t([1,2,3,4,5,6],6,2)";
    let ran = kept.clone().map(|recorder| {
        let run = run(&machine, PROGRAM_1, goal, Some(recorder));
        serde_json::to_string(&simulate_fghc(&machine, &run, 6).expect("it runs").outcome).expect("plain data")
    });
    assert_eq!(ran[0], ran[1]);
    assert_eq!(kept[0].events(), kept[1].events());
}

/// A PE works or is idle from its start to its end, and the timeline has both whole.
#[test]
fn the_timeline_accounts_for_the_time_of_every_pe() {
    let machine = find("multi-psi-v1").unwrap();
    let recorder = Arc::new(Recorder::default());
    let run = run(&machine, PROGRAM_1, "t([1,2,3,4,5,6],6,2)", Some(recorder.clone()));
    let outcome = simulate_fghc(&machine, &run, 6).expect("it runs").outcome;
    let events = recorder.events();
    for counts in &outcome.pes {
        let of = |wanted: fn(&EventKind) -> bool| -> f64 {
            let mine = events.iter().filter(|event| event.pe == counts.pe && wanted(&event.kind));
            mine.map(|event| event.end - event.start).sum()
        };
        let idle = of(|kind| matches!(kind, EventKind::Idle));
        assert!((idle - counts.idle).abs() < 1e-9, "PE {}: {idle} {}", counts.pe, counts.idle);
        // Looking for perpetual suspension is work of which no stretch is shown.
        let work = of(|kind| matches!(kind, EventKind::Work { .. }));
        assert!(work <= counts.work * (1.0 + 1e-9), "PE {}: {work} {}", counts.pe, counts.work);
        assert!(work > counts.work * 0.99, "PE {}: {work} {}", counts.pe, counts.work);
        assert!(counts.communication <= counts.work);
        let charged = counts.communication + counts.reductions as f64 * 2.25e-3;
        assert!((charged / counts.work - 1.0).abs() < 1e-6, "PE {}: {charged} {}", counts.pe, counts.work);
    }
    let (mut sent, mut received) = (0, 0);
    for event in &events {
        match event.kind {
            EventKind::Sent { .. } => sent += 1,
            EventKind::Received { .. } => received += 1,
            _ => {}
        }
    }
    assert!(sent >= received && received > 0);
}

#[test]
fn costs_that_no_file_gives_are_derived_and_said() {
    let machine = find("ipsc860").unwrap();
    let derived = pe_costs(&machine, CostOptions::default()).unwrap();
    let reduction = OPERATIONS_OF_A_REDUCTION * 0.1e-6;
    assert!((derived.costs.reduction / reduction - 1.0).abs() < 1e-12);
    assert!((derived.costs.word / (REDUCTIONS_OF_STEPS.word * reduction) - 1.0).abs() < 1e-12);
    assert_eq!(derived.assumed.len(), 2);
    assert!(derived.assumed[0].contains("40 times int32_add of ipsc860"), "{:?}", derived.assumed);
    let costs = pe_costs(&machine, CostOptions { reduction: Some(1e-6), step: Some(2e-6) }).unwrap();
    assert_eq!((costs.costs.reduction, costs.costs.word), (1e-6, 2e-6));
    assert!(costs.assumed.is_empty());
    let v1 = pe_costs(&find("multi-psi-v1").unwrap(), CostOptions::default()).unwrap();
    assert!(v1.assumed.is_empty());
    // The ratios of machines without figures of their own are the Multi-PSI/V1's.
    assert!((v1.costs.word / v1.costs.reduction / REDUCTIONS_OF_STEPS.word - 1.0).abs() < 1e-9);
    let goal = |costs: &weft_fghc::distributed::Costs| {
        costs.send[weft_fghc::distributed::Kind::ThrowGoal as usize] / costs.reduction
    };
    assert!((goal(&v1.costs) / goal(&derived.costs) - 1.0).abs() < 1e-9);
    assert_eq!(v1.copy.levels, 1);
    let silent = pe_costs(&find("tpu-v4").unwrap(), CostOptions::default()).unwrap_err().to_string();
    assert!(silent.contains("neither a table [fghc] nor the time of an addition"), "{silent}");
    assert!(silent.contains("--reduction-time"), "{silent}");
}

#[test]
fn more_pes_than_nodes_need_a_larger_machine_of_the_same_parts() {
    let machine = find("multi-psi-v2").unwrap();
    let refused = simulate_fghc(&machine, &run(&machine, EXCHANGE, "main", None), 65).unwrap_err().to_string();
    assert_eq!(refused, "65 PEs: multi-psi-v2 has 64 nodes; --enlarge simulates a larger machine of the same parts");
    assert_eq!(enlarged(&machine, 64).unwrap(), machine);
    assert_eq!(enlarged(&machine, 65).unwrap().nodes(), 128);
    assert_eq!(enlarged(&find("ipsc860").unwrap(), 1000).unwrap().nodes(), 1024);
    let refused = enlarged(&find("frontera").unwrap(), 1 << 20).unwrap_err().to_string();
    assert!(refused.contains("does not grow by itself"), "{refused}");
    let large = enlarged(&machine, 256).unwrap();
    let outcome = queens(&large, 256, 3);
    assert_eq!(outcome.pes.iter().map(|pe| pe.reductions).sum::<u64>(), 38_879);
}
