"""How long large programs in FGHC take to check, compile and run, and how that grows when they are twice as large.

Each kind of program is made at two sizes, n and 2n, and run with a program of one clause in turn; each run is a
process of its own, and its time is the least of the rounds, less that of the program of one clause. Linear growth is
a ratio of 2; the ratio is judged to be linear up to 2.6, because caches are left behind on the way.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benches import harness
from benches.benchmark import Benchmark, rounds_option
from benches.recording import Report

LINEAR = 2.6


def facts(n: int) -> str:
    """Facts that are told apart by their first argument."""
    return "".join(f"p({i},X) :- X={2 * i}.\n" for i in range(n))


def tables(n: int) -> str:
    """Facts that are told apart by two arguments together."""
    return "".join(f"p({i % 97},k{i // 97},X) :- X={i}.\n" for i in range(n))


def strings(n: int) -> str:
    """Facts that are told apart by strings."""
    return "".join(f'p("s{i}",X) :- X=v{i}.\n' for i in range(n))


def guards(n: int) -> str:
    """Clauses that only their guards tell apart."""
    return "".join(f"p(Y,X) :- Y=:={i} | X={i}.\n" for i in range(n))


def alternating(n: int) -> str:
    """Clauses of which every second looks at the second argument only."""
    return "".join(f"p({i},_,X) :- X={i}.\np(_,{i},X) :- X={i}.\n" for i in range(n // 2))


def literal(n: int) -> str:
    """A list of constants in a body."""
    return f"p(X) :- X=[{','.join(map(str, range(n)))}].\n"


def list_of_variables(n: int) -> str:
    """A list in a body of which every second element has a variable."""
    elements = (f"f({i},Y)" if i % 2 else str(i) for i in range(n))
    return f"p(Y,X) :- X=[{','.join(elements)}|Y].\n"


def pattern(n: int) -> str:
    """A list of constants in a head."""
    return f"p([{','.join(map(str, range(n)))}],X) :- X=yes.\n"


def variables(n: int) -> str:
    """A list of variables in a head, and again in the body."""
    names = ",".join(f"A{i}" for i in range(n))
    return f"p([{names}],X) :- X=[{names}].\n"


def goals(n: int) -> str:
    """Bodies of 500 goals."""
    body = ",".join(f"q({i})" for i in range(500))
    return "q(_).\n" + "".join(f"p{i} :- {body}.\n" for i in range(n // 500))


def predicates(n: int) -> str:
    """Predicates of one clause."""
    return "".join(f"p{i}(X) :- X=p{i}.\n" for i in range(n))


def unknown(n: int) -> str:
    """Calls of predicates that do not exist: as many findings."""
    return "".join(f"p{i}(X) :- q{i}(X).\n" for i in range(n))


KINDS: tuple[tuple[Callable[[int], str], int], ...] = (
    (facts, 20_000),
    (tables, 20_000),
    (strings, 20_000),
    (guards, 20_000),
    (alternating, 20_000),
    (literal, 100_000),
    (list_of_variables, 50_000),
    (pattern, 100_000),
    (variables, 10_000),
    (goals, 20_000),
    (predicates, 2_000),
    (unknown, 5_000),
)


def seconds(folder: Path, text: str) -> float:
    path = folder / "program.fghc"
    path.write_text(f":- module main.\n{text}")
    command = [sys.executable, "-m", "weft.cli.main", "fghc", "run", str(path), "--goal", "true"]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    elapsed = time.perf_counter() - begin
    # Programs with findings are not run, and finding them is what is measured.
    if done.returncode != 0 and "findings" not in done.stderr and "the program has errors" not in done.stderr:
        sys.exit(f"a program failed: {done.stderr[:500]}")
    return elapsed


def options(parser: argparse.ArgumentParser) -> None:
    rounds_option(parser, 3)
    names = [make.__name__ for make, _ in KINDS]
    parser.add_argument("--kind", action="append", default=[], choices=names, help="only this kind; may be repeated")


def run(chosen: argparse.Namespace, report: Report) -> None:
    report.protocol = {
        "rounds": chosen.rounds,
        "statistic": "least of rounds, less that of a program of one clause",
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for make, n in KINDS:
            if chosen.kind and make.__name__ not in chosen.kind:
                continue
            texts = {"one clause": "p.\n", "n": make(n), "2n": make(2 * n)}
            sides = {side: functools.partial(seconds, folder, text) for side, text in texts.items()}
            times = harness.interleaved(sides, chosen.rounds)
            empty, one, two = (min(times[side]) for side in texts)
            report.figure(f"{make.__name__}, n = {n}", one - empty, "s")
            report.figure(f"{make.__name__}, 2n", two - empty, "s")
            report.figure(f"{make.__name__}: 2n/n", (two - empty) / (one - empty), "ratio", LINEAR, "at most")
            report.samples(times, program=make.__name__, extent=n)


BENCHMARK = Benchmark(
    "fghc-growth", "large programs in FGHC: how checking, compiling and running grow", "ten minutes", run, options
)
