//! The program of a launch: who takes part, which points in which order, which rows.

use weft_comm::collective::Choice;
use weft_comm::prepared::Feature;
use weft_comm::{CommError, Communicator, Program};

use crate::catalogue::BuiltIn;
use crate::checks::too_few;
use crate::description::{Description, Group};
use crate::files::{MAX_REAL_BYTES, file_system};
use crate::parameters::{BufferSort, PayloadSort};
use crate::registry::Registry;
use crate::request::Request;
use crate::row::Row;
use crate::session::{Session, nodes};
use crate::usage::{UsageError, refuse_if};

/// The benchmark program of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    pub request: Request,
}

impl Program for Suite {
    /// Rank 0 has the rows, in the order of the request (by distance, load or neighbours, then by length), or says why
    /// the request cannot be met; the other ranks have no rows.
    type Output = Result<Vec<Row>, UsageError>;

    async fn run<C: Communicator>(self, comm: C) -> Result<Result<Vec<Row>, UsageError>, CommError> {
        measure::<BuiltIn, C>(&self.request, comm).await
    }
}

/// What a [`Suite`] runs, with the benchmarks of any registry.
///
/// # Errors
/// [`CommError`] for a run that fails; within it [`UsageError`] for a request that cannot be met.
pub async fn measure<R: Registry, C: Communicator>(
    request: &Request,
    comm: C,
) -> Result<Result<Vec<Row>, UsageError>, CommError> {
    let checked = request.validate_in::<R>().and_then(|benchmark| {
        check_launch(request, benchmark, &comm)?;
        Ok(benchmark)
    });
    let benchmark = match checked {
        Ok(benchmark) => benchmark,
        Err(error) => return Ok(Err(error)),
    };
    let Some(comm) = participants(request, benchmark, comm).await? else { return Ok(Ok(Vec::new())) };
    let session = Session { comm, request, benchmark };
    let rows = R::measure(&session).await;
    rows.unwrap_or_else(|| Err(session.error(format!("the registry lists '{}' and does not have it", benchmark.name))))
}

fn check_launch<C: Communicator>(request: &Request, benchmark: &Description, comm: &C) -> Result<(), UsageError> {
    let (name, available) = (benchmark.name, nodes(comm));
    let wanted = request.ranks.unwrap_or(available);
    refuse_if(wanted > available, || format!("{name} on {wanted} ranks: this launch has {available}"))?;
    too_few(benchmark, wanted)?;
    refuse_if(benchmark.host && comm.host().is_none(), || {
        format!("{name} needs a rank on the machine's host, and this launch has none")
    })?;
    (benchmark.check_ranks)(request, wanted)?;
    check_feature(benchmark.name, benchmark.needs, comm)?;
    let on_device = request.buffers == Some(BufferSort::Device);
    check_feature(benchmark.name, on_device.then_some(Feature::Device), comm)?;
    refuse_if(on_device && request.payload == Some(PayloadSort::Phantom), || {
        format!(
            "{name} with buffers 'device' and payload 'phantom': lengths alone lie nowhere; leave one of the two out"
        )
    })?;
    let is_phantom = request.payload == Some(PayloadSort::Phantom);
    refuse_if(benchmark.group == Group::Program && is_phantom && !comm.virtual_time(), || {
        format!("{name} with phantoms computes nothing; that has a meaning in virtual time only")
    })?;
    if benchmark.takes("file_system").is_some() {
        file_system(request, benchmark, comm)?;
    }
    refuse_if(request.io_nodes.is_some() && !comm.virtual_time(), || {
        format!("{name} with io_nodes: only the I/O nodes of a described machine can be chosen")
    })?;
    refuse_if(!comm.virtual_time() && request.files_too_large(wanted), || {
        format!("{name} with files of more than {} GiB in all: ask for fewer file_bytes", MAX_REAL_BYTES >> 30)
    })?;
    let wants_native = request.choice()? == Choice::Native;
    refuse_if(wants_native && comm.native().is_none(), || {
        format!("{name} by 'native': this backend has no library with collectives of its own; choose another algorithm")
    })
}

/// Refuses what a benchmark needs and the backend does not have.
fn check_feature<C: Communicator>(name: &str, needs: Option<Feature>, comm: &C) -> Result<(), UsageError> {
    let Some(feature) = needs else { return Ok(()) };
    // In virtual time a collective of weft's own is a future, which can be left and come back to.
    if feature == Feature::Nonblocking && comm.virtual_time() {
        return Ok(());
    }
    let needed = feature.words();
    match comm.operations() {
        Some(operations) => operations.lacks(feature).map_or(Ok(()), |why| Err(UsageError(format!("{name}: {why}")))),
        None => {
            let here = if comm.virtual_time() { "virtual time" } else { "this backend" };
            Err(UsageError(format!("{name} needs {needed}, which {here} does not have; measure it by MPI, --on here")))
        }
    }
}

/// The communicator of the ranks that take part; `None` on the others.
async fn participants<C: Communicator>(
    request: &Request,
    benchmark: &Description,
    comm: C,
) -> Result<Option<C>, CommError> {
    let wanted = request.ranks.unwrap_or_else(|| nodes(&comm));
    if benchmark.host || wanted == comm.size() {
        return Ok(Some(comm));
    }
    let color = (comm.rank() < wanted).then_some(0);
    comm.split(color, 0).await
}
