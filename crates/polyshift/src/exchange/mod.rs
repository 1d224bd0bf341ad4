//! Shifts and halos of distributed arrays: planned once for a rank, then done as often as wanted.
//!
//! A [`Pattern`] says what is exchanged, [`RankPlan`] what one rank does for it: copies within the rank, and one message
//! for each other rank with everything that goes there, of all arrays and directions (George, Brickner, Johnsson 1994,
//! sections 3 and 4: what is the same for each call is done once, and all directions travel at once). An [`Exchange`] is
//! a plan with its messages on some backend.
//!
//! What a rank would send to itself is copied and never becomes a message. Distances beyond a block, extents that do not
//! divide, and ranks without elements are intervals of other lengths and no special cases.

mod collect;
mod compile;
mod copy;
mod driver;
mod moves;
mod pattern;

pub use collect::{Division, Whole};
pub use compile::{RankPlan, Stage};
pub use driver::{Exchange, Options, agree};
pub use pattern::{Boundary, Corners, Edge, Halo, Pattern, PatternError, Shift, Storage};
