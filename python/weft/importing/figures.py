"""What the readers of other tools' output have in common: one figure, and lines without the labels of launchers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

MEGABYTE = 1e6
"""Bytes of the MB of OSU's and Intel's rates, which are decimal (their manuals, `MB/s` and `Mbytes/sec`)."""

_LABEL = re.compile(
    r"^\s*(?:>\s?)*(?:\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?Z?\]?\s)?"
    r"(?:\([^()]*\bpid=\d+[^()]*\)\s?)?"
    r"(?:\[\d+(?:,\d+)?\](?:<std(?:out|err)>)?:?|<?\d+>?:)?\s?(?=\s*(?:[#\d(]|Overall|Group\b|Rank\b|size\b|nThread\b))"
)
"""What stands before a line: quotation marks of mails, the time in logs of servers, and what launchers write to tell
ranks apart, `(head, pid=7)`, `[1,0]<stdout>:`, `[0]`, `0:`."""

_BEGINS = re.compile(
    r"#\s*(?:(?:\w+ Modified )?OSU\b.*(?:\bTest\b|\bVersion\b|\bv\d)|Benchmarking\s|Intel ?\(R\) MPI|PALLAS MPI)"
    r"|#?\s*(?:nThread\s+\d|size\s+count\s+type\b)",
    re.IGNORECASE,
)


def begins(line: str) -> bool:
    """Whether a line begins a table, or the output, of any of the tools: what was before it has ended."""
    return _BEGINS.match(line) is not None


@dataclass(frozen=True)
class Unread:
    """A table whose lines have numbers, none of which could be read.

    Attributes
    ----------
    title
        The line that it begins with.
    """

    title: str


@dataclass(frozen=True)
class Dropped:
    """A line of numbers of a table of which other lines were read, and that is no measurement: `nan`, a time below 0.
    A time of 0.00, which was too short to be printed, is left out without a word.

    Attributes
    ----------
    title
        The line that the table begins with.
    line
        The line.
    """

    title: str
    line: str


@dataclass(frozen=True)
class Wrong:
    """A line of a table whose data the benchmark itself found to be wrong: no measurement.

    Attributes
    ----------
    benchmark
        The tool's own name of it, as aliases are written.
    size
        The size that the line begins with, B.
    """

    benchmark: str
    size: int


class Counted:
    """Whether a table that has lines of numbers gave figures."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.lines = 0
        self.figures = 0
        self.dropped: list[str] = []

    def count(self, line: str, read: bool) -> None:
        """Count a line of the table, and whether a figure came of it."""
        self.lines += numbers(line) is not None
        self.figures += read
        if not read and not all(0.0 <= value < math.inf for value in _floats(line)):
            self.dropped.append(line)

    def unread(self) -> Iterator[Unread | Dropped]:
        """The table, if it had numbers and gave no figure; else its lines that can be none."""
        if (self.lines or self.dropped) and not self.figures:
            yield Unread(self.title)
        elif self.figures:
            yield from (Dropped(self.title, line) for line in self.dropped)


@dataclass(frozen=True)
class Figure:
    """One line of a table of some benchmark.

    Attributes
    ----------
    benchmark
        The tool's own name of it, as aliases are written: `osu-latency`.
    ranks
        How many ranks ran.
    bytes
        Length of a message, or of a rank's block, B; None where there is none (barriers).
    seconds
        Time of one operation, s.
    note
        Which statistic of what it is.
    iterations
        Timed iterations, where the output says it.
    rate
        Bytes a second, where the benchmark measures a rate.
    library
        The library, where the output names it.
    synchronization
        How one-sided accesses are completed, by weft's name, where the output says it.
    window
        Messages in flight, where the output says that they are not as many as usual.
    """

    benchmark: str
    ranks: int
    bytes: int | None
    seconds: float
    note: str
    iterations: int | None = None
    rate: float | None = None
    library: str | None = None
    synchronization: str | None = None
    window: int | None = None

    def row(self) -> dict[str, object]:
        """The figure as a row of samples, without machine and repetition."""
        return {
            "source": "measured",
            "benchmark": self.benchmark,
            "ranks": self.ranks,
            "hops": None,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "rate": self.rate,
            "iterations": self.iterations,
            "note": self.note,
            "library": self.library,
            **({} if self.synchronization is None else {"synchronization": self.synchronization}),
            **({} if self.window is None else {"window": self.window}),
        }


def lines_of(text: str) -> list[str]:
    """The lines, without what launchers write before them."""
    return [_LABEL.sub("", line).strip() for line in text.splitlines()]


def numbers(line: str, count: int | None = None) -> list[float] | None:
    """The numbers of a line that has nothing else, and as many as are expected; else None."""
    values = _floats(line)
    if not values or not all(map(math.isfinite, values)) or (count is not None and len(values) != count):
        return None
    return values


def _floats(line: str) -> list[float]:
    """The words of a line where all are floats, `nan` among them; else none."""
    try:
        return [float(word) for word in line.split()]
    except ValueError:
        return []
