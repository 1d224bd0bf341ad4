//! Operations that a backend prepares once and carries out again and again: with its arguments resolved and its buffers
//! in place, so that a loop over one adds nothing to what the library beneath takes.

use std::time::Instant;

use crate::collective::Reduction;
use crate::error::CommError;
use crate::tag::{CollectiveKind, Tag};

/// What not every backend has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Collectives that are started and waited for.
    Nonblocking,
    /// Collectives that are made once and started again and again.
    Persistent,
    /// Reading and writing the memory of another rank.
    OneSided,
    /// Datatypes of elements that do not lie side by side.
    Datatypes,
    /// Calls of several threads at one time.
    Threads,
    /// Messages in the memory of a device.
    Device,
}

impl Feature {
    /// As messages have it.
    pub fn words(self) -> &'static str {
        match self {
            Feature::Nonblocking => "nonblocking collectives",
            Feature::Persistent => "persistent collectives",
            Feature::OneSided => "one-sided communication",
            Feature::Datatypes => "datatypes",
            Feature::Threads => "threads that call MPI at one time",
            Feature::Device => "messages in the memory of a device",
        }
    }
}

/// Where messages lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    #[default]
    Host,
    /// What a [`Device`] of the backend has.
    Device,
}

/// Memory of a device, whose bytes the host cannot read or write but by these calls. Errors are sentences.
pub trait Device {
    /// The address of so many bytes, which are there until they are freed.
    ///
    /// # Errors
    /// If the device has not so many.
    fn allocate(&self, bytes: usize) -> Result<usize, String>;

    /// Lets go of what [`allocate`](Device::allocate) gave.
    fn free(&self, address: usize);

    /// Copies bytes of the host to an address.
    ///
    /// # Errors
    /// What the device says.
    fn write(&self, address: usize, bytes: &[u8]) -> Result<(), String>;

    /// Copies bytes from an address to the host.
    ///
    /// # Errors
    /// What the device says.
    fn read(&self, address: usize, bytes: &mut [u8]) -> Result<(), String>;
}

/// Messages in flight at one time, and one wait for all of them.
///
/// One step starts `count` receives from `from` and `count` sends to `to`, waits for all, and then, where `answer` is
/// set and messages went one way only, the receiver sends an empty message back that the sender waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub to: Option<usize>,
    pub from: Option<usize>,
    /// Of one message.
    pub bytes: usize,
    pub count: usize,
    pub tag: Tag,
    pub answer: Option<Tag>,
    /// Whether nobody reads the messages, so that all may lie in the same memory.
    pub phantom: bool,
    pub memory: Memory,
}

impl Window {
    /// Whom this rank waits for an answer of, and whom it sends one to.
    pub fn answers(&self) -> (Option<usize>, Option<usize>) {
        match (self.to, self.from) {
            (Some(to), None) => (Some(to), None),
            (None, Some(from)) => (None, Some(from)),
            _ => (None, None),
        }
    }
}

/// How a collective is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Blocking,
    Nonblocking,
    Persistent,
}

/// A collective of the library, with buffers of its own: what it sends is not what it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    pub kind: CollectiveKind,
    pub progress: Progress,
    pub root: usize,
    pub reduction: Reduction,
    /// Bytes that go to each rank. A collective whose parts are equal has the same number for all of them; one that
    /// sends every rank the same has one number.
    pub send_bytes: Vec<usize>,
    /// Bytes that come from each rank, in the same manner.
    pub receive_bytes: Vec<usize>,
}

/// What is done to another rank's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Put,
    Get,
    /// Adds integers of 8 bytes.
    Accumulate,
    /// Adds integers of 8 bytes, and gets what was there.
    GetAccumulate,
    /// Adds one integer of 8 bytes, and gets what was there.
    FetchAndOp,
    /// Puts one integer of 8 bytes where another is.
    CompareAndSwap,
}

/// When an access is complete, and who takes part in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronization {
    /// The target's memory is locked all the time, by a shared lock; each step ends with a flush.
    Flush,
    /// Each step locks and unlocks.
    Lock,
    /// Each step ends with a fence of both ranks.
    Fence,
    /// Post, start, complete and wait.
    PostStart,
}

