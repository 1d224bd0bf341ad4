"""The extension module of weft. Requests and rows cross as JSON: `crates/suite` says what is in them."""

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar, overload

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)
_Array = TypeVar("_Array")

__version__: str

_Storage = tuple[int, Sequence[int], int, Sequence[tuple[int, int]]]
"""Bytes of an element, strides, bytes to the first element, ghosts of each axis."""

class WeftError(Exception):
    """Base of weft's errors; str() is the whole message.

    >>> try:
    ...     weft.machine("ipsc806")
    ... except weft.WeftError as error:
    ...     print(str(error).partition("?")[0])
    unknown machine "ipsc806"; did you mean ipsc860
    """

class UsageError(WeftError):
    """A request that cannot be meant: wrong name, range or combination.

    >>> weft.simulate("ipsc860", "echo", hops=9)
    Traceback (most recent call last):
    weft._core.UsageError: 9 hops: on ipsc860, with 128 nodes, no node is more than 7 hops from node 0
    """

class MachineError(UsageError):
    """A machine description that cannot be read: file, line, key, what was expected.

    >>> weft.Machine.parse("name = 3", "mine.toml")
    Traceback (most recent call last):
    weft._core.MachineError: mine.toml:1: topology: expected a table [topology]; the key is missing from the file
    ...
    """

class DefectError(RuntimeError):
    """A defect of weft: its Rust core has met something that it takes for impossible. The call was given up."""

class RunError(WeftError):
    """A run that failed: deadlock, a missing library, a killed rank.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program = pathlib.Path(folder) / "program.py"
    ...     _ = program.write_text("1 / 0")
    ...     weft.estimate(program, "cm2-8k")
    Traceback (most recent call last):
    weft._core.RunError: ...program.py, line 1: ZeroDivisionError: division by zero
    """

class Machine:
    """A machine description: topology, costs of messages and operations, each with its source.

    `weft.machine(name)` finds one in the catalogue or reads a file. A machine never changes; `with_faults` makes
    another. It can be pickled, notebooks show a table of it, and `plot` draws the time of a message.

    Times are in seconds, lengths in bytes. Nodes, switches and links are numbered from 0. Where messages take turns on
    links, the times here are those of a message that is alone; runs in virtual time (`weft.simulate`) have contention.

    >>> machine = weft.machine("ipsc860")
    >>> machine.title, machine.nodes, machine.message_time(1024, hops=2)
    ('Intel iPSC/860', 128, 0.000591252)
    >>> [machine.link_ends(link) for link in machine.route(0, 3)]
    [('0', '1'), ('1', '3')]
    >>> print(machine.to_toml().splitlines()[0])
    name = "ipsc860"
    """

    @staticmethod
    def parse(text: str, path: str) -> Machine:
        """Reads the text of a machine file; `path` is what messages call it. Raises MachineError."""

    @staticmethod
    def find(name_or_path: str) -> Machine:
        """A machine of the catalogue by name, or a machine file by path. Raises MachineError."""

    @property
    def name(self) -> str:
        """Short name, as on the command line."""

    @property
    def title(self) -> str:
        """Full name."""

    @property
    def nodes(self) -> int:
        """How many nodes it has."""

    def with_faults(self, faults: list[str]) -> Machine:
        """The same with hardware that is worse than described, in runs in virtual time. Raises UsageError.

        `node:17=0.8`, `link:3-4=0.5` (both ways), `link:3>4=0.5`, `link:s2-s40=0` (switches; dead), `noise=0.05`.

        >>> slow = weft.Machine.find("ipsc860").with_faults(["node:1=0.5"])
        >>> times = [weft.simulate(each, "echo", bytes=8)["seconds"].item() for each in (slow, "ipsc860")]
        >>> times[0] > 1.2 * times[1]
        True
        """

    @property
    def faults(self) -> list[str]:
        """What `with_faults` was given, in order."""

    def with_estimand(self, estimand: str) -> Machine:
        """The same with costs of messages that estimate `undisturbed` or `typical` times. Raises UsageError.

        What `weft study` writes has both: what the machine takes where no other program disturbs it, and the medians
        over all launches. Without this the costs are those of the file's own tables.

        >>> text = weft.machine("ipsc860").to_toml().replace("[topology]", 'estimand = "typical"\\n[topology]', 1)
        >>> typical = weft.Machine.parse(text, "mine.toml")
        >>> typical.with_estimand("typical").estimand, typical.estimands
        ('typical', ['typical'])
        >>> typical.with_estimand("undisturbed")
        Traceback (most recent call last):
        weft._core.UsageError: the file of ipsc860 has no estimate of undisturbed times: ...
        """

    @property
    def estimand(self) -> str | None:
        """Which times its costs of messages estimate: `undisturbed` or `typical`; None where its file does not say."""

    @property
    def estimands(self) -> list[str]:
        """Those that `with_estimand` takes, its own first; empty where its file does not say."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the time of a message against its length for near and far nodes, on axes of matplotlib.

        Raises UsageError without matplotlib, and for a data-parallel machine, whose nodes pass no messages.
        """

    def route(self, from_node: int, to_node: int) -> list[int]:
        """The links of the route from one node to another, in order. Raises UsageError."""

    def link_ends(self, link: int) -> tuple[str, str]:
        """Where a link starts and ends: each a node as `3` or a switch as `s3`. Raises UsageError."""

    def message_time(self, bytes: int, hops: int) -> float:
        """Seconds of a message of `bytes` bytes over `hops` links when idle; 0: to itself. Raises UsageError."""

    def self_time(self, bytes: int) -> float:
        """Seconds of a message of `bytes` bytes from a node to itself. Raises UsageError."""

    def host_time(self, bytes: int) -> float | None:
        """Seconds of a message of `bytes` bytes between node 0 and the host; None if the machine has no host."""

    def to_toml(self) -> str:
        """As a machine file."""

    def to_json(self) -> str:
        """As JSON."""

