//! Futures of ranks that wait, which go on without a switch to the rank's stack.
//!
//! A collective has many rounds, and ranks that share a process would be switched to in each. Its future is kept on the
//! heap instead, and polled by whoever finds that the rank can go on; the rank itself is switched to when the future is
//! ready. Memory of the program may lie on the stack of the rank, which is elsewhere meanwhile: before it is touched, a
//! future waits until it is polled by its rank, by [`home`].

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::fault::Answer;

/// A collective as a future.
pub type Work = Pin<Box<dyn Future<Output = Answer>>>;

/// Who polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stack {
    Home,
    Apart,
    /// Apart, and the future can go on only at home.
    HomeWanted,
}

thread_local! {
    static STACK: Cell<Stack> = const { Cell::new(Stack::Home) };
}

/// Ready when the rank itself polls: from then on its stack may be touched, until the future waits for something else.
pub async fn home() {
    poll_fn(|_| {
        if STACK.get() == Stack::Home {
            return Poll::Ready(());
        }
        STACK.set(Stack::HomeWanted);
        Poll::Pending
    })
    .await;
}

/// What a rank waits for that goes on without it.
pub enum Apart {
    Waiting(Work),
    Done(Answer),
}

impl Apart {
    /// Goes on as far as it can; whether the rank is to be switched to.
    pub fn go_on(&mut self) -> bool {
        let Apart::Waiting(work) = self else { return true };
        STACK.set(Stack::Apart);
        let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let stack = STACK.replace(Stack::Home);
        if let Poll::Ready(answer) = polled {
            *self = Apart::Done(answer);
            return true;
        }
        stack == Stack::HomeWanted
    }
}
