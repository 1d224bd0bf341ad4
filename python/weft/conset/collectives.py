"""Collectives compiled for a machine or a graph, with a certificate that nobody can beat their throughput.

The optimum is that of spanning trees packed into the network (Zhao et al., ForestColl, arXiv 2402.06787): no rank can
distribute more than what leaves a set of vertices, divided by the ranks in it, and trees reach the smallest such ratio.
That of an all-to-all is a multicommodity flow of least congestion, certified by prices of links (Shahrokhi and Matula
1990).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import _core, catalogue, files, inputs, units
from weft._core import CollectiveSchedule, Fabric, Machine, UsageError
from weft.conset import storing

if TYPE_CHECKING:
    import numpy.typing as npt

KIND = "weft collective 1"
"""The `kind` of a file with a compiled collective."""

OPERATORS = ("sum", "product", "maximum", "minimum")
"""What reductions may be: associative and commutative, but for rounding, since trees add in an order of their own."""


IN_NETWORK = {"multicast": (True, False), "reduction": (False, True), "both": (True, True), "none": (False, False)}
"""What switches may do: whether they copy, and whether they add."""


@dataclass(frozen=True)
class Collective:
    """A compiled collective.

    Attributes
    ----------
    schedule
        Trees, paths or rounds of messages, ranges of bytes and certificates, which have been verified.
    predicted
        What :meth:`predict` gives, s.
    described
        The machine that it was compiled for; None for a graph.
    considered
        Form, predicted seconds, and seconds in virtual time where that was looked at, of all that was chosen from.
    interrupted
        Whether Ctrl-C ended the search: the schedule is the best so far.
    unpredicted
        What predictions do not know of the messages, in words: the routes that they take on a graph, say. None where
        they know the routes of the machine and what meets on them, though not when.

    Examples
    --------
    >>> allreduce = compile("allreduce", on="hgx-h100", bytes="1M")
    >>> allreduce.predict() >= allreduce.schedule.bound_seconds
    True
    >>> len(allreduce.considered) > 2
    True
    """

    schedule: CollectiveSchedule
    predicted: float
    described: Machine | None = None
    considered: tuple[tuple[str, float, float | None], ...] = ()
    interrupted: bool = False
    unpredicted: str | None = None

    def predict(self) -> float:
        """Seconds, message by message where that is possible: when each is sent, meets others on links and arrives.

        Of very many messages, and through switches that copy or add, by formulas of latency, message overhead and
        bandwidth of the links, which count what meets there but not when. A schedule's file has those of the formulas,
        `schedule.predicted_seconds`, which the verifier recomputes. Where `unpredicted` is not None, they know less.

        Examples
        --------
        >>> compile("broadcast", on="hgx-h100", bytes="1M").predict() > 0
        True
        """
        return self.predicted

    def simulate(self, *, data: bool = False) -> float:
        """Seconds in virtual time on the machine; with `data` every buffer is compared with what it should be.

        Raises
        ------
        UsageError
            For a collective of a graph, which is no machine that messages could be sent on, and where switches copy or
            add, which virtual time does not know.
        RunError
            If a buffer is wrong, or the run fails.

        Examples
        --------
        >>> compile("allgather", on="hgx-h100", bytes="64K").simulate(data=True) > 0
        True
        """
        if self.described is None:
            raise UsageError(
                f"{self.schedule.machine} is a graph; virtual time needs a machine file, which says what messages cost"
            )
        return self.schedule.simulate(self.described, phantom=not data)

    def execute(self, comm: Any, array: npt.NDArray[Any], operator: str = "sum") -> npt.NDArray[Any] | None:
        """Carry it out over an mpi4py communicator, all ranks together. Ranks stand in for switches that copy or add.

        Parameters
        ----------
        comm
            As many ranks as it was compiled for.
        array
            What this rank has: its shard for an allgather, else a whole buffer, which for an all-to-all has a block for
            each rank. Its dtype has elements of as many bytes as it was compiled for.
        operator
            Of reductions: `sum`, `product`, `maximum` or `minimum`.

        Returns
        -------
        numpy.ndarray
            A new array: the whole buffer, the shard of this rank after a reduce-scatter, or the blocks that all ranks
            had for it after an all-to-all, in their order; None on ranks that a reduce gives nothing to.

        Raises
        ------
        UsageError
            For another number of ranks, another length or dtype, or an operator that is not associative.

        Examples
        --------
        >>> compile("allreduce", on="hgx-h100", bytes="1M").execute(None, None, "difference")
        Traceback (most recent call last):
        weft._core.UsageError: the operator 'difference': ...
        """
        from weft.conset import collective_execution

        if operator not in OPERATORS:
            raise UsageError(
                f"the operator '{operator}': trees add in an order of their own, so it must be associative and "
                f"commutative; there are {', '.join(OPERATORS)}"
            )
        return collective_execution.execute(self.schedule, comm, array, operator)

    def export(self, shape: str = "msccl", path: str | os.PathLike[str] | None = None, *, force: bool = False) -> str:
        """The collective for other runtimes; see :func:`weft.conset.exporting.export_collective`.

        Examples
        --------
        >>> compile("allreduce", on="hgx-h100", bytes="1M").export("msccl").split()[0]
        '<algo'
        """
        from weft.conset import exporting

        return exporting.export_collective(self.schedule, shape, path, force)

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the schedule as JSON, whole or not at all; packed by gzip where the name ends in .gz.

        Raises
        ------
        UsageError
            If the file exists and `force` is not set, or it cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "allgather.json"
        ...     compile("allgather", on="hgx-h100", bytes="1M").write(path)
        ...     read(path).collective
        'allgather'
        """
        files.check_output(path, (), force=force)
        files.deliver(storing.content(self.schedule.to_json(), path), path)


