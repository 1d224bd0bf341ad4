"""The exchanges of Feldmann, Stricker and Warfel 1993, compiled by weft and by their compiler, and simulated."""

from __future__ import annotations

import functools
import json
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
"""Patterns that the paper's program of message passing goes through in stages (table 2: "butterfly"), and the pattern
that has their order."""


class SimulatedExchanges:
    """Compiles and executes exchanges on the simulated iWarp, each once."""

    def __init__(self) -> None:
        self.pattern = functools.cache(self._pattern)
        self.mesh = functools.cache(self._mesh)

    def _pattern(self, name: str, words: int) -> Times:
        machine = find_machine(MACHINE)
        connections = ConnectionSet.named(name, machine, words, _SEED)
        ordered = ConnectionSet.named(IN_STAGES[name], machine, words, _SEED) if name in IN_STAGES else None
        return _times(machine, connections, random=_SEED if name in RANDOM_ORDER else None, ordered=ordered)

    def _mesh(self, name: str) -> MeshResult:
        from weft.conset.finite_elements import Partition
        from weft.conset.meshes import paper_mesh

        partition = Partition.of(paper_mesh(name), _RANKS)
        structure = partition.structure()
        machine = find_machine(MACHINE)
        connections = ConnectionSet.from_json(json.dumps(partition.connection_set(NODE_WORDS)))
        placed, _ = connections.placed(machine, _SEED)
        times = _times(machine, placed, sparse=True, random=None)
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
    random: int | None,
    ordered: ConnectionSet | None = None,
) -> Times:
    """All ways of an exchange, clocks; of blocks, or word by word from sparse structures. Messages are `ordered` as the
    program has them that the paper times."""
    access = _SPARSE if sparse else {}
    own = compile(connections, machine, seed=_SEED, messages=False, **access)
    apr = compile(connections, machine, compiler="apr", seed=_SEED, messages=False, **access)

    def clocks(schedule: Schedule | None, connections: ConnectionSet = connections) -> float:
        elements = _COPIED if schedule is None else _GATHERED
        execution = execute(machine, connections, schedule, random=random, elements=elements if sparse else None)
        return execution.seconds[0] / CLOCK

    bounds = [bound["value"] for bound in json.loads(own.to_json())["lower_bounds"] if bound["unit"] == "s"]
    return Times(
        phases=own.phases, apr_phases=apr.phases, predicted=_by_formula(own) / CLOCK,
        apr_predicted=_by_formula(apr) / CLOCK, conset=clocks(own), apr=clocks(apr),
        messages=clocks(None, ordered or connections), messages_at_once=None if ordered is None else clocks(None),
        bound=max(bounds) / CLOCK,
    )  # fmt: skip


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
