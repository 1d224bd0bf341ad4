//! Every pair of ranks, one direction after the other: a tournament of rounds of disjoint pairs.

use rand::seq::SliceRandom;
use weft_comm::collective::{Choice, Element, Operator, allreduce, barrier, gather};
use weft_comm::{CommError, Communicator, Payload, Reduction, Source, TagSelector};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::row::Row;
use crate::session::{ACKNOWLEDGE, Session, Step, TIMED, rate};
use crate::statistics::Statistics;
use crate::stopwatch::{Part, stopwatch};

/// A short message, whose time is that of software and route, and a long one, whose time is that of the rate.
const LENGTHS: &[u64] = &[8, 262_144];

/// The stream of random numbers that the order of ranks comes from.
const ORDER: u64 = 2;

/// The rank that has the rows.
const ROOT: usize = 0;

/// The time of a message from every rank to every other.
pub struct Pairs {
    /// The number that each rank plays under: another launch meets in other rounds.
    order: Vec<usize>,
    /// What the nodes of all ranks are called, and the processors that each may run on; on the root.
    names: Vec<Option<String>>,
    bindings: Vec<Option<String>>,
}

impl Benchmark for Pairs {
    const NAME: &'static str = "pairs";
    const SUMMARY: &'static str =
        "a message from every rank to every other, in rounds of disjoint pairs: time there with an empty answer";
    const GROUP: Group = Group::PointToPoint;
    const ALIASES: &'static [&'static str] = &["linktest", "mpigraph"];
    const TAKES: &'static [Takes] = &[takes("bytes").of("message").default(LENGTHS)];
    const EXAMPLE: &'static str = "weft measure pairs --on ipsc860 --ranks 8 --bytes 8,64K";

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<Pairs> {
        let names = texts(session, &session.comm.node_name().unwrap_or_default()).await?;
        let binding = session.comm.binding().map(|binding| binding.to_string());
        let bindings = texts(session, &binding.unwrap_or_default()).await?;
        let mut order: Vec<usize> = (0..session.comm.size()).collect();
        order.shuffle(&mut weft_base::generator(session.request.seed, ORDER));
        Ok(Ok(Some(Pairs { order, names, bindings })))
    }

    async fn measure<C: Communicator>(&self, _: &Session<'_, C>, _: Point) -> Result<Option<Row>, CommError> {
        Ok(None)
    }

    async fn measure_all<C: Communicator>(
        &self,
        session: &Session<'_, C>,
        point: Point,
    ) -> Result<Vec<Row>, CommError> {
        let own = self.tournament(session, point.bytes()).await?;
        let whole = gather(&session.comm, ROOT, &Payload::of(&own), None, Choice::Auto).await?;
        let Some(whole) = whole else { return Ok(Vec::new()) };
        let measured = whole.values::<f64>().ok_or_else(|| session.error("ranks sent no times".to_owned()))?;
        Ok(self.rows(session, measured, point.bytes() as u64))
    }
}

/// What is known of a pair in one direction, as numbers that ranks send.
const FIGURES: usize = 4;

impl Pairs {
    /// Meets every other rank; what this rank found as a sender, by receiver.
    async fn tournament<C: Communicator>(&self, session: &Session<'_, C>, bytes: usize) -> Result<Vec<f64>, CommError> {
        let (rank, size) = (session.comm.rank(), session.comm.size());
        let number = self.order.iter().position(|&other| other == rank).unwrap_or(rank);
        let mut measured = vec![f64::NAN; FIGURES * size];
        for round in 0..rounds(size) {
            barrier(&session.comm, Choice::Auto).await?;
            let Some(partner) = opponent(size, number, round).map(|other| self.order[other]) else { continue };
            for sender in [rank.min(partner), rank.max(partner)] {
                if let Some(figures) = one_way(session, sender == rank, partner, bytes).await? {
                    measured[FIGURES * partner..][..FIGURES].copy_from_slice(&figures);
                }
            }
        }
        Ok(measured)
    }

