"""Medians over launches and their nonparametric intervals."""

from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.samples import SamplesError, coverage_words, median_interval, summarise
from weft.samples.dependence import inflation
from weft.samples.summary import QUANTILE


def launches(seconds: list[float], **changes: object) -> pl.DataFrame:
    row = {"source": "measured", "machine": "m", "benchmark": "echo", "ranks": 2, "hops": 1, "bytes": 8} | changes
    return pl.DataFrame([row | {"repetition": i, "seconds": s} for i, s in enumerate(seconds)])


@given(st.integers(20, 200), st.sampled_from([0.5, 0.8, 0.9, 0.95]), st.randoms(use_true_random=False))
def test_the_interval_of_independent_values_is_that_of_order_statistics(count, confidence, order) -> None:
    """Interpolated: between the last ranks that cover and the first that do not, but for what dependence seems."""
    values = list(range(1, count + 1))
    order.shuffle(values)
    found = median_interval(values, confidence)
    assert found.coverage == confidence
    assert found.low + found.high == pytest.approx(count + 1)
    away = NormalDist().inv_cdf(0.5 + confidence / 2) * 0.5 * count**0.5
    grown = (found.high - found.low) / 2 / (away * QUANTILE)
    assert grown == pytest.approx(min(inflation(np.array(values, float)) ** 0.5, (count - 1) / 2 / (away * QUANTILE)))
    assert grown >= 1.0 - 1e-12


def test_launches_that_follow_each_other_alike_make_it_wider() -> None:
    mixed = [1.0, 5.0, 2.0, 6.0, 3.0, 7.0, 4.0, 8.0] * 5
    drifting = sorted(mixed)
    assert median_interval(drifting).high - median_interval(drifting).low == 7.0
    assert median_interval(mixed).high - median_interval(mixed).low < 4.0


@given(st.lists(st.floats(1e-9, 1e9), min_size=4, max_size=40), st.floats(0.1, 10.0))
def test_dependence_knows_no_distribution(values, power) -> None:
    """Only ranks and which side of the median count, so that heavy tails say nothing of dependence."""
    ranked = np.unique(values, return_inverse=True)[1].ravel().astype(float)
    found = inflation(ranked)
    assert found >= 1.0
    assert inflation(ranked * power) == pytest.approx(found)
    odd = ranked[: len(ranked) - 1 + len(ranked) % 2]
    assert inflation(np.exp(odd / 10)) == pytest.approx(inflation(odd))


def test_values_that_do_not_differ_depend_on_nothing() -> None:
    assert inflation(np.ones(30)) == 1.0
    assert median_interval([2.0] * 30).half_width == 0.0


@pytest.mark.parametrize("count", [1, 2, 5])
def test_too_few_launches_give_their_range_and_say_so(count: int) -> None:
    row = summarise(launches([1.0 + 0.001 * i for i in range(count)])).row(0, named=True)
    assert (row["seconds_low"], row["seconds_high"]) == (1.0, 1.0 + 0.001 * (count - 1))
    assert row["converged"] is False
    assert row["note"].startswith(f"NOT CONVERGED: {count} launch")


def test_close_launches_converge_and_scattered_ones_do_not() -> None:
    close = summarise(launches([1.0, 1.01, 1.02, 1.0, 1.01] * 4)).row(0, named=True)
    assert close["converged"] is True
    assert close["note"] == ""
    assert close["coverage"] == 0.95
    scattered = summarise(launches([1.0, 1.3, 0.7, 1.3, 0.7, 1.0] * 4)).row(0, named=True)
    assert scattered["converged"] is False
    assert scattered["note"] == "NOT CONVERGED: half-width 30.0% of the median"


def test_few_launches_say_what_their_interval_is_worth() -> None:
    table = launches([1.0, 1.01, 1.02, 1.0, 1.01, 1.03])
    row = summarise(table).row(0, named=True)
    assert row["converged"] is False
    assert row["note"] == "NOT CONVERGED: 6 launches, whose interval is sure to cover the median with 74% only, not 95%"
    assert coverage_words(summarise(table)) == "≥74%"
    assert coverage_words(summarise(launches([1.0, 1.01] * 10))) == "95%"


def test_launches_are_in_the_order_of_their_numbers_whatever_that_of_the_rows() -> None:
    table = launches([1.0, 1.1, 1.2, 1.3] * 3 + [2.0, 2.1, 2.2, 2.3] * 3)
    mixed = table.sample(fraction=1.0, shuffle=True, seed=1)
    columns = ["seconds", "seconds_low", "seconds_high"]
    assert summarise(mixed).select(columns).equals(summarise(table).select(columns))


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


@pytest.mark.parametrize("benchmark", ["send-overhead", "receive-overhead"])
def test_what_a_processor_does_about_a_message_has_no_rate(benchmark: str) -> None:
    samples = weft.simulate("frontera", benchmark, bytes=8)
    assert samples["rate"].to_list() == [None]
    assert summarise(samples)["rate"].to_list() == [None]
