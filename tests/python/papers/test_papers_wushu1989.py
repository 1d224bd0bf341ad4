"""The CM-2 study: the machine file is the fit, every cell is near, and measured times of programs are blind."""

import io
import json

import polars as pl
import pytest
from rich.console import Console

import weft
from weft._core import UsageError
from weft.data_parallel import Costs
from weft.launch import primitives
from weft.papers import PaperError, render, wushu1989
from weft.papers.wushu1989 import fitting, gauss
from weft.papers.wushu1989.published import named
from weft.study.reproducing import reproduce


@pytest.fixture
def costs(native):
    return Costs(weft.machine("cm2-8k"))


def errors(costs, first, last):
    table = wushu1989.cells().filter(~pl.col("slip") & pl.col("table").is_between(first, last))
    return abs(fitting.times(costs, table) / table["ms"].to_numpy() - 1.0)


def test_published_tables_are_whole():
    table = wushu1989.cells()
    by_table = dict(table.group_by("table").len().rows())
    assert sum(count for number, count in by_table.items() if 1 <= number <= 12) == 184
    assert by_table[14] == 36
    assert table["slip"].sum() == 5


def test_real_time_is_never_less_than_cm_time():
    table = wushu1989.cells().filter(~pl.col("slip") & (pl.col("table") > 0))
    keys = ["table", "operation", "pattern", "mode", "ratio", "hops", "grid", "vp_ratio"]
    both = table.pivot("time", index=keys, values="ms").drop_nulls("cm")
    assert (both["real"] >= both["cm"]).all()


def test_table_14_follows_from_its_operations():
    counts = dict(named("table-14-counts").rows())
    cells = wushu1989.cells().filter(pl.col("table") == 14)
    cells = cells.with_columns(pl.when(pl.col("ms") == 0.031).then(0.301).otherwise(pl.col("ms")).alias("ms"))
    for matrix, ratio, *printed in named("table-14-iteration").rows():
        for time, total in zip(("real", "cm"), printed, strict=True):
            part = cells.filter((pl.col("vp_ratio") == ratio) & (pl.col("time") == time))
            summed = sum(counts[name] * ms for name, ms in part.select("operation", "ms").rows())
            assert summed == pytest.approx(total, rel=1e-3), matrix


def test_every_cell_is_within_ten_percent_and_half_within_three(costs):
    found = errors(costs, 1, 12)
    assert len(found) == 180
    assert found.max() <= 0.10
    assert (found <= 0.03).mean() >= 0.5
    assert errors(costs, 14, 14).max() <= 0.10
    assert errors(costs, 0, 0).max() <= 0.10


def test_parameters_are_far_fewer_than_cells(native):
    parameters = len(fitting.figures())
    assert parameters == 59
    assert parameters - len(fitting.TABLE_14) == 54 < 180 / 3


def test_the_machine_file_is_the_fit(native):
    # From somewhere else: the search must come back.
    found, file = fitting.fit(start=1.1), fitting.figures()
    for name, figure in found.items():
        assert file[name] == pytest.approx(figure, rel=3e-3), name
    sources = json.loads(weft.machine("cm2-8k").to_json())["primitives"]
    assert all("Wu and Shu 1989" in sources[name]["source"] for name in found)


def test_the_router_foretells_ratios_that_it_was_not_fitted_to(native):
    found = fitting.router_left_out()["error"].abs()
    assert len(found) == 12
    assert found.median() < 0.10
    assert found.max() < 0.15


def test_the_walk_of_figure_11_counts_what_table_14_counts():
    counts = gauss.counts(63)
    assert {name: counts[name] for name in gauss.COUNTED} == dict(named("table-14-counts").rows())
    assert counts["abs"], counts["set"] == (2, 5)


def test_the_printed_estimate_is_met(costs):
    for matrix, iterations, real, cm in named("table-15-estimated").rows():
        n = int(matrix.split("x")[0])
        ours = gauss.elimination(costs, n, everything=False)
        assert iterations == n - 1
        assert ours.real == pytest.approx(real, rel=0.03)
        assert ours.cm == pytest.approx(cm, rel=0.03)
        whole = gauss.elimination(costs, n, everything=True)
        assert ours.real < whole.real < 1.2 * ours.real


