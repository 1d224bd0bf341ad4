"""Compiled all-to-alls: beside the optimum of a linear programme, over MPI, on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import weft
from benches.conset import networks, oracles, topologies
from weft import UsageError, _core
from weft.conset import collective_loads, collectives
from weft.launch import mpiexec

_Command = Callable[[str], tuple[int, str, str]]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["alike", "asymmetric", "measured"])
def test_paths_reach_the_optimum_of_random_graphs(seed: int, kind: str) -> None:
    kinds = {} if kind == "alike" else {kind: True}
    graph = networks.random_graph(seed, vertices=4 + 2 * seed, **kinds)
    network = _core.Fabric.parse(json.dumps(graph), graph["name"])
    block = 1 << 20
    schedule = _core.compile_collective(network, "all-to-all", block * network.ranks, method="throughput")[0]
    schedule.verify()
    content = json.loads(schedule.to_json())
    best = topologies.least_seconds_of_blocks(content["fabric"], oracles.blocks(content))
    assert oracles.wrong_data(content) is None
    assert 0.99 * best <= schedule.bound_seconds <= best * (1 + 1e-6)
    busiest = collective_loads.loads(content)[0].seconds
    assert best * (1 - 1e-6) <= busiest <= 1.01 * best
    assert schedule.efficiency == pytest.approx(schedule.bound_seconds / busiest, rel=1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_blocks_of_unlike_length_reach_the_optimum(seed: int) -> None:
    draw = np.random.default_rng(seed)
    graph = networks.random_graph(seed, vertices=5 + seed, asymmetric=True)
    network = _core.Fabric.parse(json.dumps(graph), graph["name"])
    blocks = 4 * draw.integers(0, 1 << 18, (network.ranks, network.ranks)) * draw.integers(0, 2, (network.ranks,) * 2)
    blocks[0, 1] += 4
    table, bytes_ = blocks.tolist(), int(blocks.sum(axis=1).max())
    words = (network, "all-to-all", bytes_, 4, 0, "throughput", None, 1.0, table)
    schedule = _core.compile_collective(*words)[0]
    schedule.verify()
    assert schedule.blocks == table
    content = json.loads(schedule.to_json())
    assert oracles.wrong_data(content) is None
    best = topologies.least_seconds_of_blocks(content["fabric"], table)
    assert 0.99 * best <= schedule.bound_seconds <= best * (1 + 1e-6)
    assert collective_loads.loads(content)[0].seconds <= 1.01 * best


def _graph(tmp_path: Path, **more: object) -> Path:
    """Five nodes in a ring, of which two have a switch between them too."""
    link = {"bandwidth": 1e9, "latency": 1e-6, "duplex": True}
    links = [{"from": f"node {n}", "to": f"node {(n + 1) % 5}", **link} for n in range(5)]
    links += [{"from": f"node {n}", "to": "switch 0", **link} for n in (0, 2)]
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"nodes": 5, "switches": 1, "message_seconds": 1e-6, "links": links, **more}))
    return path


_PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
from weft.conset import collectives

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
elements = 1003
lengths = [elements // ranks + (r < elements % ranks) for r in range(ranks)]
array = np.arange(elements, dtype=np.float32) + 10000 * rank
expected = np.empty(lengths[rank] * ranks, np.float32)
comm.Alltoallv([array, lengths], [expected, [lengths[rank]] * ranks])
forms = set()
for method in ("auto", "throughput", "latency"):
    for length in (4 * elements,):
        compiled = collectives.compile("all-to-all", sys.argv[1], length, method=method)
        forms.add(compiled.schedule.form)
        received = compiled.execute(comm, array)
        assert received.dtype == array.dtype and np.array_equal(received, expected), (method, rank)
blocks = [[3 * (to + 1) * (sender != 2) * (to != 3 or sender == 0) for to in range(ranks)] for sender in range(ranks)]
array = np.arange(sum(blocks[rank]), dtype=np.float32) + 10000 * rank
theirs = [row[rank] for row in blocks]
expected = np.empty(sum(theirs), np.float32)
comm.Alltoallv([array, blocks[rank]], [expected, theirs])
for method in ("auto", "throughput", "latency"):
    bytes_of_blocks = 4 * np.array(blocks)
    compiled = collectives.compile("all-to-all", sys.argv[1], method=method, blocks=bytes_of_blocks)
    assert np.array_equal(compiled.execute(comm, array), expected), (method, rank)
if rank == 0:
    print(len(forms) > 1, "right")
"""


@pytest.mark.mpi
def test_every_rank_gets_its_blocks_over_mpi(tmp_path: Path) -> None:
    words = [*mpiexec.command(), "-n", "5", sys.executable, "-c", _PROGRAM, str(_graph(tmp_path))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "right"]


@pytest.mark.parametrize("forwards", [False, True])
@pytest.mark.parametrize("elements", [5, 6, 1003])
def test_threads_and_virtual_time_have_the_right_data(tmp_path: Path, forwards: bool, elements: int) -> None:
    for method in ("auto", "throughput", "latency"):
        compiled = collectives.compile("all-to-all", _graph(tmp_path, forwards=forwards), 4 * elements, method=method)
        assert len(compiled.schedule.run_threads(2)) == 2
    for method in ("auto", "throughput"):
        on_machine = collectives.compile("all-to-all", "rail-h100", 4 * 37 * elements, nodes=range(37), method=method)
        assert on_machine.simulate(data=True) > 0


