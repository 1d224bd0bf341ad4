//! The functions of MPI whose parameters are translated one by one: `build.rs` writes them.
#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    clippy::not_unsafe_ptr_arg_deref,
    clippy::let_and_return,
    clippy::missing_transmute_annotations,
    reason = "as the standard has them, and as they are generated"
)]

use std::ffi::{c_char, c_int, c_void};

use crate::exchanges::peer_types;
use crate::inner::{Aint, Inner};
use crate::objects::Kind;
use crate::passing::*;
use crate::translation::*;

include!(concat!(env!("OUT_DIR"), "/functions.rs"));
