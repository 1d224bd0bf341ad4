"""The finite-element solver against a direct one."""

import json

import numpy as np
import pytest

import weft
from weft import _core
from weft.conset import exchange, meshes
from weft.conset.finite_elements import Partition, assemble, solve_request

pytest.importorskip("skfem")
pytest.importorskip("pymetis")


def solved(system, by="conset", parts=64, world="simulated"):
    connections = weft.conset.ConnectionSet.from_json(json.dumps(system.connection_set()))
    schedule = weft.conset.compile(connections, "iwarp64", effort=0.1) if by == "conset" else None
    request = exchange.request(connections, schedule, word_bytes=8)
    problem = json.dumps(system.problem(tolerance=1e-8))
    if world == "threads":
        return json.loads(_core.solve_threads(request, problem))
    return json.loads(_core.solve_simulated(weft.machine("iwarp64"), request, problem))


def error(system, found):
    direct = system.direct()
    return np.abs(np.array(found["unknowns"]) - direct).max() / np.abs(direct).max()


@pytest.mark.parametrize("by", ["conset", "messages"])
@pytest.mark.parametrize(
    ("mesh", "equation"),
    [(meshes.plate(700, 80), "poisson"), (meshes.crack(600), "poisson"), (meshes.block((4, 4, 4)), "elasticity")],
    ids=["plate", "crack", "block"],
)
def test_the_simulated_solver_finds_what_a_direct_one_finds(native, mesh, equation, by):
    system = assemble(Partition.of(mesh, 64), equation)
    found = solved(system, by)
    assert found["residual"] <= 1e-8
    assert error(system, found) < 1e-6
    assert found["compute_seconds"] > 0
    assert found["exchange_seconds"] > 2 * 528 * 50e-9


def test_threads_find_the_same(native):
    system = assemble(Partition.of(meshes.plate(300, 40), 4))
    found = solved(system, "messages", parts=4, world="threads")
    assert error(system, found) < 1e-6


@pytest.mark.mpi
def test_ranks_of_mpi_find_the_same(native):
    from weft.launch.exchanging import run_mpi
    from weft.study.exchanging import of_ranks

    system = assemble(Partition.of(meshes.plate(120, 24), 2))
    connections = weft.conset.ConnectionSet.from_json(json.dumps(system.connection_set()))
    schedule = weft.conset.compile(connections, of_ranks(2), effort=0.1)
    requests = [
        solve_request(system, exchange.request(connections, plan, word_bytes=8), tolerance=1e-8)
        for plan in (schedule, None)
    ]
    for found in run_mpi("solve", requests, 2):
        assert error(system, found) < 1e-6


def test_elasticity_of_a_plate_is_solved(native):
    system = assemble(Partition.of(meshes.plate(200, 40), 4), "elasticity")
    found = solved(system, "messages", parts=4, world="threads")
    assert error(system, found) < 1e-5


def test_parts_share_what_the_structure_says():
    partition = Partition.of(meshes.plate(700, 80), 8)
    assert sorted(np.concatenate([partition.part])) == sorted(partition.part)
    structure = partition.structure()
    assert (structure.elements, structure.nodes) == (2 * 700 - 2 - 80, 700)
    shared = partition.shared
    assert all(shared[other, one] == count for (one, other), count in shared.items())
    # A node of n parts is in n (n - 1) ordered pairs.
    owners = np.zeros(700, dtype=int)
    for nodes in partition.nodes_of_parts:
        owners[nodes] += 1
    assert sum(shared.values()) == int((owners * (owners - 1)).sum())
    connections = partition.connection_set(2)["connections"]
    assert sum(each["words"] for each in connections) == 2 * sum(shared.values())


def test_what_cannot_be_solved_is_refused(native):
    partition = Partition.of(meshes.plate(100, 20), 4)
    with pytest.raises(weft.UsageError, match="no equation 'heat'; there are poisson, elasticity"):
        assemble(partition, "heat")
    with pytest.raises(weft.UsageError, match="1000 parts of 178 cells"):
        Partition.of(meshes.plate(100, 20), 1000)
    system = assemble(partition)
    connections = weft.conset.ConnectionSet.from_json(json.dumps(system.connection_set()))
    four = exchange.request(connections, word_bytes=4)
    with pytest.raises(weft.UsageError, match="the exchange has words of 4 bytes, the unknowns have 8"):
        _core.solve_threads(four, json.dumps(system.problem()))
    with pytest.raises(weft.UsageError, match="gives no time of float32_sum_of_products"):
        _core.solve_simulated(weft.machine("iwarp64"), four, json.dumps(system.problem(precision="single")))
