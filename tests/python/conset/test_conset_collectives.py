"""Compiled collectives: the command line, graphs of users, what is refused, and real numbers over MPI."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import UsageError
from weft.conset import collective_loads, collective_rounds, collectives

_RING = {
    "name": "ring",
    "nodes": 4,
    "forwards": True,
    "message_seconds": 1e-6,
    "links": [
        {"from": f"node {n}", "to": f"node {(n + 1) % 4}", "bandwidth": 1e9, "latency": 1e-6, "duplex": True}
        for n in range(4)
    ],
}


def _star(ranks: int) -> dict[str, object]:
    """Ranks that have one link each, to the first; sums go in over them while others come back."""
    links = [
        {"from": "node 0", "to": f"node {n}", "bandwidth": 1e9, "latency": 1e-6, "duplex": True}
        for n in range(1, ranks)
    ]
    return {"name": "star", "nodes": ranks, "message_seconds": 1e-6, "links": links}


def _weft(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "weft.cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring.json"
    path.write_text(json.dumps(_RING))
    return path


@pytest.mark.parametrize("name", collectives.names())
def test_every_collective_is_at_the_optimum_of_a_ring(ring: Path, name: str) -> None:
    schedule = collectives.compile(name, ring, "4M", method="throughput").schedule
    # Blocks are divided among paths step by step, until they are near enough.
    assert schedule.efficiency == pytest.approx(1.0, rel=1e-4 if name == "all-to-all" else 1e-6)
    # Two links into every rank: an allgather brings three quarters of the buffer over them, a broadcast all of it.
    # Of an all-to-all four quarters leave a rank, of which one goes two links far.
    share = {"broadcast": 1.0, "reduce": 1.0, "allreduce": 1.5, "all-to-all": 1.0}.get(name, 0.75)
    assert schedule.bound_seconds == pytest.approx(share * (4 << 20) / 2e9)
    assert schedule.predicted_seconds >= schedule.bound_seconds


def test_an_allreduce_of_a_star_uses_links_both_ways_at_once(tmp_path: Path) -> None:
    path, written = tmp_path / "star.json", tmp_path / "allreduce.json"
    path.write_text(json.dumps(_star(17)))
    schedule = collectives.compile("allreduce", path, "1G").schedule
    assert (schedule.form, len(schedule.stages), schedule.trees) == ("reduce-broadcast trees", 1, 1)
    assert schedule.efficiency == pytest.approx(1.0)
    # The whole buffer goes over every link once each way.
    assert schedule.bound_seconds == pytest.approx((1 << 30) / 1e9)
    assert schedule.predicted_seconds < 1.01 * schedule.bound_seconds
    loads = collective_loads.loads(json.loads(schedule.to_json()))
    assert {load.bytes for load in loads} == {1 << 30}
    done = _weft("compile", "allreduce", "--on", str(path), "--bytes", "1M", "-o", str(written))
    assert done.returncode == 0, done.stderr
    assert "reduce-broadcast" in done.stdout
    assert "limited by        what crosses between node 1 and the rest" in done.stdout
    done = _weft("show", str(written), "--format", "text")
    assert "reduce-broadcast, 1 trees, in" in done.stdout
    done = _weft("verify", str(written))
    assert "100.00% of the certified optimum" in done.stdout


def test_a_group_of_a_machine_and_the_model_against_virtual_time() -> None:
    compiled = weft.conset.compile("allreduce", on="rail-h100", bytes="16M", nodes=[0, 1, 2, 3, 32, 33, 34, 35])
    assert compiled.schedule.ranks == 8
    assert compiled.simulate(data=True) == pytest.approx(compiled.predict(), rel=0.25)


def test_short_buffers_take_few_messages() -> None:
    short, long = (weft.conset.compile("allgather", on="rail-h100", bytes=length) for length in ("16K", "256M"))
    # Merged trees or recursive doubling, which are as fast: each rank sends once in each of eight rounds.
    assert short.schedule.messages == 8 * 256
    for chosen, length in ((short, "16K"), (long, "256M")):
        trees = weft.conset.compile("allgather", on="rail-h100", bytes=length, method="throughput")
        assert not trees.schedule.merged
        assert chosen.simulate() <= trees.simulate()
    assert short.simulate() < 0.5 * trees.simulate()


def test_the_command_line_writes_and_verifies(ring: Path, tmp_path: Path) -> None:
    output = tmp_path / "allreduce.json"
    words = ["compile", "allreduce", "--on", str(ring), "--bytes", "1M", "-o", str(output)]
    done = _weft(*words, "--method", "throughput")
    assert done.returncode == 0, done.stderr
    assert "certified; 100.00% of it is reached" in done.stdout
    done = _weft("verify", str(output), "--pattern", "allreduce")
    assert done.returncode == 0
    assert "verified: allreduce on ring, 4 ranks" in done.stdout
    content = json.loads(output.read_text())
    content["stages"][0]["trees"][0]["transfers"].pop()
    output.write_text(json.dumps(content, separators=(",", ":")))
    done = _weft("verify", str(output))
    assert done.returncode == 2
    assert "refused: stage 0: tree 0: the root's sum is of" in done.stderr


def test_an_exchange_is_written_verified_and_shown(ring: Path, tmp_path: Path) -> None:
    output = tmp_path / "allreduce.json"
    done = _weft("compile", "allreduce", "--on", str(ring), "--bytes", "1K", "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert "rounds" in done.stdout
    assert "considered" in done.stdout
    assert "what leaves each of 4 sets, such as node 0" in done.stdout
    done = _weft("verify", str(output), "--pattern", "allreduce")
    assert done.returncode == 0
    assert "rounds" in done.stdout
    done = _weft("show", str(output), "--format", "text")
    assert done.returncode == 0
    assert "round  what    messages" in done.stdout
    content = json.loads(output.read_text())
    content["exchange"]["rounds"].pop()
    output.write_text(json.dumps(content, separators=(",", ":")))
    done = _weft("verify", str(output))
    assert done.returncode == 2
    assert "has not what it should have in the end" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize("length", ["2K", "64K", "4M"])
def test_what_is_chosen_is_fastest_in_virtual_time(length: str) -> None:
    chosen = weft.conset.compile("allreduce", on="rail-h100", bytes=length, nodes=range(24))
    times = [simulated for _, _, simulated in chosen.considered if simulated is not None]
    assert len(times) >= 3
    assert chosen.simulate() == min(times)
    assert chosen.schedule.form in {form for form, _, _ in chosen.considered}
    assert chosen.simulate(data=True) == pytest.approx(chosen.simulate())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["allgather", "--on", "rail-h100"], "expected the length of its buffer"),
        (["hypercube", "--on", "iwarp64", "--bytes", "1M"], "'hypercube' is none"),
        (["hypercube", "--on", "iwarp64", "--nodes", "0,1"], "--nodes and --root are of a collective"),
        (["allgather", "--on", "hgx-h100", "--bytes", "1M", "--root", "2"], "--root is of broadcast and reduce"),
        (["allgather", "--on", "hgx-h100", "--bytes", "1M", "--words", "2"], "--words: of a pattern"),
        (["allgather", "--on", "rail-h100", "--bytes", "1M", "--nodes", "3"], "a group of 1"),
        (["allgather", "--on", "rail-h100", "--bytes", "1M", "--nodes", "3,999"], "there is no node 999"),
        (["allgather", "--on", "rail-h100", "--bytes", "512"], "fewer than ranks"),
        (["broadcast", "--on", "hgx-h100", "--bytes", "1K", "--root", "8"], "ranks are 0 to 7"),
        (["allgather", "--on", "cm2-8k", "--bytes", "1M"], "passes no messages"),
        (["allgather", "--on", "frontera", "--bytes", "1G", "--method", "throughput"], "compile for a group"),
        (["allgather", "--on", "hgx-h100", "--bytes", "many"], "is not a number"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(words: list[str], expected: str) -> None:
    done = _weft("compile", *words)
    assert done.returncode == 2, done.stderr
    assert expected in done.stderr.replace("\n", " ")


@pytest.mark.parametrize("slow", [1e9, 3e9, 25e9])
def test_no_exchange_is_predicted_to_outrun_its_slowest_link(tmp_path: Path, slow: float) -> None:
    """Every byte of the sum has to cross the cable both ways, and one way between two nodes of unequal links."""
    path = tmp_path / "graph.json"
    length = 1 << 20
    cable = [{"from": "switch 0", "to": "switch 1", "bandwidth": slow, "duplex": True}]
    links = [{"from": f"node {n}", "to": f"switch {n // 6}", "bandwidth": 25e9, "duplex": True} for n in range(12)]
    path.write_text(json.dumps({"nodes": 12, "switches": 2, "links": links + cable}))
    allreduce = collectives.compile("allreduce", path, length)
    least = length / slow * (1 - 1e-9)
    assert allreduce.predict() >= least
    assert all(predicted >= least for _, predicted, _ in allreduce.considered)
    ends = [("node 0", "node 1", 25e9), ("node 1", "node 0", slow)]
    uneven = [{"from": start, "to": end, "bandwidth": speed} for start, end, speed in ends]
    path.write_text(json.dumps({"nodes": 2, "links": uneven}))
    considered = collectives.compile("allreduce", path, length).considered
    assert min(predicted for _, predicted, _ in considered) >= least


def test_graphs_with_faults_are_refused(tmp_path: Path) -> None:
    def refuse(graph: object) -> str:
        path = tmp_path / "graph.json"
        path.write_text(json.dumps(graph))
        with pytest.raises(UsageError) as caught:
            collectives.compile("allgather", path, "1M")
        return str(caught.value)

    link = {"from": "node 0", "to": "node 1", "bandwidth": 1e9}
    assert "expected a bandwidth above 0" in refuse({"nodes": 2, "links": [{**link, "bandwidth": 0}]})
    assert "not joined by links both ways" in refuse({"nodes": 2, "links": [link]})
    path = tmp_path / "line.json"
    links = [{**link, "duplex": True}, {"from": "node 1", "to": "node 2", "bandwidth": 1e9, "duplex": True}]
    path.write_text(json.dumps({"nodes": 3, "links": links}))
    with pytest.raises(
        UsageError, match='nodes outside the group pass nothing on, unless the graph has "forwards": true'
    ):
        collectives.compile("allgather", path, "1M", nodes=[0, 2])
    path.write_text(json.dumps({"nodes": 3, "links": links, "forwards": True}))
    collectives.compile("allgather", path, "1M", nodes=[0, 2])
    assert "no vertex is called 'node 1'" in refuse({"nodes": ["node 0", "b"], "links": [link]})
    assert "two vertices are called 'a'" in refuse({"nodes": ["a", "a"], "links": []})
    assert "not a graph" in refuse({"nodes": 2})


def test_connections_are_not_compiled_for_a_graph(ring: Path) -> None:
    expected = (
        "a graph is for collectives (allgather, reduce-scatter, allreduce, broadcast, reduce, all-to-all); connections"
    )
    done = _weft("compile", "torus", "--on", str(ring))
    assert (done.returncode, expected in done.stderr.replace("\n", " ")) == (2, True), done.stderr
    with pytest.raises(UsageError, match="connections are compiled for a machine"):
        weft.conset.compile("torus", on=ring)


def test_threads_compare_every_buffer(ring: Path) -> None:
    for name in collectives.names():
        assert len(collectives.compile(name, ring, 4 * 1001).schedule.run_threads(2)) == 2


class _Alone:
    """A communicator of another size than what was compiled."""

    def Get_size(self) -> int:  # noqa: N802
        return 3

    def Get_rank(self) -> int:  # noqa: N802
        return 0


def test_execution_refuses_what_does_not_fit(ring: Path) -> None:
    compiled = collectives.compile("allreduce", ring, "1M")
    with pytest.raises(UsageError, match="4 ranks on a communicator of 3"):
        compiled.execute(_Alone(), np.zeros(1 << 18, np.float32))
    with pytest.raises(UsageError, match="must be associative"):
        compiled.execute(_Alone(), np.zeros(1 << 18, np.float32), "difference")


_PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
from weft.conset import collective_loads, collective_rounds, collectives

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
elements = 1003
whole = [np.arange(elements, dtype=np.int64) * (r + 1) + r for r in range(ranks)]
expected = sum(whole)
each, more = divmod(elements, ranks)
starts = [r * each + min(r, more) for r in range(ranks + 1)]
shard = slice(starts[rank], starts[rank + 1])
for method in ("throughput", "latency"):
    def compiled(name, **settings):
        method_or_auto = {} if name in ("broadcast", "reduce") else {"method": method}
        return collectives.compile(name, sys.argv[1], elements * 8, element_bytes=8, **method_or_auto, **settings)

    assert (compiled("allreduce").execute(comm, whole[rank]) == expected).all()
    assert (compiled("allreduce").execute(comm, whole[rank], "maximum") == np.maximum.reduce(whole)).all()
    assert (compiled("reduce-scatter").execute(comm, whole[rank]) == expected[shard]).all()
    assert (compiled("allgather").execute(comm, whole[2][shard]) == whole[2]).all()
    assert (compiled("broadcast", root=1).execute(comm, whole[rank]) == whole[1]).all()
    total = compiled("reduce", root=3).execute(comm, whole[rank])
    assert (total is None) == (rank != 3) and (rank != 3 or (total == expected).all())
print("right", rank)
"""


