"""The kernels' way of an execution against numpy's."""

import numpy as np
import pvar_cases as cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import pvar
from weft.pvar import memory, native
from weft.pvar.execution import Scan, Send
from weft.pvar.local import Local
from weft.pvar.native import Native
from weft.pvar.operations import FUNCTIONS


@pytest.fixture(autouse=True)
def _native(native):
    pass


def same(got, expected):
    if isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype
        return np.array_equal(got, expected, equal_nan=expected.dtype.kind == "f")
    return type(got) is type(expected) and got == expected


def test_large_sends_keep_the_workspace_that_they_sort_in():
    size = 1 << 21
    run, data, to = Native((size,)), np.arange(size, dtype=float), np.arange(size) * 7 % size
    into = [np.zeros(size), np.zeros(size)]
    workspaces = []
    for out in into:
        run.send(data, to, out, Send("add", None))
        workspaces.append(run.take_workspace(data, out))
        assert run.take_workspace(data, out) is not workspaces[-1], "two sends at once sort in two workspaces"
        run.keep_workspace(workspaces[-1])
    assert workspaces[0] is not None
    assert workspaces[0] is workspaces[1]
    assert np.array_equal(into[0][to], data)
    assert np.array_equal(into[1], into[0])
    assert run.take_workspace(data[:1000], into[0]) is None
    assert run.take_workspace(data[:-1], into[0]) is None, "so many are not sorted"


def test_a_number_goes_to_many_destinations():
    """Where messages are sorted, too."""
    size = 1 << 21
    to = np.random.default_rng(3).integers(0, size, size)
    for mask in (None, np.arange(size) % 3 > 0):
        out = np.zeros(size)
        Native((size,)).send(np.broadcast_to(np.float64(2), (size,)), to, out, Send("add", mask))
        assert np.array_equal(out, 2.0 * np.bincount(to if mask is None else to[mask], minlength=size))


@settings(deadline=None, max_examples=80)
@given(cases.SHAPES, cases.DTYPES, cases.DENSITIES, cases.SEEDS, st.data())
def test_kernels_give_what_numpy_gives(shape, dtype, density, seed, data):
    x, y = cases.elements(shape, dtype, seed), cases.elements(shape, dtype, seed + 1)
    mask = None if density is None else cases.mask(shape, density, seed)
    segments = data.draw(st.sampled_from([None, cases.mask(shape, 0.3, seed + 2)]))
    axis = data.draw(st.integers(0, len(shape) - 1))
    exclusive, down, fresh = data.draw(st.booleans()), data.draw(st.booleans()), data.draw(st.booleans())
    to = np.random.default_rng(seed).integers(0, x.size, shape)
    native, numpy = Native(shape), Local(shape)
    names = ["add", "max", "min"] + (["logand", "logior"] if x.dtype.kind != "f" else [])
    for name in names:
        assert same(native.reduce(x, name, mask), numpy.reduce(x, name, mask))
        scans = [run.scan(x, Scan(name, axis, mask, segments, exclusive, down)) for run in (native, numpy)]
        assert same(*scans), name
    assert same(*(run.scan(x, Scan("copy", axis, mask, segments, down=down)) for run in (native, numpy)))
    assert same(*(run.spread(x, axis, shape[axis] - 1) for run in (native, numpy)))
    assert same(*(run.get(x, to, mask) for run in (native, numpy)))
    for name in [*names, "overwrite"]:
        targets = [np.zeros_like(x) if fresh else y.copy() for _ in range(2)]
        for run, into in zip((native, numpy), targets, strict=True):
            run.send(x, to, into, Send(name, mask, fresh=fresh))
        assert same(*targets), name
    for value in (y, 3, x.dtype.type(4)):
        targets = [x.copy(), x.copy()]
        for run, into in zip((native, numpy), targets, strict=True):
            run.assign(into, value, mask, None)
        assert same(*targets)


LARGE = (1025, 1031)
"""Just beyond what the kernels are asked for, with rows of an odd length."""


@pytest.mark.parametrize("dtype", ["f8", "i8", "?"])
def test_large_arrays_are_computed_as_small_ones(dtype):
    assert np.prod(LARGE) * 8 > memory.LARGE
    a, b = cases.elements(LARGE, dtype, 1), cases.elements(LARGE, dtype, 2)
    vp = weft.pvar.VPSet(LARGE)
    x, y = vp.array(a), vp.array(b)
    for name in native.KERNELS:
        function = FUNCTIONS[name]
        arrays, variables = (a, b)[: function.operands], (x, y)[: function.operands]
        try:
            with np.errstate(all="ignore"):
                expected = function.compute(*arrays)
        except TypeError:
            continue
        assert same(getattr(pvar, name)(*variables).numpy(), expected), name
    if dtype != "?":
        assert same((x + 2).numpy(), a + 2)
    for axis in (0, 1):
        assert same(weft.pvar.shift(x, 3, axis).numpy(), np.roll(a, -3, axis))
        assert same(weft.pvar.shift(x, -1, axis, 0).numpy()[1:, 1:], np.roll(a, 1, axis)[1:, 1:])


SPECIAL = (0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 1e-320, -1e300, 2.0**52 + 0.5, 2.0**63)


