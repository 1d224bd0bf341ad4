"""Lines that ranks write to one file: in the order of ranks, and in whatever order they come."""

import os
import tempfile

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
folder = comm.bcast(tempfile.mkdtemp() if rank == 0 else None)
path = os.path.join(folder, "log")
file = MPI.File.Open(comm, path, MPI.MODE_RDWR | MPI.MODE_CREATE | MPI.MODE_EXCL)
for step in range(3):
    file.Write_ordered(f"step {step} of rank {rank}{'!' * rank}\n".encode())
comm.Barrier()
end = file.Get_position_shared()
comm.Barrier()
file.Seek_shared(0)
part = bytearray(end // size)
file.Read_ordered(part)
text = b"".join(comm.allgather(bytes(part)))
print(rank, end, text.decode().splitlines())
file.Seek_shared(0)
file.Set_size(0)
for step in range(4):
    file.Write_shared(np.array([rank, step], dtype="i"))
comm.Barrier()
written = np.zeros((4 * size, 2), dtype="i")
file.Read_at_all(0, written)
print(rank, sorted(map(tuple, written.tolist())) == [(r, s) for r in range(size) for s in range(4)])
file.Close()
comm.Barrier()
if rank == 0:
    MPI.File.Delete(path)
    os.rmdir(folder)
comm.Barrier()
try:
    MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_RDONLY)
except MPI.Exception as error:
    print(rank, error.Get_error_class() == MPI.ERR_NO_SUCH_FILE)
