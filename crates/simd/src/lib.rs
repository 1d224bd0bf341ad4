//! What weft asks of the processor it runs on: one detection of vector instructions for the whole of weft, the sizes of
//! caches, and the hints to caches and pages that have no portable form.
//!
//! * [`level`] is the widest [`Level`] that the processor has all instructions of, or the one that the environment
//!   variable [`VARIABLE`] (`WEFT_SIMD`) forces. Code is compiled for a level with exactly the features in
//!   [`Level::features`] or fewer; a test reads all sources of weft for that.
//! * [`dispatch`] runs a piece of work that is compiled once for each level.
//! * [`last_level_cache`], [`CACHE_LINE`] and [`processors`] say what the machine is like, [`binding`] which part of it
//!   a thread may use.
//! * [`on_threads`] shares the work of one call.
//! * [`prefetch`], [`store_fence`], [`keep_rolled`] and [`advise_huge_pages`] do nothing where there is no such thing.

mod affinity;
mod binding;
mod cache;
mod dispatch;
mod level;
mod memory;
mod pool;
mod threads;

pub use binding::{Binding, binding};
pub use cache::{CACHE_LINE, largest_reported_cache, last_level_cache, local_ranks, processors, second_level_cache};
pub use dispatch::{Dispatched, dispatch, dispatch_to_masks};
pub use level::{Level, LevelError, VARIABLE, chosen, is_forced, level};
pub use memory::{advise_huge_pages, keep_rolled, opaque, prefetch, prefetch_to_second, store_fence};
pub use threads::{MAX_THREADS, on_threads};
