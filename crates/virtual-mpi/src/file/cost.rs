//! What access to a file costs: the machine's own file system says so, where its description has one.

use std::path::Path;

use weft_comm::files::{Access, FileId, FileSystem};
use weft_comm::{Communicator as _, Payload};

use super::Range;
use crate::fault::Fault;
use crate::link::Link;

/// The file of the machine that stands for a real one; none where the description says nothing of files, and access
/// takes no time.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    file: Option<(FileSystem, FileId)>,
}

impl Cost {
    /// Opens the file on the machine.
    pub async fn open(link: &Link, path: &Path) -> Cost {
        let Some(endpoint) = link.simulated() else { return Cost::default() };
        let Some(&system) = endpoint.file_systems().first() else { return Cost::default() };
        let Some(files) = endpoint.files(system) else { return Cost::default() };
        let name = path.to_string_lossy();
        let opened = files.open(&name, Access::ReadWrite).await;
        Cost { file: opened.ok().map(|file| (system, file)) }
    }

    pub async fn close(&self, link: &Link) -> Result<(), Fault> {
        if let Some((files, file)) = self.files(link) {
            files.close(file).await?;
        }
        Ok(())
    }

    /// Moves data to or from ranges of the file, which has `length` bytes by now.
    pub async fn transfer(&self, link: &Link, ranges: &[Range], length: u64, is_write: bool) -> Result<(), Fault> {
        let (Some((system, file)), Some((files, _))) = (self.file, self.files(link)) else { return Ok(()) };
        if !is_write {
            link.simulated().inspect(|endpoint| endpoint.declare_file_length(system, file, length));
        }
        for range in ranges {
            let end = if is_write { range.end() } else { range.end().min(length) };
            let bytes = end.saturating_sub(range.offset) as usize;
            if bytes > 0 && is_write {
                files.write_at(file, range.offset, Payload::Phantom(bytes)).await?;
            } else if bytes > 0 {
                files.read_at(file, range.offset, Payload::Phantom(bytes)).await?;
            }
        }
        Ok(())
    }

    pub async fn preallocate(&self, link: &Link, bytes: u64) -> Result<(), Fault> {
        if let Some((files, file)) = self.files(link) {
            files.preallocate(file, bytes).await?;
        }
        Ok(())
    }

    pub async fn sync(&self, link: &Link) -> Result<(), Fault> {
        if let Some((files, file)) = self.files(link) {
            files.sync(file).await?;
        }
        Ok(())
    }

    fn files<'a>(&self, link: &'a Link) -> Option<(&'a dyn weft_comm::files::Files, FileId)> {
        let (system, file) = self.file?;
        link.simulated()?.files(system).map(|files| (files, file))
    }
}
