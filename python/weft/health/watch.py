"""Health over time: what each check adds to a history, and since when a node is slower or quicker."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from weft import units
from weft._core import UsageError
from weft.extras import require
from weft.health.diagnosis import Diagnosis
from weft.health.pairs import Matrix, over
from weft.inputs import path_shown

MIN_CHECKS = 6
"""The fewest checks in which a change is looked for: three before it and three after it."""

_MIN_SEGMENT = 3
_PENALTY = 3.0
"""Of a change, in units of twice the noise's variance times the logarithm of the number of checks (1 is the criterion
of Schwarz 1978; 3 allows for noise that is estimated)."""

_FLOOR = 0.005
"""The least noise of a log time from check to check."""

SCHEMA = {
    "time": pl.String,
    "machine": pl.String,
    "node": pl.String,
    "bytes": pl.Int64,
    "seconds": pl.Float64,
    "verdict": pl.String,
}
"""The columns of a history: one row a check, node and length; `seconds` is the median over the node's pairs."""


@dataclass(frozen=True)
class Change:
    """A node whose messages take longer, or less, since some check.

    Attributes
    ----------
    node, length
        Which node, at which length in bytes.
    since
        When the first check after the change began.
    factor
        The time after over the time before.
    """

    node: str
    length: int
    since: str
    factor: float

    def __str__(self) -> str:
        word = "longer" if self.factor > 1.0 else "less"
        return (
            f"since {self.since} messages with node {self.node} take {word}: {self.factor:.2f} times the time before, "
            f"at {units.length(self.length)}"
        )


def check_rows(diagnosis: Diagnosis, machine: str, time: str) -> pl.DataFrame:
    """What a check adds to a history."""
    rows = []
    verdict = diagnosis.verdict.name.lower()
    logs = over(np.nanmedian, diagnosis.times.logs, 0)
    for index, length in enumerate(diagnosis.times.lengths):
        both = over(np.nanmedian, np.concatenate([logs[index], logs[index].T], axis=1), 1)
        rows += [
            (time, machine, name, length, float(np.exp(value)), verdict)
            for name, value in zip(diagnosis.times.names, both, strict=True)
            if np.isfinite(value)
        ]
    return pl.DataFrame(rows, SCHEMA, orient="row")


def content(history: pl.DataFrame) -> bytes:
    """A history as a file has it."""
    buffer = io.BytesIO()
    history.write_parquet(buffer)
    return buffer.getvalue()


def appended(path: Path, rows: pl.DataFrame) -> pl.DataFrame:
    """The history in a file, if there is one, with further rows.

    Raises
    ------
    weft.UsageError
        If the file is no history, or that of another machine.
    """
    if not path.exists():
        return rows
    try:
        before = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UsageError(f"{path_shown(path)}: expected a history in Parquet that weft health wrote: {error}") from None
    if before.schema != rows.schema:
        raise UsageError(
            f"{path_shown(path)}: expected the columns {', '.join(SCHEMA)} of a history that weft health wrote, found "
            f"{', '.join(before.columns)}; name another file with --watch"
        )
    others = set(before["machine"].unique()) - set(rows["machine"].unique())
    if others:
        raise UsageError(f"{path_shown(path)} is the history of {min(others)}; each machine has its own")
    return pl.concat([before, rows])


def checks(history: pl.DataFrame) -> int:
    """How many checks a history has of the node and length that it has most of."""
    counts = history.group_by("node", "bytes").len()["len"]
    return int(counts.sort().item(-1)) if len(counts) else 0


def changes(history: pl.DataFrame, least: float) -> list[Change]:
    """The last change of every node and length, where it is at least `least` as a share of the time.

    Segments of constant level are fitted to the logarithms by the exact search of PELT (Killick, Fearnhead and Eckley
    2012, Journal of the American Statistical Association 107), of the package ruptures.

    Raises
    ------
    weft.UsageError
        If that package is missing.

    Examples
    --------
    >>> times = [f"2026-01-{day:02}T06:00:00Z" for day in range(1, 13)]
    >>> rows = [(time, "here", "n1", 8, 1e-6 if day < 6 else 1.5e-6, "slow") for day, time in enumerate(times)]
    >>> str(changes(pl.DataFrame(rows, SCHEMA, orient="row"), 0.05)[0])
    'since 2026-01-07T06:00:00Z messages with node n1 take longer: 1.50 times the time before, at 8 B'
    """
    require("telling changes over time", "ruptures")
    listed = []
    for (node, length), rows in history.sort("time").group_by("node", "bytes", maintain_order=True):
        values = np.log(rows["seconds"].to_numpy())
        starts = change_points(values)
        if not starts:
            continue
        last = starts[-1]
        before = values[starts[-2] if len(starts) > 1 else 0 : last]
        factor = float(np.exp(np.median(values[last:]) - np.median(before)))
        if abs(np.log(factor)) >= np.log1p(least):
            listed.append(Change(str(node), int(str(length)), rows["time"][last], factor))
    return sorted(listed, key=lambda change: -abs(np.log(change.factor)))


def change_points(values: Matrix) -> Sequence[int]:
    """The first positions of all segments but the first."""
    from ruptures import Pelt

    if len(values) < MIN_CHECKS:
        return []
    steps = np.abs(np.diff(values))
    noise = max(1.4826 * float(np.median(steps)) / np.sqrt(2.0), _FLOOR)
    search = Pelt(model="l2", min_size=_MIN_SEGMENT, jump=1).fit(values / noise)
    ends: list[int] = search.predict(pen=_PENALTY * np.log(len(values)) * 2.0)
    return ends[:-1]
