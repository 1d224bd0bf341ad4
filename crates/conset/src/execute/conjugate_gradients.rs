//! Conjugate gradients on a partitioned mesh: the kernel of the finite-element solver (section 5.2 of Feldmann, Stricker
//! and Warfel 1993).
//!
//! Elements belong to one rank each, unknowns on the border between ranks to all of them. A rank multiplies with the
//! matrix of its own elements; what the product lacks on the border comes from the neighbours, to be added. That exchange
//! is a connection set, and may be done over connections or by messages.

use std::sync::Arc;

use bytemuck::Pod;
use serde::{Deserialize, Serialize};
use weft_base::Operation;
use weft_comm::collective::{Choice, Element, Operator, allreduce};
use weft_comm::{Buffer, CommError, Communicator, Payload, Program, Reduction, Source, Tag, TagSelector, Work};

use super::exchange::Prepared;
use super::plan::{Execution, Part};
use crate::pattern::ConnectionSet;

const SUM: Reduction = Reduction { element: Element::Float64, operator: Operator::Sum };
const MAXIMUM: Reduction = Reduction { element: Element::Float64, operator: Operator::Maximum };
const GATHER: Tag = Tag::User(0xbfff);

/// What unknowns are computed and sent in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits, a word of iWarp.
    Single,
    #[default]
    Double,
}

impl Precision {
    /// What one addition or multiplication of a sum of products is charged as.
    pub fn operation(self) -> Operation {
        match self {
            Precision::Single => Operation::Float32SumOfProducts,
            Precision::Double => Operation::Float64SumOfProducts,
        }
    }

    /// Bytes of a number.
    pub fn bytes(self) -> u64 {
        match self {
            Precision::Single => 4,
            Precision::Double => 8,
        }
    }
}

/// The elements of one rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subdomain {
    /// The number of each of its unknowns in the whole problem.
    pub unknowns: Vec<u32>,
    /// The matrix of its elements, by rows (compressed): where each row starts and the last ends,
    pub row_starts: Vec<u32>,
    /// the places of columns among its unknowns,
    pub columns: Vec<u32>,
    /// and the entries.
    pub values: Vec<f64>,
    /// The right-hand side, the same on all ranks that share an unknown.
    pub right: Vec<f64>,
    /// Whether it counts each of its unknowns: one rank of those that share one does.
    pub counts: Vec<bool>,
}

/// A system of equations, its unknowns divided among ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Unknowns of the whole problem.
    pub unknowns: u32,
    pub subdomains: Vec<Subdomain>,
    /// Until the residual is this part of the right-hand side.
    pub tolerance: f64,
    /// At most.
    pub iterations: u32,
    #[serde(default)]
    pub precision: Precision,
}

/// A problem that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    #[error("subdomain {subdomain}: {what}")]
    Subdomain { subdomain: usize, what: String },
    #[error("the exchange joins ranks {from} and {to} with {words} words, but they share {shared} unknowns")]
    Exchange { from: usize, to: usize, words: u64, shared: usize },
    #[error("ranks {from} and {to} share {shared} unknowns, but the exchange does not join them")]
    Missing { from: usize, to: usize, shared: usize },
    #[error("the exchange has words of {word_bytes} bytes, the unknowns have {bytes}")]
    Words { word_bytes: u64, bytes: u64 },
    #[error("the exchange is of {ranks} ranks, the problem of {subdomains} subdomains")]
    Ranks { ranks: usize, subdomains: usize },
}

