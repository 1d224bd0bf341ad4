//! Infos (MPI 4.1, chapter 10).

use std::ffi::{c_char, c_int, c_void};

use crate::abi::{self, Info as Handle};
use crate::fault::{Answer, Fault, class, require};
use crate::info::Info;
use crate::rank::Rank;

use super::{positive, put, put_text, text};

pub fn info_create(rank: &Rank, info: *mut Handle) -> Answer {
    put(info, rank.shared.infos.insert(Info::default()));
    Ok(())
}

pub fn info_create_env(rank: &Rank, _argc: c_int, _argv: *mut c_void, info: *mut Handle) -> Answer {
    info_create(rank, info)
}

pub fn info_free(rank: &Rank, info: *mut Handle) -> Answer {
    let removed = rank.shared.infos.remove(super::at(info, 0));
    removed.ok_or_else(|| Fault::new(class::ERR_INFO, "no such info"))?;
    put(info, abi::INFO_NULL);
    Ok(())
}

/// An info that the program may change.
fn find(rank: &Rank, info: Handle) -> Result<std::rc::Rc<Info>, Fault> {
    if info == abi::INFO_ENV {
        return Ok(std::rc::Rc::new(Info::default()));
    }
    rank.shared.infos.get(info).ok_or_else(|| Fault::new(class::ERR_INFO, "no such info"))
}

fn key_of(key: *const c_char) -> Result<Vec<u8>, Fault> {
    let key = text(key);
    let fits = !key.is_empty() && key.len() <= abi::MAX_INFO_KEY;
    require(fits, class::ERR_INFO_KEY, || format!("a key of {} bytes", key.len()))?;
    Ok(key)
}

pub fn info_set(rank: &Rank, info: Handle, key: *const c_char, value: *const c_char) -> Answer {
    let (info, key, value) = (find(rank, info)?, key_of(key)?, text(value));
    let fits = value.len() <= abi::MAX_INFO_VAL;
    require(fits, class::ERR_INFO_VALUE, || format!("a value of {} bytes", value.len()))?;
    info.set(&key, &value);
    Ok(())
}

pub fn info_delete(rank: &Rank, info: Handle, key: *const c_char) -> Answer {
    let (info, key) = (find(rank, info)?, key_of(key)?);
    require(info.delete(&key), class::ERR_INFO_NOKEY, || String::from_utf8_lossy(&key).into_owned())
}

pub fn info_get(
    rank: &Rank,
    info: Handle,
    key: *const c_char,
    valuelen: c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> Answer {
    let known = find(rank, info)?.get(&key_of(key)?);
    if let Some(known) = &known {
        put_text(value, known, positive(valuelen, "the length of a value")? + 1);
    }
    put(flag, c_int::from(known.is_some()));
    Ok(())
}

pub fn info_get_string(
    rank: &Rank,
    info: Handle,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> Answer {
    let known = find(rank, info)?.get(&key_of(key)?);
    if let Some(known) = &known {
        let space = super::at(buflen, 0);
        if space > 0 {
            put_text(value, known, space as usize);
        }
        put(buflen, known.len() as c_int + 1);
    }
    put(flag, c_int::from(known.is_some()));
    Ok(())
}

pub fn info_get_valuelen(
    rank: &Rank,
    info: Handle,
    key: *const c_char,
    valuelen: *mut c_int,
    flag: *mut c_int,
) -> Answer {
    let known = find(rank, info)?.get(&key_of(key)?);
    if let Some(known) = &known {
        put(valuelen, known.len() as c_int);
    }
    put(flag, c_int::from(known.is_some()));
    Ok(())
}

pub fn info_get_nkeys(rank: &Rank, info: Handle, nkeys: *mut c_int) -> Answer {
    put(nkeys, find(rank, info)?.pairs.borrow().len() as c_int);
    Ok(())
}

pub fn info_get_nthkey(rank: &Rank, info: Handle, n: c_int, key: *mut c_char) -> Answer {
    let info = find(rank, info)?;
    let pairs = info.pairs.borrow();
    let known = usize::try_from(n).ok().and_then(|n| pairs.get(n));
    let missing = || Fault::new(class::ERR_ARG, format!("key {n} of an info with {} keys", pairs.len()));
    put_text(key, &known.ok_or_else(missing)?.0, abi::MAX_INFO_KEY + 1);
    Ok(())
}

pub fn info_dup(rank: &Rank, info: Handle, newinfo: *mut Handle) -> Answer {
    let copy = (*find(rank, info)?).clone();
    put(newinfo, rank.shared.infos.insert(copy));
    Ok(())
}
