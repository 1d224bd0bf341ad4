//! Distributed arrays: geometries, and exchanges over the ranks of this run. Conversions only.

use std::ops::Range;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use weft_comm::collective::{Choice, alltoallv, broadcast};
use weft_comm::{CommError, Communicator, Failure, Payload, block_on};
use weft_mpi::{Calls, Describe, MpiComm};
use weft_polyshift::exchange::{
    Boundary, Corners, Division, Edge, Exchange, Halo, Options, Pattern, RankPlan, Shift, Storage, Whole, agree,
};
use weft_polyshift::geometry::Geometry;

use crate::blocks::PyBlocks;
use crate::errors::{RunError, UsageError, usage};
use crate::memory::{PyMemory, span, stored};
use crate::mpi::with_backend;

pub(crate) fn failed(error: CommError) -> PyErr {
    RunError::new_err(error.to_string())
}

/// An error of ranks that exchange: that they make different calls, where this is why, else the backend's.
fn refused(comm: &MpiComm, error: CommError) -> PyErr {
    match comm.calls().and_then(Calls::mismatch) {
        Some(text) if matches!(error.failure(), Failure::Program { .. }) => UsageError::new_err(text),
        _ => failed(error),
    }
}

/// Begins a call of a digest, where ranks compare their calls.
pub(crate) fn enter(comm: &MpiComm, digest: u64) -> PyResult<()> {
    comm.calls().map_or(Ok(()), |calls| calls.enter(digest)).map_err(|error| refused(comm, error))
}

/// Begins a call in which every rank hears from every other.
fn meet(py: Python<'_>, comm: &MpiComm, digest: u64, words: &[u64]) -> PyResult<Vec<u64>> {
    let Some(calls) = comm.calls() else { return Err(RunError::new_err("the ranks do not compare their calls")) };
    without_python(py, || calls.meet(digest, words).map_err(|error| refused(comm, error)))
}

/// What calls are, in words, by Python's function from a list of digests to a list of texts.
fn describing(describe: Py<PyAny>) -> Box<Describe> {
    Box::new(move |digests| {
        Python::attach(|py| {
            let texts = describe.bind(py).call1((digests.to_vec(),)).and_then(|texts| texts.extract());
            texts.unwrap_or_else(|error| vec![format!("a call that cannot be told: {error}"); digests.len()])
        })
    })
}

/// What a call of a backend comes to, whose requests block.
pub(crate) fn done<T>(future: impl Future<Output = Result<T, CommError>>) -> PyResult<T> {
    match block_on(future) {
        Some(outcome) => outcome.map_err(failed),
        None => Err(stuck()),
    }
}

pub(crate) fn stuck() -> PyErr {
    RunError::new_err("an exchange waits for something that no message can wake")
}

/// An error of an exchange of these ranks.
pub(crate) fn failure_of(call: &Option<(MpiComm, u64)>, error: CommError) -> PyErr {
    match call {
        Some((comm, _)) => refused(comm, error),
        None => failed(error),
    }
}

/// Does something that may take long while other threads of Python run.
pub(crate) fn without_python<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    struct OnThisThread<W>(W);
    // SAFETY: `detach` runs it on this thread. What it uses is of classes that PyO3 keeps on this thread (`unsendable`)
    // and that are borrowed mutably meanwhile; Python's own objects are not among it.
    unsafe impl<W> Send for OnThisThread<W> {}
    impl<W: FnOnce() -> T, T> OnThisThread<W> {
        fn call(self) -> T {
            (self.0)()
        }
    }
    let bound = OnThisThread(|| OnThisThread(work()));
    py.detach(move || bound.call()).0
}

/// The ranks that exchange: those of an MPI run, or this process alone.
#[pyclass(name = "Ranks", module = "weft._core", unsendable, frozen)]
pub struct PyRanks(Option<MpiComm>);

impl PyRanks {
    /// The communicator, where there is one.
    pub(crate) fn communicator(&self) -> Option<&MpiComm> {
        self.0.as_ref()
    }
}

#[pymethods]
impl PyRanks {
    /// This process alone: no MPI is loaded.
    #[staticmethod]
    fn alone() -> PyRanks {
        PyRanks(None)
    }

    /// All ranks of the MPI run; `describe` gives calls in words, by their digests. Collective. Raises RunError.
    #[staticmethod]
    fn launched(py: Python<'_>, default_library: &str, describe: Py<PyAny>) -> PyResult<PyRanks> {
        with_backend(py, default_library, |backend| {
            let comm = backend.communicator().map_err(failed)?;
            comm.compare_calls(describing(describe));
            Ok(PyRanks(Some(comm)))
        })
    }

