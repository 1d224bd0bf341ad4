"""The formula of Taki 1988: its parts are taken apart again from samples, and refused where they are not there."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import model
from weft.model import FitError

REDUCTIONS = 10_000_000


def samples(relative_time: float, runs: list[tuple[int, float, int]], of_one: float = 1000.0) -> pl.DataFrame:
    """Runs on so many PEs that lose just what the formula says, and one on one PE."""
    rows = []
    for ranks, work_rate, messages in [(1, 1.0, 0), *runs]:
        rate = model.performance(of_one * ranks, work_rate, messages / REDUCTIONS, relative_time)
        seconds = REDUCTIONS / rate
        rows.append(
            {
                "source": "simulated", "machine": "made", "benchmark": "fghc", "program": "p", "goal": f"g({messages})",
                "ranks": ranks, "pe": None, "hops": None, "bytes": None, "repetition": 0, "seconds": seconds,
                "rate": rate, "reductions": REDUCTIONS, "messages": messages, "work_s": work_rate * ranks * seconds,
            }
        )  # fmt: skip
    return pl.DataFrame(rows)


run = st.tuples(st.integers(2, 64), st.floats(0.1, 1.0), st.integers(1_000, REDUCTIONS))


@settings(deadline=None, max_examples=40)
@given(st.floats(0.01, 1000.0), st.lists(run, min_size=3, max_size=8))
def test_a_time_that_the_formula_made_is_found_again(relative_time, runs):
    found = model.rates(samples(relative_time, runs))
    assert found["relative_time"].to_list() == pytest.approx([relative_time] * len(runs), rel=1e-3)
    fit = model.fit_communication(found)
    assert fit.relative_time == pytest.approx(relative_time, rel=1e-3)
    assert fit.low <= fit.relative_time <= fit.high
    assert model.predicted(found, fit.relative_time)["error"].abs().max() < 1e-2


@settings(deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.01, 1000.0))
def test_at_the_largest_rate_the_share_is_left(share, relative_time):
    rate = model.largest_rate(share, relative_time)
    assert model.performance(1.0, 1.0, rate, relative_time) == pytest.approx(share)


def test_runs_are_left_out_in_turn():
    runs = [(ranks, 0.9, messages) for ranks in (2, 3, 4) for messages in (10_000, 100_000, 1_000_000)]
    found = model.rates(samples(12.0, runs))
    left = model.held_out(found)
    assert len(left) == len(found)
    assert left["error"].abs().max() < 1e-6


def test_what_is_missing_is_said():
    table = samples(10.0, [(2, 0.9, 1000)])
    with pytest.raises(FitError, match="p on made: no run on one PE"):
        model.rates(table.filter(pl.col("ranks") > 1))
    with pytest.raises(FitError, match="needs three runs with messages, found 1"):
        model.fit_communication(model.rates(table))
    with pytest.raises(ValueError, match="above 0 and below 1"):
        model.largest_rate(1.0, 10.0)
    with pytest.raises(ValueError, match="positive time"):
        model.largest_rate(0.5, 0.0)
