//! What Open MPI's library of Fortran (`libmpi_mpifh`, as installed) cannot do over this library: its functions are
//! wrappers of C's, but those below reach into objects of Open MPI, which do not exist here. `build.rs` exports each
//! under the names by which programs and the module `mpi_f08` call it, and it is found before the one of that library.
//!
//! Handles are numbers in Fortran: those of `handles.txt`, else MPICH's.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "as the standard has them")]

use std::ffi::{CStr, c_int, c_void};

use crate::creation::{
    MPI_Comm_create_keyval, MPI_Type_create_keyval, MPI_Win_create_keyval, create_handler_by, create_operation_by,
};
use crate::fortran_attributes::{Attribute, Form, copy_attribute, delete_attribute};
use crate::fortran_callbacks;
use crate::functions::*;
use crate::inner::Aint;
use crate::objects::Kind;
use crate::passing::Function;
use crate::translation::{Fint, Handle, Status, code_out, comm_in, datatype_in, keyval_in, value_out, win_in};

/// Ranks and indices that are none, in both languages.
const UNDEFINED: c_int = -32766;

/// Says how a call ended, to those who want to know.
unsafe fn answer(ierr: *mut Fint, code: c_int) {
    if !ierr.is_null() {
        // SAFETY: the program hands in where the code belongs.
        unsafe { *ierr = code };
    }
}

/// Where statuses belong; nowhere for the variables that say so, of which the program may have the ones that count.
unsafe fn statuses_at(statuses: *mut Fint) -> *mut Status {
    let is = |name: &CStr| {
        // SAFETY: the name ends with zero.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.addr() == statuses.addr()
    };
    if is(c"mpi_fortran_status_ignore_") || is(c"mpi_fortran_statuses_ignore_") {
        return std::ptr::null_mut();
    }
    statuses.cast()
}

unsafe fn requests_of(numbers: *const Fint, count: c_int) -> Vec<Handle> {
    // SAFETY: the program has so many requests.
    (0..count.max(0) as usize).map(|index| unsafe { MPI_Request_f2c(*numbers.add(index)) }).collect()
}

unsafe fn write_requests(numbers: *mut Fint, requests: &[Handle]) {
    for (index, &request) in requests.iter().enumerate() {
        // SAFETY: the program has as many numbers as were read.
        unsafe { *numbers.add(index) = MPI_Request_c2f(request) };
    }
}

/// An index of Fortran, which counts from 1.
fn index_out(index: c_int) -> Fint {
    if index == UNDEFINED { index } else { index + 1 }
}

unsafe fn write_indices(indices: *mut Fint, count: c_int) {
    for position in 0..count.max(0) as usize {
        // SAFETY: the call has written so many indices.
        unsafe { *indices.add(position) = index_out(*indices.add(position)) };
    }
}

pub unsafe extern "C" fn wait(request: *mut Fint, status: *mut Fint, ierr: *mut Fint) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let mut handle = MPI_Request_f2c(*request);
        answer(ierr, MPI_Wait(&raw mut handle, statuses_at(status)));
        *request = MPI_Request_c2f(handle);
    }
}

pub unsafe extern "C" fn test(request: *mut Fint, flag: *mut Fint, status: *mut Fint, ierr: *mut Fint) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let mut handle = MPI_Request_f2c(*request);
        answer(ierr, MPI_Test(&raw mut handle, flag, statuses_at(status)));
        *request = MPI_Request_c2f(handle);
    }
}

pub unsafe extern "C" fn waitall(count: *mut Fint, requests: *mut Fint, statuses: *mut Fint, ierr: *mut Fint) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let mut handles = requests_of(requests, *count);
        answer(ierr, MPI_Waitall(*count, handles.as_mut_ptr(), statuses_at(statuses)));
        write_requests(requests, &handles);
    }
}

