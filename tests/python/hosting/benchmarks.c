/* Latency, bandwidth and collectives: BENCHMARK, SECONDS of an operation, BYTES...

   Messages are measured as by the OSU micro-benchmarks, and so are collectives where SECONDS is 0, with a barrier between
   iterations; else all ranks start an iteration at one moment. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARMUP = 2, ITERATIONS = 10, WINDOW = 64, MAX_BYTES = 1 << 20 };
static const double MARGIN = 0.01;

static int rank, size;
static char *out, *in;

/* Half of a message there and back. */
static double latency(int bytes) {
    double start = 0;
    for (int i = 0; i < WARMUP + ITERATIONS; i++) {
        if (i == WARMUP) start = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(out, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(in, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - start) / (2 * ITERATIONS);
}

/* A message of a window of which the receiver acknowledges the whole. */
static double bandwidth(int bytes) {
    MPI_Request requests[WINDOW];
    double start = 0;
    for (int i = 0; i < WARMUP + ITERATIONS; i++) {
        if (i == WARMUP) start = MPI_Wtime();
        if (rank == 0) {
            for (int j = 0; j < WINDOW; j++)
                MPI_Isend(out, bytes, MPI_CHAR, 1, 100, MPI_COMM_WORLD, &requests[j]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(in, 4, MPI_CHAR, 1, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            for (int j = 0; j < WINDOW; j++)
                MPI_Irecv(in, bytes, MPI_CHAR, 0, 100, MPI_COMM_WORLD, &requests[j]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            MPI_Send(out, 4, MPI_CHAR, 0, 101, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - start) / (ITERATIONS * WINDOW);
}

static void collective(const char *name, int bytes) {
    MPI_Comm world = MPI_COMM_WORLD;
    if (!strcmp(name, "barrier")) MPI_Barrier(world);
    else if (!strcmp(name, "broadcast")) MPI_Bcast(in, bytes, MPI_CHAR, 0, world);
    else if (!strcmp(name, "reduce")) MPI_Reduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, world);
    else if (!strcmp(name, "allreduce")) MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, world);
    else if (!strcmp(name, "gather")) MPI_Gather(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, 0, world);
    else if (!strcmp(name, "scatter")) MPI_Scatter(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, 0, world);
    else if (!strcmp(name, "allgather")) MPI_Allgather(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, world);
    else if (!strcmp(name, "alltoall")) MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, world);
    else if (!strcmp(name, "scan")) MPI_Scan(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, world);
    else if (!strcmp(name, "exscan")) MPI_Exscan(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, world);
    else if (!strcmp(name, "reduce-scatter")) MPI_Reduce_scatter_block(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, world);
    else MPI_Abort(world, 2);
}

/* All ranks go on at one moment: a barrier lets some go earlier than others. The wait is declared as computation. */
static double start_together(double operation) {
    double now = MPI_Wtime(), start;
    MPI_Allreduce(&now, &start, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    start += MARGIN;
    MPI_Pcontrol(2003134068, (start - MPI_Wtime()) / operation, 0.0);
    return start;
}

/* From the start of all ranks to the end of the last, in the mean over calls: the clock is one for all ranks. */
static double collectively(const char *name, int bytes, double operation) {
    double times[ITERATIONS], last[ITERATIONS], total = 0;
    for (int i = 0; i < WARMUP + ITERATIONS; i++) {
        double start = start_together(operation);
        collective(name, bytes);
        if (i >= WARMUP) times[i - WARMUP] = MPI_Wtime() - start;
    }
    MPI_Reduce(times, last, ITERATIONS, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int i = 0; i < ITERATIONS; i++) total += last[i];
    return total / ITERATIONS;
}

/* The mean over ranks of their own times, as the OSU micro-benchmarks print it: a barrier follows each iteration. */
static double between_barriers(const char *name, int bytes) {
    double timer = 0, sum = 0;
    for (int i = 0; i < WARMUP + ITERATIONS; i++) {
        double start = MPI_Wtime();
        collective(name, bytes);
        if (i >= WARMUP) timer += MPI_Wtime() - start;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    timer /= ITERATIONS;
    MPI_Reduce(&timer, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return sum / size;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = calloc(size, MAX_BYTES);
    in = calloc(size, MAX_BYTES);
    for (int i = 3; i < argc; i++) {
        int bytes = atoi(argv[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        double seconds = !strcmp(argv[1], "latency")     ? latency(bytes)
                         : !strcmp(argv[1], "bandwidth") ? bandwidth(bytes)
                          : atof(argv[2]) > 0             ? collectively(argv[1], bytes, atof(argv[2]))
                                                         : between_barriers(argv[1], bytes);
        if (rank == 0) printf("%d %.15g\n", bytes, seconds);
    }
    MPI_Finalize();
    return 0;
}
