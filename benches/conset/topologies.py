"""Collectives on many networks beside the optimum of their throughput.

Allgather, reduce-scatter and allreduce are compiled with the method `throughput` for every machine of the catalogue
that passes messages (the group of its first 64 nodes where it has more), for systems with rails, tori with and without
a missing link, dragonflies, fat trees, random graphs, tori and dragonflies, and for networks of 1,024 ranks. Every
schedule is verified, and up to 64 ranks it is executed by threads, which compare their buffers with the right numbers.
What it reaches is computed here from its trees, by what they put on each link.

The optimum is that of a linear programme (HiGHS) which shares nothing with the compiler: switches pass on as much as
they get, and every rank is reached by a flow from all others. An allreduce is compared with the optimum of trees that
reduce and copy at the same time, whose programme has flows from all ranks to one and back: more than two stages do
where links are idle one way. Of networks that are too large for it, it is the rate that the verified cut certifies, for
an allreduce with sets beside the cut. Seconds are those of the processor for one compilation.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benches.benchmark import Benchmark
from benches.conset import networks
from benches.recording import Report

COLLECTIVES = ("allgather", "reduce-scatter", "allreduce")

MAX_FLOWS = 10_000
"""Links times ranks up to which the linear programme is solved, within seconds."""

MAX_EXECUTED = 64
"""Ranks up to which schedules are executed."""

NEAR = 0.99
"""What part of the optimum is to be reached."""


def options(parser: argparse.ArgumentParser) -> None:
    kinds = len(networks.RANDOM)
    parser.add_argument("--random", type=int, default=40, metavar="N", help=f"of each of {kinds} kinds (default: 40)")
    parser.add_argument("--seed", type=int, default=0, help="the first random graph (default: 0)")
    parser.add_argument("--only", help="only networks whose name has this in it")
    parser.add_argument("--large", action="store_true", help="only networks of 1,024 ranks")
    parser.add_argument("--flows", type=int, default=MAX_FLOWS, help="links times ranks up to which the LP is solved")


def optimum(fabric: dict[str, Any], reverse: bool = False) -> float:
    """Bytes a second that every rank can distribute to all others, by linear programming.

    Unknown are the rate, how much of every link is used, and for every rank the flow that reaches it. A switch passes
    on what it gets and copies nothing, so what is used of its links is balanced; a flow uses no more than that of any
    link. With `reverse` links lead backwards: what collects on a network is what distributes on that one.

    Raises
    ------
    RuntimeError
        If the solver ends without a solution.
    """
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    ranks, vertices = fabric["ranks"], len(fabric["vertices"])
    starts = np.array([link["to" if reverse else "from"] for link in fabric["links"]])
    ends = np.array([link["from" if reverse else "to"] for link in fabric["links"]])
    speeds = np.array([link["bandwidth"] for link in fabric["links"]])
    scale, count = speeds.max(), len(speeds)
    columns = np.arange(count)
    is_switch = np.ones(vertices, dtype=bool)
    is_switch[ranks] = False
    entries: list[tuple[Any, Any, Any]] = []
    for block in range(len(ranks) + 1):
        # Block 0 is what is used of the links; only at switches it is balanced.
        first_row, first_column = block * vertices, 1 + block * count
        for of_links, sign in ((starts, 1.0), (ends, -1.0)):
            kept = is_switch[of_links] if block == 0 else np.ones(count, dtype=bool)
            entries.append((first_row + of_links[kept], first_column + columns[kept], np.full(kept.sum(), sign)))
        if block > 0:
            supply = np.full(len(ranks), -1.0)
            supply[block - 1] = len(ranks) - 1.0
            entries.append((first_row + np.array(ranks), np.zeros(len(ranks), dtype=int), supply))
    rows, indices, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    size = 1 + (len(ranks) + 1) * count
    balance = coo_array((values, (rows, indices)), shape=((len(ranks) + 1) * vertices, size)).tocsr()
    flows = np.arange(len(ranks) * count)
    limit = coo_array(
        (
            np.repeat((1.0, -1.0), len(flows)),
            (np.tile(flows, 2), np.concatenate((1 + count + flows, 1 + flows % count))),
        ),
        shape=(len(flows), size),
    ).tocsr()
    objective = np.zeros(size)
    objective[0] = -1.0
    upper = np.concatenate(([np.inf], speeds / scale, np.full(len(flows), np.inf)))
    solved = linprog(  # type: ignore[call-overload]  # Its stubs know no sparse arrays.
        objective, A_eq=balance, b_eq=np.zeros(balance.shape[0]), A_ub=limit, b_ub=np.zeros(len(flows)),
        bounds=np.column_stack((np.zeros(size), upper)), method="highs",
    )  # fmt: skip
    if solved.status != 0:
        raise RuntimeError(f"the linear programme of {fabric['name']}: {solved.message}")
    return float(solved.x[0] * scale)


def reached(stage: dict[str, Any], fabric: dict[str, Any]) -> float:
    """Bytes a second of each root that the fullest link lets through, from the trees of a schedule."""
    weights = [0] * len(fabric["links"])
    for tree in stage["trees"]:
        for _, _, path in tree["transfers"]:
            for link in path:
                weights[link] += tree["weight"]
    used = zip(fabric["links"], weights, strict=True)
    return float(min(link["bandwidth"] * stage["parts"] / weight for link, weight in used if weight))


def least_seconds_of_blocks(fabric: dict[str, Any], blocks: Sequence[Sequence[int]]) -> float:
    """What the fullest link takes at least for blocks of so many bytes between ranks, by linear programming, s.

    Unknown are the time and for every rank the flow of what it sends, which leaves at each other rank its block.

    Raises
    ------
    RuntimeError
        If the solver ends without a solution.
    """
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import lil_array

    links, ranks, vertices = fabric["links"], fabric["ranks"], len(fabric["vertices"])
    count, scale = len(links), max(link["bandwidth"] for link in links)
    unit = max(map(max, blocks))
    balance = lil_array((len(ranks) * vertices, len(ranks) * count + 1))
    needed = np.zeros(len(ranks) * vertices)
    full = lil_array((count, len(ranks) * count + 1))
    full[:, -1] = -1.0
    for source, row in enumerate(blocks):
        for index, link in enumerate(links):
            column = source * count + index
            balance[source * vertices + link["from"], column] += 1.0
            balance[source * vertices + link["to"], column] -= 1.0
            full[index, column] = scale / link["bandwidth"]
        for destination, length in enumerate(row):
            if destination != source:
                needed[source * vertices + ranks[source]] += length / unit
                needed[source * vertices + ranks[destination]] -= length / unit
    costs = np.zeros(len(ranks) * count + 1)
    costs[-1] = 1.0
    solved = linprog(  # type: ignore[call-overload]  # Its stubs know no sparse arrays.
        costs, A_ub=full.tocsr(), b_ub=np.zeros(count), A_eq=balance.tocsr(), b_eq=needed, method="highs"
    )
    if solved.status != 0:
        raise RuntimeError(solved.message)
    return float(solved.fun * unit / scale)


def optimum_allreduce(fabric: dict[str, Any]) -> float:
    """Bytes of the buffer a second of an allreduce by trees to one rank and from it at the same time, by a programme.

    Unknown are the rate, how much of every link is used for sums and for copies, and of each rank the flow to the first
    rank, within what sums use, and from it, within what copies use (Edmonds 1973). What either uses of a switch's links
    is balanced. Where links are alike both ways it is as good as with trees of other roots.

    Raises
    ------
    RuntimeError
        If the solver ends without a solution.
    """
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import lil_array

    ranks, vertices, links = fabric["ranks"], len(fabric["vertices"]), fabric["links"]
    count, scale = len(links), max(link["bandwidth"] for link in links)
    others = ranks[1:]
    # The rate, uses for sums and copies, then for each of both the flows of all other ranks.
    size = 1 + 2 * count + 2 * len(others) * count
    balance = lil_array((2 * vertices * (1 + len(others)), size))
    limit = lil_array((count + 2 * len(others) * count, size))
    switches = set(range(vertices)) - set(ranks)
    for direction, block in itertools.product(range(2), range(1 + len(others))):
        # Block 0 is what is used, which only switches have to pass on.
        row = (direction * (1 + len(others)) + block) * vertices
        uses = 1 + direction * count
        column = uses if block == 0 else 1 + 2 * count + (direction * len(others) + block - 1) * count
        for number, link in enumerate(links):
            for vertex, sign in ((link["from"], 1.0), (link["to"], -1.0)):
                if block > 0 or vertex in switches:
                    balance[row + vertex, column + number] += sign
            if block > 0:
                above = count + (direction * len(others) + block - 1) * count + number
                limit[above, column + number], limit[above, uses + number] = 1.0, -1.0
        if block > 0:
            start, end = (others[block - 1], ranks[0]) if direction == 0 else (ranks[0], others[block - 1])
            balance[row + start, 0], balance[row + end, 0] = -1.0, 1.0
    for number in range(count):
        limit[number, 1 + number] = limit[number, 1 + count + number] = 1.0
    most = np.concatenate((np.array([link["bandwidth"] for link in links]) / scale, np.zeros(limit.shape[0] - count)))
    objective = np.zeros(size)
    objective[0] = -1.0
    solved = linprog(  # type: ignore[call-overload]  # Its stubs know no sparse arrays.
        objective, A_eq=balance.tocsr(), b_eq=np.zeros(balance.shape[0]), A_ub=limit.tocsr(), b_ub=most,
        bounds=(0, None), method="highs",
    )  # fmt: skip
    if solved.status != 0:
        raise RuntimeError(f"the linear programme of {fabric['name']}: {solved.message}")
    return float(solved.x[0] * scale)


def buffer_rate(stages: Sequence[dict[str, Any]], fabric: dict[str, Any]) -> float:
    """Bytes of the buffer a second of an allreduce, in one stage or in two."""
    if len(stages) == 1:
        return reached(stages[0], fabric)
    return len(fabric["ranks"]) / sum(1.0 / reached(stage, fabric) for stage in stages)


def fabrics(chosen: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Name and network of everything that is asked for."""
    from weft import catalogue
    from weft._core import Fabric, UsageError

    graphs = [make() for make in (networks.LARGE if chosen.large else (*networks.NETWORKS, *networks.LARGE))]
    if not chosen.large:
        for machine in catalogue.machines():
            try:
                fabric = Fabric.of_machine(machine)
            except UsageError:
                # It passes no messages.
                continue
            yield machine.name, fabric.with_group(list(range(64))) if fabric.ranks > 64 else fabric
        for seed in range(chosen.seed, chosen.seed + chosen.random):
            graphs += [make(seed) for make in networks.RANDOM]
    for graph in graphs:
        yield graph["name"], Fabric.parse(json.dumps(graph), graph["name"])