impl Synchronization {
    /// Every kind, in the order of lists.
    pub const ALL: [Synchronization; 4] =
        [Synchronization::Flush, Synchronization::Lock, Synchronization::Fence, Synchronization::PostStart];

    /// As requests have it.
    pub const fn name(self) -> &'static str {
        match self {
            Synchronization::Flush => "flush",
            Synchronization::Lock => "lock",
            Synchronization::Fence => "fence",
            Synchronization::PostStart => "pscw",
        }
    }
}

/// Accesses of rank 0 of a communicator to the memory of rank 1. All ranks of the communicator, of which there are two,
/// prepare it together, and let go of it together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneSided {
    pub access: Access,
    pub synchronization: Synchronization,
    /// Of one access.
    pub bytes: usize,
    /// Accesses of a step, each to its own part of the memory.
    pub count: usize,
}

/// A message there and back, of blocks that do not lie side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    pub peer: usize,
    /// Whether this rank sends first.
    pub leads: bool,
    pub tag: Tag,
    /// Elements of 8 bytes in the array that blocks are of.
    pub extent: usize,
    /// Of each block its first element and its elements. Blocks at equal distances and of equal length are a vector.
    pub blocks: Vec<(usize, usize)>,
}

/// A message there and back, in the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceEcho {
    pub peer: usize,
    /// Whether this rank sends first.
    pub leads: bool,
    pub tag: Tag,
    pub bytes: usize,
}

/// Messages there and back of several threads at one time, each with a thread of the other rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadedEcho {
    pub peer: usize,
    /// Whether this rank sends first.
    pub leads: bool,
    pub threads: usize,
    /// Of one message.
    pub bytes: usize,
}

/// What can be prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Window(Window),
    Collective(Collective),
    OneSided(OneSided),
    Typed(Typed),
    DeviceEcho(DeviceEcho),
    ThreadedEcho(ThreadedEcho),
}

/// An operation that has been prepared. After an error it may not be used again.
pub trait PreparedOperation {
    /// Carries it out once.
    fn run(&mut self) -> Result<(), CommError>;

    /// Waits until the clock of [`Communicator::wtime`](crate::Communicator::wtime) has this moment, doing nothing but
    /// read it, and carries it out once; the moment when that is done. All three are one loop of the backend: between
    /// two readings of the clock there is nothing but the operation.
    fn run_at(&mut self, moment: f64) -> Result<f64, CommError>;

    /// Carries it out once for each stamp, and sets that to the moment when it is done, as a loop of the backend.
    fn run_stamped(&mut self, stamps: &mut [f64]) -> Result<(), CommError>;

    /// Starts it; of windows, and of operations that are started and waited for.
    fn start(&mut self) -> Result<(), CommError> {
        self.run()
    }

    /// Whether what was started is complete by now.
    fn test(&mut self) -> Result<bool, CommError> {
        Ok(true)
    }

    /// Waits for what was started.
    fn finish(&mut self) -> Result<(), CommError> {
        Ok(())
    }

    /// Carries it out so many times; the seconds of each, of one thread after the other where there are several.
    fn times(&mut self, count: usize) -> Result<Vec<f64>, CommError> {
        let mut seconds = Vec::with_capacity(count);
        for _ in 0..count {
            let start = Instant::now();
            self.run()?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(seconds)
    }

    /// What was written to the [`input`](PreparedOperation::input) is from now on what is sent. In the host's memory it
    /// is that at once.
    fn write_through(&mut self) -> Result<(), CommError> {
        Ok(())
    }

    /// From now on the [`output`](PreparedOperation::output) is what was received. In the host's memory it is that at
    /// once.
    fn read_through(&mut self) -> Result<(), CommError> {
        Ok(())
    }

    /// What is sent.
    fn input(&mut self) -> &mut [u8];

    /// What is written: by messages, or by other ranks.
    fn output(&mut self) -> &mut [u8];
}

/// A backend that prepares operations.
pub trait Operations {
    /// Why the backend does not have a feature, where it does not.
    fn lacks(&self, feature: Feature) -> Option<String>;

    /// Prepares an operation whose feature the backend has. Collective where the operation is.
    fn prepare(&self, operation: &Operation) -> Result<Box<dyn PreparedOperation>, CommError>;
}
