"""A stencil gives what sums of shifted copies give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shift_formulation import apply

import weft

WHOLE = st.integers(-3, 3)


def whole_numbers(shape, seed, dtype):
    """Small whole numbers: every order of summation gives the same."""
    made = np.random.default_rng(seed)
    values = made.integers(-3, 4, shape).astype(dtype)
    return values + 1j * made.integers(-3, 4, shape) if np.dtype(dtype).kind == "c" else values


@st.composite
def cases(draw):
    rank = draw(st.integers(1, 4))
    grid = (*(draw(st.integers(1, 5)) for _ in range(rank - 1)), draw(st.integers(1, 20)))
    site = draw(st.sampled_from([(), (), (), (2,), (3, 2)]))
    sides = draw(st.sampled_from([(), (), (3,), (2, 2)]))
    dtype = draw(st.sampled_from([np.float64, np.float64, np.float32, np.complex128, np.complex64]))
    seed = draw(st.integers(0, 1000))
    reach = draw(st.sampled_from([1, 1, 3]))
    offsets = draw(st.sets(st.tuples(*[st.integers(-reach, reach)] * rank), min_size=1, max_size=9))
    points = {}
    for number, offset in enumerate(sorted(offsets)):
        kind = draw(st.sampled_from(["number", "number", "number", "grid", "axis", "complex"]))
        if kind == "grid":
            points[offset] = whole_numbers(grid, seed + number, float)
        elif kind == "axis":
            axis = draw(st.integers(0, rank - 1))
            shape = tuple(extent if other == axis else 1 for other, extent in enumerate(grid))
            points[offset] = whole_numbers(shape, seed + number, float)
        elif kind == "complex" and np.dtype(dtype).kind == "c":
            points[offset] = complex(draw(WHOLE), draw(WHOLE))
        else:
            points[offset] = draw(WHOLE)
    boundary = []
    for axis in range(rank):
        kind = draw(st.sampled_from(["circular", "circular", "number", "array", "site"]))
        others = grid[:axis] + grid[axis + 1 :]
        if kind == "circular":
            boundary.append("circular")
        elif kind == "number" or (rank == 1 and not site):
            boundary.append(draw(WHOLE))
        else:
            boundary.append(whole_numbers(others + (site if kind == "site" else ()), seed + 50 + axis, dtype))
    return points, tuple(boundary), whole_numbers(sides + grid + site, seed, dtype), len(site)


@settings(max_examples=150, deadline=None)
@given(cases(), st.integers(1, 3), st.integers(1, 2))
def test_the_same_numbers(case, steps, threads):
    points, boundary, x, site_rank = case
    s = weft.arrays.stencil(points, boundary=boundary, site_rank=site_rank)
    expected = apply(points, x, boundary, site_rank, steps)
    kept = x.copy()
    np.testing.assert_array_equal(s(x, steps=steps, threads=threads), expected)
    np.testing.assert_array_equal(x, kept)
    assert s(x).dtype == x.dtype
    # Into itself: copied first, as the paper's routine does.
    s(x, out=x, steps=steps)
    np.testing.assert_array_equal(x, expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3), st.sampled_from([np.float32, np.float64]))
def test_rounding(seed, rank, dtype):
    made = np.random.default_rng(seed)
    offsets = {tuple(made.integers(-1, 2, rank)) for _ in range(12)}
    points = {tuple(map(int, offset)): float(made.standard_normal()) for offset in offsets}
    x = made.standard_normal(tuple(made.integers(1, 30, rank))).astype(dtype)
    difference = np.abs(
        weft.arrays.stencil(points)(x).astype(float) - apply(points, x.astype(float), ("circular",) * rank)
    )
    # Each of at most n products and n sums rounds once, relative to sums of magnitudes.
    magnitude = apply(
        {offset: abs(value) for offset, value in points.items()}, np.abs(x.astype(float)), ("circular",) * rank
    )
    assert np.all(difference <= 2 * len(points) * np.finfo(dtype).eps * magnitude)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 4), st.permutations([0, 1, 2]))
def test_any_strides(seed, step, order):
    made = np.random.default_rng(seed)
    base = made.integers(-3, 4, (7, 6, 5 * step)).astype(float)
    x = base[::-1, :, ::step].transpose(order)
    out = np.zeros((*x.shape[:-1], 2 * x.shape[-1]))[..., ::2]
    points = {(0, 0, 1): 2, (1, 0, 0): 3, (0, -1, -1): 1}
    s = weft.arrays.stencil(points, boundary=(0, "circular", 1))
    assert s(x, out=out) is out
    np.testing.assert_array_equal(out, apply(points, x, (0, "circular", 1)))


def test_the_five_points_of_figure_5():
    x = np.random.default_rng(5).integers(-9, 9, (12, 17)).astype(float)
    c = {"N": 2.0, "E": 3.0, "W": 5.0, "S": 7.0, "0": 11.0}
    s = weft.arrays.stencil({(-1, 0): c["N"], (0, 1): c["E"], (0, -1): c["W"], (1, 0): c["S"], (0, 0): c["0"]})
    expected = (
        c["N"] * np.roll(x, 1, 0)
        + c["E"] * np.roll(x, -1, 1)
        + c["W"] * np.roll(x, 1, 1)
        + c["S"] * np.roll(x, -1, 0)
        + c["0"] * x
    )
    np.testing.assert_array_equal(s(x), expected)


def test_what_lies_beyond_several_ends_is_that_of_the_last_axis():
    s = weft.arrays.stencil({(1, 1): 1.0}, boundary=(10, 20))
    np.testing.assert_array_equal(s(np.zeros((2, 2))), [[0, 20], [10, 20]])
    first, last = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    s = weft.arrays.stencil({(1, 1): 1.0}, boundary=(first, last))
    np.testing.assert_array_equal(s(np.zeros((2, 2))), [[0, 3], [2, 4]])


def test_threads_and_steps_change_no_bit():
    x = np.random.default_rng(1).standard_normal((40, 37, 33))
    points = {
        (i, j, k): 1 / (1 + abs(i) + 2 * abs(j) + 3 * abs(k))
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        for k in (-1, 0, 1)
    }
    s = weft.arrays.stencil(points, boundary=("circular", 0, 0.5))
    once = x
    for _ in range(5):
        once = s(once)
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(s(x, steps=5, threads=threads), once)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 3, 4), (2, 0, 0)])
def test_nothing_of_nothing(shape):
    s = weft.arrays.stencil({(0, 1): 1.0, (1, 0): 2.0})
    assert s(np.zeros(shape)).shape == shape
