//! One-sided communication: rank 0 reads and writes the memory of rank 1.

use weft_comm::collective::{Choice, barrier};
use weft_comm::prepared::{Access, Feature, OneSided, Operation, Synchronization};
use weft_comm::{CommError, Communicator, PreparedOperation};

use crate::benchmark::{Benchmark, Point, Prepared};
use crate::description::{Group, Takes, takes};
use crate::echo::MESSAGES;
use crate::row::Row;
use crate::session::{Session, Step, rate};
use crate::stopwatch::{Part, stopwatch};

/// Bytes of the integer that fetch-and-op and compare-and-swap work on.
const WORD: usize = 8;

/// That a benchmark takes a synchronization.
const SYNCHRONIZATION: Takes = takes("synchronization").choices(&[
    Synchronization::Flush.name(),
    Synchronization::Lock.name(),
    Synchronization::Fence.name(),
    Synchronization::PostStart.name(),
]);

/// A benchmark of one access: its names, what it takes, and an example.
macro_rules! one_sided {
    (
        $access:ident, $type:ident, $name:literal, $summary:literal,
        [$($alias:literal),*], [$($near:literal),*], [$($takes:expr),*], $example:literal
    ) => {
        #[doc = $summary]
        pub struct $type;

        impl Benchmark for $type {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const GROUP: Group = Group::OneSided;
            const ALIASES: &'static [&'static str] = &[$($alias),*];
            const NEAREST_OF: &'static [&'static str] = &[$($near),*];
            const TAKES: &'static [Takes] = &[$($takes,)* SYNCHRONIZATION];
            const EXAMPLE: &'static str = $example;
            const NEEDS: Option<Feature> = Some(Feature::OneSided);

            async fn prepare<C: Communicator>(_: &Session<'_, C>) -> Prepared<$type> {
                Ok(Ok(Some($type)))
            }

            async fn measure<C: Communicator>(
                &self,
                session: &Session<'_, C>,
                point: Point,
            ) -> Result<Option<Row>, CommError> {
                accesses(session, Access::$access, point.size).await
            }
        }
    };
}

one_sided! {
    Put, Put, "put", "rank 0 writes the memory of rank 1: time until it is there",
    ["osu-put-latency", "imb-unidir-put"], ["imb-bidir-put", "osu-put-bibw", "imb-one-put-all", "imb-all-put-all", "imb-put-local", "imb-put-all-local", "imb-exchange-put", "imb-truly-passive-put"],
    [takes("bytes").of("access").default(MESSAGES).least(1)], "weft measure put --bytes 8:64K --synchronization lock"
}

one_sided! {
    Get, Get, "get", "rank 0 reads the memory of rank 1: time until it has it",
    ["osu-get-latency", "imb-unidir-get"], ["imb-bidir-get", "imb-one-get-all", "imb-all-get-all", "imb-get-local", "imb-get-all-local", "imb-exchange-get"],
    [takes("bytes").of("access").default(MESSAGES).least(1)], "weft measure get --bytes 8:64K"
}

one_sided! {
    Put, PutBandwidth, "put-bandwidth", "a window of writes to the memory of rank 1: time of one",
    ["osu-put-bw", "put-bw"], [],
    [takes("bytes").of("access").default(MESSAGES).least(1), takes("window").default(&[64])],
    "weft measure put-bandwidth --bytes 8:1M"
}

one_sided! {
    Get, GetBandwidth, "get-bandwidth", "a window of reads of the memory of rank 1: time of one",
    ["osu-get-bw", "get-bw"], [],
    [takes("bytes").of("access").default(MESSAGES).least(1), takes("window").default(&[64])],
    "weft measure get-bandwidth --bytes 8:1M"
}

one_sided! {
    Accumulate, Accumulate, "accumulate", "rank 0 adds integers to the memory of rank 1: time until it is done",
    ["osu-acc-latency", "imb-accumulate"], [],
    [takes("bytes").of("access").default(MESSAGES).least(1).multiple_of(8)], "weft measure accumulate --bytes 8:64K"
}

one_sided! {
    GetAccumulate, GetAccumulate, "get-accumulate",
    "rank 0 adds integers to the memory of rank 1 and gets what was there: time until it has it",
    ["osu-get-acc-latency", "imb-get-accumulate"], [],
    [takes("bytes").of("access").default(MESSAGES).least(1).multiple_of(8)],
    "weft measure get-accumulate --bytes 8:64K"
}

one_sided! {
    FetchAndOp, FetchAndOp, "fetch-and-op",
    "rank 0 adds to one integer of rank 1 and gets what was there: time until it has it",
    ["osu-fop-latency", "imb-fetch-and-op"], [], [], "weft measure fetch-and-op --synchronization flush"
}

one_sided! {
    CompareAndSwap, CompareAndSwap, "compare-and-swap",
    "rank 0 exchanges one integer of rank 1 where it is as expected: time until it has the old one",
    ["osu-cas-latency", "imb-compare-and-swap"], [], [], "weft measure compare-and-swap"
}

