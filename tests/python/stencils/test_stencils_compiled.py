"""Compiled updates: the same as numpy's evaluation of the same function, however the grid is gone through."""

import concurrent.futures
import importlib.util
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from update_cases import CASES, FIVE

import weft
from weft.stencils import compiled as kernels
from weft.stencils import sweeping
from weft.stencils import update as module

pytest.importorskip("numba")

EXPRESSIONS = {
    "f": [
        lambda x, s, r, c: np.where(x * s > c, np.sqrt(abs(s)) + r, np.tanh(x) - s / 3),
        lambda x, s, r, c: np.maximum(np.minimum(x, s), -r) + np.clip(s, -2, 2.5) * x**3,
        lambda x, s, r, c: np.exp(-abs(x) / 4) * np.cos(s) + c * (r - 1),
        lambda x, s, r, c: np.where(x > 0, np.float64(0.3) * s, True) + c * x,
        lambda x, s, r, c: (x > s) * r - ~(s > 0) * (x != c),
        lambda x, s, r, c: np.select([x > 2, x > 0], [s, r], c) + np.floor(s) - -x,
        lambda x, s, r, c: np.hypot(x, s) * np.float32(0.3) + (c + 1) * 2 - np.arctan2(s, r + 0.5),
    ],
    "c": [
        lambda x, s, r, c: x * s - np.conj(s) * r + c,
        lambda x, s, r, c: abs(s) ** 2 * x + 1j * x.real - s.imag,
        lambda x, s, r, c: np.exp(x / 8) * s + np.where(abs(x) > 2, x, r),
    ],
    "i": [
        lambda x, s, r, c: np.where((s == 3) | ((x & 1 == 1) & (s == 2)), 1, 0) + r * 0,
        lambda x, s, r, c: x * s - r + 7,
        lambda x, s, r, c: np.maximum(x, -s) ^ (s | 3),
        lambda x, s, r, c: abs(x) + ~s * (x < s),
    ],
}
BOUNDARIES = ["circular", "antiperiodic", "reflect", "symmetric", 0, 2.0]
CIRCULAR = ["circular", "symmetric", 0]


@st.composite
def cases(draw):
    dtype = np.dtype(draw(st.sampled_from(["f4", "f8", "c8", "c16", "i4", "i8", "i2"])))
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=rank, max_size=rank)))
    random = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    offsets = {tuple(int(d) for d in random.integers(-2, 3, rank)) for _ in range(draw(st.integers(1, 7)))}
    points = {offset: int(random.integers(-3, 4)) for offset in offsets}
    ends = CIRCULAR if dtype.kind == "i" else BOUNDARIES
    boundary = tuple((draw(st.sampled_from(ends)), draw(st.sampled_from(ends))) for _ in range(rank))
    boundary = tuple((low, low) if "circular" in (low, high) else (low, high) for low, high in boundary)
    lead = draw(st.sampled_from([(), (), (2,)]))
    x, y = (numbers(random, (*lead, *shape), dtype) for _ in range(2))
    mask = draw(st.sampled_from([None, random.random(shape) < 0.6]))
    r = draw(st.sampled_from([numbers(random, shape[-1:], dtype), 2]))
    c = draw(st.sampled_from([1, 3])) if dtype.kind == "i" else draw(st.sampled_from([0.5, -1.25]))
    return points, boundary, x, y, mask, r, c, draw(st.sampled_from(EXPRESSIONS[dtype.kind]))


def numbers(random, shape, dtype):
    values = random.integers(-5, 6, shape).astype(dtype)
    return values + 1j * random.integers(-5, 6, shape).astype(dtype) if dtype.kind == "c" else values


def step(update, x, y, **values):
    new = y.copy()
    reductions = update(x=x, y=new, **values)
    return new, reductions


def interpreted(source):
    """The loop as Python runs it, which takes no second to compile."""
    names = {"np": np}
    exec(source, names)
    return names["loop"]


