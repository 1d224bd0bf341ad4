"""Distributed arrays as numpy's: `operations_program.py SCENARIO`; prints `SCENARIO: ok` where all is well."""

import operator
import sys

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
        assert np.isclose(a.norm(), np.linalg.norm(x.ravel()))
        assert a.norm(1) == abs(x).sum()
        assert a.norm(np.inf) == abs(x).max()
        assert a.dot(b) == np.dot(x.ravel(), y.ravel()) == np.vdot(a, b) == a.dot(y)
        c = geometry.distribute(x + 1j * y)
        assert c.vdot(c) == np.vdot(x + 1j * y, x + 1j * y)
        assert np.isclose(c.norm(), np.linalg.norm((x + 1j * y).ravel()))


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
            same(weft.arrays.cshift(b, 2, axis), np.roll(x, -2, axis))
            same(weft.arrays.cshift(b, -1, axis, out=other.zeros(x.dtype)), np.roll(x, 1, axis))
            line = np.zeros_like(np.take(x, 0, axis)) + 3
            shifted = weft.arrays.eoshift(b, 1, axis, line)
            same(shifted, weft.arrays.eoshift(x, 1, axis, line))
            same(weft.arrays.eoshift(b, -2, axis, 7), weft.arrays.eoshift(x, -2, axis, 7))
    for _ in range(2):
        for by in range(40):
            same(weft.arrays.cshift(a, by, 0), np.roll(x, -by, 0))


def mistakes():
    """What cannot be meant."""
    a = weft.arrays.Geometry((8, 6)).zeros()
    other = weft.arrays.Geometry((8, 6), grid=(1, a.geometry.ranks)).zeros()
    cases = [
        (lambda: a + np.zeros(5), r"operand 1 of shape \(5,\) does not broadcast to the distributed array's, \(8, 6\)"),
        (lambda: np.add(a, 1, out=np.zeros((8, 6))), "out must be a DistributedArray"),
        (lambda: np.add.accumulate(a), "numpy.add.accumulate is not for distributed arrays"),
        (lambda: a.sum(2), "there is no axis 2 in an array of 2 axes"),
        (lambda: a.sum((0, -2)), "names an axis twice"),
        (lambda: a.norm(3), "the norm of order 3 is not known; there are 1, 2 and infinity"),
        (lambda: a[8], "index 8 is out of bounds for axis 0 of 8 elements"),
        (lambda: a[0, 0, 0], "an index of 3 axes into an array of 2"),
        (lambda: a[np.array([1, 2])], "is indexed by integers, slices and ..., not by ndarray"),
        (lambda: a.__setitem__(0, np.zeros(4)), r"a value of shape \(4,\) does not broadcast to the part's, \(6,\)"),
        (lambda: a.redistribute(weft.arrays.Geometry(7)), r"the array has shape \(8, 6\), but the geometry has \(7,\)"),
    ]
    if a.geometry.ranks > 1:
        cases += [
            (lambda: np.median(a), "numpy.median is not for arrays on several ranks; use .local"),
            (lambda: np.asarray(a), "this array lies on several ranks"),
        ]
        if other.geometry != a.geometry:
            cases += [(lambda: a + other, "operand 1 has another geometry: .* redistribute")]
    else:
        assert np.median(a) == 0
    for call, message in cases:
        with pytest.raises(UsageError, match=message):
            call()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print(f"{sys.argv[1]}: ok", flush=True)
