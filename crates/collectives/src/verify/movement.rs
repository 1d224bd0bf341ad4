//! Whether a network looks the same from every rank, and which of its links are alike then.

use std::collections::BTreeMap;

use crate::fabric::Fabric;

/// The kind of every link: links are of one kind where moving the network along its axes takes one to the other.
pub struct Kinds {
    of_link: Vec<usize>,
    count: usize,
}

/// What movements keep of a link: the steps along each axis, and the bits of bandwidth and latency.
type Likeness = (Vec<usize>, u64, u64);

impl Kinds {
    /// The kinds where ranks are numbered along axes of these extents, the last one fastest.
    ///
    /// # Errors
    /// With what is not the same everywhere.
    pub fn of(fabric: &Fabric, extents: &[usize]) -> Result<Kinds, String> {
        let ranks = fabric.ranks.len();
        let product = extents.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
        if product != Some(ranks) {
            return Err(format!("but axes of {extents:?} do not number {ranks} ranks"));
        }
        let mut rank_of = vec![None; fabric.vertices.len()];
        for (rank, &vertex) in fabric.ranks.iter().enumerate() {
            rank_of[vertex] = Some(rank);
        }
        // Links by the rank where they start and their likeness, in the order of their numbers.
        let mut links: BTreeMap<(usize, Likeness), Vec<usize>> = BTreeMap::new();
        for (number, link) in fabric.links.iter().enumerate() {
            let (Some(from), Some(to)) = (rank_of[link.from], rank_of[link.to]) else {
                return Err(format!("but link {number} has an end at a switch"));
            };
            let likeness = (steps(extents, from, to), link.bandwidth.to_bits(), link.latency.to_bits());
            links.entry((from, likeness)).or_default().push(number);
        }
        let mut first_kind: BTreeMap<&Likeness, (usize, usize)> = BTreeMap::new();
        let mut count = 0;
        for ((_, likeness), alike) in links.range(..).take_while(|((from, _), _)| *from == 0) {
            first_kind.insert(likeness, (count, alike.len()));
            count += alike.len();
        }
        let mut of_link = vec![usize::MAX; fabric.links.len()];
        for ((from, likeness), alike) in &links {
            match first_kind.get(likeness) {
                Some(&(first, expected)) if expected == alike.len() => {
                    alike.iter().enumerate().for_each(|(index, &link)| of_link[link] = first + index);
                }
                _ => return Err(format!("but rank {from} has other links than rank 0")),
            }
        }
        if fabric.links.len() != count * ranks {
            return Err("but rank 0 has links that others have not".into());
        }
        Ok(Kinds { of_link, count })
    }

    /// On every link what is on the written one of its kind that has most.
    pub fn most(&self, written: &[f64]) -> Vec<f64> {
        let mut of_kind = vec![0.0f64; self.count];
        for (value, &kind) in written.iter().zip(&self.of_link) {
            of_kind[kind] = of_kind[kind].max(*value);
        }
        self.of_link.iter().map(|&kind| of_kind[kind]).collect()
    }

    /// On every link what is on all written ones of its kind together: a movement takes each of them to it.
    pub fn spread<T: std::iter::Sum<T> + Copy>(&self, written: &[T]) -> Vec<T> {
        let mut of_kind: Vec<Vec<T>> = vec![Vec::new(); self.count];
        written.iter().zip(&self.of_link).for_each(|(&value, &kind)| of_kind[kind].push(value));
        let sums: Vec<T> = of_kind.into_iter().map(|values| values.into_iter().sum()).collect();
        self.of_link.iter().map(|&kind| sums[kind]).collect()
    }
}

/// The steps along each axis from one rank to another, upwards and round its end.
fn steps(extents: &[usize], from: usize, to: usize) -> Vec<usize> {
    let mut stride: usize = extents.iter().product();
    let of_axis = |&extent: &usize| {
        stride /= extent;
        (to / stride % extent + extent - from / stride % extent) % extent
    };
    extents.iter().map(of_axis).collect()
}
