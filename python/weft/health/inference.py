"""Which node, link or pair is slow: a robust fit of effects to the log times of all pairs.

The model is additive on the logarithm: a pair's time is its expected time, multiplied by the effect of what is slow on
its route; where several things are slow, by the largest of them, for a transfer is as fast as its slowest part. Effects
enter one by one, that first which explains most of the absolute residuals (matching pursuit, Mallat and Zhang 1993,
with the loss of least absolute deviations), each as the median over its pairs, and only if it is told from noise at a
level that allows for the number of suspects (Bonferroni). Then all are estimated again beside each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from weft.health.expectation import spread
from weft.health.pairs import Matrix, over
from weft.health.suspects import Suspect

MAX_FINDINGS = 64
"""A machine with more things wrong has one thing wrong with it that is not on the list."""

LEVEL = 0.01
"""The chance that a healthy machine has a finding at all."""

_PAIR_LEVEL = 1e-4
"""The same of its pairs: noise of single pairs has heavier tails than that of medians."""

_MEDIAN = 1.2533
"""Standard error of a median over that of a mean of normal values: sqrt(pi / 2)."""

_WHOLE = 0.25
"""The share of a suspect's pairs that may be no slower than half of its effect, noise apart: else a part of it is what
is slow."""

_TAIL = 0.97
_BEYOND_TAIL = 2.7
"""A pair stands out by itself beyond so many times this quantile of all pairs: where pairs take cables from each other
by chance, some are twice as slow and nothing is wrong. For normal noise it is the level of `_PAIR_LEVEL` again."""

FLOOR = 0.002
"""The least noise of a log time: simulated times have none, and clocks have steps."""

_REFITS = 3


@dataclass(frozen=True)
class Finding:
    """A thing that is slow.

    Attributes
    ----------
    suspect
        What it is.
    effect
        By length: the logarithm of its time over the expected one; 0 where it is not told from noise.
    error
        By length: the standard error of that.
    confidence
        The probability that it is no noise, the number of suspects allowed for.
    pairs
        How many pairs show it.
    """

    suspect: Suspect
    effect: tuple[float, ...]
    error: tuple[float, ...]
    confidence: float
    pairs: int

    @property
    def slowdown(self) -> float:
        """The largest factor by which it takes longer."""
        return float(np.exp(max(self.effect)))


@dataclass(frozen=True)
class Judgement:
    """What a suspect comes to, beside the others."""

    gain: float
    effect: Matrix
    error: Matrix
    p: float


def findings(values: Matrix, suspects: Sequence[Suspect], least: float) -> list[Finding]:
    """What is slow.

    Parameters
    ----------
    values
        By length, sender and receiver: logarithm of measured over expected time; not a number where unknown.
    suspects
        What may be slow.
    least
        The least effect that counts, as a logarithm.

    Returns
    -------
    list
        Findings, that which explains most first.

    Examples
    --------
    >>> from weft.health.suspects import of_nodes
    >>> times = np.random.default_rng(1).normal(0.0, 0.02, (1, 8, 8))
    >>> times[0, 3, :] += 0.3
    >>> results = findings(times, [*of_nodes("abcdefgh")], 0.05)
    >>> [(finding.suspect.name, round(finding.slowdown, 1)) for finding in results]
    [('node d as a sender', 1.3)]
    """
    flat = values.reshape(len(values), -1)
    noise = _noise(flat)
    chosen: list[tuple[Suspect, Matrix]] = []
    while len(chosen) < MAX_FINDINGS:
        left = flat - _combined(chosen, flat.shape)
        best = _best(left, noise, suspects, least, [suspect for suspect, _ in chosen])
        if best is None:
            break
        chosen = _refitted(flat, noise, [*chosen, best])
        noise = _noise(flat - _combined(chosen, flat.shape))
    return _confirmed(flat, noise, chosen, len(suspects), least)


def _noise(left: Matrix) -> Matrix:
    return np.array([max(spread(row), FLOOR) for row in left])


def _best(
    left: Matrix, noise: Matrix, suspects: Sequence[Suspect], least: float, chosen: Sequence[Suspect]
) -> tuple[Suspect, Matrix] | None:
    """The suspect that explains most of what is left."""
    best, most = None, 0.0
    for suspect in suspects:
        if any(suspect is other for other in chosen):
            continue
        judged = _judge(left[:, suspect.cells], noise, len(suspects), least)
        if judged is not None and judged.gain > most and _is_possible(suspect, judged):
            best, most = (suspect, judged.effect), judged.gain
    return best


def _is_possible(suspect: Suspect, judged: Judgement) -> bool:
    """A detour costs hops, which short messages show most; what delays long ones alone is traffic."""
    return suspect.kind != "detour" or judged.effect[0] > 0.0


def _judge(cells: Matrix, noise: Matrix, suspects: int, least: float) -> Judgement | None:
    """What the residuals of a suspect's pairs say; nothing where they are noise, too small, or of a part of it only."""
    effect, error = np.zeros(len(cells)), np.zeros(len(cells))
    gain, smallest = 0.0, 1.0
    for length, row in enumerate(cells):
        known = row[np.isfinite(row)]
        if not known.size:
            continue
        middle = float(np.median(known))
        if middle < least / 2.0:
            continue
        error[length] = _MEDIAN * max(noise[length], spread(known)) / np.sqrt(known.size)
        p = float(special.ndtr(-middle / (_MEDIAN * noise[length] / np.sqrt(known.size))))
        if p * suspects > LEVEL or np.quantile(known, _WHOLE) < middle / 2.0 - noise[length]:
            continue
        effect[length] = middle
        smallest = min(smallest, p)
        gain += float(np.sum(np.abs(known) - np.abs(known - middle))) / noise[length]
    return Judgement(gain, effect, error, smallest) if effect.max(initial=0.0) >= least else None