@pytest.mark.parametrize(("whole", "chunk"), [(1 << 30, 1 << 20), (0, 1), (0, 1 << 30)])
@pytest.mark.parametrize("by", ["numba", "Python"])
def test_random_functions(native, monkeypatch, whole, chunk, by):
    monkeypatch.setattr(sweeping, "WHOLE_BYTES", whole)
    monkeypatch.setattr(sweeping, "CHUNK_BYTES", chunk)
    if by == "Python":
        monkeypatch.setattr(kernels, "_compiled", interpreted)

    @settings(deadline=None, max_examples=min(60 if by == "Python" else 4, settings.default.max_examples))
    @given(cases())
    def check(case):
        points, boundary, x, y, mask, r, c, expression = case

        def function(x, s, y, r, c):
            value = expression(x, s, r, c)
            return value + y, value

        update, by_numpy = (
            weft.arrays.Update(
                function,
                {"s": (weft.arrays.stencil(points, boundary=boundary), "x")},
                "y",
                {"total": "sum"},
                compiled=compiled,
            )
            for compiled in (True, False)
        )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                expected = step(by_numpy, x, y, r=r, c=c, mask=mask)
            except weft.UsageError:
                return  # a result of another kind than the field, which is refused
            got = step(update, x, y, r=r, c=c, mask=mask)
        if x.dtype.kind == "i":
            assert np.array_equal(got[0], expected[0])
            assert got[1] == expected[1]
            return
        tolerance = 40 * np.finfo(x.dtype).eps
        scale = max(1.0, float(np.abs(expected[0]).max()))
        assert np.allclose(got[0], expected[0], rtol=tolerance, atol=tolerance * scale)
        assert np.allclose(got[1]["total"], expected[1]["total"], rtol=1e-3, atol=1e-3 * scale)
        assert "compiled loop" in update.explain()

    check()


@pytest.mark.parametrize("tile", [1, 4000, 1 << 30])
@pytest.mark.parametrize("case", CASES)
def test_coupled_fields(native, monkeypatch, case, tile):
    monkeypatch.setattr(module, "TILE_BYTES", tile)
    monkeypatch.setattr(sweeping, "WHOLE_BYTES", 0 if tile < 5000 else tile)
    update, fields, others, mask, results, reductions = case(compiled=True)
    actual = update(**fields, **others, mask=mask)
    for name, expected in results.items():
        np.testing.assert_array_equal(fields[name], expected)
    assert actual == reductions
    assert "compiled loop" in update.explain()


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_the_bits_do_not_depend_on_where_the_ends_are(native, monkeypatch, dtype):
    random = np.random.default_rng(5)
    x = random.standard_normal((40, 31)).astype(dtype)
    points = {offset: random.standard_normal() for offset in FIVE}
    fields = []
    for whole in (0, 1 << 30):
        monkeypatch.setattr(sweeping, "WHOLE_BYTES", whole)
        y = np.zeros_like(x)
        stencil = weft.arrays.stencil(points, boundary=("antiperiodic", 0.3))
        weft.arrays.Update(lambda x, s: s * s - x, {"s": (stencil, "x")}, "y", compiled=True)(x=x, y=y)
        fields.append(y)
    np.testing.assert_array_equal(*fields)


def test_numbers_have_the_type_of_the_field(native):
    """Python's numbers take float32's precision, as in numpy's own arithmetic; numpy's numbers have their own."""
    x = np.linspace(0, 1, 50, dtype=np.float32)
    stencil = weft.arrays.stencil({1: 0.1, -1: 0.2})
    for rate in (0.3, np.float64(0.3), np.float32(0.3)):
        expected = x + rate * (np.float32(0.1) * np.roll(x, -1) + np.float32(0.2) * np.roll(x, 1))
        y = np.zeros_like(x)
        update = weft.arrays.Update(lambda x, s, rate: x + rate * s, {"s": (stencil, "x")}, "y", compiled=True)
        update(x=x, y=y, rate=rate)
        np.testing.assert_array_equal(y, expected.astype(np.float32))


