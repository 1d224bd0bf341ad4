//! Schedules carried out with real numbers on threads and in virtual time; whatever is wrong with one is refused.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use weft_base::Interrupt;
use weft_collectives::execute::Timed;
use weft_collectives::{
    Collective, Exchange, Fabric, Method, Operation, Request, Schedule, alternatives, compile, verify,
};

/// Two systems of four accelerators: fast inside, slow links between equal numbers.
fn systems() -> Fabric {
    let mut links = String::new();
    for rank in 0..8 {
        let (inside, rail) = (rank / 4, rank % 4);
        links += &format!(
            r#"{{"from": "node {rank}", "to": "fast {inside}", "bandwidth": 300e9, "latency": 1e-6, "duplex": true}},
               {{"from": "node {rank}", "to": "rail {rail}", "bandwidth": 25e9, "latency": 2e-6, "duplex": true}},"#
        );
    }
    let text = format!(
        r#"{{"nodes": 8, "switches": ["fast 0", "fast 1", "rail 0", "rail 1", "rail 2", "rail 3"],
            "links": [{}], "message_seconds": 1e-6}}"#,
        links.trim_end_matches(',')
    );
    Fabric::from_json(&text, "systems.json").unwrap()
}

fn compiled(fabric: &Fabric, collective: Collective, bytes: u64, method: Method) -> Schedule {
    compile(fabric, &Request { collective, bytes, element_bytes: 4, root: 2, method, blocks: None }).unwrap()
}

#[test]
fn every_rank_has_what_the_definition_says_on_threads_and_in_virtual_time() {
    let machine = weft_machine::find("hgx-h100").unwrap();
    let described = Fabric::of_machine(&machine).unwrap();
    let methods = [Method::Throughput, Method::Latency];
    let all = Collective::ALL.into_iter().flat_map(|collective| methods.map(|method| (collective, method)));
    for (collective, method) in all.filter(|(collective, method)| !collective.has_root() || *method != Method::Latency)
    {
        // Neither the shards nor the trees divide 1009 elements evenly.
        let schedule = Arc::new(compiled(&systems(), collective, 4 * 1009, method));
        verify(&schedule).unwrap();
        let is_short = schedule.exchange.is_some() || schedule.stages.iter().all(|stage| stage.merged);
        assert_eq!(is_short, method == Method::Latency);
        let program = Timed::new(schedule, false, 2).unwrap();
        let seconds = weft_threads::run(8, &program, &weft_threads::Options::default()).unwrap();
        assert_eq!(seconds[0].len(), 2);
        let schedule = Arc::new(compiled(&described, collective, 4 * 1009, method));
        let program = Timed::new(schedule.clone(), false, 1).unwrap();
        let placement = weft_sim::Placement::identity(schedule.fabric.ranks.len());
        weft_sim::run(&machine, &placement, &program, &weft_sim::Options::default()).unwrap();
    }
}

#[test]
fn a_group_of_a_torus_uses_the_routers_between_its_members() {
    let machine = weft_machine::find("tpu-v4").unwrap();
    // Two opposite corners of a square, and the corner of another: routers of nodes that take no part are in between.
    let group = Fabric::of_machine(&machine).unwrap().with_group(&[0, 17, 256]).unwrap();
    assert!(group.links.len() < 40, "{}", group.links.len());
    let schedule = Arc::new(compiled(&group, Collective::Allgather, 4 * 1009, Method::Throughput));
    verify(&schedule).unwrap();
    // Whatever the cut, each rank's two messages leave it over the links of the routes to the others.
    assert!(schedule.efficiency() > 0.3 && schedule.efficiency() <= 1.0, "{}", schedule.efficiency());
    let program = Timed::new(schedule, false, 1).unwrap();
    let placement = weft_sim::Placement::listed(&[0, 17, 256]);
    weft_sim::run(&machine, &placement, &program, &weft_sim::Options::default()).unwrap();
}

#[test]
fn a_short_broadcast_takes_a_flat_tree() {
    let cube = Fabric::of_machine(&weft_machine::find("ncube6400").unwrap()).unwrap();
    let [short, long] = [64, 1 << 30].map(|bytes| compiled(&cube, Collective::Broadcast, bytes, Method::Auto));
    assert_eq!((short.stages[0].trees.len(), long.efficiency()), (1, 1.0));
    assert!(short.seconds() < compiled(&cube, Collective::Broadcast, 64, Method::Throughput).seconds());
    verify(&short).unwrap();
}

#[test]
fn a_wrong_schedule_gives_other_numbers() {
    let mut schedule = compiled(&systems(), Collective::Allgather, 4096, Method::Throughput);
    let tree = &mut schedule.stages[0].trees[0];
    tree.start += 4;
    assert!(verify(&schedule).is_err());
    let program = Timed::new(Arc::new(schedule), false, 1).unwrap();
    let error = weft_threads::run(8, &program, &weft_threads::Options::default()).unwrap_err().to_string();
    assert!(error.contains("has not what it should have"), "{error}");
}

