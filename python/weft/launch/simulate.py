"""The benchmarks in virtual time, on a described machine."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import polars as pl

from weft import _core, files, inputs
from weft._core import Machine, UsageError
from weft.catalogue import machine as find_machine
from weft.launch import data_parallel, flit, node
from weft.launch.protocol import Progress, Row, Silent
from weft.launch.request import Request, find, parsed, requests
from weft.launch.table import table
from weft.parameters import Numbers, Parameters
from weft.samples import Samples

__all__ = ["Numbers", "simulate", "simulate_parsed"]

_log = logging.getLogger(__name__)

MAX_RANKS = 64
"""Ranks of a simulated run where nobody says, on a machine with more nodes."""

MAX_NODES_RUN = 1 << 14
"""Nodes of the largest machine all of which run where only some send: of 158,976 nodes that took a minute."""


def simulate(
    machine: str | os.PathLike[str] | Machine,
    benchmark: str | Sequence[str],
    *,
    seed: int = 0,
    trace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    notes: list[str] | None = None,
    force: bool = False,
    **parameters: Unpack[Parameters],
) -> Samples:
    """Run benchmarks on a described machine in virtual time.

    Parameters
    ----------
    machine
        Name of a machine of the catalogue, path of a machine file, or a machine.
    benchmark
        One or more names; `weft measure --help` lists them.
    seed
        Two runs with one seed are identical.
    trace
        File for a timeline (Chrome trace JSON, for Perfetto) of the run; one benchmark on one number of ranks only.
    progress
        Who is told how it comes along.
    notes
        Gets a line for every row of the node suite that the machine file does not price; without it such rows are an
        error.
    force
        Whether to replace a timeline's file that exists.
    **parameters
        Those of the benchmark, by name, as numbers or as text such as `8:8192`: `weft measure BENCHMARK --help` has
        them with units and defaults. Where `ranks` is left out, every node takes part, at most 64; two where only two
        do. What the node suite and data-parallel machines have is priced from the machine file; nothing runs.

    Returns
    -------
    Samples
        A table of polars, with `source` "simulated", or "predicted" where they are priced for a data-parallel machine.

    Raises
    ------
    weft.UsageError
        For unknown names and requests the machine cannot meet.
    weft.RunError
        For programs that deadlock or fail.

    Examples
    --------
    >>> import weft
    >>> samples = weft.simulate("ipsc860", "echo", bytes="8:1K", hops="1:2")
    >>> round(samples.filter(bytes=8, hops=2)["seconds"].item(), 9)
    8.632e-05
    """
    names = [benchmark] if isinstance(benchmark, str) else list(benchmark)
    return Samples(
        simulate_parsed(
            machine, names, parsed(parameters), seed=seed, trace=trace, progress=progress, notes=notes, force=force
        )
    )


def simulate_parsed(
    machine: str | os.PathLike[str] | Machine,
    names: Sequence[str],
    parameters: Mapping[str, Any],
    *,
    seed: int = 0,
    trace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    notes: list[str] | None = None,
    force: bool = False,
) -> pl.DataFrame:
    """As :func:`simulate`, with parameters as :func:`weft.launch.request.parsed` gives them."""
    inputs.unsigned(seed, "seed")
    if trace is not None:
        files.check_output(trace, (), force=force)
    described = machine if isinstance(machine, Machine) else find_machine(machine)
    benchmarks = [find(name) for name in names]
    if any(benchmark.name in data_parallel.BENCHMARKS for benchmark in benchmarks):
        return data_parallel.priced(
            described, benchmarks, {**parameters, **({} if trace is None else {"trace": trace})}, seed, progress
        )
    wanted = requests(names, parameters)
    if "threads" in parameters:
        raise UsageError("threads is of a measurement here: machine files describe one processor a node")
    if "ranks" not in parameters:
        wanted = [
            request if request.node else replace(request, ranks=_default_ranks(described, request))
            for request in wanted
        ]
    if trace is not None and len(wanted) > 1:
        raise UsageError("a timeline shows one run: ask for one benchmark on one number of ranks")
    return _run(described, wanted, seed, trace, progress or Silent(), notes)


def _run(
    machine: Machine,
    wanted: Sequence[Request],
    seed: int,
    trace: str | os.PathLike[str] | None,
    progress: Progress,
    notes: list[str] | None,
) -> pl.DataFrame:
    rows: list[Row] = []
    unpriced: list[str] = []
    progress.launch(0, len(wanted), len(wanted))
    for request in wanted:
        _log.info("%s on %s, %s ranks", request.benchmark, machine.name, request.ranks)
        if request.node:
            if trace is not None:
                raise UsageError(f"{request.benchmark} is priced, not run: it has no timeline")
            data_parallel.refuse_faults(machine, request.benchmark)
            priced, missing = node.priced(machine, request)
            rows += priced
            unpriced += missing
        else:
            path, warn = (None, None) if trace is None else (os.fspath(trace), files.warning_of_large(trace))
            simulated = json.loads(_core.simulate(machine, request.to_json(), path, seed, warn))
            if any(row.get("seconds") == 0.0 for row in simulated):
                raise UsageError(
                    f"{request.benchmark} takes no time on {machine.name}, so that it cannot be compared: the times of "
                    "its [[protocols]] and its [self_message] are 0; give them at least one time that is not"
                )
            rows += [flit.noted({**row, "repetition": 0}) for row in simulated]
        progress.rows(1)
    if unpriced and (notes is None or not rows):
        raise UsageError("; ".join(unpriced))
    if notes is not None:
        notes += unpriced
    return table(rows, "simulated", label(machine))


def label(machine: Machine) -> str:
    """What samples call a machine: its name, and which times its costs of messages estimate where its file says so.

    >>> import weft
    >>> label(weft.machine("ipsc860"))
    'ipsc860'
    """
    return machine.name if machine.estimand is None else f"{machine.name}-{machine.estimand}"


def _default_ranks(machine: Machine, request: Request) -> int:
    benchmark = find(request.benchmark)
    takes_hops, asks_hops = "hops" in benchmark.takes, bool(request.several("hops"))
    if benchmark.default_ranks == 1:
        return 1
    if takes_hops and not asks_hops:
        return benchmark.default_ranks
    if benchmark.group == "traffic":
        needed = 1 + max(request.several("neighbours"), default=0)
        return min(machine.nodes, max(benchmark.default_ranks, needed))
    if "extent" in benchmark.takes or "file_system" in benchmark.takes:
        return min(machine.nodes, benchmark.default_ranks)
    return _ranks_for(machine, request.several("hops")) if asks_hops else min(machine.nodes, MAX_RANKS)


def _ranks_for(machine: Machine, hops: Sequence[int]) -> int:
    """As many ranks as an echo over these distances needs: all nodes, of a large machine those up to the last partner.

    Partners are the lowest nodes at each distance, and nodes behind them send nothing.
    """
    if machine.nodes <= MAX_NODES_RUN:
        return machine.nodes
    missing = set(hops)
    for partner in range(1, MAX_NODES_RUN):
        missing.discard(len(machine.route(0, partner)))
        if not missing:
            return partner + 1
    return machine.nodes
