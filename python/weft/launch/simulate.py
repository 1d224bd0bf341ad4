"""The benchmarks in virtual time, on a described machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from weft import _core, files
from weft._core import Machine, UsageError
from weft.catalogue import machine as find_machine
from weft.launch import data_parallel, node, ranges
from weft.launch.protocol import Progress, Row, Silent
from weft.launch.request import Request, Settings, find, requests
from weft.launch.table import table

MOST_RANKS = 64
"""Ranks of a simulated run where nobody says, on a machine with more nodes."""

Numbers = str | int | Iterable[int]


def simulate(
    machine: str | os.PathLike[str] | Machine,
    benchmark: str | Sequence[str],
    *,
    ranks: Numbers | None = None,
    bytes: Numbers | None = None,
    hops: Numbers | None = None,
    algorithm: str | None = None,
    iterations: int | None = None,
    window: int | None = None,
    payload: str | None = None,
    lengths: Numbers | None = None,
    variants: Sequence[str] = (),
    neighbours: Numbers | None = None,
    background: str | None = None,
    background_bytes: Numbers | None = None,
    probe: str | tuple[int, int] | None = None,
    shape: str | Iterable[Iterable[int]] | None = None,
    n: Numbers | None = None,
    precision: str | None = None,
    file_system: str | None = None,
    file_bytes: int | None = None,
    preallocate: bool = False,
    io_nodes: int | None = None,
    rank: Numbers | None = None,
    length: Numbers | None = None,
    distance: int | None = None,
    vp_ratio: Numbers | None = None,
    seed: int = 0,
    trace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    notes: list[str] | None = None,
    force: bool = False,
) -> pl.DataFrame:
    """Run benchmarks on a described machine in virtual time.

    Parameters
    ----------
    machine
        Name of a machine of the catalogue, path of a machine file, or a machine.
    benchmark
        One or more names; `weft measure --help` lists them.
    ranks
        How many ranks, or several numbers. Default: every node, at most 64; two where only two take part.
    bytes, hops
        Lengths and distances: one number, several, or text such as `8:8192`. Default: the benchmark's own.
    algorithm
        Of collectives. Default: what the machine's message lengths suggest.
    iterations, window, payload
        As in `weft measure --help`.
    lengths, variants
        Of the node suite: lengths of vectors or bytes of arrays, names of rows. The rows that a machine file's
        operation times determine are priced from them; nothing runs.
    neighbours, background, background_bytes, probe, shape
        As in :func:`weft.measure`.
    n, precision, file_system, file_bytes, preallocate, io_nodes
        Of programs and of files, where the suite has them; as in `weft measure --help`.
    rank, length, distance
        Of shifts on data-parallel machines (`pshift`): axes of the array, elements along each axis of a node's subgrid,
        and by how many elements it is shifted. Such benchmarks are priced from the machine file; nothing runs.
    vp_ratio
        Of the primitives of data-parallel machines (`processor`, `router`…): virtual processors a processor.
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

    Returns
    -------
    polars.DataFrame
        Samples with `source` "simulated", or "predicted" where they are priced for a data-parallel machine.

    Raises
    ------
    weft.UsageError
        For unknown names and requests the machine cannot meet.
    weft.RunError
        For programs that deadlock or fail.
    """
    if trace is not None:
        files.check_output(trace, (), force=force)
    described = machine if isinstance(machine, Machine) else find_machine(machine)
    names = [benchmark] if isinstance(benchmark, str) else list(benchmark)
    if any(name in data_parallel.BENCHMARKS for name in names):
        given = {
            "ranks": ranks, "bytes": bytes, "hops": hops, "algorithm": algorithm, "iterations": iterations,
            "window": window, "lengths": lengths, "variants": tuple(variants) or None, "neighbours": neighbours,
            "background": background, "background_bytes": background_bytes, "probe": probe, "n": n,
            "file_system": file_system, "file_bytes": file_bytes, "io_nodes": io_nodes, "trace": trace,
        }  # fmt: skip
        data_parallel.refuse(names, [name for name, value in given.items() if value is not None])
        return data_parallel.priced(described, names, rank, length, distance, precision, vp_ratio)
    if any(value is not None for value in (rank, length, distance, vp_ratio)):
        raise UsageError(
            f"{' and '.join(names)} takes no rank, length or distance of an array and no vp-ratio; pshift and the "
            "other benchmarks of data-parallel machines do"
        )
    distances = ranges.numbers(hops, "hops", "one", lowest=1)
    settings = Settings(
        algorithm=algorithm, iterations=iterations, window=window, payload=payload,
        words=ranges.numbers(lengths, "lengths", "double", lowest=1), variants=tuple(variants),
        neighbours=ranges.numbers(neighbours, "neighbours", "one", lowest=1), background=background,
        background_bytes=ranges.numbers(background_bytes, "background-bytes", "double"),
        probe=ranges.pair(probe, "probe"), shapes=ranges.shapes(shape, "shape"),
        n=ranges.numbers(n, "n", "double", lowest=1), precision=precision,
        file_system=file_system, file_bytes=file_bytes, preallocate=preallocate, io_nodes=io_nodes,
    )  # fmt: skip
    counts = ranges.numbers(ranks, "ranks", "double", lowest=1)
    sizes = ranges.numbers(bytes, "bytes", "double")
    wanted = requests(names, counts, sizes, distances, settings)
    if not counts:
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
        if request.node:
            if trace is not None:
                raise UsageError(f"{request.benchmark} is priced, not run: it has no timeline")
            priced, missing = node.priced(machine, request)
            rows += priced
            unpriced += missing
        else:
            text = _core.simulate(machine, request.to_json(), None if trace is None else os.fspath(trace), seed)
            rows += [{**row, "repetition": 0} for row in json.loads(text)]
        progress.rows(1)
    if unpriced and (notes is None or not rows):
        raise UsageError("; ".join(unpriced))
    if notes is not None:
        notes += unpriced
    return table(rows, "simulated", machine.name)


def _default_ranks(machine: Machine, request: Request) -> int:
    benchmark = find(request.benchmark)
    if benchmark.default_ranks == 1:
        return 1
    if benchmark.hops and not request.hops:
        return benchmark.default_ranks
    if benchmark.group == "traffic":
        return min(machine.nodes, max(benchmark.default_ranks, 1 + max(request.neighbours, default=0)))
    if "n" in benchmark.fields or "file_system" in benchmark.fields:
        return min(machine.nodes, benchmark.default_ranks)
    return machine.nodes if request.hops else min(machine.nodes, MOST_RANKS)
