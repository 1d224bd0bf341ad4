//! Schedules executed in virtual time and on threads, and the solver above them.

use weft_comm::{Begins, CommError, Communicator, ElementCost, Program, RunError};
use weft_conset::execute::{
    ConjugateGradients, Execution, ExecutionError, Partitioned, Precision, Prepared, Problem, ProblemError, Subdomain,
    Timed,
};
use weft_conset::{Connection, ConnectionSet, Phase, Resources, Schedule, Transfer};
use weft_machine::{Machine, find};
use weft_sim::{Options, Placement};

const CLOCK: f64 = 50e-9;

fn iwarp() -> Machine {
    find("iwarp64").unwrap()
}

/// Every node to its four neighbours.
fn torus(words: u64) -> ConnectionSet {
    let machine = iwarp();
    let pairs = (0..64).flat_map(|from| machine.topology.neighbours(from).into_iter().map(move |to| (from, to)));
    let connections =
        pairs.map(|(from, to)| Connection { source: from as u32, destination: to as u32, words }).collect();
    ConnectionSet::new("torus", 64, connections).unwrap()
}

/// Every connection of a set over the machine's own route, those of phase `of` together, all from the start on.
fn scheduled(set: &ConnectionSet, phases: usize, of: impl Fn(u32) -> usize) -> Schedule {
    let machine = iwarp();
    let mut phases: Vec<Phase> = (0..phases)
        .map(|_| Phase { connections: Vec::new(), orbits: Vec::new(), largest_link_load: 1, predicted_seconds: 1.0 })
        .collect();
    for (index, connection) in set.connections.iter().enumerate() {
        let (from, to) = (connection.source as usize, connection.destination as usize);
        let mut route = vec![connection.source];
        let mut at = from;
        while let Some((_, next)) = machine.topology.next_hop(at, to) {
            route.push(next as u32);
            at = next;
        }
        let phase = &mut phases[of(index as u32)].connections;
        phase.push(Transfer {
            connection: index as u32,
            source: connection.source,
            destination: connection.destination,
            words: connection.words,
            route,
            start: 0.0,
            duration: 1.0,
            pieces: Vec::new(),
        });
    }
    let schedule = Schedule {
        machine: machine.name.clone(),
        pattern: set.name.clone(),
        compiler: "by hand".to_owned(),
        resources: Resources::of(&machine).unwrap(),
        connections: set.connections.len() as u64,
        orders: Vec::new(),
        phases,
        lower_bounds: Vec::new(),
        predicted_seconds: 1.0,
        message_seconds: None,
        by_messages: false,
        message_seed: None,
        digest: String::new(),
    };
    schedule.sealed()
}

fn timed(execution: Execution, phantom: bool) -> Timed {
    Timed { execution, iterations: 1, warmup: 0, phantom }
}

fn clocks(execution: Execution, phantom: bool) -> f64 {
    let machine = iwarp();
    let outcome =
        weft_sim::run(&machine, &Placement::identity(64), &timed(execution, phantom), &Options::default()).unwrap();
    outcome.outputs[0].seconds[0] / CLOCK
}

/// Table 1 of Feldmann, Stricker and Warfel 1993: words, ConSet, message passing, measured clocks.
const TABLE_1: [(u64, f64, f64); 4] =
    [(32, 1168.0, 3760.0), (256, 2984.0, 5720.0), (2048, 17408.0, 20012.0), (16384, 132768.0, 135224.0)];

#[test]
fn the_torus_pattern_takes_what_was_measured() {
    let mut errors = Vec::new();
    for (words, conset, messages) in TABLE_1 {
        let set = torus(words);
        let connections = Execution::of_schedule(&scheduled(&set, 1, |_| 0), None).unwrap();
        errors.push((clocks(connections, true) / conset - 1.0).abs());
        errors.push((clocks(Execution::of_messages(&set, 4, None, None), true) / messages - 1.0).abs());
    }
    println!("{errors:.4?}");
    errors.sort_by(f64::total_cmp);
    assert!((errors[3] + errors[4]) / 2.0 <= 0.05 && errors[7] <= 0.1, "{errors:.4?}");
}

/// Table 2 of Feldmann, Stricker and Warfel 1993: words, message passing, measured clocks. Nothing is fitted to it: the
/// stages of a butterfly wait for each other, and those whose partners are three links apart share a link.
const TABLE_2: [(u64, f64); 4] = [(32, 6208.0), (256, 10792.0), (2048, 48320.0), (16384, 343192.0)];

