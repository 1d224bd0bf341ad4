"""Distributed arrays as numpy's: `operations_program.py SCENARIO`; prints `SCENARIO: ok` where all is well."""

import copy
import operator
import pickle
import sys
import warnings

import numpy as np
import pytest

import weft
from weft import UsageError

SHAPES = [(1,), (7,), (12,), (5, 6), (2, 9), (3, 1, 5), (4, 3, 2, 2)]
"""Of which some have ranks without elements, and short blocks."""


def whole(shape, dtype="f8", seed=0):
    """Whole numbers, so that sums are exact."""
    values = np.random.default_rng(seed).integers(-9, 10, shape)
    return (values + (1j * values[::-1] if np.dtype(dtype).kind == "c" else 0)).astype(dtype)


def same(distributed, expected):
    assert isinstance(distributed, weft.arrays.DistributedArray)
    actual = distributed.gather(None)
    assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
    np.testing.assert_array_equal(actual, expected)


def elements():
    """Operators and functions, between arrays of one geometry, numbers and arrays that every rank has."""
    for shape in SHAPES:
        geometry = weft.arrays.Geometry(shape)
        x, y = whole(shape), whole(shape, seed=1)
        a, b = geometry.distribute(x, halo=1), geometry.distribute(y)
        for function in (operator.add, operator.sub, operator.mul, operator.lt, operator.eq, operator.ne, np.maximum):
            same(function(a, b), function(x, y))
            same(function(a, 2), function(x, 2))
            same(function(3.5, b), function(3.5, y))
            same(function(x, b), function(x, y))
            same(function(a, y[..., :1]), function(x, y[..., :1]))
        same(-a, -x)
        same(abs(a), abs(x))
        same(np.sin(a), np.sin(x))
        same(a.astype("i4") // 3, x.astype("i4") // 3)
        for actual, expected in zip(np.divmod(a, 3), np.divmod(x, 3), strict=True):
            same(actual, expected)
        a += b
        same(a, x + y)
        assert np.add(a, 1, out=b) is b
        same(b, x + y + 1)
        np.multiply(a, 0, out=b, where=a > 0)
        same(b, np.where(x + y > 0, 0.0, x + y + 1))
        same(np.where(a > 0, a, -1.0), np.where(x + y > 0, x + y, -1.0))
        same(np.clip(a, -2, 3), np.clip(x + y, -2, 3))
        assert np.array_equal(a, x + y)
        assert not np.array_equal(a, x + y + 1)
        assert np.allclose(a, x + y + 1e-12)
        same(np.zeros_like(a), np.zeros_like(x))


def reductions():
    """Of all elements, and along axes, of types that numpy widens too."""
    for shape in SHAPES:
        geometry = weft.arrays.Geometry(shape)
        for dtype in ("f8", "f4", "i2", "u1", "c16", "?"):
            x = whole(shape, dtype)
            a = geometry.distribute(x)
            functions = [np.sum, np.any, np.all, np.prod] + ([np.max, np.min] if x.dtype.kind != "c" else [])
            for function in functions:
                actual, expected = function(a), function(x)
                assert actual == expected, (function, shape, dtype)
                assert np.asarray(actual).dtype == expected.dtype
                for axis in range(len(shape)):
                    if len(shape) > 1:
                        same(function(a, axis=axis), function(x, axis=axis))
            if len(shape) > 2:
                same(a.sum((0, -1)), x.sum((0, -1)))
        x, y = whole(shape), whole(shape, seed=1)
        a, b = geometry.distribute(x), geometry.distribute(y)
        assert a.mean() == x.mean()
        large = geometry.distribute(x + 1e5)
        assert large.mean(dtype=np.float32).dtype == large.var(dtype=np.float32).dtype == np.float32
        assert np.isclose(large.mean(dtype=np.float32), (x + 1e5).mean(dtype=np.float32))
        assert np.isclose(a.norm(), np.linalg.norm(x.ravel()))
        assert a.norm(1) == abs(x).sum()
        assert a.norm(np.inf) == abs(x).max()
        assert a.dot(b) == np.dot(x.ravel(), y.ravel()) == np.vdot(a, b) == a.dot(y)
        c = geometry.distribute(x + 1j * y)
        assert c.vdot(c) == np.vdot(x + 1j * y, x + 1j * y)
        assert np.isclose(c.norm(), np.linalg.norm((x + 1j * y).ravel()))


FUNCTIONS = [
    lambda x: x - x.mean(axis=0),
    lambda x: x - x.mean(axis=-1, keepdims=True),
    lambda x: x.sum(keepdims=True) * x,
    lambda x: [x - x.sum(axis, keepdims=True) for axis in range(x.ndim)][-2 if x.ndim > 2 else 0],
    lambda x: x.sum(where=x > 0, initial=5),
    lambda x: x.max(axis=0, where=x > 0, initial=-3),
    lambda x: np.prod(x, axis=-1, initial=2, where=x != 0),
    np.var,
    lambda x: x.std(axis=0, ddof=1) if x.shape[0] > 1 else x,
    lambda x: x.var(axis=-1, keepdims=True),
    lambda x: x.argmax(),
    lambda x: x.argmin(axis=0),
    lambda x: np.argmax(x, axis=-1, keepdims=True),
    lambda x: np.roll(x, (1, -2), (0, -1)),
    lambda x: np.cumsum(x, axis=0),
    lambda x: np.add.accumulate(x, axis=-1),
    lambda x: x.cumprod(axis=-1, dtype="f4"),
    lambda x: np.sort(x, axis=0),
    lambda x: np.argsort(x, axis=-1, kind="stable"),
    lambda x: np.diff(x, 1, 0) if x.shape[0] > 1 else x,
    lambda x: np.take(x, [0, -1, 0], axis=-1),
    lambda x: np.gradient(x, 0.5, axis=0) if x.shape[0] > 1 else x,
    lambda x: np.median(x, axis=0),
    lambda x: np.percentile(x, 30),
    lambda x: np.quantile(x, 0.3, axis=-1, keepdims=True),
    lambda x: np.fft.rfft(x, axis=-1),
    lambda x: np.fft.ifftn(np.fft.fftn(x)),
    np.flip,
    lambda x: np.flip(x, 0),
    lambda x: x.T,
    lambda x: np.transpose(x, np.roll(np.arange(x.ndim), 1).tolist()),
    lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.swapaxes(x, 0, -1),
    lambda x: np.concatenate([x, 2 * x, x], axis=0),
    lambda x: np.concatenate([x, x.astype("f4")], axis=-1),
    lambda x: np.histogram(x, 5)[0],
    lambda x: np.histogram(x, [-9, 0, 3, 10], weights=abs(x))[0],
    lambda x: np.average(x, weights=abs(x) + 1),
    lambda x: np.average(x, axis=0, weights=abs(x) + 1),
    lambda x: np.count_nonzero(x > 0),
    lambda x: np.ptp(x, axis=0),
    lambda x: np.nansum(np.where(x > 0, x, np.nan), axis=0),
    lambda x: np.round(x / 3, 1),
    lambda x: (x / 7).round(2).clip(-1, 1),
    lambda x: (x + 1j * x).conj().imag,
    lambda x: np.angle(x + 1j),
    lambda x: np.interp(x, [-9, 0, 9], [0, 1, 0]),
    lambda x: np.select([x < 0, x > 3], [-x, x + 1], 7),
    lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, 2]),
    lambda x: np.full_like(x, 3, dtype="i4"),
    lambda x: np.nonzero(x > 0)[0],
    lambda x: np.argwhere(x > 2),
    lambda x: np.linalg.norm(x, axis=0) if x.ndim > 1 else np.linalg.norm(x),
    lambda x: x[x > 0],
    lambda x: x[..., [0, -1, 0]],
    lambda x: x[np.arange(x.shape[0]) % 2 == 0],
    lambda x: len(x) + x.nbytes + x.itemsize,
    lambda x: x.tolist(),
    lambda x: [row.tolist() for row in x],
    lambda x: x @ x.T if x.ndim < 3 else x,
    lambda x: x @ np.arange(x.shape[-1]) if x.ndim == 2 else x,
    lambda x: np.arange(x.shape[0]) @ x if x.ndim == 2 else x,
    lambda x: np.dot(x.T, x) if x.ndim < 3 else x,
]


