//! Links that lead from the same vertex to the same vertex.

use std::collections::HashMap;

use weft_machine::Topology;

/// Parallel links, which connections share evenly.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wires {
    /// Of each link that has others beside it, the first of them and how many they are.
    parallel: HashMap<u32, (u32, u32)>,
}

impl Wires {
    pub fn of(topology: &Topology) -> Wires {
        let mut links: Vec<_> = (0..topology.links()).map(|link| (topology.link_ends(link), link as u32)).collect();
        links.sort_unstable();
        let groups = links.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1);
        let of_group = |group: &[(_, u32)]| {
            let (first, count) = (group[0].1, group.len() as u32);
            group.iter().map(move |&(_, link)| (link, (first, count))).collect::<Vec<_>>()
        };
        Wires { parallel: groups.flat_map(of_group).collect() }
    }

    /// Where every link stands for so many parallel ones.
    pub fn of_counts(counts: &[u32]) -> Wires {
        let parallel = counts.iter().enumerate().filter(|(_, count)| **count > 1);
        Wires { parallel: parallel.map(|(link, &count)| (link as u32, (link as u32, count))).collect() }
    }

    /// Whether no link has others beside it.
    pub fn are_single(&self) -> bool {
        self.parallel.is_empty()
    }

    /// The number that stands for a link and those beside it, and how many they are.
    pub fn shared(&self, link: u32) -> (u32, u32) {
        if self.parallel.is_empty() { (link, 1) } else { self.parallel.get(&link).copied().unwrap_or((link, 1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_of_two_has_two_links_each_way() {
        let wires = Wires::of(&Topology::Torus { extents: vec![2, 3] });
        let counts: Vec<u32> = (0..24).map(|link| wires.shared(link).1).collect();
        assert_eq!(counts.iter().filter(|&&count| count == 2).count(), 12, "{counts:?}");
        assert!(Wires::of(&Topology::Torus { extents: vec![3, 4] }).are_single());
    }
}
