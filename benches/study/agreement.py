#!/usr/bin/env python3
"""Runs `weft study` several times and holds what the runs found against each other: fitted figures, held-out lengths.

    make setup
    .venv/bin/python benches/study/agreement.py

A study that says it was disturbed goes on as it says, with `--resume`, up to `--resumed` times.
Writes a dated record and prints a table; ends with code 1 when two runs differ in the number of pieces or by more
than 5% in a figure, or a run misses a length held out of its fit. Nothing else may run on the machine meanwhile: a
program on one of its cores slows all messages of a run by a third.
"""

import argparse
import itertools
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "node"))

import polars as pl  # noqa: E402
from peers import machine, record  # noqa: E402

from weft import samples  # noqa: E402
from weft.study import here  # noqa: E402

AGREEMENT, MEDIAN, WORST, PIECES = 0.05, 0.03, 0.10, 4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2, help="studies, each some three minutes (default 2)")
    parser.add_argument("--folder", type=pathlib.Path, help="where studies go; those that are there are read")
    parser.add_argument("--resumed", type=int, default=3, help="times that a disturbed study goes on (default 3)")
    options = parser.parse_args()
    if options.runs < 2:
        parser.error("at least 2 runs")
    return options


def study(folder, *more):
    """The seconds that `weft study` took."""
    start = time.monotonic()
    command = [pathlib.Path(sys.executable).parent / "weft", "study", "-o", folder, *more]
    done = subprocess.run(command, check=False, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"weft study failed:\n{done.stderr.strip()}")
    return time.monotonic() - start


def fitted(folder):
    """The fit of a study, of how many launches it is, and how many there are."""
    table = samples.read(folder / "samples.csv").filter(pl.col("source") == "measured")
    found = here.fit(table)
    return found, *here.fitted_launches(table, found)


def studied(folder, resumed):
    """One study: its figures, its errors at held-out lengths and how long each of its parts took, none if it was there
    already."""
    seconds = [] if (folder / "here.toml").exists() else [study(folder, "--resume")]
    found, undisturbed, launches = fitted(folder)
    while 0 < len(seconds) <= resumed and undisturbed < here.KNOWN:
        seconds.append(study(folder, "--resume"))
        found, undisturbed, launches = fitted(folder)
    errors = found.held_out.filter(pl.col("benchmark") == "echo")["error"].abs()
    return {
        "seconds": seconds,
        "launches": launches,
        "undisturbed": undisturbed,
        "figures": figures(found),
        "pieces": len(found.echo.pieces),
        "held_out_median": errors.median(),
        "held_out_worst": errors.max(),
    }


def figures(fit):
    """Every figure of the fit that there is, in SI units: what `weft study` prints and `here.toml` is made of."""
    found = {"half_bandwidth": fit.half_bandwidth}
    for benchmark, curve in fit.curves.items():
        for i, piece in enumerate(curve.pieces, 1):
            found[f"{benchmark} {i} startup"] = piece.startup.value
            found[f"{benchmark} {i} byte_time"] = piece.byte_time.value
            if piece.up_to is not None:
                found[f"{benchmark} {i} up_to"] = piece.up_to
    return found


def differences(one, other):
    """By figure, how far the second run is from the first; a figure that is 0 in one alone is infinitely far."""
    found = {}
    for name in one["figures"].keys() | other["figures"].keys():
        a, b = one["figures"].get(name), other["figures"].get(name)
        found[name] = 0.0 if a == b else abs(b / a - 1.0) if a and b is not None else float("inf")
    return found


def main():
    options = arguments()
    before = machine()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or pathlib.Path(scratch)
        runs = [studied(folder / f"study-{i}", options.resumed) for i in range(1, options.runs + 1)]
    pairs = [differences(one, other) for one, other in itertools.combinations(runs, 2)]
    worst = {name: max(pair.get(name, float("inf")) for pair in pairs) for name in sorted(set().union(*pairs))}
    print(f"{'figure':24}" + "".join(f"{f'run {i}':>14}" for i in range(1, len(runs) + 1)) + f"{'apart':>9}")
    for name, apart in worst.items():
        print(f"{name:24}" + "".join(f"{run['figures'].get(name) or 0.0:14.5g}" for run in runs) + f"{apart:9.1%}")
    for i, run in enumerate(runs, 1):
        held_out = f"held out {run['held_out_median']:.1%}, worst {run['held_out_worst']:.1%}"
        parts = len(run["seconds"])
        how = f"in {parts} part{'s' if parts > 1 else ''}" if parts else "measured before"
        of = f"{run['undisturbed']} of {run['launches']} launches undisturbed, {how}"
        print(f"run {i}: {run['pieces']} pieces, {held_out}; {of}")
    met = {
        "agreement": max(worst.values()) <= AGREEMENT,
        "pieces": all(run["pieces"] <= PIECES for run in runs),
        "held_out": all(run["held_out_median"] <= MEDIAN and run["held_out_worst"] <= WORST for run in runs),
    }
    path = record("study-agreement", {"machine": before, "runs": runs, "apart": worst, "met": met})
    print(f"{'met' if all(met.values()) else 'MISSED'}: {met}; {path}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
