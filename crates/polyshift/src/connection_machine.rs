//! What shifts cost on a Connection Machine: the model of George, Brickner and Johnsson 1994, section 6.2.
//!
//! Every node holds a subgrid of the array, of shape `L0 x L1 x …`. A shift by `S` along axis `a` moves the `L_a - S`
//! layers that stay within a node and exchanges the others with the neighbour along the axis. PSHIFT makes all shifts of a
//! call at once: the moves one after another, since a node has one memory, and the exchanges of all directions together,
//! since it has a wire for each. CSHIFT makes one shift a call.
//!
//! The time is that of equation (1) of the paper with two effects that its tables show: stalls of the memory, and waits for
//! the front end. Work is counts of what is done ([`Work`]) times the costs of the machine ([`weft_machine::Shifts`]).
//!
//! - An exchange swaps two slices with each neighbour; their number is that of the longest direction.
//! - Each exchanged slice passes a transposer at both ends.
//! - A move loads and stores a slice. Source and results lie one after another in memory, wherever the source begins: with
//!   short subgrids both may be in one row of it; else each of the two accesses leaves the row that the other has left
//!   open, and stalls.
//! - The subgrid of an array of rank two or more is moved row by row. Where its rows are long, the accesses stall once
//!   more: both in the run-time library, one of them in PSHIFT's generated code. Rank one is one row.
//! - Where the front end takes longer for a call than the nodes work, a part of the wait falls between the instructions of
//!   a call and counts as time in which the Connection Machine is busy: a share for every exchange, whose instructions take
//!   operands of their own.
//!
//! The lengths of rows are what measurements show, and the stall itself is the machine's clock cycle. That long rows stall
//! once more is an observation without a known cause: it is there in 64 x 64 and 128 x 128, and not in 16 x 16 x 16 or
//! 8 x 8 x 8 x 8, which have as many slices as 64 x 64. Elapsed time is that of the front end or of the Connection Machine,
//! whichever is longer: the one issues the next call while the other works on this.

use weft_machine::Shifts;

/// How the nodes along an axis are numbered (section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By a binary-reflected Gray code: neighbours along the axis are neighbours in the hypercube.
    News,
    /// By their binary number.
    Send,
}

/// One axis of a distributed array, as a node has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Elements of the subgrid along it.
    pub extent: u64,
    pub order: Order,
    /// Whether some nodes hold elements that are not of the array, because extents do not divide.
    pub is_padded: bool,
}

/// What a call works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    pub axes: Vec<Axis>,
    /// Bytes of an element.
    pub element_bytes: u64,
}

/// A circular shift, or an end-off one whose boundary is the constant 0: that is exchanged with the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    pub axis: usize,
    pub distance: i64,
}

/// Why PSHIFT leaves a shift to the run-time library (section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    Padded,
    SendOrder,
    /// Neither within twice the subgrid nor the subgrid times a power of two.
    Distance,
    /// Two shifts along the axis are being made already.
    TooManyOnAxis,
}

impl Fallback {
    /// The reason, as a user reads it.
    pub fn reason(self) -> &'static str {
        match self {
            Fallback::Padded => "the axis is padded",
            Fallback::SendOrder => "the axis is not in NEWS order",
            Fallback::Distance => "the distance is neither within twice the subgrid nor a power of two times it",
            Fallback::TooManyOnAxis => "two shifts along the axis go already",
        }
    }
}

/// Shifts that the model does not cover.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShiftError {
    #[error("a subgrid has at least one axis and at least one element along each; found {0:?}")]
    Shape(Vec<u64>),
    #[error("elements of {bytes} bytes are no whole slices of {slice} bytes")]
    Element { bytes: u64, slice: u64 },
    #[error("shift {index} is along axis {axis}; the array has axes 0 to {last}")]
    Axis { index: usize, axis: usize, last: usize },
    #[error("no shifts: name at least one")]
    Nothing,
    #[error("the subgrid {0:?} is too large: its slices cannot be counted")]
    TooLarge(Vec<u64>),
}

/// What the nodes do for a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Exchanges of two slices over the wires to every neighbour.
    pub exchanges: f64,
    /// Slices that pass a transposer at both ends.
    pub transposed: f64,
    /// Slices moved from memory to memory.
    pub moved: f64,
    /// Loads and stores of those moves that stall.
    pub stalls: f64,
}

/// Time of a call, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// While the Connection Machine was busy, s.
    pub cm: f64,
    /// While the front end was, s.
    pub front_end: f64,
}

impl Times {
    /// From the start of the first call to the end of the last where calls follow each other, s.
    pub fn elapsed(&self) -> f64 {
        self.cm.max(self.front_end)
    }

