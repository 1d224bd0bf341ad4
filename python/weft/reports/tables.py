"""Tables of a report: cells as people read them."""

from __future__ import annotations

from typing import Any

import polars as pl

from weft import samples, units
from weft.model import Fit, grain
from weft.pages.document import Cell, Column, Row, Table
from weft.reports.content import Content, Subject
from weft.samples import PARAMETERS, coverage_words


def machines(content: Content) -> Table:
    """One row a subject: what messages cost, against what a multiplication costs (table 7 of Dunigan 1991)."""
    names = (
        "startup", "byte time", "rate of long messages", "half the rate at", "hop", "8-byte transfer",
        "8-byte multiply", "transfer ÷ multiply",
    )  # fmt: skip
    columns = [Column("machine", text=True, wrap=True), *(Column(name) for name in names)]
    subjects = [subject for subject in content.subjects if not subject.points("echo").is_empty()]
    rows = [_machine(subject, fit) for subject in subjects for fit in subject.estimates]
    return Table(columns, rows)


def _machine(subject: Subject, fit: Fit | None) -> Row:
    transfer, multiply = subject.transfer(fit=fit), subject.multiply
    ratio = transfer / multiply if transfer and multiply else None
    cells = [Cell(subject.named(fit))]
    if fit is None:
        cells += [Cell("–")] * 5
    else:
        hop, half = fit.echo.pieces[0].hop_time, fit.half_bandwidth
        rate = 1.0 / fit.byte_time.value if fit.byte_time.value else None
        cells += [
            Cell(units.seconds(fit.startup.value), _half(fit.startup.half_width), fit.startup.value),
            Cell(f"{units.seconds(fit.byte_time.value)}/B", _half(fit.byte_time.half_width), fit.byte_time.value),
            Cell(units.rate(rate), value=rate),
            Cell(half_words(half), value=half),
            Cell(units.seconds(hop.value if hop is not None else None), value=hop.value if hop is not None else None),
        ]
    cells += [
        Cell(units.seconds(transfer), value=transfer),
        Cell(_multiplications(multiply)),
        _counted(ratio),
    ]
    return Row(cells, subject.own)


def half_words(length: float | None) -> str:
    """The length with half the asymptotic rate: whole bytes, where it is as much as one."""
    if length is None:
        return "–"
    return units.length(round(length)) if length >= 1 else "below 1 B"


def _multiplications(seconds: float | None) -> str:
    """The time of one; their rate where the machine does many at once, so that the time of one means nothing."""
    if seconds is None or seconds >= _ONE_AT_A_TIME:
        return units.seconds(seconds)
    return f"{units.count(1e-9 / seconds)} a ns"


_ONE_AT_A_TIME = 0.1e-9
"""No processor multiplies one number by another in less time, s."""


