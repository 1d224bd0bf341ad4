//! What only the operating system knows of files: Linux is asked, others get the plain way and `unknown`.

#[cfg(target_os = "linux")]
pub(super) use linux::{forget, kind_of, reserve};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{forget, kind_of, reserve};

#[cfg(not(target_os = "linux"))]
mod other {
    use std::fs::File;
    use std::io::Result;
    use std::path::Path;

    use crate::files::Cache;

    pub fn reserve(file: &File, bytes: u64) -> Result<()> {
        if file.metadata()?.len() < bytes { file.set_len(bytes) } else { Ok(()) }
    }

    pub fn forget(_: &File) -> Result<Cache> {
        Ok(Cache::Unknown)
    }

    pub fn kind_of(_: &Path) -> Option<String> {
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{IoSliceMut, Result};
    use std::path::Path;

    use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate, statfs};
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    use crate::files::Cache;

    /// Offsets of a file that are looked at to see whether it is cached.
    const SAMPLES: u64 = 64;

    /// Reserves space in a file for `bytes` bytes.
    pub fn reserve(file: &File, bytes: u64) -> Result<()> {
        let is_longer = file.metadata()?.len() >= bytes;
        match fallocate(file, FallocateFlags::empty(), 0, bytes.max(1)) {
            // A file system without reservations gets at least the length.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) if !is_longer => file.set_len(bytes),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            done => done.map_err(Into::into),
        }
    }

    /// Asks for the pages of a file to be dropped, and looks whether they are.
    pub fn forget(file: &File) -> Result<Cache> {
        fadvise(file, 0, None, Advice::DontNeed)?;
        let cache = look_into_cache(file, file.metadata()?.len());
        // Looking may have brought some of it back.
        fadvise(file, 0, None, Advice::DontNeed)?;
        Ok(cache)
    }

    /// Reads that must not wait for the device: they fail where the bytes are not in memory.
    fn look_into_cache(file: &File, length: u64) -> Cache {
        let mut byte = [0u8];
        for sample in 0..SAMPLES.min(length) {
            let offset = length / SAMPLES.min(length) * sample;
            let mut into = [IoSliceMut::new(&mut byte)];
            match preadv2(file, &mut into, offset, ReadWriteFlags::NOWAIT) {
                Ok(0) | Err(Errno::AGAIN) => {}
                Ok(_) => return Cache::Kept,
                Err(_) => return Cache::Unknown,
            }
        }
        Cache::Dropped
    }

    /// The file systems of the manual page of `statfs`, and those of clusters, by what they call themselves.
    pub fn kind_of(directory: &Path) -> Option<String> {
        let magic = statfs(directory).ok()?.f_type as u64 & 0xffff_ffff;
        let known = match magic {
            0xEF53 => "ext4",
            0x5846_5342 => "xfs",
            0x9123_683E => "btrfs",
            0x0102_1994 => "tmpfs",
            0x794C_7630 => "overlayfs",
            0x6969 => "nfs",
            0x0BD0_0BD0 => "lustre",
            0x4750_4653 => "gpfs",
            0x1983_0326 => "beegfs",
            0x2FC1_2FC1 => "zfs",
            0x6573_5546 => "fuse",
            0x0102_1997 => "9p",
            0x8584_58F6 => "ramfs",
            _ => return Some(format!("{magic:#x}")),
        };
        Some(known.to_owned())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_file_in_memory_is_kept_and_a_reserved_one_is_long() {
            // Where there is a file system of memory, its files cannot be dropped.
            let shared = Path::new("/dev/shm");
            if kind_of(shared).as_deref() != Some("tmpfs") {
                return;
            }
            let path = shared.join(format!("weft-test-cache-{}", std::process::id()));
            let Ok(file) = File::create_new(&path) else { return };
            let reserved = reserve(&file, 10_000);
            let length = file.metadata().map(|metadata| metadata.len());
            let cache = File::open(&path).and_then(|file| forget(&file));
            std::fs::remove_file(&path).unwrap();
            reserved.unwrap();
            assert_eq!(length.unwrap(), 10_000);
            assert_ne!(cache.unwrap(), Cache::Dropped);
        }
    }
}
