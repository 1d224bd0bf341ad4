//! Makes plans: refuses what does not fit together, and chooses how rows are computed and in what order.

use std::sync::Mutex;

use weft_simd::{Level, level};

use super::arrays::OUTER;
use super::description::{Boundary, MAX_AXES, Stencil};
use super::element::Element;
use super::error::StencilError;
use super::kernel::{self, Factor, Kernel};
use super::plan::{Options, Plan};
use super::traversal::{self, Ahead, Bundle, Depth, Tile};
use super::{steps, tiles};

impl<T: Element> Plan<T> {
    /// Prepares a stencil for arrays of these extents (sites along each axis). Raises [`StencilError::Plan`].
    pub fn new(
        stencil: &Stencil<T>,
        extents: &[usize],
        boundaries: Vec<Boundary<T>>,
        options: Options,
    ) -> Result<Plan<T>, StencilError> {
        let axes = stencil.axes();
        check(stencil, extents, &boundaries, &options)?;
        let mut outer = [1; OUTER];
        outer[..axes - 1].copy_from_slice(&extents[..axes - 1]);
        let row = extents[axes - 1] * options.components;
        let instructions = options.instructions.unwrap_or_else(level);
        let reach = stencil.reach();
        let (kernel, groups) = kernel::choose(stencil, extents, options.components, instructions);
        let margin = (reach[axes - 1].0 + reach[axes - 1].1) * options.components;
        let boundary_rows = boundaries
            .iter()
            .map(|boundary| match boundary {
                Boundary::Value(value) => vec![*value; row + margin],
                _ => Vec::new(),
            })
            .collect();
        let mut plan = Plan {
            axes,
            extents: extents.to_vec(),
            options,
            instructions,
            outer,
            row,
            reach,
            groups,
            kernel,
            boundaries,
            boundary_rows,
            tile: Tile { second: outer[1], third: outer[2], columns: row },
            depth: Depth { steps: 1, second: outer[1] },
            offsets: stencil.points().iter().map(|point| point.offset.clone()).collect(),
            leading: Vec::new(),
            ahead: Ahead::IN_MEMORY,
            bundle: None,
            works: Mutex::new(Vec::new()),
            temporary: Mutex::new(Vec::new()),
        };
        plan.tile = tiles::choose(&plan);
        plan.depth = steps::choose(&plan);
        let is_cut = plan.tile != Tile { second: outer[1], third: outer[2], columns: row };
        plan.leading = traversal::leading(&plan.groups, is_cut || plan.prefetches_each_plane());
        // In three axes planes are read in long runs as they are, and nothing is gained.
        if !is_cut && axes == MAX_AXES && plan.is_star_of_far_planes() {
            let reach = plan.reach[1].0 + plan.reach[1].1;
            plan.bundle = Bundle::choose(outer[2], row * size_of::<T>(), reach, options.step_cache);
        }
        Ok(plan)
    }

    /// Whether rows that follow one another are computed by twos.
    pub(super) fn computes_pairs(&self) -> bool {
        self.instructions == Level::Avx512
            && matches!(&self.kernel, Kernel::Columns { columns, .. } if columns.is_threes())
    }

    /// Whether rows are prefetched in each plane, though only one of them comes from memory: those of a star come from
    /// the last-level cache where planes outgrow the one before, and all of them must be prefetched or none.
    fn prefetches_each_plane(&self) -> bool {
        self.computes_pairs() || self.is_star_of_far_planes()
    }

    /// Whether it is a star that has a kernel of its own, and planes that do not stay in the second-level cache until they
    /// have served all rows that need them.
    fn is_star_of_far_planes(&self) -> bool {
        let planes = self.reach[0].0 + self.reach[0].1 + 1;
        let held = planes * self.outer[1] * self.outer[2] * self.row * size_of::<T>();
        let is_near = |offset: &Vec<isize>| offset.iter().map(|by| by.unsigned_abs()).sum::<usize>() < 2;
        let is_star = self.offsets.iter().all(is_near);
        let is_star = is_star && !self.kernel.factors_vary();
        let has_kernel = self.instructions == Level::Avx512;
        // What is written takes some of the cache too.
        has_kernel && is_star && self.axes > 2 && held >= self.options.step_cache
    }

