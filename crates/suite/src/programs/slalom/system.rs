//! The equations of SLALOM: their setup, their solution, the text of the answer and its check.

use weft_comm::collective::{Choice, Element, Operator, allreduce, broadcast};
use weft_comm::{CommError, Communicator, Payload, Reduction};

use super::coupling::coupling;
use super::geometry::{COLOURS, Geometry, Region};
use crate::programs::Real;
use crate::programs::cholesky::{Wrapped, charge, factorise};

/// The most that the light which a patch gets may differ from all that there is, as a share (the benchmark's own limit).
const CLOSURE: f64 = 0.5e-9;
/// Operations of a form factor by the assessment of the benchmark, between parallel and between orthogonal patches.
const PER_FORM_FACTOR: (u64, u64) = (840, 430);
/// Bytes of the lines of a patch in the answer.
const LINE_BYTES: usize = 70 + 49;

const SUM: Reduction = Reduction { element: Element::Float64, operator: Operator::Sum };

/// Three systems of equations, for three colours, of which one rank has its columns.
pub(super) struct System {
    geometry: Geometry,
    pub region: Region,
    rank: usize,
    size: usize,
    /// Areas by form factors below the diagonal, by column of this rank; `None` where messages are phantoms.
    couplings: Option<Vec<Vec<f64>>>,
    /// The sum of all couplings of each patch: its area.
    areas: Vec<f64>,
}

impl System {
    /// The Region and the setup. Collective.
    ///
    /// # Errors
    /// [`weft_comm::Failure::Program`] where a face gets no patch, and where the couplings of a patch miss its area.
    pub async fn of<C: Communicator>(
        comm: &C,
        geometry: Geometry,
        n: usize,
        is_phantom: bool,
    ) -> Result<System, CommError> {
        let failed = |message: String| CommError::program(comm.world_rank(), message);
        let region = geometry.patches(n).map_err(failed)?;
        let (rank, size) = (comm.rank(), comm.size());
        charge(comm, f64::ADD, region.work().region as u64).await;
        let column = |j: usize| {
            let patches = &region.patches;
            patches[j + 1..].iter().map(|patch| coupling(patch, &patches[j])).collect()
        };
        let couplings: Option<Vec<Vec<f64>>> = (!is_phantom).then(|| (rank..n).step_by(size).map(column).collect());
        let mut system = System { geometry, region, rank, size, couplings, areas: Vec::new() };
        system.charge_couplings(comm).await;
        let sums = allreduce(comm, system.own_sums(), SUM, Choice::Auto).await?;
        charge(comm, f64::ADD, system.region.work().properties as u64 / size as u64).await;
        if let Some(sums) = sums.values::<f64>() {
            system.areas = sums.to_vec();
            system.check_closure().map_err(failed)?;
        }
        Ok(system)
    }

    fn n(&self) -> usize {
        self.region.patches.len()
    }

    /// The columns of this rank.
    fn own(&self) -> impl Iterator<Item = usize> + use<> {
        (self.rank..self.n()).step_by(self.size)
    }

    /// Half of the operations are charged as additions and half as multiplications, whatever they are: machine files have
    /// no times of logarithms, and the assessment counts one as eight of these.
    async fn charge_couplings<C: Communicator>(&self, comm: &C) {
        let (parallel, orthogonal) = PER_FORM_FACTOR;
        let per_column = |j: usize| {
            let (opposite, beside) = self.region.later_faces(j);
            parallel * opposite as u64 + orthogonal * beside as u64
        };
        let count: u64 = self.own().map(per_column).sum();
        charge(comm, f64::ADD, count / 2).await;
        charge(comm, f64::MULTIPLY, count - count / 2).await;
    }

    /// What the columns of this rank add to the sums of the rows.
    fn own_sums(&self) -> Payload {
        let n = self.n();
        let Some(couplings) = &self.couplings else { return Payload::Phantom(n * size_of::<f64>()) };
        let mut sums = vec![0.0; n];
        for (j, column) in self.own().zip(couplings) {
            sums[j] += column.iter().sum::<f64>();
            sums[j + 1..].iter_mut().zip(column).for_each(|(sum, coupling)| *sum += coupling);
        }
        Payload::of(&sums)
    }

    /// All light of a patch reaches another one, for the box is closed.
    fn check_closure(&self) -> Result<(), String> {
        // What is no number is wrong too.
        let wrong = |(sum, area): &(f64, f64)| (sum - area).abs() > CLOSURE * sum || sum.is_nan();
        let mut pairs = self.areas.iter().copied().zip(self.region.patches.iter().map(|patch| patch.area()));
        match pairs.position(|pair| wrong(&pair)) {
            Some(patch) => Err(format!(
                "the form factors of patch {} sum up to {}, which is too far from 1",
                patch + 1,
                self.areas[patch] / self.region.patches[patch].area()
            )),
            None => Ok(()),
        }
    }

    fn reflectivity(&self, patch: usize, colour: usize) -> f64 {
        self.geometry.reflectivities[self.region.patches[patch].face][colour]
    }