def compare(name: str, network: Any, flows: int, report: Report) -> None:
    """Compile all collectives for a network: what part of the optimum each reaches."""
    from weft import _core

    for collective in COLLECTIVES:
        start = time.process_time()
        length = 4096 * network.ranks
        schedule = _core.compile_collective(network, collective, length, 4, 0, "throughput")[0]
        seconds = time.process_time() - start
        schedule.verify()
        if network.ranks <= MAX_EXECUTED:
            schedule.run_threads()
        # The bytes of every rank by their rate, stage after stage.
        at_optimum = at_reached = 0.0
        if network.ranks <= 256:
            content = json.loads(schedule.to_json())
            fabric = content["fabric"]
            is_solved = len(fabric["links"]) * network.ranks <= flows
            stages = content["stages"]
            if collective == "allreduce" and (len(stages) == 1 or is_solved):
                # Its trees may be better than those of one root where links have none back.
                is_solved = is_solved and len(fabric["links"]) * network.ranks <= flows // 2
                at_reached = 1.0 / buffer_rate(stages, fabric)
                at_optimum = 1.0 / optimum_allreduce(fabric) if is_solved else schedule.bound_seconds / length
                stages = []
            for stage in stages:
                reverse = stage["operation"] == "reduce"
                best = optimum(fabric, reverse) if is_solved else stage["bound"]["rate"]
                at_optimum += 1.0 / best
                at_reached += 1.0 / reached(stage, fabric)
        else:
            is_solved = False
            for _, _, rate, bound, _ in schedule.stages:
                at_optimum += 1.0 / bound
                at_reached += 1.0 / rate
        by = "LP" if is_solved else "cut"
        part = at_optimum / at_reached
        report.figure(f"{name}, {collective}: reached/optimum ({by})", part, "ratio", NEAR, "at least")
        if network.ranks >= 1024:
            report.figure(f"{name}, {collective}: compiling", seconds, "s", 60.0, "at most")


def run(chosen: argparse.Namespace, report: Report) -> None:
    random = f"{chosen.random} of each of {len(networks.RANDOM)} kinds"
    report.protocol.update({"method": "throughput", "random networks": random})
    for name, network in fabrics(chosen):
        if chosen.only is None or chosen.only in name:
            compare(name, network, chosen.flows, report)


BENCHMARK = Benchmark(
    "collective-topologies",
    "collectives on many networks beside the optimum of their throughput, by linear programming or by cut",
    "a quarter of an hour",
    run,
    options,
)
