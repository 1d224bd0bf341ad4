"""Collectives on invented networks, judged by code that shares nothing with the compiler, its verifier or its executor.

Networks are drawn by a seed (benches/conset/inventions.py): tori and meshes, systems on tori, tori inside systems,
systems with rails, fat trees, dragonflies, hypercubes, rings of cliques, trees and chains, anything, and links one way;
with speeds and latencies of their own, links that are missing or slower one way, dead nodes, groups of any size, and
switches that copy or add.

Every collective is compiled by every method. Its data is followed piece by piece, its certified cut is compared with
the smallest cut by maximum flows (scipy), and what its fullest links take with the bound. Where it is farther from the
bound than a hundredth, it is compared with the optimum of a linear programme (HiGHS), if that is solved in time: cuts
promise more than can be reached behind switches into which not as much comes as goes out, and the bound of an allreduce
is not of trees alone. Changed schedules that the verifier accepts are followed again. With `--times`, schedules for six
lengths are simulated message by message beside the algorithms of libraries on the same paths.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import statistics
import time
from typing import Any

from benches.benchmark import Benchmark, positive
from benches.conset import inventions, mutations, oracles, simple_algorithms, topologies
from benches.recording import Report

NEAR = 0.99
"""What part of the optimum is to be reached."""

LENGTHS = {"1K": 1 << 10, "8K": 1 << 13, "64K": 1 << 16, "1M": 1 << 20, "16M": 1 << 24, "256M": 1 << 28}

MAX_MESSAGES = 60_000
"""Messages up to which a schedule is simulated."""

MAX_FLOWS = 4_000
"""Links times ranks up to which the linear programme is solved, within seconds."""

CHANGES = 4
"""Of each schedule."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--networks", type=positive, default=300, help="how many (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="the first network (default: 0)")
    parser.add_argument("--times", type=int, default=60, help="simulate schedules of so many networks (default: 60)")


