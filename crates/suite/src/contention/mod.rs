//! Contention: a probe's rate while other messages load the network (Dunigan 1991, section 4.3, figures 7 and 8).
//!
//! The paper's case is the default: node 0 continuously sends to node 7, through nodes 1 and 3, and node 3 measures the
//! rate of the messages that come from node 1. Any pattern of background and any pair may take their places.

mod background;
mod pattern;

use weft_comm::{CommError, Communicator};

use pattern::{Pair, Pattern};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::request::Request;
use crate::routing::TRAFFIC;
use crate::row::Row;
use crate::session::{Session, Step, rate};
use crate::signals::{DONE, GO, READY, STOP, await_all, await_quietly, receive_times, send_times, signal_all};
use crate::stopwatch::{Part, stopwatch};
use crate::stream::{Incoming, Outgoing, drain};
use crate::usage::{UsageError, refuse_if};

/// Messages of the probe in one iteration.
const MESSAGES: usize = 32;
/// Loads where nobody says.
const LOADS: &[u64] = &[8, 128, 1024, 8192];
/// The background where nobody says.
const BACKGROUND: &str = "stream";
/// The probe where nobody says (Dunigan 1991, section 4.3).
const PROBE: [usize; 2] = [1, 3];
/// The rank that has the rows.
const REPORTING: usize = 0;

/// Who loads and who probes.
pub struct Contention {
    pattern: Pattern,
    pairs: Vec<Pair>,
    probe: Pair,
    loads: Vec<u64>,
}

impl Benchmark for Contention {
    const NAME: &'static str = "contention";
    const SUMMARY: &'static str =
        "a probe's rate by the load of background traffic: time of one message and what it loses";
    const GROUP: Group = Group::Traffic;
    const TAKES: &'static [Takes] = &[
        takes("bytes").of("message").default(TRAFFIC).least(1),
        takes("background"),
        takes("background_bytes").default(LOADS),
        takes("probe"),
    ];
    const EXAMPLE: &'static str = "weft measure contention --background-bytes 8,1K,8K --bytes 8:8K --on ncube6400";
    const MIN_RANKS: usize = 4;
    const WHY_RANKS: &'static str = ": two probe, the others load the network";
    const DEFAULT_RANKS: usize = 8;

    fn check(request: &Request) -> Result<(), UsageError> {
        let pattern = request.background.as_deref().map_or(Ok(Pattern::Stream), str::parse)?;
        refuse_if(pattern == Pattern::None && !request.background_bytes.is_empty(), || {
            "background 'none' has no messages, so it takes no background_bytes".to_owned()
        })?;
        refuse_if(request.probe.is_some_and(|[from, to]| from == to), || {
            "the probe needs two different ranks; for a rank's messages to itself use echo-self".to_owned()
        })
    }

    fn check_ranks(request: &Request, ranks: usize) -> Result<(), UsageError> {
        Contention::of(request, ranks).map(drop)
    }

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<Contention> {
        Ok(Contention::of(session.request, session.comm.size()).map(Some))
    }

    /// The loads; one where the background is none.
    fn variants(&self) -> usize {
        self.loads.len().max(1)
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        contention(session, self, point.variant, point.bytes()).await
    }
}

impl Contention {
    /// What the request asks for, on `size` ranks; the same on all of them.
    ///
    /// # Errors
    /// [`UsageError`] for patterns and probes that these ranks cannot be.
    fn of(request: &Request, size: usize) -> Result<Contention, UsageError> {
        let [from, to] = request.probe.unwrap_or(PROBE);
        refuse_if(from >= size || to >= size, || {
            format!("probe {from}-{to}: {size} ranks are numbered 0 to {}", size - 1)
        })?;
        let pattern: Pattern = request.background.as_deref().unwrap_or(BACKGROUND).parse()?;
        let pairs = pattern.pairs(size, (from, to), request.seed)?;
        let loads = match () {
            () if pairs.is_empty() => Vec::new(),
            () if request.background_bytes.is_empty() => LOADS.to_vec(),
            () => request.background_bytes.clone(),
        };
        Ok(Contention { pattern, pairs, probe: (from, to), loads })
    }

    fn loads_network(&self, rank: usize) -> bool {
        self.pairs.iter().any(|&(from, to)| rank == from || rank == to)
    }

