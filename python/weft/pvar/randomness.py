"""Random numbers on virtual processors.

A processor's numbers depend on the seed, its address and how many were drawn before: not on other processors, the
selection, or how the grid is divided over ranks. Each draw is a stream of SplitMix64 (Steele, Lea and Flood, Fast
splittable pseudorandom number generators, 2014, section 3), of which a processor takes the number at its address.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from weft._core import UsageError
from weft.pvar import words
from weft.pvar.execution import Array
from weft.pvar.primitives import whole_number
from weft.pvar.variable import ParallelVariable

if TYPE_CHECKING:
    from weft.pvar.vpset import VPSet

_GAMMA = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_ALL_BITS = (1 << 64) - 1


class Random:
    """Random numbers of a VP set; `VPSet.rng` makes it. The methods have the names of `numpy.random.Generator`.

    All processors get a number, whoever is selected, and every call draws new ones.

    Parameters
    ----------
    vp
        The VP set.
    seed
        A whole number of 0 or more. The same seed gives the same numbers, on one rank or several.

    Raises
    ------
    UsageError
        For another seed.

    Examples
    --------
    >>> import weft
    >>> vp = weft.pvar.VPSet((10_000,))
    >>> rng = vp.rng(seed=1)
    >>> x, y = rng.random(), rng.random()
    >>> inside = x * x + y * y < 1
    >>> round(4 * inside.mean(), 1)
    3.1
    """

    def __init__(self, vp: VPSet, seed: int) -> None:
        self.vp = vp
        self._seed = whole_number(seed, "rng: the seed")
        if self._seed < 0:
            raise UsageError(f"rng: the seed is {seed}; expected a whole number of 0 or more")
        self._drawn = 0
        self._steps: Any = None

    def random(self, dtype: DTypeLike = np.float64) -> ParallelVariable:
        """Uniform from 0 up to, but without, 1: multiples of 2**-53, or of 2**-24 for float32."""
        return self._recorded("random", self._fraction(_floating("random", dtype)))

    def uniform(self, low: float = 0.0, high: float = 1.0, dtype: DTypeLike = np.float64) -> ParallelVariable:
        """Uniform between two numbers; rounding can give the upper one itself.

        Raises
        ------
        UsageError
            If the numbers are not finite, or not in order.
        """
        target = _floating("uniform", dtype)
        low, high = float(low), float(high)
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise UsageError(f"uniform: from {low} to {high}; expected two finite numbers, the lower first")
        return self._recorded("random uniform", (low + (high - low) * self._fraction(target)).astype(target))

    def normal(self, loc: float = 0.0, scale: float = 1.0, dtype: DTypeLike = np.float64) -> ParallelVariable:
        """Normally distributed, by the method of Box and Muller (1958).

        Raises
        ------
        UsageError
            For a scale below 0.
        """
        target = _floating("normal", dtype)
        if not float(scale) >= 0:
            raise UsageError(f"normal: the scale is {scale}; expected a number of 0 or more")
        radius = np.sqrt(-2 * np.log1p(-self._fraction(np.dtype(np.float64))))
        angle = 2 * np.pi * self._fraction(np.dtype(np.float64))
        return self._recorded("random normal", (loc + scale * (radius * np.cos(angle))).astype(target))

    def integers(self, low: int, high: int | None = None, dtype: DTypeLike = np.int64) -> ParallelVariable:
        """Whole numbers from `low` up to, but without, `high`, each as likely as any other; from 0 with one argument.

        Raises
        ------
        UsageError
            If there are none between them, or the dtype does not hold them.
        """
        first, beyond = (0, low) if high is None else (low, high)
        first, beyond = whole_number(first, "integers: low"), whole_number(beyond, "integers: high")
        target = words.check_dtype(np.dtype(dtype))
        if target.kind not in "iu":
            raise UsageError(f"integers: {target} is no dtype of integers")
        if first >= beyond:
            raise UsageError(f"integers: there is no whole number from {first} up to, but without, {beyond}")
        least, most = words.limits(target, target.itemsize * 8)
        if first < least or beyond - 1 > most:
            raise UsageError(
                f"integers: {target} holds whole numbers from {least} to {most}, not {first} to {beyond - 1}"
            )
        offset = self._below(beyond - first)
        return self._recorded("random integers", (offset + np.uint64(first & _ALL_BITS)).astype(target))

    def _below(self, count: int) -> Array:
        """Uniform whole numbers below a count, which may be 2**64."""
        draw = self._next()
        bits = self._bits(draw)
        if count & (count - 1) == 0:
            return bits & np.uint64(count - 1)
        # The least of all numbers are left out so that the rest is a multiple of the count; who has one draws again.
        least = (1 << 64) % count
        again, attempt = np.flatnonzero(bits.reshape(-1) < least), 1
        while again.size:
            new = self._bits(draw, attempt).reshape(-1)[again]
            bits.reshape(-1)[again] = new
            again, attempt = again[new < least], attempt + 1
        return bits % np.uint64(count)

    def _fraction(self, dtype: np.dtype[Any]) -> Array:
        digits = {8: 53, 4: 24, 2: 11}[dtype.itemsize]
        whole: Array = (self._bits(self._next()) >> np.uint64(64 - digits)).astype(dtype)
        whole *= dtype.type(2.0**-digits)
        return whole

    def _next(self) -> int:
        self._drawn += 1
        return self._drawn

    def _bits(self, draw: int, attempt: int = 0) -> Array:
        """64 bits of every processor, in an array of its own."""
        start = _mixed(_mixed(_mixed(self._seed & _ALL_BITS) ^ (self._seed >> 64) ^ draw) ^ attempt)
        if self._steps is None:
            self.vp.check_memory(np.dtype(np.uint64))
            self._steps = (self.vp.address(np.int64).data.view(np.uint64) + np.uint64(1)) * np.uint64(_GAMMA)
        bits: Array = self._steps + np.uint64(start)
        for shift, factor in ((30, _FIRST), (27, _SECOND)):
            bits ^= bits >> np.uint64(shift)
            bits *= np.uint64(factor)
        bits ^= bits >> np.uint64(31)
        return bits

    def _recorded(self, name: str, data: Array) -> ParallelVariable:
        variable = ParallelVariable(self.vp, data)
        if self.vp.meter is not None:
            self.vp.meter.record(
                self.vp, name, "random", variable.bits, arrays=(self._steps, data), dtype=data.dtype.name
            )
        return variable

    def __repr__(self) -> str:
        return f"<Random of {self.vp!r}, seed {self._seed}, {self._drawn} drawn>"


def _mixed(number: int) -> int:
    """SplitMix64's output of a state, of Python's numbers."""
    number = (number + _GAMMA) & _ALL_BITS
    number = ((number ^ (number >> 30)) * _FIRST) & _ALL_BITS
    number = ((number ^ (number >> 27)) * _SECOND) & _ALL_BITS
    return number ^ (number >> 31)


def _floating(what: str, dtype: DTypeLike) -> np.dtype[Any]:
    target = words.check_dtype(np.dtype(dtype))
    if target.kind != "f":
        raise UsageError(f"{what}: {target} is no dtype of floating-point numbers; integers() draws whole numbers")
    return target
