//! Reading and writing files (MPI 4.1, section 14.4): at offsets, individual and shared pointers; blocking, nonblocking,
//! collective, and collective in two calls.

use std::ffi::c_void;
use std::rc::Rc;

use weft_comm::Buffer;

use crate::abi::{Aint, Datatype, File as Handle, Request as RequestHandle, Status};
use crate::collective;
use crate::communicator::Links;
use crate::fault::{Answer, Fault, class, require};
use crate::file::{File, Representation, Split, View, mode};
use crate::processes::codec::{Move, Range};
use crate::rank::Rank;
use crate::request::{Completed, Completion, Request, State, Work};

use super::files::find_file;
use super::point_to_point::{Memory, rank_for_ever};
use super::put;

/// Where an access begins, and which pointer it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pointer {
    At(Aint),
    Individual,
    Shared,
    /// The shared one, in the order of ranks.
    Ordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

/// One call on a file.
#[derive(Clone)]
struct Access {
    rank: &'static Rank,
    file: Rc<File>,
    view: Rc<View>,
    direction: Direction,
    memory: Memory,
    bytes: usize,
    /// The individual pointer moves by what is read, not by what is asked for: so it is for views without gaps in MPICH,
    /// where programs read to the end of a file, while the standard has a pointer move by what is asked for (MPI 4.1,
    /// section 14.4.1).
    moves_by_result: bool,
}

impl Access {
    fn new(rank: &Rank, fh: Handle, direction: Direction, memory: Memory) -> Result<Access, Fault> {
        let file = find_file(rank, fh)?;
        check_direction(&file, direction)?;
        let (datatype, count) = memory.check(rank)?;
        let (view, bytes) = (file.view.borrow().clone(), datatype.size * count);
        require(bytes.is_multiple_of(view.etype.size), class::ERR_IO, || {
            format!("{bytes} bytes are no whole elements of {} bytes, of which the view consists", view.etype.size)
        })?;
        Ok(Access { rank: rank_for_ever(rank), file, view, direction, memory, bytes, moves_by_result: false })
    }

    fn elements(&self) -> u64 {
        (self.bytes / self.view.etype.size) as u64
    }

    /// Where the data begin, in bytes of the view; a pointer moves on.
    fn start(&self, pointer: Pointer) -> Result<u64, Fault> {
        let is_sequential = self.file.may(mode::SEQUENTIAL);
        let by_pointer = matches!(pointer, Pointer::Shared | Pointer::Ordered);
        require(!is_sequential || by_pointer, class::ERR_UNSUPPORTED_OPERATION, || {
            "the file is open for sequential access".to_owned()
        })?;
        self.rank.block(self.rank.endpoint.settle());
        let first = match pointer {
            Pointer::At(offset) => {
                require(offset >= 0, class::ERR_ARG, || format!("an offset of {offset} elements"))?;
                offset as u64
            }
            Pointer::Individual => self.file.position.replace(self.file.position.get() + self.elements()),
            Pointer::Shared | Pointer::Ordered => self.file.move_shared(Move::By(self.elements())),
        };
        Ok(first * self.view.etype.size as u64)
    }

    /// The operation from byte `start` of the view on. What is written is in the file at once; what is read is taken
    /// from it when the machine has brought it.
    fn run(&self, start: u64) -> Result<Work, Fault> {
        let ranges = self.view.ranges(start, self.bytes);
        let access = self.clone();
        if self.direction == Direction::Write {
            self.write(&ranges)?;
            return Ok(Box::pin(async move {
                access.pay(&ranges).await?;
                Ok(Completed { bytes: access.bytes as u64, ..Completed::EMPTY })
            }));
        }
        Ok(Box::pin(async move {
            access.pay(&ranges).await?;
            let bytes = access.read(&ranges)?;
            if access.moves_by_result {
                let end = start + bytes as u64;
                access.file.position.set(end.div_ceil(access.view.etype.size as u64));
            }
            Ok(Completed { bytes: bytes as u64, ..Completed::EMPTY })
        }))
    }

    /// The time that the machine takes.
    async fn pay(&self, ranges: &[Range]) -> Answer {
        let is_write = self.direction == Direction::Write;
        self.file.cost.transfer(&self.rank.endpoint, ranges, self.file.length()?, is_write).await
    }

