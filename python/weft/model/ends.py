"""What messages take at either end and between them, protocol by protocol, from measurements of each part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import optimize

from weft.model import cache
from weft.model.cache import Cache
from weft.model.curve import Curve, Piece
from weft.model.lines import Floats

BUSIER = 0.25
"""By what share the gap of a stream may be longer than the longer of both overheads for that end to be what holds the
stream up."""

OF_WHOLE = 3.0
"""How much more the time of the whole message counts than that of a part: it is measured best, and a part may differ
where a stream has its receives ready and the other measurement has not."""

JUMP = 0.25
"""By what share an end takes longer than the line of shorter messages says, where it has a protocol of its own that an
echo does not show: all longer messages of the piece do."""

EXPLAINED = 0.25
"""The share of the sum of squares that a cache leaves, at most, where it is what holds streams up."""


@dataclass(frozen=True)
class Ends:
    """Three straight lines of length whose sum is the time of a message: each is the time without bytes, s, and that of
    a byte, s/B.

    Attributes
    ----------
    up_to
        The longest message they are of, in bytes; None as far as their piece goes.
    change
        Lengths between which the next ends begin, where the samples cannot say where in between; else None.
    send, receive
        What the processor of the sender and of the receiver takes.
    between
        What is left for the network.
    held_up
        By length how much longer streams take than the busier end, as a share of that, where it is more than `BUSIER`,
        so that something else holds them up.
    """

    up_to: int | None
    change: tuple[int, int] | None
    send: tuple[float, float]
    receive: tuple[float, float]
    between: tuple[float, float]
    held_up: Mapping[int, float]


@dataclass(frozen=True)
class Parts:
    """Measurements of the parts of messages, medians over launches.

    Attributes
    ----------
    send, receive
        Seconds of the overhead of either end by bytes.
    receives
        Receives that are posted at one time where their overhead is measured.
    gaps
        Seconds between two messages of a stream by bytes, of each window by its messages; may lack lengths.
    """

    send: Mapping[int, float]
    receive: Mapping[int, float]
    receives: int
    gaps: Mapping[int, Mapping[int, float]]

    def gap(self, length: int) -> float | None:
        """Seconds between two messages of a stream, of all its windows."""
        by_window = self.gaps.get(length)
        # A long window says more of the gap than a short one: the rest is a smaller part of it.
        return None if by_window is None else _of_windows(by_window, by_window)


def _of_windows(by_window: Mapping[int, float], values: Mapping[int, float]) -> float:
    weights = np.array([window - 1.0 for window in by_window])
    return float(np.average([values[window] for window in by_window], weights=weights))


@dataclass(frozen=True)
class _Segment:
    """Lengths of a piece whose ends have the same lines."""

    piece: Piece
    lengths: tuple[int, ...]
    up_to: int | None
    change: tuple[int, int] | None


def ends_of(curve: Curve, parts: Parts) -> tuple[tuple[tuple[Ends, ...], ...], Cache | None]:
    """The ends of every piece of a curve by ascending length, none of a piece with no length at which both ends were
    measured; and the cache that holds streams up, if one does.

    The lines are found at once by non-negative least squares of relative errors: the sender's and the receiver's line
    through the overheads, their sum with the network's through the curve. A stream is held up by the busier end, and
    its gap is then what that end takes, measured while messages follow each other. Where streams take longer than both
    ends, and the more the longer all of their messages are together, a cache explains it: what is not found in it costs
    the receiver more. Else no end takes more than a message without the other does.

    Parameters
    ----------
    curve
        Of messages between two nodes.
    parts
        What was measured of them.
    """
    segments = [segment for piece in curve.pieces for segment in _segments(curve, piece, parts)]
    if not segments:
        return tuple(() for _ in curve.pieces), None
    system = _System(segments, curve.hops[0], parts)
    fitted = system.cache()
    ends = system.ends(fitted)
    pairs = list(zip(segments, ends, strict=True))
    return tuple(tuple(end for segment, end in pairs if segment.piece is piece) for piece in curve.pieces), fitted


def _segments(curve: Curve, piece: Piece, parts: Parts) -> Iterator[_Segment]:
    measured = sorted(parts.send.keys() & parts.receive.keys())
    lengths = [length for length in measured if curve.piece(length) is piece]
    if not lengths:
        return
    jump = _jump(piece, curve.hops[0], lengths, parts)
    if jump is not None:
        before, after = lengths[jump - 1], lengths[jump]
        yield _Segment(piece, tuple(lengths[:jump]), after - 1, (before + 1, after))
        lengths = lengths[jump:]
    yield _Segment(piece, tuple(lengths), piece.up_to, piece.change)


def _jump(piece: Piece, hops: int, lengths: Sequence[int], parts: Parts) -> int | None:
    """The first of the lengths from which on an end takes longer than the shorter ones say; None where none does."""
    for index in range(2, len(lengths)):
        for end in (0, 1):
            seconds = np.array(
                [
                    _capped([parts.send[length], parts.receive[length]], piece.seconds(length, hops))[end]
                    for length in lengths
                ]
            )
            line = np.polyfit(lengths[:index], seconds[:index], 1, w=1.0 / seconds[:index])
            errors = seconds / np.polyval(line, lengths) - 1.0
            if np.all(errors[index:] > JUMP) and np.all(np.abs(errors[:index]) < JUMP / 2.0):
                return index
    return None


def _capped(ends: list[float], whole: float) -> list[float]:
    """What both ends take, of which the busier takes no more than the whole message leaves it."""
    busier = int(np.argmax(ends))
    # What an end takes longer than one message leaves it is of memory that many on their way fill.
    ends[busier] = min(ends[busier], max(whole - ends[1 - busier], ends[1 - busier]))
    return ends


class _System:
    """The equations of all segments: six unknowns of each, and what a byte that a cache does not hold takes."""

    def __init__(self, segments: Sequence[_Segment], hops: int, parts: Parts) -> None:
        self._segments, self._hops, self._parts = segments, hops, parts

    def cache(self) -> Cache | None:
        """The cache that explains why streams are held up; None where none is or none explains it."""
        held_up = [length for segment in self._segments for length in segment.lengths if self._excess(length)]
        if len(held_up) < 2:
            return None
        posted = [window * length for length in held_up for window in (self._parts.receives, *self._parts.gaps[length])]
        sizes = cache.best(posted, lambda *sizes: self._solved(sizes)[1])
        unknowns, residual = self._solved(sizes)
        # All found, whatever is posted.
        without = self._solved((max(posted), max(posted)))[1]
        if unknowns[-1] <= 0.0 or residual > EXPLAINED * without:
            return None
        return Cache(*sizes, float(unknowns[-1]))

    def ends(self, fitted: Cache | None) -> list[Ends]:
        """The ends of each segment, with that cache."""
        unknowns, _ = self._solved(None if fitted is None else (fitted.bytes, fitted.all_missed_bytes))
        ends = []
        for segment, six in zip(self._segments, unknowns[:-1].reshape(-1, 6), strict=True):
            send, receive, between = ((float(startup), float(byte_time)) for startup, byte_time in six.reshape(3, 2))
            held_up = {}
            for length in segment.lengths:
                excess = self._excess(length)
                if fitted is not None and excess:
                    excess = self._excess_beside(fitted, length, send, receive)
                if excess > BUSIER:
                    held_up[length] = excess
            ends.append(Ends(segment.up_to, segment.change, send, receive, between, held_up))
        return ends

    def _excess(self, length: int) -> float:
        """How much longer than the busier end a stream takes, as a share, if it is more than `BUSIER`; else 0."""
        gap = self._parts.gap(length)
        excess = 0.0 if gap is None else gap / max(self._parts.send[length], self._parts.receive[length]) - 1.0
        return excess if excess > BUSIER else 0.0

    def _excess_beside(
        self, fitted: Cache, length: int, send: tuple[float, float], receive: tuple[float, float]
    ) -> float:
        """The same beside what the cache explains."""
        gap, by_window = self._parts.gap(length), self._parts.gaps[length]
        misses = _of_windows(by_window, {window: fitted.seconds(window * length, length) for window in by_window})
        busier = max(send[0] + send[1] * length, receive[0] + receive[1] * length + misses)
        return 0.0 if gap is None else gap / busier - 1.0

    def _solved(self, sizes: tuple[int, int] | None) -> tuple[Floats, float]:
        """The unknowns, and the sum of squares that they leave; without sizes there is no cache."""
        columns = 6 * len(self._segments) + 1
        rows: list[Floats] = []
        targets: list[float] = []
        free = np.ones(columns, dtype=bool)
        free[-1] = sizes is not None
        for number, segment in enumerate(self._segments):
            first = 6 * number
            # One length says nothing of a slope, and a line from it to nowhere would have any.
            if len(segment.lengths) == 1:
                free[[first + 1, first + 3]] = False
            for length in segment.lengths:
                for parts, share, seconds, weight in self._equations(segment, length, sizes):
                    row = np.zeros(columns)
                    for part in parts:
                        row[first + 2 * part : first + 2 * part + 2] = 1.0, length
                    row[-1] = share * length
                    rows.append(weight * row / seconds)
                    targets.append(weight)
        design = np.array(rows)
        scale = np.maximum(np.abs(design).max(axis=0), np.finfo(float).tiny)
        unknowns = np.zeros(columns)
        unknowns[free], norm = optimize.nnls((design / scale)[:, free], np.array(targets))
        return unknowns / scale, float(norm) ** 2

    def _equations(
        self, segment: _Segment, length: int, sizes: tuple[int, int] | None
    ) -> Iterator[tuple[tuple[int, ...], float, float, float]]:
        """Of one length: the parts that are added, the share of bytes missed, the seconds of both, and the weight."""
        parts = self._parts
        receives, streamed = self._missed(length, sizes)
        whole = segment.piece.seconds(length, self._hops)
        ends, gap = [parts.send[length], parts.receive[length]], parts.gap(length)
        shares = [0.0, receives]
        busier = int(np.argmax(ends))
        if gap is not None and not self._excess(length):
            ends = [min(one, gap) for one in ends]
            ends[busier] = gap
            shares[1] = streamed if busier == 1 else receives
        elif gap is not None and sizes is not None:
            yield (1,), streamed, gap, 1.0
        if sizes is None:
            ends = _capped(ends, whole)
        for part, (share, seconds) in enumerate(zip(shares, ends, strict=True)):
            yield (part,), share, seconds, 1.0
        yield (0, 1, 2), 0.0, whole, OF_WHOLE

    def _missed(self, length: int, sizes: tuple[int, int] | None) -> tuple[float, float]:
        """The share of bytes missed by receives whose overhead is measured, and by those of streams."""
        if sizes is None:
            return 0.0, 0.0
        receives = cache.missed(self._parts.receives * length, *sizes)
        by_window = self._parts.gaps.get(length)
        if by_window is None:
            return receives, 0.0
        return receives, _of_windows(by_window, {w: cache.missed(w * length, *sizes) for w in by_window})


def medians(samples: pl.DataFrame, benchmark: str) -> dict[int, float]:
    """Seconds of a benchmark by bytes: medians over launches, of all windows; empty where there are no samples."""
    rows = samples.filter((pl.col("benchmark") == benchmark) & pl.col("bytes").is_not_null())
    return dict(rows.group_by("bytes").agg(pl.col("seconds").median()).sort("bytes").iter_rows())


def window_of(samples: pl.DataFrame, benchmark: str, own_window: int) -> int:
    """The messages that a benchmark has in flight at one time: the median of its samples' windows."""
    rows = samples.filter(pl.col("benchmark") == benchmark)
    if rows.is_empty() or "window" not in rows.columns:
        return own_window
    return int(np.median(rows["window"].fill_null(own_window).to_numpy()))


