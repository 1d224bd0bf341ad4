//! Units, node operations, seeded random numbers, memory and input in messages: what every other crate of weft stands on.
//!
//! Public interfaces speak seconds (`f64`) and bytes; inside the simulator time is [`Picos`], an integer, so that
//! sums do not depend on their order and a run can be repeated bit for bit.

mod begins;
mod interrupt;
pub mod memory;
mod operation;
pub mod quoting;
mod random;
mod time;

pub use begins::Begins;
pub use interrupt::Interrupt;
pub use operation::{Operation, UnknownOperation};
pub use random::generator;
pub use time::Picos;
