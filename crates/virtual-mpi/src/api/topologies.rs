//! Topologies of processes (MPI 4.1, chapter 8).

use std::ffi::c_int;

use weft_comm::Buffer;
use weft_comm::Payload;
use weft_comm::collective::{Choice, allgather};

use crate::abi::{self, Comm, Info};
use crate::communicator::{Communicator, Neighbors, Purpose, Topology};
use crate::fault::{Answer, Fault, class, require};
use crate::rank::Rank;

use super::{at, list, positive, put, put_at};

/// The extents and the periods of a communicator's grid.
fn grid(comm: &Communicator) -> Result<(Vec<usize>, Vec<bool>), Fault> {
    match &*comm.topology.borrow() {
        Some(Topology::Cartesian { extents, periodic }) => Ok((extents.clone(), periodic.clone())),
        _ => Err(Fault::new(class::ERR_TOPOLOGY, "the communicator is no grid")),
    }
}

/// Coordinates of a rank; the last axis is the fastest.
fn coordinates(extents: &[usize], rank: usize) -> Vec<usize> {
    let mut rest = rank;
    let mut known: Vec<usize> = extents
        .iter()
        .rev()
        .map(|extent| {
            let coordinate = rest % extent;
            rest /= extent;
            coordinate
        })
        .collect();
    known.reverse();
    known
}

/// The rank at coordinates, which wrap around where the grid does; none outside of it.
fn rank_at(extents: &[usize], periodic: &[bool], coordinates: &[c_int]) -> Option<usize> {
    let mut rank = 0;
    for ((&extent, &wraps), &coordinate) in extents.iter().zip(periodic).zip(coordinates) {
        let inside = (0..extent as c_int).contains(&coordinate);
        if !inside && !wraps {
            return None;
        }
        rank = rank * extent + coordinate.rem_euclid(extent as c_int) as usize;
    }
    Some(rank)
}

/// Neighbours: those that messages come from, and those that they go to.
pub(crate) type Both = (Vec<Option<usize>>, Vec<Option<usize>>);

/// The neighbours of this rank, if the communicator has a topology; in a grid, a neighbour beyond an end is none.
pub(crate) fn topology_neighbors(comm: &Communicator) -> Option<Both> {
    let some = |ranks: &[c_int]| ranks.iter().map(|&rank| usize::try_from(rank).ok()).collect::<Vec<_>>();
    match &*comm.topology.borrow() {
        None => None,
        Some(Topology::Cartesian { extents, periodic }) => {
            let own: Vec<c_int> = coordinates(extents, comm.rank()).iter().map(|&own| own as c_int).collect();
            let mut neighbors = Vec::new();
            for axis in 0..extents.len() {
                for step in [-1, 1] {
                    let mut there = own.clone();
                    there[axis] += step;
                    neighbors.push(rank_at(extents, periodic, &there));
                }
            }
            Some((neighbors.clone(), neighbors))
        }
        Some(Topology::Graph { index, edges }) => {
            let rank = comm.rank();
            let first = if rank == 0 { 0 } else { index[rank - 1] as usize };
            let neighbors = some(&edges[first..index[rank] as usize]);
            Some((neighbors.clone(), neighbors))
        }
        Some(Topology::Distributed(neighbors)) => Some((some(&neighbors.sources), some(&neighbors.destinations))),
    }
}

/// A communicator of the first `size` ranks with a topology.
fn arrange(rank: &Rank, comm: Comm, purpose: Purpose, size: usize, topology: Topology, newcomm: *mut Comm) -> Answer {
    let from = rank.comm(comm)?;
    require(!from.is_inter(), class::ERR_COMM, || "a topology is of one group".to_owned())?;
    let fits = size <= from.size();
    require(fits, class::ERR_ARG, || format!("a topology of {size} ranks, where there are {}", from.size()))?;
    let (context, _) = from.derived_contexts(purpose);
    super::synchronize(rank, &from, purpose)?;
    if from.rank() >= size {
        put(newcomm, abi::COMM_NULL);
        return Ok(());
    }
    let group = from.group.derive(from.group.members[..size].to_vec());
    let created = Communicator::new(&rank.endpoint, from.rank(), group, context);
    created.errhandler.set(crate::errors::inherited(rank, &from));
    created.topology.replace(Some(topology));
    put(newcomm, rank.comms.insert(created));
    Ok(())
}

