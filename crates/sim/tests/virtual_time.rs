//! What the clock shows: costs of single messages, contention, matching, failures.

mod common;

use common::machine;
use weft_base::Picos;
use weft_comm::{CommError, Communicator, Payload, Program, RunError, Source, Tag, TagSelector, Work};
use weft_machine::{Completion, Switching, Topology};
use weft_sim::{Options, Outcome, Placement, SimComm, run, run_with};

const TAG: Tag = Tag::User(1);
const ANY: TagSelector = TagSelector::AnyUser;

/// A program given as a function pointer per test: programs are generic over communicators, so each is a type.
macro_rules! program {
    ($name:ident($comm:ident) -> $output:ty $body:block) => {
        #[derive(Clone)]
        struct $name;
        impl Program for $name {
            type Output = $output;
            async fn run<C: Communicator>(self, $comm: C) -> Result<$output, CommError> $body
        }
    };
}

fn ring_of(nodes: usize) -> Topology {
    Topology::Torus { extents: vec![nodes] }
}

fn simulate<P: Program>(
    machine: &weft_machine::Machine,
    ranks: usize,
    program: P,
) -> Result<Outcome<P::Output>, RunError> {
    run(machine, &Placement::identity(ranks), &program, &Options { trace: true, traffic: true, ..Options::default() })
}

/// Microseconds, rounded to a nanosecond.
fn micros(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e3
}

program!(OneMessage(comm) -> f64 {
    let last = comm.size() - 1;
    if comm.rank() == 0 {
        comm.send(last, TAG, Payload::Phantom(100)).await?;
    } else if comm.rank() == last {
        comm.recv(Source::Rank(0), ANY, Payload::Phantom(100)).await?;
    }
    Ok(comm.wtime())
});

#[test]
fn a_message_costs_overheads_hops_and_bytes() {
    // 10 + 2 hops of 1 + 100 B of 0.1 + 10, on a ring of 5 where rank 4 is one hop away; of 4 nodes used, rank 3 is 2 away.
    for switching in [Switching::Circuit, Switching::Wormhole, Switching::CutThrough] {
        let outcome = simulate(&machine(ring_of(5), switching), 4, OneMessage).unwrap();
        assert_eq!(micros(outcome.outputs[3]), 10.0 + 2.0 + 10.0 + 10.0, "{switching:?}");
        assert_eq!(micros(outcome.outputs[0]), 10.0, "{switching:?}: the sender only pays its overhead");
    }
    let outcome = simulate(&machine(ring_of(5), Switching::StoreAndForward), 4, OneMessage).unwrap();
    assert_eq!(micros(outcome.outputs[3]), 10.0 + 2.0 * (1.0 + 10.0) + 10.0);
}

/// An Ethernet switch receives a whole frame before it sends it on: every link of a route costs what the first does.
#[test]
fn switches_store_messages_too() {
    let leaves = Topology::FatTree { children: vec![2, 2], parents: vec![1, 2] };
    let groups =
        Topology::Dragonfly { groups: 2, routers_per_group: 1, nodes_per_router: 2, global_links_per_router: 1 };
    for (topology, hops) in [(Topology::Crossbar { nodes: 4 }, 2.0), (leaves, 4.0), (groups, 3.0)] {
        let kind = topology.kind();
        let outcome = simulate(&machine(topology, Switching::StoreAndForward), 4, OneMessage).unwrap();
        assert_eq!(micros(outcome.outputs[3]), 10.0 + hops * (1.0 + 10.0) + 10.0, "{kind}");
    }
}

program!(Crossing(comm) -> f64 {
    // Ranks 0 and 1 send to rank 2 and 3 over the link from node 1 to node 2.
    match comm.rank() {
        0 | 1 => { comm.send(comm.rank() + 2, TAG, Payload::Phantom(1000)).await?; }
        me => { comm.recv(Source::Rank(me - 2), ANY, Payload::Phantom(1000)).await?; }
    }
    Ok(comm.wtime())
});

#[test]
fn two_messages_share_a_link_one_after_the_other() {
    let mesh = Topology::Mesh { extents: vec![4] };
    let outcome = simulate(&machine(mesh, Switching::CutThrough), 4, Crossing).unwrap();
    let arrivals: Vec<f64> = outcome.outputs.iter().map(|&time| micros(time)).collect();
    // Both enter at 10, rank 0 first; its header is at the link at 11, and rank 1's message waits until 111.
    assert_eq!(arrivals[2], 10.0 + 2.0 + 100.0 + 10.0);
    assert_eq!(arrivals[3], 111.0 + 2.0 + 100.0 + 10.0);
    let traffic = outcome.traffic.unwrap();
    assert_eq!(traffic.iter().map(|link| link.messages).sum::<u64>(), 4);
    assert_eq!(traffic.iter().map(|link| link.messages).max(), Some(2));
}

