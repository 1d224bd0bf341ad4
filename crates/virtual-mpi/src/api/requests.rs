//! Completion of requests (MPI 4.1, sections 3.7 and 3.9, and chapter 13).

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use crate::abi::{self, Aint, Callback, Datatype as DatatypeHandle, Request as Handle, Status};
use crate::fault::{Answer, Fault, class, require};
use crate::generalized::Generalized;
use crate::rank::Rank;
use crate::request::{Completed, Completion, Request, State};
use crate::session;

use super::{at, check_used, list, positive, put, put_at};

/// A request that the program waits for: its index in the program's array, and the request.
type Active = (usize, Rc<Request>);

/// The requests of an array that are no null requests and are started.
fn active(rank: &Rank, count: c_int, requests: *const Handle) -> Result<Vec<Active>, Fault> {
    let mut known = Vec::new();
    for (index, handle) in list(requests, positive(count, "the number of requests")?).into_iter().enumerate() {
        if handle == abi::REQUEST_NULL {
            continue;
        }
        let request = rank.request(handle)?;
        if request.is_active() {
            known.push((index, request));
        }
    }
    check_sessions(rank, known.iter().map(|(_, request)| request))?;
    Ok(known)
}

/// Fails for requests of different sessions.
fn check_sessions<'a>(rank: &Rank, requests: impl Iterator<Item = &'a Rc<Request>>) -> Answer {
    if rank.sessions_begun.get() == 0 {
        return Ok(());
    }
    let mut known = requests.filter_map(|request| Some((request.comm, session_of(rank, request)?)));
    let Some((comm, first)) = known.next() else { return Ok(()) };
    let is_one = known.all(|(_, session)| session == first);
    require(is_one, class::ERR_REQUEST, session::mixed).map_err(|fault| fault.of_request(comm))
}

/// The session of the communicator, file or window of a request, where it is of one that was not freed.
fn session_of(rank: &Rank, request: &Request) -> Option<u32> {
    request.session.or_else(|| Some(rank.comm(request.comm).ok()?.group.session))
}

/// Takes what a complete request came to; one that is not persistent goes.
fn finish(rank: &Rank, handle: *mut Handle, request: &Rc<Request>) -> Completion {
    let mut completion = request.take();
    if let Some(generalized) = &request.generalized {
        completion = query(generalized, true);
    }
    if request.start.is_none() {
        rank.requests.remove(at(handle, 0));
        put(handle, abi::REQUEST_NULL);
    }
    completion.map_err(|fault| fault.of_request(request.comm))
}

/// Asks the program what its own request came to, and lets it free what it needs no more.
fn query(generalized: &Generalized, is_last: bool) -> Completion {
    let mut status = Status { source: abi::ANY_SOURCE, tag: abi::ANY_TAG, ..Status::default() };
    let codes = [generalized.query(&mut status), if is_last { generalized.free() } else { abi::SUCCESS }];
    for code in codes {
        require(code == abi::SUCCESS, code, || "a function of a generalized request failed".to_owned())?;
    }
    let (bytes, cancelled) = (status.bytes(), status.is_cancelled());
    Ok(Completed { source: status.source, tag: status.tag, bytes, cancelled })
}

/// The status in an array that the program may not want.
fn status_at(statuses: *mut Status, index: usize) -> *mut Status {
    if statuses == Status::IGNORE { statuses } else { statuses.wrapping_add(index) }
}

/// Writes a completion to a status with its error.
fn write_with_error(rank: &Rank, completion: &Completion, status: *mut Status) {
    if status == Status::IGNORE {
        return;
    }
    let code = match completion {
        Ok(completed) => {
            completed.write(status);
            abi::SUCCESS
        }
        Err(fault) => {
            if let Some((source, tag)) = fault.of {
                Completed { source, tag, ..Completed::EMPTY }.write(status);
            }
            rank.remember(fault.clone())
        }
    };
    // SAFETY: the program hands in the address of a status.
    unsafe { (*status).error = code };
}

