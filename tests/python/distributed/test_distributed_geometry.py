"""Geometries, without ranks: properties, and messages for mistakes."""

import json
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import UsageError, _core

shapes = st.lists(st.integers(1, 9), min_size=1, max_size=3)


@pytest.fixture(autouse=True)
def _native(native):
    pass


@settings(deadline=None, max_examples=50)
@given(shapes, st.integers(1, 12), st.sampled_from([None, "send"]))
def test_every_element_has_one_place(shape, ranks, order):
    geometry = weft.arrays.Geometry(shape, ranks=ranks, order=order)
    assert np.prod(geometry.grid) == ranks == geometry.ranks
    count = np.zeros(shape, dtype=int)
    for rank in range(ranks):
        count[geometry.local_slices(rank)] += 1
        assert geometry.rank_of(geometry.coordinates(rank)) == rank
        assert (~geometry.garbage_mask(rank)).sum() == np.prod(geometry.local_shape(rank))
        for place in np.ndindex(*geometry.block):
            element = geometry.element(place, rank)
            assert (element is None) == geometry.garbage_mask(rank)[place]
            if element is not None:
                assert geometry.owner(element) == (rank, place)
    assert (count == 1).all()


def test_axes_can_be_serial_heavy_or_given():
    assert weft.arrays.Geometry((64, 64), ranks=4, serial=[0]).grid == (1, 4)
    assert weft.arrays.Geometry((64, 64), ranks=4, serial=[-1]).grid == (4, 1)
    assert weft.arrays.Geometry((64, 64), ranks=16, weights=(8, 1)).grid == (1, 16)
    assert weft.arrays.Geometry((64, 64), ranks=4, grid=(1, 4)).block == (64, 16)
    assert weft.arrays.Geometry((64, 64), ranks=16).order == ("news", "news")
    assert weft.arrays.Geometry((64, 64), ranks=16).neighbour(0, 1, rank=1) == 5
    assert weft.arrays.Geometry((8,), ranks=2).neighbour(0, -1, rank=0, circular=False) is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"shape": (), "ranks": 2}, "at least one axis"),
        ({"shape": (4, -1), "ranks": 2}, "shape has -1; expected whole numbers"),
        ({"shape": (4, 2.5), "ranks": 2}, "shape has 2.5; expected whole numbers"),
        ({"shape": (4, 4), "ranks": 0}, "1 rank or more"),
        ({"shape": (4, 4), "ranks": 2, "serial": [2]}, "serial: there is no axis 2"),
        ({"shape": (4, 4), "ranks": 2, "serial": [0, 1]}, "every axis of the shape (4, 4) is serial"),
        ({"shape": (4, 4), "ranks": 2, "order": "newss"}, "there is no order 'newss'"),
        ({"shape": (9, 4), "ranks": 3, "grid": (3, 1), "order": ["news", None]}, "needs a power of two"),
        ({"shape": (4, 4), "ranks": 2, "grid": (2, 2)}, "has 4 ranks, but there are 2"),
        ({"shape": (4, 4), "ranks": 2, "weights": (1, 0)}, "weight 0 of axis 1"),
        ({"shape": (10**30,)}, "shape: expected a whole number from 0 to 2**64 - 1, found 1000000000000000000000000"),
        ({"shape": None}, "shape has None; expected whole numbers of 0 or more"),
        ({"shape": (2**63, 2)}, "the shape (9223372036854775808, 2) has more elements than can be counted"),
        ({"shape": (4,), "ranks": 2.5}, "ranks has 2.5; expected whole numbers of 0 or more"),
        ({"shape": (4,), "ranks": 2**64}, "ranks: expected a whole number from 0 to 2**64 - 1, found 184467"),
        ({"shape": (4, 4), "ranks": 4, "grid": (2, -2)}, "grid has -2; expected whole numbers of 0 or more"),
    ],
)
def test_mistakes_are_named(arguments, text):
    with pytest.raises(UsageError) as raised:
        weft.arrays.Geometry(**arguments)
    assert text in str(raised.value)


def test_a_geometry_of_more_ranks_than_there_are_has_no_arrays():
    geometry = weft.arrays.Geometry((64, 64), ranks=16)
    with pytest.raises(UsageError, match="over 16 ranks, but the run has 1; leave ranks out, or start"):
        geometry.zeros()


def test_arrays_are_numpy_and_back():
    geometry = weft.arrays.Geometry((3, 4))
    x = np.arange(12).reshape(3, 4)
    array = geometry.distribute(x, halo=1)
    assert np.array_equal(np.asarray(array), x)
    assert array.local.base is not None
    array.local[1, 1] = 99
    assert array.gather()[1, 1] == 99
    assert array.local_with_halo.shape == (5, 6)
    assert array.local.ctypes.data % 64 == 0