def _combined(chosen: Sequence[tuple[Suspect, Matrix]], shape: tuple[int, ...]) -> Matrix:
    """By length and pair: the largest effect of what is slow on its route."""
    effects = np.zeros(shape)
    for suspect, effect in chosen:
        effects[:, suspect.cells] = np.maximum(effects[:, suspect.cells], effect[:, None])
    return effects


def _refitted(flat: Matrix, noise: Matrix, chosen: Sequence[tuple[Suspect, Matrix]]) -> list[tuple[Suspect, Matrix]]:
    """The effects beside each other: each the median over the pairs in which no other is larger."""
    fitted = list(chosen)
    for _ in range(_REFITS if len(fitted) > 1 else 0):
        for index, (suspect, effect) in enumerate(fitted):
            own = _own(flat, noise, fitted, index)
            fitted[index] = (suspect, np.where(effect > 0.0, np.maximum(own, 0.0), 0.0))
    return fitted


def _own(flat: Matrix, noise: Matrix, fitted: Sequence[tuple[Suspect, Matrix]], index: int) -> Matrix:
    suspect, effect = fitted[index]
    others = _combined([other for at, other in enumerate(fitted) if at != index], flat.shape)[:, suspect.cells]
    own = effect.copy()
    for length, row in enumerate(flat[:, suspect.cells]):
        free = row[np.isfinite(row) & (others[length] < noise[length])]
        if free.size >= 2:
            own[length] = np.median(free)
    return own


def _confirmed(
    flat: Matrix, noise: Matrix, chosen: Sequence[tuple[Suspect, Matrix]], suspects: int, least: float
) -> list[Finding]:
    """The findings that the others do not explain."""
    confirmed: list[tuple[Suspect, Matrix]] = list(chosen)
    results = []
    for suspect, _ in chosen:
        others = [other for other in confirmed if other[0] is not suspect]
        over = _combined(others, flat.shape)[:, suspect.cells]
        cells = np.where(over < noise[:, None], flat[:, suspect.cells], np.nan)
        judged = _judge(cells, noise, suspects, least)
        if judged is None:
            confirmed = others
            continue
        pairs = int(np.isfinite(flat[:, suspect.cells]).any(axis=0).sum())
        confidence = 1.0 - min(1.0, judged.p * suspects)
        results.append(Finding(suspect, tuple(judged.effect), tuple(judged.error), confidence, pairs))
    return results


def slow_pairs(
    values: Matrix, quickest: Matrix, known: Sequence[Finding], names: Sequence[str], least: float
) -> list[Finding]:
    """The slow pairs of a matrix of all pairs of nodes: see :func:`slow_cells`."""
    count = len(names)
    ends = np.stack(np.divmod(np.arange(count * count), count), axis=1)
    return slow_cells(values, quickest, known, ends, _Names(names), least)


