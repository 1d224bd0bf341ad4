"""What a fit knows of one benchmark: time as a function of length and hops, in pieces."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import special

from weft.model.lines import Floats

Switching = Literal["unknown", "circuit", "store-and-forward"]
"""How a message crosses several links, as far as the data tell: `circuit` stands for any technique whose cost of a
further hop does not grow with length (circuit switching, wormhole, cut-through)."""


class FitError(ValueError):
    """Samples that do not determine what was asked of them; the message says what is missing."""


@dataclass(frozen=True)
class Estimate:
    """A fitted figure with its confidence interval, in SI units.

    Attributes
    ----------
    value
        The figure.
    low, high
        The interval; infinite where the data leave nothing to check the figure by.
    """

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the width of the interval as a share of the value."""
        return (self.high - self.low) / 2.0 / self.value if self.value else math.inf


@dataclass(frozen=True)
class Piece:
    """One protocol: `startup + byte_time n` seconds for messages of `n` bytes.

    Over `h` hops the time is `overhead + h hop_time + (byte_time - hop_byte_time) n + h hop_byte_time n`, where
    `overhead` is `startup - hop_time`: with store-and-forward switching every hop takes `hop_byte_time` a byte,
    otherwise none does and the links work at the same time.

    Attributes
    ----------
    first, last
        Shortest and longest length it was fitted to, in bytes.
    up_to
        Longest message it is used for; None for the last piece.
    change
        Lengths between which the protocol changes to the next piece, where the lines do not meet: the samples cannot
        say where in between. None if they meet, or for the last piece.
    startup, byte_time
        For messages over one hop (over the only number of hops there is data for, if the hop cost is unknown), s and
        s/B.
    hop_time, hop_byte_time
        Further cost of one hop, s and s/B; None if unknown.
    points
        How many points it was fitted to.
    coefficients, covariance
        Of `1, n, h, h n`, as far as determined; for intervals of predictions.
    common
        Their covariance from what all lengths of a launch have in common.
    """

    first: int
    last: int
    up_to: int | None
    change: tuple[int, int] | None
    startup: Estimate
    byte_time: Estimate
    hop_time: Estimate | None
    hop_byte_time: Estimate | None
    points: int
    coefficients: Floats = field(repr=False)
    covariance: Floats = field(repr=False)
    common: Floats = field(repr=False)

    @property
    def half_bandwidth(self) -> float | None:
        """The length at which half the asymptotic rate is reached, startup / byte_time bytes.

        n_1/2 of R. W. Hockney, Parallel Computing 20 (1994) 389. None without a byte time, and where the line meets the
        axis below zero, as those of long messages may: there it says nothing of messages that short.
        """
        known = self.byte_time.value > 0.0 and self.startup.value > 0.0
        return self.startup.value / self.byte_time.value if known else None

    def seconds(self, length: float, hops: float) -> float:
        """Seconds of a message, by this piece."""
        return float(self._row(length, hops) @ self.coefficients)

    def variance(self, length: float, hops: float) -> float:
        """Variance of a new median about `seconds`, apart from the scatter of points, s^2.

        Of the coefficients, and of what launches have in common in the measurement of the fit and in the new one.
        """
        row = self._row(length, hops)
        by_residuals, by_launches = float(row @ self.covariance @ row), float(row @ self.common @ row)
        return max(0.0, by_residuals) + 2.0 * max(0.0, by_launches)

    def _row(self, length: float, hops: float) -> Floats:
        return np.array([1.0, length, hops, hops * length])[: len(self.coefficients)]


