"""Tables of communication: the coefficients of table 6, the summary of table 7, the data rates of appendix A."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from weft.papers.dunigan1991.published import (
    FITTED_HOPS,
    HOPS,
    KB,
    MACHINES,
    SHORT,
    data_rates,
    printed_rates,
    published,
)
from weft.papers.dunigan1991.runs import Runs
from weft.papers.reproduction import BLIND, FITTED, INPUT, OperationTime, PaperError, ReproducedTable, with_error
from weft.papers.uncertainty import Uncertainties, Uncertainty, straight_line


def least_squares(echo: pl.DataFrame, shortest: int = 0, longest: int | None = None) -> tuple[float, float]:
    """Startup and byte time as the paper fits them: plain least squares over one-hop echo data (section 4.1, table 6).

    Plain least squares weigh a microsecond of a long message as much as one of a short message, so a startup can be far
    from the time of a short message; `weft.model.fit` minimises relative errors instead.

    Parameters
    ----------
    echo
        Samples of one machine; those of `echo` over 1 hop are used.
    shortest, longest
        Lengths to use, in bytes.

    Returns
    -------
    tuple of float
        Seconds and seconds a byte.
    """
    last = longest if longest is not None else 2**62
    used = echo.filter(
        (pl.col("benchmark") == "echo") & (pl.col("hops") == 1) & pl.col("bytes").is_between(shortest, last)
    )
    lengths, seconds = used["bytes"].to_numpy().astype(float), used["seconds"].to_numpy()
    if len(np.unique(lengths)) < 2:
        raise PaperError(f"least squares need one-hop echo samples of at least two lengths from {shortest} bytes on")
    byte_time, startup = np.polyfit(lengths, seconds, 1)
    return float(startup), float(byte_time)


APPENDIX = {name: MACHINES[name] for name in ("ipsc860", "ncube6400", "ipsc2", "ipsc1", "ncube3200")}
"""The machines in the order of appendix A."""


def table_6(runs: Runs) -> ReproducedTable:
    """Least-squares estimates of the communication coefficients."""
    ours: list[tuple[str, str, float]] = []
    for machine in MACHINES:
        echo = runs.echo(machine)
        # What the printed figures follow: all lengths but for the iPSC/2, whose 697 is that of lengths above 100 bytes.
        startup, byte_time = least_squares(echo, SHORT + 1 if machine == "ipsc2" else 0)
        ours += [(machine, "startup", startup * 1e6), (machine, "byte_time", byte_time * 1e6)]
        if machine in ("ipsc860", "ipsc2"):
            ours.append((machine, "startup_short", least_squares(echo, 0, SHORT)[0] * 1e6))
    return ReproducedTable(
        "6",
        "Least-squares estimate of communication coefficients (startup_short: up to 100 bytes)",
        ("quantity", "unit"),
        ("machine",),
        joined(published("6"), ours),
        uncertainties=_startups(),
        footnotes=(
            "Ours: plain least squares over our simulated one-hop echo of 8 to 8192 bytes, as in the paper; "
            "the iPSC/2 above 100 bytes alone, which is what its printed 697 follows, the others over all lengths.",
            "nCUBE 6400: the printed startup of 200 does not follow from the paper's own data rates, which give 156 "
            "(8 bytes take 161, table 7).",
            "iPSC/1: 862.2 and 1.8 follow from rates above 1024 bytes, which this copy does not have; up to 1024 bytes "
            "the published rates give 1086.3 and 1.0.",
            "Byte times are printed with one decimal: 0.4 may be anything from 0.35 to 0.45, an error of up to 14%.",
        ),
    )


_MEGAFLOP_NOTE = (
    "Megaflops, ours: one over the time of an operation in a sum of REAL*8 products (table 3), of REAL*4 products for "
    "the iPSC/2 and nCUBE 6400, as the paper's; the nCUBE 3200's 0.14 follows from neither row (0.09, 0.13; section "
    "3.1 says 0.12)."
)


def _startups() -> Uncertainties:
    """How far printed startups are from least squares through the printed rates, by the heads of table 6's cells."""
    rates, known = data_rates(), {(m, q): v for m, q, v, _ in published("6").rows()}
    uncertain: Uncertainties = {}
    for machine in MACHINES:
        mine = rates.filter(pl.col("machine") == machine)
        startup = least_squares(mine, SHORT + 1 if machine == "ipsc2" else 0)[0] * 1e6
        error = abs(startup / known[machine, "startup"] - 1)
        uncertain["startup", "us", machine] = Uncertainty(error, "least squares through the paper's own data rates")
    return uncertain