class Blocks:
    """The blocks of an array over ranks."""

    def __init__(
        self,
        shape: Sequence[int],
        ranks: int,
        weights: Sequence[float],
        serial: Sequence[int],
        order: Sequence[str | None],
        grid: Sequence[int] | None,
    ) -> None:
        """Divides a shape over ranks; an order is "news", "send" or None. Raises UsageError."""

    @property
    def grid(self) -> list[int]:
        """The ranks of each axis."""

    @property
    def block(self) -> list[int]:
        """The shape of a full block."""

    @property
    def order(self) -> list[str]:
        """The order of each axis: "news" or "send"."""

    def coordinates(self, rank: int) -> list[int]:
        """The coordinates of a rank's block."""

    def rank_of(self, coordinates: Sequence[int]) -> int:
        """The rank of the block at some coordinates."""

    def local_shape(self, rank: int) -> list[int]:
        """The shape of what a rank has."""

    def start(self, rank: int) -> list[int]:
        """The first element of a rank's block."""

    def owner(self, element: Sequence[int]) -> tuple[int, list[int]] | None:
        """The rank that has an element and its index there; None outside of the array."""

    def element(self, rank: int, local: Sequence[int]) -> list[int] | None:
        """The element at an index of a rank's block; None for padding."""

    def neighbour(self, rank: int, axis: int, step: int, circular: bool) -> int | None:
        """The rank next to one along an axis; None at an end."""

class Ranks:
    """The ranks that exchange: those of an MPI run, or this process alone."""

    @staticmethod
    def alone() -> Ranks:
        """This process alone: no MPI is loaded."""

    @staticmethod
    def launched(default_library: str, describe: Callable[[list[int]], list[str]]) -> Ranks:
        """All ranks of the MPI run; `describe` gives calls in words, by their digests. Collective. Raises RunError."""

    @staticmethod
    def of_handle(handle: int, default_library: str, describe: Callable[[list[int]], list[str]]) -> Ranks:
        """The ranks of a communicator of the MPI library that this process uses, by its handle. Collective."""

    @property
    def rank(self) -> int:
        """This rank."""

    @property
    def size(self) -> int:
        """How many there are."""

    def agree(self, error: str | None, call: int, digest: int, what: str) -> None:
        """Lets all ranks know of an error of any, and that all ask for the same: `call` is the digest of the call,
        `digest` that of what this rank asks for. Collective. Raises UsageError."""

    def meet(self, call: int) -> None:
        """Begins a call of this digest in which every rank hears that all others do. Collective. Raises UsageError."""

    def enter(self, call: int) -> None:
        """Begins a call of this digest, in which ranks meet by their messages only. Raises UsageError."""

    def look(self, waited: float) -> None:
        """Looks for what other ranks say, where this one has waited so long (s) in its call. Raises UsageError."""

    @property
    def is_in_virtual_time(self) -> bool:
        """Whether a simulator stands in for the network."""

    def await_request(self, handle: int) -> None:
        """In virtual time: waits until the request with this handle, which stays a request, is complete, or no rank can
        go on and the others have said where they are. Raises UsageError."""

    def refuse(self) -> None:
        """What came from another rank shows that it is in another call: all are told. Raises UsageError."""

    @property
    def is_broken(self) -> bool:
        """Whether ranks were found in different calls for good."""

    def scatter(
        self, blocks: Blocks, root: int, whole: tuple[Memory | None, Sequence[int]], storage: _Storage, own: Memory
    ) -> None:
        """Divides an array that the root has, in memory with strides, over the ranks, each of which has memory for its
        block. Collective. Raises UsageError, RunError."""

    def gather(
        self, blocks: Blocks, root: int, whole: tuple[Memory | None, Sequence[int]], storage: _Storage, own: Memory
    ) -> None:
        """Puts the blocks of all ranks together in an array that the root has. Collective. Raises UsageError,
        RunError."""

    def broadcast(self, root: int, memory: Memory) -> None:
        """Gives all ranks the bytes that the root has in memory, each in its own. Collective. Raises UsageError,
        RunError."""

    def exchange_sorted(self, memory: Memory, lengths: Sequence[int], call: int) -> tuple[bytes, list[int]]:
        """As `exchange`, of parts that lie in memory one after another, so many bytes for each rank; what comes lies
        one after another too. Returns it with as many lengths. Collective. Raises UsageError, RunError."""

    def exchange(self, parts: Sequence[bytes], call: int) -> list[bytes]:
        """Gives every rank its part of these, in rank order, and returns what each has for this one; `call` is the
        digest of the call. Collective. Raises UsageError, RunError."""

class Memory:
    """The memory of a numpy array, which stays where it is while this exists; of a view also what its base has."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        """Raises UsageError for what is no numpy array."""

class Division:
    """How a grid is divided over ranks, axis by axis into blocks of equal extents but the last ones."""

    def __init__(
        self,
        shape: Sequence[int],
        block: Sequence[int],
        cells: Sequence[int],
        ranks: Sequence[int],
        extents: Sequence[int],
    ) -> None:
        """Extents of the grid, of a block and of the grid of ranks; the rank of each of its cells in C order; and the
        extents of each rank's block, one rank after another. Raises UsageError where these do not fit each other."""

class SendWorkspace:
    """Memory that large sends sort their messages in, kept from one to the next."""

    def __init__(self, bytes: int) -> None:
        """Raises MemoryError."""

    @property
    def nbytes(self) -> int:
        """Its bytes."""

