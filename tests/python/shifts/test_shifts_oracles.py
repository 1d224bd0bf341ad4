"""Shifts of numpy arrays against numpy and against gfortran."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shift_oracles import FORTRAN_TYPES, fortran, gfortran, reference

import weft

DTYPES = [
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "longdouble", "complex64", "complex128", "clongdouble", ">f8", ">i2"),
]
DISTANCES = st.one_of(st.integers(-4, 4), st.integers(-40, 40), st.sampled_from([-(10**30), 2**63, -(2**63)]))


def values(shape, dtype, seed=0):
    """Elements that differ as far as the dtype allows."""
    count = int(np.prod(shape, dtype=object))
    numbers = (np.arange(count) * 7 + seed) % 119
    if np.dtype(dtype).kind == "b":
        return (numbers % 3 == 0).reshape(shape)
    return (numbers + (1j * numbers if np.dtype(dtype).kind == "c" else 0)).astype(dtype).reshape(shape)


def shapes(most_axes=5, most=7):
    return st.lists(st.integers(0, most), min_size=1, max_size=most_axes).map(tuple)


@st.composite
def views(draw, shape, dtype):
    """An array of a shape, with axes in any order, steps, backwards or repeated."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in shape]
    large = tuple(extent * abs(step) for extent, step in zip(shape, steps, strict=True))
    ordered = values(tuple(large[axis] for axis in order), dtype)
    array = ordered.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    if shape and all(shape) and draw(st.integers(0, 9)) == 0:
        array = np.broadcast_to(array[..., :1], shape)
    assert array.shape == shape
    return array


@st.composite
def cases(draw, dtypes=DTYPES, most_axes=5):
    shape, dtype = draw(shapes(most_axes)), draw(st.sampled_from(dtypes))
    shifts = []
    for _ in range(draw(st.integers(1, 5))):
        axis = draw(st.integers(-len(shape), len(shape) - 1))
        face = tuple(np.delete(shape, axis))
        kind = draw(st.sampled_from(["circular", "zero", "one", "scalar", "array", "live"]))
        boundary = {
            "circular": None,
            "zero": 0,
            "one": 1,
            "scalar": values((1,), dtype, 5)[0],
            "array": draw(views(face, dtype)),
            "live": values((), dtype, 3),
        }[kind]
        shifts.append((draw(DISTANCES), axis, boundary, draw(st.integers(0, 1))))
    if len({shift[3] for shift in shifts}) == 1:
        shifts = [(*shift[:3], 0) for shift in shifts]
    sources = [draw(views(shape, dtype)) for _ in range(1 + max(shift[3] for shift in shifts))]
    return shape, dtype, shifts, sources


def same(found, wanted):
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@given(cases(), st.data())
@settings(max_examples=200, deadline=None)
def test_plans_do_what_the_reference_does(case, data):
    shape, dtype, shifts, sources = case
    plan = weft.arrays.polyshift(shape, dtype, shifts)
    wanted = [reference(sources[source], by, axis, boundary) for by, axis, boundary, source in shifts]
    wanted = [array.astype(dtype) for array in wanted]
    for found, expected in zip(plan(*sources), wanted, strict=True):
        same(found, expected)
    outputs = [data.draw(views(shape, dtype)) for _ in shifts]
    outputs = [out if out.flags.writeable else out.copy() for out in outputs]
    bound = plan.bind(*sources, out=outputs)
    for call in (lambda: plan(*sources, out=outputs), bound, bound):
        for out in outputs:
            out[...] = 0
        assert all(found is out for found, out in zip(call(), outputs, strict=True))
        for found, expected in zip(outputs, wanted, strict=True):
            same(found, expected)


@given(st.data(), shapes(), st.sampled_from(DTYPES), DISTANCES)
@settings(max_examples=100, deadline=None)
def test_single_shifts_do_what_the_reference_does(data, shape, dtype, by):
    x = data.draw(views(shape, dtype))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    same(weft.arrays.cshift(x, by, axis), reference(x, by, axis))
    same(weft.arrays.eoshift(x, by, axis), reference(x, by, axis, 0))
    face = data.draw(views(tuple(np.delete(shape, axis)), dtype))
    same(weft.arrays.eoshift(x, by, axis, boundary=face), reference(x, by, axis, face))


@given(st.data(), shapes(4), st.sampled_from(DTYPES), st.integers(-9, 9))
@settings(max_examples=60, deadline=None)
def test_a_circular_shift_is_undone_by_its_opposite(data, shape, dtype, by):
    x = data.draw(views(shape, dtype))
    axis = data.draw(st.integers(0, len(shape) - 1))
    same(weft.arrays.cshift(weft.arrays.cshift(x, by, axis), -by, axis), x)
    same(weft.arrays.cshift(x, by, axis), np.roll(x, -by, axis))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    gfortran()
    return tmp_path_factory.mktemp("fortran")


# Each rank and dtype is a compilation.
@pytest.mark.parametrize(
    ("rank", "dtype"), [(1, "float64"), (2, "bool"), (3, "float32"), (3, "complex128"), (4, "int16"), (15, "int8")]
)
def test_plans_do_what_gfortran_does(folder, rank, dtype):
    assert dtype in FORTRAN_TYPES
    shape = {1: (7,), 2: (5, 6), 3: (4, 1, 5), 4: (3, 2, 4, 3), 15: (1, 2) * 7 + (2,)}[rank]
    x = values(shape, dtype)
    for axis in range(rank):
        face = values(shape[:axis] + shape[axis + 1 :], dtype, 11)
        for by in (0, 1, -1, 3, -5, 100, -(2**40)):
            for boundary in (None, values((1,), dtype, 2)[0], face):
                plan = weft.arrays.polyshift(shape, dtype, [(by, axis, boundary)])
                same(plan(x)[0], fortran(x, by, axis, boundary, folder))
                same(reference(x, by, axis, boundary), fortran(x, by, axis, boundary, folder))


def test_rank_32():
    shape = (1, 2, 1) * 10 + (2, 3)
    x = values(shape, "int32")
    shifts = [(1, axis) for axis in range(32)]
    for axis, found in enumerate(weft.arrays.polyshift(shape, "int32", shifts)(x)):
        same(found, np.roll(x, -1, axis))


def test_large_arrays_with_one_and_with_two_threads():
    shape = (6, 500, 700)  # by non-temporal stores, with rows that are no whole number of lines
    x = np.random.default_rng(1).random(shape)
    face = np.random.default_rng(2).random((6, 700))
    shifts = [(1, 0), (-1, 0), (2, 1, face), (-1, 2), (1, 2), (5, 2, 0)]
    for threads in (1, 2, None):
        found = weft.arrays.polyshift(shape, x.dtype, shifts, threads=threads)(x)
        for array, (by, axis, *boundary) in zip(found, shifts, strict=True):
            same(array, reference(x, by, axis, *boundary))