SINGLE = ("ipsc2", "ncube6400")
"""Machines whose megaflops of table 7 are those of REAL*4 in table 3: 0.29 and 2.5 are one over 3.4 and 0.4 us."""


def table_7(runs: Runs, operation_time: OperationTime | None) -> ReproducedTable:
    """Summary of the five machines."""
    ours: list[tuple[str, str, float]] = []
    for machine in MACHINES:
        seconds = dict(runs.echo(machine).filter(pl.col("hops") == 1).select("bytes", "seconds").iter_rows())
        transfer = seconds[8]
        ours += [(machine, "data_rate", 8192 / seconds[8192] / KB), (machine, "transfer_8_bytes", transfer * 1e6)]
        multiply = operation_time(machine, "float64_multiply") if operation_time is not None else None
        real = "float32" if machine in SINGLE else "float64"
        products = operation_time(machine, f"{real}_sum_of_products") if operation_time is not None else None
        if multiply:
            ours.append((machine, "multiply_8_bytes", multiply * 1e6))
            ours.append((machine, "communication_to_computation", transfer / multiply))
        if products:
            ours.append((machine, "megaflops", 1e-6 / products))
    footnotes = [
        "Data rate and 8-byte transfer: our simulated one-hop echo of 8192 and of 8 bytes.",
        "8-byte transfer: appendix A gives 1127 for the iPSC/1 and 404 for the nCUBE 3200, printed 1120 and 401.",
        "8-byte multiply: 6.6 for the iPSC/2 is the REAL*8 addition of table 3; multiplication takes 7.0, ratio 56. "
        "The iPSC/860's 0.08 is rounded to 0.1 in table 3, where ours comes from.",
        _MEGAFLOP_NOTE,
        "The 8-byte multiply and the megaflops are the operation times of the machine files, from table 3: inputs.",
    ]
    if operation_time is None:
        footnotes.append("No operation times were given: the rows of computation have no figures of ours.")
    return ReproducedTable(
        "7",
        "Summary performance figures",
        ("quantity", "unit"),
        ("machine",),
        joined(published("7"), ours).with_columns(
            pl.when(pl.col("quantity").is_in(["megaflops", "multiply_8_bytes"]))
            .then(pl.lit(INPUT))
            .otherwise(pl.col("kind"))
            .alias("kind")
        ),
        tuple(footnotes),
        uncertainties=_multiplications(),
    )


def _multiplications() -> Uncertainties:
    """How far multiplications of table 3 are from those of table 7, by the heads of table 7's cells."""
    precise = {m: v for m, q, v, _ in published("7").rows() if q == "multiply_8_bytes"}
    rounded = {m: v for m, q, v, _ in published("3").rows() if q == "float64_multiply"}
    uncertain: Uncertainties = {}
    for machine, value in precise.items():
        contradiction = Uncertainty(abs(rounded[machine] / value - 1), "table 3, which has it with fewer digits")
        uncertain["multiply_8_bytes", "us", machine] = contradiction
        uncertain["communication_to_computation", "ratio", machine] = contradiction
    return uncertain


def joined(printed: pl.DataFrame, ours: Sequence[tuple[str, str, float]]) -> pl.DataFrame:
    """Cells of a table of quantities by machine, in the paper's order."""
    mine = pl.DataFrame(ours, schema={"machine": pl.String, "quantity": pl.String, "ours": pl.Float64}, orient="row")
    cells = printed.rename({"value": "published"}).join(
        mine, on=["machine", "quantity"], how="left", maintain_order="left"
    )
    return with_error(cells.select("machine", "quantity", "unit", "published", "ours"), FITTED)


