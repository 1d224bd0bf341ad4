//! What is refused before anything is searched for: routes that are not there, memory, phases below a bound.

use crate::bounds::{Demand, lower_bounds_until};
use crate::network::{ASKED_EVERY, Network};
use crate::pattern::{Connection, ConnectionSet};

use super::{CompileError, Options};

/// About how many bytes a compilation takes at least: places, routes and transfers of all connections, and what every phase
/// knows of nodes and links. Compilations of all-to-all patterns took three quarters to nine tenths of it.
pub fn least_bytes(demand: &Demand, phases: u32) -> u64 {
    let hops: u64 = demand.hops.iter().map(|&hops| u64::from(hops)).sum();
    let connections = 256 * demand.hops.len() as u64 + 32 * hops;
    let phase = 44 * demand.network.vertices as u64 + 20 * demand.network.links() as u64;
    connections.saturating_add(phase.saturating_mul(phases.into()))
}

/// Hops of a shortest path of every connection.
pub fn hops(set: &ConnectionSet, network: &Network, interrupted: &dyn Fn() -> bool) -> Result<Vec<u32>, CompileError> {
    if let Some(grid) = &network.grid {
        // Millions of pairs need not be listed first.
        let hops = |(index, c): (usize, &Connection)| {
            let goes_on = !index.is_multiple_of(ASKED_EVERY) || !interrupted();
            goes_on.then(|| grid.distance(c.source as usize, c.destination as usize) as u32)
        };
        let hops: Option<Vec<u32>> = set.connections.iter().enumerate().map(hops).collect();
        return hops.ok_or(CompileError::Interrupted);
    }
    let pairs: Vec<(u32, u32)> = set.connections.iter().map(|c| (c.source, c.destination)).collect();
    let hops = network.shortest_until(&pairs, interrupted).ok_or(CompileError::Interrupted)?;
    let disconnected = |connection: usize| {
        let (from, to) = pairs[connection];
        CompileError::Disconnected { connection, from, to }
    };
    hops.into_iter().enumerate().map(|(connection, hops)| hops.ok_or_else(|| disconnected(connection))).collect()
}

/// A limit of phases that a bound says cannot be kept.
pub fn refuse_infeasible(
    demand: &Demand,
    options: &Options,
    least: u32,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), CompileError> {
    let Some(phases) = options.phases else { return Ok(()) };
    if demand.set.connections.is_empty() || phases >= least {
        return Ok(());
    }
    let mut degree = vec![0u64; demand.network.nodes];
    for c in &demand.set.connections {
        degree[c.source as usize] += 1;
        degree[c.destination as usize] += 1;
    }
    if let Some(limit) = demand.resources.node_channels {
        let all = u64::from(limit) * u64::from(phases);
        let most = (0..degree.len()).max_by_key(|&node| (degree[node], std::cmp::Reverse(node)));
        if let Some(node) = most.filter(|&node| degree[node] > all) {
            let channels = format!("{limit} channels");
            return Err(CompileError::Degree { node: node as u32, degree: degree[node], channels, phases, all, least });
        }
    }
    let bounds = lower_bounds_until(demand, false, interrupted).ok_or(CompileError::Interrupted)?;
    let of_phases = bounds.iter().filter(|bound| bound.unit == "phases");
    let best = of_phases.max_by(|a, b| a.value.total_cmp(&b.value));
    let bound = best.map_or_else(String::new, |bound| bound.name.clone());
    Err(CompileError::Bound { phases, bound, least })
}
