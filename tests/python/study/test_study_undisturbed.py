"""What of a measurement counts as the machine's own."""

import itertools

import numpy as np
import polars as pl
import pytest

from weft.study.here import LONGEST, SHORTEST, lengths, undisturbed

KEY = {"benchmark": "echo", "ranks": 2, "hops": 1, "bytes": 8, "algorithm": None}


def launches(seconds) -> pl.DataFrame:
    """One row a launch, with a lower decile of half its median."""
    rows = [{**KEY, "repetition": i, "seconds": 2.0 * s, "seconds_p10": s} for i, s in enumerate(seconds)]
    return pl.DataFrame(rows, schema_overrides={"algorithm": pl.String})


def test_neither_lucky_nor_disturbed_launches_count():
    own = np.linspace(1.0, 1.01, 80)
    table = launches([0.6] * 12 + list(own) + [1.5] * 50 + [9.0] * 8)
    kept = undisturbed(table)["seconds"]
    assert set(kept) <= set(own)
    assert len(kept) >= 14
    assert kept.median() == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_of_a_few_launches_some_are_left(count):
    kept = undisturbed(launches(np.arange(1.0, count + 1.0)))["seconds"]
    assert kept.min() <= 2.0
    assert kept.max() <= max(2.0, count / 2)


def test_every_length_is_judged_by_itself():
    table = pl.concat([launches([1.0] * 10), launches([1000.0] * 10).with_columns(bytes=pl.lit(1024, pl.Int64))])
    assert undisturbed(table)["bytes"].unique().sort().to_list() == [8, 1024]


def test_what_has_no_lower_decile_counts_by_its_median():
    table = launches([1.0, 2.0]).with_columns(seconds_p10=pl.lit(None, pl.Float64))
    assert undisturbed(table)["seconds"].to_list()[0] == 2.0


def test_held_out_lengths_are_not_fitted():
    fitted, held_out = lengths()
    assert not set(fitted) & set(held_out)
    assert (min(fitted), max(fitted)) == (SHORTEST, LONGEST)
    assert held_out == tuple(3 * 2**k for k in range(2, 19))
    for one, following in itertools.pairwise(held_out):
        assert sum(one < n < following for n in fitted) == 3