def functions():
    """numpy's functions beside those of the whole array, on blocks that are short, empty, and cut along each axis."""
    for shape in SHAPES:
        x = whole(shape)
        for axis in range(len(shape)):
            grid = [1] * len(shape)
            ranks = weft.arrays.Geometry(shape).ranks
            grid[axis] = ranks
            a = weft.arrays.Geometry(shape, grid=grid).distribute(x)
            for number, function in enumerate(FUNCTIONS):
                actual, expected = function(a), function(x)
                if isinstance(actual, weft.arrays.DistributedArray):
                    actual = actual.gather(None)
                assert np.asarray(actual).dtype == np.asarray(expected).dtype, (number, shape)
                np.testing.assert_allclose(actual, expected, 1e-12, 1e-12, err_msg=f"{number} {shape} {grid}")
    for dtype in ("f2", "i2", "c8"):
        x = whole((5, 6), dtype)
        a = weft.arrays.Geometry((5, 6)).distribute(x)
        for axis in (None, 0, 1):
            for function in (np.mean, np.var, np.std):
                actual, expected = function(a, axis=axis), function(x, axis=axis)
                actual = actual.gather(None) if axis is not None else np.asarray(actual)
                assert actual.dtype == expected.dtype, (function, dtype, axis)
                np.testing.assert_allclose(actual, expected, 2e-3 if dtype == "f2" else 1e-5)
    x = np.array([[3.0, np.nan], [9.0, np.nan]])
    a = weft.arrays.Geometry((2, 2)).distribute(x)
    assert (a.argmax(), a.argmin()) == (1, 1)
    assert (np.nanmax(a), np.nansum(a), np.nanmean(a)) == (9.0, 12.0, 6.0)


