//! Sends: each element to where its index says, with combining.
//!
//! Destinations are combined in the order of their senders, whatever the number of threads and whichever way is taken:
//! one sender after another ([`direct`]), or, where destinations are many and far apart, sorted into buckets of
//! neighbouring destinations first ([`buckets`]).

mod buckets;
mod collisions;
mod few;
mod parted;
mod vacancies;
mod values;

use crate::{Execution, Stop};

use self::buckets::Refusal;
use self::vacancies::Stored;
use self::values::{Values, senders};
use super::combination::{Combine, Combining, check_combination, with_combination};
use super::element::{Bool8, Element};
use super::indices::{
    BLOCK, Block, Checked, Copied, Index, IndexRange, Indexing, Moves, PORTION, SharedIndices, with_indices,
};
use super::parallel::threads_for;
use super::view::Selection;
use super::{Combination, ElementType, OnError, PrimitiveError, View, finished};

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
    pub fn parse(name: Option<&str>) -> Result<Self, PrimitiveError> {
        match name {
            None => Ok(Self::Refuse),
            Some("overwrite") => Ok(Self::Overwrite),
            Some(name) => Combination::parse(name, &["overwrite"]).map(Self::Combine),
        }
    }
}

/// Sends each selected element of `x` to the element of `out` with the flat index in `index`, or, where `x` has one element,
/// that one to each. Elements of `out` that nothing is sent to keep what they hold.
///
/// Large sends sort their messages first, in `workspace` where it has [`send_workspace_bytes`] bytes, whatever it
/// holds; it holds anything afterwards. Without it memory is allocated for the call, and to get its pages from the
/// system may take as long as the rest: whoever sends often keeps one.
///
/// # Errors
///
/// An index of a selected element that `out` does not have and, where collisions are refused, two selected elements with the
/// same index (what `out` holds then, `on_error` says); an `index` of another length than an `x` of several or not of int32 or
/// int64, an `out` of another type than `x`, a type without the combination, and arrays that overlap.
///
/// # Safety
///
/// The memory of all views is what [`View`] says.
#[expect(clippy::too_many_arguments, reason = "arrays, and how")]
pub unsafe fn send<'a>(
    x: View,
    index: View,
    out: View,
    collisions: Collisions,
    selection: Option<&View>,
    workspace: Option<&View>,
    on_error: OnError,
    execution: impl Into<Execution<'a>>,
) -> Result<(), PrimitiveError> {
    // SAFETY: the memory of all views is what `View` says (this function's condition).
    let moves = unsafe { Moves::checked(x, index, out, senders(&x, index.length), selection, execution.into())? };
    // Known before anything is: whether elements are sent makes no difference to what may be asked for.
    if let Collisions::Combine(combination) = collisions {
        check_combination(x.kind, combination)?;
    }
    if let Some(workspace) = workspace {
        let others = [(Some(&x), "x"), (Some(&index), "index"), (Some(&out), "out"), (selection, "selection")];
        for (view, name) in others.into_iter().filter_map(|(view, name)| Some((view?, name))) {
            workspace.check_apart("workspace", view, name)?;
        }
    }
    with_indices(&index, Work { moves, collisions, workspace, on_error })
}

/// Bytes of a `workspace` that is enough for sends of so many elements of a type to one of so many; 0 where none is
/// used.
pub fn send_workspace_bytes(kind: ElementType, senders: usize, destinations: usize, threads: Option<usize>) -> usize {
    let threads = threads_for(threads, senders.saturating_mul(2 * kind.size()));
    buckets::wanted(senders, kind.size(), destinations, threads)
}

/// Something to be done with the unsigned type of the size of elements: what is stored need not be understood.
macro_rules! by_size {
    ($kind:expr, $type:ident => $call:expr) => {
        match $kind.size() {
            1 => {
                type $type = u8;
                $call
            }
            2 => {
                type $type = u16;
                $call
            }
            4 => {
                type $type = u32;
                $call
            }
            _ => {
                type $type = u64;
                $call
            }
        }
    };
}

struct Work<'a> {
    moves: Moves<'a>,
    collisions: Collisions,
    workspace: Option<&'a View>,
    on_error: OnError,
}

