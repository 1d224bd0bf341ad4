//! weft's side of the benchmark `collectives`: an allreduce by compiled trees, and by the algorithms of MPI libraries, on a
//! described machine in virtual time. `allreduce MACHINE EXTENTS BYTES` (extents as `4x4x4`, or `-` for the machine's own)
//! prints one line of JSON.

use std::sync::Arc;
use std::time::Instant;

use weft_base::Interrupt;
use weft_collectives::execute::Timed;
use weft_collectives::{Collective, DEFAULT_EFFORT, Fabric, Method, Request, verify};
use weft_comm::collective::{Algorithm, Choice, Element, Operator, allreduce, broadcast, reduce};
use weft_comm::{CommError, Communicator, Payload, Program, Reduction, Source, Tag, TagSelector};
use weft_machine::{Machine, Topology};

/// An allreduce of weft-comm.
#[derive(Clone)]
struct Baseline {
    bytes: usize,
    algorithm: Algorithm,
}

impl Program for Baseline {
    type Output = f64;

    async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
        let sum = Reduction { element: Element::Float32, operator: Operator::Sum };
        allreduce(&comm, Payload::Phantom(self.bytes), sum, Choice::Fixed(self.algorithm)).await?;
        Ok(comm.wtime())
    }
}

/// Of each step, the ranks that one exchanges with, and the bytes.
type Exchanges = Vec<Vec<(usize, usize)>>;

/// Steps of messages, of lengths only: in each the ranks that this one exchanges with, and the bytes to every one of them.
/// What is added is not charged, which favours it.
#[derive(Clone)]
struct Steps {
    of: Arc<dyn Fn(usize) -> Exchanges + Send + Sync>,
}

impl Program for Steps {
    type Output = f64;

    async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
        for (number, partners) in (self.of)(comm.rank()).into_iter().enumerate() {
            let tag = Tag::User(number as u32);
            let post = |&(peer, bytes): &(usize, usize)| {
                comm.irecv(Source::Rank(peer), TagSelector::Only(tag), Payload::Phantom(bytes))
            };
            let receives: Vec<C::Receive> = partners.iter().map(post).collect();
            let sends: Vec<C::Send> =
                partners.iter().map(|&(peer, bytes)| comm.isend(peer, tag, Payload::Phantom(bytes))).collect();
            for receive in receives {
                receive.await?;
            }
            for send in sends {
                send.await?;
            }
        }
        Ok(comm.wtime())
    }
}

/// Bytes of the largest share where whole numbers are divided: what is left over is somebody's.
fn share(bytes: usize, shares: usize) -> usize {
    (bytes / 4).div_ceil(shares) * 4
}

/// Reduce-scatter by halving the bytes in every step, and the same backwards.
fn there_and_back(partners: Vec<Vec<usize>>, bytes: usize, parts: usize) -> Exchanges {
    let step = |(step, partners): (usize, Vec<usize>)| {
        let each = share(bytes, parts << (step + 1));
        partners.into_iter().map(|peer| (peer, each)).collect::<Vec<_>>()
    };
    let there: Vec<_> = partners.into_iter().enumerate().map(step).collect();
    let back: Vec<_> = there.iter().rev().cloned().collect();
    [there, back].concat()
}

/// Whom a rank meets on a torus in the steps of Swing (De Sensi and others, NSDI 2024), the axes in turn from `first` on.
fn swing_partners(rank: usize, extents: &[usize], first: usize, is_mirrored: bool) -> Vec<usize> {
    let steps: u32 = extents.iter().map(|extent| extent.ilog2()).sum();
    let (mut taken, mut axis) = (vec![0u32; extents.len()], first);
    let mut partners = Vec::new();
    while partners.len() < steps as usize {
        if taken[axis] < extents[axis].ilog2() {
            let rho: i64 = (0..=taken[axis]).map(|power| (-2i64).pow(power)).sum();
            taken[axis] += 1;
            let stride: usize = extents[axis + 1..].iter().product();
            let own = rank / stride % extents[axis];
            let step = if own.is_multiple_of(2) != is_mirrored { rho } else { -rho };
            let other = (own as i64 + step).rem_euclid(extents[axis] as i64) as usize;
            partners.push(rank - own * stride + other * stride);
        }
        axis = (axis + 1) % extents.len();
    }
    partners
}

/// Swing: whole buffers, one part, and a part for each direction of each axis.
fn swings(extents: &[usize], bytes: usize) -> Vec<(&'static str, Steps)> {
    if !extents.iter().all(|extent| extent.is_power_of_two()) {
        return Vec::new();
    }
    let of = |parts: usize, is_whole: bool| {
        let extents = extents.to_vec();
        let steps = move |rank: usize| {
            let all: Vec<Vec<usize>> =
                (0..parts).map(|part| swing_partners(rank, &extents, part / 2, part % 2 == 1)).collect();
            let partners: Vec<Vec<usize>> =
                (0..all[0].len()).map(|step| all.iter().map(|of| of[step]).collect()).collect();
            if is_whole {
                return partners.into_iter().map(|partners| vec![(partners[0], bytes)]).collect();
            }
            there_and_back(partners, bytes, parts)
        };
        Steps { of: Arc::new(steps) }
    };
    let parts = 2 * extents.len();
    vec![("swing-latency", of(1, true)), ("swing", of(1, false)), ("swing-all-links", of(parts, false))]
}