def broadcasting():
    """Distributed arrays of other shapes, and masks that are assigned to."""
    x = whole((5, 6))
    a = weft.arrays.Geometry((5, 6)).distribute(x)
    row, column = x[2], x[:, 1:2]
    b, c = weft.arrays.Geometry(6).distribute(row), weft.arrays.Geometry((5, 1)).distribute(column)
    for function in (operator.add, operator.lt, np.maximum, lambda p, q: np.where(p > q, p, q)):
        same(function(a, b), function(x, row))
        same(function(b, a), function(row, x))
        same(function(c, a), function(column, x))
        same(function(c, b), function(column, row))
        same(function(b, x), function(row, x))
    a -= b
    x = x - row
    same(a, x)
    for value in (5.0, [1.0]):
        a[a > 2] = value
        x[x > 2] = value
        same(a, x)
    a[a < 0] += 10
    x[x < 0] += 10
    same(a, x)
    a[x == 1] = np.arange((x == 1).sum())
    x[x == 1] = np.arange((x == 1).sum())
    same(a, x)
    a[a > 3] = a * 2
    x[x > 3] = (x * 2)[x > 3]
    same(a, x)
    a[[0, 3]] = 8
    x[[0, 3]] = 8
    same(a, x)
    a.fill(4)
    assert a.sum() == 120.0
    one = weft.arrays.Geometry((1, 1)).distribute(np.array([[2.5]]))
    assert (float(one), int(one), bool(one), one.item()) == (2.5, 2, True, 2.5)


