"""The exchanges of Feldmann, Stricker and Warfel 1993, compiled by weft and by their compiler, and simulated."""

from __future__ import annotations

import functools
import json
import math
import re
import statistics
from typing import Any

from weft import _core
from weft._core import ConnectionSet, Machine, Schedule
from weft.catalogue import machine as find_machine
from weft.conset import compile
from weft.conset.exchange import RANDOM_ORDER, execute, request
from weft.papers.feldmann1993 import (
    CLOCK,
    COPY_CLOCKS,
    ELEMENT_CLOCKS,
    MACHINE,
    NODE_WORDS,
    WORD_BYTES,
    MeshResult,
    Times,
)

_RANKS = 64
_SEED = 1


IN_STAGES = {"hypercube": "butterfly"}
"""Patterns that the paper's program goes through in stages (table 2: "butterfly"), and the pattern that has their
order."""

RANDOM_ORDERS = 9
"""Random orders of messages whose median is taken: the paper's program had one, and they differ by a tenth."""


class SimulatedExchanges:
    """Compiles and executes exchanges on the simulated iWarp, each once."""

    def __init__(self) -> None:
        self.pattern = functools.cache(self._pattern)
        self.mesh = functools.cache(self._mesh)

    def _pattern(self, name: str, words: int) -> Times:
        machine = find_machine(MACHINE)
        connections = ConnectionSet.named(name, machine, words, _SEED)
        ordered = ConnectionSet.named(IN_STAGES[name], machine, words, _SEED) if name in IN_STAGES else None
        return _times(machine, connections, random=name in RANDOM_ORDER, ordered=ordered)

    def _mesh(self, name: str) -> MeshResult:
        from weft.conset.finite_elements import Partition
        from weft.conset.meshes import paper_mesh

        partition = Partition.of(paper_mesh(name), _RANKS)
        structure = partition.structure()
        machine = find_machine(MACHINE)
        connections = ConnectionSet.from_json(json.dumps(partition.connection_set(NODE_WORDS)))
        placed, _ = connections.placed(machine, _SEED)
        times = _times(machine, placed, sparse=True)
        operations, slowest = _operations(partition)
        own = json.loads(machine.to_json())["operations"]["float64_sum_of_products"]
        return MeshResult(
            structure.elements, structure.nodes, structure.elements_per_processor, structure.words_per_processor,
            structure.degree, tuple(words for *_, words in connections.connections), times,
            slowest * _value(own) / CLOCK, operations,
        )  # fmt: skip


def _value(figure: Any) -> float:
    return float(figure["value"] if isinstance(figure, dict) else figure)


def _operations(partition: Any) -> tuple[int, int]:
    """Two operations for every entry of every rank's own matrix, one number a node: of all ranks, and the most."""
    import numpy as np

    counts = []
    for rank in range(partition.parts):
        cells = partition.mesh.cells[partition.part == rank]
        size = cells.shape[1]
        pairs = np.stack([np.repeat(cells, size, axis=1).ravel(), np.tile(cells, size).ravel()])
        counts.append(2 * np.unique(pairs, axis=1).shape[1])
    return sum(counts), max(counts)


def _by_formula(schedule: Schedule) -> float:
    """Seconds as the paper predicts them (section 4.2.1): switching and transfers.

    The latency of the last words and leaving the last phase are left out, which a schedule's own prediction has.
    """
    content = json.loads(schedule.to_json(written_out=True))
    switching: float = content["resources"]["synchronisation_seconds"] + content["resources"]["phase_seconds"]
    ends = (
        [transfer["start"] + transfer["duration"] for transfer in phase["connections"]] for phase in content["phases"]
    )
    return sum(switching + max(of_phase, default=0.0) for of_phase in ends)


_GATHERED = (ELEMENT_CLOCKS * CLOCK / WORD_BYTES, ELEMENT_CLOCKS * CLOCK / WORD_BYTES)
_COPIED = (COPY_CLOCKS * CLOCK / WORD_BYTES, ELEMENT_CLOCKS * CLOCK / WORD_BYTES)
_SPARSE: dict[str, Any] = {"access": "shared", "access_time": ELEMENT_CLOCKS * CLOCK}


