"""Output of the tests of NCCL and RCCL (`all_reduce_perf` and its sisters).

A table has the columns `size count type redop root`, and then time, rates and errors out of place and in place. The
times out of place are taken. Sizes are of the whole of what the ranks have; where each rank has a block, weft counts
the block.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from weft._core import UsageError
from weft.importing.figures import Figure
from weft.launch.request import normal

_STARTING = re.compile(r"#\s*Collective test starting:\s*(\w+)_perf")
_PROGRAM = re.compile(
    r"\b(all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|gather|scatter|sendrecv|hypercube)_perf\b"
)
_RANK = re.compile(r"#\s*Rank\s+(\d+)\b(?:\s+Group\s+(\d+)\b)?")
"""A rank and its group: ranks of several groups run side by side, each group by itself."""

_ITERATIONS = re.compile(r"(?<!warmup )iters:\s*(\d+)")
_HEADINGS = re.compile(r"#\s*size\s+count\s+type\b")
_LIBRARY = re.compile(r"\b((?:NCCL|RCCL) version \S+)")
_ROW = re.compile(r"(\d+)\s+\d+\s+[a-z]\w*\s+\S+(?:\s+-?\d+)?\s+([\d.]+(?:e[+-]?\d+)?)\s+[\d.]+\s+[\d.]+\s+\S+(?:\s|$)")
"""Length, elements, type, operation (or none), root (where there is one), and the time out of place, µs."""

_NAMES = {"all_reduce": "allreduce", "all_gather": "allgather", "broadcast": "broadcast", "reduce": "reduce",
          "alltoall": "alltoall", "gather": "gather", "scatter": "scatter"}  # fmt: skip
_OF_BLOCKS = ("allgather", "alltoall", "gather", "scatter", "nccl-reduce-scatter")
"""Benchmarks whose length is a rank's block here, and that of all of them there (PERFORMANCE.md of NCCL's tests)."""


def figures(lines: Sequence[str], where: str, ranks: int | None, benchmark: str | None) -> Iterator[Figure]:
    """The figures of every table of the file."""
    name, iterations, library = None, None, None
    groups: dict[str | None, set[str]] = {}
    in_table = False
    for line in lines:
        if (started := _STARTING.match(line) or _PROGRAM.search(line)) is not None:
            name = _name(started.group(1))
        if "minBytes" in line and (repeated := _ITERATIONS.search(line)) is not None:
            iterations, groups, in_table = int(repeated.group(1)), {}, False
        elif (rank := _RANK.match(line)) is not None:
            groups.setdefault(rank.group(2), set()).add(rank.group(1))
        elif (version := _LIBRARY.search(line)) is not None:
            library = version.group(1)
        elif _HEADINGS.match(line):
            in_table = True
        elif in_table and (row := _ROW.match(line)) is not None and float(row.group(2)) > 0:
            yield _figure(
                row, _known(name, benchmark, where), _counted(_largest(groups), ranks, where), iterations, library
            )


def _largest(groups: Mapping[str | None, Collection[str]]) -> int:
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


def _figure(row: re.Match[str], name: str, ranks: int, iterations: int | None, library: str | None) -> Figure:
    size, seconds = int(row.group(1)), float(row.group(2)) / 1e6
    length = size // ranks if name in _OF_BLOCKS else size
    return Figure(name, ranks, length, seconds, "mean over iterations out of place, of NCCL's tests", iterations,
                  rate=size / seconds, library=library)  # fmt: skip
