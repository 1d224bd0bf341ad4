//! Whole arrays to and from one rank.

use weft_comm::{Buffer, CommError, Communicator, Payload, Source, Tag};

use super::copy::{Address, BoxCopy, Copies};
use super::driver::other_length;
use super::pattern::Storage;
use crate::geometry::Geometry;

const SCATTERED: Tag = Tag::User(0x3ff0);
const GATHERED: Tag = Tag::User(0x3ff1);

/// An array of the geometry's whole shape in the memory of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The first element.
    pub start: *mut u8,
    /// Bytes from an element to the next of each axis.
    pub strides: Vec<isize>,
}

/// The copy between a rank's block within the whole array (base 0) and the block (base 1, as it lies in `block`).
fn part(geometry: &Geometry, rank: usize, strides: &[isize], block: &Storage, out: bool) -> Copies {
    let start = geometry.start(rank);
    let offset = start.iter().zip(strides).map(|(&at, stride)| at as isize * stride).sum();
    let (whole, own) = (Address { base: 0, offset }, Address { base: 1, offset: block.origin });
    let (from, to) = if out { (whole, own) } else { (own, whole) };
    let (strides, own_strides) = (strides.to_vec(), block.strides.clone());
    let (from_strides, to_strides) = if out { (strides, own_strides) } else { (own_strides, strides) };
    let extents = geometry.local_shape(rank);
    Copies::new([BoxCopy { from, to, extents, from_strides, to_strides, element: block.element }])
}

fn dense(geometry: &Geometry, rank: usize, element: usize) -> (Storage, usize) {
    let shape = geometry.local_shape(rank);
    let storage = Storage::contiguous(element, &shape, &vec![[0, 0]; shape.len()]);
    let bytes = storage.bytes(&shape);
    (storage, bytes)
}

/// One rank's part in the division of a whole array over the ranks.
#[derive(Clone, Copy)]
pub struct Division<'a> {
    pub geometry: &'a Geometry,
    /// The rank that has the whole array.
    pub root: usize,
    /// The array, on the root.
    pub whole: Option<&'a Whole>,
    /// How this rank's block lies in memory, which begins at `own`.
    pub storage: &'a Storage,
    pub own: *mut u8,
}