    fn write(&self, ranges: &[Range]) -> Answer {
        let mut data = self.memory.load(self.rank)?;
        self.convert(&mut data)?;
        self.file.write(ranges, &data)
    }

    fn read(&self, ranges: &[Range]) -> Result<usize, Fault> {
        let mut data = Buffer::zeroed(self.bytes);
        let bytes = self.file.read(ranges, &mut data)?;
        self.convert(&mut data[..bytes])?;
        self.memory.store(self.rank, &data[..bytes])?;
        Ok(bytes)
    }

    /// Data between memory and the representation in the file.
    fn convert(&self, data: &mut [u8]) -> Answer {
        if self.view.representation == Representation::External32 {
            let (datatype, count) = self.memory.check(self.rank)?;
            require(datatype.external_size() == datatype.size, class::ERR_CONVERSION, || {
                "files of external32 with elements that are shorter there than in memory (MPI_LONG, MPI_WCHAR)"
                    .to_owned()
            })?;
            let converted = match self.direction {
                Direction::Write => datatype.to_external(data, count),
                Direction::Read => datatype.from_external(data, count),
            };
            let bytes = converted.len().min(data.len());
            data[..bytes].copy_from_slice(&converted[..bytes]);
        }
        Ok(())
    }
}

fn check_direction(file: &File, direction: Direction) -> Answer {
    match direction {
        Direction::Read => {
            require(!file.may(mode::WRONLY), class::ERR_ACCESS, || "the file is open for writing only".to_owned())
        }
        Direction::Write => {
            require(!file.may(mode::RDONLY), class::ERR_READ_ONLY, || "the file is open for reading only".to_owned())
        }
    }
}

/// An access in the order of ranks: each begins where those of the ranks before it end.
async fn ordered(access: Access, links: Links) -> Completion {
    let own = [access.file.shared_position(), access.elements()];
    let lens = vec![size_of_val(&own); access.file.comm.size()];
    let all = collective::allgather(links, Buffer::of(&own), &lens).await?;
    let counts: Vec<u64> = all.iter().map(|part| part.values::<u64>()[1]).collect();
    let base = all[0].values::<u64>()[0];
    let before: u64 = counts[..access.file.comm.rank()].iter().sum();
    // Ranks that are further on may have moved it again.
    access.file.move_shared(Move::AtLeast(base + counts.iter().sum::<u64>()));
    access.run((base + before) * access.view.etype.size as u64)?.await
}

/// The operation of a call.
fn work(access: &Access, pointer: Pointer, links: impl FnOnce() -> Links) -> Result<Work, Fault> {
    if pointer == Pointer::Ordered {
        access.rank.block(access.rank.endpoint.settle());
        return Ok(Box::pin(ordered(access.clone(), links())));
    }
    access.run(access.start(pointer)?)
}

/// A call that returns when its data have been moved.
fn now(rank: &Rank, fh: Handle, direction: Direction, pointer: Pointer, memory: Memory, status: *mut Status) -> Answer {
    let access = Access::new(rank, fh, direction, memory)?;
    let is_dense = access.view.filetype.is_dense();
    let access = Access { moves_by_result: pointer == Pointer::Individual && is_dense, ..access };
    let work = work(&access, pointer, || access.file.comm.links(rank.caller()))?;
    rank.block(work)?.write(status);
    Ok(())
}

/// A call that starts to move data.
fn later(
    rank: &Rank,
    fh: Handle,
    direction: Direction,
    pointer: Pointer,
    memory: Memory,
    request: *mut RequestHandle,
) -> Answer {
    let started = launch(rank, fh, direction, pointer, memory)?;
    put(request, rank.requests.insert_shared(started));
    Ok(())
}

fn launch(
    rank: &Rank,
    fh: Handle,
    direction: Direction,
    pointer: Pointer,
    memory: Memory,
) -> Result<Rc<Request>, Fault> {
    let access = Access::new(rank, fh, direction, memory)?;
    let work = work(&access, pointer, || access.file.comm.derive())?;
    let request = Rc::new(Request::of_session(State::Work(work), access.file.comm.group.session));
    rank.launch(&request);
    Ok(request)
}

