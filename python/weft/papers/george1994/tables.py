"""Tables 1 to 4, and what the text says in numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Protocol

import polars as pl

from weft.papers.george1994 import fitting
from weft.papers.george1994.published import BLIND_RANKS, LENGTHS, MACHINE, QUANTITIES, blind, text_figures, timings
from weft.papers.reproduction import BLIND, FITTED, INPUT, MEASURED, Describe, ReproducedTable, Simulate, with_error
from weft.papers.uncertainty import Uncertainties, Uncertainty

TABLES = ("1", "2", "3", "4", "text")
"""What is reproduced; the number of a table is the rank of its arrays."""

_MS = 1e3


class Ours:
    """The priced calls of each rank, each priced once."""

    def __init__(self, simulate: Simulate) -> None:
        self._simulate = simulate
        self._kept: dict[int, pl.DataFrame] = {}

    def times(self, rank: int) -> pl.DataFrame:
        """`length` and the columns of `QUANTITIES` for the lengths of the rank's table."""
        if rank not in self._kept:
            samples = self._simulate(MACHINE, "pshift", (), None, axes=rank, extent=LENGTHS[rank])
            self._kept[rank] = samples.select(
                pl.col("extent").alias("length"),
                *((pl.col(f"{name}_s") * _MS).alias(f"{name}_ms") for name in _TIMES),
                (pl.col("cshift_elapsed_s") / pl.col("pshift_elapsed_s")).alias("elapsed_speedup"),
                (pl.col("cshift_cm_s") / pl.col("pshift_cm_s")).alias("cm_speedup"),
            )
        return self._kept[rank]

    def at(self, rank: int, length: int) -> Mapping[str, float]:
        """One row of `times`."""
        return self.times(rank).row(by_predicate=pl.col("length") == length, named=True)


_TIMES = ("cshift_elapsed", "pshift_elapsed", "cshift_cm", "pshift_cm")


class Here(Protocol):
    """What the paper's calls take on this machine."""

    def seconds(self, rank: int, length: int, call: str) -> float | None:
        """The time of a call, `CSHIFT` or `PSHIFT`, of an array of a rank; None where it was not measured."""


_HERE = (
    "Here: measured on this machine, one process, arrays of a node's size. PSHIFT is the bound call of a plan "
    "(weft.arrays.polyshift), CSHIFT a call of weft.arrays.cshift for each shift; nothing is compared with them."
)


def table_of(number: str, ours: Ours, describe: Describe | None = None, here: Here | None = None) -> ReproducedTable:
    """One of `TABLES`; with what was measured here, where that is given."""
    if number == "text":
        return _text(ours, describe)
    rank = int(number)
    published = _cells(timings().filter(pl.col("rank") == rank), "published")
    cells = _cells(ours.times(rank), "ours").join(
        published, on=["length", "quantity"], how="left", maintain_order="left"
    )
    units = dict(QUANTITIES.values())
    cells = cells.with_columns(
        pl.col("quantity").replace_strict(units).alias("unit"),
        pl.col("length").map_elements(lambda n: "x".join([str(n)] * rank), pl.String).alias("subgrid"),
        pl.lit(rank).alias("rank"),
    )
    title = f"Calls of PSHIFT and CSHIFT, shifts of ±1 along {'the axis' if rank == 1 else 'all axes'} of rank {rank}"
    cells = with_error(cells, FITTED)
    if rank in BLIND_RANKS:
        cells = pl.concat([cells, _blind(rank, cells)])
    notes = _notes(rank)
    if here is not None:
        cells, notes = pl.concat([cells, _measured(rank, cells, here)]), (*notes, _HERE)
    return ReproducedTable(
        number, f"{title}, REAL*8, ms", ("subgrid",), ("quantity",), cells, notes, uncertainties=_uncertainties(rank)
    )  # fmt: skip


_EXPLAINED = "what the elapsed time exceeds both the printed CM time and the front end's by"


