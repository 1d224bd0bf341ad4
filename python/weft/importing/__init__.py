"""What other benchmarks of communication print, as samples: OSU's, Intel's (IMB) and those of NCCL and RCCL.

>>> from pathlib import Path
>>> import tempfile
>>> text = "# OSU MPI Latency Test v7.4\\n# Size          Latency (us)\\n8                       1.25\\n"
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = (Path(folder) / "old.txt").write_text(text)
...     table = read([Path(folder) / "old.txt"])
>>> table.select("machine", "benchmark", "ranks", "bytes", "seconds").row(0)
('old', 'echo', 2, 8, 1.25e-06)
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from weft import samples
from weft._core import UsageError
from weft.importing import imb, nccl, osu
from weft.importing.figures import Dropped, Figure, Unread, Wrong, lines_of
from weft.inputs import path_shown, read_text
from weft.launch.request import benchmarks

__all__ = ["read"]

_READERS = (osu.figures, imb.figures, nccl.figures)


def read(
    paths: Sequence[str | os.PathLike[str]],
    *,
    machine: str | None = None,
    ranks: int | None = None,
    benchmark: str | None = None,
) -> pl.DataFrame:
    """The figures in files of what other benchmarks printed, as a table of samples.

    A file may hold several tables, of several of the tools, among other lines (of a launcher or a batch system, and
    each behind a rank's label). Files are repetitions: what several of them say of one point are its launches.

    Parameters
    ----------
    paths
        Files of text.
    machine
        The name of the machine in the table. Default: the first file's name without its ending.
    ranks
        How many ranks ran, where the output does not say it (collectives of OSU).
    benchmark
        What was run, where the output does not say it (NCCL's tests before 2.17), by the tool's name or weft's.

    Returns
    -------
    polars.DataFrame
        Samples with `source` measured: seconds of one operation as weft counts them, bytes of a message, or of a
        rank's block. A benchmark that weft has under another name is called by weft's; others keep the tool's name.
        `note` says of which statistic a figure is: most of the tools print means.

    Raises
    ------
    UserWarning
        For a table that is there and that cannot be read, by its title; the others are read. And for lines whose data
        the benchmark itself found to be wrong, and those of numbers that are no measurement, which are left out.
    UsageError
        For a file without any figure, for one that does not say how many ranks ran or what, if the argument is
        missing, and where the ranks that NCCL's tests list are not as many.
    OSError
        If a file cannot be read.
    """
    if not paths:
        raise UsageError("nothing to import: name at least one file of output of OSU's, IMB's or NCCL's benchmarks")
    name = machine if machine is not None else Path(paths[0]).stem
    launches: Counter[tuple[object, ...]] = Counter()
    rows = []
    for path in paths:
        for figure in _of_file(path, ranks, benchmark):
            row = {**figure.row(), "machine": name, "benchmark": _named(figure.benchmark)}
            point = (row["benchmark"], row["ranks"], row["bytes"])
            rows.append({**row, "repetition": launches[point]})
            launches[point] += 1
    return samples.from_rows(rows)


def _of_file(path: str | os.PathLike[str], ranks: int | None, benchmark: str | None) -> Iterator[Figure]:
    where = path_shown(path)
    lines = lines_of(read_text(path, "output of a benchmark"))
    tables = [table for reader in _READERS for table in reader(lines, where, ranks, benchmark)]
    figures = [table for table in tables if isinstance(table, Figure)]
    unread = dict.fromkeys(table.title for table in tables if isinstance(table, Unread))
    if not figures and unread:
        raise UsageError(f"{where}: no table in it is understood: {'; '.join(unread)}")
    wrong = [
        f"the benchmark itself found wrong data in {name}, at {', '.join(map(str, sizes))} bytes"
        for name, sizes in _wrong(tables).items()
    ]
    if not figures and wrong:
        raise UsageError(f"{where}: no line of it is a measurement: {'; '.join(wrong)}")
    for what in wrong:
        warnings.warn(f"{where}: {what}: left out", stacklevel=3)
    for table in tables:
        if isinstance(table, Dropped):
            warnings.warn(f"{where}: {table.line!r} of {table.title!r} is no measurement: left out", stacklevel=3)
    for title in unread:
        warnings.warn(f"{where}: the table {title!r} is not understood and was left out", stacklevel=3)
    if not figures:
        raise UsageError(
            f"{where}: no table of OSU's, IMB's or NCCL's benchmarks in it; expected a heading such as "
            "'# OSU MPI Latency Test', '# Benchmarking PingPong', or the columns 'size count type' of NCCL"
        )
    yield from figures


def _wrong(tables: Iterable[object]) -> dict[str, list[int]]:
    """At which sizes data were wrong, by benchmark."""
    sizes: dict[str, list[int]] = {}
    for table in tables:
        if isinstance(table, Wrong):
            sizes.setdefault(table.benchmark, []).append(table.size)
    return sizes


def _named(benchmark: str) -> str:
    """weft's name of a benchmark, where it has the same; else the name it came with."""
    return _aliases().get(benchmark, benchmark)


def _aliases() -> dict[str, str]:
    return {alias: known.name for known in benchmarks().values() for alias in (known.name, *known.aliases)}
