"""Medians over launches with intervals that allow for dependence between launches, and whether they have converged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from weft.samples.dependence import inflation
from weft.samples.schema import PARAMETERS, SamplesError, validate

DEFAULT_CONFIDENCE = 0.95
"""Coverage asked of the interval of a median."""

DEFAULT_HALF_WIDTH = 0.05
"""A median has converged when the half-width of its interval is at most this share of it."""

ASKED_ONCE = "asked once"
"""The `status` of what the system was asked: an answer, no time that launches could differ in."""

MINIMUM_LAUNCHES = 20
"""The fewest launches with a 95% interval of the median: of fewer, dependence between launches cannot be estimated."""

RANGE = 9
"""Of up to so many launches, the interval is their range."""

QUANTILE = 1.85 / 1.96
"""Deviations of an interval from the median, relative to those of the normal distribution. Below 1, since dependence is
never taken to be negative, and so for a little more than it is where there is none; from the simulation in
`benches/study/coverage.py`, whose record has the coverage of every kind of noise."""

MIN_COVERAGE = (
    0.0, 0.0, 0.25, 0.42, 0.56, 0.66, 0.74, 0.80, 0.84, 0.87, 0.88, 0.89, 0.90, 0.91, 0.92, 0.92, 0.93, 0.93, 0.94, 0.94
)  # fmt: skip
"""By number of launches the coverage of intervals with fewer than `MINIMUM_LAUNCHES`, where launches are correlated as
AR(1) noise with 0.6 is, normal, log-normal or with Student's t of two degrees of freedom; of independent launches it is
up to 10% more from six launches on. From the same simulation."""


@dataclass(frozen=True)
class MedianInterval:
    """The median of values and an interval for the median of what they are drawn from.

    Attributes
    ----------
    median, low, high
        In the unit of the values.
    coverage
        Probability with which such an interval holds the median: the confidence that was asked for, or where the values
        are too few for it the least that they give, if they are correlated by 0.6.
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
    """The median of values in the order of their launches, with an interval that allows for dependence between them.

    The number of n values below the true median has the mean n/2 and, where they are independent, the variance n/4;
    dependence multiplies that by the inflation that is estimated from the values themselves (`weft.samples.dependence`,
    which does not ask how they are distributed). So the interval is between the order statistics (n + 1)/2 plus and
    minus that many deviations, interpolated linearly (H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., section
    7.1; T. P. Hettmansperger, S. J. Sheather, Statistics & Probability Letters 4 (1986) 75). Its coverage was
    simulated, `benches/study/coverage.py`. Up to `RANGE` values it is their range, and `coverage` says what that is
    worth.

    Parameters
    ----------
    values
        At least one value, in the order in which they were measured.
    confidence
        Coverage asked for, between 0 and 1.

    Examples
    --------
    >>> interval = median_interval([1.0, 1.1, 1.2, 1.3, 1.4, 9.0])
    >>> interval.median, interval.low, interval.high, interval.coverage
    (1.25, 1.0, 9.0, 0.74)
    >>> median_interval([1.0, 1.2] * 15).coverage
    0.95
    """
    series = np.asarray(values, dtype=float)
    count = len(series)
    if count == 0:
        raise ValueError("the median of no values is not defined")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"expected a confidence between 0 and 1, found {confidence}")
    ordered = np.sort(series)
    away = (count - 1) / 2.0
    if count > RANGE:
        deviations = QUANTILE * NormalDist().inv_cdf(0.5 + confidence / 2.0)
        away = min(away, deviations * 0.5 * (count * inflation(series)) ** 0.5)
    middle = (count - 1) / 2.0
    low, high = np.interp([middle - away, middle + away], np.arange(count), ordered)
    coverage = min(confidence, MIN_COVERAGE[count]) if count < MINIMUM_LAUNCHES else confidence
    return MedianInterval(float(np.median(ordered)), float(low), float(high), coverage, count)


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
        `quiet_seconds`, `slowdown` and `overlap` where the table has them (medians; largest share over launches), and
        `note`. Sorted by `by`.

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
            ("overlap", pl.col("overlap").median()),
            ("rate_unit", pl.col("rate_unit").drop_nulls().first()),
            ("status", pl.col("status").last()),
            ("_work", pl.col("_work").median()),
        )
        if name in table.columns
    ]
    if "launch" in table.columns:
        launch = pl.coalesce(pl.col("launch"), pl.col("repetition")).alias("launch")
        table = table.group_by(*keys, launch, maintain_order=True).agg(pl.col("seconds").median(), *extra)
    # Launches that follow each other are alike, which their interval allows for.
    table = table.sort("launch" if "launch" in table.columns else "repetition", maintain_order=True)
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
        # Memory and working sets have bytes too, but nothing moves them once: only the benchmark knows its work. Nor is
        # a message moved by what a processor does about it.
        if "variant" in keys:
            sent = pl.when(pl.col("variant").is_null()).then(sent)
        if "benchmark" in keys:
            sent = pl.when(~pl.col("benchmark").is_in(OVERHEADS)).then(sent)
        work.append(sent)
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
    launches
        The fewest launches of a point, if no interval of so few covers as much as it is to; None where all have enough.
    """

    points: int
    loose: int
    widest: float | None
    launches: int | None = None

    def __str__(self) -> str:
        """In words, for people.

        >>> str(Convergence(270, 117, 0.4))
        '117 of 270 points not converged; the widest interval is ±40%'
        >>> str(Convergence(3, 0, 0.02))
        'all of 3 points converged; the widest interval is ±2%'
        >>> str(Convergence(3, 3, 0.02, launches=6))
        '3 of 3 points not converged, as 6 launches are fewer than the 20 of a 95% interval; the widest interval is ±2%'
        """
        known = f"{self.loose} of {self.points} points not converged"
        known = known if self.loose else f"all of {self.points} points converged"
        if self.launches is not None:
            count = f"{self.launches} launches are" if self.launches > 1 else "1 launch is"
            known += f", as {count} fewer than the {MINIMUM_LAUNCHES} of a {DEFAULT_CONFIDENCE:.0%} interval"
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
    few = known.filter(known["launches"] < MINIMUM_LAUNCHES)["launches"]
    return Convergence(
        len(known), int((~known["converged"]).sum()), widest, None if few.is_empty() else int(str(few.min()))
    )


def coverage_words(summary: pl.DataFrame) -> str:
    """What the intervals of a summary cover, for the head of their column: the least of them, as few launches have.

    Parameters
    ----------
    summary
        As :func:`summarise` makes it.

    Examples
    --------
    >>> coverage_words(pl.DataFrame({"launches": [6, 30, 1], "coverage": [0.74, 0.95, 0.0]}))
    '≥74%'
    """
    known = summary.filter(pl.col("launches") > 1)["coverage"]
    least = DEFAULT_CONFIDENCE if known.is_empty() else float(str(known.min()))
    return f"{least:.0%}" if least >= DEFAULT_CONFIDENCE else f"≥{least:.0%}"


OVERHEADS = ("send-overhead", "receive-overhead")
"""Benchmarks of what a message takes of the processor at one end."""

_EXTRA = ("rate", "rate_unit", "seconds_p10", "share_above_3x", "quiet_seconds", "slowdown", "overlap")

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
            f"whose interval is sure to cover the median with {interval.coverage:.0%} only, not {confidence:.0%}"
        )
    elif interval.half_width > half_width:
        converged, note = False, f"NOT CONVERGED: half-width {interval.half_width:.1%} of the median"
    else:
        converged, note = True, ""
    width = interval.half_width
    return interval.count, interval.median, interval.low, interval.high, interval.coverage, width, converged, note
