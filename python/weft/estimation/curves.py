"""The time of one kind of operation on this machine as a function of what its cost depends on, and its fit.

An operation of n elements takes

    call(w) + call_selected + call_scalar + call_converted + k call_coordinate + p piece + r r / (r + LEARNED) run
    + m waiting + g scattered + n (c(b) + converted + k coordinate + exclusive + down + s d + u (1 - d))

seconds. b is how many different bytes the program has touched since it last touched an array of the operation (its
stack distance): which cache the array is in, if any. c is linear in log b between knots. Of several arrays, what c is
above its least value adds up, by their lengths in units of two operands: computing waits for each that is far away. w
is how much other code the program has gone through since it last did an operation of this name, in bytes, and a share
of the elements: the more, the less of its code and tables is still in caches, so that the time of a call is linear in
log w between knots. p is the number of contiguous pieces that elements are moved in. d is the share of elements that
are selected, s and u what a selected and an unselected element take more; r is the number of stretches of selected
elements, at whose ends branches are predicted wrongly unless they are so few that the processor has learned them. m
messages of a send wait for one to the same target that is in flight; g is how many are scattered, times the logarithm
of the memory that they come to: the more, the fewer find their lines in the nearest caches and tables of pages. k is
from how many variables addresses are computed. `call_selected` and the terms of d and r are there only under a
selection, where a number as an operand, or two dtypes, cost differently; scalar, converted, exclusive and down only
where an operand is a number, operands are of different dtypes, or the scan is of that form. No term is negative, and
neither c nor call falls: what is farther away takes longer.

What is minimised are errors relative to the prediction, so that sums of predictions are right on average; observations
far off, which something else on the machine has disturbed, lose weight. Few observations are helped by a prior: the
curve of kinds that are alike, at the pace that these observations have. Where all of them are far off it, the prior
loses weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import nnls

from weft._core import UsageError

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

TERMS = (
    "call_selected",
    "call_scalar",
    "call_selected_scalar",
    "call_converted",
    "call_selected_converted",
    "call_coordinate",
    "piece",
    "run",
    "element_waiting",
    "element_scattered",
    "element_exclusive",
    "element_down",
    "element_converted",
    "element_coordinate",
    "element_selected",
    "element_unselected",
)
"""The terms beside those with knots, in seconds: a call, a piece, a run, an element."""

SINCE = tuple(8 * 1024 * 4**k for k in range(4))
"""Knots of w: 8 KiB (no other operation in between) to 512 KiB (some 60 others)."""

SMOOTHNESS = 0.05
"""Weight of differences between neighbouring knots, relative to one observation: decides only where there are few."""

PRIOR = 0.3
"""Weight of a knot's relative difference from the prior's, relative to one observation."""

PRIOR_TERM = 1.5
"""The same of the other terms: few observations have any one of them, and kinds that are alike differ less in these."""

TOLERANCE = 0.15
"""Relative errors beyond this lose weight (Huber): what undisturbed repetitions of a program differ by at most. So do
differences from the prior."""

KNOWN = 0.3
"""Of a typical observation's time: a term that is less of it by the prior is not known any better, relative to itself.
What is next to nothing where loops are of vectors is most of the time where they branch."""

RESOLUTION = 100e-9
"""Seconds that a time is not known to: two looks at the clock, and what is taken off for them. An element that is read
takes some 0.3 microseconds, and observations of a nanosecond, which are what was left, would decide otherwise."""

MAX_SECONDS = {
    "run": 100e-9,
    "piece": 200e-9,
    "element_waiting": 10e-9,
    "element_scattered": 2e-9,
    "element_exclusive": 2e-9,
    "element_down": 2e-9,
    "element_converted": 2e-9,
    "element_coordinate": 5e-9,
    "element_selected": 10e-9,
    "element_unselected": 5e-9,
}
"""Bounds of terms, in seconds: a loop that is entered for a few elements, behind a branch that is predicted wrongly,
the loop around a row, and a few instructions for an element take no more. Few observations would tell them from other
terms only by chance: of small operations alone, what a call takes would count as the elements'."""

LEARNED = 2048
"""Of so many stretches about half have ends that a processor foresees, which has seen them in a loop before: predictors
of branches have tables of some thousands. Of a few all are foreseen, of many times as many none."""

