//! Shifts of arrays in one process: planned once, done at once, as often as wanted.
//!
//! A [`Plan`] is made from a shape, the size of an element and any number of [`Shift`]s; it works for all arrays of that
//! shape, as PSHIFT_SETUP does for arrays of one layout (George, Brickner, Johnsson 1994, section 3). Making one does
//! what is the same for every call: it clips distances, puts constants into memory and, for each layout of arrays that
//! it meets, chooses kernels and works out what they are told ([`program`]). [`Plan::prepare`] joins it to arrays and
//! sees to overlaps; what comes out runs without any further check.

mod layout;
mod prepared;
mod program;
mod shift;
mod summary;

use std::sync::{Arc, Mutex, PoisonError};

pub use layout::{Strided, StridedMut, elements_apart, ranges_meet};
pub use prepared::Prepared;
use program::Program;
pub use shift::{Edge, PlanError, Shift};
pub use summary::{ShiftSummary, Summary};

/// Layouts other than the dense one whose programs a plan keeps.
const KEPT: usize = 8;

/// Shifts of arrays of one shape and one size of elements.
#[derive(Debug)]
pub struct Plan {
    pub(crate) shape: Vec<usize>,
    pub(crate) item: usize,
    pub(crate) shifts: Vec<Shift>,
    pub(crate) sources: usize,
    /// Axis of the shift that each boundary array belongs to.
    pub(crate) boundaries: Vec<usize>,
    pub(crate) bytes: usize,
    /// Constants, repeated: see [`program::constant`].
    pub(crate) constants: Vec<Vec<u8>>,
    dense: Arc<Program>,
    /// Programs of other layouts, the newest last.
    others: Mutex<Vec<(Vec<isize>, Arc<Program>)>>,
}

impl Plan {
    /// Checks the shifts and works out those of C-ordered arrays.
    ///
    /// Boundary arrays are numbered by [`Edge::Array`] from 0 without gaps; so are sources. Extents times `item` must not
    /// be more than can be addressed.
    ///
    /// # Errors
    /// [`PlanError`]: which shift, source or boundary is wrong.
    ///
    /// # Examples
    /// ```
    /// use weft_polyshift::plan::{Edge, Plan, Shift};
    ///
    /// // Two outputs of one source of 4 by 6 elements of 8 bytes, which is read once.
    /// let shift = |axis, by| Shift { axis, by, edge: Edge::Circular, source: 0 };
    /// let plan = Plan::new(&[4, 6], 8, &[shift(0, 1), shift(1, -1)]).unwrap();
    /// let summary = plan.summary();
    /// assert_eq!((summary.read, summary.written), (192, 2 * 192));
    /// let error = Plan::new(&[4, 6], 8, &[shift(2, 1)]).unwrap_err();
    /// assert_eq!(error.to_string(), "shift 0: there is no axis 2 in an array of rank 2");
    /// ```
    pub fn new(shape: &[usize], item: usize, shifts: &[Shift]) -> Result<Self, PlanError> {
        let bytes = shift::bytes_of(shape, item)?;
        let shifts = shift::checked(shape, item, shifts)?;
        let sources = shifts.iter().map(|shift| shift.source + 1).max().unwrap_or(0);
        let boundaries = shift::boundary_axes(&shifts)?;
        let constants = shifts
            .iter()
            .filter_map(|shift| match &shift.edge {
                Edge::Constant(element) => Some(program::constant(element)),
                _ => None,
            })
            .collect();
        let mut plan = Self {
            shape: shape.to_vec(),
            item,
            shifts,
            sources,
            boundaries,
            bytes,
            constants,
            dense: Arc::default(),
            others: Mutex::default(),
        };
        plan.dense = Arc::new(Program::new(&plan, &plan.dense_strides()));
        Ok(plan)
    }

    /// Extents of all sources and outputs.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Bytes of an element.
    pub fn item(&self) -> usize {
        self.item
    }

    /// Bytes of one source or output.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many arrays are shifted.
    pub fn sources(&self) -> usize {
        self.sources
    }

    /// How many arrays come out: one for each shift.
    pub fn outputs(&self) -> usize {
        self.shifts.len()
    }

