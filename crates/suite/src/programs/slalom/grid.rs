//! SLALOM on a grid of ranks: the three whole matrices, wrapped over the ranks by rows and by columns.
//!
//! The scattered decomposition of G. Fox, M. Johnson, G. Lyzenga, S. Otto, J. Salmon, D. Walker, "Solving Problems on
//! Concurrent Processors" (Prentice Hall, 1988): the rank in row `r` and column `c` of a grid of `R` by `C` has the elements
//! whose row is `r` modulo `R` and whose column is `c` modulo `C`. A step of Gaussian elimination sends the pivot's row down
//! the columns of the grid and the multipliers along its rows, so that a message has an `R`-th or a `C`-th of the matrix's
//! order. Symmetry is not used: half of the elements are eliminated that the other half would give, which would take
//! messages between transposed ranks. No pivots are looked for, since the matrices are positive definite.

use std::ops::Range;

use weft_comm::collective::{Choice, allreduce, broadcast, reduce};
use weft_comm::{Buffer, CommError, Communicator, Payload};

use super::coupling::coupling;
use super::equations::Equations;
use super::geometry::{COLOURS, FACES, Geometry};
use super::{PER_FORM_FACTOR, SUM, charge_couplings};
use crate::programs::Real;
use crate::programs::cholesky::charge;

/// The extents of the most square grid of so many ranks, of which the first is not the larger one.
pub(super) fn extents(ranks: usize) -> (usize, usize) {
    let rows = (1..=ranks.isqrt()).rev().find(|rows| ranks.is_multiple_of(*rows)).unwrap_or(1);
    (rows, ranks / rows)
}

/// The numbers `first, first + step, ...` that one rank has of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wrap {
    first: usize,
    step: usize,
}

impl Wrap {
    fn owner(self, number: usize) -> usize {
        number % self.step
    }

    fn owns(self, number: usize) -> bool {
        self.owner(number) == self.first
    }

    /// How many of this rank's numbers are below `end`: where the first one that is not stands among them.
    fn below(self, end: usize) -> usize {
        (end + self.step - 1 - self.first) / self.step
    }

    fn numbers(self, end: usize) -> impl Iterator<Item = usize> {
        (self.first..end).step_by(self.step)
    }
}

/// Three systems of equations, for three colours, of which one rank has its rows and columns.
pub(super) struct Grid<C> {
    pub equations: Equations,
    /// The ranks of this row of the grid, by column, and of this column, by row.
    along: C,
    down: C,
    rows: Wrap,
    columns: Wrap,
    /// Areas by form factors, by row and column of this rank; `None` where messages are phantoms.
    couplings: Option<Vec<Vec<f64>>>,
}

impl<C: Communicator> Grid<C> {
    /// The Region and the setup. Collective.
    ///
    /// # Errors
    /// [`weft_comm::Failure::Program`] where a face gets no patch, and where the couplings of a patch miss its area.
    pub async fn of(comm: &C, geometry: Geometry, n: usize, is_phantom: bool) -> Result<Grid<C>, CommError> {
        let failed = |message: String| CommError::program(comm.world_rank(), message);
        let equations = Equations::of(geometry, n).map_err(failed)?;
        let (height, width) = extents(comm.size());
        let (row, column) = (comm.rank() / width, comm.rank() % width);
        let part = |color: usize, key: usize| comm.split(Some(color as u32), key as i64);
        let along = part(row, column).await?.expect("a rank with a color is in a part");
        let down = part(column, row).await?.expect("a rank with a color is in a part");
        let (rows, columns) = (Wrap { first: row, step: height }, Wrap { first: column, step: width });
        charge(comm, f64::ADD, equations.region.work().region as u64).await;
        let patches = &equations.region.patches;
        let of_row = |i: usize| columns.numbers(n).map(|j| coupling(&patches[i], &patches[j])).collect();
        let couplings: Option<Vec<Vec<f64>>> = (!is_phantom).then(|| rows.numbers(n).map(of_row).collect());
        let mut system = Grid { equations, along, down, rows, columns, couplings };
        charge_couplings(comm, system.operations_of_couplings()).await;
        let sums = allreduce(comm, system.own_sums(), SUM, Choice::Auto).await?;
        charge(comm, f64::ADD, system.equations.region.work().properties as u64 / comm.size() as u64).await;
        if let Some(sums) = sums.values::<f64>() {
            system.equations.set_areas(sums).map_err(failed)?;
        }
        Ok(system)
    }

