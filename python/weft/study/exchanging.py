"""Exchanges measured on this machine over MPI."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from weft._core import ConnectionSet, ExchangeRequest, Machine, RunError
from weft.conset import compile
from weft.conset.exchange import RANDOM_ORDER, Exchange, check_method, connection_set, request, row, table
from weft.journal import Journal
from weft.launch.exchanging import run_mpi
from weft.launch.measure import Measurement

ITERATIONS, WARMUP = 200, 20

_SWITCH = """
name = "ranks"
title = "Ranks of MPI, each of which sends to one and receives from one other at a time"
[topology]
{topology}
source = "MPI: every rank reaches every other"
[switching]
technique = "cut-through"
source = "MPI"
[[protocols]]
send_overhead = 0.5e-6
receive_overhead = 0.5e-6
hop_time = 0
byte_time = 1e-10
completion = "injected"
source = "estimate: a node of today; times decide nothing here, phases do"
[self_message]
startup = 1e-7
byte_time = 1e-10
source = "estimate"
[connections]
word_bytes = 8
ports = 1
access = "separate"
access_byte_time = 1e-10
link_byte_time = 1e-10
synchronisation_time = 1e-6
phase_time = 0
source = "estimate: a node of today; times decide nothing here, phases do"
"""


def of_ranks(ranks: int) -> Machine:
    """A machine for schedules on real ranks: each sends to one and receives from one other in a phase."""
    return Machine.parse(_SWITCH.format(topology=f'kind = "crossbar"\nnodes = {ranks}'), "ranks")


def _patterned(ranks: int) -> Machine:
    """Where named patterns are taken from: a ring, or a hypercube where the ranks make one."""
    exact = ranks >= 2 and ranks & (ranks - 1) == 0
    topology = (
        f'kind = "hypercube"\ndimension = {ranks.bit_length() - 1}' if exact else f'kind = "torus"\nextents = [{ranks}]'
    )
    return Machine.parse(_SWITCH.format(topology=topology), "ranks")


def measure_here(
    methods: Sequence[str],
    *,
    pattern: str,
    words: Sequence[int],
    compiler: str = "weft",
    ranks: int = 2,
    launches: int = 6,
    iterations: int | None = None,
    seed: int = 0,
    name: str = "here",
    progress: Callable[[int, int], None] | None = None,
    before: pl.DataFrame | None = None,
    journal: Journal | None = None,
) -> Measurement:
    """Measure how long a pattern takes between ranks of MPI, phase by phase and as messages all at once.

    Parameters
    ----------
    methods, pattern, words, compiler, seed, progress
        As for :func:`weft.conset.exchange.simulate`. A word is 8 bytes; a phase is a matching of ranks.
    ranks
        How many.
    launches
        Separate launches.
    iterations
        Timed exchanges of a launch.
    name
        What the samples call this machine.
    before, journal
        Earlier samples, and an open journal, whose launches are gone on with; the journal is given each launch when it
        ends.

    Returns
    -------
    Measurement
        Samples with `source` "measured", one a launch: the median of its exchanges.

    Raises
    ------
    UsageError, RunError
        For what cannot be compiled, and for a launch that fails.
    """
    for method in methods:
        check_method(method)
    machine, patterned = of_ranks(ranks), _patterned(ranks)
    wanted: list[tuple[str, int | None, ConnectionSet, ExchangeRequest]] = []
    lengths: list[int | None] = [*words] if words else [None]
    for length in lengths:
        connections = connection_set(pattern, patterned, length, seed)
        for method in methods:
            schedule = (
                compile(connections, machine, compiler=compiler, seed=seed, messages=False)
                if method == "conset"
                else None
            )
            random = seed if schedule is None and connections.name in RANDOM_ORDER else None
            exchange = request(
                connections, schedule, random=random, word_bytes=8, iterations=iterations or ITERATIONS,
                warmup=min(WARMUP, iterations or WARMUP), phantom=False,
            )  # fmt: skip
            wanted.append((method, length, connections, exchange))
    start = time.monotonic()
    earlier = [] if before is None else before.filter(pl.col("source") == "measured").to_dicts()
    kept = [row for record in (journal.records if journal is not None else []) for row in record["rows"]]
    measurement = Measurement(table([]))
    rows = [one for one in kept if _key(one) not in set(map(_key, earlier))]
    known = set(map(_key, [*earlier, *rows]))
    try:
        for launch in range(launches):
            asked = (
                row("measured", name, method, connections, Exchange((0.0,), ranks, 0), compiler, length, launch)
                for method, length, connections, _ in wanted
            )
            if known.issuperset(map(_key, asked)):
                continue
            results = run_mpi("exchange", [exchange.to_json() for *_, exchange in wanted], ranks)
            new = [
                row("measured", name, method, connections, _exchange(result), compiler, length, launch)
                for (method, length, connections, _), result in zip(wanted, results, strict=True)
            ]
            rows += new
            if journal is not None:
                journal.append({"launch": launch, "rows": new})
            if progress is not None:
                progress(launch + 1, launches)
    except KeyboardInterrupt:
        measurement.interrupted = True
    except RunError as error:
        if not rows:
            raise
        measurement.failure = error
    measurement.spent = time.monotonic() - start
    measurement.table = table(rows) if before is None else pl.concat([before, table(rows)], how="diagonal_relaxed")
    return measurement


def request_of(
    methods: Sequence[str], pattern: str, words: Sequence[int], compiler: str, ranks: int, iterations: int | None,
    seed: int, name: str,
) -> dict[str, Any]:  # fmt: skip
    """What the journal of such a measurement is told apart by."""
    return {
        "exchange": list(methods), "pattern": pattern, "words": list(words), "compiler": compiler, "ranks": ranks,
        "iterations": iterations, "seed": seed, "name": name,
    }  # fmt: skip


def _exchange(result: dict[str, Any]) -> Exchange:
    return Exchange(tuple(result["seconds"]), result["ranks"], result["phases"])


def _key(sample: dict[str, Any]) -> tuple[Any, ...]:
    """What tells samples of exchanges apart."""
    return tuple(sample.get(name) for name in ("benchmark", "machine", "pattern", "words", "ranks", "repetition"))