/// Accesses of rank 0; it gets the row, whose time is that of one.
async fn accesses<C: Communicator>(
    session: &Session<'_, C>,
    access: Access,
    bytes: Option<u64>,
) -> Result<Option<Row>, CommError> {
    let color = (session.comm.rank() < 2).then_some(0);
    let Some(comm) = session.comm.split(color, 0).await? else { return Ok(None) };
    let count = session.window();
    let length = bytes.map_or(WORD, |bytes| bytes as usize);
    let synchronization = session.request.synchronization();
    let spec = OneSided { access, synchronization, bytes: length, count };
    let Some(operations) = comm.operations() else { return Err(session.error("one-sided: not here".to_owned())) };
    let mut steps = Steps { prepared: operations.prepare(&Operation::OneSided(spec))? };
    steps.check(session, &comm, spec).await?;
    let part = if comm.rank() == 0 { Part::Leads { followers: &[1] } } else { Part::Follows { leader: 0 } };
    let times = stopwatch(session, part, &mut steps).await?;
    Ok(times.map(|times| {
        let each = times.into_iter().map(|whole| whole / count as f64).collect();
        let row = session.row(each, session.comm.size(), bytes);
        let hops = session.comm.hops_to(1).map(|hops| hops as u32);
        let synchronization = Some(synchronization.name().to_owned());
        Row { hops, synchronization, rate: bytes.and_then(|bytes| rate(bytes, row.seconds)), ..row }
    }))
}

struct Steps {
    prepared: Box<dyn PreparedOperation>,
}

impl<C: Communicator> Step<C> for Steps {
    #[inline]
    async fn step(&mut self, _: &C) -> Result<(), CommError> {
        self.prepared.run()
    }

    fn prepared(&mut self) -> Option<&mut dyn PreparedOperation> {
        Some(&mut *self.prepared)
    }
}

/// What the operand of rank 0 holds, and the memory of rank 1.
const OPERAND: u64 = 0x0102_0304_0506_0708;
const MEMORY: u64 = 0x1020_3040_5060_7080;

impl Steps {
    /// One step of known numbers, and a look at what has become of them; both ranks call it together.
    async fn check<C: Communicator>(
        &mut self,
        session: &Session<'_, C>,
        comm: &C,
        spec: OneSided,
    ) -> Result<(), CommError> {
        let is_origin = comm.rank() == 0;
        fill(self.prepared.input(), if is_origin { OPERAND } else { MEMORY });
        if is_origin && spec.access == Access::CompareAndSwap {
            // The second integer is what the memory is compared with.
            self.prepared.input()[WORD..2 * WORD].copy_from_slice(&MEMORY.to_ne_bytes());
        }
        barrier(comm, Choice::Auto).await?;
        self.prepared.run()?;
        barrier(comm, Choice::Auto).await?;
        let expected = match (spec.access, is_origin) {
            (Access::Put | Access::Accumulate, true) => None,
            (Access::Put | Access::CompareAndSwap, false) => Some(OPERAND),
            (Access::Accumulate | Access::GetAccumulate | Access::FetchAndOp, false) => Some(OPERAND + MEMORY),
            _ => Some(MEMORY),
        };
        let wrong = expected.and_then(|expected| self.wrong(spec, expected));
        // The next step may come when the target has looked, not before.
        barrier(comm, Choice::Auto).await?;
        wrong.map_or(Ok(()), |what| Err(session.error(format!("{}: {what}", session.benchmark.name))))
    }

    /// What is wrong with what was written here, if anything is.
    fn wrong(&mut self, spec: OneSided, expected: u64) -> Option<String> {
        let memory = self.prepared.output();
        let stride = memory.len() / spec.count;
        let (at, number) = memory.chunks(stride).find_map(|part| wrong(&part[..spec.bytes], expected))?;
        Some(format!("{number:#018x} at {at} of {} bytes, not {expected:#018x}", spec.bytes))
    }
}

fn fill(memory: &mut [u8], number: u64) {
    memory.iter_mut().zip(number.to_ne_bytes().into_iter().cycle()).for_each(|(byte, of)| *byte = of);
}

/// The first number that is not the one expected, and where it is; a rest of fewer bytes counts as far as it goes.
fn wrong(memory: &[u8], expected: u64) -> Option<(usize, u64)> {
    let number = |part: &[u8]| {
        let mut bytes = expected.to_ne_bytes();
        bytes[..part.len()].copy_from_slice(part);
        u64::from_ne_bytes(bytes)
    };
    memory
        .chunks(WORD)
        .map(number)
        .enumerate()
        .find(|&(_, number)| number != expected)
        .map(|(at, number)| (WORD * at, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_number_is_named_with_its_position() {
        let mut memory = [0; 20];
        fill(&mut memory, OPERAND);
        assert_eq!(wrong(&memory, OPERAND), None);
        memory[17] ^= 0xff;
        assert!(wrong(&memory, OPERAND).is_some_and(|(at, number)| at == 16 && number != OPERAND));
        assert_eq!(wrong(&memory[..8], MEMORY), Some((0, OPERAND)));
    }
}