    /// The ranks of a communicator of the MPI library that this process uses, by its handle. Collective. Raises RunError.
    #[staticmethod]
    fn of_handle(py: Python<'_>, handle: usize, default_library: &str, describe: Py<PyAny>) -> PyResult<PyRanks> {
        with_backend(py, default_library, |backend| {
            // SAFETY: the handle is that of an mpi4py communicator, which the user holds and whose library
            // weft.distributed.ranks has found to be the one that this process uses.
            let comm = unsafe { backend.communicator_of(handle) }.map_err(failed)?;
            comm.compare_calls(describing(describe));
            Ok(PyRanks(Some(comm)))
        })
    }

    /// This rank.
    #[getter]
    fn rank(&self) -> usize {
        self.0.as_ref().map_or(0, Communicator::rank)
    }

    /// How many there are.
    #[getter]
    fn size(&self) -> usize {
        self.0.as_ref().map_or(1, Communicator::size)
    }

    /// Lets all ranks know of an error of any, and that all ask for the same: `call` is the digest of the call, `digest`
    /// that of what this rank asks for. Collective. Raises UsageError.
    #[pyo3(signature = (error, call, digest, what))]
    fn agree(&self, py: Python<'_>, error: Option<String>, call: u64, digest: u64, what: &str) -> PyResult<()> {
        let Some(comm) = &self.0 else { return error.map_or(Ok(()), |text| Err(usage(text))) };
        // The lowest bit says that there is an error.
        let own = if error.is_some() { 1 } else { digest << 1 };
        let words = meet(py, comm, call, &vec![own; comm.size()])?;
        if words.iter().any(|word| word & 1 == 1) {
            // Where one rank has an error, what the others ask for is of no importance.
            return done(agree(comm, error.map_or(Ok(0), Err), what))?.map_err(usage);
        }
        match comm.calls() {
            Some(calls) if words.iter().any(|&word| word != own) => {
                Err(without_python(py, || Ok(refused(comm, calls.disagree(own))))?)
            }
            _ => Ok(()),
        }
    }

    /// Begins a call of this digest in which every rank hears that all others do. Collective. Raises UsageError.
    fn meet(&self, py: Python<'_>, call: u64) -> PyResult<()> {
        let Some(comm) = &self.0 else { return Ok(()) };
        meet(py, comm, call, &vec![0; comm.size()]).map(drop)
    }

    /// Begins a call of this digest, in which ranks meet by their messages only. Raises UsageError.
    fn enter(&self, call: u64) -> PyResult<()> {
        self.0.as_ref().map_or(Ok(()), |comm| enter(comm, call))
    }

    /// Looks for what other ranks say, where this one has waited so long (s) in its call. Raises UsageError.
    fn look(&self, py: Python<'_>, waited: f64) -> PyResult<()> {
        let Some((comm, calls)) = self.0.as_ref().and_then(|comm| Some((comm, comm.calls()?))) else { return Ok(()) };
        let waited = Duration::try_from_secs_f64(waited).unwrap_or(Duration::MAX);
        without_python(py, || calls.look_after(waited).map_err(|error| refused(comm, error)))
    }

    /// Whether a simulator stands in for the network.
    #[getter]
    fn is_in_virtual_time(&self) -> bool {
        self.0.as_ref().and_then(MpiComm::calls).is_some_and(Calls::is_in_virtual_time)
    }

    /// In virtual time: waits until the request with this handle, which stays a request, is complete, or no rank can go on
    /// and the others have said where they are. Raises UsageError.
    fn await_request(&self, py: Python<'_>, handle: usize) -> PyResult<()> {
        let Some((comm, calls)) = self.0.as_ref().and_then(|comm| Some((comm, comm.calls()?))) else { return Ok(()) };
        without_python(py, || calls.completed_until_quiet(&handle).map_err(|error| refused(comm, error)))
    }

    /// What came from another rank shows that it is in another call: all are told. Raises UsageError.
    fn refuse(&self, py: Python<'_>) -> PyResult<()> {
        let Some((comm, calls)) = self.0.as_ref().and_then(|comm| Some((comm, comm.calls()?))) else { return Ok(()) };
        without_python(py, || Err(refused(comm, calls.refuse())))
    }

    /// Whether ranks were found in different calls for good.
    #[getter]
    fn is_broken(&self) -> bool {
        self.0.as_ref().and_then(MpiComm::calls).is_some_and(Calls::is_broken)
    }