/// One change of a schedule that makes it wrong, or only different.
fn mutate(schedule: &mut Schedule, random: &mut impl RngExt) -> &'static str {
    let ranks = schedule.fabric.ranks.len();
    let links = schedule.fabric.links.len() as u32;
    let vertices = schedule.fabric.vertices.len();
    let stage = random.random_range(0..schedule.stages.len());
    let stage = &mut schedule.stages[stage];
    let tree = random.random_range(0..stage.trees.len());
    let other = random.random_range(0..stage.trees.len());
    let transfer = random.random_range(0..stage.trees[tree].transfers.len());
    match random.random_range(0..16) {
        0 => drop(stage.trees[tree].transfers.remove(transfer)),
        1 => {
            let twice = stage.trees[tree].transfers[transfer].clone();
            stage.trees[tree].transfers.push(twice);
        }
        2 => stage.trees[tree].transfers.reverse(),
        3 => stage.trees[tree].transfers[transfer].0 = random.random_range(0..ranks),
        4 => stage.trees[tree].transfers[transfer].1 = random.random_range(0..ranks),
        5 => {
            let path = &mut stage.trees[tree].transfers[transfer].2;
            let position = random.random_range(0..path.len());
            path[position] = random.random_range(0..links);
        }
        6 => drop(stage.trees[tree].transfers[transfer].2.pop()),
        7 => stage.trees[tree].root = random.random_range(0..ranks),
        8 => stage.trees[tree].start += 4,
        9 => stage.trees[tree].bytes += 4,
        10 => stage.trees[tree].weight += 1,
        11 => drop(stage.trees.remove(tree)),
        12 => stage.rate *= random.random_range(0.5..1.5),
        13 => {
            let vertex = random.random_range(0..vertices);
            stage.bound.cut.retain(|&known| known != vertex);
            if random.random_range(0..2) == 0 {
                stage.bound.rate *= 1.01;
            }
        }
        14 => stage.seconds *= 0.99,
        _ => {
            let paths = stage.trees[other].transfers.clone();
            stage.trees[tree].transfers = paths;
        }
    }
    "changed"
}

/// One change of an exchange that makes it wrong, or only different.
fn mutate_exchange(exchange: &mut Exchange, ranks: usize, links: usize, random: &mut impl RngExt) {
    let round = random.random_range(0..exchange.rounds.len());
    let other = random.random_range(0..exchange.rounds.len());
    let routes = exchange.routes.len();
    let route = random.random_range(0..routes);
    let message = random.random_range(0..exchange.rounds[round].messages.len());
    match random.random_range(0..17) {
        0 => drop(exchange.rounds[round].messages.remove(message)),
        1 => {
            let twice = exchange.rounds[round].messages[message];
            exchange.rounds[other].messages.push(twice);
        }
        2 => exchange.rounds.swap(round, other),
        3 => drop(exchange.rounds.remove(round)),
        4 => exchange.routes[route].0 = random.random_range(0..ranks),
        5 => exchange.routes[route].1 = random.random_range(0..ranks),
        6 => {
            let path = &mut exchange.routes[route].2;
            let position = random.random_range(0..path.len());
            path[position] = random.random_range(0..links as u32);
        }
        7 => exchange.rounds[round].messages[message].0 = random.random_range(0..routes as u32 + 1),
        8 => exchange.rounds[round].messages[message].1 += random.random_range(1..9),
        9 => exchange.rounds[round].messages[message].2 += random.random_range(1..9),
        10 => {
            let operation = &mut exchange.rounds[round].operation;
            *operation = if *operation == Operation::Copy { Operation::Reduce } else { Operation::Copy };
        }
        11 => exchange.seconds *= 0.99,
        12 => exchange.bound.rate *= 1.01,
        13 => drop(exchange.bound.others.pop()),
        14 => exchange.bound.others.push(vec![random.random_range(0..ranks)]),
        15 => drop(exchange.bound.others.first_mut().and_then(Vec::pop)),
        _ => exchange.bound.cut.push(random.random_range(0..ranks)),
    }
    // What a message takes is known to who changes one.
    if random.random_range(0..2) == 0 {
        exchange.seconds = f64::NAN;
    }
}

/// What the verifier says that it should be, in the place of what an edit made wrong.
fn repaired(mut schedule: Schedule) -> Schedule {
    if let Err(error) = verify(&schedule) {
        let error = error.to_string();
        let exchange = schedule.exchange.as_mut().unwrap();
        if let Some(seconds) = error.strip_suffix(" s").and_then(|error| error.rsplit_once("take ")) {
            exchange.seconds = seconds.1.parse().unwrap();
        }
    }
    schedule
}

