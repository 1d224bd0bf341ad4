//! Symmetric sets that are too large to be written out, where nothing limits what is open: one phase of whole orbits.
//!
//! What a phase takes follows from the offsets: opened from all nodes, an offset puts as many transfers on every link of a
//! direction as it has steps in it. Only offsets with two shortest ways around an axis are walked, whose nodes take both.

use super::candidates::Compilation;
use super::plan::Load;
use super::symmetric::Symmetric;
use super::{CompileError, Compiler, Options};
use crate::bounds::Demand;
use crate::network::{Grid, Network};
use crate::pattern::ConnectionSet;
use crate::resources::Resources;
use crate::schedule::{Orbit, Phase};

/// More connections than this are not written out where they need not be: a gigabyte and some hundred megabytes of file.
const MAX_WRITTEN: usize = 1 << 21;

/// About how many bytes a connection takes that is not written out.
pub const BYTES: u64 = 64;

/// Whether a set would be compiled to whole orbits if it is symmetric.
pub fn applies(set: &ConnectionSet, resources: &Resources, network: &Network, options: &Options) -> bool {
    let is_free = resources.node_channels.is_none() && resources.link_channels.is_none() && resources.ports.is_none();
    let is_torus = network.grid.as_ref().is_some_and(|grid| grid.wraps);
    options.compiler == Compiler::Weft && is_free && is_torus && set.connections.len() > MAX_WRITTEN
}

impl Compilation<'_> {
    /// The phase of a symmetric set; `None` where the set is not symmetric.
    ///
    /// # Errors
    /// Where somebody has had enough for so long that what there is is given up.
    pub fn whole(&self) -> Result<Option<Phase>, CompileError> {
        let Demand { set, resources, network, .. } = self.demand;
        let Some(symmetric) = Symmetric::of(set, network, self.control) else { return Ok(None) };
        self.report("opening whole orbits", &None);
        let mut orbits = Vec::with_capacity(symmetric.offsets.len());
        let mut load = Loads::new(symmetric.grid, symmetric.nodes);
        for offset in 0..symmetric.offsets.len() {
            if self.control.must_end() {
                return Err(CompileError::Interrupted);
            }
            for orbit in symmetric.orbits(offset) {
                load.add(&orbit);
                orbits.push(orbit);
            }
        }
        let load = load.finished(symmetric.words * symmetric.offsets.len() as u64, symmetric.words, network);
        let seconds = load.seconds(resources, network).max(symmetric.words as f64 * resources.word_seconds());
        orbits.iter_mut().for_each(|orbit| orbit.duration = seconds);
        let longest = orbits.iter().map(|orbit| orbit.steps.len()).max().unwrap_or(0);
        let predicted_seconds = resources.switch_seconds() + (seconds + resources.latency_seconds(longest));
        let largest_link_load = load.largest_link_load(network);
        Ok(Some(Phase { connections: Vec::new(), orbits, largest_link_load, predicted_seconds }))
    }
}

impl Symmetric<'_> {
    /// The transfers of an offset: one orbit, or where both ways around an axis are equally long one for each choice of
    /// ways, which nodes take in turn.
    fn orbits(&self, offset: usize) -> Vec<Orbit> {
        let offsets = &self.offsets[offset];
        let axes = offsets.len();
        let both: Vec<usize> = (0..axes).filter(|&axis| self.is_antipodal(offsets[axis], axis)).collect();
        let mut sources: Vec<Vec<u32>> = vec![Vec::new(); 1 << both.len()];
        for node in 0..self.nodes {
            let parity = |(bit, &axis): (usize, &usize)| (self.grid.coordinate(node, axis) % 2) << bit;
            sources[both.iter().enumerate().map(parity).sum::<usize>()].push(node as u32);
        }
        let orbit = |(choice, sources): (usize, Vec<u32>)| {
            let mut steps = Vec::new();
            for axis in (0..axes).map(|step| (offset + step) % axes) {
                let is_odd = both.iter().position(|&other| other == axis).map(|bit| choice >> bit & 1 == 1);
                let upwards = is_odd.map_or(offsets[axis] > 0, |is_odd| !is_odd);
                let step = if upwards { axis as i32 + 1 } else { -(axis as i32 + 1) };
                steps.resize(steps.len() + offsets[axis].unsigned_abs() as usize, step);
            }
            let connections = sources.iter().map(|&source| self.connection_of(offset, source as usize)).collect();
            Orbit { steps, words: self.words, start: 0.0, duration: 0.0, sources, connections }
        };
        let used = sources.into_iter().enumerate().filter(|(_, sources)| !sources.is_empty());
        used.map(orbit).collect()
    }
}

/// Transfers on the links of a torus: by node, axis and direction, and what all links of a direction have in common.
struct Loads<'a> {
    grid: &'a Grid,
    nodes: usize,
    own: Vec<u32>,
    common: Vec<u32>,
}

