"""Kernels for CUDA devices, by the calls that users make, on a stand-in for CuPy that runs them on the processor.

Arrays of JAX are those of its backend for processors, whose XLA calls the same function that launches kernels on a
device, with the stand-in's function in the place of `cuLaunchKernel`.
"""

import sys

import array_api_compat
import cupy_stand_in
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.cuda import launching, through_jax
from weft.cuda.staged_writer import Reach
from weft.cuda.stencil_source import Grid, Tuning, stencil_kernel, vector_width
from weft.shifts import on_device as shifts_on_device
from weft.stencils import on_device as stencils_on_device

jax.config.update("jax_enable_x64", True)

ENDS = ["circular", "antiperiodic", "reflect", "symmetric", 1.5, 0]


@pytest.fixture(autouse=True)
def cupy(monkeypatch):
    """CuPy's stand-in."""
    module = cupy_stand_in.module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "array_api_compat.cupy", module)
    monkeypatch.setattr(array_api_compat, "cupy", module, raising=False)
    monkeypatch.setattr(through_jax, "PLATFORM", "cpu")
    monkeypatch.setattr(through_jax, "PLATFORMS", ("cpu",))
    monkeypatch.setattr(through_jax, "_launcher", cupy_stand_in.launcher)
    kept = (launching.compiled, through_jax._can_launch, stencils_on_device._compiled, shifts_on_device._compiled)
    for cached in kept:
        cached.cache_clear()
    yield module
    for cached in kept:
        cached.cache_clear()


def whole(rng, shape, dtype):
    values = rng.integers(-8, 9, shape)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * rng.integers(-8, 9, shape)).astype(dtype)
    return values.astype(dtype)


