"""Shifts as those of George, Brickner and Johnsson 1994 here: one launch, `python -m weft.distributed.timing JOB`.

JOB is as `weft.launch.alone` says; a request has `axes`, `extent`, `distance`, `precision`, `seed` and
`seconds_per_point`. The arrays are what a node of the paper's machine holds. PSHIFT is here the bound call of a plan
(`weft.arrays.polyshift`), CSHIFT a call of `weft.arrays.cshift` for each shift; both write into arrays that are there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from weft.launch import data_parallel
from weft.launch.alone import serve
from weft.launch.stopwatch import SECONDS_PER_POINT, timed
from weft.shifts import cshift, polyshift


def measured(benchmark: str, request: dict[str, Any], variants: list[str]) -> Iterator[dict[str, object]]:
    """A row for each array."""
    seconds = float(request.get("seconds_per_point") or SECONDS_PER_POINT)
    for call in data_parallel.shift_calls(request):
        if variants and call.columns()["variant"] not in variants:
            continue
        cshifts, pshifts = (timed(one.do, seconds / 2) for one in prepared(call, int(request.get("seed", 1))))
        median = float(np.median(pshifts))
        yield {
            **call.columns(),
            "benchmark": benchmark,
            "ranks": 1,
            "bytes": None,
            "cshift_elapsed_s": float(np.median(cshifts)),
            "pshift_elapsed_s": median,
            "seconds": median,
            "seconds_p10": float(np.quantile(pshifts, 0.1)),
            "iterations": len(pshifts),
            "share_above_3x": float(np.mean(np.array(pshifts) > 3 * median)),
        }


class Timed(NamedTuple):
    """All shifts of a call, by themselves or planned."""

    do: Callable[[], Any]
    outs: list[Any]
    """What it writes, an array for each shift."""
    x: Any
    """What is shifted."""


def prepared(call: data_parallel.ShiftCall, seed: int) -> tuple[Timed, Timed]:
    """The shifts one by one, and planned."""
    x = np.random.default_rng(seed).standard_normal(call.shape).astype(call.dtype)
    single, planned = ([np.empty_like(x) for _ in call.shifts] for _ in range(2))
    plan = polyshift(call.shape, x.dtype, [(by, axis) for axis, by in call.shifts])

    def one_by_one() -> None:
        for (axis, by), out in zip(call.shifts, single, strict=True):
            cshift(x, by, axis, out)

    return Timed(one_by_one, single, x), Timed(plan.bind(x, out=planned), planned, x)


def main(text: str) -> int:
    """Runs a job; 0 if all went well."""
    return serve(text, measured, "shifts")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