class ArrayExchange:
    """One rank's exchange, set up: any number of calls of begin and end."""

    def __init__(
        self,
        ranks: Ranks,
        blocks: Blocks,
        arrays: Sequence[_Storage],
        shifts: Sequence[tuple[int, int, int, int, str, bytes]],
        halos: Sequence[tuple[int, Sequence[tuple[int, int]], Sequence[tuple[str, bytes]], str]],
        number: int,
        digest: int,
    ) -> None:
        """Sets an exchange up: shifts (source, result, axis, by, boundary, its bytes), or halos (array, widths, edges,
        corners) where there are no shifts; `digest` is that of a call of it. Collective. Raises UsageError,
        RunError."""

    @property
    def messages(self) -> int:
        """Messages that this rank sends in one exchange."""

    @property
    def sent_bytes(self) -> int:
        """Bytes that this rank sends to others in one exchange."""

    @property
    def local_bytes(self) -> int:
        """Bytes that this rank copies for itself in one exchange."""

    @property
    def transport(self) -> str:
        """What messages go by."""

    @property
    def active(self) -> bool:
        """Whether it has begun and not ended."""

    def read_boundaries(self, memories: Sequence[Memory]) -> None:
        """Takes over what its boundary arrays hold now, whose elements are in this memory in C order. Raises
        UsageError."""

    def begin(self, memories: list[Memory]) -> None:
        """Packs and sends, for arrays in this memory. Raises UsageError, RunError."""

    def end(self) -> None:
        """Completes it. Raises UsageError, RunError."""

class DistributedStencil:
    """One rank's stencil of distributed arrays, set up for arrays that lie in one way; results may lie in others.

    Points are offsets with a number, or with the memory of the rank's own coefficients, their strides in elements, and
    whether each element of a site has its own.
    Boundaries are None (circular), a number, or an array for the block and its ghosts. Collective. Raises UsageError,
    RunError.
    """

    def __init__(
        self,
        ranks: Ranks,
        blocks: Blocks,
        storage: _Storage,
        first: int,
        single: bool,
        real: Sequence[tuple[Sequence[int], Any]],
        imaginary: Sequence[tuple[Sequence[int], Any]],
        boundaries: Sequence[Any],
        reach: Sequence[tuple[int, int]],
        circular: Sequence[bool],
        components: int,
        threads: int,
        steps_per_exchange: int,
        number: int,
        digest: int,
    ) -> None: ...
    def layout(self, storage: _Storage) -> int:
        """Another way in which results may lie; its number for `run`. Raises UsageError."""

    def run(
        self, source: Memory, between: tuple[Memory | None, Memory | None], target: Memory, layout: int, steps: int
    ) -> None:
        """Applies it `steps` times, from the array in the memory `source` to the one in `target`, which lies as layout
        `layout` says; with several steps by way of two arrays that lie as the source does. Where a signal ends it, the
        arrays hold anything. Raises UsageError, RunError."""

    @property
    def summary(self) -> str:
        """What a step sends, and what it computes when."""

    def explain(self) -> str:
        """How the sites are computed, in words."""