impl Indexing for Work<'_> {
    type Output = ();
    fn run<I: Index + Element>(self) -> Result<(), PrimitiveError> {
        let Moves { x, index, out, selection, threads, stop } = self.moves;
        // SAFETY: the index's memory is what `View` says (a condition of `send`, which made this), and `with_indices` has
        // chosen its type.
        let shared = unsafe { SharedIndices::<I>::new(&index) };
        let all = All { index: shared, x, out, threads, stop };
        if selection.0.is_none() && all.send_at_once(self.collisions, self.on_error)? {
            return finished(stop);
        }
        // Bits and buckets are counted from the lowest destination.
        let from_low = self.collisions == Collisions::Refuse || buckets::pay(index.length, usize::MAX);
        // SAFETY: the index's memory is what `View` says (a condition of `send`, which made this), and `with_indices`
        // has chosen its type.
        let checked = unsafe { Checked::<I>::new(&self.moves, out.length, "destination", from_low)? };
        let Some(index) = checked else { return Ok(()) };
        let Self { workspace, on_error, .. } = self;
        let messages = Messages { index, x, out, selection, workspace, on_error, threads, stop };
        match self.collisions {
            Collisions::Combine(combination) => with_combination(x.kind, combination, messages)?,
            Collisions::Overwrite => messages.stored(),
            Collisions::Refuse => {
                if !messages.is_stored_apart() {
                    collisions::refuse(&messages.index, selection, stop)?;
                    messages.stored();
                }
            }
        }
        finished(stop)
    }
}

/// All elements, which are sent without a look at the indices before.
struct All<'a, I> {
    index: SharedIndices<'a, I>,
    x: View,
    out: View,
    threads: usize,
    stop: Stop<'a>,
}

impl<I: Index> Combining for All<'_, I> {
    type Output = bool;
    fn run<T: Element, C: Combine<T>>(self) -> bool {
        self.to_few::<T, C>()
    }
}

/// The same, to as many destinations as there may be.
struct ToMany<'a, I>(All<'a, I>);

impl<I: Index> Combining for ToMany<'_, I> {
    type Output = bool;
    fn run<T: Element, C: Combine<T>>(self) -> bool {
        self.0.to_many::<T, C>()
    }
}

impl<I: Index> All<'_, I> {
    /// Sends them where destinations are few, or have to be distinct and are, or where the output may hold anything after an
    /// error. False where it has to be looked at more closely, or in other cases; with nothing sent, but in the last case.
    fn send_at_once(self, collisions: Collisions, on_error: OnError) -> Result<bool, PrimitiveError> {
        let Self { x, out, .. } = self;
        let senders = self.index.len();
        let may_clobber = on_error == OnError::Clobber && !buckets::pay(senders, usize::MAX) && out.length > 0;
        // Where nothing is kept, the output itself may be vacated.
        if may_clobber
            && collisions == Collisions::Refuse
            && senders == out.length
            && by_size!(x.kind, T => self.to_vacancies::<T>())
        {
            return Ok(true);
        }
        // One thread sends at once where the output need not be copied for what it holds after an error.
        let is_copied = collisions == Collisions::Refuse || !may_clobber || few::is_shared(senders, self.threads);
        if is_copied && few::pay(senders, &out, collisions == Collisions::Refuse) {
            return match collisions {
                Collisions::Combine(combination) => with_combination(x.kind, combination, self),
                Collisions::Overwrite => Ok(by_size!(x.kind, T => self.to_few::<T, Last>())),
                Collisions::Refuse => Ok(by_size!(x.kind, T => self.to_few_apart::<T>())),
            };
        }
        if may_clobber {
            match collisions {
                Collisions::Combine(combination) => return with_combination(x.kind, combination, ToMany(self)),
                Collisions::Overwrite => return Ok(by_size!(x.kind, T => self.to_many::<T, Last>())),
                Collisions::Refuse => {}
            }
        }
        if collisions != Collisions::Refuse || buckets::pay(senders, usize::MAX) {
            return Ok(false);
        }
        if out.length / size_of::<u64>() > senders || senders > out.length {
            return Ok(false);
        }
        let are_distinct = if parted::pay(self.threads, out.bytes()) {
            parted::are_distinct(self.index, out.length, self.threads, self.stop)
        } else {
            collisions::are_all_distinct(self.index, out.length, self.stop)
        };
        if are_distinct {
            by_size!(x.kind, T => self.to_many::<T, Last>());
        }
        Ok(are_distinct)
    }

    fn to_few<T: Element, C: Combine<T>>(&self) -> bool {
        let deliver =
            |x: Values<'_, T>, out: &mut [T]| few::deliver::<T, I, C>(x, self.index, out, self.threads, self.stop);
        // SAFETY: as said there, by the conditions of `send`.
        unsafe { with_elements(&self.x, &self.out, self.index.len(), deliver) }
    }

    fn to_few_apart<T: Stored>(&self) -> bool {
        let deliver = |x: Values<'_, T>, out: &mut [T]| few::deliver_apart::<T, I>(x, self.index, out, self.stop);
        // SAFETY: as said there, by the conditions of `send`.
        unsafe { with_elements(&self.x, &self.out, self.index.len(), deliver) }
    }

    fn to_vacancies<T: Stored>(&self) -> bool {
        let deliver =
            |x: Values<'_, T>, out: &mut [T]| vacancies::deliver::<T, I>(x, self.index, out, self.threads, self.stop);
        // SAFETY: as said there, by the conditions of `send`.
        unsafe { with_elements(&self.x, &self.out, self.index.len(), deliver) }
    }

    fn to_many<T: Element, C: Combine<T>>(&self) -> bool {
        let range = IndexRange { low: 0, high: self.out.length - 1 };
        let deliver =
            |x: Values<'_, T>, out: &mut [T]| unselected::<T, I, C>(x, self.index, out, range, self.threads, self.stop);
        // SAFETY: as said there, by the conditions of `send`.
        unsafe { with_elements(&self.x, &self.out, self.index.len(), deliver) }
    }
}

