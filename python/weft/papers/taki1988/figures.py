"""Figures 4 to 6 and 8 to 11, for both programs and every machine."""

from __future__ import annotations

import polars as pl

from weft.papers.reproduction import Axes, ReproducedTable
from weft.papers.taki1988.published import HERE, PES, PROGRAMS, V1, V2, grain_name, grains
from weft.papers.taki1988.runs import Runs
from weft.papers.taki1988.tables import Cell, frame, kind

FIGURES = ("4", "5", "6", "8", "9", "10", "11")
"""Figures that have data: 1 to 3 and 7 are drawings."""
MACHINES = (V1, V2, HERE)

_NO_NUMBERS = "The figure's curves have no numbers in the text: ours stand alone."


def figure(number: str, runs: Runs) -> ReproducedTable:
    """One of `FIGURES`."""
    draw = {"4": _cpu_time, "5": _cpu_time_by_overhead, "6": _relative, "8": _performance, "9": _work_rate,
            "10": _communication_rate, "11": _losses}  # fmt: skip
    return draw[number](runs)


def _series(machine: str, program: int, grain: int) -> str:
    return f"{machine}, program {program}, {grain_name(program)} {grain}"


def _table(
    number: str, title: str, cells: list[Cell], columns: str, note: str, axes: Axes, points: pl.DataFrame | None = None
) -> ReproducedTable:
    table = frame(cells, "series", columns)
    notes = (note, _NO_NUMBERS)
    return ReproducedTable(number, title, ("series",), (columns,), table, notes, "Figure", axes, points, redraws=True)


_OF_THE_PAPER = f"{V1}, program 1"
"""What the paper's own figures 8 to 11 show; the tables have the other program and machines too."""


def _bars(cells: list[Cell], columns: str) -> pl.DataFrame:
    """Bars of what the paper's own figure shows."""
    return frame(cells, "series", columns).filter(pl.col("series").str.starts_with(_OF_THE_PAPER))


def _against(cells: list[Cell], x: str, names: tuple[str, ...]) -> pl.DataFrame:
    """Points of a figure whose table has the x axis among its values: one curve for each program, machine and name."""
    table = frame(cells, "series", "figure")
    runs = pl.col("series").str.replace(r", (depth|K) \d+$", "").alias("runs")
    across = table.filter(pl.col("figure") == x).select("series", pl.col("ours").alias("x"))
    wanted = table.filter(pl.col("figure").is_in(names)).join(across, on="series")
    return wanted.select(runs, "figure", "x", "published", "ours", "kind").sort("runs", "figure", "x")


def _by_count(cells: list[Cell]) -> pl.DataFrame:
    """Points of a figure over numbers of PEs, which head the columns of its table."""
    count = pl.col("PEs").str.extract(r"(\d+)").cast(pl.Int64).alias("x")
    drawn = frame(cells, "series", "PEs").filter(pl.col("series").str.starts_with(_OF_THE_PAPER))
    return drawn.select("series", count, "published", "ours", "kind").sort("series", "x")


def _cpu_time(runs: Runs) -> ReproducedTable:
    return _cpu("4", runs, "communication rate, messages a reduction", "communication_rate")


def _cpu_time_by_overhead(runs: Runs) -> ReproducedTable:
    return _cpu("5", runs, "communication overhead", "overhead")


def _cpu(number: str, runs: Runs, title: str, axis: str) -> ReproducedTable:
    """CPU time of a reduction with its share of the messages, in reductions, against the rate or the overhead."""
    cells: list[Cell] = []
    for machine, program in _all(runs):
        rates = runs.rates(machine, program)
        assert rates is not None
        of_one = runs.of_one(machine, program)
        assert of_one is not None
        for row in rates.filter(pl.col("ranks") == rates["ranks"].max()).iter_rows(named=True):
            series = _series(machine, program, row["grain"])
            whole = runs.whole(machine, program, row["ranks"], row["grain"])
            assert whole is not None
            cpu = whole["work_s"] / whole["reductions"] * of_one
            cells.append((series, axis.replace("_", " "), None, row[axis], "1", kind(machine)))
            cells.append((series, "reduction", None, 1.0, "reductions", kind(machine)))
            cells.append((series, "communication", None, cpu - 1.0, "reductions", kind(machine)))
            cells.append((series, "CPU time", None, cpu, "reductions", kind(machine)))
    note = "CPU time of all PEs a reduction, in reduction times of one PE; as many PEs as are run on the machine."
    x = axis.replace("_", " ")
    axes = Axes(title, "reductions", "x", ("runs", "figure"), log_x=True)
    points = _against(cells, x, ("CPU time",))
    return _table(number, f"CPU time against {title}", cells, "figure", note, axes, points)


