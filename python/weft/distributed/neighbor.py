"""`weft.arrays.neighbor_alltoallv`: an exchange with neighbours for programs with mpi4py, by whichever strategy is
fastest.

MPI's own `Neighbor_alltoallv` prepares its messages anew in every call, sends to its own rank through MPI, and sends a
message for every edge, also where several edges join the same two ranks. The first call on a communicator measures
that against three other strategies, all of persistent requests, and keeps the fastest of these:

- `direct`: a message for every edge, all at once;
- `phased`: a message for every edge, in phases of one partner for each rank (where a rank has many);
- `combined`: one message for each pair of ranks.

In all three what a rank sends to itself is copied. A strategy whose result is not bit by bit that of MPI's own is not
used: on a Cartesian topology of one or two ranks along an axis, both neighbours are the same rank, and libraries differ
in which of its two messages belongs where.

Ranks compare their calls (`matching.py`): at the first on a communicator they meet, afterwards they look for what
others say while they wait, and at the lengths of what comes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft._core import UsageError
from weft.distributed.matching import Call, Matching

OWN = "collective"
"""MPI's own."""
STRATEGIES = ("direct", "phased", "combined")
_TAG = 0x77EF
_PHASED_FROM = 4
"""Edges from which phases are tried."""
_MAX_PLANS = 64
"""Prepared exchanges that a communicator keeps; the one used longest ago goes first."""

Bytes = NDArray[np.uint8]
Side = tuple[Any, list[int], list[int], int]


@dataclass
class Choice:
    """What was measured on a communicator.

    Attributes
    ----------
    strategy
        The strategy in use: `collective`, `direct`, `phased` or `combined`.
    seconds
        Of each strategy that gave the right result, one exchange: the largest over the ranks of the median.
    """

    strategy: str
    seconds: dict[str, float]


@dataclass(frozen=True)
class _Edges:
    """Ranks that a rank receives from and sends to, and which of several edges between two ranks belong together.

    Of the edges from one rank to another, the sender's in the order of `out_order` are the receiver's in that of
    `in_order`.
    """

    sources: list[int]
    destinations: list[int]
    in_order: list[int]
    out_order: list[int]


@dataclass
class _State:
    choice: Choice
    edges: _Edges
    matching: Matching
    plans: dict[tuple[object, ...], _Plan] = field(default_factory=dict)


