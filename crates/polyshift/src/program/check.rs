//! Exchanges whose results are looked at, element by element.

use weft_comm::{CommError, Communicator, Failure, Program};

use super::case::Case;
use crate::exchange::{Exchange, Options, RankPlan};

/// Does exchanges made up from seeds and checks every byte of their arrays, ghosts and padding included.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub seeds: Vec<u64>,
    /// How often each exchange is done.
    pub rounds: usize,
    /// As [`Options::plain`].
    pub plain: bool,
}

impl Program for Check {
    type Output = ();

    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        for (number, &seed) in self.seeds.iter().enumerate() {
            let case = Case::random(seed, comm.size());
            let options = Options { phantom: false, plain: self.plain, number: number as u32 };
            check(&comm, &case, self.rounds, options).await.map_err(|error| match error.into_failure() {
                Failure::Program { rank, message } => {
                    CommError::program(rank, format!("seed {seed} on {} ranks: {message}", comm.size()))
                }
                other => other.into(),
            })?;
        }
        Ok(())
    }
}

/// Does one exchange some times over and checks it.
///
/// # Errors
/// Those of the backend; [`Failure::Program`] for an array that does not hold what it must.
pub async fn check<C: Communicator>(comm: &C, case: &Case, rounds: usize, options: Options) -> Result<(), CommError> {
    let (rank, storages) = (comm.rank(), case.storages());
    let failed = |message: String| CommError::program(rank, message);
    let plan =
        RankPlan::new(&case.geometry, rank, &storages, &case.pattern).map_err(|error| failed(error.to_string()))?;
    let block = case.geometry.block();
    let mut exchange = Exchange::new(comm, plan, options)?;
    for round in 0..rounds {
        let mut arrays: Vec<Vec<u8>> = storages.iter().map(|storage| vec![0; storage.bytes(&block)]).collect();
        for (array, memory) in arrays.iter_mut().enumerate() {
            each_index(case, array, |index, offset| {
                let element = index.iter().map(|&at| usize::try_from(at).ok()).collect::<Option<Vec<usize>>>();
                let element = element.and_then(|local| case.geometry.element(rank, &local));
                let value = match element {
                    Some(element) => case.before(array, &element),
                    None => case.untouched(array, rank),
                };
                memory[offset..offset + value.len()].copy_from_slice(&value);
                Ok(())
            })
            .map_err(failed)?;
        }
        let pointers: Vec<*mut u8> = arrays.iter_mut().map(Vec::as_mut_ptr).collect();
        // SAFETY: the arrays have the memory that their storages say, and live through both calls.
        unsafe {
            exchange.begin(&pointers)?;
            exchange.end().await?;
        }
        for (array, memory) in arrays.iter().enumerate() {
            each_index(case, array, |index, offset| {
                let Some(expected) = case.after(array, rank, index) else { return Ok(()) };
                let actual = &memory[offset..offset + expected.len()];
                if actual == expected {
                    return Ok(());
                }
                Err(format!(
                    "round {round}, array {array} holds {actual:02x?} at {index:?}, not {expected:02x?}: {case:?}"
                ))
            })
            .map_err(failed)?;
        }
    }
    Ok(())
}

/// Every index of an array's memory, counted from the first element that is no ghost, with its offset in bytes.
fn each_index(
    case: &Case,
    array: usize,
    mut visit: impl FnMut(&[i64], usize) -> Result<(), String>,
) -> Result<(), String> {
    let (storage, block) = (&case.storages()[array], case.geometry.block());
    let ghosts = &case.ghosts[array];
    let first: Vec<i64> = ghosts.iter().map(|[before, _]| -(*before as i64)).collect();
    let last: Vec<i64> = ghosts.iter().zip(&block).map(|([_, after], block)| (block + after) as i64 - 1).collect();
    let mut index = first.clone();
    loop {
        visit(&index, storage.offset(&index) as usize)?;
        let Some(axis) = (0..index.len()).rev().find(|&axis| index[axis] < last[axis]) else { return Ok(()) };
        index[axis] += 1;
        index[axis + 1..].copy_from_slice(&first[axis + 1..]);
    }
}