class Fabric:
    """A network that collectives are compiled for: ranks, switches, links with bandwidth and latency.

    >>> from weft._core import Fabric
    >>> Fabric.of_machine(weft.machine("hgx-h100"))
    <weft network hgx-h100: 8 ranks, ...>
    """

    @staticmethod
    def of_machine(machine: Machine) -> Fabric:
        """The network of a described machine. Raises UsageError."""

    @staticmethod
    def parse(text: str, path: str) -> Fabric:
        """The network whose JSON `text` is; `path` is what messages call it. Raises UsageError."""

    def with_group(self, nodes: Sequence[int]) -> Fabric:
        """The same network with these nodes only, as ranks in this order. Raises UsageError."""

    def with_switches(self, multicast: bool, reduction: bool) -> Fabric:
        """The same network, all of whose switches copy, add, do both or neither; of a whole network, before a group is
        chosen. Raises UsageError."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def ranks(self) -> int:
        """How many ranks it has."""

    @property
    def unpredicted(self) -> str | None:
        """What predictions do not know of the messages that cross it, in words; None where they know the routes and
        what meets on them."""

class CollectiveSchedule:
    """A compiled collective: trees or paths, each with a range of bytes, or rounds of messages.

    :func:`weft.conset.compile` makes them.

    >>> schedule = weft.conset.compile("allgather", on="hgx-h100", bytes="1M").schedule
    >>> schedule.ranks, schedule.bytes, schedule.efficiency
    (8, 1048576, 1.0)
    """

    @staticmethod
    def parse(text: str, path: str) -> CollectiveSchedule:
        """The schedule whose JSON `text` is; `path` is what messages call it. Nothing but the form is checked. Raises
        UsageError."""

    def to_json(self) -> str:
        """The schedule as JSON."""

    def verify(self) -> None:
        """Checks every rule and the certificate with code of its own. Raises UsageError with the first rule that is
        broken."""

    @property
    def collective(self) -> str:
        """What ranks do together: `allgather`, say."""

    @property
    def machine(self) -> str:
        """Name of the machine or graph."""

    @property
    def ranks(self) -> int:
        """Number of ranks."""

    @property
    def bytes(self) -> int:
        """Bytes of the whole buffer."""

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""

    @property
    def root(self) -> int | None:
        """The root of a broadcast or reduction."""

    @property
    def predicted_seconds(self) -> float:
        """Predicted seconds."""

    @property
    def bound_seconds(self) -> float:
        """Seconds below which no schedule of the same stages is; of an exchange, none that sends elements and sums
        each on its own."""

    @property
    def efficiency(self) -> float:
        """Throughput in parts of the certified optimum."""

    @property
    def trees(self) -> int:
        """Trees of all stages, also those that are written as movements of others."""

    @property
    def merged(self) -> bool:
        """Whether it is of trees, and all that goes from one rank to another is one message, in every stage."""

    @property
    def form(self) -> str:
        """What people call the way in which it is done: `trees`, `merged trees`, `packed paths`, or an algorithm such
        as `recursive halving`."""

    @property
    def has_switches(self) -> bool:
        """Whether switches copy or add in its trees."""

    @property
    def messages(self) -> int:
        """How many messages its execution sends."""

    @property
    def rounds(self) -> int:
        """How many rounds an exchange has; 0 for trees."""

    @property
    def exchange_cut(self) -> list[str]:
        """The vertices on the smaller side of the cut that limits an exchange, or in it if there are others; also of
        trees that reduce and copy at the same time. None for other trees."""

    @property
    def exchange_others(self) -> int:
        """How many sets beside that cut the bound has: between them elements are brought together and spread again. 0
        where the cut alone is the bound."""

    @property
    def blocks(self) -> list[list[int]] | None:
        """Of an all-to-all with blocks of unlike length, their bytes by source and destination; otherwise None."""

    @property
    def priced_links(self) -> list[tuple[str, str, float]]:
        """The links whose prices certify the bound of an all-to-all: names of both ends, and the part of the bound that
        each earns, the largest first. None of other collectives.

        >>> weft.conset.compile("all-to-all", on="hgx-h100", bytes="1M").schedule.priced_links[0][2]
        0.0625
        """

    @property
    def stages(self) -> list[tuple[str, int, float, float, list[str]]]:
        """Of each stage: what it does, pieces of a tree's bytes, rate and its bound in bytes a second of each root (of
        the buffer where it reduces and copies at the same time), and the vertices on the smaller side of the cut that
        certifies it (none there, which `exchange_cut` has)."""

    def simulate(self, machine: Machine, phantom: bool = True) -> float:
        """Executes it in virtual time on the machine that it was compiled for: seconds. Raises UsageError, RunError."""

    def run_threads(self, iterations: int = 1) -> list[float]:
        """Executes it with threads as ranks and compares every buffer: seconds of each time. Raises UsageError,
        RunError."""

def collectives() -> list[str]:
    """The names of the collectives that are compiled.

    >>> from weft._core import collectives
    >>> collectives()[:2]
    ['allgather', 'reduce-scatter']
    """

def compile_collective(
    fabric: Fabric,
    collective: str,
    bytes: int,
    element_bytes: int = 4,
    root: int = 0,
    method: str = "auto",
    machine: Machine | None = None,
    effort: float = 1.0,
    blocks: list[list[int]] | None = None,
) -> tuple[CollectiveSchedule, float, list[tuple[str, float, float | None]], bool]:
    """Compiles a collective of `bytes` bytes for a network. `method` is `auto` for what is fastest, `throughput`, or
    `latency`.

    With the `machine` that the network is of, what is predicted to be fast is executed in virtual time, and the fastest
    is taken; otherwise predictions decide. `effort` is nominal seconds of search. Beside the schedule: its
    predicted seconds; what was considered, as form, predicted seconds, and seconds in virtual time where that was
    looked at; and whether Ctrl-C ended the search, which keeps the best so far. `blocks` are the bytes of each block of
    an all-to-all, by source and destination, where they are of unlike length. Raises UsageError, RunError.

    >>> from weft._core import Fabric, compile_collective
    >>> compile_collective(Fabric.of_machine(weft.machine("hgx-h100")), "allreduce", 1 << 20)[0]
    <weft allreduce on hgx-h100: 8 ranks, ...>
    """

class ConnectionSet:
    """A set of connections between nodes: (source, destination, words) each, and orders between them by index.

    `nodes` are numbered from 0. A word has as many bytes as the machine says that it is compiled for. An order
    `(first, second)` says by index that connection `first` must be finished before connection `second` starts.
    Connections may occur twice. `weft.conset.compile` makes a schedule of a set, `weft.conset.pattern` finds named sets
    and reads files. A set never changes; it can be pickled, and notebooks show its connections.

    Raises UsageError for connections of a node to itself or to a missing node, for those without words, and for orders
    that form a cycle.

    >>> pair = weft.conset.ConnectionSet(4, [(0, 1, 8), (1, 2, 8)], name="pair")
    >>> pair.with_words(2).connections
    [(0, 1, 2), (1, 2, 2)]
    """

    def __init__(
        self,
        nodes: int,
        connections: Sequence[tuple[int, int, int]],
        name: str = "connections",
        orders: Sequence[tuple[int, int]] = (),
    ) -> None: ...
    @staticmethod
    def named(name: str, machine: Machine, words: int = 1, seed: int = 0) -> ConnectionSet:
        """A named pattern between the nodes of a machine, `words` words on every connection. Raises UsageError."""

    @staticmethod
    def from_json(text: str) -> ConnectionSet:
        """The set that `to_json` wrote. Raises UsageError."""

    def to_json(self) -> str:
        """The set as JSON: name, nodes, connections, orders."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def nodes(self) -> int:
        """How many nodes there are."""

    @property
    def connections(self) -> list[tuple[int, int, int]]:
        """Source, destination and words of each connection."""

    @property
    def orders(self) -> list[tuple[int, int]]:
        """Pairs of connections, by index, of which the first must be finished before the second starts."""

    def with_words(self, words: int) -> ConnectionSet:
        """The same with `words` words on every connection. Raises UsageError."""

    def placed(self, machine: Machine, seed: int = 0) -> tuple[ConnectionSet, list[int]]:
        """The set with its parts placed so that words cross few links, and the node of each part."""

    def __len__(self) -> int: ...

