//! Elementwise operations.

use super::*;

/// What integers come to, in wide integers.
fn expected_of_integers(operation: Pointwise, bits: u32, x: i128, y: i128) -> Option<i128> {
    use Pointwise::*;
    let beyond = !(0..i128::from(bits)).contains(&y);
    Some(match operation {
        Add => x + y,
        Subtract => x - y,
        Multiply => x.wrapping_mul(y),
        Maximum => x.max(y),
        Minimum => x.min(y),
        BitwiseAnd => x & y,
        BitwiseOr => x | y,
        BitwiseXor => x ^ y,
        BitwiseLeftShift if beyond => 0,
        BitwiseLeftShift => x << y,
        BitwiseRightShift if beyond => -i128::from(x < 0),
        BitwiseRightShift => x >> y,
        Copy => x,
        Negative => -x,
        Abs => x.abs(),
        Square => x.wrapping_mul(x),
        Sign => x.signum(),
        BitwiseInvert => !x,
        _ => return None,
    })
}

fn expected_of_floats(operation: Pointwise, x: f64, y: f64) -> Option<f64> {
    use Pointwise::*;
    Some(match operation {
        Add => x + y,
        Subtract => x - y,
        Multiply => x * y,
        Divide => x / y,
        Maximum | Minimum if x.is_nan() || y.is_nan() => f64::NAN,
        Maximum => x.max(y),
        Minimum => x.min(y),
        Copy | Floor | Ceil | Trunc | Round => x,
        Negative => -x,
        Abs => x.abs(),
        Square => x * x,
        Sign if x == 0.0 || x.is_nan() => x,
        Sign => x.signum(),
        Sqrt => x.sqrt(),
        _ => return None,
    })
}

fn expected_bool(operation: Pointwise, is_float: bool, x: Exact, y: Exact) -> Option<bool> {
    use Pointwise::*;
    let nan = [x, y].contains(&Exact::Nan);
    let order = match (x, y) {
        (Exact::Value(x), Exact::Value(y)) => Some(x.cmp(&y)),
        _ => None,
    };
    Some(match operation {
        Equal => order.is_some_and(|order| order.is_eq()),
        NotEqual => nan || order.is_some_and(|order| order.is_ne()),
        Less => order.is_some_and(|order| order.is_lt()),
        LessEqual => order.is_some_and(|order| order.is_le()),
        Greater => order.is_some_and(|order| order.is_gt()),
        GreaterEqual => order.is_some_and(|order| order.is_ge()),
        Isnan if is_float => x == Exact::Nan,
        Isinf if is_float => false,
        Isfinite if is_float => x != Exact::Nan,
        _ => return None,
    })
}

fn expected_of_bools(operation: Pointwise, x: bool, y: bool) -> Option<bool> {
    use Pointwise::*;
    Some(match operation {
        LogicalAnd | BitwiseAnd | Minimum => x && y,
        LogicalOr | BitwiseOr | Maximum => x || y,
        LogicalXor | BitwiseXor | NotEqual => x != y,
        LogicalNot | BitwiseInvert => !x,
        Equal => x == y,
        Less => !x && y,
        LessEqual => !x || y,
        Greater => x && !y,
        GreaterEqual => x || !y,
        Copy => x,
        _ => return None,
    })
}

enum Result<T> {
    Same(T),
    Bool8(bool),
}

fn expected<T: Number>(operation: Pointwise, one: T, other: T) -> Option<Result<T>> {
    let (x, y) = (exact(one), exact(other));
    if T::TYPE == ElementType::Bool {
        let result = expected_of_bools(operation, one.bits() == 1, other.bits() == 1)?;
        return Some(Result::Bool8(result));
    }
    if let Some(flag) = expected_bool(operation, T::TYPE.is_float(), x, y) {
        return Some(Result::Bool8(flag));
    }
    if T::TYPE.is_float() {
        let number = |x| if let Exact::Value(x) = x { x as f64 } else { f64::NAN };
        let result = expected_of_floats(operation, number(x), number(y))?;
        return Some(Result::Same(T::nearest(result)));
    }
    let (Exact::Value(x), Exact::Value(y)) = (x, y) else { return None };
    expected_of_integers(operation, 8 * T::TYPE.size() as u32, x, y)
        .map(|result| Result::Same(T::of(Exact::Value(result))))
}

/// -0 and 0 are the same here: which one comes out is not promised.
fn bits<T: Number>(value: T) -> u64 {
    if T::TYPE.is_float() && exact(value) == Exact::Value(0) && value.bits() != 0 {
        let Scalar::Float(number) = value.scalar() else { return value.bits() };
        if number == 0.0 { 0 } else { value.bits() }
    } else {
        value.bits()
    }
}

