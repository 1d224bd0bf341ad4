//! Ring: every rank sends to the next and receives from the one before (the `Ring` of Dunigan 1991, table 2).

use weft_comm::collective::{Choice, Element, Operator, allreduce};
use weft_comm::{CommError, Communicator, Payload, Reduction};

use weft_machine::Machine;

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::Nodes;
use crate::description::{Group, Takes, takes};
use crate::echo::MESSAGES;
use crate::placement::around_ring;
use crate::request::Request;
use crate::row::Row;
use crate::session::{Session, Step, TIMED, rate};
use crate::stopwatch::{Part, stopwatch};
use crate::usage::UsageError;

/// A step around a ring.
pub struct Ring(Neighbours);

impl Benchmark for Ring {
    const NAME: &'static str = "ring";
    const SUMMARY: &'static str =
        "every rank sends to the next of a ring (Gray code where the machine embeds it): time of one step";
    const GROUP: Group = Group::PointToPoint;
    const ALIASES: &'static [&'static str] = &["imb-sendrecv", "sendrecv"];
    const NEAREST_OF: &'static [&'static str] = &["imb-exchange", "imb-exchangemt", "imb-sendrecvmt"];
    const TAKES: &'static [Takes] = &[takes("bytes").of("message").default(MESSAGES)];
    const EXAMPLE: &'static str = "weft measure ring --on ncube3200 --ranks 16 --bytes 8:8K";

    fn placement(machine: &Machine, _: &mut Request, ranks: usize) -> Result<Nodes, UsageError> {
        Ok(around_ring(machine, ranks))
    }

    async fn prepare<C: Communicator>(session: &Session<'_, C>) -> Prepared<Ring> {
        Ok(Ok(Some(Ring(neighbours(&session.comm).await?))))
    }

    async fn measure<C: Communicator>(&self, session: &Session<'_, C>, point: Point) -> Result<Option<Row>, CommError> {
        ring(session, self.0, point.bytes()).await
    }
}

/// A rank's neighbours on the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbours {
    next: usize,
    previous: usize,
}

/// The order of the ranks on the ring.
#[derive(Clone, Copy)]
enum Order {
    /// By number.
    Natural,
    /// By the binary reflected Gray code, in which neighbours differ in one bit: on a hypercube whose ranks are
    /// numbered as its nodes they are one hop apart.
    Gray,
}

impl Order {
    fn neighbours(self, rank: usize, size: usize) -> Neighbours {
        match self {
            Order::Natural => Neighbours { next: (rank + 1) % size, previous: (rank + size - 1) % size },
            Order::Gray => {
                let position = inverse_gray(rank);
                let gray = |position: usize| position ^ (position >> 1);
                Neighbours { next: gray((position + 1) % size), previous: gray((position + size - 1) % size) }
            }
        }
    }
}

/// The position of `code` in the binary reflected Gray code.
fn inverse_gray(code: usize) -> usize {
    let mut position = code;
    let mut shifted = code >> 1;
    while shifted != 0 {
        position ^= shifted;
        shifted >>= 1;
    }
    position
}

/// The ring of the fewest links in all: by Gray code where that is shorter than by number (it needs a number of ranks
/// that is a power of two and a backend that knows distances), else by number. Collective.
async fn neighbours<C: Communicator>(comm: &C) -> Result<Neighbours, CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let natural = Order::Natural.neighbours(rank, size);
    if !size.is_power_of_two() {
        return Ok(natural);
    }
    let gray = Order::Gray.neighbours(rank, size);
    let distances = [comm.hops_to(natural.next), comm.hops_to(gray.next)].map(|hops| hops.unwrap_or(0) as i64);
    let sum = Reduction { element: Element::Int64, operator: Operator::Sum };
    let all = allreduce(comm, Payload::of(&distances), sum, Choice::Auto).await?;
    let is_shorter = all.values::<i64>().is_some_and(|all| all[1] < all[0]);
    Ok(if is_shorter { gray } else { natural })
}

/// Messages of `bytes` around the ring; rank 0 gets the row.
async fn ring<C: Communicator>(
    session: &Session<'_, C>,
    neighbours: Neighbours,
    bytes: usize,
) -> Result<Option<Row>, CommError> {
    let size = session.comm.size();
    let mut passes = Passes { neighbours, out: session.buffer(bytes), into: session.buffer(bytes) };
    let followers: Vec<usize>;
    let part = if session.comm.rank() == 0 {
        followers = (1..size).collect();
        Part::Leads { followers: &followers }
    } else {
        Part::Follows { leader: 0 }
    };
    let times = stopwatch(session, part, &mut passes).await?;
    Ok(times.map(|times| {
        let row = session.row(times, size, Some(bytes as u64));
        Row { rate: rate(bytes as u64, row.seconds), ..row }
    }))
}

struct Passes {
    neighbours: Neighbours,
    out: Payload,
    into: Payload,
}

impl<C: Communicator> Step<C> for Passes {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let Neighbours { next, previous } = self.neighbours;
        comm.sendrecv(next, &mut self.out, previous, &mut self.into, TIMED).await?;
        // What came in goes on, as on any ring.
        std::mem::swap(&mut self.out, &mut self.into);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_are_rings_and_gray_neighbours_differ_in_one_bit() {
        for size in [2, 4, 8, 64] {
            for order in [Order::Natural, Order::Gray] {
                let mut seen = vec![false; size];
                let mut rank = 0;
                for _ in 0..size {
                    assert!(!std::mem::replace(&mut seen[rank], true));
                    let next = order.neighbours(rank, size).next;
                    assert_eq!(order.neighbours(next, size).previous, rank);
                    if matches!(order, Order::Gray) {
                        assert_eq!((rank ^ next).count_ones(), 1);
                    }
                    rank = next;
                }
                assert_eq!(rank, 0);
            }
        }
    }
}
