"""Medians over launches and their nonparametric intervals."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.samples import SamplesError, median_interval, summarise


def launches(seconds: list[float], **changes: object) -> pl.DataFrame:
    row = {"source": "measured", "machine": "m", "benchmark": "echo", "ranks": 2, "hops": 1, "bytes": 8} | changes
    return pl.DataFrame([row | {"repetition": i, "seconds": s} for i, s in enumerate(seconds)])


@given(st.integers(1, 60), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
def test_the_interval_is_the_narrowest_of_order_statistics_that_covers(count: int, confidence: float) -> None:
    found = median_interval(np.arange(1.0, count + 1.0), confidence)
    below = round(found.low) - 1

    def covers(j: int) -> float:
        return 1.0 - 2.0 * sum(math.comb(count, i) for i in range(j + 1)) / 2.0**count

    assert found.high == count - below
    assert found.coverage == pytest.approx(max(0.0, covers(below)))
    assert covers(below) >= confidence - 1e-12 or below == 0
    if below + 1 < (count + 1) // 2:
        assert covers(below + 1) < confidence


def test_the_interval_covers_a_skewed_distribution() -> None:
    generator = np.random.default_rng(1)
    draws = generator.lognormal(size=(2000, 10))
    inside = [i.low <= 1.0 <= i.high for i in map(median_interval, draws)]
    assert np.mean(inside) == pytest.approx(median_interval(draws[0]).coverage, abs=0.015)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_too_few_launches_give_their_range_and_say_so(count: int) -> None:
    row = summarise(launches([1.0 + 0.001 * i for i in range(count)])).row(0, named=True)
    assert (row["seconds_low"], row["seconds_high"]) == (1.0, 1.0 + 0.001 * (count - 1))
    assert row["converged"] is False
    assert row["note"].startswith(f"NOT CONVERGED: {count} launch")


def test_six_close_launches_converge_and_six_scattered_ones_do_not() -> None:
    close = summarise(launches([1.0, 1.01, 1.02, 1.0, 1.01, 1.03])).row(0, named=True)
    assert close["converged"] is True
    assert close["note"] == ""
    assert close["coverage"] == 1 - 2 / 64
    scattered = summarise(launches([1.0, 1.2, 0.8, 1.0, 1.3, 0.9])).row(0, named=True)
    assert scattered["converged"] is False
    assert scattered["note"] == "NOT CONVERGED: half-width 25.0% of the median"


def test_a_single_simulated_value_neither_converges_nor_fails_to() -> None:
    row = summarise(launches([1.0], source="simulated")).row(0, named=True)
    assert row["converged"] is None
    assert row["note"] == ""


def test_repetitions_of_a_launch_count_as_one() -> None:
    table = pl.concat([launches([1.0, 2.0, 9.0]), launches([4.0, 4.0, 4.0])]).with_columns(
        pl.Series("launch", [0, 0, 0, 1, 1, 1])
    )
    row = summarise(table).row(0, named=True)
    assert row["launches"] == 2
    assert row["seconds"] == 3.0


def test_parameters_set_groups_apart_and_rate_is_bytes_over_the_median() -> None:
    table = pl.concat([launches([1.0, 3.0]), launches([5.0], bytes=16), launches([7.0], hops=None)])
    found = summarise(table)
    assert found["seconds"].to_list() == [2.0, 5.0, 7.0]
    assert found["rate"].to_list() == [4.0, 3.2, 8 / 7]
    with pytest.raises(SamplesError, match="there is no column 'colour' to group by; the table has source, machine"):
        summarise(table, by=["colour"])