    /// By the assessment, of all elements of this rank; patches of one face do not see each other.
    fn operations_of_couplings(&self) -> u64 {
        let region = &self.equations.region;
        let on = |wrap: Wrap, face: usize| {
            let Range { start, end } = region.first[face]..region.first[face + 1];
            (wrap.below(end) - wrap.below(start)) as u64
        };
        let (parallel, orthogonal) = PER_FORM_FACTOR;
        let pair = |(face, other): (usize, usize)| {
            let weight = match face.abs_diff(other) {
                0 => 0,
                apart if apart == FACES / 2 => parallel,
                _ => orthogonal,
            };
            weight * on(self.rows, face) * on(self.columns, other)
        };
        (0..FACES * FACES).map(|index| pair((index / FACES, index % FACES))).sum()
    }

    /// What the elements of this rank add to the sums of the rows.
    fn own_sums(&self) -> Payload {
        let n = self.equations.n();
        let Some(couplings) = &self.couplings else { return Payload::Phantom(n * size_of::<f64>()) };
        let mut sums = vec![0.0; n];
        self.rows.numbers(n).zip(couplings).for_each(|(i, row)| sums[i] = row.iter().sum());
        Payload::of(&sums)
    }

    /// The matrix of one colour, with its right-hand side as the last column.
    fn matrix(&self, colour: usize) -> Option<Vec<Vec<f64>>> {
        let (n, couplings) = (self.equations.n(), self.couplings.as_ref()?);
        let element = |i: usize, j: usize, row: &[f64]| match j {
            _ if j == n => self.equations.right_hand_side(i, colour),
            _ if i == j => self.equations.diagonal(i, colour),
            _ => -row[self.columns.below(j)],
        };
        let of_row = |(i, row): (usize, &Vec<f64>)| {
            self.columns.numbers(n + 1).map(|j| element(i, j, row)).collect::<Vec<f64>>()
        };
        Some(self.rows.numbers(n).zip(couplings).map(of_row).collect())
    }

    /// The Solver: the radiosities of all patches, on all ranks; empty for phantoms. Collective.
    pub async fn solve(&self, choice: Choice) -> Result<Vec<[f64; COLOURS]>, CommError> {
        let mut radiosities = vec![[0.0; COLOURS]; if self.couplings.is_some() { self.equations.n() } else { 0 }];
        for colour in 0..COLOURS {
            let mut matrix = self.matrix(colour);
            for k in 0..self.equations.n() {
                self.eliminate(matrix.as_mut(), k, choice).await?;
            }
            let solution = self.substitute(matrix.as_ref(), choice).await?;
            radiosities.iter_mut().zip(solution).for_each(|(patch, value)| patch[colour] = value);
        }
        Ok(radiosities)
    }

    /// One step of elimination: multiples of row `k` are taken off the rows below it.
    async fn eliminate(
        &self,
        mut matrix: Option<&mut Vec<Vec<f64>>>,
        k: usize,
        choice: Choice,
    ) -> Result<(), CommError> {
        let n = self.equations.n();
        // Where the columns from the pivot's on and the rows below it stand among those of this rank.
        let (left, right) = (self.columns.below(k), self.columns.below(n + 1));
        let (top, bottom) = (self.rows.below(k + 1), self.rows.below(n));
        let pivots = self.rows.owns(k).then(|| matrix.as_ref().map(|matrix| &matrix[self.rows.below(k)][left..]));
        let pivots =
            share(&self.down, self.rows.owner(k), pivots.flatten(), right - left, matrix.is_some(), choice).await?;
        let own = self.columns.owns(k);
        if own && top < bottom {
            charge(&self.along, f64::MULTIPLY, (bottom - top + 1) as u64).await;
        }
        let multipliers = match (&mut matrix, pivots.values::<f64>()) {
            (Some(matrix), Some(pivots)) if own => {
                let reciprocal = 1.0 / pivots[0];
                Some(matrix[top..].iter().map(|row| row[left] * reciprocal).collect::<Vec<f64>>())
            }
            _ => None,
        };
        let root = self.columns.owner(k);
        let multipliers =
            share(&self.along, root, multipliers.as_deref(), bottom - top, matrix.is_some(), choice).await?;
        let first = self.columns.below(k + 1);
        charge(&self.along, f64::AXPY, 2 * ((bottom - top) * (right - first)) as u64).await;
        if let (Some(matrix), Some(pivots), Some(multipliers)) =
            (matrix, pivots.values::<f64>(), multipliers.values::<f64>())
        {
            for (row, multiplier) in matrix[top..].iter_mut().zip(multipliers) {
                let pairs = row[first..].iter_mut().zip(&pivots[first - left..]);
                pairs.for_each(|(element, pivot)| *element -= multiplier * pivot);
            }
        }
        Ok(())
    }

