"""The tidy table of samples that every other part of weft reads or writes.

Measured, simulated, predicted and published times are rows of one table, a `polars.DataFrame`; files are CSV or
Parquet. A row is one launch of one benchmark at one set of parameters. `COLUMNS` says what each column means.

>>> import polars as pl
>>> from weft import samples
>>> table = samples.validate(pl.DataFrame({
...     "source": ["measured"] * 2, "machine": ["here"] * 2, "benchmark": ["echo"] * 2, "ranks": [2, 2], "hops": [1, 1],
...     "bytes": [8, 8], "repetition": [0, 1], "seconds": [6.2e-7, 6.6e-7]}))
>>> samples.summarise(table)["seconds"].to_list()
[6.4e-07]
"""

from weft.samples.files import append, content, read, write
from weft.samples.rows import from_rows
from weft.samples.schema import COLUMNS, PARAMETERS, REQUIRED, SOURCES, Column, SamplesError, validate
from weft.samples.summary import (
    DEFAULT_CONFIDENCE,
    Convergence,
    MedianInterval,
    convergence,
    coverage_words,
    median_interval,
    summarise,
)
from weft.samples.table import Samples

__all__ = [
    "COLUMNS",
    "DEFAULT_CONFIDENCE",
    "PARAMETERS",
    "REQUIRED",
    "SOURCES",
    "Column",
    "Convergence",
    "MedianInterval",
    "Samples",
    "SamplesError",
    "append",
    "content",
    "convergence",
    "coverage_words",
    "from_rows",
    "median_interval",
    "read",
    "summarise",
    "validate",
    "write",
]
