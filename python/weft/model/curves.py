"""From points to a curve: pieces, the cost of hops, and which figures the data determine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.model.curve import Curve, Estimate, FitError, Piece, Switching
from weft.model.lines import EXACT, HUBER_LOSS, Floats
from weft.model.points import Points
from weft.model.refine import Refined, determined, refine
from weft.model.segments import MIN_POINTS, RESOLUTION, divide

ONE, BYTES, HOPS, HOP_BYTES = range(4)
"""Indices of the coefficients of `1, n, h, h n`."""

SAME = 2.0
"""Lines closer than this many standard deviations of the points are not told apart."""

NO_STARTUP = 1e-6
"""A startup of at most this share of the shortest message's time is none: rounding leaves as much."""

FALLING = 0.7
"""Times that fall below this share of what they are for shorter messages are not those of a message."""


@dataclass(frozen=True)
class FittedCurve:
    """A curve with what it leaves unexplained.

    Attributes
    ----------
    curve
        The curve.
    points
        What it was fitted to.
    fitted
        Seconds of the curve at the points.
    notes
        What the data could not determine, in words.
    """

    curve: Curve
    points: Points
    fitted: Floats
    notes: tuple[str, ...]


def fit_curve(
    points: Points,
    benchmark: str,
    most: int,
    breaks: Sequence[int] | None,
    confidence: float,
    generator: np.random.Generator | None,
    tolerance: float = 0.0,
) -> FittedCurve:
    """Fit one benchmark.

    Parameters
    ----------
    points
        What was measured.
    benchmark
        Its name, for messages.
    most
        The most pieces.
    breaks
        Longest message of each protocol but the last, where they are known; None to find them.
    confidence
        Coverage of the intervals.
    generator
        Draws the bootstrap samples; None for none.
    tolerance
        Relative error within which fewer pieces are good enough: see `divide`.

    Raises
    ------
    FitError
        If the points do not determine a startup and a byte time.
    """
    _refuse(points, benchmark)
    if tolerance > 0.0:
        # What a coarse line is wrong by is more than what launches differ by, at every length.
        points = replace(points, weights=np.ones(len(points)))
    base = _base(points)
    one = points.select(points.hops == base)
    parts = _known(points, breaks) if breaks is not None else _divided(points, one, most, tolerance)
    switching, active = _hop_model(parts)
    refined = [refine(part, a, generator, tolerance) for part, a in zip(parts, active, strict=True)]
    deviation, freedom = _scatter(refined, parts)
    for i, part in enumerate(parts):
        kept = _needed(refined[i], deviation, freedom, confidence, part, first=i == 0)
        if kept != refined[i].active:
            refined[i] = _with_limits(refine(part, kept, generator, tolerance), refined[i])
    deviation, freedom = _scatter(refined, parts)
    unit = 1 if any(HOPS in part for part in active) else base
    pieces = _pieces(parts, refined, unit, deviation, freedom, confidence, breaks)
    hops = tuple(int(h) for h in np.unique(points.hops))
    curve = Curve(benchmark, pieces, switching, hops, deviation, freedom, confidence)
    _refuse_without_startup(curve, one)
    fitted = np.concatenate([part.seconds * (1.0 + r.residuals) for part, r in zip(parts, refined, strict=True)])
    return FittedCurve(curve, _joined(parts), fitted, tuple(_notes(curve, parts, active)))