pub unsafe extern "C" fn testall(
    count: *mut Fint,
    requests: *mut Fint,
    flag: *mut Fint,
    statuses: *mut Fint,
    ierr: *mut Fint,
) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let mut handles = requests_of(requests, *count);
        answer(ierr, MPI_Testall(*count, handles.as_mut_ptr(), flag, statuses_at(statuses)));
        write_requests(requests, &handles);
    }
}

pub unsafe extern "C" fn waitany(
    count: *mut Fint,
    requests: *mut Fint,
    index: *mut Fint,
    status: *mut Fint,
    ierr: *mut Fint,
) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let mut handles = requests_of(requests, *count);
        let code = MPI_Waitany(*count, handles.as_mut_ptr(), index, statuses_at(status));
        answer(ierr, code);
        if code == 0 {
            *index = index_out(*index);
        }
        write_requests(requests, &handles);
    }
}

pub unsafe extern "C" fn testany(
    count: *mut Fint,
    requests: *mut Fint,
    index: *mut Fint,
    flag: *mut Fint,
    status: *mut Fint,
    ierr: *mut Fint,
) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let mut handles = requests_of(requests, *count);
        let code = MPI_Testany(*count, handles.as_mut_ptr(), index, flag, statuses_at(status));
        answer(ierr, code);
        if code == 0 && *flag != 0 {
            *index = index_out(*index);
        }
        write_requests(requests, &handles);
    }
}

pub unsafe extern "C" fn waitsome(
    incount: *mut Fint,
    requests: *mut Fint,
    outcount: *mut Fint,
    indices: *mut Fint,
    statuses: *mut Fint,
    ierr: *mut Fint,
) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let mut handles = requests_of(requests, *incount);
        answer(ierr, MPI_Waitsome(*incount, handles.as_mut_ptr(), outcount, indices, statuses_at(statuses)));
        write_indices(indices, *outcount);
        write_requests(requests, &handles);
    }
}

pub unsafe extern "C" fn testsome(
    incount: *mut Fint,
    requests: *mut Fint,
    outcount: *mut Fint,
    indices: *mut Fint,
    statuses: *mut Fint,
    ierr: *mut Fint,
) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let mut handles = requests_of(requests, *incount);
        answer(ierr, MPI_Testsome(*incount, handles.as_mut_ptr(), outcount, indices, statuses_at(statuses)));
        write_indices(indices, *outcount);
        write_requests(requests, &handles);
    }
}

pub unsafe extern "C" fn request_free(request: *mut Fint, ierr: *mut Fint) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let mut handle = MPI_Request_f2c(*request);
        answer(ierr, MPI_Request_free(&raw mut handle));
        *request = MPI_Request_c2f(handle);
    }
}

/// Writes the number of a group that was made, where it was.
unsafe fn write_group(number: *mut Fint, group: Handle, code: c_int, ierr: *mut Fint) {
    // SAFETY: the program hands in where number and code belong.
    unsafe {
        answer(ierr, code);
        if code == 0 {
            *number = MPI_Group_c2f(group);
        }
    }
}

pub unsafe extern "C" fn group_union(one: *mut Fint, other: *mut Fint, new: *mut Fint, ierr: *mut Fint) {
    let mut group = std::ptr::null_mut();
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let code = MPI_Group_union(MPI_Group_f2c(*one), MPI_Group_f2c(*other), &raw mut group);
        write_group(new, group, code, ierr);
    }
}

pub unsafe extern "C" fn group_intersection(one: *mut Fint, other: *mut Fint, new: *mut Fint, ierr: *mut Fint) {
    let mut group = std::ptr::null_mut();
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let code = MPI_Group_intersection(MPI_Group_f2c(*one), MPI_Group_f2c(*other), &raw mut group);
        write_group(new, group, code, ierr);
    }
}

pub unsafe extern "C" fn group_difference(one: *mut Fint, other: *mut Fint, new: *mut Fint, ierr: *mut Fint) {
    let mut group = std::ptr::null_mut();
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let code = MPI_Group_difference(MPI_Group_f2c(*one), MPI_Group_f2c(*other), &raw mut group);
        write_group(new, group, code, ierr);
    }
}