#[test]
fn the_butterfly_by_messages_takes_what_was_measured() {
    for (words, measured) in TABLE_2 {
        let set = weft_conset::named("butterfly", &iwarp().topology, words, 1).unwrap();
        let error = clocks(Execution::of_messages(&set, 4, None, None), true) / measured - 1.0;
        assert!(error.abs() <= 0.06, "{words} words: {error:+.3}");
        let unordered = weft_conset::named("hypercube", &iwarp().topology, words, 1).unwrap();
        let all_at_once = clocks(Execution::of_messages(&unordered, 4, None, None), true) / measured - 1.0;
        assert!(all_at_once > 0.3, "{words} words: {all_at_once:+.3}");
    }
}

#[test]
fn every_word_comes_where_it_belongs_by_either_method_on_two_worlds() {
    let set = torus(5);
    let by_phases = Execution::of_schedule(&scheduled(&set, 3, |index| index as usize % 3), None).unwrap();
    let by_messages = Execution::of_messages(&set, 4, None, Some(7));
    let stages = weft_conset::named("butterfly", &iwarp().topology, 5, 1).unwrap();
    let by_stages = Execution::of_messages(&stages, 4, None, None);
    assert_eq!(by_stages.plan.phases().len(), 6);
    for execution in [by_phases, by_messages, by_stages] {
        clocks(execution.clone(), false);
        let again = Timed { iterations: 3, warmup: 1, ..timed(execution, false) };
        let timings = weft_threads::run(64, &again, &weft_threads::Options::default()).unwrap();
        assert!(timings.iter().all(|timing| timing.seconds.len() == 3));
    }
}

#[test]
fn several_connections_of_two_nodes_come_as_one_message() {
    let joins = |(source, destination, words)| Connection { source, destination, words };
    let connections = [(0, 1, 5), (0, 1, 7), (1, 0, 3), (2, 1, 4)].map(joins).to_vec();
    let set = ConnectionSet::new("twice", 64, connections).unwrap();
    let execution = Execution::of_schedule(&scheduled(&set, 2, |index| index as usize / 3), None).unwrap();
    let again = Timed { iterations: 2, warmup: 0, ..timed(execution, false) };
    weft_threads::run(64, &again, &weft_threads::Options::default()).unwrap();
}

#[test]
fn transfers_wait_for_those_that_orders_name() {
    let joins = |(source, destination)| Connection { source, destination, words: 500 };
    let set = ConnectionSet::new("chain", 64, [(0, 1), (1, 2), (8, 9)].map(joins).to_vec()).unwrap();
    let orders = vec![weft_conset::Order { before: 0, after: 1 }];
    let mut schedule = scheduled(&set, 1, |_| 0);
    let free = clocks(Execution::of_schedule(&schedule, None).unwrap(), true);
    schedule.orders = orders;
    schedule.phases[0].connections[1].start = 1.0;
    let execution = Execution::of_schedule(&schedule.clone().sealed(), None).unwrap();
    let begins: Vec<Begins> = execution.plan.phases().iter().map(|phase| phase.begins).collect();
    assert_eq!(begins, [Begins::Switched, Begins::Arrived]);
    let kept = clocks(execution.clone(), true);
    assert!(kept >= free + 1000.0 && kept < free + 1100.0, "{free} {kept}: nothing is switched between");
    weft_threads::run(64, &timed(execution, false), &weft_threads::Options::default()).unwrap();
}

#[test]
fn interrupted_transfers_arrive_in_order() {
    let set = ConnectionSet::new("pair", 64, vec![Connection { source: 0, destination: 1, words: 10 }]).unwrap();
    let mut schedule = scheduled(&set, 2, |_| 0);
    let whole = schedule.phases[0].connections[0].clone();
    let piece = |start, words| weft_conset::Piece { start, duration: 1.0, words };
    schedule.phases[0].connections[0] =
        Transfer { words: 7, pieces: vec![piece(0.0, 3), piece(5.0, 4)], duration: 6.0, ..whole.clone() };
    schedule.phases[1].connections.push(Transfer { words: 3, ..whole });
    let execution = Execution::of_schedule(&schedule.sealed(), None).unwrap();
    let parts: Vec<(u64, u64)> = execution.parts.iter().map(|part| (part.first_word, part.words)).collect();
    assert_eq!(parts, [(0, 3), (3, 4), (7, 3)]);
    assert!(clocks(execution, false) > 2.0 * 528.0);
}