/// What is sent where. An index that another thread has written since it was checked sends to some destination of the
/// range, or to none.
struct Messages<'a, I> {
    index: Checked<'a, I>,
    x: View,
    out: View,
    selection: Selection<'a>,
    workspace: Option<&'a View>,
    on_error: OnError,
    threads: usize,
    stop: Stop<'a>,
}

/// The last one.
struct Last;

impl<T: Element> Combine<T> for Last {
    const IDENTITY: T = T::SMALLEST;
    const ASSOCIATIVE: bool = false;
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
    fn stored(&self) {
        by_size!(self.x.kind, T => self.delivered::<T, Last>());
    }

    /// Stores elements by buckets where no two are sent to one. False where two are, or, with nothing stored, where buckets do
    /// not pay.
    fn is_stored_apart(&self) -> bool {
        let refusal = match self.on_error {
            OnError::Keep => Refusal::Before,
            OnError::Clobber => Refusal::Meanwhile,
        };
        by_size!(self.x.kind, T => self.sorted::<T, Last>(refusal)) == buckets::Outcome::Delivered
    }

    /// Delivers by buckets, where those pay.
    fn sorted<T: Element, C: Combine<T>>(&self, refusal: Refusal) -> buckets::Outcome {
        let range = self.index.range;
        let destinations = range.high - range.low + 1;
        if !buckets::pay(self.index.shared.len(), destinations * size_of::<T>()) {
            return buckets::Outcome::NotSorted;
        }
        let sorted = |x: &[T]| {
            let senders = buckets::Senders {
                x,
                index: self.index.shared,
                selection: self.selection,
                low: range.low,
                destinations,
                stop: self.stop,
            };
            // SAFETY: the memory is what `View` says (a condition of `send`), apart from the source's, and `T` is as large as
            // its elements.
            let out = unsafe { &mut self.out.elements_mut::<T>()[range.low..=range.high] };
            buckets::deliver::<T, I, C>(&senders, out, self.workspace, self.threads, refusal)
        };
        // SAFETY: the memory is what `View` says (a condition of `send`), and `T` is as large as its elements: types of one
        // size have the same alignment, and any bits are an element.
        unsafe { Values::with(&self.x, self.index.shared.len(), |x| sorted(x.each(&mut Vec::new()))) }
    }

    fn delivered<T: Element, C: Combine<T>>(&self) {
        if self.sorted::<T, C>(Refusal::Never) == buckets::Outcome::Delivered {
            return;
        }
        let deliver = |x: Values<'_, T>, out: &mut [T]| self.delivered_unsorted::<T, C>(x, out);
        // SAFETY: as said there, by the conditions of `send`.
        unsafe { with_elements(&self.x, &self.out, self.index.shared.len(), deliver) }
    }

