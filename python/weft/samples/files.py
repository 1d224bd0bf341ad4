"""Tables of samples in files: CSV (`.csv`) and Parquet (`.parquet`)."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl

from weft import _core, files
from weft.inputs import message, quoted, unheard
from weft.samples.schema import COLUMNS, REQUIRED, SamplesError, validate

_FORMATS = (".csv", ".parquet")

CSV_FACTOR = 60
"""Bytes of memory that a byte of a CSV file takes: short cells, each a string of its own."""

_WIDTHS = {pl.Boolean: 1, pl.Int8: 1, pl.UInt8: 1, pl.Int16: 2, pl.UInt16: 2, pl.Int32: 4, pl.UInt32: 4, pl.Float32: 4,
           pl.Int64: 8, pl.UInt64: 8, pl.Float64: 8, pl.Date: 4, pl.Datetime: 8, pl.Null: 1}  # fmt: skip
"""Bytes of a value in memory; 64 for others, such as text."""


def read(path: str | os.PathLike[str], *, nonempty: bool = False) -> pl.DataFrame:
    """Read and check a file of samples.

    Parameters
    ----------
    path
        A `.csv` file with a header line, or a `.parquet` file. In CSV an empty cell is an empty value, and a column
        outside of the schema is integer, float or text, the first that holds all its values.
    nonempty
        Whether a table without rows is an error.

    Returns
    -------
    polars.DataFrame
        A valid table of samples.

    Raises
    ------
    SamplesError
        If the file is neither CSV nor Parquet, or not a table of samples; the message names file, row and column. If it
        has no samples where some are needed.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile, weft
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(weft.simulate("ipsc860", "echo", bytes=8), Path(folder) / "echo.csv")
    ...     read(Path(folder) / "echo.csv")["machine"].item()
    'ipsc860'
    """
    path = Path(path)
    suffix = _suffix(path)
    with path.open("rb"):
        pass  # A missing or forbidden file is an OSError with its name, before any parser sees it.
    table = _read_csv(path) if suffix == ".csv" else _read_parquet(path)
    table = validate(table, str(path))
    if nonempty and table.is_empty():
        raise SamplesError(f"{quoted(str(path))} has no samples, only the names of columns")
    return table


def write(table: pl.DataFrame, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Check a table and write it whole or not at all.

    The table goes to a temporary file in the same folder, which then replaces `path`: whoever reads `path` sees the old
    file or the new one.

    Parameters
    ----------
    table
        A table of samples; required columns come first in the file.
    path
        A `.csv` or `.parquet` file.
    force
        Whether to replace a file that exists.

    Raises
    ------
    UsageError
        If the file exists and is not to be replaced, or cannot be written.
    SamplesError
        If the table is not valid or the suffix unknown.
    OSError
        If writing fails.
    """
    path = Path(path)
    text = content(table, path)
    files.check_output(path, _FORMATS, force=force, space=len(text))
    files.write_bytes(text, path)


