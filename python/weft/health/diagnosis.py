"""The health of a cluster: what is slow in it, how slow, and how sure that is."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from weft import units
from weft._core import Machine
from weft.health import expectation, inference, suspects, trials
from weft.health.collectives import CollectiveTime
from weft.health.expectation import Residuals
from weft.health.inference import Finding
from weft.health.pairs import Matrix, PairTimes, over
from weft.health.trials import Trial
from weft.health.within import Within, class_lines

THRESHOLD = 0.05
"""The least slowdown that counts, as a share of the time."""

BROKEN = 4.0
"""What takes so many times as long does not work."""

MIN_NODES = 4
"""The fewest nodes of which one can be told from the others."""


class Verdict(enum.IntEnum):
    """The health of a cluster; its number is the exit code, for the prologues of batch systems."""

    HEALTHY = 0
    SLOW = 3
    BROKEN = 4


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with a cluster.

    Attributes
    ----------
    times
        What was measured.
    residuals
        What it was compared with, and what is left.
    findings
        Nodes, links and pairs that are slow, that which explains most first.
    misplaced
        Pairs of nodes that have each other's place.
    lost
        Nodes that did not answer, or were lost on the way, each with what is known of that.
    notes
        What a reader should know of how it was found.
    collectives
        What collectives over all nodes took.
    within
        What there is to say of the ranks within nodes; None where nobody knows where they run.
    """

    times: PairTimes
    residuals: Residuals
    findings: list[Finding]
    misplaced: list[tuple[str, str]]
    lost: list[tuple[str, str]]
    threshold: float = THRESHOLD
    notes: list[str] = field(default_factory=list)
    collectives: list[CollectiveTime] = field(default_factory=list)
    within: Within | None = None

    @property
    def verdict(self) -> Verdict:
        """The worst of all findings."""
        if self.lost or any(_is_broken(finding) for finding in self.all_findings()):
            return Verdict.BROKEN
        if self.all_findings() or self.misplaced or self.slow_lengths() or self.slow_collectives():
            return Verdict.SLOW
        if self.within is not None and (self.within.wrong or self.within.slow_lengths(self.threshold)):
            return Verdict.SLOW
        return Verdict.HEALTHY

    def all_findings(self) -> list[Finding]:
        """What is slow between nodes, then what is within them."""
        return [*self.findings, *([] if self.within is None else self.within.findings)]

    def slow_collectives(self) -> list[CollectiveTime]:
        """The collectives over all nodes that take longer than expected, beyond their intervals."""
        return [each for each in self.collectives if each.is_slow(self.threshold)]

    def slow_lengths(self) -> dict[int, float]:
        """By how much all pairs together are slower than expected, for lengths where that counts."""
        factors = np.exp(self.residuals.shift)
        pairs = zip(self.times.lengths, factors, strict=True)
        return {length: float(factor) for length, factor in pairs if factor > 1.0 + self.threshold}

    def node_factors(self) -> dict[int, list[float]]:
        """By length: the median slowdown of the pairs of every node."""
        values = self.residuals.values
        return {length: _of_nodes(values[index]) for index, length in enumerate(self.times.lengths)}


def _of_nodes(values: Matrix) -> list[float]:
    both = np.concatenate([values, values.T], axis=1)
    return [float(np.exp(value)) for value in over(np.nanmedian, both, 1)]


def _is_broken(finding: Finding) -> bool:
    return finding.suspect.kind == "detour" or finding.slowdown >= BROKEN


