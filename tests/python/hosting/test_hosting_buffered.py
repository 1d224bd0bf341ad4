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


def run(tmp_path, text, ranks, options):
    pytest.importorskip("mpi4py")
    program = tmp_path / "program.py"
    program.write_text(text)
    command = [sys.executable, "-m", "weft.cli.main", "run", "--on", "frontera", "-n", str(ranks), *options]
    done = subprocess.run([*command, str(program)], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("options", [[], ["--isolate"]])
@pytest.mark.parametrize("ranks", [2, 3])
def test_messages_occupy_the_attached_memory_until_they_have_left(tmp_path, options, ranks):
    assert run(tmp_path, SPACE, ranks, options) == ["[True, True, False, True, False, False, True]"] * ranks


SELF = f"""
from mpi4py import MPI

comm = MPI.COMM_WORLD
size = {BYTES}
received = bytearray(size)
MPI.Attach_buffer(bytearray(size + MPI.BSEND_OVERHEAD))


def fits(size):
    try:
        comm.Bsend(bytearray([7]) * size, comm.rank)
    except MPI.Exception as error:
        assert error.error_class == MPI.ERR_BUFFER, error
        return False
    return True


# A long message stays until it is received, a short one leaves at once.
said = [fits(size), fits(size)]
request = MPI.Iflush_buffer()
said.append(request.Test())
comm.Recv(received, comm.rank)
request.Wait()
said.append(fits(1024))
said.append(fits(size))
comm.Recv(received, comm.rank)
comm.Recv(received, comm.rank)
assert set(received) == {{7}}
MPI.Detach_buffer()
print(said)
"""

SCOPES = """
from mpi4py import MPI

session = MPI.Session.Init()
group = session.Create_group("mpi://SELF")
comms = [MPI.COMM_SELF, MPI.COMM_SELF.Dup(), MPI.Intracomm.Create_from_group(group)]
lengths = [3000, 2000, 1000]
received = bytearray(5000)


def fits(comm, size):
    try:
        comm.Bsend(bytearray(size), 0)
    except MPI.Exception as error:
        assert error.error_class == MPI.ERR_BUFFER, error
        return False
    comm.Recv(received, 0)
    return True


def widest():
    return [next((size for size in lengths if fits(comm, size)), 0) for comm in comms]


said = [widest()]
for owner, size in zip([MPI, comms[1], session], lengths, strict=True):
    owner.Attach_buffer(bytearray(size + MPI.BSEND_OVERHEAD))
    said.append(widest())
try:
    session.Attach_buffer(bytearray(100))
except MPI.Exception as error:
    assert error.error_class == MPI.ERR_BUFFER, error
    said.append(error.Get_error_string().endswith("a buffer is attached already"))
for owner in [comms[1], session, MPI]:
    owner.Flush_buffer()
    owner.Iflush_buffer().Wait()
    said.append(len(owner.Detach_buffer()) - MPI.BSEND_OVERHEAD)
    said.append(widest())
comms[2].Free()
session.Finalize()
print(said)
"""


@pytest.mark.parametrize("options", [[], ["--isolate"]])
def test_a_long_message_to_oneself_stays_in_the_attached_memory_until_it_is_received(tmp_path, options):
    assert run(tmp_path, SELF, 1, options) == ["[True, False, False, True, True]"]


@pytest.mark.parametrize("options", [[], ["--isolate"]])
def test_communicators_and_sessions_have_attached_memory_of_their_own(tmp_path, options):
    # Of COMM_SELF, of a communicator with its own memory, and of one of a session: the process's where they have none.
    attached = [[0, 0, 0], [3000, 3000, 3000], [3000, 2000, 3000], [3000, 2000, 1000]]
    detached = [2000, [3000, 3000, 1000], 1000, [3000, 3000, 3000], 3000, [0, 0, 0]]
    assert run(tmp_path, SCOPES, 1, options) == [str([*attached, True, *detached])]