def _uncertainties(rank: int) -> Uncertainties:
    """Elapsed times beside the longer of the printed CM time and the front end's, by the heads of their cells.

    Section 6.1: elapsed time is that of the Connection Machine and of the front end while it is idle. No model of that
    kind comes nearer, even if its CM times are the printed ones.
    """
    front_end = fitting.front_end()
    uncertain: Uncertainties = {}
    for row in timings().filter(pl.col("rank") == rank).iter_rows(named=True):
        subgrid, explained = "x".join([str(row["length"])] * rank), {}
        for call, key in (("CSHIFT", "call_front_end"), ("PSHIFT", "plan_front_end")):
            cm, elapsed = (row[f"{call.lower()}_{kind}_ms"] for kind in ("cm", "elapsed"))
            explained[call] = max(cm, 2 * rank * front_end[key] * _MS)
            uncertain[subgrid, f"{call} elapsed"] = Uncertainty(max(0.0, 1 - explained[call] / elapsed), _EXPLAINED)
        speedup = explained["CSHIFT"] / explained["PSHIFT"] / row["elapsed_speedup"] - 1
        uncertain[subgrid, "elapsed speedup"] = Uncertainty(abs(speedup), _EXPLAINED)
    return uncertain


def _measured(rank: int, cells: pl.DataFrame, here: Here) -> pl.DataFrame:
    """A cell for each call that was measured here."""
    parts = []
    for call in ("CSHIFT", "PSHIFT"):
        of_call = cells.filter(pl.col("quantity") == f"{call} elapsed")
        seconds = [here.seconds(rank, length, call) for length in of_call["length"]]
        parts.append(
            of_call.with_columns(
                pl.Series("ours", [None if one is None else one * _MS for one in seconds], pl.Float64()),
                pl.lit(None, pl.Float64()).alias("published"),
                pl.lit(None, pl.Float64()).alias("error"),
                pl.lit(f"{call} here").alias("quantity"),
                pl.lit(MEASURED).alias("kind"),
            )
        )
    return pl.concat(parts).filter(pl.col("ours").is_not_null()).select(cells.columns)


def _blind(rank: int, cells: pl.DataFrame) -> pl.DataFrame:
    """The cells of times with what was predicted before they were known in place of ours."""
    predicted = _cells(blind().filter(pl.col("rank") == rank), "predicted")
    kept = cells.join(predicted, on=["length", "quantity"], maintain_order="left")
    kept = kept.with_columns(pl.col("predicted").alias("ours"), pl.lit(BLIND).alias("kind"))
    return with_error(kept.with_columns(pl.col("quantity") + ", blind")).select(cells.columns)


