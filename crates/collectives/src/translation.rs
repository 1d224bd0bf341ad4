//! Networks that look the same from every rank, and how trees are moved on them: what is true of the trees of rank 0 is
//! true of everybody's.
//!
//! Ranks are numbered along axes, the last one fastest; moving by a rank adds its coordinates, round each axis. Links are
//! of one kind where moving takes one to the other. Of several links between the same ranks the kinds differ: of those
//! that are as fast the one with the lower number is moved to the one with the lower number.

use std::ops::AddAssign;

use crate::fabric::{Fabric, Link};
use crate::schedule::Stage;

/// The movements of a network along axes.
#[derive(Clone, Debug)]
pub struct Translations {
    extents: Vec<usize>,
    /// By rank and kind, a link.
    links: Vec<u32>,
    /// Of every link, where it starts and its kind.
    origins: Vec<(u32, u32)>,
    kinds: usize,
}

impl Translations {
    /// `None` where a movement along an axis takes some link to where there is none like it.
    pub fn of(fabric: &Fabric, extents: &[usize]) -> Option<Translations> {
        let ranks = fabric.ranks.len();
        if fabric.vertices.len() != ranks || extents.contains(&0) || extents.iter().product::<usize>() != ranks {
            return None;
        }
        let mut rank_of = vec![0; ranks];
        fabric.ranks.iter().enumerate().for_each(|(rank, &vertex)| rank_of[vertex] = rank);
        let mut leaving: Vec<Vec<([u64; 3], u32)>> = vec![Vec::new(); ranks];
        for (number, Link { from, to, bandwidth, latency }) in fabric.links.iter().enumerate() {
            let (from, to) = (rank_of[*from], rank_of[*to]);
            let likeness = [moved_back(extents, to, from) as u64, bandwidth.to_bits(), latency.to_bits()];
            leaving[from].push((likeness, number as u32));
        }
        leaving.iter_mut().for_each(|links| links.sort_unstable());
        let alike = |links: &Vec<([u64; 3], u32)>| {
            links.len() == leaving[0].len() && links.iter().zip(&leaving[0]).all(|(link, first)| link.0 == first.0)
        };
        if !leaving.iter().all(alike) {
            return None;
        }
        let kinds = leaving[0].len();
        let links: Vec<u32> = leaving.iter().flatten().map(|link| link.1).collect();
        let mut origins = vec![(0, 0); links.len()];
        for (index, &link) in links.iter().enumerate() {
            origins[link as usize] = ((index / kinds) as u32, (index % kinds) as u32);
        }
        Some(Translations { extents: extents.to_vec(), links, origins, kinds })
    }

    /// How many kinds of links there are.
    pub fn kinds(&self) -> usize {
        self.kinds
    }

    /// The kind of a link.
    pub fn kind(&self, link: u32) -> usize {
        self.origins[link as usize].1 as usize
    }

    /// The link of each kind that starts at rank 0.
    pub fn links_of_first(&self) -> &[u32] {
        &self.links[..self.kinds]
    }

    /// The rank that `rank` is moved to by `by`.
    pub fn rank(&self, rank: usize, by: usize) -> usize {
        combined(&self.extents, rank, by, |own, other, extent| (own + other) % extent)
    }

    /// The rank that moves `from` to `to`.
    pub fn between(&self, from: usize, to: usize) -> usize {
        moved_back(&self.extents, to, from)
    }

    /// The link that `link` is moved to by `by`: tests write out what is moved.
    #[cfg(test)]
    pub fn link(&self, link: u32, by: usize) -> u32 {
        let (origin, kind) = self.origins[link as usize];
        self.links[self.rank(origin as usize, by) * self.kinds + kind as usize]
    }
}

/// What the trees of a stage put on every link, from what those put on it that are written.
pub fn with_movements<T: AddAssign + Copy + Default>(fabric: &Fabric, stage: &Stage, written: Vec<T>) -> Vec<T> {
    of_kinds(fabric, stage, written, |sum, value| *sum += value)
}