def _refuse(points: Points, benchmark: str) -> None:
    """Stop if no fit could mean anything."""
    lengths = np.unique(points.bytes)
    if len(lengths) == 1:
        raise FitError(
            f"{benchmark}: every sample has {lengths[0]:.0f} bytes, and one length does not tell startup and byte time "
            f"apart; measure more lengths, as with --bytes 8:1048576"
        )
    base = points.select(points.hops == _base(points))
    if len(np.unique(base.bytes)) == 1:
        raise FitError(
            f"{benchmark}: no number of hops has samples of more than one length, so that startup and byte time cannot "
            f"be told apart; measure several lengths over the same hops"
        )
    third = max(1, len(base) // 3)
    short, long = float(np.median(base.seconds[:third])), float(np.median(base.seconds[-third:]))
    if long < FALLING * short:
        raise FitError(
            f"{benchmark}: times fall with length (median {short:.3g} s for {base.bytes[0]:.0f} to "
            f"{base.bytes[third - 1]:.0f} bytes, {long:.3g} s for {base.bytes[-third]:.0f} to {base.bytes[-1]:.0f}), "
            f"which no startup and byte time do; check that `seconds` is a time and not a rate, and measure again"
        )


def _base(points: Points) -> float:
    """The number of hops with the most lengths, the fewest hops of several."""
    hops, counts = np.unique(points.hops, return_counts=True)
    return float(hops[np.argmax(counts)])


def _divided(points: Points, base: Points, most: int, tolerance: float) -> list[Points]:
    """The points of each piece, divided where the base curve changes."""
    # A length that many launches agree on says no more about where a protocol changes than its neighbours do.
    segments = divide(base.bytes, base.seconds, np.ones(len(base.seconds)), most, tolerance=tolerance)
    limits: list[float] = []
    for before, after in itertools.pairwise(segments):
        last, first = float(base.bytes[before.last]), float(base.bytes[after.first])
        lines = (before.startup, before.byte_time), (after.startup, after.byte_time)
        limits.append(_meeting(*lines, last, first) or first - 1.0)
    return _split(points, limits)


def _refuse_without_startup(curve: Curve, points: Points) -> None:
    """Stop if messages would cost nothing but their bytes: no machine sends one of no bytes in no time."""
    if curve.pieces[0].startup.value > NO_STARTUP * points.seconds[0]:
        return
    rate = curve.pieces[0].byte_time.value
    raise FitError(
        f"{curve.benchmark}: the fit has no startup: its times are {rate:.3g} s a byte and nothing else, though "
        f"{points.bytes[0]:.0f} bytes took {points.seconds[0]:.3g} s; noise hides the startup, so measure again on a "
        f"quiet machine, with more short messages (--bytes 0:1K) and more launches"
    )


def _known(points: Points, breaks: Sequence[int]) -> list[Points]:
    """The points of each piece, divided at known lengths."""
    if list(breaks) != sorted(set(breaks)) or any(b < 0 for b in breaks):
        raise FitError(f"breaks are lengths in ascending order, found {list(breaks)}")
    parts = _split(points, [float(b) for b in breaks])
    edges = ["0", *(str(b) for b in breaks), "the longest"]
    for i, part in enumerate(parts):
        if len(np.unique(part.bytes)) < 2:
            raise FitError(
                f"messages from {edges[i]} to {edges[i + 1]} bytes: {len(np.unique(part.bytes))} lengths were given, "
                f"and startup and byte time need at least 2; leave out a break or measure more lengths"
            )
    return parts


def _split(points: Points, limits: Sequence[float]) -> list[Points]:
    piece = np.searchsorted(np.array(limits), points.bytes, side="left")
    return [points.select(piece == i) for i in range(len(limits) + 1)]


def _joined(parts: Sequence[Points]) -> Points:
    return Points(
        np.concatenate([part.bytes for part in parts]),
        np.concatenate([part.hops for part in parts]),
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.launches for part in parts], axis=1),
        np.concatenate([part.weights for part in parts]),
    )


def _meeting(before: tuple[float, float], after: tuple[float, float], last: float, first: float) -> float | None:
    """Where two lines meet, if that is between the last length of one and the first of the other."""
    if before[1] == after[1]:
        return None
    length = math.floor((before[0] - after[0]) / (after[1] - before[1]))
    return float(length) if last <= length < first else None


