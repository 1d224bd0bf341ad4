/* A master hands out work to whoever asks, with probes; messages of lengths that nobody knows before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 20, WORK = 1, RESULT = 2, STOP = 3, LARGE = 200000 };

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        long total = 0;
        int sent = 0, done = 0, stopped = 0;
        while (stopped < size - 1) {
            MPI_Status status;
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            int count;
            MPI_Get_count(&status, MPI_INT, &count);
            int *content = malloc((count + 1) * sizeof *content);
            MPI_Recv(content, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (status.MPI_TAG == RESULT) {
                done++;
                for (int i = 0; i < count; i++) total += content[i];
            }
            if (sent < TASKS) {
                MPI_Send(&sent, 1, MPI_INT, status.MPI_SOURCE, WORK, MPI_COMM_WORLD);
                sent++;
            } else {
                MPI_Send(NULL, 0, MPI_INT, status.MPI_SOURCE, STOP, MPI_COMM_WORLD);
                stopped++;
            }
            free(content);
        }
        printf("%d results, total %ld\n", done, total);
    } else {
        int task;
        MPI_Send(NULL, 0, MPI_INT, 0, WORK, MPI_COMM_WORLD);
        for (;;) {
            MPI_Status status;
            MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            if (status.MPI_TAG == STOP) break;
            int count = task % 5 == 4 ? LARGE : task + 1, *content = malloc(count * sizeof *content);
            for (int i = 0; i < count; i++) content[i] = task;
            MPI_Ssend(content, count, MPI_INT, 0, RESULT, MPI_COMM_WORLD);
            free(content);
        }
    }
    MPI_Finalize();
    return 0;
}