    fn row<C: Communicator>(&self, session: &Session<'_, C>, times: Times, load: Option<u64>, bytes: u64) -> Row {
        let row = session.disturbed_row(times.quiet, times.loaded, Some(bytes));
        Row {
            background: Some(self.pattern.to_string()),
            background_bytes: load,
            probe: Some(format!("{}-{}", self.probe.0, self.probe.1)),
            rate: rate(bytes, row.seconds),
            ..row
        }
    }
}

/// The times of one message of the probe.
struct Times {
    quiet: Vec<f64>,
    loaded: Vec<f64>,
}

/// A probe of messages of `bytes` without and with the load of that number; rank 0 gets the row.
async fn contention<C: Communicator>(
    session: &Session<'_, C>,
    contention: &Contention,
    load: usize,
    bytes: usize,
) -> Result<Option<Row>, CommError> {
    let comm = &session.comm;
    let (rank, (from, to)) = (comm.rank(), contention.probe);
    let load = contention.loads.get(load).copied();
    let mut own = None;
    if rank == to {
        own = Some(measure(session, contention, bytes).await?);
    } else if rank == from {
        let mut probe = Probe { stream: Outgoing::new(session, to, bytes, true) };
        for _ in 0..if load.is_some() { 2 } else { 1 } {
            stopwatch(session, Part::Follows { leader: to }, &mut probe).await?;
            probe.stream.flush().await?;
        }
    } else if let Some(bytes) = load.filter(|_| contention.loads_network(rank)) {
        await_quietly(comm, to, GO).await?;
        background::run(session, &contention.pairs, bytes as usize, to).await?;
    }
    match own {
        Some(times) if rank != REPORTING => {
            send_times(comm, REPORTING, &times.quiet).await?;
            send_times(comm, REPORTING, &times.loaded).await?;
            Ok(None)
        }
        Some(times) => Ok(Some(contention.row(session, times, load, bytes as u64))),
        None if rank == REPORTING => {
            let times = Times { quiet: receive_times(comm, to).await?, loaded: receive_times(comm, to).await? };
            Ok(Some(contention.row(session, times, load, bytes as u64)))
        }
        None => Ok(None),
    }
}

/// The rank that receives the probe: measures in quiet, has the background begin, measures, and ends it.
async fn measure<C: Communicator>(
    session: &Session<'_, C>,
    contention: &Contention,
    bytes: usize,
) -> Result<Times, CommError> {
    let comm = &session.comm;
    let (followers, to) = (&[contention.probe.0], contention.probe.1);
    let mut receives = Receives { stream: [Incoming::new(session, contention.probe.0, bytes, true)] };
    let of_one = |times: Option<Vec<f64>>| -> Vec<f64> {
        times.unwrap_or_default().into_iter().map(|all| all / MESSAGES as f64).collect()
    };
    let quiet = of_one(stopwatch(session, Part::Leads { followers }, &mut receives).await?);
    if contention.pairs.is_empty() {
        return Ok(Times { loaded: quiet.clone(), quiet });
    }
    let loading: Vec<usize> = (0..comm.size()).filter(|&rank| contention.loads_network(rank)).collect();
    debug_assert!(!loading.contains(&to), "a rank that probes takes no part in the background");
    let sending: Vec<usize> =
        loading.iter().copied().filter(|&rank| contention.pairs.iter().any(|pair| pair.0 == rank)).collect();
    signal_all(comm, &loading, GO).await?;
    await_all(comm, &loading, READY).await?;
    let loaded = of_one(stopwatch(session, Part::Leads { followers }, &mut receives).await?);
    signal_all(comm, &sending, STOP).await?;
    await_all(comm, &loading, DONE).await?;
    Ok(Times { quiet, loaded })
}

/// The sending end of the probe.
struct Probe<C: Communicator> {
    stream: Outgoing<C>,
}

impl<C: Communicator> Step<C> for Probe<C> {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        for _ in 0..MESSAGES {
            self.stream.push(comm).await?;
        }
        Ok(())
    }
}

/// Its receiving end.
struct Receives<C: Communicator> {
    stream: [Incoming<C>; 1],
}

impl<C: Communicator> Step<C> for Receives<C> {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        drain(comm, &mut self.stream, MESSAGES).await
    }
}