@dataclass
class _Plan:
    """A prepared exchange; it keeps the buffers alive whose addresses it knows."""

    kept: tuple[Any, Any]
    run: Callable[[], None]
    requests: list[Any]


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that may come again: then its plan is found without a look-up."""

    comm: Any
    arrays: tuple[Any, Any]
    counts: tuple[list[Any], list[Any]]
    run: Callable[[], None]

    @classmethod
    def of(cls, comm: Any, sendbuf: Any, recvbuf: Any, plan: _Plan) -> _Call | None:
        """None for counts that cannot be compared in one go."""
        kept = []
        for spec in (sendbuf, recvbuf):
            rest = []
            for part in spec[1:]:
                if isinstance(part, list) and all(isinstance(each, int) for each in part):
                    rest.append(list(part))
                elif isinstance(part, (list, tuple, np.ndarray)):
                    return None
                else:
                    rest.append(part)
            kept.append(rest)
        return cls(comm, (sendbuf[0], recvbuf[0]), (kept[0], kept[1]), plan.run)

    def is_again(self, comm: Any, sendbuf: Any, recvbuf: Any) -> bool:
        """Whether it is the same exchange of the same buffers."""
        send, receive = self.arrays
        if comm is not self.comm or sendbuf[0] is not send or recvbuf[0] is not receive:
            return False
        own_send, own_receive = self.counts
        try:
            return list(sendbuf[1:]) == own_send and list(recvbuf[1:]) == own_receive
        except ValueError:
            # Counts that are arrays now and were lists before.
            return False


class _Last:
    """The last call by a prepared strategy, in this process."""

    call: _Call | None = None


class _Keyval:
    """The key under which MPI keeps what was measured on a communicator; made when it is needed."""

    number: int | None = None


def neighbor_alltoallv(comm: Any, sendbuf: Any, recvbuf: Any, *, strategy: str | None = None) -> None:
    """Exchange with the neighbours of a topology: in place of `comm.Neighbor_alltoallv(sendbuf, recvbuf)`. Collective.

    The first call on a communicator makes the exchange some hundred times to measure the strategies there are; all
    ranks then use the same, in every later call, whatever its lengths. Buffers used again are prepared once.

    Parameters
    ----------
    comm
        A communicator of mpi4py with a Cartesian, graph or distributed graph topology.
    sendbuf, recvbuf
        As mpi4py has them: `[array, counts]`, `[array, counts, displacements, type]` or `[array, (counts,
        displacements), type]`, in elements; the array must be contiguous and its type, where it is given, that of the
        array.
    strategy
        `measure`: measure anew (collective), for lengths unlike those before. Or the strategy to be used from now on.

    Raises
    ------
    UsageError
        For buffers that are none of that, and for an unknown strategy. On every rank where ranks are in different
        calls, or one sends what the other does not expect; but `strategy="collective"` compares no lengths.

    See Also
    --------
    neighbor_choice : what was measured.

    Examples
    --------
    Under `mpiexec -n 2`, each rank to its neighbour and itself around a ring:

    >>> import numpy as np
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> ring = MPI.COMM_WORLD.Create_cart([MPI.COMM_WORLD.size], periods=[True])  # doctest: +SKIP
    >>> sent, received = np.full(2, ring.rank), np.empty(2, int)  # doctest: +SKIP
    >>> neighbor_alltoallv(ring, [sent, [1, 1]], [received, [1, 1]])  # doctest: +SKIP
    """
    last = _Last.call
    if last is not None and strategy is None and last.is_again(comm, sendbuf, recvbuf):
        last.run()
        return
    state = _state(comm)
    if state is None or strategy is not None:
        _Last.call = None
        _begin(comm, sendbuf, recvbuf, strategy)
        return
    if state.choice.strategy == OWN:
        state.matching.own(comm, sendbuf, recvbuf)
        return
    key = _key(sendbuf, recvbuf)
    plan = state.plans.get(key)
    if plan is None:
        plan = _remember(comm, state, key, sendbuf, recvbuf)
    _Last.call = _Call.of(comm, sendbuf, recvbuf, plan)
    plan.run()


def neighbor_choice(comm: Any) -> Choice | None:
    """What :func:`neighbor_alltoallv` has measured on a communicator; None before its first call."""
    state = _state(comm)
    return None if state is None else state.choice


def _state(comm: Any) -> _State | None:
    if _Keyval.number is None:
        return None
    state: _State | None = comm.Get_attr(_Keyval.number)
    return state


def _key(sendbuf: Any, recvbuf: Any) -> tuple[object, ...]:
    """Which buffers and counts: arrays by identity (a plan keeps them, so it cannot pass on), counts by value."""
    key: list[object] = []
    for spec in (sendbuf, recvbuf):
        for part in spec:
            if isinstance(part, np.ndarray):
                key.append(id(part) if part is spec[0] else part.tobytes())
            elif isinstance(part, list):
                key.append(tuple(part))
            elif isinstance(part, tuple):
                key.append(tuple(each.tobytes() if isinstance(each, np.ndarray) else tuple(each) for each in part))
            else:
                key.append(id(part))
    return tuple(key)


def _remember(comm: Any, state: _State, key: tuple[object, ...], sendbuf: Any, recvbuf: Any) -> _Plan:
    plan = _prepare(comm, state.choice.strategy, state.edges, sendbuf, recvbuf, state.matching)
    while len(state.plans) >= _MAX_PLANS:
        _Last.call = None
        _free(state.plans.pop(next(iter(state.plans))))
    state.plans[key] = plan
    return plan


def _free(plan: _Plan) -> None:
    for request in plan.requests:
        request.Free()


def _forget(comm: Any, keyval: int, state: _State) -> None:
    """The communicator is freed: so are its requests."""
    _Last.call = None
    for plan in state.plans.values():
        _free(plan)
    state.plans.clear()


def _edges(comm: Any) -> list[_Edges]:
    """The edges of a communicator, in each of the ways in which libraries join them.

    Raises
    ------
    UsageError
        For a communicator without a topology.
    """
    from mpi4py import MPI

    kind = comm.Get_topology()
    if kind == MPI.DIST_GRAPH:
        sources, destinations, _ = comm.Get_dist_neighbors()
        return [_Edges(list(sources), list(destinations), list(range(len(sources))), list(range(len(destinations))))]
    if kind == MPI.CART:
        both = [rank for axis in range(comm.Get_dim()) for rank in comm.Shift(axis, 1)]
        order = list(range(len(both)))
        # What is sent downwards comes from above: edges 0 and 1 of every axis belong crosswise.
        return [_Edges(both, both, [edge ^ 1 for edge in order], order), _Edges(both, both, order, order)]
    if kind == MPI.GRAPH:
        both = list(comm.Get_neighbors(comm.Get_rank()))
        return [_Edges(both, both, list(range(len(both))), list(range(len(both))))]
    raise UsageError(
        "neighbor_alltoallv: the communicator has no topology; make one with Create_cart or Create_dist_graph_adjacent"
    )


def _side(spec: Any, edges: int, what: str) -> Side:
    """Bytes of the array, and counts, displacements and length of an element in bytes."""
    if not isinstance(spec, (list, tuple)) or len(spec) < 2:
        raise UsageError(f"neighbor_alltoallv: {what} must be [array, counts, …] as mpi4py has it, found {spec!r:.60}")
    array = spec[0]
    if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
        raise UsageError(f"neighbor_alltoallv: {what} must be a contiguous array of numpy")
    counts, displacements = spec[1] if isinstance(spec[1], tuple) and len(spec[1]) == 2 else (spec[1], None)
    rest = list(spec[2:])
    if displacements is None and rest and isinstance(rest[0], (list, tuple, np.ndarray)):
        displacements = rest.pop(0)
    if rest and rest[0] is not None and rest[0].Get_size() != array.itemsize:
        raise UsageError(
            f"neighbor_alltoallv: {what} has elements of {array.itemsize} bytes, its type {rest[0].Get_size()}; give "
            "the array's own type, or call the collective of MPI"
        )
    counts = [int(count) for count in counts]
    if displacements is None:
        displacements = np.concatenate([[0], np.cumsum(counts[:-1])]) if counts else []
    displacements = [int(displacement) for displacement in displacements]
    if len(counts) != edges or len(displacements) != edges:
        raise UsageError(f"neighbor_alltoallv: {what} has {len(counts)} counts for {edges} neighbours")
    for count, displacement in zip(counts, displacements, strict=True):
        if count < 0 or displacement < 0 or displacement + count > array.size:
            raise UsageError(
                f"neighbor_alltoallv: {what}: {count} elements from {displacement} on are not in an array of "
                f"{array.size}"
            )
    size = array.itemsize
    return (
        array.reshape(-1).view(np.uint8),
        [size * count for count in counts],
        [size * displacement for displacement in displacements],
        size,
    )


_Parts = list[tuple[int, Bytes]]


def _prepare(comm: Any, strategy: str, edges: _Edges, sendbuf: Any, recvbuf: Any, matching: Matching) -> _Plan:
    """Persistent requests and copies of one strategy."""
    out = _side(sendbuf, len(edges.destinations), "sendbuf")
    into = _side(recvbuf, len(edges.sources), "recvbuf")
    rank = comm.Get_rank()
    sends = _parts(out, edges.destinations, edges.out_order)
    receives = _parts(into, edges.sources, edges.in_order)
    copies = _own(sends, receives, rank)
    sends = [part for part in sends if part[0] != rank and len(part[1])]
    receives = [part for part in receives if part[0] != rank and len(part[1])]
    kept = sendbuf[0], recvbuf[0]
    call = matching.of(sendbuf, recvbuf)
    if strategy == "combined":
        return _combined(comm, sends, receives, copies, kept, call)
    phases = _phases(comm, sends, receives) if strategy == "phased" else [(sends, receives)]
    starts = []
    for some_sends, some_receives in phases:
        # Receives first: a message that comes before its receive is copied once more.
        requests: list[_Request] = []
        requests += [(comm.Recv_init(part, source, _TAG), len(part)) for source, part in some_receives]
        requests += [(comm.Send_init(part, destination, _TAG), None) for destination, part in some_sends]
        if requests:
            starts.append(requests)
    run = _runner(starts, copies, [], [], call)
    return _Plan(kept, run, [one for group in starts for one, _ in group])


def _parts(side: Side, ranks: Sequence[int], order: Sequence[int]) -> _Parts:
    """Rank and bytes of every edge, in the order in which edges of two ranks belong together."""
    array, counts, displacements, _ = side
    edges = sorted(zip(order, ranks, counts, displacements, strict=True))
    # A neighbour may be missing at the edge of a grid (MPI.PROC_NULL, which is negative).
    return [(rank, array[start : start + count]) for _, rank, count, start in edges if rank >= 0]


def _own(sends: list[tuple[int, Bytes]], receives: list[tuple[int, Bytes]], rank: int) -> list[tuple[Bytes, Bytes]]:
    """What a rank sends to itself, edge by edge in order."""
    out = [part for to, part in sends if to == rank]
    into = [part for source, part in receives if source == rank]
    pairs = [(to, part) for to, part in zip(into, out, strict=False) if len(part)]
    if len(out) != len(into) or any(len(to) != len(part) for to, part in pairs):
        raise UsageError("neighbor_alltoallv: what a rank sends to itself is not what it receives from itself")
    return pairs


def _phases(
    comm: Any, sends: list[tuple[int, Bytes]], receives: list[tuple[int, Bytes]]
) -> list[tuple[list[tuple[int, Bytes]], list[tuple[int, Bytes]]]]:
    """In phase d a rank sends to the rank d further and receives from the rank d before, as both know by themselves."""
    size, rank = comm.Get_size(), comm.Get_rank()
    phases: dict[int, tuple[list[tuple[int, Bytes]], list[tuple[int, Bytes]]]] = {}
    for part in sends:
        phases.setdefault((part[0] - rank) % size, ([], []))[0].append(part)
    for part in receives:
        phases.setdefault((rank - part[0]) % size, ([], []))[1].append(part)
    return [phases[distance] for distance in sorted(phases)]


def _combined(
    comm: Any,
    sends: list[tuple[int, Bytes]],
    receives: list[tuple[int, Bytes]],
    copies: list[tuple[Bytes, Bytes]],
    kept: tuple[Any, Any],
    call: Call,
) -> _Plan:
    """One message for each partner: packed before, unpacked after, unless there is one part only."""
    requests: list[_Request] = []
    packs: list[tuple[Bytes, Bytes]] = []
    unpacks: list[tuple[Bytes, Bytes]] = []
    for parts, start, moves in ((receives, comm.Recv_init, unpacks), (sends, comm.Send_init, packs)):
        for partner in dict.fromkeys(rank for rank, _ in parts):
            own = [part for rank, part in parts if rank == partner]
            length = sum(map(len, own))
            awaited = length if moves is unpacks else None
            if len(own) == 1:
                requests.append((start(own[0], partner, _TAG), awaited))
                continue
            whole = np.empty(length, dtype=np.uint8)
            offset = 0
            for part in own:
                piece = whole[offset : offset + len(part)]
                moves.append((piece, part) if moves is packs else (part, piece))
                offset += len(part)
            requests.append((start(whole, partner, _TAG), awaited))
    run = _runner([requests] if requests else [], copies, packs, unpacks, call)
    return _Plan(kept, run, [one for one, _ in requests])


_Request = tuple[Any, int | None]
"""A persistent request, and how many bytes it is to receive."""

_FEW = 4
"""Requests that are started one by one faster than all in one call."""


def _runner(
    groups: list[list[_Request]],
    copies: list[tuple[Bytes, Bytes]],
    packs: list[tuple[Bytes, Bytes]],
    unpacks: list[tuple[Bytes, Bytes]],
    call: Call,
) -> Callable[[], None]:
    """What a call does. Copies are of memory views, which start several times faster than those of arrays."""
    from mpi4py import MPI

    start_all = MPI.Prequest.Startall
    packing, keeping, unpacking = (_views(moves) for moves in (packs, copies, unpacks))
    started = [[request for request, _ in group] for group in groups]
    first, rest = (started[0], started[1:]) if groups else ([], [])
    starts = [request.Start for request in first]
    # Sends are done first: where a receive is awaited, both ranks must have sent.
    all_waits = [[call.awaiting(*request) for request in reversed(group)] for group in groups]
    waits, waits_of_rest = (all_waits[0], all_waits[1:]) if groups else ([], [])
    enter = call.enter

    def run_few() -> None:
        enter()
        for to, part in packing:
            to[:] = part
        for start in starts:
            start()
        for to, part in keeping:
            to[:] = part
        for wait in waits:
            wait()
        for to, part in unpacking:
            to[:] = part

    def run_many() -> None:
        enter()
        for to, part in packing:
            to[:] = part
        if first:
            start_all(first)
        for to, part in keeping:
            to[:] = part
        for wait in waits:
            wait()
        for group, waits_of_group in zip(rest, waits_of_rest, strict=True):
            start_all(group)
            for wait in waits_of_group:
                wait()
        for to, part in unpacking:
            to[:] = part

    return run_few if len(first) <= _FEW and not rest else run_many


def _views(moves: list[tuple[Bytes, Bytes]]) -> list[tuple[memoryview, memoryview]]:
    return [(memoryview(to), memoryview(part)) for to, part in moves]  # type: ignore[arg-type]


def _begin(comm: Any, sendbuf: Any, recvbuf: Any, strategy: str | None) -> None:
    """The exchange by MPI's own strategy, then the choice of the strategy from now on."""
    from mpi4py import MPI

    if strategy not in (None, "measure", OWN, *STRATEGIES):
        raise UsageError(
            f"neighbor_alltoallv: no strategy is called '{strategy}'; there are measure, {OWN}, {', '.join(STRATEGIES)}"
        )
    known = _edges(comm)
    _side(sendbuf, len(known[0].destinations), "sendbuf")
    _side(recvbuf, len(known[0].sources), "recvbuf")
    matching = Matching(comm)
    if not any(_fits(comm, edges, sendbuf, recvbuf) for edges in known):
        matching.of(sendbuf, recvbuf).refuse()
        raise UsageError("neighbor_alltoallv: what ranks send to each other is not what these expect")
    comm.Neighbor_alltoallv(sendbuf, recvbuf)
    joined = next((edges for edges in known if _is_right(comm, edges, sendbuf, recvbuf, matching)), None)
    if joined is None:
        choice = Choice(OWN, {})
    elif strategy in (OWN, *STRATEGIES):
        choice = Choice(str(strategy), {})
    else:
        choice = _measured(comm, joined, sendbuf, recvbuf, matching)
    if _Keyval.number is None:
        _Keyval.number = MPI.Comm.Create_keyval(delete_fn=_forget)
    comm.Set_attr(_Keyval.number, _State(choice, joined or known[0], matching))


