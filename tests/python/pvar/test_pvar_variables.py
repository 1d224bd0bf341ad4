"""VP sets, selections, assignment, elementwise functions, word lengths."""

import copy
import operator
import pickle
import platform
import subprocess
import sys

import numpy as np
import pvar_cases as cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import UsageError, pvar
from weft.pvar import memory
from weft.pvar.operations import BY_QUOTIENT, FUNCTIONS


@pytest.fixture(autouse=True)
def _native(native):
    pass


quick = settings(deadline=None, max_examples=min(60, cases.EXAMPLES))
OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "negative": operator.neg,
    "positive": operator.pos,
    "abs": operator.abs,
    "bitwise_invert": operator.invert,
}


@quick
@given(st.sampled_from(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]), st.data())
def test_remainders_by_one_number_are_pythons(dtype, data):
    """Those of many elements are taken by quotients."""
    least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
    by = data.draw(st.integers(max(least, -100), 100) | st.sampled_from([least, greatest, greatest - 1]))
    count = data.draw(st.sampled_from([BY_QUOTIENT - 1, BY_QUOTIENT, 3 * BY_QUOTIENT + 1]))
    few = [
        least,
        least + 1,
        greatest,
        greatest - 1,
        0,
        1,
        *data.draw(st.lists(st.integers(least, greatest), max_size=8)),
    ]
    x = np.resize(np.array(few, dtype), count)
    with np.errstate(all="ignore"):
        got = (weft.pvar.VPSet(count).array(x) % by).numpy()
    assert got.dtype == x.dtype
    assert got.tolist() == [value % by if by else 0 for value in x.tolist()]


@quick
@given(
    st.sampled_from(sorted(FUNCTIONS)),
    cases.SHAPES,
    st.sampled_from(["?", "i1", "u2", "i4", "i8", "f4", "f8"]),
    st.booleans(),
    cases.SEEDS,
)
def test_functions_are_numpys(name, shape, dtype, selecting, seed):
    function = FUNCTIONS[name]
    arrays = [cases.elements(shape, dtype, seed + n) for n in range(function.operands)]
    if name.endswith("shift"):
        arrays[1] = arrays[1] & arrays[1].dtype.type(1) if np.dtype(dtype).kind in "iu" else arrays[1]
    vp = weft.pvar.VPSet(shape)
    given_variables = [vp.array(a) for a in arrays]
    mask = cases.mask(shape, 0.5 if selecting else None, seed)
    with np.errstate(all="ignore"):
        try:
            expected = function.compute(*arrays)
        except (TypeError, ValueError):
            with pytest.raises((UsageError, ValueError)):
                getattr(pvar, name)(*given_variables)
            return
        with vp.where(vp.array(mask)):
            got = getattr(pvar, name)(*given_variables)
        assert np.array_equal(got.numpy()[mask], expected[mask], equal_nan=expected.dtype.kind == "f")
        assert got.dtype == expected.dtype
        if name in OPERATORS:
            again = OPERATORS[name](*given_variables)
            assert np.array_equal(again.numpy(), expected, equal_nan=expected.dtype.kind == "f")


@quick
@given(cases.SHAPES, cases.DTYPES, cases.SEEDS)
def test_scalars_take_the_variables_dtype(shape, dtype, seed):
    x = cases.elements(shape, dtype, seed)
    vp = weft.pvar.VPSet(shape)
    v = vp.array(x)
    for result, expected in [
        (v + 3, x + 3),
        (3 + v, 3 + x),
        (3 - v, 3 - x),
        (v * np.int8(2), x * np.int8(2)),
        (v > 2, x > 2),
    ]:
        assert result.dtype == expected.dtype
        assert np.array_equal(result.numpy(), expected)
    assert np.array_equal(pvar.where(v > 2, v, 0).numpy(), np.where(x > 2, x, 0))