    /// Of a call whose nodes do `work` after a startup of `startup` seconds.
    fn of_call(costs: &Shifts, startup: f64, work: &Work, front_end: f64) -> Times {
        let seconds = startup + time(costs, work);
        let share = (costs.wait_share * work.exchanges).min(1.0);
        Times { cm: seconds + share * (front_end - seconds).max(0.0), front_end }
    }

    fn plus(self, other: Times) -> Times {
        Times { cm: self.cm + other.cm, front_end: self.front_end + other.front_end }
    }
}

/// A call of PSHIFT.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// For each shift whether it is left to the run-time library, and why.
    pub fallbacks: Vec<Option<Fallback>>,
    /// Of the shifts that are not.
    pub work: Work,
    pub times: Times,
}

/// Which shifts of a call of PSHIFT the run-time library makes.
pub fn fallbacks(costs: &Shifts, array: &Array, shifts: &[Shift]) -> Vec<Option<Fallback>> {
    let mut on_axis = vec![0; array.axes.len()];
    let mut of = |shift: &Shift| {
        let axis = array.axes[shift.axis];
        let distance = shift.distance.unsigned_abs();
        let times = distance / axis.extent;
        let is_power = distance.is_multiple_of(axis.extent) && times >= 2 && times.is_power_of_two();
        if axis.is_padded {
            return Some(Fallback::Padded);
        }
        if axis.order == Order::Send {
            return Some(Fallback::SendOrder);
        }
        if distance > axis.extent.saturating_mul(2) && !is_power {
            return Some(Fallback::Distance);
        }
        if on_axis[shift.axis] >= costs.shifts_per_axis {
            return Some(Fallback::TooManyOnAxis);
        }
        on_axis[shift.axis] += 1;
        None
    };
    shifts.iter().map(&mut of).collect()
}

/// One call of PSHIFT for all `shifts`; what it cannot do is done by calls of CSHIFT afterwards.
pub fn pshift(costs: &Shifts, array: &Array, shifts: &[Shift]) -> Result<Planned, ShiftError> {
    let size = check(costs, array, shifts)?;
    let fallbacks = fallbacks(costs, array, shifts);
    let (mut planned, mut left) = (Vec::new(), Vec::new());
    for (shift, fallback) in shifts.iter().zip(&fallbacks) {
        if fallback.is_none() { planned.push(*shift) } else { left.push(*shift) }
    }
    let mut work = Work::default();
    let mut times = Times::default();
    if !planned.is_empty() {
        // Opposite directions have wires of their own; two shifts in one direction share them.
        let mut slices = vec![[0.0; 2]; array.axes.len()];
        for shift in &planned {
            let exchanged = exchanged_slices(array, size, *shift);
            slices[shift.axis][usize::from(shift.distance < 0)] += exchanged;
            work.transposed += exchanged;
            work.moved += moved_slices(array, size, *shift);
        }
        let longest = slices.iter().flatten().copied().fold(0.0, f64::max);
        work.exchanges = (longest / costs.slices_per_exchange as f64).ceil();
        work.stalls = work.moved * stalls_per_move(costs, array, size, shifts.len(), Caller::Planned);
        let front_end = costs.plan_front_end * planned.len() as f64;
        times = Times::of_call(costs, costs.plan_startup, &work, front_end);
    }
    let times = left.iter().fold(times, |times, shift| times.plus(single(costs, array, size, *shift, shifts.len())));
    Ok(Planned { fallbacks, work, times })
}

/// The same shifts by a call of CSHIFT each.
pub fn cshifts(costs: &Shifts, array: &Array, shifts: &[Shift]) -> Result<Times, ShiftError> {
    let size = check(costs, array, shifts)?;
    let each = shifts.iter().map(|shift| single(costs, array, size, *shift, shifts.len()));
    Ok(each.fold(Times::default(), Times::plus))
}

/// What the nodes do for the same shifts by a call of CSHIFT each.
pub fn cshifts_work(costs: &Shifts, array: &Array, shifts: &[Shift]) -> Result<Work, ShiftError> {
    let size = check(costs, array, shifts)?;
    Ok(shifts.iter().map(|shift| single_work(costs, array, size, *shift, shifts.len())).fold(
        Work::default(),
        |sum, work| Work {
            exchanges: sum.exchanges + work.exchanges,
            transposed: sum.transposed + work.transposed,
            moved: sum.moved + work.moved,
            stalls: sum.stalls + work.stalls,
        },
    ))
}

