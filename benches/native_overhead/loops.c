/* Benchmarks of the suite in plain MPI: what weft's own are compared with, as a library that the example `overhead` of
 * weft-launch loads.
 *
 *   mpicc -O3 -std=gnu11 -shared -fPIC -o loops.so loops.c
 *
 * A benchmark is prepared by `plain_open`, timed by `plain_run` any number of times and ended by `plain_close`, all on
 * all ranks. Its loop is the shortest correct one in C: what messages pace is stamped on rank 0 after every iteration;
 * what all ranks do together starts at a moment that they agree on, and ends when the last of them has done it. Ranks
 * are on one computer, so that its monotonic clock is the clock of all. */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 1, ANSWER = 2, GRAIN = 64, AGREEMENTS = 32 };

/* What a benchmark does in one iteration. */
enum operation {
    ECHO, PING_PING, BANDWIDTH, BIDIRECTIONAL, BISECTION, MULTI_PAIR, MULTI_ECHO,
    BARRIER, BROADCAST, REDUCE, ALLREDUCE, SCAN, EXSCAN, REDUCE_SCATTER, GATHER, SCATTER, ALLGATHER, ALLTOALL,
    ALLTOALLV, GATHERV, SCATTERV, ALLGATHERV,
    IALLREDUCE, IBROADCAST, IALLTOALL, ALLREDUCE_PERSISTENT, BROADCAST_PERSISTENT,
    PUT, GET, PUT_BANDWIDTH, GET_BANDWIDTH, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP,
    ECHO_VECTOR, OPERATIONS
};

static const char *const NAMES[OPERATIONS] = {
    "echo", "ping-ping", "bandwidth", "bidirectional", "bisection", "multi-pair", "multi-echo",
    "barrier", "broadcast", "reduce", "allreduce", "scan", "exscan", "reduce-scatter", "gather", "scatter", "allgather",
    "alltoall", "alltoallv", "gatherv", "scatterv", "allgatherv",
    "iallreduce", "ibroadcast", "ialltoall", "allreduce-persistent", "broadcast-persistent",
    "put", "get", "put-bandwidth", "get-bandwidth", "accumulate", "get-accumulate", "fetch-and-op", "compare-and-swap",
    "echo-vector",
};

struct plain {
    enum operation operation;
    MPI_Comm comm;
    int rank, size, bytes, window, stride;
    char *out, *in;
    MPI_Request *requests;
    /* Lengths of parts that differ, and where they begin. */
    int *send_counts, *send_starts, *receive_counts, *receive_starts;
    /* Parts of a rank's own length. */
    int *own_counts, *own_starts;
    MPI_Win memory;
    char *exposed;
    MPI_Datatype vector;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static char *pages(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes + 4096) != 0)
        abort();
    memset(memory, 0, bytes + 4096);
    return memory;
}

static int is_one_sided(enum operation operation) { return operation >= PUT && operation <= COMPARE_AND_SWAP; }

/* Whether all ranks do it together, so that it is timed from a moment agreed on. */
static int is_of_all(enum operation operation) { return operation >= BISECTION && operation <= BROADCAST_PERSISTENT; }

static int *starts_of(const int *counts, int size) {
    int *starts = malloc(sizeof(int) * (size_t)size);
    for (int rank = 0, start = 0; rank < size; start += counts[rank++])
        starts[rank] = start;
    return starts;
}

static int *copied(const int *parts, int first, int step, int size) {
    int *counts = malloc(sizeof(int) * (size_t)size);
    for (int rank = 0; rank < size; rank++)
        counts[rank] = parts[first + rank * step];
    return counts;
}