    /// Divides an array that the root has, in memory with strides, over the ranks, each of which has memory for its block.
    /// Collective. Raises UsageError, RunError.
    fn scatter(
        &self,
        blocks: &PyBlocks,
        root: usize,
        whole: PyWhole<'_>,
        storage: PyStorage,
        own: &PyMemory,
    ) -> PyResult<()> {
        let storage = Storage::from(storage);
        self.check_root(root, &whole)?;
        let own = own.writable(&stored(&storage, &blocks.0.block())?, "the block")?;
        let whole = whole.of(&blocks.0, storage.element, PyMemory::readable)?;
        let division = division(blocks, root, &whole, &storage, own);
        // SAFETY: the memory objects, which are held through the call, have been asked for what the division describes
        // of the whole and of the block.
        unsafe {
            match &self.0 {
                Some(comm) => done(division.scatter(comm)),
                None => division.scatter_alone().map_err(failed),
            }
        }
    }

    /// Puts the blocks of all ranks together in an array that the root has. Collective. Raises UsageError, RunError.
    fn gather(
        &self,
        blocks: &PyBlocks,
        root: usize,
        whole: PyWhole<'_>,
        storage: PyStorage,
        own: &PyMemory,
    ) -> PyResult<()> {
        let storage = Storage::from(storage);
        self.check_root(root, &whole)?;
        let own = own.readable(&stored(&storage, &blocks.0.block())?, "the block")?;
        let whole = whole.of(&blocks.0, storage.element, PyMemory::writable)?;
        let division = division(blocks, root, &whole, &storage, own);
        // SAFETY: the memory objects, which are held through the call, have been asked for what the division describes
        // of the block and of the whole.
        unsafe {
            match &self.0 {
                Some(comm) => done(division.gather(comm)),
                None => division.gather_alone().map_err(failed),
            }
        }
    }

    /// Gives all ranks the bytes that the root has in memory, each in its own. Collective. Raises UsageError, RunError.
    fn broadcast(&self, root: usize, memory: &PyMemory) -> PyResult<()> {
        self.check_rank(root)?;
        let bytes = memory.after();
        let start = memory.writable(&(0..bytes as isize), "what is broadcast")?;
        let Some(comm) = &self.0 else { return Ok(()) };
        // SAFETY: the memory object, which is held through the call, has been asked for so many bytes that may be
        // written.
        let own = unsafe { std::slice::from_raw_parts_mut(start, bytes) };
        let payload = done(broadcast(comm, root, Payload::of(own), Choice::Auto))?;
        if let Payload::Data(buffer) = payload {
            own.copy_from_slice(&buffer);
        }
        Ok(())
    }

    /// As [`exchange`](PyRanks::exchange), of parts that lie in memory one after another, so many bytes for each rank. What
    /// comes lies one after another too; returned with as many lengths. Collective. Raises UsageError, RunError.
    fn exchange_sorted<'py>(
        &self,
        py: Python<'py>,
        memory: &PyMemory,
        lengths: Vec<usize>,
        call: u64,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<usize>)> {
        let size = self.0.as_ref().map_or(1, Communicator::size);
        if lengths.len() != size {
            return Err(usage(format!("{} lengths were given for {size} ranks", lengths.len())));
        }
        let total = lengths.iter().try_fold(0isize, |sum, &length| sum.checked_add(isize::try_from(length).ok()?));
        let total = total.ok_or_else(|| usage("the parts are longer than all memory"))?;
        let start = memory.readable(&(0..total), "what is exchanged")?;
        // SAFETY: the memory object, which is held through the call, has been asked for so many bytes.
        let whole = unsafe { std::slice::from_raw_parts(start.cast_const(), total as usize) };
        let Some(comm) = &self.0 else { return Ok((PyBytes::new(py, whole), lengths)) };
        let announced: Vec<u64> = lengths.iter().map(|&length| length as u64).collect();
        let expected: Vec<usize> =
            meet(py, comm, call, &announced)?.into_iter().map(|length| length as usize).collect();
        let arrived = done(alltoallv(comm, &Payload::of(whole), &lengths, &expected, None, Choice::Auto))?;
        let Payload::Data(arrived) = arrived else { return Err(without_bytes()) };
        Ok((PyBytes::new(py, &arrived), expected))
    }

    /// Gives every rank its part of these, in rank order, and returns what each has for this one; `call` is the digest of
    /// the call. Collective. Raises UsageError, RunError.
    fn exchange<'py>(
        &self,
        py: Python<'py>,
        parts: Vec<Bound<'py, PyBytes>>,
        call: u64,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let size = self.0.as_ref().map_or(1, Communicator::size);
        if parts.len() != size {
            return Err(usage(format!("{} parts were given for {size} ranks", parts.len())));
        }
        let Some(comm) = &self.0 else { return Ok(parts) };
        let lengths: Vec<u64> = parts.iter().map(|part| part.as_bytes().len() as u64).collect();
        let expected: Vec<usize> = meet(py, comm, call, &lengths)?.into_iter().map(|length| length as usize).collect();
        let sizes: Vec<usize> = parts.iter().map(|part| part.as_bytes().len()).collect();
        let whole = parts.iter().map(|part| part.as_bytes()).collect::<Vec<_>>().concat();
        let arrived = done(alltoallv(comm, &Payload::of(&whole), &sizes, &expected, None, Choice::Auto))?;
        let Payload::Data(arrived) = arrived else { return Err(without_bytes()) };
        let mut rest: &[u8] = &arrived;
        let mut received = Vec::with_capacity(size);
        for length in expected {
            let (part, after) = rest.split_at(length);
            received.push(PyBytes::new(py, part));
            rest = after;
        }
        Ok(received)
    }
}