#[test]
fn element_by_element_costs_the_programs_more_than_the_network() {
    // Section 5.2: ten clocks a word to gather, and as many to scatter, not both at once.
    let elements = Some(ElementCost { gather_byte_time: 2.5 * CLOCK, scatter_byte_time: 2.5 * CLOCK });
    let set = torus(100);
    let seconds = clocks(Execution::of_schedule(&scheduled(&set, 1, |_| 0), elements).unwrap(), true);
    let bound = 528.0 + 352.0 + 8.0 * 1000.0;
    assert!(seconds >= bound, "{seconds}");
    let messages = clocks(Execution::of_messages(&set, 4, elements, None), true);
    assert!(messages >= 8.0 * 416.0 + 8.0 * 1000.0, "{messages}");
}

#[test]
fn two_runs_are_the_same() {
    let execution = Execution::of_messages(&torus(100), 4, None, Some(3));
    assert_eq!(clocks(execution.clone(), true).to_bits(), clocks(execution, true).to_bits());
}

#[test]
fn an_edited_schedule_is_refused() {
    let mut schedule = scheduled(&torus(5), 1, |_| 0);
    schedule.phases[0].connections[3].words = 4;
    let error = Execution::of_schedule(&schedule, None).unwrap_err();
    assert!(matches!(error, ExecutionError::Edited { .. }));
    assert!(error.to_string().starts_with("the schedule was changed after it was made: its digest is"), "{error}");
}

#[test]
fn routes_that_are_none_are_refused() {
    let sealed = |change: fn(&mut Transfer)| {
        let mut schedule = scheduled(&torus(5), 1, |_| 0);
        change(&mut schedule.phases[0].connections[0]);
        Execution::of_schedule(&schedule.sealed(), None).unwrap_err().to_string()
    };
    assert_eq!(
        sealed(|transfer| transfer.route.insert(1, 20)),
        "phase 0, connection 0: its route goes from 0 to 20, which no link of the topology joins"
    );
    assert_eq!(sealed(|transfer| transfer.destination = 0), "phase 0, connection 0 goes from node 0 to itself");
    assert_eq!(sealed(|transfer| transfer.source = 64), "phase 0, connection 0 names node 64; there are 64");
    assert!(sealed(|transfer| transfer.route.truncate(1)).contains("does not lead from node 0 to node"));
}

/// Rank 5 leaves before the exchange.
#[derive(Clone)]
struct OneIsLost(Execution);

impl Program for OneIsLost {
    type Output = ();

    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        if comm.rank() != 5 {
            Prepared::new(&comm, &self.0, true)?.exchange(|_, _| (), |_, _| ()).await?;
        }
        Ok(())
    }
}

#[test]
fn a_lost_rank_is_an_error_and_no_hang() {
    let execution = Execution::of_schedule(&scheduled(&torus(5), 1, |_| 0), None).unwrap();
    let program = OneIsLost(execution);
    let error = weft_sim::run(&iwarp(), &Placement::identity(64), &program, &Options::default()).unwrap_err();
    assert!(matches!(&error, RunError::Deadlock { blocked, .. } if blocked.len() == 63));
    assert!(
        error.to_string().contains("rank 0: planned exchange, in which 63 of 64 ranks take part so far"),
        "{error}"
    );
    let error = weft_threads::run(64, &program, &weft_threads::Options::default()).unwrap_err();
    assert!(error.to_string().contains("deadlock"), "{error}");
}

/// A chain of `n` springs, both ends held, its elements divided among `ranks` ranks.
fn chain(n: u32, ranks: u32, precision: Precision) -> Problem {
    let elements = n + 1;
    let subdomains = (0..ranks)
        .map(|rank| {
            let own = rank * elements / ranks..(rank + 1) * elements / ranks;
            // Element e joins unknowns e - 1 and e, of which the first and the last are held.
            let unknowns: Vec<u32> = (own.start.saturating_sub(1)..own.end.min(n)).collect();
            let index = |unknown: u32| unknowns.binary_search(&unknown).unwrap();
            let mut dense = vec![vec![0.0; unknowns.len()]; unknowns.len()];
            for element in own.clone() {
                let ends: Vec<usize> = [element.checked_sub(1), (element < n).then_some(element)]
                    .into_iter()
                    .flatten()
                    .map(index)
                    .collect();
                for &a in &ends {
                    for &b in &ends {
                        dense[a][b] += if a == b { 1.0 } else { -1.0 };
                    }
                }
            }
            let (mut row_starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in &dense {
                for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                    columns.push(column as u32);
                    values.push(value);
                }
                row_starts.push(columns.len() as u32);
            }
            let counts = unknowns.iter().map(|&unknown| unknown >= own.start || rank == 0).collect();
            let right = unknowns.iter().map(|&unknown| f64::from(unknown % 3)).collect();
            Subdomain { unknowns, row_starts, columns, values, right, counts }
        })
        .collect();
    Problem { unknowns: n, subdomains, tolerance: 1e-6, iterations: 1000, precision }
}

