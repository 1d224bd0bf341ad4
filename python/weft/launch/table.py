"""Rows of the extension module as a table of samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from weft.launch.protocol import Row
from weft.samples import from_rows

_ORDER = (
    *("source", "machine", "benchmark", "ranks", "hops", "bytes", "repetition", "seconds"),
    *("algorithm", "seconds_p10", "iterations", "share_above_3x", "share_late", "rate"),
    *("load", "stolen", "time", "status", "library", "processor", "system"),
)
_NOT_SAMPLES = ("samples", "checked")
"""What rows say of a launch that is no sample: the time of every iteration, and that results were right."""
_MEASURED = ("load", "stolen", "time", "status", "library", "processor", "system")


def table(
    rows: Iterable[Row], source: str, machine: str, constants: Mapping[str, str | int] | None = None
) -> pl.DataFrame:
    """A table of samples.

    Parameters
    ----------
    rows
        Rows of the extension module, with `repetition` and whatever else the protocol added.
    source, machine
        Values of these columns.
    constants
        Further columns of text that are the same in all rows.

    Returns
    -------
    polars.DataFrame
        The required columns first; columns that say how a launch went only where `source` is "measured".
    """
    labelled = [{"source": source, "machine": machine, **(constants or {}), **_named(row)} for row in rows]
    names = [name for name in _ORDER if source == "measured" or name not in _MEASURED]
    return from_rows(labelled, names)


def _named(row: Row) -> Row:
    """A row as the schema has it: text where the Rust core says yes or no."""
    named = {name: row[name] for name in row if name not in _NOT_SAMPLES}
    if named.get("preallocate") is not None:
        named["preallocate"] = str(named["preallocate"]).lower()
    return named
