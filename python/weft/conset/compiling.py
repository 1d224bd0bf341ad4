"""From a pattern and a machine to a schedule."""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, overload

from weft import _core, catalogue, files, inputs
from weft._core import ConnectionSet, Machine, Schedule, UsageError
from weft.conset import patterns, storing
from weft.conset.patterns import pattern as find_pattern

if TYPE_CHECKING:
    import numpy.typing as npt

    from weft.conset.collectives import Collective

_log = logging.getLogger(__name__)

_MAX_SUMMED = 1 << 21

MAX_MESSAGES = 100_000
"""Of more connections nobody is told what messages take: their simulation would take longer than the compilation."""

METHODS = ("auto", "phases", "messages")
"""How a pattern is carried out: `auto` by what is faster."""

Progress = Callable[[str, float, "int | None", "float | None"], object]


@overload
def compile(
    pattern: str | os.PathLike[str] | ConnectionSet,
    machine: str | Machine,
    *,
    channels: int | None = None,
    link_channels: int | None = None,
    ports: int | None = None,
    access: str | None = None,
    access_time: float | None = None,
    words: int | None = None,
    compiler: str = "weft",
    effort: float = 1.0,
    seed: int = 0,
    phases: int | None = None,
    split: bool = True,
    messages: bool = True,
    method: str = "auto",
    progress: Progress | None = None,
) -> Schedule: ...


@overload
def compile(
    pattern: str,
    *,
    on: str | os.PathLike[str] | Machine,
    bytes: str | int | None = None,
    nodes: Sequence[int] | None = None,
    root: int = 0,
    element_bytes: int = 4,
    method: str = "auto",
    effort: float = 1.0,
    in_network: str | None = None,
    blocks: npt.ArrayLike | None = None,
) -> Collective: ...


def compile(
    pattern: str | os.PathLike[str] | ConnectionSet,
    machine: str | Machine | None = None,
    *,
    channels: int | None = None,
    link_channels: int | None = None,
    ports: int | None = None,
    access: str | None = None,
    access_time: float | None = None,
    words: int | None = None,
    compiler: str = "weft",
    effort: float = 1.0,
    seed: int = 0,
    phases: int | None = None,
    split: bool = True,
    messages: bool = True,
    progress: Progress | None = None,
    on: str | os.PathLike[str] | Machine | None = None,
    bytes: str | int | None = None,
    nodes: Sequence[int] | None = None,
    root: int = 0,
    element_bytes: int = 4,
    method: str = "auto",
    in_network: str | None = None,
    blocks: npt.ArrayLike | None = None,
) -> Schedule | Collective:
    """Compile a connection set for a machine: phases, routes, times, and lower bounds with certificates.

    With `bytes` a collective, by name: trees or paths for its data, with a certificate of their throughput; likewise
    with `blocks`, the bytes of each block of an all-to-all.

    Parameters
    ----------
    pattern
        A connection set, the name of a pattern (`weft compile --patterns` lists them), or a file of connections.
    machine
        A machine of the catalogue by name, a machine file by path, or a machine; it needs a table `[connections]`.
    channels, link_channels, ports
        Logical channels of a node, channels of a link, circuits of a node, in place of the machine file's.
    access, access_time
        `separate` or `shared`, and seconds a word, in place of the machine file's.
    words
        Words of every connection, in place of the pattern's (1 for a named pattern).
    compiler
        `weft`, or `apr` for that of Feldmann, Stricker and Warfel 1993.
    effort
        Nominal seconds of search for something better than the first schedule. Steps are counted, not time, so that the
        same seed gives the same schedule.
    phases
        At most so many phases.
    split
        Whether the words of a connection may be divided among phases.
    messages
        Whether what a message for every connection takes on the machine is simulated too, by its message passing.
    progress
        Called with what is done, the share of the effort spent, and phases and seconds of the best so far.
    method
        `phases`, `messages`, or `auto`: by what the schedule is carried out. Of a collective as for
        :func:`weft.conset.collectives.compile`.
    on, bytes, nodes, root, element_bytes, in_network, blocks
        Of a collective, as for :func:`weft.conset.collectives.compile`.

    Returns
    -------
    Schedule or weft.conset.collectives.Collective
        The best found; the `message_seconds` of a schedule are what plain messages take, its `method` is what execution
        follows. Ctrl-C ends the search and
        keeps the best so far.

    Raises
    ------
    UsageError
        For what cannot be compiled, with the reason.
    RunError
        If it was interrupted before there was any schedule.

    Examples
    --------
    >>> schedule = compile("hypercube", "iwarp64", effort=0)
    >>> schedule.phases, schedule.lower_bounds[0]
    (2, ('channel capacity', 2.0, 'phases'))
    >>> compile("allreduce", on="hgx-h100", bytes="1M").schedule.ranks
    8
    """
    chosen = machine if machine is not None else on
    if chosen is None:
        raise UsageError("expected a machine: compile('hypercube', 'iwarp64'), or on='rail-h100' for a collective")
    if bytes is not None or blocks is not None:
        from weft.conset import collectives

        return collectives.compile(
            str(pattern), chosen, bytes, nodes=nodes, root=root, element_bytes=element_bytes, method=method,
            effort=effort, in_network=in_network, blocks=blocks,
        )  # fmt: skip
    if in_network is not None:
        raise UsageError("in_network is of a collective, whose length is said with bytes")
    if method not in METHODS:
        raise UsageError(f"no method of a pattern is called '{method}'; there are {', '.join(METHODS)}")
    if method == "messages" and not messages:
        raise UsageError("method='messages' with messages=False: what is not simulated is not carried out")
    if isinstance(pattern, str) and pattern in _core.collectives() and pattern not in patterns.names():
        raise UsageError(f"{pattern} is a collective: say how long its buffer is, bytes='1M' for example")
    check_limits(channels, link_channels, ports, phases)
    inputs.unsigned(seed, "seed")
    described = chosen if isinstance(chosen, Machine) else described_machine(chosen)
    connections = (
        pattern if isinstance(pattern, ConnectionSet) else find_pattern(pattern, described, words=words, seed=seed)
    )
    if words is not None and isinstance(pattern, ConnectionSet):
        connections = connections.with_words(inputs.unsigned(words, "words"))
    _log.info("compile %s for %s: %d connections", connections.name, described.name, len(connections))
    schedule, _ = _core.compile_connections(
        connections,
        described,
        channels,
        link_channels,
        ports,
        access,
        access_time,
        compiler,
        effort,
        seed,
        phases,
        split,
        progress,
    )
    if not messages:
        return schedule
    charges_alike = access is None and access_time is None
    return beside_messages(schedule, connections, described, seed=seed, method=method, charges_alike=charges_alike)


