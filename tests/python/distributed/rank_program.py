"""What each rank of the tests does: `rank_program.py SCENARIO`; prints `rank R: ok` where all is well."""

import sys
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import UsageError

sys.path.insert(0, str(Path(__file__).parent))

from reference import shifted, with_ghosts


def whole(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, 100, shape).astype(dtype)


def shifts():
    """Shifts of several arrays of several types, circular and not, against numpy."""
    for shape, dtype in [((17,), "f8"), ((8, 9), "i4"), ((5, 6, 7), "c16"), ((3, 2, 4, 5), "?"), ((40, 3), "u1")]:
        geometry = weft.Geometry(shape)
        x, y = whole(shape, dtype), whole(shape, dtype, 1)
        lines = whole(shape[1:], dtype, 2)
        kinds = [(1, 0), (-1, 0), (3, -1), (-2, -1, x.dtype.type(1)), (2, 0, lines), (1, 0, None, 1), (10**30, 0, 0, 1)]
        with geometry.polyshift([dtype, dtype], shifts=kinds) as plan:
            assert "rank" in plan.explain()
            a, b = geometry.distribute(x), geometry.scatter(y if geometry.rank == 0 else None)
            for _ in range(2):
                results = plan(a, b)
                for (by, axis, *rest), result in zip(kinds, results, strict=True):
                    boundary, source = (*rest, None)[0] if rest else None, rest[1] if len(rest) > 1 else 0
                    expected = shifted([x, y][source], min(by, 10**6), axis, boundary)
                    got = result.gather(None)
                    assert got.dtype == expected.dtype
                    assert np.array_equal(got, expected), (shape, by, axis, boundary)


def overlap():
    """A result that is the source, and computing between begin and end."""
    geometry = weft.Geometry((12, 5))
    x = whole((12, 5), float)
    a = geometry.distribute(x)
    plan = geometry.polyshift(shifts=[(1, 0), (2, 1)])
    other = geometry.zeros()
    plan.begin(a, out=[a, other])
    plan.end()
    assert np.array_equal(a.gather(None), shifted(x, 1, 0))
    assert np.array_equal(other.gather(None), shifted(x, 2, 1))
    bound = plan.bind(other, out=[a, geometry.zeros()])
    for _ in range(5):
        bound.begin()
        bound.end()
    assert np.array_equal(a.gather(None), shifted(shifted(x, 2, 1), 1, 0))


def halos():
    """Ghosts on all sides with and without corners, against numpy's padding."""
    cases = [((11,), 2), ((9, 8), 1), ((6, 7, 5), ((1, 1), (2, 0), (0, 1))), ((4, 4, 4, 4), 1)]
    for shape, halo in cases:
        geometry = weft.Geometry(shape)
        x = whole(shape, float)
        for boundary in (None, 7.5):
            for corners in ("none", "at once", "staged"):
                a = geometry.distribute(x, halo=halo)
                b = geometry.distribute(2 * x, halo=halo)
                with geometry.halo_exchange([float, float], halo=halo, boundary=boundary, corners=corners) as fill:
                    fill(a, b)
                check_ghosts(geometry, x, a, boundary, corners)
                check_ghosts(geometry, 2 * x, b, boundary, corners)


def check_ghosts(geometry, x, a, boundary, corners):
    if 0 in geometry.local_shape():
        return
    # Each block has its own faces and corners, so the mask is the block's and not the array's.
    padded, _ = with_ghosts(x, a.halo, boundary, True)
    here = tuple(
        slice(start, start + length + b + e)
        for start, length, (b, e) in zip(geometry.start(), geometry.local_shape(), a.halo, strict=True)
    )
    _, filled = with_ghosts(np.zeros(geometry.local_shape()), a.halo, 0.0, corners != "none")
    expected = np.where(filled, padded[here], 0.0)
    got = np.where(filled, a.local_with_halo, 0.0)
    assert np.array_equal(got, expected), (x.shape, a.halo, boundary, corners, geometry.rank)


def mistakes():
    """One rank makes a mistake: every rank is told."""
    geometry = weft.Geometry((8, 8))
    one = geometry.rank == geometry.ranks - 1

    def told(call, text):
        with pytest.raises(UsageError) as raised:
            call()
        assert text in str(raised.value)

    told(lambda: geometry.polyshift(shifts=[(1, 5 if one else 0)]), "shift 0 is along axis 5")
    told(lambda: geometry.polyshift(shifts=[(1, 0, np.zeros(3 if one else 8))]), "shape (3,); expected (8,)")
    told(lambda: geometry.polyshift(object if one else float, shifts=[(1, 0)]), "elements of object")
    told(lambda: geometry.scatter(np.zeros((2, 2)) if geometry.rank == 0 else None), "shape (2, 2)")
    told(lambda: geometry.scatter(None), "rank 0 is the root and has to give the array")
    told(lambda: weft.Geometry((8, 0 if one else 8)), "axis 1 has no elements")
    if geometry.ranks > 1:
        told(lambda: geometry.polyshift(shifts=[(2 if one else 1, 0)]), "the ranks disagree")
        told(lambda: weft.Geometry((9 if one else 8, 8)), "the ranks disagree")
        told(lambda: geometry.zeros().gather(1 if one else 0), "the ranks disagree")
    plan = geometry.polyshift(shifts=[(1, 0)])
    x = geometry.zeros()
    told(lambda: plan(np.zeros((8, 8))), "expected a DistributedArray")
    told(lambda: plan(geometry.zeros("f4")), "is of float32, but the polyshift was made for float64")
    told(lambda: plan(geometry.zeros(halo=1)), "halo")
    told(lambda: plan(weft.Geometry((8, 9)).zeros()), "another geometry")
    told(plan.end, "has not begun")
    plan.begin(x)
    told(lambda: plan.begin(x), "has begun already")
    told(plan.release, "is under way")
    plan.end()
    plan.release()
    told(lambda: plan(x), "this polyshift was released and cannot be used again")


def lost():
    """A rank that fails while others wait for it."""
    geometry = weft.Geometry(64)
    fill = geometry.halo_exchange(halo=1)
    x = geometry.zeros(halo=1)
    for turn in range(3):
        if turn == 1 and geometry.rank == geometry.ranks - 1:
            raise RuntimeError("this rank has had enough")
        fill(x)


def mpi4py():
    """The communicator of a program that has started MPI itself."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2, -MPI.COMM_WORLD.rank)
    geometry = weft.Geometry((10, 6), comm=comm)
    assert (geometry.rank, geometry.ranks) == (comm.rank, comm.size)
    x = whole((10, 6), float, MPI.COMM_WORLD.rank % 2)
    result, *_ = geometry.polyshift(shifts=[(3, 0)])(geometry.distribute(x))
    assert np.array_equal(result.gather(None), shifted(x, 3, 0))
    assert comm.allreduce(1) == comm.size
    world = weft.Geometry((10, 6))
    assert world.ranks == MPI.COMM_WORLD.size


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print(f"{sys.argv[1]}: ok", flush=True)