/// On every link what is on the written one of its kind that has most.
pub fn most_of_kind(fabric: &Fabric, stage: &Stage, written: Vec<f64>) -> Vec<f64> {
    of_kinds(fabric, stage, written, |most, value| *most = most.max(value))
}

fn of_kinds<T: Copy + Default>(fabric: &Fabric, stage: &Stage, written: Vec<T>, join: impl Fn(&mut T, T)) -> Vec<T> {
    let Some(moves) = stage.translated.as_ref().and_then(|extents| Translations::of(fabric, extents)) else {
        return written;
    };
    // Each link of a kind is where every other one is moved to once.
    let mut of_kind = vec![T::default(); moves.kinds()];
    written.iter().enumerate().for_each(|(link, &value)| join(&mut of_kind[moves.kind(link as u32)], value));
    (0..written.len()).map(|link| of_kind[moves.kind(link as u32)]).collect()
}

/// The rank that `rank` is moved to by the opposite of `by`.
fn moved_back(extents: &[usize], rank: usize, by: usize) -> usize {
    combined(extents, rank, by, |own, other, extent| (own + extent - other) % extent)
}

/// The rank whose coordinates are those of two, combined axis by axis.
fn combined(extents: &[usize], a: usize, b: usize, of_axis: impl Fn(usize, usize, usize) -> usize) -> usize {
    let (mut a, mut b, mut stride, mut rank) = (a, b, 1, 0);
    for &extent in extents.iter().rev() {
        rank += of_axis(a % extent, b % extent, extent) * stride;
        (a, b, stride) = (a / extent, b / extent, stride * extent);
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A torus with two links each way between ranks that are next to each other along both directions of an axis of two.
    fn torus(extents: &[usize]) -> Fabric {
        let ranks: usize = extents.iter().product();
        let mut links = Vec::new();
        for rank in 0..ranks {
            let mut stride = 1;
            for (axis, &extent) in extents.iter().enumerate().rev() {
                let to = combined(extents, rank, stride, |own, step, extent| (own + step) % extent);
                if extent > 1 {
                    let bandwidth = 1e9 * (axis + 1) as f64;
                    links.push(Link { from: rank, to, bandwidth, latency: 1e-6 });
                    links.push(Link { from: to, to: rank, bandwidth, latency: 1e-6 });
                }
                stride *= extent;
            }
        }
        let vertices = (0..ranks).map(|rank| format!("node {rank}")).collect();
        Fabric {
            name: "torus".into(),
            vertices,
            ranks: (0..ranks).collect(),
            links,
            message_seconds: 1e-6,
            forwards: false,
            in_network: Vec::new(),
            routes: None,
        }
    }

    #[test]
    fn movements_keep_ends_speeds_and_order() {
        for extents in [&[4, 3][..], &[2, 2, 3], &[5], &[2, 4]] {
            let fabric = torus(extents);
            let moves = Translations::of(&fabric, extents).expect("a torus looks the same from everywhere");
            let ranks = fabric.ranks.len();
            for by in 0..ranks {
                let mut reached = vec![false; fabric.links.len()];
                for (number, link) in fabric.links.iter().enumerate() {
                    let image = moves.link(number as u32, by);
                    let other = fabric.links[image as usize];
                    assert_eq!((moves.rank(link.from, by), moves.rank(link.to, by)), (other.from, other.to));
                    assert_eq!((link.bandwidth, moves.kind(number as u32)), (other.bandwidth, moves.kind(image)));
                    assert!(!std::mem::replace(&mut reached[image as usize], true), "two links are moved to one");
                }
                assert_eq!(moves.between(by, moves.rank(by, 1)), 1);
            }
        }
    }

    #[test]
    fn other_networks_have_none() {
        let mut slower = torus(&[4, 4]);
        slower.links[5].bandwidth *= 0.5;
        let mut missing = torus(&[4, 4]);
        missing.links.pop();
        for fabric in [slower, missing] {
            assert!(Translations::of(&fabric, &[4, 4]).is_none());
        }
        assert!(Translations::of(&torus(&[4, 4]), &[2, 8]).is_none());
        assert!(Translations::of(&torus(&[4, 4]), &[4, 3]).is_none());
    }
}