/// The first call of a collective access in two.
fn begin(rank: &Rank, fh: Handle, split: Split, pointer: Pointer, memory: Memory) -> Answer {
    let file = find_file(rank, fh)?;
    let idle = file.split.borrow().is_none();
    require(idle, class::ERR_OTHER, || "a split collective has begun on the file and not ended".to_owned())?;
    let reads = matches!(split, Split::Read | Split::ReadAt | Split::ReadOrdered);
    let direction = if reads { Direction::Read } else { Direction::Write };
    let request = launch(rank, fh, direction, pointer, memory)?;
    file.split.replace(Some((split, request)));
    Ok(())
}

/// The second call.
fn end(rank: &Rank, fh: Handle, split: Split, status: *mut Status) -> Answer {
    let file = find_file(rank, fh)?;
    let known = file.split.borrow().as_ref().is_some_and(|begun| begun.0 == split);
    require(known, class::ERR_OTHER, || "no such split collective has begun on the file".to_owned())?;
    if let Some((_, request)) = file.split.take() {
        rank.wait(&request)?.write(status);
    }
    Ok(())
}

pub fn file_read_at(
    rank: &Rank,
    fh: Handle,
    offset: Aint,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Read, Pointer::At(offset), Memory::of(buf, count, datatype), status)
}

pub fn file_read_at_all(
    rank: &Rank,
    fh: Handle,
    offset: Aint,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Read, Pointer::At(offset), Memory::of(buf, count, datatype), status)
}

pub fn file_iread_at(
    rank: &Rank,
    fh: Handle,
    offset: Aint,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    request: *mut RequestHandle,
) -> Answer {
    later(rank, fh, Direction::Read, Pointer::At(offset), Memory::of(buf, count, datatype), request)
}

pub fn file_iread_at_all(
    rank: &Rank,
    fh: Handle,
    offset: Aint,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    request: *mut RequestHandle,
) -> Answer {
    later(rank, fh, Direction::Read, Pointer::At(offset), Memory::of(buf, count, datatype), request)
}

pub fn file_read(
    rank: &Rank,
    fh: Handle,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Read, Pointer::Individual, Memory::of(buf, count, datatype), status)
}

pub fn file_read_all(
    rank: &Rank,
    fh: Handle,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Read, Pointer::Individual, Memory::of(buf, count, datatype), status)
}

pub fn file_iread(
    rank: &Rank,
    fh: Handle,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    request: *mut RequestHandle,
) -> Answer {
    later(rank, fh, Direction::Read, Pointer::Individual, Memory::of(buf, count, datatype), request)
}

pub fn file_iread_all(
    rank: &Rank,
    fh: Handle,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    request: *mut RequestHandle,
) -> Answer {
    later(rank, fh, Direction::Read, Pointer::Individual, Memory::of(buf, count, datatype), request)
}

pub fn file_read_shared(
    rank: &Rank,
    fh: Handle,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Read, Pointer::Shared, Memory::of(buf, count, datatype), status)
}

pub fn file_iread_shared(
    rank: &Rank,
    fh: Handle,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    request: *mut RequestHandle,
) -> Answer {
    later(rank, fh, Direction::Read, Pointer::Shared, Memory::of(buf, count, datatype), request)
}

pub fn file_read_ordered(
    rank: &Rank,
    fh: Handle,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Read, Pointer::Ordered, Memory::of(buf, count, datatype), status)
}

pub fn file_read_at_all_begin(
    rank: &Rank,
    fh: Handle,
    offset: Aint,
    buf: *mut c_void,
    count: Aint,
    datatype: Datatype,
) -> Answer {
    begin(rank, fh, Split::ReadAt, Pointer::At(offset), Memory::of(buf, count, datatype))
}

pub fn file_read_at_all_end(rank: &Rank, fh: Handle, _buf: *mut c_void, status: *mut Status) -> Answer {
    end(rank, fh, Split::ReadAt, status)
}

pub fn file_read_all_begin(rank: &Rank, fh: Handle, buf: *mut c_void, count: Aint, datatype: Datatype) -> Answer {
    begin(rank, fh, Split::Read, Pointer::Individual, Memory::of(buf, count, datatype))
}

pub fn file_read_all_end(rank: &Rank, fh: Handle, _buf: *mut c_void, status: *mut Status) -> Answer {
    end(rank, fh, Split::Read, status)
}

