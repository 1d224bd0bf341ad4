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


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_extremes_of_numpy_are_of_the_selected(name):
    """An index counted flat without an axis, as numpy's; they were of all elements, whoever was selected."""
    vp = weft.pvar.VPSet((2, 3))
    a = np.array([[5, 2, 9], [9, -4, 2]])
    x = vp.array(a)
    of_numpy = getattr(np, name)
    assert of_numpy(x) == of_numpy(a)
    assert np.array_equal(of_numpy(x, axis=1).numpy(), of_numpy(a, axis=1, keepdims=True).repeat(3, axis=1))
    with vp.where(abs(x - 3) < 3):
        assert of_numpy(x) == {"argmax": 0, "argmin": 1}[name]
        assert np.ravel_multi_index(getattr(x, name)(), x.shape) == of_numpy(x)
    with pytest.raises(UsageError, match=f"{name}: keepdims is not for parallel variables"):
        of_numpy(x, axis=0, keepdims=True)


def test_what_nobody_comes_to_is_refused_by_the_name_that_was_called():
    """And no argument is advised that the function does not take."""
    vp = weft.pvar.VPSet((2, 3))
    x = vp.array(np.arange(6.0).reshape(2, 3))
    with vp.where(x > 3):
        with pytest.raises(UsageError) as refused:
            x.argmin(axis=1)
        assert str(refused.value) == "argmin: no processor of a line along axis 1 is selected, so it has no argmin"
        assert x.argmin() == (1, 1)
    with vp.where(x > 9):
        for name in ("argmax", "argmin"):
            with pytest.raises(UsageError) as refused:
                getattr(x, name)()
            assert str(refused.value) == f"{name}: no processor is selected, so there is no {name}"
        with pytest.raises(UsageError, match=r"there is no max; reduce\(…, initial=…\) says what it shall be"):
            x.max()
        assert weft.pvar.reduce(x, "max", initial=-1.0) == -1.0
    for name in weft.pvar.reductions.STATISTICS:
        with pytest.raises(UsageError, match=f"initial is for max, min and functions, not for {name}"):
            weft.pvar.reduce(x, name, initial=1)
    with pytest.raises(UsageError, match="argmax: complex numbers have no max, because they have no order"):
        (x * 1j).argmax(axis=0)


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


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("exponent", [2, 2.0, True, np.int64(2), 2 + 0j, 3, 0.5])
def test_powers_are_those_of_numpy(dtype, exponent):
    """Squares too, which are computed as such: of the same dtype and value, for integers that wrap around as well."""
    x = np.array([0, 1, 3, 120, 255]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = np.power(x, exponent)
        computed = weft.pvar.VPSet(x.shape).array(x) ** exponent
    assert computed.dtype == expected.dtype
    assert np.allclose(np.asarray(computed), expected, rtol=1e-6, atol=0, equal_nan=True)


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
        (np.subtract.reduce, r"np\.subtract\.reduce is not for parallel variables; see reduce"),
        (lambda x: np.matmul(x, x), r"np\.matmul is not for parallel variables; weft\.pvar lists what is"),
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


@quick
@given(cases.SHAPES, st.sampled_from(sorted(REDUCTIONS)), st.data(), cases.SEEDS)
def test_reductions_along_several_axes(shape, operator, data, seed):
    x = cases.elements(shape, "i4", seed)
    mask = cases.mask(shape, 0.7, seed)
    axes = data.draw(st.permutations(range(len(shape))))[: data.draw(st.integers(1, len(shape)))]
    ufunc = REDUCTIONS[operator]
    neutral = {"sum": 0, "multiply": 1, "logior": 0, "logxor": 0, "logand": -1}.get(operator)
    wide = x.astype(np.int64) if operator in ("sum", "multiply") else x
    if neutral is None:
        neutral = np.iinfo(x.dtype).min if operator == "max" else np.iinfo(x.dtype).max
    expected = ufunc.reduce(np.where(mask, wide, wide.dtype.type(neutral)), axis=tuple(axes), keepdims=True)
    if operator in ("max", "min"):
        expected = np.where(mask.any(axis=tuple(axes), keepdims=True), expected, 7)
    vp = weft.pvar.VPSet(shape)
    with selection(vp, mask):
        got = weft.pvar.reduce(vp.array(x), operator, axis=tuple(axes), initial=7)
        assert np.array_equal(got.numpy(), np.broadcast_to(expected, shape))
    if operator == "max" and not mask.any(axis=tuple(axes)).all():
        with selection(vp, mask), pytest.raises(UsageError, match="no processor of"):
            weft.pvar.reduce(vp.array(x), operator, axis=tuple(axes))


@quick
@given(cases.SHAPES, st.data(), cases.SEEDS)
def test_statistics(shape, data, seed):
    """Of the selected, in all and line by line; NaNs are the extreme, as in numpy."""
    x = np.random.default_rng(seed).integers(-3, 4, shape).astype("f8")
    if seed % 3 == 0:
        x.flat[seed % x.size] = np.nan
    axis = data.draw(st.integers(0, len(shape) - 1))
    vp = weft.pvar.VPSet(shape)
    variable = vp.array(x)
    for name in ("argmax", "argmin"):
        got = weft.pvar.reduce(variable, name, axis=axis).numpy()
        assert np.array_equal(got, np.broadcast_to(getattr(np, name)(x, axis, keepdims=True), shape))
    for name in ("var", "std", "mean"):
        function = getattr(np, name)
        np.testing.assert_allclose(function(variable), function(x), 1e-12)
        got = getattr(variable, name)(axis).numpy()
        np.testing.assert_allclose(got, np.broadcast_to(function(x, axis, keepdims=True), shape), 1e-12, 1e-15)
    assert variable.count() == weft.pvar.reduce(variable, "count") == np.count_nonzero(x)
    assert np.array_equal((variable > 0).count(axis).numpy(), np.broadcast_to((x > 0).sum(axis, keepdims=True), shape))
    mask = cases.mask(shape, 0.8, seed) | (np.indices(shape)[axis] == 0)
    with selection(vp, mask):
        expected = np.broadcast_to(np.var(x, axis, keepdims=True, where=mask), shape)
        np.testing.assert_allclose(variable.var(axis).numpy(), expected, 1e-12, 1e-15)
        hidden = np.where(mask, x, -np.inf)
        got = variable.argmax(axis).numpy()
        assert np.array_equal(got, np.broadcast_to(hidden.argmax(axis, keepdims=True), shape))


KEYS = [1, -1, slice(1, 3), (slice(None), 0), (..., -1), (1, slice(None, None, -2)), (slice(0, 2), slice(3, None))]


def test_rows_and_other_parts():
    x = np.arange(24).reshape(4, 6)
    vp = weft.pvar.VPSet((4, 6))
    for key in KEYS:
        variable, copy = vp.array(x, copy=True), x.copy()
        assert np.array_equal(variable[key], x[key])
        with vp.where(variable < 0):
            variable[key] = copy[key] * 2
        copy[key] = copy[key] * 2
        assert np.array_equal(variable, copy)
        variable[key] += 1
        copy[key] += 1
        assert np.array_equal(variable, copy)
    variable = vp.array(x, bits=6)
    for key, value, message in [
        (1, 1.5, "elements of int8 .6 bits. cannot be 1.5"),
        (1, [1, 2, 3, 4, 5, 32], "elements of int8 .6 bits. cannot be"),
        (1, [1, 2], r"a value of shape \(2,\) does not broadcast to the part's, \(6,\)"),
        (1, vp.array(x), "a part is written from a number or an array"),
        (7, 1, "there is no element 7 along axis 0: its extent is 4"),
    ]:
        with pytest.raises(UsageError, match=message):
            variable[key] = value
    with pytest.raises(UsageError, match="one ellipsis at most"):
        variable[..., ...]
    with pytest.raises(UsageError, match="an index of 3 axes into a variable of 2"):
        variable[1, :, 2]
    with pytest.raises(UsageError, match="there is no element 10{30} along axis 1: its extent is 6"):
        variable[1, 10**30]
    on_machine = weft.pvar.VPSet((4, 6), machine="cm2-8k").zeros(np.float32)
    with pytest.raises(UsageError, match="is read as a part, and what that costs is not known"):
        on_machine[1]


def test_functions_of_numpy_that_are_no_ufuncs():
    x = np.arange(24.0).reshape(4, 6) - 7
    vp = weft.pvar.VPSet((4, 6))
    v = vp.array(x)
    for function in (
        lambda a: np.where(a > 0, a, 0.0),
        lambda a: np.clip(a, -2, 3),
        lambda a: np.roll(a, (1, -2), (0, 1)),
        lambda a: np.cumsum(a, axis=1),
        lambda a: np.full_like(a, 3, dtype=np.int32),
        lambda a: np.full_like(a.astype(np.int64), 0.5, float),
        lambda a: np.full_like(a, fill_value=0.5),
        lambda a: np.zeros_like(a, None),
        lambda a: np.ones_like(a, np.int32, order="C"),
        np.exp2,
        lambda a: np.fmax(a, 1.0),
        lambda a: np.modf(a)[0],
        lambda a: divmod(a, 3)[1],
        lambda a: np.add.accumulate(a, axis=0),
        lambda a: np.maximum.accumulate(a, axis=1),
    ):
        result = function(v)
        assert isinstance(result, weft.pvar.ParallelVariable)
        assert result.dtype == function(x).dtype
        np.testing.assert_allclose(result, function(x))
    with pytest.raises(UsageError, match="np.zeros_like of a parallel variable has its shape and order: leave shape"):
        np.zeros_like(v, shape=3)
    assert np.add.reduce(v, axis=None) == x.sum()
    assert np.array_equal(np.maximum.reduce(v), np.broadcast_to(x.max(0), (4, 6)))
    line = weft.pvar.VPSet((3,))
    counts = line.zeros(np.int64)
    np.add.at(counts, vp.address() % 3, 2)
    assert counts.tolist() == [16, 16, 16]
    assert np.median(v) == np.median(x)  # of all elements, gathered
    with weft.pvar.metered(), pytest.raises(UsageError, match="np.exp2: what it costs is not known"):
        np.exp2(weft.pvar.VPSet(4).zeros())
    with pytest.raises(UsageError, match="np.matmul is not for parallel variables"):
        np.matmul(v, v)


def complex_cases():
    """Everything that complex variables have, beside numpy; also for several ranks."""
    random = np.random.default_rng(5)
    shape = (6, 5)
    whole = random.integers(-9, 9, (2, *shape))
    for dtype in ("c8", "c16"):
        x = (whole[0] + 1j * whole[1]).astype(dtype)
        vp = weft.pvar.VPSet(shape)
        v = vp.array(x)
        assert np.array_equal(v * v + 1j - 2, x * x + 1j - 2)
        assert np.array_equal(abs(v), abs(x))
        assert np.array_equal(np.exp(v), np.exp(x))
        assert np.array_equal(v.conj() * v.real - v.imag, x.conj() * x.real - x.imag)
        assert np.array_equal(v == v.conj(), x == x.conj())
        assert v.sum() == x.sum()
        assert np.allclose(v.prod(), x.prod())
        assert v.mean() == pytest.approx(x.mean())
        assert np.array_equal(v.sum(axis=1), np.broadcast_to(x.sum(1, keepdims=True), shape))
        assert np.array_equal(weft.pvar.scan(v, "add", axis=0), np.cumsum(x, 0))
        shifted = weft.pvar.shift(v, 1, axis=1, boundary=1j)
        assert np.array_equal(shifted, np.concatenate([x[:, 1:], np.full((6, 1), 1j)], 1))
        assert np.array_equal(weft.pvar.spread(v, 1, 2), np.broadcast_to(x[:, 2:3], shape))
        back = vp.size - 1 - vp.address()
        assert np.array_equal(weft.pvar.get(v, back), x[::-1, ::-1])
        assert np.array_equal(weft.pvar.send(v, back), x[::-1, ::-1])
        sums = np.zeros(30, dtype)
        np.add.at(sums, np.arange(30) // 4, x.ravel())
        assert np.array_equal(weft.pvar.send(v, vp.address() // 4, combine="add"), sums.reshape(shape))
        with vp.where(v.real > 0):
            assert v.sum() == x[x.real > 0].sum()
            v[...] = 2j
            v *= 1j
        assert np.array_equal(v, np.where(x.real > 0, -2, x))
        assert v[2, 3] == v.numpy()[2, 3]
        assert np.array_equal(vp.full(1j), np.full(shape, 1j))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: v.max(), "complex numbers have no max, because they have no order"),
        (weft.pvar.sort, "^complex numbers have no order, to rank or sort them by; take abs"),
        (lambda v: weft.pvar.reduce(v, "logand"), "logand is of integers and booleans"),
        (lambda v: v.vp.zeros().assign(v), "a variable of float64 cannot be given"),
    ],
)
def test_what_complex_variables_have_not(call, message):
    with pytest.raises(UsageError, match=message):
        call(weft.pvar.VPSet(4).full(1j))


def test_complex_variables():
    complex_cases()
    with pytest.raises(UsageError, match="complex numbers cost is not known"):
        weft.pvar.VPSet(4, machine="cm2-8k").full(1j)


def test_means_are_taken_in_a_type_that_holds_the_sum(native):
    halves = weft.pvar.VPSet((4000,)).array(np.ones(4000, np.float16))
    for name, wanted in (("sum", 4000.0), ("mean", 1.0), ("var", 0.0)):
        line = weft.pvar.reduce(halves, name, axis=0)
        assert (line.data == wanted).all(), name
        assert line.data.dtype == np.float16, name
    vp = weft.pvar.VPSet((4,))
    for x in (np.full(4, 60000, np.float16), np.full(4, 2**62), np.full(4, 2**63, np.uint64), np.full(4, True)):
        assert vp.array(x).mean() == x.mean(), x.dtype
        assert (vp.array(x).mean(axis=0).data == x.mean()).all(), x.dtype
    assert vp.array(np.ones(4, np.float32)).mean(axis=0).data.dtype == np.float32


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "bool"])
@pytest.mark.parametrize("axis", [0, 1, (0, 2), (0, 1, 2)])
def test_means_of_lines_are_numpys_and_divide_once(dtype, axis):
    x = (np.random.default_rng(5).random((7, 9, 48)) * 3).astype(dtype)
    vp = weft.pvar.VPSet(x.shape)
    parallel = vp.array(x)
    with weft.pvar.metered(vp) as meter:
        average = weft.pvar.reduce(parallel, "mean", axis=axis)
    expected = np.broadcast_to(x.astype(np.float64).mean(axis=axis, keepdims=True), x.shape)
    precision = {"float16": 1e-3, "float32": 1e-6}.get(dtype, 1e-14)
    np.testing.assert_allclose(average.data, expected, rtol=precision)
    assert average.dtype == (x.dtype if dtype.startswith("float") else np.float64)
    names = [record.name for record in meter.sequence if not record.included]
    assert names.count("divide") == 1
    assert names.count("reduce add") == (1 if isinstance(axis, int) else len(axis))
    with vp.where(vp.array(x > 0)):
        selected = weft.pvar.reduce(parallel, "mean", axis=axis)
    total = np.where(x > 0, x, 0).astype(np.float64).sum(axis=axis, keepdims=True)
    several = (x > 0).sum(axis=axis, keepdims=True)
    np.testing.assert_allclose(selected.data, np.broadcast_to(total / several, x.shape), rtol=precision)