def _change(
    before: tuple[float, float], after: tuple[float, float], last: float, first: float, deviation: float
) -> tuple[int, bool]:
    """The longest message of the first of two lines, and whether the time jumps at an unknown length.

    Lines that meet between the lengths they were fitted to change there; so do lines that come within the scatter of
    the points of each other, where they are closest. Otherwise all is known is that the longer length has the second
    protocol: the limits of real ones are round numbers less a header, so that the first is taken to reach up to it.
    """
    meeting = _meeting(before, after, last, first)
    if meeting is not None:
        return int(meeting), False
    gaps = [
        abs(after[0] + after[1] * n - before[0] - before[1] * n) / (before[0] + before[1] * n) for n in (last, first)
    ]
    if min(gaps) <= SAME * deviation:
        return (int(last) if gaps[0] < gaps[1] else int(first) - 1), False
    return int(first) - 1, True


def _hop_model(parts: Sequence[Points]) -> tuple[Switching, list[tuple[int, ...]]]:
    """Whether hops cost a byte time, by the Bayesian information criterion, and each piece's coefficients."""
    if all(len(np.unique(part.hops)) == 1 for part in parts):
        return "unknown", [(ONE, BYTES)] * len(parts)
    plain: list[tuple[int, ...]] = [
        a if determined(p, a) else (ONE, BYTES) for p, a in ((p, (ONE, BYTES, HOPS)) for p in parts)
    ]
    full: list[tuple[int, ...]] = [
        (ONE, BYTES, HOPS, HOP_BYTES) if determined(part, (ONE, BYTES, HOPS, HOP_BYTES)) else simple
        for part, simple in zip(parts, plain, strict=True)
    ]
    # A piece with a single number of hops has no say about hops; its points over other hops do not exist.
    if not any(HOPS in a for a in plain):
        return "unknown", plain
    if _criterion(parts, full) < _criterion(parts, plain):
        return "store-and-forward", full
    return "circuit", plain


def _criterion(parts: Sequence[Points], active: Sequence[tuple[int, ...]]) -> float:
    fits = [refine(part, a, None) for part, a in zip(parts, active, strict=True)]
    residuals = np.concatenate([np.abs(r.residuals) * p.weights for r, p in zip(fits, parts, strict=True)])
    error = max(float(residuals.mean()), EXACT) + RESOLUTION
    return 2.0 * len(residuals) * math.log(error) + sum(len(a) for a in active) * math.log(len(residuals))


def _scatter(refined: Sequence[Refined], parts: Sequence[Points]) -> tuple[float, int]:
    """The relative standard deviation of points about the pieces, and its degrees of freedom.

    One for all pieces: a piece of three points has too little to judge itself by. Huber's loss has `HUBER_LOSS` of the
    squares of normal errors.
    """
    freedom = sum(len(part) for part in parts) - sum(len(r.active) for r in refined)
    if freedom <= 0:
        return 0.0, 0
    return math.sqrt(sum(float(r.losses.sum()) for r in refined) / HUBER_LOSS / freedom), freedom


def _needed(
    refined: Refined, deviation: float, freedom: int, confidence: float, part: Points, *, first: bool
) -> tuple[int, ...]:
    """The coefficients without one that cannot be told from 0: a byte time, or a startup of longer messages.

    The startup of the first piece is kept: without one a processor would send any number of messages in no time. That
    of a later piece is a line drawn on to messages that it is not of, as where buffers outgrow a cache.
    """
    if (freedom <= 0 and not refined.resampled.any()) or HOP_BYTES in refined.active:
        return refined.active
    startup, byte_time = (
        refined.estimate([float(i == index) for i in range(4)], deviation, freedom, confidence)
        for index in (ONE, BYTES)
    )
    clear = byte_time.low > 0.0
    if clear and startup.low <= 0.0 and not first and refined.active == (ONE, BYTES):
        return (BYTES,)
    if clear or (startup.low <= 0.0 and startup.value < byte_time.value * float(np.median(part.bytes))):
        return refined.active
    return tuple(index for index in refined.active if index != BYTES)


