//! What all benchmarks of one launch share: the communicator, the request, buffers and tags.

use weft_comm::prepared::Memory;
use weft_comm::{Buffer, CommError, Communicator, Payload, PreparedOperation, Source, Tag, TagSelector};

use crate::description::Description;
use crate::parameters::{BufferSort, PayloadSort};
use crate::request::Request;
use crate::row::Row;
use crate::statistics::Statistics;

/// The tag of the messages that are timed.
pub(crate) const TIMED: Tag = Tag::User(1);
/// The tag of acknowledgements.
pub(crate) const ACKNOWLEDGE: Tag = Tag::User(2);
/// The tag of what ranks tell each other about the measurement.
pub(crate) const CONTROL: Tag = Tag::User(3);
/// The tag of the messages that compare clocks.
pub(crate) const CLOCK: Tag = Tag::User(4);

/// One iteration of a benchmark on one rank, with the buffers it uses again and again.
pub(crate) trait Step<C: Communicator> {
    /// Does it once. Allocates nothing.
    async fn step(&mut self, comm: &C) -> Result<(), CommError>;

    /// What the backend has prepared, where a step is to carry that out once: the backend repeats it between readings of
    /// the clock without anything of the suite in between.
    fn prepared(&mut self) -> Option<&mut dyn PreparedOperation> {
        None
    }
}

/// Steps whose results show which rank the memory they read was of.
pub(crate) trait Traced<C: Communicator>: Step<C> {
    /// The memory that the next step reads.
    fn memory(&mut self) -> &mut Buffer;
}

/// One launch of one benchmark on the ranks that take part: what a benchmark measures with.
pub struct Session<'a, C> {
    pub comm: C,
    pub request: &'a Request,
    pub benchmark: &'static Description,
}

/// Ranks that are not the host.
pub(crate) fn nodes<C: Communicator>(comm: &C) -> usize {
    comm.size() - usize::from(comm.host().is_some())
}

impl<C: Communicator> Session<'_, C> {
    /// The extents or lengths that are measured, as given or the benchmark's own; empty where it takes none.
    pub fn sizes(&self) -> Vec<u64> {
        let (request, benchmark) = (self.request, self.benchmark);
        if benchmark.takes("extent").is_some() { benchmark.extents(request) } else { benchmark.lengths(request) }
    }

    /// The messages in flight, as given or the benchmark's own.
    pub fn window(&self) -> usize {
        self.request.window.unwrap_or(self.own_window())
    }

    fn own_window(&self) -> usize {
        self.benchmark.default("window").first().map_or(1, |&window| window as usize)
    }

    /// The messages in flight, where they are given and not the benchmark's own.
    fn other_window(&self) -> Option<u32> {
        self.request.window.filter(|&window| window != self.own_window()).map(|window| window as u32)
    }

    /// Whether messages are phantoms.
    pub fn is_phantom(&self) -> bool {
        let default = if self.comm.virtual_time() { PayloadSort::Phantom } else { PayloadSort::Data };
        self.request.payload.unwrap_or(default) == PayloadSort::Phantom
    }

    /// Where messages lie.
    pub fn memory(&self) -> Memory {
        match self.request.buffers {
            Some(BufferSort::Device) => Memory::Device,
            Some(BufferSort::Host) | None => Memory::Host,
        }
    }

    /// A buffer for messages: page-aligned, every page touched, or a phantom.
    pub fn buffer(&self, bytes: usize) -> Payload {
        if self.is_phantom() { Payload::Phantom(bytes) } else { Payload::Data(Buffer::page_aligned(bytes)) }
    }

    /// The row of a point, from the times of its iterations (already of one operation).
    pub fn row(&self, times: Vec<f64>, ranks: usize, bytes: Option<u64>) -> Row {
        let Statistics { median, decile, share_above_3x } = Statistics::of(&times);
        Row {
            benchmark: self.benchmark.name.to_owned(),
            ranks,
            hops: None,
            bytes,
            shape: None,
            extent: None,
            precision: None,
            file_system: None,
            file_kind: None,
            file_bytes: None,
            cache: None,
            preallocate: None,
            io_nodes: None,
            window: self.other_window(),
            algorithm: None,
            layout: None,
            seconds: median,
            seconds_p10: decile,
            iterations: times.len() as u32,
            share_above_3x,
            share_late: None,
            rate: None,
            rate_unit: None,
            neighbours: None,
            threads: None,
            buffers: self.request.buffers.filter(|&buffers| buffers == BufferSort::Device),
            background: None,
            background_bytes: None,
            probe: None,
            quiet_seconds: None,
            slowdown: None,
            overlap: None,
            timing: None,
            synchronization: None,
            sender: None,
            receiver: None,
            sender_node: None,
            receiver_node: None,
            sender_binding: None,
            receiver_binding: None,
            samples: self.request.keep_samples.then_some(times),
        }
    }

    /// The row of a point that was measured twice: in quiet, and while something disturbs it, whose times the row has.
    pub fn disturbed_row(&self, quiet: Vec<f64>, disturbed: Vec<f64>, bytes: Option<u64>) -> Row {
        let quiet = Statistics::of(&quiet).median;
        let row = self.row(disturbed, self.comm.size(), bytes);
        let slowdown = (row.seconds > 0.0).then(|| 1.0 - quiet / row.seconds);
        Row { quiet_seconds: Some(quiet), slowdown, ..row }
    }

    /// One step of double-precision memory that holds the rank's own number everywhere; whether there is a result to look
    /// at, which phantoms do not have.
    pub(crate) async fn traced_step(&self, steps: &mut impl Traced<C>) -> Result<bool, CommError> {
        if !self.is_phantom() {
            steps.memory().values_mut::<f64>().fill(self.comm.rank() as f64);
        }
        steps.step(&self.comm).await?;
        Ok(!self.is_phantom())
    }

    /// Sends numbers that steer the measurement.
    pub async fn tell<T: bytemuck::Pod>(&self, to: usize, values: &[T]) -> Result<(), CommError> {
        self.comm.send(to, CONTROL, Payload::of(values)).await.map(drop)
    }

    /// Receives `N` numbers that steer the measurement.
    pub async fn hear<T: bytemuck::Pod, const N: usize>(&self, from: usize) -> Result<[T; N], CommError> {
        let into = Payload::of(&[T::zeroed(); N]);
        let received = self.comm.recv(Source::Rank(from), TagSelector::Only(CONTROL), into).await?;
        let values = received.payload.values::<T>().and_then(|values| values.try_into().ok());
        values.ok_or_else(|| self.error(format!("rank {from} sent something else than {N} numbers")))
    }

    /// This rank gives up.
    pub fn error(&self, message: String) -> CommError {
        CommError::program(self.comm.world_rank(), message)
    }
}
/// The bytes per second of `bytes` in `seconds`, where that means something.
pub(crate) fn rate(bytes: u64, seconds: f64) -> Option<f64> {
    (bytes > 0 && seconds > 0.0).then(|| bytes as f64 / seconds)
}