class _Names:
    """What pairs of nodes are called."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __call__(self, i: int, j: int, both: bool) -> str:
        one, other = self._names[i], self._names[j]
        return f"the pair {one} and {other}" if both else f"messages from {one} to {other}"


def slow_cells(
    values: Matrix,
    quickest: Matrix,
    known: Sequence[Finding],
    ends: npt.NDArray[np.int64],
    name: Callable[[int, int, bool], str],
    least: float,
) -> list[Finding]:
    """Pairs that no node and no link explains and that are slow, in one direction or in both.

    A pair is told from noise by itself, so noise is taken from all pairs and the level from their number. It has to be
    slow in the quickest of its launches too: in the others it may have shared a cable with other pairs.

    Parameters
    ----------
    values, quickest
        Logarithm of measured over expected time, by length, sender and receiver: at the median over launches, and of
        the quickest launch.
    known
        What is slow besides; its pairs are left out.
    ends
        The sender and the receiver of each pair, in the order of the values.
    name
        Calls a pair by its ends, in both directions or in one.
    least
        The least effect that counts, as a logarithm.
    """
    flat, low = values.reshape(len(values), -1).copy(), quickest.reshape(len(values), -1)
    for finding in known:
        flat[:, finding.suspect.cells] = np.nan
    noise = _noise(flat)
    over = _stands_out(flat, least) & _stands_out(low, least)
    slow = {(int(ends[cell, 0]), int(ends[cell, 1])): int(cell) for cell in np.flatnonzero(over.any(axis=0))}
    results = []
    for (i, j), cell in slow.items():
        back = slow.get((j, i))
        if back is not None and back < cell:
            continue
        cells = np.array([cell] if back is None else [cell, back])
        effect = np.where(over[:, cells].any(axis=1), np.nanmean(flat[:, cells], axis=1), 0.0)
        p = min(1.0, float(special.ndtr(-np.max(effect / noise))) * flat.size)
        suspect = Suspect("pair", name(i, j, back is not None), cells, (i, j))
        results.append(Finding(suspect, tuple(effect), tuple(noise), 1.0 - p, len(cells)))
    return sorted(results, key=lambda finding: -finding.slowdown)


def _stands_out(flat: Matrix, least: float) -> npt.NDArray[np.bool_]:
    """By length and pair: whether it is slower than noise and than the tail of all pairs make one."""
    over = np.zeros(flat.shape, dtype=bool)
    limit = -float(special.ndtri(_PAIR_LEVEL / flat.size))
    for length, row in enumerate(flat):
        known = row[np.isfinite(row)]
        if known.size:
            tail = _BEYOND_TAIL * float(np.quantile(known, _TAIL))
            over[length] = np.nan_to_num(row, nan=-np.inf) > max(limit * max(spread(known), FLOOR), tail, least)
    return over


def misplaced(logs: Matrix, expected: Matrix, least: float) -> list[tuple[int, int]]:
    """Nodes whose distances are those of another place: each with the node whose place it has.

    Parameters
    ----------
    logs, expected
        Log times of short messages by sender and receiver, measured and expected.
    least
        The least mean improvement of the log times, as beside that a swap explains nothing.

    Examples
    --------
    >>> expected = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    >>> order = np.array([0, 6, 2, 3, 4, 5, 1, 7])
    >>> misplaced(expected[order][:, order], expected, 0.05)
    [(1, 6)]
    """
    count = len(logs)
    left = logs - expected
    left = left - np.nanmedian(left)
    bad = over(np.nanmedian, np.abs(left), 1) + over(np.nanmedian, np.abs(left), 0)
    order = np.argsort(-bad)
    limit = 2.0 * (np.nanmedian(bad) + least)
    results: list[tuple[int, int]] = []
    for i in (int(node) for node in order if bad[node] > limit):
        if any(i in pair for pair in results):
            continue
        losses = {j: _swapped_loss(logs, expected, i, j) for j in range(count) if j != i}
        j = min(losses, key=losses.__getitem__, default=i)
        if losses and losses[j] < 0.5 * _swapped_loss(logs, expected, i, i) - least:
            results.append((min(i, j), max(i, j)))
    return sorted(results)


def _swapped_loss(logs: Matrix, expected: Matrix, i: int, j: int) -> float:
    """The mean absolute residual of node i's pairs if it had the place of node j and j that of i."""
    order = np.arange(len(logs))
    order[[i, j]] = order[[j, i]]
    row = logs[i] - expected[order[i], order]
    column = logs[:, i] - expected[order, order[i]]
    both = np.concatenate([row, column])
    known = both[np.isfinite(both)]
    return float(np.mean(np.abs(known - np.median(known)))) if known.size else 0.0