    /// Back substitution: the ranks of a row of the grid add up what is left of its equation, and the answer goes down the
    /// column of the grid that has its coefficients.
    async fn substitute(&self, matrix: Option<&Vec<Vec<f64>>>, choice: Choice) -> Result<Vec<f64>, CommError> {
        let n = self.equations.n();
        let last = self.columns.below(n);
        // What this rank's part of every equation leaves; the right-hand side is one rank's of each row.
        let mut rest: Vec<f64> =
            matrix.into_iter().flatten().map(|row| row.get(last).copied().unwrap_or(0.0)).collect();
        let mut own = vec![0.0; n];
        for k in (0..n).rev() {
            let (row, column) = (self.rows.below(k), self.columns.below(k));
            let mut answer = None;
            if self.rows.owns(k) {
                let part = match matrix {
                    Some(_) => Payload::of(&rest[row..=row]),
                    None => Payload::Phantom(size_of::<f64>()),
                };
                let sum = reduce(&self.along, self.columns.owner(k), part, SUM, Choice::Auto).await?;
                if let (true, Some(matrix), Some(sum)) = (self.columns.owns(k), matrix, sum.values::<f64>()) {
                    answer = Some([sum[0] / matrix[row][column]]);
                }
            }
            if self.columns.owns(k) {
                let root = self.rows.owner(k);
                let answer = answer.as_ref().map(<[f64; 1]>::as_slice);
                let answer = share(&self.down, root, answer, 1, matrix.is_some(), choice).await?;
                charge(&self.down, f64::AXPY, 2 * row as u64).await;
                if let (Some(matrix), Some(answer)) = (matrix, answer.values::<f64>()) {
                    own[k] = answer[0];
                    rest.iter_mut().zip(&matrix[..row]).for_each(|(rest, above)| *rest -= above[column] * answer[0]);
                }
            }
        }
        let part = if matrix.is_some() { Payload::of(&own) } else { Payload::Phantom(n * size_of::<f64>()) };
        let all = allreduce(&self.along, part, SUM, Choice::Auto).await?;
        Ok(all.values::<f64>().map(<[f64]>::to_vec).unwrap_or_default())
    }

    /// The light that every patch receives of the elements of this rank, by colour and patch; nothing for phantoms.
    pub fn received(&self, radiosities: &[[f64; COLOURS]]) -> Option<Vec<f64>> {
        let (n, couplings) = (self.equations.n(), self.couplings.as_ref()?);
        let mut received = vec![0.0; COLOURS * n];
        for (i, row) in self.rows.numbers(n).zip(couplings) {
            for (j, &coupling) in self.columns.numbers(n).zip(row) {
                for colour in 0..COLOURS {
                    received[colour * n + i] += coupling * radiosities[j][colour];
                }
            }
        }
        Some(received)
    }
}

/// Gives `count` numbers of one rank to the others of its row or column of the grid; nothing is sent where there are none.
async fn share<C: Communicator>(
    comm: &C,
    root: usize,
    numbers: Option<&[f64]>,
    count: usize,
    has_data: bool,
    choice: Choice,
) -> Result<Payload, CommError> {
    let bytes = count * size_of::<f64>();
    let message = match numbers {
        Some(numbers) => Payload::of(numbers),
        None if has_data => Payload::Data(Buffer::zeroed(bytes)),
        None => Payload::Phantom(bytes),
    };
    if count == 0 { Ok(message) } else { broadcast(comm, root, message, choice).await }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_square_as_their_ranks_allow() {
        let shapes = [1, 2, 6, 7, 12, 16, 32, 64].map(extents);
        assert_eq!(shapes, [(1, 1), (1, 2), (2, 3), (1, 7), (3, 4), (4, 4), (4, 8), (8, 8)]);
    }

    #[test]
    fn every_number_has_one_owner_and_one_position() {
        for (step, end) in [(1, 5), (3, 1), (3, 10), (4, 8)] {
            let wraps: Vec<Wrap> = (0..step).map(|first| Wrap { first, step }).collect();
            assert_eq!(wraps.iter().map(|wrap| wrap.below(end)).sum::<usize>(), end);
            for number in 0..end {
                let wrap = wraps[wraps[0].owner(number)];
                assert!(wrap.owns(number));
                assert_eq!(wrap.numbers(end).nth(wrap.below(number)), Some(number));
            }
        }
    }
}