def _with_limits(kept: Refined, before: Refined) -> Refined:
    """`kept` with the intervals of the coefficients from before one was set to 0, which then has an upper limit."""
    return replace(
        kept,
        covariance=before.covariance,
        common=before.common,
        apart=before.apart,
        resampled=before.resampled,
        centre=before.coefficients,
    )


def _pieces(
    parts: Sequence[Points],
    refined: Sequence[Refined],
    unit: float,
    deviation: float,
    freedom: int,
    confidence: float,
    breaks: Sequence[int] | None,
) -> tuple[Piece, ...]:
    """The pieces with their figures for messages over `unit` hops."""
    pieces = []
    for i, (part, r) in enumerate(zip(parts, refined, strict=True)):
        up_to, change = None, None
        if i + 1 < len(parts):
            last, first = float(part.bytes[-1]), float(parts[i + 1].bytes[0])
            if breaks is not None:
                up_to = breaks[i]
            else:
                lines = _line(r, unit), _line(refined[i + 1], unit)
                up_to, jumps = _change(*lines, last, first, deviation)
                change = (int(last), int(first)) if jumps else None
        per_hop = HOPS in r.active

        def figure(*contrast: float, r: Refined = r) -> Estimate:
            return r.estimate(contrast, deviation, freedom, confidence)

        hop = unit if per_hop else 0.0
        pieces.append(
            Piece(
                int(part.bytes[0]),
                int(part.bytes[-1]),
                up_to,
                change,
                figure(1.0, 0.0, hop, 0.0),
                figure(0.0, 1.0, 0.0, hop),
                figure(0.0, 0.0, 1.0, 0.0) if per_hop else None,
                figure(0.0, 0.0, 0.0, 1.0) if per_hop else None,
                len(part),
                r.coefficients,
                r.covariance * deviation**2,
                r.common,
            )
        )
    return tuple(pieces)


def _line(refined: Refined, hops: float) -> tuple[float, float]:
    c = refined.coefficients
    return float(c[ONE] + hops * c[HOPS]), float(c[BYTES] + hops * c[HOP_BYTES])


def _notes(curve: Curve, parts: Sequence[Points], active: Sequence[tuple[int, ...]]) -> list[str]:
    """What the data could not determine."""
    name = curve.benchmark
    notes = []
    if name == "echo" and curve.switching == "unknown":
        notes.append(
            f"{name}: only messages over {curve.hops[0]} hop{'' if curve.hops[0] == 1 else 's'} were given, "
            f"so the cost of a further hop is unknown"
        )
    for piece, used in zip(curve.pieces, active, strict=True):
        where = f"{name}, {piece.first} to {piece.last} bytes"
        if curve.switching != "unknown" and HOPS not in used:
            notes.append(f"{where}: too few samples over different hops to know the cost of a hop")
        if piece.byte_time.value == 0.0:
            notes.append(f"{where}: the time does not depend on length; byte time below {piece.byte_time.high:.3g} s/B")
        if piece.startup.low == 0.0 and math.isfinite(piece.startup.high):
            notes.append(f"{where}: the startup cannot be told from 0; it is below {piece.startup.high:.3g} s")
        if piece.change is not None:
            low, high = piece.change
            notes.append(
                f"{name}: the protocol changes between {low} and {high} bytes; the shorter one is used up to "
                f"{piece.up_to}. Measure lengths in between, as --bytes {_between(low, high)}, to know where"
            )
    if curve.freedom == 0:
        notes.append(f"{name}: as many coefficients as points, so nothing to check the fit by; intervals are infinite")
    elif any(len(np.unique(part.bytes)) < MIN_POINTS for part in parts):
        notes.append(f"{name}: a piece has fewer than {MIN_POINTS} lengths")
    return notes


def _between(low: int, high: int) -> str:
    """Lengths that divide an interval in four."""
    return ",".join(str(low + (high - low) * i // 4) for i in (1, 2, 3))
