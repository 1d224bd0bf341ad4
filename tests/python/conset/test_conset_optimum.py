"""Compiled collectives beside the optimum of a linear programme, and searches that Ctrl-C or the effort ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benches.conset import networks, topologies
from waiting import until
from weft import UsageError, _core
from weft.conset import collectives


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
        # An allreduce may be an exchange.
        assert schedule.merged or schedule.rounds > 0