    /// How many boundary arrays are taken.
    pub fn boundaries(&self) -> usize {
        self.boundaries.len()
    }

    /// Extents of a boundary array: all axes but the one that is shifted.
    pub fn face(&self, boundary: usize) -> Vec<usize> {
        layout::without(&self.shape, self.boundaries[boundary])
    }

    /// What calls with C-ordered arrays do.
    pub fn summary(&self) -> Summary {
        Summary::new(self, &self.dense)
    }

    /// Joins the plan to C-ordered arrays that do not overlap: nothing is looked up.
    ///
    /// # Panics
    ///
    /// Where the numbers of arrays are not the plan's.
    pub fn prepare_dense(&self, sources: &[*const u8], boundaries: &[*const u8], outputs: &[*mut u8]) -> Prepared {
        assert_eq!(sources.len(), self.sources, "sources");
        assert_eq!(boundaries.len(), self.boundaries.len(), "boundary arrays");
        assert_eq!(outputs.len(), self.shifts.len(), "outputs");
        Prepared::new(self, Arc::clone(&self.dense), sources, boundaries, outputs.to_vec(), Vec::new())
    }

    /// Joins the plan to arrays of any layout. A source or boundary array whose range of addresses meets that of an
    /// output is copied first at each run, as PSHIFT does (section 3, step 1).
    ///
    /// The plan must live as long as what comes out is run: constants are read from it.
    ///
    /// # Panics
    ///
    /// Where the numbers of arrays or strides are not the plan's.
    pub fn prepare(&self, sources: &[Strided<'_>], boundaries: &[Strided<'_>], outputs: &[StridedMut<'_>]) -> Prepared {
        assert_eq!(sources.len(), self.sources, "sources");
        assert_eq!(boundaries.len(), self.boundaries.len(), "boundary arrays");
        assert_eq!(outputs.len(), self.shifts.len(), "outputs");
        let written: Vec<_> =
            outputs.iter().map(|out| layout::range(out.pointer, out.strides, &self.shape, self.item)).collect();
        let mut strides = Vec::new();
        let mut copies = Vec::new();
        let mut pointers = Vec::new();
        let faces: Vec<Vec<usize>> = (0..boundaries.len()).map(|boundary| self.face(boundary)).collect();
        let inputs = sources.iter().map(|source| (source, &self.shape)).chain(boundaries.iter().zip(&faces));
        for (array, shape) in inputs {
            let read = layout::range(array.pointer, array.strides, shape, self.item);
            if written.iter().any(|written| layout::meet(*written, read)) {
                let dense = layout::dense_strides(shape, self.item);
                let copy = prepared::FirstCopy::new(*array, shape, &dense, self.item);
                pointers.push(copy.pointer());
                copies.push(copy);
                strides.extend(dense);
            } else {
                pointers.push(array.pointer);
                strides.extend_from_slice(array.strides);
            }
        }
        strides.extend(outputs.iter().flat_map(|out| out.strides));
        let program = self.program(&strides);
        let (sources, boundaries) = pointers.split_at(self.sources);
        let outputs = outputs.iter().map(|out| out.pointer).collect();
        Prepared::new(self, program, sources, boundaries, outputs, copies)
    }

    /// The program for a layout: strides of the sources, the boundary arrays and the outputs, one after the other.
    fn program(&self, strides: &[isize]) -> Arc<Program> {
        if strides == self.dense_strides() {
            return Arc::clone(&self.dense);
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, program)) = others.iter().find(|(known, _)| known == strides) {
            return Arc::clone(program);
        }
        let program = Arc::new(Program::new(self, strides));
        if others.len() == KEPT {
            others.remove(0);
        }
        others.push((strides.to_vec(), Arc::clone(&program)));
        program
    }

    fn dense_strides(&self) -> Vec<isize> {
        let whole = layout::dense_strides(&self.shape, self.item);
        let mut strides: Vec<isize> = whole.repeat(self.sources);
        for boundary in 0..self.boundaries.len() {
            strides.extend(layout::dense_strides(&self.face(boundary), self.item));
        }
        strides.extend(whole.repeat(self.shifts.len()));
        strides
    }
}