impl Problem {
    /// Checks every subdomain: places of columns, lengths, that one rank counts each unknown.
    ///
    /// # Errors
    /// [`ProblemError::Subdomain`] with what is wrong.
    pub fn check(&self) -> Result<(), ProblemError> {
        let mut counted = vec![0u32; self.unknowns as usize];
        for (subdomain, part) in self.subdomains.iter().enumerate() {
            let fault = |what: String| Err(ProblemError::Subdomain { subdomain, what });
            let size = part.unknowns.len();
            if part.row_starts.len() != size + 1 || part.right.len() != size || part.counts.len() != size {
                return fault(format!("its lists are not of the length of its {size} unknowns"));
            }
            let entries = part.row_starts.last().copied().unwrap_or(0) as usize;
            let ascends = part.row_starts.windows(2).all(|pair| pair[0] <= pair[1]);
            if !ascends || part.columns.len() != entries || part.values.len() != entries {
                return fault("its rows do not fit its entries".to_owned());
            }
            if let Some(column) = part.columns.iter().find(|&&column| column as usize >= size) {
                return fault(format!("column {column} of {size} unknowns"));
            }
            if !part.unknowns.windows(2).all(|pair| pair[0] < pair[1]) {
                return fault("its unknowns must ascend".to_owned());
            }
            for (&unknown, counts) in part.unknowns.iter().zip(&part.counts) {
                match counted.get_mut(unknown as usize) {
                    Some(times) => *times += u32::from(*counts),
                    None => return fault(format!("unknown {unknown} of {}", self.unknowns)),
                }
            }
        }
        match counted.iter().position(|&times| times != 1) {
            Some(unknown) => {
                let what = format!("unknown {unknown} is counted by {} ranks", counted[unknown]);
                Err(ProblemError::Subdomain { subdomain: 0, what })
            }
            None => Ok(()),
        }
    }

    /// The unknowns that two ranks share, as places in the list of the first.
    fn shared(&self, here: usize, there: usize) -> Vec<u32> {
        let (own, other) = (&self.subdomains[here].unknowns, &self.subdomains[there].unknowns);
        let is_shared = |(_, unknown): &(usize, &u32)| other.binary_search(unknown).is_ok();
        own.iter().enumerate().filter(is_shared).map(|(index, _)| index as u32).collect()
    }

    /// The connection set of its exchange: from every rank to every other that shares unknowns with it, a word for each.
    ///
    /// # Errors
    /// What the connection set's own check says.
    pub fn connection_set(&self, name: &str) -> Result<ConnectionSet, crate::PatternError> {
        let connections = neighbours(self)
            .into_iter()
            .map(|(from, to, shared)| crate::Connection {
                source: from as u32,
                destination: to as u32,
                words: shared as u64,
            })
            .collect();
        ConnectionSet::new(name, self.subdomains.len() as u32, connections)
    }
}

/// Every ordered pair of ranks that share unknowns, and how many.
fn neighbours(problem: &Problem) -> Vec<(usize, usize, usize)> {
    let mut ranks_of: Vec<Vec<u32>> = vec![Vec::new(); problem.unknowns as usize];
    for (rank, part) in problem.subdomains.iter().enumerate() {
        part.unknowns.iter().for_each(|&unknown| ranks_of[unknown as usize].push(rank as u32));
    }
    let mut shared: std::collections::BTreeMap<(usize, usize), usize> = std::collections::BTreeMap::new();
    for ranks in ranks_of.iter().filter(|ranks| ranks.len() > 1) {
        for &from in ranks {
            for &to in ranks.iter().filter(|&&to| to != from) {
                *shared.entry((from as usize, to as usize)).or_default() += 1;
            }
        }
    }
    shared.into_iter().map(|((from, to), count)| (from, to, count)).collect()
}

/// A problem with the places that every connection gathers from and scatters to.
#[derive(Clone, Debug)]
pub struct Partitioned {
    problem: Arc<Problem>,
    execution: Execution,
    /// Of every connection, the places in its sender's and in its receiver's list.
    gathered: Arc<Vec<Vec<u32>>>,
    scattered: Arc<Vec<Vec<u32>>>,
}

impl Partitioned {
    /// Joins a problem with the exchange that `execution` does for `set`.
    ///
    /// # Errors
    /// [`ProblemError`] when the two do not fit.
    pub fn new(problem: Problem, set: &ConnectionSet, execution: Execution) -> Result<Partitioned, ProblemError> {
        problem.check()?;
        let subdomains = problem.subdomains.len();
        if execution.plan.ranks() != subdomains {
            return Err(ProblemError::Ranks { ranks: execution.plan.ranks(), subdomains });
        }
        let (word_bytes, bytes) = (execution.word_bytes, problem.precision.bytes());
        if word_bytes != bytes {
            return Err(ProblemError::Words { word_bytes, bytes });
        }
        let (mut gathered, mut scattered) = (Vec::new(), Vec::new());
        let mut joined = rustc_hash::FxHashSet::default();
        for connection in &set.connections {
            let (from, to) = (connection.source as usize, connection.destination as usize);
            let indices = problem.shared(from, to);
            if indices.len() as u64 != connection.words || !joined.insert((from, to)) {
                let (words, shared) = (connection.words, indices.len());
                return Err(ProblemError::Exchange { from, to, words, shared });
            }
            scattered.push(problem.shared(to, from));
            gathered.push(indices);
        }
        if let Some(&(from, to, shared)) =
            neighbours(&problem).iter().find(|(from, to, _)| !joined.contains(&(*from, *to)))
        {
            return Err(ProblemError::Missing { from, to, shared });
        }
        Ok(Partitioned {
            problem: Arc::new(problem),
            execution,
            gathered: Arc::new(gathered),
            scattered: Arc::new(scattered),
        })
    }
}

