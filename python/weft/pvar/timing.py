"""The tests of Wu and Shu 1989 on this machine: one launch, `python -m weft.pvar.timing JOB`.

JOB is as `weft.launch.alone` says; benchmarks are names of groups, and a request has `seconds_per_point`, `seed` and
`vp_ratio`. Every operation is timed twice. Real time is that of the program's call. The counterpart of CM time, the
time in which the machine's parallel part works, is that of the same work on the arrays, without what stands before it:
the front end is here Python, and issues an instruction too.

There is no number of processors here that a virtual processor could be shared by; a VP ratio of 1 has as many virtual
processors as the paper's machine, so that its tables can be laid beside.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from weft.data_parallel import Operation
from weft.data_parallel.costs import destinations
from weft.launch import primitives
from weft.launch.alone import serve
from weft.launch.stopwatch import SECONDS_PER_POINT, timed
from weft.pvar import words
from weft.pvar.elementwise import add, divide, multiply
from weft.pvar.execution import Scan, Send
from weft.pvar.primitives import get, scan, send, shift, spread
from weft.pvar.reductions import reduce
from weft.pvar.variable import ParallelVariable
from weft.pvar.vpset import VPSet

PROCESSORS = 8192
"""Virtual processors at a VP ratio of 1: the processors of the paper's machine (section 3)."""

Pair = tuple[Callable[[], Any], Callable[[], Any]]
"""The program's call, and the work in it."""


def main(text: str) -> int:
    """Runs a job; 0 if all went well."""
    return serve(text, measured, "primitives")


def measured(group: str, request: dict[str, Any], variants: list[str]) -> Iterator[dict[str, object]]:
    """The rows of one group."""
    seconds = float(request.get("seconds_per_point") or SECONDS_PER_POINT)
    seed = int(request.get("seed", 1))
    for operation in primitives.operations(group, request.get("vp_ratio") or ()):
        described = primitives.described(group, operation)
        if variants and described["variant"] not in variants:
            continue
        call, work = prepared(operation, seed)
        real, cm = timed(call, seconds / 2), timed(work, seconds / 2)
        median = float(np.median(real))
        yield {
            **described,
            "benchmark": group,
            "ranks": 1,
            "bytes": None,
            "real_s": median,
            "cm_s": float(np.median(cm)),
            "seconds": median,
            "seconds_p10": float(np.quantile(real, 0.1)),
            "iterations": len(real),
            "share_above_3x": float(np.mean(np.array(real) > 3 * median)),
        }


