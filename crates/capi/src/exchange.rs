//! Ghosts around the blocks of distributed arrays, and shifts of these.

use std::ffi::{c_int, c_void};

use weft_mpi::MpiComm;
use weft_polyshift::exchange::{Corners, Edge, Exchange as Over, Halo, Options, Pattern, RankPlan, Storage};

use crate::geometry::{Geometry, digest, fold};
use crate::ranks::{Ranks, waited};
use crate::shifts::{ARRAY, CIRCULAR, CShift, VALUE};
use crate::status::{Failure, Outcome, code, free, list, make, object, object_mut, required};

/// `weft_edge` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CEdge {
    boundary: c_int,
    value: *const c_void,
}

const KEEP: c_int = 3;
const REFLECT: c_int = 4;
const SYMMETRIC: c_int = 5;

/// The bytes that a process can address, on x86-64 and AArch64: no array is larger.
const MAX_BYTES: u128 = 1 << 47;

/// One rank's exchange, set up, and the arrays that it has begun with.
pub struct Exchange {
    transport: Transport,
    arrays: usize,
    /// Boundary arrays, which are the caller's and read at each exchange.
    boundaries: Vec<*const u8>,
    begun: Vec<*mut u8>,
}

enum Transport {
    Over(Box<Over<MpiComm>>),
    /// One rank: every stage is copies.
    Alone(Box<RankPlan>),
}

impl Exchange {
    fn new(
        ranks: &Ranks,
        geometry: &Geometry,
        storages: &[Storage],
        pattern: impl FnOnce() -> Outcome<(Pattern, Vec<*const u8>)>,
        what: &str,
    ) -> Outcome<Exchange> {
        let (plan, boundaries) = ranks.agreed(what, || {
            if ranks.size() != geometry.blocks.ranks() || ranks.rank() != geometry.rank {
                return Err(Failure::usage("the geometry is over other ranks"));
            }
            if storages.iter().any(|storage| storage.element == 0) {
                return Err(Failure::usage("an element has 0 bytes"));
            }
            let (pattern, boundaries) = pattern()?;
            let plan = RankPlan::new(&geometry.blocks, geometry.rank, storages, &pattern).map_err(Failure::usage)?;
            let of_all = storages.iter().flat_map(|storage| {
                let ghosts = storage.ghosts.iter().flatten().copied();
                ghosts.chain([storage.element]).flat_map(|number| (number as u64).to_le_bytes()).collect::<Vec<u8>>()
            });
            Ok((fold(of_all) ^ digest(&geometry.blocks), (plan, boundaries)))
        })?;
        let arrays = plan.arrays;
        let transport = match ranks.communicator() {
            Some(comm) => {
                let options = Options { number: ranks.number(), ..Options::default() };
                Transport::Over(Box::new(Over::new(comm, plan, options).map_err(Failure::run)?))
            }
            None => Transport::Alone(Box::new(plan)),
        };
        Ok(Exchange { transport, arrays, boundaries, begun: Vec::new() })
    }

    /// # Safety
    /// The arrays have the memory that they were described with until the exchange has ended, and boundary arrays are there.
    unsafe fn begin(&mut self, arrays: &[*mut c_void]) -> Outcome {
        if !self.begun.is_empty() {
            return Err(Failure::usage("this exchange has begun already: end it before it begins again"));
        }
        for (number, array) in arrays.iter().enumerate() {
            required(array.cast_const(), &format!("array {number}"))?;
            if arrays[..number].contains(array) {
                return Err(Failure::Usage(format!("array {number} is given twice")));
            }
        }
        let starts: Vec<*mut u8> = arrays.iter().map(|array| array.cast()).collect();
        let boundaries = self.boundaries.iter().copied();
        match &mut self.transport {
            // SAFETY: boundary arrays and arrays are there, with the memory that they were described with (this
            // function's conditions).
            Transport::Over(exchange) => unsafe {
                exchange.read_boundaries(boundaries);
                let outcome = exchange.begin(&starts);
                if outcome.is_err() {
                    exchange.abandon();
                }
                outcome.map_err(Failure::run)?;
            },
            Transport::Alone(plan) => {
                for (number, array) in boundaries.enumerate() {
                    // SAFETY: boundary arrays are as long as when the plan was made (this function's condition).
                    unsafe { plan.read_boundary(number, array) };
                }
            }
        }
        self.begun = starts;
        Ok(())
    }

