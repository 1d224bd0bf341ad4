/* Products of matrices whose columns travel around a ring of ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 256 };

int main(int argc, char **argv) {
    int rank, size, products = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int part = N / size, next = (rank + 1) % size, previous = (rank + size - 1) % size;
    double *a = malloc(part * N * sizeof *a), *b = malloc(part * N * sizeof *b), *c = calloc(part * N, sizeof *c);
    for (int i = 0; i < part * N; i++) a[i] = i % 11, b[i] = i % 7;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int product = 0; product < products; product++)
        for (int step = 0; step < size; step++) {
            int first = (rank + size - step) % size * part;
            for (int i = 0; i < part; i++)
                for (int k = 0; k < part; k++)
                    for (int j = 0; j < N; j++) c[i * N + j] += a[i * N + first + k] * b[k * N + j];
            MPI_Sendrecv_replace(b, part * N, MPI_DOUBLE, next, 0, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    double seconds = MPI_Wtime() - start, last;
    MPI_Reduce(&seconds, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.9f\n", last);
    MPI_Finalize();
    return c[0] < 0;
}