pub fn cart_create(
    rank: &Rank,
    comm_old: Comm,
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    _reorder: c_int,
    comm_cart: *mut Comm,
) -> Answer {
    // Programs ask for the communicator even where they get an error.
    put(comm_cart, abi::COMM_NULL);
    let axes = positive(ndims, "the number of dimensions")?;
    let dims = list(dims, axes);
    let wrong = dims.iter().copied().find(|&extent| extent <= 0);
    require(wrong.is_none(), class::ERR_DIMS, || format!("an extent of {}", wrong.unwrap_or(0)))?;
    let extents: Vec<usize> = dims.iter().map(|&extent| extent as usize).collect();
    let periodic = list(periods, axes).iter().map(|&period| period != 0).collect();
    let size = extents.iter().product();
    arrange(rank, comm_old, Purpose::Cartesian, size, Topology::Cartesian { extents, periodic }, comm_cart)
}

pub fn cartdim_get(rank: &Rank, comm: Comm, ndims: *mut c_int) -> Answer {
    put(ndims, grid(&*rank.comm(comm)?)?.0.len() as c_int);
    Ok(())
}

pub fn cart_get(
    rank: &Rank,
    comm: Comm,
    maxdims: c_int,
    dims: *mut c_int,
    periods: *mut c_int,
    coords: *mut c_int,
) -> Answer {
    let comm = rank.comm(comm)?;
    let (extents, periodic) = grid(&comm)?;
    let own = coordinates(&extents, comm.rank());
    for axis in 0..extents.len().min(maxdims.max(0) as usize) {
        put_at(dims, axis, extents[axis] as c_int);
        put_at(periods, axis, c_int::from(periodic[axis]));
        put_at(coords, axis, own[axis] as c_int);
    }
    Ok(())
}

pub fn cart_rank(rank: &Rank, comm: Comm, coords: *const c_int, result: *mut c_int) -> Answer {
    let (extents, periodic) = grid(&*rank.comm(comm)?)?;
    let wanted = list(coords, extents.len());
    let known = rank_at(&extents, &periodic, &wanted);
    let outside = || Fault::new(class::ERR_ARG, format!("no rank at {wanted:?} in a grid of {extents:?}"));
    put(result, known.ok_or_else(outside)? as c_int);
    Ok(())
}

pub fn cart_coords(rank: &Rank, comm: Comm, number: c_int, maxdims: c_int, coords: *mut c_int) -> Answer {
    let comm = rank.comm(comm)?;
    let (extents, _) = grid(&comm)?;
    let known = number >= 0 && (number as usize) < comm.size();
    require(known, class::ERR_RANK, || format!("rank {number} of {}", comm.size()))?;
    let known = coordinates(&extents, number as usize);
    for (axis, &coordinate) in known.iter().enumerate().take(maxdims.max(0) as usize) {
        put_at(coords, axis, coordinate as c_int);
    }
    Ok(())
}

pub fn cart_shift(
    rank: &Rank,
    comm: Comm,
    direction: c_int,
    disp: c_int,
    rank_source: *mut c_int,
    rank_dest: *mut c_int,
) -> Answer {
    let comm = rank.comm(comm)?;
    let (extents, periodic) = grid(&comm)?;
    let known = direction >= 0 && (direction as usize) < extents.len();
    require(known, class::ERR_ARG, || format!("axis {direction} of {}", extents.len()))?;
    let own: Vec<c_int> = coordinates(&extents, comm.rank()).iter().map(|&own| own as c_int).collect();
    let shifted = |step: c_int| {
        let mut there = own.clone();
        there[direction as usize] += step;
        rank_at(&extents, &periodic, &there).map_or(abi::PROC_NULL, |there| there as c_int)
    };
    put(rank_source, shifted(-disp));
    put(rank_dest, shifted(disp));
    Ok(())
}