@quick
@given(cases.SHAPES, cases.DTYPES, st.lists(st.sampled_from([0.1, 0.5, 0.9]), max_size=3), cases.SEEDS)
def test_masked_assignment_keeps_old_values(shape, dtype, densities, seed):
    old, new = cases.elements(shape, dtype, seed), cases.elements(shape, dtype, seed + 1)
    vp = weft.pvar.VPSet(shape)
    x, y = vp.array(old, copy=True), vp.array(new)
    plus = vp.array(old, copy=True)
    masks = [cases.mask(shape, density, seed + n) for n, density in enumerate(densities)]
    everyone = np.ones(shape, bool)

    def assign(depth):
        if depth == len(masks):
            x[...] = y
            nonlocal plus
            plus += y
            assert np.array_equal(vp.selected.numpy(), np.logical_and.reduce([everyone, *masks]))
            return
        with vp.where(vp.array(masks[depth])):
            assign(depth + 1)

    assign(0)
    chosen = np.logical_and.reduce([everyone, *masks])
    assert np.array_equal(x.numpy(), np.where(chosen, new, old))
    assert np.array_equal(plus.numpy(), np.where(chosen, old + new, old))
    assert vp.mask is None


def test_a_selection_is_made_when_its_block_is_entered():
    vp = weft.pvar.VPSet(4)
    x, active = vp.zeros(int), vp.array([True, True, False, False])
    with vp.where(active):
        active[...] = False
        x[...] = 1
        with vp.everywhere():
            x += 10
    assert x.numpy().tolist() == [11, 11, 10, 10]
    assert not active.numpy().any()
    x[x > 10] = 5
    assert x.numpy().tolist() == [5, 5, 10, 10]


def test_a_selection_ends_with_its_block_whatever_happens():
    vp = weft.pvar.VPSet(4)
    with pytest.raises(ZeroDivisionError), vp.where(vp.coordinate(0) > 1), vp.where(vp.coordinate(0) > 2):
        raise ZeroDivisionError
    assert vp.mask is None
    again = vp.where(vp.coordinate(0) > 2)
    with again, again:
        assert vp.selected.numpy().tolist() == [False, False, False, True]
    assert vp.mask is None


def test_nothing_is_said_about_those_who_are_not_selected():
    vp = weft.pvar.VPSet(3)
    x = vp.array([0.0, 1.0, 2.0])
    with vp.where(x > 0):
        y = 1 / x
    assert y.numpy()[1:].tolist() == [1.0, 0.5]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        1 / x


def test_memory_is_shared_where_it_can_be():
    vp = weft.pvar.VPSet((2, 3))
    a = np.zeros((2, 3))
    x = vp.array(a)
    assert x.numpy() is a
    x += 1
    assert a[0, 0] == 1
    assert vp.array(a, copy=True).numpy() is not a
    assert np.asarray(x) is a or np.shares_memory(np.asarray(x), a)
    for unusable in (np.zeros((3, 2)).T, a.astype(">f8"), [[1, 2, 3]] * 2):
        assert not np.shares_memory(vp.array(unusable).numpy(), np.asarray(unusable))
        with pytest.raises(UsageError, match="copy=False: the elements cannot be used where they are"):
            vp.array(unusable, copy=False)
    a.flags.writeable = False
    assert not np.shares_memory(vp.array(a).numpy(), a)


@quick
@given(st.integers(1, 64), st.booleans(), cases.SEEDS)
def test_words_of_any_length_wrap_around(bits, signed, seed):
    random = np.random.default_rng(seed)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    x, y = (
        [int(v) for v in random.integers(low, high, 5, dtype="i8" if signed else "u8", endpoint=True)] for _ in "xy"
    )
    vp = weft.pvar.VPSet(5)
    kind = np.int64 if signed else np.uint64
    a, b = vp.array(np.array(x, kind), bits=bits), vp.array(np.array(y, kind), bits=bits)
    assert a.bits == bits

    def wrapped(value):
        value %= 1 << bits
        return value - (1 << bits) if signed and value >> (bits - 1) else value

    for function in (operator.add, operator.sub, operator.mul, operator.xor):
        got = function(a, b)
        assert got.bits == bits
        assert got.numpy().tolist() == [wrapped(function(p, q)) for p, q in zip(x, y, strict=True)]
    total = [wrapped(sum(x[: n + 1])) for n in range(5)]
    assert weft.pvar.scan(a, "add").numpy().tolist() == total
    assert weft.pvar.send(a, vp.zeros(int), combine="add").numpy()[0] == total[-1]
    a += b
    assert a.numpy().tolist() == [wrapped(p + q) for p, q in zip(x, y, strict=True)]
    first = weft.pvar.scan(a, "max", exclusive=True)[0]
    assert first == low