def names() -> tuple[str, ...]:
    """The collectives that are compiled.

    >>> names()
    ('allgather', 'reduce-scatter', 'allreduce', 'broadcast', 'reduce', 'all-to-all')
    """
    return tuple(_core.collectives())


def compile(
    collective: str,
    on: str | os.PathLike[str] | Machine,
    bytes: str | int | None = None,
    *,
    nodes: Sequence[int] | None = None,
    root: int = 0,
    element_bytes: int = 4,
    method: str = "auto",
    effort: float = 1.0,
    in_network: str | None = None,
    blocks: npt.ArrayLike | None = None,
) -> Collective:
    """Compile a collective, and verify it.

    Parameters
    ----------
    collective
        `allgather`, `reduce-scatter`, `allreduce`, `broadcast`, `reduce` or `all-to-all`.
    on
        A machine of the catalogue by name, a machine, a machine file (`.toml`), or a graph file (`.json`) with `nodes`,
        `switches` and `links`, whose `bandwidth` is in bytes a second and `latency` in seconds.
    bytes
        Of the whole buffer, as a number or as `1M`; of an all-to-all of every rank's buffer, which has a block for each
        rank. With `blocks` nothing, or what the longest buffer has at least.
    nodes
        The group: node of each rank. Default: all nodes in order.
    root
        The rank that broadcasts or gets the sum.
    element_bytes
        Bytes of an element; none is divided.
    method
        `throughput`: trees or paths at the certified optimum, for long buffers. `latency`: few messages, each with all
        that goes from one rank to another. `auto`: whatever takes least; on a machine what is predicted to be fast is
        executed in virtual time, of a graph the prediction decides.
    effort
        Nominal seconds of search. With 0 nothing is executed in virtual time, and trees are packed only where nothing
        else distributes the data. Ctrl-C ends the search and keeps the best so far.
    in_network
        What switches do beside passing messages on: `multicast` (they copy), `reduction` (they add), `both` or `none`.
        Default: what the machine file or graph says.
    blocks
        Of an all-to-all with blocks of unlike length, their bytes: a square table of whole numbers, a row for each
        sender and a column for each receiver. Default: as long as each other, but for an element.

    Raises
    ------
    UsageError
        For what cannot be compiled: a group of one, nodes without a path between them, fewer elements than ranks,
        switches that there are not.
    KeyboardInterrupt
        If Ctrl-C came before there was any schedule.

    Examples
    --------
    >>> compiled = compile("allgather", on="rail-h100", bytes="1M", nodes=range(16))
    >>> compiled.schedule.ranks, compiled.schedule.efficiency
    (16, 1.0)
    """
    network, described = fabric(on)
    if in_network is not None:
        if in_network not in IN_NETWORK:
            raise UsageError(
                f"in_network: expected one of {', '.join(IN_NETWORK)}, found '{inputs.quoted(in_network)}'"
            )
        if collective == "all-to-all" and in_network != "none":
            raise UsageError(
                f"in_network '{in_network}': an all-to-all has nothing that switches could copy or add; leave it out"
            )
        network = network.with_switches(*IN_NETWORK[in_network])
    if nodes is not None:
        network = network.with_group([inputs.unsigned(node, "nodes") for node in nodes])
    table = None if blocks is None else _table(blocks)
    if bytes is None:
        if table is None:
            raise UsageError(f"{collective}: expected the length of its buffer: bytes='1M', say")
        bytes = max(map(sum, table), default=0)
    length = units.parse_length(bytes, "bytes") if isinstance(bytes, str) else inputs.unsigned(bytes, "bytes")
    for value, what in ((root, "root"), (element_bytes, "bytes of an element")):
        inputs.unsigned(value, what)
    schedule, predicted, considered, interrupted = _core.compile_collective(
        network, collective, length, element_bytes, root, method, described, effort, table
    )  # fmt: skip
    schedule.verify()
    return Collective(schedule, predicted, described, tuple(considered), interrupted, network.unpredicted)


