/* Sorts integers by buckets: histograms of all ranks are combined, and the keys go to the ranks of their buckets. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 1 << 15, RANGE = 1 << 10 };

static int keys[KEYS], parted[KEYS], sorted[2 * KEYS], mine[RANGE], all[RANGE];

int main(int argc, char **argv) {
    int rank, size, iterations = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int out[64], into[64], from[64], to[64], filled[64];
    unsigned state = rank + 1;
    for (int i = 0; i < KEYS; i++) keys[i] = (state = state * 1664525u + 1013904223u) >> 22;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int iteration = 0; iteration < iterations; iteration++) {
        memset(mine, 0, sizeof mine);
        for (int i = 0; i < KEYS; i++) mine[keys[i]]++;
        MPI_Allreduce(mine, all, RANGE, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        memset(out, 0, sizeof out);
        for (int key = 0; key < RANGE; key++) out[key * size / RANGE] += mine[key];
        MPI_Alltoall(out, 1, MPI_INT, into, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0, a = 0, b = 0; i < size; a += out[i], b += into[i], i++) filled[i] = from[i] = a, to[i] = b;
        for (int i = 0; i < KEYS; i++) parted[filled[keys[i] * size / RANGE]++] = keys[i];
        MPI_Alltoallv(parted, out, from, MPI_INT, sorted, into, to, MPI_INT, MPI_COMM_WORLD);
        keys[iteration % KEYS] = (keys[iteration % KEYS] + sorted[0] + 1) % RANGE;
    }
    double seconds = MPI_Wtime() - start, last;
    MPI_Reduce(&seconds, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.9f\n", last);
    MPI_Finalize();
    return 0;
}
