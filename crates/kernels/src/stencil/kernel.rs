//! The kernel that a plan has chosen for its rows, with its coefficients.

use std::sync::Arc;

use weft_simd::Level;

use super::arrays::OUTER;
use super::columns::{Columns, ColumnsKernel};
use super::description::{Array, Coefficient, Stencil};
use super::direct::{DirectKernel, Reach, Seams};
use super::element::Element;
use super::span::MAX_OWN;

/// How rows are computed.
pub(super) enum Kernel<T> {
    Columns { columns: Columns<T>, run: ColumnsKernel<T> },
    Direct { terms: Vec<Term<T>>, seams: Seams, run: DirectKernel<T> },
}

impl<T: Element> Kernel<T> {
    /// Whether rows of so many elements that follow one another in source and result can be one call.
    pub(super) fn follows_rows(&self, axes: usize, pitch: isize) -> bool {
        let Kernel::Direct { terms, seams, .. } = self else { return true };
        let follows = |term: &Term<T>| match &term.factor {
            Factor::Constant(_) => true,
            Factor::Row(_) => false,
            Factor::Varying(array) => axes > 1 && array.strides()[axes - 2] == pitch,
        };
        seams.reach_within() && terms.iter().all(follows)
    }

    /// Whether what comes from memory is prefetched: not where most coefficients do. Beside hints for all streams, 7 to
    /// 27 arrays are read a tenth to a fifth faster without any.
    pub(super) fn prefetches(&self) -> bool {
        let Kernel::Direct { terms, .. } = self else { return true };
        let varying = terms.iter().filter(|term| matches!(term.factor, Factor::Varying(_))).count();
        2 * varying <= terms.len()
    }

    /// Whether two terms are beside an element's own column, as in stars that have a kernel of their own.
    pub(super) fn is_star(&self) -> bool {
        let Kernel::Direct { terms, .. } = self else { return false };
        let own = terms.iter().filter(|term| term.offset == 0).count();
        own <= MAX_OWN && terms.len() == own + 2 && !self.factors_vary()
    }

    /// Whether coefficients differ from row to row.
    pub(super) fn factors_vary(&self) -> bool {
        match self {
            Kernel::Columns { .. } => false,
            Kernel::Direct { terms, .. } => terms.iter().any(|term| !matches!(term.factor, Factor::Constant(_))),
        }
    }
}

/// One point of a stencil, as the direct kernel takes it.
pub(super) struct Term<T> {
    pub(super) group: usize,
    pub(super) offset: isize,
    pub(super) factor: Factor<T>,
}

pub(super) enum Factor<T> {
    Constant(T),
    /// One value for a row.
    Row(Array<T>),
    /// A value for each element of a row.
    Varying(Array<T>),
}

/// The kernel of a stencil, with the stencil's distinct offsets in all axes but the last in the order of the kernel.
pub(super) fn choose<T: Element>(
    stencil: &Stencil<T>,
    extents: &[usize],
    components: usize,
    instructions: Level,
) -> (Kernel<T>, Vec<[isize; OUTER]>) {
    let mut groups: Vec<[isize; OUTER]> = Vec::new();
    for point in stencil.points() {
        let offset = outer_offset(&point.offset);
        if !groups.contains(&offset) {
            groups.push(offset);
        }
    }
    // In the order of memory, in whatever order the points are given.
    let mut sorted = groups.clone();
    sorted.sort_unstable();
    if let Some(coefficients) = column_coefficients(stencil, &sorted, components) {
        let offsets: Vec<&[isize]> = sorted.iter().map(|group| &group[..stencil.axes() - 1]).collect();
        let columns = Columns::new(&coefficients, &offsets);
        if !columns.is_star() {
            groups = columns.order().iter().map(|&group| sorted[group]).collect();
            let run = T::columns_kernel(instructions, columns.is_symmetric());
            return (Kernel::Columns { columns, run }, groups);
        }
    }
    let (low, high) = stencil.reach()[stencil.axes() - 1];
    let terms = direct_terms(stencil, &groups, extents, components);
    let row = extents.last().map_or(0, |extent| extent * components);
    let reach = Reach { low: low * components, high: high * components };
    let seams = Seams::new(row, reach, &distances(&terms));
    (Kernel::Direct { terms, seams, run: T::direct_kernel(instructions) }, groups)
}

