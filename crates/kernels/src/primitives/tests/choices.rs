//! Choices between two operands.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn choices_between_arrays_and_numbers(case in cases(), single in any::<(bool, bool)>()) {
        for_type!(case.kind, check(&case, single));
    }
}

/// `single` says of which operands there is one element for all.
fn check<T: Number>(case: &Case, single: (bool, bool)) {
    let length = case.length();
    let operand = |seed, single| numbers::<T>(&values(seed, if single { 1 } else { length }, true));
    let (yes, no) = (operand(case.seed, single.0), operand(!case.seed, single.1));
    let condition = case.selection().unwrap_or_else(|| vec![Bool8::new(false); length]);
    let mut out = numbers::<T>(&values(case.seed ^ 5, length, false));
    // SAFETY: the views are of arrays that are there.
    let done = with_streaming(case.streaming, || unsafe {
        choose(view(&condition), view(&yes), view(&no), view_mut(&mut out), Some(case.threads))
    });
    assert_eq!(done, Ok(()));
    for (i, actual) in out.iter().enumerate() {
        let (from, single) = if condition[i].holds() { (&yes, single.0) } else { (&no, single.1) };
        assert_eq!(actual.bits(), from[if single { 0 } else { i }].bits(), "element {i}");
    }
}

#[test]
fn what_no_choice_can_be_made_of_is_refused() {
    let (condition, x, y) = (vec![Bool8::new(false); 3], vec![1.0_f64; 3], vec![2.0_f32; 3]);
    let mut results = vec![0.0_f64; 3];
    let target = view_mut(&mut results);
    let refused = |condition: View, yes: View, no: View, out: View| {
        // SAFETY: the views are of arrays that are there, and nothing is written where they are refused.
        unsafe { choose(condition, yes, no, out, None) }.unwrap_err().to_string()
    };
    let (mask, x, short) = (view(&condition), view(&x), view(&x[..2]));
    assert_eq!(refused(mask, x, view(&y), target), "the second operand has dtype float32, expected float64");
    assert_eq!(refused(mask, short, x, target), "the first operand has 2 elements, expected 3");
    assert_eq!(refused(x, x, x, target), "the condition has dtype float64, expected bool");
    assert_eq!(refused(view(&condition[..2]), x, x, target), "the condition has 2 elements, expected 3");
    assert_eq!(
        refused(mask, x, x, x),
        "the first operand and out share memory: results would overwrite what is still needed"
    );
}