def test_real_numbers_over_mpi_in_virtual_time(ring: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    # The data is what counts; a schedule for a ring runs on any machine.
    star = tmp_path / "star.json"
    star.write_text(json.dumps(_star(4)))
    for graph in (ring, star):
        done = _weft("run", "--on", "hgx-h100", "-n", "4", str(program), str(graph))
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("right") == 4


def test_elements_that_virtual_time_does_not_add_are_left_to_the_model() -> None:
    chosen = weft.conset.compile("allreduce", on="hgx-h100", bytes="1M", element_bytes=2)
    assert all(simulated is None for _, _, simulated in chosen.considered)
    assert chosen.schedule.form == min(chosen.considered, key=lambda one: one[1])[0]


def test_packed_files_are_read_as_others_and_refused_when_they_are_none(tmp_path: Path) -> None:
    path = tmp_path / "allreduce.json.gz"
    compiled = weft.conset.compile("allreduce", on="hgx-h100", bytes="1M")
    compiled.write(path)
    assert collectives.is_one(path)
    assert collectives.read(path).to_json() == compiled.schedule.to_json()
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert "packed by gzip as its name says" in _weft("verify", str(path)).stderr.replace("\n", " ")
    path.write_bytes(b"{}")
    done = _weft("verify", str(path))
    assert (done.returncode, "expected a schedule in JSON, packed by gzip" in done.stderr) == (2, True)
    schedule = tmp_path / "schedule.json.gz"
    done = _weft("compile", "hypercube", "--on", "iwarp64", "--effort", "0", "-o", str(schedule))
    assert done.returncode == 0, done.stderr
    done = _weft("verify", str(schedule), "--pattern", "hypercube")
    assert done.returncode == 0, done.stderr


def test_more_ranks_than_trees_may_have_exchange_in_rounds(tmp_path: Path) -> None:
    """A tree for every rank would be nine million transfers; exchanges in rounds are some ten thousand."""
    ranks = 3000
    links = [{"from": f"node {rank}", "to": "hub", "bandwidth": 1e9, "duplex": True} for rank in range(ranks)]
    star = tmp_path / "star.json"
    star.write_text(json.dumps({"nodes": ranks, "switches": ["hub"], "message_seconds": 1e-6, "links": links}))
    for collective in ("allreduce", "reduce-scatter"):
        schedule = collectives.compile(collective, star, "1M").schedule
        assert schedule.trees == 0
        assert schedule.rounds > 1
        schedule.verify()
    for collective in ("allreduce", "allgather"):
        done = _weft("compile", collective, "--on", str(star), "--bytes", "1M", "--method", "throughput")
        assert done.returncode == 2
        assert "3000 trees of 2999 transfers are more than a schedule may have" in done.stderr


def test_trees_of_rank_0_stand_for_those_of_all_chips_of_a_pod(tmp_path: Path) -> None:
    schedule = collectives.compile("allgather", "tpu-v4", "256M", method="throughput").schedule
    schedule.verify()
    assert schedule.efficiency > 0.99
    content = json.loads(schedule.to_json())
    (stage,) = content["stages"]
    assert stage["translated"] == [16, 16, 16]
    assert schedule.trees == 4096 * len(stage["trees"])
    # Every chip receives what all others have, and the links carry nothing else.
    carried = [load.bytes for load in collective_loads.loads(content)]
    assert sum(carried) == 4095 * (256 << 20)
    assert max(carried) < 1.02 * min(carried)
    with pytest.raises(UsageError, match=r"trees, written for rank 0 and moved to the others.*group of its nodes"):
        collective_rounds.rounds(schedule)
    schedule_file = tmp_path / "allgather.json"
    schedule_file.write_text(schedule.to_json())
    shown = _weft("show", str(schedule_file), "--format", "text")
    assert shown.returncode == 0, shown.stderr
    assert "trees, which are moved to all ranks" in shown.stdout
    refused = _weft("export", str(schedule_file), "--format", "c")
    assert refused.returncode == 2
    assert "too many to be written one by one" in refused.stderr


_COPYING = """
name = "copying"
title = "Two ranks of one node"
year = 2026
description = "Ranks copy through memory, so that nodes and not links take time for bytes."

[topology]
kind = "crossbar"
nodes = 2
source = "made up"

[switching]
technique = "cut-through"
source = "made up"

[[protocols]]
send_overhead = 1e-6
receive_overhead = 1e-6
send_byte_time = SENDING
receive_byte_time = 3e-9
hop_time = 0
byte_time = 0
completion = "buffered"
source = "made up"

[self_message]
startup = 1e-7
byte_time = 1e-11
source = "made up"
"""


def test_a_machine_whose_nodes_and_not_its_links_take_time_for_bytes(tmp_path: Path) -> None:
    """As this machine is described by its own measurements, where ranks copy through memory."""
    path = tmp_path / "here.toml"
    path.write_text(_COPYING.replace("SENDING", "1e-9"))
    schedule = collectives.compile("broadcast", path, "1M").schedule
    assert schedule.bound_seconds == pytest.approx((1 << 20) * 4e-9)
    path.write_text(_COPYING.replace("SENDING", "0").replace("receive_byte_time = 3e-9", "receive_byte_time = 0"))
    with pytest.raises(UsageError, match="neither its links nor its nodes take time for a byte"):
        collectives.compile("broadcast", path, "1M")
