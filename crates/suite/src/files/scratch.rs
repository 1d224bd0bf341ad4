//! Files that exist for a benchmark only.

use std::time::{SystemTime, UNIX_EPOCH};

use weft_comm::collective::{Choice, broadcast};
use weft_comm::files::{FileSystem, Files};
use weft_comm::{CommError, Communicator, Payload};

use crate::description::Description;
use crate::request::Request;
use crate::session::Session;
use crate::usage::UsageError;

/// The file system that a request asks for, or the first that the backend has and the benchmark takes.
///
/// # Errors
/// [`UsageError`] where the backend does not have it.
pub(crate) fn file_system<C: Communicator>(
    request: &Request,
    benchmark: &Description,
    comm: &C,
) -> Result<FileSystem, UsageError> {
    let (name, taken) = (benchmark.name, benchmark.choices("file_system"));
    let usable: Vec<FileSystem> =
        comm.file_systems().iter().copied().filter(|system| taken.contains(&system.name())).collect();
    let system = match request.file_system.as_deref() {
        None => usable.first().copied(),
        Some(wanted) => usable.iter().copied().find(|system| system.name() == wanted),
    };
    system.ok_or_else(|| {
        let wanted = request.file_system.clone().unwrap_or_else(|| taken.join(" or "));
        let here: Vec<&str> = comm.file_systems().iter().map(|system| system.name()).collect();
        UsageError(match here.is_empty() {
            true => format!(
                "{name} needs files by {wanted}; this machine has none, as its file has neither [files] nor [host_files]"
            ),
            false => format!("{name} needs files by {wanted}; this backend has {}", here.join(", ")),
        })
    })
}

/// A name that no other run uses, the same on all ranks, in the directory for files that are removed afterwards.
pub(crate) struct Scratch<'a> {
    pub files: &'a dyn Files,
    pub system: FileSystem,
    stem: String,
}

impl<'a> Scratch<'a> {
    /// Agrees on a name: that of rank 0. Collective.
    pub async fn agree<C: Communicator>(session: &'a Session<'_, C>) -> Result<Scratch<'a>, CommError> {
        let comm = &session.comm;
        let system =
            file_system(session.request, session.benchmark, comm).map_err(|error| session.error(error.to_string()))?;
        let files =
            comm.files(system).ok_or_else(|| session.error(format!("this backend has lost its {system} files")))?;
        let own = format!("{}/weft-{:x}", files.scratch_directory().trim_end_matches('/'), token(comm));
        let length = broadcast(comm, 0, Payload::of(&[own.len() as u64]), Choice::Auto).await?;
        let length = length.values::<u64>().expect("data was sent")[0] as usize;
        let mut bytes = own.into_bytes();
        bytes.resize(length, 0);
        let name = broadcast(comm, 0, Payload::of(&bytes), Choice::Auto).await?;
        let stem = String::from_utf8_lossy(name.values::<u8>().expect("data was sent")).into_owned();
        Ok(Scratch { files, system, stem })
    }

    /// The path of one of the files.
    pub fn path(&self, what: &str) -> String {
        format!("{}-{what}", self.stem)
    }

    /// What kind of file system they are on.
    pub fn kind(&self) -> String {
        self.files.kind_of(&self.stem)
    }
}

/// A number that differs from that of other runs; in virtual time every run is the only one.
fn token<C: Communicator>(comm: &C) -> u64 {
    if comm.virtual_time() {
        return 0;
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64 ^ (u64::from(std::process::id()) << 40)
}
