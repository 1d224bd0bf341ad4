"""Plans: set up once, bound, released; and what is refused."""

import numpy as np
import pytest

import weft

FIVE = {(0, 0): -4.0, (1, 0): 1.0, (-1, 0): 1.0, (0, 1): 1.0, (0, -1): 1.0}


def test_a_plan_is_called_often():
    plan = weft.arrays.stencil(FIVE).plan((6, 5))
    assert (plan.shape, plan.dtype, plan.steps) == ((6, 5), np.float64, 1)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((6, 5))
        np.testing.assert_array_equal(plan(x), weft.arrays.stencil(FIVE)(x))
    many = np.random.default_rng(1).standard_normal((4, 6, 5))
    np.testing.assert_array_equal(plan(many)[2], plan(many[2]))


def test_a_bound_plan_computes_what_the_array_holds_then():
    x, out = np.zeros((6, 5)), np.empty((6, 5))
    call = weft.arrays.stencil(FIVE).plan(x.shape).bind(x, out)
    x[2, 2] = 1
    assert call() is None
    assert out[2, 2] == -4
    assert out[1, 2] == 1
    x[:] = 0
    call()
    assert not out.any()


def test_coefficients_are_kept_not_copied():
    c = np.ones((4, 8))
    plan = weft.arrays.stencil({(0, 0): c}).plan((4, 8))
    c[1, 1] = 5
    assert plan(np.ones((4, 8)))[1, 1] == 5


def test_complex_coefficients_are_bound_as_well():
    x = np.arange(6) + 1j
    out = np.empty(6, complex)
    weft.arrays.stencil({1: 2j, 0: 1.0}).plan(6, complex).bind(x, out)()
    np.testing.assert_array_equal(out, 2j * np.roll(x, -1) + x)


def test_a_released_plan_is_refused():
    with weft.arrays.stencil(FIVE).plan((4, 4)) as plan:
        plan(np.zeros((4, 4)))
    for use in (lambda: plan(np.zeros((4, 4))), plan.explain, lambda: plan.bind(np.zeros((4, 4)), np.zeros((4, 4)))):
        with pytest.raises(weft.UsageError, match="this plan was released: make a new one with Stencil.plan"):
            use()
    assert repr(plan) == "<released stencil plan for float64 arrays of (4, 4)>"


def test_a_plan_says_what_it_will_do():
    plan = weft.arrays.stencil(FIVE).plan((64, 64))
    assert "5 points over [64, 64] sites" in plan.explain()
    assert plan.bytes() == 2 * 64 * 64 * 8
    c = np.ones((64, 64))
    assert weft.arrays.stencil({(0, 0): c, (0, 1): c}).plan((64, 64)).bytes() == 4 * 64 * 64 * 8


def test_results_begin_a_cache_line():
    for shape in [(3,), (5, 7), (64, 64)]:
        out = weft.arrays.stencil({(0,) * len(shape): 1.0})(np.ones(shape))
        assert out.ctypes.data % 64 == 0