def prepared(o: Operation, seed: int = 1) -> Pair:
    """A call that does an operation, and the work in it, on arrays of the operation's shape."""
    size = PROCESSORS * o.vp_ratio
    if o.kind == "spread":
        return _spread(o, max(1, PROCESSORS // 2 // o.extent) * o.vp_ratio)
    if o.kind.startswith("news"):
        return _news(o, size)
    vp = VPSet(size)
    x, y = _variable(vp, o, seed), _variable(vp, o, seed + 1)
    run, a, b = vp.execution, x.data, y.data
    if o.kind in ("add", "float_add"):
        return (lambda: add(x, y)), _words(o, lambda: np.add(a, b))
    if o.kind in ("multiply", "float_multiply"):
        return (lambda: multiply(x, y)), _words(o, lambda: np.multiply(a, b))
    if o.kind in ("divide", "float_divide"):
        return (lambda: divide(x, y)), lambda: np.true_divide(a, b)
    if o.kind == "read":
        return (lambda: x[5]), lambda: run.read(a, (5,))
    if o.kind == "write":
        return (lambda: x.__setitem__(5, 1)), lambda: run.write(a, (5,), 1)
    if o.kind == "broadcast":
        return (lambda: x.assign(1)), lambda: run.assign(a, 1, None, None)
    name = o.kind.partition("_")[2]
    name = "add" if name == "sum" else name
    if o.kind.startswith("reduce"):
        return (lambda: reduce(x, name)), lambda: run.reduce(a, name, None)
    if o.kind.startswith("scan"):
        return (lambda: scan(x, name)), lambda: run.scan(a, Scan(name))
    return _routed(vp, x, o)


def _variable(vp: VPSet, o: Operation, seed: int) -> ParallelVariable:
    """Small positive numbers of the word length; booleans where the operation is of them."""
    random = np.random.default_rng(seed)
    if o.kind.endswith(("_and", "_or")):
        return vp.array(random.random(vp.shape) < 0.5)
    if o.kind.startswith("float"):
        return vp.array(random.uniform(1, 2, vp.shape).astype(np.float32))
    high = min(1 << (o.bits - 1), 1000)
    numbers = random.integers(1, high, vp.shape)
    return vp.array(numbers, dtype=words.type_for(o.bits), bits=o.bits)


def _words(o: Operation, compute: Callable[[], Any]) -> Callable[[], Any]:
    """The work of words that numpy does not have: they are wrapped around after each operation."""
    if o.kind.startswith("float") or words.type_for(o.bits).itemsize * 8 == o.bits:
        return compute
    return lambda: words.wrap(compute(), o.bits)


def _routed(vp: VPSet, x: ParallelVariable, o: Operation) -> Pair:
    """Stores, fetches, reductions and broadcasts by groups: destinations as the paper's model has them."""
    pattern = o.pattern if o.kind.startswith("multiple") else "uniform"
    address = vp.array(np.array(destinations(pattern, o.ratio, 1.0, vp.size)))
    run, a, to = vp.execution, x.data, address.data
    zeros = vp.zeros(a.dtype)
    into = zeros.data
    if o.kind.endswith("single"):
        here = vp.coordinate(0) == 5
        mask = here.data

        def one() -> None:
            with vp.where(here):
                if o.kind == "store_single":
                    send(x, address, into=zeros)
                else:
                    get(x, address)

        if o.kind == "store_single":
            return one, lambda: run.send(a, to, into, Send(mask=mask))
        return one, lambda: run.get(a, to, mask)
    if o.kind == "store":
        return (lambda: send(x, address, into=zeros)), lambda: run.send(a, to, into, Send())
    if o.kind == "multiple_reduction":
        # 'The measured results of min reduction of 32-bit integers' (section 3).
        return (
            lambda: send(x, address, combine="min", into=zeros),
            lambda: run.send(a, to, into, Send("min")),
        )
    return (lambda: get(x, address, collisions=o.mode)), lambda: run.get(a, to, None)


def _news(o: Operation, size: int) -> Pair:
    """On a two-dimensional grid, as nearly square as powers of two are."""
    rows = 1 << (size.bit_length() // 2)
    vp = VPSet((rows, size // rows))
    x = _variable(vp, o, 1)
    run, a = vp.execution, x.data
    single = o.kind.endswith("single")
    form: Literal["fetch", "store"] = "store" if "store" in o.kind else "fetch"
    distance = -o.hops if form == "store" else o.hops
    if not single:
        return (lambda: shift(x, o.hops, form=form)), lambda: run.shift(a, distance, 0, None)
    here = (vp.coordinate(0) == 5) & (vp.coordinate(1) == 5)
    target = vp.zeros(a.dtype)
    mask = here.data

    def one() -> None:
        with vp.where(here):
            if form == "store":
                shift(x, o.hops, form="store", into=target)
            else:
                target.assign(shift(x, o.hops))

    def work() -> None:
        run.assign(target.data, run.shift(a, distance, 0, None), mask, None)

    return one, work


def _spread(o: Operation, columns: int) -> Pair:
    """Along the first axis of a grid of 4096 virtual processors, as table 11 has them."""
    vp = VPSet((o.extent, columns))
    x = _variable(vp, replace(o, kind="add"), 1)
    run, a = vp.execution, x.data
    return (lambda: spread(x, 0, 3)), lambda: run.spread(a, 0, 3)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
