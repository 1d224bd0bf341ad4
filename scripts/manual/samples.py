"""The reference of the samples table, from `weft.samples.COLUMNS`."""

from __future__ import annotations

from scripts.manual.markdown import code, table
from weft.samples import Column

INTRODUCTION = """# Samples

Every time that weft measures, simulates, predicts or quotes is a row of one table. This page lists its columns, so that
you can read such a file with other tools, or write one that `weft fit`, `weft compare` and `weft report` accept. Files
are CSV with a header line, or Parquet; times are in seconds and lengths in bytes.

A row is the result of one launch: the median over its iterations, not one iteration. Rows that agree in all columns
that identify a point are repetitions of each other. weft shows their median with its interval ([how it is
measured](../explanations/measurement.md)). A table may have further columns; weft keeps them.
"""


def page() -> str:
    """The page."""
    from weft.samples import COLUMNS, SOURCES

    needed = [column for column in COLUMNS.values() if column.required]
    telling = [column for column in COLUMNS.values() if column.parameter and not column.required]
    others = [column for column in COLUMNS.values() if not column.parameter and not column.required]
    kinds = ", ".join(code(source) for source in SOURCES)
    return "\n".join(
        [
            INTRODUCTION,
            f"## Required columns\n\nThe column `source` is one of {kinds}.\n",
            _columns(needed),
            "## Columns that identify a point\n\nParameters of benchmarks and programs; empty if not applicable.\n",
            _columns(telling),
            "## Other columns\n",
            _columns(others),
            _EXAMPLE,
        ]
    )


def _columns(columns: list[Column]) -> str:
    rows = [(code(column.name), column.kind, column.meaning, column.expected) for column in columns]
    return table(["column", "type", "meaning", "valid values"], rows)


_EXAMPLE = """## A table of your own

Times that another program measured become samples when they have the required columns:

```python
import polars as pl

import weft

rows = [
    ("measured", "lab", "echo", 2, 1, length, launch, 2e-6 + 1e-10 * length)
    for length in (8, 1024, 65536)
    for launch in range(6)
]
columns = ["source", "machine", "benchmark", "ranks", "hops", "bytes", "repetition", "seconds"]
table = weft.samples.validate(pl.DataFrame(rows, schema=columns, orient="row"))
weft.samples.write(table, "lab.csv", force=True)
print(weft.fit(table).byte_time.value)
```
"""