pub unsafe extern "C" fn group_incl(of: *mut Fint, n: *mut Fint, ranks: *mut Fint, new: *mut Fint, ierr: *mut Fint) {
    let mut group = std::ptr::null_mut();
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let code = MPI_Group_incl(MPI_Group_f2c(*of), *n, ranks, &raw mut group);
        write_group(new, group, code, ierr);
    }
}

pub unsafe extern "C" fn group_excl(of: *mut Fint, n: *mut Fint, ranks: *mut Fint, new: *mut Fint, ierr: *mut Fint) {
    let mut group = std::ptr::null_mut();
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let code = MPI_Group_excl(MPI_Group_f2c(*of), *n, ranks, &raw mut group);
        write_group(new, group, code, ierr);
    }
}

pub unsafe extern "C" fn group_range_incl(
    of: *mut Fint,
    n: *mut Fint,
    ranges: *mut Fint,
    new: *mut Fint,
    ierr: *mut Fint,
) {
    let mut group = std::ptr::null_mut();
    // SAFETY: the program keeps to what MPI asks for; a range is three numbers in both languages.
    unsafe {
        let code = MPI_Group_range_incl(MPI_Group_f2c(*of), *n, ranges.cast(), &raw mut group);
        write_group(new, group, code, ierr);
    }
}

pub unsafe extern "C" fn group_range_excl(
    of: *mut Fint,
    n: *mut Fint,
    ranges: *mut Fint,
    new: *mut Fint,
    ierr: *mut Fint,
) {
    let mut group = std::ptr::null_mut();
    // SAFETY: the program keeps to what MPI asks for; a range is three numbers in both languages.
    unsafe {
        let code = MPI_Group_range_excl(MPI_Group_f2c(*of), *n, ranges.cast(), &raw mut group);
        write_group(new, group, code, ierr);
    }
}

pub unsafe extern "C" fn op_create(function: *const c_void, commute: *mut Fint, op: *mut Fint, ierr: *mut Fint) {
    static FUNCTION: Function = Function::new(c"MPI_Op_create");
    let mut handle = std::ptr::null_mut();
    // SAFETY: the program hands in a function of Fortran, and where number and code belong.
    unsafe {
        let code = create_operation_by(&FUNCTION, fortran_callbacks::operation(function), *commute, &raw mut handle);
        answer(ierr, code);
        if code == 0 {
            *op = MPI_Op_c2f(handle);
        }
    }
}

/// Makes an error handler of a function of Fortran.
unsafe fn create_handler(create: &Function, function: *const c_void, errhandler: *mut Fint, ierr: *mut Fint) {
    let mut handle = std::ptr::null_mut();
    // SAFETY: the program hands in a function of Fortran, and where number and code belong.
    unsafe {
        let code = create_handler_by(create, fortran_callbacks::handler(function), &raw mut handle);
        answer(ierr, code);
        if code == 0 {
            *errhandler = MPI_Errhandler_c2f(handle);
        }
    }
}

pub unsafe extern "C" fn comm_create_errhandler(function: *const c_void, errhandler: *mut Fint, ierr: *mut Fint) {
    static FUNCTION: Function = Function::new(c"MPI_Comm_create_errhandler");
    // SAFETY: as of what is called.
    unsafe { create_handler(&FUNCTION, function, errhandler, ierr) }
}

pub unsafe extern "C" fn errhandler_create(function: *const c_void, errhandler: *mut Fint, ierr: *mut Fint) {
    // SAFETY: as of the function that has taken its place.
    unsafe { comm_create_errhandler(function, errhandler, ierr) }
}

pub unsafe extern "C" fn file_create_errhandler(function: *const c_void, errhandler: *mut Fint, ierr: *mut Fint) {
    static FUNCTION: Function = Function::new(c"MPI_File_create_errhandler");
    // SAFETY: as of what is called.
    unsafe { create_handler(&FUNCTION, function, errhandler, ierr) }
}