def test_a_stencil_describes_itself():
    s = weft.arrays.stencil({(0, 0): 1.0, (2, -1): 1.0}, boundary=("circular", 0), site_rank=1)
    assert (s.rank, s.site_rank, s.reach, s.boundary) == (2, 1, ((0, 2), (1, 0)), ("circular", 0))
    assert s.points == {(0, 0): 1.0, (2, -1): 1.0}
    assert repr(s) == "<stencil of 2 points over 2 axes>"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: weft.arrays.stencil({}), "a mapping of offsets to coefficients with at least one point"),
        (lambda: weft.arrays.stencil({(0, 0): 1, (1,): 1}), r"different numbers of axes: \(0, 0\), \(1,\)"),
        (lambda: weft.arrays.stencil({(0,) * 17: 1}), "a stencil has 1 to 16 axes, not 17"),
        (lambda: weft.arrays.stencil({(0.5, 0): 1}), r"offset \(0.5, 0\) is not a whole number along each axis"),
        (lambda: weft.arrays.stencil({(0, 10**30): 1}), "is longer than any axis: expected distances of at most"),
        (lambda: weft.arrays.stencil({1: 1, (1,): 2}), "an offset is there twice"),
        (lambda: weft.arrays.stencil({1: "a"}), r"the coefficient at \(1,\) is 'a': expected a number"),
        (lambda: weft.arrays.stencil({1: np.ones((2, 2))}), r"the coefficient at \(1,\) has 2 axes, the grid has 1"),
        (lambda: weft.arrays.stencil({1: 1}, boundary="periodic"), "the boundary is 'periodic': expected 'circular'"),
        (lambda: weft.arrays.stencil({1: 1}, boundary=None), "the boundary is None: expected 'circular'"),
        (lambda: weft.arrays.stencil(FIVE, boundary=(0,)), "1 boundaries for a stencil of 2 axes"),
        (lambda: weft.arrays.stencil(FIVE, boundary=np.ones(3)), "a boundary array belongs to one axis"),
        (lambda: weft.arrays.stencil(FIVE, site_rank=-1), "site_rank is -1"),
        (lambda: weft.arrays.stencil({1 << 40: 1.0})(np.zeros(4)), "is too far"),
    ],
)
def test_stencils_that_cannot_be_meant(make, message):
    with pytest.raises(weft.UsageError, match=message):
        make()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s(np.zeros((4, 4), bool)), "not in bool: convert the array, for instance with x.astype"),
        (lambda s: s(np.zeros(4)), r"an array of shape \(4,\) has 1 axes; this stencil needs 2 for the grid"),
        (lambda s: s(np.zeros((4, 4)), steps=0), "steps is 0: expected a whole number, at least 1"),
        (lambda s: s(np.zeros((4, 4)), threads=1.5), "threads is 1.5"),
        (lambda s: s(np.zeros((4, 4)), out=np.zeros((4, 5))), r"out has shape \(4, 5\), the plan is for \(4, 4\)"),
        (lambda s: s(np.zeros((2, 4, 4)), out=np.zeros((4, 4))), r"out has shape \(4, 4\), x has \(2, 4, 4\)"),
        (lambda s: s(np.zeros((4, 4)), out=np.zeros((4, 4), "f4")), "out is float32, the plan is for float64"),
        (lambda s: s(np.zeros((4, 4)), out=[0]), "out must be a numpy array, not list"),
        (lambda s: s(np.zeros((4, 4)), out=np.broadcast_to(0.0, (4, 4))), "out cannot be written: it is read-only"),
        (lambda s: s.plan((4, 4))(np.zeros((4, 4), "f4")), "x is float32, the plan is for float64"),
        (lambda s: s.plan((4, 4))(np.zeros((5, 4))), r"x has shape \(5, 4\), the plan is for \(4, 4\)"),
        (lambda s: s.plan((-1, 4)), r"\(-1, 4\) is no shape"),
        (lambda s: s.plan((4, 4), "nonsense"), "'nonsense' is no type of an array"),
        (lambda s: s.plan((4, 4)).bind(np.zeros((4, 8))[:, ::2], np.zeros((4, 4))), "rows of a bound array must be"),
        (lambda s: s.plan((4, 4)).bind([1], np.zeros((4, 4))), "bound to numpy arrays, not to list"),
    ],
)
def test_calls_that_cannot_be_meant(call, message):
    with pytest.raises(weft.UsageError, match=message):
        call(weft.arrays.stencil(FIVE))


def test_bound_arrays_share_no_memory():
    x = np.zeros((8, 4))
    with pytest.raises(weft.UsageError, match="x and out share memory"):
        weft.arrays.stencil(FIVE).plan((6, 4)).bind(x[:6], x[2:])


@pytest.mark.parametrize(
    ("points", "boundary", "dtype", "message"),
    [
        (
            {(0, 0): np.ones((3, 4))},
            0,
            float,
            r"the coefficients at \(0, 0\) have shape \(3, 4\), which does not broadcast",
        ),
        ({(0, 0): 1j}, 0, float, r"the coefficient at \(0, 0\) is complex, the array is float64"),
        (FIVE, (1j, 0), float, "the boundary of axis 0 is complex"),
        (FIVE, (np.ones(4) * 1j, 0), float, "the boundary of axis 0 is complex"),
        (
            FIVE,
            (np.ones(5), 0),
            float,
            r"the boundary array of axis 0 has shape \(5,\); for a grid of \(4, 4\) it must have",
        ),
    ],
)
def test_coefficients_and_boundaries_that_do_not_fit(points, boundary, dtype, message):
    with pytest.raises(weft.UsageError, match=message):
        weft.arrays.stencil(points, boundary=boundary)(np.zeros((4, 4), dtype))


def test_an_array_with_its_own_way_is_handed_the_stencil():
    class Distributed:
        def __weft_stencil__(self, stencil, *, out, steps, threads):
            return stencil.reach, out, steps, threads

    assert weft.arrays.stencil(FIVE)(Distributed(), steps=3, threads=2) == (((1, 1), (1, 1)), None, 3, 2)
