"""Boundaries of each end over ranks: `boundary_program.py SCENARIO`; prints `SCENARIO: ok` where all is well."""

import gc
import importlib.util
import itertools
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import UsageError

sys.path.insert(0, str(Path(__file__).parents[1] / "stencils"))

import shift_formulation
from beyond import MAPS, apply, element
from test_stencils_boundaries import case, slope
from test_stencils_by_numpy import SEEDS, other_case
from update_cases import CASES

UNTOUCHED = -77


def end(generator, shape, axis):
    kind = generator.integers(0, 8)
    if kind < len(MAPS):
        return MAPS[kind]
    lines = shape[:axis] + shape[axis + 1 :]
    return ("keep", 9.0, slope, generator.integers(0, 99, lines).astype(float))[kind - len(MAPS)]


def expected_ghost(x, ends, index, outside_block, corners):
    """What a ghost holds; `outside_block` axes lie outside of the rank's block there."""
    if outside_block > 1 and corners == "none":
        return UNTOUCHED
    value = element(x, ends, index)
    return UNTOUCHED if value is None else value


def halos():
    """Every ghost of every block, against one element at a time."""
    for seed in range(40):
        generator = np.random.default_rng(seed)
        rank = int(generator.integers(1, 4))
        shape = tuple(map(int, generator.integers(1, (12, 7, 5)[rank - 1], rank)))
        halo = tuple((int(generator.integers(4)), int(generator.integers(4))) for _ in shape)
        ends = [tuple(end(generator, shape, axis) for _ in range(2)) for axis in range(rank)]
        corners = ("none", "at once", "staged")[seed % 3]
        x = generator.integers(1, 50, shape).astype(float)
        geometry = weft.arrays.Geometry(shape)
        a = geometry.distribute(x, halo=halo)
        own = a.local.copy()
        a.local_with_halo[...] = UNTOUCHED
        a.local[...] = own
        with geometry.halo_exchange(halo=halo, boundary=ends, corners=corners) as fill:
            fill(a)
            first = a.local_with_halo.copy()
            call = fill.bind(a)
            call.begin()
            call.end()
        assert np.array_equal(first, a.local_with_halo), seed
        if 0 in geometry.local_shape():
            continue
        for position in itertools.product(*map(range, a.local_with_halo.shape)):
            local = [p - before for p, (before, _) in zip(position, halo, strict=True)]
            outside = sum(not 0 <= i < n for i, n in zip(local, geometry.local_shape(), strict=True))
            index = [start + i for start, i in zip(geometry.start(), local, strict=True)]
            wanted = expected_ghost(x, ends, index, outside, corners)
            assert a.local_with_halo[position] == wanted, (seed, corners, shape, ends, index)


def stencils_by_numpy():
    """Types and axes that the kernels do not have."""
    for seed in range(SEEDS):
        points, boundary, x, site_rank = other_case(seed)
        stencil = weft.arrays.stencil(points, boundary=tuple(boundary), site_rank=site_rank)
        wanted = apply(points, x, boundary, site_rank)
        geometry = weft.arrays.Geometry(x.shape, serial=range(x.ndim - site_rank, x.ndim))
        result = stencil(geometry.distribute(x))
        assert result.dtype == x.dtype
        assert np.array_equal(result.gather(None), wanted), seed


def stencils():
    """Stencils with boundaries of each end, against the definition."""
    for seed in range(60):
        points, boundary, x, site_rank = case(seed)
        stencil = weft.arrays.stencil(points, boundary=tuple(boundary), site_rank=site_rank)
        wanted = apply(points, x, boundary, site_rank)
        sites = range(x.ndim - site_rank, x.ndim)
        geometry = weft.arrays.Geometry(x.shape, serial=list(sites))
        distributed = geometry.distribute(x)
        assert np.array_equal(stencil(distributed).gather(None), wanted), seed
        again = apply(points, wanted, boundary, site_rank)
        assert np.array_equal(stencil(distributed, steps=2).gather(None), again), seed
        with geometry.stencil(stencil, x.dtype) as plan:
            a, b = geometry.distribute(x, halo=plan.halo), geometry.zeros(x.dtype)
            plan.bind(a, b)()
            assert np.array_equal(b.gather(None), wanted), seed
            assert np.array_equal(plan(a, a).gather(None), wanted), seed
        many = np.stack([x, -x, 3 * x])
        geometry = weft.arrays.Geometry(many.shape, serial=[1 + axis for axis in sites])
        assert np.array_equal(stencil(geometry.distribute(many)).gather(None)[1], -wanted if linear(boundary) else
                              apply(points, -x, boundary, site_rank)), seed  # fmt: skip


