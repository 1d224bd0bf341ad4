"""Grain: the formula, its inverse, and table 7's own figures."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.grain import SHARES, grain, grains, share

TIMES = st.floats(1e-15, 1e3)


@given(TIMES, TIMES, st.floats(1e-6, 1 - 1e-6))
def test_the_share_at_a_grain_is_the_share_asked_for(transfer, operation, wanted):
    assert share(transfer, operation, grain(transfer, operation, wanted)) == pytest.approx(wanted, rel=1e-9)


@given(TIMES, TIMES, st.floats(0.01, 0.98))
def test_a_smaller_share_needs_a_coarser_grain(transfer, operation, wanted):
    assert grain(transfer, operation, wanted) > grain(transfer, operation, wanted + 0.01)


@pytest.mark.parametrize(("arguments", "message"), [((0, 1, 0.5), "positive"), ((1, -1, 0.5), "positive")])
def test_times_are_positive(arguments, message):
    with pytest.raises(ValueError, match=message):
        grain(*arguments)


@pytest.mark.parametrize("wanted", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_is_between_0_and_1(wanted):
    with pytest.raises(ValueError, match="between 0 and 1"):
        grain(1.0, 1.0, wanted)


def made(hops=1):
    base = {"source": "published", "machine": "m", "ranks": 2, "repetition": 0}
    return pl.DataFrame(
        [
            {**base, "benchmark": "echo", "hops": hops, "bytes": 8, "seconds": 80e-6, "variant": None},
            {**base, "benchmark": "echo", "hops": hops + 1, "bytes": 8, "seconds": 90e-6, "variant": None},
            {**base, "benchmark": "arithmetic", "hops": None, "bytes": None, "seconds": 80e-9}
            | {"variant": "float64_multiply"},
        ],
        infer_schema_length=None,
    )


def test_one_half_is_the_papers_ratio_over_the_fewest_hops():
    found = grains(made())
    assert found["bytes"].to_list() == [8] * len(SHARES)
    assert found["operations"].to_list() == pytest.approx([1000, 4000, 19000])
    assert found["ratio"].to_list() == pytest.approx([1000] * 3)


def test_machines_without_operation_times_are_left_out():
    assert grains(made().filter(pl.col("benchmark") == "echo")).is_empty()