def diagnose(
    times: PairTimes,
    *,
    expected: PairTimes | None = None,
    machine: Machine | None = None,
    threshold: float = THRESHOLD,
    lost: Sequence[tuple[str, str]] = (),
    origin: str = "the baseline",
    trial: Trial | None = None,
    collectives: Sequence[CollectiveTime] = (),
    within: Within | None = None,
) -> Diagnosis:
    """Tell what is slow in a cluster from the times of all pairs of its nodes.

    Parameters
    ----------
    times
        What was measured.
    expected
        What the times should be; without it, pairs are compared with those at the same inferred distance.
    machine
        The machine whose nodes have the numbers that are their names: its routes tell links apart.
    threshold
        The least slowdown that counts, as a share of the time.
    lost
        Nodes that were lost, each with what is known of that.
    origin
        What messages call the expectation.
    trial
        Simulates the same rounds on the machine with faults; what is named is then confirmed by trying it.
    collectives
        What collectives over all nodes took, beside what they should.
    within
        What there is to say of the ranks within nodes (:func:`weft.health.within.within`).

    Raises
    ------
    weft.UsageError
        If the expectation lacks nodes or lengths.

    Examples
    --------
    >>> import weft
    >>> from weft.health.pairs import pair_times
    >>> slow = weft.Machine.find("ipsc860").with_faults(["node:5=0.8"])
    >>> measured, normal = (pair_times(weft.simulate(each, "pairs", ranks=8)) for each in (slow, "ipsc860"))
    >>> [finding.suspect.name for finding in diagnose(measured, expected=normal).findings]
    ['node 5']
    """
    residuals = expectation.by_itself(times) if expected is None else expectation.compared(times, expected, origin)
    notes = _notes(times, residuals, within)
    gone = [*lost, *((name, "nothing was measured of it") for name in times.silent())]
    if times.nodes < MIN_NODES:
        return Diagnosis(times, residuals, [], [], gone, threshold, notes, [*collectives], within)
    least = float(np.log1p(threshold))
    candidates = _suspects(times, residuals, machine)
    explained, values, quickest = _explained(times, residuals, candidates, least, trial)
    pairs = inference.slow_pairs(values, quickest, explained, times.names, least)
    swapped = _misplaced(times, expected, least)
    if swapped:
        explained, pairs = _without_swapped(explained, swapped, times), _without_swapped(pairs, swapped, times)
    return Diagnosis(
        times, residuals, [*explained, *pairs], [(times.names[i], times.names[j]) for i, j in swapped], gone,
        threshold, notes, [*collectives], within,
    )  # fmt: skip


def _explained(
    times: PairTimes, residuals: Residuals, candidates: list[suspects.Suspect], least: float, trial: Trial | None
) -> tuple[list[Finding], Matrix, Matrix]:
    """The nodes and links that are slow, and the residuals by which single pairs are judged: medians and quickest."""
    named = inference.findings(residuals.values, candidates, least)
    if trial is None or times.nodes > trials.MAX_NODES:
        return named, residuals.values, residuals.quickest
    confirmed, left = trials.explained(times, trial, named, candidates, least)
    values, quickest = over(np.nanmedian, left, 0), over(np.nanmin, left, 0)
    quickest = quickest - over(np.nanmedian, quickest, (1, 2), keepdims=True)
    # What nobody can plant, such as a node that is slow as a sender only, is told from what is left.
    others = [one.suspect for one in named if not one.suspect.fault]
    further = inference.findings(values, others, least)
    return [*confirmed, *further], values, quickest


def _suspects(times: PairTimes, residuals: Residuals, machine: Machine | None) -> list[suspects.Suspect]:
    listed = [*suspects.of_nodes(times.names)]
    if machine is not None:
        listed += suspects.of_links(machine, [int(name) for name in times.names])
    else:
        listed += suspects.of_groups(times.names, residuals.groups)
    return suspects.distinct(listed)


def _misplaced(times: PairTimes, expected: PairTimes | None, least: float) -> list[tuple[int, int]]:
    if expected is None or set(times.names) != set(expected.names):
        return []
    order = [expected.names.index(name) for name in times.names]
    measured = over(np.nanmedian, times.logs[:, 0], 0)
    normal = over(np.nanmedian, expected.logs[:, expected.lengths.index(times.lengths[0])], 0)[order][:, order]
    return inference.misplaced(measured, normal, least)


