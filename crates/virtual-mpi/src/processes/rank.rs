//! The rank of this process: made when its program first calls MPI.

use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::client::Connection;
use super::codec::{Command, Id};
use crate::joint::{Described, Key};
use crate::link::{Link, RemoteComm};
use crate::meter::Compute;
use crate::outcome::Unfreed;
use crate::rank::{Host, Rank, Setting, current, set_current};
use crate::remark::Subject;
use crate::threads::{Awaited, Woken};

/// Lets the hub go on while the rank waits.
struct Process(Rc<Connection>);

impl Host for Process {
    #[unsafe(link_section = "weft_message")]
    fn park(&self, _rank: usize) {
        self.0.park();
    }

    fn awaited(&self) -> Vec<Id> {
        self.0.take_awaited()
    }

    fn park_beside(&self, _rank: usize, awaited: Awaited, until_quiet: bool) -> Woken {
        self.0.park_beside(awaited, until_quiet)
    }

    fn disturb(&self) {
        self.0.disturb();
    }

    fn hold(&self, _object: *mut c_void) {}

    fn abort(&self, _rank: usize, code: c_int, message: &str) -> ! {
        self.0.abort(code, message)
    }

    fn leave(&self, unfreed: &Unfreed) {
        self.0.leave(unfreed);
    }

    fn note_joint(&self, _rank: usize, size: u32, key: Key, _call: &'static str, described: Described) {
        self.0.tell_call();
        self.0.queue(&Command::Joint { key, size, described });
    }

    fn remark(&self, subject: Subject, remark: &str) {
        self.0.queue_message(remark.as_bytes(), |bytes| Command::Remark { subject, bytes });
    }
}

/// Whether this process was made by a fork of a rank's.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn forked() {
    set_current(std::ptr::null());
    FORKED.store(true, Ordering::Relaxed);
}

/// A rank is asked for once.
static ASKED: Mutex<bool> = Mutex::new(false);

/// The rank of this process, if a run has started it; from then on it is the current one.
#[cold]
pub fn begin() -> Option<&'static Rank> {
    if FORKED.load(Ordering::Relaxed) {
        return None;
    }
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::replace(&mut *asked, true) {
        return current();
    }
    let connection = match Connection::open() {
        Ok(connection) => Rc::new(connection?),
        Err(error) => {
            eprintln!("weft: {error}");
            std::process::exit(1);
        }
    };
    let compute = connection.setup.compute.map_or(Compute::None, |scale| Compute::Measured { scale });
    let setup = &connection.setup;
    let host = Rc::new(Process(connection.clone()));
    let setting = Setting::new(host, &Rc::default(), compute, &setup.machine, setup.nodes.as_deref());
    let link = Link::Remote(RemoteComm::new(connection));
    let rank: &'static Rank = Box::leak(Box::new(Rank::new(link, &setting)));
    set_current(rank);
    // SAFETY: the function touches atomics only.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    Some(rank)
}