impl<'a> Loads<'a> {
    fn new(grid: &'a Grid, nodes: usize) -> Loads<'a> {
        let directions = 2 * grid.extents.len();
        Loads { grid, nodes, own: vec![0; nodes * directions], common: vec![0; directions] }
    }

    fn add(&mut self, orbit: &Orbit) {
        let directions = self.common.len();
        let direction = |step: i32| 2 * (step.unsigned_abs() as usize - 1) + usize::from(step < 0);
        if orbit.sources.len() == self.nodes {
            orbit.steps.iter().for_each(|&step| self.common[direction(step)] += 1);
            return;
        }
        for &source in &orbit.sources {
            let mut at = source as usize;
            for &step in &orbit.steps {
                self.own[at * directions + direction(step)] += 1;
                at = self.grid.step(at, step.unsigned_abs() as usize - 1, step > 0);
            }
        }
    }

    /// The load, where every node sends and receives `access` words, in transfers of `words`.
    fn finished(self, access: u64, words: u64, network: &Network) -> Load {
        let directions = self.common.len();
        let mut load = Load::new(network);
        for node in 0..self.nodes {
            for direction in 0..directions {
                let next = self.grid.step(node, direction / 2, direction % 2 == 0);
                let transfers = self.common[direction] + self.own[node * directions + direction];
                if next != node && transfers > 0 {
                    let link = network.link(node as u32, next as u32);
                    load.links[link] += transfers;
                    load.link_words[link] += u64::from(transfers) * words;
                }
            }
        }
        load.sent.fill(access);
        load.received.fill(access);
        load
    }
}

#[cfg(test)]
mod tests {
    use weft_machine::Topology;

    use super::*;
    use crate::bounds::least_phases;
    use crate::compile::Control;
    use crate::compile::feasibility::hops;
    use crate::execute::Execution;
    use crate::named::named;
    use crate::schedule::Schedule;
    use crate::verify::verify;

    fn compiled(extents: &[usize], pattern: &str) -> (Schedule, ConnectionSet) {
        let machine = weft_machine::find("tpu-v4").unwrap();
        let mut resources = Resources::of(&machine).unwrap();
        resources.topology = Topology::Torus { extents: extents.to_vec() };
        let set = named(pattern, &resources.topology, 3, 0).unwrap();
        let network = Network::new(&resources.topology);
        let hops = hops(&set, &network, &|| false).unwrap();
        let demand = Demand { set: &set, resources: &resources, network: &network, hops: &hops };
        let (options, control) = (Options::default(), Control::new(0.0, 0, &|| false, &|_| ()));
        let least = least_phases(&demand);
        let compilation = Compilation { demand, least, options: &options, control: &control };
        let phase = compilation.whole().unwrap().expect("it is symmetric");
        (compilation.sealed(vec![phase], false, "a torus").unwrap(), set)
    }

    #[test]
    fn orbits_are_what_they_are_written_out() {
        for (extents, most) in [(&[4, 4][..], 1.1), (&[5, 3], 1.5), (&[6, 3, 4], 1.5), (&[7], 1.1), (&[4, 4, 4], 1.1)] {
            for pattern in ["all-to-all", "torus"] {
                let (schedule, set) = compiled(extents, pattern);
                let verified = verify(&schedule, Some(&set)).unwrap_or_else(|fault| panic!("{extents:?}: {fault}"));
                assert_eq!(verified.connections as usize, set.connections.len());
                let written = schedule.written_out();
                assert_eq!(verify(&written, Some(&set)).unwrap(), verified);
                assert_eq!(Schedule::from_json(&schedule.to_json(), "it").unwrap(), schedule);
                let plan = |schedule: &Schedule| Execution::of_schedule(schedule, None).unwrap().plan;
                assert_eq!(plan(&schedule).phases(), plan(&written).phases());
                let bound = schedule.best_bound("s").unwrap().value;
                let ratio = schedule.predicted_seconds / bound;
                assert!(pattern != "all-to-all" || ratio < most, "{extents:?}: {ratio} times its bound");
            }
        }
    }

    #[test]
    fn orbits_that_there_cannot_be_are_refused() {
        type Change = fn(&mut Schedule);
        let changes: [(&str, Change); 9] = [
            ("a step 3; there are 2 axes", |s| s.phases[0].orbits[0].steps.push(3)),
            ("a step 0; there are 2 axes", |s| s.phases[0].orbits[0].steps[0] = 0),
            ("a source 16; there are nodes 0 to 15", |s| s.phases[0].orbits[0].sources[0] = 16),
            ("15 sources have 16 connections", |s| s.phases[0].orbits[0].sources.truncate(15)),
            ("is in no phase", |s| drop(s.phases[0].orbits.pop())),
            ("passes through", |s| s.phases[0].orbits[0].steps.extend([1, -1])),
            ("appears twice in it", |s| {
                let orbit = &mut s.phases[0].orbits[0];
                orbit.sources.push(orbit.sources[0]);
                orbit.connections.push(orbit.connections[0]);
            }),
            ("the topology is a mesh", |s| s.resources.topology = Topology::Mesh { extents: vec![4, 4] }),
            ("words take at least", |s| s.phases[0].orbits[0].duration /= 1000.0),
        ];
        for (expected, change) in changes {
            let (mut schedule, set) = compiled(&[4, 4], "all-to-all");
            change(&mut schedule);
            let fault = verify(&schedule.sealed(), Some(&set)).unwrap_err().to_string();
            assert!(fault.contains(expected), "expected {expected:?}, fault {fault:?}");
        }
    }
}