def parts():
    """Reading and writing by integers and slices."""
    keys = [0, -1, slice(None), slice(1, None, 2), slice(None, None, -2), slice(5, 2), Ellipsis, (Ellipsis, slice(2))]
    for shape in SHAPES:
        geometry = weft.arrays.Geometry(shape)
        x = whole(shape)
        a = geometry.distribute(x)
        several = [(slice(1, 4), -1), (0, slice(None, None, -1)), (0, Ellipsis, 0)] if len(shape) > 1 else []
        for key in keys + several:
            expected = x[key]
            actual = a[key]
            assert np.shape(actual) == np.shape(expected), (shape, key)
            assert np.array_equal(actual, expected), (shape, key)
            a[key] = 2 * expected
            x[key] = 2 * expected
            same(a, x)
            a[key] = 5
            x[key] = 5
            same(a, x)
        a[...] = geometry.distribute(-x)
        same(a, -x)


def redistribution():
    """From one geometry to another, back, and shifts that stay divided."""
    for shape in SHAPES:
        x = whole(shape, "c8")
        first = weft.arrays.Geometry(shape)
        a = first.distribute(x)
        for axis in range(len(shape)):
            grid = [1] * len(shape)
            grid[axis] = first.ranks
            other = weft.arrays.Geometry(shape, grid=grid)
            b = a.redistribute(other)
            assert b.geometry is other
            same(b, x)
            same(b.redistribute(first), x)
            same(other.distribute(a, "c16"), x.astype("c16"))
            same(weft.arrays.cshift(b, 2, axis), np.roll(x, -2, axis))
            same(weft.arrays.cshift(b, -1, axis, out=other.zeros(x.dtype)), np.roll(x, 1, axis))
            line = np.zeros_like(np.take(x, 0, axis)) + 3
            shifted = weft.arrays.eoshift(b, 1, axis, line)
            same(shifted, weft.arrays.eoshift(x, 1, axis, line))
            same(weft.arrays.eoshift(b, -2, axis, 7), weft.arrays.eoshift(x, -2, axis, 7))
    for _ in range(2):
        for by in range(40):
            same(weft.arrays.cshift(a, by, 0), np.roll(x, -by, 0))


def equal(function, *arrays):
    """What a function of numpy's gives for distributed arrays and for numpy's, with shape and type."""
    expected = function(*arrays)
    actual = function(*(weft.arrays.Geometry(one.shape).distribute(one) for one in arrays))
    several = expected if isinstance(expected, (list, tuple)) else [expected]
    for own, wanted in zip(actual if len(several) > 1 else [actual], several, strict=True):
        result = own.gather(None) if isinstance(own, weft.arrays.DistributedArray) else np.asarray(own)
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype), (result.dtype, wanted.dtype)
        np.testing.assert_allclose(result, wanted, 1e-6)


def copies():
    """Python's copies are arrays of their own; pickles would be parts."""
    geometry = weft.arrays.Geometry((5, 4))
    a = geometry.distribute(whole((5, 4)), halo=1)
    for other in (copy.copy(a), copy.deepcopy([a])[0]):
        assert other.halo == a.halo
        other.local[...] = 0
        same(a, whole((5, 4)))
        same(other, np.zeros((5, 4)))
    with pytest.raises(TypeError, match="a distributed array cannot be pickled, .* weft.arrays.save"):
        pickle.dumps(a)


