//! Attributes and generalized requests whose functions are Fortran's, and the functions of attributes that the standard
//! has there.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments, reason = "as the standard has them")]

use std::ffi::{c_int, c_void};

use crate::creation::MPI_Grequest_start;
use crate::functions::MPI_Request_c2f;
use crate::inner::Aint;
use crate::objects::Kind;
use crate::translation::{Fint, Handle, Status, fortran_number};

/// How functions of a kind of attributes are handed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// INTEGER(KIND=MPI_ADDRESS_KIND), since MPI 2.
    Addresses,
    /// INTEGER, as MPI 1 had it.
    Integers,
}

/// The functions of a kind of attributes, and what they are handed.
pub struct Attribute {
    pub copy: *const c_void,
    pub delete: *const c_void,
    pub extra: Aint,
    pub kind: Kind,
    pub form: Form,
}

type Copy<T> = unsafe extern "C" fn(*mut Fint, *mut Fint, *mut T, *mut T, *mut T, *mut Fint, *mut Fint);
type Delete<T> = unsafe extern "C" fn(*mut Fint, *mut Fint, *mut T, *mut T, *mut Fint);

/// # Safety
/// The library calls it with the state of a kind of attributes of Fortran, through the stand-in of those of C.
pub unsafe extern "C" fn copy_attribute(
    object: Handle,
    keyval: c_int,
    state: *mut c_void,
    from: *mut c_void,
    into: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let (mut keyval, mut code, mut copied) = (keyval, 0, 0);
    // SAFETY: the state is an `Attribute`, which lives as long as the process, and has functions of its form.
    unsafe {
        let attribute = &*state.cast::<Attribute>();
        let mut number = fortran_number(object, attribute.kind);
        let mut extra = attribute.extra;
        match attribute.form {
            Form::Addresses => {
                let copy: Copy<Aint> = std::mem::transmute(attribute.copy);
                let mut value = from.expose_provenance() as Aint;
                copy(
                    &raw mut number,
                    &raw mut keyval,
                    &raw mut extra,
                    &raw mut value,
                    &raw mut copied,
                    flag,
                    &raw mut code,
                );
            }
            Form::Integers => {
                let copy: Copy<Fint> = std::mem::transmute(attribute.copy);
                let (mut extra, mut value, mut new) = (extra as Fint, from.expose_provenance() as Fint, 0);
                copy(
                    &raw mut number,
                    &raw mut keyval,
                    &raw mut extra,
                    &raw mut value,
                    &raw mut new,
                    flag,
                    &raw mut code,
                );
                copied = new as Aint;
            }
        }
        if *flag != 0 {
            *into.cast::<*mut c_void>() = std::ptr::with_exposed_provenance_mut(copied as usize);
        }
    }
    code
}

/// # Safety
/// As of [`copy_attribute`].
pub unsafe extern "C" fn delete_attribute(
    object: Handle,
    keyval: c_int,
    value: *mut c_void,
    state: *mut c_void,
) -> c_int {
    let (mut keyval, mut code) = (keyval, 0);
    // SAFETY: the state is an `Attribute`, which lives as long as the process, and has functions of its form.
    unsafe {
        let attribute = &*state.cast::<Attribute>();
        let mut number = fortran_number(object, attribute.kind);
        let (mut extra, mut value) = (attribute.extra, value.expose_provenance() as Aint);
        match attribute.form {
            Form::Addresses => {
                let delete: Delete<Aint> = std::mem::transmute(attribute.delete);
                delete(&raw mut number, &raw mut keyval, &raw mut value, &raw mut extra, &raw mut code);
            }
            Form::Integers => {
                let delete: Delete<Fint> = std::mem::transmute(attribute.delete);
                let (mut extra, mut value) = (extra as Fint, value as Fint);
                delete(&raw mut number, &raw mut keyval, &raw mut value, &raw mut extra, &raw mut code);
            }
        }
    }
    code
}

