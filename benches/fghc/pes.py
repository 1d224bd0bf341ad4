"""What processing elements cost: a message in reductions, within a process and over MPI, and what a second PE gains.

    python3 benches/fghc/pes.py [--rounds 5] [--no-record]

A message is counted with the processor time of both ends: the work of all PEs with the messages, less the work of the same
reductions on one PE, over the messages; in reductions of that program on one PE. Messages over MPI need an `mpiexec` that
WEFT_MPIEXEC names or that is beside this Python or in PATH; they are left out, with a message, where there is none. Two PEs
want two processors and a quiet machine. Beside what two PEs gain is what two runs on one PE gain that share nothing and go on
at one time, each on a processor of its own: where both processors at work are slower than one alone, neither gains two.
The program deals its work out in halves, so two PEs take as long as the slower processor: that is told beside the mean.
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
QUEENS, DEPTHS = 12, (1, 2, 3, 4)
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


def message_cost(alone: list[dict[str, object]], together: list[dict[str, object]]) -> float:
    """Reductions that one message costs: of the fastest round of each."""
    one, two = min(alone, key=work), min(together, key=work)
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
    alone = {"throw": "stay", "throw, MPI": "stay", "ask": "ask alone", "ask, MPI": "ask alone"}
    times: dict[int, dict[int, list[float]]] = {depth: {1: [], 2: []} for depth in DEPTHS}
    beside: dict[int, list[list[float]]] = {depth: [] for depth in DEPTHS}
    for _ in range(chosen.rounds):
        for name, file, goal, number in (
            ("stay", "throws.fghc", f"stay({10 * THROWS})", "1"),
            ("throw", "throws.fghc", f"throw({THROWS},1)", "2"),
            ("ask alone", "asks.fghc", f"main({10 * ASKS},0,Sum)", "1"),
            ("ask", "asks.fghc", f"main({ASKS},1,Sum)", "2"),
        ):
            runs.setdefault(name, []).append(run([pes], programs / file, goal, number))
            if launcher is not None and number == "2":
                command = [*launcher, "-n", "2", pes]
                runs.setdefault(f"{name}, MPI", []).append(run(command, programs / file, goal, "mpi"))
        for depth in DEPTHS:
            for number in (1, 2):
                elapsed = run([pes], queens, f"queens({QUEENS},{depth},S)", str(number))["elapsed"]
                times[depth][number].append(float(str(elapsed)))
            pair = two_at_once(pes, queens, f"queens({QUEENS},{depth},S)")
            if pair is not None:
                beside[depth].append(pair)
    found = {
        name: [message_cost([one], [two]) for one, two in zip(runs[base], runs[name], strict=True)]
        for name, base in alone.items()
        if name in runs
    }
    summary = {name: round(message_cost(runs[alone[name]], runs[name]), 1) for name in found}
    for name, value in summary.items():
        verdict = "met" if value <= WANTED[name] else "MISSED"
        print(
            f"a message ({name}): {value} reductions ({min(found[name]):.1f} to {max(found[name]):.1f}), "
            f"wanted {WANTED[name]} {verdict}"
        )
    # One PE and two in turn, so that what slows the machine slows both; the best depth is where two PEs take least.
    by_depth = {
        depth: round(statistics.median(one / two for one, two in zip(by[1], by[2], strict=True)), 2)
        for depth, by in times.items()
    }
    best = min(times, key=lambda depth: statistics.median(times[depth][2]))
    print(
        f"two PEs, {QUEENS} queens, by depth: {by_depth}; best {by_depth[best]} at {best}, wanted {WANTED['two PEs']} "
        f"{'met' if by_depth[best] >= WANTED['two PEs'] else 'MISSED'}"
    )
    two_copies, slower = (
        {
            depth: round(
                statistics.median(2 * one / of(pair) for one, pair in zip(times[depth][1], pairs, strict=True)), 2
            )
            for depth, pairs in beside.items()
            if pairs
        }
        for of in (statistics.mean, max)
    )
    if two_copies:
        print(f"two runs on one PE that share nothing, at one time: {two_copies}; by the slower of both: {slower}")
    if not chosen.no_record:
        content = {
            "machine": before,
            "unit": "reductions of the program on one PE that a message costs both ends; one PE's time over two PEs', "
            "median over pairs; and twice one PE's time over that of two such runs at one time: mean, and the slower",
            "rounds": chosen.rounds,
            "wanted": WANTED,
            "messages": summary,
            "two_pes": by_depth,
            "two_runs_at_once": two_copies,
            "two_runs_at_once_slower": slower,
            "all": {"messages": found, "seconds_of_queens": times, "seconds_of_two_at_once": beside},
        }
        print("recorded in", peers.record("fghc-pes", content).relative_to(peers.ROOT))


if __name__ == "__main__":
    main()
