//! Patterns that have a name.

use rand_xoshiro::rand_core::Rng;
use weft_base::{generator, memory};
use weft_machine::Topology;
use weft_machine::topology::gray;

use crate::pattern::{Connection, ConnectionSet, Order, PatternError};

/// A named pattern and what it is, for people.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    pub name: &'static str,
    pub summary: &'static str,
}

/// All named patterns.
pub const NAMED: [Named; 9] = [
    Named { name: "torus", summary: "every node to its neighbours along every axis, around the ends where links are" },
    Named {
        name: "hypercube",
        summary: "nodes whose numbers differ in one bit, numbered along each axis by the Gray code",
    },
    Named { name: "all-to-all", summary: "every node to every other" },
    Named { name: "transpose", summary: "row r, column c of a square of nodes to row c, column r" },
    Named { name: "shift", summary: "node i to node i + K, around the end; shift:K, K = 1 unless given" },
    Named {
        name: "butterfly",
        summary: "the hypercube's connections one bit after the other, lowest first, as an FFT uses them",
    },
    Named { name: "bit-reversal", summary: "every node to the one whose number has the bits reversed" },
    Named {
        name: "stencil27",
        summary: "every node to all nodes at most one step away on every axis (26 in 3-D, 8 in 2-D)",
    },
    Named { name: "random", summary: "every node to K others and from K others; random:K, K = 4 unless given" },
];

/// The named pattern `name` (with its parameter after a colon) between the nodes of `topology`, `words` words each.
///
/// # Errors
/// For names that do not exist, parameters that make no sense, and topologies that have no such pattern.
///
/// # Examples
/// ```
/// use weft_conset::named;
/// use weft_machine::Topology;
///
/// let torus = Topology::Torus { extents: vec![4, 4] };
/// // Four neighbours for each of sixteen nodes.
/// assert_eq!(named("torus", &torus, 32, 0).unwrap().connections.len(), 64);
/// let error = named("random:many", &torus, 32, 0).unwrap_err();
/// assert_eq!(error.to_string(), "random:many: expected a whole number after the colon");
/// ```
pub fn named(name: &str, topology: &Topology, words: u64, seed: u64) -> Result<ConnectionSet, PatternError> {
    let (base, parameter) = match name.split_once(':') {
        Some((base, parameter)) => (base, Some(parameter)),
        None => (name, None),
    };
    let refuse = |message: String| Err(PatternError::Name(message));
    let number = |default: u32| match parameter {
        None => Ok(default),
        Some(text) => text
            .parse::<u32>()
            .map_err(|_| PatternError::Name(format!("{base}:{text}: expected a whole number after the colon"))),
    };
    if parameter.is_some() && base != "shift" && base != "random" {
        return refuse(format!("{base} has no parameter, found {name}"));
    }
    let nodes = topology.nodes() as u32;
    let count = most_connections(base, topology, number(4)?);
    memory::require(
        count.saturating_mul(CONNECTION_BYTES),
        format!("{name} of {nodes} nodes"),
        "ask for a smaller machine",
    )?;
    let mut orders = Vec::new();
    let pairs = match base {
        "torus" => neighbours(topology, base)?,
        "hypercube" => cube(topology, base)?,
        "butterfly" => {
            let pairs = cube(topology, base)?;
            orders = stages(nodes);
            pairs
        }
        "all-to-all" => each(nodes, |node| (0..nodes).filter(move |&to| to != node).collect()),
        "transpose" => {
            let side = nodes.isqrt();
            if side * side != nodes {
                return refuse(format!("transpose needs a square number of nodes, there are {nodes}"));
            }
            each(nodes, |node| vec![node % side * side + node / side])
        }
        "shift" => {
            let by = number(1)?;
            if by % nodes.max(1) == 0 {
                return refuse(format!("shift:{by} moves nothing between {nodes} nodes"));
            }
            each(nodes, |node| vec![(node + by % nodes) % nodes])
        }
        "bit-reversal" => {
            let bits = bits_of(nodes, base)?;
            each(nodes, |node| vec![if bits == 0 { node } else { node.reverse_bits() >> (32 - bits) }])
        }
        "stencil27" => stencil(topology, base)?,
        "random" => random(nodes, number(4)?, seed)?,
        _ => {
            let names = NAMED.map(|named| named.name).join(", ");
            return refuse(format!("no pattern is called {name}; there are {names}, and files"));
        }
    };
    let connections: Vec<Connection> = pairs
        .into_iter()
        .filter(|(source, destination)| source != destination)
        .map(|(source, destination)| Connection { source, destination, words })
        .collect();
    ConnectionSet::new(name, nodes, connections)?.with_orders(orders)
}