def described_machine(on: str | os.PathLike[str], estimand: str | None = None) -> Machine:
    """The machine that connections are compiled for.

    Raises
    ------
    UsageError
        For a graph, which says nothing of channels and of what phases cost, and as :func:`weft.machine` does.

    Examples
    --------
    >>> described_machine("iwarp64").nodes
    64
    """
    if os.fspath(on).endswith(".json"):
        raise UsageError(
            f"{inputs.path_shown(on)}: a graph is for collectives ({', '.join(_core.collectives())}); connections are "
            "compiled for a machine, whose file (.toml) says what phases and messages cost"
        )
    return catalogue.machine(on, estimand)


def check_limits(channels: int | None, link_channels: int | None, ports: int | None, phases: int | None) -> None:
    """Refuse numbers that the compiler's limits cannot have.

    Raises
    ------
    UsageError
        Which one it is, and what it may be.

    Examples
    --------
    >>> check_limits(None, -1, None, None)
    Traceback (most recent call last):
    weft._core.UsageError: link channels: expected a whole number from 0 to 2**32 - 1, found -1
    """
    limits = {"channels": channels, "link channels": link_channels, "ports": ports, "phases": phases}
    for what, value in limits.items():
        if value is not None:
            inputs.unsigned(value, what, 32)


def beside_messages(
    schedule: Schedule,
    connections: ConnectionSet,
    machine: Machine,
    *,
    seed: int = 0,
    method: str = "auto",
    charges_alike: bool = True,
) -> Schedule:
    """The schedule with what a message for every connection takes on the machine, by its message passing.

    It is carried out by `phases`, by `messages`, or by what is faster (`auto`). Of a very large set messages are not
    simulated: the schedule comes back as it is. So it does where it was compiled for accesses other than the machine's
    (not `charges_alike`), which messages would not be charged.

    Raises
    ------
    UsageError
        If messages are asked for and are too many to be simulated, or would be charged other accesses.

    Examples
    --------
    >>> schedule = compile("torus", "iwarp64", words=32, effort=0)
    >>> schedule.faster, schedule.message_seconds > 2 * schedule.predicted_seconds
    ('phases', True)
    """
    from weft.conset import exchange

    if not 0 < len(connections) <= MAX_MESSAGES:
        if method == "messages":
            raise UsageError(
                f"method messages: {len(connections):,} connections; of 1 to {MAX_MESSAGES:,} messages are simulated"
            )
        return schedule
    if not charges_alike:
        if method == "messages":
            raise UsageError("method messages: messages are simulated with the machine's accesses, not with other ones")
        return schedule
    random = seed if connections.name in exchange.RANDOM_ORDER else None
    (seconds,) = exchange.execute(machine, connections, random=random).seconds
    return schedule.beside_messages(seconds, random, method)


def fingerprint(connections: ConnectionSet) -> str:
    """What tells a connection set from others, for journals: its name, its length and a checksum.

    Of one so large that no journal keeps its plans there is no checksum, which would take seconds.
    """
    text = connections.to_json() if len(connections) <= _MAX_SUMMED else ""
    return f"{connections.name}, {len(connections)} connections, {zlib.crc32(text.encode()):08x}"


def read(path: str | os.PathLike[str], verified: bool = True) -> Schedule:
    """A schedule from its file, verified unless that is not wanted.

    Raises
    ------
    UsageError
        If the file is no schedule, was changed after it was written, or breaks a rule: with the reason.
    """
    text = storing.read_text(path, "a schedule in JSON")
    schedule = Schedule.parse(text, inputs.path_shown(path))
    if verified:
        try:
            schedule.verify()
        except UsageError as error:
            raise UsageError(f"{path}: refused: {error}") from error
    return schedule


def write(schedule: Schedule, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a schedule whole or not at all; packed by gzip where the name ends in .gz.

    Raises
    ------
    UsageError
        If the file exists and `force` is not set, or it cannot be written.
    """
    files.check_output(path, (), force=force)
    files.deliver(storing.content(schedule.to_json(), path), path)
