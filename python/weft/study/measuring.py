"""`weft.measure`: any benchmark, here over MPI or on a described machine, by the same keywords as the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import polars as pl

from weft import _core
from weft._core import UsageError
from weft.conset import exchange
from weft.launch import data_parallel
from weft.launch.measure import HERE, Measurement, measure_requests
from weft.launch.protocol import Progress, Protocol
from weft.launch.request import check_taken, every, find, parsed, requests
from weft.launch.simulate import simulate_parsed
from weft.parameters import Benchmark, Parameters
from weft.samples import Samples
from weft.study import exchanging


def known() -> dict[str, Benchmark]:
    """Every benchmark by name: those of `weft.launch`, then exchanges of connection sets."""
    return every() | exchange.BENCHMARKS


def measure(
    benchmark: str | Sequence[str],
    *,
    on: str | os.PathLike[str] | _core.Machine = HERE,
    protocol: Protocol | None = None,
    name: str = HERE,
    seed: int = 0,
    trace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    notes: list[str] | None = None,
    force: bool = False,
    **parameters: Unpack[Parameters],
) -> Samples:
    """Measure benchmarks here over MPI, or run them in virtual time on another machine.

    Parameters
    ----------
    benchmark
        One or more names, or what others call them (`pingpong`, `osu_bw`); `weft measure --help` lists them.
    on
        `here`, or a machine as for :func:`weft.simulate`.
    protocol
        How long to go on here: launches, width of the intervals, seconds. Default: `Protocol()`.
    name
        What the samples call this machine.
    seed, trace, notes, force
        Of a run on a described machine: as for :func:`weft.simulate`.
    progress
        Who is told how it comes along.
    **parameters
        Those of the benchmark, by name, as numbers or as text such as `8:8192`: `weft measure BENCHMARK --help` has
        them with units and defaults.

    Returns
    -------
    Samples
        A table of polars: one row a point and launch. On ranks other than the first of a job that started Python
        itself, none.

    Raises
    ------
    weft.UsageError
        For unknown names, impossible requests, and parameters that none of the benchmarks takes.
    weft.RunError
        If MPI is missing or a launch fails.

    Examples
    --------
    >>> import weft
    >>> weft.measure("jacobi", on="ipsc860", extent=64, ranks=4)["benchmark"].to_list()
    ['jacobi']
    """
    checked = parsed(parameters)
    names = resolved([benchmark] if isinstance(benchmark, str) else benchmark)
    if exchanges(names, checked):
        if on == HERE:
            refuse_trace(trace)
            measurement = measure_exchanges(names, checked, protocol or Protocol(), name=name, seed=seed)
            if measurement.failure is not None:
                raise measurement.failure
            return Samples(measurement.table)
        return Samples(simulate_exchanges(on, names, checked, seed=seed, trace=trace, force=force))
    if on != HERE:
        return Samples(simulate_parsed(
            on, names, checked, seed=seed, trace=trace, progress=progress, notes=notes, force=force
        ))  # fmt: skip
    refuse_trace(trace)
    data_parallel.refuse_here(checked)
    measurement = measure_requests(requests(names, checked), protocol or Protocol(), name=name, progress=progress)
    if measurement.failure is not None:
        raise measurement.failure
    return Samples(measurement.table)


def resolved(words: Sequence[str]) -> list[str]:
    """The names of benchmarks, of what a person calls them: `imb pingpong` may be two words.

    Raises
    ------
    UsageError
        For a name of none.
    """
    names: list[str] = []
    suite = ""
    for word in words:
        if word.lower() in ("imb", "osu"):
            suite = f"{word}-"
            continue
        names.append(find(suite + word, known()).name)
        suite = ""
    if suite:
        find(suite.rstrip("-"), known())
    return names


def refuse_trace(trace: object) -> None:
    """A timeline is of virtual time.

    Raises
    ------
    UsageError
        For one of a measurement here.
    """
    if trace is not None:
        raise UsageError("--trace is of a simulated run; name a machine with --on")


def exchanges(names: Sequence[str], parameters: Mapping[str, Any]) -> bool:
    """Whether these are exchanges of connection sets.

    Raises
    ------
    UsageError
        For exchanges beside other benchmarks, without a pattern, or with what they do not take.
    """
    own = [name for name in names if name in exchange.BENCHMARKS]
    if not own:
        check_taken([known()[name] for name in names], parameters, known())
        return False
    if others := [name for name in names if name not in own]:
        raise UsageError(f"measure {', '.join(own)} and {', '.join(others)} one after the other")
    check_taken([known()[name] for name in own], parameters, known())
    if "pattern" not in parameters:
        raise UsageError(
            f"{' and '.join(own)}: say what is exchanged with --pattern, as --pattern hypercube; "
            "weft compile --help lists patterns"
        )
    return True


def simulate_exchanges(
    machine: str | os.PathLike[str] | _core.Machine, names: Sequence[str], parameters: Mapping[str, Any], **options: Any
) -> pl.DataFrame:
    """Exchanges on a described machine; `options` as for :func:`weft.conset.exchange.simulate`.

    Raises
    ------
    UsageError
        For what only a measurement here takes.
    """
    if "ranks" in parameters:
        raise UsageError("--ranks: an exchange on a described machine is between all of its nodes")
    words, compiler = parameters.get("words", ()), parameters.get("compiler", "weft")
    table: pl.DataFrame = exchange.simulate(
        machine, names, pattern=parameters["pattern"], words=words, compiler=compiler, **options
    )
    return table


def measure_exchanges(
    names: Sequence[str], parameters: Mapping[str, Any], protocol: Protocol, **options: Any
) -> Measurement:
    """Exchanges here; `options` as for :func:`weft.study.exchanging.measure_here`."""
    return exchanging.measure_here(
        names,
        pattern=parameters["pattern"],
        words=parameters.get("words", ()),
        compiler=parameters.get("compiler", "weft"),
        ranks=exchange_ranks(parameters),
        launches=protocol.launches,
        iterations=parameters.get("iterations"),
        **options,
    )


def exchange_ranks(parameters: Mapping[str, Any]) -> int:
    """How many ranks exchange here.

    Raises
    ------
    UsageError
        For less than two.
    """
    ranks = int(parameters.get("ranks", (2,))[0])
    if ranks < 2:
        raise UsageError(f"ranks: an exchange is between 2 ranks or more, not {ranks}")
    return ranks
