"""Ranks that are processes print whole lines, however Python's buffers are set."""

import importlib.util
import os
import socket
import subprocess
import sys

import pytest

from weft.hosting.library import path

pytestmark = [
    pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built"),
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"),
]

TEXT = """import sys
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
for i in range(3):
    print("rank", rank, "line", i)
    print("rank", rank, "error", i, file=sys.stderr)
print(*[name for name in sys.modules if name == "chosen"], len([p for p in sys.path if "names" in p]))
"""


def writes(folder, text, environment):
    """What the ranks write to both outputs: a packet is one call of write."""
    script = folder / "program.py"
    script.write_text(text)
    start = [sys.executable, "-m", "weft.cli.main", "run", "-q", "--on", "ipsc860", "-n", "2", "--isolate"]
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, there:
        environment = os.environ | environment
        subprocess.run([*start, str(script)], check=True, stdout=there, stderr=there, timeout=60, env=environment)
        there.close()
        return [packet.decode() for packet in iter(lambda: here.recv(65536), b"")]


@pytest.mark.parametrize("buffers", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
def test_every_write_is_a_whole_line(tmp_path, buffers):
    lines = [f"rank {rank} {what} {i}\n" for rank in range(2) for what in ("line", "error") for i in range(3)]
    assert sorted(writes(tmp_path, TEXT, buffers)) == sorted([*lines, "0\n", "0\n"])


def test_what_the_environment_customizes_is_kept(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("import sys\nsys.modules['chosen'] = sys\n")
    received = writes(tmp_path, TEXT, {"PYTHONPATH": str(tmp_path / "own")})
    assert received.count("chosen 0\n") == 2
