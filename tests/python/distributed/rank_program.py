"""What each rank of the tests does: `rank_program.py SCENARIO`; prints `rank R: ok` where all is well."""

import os
import signal
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import UsageError

sys.path.insert(0, str(Path(__file__).parent))

from bits import differing
from reference import shifted, with_ghosts


def whole(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(0, 100, shape).astype(dtype)


def shifts():
    """Shifts of several arrays of several types, circular and not, against numpy."""
    for shape, dtype in [((17,), "f8"), ((8, 9), "i4"), ((5, 6, 7), "c16"), ((3, 2, 4, 5), "?"), ((40, 3), "u1")]:
        geometry = weft.arrays.Geometry(shape)
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


def small_blocks():
    """Stencils on grids of a few sites: the bits of one rank."""
    for seed in range(40):
        assert differing(seed) == []


def overlap():
    """A result that is the source, and computing between begin and end."""
    geometry = weft.arrays.Geometry((12, 5))
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
        geometry = weft.arrays.Geometry(shape)
        x = whole(shape, float)
        for boundary in (None, 7.5):
            for corners in ("none", "at once", "staged"):
                a = geometry.distribute(x, halo=halo)
                b = geometry.distribute(2 * x, halo=halo)
                with geometry.halo_exchange([float, float], halo=halo, boundary=boundary, corners=corners) as fill:
                    fill(a, b)
                check_ghosts(geometry, x, a, boundary, corners)
                check_ghosts(geometry, 2 * x, b, boundary, corners)


def boundary_arrays():
    """Arrays at the ends, for shifts and for ghosts, which are read at each call."""
    geometry = weft.arrays.Geometry((7, 6))
    x = whole((7, 6), float)
    # Of another type and with strides, so that it is copied; as it is read; and for the other axis.
    first, second = np.arange(12, dtype="f4")[::2], whole((7,), float, 3)
    a = geometry.distribute(x, halo=((1, 2), (2, 1)))
    with (
        geometry.polyshift(shifts=[(1, 0, first), (-2, 1, second)], halo=a.halo) as shifts,
        geometry.halo_exchange(halo=a.halo, boundary=[first, second], corners="at once") as fill,
    ):
        for _ in range(3):
            first += 10
            second *= -2
            for result, (by, axis, values) in zip(shifts(a), [(1, 0, first), (-2, 1, second)], strict=True):
                assert np.array_equal(result.gather(None), shifted(x, by, axis, values))
            fill(a)
            # First extended along axis 0; what is beyond axis 1 too has the nearest line's value.
            tall = np.concatenate([[first] * 1, x, [first] * 2])
            edge = second[np.clip(np.arange(-1, 9), 0, 6)][:, None]
            padded = np.concatenate([edge, edge, tall, edge], axis=1)
            here = tuple(
                slice(start, start + length + sum(around))
                for start, length, around in zip(geometry.start(), geometry.local_shape(), a.halo, strict=True)
            )
            if 0 not in geometry.local_shape():
                assert np.array_equal(a.local_with_halo, padded[here]), geometry.rank


def many_axes():
    """Arrays of 32 axes, of any type."""
    shape = [1] * 32
    shape[3], shape[17], shape[31] = 3, 4, 2
    geometry = weft.arrays.Geometry(shape)
    x = whole(shape, "?")
    with geometry.polyshift("?", shifts=[(1, 17), (-1, 3, True), (1, -1)]) as plan:
        for result, (by, axis, *rest) in zip(
            plan(geometry.distribute(x)), [(1, 17), (-1, 3, True), (1, 31)], strict=True
        ):
            assert np.array_equal(result.gather(None), shifted(x, by, axis, *rest))
    record = np.dtype([("a", "i2"), ("b", "f8"), ("c", "S3")])
    geometry = weft.arrays.Geometry((5, 4))
    y = np.zeros((5, 4), record)
    y["a"], y["b"], y["c"] = whole((5, 4), "i2"), whole((5, 4), "f8", 1), b"xyz"
    (result,) = geometry.polyshift(record, shifts=[(2, 0)])(geometry.distribute(y))
    assert np.array_equal(result.gather(None), shifted(y, 2, 0))


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


def stencils():
    """Stencils made up from seeds: the same numbers as of the whole array on one rank."""
    for seed in range(CASES):
        made = np.random.default_rng(seed)
        case = stencil_case(made)
        geometry, x, halo = case["geometry"], case["x"], case["halo"]
        expected = weft.arrays.stencil(case["points"], boundary=case["boundary"], site_rank=case["site_rank"])(
            x, steps=case["steps"]
        )
        distributed = {offset: alike(geometry, case, value) for offset, value in case["points"].items()}
        stencil = weft.arrays.stencil(distributed, boundary=case["boundary"], site_rank=case["site_rank"])
        a = geometry.distribute(x, halo=halo)
        out = geometry.zeros(x.dtype, case["out_halo"]) if made.random() < 0.5 else None
        for _ in range(2):
            y = stencil(a, out, steps=case["steps"])
            assert out is None or y is out
            found = y.gather(None)
            assert np.array_equal(found, expected), (seed, case, found, expected)
            assert np.array_equal(a.local, x[geometry.local_slices()]), (seed, "the source was changed")
        # Of several steps the ghosts of those before the last may lie there, right after the elements.
        if case["steps"] == 1:
            assert not np.any(y.padded[geometry.garbage_mask()]), (seed, "padding was written")
        with geometry.stencil(stencil, x.dtype) as plan:
            b = geometry.distribute(x, halo=plan.halo)
            assert np.array_equal(plan(b, b, steps=case["steps"]).gather(None), expected), (seed, "in place")
            into = geometry.zeros(x.dtype, plan.halo)
            b.local[...] = x[geometry.local_slices()]
            call = plan.bind(b, into, steps=case["steps"])
            call()
            assert np.array_equal(into.gather(None), expected), (seed, "bound")


def deep_stencils():
    """Several steps between two exchanges: the same bits as step by step, whatever the ghosts run over."""
    for seed in range(CASES):
        made = np.random.default_rng(1000 + seed)
        case = stencil_case(made)
        geometry, x = case["geometry"], case["x"]
        stencil = weft.arrays.stencil(case["points"], boundary=case["boundary"], site_rank=case["site_rank"])
        per = int(made.integers(2, 5))
        for steps in (1, per, 2 * per + 1, 3 * per):
            with geometry.stencil(stencil, x.dtype) as plan:
                expected = plan(geometry.distribute(x), steps=steps).gather(None)
            with geometry.stencil(stencil, x.dtype, steps_per_exchange=per, threads=1 + seed % 2) as plan:
                assert plan.steps_per_exchange == per
                found = plan(geometry.distribute(x, halo=plan.halo), steps=steps).gather(None)
                narrow = plan(geometry.distribute(x), geometry.zeros(x.dtype), steps=steps).gather(None)
            assert found.tobytes() == expected.tobytes(), (seed, case, per, steps, found, expected)
            assert np.array_equal(narrow, expected), (seed, case, per, steps)
    # Large enough for several steps in one sweep through memory.
    geometry = weft.arrays.Geometry((300, 2000))
    heat = weft.arrays.stencil({(0, 0): 0.5, (1, 0): 0.1, (-1, 0): 0.15, (0, 1): 0.12, (0, -1): 0.13})
    x = np.random.default_rng(5).random((300, 2000))
    expected = heat(x, steps=9)
    with geometry.stencil(heat, steps_per_exchange=4) as plan:
        assert geometry.ranks == 1 or "computes 4 steps between exchanges" in plan.explain()
        found = plan(geometry.distribute(x, halo=plan.halo), steps=9).gather(None)
    assert found.tobytes() == expected.tobytes()
    with geometry.stencil(heat, steps_per_exchange=weft.machine("ipsc860")) as plan:
        assert plan.steps_per_exchange >= 1
    own = weft.arrays.stencil({(0, 1): geometry.zeros()})
    with pytest.raises(UsageError, match="no values for the ghosts"):
        geometry.stencil(own, steps_per_exchange=2)
    with pytest.raises(UsageError, match="steps_per_exchange is 0"):
        geometry.stencil(heat, steps_per_exchange=0)


CASES = 24
"""Stencils that are made up."""


def stencil_case(made):
    """One of them: the same on all ranks."""
    rank = int(made.integers(1, 5))
    grid = tuple(int(made.integers(1, [24, 11, 8, 6][rank - 1])) for _ in range(rank))
    sides = tuple(int(made.integers(1, 4)) for _ in range(int(made.integers(0, 3))))
    site = [(), (), (2,), (3, 2)][int(made.integers(4))]
    dtype = np.dtype(["f4", "f8", "f8", "c8", "c16"][int(made.integers(5))])
    reach = 1 if made.random() < 0.6 else 3

    def numbers(shape):
        real = made.integers(-9, 10, shape)
        return (real if dtype.kind == "f" else real + 1j * made.integers(-9, 10, shape)).astype(dtype)

    def coefficient():
        kind = made.integers(4)
        if kind < 2:
            value = made.integers(-5, 6) / 8
            return complex(value, made.integers(-5, 6) / 8) if dtype.kind == "c" and kind else float(value)
        shape = grid if kind == 2 else tuple(n if made.random() < 0.5 else 1 for n in grid)
        return made.integers(-9, 10, shape).astype(["f4", "f8", "i4"][int(made.integers(3))]) / dtype.type(4).real

    def boundary(axis):
        kind = made.integers(4)
        if kind < 2:
            return "circular"
        others = grid[:axis] + grid[axis + 1 :]
        return numbers(others + site) if kind == 3 and others + site else 2.5

    points = {
        tuple(int(by) for by in made.integers(-reach, reach + 1, rank)): coefficient()
        for _ in range(int(made.integers(1, 8)))
    }
    first, last = len(sides), len(sides) + rank
    shape = sides + grid + site
    order = [None if made.random() < 0.7 else "send" for _ in shape]
    serial = [axis for axis in range(len(shape)) if axis >= last or (axis < first and made.random() < 0.8)]
    serial += [axis for axis in range(first, last) if rank > 1 and made.random() < 0.2][: rank - 1]
    geometry = weft.arrays.Geometry(shape, serial=serial, order=order)

    def width():
        return [(int(made.integers(4)), int(made.integers(4))) if axis < last else (0, 0) for axis in range(len(shape))]

    return {
        "geometry": geometry,
        "x": numbers(shape),
        "points": points,
        "boundary": tuple(boundary(axis) for axis in range(rank)),
        "site_rank": len(site),
        "steps": int(made.integers(1, 5)),
        "halo": width(),
        "out_halo": width(),
        "spread": made.random(),
    }


def alike(geometry, case, value):
    """A whole array of coefficients now and then as a distributed one."""
    first = geometry.ndim - case["site_rank"] - len(next(iter(case["points"])))
    grid = geometry.shape[first : geometry.ndim - case["site_rank"]]
    if np.shape(value) != grid or case["spread"] < 0.5 or any(n > 1 for n in geometry.grid[:first]):
        return value
    last = geometry.ndim - case["site_rank"]
    own = weft.arrays.Geometry(grid, grid=geometry.grid[first:last], order=geometry.order[first:last])
    return own.distribute(value, halo=1)


def stencil_mistakes():
    """A stencil that fits on all ranks but one: every rank is told."""
    geometry = weft.arrays.Geometry((8, 6))
    one = geometry.rank == geometry.ranks - 1
    star = {(0, 0): 0.5, (1, 0): 0.25, (-1, 0): 0.25}

    def told(call, text):
        with pytest.raises(UsageError) as raised:
            call()
        assert text in str(raised.value), raised.value

    told(lambda: geometry.stencil("star" if one else weft.arrays.stencil(star)), "stencil is a str")
    told(lambda: geometry.stencil(weft.arrays.stencil(star), "?" if one else "f8"), "a stencil computes in")
    if geometry.ranks > 1:
        whole = weft.arrays.stencil({(0, 0): 1, (1, 0): 1})
        told(lambda: geometry.stencil(whole, "i4" if one else "f8"), "the ranks disagree")
    told(
        lambda: geometry.stencil(weft.arrays.stencil({(0, 0, 0): 1.0})), "has 2 axes; this stencil needs 3 for the grid"
    )
    wrong = np.zeros(5 if one else 6)
    told(lambda: geometry.stencil(weft.arrays.stencil(star, boundary=(wrong, 0))), "has shape (5,)")
    told(lambda: geometry.stencil(weft.arrays.stencil({(0, 0): np.zeros((8, 5 if one else 6))})), "does not broadcast")
    told(lambda: geometry.stencil(weft.arrays.stencil({(0, 0): 1j if one else 1.0})), "complex, the array is float64")
    if geometry.ranks > 1:
        told(
            lambda: geometry.stencil(weft.arrays.stencil({**star, (0, 0): 0.75 if one else 0.5})), "the ranks disagree"
        )
        told(lambda: geometry.stencil(weft.arrays.stencil(star), halo=0), "is too narrow: the stencil reaches")
        divided = weft.arrays.Geometry((8, 6), grid=(1, geometry.ranks))
        told(lambda: divided.stencil(weft.arrays.stencil({1: 1.0}, site_rank=1)), "make the geometry with serial=[1]")
        coefficients = divided.zeros()
        told(lambda: geometry.stencil(weft.arrays.stencil({(0, 0): coefficients})), "are divided as")
    plan = geometry.stencil(weft.arrays.stencil(star))
    x = geometry.zeros(halo=plan.halo)
    told(lambda: plan(np.zeros((8, 6))), "expected a DistributedArray")
    told(lambda: plan(geometry.zeros("f4")), "is of float32, but the stencil was planned for float64")
    told(lambda: plan(x, weft.arrays.Geometry((8, 7)).zeros()), "out has another geometry")
    told(lambda: plan(x, steps=0), "steps is 0")
    told(lambda: plan.bind(x, x), "are one array")
    assert "each step" in plan.explain()
    plan.release()
    assert plan.released
    told(lambda: plan(x), "this stencil plan was released and cannot be used again")


def mistakes():
    """One rank makes a mistake: every rank is told."""
    geometry = weft.arrays.Geometry((8, 8))
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
    told(lambda: weft.arrays.Geometry((8, 0 if one else 8)), "axis 1 has no elements")
    if geometry.ranks > 1:
        told(lambda: geometry.polyshift(shifts=[(2 if one else 1, 0)]), "the ranks disagree")
        told(lambda: weft.arrays.Geometry((9 if one else 8, 8)), "the ranks disagree")
        told(lambda: geometry.zeros().gather(1 if one else 0), "the ranks disagree")
    plan = geometry.polyshift(shifts=[(1, 0)])
    x = geometry.zeros()
    told(lambda: plan(np.zeros((8, 8))), "expected a DistributedArray")
    told(lambda: plan(geometry.zeros("f4")), "is of float32, but the polyshift was made for float64")
    told(lambda: plan(geometry.zeros(halo=1)), "halo")
    told(lambda: plan(weft.arrays.Geometry((8, 9)).zeros()), "another geometry")
    told(plan.end, "has not begun")
    plan.begin(x)
    told(lambda: plan.begin(x), "has begun already")
    told(plan.release, "is under way")
    plan.end()
    plan.release()
    told(lambda: plan(x), "this polyshift was released and cannot be used again")


def lost():
    """A rank that fails while others wait for it."""
    geometry = weft.arrays.Geometry(64)
    fill = geometry.halo_exchange(halo=1)
    x = geometry.zeros(halo=1)
    for turn in range(3):
        if turn == 1 and geometry.rank == geometry.ranks - 1:
            raise RuntimeError("this rank has had enough")
        fill(x)


def killed():
    """A rank whose process is gone while others wait for its faces."""
    geometry = weft.arrays.Geometry(64)
    plan = geometry.stencil(weft.arrays.stencil({-1: 0.5, 1: 0.5}))
    x, y = geometry.zeros(halo=plan.halo), geometry.zeros(halo=plan.halo)
    for turn in range(1000):
        if turn == 3 and geometry.rank == geometry.ranks - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        plan(x, y)
        plan(y, x)


def interrupted():
    """A rank that is interrupted while MPI starts, of which Python hears once it has started."""
    from weft import _core
    from weft.distributed import ranks

    class Interrupted:
        @staticmethod
        def launched(*arguments):
            _core.Ranks.launched(*arguments)
            raise KeyboardInterrupt

    if int(os.environ["PMI_RANK"]) == 1:
        ranks._core = types.SimpleNamespace(**{**vars(_core), "Ranks": Interrupted})
    weft.arrays.Geometry(64).zeros().gather()


def mpi4py():
    """The communicator of a program that has started MPI itself."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2, -MPI.COMM_WORLD.rank)
    geometry = weft.arrays.Geometry((10, 6), comm=comm)
    assert (geometry.rank, geometry.ranks) == (comm.rank, comm.size)
    x = whole((10, 6), float, MPI.COMM_WORLD.rank % 2)
    result, *_ = geometry.polyshift(shifts=[(3, 0)])(geometry.distribute(x))
    assert np.array_equal(result.gather(None), shifted(x, 3, 0))
    assert comm.allreduce(1) == comm.size
    world = weft.arrays.Geometry((10, 6))
    assert world.ranks == MPI.COMM_WORLD.size
    together(MPI)


def together(mpi):
    """Arrays over one communicator, or over two of the same ranks in the same order, and over others."""
    comm = mpi.COMM_WORLD
    x, v = whole((10, 6), float, 3), whole((6,), float, 4)
    for other in (None, comm, comm.Dup()):
        a = weft.arrays.Geometry((10, 6), comm=comm).distribute(x)
        b = weft.arrays.Geometry((10, 6), comm=other).distribute(2 * x)
        row = weft.arrays.Geometry(6, comm=other).distribute(v)
        assert np.array_equal((b - a).gather(None), x)
        assert np.array_equal((a + row).gather(None), x + v)
        assert np.allclose((a @ row).gather(None), x @ v)
        assert np.array_equal(np.concatenate([a, b]).gather(None), np.concatenate([x, 2 * x]))
    backwards = weft.arrays.Geometry((10, 6), comm=comm.Split(0, -comm.rank)).distribute(x)
    with pytest.raises(UsageError, match="has another geometry"):
        a - backwards


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print(f"{sys.argv[1]}: ok", flush=True)