/// The same by elimination.
fn direct(n: usize) -> Vec<f64> {
    let (mut diagonal, mut right) = (vec![2.0; n], (0..n).map(|index| (index % 3) as f64).collect::<Vec<_>>());
    for row in 1..n {
        let factor = -1.0 / diagonal[row - 1];
        diagonal[row] += factor;
        right[row] -= factor * right[row - 1];
    }
    for row in (0..n).rev() {
        let next = right.get(row + 1).copied().unwrap_or(0.0);
        right[row] = (right[row] + next) / diagonal[row];
    }
    right
}

fn solved(precision: Precision, by_messages: bool) -> (Vec<f64>, f64) {
    let problem = chain(100, 64, precision);
    let set = problem.connection_set("chain").unwrap();
    let execution = if by_messages {
        Execution::of_messages(&set, precision.bytes(), None, None)
    } else {
        Execution::of_schedule(&scheduled(&set, 2, |index| index as usize % 2), None)
            .unwrap()
            .with_word_bytes(precision.bytes())
    };
    let program = ConjugateGradients(Partitioned::new(problem, &set, execution).unwrap());
    let outcome = weft_sim::run(&iwarp(), &Placement::identity(64), &program, &Options::default()).unwrap();
    let solution = &outcome.outputs[0];
    assert!(solution.residual <= 1e-6 && solution.iterations < 1000, "{} {}", solution.residual, solution.iterations);
    if by_messages && precision == Precision::Double {
        let threads = weft_threads::run(64, &program, &weft_threads::Options::default()).unwrap();
        assert_eq!(threads[0].unknowns, solution.unknowns, "the same sums in the same order");
    }
    (solution.unknowns.clone(), solution.exchange_seconds)
}

#[test]
fn the_solver_finds_what_elimination_finds() {
    let wanted = direct(100);
    let largest = wanted.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    for (precision, tolerance) in [(Precision::Double, 1e-5), (Precision::Single, 2e-3)] {
        let (by_phases, seconds) = solved(precision, false);
        let (by_messages, slower) = solved(precision, true);
        for solution in [by_phases, by_messages] {
            let worst = solution.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst <= tolerance * largest, "{precision:?}: {worst} of {largest}");
        }
        assert!(seconds > 2.0 * 528.0 * CLOCK && slower > 4.0 * 416.0 * CLOCK, "{seconds} {slower}");
    }
}

#[test]
fn a_problem_that_does_not_fit_its_exchange_is_refused() {
    let problem = chain(100, 64, Precision::Single);
    let set = problem.connection_set("chain").unwrap();
    let messages = |set: &ConnectionSet| Execution::of_messages(set, 4, None, None);
    let fault =
        |problem: Problem, set: &ConnectionSet| Partitioned::new(problem, set, messages(set)).unwrap_err().to_string();
    let mut fewer = set.clone();
    fewer.connections.pop();
    assert_eq!(fault(problem.clone(), &fewer), "ranks 63 and 62 share 1 unknowns, but the exchange does not join them");
    let mut longer = set.clone();
    longer.connections[0].words = 2;
    assert_eq!(
        fault(problem.clone(), &longer),
        "the exchange joins ranks 0 and 1 with 2 words, but they share 1 unknowns"
    );
    let double = Problem { precision: Precision::Double, ..problem.clone() };
    assert_eq!(fault(double, &set), "the exchange has words of 4 bytes, the unknowns have 8");
    let mut twice = problem.clone();
    twice.subdomains[1].counts[0] = true;
    assert!(matches!(twice.check(), Err(ProblemError::Subdomain { .. })));
    let mut outside = problem;
    outside.subdomains[9].columns[0] = 99;
    assert!(fault(outside, &set).starts_with("subdomain 9: column 99 of"));
}
