//! Geometries of distributed arrays. Conversions only.

use pyo3::prelude::*;
use weft_polyshift::geometry::{Geometry, Layout, Order};

use crate::errors::usage;

/// The blocks of an array over ranks.
#[pyclass(name = "Blocks", module = "weft._core", frozen)]
pub struct PyBlocks(pub(crate) Geometry);

#[pymethods]
impl PyBlocks {
    /// Divides a shape over ranks; an order is "news", "send" or None. Raises UsageError.
    #[new]
    #[pyo3(signature = (shape, ranks, weights, serial, order, grid))]
    fn new(
        shape: Vec<usize>,
        ranks: usize,
        weights: Vec<f64>,
        serial: Vec<usize>,
        order: Vec<Option<String>>,
        grid: Option<Vec<usize>>,
    ) -> PyResult<PyBlocks> {
        let order = order.iter().map(|name| match name.as_deref() {
            None => Ok(None),
            Some("news") => Ok(Some(Order::News)),
            Some("send") => Ok(Some(Order::Send)),
            Some(other) => Err(usage(format!("there is no order '{other}'; there are 'news' and 'send'"))),
        });
        let order = order.collect::<PyResult<_>>()?;
        Geometry::new(&shape, ranks, &Layout { weights, serial, order, grid }).map(PyBlocks).map_err(usage)
    }

    /// The ranks of each axis.
    #[getter]
    fn grid(&self) -> Vec<usize> {
        self.0.grid()
    }

    /// The shape of a full block.
    #[getter]
    fn block(&self) -> Vec<usize> {
        self.0.block()
    }

    /// The order of each axis: "news" or "send".
    #[getter]
    fn order(&self) -> Vec<&'static str> {
        self.0.axes().iter().map(|axis| axis.order().name()).collect()
    }

    /// The coordinates of a rank's block.
    fn coordinates(&self, rank: usize) -> Vec<usize> {
        self.0.coordinates_of(rank)
    }

    /// The rank of the block at some coordinates.
    fn rank_of(&self, coordinates: Vec<usize>) -> PyResult<usize> {
        let grid = self.0.grid();
        if coordinates.len() != grid.len()
            || coordinates.iter().zip(&grid).any(|(coordinate, ranks)| coordinate >= ranks)
        {
            return Err(usage(format!("there is no block at {coordinates:?}: the grid is {grid:?}")));
        }
        Ok(self.0.rank_of(&coordinates))
    }

    /// The shape of what a rank has.
    fn local_shape(&self, rank: usize) -> Vec<usize> {
        self.0.local_shape(rank)
    }

    /// The first element of a rank's block.
    fn start(&self, rank: usize) -> Vec<usize> {
        self.0.start(rank)
    }

    /// The rank that has an element and its place there; None outside of the array.
    fn owner(&self, element: Vec<usize>) -> Option<(usize, Vec<usize>)> {
        self.0.owner(&element)
    }

    /// The element at a place of a rank's block; None for padding.
    fn element(&self, rank: usize, local: Vec<usize>) -> Option<Vec<usize>> {
        self.0.element(rank, &local)
    }

    /// The rank next to one along an axis; None at an end.
    fn neighbour(&self, rank: usize, axis: usize, step: i64, circular: bool) -> PyResult<Option<usize>> {
        let axes = self.0.dimensions();
        if axis >= axes {
            return Err(usage(format!("there is no axis {axis}: the blocks have {axes}")));
        }
        Ok(self.0.neighbour(rank, axis, step, circular))
    }
}
