"""Stencils on arrays of other libraries."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from shift_formulation import apply
from test_stencils_shifts import cases

import weft
from weft.stencils import elsewhere


@settings(max_examples=100, deadline=None)
@given(cases())
def test_the_standard_alone_gives_the_same_numbers(case):
    """The path for other libraries, run with numpy's own implementation of the standard."""
    points, boundary, x, site_rank = case
    if any(isinstance(c, complex) for c in points.values()) and x.dtype.kind != "c":
        return
    s = weft.arrays.stencil(points, boundary=boundary, site_rank=site_rank)
    expected = apply(points, apply(points, x, boundary, site_rank), boundary, site_rank)
    np.testing.assert_array_equal(elsewhere.apply(s, x, out=None, steps=2), expected)


def test_what_is_refused():
    s = weft.arrays.stencil({(0, 1): 1.0})
    with pytest.raises(weft.UsageError, match="out is for arrays of numpy and CuPy"):
        elsewhere.apply(s, np.zeros((2, 2)), out=np.zeros((2, 2)), steps=1)
    with pytest.raises(weft.UsageError, match="not in int64"):
        elsewhere.apply(s, np.zeros((2, 2), int), out=None, steps=1)
    with pytest.raises(weft.UsageError, match="this stencil needs 2"):
        elsewhere.apply(s, np.zeros(2), out=None, steps=1)
    array = weft.arrays.stencil({(1, 0): 1.0}, boundary=(np.zeros(3), 0))
    with pytest.raises(weft.UsageError, match=r"the boundary array of axis 0 has shape \(3,\); expected \(2,\)"):
        elsewhere.apply(array, np.zeros((2, 2)), out=None, steps=1)


UNDER_JAX = """
import jax, jax.numpy as jnp, numpy as np, weft
jax.config.update("jax_enable_x64", True)
x = np.random.default_rng(3).integers(-4, 5, (8, 12)).astype(float)
points = {(0, 0): 0.5, (1, 0): 2.0, (-1, 1): np.arange(12.0), (0, -1): -1.0}
s = weft.arrays.stencil(points, boundary=("circular", np.arange(8.0)))
expected = s(x, steps=2)
there = jnp.asarray(x)
assert isinstance(s(there), jax.Array)
np.testing.assert_allclose(s(there, steps=2), expected, rtol=1e-14)
np.testing.assert_allclose(jax.jit(lambda x: s(x, steps=2))(there), expected, rtol=1e-14)
linear = weft.arrays.stencil(points, boundary=("circular", 0))
w = np.random.default_rng(4).standard_normal(x.shape)
gradient = jax.grad(lambda x: jnp.vdot(w, linear(x)))(there)
for place in [(0, 0), (3, 11), (7, 4)]:
    unit = np.zeros_like(x); unit[place] = 1
    np.testing.assert_allclose(gradient[place], np.vdot(w, linear(unit)), rtol=1e-12)
by = jax.grad(lambda c: weft.arrays.stencil({(0, 1): c})(there).sum())(2.0)
np.testing.assert_allclose(by, x.sum())
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("rows",))
placed = jax.device_put(there, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("rows", None)))
result = jax.jit(linear)(placed)
assert len(jax.devices()) == 4 and len(result.sharding.device_set) == 4, result.sharding
np.testing.assert_allclose(result, linear(x), rtol=1e-14)
print("same")
"""


def test_jax_arrays_jitted_differentiated_and_sharded():
    pytest.importorskip("jax", reason="jax is not installed")
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", UNDER_JAX], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["same"]


def test_cupy_arrays():
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    x = cupy.arange(12.0).reshape(3, 4)
    s = weft.arrays.stencil({(0, 1): 1.0, (1, 0): 2.0}, boundary=0)
    np.testing.assert_array_equal(cupy.asnumpy(s(x)), s(cupy.asnumpy(x)))
