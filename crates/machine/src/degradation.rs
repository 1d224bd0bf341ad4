//! Hardware that is worse than its description: slow nodes, slow links, dead cables, noise.
//!
//! It is planted in a run in virtual time to see what a program, or a diagnosis, makes of it. A [`Machine`] has none
//! when it is read from its file.
//!
//! [`Machine`]: crate::Machine

use std::collections::BTreeMap;

use crate::topology::{Topology, Vertex};

/// The most that noise can be: a standard deviation of the logarithm.
const MAX_NOISE: f64 = 1.0;

/// What is worse than described, by node and by directed link, as a share of the described speed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Degradation {
    nodes: BTreeMap<usize, f64>,
    links: BTreeMap<usize, f64>,
    noise: f64,
    /// Of the noise: a run with one seed is always the same.
    pub seed: u64,
}

/// A description of degraded hardware that means nothing on a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fault '{text}': {reason}")]
pub struct DegradationError {
    text: String,
    reason: String,
}

impl Degradation {
    /// Adds what `text` says of a machine of this topology.
    ///
    /// | text | meaning |
    /// |---|---|
    /// | `node:17=0.8` | node 17 sends and receives at 0.8 of its speed: processor time and its end of every transfer |
    /// | `link:3-4=0.5` | all links between nodes 3 and 4, both ways, have half of their rate |
    /// | `link:3>4=0.5` | only those from 3 to 4 |
    /// | `link:s2-s40=0.5` | between switches 2 and 40, as [`Topology::link_ends`] numbers them |
    /// | `link:s2-s40=0` | a dead cable: messages take a shortest route without it |
    /// | `noise=0.05` | the time of each pair of nodes, in each direction, is multiplied by exp(0.05 z), z standard normal, in this run |
    ///
    /// # Errors
    /// [`DegradationError`] for what is none of these, and for nodes and links that the topology does not have.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::{Degradation, Topology};
    ///
    /// let cube = Topology::Hypercube { dimension: 3 };
    /// let mut degradation = Degradation::default();
    /// degradation.add("node:5=0.8", &cube).unwrap();
    /// assert_eq!(degradation.of_node(5), 0.8);
    /// assert_eq!(
    ///     degradation.add("link:0-3=0.5", &cube).unwrap_err().to_string(),
    ///     "fault 'link:0-3=0.5': no link joins node 0 and node 3"
    /// );
    /// ```
    pub fn add(&mut self, text: &str, topology: &Topology) -> Result<(), DegradationError> {
        let error = |reason: String| DegradationError { text: text.to_owned(), reason };
        let (what, value) = text.trim().split_once('=').ok_or_else(|| error(FORMS.to_owned()))?;
        let value: f64 = value.trim().parse().map_err(|_| error(format!("'{}' is no number", value.trim())))?;
        let (kind, which) = what.trim().split_once(':').unwrap_or((what.trim(), ""));
        match kind.trim() {
            "noise" if which.is_empty() => self.set_noise(value),
            "node" => self.add_node(which.trim(), value, topology),
            "link" => self.add_links(which.trim(), value, topology),
            _ => Err(FORMS.to_owned()),
        }
        .map_err(error)
    }

    fn set_noise(&mut self, value: f64) -> Result<(), String> {
        if !(0.0..=MAX_NOISE).contains(&value) {
            return Err(format!("noise is a share of the time, from 0 to {MAX_NOISE}"));
        }
        self.noise = value;
        Ok(())
    }

    fn add_node(&mut self, which: &str, speed: f64, topology: &Topology) -> Result<(), String> {
        let node = match vertex(which, topology)? {
            Vertex::Node(node) => node,
            Vertex::Switch(_) => return Err("a switch is as slow as its links; name those".to_owned()),
        };
        if !(speed > 0.0 && speed <= 1.0) {
            return Err("the speed of a node is a share of the described one, above 0 and at most 1".to_owned());
        }
        self.nodes.insert(node, speed);
        Ok(())
    }

    fn add_links(&mut self, which: &str, speed: f64, topology: &Topology) -> Result<(), String> {
        if !(0.0..=1.0).contains(&speed) {
            return Err("the speed of a link is a share of the described one, from 0 (dead) to 1".to_owned());
        }
        let (both, ends) = match which.split_once('>') {
            Some(ends) => (false, ends),
            None => (true, which.split_once('-').ok_or_else(|| FORMS.to_owned())?),
        };
        let (from, to) = (vertex(ends.0, topology)?, vertex(ends.1, topology)?);
        let is_meant = |ends: (Vertex, Vertex)| ends == (from, to) || (both && ends == (to, from));
        let links: Vec<usize> = (0..topology.links()).filter(|&link| is_meant(topology.link_ends(link))).collect();
        if links.is_empty() {
            return Err(format!("no link joins {} and {}", vertex_name(from), vertex_name(to)));
        }
        self.links.extend(links.into_iter().map(|link| (link, speed)));
        Ok(())
    }

    /// Whether all is as described.
    pub fn is_none(&self) -> bool {
        self.nodes.is_empty() && self.links.is_empty() && self.noise == 0.0
    }

    /// The speed of a node as a share of the described one.
    pub fn of_node(&self, node: usize) -> f64 {
        self.nodes.get(&node).copied().unwrap_or(1.0)
    }

