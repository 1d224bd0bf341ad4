"""Dunigan's published figures, and the reproduction with a closed formula in the simulator's place."""

import io
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from weft.model import fit, fit_all
from weft.papers import PAPERS, PaperError, dunigan1991, reference_folder, render
from weft.papers.dunigan1991 import least_squares
from weft.papers.dunigan1991.inputs import floatmath_bounds
from weft.papers.scores import scores


def simulate(
    machine: str, benchmark: str, bytes: Sequence[int], hops: Sequence[int] | None, **parameters: Any
) -> pl.DataFrame:
    """A closed formula for every machine: 100 us + 10 us a hop + 0.5 us/B between nodes; traffic halves the speed."""
    if benchmark == "slalom":
        row = {"hops": None, "bytes": None, "seconds": 60.0, "rate": 1e6 * parameters["ranks"], "layout": "grid"}
        head = {"source": "simulated", "machine": machine, "benchmark": benchmark, "ranks": 64, "repetition": 0}
        return pl.DataFrame([head | row])
    if benchmark not in ("echo", "echo-self", "echo-host"):
        return traffic(machine, benchmark, bytes, **parameters)
    costs = {"echo": (100.0, 10.0, 0.5), "echo-self": (50.0, 0.0, 0.1), "echo-host": (1000.0, 0.0, 1.0)}
    startup, hop, byte = costs[benchmark]
    rows = [
        {"hops": h, "bytes": n, "seconds": (startup + hop * (h or 0) + byte * n) * 1e-6}
        for h in (hops if hops is not None else [0 if benchmark == "echo-self" else None])
        for n in bytes
    ]
    return pl.DataFrame(rows, schema_overrides={"hops": pl.Int64}).with_columns(
        source=pl.lit("simulated"), machine=pl.lit(machine), benchmark=pl.lit(benchmark), ranks=64, repetition=0
    )


def traffic(machine: str, benchmark: str, bytes: Sequence[int], **parameters: Any) -> pl.DataFrame:
    """Twice the time with the disturbance, as many rows as loads or neighbours."""
    loads = parameters.get("background_bytes") or parameters.get("neighbours") or (None,)
    name = "background_bytes" if "background_bytes" in parameters else "neighbours"
    rows = [
        {"bytes": n, name: load, "seconds": 2e-4, "quiet_seconds": 1e-4, "slowdown": 0.5, "rate": 1e6 * (load or 1)}
        for load in loads
        for n in bytes
    ]
    return pl.DataFrame(rows, schema_overrides={name: pl.Int64}).with_columns(
        source=pl.lit("simulated"), machine=pl.lit(machine), benchmark=pl.lit(benchmark), ranks=8, repetition=0,
        hops=pl.lit(None, pl.Int64),
    )  # fmt: skip


def describe(machine: str) -> dict[str, Any]:
    return {
        "topology": {"dimension": 6},
        "node": {"memory_bytes": 2048, "memory_available": {"value": 1024}},
        "facts": {"clock_rate": {"value": 8e6}, "nominal_data_rate": {"value": 8e6}},
    }


def operation_time(machine: str, operation: str) -> float | None:
    return {"float64_multiply": 2e-6, "float32_sum_of_products": 4e-6, "float64_sum_of_products": 4e-6}.get(operation)


def test_published_rates_are_one_way_times() -> None:
    rates = dunigan1991.data_rates()
    cells = rates.filter((pl.col("machine") == "ipsc860") & (pl.col("benchmark") == "echo") & (pl.col("bytes") == 8))
    assert cells["hops"].to_list() == [1, 2]
    assert cells["seconds"].to_list() == pytest.approx([80e-6, 8 / 94100], rel=1e-12)
    assert set(rates["machine"]) == set(dunigan1991.MACHINES)
    assert rates.filter(pl.col("benchmark") == "echo")["hops"].max() == 2
    assert rates.filter(pl.col("machine") == "ipsc1")["bytes"].max() == 1024


@pytest.mark.parametrize(
    ("machine", "shortest", "longest", "quantity"),
    [
        ("ipsc860", 0, None, "startup"),
        ("ipsc860", 0, 100, "startup_short"),
        ("ipsc2", 101, None, "startup"),
        ("ipsc2", 0, 100, "startup_short"),
        ("ncube3200", 0, None, "startup"),
    ],
)
def test_the_papers_procedure_gives_its_table_6(
    machine: str, shortest: int, longest: int | None, quantity: str
) -> None:
    rates = dunigan1991.data_rates().filter(pl.col("machine") == machine)
    startup, byte_time = least_squares(rates, shortest, longest)
    printed = dunigan1991.published("6").filter(pl.col("machine") == machine)
    figures = dict(printed.select("quantity", "value").iter_rows())
    assert startup * 1e6 == pytest.approx(figures[quantity], rel=0.01)
    if quantity == "startup":
        assert round(byte_time * 1e6, 1) == figures["byte_time"]


