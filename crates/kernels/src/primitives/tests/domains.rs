//! Operations that are not of all numbers, against the standard library's.

use super::*;

const OF_BOTH: [Pointwise; 3] = [Pointwise::FloorDivide, Pointwise::Remainder, Pointwise::Hypot];

/// Python's remainder and quotient, from the exact remainder towards zero.
fn divided(x: f64, y: f64) -> (f64, f64) {
    let left = x % y;
    let beyond = left != 0.0 && (left < 0.0) != (y < 0.0);
    let quotient = ((x - left) / y).round() - f64::from(u8::from(beyond));
    (quotient, if beyond { left + y } else { left })
}

fn expected(operation: Pointwise, x: f64, y: f64) -> f64 {
    match operation {
        Pointwise::FloorDivide => divided(x, y).0,
        Pointwise::Remainder => divided(x, y).1,
        Pointwise::Hypot => x.hypot(y),
        Pointwise::Sin => x.sin(),
        _ => x.cos(),
    }
}

/// A number of either sign between 2^-10 and 2^10.
fn number(seed: u64, i: usize) -> f64 {
    let bits = noise(seed, i);
    let fraction = 1.0 + (bits % 100_003) as f64 / 100_003.0;
    let scale = 2f64.powi((bits >> 17) as i32 % 20 - 10);
    if bits & 1 == 0 { fraction * scale } else { -fraction * scale }
}

trait Rounded: Number {
    fn value(self) -> f64;
    /// What the last place of a number is worth.
    fn unit(value: f64) -> f64;
}

impl Rounded for f64 {
    fn value(self) -> f64 {
        self
    }
    fn unit(value: f64) -> f64 {
        let magnitude = value.abs().max(f64::MIN_POSITIVE);
        f64::from_bits(magnitude.to_bits() + 1) - magnitude
    }
}

impl Rounded for f32 {
    fn value(self) -> f64 {
        self.into()
    }
    fn unit(value: f64) -> f64 {
        let magnitude = (value as f32).abs().max(f32::MIN_POSITIVE);
        (f32::from_bits(magnitude.to_bits() + 1) - magnitude).into()
    }
}

fn check<T: Rounded>(case: &Case, operation: Pointwise, single: bool) {
    let length = case.length();
    let operand = |seed, length| (0..length).map(|i| T::nearest(number(seed, i))).collect::<Vec<T>>();
    let (x, y) = (operand(case.seed, length), operand(!case.seed, if single { 1 } else { length }));
    let selection = case.selection();
    let mask = selection.as_ref().map(|mask_bytes| view(mask_bytes));
    let old = operand(case.seed ^ 7, length);
    let mut out = old.clone();
    let operands = [view(&x), view(&y)];
    // SAFETY: the views are of arrays that are there.
    let done = with_streaming(case.streaming, || unsafe {
        let operands = &operands[..operation.operands()];
        elementwise(operation, operands, view_mut(&mut out), mask.as_ref(), Some(case.threads))
    });
    assert_eq!(done, Ok(true));
    for i in 0..length {
        if selection.as_ref().is_some_and(|mask_bytes| !mask_bytes[i].holds()) {
            assert_eq!(out[i].bits(), old[i].bits());
            continue;
        }
        let (x, y) = (x[i].value(), y[if single { 0 } else { i }].value());
        let wanted = expected(operation, x, y);
        let error = (out[i].value() - wanted).abs() / T::unit(wanted);
        let allowed = if matches!(operation, Pointwise::FloorDivide | Pointwise::Remainder) { 0.5 } else { 1.0 };
        assert!(error <= allowed, "{operation:?} of {x:e} and {y:e}: {:?}, expected {wanted:e}", out[i]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn operations_with_domains(case in cases(), operation in 0..5usize, single in any::<bool>()) {
        match operation {
            0 => check::<f64>(&case, Pointwise::Sin, single),
            1 => check::<f64>(&case, Pointwise::Cos, single),
            other => {
                check::<f64>(&case, OF_BOTH[other - 2], single);
                check::<f32>(&case, OF_BOTH[other - 2], single);
            }
        }
    }
}

fn is_within(operation: Pointwise, x: f64, y: f64) -> bool {
    // Beyond a vector, and where one is not full.
    let (mut x, mut y) = ([1.0, x, 1.0].repeat(7), [1.0, y, 1.0].repeat(7));
    for i in (0..x.len()).filter(|&i| i != 16) {
        (x[i], y[i]) = (1.0, 1.0);
    }
    let mut out = vec![0.0; x.len()];
    let operands = [view(&x), view(&y)];
    // SAFETY: the views are of arrays that are there.
    unsafe { elementwise(operation, &operands[..operation.operands()], view_mut(&mut out), None, None) }.unwrap()
}

#[test]
fn what_is_beyond_a_domain_is_told() {
    let largest = f64::from(1 << 20);
    for operation in [Pointwise::Sin, Pointwise::Cos] {
        assert!(is_within(operation, -largest, 0.0));
        for x in [largest.next_up(), -2.0 * largest, f64::INFINITY, f64::NAN] {
            assert!(!is_within(operation, x, 0.0), "{operation:?} of {x:e}");
        }
    }
    let far = 2f64.powi(51);
    for operation in [Pointwise::FloorDivide, Pointwise::Remainder] {
        assert!(is_within(operation, far - 1.0, 1.0) && is_within(operation, 0.0, -5e-324));
        for (x, y) in [(far, 1.0), (1.0, 0.0), (0.0, 0.0), (f64::INFINITY, 1.0), (1.0, f64::INFINITY), (f64::NAN, 1.0)]
        {
            assert!(!is_within(operation, x, y), "{operation:?} of {x:e} and {y:e}");
        }
    }
    let hypot = |x, y| is_within(Pointwise::Hypot, x, y);
    let (small, large) = (2f64.powi(-400), 2f64.powi(500));
    assert!(hypot(0.0, -0.0) && hypot(small, 0.0) && hypot(5e-324, small) && hypot(large, large));
    for (x, y) in [(small.next_down(), 5e-324), (large.next_up(), 0.0), (1.0, f64::NAN), (f64::NAN, 1.0)] {
        assert!(!hypot(x, y) && !hypot(y, x), "{x:e} and {y:e}");
    }
}

#[test]
fn an_operand_that_may_be_needed_again_is_not_overwritten() {
    let mut x = vec![1.0, f64::INFINITY];
    let target = view_mut(&mut x);
    // SAFETY: the view is of an array that is there.
    let refused = unsafe { elementwise(Pointwise::Sin, &[target], target, None, None) };
    assert_eq!(refused, Err(PrimitiveError::Overlap { one: "the first operand", other: "out" }));
    assert_eq!(x, [1.0, f64::INFINITY]);
}

#[test]
fn zeros_keep_their_signs() {
    let x = vec![-0.0_f64; 19];
    let mut out = vec![1.0_f64; 19];
    // SAFETY: the views are of arrays that are there.
    assert_eq!(unsafe { elementwise(Pointwise::Sin, &[view(&x)], view_mut(&mut out), None, None) }, Ok(true));
    assert!(out.iter().all(|x| x.to_bits() == (-0.0_f64).to_bits()));
}