pub unsafe extern "C" fn win_create_errhandler(function: *const c_void, errhandler: *mut Fint, ierr: *mut Fint) {
    static FUNCTION: Function = Function::new(c"MPI_Win_create_errhandler");
    // SAFETY: as of what is called.
    unsafe { create_handler(&FUNCTION, function, errhandler, ierr) }
}

pub unsafe extern "C" fn session_create_errhandler(function: *const c_void, errhandler: *mut Fint, ierr: *mut Fint) {
    static FUNCTION: Function = Function::new(c"MPI_Session_create_errhandler");
    // SAFETY: as of what is called.
    unsafe { create_handler(&FUNCTION, function, errhandler, ierr) }
}

pub unsafe extern "C" fn type_match_size(class: *mut Fint, size: *mut Fint, datatype: *mut Fint, ierr: *mut Fint) {
    let mut handle = std::ptr::null_mut();
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let code = MPI_Type_match_size(*class, *size, &raw mut handle);
        answer(ierr, code);
        if code == 0 {
            *datatype = MPI_Type_c2f(handle);
        }
    }
}

type Create = unsafe extern "C" fn(*const c_void, *const c_void, *mut c_int, *mut c_void) -> c_int;

/// Makes a kind of attributes whose functions are Fortran's.
unsafe fn create_keyval(create: Create, attribute: Attribute, keyval: *mut Fint, ierr: *mut Fint) {
    // Attributes may outlive their kind.
    let state = Box::leak(Box::new(attribute));
    let (copy, delete) = (copy_attribute as *const c_void, delete_attribute as *const c_void);
    // SAFETY: the functions are told this state; the program hands in where number and code belong.
    unsafe { answer(ierr, create(copy, delete, keyval, (&raw mut *state).cast())) }
}

pub unsafe extern "C" fn comm_create_keyval(
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut Fint,
    extra: *mut Aint,
    ierr: *mut Fint,
) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let attribute = Attribute { copy, delete, extra: *extra, kind: Kind::Comm, form: Form::Addresses };
        create_keyval(MPI_Comm_create_keyval, attribute, keyval, ierr);
    }
}

pub unsafe extern "C" fn type_create_keyval(
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut Fint,
    extra: *mut Aint,
    ierr: *mut Fint,
) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let attribute = Attribute { copy, delete, extra: *extra, kind: Kind::Datatype, form: Form::Addresses };
        create_keyval(MPI_Type_create_keyval, attribute, keyval, ierr);
    }
}

pub unsafe extern "C" fn win_create_keyval(
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut Fint,
    extra: *mut Aint,
    ierr: *mut Fint,
) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let attribute = Attribute { copy, delete, extra: *extra, kind: Kind::Win, form: Form::Addresses };
        create_keyval(MPI_Win_create_keyval, attribute, keyval, ierr);
    }
}

pub unsafe extern "C" fn keyval_create(
    copy: *const c_void,
    delete: *const c_void,
    keyval: *mut Fint,
    extra: *mut Fint,
    ierr: *mut Fint,
) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let attribute = Attribute { copy, delete, extra: *extra as Aint, kind: Kind::Comm, form: Form::Integers };
        create_keyval(MPI_Comm_create_keyval, attribute, keyval, ierr);
    }
}

/// Reads an attribute as Fortran has it.
unsafe fn get(of: &Function, object: c_int, keyval: Fint, value: *mut Aint, flag: *mut Fint) -> c_int {
    // SAFETY: functions that tell attributes to Fortran have these parameters.
    unsafe {
        let get: unsafe extern "C" fn(c_int, c_int, *mut Aint, *mut c_int, c_int) -> c_int = of.get();
        let result = get(object, keyval_in(keyval), value, flag, 0);
        if let Some(translate) = value_out(keyval)
            && result == 0
            && *flag != 0
        {
            value.write(translate(value.read() as c_int) as Aint);
        }
        code_out(result)
    }
}

