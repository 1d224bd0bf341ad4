//! Echoes of several threads at one time, as of programs that communicate from threads (`MPI_THREAD_MULTIPLE`).

use weft_comm::prepared::{Feature, Operation, ThreadedEcho};
use weft_comm::{CommError, Communicator, PreparedOperation};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::budget::{Budget, affordable};
use crate::description::{Group, Takes, takes};
use crate::echo::MESSAGES;
use crate::row::Row;
use crate::session::{Session, nodes, rate};
use crate::statistics::Statistics;
use crate::stopwatch::{fixed_iterations, warmup};

/// Threads where nobody says.
const THREADS: &[u64] = &[1, 2, 4];

/// Echoes of a thread by which times are estimated.
const PILOT: usize = 8;

/// Seconds that a part of the echoes takes at most. Between parts the ranks are seen to go on, and threads start anew.
const PART: f64 = 0.25;

/// The one-way time of messages of several threads, each with a thread of the other rank.
pub struct EchoThreads {
    threads: Vec<u32>,
}

impl Benchmark for EchoThreads {
    const NAME: &'static str = "echo-threads";
    const SUMMARY: &'static str =
        "threads of two ranks, each with one of the other, send a message there and back at one time: one-way time";
    const GROUP: Group = Group::PointToPoint;
    const ALIASES: &'static [&'static str] = &["latency-mt", "osu-latency-mt", "pingpongmt", "imb-pingpongmt"];
    const TAKES: &'static [Takes] =
        &[takes("bytes").of("message").default(MESSAGES), takes("threads").of("rank").default(THREADS)];
    const EXAMPLE: &'static str = "weft measure echo-threads --threads 1,2,4 --bytes 8,64K";
    const NEEDS: Option<Feature> = Some(Feature::Threads);

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<EchoThreads> {
        let asked = &session.request.threads;
        let own = THREADS.iter().map(|&threads| threads as u32).collect();
        Ok(Ok(Some(EchoThreads { threads: if asked.is_empty() { own } else { asked.clone() } })))
    }

    fn variants(&self) -> usize {
        self.threads.len()
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        let (rank, bytes, threads) = (session.comm.rank(), point.bytes(), self.threads[point.variant]);
        let Some(operations) = session.comm.operations().filter(|_| rank < 2) else { return Ok(None) };
        let echo = ThreadedEcho { peer: 1 - rank, leads: rank == 0, threads: threads as usize, bytes };
        let mut echoes = operations.prepare(&Operation::ThreadedEcho(echo))?;
        check(session, &mut *echoes, threads as usize, bytes)?;
        if rank == 1 {
            follow(session, &mut *echoes).await?;
            return Ok(None);
        }
        let times = lead(session, &mut *echoes, threads as usize).await?;
        let one_way = times.into_iter().map(|there_and_back| 0.5 * there_and_back).collect();
        let ranks = session.request.ranks.unwrap_or_else(|| nodes(&session.comm));
        let row = session.row(one_way, ranks, Some(bytes as u64));
        let hops = session.comm.hops_to(1).map(|hops| hops as u32);
        Ok(Some(Row { hops, threads: Some(threads), rate: rate(bytes as u64, row.seconds), ..row }))
    }
}

/// One echo of every thread, of a pattern that is another for each; rank 0 looks at what comes back.
fn check<C: Communicator>(
    session: &Session<'_, C>,
    echoes: &mut dyn PreparedOperation,
    threads: usize,
    bytes: usize,
) -> Result<(), CommError> {
    let stride = echoes.input().len() / threads;
    echoes.input().iter_mut().enumerate().for_each(|(index, byte)| *byte = pattern(index / stride, index % stride));
    echoes.run()?;
    if session.comm.rank() > 0 {
        return Ok(());
    }
    let wrong = echoes.output().chunks(stride).enumerate().find_map(|(thread, received)| {
        let index = (0..bytes).find(|&index| received[index] != pattern(thread, index))?;
        Some((thread, index, received[index]))
    });
    wrong.map_or(Ok(()), |(thread, index, came)| {
        let sent = pattern(thread, index);
        let what = format!("echo of thread {thread}: byte {index} came back as {came:#04x}, {sent:#04x} was sent");
        Err(session.error(what))
    })
}

/// Never 0, which is what memory has that nothing was received into.
fn pattern(thread: usize, index: usize) -> u8 {
    ((7 * thread + index) % 251) as u8 + 1
}

/// Times echoes on rank 0, which tells rank 1 how many come next; the seconds of all threads' echoes.
async fn lead<C: Communicator>(
    session: &Session<'_, C>,
    echoes: &mut dyn PreparedOperation,
    threads: usize,
) -> Result<Vec<f64>, CommError> {
    let seconds = session.request.seconds_per_point;
    let pace = Statistics::of(&part(session, echoes, PILOT).await?).median;
    let fixed = fixed_iterations(session);
    let mut budget = match fixed {
        Some(iterations) => Budget::within(seconds, pace, iterations, iterations),
        None => Budget::new(seconds, pace),
    };
    let most = |pace: f64| ((PART / pace.max(1e-9)) as usize).max(1);
    let mut untimed = warmup(session, fixed.unwrap_or_else(|| affordable(seconds, pace)));
    while untimed > 0 {
        let count = untimed.min(most(pace));
        part(session, echoes, count).await?;
        untimed -= count;
    }
    let mut times = Vec::new();
    while let Some(chunk) = budget.next_chunk() {
        let chunk = chunk.min(most(pace));
        let new = part(session, echoes, chunk).await?;
        // All threads go on at one time: what the time to be spent is spent on is the echoes of one.
        budget.spend(chunk, &new[..new.len() / threads]);
        times.extend(new);
    }
    session.tell(1, &[0u64]).await?;
    Ok(times)
}

async fn part<C: Communicator>(
    session: &Session<'_, C>,
    echoes: &mut dyn PreparedOperation,
    count: usize,
) -> Result<Vec<f64>, CommError> {
    session.tell(1, &[count as u64]).await?;
    echoes.times(count)
}

/// As many echoes as rank 0 tells, until it tells that there are none.
async fn follow<C: Communicator>(
    session: &Session<'_, C>,
    echoes: &mut dyn PreparedOperation,
) -> Result<(), CommError> {
    loop {
        let [count] = session.hear::<u64, 1>(0).await?;
        if count == 0 {
            return Ok(());
        }
        echoes.times(count as usize)?;
    }
}
