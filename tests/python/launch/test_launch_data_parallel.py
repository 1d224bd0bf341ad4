"""Benchmarks of data-parallel machines: priced, never run, and told apart from those that run."""

import polars as pl
import pytest
from typer.testing import CliRunner

import weft
from weft.cli.main import app
from weft.launch import data_parallel, primitives
from weft.launch.protocol import Protocol


def test_every_group_is_priced_with_real_and_cm_time(native):
    found = weft.simulate("cm2-8k", list(primitives.GROUPS))
    assert found["benchmark"].unique(maintain_order=True).to_list() == list(primitives.GROUPS)
    assert (found["real_s"] >= found["cm_s"]).all()
    assert found["seconds"].equals(found["real_s"].alias("seconds"))
    keys = ["benchmark", "variant", "vp_ratio"]
    assert found.select(keys).n_unique() == found.height


def test_the_groups_hold_the_paper(native):
    """Every cell of tables 1 to 12 has its row."""
    from weft.papers import wushu1989

    found = weft.simulate("cm2-8k", list(primitives.GROUPS)).filter(pl.col("vp_ratio") == 1)
    cells = wushu1989.cells().filter(pl.col("table").is_between(1, 12) & (pl.col("operation") != "spread"))
    keys = ["operation", "pattern", "ratio", "hops"]
    assert cells.join(found, on=keys, how="anti", nulls_equal=True).is_empty()


def test_vp_ratios_are_asked_for(native):
    found = weft.simulate("cm2-8k", "news", vp_ratio="1:4")
    assert found["vp_ratio"].unique().sort().to_list() == [1, 2, 4]


@pytest.mark.parametrize(
    ("machine", "benchmark", "given", "message"),
    [
        ("cm200", "router", {}, "cm200 has no costs of data-parallel operations"),
        ("cm2-8k", "router", {"axes": 3}, "router takes no axes; on a described machine it takes vp_ratio"),
        (
            "cm2-8k",
            "pshift",
            {"vp_ratio": 2},
            "pshift takes no vp_ratio; on a described machine it takes axes, distance, extent, precision",
        ),
        ("cm2-8k", ["pshift", "news"], {}, "pshift has columns of its own: ask for it alone"),
        ("ipsc860", "echo", {"vp_ratio": 2}, "echo takes no vp_ratio; processor and front-end"),
    ],
)
def test_what_cannot_be_meant_is_said(native, machine, benchmark, given, message):
    with pytest.raises(weft.UsageError, match=message):
        weft.simulate(machine, benchmark, **given)


def test_they_are_listed_with_the_others(native):
    from weft.launch.request import every

    assert set(data_parallel.BENCHMARKS) <= set(every())


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["pshift", "--on", "cm200", "--axes", "2", "--extent", "2"], "PSHIFT CM"),
        (["processor", "--on", "cm2-8k"], "float_divide"),
        (["pshift", "--on", "cm200", "--axes", "2", "--extent", "4", "--distance", "9"], "4 shifts fall back"),
    ],
)
def test_they_are_shown(native, words, shown):
    result = CliRunner().invoke(app, ["measure", *words])
    assert result.exit_code == 0
    assert shown in result.output


def test_the_csv_has_the_columns_that_programs_read(native):
    words = ["measure", "pshift", "--on", "cm200", "--axes", "3", "--extent", "2,4,8,16", "--format", "csv"]
    result = CliRunner().invoke(app, words)
    lines = result.output.splitlines()
    wanted = "source,machine,benchmark,axes,extent,cshift_cm_s,pshift_cm_s,cshift_elapsed_s,pshift_elapsed_s"
    assert set(wanted.split(",")) <= set(lines[0].split(","))
    assert len(lines) == 5


def test_a_message_has_no_time_there(native):
    machine = weft.machine("cm200")
    for ask in (lambda: machine.message_time(8, 1), lambda: machine.self_time(8)):
        with pytest.raises(weft.UsageError, match="cm200 is a data-parallel machine: its nodes pass no messages"):
            ask()


def test_the_groups_are_measured_here_with_the_same_rows(native):
    """Two launches of two groups: the same columns as priced ones have, so that both are points of one table."""
    variants = ["add 16 bits", "float_divide 32 bits", "store", "multiple_broadcast clustering 3 allowed"]
    here = weft.measure(
        ["processor", "router"], variant=variants, protocol=Protocol(launches=2, budget=0), seconds_per_point=1e-6
    )
    there = weft.simulate("cm2-8k", ["processor", "router"]).filter(pl.col("variant").is_in(variants))
    assert here["source"].unique().to_list() == ["measured"]
    assert sorted(here["repetition"].unique()) == [0, 1]
    assert (here["cm_s"] > 0).all()
    assert here["seconds"].equals(here["real_s"].alias("seconds"))
    keys = [
        "benchmark",
        "variant",
        "ranks",
        "operation",
        "bits",
        "vp_ratio",
        "pattern",
        "ratio",
        "mode",
        "hops",
    ]
    points = [table.select(keys).unique().sort("variant") for table in (here, there)]
    assert points[0].equals(points[1])
    assert here.height == 2 * len(variants)


def test_every_operation_of_the_groups_can_be_run(native):
    """Each call, and the work in it, once, at the least number of virtual processors."""
    from weft.pvar import timing

    for group in primitives.GROUPS:
        for operation in primitives.operations(group, (1,)):
            for call in timing.prepared(operation):
                call()


@pytest.mark.parametrize("operator", ["add", "multiply", "float_add", "divide", "reduce_max", "scan_sum", "news_fetch"])
def test_the_work_is_that_of_the_call(native, operator):
    """What is timed as work computes what the call computes."""
    import numpy as np

    from weft.data_parallel import Operation
    from weft.pvar import timing

    call, work = timing.prepared(Operation(operator, 24 if operator in ("add", "multiply") else 32))
    result = call()
    assert np.array_equal(getattr(result, "data", result), work())


def test_pshift_is_not_measured_here(native):
    with pytest.raises(weft.UsageError, match="pshift is of data-parallel machines and nothing runs it here"):
        weft.measure("pshift")
    with pytest.raises(weft.UsageError, match="echo takes no vp_ratio; processor and front-end"):
        weft.measure("echo", vp_ratio=2)


def test_measured_primitives_are_shown_and_compared(native, tmp_path):
    file = tmp_path / "here.csv"
    words = ["measure", "virtual-processors", "--vp-ratio", "1,2", "--variant", "add", "--launches", "1"]
    result = CliRunner().invoke(app, [*words, "--seconds-per-point", "1e-6", "--budget", "0", "-o", str(file)])
    assert result.exit_code == 3, result.output
    assert "VP ratio" in result.output
    modelled = tmp_path / "cm2.csv"
    result = CliRunner().invoke(app, ["measure", "virtual-processors", "--on", "cm2-8k", "-o", str(modelled), "-q"])
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(app, ["compare", str(file), str(modelled)])
    assert result.exit_code == 0, result.output
    assert "÷ here" in result.output
