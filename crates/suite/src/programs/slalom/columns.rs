//! SLALOM by columns: the lower triangles of the three matrices, wrapped over the ranks.
//!
//! Rank `r` has the columns `r, r + p, ...`. The right-hand side is one more row, which elimination turns into the answer
//! of the first triangle.

use weft_comm::collective::{Choice, allreduce, broadcast};
use weft_comm::{CommError, Communicator, Payload};

use super::coupling::coupling;
use super::equations::Equations;
use super::geometry::{COLOURS, Geometry};
use super::{PER_FORM_FACTOR, SUM, charge_couplings};
use crate::programs::Real;
use crate::programs::cholesky::{Wrapped, charge, factorise};

/// Three systems of equations, for three colours, of which one rank has its columns.
pub(super) struct Columns {
    pub equations: Equations,
    rank: usize,
    size: usize,
    /// Areas by form factors below the diagonal, by column of this rank; `None` where messages are phantoms.
    couplings: Option<Vec<Vec<f64>>>,
}

impl Columns {
    /// The Region and the setup. Collective.
    ///
    /// # Errors
    /// [`weft_comm::Failure::Program`] where a face gets no patch, and where the couplings of a patch miss its area.
    pub async fn of<C: Communicator>(
        comm: &C,
        geometry: Geometry,
        n: usize,
        is_phantom: bool,
    ) -> Result<Columns, CommError> {
        let failed = |message: String| CommError::program(comm.world_rank(), message);
        let equations = Equations::of(geometry, n).map_err(failed)?;
        let (rank, size) = (comm.rank(), comm.size());
        charge(comm, f64::ADD, equations.region.work().region as u64).await;
        let column = |j: usize| {
            let patches = &equations.region.patches;
            patches[j + 1..].iter().map(|patch| coupling(patch, &patches[j])).collect()
        };
        let couplings: Option<Vec<Vec<f64>>> = (!is_phantom).then(|| (rank..n).step_by(size).map(column).collect());
        let mut system = Columns { equations, rank, size, couplings };
        charge_couplings(comm, system.operations_of_couplings()).await;
        let sums = allreduce(comm, system.own_sums(), SUM, Choice::Auto).await?;
        charge(comm, f64::ADD, system.equations.region.work().properties as u64 / size as u64).await;
        if let Some(sums) = sums.values::<f64>() {
            system.equations.set_areas(sums).map_err(failed)?;
        }
        Ok(system)
    }

    /// The columns of this rank.
    fn own(&self) -> impl Iterator<Item = usize> + use<> {
        (self.rank..self.equations.n()).step_by(self.size)
    }

    fn operations_of_couplings(&self) -> u64 {
        let (parallel, orthogonal) = PER_FORM_FACTOR;
        let per_column = |j: usize| {
            let (opposite, beside) = self.equations.region.later_faces(j);
            parallel * opposite as u64 + orthogonal * beside as u64
        };
        self.own().map(per_column).sum()
    }

    /// What the columns of this rank add to the sums of the rows.
    fn own_sums(&self) -> Payload {
        let n = self.equations.n();
        let Some(couplings) = &self.couplings else { return Payload::Phantom(n * size_of::<f64>()) };
        let mut sums = vec![0.0; n];
        for (j, column) in self.own().zip(couplings) {
            sums[j] += column.iter().sum::<f64>();
            sums[j + 1..].iter_mut().zip(column).for_each(|(sum, coupling)| *sum += coupling);
        }
        Payload::of(&sums)
    }

    /// The matrix of one colour, with its right-hand side as the last row.
    fn matrix(&self, colour: usize) -> Wrapped<f64> {
        let (n, rank, size) = (self.equations.n(), self.rank, self.size);
        let Some(couplings) = &self.couplings else { return Wrapped::phantom(n + 1, rank, size) };
        let corner = self.equations.corner(colour);
        Wrapped::of(n + 1, rank, size, |i, j| match (i, j) {
            _ if j == n => corner,
            _ if i == n => self.equations.right_hand_side(j, colour),
            _ if i == j => self.equations.diagonal(j, colour),
            _ => -couplings[j / size][i - j - 1],
        })
    }

    /// The Solver: the radiosities of all patches, on all ranks; empty for phantoms. Collective.
    pub async fn solve<C: Communicator>(&self, comm: &C, choice: Choice) -> Result<Vec<[f64; COLOURS]>, CommError> {
        let mut radiosities = vec![[0.0; COLOURS]; if self.couplings.is_some() { self.equations.n() } else { 0 }];
        for colour in 0..COLOURS {
            let mut matrix = self.matrix(colour);
            factorise(comm, &mut matrix, choice).await?;
            let solution = self.substitute(comm, &matrix, choice).await?;
            radiosities.iter_mut().zip(solution).for_each(|(patch, value)| patch[colour] = value);
        }
        Ok(radiosities)
    }

    /// Back substitution by columns: each answer goes to all ranks, which take its share off their own equations.
    async fn substitute<C: Communicator>(
        &self,
        comm: &C,
        factor: &Wrapped<f64>,
        choice: Choice,
    ) -> Result<Vec<f64>, CommError> {
        let (n, size) = (self.equations.n(), self.size);
        let columns: Option<Vec<&[f64]>> =
            self.couplings.is_some().then(|| factor.columns().map(|(_, column)| column).collect());
        // What is left of the right-hand sides of this rank's equations: the last row of the factor.
        let mut rest: Vec<f64> = columns.iter().flatten().map(|column| column[column.len() - 1]).collect();
        let mut solution = vec![0.0; if columns.is_some() { n } else { 0 }];
        for k in (0..n).rev() {
            let own = (k % size == self.rank).then_some(&columns).and_then(Option::as_ref);
            let message = match (own, columns.is_some()) {
                (Some(columns), _) => Payload::of(&[rest[k / size] / columns[k / size][0]]),
                (None, true) => Payload::of(&[0.0]),
                (None, false) => Payload::Phantom(size_of::<f64>()),
            };
            let answer = broadcast(comm, k % size, message, choice).await?;
            let before = (self.rank..k).step_by(size);
            charge(comm, f64::AXPY, 2 * before.len() as u64).await;
            if let (Some(columns), Some(answer)) = (&columns, answer.values::<f64>()) {
                solution[k] = answer[0];
                before.for_each(|j| rest[j / size] -= columns[j / size][k - j] * answer[0]);
            }
        }
        Ok(solution)
    }

    /// The light that every patch receives of the columns of this rank, by colour and patch; nothing for phantoms.
    pub fn received(&self, radiosities: &[[f64; COLOURS]]) -> Option<Vec<f64>> {
        let (n, couplings) = (self.equations.n(), self.couplings.as_ref()?);
        let mut received = vec![0.0; COLOURS * n];
        for (j, column) in self.own().zip(couplings) {
            for (i, &coupling) in (j + 1..).zip(column) {
                for colour in 0..COLOURS {
                    received[colour * n + i] += coupling * radiosities[j][colour];
                    received[colour * n + j] += coupling * radiosities[i][colour];
                }
            }
        }
        Some(received)
    }
}
