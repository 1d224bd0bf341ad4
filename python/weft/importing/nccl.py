"""Output of the tests of NCCL and RCCL (`all_reduce_perf` and its sisters).

A table has the columns `size count type`, `redop` and `root` where the version prints them, and then time, rates and
errors out of place and in place. The times out of place are taken. Sizes are of the whole of what the ranks have; where
each rank has a block, weft counts the block.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from weft._core import UsageError
from weft.importing.figures import Counted, Dropped, Figure, Unread, Wrong, begins
from weft.launch.request import normal

_STARTING = re.compile(r"#\s*Collective test starting:\s*(\w+)_perf")
_PROGRAM = re.compile(
    r"\b(all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|gather|scatter|sendrecv|hypercube)_perf\b"
)
_RANK = re.compile(r"#?\s*Rank\s+(\d+)\b(?:\s+Group\s+(\d+)\b)?(?=\s+Pid\b)")
"""A rank and its group: ranks of several groups run side by side, each group by itself."""

_ITERATIONS = re.compile(r"(?<!warmup )iters:\s*(\d+)")
_HEADINGS = re.compile(r"#?\s*(size\s+count\s+type\b[^|]*\btime\b[^|]*)")
"""The columns, without the sign of a comment where a page took it for a heading, up to a table that stands beside."""

_LIBRARY = re.compile(r"\b((?:NCCL|RCCL) version \S+)")

_NAMES = {"all_reduce": "allreduce", "all_gather": "allgather", "broadcast": "broadcast", "reduce": "reduce",
          "alltoall": "alltoall", "gather": "gather", "scatter": "scatter"}  # fmt: skip
_OF_BLOCKS = ("allgather", "alltoall", "gather", "scatter", "nccl-reduce-scatter")
"""Benchmarks whose length is a rank's block here, and that of all of them there (PERFORMANCE.md of NCCL's tests)."""


def figures(
    lines: Sequence[str], where: str, ranks: int | None, benchmark: str | None
) -> Iterator[Figure | Unread | Dropped | Wrong]:
    """The figures of every table of the file."""
    name, iterations, library = None, None, None
    groups: dict[str | None, set[str]] = {}
    columns: list[str] = []
    counted = Counted("")
    for line in lines:
        if (started := _STARTING.match(line) or _PROGRAM.search(line)) is not None:
            name = _name(started.group(1))
        if begins(line):
            yield from counted.unread()
            counted, columns = Counted(line), []
        if "minBytes" in line and (repeated := _ITERATIONS.search(line)) is not None:
            iterations, groups = int(repeated.group(1)), {}
        elif (rank := _RANK.match(line)) is not None:
            if columns:
                # A list of ranks behind a table is that of the next, also where a page left out what begins it.
                yield from counted.unread()
                groups, counted, columns = {}, Counted(""), []
            groups.setdefault(rank.group(2), set()).add(rank.group(1))
        elif (version := _LIBRARY.search(line)) is not None:
            library = version.group(1)
        elif (headings := _HEADINGS.match(line)) is not None:
            columns = headings.group(1).split()
        elif columns and re.match(r"\d+\s+\d+\s", line):
            read = _row(line, columns)
            counted.lines += 1
            counted.figures += read is not None
            if read is not None:
                size, time, is_wrong = read
                known = _known(name, benchmark, where)
                if is_wrong:
                    yield Wrong(known, size)
                    continue
                yield _figure(size, time, known, _counted(_largest(groups), ranks, where), iterations, library)
    yield from counted.unread()


def _row(line: str, columns: Sequence[str]) -> tuple[int, float, bool] | None:
    """Length and time of a line, and whether elements out of place were wrong; None where the time is no number, or was
    too short to be printed. Versions that print the largest deviation judge it themselves."""
    words = line.partition("|")[0].split()
    # Where a test has no operation or root, older versions leave the column blank.
    blank = max(len(columns) - len(words), 0)
    at = columns.index("time") - blank
    if at < len(("size", "count", "type")):
        return None
    try:
        size, time = int(words[0]), float(words[at])
        float(words[at + 1])
    except ValueError:
        return None
    wrong = words[columns.index("#wrong") - blank] if "#wrong" in columns else ""
    is_wrong = wrong.isdigit() and int(wrong) > 0
    return (size, time / 1e6, is_wrong) if 0 < time < math.inf else None


def _largest(groups: Mapping[str | None, Collection[str]]) -> int:
    """Ranks of the largest group; of the only one also where a page shows the last of its ranks and not all."""
    if len(groups) == 1:
        return max(int(rank) for ranks in groups.values() for rank in ranks) + 1
    return max(map(len, groups.values()), default=0)


def _name(program: str) -> str:
    return _NAMES.get(program, "nccl-" + program.replace("_", "-"))


def _known(name: str | None, benchmark: str | None, where: str) -> str:
    if name is not None:
        return name
    if benchmark is None:
        raise UsageError(
            f"{where}: the output does not say which of NCCL's tests ran; say it: --benchmark allreduce "
            "(or allgather, reduce_scatter, broadcast, reduce, alltoall, gather, scatter, sendrecv)"
        )
    stem = normal(benchmark).removesuffix("-perf").replace("-", "_")
    return _NAMES.get(stem, stem if stem in _NAMES.values() else "nccl-" + stem.replace("_", "-"))


def _counted(count: int, ranks: int | None, where: str) -> int:
    if count and ranks is not None and count != ranks:
        raise UsageError(f"{where}: the output lists {count} ranks, and --ranks says {ranks}")
    if not count and ranks is None:
        raise UsageError(f"{where}: the output does not list its ranks; say how many there were: --ranks N")
    return count or ranks or 0


def _figure(size: int, seconds: float, name: str, ranks: int, iterations: int | None, library: str | None) -> Figure:
    length = size // ranks if name in _OF_BLOCKS else size
    return Figure(name, ranks, length, seconds, "mean over iterations out of place, of NCCL's tests", iterations,
                  rate=size / seconds, library=library)  # fmt: skip