def arguments():
    """Arguments of numpy's functions that change what is computed, in their order and by name."""
    squares, x = np.array([[0, 1], [4, 9]]), whole((4, 5))
    cube = np.random.default_rng(2).random((3, 4, 5))
    for function in (
        lambda a: np.gradient(a, 2.0, 3.0, axis=(1, 0)),
        lambda a: np.gradient(a, axis=(-1, 0)),
        lambda a: np.average(a, axis=0, weights=[1, 3]),
        lambda a: np.average(a, axis=1, weights=np.array([1, 3])),
        lambda a: np.full_like(a, 0.5, float),
        lambda a: np.full_like(a, fill_value=2.5),
        lambda a: np.full_like(a, [1, 2]),
        lambda a: np.zeros_like(a, None),
        lambda a: np.zeros_like(a, float, order="C"),
        lambda a: np.ones_like(a, dtype=np.int8),
        lambda a: np.take(a, 1, axis=0),
        lambda a: np.take(a, [1, -1], 1),
        lambda a: np.linalg.norm(a, axis=1),
        lambda a: np.sort(a, 0, "stable"),
        lambda a: np.sort(a, kind="stable"),
        lambda a: np.clip(a, min=3),
        lambda a: np.histogram(a > 1, 2)[0],
        lambda a: np.isin(a, [1, 9]),
        np.nanmean,
        lambda a: np.nanmax(a, axis=1),
    ):
        equal(function, squares)
    for function in (
        lambda a: np.average(a, axis=-1, weights=np.arange(5)),
        lambda a: np.take(a, 2, axis=-1),
        lambda a: np.gradient(a, 2.0, 3.0, axis=(2, 1)),
    ):
        equal(function, cube)
    for function in (np.argmax, np.median, lambda a, axis: np.take(a, 3, axis), lambda a, axis: np.take(a, [1, 3])):
        equal(lambda a, function=function: function(a, axis=0), x[0])
    for dtype, values in (("i4", [[50000, 3], [0, 4]]), ("i1", [[-128, 100], [100, 100]]), ("?", [[1, 0], [1, 1]])):
        for order in (None, 1, np.inf):
            equal(lambda a, order=order: np.linalg.norm(a, order, axis=0), np.array(values).astype(dtype))
            flat = np.array(values).astype(dtype).ravel()
            assert np.isclose(
                weft.arrays.Geometry(4).distribute(flat).norm(2 if order is None else order),
                np.linalg.norm(flat, order),
            )


def nans():
    """Reductions of those that are numbers, where there are some and where there are none."""
    x = np.array([[np.nan, np.nan], [1, 2], [np.nan, -np.inf]])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in ("f2", "f4", "f8", "c16"):
            for axis in (None, 0, 1):
                for function in (np.nanmax, np.nanmin, np.nansum, np.nanmean):
                    equal(lambda a, f=function, axis=axis: f(a, axis=axis), x.astype(dtype))
                    if axis is not None:
                        equal(lambda a, f=function, axis=axis: f(a, axis, keepdims=True), x.astype(dtype))


def separated():
    """Integers and a list with slices between them: numpy puts the axis of the list first."""
    rest = slice(None)
    keys = [
        (0, rest, [0, 1]),
        (rest, 0, rest, [1, 0, 1]),
        ([0, 1], rest, 0),
        (rest, [1, 0], rest, 1),
        (rest, 0, [1, 0]),
    ]
    keys += [(rest, [True, False, True], ..., 0), (rest, 0, ..., np.array([1]), rest), (rest, rest, [0, 1], ..., 0)]
    for key in keys:
        x = whole((2, 3, 2, 2))
        a = weft.arrays.Geometry(x.shape).distribute(x)
        assert a[key].shape == x[key].shape, key
        assert np.array_equal(a[key], x[key]), key
        values = np.arange(x[key].size).reshape(x[key].shape)
        a[key] = values
        x[key] = values
        same(a, x)
        a[key] = values[0]
        x[key] = values[0]
        same(a, x)


