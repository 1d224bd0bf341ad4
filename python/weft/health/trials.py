"""Which faults explain what was measured, by trying them: the machine is simulated with each.

A slow cable delays more than the messages that cross it: those wait for others on their way, and who meets whom is
another in every round. A dead cable delays nothing but messages that now share another one. No set of pairs says
that, but a run of the same rounds on the machine with the fault does. So what `weft.health.inference` names is taken
as a first guess; each of its faults, and those that the rest hints at, stays only if the machine with it is nearer to
what was measured than without, by more than chance would make it (a likelihood ratio of absolute residuals, as of a
Laplace distribution, at a level that allows for the number of suspects). This is a stepwise selection, forwards and
backwards, whose predictions are simulations.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft._core import RunError, UsageError
from weft.health.expectation import spread
from weft.health.inference import FLOOR, LEVEL, Finding
from weft.health.pairs import Matrix, PairTimes, over
from weft.health.suspects import Suspect

Trial = Callable[[Sequence[str]], PairTimes]
"""What is measured on the machine with some faults, as `weft.Machine.with_faults` reads them, in the same rounds."""

MAX_TRIALS = 80
"""Simulations of one diagnosis; what is not judged then keeps its first judgement."""

MANY_NODES, MAX_NODES = 128, 256
"""With more nodes than the first there are fewer trials, by the square of their number, for so a trial grows; with more
than the second there are none."""

HINTS = 4
"""So many of the suspects that the rest hints at most are tried before nothing more is named."""

HINTED = 3.5
"""Standard errors that the residuals of a suspect's pairs are above zero on average for it to be tried."""

_CLIP = 3.0
"""Residuals beyond so many standard deviations hint no more than that."""

_JITTERS = 4
_JITTER = 0.04
"""Runs, and the mean share by which the nodes of each are slower, that show which times depend on who meets whom."""

_STEADY = 0.25
"""The share of the times of a length that depend least on it, from which noise is told."""

_SPEEDS = (0.9, 0.7, 0.45)
"""Speeds that are tried of what the rest hints at."""

_MAY_BE_DEAD = ("cable", "detour", "link")

_STEPS = (0.85, 1.15)
"""Factors by which the speed of what is tried is moved to see whether another explains more."""

_SLOWEST, _QUICKEST = 0.01, 0.97
"""Speeds that are tried, as shares of the described one; 0, a dead cable, besides."""


@dataclass(frozen=True)
class Fault:
    """A suspect with the share of its speed that it has left; 0 where it is dead."""

    suspect: Suspect
    speed: float

    @property
    def text(self) -> str:
        """As `weft.Machine.with_faults` reads it."""
        return f"{self.suspect.fault}={self.speed:.4g}"


class Trials:
    """What is left of the measured times beside the machine with some faults; every set is simulated once."""

    def __init__(self, times: PairTimes, trial: Trial) -> None:
        self._times, self._trial = times, trial
        self._most = int(MAX_TRIALS * min(1.0, (MANY_NODES / times.nodes) ** 2))
        self._known: dict[tuple[str, ...], Matrix | None] = {}

    @property
    def spent(self) -> bool:
        """Whether no further one may be made."""
        return len(self._known) >= self._most

    def predicted(self, faults: Iterable[Fault]) -> Matrix | None:
        """Log times by launch, length, sender and receiver; nothing where the machine cannot have these faults."""
        texts = tuple(sorted(fault.text for fault in faults))
        if texts not in self._known:
            try:
                self._known[texts] = self._trial(texts).logs
            except (RunError, UsageError):  # A dead cable may leave nodes that no route reaches.
                self._known[texts] = None
        return self._known[texts]

    @functools.cached_property
    def unsteady(self) -> Matrix:
        """By how much each time changes where the nodes' speeds differ a little: then others meet on its way."""
        nodes, generator = self._times.nodes, np.random.default_rng(0)
        runs = [known for known in (self.predicted([]),) if known is not None]
        for _ in range(_JITTERS):
            speeds = 1.0 - 2.0 * _JITTER * generator.random(nodes)
            runs.append(
                self._trial(
                    [f"node:{name}={speed:.4f}" for name, speed in zip(self._times.names, speeds, strict=True)]
                ).logs
            )
        return np.asarray(np.std(runs, axis=0))

    def noise(self, left: Matrix) -> Matrix:
        """See `noise_of`."""
        return noise_of(left, self.unsteady)

    def gain(self, faults: Iterable[Fault], rather_than: Iterable[Fault], suspect: Suspect) -> float:
        """By how much less of the pairs of a suspect some faults leave than others do, in standard deviations.

        Its own pairs alone are judged: those of others it moves, but how, depends on who happens to meet whom. Minus
        infinity where the machine cannot have these faults.
        """
        one, other = self.left(faults), self.left(rather_than)
        if one is None or other is None:
            return math.inf if one is not None else -math.inf
        better = (np.abs(other) - np.abs(one)) / self.noise(other)
        return float(np.nansum(better.reshape(*better.shape[:2], -1)[:, :, suspect.cells]))

    def left(self, faults: Iterable[Fault]) -> Matrix | None:
        """Measured less predicted, without what all pairs of a length have in common."""
        predicted = self.predicted(faults)
        if predicted is None:
            return None
        rest = self._times.logs - predicted
        return np.asarray(rest - over(np.nanmedian, rest, (0, 2, 3), keepdims=True))


