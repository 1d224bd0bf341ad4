"""Where the estimator is wrong about a program: each operation's time in the program beside its price.

    python -m benches.pvar.in_place gauss 63 [--costs FILE] [--rounds 5]

What a program calls of weft.pvar is wrapped: in a first run under the meter, which says what operations a call counts
as, and in later ones between two looks at the clock. A look holds the processor up, so that the sum is more than the
program takes; both are printed. Nothing is recorded.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import statistics
import sys
import time
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benches.benchmark import positive
from benches.pvar.estimator import module
from weft import pvar
from weft.estimation import costs_file, kinds
from weft.estimation.estimates import counted
from weft.estimation.here import Here
from weft.pvar import Meter, ParallelVariable, VPSet, metered
from weft.pvar.vpset import Selection

OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"),
    *("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "invert", "getitem", "setitem", "array"),
)
INSIDE = ("is_with", "is_alike", "irregular", "check_memory")
"""Methods that operations call: what they take is theirs."""

WITHIN: dict[Any, frozenset[str]] = {Selection: frozenset(("__enter__", "__exit__")), VPSet: frozenset(("__init__",))}
"""Methods that programs call by `with` or by the class."""

Around = Callable[[Callable[[], Any]], Any]
"""Does something around a call."""


@contextlib.contextmanager
def wrapped(around: Around) -> Iterator[None]:
    """A block in which calls of weft.pvar by a program, not by one another, are made by `around`."""
    inside = False

    def wrap(function: Any) -> Any:
        @functools.wraps(function)
        def call(*words: Any, **options: Any) -> Any:
            nonlocal inside
            if inside:
                return function(*words, **options)
            inside = True
            try:
                return around(lambda: function(*words, **options))
            finally:
                inside = False

        return call

    operators = {f"__{kind}{name}__" for name in OPERATORS for kind in ("", "r", "i")}
    before = []
    try:
        for of in (pvar, ParallelVariable, VPSet, Selection, pvar.Random):
            special = operators | WITHIN.get(of, frozenset())
            names = pvar.__all__ if of is pvar else vars(of)
            for name in list(names):
                function = vars(of).get(name)
                public = not name.startswith("_") and name not in INSIDE
                if isinstance(function, types.FunctionType) and (public or name in special):
                    before.append((of, name, function))
                    setattr(of, name, wrap(function))
        yield
    finally:
        for of, name, function in before:
            setattr(of, name, function)


def recorded(run: Callable[[], Any]) -> tuple[list[tuple[int, int, int, int]], Meter]:
    """Which operations each call of a program counts as: from where to where in the meter's two lists."""
    calls = []
    with metered() as meter:

        def around(call: Callable[[], Any]) -> Any:
            begins = len(meter.sequence), len(meter.aside)
            result = call()
            calls.append((*begins, len(meter.sequence), len(meter.aside)))
            return result

        with wrapped(around):
            run()
    return calls, meter


def timed(run: Callable[[], Any]) -> list[float]:
    """Seconds of each call of a program."""
    seconds, clock = [], time.perf_counter_ns

    def around(call: Callable[[], Any]) -> Any:
        start = clock()
        result = call()
        seconds.append((clock() - start) * 1e-9)
        return result

    with wrapped(around):
        run()
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="of programs/")
    parser.add_argument("size", type=positive)
    parser.add_argument("--costs", type=Path, help="costs of here (default: those of weft calibrate)")
    parser.add_argument("--rounds", type=positive, default=5, help="runs, of which medians count (default 5)")
    chosen = parser.parse_args()
    module("arguments")
    program = module(chosen.program)
    problem, here = program.problem(chosen.size), Here(costs_file.read(chosen.costs))
    run = functools.partial(program.solve, problem)
    calls, meter = recorded(run)
    run()
    rounds = [timed(run) for _ in range(chosen.rounds)]
    operations = counted(meter)
    sequence, aside = operations[: len(meter.sequence)], operations[len(meter.sequence) :]
    rows: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for (first, first_aside, end, end_aside), seconds in zip(calls, zip(*rounds, strict=True), strict=True):
        of_call = [one for one in (*sequence[first:end], *aside[first_aside:end_aside]) if not one.record.included]
        # What is no operation of its own belongs to selections: they are entered and left.
        name = " and ".join(kinds.of(*one).name for one in of_call) or "select"
        row = rows[name]
        row[0] += len(of_call)
        row[1] += statistics.median(seconds)
        row[2] += sum(here.time(*one).real for one in of_call)
    whole = []
    for _ in range(chosen.rounds):
        start = time.perf_counter()
        run()
        whole.append(time.perf_counter() - start)
    print(f"{'operations':>10} {'in place':>12} {'price':>12}")
    for name, (count, taken, price) in sorted(rows.items(), key=lambda row: -abs(row[1][1] - row[1][2])):
        print(f"{count:10.0f} {taken * 1e6:9.1f} us {price * 1e6:9.1f} us  {name}")
    taken, price = (sum(row[at] for row in rows.values()) for at in (1, 2))
    print(f"all: {taken * 1e3:.3f} ms in place, {price * 1e3:.3f} ms by prices; the program takes "
          f"{statistics.median(whole) * 1e3:.3f} ms")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
