//! Plans against shifts: every point is a chain of end-off or circular shifts, one axis after another.

use proptest::prelude::*;

use super::*;

/// EOSHIFT or CSHIFT by `by` along `axis` of a C-contiguous array whose last axis has `components` elements a site.
fn shifted(
    x: &[f64],
    extents: &[usize],
    components: usize,
    axis: usize,
    by: isize,
    boundary: &Boundary<f64>,
) -> Vec<f64> {
    let extent = extents[axis] as isize;
    let inner: usize = extents[axis + 1..].iter().product::<usize>() * components;
    (0..x.len())
        .map(|site| {
            let (before, rest) = (site / (inner * extents[axis]), site % (inner * extents[axis]));
            let (index, after) = ((rest / inner) as isize, rest % inner);
            let wanted = index + by;
            if (0..extent).contains(&wanted) {
                return x[before * inner * extents[axis] + wanted as usize * inner + after];
            }
            match boundary {
                Boundary::Circular => {
                    x[before * inner * extents[axis] + wanted.rem_euclid(extent) as usize * inner + after]
                }
                Boundary::Value(value) => *value,
                Boundary::Array(values) => values[before * inner + after],
            }
        })
        .collect()
}

/// A coefficient with its values at every site.
#[derive(Clone, Debug)]
enum Factor {
    Constant(i32),
    /// Which axes it depends on.
    Array(Vec<bool>, u64),
}

fn pseudo(seed: u64, number: usize) -> f64 {
    let mixed = (seed ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed >> 40) % 7) as f64 - 3.0
}

#[derive(Clone, Debug)]
struct Case {
    extents: Vec<usize>,
    points: Vec<(Vec<isize>, Factor)>,
    boundaries: Vec<Boundary<f64>>,
    options: Options,
    count: usize,
    seed: u64,
}

impl Case {
    fn elements(&self) -> usize {
        self.extents.iter().product::<usize>() * self.options.components
    }

    fn coefficient(&self, factor: &Factor) -> Coefficient<f64> {
        let Factor::Array(depends, seed) = factor else {
            let Factor::Constant(value) = factor else { unreachable!() };
            return Coefficient::Constant(f64::from(*value));
        };
        let mut strides = vec![0; self.extents.len()];
        let mut step = 1;
        for axis in (0..self.extents.len()).rev().filter(|&axis| depends[axis]) {
            strides[axis] = step;
            step *= self.extents[axis] as isize;
        }
        let values = (0..step as usize).map(|number| pseudo(*seed, number)).collect();
        Coefficient::Array(Array::new(values, &self.extents, &strides).expect("strides of the extents"))
    }

    fn stencil(&self) -> Stencil<f64> {
        let points = self
            .points
            .iter()
            .map(|(offset, factor)| Point { offset: offset.clone(), coefficient: self.coefficient(factor) });
        Stencil::new(self.extents.len(), points.collect()).expect("distinct offsets")
    }

    fn value_at(&self, factor: &Factor, site: usize) -> f64 {
        match factor {
            Factor::Constant(value) => f64::from(*value),
            Factor::Array(depends, seed) => {
                let (mut rest, mut index, mut step) = (site, 0, 1);
                for axis in (0..self.extents.len()).rev() {
                    if depends[axis] {
                        index += rest % self.extents[axis] * step;
                        step *= self.extents[axis];
                    }
                    rest /= self.extents[axis];
                }
                pseudo(*seed, index)
            }
        }
    }

    fn source(&self) -> Vec<f64> {
        (0..self.elements() * self.count).map(|site| pseudo(self.seed, site)).collect()
    }

    /// The shift formulation, one step after another.
    fn expected(&self) -> Vec<f64> {
        let mut all = self.source();
        for x in all.chunks_exact_mut(self.elements()) {
            for _ in 0..self.options.steps {
                let mut sum = vec![0.0; x.len()];
                for (offset, factor) in &self.points {
                    let mut moved = x.to_vec();
                    for (axis, &by) in offset.iter().enumerate() {
                        if by != 0 {
                            let components = self.options.components;
                            moved = shifted(&moved, &self.extents, components, axis, by, &self.boundaries[axis]);
                        }
                    }
                    for (site, (sum, moved)) in sum.iter_mut().zip(moved).enumerate() {
                        *sum += self.value_at(factor, site / self.options.components) * moved;
                    }
                }
                x.copy_from_slice(&sum);
            }
        }
        all
    }
}

