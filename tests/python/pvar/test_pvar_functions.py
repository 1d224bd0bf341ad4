"""Functions of the program's that combine elements, against one element after the other, in order."""

import contextlib

import numpy as np
import pvar_cases as cases
import pvar_reference as reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import UsageError
from weft.pvar import Combiner


@pytest.fixture(autouse=True)
def _native(native):
    pass


quick = settings(deadline=None, max_examples=min(60, cases.EXAMPLES))


def affine(first, second):
    """Maps t -> a t + b modulo 7, a number 7 a + b, one after the other: associative, and not commutative."""
    assert first.shape == second.shape
    assert first.ndim == 1
    (a, b), (c, d) = divmod(first, 7), divmod(second, 7)
    return a * c % 7 * 7 + (c * b + d) % 7


def latest(first, second):
    """The last that is not zero, as with messages that overwrite."""
    return np.where(second != 0, second, first)


ONE_BY_ONE = {
    affine: lambda f, g: f // 7 * (g // 7) % 7 * 7 + (g // 7 * (f % 7) + g % 7) % 7,
    latest: lambda f, g: g if g != 0 else f,
}
IDENTITY = {affine: 7, latest: 0}


@pytest.fixture(autouse=True, scope="module")
def _known():
    register()


def register():
    for function, one_by_one in ONE_BY_ONE.items():
        reference.COMBINE[function] = one_by_one


@st.composite
def operands(draw):
    shape, dtype, seed = draw(cases.ANY_SHAPES), draw(cases.DTYPES), draw(cases.SEEDS)
    x = np.abs(cases.elements(shape, dtype, seed)) % np.dtype(dtype).type(49)
    return x, cases.mask(shape, draw(cases.DENSITIES), seed), draw(st.sampled_from([affine, latest])), seed


def selection(vp, mask):
    return contextlib.nullcontext() if mask.all() else vp.where(vp.array(mask))


@quick
@given(operands(), st.data())
def test_reductions(case, data):
    register()
    x, mask, function, _ = case
    vp = weft.pvar.VPSet(x.shape)
    with selection(vp, mask):
        if mask.any():
            assert weft.pvar.reduce(vp.array(x), function) == reference.reduced(x, function, mask)
        else:
            with pytest.raises(UsageError, match=f"no processor is selected, so there is no {function.__name__}"):
                weft.pvar.reduce(vp.array(x), function)
        axes = data.draw(st.permutations(range(x.ndim)))[: data.draw(st.integers(1, x.ndim))]
        lines = weft.pvar.reduce(vp.array(x), function, axis=axes, initial=5).numpy()
    assert lines.dtype == x.dtype
    assert lines.shape == x.shape
    if not x.size:
        return
    others = [axis for axis in range(x.ndim) if axis not in axes]
    order = [*others, *sorted(axes)]
    flat = [one.transpose(order).reshape(*(x.shape[a] for a in others), -1) for one in (x, mask, lines)]
    for line in np.ndindex(flat[0].shape[:-1]):
        values, chosen, got = (one[line] for one in flat)
        expected = reference.reduced(values, function, chosen) if chosen.any() else 5
        assert (got == expected).all()


@quick
@given(operands(), st.booleans(), st.booleans(), st.data())
def test_scans(case, exclusive, down, data):
    register()
    x, mask, function, seed = case
    axis = data.draw(st.integers(0, x.ndim - 1))
    density = data.draw(st.sampled_from([None, 0.0, 0.2, 0.8]))
    segments = np.zeros(x.shape, bool) if density is None else cases.mask(x.shape, density, seed + 5)
    vp = weft.pvar.VPSet(x.shape)
    with selection(vp, mask):
        got = weft.pvar.scan(
            vp.array(x),
            Combiner(function, identity=IDENTITY[function]),
            axis,
            segments=None if density is None else vp.array(segments),
            exclusive=exclusive,
            direction="down" if down else "up",
        )
    expected = reference.scanned(x, function, axis, mask, segments, exclusive, down, IDENTITY[function])
    assert got.dtype == x.dtype
    assert np.array_equal(got.numpy(), expected)


@quick
@given(operands(), st.booleans(), st.integers(1, 30))
def test_sends(case, keep, targets):
    register()
    x, mask, function, seed = case
    random = np.random.default_rng(seed)
    addresses = np.zeros(x.shape, int)
    if x.size:
        addresses = random.integers(0, x.size, targets)[random.integers(0, targets, x.shape)]
    addresses[~mask] = x.size + 3
    vp = weft.pvar.VPSet(x.shape)
    into = cases.elements(x.shape, "u1", seed + 9).astype(x.dtype) % x.dtype.type(49) if keep else None
    with selection(vp, mask):
        target = vp.array(into, copy=True) if keep else None
        got = weft.pvar.send(vp.array(x), vp.array(addresses), combine=function, into=target)
    assert np.array_equal(got.numpy(), reference.sent(x, addresses, function, mask, into))


