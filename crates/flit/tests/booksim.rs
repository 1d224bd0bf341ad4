//! Networks of every kind beside BookSim2 (Jiang et al. 2013), whose figures stand here: means of three to five runs of
//! up to 66,000 cycles, of github.com/booksim/booksim2 at `credit_delay = 1`, `alloc_iters = 1`, no speculation, a cycle
//! each for routing, both allocations and traversal. Latencies are in cycles, accepted traffic in flits a node and cycle.
//!
//! Adaptive figures are of BookSim2 with one comparison corrected: `min_adapt_mesh` and `min_adapt_torus` add an output
//! for every axis to a set that orders by priority only, so that all but the first of a priority are lost and packets
//! adapt to nothing. Here outputs of one priority are told apart by their port.

use weft_base::Interrupt;
use weft_flit::{Algorithm, Measured, Options, Pattern, Plan, Simulation, Traffic, measure};
use weft_machine::Topology;

const LATENCY_WITHIN: f64 = 0.03;
const ACCEPTED_WITHIN: f64 = 0.02;

/// A network with its traffic: topology, pattern, routing, channels, flits of their buffers, flits of a packet, whether
/// the tail's credit is waited for.
type Network = (Topology, Pattern, Algorithm, usize, usize, u32, bool);

use Algorithm::{Deterministic, MinimalAdaptive, Random};
use Pattern::{BitComplement, HotSpot, Neighbour, Shuffle, Transpose, Uniform};

fn torus(extents: &[usize]) -> Topology {
    Topology::Torus { extents: extents.to_vec() }
}

fn mesh() -> Topology {
    Topology::Mesh { extents: vec![8, 8] }
}

/// `levels` levels of switches with four links down and four up, BookSim2's `fattree` with `k = 4`.
fn tree(levels: usize) -> Topology {
    let parents = (0..levels).map(|level| if level == 0 { 1 } else { 4 }).collect();
    Topology::FatTree { children: vec![4; levels], parents }
}

fn point(network: &Network, load: f64, cycles: u64) -> Measured {
    let (topology, pattern, algorithm, channels, buffer, packet, tail_credit) = network.clone();
    let options = Options { channels, buffer, tail_credit, credit_delay: 1, algorithm, packet, load, seed: 1 };
    let traffic = Traffic::new(pattern, &topology).unwrap();
    let mut simulation = Simulation::new(&topology, traffic, options).unwrap();
    measure(&mut simulation, Plan { warmup: 2000, cycles }, &Interrupt::NEVER).unwrap()
}

