"""LogGP's parameters from measurements that take them apart: overheads of both ends, latency, gap, gap a byte.

A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, LogGP, SPAA 1995: a message of n bytes takes
o_s + L + (n - 1) G + o_r, and a processor sends no two within g. An echo knows their sum only. Two ranks tell the parts
by sends that nothing holds up and by receives that are delayed until their messages are there (`send-overhead`,
`receive-overhead`). With more ranks fans tell them too: one rank that sends to several at once is held up by its own
overhead and by nothing else, so that the time of one message tends to o_s as there are more of them; one rank that
receives from several, to o_r.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats

from weft.model.cache import Cache
from weft.model.curve import Curve, Estimate, Piece
from weft.model.ends import Ends, Parts, ends_of, gaps_of, medians, window_of
from weft.model.points import launch_of
from weft.samples.summary import MINIMUM_LAUNCHES, OVERHEADS, median_interval

SEND, RECEIVE, STREAM = "fan-out", "fan-in", "bandwidth"
"""The benchmarks that show an overhead of a sender, of a receiver, and the gap between two messages of a stream."""

SEND_ALONE, RECEIVE_ALONE = OVERHEADS
"""The benchmarks that are an overhead: where there are both, they count and fans do not."""

PARTS = (STREAM, SEND_ALONE, RECEIVE_ALONE)
"""The benchmarks of two ranks that tell the parts of a message apart."""

OWN_WINDOW, OWN_RECEIVES = 64, 16
"""The windows of `STREAM` and of `RECEIVE_ALONE` where their samples name none."""

MIN_NEIGHBOURS = 2
"""The fewest neighbours of a centre that is busier than each of them."""

SHORTEST = 64
"""The longest message, in bytes, that is taken for a short one."""


@dataclass(frozen=True)
class LogGP:
    """The parameters, in s and s/B, with intervals.

    Attributes
    ----------
    send_overhead, receive_overhead
        o_s and o_r: what a short message takes of the processor at each end.
    latency
        L: what is left of an echo of short messages, without their bytes but the first; 0 at least.
    gap
        g: time between two messages of a stream from one rank to another; None without samples of bandwidth.
    byte_gap
        G: the byte time of long messages.
    bytes
        The length of the short messages.
    ends
        Of every piece of the echo, what its messages take at either end and between them by their length: once, or
        twice where an end has a protocol that the echo does not show, and not at all for a piece without samples. Empty
        where fans told the ends apart, which know short messages only.
    cache
        What receives of long messages cost more where many are posted at one time; None where streams do not show it.
    """

    send_overhead: Estimate
    receive_overhead: Estimate
    latency: Estimate
    gap: Estimate | None
    byte_gap: Estimate
    bytes: int
    ends: tuple[tuple[Ends, ...], ...] = ()
    cache: Cache | None = None


def loggp(samples: pl.DataFrame, echo: Curve, confidence: float) -> LogGP | None:
    """The parameters, if the samples have both overheads, or fan-out and fan-in of short messages with two neighbours.

    The time of one message with k neighbours is the centre's overhead plus what the end of a batch takes, shared by k:
    a + c / k. a is fitted by least squares over the numbers of neighbours, launch by launch, and the median over
    launches counts; with one number of neighbours it is the time itself. The interval of a difference has the squares
    of the half-widths of its parts and what launches say of their correlation.

    Parameters
    ----------
    samples
        Of one machine and source.
    echo
        The fit of its echo.
    confidence
        Coverage of the intervals.

    Examples
    --------
    >>> import polars as pl
    >>> import weft
    >>> parts = [weft.simulate("ipsc860", name, bytes=8) for name in ("fan-out", "fan-in", "bandwidth")]
    >>> fitted = weft.fit(pl.concat([weft.simulate("ipsc860", "echo", bytes="8:8K"), *parts], how="diagonal"))
    >>> f"{fitted.loggp.send_overhead.value:.3g} s of {weft.machine('ipsc860').message_time(8, 1):.3g} s"
    '3.07e-05 s of 7.53e-05 s'
    """
    alone = [_short(samples, name) for name in (SEND_ALONE, RECEIVE_ALONE)]
    are_alone = all(one is not None for one in alone)
    out, into = alone if are_alone else [_short(samples, name) for name in (SEND, RECEIVE)]
    if out is None or into is None:
        return None
    length = int(out["bytes"].to_numpy()[0])
    send, receive = (_of_launches(np.array(list(_limits(rows).values())), confidence) for rows in (out, into))
    ends, cache = ends_of(echo, _parts(samples, echo)) if are_alone else ((), None)
    whole = echo.seconds(length) - echo.piece(length).byte_time.value * max(0, length - 1)
    stream = _short(samples, STREAM)
    by_launch = [_startups(samples, echo.piece(length)), *(_limits(rows) for rows in (out, into))]
    return LogGP(
        send,
        receive,
        _difference(whole, (echo.piece(length).startup, send, receive), by_launch),
        None if stream is None else _of_launches(_medians(stream)["seconds"].to_numpy(), confidence),
        echo.pieces[-1].byte_time,
        length,
        ends,
        cache,
    )


def _parts(samples: pl.DataFrame, echo: Curve) -> Parts:
    """What was measured of the parts of messages."""
    return Parts(
        medians(samples, SEND_ALONE),
        medians(samples, RECEIVE_ALONE),
        window_of(samples, RECEIVE_ALONE, OWN_RECEIVES),
        gaps_of(samples, STREAM, OWN_WINDOW, echo),
    )


def _short(samples: pl.DataFrame, benchmark: str) -> pl.DataFrame | None:
    """The rows of the shortest messages of a benchmark; None where there are none, or with one neighbour only."""
    rows = samples.filter((pl.col("benchmark") == benchmark) & (pl.col("bytes") <= SHORTEST))
    if benchmark == STREAM and "window" in rows.columns:
        rows = rows.filter(pl.col("window").fill_null(OWN_WINDOW) == pl.col("window").fill_null(OWN_WINDOW).max())
    if benchmark in (SEND, RECEIVE):
        rows = rows.filter(pl.col("neighbours") >= MIN_NEIGHBOURS) if "neighbours" in rows.columns else rows.clear()
    return None if rows.is_empty() else rows.filter(pl.col("bytes") == pl.col("bytes").min())


def _medians(rows: pl.DataFrame) -> pl.DataFrame:
    """One time a launch and number of neighbours, in the order of launches."""
    neighbours = pl.col("neighbours") if "neighbours" in rows.columns else pl.lit(1).alias("neighbours")
    return rows.group_by(launch_of(rows), neighbours).agg(pl.col("seconds").median()).sort("launch")


def _limits(rows: pl.DataFrame) -> dict[int, float]:
    """By launch: the time of one message with as many neighbours as one likes."""
    limits = {}
    for (number,), launch in _medians(rows).group_by("launch", maintain_order=True):
        neighbours, seconds = launch["neighbours"].to_numpy().astype(float), launch["seconds"].to_numpy()
        if len(neighbours) < 2:
            limits[int(str(number))] = float(seconds[0])
            continue
        design = np.column_stack([np.ones(len(neighbours)), 1.0 / neighbours])
        limits[int(str(number))] = float(np.linalg.lstsq(design, seconds, rcond=None)[0][0])
    return limits


def _startups(samples: pl.DataFrame, piece: Piece) -> dict[int, float]:
    """By launch: where the line through the lengths of a piece, all of them, begins."""
    echoes = samples.filter((pl.col("benchmark") == "echo") & pl.col("bytes").is_between(piece.first, piece.last))
    table = echoes.group_by(launch_of(echoes), "bytes").agg(pl.col("seconds").median()).drop_nulls()
    lines = {}
    for (number,), rows in table.group_by("launch"):
        lengths, seconds = rows["bytes"].to_numpy().astype(float), rows["seconds"].to_numpy()
        if len(lengths) == table["bytes"].n_unique() and len(lengths) > 1:
            lines[int(str(number))] = float(np.polyfit(lengths, seconds, 1, w=1.0 / seconds)[1])
    return lines


def _of_launches(values: np.ndarray, confidence: float) -> Estimate:
    interval = median_interval(values, confidence)
    return Estimate(interval.median, max(0.0, interval.low), interval.high)


def _difference(whole: float, terms: tuple[Estimate, ...], by_launch: Sequence[Mapping[int, float]]) -> Estimate:
    """What is left of a whole without its parts: its interval has the squares of the half-widths of the `terms`, the
    whole's first, and products of any two by what launches say of their correlation (Gauss)."""
    value = whole - sum(part.value for part in terms[1:])
    widths = np.array([(term.high - term.low) / 2.0 if np.isfinite(term.high) else 0.0 for term in terms])
    signed = widths * np.array([1.0, *(-1.0 for _ in terms[1:])])
    width = float(np.sqrt(max(0.0, signed @ _correlations(by_launch) @ signed)))
    return Estimate(max(0.0, value), max(0.0, value - width), max(0.0, value) + width)


def _correlations(by_launch: Sequence[Mapping[int, float]]) -> np.ndarray:
    """Of several quantities over the launches that have all of them, by ranks (Spearman); none where these are few."""
    count = len(by_launch)
    common = sorted(set.intersection(*(set(one) for one in by_launch)))
    if len(common) < MINIMUM_LAUNCHES:
        return np.eye(count)
    ranks = [stats.rankdata([one[launch] for launch in common]) for one in by_launch]
    # What does not vary is correlated with nothing.
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = np.nan_to_num(np.corrcoef(ranks))
    np.fill_diagonal(correlations, 1.0)
    return correlations
