/* A tool that puts itself before MPI_Send, as profilers do: what it calls does not come back to it. */
#include <mpi.h>
#include <stdio.h>

int PMPI_Send(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static int calls, depth, deepest;

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    calls++;
    if (++depth > deepest) deepest = depth;
    int code = depth > 2 ? 1 : PMPI_Send(data, count, type, to, tag, comm);
    depth--;
    return code;
}

int main(int argc, char **argv) {
    int rank, size, value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    value = rank;
    if (rank > 0) MPI_Recv(&value, 1, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    value += rank;
    if (rank + 1 < size) MPI_Send(&value, 1, MPI_INT, rank + 1, 3, MPI_COMM_WORLD);
    printf("rank %d has %d after %d sends, %d deep\n", rank, value, calls, deepest);
    MPI_Finalize();
    return 0;
}
