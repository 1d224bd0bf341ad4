//! How many words a second a phase asks of every access and every link.

use weft_base::Interrupt;
use weft_machine::Access;

use super::graph::Graph;
use super::{ASKED_EVERY, Fault, ROUNDING, go_on};
use crate::resources::Resources;
use crate::schedule::Phase;

/// What pieces that flow at the same time ask of an access or a link together, as a share of what it can do.
struct Use {
    start: f64,
    end: f64,
    share: f64,
}

/// At no time are more words a second asked of an access or a link than it can transfer.
pub fn check_rates(
    index: usize,
    phase: &Phase,
    resources: &Resources,
    graph: &Graph,
    interrupt: &Interrupt,
) -> Result<(), Fault> {
    for (server, uses) in uses(phase, resources, graph, interrupt)?.into_iter().enumerate() {
        if let Some((share, time)) = excess(&uses) {
            let resource = name(server, resources, graph);
            let (share, time) = (format!("{share:.6}"), time.to_string());
            return Err(Fault::Rate { phase: index, resource, share, time });
        }
    }
    Ok(())
}

/// What is asked of every server: the accesses of nodes (first all that send, then all that receive, where these are two),
/// then links by number.
fn uses(phase: &Phase, resources: &Resources, graph: &Graph, interrupt: &Interrupt) -> Result<Vec<Vec<Use>>, Fault> {
    let receiving = match resources.access {
        Access::Separate => graph.nodes,
        Access::Shared => 0,
    };
    let mut servers: Vec<Vec<Use>> = Vec::new();
    servers.resize_with(2 * graph.nodes + graph.link_count(), Vec::new);
    phase.visit(&resources.topology, |number, transfer| {
        if number.is_multiple_of(ASKED_EVERY) {
            go_on(interrupt)?;
        }
        for piece in transfer.parts().filter(|piece| piece.duration > 0.0) {
            let rate = piece.words as f64 / piece.duration;
            let (start, end) = (piece.start, piece.start + piece.duration);
            let mut ask = |server: usize, share: f64| match servers[server].last_mut() {
                // Most phases have few different times, and hundreds of connections over every link.
                Some(last) if last.start == start && last.end == end => last.share += share,
                _ => servers[server].push(Use { start, end, share }),
            };
            ask(transfer.source as usize, rate * resources.access_seconds);
            ask(receiving + transfer.destination as usize, rate * resources.access_seconds);
            for pair in transfer.route.windows(2) {
                if let Some(link) = graph.link(pair[0], pair[1]) {
                    ask(2 * graph.nodes + link.number, rate * resources.link_seconds / f64::from(link.parallel));
                }
            }
        }
        Ok::<(), Fault>(())
    })?;
    Ok(servers)
}

/// The first share over 1, and when.
fn excess(uses: &[Use]) -> Option<(f64, f64)> {
    let mut changes: Vec<(f64, f64)> =
        uses.iter().flat_map(|one| [(one.start, one.share), (one.end, -one.share)]).collect();
    changes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut share = 0.0;
    let mut at = 0;
    while at < changes.len() {
        // What ends within rounding of a time ends at it.
        let time = changes[at].0;
        while at < changes.len() && changes[at].0 <= time * (1.0 + ROUNDING) {
            share += changes[at].1;
            at += 1;
        }
        if share > 1.0 + 1e3 * ROUNDING {
            return Some((share, time));
        }
    }
    None
}

fn name(server: usize, resources: &Resources, graph: &Graph) -> String {
    let nodes = graph.nodes;
    match (server.checked_sub(2 * nodes), resources.access) {
        (Some(link), _) => {
            let (from, to) = graph.link_ends(link);
            format!("the link from {} to {}", graph.name(from), graph.name(to))
        }
        (None, Access::Shared) => format!("the access of node {server}"),
        (None, Access::Separate) if server < nodes => format!("the sending side of node {server}"),
        (None, Access::Separate) => format!("the receiving side of node {}", server - nodes),
    }
}
