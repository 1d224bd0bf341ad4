"""Arrays of which each processor has one, against numpy's arrays with a row for each processor."""

import contextlib

import numpy as np
import pvar_cases as cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import UsageError


@pytest.fixture(autouse=True)
def _native(native):
    pass


quick = settings(deadline=None, max_examples=min(60, cases.EXAMPLES))


def selection(vp, mask):
    return contextlib.nullcontext() if mask.all() else vp.where(vp.array(mask))


@quick
@given(
    cases.ANY_SHAPES,
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple),
    cases.DTYPES,
    cases.DENSITIES,
    cases.SEEDS,
    st.data(),
)
def test_elements_by_an_index_of_their_own(shape, extents, dtype, density, seed, data):
    random = np.random.default_rng(seed)
    values = cases.elements((*shape, *extents), dtype, seed)
    x, mask = cases.elements(shape, dtype, seed + 1), cases.mask(shape, density, seed)
    vp = weft.pvar.VPSet(shape)
    a = vp.arrays(extents, dtype)
    a[...] = values
    assert np.array_equal(a.numpy(), values)
    index, at = [], list(np.indices(shape))
    for extent in extents:
        if data.draw(st.booleans()):
            number = int(random.integers(0, extent))
            index.append(number)
            at.append(np.full(shape, number))
        else:
            own = random.integers(0, extent, shape)
            at.append(own)
            index.append(vp.array(np.where(mask, own, extent + 3)))
    parallel = any(isinstance(one, weft.pvar.ParallelVariable) for one in index)
    expected = values[tuple(at)]
    with selection(vp, mask):
        got = a[tuple(index)]
        assert np.array_equal(got.numpy(), np.where(mask, expected, 0) if parallel else expected)
        a[tuple(index)] += vp.array(x)
        values[tuple(one[mask] for one in at)] += x[mask]
        assert np.array_equal(a.numpy(), values)
        a[tuple(index)] = 3
        values[tuple(one[mask] for one in at)] = 3
    assert np.array_equal(a.numpy(), values)
    assert a.dtype == values.dtype


def test_elements_by_numbers():
    vp = weft.pvar.VPSet((2, 3))
    a = vp.arrays(4, np.int32)
    a[2] = vp.address()
    second = a[2]
    second[...] += 1
    assert a[-2].numpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert [int(one.sum()) for one in a] == [0, 0, 21, 0]
    assert len(a) == 4
    with vp.where(vp.coordinate(0) == 1):
        a[...] = np.array([5, 6, 7, 8])
        a[0] = 1
    assert a.numpy()[:, 0].tolist() == [[0, 0, 1, 0], [1, 6, 7, 8]]
    wide = vp.arrays((2, 2), np.int8, bits=4)
    wide[1, vp.address() % 2] = 7
    wide[1, 0] += 2
    assert wide.numpy()[0, 0].tolist() == [[0, 0], [-7, 0]]
    assert wide.bits == 4


def test_what_is_recorded_is_what_is_computed():
    values = np.arange(24).reshape(6, 4)
    with weft.pvar.metered() as meter:
        vp = weft.pvar.VPSet(6)
        a = vp.arrays(4, np.int64)
        a[...] = values
        meter.clear()
        with vp.where(vp.address() != 1):
            a[vp.address() % 4] += 100
            got = a[vp.address() % 4]
    values[[0, 2, 3, 4, 5], [0, 2, 3, 0, 1]] += 100
    assert np.array_equal(a.numpy(), values)
    assert got.numpy().tolist() == [100, 0, 110, 115, 116, 121]
    one_by_one = [record for record in meter.sequence if record.included]
    assert sum(record.name == "equal" for record in one_by_one) == 12  # four for each fetch and store
    here = [(record.name, record.coordinates) for record, _, _ in meter.aside if record.name.startswith("own")]
    assert here == [("own get", 1), ("own send", 1), ("own get", 1)]
    assert {record.name for record in meter.sequence if not record.included} == {
        *("remainder", "add", "not_equal"), "select", "assign"}  # fmt: skip
    described = weft.pvar.VPSet(64, machine="cm2-8k")
    b = described.arrays(4, np.int32)
    b[described.address() % 4] = 1
    assert described.time.cm > 0


def mistakes():
    vp = weft.pvar.VPSet(6)
    a, other = vp.arrays((2, 3)), weft.pvar.VPSet(5)
    return [
        (lambda: vp.arrays(0), "expected whole numbers of 1 or more"),
        (lambda: vp.arrays(()), "at least one axis"),
        (lambda: vp.arrays(3, "U4"), "parallel variables are integers"),
        (lambda: a[0], "an element has 2 indices, not 1"),
        (lambda: a[0, 3], "there is no element 3 along axis 1 of the processors' arrays: its extent is 3"),
        (lambda: a[vp.address(), 0], r"there is no element \d along axis 0"),
        (lambda: a[0, 1.5], "index 1 is 1.5; expected a whole number"),
        (lambda: a[0, vp.zeros()], "index 1 is of float64; expected integers"),
        (lambda: a[0, other.address()], "index 1 is of another VP set"),
        (lambda: iter(a), "arrays of 2 axes are not gone through"),
        (lambda: bool(a), "neither true nor false"),
        (lambda: a.__setitem__(..., np.zeros(3)), r"have shape \(6, 2, 3\), or \(2, 3\) for all, not \(3,\)"),
        (lambda: a.__setitem__((0, vp.address() % 3), 1j), "cannot be given 1j"),
    ]


def test_mistakes():
    for call, text in mistakes():
        with pytest.raises(UsageError, match=text):
            call()