MAX_SLOWDOWN = 10
"""Kinds of a group differ by no more than this in the time of an element."""

ROUNDS = 12
"""Of reweighting; the weights have settled by then."""


@dataclass(frozen=True)
class Work:
    """What the cost of an operation depends on, beside its kind.

    Attributes
    ----------
    elements
        How many it has.
    bytes
        Length of an operand.
    density
        Share of elements that are selected, 0 to 1; None where there is no selection.
    runs
        Stretches of consecutive selected elements.
    pieces
        Contiguous pieces that elements are moved in.
    waiting
        How many messages of a send wait for one to the same element that is in flight.
    scattered
        How many messages come to another line of memory than the one before, times the logarithm to base 2 of how much
        of memory they all come to, in parts as large as the nearest cache.
    coordinates
        From how many variables the addresses of a get or a send are computed.
    scalar
        Whether an operand is a number.
    converted
        Whether operands are of different dtypes.
    exclusive, down
        Whether a scan is of this form.
    recurs
        How many operations ago the program executed the statement last; 0 where that is not known, as in a calibration.
    since
        Bytes of code that the program has gone through since it last did an operation of this name, each counted once
        (`weft.pvar.Meter.since`).
    reach
        Of each array that is read or written: the bytes touched since it was last touched, each counted once, with its
        own; and its own.
    """

    elements: int
    bytes: int
    density: float | None = None
    runs: int = 0
    pieces: int = 0
    recurs: int = 0
    waiting: float = 0.0
    scattered: float = 0.0
    coordinates: int = 0
    scalar: bool = False
    converted: bool = False
    exclusive: bool = False
    down: bool = False
    since: int = 0
    reach: tuple[tuple[int, int], ...] = ()

    def arrays(self) -> tuple[tuple[int, int], ...]:
        """`reach`, and where nothing is known of that, an array that was touched by the operation before."""
        return self.reach or ((self.bytes, self.bytes),)

    def without_elements(self) -> Work:
        """What a call takes alone, its pieces and runs included."""
        return replace(self, elements=0)

    def terms(self) -> dict[str, float]:
        """The factors of `TERMS`."""
        n = float(self.elements)
        factors = {
            "piece": float(self.pieces),
            "element_waiting": self.waiting,
            "element_scattered": self.scattered,
        }
        if self.coordinates:
            factors |= {"call_coordinate": float(self.coordinates), "element_coordinate": n * self.coordinates}
        if self.scalar:
            factors["call_scalar"] = 1.0
        if self.converted:
            factors |= {"call_converted": 1.0, "element_converted": n}
        if self.exclusive:
            factors["element_exclusive"] = n
        if self.down:
            factors["element_down"] = n
        if self.density is not None:
            factors |= {
                "call_selected": 1.0,
                "call_selected_scalar": float(self.scalar),
                "call_selected_converted": float(self.converted),
                "run": self.runs**2 / (self.runs + LEARNED),
                "element_selected": n * self.density,
                "element_unselected": n * (1 - self.density),
            }
        return factors


@dataclass(frozen=True)
class Curve:
    """Time of one kind of operation.

    Attributes
    ----------
    knots
        Distances of operands in bytes, rising.
    element
        Seconds an element at the knots, of two arrays as far away.
    call
        Seconds a call at the knots `SINCE`.
    terms
        Seconds of the others; those that are not there are zero.
    error
        Root mean square of the relative errors of the fit.
    observations
        How many it was fitted to.
    """

    knots: tuple[int, ...]
    element: tuple[float, ...]
    call: tuple[float, ...] = (0.0,) * len(SINCE)
    terms: dict[str, float] = field(default_factory=dict)
    error: float = 0.0
    observations: int = 0

    def seconds(self, work: Work, call_factor: float = 1.0) -> float:
        """What an operation takes; beyond the first and last knot as at them.

        `call_factor` is how many times as long a call takes as in the calibration (`weft.estimation.recurrence`).
        """
        element = float(_steps_taken([work], self.knots)[0] @ np.diff(self.element, prepend=0.0))
        call = float(hats(np.array([work.since], float), SINCE)[0] @ self.call)
        others = 0.0
        for name, by in work.terms().items():
            if name.startswith("call"):
                call += self.terms.get(name, 0.0) * by
            else:
                others += self.terms.get(name, 0.0) * by
        return call * call_factor + work.elements * element + others

    def at_the_pace_of(self, observations: Sequence[tuple[Work, float]]) -> Curve:
        """This curve for operations whose elements take another time: so many times as long at every distance.

        Kinds that are alike have in common how the time of an element grows with its distance; a remainder takes
        several times a square root all the same, and a few observations that are far from a prior would be taken for
        disturbed ones. What counts is the median of those that elements are at least half of.
        """
        ratios = []
        for work, seconds in observations:
            whole = self.seconds(work)
            calls = self.seconds(work.without_elements())
            if whole - calls > calls:
                ratios.append(max(seconds - calls, MAX_SLOWDOWN**-1 * (whole - calls)) / (whole - calls))
        if not ratios:
            return self
        # Few say little: as if one more had been as the prior.
        pace = math.exp(math.log(float(np.median(ratios))) * len(ratios) / (len(ratios) + 1))
        terms = {name: value * pace if name.startswith("element") else value for name, value in self.terms.items()}
        return replace(self, element=tuple(value * pace for value in self.element), terms=terms)


