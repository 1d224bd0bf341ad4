"""Functions that kernels compute where numpy has no loop of vectors, against numpy's own."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from weft import UsageError, pvar
from weft.pvar import vectorized
from weft.pvar.operations import FUNCTIONS

NUMPY = {
    "maximum": np.maximum,
    "minimum": np.minimum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "sign": np.sign,
    "sqrt": np.sqrt,
}
CASES = [(name, code) for name, codes in vectorized._KERNELS.items() for code in codes]
FLOATS = [0.0, -0.0, np.nan, np.inf, -np.inf, 1, -1, 2.5]
NUMBERS = {
    "f": (0.0, -0.0, np.nan, np.inf, 1, 3, True, 1e300, 1 << 2000),
    "b": (True, False, 1, 1.5),
    "i": (0, 1, -1, 7, 8, 9, 31, 63, 100, 200, 1 << 40, 1 << 70, 1.5, True),
}
NUMBERS["u"] = NUMBERS["i"]


def elements(rng, dtype, count):
    if dtype.kind == "f":
        return rng.choice(np.array(FLOATS, dtype), count)
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    of = np.iinfo(dtype)
    return rng.integers(of.min, of.max, count, dtype=dtype, endpoint=True)


def outcome(function, operands):
    """The result, or which error it was; and whether there was a warning."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = function(*operands)
        except (TypeError, OverflowError) as error:
            return type(error), bool(said)
    return result, bool(said)


def agree(name, operands):
    (wanted, warned), (got, said) = outcome(NUMPY[name], operands), outcome(FUNCTIONS[name].compute, operands)
    assert warned == said
    if isinstance(wanted, type):
        assert got is wanted
        return
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("name", "code"), CASES)
def test_kernels_give_what_numpy_gives_with_all_kinds_of_numbers(name, code):
    rng, dtype = np.random.default_rng(3), np.dtype(code)
    fewest = vectorized.MIN_ROOTS if name == "sqrt" else vectorized.MIN_ELEMENTS
    for count in (1, fewest - 1, fewest, fewest + 1, 4 * fewest + 3):
        x = elements(rng, dtype, count)
        if FUNCTIONS[name].operands == 1:
            positive = np.abs(x) if name == "sqrt" else x[::-1].copy()
            for operand in (x, positive, x[::2], x.reshape(1, -1)):
                agree(name, (operand,))
            continue
        for number in (*NUMBERS[dtype.kind], dtype.type(1)):
            agree(name, (x, number))
            agree(name, (number, x))
        for other in (x[::-1].copy(), x[::-1], elements(rng, dtype, count)):
            agree(name, (x, other))


@given(
    of_numpy.arrays(np.float32, st.integers(1020, 1030), elements=st.floats(width=32)),
    st.floats(width=32),
    st.sampled_from(("maximum", "minimum")),
)
def test_extremes_with_any_number_are_those_of_numpy(x, number, name):
    agree(name, (x, number))
    agree(name, (number, x))


def test_what_a_kernel_computes_is_known_to_the_estimator():
    assert vectorized.is_by_kernel("maximum", "float32", vectorized.MIN_ELEMENTS)
    assert not vectorized.is_by_kernel("maximum", "float32", vectorized.MIN_ELEMENTS - 1)
    assert not vectorized.is_by_kernel("maximum", "float16", vectorized.MIN_ELEMENTS)
    assert not vectorized.is_by_kernel("sqrt", "float64", vectorized.MIN_ROOTS - 1)
    assert not vectorized.is_by_kernel("add", "float64", 1 << 20)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "bool"])
@pytest.mark.parametrize("name", ["negative", "abs", "square", "sign", "positive", "floor", "round"])
def test_functions_of_whole_numbers_are_the_same_under_a_selection(name, dtype):
    vp, rng = pvar.VPSet(300), np.random.default_rng(4)
    x = vp.array(elements(rng, np.dtype(dtype), 300))
    function = getattr(pvar, name)
    try:
        wanted = function(x).numpy()
    except UsageError:
        with vp.where(vp.coordinate(0) < 7), pytest.raises(UsageError, match=name):
            function(x)
        return
    with vp.where(vp.coordinate(0) < 7):
        assert np.array_equal(function(x).numpy(), wanted)


@pytest.mark.parametrize("selected", [[], [0], [8_191], [8_192], [20_000], [3, 17_000]])
def test_extremes_of_a_few_selected_are_found_wherever_they_are(selected):
    vp, rng = pvar.VPSet(20_001), np.random.default_rng(5)
    elements, chosen = rng.normal(size=20_001), np.zeros(20_001, bool)
    chosen[selected] = True
    x = vp.array(elements)
    with vp.where(vp.array(chosen)):
        assert pvar.reduce(x, "max", initial=-9.0) == max([-9.0, *elements[selected]])
        assert pvar.reduce(x, "min", initial=9.0) == min([9.0, *elements[selected]])


@pytest.mark.parametrize("name", [name for name, one in FUNCTIONS.items() if one.operands == 2])
@pytest.mark.parametrize("length", [7, 5000])
def test_functions_of_two_have_an_output(name, length):
    """Operations in place ask for it; where there was none they computed, failed, and computed anew."""
    compute = FUNCTIONS[name].compute
    rng = np.random.default_rng(3)
    for dtype in ("uint8", "int16", "int64", "float32", "bool"):
        x, y = (rng.integers(1, 5, length).astype(dtype) for _ in range(2))
        for other in (y, np.dtype(dtype).type(1).item()):
            try:
                expected = compute(x, other)
            except TypeError:
                continue
            out = np.zeros_like(expected)
            assert compute(x, other, out) is out
            assert out.dtype == expected.dtype
            assert np.array_equal(out, expected)
            if expected.dtype == x.dtype:
                kept = x.copy()
                assert compute(kept, other, kept) is kept
                assert np.array_equal(kept, expected)
