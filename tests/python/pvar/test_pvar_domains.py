"""Functions that kernels compute within a domain, and numpy beyond it."""

import itertools
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import pvar
from weft.pvar import domains

LARGEST_ANGLE = 2.0**20


def units_off(actual, exact):
    """How many units in the last place each number is from an exact one, at worst."""
    worst = mpmath.mpf(0)
    for one, other in zip(actual.tolist(), exact, strict=True):
        worst = max(worst, abs(mpmath.mpf(one) - other) / mpmath.mpf(float(np.spacing(abs(float(other))))))
    return float(worst)


def angles():
    """Of all sizes, and those whose sines and cosines are next to zero."""
    rng = np.random.default_rng(1)
    quarters = np.arange(1, 660_000, 997) * (np.pi / 2)
    spread = (rng.random(500) - 0.5) * 2.0 ** rng.integers(-1000, 21, 500)
    near = np.concatenate([quarters, np.nextafter(quarters, 0), np.nextafter(quarters, np.inf)])
    edges = [LARGEST_ANGLE, -LARGEST_ANGLE, 5e-324, np.pi / 4, np.nextafter(np.pi / 4, 1)]
    return np.concatenate([spread, near, -near, edges])


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sines_and_cosines_are_within_a_unit_in_the_last_place(name):
    x = angles()
    with mpmath.workprec(250):
        exact = [getattr(mpmath, name)(mpmath.mpf(one)) for one in x.tolist()]
        result = domains.computed(name, (x,))
        assert units_off(result, exact) <= 0.8
    variable = getattr(pvar, name)(weft.pvar.VPSet(x.size).array(x))
    assert np.array_equal(np.asarray(variable), result)


def test_roots_of_sums_of_squares_are_the_nearest_numbers_but_for_few():
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal(3000) * 2.0 ** rng.integers(-30, 30, 3000) for _ in range(2))
    with mpmath.workprec(250):
        exact = [mpmath.hypot(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        assert units_off(domains.computed("hypot", (x, y)), exact) <= 0.6
    wholes = np.array([list(one) for one in itertools.product(range(-60, 61), repeat=2)], float)
    squares = np.rint(np.sqrt((wholes**2).sum(1))) ** 2 == (wholes**2).sum(1)
    result = domains.computed("hypot", tuple(np.ascontiguousarray(wholes.T)))
    assert np.array_equal(result[squares], np.rint(result[squares]))


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(["remainder", "floor_divide"]), st.sampled_from([32, 64]))
def test_divisions_are_numpys_to_the_bit(data, name, width):
    wholes = st.integers(-1000, 1000).map(float)
    any_number = st.one_of(st.floats(width=width), st.floats(-100, 100, width=width), wholes)
    pairs = data.draw(st.lists(st.tuples(any_number, any_number), min_size=1, max_size=40))
    x, y = np.ascontiguousarray(np.array(pairs, f"float{width}").T)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x, y)
        vp = weft.pvar.VPSet(x.size)
        result = np.asarray(getattr(pvar, name)(vp.array(x), vp.array(y)))
        by_one = [np.asarray(getattr(pvar, name)(vp.array(x), float(one))) for one in y[:3]]
        of_one = [np.asarray(getattr(pvar, name)(float(one), vp.array(y))) for one in x[:3]]
        numbers = [one.item() for one in (*x[:3], *y[:3])]
        assert (result.dtype == exact.dtype and result.tobytes() == exact.tobytes()) or same(result, exact)
        assert all(same(one, getattr(np, name)(x, n)) for one, n in zip(by_one, numbers[len(of_one) :], strict=True))
        assert all(same(one, getattr(np, name)(n, y)) for one, n in zip(of_one, numbers, strict=False))