def mistakes():
    """What cannot be meant."""
    a = weft.arrays.Geometry((8, 6)).zeros()
    other = weft.arrays.Geometry((8, 6), grid=(1, a.geometry.ranks)).zeros()
    cases = [
        (lambda: a + np.zeros(5), r"operand 1 of shape \(5,\) does not broadcast to the distributed array's, \(8, 6\)"),
        (lambda: np.add(a, 1, out=np.zeros((8, 6))), "out must be a DistributedArray"),
        (lambda: np.add.at(a, 0, 1), "numpy.add.at is not for distributed arrays"),
        (lambda: a - a.mean(axis=1), r"operand 1 of shape \(8,\) does not broadcast .*; .* keepdims=True does"),
        (lambda: a.max(where=a > 0), "numpy.maximum of some elements only needs initial="),
        (lambda: bool(a), "an array of 48 elements is not one number"),
        (lambda: np.roll(a, 1), "numpy.roll of a distributed array is along axes: give axis="),
        (lambda: np.cumsum(a), "numpy.cumsum of a distributed array is along one axis"),
        (lambda: a @ a, r"a product of matrices or vectors of shapes \(8, 6\) and \(8, 6\) is not possible"),
        (lambda: a[np.zeros((8, 5), bool)], r"the mask has shape \(8, 5\), but the array has \(8, 6\)"),
        (lambda: a.__setitem__(a == 0, np.zeros(4)), r"the mask selects 48 elements, but the value has shape \(4,\)"),
        (lambda: a[[0, 8]], "index 8 is out of bounds for axis 0 of 8 elements"),
        (lambda: a[[0, 1], [0, 1]], "one axis at a time is indexed by a list"),
        (lambda: a.transpose(0, 0), "axes .0, 0. are not the 2 of the array, each once"),
        (lambda: np.histogram(a, "auto"), "is not chosen by 'auto'"),
        (lambda: np.concatenate([a, a.T]), "have the same other extents"),
        (lambda: a.sum(2), "there is no axis 2 in an array of 2 axes"),
        (lambda: a.sum((0, -2)), "names an axis twice"),
        (lambda: a.norm(3), "the norm of order 3 is not known; there are 1, 2 and infinity"),
        (lambda: a[8], "index 8 is out of bounds for axis 0 of 8 elements"),
        (lambda: a[0, 0, 0], "an index of 3 axes into an array of 2"),
        (lambda: a[None, :], "None adds no axis to a distributed array"),
        (lambda: a[np.array([1.5])], "is indexed by integers, .*, not by ndarray of float64 with 1 axes"),
        (lambda: a.__setitem__(0, np.zeros(4)), r"a value of shape \(4,\) does not broadcast to the part's, \(6,\)"),
        (lambda: np.take(a, [0, 1]), "numpy.take of a distributed array is along one axis: give axis="),
        (lambda: np.take(a, [0, 8], axis=0), "index 8 is out of bounds for axis 0 of 8 elements"),
        (lambda: np.zeros_like(a, shape=3), "has its shape and order: leave shape away"),
        (lambda: np.average(a, axis=0, weights=[1, 2]), "there are 2 weights for axis 0 of 8 elements"),
        (lambda: np.average(a, weights=[1] * 6), "along the one axis of axis="),
        (lambda: np.gradient(a, axis=(0, 0)), "names an axis twice"),
        (lambda: np.median(a, axis=(0, 1)), "numpy.median of a distributed array is along one axis"),
        (lambda: np.percentile(a, [25, 75], axis=1), "with one number for all lines"),
        (lambda: np.concatenate([a, a], axis=None), "along one axis into a new one"),
        (lambda: np.isin(a, a), "numpy.isin takes one distributed array"),
        (lambda: weft.arrays.save("x.h5", {1: a}), "the name 1 of an array is a int"),
        (
            lambda: weft.arrays.save("x.npy", weft.arrays.Geometry(3).zeros([("u", "f8"), ("v", "f8")])),
            "which load cannot read",
        ),
        (lambda: a.redistribute(weft.arrays.Geometry(7)), r"the array has shape \(8, 6\), but the geometry has \(7,\)"),
    ]
    if a.geometry.ranks > 1:
        cases += [
            (lambda: np.unique(a), "numpy.unique is not for arrays on several ranks; use .local"),
            (lambda: np.subtract.reduce(a), "numpy.subtract.reduce depends on the order of the elements"),
            (lambda: np.asarray(a), "this array lies on several ranks"),
        ]
        if other.geometry != a.geometry:
            cases += [(lambda: a + other, "operand 1 has another geometry: .* redistribute")]
    else:
        assert np.unique(a) == 0
    for call, message in cases:
        with pytest.raises(UsageError, match=message):
            call()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print(f"{sys.argv[1]}: ok", flush=True)
