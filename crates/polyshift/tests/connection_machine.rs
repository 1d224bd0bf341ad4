//! The model of shifts on the CM-200 against the paper's rules and against plain counting.

use proptest::prelude::*;
use weft_machine::{Shifts, find};
use weft_polyshift::connection_machine::{
    Array, Axis, Fallback, Order, Shift, ShiftError, cshifts, cshifts_work, fallbacks, pshift,
};

fn costs() -> Shifts {
    find("cm200").unwrap().shifts.unwrap()
}

fn array(extents: &[u64]) -> Array {
    let axes = extents.iter().map(|&extent| Axis { extent, order: Order::News, is_padded: false }).collect();
    Array { axes, element_bytes: 8 }
}

/// Both directions along every axis.
fn both_directions(array: &Array, distance: i64) -> Vec<Shift> {
    let axes = 0..array.axes.len();
    axes.flat_map(|axis| [Shift { axis, distance }, Shift { axis, distance: -distance }]).collect()
}

/// The node whose Gray code is nearest: how many dimensions apart two positions of an axis are.
fn apart(first: u64, second: u64) -> u32 {
    let gray = |index: u64| index ^ (index >> 1);
    (gray(first) ^ gray(second)).count_ones()
}

#[test]
fn equation_1_is_met_for_distances_within_the_subgrid() {
    let array = array(&[6, 10, 4]);
    let shifts = both_directions(&array, 2);
    let work = pshift(&costs(), &array, &shifts).unwrap().work;
    // N_sl 2 sum V / L_i (L_i - S), the same with S, and the longest of N_sl V S / (2 L_i).
    assert_eq!(work.moved, 2.0 * 2.0 * (40.0 * 4.0 + 24.0 * 8.0 + 60.0 * 2.0));
    assert_eq!(work.transposed, 2.0 * 2.0 * (40.0 + 24.0 + 60.0) * 2.0);
    assert_eq!(work.exchanges, 2.0 * 60.0 * 2.0 / 2.0);
}

#[test]
fn an_odd_number_of_slices_takes_a_whole_exchange() {
    let mut array = array(&[8]);
    array.element_bytes = 4;
    let work = pshift(&costs(), &array, &[Shift { axis: 0, distance: 3 }]).unwrap().work;
    assert_eq!((work.transposed, work.exchanges), (3.0, 2.0));
}

#[test]
fn rank_one_takes_one_exchange_whatever_the_length() {
    for length in [4, 64, 16384] {
        let array = array(&[length]);
        let planned = pshift(&costs(), &array, &both_directions(&array, 1)).unwrap();
        assert_eq!(planned.work.exchanges, 1.0);
    }
}

#[test]
fn shifts_by_powers_of_two_subgrids_move_everything_twice_and_nothing_within() {
    let array = array(&[4, 4]);
    for nodes in [2, 4, 8, 64] {
        let shift = Shift { axis: 1, distance: 4 * nodes };
        let planned = pshift(&costs(), &array, &[shift]).unwrap();
        assert_eq!(planned.fallbacks, [None]);
        assert_eq!((planned.work.moved, planned.work.transposed), (0.0, 2.0 * 16.0 * 2.0));
        let once = pshift(&costs(), &array, &[Shift { axis: 1, distance: 4 }]).unwrap();
        assert_eq!(planned.work.exchanges, 2.0 * once.work.exchanges);
    }
}

#[test]
fn the_restrictions_decide_what_falls_back() {
    let mut array = array(&[4, 4, 4]);
    array.axes[1].order = Order::Send;
    array.axes[2].is_padded = true;
    let shift = |axis, distance| Shift { axis, distance };
    let taken = fallbacks(
        &costs(),
        &array,
        &[shift(0, 9), shift(0, 12), shift(0, 8), shift(0, -16), shift(0, 1), shift(1, 1), shift(2, 1)],
    );
    assert_eq!(
        taken,
        [
            Some(Fallback::Distance),
            Some(Fallback::Distance),
            None,
            None,
            Some(Fallback::TooManyOnAxis),
            Some(Fallback::SendOrder),
            Some(Fallback::Padded),
        ]
    );
    assert!(taken.iter().flatten().all(|fallback| !fallback.reason().is_empty()));
}

#[test]
fn what_falls_back_costs_what_calls_of_cshift_cost() {
    let mut array = array(&[8, 8]);
    array.axes[0].order = Order::Send;
    array.axes[1].is_padded = true;
    let shifts = both_directions(&array, 1);
    let planned = pshift(&costs(), &array, &shifts).unwrap();
    assert_eq!(planned.times, cshifts(&costs(), &array, &shifts).unwrap());
    assert!(planned.fallbacks.iter().all(Option::is_some));
}

/// 64 x 64 and 16 x 16 x 16 have as many slices and differ in their rows; one row has no others.
#[test]
fn long_rows_of_several_stall_once_more() {
    let stalls = |extents: &[u64]| {
        let array = array(extents);
        let shifts = both_directions(&array, 1);
        let (plan, library) =
            (pshift(&costs(), &array, &shifts).unwrap().work, cshifts_work(&costs(), &array, &shifts));
        [plan, library.unwrap()].map(|work| (work.stalls / work.moved).round())
    };
    assert_eq!(stalls(&[64, 64]), [3.0, 4.0]);
    assert_eq!(stalls(&[2048, 32]), [2.0, 2.0]);
    assert_eq!(stalls(&[16, 16, 16]), [2.0, 2.0]);
    assert_eq!(stalls(&[1, 16384]), [2.0, 2.0]);
}

