"""Compiled collectives beside the optimum of a linear programme, and searches that Ctrl-C or the effort ends."""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_array

from benches.conset import networks, topologies
from waiting import until
from weft import UsageError, _core
from weft.conset import collective_drawing, collectives


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["alike", "asymmetric", "measured"])
def test_trees_reach_the_optimum_of_random_graphs(seed: int, kind: str) -> None:
    kinds = {} if kind == "alike" else {kind: True}
    graph = networks.random_graph(seed, vertices=4 + seed, **kinds)
    network = _core.Fabric.parse(json.dumps(graph), graph["name"])
    for collective in ("allgather", "reduce-scatter"):
        schedule = _core.compile_collective(network, collective, 4096 * network.ranks, method="throughput")[0]
        schedule.verify()
        content = json.loads(schedule.to_json())
        [stage] = content["stages"]
        best = topologies.optimum(content["fabric"], reverse=collective == "reduce-scatter")
        assert 0.99 * best <= topologies.reached(stage, content["fabric"]) <= best * (1 + 1e-6)
        assert best <= stage["bound"]["rate"] * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(16))
def test_an_allreduce_over_links_one_way_reaches_the_optimum(seed: int) -> None:
    draw = random.Random(seed)
    ranks = draw.randint(3, 9)
    order = draw.sample(range(ranks), ranks)
    ends = [(order[index - 1], order[index]) for index in range(ranks)]
    ends += [draw.sample(range(ranks), 2) for _ in range(draw.randint(0, 3 * ranks))]
    links = [
        {
            "from": f"node {start}",
            "to": f"node {end}",
            "bandwidth": draw.choice((1e9, 5e9, 25e9, draw.uniform(1e9, 5e10))),
        }
        for start, end in ends
    ]
    network = _core.Fabric.parse(json.dumps({"nodes": ranks, "links": links}), "one way")
    schedule = _core.compile_collective(network, "allreduce", 1 << 28, method="throughput")[0]
    schedule.verify()
    content = json.loads(schedule.to_json())
    # Bandwidths become whole numbers in parts of 1024.
    assert 0.998 * _optimum_of_tree_pairs(content["fabric"]) <= _reached_by_all_stages(content)
    assert schedule.bound_seconds <= content["bytes"] / _optimum_of_tree_pairs(content["fabric"]) * (1 + 1e-6)


def test_the_text_has_both_trees_where_sums_take_another_than_copies() -> None:
    ends = [(start, (start + 1) % 4) for start in range(4)]
    links = [
        {"from": f"node {start}", "to": f"node {end}", "bandwidth": 1e9 if start == 2 else 9e9} for start, end in ends
    ]
    network = _core.Fabric.parse(json.dumps({"nodes": 4, "links": links}), "ring")
    schedule = _core.compile_collective(network, "allreduce", 4096, method="throughput")[0]
    lines = [line.strip() for line in collective_drawing.text(schedule).splitlines()]
    sums, copies = lines.index("sums come to the root over"), lines.index("and copies go out over")
    root = int(lines[sums + 1])
    around = [str((root + step) % 4) for step in range(4)]
    assert lines[sums + 1 : copies] == [around[0], *reversed(around[1:])]
    assert lines[copies + 1 : copies + 5] == around


def _reached_by_all_stages(content: dict[str, Any]) -> float:
    """Bytes of the buffer a second that the fullest links let through, one stage after another."""
    seconds = 0.0
    for stage in content["stages"]:
        load = [0.0] * len(content["fabric"]["links"])
        for tree in stage["trees"]:
            for number in itertools.chain.from_iterable(path for _, _, path in tree["transfers"]):
                load[number] += tree["bytes"]
        seconds += max(
            carried / link["bandwidth"] for carried, link in zip(load, content["fabric"]["links"], strict=True)
        )
    return float(content["bytes"] / seconds)


