//! Stars against sums over their points, and against themselves: from memory, in cache, with planes together.

use proptest::prelude::*;

use crate::stencil::{Boundary, Coefficient, Element, Level, Options, Plan, Point, Source, Stencil, Target};

/// A star with a different coefficient at every point.
fn star<T: Element>(axes: usize, has_centre: bool) -> Stencil<T> {
    let mut points = Vec::new();
    for axis in 0..axes {
        for by in [-1, 1] {
            let mut offset = vec![0; axes];
            offset[axis] = by;
            let weight = 0.1 + 0.013 * axis as f64 + 0.0017 * by as f64;
            points.push(Point { offset, coefficient: Coefficient::Constant(T::from_f64(weight)) });
        }
    }
    if has_centre {
        points.push(Point { offset: vec![0; axes], coefficient: Coefficient::Constant(T::from_f64(0.31)) });
    }
    Stencil::new(axes, points).unwrap()
}

/// With a source that is taken to come from memory, or to be in cache.
fn options(from_memory: bool) -> Options {
    Options { streaming_from: if from_memory { 0 } else { usize::MAX }, ..Options::default() }
}

/// The result for a source that begins so many elements after a cache line.
fn result<T: Element>(
    extents: &[usize],
    has_centre: bool,
    boundaries: Vec<Boundary<T>>,
    begin: usize,
    options: Options,
) -> Vec<T> {
    result_of(&star::<T>(extents.len(), has_centre), extents, boundaries, begin, options)
}

/// The same of any stencil.
fn result_of<T: Element>(
    stencil: &Stencil<T>,
    extents: &[usize],
    boundaries: Vec<Boundary<T>>,
    begin: usize,
    options: Options,
) -> Vec<T> {
    let plan = Plan::new(stencil, extents, boundaries, options).unwrap();
    let sites: usize = extents.iter().product();
    let mut source = vec![T::from_f64(f64::NAN); sites + 64];
    let start = source.as_ptr().align_offset(64) + begin;
    for (site, value) in source[start..start + sites].iter_mut().enumerate() {
        *value = T::from_f64(((site * 7919) % 1013) as f64 * 0.37 - 100.0);
    }
    let mut target = vec![T::from_f64(f64::NAN); sites];
    let layout = plan.contiguous();
    // SAFETY: both have as many sites.
    unsafe {
        let source = Source { base: source.as_ptr().add(start), layout: &layout };
        plan.apply(&source, &Target { base: target.as_mut_ptr(), layout: &layout }, 1);
    }
    target
}

fn is_the_same_from_memory<T: Element>(
    extents: &[usize],
    has_centre: bool,
    boundaries: &[Boundary<T>],
    begin: usize,
) -> Result<(), TestCaseError> {
    let of = |memory: bool| result(extents, has_centre, boundaries.to_vec(), begin, options(memory));
    let [one, other] = [false, true].map(of);
    prop_assert_eq!(one, other);
    Ok(())
}

/// What lies beyond the ends of an axis: its other end, a number, or a number for every index of the other axes.
fn boundary(kind: u8, extents: &[usize], axis: usize) -> Boundary<f64> {
    let others: usize = extents.iter().enumerate().filter(|&(other, _)| other != axis).map(|(_, n)| n).product();
    match kind {
        0 => Boundary::Circular,
        1 => Boundary::Value(3.0),
        _ => Boundary::Array((0..others).map(|number| (number % 13) as f64 - 6.0).collect()),
    }
}