/* `parts[from * size + to]` are the lengths of parts that differ. NULL where there is no benchmark of that name. */
struct plain *plain_open(const char *name, int bytes, int window, const int *parts) {
    int operation = 0;
    while (operation < OPERATIONS && strcmp(name, NAMES[operation]) != 0)
        operation++;
    if (operation == OPERATIONS)
        return NULL;
    struct plain *p = calloc(1, sizeof *p);
    p->operation = (enum operation)operation;
    MPI_Comm_dup(MPI_COMM_WORLD, &p->comm);
    MPI_Comm_rank(p->comm, &p->rank);
    MPI_Comm_size(p->comm, &p->size);
    p->bytes = bytes;
    p->window = window;
    p->stride = (bytes + GRAIN - 1) / GRAIN * GRAIN;
    size_t memory = (size_t)p->stride * (size_t)(window > p->size ? window : p->size) + GRAIN;
    memory = 2 * (memory + (size_t)bytes * (size_t)p->size);
    p->out = pages(memory);
    p->in = pages(memory);
    p->requests = malloc(sizeof(MPI_Request) * 2 * (size_t)window + sizeof(MPI_Request));
    p->send_counts = copied(parts, p->rank * p->size, 1, p->size);
    p->receive_counts = copied(parts, p->rank, p->size, p->size);
    p->own_counts = copied(parts, 0, p->size, p->size);
    p->send_starts = starts_of(p->send_counts, p->size);
    p->receive_starts = starts_of(p->receive_counts, p->size);
    p->own_starts = starts_of(p->own_counts, p->size);
    if (is_one_sided(p->operation)) {
        MPI_Win_allocate((MPI_Aint)p->stride * window, 1, MPI_INFO_NULL, p->comm, &p->exposed, &p->memory);
        if (p->rank == 0)
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, p->memory);
    }
    if (p->operation == ECHO_VECTOR) {
        MPI_Type_vector(bytes / 8, 1, 2, MPI_DOUBLE, &p->vector);
        MPI_Type_commit(&p->vector);
    }
    if (p->operation == ALLREDUCE_PERSISTENT)
        MPI_Allreduce_init(p->out, p->in, bytes / 8, MPI_DOUBLE, MPI_SUM, p->comm, MPI_INFO_NULL, p->requests);
    if (p->operation == BROADCAST_PERSISTENT)
        MPI_Bcast_init(p->out, bytes, MPI_BYTE, 0, p->comm, MPI_INFO_NULL, p->requests);
    return p;
}

void plain_close(struct plain *p) {
    if (is_one_sided(p->operation)) {
        if (p->rank == 0)
            MPI_Win_unlock(1, p->memory);
        MPI_Win_free(&p->memory);
    }
    if (p->operation == ECHO_VECTOR)
        MPI_Type_free(&p->vector);
    if (p->operation == ALLREDUCE_PERSISTENT || p->operation == BROADCAST_PERSISTENT)
        MPI_Request_free(p->requests);
    MPI_Comm_free(&p->comm);
    int *lists[] = {p->send_counts, p->send_starts, p->receive_counts, p->receive_starts, p->own_counts, p->own_starts};
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++)
        free(lists[index]);
    free(p->out);
    free(p->in);
    free(p->requests);
    free(p);
}

/* Receives from one rank and sends to one, a window of each, then an answer where messages go one way. A rank below 0 is
 * none. */
static void window_of(struct plain *p, int to, int from, int window) {
    int started = 0;
    if (from >= 0)
        for (int i = 0; i < window; i++)
            MPI_Irecv(p->in + (size_t)i * p->stride, p->bytes, MPI_BYTE, from, TAG, p->comm, &p->requests[started++]);
    if (to >= 0)
        for (int i = 0; i < window; i++)
            MPI_Isend(p->out + (size_t)i * p->stride, p->bytes, MPI_BYTE, to, TAG, p->comm, &p->requests[started++]);
    MPI_Waitall(started, p->requests, MPI_STATUSES_IGNORE);
    if (to >= 0 && from < 0)
        MPI_Recv(NULL, 0, MPI_BYTE, to, ANSWER, p->comm, MPI_STATUS_IGNORE);
    if (from >= 0 && to < 0)
        MPI_Send(NULL, 0, MPI_BYTE, from, ANSWER, p->comm);
}

