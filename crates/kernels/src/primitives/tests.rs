//! Primitives against a few lines of wide integers, under random shapes, selections, segments and collisions.

use proptest::prelude::*;

use super::element::{Bool8, Element, for_type};
use super::lines::with_streaming;
use super::*;

/// A value of the reference: exact in every type that it is tried with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Exact {
    Value(i128),
    Nan,
}

trait Number: Element {
    fn of(value: Exact) -> Self;
    /// The nearest to a number.
    fn nearest(value: f64) -> Self;
    /// Bits, of all NaN the same.
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Number for $type {
            fn of(value: Exact) -> Self {
                if let Exact::Value(value) = value { value as $type } else { 0 }
            }
            fn nearest(value: f64) -> Self { value as $type }
            fn bits(self) -> u64 { self as u64 }
        }
    )*};
}
integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($type:ident)*) => {$(
        impl Number for $type {
            fn of(value: Exact) -> Self {
                if let Exact::Value(value) = value { value as $type } else { $type::NAN }
            }
            fn nearest(value: f64) -> Self { value as $type }
            fn bits(self) -> u64 { if self.is_nan() { u64::MAX } else { self.to_bits().into() } }
        }
    )*};
}
floats! { f32 f64 }

impl Number for Bool8 {
    fn of(value: Exact) -> Self {
        Bool8::new(matches!(value, Exact::Value(value) if value % 2 != 0))
    }
    fn nearest(value: f64) -> Self {
        Bool8::new(value != 0.0)
    }
    fn bits(self) -> u64 {
        self.holds().into()
    }
}

fn view<T: Element>(values: &[T]) -> View {
    View { kind: T::TYPE, pointer: values.as_ptr().cast_mut().cast(), length: values.len() }
}

fn view_mut<T: Element>(values: &mut [T]) -> View {
    View { kind: T::TYPE, pointer: values.as_mut_ptr().cast(), length: values.len() }
}