/// What several completions come to: an error says that statuses tell more.
fn summarize(rank: &Rank, completions: &[(usize, Completion)], statuses: *mut Status) -> Answer {
    let failed = completions.iter().find_map(|(_, completion)| completion.as_ref().err());
    for (index, completion) in completions {
        let status = status_at(statuses, *index);
        if failed.is_some() {
            write_with_error(rank, completion, status);
        } else if let Ok(completed) = completion {
            completed.write(status);
        }
    }
    match failed {
        None => Ok(()),
        Some(fault) if statuses == Status::IGNORE => Err(fault.clone()),
        Some(fault) => Err(Fault { class: class::ERR_IN_STATUS, of: None, ..fault.clone() }),
    }
}

pub fn wait(rank: &Rank, request: *mut Handle, status: *mut Status) -> Answer {
    let handle = at(request, 0);
    if handle == abi::REQUEST_NULL || !rank.request(handle)?.is_active() {
        Completed::EMPTY.write(status);
        return Ok(());
    }
    let object = rank.request(handle)?;
    rank.complete(&object);
    finish(rank, request, &object)?.write(status);
    Ok(())
}

pub fn test(rank: &Rank, request: *mut Handle, flag: *mut c_int, status: *mut Status) -> Answer {
    let handle = at(request, 0);
    if handle == abi::REQUEST_NULL || !rank.request(handle)?.is_active() {
        rank.keep_looks();
        Completed::EMPTY.write(status);
        put(flag, 1);
        return Ok(());
    }
    let object = rank.request(handle)?;
    let done = rank.test(std::slice::from_ref(&object))[0];
    put(flag, c_int::from(done));
    if !done {
        rank.looked_in_vain();
        return Ok(());
    }
    finish(rank, request, &object)?.write(status);
    Ok(())
}

pub fn waitall(rank: &Rank, count: c_int, requests: *mut Handle, statuses: *mut Status) -> Answer {
    let known = active(rank, count, requests)?;
    clear_statuses(count, statuses);
    let mut completions = Vec::with_capacity(known.len());
    for (index, request) in known {
        rank.complete(&request);
        completions.push((index, finish(rank, requests.wrapping_add(index), &request)));
    }
    summarize(rank, &completions, statuses)
}

/// Null and inactive requests have empty statuses.
fn clear_statuses(count: c_int, statuses: *mut Status) {
    for index in 0..count.max(0) as usize {
        Completed::EMPTY.write(status_at(statuses, index));
    }
}

pub fn testall(rank: &Rank, count: c_int, requests: *mut Handle, flag: *mut c_int, statuses: *mut Status) -> Answer {
    let known = active(rank, count, requests)?;
    let objects: Vec<_> = known.iter().map(|(_, request)| request.clone()).collect();
    let all = rank.test(&objects).iter().all(|&done| done);
    put(flag, c_int::from(all));
    if !all {
        rank.looked_in_vain();
        return Ok(());
    }
    clear_statuses(count, statuses);
    let finished = known.iter().map(|(index, request)| (*index, finish(rank, requests.wrapping_add(*index), request)));
    let completions: Vec<_> = finished.collect();
    summarize(rank, &completions, statuses)
}

pub fn waitany(rank: &Rank, count: c_int, requests: *mut Handle, index: *mut c_int, status: *mut Status) -> Answer {
    let known = active(rank, count, requests)?;
    if known.is_empty() {
        Completed::EMPTY.write(status);
        put(index, abi::UNDEFINED);
        return Ok(());
    }
    let objects: Vec<_> = known.iter().map(|(_, request)| request.clone()).collect();
    let done = rank.wait_some(&objects);
    take_first(rank, &known, &done, requests, index, status)
}

/// Takes the first request that is done.
fn take_first(
    rank: &Rank,
    known: &[Active],
    done: &[bool],
    requests: *mut Handle,
    index: *mut c_int,
    status: *mut Status,
) -> Answer {
    let (number, request) = &known[done.iter().position(|&done| done).expect("one request is done")];
    put(index, *number as c_int);
    finish(rank, requests.wrapping_add(*number), request)?.write(status);
    Ok(())
}

