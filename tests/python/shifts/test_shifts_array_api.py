"""Arrays of other libraries: the strict reference of the array API always, JAX, CuPy and dask where present."""

import json
import os
import subprocess
import sys
import warnings

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shift_oracles import reference

import weft
from weft import UsageError
from weft.shifts import Shift

DTYPES = ["bool", "int8", "uint16", "int64", "float32", "float64", "complex128"]


@pytest.fixture
def jnp():
    """JAX's numpy, with 64-bit numbers."""
    jax = pytest.importorskip("jax", reason="no JAX: its arrays are not shifted here")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple),
    st.sampled_from(DTYPES),
    st.integers(-9, 9),
    st.data(),
)
@settings(max_examples=80, deadline=None)
def test_any_library_does_what_the_reference_does(shape, dtype, by, data):
    x = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7).astype(dtype)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    face = (np.arange(x.size // max(1, shape[axis])) % 3).astype(dtype)
    face = face.reshape(tuple(np.delete(shape, axis))) if shape[axis] else np.zeros(np.delete(shape, axis), dtype)
    other, other_face = strict.asarray(x), strict.asarray(face)
    boundaries = [(None, None), (1, 1), (face, other_face), (face, face)]
    for boundary, other_boundary in boundaries:
        plan = weft.arrays.polyshift(shape, dtype, [(by, axis, other_boundary)])
        if boundary is None:
            one = weft.arrays.cshift(other, by, axis)
        else:
            one = weft.arrays.eoshift(other, by, axis, boundary=other_boundary)
        for found in (one, plan(other)[0]):
            assert isinstance(found, type(other))
            assert found.dtype == other.dtype
            np.testing.assert_array_equal(np.asarray(found), reference(x, by, axis, boundary))


def test_arrays_of_several_sources_into_given_ones():
    x, y = strict.asarray(np.arange(4.0)), strict.asarray(np.arange(4.0, 8.0))
    plan = weft.arrays.polyshift(4, float, [(1, 0), Shift(-1, 0, 9, source=1)])
    out = [strict.zeros(4, dtype=strict.float64), strict.zeros(4, dtype=strict.float64)]
    found = plan(x, y, out=out)
    assert found[0] is out[0]
    np.testing.assert_array_equal(np.asarray(out[0]), [1, 2, 3, 0])
    np.testing.assert_array_equal(np.asarray(out[1]), [9, 4, 5, 6])


X = strict.asarray(np.arange(4.0))
WRONG = [
    (lambda plan: plan(strict.asarray(np.zeros(5))), "source 0 has shape (5,), expected (4,)"),
    (lambda plan: plan(strict.asarray(np.zeros(4, "f4"))), "source 0 has dtype float32, expected float64"),
    (lambda plan: plan(X, X), "the plan shifts 1 arrays, 2 were given"),
    (lambda plan: plan(X, out=[X, X]), "out has 2 arrays for 1 shifts"),
    (lambda plan: plan(X, out=[strict.asarray(np.zeros(5))]), "out[0] is float64 of shape (5,)"),
    (lambda plan: plan.bind(X), "source 0 is a Array: expected a numpy array"),
    (lambda plan: weft.arrays.eoshift(X, 1, 0, boundary=[1]), "boundary: expected a number or an array"),
    (lambda plan: weft.arrays.eoshift(X, 1, 0, boundary=np.zeros(3)), "boundary array has shape (3,), expected ()"),
    (lambda plan: weft.arrays.eoshift(X, 1, 0, boundary=np.zeros((), int)), "boundary array has dtype int64"),
    (lambda plan: weft.arrays.eoshift(X, 1, 0, boundary=1j), "boundary 1j does not fit dtype float64"),
    (
        lambda plan: weft.arrays.polyshift(4, float, [(1, 0, strict.asarray(1.0))])(np.zeros(4)),
        "arrays of different libraries in one call",
    ),
    (
        lambda plan: weft.arrays.polyshift(4, float, [(1, 0, strict.asarray(1.0))]).bind(np.zeros(4)),
        "only plans whose boundary arrays are numpy's can be bound",
    ),
]


@pytest.mark.parametrize(("call", "words"), WRONG)
def test_what_does_not_fit_is_said(call, words):
    with pytest.raises(UsageError) as caught:
        call(weft.arrays.polyshift(4, float, [(1, 0)]))
    assert words in str(caught.value)


def test_jax_compiles_shifts_and_plans(jnp):
    import jax

    x = np.random.default_rng(1).random((3, 4, 5))
    face = np.random.default_rng(2).random((3, 5))
    shifts = [(1, 0), (-2, 1, face), (1, 1, jnp.asarray(face)), (7, 2, 0.5), (3, 2)]
    plan = weft.arrays.polyshift(x.shape, x.dtype, shifts)
    for call in (plan, jax.jit(plan)):
        for found, (by, axis, *boundary) in zip(call(jnp.asarray(x)), shifts, strict=True):
            assert isinstance(found, jax.Array)
            np.testing.assert_array_equal(found, reference(x, by, axis, *map(np.asarray, boundary)))
    compiled = jax.jit(lambda y: weft.arrays.eoshift(weft.arrays.cshift(y, 1, 0), -1, 2, boundary=2.0))
    np.testing.assert_array_equal(compiled(jnp.asarray(x)), reference(reference(x, 1, 0), -1, 2, 2.0))


def test_jax_differentiates_shifts(jnp):
    import jax
    from jax.test_util import check_grads

    x, face = jnp.asarray(np.random.default_rng(1).random((3, 4))), jnp.asarray(np.arange(3.0))
    plan = weft.arrays.polyshift(x.shape, x.dtype, [(1, 0), (-1, 1), (2, 1, 1.0)])
    check_grads(lambda y: sum((n + 1) * (out**2).sum() for n, out in enumerate(plan(y))), (x,), order=2)
    check_grads(lambda y, b: (weft.arrays.eoshift(y, 1, 1, boundary=b) ** 2).sum(), (x, face), order=1)
    # The transpose of a circular shift is the opposite one.
    _, back = jax.vjp(lambda y: weft.arrays.cshift(y, 1, 0), x)
    np.testing.assert_array_equal(back(x)[0], np.roll(x, 1, 0))


def test_jax_arrays_cannot_be_written_and_distances_must_be_known(jnp):
    import jax

    x = jnp.arange(4.0)
    with pytest.raises(UsageError, match=r"out\[0\] cannot be written"):
        weft.arrays.cshift(x, 1, 0, out=jnp.zeros(4))
    with pytest.raises(UsageError, match="by must be an integer that is known now"):
        jax.jit(lambda by: weft.arrays.cshift(x, by, 0))(1)


SHARDED = """
import json, jax, numpy, weft
from jax.sharding import AxisType, NamedSharding, PartitionSpec
mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
sharding = NamedSharding(mesh, PartitionSpec("a", "b"))
x = numpy.arange(64, dtype="float32").reshape(8, 8)
plan = weft.arrays.polyshift(x.shape, x.dtype, [(1, 0), (-1, 1), (3, 1, 5)])
compiled = jax.jit(plan, out_shardings=(sharding,) * 3)
outputs = compiled(jax.device_put(x, sharding))
wanted = plan(x)
print(json.dumps([
    all(len(out.sharding.device_set) == 4 for out in outputs),
    all((numpy.asarray(out) == expected).all() for out, expected in zip(outputs, wanted)),
]))
"""


def test_jax_shards_plans_over_devices(jnp):
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    words = [sys.executable, "-c", SHARDED]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, True]


def test_cupy_arrays_stay_where_they_are():
    cupy = pytest.importorskip("cupy", reason="no CuPy: its arrays are not shifted here")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("no GPU for CuPy")
    x = np.arange(24.0).reshape(4, 6)
    out = [cupy.empty_like(cupy.asarray(x))] * 1
    plan = weft.arrays.polyshift(x.shape, x.dtype, [(1, 1, cupy.arange(4.0))])
    assert plan(cupy.asarray(x), out=out)[0] is out[0]
    np.testing.assert_array_equal(out[0].get(), reference(x, 1, 1, np.arange(4.0)))


def test_dask_arrays_stay_lazy():
    dask_array = pytest.importorskip("dask.array", reason="no dask: its arrays are not shifted here")
    x = np.arange(24.0).reshape(4, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lazy = dask_array.from_array(x, chunks=(2, 3))
        found = weft.arrays.cshift(lazy, 1, 1)
        assert isinstance(found, dask_array.Array)
        np.testing.assert_array_equal(found.compute(), np.roll(x, -1, 1))