#[test]
fn latencies_are_those_of_booksim() {
    let networks: &[(Network, &[(f64, f64)])] = &[
        ((torus(&[5, 5]), Uniform, Deterministic, 2, 4, 8, false), &[(0.05, 29.27), (0.2, 36.12)]),
        ((torus(&[7, 7]), Uniform, Deterministic, 4, 8, 8, false), &[(0.2, 35.53), (0.4, 44.19)]),
        ((torus(&[4, 4, 4]), Uniform, Deterministic, 2, 4, 8, false), &[(0.05, 32.38), (0.2, 39.31)]),
        ((torus(&[4, 4, 4]), Uniform, Deterministic, 4, 8, 8, true), &[(0.4, 38.80)]),
        ((torus(&[8, 8]), Uniform, Deterministic, 2, 2, 16, false), &[(0.05, 88.46)]),
        ((torus(&[8, 8]), Uniform, Deterministic, 4, 2, 16, true), &[(0.02, 72.38), (0.1, 86.25)]),
        ((torus(&[8, 8]), Uniform, Deterministic, 2, 4, 1, false), &[(0.15, 29.67)]),
        ((torus(&[8, 8]), Uniform, Deterministic, 2, 1, 1, false), &[(0.02, 28.55)]),
        ((torus(&[8, 8]), Transpose, Deterministic, 4, 8, 8, false), &[(0.05, 34.99), (0.15, 39.68)]),
        ((torus(&[8, 8]), Neighbour, Deterministic, 4, 8, 8, false), &[(0.15, 24.62)]),
        ((mesh(), Uniform, Deterministic, 1, 4, 8, false), &[(0.02, 43.90)]),
        ((mesh(), Uniform, Deterministic, 1, 8, 4, false), &[(0.1, 39.51)]),
        ((mesh(), Neighbour, Deterministic, 2, 4, 8, true), &[(0.1, 34.49)]),
        ((mesh(), Uniform, MinimalAdaptive, 4, 8, 8, false), &[(0.05, 41.75), (0.2, 53.21)]),
        ((mesh(), Uniform, MinimalAdaptive, 2, 4, 8, false), &[(0.15, 54.31)]),
        ((mesh(), Transpose, MinimalAdaptive, 4, 8, 8, false), &[(0.1, 43.61), (0.15, 47.25)]),
        ((mesh(), BitComplement, MinimalAdaptive, 4, 8, 8, true), &[(0.05, 58.66), (0.1, 69.63)]),
        ((torus(&[8, 8]), Uniform, MinimalAdaptive, 3, 8, 8, false), &[(0.1, 36.40), (0.2, 39.70)]),
        ((tree(3), Uniform, Random, 4, 8, 8, false), &[(0.05, 31.97), (0.2, 36.35), (0.4, 48.12)]),
        ((tree(3), BitComplement, Random, 4, 8, 8, false), &[(0.2, 38.10)]),
        ((tree(2), Uniform, Random, 2, 4, 8, true), &[(0.2, 29.11)]),
        ((torus(&[8, 8]), Shuffle, Deterministic, 4, 8, 8, false), &[(0.1, 36.27)]),
        ((torus(&[8, 8]), HotSpot, Deterministic, 4, 8, 8, false), &[(0.05, 35.32)]),
    ];
    for (network, points) in networks {
        for &(load, expected) in *points {
            let latency = point(network, load, 40_000).latency;
            println!("{network:?} {load}: {latency:.2}, BookSim2 {expected}");
            assert!((latency / expected - 1.0).abs() < LATENCY_WITHIN, "{network:?} {load}: {latency} {expected}");
        }
    }
}

#[test]
fn saturation_is_that_of_booksim() {
    let networks: &[(Network, f64, f64)] = &[
        ((torus(&[5, 5]), Uniform, Deterministic, 2, 4, 8, false), 0.6, 0.3939),
        ((torus(&[7, 7]), Uniform, Deterministic, 4, 8, 8, false), 0.8, 0.5816),
        ((torus(&[4, 4, 4]), Uniform, Deterministic, 2, 4, 8, false), 0.6, 0.3980),
        ((torus(&[8, 8]), Uniform, Deterministic, 2, 2, 16, false), 0.5, 0.1236),
        ((torus(&[8, 8]), Uniform, Deterministic, 4, 2, 16, true), 0.5, 0.2418),
        ((torus(&[8, 8]), Uniform, Deterministic, 2, 4, 1, false), 0.6, 0.2012),
        ((mesh(), Uniform, Deterministic, 1, 4, 8, false), 0.5, 0.1307),
        ((mesh(), Uniform, Deterministic, 1, 8, 4, false), 0.5, 0.2243),
        ((torus(&[8, 8]), Transpose, Deterministic, 4, 8, 8, false), 0.9, 0.3507),
        ((mesh(), Neighbour, Deterministic, 2, 4, 8, true), 0.9, 0.6995),
        ((tree(3), Uniform, Random, 2, 4, 8, false), 0.9, 0.4361),
        ((torus(&[8, 8]), Shuffle, Deterministic, 4, 8, 8, false), 0.9, 0.3181),
    ];
    for (network, load, expected) in networks {
        let accepted = point(network, *load, 20_000).accepted;
        println!("{network:?} {load}: {accepted:.4}, BookSim2 {expected}");
        assert!((accepted / expected - 1.0).abs() < ACCEPTED_WITHIN, "{network:?} {load}: {accepted} {expected}");
    }
}