pub fn testany(
    rank: &Rank,
    count: c_int,
    requests: *mut Handle,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> Answer {
    let known = active(rank, count, requests)?;
    if known.is_empty() {
        Completed::EMPTY.write(status);
        put(index, abi::UNDEFINED);
        put(flag, 1);
        return Ok(());
    }
    let objects: Vec<_> = known.iter().map(|(_, request)| request.clone()).collect();
    let done = rank.test(&objects);
    let any = done.contains(&true);
    put(flag, c_int::from(any));
    if !any {
        put(index, abi::UNDEFINED);
        rank.looked_in_vain();
        return Ok(());
    }
    take_first(rank, &known, &done, requests, index, status)
}

/// Takes all requests that are done, and lists them.
fn take_done(
    rank: &Rank,
    known: &[Active],
    done: &[bool],
    requests: *mut Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    let mut completions = Vec::new();
    for ((index, request), _) in known.iter().zip(done).filter(|(_, done)| **done) {
        put_at(indices, completions.len(), *index as c_int);
        let completion = finish(rank, requests.wrapping_add(*index), request);
        completions.push((completions.len(), completion));
    }
    put(outcount, completions.len() as c_int);
    summarize(rank, &completions, statuses)
}

pub fn waitsome(
    rank: &Rank,
    incount: c_int,
    requests: *mut Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    let known = active(rank, incount, requests)?;
    if known.is_empty() {
        put(outcount, abi::UNDEFINED);
        return Ok(());
    }
    let objects: Vec<_> = known.iter().map(|(_, request)| request.clone()).collect();
    let done = rank.wait_some(&objects);
    take_done(rank, &known, &done, requests, outcount, indices, statuses)
}

pub fn testsome(
    rank: &Rank,
    incount: c_int,
    requests: *mut Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    let known = active(rank, incount, requests)?;
    if known.is_empty() {
        put(outcount, abi::UNDEFINED);
        return Ok(());
    }
    let objects: Vec<_> = known.iter().map(|(_, request)| request.clone()).collect();
    let done = rank.test(&objects);
    if !done.contains(&true) {
        rank.looked_in_vain();
    }
    take_done(rank, &known, &done, requests, outcount, indices, statuses)
}

pub fn request_get_status(rank: &Rank, request: Handle, flag: *mut c_int, status: *mut Status) -> Answer {
    if request == abi::REQUEST_NULL || !rank.request(request)?.is_active() {
        rank.keep_looks();
        Completed::EMPTY.write(status);
        put(flag, 1);
        return Ok(());
    }
    let object = rank.request(request)?;
    let done = rank.test(std::slice::from_ref(&object))[0];
    put(flag, c_int::from(done));
    if !done {
        rank.looked_in_vain();
    } else if let Some(generalized) = &object.generalized {
        query(generalized, false)?.write(status);
    } else if let State::Done(Ok(completed)) = &*object.state.borrow() {
        completed.write(status);
    }
    Ok(())
}

pub fn request_get_status_any(
    rank: &Rank,
    count: c_int,
    requests: *const Handle,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> Answer {
    let known = active(rank, count, requests)?;
    put(index, abi::UNDEFINED);
    put(flag, c_int::from(known.is_empty()));
    write_with_error(rank, &Ok(Completed::EMPTY), status);
    for (number, _) in known {
        request_get_status(rank, at(requests, number), flag, status)?;
        if at(flag, 0) != 0 {
            put(index, number as c_int);
            break;
        }
    }
    Ok(())
}

pub fn request_get_status_all(
    rank: &Rank,
    count: c_int,
    requests: *const Handle,
    flag: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    let mut all = 1;
    for index in 0..positive(count, "the number of requests")? {
        let mut done = 0;
        request_get_status(rank, at(requests, index), &raw mut done, status_at(statuses, index))?;
        all &= done;
    }
    put(flag, all);
    Ok(())
}

pub fn request_get_status_some(
    rank: &Rank,
    incount: c_int,
    requests: *const Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Answer {
    let known = active(rank, incount, requests)?;
    if known.is_empty() {
        put(outcount, abi::UNDEFINED);
        return Ok(());
    }
    let mut number = 0;
    for (index, _) in known {
        let mut done = 0;
        request_get_status(rank, at(requests, index), &raw mut done, status_at(statuses, number))?;
        if done != 0 {
            put_at(indices, number, index as c_int);
            number += 1;
        }
    }
    put(outcount, number as c_int);
    Ok(())
}

pub fn request_free(rank: &Rank, request: *mut Handle) -> Answer {
    let handle = at(request, 0);
    let object = rank.request(handle)?;
    let is_whole = object.partitions.is_none() || matches!(*object.state.borrow(), State::Done(_) | State::Inactive);
    require(is_whole, class::ERR_REQUEST, || "a message in parts is freed that is not complete".to_owned())?;
    object.freed.set(true);
    rank.requests.remove(handle);
    // An operation goes on: a receive still writes to the program's memory.
    if object.is_active() && object.generalized.is_none() {
        rank.launch(&object);
    }
    put(request, abi::REQUEST_NULL);
    Ok(())
}

pub fn start(rank: &Rank, request: *mut Handle) -> Answer {
    let object = rank.request(at(request, 0))?;
    let missing = || Fault::new(class::ERR_REQUEST, "the request is not persistent");
    let start = object.start.as_ref().ok_or_else(missing)?;
    require(!object.is_active(), class::ERR_REQUEST, || "the request is started already".to_owned())?;
    let state = start()?;
    check_used(rank, object.used.get());
    let goes_on = matches!(state, State::Work(_));
    *object.state.borrow_mut() = state;
    if goes_on {
        rank.launch(&object);
    }
    Ok(())
}

pub fn startall(rank: &Rank, count: c_int, requests: *mut Handle) -> Answer {
    let number = positive(count, "the number of requests")?;
    let objects =
        list(requests, number).into_iter().map(|handle| rank.request(handle)).collect::<Result<Vec<_>, _>>()?;
    check_sessions(rank, objects.iter())?;
    (0..number).try_for_each(|index| start(rank, requests.wrapping_add(index)))
}

pub fn cancel(rank: &Rank, request: *mut Handle) -> Answer {
    let object = rank.request(at(request, 0))?;
    if let Some(generalized) = &object.generalized {
        let code = generalized.cancel(matches!(*object.state.borrow(), State::Done(_)));
        return require(code == abi::SUCCESS, code, || "the function that cancels failed".to_owned());
    }
    let is_whole = object.partitions.is_none();
    require(is_whole, class::ERR_REQUEST, || {
        "a message that is sent or received in parts cannot be cancelled".to_owned()
    })?;
    let mut state = object.state.borrow_mut();
    if let State::Receive(receive) = &mut *state
        && receive.receive.cancel()
    {
        *state = State::Done(Ok(Completed { cancelled: true, ..Completed::EMPTY }));
    }
    Ok(())
}

pub fn grequest_start(
    rank: &Rank,
    query: Callback,
    free: Callback,
    cancel: Callback,
    extra_state: *mut c_void,
    request: *mut Handle,
) -> Answer {
    let (query, free, cancel) = (query.function, free.function, cancel.function);
    let generalized = Some(Generalized { query, free, cancel, extra_state, is_fortran: Cell::new(false) });
    let object = Request { generalized, ..Request::new(State::Generalized, abi::COMM_NULL) };
    put(request, rank.requests.insert(object));
    Ok(())
}

pub fn grequest_complete(rank: &Rank, request: Handle) -> Answer {
    let object = rank.request(request)?;
    require(object.generalized.is_some(), class::ERR_REQUEST, || "the request is not generalized".to_owned())?;
    *object.state.borrow_mut() = State::Done(Ok(Completed::EMPTY));
    rank.endpoint.wake_at(rank.endpoint.clock());
    Ok(())
}

pub fn test_cancelled(_rank: &Rank, status: *const Status, flag: *mut c_int) -> Answer {
    put(flag, c_int::from(at(status, 0).is_cancelled()));
    Ok(())
}

pub fn status_set_cancelled(_rank: &Rank, status: *mut Status, flag: c_int) -> Answer {
    // SAFETY: the program hands in the address of a status.
    unsafe { (*status).set_cancelled(flag != 0) };
    Ok(())
}

/// Bytes of a status as elements of a datatype.
pub fn get_count(rank: &Rank, status: *const Status, datatype: DatatypeHandle, count: super::CountOut) -> Answer {
    let (bytes, datatype) = (at(status, 0).bytes() as usize, rank.datatype(datatype)?);
    count.set(match datatype.size {
        0 => 0,
        size if bytes % size == 0 => (bytes / size) as Aint,
        _ => abi::UNDEFINED as Aint,
    });
    Ok(())
}

pub fn get_elements(rank: &Rank, status: *const Status, datatype: DatatypeHandle, count: super::CountOut) -> Answer {
    let (bytes, datatype) = (at(status, 0).bytes() as usize, rank.datatype(datatype)?);
    let elements = datatype.elements_of(bytes);
    count.set(elements.map_or(abi::UNDEFINED as Aint, |elements| elements as Aint));
    Ok(())
}

pub fn get_elements_x(rank: &Rank, status: *const Status, datatype: DatatypeHandle, count: *mut Aint) -> Answer {
    get_elements(rank, status, datatype, super::CountOut::large(count))
}

pub fn status_set_elements(rank: &Rank, status: *mut Status, datatype: DatatypeHandle, count: Aint) -> Answer {
    let datatype = rank.datatype(datatype)?;
    // The product of two large counts is wider than either.
    let product = count.max(0) as u128 * datatype.size as u128;
    let bytes = product.checked_div(datatype.elements() as u128).unwrap_or(0);
    // SAFETY: the program hands in the address of a status.
    unsafe { (*status).set_bytes(bytes as u64) };
    Ok(())
}

pub fn status_set_elements_x(rank: &Rank, status: *mut Status, datatype: DatatypeHandle, count: Aint) -> Answer {
    status_set_elements(rank, status, datatype, count)
}

pub fn status_get_source(_rank: &Rank, status: *const Status, source: *mut c_int) -> Answer {
    put(source, at(status, 0).source);
    Ok(())
}

pub fn status_get_tag(_rank: &Rank, status: *const Status, tag: *mut c_int) -> Answer {
    put(tag, at(status, 0).tag);
    Ok(())
}

pub fn status_get_error(_rank: &Rank, status: *const Status, error: *mut c_int) -> Answer {
    put(error, at(status, 0).error);
    Ok(())
}

pub fn status_set_source(_rank: &Rank, status: *mut Status, source: c_int) -> Answer {
    // SAFETY: the program hands in the address of a status.
    unsafe { (*status).source = source };
    Ok(())
}

pub fn status_set_tag(_rank: &Rank, status: *mut Status, tag: c_int) -> Answer {
    // SAFETY: the address is that of a status of the program.
    unsafe { (*status).tag = tag };
    Ok(())
}

pub fn status_set_error(_rank: &Rank, status: *mut Status, error: c_int) -> Answer {
    // SAFETY: a status of the program lies at the address.
    unsafe { (*status).error = error };
    Ok(())
}

/// A status of C or of Fortran: both have the same layout.
fn copy_status(from: *const Status, to: *mut Status) -> Answer {
    put(to, at(from, 0));
    Ok(())
}

pub fn status_c2f(_rank: &Rank, c_status: *const Status, f_status: *mut c_int) -> Answer {
    copy_status(c_status, f_status.cast())
}

pub fn status_f2c(_rank: &Rank, f_status: *const c_int, c_status: *mut Status) -> Answer {
    copy_status(f_status.cast(), c_status)
}
