"""weft's FGHC engine beside Erlang, SWI-Prolog and GNU Prolog: five programs, all sides in one run, interleaved.

Each side runs the same program on the same data and reports the time of its work, start-up aside; a rate is the
number of reductions that weft counts for that work over the time, in millions a second, so that rates compare as
times do. "weft, counting" also counts the reductions of each predicate, which is only done where it is asked for;
what is always counted (reductions, suspensions, resumptions) is part of every other rate of weft; "weft, without
counters" does not count suspensions and resumptions (reductions are what memory is granted by, and are counted for
nothing).

What counting costs is less than what it is worth to a loop to lie elsewhere in its cache lines, and any instruction
more moves what comes behind it. So costs are of runs in which every function lies at a random distance from the one
before: the median over so many placements, each side in turn, with the interval in which the median lies at 95%. A
side that is not installed is left out, with a message. The demand-driven stream has Erlang processes as its
baseline; Prolog systems have nothing like it. Run it on a quiet machine. Rates are those of the fastest round of
each side, because whatever else runs only makes a round slower; medians over the rounds are in the record beside
them.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from benches import building, harness
from benches.benchmark import Benchmark, Need
from benches.recording import Report

HERE = Path(__file__).resolve().parent

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
# Largest share of the time that counting may cost, and what is compared with what.
WANTED_COST = 0.02
COSTS = {
    "counting by predicate": (("--counts",), ()),
    "counters that are always on": ((), ("--without-counters",)),
}
# Costs are of times divided by so much, each the fastest of some runs of one process.
COST_SHARE, COST_RUNS = 16, 5


# Erlang processes do the demand-driven stream; Prolog systems have nothing like it.
WITHOUT = {"demand": ("GNU Prolog", "SWI-Prolog")}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=3, help="times each side runs each program (default 3)")
    parser.add_argument(
        "--placements", type=int, default=24, help="placements of the code that costs are of (default 24, 0 for none)"
    )
    parser.add_argument("--first-placement", type=int, default=1, help="number of the first of them (default 1)")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="which programs, separated by commas")
    parser.add_argument("--executable", help="weft's side, where it is built already: the release example fghc")


def check(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> None:
    chosen.programs = chosen.programs.split(",")
    unknown = [name for name in chosen.programs if name not in PROGRAMS]
    if unknown or chosen.rounds < 0 or not (chosen.placements == 0 or chosen.placements >= 6):
        parser.error(f"programs are {', '.join(PROGRAMS)}; rounds are at least 0, placements 0 or at least 6")


class Weft:
    def __init__(self, command: str, *words: str) -> None:
        self.command, self.words = command, words

    def run(self, program: str, n: int, k: int, *more: str) -> tuple[float, int]:
        goal = PROGRAMS[program][1].format(n=n, k=k)
        words = [self.command, str(HERE / "programs" / f"{program}.fghc"), goal, "--json", "--quiet", *self.words]
        lines = building.run([*words, *more], "weft").splitlines()
        rows = [json.loads(line) for line in lines if line.startswith("{")]
        return min(row["seconds"] for row in rows), rows[0]["reductions"]


class Baseline:
    """A baseline: how its program is built once, and run; its last line of output is the seconds."""

    def __init__(self, build: list[str] | None, words: list[str], folder: Path) -> None:
        self.words, self.folder = words, folder
        if build is not None:
            building.run(build, build[0], folder=folder)

    def run(self, program: str, n: int, k: int) -> float:
        words = [word.format(program=program, n=n, k=k) for word in self.words]
        return float(building.run(words, words[0], folder=self.folder).split()[-1])


Side = Weft | Baseline


def sides(command: str, folder: Path) -> dict[str, Side]:
    """weft, and the baselines that are installed."""
    available: dict[str, Side] = {
        "weft, native": Weft(command, "--native"),
        "weft, counting": Weft(command, "--native", "--counts"),
        "weft, without counters": Weft(command, "--native", "--without-counters"),
        "weft, interpreted": Weft(command),
    }
    shutil.copy(HERE / "fghc_baseline.erl", folder)
    text = (HERE / "baseline.pl").read_text()
    timed = "bench({program},{n},{k})"
    if shutil.which("erlc") and shutil.which("erl"):
        words = ["erl", "-noshell", "-run", "fghc_baseline", "main", "{program}", "{n}", "{k}"]
        available["Erlang"] = Baseline(["erlc", "fghc_baseline.erl"], words, folder)
    if shutil.which("gplc"):
        # The goal comes from the environment, because the program is compiled once.
        main = (
            ":- initialization(main).\nmain :- argument_value(1, P), argument_value(2, A), argument_value(3, B), "
            "number_atom(N, A), number_atom(K, B), statistics(cpu_time, [T0|_]), bench(P, N, K), "
            "statistics(cpu_time, [T1|_]), T is (T1 - T0) / 1000.0, write(T), nl, halt.\n"
        )
        (folder / "gnu.pl").write_text(text + main)
        words = [str(folder / "gnu"), "{program}", "{n}", "{k}"]
        available["GNU Prolog"] = Baseline(["gplc", "--no-top-level", "-o", "gnu", "gnu.pl"], words, folder)
    if shutil.which("swipl"):
        (folder / "swi.pl").write_text(text)
        goal = f"statistics(cputime,T0),{timed},statistics(cputime,T1),T is T1-T0,write(T),nl"
        available["SWI-Prolog"] = Baseline(None, ["swipl", "-O", "-g", goal, "-t", "halt", "swi.pl"], folder)
    return available


def versions() -> dict[str, str]:
    known = {"Erlang": "erlang-base", "GNU Prolog": "gprolog", "SWI-Prolog": "swi-prolog-nox"}
    if not shutil.which("dpkg-query"):
        return {}
    asked = {
        name: subprocess.run(
            ["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False
        ).stdout
        for name, package in known.items()
    }
    return {name: version for name, version in asked.items() if version}


def rates(everyone: dict[str, Side], program: str, rounds: int) -> dict[str, list[float]]:
    """Millions of reductions a second of every side, round by round, by weft's count for the same work."""
    (times, size), _ = PROGRAMS[program]
    weft = everyone["weft, native"]
    assert isinstance(weft, Weft)
    few = max(1, times // 100)
    sides = {name: side for name, side in everyone.items() if name not in WITHOUT.get(program, ())}

    def rate(name: str, unit: float) -> float:
        n = max(1, times // SLOWER[name])
        answer = sides[name].run(program, n, size)
        seconds = answer[0] if isinstance(answer, tuple) else answer
        return unit * n / max(seconds, 1e-9) / 1e6

    # One repetition is a fixed number of reductions.
    (_, one), (_, two) = weft.run(program, few, size), weft.run(program, 2 * few, size)
    unit = (two - one) / few
    runs: dict[str, Callable[[], float]] = {name: functools.partial(rate, name, unit) for name in sides}
    return harness.interleaved(runs, rounds, program)


def summarise(program: str, by_side: dict[str, list[float]], report: Report) -> None:
    """Rates of the fastest rounds, and medians."""
    fastest = {side: max(values) for side, values in by_side.items()}
    for side, values in by_side.items():
        target = WANTED.get(program) if side == "weft, native" else None
        report.figure(f"{program}: {side}", round(fastest[side], 1), "M reductions/s", target, "at least")
        report.figure(f"{program}: {side}, median", harness.spread(values), "M reductions/s", quiet=True)
    if "GNU Prolog" in fastest:
        ahead = fastest["weft, interpreted"] / fastest["GNU Prolog"]
        report.figure(f"{program}: weft, interpreted/GNU Prolog", ahead, "ratio", 1, "at least")


def costs(command: str, chosen: argparse.Namespace) -> dict[str, dict[str, list[float]]]:
    """By what is counted and program: by how much longer a run with it takes than one without, for every placement."""
    overheads: dict[str, dict[str, list[float]]] = {}
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
                by_program = overheads.setdefault(what, {})
                by_program.setdefault(program, []).append(seconds[having] / seconds[without] - 1)
    return overheads


def run(chosen: argparse.Namespace, report: Report) -> None:
    command = chosen.executable or building.example("weft-fghc", "fghc")
    report.machine["baselines"] = versions()
    report.protocol = {
        "rounds": chosen.rounds,
        "placements": chosen.placements,
        "unit": "millions of reductions a second, by weft's count for the same work; of the fastest round",
    }
    with tempfile.TemporaryDirectory() as name:
        everyone = sides(command, Path(name))
        for program in chosen.programs if chosen.rounds else ():
            summarise(program, rates(everyone, program, chosen.rounds), report)
    for what, by_program in costs(command, chosen).items():
        for program, values in by_program.items():
            report.figure(f"{program}: cost of {what}", harness.spread(values), "ratio", WANTED_COST, "at most")


BENCHMARK = Benchmark(
    "fghc",
    "the engine of FGHC beside Erlang, SWI-Prolog and GNU Prolog, and what its counters cost",
    "ten minutes",
    run,
    options,
    check,
    (
        Need("cargo", "program", required=True),
        Need("erlc", "program", hint="Debian: erlang-base"),
        Need("gplc", "program", hint="Debian: gprolog"),
        Need("swipl", "program", hint="Debian: swi-prolog-nox"),
    ),
)
