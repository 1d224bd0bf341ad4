"""Products and exclusive ors in scans and sends, element by element."""

import functools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import pvar

COMBINE = {"multiply": lambda x, y: x * y, "logxor": lambda x, y: x ^ y}
NOTHING = {"multiply": 1, "logxor": 0}


def wrapped(number, dtype):
    """A whole number in the word length of a dtype."""
    bits = 8 * dtype.itemsize
    number &= (1 << bits) - 1
    return number - (1 << bits) if dtype.kind == "i" and number >> (bits - 1) else number


def scanned(x, operator, segments, mask, exclusive, down):
    """The scan of a line, in Python's numbers."""
    results = [0] * len(x)
    so_far = NOTHING[operator]
    order = range(len(x))
    for i in reversed(order) if down else order:
        begins = i + 1 < len(x) and segments[i + 1] if down else segments[i]
        if begins:
            so_far = NOTHING[operator]
        before = so_far
        if mask[i]:
            so_far = COMBINE[operator](so_far, x[i].item())
            if x.dtype.kind in "iu":
                so_far = wrapped(so_far, x.dtype)
            results[i] = before if exclusive else so_far
    return np.array(results, x.dtype)


@settings(max_examples=120, deadline=None)
@given(
    st.integers(1, 200),
    st.sampled_from(["int8", "uint8", "int32", "int64", "uint64", "float64", "float32"]),
    st.sampled_from(["multiply", "logxor"]),
    st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    st.integers(0, 2**32 - 1),
)
def test_scans_are_those_of_a_loop(length, dtype, operator, forms, seed):
    exclusive, down, segmented, selected = forms
    if operator == "logxor" and dtype.startswith("float"):
        return
    rng = np.random.default_rng(seed)
    # Powers of two are multiplied without rounding.
    powers = 2.0 ** rng.integers(-1, 2, length)
    x = (powers if dtype.startswith("float") else rng.integers(-100, 100, length)).astype(dtype)
    segments, mask = rng.random(length) < 0.1, rng.random(length) < (0.6 if selected else 2)
    vp = weft.pvar.VPSet(length)
    with vp.where(vp.array(mask)):
        result = pvar.scan(
            vp.array(x), operator, segments=vp.array(segments) if segmented else None, exclusive=exclusive,
            direction="down" if down else "up",
        )  # fmt: skip
    nowhere = np.zeros(length, bool)
    expected = scanned(x, operator, segments if segmented else nowhere, mask, exclusive, down)
    assert np.array_equal(np.asarray(result), expected)


def test_long_products_of_floats_are_numpys_but_for_rounding():
    x = np.random.default_rng(1).uniform(0.99, 1.01, (3, 70_001))
    vp = weft.pvar.VPSet(x.shape)
    for axis in (0, 1):
        result = np.asarray(pvar.scan(vp.array(x), "multiply", axis=axis))
        assert np.allclose(result, np.multiply.accumulate(x, axis=axis), rtol=1e-11)


@pytest.mark.parametrize("dtype", ["int16", "int64", "uint8", "float32", "float64"])
@pytest.mark.parametrize("operator", ["multiply", "logxor"])
@pytest.mark.parametrize("length", [1, 1000, 70_001])
def test_sends_are_numpys(dtype, operator, length):
    if operator == "logxor" and dtype.startswith("float"):
        pytest.skip("floats have no bits to combine")
    rng = np.random.default_rng(length)
    x = rng.choice([-2, -1, 1, 2, 3], length).astype(dtype)
    to = rng.integers(0, max(length // 3, 1), length)
    vp = weft.pvar.VPSet(length)
    ufunc = np.multiply if operator == "multiply" else np.bitwise_xor
    into = np.full(length, 3, dtype)
    target = vp.array(into, copy=True)
    pvar.send(vp.array(x), vp.array(to), combine=operator, into=target)
    with np.errstate(all="ignore"):
        ufunc.at(into, to, x)
    assert np.array_equal(np.asarray(target), into)


def test_processors_that_no_product_comes_to_have_zero():
    vp = weft.pvar.VPSet(4)
    sent = pvar.send(vp.array(np.array([2.0, 3.0, 5.0, 7.0])), vp.array(np.array([1, 1, 3, 3])), combine="multiply")
    assert np.asarray(sent).tolist() == [0.0, 6.0, 0.0, 35.0]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([0, 1, 2, 31, 32, 33, 4095, 4096, 4097, 8191, 70_001]),
    st.sampled_from(["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float32", "float64"]),
    st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    st.integers(0, 2**32 - 1),
)
def test_products_of_all_are_those_of_pythons_numbers(length, dtype, share, seed):
    rng = np.random.default_rng(seed)
    floats = dtype.startswith("float")
    # Products of powers of two are exact, and of many odd numbers wrap around without being zero.
    numbers = 2.0 ** rng.integers(-1, 2, length) if floats else 2 * rng.integers(-50, 50, length) + 1
    x, mask = numbers.astype(dtype), rng.random(length) < share
    vp = weft.pvar.VPSet(length)
    with vp.where(vp.array(mask)):
        found = pvar.reduce(vp.array(x), "product")
    if floats:
        with np.errstate(over="ignore"):
            product = np.ldexp(np.dtype(dtype).type(1), sum(math.frexp(one)[1] - 1 for one in x[mask].tolist()))
        assert found == product
    else:
        product = functools.reduce(lambda so_far, one: so_far * one % 2**64, x[mask].tolist(), 1)
        assert found == wrapped(product, np.dtype("uint64" if dtype.startswith("u") else "int64"))


def test_a_product_of_float32_is_rounded_once():
    vp = weft.pvar.VPSet(3)
    large = np.finfo(np.float32).max
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pvar.reduce(vp.array(np.array([large, 2, 0.25], "float32")), "product") == np.float32(large) / 2
        assert pvar.reduce(vp.array(np.array([large, -2, 1], "float32")), "product") == -np.inf
        assert np.isnan(pvar.reduce(vp.array(np.array([large, np.nan, 1], "float32")), "product"))
    third = np.float32(1 / 3)
    product = float(third) ** 3
    assert pvar.reduce(vp.full(1 / 3, "float32"), "product") == float(np.float32(product))