    fn diagonal(&self, patch: usize, colour: usize) -> f64 {
        self.areas[patch] / self.reflectivity(patch, colour)
    }

    fn right_hand_side(&self, patch: usize, colour: usize) -> f64 {
        let emissivity = self.geometry.emissivities[self.region.patches[patch].face][colour];
        self.areas[patch] * emissivity / self.reflectivity(patch, colour)
    }

    /// The last element of the matrix with the right-hand side as its last row: large enough for a positive pivot.
    ///
    /// The matrix without its reflectivities is a graph's Laplacian, which is not negative; so with them it is at least
    /// the diagonal of `area (1 / reflectivity - 1)`, whose inverse bounds what elimination takes off.
    fn corner(&self, colour: usize) -> f64 {
        let term = |patch: usize| {
            let least = self.areas[patch] * (1.0 / self.reflectivity(patch, colour) - 1.0);
            self.right_hand_side(patch, colour).powi(2) / least
        };
        2.0 * (0..self.n()).map(term).sum::<f64>() + 1.0
    }

    /// The matrix of one colour, with its right-hand side as the last row.
    fn matrix(&self, colour: usize) -> Wrapped<f64> {
        let (n, rank, size) = (self.n(), self.rank, self.size);
        let Some(couplings) = &self.couplings else { return Wrapped::phantom(n + 1, rank, size) };
        let corner = self.corner(colour);
        Wrapped::of(n + 1, rank, size, |i, j| match (i, j) {
            _ if j == n => corner,
            _ if i == n => self.right_hand_side(j, colour),
            _ if i == j => self.diagonal(j, colour),
            _ => -couplings[j / size][i - j - 1],
        })
    }

    /// The Solver: the radiosities of all patches, on all ranks; empty for phantoms. Collective.
    pub async fn solve<C: Communicator>(&self, comm: &C, choice: Choice) -> Result<Vec<[f64; COLOURS]>, CommError> {
        let mut radiosities = vec![[0.0; COLOURS]; if self.couplings.is_some() { self.n() } else { 0 }];
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
        let (n, size) = (self.n(), self.size);
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

    /// The Storer's text: where every patch lies, then its radiosities.
    pub fn answer(&self, radiosities: &[[f64; COLOURS]]) -> Payload {
        const POSITIONS: &str = " Patch  Face     Position in width, height, depth          Width     Height\n";
        const LIGHTS: &str = "\n Patch  Face  Radiosities\n";
        let head = format!("{} patches:\n", self.n());
        let bytes = head.len() + POSITIONS.len() + LIGHTS.len() + LINE_BYTES * self.n();
        if self.couplings.is_none() {
            return Payload::Phantom(bytes);
        }
        let mut text = String::with_capacity(bytes);
        text += &head;
        text += POSITIONS;
        for (number, patch) in (1..).zip(&self.region.patches) {
            let ([w, h, d], [width, height]) = (patch.position(), patch.size());
            let face = patch.face + 1;
            text += &format!("{number:>5}   {face:>4}{w:>11.5}{h:>11.5}{d:>11.5}  {width:>11.5}{height:>11.5}\n");
        }
        text += LIGHTS;
        for ((number, patch), [red, green, blue]) in (1..).zip(&self.region.patches).zip(radiosities) {
            text += &format!("{number:>5}   {:>4}{red:>12.8}{green:>12.8}{blue:>12.8}\n", patch.face + 1);
        }
        Payload::of(text.as_bytes())
    }

    /// How far radiosities are from solving the equations: the sum of what is left of all of them over the largest
    /// coefficient and the largest radiosity, summed over the colours. Collective; `None` for phantoms.
    pub async fn residual<C: Communicator>(
        &self,
        comm: &C,
        radiosities: &[[f64; COLOURS]],
    ) -> Result<Option<f64>, CommError> {
        let (n, Some(couplings)) = (self.n(), &self.couplings) else { return Ok(None) };
        let mut received = vec![0.0; COLOURS * n];
        for (j, column) in self.own().zip(couplings) {
            for (i, &coupling) in (j + 1..).zip(column) {
                for colour in 0..COLOURS {
                    received[colour * n + i] += coupling * radiosities[j][colour];
                    received[colour * n + j] += coupling * radiosities[i][colour];
                }
            }
        }
        let received = allreduce(comm, Payload::of(&received), SUM, Choice::Auto).await?;
        let received = received.values::<f64>().expect("a reduction of data is data");
        let of_colour = |colour: usize| {
            let left = |patch: usize| {
                let light = self.diagonal(patch, colour) * radiosities[patch][colour] - received[colour * n + patch];
                (self.right_hand_side(patch, colour) - light).abs()
            };
            let largest = |value: &dyn Fn(usize) -> f64| (0..n).map(value).fold(0.0, f64::max);
            // No coupling is larger than the area of its patch, nor that than the diagonal.
            let scale =
                largest(&|patch| self.diagonal(patch, colour)) * largest(&|patch| radiosities[patch][colour].abs());
            (0..n).map(left).sum::<f64>() / scale
        };
        Ok(Some((0..COLOURS).map(of_colour).sum()))
    }
}
