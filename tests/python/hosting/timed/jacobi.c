/* Jacobi iterations on rows of a square: the inner points are computed while the outer rows travel. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 512 };

static void relax(const double *from, double *to, int first, int last) {
    for (int i = first; i < last; i++)
        for (int j = 1; j < SIDE - 1; j++)
            to[i * SIDE + j] = 0.25 * (from[(i - 1) * SIDE + j] + from[(i + 1) * SIDE + j] + from[i * SIDE + j - 1] +
                                       from[i * SIDE + j + 1]);
}

int main(int argc, char **argv) {
    int rank, size, iterations = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rows = SIDE / size, up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank ? rank - 1 : MPI_PROC_NULL;
    double *old = calloc((rows + 2) * SIDE, sizeof *old), *new = calloc((rows + 2) * SIDE, sizeof *new);
    for (int i = 0; i < (rows + 2) * SIDE; i++) old[i] = new[i] = (i * 7 + rank) % 13;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int iteration = 0; iteration < iterations; iteration++) {
        MPI_Request requests[4];
        MPI_Irecv(old, SIDE, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(old + (rows + 1) * SIDE, SIDE, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(old + rows * SIDE, SIDE, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(old + SIDE, SIDE, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[3]);
        relax(old, new, 2, rows);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        relax(old, new, 1, 2);
        relax(old, new, rows, rows + 1);
        double *swap = old;
        old = new, new = swap;
    }
    double seconds = MPI_Wtime() - start, last;
    MPI_Reduce(&seconds, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.9f\n", last);
    MPI_Finalize();
    return 0;
}
