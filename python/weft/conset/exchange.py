"""Executing exchanges: schedules phase by phase, connection sets as messages, in virtual time.

The model of connections is that of Feldmann, Stricker and Warfel 1993: a phase costs a synchronisation and its
initialisation, links are shared word by word among the channels that wait, a node's access to the network is limited.
Their message passing is simulated on the same machine: wormhole routing axis by axis over two pools of channels, a
processor's overhead for every message sent and received, long messages that block others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft import _core, files
from weft._core import Machine, UsageError
from weft.parameters import Benchmark, Takes, taking

if TYPE_CHECKING:
    import polars as pl

    from weft._core import ConnectionSet, ExchangeRequest, Schedule

METHODS = {
    "conset": "phases of connections, as a schedule says: compiled, or that of a file",
    "messages": "a message for every connection, by the machine's message passing",
}
"""The benchmarks of an exchange."""

BENCHMARKS = {
    name: Benchmark(
        name=name,
        summary=summary,
        group="exchanges of connection sets (with --pattern)",
        default_ranks=2,
        min_ranks=2,
        takes={
            **taking("pattern", "words", "ranks", "iterations"),
            **({"compiler": Takes("compiler", choices=("weft", "apr"))} if name == "conset" else {}),
        },
        example="weft measure conset,messages --on iwarp64 --pattern hypercube --words 32,256,2048,16384",
    )
    for name, summary in METHODS.items()
}
"""The same as lists, help and checks see them."""

RANDOM_ORDER = ("all-to-all",)
"""Patterns whose messages are sent in random order, as in section 5.1.3 of the paper."""


@dataclass(frozen=True)
class Exchange:
    """What an exchange took.

    Attributes
    ----------
    seconds
        Of every repetition.
    ranks
        How many took part.
    phases
        Phases of connections; 0 for messages.
    """

    seconds: tuple[float, ...]
    ranks: int
    phases: int


def request(
    connections: ConnectionSet,
    schedule: Schedule | None = None,
    *,
    random: int | None = None,
    elements: tuple[float, float] | None = None,
    word_bytes: int | None = None,
    iterations: int = 1,
    warmup: int = 0,
    phantom: bool = True,
) -> ExchangeRequest:
    """An exchange as `weft._core` takes it.

    Parameters
    ----------
    connections
        What is exchanged.
    schedule
        In which phases and over which routes; without one, or with one whose `method` is `messages`, every connection
        is a message.
    random
        Seed of a random order of messages; otherwise they are sent in the order of the set.
    elements
        Seconds that a program needs to gather and to scatter a byte, where it does so element by element: connections
        take elements as they are gathered (systolic), messages are copied together first. Otherwise blocks are streamed
        from memory and to it.
    word_bytes
        Bytes of a word, in place of the machine's.
    iterations, warmup
        Timed exchanges and those before.
    phantom
        Whether only lengths are sent; otherwise every word is checked.
    """
    return _core.ExchangeRequest(
        connections, schedule, random=random, elements=elements, word_bytes=word_bytes, iterations=iterations,
        warmup=warmup, phantom=phantom,
    )  # fmt: skip


def execute(
    machine: str | os.PathLike[str] | Machine,
    connections: ConnectionSet,
    schedule: Schedule | None = None,
    *,
    random: int | None = None,
    elements: tuple[float, float] | None = None,
    trace: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Exchange:
    """Execute an exchange on a described machine in virtual time, rank r on node r.

    Parameters
    ----------
    machine
        Name of a machine of the catalogue, path of a machine file, or a machine.
    connections, schedule, random, elements
        As for :func:`request`.
    trace
        File for a timeline (Chrome trace JSON).
    force
        Whether to replace a file that exists.

    Raises
    ------
    UsageError
        For a schedule that was edited, that is for another topology, or that does not transfer what the set has; for a
        machine whose file does not say what connections take.
    RunError
        For a run that fails.
    """
    if trace is not None:
        files.check_output(trace, (), force=force)
    described = _machine(machine)
    wanted = request(connections, schedule, random=random, elements=elements)
    seconds, ranks, phases = _core.simulate_exchange(
        described, wanted, trace, None if trace is None else files.warning_of_large(trace)
    )
    return Exchange(tuple(seconds), ranks, phases)


def _machine(machine: str | os.PathLike[str] | Machine) -> Machine:
    if isinstance(machine, Machine):
        return machine
    from weft.catalogue import machine as find

    return find(machine)


def simulate(
    machine: str | os.PathLike[str] | Machine,
    methods: Sequence[str] = tuple(METHODS),
    *,
    pattern: str | os.PathLike[str] | ConnectionSet,
    words: Iterable[int] = (),
    compiler: str = "weft",
    effort: float = 1.0,
    channels: int | None = None,
    seed: int = 0,
    trace: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Measure how long a pattern takes on a described machine, over connections and by messages.

    Parameters
    ----------
    machine
        As for :func:`execute`.
    methods
        `conset`, `messages`, or both.
    pattern
        A named pattern, a file or a connection set, as for :func:`weft.conset.compile`.
    words
        Words on every connection, one run for each; without any, those of the pattern.
    compiler, effort, channels
        As for :func:`weft.conset.compile`.
    seed
        Of the compiler, of random patterns and of random orders.
    trace
        File for a timeline; of one method with one number of words.
    force
        Whether to replace a file that exists.
    progress
        Called with runs done and all runs.

    Returns
    -------
    polars.DataFrame
        Samples with `source` "simulated": `pattern`, `words`, `phases`, `seconds` and, for `conset`, `compiler`.

    Raises
    ------
    UsageError, RunError
        As for :func:`execute`.
    """
    if trace is not None:
        files.check_output(trace, (), force=force)
    described = _machine(machine)
    for method in methods:
        check_method(method)
    lengths: list[int | None] = [*words] or [None]
    if trace is not None and len(lengths) * len(methods) > 1:
        raise UsageError("a timeline shows one run: ask for one of conset and messages, with one number of words")
    rows: list[dict[str, Any]] = []
    runs = [(length, method) for length in lengths for method in methods]
    for done, (length, method) in enumerate(runs):
        connections = connection_set(pattern, described, length, seed)
        schedule = None
        if method == "conset":
            from weft.conset import compile

            schedule = compile(
                connections, described, compiler=compiler, effort=effort, channels=channels, seed=seed, messages=False
            )
        random = seed if schedule is None and connections.name in RANDOM_ORDER else None
        execution = execute(described, connections, schedule, random=random, trace=trace, force=force)
        rows.append(row("simulated", described.name, method, connections, execution, compiler, length, 0))
        if progress is not None:
            progress(done + 1, len(runs))
    return table(rows)


