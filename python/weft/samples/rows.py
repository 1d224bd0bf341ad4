"""Tables of samples from rows that weft itself makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from weft.samples.schema import COLUMNS, REQUIRED, SamplesError, validate


def from_rows(rows: Iterable[Mapping[str, object]], columns: Sequence[str] = REQUIRED) -> pl.DataFrame:
    """A table of samples, every column of which is one of the schema.

    Parameters
    ----------
    rows
        What each row says; a column that a row does not have is empty in it.
    columns
        Columns that the table has in any case, in this order. After them come, in the order of the schema, those that
        some row fills.

    Returns
    -------
    polars.DataFrame
        The validated table.

    Raises
    ------
    SamplesError
        For a column that the schema does not know, and for values that are not what their column expects.

    Examples
    --------
    >>> table = from_rows([
    ...     {"source": "published", "machine": "ipsc1", "benchmark": "echo", "ranks": 2, "hops": 1, "bytes": 8,
    ...      "repetition": 0, "seconds": 1.1e-3},
    ... ])
    >>> table["seconds"].item()
    0.0011
    """
    kept = [dict(row) for row in rows]
    filled = {name for row in kept for name, value in row.items() if value is not None}
    unknown = sorted({*columns, *(name for row in kept for name in row)} - COLUMNS.keys())
    if unknown:
        raise SamplesError(
            f"rows of samples have {', '.join(unknown)}, which the schema does not know; "
            "a column is added to weft.samples.COLUMNS with its meaning"
        )
    names = [*columns, *(name for name in COLUMNS if name in filled and name not in columns)]
    values = {name: [row.get(name) for row in kept] for name in names}
    return validate(pl.DataFrame(values, schema={name: COLUMNS[name].dtype for name in names}))