@st.composite
def stencils(draw):
    """A stencil with an array that it is for: integers in floating point, so that sums are exact in any order."""
    rank = draw(st.integers(1, 4))
    extent = st.sampled_from([1, 2, 3, 4, 5, 8, 9, 17] if rank > 2 else [1, 3, 64, 70, 129, 256])
    grid = tuple(draw(extent) for _ in range(rank))
    batch, site = draw(st.sampled_from([(), (2,)])), draw(st.sampled_from([(), (), (3,)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(["float32", "float64", "complex64", "complex128"]))
    distance = st.one_of(st.just(0), st.integers(-5, 5))
    points = {}
    for _ in range(draw(st.integers(1, 7))):
        offset = tuple(draw(distance) for _ in range(rank))
        is_array = draw(st.integers(0, 4)) == 0
        points[offset] = rng.integers(-4, 5, draw(st.sampled_from([grid, grid[-1:]]))) if is_array else (
            draw(st.integers(-4, 4)) / 2
        )  # fmt: skip
    ends = [end for end in ENDS if dtype.startswith("float") or end != 1.5]
    boundary = tuple((draw(st.sampled_from(ends)), draw(st.sampled_from(ends))) for _ in range(rank))
    return weft.arrays.stencil(points, boundary=boundary, site_rank=len(site)), whole(rng, batch + grid + site, dtype)


@settings(max_examples=60, deadline=None)
@given(stencils(), st.integers(1, 3), st.booleans())
def test_stencils_are_those_of_numpy(case, steps, into):
    stencil, x = case
    ours = cupy_stand_in.ndarray(x)
    out = cupy_stand_in.filled(np.empty_like(x)) if into else None
    result = stencil(ours, out, steps=steps)
    assert isinstance(result, cupy_stand_in.ndarray)
    assert result is out or not into
    np.testing.assert_array_equal(result.host, stencil(x, steps=steps))


@settings(max_examples=40, deadline=None)
@given(stencils(), st.sampled_from([1, 2, 3, 8, 9, 12]))
def test_stencils_of_jax_are_those_of_numpy(case, steps):
    stencil, x = case
    kernels = stencils_on_device._compiled.cache_info()
    result = stencil(jnp.asarray(x), steps=steps)
    assert isinstance(result, jax.Array)
    assert sum(stencils_on_device._compiled.cache_info()[:2]) > sum(kernels[:2])
    # Of few steps all sums are exact.
    largest = 16.0 * sum(float(np.abs(value).max()) for value in stencil.points.values()) ** steps
    within = 0.0 if steps <= 3 else 64 * float(np.finfo(x.dtype).eps) * largest
    np.testing.assert_allclose(np.asarray(result), stencil(x, steps=steps), rtol=0, atol=within)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_plans_are_those_of_numpy(data):
    rank = data.draw(st.integers(1, 4))
    shape = tuple(data.draw(st.sampled_from([1, 2, 3, 8, 33])) for _ in range(rank))
    dtype = data.draw(st.sampled_from(["bool", "int8", "uint16", "float32", "float64", "complex128"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    sources = [whole(rng, shape, dtype) for _ in range(data.draw(st.integers(1, 2)))]
    shifts, elsewhere = [], []
    for _ in range(data.draw(st.integers(1, 5))):
        axis = data.draw(st.integers(0, rank - 1))
        by, number = data.draw(st.integers(-40, 40)), data.draw(st.integers(0, len(sources) - 1)) if shifts else 0
        face = np.asarray(whole(rng, shape[:axis] + shape[axis + 1 :], dtype))
        edge = data.draw(st.sampled_from([None, True, face]))
        shifts.append(weft.shifts.Shift(by, axis, edge, number))
        moved = cupy_stand_in.ndarray(face) if edge is face and data.draw(st.booleans()) else edge
        elsewhere.append(weft.shifts.Shift(by, axis, moved, number))
    used = 1 + max(shift.source for shift in shifts)
    expected = weft.arrays.polyshift(shape, dtype, shifts)(*sources[:used])
    arrays = [cupy_stand_in.ndarray(source) for source in sources[:used]]
    out = [cupy_stand_in.filled(np.empty(shape, dtype)) for _ in shifts]
    plan = weft.arrays.polyshift(shape, dtype, elsewhere)
    for results in (plan(*arrays), plan(*arrays, out=out)):
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result.host, wanted)
    of_jax = [
        weft.shifts.Shift(one.by, one.axis, jnp.asarray(one.boundary), one.source) if np.ndim(one.boundary) else one
        for one in shifts
    ]
    plan = weft.arrays.polyshift(shape, dtype, of_jax if data.draw(st.booleans()) else shifts)
    calls = shifts_on_device._compiled.cache_info()
    results = plan(*map(jnp.asarray, sources[:used]))
    assert sum(shifts_on_device._compiled.cache_info()[:2]) > sum(calls[:2])
    for result, wanted in zip(results, expected, strict=True):
        assert isinstance(result, jax.Array)
        np.testing.assert_array_equal(np.asarray(result), wanted)


def test_boundaries_of_zero_keep_their_sign():
    x = np.ones((4, 4))
    for zero in (0.0, -0.0):
        for array in (cupy_stand_in.ndarray(x), jnp.asarray(x)):
            shifted = weft.arrays.eoshift(array, 1, 0, zero)
            held = shifted.host if isinstance(shifted, cupy_stand_in.ndarray) else np.asarray(shifted)
            assert np.signbit(held[-1]).all() == np.signbit(zero)


def test_arrays_of_two_libraries_meet():
    x, factors = np.arange(64.0).reshape(8, 8), np.arange(8.0)
    expected = weft.arrays.stencil({(0, 1): factors, (1, 0): 0.5})(x)
    for held in (jnp.asarray(factors), cupy_stand_in.ndarray(factors)):
        heat = weft.arrays.stencil({(0, 1): held, (1, 0): 0.5})
        np.testing.assert_array_equal(heat(cupy_stand_in.ndarray(x)).host, expected)
    heat = weft.arrays.stencil({(0, 1): jnp.asarray(factors), (1, 0): 0.5})
    np.testing.assert_array_equal(np.asarray(heat(jnp.asarray(x))), expected)


def test_traced_arrays_of_jax_are_left_to_xla():
    heat = weft.arrays.stencil({(0, 1): 0.5, (1, 0): 2.0})
    x = np.arange(64.0).reshape(8, 8)
    kernels = stencils_on_device._compiled.cache_info().misses
    np.testing.assert_array_equal(np.asarray(jax.jit(heat)(jnp.asarray(x))), heat(x))
    assert stencils_on_device._compiled.cache_info().misses == kernels


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (np.zeros(6, np.int64), "a launch is described by one array of int64"),
        (np.zeros(8, np.int64), "a launch is described by one array of int64"),
        (np.zeros(10, np.int32), "a launch is described by one array of int64"),
        (np.array([0, 0, 1, 1, 1, 0, 0, 3, 0, 0]), "a parameter of the kernel is no argument, result or value"),
        (np.array([0, 0, 1, 1, 1, 0, 0, 0, 1, 0]), "a parameter of the kernel is no argument, result or value"),
        (np.array([0, 0, 1, 1, 1, 0, 0, 1, -1, 0]), "a parameter of the kernel is no argument, result or value"),
    ],
)
def test_launches_that_are_badly_described_are_refused(words, message):
    through_jax._register()
    x = jnp.zeros(4)
    call = jax.ffi.ffi_call(through_jax.TARGET, jax.ShapeDtypeStruct(x.shape, x.dtype))
    with pytest.raises(Exception, match=message):
        jax.block_until_ready(call(x, launch=words))


def test_a_launch_that_fails_is_an_error_of_jax():
    through_jax._register()
    x = jnp.zeros(4)
    call = jax.ffi.ffi_call(through_jax.TARGET, jax.ShapeDtypeStruct(x.shape, x.dtype))
    words = np.array([cupy_stand_in.refusing(), 0, 1, 1, 1, 0, 0, 0, 0, 0])
    with pytest.raises(Exception, match="cuLaunchKernel returned 7"):
        jax.block_until_ready(call(x, launch=words))


def test_an_output_that_is_also_read_is_written_last():
    x = np.arange(12.0).reshape(3, 4)
    ours = cupy_stand_in.ndarray(x.copy())
    weft.arrays.cshift(ours, 1, 0, out=ours)
    np.testing.assert_array_equal(ours.host, weft.arrays.cshift(x, 1, 0))
    heat = weft.arrays.stencil({(1, 0): 1.0, (0, 0): 2.0})
    ours = cupy_stand_in.ndarray(x.copy())
    heat(ours, ours, steps=2)
    np.testing.assert_array_equal(ours.host, heat(x, steps=2))


def test_arrays_that_are_not_in_c_order_or_not_aligned():
    x = np.arange(64 * 9, dtype="float32").reshape(64, 9)
    heat = weft.arrays.stencil({(1, 0): 1.0, (0, -1): 2.0}, boundary=0)
    for view in (x.T, x[:, 1:], x[::2], x[1:, :8]):
        np.testing.assert_array_equal(heat(cupy_stand_in.ndarray(view)).host, heat(view))
        np.testing.assert_array_equal(
            weft.arrays.cshift(cupy_stand_in.ndarray(view), 1, 1).host, weft.arrays.cshift(view, 1, 1)
        )


@settings(max_examples=60, deadline=None)
@given(stencils(), st.sampled_from([1, 2, 7, 1000]), st.data())
def test_any_division_into_blocks_gives_the_same(case, planes, data):
    stencil, x = case
    if x.dtype.kind == "c" or any(np.ndim(value) for value in stencil.points.values()):
        return
    first, last = x.ndim - stencil.rank - stencil.site_rank, x.ndim - stencil.site_rank
    grid = Grid(int(np.prod(x.shape[:first])), x.shape[first:last], int(np.prod(x.shape[last:])))
    tuning = Tuning(
        (data.draw(st.sampled_from([1, 4, 32])), data.draw(st.sampled_from([1, 3])) if stencil.rank > 1 else 1),
        vector_width(grid, x.itemsize, [0]) if data.draw(st.booleans()) else 1,
        rows=data.draw(st.integers(1, 4)) if stencil.rank > 1 else 1,
        ahead=data.draw(st.integers(0, 2)),
        sums=data.draw(st.booleans()),
        streaming=data.draw(st.booleans()),
        planes_first=data.draw(st.booleans()),
    )
    boundary = [weft.stencils.boundaries.both(one) for one in stencil.boundary]
    kernel = stencil_kernel(grid, x.dtype.name, stencil.points, boundary, tuning)
    out = np.full_like(x, np.nan)
    cupy_stand_in.launch(kernel.source, "stencil", kernel.blocks(planes), kernel.threads, [x, out, np.int32(planes)])
    np.testing.assert_array_equal(out, stencil(x))


@st.composite
def far_stencils(draw):
    """A stencil of three axes with an array of integers in floating point, some of it beyond tiles and ends."""
    grid = tuple(draw(st.sampled_from(extents)) for extents in ([1, 5, 18], [1, 4, 9, 33], [9, 16, 21, 40]))
    distance = st.one_of(st.just(0), st.just(0), st.integers(-5, 5))
    offsets = draw(st.lists(st.tuples(distance, distance, distance), min_size=1, max_size=9, unique=True))
    points = {offset: draw(st.integers(-4, 4)) / 2 for offset in offsets}
    boundary = tuple((draw(st.sampled_from(ENDS)), draw(st.sampled_from(ENDS))) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = whole(rng, draw(st.sampled_from([(), (2,)])) + grid, draw(st.sampled_from(["float32", "float64"])))
    return weft.arrays.stencil(points, boundary=boundary), x


@settings(max_examples=50, deadline=None)
@given(far_stencils(), st.sampled_from([1, 2, 7, 1000]), st.data())
def test_planes_staged_in_shared_memory_give_the_same(case, planes, data):
    stencil, x = case
    grid = Grid(x.size // int(np.prod(x.shape[-3:])), x.shape[-3:], 1)
    width = vector_width(grid, x.itemsize, [0]) if data.draw(st.booleans()) else 1
    tuning = Tuning(
        (data.draw(st.sampled_from([1, 4, 8])), data.draw(st.sampled_from([1, 3]))),
        width,
        rows=data.draw(st.integers(1, 3)),
        stages=Reach.of(stencil.points).planes + data.draw(st.integers(1, 4)),
    )
    boundary = [weft.stencils.boundaries.both(one) for one in stencil.boundary]
    kernel = stencil_kernel(grid, x.dtype.name, stencil.points, boundary, tuning)
    assert kernel.shared <= 227 << 10
    out = np.full_like(x, np.nan)
    cupy_stand_in.launch(kernel.source, "stencil", kernel.blocks(planes), kernel.threads, [x, out, np.int32(planes)])
    np.testing.assert_array_equal(out, stencil(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(33, 60, 64), (32, 61, 63)])
def test_stencils_that_reach_far_stage_planes_of_large_arrays(shape, dtype, cupy):
    star = {offset: 0.5 for axis in range(3) for offset in far(axis, 4)}
    stencil = weft.arrays.stencil(star, boundary=(("reflect", 1.5),) * 3)
    x = whole(np.random.default_rng(7), shape, dtype)
    launches = []
    kernel = cupy.RawKernel.__call__
    try:
        cupy.RawKernel.__call__ = lambda self, *given, **shared: (
            launches.append(shared),
            kernel(self, *given, **shared),
        )
        result = stencil(cupy_stand_in.ndarray(x))
    finally:
        cupy.RawKernel.__call__ = kernel
    (shared,) = launches
    assert shared["shared_mem"] > 48 << 10
    np.testing.assert_array_equal(result.host, stencil(x))
    np.testing.assert_array_equal(np.asarray(stencil(jnp.asarray(x))), stencil(x))


def far(axis, most):
    """The points along an axis up to so many elements away."""
    return [tuple(by if other == axis else 0 for other in range(3)) for by in range(-most, most + 1)]


def test_blocks_that_stage_planes_are_as_many_as_make_the_time_shortest():
    star = {offset: 0.5 for axis in range(3) for offset in far(axis, 4)}
    kernel = stencil_kernel(
        Grid(1, (512, 512, 512), 1), "float32", star, [(0.0, 0.0)] * 3, Tuning((32, 16), 2, rows=4, stages=9)
    )
    # 64 tiles: two blocks for each are at work at once on 132 multiprocessors, three would come in two turns.
    assert [kernel.planes(132), kernel.planes(64), kernel.planes(1)] == [256, 512, 512]
    assert kernel.shared == 9 * 72 * 72 * 4
    with pytest.raises(ValueError, match="a ring of 5 planes has none to copy to beside 5 in use"):
        stencil_kernel(kernel.grid, "float32", star, [(0.0, 0.0)] * 3, Tuning((32, 32), 2, stages=5))
    with pytest.raises(ValueError, match="planes of 9 by 4 elements are not staged"):
        stencil_kernel(Grid(1, (9, 9, 4), 1), "float32", star, [(0.0, 0.0)] * 3, Tuning((32, 32), 2, stages=9))


def test_planes_give_all_multiprocessors_work():
    points = {(1, 0, 0): 1.0, (-1, 0, 0): 1.0}
    tuning = Tuning((32, 8), 4, planes=12)
    kernel = stencil_kernel(Grid(1, (512, 512, 512), 1), "float32", points, [(0.0, 0.0)] * 3, tuning)
    assert kernel.planes(1056) == 12
    # As many blocks as that would leave multiprocessors idle.
    small = stencil_kernel(Grid(1, (64, 64, 64), 1), "float32", points, [(0.0, 0.0)] * 3, tuning)
    assert small.blocks(12) < 200 <= small.blocks(small.planes(200))


def test_what_has_no_kernel_is_left_to_the_library():
    from weft.stencils import on_device

    x = cupy_stand_in.ndarray(np.zeros((4, 4)))
    for points, boundary, array in [
        ({(0, 1): 1j}, 0, x),
        ({(0, 1): 1.0}, ("none", 0), x),
        ({(0, 1): 1.0}, (np.zeros(4), 0), x),
        ({(0, 1): 1.0}, (lambda i, j: i + j, 0), x),
        ({(0, 1): np.zeros(3)}, 0, x),
        ({(0, 1): 1.0}, 0, cupy_stand_in.ndarray(np.zeros((4, 4), "float16"))),
        ({(0, 1): 1.0}, 0, cupy_stand_in.ndarray(np.zeros((0, 4)))),
        ({(0, 1): 1.0}, 0, np.zeros((4, 4))),
    ]:
        stencil = weft.arrays.stencil(points, boundary=boundary)
        assert on_device.apply(stencil, array, out=None, steps=1) is None