def corners_of_eoshift():
    """Arrays beyond both ends, which points that reach beyond two ends find elsewhere than ghosts would have them."""
    for seed in range(60):
        generator = np.random.default_rng(seed)
        rank = int(generator.integers(2, 6))
        grid = tuple(map(int, generator.integers(1, (9, 6, 4, 3)[rank - 2], rank)))
        site = ((), (2,))[seed % 2]
        dtype = np.dtype(("f4", "f8", "c8", "i4", "i1", "f2", "G")[generator.integers(7)])

        def random(shape, dtype=dtype, generator=generator):
            values = generator.integers(-4, 5, shape)
            return (values + 1j * generator.integers(-4, 5, shape) if dtype.kind == "c" else values).astype(dtype)

        reach = 2 if seed % 3 else 9
        points = {tuple(map(int, generator.integers(-reach, reach + 1, rank))): random(()) for _ in range(3)}
        points[(1, *(0,) * (rank - 2), 1)] = random(grid) if seed % 5 == 0 else random(())
        faces = [random(grid[:axis] + grid[axis + 1 :] + site) for axis in range(rank)]
        boundary = [("circular", int(generator.integers(4)), face)[generator.integers(3)] for face in faces[:-1]]
        boundary.append(faces[-1])
        x = random(grid + site)
        stencil = weft.arrays.stencil(points, boundary=tuple(boundary), site_rank=len(site))
        many = np.stack([x, x[::-1]])
        geometry = weft.arrays.Geometry(many.shape, serial=range(1 + rank, many.ndim))
        a, b = geometry.distribute(many, halo=(0, 1, *(0,) * (many.ndim - 2))), geometry.distribute(many)
        by_loop = seed in (1, 5) and dtype != "G" and importlib.util.find_spec("numba") is not None
        update = weft.arrays.Update(lambda s, b: s - b, {"s": (stencil, "a")}, "b", compiled=by_loop)
        with geometry.stencil(stencil, dtype) as plan:
            bound = plan.bind(geometry.distribute(many, halo=plan.halo), geometry.zeros(dtype))
            bound()
            assert plan.explain()
            for _ in range(2):
                wanted = shift_formulation.apply(points, many, boundary, len(site))
                assert np.array_equal(stencil(a).gather(None), wanted), seed
                assert np.array_equal(plan(b, b).gather(None), wanted), seed
                b.local[...] = a.local
                update(a=a, b=b)
                assert np.array_equal(b.gather(None), wanted - many), seed
                again = shift_formulation.apply(points, wanted, boundary, len(site))
                assert np.array_equal(stencil(a, steps=2).gather(None), again), seed
                # Read at each call.
                faces[-1][...] = faces[-1][::-1].copy()
                b.local[...] = a.local
        with pytest.raises(UsageError, match="was released"):
            plan(a)


def plans_end_with_their_stencil():
    """No plan is left for a garbage collection, which may run on any thread: its exchanges belong to this one."""
    geometry = weft.arrays.Geometry((6, 5))
    x, rim = geometry.distribute(np.ones((6, 5), "f4")), np.ones(5, "f4")
    gc.collect()
    gc.disable()
    for end in ("circular", "reflect", (rim, "reflect"), rim, lambda i, j: i):
        for dtype in ("f4", "i4"):
            face = end if end is not rim or dtype == "f4" else rim.astype("i4")
            face = (rim.astype("i4"), "reflect") if isinstance(end, tuple) and dtype == "i4" else face
            stencil = weft.arrays.stencil({(1, 1): 1}, boundary=(face, 0))
            field = geometry.distribute(x.gather(None).astype(dtype))
            update = weft.arrays.Update(lambda s: s, {"s": (stencil, "a")}, "b")
            update(a=field, b=geometry.zeros(dtype))
            stencil(field)
            with geometry.stencil(stencil, dtype) as other:
                other(field)
            plans = [weakref.ref(plan) for plan in (*stencil._plans.values(), other)]
            kept = [weakref.ref(one) for sums in update._plans.values() for one in sums.values()]
            del stencil, update, other
            assert len(plans) == 2
            assert len(kept) == 1
            assert all(reference() is None for reference in plans + kept), (end, dtype)
    gc.enable()


def linear(boundary):
    """Whether nothing comes in that is no element of the array."""
    return all(isinstance(one, str) for pair in boundary for one in pair)


