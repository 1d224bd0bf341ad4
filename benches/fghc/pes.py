"""What processing elements cost: a message in reductions, within a process and over MPI, and what a second PE gains.

    python3 benches/fghc/pes.py [--rounds 5] [--no-record]

A message is counted with the processor time of both ends: the work of all PEs with the messages, less the work of the
same reductions on one PE, over the messages; in reductions of that program on one PE; the median over pairs of runs in
turn. Messages over MPI need an `mpiexec` that WEFT_MPIEXEC names or that is beside this Python or in PATH; they are left
out, with a message, where there is none. Two PEs
want two processors and a quiet machine. Beside what two PEs gain is what two runs on one PE gain that share nothing and go on
at one time, each on a processor of its own: where both processors at work are slower than one alone, neither gains two.
The program deals its work out in halves, so two PEs take as long as the slower processor: that is told beside the mean.
Virtual processors may be threads of one core for seconds to minutes, or one of them much slower than the other: messages and
what two PEs gain are judged by the rounds in which two runs at one time, one on each, and a run on one PE just after them,
which are used for nothing else, are within a tenth of each other; where those are fewer than three, messages by all rounds.
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
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "node"))

import peers  # noqa: E402

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
ALIKE, FEWEST = 1.1, 3
"""How far apart two runs at one time and one after them may be where there are two like cores, and the fewest such rounds
that tell something."""
WANTED = {"throw": 20, "ask": 20, "throw, MPI": 150, "ask, MPI": 150, "two PEs": 1.8}


def build() -> str:
    cargo = ["cargo", "build", "--release", "--package", "weft-fghc", "--example", "pes", "--message-format=json"]
    for line in peers.run(cargo, "building weft's engine").splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("target", {}).get("name") == "pes":
            return message["executable"]
    sys.exit("cargo built no example 'pes'")


def mpiexec() -> list[str] | None:
    if "WEFT_MPIEXEC" in os.environ:
        return shlex.split(os.environ["WEFT_MPIEXEC"])
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        print("there is no mpiexec: messages over MPI are left out", file=sys.stderr)
        return None
    library = Path(sys.prefix) / "lib" / "libmpi.so"
    if library.exists():
        # That of the very mpiexec, where the environment names no other.
        os.environ.setdefault("WEFT_MPI_LIBRARY", str(library))
    return [found]


def run(command: list[str], program: Path, goal: str, pes: str) -> dict[str, object]:
    outcome = json.loads(peers.run([*command, str(program), goal, pes], "weft").splitlines()[0])
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
        return [i for i, found in enumerate(runs) if max(found) <= ALIKE * min(found)]


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
    return [json.loads(found[0])["elapsed"] for found in lines]


def work(outcome: dict[str, object]) -> float:
    return sum(pe["work"] for pe in outcome["pes"])


def reductions(outcome: dict[str, object]) -> int:
    return sum(pe["reductions"] for pe in outcome["pes"])


def messages(outcome: dict[str, object]) -> int:
    return sum(sum(pe["sent"][:KINDS]) for pe in outcome["pes"])


def message_cost(one: dict[str, object], two: dict[str, object]) -> float:
    """Reductions that one message costs, by a run without messages on one PE and one with them just after."""
    reduction = work(one) / reductions(one)
    return (work(two) - reductions(two) * reduction) / messages(two) / reduction


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="times that everything is run (default 5)")
    parser.add_argument("--no-record", action="store_true", help="print only")
    parser.add_argument("--build-only", action="store_true", help="build weft's side and end")
    parser.add_argument("--executable", help="weft's side, where it is built already: the release example of this name")
    chosen = parser.parse_args()
    before = peers.machine()
    pes = chosen.executable or build()
    if chosen.build_only:
        return
    launcher = mpiexec()
    programs = HERE / "programs"
    queens = HERE.parents[1] / "programs" / "fghc" / "queens.fghc"
    runs: dict[str, list[dict[str, object]]] = {}
    without = {BASES[kind]: Control(pes, programs / file, lone) for kind, file, lone, _ in MESSAGES}
    times: dict[int, dict[int, list[float]]] = {depth: {1: [], 2: []} for depth in DEPTHS}
    goals = {depth: f"queens({QUEENS},{depth},S)" for depth in DEPTHS}
    beside = {depth: Control(pes, queens, goal) for depth, goal in goals.items()}
    for _ in range(chosen.rounds):
        for kind, file, lone, pair_goal in MESSAGES:
            base = BASES[kind]
            runs.setdefault(base, []).append(run([pes], programs / file, lone, "1"))
            runs.setdefault(kind, []).append(run([pes], programs / file, pair_goal, "2"))
            if launcher is not None:
                command = [*launcher, "-n", "2", pes]
                runs.setdefault(f"{kind}, MPI", []).append(run(command, programs / file, pair_goal, "mpi"))
            without[base].run()
        for depth, goal in goals.items():
            for number in (1, 2):
                times[depth][number].append(seconds(pes, queens, goal, number))
            beside[depth].run()
    found = {
        name: [message_cost(one, two) for one, two in zip(runs[base], runs[name], strict=True)]
        for name, base in BASES.items()
        if name in runs
    }
    shared = {base: control.on_two_cores() for base, control in without.items()}
    summary, everywhere = {}, {}
    for name, costs in found.items():
        everywhere[name] = round(statistics.median(costs), 1)
        counting = shared[BASES[name]] if len(shared[BASES[name]]) >= FEWEST else range(chosen.rounds)
        summary[name] = round(statistics.median(costs[i] for i in counting), 1)
        verdict = "met" if summary[name] <= WANTED[name] else "MISSED"
        print(
            f"a message ({name}): {summary[name]} reductions in {len(counting)} rounds, {everywhere[name]} in all "
            f"({min(costs):.1f} to {max(costs):.1f}), wanted {WANTED[name]} {verdict}"
        )
    # One PE and two in turn, so that what slows the machine slows both.
    gains = {depth: [one / two for one, two in zip(by[1], by[2], strict=True)] for depth, by in times.items()}
    by_depth = {depth: round(statistics.median(found), 2) for depth, found in gains.items()}
    rounds = {depth: control.on_two_cores() for depth, control in beside.items()}
    counted = {depth: found for depth, found in rounds.items() if len(found) >= FEWEST}
    cores = {depth: round(statistics.median(gains[depth][i] for i in found), 2) for depth, found in counted.items()}
    print(f"two PEs, {QUEENS} queens, by depth: {by_depth} in all {chosen.rounds} rounds")
    if cores:
        # The best depth is where two PEs take least.
        best = min(cores, key=lambda depth: statistics.median(times[depth][2][i] for i in counted[depth]))
        print(
            f"in those with two like cores ({', '.join(f'{len(found)} at {depth}' for depth, found in counted.items())}): "
            f"{cores}; best {cores[best]} at {best}, wanted {WANTED['two PEs']} "
            f"{'met' if cores[best] >= WANTED['two PEs'] else 'MISSED'}"
        )
    else:
        print(
            f"fewer than {FEWEST} rounds at any depth had two like cores: what two PEs gain is not told; run it again"
        )
    two_copies, slower = (
        {
            depth: round(
                statistics.median(2 * one / of(pair) for one, pair in zip(times[depth][1], control.pairs, strict=True)),
                2,
            )
            for depth, control in beside.items()
            if control.pairs
        }
        for of in (statistics.mean, max)
    )
    if two_copies:
        print(f"two runs on one PE that share nothing, at one time: {two_copies}; by the slower of both: {slower}")
    if not chosen.no_record:
        content = {
            "machine": before,
            "unit": "reductions of the program on one PE that a message costs both ends, median over pairs; one PE's time over two PEs', "
            "median over pairs, of all rounds and of those with two like cores; and twice one PE's time over that of two such runs at one time: mean, and the slower",
            "rounds": chosen.rounds,
            "wanted": WANTED,
            "messages": summary,
            "messages_in_all_rounds": everywhere,
            "message_rounds_on_two_cores": shared,
            "two_pes": by_depth,
            "two_pes_on_two_cores": cores,
            "rounds_on_two_cores": rounds,
            "two_runs_at_once": two_copies,
            "two_runs_at_once_slower": slower,
            "all": {
                "messages": found,
                "seconds_of_queens": times,
                "seconds_of_two_at_once": {depth: control.pairs for depth, control in beside.items()},
                "seconds_after": {depth: control.after for depth, control in beside.items()},
            },
        }
        print("recorded in", peers.record("fghc-pes", content).relative_to(peers.ROOT))


if __name__ == "__main__":
    main()
