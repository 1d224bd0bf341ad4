/* Ping-pong in plain MPI: what weft's echo is held against.
 *
 *   mpiexec -n 2 pingpong ITERATIONS WARM_UP BYTES...
 *
 * Rank 0 sends and receives, rank 1 receives and sends back; every iteration has its own time stamp. Buffers are
 * page-aligned, touched, and used for all iterations. Rank 0 prints one JSON object with the median and the lower decile
 * of the one-way times (half of an iteration) by size. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *page_aligned(size_t bytes) {
    size_t whole = (bytes / PAGE + 1) * PAGE;
    void *memory = aligned_alloc(PAGE, whole);
    if (!memory) {
        fprintf(stderr, "pingpong: no memory for %zu bytes\n", whole);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(memory, 0, whole);
    return memory;
}

static void measure(int rank, int bytes, int iterations, int warm_up, char *out, char *in, double *seconds) {
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

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc < 4 || atoi(argv[1]) < 1 || atoi(argv[2]) < 0) {
        if (rank == 0)
            fprintf(stderr, "usage: mpiexec -n 2 pingpong ITERATIONS WARM_UP BYTES...  (%d ranks)\n", size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int iterations = atoi(argv[1]), warm_up = atoi(argv[2]);
    double *seconds = page_aligned(iterations * sizeof(double));
    if (rank == 0)
        printf("{\"program\": \"c\", \"sizes\": [");
    for (int i = 3; i < argc; i++) {
        int bytes = atoi(argv[i]);
        size_t room = ((size_t)bytes / PAGE + 1) * PAGE;
        char *out = page_aligned(room), *in = page_aligned(room);
        MPI_Barrier(MPI_COMM_WORLD);
        measure(rank, bytes, iterations, warm_up, out, in, seconds);
        qsort(seconds, iterations, sizeof(double), ascending);
        if (rank == 0)
            printf("%s{\"bytes\": %d, \"median\": %.4e, \"p10\": %.4e}", i > 3 ? ", " : "", bytes,
                   seconds[iterations / 2], seconds[iterations / 10]);
        free(out);
        free(in);
    }
    if (rank == 0)
        printf("]}\n");
    free(seconds);
    MPI_Finalize();
    return 0;
}
