//! Sends: each element to where its index says, with combining.
//!
//! Destinations are combined in the order of their senders, whatever the number of threads and whichever way is taken:
//! one sender after another ([`direct`]), or, where destinations are many and far apart, sorted into buckets of
//! neighbouring destinations first ([`buckets`]).

mod buckets;
mod collisions;

use crate::{Execution, Stop};

use super::combination::{Combine, Combining, with_combination};
use super::element::{Bool8, Element};
use super::indices::{BLOCK, Block, Checked, Index, Indexing, Moves, with_indices};
use super::parallel::threads_for;
use super::view::Selection;
use super::{Combination, ElementType, PrimitiveError, View, finished};

/// What happens where several elements are sent to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collisions {
    /// They are combined with each other and with what is there, in the order of the senders.
    Combine(Combination),
    /// The last sender's replaces what is there.
    Overwrite,
    /// It is an error; one alone replaces what is there.
    Refuse,
}

impl Collisions {
    /// By name; none: an error.
    pub fn parse(given: Option<&str>) -> Result<Self, PrimitiveError> {
        match given {
            None => Ok(Self::Refuse),
            Some("overwrite") => Ok(Self::Overwrite),
            Some(name) => Combination::parse(name, &["overwrite"]).map(Self::Combine),
        }
    }
}

/// Sends each selected element of `x` to the element of `out` with the flat index in `index`. Elements of `out` that
/// nothing is sent to keep what they hold.
///
/// Large sends sort their messages first, in `room` where it has [`send_room`] bytes, whatever it holds; it holds anything
/// afterwards. Without it memory is allocated for the call, and to get its pages from the system may take as long as the
/// rest: whoever sends often keeps one.
///
/// # Errors
///
/// An index of a selected element that `out` does not have and, where collisions are refused, two selected elements with
/// the same index (nothing is written in either case); an `index` of another length than `x` or not of int32 or int64, an
/// `out` of another type than `x`, a type without the combination, and arrays that overlap.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
pub unsafe fn send<'a>(
    x: View,
    index: View,
    out: View,
    collisions: Collisions,
    selection: Option<&View>,
    room: Option<&View>,
    execution: impl Into<Execution<'a>>,
) -> Result<(), PrimitiveError> {
    // SAFETY: the memory of all views is what `View` says (this function's condition).
    let moves = unsafe { Moves::checked(x, index, out, x.length, selection, execution.into())? };
    if let Some(room) = room {
        let others = [(Some(&x), "x"), (Some(&index), "index"), (Some(&out), "out"), (selection, "selection")];
        for (view, name) in others.into_iter().filter_map(|(view, name)| Some((view?, name))) {
            room.check_apart("room", view, name)?;
        }
    }
    with_indices(&index, Work { moves, collisions, room })
}

/// Bytes of a `room` that is enough for sends of so many elements of a type to one of so many; 0 where none is used.
pub fn send_room(kind: ElementType, senders: usize, destinations: usize, threads: Option<usize>) -> usize {
    let threads = threads_for(threads, senders.saturating_mul(2 * kind.size()));
    buckets::wanted(senders, kind.size(), destinations, threads)
}

struct Work<'a> {
    moves: Moves<'a>,
    collisions: Collisions,
    room: Option<&'a View>,
}

impl Indexing for Work<'_> {
    type Output = ();
    fn run<I: Index + Element>(self) -> Result<(), PrimitiveError> {
        let Moves { x, out, selection, threads, stop, .. } = self.moves;
        let mut copy = Block::new();
        // SAFETY: the index's memory is what `View` says (a condition of `send`, which made this), and `with_indices`
        // has chosen its type.
        let checked = unsafe { Checked::<I>::new(&self.moves, out.length, "destination", Some(&mut copy))? };
        let Some(index) = checked else { return Ok(()) };
        if self.collisions == Collisions::Refuse {
            collisions::refuse(&index, selection, stop)?;
        }
        let messages = Messages { index, x, out, selection, room: self.room, threads, stop };
        match self.collisions {
            Collisions::Combine(combination) => with_combination(x.kind, combination, messages)?,
            Collisions::Overwrite | Collisions::Refuse => {
                // What is stored need not be understood.
                match x.kind.size() {
                    1 => messages.stored::<u8>(),
                    2 => messages.stored::<u16>(),
                    4 => messages.stored::<u32>(),
                    _ => messages.stored::<u64>(),
                }
            }
        }
        finished(stop)
    }
}

/// What is sent where. An index that another thread has written since it was checked sends to some destination of the
/// range, or to none.
struct Messages<'a, I> {
    index: Checked<'a, I>,
    x: View,
    out: View,
    selection: Selection<'a>,
    room: Option<&'a View>,
    threads: usize,
    stop: Stop<'a>,
}

/// The last one.
struct Last;

impl<T: Element> Combine<T> for Last {
    const IDENTITY: T = T::SMALLEST;
    #[inline(always)]
    fn combine(_: T, other: T) -> T {
        other
    }
}

impl<I: Index> Combining for Messages<'_, I> {
    type Output = ();
    fn run<T: Element, C: Combine<T>>(self) {
        self.delivered::<T, C>();
    }
}

impl<I: Index> Messages<'_, I> {
    fn stored<T: Element>(&self) {
        self.delivered::<T, Last>();
    }

    fn delivered<T: Element, C: Combine<T>>(&self) {
        // SAFETY: the memory of both is what `View` says (a condition of `send`), the two are apart, and `T` is as
        // large as their elements: types of one size have the same alignment, and any bits are an element.
        let (x, out) = unsafe { (self.x.elements::<T>(), self.out.elements_mut::<T>()) };
        let range = self.index.range;
        let destinations = range.high - range.low + 1;
        if buckets::pay(x.len(), destinations * size_of::<T>()) {
            let senders = buckets::Senders {
                x,
                index: self.index.shared,
                selection: self.selection,
                low: range.low,
                destinations,
                stop: self.stop,
            };
            if buckets::deliver::<T, I, C>(&senders, &mut out[range.low..=range.high], self.room, self.threads) {
                return;
            }
        }
        let out = &mut out[..=range.high];
        let mut room = Block::new();
        for start in (0..x.len()).step_by(BLOCK).take_while(|_| !self.stop.is_asked()) {
            let end = x.len().min(start + BLOCK);
            let index = self.index.block(start..end, &mut room);
            // SAFETY: no index of the copy is above the range, at whose end `out` ends.
            unsafe { direct::<T, C>(&x[start..end], index, self.selection.part(start, end), out) };
        }
    }
}

/// One sender after another.
///
/// # Safety
///
/// All indices are below the length of `out`.
unsafe fn direct<T: Element, C: Combine<T>>(x: &[T], index: &[usize], selection: Selection<'_>, out: &mut [T]) {
    let mut send = |x: T, index: usize| {
        // SAFETY: `out` has the index (this function's condition).
        let to = unsafe { out.get_unchecked_mut(index) };
        *to = C::combine(*to, x);
    };
    match selection.0 {
        None => x.iter().zip(index).for_each(|(&x, &index)| send(x, index)),
        Some(truths) => {
            let all = x.iter().zip(index).zip(truths);
            all.filter(|(_, truth)| truth.holds()).for_each(|((&x, &index), _)| send(x, index));
        }
    }
}

const _: () = assert!(ElementType::ALL.len() == 11 && size_of::<Bool8>() == 1);