impl Division<'_> {
    /// Divides the root's array over the ranks. Collective.
    ///
    /// # Errors
    /// Those of the backend.
    ///
    /// # Safety
    /// `whole` (on the root) must have the geometry's shape, `own` memory as `storage` says; both for elements of one size.
    pub async unsafe fn scatter<C: Communicator>(&self, comm: &C) -> Result<(), CommError> {
        let Division { geometry, root, storage, own, .. } = *self;
        let rank = comm.rank();
        if rank != root {
            let (block, into) = dense(geometry, rank, storage.element);
            if let Some(mut buffer) = received(comm, (root, SCATTERED), into).await? {
                // SAFETY: `received` gives a buffer of the dense block's bytes, and `own` has the memory that `storage`
                // says (this function's condition).
                unsafe { between(geometry, rank, &block, storage).run(&[buffer.as_mut_ptr(), own]) };
            }
            return Ok(());
        }
        let whole = self.whole_of_root()?;
        let mut sends = Vec::new();
        for to in (0..comm.size()).filter(|&to| to != root) {
            let (block, bytes) = dense(geometry, to, storage.element);
            if bytes > 0 {
                let mut buffer = Buffer::zeroed(bytes);
                let copies = part(geometry, to, &whole.strides, &block, true);
                // SAFETY: the buffer has the dense block's bytes, and `whole` has the geometry's shape (this function's
                // condition), of which a rank's block is a part.
                unsafe { copies.run(&[whole.start, buffer.as_mut_ptr()]) };
                sends.push(comm.isend(to, SCATTERED, Payload::Data(buffer)));
            }
        }
        // SAFETY: this function's conditions are those of the copy.
        unsafe { self.copy_own_block(whole, true) };
        for send in sends {
            send.await?;
        }
        Ok(())
    }

    /// Puts the blocks of all ranks together in the root's array. Collective.
    ///
    /// # Errors
    /// Those of the backend.
    ///
    /// # Safety
    /// As for [`scatter`](Division::scatter).
    pub async unsafe fn gather<C: Communicator>(&self, comm: &C) -> Result<(), CommError> {
        let Division { geometry, root, storage, own, .. } = *self;
        let rank = comm.rank();
        if rank != root {
            let (block, bytes) = dense(geometry, rank, storage.element);
            if bytes > 0 {
                let mut buffer = Buffer::zeroed(bytes);
                // SAFETY: the buffer has the dense block's bytes, and `own` has the memory that `storage` says (this
                // function's condition).
                unsafe { between(geometry, rank, storage, &block).run(&[own, buffer.as_mut_ptr()]) };
                comm.send(root, GATHERED, Payload::Data(buffer)).await?;
            }
            return Ok(());
        }
        let whole = self.whole_of_root()?;
        // SAFETY: this function's conditions are those of the copy.
        unsafe { self.copy_own_block(whole, false) };
        for from in (0..comm.size()).filter(|&from| from != root) {
            let (block, into) = dense(geometry, from, storage.element);
            if let Some(mut buffer) = received(comm, (from, GATHERED), into).await? {
                // SAFETY: `received` gives a buffer of the dense block's bytes, and `whole` has the geometry's shape
                // (this function's condition), of which a rank's block is a part.
                unsafe { part(geometry, from, &whole.strides, &block, false).run(&[whole.start, buffer.as_mut_ptr()]) };
            }
        }
        Ok(())
    }

    /// All of [`scatter`](Division::scatter) where the root is the only rank: no communicator is needed.
    ///
    /// # Errors
    /// There is no array.
    ///
    /// # Safety
    /// As for [`scatter`](Division::scatter).
    pub unsafe fn scatter_alone(&self) -> Result<(), CommError> {
        // SAFETY: this function's conditions are those of the copy.
        self.whole_of_root().map(|whole| unsafe { self.copy_own_block(whole, true) })
    }

    /// All of [`gather`](Division::gather) where the root is the only rank: no communicator is needed.
    ///
    /// # Errors
    /// There is no array.
    ///
    /// # Safety
    /// As for [`scatter`](Division::scatter).
    pub unsafe fn gather_alone(&self) -> Result<(), CommError> {
        // SAFETY: this function's conditions are those of the copy.
        self.whole_of_root().map(|whole| unsafe { self.copy_own_block(whole, false) })
    }

    fn whole_of_root(&self) -> Result<&Whole, CommError> {
        self.whole.ok_or_else(|| nothing(self.root))
    }

    /// Copies between the root's array and its own block, towards the block where `out` says so.
    ///
    /// # Safety
    /// As for [`scatter`](Division::scatter).
    unsafe fn copy_own_block(&self, whole: &Whole, out: bool) {
        let copies = part(self.geometry, self.root, &whole.strides, self.storage, out);
        // SAFETY: `whole` has the geometry's shape and `own` the memory that `storage` says (this function's
        // conditions); they are two arrays.
        unsafe { copies.run(&[whole.start, self.own]) };
    }
}

/// So many bytes from a rank, no fewer; nothing is waited for where there are none.
async fn received<C: Communicator>(
    comm: &C,
    (from, tag): (usize, Tag),
    bytes: usize,
) -> Result<Option<Buffer>, CommError> {
    if bytes == 0 {
        return Ok(None);
    }
    let into = Payload::Data(Buffer::zeroed(bytes));
    match comm.recv(Source::Rank(from), tag.into(), into).await?.payload {
        Payload::Data(buffer) if buffer.len() != bytes => Err(other_length(comm.rank(), from, buffer.len(), bytes)),
        Payload::Data(buffer) => Ok(Some(buffer)),
        Payload::Phantom(_) => Ok(None),
    }
}

/// The copy of a rank's block from one form (base 0) to another (base 1).
fn between(geometry: &Geometry, rank: usize, from: &Storage, to: &Storage) -> Copies {
    Copies::new([BoxCopy {
        from: Address { base: 0, offset: from.origin },
        to: Address { base: 1, offset: to.origin },
        extents: geometry.local_shape(rank),
        from_strides: from.strides.clone(),
        to_strides: to.strides.clone(),
        element: from.element,
    }])
}

fn nothing(rank: usize) -> CommError {
    CommError::program(rank, "the root of a scatter or gather has no array")
}
