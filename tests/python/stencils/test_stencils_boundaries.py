"""Boundaries of each end of each axis: against one element at a time, and against numpy.pad."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from beyond import MAPS, apply

import weft
from weft.stencils import elsewhere, extended

STEPS = (-2, -1, 0, 1, 2)


def number(generator, dtype):
    value = generator.integers(-4, 5)
    return complex(value, generator.integers(-4, 5)) if np.dtype(dtype).kind == "c" else float(value)


def array(generator, shape, dtype):
    x = generator.integers(-4, 5, shape).astype(dtype)
    return x + 1j * generator.integers(-4, 5, shape).astype(dtype) if np.dtype(dtype).kind == "c" else x


def slope(*indices):
    return sum((axis + 2) * index for axis, index in enumerate(indices))


def end(generator, grid, site, axis, dtype):
    kind = generator.integers(0, 9)
    if kind < len(MAPS):
        return MAPS[kind]
    if kind < 6:
        return number(generator, dtype)
    if kind == 6:
        return "none"
    if kind == 7:
        return slope
    others = grid[:axis] + grid[axis + 1 :]
    return array(generator, others + (site if generator.integers(2) else ()), dtype)


def case(seed):
    """Whole numbers, so that sums are exact whatever their order."""
    generator = np.random.default_rng(seed)
    rank = int(generator.integers(1, 4))
    grid = tuple(map(int, generator.integers(1, 8 if rank < 3 else 5, rank)))
    site = ((), (), (2,), (2, 3))[generator.integers(4)]
    dtype = ("f8", "f4", "c16", "c8")[generator.integers(4)]
    offsets = {tuple(map(int, generator.choice(STEPS, rank))) for _ in range(generator.integers(1, 6))}
    points = {
        offset: array(generator, grid, dtype) if generator.integers(3) == 0 else number(generator, dtype)
        for offset in offsets
    }
    boundary = [tuple(end(generator, grid, site, axis, dtype) for _ in range(2)) for axis in range(rank)]
    # One end that the kernels do not know makes all of them general.
    boundary[generator.integers(rank)] = ("reflect", "circular")
    return points, boundary, array(generator, grid + site, dtype), len(site)


@pytest.mark.parametrize("seed", range(120))
def test_one_element_at_a_time(native, seed, monkeypatch):
    if seed % 3:  # the pieces of which large arrays are made
        monkeypatch.setattr(extended, "WHOLE_BYTES", 0)
    points, boundary, x, site_rank = case(seed)
    stencil = weft.arrays.stencil(points, boundary=tuple(boundary), site_rank=site_rank)
    expected = apply(points, x, boundary, site_rank)
    np.testing.assert_array_equal(stencil(x), expected)
    two = apply(points, expected, boundary, site_rank)
    np.testing.assert_array_equal(stencil(x, steps=2), two)
    # Right-hand sides, a strided target, and a target that is the source.
    many = np.stack([x, 2 * x, -x])
    out = np.empty((*many.shape[:-1], 2 * many.shape[-1]), x.dtype)[..., ::2]
    np.testing.assert_array_equal(stencil(many, out=out)[0], expected)
    np.testing.assert_array_equal(stencil(many, out=many)[0], expected)


@pytest.mark.parametrize("seed", range(120))
def test_arrays_of_other_libraries(seed):
    """The path for them, run with numpy's own implementation of the array API standard."""
    points, boundary, x, site_rank = case(seed)
    boundary = [
        tuple("symmetric" if isinstance(end, str) and end == "none" else end for end in pair) for pair in boundary
    ]
    stencil = weft.arrays.stencil(points, boundary=tuple(boundary), site_rank=site_rank)
    expected = apply(points, apply(points, x, boundary, site_rank), boundary, site_rank)
    np.testing.assert_array_equal(elsewhere.apply(stencil, x, out=None, steps=2), expected)


def test_arrays_of_other_libraries_have_a_boundary():
    with pytest.raises(weft.UsageError, match="the boundary of axis 0 is 'none', which is for numpy arrays"):
        elsewhere.apply(weft.arrays.stencil({1: 1.0}, boundary="none"), np.zeros(3), out=None, steps=1)


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (3, 4), (1, 5), (2, 3, 4)])
@pytest.mark.parametrize("distance", [1, 2, 5])
def test_the_corners_of_numpy_pad(native, mode, shape, distance):
    x = np.random.default_rng(1).standard_normal(shape)
    word = "circular" if mode == "wrap" else mode
    padded = np.pad(x, distance, mode=mode)
    for signs in np.ndindex(*(2,) * len(shape)):
        offset = tuple(distance if sign else -distance for sign in signs)
        window = tuple(slice(distance + by, distance + by + n) for by, n in zip(offset, shape, strict=True))
        result = weft.arrays.stencil({offset: 1.0}, boundary=word)(x)
        np.testing.assert_array_equal(result, padded[window])


def test_constants_of_both_ends_are_those_of_numpy_pad(native):
    x = np.random.default_rng(2).standard_normal((4, 5))
    padded = np.pad(x, 2, constant_values=((1, 2), (3, 4)))
    for offset in [(-2, -2), (2, -1), (-1, 2), (1, 1), (0, -2)]:
        window = tuple(slice(2 + by, 2 + by + n) for by, n in zip(offset, x.shape, strict=True))
        result = weft.arrays.stencil({offset: 1.0}, boundary=((1, 2), (3, 4)))(x)
        np.testing.assert_array_equal(result, padded[window])


