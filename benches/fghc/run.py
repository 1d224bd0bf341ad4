"""weft's FGHC engine beside Erlang, SWI-Prolog and GNU Prolog: five programs, all sides in one run, interleaved.

    python3 benches/fghc/run.py [--rounds 3] [--placements 24] [--programs nrev,primes] [--no-record]

Each side runs the same program on the same data and reports the time of its work, start-up aside; a rate is the number
of reductions that weft counts for that work over the time, in millions a second, so that rates compare as times do.
"weft, counting" also counts the reductions of each predicate, which is only done where it is asked for; what is always
counted (reductions, suspensions, resumptions) is part of every other rate of weft; "weft, without counters" does not
count suspensions and resumptions (reductions are what memory is granted by, and are counted for nothing).

What counting costs is less than what it is worth to a loop to lie elsewhere in its cache lines, and any instruction
more moves what comes behind it. So costs are of runs in which every function lies at a random distance from the one
before: the median over so many placements, each side in turn, with the interval in which the median lies at 95%.
A side that is not installed is left out, with a message. The demand-driven stream has Erlang processes as its peer;
Prolog systems have nothing like it. Run it on a quiet machine. Rates are those of the fastest round of each side,
because whatever else runs only makes a round slower; medians over the rounds are in the record beside them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "node"))

import peers  # noqa: E402

# Program: arguments (times, size) of weft's goal, its form, and what slower sides divide the times by.
PROGRAMS = {
    "nrev": ((150_000, 0), "main({n})"),
    "program1": ((1_000, 0), "main({n})"),
    "primes": ((20, 10_000), "main({n},{k})"),
    "quicksort": ((10_000, 200), "main({n},{k},Last)"),
    "demand": ((2_000_000, 0), "main({n},Sum)"),
}
SLOWER = {
    "weft, native": 1,
    "weft, counting": 1,
    "weft, without counters": 1,
    "weft, interpreted": 4,
    "Erlang": 2,
    "GNU Prolog": 4,
    "SWI-Prolog": 10,
}
# What the issue asks native code to reach, in millions of reductions a second on the machine it was written for.
WANTED = {"nrev": 440, "program1": 215, "demand": 75}
# Largest share of the time that counting may cost, and what is held against what.
WANTED_COST = 0.02
COSTS = {
    "counting by predicate": (("--counts",), ()),
    "counters that are always on": ((), ("--without-counters",)),
}
# Costs are of times divided by so much, each the fastest of some runs of one process.
COST_SHARE, COST_RUNS = 16, 5


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="times each side runs each program (default 3)")
    parser.add_argument(
        "--placements", type=int, default=24, help="placements of the code that costs are of (default 24, 0 for none)"
    )
    parser.add_argument("--first-placement", type=int, default=1, help="number of the first of them (default 1)")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="which programs, separated by commas")
    parser.add_argument("--no-record", action="store_true", help="print only")
    parser.add_argument("--build-only", action="store_true", help="build weft's side and end")
    parser.add_argument("--executable", help="weft's side, where it is built already: the release example of this name")
    chosen = parser.parse_args()
    chosen.programs = chosen.programs.split(",")
    unknown = [name for name in chosen.programs if name not in PROGRAMS]
    if unknown or chosen.rounds < 0 or not (chosen.placements == 0 or chosen.placements >= 6):
        parser.error(f"programs are {', '.join(PROGRAMS)}; rounds are at least 0, placements 0 or at least 6")
    return chosen


def build_weft() -> str:
    cargo = ["cargo", "build", "--release", "--package", "weft-fghc", "--example", "fghc", "--message-format=json"]
    for line in peers.run(cargo, "building weft's engine").splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("target", {}).get("name") == "fghc":
            return message["executable"]
    sys.exit("cargo built no example 'fghc'")


class Weft:
    def __init__(self, command: str, *words: str) -> None:
        self.command, self.words = command, words

    def run(self, program: str, n: int, k: int, *more: str) -> tuple[float, int]:
        goal = PROGRAMS[program][1].format(n=n, k=k)
        words = [self.command, str(HERE / "programs" / f"{program}.fghc"), goal, "--json", "--quiet", *self.words]
        lines = peers.run([*words, *more], "weft").splitlines()
        rows = [json.loads(line) for line in lines if line.startswith("{")]
        return min(row["seconds"] for row in rows), rows[0]["reductions"]


class Peer:
    """A peer: how its program is built once, and run; its last line of output is the seconds."""

    def __init__(self, build: list[str] | None, words: list[str], goal: str | None, folder: Path) -> None:
        self.words, self.goal, self.folder = words, goal, folder
        if build is not None:
            done = subprocess.run(build, cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(build)} failed:\n{done.stdout}{done.stderr}")

    def run(self, program: str, n: int, k: int) -> float:
        words = [word.format(program=program, n=n, k=k) for word in self.words]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        return float(done.stdout.split()[-1])


def sides(command: str, folder: Path) -> dict[str, Weft | Peer]:
    found: dict[str, Weft | Peer] = {
        "weft, native": Weft(command, "--native"),
        "weft, counting": Weft(command, "--native", "--counts"),
        "weft, without counters": Weft(command, "--native", "--without-counters"),
        "weft, interpreted": Weft(command),
    }
    shutil.copy(HERE / "fghc_peer.erl", folder)
    text = (HERE / "peer.pl").read_text()
    timed = "bench({program},{n},{k})"
    if shutil.which("erlc") and shutil.which("erl"):
        words = ["erl", "-noshell", "-run", "fghc_peer", "main", "{program}", "{n}", "{k}"]
        found["Erlang"] = Peer(["erlc", "fghc_peer.erl"], words, None, folder)
    else:
        print("Erlang is not installed: left out (Debian: erlang-base)", file=sys.stderr)
    if shutil.which("gplc"):
        # The goal comes from the environment, because the program is compiled once.
        main = (
            ":- initialization(main).\nmain :- argument_value(1, P), argument_value(2, A), argument_value(3, B), "
            "number_atom(N, A), number_atom(K, B), statistics(cpu_time, [T0|_]), bench(P, N, K), "
            "statistics(cpu_time, [T1|_]), T is (T1 - T0) / 1000.0, write(T), nl, halt.\n"
        )
        (folder / "gnu.pl").write_text(text + main)
        words = [str(folder / "gnu"), "{program}", "{n}", "{k}"]
        found["GNU Prolog"] = Peer(["gplc", "--no-top-level", "-o", "gnu", "gnu.pl"], words, None, folder)
    else:
        print("GNU Prolog is not installed: left out (Debian: gprolog)", file=sys.stderr)
    if shutil.which("swipl"):
        (folder / "swi.pl").write_text(text)
        goal = f"statistics(cputime,T0),{timed},statistics(cputime,T1),T is T1-T0,write(T),nl"
        found["SWI-Prolog"] = Peer(None, ["swipl", "-O", "-g", goal, "-t", "halt", "swi.pl"], goal, folder)
    else:
        print("SWI-Prolog is not installed: left out (Debian: swi-prolog-nox)", file=sys.stderr)
    return found


def versions() -> dict[str, str]:
    known = {"Erlang": "erlang-base", "GNU Prolog": "gprolog", "SWI-Prolog": "swi-prolog-nox"}
    if not shutil.which("dpkg-query"):
        return {}
    asked = {
        name: subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True).stdout
        for name, package in known.items()
    }
    return {name: version for name, version in asked.items() if version}


def costs(command: str, chosen: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    """By what is counted and program: by how much longer a run with it takes than one without, for every placement."""
    found: dict[str, dict[str, list[float]]] = {}
    sides = {words: Weft(command, "--native", *words) for pair in COSTS.values() for words in pair}
    if hasattr(os, "sched_setaffinity"):
        # All on one processor, because others may be slower; those who are started inherit it.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for placement in range(chosen.first_placement, chosen.first_placement + chosen.placements):
        order = list(sides)
        order = order[placement % len(order) :] + order[: placement % len(order)]
        more = ("--placement", str(placement), "--repeat", str(COST_RUNS))
        for program in chosen.programs:
            (times, size), _ = PROGRAMS[program]
            n = max(1, times // COST_SHARE)
            seconds = {words: sides[words].run(program, n, size, *more)[0] for words in order}
            for what, (having, without) in COSTS.items():
                by_program = found.setdefault(what, {})
                by_program.setdefault(program, []).append(seconds[having] / seconds[without] - 1)
    return found


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median, and between which of the values that of all that there might be lies, at 95% or more."""
    ordered, n = sorted(values), len(values)
    below = 0
    while below + 1 < n / 2 and 2 * sum(math.comb(n, k) for k in range(below + 2)) / 2**n <= 0.05:
        below += 1
    return statistics.median(ordered), ordered[below], ordered[n - 1 - below]


