//! Messages of blocks that do not lie side by side, as MPI's derived datatypes describe them.
//!
//! The layouts are the two that programs have most, after T. Schneider, R. Gerstenberger, T. Hoefler, "Application-oriented
//! ping-pong benchmarking: how to assess the real communication overheads", Computing 96 (2014) 279-292: a column of a
//! matrix (a vector), and a list of blocks (indexed), as of particles or of the nodes of a mesh.

use rand::RngExt;
use weft_comm::prepared::{Feature, Operation, Typed};
use weft_comm::{CommError, Communicator, Payload, PreparedOperation, Source, TagSelector, Work};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::request::Request;
use crate::row::Row;
use crate::session::{Session, Step, TIMED, nodes, rate};
use crate::stopwatch::{Part, stopwatch};

/// Bytes of an element.
const ELEMENT: usize = 8;

/// The longest block of a list of blocks, and the widest gap between two, in elements.
const LONGEST: usize = 8;

/// Powers of four from 8 bytes to 512 KiB.
const LENGTHS: &[u64] = &[8, 32, 128, 512, 2048, 8192, 32768, 131_072, 524_288];

/// The stream of random numbers that blocks come from.
const BLOCKS: u64 = 3;

/// How a message lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Every second element.
    Vector,
    /// Blocks of 1 to 8 elements with gaps of 1 to 8 between them.
    Indexed,
}

impl Layout {
    /// Of each block its first element and its elements: so many elements in all.
    fn blocks(self, seed: u64, elements: usize) -> Vec<(usize, usize)> {
        if self == Layout::Vector {
            return (0..elements).map(|index| (2 * index, 1)).collect();
        }
        let mut random = weft_base::generator(seed, BLOCKS);
        let (mut blocks, mut first, mut left) = (Vec::new(), 0, elements);
        while left > 0 {
            let length = random.random_range(1..=LONGEST).min(left);
            blocks.push((first, length));
            first += length + random.random_range(1..=LONGEST);
            left -= length;
        }
        blocks
    }
}

/// A benchmark of a layout.
macro_rules! typed {
    ($layout:ident, $type:ident, $name:literal, $summary:literal, [$($alias:literal),*], $example:literal) => {
        #[doc = $summary]
        pub struct $type;

        impl Benchmark for $type {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const GROUP: Group = Group::Datatype;
            const ALIASES: &'static [&'static str] = &[$($alias),*];
            const TAKES: &'static [Takes] =
                &[takes("bytes").of("message").default(LENGTHS).least(1).multiple_of(ELEMENT as u64)];
            const EXAMPLE: &'static str = $example;

            fn operations(_: &Request) -> Vec<weft_base::Operation> {
                vec![weft_base::Operation::CopyByte]
            }

            async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<$type> {
                Ok(Ok(Some($type)))
            }

            async fn measure<C: Communicator>(
                &self,
                session: &Session<'_, C>,
                point: Point,
            ) -> Result<Option<Row>, CommError> {
                echo(session, Layout::$layout, point.bytes()).await
            }
        }
    };
}

typed! {
    Vector, EchoVector, "echo-vector",
    "echo of every second element of an array: by the library's datatype, or packed by the program",
    ["osu-latency-vector"], "weft measure echo-vector --bytes 8:64K"
}

typed! {
    Indexed, EchoIndexed, "echo-indexed",
    "echo of blocks of 1 to 8 elements of an array: by the library's datatype, or packed by the program",
    ["osu-latency-indexed"], "weft measure echo-indexed --bytes 8:64K"
}

/// An echo between ranks 0 and 1; rank 0 gets the row.
async fn echo<C: Communicator>(
    session: &Session<'_, C>,
    layout: Layout,
    bytes: usize,
) -> Result<Option<Row>, CommError> {
    let comm = &session.comm;
    if comm.rank() > 1 {
        return Ok(None);
    }
    let mut step = Strided::new(session, layout, bytes)?;
    let algorithm = if matches!(step.transport, Transport::Datatype(_)) { "datatype" } else { "packed" };
    step.check(session).await?;
    let part = if comm.rank() == 0 { Part::Leads { followers: &[1] } } else { Part::Follows { leader: 0 } };
    let times = stopwatch(session, part, &mut step).await?;
    Ok(times.map(|times| {
        let one_way = times.into_iter().map(|there_and_back| 0.5 * there_and_back).collect();
        let ranks = session.request.ranks.unwrap_or_else(|| nodes(comm));
        let row = session.row(one_way, ranks, Some(bytes as u64));
        let hops = comm.hops_to(1).map(|hops| hops as u32);
        Row { hops, algorithm: Some(algorithm.to_owned()), rate: rate(bytes as u64, row.seconds), ..row }
    }))
}

/// One message of blocks there and one back.
struct Strided {
    peer: usize,
    leads: bool,
    blocks: Vec<(usize, usize)>,
    transport: Transport,
}

enum Transport {
    /// The backend's datatypes.
    Datatype(Box<dyn PreparedOperation>),
    /// Blocks are copied to a message, and from one.
    Packed(Box<Packing>),
}

struct Packing {
    out: Vec<u64>,
    into: Vec<u64>,
    message: Payload,
}