def _counted(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell(units.count(value), value=value)


def grains(content: Content) -> Table | None:
    """Multiplications for each message at which communication takes 50%, 20% and 5% of the time."""
    rows = []
    for subject, fit in [(one, fit) for one in content.subjects for fit in one.estimates]:
        multiply = subject.multiply
        for length in grain.LENGTHS:
            transfer = subject.transfer(length, fit)
            if transfer is None or not multiply:
                continue
            counts = [_counted(grain.grain(transfer, multiply, share)) for share in grain.SHARES]
            cells = [Cell(subject.named(fit)), Cell(units.length(length), value=length), *counts]
            rows.append(Row(cells, subject.own))
    if not rows:
        return None
    names = [f"{share:.0%} of the time" for share in grain.SHARES]
    columns = [Column("machine", text=True), Column("message"), *(Column(name) for name in names)]
    return Table(columns, rows, title="Multiplications for each message at which messages take")


def node(subject: Subject) -> Table | None:
    """Every row of the node suite, folded where it was not measured."""
    if "variant" not in subject.summary.columns:
        return None
    summary = subject.summary.filter(pl.col("variant").is_not_null() & (pl.col("benchmark") != "dot_product"))
    if summary.is_empty():
        return None
    columns = [Column("benchmark", text=True), Column("row", text=True), Column("size"), Column("threads")]
    columns += [Column("time"), Column("half-width"), Column("rate")]
    rows = []
    for row in summary.iter_rows(named=True):
        extent = row.get("extent")
        size = units.length(row["bytes"]) if row["bytes"] is not None else "" if extent is None else f"{extent:,}"
        threads = row.get("threads")
        cells = [
            Cell(row["benchmark"]),
            Cell(row["variant"]),
            Cell(size),
            Cell("" if threads is None else str(threads)),
        ]
        cells += [
            Cell(units.seconds(row["seconds"])),
            Cell("" if row["converged"] is None else units.share(row["half_width"])),
            Cell(units.work_rate(row.get("rate"), row.get("rate_unit"))),
        ]
        rows.append(Row(cells, subject.own))
    title = f"One node of {subject.label}"
    return Table(columns, rows, title=title if subject.own else "", folded="" if subject.own else title)


def _half(width: float) -> str:
    """The half-width of an interval, where it says something."""
    return f"±{width:.0%}" if 0.005 <= width < 10.0 else ""


def pieces(subject: Subject, fit: Fit) -> Table:
    """The pieces of a fit, with intervals."""
    names = ("lengths", "startup", "byte time", "rate", "half the rate at")
    rows = [
        Row(
            [
                Cell(row["benchmark"]),
                Cell(f"{units.length(row['first'])} – {units.length(row['last'])}"),
                _estimate(row, "startup", ""),
                _estimate(row, "byte_time", "/B"),
                Cell(units.rate(1.0 / row["byte_time"] if row["byte_time"] else None)),
                Cell(half_words(row["half_bandwidth"]), value=row["half_bandwidth"]),
            ]
        )
        for row in fit.table().iter_rows(named=True)
    ]
    return Table(
        [Column("benchmark", text=True), *(Column(name) for name in names)],
        rows,
        title=f"{subject.label}: {fit.estimand_words}",
    )


def _estimate(row: dict[str, float | None], name: str, per: str) -> Cell:
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if value is None or low is None or high is None:
        return Cell("–")
    return Cell(f"{units.seconds(value)}{per}", f"{units.seconds(low)} – {units.seconds(high)}")


MAX_ROWS, MAX_OTHER_ROWS = 1000, 100
"""Of a table of points of what was measured, and of another machine; the file of samples has them all."""


def points(subject: Subject) -> Table:
    """Every point of a subject: median over launches with its interval."""
    summary = subject.summary
    optional = [
        name for name in PARAMETERS if name not in ("source", "machine", "benchmark") and name in summary.columns
    ]
    optional = [name for name in optional if summary[name].is_not_null().any()]
    has_intervals = bool((summary["launches"] > 1).any())
    columns = [Column("benchmark", text=True), *(Column(name) for name in optional), Column("median")]
    if has_intervals:
        columns += [Column(name) for name in (f"{coverage_words(summary)} interval", "half-width", "launches")]
    rows = []
    for row in summary.head(MAX_ROWS if subject.own else MAX_OTHER_ROWS).iter_rows(named=True):
        cells = [Cell(row["benchmark"]), *(_parameter(name, row[name]) for name in optional)]
        cells.append(Cell(units.seconds(row["seconds"]), value=row["seconds"]))
        if has_intervals:
            cells += _interval(row)
        rows.append(Row([*cells, Cell(units.work_rate(row.get("rate"), row.get("rate_unit")))]))
    columns.append(Column("rate"))
    shown = f"{len(rows)}" if len(summary) == len(rows) else f"the first {len(rows):,} of {len(summary):,}"
    return Table(columns, rows, folded=f"Every point of {subject.label} ({shown})")


def _parameter(name: str, value: Any) -> Cell:
    """A parameter of a point, as people write it."""
    if value is None:
        return Cell("")
    if name.endswith("bytes"):
        return Cell(units.length(value), value=value)
    return Cell(str(value))


def _interval(row: dict[str, Any]) -> list[Cell]:
    """The interval of a median over launches, and what it is worth."""
    loose = " not converged" if row["converged"] is False else ""
    return [
        Cell(f"{units.seconds(row['seconds_low'])} – {units.seconds(row['seconds_high'])}"),
        Cell(f"{units.share(row['half_width'])}{loose}", value=row["half_width"]),
        Cell(str(row["launches"])),
    ]


def conditions(subject: Subject) -> list[tuple[str, str]]:
    """Environment and protocol of a measured subject, from the columns its samples have."""
    table = subject.table
    facts = [(title, _distinct(table, name)) for name, title in _CONSTANTS if name in table.columns]
    launches = table["repetition"].n_unique()
    facts.append(("Launches", f"{launches}, each a process start of its own, lengths in random order"))
    if "time" in table.columns and table["time"].is_not_null().any():
        facts.append(("When", f"{table['time'].min()!s} to {table['time'].max()!s}"))
    if "load" in table.columns and table["load"].is_not_null().any():
        facts.append(("Load average", f"{_number(table, 'load', 'min'):.2f} to {_number(table, 'load', 'max'):.2f}"))
    if "stolen" in table.columns and table["stolen"].is_not_null().any():
        facts.append(
            ("Time stolen by the hypervisor", f"at most {units.share(_number(table, 'stolen', 'max'))} of a launch")
        )
    if "share_above_3x" in table.columns and table["share_above_3x"].is_not_null().any():
        worst = units.share(_number(table, "share_above_3x", "max"))
        facts.append(("Iterations above 3× the median", f"at most {worst} of a point; none was thrown away"))
    if "iterations" in table.columns and table["iterations"].is_not_null().any():
        low, high = _number(table, "iterations", "min"), _number(table, "iterations", "max")
        facts.append(("Timed iterations", f"{low:,.0f} to {high:,.0f} of a point and launch"))
    facts.append(("Points", str(samples.convergence(subject.summary))))
    return [(name, value) for name, value in facts if value]


_CONSTANTS = (
    ("host", "Host"), ("processor", "Processor"), ("cores", "Cores that may be used"), ("numa_nodes", "NUMA nodes"),
    ("system", "System"), ("library", "MPI library"),
)  # fmt: skip


def _distinct(table: pl.DataFrame, name: str) -> str:
    return "; ".join(str(value) for value in table[name].drop_nulls().unique(maintain_order=True))


def _number(table: pl.DataFrame, name: str, how: str) -> float:
    return float(str(getattr(table[name], how)()))