class Schedule:
    """Phases of connections with routes and times; `weft.conset.compile` makes them.

    In a phase no link, processor or port serves more connections than the machine lets it, and a phase begins when the
    one before has ended everywhere. Times are in seconds. `lower_bounds` say what no schedule of phases can be below;
    where `optimal` names something, this one is there. `to_json` is the schedule file, which `verify` checks with code
    of its own. A schedule never changes; it can be pickled, notebooks show its first phase, and `plot` draws all.

    >>> schedule = weft.conset.compile("transpose", "iwarp64", effort=0)
    >>> schedule.verify()
    >>> weft.conset.Schedule.parse(schedule.to_json(), "schedule.json").phases
    1
    """

    @staticmethod
    def parse(text: str, path: str) -> Schedule:
        """The schedule whose JSON `text` is; only the form is checked, `path` is for messages. Raises UsageError."""

    def to_json(self, written_out: bool = False) -> str:
        """The schedule as JSON.

        Transfers of large symmetric sets on tori are kept as orbits of translations; with `written_out` each is there
        on its own. Raises UsageError where there is no memory for that.
        """

    def verify(self, connections: ConnectionSet | None = None) -> None:
        """Checks every rule and every lower bound, against the connection set too where it is given.

        Raises UsageError with the first rule that is broken.
        """

    @property
    def machine(self) -> str:
        """Name of the machine."""

    @property
    def pattern(self) -> str:
        """Name of the connection set."""

    @property
    def phases(self) -> int:
        """Number of phases."""

    @property
    def predicted_seconds(self) -> float:
        """Seconds of all phases together, from when all nodes are ready until all know that all are through."""

    @property
    def message_seconds(self) -> float | None:
        """Seconds that a message for every connection takes on the machine; None where nobody has simulated it."""

    @property
    def faster(self) -> str | None:
        """What is faster: `phases` or `messages`; None where it is not known."""

    @property
    def optimal(self) -> list[str]:
        """What the schedule has as little of as a lower bound proves to be least: `phases`, `seconds`, both or neither.

        Seconds are the least of schedules of phases; messages may take less.
        """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the connections of each phase over its time, and bounds, on axes of matplotlib.

        Raises UsageError without matplotlib.
        """

    @property
    def method(self) -> str:
        """How it is carried out: by `phases` or by `messages`."""

    def beside_messages(self, seconds: float, seed: int | None = None, method: str = "phases") -> Schedule:
        """The same schedule beside what messages take, in seconds, in a random order where there is a `seed`; carried
        out by `phases`, by `messages`, or by what is faster (`auto`). Raises UsageError."""

    @property
    def link_load_sum(self) -> int:
        """The sum over the phases of the most connections on one link."""

    @property
    def lower_bounds(self) -> list[tuple[str, float, str]]:
        """Lower bounds: name, value, unit (`phases` or `s`)."""

    def __len__(self) -> int: ...

def patterns() -> str:
    """The named patterns as a JSON list: `name`, `summary`."""

def compile_connections(
    connections: ConnectionSet,
    machine: Machine,
    channels: int | None = None,
    link_channels: int | None = None,
    ports: int | None = None,
    access: str | None = None,
    access_time: float | None = None,
    compiler: str = "weft",
    effort: float = 1.0,
    seed: int = 0,
    phases: int | None = None,
    split: bool = True,
    progress: Callable[[str, float, int | None, float | None], object] | None = None,
    kept: str | None = None,
    improved: Callable[[str], object] | None = None,
) -> tuple[Schedule, bool]:
    """Compiles a connection set for a machine; the schedule, and whether Ctrl-C ended the search.

    `improved` is called with every plan that is better than all before it, in JSON; `kept` goes on from one.

    Raises UsageError, RunError.
    """

class MpiDiagnosis:
    """Tells a deadlock or a mismatch from slowness by what the ranks of a job say of themselves."""

    def __init__(self) -> None: ...
    def feed(self, line: str, now: float) -> bool:
        """One line of a job's output that came at `now` (s, any clock that goes forward); whether it is a report."""

    def verdict(self, now: float) -> str | None:
        """Why the job must be ended, if that is certain at `now`."""

    def processes(self) -> list[tuple[int, int, str]]:
        """The processes of the ranks that have started: rank, process number, host."""

    def died(self, rank: int, now: float, how: str | None = None) -> None:
        """The process of this rank was seen to end at `now`, in this way if the system told."""

    def ended(self, exit_code: int) -> str:
        """Why a job failed whose launcher ended with this code."""

class ShiftPlan:
    """Shifts planned for arrays of one shape and dtype; `weft.shifts.ShiftPlan` is what people use."""

    def __new__(
        cls,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        shifts: Sequence[tuple[int, int, Any, int]],
        threads: int | None = None,
        elsewhere: bool = False,
    ) -> Self:
        """Shifts are axis, distance, edge (None: circular, bytes: a constant element, an array), source. `elsewhere`:
        calls go to `_elsewhere`. Raises UsageError."""

    @overload
    def __call__(
        self, *sources: NDArray[_Scalar], out: Sequence[NDArray[_Scalar]] | None = None
    ) -> tuple[NDArray[_Scalar], ...]: ...
    @overload
    def __call__(
        self, *sources: Sequence[Any], out: Sequence[NDArray[Any]] | None = None
    ) -> tuple[NDArray[Any], ...]: ...
    @overload
    def __call__(self, *sources: _Array, out: Sequence[_Array] | None = None) -> tuple[_Array, ...]:
        """Shifts the sources into `out` or new arrays: one for each shift. Raises UsageError."""

    def bind(self, *sources: np.ndarray[Any, Any], out: Any = None) -> BoundShifts:
        """Checks numpy arrays once, for calls without checks. Raises UsageError."""

    def summary(self) -> str:
        """What calls with C-ordered arrays do, as JSON. Raises UsageError."""

    def release(self) -> None:
        """Gives back what the plan holds; further calls, also of what was bound, raise UsageError."""

    @property
    def released(self) -> bool:
        """Whether it has been released."""

class BoundShifts:
    """A plan bound to its arrays."""

    def __call__(self) -> tuple[Any, ...]:
        """Shifts the arrays again and returns the outputs. Raises UsageError when the plan has been released."""

    @property
    def sources(self) -> tuple[Any, ...]:
        """The arrays that are shifted."""

    @property
    def out(self) -> tuple[Any, ...]:
        """The arrays that come out."""

    @property
    def copied_first(self) -> int:
        """How many arrays are copied at each call because an output overlaps them."""

class StencilPlan:
    """A stencil prepared for arrays of one shape and type. Raises UsageError."""

    def __init__(
        self,
        extents: Sequence[int],
        single: bool,
        points: Sequence[tuple[Sequence[int], Any]],
        boundaries: Sequence[Any],
        components: int = 1,
        steps: int = 1,
        threads: int = 1,
        steps_at_once: int | None = None,
    ) -> None: ...
    def apply(self, x: Any, out: Any) -> None:
        """Computes `out` from `x`. Raises UsageError when they do not fit or share memory."""

    def apply_region(self, x: Any, out: Any, region: Sequence[tuple[int, int]]) -> None:
        """Computes the sites `region` (first and one past the last along each axis) of `x` into `out`, which has its
        extents. Raises UsageError."""

    def bind(self, x: Any, out: Any) -> BoundStencil:
        """A call with these arrays, checked once. Raises UsageError."""

    def explain(self) -> str:
        """What will be done, in words."""

    def bytes(self) -> int:
        """Bytes that one step must move at least."""

