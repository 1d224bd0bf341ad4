"""Stencils that the kernels do not have: integers, float16, long double, more than four axes."""

import numpy as np
import pytest
from beyond import apply
from test_stencils_boundaries import array, end, number

import weft
from weft.stencils import extended

SEEDS = 80


def other_case(seed):
    """As `case` of the boundaries, of other types or axes; half of them with boundaries that shifts have."""
    generator = np.random.default_rng(seed)
    rank = int(generator.integers(1, 6))
    grid = tuple(map(int, generator.integers(1, (9, 7, 5, 4, 3)[rank - 1], rank)))
    site = ((), (), (2,), (2, 3))[generator.integers(4)]
    dtype = ("i4", "i8", "f2", "g")[generator.integers(4)] if rank < 5 else ("i4", "f8", "c8")[generator.integers(3)]
    offsets = {tuple(map(int, generator.integers(-2, 3, rank))) for _ in range(generator.integers(1, 5))}
    points = {
        offset: array(generator, grid, dtype) if generator.integers(3) == 0 else number(generator, dtype)
        for offset in offsets
    }
    if seed % 2:
        boundary = [
            ("circular", "circular") if generator.integers(2) else (number(generator, dtype),) * 2 for _ in grid
        ]
    else:
        boundary = [tuple(end(generator, grid, site, axis, dtype) for _ in range(2)) for axis in range(rank)]
    return points, boundary, array(generator, grid + site, dtype), len(site)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_one_element_at_a_time(native, seed, monkeypatch):
    if seed % 3:  # the pieces of which large arrays are made
        monkeypatch.setattr(extended, "WHOLE_BYTES", 0)
    points, boundary, x, site_rank = other_case(seed)
    stencil = weft.arrays.stencil(points, boundary=tuple(boundary), site_rank=site_rank)
    expected = apply(points, x, boundary, site_rank)
    result = stencil(x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result, expected)
    many = np.stack([x, -x])
    out = np.empty((*many.shape[:-1], 2 * many.shape[-1]), x.dtype)[..., ::2]
    np.testing.assert_array_equal(stencil(many, out=out)[0], expected)
    np.testing.assert_array_equal(stencil(x, out=x), expected)


def test_shifts_of_one_boundary_are_those_of_eoshift(native):
    """Arrays beyond both ends are indexed as by EOSHIFT, axis by axis."""
    generator = np.random.default_rng(3)
    x, low, side = (generator.integers(-9, 9, shape).astype("i8") for shape in ((5, 6), (6,), (5,)))
    stencil = weft.arrays.stencil({(1, -2): 3, (-2, 0): -1, (0, 1): 2, (7, 0): 1}, boundary=(low, side))
    expected = np.zeros_like(x)
    for (down, right), factor in stencil.points.items():
        part = weft.arrays.eoshift(x, down, 0, low)
        expected += factor * weft.arrays.eoshift(part, right, 1, side)
    np.testing.assert_array_equal(stencil(x), expected)
    two = weft.arrays.stencil({(1, 0): 1, (0, -1): 1})
    again = two(two(x))
    np.testing.assert_array_equal(two(x, steps=2), again)
    plan = two.plan(x.shape, x.dtype, steps=2)
    out = np.zeros_like(x)
    plan.bind(x, out)()
    np.testing.assert_array_equal(out, again)
    assert "there is no kernel" in plan.explain()
    assert plan.bytes() > x.nbytes


def test_integers_wrap_around_and_halves_are_rounded_once(native):
    ones = np.full(4, 200, "u1")
    assert weft.arrays.stencil({-1: 1, 1: 1})(ones).tolist() == [144] * 4
    halves = np.full(8, 2048, "f2")
    # In float16 2048 + 1 is 2048, however often.
    assert weft.arrays.stencil({0: 1, 1: 2**-11, 2: 2**-11})(halves).tolist() == [2050.0] * 8