program!(FanIn(comm) -> f64 {
    if comm.rank() == 0 {
        for from in 1..comm.size() {
            comm.recv(Source::Rank(from), ANY, Payload::Phantom(1000)).await?;
        }
    } else {
        comm.send(0, TAG, Payload::Phantom(1000)).await?;
    }
    Ok(comm.wtime())
});

#[test]
fn one_memory_channel_takes_one_message_at_a_time() {
    let cube = Topology::Hypercube { dimension: 2 };
    let mut one = machine(cube.clone(), Switching::Circuit);
    one.node.memory_channels = Some(1);
    let serial = simulate(&one, 3, FanIn).unwrap().makespan;
    one.node.memory_channels = None;
    let parallel = simulate(&one, 3, FanIn).unwrap().makespan;
    assert_eq!(micros(parallel), 10.0 + 1.0 + 100.0 + 20.0);
    assert_eq!(micros(serial), 10.0 + 1.0 + 200.0 + 10.0);
}

program!(HeadToHead(comm) -> () {
    let other = 1 - comm.rank();
    comm.send(other, TAG, Payload::Phantom(64)).await?;
    comm.recv(Source::Rank(other), ANY, Payload::Phantom(64)).await?;
    Ok(())
});

#[test]
fn blocking_sends_head_to_head_deadlock_only_in_a_rendezvous() {
    let mut machine = machine(ring_of(2), Switching::CutThrough);
    simulate(&machine, 2, HeadToHead).unwrap();
    machine.protocols[0].completion = Completion::Rendezvous;
    let error = simulate(&machine, 2, HeadToHead).unwrap_err();
    assert_eq!(
        error.to_string(),
        "deadlock: 2 of 2 ranks cannot go on\n  rank 0: send of 64 bytes to rank 1, tag 1\n  rank 1: send of 64 bytes to rank 0, tag 1"
    );
}

#[test]
fn a_rendezvous_waits_for_its_receive() {
    let mut machine = machine(ring_of(2), Switching::CutThrough);
    machine.protocols[0].completion = Completion::Rendezvous;
    let outcome = simulate(&machine, 2, OneMessage).unwrap();
    // Request over one hop, clearance back, then the message.
    assert_eq!(micros(outcome.outputs[1]), 10.0 + 1.0 + 1.0 + (1.0 + 10.0) + 10.0);
    assert_eq!(micros(outcome.outputs[0]), 10.0 + 1.0 + 1.0 + 10.0, "the send is complete when the last byte has left");
}

program!(Wildcards(comm) -> Vec<usize> {
    let mut order = Vec::new();
    if comm.rank() == 0 {
        for _ in 1..comm.size() {
            order.push(comm.recv(Source::Any, ANY, Payload::Phantom(8)).await?.status.source);
        }
    } else {
        comm.compute(Work::Seconds((comm.size() - comm.rank()) as f64 * 1e-3)).await;
        comm.send(0, TAG, Payload::Phantom(8)).await?;
    }
    Ok(order)
});

#[test]
fn a_wildcard_receives_in_order_of_arrival() {
    let outcome = simulate(&machine(ring_of(6), Switching::CutThrough), 6, Wildcards).unwrap();
    assert_eq!(outcome.outputs[0], [5, 4, 3, 2, 1]);
}

program!(WildcardThenSpecific(comm) -> (usize, usize) {
    // Rank 2 is nearer to rank 0 and sends first, but the wildcard was posted first and takes whoever arrives first.
    match comm.rank() {
        0 => {
            let any = comm.irecv(Source::Any, ANY, Payload::Phantom(8));
            let second = comm.irecv(Source::Rank(2), ANY, Payload::Phantom(8));
            let first = any.await?.status.source;
            if first == 2 {
                drop(second);
                let other = comm.recv(Source::Rank(1), ANY, Payload::Phantom(8)).await?;
                return Ok((first, other.status.source));
            }
            Ok((first, second.await?.status.source))
        }
        1 => { comm.compute(Work::Seconds(1e-3)).await; comm.send(0, TAG, Payload::Phantom(8)).await?; Ok((0, 0)) }
        _ => { comm.send(0, TAG, Payload::Phantom(8)).await?; Ok((0, 0)) }
    }
});