class BoundStencil:
    """A plan with its arrays: calling it computes the result."""

    def __call__(self) -> None: ...

def stencil_ghosts(
    blocks: Blocks, rank: int, first: int, reach: Sequence[tuple[int, int]], circular: Sequence[bool]
) -> list[tuple[int, int]]:
    """Ghosts before and after a rank's block along the axes of a stencil's grid, which begin with `first`."""

def benchmarks() -> str:
    """Every benchmark as a JSON list."""

def parameters() -> tuple[str, list[str]]:
    """Every parameter as a JSON list: `name`, `kind`, `help`, `unit`, `least`, `greatest`, `default`, `column`; and the
    names of those that all benchmarks of messages take."""

def halo_messages(shape: Sequence[int], ranks: int) -> list[int]:
    """The bytes of the messages that each rank sends in one exchange of ghosts. Raises UsageError."""

def stencil_work(shape: Sequence[int], ranks: int) -> tuple[list[int], tuple[int, int], int, int]:
    """What each rank does in one step of the benchmark `stencil`: bytes of its messages, bytes copied into messages and
    otherwise, sites that need no ghosts, and the others. Raises UsageError."""

def check_request(request_json: str) -> None:
    """Checks all of a request that can be checked without a machine. Raises UsageError."""

def shown(text: str) -> str:
    """A piece of input as messages show it: control characters escaped, at most 80 characters of it."""

def message(text: str) -> str:
    """A whole message fit to be printed: line ends stay, other control characters are escaped, long lines are cut."""

def available_memory() -> tuple[int, str] | None:
    """Bytes that this process may still take, and what sets the limit; None where that cannot be found out."""

def require_memory(needed: int, what: str, advice: str) -> None:
    """Refuses what takes about `needed` bytes where so much cannot be had. Raises UsageError with both figures."""

def catalogue() -> list[str]:
    """Names of the catalogue's machines."""

def simulate(
    machine: Machine,
    request_json: str,
    trace_path: str | os.PathLike[str] | None = None,
    seed: int = 0,
    before_writing: Callable[[int], object] | None = None,
) -> str:
    """Runs a request in virtual time; rows as JSON. `before_writing` takes the length of the timeline in bytes.

    Rows of a machine with routers have `waiting`: how many times what they would have taken alone the messages took.

    Raises UsageError, RunError, and what `before_writing` raises.
    """

def simulate_pairs(
    machine: Machine, request_json: str, seed: int = 0
) -> tuple[tuple[list[int], list[int], list[int], list[float]], float]:
    """Runs the benchmark `pairs` in virtual time: sender, receiver, bytes and seconds of every pair, and what it took.

    Raises UsageError, RunError.
    """

def shift_times(
    machine: Machine,
    subgrid: list[int],
    element_bytes: int,
    shifts: list[tuple[int, int]],
    send_axes: list[int] = ...,
    padded_axes: list[int] = ...,
) -> str:
    """What shifts (axis, distance) of an array cost on a data-parallel machine, planned and one by one; JSON.

    Raises UsageError.
    """

def flit_latency(machine: Machine, request_json: str) -> str:
    """Latency and accepted traffic of a network of routers at one load; JSON.

    The request has `load`, `vcs`, `buffer`, `packet`, `tail_credit`, `credit_cycles`, `traffic`, `routing`, `level`,
    `cycles` and `seed`. Raises UsageError.
    """

def route_combining(machine: Machine, destinations: list[int]) -> tuple[int, int, int]:
    """Cycles, steps and overflow of the router when every processor sends to its destination; -1 sends nothing.

    Raises UsageError.
    """

def array_elementwise(
    operation: str,
    operands: Sequence[np.ndarray[Any, Any]],
    out: np.ndarray[Any, Any],
    selection: np.ndarray[Any, Any] | None = None,
    threads: int | None = None,
) -> bool:
    """Applies an operation, by its name in the Python array API, to the elements of one or two arrays.

    All `array_…` functions work on numpy arrays that are dense in C order, of bool, int8 to int64, uint8 to uint64,
    float32 and float64, and write into `out`. Elements that are not selected keep what `out` holds. `threads` None: as
    many as there are processors where the arrays are large, else one; at most 1024. Results do not depend on it.

    Another thread may write the arrays meanwhile: results are of any values then, and nothing outside is read or
    written. Where a signal ends a long call, `out` holds anything.

    Operations: add subtract multiply divide floor_divide remainder hypot (these four of floats) maximum minimum
    bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor equal
    not_equal less less_equal greater greater_equal; of one array: copy negative abs square sign sqrt floor ceil trunc
    round bitwise_invert logical_not isnan isinf isfinite, and sin and cos of float64. Operands have one dtype and the
    shape of `out`, or one element; the results have their dtype, of comparisons and tests bool. An operand may be `out`
    itself, but of operations with a domain. Integers wrap around. Raises UsageError.

    Returns whether all operands were in the operation's domain; if not, selected elements of `out` hold anything. Sines
    and cosines are of angles up to 2^20; quotients must be below 2^51 (of float32 2^22) and their operands finite;
    `hypot` is of numbers of which the larger is between 2^-400 and 2^500, and of zeros (of float32, of all whose result
    is finite). Other operations are of all numbers.
    """

def array_choose(
    condition: np.ndarray[Any, Any],
    x: np.ndarray[Any, Any],
    y: np.ndarray[Any, Any],
    out: np.ndarray[Any, Any],
    threads: int | None = None,
) -> None:
    """The element of `x` where a boolean condition holds, else that of `y`, into `out`.

    `x` and `y` have the dtype of `out`, and its shape or one element. `out` is none of the others. Raises UsageError.
    """

def array_reduce(
    x: np.ndarray[Any, Any],
    combination: str,
    selection: np.ndarray[Any, Any] | None = None,
    threads: int | None = None,
) -> bool | int | float | None:
    """The selected elements combined: add multiply max min, logand logior logxor (integers, bool), and or (bool).

    Sums and products of integers have 64 bits and wrap around, those of float32 are of float64. None: the largest or
    smallest of nothing. Raises UsageError.
    """

