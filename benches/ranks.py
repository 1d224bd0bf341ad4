"""Two ranks of one benchmark beside its peers: what is asked for, each launch, and the record."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from recording import head

ROOT = pathlib.Path(__file__).resolve().parents[1]


def arguments(text: str, record: str, peer: str, launches: int, rounds: int, cases: list[str]) -> argparse.Namespace:
    """What the command line asks for; `record` is the name of the record, `peer` what the Python may have besides."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=pathlib.Path, default=pathlib.Path(sys.executable),
                        help=f"the Python with mpi4py, mpich and perhaps {peer} (default: this one)")
    parser.add_argument("--launches", type=int, default=launches, help=f"separate launches (default {launches})")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"rounds of each launch (default {rounds})")
    parser.add_argument("--case", action="append", default=[], choices=cases, help="only this case; may be repeated")
    parser.add_argument("--record", type=pathlib.Path, help=f"where to write (default benches/records/DATE-{record}.json)")
    parser.add_argument("--no-record", action="store_true", help="write no record")
    parser.add_argument("--rank", help=argparse.SUPPRESS)
    options = parser.parse_args()  # fmt: skip
    if not options.rank:
        _look_for_peers(options.python)
    return options


def _look_for_peers(python: pathlib.Path) -> None:
    """Stops where a Python has not what ranks import, those of exchanges by hand too, or no launcher beside it."""
    command = [python, "-c", "import mpi4py, weft.distributed"]
    variables = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
    found = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    why = found.stderr.strip().splitlines()[-1] if found.returncode else ""
    if not why and not (python.parent / "mpiexec").exists():
        why = "no mpiexec beside it"
    if why:
        sys.exit(f"skipped: {python}: {why}; name a Python with mpi4py, mpich and what weft depends on by --python")


def launch(options: argparse.Namespace, program: str, limit: float, **environment: str) -> dict[str, Any]:
    """One launch of two ranks of `program`: what its first rank prints behind RESULT, as JSON."""
    job = json.dumps({"rounds": options.rounds, "only": options.case})
    variables = dict(os.environ, PYTHONPATH=str(ROOT / "python"), HYDRA_BINDING="core", **environment)
    variables.pop("WEFT_MPI_LIBRARY", None)
    words = [options.python.parent / "mpiexec", "-n", "2", options.python, "-P", program, "--rank", job]
    done = subprocess.run(list(map(str, words)), env=variables, capture_output=True, text=True, timeout=limit)
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
    if line is None:
        sys.exit(f"a launch failed with code {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(line.removeprefix("RESULT "))


def in_turn(
    comm: Any, variants: list[tuple[Any, ...]], rounds: int, run: Callable[[Any, int], None], count: int, warm_up: int = 0
) -> dict[str, list[float]]:
    """On a rank: seconds of one operation of every variant by rounds, on the slower rank.

    `run` does so many operations of a variant, whose first entry is its name: `warm_up` of them untimed, then `count`.
    Who begins a round changes from round to round.
    """
    from mpi4py import MPI

    seconds: dict[str, list[float]] = {variant[0]: [] for variant in variants}
    for number in range(rounds):
        turn = number % len(variants)
        for variant in variants[turn:] + variants[:turn]:
            if warm_up:
                run(variant, warm_up)
            comm.Barrier()
            start = time.perf_counter()
            run(variant, count)
            own = (time.perf_counter() - start) / count
            seconds[variant[0]].append(comm.allreduce(own, MPI.MAX))
    return seconds


def rounds_of(name: str, launches: list[dict[str, Any]]) -> dict[str, list[float]]:
    """The rounds of every variant of a case, of all launches."""
    rounds: dict[str, list[float]] = {}
    for result in launches:
        for variant, times in result[name]["rounds"].items():
            rounds.setdefault(variant, []).extend(times)
    return rounds


def spread(values: list[float]) -> list[float]:
    """The tenth from below and from above."""
    ordered = sorted(values)
    return [ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]]


def write(options: argparse.Namespace, name: str, before: tuple[float, ...], timed: str, results: object) -> None:
    """The dated record; `timed` is what a mean time is of."""
    now = datetime.datetime.now(datetime.timezone.utc)
    path = options.record or ROOT / f"benches/records/{now:%Y-%m-%d}-{name}.json"
    record = {
        **head(name, now, before),
        "protocol": {"ranks": 2, "launches": options.launches, "rounds": options.rounds, "variants": "interleaved",
                     "statistic": f"median over rounds of the mean time of {timed} on the slower rank"},
        "results": results,
    }  # fmt: skip
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"written: {path}")