#[test]
fn a_wildcard_posted_first_is_served_first() {
    let outcome = simulate(&machine(ring_of(3), Switching::CutThrough), 3, WildcardThenSpecific).unwrap();
    assert_eq!(outcome.outputs[0], (2, 1));
}

program!(Probing(comm) -> (bool, bool, usize, f64) {
    if comm.rank() == 0 {
        comm.compute(Work::Seconds(50e-6)).await;
        comm.send(1, Tag::User(7), Payload::of(&[1.0f64, 2.0])).await?;
        return Ok((false, false, 0, 0.0));
    }
    let early = comm.iprobe(Source::Any, ANY).await?.is_some();
    let status = comm.probe(Source::Any, ANY).await?;
    let at = comm.wtime();
    let late = comm.iprobe(Source::Rank(0), Tag::User(7).into()).await?.is_some();
    let received = comm.recv(Source::Rank(status.source), status.tag.into(), Payload::Phantom(status.bytes)).await?;
    assert_eq!(received.payload.values::<f64>(), Some(&[1.0, 2.0][..]));
    Ok((early, late, status.bytes, at))
});

#[test]
fn a_probe_sees_a_message_when_it_has_arrived() {
    let outcome = simulate(&machine(ring_of(2), Switching::CutThrough), 2, Probing).unwrap();
    let (early, late, bytes, at) = outcome.outputs[1];
    assert!(!early && late);
    assert_eq!((bytes, micros(at)), (16, 50.0 + 10.0 + 1.0 + 1.6));
}

program!(Truncated(comm) -> () {
    if comm.rank() == 0 {
        comm.send(1, TAG, Payload::Phantom(9)).await?;
    } else {
        comm.recv(Source::Rank(0), ANY, Payload::Phantom(8)).await?;
    }
    Ok(())
});

#[test]
fn a_message_longer_than_its_receive_is_an_error() {
    let error = simulate(&machine(ring_of(2), Switching::CutThrough), 2, Truncated).unwrap_err();
    assert_eq!(
        error.to_string(),
        "truncation: rank 1 posted a receive of 8 bytes for tag 1 from rank 0, which sent 9 bytes"
    );
}

program!(Panicking(comm) -> () {
    assert!(comm.rank() != 1, "rank one gives up");
    comm.recv(Source::Rank(1), ANY, Payload::Phantom(8)).await?;
    Ok(())
});

#[test]
fn a_panic_names_its_rank() {
    let error = simulate(&machine(ring_of(2), Switching::CutThrough), 2, Panicking).unwrap_err();
    assert_eq!(error.to_string(), "rank 1 panicked: rank one gives up");
}

program!(Wrong(comm) -> () {
    comm.send(5, TAG, Payload::EMPTY).await?;
    Ok(())
});

#[test]
fn a_rank_that_does_not_exist_is_named() {
    let machine = machine(ring_of(3), Switching::CutThrough);
    let error = simulate(&machine, 3, Wrong).unwrap_err();
    assert_eq!(error.to_string(), "rank 0 names rank 5, but the communicator has ranks 0 to 2");
    let error = simulate(&machine, 4, Wrong).unwrap_err();
    assert_eq!(error.to_string(), "4 ranks do not fit on test: it has 3 nodes");
}

program!(Echo(comm) -> f64 {
    // The two ends of a two-hop route echo 20 times while the node between them computes for a millisecond.
    match comm.rank() {
        0 => for _ in 0..20 {
            comm.send(3, TAG, Payload::Phantom(8)).await?;
            comm.recv(Source::Rank(3), ANY, Payload::Phantom(8)).await?;
        },
        3 => for _ in 0..20 {
            comm.recv(Source::Rank(0), ANY, Payload::Phantom(8)).await?;
            comm.send(0, TAG, Payload::Phantom(8)).await?;
        },
        _ => comm.compute(Work::Spin(1e-3)).await,
    }
    Ok(comm.wtime())
});

