//! Attributes of communicators, datatypes and windows (MPI 4.1, section 7.7).

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use weft_comm::{Communicator as _, Tag};

use crate::abi::{self, Callback, Comm, Datatype};
use crate::attribute::{self, Attributes, Keyval};
use crate::communicator::NO_SESSION;
use crate::fault::{Answer, Fault, class, require};
use crate::rank::Rank;
use crate::threads::outside;

use super::put;

fn create(
    rank: &Rank,
    of: u32,
    copy: Callback,
    delete: Callback,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> Answer {
    let number = rank.shared.next_keyval.get();
    rank.shared.next_keyval.set(number + 1);
    let handle = (0x8000_0000 | (abi::kind::KEYVAL << 26)) as c_int | number;
    let holds_objects = attribute::holds_objects(copy.function, delete.function);
    let kind = Keyval { of, copy: copy.function, delete: delete.function, extra_state, proxies: None, holds_objects };
    rank.shared.keyvals.borrow_mut().insert(handle, kind);
    put(keyval, handle);
    Ok(())
}

fn free(rank: &Rank, of: u32, keyval: *mut c_int) -> Answer {
    let handle = super::at(keyval, 0);
    known(rank, of, handle)?;
    // Attributes that have it keep it, and their functions are called: it stays until the end of the run.
    put(keyval, abi::KEYVAL_INVALID);
    Ok(())
}

/// The kind of attribute, if objects of kind `of` have such.
pub(crate) fn known(rank: &Rank, of: u32, keyval: c_int) -> Result<Keyval, Fault> {
    let known = rank.shared.keyvals.borrow().get(&keyval).copied().filter(|known| known.of == of);
    known.ok_or_else(|| Fault::new(class::ERR_KEYVAL, "no such kind of attribute"))
}

pub fn comm_create_keyval(
    rank: &Rank,
    copy: Callback,
    delete: Callback,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> Answer {
    create(rank, abi::kind::COMM, copy, delete, keyval, extra_state)
}

pub fn keyval_create(
    rank: &Rank,
    copy: Callback,
    delete: Callback,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> Answer {
    create(rank, abi::kind::COMM, copy, delete, keyval, extra_state)
}

pub fn type_create_keyval(
    rank: &Rank,
    copy: Callback,
    delete: Callback,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> Answer {
    create(rank, abi::kind::DATATYPE, copy, delete, keyval, extra_state)
}

pub fn win_create_keyval(
    rank: &Rank,
    copy: Callback,
    delete: Callback,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> Answer {
    create(rank, abi::kind::WIN, copy, delete, keyval, extra_state)
}

pub fn comm_free_keyval(rank: &Rank, keyval: *mut c_int) -> Answer {
    free(rank, abi::kind::COMM, keyval)
}

pub fn keyval_free(rank: &Rank, keyval: *mut c_int) -> Answer {
    free(rank, abi::kind::COMM, keyval)
}

pub fn type_free_keyval(rank: &Rank, keyval: *mut c_int) -> Answer {
    free(rank, abi::kind::DATATYPE, keyval)
}

pub fn win_free_keyval(rank: &Rank, keyval: *mut c_int) -> Answer {
    free(rank, abi::kind::WIN, keyval)
}

/// What a handle is one of.
fn kind_of(handle: c_int) -> u32 {
    (handle as u32 >> 26) & 15
}

/// Calls what the program wants to be called when an attribute goes.
fn call_delete(kind: Keyval, object: c_int, keyval: c_int, value: *mut c_void) -> Answer {
    type Function = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void) -> c_int;
    if kind.delete.is_null() {
        return Ok(());
    }
    // SAFETY: the program handed the function in as one of this type, or its language's library what calls it.
    let code = outside(|| unsafe {
        if let Some(proxies) = kind.proxies {
            proxies.delete(kind.delete, object, keyval, value, kind.extra_state)
        } else {
            let function = std::mem::transmute::<*const c_void, Function>(kind.delete);
            function(object, keyval, value, kind.extra_state)
        }
    });
    require(code == abi::SUCCESS, code, || "the function that deletes an attribute failed".to_owned())
}

/// The copy of an attribute for a duplicate, if the program wants one.
fn call_copy(kind: Keyval, object: c_int, keyval: c_int, value: *mut c_void) -> Result<Option<*mut c_void>, Fault> {
    type Function = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void, *mut *mut c_void, *mut c_int) -> c_int;
    if kind.copy.is_null() {
        return Ok(None);
    }
    let (mut copied, mut flag) = (std::ptr::null_mut(), 0);
    // SAFETY: the program handed the function in as one of this type, or its language's library what calls it.
    let code = outside(|| unsafe {
        if let Some(proxies) = kind.proxies {
            let (state, copied) = (kind.extra_state, &raw mut copied);
            proxies.copy(kind.copy, object, keyval, state, value, copied, &raw mut flag)
        } else {
            let function = std::mem::transmute::<*const c_void, Function>(kind.copy);
            function(object, keyval, kind.extra_state, value, &raw mut copied, &raw mut flag)
        }
    });
    require(code == abi::SUCCESS, code, || "the function that copies an attribute failed".to_owned())?;
    Ok((flag != 0).then_some(copied))
}

/// Sets an attribute; the one that was there goes.
pub(crate) fn set_attribute(
    rank: &Rank,
    object: c_int,
    attributes: &Attributes,
    keyval: c_int,
    value: *mut c_void,
) -> Answer {
    let kind = known(rank, kind_of(object), keyval)?;
    if let Some(old) = attributes.get(keyval) {
        call_delete(kind, object, keyval, old)?;
    }
    if kind.holds_objects {
        rank.hold(value);
    }
    attributes.set(keyval, value);
    Ok(())
}

/// Removes an attribute.
pub(crate) fn delete_attribute(rank: &Rank, object: c_int, attributes: &Attributes, keyval: c_int) -> Answer {
    let kind = known(rank, kind_of(object), keyval)?;
    let Some(value) = attributes.get(keyval) else {
        return Err(Fault::new(class::ERR_KEYVAL, "the object has no such attribute"));
    };
    call_delete(kind, object, keyval, value)?;
    attributes.remove(keyval);
    Ok(())
}

/// Removes all attributes of an object that goes, the one that was set last first, as the standard asks of
/// `MPI_COMM_SELF` (MPI 4.1, section 11.2.4).
pub(crate) fn delete_all(rank: &Rank, object: c_int, attributes: &Attributes) -> Answer {
    attributes.all().into_iter().rev().try_for_each(|(keyval, _)| delete_attribute(rank, object, attributes, keyval))
}

/// Removes all attributes of a communicator.
pub(crate) fn delete_all_attributes(rank: &Rank, handle: Comm, comm: &crate::communicator::Communicator) -> Answer {
    delete_all(rank, handle, &comm.attributes)
}

/// Copies attributes to a duplicate, as far as the program wants them there.
pub(crate) fn copy_all(rank: &Rank, object: c_int, from: &Attributes, to: &Attributes) -> Answer {
    for (keyval, value) in from.all() {
        if let Some(copied) = call_copy(known(rank, kind_of(object), keyval)?, object, keyval, value)? {
            to.set(keyval, copied);
        }
    }
    Ok(())
}

/// Tells an attribute.
pub(crate) fn get_attribute(attributes: &Attributes, keyval: c_int, value: *mut c_void, flag: *mut c_int) {
    let known = attributes.get(keyval);
    if let Some(known) = known {
        put(value.cast::<*mut c_void>(), known);
    }
    put(flag, c_int::from(known.is_some()));
}

pub fn comm_set_attr(rank: &Rank, comm: Comm, keyval: c_int, value: *mut c_void) -> Answer {
    set_attribute(rank, comm, &rank.comm(comm)?.attributes, keyval, value)
}

pub fn attr_put(rank: &Rank, comm: Comm, keyval: c_int, value: *mut c_void) -> Answer {
    comm_set_attr(rank, comm, keyval, value)
}

thread_local! {
    /// Numbers that programs get addresses of.
    static NUMBERS: RefCell<std::collections::BTreeMap<(usize, c_int), &'static mut c_int>> = RefCell::default();
}

/// The address of a number that stays.
fn address_of(rank: &Rank, keyval: c_int, number: c_int) -> *mut c_void {
    NUMBERS.with_borrow_mut(|numbers| {
        let kept = numbers.entry((rank.number(), keyval)).or_insert_with(|| Box::leak(Box::new(number)));
        **kept = number;
        (&raw mut **kept).cast()
    })
}

fn is_predefined(keyval: c_int) -> bool {
    use abi::{APPNUM, HOST, IO, LASTUSEDCODE, UNIVERSE_SIZE, WTIME_IS_GLOBAL};
    [HOST, IO, WTIME_IS_GLOBAL, UNIVERSE_SIZE, LASTUSEDCODE, APPNUM].contains(&keyval)
}

pub fn comm_get_attr(rank: &Rank, comm: Comm, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> Answer {
    let comm = rank.comm(comm)?;
    let number = match keyval {
        abi::TAG_UB => Tag::MAX_USER as c_int,
        // Communicators of sessions have no other attribute of the standard's (MPI 4.1, section 9.1.2).
        _ if comm.group.session != NO_SESSION && is_predefined(keyval) => {
            put(flag, 0);
            return Ok(());
        }
        abi::HOST => rank.endpoint.host().map_or(abi::PROC_NULL, |host| host as c_int),
        // Every rank can.
        abi::IO => abi::ANY_SOURCE,
        abi::WTIME_IS_GLOBAL => 1,
        abi::UNIVERSE_SIZE => rank.endpoint.size() as c_int,
        abi::LASTUSEDCODE => rank.user_errors.borrow().last(),
        abi::APPNUM => 0,
        _ => {
            known(rank, abi::kind::COMM, keyval)?;
            get_attribute(&comm.attributes, keyval, value, flag);
            return Ok(());
        }
    };
    put(value.cast::<*mut c_void>(), address_of(rank, keyval, number));
    put(flag, 1);
    Ok(())
}

pub fn attr_get(rank: &Rank, comm: Comm, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> Answer {
    comm_get_attr(rank, comm, keyval, value, flag)
}

pub fn comm_delete_attr(rank: &Rank, comm: Comm, keyval: c_int) -> Answer {
    delete_attribute(rank, comm, &rank.comm(comm)?.attributes, keyval)
}

pub fn attr_delete(rank: &Rank, comm: Comm, keyval: c_int) -> Answer {
    comm_delete_attr(rank, comm, keyval)
}

pub fn type_set_attr(rank: &Rank, datatype: Datatype, keyval: c_int, value: *mut c_void) -> Answer {
    set_attribute(rank, datatype, &rank.datatype(datatype)?.attributes, keyval, value)
}

pub fn type_get_attr(rank: &Rank, datatype: Datatype, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> Answer {
    known(rank, abi::kind::DATATYPE, keyval)?;
    get_attribute(&rank.datatype(datatype)?.attributes, keyval, value, flag);
    Ok(())
}

pub fn type_delete_attr(rank: &Rank, datatype: Datatype, keyval: c_int) -> Answer {
    delete_attribute(rank, datatype, &rank.datatype(datatype)?.attributes, keyval)
}
