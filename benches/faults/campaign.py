"""Faults: commands of weft and programs on ranks, each disturbed at a random moment; nothing may hang, stay or be lost.

    python -m benches faults --trials 400 --workers 4 --state FILE

Every trial is drawn from the seed and its number alone: `--only NUMBER` runs one again, without a record. What is
done is kept in the file of `--state`, from which the same words go on after an interruption. Trials that fail are
printed with all that is needed to see why. Filling, removing and making folders read-only needs a user who may
mount; without one these are left out, and it is said.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benches.benchmark import Benchmark, positive
from benches.faults import faults, trial
from benches.faults.kinds import KINDS
from benches.recording import Report

Outcome = dict[str, Any]
"""What became of a trial, as the state keeps it."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trials", type=positive, default=400, help="trials (default 400)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial")
    parser.add_argument("--seed", type=int, default=16, help="of all trials (default 16)")
    parser.add_argument("--only", type=int, action="append", help="only this trial; may be repeated")
    parser.add_argument("--workers", type=positive, default=2, help="trials at one time (default 2)")
    parser.add_argument("--state", type=Path, help="where outcomes are kept, a line each, to go on from")
    parser.add_argument("--kept", action="store_true", help="run nothing: the record of what the state holds")


def outcomes_of(numbers: list[int], chosen: argparse.Namespace, mounts: bool) -> Iterator[Outcome]:
    """The outcomes of trials, as they end."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        root = Path(folder)
        wanted = {trial.drawn(number, chosen.seed, mounts)[0].name for number in numbers}
        known = {kind.name: trial.undisturbed(kind, root, mounts) for kind in KINDS if kind.name in wanted}
        for name, usual in known.items():
            print(f"{name}: {usual.seconds:.1f} s undisturbed, {len(usual.points)} points", flush=True)
        with concurrent.futures.ThreadPoolExecutor(chosen.workers) as pool:
            waiting = [pool.submit(trial.run, number, chosen.seed, known, root, mounts) for number in numbers]
            for one in concurrent.futures.as_completed(waiting):
                yield one.result().record()


def run(chosen: argparse.Namespace, report: Report) -> None:
    begin = time.monotonic()
    mounts = faults.can_mount()
    if not mounts:
        print("no folder is filled, removed or made read-only: that needs a user who may mount file systems")
    done = {} if chosen.only else _kept(chosen.state, chosen.seed)
    numbers = chosen.only or list(range(chosen.first, chosen.first + chosen.trials))
    if chosen.kept:
        numbers = sorted(done)
    for outcome in outcomes_of([number for number in numbers if number not in done], chosen, mounts):
        done[outcome["number"]] = outcome
        _keep(chosen.state, chosen.seed, outcome)
        _show(outcome, chosen.seed)
    report.protocol = {"seed": chosen.seed, "workers": chosen.workers, "ended_early": chosen.kept, "mounts": mounts}
    report.figure("seconds", time.monotonic() - begin, "s")
    _summarise([done[number] for number in numbers], report)
    chosen.no_record |= bool(chosen.only)


def _kept(path: Path | None, seed: int) -> dict[int, Outcome]:
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["outcome"]["number"]: line["outcome"] for line in lines if line["seed"] == seed}


def _keep(path: Path | None, seed: int, outcome: Outcome) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps({"seed": seed, "outcome": outcome}) + "\n")


def _show(outcome: Outcome, seed: int) -> None:
    fault = outcome["fault"]
    what = f"{fault['sort']} {fault['where']} at {fault['moment']:.2f}"
    line = f"{outcome['number']:4} {outcome['kind']:13} {what:32} code {outcome['code']} in {outcome['seconds']:.1f} s"
    print(line + ("" if outcome["hit"] else " (nothing hit)"), flush=True)
    if outcome["failures"]:
        print(f"     FAILED: {'; '.join(outcome['failures'])}\n     {outcome['command']}")
        print(f"     again: python -m benches faults --seed {seed} --only {outcome['number']}")
        print("     it said: " + outcome["said"].replace("\n", "\n       "), flush=True)


CLASSES = ("hung", "orphans", "lost", "half-written", "unclear", "left behind", "shared memory left")
"""What failures begin with; others are of --resume."""


def _summarise(outcomes: list[Outcome], report: Report) -> None:
    """Counts of what happened and of what went wrong; what failed, whole."""
    failures = [failure for outcome in outcomes for failure in outcome["failures"]]
    report.figure("trials", len(outcomes))
    report.figure("hit", sum(outcome["hit"] for outcome in outcomes))
    report.figure("resumed", sum(outcome["resumed"] for outcome in outcomes))
    report.figure("failed", sum(bool(outcome["failures"]) for outcome in outcomes), target=0, sense="at most")
    for name in CLASSES:
        report.figure(name, sum(failure.startswith(name) for failure in failures), target=0, sense="at most")
    other = sum(not failure.startswith(CLASSES) for failure in failures)
    report.figure("other failures", other, target=0, sense="at most")
    report.figure("longest", max((outcome["seconds"] for outcome in outcomes), default=0.0), "s")
    for what, names in (
        ("kind", [outcome["kind"] for outcome in outcomes]),
        ("fault", [f"{outcome['fault']['sort']} {outcome['fault']['where']}" for outcome in outcomes]),
    ):
        for name, count in sorted(collections.Counter(names).items()):
            report.figure(f"{what}: {name}", count, quiet=True)
    report.notes["failing"] = [outcome for outcome in outcomes if outcome["failures"]]


BENCHMARK = Benchmark(
    "faults", "commands of weft disturbed by signals, full disks and lost folders", "an hour", run, options
)
