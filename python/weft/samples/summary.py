"""Medians over launches with nonparametric intervals, and whether they have converged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from weft.samples.schema import PARAMETERS, SamplesError, validate

DEFAULT_CONFIDENCE = 0.95
"""Coverage asked of the interval of a median."""

DEFAULT_HALF_WIDTH = 0.05
"""A median has converged when the half-width of its interval is at most this share of it."""

ASKED_ONCE = "asked once"
"""The `status` of what the system was asked: an answer, no time that launches could differ in."""

MINIMUM_LAUNCHES = 6
"""The fewest launches with a 95% interval of the median: their range covers it with probability 1 - 2/2^6 = 97%."""


@dataclass(frozen=True)
class MedianInterval:
    """The median of independent values and an interval for the median of what they are drawn from.

    Attributes
    ----------
    median, low, high
        In the unit of the values.
    coverage
        Probability that such an interval holds the median, whatever the distribution.
    count
        How many values.
    """

    median: float
    low: float
    high: float
    coverage: float
    count: int

    @property
    def half_width(self) -> float:
        """Half the width of the interval as a share of the median."""
        return (self.high - self.low) / 2.0 / self.median if self.median else float("nan")


def median_interval(values: ArrayLike, confidence: float = DEFAULT_CONFIDENCE) -> MedianInterval:
    """The median with its nonparametric interval.

    The interval is from the j-th smallest to the j-th largest of n values; the number of values below the true median
    is binomial (n, 1/2), so it covers with probability 1 - 2 P(B <= j - 1). The largest j that reaches `confidence` is
    used; if none does, the range of the values, and `coverage` says what that is worth. (H. A. David, H. N. Nagaraja,
    Order Statistics, 3rd ed., section 7.1.)

    Parameters
    ----------
    values
        At least one value.
    confidence
        Coverage asked for, between 0 and 1.

    Examples
    --------
    >>> interval = median_interval([1.0, 1.1, 1.2, 1.3, 1.4, 9.0])
    >>> interval.median, interval.low, interval.high, round(interval.coverage, 3)
    (1.25, 1.0, 9.0, 0.969)
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    count = len(ordered)
    if count == 0:
        raise ValueError("the median of no values is not defined")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"expected a confidence between 0 and 1, found {confidence}")
    # Takes longer to import than all else that a rank of a user's program does at its start.
    from scipy import stats

    below = max(int(stats.binom.ppf((1.0 - confidence) / 2.0, count, 0.5)) - 1, 0)
    while below + 1 < (count + 1) // 2 and _coverage(below + 1, count) >= confidence:
        below += 1
    return MedianInterval(
        float(np.median(ordered)),
        float(ordered[below]),
        float(ordered[count - 1 - below]),
        _coverage(below, count),
        count,
    )


def _coverage(below: int, count: int) -> float:
    """Coverage of the interval that leaves `below` values out on each side."""
    from scipy import stats

    return max(0.0, 1.0 - 2.0 * float(stats.binom.cdf(below, count, 0.5)))


