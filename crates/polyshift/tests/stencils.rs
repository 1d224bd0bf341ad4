//! Stencils of blocks on threads: the bits of the undivided array.

use proptest::prelude::*;
use rand::{Rng, RngExt};
use weft_comm::{CommError, Communicator, Program};
use weft_kernels::stencil::{Boundary, Coefficient, Options as PlanOptions, Plan, Point, Stencil};
use weft_polyshift::exchange::{Exchange, Options, Pattern, RankPlan, Storage};
use weft_polyshift::geometry::{Geometry, Layout};
use weft_polyshift::stencil::{Block, Computation, Lying, Memory, Stepper, deep, halo};
use weft_threads::{Options as ThreadOptions, run};

/// A stencil of constants made up from a seed, some steps of it over all ranks, and every site looked at.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
}

struct RandomStencil {
    geometry: Geometry,
    offsets: Vec<Vec<isize>>,
    boundaries: Vec<Boundary<f64>>,
    sides: bool,
    steps: usize,
    /// Steps that an exchange serves, and whether they are to be taken in one sweep through memory.
    per_exchange: usize,
    in_one_sweep: bool,
}

fn random_stencil(seed: u64, ranks: usize) -> RandomStencil {
    let random = &mut weft_base::generator(seed, ranks as u64);
    let axes = random.random_range(1..=4usize);
    let sides = random.random_bool(0.5);
    let grid: Vec<usize> = (0..axes).map(|_| random.random_range(1..=[30, 12, 8, 5][axes - 1])).collect();
    let shape: Vec<usize> = if sides { [&[2], &grid[..]].concat() } else { grid.clone() };
    let serial = if sides { vec![0] } else { Vec::new() };
    let geometry = Geometry::new(&shape, ranks, &Layout { serial, ..Layout::default() }).unwrap();
    let reach: i64 = if random.random_bool(0.5) { 1 } else { 3 };
    let mut offsets: Vec<Vec<isize>> = (0..random.random_range(1..=7))
        .map(|_| (0..axes).map(|_| random.random_range(-reach..=reach) as isize).collect())
        .collect();
    offsets.sort();
    offsets.dedup();
    let boundaries = (0..axes).map(|axis| boundary(random, axis, &grid)).collect();
    let (steps, per_exchange, in_one_sweep) =
        (random.random_range(1..=5), random.random_range(1..=3), random.random_bool(0.5));
    RandomStencil { geometry, offsets, boundaries, sides, steps, per_exchange, in_one_sweep }
}

fn boundary(random: &mut impl Rng, axis: usize, grid: &[usize]) -> Boundary<f64> {
    let lines: usize = (0..grid.len()).filter(|&other| other != axis).map(|other| grid[other]).product();
    match random.random_range(0..3u8) {
        0 => Boundary::Value(2.5),
        1 => Boundary::Array((0..lines).map(|_| f64::from(random.random_range(-9..9i32))).collect()),
        _ => Boundary::Circular,
    }
}

impl RandomStencil {
    fn first(&self) -> usize {
        usize::from(self.sides)
    }

    fn grid(&self) -> Vec<usize> {
        self.geometry.shape()[self.first()..].to_vec()
    }

    fn stencil(&self) -> Stencil<f64> {
        let points = self.offsets.iter().enumerate().map(|(number, offset)| Point {
            offset: offset.clone(),
            coefficient: Coefficient::Constant(0.25 * number as f64 - 0.5),
        });
        Stencil::new(self.grid().len(), points.collect()).unwrap()
    }

    /// The boundaries of a rank's block and its ghosts: the sites that it holds of each boundary array.
    fn of_block(&self, rank: usize, block: &Block) -> Vec<Boundary<f64>> {
        let grid = self.grid();
        let start = self.geometry.start(rank);
        let site = |axis: usize, at: usize| {
            let position = (start[self.first() + axis] + at) as i64 - block.ghosts[axis][0] as i64;
            position.rem_euclid(grid[axis] as i64) as usize
        };
        let of = |(axis, boundary): (usize, &Boundary<f64>)| {
            let Boundary::Array(values) = boundary else { return boundary.clone() };
            let others: Vec<usize> = (0..grid.len()).filter(|&other| other != axis).collect();
            let count: usize = others.iter().map(|&other| block.extents[other]).product();
            let value = |mut number: usize| {
                let mut positions = vec![0; others.len()];
                for (position, &other) in positions.iter_mut().zip(&others).rev() {
                    *position = site(other, number % block.extents[other]);
                    number /= block.extents[other];
                }
                values[positions.iter().zip(&others).fold(0, |line, (&position, &other)| line * grid[other] + position)]
            };
            Boundary::Array((0..count).map(value).collect())
        };
        self.boundaries.iter().enumerate().map(of).collect()
    }
}