def gaps_of(samples: pl.DataFrame, benchmark: str, own_window: int, curve: Curve) -> dict[int, dict[int, float]]:
    """Seconds between two messages of a stream by bytes and window: medians over launches, of windows of two messages
    or more.

    A window of w messages takes one message, w - 1 gaps, and an answer without bytes: what a window says of the gap is
    its time without the one and the other, divided by w - 1.

    Parameters
    ----------
    samples
        Of one machine.
    benchmark
        The one whose time is that of a window divided by its messages.
    own_window
        The window of rows that name none.
    curve
        Of messages between two nodes.
    """
    rows = samples.filter((pl.col("benchmark") == benchmark) & pl.col("bytes").is_not_null())
    window = pl.col("window").fill_null(own_window) if "window" in rows.columns else pl.lit(own_window)
    rows = rows.with_columns(window.alias("messages")).filter(pl.col("messages") > 1)
    gaps: dict[int, dict[int, float]] = {}
    by = rows.group_by("bytes", "messages").agg(pl.col("seconds").median()).sort("bytes", "messages")
    for length, messages, seconds in by.iter_rows():
        gap = (messages * seconds - curve.seconds(length) - curve.seconds(0)) / (messages - 1)
        if gap > 0.0:
            gaps.setdefault(length, {})[messages] = gap
    return gaps
