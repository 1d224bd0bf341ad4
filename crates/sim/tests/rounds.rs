//! Collectives carried out for all ranks together take the times of their messages sent one by one.

use weft_comm::collective::{self, Choice, Reduction, Rounds};
use weft_comm::{CollectiveKind, CommError, Communicator, Payload, RunError, Work};
use weft_sim::{Options, Part, Placement, SimComm, run_with};

/// How the collectives of a run are carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    OneByOne,
    Together,
    /// Every third rank is polled in each round.
    SomePolled,
}

async fn barrier(comm: &SimComm, path: Path) -> Result<(), CommError> {
    match comm.rounds(CollectiveKind::Barrier, 0).filter(|_| path != Path::OneByOne) {
        None => collective::barrier(comm, Choice::Auto).await,
        Some(rounds) => joined(comm, path, rounds, CollectiveKind::Barrier, Payload::EMPTY).await.map(drop),
    }
}

async fn allreduce(comm: &SimComm, path: Path, vector: Payload) -> Result<Payload, CommError> {
    let reduction = Reduction::SUM_FLOAT64;
    match comm.rounds(CollectiveKind::Allreduce, vector.len()).filter(|_| path != Path::OneByOne) {
        None => collective::allreduce(comm, vector, reduction, Choice::Auto).await,
        Some(rounds) => joined(comm, path, rounds, CollectiveKind::Allreduce, vector).await,
    }
}

async fn joined(
    comm: &SimComm,
    path: Path,
    rounds: Rounds,
    kind: CollectiveKind,
    vector: Payload,
) -> Result<Payload, CommError> {
    let is_polled = path == Path::SomePolled && comm.rank().is_multiple_of(3);
    let reduction = (kind == CollectiveKind::Allreduce).then_some(Reduction::SUM_FLOAT64);
    let result = comm.join_rounds(rounds, Part { kind, vector, reduction, is_polled }).await?;
    Ok((*result).clone())
}

/// Collectives among all and among halves, from moments that differ by rank; every result and time.
async fn program(comm: SimComm, path: Path) -> Result<Vec<f64>, CommError> {
    let half = comm.split(Some(comm.rank() as u32 % 2), -(comm.rank() as i64)).await?.expect("a color of its own");
    let mut seen = Vec::new();
    for step in 0..6_usize {
        comm.compute(Work::Seconds((comm.rank() * 7 + step * 5) as f64 % 11.0 * 1e-6)).await;
        let among = if step % 2 == 0 { &comm } else { &half };
        let vector = vec![comm.rank() as f64 + 0.1; [1, 30, 0][step % 3]];
        let sum = allreduce(among, path, Payload::of(&vector)).await?;
        seen.extend(sum.values::<f64>().expect("data"));
        seen.push(comm.wtime());
        barrier(among, path).await?;
        seen.push(comm.wtime());
    }
    Ok(seen)
}

#[test]
fn times_results_and_messages_are_those_of_messages_one_by_one() {
    for name in ["frontera", "ipsc860", "ncube6400", "rail-h100"] {
        let machine = weft_machine::find(name).unwrap();
        for ranks in [1, 2, 3, 6, 8, 13, 32, 57] {
            let run = |path| {
                let start = |comm| program(comm, path);
                run_with(&machine, &Placement::identity(ranks), start, &Options::default()).unwrap()
            };
            let expected = run(Path::OneByOne);
            for path in [Path::Together, Path::SomePolled] {
                let outcome = run(path);
                assert_eq!(outcome.outputs, expected.outputs, "{name}, {ranks} ranks, {path:?}");
                assert_eq!(outcome.finished, expected.finished, "{name}, {ranks} ranks, {path:?}");
                assert_eq!(outcome.messages, expected.messages, "{name}, {ranks} ranks, {path:?}");
            }
        }
    }
}

fn error_of<F: Future<Output = Result<(), CommError>>>(ranks: usize, start: impl Fn(SimComm) -> F) -> RunError {
    let machine = weft_machine::find("ipsc860").unwrap();
    run_with(&machine, &Placement::identity(ranks), start, &Options::default()).unwrap_err()
}

#[test]
fn short_messages_on_machines_that_buffer_them_are_carried_out_together() {
    error_of(3, |comm| async move {
        assert!(comm.rounds(CollectiveKind::Allreduce, 8).is_some());
        assert!(comm.rounds(CollectiveKind::Allreduce, 1 << 20).is_none());
        Err(CommError::program(0, "checked"))
    });
}

#[test]
fn vectors_of_different_lengths_are_refused() {
    let error = error_of(4, |comm| async move {
        let vector = vec![1.0; 2 + comm.rank() / 3];
        allreduce(&comm, Path::Together, Payload::of(&vector)).await.map(drop)
    });
    let said = "mismatched collective: allreduce on rank 3: rank 0 of the communicator sent 16 bytes where this rank, \
                its rank 3, expects 24";
    assert_eq!(error.to_string(), said);
}

#[test]
fn a_rank_whose_vector_goes_another_path_is_named() {
    let error = error_of(2, |comm| async move {
        let long = comm.rank() == 1;
        let path = if long { Path::OneByOne } else { Path::Together };
        allreduce(&comm, path, Payload::of(&vec![1.0; if long { 4096 } else { 1 }])).await.map(drop)
    });
    let said = "mismatched collective: allreduce on rank 0: rank 1 of the communicator sent 16384 bytes where 8 are \
                expected";
    assert_eq!(error.to_string(), said);
}

#[test]
fn different_collectives_are_named() {
    let error = error_of(2, |comm| async move {
        match comm.rank() {
            0 => barrier(&comm, Path::Together).await,
            _ => allreduce(&comm, Path::Together, Payload::of(&[1.0])).await.map(drop),
        }
    });
    assert!(error.to_string().contains("rank 1 is in allreduce where rank 0 is in barrier"), "{error}");
}

#[test]
fn a_rank_that_does_not_come_is_a_deadlock_that_names_what_the_others_wait_for() {
    let error =
        error_of(3, |comm| async move { if comm.rank() == 2 { Ok(()) } else { barrier(&comm, Path::Together).await } });
    let said = error.to_string();
    assert!(said.starts_with("deadlock: 2 of 3 ranks cannot go on") && said.contains("barrier"), "{said}");
}