pub fn cart_sub(rank: &Rank, comm: Comm, remain_dims: *const c_int, newcomm: *mut Comm) -> Answer {
    let from = rank.comm(comm)?;
    let (extents, periodic) = grid(&from)?;
    let kept: Vec<bool> = list(remain_dims, extents.len()).iter().map(|&kept| kept != 0).collect();
    let own = coordinates(&extents, from.rank());
    let (mut color, mut key) = (0, 0);
    for axis in 0..extents.len() {
        if kept[axis] {
            key = key * extents[axis] + own[axis];
        } else {
            color = color * extents[axis] + own[axis];
        }
    }
    super::comm_split(rank, comm, color as c_int, key as c_int, newcomm)?;
    let pick = |axis: &usize| kept[*axis];
    let axes: Vec<usize> = (0..extents.len()).filter(pick).collect();
    let topology = Topology::Cartesian {
        extents: axes.iter().map(|&axis| extents[axis]).collect(),
        periodic: axes.iter().map(|&axis| periodic[axis]).collect(),
    };
    rank.comm(at(newcomm, 0))?.topology.replace(Some(topology));
    Ok(())
}

pub fn cart_map(
    rank: &Rank,
    comm: Comm,
    ndims: c_int,
    dims: *const c_int,
    _periods: *const c_int,
    newrank: *mut c_int,
) -> Answer {
    let comm = rank.comm(comm)?;
    let size: c_int = list(dims, positive(ndims, "the number of dimensions")?).iter().product();
    let own = comm.rank() as c_int;
    put(newrank, if own < size { own } else { abi::UNDEFINED });
    Ok(())
}

pub fn dims_create(_rank: &Rank, nnodes: c_int, ndims: c_int, dims: *mut c_int) -> Answer {
    let axes = positive(ndims, "the number of dimensions")?;
    let mut extents = list(dims, axes);
    require(nnodes > 0, class::ERR_ARG, || format!("{nnodes} nodes"))?;
    let fixed: c_int = extents.iter().filter(|&&extent| extent > 0).product();
    let divides = extents.iter().all(|&extent| extent >= 0) && nnodes % fixed == 0;
    require(divides, class::ERR_DIMS, || format!("{nnodes} nodes in a grid with {fixed} of them fixed"))?;
    let free = extents.iter().filter(|&&extent| extent == 0).count();
    let mut known = balanced(nnodes / fixed, free).into_iter();
    require(free > 0 || fixed == nnodes, class::ERR_DIMS, || format!("a grid of {fixed} for {nnodes} nodes"))?;
    for extent in extents.iter_mut().filter(|extent| **extent == 0) {
        *extent = known.next().unwrap_or(1);
    }
    for (axis, &extent) in extents.iter().enumerate() {
        put_at(dims, axis, extent);
    }
    Ok(())
}

/// `parts` factors of a number, the largest first: as near to each other as there are, which is the smallest difference
/// between the largest and the smallest, and of those the ones whose smallest are largest, as MPICH has them.
fn balanced(number: c_int, parts: usize) -> Vec<c_int> {
    /// Factors of `rest`, none below `least` or above `limit`; the largest smallest one, of those the largest second.
    fn search(rest: c_int, parts: usize, least: c_int, limit: c_int, divisors: &[c_int]) -> Option<Vec<c_int>> {
        if parts == 1 {
            return (least..=limit).contains(&rest).then(|| vec![rest]);
        }
        let mean = f64::from(rest).powf(1.0 / parts as f64);
        if mean < f64::from(least) - 1e-6 || mean > f64::from(limit) + 1e-6 {
            return None;
        }
        let first = divisors.partition_point(|&divisor| divisor < least);
        let last = divisors.partition_point(|&divisor| f64::from(divisor) <= mean + 1e-6);
        divisors[first..last.max(first)].iter().rev().filter(|&divisor| rest % divisor == 0).find_map(|&factor| {
            let mut known = search(rest / factor, parts - 1, factor, limit, divisors)?;
            known.push(factor);
            Some(known)
        })
    }
    if parts == 0 {
        return Vec::new();
    }
    let mut divisors: Vec<c_int> = (1..=number.isqrt()).filter(|divisor| number % divisor == 0).collect();
    divisors.extend(divisors.clone().into_iter().rev().map(|divisor| number / divisor));
    divisors.dedup();
    let mean = f64::from(number).powf(1.0 / parts as f64);
    let middle = divisors.partition_point(|&divisor| f64::from(divisor) < mean - 1e-6);
    let lows = divisors.iter().take_while(|&&divisor| f64::from(divisor) <= mean + 1e-6);
    let mut ends: Vec<(c_int, c_int)> =
        lows.flat_map(|&low| divisors[middle..].iter().map(move |&high| (low, high))).collect();
    ends.sort_by_key(|&(low, high)| (high - low, -low));
    ends.into_iter().find_map(|(low, high)| search(number, parts, low, high, &divisors)).unwrap_or_default()
}

