//! weft's side of the benchmark `groups`: collectives compiled for a whole machine and for groups of its nodes, and the
//! algorithms of MPI libraries among the same nodes, in virtual time. `groups MACHINE TOPOLOGY GROUP LENGTHS` prints a line
//! of JSON for each collective and length. TOPOLOGY is `-` for the machine's own, or a kind with numbers, `torus:8x8`,
//! `mesh:8x8`, `hypercube:6`, `dragonfly:9x4x2x2`, `fat-tree:8x8/1x4`; GROUP is `all`, or how many nodes are drawn.

use std::sync::Arc;
use std::time::Instant;

use rand::seq::index::sample;
use rand::{SeedableRng, rngs::StdRng};
use weft_base::Interrupt;
use weft_collectives::{Collective, DEFAULT_EFFORT, Fabric, Method, Request};
use weft_comm::collective::{Algorithm, Choice, Element, Operator};
use weft_comm::collective::{allgather, allreduce, alltoall, broadcast, reduce, reduce_scatter};
use weft_comm::{CommError, Communicator, Payload, Program, Reduction};
use weft_machine::{Machine, Topology};
use weft_sim::Placement;

/// A collective of weft-comm, from rank 0 where there is a root.
#[derive(Clone)]
struct Baseline {
    collective: Collective,
    bytes: usize,
    algorithm: Algorithm,
}

impl Program for Baseline {
    type Output = f64;

    async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
        let sum = Reduction { element: Element::Float32, operator: Operator::Sum };
        let (all, choice) = (Payload::Phantom(self.bytes), Choice::Fixed(self.algorithm));
        let shard = self.bytes / comm.size();
        match self.collective {
            Collective::Broadcast => drop(broadcast(&comm, 0, all, choice).await?),
            Collective::Reduce => drop(reduce(&comm, 0, all, sum, choice).await?),
            Collective::Allgather => drop(allgather(&comm, &Payload::Phantom(shard), None, choice).await?),
            Collective::Allreduce => drop(allreduce(&comm, all, sum, choice).await?),
            Collective::ReduceScatter => {
                drop(reduce_scatter(&comm, &Payload::Phantom(shard * comm.size()), None, sum, choice).await?);
            }
            Collective::AllToAll => {
                drop(alltoall(&comm, &Payload::Phantom(shard * comm.size()), None, choice).await?);
            }
        }
        Ok(comm.wtime())
    }
}

fn algorithms(collective: Collective) -> &'static [Algorithm] {
    match collective {
        Collective::Broadcast => &[Algorithm::Binomial, Algorithm::ScatterAllgather, Algorithm::Chain],
        Collective::Reduce => &[Algorithm::Binomial, Algorithm::Rabenseifner],
        Collective::Allgather => &[Algorithm::Bruck, Algorithm::RecursiveDoubling, Algorithm::Ring],
        Collective::ReduceScatter => &[Algorithm::Pairwise, Algorithm::Ring],
        Collective::AllToAll => &[Algorithm::Bruck, Algorithm::Pairwise, Algorithm::Spread],
        Collective::Allreduce => &[Algorithm::RecursiveDoubling, Algorithm::Rabenseifner, Algorithm::Ring],
    }
}

fn numbers(text: &str) -> Vec<usize> {
    text.split('x').map(|number| number.parse().expect("a number")).collect()
}

fn topology(text: &str) -> Topology {
    let (kind, rest) = text.split_once(':').expect("KIND:NUMBERS");
    match kind {
        "torus" => Topology::Torus { extents: numbers(rest) },
        "mesh" => Topology::Mesh { extents: numbers(rest) },
        "hypercube" => Topology::Hypercube { dimension: rest.parse().expect("a dimension") },
        "fat-tree" => {
            let (children, parents) = rest.split_once('/').expect("CHILDREN/PARENTS");
            Topology::FatTree { children: numbers(children), parents: numbers(parents) }
        }
        "dragonfly" => {
            let [groups, routers_per_group, nodes_per_router, global_links_per_router] = numbers(rest)[..] else {
                panic!("expected four numbers")
            };
            Topology::Dragonfly { groups, routers_per_group, nodes_per_router, global_links_per_router }
        }
        other => panic!("no topology is called {other}"),
    }
}

fn simulated(machine: &Machine, nodes: &[usize], program: &Baseline) -> Option<f64> {
    let outcome = weft_sim::run(machine, &Placement::listed(nodes), program, &weft_sim::Options::default());
    outcome.ok().map(|outcome| outcome.outputs.into_iter().fold(0.0, f64::max))
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, of, group, lengths] = &words[..] else { panic!("expected MACHINE TOPOLOGY GROUP LENGTHS") };
    let mut machine = weft_machine::find(name).expect("a machine");
    if of != "-" {
        machine.topology = topology(of);
    }
    let nodes: Vec<usize> = match group.as_str() {
        "all" => (0..machine.nodes()).collect(),
        count => {
            let count = count.parse().expect("how many nodes");
            sample(&mut StdRng::seed_from_u64(7), machine.nodes(), count).into_vec()
        }
    };
    let fabric = Fabric::of_machine(&machine).and_then(|fabric| fabric.with_group(&nodes)).expect("a network");
    for collective in Collective::ALL {
        for length in lengths.split(',').map(|length| length.parse::<u64>().expect("a length")) {
            // Shards of the algorithms of libraries are of one length; weft's may be of two.
            let bytes = length / 4 / nodes.len() as u64 * nodes.len() as u64 * 4;
            let request = Request { collective, bytes, element_bytes: 4, root: 0, method: Method::Auto, blocks: None };
            let start = Instant::now();
            let compiled =
                weft_launch::compile_collective(&machine, &fabric, &request, DEFAULT_EFFORT, &Interrupt::NEVER);
            let compiling = start.elapsed().as_secs_f64();
            let weft_launch::Compiled { schedule, predicted, considered } = compiled.expect("a schedule");
            let form = schedule.form().to_owned();
            let bound = schedule.bound_seconds();
            let considered: Vec<_> =
                considered.iter().map(|other| (&other.form, other.predicted, other.simulated)).collect();
            let seconds = weft_launch::simulate_collective(&machine, &Arc::new(schedule), true, &Interrupt::NEVER)
                .expect("a run");
            let baselines: serde_json::Map<String, serde_json::Value> = algorithms(collective)
                .iter()
                .filter_map(|&algorithm| {
                    let baseline = Baseline { collective, bytes: bytes as usize, algorithm };
                    Some((algorithm.name().to_owned(), simulated(&machine, &nodes, &baseline)?.into()))
                })
                .collect();
            let line = serde_json::json!({
                "collective": collective.name(), "bytes": length, "ranks": nodes.len(), "form": form, "weft": seconds,
                "predicted": predicted, "bound": bound, "compiling": compiling, "considered": considered,
                "baselines": baselines,
            });
            println!("{line}");
        }
    }
}