class Campaign:
    """What was looked at so far, and what was wrong."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.reached: dict[str, tuple[float, str]] = {}
        self.gains: list[tuple[float, str]] = []
        self.slowest = (0.0, "")

    def network(self, seed: int) -> None:
        """Compile and judge every collective for one network."""
        fabric, ranks, name = parsed(seed)
        self.counts["networks"] += 1
        for collective in collectives():
            for method in ("throughput", "latency", "auto"):
                what = f"{name}, {collective}, {method}"
                length = 4 * ranks * (1 << 14 if method == "throughput" else 97)
                schedule = self.compiled(fabric, collective, length, method, what)
                if schedule is not None:
                    self.judge(schedule, what, random.Random(what))

    def compiled(self, fabric: Any, collective: str, length: int, method: str, what: str) -> Any:
        """A schedule that the verifier accepts; None where the method has none, in which case the message says so."""
        from weft import _core

        begin = time.process_time()
        root = fabric.ranks - 1 if collective in ("broadcast", "reduce") else 0
        try:
            schedule = _core.compile_collective(fabric, collective, length, 4, root, method)[0]
        except _core.UsageError as error:
            if method != "latency" or "leave out the method latency" not in str(error):
                self.wrong.append(f"{what}: {error}")
            return None
        schedule.verify()
        self.slowest = max(self.slowest, (time.process_time() - begin, what))
        self.counts["schedules"] += 1
        return schedule

    def judge(self, schedule: Any, what: str, draw: random.Random) -> None:
        """Data, bounds and rates of one schedule, and what becomes of changes."""
        content = json.loads(schedule.to_json())
        if wrong := oracles.wrong_data(content):
            self.wrong.append(f"{what}: {wrong}")
        seconds = oracles.seconds_of_links(content)
        if seconds < schedule.bound_seconds * (1 - 1e-6):
            self.wrong.append(f"{what}: faster than its bound")
        if schedule.predicted_seconds < seconds * (1 - 1e-6):
            self.wrong.append(f"{what}: predicted to be faster than its fullest link")
        if what.endswith("throughput"):
            self.rates(schedule, content, seconds, what)
        for _ in range(CHANGES):
            changed = json.loads(json.dumps(content))
            mutations.change(changed, draw)
            self.counts["changes"] += 1
            if mutations.verdict(changed, None) is None and (wrong := oracles.wrong_data(changed)):
                self.wrong.append(f"{what}: accepted although {wrong}")

    def rates(self, schedule: Any, content: dict[str, Any], seconds: float, what: str) -> None:
        """Bounds beside the smallest cut, and how much of the optimum is reached."""
        fabric, collective = content["fabric"], content["collective"]
        has_cut = content["root"] is None and collective not in ("allreduce", "all-to-all")
        if has_cut and len(content["stages"]) == 1:
            [stage] = content["stages"]
            cut = oracles.cut_rate(fabric, stage["operation"] == "reduce")
            # Bandwidths that are multiples of no common unit are rounded where cuts are looked for.
            if not cut * (1 - 1e-6) <= stage["bound"]["rate"] <= cut * 1.001:
                self.wrong.append(f"{what}: the bound is {stage['bound']['rate']:.6e}, the smallest cut {cut:.6e}")
        if content["root"] is not None or len(fabric["ranks"]) == 2:
            return
        part = schedule.bound_seconds / seconds
        self.note(f"{collective}: reached/bound", part, what)
        best = optimum(content) if part < NEAR else None
        if part >= NEAR or best is not None:
            self.note(f"{collective}: reached/optimum", content["bytes"] / best / seconds if best else part, what)

    def note(self, figure: str, part: float, what: str) -> None:
        """The least of a figure so far."""
        self.reached[figure] = min(self.reached.get(figure, (2.0, "")), (part, what))
        self.counts[f"{figure}, networks below {NEAR}"] += part < NEAR

    def times(self, seed: int) -> None:
        """Schedules of a network beside the algorithms of libraries, by a simulation of all messages."""
        fabric, ranks, name = parsed(seed)
        for collective in collectives():
            for length in (length for length in LENGTHS.values() if length >= 4 * ranks):
                schedule = self.compiled(fabric, collective, length, "auto", f"{name}, {collective}")
                if schedule is None:
                    continue
                if schedule.has_switches:
                    continue
                content = json.loads(schedule.to_json())
                messages = oracles.messages_of(content, MAX_MESSAGES)
                if messages is None:
                    continue
                own = oracles.seconds_of_messages(content["fabric"], messages)
                root = content["root"] or 0
                of_network = content["fabric"]
                others = [
                    (oracles.seconds_of_messages(of_network, sent), algorithm)
                    for algorithm, sent in simple_algorithms.all_of(collective, of_network, length, root, MAX_MESSAGES)
                ]
                if others and own > 0.0:
                    best, algorithm = min(others)
                    what = f"{name}, {ranks} ranks, {collective} {length}: {schedule.form} beside {algorithm}"
                    self.gains.append((best / own, what))


def collectives() -> list[str]:
    """What is compiled."""
    from weft import _core

    return _core.collectives()


def parsed(seed: int) -> tuple[Any, int, str]:
    """The network of a seed, with its group, its number of ranks and its name."""
    from weft import _core

    graph, group = inventions.invented(seed)
    fabric = _core.Fabric.parse(json.dumps(graph), graph["name"])
    fabric = fabric if group is None else fabric.with_group(group)
    return fabric, fabric.ranks, graph["name"]


def optimum(content: dict[str, Any]) -> float | None:
    """Bytes of the buffer a second that trees can reach, by a linear programme; None where that is too large, and where
    switches copy or add. Of an all-to-all by any paths, whatever switches do."""
    fabric, collective = content["fabric"], content["collective"]
    ranks = len(fabric["ranks"])
    if collective == "all-to-all" and len(fabric["links"]) * ranks <= MAX_FLOWS:
        return float(content["bytes"]) / topologies.least_seconds_of_blocks(fabric, oracles.blocks(content))
    if fabric.get("in_network") or len(fabric["links"]) * ranks > MAX_FLOWS // (2 if collective == "allreduce" else 1):
        return None
    if collective == "allreduce":
        stages = ranks / sum(1.0 / topologies.optimum(fabric, reverse) for reverse in (False, True))
        return max(topologies.optimum_allreduce(fabric), stages)
    return ranks * topologies.optimum(fabric, collective == "reduce-scatter")


def run(chosen: argparse.Namespace, report: Report) -> None:
    campaign = Campaign()
    for seed in range(chosen.seed, chosen.seed + chosen.networks):
        campaign.network(seed)
    for seed in range(chosen.seed, chosen.seed + chosen.times):
        campaign.times(seed)
    report.protocol.update({"networks": chosen.networks, "of these simulated": chosen.times, "first seed": chosen.seed})
    for name in ("networks", "schedules", "changes"):
        report.figure(name, campaign.counts[name])
    report.figure("what is wrong", len(campaign.wrong), "", 0, "at most")
    for figure, (part, what) in sorted(campaign.reached.items()):
        target = NEAR if figure.endswith("optimum") else None
        report.figure(f"{figure}, least", part, "ratio", target, "at least")
        report.figure(f"{figure}, networks below {NEAR}", campaign.counts[f"{figure}, networks below {NEAR}"])
        report.notes[figure] = what
    if campaign.gains:
        gains = [gain for gain, _ in campaign.gains]
        report.figure("simulated: best baseline/weft, geometric mean", statistics.geometric_mean(gains), "ratio")
        report.figure("simulated: cases", len(gains))
        for limit in (0.99, 0.9, 0.5):
            report.figure(
                f"simulated: cases with best baseline/weft below {limit}", sum(gain < limit for gain in gains)
            )
        report.notes["slowest beside baselines"] = [f"{gain:.3f} {what}" for gain, what in sorted(campaign.gains)[:20]]
    report.figure("slowest compilation", campaign.slowest[0], "s")
    report.notes["slowest compilation"] = campaign.slowest[1]
    if campaign.wrong:
        report.notes["wrong"] = campaign.wrong[:20]


BENCHMARK = Benchmark(
    "collective-inventions",
    "collectives on invented networks, judged by cuts, linear programmes, followed data and simulated messages",
    "half an hour",
    run,
    options,
)