    fn delivered_unsorted<T: Element, C: Combine<T>>(&self, x: Values<'_, T>, out: &mut [T]) {
        let range = self.index.range;
        let out = &mut out[..=range.high];
        if self.selection.0.is_none() {
            // Whether one is beyond the range was looked at; another thread may have written the indices since.
            unselected::<T, I, C>(x, self.index.shared, out, range, self.threads, self.stop);
            return;
        }
        let mut block = Block::new();
        for start in (0..x.len()).step_by(BLOCK).take_while(|_| !self.stop.is_requested()) {
            let end = x.len().min(start + BLOCK);
            let copied = self.index.block(start..end, self.selection, &mut block);
            // SAFETY: elements are of the stretch, and no index is above the range, at whose end `out` ends.
            unsafe { direct_selected::<T, C>(x.part(start..end), copied, out) };
        }
    }
}

/// Calls `work` with the elements of so many senders, and with the output.
///
/// # Safety
///
/// The memory of both is what [`View`] says, the two are apart, and `T` is as large as their elements: types of one size
/// have the same alignment, and any bits are an element.
#[inline(always)]
unsafe fn with_elements<T: Element, R>(
    x: &View,
    out: &View,
    senders: usize,
    work: impl FnOnce(Values<'_, T>, &mut [T]) -> R,
) -> R {
    // SAFETY: as this function's conditions say.
    unsafe {
        let out = out.elements_mut::<T>();
        Values::with(x, senders, |x| work(x, out))
    }
}

/// Delivers all elements, unsorted; false where an index was seen to be beyond the range, which `out` has.
fn unselected<T: Element, I: Index, C: Combine<T>>(
    x: Values<'_, T>,
    index: SharedIndices<'_, I>,
    out: &mut [T],
    range: IndexRange,
    threads: usize,
    stop: Stop<'_>,
) -> bool {
    if parted::pay(threads, (range.high - range.low + 1) * size_of::<T>()) {
        parted::deliver::<T, I, C>(x, index, out, range, threads, stop)
    } else {
        direct::<T, I, C>(x, index, out, stop)
    }
}

/// One sender after another, up to the first to a destination that `out` does not have; whether there is none. A function of
/// its own, and so is [`direct_selected`]: within that which also sorts, compilers run out of registers.
#[inline(never)]
fn direct<T: Element, I: Index, C: Combine<T>>(
    x: Values<'_, T>,
    index: SharedIndices<'_, I>,
    out: &mut [T],
    stop: Stop<'_>,
) -> bool {
    assert_eq!(x.len(), index.len());
    if let Some(x) = x.one() {
        return repeated::<T, I, C>(x, index, out, stop);
    }
    (0..x.len()).step_by(x.portion()).take_while(|_| !stop.is_requested()).all(|start| {
        let end = x.len().min(start + x.portion());
        let x = x.part(start..end);
        index.part(start..end).all_below::<8>(0..x.len(), out.len(), |element, index| {
            // SAFETY: there are as many elements as indices, and `out` has the index.
            unsafe { combine::<T, C>(x, element, out, index) };
        })
    })
}

/// One element to each destination, one after another, from a register; whether `out` has all.
#[inline(never)]
fn repeated<T: Element, I: Index, C: Combine<T>>(
    x: T,
    index: SharedIndices<'_, I>,
    out: &mut [T],
    stop: Stop<'_>,
) -> bool {
    (0..index.len()).step_by(PORTION).take_while(|_| !stop.is_requested()).all(|start| {
        let end = index.len().min(start + PORTION);
        index.all_below::<8>(start..end, out.len(), |_, index| {
            // SAFETY: `out` has the index.
            let to = unsafe { out.get_unchecked_mut(index) };
            *to = C::combine_alone(*to, x);
        })
    })
}

/// One sender after another.
///
/// # Safety
///
/// `x` has all elements of the copy, and `out` all of its indices.
#[inline(never)]
unsafe fn direct_selected<T: Element, C: Combine<T>>(x: &[T], copied: Copied<'_>, out: &mut [T]) {
    copied.for_each(|element, index| {
        // SAFETY: `x` has the element, and `out` the index (this function's conditions).
        unsafe { combine::<T, C>(x, element, out, index) };
    });
}

/// # Safety
///
/// `x` has the element, and `out` the index.
#[inline(always)]
unsafe fn combine<T: Element, C: Combine<T>>(x: &[T], element: usize, out: &mut [T], index: usize) {
    // SAFETY: `x` has the element, and `out` the index (this function's conditions).
    unsafe {
        let to = out.get_unchecked_mut(index);
        *to = C::combine_alone(*to, *x.get_unchecked(element));
    }
}

const _: () = assert!(ElementType::ALL.len() == 11 && size_of::<Bool8>() == 1);