def test_copies_are_variables_of_their_own():
    vp = weft.pvar.VPSet(4)
    x = vp.array([1, 2, 3, 4], bits=4)
    rows = vp.arrays(2, np.int32)
    for other in (copy.copy(x), copy.deepcopy({"x": x})["x"]):
        other[...] = 7
        assert x.numpy().tolist() == [1, 2, 3, 4]
        assert (other.bits, other.vp) == (4, vp)
    for arrays in (copy.copy(rows), copy.deepcopy(rows)):
        arrays[1] = x
        assert arrays[1].sum() == 10
        assert rows[1].sum() == 0
    with pytest.raises(TypeError, match=r"a parallel variable cannot be pickled, .*: pickle x.numpy\(\)"):
        pickle.dumps(x)
    with pytest.raises(TypeError, match="a VP set cannot be pickled, .*: pickle its shape"):
        pickle.dumps(vp)


def test_one_element():
    vp = weft.pvar.VPSet((4, 6))
    x = vp.address().astype(float)
    assert x[3, 5] == 23.0
    assert x[-1, -1] == 23.0
    with vp.where(vp.coordinate(0) == 0):
        x[3, 5] = 7
    assert x[3, 5] == 7.0
    assert isinstance(x[0, 0], float)


def test_orders_coordinates_and_addresses():
    vp = weft.pvar.VPSet((3, 4, 2), order=("news", "send", None))
    places = np.indices((3, 4, 2))
    for axis in range(3):
        assert np.array_equal(vp.coordinate(axis).numpy(), places[axis])
    assert np.array_equal(vp.address().numpy(), np.arange(24).reshape(3, 4, 2))
    assert vp.coordinate(0).dtype == np.int32
    assert vp.coordinate(0, np.int64).dtype == np.int64


