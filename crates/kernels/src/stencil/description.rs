//! What a stencil is: neighbours with coefficients, and what lies beyond the array.

use std::sync::Arc;

use super::error::StencilError;
use super::scalar::Scalar;

/// Most axes that a stencil may have.
pub const MAX_AXES: usize = 4;

/// Most sites from a point to a neighbour along an axis.
const FURTHEST: usize = 1 << 30;

/// The weighted sum `result[i] = sum over points of coefficient * x[i + offset]`.
///
/// A point with offset `d` is what `CSHIFT(x, d)` (or `EOSHIFT`) of Fortran holds at `i`, shifted along axis 0 first, then
/// along axis 1, and so on (George, Brickner, Johnsson 1994, figure 5); `numpy.roll` has the opposite sign.
#[derive(Clone, Debug)]
pub struct Stencil<T> {
    axes: usize,
    points: Vec<Point<T>>,
}

/// One neighbour.
#[derive(Clone, Debug)]
pub struct Point<T> {
    /// Where it lies, in sites along each axis.
    pub offset: Vec<isize>,
    /// What it is multiplied by.
    pub coefficient: Coefficient<T>,
}

/// What a neighbour is multiplied by.
#[derive(Clone, Debug)]
pub enum Coefficient<T> {
    /// The same everywhere.
    Constant(T),
    /// A value for each site, or for each index along some of the axes.
    Array(Array<T>),
    /// A value for each element of each site, which lie together: the stride of the last axis is that of a site.
    Elements(Array<T>),
}

/// Values in memory that their owner keeps: nothing is copied.
#[derive(Clone)]
pub struct Array<T> {
    values: *const T,
    strides: Vec<isize>,
    /// Kept, never looked at.
    _owner: Arc<dyn Send + Sync>,
}

// SAFETY: the values are only read, and the owner, which is Send, goes along.
unsafe impl<T: Send + Sync> Send for Array<T> {}
// SAFETY: the values are only read, by whichever threads, and the owner, which is Sync, is kept.
unsafe impl<T: Send + Sync> Sync for Array<T> {}

impl<T> std::fmt::Debug for Array<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Array with strides {:?}", self.strides)
    }
}

impl<T: Scalar> Array<T> {
    /// Values of a vector: `strides` are in elements, one for each axis, and 0 along axes on which nothing depends.
    ///
    /// Raises [`StencilError::Stencil`] where an index within `extents` would leave the vector.
    pub fn new(values: Vec<T>, extents: &[usize], strides: &[isize]) -> Result<Array<T>, StencilError> {
        let reached: isize =
            extents.iter().zip(strides).map(|(&extent, &stride)| (extent as isize - 1).max(0) * stride.max(0)).sum();
        if strides.iter().any(|&stride| stride < 0)
            || extents.len() != strides.len()
            || reached >= values.len() as isize
        {
            return Err(StencilError::Stencil(format!(
                "{} coefficients with strides {strides:?} do not cover an array of {extents:?}",
                values.len()
            )));
        }
        let owner = Arc::new(values);
        Ok(Array { values: owner.as_ptr(), strides: strides.to_vec(), _owner: owner })
    }

    /// Values in memory of another owner.
    ///
    /// # Safety
    /// `values` is valid for every index within the extents of the plans that this is used for, as long as `owner` lives.
    pub unsafe fn borrowed(values: *const T, strides: &[isize], owner: Arc<dyn Send + Sync>) -> Array<T> {
        Array { values, strides: strides.to_vec(), _owner: owner }
    }

    /// Elements from one index to the next, for each axis.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    pub(super) fn as_ptr(&self) -> *const T {
        self.values
    }
}

/// What lies beyond both ends of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Boundary<T> {
    /// The axis begins again: CSHIFT.
    Circular,
    /// This value: EOSHIFT with a scalar.
    Value(T),
    /// A value for each index of the other axes, in C order: EOSHIFT with an array of one rank less.
    Array(Face<T>),
}

/// The values of a boundary array, in memory of their own or of another owner, who may change them between calls.
#[derive(Clone)]
pub struct Face<T> {
    values: *const T,
    length: usize,
    _owner: Arc<dyn Send + Sync>,
}

// SAFETY: the values are only read, and live as long as their owner, which may be sent and shared.
unsafe impl<T: Send + Sync> Send for Face<T> {}
// SAFETY: through a shared face the values are only read.
unsafe impl<T: Send + Sync> Sync for Face<T> {}

impl<T> Face<T> {
    /// Values in memory of another owner.
    ///
    /// # Safety
    /// `values` begins as many of them, and they are not written during a call of a plan, as long as `owner` lives.
    pub unsafe fn borrowed(values: *const T, length: usize, owner: Arc<dyn Send + Sync>) -> Face<T> {
        Face { values, length, _owner: owner }
    }
}

impl<T> std::ops::Deref for Face<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: as `borrowed` asks; what is collected below is a vector of that length.
        unsafe { std::slice::from_raw_parts(self.values, self.length) }
    }
}

impl<T: Send + Sync + 'static> FromIterator<T> for Face<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Face<T> {
        let owner: Arc<Vec<T>> = Arc::new(values.into_iter().collect());
        Face { values: owner.as_ptr(), length: owner.len(), _owner: owner }
    }
}

impl<T: PartialEq> PartialEq for Face<T> {
    fn eq(&self, other: &Face<T>) -> bool {
        **self == **other
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Face<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.iter().collect::<Vec<_>>().fmt(formatter)
    }
}

impl<T: Scalar> Stencil<T> {
    /// A stencil of these points over `axes` axes. Raises [`StencilError::Stencil`].
    pub fn new(axes: usize, points: Vec<Point<T>>) -> Result<Stencil<T>, StencilError> {
        let refuse = |message: String| Err(StencilError::Stencil(message));
        if !(1..=MAX_AXES).contains(&axes) {
            return refuse(format!("a stencil has 1 to {MAX_AXES} axes, not {axes}"));
        }
        if points.is_empty() {
            return refuse("a stencil needs at least one point".to_string());
        }
        for (number, point) in points.iter().enumerate() {
            if point.offset.len() != axes {
                return refuse(format!("offset {:?} has {} axes, expected {axes}", point.offset, point.offset.len()));
            }
            if point.offset.iter().any(|&offset| offset.unsigned_abs() > FURTHEST) {
                return refuse(format!("offset {:?} is too far: at most {FURTHEST} sites along an axis", point.offset));
            }
            if points[..number].iter().any(|other| other.offset == point.offset) {
                return refuse(format!("offset {:?} is there twice", point.offset));
            }
            if let Coefficient::Array(array) | Coefficient::Elements(array) = &point.coefficient
                && array.strides.len() != axes
            {
                return refuse(format!(
                    "the coefficients at offset {:?} have {} strides, expected {axes}",
                    point.offset,
                    array.strides.len()
                ));
            }
        }
        Ok(Stencil { axes, points })
    }

    /// How many axes it has.
    pub fn axes(&self) -> usize {
        self.axes
    }

    /// Its neighbours, in the order they were given.
    pub fn points(&self) -> &[Point<T>] {
        &self.points
    }

    /// How far it reaches along each axis: sites below and above, neither negative.
    pub fn reach(&self) -> Vec<(usize, usize)> {
        (0..self.axes)
            .map(|axis| {
                let offsets = self.points.iter().map(|point| point.offset[axis]);
                let low = offsets.clone().min().unwrap_or(0).min(0).unsigned_abs();
                (low, offsets.max().unwrap_or(0).max(0).unsigned_abs())
            })
            .collect()
    }
}