    fn rows<C: Communicator>(&self, session: &Session<'_, C>, measured: &[f64], bytes: u64) -> Vec<Row> {
        let size = session.comm.size();
        let pairs = (0..size).flat_map(|from| (0..size).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let of_pair = |(from, to): (usize, usize)| {
            let figures = &measured[FIGURES * (from * size + to)..][..FIGURES];
            let row = session.row(vec![figures[0]], size, Some(bytes));
            Row {
                seconds_p10: figures[1],
                iterations: figures[2] as u32,
                share_above_3x: figures[3],
                rate: rate(bytes, figures[0]),
                sender: Some(from as u32),
                receiver: Some(to as u32),
                sender_node: self.names[from].clone(),
                receiver_node: self.names[to].clone(),
                sender_binding: self.bindings[from].clone(),
                receiver_binding: self.bindings[to].clone(),
                samples: None,
                ..row
            }
        };
        pairs.map(of_pair).collect()
    }
}

/// The rounds in which each of `size` meets each other once.
fn rounds(size: usize) -> usize {
    if size.is_multiple_of(2) { size - 1 } else { size }
}

/// Whom a number meets in a round, by the circle method (Kirkman 1847): the last number stays, the others go round; with an
/// odd number of them one rests in each round.
fn opponent(size: usize, number: usize, round: usize) -> Option<usize> {
    let even = size + size % 2;
    let circle = even - 1;
    let other = match number {
        last if last == circle => round * even / 2 % circle,
        _ => match (2 * circle + round - number) % circle {
            itself if itself == number => circle,
            other => other,
        },
    };
    (other < size).then_some(other)
}

/// One direction of a pair: the sender has the figures.
async fn one_way<C: Communicator>(
    session: &Session<'_, C>,
    sends: bool,
    partner: usize,
    bytes: usize,
) -> Result<Option<[f64; FIGURES]>, CommError> {
    let message = session.buffer(bytes);
    let mut step = Transfer { sends, partner, message };
    let part = if sends { Part::Leads { followers: &[partner] } } else { Part::Follows { leader: partner } };
    let times = stopwatch(session, part, &mut step).await?;
    Ok(times.map(|times| {
        let Statistics { median, decile, share_above_3x } = Statistics::of(&times);
        [median, decile, times.len() as f64, share_above_3x]
    }))
}

struct Transfer {
    sends: bool,
    partner: usize,
    message: Payload,
}

impl<C: Communicator> Step<C> for Transfer {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let (partner, from) = (self.partner, Source::Rank(self.partner));
        if self.sends {
            comm.send_from(partner, TIMED, &mut self.message).await?;
            comm.recv(from, TagSelector::Only(ACKNOWLEDGE), Payload::EMPTY).await.map(drop)
        } else {
            comm.recv_into(from, TagSelector::Only(TIMED), &mut self.message).await?;
            comm.send(partner, ACKNOWLEDGE, Payload::EMPTY).await.map(drop)
        }
    }
}

/// A text of each rank, `None` where it is empty; on the root, elsewhere nothing.
async fn texts<C: Communicator>(session: &Session<'_, C>, own: &str) -> Result<Vec<Option<String>>, CommError> {
    let longest = Reduction { element: Element::Float64, operator: Operator::Maximum };
    let length = allreduce(&session.comm, Payload::of(&[own.len() as f64]), longest, Choice::Auto).await?;
    let length = length.values::<f64>().and_then(|values| values.first().copied()).unwrap_or(0.0) as usize;
    if length == 0 {
        return Ok(vec![None; session.comm.size()]);
    }
    let mut padded = vec![0u8; length];
    padded[..own.len()].copy_from_slice(own.as_bytes());
    let whole = gather(&session.comm, ROOT, &Payload::of(&padded), None, Choice::Auto).await?;
    let bytes = whole.as_ref().and_then(|whole| whole.values::<u8>()).unwrap_or_default();
    let text = |part: &[u8]| String::from_utf8_lossy(part).trim_end_matches('\0').to_owned();
    Ok(bytes.chunks(length).map(text).map(|text| (!text.is_empty()).then_some(text)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_meets_everybody_once() {
        for size in 2..40 {
            let mut met = vec![0; size * size];
            for round in 0..rounds(size) {
                for number in 0..size {
                    let Some(other) = opponent(size, number, round) else { continue };
                    assert_ne!(number, other);
                    assert_eq!(opponent(size, other, round), Some(number), "{size} {round} {number}");
                    met[number * size + other] += 1;
                }
            }
            let expected = |index: usize| usize::from(index / size != index % size);
            assert!(met.iter().enumerate().all(|(index, &count)| count == expected(index)), "{size}");
        }
    }
}
