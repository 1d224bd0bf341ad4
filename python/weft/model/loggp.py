"""LogGP's parameters from measurements that take them apart: overheads of both ends, latency, gap, gap a byte.

A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, LogGP, SPAA 1995: a message of n bytes takes
o_s + L + (n - 1) G + o_r, and a processor sends no two within g. An echo knows their sum only. Two ranks tell the parts
by sends that nothing holds up and by receives that are delayed until their messages are there (`send-overhead`,
`receive-overhead`). With more ranks fans tell them too: one rank that sends to several at once is held up by its own
overhead and by nothing else, so that the time of one message tends to o_s as there are more of them; one rank that
receives from several, to o_r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from weft.model.curve import Curve, Estimate
from weft.model.ends import Ends, ends_of, gaps_of, medians
from weft.samples.summary import median_interval

SEND, RECEIVE, STREAM = "fan-out", "fan-in", "bandwidth"
"""The benchmarks that show an overhead of a sender, of a receiver, and the gap between two messages of a stream."""

SEND_ALONE, RECEIVE_ALONE = "send-overhead", "receive-overhead"
"""The benchmarks that are an overhead: where there are both, they count and fans do not."""

PARTS = (STREAM, SEND_ALONE, RECEIVE_ALONE)
"""The benchmarks of two ranks that tell the parts of a message apart."""

OWN_WINDOW = 64
"""The window of `STREAM` where its samples name none."""

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
        Of every piece of the echo, what its messages take at either end and between them by their length; empty where
        fans told the ends apart, which know short messages only, and None for a piece without samples.
    """

    send_overhead: Estimate
    receive_overhead: Estimate
    latency: Estimate
    gap: Estimate | None
    byte_gap: Estimate
    bytes: int
    ends: tuple[Ends | None, ...] = ()


def loggp(samples: pl.DataFrame, echo: Curve, confidence: float) -> LogGP | None:
    """The parameters, if the samples have both overheads, or fan-out and fan-in of short messages with two neighbours.

    The time of one message with k neighbours is the centre's overhead plus what the end of a batch takes, shared by k:
    a + c / k. a is fitted by least squares over the numbers of neighbours, launch by launch, and the median over
    launches counts; with one number of neighbours it is the time itself. The interval of a difference has the squares
    of the half-widths of its parts.

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
    send, receive = (_of_launches(_limits(rows), confidence) for rows in (out, into))
    gaps = gaps_of(samples, STREAM, OWN_WINDOW, echo)
    ends = [medians(samples, name) for name in (SEND_ALONE, RECEIVE_ALONE)] if are_alone else []
    whole = echo.seconds(length)
    if not echo.freedom:
        low = high = whole
    else:
        _, low, high = echo.interval(length)
    stream = _short(samples, STREAM)
    bytes_alone = echo.piece(length).byte_time.value * max(0, length - 1)
    return LogGP(
        send,
        receive,
        _difference(Estimate(whole - bytes_alone, low - bytes_alone, high - bytes_alone), send, receive),
        None if stream is None else _of_launches(_medians(stream)["seconds"].to_numpy(), confidence),
        echo.pieces[-1].byte_time,
        length,
        ends_of(echo, ends[0], ends[1], gaps) if ends else (),
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
    launch = pl.coalesce("launch", "repetition") if "launch" in rows.columns else pl.col("repetition")
    neighbours = pl.col("neighbours") if "neighbours" in rows.columns else pl.lit(1).alias("neighbours")
    return rows.group_by(launch.alias("launch"), neighbours).agg(pl.col("seconds").median()).sort("launch")


def _limits(rows: pl.DataFrame) -> np.ndarray:
    """By launch: the time of one message with as many neighbours as one likes."""
    limits = []
    for _, launch in _medians(rows).group_by("launch", maintain_order=True):
        neighbours, seconds = launch["neighbours"].to_numpy().astype(float), launch["seconds"].to_numpy()
        if len(neighbours) < 2:
            limits.append(float(seconds[0]))
            continue
        design = np.column_stack([np.ones(len(neighbours)), 1.0 / neighbours])
        limits.append(float(np.linalg.lstsq(design, seconds, rcond=None)[0][0]))
    return np.array(limits)


def _of_launches(values: np.ndarray, confidence: float) -> Estimate:
    interval = median_interval(values, confidence)
    return Estimate(interval.median, max(0.0, interval.low), interval.high)


def _difference(whole: Estimate, *parts: Estimate) -> Estimate:
    """What is left of a sum; its interval by the squares of the half-widths (Gauss)."""
    value = whole.value - sum(part.value for part in parts)
    all_of_them = (whole, *parts)
    width = float(np.sqrt(sum(((one.high - one.low) / 2.0) ** 2 for one in all_of_them)))
    return Estimate(max(0.0, value), max(0.0, value - width), max(0.0, value) + width)
