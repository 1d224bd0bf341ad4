"""The array primitives of the extension module, beside numpy."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from weft import _core

Array = np.ndarray[Any, Any]

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
SHAPES = arrays.array_shapes(min_dims=1, max_dims=4, max_side=9)


@st.composite
def operands(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    """Two integer arrays and a selection, of one shape."""
    dtype, shape = draw(st.sampled_from(INTEGERS)), draw(SHAPES)
    elements = arrays.arrays(dtype, shape)
    return draw(elements), draw(elements), draw(arrays.arrays(np.bool_, shape))


@given(operands(), st.sampled_from(["add", "subtract", "multiply", "maximum", "minimum", "less"]))
def test_elementwise_operations_are_those_of_numpy(drawn: tuple[Array, Array, Array], name: str) -> None:
    x, y, selection = drawn
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x, y)
    out = np.ones(x.shape, wanted.dtype)
    expected = np.where(selection, wanted, out)
    _core.array_elementwise(name, (x, y), out, selection)
    assert np.array_equal(out, expected)


@given(operands(), st.data())
def test_scans_and_reductions_are_those_of_numpy(drawn: tuple[Array, Array, Array], data: st.DataObject) -> None:
    x, _, selection = drawn
    axis = data.draw(st.integers(0, x.ndim - 1))
    kept = np.where(selection, x, x.dtype.type(0))
    out = np.ones_like(x)
    expected = np.where(selection, np.cumsum(kept, axis=axis, dtype=x.dtype), out)
    _core.array_scan(x, out, "add", axis, selection=selection)
    assert np.array_equal(out, expected)
    assert _core.array_reduce(x, "add", selection) == x.sum(where=selection)
    assert _core.array_reduce(x, "max") == x.max()
    assert _core.array_reduce(x, "logxor") == np.bitwise_xor.reduce(x, axis=None)


@given(operands(), st.data())
def test_spreads_gets_and_sends_are_those_of_numpy(drawn: tuple[Array, Array, Array], data: st.DataObject) -> None:
    x, start, selection = drawn
    axis = data.draw(st.integers(0, x.ndim - 1))
    index = data.draw(st.integers(0, x.shape[axis] - 1))
    out = start.copy()
    _core.array_spread(x, out, axis, index, selection)
    assert np.array_equal(out, np.where(selection, x.take([index], axis), start))
    places = data.draw(arrays.arrays(np.int64, x.shape, elements=st.integers(0, x.size - 1)))
    out = start.copy()
    _core.array_gather(x, places, out, selection)
    assert np.array_equal(out, np.where(selection, x.ravel()[places], start))
    out, expected = start.copy(), start.ravel().copy()
    _core.array_send(x, places, out, "add", selection)
    np.add.at(expected, places[selection], x[selection])
    assert np.array_equal(out.ravel(), expected)


def test_the_workspace_of_a_send_may_hold_anything() -> None:
    rng = np.random.default_rng(5)
    x, index = rng.random(2_200_000), rng.integers(0, 3_000_000, 2_200_000)
    expected = np.zeros(3_000_000)
    np.add.at(expected, index, x)
    enough = _core.array_send_workspace_bytes(x, expected, 2)
    assert enough > 10 * x.size
    assert _core.array_send_workspace_bytes(FLOATS, FLOATS) == 0
    for size in (enough, enough // 2, 0):
        workspace = _core.SendWorkspace(size)
        assert workspace.nbytes == size
        for _ in range(2):
            out = np.zeros(3_000_000)
            _core.array_send(x, index, out, "add", threads=2, workspace=workspace)
            assert np.array_equal(out, expected)


@pytest.mark.parametrize("clobber", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("length", [64, 5_000, 300_000])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_elements_like_what_marks_vacancies_are_sent(dtype: type, length: int, threads: int, clobber: bool) -> None:
    """Sends that refuse collisions mark what nothing is sent to by bytes of 0x9B, which elements may have too."""
    chance = np.random.default_rng(length)
    mark = np.frombuffer(b"\x9b" * np.dtype(dtype).itemsize, dtype)[0]
    start = chance.integers(0, 100, length).astype(dtype)
    start[::3] = mark
    index = chance.permutation(length)
    for marked in ([], [0], [1], [0, 1, length - 1], slice(None)):
        x = chance.integers(0, 100, length).astype(dtype)
        x[marked] = mark
        for senders in (length, length - 1):
            out, expected = start.copy(), start.copy()
            expected[index[:senders]] = x[:senders]
            _core.array_send(x[:senders], index[:senders], out, None, None, threads, None, clobber)
            assert np.array_equal(out, expected)
            twice = index[:senders].copy()
            twice[1] = twice[0]
            with pytest.raises(
                _core.UsageError, match=f"elements 0 and 1 are both sent to element {twice[0]}: choose how"
            ):
                _core.array_send(x[:senders], twice, start.copy(), None, None, threads, None, clobber)


def test_a_workspace_without_memory_is_refused() -> None:
    for size in (2**62, 2**63 - 1, 2**64 - 1):
        with pytest.raises(MemoryError, match=f"no memory for a workspace of {size} bytes"):
            _core.SendWorkspace(size)


def test_operands_of_one_element_stand_for_all() -> None:
    out = np.zeros((2, 3))
    _core.array_elementwise("multiply", (np.full((2, 3), 4.0), np.array(0.5)), out)
    assert (out == 2).all()


def test_nothing_selected_has_no_largest_and_the_sum_0() -> None:
    x, none = np.ones(5), np.zeros(5, dtype=bool)
    assert _core.array_reduce(x, "max", none) is None
    assert _core.array_reduce(x, "add", none) == 0
    assert _core.array_reduce(none, "or") is False


FLOATS, INDEX, SHARED = np.zeros(4), np.array([0, 1, 1, 3]), np.zeros(4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _core.array_reduce([1.0], "add"), "x is a list: expected a numpy array"),  # type: ignore[arg-type]
        (lambda: _core.array_reduce(FLOATS, "sum"), "no operation 'sum': expected one of add, multiply, max, min"),
        (lambda: _core.array_reduce(FLOATS, "logand"), "logand is not defined for float64: it combines bits"),
        (lambda: _core.array_reduce(FLOATS.astype(">f8"), "add"), "x has dtype >f8, expected one of bool, int8"),
        (lambda: _core.array_reduce(FLOATS[::2], "add"), "x is not dense in C order"),
        (lambda: _core.array_reduce(FLOATS, "add", INDEX), "selection has dtype int64, expected bool"),
        (
            lambda: _core.array_reduce(FLOATS, "add", np.ones(3, bool)),
            r"selection has shape \(3,\), x has shape \(4,\)",
        ),
        (lambda: _core.array_scan(FLOATS, FLOATS.copy(), "add", 1), "axis 1 is out of range: expected 0 to 0"),
        (lambda: _core.array_scan(FLOATS, FLOATS.copy(), "copy", exclusive=True), "cannot be exclusive"),
        (lambda: _core.array_scan(FLOATS[:3], FLOATS[1:], "add"), "x and out share memory"),
        (lambda: _core.array_spread(FLOATS, FLOATS.copy(), 0, 4), "index 4 is out of range: expected 0 to 3"),
        (lambda: _core.array_elementwise("add", (FLOATS,), FLOATS), "add has 2 operands, 1 were given"),
        (
            lambda: _core.array_elementwise("plus", (FLOATS,), FLOATS),
            "no operation 'plus': expected one of add, subtract",
        ),
        (lambda: _core.array_elementwise("add", (FLOATS, INDEX), FLOATS), "has dtype int64, expected float64"),
        (lambda: _core.array_elementwise("less", (FLOATS, FLOATS), FLOATS), "out has dtype float64, expected bool"),
        (
            lambda: _core.array_gather(FLOATS, INDEX + 1, FLOATS.copy()),
            "index 4 at element 3 is out of range: the source",
        ),
        (lambda: _core.array_gather(FLOATS, INDEX - 1, FLOATS.copy()), "index -1 at element 0 is out of range"),
        (lambda: _core.array_gather(FLOATS, FLOATS, FLOATS.copy()), "index has dtype float64, expected int32 or int64"),
        (
            lambda: _core.array_send(FLOATS, INDEX, np.zeros(3), "add"),
            "index 3 at element 3 is out of range: the destination",
        ),
        (
            lambda: _core.array_send(FLOATS, INDEX, np.zeros(4)),
            "elements 1 and 2 are both sent to element 1: choose how",
        ),
        (lambda: _core.array_send(FLOATS, INDEX, np.zeros(4), "sum"), "no operation 'sum'.*overwrite"),
    ],
)
def test_messages(call: Any, message: str) -> None:
    with pytest.raises(_core.UsageError, match=message):
        call()


def test_read_only_outputs_are_refused() -> None:
    out = np.zeros(4)
    out.flags.writeable = False
    with pytest.raises(_core.UsageError, match="out is read-only"):
        _core.array_scan(FLOATS, out, "add")


def test_other_threads_of_python_run_meanwhile() -> None:
    """Large calls in several threads of Python, each with threads of its own, come to an end with the right answer."""
    x = np.ones(1 << 20)
    results: list[Any] = []
    workers = [
        threading.Thread(target=lambda: results.append(_core.array_reduce(x, "add", threads=2))) for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [float(1 << 20)] * 4