fn without_bytes() -> PyErr {
    RunError::new_err("parts came without their bytes")
}

/// The memory of an undivided array, and its strides in bytes; None where a rank has none.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub struct PyWhole<'py>((Option<Bound<'py, PyMemory>>, Vec<isize>));

impl PyWhole<'_> {
    /// Where it begins, if its memory has all elements of the geometry's shape.
    fn of(
        &self,
        geometry: &Geometry,
        element: usize,
        take: impl Fn(&PyMemory, &Range<isize>, &str) -> PyResult<*mut u8>,
    ) -> PyResult<Option<Whole>> {
        let (Some(memory), strides) = &self.0 else { return Ok(None) };
        let shape = geometry.shape();
        if strides.len() != shape.len() {
            return Err(usage(format!("the whole array has {} strides for {} axes", strides.len(), shape.len())));
        }
        let axes = shape.iter().zip(strides).map(|(&extent, &stride)| (extent, [0, 0], stride));
        let needed = span(0, axes, element).ok_or_else(|| usage("the whole array reaches beyond all memory"))?;
        let start = take(memory.get(), &needed, "the whole array")?;
        Ok(Some(Whole { start, strides: strides.clone() }))
    }
}

impl PyRanks {
    fn check_rank(&self, rank: usize) -> PyResult<()> {
        let size = self.size();
        if rank < size { Ok(()) } else { Err(usage(format!("there is no rank {rank}: there are {size}"))) }
    }

    fn check_root(&self, root: usize, whole: &PyWhole<'_>) -> PyResult<()> {
        self.check_rank(root)?;
        if self.rank() == root && whole.0.0.is_none() {
            return Err(usage(format!("rank {root} is the root and has no array")));
        }
        Ok(())
    }
}

fn division<'a>(
    blocks: &'a PyBlocks,
    root: usize,
    whole: &'a Option<Whole>,
    storage: &'a Storage,
    own: *mut u8,
) -> Division<'a> {
    Division { geometry: &blocks.0, root, whole: whole.as_ref(), storage, own }
}

/// How an array lies in memory: bytes of an element, strides, bytes to the first element that is no ghost, ghosts before
/// and after the elements of each axis.
type PyStorageParts = (usize, Vec<isize>, isize, Vec<[usize; 2]>);

#[derive(FromPyObject)]
#[pyo3(transparent)]
pub struct PyStorage(PyStorageParts);

impl From<PyStorage> for Storage {
    fn from(PyStorage((element, strides, origin, ghosts)): PyStorage) -> Storage {
        Storage { element, strides, origin, ghosts }
    }
}

/// A shift: source, result, axis, by, boundary ("circular", "value" or "array"), bytes of the boundary.
type PyShift = (usize, usize, usize, i64, String, Vec<u8>);
/// What lies beyond an end of an axis: "circular", "reflect", "symmetric", "value", "array" or "keep", and the bytes of
/// values and arrays.
type PyEdge = (String, Vec<u8>);
/// A halo: array, widths, both edges of each axis, corners ("none", "at once" or "staged").
type PyHalo = (usize, Vec<[usize; 2]>, Vec<(PyEdge, PyEdge)>, String);