#[test]
fn changed_exchanges_are_refused_unless_they_still_give_what_they_should() {
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(12);
    let torus = Fabric::of_machine(&weft_machine::find("tpu-v4").unwrap()).unwrap();
    let torus = torus.with_group(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]).unwrap();
    let mut originals: Vec<Schedule> = Vec::new();
    for fabric in [systems(), torus] {
        for bytes in [4 * 64, 4 * 1009, 4 << 20] {
            for collective in [Collective::Allreduce, Collective::Allgather, Collective::ReduceScatter] {
                let request =
                    Request { collective, bytes, element_bytes: 4, root: 0, method: Method::Auto, blocks: None };
                let schedules = alternatives(&fabric, &request, 1.0, &Interrupt::NEVER).unwrap();
                originals.extend(schedules.into_iter().filter(|schedule| schedule.exchange.is_some()));
            }
        }
    }
    let (mut refused, mut executed) = (0, 0);
    for round in 0..1000 {
        let original = &originals[round % originals.len()];
        let mut schedule = original.clone();
        let (ranks, links) = (schedule.fabric.ranks.len(), schedule.fabric.links.len());
        mutate_exchange(schedule.exchange.as_mut().unwrap(), ranks, links, &mut random);
        let schedule = repaired(schedule);
        if verify(&schedule).is_err() {
            refused += 1;
            continue;
        }
        // Its numbers say what is accepted.
        if schedule.bytes < 1 << 20 {
            executed += 1;
            let program = Timed::new(Arc::new(schedule), false, 1).unwrap();
            weft_threads::run(ranks, &program, &weft_threads::Options::default()).unwrap();
        }
    }
    assert!(refused > 700 && executed > 20, "{refused} refused, {executed} executed");
}

#[test]
fn an_allgather_adds_to_nothing() {
    let collective = Collective::Allgather;
    let request = Request { collective, bytes: 4096, element_bytes: 4, root: 0, method: Method::Latency, blocks: None };
    let schedules = alternatives(&systems(), &request, 1.0, &Interrupt::NEVER).unwrap();
    let exchanges: Vec<Schedule> = schedules.into_iter().filter(|schedule| schedule.exchange.is_some()).collect();
    assert!(!exchanges.is_empty());
    for mut schedule in exchanges {
        let round = schedule.exchange.as_mut().unwrap().rounds.last_mut().unwrap();
        round.operation = Operation::Reduce;
        let error = verify(&schedule).unwrap_err().to_string();
        assert!(error.contains("would add to what it does not have"), "{error}");
    }
}

#[test]
fn changed_schedules_are_refused_unless_they_are_still_right() {
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(11);
    let mut originals: Vec<Schedule> =
        Collective::ALL.iter().map(|&collective| compiled(&systems(), collective, 4096, Method::Throughput)).collect();
    let collective = Collective::ReduceScatter;
    let request = Request { collective, bytes: 4096, element_bytes: 4, root: 0, method: Method::Latency, blocks: None };
    let schedules = alternatives(&systems(), &request, 1.0, &Interrupt::NEVER).unwrap();
    originals.extend(schedules.into_iter().find(|schedule| schedule.exchange.is_none()));
    assert_eq!(originals.len(), Collective::ALL.len() + 1);
    let (mut refused, mut accepted) = (0, 0);
    for round in 0..1000 {
        let original = &originals[round % originals.len()];
        let mut schedule = original.clone();
        mutate(&mut schedule, &mut random);
        if verify(&schedule).is_err() {
            refused += 1;
            continue;
        }
        // What is accepted does what it should, by the numbers.
        accepted += usize::from(schedule != *original);
        if round < 200 {
            let program = Timed::new(Arc::new(schedule), false, 1).unwrap();
            weft_threads::run(8, &program, &weft_threads::Options::default()).unwrap();
        }
    }
    assert!(refused > 850 && accepted < 50, "{refused} refused, {accepted} accepted");
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let fabric = systems();
    let refuse = |fabric: &Fabric, bytes: u64, root: usize, collective: Collective| {
        compile(fabric, &Request { collective, bytes, element_bytes: 4, root, method: Method::Auto, blocks: None })
            .unwrap_err()
            .to_string()
    };
    let one = fabric.with_group(&[3]).unwrap();
    assert!(refuse(&one, 4096, 0, Collective::Allgather).contains("a group of 1"));
    assert!(refuse(&fabric, 28, 0, Collective::Allreduce).contains("fewer than ranks"));
    assert!(refuse(&fabric, 30, 0, Collective::Broadcast).contains("whole ones"));
    assert!(refuse(&fabric, 4096, 8, Collective::Reduce).contains("ranks are 0 to 7"));
    let mut apart = fabric.clone();
    apart.links.retain(|link| link.from != 7 && link.to != 7);
    for collective in Collective::ALL {
        let error = refuse(&apart, 4096, 0, collective);
        assert!(error.contains("'node 7'") && error.contains("not joined"), "{error}");
    }
    let slow = r#"{"nodes": 2, "links": [{"from": "node 0", "to": "node 1", "bandwidth": 0, "duplex": true}]}"#;
    let error = Fabric::from_json(slow, "slow.json").unwrap_err().to_string();
    assert!(error.starts_with("slow.json: link 0 ('node 0' to 'node 1'): expected a bandwidth above 0"), "{error}");
    let error = fabric.with_group(&[1, 1]).unwrap_err().to_string();
    assert!(error.contains("twice"), "{error}");
}
