"""Two builds of the Rust core beside each other: what a change costs, in ratios of interleaved calls.

    python benches/pvar/two_cores.py OLD.so NEW.so [--rounds 9] [--rows NAME,…] [--no-record]

Each build is loaded by a process of its own, as `weft._core`. In every round each row is timed in both, one right after
the other, the first of them in turn; a time is the least of several calls. A row's figure is the median over the rounds
of the ratio new to old, with the quartiles: over 1, the new one is slower. Absolute times drift with what else the
machine does; those ratios do so less.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import recording  # noqa: E402

LARGE, MIDDLE, SMALL = 1 << 23, 1 << 16, 1 << 10
SHORTEST = 0.02
"""Seconds of calls in one timing, at least."""


def rows(core: Any) -> dict[str, Callable[[], Any]]:
    """What is timed: names and calls."""
    chance = np.random.default_rng(1)
    found: dict[str, Callable[[], Any]] = {}
    for name, length in (("large", LARGE), ("middle", MIDDLE), ("small", SMALL)):
        x, y, out = chance.random(length), chance.random(length), np.zeros(length)
        mask, index = chance.random(length) < 0.5, chance.permutation(length)
        near = np.arange(length)
        needed = core.array_send_room(x, out)
        make = getattr(core, "SendRoom", lambda bytes_: np.empty(bytes_, np.uint8))
        room = make(needed) if needed else None
        one = {
            "gather scattered": lambda x=x, i=index, o=out: core.array_gather(x, i, o, None, 1),
            "gather in order": lambda x=x, i=near, o=out: core.array_gather(x, i, o, None, 1),
            "gather selected": lambda x=x, i=index, o=out, m=mask: core.array_gather(x, i, o, m, 1),
            "send scattered": lambda x=x, i=index, o=out, r=room: core.array_send(x, i, o, "add", None, 1, r),
            "send in order": lambda x=x, i=near, o=out, r=room: core.array_send(x, i, o, "add", None, 1, r),
            "send selected": lambda x=x, i=index, o=out, m=mask, r=room: core.array_send(x, i, o, "add", m, 1, r),
            "send refusing": lambda x=x, i=index, o=out, r=room: core.array_send(x, i, o, None, None, 1, r),
            "scan": lambda x=x, o=out: core.array_scan(x, o, "add", 0, None, None, False, False, 1),
            "scan segmented": lambda x=x, o=out, m=mask: core.array_scan(x, o, "add", 0, m, None, False, False, 1),
            "sum": lambda x=x: core.array_reduce(x, "add", None, 1),
            "add": lambda x=x, y=y, o=out: core.array_elementwise("add", (x, y), o, None, 1),
            "add selected": lambda x=x, y=y, o=out, m=mask: core.array_elementwise("add", (x, y), o, m, 1),
        }
        found |= {f"{row} {name}": call for row, call in one.items()}
    for name, shape in (("large", (2048, 2048)), ("small", (16, 16))):
        x, out = chance.random(shape), np.zeros(shape)
        found[f"spread {name}"] = lambda x=x, o=out: core.array_spread(x, o, 0, 1, None, 1)
        points = [([0, 0], 0.5), ([0, 1], 0.1), ([0, -1], 0.1), ([1, 0], 0.1), ([-1, 0], 0.1)]
        found[f"stencil bound {name}"] = core.StencilPlan(list(shape), False, points, [None, None]).bind(x, out)
        shifts = [(0, 1, None, 0), (1, -1, None, 0)]
        plan = core.ShiftPlan(list(shape), x.dtype, shifts, 1)
        found[f"shifts bound {name}"] = plan.bind(x)
        found[f"shifts call {name}"] = lambda p=plan, x=x: p(x)
    return found


def timed(call: Callable[[], Any], calls: int) -> float:
    """Seconds of one call, the mean of so many."""
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - begin) / calls


def serve(path: str) -> None:
    """One of the two: answers names with times, a line each."""
    spec = importlib.util.spec_from_file_location("weft._core", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    found = rows(core)
    print(json.dumps(list(found)), flush=True)
    calls: dict[str, int] = {}
    for line in sys.stdin:
        name = line.strip()
        call = found[name]
        if name not in calls:
            call()
            calls[name] = max(1, int(SHORTEST / 5 / max(timed(call, 1), 1e-9)))
        print(min(timed(call, calls[name]) for _ in range(5)), flush=True)


class Core:
    """A process with one of the builds."""

    def __init__(self, path: str) -> None:
        words = [sys.executable, str(Path(__file__).resolve()), "--serve", path]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.names: list[str] = json.loads(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("one of the builds has ended")
        return line

    def time(self, name: str) -> float:
        """Seconds of a call."""
        assert self._process.stdin is not None
        print(name, file=self._process.stdin, flush=True)
        return float(self._answer())

    def close(self) -> None:
        """Ends it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    """Times both and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("builds", nargs="+")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rows", default="")
    parser.add_argument("--no-record", action="store_true")
    given = parser.parse_args()
    if given.serve:
        serve(given.builds[0])
        return
    started, load = datetime.datetime.now(datetime.UTC), os.getloadavg()
    old, new = map(Core, given.builds)
    wanted = [name for name in old.names if not given.rows or any(part in name for part in given.rows.split(","))]
    ratios: dict[str, list[float]] = {name: [] for name in wanted}
    least: dict[str, list[float]] = {name: [float("inf")] * 2 for name in wanted}
    for turn in range(given.rounds):
        for name in wanted:
            first, second = (old, new) if turn % 2 == 0 else (new, old)
            times = first.time(name), second.time(name)
            before, after = times if turn % 2 == 0 else times[::-1]
            ratios[name].append(after / before)
            least[name] = [min(least[name][0], before), min(least[name][1], after)]
    old.close()
    new.close()
    table = []
    for name in wanted:
        low, median, high = statistics.quantiles(ratios[name], n=4)
        before, after = least[name]
        row = {"row": name, "ratio": median, "quartiles": [low, high], "ratio_of_least": after / before, "old_s": before}
        table.append(row)
        print(f"{name:28} {median:6.3f} ({low:.3f} to {high:.3f}), of least {after / before:.3f}, old {before * 1e6:.2f} us")
    if not given.no_record:
        head = recording.head("two cores", started, load)
        path = HERE.parent / "records" / f"{started:%Y-%m-%d}-two-cores.json"
        path.write_text(json.dumps({**head, "rounds": given.rounds, "rows": table}, indent=1) + "\n")
        print(path.name)


if __name__ == "__main__":
    main()
