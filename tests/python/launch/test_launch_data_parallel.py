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


def test_pshift_is_measured_here_with_the_same_points(native):
    """The same arrays as on a described machine, so that both are points of one table; no CM time, which is a CM's."""
    asked = {"axes": (1, 2), "extent": (3, 4), "distance": 2, "precision": "single"}
    here = weft.measure("pshift", protocol=Protocol(launches=2, budget=0), seconds_per_point=1e-6, **asked)
    there = weft.simulate("cm200", "pshift", **asked)
    keys = ["benchmark", "axes", "extent", "shape", "variant", "distance", "precision", "shifts"]
    assert here.select(keys).unique().sort("shape").equals(there.select(keys).sort("shape"))
    assert here.height == 2 * there.height == 8
    assert (here["cshift_elapsed_s"] > 0).all()
    assert here["seconds"].equals(here["pshift_elapsed_s"].alias("seconds"))
    assert "cshift_cm_s" not in here.columns


def test_both_ways_of_a_measured_call_shift_alike(native):
    import numpy as np

    from weft.distributed import timing

    call = data_parallel.ShiftCall(axes=3, extent=4, distance=3, precision="double")
    for do, outs, x in timing.prepared(call, seed=1):
        do()
        for (axis, by), out in zip(call.shifts, outs, strict=True):
            assert np.array_equal(out, np.roll(x, -by, axis))


def test_what_pshift_cannot_be_asked_here(native):
    with pytest.raises(weft.UsageError, match="precision"):
        weft.measure("pshift", precision="half")
    with pytest.raises(weft.UsageError, match="echo takes no vp_ratio; processor and front-end"):
        weft.measure("echo", vp_ratio=2)


def test_measured_shifts_are_shown_and_stand_beside_the_paper(native, tmp_path):
    file = tmp_path / "here.csv"
    words = ["measure", "pshift", "--axes", "3", "--extent", "2,4", "--launches", "1", "--budget", "0"]
    result = CliRunner().invoke(app, [*words, "--seconds-per-point", "1e-6", "-o", str(file)])
    assert result.exit_code == 3, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert next(line for line in lines if line[:1] == ["array"])[:5] == ["array", "by", "CSHIFT", "PSHIFT", "95%"]
    assert [line[0] for line in lines if line and "±1" in line] == ["2x2x2", "4x4x4"]
    weft.simulate("cm200", "pshift", axes=3).write_csv(tmp_path / "cm200.csv")
    result = CliRunner().invoke(app, ["compare", str(file), str(tmp_path / "cm200.csv")])
    assert result.exit_code == 0, result.output
    assert "2x2x2" in result.output
    reproduced = weft.reproduce("george-1994", "3", here=weft.samples.read(file))
    cells = reproduced.tables[0].cells.filter(pl.col("kind") == "measured")
    assert cells["quantity"].to_list() == ["CSHIFT here"] * 2 + ["PSHIFT here"] * 2
    assert cells["length"].to_list() == [2, 4, 2, 4]
    assert cells["error"].null_count() == 4
    other = weft.simulate("cm200", "pshift", axes=3)
    with pytest.raises(weft.UsageError, match="no measured shifts of george-1994; make one with weft measure pshift"):
        weft.reproduce("george-1994", "3", here=other)


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