/// Numbers that look random.
fn noise(seed: u64, i: usize) -> u64 {
    let mixed = (seed ^ i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 20
}

/// Small numbers and, if asked for, some NaN.
fn values(seed: u64, length: usize, nan: bool) -> Vec<Exact> {
    let value = |i| match noise(seed, i) % 97 {
        96 if nan => Exact::Nan,
        other => Exact::Value(other as i128 - 40),
    };
    (0..length).map(value).collect()
}

fn numbers<T: Number>(values: &[Exact]) -> Vec<T> {
    values.iter().map(|&value| T::of(value)).collect()
}

/// About so many of 16 are true; true is not always 1.
fn mask_bytes(seed: u64, length: usize, density: u64) -> Vec<Bool8> {
    (0..length)
        .map(|i| {
            let number = noise(seed ^ 0xABCD, i);
            let byte = if number % 16 < density { 1 + (number >> 8) as u8 % 3 } else { 0 };
            // SAFETY: any byte is a Bool8.
            unsafe { std::mem::transmute::<u8, Bool8>(byte) }
        })
        .collect()
}

/// What the combination comes to, of what was selected: None for nothing.
fn combined<T: Number>(combination: Combination, one: Option<T>, value: T) -> T {
    let Some(one) = one else { return value };
    let is_negative = |number: T| matches!(number.scalar(), Scalar::Float(number) if number.is_sign_negative());
    match (combination, T::TYPE) {
        // Whole numbers have no zero of that sign.
        (Combination::Multiply, kind) if kind.is_float() && is_zero(exact(one), exact(value)) => {
            T::nearest(if is_negative(one) == is_negative(value) { 0.0 } else { -0.0 })
        }
        (Combination::Max, _) => one.larger(value),
        (Combination::Min, _) => one.smaller(value),
        _ => {
            let (x, y) = (exact(one), exact(value));
            T::of(match (combination, x, y) {
                (_, Exact::Nan, _) | (_, _, Exact::Nan) => Exact::Nan,
                (Combination::Add, Exact::Value(x), Exact::Value(y)) => Exact::Value(x + y),
                (Combination::Multiply, Exact::Value(x), Exact::Value(y)) => Exact::Value(x.wrapping_mul(y)),
                (Combination::LogAnd | Combination::And, Exact::Value(x), Exact::Value(y)) => Exact::Value(x & y),
                (Combination::LogIor | Combination::Or, Exact::Value(x), Exact::Value(y)) => Exact::Value(x | y),
                (_, Exact::Value(x), Exact::Value(y)) => Exact::Value(x ^ y),
            })
        }
    }
}

/// Whether a product is.
fn is_zero(one: Exact, value: Exact) -> bool {
    matches!((one, value), (Exact::Value(0), Exact::Value(_)) | (Exact::Value(_), Exact::Value(0)))
}

fn exact<T: Element>(value: T) -> Exact {
    match value.scalar() {
        Scalar::Bool(value) => Exact::Value(value.into()),
        Scalar::Int(value) => Exact::Value(value.into()),
        Scalar::Uint(value) => Exact::Value(value.into()),
        Scalar::Float(value) if value.is_nan() => Exact::Nan,
        Scalar::Float(value) => Exact::Value(value as i128),
    }
}

/// What an exclusive scan begins with.
fn nothing<T: Number>(combination: Combination) -> T {
    match combination {
        Combination::Max => T::SMALLEST,
        Combination::Min => T::LARGEST,
        Combination::LogAnd | Combination::And => T::of(Exact::Value(-1)),
        Combination::Multiply => T::of(Exact::Value(1)),
        _ => T::of(Exact::Value(0)),
    }
}

fn defined(kind: ElementType, combination: Combination) -> bool {
    match combination {
        Combination::Max | Combination::Min => true,
        Combination::Add | Combination::Multiply => kind != ElementType::Bool,
        Combination::And | Combination::Or => kind == ElementType::Bool,
        _ => !kind.is_float(),
    }
}

fn assert_same<T: Number>(actual: &[T], expected: &[T]) {
    for (i, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        assert_eq!(actual.bits(), expected.bits(), "element {i}: {actual:?}, expected {expected:?}");
    }
}

#[derive(Clone, Debug)]
struct Case {
    kind: ElementType,
    combination: Combination,
    shape: Vec<usize>,
    axis: usize,
    /// Of 16; 0 for segments none are given.
    selected: Option<u64>,
    segments: Option<u64>,
    order: Order,
    threads: usize,
    streaming: bool,
    in_place: bool,
    seed: u64,
}

impl Case {
    fn length(&self) -> usize {
        self.shape.iter().product()
    }

    fn selection(&self) -> Option<Vec<Bool8>> {
        self.selected.map(|density| mask_bytes(self.seed, self.length(), density))
    }

    /// NaN has no sum that could be compared; products of floats are of 1 and -1, since others would be rounded.
    fn values(&self) -> Vec<Exact> {
        if self.combination == Combination::Multiply && self.kind.is_float() {
            let sign = |i| Exact::Value(if noise(self.seed, i).is_multiple_of(3) { -1 } else { 1 });
            return (0..self.length()).map(sign).collect();
        }
        values(self.seed, self.length(), !matches!(self.combination, Combination::Add | Combination::Multiply))
    }
}

fn shapes() -> impl Strategy<Value = (Vec<usize>, usize)> {
    let shape = prop_oneof![
        3 => prop::collection::vec(0_usize..12, 1..5),
        2 => prop::collection::vec(1_usize..9, 1..3).prop_flat_map(|outer| {
            (1_usize..700).prop_map(move |last| [outer.clone(), vec![last]].concat())
        }),
        2 => (1_usize..150, 1_usize..50, 1_usize..10).prop_map(|(planes, extent, after)| vec![planes, extent, after]),
        1 => (1_usize..40_000).prop_map(|length| vec![length]),
        1 => (1_usize..6, 1000_usize..2500).prop_map(|(first, last)| vec![first, last]),
    ];
    shape.prop_flat_map(|shape| {
        let rank = shape.len();
        (Just(shape), 0..rank)
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let density = || prop::option::of(prop::sample::select(vec![0_u64, 1, 8, 15, 16]));
    (
        prop::sample::select(ElementType::ALL.to_vec()),
        prop::sample::select(Combination::ALL.to_vec()),
        shapes(),
        (density(), density()),
        (any::<bool>(), any::<bool>()),
        (1_usize..4, any::<bool>(), any::<bool>()),
        any::<u64>(),
    )
        .prop_map(|(kind, combination, (shape, axis), (selected, segments), (downward, exclusive), run, seed)| {
            let (threads, streaming, in_place) = run;
            let order = Order { downward, exclusive };
            Case { kind, combination, shape, axis, selected, segments, order, threads, streaming, in_place, seed }
        })
}

fn check_reduce<T: Number>(case: &Case) {
    let x = numbers::<T>(&case.values());
    let selection = case.selection();
    let selected = |i: usize| selection.as_ref().is_none_or(|mask_bytes| mask_bytes[i].holds());
    let selection = selection.as_ref().map(|mask_bytes| view(mask_bytes));
    // SAFETY: the views are of arrays that are there.
    let actual = unsafe { reduce(view(&x), case.combination, selection.as_ref(), Some(case.threads)) };
    let chosen = (0..x.len()).filter(|&i| selected(i)).map(|i| x[i]);
    let multiplies = case.combination == Combination::Multiply && T::TYPE != ElementType::Bool;
    if case.combination == Combination::Add || multiplies {
        let numbers = chosen.map(|x| if let Exact::Value(x) = exact(x) { x } else { 0 });
        let total = if multiplies { numbers.fold(1_i128, i128::wrapping_mul) } else { numbers.sum() };
        let expected = match T::TYPE {
            kind if kind.is_float() => Scalar::Float(total as f64),
            kind if kind.name().starts_with('u') => Scalar::Uint(total as u64),
            _ => Scalar::Int(total as i64),
        };
        assert_eq!(actual, Ok(Some(expected)));
        return;
    }
    let expected = chosen.fold(None, |so_far, x| Some(combined(case.combination, so_far, x)));
    if !defined(case.kind, case.combination) {
        assert!(matches!(actual, Err(PrimitiveError::Undefined { .. })), "{actual:?}");
    } else if expected.is_none() && matches!(case.combination, Combination::Max | Combination::Min) {
        assert_eq!(actual, Ok(None));
    } else {
        let expected = expected.unwrap_or(nothing::<T>(case.combination));
        let actual = actual.expect("defined").expect("something");
        let same = format!("{actual:?}") == format!("{:?}", expected.scalar());
        assert!(same, "{actual:?}, expected {expected:?}");
    }
}

/// Each line by itself is what `reduce` says, and of nothing what changes nothing.
fn check_reduce_axis<T: Number>(case: &Case) {
    let x = numbers::<T>(&case.values());
    let axis = Axis::of(&case.shape, case.axis).expect("the axis is there");
    let selection = case.selection();
    let selected = |i: usize| selection.as_ref().is_none_or(|mask_bytes| mask_bytes[i].holds());
    let extreme = matches!(case.combination, Combination::Max | Combination::Min);
    let arithmetic = matches!(case.combination, Combination::Add | Combination::Multiply);
    let of_bool = T::TYPE == ElementType::Bool;
    let longest = if T::TYPE.name().starts_with('u') { ElementType::Uint64 } else { ElementType::Int64 };
    let widens = arithmetic && !T::TYPE.is_float() && (case.combination == Combination::Add || !of_bool);
    let kind = if widens { longest } else { T::TYPE };
    let (mut expected, mut empty) = (vec![Exact::Nan; x.len()], 0);
    for line in 0..axis.before * axis.after {
        let at = |index| (line / axis.after * axis.extent + index) * axis.after + line % axis.after;
        let chosen: Vec<T> = (0..axis.extent).map(at).filter(|&i| selected(i)).map(|i| x[i]).collect();
        let total = if arithmetic {
            let numbers = chosen.iter().map(|&x| if let Exact::Value(x) = exact(x) { x } else { 0 });
            Exact::Value(if case.combination == Combination::Add {
                numbers.sum()
            } else {
                numbers.fold(1_i128, i128::wrapping_mul)
            })
        } else {
            empty += usize::from(extreme && axis.extent > 0 && chosen.is_empty());
            let total = chosen.iter().fold(None, |so_far, &x| Some(combined(case.combination, so_far, x)));
            exact(total.unwrap_or(nothing::<T>(case.combination)))
        };
        for index in 0..axis.extent {
            expected[at(index)] = total;
        }
    }
    let selection = selection.as_ref().map(|mask_bytes| view(mask_bytes));
    let mut out = vec![0_u64; x.len()];
    let target = View { kind, pointer: out.as_mut_ptr().cast(), length: x.len() };
    // SAFETY: the views are of arrays that are there; the output's elements are at most as long as what holds them.
    let done = with_streaming(case.streaming, || unsafe {
        reduce_axis(view(&x), target, case.combination, axis, selection.as_ref(), Some(case.threads))
    });
    let counts = of_bool && case.combination == Combination::Add;
    if !defined(case.kind, case.combination) && !counts {
        assert!(matches!(done, Err(PrimitiveError::Undefined { .. })), "{done:?}");
        return;
    }
    assert_eq!(done, Ok(empty));
    // SAFETY: the output holds as many elements of this type.
    unsafe {
        match kind {
            ElementType::Int64 if widens => assert_same(target.slice::<i64>(), &numbers::<i64>(&expected)),
            ElementType::Uint64 if widens => assert_same(target.slice::<u64>(), &numbers::<u64>(&expected)),
            _ => {
                let infinite = |i: usize| extreme && empty > 0 && T::TYPE.is_float() && is_nothing(&expected[i], case);
                let actual = target.slice::<T>();
                let expected: Vec<T> = (0..x.len())
                    .map(|i| if infinite(i) { nothing::<T>(case.combination) } else { T::of(expected[i]) })
                    .collect();
                assert_same(actual, &expected);
            }
        }
    }
}

/// Whether it is what the wide integer of the reference makes of an infinity.
fn is_nothing(value: &Exact, case: &Case) -> bool {
    let of = |value: f64| Exact::Value(value as i128);
    *value == of(if case.combination == Combination::Max { f64::NEG_INFINITY } else { f64::INFINITY })
}

fn check_scan<T: Number>(case: &Case, copy: bool) {
    let mut x = numbers::<T>(&case.values());
    let mut out = numbers::<T>(&values(!case.seed, x.len(), false));
    let axis = Axis::of(&case.shape, case.axis).expect("the axis is there");
    let selection = case.selection();
    let segments = case.segments.map(|density| mask_bytes(case.seed ^ 0x5555, x.len(), density));
    let what = if copy { Scan::Copy } else { Scan::Combine(case.combination) };
    let order = Order { exclusive: case.order.exclusive && !copy, ..case.order };
    let mut expected = if case.in_place { x.clone() } else { out.clone() };
    for line in 0..axis.before * axis.after {
        let mut state: Option<T> = None;
        for step in 0..axis.extent {
            let index = if order.downward { axis.extent - 1 - step } else { step };
            let i = (line / axis.after * axis.extent + index) * axis.after + line % axis.after;
            let begins = segments.as_ref().is_some_and(|flags| flags[i].holds());
            if begins && !order.downward {
                state = None;
            }
            if selection.as_ref().is_none_or(|mask_bytes| mask_bytes[i].holds()) {
                let before = state;
                let value = x[i];
                state = Some(if copy { before.unwrap_or(value) } else { combined(case.combination, before, value) });
                let shown = if order.exclusive { before } else { state };
                expected[i] = shown.unwrap_or(nothing::<T>(case.combination));
            }
            if begins && order.downward {
                state = None;
            }
        }
    }
    let (selection, segments) =
        (selection.as_ref().map(|mask_bytes| view(mask_bytes)), segments.as_ref().map(|flags| view(flags)));
    let (from, to) = if case.in_place {
        let both = view_mut(&mut x);
        (both, both)
    } else {
        (view(&x), view_mut(&mut out))
    };
    // SAFETY: the views are of arrays that are there.
    let done = with_streaming(case.streaming, || unsafe {
        scan(from, to, what, axis, segments.as_ref(), selection.as_ref(), order, Some(case.threads))
    });
    if copy || defined(case.kind, case.combination) {
        assert_eq!(done, Ok(()));
        assert_same(if case.in_place { &x } else { &out }, &expected);
    } else {
        assert!(matches!(done, Err(PrimitiveError::Undefined { .. })), "{done:?}");
    }
}

fn check_spread<T: Number>(case: &Case) {
    let x = numbers::<T>(&case.values());
    let mut out = numbers::<T>(&values(!case.seed, x.len(), false));
    let axis = Axis::of(&case.shape, case.axis).expect("the axis is there");
    let index = (case.seed % 13) as usize;
    let selection = case.selection();
    let mut expected = out.clone();
    for (i, expected) in expected.iter_mut().enumerate() {
        let (outer, inner) = (i / (axis.after * axis.extent), i % axis.after);
        if index < axis.extent && selection.as_ref().is_none_or(|mask_bytes| mask_bytes[i].holds()) {
            *expected = x[(outer * axis.extent + index) * axis.after + inner];
        }
    }
    let selection = selection.as_ref().map(|mask_bytes| view(mask_bytes));
    // SAFETY: the views are of arrays that are there.
    let done = with_streaming(case.streaming, || unsafe {
        spread(view(&x), view_mut(&mut out), axis, index, selection.as_ref(), Some(case.threads))
    });
    if index < axis.extent {
        assert_eq!(done, Ok(()));
    } else {
        let last = axis.extent as isize - 1;
        assert_eq!(done, Err(PrimitiveError::Range { what: "index", value: index, last }));
    }
    assert_same(&out, &expected);
}

/// Indices below `extent`, or one that is not.
fn indices(seed: u64, length: usize, extent: usize, mistake: bool) -> Vec<i64> {
    let mut indices: Vec<i64> = (0..length).map(|i| (noise(seed ^ 0x77, i) % extent.max(1) as u64) as i64).collect();
    if mistake && length > 0 {
        indices[seed as usize % length] = if seed.is_multiple_of(2) { -1 } else { extent as i64 };
    }
    indices
}

fn check_gather<T: Number>(case: &Case, extent: usize, mistake: bool, narrow: bool) {
    let x = numbers::<T>(&values(case.seed, extent, true));
    let index = indices(case.seed, case.length(), extent, mistake || extent == 0);
    let mut out = numbers::<T>(&values(!case.seed, index.len(), false));
    let selection = case.selection();
    let selected = |i: usize| selection.as_ref().is_none_or(|mask_bytes| mask_bytes[i].holds());
    let wrong = (0..index.len()).find(|&i| selected(i) && !(0..extent as i64).contains(&index[i]));
    let mut expected = out.clone();
    for i in 0..index.len() {
        if wrong.is_none() && selected(i) {
            expected[i] = x[index[i] as usize];
        }
    }
    let selection = selection.as_ref().map(|mask_bytes| view(mask_bytes));
    let small: Vec<i32> = index.iter().map(|&index| index as i32).collect();
    let indices = if narrow { view(&small) } else { view(&index) };
    let before = out.clone();
    for on_error in [OnError::Keep, OnError::Clobber] {
        out.copy_from_slice(&before);
        // SAFETY: the views are of arrays that are there.
        let done = with_streaming(case.streaming, || unsafe {
            gather(view(&x), indices, view_mut(&mut out), selection.as_ref(), on_error, Some(case.threads))
        });
        match wrong {
            None => assert_eq!(done, Ok(())),
            Some(element) => {
                let index = index[element];
                assert_eq!(done, Err(PrimitiveError::Index { index, element, array: "source", extent }));
            }
        }
        if wrong.is_none() || on_error == OnError::Keep {
            assert_same(&out, &expected);
        }
    }
}

fn check_send<T: Number>(case: &Case, extent: usize, collisions: Collisions, mistake: bool, narrow: bool) {
    let mut x = numbers::<T>(&case.values());
    // One element for all senders, now and then.
    let length = if case.seed % 4 == 1 && !x.is_empty() { 1 } else { x.len() };
    if length == 1 {
        let first = x[0];
        x.fill(first);
    }
    let index = indices(case.seed, x.len(), extent, mistake || extent == 0);
    let mut out = numbers::<T>(&values(!case.seed, extent, false));
    let selection = case.selection();
    let senders: Vec<usize> =
        (0..x.len()).filter(|&i| selection.as_ref().is_none_or(|mask_bytes| mask_bytes[i].holds())).collect();
    let wrong = senders.iter().copied().find(|&i| !(0..extent as i64).contains(&index[i]));
    let mut expected = out.clone();
    let mut from = vec![Vec::new(); extent];
    if wrong.is_none() {
        for &sender in &senders {
            let destination = index[sender] as usize;
            from[destination].push(sender);
            let to = &mut expected[destination];
            *to = match collisions {
                Collisions::Combine(combination) => combined(combination, Some(*to), x[sender]),
                _ => x[sender],
            };
        }
    }
    let collision = match collisions {
        Collisions::Refuse => from.iter().position(|senders| senders.len() > 1),
        _ => None,
    };
    let selection = selection.as_ref().map(|mask_bytes| view(mask_bytes));
    let small: Vec<i32> = index.iter().map(|&index| index as i32).collect();
    let indices = if narrow { view(&small) } else { view(&index) };
    let before = out.clone();
    // None, too little, or enough, beginning anywhere in a line.
    let bytes = send_workspace_bytes(T::TYPE, x.len(), extent, Some(case.threads));
    let mut workspace = vec![0xA5_u8; bytes + 64];
    let begin = case.seed as usize % 61;
    let mut workspace = view_mut(&mut workspace[begin..begin + if narrow { bytes } else { bytes / 2 }]);
    workspace.kind = ElementType::Uint8;
    let workspace = (!case.seed.is_multiple_of(3)).then_some(&workspace);
    let on_error = if case.seed % 5 < 2 { OnError::Clobber } else { OnError::Keep };
    // SAFETY: the views are of arrays that are there.
    let done = with_streaming(case.streaming, || unsafe {
        let (x, out, selection) = (view(&x[..length]), view_mut(&mut out), selection.as_ref());
        send(x, indices, out, collisions, selection, workspace, on_error, Some(case.threads))
    });
    if let Collisions::Combine(combination) = collisions
        && !defined(case.kind, combination)
    {
        assert!(matches!(done, Err(PrimitiveError::Undefined { .. })), "{done:?}");
        assert_same(&out, &before);
    } else if let Some(element) = wrong {
        let index = index[element];
        assert_eq!(done, Err(PrimitiveError::Index { index, element, array: "destination", extent }));
        if on_error == OnError::Keep {
            assert_same(&out, &before);
        }
    } else if let Some(destination) = collision {
        let (first, second) = (from[destination][0], from[destination][1]);
        assert_eq!(done, Err(PrimitiveError::Collision { first, second, destination }));
        if on_error == OnError::Keep {
            assert_same(&out, &before);
        }
    } else {
        assert_eq!(done, Ok(()));
        assert_same(&out, &expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reductions(case in cases()) {
        for_type!(case.kind, check_reduce(&case));
    }

    #[test]
    fn reductions_along_an_axis(case in cases()) {
        for_type!(case.kind, check_reduce_axis(&case));
    }

    #[test]
    fn scans(case in cases(), copy in prop::bool::weighted(0.2)) {
        for_type!(case.kind, check_scan(&case, copy));
    }

    #[test]
    fn spreads(case in cases()) {
        for_type!(case.kind, check_spread(&case));
    }

    #[test]
    fn gets(case in cases(), extent in 0_usize..3000, mistake in prop::bool::weighted(0.1), narrow in any::<bool>()) {
        for_type!(case.kind, check_gather(&case, extent, mistake, narrow));
    }

    #[test]
    fn sends(
        case in cases(),
        extent in prop_oneof![0_usize..40, 0_usize..5000, 60_000_usize..200_000],
        collisions in 0_usize..4,
        mistake in prop::bool::weighted(0.1),
        narrow in any::<bool>(),
    ) {
        let collisions = match collisions {
            0 => Collisions::Overwrite,
            1 => Collisions::Refuse,
            _ => Collisions::Combine(case.combination),
        };
        for_type!(case.kind, check_send(&case, extent, collisions, mistake, narrow));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Sums of numbers that rounding changes.
    #[test]
    fn threads_change_no_bit(
        length in 1_usize..50_000,
        downward in any::<bool>(),
        destinations in 1_usize..20_000,
        seed in any::<u64>(),
    ) {
        let x: Vec<f64> = (0..length).map(|i| noise(seed, i) as f64 * 1e-9 - 3.1).collect();
        let index = indices(seed, length, destinations, false);
        let results = [1, 2, 3].map(|threads| {
            let (mut scanned, mut sent) = (vec![0.0; length], vec![0.0; destinations]);
            let axis = Axis::of(&[length], 0).expect("the axis is there");
            let order = Order { downward, exclusive: false };
            // SAFETY: the views are of arrays that are there.
            let sum = unsafe {
                let add = Scan::Combine(Combination::Add);
                scan(view(&x), view_mut(&mut scanned), add, axis, None, None, order, Some(threads)).expect("fits");
                let add = Collisions::Combine(Combination::Add);
                send(view(&x), view(&index), view_mut(&mut sent), add, None, None, OnError::Keep, Some(threads)).expect("fits");
                reduce(view(&x), Combination::Add, None, Some(threads)).expect("fits")
            };
            let Some(Scalar::Float(sum)) = sum else { panic!("a sum of float64 is one") };
            [vec![sum], scanned, sent].concat().into_iter().map(f64::to_bits).collect::<Vec<u64>>()
        });
        prop_assert_eq!(&results[0], &results[1]);
        prop_assert_eq!(&results[0], &results[2]);
        // A send adds as if the senders came one after another.
        let mut one_by_one = vec![0.0; destinations];
        index.iter().zip(&x).for_each(|(&index, x)| one_by_one[index as usize] += x);
        let sent = &results[0][1 + length..];
        prop_assert!(one_by_one.iter().zip(sent).all(|(one, &other): (&f64, _)| one.to_bits() == other));
        // Rounding errors only.
        let (mut exact, mut size) = (0.0, 0.0);
        for step in 0..length {
            let i = if downward { length - 1 - step } else { step };
            exact += x[i];
            size += x[i].abs();
            let actual = f64::from_bits(results[0][1 + i]);
            prop_assert!((actual - exact).abs() <= 1e-12 * size, "{i}: {actual}, expected {exact}");
        }
    }
}

/// Scans in blocks of full cells, by non-temporal stores and otherwise, beginning anywhere in a line.
fn scanned<T: Number>(x: &[T], flags: Option<&[Bool8]>, what: Scan, order: Order, streaming: bool) -> Vec<u64> {
    let begin = x.len() % 7;
    let mut out = numbers::<T>(&values(3, begin + x.len(), false));
    let axis = Axis::of(&[x.len()], 0).expect("the axis is there");
    let flags = flags.map(view);
    // SAFETY: the views are of arrays that are there.
    with_streaming(streaming, || unsafe {
        scan(view(x), view_mut(&mut out[begin..]), what, axis, flags.as_ref(), None, order, Some(2)).expect("defined");
    });
    out.into_iter().map(T::bits).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The way a scan takes depends on how large the arrays are, its results do not, of sums that are rounded neither.
    #[test]
    fn ways_of_scans_change_no_bit(
        length in 1_usize..40_000,
        density in prop::option::of(prop::sample::select(vec![0_u64, 1, 3, 16])),
        combination in prop::sample::select(vec![Combination::Add, Combination::Max, Combination::Min]),
        (downward, exclusive, whole) in (any::<bool>(), any::<bool>(), any::<bool>()),
        seed in any::<u64>(),
    ) {
        let order = Order { downward, exclusive };
        let flags = density.map(|density| mask_bytes(seed ^ 0x33, length, density));
        // Few of them: a whole cell may have none.
        let flags = flags.map(|flags| flags.iter().enumerate().map(|(i, &flag)| {
            if noise(seed, i).is_multiple_of(if whole { 1 } else { 50 }) { flag } else { Bool8::new(false) }
        }).collect::<Vec<Bool8>>());
        let flags = flags.as_deref();
        let what = Scan::Combine(combination);
        let rounded: Vec<f64> = (0..length).map(|i| noise(seed, i) as f64 * 1e-9 - 3.1).collect();
        prop_assert_eq!(
            scanned(&rounded, flags, what, order, true), scanned(&rounded, flags, what, order, false));
        let whole: Vec<i64> = (0..length).map(|i| noise(seed, i) as i64).collect();
        prop_assert_eq!(scanned(&whole, flags, what, order, true), scanned(&whole, flags, what, order, false));
    }
}

mod addresses;
mod choices;
mod columns;
mod domains;
mod elementwise_operations;
mod lengths;
mod races;
mod ranks;
mod spreads;
mod strategies_of_sends;
