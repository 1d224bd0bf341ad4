"""Plans priced on the CM-200: published times come back, layouts and boundaries decide what is priced."""

import numpy as np
import polars as pl
import pytest

import weft
from weft.data_parallel.layout import subgrid
from weft.papers import george1994

NODES = 2048


def both(axes):
    return [(sign, axis) for axis in range(axes) for sign in (1, -1)]


@pytest.mark.parametrize(("length", "shape"), [(16, (16 * 64, 16 * 32)), (64, (64 * 64, 64 * 32))])
def test_the_papers_calls_take_what_it_printed(native, length, shape):
    found = weft.arrays.polyshift(shape, float, both(2)).estimate("cm200")
    printed = george1994.timings().row(by_predicate=(pl.col("rank") == 2) & (pl.col("length") == length), named=True)
    assert found.subgrid == (length, length)
    assert found.planned_cm_s == pytest.approx(printed["pshift_cm_ms"] / 1e3, rel=0.1)
    assert found.single_cm_s == pytest.approx(printed["cshift_cm_ms"] / 1e3, rel=0.1)
    assert f"subgrids of {length}x{length}" in str(found)


def test_a_shift_around_goes_the_shorter_way(native):
    shape = (1 << 15,)
    one, other = (weft.arrays.polyshift(shape, float, [(by, 0)]).estimate("cm200") for by in (-1, shape[0] - 1))
    assert one == other
    assert one.fallbacks == (None,)


def test_constants_go_with_the_exchanges_and_arrays_are_assigned_after(native):
    shape = (512, 1024)

    def seconds(*boundaries):
        shifts = [(1, axis, boundary) for axis, boundary in enumerate(boundaries)]
        return weft.arrays.polyshift(shape, float, shifts).estimate("cm200").planned_cm_s

    circular = seconds(None, None)
    assert seconds(0, 0) == seconds(1, 1) == seconds(None, 0) == circular
    assert seconds(0, 1) > circular
    assert seconds(2.5, None) > circular
    assert seconds(np.zeros(1024), None) == seconds(2.5, None)


def test_padded_axes_are_left_to_the_library(native):
    found = weft.arrays.polyshift((1000, 3), float, [(1, 0), (1, 1)]).estimate("cm200")
    assert "the axis is padded" in found.fallbacks
    assert "by the run-time library" in str(found)


def test_what_cannot_be_priced_is_said(native):
    plan = weft.arrays.polyshift(8, float, [(1, 0)])
    with pytest.raises(
        weft.UsageError, match=r"ipsc860 has no costs of shifts: its machine file has no table \[shifts\]"
    ):
        plan.estimate("ipsc860")
    with pytest.raises(weft.UsageError, match="nothing to shift"):
        weft.arrays.polyshift(0, float, [(1, 0)]).estimate("cm200")


def a_gpu(cache):
    """A machine that streams 10 bytes a nanosecond from memory and 100 from its cache, and starts a kernel in 3 us.

    What computing takes makes no difference to a shift.
    """
    keys = ("integer_time", "float32_time", "float64_time", "divide_time", "function_time", "scattered_time",
            "collision_time")  # fmt: skip
    figures = {
        "launch": 3e-6,
        "byte_time": 1e-10,
        "cache_byte_time": 1e-11,
        "cache_bytes": cache,
        **dict.fromkeys(keys, 1e-9),
        "result": 0,
    }
    lines = "".join(f"{key} = {value}\n" for key, value in figures.items())
    return weft.Machine.parse(
        'name = "gpu"\ntitle = "A GPU"\n[topology]\nkind = "crossbar"\nnodes = 1\nsource = "here"\n'
        f'[switching]\ntechnique = "cut-through"\nsource = "here"\n[parallel]\n{lines}source = "estimate: round"\n',
        "gpu.toml",
    )


def test_a_node_that_streams_reads_and_writes_every_array(native):
    """Two shifts of 1000 doubles move 32,000 bytes: 3.2 us from memory; three arrays fit 24,000 bytes of cache."""
    plan = weft.arrays.polyshift(1000, float, [(1, 0), (-1, 0)])
    memory, cache = plan.estimate(a_gpu(23_999)), plan.estimate(a_gpu(24_000))
    assert (memory.planned_s, memory.single_s) == pytest.approx((6.2e-6, 9.2e-6))
    assert (cache.planned_s, cache.single_s) == pytest.approx((3.32e-6, 6.32e-6))
    assert memory.subgrid == (1000,)
    assert memory.fallbacks == (None, None)
    assert np.isnan(memory.planned_cm_s)


@pytest.mark.parametrize("shape", [(1 << 20,), (1024, 512), (96, 40, 7), (3,), (1, 1), (5, 4, 3, 2)])
@pytest.mark.parametrize("nodes", [1, 8, NODES])
def test_nodes_of_a_layout_hold_the_array(shape, nodes):
    local = subgrid(shape, nodes)
    held = np.prod([extent * -(-whole // extent) for extent, whole in zip(local.extents, shape, strict=True)])
    assert held >= np.prod(shape)
    used = np.prod([-(-whole // extent) for extent, whole in zip(local.extents, shape, strict=True)])
    assert used <= nodes
