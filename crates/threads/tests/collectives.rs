//! Every algorithm of every collective against a sequential reference.

use proptest::prelude::*;
use weft_comm::collective::*;
use weft_comm::{CollectiveKind, CommError, Communicator, Payload, Program, Reduction};
use weft_threads::{Options, run};

const SUM: Reduction = Reduction { element: Element::Int64, operator: Operator::Sum };

/// One call of one collective on every rank, with made-up contents.
#[derive(Clone, Debug)]
struct Call {
    kind: CollectiveKind,
    choice: Choice,
    root: usize,
    /// Length of a block (or vector, in elements of 8 bytes for reductions).
    length: usize,
    seed: u64,
    phantom: bool,
}

/// What the rank ended up with: the bytes, or their number.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Nothing,
    Bytes(Vec<u8>),
    Phantom(usize),
}

impl From<Payload> for Outcome {
    fn from(payload: Payload) -> Outcome {
        match payload {
            Payload::Data(buffer) => Outcome::Bytes(buffer.to_vec()),
            Payload::Phantom(bytes) => Outcome::Phantom(bytes),
        }
    }
}

fn mix(seed: u64, a: usize, b: usize) -> u64 {
    let mut x = seed ^ (a as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (b as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 31;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 29)
}

fn bytes(seed: u64, rank: usize, length: usize) -> Vec<u8> {
    (0..length).map(|index| mix(seed, rank, index) as u8).collect()
}

fn integers(seed: u64, rank: usize, length: usize) -> Vec<i64> {
    (0..length).map(|index| mix(seed, rank, index) as i64).collect()
}

fn as_bytes(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn sum_of(seed: u64, ranks: std::ops::RangeInclusive<usize>, length: usize) -> Vec<u8> {
    let mut total = vec![0i64; length];
    for rank in ranks {
        total.iter_mut().zip(integers(seed, rank, length)).for_each(|(sum, value)| *sum = sum.wrapping_add(value));
    }
    as_bytes(&total)
}

impl Call {
    /// Length of the part that `from` sends to `to` in an alltoallv.
    fn part_length(&self, from: usize, to: usize) -> usize {
        match self.length {
            0 => 0,
            length => mix(self.seed, from, to) as usize % (2 * length),
        }
    }

    /// Length of the part of a rank where parts differ.
    fn own_length(&self, rank: usize) -> usize {
        self.part_length(rank, 0)
    }

    fn payload(&self, bytes: Vec<u8>) -> Payload {
        if self.phantom { Payload::Phantom(bytes.len()) } else { Payload::of(&bytes) }
    }

    fn is_reduction(&self) -> bool {
        use CollectiveKind::*;
        matches!(self.kind, Reduce | Allreduce | Scan | Exscan | ReduceScatter)
    }

    /// What rank `rank` of `size` starts with.
    fn input(&self, rank: usize, size: usize) -> Payload {
        let Call { seed, length, .. } = *self;
        self.payload(match self.kind {
            CollectiveKind::Scatter | CollectiveKind::Alltoall => bytes(seed, rank, size * length),
            CollectiveKind::Alltoallv => bytes(seed, rank, (0..size).map(|to| self.part_length(rank, to)).sum()),
            CollectiveKind::ReduceScatter => as_bytes(&integers(seed, rank, size * length)),
            CollectiveKind::Gatherv | CollectiveKind::Allgatherv => bytes(seed, rank, self.own_length(rank)),
            CollectiveKind::Scatterv => bytes(seed, rank, (0..size).map(|to| self.own_length(to)).sum()),
            _ if self.is_reduction() => as_bytes(&integers(seed, rank, length)),
            _ => bytes(seed, rank, length),
        })
    }

    async fn make<C: Communicator>(&self, comm: &C) -> Result<Outcome, CommError> {
        let (rank, size) = (comm.rank(), comm.size());
        let input = self.input(rank, size);
        let (root, choice) = (self.root % size, self.choice);
        let own_lengths: Vec<usize> = (0..size).map(|rank| self.own_length(rank)).collect();
        let outcome = match self.kind {
            CollectiveKind::Barrier => barrier(comm, choice).await.map(|()| None)?,
            CollectiveKind::Broadcast => Some(broadcast(comm, root, input, choice).await?),
            CollectiveKind::Reduce => {
                let result = reduce(comm, root, input, SUM, choice).await?;
                (rank == root).then_some(result)
            }
            CollectiveKind::Allreduce => Some(allreduce(comm, input, SUM, choice).await?),
            CollectiveKind::Gather => gather(comm, root, &input, None, choice).await?,
            CollectiveKind::Scatter => {
                let into = input.same_sort(self.length);
                Some(scatter(comm, root, (rank == root).then_some(&input), into, choice).await?)
            }
            CollectiveKind::Allgather => {
                Some(allgather(comm, &input, Some(input.same_sort(size * input.len())), choice).await?)
            }
            CollectiveKind::Alltoall => Some(alltoall(comm, &input, None, choice).await?),
            CollectiveKind::Alltoallv => {
                let out: Vec<usize> = (0..size).map(|to| self.part_length(rank, to)).collect();
                let into: Vec<usize> = (0..size).map(|from| self.part_length(from, rank)).collect();
                Some(alltoallv(comm, &input, &out, &into, None, choice).await?)
            }
            CollectiveKind::Scan => Some(scan(comm, input, SUM, choice).await?),
            CollectiveKind::Exscan => Some(exscan(comm, input, SUM, choice).await?),
            CollectiveKind::ReduceScatter => Some(reduce_scatter(comm, &input, None, SUM, choice).await?),
            CollectiveKind::Gatherv => gatherv(comm, root, &input, &own_lengths, None, choice).await?,
            CollectiveKind::Scatterv => {
                let into = input.same_sort(self.own_length(rank));
                Some(scatterv(comm, root, (rank == root).then_some(&input), &own_lengths, into, choice).await?)
            }
            CollectiveKind::Allgatherv => Some(allgatherv(comm, &input, &own_lengths, None, choice).await?),
            CollectiveKind::Split => unreachable!("tested by itself"),
        };
        Ok(outcome.map_or(Outcome::Nothing, Outcome::from))
    }

    /// What rank `rank` of `size` must end up with, worked out without messages.
    fn expected(&self, rank: usize, size: usize) -> Outcome {
        let Call { seed, length, .. } = *self;
        let root = self.root % size;
        let only_root = |bytes: Vec<u8>| (rank == root).then_some(bytes);
        let block_from = |from: usize| {
            let start = match self.kind {
                CollectiveKind::Alltoallv => (0..rank).map(|to| self.part_length(from, to)).sum(),
                _ => rank * length,
            };
            let (total, count) = match self.kind {
                CollectiveKind::Alltoallv => {
                    ((0..size).map(|to| self.part_length(from, to)).sum(), self.part_length(from, rank))
                }
                _ => (size * length, length),
            };
            bytes(seed, from, total)[start..start + count].to_vec()
        };
        let all_blocks = || (0..size).flat_map(|from| bytes(seed, from, length)).collect();
        let all_parts = || (0..size).flat_map(|from| bytes(seed, from, self.own_length(from))).collect();
        let own_part = || {
            let start: usize = (0..rank).map(|to| self.own_length(to)).sum();
            let total = (0..size).map(|to| self.own_length(to)).sum();
            bytes(seed, root, total)[start..start + self.own_length(rank)].to_vec()
        };
        let bytes = match self.kind {
            CollectiveKind::Barrier | CollectiveKind::Split => None,
            CollectiveKind::Broadcast => Some(bytes(seed, root, length)),
            CollectiveKind::Reduce => only_root(sum_of(seed, 0..=size - 1, length)),
            CollectiveKind::Allreduce => Some(sum_of(seed, 0..=size - 1, length)),
            CollectiveKind::Gather => only_root(all_blocks()),
            CollectiveKind::Scatter => Some(block_from(root)),
            CollectiveKind::Allgather => Some(all_blocks()),
            CollectiveKind::Alltoall | CollectiveKind::Alltoallv => Some((0..size).flat_map(block_from).collect()),
            CollectiveKind::Scan => Some(sum_of(seed, 0..=rank, length)),
            CollectiveKind::Exscan if rank == 0 => Some(as_bytes(&integers(seed, 0, length))),
            CollectiveKind::Exscan => Some(sum_of(seed, 0..=rank - 1, length)),
            CollectiveKind::ReduceScatter => {
                Some(sum_of(seed, 0..=size - 1, size * length)[8 * rank * length..][..8 * length].to_vec())
            }
            CollectiveKind::Gatherv => only_root(all_parts()),
            CollectiveKind::Scatterv => Some(own_part()),
            CollectiveKind::Allgatherv => Some(all_parts()),
        };
        match bytes {
            None => Outcome::Nothing,
            Some(bytes) if self.phantom => Outcome::Phantom(bytes.len()),
            Some(bytes) => Outcome::Bytes(bytes),
        }
    }
}

/// Many calls one after another.
#[derive(Clone)]
struct Calls(Vec<Call>);

impl Program for Calls {
    type Output = Vec<Outcome>;
    async fn run<C: Communicator>(self, comm: C) -> Result<Vec<Outcome>, CommError> {
        let mut outcomes = Vec::new();
        for call in &self.0 {
            outcomes.push(call.make(&comm).await?);
        }
        Ok(outcomes)
    }
}

fn check(size: usize, calls: Vec<Call>) {
    let outcomes = run(size, &Calls(calls.clone()), &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    for (rank, outcomes) in outcomes.into_iter().enumerate() {
        for (call, outcome) in calls.iter().zip(outcomes) {
            assert_eq!(outcome, call.expected(rank, size), "rank {rank} of {size}: {call:?}");
        }
    }
}

fn kinds() -> impl Iterator<Item = CollectiveKind> {
    CollectiveKind::ALL.into_iter().filter(|&kind| kind != CollectiveKind::Split)
}

fn all_calls(length: usize, seed: u64, phantom: bool) -> Vec<Call> {
    let choices = |kind| algorithms(kind).iter().map(|&algorithm| Choice::Fixed(algorithm)).chain([Choice::Auto]);
    let call = |kind, choice| Call { kind, choice, root: seed as usize % 19, length, seed, phantom };
    kinds().flat_map(|kind| choices(kind).map(move |choice| call(kind, choice))).collect()
}

#[test]
fn every_algorithm_at_every_size() {
    for size in 1..=17 {
        for (seed, length) in [0, 3, 700].into_iter().enumerate() {
            check(size, all_calls(length, (seed + 3 * size) as u64, false));
        }
    }
}

#[test]
fn phantoms_have_the_lengths_of_data() {
    for size in [1, 2, 5, 8, 13] {
        check(size, all_calls(5, 9, true));
    }
}

#[test]
fn long_messages_go_along_the_chain_in_segments() {
    for size in [2, 3, 7] {
        let length = 3 * CHAIN_SEGMENT + 17;
        check(size, all_calls(length / 8, 4, false));
        let choice = Choice::Fixed(Algorithm::Chain);
        check(size, vec![Call { kind: CollectiveKind::Broadcast, choice, root: 1, length, seed: 6, phantom: false }]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn random_calls(
        size in 1usize..18,
        plan in prop::collection::vec(
            (0usize..10, 0usize..4, 0usize..18, 0usize..3000, any::<u64>(), any::<bool>()),
            1..12,
        ),
    ) {
        let calls = plan.into_iter().map(|(kind, algorithm, root, length, seed, phantom)| {
            let kind = CollectiveKind::ALL[kind];
            let choice = algorithms(kind).get(algorithm).map_or(Choice::Auto, |&algorithm| Choice::Fixed(algorithm));
            Call { kind, choice, root, length, seed, phantom }
        });
        check(size, calls.collect());
    }
}

/// All algorithms of allreduce on floating-point numbers: every rank must get the same bits.
#[derive(Clone)]
struct SameBits;

impl Program for SameBits {
    type Output = Vec<Vec<u8>>;
    async fn run<C: Communicator>(self, comm: C) -> Result<Vec<Vec<u8>>, CommError> {
        let mut results = Vec::new();
        for &algorithm in algorithms(CollectiveKind::Allreduce) {
            let values: Vec<f64> = (0..50).map(|index| 1.0 / (1 + index + 7 * comm.rank()) as f64).collect();
            let choice = Choice::Fixed(algorithm);
            let Payload::Data(sum) = allreduce(&comm, Payload::of(&values), Reduction::SUM_FLOAT64, choice).await?
            else {
                unreachable!("data stays data")
            };
            results.push(sum.to_vec());
        }
        Ok(results)
    }
}

#[test]
fn an_allreduce_gives_all_ranks_the_same_bits() {
    for size in [3, 6, 8, 11] {
        let results = run(size, &SameBits, &Options::default()).unwrap();
        assert!(results.iter().all(|result| *result == results[0]));
    }
}

/// Divides the ranks by color twice and adds up ranks within the parts.
#[derive(Clone)]
struct Divide;

impl Program for Divide {
    type Output = Option<(usize, usize, i64, usize)>;
    async fn run<C: Communicator>(self, comm: C) -> Result<Self::Output, CommError> {
        let rank = comm.rank();
        let color = (rank != 4).then_some((rank % 2) as u32 * 1000);
        let Some(half) = comm.split(color, -(rank as i64)).await? else { return Ok(None) };
        let sum = allreduce(&half, Payload::of(&[rank as i64]), SUM, Choice::Auto).await?;
        let whole = half.split(Some(7), 0).await?.expect("all have a color");
        assert_eq!(whole.rank(), half.rank());
        let sum = sum.values::<i64>().unwrap()[0];
        Ok(Some((half.rank(), half.size(), sum, half.world_rank())))
    }
}

#[test]
fn a_split_orders_by_key_and_keeps_the_parts_apart() {
    let parts = run(7, &Divide, &Options::default()).unwrap();
    let expected = [
        Some((2, 3, 8, 0)),
        Some((2, 3, 9, 1)),
        Some((1, 3, 8, 2)),
        Some((1, 3, 9, 3)),
        None,
        Some((0, 3, 9, 5)),
        Some((0, 3, 8, 6)),
    ];
    assert_eq!(parts, expected);
}

/// Calls with arguments that do not fit together.
#[derive(Clone, Copy)]
enum Wrong {
    Lengths,
    Roots,
    Parts,
    Bits,
    Space,
    NoSuchRoot,
    NoNative,
    OtherAlgorithm,
}

impl Program for Wrong {
    type Output = ();
    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        let rank = comm.rank();
        let numbers = |count: usize| Payload::of(&vec![1.0f64; count]);
        let bits = Reduction { element: Element::Float64, operator: Operator::BitOr };
        match self {
            Wrong::Lengths => drop(allreduce(&comm, numbers(2 + rank), Reduction::SUM_FLOAT64, Choice::Auto).await?),
            Wrong::Roots => drop(broadcast(&comm, rank % 2, numbers(1), Choice::Auto).await?),
            Wrong::Parts => drop(alltoallv(&comm, &numbers(2), &[8, 8], &[8, 8 + 8 * rank], None, Choice::Auto).await?),
            Wrong::Bits => drop(allreduce(&comm, numbers(1), bits, Choice::Auto).await?),
            Wrong::Space => drop(allgather(&comm, &numbers(1), Some(numbers(1)), Choice::Auto).await?),
            Wrong::NoSuchRoot => drop(broadcast(&comm, 9, numbers(1), Choice::Auto).await?),
            Wrong::NoNative => barrier(&comm, Choice::Native).await?,
            Wrong::OtherAlgorithm => barrier(&comm, Choice::Fixed(Algorithm::Bruck)).await?,
        }
        Ok(())
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let cases = [
        (Wrong::Lengths, "mismatched collective: allreduce on rank"),
        (Wrong::Roots, "the ranks disagree about an argument (the root, say)"),
        (Wrong::Parts, "mismatched collective: alltoallv on rank 1"),
        (Wrong::Bits, "bit-or of float64 elements is not defined"),
        (Wrong::Space, "space of 8 bytes for a result of 16"),
        (Wrong::NoSuchRoot, "names rank 9, but the communicator has ranks 0 to 1"),
        (Wrong::NoNative, "barrier: this backend has no native collectives"),
        (Wrong::OtherAlgorithm, "barrier has no algorithm bruck; it has dissemination, binomial"),
    ];
    for (wrong, message) in cases {
        let error = run(2, &wrong, &Options::default()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
