"""Reductions along axes and by numpy's names, numpy's functions of variables."""

import numpy as np
import pvar_cases as cases
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_pvar_primitives import quick, selection

import weft
from weft import UsageError

REDUCTIONS = {"sum": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum,
              "logand": np.bitwise_and, "logior": np.bitwise_or, "logxor": np.bitwise_xor}  # fmt: skip


@quick
@given(cases.SHAPES, st.sampled_from(sorted(REDUCTIONS)), st.data(), cases.DENSITIES, cases.SEEDS)
def test_reductions_along_an_axis(shape, operator, data, density, seed):
    """Line by line, of the selected; what nobody of a line is selected for is the initial value."""
    dtype = data.draw(st.sampled_from(["i1", "u2", "i4", "i8"] + ["f8"] * (not operator.startswith("log"))))
    x, mask = cases.elements(shape, dtype, seed), cases.mask(shape, density, seed)
    axis = data.draw(st.integers(0, len(shape) - 1))
    ufunc = REDUCTIONS[operator]
    wide = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64) if operator in ("sum", "multiply") else x
    wide = wide.astype(x.dtype) if x.dtype.kind == "f" else wide
    expected = np.empty(shape, wide.dtype)
    for line in np.ndindex(*(1 if a == axis else n for a, n in enumerate(shape))):
        at = tuple(slice(None) if a == axis else i for a, i in enumerate(line))
        values = wide[at][mask[at]]
        neutral = (
            -1 if operator == "logand" else 1 if operator == "multiply" else 7 if operator in ("max", "min") else 0
        )
        total = np.array(neutral).astype(wide.dtype)
        with np.errstate(all="ignore"):
            for number, value in enumerate(values):
                total = value if not number and operator in ("max", "min") else ufunc(total, value)
        expected[at] = total
    vp = weft.pvar.VPSet(shape)
    with selection(vp, mask):
        got = weft.pvar.reduce(vp.array(x), operator, axis=axis, initial=7).numpy()
    assert got.dtype == wide.dtype
    assert np.array_equal(got, expected)


@quick
@given(cases.SHAPES, cases.DENSITIES, cases.SEEDS)
def test_reductions_by_their_names(shape, density, seed):
    x, mask = cases.elements(shape, "i4", seed), cases.mask(shape, density, seed)
    vp = weft.pvar.VPSet(shape)
    variable = vp.array(x)
    if not mask.any():
        with selection(vp, mask):
            assert (variable.sum(), variable.prod(), variable.any(), variable.all()) == (0, 1, False, True)
            for name in ("max", "min", "argmax", "argmin", "mean"):
                with pytest.raises(UsageError, match="no processor is selected"):
                    getattr(variable, name)()
        return
    chosen = x[mask]
    with selection(vp, mask):
        assert variable.sum() == np.sum(variable) == chosen.sum()
        assert variable.prod() == chosen.prod()
        assert (variable.max(), variable.min()) == (chosen.max(), chosen.min())
        assert variable.mean() == pytest.approx(chosen.mean())
        assert (variable.any(), variable.all()) == (chosen.any(), chosen.all())
        assert (variable > 0).sum() == np.count_nonzero(chosen > 0)
        first = np.flatnonzero(mask)[chosen.argmax()]
        assert variable.argmax() == np.unravel_index(first, shape)
        first = np.flatnonzero(mask)[chosen.argmin()]
        assert variable.argmin() == np.unravel_index(first, shape)


def test_the_mean_of_lines():
    vp = weft.pvar.VPSet((2, 3))
    x = vp.array(np.arange(6).reshape(2, 3))
    assert np.mean(x, axis=1).numpy().tolist() == [[1.0] * 3, [4.0] * 3]
    with vp.where(vp.coordinate(1) > 0):
        assert x.mean(axis=1).numpy().tolist() == [[1.5] * 3, [4.5] * 3]
        with pytest.raises(UsageError, match="no processor of a line along axis 0 is selected"):
            x.mean(axis=0)
        with pytest.raises(UsageError, match="no processor of 1 lines along axis 0 is selected, so they have no max"):
            x.max(axis=0)


def test_a_nan_is_the_largest():
    vp = weft.pvar.VPSet(4)
    assert vp.array([1.0, np.nan, 3.0, np.nan]).argmax() == (1,)


def test_functions_of_numpy_are_those_of_variables():
    vp = weft.pvar.VPSet((2, 3))
    a = np.arange(1.0, 7.0).reshape(2, 3)
    x = vp.array(a, copy=True)
    for function in (np.sqrt, np.exp, np.negative, np.arctan, np.floor, np.abs, np.signbit):
        got = function(x)
        assert isinstance(got, weft.pvar.ParallelVariable)
        assert np.array_equal(got.numpy(), function(a))
    assert np.array_equal(np.maximum(x, 3).numpy(), np.maximum(a, 3))
    assert np.array_equal((np.float64(2) * x).numpy(), 2 * a)
    with vp.where(x > 3):
        assert np.multiply(x, 10, out=x) is x
    assert np.array_equal(x.numpy(), np.where(a > 3, 10 * a, a))
    assert len(x) == 2


def test_assignment_under_a_condition_can_be_in_place():
    vp = weft.pvar.VPSet(6)
    x = vp.address(np.int64)
    x[x > 3] += 10
    assert x.numpy().tolist() == [0, 1, 2, 3, 14, 15]
    before = x[x > 3]
    before[...] = 0
    assert x.numpy().tolist() == [0, 1, 2, 3, 14, 15], "what is read is a copy"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.add(x, np.ones(4)), r"add: an array is on the front end; vp\.array"),
        (np.add.reduce, r"np\.add\.reduce is not for parallel variables; see reduce"),
        (np.frexp, r"np\.frexp is not for parallel variables; weft\.pvar lists what is"),
        (lambda x: np.sum(x, dtype="f4"), "sum: dtype is not for parallel variables; select with vp.where"),
        (lambda x: np.add(x, x, out=np.ones(4)), r"np\.add: out is a ndarray; expected a parallel variable"),
        (lambda x: np.add(x, x, where=False), "add: where is not for parallel variables"),
        (lambda x: x.sum(axis=1), "reduce: there is no axis 1; the axes are -1 to 0"),
        (lambda x: weft.pvar.reduce(x, "logxor"), "logxor is of integers and booleans, not of float64"),
        (lambda x: weft.pvar.reduce(x > 0, "multiply"), "booleans are not multiplied; 'and' is what"),
        (lambda x: weft.pvar.reduce(x, "xor"), "xor is of booleans, not of float64; compare .* or use logxor for bits"),
    ],
)
def test_what_numpy_asks_in_vain_is_said(native, call, text):
    with pytest.raises(UsageError, match=text):
        call(weft.pvar.VPSet(4).zeros())


def test_products_that_arrive_together():
    vp = weft.pvar.VPSet(5)
    x = vp.array(np.array([3, -1, 4, 1, 5], np.int8))
    assert weft.pvar.send(x, vp.address() // 3, combine="multiply").numpy().tolist() == [-12, 5, 0, 0, 0]
    into = vp.full(2, np.int8)
    weft.pvar.send(x, vp.address() // 3, combine="multiply", into=into)
    assert into.numpy().tolist() == [-24, 10, 2, 2, 2]