def content(table: pl.DataFrame, path: str | os.PathLike[str]) -> bytes:
    """What a file of this name has of a table.

    Raises
    ------
    SamplesError
        If the table is not valid or the suffix unknown.
    """
    path = Path(path)
    suffix = _suffix(path)
    table = _in_order(validate(table, f"the table for {path}"))
    if suffix == ".csv":
        return table.write_csv().encode()
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def append(table: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Add rows to a file of samples, which is made if there is none; whole or not at all.

    Columns that only one side has are empty on the other.

    Parameters
    ----------
    table
        The rows to add.
    path
        A `.csv` or `.parquet` file.

    Raises
    ------
    SamplesError
        If either side is not valid, or a column outside of the schema holds different types on the two sides.
    """
    path = Path(path)
    table = validate(table, f"the rows for {path}")
    if path.exists():
        before = read(path)
        try:
            table = pl.concat([before, table], how="diagonal_relaxed")
        except pl.exceptions.PolarsError as error:
            raise SamplesError(f"{path}: the new rows do not fit the columns of the file: {error}") from None
    write(table, path, force=True)


def _suffix(path: Path) -> str:
    if path.is_dir():
        raise SamplesError(f"{path} is a folder: name a file in it; the samples of a study are {path / 'samples.csv'}")
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        ending = f", found '{quoted(path.suffix)}'" if path.suffix else ""
        raise SamplesError(f"{path}: expected a name that ends in .csv or .parquet{ending}")
    return suffix


def _in_order(table: pl.DataFrame) -> pl.DataFrame:
    """Required columns first, then known ones, then the others."""
    known = [name for name in COLUMNS if name in table.columns]
    return table.select(
        [*REQUIRED, *(n for n in known if n not in REQUIRED), *(n for n in table.columns if n not in known)]
    )


def _read_parquet(path: Path) -> pl.DataFrame:
    try:
        with unheard():
            return _table_of(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, OverflowError) as error:
        raise SamplesError(f"{path}: expected a Parquet file: {message(error)}") from None


def _table_of(path: Path) -> pl.DataFrame:
    """What a Parquet file has, if there is memory for so many rows: a few bytes of file may say millions of them."""
    lazy = pl.scan_parquet(path)
    widths = sum(_WIDTHS.get(dtype.base_type(), 64) for dtype in lazy.collect_schema().dtypes())
    rows = int(lazy.select(pl.len()).collect().item())
    # As read there, as sent, and as read here.
    _core.require_memory(4 * rows * widths, f"{path}: a table of {rows} rows", "take a part of it")
    return _read_apart(path)


def _read_apart(path: Path) -> pl.DataFrame:
    """What a process of its own reads: over some damaged files polars ends the process that it is in."""
    command = [sys.executable, "-P", str(Path(__file__).with_name("parquet_process.py")), str(path.absolute())]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        # What its process was ended by is its last words, or stands before the places in the program that led there.
        reason = said[-1] if done.returncode == 1 else said[0]
        raise SamplesError(f"{path}: expected a Parquet file: {message(reason)}")
    return pl.read_ipc(io.BytesIO(done.stdout))


def _read_csv(path: Path) -> pl.DataFrame:
    """All cells as text; columns outside of the schema get a type."""
    columns, rows = _cells(path)
    table = pl.DataFrame(
        {name: [row[i] or None for row in rows] for i, name in enumerate(columns)}, dict.fromkeys(columns, pl.String)
    )
    return table.with_columns([_guessed(table[name]) for name in columns if name not in COLUMNS])


def _cells(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a CSV file, each row as long as the header."""
    try:
        _core.require_memory(CSV_FACTOR * path.stat().st_size, f"{path}: a table", "take a smaller file, or Parquet")
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, strict=True)
            columns = [name.strip() for name in next(lines, [])]
            rows: list[list[str]] = []
            for cells in lines:
                if not cells:
                    continue
                if len(cells) != len(columns):
                    raise SamplesError(
                        f"{path}, row {len(rows) + 1} (line {lines.line_num}): "
                        f"expected {len(columns)} cells as in the header, found {len(cells)}"
                    )
                rows.append(cells)
    except UnicodeDecodeError as error:
        raise SamplesError(f"{path}: expected a CSV file in UTF-8: byte {error.start + 1} is no text") from None
    except csv.Error as error:
        raise SamplesError(f"{path}: expected a CSV file in UTF-8: {message(error)}") from None
    if not columns:
        raise SamplesError(f"{path}: expected a header line, found an empty file")
    repeated = sorted(name for name, count in Counter(columns).items() if count > 1)
    if repeated:
        raise SamplesError(f"{path}: the column '{quoted(repeated[0])}' appears twice in the header")
    return columns, rows


def _guessed(values: pl.Series) -> pl.Series:
    """A column of text as integers or floats, if all of it is."""
    if values.null_count() == len(values):
        return values
    for dtype in (pl.Int64(), pl.Float64()):
        typed = values.cast(dtype, strict=False)
        if typed.null_count() == values.null_count():
            return typed
    return values