fn shift((source, result, axis, by, kind, bytes): PyShift) -> PyResult<Shift> {
    let boundary = match kind.as_str() {
        "circular" => Boundary::Circular,
        "value" => Boundary::Value(bytes),
        "array" => Boundary::Array(bytes),
        other => return Err(usage(format!("there is no boundary '{other}'"))),
    };
    Ok(Shift { source, result, axis, by, boundary })
}

fn halo((array, widths, edges, corners): PyHalo) -> PyResult<Halo> {
    let edge = |(kind, bytes): PyEdge| match kind.as_str() {
        "circular" => Ok(Edge::Circular),
        "reflect" => Ok(Edge::Reflect),
        "symmetric" => Ok(Edge::Symmetric),
        "value" => Ok(Edge::Value(bytes)),
        "array" => Ok(Edge::Array(bytes)),
        "keep" => Ok(Edge::Keep),
        other => Err(usage(format!("there is no edge '{other}'"))),
    };
    let edges = edges.into_iter().map(|(before, after)| Ok([edge(before)?, edge(after)?]));
    let corners = match corners.as_str() {
        "none" => Corners::None,
        "at once" => Corners::AtOnce,
        "staged" => Corners::Staged,
        other => {
            return Err(usage(format!("corners cannot be had '{other}'; there are 'none', 'at once' and 'staged'")));
        }
    };
    Ok(Halo { array, widths, edges: edges.collect::<PyResult<_>>()?, corners })
}

/// One rank's exchange, set up: any number of calls of begin and end.
#[pyclass(name = "ArrayExchange", module = "weft._core", unsendable)]
pub struct PyExchange {
    exchange: Transport,
    /// The ranks, and the digest of a call of this exchange.
    call: Option<(MpiComm, u64)>,
    messages: usize,
    sent_bytes: usize,
    local_bytes: usize,
    bases: Vec<*mut u8>,
    /// The bytes of each array's memory that it reads and writes.
    reached: Vec<Range<isize>>,
    /// The bytes of each boundary array.
    boundary_bytes: Vec<usize>,
    /// The memory of the arrays that it has begun with.
    held: Vec<Py<PyMemory>>,
}

enum Transport {
    Over(Exchange<MpiComm>),
    /// One rank: every stage is copies.
    Alone {
        plan: Box<RankPlan>,
        active: bool,
    },
}

#[pymethods]
impl PyExchange {
    /// Sets an exchange up: shifts, or halos where there are no shifts. Collective. Raises UsageError, RunError.
    #[new]
    fn new(
        ranks: &PyRanks,
        blocks: &PyBlocks,
        arrays: Vec<PyStorage>,
        shifts: Vec<PyShift>,
        halos: Vec<PyHalo>,
        number: u32,
        digest: u64,
    ) -> PyResult<PyExchange> {
        let arrays: Vec<Storage> = arrays.into_iter().map(Storage::from).collect();
        let pattern = if halos.is_empty() {
            Pattern::Shifts(shifts.into_iter().map(shift).collect::<PyResult<_>>()?)
        } else {
            Pattern::Halos(halos.into_iter().map(halo).collect::<PyResult<_>>()?)
        };
        let rank = ranks.rank();
        let block = blocks.0.block();
        let reached = arrays.iter().map(|storage| stored(storage, &block)).collect::<PyResult<_>>()?;
        let boundary_bytes = pattern.boundary_arrays().into_iter().map(<[u8]>::len).collect();
        let plan = RankPlan::new(&blocks.0, rank, &arrays, &pattern).map_err(usage)?;
        let (messages, sent_bytes, local_bytes) = (plan.messages(), plan.sent_bytes(), plan.local_bytes());
        let bases = vec![std::ptr::null_mut(); plan.arrays + 2];
        let exchange = match &ranks.0 {
            Some(comm) => {
                let options = Options { number, ..Options::default() };
                Transport::Over(Exchange::new(comm, plan, options).map_err(failed)?)
            }
            None => Transport::Alone { plan: Box::new(plan), active: false },
        };
        let held = Vec::new();
        let call = ranks.0.clone().map(|comm| (comm, digest));
        Ok(PyExchange { exchange, call, messages, sent_bytes, local_bytes, bases, reached, boundary_bytes, held })
    }

    /// Messages that this rank sends in one exchange.
    #[getter]
    fn messages(&self) -> usize {
        self.messages
    }

    /// Bytes that this rank sends to others in one exchange.
    #[getter]
    fn sent_bytes(&self) -> usize {
        self.sent_bytes
    }

