//! Patterns: what is refused and why, and what the named ones are.

mod common;

use common::{iwarp, pattern};
use proptest::prelude::*;
use weft_conset::{Connection, ConnectionSet, NAMED, Order, named};
use weft_machine::Topology;

fn connection(source: u32, destination: u32, words: u64) -> Connection {
    Connection { source, destination, words }
}

#[test]
fn bad_sets_are_refused_with_the_reason() {
    let message = |list: Vec<Connection>| ConnectionSet::new("bad", 4, list).unwrap_err().to_string();
    assert_eq!(
        message(vec![connection(0, 1, 1), connection(2, 2, 1)]),
        "connection 1 goes from node 2 to itself; data that stays on a node needs no connection"
    );
    assert_eq!(message(vec![connection(0, 7, 1)]), "connection 0 (0 to 7) names node 7, but there are nodes 0 to 3");
    assert_eq!(message(vec![connection(0, 1, 0)]), "connection 0 (0 to 1) has no words; it must have at least one");
    assert!(message(vec![connection(0, 1, u64::MAX), connection(0, 1, u64::MAX)]).contains("words in all"));
}

#[test]
fn cyclic_orders_are_refused_and_the_cycle_is_named() {
    let list = (0..4).map(|i| connection(i, (i + 1) % 4, 1)).collect();
    let set = ConnectionSet::new("ring", 4, list).unwrap();
    let orders = [(0, 1), (1, 2), (2, 3), (3, 1)].map(|(before, after)| Order { before, after });
    let message = set.clone().with_orders(orders.to_vec()).unwrap_err().to_string();
    assert!(message.starts_with("the orders form a cycle, so none of these connections could start: "), "{message}");
    for part in ["1 before 2", "2 before 3"] {
        assert!(message.contains(part) || message.contains("3 before 1"), "{message}");
    }
    let missing = set.with_orders(vec![Order { before: 0, after: 9 }]).unwrap_err().to_string();
    assert_eq!(missing, "an order names connection 9, but there are connections 0 to 3");
}

#[test]
fn named_patterns_are_what_they_say() {
    let resources = iwarp(&[8, 8], 12);
    let degree = |name: &str| {
        let set = pattern(name, &resources, 1);
        let mut out = vec![0; 64];
        set.connections.iter().for_each(|c| out[c.source as usize] += 1);
        (*out.iter().min().unwrap(), *out.iter().max().unwrap())
    };
    assert_eq!(degree("torus"), (4, 4));
    assert_eq!(degree("hypercube"), (6, 6));
    assert_eq!(degree("butterfly"), (6, 6));
    assert_eq!(degree("all-to-all"), (63, 63));
    assert_eq!(degree("stencil27"), (8, 8));
    assert_eq!(degree("random:5"), (5, 5));
    assert_eq!(degree("shift:3"), (1, 1));
    assert_eq!(degree("transpose"), (0, 1));
    assert_eq!(degree("bit-reversal"), (0, 1));
}

#[test]
fn the_gray_mapping_makes_half_of_the_hypercube_torus_links() {
    // On a ring of 8, flipping bits of the Gray code moves 1, 1 or 3, and 1 or 3 steps: 5 in all for each node.
    let resources = iwarp(&[8, 8], 12);
    let set = pattern("hypercube", &resources, 1);
    let Topology::Torus { extents } = &resources.topology else { unreachable!() };
    let ring = |a: usize, b: usize| a.abs_diff(b).min(extents[0] - a.abs_diff(b));
    let steps: usize = set
        .connections
        .iter()
        .map(|c| {
            let (a, b) = (c.source as usize, c.destination as usize);
            ring(a / 8, b / 8) + ring(a % 8, b % 8)
        })
        .sum();
    assert_eq!(steps, 64 * 10);
}

#[test]
fn names_that_do_not_fit_are_refused() {
    let torus = Topology::Torus { extents: vec![3, 5] };
    let message = |name: &str| named(name, &torus, 1, 0).unwrap_err().to_string();
    assert_eq!(message("hypercube"), "hypercube needs a power of two of nodes, there are 15");
    assert_eq!(message("transpose"), "transpose needs a square number of nodes, there are 15");
    assert_eq!(message("shift:15"), "shift:15 moves nothing between 15 nodes");
    assert_eq!(message("shift:x"), "shift:x: expected a whole number after the colon");
    assert_eq!(message("torus:3"), "torus has no parameter, found torus:3");
    assert_eq!(message("random:15"), "random:15: between 15 nodes a degree is 1 to 14");
    assert!(message("taurus").starts_with("no pattern is called taurus; there are torus, hypercube"));
    let switch = Topology::Crossbar { nodes: 4 };
    let message = named("stencil27", &switch, 1, 0).unwrap_err().to_string();
    assert_eq!(message, "stencil27 needs a topology with axes or links between nodes, not a crossbar");
}

proptest! {
    #[test]
    fn every_name_gives_a_set_or_a_reason(
        index in 0usize..NAMED.len(),
        extents in prop::collection::vec(1usize..6, 1..4),
        wraps in any::<bool>(),
        words in 1u64..100,
        seed in 0u64..5,
    ) {
        let topology = if wraps { Topology::Torus { extents } } else { Topology::Mesh { extents } };
        if let Ok(set) = named(NAMED[index].name, &topology, words, seed) {
            prop_assert!(set.check().is_ok());
            prop_assert_eq!(set.nodes as usize, topology.nodes());
            prop_assert!(set.connections.iter().all(|c| c.words == words));
            let mut pairs: Vec<_> = set.connections.iter().map(|c| (c.source, c.destination)).collect();
            pairs.sort_unstable();
            pairs.dedup();
            prop_assert_eq!(pairs.len(), set.connections.len());
        }
    }
}