def distributed_coefficients():
    """Coefficients that lie on the ranks, changed between calls."""
    geometry = weft.arrays.Geometry((9, 5))
    x = np.random.default_rng(1).integers(-9, 9, (9, 5)).astype(float)
    c = geometry.distribute(np.arange(45.0).reshape(9, 5))
    stencil = weft.arrays.stencil({(1, 0): c, (0, -1): 2.0}, boundary="reflect")
    a = geometry.distribute(x)
    for _ in range(2):
        points = {(1, 0): c.gather(None), (0, -1): 2.0}
        assert np.array_equal(stencil(a).gather(None), apply(points, x, [("reflect", "reflect")] * 2))
        c.local[...] *= -3


def updates():
    """Coupled fields, with halos of their own or none."""
    compiled = (False, True) if importlib.util.find_spec("numba") else (False,)
    for make, halo, by in itertools.product(CASES, (0, 1, 2), compiled):
        update, fields, others, mask, results, reductions = make(by)
        geometry = weft.arrays.Geometry(next(iter(fields.values())).shape)
        arrays = {name: geometry.distribute(one, halo=halo) for name, one in fields.items()}
        actual = update(**arrays, **others, mask=mask)
        assert actual == reductions, (make.__name__, actual, reductions)
        for name, wanted in results.items():
            assert np.array_equal(arrays[name].gather(None), wanted), (make.__name__, halo)
    if len(compiled) > 1:
        undecided_updates()
    with pytest.raises(UsageError, match="y is a ndarray, x a DistributedArray"):
        weft.arrays.Update(lambda s: s, {"s": (weft.arrays.stencil({1: 1.0}), "x")}, "y")(
            x=weft.arrays.Geometry(5).zeros(), y=np.zeros(5)
        )


def undecided_updates():
    """What cannot be compiled is computed by numpy, of fields with the ghosts that a loop would read; types too."""
    x = np.random.default_rng(4).integers(-4, 5, (13, 9)).astype(float)
    stencil = weft.arrays.stencil({(1, 0): 2.0, (0, -1): 1.0, (1, 1): -1.0})
    sums = stencil(x)
    geometry = weft.arrays.Geometry(x.shape)
    for halo in (0, 1):
        a, b = geometry.distribute(x, halo=halo), geometry.zeros(halo=halo)
        update = weft.arrays.Update(lambda s: s if s.any() else -s, {"s": (stencil, "a")}, "b", compiled=True)
        with pytest.warns(UserWarning, match="the function cannot be compiled"):
            update(a=a, b=b)
        assert np.array_equal(b.gather(None), sums)
    for dtype in ("i4", "f4", "c16"):
        a, b = geometry.distribute(x.astype(dtype)), geometry.zeros(dtype)
        update = weft.arrays.Update(
            lambda s, a: (s * a, s * a), {"s": (stencil, "a")}, "b", {"t": "sum"}, compiled=True
        )
        assert update(a=a, b=b)["t"] == (sums * x).sum()
        assert np.array_equal(b.gather(None), (sums * x).astype(dtype))


def mistakes():
    """What cannot be meant, on one rank or on all."""
    geometry = weft.arrays.Geometry((8, 6))
    stencil = weft.arrays.stencil({(1, 0): 1.0}, boundary="reflect")
    cases = [
        (lambda: geometry.stencil(stencil, steps_per_exchange=2), "several steps per exchange are for boundaries that"),
        (lambda: geometry.stencil(stencil, halo=0), "a halo of .* is too narrow"),
        (lambda: geometry.halo_exchange(boundary="mirror"), "the boundary of axis 0 is 'mirror'; expected 'circular'"),
        (lambda: geometry.halo_exchange(boundary=[(1, 2, 3), 0]), "the boundary of axis 0 is a tuple of 3"),
        (
            lambda: geometry.halo_exchange("u1", boundary="antiperiodic"),
            "of the other sign, which elements of uint8 do",
        ),
        (lambda: geometry.halo_exchange(boundary=[(np.zeros(5), 0), 0]), r"has shape \(5,\); expected \(6,\)"),
        (lambda: weft.distributed.DistributedStencilPlan(geometry, stencil), "plan it with geometry.stencil"),
    ]
    for call, message in cases:
        with pytest.raises(UsageError, match=message):
            call()
    word = "reflect" if geometry.rank == 0 else "symmetric"
    if geometry.ranks > 1:
        with pytest.raises(UsageError, match="halo exchange"):
            geometry.halo_exchange(boundary=word)
    with geometry.stencil(stencil) as plan:
        pass
    with pytest.raises(UsageError, match="was released"):
        plan(geometry.zeros())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print(f"{sys.argv[1]}: ok", flush=True)