def test_the_slips_that_footnotes_name() -> None:
    rates = dunigan1991.data_rates()
    assert least_squares(rates.filter(pl.col("machine") == "ncube6400"))[0] == pytest.approx(156e-6, rel=0.002)
    startup, byte_time = least_squares(rates.filter(pl.col("machine") == "ipsc1"))
    assert (startup, byte_time) == (pytest.approx(1086.3e-6, rel=1e-4), pytest.approx(1.0e-6, rel=0.01))


def test_the_fit_of_the_published_rates_finds_protocols_and_switching() -> None:
    fits = fit_all(dunigan1991.data_rates())
    switching = {name: found.echo.switching for name, found in fits.items()}
    assert switching == {
        "ipsc860": "circuit",
        "ncube6400": "circuit",
        "ipsc2": "circuit",
        "ipsc1": "store-and-forward",
        "ncube3200": "store-and-forward",
    }
    short = {"ipsc860": 75.0, "ipsc2": 390.0, "ncube3200": 383.6, "ncube6400": 156.0}
    for name, startup in short.items():
        assert fits[name].startup.value * 1e6 == pytest.approx(startup, rel=0.02)
    assert fits["ipsc2"].echo.pieces[1].startup.value * 1e6 == pytest.approx(697.0, rel=0.01)
    assert fits["ncube3200"].byte_time.value * 1e6 == pytest.approx(2.6, rel=0.01)
    for name in ("ipsc860", "ipsc2"):
        assert fits[name].echo.pieces[0].last == 64, "the protocol changes at 100 bytes"
    hop = fits["ncube6400"].echo.pieces[0].hop_time
    assert hop is not None
    assert hop.value == pytest.approx(2e-6, rel=0.1), "about two microseconds a hop, section 4.1"


def test_known_protocol_limits_give_both_startups() -> None:
    rates = dunigan1991.data_rates().filter(pl.col("machine") == "ipsc2")
    found = fit(rates, breaks=[dunigan1991.SHORT])
    assert [p.startup.value * 1e6 for p in found.echo.pieces] == pytest.approx([390.0, 697.0], rel=0.01)


def test_tables_are_typed_as_printed() -> None:
    assert dunigan1991.published("1").height == 35
    assert dunigan1991.published("3").height == 60
    assert dunigan1991.operations()["seconds"].max() == pytest.approx(43e-6)
    assert dunigan1991.published("4").height == 24
    assert dunigan1991.published("5").height == 10
    seven = dunigan1991.published("7").pivot("quantity", index="machine", values="value")
    ratios = seven["transfer_8_bytes"] / seven["multiply_8_bytes"] / seven["communication_to_computation"]
    assert ratios.to_list() == pytest.approx([1.0] * 5, abs=0.015), "the paper computes its ratio from these two rows"
    with pytest.raises(
        PaperError, match="there is no table '2' of figures in dunigan-1991; there are 1, 3, 4, 5, 6, 7"
    ):
        dunigan1991.published("2")


def test_all_tables_side_by_side() -> None:
    found = dunigan1991.reproduce(simulate=simulate, operation_time=operation_time)
    numbers = tuple(table.number for table in found.tables if table.label == "Table")
    assert numbers == dunigan1991.TABLES
    six, seven, a1 = found.tables[4:7]

    def cell(table: pl.DataFrame, **where: object) -> dict[str, object]:
        return table.row(by_predicate=pl.all_horizontal(pl.col(k) == v for k, v in where.items()), named=True)

    startup = cell(six.cells, machine="ipsc860", quantity="startup")
    assert startup["published"] == 136.0
    assert startup["ours"] == pytest.approx(110.0)
    assert startup["error"] == pytest.approx(110 / 136 - 1)
    assert cell(six.cells, machine="ipsc2", quantity="startup_short")["ours"] == pytest.approx(110.0)
    assert cell(seven.cells, machine="ipsc1", quantity="transfer_8_bytes")["ours"] == pytest.approx(114.0)
    assert cell(seven.cells, machine="ipsc1", quantity="communication_to_computation")["ours"] == pytest.approx(57.0)
    assert cell(seven.cells, machine="ipsc1", quantity="megaflops")["ours"] == pytest.approx(0.25)
    near = cell(a1.cells, bytes=1024, path="2 hops")
    assert near["published"] == 1706.7
    assert near["ours"] == pytest.approx(1024 / 632e-6 / 1000)
    assert cell(a1.cells, bytes=8, path="host")["published"] == 2.4
    assert cell(a1.cells, bytes=8, path="self")["published"] == 400.0