static void there_and_back(struct plain *p, int leads, int peer, int count, MPI_Datatype type) {
    if (leads) {
        MPI_Send(p->out, count, type, peer, TAG, p->comm);
        MPI_Recv(p->in, count, type, peer, TAG, p->comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(p->in, count, type, peer, TAG, p->comm, MPI_STATUS_IGNORE);
        MPI_Send(p->out, count, type, peer, TAG, p->comm);
    }
}

static void access_memory(struct plain *p) {
    if (p->rank != 0)
        return;
    for (int i = 0; i < p->window; i++) {
        MPI_Aint at = (MPI_Aint)i * p->stride;
        char *out = p->out + at, *in = p->in + at;
        int n = p->bytes, words = p->bytes / 8;
        switch (p->operation) {
        case PUT: case PUT_BANDWIDTH: MPI_Put(out, n, MPI_BYTE, 1, at, n, MPI_BYTE, p->memory); break;
        case GET: case GET_BANDWIDTH: MPI_Get(in, n, MPI_BYTE, 1, at, n, MPI_BYTE, p->memory); break;
        case ACCUMULATE: MPI_Accumulate(out, words, MPI_INT64_T, 1, at, words, MPI_INT64_T, MPI_SUM, p->memory); break;
        case GET_ACCUMULATE:
            MPI_Get_accumulate(out, words, MPI_INT64_T, in, words, MPI_INT64_T, 1, at, words, MPI_INT64_T, MPI_SUM,
                               p->memory);
            break;
        case FETCH_AND_OP: MPI_Fetch_and_op(out, in, MPI_INT64_T, 1, at, MPI_SUM, p->memory); break;
        default: MPI_Compare_and_swap(out, out + 8, in, MPI_INT64_T, 1, at, p->memory); break;
        }
    }
    MPI_Win_flush(1, p->memory);
}

static inline void once(struct plain *p) {
    int rank = p->rank, half = p->size / 2, n = p->bytes, words = p->bytes / 8;
    int lower = rank < half, partner = lower ? rank + half : rank < 2 * half ? rank - half : -1;
    int peer = rank < 2 ? 1 - rank : -1;
    switch (p->operation) {
    case ECHO: there_and_back(p, rank == 0, peer, n, MPI_BYTE); break;
    case ECHO_VECTOR: there_and_back(p, rank == 0, peer, 1, p->vector); break;
    case PING_PING: window_of(p, peer, peer, 1); break;
    case BANDWIDTH: window_of(p, rank == 0 ? 1 : -1, rank == 0 ? -1 : 0, p->window); break;
    case BIDIRECTIONAL: window_of(p, peer, peer, p->window); break;
    case BISECTION: window_of(p, partner, partner, 1); break;
    case MULTI_PAIR: window_of(p, lower ? partner : -1, lower ? -1 : partner, p->window); break;
    case MULTI_ECHO: there_and_back(p, lower, partner, n, MPI_BYTE); break;
    case BARRIER: MPI_Barrier(p->comm); break;
    case BROADCAST: MPI_Bcast(p->out, n, MPI_BYTE, 0, p->comm); break;
    case REDUCE: MPI_Reduce(p->out, p->in, words, MPI_DOUBLE, MPI_SUM, 0, p->comm); break;
    case ALLREDUCE: MPI_Allreduce(p->out, p->in, words, MPI_DOUBLE, MPI_SUM, p->comm); break;
    case SCAN: MPI_Scan(p->out, p->in, words, MPI_DOUBLE, MPI_SUM, p->comm); break;
    case EXSCAN: MPI_Exscan(p->out, p->in, words, MPI_DOUBLE, MPI_SUM, p->comm); break;
    case REDUCE_SCATTER: MPI_Reduce_scatter_block(p->out, p->in, words, MPI_DOUBLE, MPI_SUM, p->comm); break;
    case GATHER: MPI_Gather(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, 0, p->comm); break;
    case SCATTER: MPI_Scatter(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, 0, p->comm); break;
    case ALLGATHER: MPI_Allgather(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, p->comm); break;
    case ALLTOALL: MPI_Alltoall(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, p->comm); break;
    case ALLTOALLV:
        MPI_Alltoallv(p->out, p->send_counts, p->send_starts, MPI_BYTE, p->in, p->receive_counts, p->receive_starts,
                      MPI_BYTE, p->comm);
        break;
    case GATHERV:
        MPI_Gatherv(p->out, p->own_counts[rank], MPI_BYTE, p->in, p->own_counts, p->own_starts, MPI_BYTE, 0, p->comm);
        break;
    case SCATTERV:
        MPI_Scatterv(p->out, p->own_counts, p->own_starts, MPI_BYTE, p->in, p->own_counts[rank], MPI_BYTE, 0, p->comm);
        break;
    case ALLGATHERV:
        MPI_Allgatherv(p->out, p->own_counts[rank], MPI_BYTE, p->in, p->own_counts, p->own_starts, MPI_BYTE, p->comm);
        break;
    case IALLREDUCE:
        MPI_Iallreduce(p->out, p->in, words, MPI_DOUBLE, MPI_SUM, p->comm, p->requests);
        MPI_Wait(p->requests, MPI_STATUS_IGNORE);
        break;
    case IBROADCAST:
        MPI_Ibcast(p->out, n, MPI_BYTE, 0, p->comm, p->requests);
        MPI_Wait(p->requests, MPI_STATUS_IGNORE);
        break;
    case IALLTOALL:
        MPI_Ialltoall(p->out, n, MPI_BYTE, p->in, n, MPI_BYTE, p->comm, p->requests);
        MPI_Wait(p->requests, MPI_STATUS_IGNORE);
        break;
    case ALLREDUCE_PERSISTENT: case BROADCAST_PERSISTENT:
        MPI_Start(p->requests);
        MPI_Wait(p->requests, MPI_STATUS_IGNORE);
        break;
    default: access_memory(p); break;
    }
}

/* The moment at which the next iteration starts. */
static double agree(struct plain *p, double lead) {
    double own[2] = {now(), 0.0}, all[2];
    MPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_MAX, p->comm);
    return all[0] + lead;
}

