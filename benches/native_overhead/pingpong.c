/* Ping-pong in plain MPI: what weft's echo is held against, as a library that the example `pingpong` of weft-mpi loads.
 *
 *   mpicc -O3 -std=c11 -shared -fPIC -o pingpong.so pingpong.c
 *
 * Rank 0 sends and receives, rank 1 receives and sends back; every iteration has its own time stamp, and `seconds` gets
 * the one-way times (half of an iteration) of those after the warm-up. */

#include <mpi.h>

void plain_c(int rank, int bytes, int iterations, int warm_up, char *out, char *in, double *seconds) {
    const int tag = 1, peer = 1 - rank;
    for (int i = -warm_up; i < iterations; i++) {
        if (rank == 0) {
            double start = MPI_Wtime();
            MPI_Send(out, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            double end = MPI_Wtime();
            if (i >= 0)
                seconds[i] = (end - start) / 2;
        } else {
            MPI_Recv(in, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
        }
    }
}