def test_rates_over_more_than_two_hops_are_blind() -> None:
    for table in dunigan1991.reproduce("A", simulate=simulate).tables:
        far = table.cells.filter(pl.col("path").is_in(["3 hops", "4 hops", "5 hops", "6 hops"]))
        assert far.height == 44
        assert set(far["kind"]) == {"blind"}
        assert far["ours"].null_count() == 0
        assert far["error"].null_count() == (12 if table.number == "A4" else 0)
        assert set(table.cells.filter(~pl.col("path").is_in(far["path"].unique().implode()))["kind"]) == {"fitted"}
    long = dunigan1991.reproduce("A4", simulate=simulate).tables[0].cells.filter(pl.col("bytes") > 1024)
    assert long["published"].null_count() == long.height == 24


def test_the_summary_has_fitted_and_blind_rates_by_machine() -> None:
    summary = dunigan1991.reproduce("A", simulate=simulate).summary
    machines = ["iPSC/860", "nCUBE 6400", "iPSC/2", "iPSC/1", "nCUBE 3200", "all machines"]
    parts = ["1 and 2 hops (fitted)", "3 to 6 hops (blind)"]
    assert summary["of"].to_list() == [f"{machine}, {part}" for part in parts for machine in machines]
    assert summary["cells"].to_list() == [22, 22, 22, 16, 22, 104, 44, 44, 44, 32, 44, 208]
    cells = dunigan1991.reproduce("A5", simulate=simulate).tables[0].cells
    errors = cells.filter(pl.col("path").is_in(["1 hop", "2 hops"]))["error"].abs()
    assert summary.row(4, named=True)["median"] == pytest.approx(errors.median())
    assert summary.row(4, named=True)["worst"] == pytest.approx(errors.max())


def test_without_operation_times_the_rows_of_computation_stand_alone() -> None:
    table = dunigan1991.reproduce(7, simulate=simulate).tables[0]
    assert table.cells.filter(pl.col("quantity") == "megaflops")["ours"].null_count() == 5
    assert "No operation times were given" in table.footnotes[-1]


@pytest.mark.parametrize("number", ["2", "8", "A6", "x"])
def test_an_unknown_table_names_those_there_are(number: str) -> None:
    with pytest.raises(
        PaperError, match=f"table {number} of dunigan-1991 is not reproduced.*; there are 1 .* A1 iPSC/860"
    ):
        dunigan1991.reproduce(number, simulate=simulate)


def test_it_is_rendered_for_people() -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render(dunigan1991.reproduce(simulate=simulate, operation_time=operation_time)))
    text = console.export_text()
    assert "136/110 -19.1%" in text
    assert "Table A5. Data rates of the nCUBE 3200, kB/s" in text
    assert "/59.7" in text
    assert "1. Ours: plain least squares" in text
    assert "all machines" in text


def test_inputs_are_marked_and_do_not_count() -> None:
    found = dunigan1991.reproduce(table="3", simulate=simulate, operation_time=operation_time, describe=describe)
    assert set(found.tables[0].cells["kind"]) == {"input"}
    assert scores(found)["kind"].to_list() == ["input"]
    assert found.tables[0].cells.filter(pl.col("machine") == "vax780")["ours"].null_count() == 10
    seven = dunigan1991.reproduce("7", simulate=simulate, operation_time=operation_time)
    kinds = dict(seven.tables[0].cells.select("quantity", "kind").iter_rows())
    assert (kinds["megaflops"], kinds["data_rate"]) == ("input", "fitted")
    assert scores(seven).select("kind", "cells").rows() == [("fitted", 15), ("input", 10)]


def test_facts_are_read_from_machine_files() -> None:
    one, five = (dunigan1991.reproduce(n, simulate=simulate, describe=describe).tables[0].cells for n in (1, 5))
    ours = dict(one.filter(pl.col("machine") == "ipsc1").select("quantity", "ours").iter_rows())
    assert ours == {"nodes": 64.0, "clock_rate": 8.0, "nominal_data_rate": 8.0, "memory_per_node": 2.0}
    printed = dict(one.filter(pl.col("machine") == "ipsc860").select("quantity", "published").iter_rows())
    assert printed["memory_per_node"] == 8192.0
    assert five.filter(pl.col("quantity") == "available")["ours"].to_list() == [1.0] * 5