    /// The speed of a link as a share of the described one; 0 where it is dead.
    pub fn of_link(&self, link: usize) -> f64 {
        self.links.get(&link).copied().unwrap_or(1.0)
    }

    /// The dead links.
    pub fn dead_links(&self) -> Vec<usize> {
        self.links.iter().filter(|&(_, &speed)| speed == 0.0).map(|(&link, _)| link).collect()
    }

    /// What noise multiplies the time of messages from one node to another by, in a run of this seed.
    pub fn noise_of(&self, from: usize, to: usize) -> f64 {
        if self.noise == 0.0 {
            return 1.0;
        }
        let stream = (from as u64) << 32 | to as u64;
        let mut generator = weft_base::generator(self.seed ^ NOISE_SEED, stream);
        (self.noise * standard_normal(|| uniform(&mut generator))).exp()
    }
}

const FORMS: &str = "a fault is node:NUMBER=SPEED, link:A-B=SPEED, link:A>B=SPEED (A and B nodes, or switches as s7) or \
                     noise=SHARE; a speed is a share of the described one, and 0 is a dead link";

/// So that noise shares no numbers with what else is drawn from a run's seed.
const NOISE_SEED: u64 = 0x6e6f_6973_6500_0000;

/// A number between 0 and 1, neither included: 52 random bits and a half.
fn uniform(generator: &mut impl rand::Rng) -> f64 {
    ((generator.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}

/// By the transform of Box and Muller (1958).
fn standard_normal(mut uniform: impl FnMut() -> f64) -> f64 {
    let (radius, angle) = (uniform(), uniform());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// `17` is a node, `s17` a switch.
fn vertex(text: &str, topology: &Topology) -> Result<Vertex, String> {
    let text = text.trim();
    let (digits, is_switch) = text.strip_prefix('s').map_or((text, false), |digits| (digits, true));
    let number: usize = digits.parse().map_err(|_| format!("'{text}' is no node (17) and no switch (s17)"))?;
    let (what, count) = if is_switch { ("switches", topology.switches()) } else { ("nodes", topology.nodes()) };
    if number >= count {
        return Err(match count {
            0 => format!("a {} has no {what}", topology.kind()),
            _ => format!("there are {what} 0 to {}", count - 1),
        });
    }
    Ok(if is_switch { Vertex::Switch(number) } else { Vertex::Node(number) })
}

/// As sentences have it.
pub fn vertex_name(vertex: Vertex) -> String {
    match vertex {
        Vertex::Node(node) => format!("node {node}"),
        Vertex::Switch(switch) => format!("switch {switch}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str, topology: &Topology) -> String {
        Degradation::default().add(text, topology).unwrap_err().to_string()
    }

    #[test]
    fn links_are_found_by_their_ends() {
        let tree = Topology::FatTree { children: vec![4, 4], parents: vec![1, 4] };
        let mut both = Degradation::default();
        both.add("link:s0-s4=0", &tree).unwrap();
        assert_eq!(both.dead_links().len(), 2);
        let mut one = Degradation::default();
        one.add(" link: 3 > s0 = 0.5 ", &tree).unwrap();
        let slow: Vec<usize> = (0..tree.links()).filter(|&link| one.of_link(link) < 1.0).collect();
        assert_eq!(slow.len(), 1);
        assert_eq!(tree.link_ends(slow[0]), (Vertex::Node(3), Vertex::Switch(0)));
    }

    #[test]
    fn what_means_nothing_is_explained() {
        let torus = Topology::Torus { extents: vec![4, 4] };
        assert!(error("slow", &torus).contains("a fault is node:NUMBER=SPEED"));
        assert!(error("node:16=0.5", &torus).ends_with("there are nodes 0 to 15"));
        assert!(error("node:3=fast", &torus).ends_with("'fast' is no number"));
        assert!(error("node:3=0", &torus).contains("above 0 and at most 1"));
        assert!(error("node:x=0.5", &torus).contains("'x' is no node (17) and no switch (s17)"));
        assert!(error("link:0-5=0.5", &torus).ends_with("no link joins node 0 and node 5"));
        assert!(error("link:s0-5=0.5", &torus).ends_with("a torus has no switches"));
        assert!(error("noise=nan", &torus).contains("from 0 to 1"));
    }

    #[test]
    fn noise_is_that_of_its_seed_and_has_its_deviation() {
        let mut noisy = Degradation { seed: 3, ..Degradation::default() };
        noisy.add("noise=0.2", &Topology::Crossbar { nodes: 64 }).unwrap();
        let pairs = || (0..64).flat_map(|from| (0..64).map(move |to| (from, to)));
        let logs: Vec<f64> = pairs().map(|(from, to)| noisy.noise_of(from, to).ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let deviation = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
        assert!(mean.abs() < 0.015 && (deviation - 0.2).abs() < 0.01, "{mean} {deviation}");
        assert_eq!(noisy.noise_of(1, 2), noisy.clone().noise_of(1, 2));
        let other = Degradation { seed: 4, ..noisy.clone() };
        assert!(noisy.noise_of(1, 2) != other.noise_of(1, 2) && noisy.noise_of(1, 2) != noisy.noise_of(2, 1));
    }
}
