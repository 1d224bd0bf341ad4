"""Choosing by a condition gives what numpy's `where` gives, to the bit, and with its dtype."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from weft import pvar
from weft._core import UsageError

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
SIZES = (1, 2, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 129, 257, 1000)
SCALARS = (True, False, 0, 1, -1, 100, 300, 1 << 63, 0.0, -0.0, 1.5, float("nan"), float("inf"), 2j)


def elements(dtype):
    return arrays.from_dtype(np.dtype(dtype))


def same(one, other):
    assert one.dtype == other.dtype
    assert one.tobytes() == other.tobytes()


def is_beyond(number, dtype):
    """Whether a number is none of the integers of a dtype: numpy's `where` wraps it around, weft refuses it."""
    if type(number) is not int or dtype.kind not in "iu":
        return False
    return not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


@st.composite
def operands(draw):
    """A condition, and two operands, arrays or numbers."""
    size = draw(st.sampled_from(SIZES))
    condition = draw(arrays.arrays(bool, size))
    any_dtype = st.sampled_from(DTYPES + FLOATS)
    two = draw(st.tuples(any_dtype, any_dtype) | any_dtype.map(lambda dtype: (dtype, dtype)))
    one, other = (draw(arrays.arrays(dtype, size, elements=elements(dtype))) for dtype in two)
    scalar = draw(st.sampled_from(SCALARS))
    numbers = draw(st.tuples(*[st.sampled_from([one for one in SCALARS if one != 1 << 63])] * 2))
    choices = [(one, other), (one, scalar), (scalar, other), numbers]
    return condition, *draw(st.sampled_from(choices))


@given(operands(), st.booleans())
def test_it_is_numpys(given_, selects):
    condition, x, y = given_
    vp = pvar.VPSet(condition.shape)
    on_processors = [one if np.isscalar(one) else vp.array(one) for one in (x, y)]
    pairs = [(number, array) for number, array in ((x, y), (y, x)) if np.isscalar(number) and not np.isscalar(array)]
    if any(is_beyond(number, array.dtype) for number, array in pairs):
        with pytest.raises(UsageError, match="out of bounds|too large"):
            pvar.where(vp.array(condition), *on_processors)
        return
    wanted = np.where(condition, x, y)
    mask = np.arange(condition.size) % 3 == 0
    if selects:
        with vp.where(vp.array(mask)):
            found = pvar.where(vp.array(condition), *on_processors)
    else:
        found = pvar.where(vp.array(condition), *on_processors)
    same(np.asarray(found), wanted)


@pytest.mark.parametrize("dtype", DTYPES + FLOATS)
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (2, 3, 65), (70000,)])
def test_shapes(dtype, shape):
    rng = np.random.default_rng(3)
    x, y = (rng.integers(0, 2, shape).astype(dtype) for _ in range(2))
    condition = rng.random(shape) < 0.5
    vp = pvar.VPSet(shape)
    same(np.asarray(pvar.where(vp.array(condition), vp.array(x), vp.array(y))), np.where(condition, x, y))


def test_operands_stay_as_they_are_and_results_are_their_own():
    vp = pvar.VPSet((100,))
    x, y = vp.full(1.0), vp.full(2.0)
    chosen = pvar.where(vp.coordinate(0) < 50, x, y)
    chosen[...] = 9.0
    assert np.asarray(x).tolist() == [1.0] * 100
    assert np.asarray(y).tolist() == [2.0] * 100


@pytest.mark.parametrize("bits", [3, 12, 33])
def test_words_of_other_lengths(bits):
    vp = pvar.VPSet((50,))
    x = vp.array(np.arange(50) % 4, bits=bits)
    chosen = pvar.where(vp.coordinate(0) % 2 == 0, x, 1)
    assert chosen.bits == bits
    assert np.asarray(chosen).tolist() == [index % 4 if index % 2 == 0 else 1 for index in range(50)]


def test_a_number_that_does_not_fit_is_refused():
    vp = pvar.VPSet((4,))
    with pytest.raises(UsageError, match="300"):
        pvar.where(vp.coordinate(0) < 2, vp.zeros(np.int8), 300)