def summarise(
    table: pl.DataFrame,
    by: Sequence[str] | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    half_width: float = DEFAULT_HALF_WIDTH,
) -> pl.DataFrame:
    """One row for each set of parameters: the median over launches, its interval, and whether it has converged.

    Parameters
    ----------
    table
        A table of samples. Rows that share a `launch` (if there is that column) count as one: their median.
    by
        Columns whose values set groups apart; default: the parameters of the schema that the table has.
    confidence
        Coverage asked of the interval.
    half_width
        Largest half-width of a converged median, as a share of it.

    Returns
    -------
    polars.DataFrame
        The columns of `by`, then `launches`, `seconds` (median), `seconds_low`, `seconds_high`, `coverage`,
        `half_width` (share of the median), `converged` (null where there is nothing to converge: a single simulated,
        predicted or published value has no spread, what the system was asked once has none either), `rate` (work of one
        operation over `seconds`, in `rate_unit`, B/s where that is empty), `seconds_p10`, `share_above_3x`,
        `quiet_seconds` and `slowdown` where the table has them (medians; largest share over launches), and `note`.
        Sorted by `by`.

    Examples
    --------
    >>> import weft
    >>> summary = summarise(weft.simulate("ipsc860", "echo", bytes=(8, 1024)))
    >>> summary["bytes"].to_list()
    [8, 1024]
    """
    table = validate(table)
    keys = [name for name in PARAMETERS if name in table.columns] if by is None else list(by)
    unknown = [name for name in keys if name not in table.columns]
    if unknown:
        raise SamplesError(f"there is no column {unknown[0]!r} to group by; the table has {', '.join(table.columns)}")
    if "rate" in table.columns:
        table = table.with_columns((pl.col("rate") * pl.col("seconds")).alias("_work"))
    extra = [
        expression
        for name, expression in (
            ("seconds_p10", pl.col("seconds_p10").median()),
            ("share_above_3x", pl.col("share_above_3x").max()),
            ("quiet_seconds", pl.col("quiet_seconds").median()),
            ("slowdown", pl.col("slowdown").median()),
            ("rate_unit", pl.col("rate_unit").drop_nulls().first()),
            ("status", pl.col("status").last()),
            ("_work", pl.col("_work").median()),
        )
        if name in table.columns
    ]
    if "launch" in table.columns:
        launch = pl.coalesce(pl.col("launch"), pl.col("repetition")).alias("launch")
        table = table.group_by(*keys, launch, maintain_order=True).agg(pl.col("seconds").median(), *extra)
    groups = table.group_by(keys, maintain_order=True).agg(pl.col("seconds").alias("values"), *extra)
    sources = groups["source"].to_list() if "source" in keys else ["measured"] * len(groups)
    asked = groups["status"].eq(ASKED_ONCE).to_list() if "status" in groups.columns else [False] * len(groups)
    rows = [
        _row(values, "asked" if once else source, confidence, half_width)
        for values, source, once in zip(groups["values"].to_list(), sources, asked, strict=True)
    ]
    figures = pl.DataFrame(rows, schema=_FIGURES, orient="row")
    summary = pl.concat([groups.drop("values"), figures], how="horizontal")
    work = [pl.col("_work")] if "_work" in summary.columns else []
    if "bytes" in keys:
        sent = pl.col("bytes")
        # Memory and working sets have bytes too, but nothing moves them once: only the benchmark knows its work.
        work.append(pl.when(pl.col("variant").is_null()).then(sent) if "variant" in keys else sent)
    if work:
        summary = summary.with_columns((pl.coalesce(*work) / pl.col("seconds")).alias("rate"))
    order = [*keys, *_FIGURES, *(name for name in _EXTRA if name in summary.columns)]
    return summary.select([n for n in order if n != "note"] + ["note"]).sort(keys, nulls_last=True)


class Convergence(NamedTuple):
    """How many points of a summary have an interval that is to be narrow, how many have not, and the widest of all.

    Attributes
    ----------
    points
        Points that converge or not: what is simulated, predicted, published or asked once is none.
    loose
        Those that have not converged.
    widest
        The largest half-width, as a share of the median; None where a point has one launch only, and so no interval.
    """

    points: int
    loose: int
    widest: float | None

    def __str__(self) -> str:
        """In words, for people.

        >>> str(Convergence(270, 117, 0.4))
        '117 of 270 points not converged; the widest interval is ±40%'
        >>> str(Convergence(3, 0, 0.02))
        'all of 3 points converged; the widest interval is ±2%'
        """
        known = f"{self.loose} of {self.points} points not converged"
        known = known if self.loose else f"all of {self.points} points converged"
        return known if self.widest is None else f"{known}; the widest interval is ±{self.widest:.0%}"


def convergence(summary: pl.DataFrame) -> Convergence:
    """What a summary says of convergence: the one count, for console, report and tables.

    Parameters
    ----------
    summary
        As :func:`summarise` makes it.
    """
    known = summary.filter(pl.col("converged").is_not_null())
    has_intervals = not known.is_empty() and bool((known["launches"] > 1).all())
    widest = float(str(known["half_width"].max())) if has_intervals else None
    return Convergence(len(known), int((~known["converged"]).sum()), widest)


_EXTRA = ("rate", "rate_unit", "seconds_p10", "share_above_3x", "quiet_seconds", "slowdown")

_FIGURES: dict[str, pl.DataType] = {
    "launches": pl.Int64(),
    "seconds": pl.Float64(),
    "seconds_low": pl.Float64(),
    "seconds_high": pl.Float64(),
    "coverage": pl.Float64(),
    "half_width": pl.Float64(),
    "converged": pl.Boolean(),
    "note": pl.String(),
}


def _row(values: list[float], source: str, confidence: float, half_width: float) -> tuple[object, ...]:
    """The figures of one group, in the order of `_FIGURES`."""
    interval = median_interval(values, confidence)
    converged: bool | None
    if source != "measured" and interval.count == 1:
        converged, note = None, ""
    elif interval.coverage < confidence:
        converged = False
        note = (
            f"NOT CONVERGED: {interval.count} launch{'es' if interval.count > 1 else ''}, "
            f"whose range covers the median with {interval.coverage:.0%}, not {confidence:.0%}"
        )
    elif interval.half_width > half_width:
        converged, note = False, f"NOT CONVERGED: half-width {interval.half_width:.1%} of the median"
    else:
        converged, note = True, ""
    width = interval.half_width
    return interval.count, interval.median, interval.low, interval.high, interval.coverage, width, converged, note