macro_rules! standard_functions {
    ($($copies:ident $copies_nothing:ident $deletes:ident: $value:ty;)*) => {
        $(
            pub unsafe extern "C" fn $copies(
                _object: *mut Fint, _keyval: *mut Fint, _extra: *mut $value, from: *mut $value, into: *mut $value,
                flag: *mut Fint, ierr: *mut Fint,
            ) {
                // SAFETY: the caller hands in where copy, flag and code belong.
                unsafe {
                    *into = *from;
                    *flag = 1;
                    *ierr = 0;
                }
            }

            pub unsafe extern "C" fn $copies_nothing(
                _object: *mut Fint, _keyval: *mut Fint, _extra: *mut $value, _from: *mut $value, _into: *mut $value,
                flag: *mut Fint, ierr: *mut Fint,
            ) {
                // SAFETY: the caller hands in where flag and code belong.
                unsafe {
                    *flag = 0;
                    *ierr = 0;
                }
            }

            pub unsafe extern "C" fn $deletes(
                _object: *mut Fint, _keyval: *mut Fint, _value: *mut $value, _extra: *mut $value, ierr: *mut Fint,
            ) {
                // SAFETY: the caller hands in where the code belongs.
                unsafe { *ierr = 0 };
            }
        )*
    };
}

standard_functions! {
    dup_fn null_copy_fn null_delete_fn: Fint;
    comm_dup_fn comm_null_copy_fn comm_null_delete_fn: Aint;
    type_dup_fn type_null_copy_fn type_null_delete_fn: Aint;
    win_dup_fn win_null_copy_fn win_null_delete_fn: Aint;
}

type Query = unsafe extern "C" fn(*mut c_void, *mut Status, *mut Fint);
type Free = unsafe extern "C" fn(*mut c_void, *mut Fint);
type Cancel = unsafe extern "C" fn(*mut c_void, *mut Fint, *mut Fint);

/// The functions of a generalized request, and what they are handed.
struct Generalized {
    query: Query,
    free: Free,
    cancel: Cancel,
    extra: *mut c_void,
}

unsafe extern "C" fn query(state: *mut c_void, status: *mut Status) -> c_int {
    let mut code = 0;
    // SAFETY: the state is a `Generalized` until `free` is called.
    unsafe {
        let request = &*state.cast::<Generalized>();
        (request.query)(request.extra, status, &raw mut code);
    }
    code
}

unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    let mut code = 0;
    // SAFETY: the state was a box, and the library calls this once.
    unsafe {
        let request = Box::from_raw(state.cast::<Generalized>());
        (request.free)(request.extra, &raw mut code);
    }
    code
}

unsafe extern "C" fn cancel(state: *mut c_void, complete: c_int) -> c_int {
    let (mut complete, mut code) = (complete, 0);
    // SAFETY: the state is a `Generalized` until `free` is called.
    unsafe {
        let request = &*state.cast::<Generalized>();
        (request.cancel)(request.extra, &raw mut complete, &raw mut code);
    }
    code
}

pub unsafe extern "C" fn grequest_start(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra: *mut Aint,
    request: *mut Fint,
    ierr: *mut Fint,
) {
    let mut handle = std::ptr::null_mut();
    // SAFETY: the program hands in functions of Fortran of these types, and where number and code belong.
    unsafe {
        let state = Box::new(Generalized {
            query: std::mem::transmute::<*const c_void, Query>(query_fn),
            free: std::mem::transmute::<*const c_void, Free>(free_fn),
            cancel: std::mem::transmute::<*const c_void, Cancel>(cancel_fn),
            extra: extra.cast(),
        });
        let functions = [query as *const c_void, free as *const c_void, cancel as *const c_void];
        let state = Box::into_raw(state).cast();
        *ierr = MPI_Grequest_start(functions[0], functions[1], functions[2], state, &raw mut handle);
        if *ierr == 0 {
            *request = MPI_Request_c2f(handle);
        }
    }
}
