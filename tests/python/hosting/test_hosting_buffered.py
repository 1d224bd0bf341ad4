"""Buffered sends: the memory that is attached holds messages until they have left."""

import subprocess
import sys

import pytest

from weft.hosting.library import path

pytestmark = pytest.mark.skipif(not path().exists(), reason="the library that stands in for MPI is not built")

BYTES = 1 << 20

SPACE = f"""
from mpi4py import MPI

comm = MPI.COMM_WORLD
size, peer = {BYTES}, (comm.rank + 1) % comm.size
data, received = bytearray([comm.rank + 1]) * size, bytearray(size)
MPI.Attach_buffer(bytearray(2 * (size + MPI.BSEND_OVERHEAD)))


def fits():
    try:
        comm.Bsend(data, peer)
    except MPI.Exception as error:
        assert error.error_class == MPI.ERR_BUFFER, error
        return False
    return True


said = [fits(), fits(), fits()]
comm.Recv(received, (comm.rank - 1) % comm.size)
comm.Barrier()
said += [fits(), fits()]
request = MPI.Iflush_buffer()
said.append(request.Test())
for _ in range(2):
    comm.Recv(received, (comm.rank - 1) % comm.size)
    assert set(received) == {{(comm.rank - 1) % comm.size + 1}}
request.Wait()
said.append(fits())
comm.Recv(received, (comm.rank - 1) % comm.size)
MPI.Flush_buffer()
# Short messages leave at once, however many there are.
for number in range(300):
    comm.Bsend(bytearray(8), peer)
for number in range(300):
    comm.Recv(received, (comm.rank - 1) % comm.size)
assert len(MPI.Detach_buffer()) == 2 * (size + MPI.BSEND_OVERHEAD)
print(said)
"""


@pytest.mark.parametrize("options", [[], ["--isolate"]])
@pytest.mark.parametrize("ranks", [2, 3])
def test_messages_occupy_the_attached_memory_until_they_have_left(tmp_path, options, ranks):
    pytest.importorskip("mpi4py")
    program = tmp_path / "program.py"
    program.write_text(SPACE)
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "frontera", "-n", str(ranks), *options]
    done = subprocess.run([*command, str(program)], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[True, True, False, True, False, False, True]"] * ranks
