"""What the times of pairs should be: by another measurement, by a described machine, or by what is common to all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from weft._core import UsageError
from weft.health.pairs import Matrix, PairTimes, over
from weft.inputs import quoted

_POLISHES = 10
"""Passes of a median polish; two or three suffice (Tukey 1977)."""

_NOISES_APART = 3.0
"""Groups are told apart where they are so many standard errors of noise apart, and by at least `_APART`."""

_APART = 0.04
_MIN_GROUP = 2


@dataclass(frozen=True)
class Residuals:
    """What is left of the log times.

    Attributes
    ----------
    values
        By length, sender and receiver: the logarithm of measured over expected time.
    quickest
        The same of the quickest launch of every pair, less its median.
    shift
        By length: what all pairs have in common, where there is an expectation, else 0.
    groups
        The group of every node, as inferred from the distances; all 0 where there is one group, or none is inferred.
    is_compared
        Whether there is an expectation from elsewhere.
    """

    values: Matrix
    quickest: Matrix
    shift: Matrix
    groups: npt.NDArray[np.int64]
    is_compared: bool


def compared(measured: PairTimes, expected: PairTimes, origin: str = "the baseline") -> Residuals:
    """Measured against expected: launch by launch where both have the same launches, else the medians over launches.

    Launches of one number meet in the same rounds, so what pairs take from each other is in both.

    Raises
    ------
    UsageError
        If the expectation lacks nodes or lengths.
    """
    absent = [name for name in measured.names if name not in expected.names]
    if absent:
        raise UsageError(
            f"{origin} has no node {quoted(absent[0])}"
            + (f" and {len(absent) - 1} others" if len(absent) > 1 else "")
            + "; compare with a baseline of the same nodes"
        )
    lacking = [length for length in measured.lengths if length not in expected.lengths]
    if lacking:
        raise UsageError(f"{origin} has no messages of {lacking[0]} bytes; measure with its lengths: --bytes")
    at = [expected.names.index(name) for name in measured.names]
    logs = expected.logs[:, [expected.lengths.index(length) for length in measured.lengths]][:, :, at][:, :, :, at]
    if expected.launches == measured.launches:
        values = over(np.nanmedian, measured.logs - logs, 0)
    else:
        values = over(np.nanmedian, measured.logs, 0) - over(np.nanmedian, logs, 0)
    shift = over(np.nanmedian, values, (1, 2))
    groups = np.zeros(measured.nodes, np.int64)
    quickest = over(np.nanmin, measured.logs, 0) - over(np.nanmin, logs, 0)
    quickest = quickest - over(np.nanmedian, quickest, (1, 2), keepdims=True)
    return Residuals(values - shift[:, None, None], quickest, shift, groups, True)


def by_itself(measured: PairTimes) -> Residuals:
    """Against the median of the pairs at the same inferred distance.

    Of each pair the launch in which it was quickest counts: then it shared nothing with others.
    """
    quickest = over(np.nanmin, measured.logs, 0)
    groups = inferred_groups(quickest)
    same = groups[:, None] == groups
    values = quickest.copy()
    for length in range(len(measured.lengths)):
        for of_class in (same, ~same):
            cells = of_class & np.isfinite(values[length])
            if cells.any():
                values[length][cells] -= np.median(values[length][cells])
    return Residuals(values, values, np.zeros(len(measured.lengths)), groups, False)


def inferred_groups(logs: Matrix) -> npt.NDArray[np.int64]:
    """The group of every node, by the distances of short messages: nodes under one switch are nearer to each other.

    Node effects are taken out (median polish, Tukey 1977), the rest is clustered (average linkage), and the tree is cut
    where its heights jump most; a jump that is not far above the noise is none.

    Examples
    --------
    >>> times = np.full((1, 6, 6), 0.3)
    >>> times[:, :3, :3] = times[:, 3:, 3:] = 0.0
    >>> [int(group) for group in inferred_groups(times)]
    [0, 0, 0, 1, 1, 1]
    """
    count = logs.shape[1]
    alone = np.zeros(count, np.int64)
    distances = polished(logs[0])
    distances = (distances + distances.T) / 2.0
    np.fill_diagonal(distances, np.nan)
    if count < 2 * _MIN_GROUP or not np.isfinite(distances[~np.eye(count, dtype=bool)]).all():
        return alone
    low = float(np.nanmin(distances))
    lengths = np.nan_to_num(distances - low, nan=0.0)
    tree = hierarchy.linkage(squareform(lengths, checks=False), "average")
    heights = tree[:, 2]
    jump = int(np.argmax(np.diff(heights)))
    cut = (heights[jump] + heights[jump + 1]) / 2.0
    labels = hierarchy.fcluster(tree, cut, "distance")
    _, first, position = np.unique(labels, return_index=True, return_inverse=True)
    groups = np.argsort(np.argsort(first))[position].astype(np.int64)
    return groups if _are_apart(distances, groups) else alone


def _are_apart(distances: Matrix, groups: npt.NDArray[np.int64]) -> bool:
    """Whether nodes of different groups are farther apart than those of one, beyond noise, and groups are groups."""
    if np.bincount(groups).min() < _MIN_GROUP:
        return False
    same = groups[:, None] == groups
    known = np.isfinite(distances)
    inside, across = distances[same & known], distances[~same & known]
    if not inside.size or not across.size:
        return False
    gap = float(np.median(across) - np.median(inside))
    noise = max(spread(inside), spread(across))
    return bool(gap > max(_APART, _NOISES_APART * noise / np.sqrt(min(inside.size, across.size)), noise))


def polished(matrix: Matrix) -> Matrix:
    """A matrix without the effects of its rows and columns, by median polish; the overall median stays."""
    left = matrix.copy()
    overall = float(np.nanmedian(left))
    left -= overall
    for _ in range(_POLISHES):
        left = left - over(np.nanmedian, left, 1, keepdims=True)
        left = left - over(np.nanmedian, left, 0, keepdims=True)
    return left + overall


def spread(values: Matrix) -> float:
    """A robust standard deviation: the median distance from the median, as a normal distribution has it."""
    known = values[np.isfinite(values)]
    return 1.4826 * float(np.median(np.abs(known - np.median(known)))) if known.size else 0.0
