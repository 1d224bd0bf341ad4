"""Output of the Intel MPI Benchmarks (IMB).

A table begins with `# Benchmarking NAME` and `# #processes = N`, has a line of columns,
`#bytes #repetitions t[usec] …`, and then a line for each length. A line of what ran out of time or memory ends with a
word and is left out. Where several groups of processes run side by side (`-multi`), the ranks are those of all groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from weft._core import UsageError
from weft.importing.figures import Counted, Dropped, Figure, Unread, Wrong, begins, numbers

_TITLE = re.compile(r"#\s*Benchmarking\s+(\S+)")
_PROCESSES = re.compile(r"#\s*\(?\s*#processes\s*=\s*(\d+)")
_GROUPS = re.compile(r"\(\s*(\d+)\s+groups? of\s+(\d+)\s+processes")
_MODE = re.compile(r"#\s*MODE:\s*(\S+)")
_SUITE = re.compile(r"#\s*(?:Intel ?\(R\) MPI Benchmarks|PALLAS MPI Benchmark Suite)\s+V?([\w.]+)")

_COLUMNS = re.compile(r"(?:Group\s+)?#\s?(?:bytes|repetitions)\b")
"""The line of columns; with a number of the group where each has lines of its own."""

_TIMES = (
    ("t[usec]", "mean over iterations"),
    ("t_avg[usec]", "mean over iterations and ranks"),
    ("t_ovrl[usec]", "mean over iterations, computation included"),
)
_PER_MESSAGE = ("imb-uniband", "imb-biband")


@dataclass
class _Table:
    name: str
    counted: Counted
    ranks: int | None = None
    columns: list[str] = field(default_factory=list)


def figures(
    lines: Sequence[str], where: str, ranks: int | None, benchmark: str | None
) -> Iterator[Figure | Unread | Dropped | Wrong]:
    """The figures of every table of the file; tables say what was run on how many ranks."""
    table: _Table | None = None
    version = ""
    for line in lines:
        if begins(line) and table is not None:
            yield from table.counted.unread()
            table = None
        if (suite := _SUITE.match(line)) is not None:
            version = suite.group(1)
        elif (title := _TITLE.match(line)) is not None:
            table = _Table("imb-" + title.group(1).lower().replace("_", "-"), Counted(line))
        elif table is None:
            continue
        elif (processes := _PROCESSES.match(line)) is not None:
            table.ranks = int(processes.group(1))
        elif (groups := _GROUPS.search(line)) is not None:
            # Several groups at once are another benchmark than one alone.
            table.name += f"-{groups.group(1)}-groups" if int(groups.group(1)) > 1 else ""
            table.ranks = int(groups.group(1)) * int(groups.group(2))
        elif (mode := _MODE.match(line)) is not None:
            table.name += f"-{mode.group(1).lower()}"
        elif _COLUMNS.match(line):
            table.columns = line.replace("#", "").split()
        else:
            values = numbers(line, len(table.columns)) if table.columns else None
            figure = None
            if values is not None:
                named = dict(zip(table.columns, values, strict=True))
                # Builds that check data count what was wrong.
                if named.get("defects", 0) > 0:
                    table.counted.count(line, True)
                    yield Wrong(table.name, int(named.get("bytes", 0)))
                    continue
                figure = _figure(table, named, version, _counted(table, ranks, where))
            table.counted.count(line, figure is not None)
            if figure is not None:
                yield figure
    if table is not None:
        yield from table.counted.unread()


def _counted(table: _Table, ranks: int | None, where: str) -> int:
    count = table.ranks if table.ranks is not None else ranks
    if count is None:
        raise UsageError(
            f"{where}: the table of {table.name} does not say how many ranks ran; say how many there were: --ranks N"
        )
    return count


def _figure(table: _Table, values: dict[str, float], version: str, count: int) -> Figure | None:
    """One line; None where its time was too short to be printed, or nothing was timed."""
    tool = f"IMB {version}".strip() + (f", group {values['Group']:.0f}" if "Group" in values else "")
    length = int(values["bytes"]) if "bytes" in values else None
    iterations = int(values["repetitions"]) if "repetitions" in values else None
    if iterations is not None and iterations < 1:
        return None
    for column, statistic in _TIMES:
        if column in values:
            seconds = values[column] / 1e6
            if seconds <= 0:
                return None
            return Figure(table.name, count, length, seconds, f"{statistic}, of {tool}", iterations)
    messages = values.get("Msg/sec")
    if table.name not in _PER_MESSAGE or not messages or not length:
        return None
    # Rates are those of all pairs together, and of both ways where messages go both ways at one time.
    directions = 2 if table.name == "imb-biband" else 1
    seconds = directions * max(count // 2, 1) / messages
    return Figure(table.name, count, length, seconds, f"of a mean rate, of {tool}", iterations, rate=length * messages)