def rates(number: str, runs: Runs) -> ReproducedTable:
    """One table of appendix A."""
    machine, title = list(APPENDIX.items())[int(number[1:]) - 1]
    ours = pl.concat(
        [
            _rate_cells(runs.samples(machine, "echo-host"), "host"),
            _rate_cells(runs.samples(machine, "echo-self"), "self"),
            _rate_cells(runs.echo(machine), "node"),
        ]
    )
    printed = printed_rates().filter(pl.col("machine") == machine)
    printed = printed.select(_path(), "bytes", pl.col("rate_kB_per_s").alias("published"))
    cells = ours.join(printed, on=["path", "bytes"], how="full", coalesce=True)
    order = {"host": 0, "self": 1, **{_hops(h): 1 + h for h in HOPS}}
    cells = cells.with_columns(pl.col("path").replace_strict(order).alias("order")).sort("bytes", "order")
    cells = cells.select(
        pl.lit(machine).alias("machine"), "bytes", "path", pl.lit("kB/s").alias("unit"), "published", "ours"
    )
    far = pl.col("path").is_in([_hops(hops) for hops in HOPS if hops > FITTED_HOPS])
    cells = cells.with_columns(pl.when(far).then(pl.lit(BLIND)).otherwise(pl.lit(FITTED)).alias("kind"))
    return ReproducedTable(
        number, f"Data rates of the {title}, kB/s", ("bytes",), ("path",), with_error(cells), _rate_notes(machine),
        uncertainties=_lines(machine),
    )  # fmt: skip


def _lines(machine: str) -> Uncertainties:
    """What a startup and a byte time leave at worst in the columns of the host and of a node itself, by heads."""
    why = "any startup and byte time: no straight line comes nearer to the times of the column"
    uncertain: Uncertainties = {}
    for (path,), column in printed_rates().filter(pl.col("machine") == machine).group_by("path"):
        if path in ("host", "self"):
            lengths = column["bytes"].to_list()
            seconds = pl.col("bytes") / pl.col("rate_kB_per_s") / KB
            size = straight_line(lengths, column.select(seconds).to_series().to_list())
            uncertain |= {(str(length), str(path)): Uncertainty(size, why) for length in lengths}
    return uncertain


def _hops(hops: int) -> str:
    return f"{hops} hop{'s' if hops > 1 else ''}"


def _rate_cells(table: pl.DataFrame, kind: str) -> pl.DataFrame:
    """`path`, `bytes` and `ours` (kB/s, from median seconds) of samples."""
    return (
        table.with_columns(path=pl.lit(kind))
        .group_by(_path(), "bytes", maintain_order=True)
        .agg(pl.col("seconds").median())
        .select("path", "bytes", (pl.col("bytes") / pl.col("seconds") / KB).alias("ours"))
    )


def _path() -> pl.Expr:
    """`host`, `self` or the number of hops, as it heads a column."""
    hops = pl.concat_str(pl.col("hops"), pl.when(pl.col("hops") == 1).then(pl.lit(" hop")).otherwise(pl.lit(" hops")))
    return pl.when(pl.col("path") == "node").then(hops).otherwise(pl.col("path")).alias("path")


def _rate_notes(machine: str) -> tuple[str, ...]:
    notes = [
        "Rates over 3 to 6 hops are blind predictions: the published ones were not known when ours were first "
        "computed. "
        "The machine file was fitted to those over 1 and 2 hops, to the host and of a node to itself.",
        "Published rates are quantised by the machine's clock, those of a node to itself the most.",
    ]
    if machine == "ipsc1":
        notes.insert(0, "Published rates above 1024 bytes are not in this copy: ours stand alone.")
    if machine == "ipsc860":
        notes.append(
            "To the host, 1024 bytes: 110.7 kB/s is 9250 microseconds, against 4848 for 512 bytes and 5550 for 2048; "
            "it does not follow the rest (210.7 would)."
        )
    return tuple(notes)