def test_boundary_arrays_are_read_at_each_call(native):
    low = np.zeros(3)
    plan = weft.arrays.stencil({(-1, 0): 1.0}, boundary=((low, "reflect"), 0)).plan((4, 3))
    x, out = np.ones((4, 3)), np.empty((4, 3))
    call = plan.bind(x, out)
    low[:] = [5, 6, 7]
    call()
    assert out[0].tolist() == [5, 6, 7]
    assert plan(x)[0].tolist() == [5, 6, 7]


def test_coefficient_arrays_are_read_at_each_call(native):
    c = np.ones((4, 3))
    plan = weft.arrays.stencil({(1, 0): c}, boundary="symmetric").plan((4, 3))
    c[3] = 9
    assert plan(np.ones((4, 3)))[3].tolist() == [9, 9, 9]


def test_a_function_is_asked_at_its_positions(native):
    asked = []

    def boundary(i, j):
        asked.append((i.ravel().tolist(), j.ravel().tolist()))
        return 10.0 * i + j

    result = weft.arrays.stencil({(-2, 0): 1.0}, boundary=((boundary, 0), "circular"))(np.zeros((5, 3)))
    assert result[:2].tolist() == [[-20, -19, -18], [-10, -9, -8]]
    assert asked == [([-2, -1], [0, 1, 2])]


def test_sites_without_a_boundary_stay(native):
    x = np.arange(6.0)
    np.testing.assert_array_equal(weft.arrays.stencil({-2: 1.0, 1: 1.0}, boundary="none")(x), [0, 1, 3, 5, 7, 5])


@pytest.mark.parametrize(
    ("boundary", "message"),
    [
        ("mirror", "the boundary is 'mirror': expected 'circular', 'antiperiodic', 'reflect', 'symmetric', 'none'"),
        (None, "the boundary is None: expected 'circular'"),
        (
            (("reflect", 1, 2), 0),
            "the boundary of axis 0 is a tuple of 3: expected a pair, for the low and the high end",
        ),
        ((("reflect", None), 0), "the boundary of axis 0, high end is None: expected"),
        (("reflect", 0, 1), "3 boundaries for a stencil of 2 axes: give one for each, or one for all"),
    ],
)
def test_what_is_no_boundary(boundary, message):
    with pytest.raises(weft.UsageError, match=message.replace("(", r"\(")):
        weft.arrays.stencil({(0, 1): 1.0}, boundary=boundary)


def test_what_does_not_fit(native):
    with pytest.raises(weft.UsageError, match=r"the boundary array of axis 0 has shape \(4,\); for a grid of \(2, 3\)"):
        weft.arrays.stencil({(1, 0): 1.0}, boundary=((np.zeros(4), 1), 0)).plan((2, 3))
    with pytest.raises(weft.UsageError, match="the boundary function of axis 1 returns an array of shape"):
        weft.arrays.stencil({(0, 1): 1.0}, boundary=(0, (lambda i, j: np.zeros(7), lambda i, j: np.zeros(7)))).plan(
            (2, 3)
        )
    with pytest.raises(weft.UsageError, match="the boundary of axis 0 is complex, the array is float64"):
        weft.arrays.stencil({1: 1.0}, boundary=((1j, 0),)).plan(3)
    with pytest.raises(weft.UsageError, match="the boundary of axis 0 is complex, the array is float64"):
        weft.arrays.stencil({1: 1.0}, boundary=((0, lambda i: 1j * i),)).plan(3)


@pytest.mark.parametrize("dtype", ["f8", "i4", "c8"])
def test_several_threads_call_one_stencil(native, dtype):
    """Each has its own copy of what lies near the ends."""
    stencil = weft.arrays.stencil({(1, 0): 2, (-1, 1): -1, (0, -2): 3}, boundary=("reflect", ("symmetric", 5)))
    plan = stencil.plan((30, 200), dtype)
    arrays = [np.random.default_rng(seed).integers(-9, 9, (30, 200)).astype(dtype) for seed in range(4)]
    expected = [apply(stencil.points, x, [("reflect",) * 2, ("symmetric", 5)]) for x in arrays]

    def calls(number):
        return [np.array_equal(call(arrays[number]), expected[number]) for _ in range(60) for call in (plan, stencil)]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(map(all, threads.map(calls, range(4))))
    finally:
        sys.setswitchinterval(interval)


def difference(x, m):
    return m - x


def test_copies_and_pickles_of_what_was_called(native):
    """Plans that a stencil keeps are not copied."""
    x, new = np.arange(4.0), np.zeros(4)
    stencil = weft.arrays.stencil({1: 1.0, -1: np.full(4, 2.0)}, boundary="reflect")
    update = weft.arrays.Update(difference, {"m": (stencil, "x")}, "new")
    expected = stencil(x)
    for other in (copy.copy(stencil), copy.deepcopy(stencil), pickle.loads(pickle.dumps(stencil))):
        np.testing.assert_array_equal(other(x), expected)
    update(x=x, new=new)
    for again in (copy.copy(update), copy.deepcopy(update), pickle.loads(pickle.dumps(update))):
        new[:] = 0
        again(x=x, new=new)
        np.testing.assert_array_equal(new, expected - x)