pub fn graph_create(
    rank: &Rank,
    comm_old: Comm,
    nnodes: c_int,
    indx: *const c_int,
    edges: *const c_int,
    _reorder: c_int,
    comm_graph: *mut Comm,
) -> Answer {
    let nodes = positive(nnodes, "the number of nodes")?;
    let index = list(indx, nodes);
    let rises = index.windows(2).all(|pair| pair[0] <= pair[1]) && index.first().is_none_or(|&first| first >= 0);
    require(rises, class::ERR_ARG, || "the numbers of edges do not rise".to_owned())?;
    let edges = list(edges, index.last().map_or(0, |&last| last as usize));
    let wrong = edges.iter().copied().find(|edge| !(0..nnodes).contains(edge));
    require(wrong.is_none(), class::ERR_RANK, || format!("an edge to {} of {nnodes} nodes", wrong.unwrap_or(0)))?;
    arrange(rank, comm_old, Purpose::Graph, nodes, Topology::Graph { index, edges }, comm_graph)
}

/// The graph of a communicator.
fn graph(comm: &Communicator) -> Result<(Vec<c_int>, Vec<c_int>), Fault> {
    match &*comm.topology.borrow() {
        Some(Topology::Graph { index, edges }) => Ok((index.clone(), edges.clone())),
        _ => Err(Fault::new(class::ERR_TOPOLOGY, "the communicator is no graph")),
    }
}

pub fn graphdims_get(rank: &Rank, comm: Comm, nnodes: *mut c_int, nedges: *mut c_int) -> Answer {
    let (index, edges) = graph(&*rank.comm(comm)?)?;
    put(nnodes, index.len() as c_int);
    put(nedges, edges.len() as c_int);
    Ok(())
}

pub fn graph_get(
    rank: &Rank,
    comm: Comm,
    maxindex: c_int,
    maxedges: c_int,
    indx: *mut c_int,
    edges: *mut c_int,
) -> Answer {
    let (index, known) = graph(&*rank.comm(comm)?)?;
    for (number, &value) in index.iter().enumerate().take(maxindex.max(0) as usize) {
        put_at(indx, number, value);
    }
    for (number, &value) in known.iter().enumerate().take(maxedges.max(0) as usize) {
        put_at(edges, number, value);
    }
    Ok(())
}

/// The edges of one node of a graph.
fn edges_of(comm: &Communicator, number: c_int) -> Result<Vec<c_int>, Fault> {
    let (index, edges) = graph(comm)?;
    let known = number >= 0 && (number as usize) < index.len();
    require(known, class::ERR_RANK, || format!("node {number} of {}", index.len()))?;
    let number = number as usize;
    let first = if number == 0 { 0 } else { index[number - 1] as usize };
    Ok(edges[first..index[number] as usize].to_vec())
}

pub fn graph_neighbors_count(rank: &Rank, comm: Comm, number: c_int, nneighbors: *mut c_int) -> Answer {
    put(nneighbors, edges_of(&*rank.comm(comm)?, number)?.len() as c_int);
    Ok(())
}