def _times(
    machine: Machine,
    connections: ConnectionSet,
    *,
    sparse: bool = False,
    random: bool = False,
    ordered: ConnectionSet | None = None,
) -> Times:
    """All ways of an exchange, clocks; of blocks, or word by word from sparse structures. Messages are `ordered` as the
    program has them that the paper times, or in random orders."""
    own = compile(connections, machine, seed=_SEED, messages=False, **(_SPARSE if sparse else {}))
    parts = [connections] if ordered is None else _by_axis(ordered)
    apr = [(part, _by_the_papers_compiler(part, machine, sparse=sparse)) for part in parts]

    def clocks(connections: ConnectionSet, schedule: Schedule | None, random: int | None = None) -> float:
        elements = _COPIED if schedule is None else _GATHERED
        execution = execute(machine, connections, schedule, random=random, elements=elements if sparse else None)
        return execution.seconds[0] / CLOCK

    orders = range(_SEED, _SEED + RANDOM_ORDERS) if random else [None]
    messages = [clocks(ordered or connections, None, order) for order in orders]
    first = clocks(connections, None) if ordered is not None else messages[0] if random else None
    bounds = [bound["value"] for bound in json.loads(own.to_json())["lower_bounds"] if bound["unit"] == "s"]
    # The paper's program synchronises whenever it is through with a phase, and again in the switch to the next:
    # table 1, whose exchange is one phase, has two synchronisations. The executed schedule has the last of them only.
    leaving = json.loads(own.to_json())["resources"]["synchronisation_seconds"] / CLOCK
    return Times(
        phases=own.phases, apr_phases=sum(schedule.phases for _, schedule in apr), predicted=_by_formula(own) / CLOCK,
        apr_predicted=sum(_by_formula(schedule) for _, schedule in apr) / CLOCK, conset=clocks(connections, own),
        apr=sum(clocks(*each) + (each[1].phases - 1) * leaving for each in apr), messages=statistics.median(messages),
        bound=max(bounds) / CLOCK, first_messages=first,
    )  # fmt: skip


def _by_the_papers_compiler(connections: ConnectionSet, machine: Machine, *, sparse: bool) -> Schedule:
    """APR and AS, which know nothing of what links can do (sections 4.4.1 and 4.4.2): to them links take no time. So a
    phase is a timetable of nodes, which programs keep to in its order, as fast as links let them."""
    text = re.sub(r"(?m)^(link_byte_time = (?:\{ value = )?)[0-9.e-]+", r"\g<1>0", machine.to_toml())
    without = Machine.parse(text, f"machines/{MACHINE}.toml")
    access = _SPARSE if sparse else {}
    return compile(connections, without, compiler="apr", seed=_SEED, messages=False, **access)


def _by_axis(ordered: ConnectionSet) -> list[ConnectionSet]:
    """A butterfly in the phases of the paper: "two phases of 8 logical channels each" (section 5.1.2) are those of one
    axis and those of the other, whose routes take eight channels of every node."""
    content = json.loads(ordered.to_json())
    side = math.isqrt(content["nodes"])
    sets = []
    for within_a_row in (True, False):
        chosen: dict[int, int] = {}
        for index, connection in enumerate(content["connections"]):
            if (connection["source"] // side == connection["destination"] // side) == within_a_row:
                chosen[index] = len(chosen)
        orders = [
            {"before": chosen[order["before"]], "after": chosen[order["after"]]}
            for order in content["orders"]
            if order["before"] in chosen and order["after"] in chosen
        ]
        part = {"connections": [content["connections"][index] for index in chosen], "orders": orders}
        sets.append(ConnectionSet.from_json(json.dumps(content | part)))
    return sets


def solved(partition: Any, equation: str = "poisson", *, by: str = "conset", tolerance: float = 1e-6) -> dict[str, Any]:
    """Solve an equation on a partitioned mesh with the exchange simulated on iWarp; the solution as `_core` gives it.

    Parameters
    ----------
    partition
        A :class:`weft.conset.finite_elements.Partition` of 64 parts.
    equation
        `poisson` or `elasticity`.
    by
        `conset` or `messages`.
    tolerance
        Until the residual is this part of the right-hand side.
    """
    from weft.conset.finite_elements import assemble

    machine = find_machine(MACHINE)
    system = assemble(partition, equation)  # type: ignore[arg-type]
    connections = ConnectionSet.from_json(json.dumps(system.connection_set()))
    schedule = compile(connections, machine, seed=_SEED, messages=False, **_SPARSE) if by == "conset" else None
    elements = _COPIED if schedule is None else _GATHERED
    exchange = request(connections, schedule, elements=elements, word_bytes=NODE_WORDS * WORD_BYTES)
    problem = json.dumps(system.problem(tolerance, precision="double"))
    solution: dict[str, Any] = json.loads(_core.solve_simulated(machine, exchange, problem))
    return solution
