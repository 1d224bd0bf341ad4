//! The three binary interfaces that MPI libraries have.
//!
//! A program compiled with `mpi.h` has the values of its constants and the layout of `MPI_Status` built in. weft is
//! built without `mpi.h`, so it looks at the library it has loaded and takes them from here. Handles are `usize`
//! everywhere: where the library's are narrower (MPICH: `int`), they travel in the low half of a register, and output
//! handles start as zero because the library writes the low half only.

mod mpich;
mod open_mpi;
mod standard;

use std::ffi::c_int;
use std::fmt;

use weft_comm::collective::{Element, Operator};

use super::Handle;
use super::locate::LoadError;
use super::symbols::Symbols;

/// Which binary interface a library has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbiKind {
    /// The standard ABI of MPI 5.0, chapter 20 (`libmpi_abi`).
    Standard,
    /// MPICH's own, shared by its derivatives (Intel MPI, Cray MPICH, MVAPICH) since the MPICH ABI initiative of 2013.
    Mpich,
    /// Open MPI's own: handles are addresses of its global variables.
    OpenMpi,
}

impl fmt::Display for AbiKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AbiKind::Standard => "MPI-5 standard ABI",
            AbiKind::Mpich => "MPICH ABI",
            AbiKind::OpenMpi => "Open MPI ABI",
        })
    }
}

/// Datatypes by their element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datatypes {
    pub byte: Handle,
    pub uint8: Handle,
    pub float: Handle,
    pub double: Handle,
    pub int32: Handle,
    pub int64: Handle,
}

impl Datatypes {
    /// The type to reduce elements with. Bytes are unsigned integers here: `MPI_BYTE` cannot be added.
    pub fn of(&self, element: Element) -> Handle {
        match element {
            Element::Float32 => self.float,
            Element::Float64 => self.double,
            Element::Int32 => self.int32,
            Element::Int64 => self.int64,
            Element::Byte => self.uint8,
        }
    }
}

/// Predefined operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operators {
    pub sum: Handle,
    pub product: Handle,
    pub maximum: Handle,
    pub minimum: Handle,
    pub bit_and: Handle,
    pub bit_or: Handle,
    pub bit_xor: Handle,
}

impl Operators {
    pub fn of(&self, operator: Operator) -> Handle {
        match operator {
            Operator::Sum => self.sum,
            Operator::Product => self.product,
            Operator::Maximum => self.maximum,
            Operator::Minimum => self.minimum,
            Operator::BitAnd => self.bit_and,
            Operator::BitOr => self.bit_or,
            Operator::BitXor => self.bit_xor,
        }
    }
}

/// What opening files takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileConstants {
    /// `MPI_COMM_SELF`.
    pub comm_self: Handle,
    /// `MPI_INFO_NULL`.
    pub info_null: Handle,
    /// `MPI_MODE_CREATE`, `MPI_MODE_RDONLY`, `MPI_MODE_RDWR`.
    pub create: c_int,
    pub read_only: c_int,
    pub read_write: c_int,
}

/// Where the fields of an `MPI_Status` lie, in `int`s from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusLayout {
    pub source: usize,
    pub tag: usize,
    pub bytes: BytesLayout,
    /// Size of the whole structure in bytes.
    pub size: usize,
}

/// Where a status keeps the number of bytes. `MPI_Get_count` takes some 6 ns to tell, which is 3% of a short message
/// between two processors; where the place belongs to the ABI it is read there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytesLayout {
    /// The low half in one `int`, the high half in the upper 31 bits of another.
    Halves { low: usize, high: usize },
    /// A 64-bit integer from this `int` on.
    Whole { at: usize },
    /// Only `MPI_Get_count` knows.
    Opaque,
}

/// Room for the status of any ABI: the largest is the standard's, with 32 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default)]
pub struct Status([c_int; 8]);

// Places are taken modulo 8 so that no check of bounds, and no way to panic, stays in the timed path.
impl Status {
    #[inline]
    pub fn source(&self, layout: &StatusLayout) -> c_int {
        self.0[layout.source % 8]
    }

    #[inline]
    pub fn tag(&self, layout: &StatusLayout) -> c_int {
        self.0[layout.tag % 8]
    }

    /// The number of bytes, or `None` where only `MPI_Get_count` knows.
    #[inline]
    pub fn bytes(&self, layout: &StatusLayout) -> Option<usize> {
        let unsigned = |at: usize| u64::from(self.0[at % 8].cast_unsigned());
        match layout.bytes {
            BytesLayout::Halves { low, high } => Some((unsigned(high) >> 1 << 32 | unsigned(low)) as usize),
            BytesLayout::Whole { at } if cfg!(target_endian = "little") => {
                Some((unsigned(at + 1) << 32 | unsigned(at)) as usize)
            }
            BytesLayout::Whole { at } => Some((unsigned(at) << 32 | unsigned(at + 1)) as usize),
            BytesLayout::Opaque => None,
        }
    }
}

