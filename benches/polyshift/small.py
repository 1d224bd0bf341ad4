"""Shifts of the smallest arrays, both directions along every axis, called from Python: seconds a call for all of them.

    python benches/polyshift/small.py [--rounds 15] [--no-record]

All contenders run in every round, in an order that turns; in a round each is called for about two milliseconds, and a
figure is the median over rounds of seconds a call. What calling an empty function takes is among the rows and in every
figure. Needs weft; numba, jax and gfortran are used where present.
"""

from __future__ import annotations

import argparse
import datetime
import os
import tempfile
import timeit
from pathlib import Path

import shifts_peers as peers
from shifts import arrays

SHAPES = [(4,), (8, 8), (2,) * 4, (4,) * 4]

# Most seconds a call.
TARGETS = {((8, 8), "weft, bound"): 100e-9, ((4,) * 4, "weft, bound"): 500e-9, ((8, 8), "weft, checked"): 1e-6,
           ((8, 8), "weft, new arrays"): 1e-6}  # fmt: skip
ROUND_SECONDS = 2e-3


def nothing() -> None:
    pass


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="rounds (default 15)")
    parser.add_argument("--no-record", action="store_true", help="print only")
    chosen = parser.parse_args()
    if chosen.rounds < 1:
        parser.error("at least one round")
    return chosen


def compare(shape: tuple[int, ...], folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    x, out = arrays(shape)
    contenders: dict[str, peers.Call] = {
        "weft, bound": peers.weft_bound(None)(x, out),
        "weft, checked": peers.weft_checked(x, out),
        "weft, new arrays": peers.weft_new(x, out),
    }
    contenders |= {name: peer(x, out) for name, peer in peers.found(folder).items()}
    for name, call in contenders.items():
        peers.check(name, call, x, out)
    contenders["an empty function"] = nothing
    timers = {name: timeit.Timer("call()", globals={"call": call}) for name, call in contenders.items()}
    calls = {name: max(1, round(ROUND_SECONDS / (timer.timeit(20) / 20))) for name, timer in timers.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            seconds[name].append(timers[name].timeit(calls[name]) / calls[name])
    return {name: peers.spread(values) for name, values in seconds.items()}


def main() -> None:
    chosen = options()
    started, load = datetime.datetime.now(datetime.timezone.utc), os.getloadavg()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES:
            rows = compare(shape, Path(folder), chosen.rounds)
            results.append({"shape": shape, "seconds": rows})
            print(f"\n{' x '.join(map(str, shape))} float64, {2 * len(shape)} shifts")
            for name, row in rows.items():
                target = TARGETS.get((shape, name))
                verdict = "" if target is None else ("met" if row["median"] <= target else "MISSED")
                aim = "" if target is None else f"target {1e6 * target:.2f}: {verdict}"
                spread = f"({1e6 * row['least']:.3f} to {1e6 * row['largest']:.3f})"
                print(f"  {name:22} {1e6 * row['median']:9.3f} us {spread:24} {aim}")
    if not chosen.no_record:
        protocol = {
            "rounds": chosen.rounds,
            "statistic": "median over rounds of the mean seconds of a call in a loop of about 2 ms",
            "targets": [{"shape": shape, "what": what, "seconds": most} for (shape, what), most in TARGETS.items()],
        }
        print("\nrecord:", peers.record("polyshift-small", started, load, {"protocol": protocol, "results": results}))


if __name__ == "__main__":
    main()