def test_an_all_to_all_of_bytes_is_a_collective_and_one_of_words_a_pattern(command: _Command, tmp_path: Path) -> None:
    path, output = _graph(tmp_path), tmp_path / "blocks.json"
    code, out, err = command(f"compile all-to-all --on {path} --bytes 1M -o {output}")
    assert code == 0, err
    assert "all-to-all on" in out
    assert "paths, packed paths" in out
    assert "limited by        what links carry: node" in out
    assert "by bandwidth alone, whatever the form" in out
    code, out, err = command(f"verify {output} --pattern all-to-all")
    assert code == 0, err
    assert "of the certified optimum" in out
    code, out, _ = command(f"show {output} --format text")
    assert "path 0: " in out
    code, out, err = command(f"show {output} -o {tmp_path / 'page.html'}")
    assert code == 0, err
    page = (tmp_path / "page.html").read_text()
    assert "Every link with a price" in page
    assert "Each path brings one range of bytes" in page
    assert "vertices that all this data has to cross" not in page
    code, _, err = command(f"show {output} --format svg --phase 3 -o {tmp_path / 'path.svg'}")
    assert code == 0, err
    assert "Path of " in (tmp_path / "path.svg").read_text()
    code, out, _ = command("compile all-to-all --on hgx-h100 --bytes 1M --format csv")
    assert out.splitlines()[1].startswith("all-to-all,,hgx-h100,8,1048576,")
    code, out, _ = command("compile all-to-all --on iwarp64 --effort 0")
    assert "phases              27, optimal" in out
    code, _, err = command(f"compile all-to-all --on {path}")
    assert (code, "expected the length of its buffer: --bytes 1M, say" in err.replace("\n", " ")) == (2, True), err
    code, _, err = command("compile all-to-all --on hgx-h100 --nodes 0:3")
    assert (code, "all-to-all is one with a length" in err.replace("\n", " ")) == (2, True), err
    code, _, err = command("compile all-to-all --on hgx-h100 --bytes 1M --in-network both")
    assert (code, "nothing that switches could copy or add" in err.replace("\n", " ")) == (2, True), err


def test_blocks_of_unlike_length_come_from_a_file(command: _Command, tmp_path: Path) -> None:
    graph, table, output = _graph(tmp_path), tmp_path / "blocks.csv", tmp_path / "experts.json"
    lengths = [[400 * (sender + receiver) for receiver in range(5)] for sender in range(5)]
    table.write_text("\n".join(",".join(map(str, row)) for row in lengths) + "\n")
    code, out, err = command(f"compile all-to-all --on {graph} --blocks {table} -o {output}")
    assert code == 0, err
    assert collectives.read(output).blocks == lengths
    assert collectives.read(output).bytes == sum(lengths[4])
    assert command(f"verify {output}")[0] == 0
    np.save(tmp_path / "blocks.npy", np.array(lengths))
    code, other, err = command(f"compile all-to-all --on {graph} --blocks {tmp_path / 'blocks.npy'}")
    assert (code, other.splitlines()[:3]) == (0, out.splitlines()[:3]), err
    wrong = {
        "1,2\n3": "rows of as many whole numbers",
        "1,x\n3,4": "rows of as many whole numbers: invalid literal",
        "": "expected a square table of bytes",
        "0,4\n4,0": "expected 5 rows of 5 lengths, found 2",
        "-1,0\n0,0": "found -1",
    }
    for text, expected in wrong.items():
        table.write_text(text)
        code, _, err = command(f"compile all-to-all --on {graph} --blocks {table}")
        assert (code, expected in err.replace("\n", " ")) == (2, True), err
    code, _, err = command(f"compile allgather --on {graph} --bytes 1M --blocks {table}")
    assert (code, "--blocks is of all-to-all; allgather has none" in err.replace("\n", " ")) == (2, True), err
    code, _, err = command(f"compile torus --on iwarp64 --blocks {table}")
    assert (code, "--blocks is of all-to-all" in err) == (2, True), err
    with pytest.raises(UsageError, match="whole numbers of at least 0; found float64 of shape"):
        weft.conset.compile("all-to-all", on=graph, blocks=np.ones((5, 5)))
    with pytest.raises(UsageError, match="its rows are of unlike length"):
        weft.conset.compile("all-to-all", on=graph, blocks=[[1], [2, 3]])
    with pytest.raises(UsageError, match="blocks: they are of all-to-all, found allgather"):
        weft.conset.compile("allgather", on=graph, blocks=lengths)


def test_a_changed_file_is_refused(command: _Command, tmp_path: Path) -> None:
    output = tmp_path / "blocks.json"
    weft.conset.compile("all-to-all", on=_graph(tmp_path), bytes="1M", method="throughput").write(output)
    content = json.loads(output.read_text())
    prices = content["stages"][0]["bound"]["prices"]
    prices.remove(max(prices, key=lambda each: each[1]))
    output.write_text(json.dumps(content, separators=(",", ":")))
    code, _, err = command(f"verify {output}")
    assert (code, "its prices give" in err.replace("\n", " ")) == (2, True), err


def test_more_ranks_than_pairs_can_be_listed_of_are_refused() -> None:
    with pytest.raises(UsageError, match="the pattern all-to-all, which is divided into phases"):
        weft.conset.compile("all-to-all", on="tpu-v4", bytes="64M")