/// The distances along a row, each once, from an element to neighbours that are not in its own column.
pub(super) fn distances<T>(terms: &[Term<T>]) -> Vec<isize> {
    let mut distances: Vec<isize> = terms.iter().map(|term| term.offset).filter(|&offset| offset != 0).collect();
    distances.sort_unstable();
    distances.dedup();
    distances
}

fn outer_offset(offset: &[isize]) -> [isize; OUTER] {
    let mut outer = [0; OUTER];
    outer[..offset.len() - 1].copy_from_slice(&offset[..offset.len() - 1]);
    outer
}

/// The coefficients of columns -1, 0, 1 for each group, where all are constant and no point is further away.
fn column_coefficients<T: Element>(
    stencil: &Stencil<T>,
    groups: &[[isize; OUTER]],
    components: usize,
) -> Option<Vec<[Option<T>; 3]>> {
    let mut rows = vec![[None; 3]; groups.len()];
    for point in stencil.points() {
        let Coefficient::Constant(value) = &point.coefficient else { return None };
        let column = *point.offset.last()?;
        if column.abs() > 1 || (column != 0 && components > 1) {
            return None;
        }
        let outer = outer_offset(&point.offset);
        let group = groups.iter().position(|&known| known == outer)?;
        rows[group][(column + 1) as usize] = Some(*value);
    }
    Some(rows)
}

fn direct_terms<T: Element>(
    stencil: &Stencil<T>,
    groups: &[[isize; OUTER]],
    extents: &[usize],
    components: usize,
) -> Vec<Term<T>> {
    let mut terms: Vec<Term<T>> = stencil
        .points()
        .iter()
        .map(|point| {
            let outer = outer_offset(&point.offset);
            let column = point.offset.last().copied().unwrap_or(0);
            Term {
                group: groups.iter().position(|&known| known == outer).unwrap_or(0),
                offset: column * components as isize,
                factor: match &point.coefficient {
                    Coefficient::Constant(value) => Factor::Constant(*value),
                    Coefficient::Array(array) => along_rows(array, extents, components),
                    Coefficient::Elements(array) => Factor::Varying(array.clone()),
                },
            }
        })
        .collect();
    // Terms of an element's own column first; then in the order of memory, in whatever order the points are given.
    terms.sort_by_key(|term| (term.offset != 0, term.offset, groups[term.group]));
    terms
}

/// Coefficients as rows of elements: as they are where they are contiguous along the last axis, else a copy.
fn along_rows<T: Element>(array: &Array<T>, extents: &[usize], components: usize) -> Factor<T> {
    let last = extents.len() - 1;
    let strides = array.strides();
    if strides[last] == 0 {
        return Factor::Row(array.clone());
    }
    if (strides[last] == 1 || extents[last] <= 1) && components == 1 {
        return Factor::Varying(array.clone());
    }
    let held: Vec<usize> =
        (0..=last).map(|axis| if axis < last && strides[axis] == 0 { 1 } else { extents[axis] }).collect();
    let sites: usize = held.iter().product();
    let mut values = Vec::with_capacity(sites * components);
    for site in 0..sites {
        let (mut rest, mut position) = (site, 0);
        for axis in (0..=last).rev() {
            position += (rest % held[axis]) as isize * strides[axis];
            rest /= held[axis];
        }
        // SAFETY: an index within the extents.
        let value = unsafe { *array.as_ptr().offset(position) };
        values.extend(std::iter::repeat_n(value, components));
    }
    let mut copied = vec![0; last + 1];
    let mut step = components as isize;
    for axis in (0..=last).rev() {
        copied[axis] = if held[axis] == 1 && axis < last { 0 } else { step };
        step *= held[axis] as isize;
    }
    let owner: Arc<Vec<T>> = Arc::new(values);
    // SAFETY: the copy has a row for every index that its strides reach.
    Factor::Varying(unsafe { Array::borrowed(owner.as_ptr(), &copied, owner.clone()) })
}