def awkward(dtype, length):
    """Elements of a dtype with all that is special about it, in pairs of which each meets each."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            values = np.array([*SPECIAL, np.inf, -np.inf, np.nan, np.finfo(kind).max], kind)
    elif kind.kind == "b":
        values = np.array([False, True])
    else:
        limits = np.iinfo(kind)
        near = (0, 1, 2, 7, 8, 15, 16, 31, 32, 63, 64, 100, limits.max, limits.max - 1, limits.min)
        values = np.array([one for one in near if one <= limits.max], kind)
        values = np.concatenate([values, -values]) if kind.kind == "i" else values
    x, y = np.meshgrid(values, values)
    return np.resize(x, length), np.resize(y, length)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
@pytest.mark.parametrize("length", [1, 63, 65, 1100])
def test_every_function_that_has_a_kernel_gives_the_bits_of_numpy(dtype, length, monkeypatch):
    monkeypatch.setattr(native, "LARGE", 1)
    run, (x, y) = Native((length,)), awkward(dtype, length)
    tried = []
    for name, kinds in native.KERNELS.items():
        if x.dtype.kind not in kinds:
            continue
        function = FUNCTIONS[name]
        operands = [x, y][: function.operands]
        got = run.elementwise(name, operands)
        try:
            with np.errstate(all="ignore"):
                expected = function.compute(*operands)
        except TypeError:
            continue
        assert got is not None, name
        assert same(got, expected), name
        if got.dtype.kind == "f" and name not in ("maximum", "minimum"):
            assert np.array_equal(np.signbit(got[got == 0]), np.signbit(expected[got == 0])), name
        tried.append(name)
    assert len(tried) >= (8 if dtype == "?" else 17)


AWKWARD = (0.0, -0.0, np.inf, -np.inf, np.nan)


@settings(deadline=None, max_examples=80)
@given(cases.SHAPES, st.sampled_from(["f8", "f2", "f4", "f8", "c8", "c16"]), cases.DENSITIES, cases.SEEDS, st.data())
def test_what_moves_keeps_its_bits(shape, dtype, density, seed, data):
    """Zeros of both signs, infinities and NaNs, by kernels and by numpy, at the boundary too."""
    random = np.random.default_rng(seed)
    x, old = (random.choice(AWKWARD, shape).astype(dtype) for _ in range(2))
    axis = data.draw(st.integers(0, len(shape) - 1))
    distance, extent = data.draw(st.integers(-9, 9)), shape[axis]
    edge = data.draw(st.sampled_from((-0.0, 0.0, np.nan, -np.inf)))
    large, kept = data.draw(st.sampled_from([1, 1, memory.LARGE])), native.LARGE
    vp = weft.pvar.VPSet(shape)
    to = random.permutation(x.size).reshape(shape)
    mask = cases.mask(shape, density, seed)
    padded = np.concatenate([np.full((9, *np.delete(shape, axis)), edge, dtype), np.moveaxis(x, axis, 0)])
    padded = np.concatenate([padded, np.full((9, *np.delete(shape, axis)), edge, dtype)])
    shifted = np.moveaxis(padded[9 + distance : 9 + distance + extent], 0, axis)
    sent = old.copy()
    sent.reshape(-1)[to[mask]] = x[mask]
    try:
        native.LARGE = large
        pairs = [
            (pvar.shift(vp.array(x), distance, axis, edge), shifted),
            (pvar.shift(vp.array(x), distance, axis), np.roll(x, -distance, axis)),
            (pvar.spread(vp.array(x), axis, -1), np.broadcast_to(np.take(x, [-1], axis), shape)),
            (pvar.get(vp.array(x), vp.array(to)), x.reshape(-1)[to]),
        ]
        with vp.where(vp.array(mask)):
            pairs.append((pvar.send(vp.array(x), vp.array(to), into=vp.array(old.copy())), sent))
            assigned = vp.array(old.copy())
            assigned[...] = vp.array(x)
            pairs.append((assigned, np.where(mask, x, old)))
    finally:
        native.LARGE = kept
    for got, expected in pairs:
        assert got.numpy().tobytes() == np.ascontiguousarray(expected).tobytes()


def test_large_arrays_are_compared_with_numbers_that_they_cannot_hold(monkeypatch):
    """As small ones are: the kernel has no such element, and numpy knows the answer."""
    monkeypatch.setattr(native, "LARGE", 1)
    vp = weft.pvar.VPSet(300)
    x = vp.array(np.arange(300).astype("u1"))
    for number in (-1, 256, 2**64):
        assert (x < number).all() == (number > 0)
        assert (number == x).any() is False
        assert pvar.greater(number, x).all() == (number > 0)
    with pytest.raises(weft.UsageError, match="add: uint8 and 256: Python integer 256 out of bounds for uint8"):
        x + 256


def test_nan_wins_maxima_of_large_arrays():
    a = np.zeros(LARGE)
    a[::7, ::3] = np.nan
    vp = weft.pvar.VPSet(LARGE)
    for name in ("maximum", "minimum"):
        got = getattr(pvar, name)(vp.array(a), vp.array(np.ones(LARGE)))
        assert same(got.numpy(), FUNCTIONS[name].compute(a, np.ones(LARGE)))
    assert np.isnan(weft.pvar.reduce(vp.array(a), "max"))


def test_memory_of_results_is_used_again_only_when_nobody_has_it():
    vp = weft.pvar.VPSet(LARGE)
    x = vp.zeros()
    first = x + 1
    kept, address = first.numpy(), first.numpy().ctypes.data
    view = kept[3:]
    del first
    second = x + 2
    assert second.numpy().ctypes.data != address
    assert (kept == 1).all()
    del kept
    third = x + 3
    assert third.numpy().ctypes.data != address
    assert (view == 1).all()
    del view
    assert (x + 4).numpy().ctypes.data == address
    assert (second.numpy() == 2).all()
    assert (third.numpy() == 3).all()