def _cells(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """A row a cell: `length`, `quantity` and the value."""
    named = table.rename({column: title for column, (title, _) in QUANTITIES.items() if column in table.columns})
    titles = [title for title, _ in QUANTITIES.values() if title in named.columns]
    return named.unpivot(titles, index="length", variable_name="quantity", value_name=name).sort(
        "length", maintain_order=True
    )


def _notes(rank: int) -> tuple[str, ...]:
    notes = [
        f"CM times were fitted to ({fitting.PARAMETERS} figures of the machine file, 54 CM times of all ranks). When "
        f"their rank is left out of the fit, half of all CM times stay within {fitting.interval(0.5):.0%} and 90% "
        f"within {fitting.interval():.0%}: the interval of what another subgrid takes. Elapsed times are the longer of "
        "CM and front-end time, the latter fitted to the shortest subgrids of ranks 1 and 2.",
    ]
    if rank == 1:
        notes.append(
            "At lengths 128 to 512 elapsed times exceed CM times by up to 0.23 ms although the Connection Machine "
            "works longer than the front end. PSHIFT and CSHIFT exceed them at the same lengths, and by amounts that "
            "do not follow their numbers of calls, as they would if the front end was busy with something else while "
            "those lengths were timed. weft has no model of that.",
        )
        notes.append("PSHIFT gains more than the two that the text expects where the front end decides.")
    if rank == 2:
        notes.append(
            "At 2x2 both calls keep the Connection Machine busy for 0.02 ms a call more than their work takes: the "
            "nodes wait for the front end, and waits for the operands of an exchange count as busy. It is the one "
            "subgrid with more than one exchange where they wait.",
        )
    if rank in BLIND_RANKS:
        notes.append(
            "Blind: from a fit to ranks 1 and 2, before these times were known. They showed that long rows of a "
            "subgrid stall, and not subgrids longer than a page of memory, as that fit had it.",
        )
        notes.append("The paper prints no speedups that weft has: published ones are ratios of its times.")
    if rank == 4:
        notes.append(
            "At 2x2x2x2 and, of CSHIFT, 4x4x4x4 elapsed times exceed both CM times and what the front end takes at "
            "lower ranks (rank 3, with three quarters of the calls, waits for it nowhere): as at lengths 128 to 512 of "
            "rank 1.",
        )
    return tuple(notes)


def _inputs(describe: Describe) -> dict[str, float]:
    """What the machine file was told."""
    file = describe(MACHINE)

    def figure(table: str, key: str) -> float:
        entry = file[table][key]
        return float(entry["value"] if isinstance(entry, dict) else entry)

    clock = figure("facts", "clock_rate")
    return {
        "clock_rate": clock * 1e-6,
        "nodes": 2.0 ** figure("topology", "dimension"),
        "memory_per_node": figure("facts", "memory_per_node") / 2**20,
        "page_words": figure("facts", "page_words"),
        "page_stall": figure("shifts", "page_stall") * clock,
        "slice_bits": 8 * figure("shifts", "slice_bytes"),
        "setup_time_shortest": figure("facts", "setup_time_shortest"),
        "setup_time_longest": figure("facts", "setup_time_longest"),
    }


def _text(ours: Ours, describe: Describe | None) -> ReproducedTable:
    """Figures that the text derives from the tables, derived from ours; and inputs of the machine file."""
    shortest, longest = ours.at(1, 4), ours.at(1, 16384)
    mine: dict[str, float] = {
        "pshift_rank_1_length_4": shortest["pshift_cm_ms"] * _MS,
        "memory_move_rank_1": (longest["pshift_cm_ms"] - shortest["pshift_cm_ms"]) * _MS / (2 * 16380),
        "speedup_small_subgrids_lowest": min(ours.at(rank, LENGTHS[rank][0])["elapsed_speedup"] for rank in LENGTHS),
        "speedup_small_subgrids_highest": max(ours.at(rank, LENGTHS[rank][0])["elapsed_speedup"] for rank in LENGTHS),
        "kink_length_rank_1": float(_kink(ours)),
    }
    inputs = _inputs(describe) if describe is not None else {}
    cells = text_figures().select("quantity", "unit", "where", pl.col("value").alias("published"))
    cells = cells.with_columns(
        pl.col("quantity").replace_strict(mine | inputs, default=None, return_dtype=pl.Float64).alias("ours"),
        pl.when(pl.col("quantity").is_in(list(inputs))).then(pl.lit(INPUT)).otherwise(pl.lit(FITTED)).alias("kind"),
        pl.lit("value").alias("column"),
    )
    notes = (
        "memory_move_rank_1: the text's division gives the time of an element in one direction, two slices, though it "
        "says 'per slice'.",
        "speedup: 'up to a factor of 3-4' where subgrids are small; ours are the least and the greatest elapsed "
        "speedup of the shortest subgrids of ranks 1 to 4.",
        "kink_length: the last length before the time of an element more rises by half.",
        "The expected speedups are the text's count of calls; the measured ones are in the tables.",
    )
    uncertain: Uncertainties = {
        ("kink_length_rank_1", "elements", "value"): Uncertainty(
            0.5, "the lengths of table 1, which are powers of two: the kink is at one or between two of them"
        )
    }
    return ReproducedTable(
        "text", "Figures in the text", ("quantity", "unit"), ("column",), with_error(cells), notes,
        uncertainties=uncertain,
    )  # fmt: skip


def _kink(ours: Ours) -> int:
    """Where the slope of the rank-1 curve first exceeds that before it by half."""
    points = [(int(n), float(ms)) for n, ms in ours.times(1).select("length", "pshift_cm_ms").rows()]
    slopes = [
        (first, (after - before) / (second - first)) for (first, before), (second, after) in itertools.pairwise(points)
    ]
    for (_, slope), (length, steeper) in itertools.pairwise(slopes):
        if steeper > 1.5 * slope:
            return length
    return points[-1][0]
