/* Collectives, communicators, derived datatypes, operations of the program, requests in all forms. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void farthest(void *in, void *out, int *count, MPI_Datatype *type) {
    if (*type != MPI_INT) return;
    for (int i = 0; i < *count; i++) {
        int one = ((int *)in)[i], *other = (int *)out + i;
        if (one * one > *other * *other) *other = one;
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    char text[32] = "";
    if (rank == 0) strcpy(text, "from the root");
    MPI_Bcast(text, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
    double mine[2] = {rank, -rank}, sums[2], largest[2];
    MPI_Allreduce(mine, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(mine, largest, 2, MPI_DOUBLE, MPI_MAX, size - 1, MPI_COMM_WORLD);
    printf("rank %d: %s, sums %g %g\n", rank, text, sums[0], sums[1]);
    if (rank == size - 1) printf("largest %g %g\n", largest[0], largest[1]);

    MPI_Op operation;
    MPI_Op_create(farthest, 1, &operation);
    int number = rank % 2 ? -rank : rank, total = 0;
    MPI_Scan(&number, &total, 1, MPI_INT, operation, MPI_COMM_WORLD);
    printf("rank %d: scan %d\n", rank, total);
    MPI_Op_free(&operation);

    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    int inner, of;
    MPI_Comm_rank(half, &inner);
    MPI_Comm_size(half, &of);
    int all[64];
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, half);
    printf("rank %d: %d of %d, first %d\n", rank, inner, of, all[0]);
    MPI_Comm_free(&half);

    /* A column of a matrix to the next rank, which gets it as a row. */
    int matrix[4][4], row[4] = {0};
    for (int i = 0; i < 16; i++) matrix[i / 4][i % 4] = 100 * rank + i;
    MPI_Datatype column;
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Request requests[2];
    MPI_Irecv(row, 4, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&matrix[0][1], 1, column, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    printf("rank %d: row %d %d %d %d\n", rank, row[0], row[1], row[2], row[3]);
    MPI_Type_free(&column);

    /* A collective that goes on beside messages, and a loop that looks. */
    MPI_Request reduction;
    int sum = 0, done = 0, back = 0;
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &reduction);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 9, &back, 1, MPI_INT, (rank + size - 1) % size, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    while (!done) MPI_Test(&reduction, &done, MPI_STATUS_IGNORE);
    printf("rank %d: sum %d, back %d\n", rank, sum, back);

    int dims[2] = {0, 0}, periods[2] = {1, 1}, left, right;
    MPI_Comm grid;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    printf("rank %d: %d x %d, neighbours %d %d\n", rank, dims[0], dims[1], left, right);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