def _without_swapped(
    explained: Sequence[Finding], swapped: Sequence[tuple[int, int]], times: PairTimes
) -> list[Finding]:
    """The findings that pairs with a misplaced node do not make."""
    nodes = {node for pair in swapped for node in pair}
    count = times.nodes

    def concerned(finding: Finding) -> float:
        cells = finding.suspect.cells
        return float(np.mean(np.isin(cells // count, [*nodes]) | np.isin(cells % count, [*nodes])))

    return [finding for finding in explained if concerned(finding) < 0.5]


def _notes(times: PairTimes, residuals: Residuals, within: Within | None) -> list[str]:
    notes = []
    if times.nodes < MIN_NODES:
        notes.append(
            f"{times.nodes} nodes: with fewer than {MIN_NODES} no pair can be told from its nodes, and what is slow "
            "has no name"
        )
    if not residuals.is_compared:
        notes.append("no expectation: what all nodes have in common cannot be seen; compare with --baseline FILE")
        groups = int(residuals.groups.max()) + 1
        if groups > 1:
            sizes = ", ".join(str(int(size)) for size in np.bincount(residuals.groups))
            notes.append(f"by the distances of short messages the nodes form {groups} groups, of {sizes} nodes")
    if within is not None:
        notes += class_lines(within)
    if len(times.launches) == 1:
        notes.append("one launch: what was slow in it may have been somebody else's traffic")
    return notes


def sentence(diagnosis: Diagnosis, finding: Finding) -> str:
    """One finding in words, with its evidence.

    The interval is the 95% one of the median over pairs.
    """
    suspect = finding.suspect
    name = _with_others(suspect)
    parts = []
    triples = zip(diagnosis.times.lengths, finding.effect, finding.error, strict=True)
    for length, effect, error in sorted(triples, key=lambda triple: -triple[1]):
        if effect > 0.0:
            low, high = np.exp(effect - 1.96 * error), np.exp(effect + 1.96 * error)
            parts.append(f"{np.exp(effect):.2f} times as long at {units.length(length)} ({low:.2f} to {high:.2f})")
    seen = f"{finding.pairs} pair{'s' if finding.pairs > 1 else ''}"
    says = f"{'; '.join(parts)}; seen in {seen}, confidence {_percent(finding.confidence)}"
    if suspect.kind == "detour":
        return f"{name} looks dead: messages that need it take another route, {says}"
    if suspect.kind == "pair":
        return f"{suspect.name} {'take' if suspect.name.startswith('messages') else 'takes'} {says}"
    return f"{name} {'are' if suspect.name.startswith('the uplinks') else 'is'} slow: messages take {says}"


def _of_collective(each: CollectiveTime) -> str:
    slowdown, low, high = each.slowdown or 1.0, each.low or 1.0, each.high or 1.0
    interval = f" ({low:.2f} to {high:.2f})" if f"{low:.2f}" < f"{high:.2f}" else ""
    return f"{each.name} takes {slowdown:.2f} times as long as expected{interval}, {units.seconds(each.seconds)}"


def _of_ranks(diagnosis: Diagnosis) -> list[str]:
    """What is wrong within nodes: bindings first, for they explain times; then what the times say."""
    within = diagnosis.within
    if within is None:
        return []
    lines = [each.text for each in within.wrong]
    for length, factor in within.slow_lengths(diagnosis.threshold).items():
        lines.append(f"all pairs within nodes take {factor:.2f} times as long as expected at {units.length(length)}")
    return lines + [sentence(diagnosis, finding) for finding in within.findings]


def _with_others(suspect: suspects.Suspect) -> str:
    """The name, with what cannot be told from it."""
    others = [other for other in suspect.others if suspect.kind != "node" or other.startswith("the cable")]
    return f"{suspect.name} (or {' or '.join(others[:2])})" if others else suspect.name


def _percent(confidence: float) -> str:
    """Never 100%: what rests on a model of noise is not certain."""
    return "above 99.9%" if confidence > 0.999 else f"{confidence:.1%}"


def summary(diagnosis: Diagnosis) -> list[str]:
    """All that is known, in sentences; the verdict first."""
    verdict, times = diagnosis.verdict, diagnosis.times
    count = f"{times.nodes} nodes, {len(times.launches)} launch{'es' if len(times.launches) > 1 else ''}"
    lines = [f"{verdict.name.lower()}: {count}, messages of {', '.join(map(units.length, times.lengths))}"]
    lines += [f"node {name} is lost: {why}" for name, why in diagnosis.lost]
    for length, factor in diagnosis.slow_lengths().items():
        lines.append(f"all pairs together take {factor:.2f} times as long as expected at {units.length(length)}")
    lines += [sentence(diagnosis, finding) for finding in diagnosis.findings]
    lines += [_of_collective(each) for each in diagnosis.slow_collectives()]
    lines += _of_ranks(diagnosis)
    for first, second in diagnosis.misplaced:
        lines.append(f"nodes {first} and {second} have each other's place: their distances are swapped")
    return lines