/// The constants of one binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abi {
    pub kind: AbiKind,
    pub comm_world: Handle,
    pub comm_null: Handle,
    pub request_null: Handle,
    pub errors_return: Handle,
    pub datatypes: Datatypes,
    pub operators: Operators,
    pub files: FileConstants,
    pub any_source: c_int,
    pub any_tag: c_int,
    pub undefined: c_int,
    /// Key of the attribute that holds the largest tag.
    pub tag_upper_bound: c_int,
    /// The error class of a message too long for its receive.
    pub err_truncate: c_int,
    pub thread_funneled: c_int,
    pub thread_multiple: c_int,
    /// `MPI_LOCK_SHARED`.
    pub lock_shared: c_int,
    /// `MPI_COMM_TYPE_SHARED`.
    pub comm_type_shared: c_int,
    /// `MPI_IN_PLACE`, an address that no buffer has.
    pub in_place: usize,
    /// `MPI_STATUS_IGNORE`, and `MPI_STATUSES_IGNORE`, which is the same address in all three.
    pub status_ignore: usize,
    pub status: StatusLayout,
}

impl Abi {
    /// Bytes of a handle in an array of them.
    pub fn handle_size(&self) -> usize {
        match self.kind {
            AbiKind::Mpich => size_of::<c_int>(),
            AbiKind::Standard | AbiKind::OpenMpi => size_of::<Handle>(),
        }
    }

    /// Finds out which binary interface the library behind `symbols` has, without initialising it.
    ///
    /// The standard ABI is asked for first: a library that has it says so through `MPI_Abi_get_version`, which gives
    /// -1 where the library's native interface was loaded.
    pub fn detect(symbols: &Symbols) -> Result<Abi, LoadError> {
        if standard::version(symbols).is_some_and(|major| major > 0) {
            return Ok(standard::ABI);
        }
        if symbols.address("ompi_mpi_comm_world").is_some() {
            return open_mpi::abi(symbols);
        }
        let version = symbols.library_version()?;
        if mpich::is_mpich(&version) {
            return Ok(mpich::ABI);
        }
        Err(LoadError::UnknownAbi { path: symbols.path().to_owned(), version: first_line(&version).to_owned() })
    }
}

/// The first line of a library's description of itself.
pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("").trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_fits_the_room_for_a_status() {
        for layout in [standard::ABI.status, mpich::ABI.status, open_mpi::STATUS] {
            assert!(layout.size <= size_of::<Status>(), "{layout:?}");
            assert!(4 * layout.source.max(layout.tag) < layout.size, "{layout:?}");
        }
    }

    #[test]
    fn mpich_and_its_derivatives_are_known_by_their_versions() {
        for version in [
            "MPICH Version:      5.0.2",
            "Intel(R) MPI Library 2021.13",
            "MVAPICH2 Version : 2.3.7",
            "CRAY MPICH version 8.1",
        ] {
            assert!(mpich::is_mpich(version), "{version}");
        }
        assert!(!mpich::is_mpich("Open MPI v5.0.11"));
        assert!(!mpich::is_mpich("MSMPI 10"));
    }

    #[test]
    fn the_bytes_of_a_status_are_read_where_the_abi_has_them() {
        let halves = Status([-1, 2 << 1 | 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(halves.bytes(&mpich::ABI.status), Some((2 << 32) + 0xffff_ffff));
        let mut whole = Status::default();
        let bytes = 0x1_2345_6789_u64.to_ne_bytes();
        whole.0[4] = c_int::from_ne_bytes(bytes[..4].try_into().unwrap());
        whole.0[5] = c_int::from_ne_bytes(bytes[4..].try_into().unwrap());
        assert_eq!(whole.bytes(&open_mpi::STATUS), Some(0x1_2345_6789));
        assert_eq!(whole.bytes(&standard::ABI.status), None);
    }

    #[test]
    fn handles_of_one_abi_are_different() {
        for abi in [standard::ABI, mpich::ABI] {
            let d = abi.datatypes;
            let o = abi.operators;
            let mut handles = vec![
                d.byte,
                d.uint8,
                d.float,
                d.double,
                d.int32,
                d.int64,
                o.sum,
                o.product,
                o.maximum,
                o.minimum,
                o.bit_and,
                o.bit_or,
                o.bit_xor,
                abi.comm_world,
                abi.comm_null,
                abi.request_null,
                abi.errors_return,
            ];
            handles.sort_unstable();
            handles.dedup();
            assert_eq!(handles.len(), 17, "{:?}", abi.kind);
        }
    }
}