def test_an_update_of_integers(native):
    x = np.random.default_rng(1).integers(0, 9, (40, 6, 3, 2, 2))
    around = weft.arrays.stencil({(1, 0, 0, 0, 0): 1, (-1, 0, 0, 0, 0): 1, (0, 0, 0, 0, 1): 1}, boundary=0)
    update = weft.arrays.Update(lambda u, a: ((u + a) % 7, a), {"a": (around, "u")}, "new", {"most": "max"})
    new = np.zeros_like(x)
    most = update(u=x, new=new)["most"]
    padded = np.pad(x, 1)
    inner = (slice(1, -1),) * 5
    total = (
        padded[(slice(2, None), *inner[1:])] + padded[(slice(0, -2), *inner[1:])] + padded[(*inner[:4], slice(2, None))]
    )
    np.testing.assert_array_equal(new, (x + total) % 7)
    assert most == total.max()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            weft.arrays.stencil({1: 0.5}),
            "a coefficient is 0.5, the array is int32: expected a whole number",
        ),
        (weft.arrays.stencil({1: 1}, boundary=0.5), "the boundary of axis 0 is 0.5, the array is int32"),
        (weft.arrays.stencil({1: 2**40}), "the array is int32: expected a whole number that it holds"),
        (weft.arrays.stencil({1: np.ones(4)}), "is of float64, the array is int32: give integers"),
        (
            lambda x: weft.arrays.stencil({1: 1})(x > 0),
            "computes in integers, floats and complex numbers .*, not in bool",
        ),
    ],
)
def test_what_integers_cannot_be(native, make, message):
    with pytest.raises(weft.UsageError, match=message):
        make(np.arange(4, dtype="i4"))


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("ghosts", range(1, 9))
def test_antiperiodic_ghosts_of_any_pitch(native, dtype, ghosts):
    """numpy's negation in place is wrong at some distances of elements, which follow from how many ghosts there are."""
    x = np.arange(1, 41, dtype=dtype).reshape(5, 8)
    for offset in range(-ghosts, ghosts + 1):
        moved = weft.arrays.stencil({(0, -ghosts): 0, (0, offset): 1}, boundary=("circular", "antiperiodic"))(x)
        columns = np.arange(8) + offset
        wanted = x[:, columns % 8] * np.where(columns // 8 % 2, -1, 1).astype(dtype)
        assert np.array_equal(moved, wanted), offset


@pytest.mark.parametrize("circular", [True, False])
def test_boundaries_that_integers_do_not_hold(native, circular):
    """Refused as numbers are, whether the kernels' boundaries are all there are or not; at each call."""
    x = np.ones((3, 2), "i1")
    other = "circular" if circular else "reflect"

    def step(low):
        return weft.arrays.stencil({(1, 0): 1, (0, 1): 1}, boundary=(low, other))

    with pytest.raises(weft.UsageError, match="the boundary of axis 0 is of float64, the array is int8: give integers"):
        step(np.array([0.5, 1.0]))(x)
    with pytest.raises(weft.UsageError, match="of axis 0 has values from 1 to 300, not all of them whole numbers that"):
        step(np.array([300, 1]))(x)
    for value in (0.5, 200, float("nan"), -129):
        with pytest.raises(weft.UsageError, match="the boundary function of axis 0 has values from .* that int8 holds"):
            step(lambda i, j, value=value: value)(x)
        with pytest.raises(weft.UsageError, match="a coefficient is .*, the array is int8: expected a whole number"):
            weft.arrays.stencil({(1, 0): value}, boundary=("circular", other))(x)
    assert step(lambda i, j: 3.0)(x)[-1, 0] == 4
    edge = np.array([5, 6])
    plan = step(edge).plan(x.shape, x.dtype)
    assert plan(x)[-1, 0] == 6
    edge[0] = 128
    with pytest.raises(weft.UsageError, match="has values from 6 to 128"):
        plan(x)