pub fn file_read_ordered_begin(rank: &Rank, fh: Handle, buf: *mut c_void, count: Aint, datatype: Datatype) -> Answer {
    begin(rank, fh, Split::ReadOrdered, Pointer::Ordered, Memory::of(buf, count, datatype))
}

pub fn file_read_ordered_end(rank: &Rank, fh: Handle, _buf: *mut c_void, status: *mut Status) -> Answer {
    end(rank, fh, Split::ReadOrdered, status)
}

pub fn file_write_at(
    rank: &Rank,
    fh: Handle,
    offset: Aint,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Write, Pointer::At(offset), Memory::of(buf, count, datatype), status)
}

pub fn file_write_at_all(
    rank: &Rank,
    fh: Handle,
    offset: Aint,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Write, Pointer::At(offset), Memory::of(buf, count, datatype), status)
}

pub fn file_iwrite_at(
    rank: &Rank,
    fh: Handle,
    offset: Aint,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    request: *mut RequestHandle,
) -> Answer {
    later(rank, fh, Direction::Write, Pointer::At(offset), Memory::of(buf, count, datatype), request)
}

pub fn file_iwrite_at_all(
    rank: &Rank,
    fh: Handle,
    offset: Aint,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    request: *mut RequestHandle,
) -> Answer {
    later(rank, fh, Direction::Write, Pointer::At(offset), Memory::of(buf, count, datatype), request)
}

pub fn file_write(
    rank: &Rank,
    fh: Handle,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Write, Pointer::Individual, Memory::of(buf, count, datatype), status)
}

pub fn file_write_all(
    rank: &Rank,
    fh: Handle,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Write, Pointer::Individual, Memory::of(buf, count, datatype), status)
}

pub fn file_iwrite(
    rank: &Rank,
    fh: Handle,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    request: *mut RequestHandle,
) -> Answer {
    later(rank, fh, Direction::Write, Pointer::Individual, Memory::of(buf, count, datatype), request)
}

pub fn file_iwrite_all(
    rank: &Rank,
    fh: Handle,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    request: *mut RequestHandle,
) -> Answer {
    later(rank, fh, Direction::Write, Pointer::Individual, Memory::of(buf, count, datatype), request)
}

pub fn file_write_shared(
    rank: &Rank,
    fh: Handle,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Write, Pointer::Shared, Memory::of(buf, count, datatype), status)
}

pub fn file_iwrite_shared(
    rank: &Rank,
    fh: Handle,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    request: *mut RequestHandle,
) -> Answer {
    later(rank, fh, Direction::Write, Pointer::Shared, Memory::of(buf, count, datatype), request)
}

pub fn file_write_ordered(
    rank: &Rank,
    fh: Handle,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
    status: *mut Status,
) -> Answer {
    now(rank, fh, Direction::Write, Pointer::Ordered, Memory::of(buf, count, datatype), status)
}

pub fn file_write_at_all_begin(
    rank: &Rank,
    fh: Handle,
    offset: Aint,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
) -> Answer {
    begin(rank, fh, Split::WriteAt, Pointer::At(offset), Memory::of(buf, count, datatype))
}

pub fn file_write_at_all_end(rank: &Rank, fh: Handle, _buf: *const c_void, status: *mut Status) -> Answer {
    end(rank, fh, Split::WriteAt, status)
}

pub fn file_write_all_begin(rank: &Rank, fh: Handle, buf: *const c_void, count: Aint, datatype: Datatype) -> Answer {
    begin(rank, fh, Split::Write, Pointer::Individual, Memory::of(buf, count, datatype))
}

pub fn file_write_all_end(rank: &Rank, fh: Handle, _buf: *const c_void, status: *mut Status) -> Answer {
    end(rank, fh, Split::Write, status)
}

pub fn file_write_ordered_begin(
    rank: &Rank,
    fh: Handle,
    buf: *const c_void,
    count: Aint,
    datatype: Datatype,
) -> Answer {
    begin(rank, fh, Split::WriteOrdered, Pointer::Ordered, Memory::of(buf, count, datatype))
}

pub fn file_write_ordered_end(rank: &Rank, fh: Handle, _buf: *const c_void, status: *mut Status) -> Answer {
    end(rank, fh, Split::WriteOrdered, status)
}
