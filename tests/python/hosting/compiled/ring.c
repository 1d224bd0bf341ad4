/* A number goes around a ring and grows; then a message to each and back. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int count = argc > 1 ? atoi(argv[1]) : 1000;
    double *numbers = calloc(count, sizeof *numbers);
    MPI_Status status;
    if (rank == 0) {
        for (int i = 0; i < count; i++) numbers[i] = i;
        MPI_Send(numbers, count, MPI_DOUBLE, (rank + 1) % size, 5, MPI_COMM_WORLD);
        MPI_Recv(numbers, count, MPI_DOUBLE, size - 1, 5, MPI_COMM_WORLD, &status);
    } else {
        MPI_Recv(numbers, count, MPI_DOUBLE, rank - 1, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        for (int i = 0; i < count; i++) numbers[i] += rank;
        MPI_Send(numbers, count, MPI_DOUBLE, (rank + 1) % size, 5, MPI_COMM_WORLD);
    }
    int received;
    MPI_Get_count(&status, MPI_DOUBLE, &received);
    printf("rank %d of %d: %d numbers from %d with tag %d, the last is %g\n", rank, size, received, status.MPI_SOURCE,
           status.MPI_TAG, numbers[count - 1]);
    free(numbers);
    MPI_Finalize();
    return 0;
}