def check_method(method: str) -> None:
    """Refuse what is no benchmark of an exchange."""
    if method not in METHODS:
        raise UsageError(f"'{method}' is no way to exchange; there are {', '.join(METHODS)}")


def connection_set(
    pattern: str | os.PathLike[str] | ConnectionSet, machine: Machine, words: int | None, seed: int
) -> ConnectionSet:
    """The pattern's connection set on a machine, with `words` words on every connection if that is given."""
    if isinstance(pattern, _core.ConnectionSet):
        return pattern if words is None else pattern.with_words(words)
    from weft.conset.patterns import pattern as find

    return find(pattern, machine, words=words, seed=seed)


def row(
    source: str,
    machine: str,
    method: str,
    connections: ConnectionSet,
    execution: Exchange,
    compiler: str,
    words: int | None,
    repetition: int,
) -> dict[str, Any]:
    """One sample: the median of an execution's repetitions."""
    ordered = sorted(execution.seconds)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2.0
    if words is None:
        lengths = {count for _, _, count in connections.connections}
        words = lengths.pop() if len(lengths) == 1 else None
    return {
        "source": source, "machine": machine, "benchmark": method, "ranks": execution.ranks, "repetition": repetition,
        "pattern": connections.name, "words": words, "phases": execution.phases if method == "conset" else None,
        "seconds": median, "compiler": compiler if method == "conset" else None, "iterations": len(ordered),
    }  # fmt: skip


def table(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Samples of rows."""
    from weft.samples import from_rows

    names = (
        "source", "machine", "benchmark", "ranks", "hops", "bytes", "repetition", "pattern", "words", "phases",
        "seconds", "compiler", "iterations",
    )  # fmt: skip
    return from_rows(rows, names)