pub fn graph_neighbors(rank: &Rank, comm: Comm, number: c_int, maxneighbors: c_int, neighbors: *mut c_int) -> Answer {
    let known = edges_of(&*rank.comm(comm)?, number)?;
    for (index, &value) in known.iter().enumerate().take(maxneighbors.max(0) as usize) {
        put_at(neighbors, index, value);
    }
    Ok(())
}

pub fn graph_map(
    rank: &Rank,
    comm: Comm,
    nnodes: c_int,
    _indx: *const c_int,
    _edges: *const c_int,
    newrank: *mut c_int,
) -> Answer {
    let own = rank.comm(comm)?.rank() as c_int;
    put(newrank, if own < nnodes { own } else { abi::UNDEFINED });
    Ok(())
}

/// Weights of edges, if the program has any: the address of no weights says so.
fn weights(address: *const c_int, count: usize) -> Option<Vec<c_int>> {
    let none = address == abi::MPI_UNWEIGHTED.0;
    (!none).then(|| if address == abi::MPI_WEIGHTS_EMPTY.0 { Vec::new() } else { list(address, count) })
}

fn check_neighbors(comm: &Communicator, ranks: &[c_int]) -> Answer {
    let known = |rank: &c_int| *rank == abi::PROC_NULL || (*rank >= 0 && (*rank as usize) < comm.size());
    let wrong = ranks.iter().copied().find(|rank| !known(rank));
    require(wrong.is_none(), class::ERR_RANK, || format!("neighbour {} of {} ranks", wrong.unwrap_or(0), comm.size()))
}

pub fn dist_graph_create_adjacent(
    rank: &Rank,
    comm_old: Comm,
    indegree: c_int,
    sources: *const c_int,
    sourceweights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    destweights: *const c_int,
    info: Info,
    _reorder: c_int,
    comm_dist_graph: *mut Comm,
) -> Answer {
    rank.info(info)?;
    let (incoming, outgoing) = (positive(indegree, "the indegree")?, positive(outdegree, "the outdegree")?);
    let comm = rank.comm(comm_old)?;
    let (sources, destinations) = (list(sources, incoming), list(destinations, outgoing));
    check_neighbors(&comm, &sources)?;
    check_neighbors(&comm, &destinations)?;
    let (from, to) = (weights(sourceweights, incoming), weights(destweights, outgoing));
    let neighbors = Neighbors {
        weighted: from.is_some() && to.is_some(),
        source_weights: from.unwrap_or_default(),
        destination_weights: to.unwrap_or_default(),
        sources,
        destinations,
    };
    arrange(rank, comm_old, Purpose::AdjacentGraph, comm.size(), Topology::Distributed(neighbors), comm_dist_graph)
}

pub fn dist_graph_create(
    rank: &Rank,
    comm_old: Comm,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    weights_of_edges: *const c_int,
    info: Info,
    _reorder: c_int,
    comm_dist_graph: *mut Comm,
) -> Answer {
    rank.info(info)?;
    let count = positive(n, "the number of sources")?;
    let comm = rank.comm(comm_old)?;
    let (sources, degrees) = (list(sources, count), list(degrees, count));
    let edges: usize = degrees.iter().map(|&degree| degree.max(0) as usize).sum();
    let destinations = list(destinations, edges);
    check_neighbors(&comm, &sources)?;
    check_neighbors(&comm, &destinations)?;
    let edge_weights = weights(weights_of_edges, edges);
    let weighted = edge_weights.is_some();
    let edge_weights =
        edge_weights.filter(|edge_weights| edge_weights.len() == edges).unwrap_or_else(|| vec![1; edges]);
    let mut own = Vec::with_capacity(3 * edges);
    let mut next = 0;
    for (&source, &degree) in sources.iter().zip(&degrees) {
        for _ in 0..degree {
            own.extend([source, destinations[next], edge_weights[next]]);
            next += 1;
        }
    }
    let all = all_edges(rank, &comm, &own)?;
    let number = comm.rank() as c_int;
    let mut neighbors = Neighbors { weighted, ..Neighbors::default() };
    for edge in all.chunks_exact(3) {
        if edge[1] == number {
            neighbors.sources.push(edge[0]);
            neighbors.source_weights.push(edge[2]);
        }
        if edge[0] == number {
            neighbors.destinations.push(edge[1]);
            neighbors.destination_weights.push(edge[2]);
        }
    }
    arrange(rank, comm_old, Purpose::DistributedGraph, comm.size(), Topology::Distributed(neighbors), comm_dist_graph)
}

