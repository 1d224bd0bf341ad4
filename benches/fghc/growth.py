"""How long large programs in FGHC take to check, compile and run, and how that grows when they are twice as large.

    python3 benches/fghc/growth.py [--rounds 3] [--no-record]

Each kind of program is made at two sizes, n and 2n, and run in this order in turn; each run is a process of its own, and its
time is the least of the rounds, less that of a program of one clause. Linear growth is a ratio of 2; the ratio is judged to be
linear up to 2.6, because caches are left behind on the way.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import recording  # noqa: E402

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


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-record", action="store_true")
    chosen = parser.parse_args()
    started, load = datetime.datetime.now(datetime.UTC), os.getloadavg()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for make, n in KINDS:
            texts = ["p.\n", make(n), make(2 * n)]
            found = [[seconds(folder, text) for text in texts] for _ in range(chosen.rounds)]
            empty, one, two = (min(column) for column in zip(*found, strict=True))
            ratio = (two - empty) / (one - empty)
            rows.append({"kind": make.__name__, "n": n, "seconds": one - empty, "twice": two - empty, "ratio": ratio})
            judged = "linear" if ratio <= LINEAR else "MORE THAN LINEAR"
            print(
                f"{make.__name__:18} n = {n:7,}: {one - empty:7.2f} s, 2n: {two - empty:7.2f} s, ratio {ratio:.2f} {judged}"
            )
    if not chosen.no_record:
        record = recording.head("fghc-growth", started, load) | {
            "rounds": chosen.rounds,
            "linear": LINEAR,
            "rows": rows,
        }
        path = HERE.parent / "records" / f"{started:%Y-%m-%d}-fghc-growth.json"
        path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