/// A call that the front end issues slowly keeps the nodes busy for longer than their work, never longer than it takes.
#[test]
fn a_part_of_the_wait_for_the_front_end_counts_as_busy() {
    for (extents, exchanges) in [(&[4][..], 1.0), (&[2, 2], 2.0)] {
        let array = array(extents);
        let shifts = both_directions(&array, 1);
        let with = |wait_share: f64| {
            let costs = Shifts { wait_share, ..costs() };
            [pshift(&costs, &array, &shifts).unwrap().times, cshifts(&costs, &array, &shifts).unwrap()]
        };
        let work = pshift(&costs(), &array, &shifts).unwrap().work;
        assert_eq!(work.exchanges, exchanges);
        let share = 0.2 * exchanges;
        for ((none, all), some) in with(0.0).into_iter().zip(with(1.0)).zip(with(0.2)) {
            assert!(none.cm < none.front_end);
            assert!((all.cm - none.front_end).abs() < 1e-15 && all.front_end == none.front_end);
            assert!((some.cm - ((1.0 - share) * none.cm + share * none.front_end)).abs() < 1e-15);
        }
    }
}

#[test]
fn bad_calls_are_distinguished() {
    let good = array(&[4, 4]);
    let shift = Shift { axis: 0, distance: 1 };
    let message = |array: &Array, shifts: &[Shift]| pshift(&costs(), array, shifts).unwrap_err().to_string();
    assert_eq!(message(&good, &[]), "no shifts: name at least one");
    assert_eq!(
        message(&good, &[shift, Shift { axis: 2, ..shift }]),
        "shift 1 is along axis 2; the array has axes 0 to 1"
    );
    let expected = "a subgrid has at least one axis and at least one element along each; found [4, 0]";
    assert_eq!(message(&array(&[4, 0]), &[shift]), expected);
    let odd = Array { element_bytes: 6, ..good };
    assert_eq!(message(&odd, &[shift]), "elements of 6 bytes are no whole slices of 4 bytes");
    let large = array(&[1 << 40, 1 << 40]);
    assert_eq!(cshifts(&costs(), &large, &[shift]), Err(ShiftError::TooLarge(vec![1 << 40, 1 << 40])));
}

fn subgrid() -> impl Strategy<Value = Array> {
    prop::collection::vec(1u64..9, 1..5).prop_map(|extents| array(&extents))
}

proptest! {
    /// Section 3: in NEWS order a neighbour is one link away, a node a larger power of two further is two.
    #[test]
    fn gray_code_distances(index in 0u64..1024, power in 0u32..9) {
        prop_assert_eq!(apart(index, (index + (1 << power)) % 1024), if power == 0 { 1 } else { 2 });
    }

    /// Exchanged layers by walking every layer to its node and counting links.
    #[test]
    fn exchanges_are_links_crossed(extent in 1u64..9, any in 0u64..1000) {
        let distance = any % (2 * extent + 1);
        let array = array(&[extent, 3]);
        let shift = Shift { axis: 0, distance: distance as i64 };
        let work = cshifts_work(&costs(), &array, &[shift]).unwrap();
        let links: u32 = (0..extent).map(|layer| apart(0, (layer + distance) / extent)).sum();
        prop_assert_eq!(work.transposed, f64::from(links) * 3.0 * 2.0);
    }

    /// Planning is never dearer than single calls, and both grow with the subgrid.
    #[test]
    fn planning_pays(array in subgrid(), distance in 1i64..4) {
        let shifts = both_directions(&array, distance);
        let planned = pshift(&costs(), &array, &shifts).unwrap().times;
        let single = cshifts(&costs(), &array, &shifts).unwrap();
        prop_assert!(planned.cm <= single.cm && planned.elapsed() <= single.elapsed());
        // Within the subgrid; a shift beyond it costs less once it is not.
        let shifts = both_directions(&array, 1);
        let mut longer = array.clone();
        longer.axes[0].extent *= 2;
        let times = [&array, &longer].map(|array| pshift(&costs(), array, &shifts).unwrap().times.cm);
        prop_assert!(times[0] <= times[1]);
    }

    /// At most both accesses of every move stall, and once more each in long rows.
    #[test]
    fn stalls_are_bounded(array in subgrid(), scale in 1u64..400) {
        let mut array = array;
        array.axes[0].extent *= scale;
        let shifts = both_directions(&array, 1);
        let work = pshift(&costs(), &array, &shifts).unwrap().work;
        let library = cshifts_work(&costs(), &array, &shifts).unwrap();
        prop_assert!(work.stalls >= 0.0 && work.stalls <= 3.0 * work.moved);
        let rounding = 1e-9 * (1.0 + work.stalls);
        prop_assert!(library.stalls >= work.stalls - rounding && library.stalls <= 4.0 * library.moved + rounding);
        prop_assert_eq!(work.moved, library.moved);
    }

    /// The share of stalling moves by laying the arrays out at every beginning and looking at every row.
    #[test]
    fn stalls_by_laying_arrays_out_everywhere(length in 1u64..2000) {
        let array = array(&[length]);
        let shifts = both_directions(&array, 1);
        let work = pshift(&costs(), &array, &shifts).unwrap().work;
        let (size, row) = (2 * length, costs().row_slices);
        let others = (1..=2).flat_map(|result| (0..row).map(move |first| (first, result * size + first)))
            .filter(|(source, result)| source / row != result / row).count();
        let expected = 2.0 * work.moved * others as f64 / (2 * row) as f64;
        prop_assert!((work.stalls - expected).abs() <= 1e-9 * (1.0 + expected));
    }
}