def noise_of(left: Matrix, unsteady: Matrix) -> Matrix:
    """The standard deviation of every time: that of the steady ones of its length, or its own if that is larger."""
    noise = unsteady.copy()
    for length in range(left.shape[1]):
        steady = unsteady[:, length] <= np.nanquantile(unsteady[:, length], _STEADY)
        noise[:, length] = np.maximum(noise[:, length], max(spread(left[:, length][steady]), FLOOR))
    return noise


def needed(left: Matrix, suspects: int) -> float:
    """By how much a fault has to lessen the cost: the criterion of Schwarz, beside the level for so many suspects."""
    return math.log(suspects / LEVEL) + 0.5 * math.log(max(2, int(np.isfinite(left).sum())))


def explained(
    times: PairTimes, trial: Trial, guessed: Sequence[Finding], suspects: Sequence[Suspect], least: float
) -> tuple[list[Finding], Matrix]:
    """The findings that trials confirm, with those that only trials show.

    Parameters
    ----------
    times
        What was measured.
    trial
        Simulates the machine with faults in the same rounds.
    guessed
        What is named by the medians of pairs.
    suspects
        All that may be slow; what has no `fault` cannot be tried.
    least
        The least effect that counts, as a logarithm.

    Returns
    -------
    tuple
        Findings, and what they leave of the log times by launch, length, sender and receiver.
    """
    trials = Trials(times, trial)
    faults = [_first(finding) for finding in guessed if finding.suspect.fault]
    faults = _refined(trials, _dead_or_slow(trials, _refined(trials, faults)))
    faults = _without_needless(trials, faults, len(suspects))
    while not trials.spent:
        further = _further(trials, faults, suspects, least)
        if further is None:
            break
        faults = _without_needless(trials, _refined(trials, [*faults, further]), len(suspects))
    left = trials.left(faults)
    assert left is not None, "what was accepted was simulated"
    return [_finding(trials, fault, faults, guessed, len(suspects)) for fault in faults], left


def _first(finding: Finding) -> Fault:
    dead = finding.suspect.kind == "detour"
    return Fault(finding.suspect, 0.0 if dead else _bounded(math.exp(-max(finding.effect))))


def _bounded(speed: float) -> float:
    return min(max(speed, _SLOWEST), _QUICKEST)


def _refined(trials: Trials, faults: list[Fault]) -> list[Fault]:
    """The speeds that leave the pairs of each fault neither slower nor quicker than predicted, in the median."""
    for _ in range(2):
        left = trials.left(faults)
        if left is None or trials.spent:
            return faults
        moved = [_moved(fault, left) for fault in faults]
        faults = [
            after if trials.gain(moved, faults, after.suspect) > 0.0 else before
            for before, after in zip(faults, moved, strict=True)
        ]
    return faults


def _moved(fault: Fault, left: Matrix) -> Fault:
    if fault.speed == 0.0:
        return fault
    flat = left.reshape(*left.shape[:2], -1)[:, :, fault.suspect.cells]
    medians = over(np.nanmedian, flat, (0, 2))
    furthest = float(medians[np.nanargmax(np.abs(medians))]) if np.isfinite(medians).any() else 0.0
    return replace(fault, speed=_bounded(fault.speed * math.exp(-furthest)))


def _dead_or_slow(trials: Trials, faults: list[Fault]) -> list[Fault]:
    """Of every cable, whether it is slow or dead: what leaves less."""
    for index, fault in enumerate(faults):
        if fault.suspect.kind not in _MAY_BE_DEAD or trials.spent:
            continue
        other = replace(fault, speed=0.0 if fault.speed else 0.5)
        changed = [*faults[:index], other, *faults[index + 1 :]]
        if trials.gain(changed, faults, fault.suspect) > 0.0:
            faults = changed
    return [fault for fault in faults if trials.left([fault]) is not None]


