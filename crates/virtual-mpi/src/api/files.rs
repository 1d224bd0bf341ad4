//! Files: opening them, their sizes, views and pointers (MPI 4.1, sections 14.2, 14.3 and 14.6).

use std::cell::Cell;
use std::ffi::{OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use weft_comm::{Buffer, Communicator as _};

use crate::abi::{self, Aint, Callback, Comm, Datatype, Errhandler, File as Handle, Group, Info};
use crate::collective::{self, Root};
use crate::communicator::{Communicator, Links, Purpose};
use crate::errors::{Object, handler_of};
use crate::fault::{Answer, Fault, class, require};
use crate::file::{self, Cost, File, Representation, View, mode};
use crate::processes::codec::Move;
use crate::rank::Rank;

use super::{at, put, put_text, text};

/// A file by its handle.
pub(crate) fn find_file(rank: &Rank, fh: Handle) -> Result<Rc<File>, Fault> {
    rank.files.get(fh as c_int).ok_or_else(|| Fault::new(class::ERR_FILE, "no such file"))
}

/// The path of a file's name, which may say first what kind of file system it is on, as ROMIO's may.
fn path_of(filename: *const c_char) -> PathBuf {
    let name = text(filename);
    let prefix = name.iter().position(|&byte| byte == b':').filter(|&end| end > 1 && !name[..end].contains(&b'/'));
    let known: [&[u8]; 4] = [b"ufs", b"nfs", b"posix", b"unix"];
    let name = match prefix {
        Some(end) if known.contains(&&name[..end]) => &name[end + 1..],
        _ => &name[..],
    };
    PathBuf::from(OsStr::from_bytes(name))
}

/// Fails where the bits of a mode do not fit together.
fn check_mode(amode: c_int) -> Answer {
    let wrong = |message: &str| Err(Fault::new(class::ERR_AMODE, message));
    let accesses = [mode::RDONLY, mode::WRONLY, mode::RDWR].iter().filter(|&&bit| amode & bit != 0).count();
    if amode & !mode::ALL != 0 || accesses != 1 {
        return wrong("one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR is needed");
    }
    if amode & mode::RDONLY != 0 && amode & (mode::CREATE | mode::EXCL) != 0 {
        return wrong("MPI_MODE_CREATE or MPI_MODE_EXCL with MPI_MODE_RDONLY");
    }
    if amode & mode::RDWR != 0 && amode & mode::SEQUENTIAL != 0 {
        return wrong("MPI_MODE_SEQUENTIAL with MPI_MODE_RDWR");
    }
    Ok(())
}

pub fn file_open(
    rank: &Rank,
    comm: Comm,
    filename: *const c_char,
    amode: c_int,
    info: Info,
    fh: *mut Handle,
) -> Answer {
    let (from, path, info) = (rank.comm(comm)?, path_of(filename), rank.info(info)?);
    require(!from.is_inter(), class::ERR_COMM, || "a communicator between two groups".to_owned())?;
    let comm =
        Communicator::new(&from.link, from.rank(), from.group.clone(), from.derived_contexts(Purpose::OpenFile).0);
    check_mode(amode)?;
    let links = comm.private(Purpose::OpenFile, rank.caller());
    agree(rank, &links, amode, class::ERR_AMODE, "modes")?;
    // The first rank makes the file, if it shall be made; the others find it there.
    let is_first = comm.rank() == 0;
    let first = if is_first { Some(file::open(&path, amode, true)) } else { None };
    let failed = first.as_ref().and_then(|opened| opened.as_ref().err()).map(|error| file::fault(error, &path));
    share_failure(rank, &links, failed)?;
    let opened = first.unwrap_or_else(|| file::open(&path, amode, false)).map_err(|error| file::fault(&error, &path));
    let all = any_failure(rank, &links, opened.as_ref().err())?;
    let handle = opened?;
    require(!all, class::ERR_IO, || format!("{}: another rank cannot open it", path.display()))?;
    let cost = rank.block(Cost::open(&rank.endpoint, &path));
    let joint = rank.shared.joint_file(&comm);
    let opened = File::new(comm, (path, amode), handle, (View::of_bytes(rank), info), joint, cost);
    opened.errhandler.set(rank.file_errhandler.get());
    if opened.may(mode::APPEND) {
        let end = opened.length()?;
        opened.position.set(end);
        opened.move_shared(Move::Set(end));
    }
    let number = rank.files.insert(opened);
    put(fh, number as Handle);
    Ok(())
}

/// All ranks' values of one number.
fn gather(rank: &Rank, links: &Links, value: i64) -> Result<Vec<i64>, Fault> {
    let lens = vec![size_of::<i64>(); links.link.size()];
    let all = rank.block(collective::allgather(links.clone(), Buffer::of(&[value]), &lens))?;
    Ok(all.iter().map(|part| part.values::<i64>()[0]).collect())
}

/// Fails where ranks have named different values in a collective call.
fn agree(rank: &Rank, links: &Links, value: c_int, class: c_int, what: &str) -> Answer {
    let all = gather(rank, links, i64::from(value))?;
    require(all.iter().all(|&other| other == i64::from(value)), class, || format!("ranks name different {what}"))
}

/// Whether any rank has failed.
fn any_failure(rank: &Rank, links: &Links, own: Option<&Fault>) -> Result<bool, Fault> {
    Ok(gather(rank, links, i64::from(own.is_some()))?.contains(&1))
}

/// All ranks fail as the first has failed.
fn share_failure(rank: &Rank, links: &Links, failed: Option<Fault>) -> Answer {
    let own = failed.map_or_else(Vec::new, |fault| {
        let mut message = fault.class.to_ne_bytes().to_vec();
        message.extend(fault.message.bytes());
        message
    });
    let len = gather(rank, links, own.len() as i64)?[0] as usize;
    if len == 0 {
        return Ok(());
    }
    let data = if links.link.rank() == 0 { Buffer::of(&own) } else { Buffer::zeroed(len) };
    let message = rank.block(collective::broadcast(links.clone(), Root::Rank(0), data))?;
    let message = message.unwrap_or_else(|| Buffer::of(&own));
    let (class, said) = message.split_at(size_of::<c_int>());
    let class = class.try_into().map_or(class::ERR_IO, c_int::from_ne_bytes);
    Err(Fault::new(class, String::from_utf8_lossy(said)))
}

/// Waits for all ranks that have opened the file, in calls of one kind.
fn meet(rank: &Rank, file: &File, purpose: Purpose) -> Answer {
    super::synchronize(rank, &file.comm, purpose)
}

/// Fails while a split collective has begun and not ended.
fn check_idle(file: &File) -> Answer {
    let idle = file.split.borrow().is_none();
    require(idle, class::ERR_OTHER, || "a split collective has begun on the file and not ended".to_owned())
}

pub fn file_close(rank: &Rank, fh: *mut Handle) -> Answer {
    let file = find_file(rank, at(fh, 0))?;
    check_idle(&file)?;
    meet(rank, &file, Purpose::CloseFile)?;
    rank.block(file.cost.close(&rank.endpoint))?;
    if file.may(mode::DELETE_ON_CLOSE) {
        let deleted = if file.comm.rank() == 0 { std::fs::remove_file(&file.path) } else { Ok(()) };
        deleted.map_err(|error| file::fault(&error, &file.path))?;
        meet(rank, &file, Purpose::CloseFile)?;
    }
    rank.files.remove(at(fh, 0) as c_int);
    rank.shared.forget_file(&file);
    put(fh, abi::FILE_NULL);
    Ok(())
}

pub fn file_delete(rank: &Rank, filename: *const c_char, _info: Info) -> Answer {
    let path = path_of(filename);
    rank.block(rank.endpoint.settle());
    std::fs::remove_file(&path).map_err(|error| file::fault(&error, &path))
}

/// Does something to the file on its first rank, after all have come to it and before any goes on.
fn on_first(rank: &Rank, file: &File, purpose: Purpose, act: impl FnOnce(&Path) -> Answer) -> Answer {
    meet(rank, file, purpose)?;
    let failed = if file.comm.rank() == 0 { act(&file.path).err() } else { None };
    share_failure(rank, &file.comm.private(purpose, rank.caller()), failed)
}

fn check_size(rank: &Rank, file: &File, size: Aint, purpose: Purpose) -> Result<u64, Fault> {
    check_idle(file)?;
    require(!file.may(mode::RDONLY), class::ERR_READ_ONLY, || "the file is open for reading only".to_owned())?;
    require(size >= 0, class::ERR_ARG, || format!("a size of {size} bytes"))?;
    let all = gather(rank, &file.comm.private(purpose, rank.caller()), size as i64)?;
    let equal = all.iter().all(|&other| other == size as i64);
    require(equal, class::ERR_NOT_SAME, || "ranks name different sizes".to_owned())?;
    Ok(size as u64)
}

pub fn file_set_size(rank: &Rank, fh: Handle, size: Aint) -> Answer {
    let file = find_file(rank, fh)?;
    let bytes = check_size(rank, &file, size, Purpose::ResizeFile)?;
    on_first(rank, &file, Purpose::ResizeFile, |_| file.set_length(bytes))
}

pub fn file_preallocate(rank: &Rank, fh: Handle, size: Aint) -> Answer {
    let file = find_file(rank, fh)?;
    let bytes = check_size(rank, &file, size, Purpose::PreallocateFile)?;
    on_first(rank, &file, Purpose::PreallocateFile, |_| {
        rank.block(file.cost.preallocate(&rank.endpoint, bytes))?;
        if file.length()? < bytes { file.set_length(bytes) } else { Ok(()) }
    })
}

pub fn file_get_size(rank: &Rank, fh: Handle, size: *mut Aint) -> Answer {
    let file = find_file(rank, fh)?;
    rank.block(rank.endpoint.settle());
    put(size, file.length()? as Aint);
    Ok(())
}

pub fn file_get_group(rank: &Rank, fh: Handle, group: *mut Group) -> Answer {
    super::hand_out_group(rank, find_file(rank, fh)?.comm.group.clone(), group);
    Ok(())
}

pub fn file_get_amode(rank: &Rank, fh: Handle, amode: *mut c_int) -> Answer {
    put(amode, find_file(rank, fh)?.amode);
    Ok(())
}

pub fn file_set_info(rank: &Rank, fh: Handle, info: Info) -> Answer {
    let (file, info) = (find_file(rank, fh)?, rank.info(info)?);
    merge_hints(&file, &info);
    Ok(())
}

/// Hints that are set again take the place of the old.
fn merge_hints(file: &File, info: &crate::info::Info) {
    let known = file.info.borrow();
    for (key, value) in info.pairs.borrow().iter() {
        known.set(key, value);
    }
}

pub fn file_get_info(rank: &Rank, fh: Handle, info_used: *mut Info) -> Answer {
    let info = find_file(rank, fh)?.info.borrow().clone();
    put(info_used, rank.shared.infos.insert(info));
    Ok(())
}

/// Stands for the end of the file in sequential mode.
const DISPLACEMENT_CURRENT: Aint = -54_278_278;

pub fn file_set_view(
    rank: &Rank,
    fh: Handle,
    disp: Aint,
    etype: Datatype,
    filetype: Datatype,
    datarep: *const c_char,
    info: Info,
) -> Answer {
    let (file, info) = (find_file(rank, fh)?, rank.info(info)?);
    check_idle(&file)?;
    let displacement = if disp == DISPLACEMENT_CURRENT && file.may(mode::SEQUENTIAL) {
        file.view.borrow().offset_of(file.shared_position() * file.view.borrow().etype.size as u64)
    } else {
        require(disp >= 0, class::ERR_ARG, || format!("a displacement of {disp} bytes"))?;
        disp as u64
    };
    let name = text(datarep);
    let unknown = || Fault::new(class::ERR_UNSUPPORTED_DATAREP, String::from_utf8_lossy(&name));
    let representation = Representation::of(&name).ok_or_else(unknown)?;
    let view = View::new(displacement, rank.datatype(etype)?, rank.datatype(filetype)?, representation)?;
    require(file.may(mode::RDONLY) || !view.overlaps(), class::ERR_IO, || {
        "a file type with overlapping elements on a file that may be written".to_owned()
    })?;
    merge_hints(&file, &info);
    meet(rank, &file, Purpose::SetView)?;
    file.view.replace(Rc::new(view));
    file.position.set(0);
    file.move_shared(Move::Set(0));
    meet(rank, &file, Purpose::SetView)
}

pub fn file_get_view(
    rank: &Rank,
    fh: Handle,
    disp: *mut Aint,
    etype: *mut Datatype,
    filetype: *mut Datatype,
    datarep: *mut c_char,
) -> Answer {
    let view = find_file(rank, fh)?.view.borrow().clone();
    put(disp, view.displacement as Aint);
    super::hand_out_same(rank, &view.etype, etype);
    super::hand_out_same(rank, &view.filetype, filetype);
    put_text(datarep, view.representation.name().as_bytes(), abi::MAX_DATAREP_STRING);
    Ok(())
}

const SEEK_SET: c_int = 600;
const SEEK_CUR: c_int = 602;
const SEEK_END: c_int = 604;

/// Where a pointer comes to, in elements of the view.
fn sought(file: &File, position: u64, offset: Aint, whence: c_int) -> Result<u64, Fault> {
    require(!file.may(mode::SEQUENTIAL), class::ERR_UNSUPPORTED_OPERATION, || {
        "the file is open for sequential access".to_owned()
    })?;
    let base = match whence {
        SEEK_SET => 0,
        SEEK_CUR => position,
        SEEK_END => file.view.borrow().elements_before(file.length()?),
        _ => return Err(Fault::new(class::ERR_ARG, format!("{whence} says not where to seek from"))),
    };
    let outside = || Fault::new(class::ERR_ARG, format!("{offset} elements from {base}: before the view begins"));
    base.checked_add_signed(offset as i64).ok_or_else(outside)
}

pub fn file_seek(rank: &Rank, fh: Handle, offset: Aint, whence: c_int) -> Answer {
    let file = find_file(rank, fh)?;
    rank.block(rank.endpoint.settle());
    file.position.set(sought(&file, file.position.get(), offset, whence)?);
    Ok(())
}

pub fn file_seek_shared(rank: &Rank, fh: Handle, offset: Aint, whence: c_int) -> Answer {
    let file = find_file(rank, fh)?;
    meet(rank, &file, Purpose::SeekShared)?;
    let position = sought(&file, file.shared_position(), offset, whence);
    let links = file.comm.private(Purpose::SeekShared, rank.caller());
    let all = gather(rank, &links, *position.as_ref().unwrap_or(&0) as i64)?;
    let position = position?;
    let equal = all.iter().all(|&other| other == position as i64);
    require(equal, class::ERR_NOT_SAME, || "ranks seek to different positions".to_owned())?;
    file.move_shared(Move::Set(position));
    meet(rank, &file, Purpose::SeekShared)
}

pub fn file_get_position(rank: &Rank, fh: Handle, offset: *mut Aint) -> Answer {
    put(offset, find_file(rank, fh)?.position.get() as Aint);
    Ok(())
}

pub fn file_get_position_shared(rank: &Rank, fh: Handle, offset: *mut Aint) -> Answer {
    let file = find_file(rank, fh)?;
    rank.block(rank.endpoint.settle());
    put(offset, file.shared_position() as Aint);
    Ok(())
}

pub fn file_get_byte_offset(rank: &Rank, fh: Handle, offset: Aint, disp: *mut Aint) -> Answer {
    let view = find_file(rank, fh)?.view.borrow().clone();
    require(offset >= 0, class::ERR_ARG, || format!("an offset of {offset} elements"))?;
    put(disp, view.offset_of(offset as u64 * view.etype.size as u64) as Aint);
    Ok(())
}

pub fn file_get_type_extent(rank: &Rank, fh: Handle, datatype: Datatype, extent: *mut Aint) -> Answer {
    find_file(rank, fh)?;
    put(extent, rank.datatype(datatype)?.extent);
    Ok(())
}

pub fn file_set_atomicity(rank: &Rank, fh: Handle, flag: c_int) -> Answer {
    let file = find_file(rank, fh)?;
    let links = file.comm.private(Purpose::SetAtomicity, rank.caller());
    agree(rank, &links, c_int::from(flag != 0), class::ERR_NOT_SAME, "modes of atomicity")?;
    file.joint.atomic.set(flag != 0);
    meet(rank, &file, Purpose::SetAtomicity)
}

pub fn file_get_atomicity(rank: &Rank, fh: Handle, flag: *mut c_int) -> Answer {
    put(flag, c_int::from(find_file(rank, fh)?.joint.atomic.get()));
    Ok(())
}

pub fn file_sync(rank: &Rank, fh: Handle) -> Answer {
    let file = find_file(rank, fh)?;
    check_idle(&file)?;
    // What was written is in the file already. The machine's disks take their time; those here need not be waited for.
    rank.block(file.cost.sync(&rank.endpoint))?;
    meet(rank, &file, Purpose::SyncFile)
}

/// The error handler of a file, or the one that files are opened with.
fn errhandler_cell(rank: &Rank, fh: Handle, act: impl FnOnce(&Cell<Errhandler>)) -> Answer {
    if fh == abi::FILE_NULL {
        act(&rank.file_errhandler);
    } else {
        act(&find_file(rank, fh)?.errhandler);
    }
    Ok(())
}

pub fn file_set_errhandler(rank: &Rank, fh: Handle, errhandler: Errhandler) -> Answer {
    super::check(rank, errhandler)?;
    errhandler_cell(rank, fh, |cell| cell.set(errhandler))
}

pub fn file_get_errhandler(rank: &Rank, fh: Handle, errhandler: *mut Errhandler) -> Answer {
    errhandler_cell(rank, fh, |_| {})?;
    put(errhandler, handler_of(rank, Object::File(fh)));
    Ok(())
}

/// Representations of the program's own are known by name; views refuse them, as ROMIO's do.
pub fn register_datarep(
    rank: &Rank,
    datarep: *const c_char,
    _read_conversion_fn: Callback,
    _write_conversion_fn: Callback,
    _dtype_file_extent_fn: Callback,
    _extra_state: *mut c_void,
) -> Answer {
    let name = text(datarep);
    let fits = !name.is_empty() && name.len() < abi::MAX_DATAREP_STRING;
    require(fits, class::ERR_ARG, || format!("a name of {} bytes", name.len()))?;
    let is_new = Representation::of(&name).is_none() && rank.representations.borrow_mut().insert(name.clone());
    require(is_new, class::ERR_DUP_DATAREP, || String::from_utf8_lossy(&name).into_owned())
}
