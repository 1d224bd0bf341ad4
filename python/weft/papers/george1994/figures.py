"""Figures 8 to 11 as tables: speedups, and the time of PSHIFT with the fits of equation (2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from weft.papers.george1994.published import LENGTHS, timings
from weft.papers.george1994.tables import Ours
from weft.papers.reproduction import FITTED, Axes, ReproducedTable, with_error

FIGURES = ("8", "9", "10", "11")
"""The figures that show numbers."""

_SCHEMA: dict[str, pl.DataType] = {
    "length": pl.Int64(),
    "series": pl.String(),
    "published": pl.Float64(),
    "ours": pl.Float64(),
    "kind": pl.String(),
}


def figure(number: str, ours: Ours) -> ReproducedTable:
    """One of `FIGURES`."""
    return _speedups(ours) if number == "8" else _times(number, ours)


def _table_of(
    number: str, title: str, unit: str, cells: list[tuple[object, ...]], notes: tuple[str, ...]
) -> ReproducedTable:
    table = pl.DataFrame(cells, schema=_SCHEMA, orient="row").with_columns(pl.lit(unit).alias("unit"))
    axes = Axes("length of an axis of the subgrid", "speedup" if unit == "1" else unit, "length", ("series",), True,
                unit != "1")  # fmt: skip
    return ReproducedTable(
        number, title, ("length",), ("series",), with_error(table), notes, "Figure", axes, redraws=True
    )


def _printed(rank: int, column: str) -> dict[int, float]:
    return dict(timings().filter(pl.col("rank") == rank).select("length", column).rows())


def _mine(ours: Ours, rank: int, column: str) -> dict[int, float]:
    return dict(ours.times(rank).select("length", column).rows())


def _speedups(ours: Ours) -> ReproducedTable:
    cells: list[tuple[object, ...]] = []
    lengths = sorted({length for of_rank in LENGTHS.values() for length in of_rank})
    for rank in LENGTHS:
        known, mine = _printed(rank, "elapsed_speedup"), _mine(ours, rank, "elapsed_speedup")
        cells += [(n, f"rank {rank}", known.get(n), mine.get(n), FITTED) for n in lengths if n in mine or rank == 1]
    cells.sort(key=lambda cell: int(str(cell[0])))
    notes = (
        "Elapsed time of CSHIFT over that of PSHIFT. Published is what tables 1 and 2 print, with one decimal (1.0 may "
        "be anything from 0.95 to 1.05), and the ratio of the times of tables 3 and 4.",
    )
    return _table_of("8", "Speedup of PSHIFT over CSHIFT by length of the subgrid's axes", "1", cells, notes)


def _times(number: str, ours: Ours) -> ReproducedTable:
    rank = int(number) - 8
    known, mine = _printed(rank, "pshift_cm_ms"), _mine(ours, rank, "pshift_cm_ms")
    cells: list[tuple[object, ...]] = [(n, "PSHIFT", known.get(n), mine[n], FITTED) for n in LENGTHS[rank]]
    notes = ["PSHIFT: ours is equation (1) with the stalls of the memory and the waits for the front end."]
    if rank > 1:
        curve = equation_2(rank, known)
        cells += [(n, "equation (2)", known.get(n), curve(n), FITTED) for n in LENGTHS[rank]]
        notes.append("equation (2): a + b L^(k-1) + c L^k by least squares through the published points.")
        cells.sort(key=lambda cell: int(str(cell[0])))
    if rank == 3:
        notes.append("The paper prints no curve's coefficients; it says that four points determine a cubic.")
    return _table_of(
        number, f"PSHIFT with shifts of ±1 on rank {rank} REAL*8 arrays, CM time", "ms", cells, tuple(notes)
    )  # fmt: skip


def equation_2(rank: int, points: dict[int, float]) -> Callable[[int], float]:
    """Equation (2) of section 6.2, `a + b L^(k-1) + c L^k`, by least squares.

    Parameters
    ----------
    rank
        k.
    points
        Times by length L, in any unit.

    Returns
    -------
    callable
        The time at a length, in that unit.
    """
    powers = (0, rank - 1, rank)
    lengths = np.array(list(points), dtype=float)
    matrix = np.stack([lengths**power for power in powers], axis=1)
    coefficients, *_ = np.linalg.lstsq(matrix, np.array(list(points.values())), rcond=None)
    return lambda length: float(sum(c * length**power for c, power in zip(coefficients, powers, strict=True)))
