"""A matrix goes to a file in blocks and comes back in rows, columns and pieces that cross both."""

import os
import tempfile

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
path = None
if rank == 0:
    handle, path = tempfile.mkstemp()
    os.close(handle)
path = comm.bcast(path)
dims = MPI.Compute_dims(size, 2)
extent = 12
own = [extent // dims[0], extent // dims[1]]
row, column = divmod(rank, dims[1])
starts = [row * own[0], column * own[1]]
block = MPI.INT.Create_subarray([extent, extent], own, starts).Commit()
matrix = np.arange(extent * extent, dtype="i").reshape(extent, extent)
mine = np.ascontiguousarray(matrix[starts[0] : starts[0] + own[0], starts[1] : starts[1] + own[1]])

file = MPI.File.Open(comm, path, MPI.MODE_RDWR | MPI.MODE_CREATE)
file.Set_view(16, MPI.INT, block)
file.Write_all(mine)
file.Sync()
comm.Barrier()
file.Sync()
print(rank, "size", file.Get_size())

rows = np.zeros((extent // size, extent), dtype="i")
file.Set_view(16, MPI.INT)
status = MPI.Status()
file.Read_at_all(rank * rows.size, rows, status)
print(rank, "rows", np.array_equal(rows, matrix[rank * len(rows) : (rank + 1) * len(rows)]), status.Get_count(MPI.INT))

cyclic = MPI.INT.Create_vector(extent, 1, size).Create_resized(0, 4).Commit()
file.Set_view(16 + 4 * rank, MPI.INT, MPI.INT.Create_resized(0, 4 * size).Commit())
every = np.zeros(extent * extent // size, dtype="i")
request = file.Iread(every)
request.Wait()
print(rank, "cyclic", np.array_equal(every, matrix.reshape(-1)[rank::size]), file.Get_position())

file.Set_view(16, MPI.INT)
beyond = np.full(10, -1, dtype="i")
file.Read_at(extent * extent - 4, beyond, status)
print(rank, "end", beyond.tolist(), status.Get_count(MPI.INT))
file.Close()
if rank == 0:
    os.remove(path)