def same(one, other):
    """The same bits; signs and payloads of NaN are nobody's."""
    nan = np.isnan(other)
    return (
        one.dtype == other.dtype and np.array_equal(np.isnan(one), nan) and one[~nan].tobytes() == other[~nan].tobytes()
    )


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 17, 1023, 1025, (8 << 20) // 8 + 1])
def test_results_do_not_depend_on_where_elements_are(length):
    rng = np.random.default_rng(length)
    x, y = rng.standard_normal((2, 40)) * 100
    vp = weft.pvar.VPSet(length)
    for name in domains.DTYPES:
        operands = [np.resize(one, length) for one in ((x,) if name in ("sin", "cos") else (x, y))]
        result = np.asarray(getattr(pvar, name)(*[vp.array(one) for one in operands]))
        alone = domains.computed(name, tuple(one[:40] for one in operands))
        assert np.array_equal(result, np.resize(alone, length))


BEYOND = [
    ("sin", (np.inf,), "invalid value encountered in sin"),
    ("cos", (-np.inf,), "invalid value encountered in cos"),
    ("remainder", (1.0, 0.0), "invalid value encountered in remainder"),
    ("floor_divide", (1.0, 0.0), "divide by zero encountered in floor_divide"),
    ("hypot", (1e308, 1.7e308), "overflow encountered in hypot"),
]


@pytest.mark.parametrize(("name", "operands", "warning"), BEYOND)
def test_beyond_a_domain_everything_is_as_numpy_has_it(name, operands, warning):
    arrays = [np.array([one, 0.5, 2.0]) for one in operands]
    vp = weft.pvar.VPSet(3)
    with pytest.warns(RuntimeWarning, match=warning):
        result = getattr(pvar, name)(*[vp.array(one) for one in arrays])
    ufunc = getattr(np, name)
    with np.errstate(all="ignore"):
        assert same(np.asarray(result), ufunc(*arrays))


@pytest.mark.parametrize(("name", "operands", "_"), BEYOND)
def test_of_those_that_are_not_selected_nothing_is_said(name, operands, _):
    vp = weft.pvar.VPSet(3)
    variables = [vp.array(np.array([one, 0.5, 2.0])) for one in operands]
    with warnings.catch_warnings(), vp.where(vp.address() > 0):
        warnings.simplefilter("error")
        result = getattr(pvar, name)(*variables)
    inside = getattr(np, name)(*[np.asarray(one)[1:] for one in variables])
    assert np.allclose(np.asarray(result)[1:], inside, rtol=1e-15)


def test_large_angles_are_numpys():
    x = np.array([1e22, 3.0 * LARGEST_ANGLE, np.nan, 0.5])
    assert domains.computed("sin", (x,)) is None
    assert same(np.asarray(pvar.sin(weft.pvar.VPSet(4).array(x))), np.sin(x))


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("sin", (np.ones(4, np.float32),)),
        ("sin", (np.ones(4, np.complex128),)),
        ("sin", (np.ones(8)[::2],)),
        ("hypot", (np.ones(4), np.ones(4, np.float32))),
        ("hypot", (np.ones(4), 10**400)),
        ("hypot", (np.ones(4), np.float64(1))),
        ("remainder", (np.ones(4, np.int64), 3)),
        ("remainder", (1.0, 2.0)),
        ("floor_divide", (np.ones(4, ">f8"), 1.0)),
    ],
)
def test_what_kernels_do_not_compute_is_left_to_numpy(name, operands):
    assert domains.computed(name, operands) is None


def test_numpys_functions_of_variables_are_these():
    vp = weft.pvar.VPSet(3)
    x, y = vp.array(np.array([-7.5, 0.1, 3.0])), vp.array(np.array([2.0, -3.0, 0.5]))
    assert np.array_equal(np.asarray(np.sin(x)), np.asarray(pvar.sin(x)))
    assert np.array_equal(np.asarray(x % y), np.remainder(np.asarray(x), np.asarray(y)))
    assert np.array_equal(np.asarray(x // 2), np.floor_divide(np.asarray(x), 2))
    assert np.array_equal(np.asarray(np.hypot(x, y)), np.asarray(pvar.hypot(x, y)))
