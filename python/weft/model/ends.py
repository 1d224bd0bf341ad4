"""What messages take at either end and between them, protocol by protocol, from measurements of each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import optimize

from weft.model.curve import Curve, Piece
from weft.model.lines import Floats

BUSIER = 0.25
"""By what share the gap of a stream may be longer than the longer of both overheads for that end to be what holds the
stream up."""

OF_WHOLE = 3.0
"""How much more the time of the whole message counts than that of a part: it is measured best, and a part may differ
where a stream has its receives ready and the other measurement has not."""


@dataclass(frozen=True)
class Ends:
    """Three straight lines of length whose sum is the time of a message: each is the time without bytes, s, and that of
    a byte, s/B.

    Attributes
    ----------
    send, receive
        What the processor of the sender and of the receiver takes.
    between
        What is left for the network.
    held_up
        By length how much longer streams take than the busier end, as a share of that, where it is more than `BUSIER`,
        so that something else holds them up.
    """

    send: tuple[float, float]
    receive: tuple[float, float]
    between: tuple[float, float]
    held_up: Mapping[int, float]


def ends_of(
    curve: Curve, send: Mapping[int, float], receive: Mapping[int, float], gaps: Mapping[int, float]
) -> tuple[Ends | None, ...]:
    """The ends of every piece of a curve; None for a piece with no length at which both ends were measured.

    The lines are found at once by non-negative least squares of relative errors: the sender's and the receiver's line
    through the overheads, their sum with the network's through the curve. A stream is held up by the busier end, and
    its gap is then what that end takes, measured while messages follow each other. No end takes more than a message
    without the other does.

    Parameters
    ----------
    curve
        Of messages between two nodes.
    send, receive
        Seconds of the overhead of either end by bytes.
    gaps
        Seconds between two messages of a stream by bytes; may lack lengths.
    """
    hops = curve.hops[0]
    return tuple(
        _ends(piece, hops, _lengths(curve, piece, send, receive), send, receive, gaps) for piece in curve.pieces
    )


def _lengths(curve: Curve, piece: Piece, send: Mapping[int, float], receive: Mapping[int, float]) -> list[int]:
    return [length for length in sorted(send.keys() & receive.keys()) if curve.piece(length) is piece]


def _ends(
    piece: Piece,
    hops: int,
    lengths: Sequence[int],
    send: Mapping[int, float],
    receive: Mapping[int, float],
    gaps: Mapping[int, float],
) -> Ends | None:
    if not lengths:
        return None
    rows: list[Floats] = []
    targets: list[float] = []
    held_up: dict[int, float] = {}

    def equation(parts: tuple[int, ...], length: int, seconds: float, weight: float) -> None:
        row = np.zeros(6)
        for part in parts:
            row[2 * part : 2 * part + 2] = 1.0, length
        rows.append(weight * row / seconds)
        targets.append(weight)

    for length in lengths:
        ends = [send[length], receive[length]]
        busier = int(np.argmax(ends))
        whole = piece.seconds(length, hops)
        gap = gaps.get(length)
        if gap is not None:
            if gap <= ends[busier] * (1.0 + BUSIER):
                ends = [min(one, gap) for one in ends]
                ends[busier] = gap
            else:
                held_up[length] = gap / ends[busier] - 1.0
        # What an end takes longer than one message leaves it is of memory that many on their way fill.
        ends[busier] = min(ends[busier], max(whole - ends[1 - busier], ends[1 - busier]))
        for part, seconds in enumerate(ends):
            equation((part,), length, seconds, 1.0)
        equation((0, 1, 2), length, whole, OF_WHOLE)
    # One length says nothing of a slope, and a line from it to nowhere would have any.
    free = np.array([True, True] * 3) if len(lengths) > 1 else np.array([True, False, True, False, True, True])
    design = np.array(rows)
    scale = np.maximum(np.abs(design).max(axis=0), np.finfo(float).tiny)
    coefficients = np.zeros(6)
    coefficients[free] = optimize.nnls((design / scale)[:, free], np.array(targets))[0]
    lines = (coefficients / scale).reshape(3, 2)
    pairs = [(float(startup), float(byte_time)) for startup, byte_time in lines]
    return Ends(pairs[0], pairs[1], pairs[2], held_up)


def medians(samples: pl.DataFrame, benchmark: str) -> dict[int, float]:
    """Seconds of a benchmark by bytes: medians over launches, of all windows; empty where there are no samples."""
    rows = samples.filter((pl.col("benchmark") == benchmark) & pl.col("bytes").is_not_null())
    return dict(rows.group_by("bytes").agg(pl.col("seconds").median()).sort("bytes").iter_rows())


def gaps_of(samples: pl.DataFrame, benchmark: str, own_window: int, curve: Curve) -> dict[int, float]:
    """Seconds between two messages of a stream by bytes: medians over launches of all windows of two messages or more.

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
    by_length: dict[int, list[tuple[int, float]]] = {}
    by = rows.group_by("bytes", "messages").agg(pl.col("seconds").median()).sort("bytes", "messages")
    for length, messages, seconds in by.iter_rows():
        ends = curve.seconds(length) + curve.seconds(0)
        by_length.setdefault(length, []).append((messages, (messages * seconds - ends) / (messages - 1)))
    # A long window says more of the gap than a short one: the rest is a smaller part of it.
    gaps = {length: _weighted(by_window) for length, by_window in by_length.items()}
    return {length: gap for length, gap in gaps.items() if gap > 0.0}


def _weighted(by_window: Sequence[tuple[int, float]]) -> float:
    weights = np.array([messages - 1.0 for messages, _ in by_window])
    return float(np.average([gap for _, gap in by_window], weights=weights))
