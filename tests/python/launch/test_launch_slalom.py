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


def test_a_grid_sends_less_and_computes_twice_as_much():
    def seconds(ranks: int, layout: str) -> float:
        return weft.measure("slalom", on="ipsc860", ranks=ranks, extent=200, layout=layout)["seconds"].item()

    # On one rank the two differ in arithmetic alone: twice the elimination, and twice the form factors.
    assert seconds(1, "grid") == pytest.approx(2 * seconds(1, "columns"), rel=0.1)
    # On many, columns for all of them are the longer messages.
    assert seconds(64, "grid") < 0.75 * seconds(64, "columns")


def test_a_layout_that_there_is_not_is_refused():
    with pytest.raises(weft.UsageError, match="layout"):
        weft.measure("slalom", on="ipsc860", ranks=4, extent=40, layout="diagonal")


@pytest.mark.parametrize("layout", ["columns", "grid"])
def test_the_row_says_what_ran(layout):
    row = weft.measure("slalom", on="ipsc860", ranks=4, extent=40, layout=layout)
    names = ("extent", "precision", "rate_unit", "algorithm", "layout")
    assert row.select(names).row(0) == (40, "double", "flop/s", "binomial", layout)
    assert isinstance(row, pl.DataFrame)
    # The count of the authors' program for 40 patches.
    assert row["rate"].item() * row["seconds"].item() == pytest.approx(415_323.0)