fn check<T: Number>(case: &Case, operation: Pointwise, one_is_single: bool) {
    if operation.has_domain() && T::TYPE.is_float() {
        return; // `operations_with_domains`
    }
    let length = case.length();
    let x = numbers::<T>(&values(case.seed, length, true));
    let y = numbers::<T>(&values(case.seed ^ 0x1234, if one_is_single { 1 } else { length }, true));
    let other = |i: usize| y[if one_is_single { 0 } else { i }];
    let selection = case.selection();
    let selected = |i: usize| selection.as_ref().is_none_or(|mask_bytes| mask_bytes[i].holds());
    let view_of_selection = selection.as_ref().map(|mask_bytes| view(mask_bytes));
    let operands = [view(&x), view(&y)];
    let operands = &operands[..operation.operands()];
    let run = |operands: &[View], out: View| {
        // SAFETY: the views are of arrays that are there.
        with_streaming(case.streaming, || unsafe {
            elementwise(operation, operands, out, view_of_selection.as_ref(), Some(case.threads))
        })
    };
    let flag =
        matches!(expected::<T>(operation, T::of(Exact::Value(1)), T::of(Exact::Value(1))), Some(Result::Bool8(_)));
    if expected::<T>(operation, T::of(Exact::Value(1)), T::of(Exact::Value(1))).is_none() {
        let done = run(operands, view_mut(&mut x.clone()));
        assert!(matches!(done, Err(PrimitiveError::Undefined { .. })), "{operation:?} of {}: {done:?}", T::TYPE);
    } else if flag && T::TYPE != ElementType::Bool {
        let mut out = mask_bytes(!case.seed, length, 8);
        let old = out.clone();
        assert_eq!(run(operands, view_mut(&mut out)), Ok(true));
        for i in 0..length {
            let wanted = match expected(operation, x[i], other(i)) {
                Some(Result::Bool8(flag)) if selected(i) => flag,
                _ => old[i].holds(),
            };
            assert_eq!(out[i].holds(), wanted, "{operation:?} of {:?} and {:?}", x[i], other(i));
        }
    } else {
        let old = if case.in_place { x.clone() } else { numbers::<T>(&values(!case.seed, length, false)) };
        let mut out = old.clone();
        let target = view_mut(&mut out);
        let same = [target, view(&y)];
        let operands = if case.in_place { &same[..operation.operands()] } else { operands };
        assert_eq!(run(operands, target), Ok(true));
        for i in 0..length {
            let wanted = match expected(operation, x[i], other(i)) {
                Some(Result::Same(value)) if selected(i) => value,
                Some(Result::Bool8(value)) if selected(i) => T::of(Exact::Value(value.into())),
                _ => old[i],
            };
            let (actual, x, y) = (out[i], x[i], other(i));
            assert_eq!(bits(actual), bits(wanted), "{operation:?} of {x:?} and {y:?}: {actual:?}, expected {wanted:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn elementwise_operations(case in cases(), operation in 0..Pointwise::NAMES.len(), single in any::<bool>()) {
        let operation = Pointwise::NAMES[operation].0;
        for_type!(case.kind, check(&case, operation, single));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn one_number_for_all(case in cases()) {
        for_type!(case.kind, check_one_number(&case));
    }
}

fn check_one_number<T: Number>(case: &Case) {
    let x = numbers::<T>(&values(case.seed, 1, true));
    let old = numbers::<T>(&values(!case.seed, case.length(), false));
    let (mut out, selection) = (old.clone(), case.selection());
    let view_of_selection = selection.as_ref().map(|mask_bytes| view(mask_bytes));
    // SAFETY: the views are of arrays that are there.
    let done = with_streaming(case.streaming, || unsafe {
        let target = view_mut(&mut out);
        elementwise(Pointwise::Copy, &[view(&x)], target, view_of_selection.as_ref(), Some(case.threads))
    });
    assert_eq!(done, Ok(true));
    for (i, (actual, old)) in out.iter().zip(&old).enumerate() {
        let selected = selection.as_ref().is_none_or(|mask_bytes| mask_bytes[i].holds());
        assert_eq!(actual.bits(), if selected { x[0].bits() } else { old.bits() }, "place {i}");
    }
}

#[test]
fn names_are_those_of_the_operations() {
    for (operation, name) in Pointwise::NAMES {
        assert_eq!((operation.name(), Pointwise::parse(name)), (name, Ok(operation)));
    }
    for combination in Combination::ALL {
        assert_eq!(Combination::parse(combination.name(), &[]), Ok(combination));
    }
}