def hats(lengths: Array, knots: Sequence[int]) -> Array:
    """Shares of the knots in each length, linear in its logarithm; rows add to 1."""
    at = np.log2(np.asarray(knots, float))
    clipped = np.clip(np.log2(np.maximum(lengths, 1.0)), at[0], at[-1])
    return np.stack([np.interp(clipped, at, row) for row in np.eye(len(at))], axis=1)


def _steps_taken(works: Sequence[Work], knots: Sequence[int]) -> Array:
    """How much of the step at each knot an element takes: all of the first one, of others what is as far away."""
    arrays = [work.arrays() for work in works]
    distances, lengths = np.array([one for of_work in arrays for one in of_work], float).T
    counts = [len(of_work) for of_work in arrays]
    # In units of two arrays like the operand, one that is read and one that is written.
    unit = 2.0 * np.repeat([max(work.bytes, 1) for work in works], counts)
    weights = np.maximum(lengths, 1.0) / unit
    starts = np.cumsum([0, *counts[:-1]])
    taken = _from(np.add.reduceat(weights[:, None] * hats(distances, knots), starts))
    taken[:, 0] = 1.0
    return taken


def fit(observations: Sequence[tuple[Work, float]], knots: Sequence[int], prior: Curve | None = None) -> Curve:
    """The curve with the least relative errors.

    Parameters
    ----------
    observations
        Operations of one kind with the seconds that each took.
    knots
        Distances of operands in bytes, rising.
    prior
        The curve of kinds that are alike, with the same knots.

    Raises
    ------
    UsageError
        Without observations, or with times that are not positive.
    """
    if not observations:
        raise UsageError("a fit needs at least one observation")
    seconds = np.array([taken for _, taken in observations])
    if not (seconds > 0).all():
        raise UsageError("times must be positive")
    columns = _columns([work for work, _ in observations], knots)
    used = columns.max(axis=0) > 0
    extra, wanted = _beside_observations(knots, columns, seconds, prior)
    costs = np.zeros(columns.shape[1])
    costs[used] = _robust(columns[:, used], seconds, extra[:, used], wanted)
    most = np.concatenate([np.full(len(knots), np.inf), _MAX_OF])
    beyond = used & (costs > most)
    if beyond.any():
        # At their bounds; the others make up for the rest.
        costs[beyond] = most[beyond]
        left = np.maximum(seconds - columns[:, beyond] @ costs[beyond], seconds / 20)
        free = used & ~beyond
        costs[free] = _robust(columns[:, free], left, extra[:, free], wanted - extra[:, beyond] @ costs[beyond])
    if prior is not None:
        costs[~used] = _steps(prior)[~used]
    errors = seconds / np.maximum(columns @ costs, 1e-12) - 1.0
    first, second = len(knots), len(knots) + len(SINCE)
    return Curve(
        knots=tuple(knots),
        element=tuple(map(float, np.cumsum(costs[:first]))),
        call=tuple(map(float, np.cumsum(costs[first:second]))),
        terms={name: float(value) for name, value in zip(TERMS, costs[second:], strict=True) if value > 0},
        error=float(np.sqrt(np.mean(np.minimum(np.abs(errors), 1.0) ** 2))),
        observations=len(seconds),
    )


