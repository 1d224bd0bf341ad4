"""Programs of MPI that are not weft's own, in virtual time: scripts with mpi4py, one interpreter for all ranks."""
