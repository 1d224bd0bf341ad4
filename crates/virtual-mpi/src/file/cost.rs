//! What access to a file costs: the machine's own file system says so, where its description has one.

use std::path::Path;

use weft_comm::files::{Access, FileId, FileSystem, Files};
use weft_comm::{Communicator as _, Payload};

use crate::fault::Fault;
use crate::link::Link;
use crate::processes::codec::{FileWork, Range};

/// The file of the machine that stands for a real one.
#[derive(Clone, Debug, Default)]
pub enum Cost {
    /// The description says nothing of files: access takes no time.
    #[default]
    Nothing,
    Here(FileSystem, FileId),
    /// Where the simulator is in another process, it knows the file by a number.
    Elsewhere(u32),
}

impl Cost {
    /// Opens the file on the machine.
    pub async fn open(link: &Link, path: &Path) -> Cost {
        if let Some(file) = link.new_file() {
            let cost = Cost::Elsewhere(file);
            // Where it cannot be opened, access takes no time.
            let _ = cost.ask(link, || FileWork::Open { path: path.to_owned() }).await;
            return cost;
        }
        let Some(endpoint) = link.simulated() else { return Cost::Nothing };
        let Some(&system) = endpoint.file_systems().first() else { return Cost::Nothing };
        let Some(files) = endpoint.files(system) else { return Cost::Nothing };
        let name = path.to_string_lossy();
        let opened = files.open(&name, Access::ReadWrite).await;
        opened.map_or(Cost::Nothing, |file| Cost::Here(system, file))
    }

    /// Has the other process do it, where the file is there.
    async fn ask(&self, link: &Link, work: impl FnOnce() -> FileWork) -> Result<(), Fault> {
        if let Cost::Elsewhere(file) = *self
            && let Some(asked) = link.file_work(file, &work())
        {
            asked.await?;
        }
        Ok(())
    }

    pub async fn close(&self, link: &Link) -> Result<(), Fault> {
        if let Some((_, files, file)) = self.files(link) {
            files.close(file).await?;
        }
        self.ask(link, || FileWork::Close).await
    }

    /// Moves data to or from ranges of the file, which has `length` bytes by now.
    pub async fn transfer(&self, link: &Link, ranges: &[Range], length: u64, is_write: bool) -> Result<(), Fault> {
        let Some((system, files, file)) = self.files(link) else {
            return self.ask(link, || FileWork::Transfer { ranges: ranges.to_vec(), length, is_write }).await;
        };
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
        if let Some((_, files, file)) = self.files(link) {
            files.preallocate(file, bytes).await?;
        }
        self.ask(link, || FileWork::Preallocate { bytes }).await
    }

    pub async fn sync(&self, link: &Link) -> Result<(), Fault> {
        if let Some((_, files, file)) = self.files(link) {
            files.sync(file).await?;
        }
        self.ask(link, || FileWork::Sync).await
    }

    fn files<'a>(&self, link: &'a Link) -> Option<(FileSystem, &'a dyn Files, FileId)> {
        let Cost::Here(system, file) = *self else { return None };
        link.simulated()?.files(system).map(|files| (system, files, file))
    }
}