/// Bytes of a connection while a pattern is made: its ends in lists of pairs, in the set, and an order.
const CONNECTION_BYTES: u64 = 64;

/// No pattern of that name has more connections.
fn most_connections(base: &str, topology: &Topology, degree: u32) -> u64 {
    let nodes = topology.nodes() as u64;
    let each = match (base, topology) {
        ("all-to-all", _) => nodes,
        ("random", _) => u64::from(degree),
        ("torus", Topology::Torus { extents } | Topology::Mesh { extents }) => 2 * extents.len() as u64,
        ("stencil27", Topology::Torus { extents } | Topology::Mesh { extents }) => {
            3u64.pow(extents.len().min(16) as u32)
        }
        ("torus" | "hypercube" | "butterfly", _) => u64::from(nodes.max(1).ilog2()),
        _ => 1,
    };
    nodes.saturating_mul(each)
}

fn each(nodes: u32, to: impl Fn(u32) -> Vec<u32>) -> Vec<(u32, u32)> {
    (0..nodes).flat_map(|node| to(node).into_iter().map(move |to| (node, to))).collect()
}

fn neighbours(topology: &Topology, name: &str) -> Result<Vec<(u32, u32)>, PatternError> {
    if !topology.is_direct() {
        return Err(no_axes(name, topology));
    }
    let to = |node: u32| topology.neighbours(node as usize).into_iter().map(|to| to as u32).collect();
    Ok(each(topology.nodes() as u32, to))
}

fn bits_of(nodes: u32, name: &str) -> Result<u32, PatternError> {
    if nodes.is_power_of_two() {
        Ok(nodes.ilog2())
    } else {
        Err(PatternError::Name(format!("{name} needs a power of two of nodes, there are {nodes}")))
    }
}

/// The node of each number of a hypercube: the Gray code of each axis's coordinate is that axis's bits.
fn gray_nodes(topology: &Topology, name: &str) -> Result<Vec<u32>, PatternError> {
    let nodes = topology.nodes() as u32;
    bits_of(nodes, name)?;
    let (Topology::Torus { extents } | Topology::Mesh { extents }) = topology else {
        return Ok((0..nodes).collect());
    };
    let mut order = vec![0; nodes as usize];
    for node in 0..nodes as usize {
        let (mut rest, mut number, mut shift) = (node, 0, 0);
        for &extent in extents.iter().rev() {
            number |= gray::encode(rest % extent) << shift;
            rest /= extent;
            shift += extent.ilog2();
        }
        order[number] = node as u32;
    }
    Ok(order)
}

fn cube(topology: &Topology, name: &str) -> Result<Vec<(u32, u32)>, PatternError> {
    let order = gray_nodes(topology, name)?;
    let nodes = order.len() as u32;
    let bits = nodes.ilog2();
    let to = |number: u32| (0..bits).map(|bit| number ^ (1 << bit)).collect();
    Ok(each(nodes, to).into_iter().map(|(a, b)| (order[a as usize], order[b as usize])).collect())
}

