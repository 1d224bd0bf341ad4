"""Parallel variables of 4096 elements beside numpy, called from Python: seconds an operation.

    python benches/pvar/small.py [--rounds 11] [--no-record]

Every operation is done by weft and by numpy, without and with half of the elements selected; numpy's masked form is its
own (`where=` of functions and reductions, boolean indices where there is none). Both sides of all rows run in every
round, each for about a millisecond, and a ratio is the median over rounds of the ratio in a round. Targets: weft takes
at most twice numpy's time without a selection, at most numpy's with one.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np

import weft

SHAPE = (64, 64)
ROUND_SECONDS = 1e-3
LIMITS = {"all": 2.0, "selected": 1.0}
Call = Callable[[], object]


def rows() -> dict[tuple[str, str], tuple[Call, Call]]:
    """Operation and who is selected; weft's call and numpy's."""
    random = np.random.default_rng(1)
    a, b = random.uniform(1, 2, SHAPE), random.uniform(1, 2, SHAPE)
    mask = random.random(SHAPE) < 0.5
    to = random.integers(0, a.size, SHAPE)
    out, flat = np.zeros(SHAPE), np.zeros(a.size)
    vp, on = weft.VPSet(SHAPE), weft.VPSet(SHAPE)
    x, y, address = vp.array(a, copy=True), vp.array(b), vp.array(to)
    p, q, where = on.array(a, copy=True), on.array(b), on.array(to)
    target, masked_target = vp.zeros(), on.zeros()
    on.where(on.array(mask)).__enter__()  # for the whole run: a selection is made once and used many times

    def masked_get() -> object:
        result = np.zeros(SHAPE)
        result[mask] = a.ravel()[to[mask]]
        return result

    return {
        ("x + y", "all"): (lambda: x + y, lambda: a + b),
        ("x + y", "selected"): (lambda: p + q, lambda: np.add(a, b, out=out, where=mask)),
        ("x * 2.0", "all"): (lambda: x * 2.0, lambda: a * 2.0),
        ("x > y", "all"): (lambda: x > y, lambda: a > b),
        ("x / y", "selected"): (lambda: p / q, lambda: np.divide(a, b, out=out, where=mask)),
        ("sqrt(x)", "all"): (lambda: weft.pvar.sqrt(x), lambda: np.sqrt(a)),
        ("x[...] = y", "all"): (lambda: target.assign(y), lambda: np.copyto(out, b)),
        ("x[...] = y", "selected"): (lambda: masked_target.assign(q), lambda: np.copyto(out, b, where=mask)),
        ("sum", "all"): (lambda: weft.reduce(x, "sum"), a.sum),
        ("sum", "selected"): (lambda: weft.reduce(p, "sum"), lambda: a.sum(where=mask)),
        ("max", "all"): (lambda: weft.reduce(x, "max"), a.max),
        ("max", "selected"): (lambda: weft.reduce(p, "max"), lambda: a.max(where=mask, initial=-np.inf)),
        ("spread", "all"): (
            lambda: weft.spread(x, 0, 5),
            lambda: np.ascontiguousarray(np.broadcast_to(a[5:6], SHAPE)),
        ),
        ("shift", "all"): (lambda: weft.shift(x, 1, 0), lambda: np.roll(a, -1, 0)),
        ("scan add", "all"): (lambda: weft.scan(x, "add", 1), lambda: np.cumsum(a, 1)),
        ("scan add", "selected"): (
            lambda: weft.scan(p, "add", 1),
            lambda: np.where(mask, np.cumsum(np.where(mask, a, 0.0), 1), 0.0),
        ),
        ("get", "all"): (lambda: weft.get(x, address), lambda: a.ravel()[to]),
        ("get", "selected"): (lambda: weft.get(p, where), masked_get),
        ("send add", "all"): (
            lambda: weft.send(x, address, combine="add", into=target),
            lambda: np.add.at(flat, to.ravel(), a.ravel()),
        ),
        ("send add", "selected"): (
            lambda: weft.send(p, where, combine="add", into=masked_target),
            lambda: np.add.at(flat, to[mask], a[mask]),
        ),
        ("x[3, 5]", "all"): (lambda: x[3, 5], a[3, 5].item),
    }


def main() -> None:
    """Measures, prints and records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11, help="rounds (default 11)")
    parser.add_argument("--no-record", action="store_true", help="print only")
    chosen = parser.parse_args()
    started, load = datetime.datetime.now(datetime.UTC), os.getloadavg()
    calls = rows()
    timers = {
        (key, side): timeit.Timer("call()", globals={"call": pair[side]})
        for key, pair in calls.items()
        for side in (0, 1)
    }
    counts = {name: max(1, round(ROUND_SECONDS / (timer.timeit(5) / 5))) for name, timer in timers.items()}
    seconds: dict[object, list[float]] = {name: [] for name in timers}
    for number in range(chosen.rounds):
        for key in calls:
            for side in ((0, 1), (1, 0))[number % 2]:
                seconds[key, side].append(timers[key, side].timeit(counts[key, side]) / counts[key, side])
    results = []
    print(f"{'operation':14} {'selection':10} {'weft':>9} {'numpy':>9} {'ratio':>7}")
    for key in calls:
        ratios = [ours / theirs for ours, theirs in zip(seconds[key, 0], seconds[key, 1], strict=True)]
        ours, theirs, ratio = (statistics.median(values) for values in (seconds[key, 0], seconds[key, 1], ratios))
        verdict = "met" if ratio <= LIMITS[key[1]] else "MISSED"
        print(f"{key[0]:14} {key[1]:10} {1e6 * ours:7.2f}us {1e6 * theirs:7.2f}us {ratio:7.2f}  {verdict}")
        spread = {"least": min(ratios), "largest": max(ratios)}
        results.append(
            {"operation": key[0], "selection": key[1], "weft_s": ours, "numpy_s": theirs, "ratio": ratio, **spread}
        )
    if not chosen.no_record:
        folder = Path(__file__).parents[1] / "records"
        file = folder / f"{started:%Y-%m-%d}-pvar-small.json"
        record = {
            "started": started.isoformat(timespec="seconds"),
            "load": load,
            "processor": platform.processor() or platform.machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "weft": weft.__version__,
            "protocol": {"rounds": chosen.rounds, "limits": LIMITS, "statistic": "median over rounds"},
            "results": results,
        }
        file.write_text(json.dumps(record, indent=1) + "\n")
        print("record:", file.name)


if __name__ == "__main__":
    main()
