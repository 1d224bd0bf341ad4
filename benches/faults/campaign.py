"""Faults: commands of weft and programs on ranks, each disturbed at a random moment; nothing may hang, stay or be lost.

    python benches/faults/campaign.py --trials 400 --workers 4 --record benches/records/DATE-faults.json

Every trial is drawn from the seed and its number alone: `--only NUMBER` runs one again. What is done is kept in the
file of `--state`, from which the same words go on after an interruption. Trials that fail are printed with all that is
needed to see why. Filling, removing and making folders read-only needs a user who may mount; without one these are left
out, and it is said.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent)]

import faults
import trial
from kinds import KINDS
from recording import head


def main() -> int:
    """Run a campaign; 1 if a trial failed."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--trials", type=int, default=400)
    words.add_argument("--first", type=int, default=0, help="the number of the first trial")
    words.add_argument("--seed", type=int, default=16)
    words.add_argument("--only", type=int, action="append", help="only this trial; may be repeated")
    words.add_argument("--workers", type=int, default=2, help="trials at one time")
    words.add_argument("--state", type=pathlib.Path, help="where outcomes are kept, a line each, to go on from")
    words.add_argument("--record", type=pathlib.Path, help="where the record is written")
    words.add_argument("--kept", action="store_true", help="run nothing: the record of what the state holds")
    given = words.parse_args()
    numbers = given.only or list(range(given.first, given.first + given.trials))
    if given.kept:
        numbers = sorted(_kept(given.state, given.seed))
    started, load, begin = datetime.datetime.now(datetime.UTC), os.getloadavg(), time.monotonic()
    mounts = faults.can_mount()
    if not mounts:
        print("no folder is filled, removed or made read-only: that needs a user who may mount file systems")
    done = {} if given.only else _kept(given.state, given.seed)
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        root = pathlib.Path(folder)
        wanted = {trial.drawn(number, given.seed, mounts)[0].name for number in numbers if number not in done}
        known = {kind.name: trial.undisturbed(kind, root, mounts) for kind in KINDS if kind.name in wanted}
        for name, usual in known.items():
            print(f"{name}: {usual.seconds:.1f} s undisturbed, {len(usual.points)} points", flush=True)
        with concurrent.futures.ThreadPoolExecutor(given.workers) as pool:
            waiting = [
                pool.submit(trial.run, number, given.seed, known, root, mounts)
                for number in numbers
                if number not in done
            ]
            for one in concurrent.futures.as_completed(waiting):
                outcome = one.result().record()
                done[outcome["number"]] = outcome
                _keep(given.state, given.seed, outcome)
                _show(outcome, given.seed)
    outcomes = [done[number] for number in numbers]
    summary = _summary(outcomes)
    print(json.dumps(summary, indent=2))
    if given.record:
        about = head("faults", started, load)
        found = {
            **about,
            "seed": given.seed,
            "workers": given.workers,
            "ended_early": given.kept,
            "mounts": mounts,
            "seconds": time.monotonic() - begin,
            **summary,
        }
        given.record.write_text(json.dumps(found, indent=2) + "\n")
    return 1 if summary["failed"] else 0


def _kept(path: pathlib.Path | None, seed: int) -> dict[int, dict]:
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["outcome"]["number"]: line["outcome"] for line in lines if line["seed"] == seed}


def _keep(path: pathlib.Path | None, seed: int, outcome: dict) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps({"seed": seed, "outcome": outcome}) + "\n")


def _show(outcome: dict, seed: int) -> None:
    fault = outcome["fault"]
    what = f"{fault['sort']} {fault['where']} at {fault['moment']:.2f}"
    line = f"{outcome['number']:4} {outcome['kind']:13} {what:32} code {outcome['code']} in {outcome['seconds']:.1f} s"
    print(line + ("" if outcome["hit"] else " (nothing hit)"), flush=True)
    if outcome["failures"]:
        print(f"     FAILED: {'; '.join(outcome['failures'])}\n     {outcome['command']}")
        print(f"     again: python benches/faults/campaign.py --seed {seed} --only {outcome['number']}")
        print("     it said: " + outcome["said"].replace("\n", "\n       "), flush=True)


CLASSES = ("hung", "orphans", "lost", "half-written", "unclear", "left behind", "shared memory left")
"""What failures begin with; others are of --resume."""


def _summary(outcomes: list[dict]) -> dict:
    failures = [failure for outcome in outcomes for failure in outcome["failures"]]
    return {
        "trials": len(outcomes),
        "hit": sum(outcome["hit"] for outcome in outcomes),
        "resumed": sum(outcome["resumed"] for outcome in outcomes),
        "failed": sum(bool(outcome["failures"]) for outcome in outcomes),
        **{name: sum(failure.startswith(name) for failure in failures) for name in CLASSES},
        "other": sum(not failure.startswith(CLASSES) for failure in failures),
        "kinds": dict(sorted(collections.Counter(outcome["kind"] for outcome in outcomes).items())),
        "faults": dict(
            sorted(collections.Counter(f"{o['fault']['sort']} {o['fault']['where']}" for o in outcomes).items())
        ),
        "longest_seconds": max((outcome["seconds"] for outcome in outcomes), default=0.0),
        "failing": [outcome for outcome in outcomes if outcome["failures"]],
    }


if __name__ == "__main__":
    sys.exit(main())