/// Connection `bits * number + bit` of a hypercube waits for what its source receives over the bit before.
fn stages(nodes: u32) -> Vec<Order> {
    let bits = nodes.ilog2();
    let mut orders = Vec::new();
    for number in 0..nodes {
        for bit in 1..bits {
            let partner = number ^ (1 << (bit - 1));
            orders.push(Order { before: bits * partner + bit - 1, after: bits * number + bit });
        }
    }
    orders
}

fn no_axes(name: &str, topology: &Topology) -> PatternError {
    PatternError::Name(format!("{name} needs a topology with axes or links between nodes, not a {}", topology.kind()))
}

fn stencil(topology: &Topology, name: &str) -> Result<Vec<(u32, u32)>, PatternError> {
    let (extents, wraps) = match topology {
        Topology::Torus { extents } => (extents, true),
        Topology::Mesh { extents } => (extents, false),
        _ => return Err(no_axes(name, topology)),
    };
    let to = |node: u32| {
        let mut destinations: Vec<i64> = vec![0];
        let mut rest = node as usize;
        let mut stride = 1i64;
        for &extent in extents.iter().rev() {
            let x = (rest % extent) as i64;
            rest /= extent;
            let (size, before) = (extent as i64, destinations);
            destinations = Vec::new();
            for step in [-1, 0, 1] {
                let y = x + step;
                if wraps || (0..size).contains(&y) {
                    destinations.extend(before.iter().map(|base| base + y.rem_euclid(size) * stride));
                }
            }
            stride *= size;
        }
        destinations.sort_unstable();
        destinations.dedup();
        destinations.into_iter().map(|to| to as u32).collect()
    };
    Ok(each(topology.nodes() as u32, to))
}

/// The union of `degree` permutations without fixed points, no pair twice.
fn random(nodes: u32, degree: u32, seed: u64) -> Result<Vec<(u32, u32)>, PatternError> {
    if degree == 0 || degree >= nodes {
        return Err(PatternError::Name(format!(
            "random:{degree}: between {nodes} nodes a degree is 1 to {}",
            nodes.max(1) - 1
        )));
    }
    let mut random = generator(seed, 0);
    let count = nodes as usize;
    let mut pairs: rustc_hash::FxHashSet<(u32, u32)> = rustc_hash::FxHashSet::default();
    let mut all = Vec::with_capacity(count * degree as usize);
    for round in 0..degree {
        let mut image: Vec<u32> = (0..nodes).collect();
        for last in (1..count).rev() {
            image.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
        }
        let free = |pairs: &rustc_hash::FxHashSet<(u32, u32)>, from: usize, to: u32| {
            from as u32 != to && !pairs.contains(&(from as u32, to))
        };
        // Pairs that are taken are put right by exchanging destinations; where that fails, a shift of the whole is tried.
        for from in 0..count {
            let mut attempts = 0;
            while !free(&pairs, from, image[from]) && attempts < 50 * count {
                let other = (random.next_u64() % count as u64) as usize;
                let helps = free(&pairs, from, image[other])
                    && (other > from || free(&pairs, other, image[from]) || !free(&pairs, other, image[other]));
                if helps {
                    image.swap(from, other);
                }
                attempts += 1;
            }
        }
        if (0..count).any(|from| !free(&pairs, from, image[from])) {
            let by = (1..nodes).find(|by| (0..nodes).all(|from| free(&pairs, from as usize, (from + by) % nodes)));
            match by {
                Some(by) => image = (0..nodes).map(|from| (from + by) % nodes).collect(),
                None => {
                    let message = format!(
                        "random:{degree}: no {}th set of destinations was found with seed {seed}; take another seed or a smaller degree",
                        round + 1
                    );
                    return Err(PatternError::Name(message));
                }
            }
        }
        for (from, &to) in image.iter().enumerate() {
            pairs.insert((from as u32, to));
            all.push((from as u32, to));
        }
    }
    all.sort_unstable();
    Ok(all)
}