/// Two levels: reduce-scatter among `group` ranks next to each other, all at once; recursive doubling of the shards among
/// the groups; allgather in the group.
fn two_level(ranks: usize, group: usize, bytes: usize) -> Steps {
    let own = share(bytes, group);
    let steps = move |rank: usize| {
        let first = rank - rank % group;
        let shift = |by: usize| first + (rank - first + by) % group;
        let inside: Vec<(usize, usize)> = (1..group).map(|by| (shift(by), own)).collect();
        let doublings = (0..(ranks / group).ilog2()).map(|bit| {
            let other = (rank / group) ^ (1 << bit);
            vec![(other * group + rank % group, own)]
        });
        std::iter::once(inside.clone()).chain(doublings).chain([inside.clone()]).collect()
    };
    Steps { of: Arc::new(steps) }
}

/// Whole buffers to one rank and back, along a binomial tree.
#[derive(Clone)]
struct Tree(usize);

impl Program for Tree {
    type Output = f64;

    async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
        let sum = Reduction { element: Element::Float32, operator: Operator::Sum };
        let binomial = Choice::Fixed(Algorithm::Binomial);
        reduce(&comm, 0, Payload::Phantom(self.0), sum, binomial).await?;
        broadcast(&comm, 0, Payload::Phantom(self.0), binomial).await?;
        Ok(comm.wtime())
    }
}

fn simulated<P: Program<Output = f64>>(machine: &Machine, program: &P) -> f64 {
    let placement = weft_sim::Placement::identity(machine.nodes());
    let outcome = weft_sim::run(machine, &placement, program, &weft_sim::Options::default()).expect("it runs");
    outcome.outputs.into_iter().fold(0.0, f64::max)
}

/// A compiled collective, timed once.
#[derive(Clone)]
struct Compiled(Timed);

impl Program for Compiled {
    type Output = f64;

    async fn run<C: Communicator>(self, comm: C) -> Result<f64, CommError> {
        Ok(self.0.run(comm).await?[0])
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, extents, bytes] = &words[..] else { panic!("expected MACHINE EXTENTS BYTES") };
    let mut machine = weft_machine::find(name).expect("a machine");
    if extents != "-" {
        let extents = extents.split('x').map(|extent| extent.parse().expect("a number")).collect();
        machine.topology = Topology::Torus { extents };
    }
    let bytes: u64 = bytes.parse().expect("a number");
    let fabric = Fabric::of_machine(&machine).expect("a network");
    let start = Instant::now();
    let method = Method::Auto;
    let request = Request { collective: Collective::Allreduce, bytes, element_bytes: 4, root: 0, method, blocks: None };
    let weft_launch::Compiled { schedule, considered, .. } =
        weft_launch::compile_collective(&machine, &fabric, &request, DEFAULT_EFFORT, &Interrupt::NEVER)
            .expect("a schedule");
    let compiling = start.elapsed().as_secs_f64();
    verify(&schedule).expect("a schedule that is right");
    let (predicted, bound, efficiency) = (schedule.seconds(), schedule.bound_seconds(), schedule.efficiency());
    let chunks = schedule.stages.first().map_or(1, |stage| stage.chunks);
    let (form, messages) = (schedule.form().to_owned(), schedule.messages());
    let considered: Vec<_> = considered.iter().map(|other| (&other.form, other.predicted, other.simulated)).collect();
    let compiled = simulated(&machine, &Compiled(Timed::new(Arc::new(schedule), true, 1).expect("a program")));
    let baseline = |algorithm| simulated(&machine, &Baseline { bytes: bytes as usize, algorithm });
    let nodes = machine.nodes();
    let length = bytes as usize;
    let group = match &machine.topology {
        Topology::FatTree { children, .. } => children[0],
        Topology::Torus { extents } => *extents.last().expect("an axis"),
        _ => 1,
    };
    let mut others = serde_json::Map::new();
    if let Topology::Torus { extents } = &machine.topology {
        swings(extents, length).into_iter().for_each(|(name, steps)| {
            others.insert(name.to_owned(), simulated(&machine, &steps).into());
        });
    }
    if group > 1 && nodes.is_multiple_of(group) && (nodes / group).is_power_of_two() {
        others.insert("two-level".to_owned(), simulated(&machine, &two_level(nodes, group, length)).into());
    }
    others.insert("tree".to_owned(), simulated(&machine, &Tree(length)).into());
    let line = serde_json::json!({
        "others": others,
        "ranks": machine.nodes(), "compiling": compiling, "predicted": predicted, "bound": bound, "efficiency": efficiency,
        "form": form, "messages": messages, "considered": considered, "chunks": chunks, "weft": compiled, "ring": baseline(Algorithm::Ring),
        "recursive-doubling": baseline(Algorithm::RecursiveDoubling), "rabenseifner": baseline(Algorithm::Rabenseifner),
    });
    println!("{line}");
}