def array_reduce_axis(
    x: np.ndarray[Any, Any],
    out: np.ndarray[Any, Any],
    combination: str,
    axis: int,
    selection: np.ndarray[Any, Any] | None = None,
    threads: int | None = None,
) -> int:
    """Gives all elements of each line along an axis what the selected ones of it come to, whoever is selected.

    Combinations as for `array_reduce`. Sums and products of integers, and the sum of booleans, have 64 bits: `out` is
    of int64 or uint64, else of the dtype of `x`. Lines of which nothing is selected come to what changes nothing; of
    the largest or smallest, returns how many those are. The order of combination is fixed by the indices of elements.
    Raises UsageError.
    """

def array_scan(
    x: np.ndarray[Any, Any],
    out: np.ndarray[Any, Any],
    combination: str,
    axis: int = 0,
    segments: np.ndarray[Any, Any] | None = None,
    selection: np.ndarray[Any, Any] | None = None,
    exclusive: bool = False,
    downward: bool = False,
    threads: int | None = None,
) -> None:
    """Gives each element the combination of those before it along an axis and, unless `exclusive`, itself.

    Combinations as for `array_reduce` (but no add of bool), and copy: the first. `downward`: from high to low indices.
    `segments`: True at the lowest index of each segment, whichever way the scan goes and whether it is selected or not;
    nothing beyond its segment counts. Elements that are not selected do not count. `x` may be `out` itself. The order
    of combination is fixed by the indices of elements. Raises UsageError.
    """

def array_spread(
    x: np.ndarray[Any, Any],
    out: np.ndarray[Any, Any],
    axis: int,
    index: int,
    selection: np.ndarray[Any, Any] | None = None,
    threads: int | None = None,
) -> None:
    """Gives each element of `out` the one of `x` at `index` along the axis and the same index otherwise.

    Raises UsageError.
    """

def array_addresses(
    coordinates: Sequence[np.ndarray[Any, Any]],
    strides: Sequence[int],
    first: int,
    out: np.ndarray[Any, Any],
    threads: int | None = None,
) -> None:
    """Gives each element of `out`, of int64, the sum of `first` and of its coordinates times their strides.

    Coordinates are integers of any length; sums are modulo 2**64. Raises UsageError.
    """

def array_rank(
    x: np.ndarray[Any, Any],
    out: np.ndarray[Any, Any],
    descending: bool = False,
    selection: np.ndarray[Any, Any] | None = None,
) -> int:
    """Gives each selected element of `out` (int32 or int64) the rank of that of `x` among the selected, others 0.

    Equal elements are in the order of their flat indices, NaNs last. Returns how often the elements were gone through.
    Raises UsageError, and MemoryError where there is too little for 16 bytes an element.
    """

def array_gather(
    x: np.ndarray[Any, Any],
    index: np.ndarray[Any, Any],
    out: np.ndarray[Any, Any],
    selection: np.ndarray[Any, Any] | None = None,
    threads: int | None = None,
    clobber: bool = False,
) -> None:
    """Gives each element of `out` the element of `x` with the flat index (int32 or int64) in `index`.

    Raises UsageError for an index of a selected element that is out of range. Nothing has been written then; with
    `clobber` `out` may hold anything, which spares a pass over the indices.
    """

def array_partition(
    index: np.ndarray[Any, Any],
    division: Division,
    offsets: np.ndarray[Any, Any],
    elements: np.ndarray[Any, Any],
    selection: np.ndarray[Any, Any] | None = None,
) -> list[int]:
    """Sorts the selected addresses (int32 or int64) by the ranks that have them, those of a rank in order.

    Gives their offsets in the blocks of these ranks to `offsets`, and the numbers of the elements that had them to
    `elements`, both int64 and as long as `index`. Returns how many each rank has. Raises UsageError, without writing
    anything, for an address that the grid does not have.
    """

def array_send(
    x: np.ndarray[Any, Any],
    index: np.ndarray[Any, Any],
    out: np.ndarray[Any, Any],
    combine: str | None = None,
    selection: np.ndarray[Any, Any] | None = None,
    threads: int | None = None,
    workspace: SendWorkspace | None = None,
    clobber: bool = False,
) -> None:
    """Sends each selected element of `x` to the element of `out` with the flat index (int32 or int64) in `index`.

    An `x` of one element goes to all of these. `selection` has the shape of `index`: it selects senders. `combine` is
    that of `array_scan`, with each other and with what `out` holds, in the order of the senders; "overwrite": the last
    replaces it; None: two to one element are an error. What nothing is sent to keeps what it holds. Raises UsageError,
    without writing anything, for an index of a selected element that is out of range, and for collisions where they are
    an error. With `clobber` `out` may hold anything after an error, which spares passes over the indices.

    Large sends sort their messages first, in `workspace` where it has the bytes that `array_send_workspace_bytes` says,
    and leave anything in it; without, in memory that is allocated for the call, whose pages the system has to supply
    each time.
    """

def array_send_workspace_bytes(x: np.ndarray[Any, Any], out: np.ndarray[Any, Any], threads: int | None = None) -> int:
    """Bytes that are enough for the `workspace` of sends from `x` to `out`; 0 where none is used."""

def run_threads(request_json: str) -> str:
    """Runs a request with ranks as threads of this process; rows as JSON. Raises UsageError, RunError."""

def run_mpi_rank(request_json: str, default_library: str, device: object = None) -> str | None:
    """Runs a request as one rank of an MPI job; rows as JSON on the first rank.

    `device` is the memory that messages on a device lie in. Raises UsageError, RunError.
    """