def test_fields_that_are_parts_of_others(native):
    """Rows of an array with a rim, and every second row; columns are left to numpy as results."""
    whole = np.random.default_rng(3).integers(-5, 5, (40, 30)).astype(float)
    stencil = weft.arrays.stencil(FIVE, boundary="reflect")
    plain = weft.arrays.Update(lambda x, s: x * s, {"s": (stencil, "x")}, "y")
    update = weft.arrays.Update(lambda x, s: x * s, {"s": (stencil, "x")}, "y", compiled=True)
    for part in (np.s_[2:-2, 3:-3], np.s_[::2], np.s_[:, ::3]):
        x, y, expected = whole[part], np.zeros((40, 30))[: whole[part].shape[0], : whole[part].shape[1]], None
        expected = np.zeros(x.shape)
        plain(x=x, y=expected)
        update(x=x, y=y)
        np.testing.assert_array_equal(y, expected)
    columns = np.zeros((40, 60))[:, ::2]
    with pytest.warns(UserWarning, match="elements of a row of a result do not lie together"):
        update(x=whole, y=columns)


def test_calls_of_several_threads(native):
    """They share what an update keeps for a shape."""
    stencil = weft.arrays.stencil(FIVE, boundary="reflect")
    update = weft.arrays.Update(lambda x, s: s - x, {"s": (stencil, "x")}, "y", compiled=True)
    fields = [np.random.default_rng(seed).standard_normal((60, 50)) for seed in range(6)]
    update(x=fields[0], y=np.empty_like(fields[0]))

    def check(x):
        y, expected = np.empty_like(x), stencil(x) - x
        for _ in range(20):
            update(x=x, y=y)
            np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-13)

    with concurrent.futures.ThreadPoolExecutor(6) as threads:
        list(threads.map(check, fields))


def plain(function, **options):
    return weft.arrays.Update(function, {"s": (weft.arrays.stencil(FIVE), "x")}, "y", compiled=True, **options)


def decided(s, order):
    return s * s if order == 2 else s


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda s: s if s.any() else -s, "AttributeError: 'Symbol' object has no attribute 'any'"),
        (lambda s: s if s[0, 0] > 0 else -s, "a decision by an element's value, or an index"),
        (lambda s: np.interp(s, [0, 1], [2, 3]), "np.interp"),
        (lambda s: np.add.accumulate(s) * 0 + s, r"np.add.accumulate"),
        (lambda s: s // 2, "np.floor_divide"),
    ],
)
def test_numpy_computes_the_rest_and_says_so(native, function, reason):
    x = np.random.default_rng(1).integers(-5, 5, (7, 6)).astype(float)
    y, expected = np.zeros_like(x), np.zeros_like(x)
    update = plain(function)
    with pytest.warns(UserWarning, match=f"was to be compiled: the function cannot be compiled: {reason}"):
        update(x=x, y=y)
    weft.arrays.Update(function, {"s": (weft.arrays.stencil(FIVE), "x")}, "y")(x=x, y=expected)
    np.testing.assert_array_equal(y, expected)
    assert "by numpy: the function cannot be compiled" in update.explain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        update(x=x, y=y)  # it is said once


def test_types_without_kernels(native):
    x = np.ones((5, 5), np.float16)
    with pytest.warns(UserWarning, match="there is no compiled code for float16"):
        plain(lambda s: s + 1)(x=x, y=x.copy())


def test_a_function_that_decides_by_numbers(native):
    x = np.arange(20.0).reshape(4, 5)
    update, y = plain(decided), np.zeros((4, 5))
    for order in (2, 1):
        update(x=x, y=y, order=order)
        s = weft.arrays.stencil(FIVE)(x)
        np.testing.assert_array_equal(y, s * s if order == 2 else s)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for order in range(10):
            update(x=x, y=y, order=order)
    (one,) = [str(one.message) for one in said]
    assert f"{kernels.KEPT_KERNELS} kernels have been compiled" in one