/// Slices of a subgrid.
fn check(costs: &Shifts, array: &Array, shifts: &[Shift]) -> Result<u64, ShiftError> {
    let extents: Vec<u64> = array.axes.iter().map(|axis| axis.extent).collect();
    if extents.is_empty() || extents.contains(&0) {
        return Err(ShiftError::Shape(extents));
    }
    if array.element_bytes == 0 || !array.element_bytes.is_multiple_of(costs.slice_bytes) {
        return Err(ShiftError::Element { bytes: array.element_bytes, slice: costs.slice_bytes });
    }
    if shifts.is_empty() {
        return Err(ShiftError::Nothing);
    }
    if let Some((index, shift)) = shifts.iter().enumerate().find(|(_, shift)| shift.axis >= extents.len()) {
        return Err(ShiftError::Axis { index, axis: shift.axis, last: extents.len() - 1 });
    }
    let slices = array.element_bytes / costs.slice_bytes;
    let size = extents.iter().try_fold(slices, |product, extent| product.checked_mul(*extent));
    size.filter(|size| *size < 1 << 53).ok_or(ShiftError::TooLarge(extents))
}

fn single(costs: &Shifts, array: &Array, size: u64, shift: Shift, results: usize) -> Times {
    let work = single_work(costs, array, size, shift, results);
    Times::of_call(costs, costs.call_startup, &work, costs.call_front_end)
}

fn single_work(costs: &Shifts, array: &Array, size: u64, shift: Shift, results: usize) -> Work {
    let transposed = exchanged_slices(array, size, shift);
    let moved = moved_slices(array, size, shift);
    Work {
        exchanges: (transposed / costs.slices_per_exchange as f64).ceil(),
        transposed,
        moved,
        stalls: moved * stalls_per_move(costs, array, size, results, Caller::Library),
    }
}

fn time(costs: &Shifts, work: &Work) -> f64 {
    work.exchanges * costs.exchange_time
        + work.transposed * costs.transposer_time
        + work.moved * costs.move_time
        + work.stalls * costs.page_stall
}

/// Slices that go from node to node, once for each exchange they take part in.
///
/// A layer that moves `q` nodes along a Gray-coded axis takes one exchange for `q = 1` and two for any larger power of
/// two (section 3). Other distances are left to the run-time library and put together from powers of two here: the paper
/// says nothing of them.
fn exchanged_slices(array: &Array, size: u64, shift: Shift) -> f64 {
    let extent = array.axes[shift.axis].extent;
    let distance = shift.distance.unsigned_abs();
    let (nodes, rest) = (distance / extent, distance % extent);
    let exchanges = |nodes: u64| f64::from(2 * nodes.count_ones()) - if nodes % 2 == 1 { 1.0 } else { 0.0 };
    let layers = (extent - rest) as f64 * exchanges(nodes) + rest as f64 * exchanges(nodes + 1);
    (size / extent) as f64 * layers
}

/// Slices that stay within a node but change their index.
fn moved_slices(array: &Array, size: u64, shift: Shift) -> f64 {
    let extent = array.axes[shift.axis].extent;
    (size / extent) as f64 * extent.saturating_sub(shift.distance.unsigned_abs()) as f64
}

#[derive(Clone, Copy)]
enum Caller {
    Planned,
    Library,
}

/// Stalls of the load and the store of a moved slice.
fn stalls_per_move(costs: &Shifts, array: &Array, size: u64, results: usize, caller: Caller) -> f64 {
    let long_row = match caller {
        _ if !has_long_rows(costs, array, size) => 0.0,
        Caller::Planned => 1.0,
        Caller::Library => 2.0,
    };
    2.0 * share_in_other_rows(size, results as u64, costs.row_slices) + long_row
}

/// Whether the subgrid has several rows, along its last axis, that are long.
fn has_long_rows(costs: &Shifts, array: &Array, size: u64) -> bool {
    let elements: u64 = array.axes.iter().map(|axis| axis.extent).product();
    let row = array.axes.last().map_or(0, |axis| axis.extent);
    row > 1 && elements > row && size / elements * row > costs.short_row_slices
}

/// The share of slices that are in another row of memory in a result than in the source, where `results` arrays of the
/// same `size` follow the source, which may begin anywhere in a row: two slices `n` apart are in different rows of `row`
/// slices for `n` of `row` beginnings, and always from `row` on.
fn share_in_other_rows(size: u64, results: u64, row: u64) -> f64 {
    let near = (row / size).min(results);
    let apart = size as f64 * (near * (near + 1)) as f64 / 2.0;
    (apart / row as f64 + (results - near) as f64) / results as f64
}
