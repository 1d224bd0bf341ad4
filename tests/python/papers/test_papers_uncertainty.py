"""What rounding and other published figures leave open in the cells of a reproduction."""

import dataclasses
import itertools

import polars as pl
import pytest

from weft.papers import ReproducedTable, Reproduction
from weft.papers.reproduction import SUMMARY, with_error
from weft.papers.scores import scores
from weft.papers.uncertainty import ROUNDING, Uncertainty, rounding, straight_line
from weft.study.reproducing import reproduce


def cells(published, ours, units=None):
    names = [f"row {n}" for n in range(len(published))]
    table = {"row": names, "column": "a", "published": published, "ours": ours}
    return with_error(pl.DataFrame(table).with_columns(pl.Series("unit", units or ["s"] * len(published))), "fitted")


@pytest.mark.parametrize(
    ("published", "units", "row", "expected"),
    [
        ([0.1], ["s"], 0, 0.5),
        ([0.1, 0.25], ["s", "s"], 0, 0.05),
        ([0.1, 0.25], ["s", "ms"], 0, 0.5),
        ([200.0], ["us"], 0, 0.0025),
        ([-0.2], ["s"], 0, 0.25),
        ([1 / 3], ["1"], 0, None),
        ([0.0, 0.1], ["s", "s"], 0, None),
    ],
)
def test_half_a_unit_of_the_last_digit(published, units, row, expected):
    found = rounding(cells(published, published, units), row)
    assert (found and found.size) == (expected and pytest.approx(expected))
    assert found is None or found.why == ROUNDING


def least_worst(lengths, seconds, steps=400):
    """The least worst error of a line through two of many points near the times: no linear program."""

    def worst(a, b):
        return max(abs(a + b * n - t) / t for n, t in zip(lengths, seconds, strict=True))

    slopes = [abs(y - x) / (m - n) for (n, x), (m, y) in itertools.combinations(zip(lengths, seconds, strict=True), 2)]
    candidates = itertools.product(range(steps + 1), range(steps + 1))
    return min(worst(max(seconds) * i / steps, max(slopes) * j / steps) for i, j in candidates)


@pytest.mark.parametrize("seconds", [[1.0, 3.0, 3.0], [1.0, 2.0, 3.0], [5.0, 4.0, 1.0], [0.2, 0.9, 0.7]])
def test_no_straight_line_is_nearer(seconds):
    lengths = [1.0, 2.0, 4.0]
    bound = straight_line(lengths, seconds)
    assert bound <= least_worst(lengths, seconds) <= bound + 0.02


def test_a_line_of_bytes_and_microseconds_is_exact():
    lengths = [8.0, 1024.0, 8192.0]
    assert straight_line(lengths, [75e-6 + 0.4e-6 * n for n in lengths]) == pytest.approx(0.0, abs=1e-9)


def made(uncertainties):
    table = ReproducedTable("1", "Made", ("row",), ("column",), cells([0.1, 0.2], [0.11, 0.3]))
    table = dataclasses.replace(table, uncertainties=uncertainties)
    return Reproduction("made", "A. Author", (table,), pl.DataFrame(schema=SUMMARY), "")


def test_the_worst_cell_has_what_is_larger():
    columns = ("worst_at", "uncertainty", "uncertainty_of")
    assert scores(made({})).select(columns).row(0) == ("row 1, a", pytest.approx(0.25), ROUNDING)
    larger, smaller = Uncertainty(0.4, "table 2"), Uncertainty(0.1, "table 2")
    assert scores(made({("row 1", "a"): larger})).select(columns).row(0) == ("row 1, a", 0.4, "table 2")
    assert scores(made({("row 1", "a"): smaller}))["uncertainty_of"].item() == ROUNDING
    assert scores(made({("row 0", "a"): larger}))["uncertainty_of"].item() == ROUNDING


def test_elapsed_times_of_the_cm_200_exceed_what_the_paper_defines_them_as(native):
    """Section 6.1: 0.744 ms elapsed at 256, where the nodes work 0.571 ms and the front end less than 0.3 ms."""
    (table,) = reproduce("george-1994", "1").tables
    assert table.uncertainties["256", "CSHIFT elapsed"].size == pytest.approx(1 - 0.571 / 0.744)
    assert table.uncertainties["8192", "CSHIFT elapsed"].size < 0.001
    (table,) = reproduce("george-1994", "4").tables
    assert table.uncertainties["2x2x2x2", "CSHIFT elapsed"].size == pytest.approx(1 - 1.576 / 2.516)


def test_heads_of_uncertainties_are_heads_of_cells(native):
    """A misspelt head would say nothing, silently."""
    for paper in ("dunigan-1991", "george-1994"):
        for table in reproduce(paper).tables:
            heads = {tuple(map(str, row)) for row in table.cells.select(*table.rows, *table.columns).rows()}
            assert set(table.uncertainties) <= heads, table.name


def test_more_than_is_met_by_more(native):
    (table,) = reproduce("taki-1988", "text").tables
    row = table.cells.filter(pl.col("quantity").str.contains("more than")).row(0, named=True)
    assert row["ours"] > row["published"]
    assert row["error"] == 0.0