class ExchangeRequest:
    """An exchange to be run: the phases of a schedule, or the messages of a connection set.

    >>> machine = weft.machine("iwarp64")
    >>> weft._core.ExchangeRequest(weft.conset.ConnectionSet.named("torus", machine, 10), word_bytes=4)
    <weft exchange of torus: messages>
    """

    def __init__(
        self,
        connections: ConnectionSet,
        schedule: Schedule | None = None,
        *,
        random: int | None = None,
        elements: tuple[float, float] | None = None,
        word_bytes: int | None = None,
        iterations: int = 1,
        warmup: int = 0,
        phantom: bool = True,
    ) -> None:
        """As `weft.conset.exchange.request` says."""

    @staticmethod
    def from_json(text: str) -> ExchangeRequest:
        """The request that `to_json` wrote. Raises UsageError."""

    def to_json(self) -> str:
        """The request as JSON, as ranks of MPI are handed it."""

def simulate_exchange(
    machine: Machine,
    request: ExchangeRequest,
    trace_path: str | os.PathLike[str] | None = None,
    before_writing: Callable[[int], object] | None = None,
) -> tuple[list[float], int, int]:
    """Runs an exchange in virtual time: seconds of every timed exchange, ranks, phases.

    `before_writing` is called with the length of the timeline in bytes. Raises UsageError, RunError, and what
    `before_writing` raises.
    """

def exchange_threads(request: ExchangeRequest) -> tuple[list[float], int, int]:
    """Runs an exchange with ranks as threads, as `simulate_exchange`. Raises UsageError, RunError."""

def exchange_mpi_rank(request_json: str, default_library: str) -> str | None:
    """Runs an exchange as one rank of an MPI job; the result on the first rank. Raises UsageError, RunError."""

def solve_simulated(machine: Machine, exchange: ExchangeRequest, problem_json: str) -> str:
    """Solves a partitioned system in virtual time; the solution as JSON. Raises UsageError, RunError."""

def solve_threads(exchange: ExchangeRequest, problem_json: str) -> str:
    """Solves a partitioned system with ranks as threads; the solution as JSON. Raises UsageError, RunError."""

def solve_mpi_rank(request_json: str, default_library: str) -> str | None:
    """Solves a partitioned system as one rank of an MPI job; the solution on the first. Raises UsageError, RunError."""

def simd() -> tuple[str, list[str], bool]:
    """The level of vector instructions in force (portable, avx2 or avx512), those of this processor, and whether the
    environment variable WEFT_SIMD forces it. Raises UsageError where that is no level of this processor."""

def xla_kernel_launcher() -> tuple[int, int, int]:
    """The address of a handler of XLA's foreign function interface that launches a kernel, the words of int64 that
    describe a launch and those that describe each parameter: see `weft.cuda.through_jax`."""

def node_benchmarks() -> str:
    """Every benchmark of the node suite as a JSON list: `name`, `summary`, `variants`, `takes`, `aliases`."""

def node_work(benchmark: str, variant: str, size: int | None = None) -> tuple[str, int] | None:
    """The operations that one unit of a row is made of, name and count; None where operation times do not say."""

def run_node(benchmark: str, request_json: str) -> str:
    """Runs a benchmark of the node suite in this process; rows as JSON. Raises UsageError, RunError."""

def guard_process() -> None:
    """Has this process end when its launcher, or what watches its run (as the environment names it), is gone."""

def rank_left(how: str) -> None:
    """Tells the other ranks that this one's program has ended in this way; nothing without MPI."""

def claim_end() -> bool:
    """Whether this rank is the one that says why the run ends: no other one does."""

def locate_calls(folder: str, signal: int, descriptor: int) -> None:
    """From now on a rank that is blocked for long knows the file and the line of the caller outside of a folder.

    `signal` has this thread write where it is to `descriptor`, which does not block. Nothing without MPI.
    """

def mpi_version(default_library: str) -> str:
    """What the MPI library says of itself, as JSON. Raises RunError."""

def fghc_check(sources_json: str, goal: str | None = None, color: bool = False) -> str:
    """Checks FGHC programs, a JSON list of `[name, text]`; errors, warnings, findings and text as JSON."""

def fghc_explain(sources_json: str, library: bool = False, code: bool = False) -> str:
    """An FGHC program in normal form with dispatch, suspension and pragma sites, or with `code` its instructions.

    Raises UsageError, RunError.
    """

def fghc_run(sources_json: str, goal: str, options_json: str, capture: bool = False) -> str:
    """Runs a goal of FGHC programs on one PE; the result, answers and counters as JSON. Raises UsageError, RunError."""

def fghc_run_threads(sources_json: str, goal: str, pes: int, options_json: str, capture: bool = False) -> str:
    """Runs a goal on PEs that are threads of this process; arguments and result as those of `fghc_run`.

    Raises UsageError, RunError.
    """

def fghc_simulate(
    sources_json: str, goal: str, machine: Machine, pes: int, options_json: str, capture: bool = False
) -> str:
    """Runs a goal on PEs of a described machine in virtual time; arguments and result as those of `fghc_run`.

    Options also: `slice`, `reduction_time`, `step_time`, `enlarge`, `trace`; the result also: `assumed`, `packets`,
    `reduction_time`. Raises UsageError, RunError.
    """

def fghc_sites(sources_json: str, goal: str) -> str:
    """The goals with a pragma of FGHC programs, `[file, line, text]` each, as JSON. Raises UsageError, RunError."""

def fghc_run_mpi(
    sources_json: str, goal: str, options_json: str, default_library: str, signals: socket.socket
) -> str | None:
    """Runs this process's PE of an MPI job; the result of the whole on the first rank, as that of `fghc_run`.

    `signals` is a socket, which is detached: from it the numbers of signals come, SIGINT for Ctrl-C, until its other
    end is closed. Raises UsageError, RunError.
    """

def end_when_interrupted_twice(signals: socket.socket) -> None:
    """Ends the process soon after Ctrl-C has come twice, whatever it is doing, without what files it is writing.

    `signals` is a socket, which is detached: to its other end Python writes the numbers of signals. Raises UsageError,
    RunError.
    """

def temporary_begins(path: str) -> None:
    """A file is being written that is to be removed where the process ends meanwhile."""

def temporary_ends(path: str) -> None:
    """A file is no longer being written."""
