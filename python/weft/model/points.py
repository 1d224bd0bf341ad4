"""From samples to the points of a fit: one median a length and number of hops, with its spread over launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from weft.model.lines import Floats
from weft.samples.dependence import mean_inflation

MIN_LAUNCHES = 4
"""The fewest launches that are resampled: fewer say too little of what another launch would give."""


@dataclass(frozen=True)
class Points:
    """The points of one curve, by ascending length and then hops.

    Attributes
    ----------
    bytes, hops, seconds
        One entry a point: length, links crossed (0 where that does not apply) and median seconds over launches.
    launches
        Seconds of each launch (rows) at each point (columns); NaN where a launch has none.
    weights
        Inverse relative standard errors, up to a factor, with mean 1.
    covariance
        Of the relative errors of `seconds`, where launches were chosen and choosing again from others tells it; without
        it the launches are resampled as they are.
    """

    bytes: Floats
    hops: Floats
    seconds: Floats
    launches: Floats
    weights: Floats
    covariance: Floats | None = None

    def __len__(self) -> int:
        return len(self.bytes)

    @property
    def inflation(self) -> float:
        """How much more medians over launches vary than those of independent ones, by all points together."""
        return mean_inflation([column[~np.isnan(column)] for column in self.launches.T])

    def select(self, chosen: np.ndarray) -> Points:
        """The points where `chosen` is true."""
        covariance = None if self.covariance is None else self.covariance[np.ix_(chosen, chosen)]
        return Points(
            self.bytes[chosen], self.hops[chosen], self.seconds[chosen], self.launches[:, chosen],
            self.weights[chosen], covariance,
        )  # fmt: skip

    def chosen_again(self, others: Sequence[Points], left_out: float) -> Points:
        """With the covariance that points of the same measurement without a share of its launches show.

        That of the delete-d jackknife (J. Shao, C. F. J. Wu, Annals of Statistics 17 (1989) 1176): mean products of
        differences, times the launches that stay over those left out. A point that one of them lacks does not differ.
        """
        differences = np.zeros((len(others), len(self)))
        position = {key: index for index, key in enumerate(zip(self.bytes, self.hops, strict=True))}
        for row, other in zip(differences, others, strict=True):
            for length, hops, seconds in zip(other.bytes, other.hops, other.seconds, strict=True):
                index = position.get((length, hops))
                if index is not None:
                    row[index] = seconds / self.seconds[index] - 1.0
        scale = (1.0 - left_out) / left_out
        return replace(self, covariance=scale * differences.T @ differences / len(others))


def launch_of(samples: pl.DataFrame) -> pl.Expr:
    """What tells the launches of samples apart, as a column `launch`: theirs, or else `repetition`."""
    launch = pl.coalesce("launch", "repetition") if "launch" in samples.columns else pl.col("repetition")
    return launch.alias("launch")


def points_of(samples: pl.DataFrame, hops: int = 0) -> Points:
    """The points in samples of one benchmark on one machine.

    Parameters
    ----------
    samples
        Valid samples. `launch`, where the table has it, or else `repetition` tells launches apart.
    hops
        What empty hops count as (a real machine seldom knows them).
    """
    table = (
        samples.select(pl.col("bytes"), pl.col("hops").fill_null(hops), launch_of(samples), pl.col("seconds"))
        .group_by("bytes", "hops", "launch")
        .agg(pl.col("seconds").median())
        .sort("launch", "bytes", "hops")
    )
    by_launch = table.pivot("launch", index=["bytes", "hops"], values="seconds").sort("bytes", "hops")
    launches = by_launch.drop("bytes", "hops").to_numpy().astype(float).T
    seconds = np.nanmedian(launches, axis=0)
    return Points(
        by_launch["bytes"].to_numpy().astype(float),
        by_launch["hops"].to_numpy().astype(float),
        seconds,
        launches,
        _weights(launches, seconds),
    )


def _weights(launches: Floats, seconds: Floats) -> Floats:
    """Weights from the spread over launches.

    The spread of a handful of launches is itself uncertain, and a straight line is never exact: the typical standard
    error is added to each, so that no point has more than sqrt(2) times the weight of a typical one.
    """
    counts = np.sum(~np.isnan(launches), axis=0)
    if counts.min() < MIN_LAUNCHES:
        return np.ones(len(seconds))
    spread = np.nanmedian(np.abs(launches - seconds), axis=0) / 0.6744897501960817 / seconds
    # The standard error of a median of n normal values is sqrt(pi/2 n) deviations.
    errors = spread * np.sqrt(np.pi / 2.0 / counts)
    typical = float(np.median(errors))
    if typical == 0.0:
        return np.ones(len(seconds))
    weights = 1.0 / np.sqrt(errors**2 + typical**2)
    return np.asarray(weights / weights.mean())