def _optimum_of_tree_pairs(fabric: dict[str, Any]) -> float:
    """Bytes of a buffer a second by trees to any rank and from it, all at the same time, on a network of ranks alone.

    Unknown are what each rank is the root of, how much of every link is used for sums and for copies, and of every
    rank a flow of all that is reduced from it to the roots, and of all that is copied to it from them (Edmonds 1973).
    """
    ranks, links = len(fabric["ranks"]), fabric["links"]
    scale, count = max(link["bandwidth"] for link in links), len(fabric["links"])
    size = ranks + 2 * count + 2 * ranks * count
    balance = lil_array((2 * ranks * ranks, size))
    limit = lil_array((count + 2 * ranks * count, size))
    for direction, rank in itertools.product(range(2), range(ranks)):
        block = direction * ranks + rank
        flow, uses, row = ranks + 2 * count + block * count, ranks + direction * count, block * ranks
        for number, link in enumerate(links):
            start, end = (link["from"], link["to"]) if direction else (link["to"], link["from"])
            for vertex, sign in ((start, 1.0), (end, -1.0)):
                if vertex != rank:
                    balance[row + vertex, flow + number] += sign
            limit[count + block * count + number, flow + number] = 1.0
            limit[count + block * count + number, uses + number] = -1.0
        for root in range(ranks):
            if root != rank:
                balance[row + root, root] = -1.0
    for number in range(count):
        limit[number, ranks + number] = limit[number, ranks + count + number] = 1.0
    most = np.zeros(limit.shape[0])
    most[:count] = [link["bandwidth"] / scale for link in links]
    objective = np.zeros(size)
    objective[:ranks] = -1.0
    solved = linprog(  # type: ignore[call-overload]  # Its stubs know no sparse arrays.
        objective, A_eq=balance.tocsr(), b_eq=np.zeros(balance.shape[0]), A_ub=limit.tocsr(), b_ub=most
    )
    assert solved.success, solved.message
    return float(-solved.fun * scale)


def test_the_linear_programme_knows_the_optimum_of_a_ring() -> None:
    graph = networks.torus((5,))
    content = json.loads(_compiled(graph).to_json())
    # Four other ranks' data comes over two links.
    assert topologies.optimum(content["fabric"]) == pytest.approx(2 * 25e9 / 4)


def _compiled(graph: networks.Graph) -> _core.CollectiveSchedule:
    network = _core.Fabric.parse(json.dumps(graph), graph["name"])
    return _core.compile_collective(network, "allgather", 4096 * network.ranks, method="throughput")[0]


def test_a_search_that_is_interrupted_keeps_the_best_so_far(tmp_path: Path) -> None:
    graph, path = tmp_path / "graph.json", tmp_path / "allreduce.json"
    graph.write_text(json.dumps(networks.random_graph(1, vertices=300)))
    words = [sys.executable, "-m", "weft.cli.main", "compile", "allreduce", "--on", str(graph), "--bytes", "64M"]
    process = subprocess.Popen([*words, "-o", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    threads = Path(f"/proc/{process.pid}/task")
    until(lambda: any(name.read_text().strip() == "weft" for name in threads.glob("*/comm")), process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err == f"interrupted: the best schedule so far is in {path}\n"
    assert collectives.read(path).collective == "allreduce"


def test_effort_of_nothing_executes_nothing_in_virtual_time() -> None:
    chosen = collectives.compile("allreduce", "hgx-h100", "1M", effort=0)
    assert all(simulated is None for _, _, simulated in chosen.considered)
    assert not chosen.interrupted
    with pytest.raises(UsageError, match="expected an effort of at least 0 seconds, found -1"):
        collectives.compile("allreduce", "hgx-h100", "1M", effort=-1)


def test_options_of_patterns_mean_nothing_to_a_collective(command: Callable[[str], tuple[int, str, str]]) -> None:
    code, _, err = command("compile allreduce --on hgx-h100 --bytes 1M --seed 3 --compiler apr --whole")
    assert code == 2
    assert "--seed, --compiler, --whole: of a pattern, not of allreduce" in err.replace("\n", " ")


def test_the_method_latency_is_there_on_a_graph_without_axes() -> None:
    graph = networks.random_graph(1, vertices=20)
    network = _core.Fabric.parse(json.dumps(graph), graph["name"])
    for collective in collectives.names():
        schedule = _core.compile_collective(network, collective, 4096 * network.ranks, method="latency")[0]
        schedule.verify()
        # An allreduce may be an exchange, or a single tree there and back, and blocks may go by themselves.
        is_direct = schedule.form == "direct messages"
        assert schedule.merged or schedule.rounds > 0 or schedule.trees == 1 or is_direct