    /// # Safety
    /// As for [`begin`](Exchange::begin).
    unsafe fn end(&mut self) -> Outcome {
        if self.begun.is_empty() {
            return Err(Failure::usage("this exchange has not begun"));
        }
        let mut bases = std::mem::take(&mut self.begun);
        match &mut self.transport {
            Transport::Over(exchange) => {
                // SAFETY: the arrays that `begin` was given are still there (this function's condition).
                let outcome = waited(unsafe { exchange.end() });
                if outcome.is_err() {
                    exchange.abandon();
                }
                outcome
            }
            Transport::Alone(plan) => {
                bases.extend([std::ptr::null_mut(), plan.constants.as_mut_ptr()]);
                for stage in &plan.stages {
                    // SAFETY: the arrays that `begin` was given are still there (this function's condition); constants
                    // are the plan's, and copies of one rank name no message.
                    unsafe { stage.local.run(&bases) };
                }
                Ok(())
            }
        }
    }
}

/// A block with ghosts of these widths around it in one piece of memory. Raises a failure where none is that large.
fn around(element: usize, block: &[usize], widths: &[[usize; 2]]) -> Outcome<Storage> {
    let mut bytes = element as u128;
    for (&sites, &[before, after]) in block.iter().zip(widths) {
        bytes = bytes.saturating_mul(sites as u128 + before as u128 + after as u128);
    }
    if bytes > MAX_BYTES {
        return Err(Failure::Usage(format!(
            "a block of {block:?} with ghosts of widths {widths:?} and {element} bytes an element fits into no memory"
        )));
    }
    Ok(Storage::contiguous(element, block, widths))
}