def test_measured_times_of_the_elimination_are_blind(native):
    found = {table.number: table.cells for table in reproduce("wu-shu-1989").tables if table.label == "Table"}
    for number, column in (("13", "CM-2"), ("15", "measured real"), ("15", "measured cm")):
        part = found[number].filter(pl.col("column") == column)
        assert part.height == 3
        assert set(part["kind"]) == {"blind"}
        assert part["error"].null_count() == 0


def test_slips_are_printed_and_not_counted(native):
    cells = reproduce("wu-shu-1989", table="8").tables[0].cells
    at_300 = cells.filter(pl.col("ratio") == 300)
    assert at_300["published"].to_list() == [24.7, 23.1, 6.47, 5.47]
    assert at_300["error"].null_count() == 4


def test_tables_and_figures_are_there_and_printed(native):
    found = reproduce("wu-shu-1989")
    assert [t.number for t in found.tables if t.label == "Table"] == list(wushu1989.TABLES)
    assert [t.number for t in found.tables if t.label == "Figure"] == [str(n) for n in range(2, 11)]
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(render(found))
    text = console.export_text()
    assert "54 figures of the machine file were fitted to tables 1 to 12" in " ".join(text.split())
    assert "tables 1 to 12" in text


def test_figures_say_what_the_text_says(native):
    def series(number, name):
        (table,) = reproduce("wu-shu-1989", figure=number).tables
        part = table.cells.filter(pl.col("series") == name)
        return dict(part.select("VP ratio", "ours").rows())

    add, sums, collisions = series("7", "cm"), series("8", "cm"), series("9", "cm")
    # Below VP ratio n it takes less than n times as long, but with collisions more.
    assert add[8] < 8 * add[1]
    assert sums[8] < 2 * sums[1]
    assert collisions[8] > 8 * collisions[1]
    assert series("7", "real")[2] == series("7", "real")[1]


def test_unknown_tables_name_those_there_are(native):
    with pytest.raises(
        PaperError, match="figure 11 of wu-shu-1989 is not reproduced; figure 1 is a drawing and figure 11 a listing"
    ):
        reproduce("wu-shu-1989", figure="11")
    with pytest.raises(PaperError, match="table 16 of wu-shu-1989 is not reproduced; there are 1, 2, 3"):
        reproduce("wu-shu-1989", table="16")


def samples():
    """Of every operation of the paper: what cm2-8k takes, said to be measured."""
    return primitives.priced(weft.machine("cm2-8k"), list(primitives.GROUPS)).with_columns(
        pl.lit("measured").alias("source")
    )


def test_what_was_measured_here_has_columns_of_its_own(native):
    plain, found = reproduce("wu-shu-1989"), reproduce("wu-shu-1989", here=samples())
    for before, table in zip(plain.tables, found.tables, strict=True):
        head = table.columns[0]
        here = table.cells.filter(pl.col(head).str.ends_with(" here"))
        assert table.cells.filter(~pl.col(head).str.ends_with(" here")).equals(before.cells)
        if table.number in ("13", "15"):
            assert here.is_empty()
            continue
        # The machine that was measured is the modelled one: each cell is as the one beside it.
        beside = here.with_columns(pl.col(head).str.strip_suffix(" here")).select(*table.rows, head, "ours")
        both = beside.join(before.cells.select(*table.rows, head, model="ours"), on=[*table.rows, head])
        assert both.height >= here.height > 0, table.number
        assert (both["ours"] / both["model"] - 1).abs().max() < 1e-9
        assert here["published"].null_count() == here["error"].null_count() == here.height
    assert found.summary.equals(plain.summary)


def test_samples_of_other_things_are_refused(native):
    with pytest.raises(UsageError, match="no measured operation of wu-shu-1989; make one with weft measure processor"):
        reproduce("wu-shu-1989", here=samples().with_columns(pl.lit("predicted").alias("source")))
    with pytest.raises(
        UsageError,
        match="taki-1988 has no column for what was measured here; dunigan-1991, george-1994",
    ):
        reproduce("taki-1988", here=samples())