def _relative(runs: Runs) -> ReproducedTable:
    """Relative performance against the overhead: the formula and the runs."""
    cells: list[Cell] = []
    for machine, program in _all(runs):
        rates, fit = runs.rates(machine, program), runs.fit(machine, program)
        assert rates is not None
        assert fit is not None
        for row in rates.filter(pl.col("ranks") == rates["ranks"].max()).iter_rows(named=True):
            series = _series(machine, program, row["grain"])
            x = row["communication_rate"] * fit.relative_time
            run = row["performance"] / (row["ideal"] * row["work_rate"])
            cells.append((series, "overhead X", None, x, "1", kind(machine)))
            cells.append((series, "1/(1+X)", None, 1.0 / (1.0 + x), "1", kind(machine)))
            cells.append((series, "run", None, run, "1", kind(machine)))
    note = "X: the run's communication rate times the fitted relative communication time of its program and machine."
    axes = Axes("communication overhead X", "relative performance", "x", ("runs", "figure"), log_x=True)
    points = _against(cells, "overhead X", ("1/(1+X)", "run"))
    return _table("6", "Relative performance against communication overhead", cells, "figure", note, axes, points)


def _performance(runs: Runs) -> ReproducedTable:
    cells: list[Cell] = []
    for machine, program in _all(runs):
        of_one = runs.of_one(machine, program)
        assert of_one is not None
        for pes in runs.pes(machine):
            name = f"{pes} PEs" if pes > 1 else "1 PE"
            cells.append(
                (f"{machine}, program {program}, ideal", name, None, of_one * pes, "reductions/s", kind(machine))
            )
        for grain in grains(program):
            for pes in runs.pes(machine):
                row = runs.whole(machine, program, pes, grain)
                assert row is not None
                name = f"{pes} PEs" if pes > 1 else "1 PE"
                cells.append((_series(machine, program, grain), name, None, row["rate"], "reductions/s", kind(machine)))
    note = (
        "Program 1 is figure 8; program 2 is ours. The text says that depth 2 is the best on 6 PEs (compared with "
        "ours in the "
        "table text)."
    )
    axes = Axes("PEs", "reductions/s", "x", ("series",), log_y=True)
    title = "System performance against the number of PEs, reductions/s"
    return _table("8", title, cells, "PEs", note, axes, _by_count(cells))


def _work_rate(runs: Runs) -> ReproducedTable:
    cells: list[Cell] = []
    for machine, program in _all(runs):
        pes = runs.pes(machine)[-1]
        for grain in grains(program):
            elements = runs.elements(machine, program, pes, grain)
            assert elements is not None
            shares = [row["work_s"] / row["seconds"] for row in elements.iter_rows(named=True)]
            series = _series(machine, program, grain)
            for pe, share in enumerate(shares):
                cells.append((series, f"PE {pe}", None, share, "1", kind(machine)))
            cells.append((series, "average", None, sum(shares) / len(shares), "1", kind(machine)))
    note = f"Work time over elapsed time on {PES[-1]} PEs, here on 2. Program 1 is figure 9."
    axes = Axes("PE", "work rate", "PE", ("series",), bars=True)
    return _table("9", "PE work rate and average work rate", cells, "PE", note, axes, _bars(cells, "PE"))


def _communication_rate(runs: Runs) -> ReproducedTable:
    cells: list[Cell] = []
    for machine, program in _all(runs):
        rates = runs.rates(machine, program)
        assert rates is not None
        for row in rates.iter_rows(named=True):
            series = _series(machine, program, row["grain"])
            cells.append(
                (series, f"{row['ranks']} PEs", None, row["communication_rate"], "messages a reduction", kind(machine))
            )
    note = (
        "Messages of all PEs over reductions of all PEs; the control of the run is not counted. Program 1 is figure 10."
    )
    axes = Axes("PEs", "messages a reduction", "x", ("series",), log_y=True)
    return _table("10", "Communication rate against the number of PEs", cells, "PEs", note, axes, _by_count(cells))


def _losses(runs: Runs) -> ReproducedTable:
    cells: list[Cell] = []
    for machine, program in _all(runs):
        rates = runs.rates(machine, program)
        assert rates is not None
        for row in rates.filter(pl.col("ranks") == rates["ranks"].max()).iter_rows(named=True):
            series = _series(machine, program, row["grain"])
            share = row["performance"] / row["ideal"]
            cells.append((series, "work rate", None, row["work_rate"], "1", kind(machine)))
            cells.append((series, "performance", None, share, "1", kind(machine)))
            cells.append((series, "lost by messages", None, row["work_rate"] - share, "1", kind(machine)))
    note = f"Upper and lower value of figure 11 on {PES[-1]} PEs, here on 2. Program 1 is figure 11."
    axes = Axes("run", "of the ideal performance", "series", ("value",), bars=True)
    title = "Relative performance based on ideal performance"
    return _table("11", title, cells, "value", note, axes, _bars(cells, "value"))


def _all(runs: Runs) -> list[tuple[str, int]]:
    """Machines with their programs, as far as they are run."""
    return [(machine, program) for machine in MACHINES for program in PROGRAMS if runs.of_one(machine, program)]