def cost_summary(found: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, list[float]]]:
    """Median and interval by what is counted and program; printed."""
    summary: dict[str, dict[str, list[float]]] = {}
    for what, by_program in found.items():
        for program, values in by_program.items():
            median, low, high = (round(value, 4) for value in interval(values))
            summary.setdefault(what, {})[program] = [median, low, high]
            print(
                f"{what}, {program}: {100 * median:.1f}% ({100 * low:.1f} to {100 * high:.1f}%), wanted at most "
                f"{100 * WANTED_COST:.0f}% {'met' if median <= WANTED_COST else 'MISSED'}"
            )
    return summary


def main() -> None:
    chosen = options()
    before = peers.machine()
    command = chosen.executable or build_weft()
    if chosen.build_only:
        return
    rates: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        everyone = sides(command, Path(name))
        for turn in range(chosen.rounds):
            order = list(everyone.items())
            order = order[turn % len(order) :] + order[: turn % len(order)]
            for program in chosen.programs:
                (times, size), _ = PROGRAMS[program]
                # Whatever is divided among slower sides, a unit of work has the same number of reductions.
                weft = everyone["weft, native"]
                assert isinstance(weft, Weft)
                few = max(1, times // 100)
                (_, one), (_, two) = weft.run(program, few, size), weft.run(program, 2 * few, size)
                unit = (two - one) / few
                for side, runner in order:
                    if program == "demand" and side.endswith("Prolog"):
                        continue
                    n = max(1, times // SLOWER[side])
                    answer = runner.run(program, n, size)
                    seconds = answer[0] if isinstance(answer, tuple) else answer
                    rates.setdefault(program, {}).setdefault(side, []).append(unit * n / max(seconds, 1e-9) / 1e6)
    summary = {
        program: {side: round(max(values), 1) for side, values in found.items()} for program, found in rates.items()
    }
    medians = {
        program: {side: round(statistics.median(values), 1) for side, values in found.items()}
        for program, found in rates.items()
    }
    by_placement = costs(command, chosen)
    everything = list(dict.fromkeys(side for found in summary.values() for side in found))
    print(f"{'M reductions/s':16}" + "".join(f"{side:>19}" for side in everything))
    for program, found in summary.items():
        print(f"{program:16}" + "".join(f"{found.get(side, float('nan')):19.1f}" for side in everything))
    for program, wanted in WANTED.items():
        if program in summary:
            native = summary[program]["weft, native"]
            print(f"{program}: native {native:.0f}, wanted {wanted} {'met' if native >= wanted else 'MISSED'}")
    counting = cost_summary(by_placement)
    for program, found in summary.items():
        if "GNU Prolog" in found:
            ahead = found["weft, interpreted"] / found["GNU Prolog"]
            print(f"{program}: interpreted over GNU Prolog {ahead:.2f} {'met' if ahead > 1 else 'MISSED'}")
    if not chosen.no_record:
        content = {
            "machine": before,
            "peers": versions(),
            "unit": "millions of reductions a second, by weft's count for the same work; of the fastest round",
            "rounds": chosen.rounds,
            "wanted": WANTED,
            "rates": summary,
            "medians": medians,
            "placements": chosen.placements,
            "costs": counting,
            "all": {program: {side: found[side] for side in found} for program, found in rates.items()},
            "all_costs": by_placement,
        }
        print("recorded in", peers.record("fghc", content).relative_to(peers.ROOT))


if __name__ == "__main__":
    main()
