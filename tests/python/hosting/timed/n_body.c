/* Bodies that attract each other: all positions are gathered in every step, and the energy is summed at times. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 512 };

static double all[3 * BODIES], velocity[3 * BODIES], mine[3 * BODIES];

int main(int argc, char **argv) {
    int rank, size, steps = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int own = BODIES / size, first = rank * own;
    for (int i = 0; i < 3 * own; i++) mine[i] = sin(3 * first + i);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        double energy = 0, total;
        MPI_Allgather(mine, 3 * own, MPI_DOUBLE, all, 3 * own, MPI_DOUBLE, MPI_COMM_WORLD);
        for (int i = 0; i < own; i++) {
            double force[3] = {0, 0, 0};
            for (int j = 0; j < BODIES; j++) {
                double x = all[3 * j] - mine[3 * i], y = all[3 * j + 1] - mine[3 * i + 1];
                double z = all[3 * j + 2] - mine[3 * i + 2], square = x * x + y * y + z * z + 0.01;
                double factor = 1 / (square * sqrt(square));
                force[0] += factor * x, force[1] += factor * y, force[2] += factor * z;
            }
            for (int d = 0; d < 3; d++) {
                velocity[3 * i + d] += 1e-6 * force[d];
                mine[3 * i + d] += 1e-3 * velocity[3 * i + d];
                energy += velocity[3 * i + d] * velocity[3 * i + d];
            }
        }
        if (step % 4 == 0) MPI_Allreduce(&energy, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double seconds = MPI_Wtime() - start, last;
    MPI_Reduce(&seconds, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.9f\n", last);
    MPI_Finalize();
    return 0;
}