def test_functions_of_numpy():
    vp = weft.pvar.VPSet((3, 4))
    x = np.array([12, 18, 24, 30, 7, 14, 21, 28, 5, 9, 10, 100]).reshape(3, 4)
    assert weft.pvar.reduce(vp.array(x), np.gcd) == np.gcd.reduce(x, axis=None)
    assert np.array_equal(weft.pvar.reduce(vp.array(x), np.lcm, axis=1).numpy()[:, 0], np.lcm.reduce(x, axis=1))
    y = np.log(x.astype(float))
    assert weft.pvar.reduce(vp.array(y), np.logaddexp) == pytest.approx(np.log(x.sum()))
    assert np.allclose(weft.pvar.scan(vp.array(y), np.logaddexp, 1).numpy(), np.log(np.cumsum(x, axis=1)))
    with vp.where(vp.zeros(bool)):
        assert weft.pvar.reduce(vp.array(y), np.logaddexp) == -np.inf  # its identity


def test_compiled_functions():
    numba = pytest.importorskip("numba")
    vp = weft.pvar.VPSet((3, 5))
    x = vp.array(np.arange(15).reshape(3, 5) * 3 % 11)

    def loop(a, b):
        result = np.empty_like(a)
        for i in range(a.size):
            result[i] = b[i] if b[i] != 0 else a[i]
        return result

    for function in (numba.njit(loop), numba.vectorize(["int64(int64, int64)"])(lambda a, b: b if b != 0 else a)):
        assert np.array_equal(weft.pvar.scan(x, function, 1).numpy(), weft.pvar.scan(x, latest, 1).numpy())
        assert weft.pvar.reduce(x, function) == weft.pvar.reduce(x, latest)


def test_words_wrap_around_and_complex_numbers_combine():
    vp = weft.pvar.VPSet(5)
    x = vp.array(np.array([3, 7, 5, 6, 7]), bits=4)
    assert weft.pvar.reduce(x, lambda a, b: a + b) == (28 + 8) % 16 - 8
    assert weft.pvar.scan(x, lambda a, b: a + b).numpy().tolist() == [3, -6, -1, 5, -4]
    z = np.exp(1j * np.arange(5))
    product = weft.pvar.reduce(vp.array(z), lambda a, b: a * b)
    assert product == pytest.approx(np.prod(z))
    doubled = weft.pvar.send(vp.array(z), vp.address() // 2, combine=lambda a, b: a + b)
    assert np.allclose(doubled.numpy(), [z[0] + z[1], z[2] + z[3], z[4], 0, 0])


def test_calls_are_few():
    """Pairs are combined together: some calls for thousands of elements, and two for an element in all."""
    calls = []

    def count(a, b):
        calls.append(a.size)
        return a + b

    vp = weft.pvar.VPSet(5000)
    x = vp.address(np.int64)
    elements = x.data.size  # of this rank
    weft.pvar.reduce(x, count)
    assert sum(calls) <= elements + vp.execution.ranks
    assert len(calls) < 30
    calls.clear()
    assert weft.pvar.scan(x, count).numpy()[-1] == 4999 * 2500
    assert sum(calls) <= 3 * elements + vp.execution.ranks + 1
    assert len(calls) < 60


def mistakes():
    vp = weft.pvar.VPSet(6)
    x = vp.array(np.arange(6.0))
    whole = vp.array(np.arange(6))

    def broken(a, b):
        raise ValueError("out of range")

    return [
        (lambda: weft.pvar.reduce(x, lambda a, b: 1.0), UsageError, "combine them element by element"),
        (lambda: weft.pvar.reduce(whole, lambda a, b: a / b), UsageError, "combined elements of int64 to float64"),
        (lambda: weft.pvar.reduce(x, np.gcd), UsageError, "np.gcd is not of elements of float64"),
        (lambda: weft.pvar.reduce(x, np.subtract), UsageError, "np.subtract is not associative"),
        (lambda: weft.pvar.reduce(x, np.modf), UsageError, "no function of two elements"),
        (lambda: weft.pvar.scan(x, affine, exclusive=True), UsageError, "scan: affine has no identity"),
        (
            lambda: weft.pvar.scan(whole, Combiner(affine, identity=0.5), exclusive=True),
            UsageError,
            "the identity 0.5 of affine is no element of int64",
        ),
        (lambda: weft.pvar.reduce(x, broken), ValueError, "out of range"),
        (lambda: weft.pvar.scan(x, broken), ValueError, "out of range"),
        (lambda: weft.pvar.send(x, vp.address() * 0, combine=broken), ValueError, "out of range"),
        (lambda: Combiner(3), UsageError, "3 is no function"),
    ]


def test_mistakes():
    for call, kind, text in mistakes():
        with pytest.raises(kind, match=text):
            call()


def test_what_they_cost_is_not_known():
    vp = weft.pvar.VPSet(8, machine="cm2-8k")
    x = vp.array(np.arange(8))
    weft.pvar.reduce(x, affine)
    weft.pvar.scan(x, affine)
    weft.pvar.send(x, vp.address() // 2, combine=affine)
    names = [(record.name, record.kind) for record in vp.meter.sequence if record.kind.endswith("function")]
    assert names == [
        ("reduce affine", "reduce_function"),
        ("scan affine", "scan_function"),
        ("send affine", "send_function"),
    ]
    with pytest.raises(UsageError, match="no time of reduce_function"):
        _ = vp.time
