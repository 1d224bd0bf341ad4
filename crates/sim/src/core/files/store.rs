//! What the files of a run hold.

use rustc_hash::FxHashMap;
use slab::Slab;
use weft_comm::{Buffer, Payload};

/// One file.
#[derive(Debug, Default)]
struct Stored {
    length: u64,
    /// The bytes, as long as no phantom was written.
    bytes: Option<Vec<u8>>,
    /// Blocks that have an address on a disk, from the first on.
    allocated: u64,
}

/// The files of one file system, by name.
#[derive(Debug, Default)]
pub(crate) struct Store {
    names: FxHashMap<String, u32>,
    files: Slab<Stored>,
}

impl Store {
    pub fn find(&self, path: &str) -> Option<u32> {
        self.names.get(path).copied()
    }

    /// The file of this name, made where there is none.
    pub fn find_or_make(&mut self, path: &str) -> u32 {
        if let Some(file) = self.find(path) {
            return file;
        }
        let file = self.files.insert(Stored { bytes: Some(Vec::new()), ..Stored::default() }) as u32;
        self.names.insert(path.to_owned(), file);
        file
    }

    /// Takes the name away; who has the file open keeps it. Whether there was one.
    pub fn unlink(&mut self, path: &str) -> bool {
        self.names.remove(path).is_some()
    }

    pub fn length(&self, file: u32) -> u64 {
        self.files[file as usize].length
    }

    /// Gives blocks up to `blocks` an address; those from the returned number on are new.
    pub fn allocate(&mut self, file: u32, blocks: u64) -> u64 {
        let stored = &mut self.files[file as usize];
        let before = stored.allocated;
        stored.allocated = before.max(blocks);
        before
    }

    /// Makes the file at least this long.
    pub fn lengthen(&mut self, file: u32, length: u64) {
        let stored = &mut self.files[file as usize];
        stored.length = stored.length.max(length);
        if let Some(bytes) = &mut stored.bytes {
            bytes.resize(stored.length as usize, 0);
        }
    }

    pub fn write(&mut self, file: u32, offset: u64, from: &Payload) {
        let end = offset + from.len() as u64;
        if let Payload::Phantom(_) = from {
            self.files[file as usize].bytes = None;
        }
        self.lengthen(file, end);
        if let (Some(bytes), Payload::Data(data)) = (&mut self.files[file as usize].bytes, from) {
            bytes[offset as usize..end as usize].copy_from_slice(data);
        }
    }

    /// What is there; a phantom where one was written or wanted.
    pub fn read(&self, file: u32, offset: u64, into: Payload) -> Payload {
        let bytes = into.len();
        match (&self.files[file as usize].bytes, into) {
            (Some(stored), Payload::Data(_)) => {
                let start = offset as usize;
                Payload::Data(Buffer::of(&stored[start..start + bytes]))
            }
            _ => Payload::Phantom(bytes),
        }
    }
}