def test_table_4_is_not_derived() -> None:
    table = dunigan1991.reproduce(4, simulate=simulate, operation_time=operation_time).tables[0]
    assert table.cells["ours"].null_count() == 24
    assert "cannot be derived" in table.footnotes[0]
    assert "Only 7 operations a repetition" in table.footnotes[1]
    assert "ncube6400 1.25 to 2.69 s (1.3 s)" in table.footnotes[1]


def test_floatmath_is_bounded_by_operation_times() -> None:
    """Machines that are left out are within the bounds of the number that the others give."""
    published = dunigan1991.published("4").filter(pl.col("quantity") == "floatmath")
    seconds = dict(published.select("machine", "value").iter_rows())
    for left_out in (None, *(machine for machine in seconds if machine != "ipsc860")):
        operations, bounds = floatmath_bounds(without=left_out)
        assert operations == 7
        beyond = [machine for machine, (low, high) in bounds.items() if not low <= seconds[machine] <= high]
        assert beyond == ["ipsc860"]
    assert seconds["ipsc860"] > bounds["ipsc860"][1]


def test_the_text_in_numbers() -> None:
    cells = dunigan1991.reproduce("text", simulate=simulate, describe=describe).tables[0].cells

    def cell(quantity: str, machine: str) -> dict[str, Any]:
        row = cells.filter((pl.col("quantity") == quantity) & (pl.col("machine") == machine))
        return row.row(0, named=True)

    assert cell("hop_time_long", "ipsc860")["ours"] == pytest.approx(10.0)
    assert cell("hop_time_long", "ipsc860")["kind"] == "input"
    assert cell("share_of_peak_8192", "ipsc860")["ours"] == pytest.approx(8192 / 4206e-6 / 1e6)
    zero = cell("routing_compute_slowdown", "ipsc860")
    assert (zero["published"], zero["ours"], zero["error"]) == (0.0, 0.5, 0.5)
    assert cell("fan_in_bound", "ipsc860")["ours"] == pytest.approx(6000.0)
    rate = cell("slalom_rate", "ncube6400")
    assert (rate["published"], rate["ours"], rate["kind"]) == (15.6, 64.0, "predicted")


def test_figures_are_tables_of_ours() -> None:
    found = dunigan1991.reproduce(simulate=simulate, operation_time=operation_time).tables
    drawn = {table.number: table for table in found if table.label == "Figure"}
    assert list(drawn) == [str(number) for number in range(1, 10)]
    assert drawn["7"].cells["published"].null_count() == drawn["7"].cells.height == 55
    assert drawn["2"].cells.filter(pl.col("hops") == "6 hop")["published"].null_count() == 3
    assert drawn["6"].cells.filter(pl.col("machine") == "iPSC/1")["published"].drop_nulls().to_list() == [30.0]
    with pytest.raises(PaperError, match="figure 12 needs the benchmark cholesky, which this build"):
        dunigan1991.reproduce(figure=12, simulate=simulate)
    with pytest.raises(PaperError, match="has no figure 13; there are 1 to 12"):
        dunigan1991.reproduce(figure=13, simulate=simulate)


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_numbers_are_whole_at_every_width(width: int) -> None:
    found = dunigan1991.reproduce(simulate=simulate, operation_time=operation_time, describe=describe)
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(render(found))
    text = console.export_text()
    assert "…" not in text.split("Relative errors.")[0]
    assert max(map(len, text.splitlines())) <= width
    for cell in found.tables[-1].cells["ours"].drop_nulls()[:20]:
        assert f"{cell:.0f}" in text


def test_cells_are_tidy_rows() -> None:
    cells = dunigan1991.reproduce(simulate=simulate, operation_time=operation_time).cells()
    assert cells.columns[:2] == ["label", "number"]
    assert {"published", "ours", "error", "kind", "unit"} <= set(cells.columns)
    assert set(cells["label"]) == {"table", "figure"}


def test_papers_and_their_figures_are_found() -> None:
    assert PAPERS["dunigan-1991"] is dunigan1991
    assert (reference_folder("dunigan-1991") / "data-rates.csv").is_file()
    with pytest.raises(PaperError, match="the published figures of nobody-2000 are missing: there is no folder"):
        reference_folder("nobody-2000")