/// What all ranks have listed, in the order of ranks.
fn all_edges(rank: &Rank, comm: &Communicator, own: &[c_int]) -> Result<Vec<c_int>, Fault> {
    let links = comm.private(Purpose::DistributedGraph, rank.caller());
    let lens = rank.block(allgather(&links.link, &Payload::of(&[own.len() as u64]), None, Choice::Auto))?;
    let lens: Vec<usize> = lens.values::<u64>().unwrap_or_default().iter().map(|&len| 4 * len as usize).collect();
    let parts = rank.block(crate::collective::allgather(links, Buffer::of(own), &lens))?;
    Ok(parts.iter().flat_map(|part| part.values::<c_int>().to_vec()).collect())
}

/// The distributed graph of a communicator.
fn distributed(comm: &Communicator) -> Result<Neighbors, Fault> {
    match &*comm.topology.borrow() {
        Some(Topology::Distributed(neighbors)) => Ok(neighbors.clone()),
        _ => Err(Fault::new(class::ERR_TOPOLOGY, "the communicator is no distributed graph")),
    }
}

pub fn dist_graph_neighbors_count(
    rank: &Rank,
    comm: Comm,
    indegree: *mut c_int,
    outdegree: *mut c_int,
    weighted: *mut c_int,
) -> Answer {
    let neighbors = distributed(&*rank.comm(comm)?)?;
    put(indegree, neighbors.sources.len() as c_int);
    put(outdegree, neighbors.destinations.len() as c_int);
    put(weighted, c_int::from(neighbors.weighted));
    Ok(())
}

pub fn dist_graph_neighbors(
    rank: &Rank,
    comm: Comm,
    maxindegree: c_int,
    sources: *mut c_int,
    sourceweights: *mut c_int,
    maxoutdegree: c_int,
    destinations: *mut c_int,
    destweights: *mut c_int,
) -> Answer {
    let neighbors = distributed(&*rank.comm(comm)?)?;
    let write = |address: *mut c_int, values: &[c_int], limit: c_int| {
        let wanted = !address.is_null() && address != abi::MPI_UNWEIGHTED.0 && address != abi::MPI_WEIGHTS_EMPTY.0;
        for (index, &value) in values.iter().enumerate().take(if wanted { limit.max(0) as usize } else { 0 }) {
            put_at(address, index, value);
        }
    };
    write(sources, &neighbors.sources, maxindegree);
    write(destinations, &neighbors.destinations, maxoutdegree);
    if neighbors.weighted {
        write(sourceweights, &neighbors.source_weights, maxindegree);
        write(destweights, &neighbors.destination_weights, maxoutdegree);
    }
    Ok(())
}

pub fn topo_test(rank: &Rank, comm: Comm, status: *mut c_int) -> Answer {
    let kind = match &*rank.comm(comm)?.topology.borrow() {
        None => abi::UNDEFINED,
        Some(Topology::Cartesian { .. }) => abi::CART,
        Some(Topology::Graph { .. }) => abi::GRAPH,
        Some(Topology::Distributed(_)) => abi::DIST_GRAPH,
    };
    put(status, kind);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_balanced() {
        assert_eq!(balanced(5040, 3), [21, 16, 15]);
        assert_eq!(balanced(5616, 4), [13, 9, 8, 6]);
        assert_eq!(balanced(98_784, 5), [14, 14, 9, 8, 7]);
        assert_eq!(balanced(7, 3), [7, 1, 1]);
        assert_eq!(balanced(1, 2), [1, 1]);
        assert_eq!(balanced(64, 0), Vec::<c_int>::new());
    }
}
