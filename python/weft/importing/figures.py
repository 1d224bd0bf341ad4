"""What the readers of other tools' output have in common: one figure, and lines without the labels of launchers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

MEGABYTE = 1e6
"""Bytes of the MB of OSU's and Intel's rates, which are decimal (their manuals, `MB/s` and `Mbytes/sec`)."""

_LABEL = re.compile(r"^\s*(?:\[\d+(?:,\d+)?\](?:<std(?:out|err)>)?:?|<?\d+>?:)\s?(?=\s*[#\d(])")
"""What launchers write before a line to tell ranks apart: `[1,0]<stdout>:`, `[0]`, `0:`."""


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
    try:
        values = [float(word) for word in line.split()]
    except ValueError:
        return None
    if not values or not all(map(math.isfinite, values)) or (count is not None and len(values) != count):
        return None
    return values