/// The program: solves a partitioned problem.
#[derive(Clone, Debug)]
pub struct ConjugateGradients(pub Partitioned);

/// What the solver came to; the same on all ranks but for `unknowns`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Solution {
    /// The unknowns of the whole problem on rank 0, nothing elsewhere.
    pub unknowns: Vec<f64>,
    pub iterations: u32,
    /// The norm of the residual over that of the right-hand side.
    pub residual: f64,
    /// Of one product with the matrix, the largest over the ranks: its own computation, s,
    pub compute_seconds: f64,
    /// and from when the last rank has computed until all have what they need, s.
    pub exchange_seconds: f64,
    /// All iterations together, s.
    pub seconds: f64,
}

impl Program for ConjugateGradients {
    type Output = Solution;

    async fn run<C: Communicator>(self, comm: C) -> Result<Solution, CommError> {
        match self.0.problem.precision {
            Precision::Single => solve::<f32, C>(&self.0, &comm).await,
            Precision::Double => solve::<f64, C>(&self.0, &comm).await,
        }
    }
}

/// A number as it is kept and sent.
trait Number: Pod {
    const PRECISION: Precision;
    fn of(value: f64) -> Self;
    fn to_f64(self) -> f64;
}

impl Number for f32 {
    const PRECISION: Precision = Precision::Single;
    fn of(value: f64) -> f32 {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Number for f64 {
    const PRECISION: Precision = Precision::Double;
    fn of(value: f64) -> f64 {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}

/// One rank of the solver.
struct Rank<'a, N, C> {
    comm: &'a C,
    partitioned: &'a Partitioned,
    own: &'a Subdomain,
    values: Vec<N>,
}

async fn solve<N: Number, C: Communicator>(partitioned: &Partitioned, comm: &C) -> Result<Solution, CommError> {
    let own = &partitioned.problem.subdomains[comm.rank()];
    let values = own.values.iter().map(|&value| N::of(value)).collect();
    let rank = Rank::<N, C> { comm, partitioned, own, values };
    let (tolerance, most) = (partitioned.problem.tolerance, partitioned.problem.iterations);
    let mut prepared = Prepared::new(comm, &partitioned.execution, false)?;
    let size = own.unknowns.len();
    let mut x = vec![N::of(0.0); size];
    let mut residual: Vec<N> = own.right.iter().map(|&value| N::of(value)).collect();
    let mut direction = residual.clone();
    let first = rank.dot(&residual, &residual).await?;
    let (mut square, mut iterations) = (first, 0);
    let (mut compute_seconds, mut exchange_seconds) = (0.0, 0.0);
    let start = comm.wtime();
    while square.sqrt() > tolerance * first.sqrt() && iterations < most {
        let begin = comm.wtime();
        let mut product = rank.multiply(&direction).await;
        let computed = comm.wtime();
        rank.add_of_neighbours(&mut prepared, &mut product).await?;
        let end = comm.wtime();
        let curvature = rank.dot(&direction, &product).await?;
        let step = square / curvature;
        for row in 0..size {
            x[row] = N::of(x[row].to_f64() + step * direction[row].to_f64());
            residual[row] = N::of(residual[row].to_f64() - step * product[row].to_f64());
        }
        let next = rank.dot(&residual, &residual).await?;
        let share = next / square;
        for row in 0..size {
            direction[row] = N::of(residual[row].to_f64() + share * direction[row].to_f64());
        }
        rank.charge(6 * size as u64).await;
        square = next;
        iterations += 1;
        if iterations == 1 {
            compute_seconds = rank.largest(computed - begin).await?;
            // In virtual time clocks agree: from the last that has computed to the last that has what it needs.
            exchange_seconds = if comm.virtual_time() {
                rank.largest(end).await? - rank.largest(computed).await?
            } else {
                rank.largest(end - computed).await?
            };
        }
    }
    let seconds = rank.largest(comm.wtime() - start).await?;
    let residual = if first > 0.0 { (square / first).sqrt() } else { 0.0 };
    let unknowns = rank.collect(&x).await?;
    Ok(Solution { unknowns, iterations, residual, compute_seconds, exchange_seconds, seconds })
}

impl<N: Number, C: Communicator> Rank<'_, N, C> {
    /// The product with the matrix of this rank's elements.
    async fn multiply(&self, vector: &[N]) -> Vec<N> {
        let rows = self.own.row_starts.windows(2);
        let product = rows
            .map(|ends| {
                let entries = ends[0] as usize..ends[1] as usize;
                let terms = entries.map(|at| self.values[at].to_f64() * vector[self.own.columns[at] as usize].to_f64());
                N::of(terms.sum())
            })
            .collect();
        self.charge(2 * self.values.len() as u64).await;
        product
    }

    /// Adds what the neighbours have on the border.
    async fn add_of_neighbours(&self, prepared: &mut Prepared<C>, product: &mut [N]) -> Result<(), CommError> {
        let Partitioned { gathered, scattered, .. } = self.partitioned;
        let words = |part: &Part| part.first_word as usize..(part.first_word + part.words) as usize;
        let gather = |part: &Part, bytes: &mut [u8]| {
            let indices = &gathered[part.connection as usize][words(part)];
            for (value, &index) in bytes.chunks_exact_mut(size_of::<N>()).zip(indices) {
                value.copy_from_slice(bytemuck::bytes_of(&product[index as usize]));
            }
        };
        let mut parts: Vec<(Part, Vec<N>)> = Vec::new();
        let scatter = |part: &Part, bytes: &[u8]| {
            parts.push((*part, bytes.chunks_exact(size_of::<N>()).map(bytemuck::pod_read_unaligned).collect()));
        };
        prepared.exchange(gather, scatter).await?;
        // In the order of connections, not of arrival: sums are the same in every run.
        parts.sort_by_key(|(part, _)| (part.connection, part.first_word));
        for (part, values) in parts {
            let indices = &scattered[part.connection as usize][words(&part)];
            for (value, &index) in values.iter().zip(indices) {
                let sum = &mut product[index as usize];
                *sum = N::of(sum.to_f64() + value.to_f64());
            }
        }
        Ok(())
    }

    /// The scalar product over the whole problem.
    async fn dot(&self, a: &[N], b: &[N]) -> Result<f64, CommError> {
        let counted = a.iter().zip(b).zip(&self.own.counts).filter(|(_, counts)| **counts);
        let own: f64 = counted.map(|((a, b), _)| a.to_f64() * b.to_f64()).sum();
        self.charge(2 * a.len() as u64).await;
        self.reduced(own, SUM).await
    }

    async fn largest(&self, value: f64) -> Result<f64, CommError> {
        self.reduced(value, MAXIMUM).await
    }

    async fn reduced(&self, value: f64, reduction: Reduction) -> Result<f64, CommError> {
        let all = allreduce(self.comm, Payload::of(&[value]), reduction, Choice::Auto).await?;
        Ok(all.values::<f64>().expect("a reduction of data is data")[0])
    }

    async fn charge(&self, count: u64) {
        self.comm.compute(Work::Operations { operation: N::PRECISION.operation(), count }).await;
    }

    /// All unknowns on rank 0.
    async fn collect(&self, own: &[N]) -> Result<Vec<f64>, CommError> {
        if self.comm.rank() > 0 {
            self.comm.send(0, GATHER, Payload::of(own)).await?;
            return Ok(Vec::new());
        }
        let problem = &self.partitioned.problem;
        let mut all = vec![0.0; problem.unknowns as usize];
        for (rank, part) in problem.subdomains.iter().enumerate() {
            let received;
            let values = if rank == 0 {
                own
            } else {
                let into = Payload::Data(Buffer::zeroed(part.unknowns.len() * size_of::<N>()));
                received = self.comm.recv(Source::Rank(rank), TagSelector::Only(GATHER), into).await?.payload;
                received.values::<N>().expect("unknowns are data")
            };
            for (&unknown, value) in part.unknowns.iter().zip(values) {
                all[unknown as usize] = value.to_f64();
            }
        }
        Ok(all)
    }
}
