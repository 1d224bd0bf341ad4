//! Plans against a definition by single elements: any shape, size of elements, strides, edges and overlaps.

use proptest::prelude::*;
use weft_polyshift::plan::{Edge, Plan, PlanError, Shift, Strided, StridedMut};

/// An array within a buffer of its own.
#[derive(Clone, Debug)]
struct Array {
    shape: Vec<usize>,
    strides: Vec<isize>,
    first: usize,
    buffer: Vec<u8>,
    item: usize,
}

/// How an array lies in memory: order of axes, gaps in elements, which axes run backwards.
#[derive(Clone, Debug)]
struct Lie {
    order: usize,
    gaps: Vec<usize>,
    backwards: Vec<bool>,
}

fn lie(rank: usize) -> impl Strategy<Value = Lie> {
    let plain = Just(Lie { order: 0, gaps: vec![0; rank], backwards: vec![false; rank] });
    let any = (0_usize..24, prop::collection::vec(0_usize..3, rank), prop::collection::vec(any::<bool>(), rank))
        .prop_map(|(order, gaps, backwards)| Lie { order, gaps, backwards });
    let ordered = (0_usize..24).prop_map(move |order| Lie { order, gaps: vec![0; rank], backwards: vec![false; rank] });
    prop_oneof![plain, ordered, any]
}

/// The `number`th order of `rank` axes.
fn order(rank: usize, mut number: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..rank).collect();
    (0..rank)
        .map(|_| {
            let position = number % left.len();
            number /= left.len();
            left.remove(position)
        })
        .collect()
}

impl Array {
    fn new(shape: &[usize], item: usize, lie: &Lie, seed: usize) -> Self {
        let mut strides = vec![0_isize; shape.len()];
        let (mut bytes, mut first) = (item, 0);
        for axis in order(shape.len(), lie.order).into_iter().rev() {
            strides[axis] = bytes as isize;
            let reach = bytes * shape[axis].saturating_sub(1);
            bytes = bytes * shape[axis].max(1) + lie.gaps[axis] * item;
            if lie.backwards[axis] {
                strides[axis] = -strides[axis];
                first += reach;
            }
        }
        let buffer = (0..bytes + item).map(|i| (i * 37 + i / 239 + seed * 101) as u8).collect();
        Self { shape: shape.to_vec(), strides, first, buffer, item }
    }

    fn at(&self, index: &[usize]) -> usize {
        let offset: isize = index.iter().zip(&self.strides).map(|(&i, &stride)| i as isize * stride).sum();
        (self.first as isize + offset) as usize
    }

    fn element(&self, index: &[usize]) -> &[u8] {
        let at = self.at(index);
        &self.buffer[at..at + self.item]
    }

    fn strided(&self) -> Strided<'_> {
        Strided { pointer: self.buffer[self.first..].as_ptr(), strides: &self.strides }
    }
}

fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &extent| {
        all.iter().flat_map(|index| (0..extent).map(move |i| [index.as_slice(), &[i]].concat())).collect()
    })
}

/// The definition of CSHIFT and EOSHIFT, element by element.
fn expected(shift: &Shift, sources: &[Array], boundaries: &[Array], index: &[usize]) -> Vec<u8> {
    let extent = sources[shift.source].shape[shift.axis] as i128;
    let from = index[shift.axis] as i128 + i128::from(shift.by);
    let mut position = index.to_vec();
    match &shift.edge {
        Edge::Circular => position[shift.axis] = from.rem_euclid(extent) as usize,
        _ if (0..extent).contains(&from) => position[shift.axis] = from as usize,
        Edge::Constant(element) => return element.clone(),
        Edge::Array(number) => {
            position.remove(shift.axis);
            return boundaries[*number].element(&position).to_vec();
        }
    }
    sources[shift.source].element(&position).to_vec()
}

