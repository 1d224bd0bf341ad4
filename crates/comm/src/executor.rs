//! The executor of backends whose requests block instead of yielding.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future of a backend where every request, when polled, waits until it is complete (MPI, threads).
///
/// Returns `None` when the future is pending all the same: the program awaits something that no request of the backend
/// can wake.
///
/// # Examples
/// ```
/// use weft_comm::block_on;
///
/// assert_eq!(block_on(async { 6 * 7 }), Some(42));
/// // A future that is not ready has nothing to wake it.
/// assert_eq!(block_on(std::future::pending::<()>()), None);
/// ```
pub fn block_on<F: Future>(future: F) -> Option<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
