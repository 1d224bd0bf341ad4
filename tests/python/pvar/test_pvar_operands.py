"""Operands of every kind, under a selection and without: variables of two dtypes, Python's numbers and numpy's."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import pvar
from weft.pvar.operations import FUNCTIONS

NUMPY = {"pow": "power", "atan2": "arctan2", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}
BINARY = sorted(name for name, function in FUNCTIONS.items() if function.operands == 2)
DTYPES = ("f8", "f4", "i8", "i4", "i1", "u1", "?")
NUMBERS = (0, 1, 2, -3, 7, 300, True, 0.5, -1.5, 0.0, float("inf"), 1e300, 1 << 40)

OPERANDS = st.one_of(
    st.tuples(st.just("variable"), st.sampled_from(DTYPES)),
    st.tuples(st.just("number"), st.sampled_from(NUMBERS)),
    st.tuples(st.sampled_from(DTYPES), st.sampled_from((0, 1, 2, 5))),
)


def operand(kind, which, rng, size):
    if kind == "variable":
        if which == "?":
            return rng.random(size) < 0.5
        elements = rng.integers(0, 9, size) - (0 if which[0] == "u" else 4)
        return elements.astype(which) / np.dtype(which).type(2) if which[0] == "f" else elements.astype(which)
    return which if kind == "number" else np.dtype(kind).type(which)


@pytest.mark.parametrize("number", [1e300, -1e300, 1e39, 10**40, np.inf])
@pytest.mark.parametrize("name", ["add", "maximum", "less"])
def test_numbers_that_a_float_does_not_hold_are_not_warned_of_under_a_selection(name, number):
    vp = pvar.VPSet(5)
    x = vp.full(1.0, "float32")
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x.numpy(), number)
    with vp.where(vp.coordinate(0) < 2):
        assert np.array_equal(getattr(pvar, name)(x, number).numpy(), wanted)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(BINARY), OPERANDS, OPERANDS, st.sampled_from((1, 31, 700)), st.booleans(), st.integers(0, 99))
def test_operands_are_computed_with_as_numpy_does(name, one, other, size, selected, seed):
    rng = np.random.default_rng(seed)
    x, y = operand(*one, rng, size), operand(*other, rng, size)
    if not isinstance(x, np.ndarray) and not isinstance(y, np.ndarray):
        return
    vp = pvar.VPSet(size)
    as_operand = [vp.array(z.copy()) if isinstance(z, np.ndarray) else z for z in (x, y)]
    refused = (TypeError, OverflowError, ValueError)
    with np.errstate(all="ignore"):
        try:
            expected = getattr(np, NUMPY.get(name, name))(x, y)
            if expected.dtype == np.float16:
                return
        except refused:
            with vp.where(vp.full(True)), pytest.raises(weft.UsageError, match=name):
                getattr(pvar, name)(*as_operand)
            return
    with warnings.catch_warnings():
        warnings.simplefilter("error" if selected else "ignore")
        if selected:
            with vp.where(vp.array(rng.random(size) < 0.5)):
                got = getattr(pvar, name)(*as_operand)
        else:
            got = getattr(pvar, name)(*as_operand)
    assert got.dtype == expected.dtype
    tolerance = 1e-6 if expected.dtype == np.float32 else 1e-14
    np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance if name in ("hypot", "pow", "logaddexp") else 0)


@pytest.mark.parametrize("number", [1, True, 2.5, np.int8(3), np.float64(1.5)])
@pytest.mark.parametrize("dtype", ["i4", "i8", "f8", "f4"])
@pytest.mark.parametrize("shape", [(7,), (3, 5)])
def test_a_number_is_sent_as_a_variable_of_it_is(number, dtype, shape):
    vp, there = pvar.VPSet(shape), pvar.VPSet((4,))
    to, size = np.arange(vp.size).reshape(shape) % 4, vp.size
    address, whole = vp.array(to), np.dtype(dtype).kind == "i"
    for chosen in (np.ones(shape, bool), np.arange(size).reshape(shape) % 3 > 0):
        into = there.full(10, dtype)
        with vp.where(vp.array(chosen)):
            if whole and isinstance(number, float):
                with pytest.raises(weft.UsageError, match="cannot be"):
                    pvar.send(number, address, combine="add", into=into)
                return
            pvar.send(number, address, combine="add", into=into)
        expected = 10 + np.bincount(to[chosen], minlength=4) * number
        assert into.numpy().tolist() == expected.tolist()