#[derive(Clone, Debug)]
struct Case {
    shape: Vec<usize>,
    item: usize,
    /// Axis, distance, kind of edge, source; and how the output lies.
    shifts: Vec<(usize, i64, usize, usize, Lie)>,
    lies: Vec<Lie>,
    boundary_lie: Lie,
    threads: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let shape = prop_oneof![
        prop::collection::vec(0_usize..6, 1..5),
        prop::collection::vec(1_usize..40, 1..4),
        (1_usize..4, 1_usize..4, 200_usize..400).prop_map(|(a, b, c)| vec![a, b, c]),
    ];
    (shape, prop::sample::select(vec![1_usize, 2, 4, 8, 12, 16, 32])).prop_flat_map(|(shape, item)| {
        let rank = shape.len();
        let by = prop_oneof![-3_i64..4, -100_i64..100, Just(i64::MIN), Just(i64::MAX)];
        let shift = (0..rank, by, 0_usize..3, 0_usize..2, lie(rank));
        (
            Just(shape),
            Just(item),
            prop::collection::vec(shift, 1..5),
            prop::collection::vec(lie(rank), 2),
            lie(rank - 1),
            1_usize..3,
        )
            .prop_map(|(shape, item, shifts, lies, boundary_lie, threads)| Case {
                shape,
                item,
                shifts,
                lies,
                boundary_lie,
                threads,
            })
    })
}

/// The plan of a case with its arrays. Sources that no shift uses would be refused.
fn build(case: &Case) -> (Plan, Vec<Shift>, Vec<Array>, Vec<Array>) {
    let both = [0, 1].iter().all(|source| case.shifts.iter().any(|shift| shift.3 == *source));
    let (mut shifts, mut boundaries) = (Vec::new(), Vec::new());
    for (axis, by, kind, source, _) in case.shifts.clone() {
        let edge = match kind {
            0 => Edge::Circular,
            1 => Edge::Constant((0..case.item as u8).map(|i| 200 + i).collect()),
            _ => {
                let mut face = case.shape.clone();
                face.remove(axis);
                boundaries.push(Array::new(&face, case.item, &case.boundary_lie, 7 + boundaries.len()));
                Edge::Array(boundaries.len() - 1)
            }
        };
        shifts.push(Shift { axis, by, edge, source: if both { source } else { 0 } });
    }
    let sources = (0..if both { 2 } else { 1 })
        .map(|number| Array::new(&case.shape, case.item, &case.lies[number], number))
        .collect();
    let plan = Plan::new(&case.shape, case.item, &shifts).unwrap();
    (plan, shifts, sources, boundaries)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn plans_do_what_the_definition_says(case in case()) {
        let (plan, shifts, sources, boundaries) = build(&case);
        let mut outputs: Vec<Array> = case
            .shifts
            .iter()
            .map(|(.., lie)| Array::new(&case.shape, case.item, lie, 50))
            .collect();
        let before = outputs.clone();
        let from: Vec<Strided<'_>> = sources.iter().map(Array::strided).collect();
        let around: Vec<Strided<'_>> = boundaries.iter().map(Array::strided).collect();
        let to: Vec<StridedMut<'_>> = outputs
            .iter_mut()
            .map(|array| StridedMut { pointer: array.buffer[array.first..].as_mut_ptr(), strides: &array.strides })
            .collect();
        let prepared = plan.prepare(&from, &around, &to);
        prop_assert_eq!(prepared.copied_first(), 0);
        for _ in 0..2 {
            // SAFETY: the arrays are as the plan was told and apart.
            unsafe { prepared.run(Some(case.threads)) };
        }
        for ((shift, output), before) in shifts.iter().zip(&outputs).zip(&before) {
            let mut untouched = before.buffer.clone();
            for index in indices(&case.shape) {
                let wanted = expected(shift, &sources, &boundaries, &index);
                prop_assert_eq!(output.element(&index), &wanted[..], "{:?} at {:?}", shift, index);
                let at = output.at(&index);
                untouched[at..at + case.item].copy_from_slice(&wanted);
            }
            prop_assert!(output.buffer == untouched, "{:?} wrote beside its elements", shift);
        }
    }

    /// Into memory that overlaps the source: as if there had been two arrays.
    #[test]
    fn overlaps_are_copied_first(
        rows in 1_usize..20,
        columns in 1_usize..20,
        axis in 0_usize..2,
        by in -25_i64..25,
        from in 0_usize..60,
        to in 0_usize..60,
        circular in any::<bool>(),
    ) {
        let (shape, item) = ([rows, columns], 4);
        let edge = if circular { Edge::Circular } else { Edge::Constant(vec![9; item]) };
        let shift = Shift { axis, by, edge, source: 0 };
        let plan = Plan::new(&shape, item, std::slice::from_ref(&shift)).unwrap();
        let plain = Lie { order: 0, gaps: vec![0; 2], backwards: vec![false; 2] };
        let mut source = Array::new(&shape, item, &plain, 3);
        source.first = from;
        source.buffer = (0..rows * columns * item + 60).map(|i| (i * 7 + i / 256) as u8).collect();
        let mut shared = source.buffer.clone();
        let base = shared.as_mut_ptr();
        // SAFETY: both arrays are within the shared buffer.
        unsafe {
            let out = StridedMut { pointer: base.add(to), strides: &source.strides };
            let prepared = plan.prepare(&[Strided { pointer: base.add(from), strides: &source.strides }], &[], &[out]);
            prop_assert_eq!(prepared.copied_first(), usize::from(from.abs_diff(to) < rows * columns * item));
            prepared.run(None);
        }
        let output = Array { first: to, buffer: shared, ..source.clone() };
        for index in indices(&shape) {
            let wanted = expected(&shift, std::slice::from_ref(&source), &[], &index);
            prop_assert_eq!(output.element(&index), &wanted[..]);
        }
    }
}

