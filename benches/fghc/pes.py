"""What processing elements cost: a message in reductions, within a process and over MPI, and what a second PE gains.

A message is counted with the processor time of both ends: the work of all PEs with the messages, less the work of
the same reductions on one PE, over the messages; in reductions of that program on one PE; the median over pairs of
runs in turn. Messages over MPI need an `mpiexec` that WEFT_MPIEXEC names or that is beside this Python or in PATH;
they are left out, with a message, where there is none. Two PEs want two processors and a quiet machine. Beside what
two PEs gain is what two runs on one PE gain that share nothing and go on at one time, each on a processor of its
own: where both processors at work are slower than one alone, neither gains two. The program deals its work out in
halves, so two PEs take as long as the slower processor: that is told beside the mean. Virtual processors may be
threads of one core for seconds to minutes, or one of them much slower than the other: messages and what two PEs gain
are judged by the rounds in which two runs at one time, one on each, and a run on one PE just after them, which are
used for nothing else, are within a tenth of each other; where those are fewer than three, messages by all rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benches import building, harness
from benches.benchmark import Benchmark, Need, rounds_option
from benches.recording import ROOT, Report

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
QUEENS_FILE = ROOT / "programs" / "fghc" / "queens.fghc"

Outcome = dict[str, Any]
"""What a run of the example says."""

# The control of a run is the last kind of message, and is not counted.
KINDS = 8
THROWS, ASKS = 300_000, 100_000
MESSAGES = (
    ("throw", "throws.fghc", f"stay({10 * THROWS})", f"throw({THROWS},1)"),
    ("ask", "asks.fghc", f"main({10 * ASKS},0,Sum)", f"main({ASKS},1,Sum)"),
)
"""Kinds of messages: program, the goal that does the same without them on one PE, and the goal with them on two."""
BASES = {"throw": "stay", "throw, MPI": "stay", "ask": "ask alone", "ask, MPI": "ask alone"}
QUEENS, DEPTHS = 12, (1, 2, 3, 4)
ALIKE, MIN_ALIKE = 1.1, 3
"""How far apart two runs at one time and one after them may be where there are two like cores, and the fewest such
rounds that tell something."""
WANTED = {"throw": 20, "ask": 20, "throw, MPI": 150, "ask, MPI": 150, "two PEs": 1.8}


def mpiexec() -> list[str] | None:
    if "WEFT_MPIEXEC" in os.environ:
        return shlex.split(os.environ["WEFT_MPIEXEC"])
    beside = Path(sys.executable).parent / "mpiexec"
    launcher = str(beside) if beside.exists() else shutil.which("mpiexec")
    if launcher is None:
        print("there is no mpiexec: messages over MPI are left out", file=sys.stderr)
        return None
    library = Path(sys.prefix) / "lib" / "libmpi.so"
    if library.exists():
        # That of the very mpiexec, where the environment names no other.
        os.environ.setdefault("WEFT_MPI_LIBRARY", str(library))
    return [launcher]


def run(command: list[str], program: Path, goal: str, pes: str) -> Outcome:
    outcome: Outcome = json.loads(building.run([*command, str(program), goal, pes], "weft").splitlines()[0])
    if outcome["end"]["end"] != "finished":
        sys.exit(f"{goal} on {pes} PEs did not finish: {outcome['end']}")
    return outcome


def seconds(pes: str, program: Path, goal: str, number: int) -> float:
    return float(str(run([pes], program, goal, str(number))["elapsed"]))


class Control:
    """Of every round, two runs on one PE at one time, and one just after them."""

    def __init__(self, pes: str, program: Path, goal: str) -> None:
        self.of = (pes, program, goal)
        self.pairs: list[list[float]] = []
        self.after: list[float] = []

    def run(self) -> None:
        pair = two_at_once(*self.of)
        if pair is not None:
            self.pairs.append(pair)
            self.after.append(seconds(*self.of, 1))

    def on_two_cores(self) -> list[int]:
        """The rounds in which two runs at one time took as long as each other, and as one alone."""
        runs = [[*pair, one] for pair, one in zip(self.pairs, self.after, strict=True)]
        return [i for i, times in enumerate(runs) if max(times) <= ALIKE * min(times)]


def two_at_once(command: str, program: Path, goal: str) -> list[float] | None:
    """Seconds of two runs on one PE at one time, each on a processor of its own; `None` where there is one only."""
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
        return None
    allowed = os.sched_getaffinity(0)
    running = []
    try:
        for processor in sorted(allowed)[:2]:
            # Those who are started inherit it.
            os.sched_setaffinity(0, {processor})
            running.append(subprocess.Popen([command, str(program), goal, "1"], stdout=subprocess.PIPE, text=True))
    finally:
        os.sched_setaffinity(0, allowed)
    lines = [one.communicate()[0].splitlines() for one in running]
    if any(one.returncode != 0 for one in running):
        sys.exit(f"{goal} on one PE failed beside another")
    return [json.loads(printed[0])["elapsed"] for printed in lines]


def work(outcome: Outcome) -> float:
    return float(sum(pe["work"] for pe in outcome["pes"]))


def reductions(outcome: Outcome) -> int:
    return int(sum(pe["reductions"] for pe in outcome["pes"]))


def messages(outcome: Outcome) -> int:
    return int(sum(sum(pe["sent"][:KINDS]) for pe in outcome["pes"]))


def message_cost(one: Outcome, two: Outcome) -> float:
    """Reductions that one message costs, by a run without messages on one PE and one with them just after."""
    reduction = work(one) / reductions(one)
    return (work(two) - reductions(two) * reduction) / messages(two) / reduction


@dataclass
class Rounds:
    """What all rounds found.

    Attributes
    ----------
    runs
        By kind of message, and by what does the same without them.
    without
        Controls of the latter.
    times
        Seconds of the queens by depth and PEs.
    beside
        Controls of the queens by depth.
    """

    runs: dict[str, list[Outcome]] = field(default_factory=dict)
    without: dict[str, Control] = field(default_factory=dict)
    times: dict[int, dict[int, list[float]]] = field(default_factory=dict)
    beside: dict[int, Control] = field(default_factory=dict)


def measure(pes: str, rounds: int) -> Rounds:
    """One PE and two in turn, so that what slows the machine slows both."""
    launcher = mpiexec()
    measured = Rounds(times={depth: {1: [], 2: []} for depth in DEPTHS})
    measured.without = {BASES[kind]: Control(pes, PROGRAMS / file, lone) for kind, file, lone, _ in MESSAGES}
    goals = {depth: f"queens({QUEENS},{depth},S)" for depth in DEPTHS}
    measured.beside = {depth: Control(pes, QUEENS_FILE, goal) for depth, goal in goals.items()}
    for _ in range(rounds):
        for kind, file, lone, pair_goal in MESSAGES:
            base = BASES[kind]
            measured.runs.setdefault(base, []).append(run([pes], PROGRAMS / file, lone, "1"))
            measured.runs.setdefault(kind, []).append(run([pes], PROGRAMS / file, pair_goal, "2"))
            if launcher is not None:
                command = [*launcher, "-n", "2", pes]
                measured.runs.setdefault(f"{kind}, MPI", []).append(run(command, PROGRAMS / file, pair_goal, "mpi"))
            measured.without[base].run()
        for depth, goal in goals.items():
            for number in (1, 2):
                measured.times[depth][number].append(seconds(pes, QUEENS_FILE, goal, number))
            measured.beside[depth].run()
    return measured


def report_messages(measured: Rounds, report: Report) -> None:
    """What a message costs, by the rounds with two like cores where they are enough, else by all."""
    for name, base in BASES.items():
        if name not in measured.runs:
            continue
        costs = [message_cost(one, two) for one, two in zip(measured.runs[base], measured.runs[name], strict=True)]
        alike = measured.without[base].on_two_cores()
        counted = [costs[i] for i in alike] if len(alike) >= MIN_ALIKE else costs
        report.figure(f"a message ({name})", harness.spread(counted), "reductions", WANTED[name], "at most")
        report.figure(f"a message ({name}), all rounds", harness.spread(costs), "reductions")
        report.figure(f"a message ({name}): rounds with two like cores", len(alike), quiet=True)


def report_gains(measured: Rounds, report: Report) -> None:
    """What two PEs gain, and what two runs that share nothing do."""
    best: tuple[float, harness.Spread] | None = None
    for depth, by in measured.times.items():
        where = f"{QUEENS} queens, depth {depth}"
        gains = harness.ratios(by[1], by[2])
        report.figure(f"{where}: two PEs, all rounds", harness.spread(gains), "ratio")
        alike = measured.beside[depth].on_two_cores()
        report.figure(f"{where}: rounds with two like cores", len(alike), quiet=True)
        if len(alike) >= MIN_ALIKE:
            gain = harness.spread([gains[i] for i in alike])
            report.figure(f"{where}: two PEs, two like cores", gain, "ratio")
            # The best depth is where two PEs take least.
            taken = statistics.median(by[2][i] for i in alike)
            best = min(best or (taken, gain), (taken, gain), key=lambda one: one[0])
        pairs = measured.beside[depth].pairs
        for name, of in (("mean", statistics.mean), ("the slower", max)) if pairs else ():
            gain = harness.spread([2 * one / of(pair) for one, pair in zip(by[1], pairs, strict=True)])
            report.figure(f"{where}: two runs that share nothing, {name}", gain, "ratio")
        report.samples({f"{number} PEs": times for number, times in by.items()}, program=QUEENS_FILE.name, extent=depth)
    if best is not None:
        report.figure("two PEs, the best depth", best[1], "ratio", WANTED["two PEs"], "at least")
    else:
        print(f"fewer than {MIN_ALIKE} rounds at any depth had two like cores: two PEs are not judged; run it again")


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 5)
    parser.add_argument("--executable", help="weft's side, where it is built already: the release example pes")


def run_all(chosen: argparse.Namespace, report: Report) -> None:
    pes = chosen.executable or building.example("weft-fghc", "pes")
    report.protocol = {
        "rounds": chosen.rounds,
        "unit": "reductions of the program on one PE that a message costs both ends, median over pairs; one PE's time "
        "over two PEs', median over pairs; twice one PE's time over that of two such runs at one time",
    }
    measured = measure(pes, chosen.rounds)
    report_messages(measured, report)
    report_gains(measured, report)


BENCHMARK = Benchmark(
    "fghc-pes",
    "what messages between processing elements cost, and what a second one gains",
    "five minutes",
    run_all,
    options,
    needs=(Need("cargo", "program", required=True),),
)