impl Strided {
    fn new<C: Communicator>(session: &Session<'_, C>, layout: Layout, bytes: usize) -> Result<Strided, CommError> {
        let rank = session.comm.rank();
        let (peer, leads) = (1 - rank, rank == 0);
        let blocks = layout.blocks(session.request.seed, bytes / ELEMENT);
        let extent = blocks.last().map_or(0, |(first, length)| first + length);
        let operations = session.comm.operations().filter(|some| some.lacks(Feature::Datatypes).is_none());
        let transport = match operations {
            Some(operations) => {
                let typed = Typed { peer, leads, tag: TIMED, extent, blocks: blocks.clone() };
                Transport::Datatype(operations.prepare(&Operation::Typed(typed))?)
            }
            None => {
                let elements = if session.is_phantom() { 0 } else { extent };
                let (out, into) = (vec![0; elements], vec![0; elements]);
                Transport::Packed(Box::new(Packing { out, into, message: session.buffer(bytes) }))
            }
        };
        Ok(Strided { peer, leads, blocks, transport })
    }

    fn out(&mut self) -> &mut [u8] {
        match &mut self.transport {
            Transport::Datatype(prepared) => prepared.input(),
            Transport::Packed(packing) => bytemuck::cast_slice_mut(&mut packing.out),
        }
    }

    fn into(&mut self) -> &mut [u8] {
        match &mut self.transport {
            Transport::Datatype(prepared) => prepared.output(),
            Transport::Packed(packing) => bytemuck::cast_slice_mut(&mut packing.into),
        }
    }

    /// One message of known numbers each way: what is of a block arrives, and nothing else is touched.
    async fn check<C: Communicator>(&mut self, session: &Session<'_, C>) -> Result<(), CommError> {
        if session.is_phantom() {
            return Ok(());
        }
        self.out().as_chunks_mut::<ELEMENT>().0.iter_mut().enumerate().for_each(|(index, element)| {
            *element = (index as u64 + 1).to_ne_bytes();
        });
        self.step(&session.comm).await?;
        let mut expected = vec![0u64; self.into().len() / ELEMENT];
        for &(first, length) in &self.blocks {
            (first..first + length).for_each(|index| expected[index] = index as u64 + 1);
        }
        let is_right = self.into() == bytemuck::cast_slice::<u64, u8>(&expected);
        let name = session.benchmark.name;
        if is_right { Ok(()) } else { Err(session.error(format!("{name}: rank {} has wrong elements", 1 - self.peer))) }
    }
}

impl<C: Communicator> Step<C> for Strided {
    async fn step(&mut self, comm: &C) -> Result<(), CommError> {
        let packing = match &mut self.transport {
            Transport::Datatype(prepared) => return prepared.run(),
            Transport::Packed(packing) => packing,
        };
        if self.leads {
            packing.send(comm, self.peer, &self.blocks).await?;
            packing.receive(comm, self.peer, &self.blocks).await
        } else {
            packing.receive(comm, self.peer, &self.blocks).await?;
            packing.send(comm, self.peer, &self.blocks).await
        }
    }

    fn prepared(&mut self) -> Option<&mut dyn PreparedOperation> {
        match &mut self.transport {
            Transport::Datatype(prepared) => Some(&mut **prepared),
            Transport::Packed(_) => None,
        }
    }
}

impl Packing {
    async fn send<C: Communicator>(&mut self, comm: &C, to: usize, blocks: &[(usize, usize)]) -> Result<(), CommError> {
        if let Payload::Data(buffer) = &mut self.message {
            let mut rest = buffer.values_mut::<u64>();
            for &(first, length) in blocks {
                let (part, after) = rest.split_at_mut(length);
                part.copy_from_slice(&self.out[first..first + length]);
                rest = after;
            }
        }
        self.charge(comm).await;
        comm.send_from(to, TIMED, &mut self.message).await
    }

    async fn receive<C: Communicator>(
        &mut self,
        comm: &C,
        from: usize,
        blocks: &[(usize, usize)],
    ) -> Result<(), CommError> {
        comm.recv_into(Source::Rank(from), TagSelector::Only(TIMED), &mut self.message).await?;
        if let Payload::Data(buffer) = &self.message {
            let mut rest = buffer.values::<u64>();
            for &(first, length) in blocks {
                let (part, after) = rest.split_at(length);
                self.into[first..first + length].copy_from_slice(part);
                rest = after;
            }
        }
        self.charge(comm).await;
        Ok(())
    }

    /// The copy, in virtual time.
    async fn charge<C: Communicator>(&self, comm: &C) {
        let (operation, count) = (weft_base::Operation::CopyByte, self.message.len() as u64);
        comm.compute(Work::Operations { operation, count }).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_elements_that_were_asked_for_and_do_not_touch() {
        for layout in [Layout::Vector, Layout::Indexed] {
            for elements in [1, 2, 7, 1000] {
                let blocks = layout.blocks(7, elements);
                assert_eq!(blocks.iter().map(|(_, length)| length).sum::<usize>(), elements);
                assert!(blocks.windows(2).all(|pair| pair[0].0 + pair[0].1 < pair[1].0), "{layout:?}");
            }
        }
    }
}