@dataclass(frozen=True)
class Curve:
    """Time of one benchmark as a function of length and hops.

    Attributes
    ----------
    benchmark
        `echo`, `echo-self` or `echo-host`.
    pieces
        By ascending length.
    switching
        What the data say of further hops.
    hops
        The numbers of hops it was fitted to.
    deviation
        Relative standard deviation of the points about the curve.
    freedom
        Degrees of freedom of `deviation`; 0 if the points leave nothing to check by.
    confidence
        Coverage of every interval.
    """

    benchmark: str
    pieces: tuple[Piece, ...]
    switching: Switching
    hops: tuple[int, ...]
    deviation: float
    freedom: int
    confidence: float

    @property
    def half_bandwidth(self) -> float | None:
        """The shortest length at which a message has half the asymptotic rate, bytes; None without a byte time.

        Hockney's n_1/2, of the whole curve: the asymptotic rate is that of the last piece, and the first message that
        has half of it may be in an earlier one. Of one piece it is startup / byte_time.
        """
        asymptotic = self.pieces[-1].byte_time.value
        if asymptotic <= 0.0:
            return None
        begin = 0.0
        for piece in self.pieces:
            # n / (startup + byte_time n) = 1 / (2 asymptotic)
            gain = 2.0 * asymptotic - piece.byte_time.value
            length = max(begin, piece.startup.value / gain) if gain > 0.0 else math.inf
            end = math.inf if piece.up_to is None else float(piece.up_to)
            if 0.0 < length <= end:
                return length
            begin = end
        return None

    def piece(self, length: int) -> Piece:
        """The piece for messages of `length` bytes."""
        return next(piece for piece in self.pieces if piece.up_to is None or length <= piece.up_to)

    def seconds(self, length: int, hops: int | None = None) -> float:
        """Seconds of a message.

        Parameters
        ----------
        length
            Bytes.
        hops
            Links crossed; default: the fewest there is data for.

        Raises
        ------
        FitError
            If the cost of that many hops is not known.
        """
        return self.piece(length).seconds(length, self._checked(length, hops))

    def interval(self, length: int, hops: int | None = None) -> tuple[float, float, float]:
        """Seconds of a message and the interval in which a new median would lie, by Student's t.

        Between the two lengths where a protocol changes at an unknown point the interval holds both protocols.

        Returns
        -------
        tuple of float
            Seconds, low and high.

        Raises
        ------
        FitError
            If the cost of that many hops is not known.
        """
        hops = self._checked(length, hops)
        chosen = self.piece(length)
        possible = {id(chosen): chosen}
        for before, after in zip(self.pieces, self.pieces[1:], strict=False):
            if before.change is not None and before.change[0] < length < before.change[1]:
                possible |= {id(before): before, id(after): after}
        bounds = [self._bounds(piece, length, hops) for piece in possible.values()]
        return chosen.seconds(length, hops), min(low for low, _ in bounds), max(high for _, high in bounds)

    def _bounds(self, piece: Piece, length: int, hops: int) -> tuple[float, float]:
        seconds = piece.seconds(length, hops)
        if self.freedom <= 0:
            return 0.0, math.inf
        quantile = float(special.stdtrit(self.freedom, 0.5 + self.confidence / 2.0))
        width = quantile * math.sqrt(piece.variance(length, hops) + (self.deviation * seconds) ** 2)
        return max(0.0, seconds - width), seconds + width

    def _checked(self, length: int, hops: int | None) -> int:
        """The number of hops, if there is a cost for it."""
        if hops is None or (len(self.hops) == 1 and hops == self.hops[0]):
            return self.hops[0]
        if self.benchmark != "echo":
            raise FitError(f"{self.benchmark} does not depend on hops, but {hops} were asked for")
        if self.piece(length).hop_time is None:
            raise FitError(
                f"the cost of a hop is not known: messages of {length} bytes were only given over {self._measured()}, "
                f"and {hops} were asked for; add samples over another number of hops"
            )
        if hops < 1:
            raise FitError(f"a message between nodes crosses at least 1 link, and {hops} were asked for; see echo-self")
        return hops

    def _measured(self) -> str:
        return f"{self.hops[0]} hop{'' if self.hops[0] == 1 else 's'}"