def _without_needless(trials: Trials, faults: list[Fault], suspects: int) -> list[Fault]:
    """The faults without those that explain no more than chance would, the least first."""
    while faults and not trials.spent:
        whole = trials.left(faults)
        assert whole is not None, "only what can be simulated is kept"
        gains = [trials.gain(faults, _but(faults, fault), fault.suspect) for fault in faults]
        worst = int(np.argmin(gains))
        if gains[worst] >= needed(whole, suspects):
            break
        faults = _but(faults, faults[worst])
    return faults


def _but(faults: Sequence[Fault], one: Fault) -> list[Fault]:
    return [fault for fault in faults if fault is not one]


def _further(trials: Trials, faults: list[Fault], suspects: Sequence[Suspect], least: float) -> Fault | None:
    """The fault that explains most of what is left; nothing if it may be chance, or is too small to count."""
    left = trials.left(faults)
    assert left is not None, "only what can be simulated is kept"
    noise = trials.noise(left)
    best, most = None, needed(left, len(suspects))
    for suspect in _hinted(left, noise, suspects, [fault.suspect for fault in faults]):
        for speed in (*_SPEEDS, 0.0) if suspect.kind in _MAY_BE_DEAD else _SPEEDS:
            if trials.spent:
                return best
            tried = Fault(suspect, speed)
            gain = trials.gain([*faults, tried], faults, tried.suspect)
            if gain > most:
                best, most = tried, gain
    if best is None or best.speed == 0.0:
        return best
    for step in _STEPS:
        tried = replace(best, speed=_bounded(best.speed * step))
        gain = trials.gain([*faults, tried], faults, tried.suspect)
        if gain > most:
            best, most = tried, gain
    return best if best.speed <= math.exp(-least) else None


def _hinted(left: Matrix, noise: Matrix, suspects: Sequence[Suspect], known: Sequence[Suspect]) -> list[Suspect]:
    """The suspects whose pairs are slower than predicted on average, those first that are so most surely."""
    scaled = left / noise
    clipped = np.clip(scaled, -_CLIP, _CLIP).reshape(*left.shape[:2], -1)
    counts = np.isfinite(clipped).sum(axis=0)
    sums = np.nansum(clipped, axis=0)
    hints: dict[str, tuple[float, Suspect]] = {}
    for suspect in suspects:
        if not suspect.fault or any(suspect.fault == other.fault for other in known):
            continue
        total, count = sums[:, suspect.cells].sum(axis=1), counts[:, suspect.cells].sum(axis=1)
        score = float(np.max(total / np.sqrt(np.maximum(count, 1))))
        if score > max(HINTED, hints.get(suspect.fault, (0.0, suspect))[0]):
            hints[suspect.fault] = score, suspect
    ordered = sorted(hints.values(), key=lambda hint: -hint[0])
    return [suspect for _, suspect in ordered[:HINTS]]


def _finding(trials: Trials, fault: Fault, faults: list[Fault], guessed: Sequence[Finding], suspects: int) -> Finding:
    """What a fault does to the pairs that it delays, beside the others.

    Of what is slow those are judged that cross it: many more may wait for these, each for a little. A dead cable is
    crossed by none, and all that it delays are judged.
    """
    whole, without = trials.predicted(faults), trials.predicted(_but(faults, fault))
    left = trials.left(faults)
    assert whole is not None, "only what can be simulated is kept"
    assert without is not None, "with fewer faults too"
    assert left is not None
    noise = trials.noise(left)
    usual = np.nanmedian(noise, axis=(0, 2, 3))
    added = over(np.nanmean, whole - without, 0).reshape(whole.shape[1], -1)
    if fault.speed:
        added = added[:, fault.suspect.cells]
    effect, error, pairs = np.zeros(len(added)), np.zeros(len(added)), 0
    for length, row in enumerate(added):
        delayed = np.nan_to_num(row) > usual[length] / 2.0
        if delayed.any():
            effect[length] = float(np.median(row[delayed]))
            error[length] = 1.2533 * usual[length] / math.sqrt(delayed.sum() * whole.shape[0])
            pairs = max(pairs, int(delayed.sum()))
    gain = trials.gain(faults, _but(faults, fault), fault.suspect)
    confidence = 1.0 - min(1.0, suspects * math.exp(-gain))
    kind = "detour" if fault.speed == 0.0 else "cable" if fault.suspect.kind == "detour" else fault.suspect.kind
    return Finding(replace(fault.suspect, kind=kind), tuple(effect), tuple(error), confidence, pairs)