MISTAKES = [
    (lambda vp: weft.pvar.VPSet(2.5), "the shape has 2.5; expected whole numbers of 0 or more"),
    (lambda vp: weft.pvar.VPSet((3, -1)), "the shape has -1; expected whole numbers of 0 or more"),
    (lambda vp: weft.pvar.VPSet((3, 2.5)), "the shape has 2.5"),
    (lambda vp: weft.pvar.VPSet(()), "1 to 31 axes, not 0"),
    (lambda vp: weft.pvar.VPSet((3, 4), order="newss"), "there is no order 'newss'"),
    (lambda vp: weft.pvar.VPSet((3, 4), order=("news",)), "order has 1 entries, but the VP set has 2 axes"),
    (
        lambda vp: weft.pvar.VPSet((1 << 20, 1 << 20)),
        r"takes .* GiB, and this machine has .* of memory left; take a smaller grid",
    ),
    (
        lambda vp: weft.pvar.VPSet((3, 4), machine="ipsc860"),
        "ipsc860 has no costs of data-parallel operations.*cm2-8k has",
    ),
    (lambda vp: weft.pvar.VPSet((3, 4), machine="cm2-9k"), "cm2-8k"),
    (lambda vp: weft.pvar.VPSet((3, 4)).time, "only a VP set of a described machine knows its time"),
    (lambda vp: vp.array(np.zeros((4, 3))), r"the array has shape \(4, 3\), but the VP set has \(3, 4\)"),
    (lambda vp: vp.array(np.zeros((3, 4), "G")), "complex numbers to 128 bits or booleans, not complex256"),
    (lambda vp: vp.array([["a"] * 4] * 3), "floats to 64 bits, complex numbers to 128 bits or booleans, not <U1"),
    (
        lambda vp: vp.array(np.full((3, 4), 300), dtype="i1"),
        "elements from 300 to 300; int8 of 8 bits holds .* -128 to 127",
    ),
    (
        lambda vp: vp.array(np.full((3, 4), 8), bits=4),
        "elements from 8 to 8; int8 of 4 bits holds whole numbers from -8 to 7",
    ),
    (lambda vp: vp.zeros(float, bits=40), "float64 has words of 64 bits; a word length can be set for integers"),
    (lambda vp: vp.zeros("i2", bits=20), "a word of 20 bits does not fit int16; expected 1 to 16"),
    (lambda vp: vp.coordinate(2), "coordinate: there is no axis 2; the axes are -2 to 1"),
    (lambda vp: vp.where(True), "where: a bool is no condition"),
    (lambda vp: vp.where(vp.zeros(int)), "where: the condition is of int64; compare it with something"),
    (lambda vp: vp.where(weft.pvar.VPSet((4, 3)).zeros(bool)), "where: the condition is of another VP set"),
    (lambda vp: bool(vp.zeros()), "use vp.where.x., or weft.pvar.reduce.x, 'or'"),
    (lambda vp: vp.zeros()[3, 0], "there is no element 3 along axis 0: its extent is 3"),
    (lambda vp: vp.zeros()[0, 0, 0], r"an element has 2 coordinates, not 3: the shape is \(3, 4\)"),
    (lambda vp: vp.zeros()[[0, 1], 0], "is not one element; expected whole numbers, or ... for all"),
    (lambda vp: operator.setitem(vp.zeros("i1"), (0, 0), 200), r"an element of int8 \(8 bits\) cannot be 200"),
    (lambda vp: operator.setitem(vp.zeros("i1"), (0, 0), 1.5), r"an element of int8 \(8 bits\) cannot be 1.5"),
    (
        lambda vp: operator.setitem(vp.zeros(int), ..., 1.5),
        "a variable of int64 cannot be given 1.5; convert with astype",
    ),
    (lambda vp: operator.setitem(vp.zeros(int), ..., vp.zeros()), "a variable of int64 cannot be given float64"),
    (lambda vp: operator.iadd(vp.zeros(int), 0.5), "a variable of int64 cannot be given float64"),
    (lambda vp: vp.zeros() & vp.zeros(), "bitwise_and is not for float64 and float64; convert with x.astype"),
    (lambda vp: vp.zeros(bool) - vp.zeros(bool), "subtract is not for bool and bool"),
    (lambda vp: vp.zeros("i1") + 1000, "add: int8 and 1000: "),
    (lambda vp: vp.full(2) ** -1, "pow: int64 and -1: Integers to negative integer powers are not allowed"),
    (lambda vp: vp.full(2) ** (vp.address() - 5), "pow: int64 and int32: Integers to negative integer powers"),
    (lambda vp: operator.ipow(vp.full(2), -2), "pow: int64 and -2: Integers to negative integer powers"),
    (lambda vp: vp.zeros() + np.zeros((3, 4)), r"add: an array is on the front end; vp.array\(…\) brings it"),
    (lambda vp: vp.zeros() + "1", "add: a str is neither a parallel variable nor a number"),
    (lambda vp: pvar.sqrt(2.0), "sqrt: a float is no parallel variable"),
    (lambda vp: pvar.add(1, 2), "add: neither operand is a parallel variable"),
    (lambda vp: vp.zeros().astype("G"), "not complex256"),
]


@pytest.mark.parametrize(("call", "text"), MISTAKES)
def test_mistakes_are_named(call, text):
    with pytest.raises(UsageError, match=text):
        call(weft.pvar.VPSet((3, 4)))


def test_memory_is_asked_for_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 100 << 20)
    vp = weft.pvar.VPSet(90 << 20)
    with pytest.raises(UsageError, match=r"a variable of float64 .* takes 720 MiB, and this machine has 100 MiB"):
        vp.zeros()
    with pytest.raises(UsageError, match="a variable of int32"):
        vp.coordinate(0)


def test_variables_are_no_sequences():
    x = weft.pvar.VPSet(4).zeros()
    with pytest.raises(TypeError):
        iter(x)
    assert repr(x) == "<ParallelVariable (4,) of float64: [0. 0. 0. 0.]>"
    assert "2.0" not in repr(weft.pvar.VPSet((2, 2)))


RUNS_TWICE = """
import resource
import weft

vp = weft.pvar.VPSet(1 << 19)

def run():
    x = vp.zeros("float64")
    return len([x + number for number in range(40)])

run()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
run()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators keep what they like")
def test_a_program_of_much_memory_has_the_pages_of_its_run_before():
    """160 MiB are 40,960 pages of 4 KiB."""
    ran = subprocess.run([sys.executable, "-c", RUNS_TWICE], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 400
