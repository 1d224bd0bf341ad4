"""Shifts and stencils within jax.shard_map: the whole array's, whatever it is divided among."""

import os
import subprocess
import sys

import numpy as np
import pytest

import weft

PROGRAM = """
import functools, itertools
import jax, jax.numpy as jnp, numpy as np, weft
from jax.sharding import Mesh, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
shard_map = getattr(jax, "shard_map", None) or __import__("jax.experimental.shard_map").experimental.shard_map.shard_map
assert len(jax.devices()) == 8
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("rows", "columns"))
line = Mesh(np.array(jax.devices()), ("rows",))
rng = np.random.default_rng(5)
x = rng.integers(-9, 10, (16, 6)).astype(float)
face = rng.integers(-9, 10, 6).astype(float)

def over(mesh, spec, function, *more, specs=()):
    mapped = shard_map(function, mesh=mesh, in_specs=(spec, *specs), out_specs=spec)
    return np.asarray(jax.jit(mapped)(jnp.asarray(x), *more))

for where, spec in ((mesh, P("rows", "columns")), (line, P("rows"))):
    for by in (*range(-9, 10), 16, -16, 15, 40, -33):
        ours = over(where, spec, lambda v: weft.arrays.cshift(v, by, 0, mesh_axis="rows"))
        np.testing.assert_array_equal(ours, weft.arrays.cshift(x, by, 0), str(by))
        ours = over(where, spec, lambda v: weft.arrays.eoshift(v, by, -2, 7, mesh_axis="rows"))
        np.testing.assert_array_equal(ours, weft.arrays.eoshift(x, by, 0, 7), str(by))
        with_face = lambda v, f: weft.arrays.eoshift(v, by, 0, f, mesh_axis="rows")
        ours = over(line, P("rows"), with_face, face, specs=(P(),))
        np.testing.assert_array_equal(ours, weft.arrays.eoshift(x, by, 0, face), str(by))

points = {(0, 0): 2.0, (1, 0): -1.0, (-2, 1): 0.5, (2, -1): 0.25, (0, 2): 3.0}
for boundary in itertools.product(("circular", 0, 1.5), repeat=2):
    s = weft.arrays.stencil(points, boundary=boundary)
    for where, spec, axes in (
        (mesh, P("rows", "columns"), {0: "rows", 1: "columns"}), (line, P("rows"), {0: "rows"}),
    ):
        ours = over(where, spec, functools.partial(s, steps=2, mesh_axes=axes))
        np.testing.assert_allclose(ours, s(x, steps=2), rtol=1e-14, err_msg=str(boundary))

s = weft.arrays.stencil(points, boundary=0)
w = rng.standard_normal(x.shape)
mapped = shard_map(lambda v: s(v, mesh_axes={0: "rows", 1: "columns"}), mesh=mesh, in_specs=(P("rows", "columns"),),
                   out_specs=P("rows", "columns"))
gradient = jax.grad(lambda v: jnp.vdot(w, mapped(v)))(jnp.asarray(x))
for place in [(0, 0), (3, 2), (4, 3), (15, 5)]:
    unit = np.zeros_like(x); unit[place] = 1
    np.testing.assert_allclose(gradient[place], np.vdot(w, s(unit)), rtol=1e-12)

def refused(function, message):
    try:
        over(line, P("rows"), function)
    except weft.UsageError as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)

refused(lambda v: weft.arrays.cshift(v, 1, 0, mesh_axis="planes"), "there is no mesh axis 'planes' here")
refused(lambda v: s(v, mesh_axes={2: "rows"}), "mesh_axes has an axis 2: the axes of the grid are 0 to 1")
far = weft.arrays.stencil({(5, 0): 1.0})
refused(lambda v: far(v, mesh_axes={0: "rows"}), "points reach 5 along axis 0, further than a shard of 2")
mirror = weft.arrays.stencil({(1, 0): 1.0}, boundary="reflect")
refused(lambda v: mirror(v, mesh_axes={0: "rows"}), "within jax.shard_map it is 'circular' or a number")
print("same")
"""


def test_shards_exchange_what_crosses():
    pytest.importorskip("jax", reason="jax is not installed")
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["same"]


def test_mesh_axes_are_for_jax():
    x = np.zeros((3, 3))
    with pytest.raises(weft.UsageError, match=r"mesh_axis is for arrays of JAX within jax.shard_map, not for ndarray"):
        weft.arrays.cshift(x, 1, 0, mesh_axis="rows")
    with pytest.raises(weft.UsageError, match=r"mesh_axes are for arrays of JAX within jax.shard_map, not for ndarray"):
        weft.arrays.stencil({(1, 0): 1.0})(x, mesh_axes={0: "rows"})