/// # Safety
/// The value begins an element, or an array of the shape without the axis.
unsafe fn edge(edge: &CEdge, what: &str, lines: usize, element: usize) -> Outcome<Edge> {
    let bytes = |count: usize| -> Outcome<Vec<u8>> {
        required(edge.value, what)?;
        // SAFETY: the value begins that many bytes (the outer function's condition).
        Ok(unsafe { std::slice::from_raw_parts(edge.value.cast::<u8>(), count) }.to_vec())
    };
    Ok(match edge.boundary {
        CIRCULAR => Edge::Circular,
        VALUE => Edge::Value(bytes(element)?),
        ARRAY => Edge::Array(bytes(lines * element)?),
        KEEP => Edge::Keep,
        REFLECT => Edge::Reflect,
        SYMMETRIC => Edge::Symmetric,
        other => {
            return Err(Failure::Usage(format!(
                "{what} is {other}: expected WEFT_CIRCULAR, WEFT_VALUE, WEFT_ARRAY, WEFT_KEEP, WEFT_REFLECT or \
                 WEFT_SYMMETRIC"
            )));
        }
    })
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_halo_plan(
    exchange: *mut *mut Exchange,
    ranks: *const Ranks,
    geometry: *const Geometry,
    element: usize,
    widths: *const usize,
    edges: *const CEdge,
    corners: c_int,
) -> c_int {
    let new = || {
        // SAFETY: the objects are of this library (this function's condition).
        let (ranks, geometry) = unsafe { (object(ranks, "ranks")?, object(geometry, "geometry")?) };
        let shape = geometry.blocks.shape();
        // SAFETY: there are two numbers for each axis (this function's condition).
        let widths = unsafe { list(widths, 2 * shape.len(), "widths")? };
        let widths: Vec<[usize; 2]> = widths.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        let storage = around(element, &geometry.blocks.block(), &widths)?;
        let pattern = || {
            let circular = vec![CEdge { boundary: CIRCULAR, value: std::ptr::null() }; 2 * shape.len()];
            // SAFETY: there are two edges for each axis where there are any (this function's condition).
            let edges = if edges.is_null() { &circular } else { unsafe { list(edges, 2 * shape.len(), "edges")? } };
            let mut all = Vec::with_capacity(shape.len());
            for (axis, pair) in edges.chunks_exact(2).enumerate() {
                let lines = shape.iter().product::<usize>() / shape[axis];
                let end = |end: &CEdge, name: &str| {
                    // SAFETY: the values of edges begin what they say (this function's condition).
                    unsafe { edge(end, &format!("the {name} edge of axis {axis}"), lines, element) }
                };
                all.push([end(&pair[0], "low")?, end(&pair[1], "high")?]);
            }
            let corners = match corners {
                0 => Corners::None,
                1 => Corners::AtOnce,
                2 => Corners::Staged,
                _ => return Err(Failure::Usage(format!("corners is {corners}: expected 0, 1 or 2"))),
            };
            let read = edges.iter().filter(|edge| edge.boundary == ARRAY).map(|edge| edge.value.cast()).collect();
            Ok((Pattern::Halos(vec![Halo { array: 0, widths: widths.clone(), edges: all, corners }]), read))
        };
        Exchange::new(ranks, geometry, std::slice::from_ref(&storage), pattern, "halo exchange")
    };
    // SAFETY: `exchange` may be written (this function's condition).
    unsafe { make(exchange, new) }
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_polyshift_plan(
    exchange: *mut *mut Exchange,
    ranks: *const Ranks,
    geometry: *const Geometry,
    element: usize,
    widths: *const usize,
    count: usize,
    shifts: *const CShift,
) -> c_int {
    let new = || {
        // SAFETY: the objects are of this library, and the lists as long as is said (this function's conditions).
        let (ranks, geometry, shifts) =
            unsafe { (object(ranks, "ranks")?, object(geometry, "geometry")?, list(shifts, count, "shifts")?) };
        let shape = geometry.blocks.shape();
        let mut ghosts = vec![[0, 0]; shape.len()];
        if !widths.is_null() {
            // SAFETY: there are two numbers for each axis (this function's condition).
            let widths = unsafe { list(widths, 2 * shape.len(), "widths")? };
            ghosts = widths.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        }
        let sources = shifts.iter().map(|shift| shift.source().saturating_add(1)).max().unwrap_or(0).min(count);
        let storage = around(element, &geometry.blocks.block(), &ghosts)?;
        let pattern = || {
            let mut all = Vec::with_capacity(count);
            let mut read = Vec::new();
            for (number, shift) in shifts.iter().enumerate() {
                if shift.source() >= sources {
                    let wrong = format!("shift {number} is of source {}: number sources from 0", shift.source());
                    return Err(Failure::Usage(wrong));
                }
                // SAFETY: the values of shifts begin what they say (this function's condition).
                all.push(unsafe { shift.of_ranks(number, sources, &shape, element)? });
                read.extend(shift.array());
            }
            Ok((Pattern::Shifts(all), read))
        };
        Exchange::new(ranks, geometry, &vec![storage; sources + count], pattern, "polyshift")
    };
    // SAFETY: `exchange` may be written (this function's condition).
    unsafe { make(exchange, new) }
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_exchange_begin(exchange: *mut Exchange, arrays: *const *mut c_void) -> c_int {
    code(|| {
        // SAFETY: the exchange is one of this library, and the arrays are as many and as large as it was made for (this
        // function's conditions).
        unsafe {
            let exchange = object_mut(exchange, "exchange")?;
            let arrays = list(arrays, exchange.arrays, "arrays")?;
            exchange.begin(arrays)
        }
    })
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_exchange_end(exchange: *mut Exchange) -> c_int {
    // SAFETY: the exchange is one of this library, and the arrays it has begun with are there (this function's conditions).
    code(|| unsafe { object_mut(exchange, "exchange")?.end() })
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_exchange_execute(exchange: *mut Exchange, arrays: *const *mut c_void) -> c_int {
    // SAFETY: as the two calls ask (this function's condition).
    unsafe {
        match weft_exchange_begin(exchange, arrays) {
            0 => weft_exchange_end(exchange),
            code => code,
        }
    }
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_exchange_free(exchange: *mut Exchange) {
    // SAFETY: it was made by one of the functions above (this function's condition).
    unsafe { free(exchange) }
}