#[test]
fn routing_takes_processor_time_where_the_processor_routes() {
    let mut machine = machine(Topology::Hypercube { dimension: 2 }, Switching::StoreAndForward);
    machine.node.forward_overhead = 5e-6;
    let outcome = simulate(&machine, 4, Echo).unwrap();
    // One way is 20 + 2 (1 + 0.8) = 23.6 us; out by node 1 and back by node 2, so each passes 20 messages in 0.94 ms.
    assert_eq!(micros(outcome.outputs[1]), 1000.0 + 20.0 * 5.0);
    machine.switching = Switching::CutThrough;
    let outcome = simulate(&machine, 4, Echo).unwrap();
    assert_eq!(micros(outcome.outputs[1]), 1000.0);
}

program!(Hosted(comm) -> f64 {
    let host = comm.host().expect("a host");
    if comm.rank() == 0 {
        comm.send(host, TAG, Payload::Phantom(100)).await?;
    } else if comm.rank() == host {
        comm.recv(Source::Rank(0), ANY, Payload::Phantom(100)).await?;
    }
    Ok(comm.wtime())
});

#[test]
fn the_host_is_reached_over_its_link() {
    let machine = machine(ring_of(2), Switching::CutThrough);
    let outcome = run(&machine, &Placement::identity(2).with_host(), &Hosted, &Options::default()).unwrap();
    assert_eq!(micros(outcome.outputs[2]), 100.0 + 100.0);
}

program!(Splitting(comm) -> (usize, usize, f64) {
    let color = (comm.rank() % 2) as u32;
    let half = comm.split(Some(color), -(comm.rank() as i64)).await?.expect("a color was given");
    let next = (half.rank() + 1) % half.size();
    let before = (half.rank() + half.size() - 1) % half.size();
    let send = half.isend(next, TAG, Payload::of(&[comm.rank() as f64]));
    let received = half.recv(Source::Rank(before), ANY, Payload::of(&[0.0f64])).await?;
    send.await?;
    Ok((half.rank(), half.size(), received.payload.values::<f64>().expect("data")[0]))
});

#[test]
fn split_makes_communicators_that_do_not_mix() {
    let outcome = simulate(&machine(ring_of(6), Switching::CutThrough), 6, Splitting).unwrap();
    // Even ranks 4, 2, 0 and odd ranks 5, 3, 1 in the order of their keys; each hears from the one before it.
    assert_eq!(outcome.outputs, [(2, 3, 2.0), (2, 3, 3.0), (1, 3, 4.0), (1, 3, 5.0), (0, 3, 0.0), (0, 3, 1.0)]);
}

program!(RunsAhead(comm) -> usize {
    if comm.rank() == 0 {
        for _ in 0..10_000 {
            comm.send(1, TAG, Payload::Phantom(8)).await?;
        }
        return Ok(0);
    }
    let mut received = 0;
    for _ in 0..10_000 {
        received += comm.recv(Source::Rank(0), ANY, Payload::Phantom(8)).await?.status.bytes;
    }
    Ok(received)
});

#[test]
fn two_runs_give_the_same_trace() {
    let machine = machine(ring_of(6), Switching::Wormhole);
    let first = simulate(&machine, 6, Wildcards).unwrap();
    let second = simulate(&machine, 6, Wildcards).unwrap();
    assert!(!first.trace.as_ref().unwrap().events.is_empty());
    assert_eq!(first.trace, second.trace);
    assert_eq!(first.finished, second.finished);
}

#[test]
fn a_sender_may_run_ahead_but_not_without_end() {
    let outcome = simulate(&machine(ring_of(2), Switching::CutThrough), 2, RunsAhead).unwrap();
    assert_eq!((outcome.outputs[1], outcome.messages), (80_000, 10_000));
}

#[test]
fn a_trace_is_written_for_trace_viewers() {
    let outcome = simulate(&machine(ring_of(5), Switching::CutThrough), 4, OneMessage).unwrap();
    let mut text = Vec::new();
    let recorded = outcome.trace.unwrap();
    recorded.write_chrome("one \"message\"", &mut text).unwrap();
    assert_eq!(recorded.chrome_bytes("one \"message\""), text.len() as u64);
    let trace: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let names: Vec<&str> = trace["traceEvents"].as_array().unwrap().iter().filter_map(|e| e["ph"].as_str()).collect();
    assert_eq!(names, ["M", "M", "M", "X", "s", "f", "X", "X"]);
    let rows: Vec<_> = trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["name"] == "thread_name").collect();
    let rows: Vec<_> = rows.iter().map(|e| (e["tid"].as_u64().unwrap(), e["args"]["name"].as_str().unwrap())).collect();
    let spans = trace["traceEvents"].as_array().unwrap().iter().filter_map(|e| e["tid"].as_u64());
    let ranks: std::collections::BTreeSet<u64> = spans.collect();
    assert_eq!(
        rows,
        ranks.iter().map(|&rank| (rank, ["rank 0", "rank 1", "rank 2", "rank 3"][rank as usize])).collect::<Vec<_>>()
    );
}

