//! Requests of a rank that are pending, whose memory other calls must leave alone.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use crate::request::Request;
use crate::used::Used;

/// A call is compared with so many requests.
const COMPARED: usize = 32;

/// Requests whose memory is known: the last that the program has started or may start again.
#[derive(Default)]
pub struct Requests(RefCell<Vec<Weak<Request>>>);

impl Requests {
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub fn add(&self, request: &Rc<Request>) {
        let mut requests = self.0.borrow_mut();
        if requests.len() == COMPARED {
            requests.remove(0);
        }
        requests.push(Rc::downgrade(request));
    }

    /// The memory of a pending request that a call disturbs. What is complete or freed is forgotten.
    pub fn disturbed(&self, used: &Used) -> Option<Used> {
        let mut disturbed = None;
        self.0.borrow_mut().retain(|request| {
            let Some(request) = request.upgrade() else { return false };
            let is_active = request.is_active();
            if is_active && disturbed.is_none() {
                disturbed = request.used.get().filter(|other| other.disturbs(used));
            }
            is_active || request.start.is_some()
        });
        disturbed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::predefined;
    use crate::request::State;

    fn ints(index: usize, count: usize, writes: bool) -> Option<Used> {
        let address = std::ptr::without_provenance(4096 + 4 * index);
        Used::of(address, &predefined()[&0x4c00_0405], count, writes, "MPI_Isend")
    }

    #[test]
    fn calls_are_compared_with_requests_that_are_pending() {
        let request = |used| {
            let request = Request::new(State::Generalized, 0);
            request.used.set(used);
            Rc::new(request)
        };
        let (requests, first, second) = (Requests::default(), request(ints(0, 4, true)), request(ints(8, 4, true)));
        [&first, &second].iter().for_each(|request| requests.add(request));
        let disturbed = |index| requests.disturbed(&ints(index, 1, false).unwrap());
        assert_eq!((disturbed(3), disturbed(4), disturbed(8)), (ints(0, 4, true), None, ints(8, 4, true)));
        *first.state.borrow_mut() = State::Inactive;
        drop(second);
        assert_eq!((disturbed(3), disturbed(8)), (None, None));
        assert!(requests.is_empty());
    }
}
