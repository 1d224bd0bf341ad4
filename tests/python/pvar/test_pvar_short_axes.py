"""Reductions along short axes beside numpy's, of lines that end before, at and behind powers of two."""

from itertools import product

import numpy as np
import pytest

import weft
from weft import pvar
from weft.pvar.operators import neutral

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49)
SHAPES = [
    *((lines, extent) for extent, lines in product(EXTENTS, (1, 65, 513))),
    *((planes, extent, after) for extent, planes, after in product(EXTENTS, (1, 67), (1, 2, 7, 8, 9, 33))),
]
NUMPY = {"sum": np.sum, "multiply": np.prod, "max": np.max, "min": np.min, "or": np.any, "and": np.all}
DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


def data_of(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Integers of all sizes, whose sums wrap around; whole floats, whose sums are exact, some NaN and infinities."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.3
    if kind.kind == "f":
        data = rng.integers(-9, 9, shape).astype(dtype)
        data[rng.random(shape) < 0.02] = np.nan
        data[rng.random(shape) < 0.02] = np.inf
        return data
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)


def expected(operator: str, data: np.ndarray, axis: int, mask: np.ndarray | None, initial: object) -> np.ndarray:
    options = {} if mask is None else {"where": mask}
    if operator in ("max", "min"):
        options["initial"] = initial
    with np.errstate(all="ignore"):
        total = NUMPY[operator](data, axis=axis, keepdims=True, **options)
    if operator in ("max", "min") and mask is not None and data.dtype.kind == "f":
        # numpy has the initial value take part in every line, weft where nobody else does.
        total = np.where(mask.any(axis=axis, keepdims=True), total, initial).astype(data.dtype)
    return np.broadcast_to(total, data.shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_short_axes_come_to_what_numpy_says(dtype):
    rng = np.random.default_rng(7)
    kind = np.dtype(dtype).kind
    operators = ("or", "and", "max", "min") if kind == "b" else ("sum", "max", "min")
    operators += ("multiply",) if kind in "iu" else ()
    for shape in SHAPES:
        data, vp = data_of(dtype, shape, rng), pvar.VPSet(shape)
        x = vp.array(data)
        for operator, density in product(operators, (None, 0.0, 0.6, 1.0)):
            mask = None if density is None else rng.random(shape) < density
            nothing = neutral(operator, data.dtype) if operator in ("max", "min") else None
            with vp.where(vp.array(np.ones(shape, bool) if mask is None else mask)):
                got = pvar.reduce(x, operator, axis=1, initial=nothing).data
            if mask is None:
                assert np.array_equal(pvar.reduce(x, operator, axis=1).data, got, equal_nan=kind == "f")
            wanted = expected(operator, data, 1, mask, nothing)
            assert got.dtype == wanted.dtype
            assert np.array_equal(got, wanted, equal_nan=kind == "f"), (shape, operator, density)


@pytest.mark.parametrize("shape", [(600, 9), (70, 8, 8), (1, 3)])
def test_lines_of_nobody_are_refused_and_counted(shape):
    vp = pvar.VPSet(shape)
    x = vp.array(np.arange(np.prod(shape)).reshape(shape))
    mask = np.ones(shape, bool)
    mask[0, :, ...] = False
    lines = int(np.prod(shape[2:], dtype=int))
    with vp.where(vp.array(mask)):
        with pytest.raises(weft.UsageError, match=f"no processor of {lines} lines along axis 1 is selected"):
            pvar.reduce(x, "max", axis=1)
        got = pvar.reduce(x, "max", axis=1, initial=-5).data
    assert (got[0] == -5).all()
    assert (got[1:] == x.data[1:].max(axis=1, keepdims=True)).all()


def test_sums_do_not_depend_on_who_else_is_there():
    """A line's sum has the same bits in an array of one line, of many, and with all selected."""
    rng = np.random.default_rng(3)
    for extent, after in product(EXTENTS, (1, 3, 8)):
        data = rng.random((131, extent, after))
        vp = pvar.VPSet(data.shape)
        sums = pvar.reduce(vp.array(data), "sum", axis=1).data
        with vp.where(vp.full(True)):
            assert np.array_equal(pvar.reduce(vp.array(data), "sum", axis=1).data, sums)
        first = pvar.VPSet((1, extent, after))
        assert np.array_equal(pvar.reduce(first.array(data[:1]), "sum", axis=1).data, sums[:1])