def _fits(comm: Any, edges: _Edges, sendbuf: Any, recvbuf: Any) -> bool:
    """Whether on all ranks what comes over edges joined in this way is as long as what is expected. Collective."""
    from mpi4py import MPI

    lengths = comm.alltoall(_lengths(comm, edges, sendbuf, recvbuf, out=True))
    return bool(comm.allreduce(lengths == _lengths(comm, edges, sendbuf, recvbuf, out=False), MPI.LAND))


def _is_right(comm: Any, edges: _Edges, sendbuf: Any, recvbuf: Any, matching: Matching) -> bool:
    """Whether edges joined in this way give what MPI's own collective has just given, on all ranks."""
    from mpi4py import MPI

    array = recvbuf[0].reshape(-1).view(np.uint8)
    right = array.copy()
    plan = None
    with contextlib.suppress(UsageError):
        plan = _prepare(comm, "combined", edges, sendbuf, recvbuf, matching)
    # Lengths that do not fit would be an error of MPI: all ranks must know before any sends.
    fits = _fits(comm, edges, sendbuf, recvbuf)
    if not comm.allreduce(fits and plan is not None, MPI.LAND):
        if plan is not None:
            _free(plan)
        return False
    assert plan is not None
    for _, part in _parts(_side(recvbuf, len(edges.sources), "recvbuf"), edges.sources, edges.in_order):
        np.invert(part, out=part)
    plan.run()
    _free(plan)
    same = bool((array == right).all())
    array[:] = right
    return bool(comm.allreduce(same, MPI.LAND))