impl Program for Case {
    type Output = ();

    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        let (random, rank) = (random_stencil(self.seed, comm.size()), comm.rank());
        let (geometry, first, stencil) = (&random.geometry, random.first(), random.stencil());
        let circular: Vec<bool> = random.boundaries.iter().map(|one| *one == Boundary::Circular).collect();
        let reach = stencil.reach();
        let whole = Plan::new(&stencil, &random.grid(), random.boundaries.clone(), PlanOptions::default()).unwrap();
        let source: Vec<f64> = (0..geometry.shape().iter().product()).map(|n: usize| (n * 37 % 101) as f64).collect();
        let mut expected = source.clone();
        for _ in 0..random.steps {
            let before = expected.clone();
            whole.apply_slices(&before, &mut expected).unwrap();
        }

        let per_exchange = random.per_exchange;
        let block = Block::new(geometry, rank, first, &reach, &circular, per_exchange);
        let reach = deep(&reach, per_exchange);
        let ghosts: Vec<[usize; 2]> = (0..geometry.dimensions())
            .map(|axis| if axis < first { [0, 1] } else { [reach[axis - first].0, reach[axis - first].1 + 1] })
            .collect();
        let storage = Storage::contiguous(size_of::<f64>(), &geometry.block(), &ghosts);
        let diagonal = |axis: usize, other: usize| {
            per_exchange > 1 || random.offsets.iter().any(|by| by[axis] != 0 && by[other] != 0)
        };
        let exchange = halo(geometry, 0, first, &reach, &circular, diagonal).map(|halo| {
            let pattern = Pattern::Halos(vec![halo]);
            let plan = RankPlan::new(geometry, rank, std::slice::from_ref(&storage), &pattern).unwrap();
            Exchange::new(&comm, plan, Options::default())
        });
        let computation = (!geometry.is_idle(rank)).then(|| {
            let boundaries = random.of_block(rank, &block);
            let plan = |options| Plan::new(&stencil, &block.extents, boundaries.clone(), options).unwrap();
            let at_once = random.in_one_sweep.then_some(per_exchange);
            let several = PlanOptions { steps: per_exchange, steps_at_once: at_once, ..PlanOptions::default() };
            Computation::new(plan(PlanOptions::default()), None).with_several(plan(several))
        });
        let memory = Memory::new(geometry, rank, &storage, first, &block, size_of::<f64>()).unwrap();
        let mut stepper = Stepper { exchange: exchange.transpose()?, block, computation };
        let mut arrays = [0; 4].map(|_| vec![f64::NAN; storage.bytes(&geometry.block()) / size_of::<f64>()]);
        each_site(geometry, rank, &storage, |site, position| arrays[0][position] = source[site]);
        let [source, even, odd, target] = &mut arrays;
        let between = [even, odd].map(|array| array.as_mut_ptr().cast());
        let (from, into) = (source.as_mut_ptr().cast(), target.as_mut_ptr().cast());
        let lying = |start: *mut u8| Lying { start, memory: &memory };
        // SAFETY: all have the memory that the storage says.
        unsafe { stepper.steps(lying(from), between, lying(into), random.steps).await? };
        let mut wrong = None;
        each_site(geometry, rank, &storage, |site, position| {
            if target[position].to_bits() != expected[site].to_bits() {
                wrong = Some(format!("site {site} is {}, not {}", target[position], expected[site]));
            }
        });
        match wrong {
            Some(text) => Err(CommError::program(rank, format!("{self:?}: {text}"))),
            None => Ok(()),
        }
    }
}

/// Every site of a rank: its number in the whole array, and its index in the rank's memory.
fn each_site(geometry: &Geometry, rank: usize, storage: &Storage, mut visit: impl FnMut(usize, usize)) {
    let (shape, own, start) = (geometry.shape(), geometry.local_shape(rank), geometry.start(rank));
    for mut number in 0..own.iter().product() {
        let mut position = vec![0i64; own.len()];
        for axis in (0..own.len()).rev() {
            position[axis] = (number % own[axis]) as i64;
            number /= own[axis];
        }
        let site = (0..own.len()).fold(0, |site, axis| site * shape[axis] + start[axis] + position[axis] as usize);
        visit(site, storage.offset(&position) as usize / size_of::<f64>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn blocks_compute_what_the_undivided_array_holds(seed: u64, ranks in 1usize..=6) {
        run(ranks, &Case { seed }, &ThreadOptions::default())
            .map(drop)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
    }
}