program!(UntilQuiet(comm) -> f64 {
    if comm.rank() == 0 {
        // Rank 1's message comes first; then rank 1 waits for one that only quiet brings about; then nothing is left.
        let first = comm.probe_until_quiet(Source::Any, ANY).await?;
        assert_eq!(first.map(|status| status.source), Some(1));
        comm.recv(Source::Any, ANY, Payload::Phantom(100)).await?;
        assert_eq!(comm.probe_until_quiet(Source::Any, ANY).await?, None);
        comm.send(1, TAG, Payload::Phantom(0)).await?;
        assert_eq!(comm.probe_until_quiet(Source::Any, ANY).await?, None);
    } else {
        comm.compute(Work::Seconds(50e-6)).await;
        comm.send(0, TAG, Payload::Phantom(100)).await?;
        comm.recv(Source::Rank(0), ANY, Payload::Phantom(0)).await?;
    }
    Ok(comm.wtime())
});

#[test]
fn all_ranks_that_wait_for_quiet_are_told_once_before_one_is_told_again() {
    let order = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let start = |comm: SimComm| {
        let order = order.clone();
        async move {
            for _ in 0..3 {
                comm.quiet().await;
                order.borrow_mut().push(comm.rank());
            }
            Ok(())
        }
    };
    run_with(&machine(ring_of(3), Switching::Wormhole), &Placement::identity(3), start, &Options::default()).unwrap();
    assert_eq!(*order.borrow(), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn a_long_look_ends_when_something_comes_and_at_its_least_where_nothing_can() {
    let micros = |time: f64| Picos::from_seconds(time * 1e-6);
    let start = |comm: SimComm| async move {
        if comm.rank() == 1 {
            comm.compute(Work::Seconds(500e-6)).await;
            comm.send(0, TAG, Payload::Phantom(0)).await?;
            return Ok(vec![]);
        }
        let mut times = Vec::new();
        // Until its end; until the message comes; nothing is left that could.
        for (least, until) in [(5.0, 100.0), (110.0, 9e6), (600.0, 9e6)] {
            comm.look_on(micros(least), micros(until)).await;
            times.push((comm.wtime() * 1e6).round());
        }
        comm.recv(Source::Rank(1), TAG.into(), Payload::Phantom(0)).await?;
        Ok(times)
    };
    let machine = machine(ring_of(2), Switching::Wormhole);
    let outcome = run_with(&machine, &Placement::identity(2), start, &Options::default()).unwrap();
    // 500, 10 to send, 1 on the link.
    assert_eq!(outcome.outputs[0], [100.0, 511.0, 600.0]);
}

#[test]
fn a_rank_is_told_when_nothing_can_happen_any_more() {
    let outcome = simulate(&machine(ring_of(2), Switching::Wormhole), 2, UntilQuiet).unwrap();
    // 50, 10 to send, 1 and 10 on the link, 10 to receive; at 81 it is quiet; 10 to send, 1 on the link, 10 to receive.
    // The last event is that this message enters the network, at 91: nothing that others wait for comes after it.
    assert_eq!(outcome.outputs.iter().map(|&time| micros(time)).collect::<Vec<_>>(), [91.0, 102.0]);
}

#[test]
fn a_rank_that_asks_for_a_wake_whenever_it_is_woken_has_one() {
    let polls = std::cell::Cell::new(0);
    let start = |comm: SimComm| {
        let polls = &polls;
        async move {
            for _ in 0..10 {
                let end = comm.clock() + weft_base::Picos(1_000_000);
                std::future::poll_fn(|_| {
                    polls.set(polls.get() + 1);
                    if comm.run_time() >= end {
                        return std::task::Poll::Ready(());
                    }
                    comm.wake_at(end);
                    comm.wake_at(end);
                    std::task::Poll::Pending
                })
                .await;
                comm.advance_to(end);
            }
            Ok::<(), CommError>(())
        }
    };
    run_with(&machine(ring_of(2), Switching::CutThrough), &Placement::identity(1), start, &Options::default()).unwrap();
    // Each wait is polled when it begins and when it ends.
    assert_eq!(polls.get(), 20);
}