/// The neighbour of a site, looked up by its indices.
fn neighbour(extents: &[usize], boundaries: &[Boundary<f64>], values: &[f64], site: usize, offset: &[isize]) -> f64 {
    let mut index = vec![0; extents.len()];
    let mut rest = site;
    for (axis, &extent) in extents.iter().enumerate().rev() {
        index[axis] = (rest % extent) as isize;
        rest /= extent;
    }
    for (axis, &extent) in extents.iter().enumerate() {
        let moved = index[axis] + offset[axis];
        if (0..extent as isize).contains(&moved) {
            index[axis] = moved;
            continue;
        }
        let others = |other: &usize| *other != axis;
        let row = (0..extents.len()).filter(others).fold(0, |row, at| row * extents[at] + index[at] as usize);
        match &boundaries[axis] {
            Boundary::Circular => index[axis] = moved.rem_euclid(extent as isize),
            Boundary::Value(value) => return *value,
            Boundary::Array(array) => return array[row],
        }
    }
    values[index.iter().zip(extents).fold(0, |at, (&index, &extent)| at * extent + index as usize)]
}

/// Holds the results of a star with small whole numbers, which are exact in any order, against the sums over its points, at
/// every level of instructions; source and result begin so many elements after a cache line.
fn is_the_sum_over_points(
    extents: &[usize],
    kinds: [u8; 4],
    (reach, has_centre): (isize, bool),
    begins: [usize; 2],
    streaming: bool,
) -> Result<(), TestCaseError> {
    let axes = extents.len();
    let boundaries: Vec<_> = (0..axes).map(|axis| boundary(kinds[axis], extents, axis)).collect();
    let mut offsets = vec![vec![0; axes]];
    for (axis, by) in (0..axes).flat_map(|axis| (1..=reach).flat_map(move |by| [(axis, -by), (axis, by)])) {
        let mut offset = vec![0; axes];
        offset[axis] = by;
        offsets.push(offset);
    }
    let offsets = offsets.into_iter().skip(usize::from(!has_centre));
    let points: Vec<(Vec<isize>, f64)> =
        offsets.zip(1..).map(|(offset, n)| (offset, f64::from(n * n % 7 - 3))).collect();
    let sites: usize = extents.iter().product();
    let values: Vec<f64> = (0..sites).map(|site| (site * 7919 % 1013) as f64).collect();
    let value = |site: usize, offset: &[isize]| neighbour(extents, &boundaries, &values, site, offset);
    let sum = |site: usize| points.iter().map(|(offset, by)| by * value(site, offset)).sum::<f64>();
    let expected: Vec<f64> = (0..sites).map(sum).collect();
    let described = points.iter().map(|(offset, by)| {
        let coefficient = Coefficient::Constant(*by);
        Point { offset: offset.clone(), coefficient }
    });
    let stencil = Stencil::new(axes, described.collect()).unwrap();
    for level in Level::available() {
        let options = Options { instructions: Some(level), ..options(streaming) };
        let plan = Plan::new(&stencil, extents, boundaries.clone(), options).unwrap();
        let mut held = [vec![f64::NAN; sites + 64], vec![f64::NAN; sites + 64]];
        let starts = [0, 1].map(|number| held[number].as_ptr().align_offset(64) + begins[number]);
        held[0][starts[0]..starts[0] + sites].copy_from_slice(&values);
        let layout = plan.contiguous();
        // SAFETY: both have all sites from where they start.
        unsafe {
            let source = Source { base: held[0].as_ptr().add(starts[0]), layout: &layout };
            plan.apply(&source, &Target { base: held[1].as_mut_ptr().add(starts[1]), layout: &layout }, 1);
        }
        let [before, behind] = [&held[1][..starts[1]], &held[1][starts[1] + sites..]];
        prop_assert!(before.iter().chain(behind).all(|value| value.is_nan()), "written outside, {:?}", level);
        prop_assert_eq!(&held[1][starts[1]..starts[1] + sites], &expected[..], "{:?}", level);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]
    #[test]
    fn stars_are_the_sums_over_points_at_every_size_and_alignment(
        outer in [1usize..6, 1usize..6, 1usize..6], columns in 1usize..70, axes in 2usize..5, has_centre: bool,
        kinds in [0u8..3, 0u8..3, 0u8..3, 0u8..3], begins in [0usize..8, 0usize..8], streaming: bool,
        reach in prop_oneof![Just(1isize), 2isize..5],
    ) {
        let mut extents = outer[4 - axes..].to_vec();
        extents.push(columns);
        is_the_sum_over_points(&extents, kinds, (reach, has_centre), begins, streaming)?;
    }

    #[test]
    fn planes_of_several_calls_are_the_sums_over_points(
        first in 60usize..200, second in 1usize..12, columns in 1usize..42, kinds in [0u8..2, 0u8..2, 0u8..2, 0u8..1],
        has_centre: bool, begins in [0usize..8, 0usize..8], streaming: bool,
    ) {
        // As many planes as are more segments, or more elements, than one call takes.
        is_the_sum_over_points(&[first, second, columns], kinds, (1, has_centre), begins, streaming)?;
    }

    #[test]
    fn the_order_in_which_points_are_given_changes_no_bit(
        outer in [1usize..5, 1usize..5, 1usize..7], columns in 1usize..50, axes in 2usize..5, streaming: bool,
        seed in any::<u64>(),
    ) {
        let mut extents = outer[4 - axes..].to_vec();
        extents.push(columns);
        let sorted = star::<f64>(axes, true);
        let mut points = sorted.points().to_vec();
        points.sort_by_key(|point| {
            point.offset.iter().fold(seed, |hash, &by| (hash ^ by as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        });
        let other = Stencil::new(axes, points).unwrap();
        let [one, another] = [&sorted, &other].map(|stencil| {
            let boundaries = vec![Boundary::Circular; axes];
            result_of(stencil, &extents, boundaries, 0, options(streaming))
        });
        prop_assert_eq!(one, another);
    }

    #[test]
    fn stars_from_memory_and_in_cache_agree_to_the_last_bit(
        outer in [1usize..5, 1usize..5, 1usize..7], columns in 1usize..90, axes in 2usize..5, whole: bool,
        circular in [any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()], has_centre: bool, begin in 0usize..16,
    ) {
        let mut extents = outer[4 - axes..].to_vec();
        extents.push(if whole { columns.next_multiple_of(16) } else { columns });
        let boundaries = |value: f64| -> Vec<Option<f64>> {
            circular[..axes].iter().map(|&circular| (!circular).then_some(value)).collect()
        };
        let of = |value: Option<f64>| value.map_or(Boundary::Circular, Boundary::Value);
        let double: Vec<Boundary<f64>> = boundaries(2.5).into_iter().map(of).collect();
        let of = |value: Option<f64>| value.map_or(Boundary::Circular, |value| Boundary::Value(value as f32));
        let single: Vec<Boundary<f32>> = boundaries(2.5).into_iter().map(of).collect();
        is_the_same_from_memory(&extents, has_centre, &double, begin)?;
        is_the_same_from_memory(&extents, has_centre, &single, begin)?;
    }

    #[test]
    fn planes_that_are_computed_together_change_no_bit(
        first in 1usize..11, second in 9usize..14, third in 1usize..5, vectors in 7usize..10, part in 0usize..2,
        circular in [any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()], has_centre: bool, begin in 0usize..8,
        threads in 1usize..4,
    ) {
        let extents = [first, second, third, 8 * vectors - part];
        // Room for what a bundle holds, and not for three planes.
        let pitch = third * extents[3] * size_of::<f64>();
        let bundled = Options { step_cache: 24 * pitch, threads, ..options(true) };
        let boundaries = circular.map(|circular| if circular { Boundary::Circular } else { Boundary::Value(2.5) });
        let stencil = star::<f64>(4, has_centre);
        let text = Plan::new(&stencil, &extents, boundaries.to_vec(), bundled).unwrap().explain();
        prop_assert_eq!(text.contains("planes of axis 0: 4 together"), weft_simd::level() == Level::Avx512);
        let together = result(&extents, has_centre, boundaries.to_vec(), begin, bundled);
        prop_assert_eq!(together, result(&extents, has_centre, boundaries.to_vec(), begin, options(false)));
    }
}