def test_refused_arrays():
    geometry = weft.arrays.Geometry((3, 4))
    with pytest.raises(UsageError, match="elements of object"):
        geometry.zeros(object)
    with pytest.raises(UsageError, match=r"the array has shape \(4, 3\)"):
        geometry.distribute(np.zeros((4, 3)))
    with pytest.raises(UsageError, match="halo has 3 entries"):
        geometry.zeros(halo=(1, 1, 1))
    with pytest.raises(UsageError, match=r"halo has \(-1, -1\); expected a width"):
        geometry.zeros(halo=-1)
    with pytest.raises(UsageError, match="comm is a str; expected a communicator of mpi4py"):
        weft.arrays.Geometry((3, 4), comm="world")


@pytest.mark.parametrize(
    ("shift", "text"),
    [
        ((1, 2), "shift 0 is along axis 2; an array of 2 axes has -2 to 1"),
        ((1.5, 0), "shift 0 is by 1.5; expected a whole number"),
        (("1", 0), "shift 0 is by '1'"),
        ((1,), "expected (by, axis)"),
        (7, "expected (by, axis)"),
        ({"by": 1, "axes": 0}, "expected by, axis, boundary, source"),
        ((1, 0, "round"), "expected 'circular', a scalar or an array"),
        ((1, 0, 1 + 2j), "which float64 cannot hold"),
        ((1, 0, np.zeros(3)), "has shape (3,); expected (4,), the shape without the axis"),
        ((1, 0, 0, 1), "shift 0 is of source 1; the sources are 0 to 0"),
    ],
)
def test_shifts_that_cannot_be(shift, text):
    with pytest.raises(UsageError) as raised:
        weft.arrays.Geometry((3, 4)).polyshift(shifts=[shift])
    assert text in str(raised.value)


def test_what_halos_cannot_be():
    geometry = weft.arrays.Geometry((3, 4))
    with pytest.raises(UsageError, match="corners cannot be had 'all'"):
        geometry.halo_exchange(corners="all")
    with pytest.raises(UsageError, match="boundary has 3 entries"):
        geometry.halo_exchange(boundary=[None, None, None])
    with pytest.raises(UsageError, match="a boundary array belongs to one axis, and the geometry has 2"):
        geometry.halo_exchange(boundary=np.zeros(4))
    with pytest.raises(UsageError, match=r"the boundary of axis 1 has shape \(4,\); expected \(3,\)"):
        geometry.halo_exchange(boundary=[None, np.zeros(4)])
    with pytest.raises(UsageError, match="more than 6561: have them staged"):
        weft.arrays.Geometry((2,) * 9).halo_exchange(corners="at once")
    with pytest.raises(UsageError, match="at least one shift"):
        geometry.polyshift(shifts=[])


def test_edges_can_be_kept():
    geometry = weft.arrays.Geometry((3,))
    x = geometry.distribute([1.0, 2.0, 3.0], halo=1)
    x.local_with_halo[...] = [-1, 1, 2, 3, -2]
    geometry.halo_exchange(boundary="keep")(x)
    assert x.local_with_halo.tolist() == [-1, 1, 2, 3, -2]


class _Comm:
    """What mpi4py's communicators are to weft."""


def test_two_mpi_libraries_are_told_apart(monkeypatch):
    stand_in = types.ModuleType("mpi4py.MPI")
    stand_in.Comm, stand_in.COMM_NULL, stand_in.COMM_WORLD = _Comm, None, _Comm()
    stand_in.Get_library_version = lambda: "Open MPI v5.0.11, package: Open MPI\0"
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", stand_in)
    ours = {"version": "MPICH Version:      5.0.2\nMPICH Release date: …", "path": "/opt/lib/libmpi.so"}
    monkeypatch.setattr(_core, "mpi_version", lambda library: json.dumps(ours))
    with pytest.raises(UsageError) as raised:
        weft.arrays.Geometry((3, 4), comm=_Comm())
    text = str(raised.value)
    assert "mpi4py uses Open MPI v5.0.11, but weft has loaded MPICH Version: 5.0.2 (/opt/lib/libmpi.so)" in text
    assert "Import mpi4py.MPI before weft uses MPI" in text


def test_plans_say_what_they_do():
    geometry = weft.arrays.Geometry((6, 4))
    plan = geometry.polyshift([float, int], shifts=[(1, 0), {"by": -1, "axis": 1, "boundary": 0, "source": 1}])
    text = plan.explain()
    assert "shift 0 of source 0: by +1 along axis 0, circular" in text
    assert "shift 1 of source 1: by -1 along axis 1, end-off, a scalar comes in" in text
    assert "sends 0 messages" in text
    assert "copies 384 B of its own" in text
    assert "with corners, axis by axis" in geometry.halo_exchange(corners="staged").explain()
