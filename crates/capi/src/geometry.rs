//! Which rank has which elements.

use std::ffi::c_int;

use weft_polyshift::geometry::{Geometry as Blocks, Layout};

use crate::ranks::Ranks;
use crate::status::{Failure, code, free, make, object, of_axes, required};

/// The blocks of an array over ranks, of which this process is one.
pub struct Geometry {
    pub blocks: Blocks,
    pub rank: usize,
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_geometry_make(
    geometry: *mut *mut Geometry,
    ranks: *const Ranks,
    axes: usize,
    shape: *const usize,
    grid: *const usize,
) -> c_int {
    let new = || {
        // SAFETY: the object is one of this library, and the lists have a number for each axis (this function's
        // conditions).
        let (ranks, shape, grid) = unsafe {
            let grid = if grid.is_null() { None } else { Some(of_axes(grid, axes, "grid")?.to_vec()) };
            (object(ranks, "ranks")?, of_axes(shape, axes, "shape")?, grid)
        };
        ranks.agreed("geometry", || {
            let layout = Layout { grid, ..Layout::default() };
            let blocks = Blocks::new(shape, ranks.size(), &layout).map_err(Failure::usage)?;
            Ok((digest(&blocks), Geometry { rank: ranks.rank(), blocks }))
        })
    };
    // SAFETY: `geometry` may be written (this function's condition).
    unsafe { make(geometry, new) }
}

/// A number that differs where geometries do: FNV-1a of shape and grid.
pub fn digest(blocks: &Blocks) -> u64 {
    let numbers = blocks.shape().into_iter().chain(blocks.grid());
    fold(numbers.flat_map(|number| (number as u64).to_le_bytes()))
}

/// FNV-1a.
pub fn fold(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_geometry_block(
    geometry: *const Geometry,
    start: *mut usize,
    length: *mut usize,
    block: *mut usize,
) -> c_int {
    code(|| {
        // SAFETY: the object is one of this library (this function's condition).
        let geometry = unsafe { object(geometry, "geometry")? };
        let numbers = [
            (start, geometry.blocks.start(geometry.rank), "start"),
            (length, geometry.blocks.local_shape(geometry.rank), "length"),
            (block, geometry.blocks.block(), "block"),
        ];
        for (into, of_axes, what) in numbers {
            required(into, what)?;
            for (axis, number) in of_axes.into_iter().enumerate() {
                // SAFETY: there is memory for a number of each axis (this function's condition).
                unsafe { into.add(axis).write(number) };
            }
        }
        Ok(())
    })
}

/// See `weft.h`.
///
/// # Safety
/// As `weft.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weft_geometry_free(geometry: *mut Geometry) {
    // SAFETY: it was made by `weft_geometry_make` (this function's condition).
    unsafe { free(geometry) }
}