_MAX_OF = np.array([np.inf] * len(SINCE) + [MAX_SECONDS.get(name, np.inf) for name in TERMS])


def _columns(works: Sequence[Work], knots: Sequence[int]) -> Array:
    """The factor of every step and term in every observation: steps of element times and call times, `TERMS`.

    A step is what a knot is above the one before, so that curves which do not fall have steps that are not negative.
    """
    elements = np.array([work.elements for work in works], float)[:, None]
    taken = _steps_taken(works, knots)
    since = np.array([work.since for work in works], float)
    by_term = [work.terms() for work in works]
    others = np.array([[by.get(name, 0.0) for name in TERMS] for by in by_term])
    return np.hstack([elements * taken, _from(hats(since, SINCE)), others])


def _from(shares: Array) -> Array:
    """Shares of a knot and all after it: those that a step at the knot is in."""
    return np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]


def _steps(curve: Curve) -> Array:
    return np.array(
        [
            *np.diff(curve.element, prepend=0.0),
            *np.diff(curve.call, prepend=0.0),
            *(curve.terms.get(name, 0.0) for name in TERMS),
        ]
    )


def _beside_observations(
    knots: Sequence[int], columns: Array, seconds: Array, prior: Curve | None
) -> tuple[Array, Array]:
    """Rows that keep steps small, and values near those of the prior; and what they want."""
    # In units of what a term makes of a typical observation, as the observations' own rows are.
    relative = columns / seconds[:, None]
    typical = np.where(columns.max(axis=0) > 0, relative.max(axis=0), 1.0)
    rows, wanted = [], []

    def want(first: int, last: int, factor: float, value: float) -> None:
        """That the sum from one column to another, times a factor, is a value."""
        row = np.zeros(columns.shape[1])
        row[first : last + 1] = factor
        rows.append(row)
        wanted.append(value)

    def want_near(first: int, last: int, value: float, weight: float, known: float = 0.0) -> None:
        """That the sum from one column to another differs little from a value, relative to that."""
        factor = weight / max(value, known / typical[last]) if value > 0 else weight * typical[last]
        want(first, last, factor, factor * value)

    calls = len(knots)
    terms = calls + len(SINCE)
    for first, end in ((0, calls), (calls, terms)):
        scale = SMOOTHNESS * typical[first:end].max()
        for at in range(first + 1, end):
            want(at, at, scale, 0.0)
    if prior is not None:
        for first, values in ((0, prior.element), (calls, prior.call)):
            for at, value in enumerate(values, first):
                want_near(first, at, value, PRIOR)
        for at, name in enumerate(TERMS, terms):
            want_near(at, at, prior.terms.get(name, 0.0), PRIOR_TERM, KNOWN)
    return np.array(rows), np.array(wanted)


def _robust(columns: Array, seconds: Array, extra: Array, wanted: Array) -> Array:
    """Non-negative least squares of relative errors: first to what was observed, then to what is predicted."""
    predicted = seconds
    weights: Array = np.ones(len(seconds))
    extra_weights: Array = np.ones(len(wanted))
    costs = np.zeros(columns.shape[1])
    for _ in range(ROUNDS):
        by, extra_by = np.sqrt(weights) / (predicted + RESOLUTION), np.sqrt(extra_weights)
        system = np.vstack([columns * by[:, None], extra * extra_by[:, None]])
        scale = np.abs(system).max(axis=0)
        scale[scale == 0] = 1.0
        costs = nnls(system / scale, np.concatenate([seconds * by, wanted * extra_by]))[0] / scale
        # No prediction is taken for much less or more than what was observed: it is still on its way.
        predicted = np.clip(columns @ costs, seconds / 4, (seconds + RESOLUTION) * 4)
        weights = _huber((seconds - predicted) / (predicted + RESOLUTION))
        extra_weights = _huber(extra @ costs - wanted)
    return costs


def _huber(errors: Array) -> Array:
    """Weights of observations by their errors (P. J. Huber, Robust Statistics, 1981, section 7.8)."""
    weights: Array = np.minimum(1.0, TOLERANCE / np.maximum(np.abs(errors), 1e-12))
    return weights