    /// Bytes that this rank copies for itself in one exchange.
    #[getter]
    fn local_bytes(&self) -> usize {
        self.local_bytes
    }

    /// What messages go by.
    #[getter]
    fn transport(&self) -> String {
        match &self.exchange {
            Transport::Over(exchange) => exchange.describe(),
            Transport::Alone { .. } => "no messages".to_owned(),
        }
    }

    /// Whether it has begun and not ended.
    #[getter]
    fn active(&self) -> bool {
        match &self.exchange {
            Transport::Over(exchange) => exchange.is_active(),
            Transport::Alone { active, .. } => *active,
        }
    }

    /// Takes over what its boundary arrays hold now, whose elements are in this memory in C order. Raises UsageError.
    fn read_boundaries(&mut self, memories: Vec<Bound<'_, PyMemory>>) -> PyResult<()> {
        if self.active() {
            return Err(usage("this exchange has begun already; call end() before the next begin()"));
        }
        if memories.len() != self.boundary_bytes.len() {
            let (wanted, count) = (self.boundary_bytes.len(), memories.len());
            return Err(usage(format!("this exchange has {wanted} boundary arrays, {count} were given")));
        }
        let starts = memories.iter().zip(&self.boundary_bytes).map(|(memory, &bytes)| {
            memory.get().readable(&(0..bytes as isize), "a boundary array").map(<*mut u8>::cast_const)
        });
        let starts: Vec<*const u8> = starts.collect::<PyResult<_>>()?;
        let arrays = starts.into_iter();
        match &mut self.exchange {
            // SAFETY: each has as many bytes as the array that the exchange was set up with, as was just checked.
            Transport::Over(exchange) => unsafe { exchange.read_boundaries(arrays) },
            Transport::Alone { plan, .. } => {
                for (number, whole) in arrays.enumerate().take(plan.boundaries.len()) {
                    // SAFETY: the memory has as many bytes as the boundary array that the plan was made with: they were
                    // asked for above.
                    unsafe { plan.read_boundary(number, whole) };
                }
            }
        }
        Ok(())
    }

    /// Packs and sends, for arrays in this memory. Raises UsageError, RunError.
    fn begin(&mut self, memories: &Bound<'_, PyList>) -> PyResult<()> {
        if self.active() {
            return Err(usage("this exchange has begun already; call end() before the next begin()"));
        }
        let arrays = self.bases.len() - 2;
        if memories.len() != arrays {
            return Err(usage(format!("this exchange is of {arrays} arrays, not {}", memories.len())));
        }
        self.held.clear();
        for ((base, memory), reached) in self.bases.iter_mut().zip(memories).zip(&self.reached) {
            let memory = memory.cast_into::<PyMemory>()?;
            *base = memory.get().writable(reached, "an array")?;
            self.held.push(memory.unbind());
        }
        if let Some((comm, digest)) = &self.call {
            enter(comm, *digest)?;
        }
        match &mut self.exchange {
            Transport::Over(exchange) => {
                // SAFETY: the arrays have the memory that they were described with, as was just checked, and are held.
                let outcome = unsafe { exchange.begin(&self.bases[..arrays]) };
                if outcome.is_err() {
                    exchange.abandon();
                }
                outcome.map_err(|error| failure_of(&self.call, error))
            }
            Transport::Alone { active, .. } => {
                *active = true;
                Ok(())
            }
        }
    }

    /// Completes it. Raises UsageError, RunError.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        if !self.active() {
            return Err(usage("this exchange has not begun; call begin() first"));
        }
        match &mut self.exchange {
            Transport::Over(exchange) => {
                let outcome = without_python(py, || {
                    // SAFETY: `begin` has asked the memory objects for what the arrays were described with, and `held`
                    // keeps them.
                    match block_on(unsafe { exchange.end() }) {
                        Some(outcome) => outcome.map_err(|error| failure_of(&self.call, error)),
                        None => Err(stuck()),
                    }
                });
                if outcome.is_err() {
                    exchange.abandon();
                }
                outcome
            }
            Transport::Alone { plan, active } => {
                *active = false;
                let constants = self.bases.len() - 1;
                self.bases[constants] = plan.constants.as_mut_ptr();
                for stage in &plan.stages {
                    // SAFETY: `begin` has asked the memory objects for what the arrays were described with, and `held`
                    // keeps them; the constants, which the copies read too, are the plan's, and no copy names a
                    // message.
                    unsafe { stage.local.run(&self.bases) };
                }
                Ok(())
            }
        }
    }
}
