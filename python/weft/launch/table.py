"""Rows of the native half as a table of samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from weft.launch.protocol import Row
from weft.samples import COLUMNS, validate

_ORDER = (
    *("source", "machine", "benchmark", "ranks", "hops", "bytes", "repetition", "seconds"),
    *("algorithm", "seconds_p10", "iterations", "share_above_3x", "share_late", "rate"),
    *("load", "stolen", "time", "status", "library", "processor", "system"),
)
_EXTRA = (
    *("variant", "words", "threads", "neighbours", "background", "background_bytes", "probe", "shape"),
    *("n", "precision", "file_system", "file_kind", "file_bytes", "cache", "preallocated", "io_nodes"),
    *("operation", "bits", "vp_ratio", "pattern", "ratio", "mode", "extent", "real_s", "cm_s"),
    *("rate_unit", "quiet_seconds", "slowdown", "unit", "note"),
)
"""Columns that a table has only where a row of it says something there."""
_TEXT = ("time", "status", "library", "processor", "system", "operation", "mode")
_MEASURED = ("load", "stolen", "time", "status", "library", "processor", "system")


def table(rows: Iterable[Row], source: str, machine: str, constants: Mapping[str, str] | None = None) -> pl.DataFrame:
    """A table of samples.

    Parameters
    ----------
    rows
        Rows of the native half, with `repetition` and whatever else the protocol added.
    source, machine
        Values of these columns.
    constants
        Further columns of text that are the same in all rows.

    Returns
    -------
    polars.DataFrame
        The required columns first; columns that say how a launch went only where `source` is "measured".
    """
    given = [{"source": source, "machine": machine, **(constants or {}), **_named(row)} for row in rows]
    names = [name for name in _ORDER if source == "measured" or name not in _MEASURED]
    names += [name for name in _EXTRA if any(row.get(name) is not None for row in given)]
    columns: dict[str, Any] = {name: [row.get(name) for row in given] for name in names}
    return validate(pl.DataFrame(columns, schema={name: _dtype(name) for name in names}))


def _named(row: Row) -> Row:
    """A row with the names of the schema: words where the node suite says length, text where it says yes or no."""
    named = {"words" if name == "length" else name: value for name, value in row.items()}
    if named.get("preallocated") is not None:
        named["preallocated"] = str(named["preallocated"]).lower()
    return named


def _dtype(name: str) -> pl.DataType:
    if name in COLUMNS:
        return COLUMNS[name].dtype
    if name in ("bits", "ratio", "extent"):
        return pl.Int64()
    return pl.String() if name in _TEXT else pl.Float64()
