"""Faults planted at random in described machines, and whether what is found is what was planted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from weft._core import Machine
from weft.health import Diagnosis, PairTimes, diagnose
from weft.health.inference import Finding
from weft.health.running import Plan, simulate
from weft.health.trials import Trial

SEEDS = 12
"""Different orders of rounds, each with noise of its own; what is normal in each is simulated once."""

MAX_SLOW = 5
"""Slow nodes at once, at most."""

MIN_CROSSING = 8
"""Pairs whose messages cross a cable before it is planted: one that nobody uses harms nobody."""


@dataclass(frozen=True)
class Planted:
    """Faults as `Machine.with_faults` reads them, and what a diagnosis should name."""

    faults: tuple[str, ...]
    names: frozenset[str]


@dataclass(frozen=True)
class Score:
    """How many things were planted, how many of those were named, and how much else was."""

    planted: int
    named: int
    false: int

    def __add__(self, other: Score) -> Score:
        return Score(self.planted + other.planted, self.named + other.named, self.false + other.false)

    @property
    def recall(self) -> float:
        """The share of what was planted that was named."""
        return self.named / self.planted if self.planted else 1.0

    @property
    def precision(self) -> float:
        """The share of what was named that was planted."""
        return self.named / (self.named + self.false) if self.named + self.false else 1.0


class Subject:
    """A machine of whose first nodes all pairs are measured, with what is normal for each seed."""

    def __init__(self, name: str, nodes: int, plan: Plan) -> None:
        self.machine = Machine.find(name)
        self.nodes, self.plan = nodes, plan
        self._normal: dict[int, PairTimes] = {}
        self._jittered: dict[tuple[str, ...], PairTimes] = {}
        self.cables = _cables(self.machine, nodes)

    def normal(self, seed: int) -> PairTimes:
        """The times without faults."""
        if seed not in self._normal:
            self._normal[seed], _ = simulate(self.machine, self.nodes, self.plan, seed=seed)
        return self._normal[seed]

    def trial(self, seed: int) -> Trial:
        """Simulates the rounds of a seed with faults; those that every diagnosis of the seed makes, once."""

        def simulated(faults: Sequence[str]) -> PairTimes:
            if not faults:
                return self.normal(seed)
            key = (str(seed), *faults)
            if key in self._jittered:
                return self._jittered[key]
            times = simulate(self.machine.with_faults([*faults]), self.nodes, self.plan, seed=seed)[0]
            if len(faults) == self.nodes:
                self._jittered[key] = times
            return times

        return simulated

    def diagnosis(self, planted: Planted, noise: float, seed: int) -> Diagnosis:
        """What is found where this is planted."""
        faults = [*planted.faults, f"noise={noise}"]
        times, _ = simulate(self.machine.with_faults([*faults]), self.nodes, self.plan, seed=seed)
        return diagnose(times, expected=self.normal(seed), machine=self.machine, trial=self.trial(seed))


def _cables(machine: Machine, nodes: int) -> list[tuple[str, str]]:
    """The ends of the cables between switches, or between nodes where there are none, that enough pairs cross."""
    crossing: Counter[tuple[str, str]] = Counter()
    for start in range(nodes):
        for end in range(nodes):
            for link in machine.route(start, end) if start != end else ():
                one, other = machine.link_ends(link)
                crossing[min((one, other), (other, one))] += 1
    has_switches = any(end.startswith("s") for ends in crossing for end in ends)
    between = [ends for ends, count in sorted(crossing.items()) if count >= MIN_CROSSING]
    return [ends for ends in between if not has_switches or all(end.startswith("s") for end in ends)]


def slow_nodes(subject: Subject, speed: float, generator: np.random.Generator) -> Planted:
    """One to five nodes of this speed."""
    count = int(generator.integers(1, MAX_SLOW + 1))
    nodes = sorted(int(node) for node in generator.choice(subject.nodes, count, replace=False))
    return Planted(tuple(f"node:{node}={speed}" for node in nodes), frozenset(f"node {node}" for node in nodes))


def slow_cable(subject: Subject, speed: float, generator: np.random.Generator) -> Planted:
    """A cable of this share of its rate, both ways; 0 is dead."""
    start, end = subject.cables[int(generator.integers(len(subject.cables)))]
    return Planted((f"link:{start}-{end}={speed}",), frozenset([_cable_name(start, end)]))


def _cable_name(start: str, end: str) -> str:
    ends = [f"switch {text[1:]}" if text.startswith("s") else f"node {text}" for text in (start, end)]
    return " and ".join(ends)


def score(planted: Planted, findings: Sequence[Finding]) -> Score:
    """What was named of what was planted. A thing that is named in several ways (a cable, and one of its directions) is
    named once."""
    named, false = set(), 0
    for finding in findings:
        names = {name for name in planted.names if _is_named(name, finding)}
        named |= names
        false += not names
    return Score(len(planted.names), len(named), false)


def _is_named(name: str, finding: Finding) -> bool:
    """Whether a finding is what was planted, or says that it cannot tell itself from that."""
    if any(other == f"the cable between {name}" or _is_link(name, other) for other in finding.suspect.others):
        return True
    if finding.suspect.kind in ("node", "sender", "receiver"):
        return finding.suspect.name.removesuffix(" as a sender").removesuffix(" as a receiver") == name
    if finding.suspect.kind in ("cable", "detour"):
        return finding.suspect.name == f"the cable between {name}"
    return _is_link(name, finding.suspect.name)


def _is_link(name: str, link: str) -> bool:
    """Whether a link is one of the two of a cable."""
    return sorted(link.removeprefix("the link from ").split(" to ")) == sorted(name.split(" and "))


Plant = Callable[[Subject, float, np.random.Generator], Planted]


def scored(subject: Subject, plant: Plant, speed: float, noise: float, plantings: int, seed: int) -> Score:
    """The score of so many plantings together."""
    total = Score(0, 0, 0)
    for number in range(plantings):
        generator = np.random.default_rng([seed, number])
        planted = plant(subject, speed, generator)
        order = 1000 * seed + subject.plan.launches * (number % SEEDS)
        total += score(planted, subject.diagnosis(planted, noise, order).findings)
    return total
