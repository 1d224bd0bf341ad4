"""Where ranks run: several on a node, and nodes by a list."""

import importlib.util
import tomllib

import numpy as np
import pytest

import weft
from weft.hosting.library import path
from weft.hosting.placing import nodes_of

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
]

HEAD = "import sys\nimport numpy as np\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n"
SHARED_OR_NOT = pytest.mark.parametrize("isolate", [False, True], ids=["one process", "a process each"])


def printed(tmp_path, capfd, text, **options):
    """Lines that a program prints, sorted: ranks print when they come to it."""
    program = tmp_path / "program.py"
    program.write_text(HEAD + text)
    weft.run(program, **{"on": "frontera", **options})
    return sorted(capfd.readouterr().out.splitlines())


NODES = """
node = comm.Split_type(MPI.COMM_TYPE_SHARED)
print(comm.rank, MPI.Get_processor_name(), node.rank, node.size)
"""


@SHARED_OR_NOT
def test_ranks_of_a_node_know_each_other(tmp_path, capfd, isolate):
    lines = printed(tmp_path, capfd, NODES, ranks=5, ranks_per_node=2, isolate=isolate)
    expected = [(0, 0, 0, 2), (1, 0, 1, 2), (2, 1, 0, 2), (3, 1, 1, 2), (4, 2, 0, 1)]
    assert lines == [f"{rank} frontera-node{node} {within} {size}" for rank, node, within, size in expected]


LAUNCHED = """
import os
names = "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"
print(*(os.environ[name] for name in names), any(name.startswith("OMPI_") for name in os.environ))
"""


def test_ranks_with_a_process_each_are_told_what_a_launcher_tells_them(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "7")
    lines = printed(tmp_path, capfd, LAUNCHED, ranks=5, ranks_per_node=2, isolate=True)
    assert lines == ["0 5 0 2 False", "1 5 1 2 False", "2 5 0 2 False", "3 5 1 2 False", "4 5 0 1 False"]


ECHO = """
data = np.zeros(int(sys.argv[1]), "u1")
comm.Barrier()
start = MPI.Wtime()
for _ in range(4):
    if comm.rank == 0:
        comm.Send(data, 1)
        comm.Recv(data, 1)
    elif comm.rank == 1:
        comm.Recv(data, 0)
        comm.Send(data, 0)
if comm.rank == 0:
    print((MPI.Wtime() - start) / 8)
"""


def echo(tmp_path, capfd, length, **options):
    program = tmp_path / "echo.py"
    program.write_text(HEAD + ECHO)
    weft.run(program, str(length), ranks=2, **{"on": "frontera", **options})
    return float(capfd.readouterr().out)


@SHARED_OR_NOT
@pytest.mark.parametrize("length", [8, 1 << 20])
def test_messages_within_a_node_are_copies_and_between_nodes_cross_the_network(tmp_path, capfd, isolate, length):
    within = echo(tmp_path, capfd, length, ranks_per_node=2, isolate=isolate)
    between = echo(tmp_path, capfd, length, isolate=isolate)
    own = tomllib.loads(weft.machine("frontera").to_toml())["self_message"]
    copy = own["startup"] + own["byte_time"]["value"] * length
    assert within == pytest.approx(copy, rel=1e-6)
    assert between == pytest.approx(weft.simulate("frontera", "echo", bytes=length)["seconds"].median(), rel=1e-3)


def test_a_list_of_nodes_says_how_far_messages_go(tmp_path, capfd):
    near, far = (echo(tmp_path, capfd, 0, on="ipsc860", placement=nodes) for nodes in ("0,1", "0,127"))
    hops = [weft.simulate("ipsc860", "echo", bytes=0, hops=count)["seconds"].median() for count in (1, 7)]
    assert far - near == pytest.approx(hops[1] - hops[0], rel=1e-6)


def test_ranks_of_a_node_share_its_links(tmp_path, capfd):
    text = """
data = np.zeros(1 << 20, "u1")
comm.Barrier()
start = MPI.Wtime()
half = comm.size // 2
if comm.rank < half:
    comm.Send(data, comm.rank + half)
else:
    comm.Recv(data, comm.rank - half)
print(MPI.Wtime() - start)
"""
    alone = max(map(float, printed(tmp_path, capfd, text, ranks=2, on="ipsc860")))
    four = max(map(float, printed(tmp_path, capfd, text, ranks=8, ranks_per_node=4, on="ipsc860")))
    assert 3.5 * alone < four < 4.5 * alone


SHARED_WINDOW = """
node = comm.Split_type(MPI.COMM_TYPE_SHARED)
window = MPI.Win.Allocate_shared(8 * (node.rank + 1), 8, comm=node)
mine = np.frombuffer(window.tomemory(), "f8")
window.Lock_all()
mine[:] = comm.rank + 1
window.Sync()
node.Barrier()
window.Sync()
parts = [np.frombuffer(window.Shared_query(rank)[0], "f8") for rank in range(node.size)]
seen = [float(part.sum()) for part in parts]
window.Put(np.array([comm.rank + 100.0]), (node.rank + 1) % node.size)
window.Flush_all()
node.Barrier()
print(comm.rank, seen, mine[0])
window.Unlock_all()
window.Free()
"""


@SHARED_OR_NOT
def test_ranks_of_a_node_share_windows(tmp_path, capfd, isolate):
    lines = printed(tmp_path, capfd, SHARED_WINDOW, ranks=6, ranks_per_node=3, isolate=isolate)
    first, second = np.array([1.0, 2, 3]) * [1, 2, 3], np.array([4.0, 5, 6]) * [1, 2, 3]
    expected = []
    for rank in range(6):
        node = rank // 3
        before = 3 * node + (rank % 3 - 1) % 3
        expected.append(f"{rank} {(first if node == 0 else second).tolist()} {before + 100.0}")
    assert lines == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ranks": 200}, "expected 1 to 128 ranks, 1 on each node of ipsc860, found 200; --ranks-per-node places"),
        ({"ranks": 300, "ranks_per_node": 2}, "expected 1 to 256 ranks, 2 on each node of ipsc860, found 300"),
        ({"ranks": 2, "placement": "0,128"}, "rank 1 on node 128: ipsc860 has nodes 0 to 127"),
        ({"ranks": 3, "placement": "0-1"}, "2 nodes are listed for 3 ranks"),
        ({"ranks": 2, "placement": "0,x"}, "'x' is no node"),
        ({"ranks": 2, "placement": "0,1", "ranks_per_node": 2}, "leave out how many ranks a node has"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, options, said):
    program = tmp_path / "program.py"
    program.write_text("")
    with pytest.raises(weft.UsageError, match=said):
        weft.run(program, on="ipsc860", **options)


def test_nodes_are_listed_in_both_directions():
    assert nodes_of(weft.machine("ipsc860"), 7, placement="0-2,9,5-3") == [0, 1, 2, 9, 5, 4, 3]