/// Attaches an attribute as Fortran has it.
unsafe fn set(of: &Function, object: c_int, keyval: Fint, value: Aint) -> c_int {
    // SAFETY: functions that attach attributes for Fortran have these parameters; values are kept, and not followed.
    unsafe {
        let set: unsafe extern "C" fn(c_int, c_int, *mut c_void, c_int) -> c_int = of.get();
        let value = std::ptr::with_exposed_provenance_mut(value as usize);
        code_out(set(object, keyval_in(keyval), value, 0))
    }
}

static GET_OF_COMM: Function = Function::new(c"MPII_Comm_get_attr");
static SET_OF_COMM: Function = Function::new(c"MPII_Comm_set_attr");

pub unsafe extern "C" fn comm_get_attr(
    comm: *mut Fint,
    keyval: *mut Fint,
    value: *mut Aint,
    flag: *mut Fint,
    ierr: *mut Fint,
) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { answer(ierr, get(&GET_OF_COMM, comm_in(MPI_Comm_f2c(*comm)), *keyval, value, flag)) }
}

pub unsafe extern "C" fn type_get_attr(
    datatype: *mut Fint,
    keyval: *mut Fint,
    value: *mut Aint,
    flag: *mut Fint,
    ierr: *mut Fint,
) {
    static FUNCTION: Function = Function::new(c"MPII_Type_get_attr");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { answer(ierr, get(&FUNCTION, datatype_in(MPI_Type_f2c(*datatype)), *keyval, value, flag)) }
}

pub unsafe extern "C" fn win_get_attr(
    win: *mut Fint,
    keyval: *mut Fint,
    value: *mut Aint,
    flag: *mut Fint,
    ierr: *mut Fint,
) {
    static FUNCTION: Function = Function::new(c"MPII_Win_get_attr");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { answer(ierr, get(&FUNCTION, win_in(MPI_Win_f2c(*win)), *keyval, value, flag)) }
}

pub unsafe extern "C" fn attr_get(
    comm: *mut Fint,
    keyval: *mut Fint,
    value: *mut Fint,
    flag: *mut Fint,
    ierr: *mut Fint,
) {
    let mut whole = 0;
    // SAFETY: the program keeps to what MPI asks for.
    unsafe {
        let code = get(&GET_OF_COMM, comm_in(MPI_Comm_f2c(*comm)), *keyval, &raw mut whole, flag);
        answer(ierr, code);
        if code == 0 && *flag != 0 {
            *value = whole as Fint;
        }
    }
}

pub unsafe extern "C" fn comm_set_attr(comm: *mut Fint, keyval: *mut Fint, value: *mut Aint, ierr: *mut Fint) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { answer(ierr, set(&SET_OF_COMM, comm_in(MPI_Comm_f2c(*comm)), *keyval, *value)) }
}

pub unsafe extern "C" fn type_set_attr(datatype: *mut Fint, keyval: *mut Fint, value: *mut Aint, ierr: *mut Fint) {
    static FUNCTION: Function = Function::new(c"MPII_Type_set_attr");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { answer(ierr, set(&FUNCTION, datatype_in(MPI_Type_f2c(*datatype)), *keyval, *value)) }
}

pub unsafe extern "C" fn win_set_attr(win: *mut Fint, keyval: *mut Fint, value: *mut Aint, ierr: *mut Fint) {
    static FUNCTION: Function = Function::new(c"MPII_Win_set_attr");
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { answer(ierr, set(&FUNCTION, win_in(MPI_Win_f2c(*win)), *keyval, *value)) }
}

pub unsafe extern "C" fn attr_put(comm: *mut Fint, keyval: *mut Fint, value: *mut Fint, ierr: *mut Fint) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { answer(ierr, set(&SET_OF_COMM, comm_in(MPI_Comm_f2c(*comm)), *keyval, *value as Aint)) }
}

pub unsafe extern "C" fn attr_delete(comm: *mut Fint, keyval: *mut Fint, ierr: *mut Fint) {
    // SAFETY: the program keeps to what MPI asks for.
    unsafe { answer(ierr, MPI_Comm_delete_attr(MPI_Comm_f2c(*comm), *keyval)) }
}
