//! Ranks that were given different arrays: what comes is of another length than what is awaited, and says so.

use weft_comm::{CommError, Communicator, Program};
use weft_polyshift::exchange::{Boundary, Exchange, Options, Pattern, RankPlan, Shift, Storage};
use weft_polyshift::geometry::{Geometry, Layout};

const SHAPE: [usize; 2] = [6, 5];

/// A circular shift over two ranks, of elements of so many bytes on each; what a rank reports is its error, where it has one.
#[derive(Clone)]
struct Mismatched {
    elements: [usize; 2],
}

impl Program for Mismatched {
    type Output = Option<String>;

    async fn run<C: Communicator>(self, comm: C) -> Result<Option<String>, CommError> {
        let geometry = Geometry::new(&SHAPE, 2, &Layout::default()).expect("two ranks divide six rows");
        let element = self.elements[comm.rank()];
        let shape = geometry.local_shape(comm.rank());
        let storage = Storage::contiguous(element, &shape, &[[0, 0]; 2]);
        let shift = Shift { source: 0, result: 1, axis: 0, by: 1, boundary: Boundary::Circular };
        let plan =
            RankPlan::new(&geometry, comm.rank(), &[storage.clone(), storage.clone()], &Pattern::Shifts(vec![shift]))
                .expect("the shift fits");
        let mut exchange = Exchange::new(&comm, plan, Options::default())?;
        let mut arrays = [vec![1u8; storage.bytes(&shape)], vec![0; storage.bytes(&shape)]];
        let pointers = arrays.each_mut().map(|array| array.as_mut_ptr());
        // SAFETY: both arrays have the memory that `storage` describes, and stay until `end` has returned.
        let outcome = unsafe {
            exchange.begin(&pointers)?;
            exchange.end().await
        };
        Ok(outcome.err().map(|error| error.to_string()))
    }
}

#[test]
fn a_message_that_is_too_short_is_an_error_and_not_read_beyond_its_end() {
    let errors = weft_threads::run(2, &Mismatched { elements: [8, 4] }, &weft_threads::Options::default()).unwrap();
    let [Some(short), Some(long)] = &errors[..] else { panic!("both ranks have an error, not {errors:?}") };
    assert!(
        short.contains("rank 1 sent 20 bytes where 40 are exchanged; all ranks must give arrays of one shape and type"),
        "{short}"
    );
    assert!(long.contains("truncation"), "{long}");
}

#[test]
fn equal_arrays_are_exchanged() {
    let errors = weft_threads::run(2, &Mismatched { elements: [8, 8] }, &weft_threads::Options::default()).unwrap();
    assert_eq!(errors, [None, None]);
}