    /// What will be done, in words.
    pub fn explain(&self) -> String {
        let kernel = match &self.kernel {
            Kernel::Columns { columns, .. } => format!(
                "sums by columns: {} rows in {} classes of equal coefficients{}{}",
                self.groups.len(),
                columns.classes(),
                if columns.is_symmetric() { ", both outer columns from one sum" } else { "" },
                if self.computes_pairs() { ", two rows of results at once" } else { "" }
            ),
            Kernel::Direct { terms, .. } => {
                let varying = terms.iter().filter(|term| matches!(term.factor, Factor::Varying(_))).count();
                format!(
                    "term by term: {} rows, {} constant terms, {varying} with coefficients along the row",
                    self.groups.len(),
                    terms.len() - varying
                )
            }
        };
        let stores = if self.streams(1) { "non-temporal stores" } else { "cached stores" };
        let mut text = format!(
            "{} points over {:?} sites of {} {} byte elements\nkernel: {kernel}; {:?} instructions\n\
             results are written by {stores}\n",
            self.offsets.len(),
            self.extents,
            self.options.components,
            size_of::<T>(),
            self.instructions
        );
        text.push_str(&tiles::explain(self));
        if let Some(Bundle { planes, .. }) = self.bundle.filter(|_| self.streams(1)) {
            text.push_str(&format!("planes of axis 0: {planes} together, one index of axis 1 of each in turn\n"));
        }
        text.push_str(&steps::explain(self));
        text.push_str(&format!("moves at least {} bytes a step\n", self.bytes(1)));
        text
    }
}

/// The most bytes that are copied at an end of a row, by each thread, where neighbours are further away than a row is long.
/// Within a row none are, but for the elements of one site.
const MAX_COPIED: usize = 256 << 20;

/// Refuses what does not fit together.
fn check<T: Element>(
    stencil: &Stencil<T>,
    extents: &[usize],
    boundaries: &[Boundary<T>],
    options: &Options,
) -> Result<(), StencilError> {
    let refuse = |message: String| Err(StencilError::Plan(message));
    let axes = stencil.axes();
    if extents.len() != axes {
        return refuse(format!(
            "a stencil of {axes} axes cannot be applied to an array of {}: {extents:?}",
            extents.len()
        ));
    }
    if boundaries.len() != axes {
        return refuse(format!(
            "a stencil of {axes} axes needs {axes} boundaries, one for each, not {}",
            boundaries.len()
        ));
    }
    if options.components == 0 || options.threads == 0 || options.steps == 0 || options.steps_at_once == Some(0) {
        return refuse("components, threads and steps must be at least 1".to_string());
    }
    let sites = extents.iter().try_fold(options.components, |product, &extent| product.checked_mul(extent));
    if sites.and_then(|sites| sites.checked_mul(size_of::<T>())).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return refuse(format!("an array of {extents:?} sites does not fit into memory"));
    }
    let (low, high) = stencil.reach()[axes - 1];
    let copied = (low + high).saturating_mul(options.components).saturating_mul(size_of::<T>());
    let copied = copied.saturating_mul(stencil.points().len());
    if low.max(high) > extents[axes - 1] && copied > MAX_COPIED {
        return refuse(format!(
            "a stencil that reaches {low} sites before an element and {high} behind it in rows of {}, which are shorter, has to \
             copy {copied} bytes at an end of a row; the limit is {MAX_COPIED}",
            extents[axes - 1]
        ));
    }
    for (axis, boundary) in boundaries.iter().enumerate() {
        if let Boundary::Array(values) = boundary {
            let others = extents.iter().enumerate().filter(|&(other, _)| other != axis);
            let expected = others.map(|(_, &extent)| extent).product::<usize>() * options.components;
            if values.len() != expected {
                return refuse(format!(
                    "the boundary array of axis {axis} has {} elements; without that axis an array of {extents:?} sites has \
                     {expected}",
                    values.len()
                ));
            }
        }
    }
    match options.instructions {
        Some(wanted) if !Level::available().contains(&wanted) => {
            refuse(format!("this processor has no {wanted:?} instructions"))
        }
        _ => Ok(()),
    }
}