#[test]
fn large_arrays_go_past_the_caches_and_over_threads() {
    let shape = [3, 700, 1030];
    let plain = Lie { order: 0, gaps: vec![0; 3], backwards: vec![false; 3] };
    let source = Array::new(&shape, 8, &plain, 1);
    let shifts: Vec<Shift> = [(0, 1), (1, -1), (2, 1), (2, -1)]
        .map(|(axis, by)| Shift { axis, by, edge: Edge::Circular, source: 0 })
        .to_vec();
    let plan = Plan::new(&shape, 8, &shifts).unwrap();
    assert!(plan.summary().streaming);
    let mut outputs = vec![Array::new(&shape, 8, &plain, 2); 4];
    let to: Vec<*mut u8> = outputs.iter_mut().map(|output| output.buffer.as_mut_ptr()).collect();
    // SAFETY: dense arrays that are apart.
    unsafe { plan.prepare_dense(&[source.buffer.as_ptr()], &[], &to).run(None) };
    for (shift, output) in shifts.iter().zip(&outputs) {
        for index in [[0, 0, 0], [2, 699, 1029], [1, 350, 0], [0, 699, 1029], [2, 0, 515]] {
            assert_eq!(output.element(&index), expected(shift, std::slice::from_ref(&source), &[], &index));
        }
    }
}

#[test]
fn what_cannot_be_planned_is_said() {
    let shift = |axis, edge, source| Shift { axis, by: 1, edge, source };
    let error = |shape: &[usize], shifts: &[Shift]| Plan::new(shape, 8, shifts).unwrap_err().to_string();
    assert_eq!(Plan::new(&[2], 8, &[]).unwrap_err(), PlanError::Nothing);
    assert_eq!(error(&[2, 3], &[shift(2, Edge::Circular, 0)]), "shift 0: there is no axis 2 in an array of rank 2");
    assert_eq!(
        error(&[2], &[shift(0, Edge::Constant(vec![0; 4]), 0)]),
        "shift 0: a boundary of 4 bytes for elements of 8"
    );
    assert_eq!(error(&[2], &[shift(0, Edge::Circular, 1)]), "no shift uses source 0, but there are sources up to 1");
    assert_eq!(
        error(&[2], &[shift(0, Edge::Array(1), 0)]),
        "boundary arrays must be numbered from 0, each used by one shift; number 0 is not"
    );
    assert!(error(&[usize::MAX / 4, 0], &[shift(0, Edge::Circular, 0)]).contains("larger than can be addressed"));
}

#[test]
fn the_summary_counts_what_moves() {
    let shifts = [1, -1].map(|by| Shift { axis: 1, by, edge: Edge::Circular, source: 0 });
    let summary = Plan::new(&[8, 8], 8, &shifts).unwrap().summary();
    assert_eq!((summary.strategy, summary.read, summary.written, summary.threads), ("lines", 512, 1024, 1));
    assert_eq!((summary.shifts[0].slab, summary.shifts[0].slabs, summary.shifts[0].incoming), (64, 8, 64));
    assert_eq!((summary.shifts[1].by, summary.shifts[1].incoming), (-1, 64));
    assert_eq!(Plan::new(&[0, 8], 8, &shifts).unwrap().summary().strategy, "nothing");
}