static void of_all(struct plain *p, int iterations, double *seconds) {
    double start = now();
    for (int i = 0; i < AGREEMENTS; i++)
        agree(p, 0.0);
    double own = 2.0 * (now() - start) / AGREEMENTS + 1e-6, lead;
    MPI_Allreduce(&own, &lead, 1, MPI_DOUBLE, MPI_MAX, p->comm);
    double *ends = malloc(sizeof(double) * (size_t)iterations);
    for (int i = 0; i < iterations; i++) {
        double moment = agree(p, lead);
        while (now() < moment) {
        }
        once(p);
        ends[i] = now() - moment;
    }
    MPI_Reduce(ends, seconds, iterations, MPI_DOUBLE, MPI_MAX, 0, p->comm);
    free(ends);
}

/* Times so many iterations after others that are not timed; rank 0 has the seconds of one message, access or operation. */
void plain_run(struct plain *p, int iterations, int warm_up, double *seconds) {
    for (int i = 0; i < warm_up; i++)
        once(p);
    MPI_Barrier(p->comm);
    if (is_of_all(p->operation)) {
        of_all(p, iterations, seconds);
    } else {
        double before = now();
        for (int i = 0; i < iterations; i++) {
            once(p);
            double after = now();
            seconds[i] = after - before;
            before = after;
        }
    }
    int halves = p->operation == ECHO || p->operation == ECHO_VECTOR || p->operation == MULTI_ECHO;
    for (int i = 0; i < iterations; i++)
        seconds[i] /= halves ? 2.0 : p->window;
    MPI_Barrier(p->comm);
}
