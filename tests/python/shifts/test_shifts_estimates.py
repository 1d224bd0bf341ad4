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


@pytest.mark.parametrize("shape", [(1 << 20,), (1024, 512), (96, 40, 7), (3,), (1, 1), (5, 4, 3, 2)])
@pytest.mark.parametrize("nodes", [1, 8, NODES])
def test_nodes_of_a_layout_hold_the_array(shape, nodes):
    local = subgrid(shape, nodes)
    held = np.prod([extent * -(-whole // extent) for extent, whole in zip(local.extents, shape, strict=True)])
    assert held >= np.prod(shape)
    used = np.prod([-(-whole // extent) for extent, whole in zip(local.extents, shape, strict=True)])
    assert used <= nodes