def _table(blocks: npt.ArrayLike) -> list[list[int]]:
    try:
        table = np.asarray(blocks)
    except ValueError:
        raise UsageError("blocks: expected a square table of bytes, its rows are of unlike length") from None
    if table.ndim != 2 or table.dtype.kind not in "iu" or (table < 0).any():
        what = (
            f"{table.dtype} of shape {table.shape}" if table.dtype.kind not in "iu" or table.ndim != 2 else table.min()
        )
        raise UsageError(f"blocks: expected a square table of bytes, whole numbers of at least 0; found {what}")
    rows: list[list[int]] = table.tolist()
    return rows


def fabric(on: str | os.PathLike[str] | Machine) -> tuple[Fabric, Machine | None]:
    """The network of a machine, and the machine; or that of a graph file, and None.

    Raises
    ------
    UsageError
        For what is neither, with the reason.

    Examples
    --------
    >>> fabric("hgx-h100")[0].ranks
    8
    """
    if not isinstance(on, Machine) and os.fspath(on).endswith(".json"):
        text = inputs.read_text(on, "a graph in JSON", factor=8)
        return Fabric.parse(text, inputs.path_shown(on)), None
    machine = on if isinstance(on, Machine) else catalogue.machine(on)
    return Fabric.of_machine(machine), machine


def read(path: str | os.PathLike[str], verified: bool = True) -> CollectiveSchedule:
    """A compiled collective from its file, verified unless `verified` is false.

    Raises
    ------
    UsageError
        If the file is none or breaks a rule, with the reason.
    """
    text = storing.read_text(path, "a compiled collective in JSON")
    schedule = CollectiveSchedule.parse(text, inputs.path_shown(path))
    if not verified:
        return schedule
    try:
        schedule.verify()
    except UsageError as error:
        raise UsageError(f"{inputs.path_shown(path)}: refused: {error}") from error
    return schedule


def is_one(path: str | os.PathLike[str]) -> bool:
    """Whether a file says that it has a compiled collective; nothing else of it is read."""
    return f'"kind":"{KIND}"'.replace(" ", "") in "".join(storing.begin(path, 256).split())