def _lengths(comm: Any, edges: _Edges, sendbuf: Any, recvbuf: Any, out: bool) -> list[list[int]]:
    """For every rank the bytes of the parts to it, or from it, in order."""
    if out:
        parts = _parts(_side(sendbuf, len(edges.destinations), "sendbuf"), edges.destinations, edges.out_order)
    else:
        parts = _parts(_side(recvbuf, len(edges.sources), "recvbuf"), edges.sources, edges.in_order)
    lengths: list[list[int]] = [[] for _ in range(comm.Get_size())]
    for rank, part in parts:
        if len(part):
            lengths[rank].append(len(part))
    return lengths


def _measured(comm: Any, edges: _Edges, sendbuf: Any, recvbuf: Any, matching: Matching) -> Choice:
    """Times of all strategies, interleaved so that a disturbance hits all; the same on all ranks."""
    from mpi4py import MPI

    most = comm.allreduce(max(len(edges.sources), len(edges.destinations)), MPI.MAX)
    runs: dict[str, Callable[[], None]] = {OWN: lambda: matching.own(comm, sendbuf, recvbuf)}
    plans = {
        strategy: _prepare(comm, strategy, edges, sendbuf, recvbuf, matching)
        for strategy in STRATEGIES
        if strategy != "phased" or most >= _PHASED_FROM
    }
    for strategy, plan in plans.items():
        runs[strategy] = _as_called(comm, sendbuf, recvbuf, plan)
    times: dict[str, list[float]] = {strategy: [] for strategy in runs}
    first = _seconds(comm, runs[OWN], 4)
    calls = int(comm.allreduce(min(200.0, max(4.0, 0.01 / max(first, 1e-7))), MPI.MIN))
    for _ in range(9):
        for strategy, run in runs.items():
            times[strategy].append(_seconds(comm, run, calls))
    for plan in plans.values():
        _free(plan)
    medians = {strategy: comm.allreduce(float(np.median(seconds)), MPI.MAX) for strategy, seconds in times.items()}
    # MPI's own is measured, but does not say how much has come: other lengths would be numbers, not an error.
    return Choice(comm.bcast(min(plans, key=lambda strategy: medians[strategy])), medians)


def _as_called(comm: Any, sendbuf: Any, recvbuf: Any, plan: _Plan) -> Callable[[], None]:
    """A prepared exchange with what a program's call adds: it is the call that must be faster."""
    call = _Call.of(comm, sendbuf, recvbuf, plan)

    def run() -> None:
        if call is not None and call.is_again(comm, sendbuf, recvbuf):
            call.run()
        else:
            _key(sendbuf, recvbuf)
            plan.run()

    return run


def _seconds(comm: Any, run: Callable[[], None], calls: int) -> float:
    """Of one of so many exchanges, one after another."""
    from mpi4py import MPI

    comm.Barrier()
    start = MPI.Wtime()
    for _ in range(calls):
        run()
    return float((MPI.Wtime() - start) / calls)