fn boundary(others: usize) -> impl Strategy<Value = Boundary<f64>> {
    prop_oneof![
        3 => Just(Boundary::Circular),
        2 => (-3..4i32).prop_map(|value| Boundary::Value(f64::from(value))),
        2 => any::<u64>().prop_map(move |seed| Boundary::Array((0..others).map(|site| pseudo(seed, site)).collect())),
    ]
}

fn factor(axes: usize) -> impl Strategy<Value = Factor> {
    prop_oneof![
        5 => (-2..3i32).prop_map(Factor::Constant),
        1 => (prop::collection::vec(any::<bool>(), axes), any::<u64>())
            .prop_map(|(axes, seed)| Factor::Array(axes, seed)),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let instructions = prop::sample::select(Level::available());
    let cache = prop::sample::select(vec![1usize, 300, 2000, 10_000, 1 << 20]);
    let at_once = prop::sample::select(vec![None, Some(1), Some(2), Some(3)]);
    (1..4usize, 1..4usize, 1..5usize, instructions, any::<bool>(), cache, at_once).prop_map(
        |(components, threads, steps, instructions, streaming, cache, steps_at_once)| Options {
            components,
            threads,
            steps,
            instructions: Some(instructions),
            streaming_from: if streaming { 0 } else { usize::MAX },
            cache,
            step_cache: cache,
            steps_at_once,
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let extents = (prop::collection::vec(1..6usize, 0..4), 1..60usize).prop_map(|(mut outer, last)| {
        outer.push(last);
        outer
    });
    (extents, options(), 1..3usize, any::<u64>(), any::<bool>()).prop_flat_map(
        |(extents, options, count, seed, near)| {
            let axes = extents.len();
            let sites: usize = extents.iter().product();
            let boundaries: Vec<_> =
                extents.iter().map(|extent| boundary(sites / extent * options.components)).collect();
            let furthest: isize = if near { 1 } else { 3 };
            let offset = prop::collection::vec(-furthest..=furthest, axes);
            let point = (offset, factor(axes));
            (prop::collection::vec(point, 1..12), boundaries).prop_map(move |(mut points, boundaries)| {
                let mut seen = Vec::new();
                points.retain(|(offset, _)| {
                    !seen.contains(offset) && {
                        seen.push(offset.clone());
                        true
                    }
                });
                Case { extents: extents.clone(), points, boundaries, options, count, seed }
            })
        },
    )
}

/// Stencils whose only terms beside an element's own column are one to either side of it, in any row: what the kernel of
/// stars takes, of which the star is but one.
fn pair_in_any_row() -> impl Strategy<Value = Case> {
    let extents = (prop::collection::vec(1..5usize, 2..4), 1..60usize).prop_map(|(mut outer, last)| {
        outer.push(last);
        outer
    });
    (extents, options(), 1..3usize, any::<u64>()).prop_flat_map(|(extents, options, count, seed)| {
        let outer = extents.len() - 1;
        let sites: usize = extents.iter().product();
        let boundaries: Vec<_> = extents.iter().map(|extent| boundary(sites / extent * options.components)).collect();
        let row = move || prop::collection::vec(-1..=1isize, outer);
        let own = prop::collection::hash_set(row(), 1..5);
        (row(), own, boundaries).prop_map(move |(pair, own, boundaries)| {
            let at = |row: &[isize], column: isize| [row, &[column]].concat();
            let sides = [-1, 1].map(|column| (at(&pair, column), Factor::Constant(2 - column as i32)));
            let mut own: Vec<Vec<isize>> = own.into_iter().collect();
            own.sort_unstable();
            let points = own.iter().map(|row| (at(row, 0), Factor::Constant(-1))).chain(sides).collect();
            Case { extents: extents.clone(), points, boundaries, options, count, seed }
        })
    })
}

/// Boxes with all neighbours in two or three axes, whose rows are whole vectors of some level, with non-temporal stores and
/// without: two rows at once are put together anew where these begin within a line.
fn box_of_whole_vectors() -> impl Strategy<Value = Case> {
    let extents = (prop::collection::vec(1..6usize, 1..3), 1..14usize).prop_map(|(mut outer, vectors)| {
        outer.push(8 * vectors);
        outer
    });
    (extents, options(), any::<u64>(), any::<bool>()).prop_flat_map(|(extents, options, seed, symmetric)| {
        let axes = extents.len();
        let end = prop_oneof![3 => Just(Boundary::Circular), 1 => Just(Boundary::Value(2.0))];
        let options = Options { components: 1, ..options };
        prop::collection::vec(end, axes).prop_map(move |boundaries| {
            let points = (0..3_usize.pow(axes as u32)).map(|number| {
                let offset: Vec<isize> =
                    (0..axes).rev().map(|axis| (number / 3_usize.pow(axis as u32) % 3) as isize - 1).collect();
                let distinct = if symmetric { offset.iter().filter(|&&by| by != 0).count() } else { number };
                (offset, Factor::Constant(pseudo(seed, distinct) as i32))
            });
            Case { extents: extents.clone(), points: points.collect(), boundaries, options, count: 1, seed }
        })
    })
}

/// Results of a case whose source and result begin so many elements into a cache line, and whether all beside is as it was.
fn applied_at(case: &Case, begins: [usize; 2]) -> (Vec<f64>, bool) {
    let plan = Plan::new(&case.stencil(), &case.extents, case.boundaries.clone(), case.options).unwrap();
    let values = case.source();
    let [(mut source, from), (mut target, to)] = begins.map(|begin| {
        let array = vec![f64::NAN; values.len() + 40];
        let first = array.as_ptr().align_offset(64) + begin;
        (array, first)
    });
    source[from..from + values.len()].copy_from_slice(&values);
    target.fill(-7.5);
    let layout = plan.contiguous();
    // SAFETY: both arrays have all sites from there on.
    unsafe {
        let source = Source { base: source.as_ptr().add(from), layout: &layout };
        plan.apply(&source, &Target { base: target.as_mut_ptr().add(to), layout: &layout }, case.count);
    }
    let results = to..to + values.len();
    let untouched = target[..to].iter().chain(&target[results.end..]).all(|&value| value == -7.5);
    (target[results].to_vec(), untouched)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Small whole numbers: every order of summation gives the same.
    #[test]
    fn a_plan_gives_what_shifts_give(case in case()) {
        let plan = Plan::new(&case.stencil(), &case.extents, case.boundaries.clone(), case.options).unwrap();
        let source = case.source();
        let mut target = vec![f64::NAN; source.len()];
        plan.apply_slices(&source, &mut target).unwrap();
        prop_assert_eq!(&target, &case.expected());
        // Buffers of the first call are used again.
        plan.apply_slices(&source, &mut target).unwrap();
        prop_assert_eq!(&target, &case.expected());
    }

    /// The same of stencils for which the kernel of stars has rows at the ends of axes.
    #[test]
    fn a_pair_in_any_row_gives_what_shifts_give(case in pair_in_any_row()) {
        let plan = Plan::new(&case.stencil(), &case.extents, case.boundaries.clone(), case.options).unwrap();
        let source = case.source();
        let mut target = vec![f64::NAN; source.len()];
        plan.apply_slices(&source, &mut target).unwrap();
        prop_assert_eq!(target, case.expected());
    }

    /// Wherever source and result begin within a cache line, and nothing beside the result is written.
    #[test]
    fn results_may_begin_anywhere(case in case(), begins in [0..16usize, 0..16usize]) {
        prop_assert_eq!(applied_at(&case, begins), (case.expected(), true));
    }

    /// The same of boxes whose rows are whole vectors.
    #[test]
    fn boxes_of_whole_vectors_may_begin_anywhere(case in box_of_whole_vectors(), begins in [0..16usize, 0..16usize]) {
        prop_assert_eq!(applied_at(&case, begins), (case.expected(), true));
    }

    /// Threads, tiles, steps in a sweep and stores change nothing in the last bit.
    #[test]
    fn how_it_is_computed_changes_no_bit(case in case(), other in options()) {
        let source: Vec<f64> = case.source().iter().map(|value| value * 0.1 + 0.3).collect();
        let run = |options: Options| {
            let plan = Plan::new(&case.stencil(), &case.extents, case.boundaries.clone(), options).unwrap();
            let mut target = vec![f64::NAN; source.len()];
            plan.apply_slices(&source, &mut target).unwrap();
            target
        };
        let same = Options {
            components: case.options.components,
            steps: case.options.steps,
            instructions: case.options.instructions,
            ..other
        };
        prop_assert_eq!(run(case.options), run(same));
    }

    /// A block with halos, computed as interior and rim, gives what the whole array gives.
    #[test]
    fn a_block_gives_what_the_whole_gives(case in case(), kept in prop::collection::vec(any::<[bool; 2]>(), 4), wider in 0..2usize) {
        let options = Options { steps: 1, threads: 1, ..case.options };
        let case = Case { options, count: 1, ..case };
        let boundaries: Vec<Boundary<f64>> = case
            .boundaries
            .iter()
            .map(|boundary| if matches!(boundary, Boundary::Array(_)) { Boundary::Value(2.0) } else { boundary.clone() })
            .collect();
        let case = Case { boundaries, ..case };
        let plan = Plan::new(&case.stencil(), &case.extents, case.boundaries.clone(), options).unwrap();
        // Circular axes need both sides or none: one side alone would wrap within the block. A halo that holds the boundary
        // of an axis must not meet a boundary on the fly of an earlier one, which would count at the corner.
        let mut on_the_fly = false;
        let halo: Vec<(usize, usize)> = plan.reach().iter().enumerate().map(|(axis, &(low, high))| {
            let side = |reach: usize, kept: bool| if reach > 0 && kept { reach + wider } else { 0 };
            let circular = matches!(case.boundaries[axis], Boundary::Circular);
            let kept = if circular { [kept[axis][0]; 2] } else { kept[axis].map(|kept| kept && !on_the_fly) };
            on_the_fly |= !circular && ((low > 0 && !kept[0]) || (high > 0 && !kept[1]));
            (side(low, kept[0]), side(high, kept[1]))
        }).collect();
        let source = case.source();
        let padded = pad(&case, &source, &halo);
        let mut target = vec![f64::NAN; source.len()];
        let waiting: Vec<(usize, usize)> = plan.reach().iter().zip(&halo).map(|(&reach, &halo)| {
            (if halo.0 > 0 { reach.0 } else { 0 }, if halo.1 > 0 { reach.1 } else { 0 })
        }).collect();
        let (interior, rim) = interior_and_rim(&case.extents, &waiting);
        plan.apply_block(&padded, &halo, &mut target, &interior).unwrap();
        for piece in &rim {
            plan.apply_block(&padded, &halo, &mut target, piece).unwrap();
        }
        prop_assert_eq!(target, case.expected());
    }

    #[test]
    fn interior_and_rim_are_the_block(extents in prop::collection::vec(0..6usize, 1..5), waiting in prop::collection::vec((0..4usize, 0..4usize), 4)) {
        let waiting = &waiting[..extents.len()];
        let (interior, rim) = interior_and_rim(&extents, waiting);
        let mut pieces = rim.clone();
        pieces.push(interior);
        let sites: usize = extents.iter().product();
        prop_assert_eq!(pieces.iter().map(Region::sites).sum::<usize>(), sites);
        for (number, piece) in pieces.iter().enumerate() {
            for other in &pieces[..number] {
                let apart = piece.ranges.iter().zip(&other.ranges).any(|(a, b)| a.1 <= b.0 || b.1 <= a.0);
                prop_assert!(apart || piece.sites() == 0 || other.sites() == 0);
            }
        }
    }
}

/// The block with its halo filled: axis 0 first, so that the last axis has the corners, as in a chain of shifts.
fn pad(case: &Case, source: &[f64], halo: &[(usize, usize)]) -> Vec<f64> {
    let components = case.options.components;
    let padded: Vec<usize> = case.extents.iter().zip(halo).map(|(&extent, &(low, high))| low + extent + high).collect();
    let sites: usize = padded.iter().product();
    let mut values = Vec::with_capacity(sites * components);
    for site in 0..sites {
        let (mut rest, mut index) = (site, vec![0isize; padded.len()]);
        for axis in (0..padded.len()).rev() {
            index[axis] = (rest % padded[axis]) as isize - halo[axis].0 as isize;
            rest /= padded[axis];
        }
        let mut beyond = None;
        for axis in (0..padded.len()).rev() {
            let extent = case.extents[axis] as isize;
            if !(0..extent).contains(&index[axis]) {
                match case.boundaries[axis] {
                    Boundary::Circular => index[axis] = index[axis].rem_euclid(extent),
                    Boundary::Value(value) => {
                        beyond = beyond.or(Some(value));
                        index[axis] = 0;
                    }
                    Boundary::Array(_) => unreachable!("replaced by the test"),
                }
            }
        }
        let from = index.iter().zip(&case.extents).fold(0, |from, (&index, &extent)| from * extent + index as usize);
        values.extend((0..components).map(|component| beyond.unwrap_or_else(|| source[from * components + component])));
    }
    values
}

fn five_points() -> Stencil<f64> {
    let points = [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)]
        .map(|(first, second)| Point { offset: vec![first, second], coefficient: Coefficient::Constant(1.0) });
    Stencil::new(2, points.to_vec()).unwrap()
}

fn circular(axes: usize) -> Vec<Boundary<f64>> {
    vec![Boundary::Circular; axes]
}

#[test]
fn single_precision_is_computed_as_well() {
    for instructions in Level::available() {
        let point = |offset: [isize; 2], value: f32| Point {
            offset: offset.to_vec(),
            coefficient: Coefficient::Constant(value),
        };
        let points = vec![point([0, -1], 2.0), point([1, 0], 3.0), point([0, 1], 5.0), point([-1, -1], 7.0)];
        let stencil = Stencil::new(2, points).unwrap();
        let options = Options { instructions: Some(instructions), ..Options::default() };
        let plan = Plan::new(&stencil, &[5, 45], vec![Boundary::Circular; 2], options).unwrap();
        let x: Vec<f32> = (0..225).map(|site| (site * site % 97) as f32).collect();
        let mut y = vec![0.0; 225];
        plan.apply_slices(&x, &mut y).unwrap();
        for (site, &value) in y.iter().enumerate() {
            let (i, j) = (site / 45, site % 45);
            let at = |i: usize, j: usize| x[i % 5 * 45 + j % 45];
            let sum = 2.0 * at(i, j + 44) + 3.0 * at(i + 1, j) + 5.0 * at(i, j + 1) + 7.0 * at(i + 4, j + 44);
            assert_eq!(value, sum, "{instructions:?} at {i}, {j}");
        }
    }
}

#[test]
fn what_is_beyond_an_absent_point_does_not_matter() {
    let points = [vec![0, 0], vec![0, -1]].map(|offset| Point { offset, coefficient: Coefficient::Constant(1.0) });
    let stencil = Stencil::new(2, points.to_vec()).unwrap();
    let plan = Plan::new(&stencil, &[1, 4], circular(2), Options::default()).unwrap();
    let mut y = vec![0.0; 4];
    plan.apply_slices(&[1.0, f64::INFINITY, 2.0, 3.0], &mut y).unwrap();
    assert_eq!(y, [4.0, f64::INFINITY, f64::INFINITY, 5.0]);
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_reason() {
    let message = |result: Result<Plan<f64>, StencilError>| result.err().unwrap().to_string();
    let plan = |extents: &[usize], boundaries, options| Plan::new(&five_points(), extents, boundaries, options);
    let actual = message(plan(&[4], circular(2), Options::default()));
    assert_eq!(actual, "a stencil of 2 axes cannot be applied to an array of 1: [4]");
    let actual = message(plan(&[4, 4], circular(1), Options::default()));
    assert_eq!(actual, "a stencil of 2 axes needs 2 boundaries, one for each, not 1");
    let array = vec![Boundary::Circular, Boundary::Array([0.0; 3].into_iter().collect())];
    let actual = message(plan(&[4, 4], array, Options::default()));
    assert!(actual.starts_with("the boundary array of axis 1 has 3 elements;"), "{actual}");
    let actual = message(plan(&[4, 4], circular(2), Options { threads: 0, ..Options::default() }));
    assert_eq!(actual, "components, threads and steps must be at least 1");
    let actual = message(plan(&[usize::MAX / 2, 4], circular(2), Options::default()));
    assert!(actual.ends_with("does not fit into memory"), "{actual}");

    let far = |by: isize| {
        let offsets = [[0, by], [0, 0]];
        let points = offsets.map(|offset| Point { offset: offset.to_vec(), coefficient: Coefficient::Constant(1.0) });
        Plan::<f64>::new(&Stencil::new(2, points.to_vec()).unwrap(), &[4, 4], circular(2), Options::default())
    };
    assert_eq!(
        message(far(-1_000_000_000)),
        "a stencil that reaches 1000000000 sites before an element and 0 behind it in rows of 4, which are shorter, has to copy \
         16000000000 bytes at an end of a row; the limit is 268435456"
    );
    let mut result = [0.0; 16];
    far(1001).unwrap().apply_slices(&std::array::from_fn::<f64, 16, _>(|site| site as f64), &mut result).unwrap();
    assert_eq!(result[..4], [1.0, 3.0, 5.0, 3.0]);

    let points = |offsets: &[&[isize]]| {
        let points =
            offsets.iter().map(|offset| Point { offset: offset.to_vec(), coefficient: Coefficient::Constant(1.0) });
        Stencil::<f64>::new(2, points.collect()).err().unwrap().to_string()
    };
    assert_eq!(points(&[]), "a stencil needs at least one point");
    assert_eq!(points(&[&[0, 1], &[0, 1]]), "offset [0, 1] is there twice");
    assert_eq!(points(&[&[0, 1, 2]]), "offset [0, 1, 2] has 3 axes, expected 2");
    assert!(points(&[&[0, isize::MIN]]).contains("is too far"));
    assert!(Stencil::<f64>::new(5, vec![]).is_err());
    assert!(Array::new(vec![1.0; 3], &[2, 2], &[2, 1]).is_err());

    let plan = plan(&[4, 4], circular(2), Options::default()).unwrap();
    let actual = plan.apply_slices(&[0.0; 16], &mut [0.0; 15]).unwrap_err().to_string();
    assert!(actual.starts_with("the target has 15 elements"), "{actual}");
}

#[test]
fn blocks_that_do_not_fit_are_refused_with_their_reason() {
    let plan = Plan::new(&five_points(), &[4, 4], circular(2), Options::default()).unwrap();
    let mut output = [0.0; 16];
    let whole = Region::whole(&[4, 4]);
    let mut refused = |halo: &Halo, length: usize, region: &Region| {
        plan.apply_block(&vec![0.0; length], halo, &mut output, region).unwrap_err().to_string()
    };
    assert!(refused(&[(1, 1), (1, 1)], 16, &whole).contains("has 36 elements and a result of 16; got 16 and 16"));
    assert!(refused(&[(1, 1)], 36, &whole).starts_with("a block of 2 axes needs a halo"));
    let outside = Region { ranges: vec![(0, 4), (2, 5)] };
    assert_eq!(refused(&[(1, 1), (1, 1)], 36, &outside), "the region 2..5 along axis 1 is not within 0..4");
    let steps = Options { steps: 2, ..Options::default() };
    let plan = Plan::new(&five_points(), &[4, 4], circular(2), steps).unwrap();
    let actual = plan.apply_block(&[0.0; 36], &[(1, 1), (1, 1)], &mut [0.0; 16], &whole).unwrap_err().to_string();
    assert!(actual.starts_with("a block is computed one step at a time"), "{actual}");
    let far = Point { offset: vec![0, 2], coefficient: Coefficient::Constant(1.0) };
    let plan = Plan::new(&Stencil::new(2, vec![far]).unwrap(), &[4, 4], circular(2), Options::default()).unwrap();
    let actual = plan.apply_block(&[0.0; 20], &[(0, 0), (0, 1)], &mut [0.0; 16], &whole).unwrap_err().to_string();
    assert!(actual.starts_with("the halo above axis 1 has 1 sites, the stencil reaches 2"), "{actual}");
    let corner = Point { offset: vec![1, 1], coefficient: Coefficient::Constant(1.0) };
    let boundaries = vec![Boundary::Array([0.0; 4].into_iter().collect()), Boundary::Circular];
    let plan = Plan::new(&Stencil::new(2, vec![corner]).unwrap(), &[4, 4], boundaries, Options::default()).unwrap();
    let actual = plan.apply_block(&[0.0; 20], &[(0, 0), (0, 1)], &mut [0.0; 16], &whole).unwrap_err().to_string();
    assert!(actual.starts_with("axis 0 has a boundary array, which has no values for the halo of axis 1"), "{actual}");
}

/// Small whole numbers, from a source at every offset in a cache line: results of all instruction sets are the same.
fn every_alignment<T: Element>() {
    let extents = [3, 4, 80];
    let weight = |number: usize| T::from_f64((number % 5) as f64 - 2.0);
    let points = (0..27).map(|n: usize| Point {
        offset: vec![n as isize / 9 - 1, n as isize / 3 % 3 - 1, n as isize % 3 - 1],
        coefficient: Coefficient::Constant(weight(n)),
    });
    let stencil = Stencil::new(3, points.collect()).unwrap();
    let sites = extents.iter().product::<usize>();
    let values: Vec<T> = (0..sites).map(|site| T::from_f64(pseudo(7, site))).collect();
    let boundaries = vec![Boundary::Circular, Boundary::Value(T::ONE), Boundary::Circular];
    let mut first: Option<Vec<T>> = None;
    for instructions in Level::available() {
        let options = Options { instructions: Some(instructions), ..Options::default() };
        let plan = Plan::new(&stencil, &extents, boundaries.clone(), options).unwrap();
        for site in 0..64 / size_of::<T>() {
            let mut source = vec![T::ZERO; sites + 64];
            source[site..site + sites].copy_from_slice(&values);
            let mut target = vec![T::ZERO; sites];
            plan.apply_slices(&source[site..site + sites], &mut target).unwrap();
            assert_eq!(&target, first.get_or_insert_with(|| target.clone()), "{instructions:?} at {site}");
        }
    }
}

#[test]
fn a_source_may_begin_anywhere() {
    every_alignment::<f64>();
    every_alignment::<f32>();
}

/// A tile computes rows beyond the ends of a circular axis, whose diagonal neighbours are of another axis' boundary.
#[test]
fn tiles_of_steps_find_boundary_arrays() {
    let extents = vec![2, 6, 16];
    let rows: Vec<f64> = (0..6 * 16).map(f64::from).collect();
    let case = Case {
        points: vec![(vec![-1, 1, 0], Factor::Constant(1)), (vec![1, -1, 0], Factor::Constant(-1))],
        boundaries: vec![Boundary::Array(rows.into_iter().collect()), Boundary::Circular, Boundary::Circular],
        options: Options { steps: 4, steps_at_once: Some(2), step_cache: 4000, ..Options::default() },
        count: 1,
        seed: 3,
        extents,
    };
    let plan = Plan::new(&case.stencil(), &case.extents, case.boundaries.clone(), case.options).unwrap();
    assert!(plan.depth.second < 6, "the test is about tiles");
    let mut target = vec![f64::NAN; case.elements()];
    plan.apply_slices(&case.source(), &mut target).unwrap();
    assert_eq!(target, case.expected());
}

#[test]
fn a_plan_says_what_it_will_do() {
    let plan = Plan::new(&five_points(), &[64, 64], circular(2), Options { steps: 4, ..Options::default() }).unwrap();
    let text = plan.explain();
    for part in ["5 points", "3 rows in 2 classes", "cached stores", "steps: 4", "moves at least 65536 bytes"] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// More arrays of coefficients than are read together, over rows longer than a strip.
    #[test]
    fn many_arrays_of_coefficients(rows in 1..4usize, length in 1..1200usize, options in options(), seed in any::<u64>()) {
        let offsets = (-1..=1).flat_map(|row| (-2..=2).map(move |column| vec![row, column]));
        let points = offsets.enumerate().map(|(n, offset)| match n {
            3 => (offset, Factor::Constant(2)),
            _ => (offset, Factor::Array(vec![true, true], seed ^ n as u64)),
        });
        let case = Case {
            extents: vec![rows, length],
            points: points.collect(),
            boundaries: vec![Boundary::Circular, Boundary::Value(3.0)],
            options: Options { steps: 1, ..options },
            count: 1,
            seed,
        };
        let plan = Plan::new(&case.stencil(), &case.extents, case.boundaries.clone(), case.options).unwrap();
        let mut target = vec![f64::NAN; case.elements()];
        plan.apply_slices(&case.source(), &mut target).unwrap();
        prop_assert_eq!(target, case.expected());
    }
}
