//! Transfers that translations of a torus map onto each other, kept as what they have in common.
//!
//! An all-to-all between 4,096 nodes has 16.8 million transfers of twelve links each. Their routes are those of 4,095
//! offsets, so a file and a program that know the offsets need a hundredth of the memory. Whoever reads a schedule sees
//! transfers: each is made when it is looked at.

use weft_machine::Topology;

use crate::schedule::{Orbit, Phase, Transfer};

/// The translations of a torus.
pub struct Translations<'a> {
    extents: &'a [usize],
    strides: Vec<usize>,
}

impl<'a> Translations<'a> {
    /// Those of a topology, if it is a torus.
    pub fn of(topology: &'a Topology) -> Option<Translations<'a>> {
        let Topology::Torus { extents } = topology else { return None };
        let mut strides = vec![1; extents.len()];
        for axis in (1..extents.len()).rev() {
            strides[axis - 1] = strides[axis] * extents[axis];
        }
        Some(Translations { extents, strides })
    }

    /// The route from a node, into `route`. `coordinates` is for those of its vertices: hundreds of millions of steps are not
    /// divided by extents.
    fn route(&self, source: u32, steps: &[i32], coordinates: &mut Vec<usize>, route: &mut Vec<u32>) {
        let mut at = source as usize;
        coordinates.clear();
        coordinates.extend(self.extents.iter().zip(&self.strides).map(|(extent, stride)| at / stride % extent));
        route.clear();
        route.push(source);
        for &step in steps {
            let axis = step.unsigned_abs() as usize - 1;
            let (last, stride, coordinate) = (self.extents[axis] - 1, self.strides[axis], &mut coordinates[axis]);
            let next = match step > 0 {
                true if *coordinate == last => 0,
                true => *coordinate + 1,
                false if *coordinate == 0 => last,
                false => *coordinate - 1,
            };
            at = at - *coordinate * stride + next * stride;
            *coordinate = next;
            route.push(at as u32);
        }
    }

    /// What of an orbit there cannot be.
    fn fault(&self, orbit: &Orbit) -> Option<String> {
        let axes = self.extents.len();
        if orbit.sources.len() != orbit.connections.len() {
            return Some(format!("{} sources have {} connections", orbit.sources.len(), orbit.connections.len()));
        }
        if let Some(step) = orbit.steps.iter().find(|step| !(1..=axes).contains(&(step.unsigned_abs() as usize))) {
            return Some(format!("a step {step}; there are {axes} axes, the first of which is 1"));
        }
        let nodes: usize = self.extents.iter().product();
        let source = orbit.sources.iter().find(|&&source| source as usize >= nodes);
        source.map(|source| format!("a source {source}; there are nodes 0 to {}", nodes as i64 - 1))
    }
}

impl Phase {
    /// How many transfers it has.
    pub fn transfers(&self) -> usize {
        self.connections.len() + self.orbits.iter().map(|orbit| orbit.sources.len()).sum::<usize>()
    }

    /// What of its orbits there cannot be on a topology.
    pub fn orbit_fault(&self, topology: &Topology) -> Option<String> {
        if self.orbits.is_empty() {
            return None;
        }
        let Some(translations) = Translations::of(topology) else {
            return Some(format!("there are orbits of translations, and the topology is a {}", topology.kind()));
        };
        let faults = self.orbits.iter().enumerate();
        let mut faults = faults.filter_map(|(number, orbit)| Some((number, translations.fault(orbit)?)));
        faults.next().map(|(number, fault)| format!("orbit {number} has {fault}"))
    }

    /// Visits every transfer with its number, those that are written out first, until `visit` says what is wrong.
    ///
    /// # Errors
    /// What `visit` says.
    ///
    /// # Panics
    /// Where [`Phase::orbit_fault`] has something to say.
    pub fn visit<E>(
        &self,
        topology: &Topology,
        mut visit: impl FnMut(usize, &Transfer) -> Result<(), E>,
    ) -> Result<(), E> {
        self.connections.iter().enumerate().try_for_each(|(number, transfer)| visit(number, transfer))?;
        let Some(translations) = Translations::of(topology) else {
            assert!(self.orbits.is_empty(), "orbits of what is no torus");
            return Ok(());
        };
        let (mut number, mut coordinates) = (self.connections.len(), Vec::new());
        for Orbit { steps, words, start, duration, sources, connections } in &self.orbits {
            let (words, start, duration) = (*words, *start, *duration);
            let mut transfer = Transfer {
                connection: 0,
                source: 0,
                destination: 0,
                words,
                route: Vec::with_capacity(steps.len() + 1),
                start,
                duration,
                pieces: Vec::new(),
            };
            for (&source, &connection) in sources.iter().zip(connections) {
                translations.route(source, steps, &mut coordinates, &mut transfer.route);
                let destination = *transfer.route.last().expect("a route has its source");
                (transfer.connection, transfer.source, transfer.destination) = (connection, source, destination);
                visit(number, &transfer)?;
                number += 1;
            }
        }
        Ok(())
    }

    /// The phase with every transfer written out.
    pub fn written_out(&self, topology: &Topology) -> Phase {
        let mut connections = Vec::with_capacity(self.transfers());
        let Ok(()) = self.visit(topology, |_, transfer| {
            connections.push(transfer.clone());
            Ok::<(), std::convert::Infallible>(())
        });
        Phase { connections, orbits: Vec::new(), ..*self }
    }
}