def test_without_numba(native, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    x, y = np.ones((4, 5)), np.zeros((4, 5))
    with pytest.warns(UserWarning, match=r"a compiled update needs numba: pip install 'weft\[compile\]'"):
        plain(lambda s: s + 1)(x=x, y=y)
    assert (y == 1).all()


def test_expressions_of_sympy(native):
    sympy = pytest.importorskip("sympy")
    u, du, a = sympy.symbols("u du a")
    expressions = (
        u + a * du - sympy.Max(u, 1) ** 3,
        sympy.Piecewise((du, u > 2), (sympy.sqrt(sympy.Abs(u)), u > -2), (a, True)),
    )
    x = np.random.default_rng(2).standard_normal((12, 9)) * 3
    s = weft.arrays.stencil(FIVE)(x)
    for compiled in (True, False):
        update = weft.arrays.Update(
            expressions, {"du": (weft.arrays.stencil(FIVE), "u")}, ("p", "q"), compiled=compiled
        )
        p, q = np.zeros_like(x), np.zeros_like(x)
        update(u=x, p=p, q=q, a=0.25)
        np.testing.assert_allclose(p, x + 0.25 * s - np.maximum(x, 1) ** 3, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(q, np.where(x > 2, s, np.where(x > -2, np.sqrt(abs(x)), 0.25)), rtol=1e-13)
    single = weft.arrays.Update(u * du, {"du": (weft.arrays.stencil(FIVE), "u")}, "p", compiled=True)
    single(u=x, p=p)
    np.testing.assert_allclose(p, x * s, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("points", [{0: 0}, {0: 1}, {0: -1}, {-1: 0, 0: 2}, {-1: 1, 1: -1}], ids=str)
def test_sums_that_are_zero_have_the_sign_of_the_stencils(native, dtype, points):
    """A function such as arctan2 tells zeros apart."""
    x = np.array([3, 5, -5, -4, -0.0, 0.0, 4], dtype)
    if x.dtype.kind == "c":
        x.imag = x.real
    stencil = weft.arrays.stencil(points, boundary="circular")
    results = []
    for compiled in (True, False):
        results.append(np.zeros_like(x))
        weft.arrays.Update(lambda x, s: s, {"s": (stencil, "x")}, "y", compiled=compiled)(x=x, y=results[-1])
    by_kernel, by_numpy = results
    assert np.array_equal(by_kernel, by_numpy)
    for part in ("real", "imag"):
        assert np.array_equal(np.signbit(getattr(by_kernel, part)), np.signbit(getattr(by_numpy, part)))


@pytest.mark.parametrize("decides", [False, True], ids=["any number", "deciding by a number"])
def test_steps_of_the_same_arrays_are_taken_again(native, monkeypatch, decides):
    """By what is kept of them, whatever the arrays hold by then and whatever the numbers are."""
    monkeypatch.setattr(kernels, "_compiled", interpreted)
    stencil = weft.arrays.stencil(FIVE, boundary=(("reflect", 2.0), "circular"))

    def function(x, s, y, c):
        return c * s + x * x - y if decides and c > 1 else c * s + x - y

    update, by_numpy = (weft.arrays.Update(function, {"s": (stencil, "x")}, "y", compiled=one) for one in (True, False))
    random = np.random.default_rng(5)
    fields = [random.random((6, 7)) for _ in range(5)]
    fields += [random.random((6, 14))[:, :7], random.random((6, 14))[:, 7:]]
    for number in range(300):
        x, y = (fields[i] for i in random.choice(len(fields) if number % 3 else 3, 2, replace=False))
        c = [0.5, -0.0, float("inf"), 2, 3.5][random.integers(5)]
        expected = y.copy()
        with np.errstate(all="ignore"):
            by_numpy(x=x, y=expected, c=c)
            assert update(x=x, y=y, c=c) == {}
        assert np.allclose(y, expected, equal_nan=True)
        y[...] = random.random(y.shape)
    assert len(update._steps) == (0 if decides else module.KEPT_STEPS)
    # numpy computes where a row's elements do not lie together, and says so once.
    x, y = random.random((7, 6)).T, random.random((7, 6)).T
    with pytest.warns(UserWarning, match="elements of a row of a result do not lie together"):
        update(x=x, y=y, c=0.5)
    x, y = random.random((6, 7)), np.zeros((6, 7))
    for _ in range(2):
        update(x=x, y=y, c=0.5)
    y.flags.writeable = False
    with pytest.raises(weft.UsageError, match="y is a result: it must be a numpy array that can be written"):
        update(x=x, y=y, c=0.5)
    y.flags.writeable = True
    y.shape = x.shape = (7, 6)
    expected = y.copy()
    by_numpy(x=x, y=expected, c=0.5)
    update(x=x, y=y, c=0.5)
    assert np.allclose(y, expected)
    with pytest.raises(weft.UsageError, match="y and x share memory"):
        update(x=x, y=x, c=0.5)
