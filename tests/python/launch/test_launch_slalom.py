"""SLALOM in virtual time and on this machine's MPI: its rule of a time, its rows, its refusals."""

import polars as pl
import pytest

import weft


def test_the_most_patches_within_a_time_are_found():
    within = weft.measure("slalom", on="ipsc860", ranks=4, within=2.0).row(0, named=True)
    assert within["seconds"] <= 2.0
    # A run by itself finds its file in no cache.
    own = weft.measure("slalom", on="ipsc860", ranks=4, extent=within["extent"])
    assert own["seconds"].item() == pytest.approx(within["seconds"], rel=0.05)
    more = weft.measure("slalom", on="ipsc860", ranks=4, extent=within["extent"] * 21 // 20)
    assert more["seconds"].item() > 2.0


def test_more_processors_do_more_patches():
    rates = [weft.measure("slalom", on="ncube6400", ranks=ranks, extent=200)["rate"].item() for ranks in (1, 4, 16)]
    assert rates == sorted(rates)


def test_a_time_that_allows_nothing_is_refused():
    with pytest.raises(
        weft.RunError, match="slalom within 0.000001 seconds: not even 6 patches can be done in that time"
    ):
        weft.measure("slalom", on="ipsc860", ranks=2, within=1e-6)


def test_the_row_says_what_ran():
    row = weft.measure("slalom", on="ipsc860", ranks=4, extent=40)
    assert row.select("extent", "precision", "rate_unit", "algorithm").row(0) == (40, "double", "flop/s", "binomial")
    assert isinstance(row, pl.DataFrame)
    # The count of the authors' program for 40 patches.
    assert row["rate"].item() * row["seconds"].item() == pytest.approx(415_323.0)
